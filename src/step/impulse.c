// impulse.c: see impulse.h.
#include "step/impulse.h"

#include "contact/islands.h"
#include "dyn/dynamics.h"

void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out) {
  if (out != x)
    for (int d = 0; d < s->m.nv; d++) out[d] = x[d];
  tgi_factor_solve(&s->m, s->L, out);
}

// sum over the dofs that the row acts on
static inline tgReal row_dot(const tgSim *s, int i, const tgReal *J, const tgReal *x) {
  const int *span = s->row_span + 4 * i;
  tgReal sum = 0;
  for (int d = span[0]; d < span[1]; d++) sum += J[d] * x[d];
  for (int d = span[2]; d < span[3]; d++) sum += J[d] * x[d];
  return sum;
}
static inline void row_add(const tgSim *s, int i, tgReal f, const tgReal *J, tgReal *x) {
  const int *span = s->row_span + 4 * i;
  for (int d = span[0]; d < span[1]; d++) x[d] += f * J[d];
  for (int d = span[2]; d < span[3]; d++) x[d] += f * J[d];
}

void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) out[i] = row_dot(s, i, s->row_J + (size_t)i * (size_t)s->m.nv, x);
}

void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int d = 0; d < s->m.nv; d++) out[d] = 0;
  for (int i = 0; i < s->nrow; i++) row_add(s, i, f[i], s->row_J + (size_t)i * (size_t)s->m.nv, out);
}

void tgi_rows_respond(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) row_add(s, i, f[i], s->row_MiJ + (size_t)i * (size_t)s->m.nv, out);
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

// X = J Mh^-1 of one row: nothing leaves the trees that it acts on
static void respond(tgSim *s, int i) {
  const int nv = s->m.nv, *span = s->row_span + 4 * i;
  const tgReal *J = s->row_J + (size_t)i * (size_t)nv;
  tgReal *X = s->row_MiJ + (size_t)i * (size_t)nv;
  for (int d = 0; d < nv; d++) X[d] = J[d];
  tgi_factor_solve_range(&s->m, s->L, span[0], span[1], X);
  tgi_factor_solve_range(&s->m, s->L, span[2], span[3], X);
}

// J_i X_k over the dofs that both act on
static tgReal response(const tgSim *s, int i, int k) {
  const int nv = s->m.nv, *a = s->row_span + 4 * i, *b = s->row_span + 4 * k;
  const tgReal *J = s->row_J + (size_t)i * (size_t)nv, *X = s->row_MiJ + (size_t)k * (size_t)nv;
  tgReal sum = 0;
  for (int u = 0; u < 4; u += 2)
    for (int v = 0; v < 4; v += 2) {
      int from = a[u] > b[v] ? a[u] : b[v], to = a[u + 1] < b[v + 1] ? a[u + 1] : b[v + 1];
      for (int d = from; d < to; d++) sum += J[d] * X[d];
    }
  return sum;
}

// row_MiJ = J Mh^-1, A = J Mh^-1 J' island by island, b
static void assemble(tgSim *s) {
  int n = s->nrow;
  for (int i = 0; i < n; i++) respond(s, i);
  for (int island = 0; island < s->nisland; island++) {
    int nk = tgi_island_rows(s, island);
    const int *row = s->island_row + s->island_adr[island];
    tgReal *A = s->row_A + s->island_at[island];
    for (int i = 0; i < nk; i++)
      for (int k = 0; k <= i; k++)
        A[(size_t)i * (size_t)nk + (size_t)k] = A[(size_t)k * (size_t)nk + (size_t)i] = response(s, row[i], row[k]);
  }
  tgi_rows_mul(s, s->vhat, s->row_b);
  for (int i = 0; i < n; i++) {
    s->row_rate[i] = tgRe(s->row_bounce[i]) != 0 ? 0 : s->contact_model->options.erp / s->h;
    s->row_b[i] += s->row_bounce[i] * s->row_b[i] + s->row_rate[i] * s->row_gap[i];
  }
}

tgStatus tgi_impulse_velocity(tgSim *s, double h) {
  const tgModel *m = &s->m;
  TG_TRY(free_velocity(s, h));
  for (int d = 0; d < m->nv; d++) s->v1[d] = s->vhat[d];
  s->nrow = 0;
  s->ncon = 0;
  s->nisland = 0;
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(s->contact_model->kind->rows(s, h));
  if (s->nrow == 0) return TG_OK;
  tgi_trees(s);
  tgi_islands(s);
  assemble(s);
  tgStatus status = s->contact_model->kind->impulses(s);
  if (status != TG_OK) return status;
  tgi_rows_respond(s, s->row_f, s->v1);
  return TG_OK;
}
