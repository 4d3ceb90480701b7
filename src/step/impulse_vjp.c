// impulse_vjp.c: the adjoint of an impulse step, exact. Shares no derivative code with impulse_jacobian.c.
//
// Based on: [math/lcp Derivative], with damping and stiffness implicit.
//   Balance of the step, a = (v' - v)/h:   ID(q, v, a) - tau + h K v + (h D + h^2 K) a - J' f/h = 0.
//   g = dv' at held free impulses f_K:
//     g_q = -h Mh^-1 [dID/dq - dtau/dq] + Mh^-1 d(J' f)/dq,
//     g_v = 1 - h Mh^-1 [dID/dv - dtau/dv + h K],   g_u = h Mh^-1 dtau/du;
//   r = J g + (dJ) v' + e (J dvhat + (dJ) vhat) + erp/h dgap,   df = S r (+ N (dA beta)),   dv' = g + Mh^-1 J' df,
//   S and N are the contact model's (solve_jvp, null_part). vhat has the same balance with f = 0.
// A parameter enters the balance as q does, and where it acts on rows, their gaps, bounds and bounces [math/lcp Parameters].
#include "contact/rows.h"
#include "step/impulse.h"

#include "dyn/dynamics.h"

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
}

// where the derivative goes, everything added; gu and p may be NULL
typedef struct Out { tgReal *gq, *gv, *gu; tgParamGrad *p; int *clamps; } Out;

// Parameters of the balance that neither inverse dynamics nor the forces hold: what is taken at the step's end, and h. With u the velocity
// after the step,  Mh (u - v) = h (tau - c) - h^2 K v,  Mh = M + h D + h^2 K.
static void balance_parameters(const tgSim *s, const tgReal *u, const tgReal *lambda, tgParamGrad *p) {
  const tgModel *m = &s->m;
  bool implicit = !tgi_explicit_damping(s);
  double h = s->h;
  tgReal rate = 0;
  for (int d = 0; d < m->nv; d++) {
    tgReal change = u[d] - s->start.vel[d];
    rate += lambda[d] * (s->tau[d] - s->bias[d]);
    if (!implicit) continue;
    rate -= lambda[d] * (2 * h * tgi_implicit_stiffness(s, d) * u[d] + m->dof_damping[d] * change);
    if (p->dof_damping != NULL) p->dof_damping[d] -= h * lambda[d] * change;
    if (p->jnt_stiffness != NULL) p->jnt_stiffness[m->dof_jnt[d]] -= h * h * lambda[d] * u[d];
  }
  if (p->opt_timestep != NULL) p->opt_timestep[0] += rate;
}

// adjoint of the smooth balance: x = dL/d(v' at held f), lambda = Mh^-1 x, u the velocity v' that it gives (v1 or vhat)
static tgStatus balance_vjp(tgSim *s, const tgReal *u, const tgReal *x, const tgReal *lambda, const Out *o) {
  int nv = s->m.nv;
  double h = s->h;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv), *a = tgi_stack_real(s, (size_t)nv);
  if (w == NULL || a == NULL) return short_scratch(s);
  tgi_mean_acceleration(s, u, a);
  for (int d = 0; d < nv; d++) w[d] = -h * lambda[d];
  TG_TRY(tgi_inverse_vjp(s, &s->start, a, NULL, w, o->gq, o->gv, o->p));
  for (int d = 0; d < nv; d++) w[d] = h * lambda[d];
  TG_TRY(tgi_forces_vjp(s, &s->start, s->start.q, s->start.vel, w, o->gq, o->gv, o->gu, o->p, o->clamps));
  for (int d = 0; d < nv; d++) o->gv[d] += x[d] - h * h * tgi_implicit_stiffness(s, d) * lambda[d];
  if (o->p != NULL) balance_parameters(s, u, lambda, o->p);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// alpha' dA beta with A = J Mh^-1 J':  X = Mh^-1 J' beta, Y = Mh^-1 J' alpha:
//   alpha' dJ X + beta' dJ Y - Y' dMh X;   M x = ID(q, v, x) - ID(q, v, 0)
static tgStatus response_vjp(tgSim *s, const tgReal *alpha, const tgReal *beta, const Out *o) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  double h = s->h;
  size_t mark = tgi_stack_mark(s);
  tgReal *X = tgi_stack_real(s, (size_t)nv), *Y = tgi_stack_real(s, (size_t)nv), *zero = tgi_stack_real(s, (size_t)nv);
  if (X == NULL || Y == NULL || zero == NULL) return short_scratch(s);
  tgi_rows_tmul(s, beta, X);
  tgi_impulse_solve(s, X, X);
  tgi_rows_tmul(s, alpha, Y);
  tgi_impulse_solve(s, Y, Y);
  tgi_rows_vjp(s, &s->start, alpha, X, o->gq, o->p);
  tgi_rows_vjp(s, &s->start, beta, Y, o->gq, o->p);
  for (int d = 0; d < nv; d++) zero[d] = 0;
  TG_TRY(tgi_inverse_vjp(s, &s->start, zero, NULL, Y, o->gq, NULL, o->p));
  for (int d = 0; d < nv; d++) Y[d] = -Y[d];
  TG_TRY(tgi_inverse_vjp(s, &s->start, X, NULL, Y, o->gq, NULL, o->p));
  for (int d = 0; d < nv && o->p != NULL && !tgi_explicit_damping(s); d++) {
    tgReal YX = Y[d] * X[d];
    if (o->p->dof_damping != NULL) o->p->dof_damping[d] += h * YX;
    if (o->p->jnt_stiffness != NULL) o->p->jnt_stiffness[m->dof_jnt[d]] += h * h * YX;
    if (o->p->opt_timestep != NULL) o->p->opt_timestep[0] += (m->dof_damping[d] + 2 * h * tgi_implicit_stiffness(s, d)) * YX;
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// what bouncing rows add: y_i e_i (J_i dvhat + dJ_i vhat) + y_i de_i J_i vhat
static tgStatus bounce_vjp(tgSim *s, const tgReal *y, const Out *o) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *ye = tgi_stack_real(s, (size_t)s->nrow), *x = tgi_stack_real(s, (size_t)nv), *lambda = tgi_stack_real(s, (size_t)nv);
  if (ye == NULL || x == NULL || lambda == NULL) return short_scratch(s);
  if (o->p != NULL) {
    tgi_rows_mul(s, s->vhat, ye);
    for (int i = 0; i < s->nrow; i++) ye[i] *= y[i] * tgi_bounce_share(s, i);
    tgi_rows_bounce_parameters(s, ye, o->p);
  }
  for (int i = 0; i < s->nrow; i++) ye[i] = y[i] * s->rows->bounce[i];
  tgi_rows_tmul(s, ye, x);
  tgi_impulse_solve(s, x, lambda);
  TG_TRY(balance_vjp(s, s->vhat, x, lambda, o));
  tgi_rows_vjp(s, &s->start, ye, s->vhat, o->gq, o->p);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Rows at a bound, f_i = side * limit_i f_parent (or side * limit_i): x = dL/df of rows held there; with redundant rows also
// alpha' dA beta at held f, whose rows P' of the parents see the limits too.
static tgStatus limits_vjp(tgSim *s, const tgReal *x, const tgReal *alpha, const tgReal *beta, tgParamGrad *p) {
  int n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, (size_t)n), *Ab = tgi_stack_real(s, (size_t)n), *v = tgi_stack_real(s, (size_t)s->m.nv);
  if (g == NULL || Ab == NULL || v == NULL) return short_scratch(s);
  if (alpha != NULL) {
    tgi_rows_tmul(s, beta, v);
    tgi_impulse_solve(s, v, v);
    tgi_rows_mul(s, v, Ab);
  }
  for (int i = 0; i < n; i++) {
    int side = s->contact_model->kind->rows->side(s, i), parent = s->rows->parent[i];
    g[i] = side * (parent >= 0 ? s->rows->f[parent] : 1) * x[i];
    if (alpha != NULL && parent >= 0) g[i] += side * alpha[parent] * Ab[i];
  }
  tgi_rows_limit_parameters(s, g, p);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// rows: y = dL/dr and what hangs on it; x becomes z + J' y
static tgStatus rows_vjp(tgSim *s, const tgReal *z, tgReal *x, const Out *o) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  int nv = s->m.nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, (size_t)n), *y = tgi_stack_real(s, (size_t)n), *beta = tgi_stack_real(s, (size_t)n),
         *alpha = NULL, *lambda = tgi_stack_real(s, (size_t)nv);
  if (g == NULL || y == NULL || beta == NULL || lambda == NULL) return short_scratch(s);
  // dL/df = J Mh^-1 z
  tgi_impulse_solve(s, z, lambda);
  tgi_rows_mul(s, lambda, g);
  k->solve_vjp(s, g, y);
  if (tgi_impulse_options(s)->aware_gradient && !s->no_aware_adjoint) k->aware_adjoint(s, z, lambda, g, y);
  if (k->null_part(s, beta)) {
    alpha = tgi_stack_real(s, (size_t)n);
    if (alpha == NULL) return short_scratch(s);
    k->null_vjp(s, g, alpha);
    TG_TRY(response_vjp(s, alpha, beta, o));
  }
  tgi_rows_tmul(s, y, x);
  for (int d = 0; d < nv; d++) x[d] += z[d];
  // y'(dJ) v', y' erp/h dgap, and lambda' d(J' f) = f' (dJ) lambda with the final lambda
  tgi_rows_vjp(s, &s->start, y, s->end.vel, o->gq, o->p);
  for (int i = 0; i < n; i++) g[i] = y[i] * tgi_gap_rate(s, i);
  tgi_rows_gap_vjp(s, &s->start, g, o->gq, o->p);
  if (o->p != NULL && o->p->opt_timestep != NULL)
    for (int i = 0; i < n; i++) o->p->opt_timestep[0] -= g[i] * s->rows->gap[i] / s->h;
  tgi_impulse_solve(s, x, lambda);
  tgi_rows_vjp(s, &s->start, s->rows->f, lambda, o->gq, o->p);
  if (o->p != NULL) {
    tgi_rows_mul(s, lambda, g);
    TG_TRY(limits_vjp(s, g, alpha, beta, o->p));
  }
  if (tgi_any_bounce(s)) TG_TRY(bounce_vjp(s, y, o));
  if (o->p != NULL) TG_TRY(tgi_rows_size_parameters(s, &s->start, o->p));
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus impulse_vjp(tgSim *s, const tgReal *z, const Out *o) {
  int nv = s->m.nv;
  tgReal *x = tgi_stack_real(s, (size_t)nv), *lambda = tgi_stack_real(s, (size_t)nv);
  if (x == NULL || lambda == NULL) return short_scratch(s);
  for (int d = 0; d < nv; d++) x[d] = z[d];
  if (s->nrow > 0 && !tgi_no_contact_gradient(s)) TG_TRY(rows_vjp(s, z, x, o));
  tgi_impulse_solve(s, x, lambda);
  TG_TRY(balance_vjp(s, s->end.vel, x, lambda, o));
  if (o->p != NULL) tgi_place_vjp(s, &s->start, o->p, NULL);
  return TG_OK;
}

tgStatus tgi_impulse_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  Out o = {.gq = gq, .gv = gv, .gu = gu, .p = p, .clamps = clamps};
  tgStatus status = impulse_vjp(s, z, &o);
  tgi_stack_free(s, mark);
  return status;
}
