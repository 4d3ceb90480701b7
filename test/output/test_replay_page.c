// test_replay_page.c: a page of runs and motions through the public interface: what is missing is refused, and what
// was given is in the page.
#include "output/folder.h"
#include "tangere/replay.h"

static const char TEMPLATE[] =
    "<!doctype html><script type=\"application/json\" id=\"tangere-replay\"></script><div id=\"tangere-data\" hidden></div>\n";

static tgModel *falling(void) {
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='ball' pos='0 0 0.15'><freejoint/>"
      "<geom type='sphere' size='0.1'/></body></worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

enum { STEPS = 150, NQ = 7, NV = 6 };

// a motion with its contacts; the last state is recorded without
static void record(const tgModel *m, tgRecorder *r, double *q, double *v) {
  tgError e = {0};
  tgContact *c = tg_contact_create(m, "lcp", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  for (int t = 0; t <= STEPS; t++) {
    memcpy(q + NQ * t, tg_sim_qpos(s), NQ * sizeof *q);
    memcpy(v + NV * t, tg_sim_qvel(s), NV * sizeof *v);
    assert_int_equal(t < STEPS ? tg_sim_step(s, 0.002, NULL) : tg_sim_forward(s), TG_OK);
    assert_int_equal(tg_recorder_add(r, s, t < STEPS), TG_OK);
  }
  tg_sim_free(s);
  tg_contact_free(c);
}

static void pages(void **state) {
  (void)state;
  static double q[(STEPS + 1) * NQ], v[(STEPS + 1) * NV];
  static const double x[3] = {0, 1, 2}, y[3] = {5, 4, 3};
  tgtFolder folder;
  char viewer[400], path[400], *page;
  tgError e = {0};
  tgt_folder_make(&folder);
  strcpy(viewer, tgt_folder_file(&folder, "viewer.html"));
  strcpy(path, tgt_folder_file(&folder, "page.html"));
  tgt_write(viewer, TEMPLATE, strlen(TEMPLATE));
  tgModel *m = falling();
  tgRecorder *r = tg_recorder_create(m, NULL, &e);
  record(m, r, q, v);
  tgTrajectory motion = {.steps = STEPS, .q = q, .v = v};
  tg_recorder_contacts(r, &motion);
  assert_non_null(motion.contact_offset);
  assert_true(motion.contact_offset[0] == 0 && motion.contact_offset[STEPS + 1] == motion.contact_offset[STEPS]);
  // it lies at the end, on a force up of its weight, in the middle of its lowest point
  int last = motion.contact_offset[STEPS] - 1;
  double weight = 1000 * 4.0 / 3 * 3.14159265358979 * 1e-3 * 9.81;
  check_close(motion.contact_force[3 * last + 2], weight, 1e-3 * weight);
  check_close(motion.contact_pos[3 * last], 0, 1e-9);
  tgTrajectory other = {.steps = STEPS - 1};
  tg_recorder_contacts(r, &other);
  assert_null(other.contact_offset);   // not of this motion

  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  tgReplay *two = tg_replay_create("two runs", &e);
  tgReplayMarker mark = {.name = "aim", .rgba = {0, 1, 0, 1}};
  tgReplayInfo info = {.label = "curved", .nmarker = 1, .marker = &mark, .nloss = 3, .loss_x = x, .loss_y = y, .loss_label = "loss"};
  assert_int_equal(tg_replay_add_motion(two, s, &motion, "early", NAN, 0.002, &e), TG_ERR_STATE);
  assert_int_equal(tg_replay_write(two, viewer, path, &e), TG_ERR_STATE);
  assert_int_equal(tg_replay_add_run(two, &info, &e), TG_OK);
  assert_int_equal(tg_replay_write(two, viewer, path, &e), TG_ERR_STATE);   // a run without a motion
  assert_int_equal(tg_replay_add_motion(two, s, &motion, "first", 0, 0.002, &e), TG_OK);
  tg_sim_param(s, "geom_size", NULL, NULL)[3] = 0.125;   // the run is drawn with the sizes of its last motion
  assert_int_equal(tg_replay_add_motion(two, s, &motion, "best", 2, 0.002, &e), TG_OK);
  assert_int_equal(tg_replay_add_run(two, NULL, &e), TG_OK);
  q[NQ * 7] = NAN;
  assert_int_not_equal(tg_replay_add_motion(two, s, &motion, "broken", NAN, 0.002, &e), TG_OK);
  assert_non_null(strstr(e.text, "state 7"));
  q[NQ * 7] = 0;
  assert_int_equal(tg_replay_add_motion(two, s, &motion, "plain", NAN, 0.002, &e), TG_OK);
  tg_sim_free(s);   // the page no longer needs it
  check_true(tg_replay_write(two, viewer, path, &e) == TG_OK, "%s", e.text);
  tg_replay_free(two);
  page = tgt_read(path, NULL);
  static const char *const there[] = {"two runs", "curved", "aim", "first", "best", "plain", "0.125", "ball"};
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) check_true(strstr(page, there[i]) != NULL, "'%s' is not in the page", there[i]);
  assert_null(strstr(page, "broken"));
  free(page);
  tg_recorder_free(r);
  tg_model_free(m);
  tgt_folder_remove(&folder);
}

// whole or not at all, and never in place of what is no file
static void files(void **state) {
  (void)state;
  tgtFolder folder;
  tgError e = {0};
  tgt_folder_make(&folder);
  char path[400];
  strcpy(path, tgt_folder_file(&folder, "a"));
  assert_int_equal(tg_file_write(path, "one", 3, &e), TG_OK);
  assert_int_equal(tg_file_write(path, "three", 5, &e), TG_OK);
  char *text = tgt_read(path, NULL);
  assert_string_equal(text, "three");
  free(text);
  assert_int_equal(tgt_folder_count(&folder), 1);
  assert_int_equal(tg_file_write(folder.path, "x", 1, &e), TG_ERR_FILE);
  assert_int_equal(tg_file_write(path, NULL, 1, &e), TG_ERR_ARG);
  assert_int_equal(tg_file_write(path, NULL, 0, &e), TG_OK);
  tgt_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pages), cmocka_unit_test(files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
