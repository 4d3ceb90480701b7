// kink.h: derivatives of a step from the left and from the right, of a sim whose memory is frozen.
#ifndef TG_TEST_KINK_H
#define TG_TEST_KINK_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "support/check.h"

/// A difference between the two sides of more than this share of the largest derivative is a kink.
#define TGT_KINK 3e-3
enum { TGT_COORDINATES = 200 };

/// qpos, qvel, ctrl, one after the other
typedef struct tgtState { tgReal *x; } tgtState;

static inline void tgt_state_restore(tgSim *s, const tgtState *at) {
  size_t nq = (size_t)s->m.nq, nv = (size_t)s->m.nv;
  memcpy(s->qpos, at->x, nq * sizeof *at->x);
  memcpy(s->qvel, at->x + nq, nv * sizeof *at->x);
  memcpy(s->ctrl, at->x + nq + nv, (size_t)s->m.nu * sizeof *at->x);
}

static inline void tgt_state_save(const tgSim *s, tgtState *at) {
  size_t nq = (size_t)s->m.nq, nv = (size_t)s->m.nv;
  at->x = malloc((nq + nv + (size_t)s->m.nu + 1) * sizeof *at->x);
  memcpy(at->x, s->qpos, nq * sizeof *at->x);
  memcpy(at->x + nq, s->qvel, nv * sizeof *at->x);
  memcpy(at->x + nq + nv, s->ctrl, (size_t)s->m.nu * sizeof *at->x);
}

static inline void tgt_state_free(tgtState *at) { free(at->x); }

// The state moved by `by` along direction w (2 nv + nu) and stepped; v' and the mean velocity (q' (-) q)/h into y (2 nv). work: nv.
static inline tgStatus tgt_step_along(tgSim *s, double h, const tgtState *at, double by, const tgReal *w, tgReal *work, tgReal *y) {
  int nv = s->m.nv;
  tgt_state_restore(s, at);   // q, from which the mean velocity is taken, is the state itself
  for (int d = 0; d < nv; d++) work[d] = by * w[d];
  tg_model_integrate(s->model, at->x, work, s->qpos);
  for (int d = 0; d < nv; d++) s->qvel[d] += by * w[nv + d];
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] += by * w[2 * nv + i];
  tgStatus status = tg_sim_step_growing(s, h, NULL);
  if (status != TG_OK) return status;
  memcpy(y, s->qvel, (size_t)nv * sizeof *y);
  tg_model_difference(s->model, at->x, s->qpos, y + nv);
  for (int d = 0; d < nv; d++) y[nv + d] = (y[nv + d] - work[d]) / h;
  return TG_OK;
}

// Direction j: a coordinate of q, v or u, of u 500 of it as a control acts through h; then directions by chance.
static inline void tgt_direction_of(const tgSim *s, int j, tgtRandom *r, tgReal *w) {
  int nv = s->m.nv, nt = 2 * nv + s->m.nu;
  for (int i = 0; i < nt; i++) w[i] = j >= nt ? tgt_normal(r) : i != j ? 0 : i < 2 * nv ? 1 : 500;
}

/// The largest difference between the derivatives of v' and (q' (-) q)/h from the two sides, by steps of `size`, over that of the largest,
/// at least 1; along every coordinate, where these are at most TGT_COORDINATES, and `more` directions by chance. The state is put back.
static inline tgStatus tgt_jump(tgSim *s, double h, double size, int more, tgtRandom *r, double *jump) {
  int nv = s->m.nv, nt = 2 * nv + s->m.nu;
  double biggest = 0, most = 0;
  tgtState at;
  tgReal *w = malloc(sizeof *w * (size_t)(nt + 7 * nv + 1)), *work = w + nt, *y0 = work + nv, *y[2] = {y0 + 2 * nv, y0 + 4 * nv};
  tgt_state_save(s, &at);
  for (int i = 0; i < nt; i++) w[i] = 0;
  tgStatus status = tgt_step_along(s, h, &at, 0, w, work, y0);
  for (int j = nt <= TGT_COORDINATES ? 0 : nt; j < nt + more && status == TG_OK; j++) {
    double unit = j >= 2 * nv && j < nt ? 0.2 : 1;   // of a control by 100
    tgt_direction_of(s, j, r, w);
    for (int side = 0; side < 2 && status == TG_OK; side++)
      status = tgt_step_along(s, h, &at, side == 0 ? -size : size, w, work, y[side]);
    for (int d = 0; d < 2 * nv && status == TG_OK; d++) {
      double left = unit * tgRe(y0[d] - y[0][d]) / size, right = unit * tgRe(y[1][d] - y0[d]) / size;
      biggest = fmax(biggest, fmax(fabs(left), fabs(right)));
      most = fmax(most, fabs(right - left));
    }
  }
  tgt_state_restore(s, &at);
  tgt_state_free(&at);
  free(w);
  *jump = most / fmax(biggest, 1);
  return status;
}

#endif
