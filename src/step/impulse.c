// impulse.c: see impulse.h.
#include "contact/rows.h"
#include "step/impulse.h"

#include <string.h>

#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "math/combine.h"

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
  tgi_step_matrix(s, h, !tgi_explicit_damping(s));
  if (!tgi_factor(m, s->Mh, s->L))
    return tgi_error(&s->error, TG_ERR_INVALID,
                     "The mass matrix is not positive definite at this pose; look for bodies without mass or inertia that a joint moves.");
  for (int d = 0; d < m->nv; d++)
    s->vhat[d] = h * (s->tau[d] - s->bias[d] - h * tgi_implicit_stiffness(s, d) * s->v0[d]);
  tgi_factor_solve(m, s->L, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] += s->v0[d];
  return TG_OK;
}

// row_MiJ = J Mh^-1 and A = J Mh^-1 J' of an island, whose rows stand as columns: X (ndof x rows), padded to full vectors
static tgStatus assemble_island(tgSim *s, int island) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  int n = tgi_island_rows(s, island), width = (n + TGI_LANES - 1) / TGI_LANES * TGI_LANES, count = s->island_dofadr[island + 1] - s->island_dofadr[island];
  const int *row = s->island_row + s->island_adr[island], *dof = s->island_dof + s->island_dofadr[island];
  tgReal *X = tgi_stack_real(s, (size_t)count * (size_t)width + 1), *Ai = tgi_stack_real(s, (size_t)width), *w = tgi_stack_real(s, (size_t)count + 1),
         *A = s->row_A + s->island_at[island];
  int *at = tgi_stack_bytes(s, (nv + (size_t)count + 1) * sizeof *at), *used = at + nv;
  if (X == NULL || Ai == NULL || w == NULL || at == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  for (int k = 0; k < count; k++) {
    at[dof[k]] = k * width;
    for (int i = 0; i < width; i++) X[k * width + i] = i < n ? s->row_J[(size_t)row[i] * nv + (size_t)dof[k]] : 0;
  }
  tgi_factor_solve_rows_at(&s->m, s->L, count, dof, at, width, X);
  for (int i = 0; i < n; i++) {
    const tgReal *J = s->row_J + (size_t)row[i] * nv;
    tgReal *MiJ = s->row_MiJ + (size_t)row[i] * nv;
    int terms = 0;
    memset(MiJ, 0, nv * sizeof *MiJ);
    for (int k = 0; k < count; k++) {
      MiJ[dof[k]] = X[k * width + i];
      if (J[dof[k]] == 0) continue;
      w[terms] = J[dof[k]];
      used[terms++] = k * width;
    }
    memset(Ai, 0, (size_t)width * sizeof *Ai);
    tgi_combine(terms, w, used, X, width, Ai);
    for (int k = 0; k <= i; k++) A[(size_t)i * (size_t)n + (size_t)k] = A[(size_t)k * (size_t)n + (size_t)i] = Ai[k];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// row_MiJ, A island by island, b
static tgStatus assemble(tgSim *s) {
  int n = s->nrow;
  for (int island = 0; island < s->nisland; island++) TG_TRY(assemble_island(s, island));
  tgi_rows_mul(s, s->vhat, s->row_b);
  for (int i = 0; i < n; i++) {
    s->row_rate[i] = tgRe(s->row_bounce[i]) != 0 ? 0 : tgi_impulse_options(s)->erp / s->h;
    s->row_b[i] += s->row_bounce[i] * s->row_b[i] + s->row_rate[i] * s->row_gap[i];
  }
  return TG_OK;
}

tgStatus tgi_impulse_velocity(tgSim *s, double h, const void *record) {
  const tgModel *m = &s->m;
  TG_TRY(free_velocity(s, h));
  for (int d = 0; d < m->nv; d++) s->v1[d] = s->vhat[d];
  s->nrow = 0;
  s->ncon = 0;
  s->nisland = 0;
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(tgi_rows(s, &s->start, h));
  if (s->nrow == 0) return TG_OK;
  tgi_trees(s);
  tgi_islands(s);
  TG_TRY(assemble(s));
  const tgRowSolver *k = s->contact_model->kind->rows;
  tgStatus status = record != NULL ? k->recall(s, record) : k->solve(s);
  if (status != TG_OK) return status;
  tgi_rows_respond(s, s->row_f, s->v1);
  return TG_OK;
}
