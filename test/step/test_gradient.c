// test_gradient.c: the step's Jacobian and adjoint on random states of the six scenes of the lcp model. Argument: states per scene.
#include "gradient_check.h"
#include "scene_states.h"

#ifdef TG_COMPLEX
static int states = 200;
#else
static int states = 10;
#endif
static const double h = 0.005;

static void check_scene(tgsScene scene) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  check_true(m != NULL, "%s: %s", tgs_name(scene), e.text);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
  check_true(contact != NULL, "%s", e.text);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  Count c = {0};
  for (int k = 0; k < states; k++) {
    if (tgt_scene_state(s, scene, k, h) == TG_OK) check_state(s, tgs_name(scene), k, h, &c);
    else c.failed++;
  }
  print_count(tgs_name(scene), &c);
  check_true(c.failed == 0, "%s: %d states were not solved", tgs_name(scene), c.failed);
  check_true(2 * c.active >= c.total, "%s: only %d of %d states touch", tgs_name(scene), c.active, c.total);
  check_true(c.stick > 0 && c.slip > 0, "%s: %d sticking, %d slipping", tgs_name(scene), c.stick, c.slip);
  // redundant rows change classes that change nothing; the complex step stays in its own
#ifdef TG_COMPLEX
  const int most = 20;
#else
  const int most = 8;
#endif
  check_true(most * c.aside <= c.total || c.aside <= 2, "%s: %d of %d states set aside", tgs_name(scene), c.aside, c.total);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

static void test_block(void **state) { (void)state; check_scene(TGS_BLOCK); }
static void test_arm(void **state) { (void)state; check_scene(TGS_ARM); }
static void test_stack(void **state) { (void)state; check_scene(TGS_STACK); }
static void test_humanoid(void **state) { (void)state; check_scene(TGS_HUMANOID); }
static void test_cheetah(void **state) { (void)state; check_scene(TGS_CHEETAH); }
static void test_spheres(void **state) { (void)state; check_scene(TGS_SPHERES); }

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_block), cmocka_unit_test(test_arm), cmocka_unit_test(test_cheetah),
                                     cmocka_unit_test(test_stack), cmocka_unit_test(test_spheres), cmocka_unit_test(test_humanoid)};
  if (argc > 1) states = atoi(argv[1]);
  if (argc > 2) cmocka_set_test_filter(argv[2]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
