// test_replay_signals.c: energies and the gradient in a push against closed forms; the signals of a run are its arrays.
#include "output/replay_signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/folder.h"
#include "support/check.h"
#include "tangere/replay.h"
#include "tangere/softmin.h"

enum { STEPS = 30 };
static const double H = 0.01, G = 9.81;

// a free box of 2 kg, and a rod of 3 kg on a hinge at its end: its centre of mass 0.4 m from the hinge's axis y
static tgModel *make_model(void) {
  tgDesc *d = tg_desc_create(NULL);
  int box = tg_desc_add_body(d, 0, "box");
  tg_desc_add_joint(d, box, TG_JOINT_FREE, "loose");
  int g = tg_desc_add_geom(d, box, TG_GEOM_BOX, NULL);
  for (int k = 0; k < 3; k++) d->geom[g].size[k] = 0.1 * (k + 1);
  d->geom[g].mass = 2;
  d->body[box].pos[2] = 5;
  int rod = tg_desc_add_body(d, 0, "rod");
  int j = tg_desc_add_joint(d, rod, TG_JOINT_HINGE, "pin");
  d->joint[j].axis[0] = d->joint[j].axis[2] = 0;
  d->joint[j].axis[1] = 1;
  g = tg_desc_add_geom(d, rod, TG_GEOM_SPHERE, NULL);
  d->geom[g].size[0] = 0.05;
  d->geom[g].pos[0] = 0.4;
  d->geom[g].mass = 3;
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

static void test_energy(void **state) {
  (void)state;
  tgModel *m = make_model();
  tgSim *sim = tg_sim_create(m, NULL, NULL, NULL);
  double *q = tg_sim_qpos(sim), *v = tg_sim_qvel(sim), energy[2], a = 0.7, w = 1.3;
  q[7] = a;
  v[0] = 1, v[1] = 2, v[2] = -3;   // of the box, without spin
  v[6] = w;
  assert_int_equal(tg_sim_forward(sim), TG_OK);
  tgi_replay_energy(sim, energy);
  double inertia = 0.4 * 3 * 0.05 * 0.05 + 3 * 0.4 * 0.4;   // of the ball about the hinge
  check_close(energy[0], 0.5 * 2 * 14 + 0.5 * inertia * w * w, 1e-12);
  check_close(energy[1], 2 * G * 5 - 3 * G * 0.4 * sin(a), 1e-12);   // turning about y takes +x down
  tg_sim_free(sim);
  tg_model_free(m);
}

// springs of a ball joint, a slide, a hinge and a tendon that is loose between two lengths, weight of one body
// compensated in part; nothing damps
static tgModel *make_springs(double low, double high) {
  tgDesc *d = tg_desc_create(NULL);
  static const tgJointType type[3] = {TG_JOINT_BALL, TG_JOINT_SLIDE, TG_JOINT_HINGE};
  int parent = 0, joint[3];
  for (int i = 0; i < 3; i++) {
    int b = tg_desc_add_body(d, parent, NULL);
    d->body[b].pos[0] = 0.2;
    joint[i] = tg_desc_add_joint(d, b, type[i], NULL);
    d->joint[joint[i]].axis[0] = 0.6;
    d->joint[joint[i]].axis[2] = 0.8;
    d->joint[joint[i]].stiffness = 20 + 10 * i;
    d->joint[joint[i]].armature = 0.01 * i;
    int g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL);
    for (int k = 0; k < 3; k++) d->geom[g].size[k] = 0.05 * (k + 1);
    d->geom[g].pos[1] = 0.1;
    d->geom[g].mass = 1 + i;
    d->geom[g].contype = d->geom[g].conaffinity = 0;
    parent = b;
  }
  d->body[2].gravcomp = 0.4;
  const double coef[2] = {2, -1};
  int t = tg_desc_add_tendon(d, NULL, joint + 1, coef, 2);
  d->tendon[t].stiffness = 15;
  d->tendon[t].springlength[0] = low;
  d->tendon[t].springlength[1] = high;
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

// of the tendon: nothing between its two lengths, k (l - end)^2/2 beyond, l = 2 q_4 - q_5
static void test_loose_tendon(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    double energy[2][2], l = 0.2 * i - 0.15, stretch = i == 0 ? -0.05 : i == 2 ? 0.05 : 0;
    for (int k = 0; k < 2; k++) {
      tgModel *m = make_springs(k == 0 ? -0.1 : -9, k == 0 ? 0.2 : 9);
      tgSim *sim = tg_sim_create(m, NULL, NULL, NULL);
      tg_sim_qpos(sim)[4] = l / 2 + 0.3;
      tg_sim_qpos(sim)[5] = 0.6;
      assert_int_equal(tg_sim_forward(sim), TG_OK);
      tgi_replay_energy(sim, energy[k]);
      tg_sim_free(sim);
      tg_model_free(m);
    }
    check_close(energy[0][1] - energy[1][1], 15 * stretch * stretch / 2, 1e-12);
  }
}

// the sum is what it was, after two seconds that carry most of it from one part to the other and back, with steps of order 4
static void test_energy_is_conserved(void **state) {
  (void)state;
  tgModel *m = make_springs(0.1, 0.1);
  tgError error = {0};
  tgSoftminOptions o = tg_softmin_default();
  o.integrator = TG_INTEGRATOR_RK4;
  tgContact *contact = tg_contact_create(m, "softmin", &o.of, &error);
  check_true(contact != NULL, "%s", error.text);
  tgSim *sim = tg_sim_create(m, contact, NULL, &error);
  double *q = tg_sim_qpos(sim), *v = tg_sim_qvel(sim), first[2], energy[2], least = INFINITY, most = -INFINITY;
  q[0] = cos(0.5), q[1] = sin(0.5), q[4] = 0.2, q[5] = -0.7;
  for (int i = 0; i < 5; i++) v[i] = 0.5 * i - 1;
  for (int i = 0; i <= 8000; i++) {
    assert_int_equal(tg_sim_forward(sim), TG_OK);
    tgi_replay_energy(sim, i == 0 ? first : energy);
    if (i > 0) check_close(energy[0] + energy[1], first[0] + first[1], 1e-8);
    if (i > 0) least = fmin(least, energy[1]), most = fmax(most, energy[1]);
    check_true(tg_sim_step_growing(sim, 2.5e-4, NULL) == TG_OK, "step %d: %s", i, tg_sim_error(sim)->text);
  }
  check_true(most - least > 5, "the potential moves by %g J alone", most - least);
  tg_sim_free(sim);
  tg_contact_free(contact);
  tg_model_free(m);
}

// by the definition: the change of gv . v when a push changes the momentum of one body, for random gv
static void test_push(void **state) {
  (void)state;
  tgModel *m = make_model();
  tgSim *sim = tg_sim_create(m, NULL, NULL, NULL);
  tgtRandom rng = {5};
  double gv[7], push[9], at[9], a = 0.7;
  for (int i = 0; i < 7; i++) gv[i] = tgt_uniform(&rng, -1, 1);
  tg_sim_qpos(sim)[7] = a;
  tg_sim_qvel(sim)[6] = 2;   // the push does not depend on it
  assert_int_equal(tg_sim_forward(sim), TG_OK);
  assert_int_equal(tg_sim_impulse_gradient(sim, gv, push, at), TG_OK);
  // the box: dv = p/m at its centre of mass, no spin
  for (int k = 0; k < 3; k++) check_close(push[3 + k], gv[k] / 2, 1e-12);
  check_close(at[5], 5, 1e-12);
  // the rod: a push p at r from the hinge gives a spin (r x p) . axis / inertia
  double inertia = 0.4 * 3 * 0.05 * 0.05 + 3 * 0.4 * 0.4, r[3] = {0.4 * cos(a), 0, -0.4 * sin(a)};
  for (int k = 0; k < 3; k++) check_close(at[6 + k], r[k], 1e-12);
  check_close(push[6], gv[6] * r[2] / inertia, 1e-12);
  check_close(push[7], 0, 1e-12);
  check_close(push[8], -gv[6] * r[0] / inertia, 1e-12);
  for (int k = 0; k < 3; k++) check_close(push[k], 0, 0);   // the world
  tg_sim_free(sim);
  tg_model_free(m);
}

static void test_show(void **state) {
  (void)state;
  tgModel *m = make_model();
  tgSim *sim = tg_sim_create(m, NULL, NULL, NULL);
  static double q[(STEPS + 1) * 8], v[(STEPS + 1) * 7], gq[(STEPS + 1) * 7];
  for (int i = 0; i <= STEPS; i++) {
    q[8 * i] = 0.1 * i;
    q[8 * i + 3] = 1;
    q[8 * i + 7] = 0.02 * i;
    v[7 * i] = 10;
    gq[7 * i + 6] = i;
  }
  tgTrajectory stored = {.steps = STEPS, .q = q, .v = v, .grad_q = gq, .grad_v = gq};
  tgReplayShown shown;
  tgError error = {0};
  check_true(tgi_replay_show(sim, &stored, "run", 3, H, &shown, &error) == TG_OK, "%s", error.text);
  const tgReplayTrajectory *t = &shown.trajectory;
  assert_int_equal(t->nframe, STEPS + 1);
  check_close(t->body_pos[(STEPS * 3 + 1) * 3], 0.1 * STEPS, 1e-15);
  // no actuators: no controls
  const char *const name[] = {"positions q", "velocities v", "energy", "gradient in q", "gradient in v"};
  assert_int_equal(t->nsignal, 5);
  for (int i = 0; i < 5; i++) assert_string_equal(t->signal[i].name, name[i]);
  assert_string_equal(t->signal[0].part[3], "loose qw");
  assert_string_equal(t->signal[0].part[7], "pin");
  assert_string_equal(t->signal[1].part[5], "loose wz");
  assert_ptr_equal(t->signal[3].data, gq);
  check_close(t->signal[2].data[2 * STEPS], 100, 1e-12);
  tgi_replay_shown_free(&shown);
  // a state that the sim refuses is named
  q[8 * 4] = NAN;
  assert_int_not_equal(tgi_replay_show(sim, &stored, "run", 3, H, &shown, &error), TG_OK);
  check_true(strstr(error.text, "replay of 'run', state 4") != NULL, "%s", error.text);
  tgi_replay_shown_free(&shown);
  tg_sim_free(sim);
  tg_model_free(m);
}

// a rollout as a page: its frames, controls and forces; a policy's controls are those of the page; what fails leaves no file
static void push_up(void *ctx, const tgSim *sim, int t, tgReal *u) {
  (void)ctx, (void)sim;
  u[0] = 0.5 * t;
}

static tgStatus shrink(void *ctx, tgSim *sim) {
  (void)ctx;
  tg_sim_param(sim, "geom_size", NULL, NULL)[3] = 0.0625;
  return TG_OK;
}

// a rollout of a model with an activation: it is drawn as a signal of its own, under its actuator's name
static void test_activation(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body><joint name='rail' type='slide'/><geom size='.1' mass='1'/></body></worldbody>"
      "<actuator><motor name='plain' joint='rail'/><general name='slow' joint='rail' dyntype='integrator'/></actuator></mujoco>";
  tgtFolder folder;
  tgt_folder_make(&folder);
  char template[400], path[400];
  strcpy(template, tgt_folder_file(&folder, "viewer.html"));
  strcpy(path, tgt_folder_file(&folder, "page.html"));
  const char *places = "<script type=\"application/json\" id=\"tangere-replay\"></script><div id=\"tangere-data\" hidden></div>";
  tgt_write(template, places, strlen(places));
  tgError error = {0};
  tgt_write(tgt_folder_file(&folder, "m.xml"), text, sizeof text - 1);
  tgModel *m = tg_model_load(tgt_folder_file(&folder, "m.xml"), NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 4;
  o.h = 0.5;
  tgRollout *rollout = tg_rollout_create(m, NULL, &o, &error);
  const double u[8] = {0, 1, 0, 1, 0, 1, 0, 1}, v0[2] = {0, 0.25};
  tgRolloutRun run = {.u = u, .v0 = v0};
  check_true(tg_replay_rollout(rollout, &run, "wind", template, path, &error) == TG_OK, "%s", error.text);
  char *page = tgt_read(path, NULL);
  const char *at = strstr(page, "\"activations\"");
  check_true(at != NULL && strstr(at, "\"parts\":[\"slow\"],\"low\":[0.25],\"high\":[2.25]") != NULL, "%s", at != NULL ? at : page);
  free(page);
  tg_rollout_free(rollout);
  tg_model_free(m);
  tgt_folder_remove(&folder);
}

static void test_rollout(void **state) {
  (void)state;
  enum { T = 20 };
  static const char text[] =
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .1'><joint name='lift' type='slide' axis='0 0 1'/>"
      "<geom type='sphere' size='.1' mass='2'/></body></worldbody><actuator><motor name='jack' joint='lift'/></actuator></mujoco>";
  tgtFolder folder;
  tgt_folder_make(&folder);
  char template[400], path[400];
  strcpy(template, tgt_folder_file(&folder, "viewer.html"));
  strcpy(path, tgt_folder_file(&folder, "page.html"));
  const char *places = "<script type=\"application/json\" id=\"tangere-replay\"></script><div id=\"tangere-data\" hidden></div>";
  tgt_write(template, places, strlen(places));
  tgError error = {0};
  tgt_write(tgt_folder_file(&folder, "jack.xml"), text, sizeof text - 1);
  tgModel *m = tg_model_load(tgt_folder_file(&folder, "jack.xml"), NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, &error);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = T;
  o.h = 0.01;
  tgRollout *rollout = tg_rollout_create(m, contact, &o, &error);
  check_true(rollout != NULL, "%s", error.text);
  tgRolloutRun run = {.policy = push_up};
  check_true(tg_replay_rollout(rollout, &run, "a jack", template, path, &error) == TG_OK, "%s", error.text);
  char *page = tgt_read(path, NULL);
  // the jack's largest control is 0.5 (T - 1) N, below the weight: one contact in each of the T steps
  for (size_t i = 0; i < 4; i++) {
    static const char *const want[] = {"\"title\":\"a jack\"", "\"nframe\":21", "\"ncontact\":20",
                                       "\"parts\":[\"jack\"],\"low\":[0],\"high\":[9.5]"};
    check_true(strstr(page, want[i]) != NULL, "no %s", want[i]);
  }
  free(page);
  // sizes that the run sets are those of the page
  run.setup = shrink;
  check_true(tg_replay_rollout(rollout, &run, "a jack", template, path, &error) == TG_OK, "%s", error.text);
  page = tgt_read(path, NULL);
  check_true(strstr(page, "\"size\":[0.0625,") != NULL, "drawn at another size than it had");
  free(page);
  remove(path);
  const double bad[1] = {NAN};
  run.q0 = bad;
  assert_int_not_equal(tg_replay_rollout(rollout, &run, NULL, template, path, &error), TG_OK);
  check_true(error.text[0] != '\0', "no reason");
  run.q0 = NULL;
  check_refused(tg_replay_rollout(rollout, &run, NULL, "/nowhere/viewer.html", path, &error), TG_ERR_FILE, error, "/nowhere/viewer.html");
  assert_int_equal(tgt_folder_count(&folder), 2);
  tg_rollout_free(rollout);
  tg_contact_free(contact);
  tg_model_free(m);
  tgt_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy), cmocka_unit_test(test_loose_tendon),
                                     cmocka_unit_test(test_energy_is_conserved), cmocka_unit_test(test_push),
                                     cmocka_unit_test(test_show), cmocka_unit_test(test_activation), cmocka_unit_test(test_rollout)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
