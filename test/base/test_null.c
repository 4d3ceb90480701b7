// test_null.c: NULL in place of what a public function needs does no harm (base.h): one line a function, and
// the arrays of objects that are there. tools/check_interface.py lists the public functions that take a
// pointer and are not named here.
#include <string.h>

#include "support/check.h"
#include "tangere/contact.h"
#include "tangere/desc.h"
#include "tangere/force.h"
#include "tangere/data.h"
#include "tangere/geometry.h"
#include "tangere/grad.h"
#include "tangere/model.h"
#include "tangere/param.h"
#include "tangere/optim.h"
#include "tangere/replay.h"
#include "tangere/rollout.h"
#include "tangere/second.h"
#include "tangere/shard.h"
#include "tangere/sensor.h"
#include "tangere/sim.h"
#include "tangere/step.h"

#define STATUS(call) check_true((call) == TG_ERR_ARG, "%s is not TG_ERR_ARG", #call)
#define NUMBER(call, want) check_true((double)(call) == (want), "%s is not %d", #call, want)
#define POINTER(call) check_true((call) == NULL, "%s is not NULL", #call)
#define OBJECT(call)                                                                                    \
  do {                                                                                                  \
    tgError error = {0};                                                                                \
    check_true((call) == NULL, "%s is not NULL", #call);                                                \
    check_true(error.status == TG_ERR_ARG && error.text[0] != '\0', "%s: status %d, text '%s'", #call, error.status, error.text); \
  } while (0)

static void no_object(void **state) {
  (void)state;
  OBJECT(tg_contact_create(NULL, NULL, NULL, &error));
  OBJECT(tg_second_create(NULL, NULL, NULL, &error));
  tg_second_free(NULL);
  STATUS(tg_step_hvp(NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_second_choose(NULL, NULL, 0, NULL));
  NUMBER(tg_second_parameters(NULL), 0);
  STATUS(tg_step_hvp_parameters(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  NUMBER(tg_sim_geom_points(NULL, 0, NULL, NULL), 0);
  STATUS(tg_sim_step_points_vjp(NULL, NULL, NULL, 0, NULL, NULL));
  STATUS(tg_grad_check_second(NULL, NULL, NULL));
  STATUS(tg_step_hessian(NULL, NULL, NULL, NULL));
  STATUS(tg_rollout_jvp(NULL, NULL, NULL, NULL));
  STATUS(tg_rollout_hvp(NULL, NULL, NULL, NULL));
  STATUS(tg_sim_step_advice(NULL, NULL));
  NUMBER(tg_sim_separate(NULL, 0, NULL, 0), TG_ERR_ARG);
  STATUS(tg_sim_inverse_contact(NULL, NULL, NULL));
  tg_contact_free(NULL);
  POINTER(tg_contact_word(NULL));
  assert_null(tg_contact_param_name(NULL, 0));
  assert_null(tg_contact_warning(NULL, 0));
  STATUS(tg_contact_default(NULL, NULL, 0));
  STATUS(tg_contact_set(NULL, NULL, NULL, NULL));
  STATUS(tg_contact_offer(NULL, NULL, NULL, NULL, NULL));
  assert_true(isnan(tg_contact_get(NULL, NULL)));
  assert_null(tg_contact_options(NULL));
  assert_null(tg_contact_option(NULL, 0).name);
  assert_null(tg_contact_option_named(NULL, NULL).name);
  tgDesc *desc = tg_desc_create(NULL);              // its allocator may be left out
  assert_non_null(desc);
  tg_desc_free(desc);
  tg_desc_free(NULL);
  NUMBER(tg_desc_add_body(NULL, 0, NULL), -1);
  NUMBER(tg_desc_add_joint(NULL, 0, 0, NULL), -1);
  NUMBER(tg_desc_add_geom(NULL, 0, 0, NULL), -1);
  NUMBER(tg_desc_add_site(NULL, 0, NULL), -1);
  NUMBER(tg_desc_add_mesh(NULL, NULL, NULL, 0, NULL, 0), -1);
  NUMBER(tg_desc_add_actuator(NULL, 0, 0, NULL), -1);
  NUMBER(tg_desc_add_tendon(NULL, NULL, NULL, NULL, 0), -1);
  NUMBER(tg_desc_add_spatial_tendon(NULL, NULL, NULL, NULL, 0), -1);
  NUMBER(tg_desc_add_equality(NULL, 0, 0, 0, NULL), -1);
  NUMBER(tg_desc_add_pair(NULL, 0, 0, NULL), -1);
  NUMBER(tg_desc_add_exclude(NULL, 0, 0), -1);
  NUMBER(tg_desc_add_key(NULL, NULL, NULL, 0, NULL, 0, NULL, 0), -1);
  NUMBER(tg_desc_add_note(NULL, 0, (tgSource){0}, NULL), -1);
  NUMBER(tg_desc_add_file(NULL, NULL), -1);
  POINTER(tg_desc_string(NULL, NULL));
  POINTER(tg_desc_bytes(NULL, NULL, 0));
  NUMBER(tg_desc_find_body(NULL, NULL), -1);
  NUMBER(tg_desc_find_joint(NULL, NULL), -1);
  NUMBER(tg_desc_find_geom(NULL, NULL), -1);
  NUMBER(tg_desc_find_mesh(NULL, NULL), -1);
  NUMBER(tg_desc_find_tendon(NULL, NULL), -1);
  NUMBER(tg_desc_find_site(NULL, NULL), -1);
  OBJECT(tg_desc_load(NULL, NULL, &error));
  OBJECT(tg_desc_load_memory(NULL, NULL, 0, NULL, &error));
  STATUS(tg_desc_decompose(NULL, NULL, NULL));
  STATUS(tg_desc_ground_below(NULL, 0, NULL));
  NUMBER(tg_desc_exclude_overlapping(NULL, 0, NULL), TG_ERR_ARG);
  STATUS(tg_desc_reduce(NULL, 100, NULL));
  STATUS(tg_grad_check_step(NULL, NULL, NULL));
  STATUS(tg_grad_check_rollout(NULL, NULL, NULL, NULL));
  STATUS(tg_grad_check_motion(NULL, NULL, NULL));
  OBJECT(tg_model_compile(NULL, NULL, &error));
  OBJECT(tg_model_load(NULL, NULL, &error));
  tg_model_free(NULL);
  NUMBER(tg_model_nq(NULL), 0);
  NUMBER(tg_model_nv(NULL), 0);
  NUMBER(tg_model_nu(NULL), 0);
  NUMBER(tg_model_na(NULL), 0);
  NUMBER(tg_model_count(NULL, 0), 0);
  POINTER(tg_model_name(NULL, 0, 0));
  NUMBER(tg_model_find(NULL, 0, NULL), -1);
  NUMBER(tg_model_timestep(NULL), 0);
  STATUS(tg_model_joint(NULL, 0, NULL, NULL, NULL, NULL));
  NUMBER(tg_model_field_count(NULL), 0);
  POINTER(tg_model_field(NULL, 0).data);
  POINTER(tg_model_field_named(NULL, NULL).data);
  tg_model_integrate(NULL, NULL, NULL, NULL);
  tg_model_difference(NULL, NULL, NULL, NULL);
  tg_model_to_tangent(NULL, NULL, NULL, NULL);
  tg_model_from_tangent(NULL, NULL, NULL, NULL);
  STATUS(tg_model_normalize(NULL, NULL, NULL));
  STATUS(tg_model_inside(NULL, NULL, 0, NULL));
  OBJECT(tg_task_load(NULL, NULL, &error));
  OBJECT(tg_task_load_text(NULL, 0, NULL, NULL, &error));
  tg_task_free(NULL);
  STATUS(tg_task_override(NULL, NULL, NULL, 0, NULL));
  STATUS(tg_task_contact_option(NULL, NULL, NULL, NULL));
  STATUS(tg_task_zero_contact_gradient(NULL, NULL));
  STATUS(tg_task_inside(NULL, 0, NULL));
  STATUS(tg_task_separate(NULL, 0, NULL));
  POINTER(tg_task_separated(NULL, NULL));
  POINTER(tg_task_model(NULL));
  POINTER(tg_task_contact(NULL));
  POINTER(tg_task_model_path(NULL));
  POINTER(tg_task_method(NULL));
  NUMBER(tg_task_steps(NULL), 0);
  NUMBER(tg_task_timestep(NULL), 0);
  assert_true(isnan(tg_task_success_distance(NULL)));
  POINTER(tg_task_target(NULL, 0, NULL, NULL));
  NUMBER(tg_task_size(NULL), 0);
  tg_task_box(NULL, NULL, NULL);
  POINTER(tg_task_parameter(NULL, 0, NULL));
  STATUS(tg_task_set_parameters(NULL, NULL, NULL));
  tg_task_start(NULL, 0, NULL);
  tg_task_expand(NULL, NULL, NULL, NULL, NULL);
  OBJECT(tg_evaluator_create(NULL, 0, &error));
  tg_evaluator_free(NULL);
  STATUS(tg_evaluate(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_evaluator_run(NULL, NULL, NULL));
  POINTER(tg_evaluator_rollout(NULL));
  NUMBER(tg_evaluator_terms(NULL), 0);
  POINTER(tg_evaluator_term(NULL, 0, NULL, NULL));
  POINTER(tg_optimize(NULL, NULL));
  tg_optimum_free(NULL);
  OBJECT(tg_rollout_create(NULL, NULL, NULL, &error));
  tg_rollout_free(NULL);
  POINTER(tg_rollout_sim(NULL));
  NUMBER(tg_rollout_least_bytes(NULL), 0);
  NUMBER(tg_rollout_bytes(NULL), 0);
  STATUS(tg_rollout_run(NULL, NULL, NULL));
  OBJECT(tg_batch_create(NULL, NULL, NULL, 0, &error));
  tg_batch_free(NULL);
  NUMBER(tg_batch_threads(NULL), 0);
  STATUS(tg_batch_run(NULL, 0, NULL, NULL));
  OBJECT(tg_sim_create(NULL, NULL, NULL, &error));
  tg_sim_free(NULL);
  STATUS(tg_sim_grow(NULL));
  STATUS(tg_sim_step_growing(NULL, 0, NULL));
  STATUS(tg_sim_reserve(NULL, 0, 0));
  tg_sim_wanted(NULL, NULL, NULL);
  POINTER(tg_sim_model(NULL));
  assert_int_equal(tg_sim_error(NULL)->status, TG_ERR_ARG);
  POINTER(tg_sim_qpos(NULL));
  POINTER(tg_sim_qvel(NULL));
  POINTER(tg_sim_ctrl(NULL));
  POINTER(tg_sim_act(NULL));
  tg_sim_state(NULL, NULL, NULL);
  tg_sim_set_state(NULL, NULL, NULL);
  POINTER(tg_sim_qfrc_applied(NULL));
  tg_sim_reset(NULL);
  STATUS(tg_sim_reset_key(NULL, 0));
  POINTER(tg_sim_param(NULL, NULL, NULL, NULL));
  NUMBER(tg_sim_snapshot_size(NULL), 0);
  tg_sim_save(NULL, NULL);
  STATUS(tg_sim_restore(NULL, NULL));
  NUMBER(tg_sim_field_count(NULL), 0);
  POINTER(tg_sim_field(NULL, 0).data);
  POINTER(tg_sim_field_named(NULL, NULL).data);
  STATUS(tg_sim_forward(NULL));
  STATUS(tg_sim_inverse(NULL, NULL, NULL));
  STATUS(tg_sim_inverse_d(NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_acceleration(NULL, NULL, NULL));
  STATUS(tg_sim_acceleration_d(NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_jacobian(NULL, 0, NULL, NULL));
  STATUS(tg_sim_step(NULL, 0, NULL));
  STATUS(tg_sim_step_vjp(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_point_param_vjp(NULL, 0, NULL, NULL, NULL));
  OBJECT(tg_param_grad_create(NULL, NULL, 0, NULL, &error));
  OBJECT(tg_param_grad_create_contact(NULL, NULL, 0, NULL, &error));
  tg_param_grad_free(NULL);
  tg_param_grad_clear(NULL);
  POINTER(tg_param_grad_field(NULL, NULL, NULL, NULL));
  POINTER(tg_param_grad_values(NULL, NULL));
  assert_int_equal(tg_loss_without_parameters(NULL, NULL, 0, 0, NULL), TG_OK);   // needs nothing
  STATUS(tg_sim_step_jacobian(NULL, NULL, NULL));
  STATUS(tg_sim_step_param_jacobian(NULL, NULL, NULL, NULL));
  tg_sim_freeze_memory(NULL, 0);
  tg_sim_watch_stability(NULL, true);
  tg_sim_watch_answers(NULL, true);
  tg_sim_watch_cancel(NULL, NULL);
  STATUS(tg_sim_dense(NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_step_vjp_by(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_step_jacobian_by(NULL, NULL, NULL, NULL));
  STATUS(tg_grad_check_parameters(NULL, NULL, NULL));
  OBJECT(tg_contact_create_gradient(NULL, NULL, NULL, NULL, &error));
  assert_true(!(tg_contact_resting_gap(NULL) > 0));
  OBJECT(tg_batch_create_variants(0, NULL, NULL, NULL, 0, &error));
  assert_false(tg_desc_key_activations(NULL, 0, NULL, 0));
  STATUS(tg_task_gradient(NULL, NULL, NULL));
  POINTER(tg_task_gradient_contact(NULL));
  POINTER(tg_grad_label_text((tgGradLabel)99));
  POINTER(tg_convergence_text((tgConvergence)99));
  // needs nothing
  assert_int_equal(tg_loss_hvp_without_parameters(NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), TG_OK);
}

static void no_file_and_no_geometry(void **state) {
  (void)state;
  tgNpz npz = {0};
  tgCloudQuality quality;
  assert_true(tg_hash(TG_HASH_START, NULL, 3) == TG_HASH_START);
  STATUS(tg_npz_write(NULL, NULL, 0, NULL));
  STATUS(tg_npz_read(NULL, 0, NULL, NULL, NULL));
  STATUS(tg_npz_read(NULL, 0, NULL, &npz, NULL));
  STATUS(tg_npz_read_memory(NULL, NULL, 0, 0, NULL, &npz, NULL));
  tg_npz_free(NULL);
  POINTER(tg_npz_find(NULL, NULL));
  POINTER(tg_npz_get(NULL, NULL, NULL, TG_NPZ_F8, 0, NULL, NULL));
  STATUS(tg_csv_write(NULL, 1, NULL, 0, NULL, NULL));
  STATUS(tg_file_write(NULL, NULL, 0, NULL));
  NUMBER(tg_trajectory_arrays(NULL, NULL, NULL, NULL, NULL), 0);
  NUMBER(tg_trajectory_has(NULL, NULL), 0);
  STATUS(tg_trajectory_find(NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_trajectory_pose(NULL, NULL, 0.1, 0, NULL));
  OBJECT(tg_recorder_create(NULL, NULL, &error));
  tg_recorder_free(NULL);
  tg_recorder_clear(NULL);
  STATUS(tg_recorder_add(NULL, NULL, true));
  tg_recorder_contacts(NULL, NULL);
  tg_replay_free(tg_replay_create(NULL, NULL));   // a title may be left out
  tg_replay_free(NULL);
  STATUS(tg_replay_add_run(NULL, NULL, NULL));
  STATUS(tg_replay_add_motion(NULL, NULL, NULL, NULL, 0, 0, NULL));
  STATUS(tg_replay_write(NULL, NULL, NULL, NULL));
  STATUS(tg_replay_rollout(NULL, NULL, NULL, NULL, NULL, NULL));
  OBJECT(tg_intersections_create(NULL, &error));
  tg_intersections_free(NULL);
  NUMBER(tg_intersections_count(NULL, NULL, NULL, 0), 0);
  NUMBER(tg_intersections_of_motion(NULL, NULL, 0), -1);
  OBJECT(tg_point_cloud_primitive(TG_GEOM_BOX, NULL, 0.1, &error));
  OBJECT(tg_point_cloud_mesh(NULL, 0, NULL, 0, 0.1, &error));
  tg_point_cloud_free(NULL);
  NUMBER(tg_point_cloud_points(NULL).n, 0);
  STATUS(tg_point_cloud_quality(NULL, &quality));
  assert_true(isnan(tg_soft_distance(0, NULL, NULL, 1, NULL, NULL, NULL)));
}

static void no_contact_and_no_change(void **state) {
  (void)state;
  NUMBER(tg_contact_intersection_free(NULL), 0);
  NUMBER(tg_sim_next_contact(NULL, NULL, NULL), 0);
  tg_contact_add_wrench(NULL, 0, NULL, NULL);
  POINTER(tg_contact_state_text((tgContactState)-1));
  STATUS(tg_sim_joint_wrenches(NULL, NULL));
  tg_contact_add_wrench_vjp(NULL, 0, NULL, NULL, NULL);
  assert_int_equal(tg_sim_count_contacts(NULL), 0);
  STATUS(tg_sim_contacts_vjp(NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_contacts_jacobian(NULL, NULL, NULL, NULL, NULL));
  NUMBER(tg_model_nsensordata(NULL), 0);
  STATUS(tg_model_sensor(NULL, 0, NULL, NULL, NULL));
  STATUS(tg_sim_sensors(NULL, NULL, NULL));
  STATUS(tg_sim_sensors_d(NULL, NULL, NULL, NULL, NULL, NULL));
  NUMBER(tg_desc_add_sensor(NULL, TG_SENSOR_GYRO, 0, NULL), -1);
  NUMBER(tg_sim_impacts(NULL, NULL, 0), TG_ERR_ARG);
  NUMBER(tg_sim_poses_within(NULL, NULL, NULL, 0), TG_ERR_ARG);
  STATUS(tg_sim_contact_potential(NULL, NULL, NULL));
  POINTER(tg_sim_step_info(NULL));
  STATUS(tg_sim_impulse_gradient(NULL, NULL, NULL, NULL));
  STATUS(tg_grad_differences(NULL, NULL, NULL));
  NUMBER(tg_task_windows(NULL), 0);
  NUMBER(tg_task_population(NULL), 0);
  NUMBER(tg_task_rate(NULL), 0);
  STATUS(tg_task_set_rate(NULL, 1, NULL));
  STATUS(tg_task_set_horizon(NULL, 1, 1, NULL));
  assert_int_equal(tg_task_rollout_options(NULL).steps, tg_rollout_default().steps);
  NUMBER(tg_task_term(NULL, 0, NULL), 0);
  STATUS(tg_task_set_term(NULL, 0, NULL, NULL));
  NUMBER(tg_task_effort(NULL).share, 0);
  OBJECT(tg_controller_create(NULL, NULL, &error));
  tg_controller_free(NULL);
  STATUS(tg_controller_give(NULL, 0, 0.01, 0, NULL, NULL));
  STATUS(tg_controller_plan(NULL, 0, NULL, NULL, NULL, NULL));
  STATUS(tg_controller_control(NULL, 0, NULL, NULL));
  POINTER(tg_controller_last(NULL));
  NUMBER(tg_controller_interval(NULL), 0);
  POINTER(tg_task_parameter_array(NULL, 0, NULL));
  OBJECT(tg_evaluator_create_runs(NULL, &error));
}

static void no_shard_and_no_trust(void **state) {
  (void)state;
  char path[64];
  double range[2];
  tgLoadOptions load = tg_load_default();
  tgShardMerged merged;
  OBJECT(tg_shards_load(NULL, NULL, &error));
  tg_shards_free(NULL);
  NUMBER(tg_shards_is_spec(NULL, NULL), 0);
  NUMBER(tg_shards_count(NULL), 0);
  NUMBER(tg_shards_points(NULL), 0);
  NUMBER(tg_shards_key(NULL), 0);
  POINTER(tg_shards_identity(NULL));
  POINTER(tg_shards_job(NULL));
  STATUS(tg_shards_run(NULL, 0, NULL, NULL, NULL, NULL));
  POINTER(tg_shard_path(0, NULL, 64));
  assert_ptr_equal(tg_shard_path(0, path, sizeof path), path);
  STATUS(tg_shards_read(NULL, 0, NULL, NULL, NULL));
  OBJECT(tg_shard_ledger_open(NULL, NULL, 0, 1, &error));
  tg_shard_ledger_close(NULL);
  NUMBER(tg_shard_ledger_next(NULL, 0), -1);
  STATUS(tg_shard_ledger_add(NULL, NULL, NULL));
  STATUS(tg_shard_ledger_sync(NULL, NULL));
  NUMBER(tg_shard_ledger_total(NULL), 0);
  NUMBER(tg_shard_ledger_done(NULL), 0);
  NUMBER(tg_shard_ledger_failed(NULL), 0);
  assert_true(isinf(tg_shard_ledger_best(NULL)));
  STATUS(tg_shards_run_all(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_shards_merge(NULL, 1, NULL, &merged, NULL));
  STATUS(tg_shards_merge(NULL, 1, NULL, NULL, NULL));
  NUMBER(tg_contact_law(NULL, 0, 0.01, NULL), 0);
  NUMBER(tg_contact_grid(NULL, 0, NULL), 0);
  NUMBER(tg_desc_add_flex(NULL, NULL, NULL, NULL, 0, NULL, 0), -1);
  STATUS(tg_load_drop(NULL, "hfield", NULL));
  STATUS(tg_load_drop(&load, NULL, NULL));
  STATUS(tg_rollout_trust(NULL, NULL, NULL, NULL));
  STATUS(tg_evaluator_trust(NULL, NULL, NULL, NULL, NULL, NULL));
  NUMBER(tg_task_starts(NULL), 1);
  NUMBER(tg_task_attempts(NULL), 1);
  NUMBER(tg_model_entries(NULL, NULL, NULL, -1, NULL, NULL, 0, NULL), -1);
  tg_param_range(NULL, 1, range);
  tg_param_range("body_mass", 1, NULL);
  STATUS(tg_task_smoothed(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_verify(NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_verify_motion(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_task_judge(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  NUMBER(tg_task_verdict(NULL, 0, 0), TG_VERDICT_MISSES);
  NUMBER(tg_task_stages(NULL), 0);
  OBJECT(tg_task_stage(NULL, 1, &error));
  POINTER(tg_param_grad_left_out(NULL, 0, NULL));
}

static const char *const text =
    "<mujoco><worldbody><body><freejoint/><geom size='0.1'/><body pos='0 0 1'><joint axis='0 1 0'/><geom size='0.1'/>"
    "</body></body></worldbody></mujoco>";

static void no_array(void **state) {
  (void)state;
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("m.xml", text, strlen(text), NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  tgContact *c = tg_contact_create(m, "lcp", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  tgReal x[16] = {0};
  NUMBER(tg_desc_find_body(d, NULL), -1);
  NUMBER(tg_desc_add_file(d, NULL), -1);
  NUMBER(tg_model_find(m, TG_THING_BODY, NULL), -1);
  POINTER(tg_desc_string(d, NULL));
  POINTER(tg_model_field_named(m, NULL).data);
  POINTER(tg_sim_field_named(s, NULL).data);
  POINTER(tg_sim_param(s, NULL, NULL, NULL));
  OBJECT(tg_contact_create(m, NULL, NULL, &error));
  assert_int_equal(tg_model_joint(m, 0, NULL, NULL, NULL, NULL), TG_OK);      // outputs may be left out
  STATUS(tg_sim_restore(s, NULL));
  STATUS(tg_sim_inverse(s, NULL, x));
  STATUS(tg_sim_inverse(s, x, NULL));
  STATUS(tg_sim_inverse_d(s, NULL, x, NULL, NULL));
  STATUS(tg_sim_acceleration(s, NULL, x));
  STATUS(tg_sim_acceleration(s, x, NULL));
  STATUS(tg_sim_acceleration_d(s, NULL, NULL, NULL, NULL, NULL));
  STATUS(tg_sim_jacobian(s, 1, NULL, x));
  STATUS(tg_sim_jacobian(s, 1, x, NULL));
  STATUS(tg_sim_dense(s, "no such matrix", x, NULL, NULL));
  STATUS(tg_grad_check_step(s, NULL, NULL));
  tg_model_integrate(m, NULL, x, x);
  tg_model_difference(m, x, x, NULL);
  tg_sim_save(s, NULL);
  tg_sim_wanted(s, NULL, NULL);
  assert_int_equal(tg_sim_step(s, 0.001, NULL), TG_OK);
  STATUS(tg_sim_step_jacobian(s, NULL, NULL));
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 2;
  tgRollout *r = tg_rollout_create(m, c, &o, &e);
  tgBatch *b = tg_batch_create(m, c, &o, 1, &e);
  check_true(r != NULL && b != NULL, "%s", e.text);
  tgRolloutRun run = {0};
  tgRolloutResult result;
  STATUS(tg_rollout_run(r, NULL, &result));
  STATUS(tg_rollout_run(r, &run, NULL));
  STATUS(tg_batch_run(b, 1, NULL, &result));
  STATUS(tg_batch_run(b, 1, &run, NULL));
  STATUS(tg_grad_check_rollout(r, NULL, NULL, NULL));
  tg_batch_free(b);
  tg_rollout_free(r);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_object), cmocka_unit_test(no_file_and_no_geometry),
                                     cmocka_unit_test(no_contact_and_no_change), cmocka_unit_test(no_shard_and_no_trust),
                                     cmocka_unit_test(no_array)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
