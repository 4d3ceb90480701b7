// midpoint_jacobian.c: the dense derivative of a step, forward. Shares no derivative code with midpoint_vjp.c beyond the contact forces'
// own.
//
// Based on: [math/damped Gradient]. F_V dV = -(F_q dq + F_v dv + F_u du), F_q = R_start + R_middle exp(-h V/2) + R_end exp(-h V);
//   dq' = exp(-h V) dq + h Jr(h V) dV,   dv' = (1 + r) dV - r dv.
#include "dyn/dynamics.h"
#include "step/midpoint.h"
#include "step/step.h"

tgStatus tgi_midpoint_jacobian(tgSim *s, tgReal *D, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nc = 2 * nv + nu, ld = (nc + 3) / 4 * 4;
  size_t size = (size_t)nv * (size_t)nc, nn = (size_t)nv * (size_t)nv, mark = tgi_stack_mark(s);
  double r = tgi_midpoint_reflection(s);
  tgReal *F_q = tgi_stack_real(s, nn), *F_v = tgi_stack_real(s, nn), *F_u = tgi_stack_real(s, (size_t)nv * (size_t)nu + 1),
         *w = tgi_stack_real(s, (size_t)nv), *X = tgi_stack_real(s, (size_t)nv * (size_t)ld), *dV = tgi_stack_real(s, size),
         *one = tgi_stack_real(s, size);
  if (F_q == NULL || F_v == NULL || F_u == NULL || w == NULL || X == NULL || dV == NULL || one == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY_OUTCOME(tgi_midpoint_derivative(s, true, F_q, F_v, F_u, clamps));
  for (int i = 0; i < nv; i++)
    for (int c = 0; c < ld; c++)
      X[i * ld + c] = c < nv ? -F_q[i * nv + c] : c < 2 * nv ? -F_v[i * nv + c - nv] : c < nc ? -F_u[i * nu + c - 2 * nv] : 0;
  TG_TRY_OUTCOME(tgi_midpoint_solve_all(s, ld, X));
  for (int d = 0; d < nv; d++) w[d] = s->h * tgi_midpoint_own(s)->mean_vel[d];
  for (int row = 0; row < nv; row++)
    for (int c = 0, k = row * nc; c < nc; c++, k++) {
      tgReal x = X[row * ld + c];
      one[k] = c == row;
      D[size + (size_t)k] = (1 + r) * x - (c == nv + row ? r : 0);
      dV[k] = s->h * x;
    }
  tgi_integrate_jacobian(m, w, nc, one, dV, D);
  tgi_stack_free(s, mark);
  return TG_OK;
}
