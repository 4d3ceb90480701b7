// test_poisson.c: impacts by Poisson's law, `restitution_law: poisson`: closed forms, a rod that meets the floor at an angle against a
// solve of its own, and the conditions of both phases and the energy of random impacts of several contacts.
#include <math.h>
#include <stdlib.h>

#include "contact/lcp/work.h"
#include "contact/rows.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse_impact.h"
#include "step/impulse_parts.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/step.h"
#include "tangere/toi.h"

static int impacts = 300;   // random ones of each number of contacts

static void restitute(tgSim *s, const double *e) {
  int rows, cols;
  tgReal *x = tg_sim_param(s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows; i++) x[i] = e[i];
}

static Rig rig(const char *word, const char *xml, const char *options, const double *e) {
  tgAnyContactOptions o = options_of(word, options);
  Rig r = rig_of_text(xml, word, &o.of);
  restitute(r.s, e);
  return r;
}

// ---- closed forms ----

#define LINE(x, mass) "<body pos='" x " 0 0'><joint type='slide' axis='1 0 0'/><geom size='.1' mass='" mass "'/></body>"
#define STILL "<mujoco><option gravity='0 0 0'/><default><geom friction='0'/></default><worldbody>"

// One contact without friction: the impulse that stops it and e times that part it at e times its speed. Under both models.
static void test_ball(void **state) {
  (void)state;
  static const char *const words[] = {"toi", "lcp"};
  static const char xml[] = "<mujoco><worldbody><geom type='plane' size='2 2 1'/><body pos='0 0 .3'><freejoint/>"
                            "<geom size='.1' mass='2'/></body></worldbody></mujoco>";
  for (int k = 0; k < 2; k++) {
    const double e[2] = {0.7, 0.7};
    Rig newton = rig(words[k], xml, "", e), poisson = rig(words[k], xml, "restitution_law=poisson", e);
    int met = 0;
    for (int t = 0; t < 100; t++) {
      tgStepInfo a, b;
      assert_int_equal(tg_sim_step_growing(newton.s, 0.01, &a), TG_OK);
      assert_int_equal(tg_sim_step_growing(poisson.s, 0.01, &b), TG_OK);
      assert_int_equal(a.nimpact, b.nimpact);
      met += a.nimpact;
      check_close(poisson.s->qvel[2], tgRe(newton.s->qvel[2]), 1e-12);
      check_close(poisson.s->qpos[2], tgRe(newton.s->qpos[2]), 1e-12);
    }
    check_true(met > 4, "%s: %d impacts", words[k], met);
    drop(&newton);
    drop(&poisson);
  }
}

// A ball that meets two that touch: all three have the speed u after the first phase; then the first contact, which bounces, gives e times
// its impulse, and the second one, which did not close, holds the two together.
static void test_chain(void **state) {
  (void)state;
  const double m[3] = {1, 2, 0.5}, e = 0.6, v = 3;
  Rig r = rig("toi", STILL LINE("0", "1") LINE(".3", "2") LINE(".500001", ".5") "</worldbody></mujoco>",
              "restitution_law=poisson", (double[]){e, e, e});
  tgStepInfo info;
  r.s->qvel[0] = v;
  assert_int_equal(tg_sim_step_growing(r.s, 0.04, &info), TG_OK);
  double u = m[0] * v / (m[0] + m[1] + m[2]), f = m[0] * (v - u);
  assert_int_equal(info.nimpact, 1);
  check_close(r.s->qvel[0], u - e * f / m[0], 1e-12);
  check_close(r.s->qvel[1], u + e * f / (m[1] + m[2]), 1e-12);
  check_close(r.s->qvel[2], u + e * f / (m[1] + m[2]), 1e-12);
  drop(&r);
}

// A rod lands flat on two balls of its own, turning: f = -A^-1 b stops both, e_1 f_1 and e_2 f_2 once more part them at A (e f). By
// Newton's law they part at -e b.
static void test_flat(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><option gravity='0 0 0'/><default><geom friction='0'/></default><worldbody>"
                            "<geom type='plane' size='2 2 1'/><body pos='0 0 .100001'>"
                            "<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
                            "<inertial pos='0 0 0' mass='2' diaginertia='.03 .03 .03'/>"
                            "<geom size='.1' pos='-.3 0 0'/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>";
  const double m = 2, I = 0.03, a = 0.3, v = -2, turn = 1.5;
  for (int law = 0; law < 2; law++) {
    Rig r = rig("toi", xml, law == 0 ? "" : "restitution_law=poisson", (double[]){0.1, 0.9, 0.6});
    tgStepInfo info;
    r.s->qvel[0] = v;
    r.s->qvel[1] = turn;
    assert_int_equal(tg_sim_step_growing(r.s, 1e-6, &info), TG_OK);
    assert_int_equal(info.nimpact, 1);
    assert_int_equal(r.s->ncon, 2);
    // of the ball at x = -a and of that at a, which sinks as the rod turns
    const double e[2] = {tgRe(r.s->contact[0].restitution), tgRe(r.s->contact[1].restitution)}, b[2] = {v + a * turn, v - a * turn};
    const double own = 1 / m + a * a / I, other = 1 / m - a * a / I, det = own * own - other * other;
    check_true(e[0] > e[1] + 0.1, "%g and %g", e[0], e[1]);
    double f[2], w[2];
    for (int i = 0; i < 2; i++) f[i] = -(own * b[i] - other * b[1 - i]) / det;
    check_true(f[0] > 0 && f[1] > 0, "impulses %g, %g", f[0], f[1]);
    for (int i = 0; i < 2; i++) w[i] = law == 0 ? -e[i] * b[i] : own * e[i] * f[i] + other * e[1 - i] * f[1 - i];
    check_true(w[0] > 0 && w[1] > 0, "%g, %g", w[0], w[1]);
    check_close(r.s->qvel[0], 0.5 * (w[0] + w[1]), 1e-5);
    check_close(r.s->qvel[1], 0.5 * (w[0] - w[1]) / a, 1e-5);
    drop(&r);
  }
}

// ---- one contact with friction, by trial of all cases ----

// f_n >= p, w_n >= 0, f_n = p where w_n > 0;  |f_t| <= mu f_n, against the motion where it is not less; false: this case is not the one
static bool one_case(const double A[3], const double b[2], double mu, double p, int normal, int side, double f[2]) {
  double nn = A[0] + side * mu * A[1], w[2];
  if (normal == 0) {   // pushes by p
    f[0] = p;
    f[1] = side != 0 ? side * mu * p : -(b[1] + A[1] * p) / A[2];
  } else if (side != 0) {
    f[0] = -b[0] / nn;
    f[1] = side * mu * f[0];
  } else {
    double det = A[0] * A[2] - A[1] * A[1];
    f[0] = -(A[2] * b[0] - A[1] * b[1]) / det;
    f[1] = -(A[0] * b[1] - A[1] * b[0]) / det;
  }
  w[0] = A[0] * f[0] + A[1] * f[1] + b[0];
  w[1] = A[1] * f[0] + A[2] * f[1] + b[1];
  const double off = 1e-12;
  return f[0] >= p - off && w[0] >= -off && fabs(f[1]) <= mu * f[0] + off && side * w[1] <= off;
}

// A: nn, nt, tt; w out
static void solve_contact(const double A[3], const double b[2], double mu, double p, double f[2], double w[2]) {
  int found = 0;
  for (int normal = 0; normal < 2; normal++)
    for (int side = -1; side < 2; side++) {
      double one[2];
      if (!one_case(A, b, mu, p, normal, side, one)) continue;
      found++;
      f[0] = one[0];
      f[1] = one[1];
    }
  check_true(found > 0, "%d cases", found);
  w[0] = A[0] * f[0] + A[1] * f[1] + b[0];
  w[1] = A[1] * f[0] + A[2] * f[1] + b[1];
}

// The end of a rod at an angle meets the floor: friction couples the normal to the tangent, and both laws differ.
static void test_rod(void **state) {
  (void)state;
  static const char xml[] =
      "<mujoco><option gravity='0 0 0'/><default><geom friction='%.17g'/></default><worldbody><geom type='plane' size='2 2 1'/>"
      "<body pos='0 0 %.17g'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
      "<inertial pos='0 0 0' mass='1.3' diaginertia='.02 .02 .02'/><geom size='.01' pos='%.17g 0 %.17g'/></body></worldbody></mujoco>";
  const double m = 1.3, I = 0.02, gap = 1e-9;
  tgtRandom rnd = {.s = 3};
  int differ = 0, slide = 0, stick = 0, damped = 0;
  for (int k = 0; k < 200; k++) {
    double angle = tgt_uniform(&rnd, 0.3, 1.4), x = -0.3 * cos(angle), z = -0.3 * sin(angle), mu = tgt_uniform(&rnd, 0.1, 1),
           e = tgt_uniform(&rnd, 0.2, 1), end[2][3], v[3] = {tgt_uniform(&rnd, -3, 3), -2, tgt_uniform(&rnd, -3, 3)};
    const double r[2] = {x, z - 0.01};   // of the contact from the centre
    const double b[2] = {v[1] - v[2] * r[0], v[0] + v[2] * r[1]};
    const double A[3] = {1 / m + r[0] * r[0] / I, -r[0] * r[1] / I, 1 / m + r[1] * r[1] / I};
    if (b[0] > -0.1) continue;
    static char text[1200];
    snprintf(text, sizeof text, xml, mu, 0.01 - z + gap, x, z);
    for (int law = 0; law < 2; law++) {
      Rig one = rig("toi", text, law == 0 ? "gap=1e-9" : "gap=1e-9 restitution_law=poisson", (double[]){e, e});
      tgStepInfo info;
      for (int d = 0; d < 3; d++) one.s->qvel[d] = v[d];
      assert_int_equal(tg_sim_step_growing(one.s, 1e-9, &info), TG_OK);
      assert_int_equal(info.nimpact, 1);
      for (int d = 0; d < 3; d++) end[law][d] = tgRe(one.s->qvel[d]);
      if (law == 1 && info.ndamped > 0) damped++;
      else if (law == 1) {
        double f[2], w[2], f2[2], w2[2];
        solve_contact(A, b, mu, 0, f, w);
        solve_contact(A, w, mu, e * f[0], f2, w2);
        const double all[2] = {f[0] + f2[0], f[1] + f2[1]};
        check_close(end[1][0], v[0] + all[1] / m, 1e-7);
        check_close(end[1][1], v[1] + all[0] / m, 1e-7);
        check_close(end[1][2], v[2] + (all[1] * r[1] - all[0] * r[0]) / I, 1e-6);
        slide += fabs(w2[1]) > 1e-6;
        stick += fabs(w2[1]) < 1e-9;
      }
      drop(&one);
    }
    differ += fabs(end[0][1] - end[1][1]) > 1e-2;
  }
  print_message("%d rods part otherwise than by Newton's law; %d slide, %d stick, %d at their energy\n", differ, slide, stick, damped);
  check_true(differ > 20 && slide > 20 && stick > 20, "%d differ, %d slide, %d stick", differ, slide, stick);
}

// ---- impulses of the first phase ----

static const char one_ball[] =
    "<mujoco><option gravity='0 0 0'/><default><geom friction='.3'/></default><worldbody><geom type='plane' size='2 2 1'/>"
    "<body pos='0 0 .200001'><freejoint/><inertial pos='0 0 0' mass='1.3' diaginertia='.02 .03 .04'/>"
    "<geom size='.05' pos='.2 .03 -.15'/></body></worldbody></mujoco>";

// with an impact in the sim, as derivatives have it
static void in_impact(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  int k = 0;
  while (k < e->n && e->piece[k].kind != TGI_PIECE_IMPACT) k++;
  assert_true(k < e->n);
  tgi_parts_swap_memory(s);
  assert_int_equal(tgi_piece_load(s, k), TG_OK);
  tgi_parts_swap_memory(s);
}

// impulses of the first phase in the velocities before: the ball meets at the start of the step
static tgStatus impulses_of(void *ctx, const tgReal *v, tgReal *f) {
  tgSim *s = ctx;
  tg_sim_reset(s);
  restitute(s, (double[]){0.5, 0.5});
  memcpy(s->qvel, v, 6 * sizeof *v);
  TG_TRY(tg_sim_step_growing(s, 1e-9, NULL));
  in_impact(s);
  assert_true(s->nrow == 3 && s->rebounds);
  memcpy(f, s->rows->f2, 3 * sizeof *f);
  return TG_OK;
}

static void test_impulses(void **state) {
  (void)state;
  Rig r = rig("toi", one_ball, "restitution_law=poisson", (double[]){0.5, 0.5});
  static const double start[2][6] = {{1, .3, -2, .2, -.1, .3}, {.1, .05, -2, .2, .1, .1}};
  int sliding = 0, sticking = 0;
  for (int k = 0; k < 2; k++) {
    tgReal v[6], f[3], D[6 * 12], F[3 * 12], part[3 * 6];
    int clamps = 0;
    for (int d = 0; d < 6; d++) v[d] = start[k][d];
    assert_int_equal(impulses_of(r.s, v, f), TG_OK);
    tgi_rows_select(r.s, 1);
    for (int i = 1; i < 3; i++) *(r.s->contact_model->kind->rows->side(r.s, i) != 0 ? &sliding : &sticking) += 1;
    assert_int_equal(tgi_impulse_forces_jacobian(r.s, D, F, &clamps), TG_OK);
    tgi_rows_select(r.s, 0);
    for (int i = 0; i < 3; i++)
      for (int d = 0; d < 6; d++) part[6 * i + d] = F[12 * i + 6 + d];
    tgtDeriv d = {.name = "impulses", .nx = 6, .ny = 3, .map = impulses_of, .ctx = r.s, .tol = 1e-6};
    tgt_check_jacobian(&d, v, part);
  }
  check_true(sliding > 0 && sticking > 0, "%d tangents slide, %d stick", sliding, sticking);
  drop(&r);
}

// ---- random impacts ----

// A box on the floor, or above it, two balls at its sides and one on it, which touch or not: one to six contacts and more.
static const char pile[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='2 2 1' friction='.3'/>"
    "<body pos='0 0 .100001'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.5'/></body>"
    "<body pos='.150001 .01 .12'><freejoint/><geom size='.05' mass='.5' friction='.7'/></body>"
    "<body pos='-.01 -.150001 .08'><freejoint/><geom size='.05' mass='2' friction='.2'/></body>"
    "<body pos='.03 .02 .250002'><freejoint/><geom size='.05' mass='.8' friction='.9'/></body></worldbody></mujoco>";

typedef struct Seen { int impacts, contacts[8], again, rubs, damped, open; double growth; } Seen;

// Redundant rows leave open how they share impulses, and those of least norm need not keep their bounds: velocities do.
static bool is_open(const tgSim *s, int island) {
  const tgiLcp *l = &tgi_lcp_work_of(s, 0)->island[island].lcp;
  return l->rank < l->nk;
}

// Conditions of both phases and the energy of the impact in the sim, of scale `speed`.
static void check_impact(tgSim *s, double speed, Seen *seen) {
  const tgRows *r = s->rows;
  int contacts = 0, bounces = 0;
  double scale = 1e-9 * speed;
  for (int i = 0; i < s->nrow; i++) {
    int up = r->parent[i], island = r->island[i];
    double f = tgRe(r->f[i]), f1 = tgRe(r->f2[i]), x = tgRe(r->share[island]), all = f1 + x * f;
    double w1 = tgRe(tgi_row_dot(s, r->J, i, r->mean)), w = tgRe(tgi_row_dot(s, r->J, i, s->end.vel)),
           after = tgRe(tgi_row_dot(s, r->J, i, r->after));
    check_true(r->kind[i] != TG_ROW_NORMAL || (w1 >= -scale && w >= -scale && after >= -scale), "closes at %g, %g, %g", w1, w, after);
    if (r->kind[i] == TG_ROW_NORMAL) {
      double p = tgRe(r->rebound[i]) * f1;
      contacts++;
      bounces += p > 0;
      check_true(f1 >= -1e-9 && w1 >= -scale && f1 * w1 <= 1e-8 * speed, "first phase: f %g, w %g", f1, w1);
      if (is_open(s, island)) continue;
      check_true(f >= p - 1e-8 && w >= -scale && (f - p) * w <= 1e-7 * speed, "second phase: f %g of %g, w %g", f, p, w);
      check_true(all >= -1e-9 && after >= -scale, "f %g, w %g", all, after);
      seen->again += p > 0 && f > 1.01 * p;
    } else if (up >= 0) {
      double mu = tgRe(r->limit[i]), B = mu * tgRe(r->f[up]), B1 = mu * tgRe(r->f2[up]);
      if (is_open(s, island)) continue;
      check_true(fabs(f1) <= B1 + 1e-8 && fabs(f) <= B + 1e-8, "friction %g of %g, %g of %g", f1, B1, f, B);
      check_true(fabs(w1) <= scale || fabs(f1 * w1 + B1 * fabs(w1)) <= 1e-7 * speed, "first phase: slides at %g, %g of %g", w1, f1, B1);
      check_true(fabs(w) <= scale || fabs(f * w + B * fabs(w)) <= 1e-7 * speed, "second phase: slides at %g, %g of %g", w, f, B);
      seen->rubs += B > 1e-6 && fabs(w) > scale;
    }
  }
  double before = tgi_kinetic_energy(s, s->start.vel), growth = (tgi_kinetic_energy(s, r->after) - before) / before;
  check_true(growth <= 1e-12, "energy grows by %g of %g", growth, before);
  seen->growth = fmax(seen->growth, (tgi_kinetic_energy(s, s->end.vel) - before) / before);
  for (int k = 0; k < s->nisland; k++) {
    seen->damped += tgRe(r->share[k]) < 1;
    seen->open += is_open(s, k);
  }
  seen->impacts += bounces > 0;
  if (bounces > 0) seen->contacts[contacts < 7 ? contacts : 7]++;
}

// A state of the pile. wild: restitution 0 or 1 and friction up to 3, where energy comes to its bound.
static void draw(tgSim *s, tgtRandom *rnd, bool wild) {
  int rows, cols;
  double e[5];
  tg_sim_reset(s);
  tgReal *mu = tg_sim_param(s, "geom_friction", &rows, &cols);
  for (int i = 0; i < 5; i++) {
    e[i] = tgt_uniform(rnd, 0, 1);
    if (wild) e[i] = e[i] < 0.5 ? 0 : 1;
    if (wild) mu[cols * i] = tgt_uniform(rnd, 0, 3);
  }
  restitute(s, e);
  if (tgt_uniform(rnd, 0, 1) < 0.4)
    for (int b = 0; b < 4; b++) s->qpos[7 * b + 2] += 0.5;   // nothing is on the floor
  for (int b = 1; b < 4; b++)
    if (tgt_uniform(rnd, 0, 1) < 0.4) s->qpos[7 * b] += b;
  for (int d = 0; d < s->m.nv; d++) s->qvel[d] = tgt_uniform(rnd, -1, 1) * (d % 6 < 3 ? 2 : 10);
  for (int b = 0; b < 4; b++) s->qvel[6 * b + 2] -= 1;
}

static void test_random(void **state) {
  (void)state;
  Rig r = rig("toi", pile, "restitution_law=poisson", (double[5]){0});
  tgSim *s = r.s;
  tgtRandom rnd = {.s = 7};
  Seen seen = {0};
  for (int k = 0; k < 20 * impacts && seen.impacts < 4 * impacts; k++) {
    double speed = 1;
    draw(s, &rnd, k % 2 == 1);
    tgStatus status = tg_sim_step_growing(s, 1e-7, NULL);
    check_true(status == TG_OK, "%s", tg_sim_error(s)->text);
    tgi_parts_swap_memory(s);
    for (int piece = 0; piece < tgi_events(s)->n; piece++) {
      if (tgi_events(s)->piece[piece].kind != TGI_PIECE_IMPACT) continue;
      assert_int_equal(tgi_piece_load(s, piece), TG_OK);
      if (s->rebounds) check_impact(s, speed, &seen);
    }
    tgi_parts_swap_memory(s);
  }
  const int *of = seen.contacts;
  print_message("%d impacts that bounce, of 1 to 6 contacts %d %d %d %d %d %d, more %d; %d normals press again, %d tangents slide; "
                "%d at their energy, most without that %g; %d redundant\n", seen.impacts, of[1], of[2], of[3], of[4], of[5], of[6], of[7],
                seen.again, seen.rubs, seen.damped, seen.growth, seen.open);
  for (int n = 1; n < 7; n++) check_true(of[n] > 20, "%d impacts of %d contacts", of[n], n);
  check_true(seen.damped > 0, "%d at their energy", seen.damped);
  check_true(seen.impacts >= 1000 && seen.open < seen.impacts && seen.again > 20 && seen.rubs > 100, "%d impacts", seen.impacts);
  drop(&r);
}

// ---- derivatives where energy is at its bound ----

enum { DOFS = 24 };

typedef struct Start { tgSim *s; tgReal q[28]; } Start;

static tgStatus after(void *ctx, const tgReal *v, tgReal *out) {
  Start *a = ctx;
  memcpy(a->s->qpos, a->q, sizeof a->q);
  memcpy(a->s->qvel, v, DOFS * sizeof *v);
  TG_TRY(tg_sim_step(a->s, 1e-9, NULL));
  memcpy(out, a->s->qvel, DOFS * sizeof *out);
  return TG_OK;
}

static void test_bound(void **state) {
  (void)state;
  static tgReal D[2 * DOFS * 2 * DOFS], part[DOFS * DOFS];
  Rig r = rig("toi", pile, "restitution_law=poisson", (double[5]){0});
  tgSim *s = r.s;
  tgtRandom rnd = {.s = 9};
  int found = 0, tries = 0;
  for (; found < 5 && tries < 4000; tries++) {
    Start a = {.s = s};
    tgStepInfo info;
    tgReal v[DOFS], out[DOFS], g[2 * DOFS], gq[DOFS], gv[DOFS];
    draw(s, &rnd, true);
    memcpy(a.q, s->qpos, sizeof a.q);
    memcpy(v, s->qvel, sizeof v);
    check_true(tg_sim_step_growing(s, 1e-9, &info) == TG_OK, "%s", tg_sim_error(s)->text);
    if (info.ndamped == 0) continue;
    tg_sim_freeze_memory(s, true);
    assert_int_equal(after(&a, v, out), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
    for (int i = 0; i < DOFS; i++) {
      memset(g, 0, sizeof g);
      g[DOFS + i] = 1;
      assert_int_equal(tg_sim_step_vjp(s, g, g + DOFS, gq, gv, NULL, NULL, NULL), TG_OK);
      for (int d = 0; d < DOFS; d++) {
        part[DOFS * i + d] = D[(size_t)(DOFS + i) * 2 * DOFS + DOFS + (size_t)d];
        check_close(gv[d], tgRe(part[DOFS * i + d]), 1e-9);
      }
    }
    tgtDeriv d = {.name = "at the bound", .nx = DOFS, .ny = DOFS, .map = after, .ctx = &a, .tol = 1e-6, .step = 1e-5};
    tgt_check_jacobian(&d, v, part);
    tg_sim_freeze_memory(s, false);
    found++;
  }
  check_true(found == 5, "%d of %d", found, tries);
  drop(&r);
}

// usage: test_poisson [IMPACTS]
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ball), cmocka_unit_test(test_chain), cmocka_unit_test(test_flat),
                                     cmocka_unit_test(test_rod), cmocka_unit_test(test_impulses), cmocka_unit_test(test_random),
                                     cmocka_unit_test(test_bound)};
  if (argc > 1) impacts = atoi(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
