// test_trajectory.c: a run written and read back is the same to the bit; files of other models, and files that lie, are refused.
#include "tangere/replay.h"

#include "output/folder.h"

enum { T = 5, NCONTACT = 4 };

// a run of a ball on a free joint with made-up numbers: contents are not judged, shapes are
typedef struct Run {
  tgModel *model;
  double q[(T + 1) * 7], v[(T + 1) * 6];
  double contact_pos[NCONTACT * 3], contact_force[NCONTACT * 3];
  int offset[T + 2], geom[NCONTACT * 2];
  double time[NCONTACT], between_q[NCONTACT * 7];
  tgTrajectory trajectory;
  tgtFolder folder;
  char path[400];
} Run;

static tgModel *ball_model(int nball) {
  tgDesc *d = tg_desc_create(NULL);
  for (int i = 0; i < nball; i++) {
    int body = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
    int g = tg_desc_add_geom(d, body, TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.1;
  }
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

static void fill(tgtRandom *r, double *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = tgt_normal(r);
}

static int set_up(void **state) {
  Run *run = calloc(1, sizeof *run);
  tgtRandom r = {11};
  run->model = ball_model(1);
  fill(&r, run->q, sizeof run->q / sizeof *run->q);
  fill(&r, run->v, sizeof run->v / sizeof *run->v);
  fill(&r, run->contact_pos, 3 * NCONTACT);
  fill(&r, run->contact_force, 3 * NCONTACT);
  const int offset[T + 2] = {0, 0, 1, 1, 3, 4, 4};
  memcpy(run->offset, offset, sizeof offset);
  run->trajectory = (tgTrajectory){.steps = T, .q = run->q, .v = run->v, .contact_offset = run->offset,
                                   .contact_pos = run->contact_pos, .contact_force = run->contact_force};
  const double time[NCONTACT] = {0.002, 0, 0.004, 0.001};
  memcpy(run->time, time, sizeof time);
  fill(&r, run->between_q, 7 * NCONTACT);
  tgt_folder_make(&run->folder);
  strcpy(run->path, tgt_folder_file(&run->folder, "trajectory.npz"));
  *state = run;
  return 0;
}

static int tear_down(void **state) {
  Run *run = *state;
  tg_model_free(run->model);
  tgt_folder_remove(&run->folder);
  free(run);
  return 0;
}

static void with_inside(Run *run, tgTrajectory *t) {
  t->impact_offset = t->between_offset = run->offset;
  t->impact_time = t->between_time = run->time;
  t->impact_geom = run->geom;
  t->impact_pos = run->contact_pos;
  t->impact_impulse = run->contact_force;
  t->between_q = run->between_q;
}

// impacts and poses between states are arrays where there are some
static void test_inside(void **state) {
  Run *run = *state;
  tgError error = {0};
  tgNpzArray array[TG_TRAJECTORY_ARRAYS];
  char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME];
  tgTrajectory t = run->trajectory, back;
  with_inside(run, &t);
  int n = tg_trajectory_arrays(run->model, &t, "best", array, name);
  assert_int_equal(n, 14);
  check_true(tg_npz_write(run->path, array, n, &error) == TG_OK, "%s", error.text);
  tgNpz npz;
  check_true(tg_npz_read(run->path, 0, NULL, &npz, &error) == TG_OK, "%s", error.text);
  check_true(tg_trajectory_find(&npz, run->path, run->model, "best", &back, &error) == TG_OK, "%s", error.text);
  assert_memory_equal(back.impact_offset, run->offset, sizeof run->offset);
  assert_memory_equal(back.impact_time, run->time, sizeof run->time);
  assert_memory_equal(back.impact_geom, run->geom, sizeof run->geom);
  assert_memory_equal(back.impact_pos, run->contact_pos, sizeof run->contact_pos);
  assert_memory_equal(back.impact_impulse, run->contact_force, sizeof run->contact_force);
  assert_memory_equal(back.between_offset, run->offset, sizeof run->offset);
  assert_memory_equal(back.between_time, run->time, sizeof run->time);
  assert_memory_equal(back.between_q, run->between_q, sizeof run->between_q);
  tg_npz_free(&npz);
  static const int none[T + 2] = {0};
  t.impact_offset = t.between_offset = none;
  assert_int_equal(tg_trajectory_arrays(run->model, &t, NULL, array, name), 6);
}

// two runs in one file, one with contacts
static void test_round_trip(void **state) {
  Run *run = *state;
  tgError error = {0};
  tgNpzArray array[2 * TG_TRAJECTORY_ARRAYS];
  char name[2 * TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME];
  tgTrajectory bare = run->trajectory, back;
  bare.contact_offset = NULL;
  int n = tg_trajectory_arrays(run->model, &run->trajectory, "first", array, name);
  assert_int_equal(n, 6);
  n += tg_trajectory_arrays(run->model, &bare, NULL, array + n, name + n);
  assert_int_equal(n, 9);
  check_true(tg_npz_write(run->path, array, n, &error) == TG_OK, "%s", error.text);
  tgNpz npz;
  check_true(tg_npz_read(run->path, 0, NULL, &npz, &error) == TG_OK, "%s", error.text);
  assert_true(tg_trajectory_has(&npz, "first") && tg_trajectory_has(&npz, "") && !tg_trajectory_has(&npz, "best"));
  for (int k = 0; k < 2; k++) {
    check_true(tg_trajectory_find(&npz, run->path, run->model, k == 0 ? "first" : NULL, &back, &error) == TG_OK, "%s", error.text);
    assert_int_equal(back.steps, T);
    assert_memory_equal(back.q, run->q, sizeof run->q);
    assert_memory_equal(back.v, run->v, sizeof run->v);
    if (k == 1) {
      assert_null(back.contact_offset);
      continue;
    }
    assert_memory_equal(back.contact_offset, run->offset, sizeof run->offset);
    assert_memory_equal(back.contact_pos, run->contact_pos, sizeof run->contact_pos);
    assert_memory_equal(back.contact_force, run->contact_force, sizeof run->contact_force);
  }
  assert_int_equal(tg_trajectory_find(NULL, "f.npz", run->model, NULL, &back, &error), TG_ERR_ARG);
  assert_int_equal(tg_trajectory_find(&npz, "f.npz", NULL, NULL, &back, &error), TG_ERR_ARG);
  assert_int_equal(tg_trajectory_find(&npz, "f.npz", run->model, NULL, NULL, &error), TG_ERR_ARG);
  check_refused(tg_trajectory_find(&npz, "f.npz", run->model, "best", &back, &error), TG_ERR_PARSE, error,
                "f.npz has no array 'qpos_best'");
  tgModel *two = ball_model(2);
  check_refused(tg_trajectory_find(&npz, "f.npz", two, "first", &back, &error), TG_ERR_PARSE, error,
                "array 'qpos_first' has size 7 in dimension 1, 14 is needed");
  tg_model_free(two);
  tg_npz_free(&npz);
}

// Activations are arrays of their own, which a motion of a model that has some must have.
static void test_activations(void **state) {
  Run *run = *state;
  enum { STATES = 3 };
  static const char text[] = "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='.1'/></body></worldbody><actuator>"
                             "<motor joint='j'/><general joint='j' dyntype='filter'/></actuator></mujoco>";
  tgError error = {0};
  tgDesc *d = tg_desc_load_memory("m.xml", text, strlen(text), NULL, &error);
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  const double q[STATES] = {1, 2, 3}, v[STATES] = {4, 5, 6}, act[STATES] = {7, 8, 9}, u[2 * (STATES - 1)] = {1, 2, 3, 4},
               push[2 * 3 * STATES] = {0};
  tgTrajectory t = {.steps = STATES - 1, .q = q, .v = v, .u = u, .act = act, .grad_q = v, .grad_v = q, .grad_u = u, .grad_act = act,
                    .push = push, .push_at = push}, back;
  tgNpzArray array[TG_TRAJECTORY_ARRAYS];
  char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME];
  int n = tg_trajectory_arrays(m, &t, NULL, array, name);
  assert_int_equal(n, 10);
  check_true(tg_npz_write(run->path, array, n, &error) == TG_OK, "%s", error.text);
  tgNpz npz;
  check_true(tg_npz_read(run->path, 0, NULL, &npz, &error) == TG_OK, "%s", error.text);
  check_true(tg_trajectory_find(&npz, run->path, m, NULL, &back, &error) == TG_OK, "%s", error.text);
  assert_memory_equal(back.act, act, sizeof act);
  assert_memory_equal(back.grad_act, act, sizeof act);
  tg_npz_free(&npz);
  // act is the fourth array
  for (int i = 3; i + 1 < n; i++) array[i] = array[i + 1];
  check_true(tg_npz_write(run->path, array, n - 1, &error) == TG_OK, "%s", error.text);
  check_true(tg_npz_read(run->path, 0, NULL, &npz, &error) == TG_OK, "%s", error.text);
  check_refused(tg_trajectory_find(&npz, "f.npz", m, NULL, &back, &error), TG_ERR_PARSE, error, "f.npz has no array 'act'");
  tg_npz_free(&npz);
  tg_model_free(m);
}

static void test_files_that_lie(void **state) {
  Run *run = *state;
  tgError error;
  tgTrajectory back;
  const int falling[T + 2] = {0, 3, 1, 1, 3, 4, 4}, beyond[T + 2] = {0, 0, 1, 1, 3, 4, 5}, late[T + 2] = {1, 1, 1, 1, 3, 4, 4};
  const double back_in_time[NCONTACT] = {0, 0.003, 0.002, 0};
  const int strange[2 * NCONTACT] = {0, 0, 0, 1};
  tgTrajectory full = run->trajectory;
  with_inside(run, &full);
  const struct { tgNpzArray array; const char *word; } row[] = {
      {{"qpos", TG_NPZ_F8, 2, {0, 7}, NULL}, "'qpos' has 0 states"},
      {{"qvel", TG_NPZ_F8, 2, {T, 6}, run->v}, "'qvel' has size 5"},
      {{"ctrl", TG_NPZ_F8, 2, {T, 1}, run->v}, "'ctrl' has size 1"},
      {{"contact_pos", TG_NPZ_F8, 2, {NCONTACT, 2}, run->contact_force}, "'contact_pos' has size 2"},
      {{"contact_force", TG_NPZ_F8, 2, {3, 3}, run->contact_force}, "'contact_force' has size 3"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, falling}, "does not rise"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, beyond}, "does not rise"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, late}, "does not rise"},
      {{"contact_offset", TG_NPZ_F8, 1, {T + 2}, run->q}, "int32 is needed"},
      {{"impact_offset", TG_NPZ_I4, 1, {T + 2}, falling}, "'impact_offset' does not rise"},
      {{"impact_offset", TG_NPZ_I4, 1, {T + 2}, beyond}, "'impact_time' has size 4"},
      {{"impact_time", TG_NPZ_F8, 1, {NCONTACT}, back_in_time}, "times of impact 2 of state 3 do not rise"},
      {{"impact_geom", TG_NPZ_I4, 2, {NCONTACT, 2}, strange}, "impact 1 is of geom 1 of 1"},
      {{"impact_impulse", TG_NPZ_F8, 2, {3, 3}, run->contact_force}, "'impact_impulse' has size 3"},
      {{"between_qpos", TG_NPZ_F8, 2, {NCONTACT, 6}, run->between_q}, "'between_qpos' has size 6"},
      {{"between_offset", TG_NPZ_I4, 1, {T + 2}, late}, "'between_offset' does not rise"},
      {{"between_time", TG_NPZ_F8, 1, {NCONTACT}, back_in_time}, "times of pose 2 of state 3 do not rise"},
  };
  for (size_t i = 0; i <= sizeof row / sizeof *row; i++) {
    tgNpzArray array[TG_TRAJECTORY_ARRAYS];
    char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME];
    int n = tg_trajectory_arrays(run->model, &full, NULL, array, name);
    bool good = i == sizeof row / sizeof *row;  // last, unchanged, it is read
    for (int k = 0; k < n && !good; k++)
      if (strcmp(array[k].name, row[i].array.name) == 0) array[k] = row[i].array;
    tgNpz npz = {array, n, {0}};
    if (good) assert_int_equal(tg_trajectory_find(&npz, "f.npz", run->model, NULL, &back, &error), TG_OK);
    else check_refused(tg_trajectory_find(&npz, "f.npz", run->model, NULL, &back, &error), TG_ERR_PARSE, error, row[i].word);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_inside, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_activations, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_files_that_lie, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
