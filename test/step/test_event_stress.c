// test_event_stress.c: the ten scenes of stress.h under `toi`: no two surfaces meet at any time of any step, by exact predicates at times
// between the frames too.
// usage: test_event_stress [STEPS [SCENE]]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "contact/barrier/stress.h"
#include "step/judged.h"

// 0: as many of each scene as are quick
static int steps = 0, only = -1;
static const int quick[TGT_STRESS_SCENES] = {10, 10, 1, 10, 10, 10, 10, 2, 10, 1};
enum { CHAIN = 2, ARCH = 7 };   // rattle beyond what a step has room for, and stay where they are for the rest of it
enum { TIMES = 8, AT_ONCE = 10 };   // looked at in each piece; steps judged together

static void run(int k) {
  const tgtStress *scene = tgt_stress(k);
  int count = steps > 0 ? steps : tgt_cases(quick[k], 5);
  Rig r = rig_of_desc(scene->make(), "toi", NULL);
  Total all = {.least = INFINITY};
  clock_t begin = clock();
  if (scene->start != NULL) scene->start(r.s);
  for (int i = 0; i < count; i += AT_ONCE) {
    Total some;
    run_judged(&r, scene->h, count - i < AT_ONCE ? count - i : AT_ONCE, TIMES, &some);
    all.impacts += some.impacts;
    all.stalled += some.stalled;
    all.early += some.early;
    all.least = fmin(all.least, some.least);
  }
  printf("%-22s %7.2f s for %d steps, %d impacts, %d stalled, %d early, least distance %.2e m\n", scene->name,
         (double)(clock() - begin) / CLOCKS_PER_SEC, count, all.impacts, all.stalled, all.early, all.least);
  fflush(stdout);
  check_true(all.least > 0, "%s: %g", scene->name, all.least);
  check_true(all.stalled == 0 || k == CHAIN || k == ARCH, "%s: %d stalled", scene->name, all.stalled);
  drop(&r);
}

static void scenes(void **state) {
  (void)state;
  for (int k = 0; k < TGT_STRESS_SCENES; k++)
    if (only < 0 || only == k) run(k);
}

int main(int argc, char **argv) {
  if (argc > 1) steps = atoi(argv[1]);
  if (argc > 2) only = atoi(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(scenes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
