// test_across.c: boxes edge on edge under `lcp`, `closing`: bars across each other, loaded, do not sink into each other as they rock from
// one crossing of their edges to the next. How deep boxes are in each other is measured by the fifteen axes that separate boxes.
#include <math.h>

#include "kin/kinematics.h"
#include "sim/sim.h"
#include "step/closing.h"
#include "support/check.h"
#include "tangere/grad.h"

// A bar that is fixed, one across on it, and a box that falls on that.
static const char *const pile =
    "<mujoco><worldbody><geom type='box' size='.06 .02 .02' friction='.5'/>"
    "<body pos='0 0 .045'><freejoint/><geom type='box' size='.015 .06 .02' density='1000' friction='.5'/></body>"
    "<body pos='.005 .01 .1'><freejoint/><geom type='box' size='.03 .03 .03' density='20000' friction='.5'/></body></worldbody></mujoco>";

// the axis k: faces of the first box, of the second one, cross products of edges; false: the two are parallel
static bool axis(const tgReal *Ra, const tgReal *Rb, int k, double n[3]) {
  const tgReal *face = k < 3 ? Ra + k : Rb + k % 3;
  int u = (k - 6) / 3, v = (k - 6) % 3;
  for (int i = 0; i < 3; i++) {
    int x = (i + 1) % 3, y = (i + 2) % 3;
    n[i] = tgRe(k < 6 ? face[3 * i] : Ra[3 * x + u] * Rb[3 * y + v] - Ra[3 * y + u] * Rb[3 * x + v]);
  }
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  for (int i = 0; i < 3; i++) n[i] /= length;
  return length > 1e-3;
}

// how far two boxes are in each other: the least overlap of their shadows along the axes; negative: apart
static double overlap(const tgModel *m, const tgPose *pose, int a, int b) {
  double least = INFINITY, n[3];
  const tgReal *R[2] = {pose->geom_xmat + 9 * a, pose->geom_xmat + 9 * b};
  for (int k = 0; k < 15; k++) {
    double reach = 0, apart = 0;
    if (!axis(R[0], R[1], k, n)) continue;
    for (int i = 0; i < 3; i++) apart += n[i] * tgRe(pose->geom_xpos[3 * a + i] - pose->geom_xpos[3 * b + i]);
    for (int side = 0; side < 2; side++)
      for (int j = 0; j < 3; j++) {
        double along = 0;
        for (int i = 0; i < 3; i++) along += n[i] * tgRe(R[side][3 * i + j]);
        reach += fabs(along) * tgRe(m->geom_size[3 * (side == 0 ? a : b) + j]);
      }
    least = fmin(least, reach - fabs(apart));
  }
  return least;
}

// the bar tilted, everything thrown
static void throw(tgSim *s, tgtRandom *r) {
  double turn[3] = {tgt_uniform(r, -0.15, 0.15), tgt_uniform(r, -0.15, 0.15), tgt_uniform(r, -0.4, 0.4)}, length = 1;
  tg_sim_reset(s);
  for (int i = 0; i < 3; i++) length += turn[i] * turn[i] / 4;
  s->qpos[3] = 1 / sqrt(length);
  for (int i = 0; i < 3; i++) {
    s->qpos[4 + i] = turn[i] / 2 / sqrt(length);
    s->qvel[i] = 0.3 * tgt_normal(r);
    s->qvel[3 + i] = 3 * tgt_normal(r);
    s->qvel[9 + i] = tgt_normal(r);
  }
  s->qvel[8] = -1;
}

static void test_bars(void **state) {
  (void)state;
  enum { THROWS = 60, STEPS = 30 };
  const double h = 5e-3;
  Rig r = closing(pile, 0);
  tgSim *s = r.s;
  tgtRandom random = {.s = 5};
  double deepest = 0;
  int several = 0;
  for (int k = 0; k < THROWS; k++) {
    throw(s, &random);
    for (int t = 0; t < STEPS; t++) {
      tgStepInfo info;
      run(&r, h, 1, &info);
      several += info.ncontact > 1;
      tgi_kinematics(&s->m, s->qpos, &s->end);
      for (int a = 0; a < 3; a++)
        for (int b = a + 1; b < 3; b++) {
          double deep = overlap(&s->m, &s->end, a, b);
          deepest = fmax(deepest, deep);
          check_true(deep < 3e-4, "throw %d, step %d: boxes %d and %d are %.2g m in each other", k, t, a, b, deep);
        }
    }
  }
  print_message("%d steps with several contacts, deepest %.2g m\n", several, deepest);
  assert_true(several > THROWS * STEPS / 4);
  drop(&r);
}

// Steps of bars that rest on several crossings, or rock on them: the derivative is that of differences.
static void test_derivative(void **state) {
  (void)state;
  Rig r = closing(pile, 0);
  tgSim *s = r.s;
  tgtRandom random = {.s = 9};
  int done = 0;
  for (int k = 0; k < 60 && done < 6; k++) {
    tgGradCheck check;
    tgStepInfo info;
    tgGradCheckOptions o = tg_grad_check_default();
    o.h = 5e-3;
    throw(s, &random);
    run(&r, o.h, 3 + k % 7, &info);
    int crossings = 0;
    for (int i = 0; i < s->ncon; i++) crossings += s->contact[i].geom1 == 0 && s->contact[i].geom2 == 1 && s->contact[i].row >= 0;
    if (crossings < 2) continue;
    assert_int_equal(tg_grad_check_step(s, &o, &check), TG_OK);
    for (int b = 0; b < check.nblock; b++)
      check_true(check.block[b].pass, "throw %d, %s: %g", k, check.block[b].name, check.block[b].error);
    done++;
  }
  check_true(done == 6, "%d steps", done);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bars), cmocka_unit_test(test_derivative)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
