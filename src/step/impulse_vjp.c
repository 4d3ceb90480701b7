// impulse_vjp.c: the adjoint of an impulse step, exact. Shares no derivative code with impulse_jacobian.c.
//
// Based on: [math/lcp Derivative], with damping and stiffness implicit.
//   Balance of the step, a = (v' - v)/h:   ID(q, v, a) - tau + h K v + (h D + h^2 K) a - J' f/h = 0.
//   g = dv' at held free impulses f_K:
//     g_q = -h Mh^-1 [dID/dq - dtau/dq] + Mh^-1 d(J' f)/dq,
//     g_v = 1 - h Mh^-1 [dID/dv - dtau/dv + h K],   g_u = h Mh^-1 dtau/du;
//   r = J g + (dJ) v' + e (J dvhat + (dJ) vhat) + erp/h dgap,   df = S r (+ N (dA beta)),   dv' = g + Mh^-1 J' df,
//   S and N are the contact model's (solve_jvp, null_part). vhat has the same balance with f = 0.
#include "step/impulse.h"

#include "dyn/dynamics.h"

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
}

// adjoint of the smooth balance: x = dL/d(v' at held f), lambda = Mh^-1 x, a of that motion; adds to gq, gv, gu
static tgStatus balance_vjp(tgSim *s, const tgReal *a, const tgReal *x, const tgReal *lambda, tgReal *gq, tgReal *gv,
                            tgReal *gu, int *ties) {
  int nv = s->m.nv;
  double h = s->h;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv);
  if (w == NULL) return short_scratch(s);
  for (int d = 0; d < nv; d++) w[d] = -h * lambda[d];
  TG_TRY(tgi_inverse_vjp(s, a, NULL, w, gq, gv));
  for (int d = 0; d < nv; d++) w[d] = h * lambda[d];
  TG_TRY(tgi_forces_vjp(s, s->q0, s->v0, w, gq, gv, gu, ties));
  for (int d = 0; d < nv; d++) gv[d] += x[d] - h * h * tgi_implicit_stiffness(s, d) * lambda[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// alpha' dA beta with A = J Mh^-1 J':  X = Mh^-1 J' beta, Y = Mh^-1 J' alpha:
//   alpha' dJ X + beta' dJ Y - Y' dM X;   M x = ID(q, v, x) - ID(q, v, 0)
static tgStatus response_vjp(tgSim *s, const tgReal *alpha, const tgReal *beta, tgReal *gq) {
  const tgContactModel *k = s->contact_model->kind;
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *X = tgi_stack_real(s, (size_t)nv), *Y = tgi_stack_real(s, (size_t)nv), *zero = tgi_stack_real(s, (size_t)nv);
  if (X == NULL || Y == NULL || zero == NULL) return short_scratch(s);
  tgi_rows_tmul(s, beta, X);
  tgi_impulse_solve(s, X, X);
  tgi_rows_tmul(s, alpha, Y);
  tgi_impulse_solve(s, Y, Y);
  k->rows_vjp(s, alpha, X, gq);
  k->rows_vjp(s, beta, Y, gq);
  for (int d = 0; d < nv; d++) zero[d] = 0;
  TG_TRY(tgi_inverse_vjp(s, zero, NULL, Y, gq, NULL));
  for (int d = 0; d < nv; d++) Y[d] = -Y[d];
  TG_TRY(tgi_inverse_vjp(s, X, NULL, Y, gq, NULL));
  tgi_stack_free(s, mark);
  return TG_OK;
}

// what bouncing rows add: y_i e_i (J_i dvhat + dJ_i vhat)
static tgStatus bounce_vjp(tgSim *s, const tgReal *y, tgReal *gq, tgReal *gv, tgReal *gu, int *ties) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *ye = tgi_stack_real(s, (size_t)s->nrow), *x = tgi_stack_real(s, (size_t)nv), *lambda = tgi_stack_real(s, (size_t)nv),
         *a = tgi_stack_real(s, (size_t)nv);
  if (ye == NULL || x == NULL || lambda == NULL || a == NULL) return short_scratch(s);
  for (int i = 0; i < s->nrow; i++) ye[i] = y[i] * s->row_bounce[i];
  tgi_rows_tmul(s, ye, x);
  tgi_impulse_solve(s, x, lambda);
  tgi_mean_acceleration(s, s->vhat, a);
  TG_TRY(balance_vjp(s, a, x, lambda, gq, gv, gu, ties));
  s->contact_model->kind->rows_vjp(s, ye, s->vhat, gq);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// rows: y = dL/dr and what hangs on it; x becomes z + J' y
static tgStatus rows_vjp(tgSim *s, const tgReal *z, tgReal *x, tgReal *gq, tgReal *gv, tgReal *gu, int *ties) {
  const tgContactModel *k = s->contact_model->kind;
  int nv = s->m.nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, (size_t)n), *y = tgi_stack_real(s, (size_t)n), *beta = tgi_stack_real(s, (size_t)n),
         *lambda = tgi_stack_real(s, (size_t)nv);
  if (g == NULL || y == NULL || beta == NULL || lambda == NULL) return short_scratch(s);
  // dL/df = J Mh^-1 z
  tgi_impulse_solve(s, z, lambda);
  tgi_rows_mul(s, lambda, g);
  k->solve_vjp(s, g, y);
  if (k->null_part(s, beta)) {
    tgReal *alpha = tgi_stack_real(s, (size_t)n);
    if (alpha == NULL) return short_scratch(s);
    k->null_vjp(s, g, alpha);
    TG_TRY(response_vjp(s, alpha, beta, gq));
  }
  tgi_rows_tmul(s, y, x);
  for (int d = 0; d < nv; d++) x[d] += z[d];
  // y'(dJ) v', y' erp/h dgap, and lambda' d(J' f) = f' (dJ) lambda with the final lambda
  k->rows_vjp(s, y, s->v1, gq);
  for (int i = 0; i < n; i++) g[i] = y[i] * tgi_gap_rate(s, i);
  k->gap_vjp(s, g, gq);
  tgi_impulse_solve(s, x, lambda);
  k->rows_vjp(s, s->row_f, lambda, gq);
  if (tgi_any_bounce(s)) TG_TRY(bounce_vjp(s, y, gq, gv, gu, ties));
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus impulse_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, int *ties) {
  int nv = s->m.nv;
  tgReal *x = tgi_stack_real(s, (size_t)nv), *lambda = tgi_stack_real(s, (size_t)nv), *a = tgi_stack_real(s, (size_t)nv);
  if (x == NULL || lambda == NULL || a == NULL) return short_scratch(s);
  for (int d = 0; d < nv; d++) x[d] = z[d];
  if (s->nrow > 0 && !tgi_no_contact_gradient(s)) TG_TRY(rows_vjp(s, z, x, gq, gv, gu, ties));
  tgi_impulse_solve(s, x, lambda);
  tgi_mean_acceleration(s, s->v1, a);
  return balance_vjp(s, a, x, lambda, gq, gv, gu, ties);
}

tgStatus tgi_impulse_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, int *ties) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = impulse_vjp(s, z, gq, gv, gu, ties);
  tgi_stack_free(s, mark);
  return status;
}
