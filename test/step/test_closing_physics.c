// test_closing_physics.c: steps by the rule `closing` of lcp on its scenes, verified from scratch in velocities and positions.
#include <stdlib.h>
#include <string.h>

#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/verify.h"
#include "tangere/lcp.h"

static const double h = 0.005;

static void test_scenes(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  int impacts = 0, parts = 0, pushed = 0;
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    tgError e = {0};
    tgModel *m = tgs_model((tgsScene)scene, &e);
    tgContact *contact = tg_contact_create(m, "lcp", &o.of, &e);
    tgSim *s = tg_sim_create(m, contact, NULL, &e);
    check_true(s != NULL, "%s", e.text);
    for (int k = 0; k < 40; k++) {
      assert_int_equal(tgt_scene_state(s, (tgsScene)scene, k, h), TG_OK);
      // some of them 0.1 mm deeper
      if (k % 4 == 0 && m->jnt_type[0] == TG_JOINT_FREE) s->qpos[2] -= 1e-4;
      for (int step = 0; step < 3; step++) {
        tgStepInfo info;
        tgStatus status = tg_sim_step_growing(s, h, &info);
        check_true(status == TG_OK, "%s state %d: %s", tgs_name((tgsScene)scene), k, s->error.text);
        tgt_check_step(s, 1e-8);
        impacts += info.nimpact;
        parts += s->npart > 1;
        pushed += info.ncontact > 0;
      }
    }
    tg_sim_free(s);
    tg_contact_free(contact);
    tg_model_free(m);
  }
  print_message("%d impacts in %d steps, %d steps with contact\n", impacts, parts, pushed);
  check_true(impacts > 20 && pushed > 300, "%d impacts, %d steps with contact", impacts, pushed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
