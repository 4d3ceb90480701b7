// impulse_jacobian.c: the dense derivative of an impulse step, exact, by the formulas at the head of impulse_vjp.c, written apart.
//
// Based on: [math/lcp Derivative].
#include "step/impulse.h"

#include "dyn/dynamics.h"

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
}

// g (nv x nc): dv of the balance at held impulses for the motion v (v1 with the rows' forces, or vhat without)
static tgStatus balance_jacobian(tgSim *s, const tgReal *v, const tgReal *f, tgReal *g, int *ties) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nc = 2 * nv + nu;
  double h = s->h;
  size_t mark = tgi_stack_mark(s), nn = (size_t)nv * (size_t)nv;
  tgReal *a = tgi_stack_real(s, (size_t)nv), *Iq = tgi_stack_real(s, nn), *Iv = tgi_stack_real(s, nn), *Tq = tgi_stack_real(s, nn),
         *Tv = tgi_stack_real(s, nn), *Tu = tgi_stack_real(s, (size_t)nv * (size_t)(nu > 0 ? nu : 1)), *X = NULL;
  if (a == NULL || Iq == NULL || Iv == NULL || Tq == NULL || Tv == NULL || Tu == NULL) return short_scratch(s);
  tgi_mean_acceleration(s, v, a);
  if (f != NULL) {
    X = tgi_stack_real(s, 6 * (size_t)m->nbody);
    tgReal *f_h = tgi_stack_real(s, (size_t)s->nrow);
    if (X == NULL || f_h == NULL) return short_scratch(s);
    for (int i = 0; i < s->nrow; i++) f_h[i] = f[i] / h;
    s->contact_model->kind->wrench(s, f_h, X);
  }
  TG_TRY(tgi_inverse_d(s, a, X, Iq, Iv));
  TG_TRY(tgi_forces_d(s, s->q0, s->v0, Tq, Tv, Tu, ties));
  // right-hand sides, scaled by h; solved in place below
  for (size_t i = 0; i < nn; i++) {
    Iq[i] = h * (Tq[i] - Iq[i]);
    Iv[i] = h * (Tv[i] - Iv[i]);
  }
  for (int d = 0; d < nv; d++) Iv[d * nv + d] -= h * h * tgi_implicit_stiffness(s, d);
  if (f != NULL) TG_TRY(s->contact_model->kind->force_jacobian(s, f, Iq));
  for (int d = 0; d < nv; d++)
    for (int c = 0; c < nc; c++)
      g[d * nc + c] = c < nv ? Iq[d * nv + c] : c < 2 * nv ? Iv[d * nv + c - nv] : h * Tu[d * nu + c - 2 * nv];
  tgi_factor_solve_rows(m, s->L, nc, g);
  for (int d = 0; d < nv; d++) g[d * nc + nv + d] += 1;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// X (nrow x nv) = (dA) beta for each dof, A = J Mh^-1 J', M from inverse dynamics with and without the acceleration
static tgStatus response_jacobian(tgSim *s, const tgReal *beta, tgReal *X) {
  const tgModel *m = &s->m;
  const tgContactModel *k = s->contact_model->kind;
  int nv = m->nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s), nn = (size_t)nv * (size_t)nv;
  tgReal *a = tgi_stack_real(s, (size_t)nv), *zero = tgi_stack_real(s, (size_t)nv), *R = tgi_stack_real(s, nn),
         *R0 = tgi_stack_real(s, nn), *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (a == NULL || zero == NULL || R == NULL || R0 == NULL || wrench == NULL) return short_scratch(s);
  tgi_rows_tmul(s, beta, a);
  tgi_impulse_solve(s, a, a);
  for (int d = 0; d < nv; d++) zero[d] = 0;
  k->wrench(s, beta, wrench);
  TG_TRY(tgi_inverse_d(s, a, wrench, R, NULL));
  TG_TRY(tgi_inverse_d(s, zero, NULL, R0, NULL));
  // R = d(J' beta) - dM a
  for (size_t i = 0; i < nn; i++) R[i] = R0[i] - R[i];
  TG_TRY(k->force_jacobian(s, beta, R));
  k->rows_jacobian(s, a, X);
  for (int j = 0; j < nv; j++) {
    for (int d = 0; d < nv; d++) a[d] = R[d * nv + j];
    tgi_factor_solve(m, s->L, a);
    for (int i = 0; i < n; i++)
      for (int d = 0; d < nv; d++) X[i * nv + j] += s->row_J[i * nv + d] * a[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// R (nrow x nc) += scale_i J_i G + the q columns of scale_i dJ_i v
static void add_row_change(tgSim *s, const tgReal *scale, const tgReal *G, const tgReal *dJ, tgReal *R) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  for (int i = 0; i < s->nrow; i++) {
    tgReal e = scale != NULL ? scale[i] : 1, *r = R + (size_t)i * (size_t)nc;
    if (e == 0) continue;
    for (int d = 0; d < nv; d++) {
      tgReal J = e * s->row_J[i * nv + d];
      for (int c = 0; c < nc; c++) r[c] += J * G[d * nc + c];
    }
    for (int j = 0; j < nv; j++) r[j] += e * dJ[i * nv + j];
  }
}

// R = dr for all columns
static tgStatus residual_jacobian(tgSim *s, const tgReal *G, tgReal *R, int *ties) {
  const tgContactModel *k = s->contact_model->kind;
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *dJ = tgi_stack_real(s, (size_t)n * (size_t)nv);
  if (dJ == NULL) return short_scratch(s);
  for (int i = 0; i < n * nc; i++) R[i] = 0;
  k->rows_jacobian(s, s->v1, dJ);
  add_row_change(s, NULL, G, dJ, R);
  k->gap_jacobian(s, dJ);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < nv; j++) R[i * nc + j] += tgi_gap_rate(s, i) * dJ[i * nv + j];
  if (tgi_any_bounce(s)) {
    tgReal *free_motion = tgi_stack_real(s, (size_t)nv * (size_t)nc);
    if (free_motion == NULL) return short_scratch(s);
    TG_TRY(balance_jacobian(s, s->vhat, NULL, free_motion, ties));
    k->rows_jacobian(s, s->vhat, dJ);
    add_row_change(s, s->row_bounce, free_motion, dJ, R);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// D += Mh^-1 J' df
static tgStatus add_impulse_change(tgSim *s, tgReal *D, int *ties) {
  const tgContactModel *k = s->contact_model->kind;
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, n = s->nrow;
  tgReal *R = tgi_stack_real(s, (size_t)n * (size_t)nc), *r = tgi_stack_real(s, (size_t)n), *df = tgi_stack_real(s, (size_t)n),
         *X = NULL;
  if (R == NULL || r == NULL || df == NULL) return short_scratch(s);
  TG_TRY(residual_jacobian(s, D, R, ties));
  if (k->null_part(s, r)) {
    X = tgi_stack_real(s, (size_t)n * (size_t)nv);
    if (X == NULL) return short_scratch(s);
    TG_TRY(response_jacobian(s, r, X));
  }
  // R becomes df, column by column
  for (int c = 0; c < nc; c++) {
    for (int i = 0; i < n; i++) r[i] = R[i * nc + c];
    k->solve_jvp(s, r, df);
    if (X != NULL && c < nv) {
      for (int i = 0; i < n; i++) r[i] = X[i * nv + c];
      k->null_jvp(s, r, df);
    }
    for (int i = 0; i < n; i++) R[i * nc + c] = df[i];
  }
  for (int i = 0; i < n; i++)
    for (int d = 0; d < nv; d++) {
      tgReal w = s->row_MiJ[i * nv + d], *row = D + (size_t)d * (size_t)nc;
      for (int c = 0; c < nc; c++) row[c] += w * R[i * nc + c];
    }
  return TG_OK;
}

tgStatus tgi_impulse_jacobian(tgSim *s, tgReal *D, int *ties) {
  size_t mark = tgi_stack_mark(s);
  bool rows = s->nrow > 0 && !tgi_no_contact_gradient(s);
  tgStatus status = balance_jacobian(s, s->v1, rows ? s->row_f : NULL, D, ties);
  if (status >= 0 && rows) status = add_impulse_change(s, D, ties);
  tgi_stack_free(s, mark);
  return status;
}
