// test_event_tendon.c: ranges of spatial tendons under `toi`: ropes that come taut at their own time, struts that hold apart, and none that
// is longer or shorter than its range at any time of any piece.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kin/kinematics.h"
#include "kin/tendon.h"
#include "step/judged.h"
#include "step/ropes.h"
#include "step/toi_rig.h"
#include "support/tree.h"
#include "tangere/step.h"
#include "tangere/toi.h"

static const double gap = 1e-6;

// a ball on a rope, or on a strut, from a point that stays
#define SLIDES                                                                                                                  \
  "<joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 1 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"            \
  "<geom size=\".1\" mass=\"2\" contype=\"0\" conaffinity=\"0\"/><site name=\"b\"/>"
#define TIED(gravity, at, range)                                                                                                \
  "<mujoco><option gravity=\"0 0 " gravity "\"/><worldbody><site name=\"o\"/><body pos=\"" at "\">" SLIDES "</body></worldbody>" \
  "<tendon><spatial limited=\"true\" range=\"" range "\"><site site=\"o\"/><site site=\"b\"/></spatial></tendon></mujoco>"

// The first piece ends where the line through r at v comes to the sphere of that radius, and the impact takes away what is along it.
static void check_first_meeting(const char *xml, const double v[3], double radius, bool inside) {
  Rig r = rig_of_text(xml, "toi", NULL);
  tgReal start[3];
  double rr = -radius * radius, rv = 0, vv = 0;
  tgi_kinematics(&r.s->m, r.s->qpos, &r.s->trial);
  for (int i = 0; i < 3; i++) {
    start[i] = r.s->trial.site_xpos[3 + i];
    r.s->qvel[i] = v[i];
    rr += tgRe(start[i]) * tgRe(start[i]);
    rv += tgRe(start[i]) * v[i];
    vv += v[i] * v[i];
  }
  double root = sqrt(rv * rv - vv * rr), t = (inside ? root - rv : -root - rv) / vv, u[3], along = 0;
  check_true(tg_sim_step_growing(r.s, 1.3 * t, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
  const tgiEvents *e = tgi_events(r.s);
  check_true(e->n >= 3 && e->piece[1].kind == TGI_PIECE_IMPACT && r.s->info.nimpact == 1, "%d pieces", e->n);
  check_close(tgRe(e->t[0]), t, 1e-12);
  for (int i = 0; i < 3; i++) {
    u[i] = (tgRe(start[i]) + t * v[i]) / radius;
    along += u[i] * v[i];
  }
  for (int i = 0; i < 3; i++) check_close(tgRe(tgi_piece_v(r.s, 2)[i]), v[i] - along * u[i], 1e-12);
  drop(&r);
}

static void test_meets(void **state) {
  (void)state;
  check_first_meeting(TIED("0", ".3 0 0", "0 1"), (double[]){1, 0.8, 0.2}, 1 - gap, true);
  check_first_meeting(TIED("0", "1.5 .1 .2", ".5 3"), (double[]){-2, 0.1, 0.1}, 0.5 + gap, false);
}

// the least way from an end of its range of any spatial tendon, at 41 times of each piece of the last step; its clearance is in it
static double least_slack(Rig *r) {
  tgSim *s = r->s;
  Poses p = {0};
  double least = INFINITY;
  tgReal q[64];
  add_poses(r, 40, &p);
  for (int k = 0; k < p.n; k++) {
    for (int i = 0; i < s->m.nq; i++) q[i] = p.q[k * s->m.nq + i];
    tgi_kinematics(&s->m, q, &s->trial);
    for (int t = 0; t < s->m.ntendon; t++) {
      double length = tgRe(s->trial.ten_length[t]);
      if (!s->m.ten_limited[t]) continue;
      least = fmin(least, fmin(length - tgRe(s->m.ten_range[2 * t]), tgRe(s->m.ten_range[2 * t + 1]) - length));
    }
  }
  free(p.q);
  return least;
}

// A ball that starts at the lowest point of a taut rope with v^2 = 7/2 g l goes round up to 120 degrees, where nothing pulls, flies
// up to 27/16 l and comes taut again as it falls. Of second order, held or not.
static void test_goes_slack(void **state) {
  (void)state;
  double error[2];
  for (int k = 0; k < 2; k++) {
    Rig r = rig_of_text(TIED("-10", "0 0 -.999999", "0 1"), "toi", NULL);
    double highest = -1, least = INFINITY, h = 0.004 / (1 << k);
    int impacts = 0;
    r.s->qvel[0] = sqrt(35);
    for (int t = 0; t < 450 << k; t++) {
      tgStepInfo info;
      check_true(tg_sim_step_growing(r.s, h, &info) == TG_OK && info.nstalled == 0, "%s", tg_sim_error(r.s)->text);
      if (impacts == 0) highest = fmax(highest, tgRe(r.s->qpos[2]));
      impacts += info.nimpact;
      if (t % 10 == 0) least = fmin(least, least_slack(&r));
    }
    error[k] = highest - 27.0 / 16;
    check_true(impacts > 0 && least > 0, "%d impacts, %g m from its end", impacts, least);
    drop(&r);
  }
  print_message("highest point off by %g, %g m\n", error[0], error[1]);
  check_true(fabs(error[0]) < 5e-4 && fabs(error[1]) < 0.4 * fabs(error[0]), "off by %g, %g m", error[0], error[1]);
}

// Ropes, a pulley and a strut that free bodies and arms hang at: random motions, in none of which one leaves its range.
static void test_ranges(void **state) {
  (void)state;
  tgtRandom rnd = {.s = 3};
  Rig r = rig_of_text(ropes, "toi", NULL);
  double least = INFINITY;
  int impacts = 0, stalled = 0, motions = tgt_cases(12, 400);
  for (int k = 0; k < motions; k++) {
    tg_sim_reset(r.s);
    for (int d = 0; d < r.m->nv; d++) r.s->qvel[d] = 4 * tgt_uniform(&rnd, -1, 1);
    for (int t = 0; t < 15; t++) {
      tgStepInfo info;
      check_true(tg_sim_step_growing(r.s, 0.02, &info) == TG_OK, "%s", tg_sim_error(r.s)->text);
      impacts += info.nimpact;
      stalled += info.nstalled;
      least = fmin(least, least_slack(&r));
    }
  }
  print_message("%d motions, %d impacts, %d stalled, least %g m\n", motions, impacts, stalled, least);
  check_true(least > 0 && stalled == 0 && impacts > 2 * motions, "least %g, %d stalled, %d impacts", least, stalled, impacts);
  drop(&r);
}

// what leaves no end of a range alone: two ends of no length, a strand within one body
static void test_odd_strands(void **state) {
  (void)state;
  static const char *const odd =
      "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><site name=\"o\"/><body><freejoint/>"
      "<geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/><site name=\"a\"/><site name=\"b\" pos=\".1 0 0\"/></body></worldbody>"
      "<tendon><spatial limited=\"true\" range=\"0 .4\"><site site=\"o\"/><site site=\"a\"/><site site=\"b\"/></spatial></tendon></mujoco>";
  Rig r = rig_of_text(odd, "toi", NULL);
  int impacts = 0;
  for (int t = 0; t < 50; t++) {
    tgStepInfo info;
    check_true(tg_sim_step_growing(r.s, 0.01, &info) == TG_OK && info.nstalled == 0, "%s", tg_sim_error(r.s)->text);
    impacts += info.nimpact;
  }
  check_true(impacts == 1, "%d impacts", impacts);
  check_close(tgRe(r.s->qpos[2]), -0.3 + gap, 1e-9);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_meets), cmocka_unit_test(test_goes_slack), cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_odd_strands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
