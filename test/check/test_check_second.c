// test_check_second.c: the check of second derivatives: that it passes and says how exactly, that it can fail and names
// the entry, that it leaves things as they were, and what it refuses.
#include <stdlib.h>
#include <string.h>

#include "contact/softmin/soft_scene.h"
#include "step/param_check.h"
#include "tangere/grad.h"

static const double h = 0.001;

static const tgGradBlock *block(const tgGradCheck *c, const char *name) {
  for (int i = 0; i < c->nblock; i++)
    if (strcmp(c->block[i].name, name) == 0) return &c->block[i];
  return NULL;
}

static void test_passes(void **state) {
  (void)state;
  static const char *const text[] = {soft_heap_small, soft_arm};
  for (int k = 0; k < 2; k++) {
    tgSoftminOptions so = soft_options();
    so.integrator = k == 0 ? TG_INTEGRATOR_EULER : TG_INTEGRATOR_RK4;
    Rig rig = rig_of_text(text[k], "softmin", &so.of);
    tgtRandom r = {.s = (uint64_t)(30 + k)};
    soft_state(rig.s, &r, 0);
    tgt_unequal(rig.s);
    size_t bytes = tg_sim_snapshot_size(rig.s);
    char *before = malloc(2 * bytes), *after = before + bytes;
    double friction = tg_sim_param(rig.s, "geom_friction", NULL, NULL)[1],
           stiffness = tg_sim_param(rig.s, "contact.stiffness", NULL, NULL)[0];
    tg_sim_save(rig.s, before);
    tgGradCheckOptions o = tg_grad_check_default();
    tgGradCheck c = {.pass = true};
    o.h = h;
    check_true(tg_grad_check_second(rig.s, &o, &c) == TG_OK, "%s", tg_sim_error(rig.s)->text);
    for (int i = 0; i < c.nblock; i++) {
      const tgGradBlock *b = &c.block[i];
      print_message("%-16s error %.2g, estimate %.2g, worst %s / %s\n", b->name, b->error, b->estimate, b->row_name, b->col_name);
      check_true(b->pass && b->label == TG_GRAD_EXACT, "%s: error %g", b->name, b->error);
      assert_true(strstr(b->row_name, "[-") == NULL && strstr(b->col_name, "[-") == NULL);   // entries of the parameter that has them
      // what the differences leave open is far below the tolerance, so that they tell something
      check_true(b->estimate <= 1e-6, "%s: differences tell too little: %g", b->name, b->estimate);
    }
    assert_true(c.pass && c.nblock == (rig.m->nu > 0 ? 5 : 4));
    assert_non_null(block(&c, "second dp"));
    assert_true(block(&c, "second dp")->error <= 1e-6 && block(&c, "second symmetry")->error <= 1e-11);
    tg_sim_save(rig.s, after);
    assert_memory_equal(before, after, bytes);
    assert_true(friction == tg_sim_param(rig.s, "geom_friction", NULL, NULL)[1] &&
                stiffness == tg_sim_param(rig.s, "contact.stiffness", NULL, NULL)[0]);
    // a tolerance below what differences can show for rounding is not met: the verdict depends on the numbers, and names the worst of them
    tgGradCheck strict = {.pass = true};
    o.tolerance = 1e-17;
    if (k == 0) assert_int_equal(tg_grad_check_second(rig.s, &o, &strict), TG_OK);
    for (int i = 0; i + 1 < strict.nblock; i++) assert_true(strict.block[i].row_name[0] != '\0' && strict.block[i].col_name[0] != '\0');
    free(before);
    drop(&rig);
  }
}

// where the step has a kink, an actuator at its clamp, the adjoint's rate jumps: neither side is the product's, and the check says so
static void test_fails_at_a_kink(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><worldbody><body><joint name='j' type='slide' axis='1 0 0'/><geom type='sphere' size='.1'/></body></worldbody>"
      "<actuator><position name='a' joint='j' kp='1000' ctrllimited='true' ctrlrange='-1 1' forcelimited='true' "
      "forcerange='-1 1'/></actuator></mujoco>";
  tgSoftminOptions so = soft_options();
  Rig rig = rig_of_text(text, "softmin", &so.of);
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = h;
  for (int kink = 0; kink < 2; kink++) {
    tg_sim_reset(rig.s);
    tg_sim_ctrl(rig.s)[0] = kink ? 1e-3 : 1e-4;   // the force is at its limit at 1e-3
    tgGradCheck c = {.pass = true};
    assert_int_equal(tg_grad_check_second(rig.s, &o, &c), TG_OK);
    const tgGradBlock *b = block(&c, "second dp");
    assert_non_null(b);
    check_true(c.pass == (kink == 0), "kink %d: pass %d, worst %s / %s error %g", kink, c.pass, b->row_name, b->col_name, b->error);
  }
  drop(&rig);
}

// a sheet, curved at rest, that hangs from a link by one vertex and meets a plane with another: first and second derivatives of its step
static void test_sheets(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='.5'/><body pos='0 0 .13'><joint type='hinge' axis='.2 1 0'/>"
      "<geom size='.02' mass='4' pos='0 0 .2'/><flexcomp name='c' type='direct' dim='2' mass='.5' radius='.02' "
      "point='0 0 .02  .2 0 0  0 .21 -.105  -.22 .01 0' element='0 1 2 0 2 3'>"
      "<elasticity young='6' poisson='.3' thickness='.6' damping='.01' elastic2d='both'/>"
      "<contact selfcollide='none' friction='.3'/><pin id='3'/></flexcomp></body></worldbody></mujoco>";
  static const char *const words[] = {"damped", "softmin", "toi"};
  for (int k = 0; k < 3; k++) {
    Rig rig = rig_of_text(text, words[k], NULL);
    tgtRandom r = {.s = 3};
    for (int i = 0; i < rig.m->nv; i++) rig.s->qvel[i] = tgt_uniform(&r, -0.5, 0.5);
    tgGradCheckOptions o = tg_grad_check_default();
    tgGradCheck c = {.pass = true};
    o.h = h;
    check_true(tg_grad_check_step(rig.s, &o, &c) == TG_OK, "%s: %s", words[k], tg_sim_error(rig.s)->text);
    check_true(tg_grad_check_second(rig.s, &o, &c) == TG_OK, "%s: %s", words[k], tg_sim_error(rig.s)->text);
    for (int i = 0; i < c.nblock; i++) {
      const tgGradBlock *b = &c.block[i];
      print_message("%-8s %-16s error %.2g, estimate %.2g\n", words[k], b->name, b->error, b->estimate);
      bool switches = k == 2 && strncmp(b->name, "second", 6) == 0;   // where impacts are at a step's end
      check_true(b->pass && (b->label == TG_GRAD_EXACT || switches), "%s, %s: error %g, %s", words[k], b->name, b->error, b->reason);
    }
    drop(&rig);
  }
}

static void test_refused(void **state) {
  (void)state;
  Rig rig = rig_of_text(soft_heap_small, "lcp", NULL);
  tgGradCheck c = {.pass = true};
  assert_int_equal(tg_grad_check_second(rig.s, NULL, &c), TG_ERR_UNSUPPORTED);
  check_true(strstr(tg_sim_error(rig.s)->text, "lcp") != NULL, "'%s'", tg_sim_error(rig.s)->text);
  assert_int_equal(c.nblock, 0);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_passes), cmocka_unit_test(test_sheets), cmocka_unit_test(test_fails_at_a_kink),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
