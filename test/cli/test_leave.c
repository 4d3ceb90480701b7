// test_leave.c: what an optimisation leaves after an interrupt: its motions where they are had in the time for them, all else in any case.
#include "cli/shared/program.h"
#include "output/folder.h"
#include "support/task.h"

static const char *const sled =
    "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom size='.1' mass='2'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>";
static const char *const text =
    "model: m.xml\ncontact: lcp\nhorizon: {steps: %d}\ncontrols: {every: 20}\nlosses:\n"
    "- {term: body_position, name: sled, target: [1, 0, 0], weight: 1}\n"
    "optimizer: {method: adam, iterations: 2}\n";

static bool holds(const char *npz, const char *array) {
  tgNpz all;
  tgError error = {0};
  check_true(tg_npz_read(npz, 0, NULL, &all, &error) == TG_OK, "%s", error.text);
  bool there = tg_npz_find(&all, array) != NULL;
  tg_npz_free(&all);
  return there;
}

// the task's folder of a run with `grace` seconds after an interrupt
static void leave(int steps, bool interrupted, double grace, int code) {
  char yaml[400];
  snprintf(yaml, sizeof yaml, text, steps);
  tgTask *t = tgt_task(sled, yaml);
  tgOptimizeOptions o = tg_optimize_default();
  o.trust = false;
  tgOptimum *best = tgt_optimize(t, &o);
  tgtFolder folder;
  tgt_folder_make(&folder);
  json_t *json = json_object();
  tgi_cli_interrupted = interrupted;
  double began = tgi_cli_now();
  int got = tgi_cli_write_optimum(t, best, folder.path, "sled", json, false, grace);
  double took = tgi_cli_now() - began;
  tgi_cli_interrupted = 0;
  check_true(got == code, "code %d, wanted %d, after %.3g s", got, code, took);
  bool whole = code == TG_EXIT_OK;
  for (const char *const *name = (const char *const[]){"run.json", "loss.csv", "trajectory.npz", NULL}; *name != NULL; name++)
    check_true(access(tgt_folder_file(&folder, *name), R_OK) == 0, "%s is not there", *name);
  const char *npz = tgt_folder_file(&folder, "trajectory.npz");
  assert_true(holds(npz, "variables") && holds(npz, "loss"));
  assert_true(holds(npz, "qpos_best") == whole && holds(npz, "qpos_first") == whole && holds(npz, "grad_ctrl_best") == whole);
  json_decref(json);
  tgt_folder_remove(&folder);
  tg_optimum_free(best);
  tg_task_free(t);
}

static void motions_have_their_time(void **state) {
  (void)state;
  leave(40, false, 0, TG_EXIT_OK);
  leave(40, true, 60, TG_EXIT_OK);
}

static void what_takes_longer_is_left_out(void **state) {
  (void)state;
  leave(40, true, 0, TG_EXIT_INTERRUPTED);
  leave(60000, true, 0.05, TG_EXIT_INTERRUPTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(motions_have_their_time), cmocka_unit_test(what_takes_longer_is_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
