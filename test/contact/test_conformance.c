// test_conformance.c: what every contact model of the table must do, and that nobody else knows its name.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "joint/joint.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "support/verify.h"

static Rig rig(tgsScene scene, const char *word) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  return rig_of_model(m, word, NULL, &e);
}

static bool by_impulses(int w) { return tgi_contact_table(w)->rows != NULL; }
static bool explicit_forces(int w) { return strcmp(tgi_contact_table(w)->stepper, "explicit") == 0; }
// limits and equalities are springs as stiff as an option says
static bool springs(int w) { return tgi_contact_table(w)->law != NULL && (tgi_contact_table(w)->law->has & TG_LAW_ENERGY) == 0; }
static bool has_energy(int w) { return tgi_contact_table(w)->law != NULL && (tgi_contact_table(w)->law->has & TG_LAW_ENERGY) != 0; }

// the scenes here start touching; models that keep bodies apart have tests of their own, as test_barrier and test_event
static bool may_touch(int w, int scene) {
  if (tg_contact_intersection_free(tg_contact_words(w))) return false;
  // forces between two large surfaces of points cost too much for all scenes here: test/conformance/test_explicit.c
  // has them, with fewer points
  return tgi_contact_table(w)->law == NULL || scene == TGS_BLOCK || scene == TGS_SPHERES;
}
// what is explicit needs smaller steps
static double step_of(int w) { return explicit_forces(w) ? 0.002 : 0.005; }

static void test_table(void **state) {
  (void)state;
  int n = 0;
  for (; tg_contact_words(n) != NULL; n++) {
    const tgContactModel *k = tgi_contact_table(n);
    assert_string_equal(k->word, tg_contact_words(n));
    for (int i = 0; i < n; i++) assert_string_not_equal(tg_contact_words(i), tg_contact_words(n));
  }
  check_true(n > 0, "no contact model");
  assert_null(tg_contact_words(-1));
}

static void test_unknown(void **state) {
  (void)state;
  tgError e = {0};
  tgModel *m = tgs_model(TGS_BLOCK, &e);
  assert_null(tg_contact_create(m, "glue", NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  check_true(strstr(e.text, "glue") != NULL && strstr(e.text, tg_contact_words(0)) != NULL, "'%s'", e.text);
  assert_null(tg_contact_create(NULL, "x", NULL, &e));
  tg_model_free(m);
}

// same inputs, same bits: two sims, and one sent back to a snapshot
static void test_same_bits(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int scene = 0; scene < TGS_COUNT; scene++) {
      if (!may_touch(w, scene)) continue;
      Rig a = rig((tgsScene)scene, tg_contact_words(w)), b = rig((tgsScene)scene, tg_contact_words(w));
      size_t nq = (size_t)a.m->nq * sizeof(tgReal), nv = (size_t)a.m->nv * sizeof(tgReal);
      assert_int_equal(tgt_scene_state(a.s, (tgsScene)scene, 3, step_of(w)), TG_OK);
      assert_int_equal(tgt_scene_state(b.s, (tgsScene)scene, 3, step_of(w)), TG_OK);
      assert_memory_equal(a.s->qpos, b.s->qpos, nq);
      void *snapshot = malloc(tg_sim_snapshot_size(a.s));
      tgReal *q = malloc(nq + nv);
      tg_sim_save(a.s, snapshot);
      for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step(a.s, step_of(w), NULL), TG_OK);
      memcpy(q, a.s->qpos, nq);
      memcpy(q + a.m->nq, a.s->qvel, nv);
      assert_int_equal(tg_sim_restore(a.s, snapshot), TG_OK);
      for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step(a.s, step_of(w), NULL), TG_OK);
      assert_memory_equal(q, a.s->qpos, nq);
      assert_memory_equal(q + a.m->nq, a.s->qvel, nv);
      free(snapshot);
      free(q);
      drop(&a);
      drop(&b);
    }
}

// ---- a step as a map, and its derivatives ----

enum { MOST = 128 };   // numbers of a state with its controls

typedef struct StepMap { tgSim *s; tgReal q1[MOST]; double h; } StepMap;

static tgStatus step_map(void *ctx, const tgReal *x, tgReal *y) {
  StepMap *k = ctx;
  const tgModel *m = &k->s->m;
  memcpy(k->s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(k->s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(k->s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgStatus status = tg_sim_step(k->s, k->h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(m, k->q1, k->s->qpos, y);
  memcpy(y + m->nv, k->s->qvel, (size_t)m->nv * sizeof *x);
  return TG_OK;
}

static void step_retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((StepMap *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

// the step just made from x (q, v, u): adjoint against Jacobian, and that against differences; what controls do,
// nothing where friction holds, is one block with what speeds do
static void check_step(tgSim *s, int w, const tgReal *x, double h, tgtRandom *r) {
  const char *word = tg_contact_words(w);
  const tgModel *m = &s->m;
  int nv = m->nv, nt = 2 * nv + m->nu, cols[2] = {nv, nv + m->nu};
  tgReal *D = malloc(sizeof *D * (size_t)(2 * nv * nt)), g[MOST], v[MOST], out[MOST];
  StepMap k = {.s = s, .h = h};
  tgGradInfo info;
  memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof *D);
  assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
  assert_true(info.converged);
  // steps of explicit forces may be longer than they are stable, and say so
  check_true(info.ties == 0 || by_impulses(w), "%s: label %d: %s", word, info.label, info.reason);
  bool full = info.label == TG_GRAD_EXACT || info.label == TG_GRAD_UNSTABLE;
  check_true(full || by_impulses(w), "%s: label %d: %s", word, info.label, info.reason);
  for (int trial = 0; trial < 3; trial++) {
    tgt_random_vector(r, 2 * nv, g);
    tgt_random_vector(r, nt, v);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
    tgt_check_adjoint(D, 2 * nv, nt, g, v, out);
  }
  // rows switch within differences of a step: test_gradient_rows sets such states aside
  tgtDeriv d = {.name = word, .nx = m->nq + nv + m->nu, .nt = nt, .ny = 2 * nv, .map = step_map,
                .retract = step_retract, .ctx = &k, .tol = 2e-6, .step = 1e-5, .cols = cols, .ncols = 2};
  if (!by_impulses(w)) tgt_check_jacobian(&d, x, D);
  free(D);
}

static void state_of(const tgSim *s, tgReal *x) {
  const tgModel *m = &s->m;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)m->nv * sizeof *x);
  memcpy(x + m->nq + m->nv, s->ctrl, (size_t)m->nu * sizeof *x);
}

// physics from scratch and derivatives on every scene
static void test_physics(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int scene = 0; scene < TGS_COUNT; scene++) {
      if (!may_touch(w, scene)) continue;
      Rig r = rig((tgsScene)scene, tg_contact_words(w));
      tgtRandom random = {.s = 8};
      for (int k = 0; k < 10; k++) {
        tgReal x[MOST];
        tgStepInfo info;
        assert_int_equal(tgt_scene_state(r.s, (tgsScene)scene, k, step_of(w)), TG_OK);
        state_of(r.s, x);
        assert_int_equal(tg_sim_step(r.s, step_of(w), &info), TG_OK);
        assert_true(info.converged);
        if (by_impulses(w)) tgt_check_step(r.s, 1e-8);
        check_step(r.s, w, x, step_of(w), &random);
      }
      drop(&r);
    }
}

// ---- energies ----

static tgStatus energy_map(void *ctx, const tgReal *q, tgReal *energy) {
  tgSim *s = ctx;
  memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
  return tg_sim_contact_potential(s, energy, NULL);
}

static void pose_retract(void *ctx, const tgReal *q, const tgReal *d, tgReal *out) { tg_model_integrate(&((tgSim *)ctx)->m, q, d, out); }

// two spheres and a plane, each 0.3 mm from the next
static const char *const near =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1003'><freejoint/><geom size='.1'/></body>"
                                "<body pos='.05 .02 .293225'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";

// forces are those of the energy, and there are some between bodies that nearly touch
static void test_energies(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!has_energy(w)) continue;
    Rig r = rig_of_text(near, tg_contact_words(w), NULL);
    tgReal gradient[MOST], energy, q[MOST], most = 0;
    tgtDeriv d = {.name = tg_contact_words(w), .nx = r.m->nq, .nt = r.m->nv, .ny = 1, .map = energy_map,
                  .retract = pose_retract, .ctx = r.s, .tol = 1e-7, .step = 1e-6};
    memcpy(q, r.s->qpos, (size_t)r.m->nq * sizeof *q);
    check_true(tg_sim_contact_potential(r.s, &energy, gradient) == TG_OK, "%s: %s", tg_contact_words(w), tg_sim_error(r.s)->text);
    for (int i = 0; i < r.m->nv; i++) most = fmax(most, fabs(gradient[i]));
    check_true(energy > 0 && most > 0, "%s: an energy of %g, forces up to %g", tg_contact_words(w), energy, most);
    tgt_check_jacobian(&d, q, gradient);
    drop(&r);
  }
}

// ---- joints: one scene of everything that may hold, drive or stop them ----

static const char *const joints =
    "<mujoco><compiler angle='radian'/><default><geom density='2000' contype='0' conaffinity='0'/></default><worldbody>"
    "<body name='a' pos='0 0 .3'><joint name='a' axis='0 1 0' damping='.2' stiffness='2' armature='.02' "
    "frictionloss='.1' limited='true' range='-.6 .5' "
    "actuatorfrclimited='true' actuatorfrcrange='-1 .8'/><geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03'/>"
    "<body name='b' pos='.2 0 -.05'><joint name='b' type='ball' damping='.1' stiffness='.5' limited='true' range='0 "
    ".6'/><geom type='box' size='.1 .02 .03' pos='.1 0 0'/>"
    "<body name='c' pos='.2 0 0'><joint name='c' type='slide' axis='1 0 .3' damping='.5' frictionloss='.2' "
    "limited='true' range='-.05 .04'/>"
    "<joint name='d' axis='1 .2 0' damping='.1'/><geom size='.05' pos='0 .05 0'/></body></body></body>"
    "<body name='e' pos='.5 .05 .06'><freejoint/><geom type='box' size='.05 .06 .05'/></body>"
    "<body name='f' pos='-.2 0 .3'><joint name='f' axis='0 1 0' damping='.1'/>"
    "<geom type='capsule' fromto='0 0 0 0 .1 -.2' size='.03'/></body></worldbody>"
    "<tendon><fixed name='t' limited='true' range='-.1 .08' stiffness='2' damping='.1'><joint joint='a' coef='.7'/>"
    "<joint joint='c' coef='-1.2'/></fixed>"
    "<fixed name='u' limited='true' range='-.05 .05' frictionloss='.2'><joint joint='d' coef='.7'/>"
    "<joint joint='f' coef='.4'/></fixed></tendon>"
    "<equality><weld body1='c' body2='e' anchor='.01 .02 .03'/><connect body1='f' body2='e' anchor='.1 .05 -.1'/>"
    "<joint joint1='a' joint2='f' polycoef='0 .8 .5 -.3 .2'/><joint joint1='d' polycoef='.01'/>"
    "<tendon tendon1='t' tendon2='u' polycoef='.01 .6 .4 .3 -.2'/></equality>"
    "<actuator><motor joint='a' gear='2' forcelimited='true' forcerange='-.5 .4'/>"
    "<position joint='a' kp='3' forcelimited='true' forcerange='-.7 .6'/>"
    "<position joint='c' kp='50' forcelimited='true' forcerange='-3 3'/>"
    "<motor joint='b' gear='1 .5 .2' ctrllimited='true' ctrlrange='-.5 .5'/>"
    "<velocity tendon='u' kv='.1'/></actuator></mujoco>";

static void test_joints(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    // as stiff as explicit steps allow
    bool soft = springs(w);
    tgAnyContactOptions o = options_of(tg_contact_words(w), "equality_frequency=600");
    Rig r = rig_of_text(joints, tg_contact_words(w), &o.of);
    const tgModel *m = r.m;
    tgtRandom random = {.s = 12};
    double h = soft ? 0.0005 : 0.002;
    assert_int_equal(tg_sim_reserve(r.s, 16, 128), TG_OK);
    for (int k = 0; k < 120; k++) {
      tgReal x[MOST];
      for (int i = 0; i < m->nu && k % 20 == 0; i++) r.s->ctrl[i] = tgt_uniform(&random, -1, 1);
      state_of(r.s, x);
      check_true(tg_sim_step(r.s, h, NULL) == TG_OK, "%s, step %d: %s", tg_contact_words(w), k, tg_sim_error(r.s)->text);
      if (k % 17 != 16) continue;
      check_step(r.s, w, x, h, &random);
      step_map(&(StepMap){.s = r.s, .h = h}, x, (tgReal[MOST]){0});
    }
    // what is held stays so
    tgReal error[3];
    assert_int_equal(tg_sim_forward(r.s), TG_OK);
    for (int e = 0; e < 2; e++) {
      tgiBond b;
      tgi_bond(r.s, &r.s->start, e, &b);
      tgi_v3_sub(error, b.pa, b.pb);
      check_true(tgRe(tgi_v3_norm(error)) < (soft ? 1e-2 : 1e-3), "%s: equality %d is open by %g", tg_contact_words(w),
                 e, tgRe(tgi_v3_norm(error)));
    }
    drop(&r);
  }
}

// true when the file holds the word as a string
static bool holds(const char *path, const char *word) {
  char quoted[40], line[1024];
  bool found = false;
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  snprintf(quoted, sizeof quoted, "\"%s\"", word);
  while (!found && fgets(line, sizeof line, f) != NULL) found = strstr(line, quoted) != NULL;
  fclose(f);
  return found;
}

static int scan(const char *folder, const char *word) {
  DIR *d = opendir(folder);
  int files = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    char path[1024];
    size_t n = strlen(e->d_name);
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (n > 2 && e->d_name[n - 2] == '.' && (e->d_name[n - 1] == 'c' || e->d_name[n - 1] == 'h')) {
      files++;
      check_true(!holds(path, word), "%s knows the contact model \"%s\" by name", path, word);
    }
  }
  closedir(d);
  return files;
}

// steppers and all below them know no contact model by name
static void test_no_names(void **state) {
  (void)state;
  static const char *const folders[] = {"model", "sim", "kin", "dyn", "coll", "contact", "step", "grad"};
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    int files = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
      char path[512];
      snprintf(path, sizeof path, "%s/src/%s", TG_SOURCE_DIR, folders[i]);
      files += scan(path, tg_contact_words(w));
    }
    check_true(files > 20, "only %d files seen", files);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_unknown),
                                     cmocka_unit_test(test_same_bits), cmocka_unit_test(test_physics),
                                     cmocka_unit_test(test_energies), cmocka_unit_test(test_joints),
                                     cmocka_unit_test(test_no_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
