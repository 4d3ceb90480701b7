// label_check.h: the derivatives of a step from the left and from the right, and the label of its gradient.
//
// Differences use steps of the size of the tie tolerances (gaps 1e-9, speeds and impulses 1e-9 relative), so what they
// see is the tie of the state.
#ifndef TG_TEST_LABEL_CHECK_H
#define TG_TEST_LABEL_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "support/kink.h"

// size of the differences
static const double tgt_tie_size = 2e-9;

typedef struct tgtLabels { int states, kinks, exact; } tgtLabels;

/// The state of the sim is labelled and probed: never exact where the two sides differ, never a tie without a reason.
static inline void tgt_judge(tgSim *s, double h, const char *what, int k, tgtLabels *t) {
  tgGradInfo info;
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(2 * s->m.nv * (2 * s->m.nv + s->m.nu)));
  tgReal *state = malloc(sizeof(tgReal) * (size_t)(s->m.nq + s->m.nv));
  memcpy(state, s->qpos, sizeof(tgReal) * (size_t)s->m.nq);
  memcpy(state + s->m.nq, s->qvel, sizeof(tgReal) * (size_t)s->m.nv);
  tgStatus status = tg_sim_step(s, h, NULL);
  check_true(status == TG_OK, "%s %d: %s", what, k, s->error.text);
  tg_sim_freeze_memory(s, true);
  memcpy(s->qpos, state, sizeof(tgReal) * (size_t)s->m.nq);
  memcpy(s->qvel, state + s->m.nq, sizeof(tgReal) * (size_t)s->m.nv);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
  memcpy(s->qpos, state, sizeof(tgReal) * (size_t)s->m.nq);
  memcpy(s->qvel, state + s->m.nq, sizeof(tgReal) * (size_t)s->m.nv);
  double jump = 0;
  status = tgt_jump(s, h, tgt_tie_size, 0, NULL, &jump);
  check_true(status == TG_OK, "%s", s->error.text);
  tg_sim_freeze_memory(s, false);
  bool kinked = jump > TGT_KINK;
  check_true(!kinked || info.label != TG_GRAD_EXACT, "%s %d: left and right derivatives differ by %.3g of the largest, label exact", what,
             k, jump);
  check_true(info.label == TG_GRAD_EXACT || (info.ties > 0 && info.reason[0] != '\0'), "%s %d: a tie without a reason", what, k);
  t->states++;
  t->kinks += kinked;
  t->exact += info.label == TG_GRAD_EXACT;
  free(D);
  free(state);
}

#endif
