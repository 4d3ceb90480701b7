// trajectory_pose.c: where a stored motion is between its states. See tangere/replay.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "tangere/replay.h"

// the two poses around a time after state i, and when they are
typedef struct Leg { const double *from, *to; double start, end; } Leg;

static Leg leg_at(const tgTrajectory *t, size_t nq, int i, double h, double s) {
  Leg leg = {t->q + (size_t)i * nq, t->q + (size_t)(i + 1) * nq, 0, h};
  for (int k = t->between_offset != NULL ? t->between_offset[i] : 0; t->between_offset != NULL && k < t->between_offset[i + 1]; k++) {
    const double *q = t->between_q + (size_t)k * nq;
    if (t->between_time[k] > s) return (Leg){leg.from, q, leg.start, t->between_time[k]};
    leg.from = q;
    leg.start = t->between_time[k];
  }
  return leg;
}

tgStatus tg_trajectory_pose(const tgModel *m, const tgTrajectory *t, double h, double time, double *q) {
  if (m == NULL || t == NULL || q == NULL || t->q == NULL || !(h > 0)) return TG_ERR_ARG;
  if (!(time >= 0 && time <= t->steps * h * (1 + 1e-12))) return TG_ERR_ARG;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
  int i = (int)fmin(floor(time / h + 1e-9), t->steps - 1);
  if (t->steps == 0) {
    memcpy(q, t->q, nq * sizeof *q);
    return TG_OK;
  }
  Leg leg = leg_at(t, nq, i, h, time - i * h);
  double *d = malloc((nv + 1) * sizeof *d), length = leg.end - leg.start;
  if (d == NULL) return TG_ERR_MEMORY;
  double part = length > 0 ? fmin(fmax((time - i * h - leg.start) / length, 0), 1) : 1;
  tg_model_difference(m, leg.from, leg.to, d);
  for (size_t k = 0; k < nv; k++) d[k] *= part;
  tg_model_integrate(m, leg.from, d, q);
  free(d);
  return TG_OK;
}
