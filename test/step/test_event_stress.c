// test_event_stress.c: the first ten scenes of stress.h under `toi`: no two surfaces meet at any time of any step, by exact predicates at
// times between the frames too.
// usage: test_event_stress [STEPS [SCENE]]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "contact/barrier/stress.h"
#include "step/judged.h"

// 0: as many of each scene as are quick. Those after them, of fine threads, a net and a bicycle's chain, are not stepped here: five steps
// of each take more than a minute.
static int steps = 0, only = -1;
static const int quick[] = {10, 10, 3, 10, 10, 10, 10, 4, 10, 5};
enum { SCENES = sizeof quick / sizeof *quick };
_Static_assert(SCENES <= (int)TGT_STRESS_SCENES, "each is one of stress.h");
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
  check_true(all.stalled == 0, "%s: %d stalled", scene->name, all.stalled);
  drop(&r);
}

static void scenes(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++)
    if (only < 0 || only == k) run(k);
}

// Links that roll on each other sink on their way, so that steps are of some twenty flows: each begins about as long as the one before, in
// place of being halved to that from the whole rest, which took 120 to 160 looks a piece.
static void test_halved_flows(void **state) {
  (void)state;
  const tgtStress *scene = tgt_stress(2);
  Rig r = rig_of_desc(scene->make(), "toi", NULL);
  int looks = 0, pieces = 0;
  scene->start(r.s);
  for (int t = 0; t < 4; t++) {
    tgStepInfo info;
    assert_int_equal(tg_sim_step_growing(r.s, scene->h, &info), TG_OK);
    if (t == 0) continue;   // it falls into its joints
    looks += tgi_events(r.s)->looks;
    pieces += tgi_events(r.s)->n;
  }
  check_true(pieces > 30 && looks < 60 * pieces, "%d looks in %d pieces", looks, pieces);
  drop(&r);
}

int main(int argc, char **argv) {
  if (argc > 1) steps = atoi(argv[1]);
  if (argc > 2) only = atoi(argv[2]);
  if (only >= SCENES) {
    fprintf(stderr, "scene %d: there are %d\n", only, SCENES);
    return 2;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_halved_flows), cmocka_unit_test(scenes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
