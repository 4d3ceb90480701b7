// test_trajectory.c: a run written and read back is the same to the bit; files of other models, and files that lie, are refused.
#include "output/trajectory.h"

#include "output/folder.h"

enum { T = 5, NBODY = 2, NCONTACT = 4 };

// a run of a ball on a free joint with made-up numbers: contents are not judged, shapes are
typedef struct Run {
  tgModel *model;
  double q[(T + 1) * 7], v[(T + 1) * 6], pos[(T + 1) * NBODY * 3], quat[(T + 1) * NBODY * 4];
  double contact_pos[NCONTACT * 3], contact_force[NCONTACT * 3];
  int offset[T + 2];
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
  fill(&r, run->pos, sizeof run->pos / sizeof *run->pos);
  fill(&r, run->quat, sizeof run->quat / sizeof *run->quat);
  fill(&r, run->contact_pos, 3 * NCONTACT);
  fill(&r, run->contact_force, 3 * NCONTACT);
  const int offset[T + 2] = {0, 0, 1, 1, 3, 4, 4};
  memcpy(run->offset, offset, sizeof offset);
  run->trajectory = (tgTrajectory){
      .steps = T, .h = 0.0025, .q = run->q, .v = run->v, .u = NULL,
      .frames = {.dt = 0.0025, .nframe = T + 1, .body_pos = run->pos, .body_quat = run->quat, .contact_offset = run->offset,
                 .contact_pos = run->contact_pos, .contact_force = run->contact_force}};
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

static void test_round_trip(void **state) {
  Run *run = *state;
  tgError error = {0};
  for (int frames = 0; frames < 2; frames++) {
    run->trajectory.frames.nframe = frames ? T + 1 : 0;
    check_true(tgi_trajectory_write(run->path, run->model, &run->trajectory, &error) == TG_OK, "%s", error.text);
    tgTrajectory back;
    check_true(tgi_trajectory_read(run->path, run->model, 0, NULL, &back, &error) == TG_OK, "%s", error.text);
    assert_int_equal(back.steps, T);
    check_close(back.h, 0.0025, 0);
    assert_memory_equal(back.q, run->q, sizeof run->q);
    assert_memory_equal(back.v, run->v, sizeof run->v);
    assert_int_equal(back.frames.nframe, frames ? T + 1 : 0);
    if (frames) {
      assert_memory_equal(back.frames.body_pos, run->pos, sizeof run->pos);
      assert_memory_equal(back.frames.body_quat, run->quat, sizeof run->quat);
      assert_memory_equal(back.frames.contact_offset, run->offset, sizeof run->offset);
      assert_memory_equal(back.frames.contact_pos, run->contact_pos, sizeof run->contact_pos);
      assert_memory_equal(back.frames.contact_force, run->contact_force, sizeof run->contact_force);
    }
    tgi_trajectory_free(&back);
    tgi_trajectory_free(&back);
  }
}

static void test_another_model(void **state) {
  Run *run = *state;
  tgError error;
  tgTrajectory back;
  assert_int_equal(tgi_trajectory_write(run->path, run->model, &run->trajectory, NULL), TG_OK);
  tgModel *two = ball_model(2);
  check_refused(tgi_trajectory_read(run->path, two, 0, NULL, &back, &error), TG_ERR_PARSE, error,
                "array 'qpos' has size 7 in dimension 1, 14 is needed");
  tg_model_free(two);
  run->trajectory.frames.nframe = T;
  check_refused(tgi_trajectory_write(run->path, run->model, &run->trajectory, &error), TG_ERR_ARG, error, "6 states");
}

// the arrays of a good file with one replaced
static void write_with(const Run *run, const tgNpzArray *other) {
  const size_t n = T + 1;
  tgNpzArray array[] = {
      {"timestep", TG_NPZ_F8, 0, {0}, &run->trajectory.h}, {"qpos", TG_NPZ_F8, 2, {n, 7}, run->q},
      {"qvel", TG_NPZ_F8, 2, {n, 6}, run->v},              {"ctrl", TG_NPZ_F8, 2, {T, 0}, NULL},
      {"body_pos", TG_NPZ_F8, 3, {n, 2, 3}, run->pos},     {"body_quat", TG_NPZ_F8, 3, {n, 2, 4}, run->quat},
      {"contact_offset", TG_NPZ_I4, 1, {n + 1}, run->offset}, {"contact_pos", TG_NPZ_F8, 2, {NCONTACT, 3}, run->contact_pos},
      {"contact_force", TG_NPZ_F8, 2, {NCONTACT, 3}, run->contact_force},
  };
  for (int i = 0; i < 9; i++)
    if (strcmp(array[i].name, other->name) == 0) array[i] = *other;
  assert_int_equal(tgi_npz_write(run->path, array, 9, NULL), TG_OK);
}

static void test_files_that_lie(void **state) {
  Run *run = *state;
  tgError error;
  tgTrajectory back;
  const double zero = 0, nan = NAN;
  const int falling[T + 2] = {0, 3, 1, 1, 3, 4, 4}, beyond[T + 2] = {0, 0, 1, 1, 3, 4, 5}, late[T + 2] = {1, 1, 1, 1, 3, 4, 4};
  const struct { tgNpzArray array; const char *word; } row[] = {
      {{"timestep", TG_NPZ_F8, 0, {0}, &zero}, "timestep is 0"},
      {{"timestep", TG_NPZ_F8, 0, {0}, &nan}, "timestep is nan"},
      {{"qpos", TG_NPZ_F8, 2, {0, 7}, NULL}, "qpos has 0 states"},
      {{"qvel", TG_NPZ_F8, 2, {T, 6}, run->v}, "'qvel' has size 5"},
      {{"ctrl", TG_NPZ_F8, 2, {T, 1}, run->v}, "'ctrl' has size 1"},
      {{"body_quat", TG_NPZ_F8, 3, {T + 1, 2, 3}, run->quat}, "'body_quat' has size 3"},
      {{"contact_force", TG_NPZ_F8, 2, {3, 3}, run->contact_force}, "'contact_force' has size 3"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, falling}, "does not rise"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, beyond}, "does not rise"},
      {{"contact_offset", TG_NPZ_I4, 1, {T + 2}, late}, "does not rise"},
      {{"contact_offset", TG_NPZ_F8, 1, {T + 2}, run->pos}, "int32 is needed"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    write_with(run, &row[i].array);
    check_refused(tgi_trajectory_read(run->path, run->model, 0, NULL, &back, &error), TG_ERR_PARSE, error, row[i].word);
  }
  // unchanged it is read
  const tgNpzArray same = {"qpos", TG_NPZ_F8, 2, {T + 1, 7}, run->q};
  write_with(run, &same);
  assert_int_equal(tgi_trajectory_read(run->path, run->model, 0, NULL, &back, &error), TG_OK);
  tgi_trajectory_free(&back);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_another_model, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_files_that_lie, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
