// charts.h: gradients in exponential charts: what second derivatives are the rates of.
#ifndef TG_TEST_CHARTS_H
#define TG_TEST_CHARTS_H

#include <string.h>

#include "math/quat.h"
#include "sim/sim.h"
#include "step/objective.h"

// out (3) = J' in
static inline void transposed(const double *J, const double *in, double *out) {
  double t[3];
  tgi_m3_tmulv(t, J, in);
  tgi_v3_copy(out, t);
}

// g by the transpose of Jr, or of its inverse, of every rotation in w
static inline void through_charts(const tgModel *m, int inverse, const double *w, double *g) {
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    double J[9];
    if (d < 0) continue;
    if (inverse) tgi_so3_jr_inv(J, w + d); else tgi_so3_jr(J, w + d);
    transposed(J, g + d, g + d);
  }
}

static inline void set_moved(tgSim *s, const double *x, const double *d) {
  const tgModel *m = &s->m;
  tg_model_integrate(m, x, d, s->qpos);
  for (int i = 0; i < m->nv; i++) s->qvel[i] = x[m->nq + i] + d[m->nv + i];
  for (int i = 0; i < m->nu; i++) s->ctrl[i] = x[m->nq + m->nv + i] + d[2 * m->nv + i];
}

static inline void state_vector(const tgSim *s, double *x) {
  memcpy(x, s->qpos, (size_t)s->m.nq * sizeof *x);
  memcpy(x + s->m.nq, s->qvel, (size_t)s->m.nv * sizeof *x);
  memcpy(x + s->m.nq + s->m.nv, s->ctrl, (size_t)s->m.nu * sizeof *x);
}

#endif
