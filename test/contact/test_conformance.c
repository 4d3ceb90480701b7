// test_conformance.c: what every contact model of the table must do, and that nobody else knows its name.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/verify.h"

static Rig rig(tgsScene scene, const char *word) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  return rig_of_model(m, word, NULL, &e);
}

// the scenes here start touching; models of potentials need them apart and have test_barrier and test_implicit
static bool may_touch(int w, int scene) {
  // forces between two large surfaces of points cost too much for all scenes here: test/conformance/test_force.c has them, with fewer points
  return tgi_contact_table(w)->impulse != NULL || (tgi_contact_table(w)->force != NULL && (scene == TGS_BLOCK || scene == TGS_SPHERES));
}
// what is explicit needs smaller steps
static double step_of(int w) { return tgi_contact_table(w)->force != NULL ? 0.002 : 0.005; }
static bool by_impulses(int w) { return tgi_contact_table(w)->impulse != NULL; }

static void test_table(void **state) {
  (void)state;
  int n = 0;
  for (; tg_contact_words(n) != NULL; n++) {
    const tgContactModel *k = tgi_contact_table(n);
    assert_string_equal(k->word, tg_contact_words(n));
    for (int i = 0; i < n; i++) assert_string_not_equal(tg_contact_words(i), tg_contact_words(n));
    for (int i = 0; i < k->nparam; i++) {
      const tgContactParam *p = &k->param[i];
      check_true(p->least <= p->value && p->value <= p->most, "%s.%s: default outside its range", k->word, p->name);
      check_true(p->text[0] != '\0', "%s.%s has no text", k->word, p->name);
      tgContactOptions o = tg_contact_default();
      double value;
      memcpy(&value, (char *)&o + p->at, sizeof value);
      check_true(value == p->value, "%s.%s: the default is %g, the list says %g", k->word, p->name, value, p->value);
    }
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
  tgContactOptions o = tg_contact_default();
  o.erp = 1.5;
  assert_null(tg_contact_create(m, tg_contact_words(0), &o, &e));
  check_true(strstr(e.text, "erp") != NULL, "'%s'", e.text);
  o = tg_contact_default();
  o.size = 1;
  assert_null(tg_contact_create(m, tg_contact_words(0), &o, &e));
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

// physics from scratch, adjoint against Jacobian, on every scene
static void test_physics(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int scene = 0; scene < TGS_COUNT; scene++) {
      if (!may_touch(w, scene)) continue;
      Rig r = rig((tgsScene)scene, tg_contact_words(w));
      int nv = r.m->nv, nu = r.m->nu, nt = 2 * nv + nu;
      tgReal *D = malloc(sizeof(tgReal) * (size_t)(2 * nv * nt + 2 * nv + 2 * nt)), *g = D + 2 * nv * nt,
             *out = g + 2 * nv, *probe = out + nt;
      tgtRandom random = {.s = 8};
      for (int k = 0; k < 10; k++) {
        tgStepInfo info;
        tgGradInfo grad;
        assert_int_equal(tgt_scene_state(r.s, (tgsScene)scene, k, step_of(w)), TG_OK);
        assert_int_equal(tg_sim_step(r.s, step_of(w), &info), TG_OK);
        assert_true(info.converged);
        if (by_impulses(w)) tgt_check_step(r.s, 1e-8);
        assert_int_equal(tg_sim_step_jacobian(r.s, D, &grad), TG_OK);
        assert_true(grad.converged);
        for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(&random);
        assert_int_equal(tg_sim_step_vjp(r.s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
        for (int i = 0; i < nt; i++) probe[i] = tgt_normal(&random);
        tgt_check_adjoint(D, 2 * nv, nt, g, probe, out);
      }
      free(D);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_unknown), cmocka_unit_test(test_same_bits),
                                     cmocka_unit_test(test_physics), cmocka_unit_test(test_no_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
