// test_event_d.c: derivatives of random steps under `toi` with several impacts: adjoint and dense derivative against complex step in
// the complex build and against Ridders in the real one, in the state, controls, the step size and parameters.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "check/numdiff.h"
#include "contact/rows.h"
#include "kin/kinematics.h"
#include "step/event.h"
#include "step/event_scenes.h"
#include "step/step.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/param.h"
#include "tangere/step.h"
#include "tangere/toi.h"

static const char *const number[] = {"body_mass", "geom_size", "geom_scale", "geom_friction", "geom_restitution", "opt_gravity", "geom_pos",
                                     "body_pos", "dof_damping", "contact.gap"};
static const char *const force_number[] = {"body_mass", "body_inertia", "opt_gravity", "body_pos", "geom_size", "dof_damping",
                                           "dof_armature", "jnt_stiffness", "qpos_spring", "ten_stiffness", "ten_damping", "act_gain",
                                           "act_bias", "act_gear", "contact.gap"};
static const char *const bond_number[] = {"body_mass", "body_inertia", "opt_gravity", "body_pos", "dof_damping", "eq_anchor",
                                          "eq_anchor2", "eq_relpos", "contact.gap"};
static const char *const rope_number[] = {"body_mass", "body_inertia", "opt_gravity", "body_pos", "site_pos", "ten_range", "dof_damping",
                                          "contact.gap"};
enum { NUMBERS = 10, FORCE_NUMBERS = 15, ROPE_NUMBERS = 8, BOND_NUMBERS = 9, MOST = 64, SIZES = 400 };
static const char *const *names = number;
static int nnames = NUMBERS;
static bool flat;   // the scene is in the plane of x and z
static double spread = 0.35;
#ifdef TG_COMPLEX
static int steps = 40;   // of the scene in a plane; half as many of each in space
// Of rounding alone; a term that is missing costs 0.3 and more. Accelerations of the thin arm in space are large, and their rates come in
// by the length of a flow that meets.
static const double middle = 2e-13;
#else
static int steps = 12;   // differences take more steps
static const double middle = 1e-9;
#endif

typedef struct Ctx {
  tgSim *s;
  tgReal q1[MOST], direction[SIZES];   // of parameters, all of them along one
  double h;
} Ctx;

static int inputs(const tgModel *m) { return m->nq + m->nv + m->nu + 2; }   // q, v, u, h, parameters along the direction

static void shift(Ctx *c, tgReal x) {
  int at = 0;
  for (int k = 0; k < nnames; k++) {
    int rows, cols;
    tgReal *p = tg_sim_param(c->s, names[k], &rows, &cols);
    for (int i = 0; i < rows * cols; i++) p[i] += x * c->direction[at++];
  }
}

// Places of a scene in a plane move across it by complex steps alone: a body beside the plane slides on another one across it, by as much
// on either side, and what that does to the rest goes with the absolute value. A second derivative jumps there, which differences of any
// width take for a part of the first.
static void stay_in_plane(Ctx *c) {
#ifndef TG_COMPLEX
  int at = 0;
  for (int k = 0; k < nnames; k++) {
    int rows, cols;
    tg_sim_param(c->s, names[k], &rows, &cols);
    bool place = strcmp(names[k], "geom_pos") == 0 || strcmp(names[k], "body_pos") == 0;
    for (int i = 0; i < rows * cols; i++, at++)
      if (place && i % 3 == 1) c->direction[at] = 0;
  }
#else
  (void)c;
#endif
}

// the number h of a step is real: in the complex build its derivative is checked by the real build alone
static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgReal along = x[m->nq + m->nv + m->nu + 1];
  shift(c, along);
  tgStatus status = tg_sim_step(s, tgRe(x[m->nq + m->nv + m->nu]), NULL);
  shift(c, -along);
  if (status != TG_OK) return status;
  tg_model_difference(m, c->q1, s->qpos, y);
  memcpy(y + m->nv, s->qvel, (size_t)m->nv * sizeof *x);
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Ctx *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv + m->nu + 2; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

typedef struct Tally {
  int steps, impacts, exact;
  double worst, *error;   // error: of those that are exact
} Tally;

static tgParamGrad *gradient_of(const Rig *r) {
  tgError e = {0};
  const char *asked[FORCE_NUMBERS + 1];
  memcpy(asked, names, (size_t)nnames * sizeof *names);
  asked[nnames] = "opt_timestep";
  tgParamGrad *p = tg_param_grad_create_contact(r->c, asked, nnames + 1, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  return p;
}

// the stepper's own: what public calls make of them are their numbers
static void check_entries(tgSim *s, const tgReal *D, int nt, const tgReal *J) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, clamps = 0;
  tgReal g[MOST] = {0}, out[MOST] = {0}, own[MOST * MOST];
  g[1] = 1;
  assert_int_equal(tgi_event_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, &clamps), TG_OK);
  for (int k = 0; k < nc; k++) check_close(tgRe(out[k]), tgRe(D[nt + k]), 1e-12);
  // the end of the last leg is the step's
  tgReal none[MOST] = {0};
  tgiLegSlopes end = {tgi_events(s)->n - 1, none, none, g, 0};
  memset(out, 0, sizeof out);
  assert_int_equal(tgi_event_leg_vjp(s, &end, out, out + nv, out + 2 * nv, NULL, &clamps), TG_OK);
  for (int k = 0; k < nc; k++) check_close(tgRe(out[k]), tgRe(D[nt + k]), 1e-12);
  assert_int_equal(tgi_step_leg_vjp(s, &end, out, out + nv, out + 2 * nv, NULL), TG_OK);
  for (int k = 0; k < nc; k++) check_close(tgRe(out[k]), tgRe(D[nt + k]), 1e-12);
  assert_int_equal(tgi_event_jacobian(s, own, &clamps), TG_OK);
  for (int i = 0; i < 2 * nv * nc; i++) check_close(tgRe(own[i]), tgRe(J[i]), 1e-12);
}

// Against differences as wide as the order of impacts stays the same: what is wrong is so in all of them.
static tgiWorst least_error(tgtDeriv *d, const tgReal *x, const tgReal *D, char message[256]) {
#ifdef TG_COMPLEX
  return tgt_jacobian_error(d, x, D, message);
#else
  tgiWorst least = {.error = INFINITY};
  for (d->step = 1e-3; d->step > 1e-6 && least.error > 1e-9; d->step /= 8) {
    char text[256];
    tgiWorst one = tgt_jacobian_error(d, x, D, text);
    if (!(one.error < least.error)) continue;
    least = one;
    memcpy(message, text, sizeof text);
  }
  return least;
#endif
}

static void check_step(Rig *r, tgtRandom *rnd, double h, Tally *t) {
  tgSim *s = r->s;
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu + 2, nc = 2 * nv + nu;
  Ctx c = {.s = s, .h = h};
  tgReal x[2 * MOST], D[MOST * MOST], J[MOST * MOST], g[MOST], out[MOST];
  tgGradInfo info;
  tgStepInfo step;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  x[m->nq + nv + nu] = h;
  x[m->nq + nv + nu + 1] = 0;
  tgt_random_vector(rnd, SIZES, c.direction);
  for (int i = 0; i < SIZES; i++) c.direction[i] *= 0.05;
  if (flat) stay_in_plane(&c);
  tgParamGrad *p = gradient_of(r);
  int size;
  tg_param_grad_values(p, &size);
  assert_true(size <= SIZES && nt <= MOST);
  c.direction[size - 2] = 1e-6;   // the gap
  tg_sim_freeze_memory(s, true);
  check_true(tg_sim_step(s, h, &step) == TG_OK, "%s", tg_sim_error(s)->text);
  memcpy(c.q1, s->qpos, (size_t)m->nq * sizeof *x);
  check_true(tg_sim_step_jacobian(s, J, &info) == TG_OK, "%s", tg_sim_error(s)->text);
  for (int i = 0; i < 2 * nv; i++) {
    tgGradInfo by;
    for (int k = 0; k < 2 * nv; k++) g[k] = k == i;
    tg_param_grad_clear(p);
    check_true(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, p, &by) == TG_OK, "%s", tg_sim_error(s)->text);
    memcpy(D + i * nt, out, (size_t)nc * sizeof *D);
    const tgReal *bar = tg_param_grad_values(p, NULL);
    D[i * nt + nc] = bar[size - 1];
    D[i * nt + nc + 1] = 0;
    for (int k = 0; k < size - 1; k++) D[i * nt + nc + 1] += bar[k] * c.direction[k];
    for (int k = 0; k < nc; k++) check_close(tgRe(J[i * nc + k]), tgRe(out[k]), 1e-9 * (1 + fabs(tgRe(out[k]))));
  }
  check_entries(s, D, nt, J);
  int cols[5] = {nv, nv, nu, 1, 1};
  tgtDeriv d = {.name = "toi", .nx = inputs(m), .nt = nt, .ny = 2 * nv, .map = map, .retract = retract, .ctx = &c, .tol = 1e-6,
                .cols = cols, .ncols = 5};
#ifdef TG_COMPLEX
  for (int i = 0; i < 2 * nv; i++) D[i * nt + nc] = 0;   // h is a real number here
  d.tol = 1e-9;
#endif
  char message[256];
  tgiWorst worst = least_error(&d, x, D, message);
  t->steps++;
  t->impacts += step.nimpact;
  if (info.label == TG_GRAD_EXACT) {
    if (t->error != NULL) t->error[t->exact] = worst.error;
    t->exact++;
    t->worst = fmax(t->worst, worst.error);
    check_true(worst.error <= d.tol, "step %d of %d impacts: error %g: %s", t->steps, step.nimpact, worst.error, message);
  }
  tg_param_grad_free(p);
  tg_sim_freeze_memory(s, false);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void check_medians(const char *options, const char *xml, double speed, double h, int asked, double most) {
  int count = asked > 0 ? asked : 1;   // a share of few steps may be none
  tgAnyContactOptions o = options_of("toi", options);
  Rig r = rig_of_text(xml, "toi", &o.of);
  tgtRandom rnd = {.s = 11};
  Tally t = {.error = calloc((size_t)count, sizeof *t.error)};
  for (int tries = 0; t.steps < count && tries < 400 * count; tries++)
    if (draw_within(r.s, &rnd, spread, speed, h)) check_step(&r, &rnd, h, &t);
  check_true(t.steps == count && t.exact > count / 2, "%d steps of %d, %d exact", t.steps, count, t.exact);
  qsort(t.error, (size_t)t.exact, sizeof *t.error, by_size);
  double median = (t.error[(t.exact - 1) / 2] + t.error[t.exact / 2]) / 2;
  print_message("%d steps, %d exact, %.1f impacts each, median %.2g, worst %.2g\n", t.steps, t.exact, (double)t.impacts / t.steps, median,
                t.worst);
  check_true(median <= most, "median %g", median);
  free(t.error);
  drop(&r);
}

static void check_under(const char *options, const char *xml, double speed, double h, int count) {
  check_medians(options, xml, speed, h, count, middle);
}

static void check(const char *xml, double speed, double h, int count) { check_under("", xml, speed, h, count); }

static void test_plane(void **state) {
  (void)state;
  flat = true;
  check(plane, 4, 0.05, steps);
  flat = false;
}
static void test_space(void **state) {
  (void)state;
  check(space, 5, 0.1, steps / 2);
}
static void test_hulls(void **state) {
  (void)state;
  check(hulls, 5, 0.05, steps / 2);
}

// the curved ones, the last two, have a step in 0.1 s and more: of differences they are the long run's
static void test_hollows(void **state) {
  (void)state;
#ifdef TG_COMPLEX
  int hollows = 6, least = 3;
#else
  int hollows = steps >= 100 ? 6 : tgt_cases(4, 2), least = 1;   // a step takes seconds of differences
#endif
  for (int k = 0; k < hollows; k++) check(hollow[k], 5, 0.04, least + steps / 20);
}

static void check_forces(const char *xml, double speed, double h, int count) {
  names = force_number;
  nnames = FORCE_NUMBERS;
  check(xml, speed, h, count);
  names = number;
  nnames = NUMBERS;
}

// Ropes, a pulley and a strut at the ends of their ranges, in all that places their ends. What is held in tens of flows of a step meets
// its end again at speeds next to none: ten steps or a hundred have medians of 1.7e-13 to 3.5e-13 by complex steps.
static void test_ropes(void **state) {
  (void)state;
  names = rope_number;
  nnames = ROPE_NUMBERS;
  check_medians("", ropes, 4, 0.06, steps / 4, 5 * middle);
  names = number;
  nnames = NUMBERS;
}

// Connects and welds that begin centimetres apart and are closed, in what places their anchors too.
static void test_bonded(void **state) {
  (void)state;
  names = bond_number;
  nnames = BOND_NUMBERS;
  spread = 0.05;
  // bonds are drawn open, and what pulls them together bends more than a motion does: differences are coarser, complex steps 3e-14
  check_medians("", bonded, 6, 0.05, steps / 4, 5 * middle);
  spread = 0.35;
  names = number;
  nnames = NUMBERS;
}

static void test_turning(void **state) {
  (void)state;
  check_forces(turning, 4, 0.04, steps / 2);
}

static void test_coupled(void **state) {
  (void)state;
  check_forces(coupled, 5, 0.05, steps / 4);
}

// A drum's rim lies across a box's edge: the point where they cross slides along both as the drum moves, and what meets there first in this
// step has a gap with more of the pose in it than its row has. It rattles on until it lies: no difference is narrow enough.
#ifdef TG_COMPLEX
static void check_crossing(const char *xml, const double *q, const double *v, const double *u, int impacts) {
  Rig r = rig_of_text(xml, "toi", NULL);
  const tgModel *m = &r.s->m;
  tgtRandom rnd = {.s = 3};
  Tally t = {0};
  reset(r.s);
  for (int i = 0; i < m->nq; i++) r.s->qpos[i] = q[i];
  for (int d = 0; d < m->nv; d++) r.s->qvel[d] = v[d];
  for (int i = 0; i < m->nu; i++) r.s->ctrl[i] = u[i];
  check_step(&r, &rnd, 0.05, &t);
  check_true(t.exact == 1 && t.impacts >= impacts, "%d exact, %d impacts", t.exact, t.impacts);
  print_message("worst %.2g\n", t.worst);
  drop(&r);
}

static void test_crossing(void **state) {
  (void)state;
  static const double q[] = {0.31807068318914211, -0.074254420796537157, 0.18417087854794206, 0.99263180486870628, 0.015081410505259513,
                             -0.011439409567012008, 0.11968204096281464, -0.24534031853928454, 0.17478669253377122};
  static const double v[] = {2.3450098304658908, -1.2967110220331701, -1.6386822712077087, -0.29976611413958576, 4.3408065877609729,
                             -1.5181356875716079, -0.96578385110157594, -2.9149975317391821}, u[] = {0.99093700095523385};
  check_crossing(drums, q, v, u, 4);
}

// the same over an edge of a mesh that is not convex, whose faces it touches one by one
static void test_crossing_of_faces(void **state) {
  (void)state;
  static const double q[] = STEP_AND_DRUM_Q, v[] = STEP_AND_DRUM_V;
  check_crossing(step_and_drum, q, v, NULL, 10);
}
#endif

static void test_drums(void **state) {
  (void)state;
  check(drums, 5, 0.05, steps / 4);
}

// impulses given once more, in place of speeds: friction at its bounds, normals that press again in the second phase, energy at its bound
static void test_poisson(void **state) {
  (void)state;
  flat = true;
  check_under("restitution_law=poisson", plane, 4, 0.05, 2 * steps);
  flat = false;
  check_under("restitution_law=poisson", space, 5, 0.1, steps / 2);
  check_under("restitution_law=poisson", hulls, 5, 0.05, steps / 2);
}

// ---- crowds ----

// y = g . (q, v) after a step from `from` and numbers, both moved by x along one direction
typedef struct Along {
  Ctx c;
  const tgReal *from, *way, *g;
} Along;

static tgStatus map_along(void *ctx, const tgReal *x, tgReal *y) {
  Along *a = ctx;
  const tgModel *m = &a->c.s->m;
  tgReal to[2 * MOST], moved[2 * MOST], end[2 * MOST];
  int n = 2 * m->nv + m->nu + 2;
  for (int i = 0; i < n; i++) moved[i] = x[0] * a->way[i];
  retract(&a->c, a->from, moved, to);
  tgStatus status = map(&a->c, to, end);
  y[0] = 0;
  for (int i = 0; i < 2 * m->nv && status == TG_OK; i++) y[0] += a->g[i] * end[i];
  return status;
}

// A blow that runs along a row of balls to and fro until they are a crowd, and another ball that lands after that, by whose meeting a flow
// of the crowd ends: the derivative of the step that was made, along random directions.
static void test_crowds(void **state) {
  (void)state;
  enum { BALLS = 14, NV = BALLS + 1, NT = 2 * NV + 2 };
  static char xml[6000];
  int at = sprintf(xml, "<mujoco><default><geom friction=\"0\"/></default><worldbody><geom type=\"plane\" size=\"5 5 1\"/>"
                        "<geom type=\"box\" size=\".05 1 .05\" pos=\"-.1001 0 1\"/>"
                        "<geom type=\"box\" size=\".05 1 .05\" pos=\"%g 0 1\"/>", 0.1001 * BALLS);
  for (int i = 0; i < NV; i++)
    at += sprintf(xml + at, "<body pos=\"%.17g %d %g\"><joint type=\"slide\" axis=\"%s\"/><geom size=\".05\" mass=\"1\"/></body>",
                  i < BALLS ? 0.1001 * i : 0, i < BALLS ? 0 : 3, i < BALLS ? 1 : 0.1, i < BALLS ? "1 0 0" : "0 0 1");
  sprintf(xml + at, "</worldbody></mujoco>");
  Rig r = rig_of_text(xml, "toi", NULL);
  tgSim *s = r.s;
  tgtRandom rnd = {.s = 11};
  const double h = 0.01;
  tgReal from[2 * NV + 2] = {0}, way[NT], g[2 * NV], J[2 * NV * 2 * NV], dq[2 * NV], *dv = dq + NV;
  tgStepInfo info;
  tgGradInfo label;
  int rows, cols, size;
  tgReal *e = tg_sim_param(s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows; i++) e[i] = 1;
  from[NV] = 20;
  from[2 * NV - 1] = -6;
  from[2 * NV] = h;
  static const char *const places[] = {"geom_size", "geom_pos", "body_pos", "contact.gap"};
  names = places;   // after a blow a ball stands still, but of other masses or weights
  nnames = sizeof places / sizeof *places;
  tgParamGrad *p = gradient_of(&r);
  tg_param_grad_values(p, &size);
  assert_true(size <= SIZES);
  Along a = {.c = {.s = s, .h = h}, .from = from, .way = way, .g = g};
  tgtDeriv d = {.name = "crowd", .nx = 1, .ny = 1, .map = map_along, .ctx = &a, .tol = 1e-6};
  tg_sim_freeze_memory(s, true);
  for (int k = 0; k < 2; k++) {
    tgReal D = 0, at_nominal = 0;
    tgt_random_vector(&rnd, SIZES, a.c.direction);
    tgt_random_vector(&rnd, NT, way);
    tgt_random_vector(&rnd, 2 * NV, g);
    for (int i = 0; i < SIZES; i++) a.c.direction[i] *= k == 0 ? 0 : 0.01;
    if (k > 0) a.c.direction[size - 2] = 1e-6;   // the gap
    for (int i = 0; i < NT; i++) way[i] *= i == 2 * NV + 1 ? 1 : 0.01;
#ifdef TG_COMPLEX
    way[2 * NV] = 0;   // h is a real number here
#endif
    memset(a.c.q1, 0, sizeof a.c.q1);
    assert_int_equal(map_along(&a, &at_nominal, &D), TG_OK);
    info = s->info;
    check_true(info.ncrowded > 0 && info.nstalled == 0, "%d in a crowd, %d stalled", info.ncrowded, info.nstalled);
    check_true(tg_sim_step_jacobian(s, J, &label) == TG_OK, "%s", tg_sim_error(s)->text);
    check_true(label.label <= TG_GRAD_ONE_SIDED, "%s", label.reason);   // a ball that a blow leaves stands, at a speed of 0
    tg_param_grad_clear(p);
    check_true(tg_sim_step_vjp(s, g, g + NV, dq, dv, NULL, p, &label) == TG_OK, "%s", tg_sim_error(s)->text);
    const tgReal *bar = tg_param_grad_values(p, NULL);
    D = bar[size - 1] * way[2 * NV];
    for (int i = 0; i < size - 1; i++) D += bar[i] * a.c.direction[i] * way[2 * NV + 1];
    for (int i = 0; i < 2 * NV; i++) {
      double sum = 0, terms = 0;
      for (int j = 0; j < 2 * NV; j++) {
        sum += tgRe(g[j] * J[j * 2 * NV + i]);
        terms += fabs(tgRe(g[j] * J[j * 2 * NV + i]));
      }
      check_close(sum, tgRe(dq[i]), 1e-10 * (1 + terms));
      D += dq[i] * way[i];
    }
    char message[256] = "";
    tgiWorst worst = least_error(&d, &(tgReal){0}, &D, message);
    print_message("%d impacts, %d in a crowd, error %.2g, %s\n", info.nimpact, info.ncrowded, worst.error, label.reason);
    check_true(worst.error <= d.tol, "error %g: %s", worst.error, message);
  }
  names = number;
  nnames = NUMBERS;
  tg_param_grad_free(p);
  drop(&r);
}

// A sim has from its start the scratch of a dense derivative, also where motors are a hundred times as many as dofs.
static void test_many_motors(void **state) {
  (void)state;
  enum { LINKS = 20, MOTORS = 2000 };
  tgDesc *d = tg_desc_create(NULL);
  for (int k = 0, body = 0; k < LINKS; k++) {
    body = tg_desc_add_body(d, body, NULL);
    d->body[body].pos[2] = -0.1;
    tg_desc_add_joint(d, body, TG_JOINT_HINGE, NULL);
    int g = tg_desc_add_geom(d, body, TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.02;
    d->geom[g].contype = d->geom[g].conaffinity = 0;
  }
  for (int k = 0; k < MOTORS; k++) tg_desc_add_actuator(d, TG_TRN_JOINT, k % LINKS, NULL);
  Rig r = rig_of_desc(d, "toi", NULL);
  int rows = 2 * LINKS, cols = 2 * LINKS + MOTORS;
  tgReal *D = malloc(sizeof *D * (size_t)(rows * cols)), z[2 * LINKS], du[MOTORS], dq[LINKS], dv[LINKS];
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  check_true(tg_sim_step_jacobian(r.s, D, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
  for (int i = 0; i < rows; i++) z[i] = 1 + 0.1 * i;
  assert_int_equal(tg_sim_step_vjp(r.s, z, z + LINKS, dq, dv, du, NULL, NULL), TG_OK);
  for (int k = 0; k < MOTORS; k += 97) {
    double sum = 0, size = 0;
    for (int i = 0; i < rows; i++) {
      double part = tgRe(z[i] * D[i * cols + 2 * LINKS + k]);
      sum += part;
      size += fabs(part);
    }
    check_close(sum, tgRe(du[k]), 1e-12 * size);
  }
  free(D);
  drop(&r);
}

// A body that turns by 0.6 to 2 rad in a step, which is in several flows then.
static void test_spinning(void **state) {
  (void)state;
  static const char *const body =
      "<mujoco><worldbody><body pos=\"0 0 3\"><freejoint/><geom type=\"box\" size=\".1 .2 .3\" pos=\".05 0 .02\" mass=\"1\"/></body>"
      "<body pos=\"3 0 3\"><joint type=\"ball\" damping=\".01\"/><geom type=\"box\" size=\".3 .1 .2\" mass=\"2\"/></body>"
      "</worldbody></mujoco>";
  Rig r = rig_of_text(body, "toi", NULL);
  tgtRandom rnd = {.s = 11};
  Tally t = {0};
  int halved = 0;
  for (int k = 0; k < 12; k++) {
    tg_sim_reset(r.s);
    tgt_random_vector(&rnd, 9, r.s->qvel);
    for (int d = 0; d < 9; d++) r.s->qvel[d] *= 60 + 7 * k;
    check_step(&r, &rnd, 0.01, &t);
    halved += tgi_events(r.s)->n > 1;
  }
  print_message("%d steps, %d exact, %d halved, worst %.2g\n", t.steps, t.exact, halved, t.worst);
  check_true(t.steps == t.exact && t.impacts == 0, "%d steps, %d exact, %d impacts", t.steps, t.exact, t.impacts);
  check_true(halved >= 6, "%d of them halved", halved);
  drop(&r);
}

// A dragging arm of two links: what is held moves on the curves of the joints, without an impact. States of a motion, with its memory.
static void test_held(void **state) {
  (void)state;
  static const char *const arm =
      "<mujoco><worldbody><geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\".1\"/><body pos=\"0 0 .5\">"
      "<joint axis=\"0 1 0\" damping=\".01\"/><geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .4 0 0\" mass=\"1\" friction=\".2\"/>"
      "<body pos=\".4 0 0\"><joint name=\"b\" axis=\"0 1 0\" stiffness=\"1\"/><joint axis=\"1 0 0\"/>"
      "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .3 .05 -.46\" mass=\"1\" friction=\".25\"/></body></body></worldbody>"
      "<actuator><motor joint=\"b\"/></actuator></mujoco>";
  tgAnyContactOptions o = options_of("toi", "gap=5e-4");   // room for differences
  Rig r = rig_of_text(arm, "toi", &o.of);
  tgtRandom rnd = {.s = 5};
  Tally t = {0};
  r.s->qvel[0] = 1;
  r.s->ctrl[0] = 0.4;
  for (int k = 0; k < 40; k++) {
    tgStepInfo info;
    tgReal q[MOST], v[MOST];
    if (k >= 5 && k % 3 == 0) {
      memcpy(q, r.s->qpos, (size_t)r.m->nq * sizeof *q);
      memcpy(v, r.s->qvel, (size_t)r.m->nv * sizeof *v);
      check_step(&r, &rnd, 0.01, &t);
      memcpy(r.s->qpos, q, (size_t)r.m->nq * sizeof *q);
      memcpy(r.s->qvel, v, (size_t)r.m->nv * sizeof *v);
    }
    assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
  }
  print_message("%d steps, %d exact, %d impacts, worst %.2g\n", t.steps, t.exact, t.impacts, t.worst);
  check_true(t.steps == t.exact && t.impacts == 0, "%d steps, %d exact, %d impacts", t.steps, t.exact, t.impacts);
  drop(&r);
}

// Two bodies on ball joints go round along the ends of their ranges, of which one is met on the way.
static void test_ball_joints(void **state) {
  (void)state;
  static const char *const chain =
      "<mujoco><compiler angle=\"radian\"/><default><geom contype=\"0\" conaffinity=\"0\"/></default><worldbody><body pos=\"0 0 3\">"
      "<joint type=\"ball\" limited=\"true\" range=\"0 .4\" damping=\".01\"/><geom type=\"box\" size=\".1 .2 .05\" pos=\".1 .02 -.2\" "
      "mass=\"1\"/><body pos=\".1 0 -.4\"><joint type=\"ball\" limited=\"true\" range=\"0 .3\"/><geom type=\"box\" "
      "size=\".05 .1 .02\" pos=\".02 .1 -.1\" mass=\".5\"/></body></body></worldbody></mujoco>";
  tgAnyContactOptions o = options_of("toi", "gap=1e-4");   // room for differences
  Rig r = rig_of_text(chain, "toi", &o.of);
  tgtRandom rnd = {.s = 8};
  Tally t = {0};
  for (int k = 0; k < 6; k++) r.s->qvel[k] = 0.5 + 0.3 * (k % 3);
  for (int k = 0; k < 60; k++) {
    tgStepInfo info;
    tgReal q[MOST], v[MOST];
    if (k % 4 == 0) {
      memcpy(q, r.s->qpos, (size_t)r.m->nq * sizeof *q);
      memcpy(v, r.s->qvel, (size_t)r.m->nv * sizeof *v);
      check_step(&r, &rnd, 0.01, &t);
      memcpy(r.s->qpos, q, (size_t)r.m->nq * sizeof *q);
      memcpy(r.s->qvel, v, (size_t)r.m->nv * sizeof *v);
    }
    assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    check_true(info.nstalled == 0, "stalled at step %d", k);
  }
  print_message("%d steps, %d exact, %d impacts, worst %.2g\n", t.steps, t.exact, t.impacts, t.worst);
  check_true(t.steps == t.exact && t.impacts > 0, "%d steps, %d exact, %d impacts", t.steps, t.exact, t.impacts);
  drop(&r);
}

// A box comes first to the elbow, which is an end of both links: to which of the two pairs is up to the last bit, and on the path of the
// flow that ends there the one meets it by an edge and not by the elbow.
static void set_elbow(Rig *r, double speed) {
  static const double start[] = {.26035, -.19847, .32382, .97939, .14729, -.13174, .04188, .98089, -.11187, .06811, -.14387, .10526,
                                 3.95318, 1.8316, -3.54098, -2.34192, 1.61089, 3.23364, -1.33841, 1.3174, -4.48576, -3.46092, -.72038};
  tgSim *s = r->s;
  reset(s);
  for (int i = 0; i < s->m.nq; i++) s->qpos[i] = start[i];
  for (int i = 0; i < s->m.nv; i++) s->qvel[i] = start[s->m.nq + i];
  s->ctrl[0] = start[s->m.nq + s->m.nv];
  s->qvel[0] += speed;
  for (int adr = 3; adr <= 7; adr += 4) {
    tgReal *q = s->qpos + adr, length = sqrt(tgRe(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
    for (int i = 0; i < 4; i++) q[i] /= length;
  }
}

static void test_elbow(void **state) {
  (void)state;
  enum { MOVES = 40, LONG = 16 };
  const double h = 0.1;
  Rig r = rig_of_text(space, "toi", NULL);
  const tgiEvents *e = tgi_events(r.s);
  tgiPiece first[LONG];
  tgReal v[MOST] = {0};
  int n = 0;
  for (int k = 0; k <= MOVES; k++) {
    tgStepInfo info;
    set_elbow(&r, k * 1e-14);
    check_true(tg_sim_step(r.s, h, &info) == TG_OK, "%s", tg_sim_error(r.s)->text);
    if (k == 0) {
      n = e->n;
      check_true(n <= LONG, "%d pieces", n);
      memcpy(first, e->piece, (size_t)n * sizeof *first);
      memcpy(v, r.s->qvel, (size_t)r.m->nv * sizeof *v);
    }
    check_true(e->n == n, "%d pieces, %d after a move of %d e-14", n, e->n, k);
    for (int i = 0; i < n; i++)
      check_true(e->piece[i].kind == first[i].kind && e->piece[i].who.part == first[i].who.part, "piece %d after a move of %d e-14", i, k);
    for (int d = 0; d < r.m->nv; d++) check_close(tgRe(r.s->qvel[d]), tgRe(v[d]), 1e-9);
  }
  tgtRandom rnd = {.s = 5};
  Tally t = {0};
  set_elbow(&r, 0);
  check_step(&r, &rnd, h, &t);
  print_message("%d pieces, %d impacts, worst %.2g\n", n, t.impacts, t.worst);
  check_true(t.exact == 1 && t.impacts >= 2, "%d exact, %d impacts", t.exact, t.impacts);
  drop(&r);
}

// d(J' f)/dq of the rows at a pose, f held, which rows at the start of a flow have in its derivative.
typedef struct Pull { Rig r; const tgReal *f; int n; } Pull;

static tgStatus pull_of(void *ctx, const tgReal *q, tgReal *out) {
  const Pull *k = ctx;
  tgSim *s = k->r.s;
  tgi_kinematics(&s->m, q, &s->start);
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_NEAR));
  assert_int_equal(s->nrow, k->n);
  tgi_rows_tmul(s, k->f, out);
  return TG_OK;
}

static void turn_by(void *ctx, const tgReal *q, const tgReal *d, tgReal *out) { tg_model_integrate(((const Pull *)ctx)->r.m, q, d, out); }

static void test_pull(void **state) {
  (void)state;
  static const char *const scene[] = {space, hulls};
  for (int k = 0; k < 2; k++) {
    tgtRandom rnd = {.s = 4};
    Pull p = {.r = rig_of_text(scene[k], "toi", NULL)};
    tgSim *s = p.r.s;
    tgReal q[MOST], f[64], out[MOST], Q[MOST * MOST];
    for (int t = 0; t < 40; t++) assert_int_equal(tg_sim_step_growing(s, 0.01, NULL), TG_OK);
    memcpy(q, s->qpos, (size_t)s->m.nq * sizeof *q);
    tgi_kinematics(&s->m, q, &s->start);
    assert_int_equal(tgi_rows(s, &s->start, 0, TGI_ROWS_NEAR), TG_OK);
    p.n = s->nrow;
    p.f = f;
    check_true(p.n > 2 && p.n <= 64, "%d rows", p.n);
    tgt_random_vector(&rnd, p.n, f);
    assert_int_equal(pull_of(&p, q, out), TG_OK);
    assert_int_equal(tgi_rows_pull_jacobian(s, &s->start, f, Q), TG_OK);
    tgtDeriv d = {.name = "J' f", .nx = s->m.nq, .nt = s->m.nv, .ny = s->m.nv, .map = pull_of, .retract = turn_by, .ctx = &p,
                  .tol = 1e-8, .step = 1e-5};
    tgt_check_jacobian(&d, q, Q);
    drop(&p.r);
  }
}

// Steps of a runner whose feet meet the ground: where a meeting's time is only as near to the length of its flow as the iteration leaves
// it, Jacobian and adjoint are of that flow still, and agree to rounding.
static void test_transpose(void **state) {
  (void)state;
  enum { NV = 9, NU = 6, ROWS = 2 * NV, COLS = ROWS + NU, MOTION = 250 };
  tgError e = {0};
  Rig r = rig_of_model(tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, &e), "toi", NULL, &e);
  tgReal J[ROWS * COLS], w[ROWS], v[COLS], g[COLS];
  double worst = 0;
  int impacts = 0;
  for (int t = 0; t < MOTION; t++) {
    tgStepInfo info;
    for (int k = 0; k < NU; k++) r.s->ctrl[k] = 0.6 * sin(0.1 * t + k);
    assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    impacts += info.nimpact;
    assert_int_equal(tg_sim_step_jacobian(r.s, J, NULL), TG_OK);
    for (int i = 0; i < ROWS; i++) w[i] = tg_random_normal(1, (uint64_t)t, (uint64_t)i);
    for (int i = 0; i < COLS; i++) v[i] = tg_random_normal(2, (uint64_t)t, (uint64_t)i);
    assert_int_equal(tg_sim_step_vjp(r.s, w, w + NV, g, g + NV, g + ROWS, NULL, NULL), TG_OK);
    worst = fmax(worst, tgi_dot_error(J, ROWS, COLS, w, v, g));
  }
  print_message("%d steps, %d impacts, worst %.2g\n", MOTION, impacts, worst);
  check_true(impacts >= 10 && worst < 3e-13, "%d impacts, worst %.3g", impacts, worst);
  drop(&r);
}

// usage: test_event_d [STEPS]
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
#ifdef TG_COMPLEX
                                     cmocka_unit_test(test_crossing), cmocka_unit_test(test_crossing_of_faces),
#endif
                                     cmocka_unit_test(test_plane), cmocka_unit_test(test_space), cmocka_unit_test(test_hulls),
                                     cmocka_unit_test(test_turning), cmocka_unit_test(test_coupled), cmocka_unit_test(test_bonded),
                                     cmocka_unit_test(test_ropes), cmocka_unit_test(test_hollows),
                                     cmocka_unit_test(test_drums), cmocka_unit_test(test_poisson), cmocka_unit_test(test_spinning),
                                     cmocka_unit_test(test_many_motors), cmocka_unit_test(test_held), cmocka_unit_test(test_ball_joints),
                                     cmocka_unit_test(test_elbow), cmocka_unit_test(test_crowds),
                                     cmocka_unit_test(test_pull), cmocka_unit_test(test_transpose)};
  if (argc > 1) steps = atoi(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
