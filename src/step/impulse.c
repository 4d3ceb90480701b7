// impulse.c: see impulse.h.
#include "step/impulse.h"

#include "dyn/dynamics.h"

void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out) {
  if (out != x)
    for (int d = 0; d < s->m.nv; d++) out[d] = x[d];
  tgi_factor_solve(&s->m, s->L, out);
}

void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out) {
  int nv = s->m.nv;
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *J = s->row_J + (size_t)i * (size_t)nv;
    tgReal sum = 0;
    for (int d = 0; d < nv; d++) sum += J[d] * x[d];
    out[i] = sum;
  }
}

void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out) {
  int nv = s->m.nv;
  for (int d = 0; d < nv; d++) out[d] = 0;
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *J = s->row_J + (size_t)i * (size_t)nv;
    for (int d = 0; d < nv; d++) out[d] += f[i] * J[d];
  }
}

// vhat = v + h Mh^-1 (tau - c - h K v)
static tgStatus free_velocity(tgSim *s, double h) {
  const tgModel *m = &s->m;
  bool implicit = s->contact_model == NULL || !s->contact_model->options.explicit_damping;
  tgi_step_matrix(s, h, implicit);
  if (!tgi_factor(m, s->Mh, s->L))
    return tgi_error(&s->error, TG_ERR_INVALID,
                     "The mass matrix is not positive definite at this pose; look for bodies without mass or inertia that a joint moves.");
  for (int d = 0; d < m->nv; d++)
    s->vhat[d] = h * (s->tau[d] - s->bias[d] - h * tgi_implicit_stiffness(s, d) * s->v0[d]);
  tgi_factor_solve(m, s->L, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] += s->v0[d];
  return TG_OK;
}

// row_MiJ = J Mh^-1, A = J Mh^-1 J', b
static void assemble(tgSim *s) {
  int nv = s->m.nv, n = s->nrow;
  for (int i = 0; i < n; i++) tgi_impulse_solve(s, s->row_J + (size_t)i * (size_t)nv, s->row_MiJ + (size_t)i * (size_t)nv);
  for (int i = 0; i < n; i++) {
    const tgReal *J = s->row_J + (size_t)i * (size_t)nv;
    for (int k = 0; k <= i; k++) {
      const tgReal *X = s->row_MiJ + (size_t)k * (size_t)nv;
      tgReal sum = 0;
      for (int d = 0; d < nv; d++) sum += J[d] * X[d];
      s->row_A[(size_t)i * (size_t)n + (size_t)k] = s->row_A[(size_t)k * (size_t)n + (size_t)i] = sum;
    }
  }
  tgi_rows_mul(s, s->vhat, s->row_b);
  for (int i = 0; i < n; i++) s->row_b[i] += s->row_bounce[i] * s->row_b[i] + tgi_gap_rate(s, i) * s->row_gap[i];
}

tgStatus tgi_impulse_velocity(tgSim *s, double h) {
  const tgModel *m = &s->m;
  TG_TRY(free_velocity(s, h));
  for (int d = 0; d < m->nv; d++) s->v1[d] = s->vhat[d];
  s->nrow = 0;
  s->ncon = 0;
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(s->contact_model->kind->rows(s, h));
  if (s->nrow == 0) return TG_OK;
  assemble(s);
  tgStatus status = s->contact_model->kind->impulses(s);
  if (status != TG_OK) return status;
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *X = s->row_MiJ + (size_t)i * (size_t)m->nv;
    for (int d = 0; d < m->nv; d++) s->v1[d] += s->row_f[i] * X[d];
  }
  return TG_OK;
}
