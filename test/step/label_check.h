// label_check.h: the derivatives of a step from the left and from the right, and the label of its gradient.
//
// Differences use steps of the size of the tie tolerances (gaps 1e-9, speeds and impulses 1e-9 relative), so what they
// see is the tie of the state.
#ifndef TG_TEST_LABEL_CHECK_H
#define TG_TEST_LABEL_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "support/check.h"

// largest gap between left and right derivatives relative to the largest entry, over all directions; memory is frozen
static inline double tgt_kink(tgSim *s, double h) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu;
  size_t state = (size_t)(m->nq + nv + nu);
  tgReal *x = malloc(sizeof(tgReal) * (2 * state + 5 * (size_t)(nv + 1) + (size_t)m->nq)), *q1 = x + state, *d = q1 + m->nq,
         *y0 = d + nv, *y[2] = {y0 + nv, y0 + 2 * nv}, *w = y0 + 3 * nv;
  double biggest = 0, jump = 0;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(y0, s->qvel, (size_t)nv * sizeof *x);
  for (int j = 0; j < nt; j++) {
    double size = j < 2 * nv ? 2e-9 : 1e-6;
    for (int side = 0; side < 2; side++) {
      double a = side == 0 ? -size : size;
      for (int i = 0; i < nv; i++) w[i] = i == j ? a : 0;
      tg_model_integrate(s->model, x, w, s->qpos);
      for (int i = 0; i < nv; i++) s->qvel[i] = x[m->nq + i] + (i == j - nv ? a : 0);
      for (int i = 0; i < nu; i++) s->ctrl[i] = x[m->nq + nv + i] + (i == j - 2 * nv ? a : 0);
      tgStatus status = tg_sim_step(s, h, NULL);
      check_true(status == TG_OK, "%s", s->error.text);
      for (int i = 0; i < nv; i++) y[side][i] = (s->qvel[i] - y0[i]) / a;
    }
    double scale = j < 2 * nv ? 1 : 100;   // a control acts through h
    for (int i = 0; i < nv; i++) {
      biggest = fmax(biggest, scale * fmax(fabs(tgRe(y[0][i])), fabs(tgRe(y[1][i]))));
      jump = fmax(jump, scale * fabs(tgRe(y[1][i] - y[0][i])));
    }
  }
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + nv, (size_t)nu * sizeof *x);
  free(x);
  return jump / fmax(biggest, 1);
}

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
  double jump = tgt_kink(s, h);
  tg_sim_freeze_memory(s, false);
  bool kinked = jump > 3e-3;
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
