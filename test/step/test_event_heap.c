// test_event_heap.c: what meets slowly beside what is fast, under `toi`: in closed form, and in heaps and cages of boxes from many starts.
// No two bodies meet at any piece's end nor between, by exact predicates.
// usage: test_event_heap [RUNS [FIRST]]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "step/judged.h"
#include "support/tree.h"

static int runs = 8, first = 0;
enum { TIMES = 3 };

static void restitute(Rig *r, double e) {
  int rows, cols;
  double *x = tg_sim_param(r->s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
}

// ---- in closed form ----

// Two walls, and a box on a rail before each: one is slow, the other passes the whole of its wall's thickness while the slow one moves by
// less than the tolerance to which gaps are met.
static Rig rails(double g) {
  char xml[1000];
  snprintf(xml, sizeof xml,
      "<mujoco><option gravity='%g 0 0'/><default><geom type='box' size='.1 .1 .1' mass='1'/></default><worldbody>"
      "<geom name='a' pos='.2 0 0'/><geom name='b' pos='.2 2 0' size='.001 .1 .1'/>"
      "<body name='slow' pos='-.0001 0 0'><joint type='slide' axis='1 0 0'/><geom/></body>"
      "<body name='fast' pos='0 2 0'><joint type='slide' axis='1 0 0'/><geom/></body></worldbody></mujoco>", g);
  Rig r = rig_of_text(xml, "toi", NULL);
  restitute(&r, 0.5);
  return r;
}

// The slow one, which gets slower by a, comes within 1e-10 m of its gap some 1e-5 s before it meets; at a time between the fast one meets.
static void slow_and_fast(void **state) {
  (void)state;
  static const double early[] = {0.01, 0.3, 0.6, 0.9, 0.999};
  double v = 1e-5, a = 0.01, u = 100, gap = 1e-6, h = 0.01, T = 0.004;
  for (size_t k = 0; k < sizeof early / sizeof *early; k++) {
    Rig r = rails(-a);
    double at = T - 1e-5 * early[k], rest = h - at;
    tgReal *q = tg_sim_qpos(r.s), *qd = tg_sim_qvel(r.s);
    q[0] = 1e-4 - gap - v * T - a * T * T / 2;
    q[1] = 0.1 - 0.001 - gap - u * at - a * at * at / 2;
    qd[0] = v + a * T;
    qd[1] = u + a * at;
    Total one;
    run_judged(&r, h, 1, 40, &one);
    check_close(qd[1], -0.5 * u - a * rest, 1e-9);
    check_close(q[1], 0.1 - 0.001 - gap - 0.5 * u * rest - a * rest * rest / 2, 1e-9);
    check_true(one.stalled == 0 && one.least > 0, "%d stalled, least %g", one.stalled, one.least);
    drop(&r);
  }
}

// The slow one is closed and meets at once, `above` the gap at which it does: the fast one starts at its gap and comes or goes.
static void closed_and_fast(void **state) {
  (void)state;
  static const double above[] = {-0.9e-9, -1e-10, 0, 1e-10, 0.9e-9}, apart[] = {0, 1e-6, 5e-6};
  double v = 2e-3, u = 100, gap = 1e-6, h = 0.001;
  for (size_t k = 0; k < 30; k++) {
    Rig r = rails(0);
    double to = k % 2 == 0 ? 1 : -1, off = apart[k / 2 % 3];
    tgReal *q = tg_sim_qpos(r.s), *qd = tg_sim_qvel(r.s);
    q[0] = 1e-4 - gap - above[k / 6];
    q[1] = 0.1 - 0.001 - gap - off;
    qd[0] = v;
    qd[1] = to * u;
    Total one;
    run_judged(&r, h, 1, 40, &one);
    check_close(qd[1], to > 0 ? -0.5 * u : -u, 1e-9);
    check_true(one.stalled == 0 && one.least > 0, "%d stalled, least %g", one.stalled, one.least);
    drop(&r);
  }
}

// ---- boxes ----

typedef struct Text { char xml[8000]; int used; } Text;

static void put_box(Text *t, tgtRandom *rnd, const double at[3], double most, bool odd) {
  double size[3] = {.1, .1, .1}, turn[3];
  for (int d = 0; d < 3; d++) {
    if (odd) size[d] = tgt_uniform(rnd, .04, .1);
    turn[d] = tgt_uniform(rnd, -most, most);
  }
  t->used += sprintf(t->xml + t->used,
                     "<body pos='%g %g %g' euler='%g %g %g'><freejoint/><geom type='box' size='%g %g %g' mass='1' friction='.5'/></body>",
                     at[0], at[1], at[2], turn[0], turn[1], turn[2], size[0], size[1], size[2]);
}

static Rig end_of(Text *t, int run) {
  sprintf(t->xml + t->used, "</worldbody></mujoco>");
  Rig r = rig_of_text(t->xml, "toi", NULL);
  restitute(&r, 0.15 * (run % 7));
  return r;
}

// boxes above a floor, in layers of four
static Rig heap(int run) {
  Text t = {.used = 0};
  tgtRandom rnd = {.s = 1000 + (uint64_t)run};
  t.used = sprintf(t.xml, "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.5'/>");
  for (int i = 0; i < 12; i++) {
    double x = tgt_uniform(&rnd, -0.01, 0.01), y = tgt_uniform(&rnd, -0.01, 0.01);
    put_box(&t, &rnd, (double[3]){0.26 * (i % 2) + x, 0.26 * (i / 2 % 2) + y, .13 + .25 * (i / 4)}, 2 + run % 5, run / 2 % 2 == 1);
  }
  return end_of(&t, run);
}

// boxes thrown about in a cage
static Rig cage(int run) {
  static const double wall[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  Text t = {.used = 0};
  tgtRandom rnd = {.s = 1000 + (uint64_t)run};
  t.used = sprintf(t.xml, "<mujoco><worldbody>");
  for (int i = 0; i < 6; i++) {
    const double *n = wall[i];
    t.used += sprintf(t.xml + t.used, "<geom type='box' size='%g %g %g' pos='%g %g %g'/>", n[0] != 0 ? .05 : .5, n[1] != 0 ? .05 : .5,
                      n[2] != 0 ? .05 : .5, .45 * n[0], .45 * n[1], .45 * n[2]);
  }
  for (int i = 0; i < 4; i++)
    put_box(&t, &rnd, (double[3]){i % 2 == 0 ? -.19 : .19, i / 2 == 0 ? -.19 : .19, i % 3 == 0 ? -.1 : .1}, 180, true);
  Rig r = end_of(&t, run);
  for (int d = 0; d < 24; d++) tg_sim_qvel(r.s)[d] = (d % 6 < 3 ? 8 : 30) * tgt_uniform(&rnd, -1, 1);
  return r;
}

static void boxes(void **state) {
  (void)state;
  Total all = {.least = INFINITY};
  int steps = 0;
  for (int k = first; k < first + runs; k++) {
    bool falls = k % 8 == 0;
    Rig r = falls ? heap(k) : cage(k);
    Total one;
    clock_t begin = clock();
    run_judged(&r, 0.005, falls ? 50 : 200, TIMES, &one);
    print_message("%s %d: %.2f s, %d impacts, %d stalled, %d early, least distance %.2e m\n", falls ? "heap" : "cage", k,
                  (double)(clock() - begin) / CLOCKS_PER_SEC, one.impacts, one.stalled, one.early, one.least);
    all.stalled += one.stalled;
    all.early += one.early;
    steps += falls ? 50 : 200;
    all.least = fmin(all.least, one.least);
    drop(&r);
  }
  // what rattles beyond a step's room stays where it is for the rest of it: a step in a thousand
  check_true(all.least > 0 && all.early == 0, "least distance %g m, %d early", all.least, all.early);
  check_true(all.stalled <= steps / 1000, "%d of %d steps stalled", all.stalled, steps);
}

int main(int argc, char **argv) {
  runs = argc > 1 ? atoi(argv[1]) : tgt_cases(runs, 2);
  if (argc > 2) first = atoi(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(slow_and_fast), cmocka_unit_test(closed_and_fast), cmocka_unit_test(boxes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
