// test_labels.c: the labels of gradients on the conformance scenes and on their tied states: never exact where the
// derivatives from the left and from the right differ.
#include <stdio.h>

#include "conformance/scenes.h"
#include "step/label_check.h"
#include "tangere/lcp.h"

static tgtLabels scene_labels(const tgtConformScene *scene, bool pairs, tgContactRule rule) {
  tgtLabels t = {0};
  for (int tilt = 0; tilt < TGT_TILTS; tilt++)
    for (int bits = 0; bits < (pairs ? 32 : 4); bits++) {
      tgtConformVariant v = {.tilt = (tgtTilt)tilt, .passive = bits & 2, .reversed = bits & 4, .self = bits & 8, .slip = bits & 16};
      tgtConform c;
      tgModel *m = tgt_conform_build(scene, &v, &c);
      tgLcpOptions o = tg_lcp_default();
      o.contact_rule = rule;
      o.symplectic = bits & 1;
      o.erp = c.erp;
      tgContact *contact = tg_contact_create(m, "lcp", &o.of, NULL);
      tgSim *s = tg_sim_create(m, contact, NULL, NULL);
      assert_non_null(s);
      tgt_conform_state(&c, s);
      tgt_judge(s, c.h, scene->name, 4 * bits + tilt, &t);
      tg_sim_free(s);
      tg_contact_free(contact);
      tg_model_free(m);
      tg_desc_free(c.d);
    }
  print_message("%-44s %2d states, %2d with a kink, %2d called exact\n", scene->name, t.states, t.kinks, t.exact);
  return t;
}

static void test_scenes(void **state) {
  (void)state;
  const tgtConformScene *const tables[3] = {tgt_conform_blocks, tgt_conform_robots, tgt_conform_pairs};
  for (int k = 0; k < 3; k++)
    for (const tgtConformScene *scene = tables[k]; scene->name != NULL; scene++)
      if (strcmp(scene->name, "empty world") != 0 && strcmp(scene->name, "bodies without joints") != 0)
        for (int rule = 0; rule < 2; rule++) scene_labels(scene, scene->kind == TGT_CONFORM_PAIR, (tgContactRule)rule);
}

static void test_ties(void **state) {
  (void)state;
  for (const tgtConformScene *scene = tgt_conform_ties; scene->name != NULL; scene++) {
    tgtLabels t = scene_labels(scene, false, TG_RULE_TOUCHING);
    check_true((t.kinks > 0) == (scene->kind != TGT_CONFORM_SMOOTH), "%s: %d states show a kink", scene->name, t.kinks);
    // what is one face at the start of a step may be two edges at its end, where rows of `closing` are
    t = scene_labels(scene, false, TG_RULE_CLOSING);
    check_true(t.kinks > 0 || scene->kind == TGT_CONFORM_SMOOTH, "%s: no state shows a kink", scene->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes), cmocka_unit_test(test_ties)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
