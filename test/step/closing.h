// closing.h: sims under the rule `closing` of lcp, for its tests.
#ifndef TG_TEST_STEP_CLOSING_H
#define TG_TEST_STEP_CLOSING_H

#include "support/rig.h"
#include "tangere/lcp.h"
#include "tangere/param.h"
#include "tangere/step.h"

#define FLOOR "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\"0.5\"/>"
static const char *const box = "<mujoco><worldbody>" FLOOR "<body name=\"box\" pos=\"0 0 0.1\"><freejoint/>"
                               "<geom type=\"box\" size=\"0.1 0.15 0.1\" mass=\"2\" friction=\"0.5\"/></body></worldbody></mujoco>";

// every geom with restitution e
static inline Rig closing(const char *xml, double e) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  Rig r = rig_of_text(xml, "lcp", &o.of);
  int rows, cols;
  tgReal *x = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
  return r;
}

// info: of the last step, but for its impacts, which are those of all
static inline void run(Rig *r, double h, int steps, tgStepInfo *info) {
  int impacts = 0;
  for (int t = 0; t < steps; t++) {
    tgStatus status = tg_sim_step_growing(r->s, h, info);
    check_true(status == TG_OK, "step %d: %s", t, tg_sim_error(r->s)->text);
    impacts += info->nimpact;
  }
  info->nimpact = impacts;
}

#endif
