// test_event_convex.c: random motions of pairs of convex bodies under `toi`, each piece judged by exact predicates at 41 times.
// usage: test_event_convex [MOTIONS [PAIR [FIRST]]]: of each pair, or of one the motions from FIRST on
#include <math.h>

#include "step/judged.h"
#include "support/tree.h"

static int motions = 3, only = -1, first = 0;

#define STONE "type='mesh' mesh='stone'"
static const char *const shape[] = {"size='.06'", "type='capsule' size='.04 .07'", "type='cylinder' size='.06 .03'",
                                    "type='ellipsoid' size='.04 .05 .08'", "type='box' size='.04 .05 .08'", STONE,
                                    "type='box' size='.09 .09 .001'", "type='plane' size='1 1 1'"};
enum { SHAPES = sizeof shape / sizeof *shape, MOVING = SHAPES - 1, PAIRS = SHAPES * (SHAPES + 1) / 2 - 1, BATCH = 50, TIMES = 40 };

static Rig scene(int a, int b) {
  static char text[2000];
  snprintf(text, sizeof text,
           "<mujoco><option gravity='0 0 -9.81'/><default><geom friction='.4'/></default><asset><mesh name='stone' vertex='"
           "-.05 -.05 -.05 .05 -.04 -.05 .06 .05 -.04 -.05 .055 -.05 -.035 -.05 .05 .04 -.05 .06 .05 .035 .05 -.045 .05 .04'/></asset>"
           "<worldbody><geom %s/><body pos='0 0 .4'><freejoint/><geom %s mass='1'/></body></worldbody></mujoco>", shape[a], shape[b]);
  return rig_of_text(text, "toi", NULL);
}

// The body starts somewhere around the one that stands and flies at it, turning; e of both.
static double launch(const Rig *r, tgtRandom *rnd, bool above) {
  tgSim *s = r->s;
  double way[3], w[4], length = 0, norm = 0, speed = tgt_uniform(rnd, 5, 15);
  tg_sim_reset(s);
  for (int i = 0; i < 3; i++) {
    way[i] = tgt_uniform(rnd, above && i == 2 ? 0.8 : -1, 1);
    length += way[i] * way[i];
  }
  for (int i = 0; i < 4; i++) {
    w[i] = tgt_uniform(rnd, -1, 1);
    norm += w[i] * w[i];
  }
  for (int i = 0; i < 4; i++) s->qpos[3 + i] = w[i] / sqrt(norm);
  for (int i = 0; i < 3; i++) {
    s->qpos[i] = 0.3 * way[i] / sqrt(length) + tgt_uniform(rnd, -.03, .03);
    s->qvel[i] = -speed * way[i] / sqrt(length);
    s->qvel[3 + i] = tgt_uniform(rnd, -20, 20);
  }
  return tgt_uniform(rnd, 0, 1);
}

// early: of the steps that stalled, those that had room for more pieces and impacts
typedef struct Sum { int impacts, stalled, early; long poses; double least; } Sum;

static void fly(Rig *r, double e, Poses *p, Sum *sum) {
  int rows, cols;
  tgReal *x = tg_sim_param(r->s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
  for (int t = 0; t < 2; t++) {
    tgStepInfo info;
    tgStatus status = tg_sim_step_growing(r->s, 0.02, &info);
    check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
    sum->impacts += info.nimpact;
    sum->stalled += info.nstalled;
    sum->early += info.nstalled > 0 && info.nimpact <= TGI_EVENTS && tgi_events(r->s)->n < TGI_PIECES - 4;
    sum->least = fmin(sum->least, info.least_distance);
    add_poses(r, TIMES, p);
  }
}

static void judge(const Rig *r, Poses *p, Sum *sum, int motion) {
  long overlaps = p->n > 0 ? tg_intersections_of_motion(r->m, p->q, p->n - 1) : 0;
  check_true(overlaps == 0, "%ld intersections in the motions up to %d", overlaps, motion);
  sum->poses += p->n;
  p->n = 0;
}

static void pair(int index, int a, int b) {
  Rig r = scene(a, b);
  tgtRandom rnd = {.s = 31 + (uint64_t)index};
  Sum sum = {.least = INFINITY};
  Poses p = {0};
  for (int i = 0; i < first + motions; i++) {
    double e = launch(&r, &rnd, a == SHAPES - 1);
    if (i < first) continue;
    int stalled = sum.stalled, early = sum.early;
    fly(&r, e, &p, &sum);
    if (sum.stalled > stalled) print_message("pair %d, motion %d: stalled%s\n", index, i, sum.early > early ? " early" : "");
    if (i % BATCH == BATCH - 1) judge(&r, &p, &sum, i);
  }
  judge(&r, &p, &sum, first + motions);
  print_message("pair %d, of shapes %d and %d: %d motions, %d impacts, %d stalled, %d early, least %g, %ld poses\n", index, a, b,
                motions, sum.impacts, sum.stalled, sum.early, sum.least, sum.poses);
  // a contact that keeps its feature may be listed up to 1/16 of the gap nearer than the bodies are; what rattles is held for a step
  check_true(sum.impacts > 0 && sum.least > -1e-6 / 16, "pair %d: %d impacts, least %g", index, sum.impacts, sum.least);
  check_true(sum.stalled <= motions / 100, "pair %d: %d stalled, %d early", index, sum.stalled, sum.early);
  free(p.q);
  drop(&r);
}

static void test_motions(void **state) {
  (void)state;
  int index = 0;
  for (int a = 0; a < SHAPES; a++)
    for (int b = 0; b <= a && b < MOVING; b++, index++)
      if (only < 0 || only == index) pair(index, a, b);
  assert_int_equal(index, PAIRS);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_motions)};
  motions = argc > 1 ? atoi(argv[1]) : tgt_cases(motions, 1);
  if (argc > 2) only = atoi(argv[2]);
  if (argc > 3) first = atoi(argv[3]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
