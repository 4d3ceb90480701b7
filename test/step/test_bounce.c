// test_bounce.c: the bounce gradient: its algebra, closed forms, and motions whose impacts an exact, event-driven reference finds in time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "math/quat.h"
#include "scenes/scenes.h"
#include "sim/row.h"
#include "step/bounce.h"
#include "step/impulse.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/robots.h"
#include "tangere/param.h"

static Rig rig(tgDesc *d, bool bounce, bool symplectic) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;   // whose bounces are at the start of a step
  o.bounce_gradient = bounce;
  o.symplectic = symplectic;
  return rig_of_desc(d, "lcp", &o.of);
}

// ---- pieces: bodies in the plane z = 0 ----

static int body(tgDesc *d, double x, double y, double mass, bool turns) {
  int b = tg_desc_add_body(d, 0, NULL);
  d->body[b].pos[0] = x;
  d->body[b].pos[1] = y;
  d->body[b].has_inertial = true;
  d->body[b].mass = mass;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.1 * mass;
  for (int k = 0; k < (turns ? 3 : 2); k++) {
    int j = tg_desc_add_joint(d, b, k < 2 ? TG_JOINT_SLIDE : TG_JOINT_HINGE, NULL);
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == k;
  }
  return b;
}

static int sphere(tgDesc *d, int b, double x, double y, double r, double e, double mu) {
  int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
  d->geom[g].pos[0] = x;
  d->geom[g].pos[1] = y;
  d->geom[g].size[0] = r;
  d->geom[g].restitution = e;
  d->geom[g].friction[0] = mu;
  return g;
}

// plane through the origin of the world with the normal (x, y)
static void wall(tgDesc *d, double px, double py, double x, double y, double mu) {
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[g].pos[0] = px;
  d->geom[g].pos[1] = py;
  d->geom[g].friction[0] = mu;
  // z to (x, y, 0): half a turn about the middle of the two
  double n = sqrt(x * x + y * y), q[4] = {0, x / n, y / n, 1};
  for (int i = 0; i < 4; i++) d->geom[g].quat[i] = q[i] / sqrt(2);
}

static tgDesc *empty(double gravity) {
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  d->option.gravity[1] = -gravity;
  d->option.gravity[2] = 0;
  return d;
}

static tgDesc *two_balls(double m1, double m2, double gap) {
  tgDesc *d = empty(0);
  sphere(d, body(d, 0, 0, m1, false), 0, 0, .1, 1, 0);
  sphere(d, body(d, .2 + gap, 0, m2, false), 0, 0, .1, 1, 0);
  return d;
}

static tgReal *step_jacobian(Rig *r, double h, tgGradInfo *info) {
  int nv = r->m->nv;
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(4 * nv * nv));
  assert_int_equal(tg_sim_step(r->s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(r->s, D, info), TG_OK);
  return D;
}

// ---- closed forms ----

// all four blocks of two balls on a line: R in dq'/dq, h R in dq'/dv, R in dv'/dv
static void balls_read(double m1, double m2, const double R[4]) {
  for (int symplectic = 0; symplectic < 2; symplectic++) {
    Rig r = rig(two_balls(m1, m2, -1e-9), true, symplectic);
    double h = 1e-3;
    tgGradInfo info;
    r.s->qvel[0] = 1;
    tgReal *D = step_jacobian(&r, h, &info);
    assert_int_equal(info.label, TG_GRAD_SURROGATE);
    check_true(strstr(info.reason, "bounce_gradient") != NULL, "'%s'", info.reason);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) {
        double want = R[2 * i + j];
        check_close(D[8 * (2 * i) + 2 * j], want, 1e-9);             // dq'/dq
        check_close(D[8 * (2 * i) + 4 + 2 * j], h * want, 1e-12);    // dq'/dv
        check_close(D[8 * (4 + 2 * i) + 4 + 2 * j], want, 1e-9);     // dv'/dv
      }
    free(D);
    drop(&r);
  }
}
static void test_two_balls(void **state) {
  (void)state;
  balls_read(1, 1, (double[]){0, 1, 1, 0});
  balls_read(1, 3, (double[]){-.5, 1.5, .5, .5});
  balls_read(3, 1, (double[]){.5, .5, 1.5, -.5});
}

// D (n x n) <- step Jacobian D over `steps` steps
static double *product(Rig *r, double h, int steps) {
  int n = 2 * r->m->nv;
  double *P = calloc((size_t)(2 * n * n), sizeof *P), *Q = P + n * n;
  for (int i = 0; i < n; i++) P[i * n + i] = 1;
  for (int t = 0; t < steps; t++) {
    tgReal *D = step_jacobian(r, h, NULL);
    memset(Q, 0, sizeof *Q * (size_t)(n * n));
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) Q[i * n + j] += tgRe(D[i * n + k]) * P[k * n + j];
    memcpy(P, Q, sizeof *Q * (size_t)(n * n));
    free(D);
  }
  return P;
}

// A ball at 1 m/s meets one at rest of the same mass, elastic; after 1 s the second stands at x1 + v1 T + 2 r,
// whatever its own x2 and v2 were.
static void test_swap(void **state) {
  (void)state;
  Rig r = rig(two_balls(1, 1, .32), true, true);
  r.s->qvel[0] = 1;
  double *P = product(&r, .01, 100), want[8] = {1, 0, 0, 0, 1, 0, 0, 0};   // of x2' with respect to x1 y1 x2 y2 and their speeds
  for (int j = 0; j < 8; j++) check_close(P[2 * 8 + j], want[j], 1e-9);
  free(P);
  drop(&r);
  // the derivative of the steps taken, which docs/gradients.md sets beside it
  r = rig(two_balls(1, 1, .32), false, true);
  r.s->qvel[0] = 1;
  P = product(&r, .01, 100);
  check_close(P[2 * 8], 0, 1e-9);
  check_close(P[2 * 8 + 2], 1, 1e-9);
  free(P);
  drop(&r);
}

// ---- algebra: J_b R = -Sigma J_b, and the adjoint ----

static void check_algebra(Rig *r, const char *what) {
  tgSim *s = r->s;
  int nv = r->m->nv, nc = 2 * nv + r->m->nu, bounces = 0;
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(4 * nv * nc + 4 * nv + 2 * nc)), *X = D + 2 * nv * nc,
         *w = X + 2 * nv * nc, *g = w + 2 * nv, *t = g + nc;
  tgtRandom random = {.s = 3};
  int clamps = 0;
  assert_int_equal(tg_sim_step(s, 1e-3, NULL), TG_OK);
  check_true(tgi_bounces(s), "%s does not bounce", what);
  assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
  assert_int_equal(tgi_impulse_jacobian(s, D, &clamps), TG_OK);
  for (int i = 0; i < nv * nc; i++) X[i] = i / nc == i % nc;
  assert_int_equal(tgi_bounce_jacobian(s, D, X), TG_OK);
  for (int i = 0; i < s->nrow; i++) {
    if (tgRe(s->rows->bounce[i]) == 0 || tgRe(s->rows->f[i]) == 0) continue;   // a normal may part by the blows of others
    bounces++;
    for (int j = 0; j < nv; j++) {
      tgReal sum = s->rows->bounce[i] * tgi_row_number(s, s->rows->J, i, j);
      for (int d = 0; d < nv; d++) sum += tgi_row_number(s, s->rows->J, i, d) * X[d * nc + j];
      check_true(fabs(tgRe(sum)) < 1e-10, "%s: (J R + Sigma J)[%d][%d] is %g", what, i, j, tgRe(sum));
    }
  }
  check_true(bounces > 0, "%s: nothing bounces", what);
  // R' x by the adjoint
  for (int i = 0; i < nv; i++) w[i] = g[i] = tgt_normal(&random);
  assert_int_equal(tgi_bounce_position_vjp(s, w, g, NULL), TG_OK);
  for (int j = 0; j < nv; j++) {
    tgReal sum = 0;
    for (int d = 0; d < nv; d++) sum += w[d] * X[d * nc + j];
    check_close(sum, g[j], 1e-11 * (1 + fabs(tgRe(sum))));
  }
  // and (2)
  for (int j = 0; j < nc; j++) g[j] = 0;
  assert_int_equal(tgi_bounce_vjp(s, w, g, g + nv, NULL, NULL, NULL, &clamps), TG_OK);
  for (int j = 0; j < nc; j++) t[j] = tgt_normal(&random);
  tgt_check_adjoint(D, nv, nc, w, t, g);
  // the whole step
  assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
  for (int i = 0; i < 2 * nv; i++) w[i] = tgt_normal(&random);
  assert_int_equal(tg_sim_step_vjp(s, w, w + nv, g, g + nv, g + 2 * nv, NULL, NULL), TG_OK);
  tgt_check_adjoint(D, 2 * nv, nc, w, t, g);
  free(D);
}

// a free box that falls on a corner, an edge or a face, turning, with friction and without; springs on nothing
static void test_boxes(void **state) {
  (void)state;
  for (int k = 0; k < 24; k++) {
    tgDesc *d = tg_desc_create(NULL);
    double mu = k % 2 == 0 ? 0 : 0.3, lean = k / 2 % 3 * 0.3, q[4] = {cos(lean / 2), 0.6 * sin(lean / 2), 0.8 * sin(lean / 2), 0};
    tgs_plane(d, mu);
    int b = tgs_free_body(d, "box", (double[]){0, 0, 0}, TG_GEOM_BOX, (double[]){.2, .3, .1}, 2, mu);
    d->geom[1].restitution = 0.2 + 0.03 * k;
    for (int i = 0; i < 4; i++) d->body[b].quat[i] = q[i];
    Rig r = rig(d, true, k / 6 % 2 == 0);
    tgSim *s = r.s;
    // its lowest corner 0.1 mm in the floor
    double low = 0;
    tgReal R[9];
    tgi_quat_to_mat(R, (tgReal[]){q[0], q[1], q[2], q[3]});
    for (int i = 0; i < 3; i++) low += fabs(tgRe(R[6 + i])) * tgRe(s->m.geom_size[3 + i]);
    s->qpos[2] = low - 1e-4;
    s->qvel[2] = -1;
    s->qvel[0] = 0.4;
    s->qvel[3] = 0.2 * (k % 5);
    s->qvel[4] = -0.1 * (k % 3);
    char what[40];
    snprintf(what, sizeof what, "box %d", k);
    check_algebra(&r, what);
    drop(&r);
  }
}

// balls that hit each other and the floor at once, in two groups
static void test_groups(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0);
  for (int g = 0; g < 2; g++)
    for (int k = 0; k < 3; k++) {
      double z = k == 2 ? 0.26 : 0.1, x = 3 * g + (k == 1 ? 0.2 : k == 2 ? 0.1 : 0);
      tgs_free_body(d, NULL, (double[]){x, 0, z - 1e-6}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, 1 + 0.3 * k + g, 0);
      d->geom[d->ngeom - 1].restitution = 0.3 + 0.2 * g;
    }
  Rig r = rig(d, true, true);
  for (int b = 0; b < 6; b++) {
    r.s->qvel[6 * b + 2] = -1 - 0.5 * (b % 3);
    r.s->qvel[6 * b] = b % 3 == 0 ? 0.5 : -0.3;
  }
  check_algebra(&r, "groups of balls");
  drop(&r);
}

// ---- motions with impacts found in time ----

enum { MOST = 4 };
// Constant accelerations and masses, gaps of the state, frictionless or with Coulomb friction against a fixed surface
typedef struct Motion {
  const char *name;
  int n;
  double mass[MOST], acceleration[MOST], q[MOST], v[MOST], e, mu;
  double T;
  int ngap;
  double (*gap)(const double *q, int k, double *J);   // J = d gap/dq
  tgDesc *(*scene)(const struct Motion *m);
  bool polar;          // the scene moves (x, y) by a hinge about the origin and a slide away from it
} Motion;

// (x, y) and speeds to angle, distance and speeds, and back
static void to_polar(double *x) {
  double r = sqrt(x[0] * x[0] + x[1] * x[1]),
         p[4] = {atan2(x[1], x[0]), r, (x[0] * x[3] - x[1] * x[2]) / (r * r), (x[0] * x[2] + x[1] * x[3]) / r};
  memcpy(x, p, sizeof p);
}
static void from_polar(double *p) {
  double c = cos(p[0]), s = sin(p[0]), x[4] = {p[1] * c, p[1] * s, p[3] * c - p[1] * p[2] * s, p[3] * s + p[1] * p[2] * c};
  memcpy(p, x, sizeof x);
}

static void impact_of(const Motion *m, const double *q, double *v, int k) {
  double J[MOST], A = 0, u = 0;
  m->gap(q, k, J);
  for (int i = 0; i < m->n; i++) {
    A += J[i] * J[i] / m->mass[i];
    u += J[i] * v[i];
  }
  double f = -(1 + m->e) * u / A;
  if (m->mu > 0) {
    // a point mass at a fixed surface: along the tangent (J1, -J0)
    double t[2] = {J[1], -J[0]}, slip = t[0] * v[0] + t[1] * v[1], g = fmin(m->mu * f, m->mass[0] * fabs(slip));
    for (int i = 0; i < 2; i++) v[i] -= (slip > 0 ? g : -g) * t[i] / m->mass[0];
  }
  for (int i = 0; i < m->n; i++) v[i] += f * J[i] / m->mass[i];
}

static void fly(const Motion *m, double *q, double *v, double t) {
  for (int i = 0; i < m->n; i++) {
    q[i] += t * v[i] + 0.5 * t * t * m->acceleration[i];
    v[i] += t * m->acceleration[i];
  }
}

// x = (q, v) at time T from x = (q, v) at 0; counts impacts
static int reference(const Motion *m, double T, double *x) {
  double *q = x, *v = x + m->n, t = 0, J[MOST];
  int impacts = 0;
  const double dt = 1e-3;
  while (t < T - 1e-15) {
    double step = fmin(dt, T - t), p[MOST], w[MOST], first = step;
    int who = -1;
    for (int k = 0; k < m->ngap; k++) {
      double lo = 0, hi = first;
      memcpy(p, q, sizeof p);
      memcpy(w, v, sizeof w);
      fly(m, p, w, hi);
      double u = 0;
      if (m->gap(p, k, J) >= 0) continue;
      for (int i = 0; i < m->n; i++) u += J[i] * w[i];
      if (u >= 0) continue;   // just left
      for (int i = 0; i < 80; i++) {
        double mid = 0.5 * (lo + hi);
        memcpy(p, q, sizeof p);
        memcpy(w, v, sizeof w);
        fly(m, p, w, mid);
        *(m->gap(p, k, J) < 0 ? &hi : &lo) = mid;
      }
      first = hi;
      who = k;
    }
    fly(m, q, v, first);
    t += first;
    if (who < 0) continue;
    impact_of(m, q, v, who);
    impacts++;
  }
  return impacts;
}

// d (q, v)(T)/d(q, v)(0) by central differences of the reference, which is smooth between its impacts
static void reference_d(const Motion *m, double *D) {
  int n = 2 * m->n;
  const double a = 1e-6;
  for (int j = 0; j < n; j++) {
    double x[2][2 * MOST];
    for (int side = 0; side < 2; side++) {
      memcpy(x[side], m->q, sizeof(double) * (size_t)m->n);
      memcpy(x[side] + m->n, m->v, sizeof(double) * (size_t)m->n);
      if (m->polar) to_polar(x[side]);
      x[side][j] += side == 0 ? -a : a;
      if (m->polar) from_polar(x[side]);
      reference(m, m->T, x[side]);
      if (m->polar) to_polar(x[side]);
    }
    for (int i = 0; i < n; i++) D[i * n + j] = (x[1][i] - x[0][i]) / (2 * a);
  }
}

enum { LEVELS = 5 };
static void check_motion(const Motion *m) {
  int n = 2 * m->n, impacts;
  double want[4 * MOST * MOST], x[2 * MOST], error[2][LEVELS], largest = 0;
  memcpy(x, m->q, sizeof(double) * (size_t)m->n);
  memcpy(x + m->n, m->v, sizeof(double) * (size_t)m->n);
  impacts = reference(m, m->T, x);
  check_true(impacts > 0, "%s: no impact", m->name);
  reference_d(m, want);
  for (int i = 0; i < n * n; i++) largest = fmax(largest, fabs(want[i]));
  for (int bounce = 0; bounce < 2; bounce++)
    for (int level = 0; level < LEVELS; level++) {
      int steps = 250 << (2 * level);
      Rig r = rig(m->scene(m), bounce, true);
      memcpy(x, m->q, sizeof(double) * (size_t)m->n);
      memcpy(x + m->n, m->v, sizeof(double) * (size_t)m->n);
      if (m->polar) to_polar(x);
      for (int i = 0; i < m->n; i++) r.s->qvel[i] = x[m->n + i];
      double *P = product(&r, m->T / steps, steps);
      error[bounce][level] = 0;
      for (int i = 0; i < n * n; i++) error[bounce][level] = fmax(error[bounce][level], fabs(P[i] - want[i]) / largest);
      free(P);
      drop(&r);
    }
  print_message("%-28s %d impacts; bounce %.2g %.2g %.2g %.2g %.2g, plain %.2g .. %.2g\n", m->name, impacts,
                error[1][0], error[1][1], error[1][2], error[1][3], error[1][4], error[0][0], error[0][LEVELS - 1]);
  // first order in h, by when in its step an impact falls; without the option there is a limit, and it is another
  check_true(error[1][LEVELS - 1] < 5e-4 && error[1][LEVELS - 1] < error[1][0] / 16,
             "%s: the bounce gradient is off by %.2g", m->name, error[1][LEVELS - 1]);
  check_true(error[0][LEVELS - 1] > 0.2, "%s: the plain gradient is off by only %.2g", m->name, error[0][LEVELS - 1]);
}

static double floor_gap(const double *q, int k, double *J) {
  (void)k;
  J[0] = 0;
  J[1] = 1;
  return q[1] - .1;
}
static tgDesc *floor_scene(const Motion *m) {
  tgDesc *d = empty(-m->acceleration[1]);
  sphere(d, body(d, m->q[0], m->q[1], m->mass[0], false), 0, 0, .1, m->e, m->mu);
  wall(d, 0, 0, 0, 1, m->mu);
  return d;
}

static tgDesc *polar_scene(const Motion *m) {
  tgDesc *d = floor_scene(m);
  for (int i = 0; i < 3; i++) d->body[1].inertia[i] = 1e-9;
  d->joint[0].type = TG_JOINT_HINGE;
  for (int i = 0; i < 3; i++) d->joint[0].axis[i] = i == 2;
  for (int i = 0; i < 2; i++) {
    d->joint[0].pos[i] = -m->q[i];
    d->joint[1].axis[i] = m->q[i] / sqrt(m->q[0] * m->q[0] + m->q[1] * m->q[1]);
  }
  return d;
}

static double corner_gap(const double *q, int k, double *J) {
  J[0] = k;
  J[1] = 1 - k;
  return q[1 - k] - .1;
}
static tgDesc *corner_scene(const Motion *m) {
  tgDesc *d = floor_scene(m);
  wall(d, 0, 0, 1, 0, m->mu);
  return d;
}

// a sphere of radius 0.3 at the origin
static double hill_gap(const double *q, int k, double *J) {
  (void)k;
  double r = sqrt(q[0] * q[0] + q[1] * q[1]);
  J[0] = q[0] / r;
  J[1] = q[1] / r;
  return r - .4;
}
static tgDesc *hill_scene(const Motion *m) {
  tgDesc *d = empty(-m->acceleration[1]);
  sphere(d, body(d, m->q[0], m->q[1], m->mass[0], false), 0, 0, .1, m->e, m->mu);
  sphere(d, 0, 0, 0, .3, m->e, m->mu);
  return d;
}

static double balls_gap(const double *q, int k, double *J) {
  (void)k;
  double x = q[0] - q[2], y = q[1] - q[3], r = sqrt(x * x + y * y);
  J[0] = x / r;
  J[1] = y / r;
  J[2] = -J[0];
  J[3] = -J[1];
  return r - .2;
}
static tgDesc *balls_scene(const Motion *m) {
  tgDesc *d = empty(0);
  for (int k = 0; k < 2; k++) sphere(d, body(d, m->q[2 * k], m->q[2 * k + 1], m->mass[2 * k], false), 0, 0, .1, m->e, 0);
  return d;
}

// a rod of half length 0.5 with a ball of radius 0.1 at each end, inertia 0.1
static double rod_gap(const double *q, int k, double *J) {
  double s = k == 0 ? .5 : -.5;
  J[0] = 0;
  J[1] = 1;
  J[2] = s * cos(q[2]);
  return q[1] + s * sin(q[2]) - .1;
}
static tgDesc *rod_scene(const Motion *m) {
  tgDesc *d = empty(-m->acceleration[1]);
  int b = body(d, m->q[0], m->q[1], m->mass[0], true);
  // leaning in the pose drawn, from which the hinge counts
  for (int k = 0; k < 2; k++) sphere(d, b, (k == 0 ? .5 : -.5) * cos(m->q[2]), (k == 0 ? .5 : -.5) * sin(m->q[2]), .1, m->e, 0);
  wall(d, 0, 0, 0, 1, 0);
  return d;
}

static void test_motions(void **state) {
  (void)state;
  const Motion motions[] = {
      {"ball on a floor", 2, {1, 1}, {0, -9.81}, {0, .6}, {.5, 0}, .7, 0, 1, 1, floor_gap, floor_scene, false},
      {"ball on a floor, polar", 2, {1, 1}, {0, -9.81}, {.5, .6}, {.5, 0}, .7, 0, 1, 1, floor_gap, polar_scene, true},
      {"ball that slips", 2, {1, 1}, {0, -9.81}, {0, .6}, {2, 0}, .7, .1, 1, 1, floor_gap, floor_scene, false},
      {"ball that sticks", 2, {1, 1}, {0, -9.81}, {0, .6}, {.5, 0}, .7, 5, 1, 1, floor_gap, floor_scene, false},
      {"ball in a corner", 2, {2, 2}, {0, -9.81}, {.7, .8}, {-1.3, .2}, .8, 0, 1, 2, corner_gap, corner_scene, false},
      {"ball on a hill", 2, {1, 1}, {0, -9.81}, {.07, .9}, {.1, 0}, .8, 0, 1, 1, hill_gap, hill_scene, false},
      {"two balls", 4, {1, 1, 3, 3}, {0}, {0, 0, .6, .1}, {1, 0, -.2, 0}, 1, 0, 1, 1, balls_gap, balls_scene, false},
      {"rod on a floor", 3, {1, 1, .1}, {0, -9.81}, {0, .8, .4}, {.2, 0, .5}, .6, 0, .55, 2, rod_gap, rod_scene, false},
  };
  for (size_t k = 0; k < sizeof motions / sizeof *motions; k++) check_motion(&motions[k]);
}

// ---- parameters of a ball on a floor: restitution, gravity, radius, height of the floor ----

static double floor_height, ball_radius = .1;
static double moved_gap(const double *q, int k, double *J) { return floor_gap(q, k, J) + .1 - ball_radius - floor_height; }

static void reference_parameters(Motion m, const double *w, double out[4]) {
  const double a = 1e-6;
  double *const moved[4] = {&m.e, &m.acceleration[1], &ball_radius, &floor_height};
  for (int k = 0; k < 4; k++) {
    double L[2] = {0, 0}, x[2 * MOST];
    for (int side = 0; side < 2; side++) {
      double nominal = *moved[k];
      *moved[k] += side == 0 ? -a : a;
      memcpy(x, m.q, sizeof(double) * 2);
      memcpy(x + 2, m.v, sizeof(double) * 2);
      reference(&m, m.T, x);
      for (int i = 0; i < 4; i++) L[side] += w[i] * x[i];
      *moved[k] = nominal;
    }
    out[k] = (L[1] - L[0]) / (2 * a);
  }
}

// dL/dp over the steps, back from the end
static void rollout_parameters(const Motion *m, int steps, const double *w, double out[4]) {
  static const char *const names[4] = {"geom_restitution", "opt_gravity", "geom_size", "geom_pos"};
  Rig r = rig(m->scene(m), true, true);
  tgError e = {0};
  tgParamGrad *p = tg_param_grad_create(r.m, names, 4, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  size_t size = tg_sim_snapshot_size(r.s);
  char *tape = malloc(size * (size_t)steps);
  for (int i = 0; i < 2; i++) r.s->qvel[i] = m->v[i];
  for (int t = 0; t < steps; t++) {
    tg_sim_save(r.s, tape + (size_t)t * size);
    assert_int_equal(tg_sim_step(r.s, m->T / steps, NULL), TG_OK);
    assert_int_equal(tg_sim_snapshot_size(r.s), size);
  }
  tgReal g[4] = {w[0], w[1], w[2], w[3]};
  for (int t = steps - 1; t >= 0; t--) {
    assert_int_equal(tg_sim_restore(r.s, tape + (size_t)t * size), TG_OK);
    assert_int_equal(tg_sim_step(r.s, m->T / steps, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(r.s, g, g + 2, g, g + 2, NULL, p, NULL), TG_OK);
  }
  int ball = r.s->m.geom_type[0] == TG_GEOM_SPHERE ? 0 : 1, at[4] = {ball, 1, 3 * ball, 3 * (1 - ball) + 1};
  for (int k = 0; k < 4; k++) {
    int rows, cols;
    out[k] = tgRe(tg_param_grad_field(p, names[k], &rows, &cols)[at[k]]);
  }
  free(tape);
  tg_param_grad_free(p);
  drop(&r);
}

static void test_parameters(void **state) {
  (void)state;
  for (int slips = 0; slips < 2; slips++) {
    Motion m = {"ball on a floor", 2, {1, 1}, {0, -9.81}, {0, .6}, {2, 0}, .7, slips ? .1 : 0, 1, 1, moved_gap, floor_scene, false};
    const double w[4] = {.3, 1, -.7, .4};
    double want[4], have[4], largest = 0, error[2] = {0, 0};
    reference_parameters(m, w, want);
    for (int i = 0; i < 4; i++) largest = fmax(largest, fabs(want[i]));
    for (int level = 0; level < 2; level++) {
      rollout_parameters(&m, level == 0 ? 500 : 32000, w, have);
      for (int i = 0; i < 4; i++) error[level] = fmax(error[level], fabs(have[i] - want[i]) / largest);
    }
    print_message("parameters: restitution %.5g (%.5g) gravity %.5g (%.5g) radius %.5g (%.5g) floor %.5g (%.5g); error "
                  "%.2g, %.2g\n", have[0], want[0], have[1], want[1], have[2], want[2], have[3], want[3], error[0],
                  error[1]);
    check_true(error[1] < 1e-3 && error[1] < error[0] / 8, "parameters are off by %.2g", error[1]);
  }
}

// by `closing` the gradient goes through the times of impacts itself
static void told_where_it_does_nothing(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.bounce_gradient = true;
  tgModel *m = tgt_ball();
  for (int rule = 0; rule < 2; rule++) {
    o.contact_rule = (tgContactRule)rule;
    tgContact *c = tg_contact_create(m, "lcp", &o.of, NULL);
    assert_non_null(c);
    const char *told = tg_contact_warning(c, 0);
    if (rule == TG_RULE_TOUCHING) assert_null(told);
    else check_true(told != NULL && strstr(told, "bounce_gradient") != NULL, "not told");
    tg_contact_free(c);
  }
  tg_model_free(m);
}

// laws say that they leave restitution out, where a geom has some
static void laws_leave_it_out(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
                            "<geom name='ball' size='0.1' mass='1'/></body></worldbody></mujoco>";
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int bounces = 0; bounces < 2; bounces++) {
      tgDesc *desc = tg_desc_load_memory("ball.xml", xml, sizeof xml - 1, NULL, NULL);
      assert_non_null(desc);
      desc->geom[tg_desc_find_geom(desc, "ball")].restitution = 0.5 * bounces;
      tgModel *m = tg_model_compile(desc, NULL, NULL);
      tgContact *c = tg_contact_create(m, tg_contact_words(w), NULL, NULL);
      assert_non_null(c);
      const char *told = tg_contact_warning(c, 0);
      bool rows = strcmp(tg_contact_words(w), "lcp") == 0 || strcmp(tg_contact_words(w), "toi") == 0;
      if (rows || !bounces) assert_null(told);
      else check_true(told != NULL && strstr(told, "'ball' have restitution") != NULL && strstr(told, tg_contact_words(w)) != NULL, "%s",
                      told != NULL ? told : "not told");
      tg_contact_free(c);
      tg_model_free(m);
      tg_desc_free(desc);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_balls), cmocka_unit_test(test_swap),
                                     cmocka_unit_test(test_boxes), cmocka_unit_test(test_groups),
                                     cmocka_unit_test(test_motions), cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(told_where_it_does_nothing), cmocka_unit_test(laws_leave_it_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
