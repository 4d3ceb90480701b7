// midpoint_jacobian.c: the dense derivative of a step, forward. Shares no derivative code with midpoint_vjp.c beyond the contact forces'
// own.
//
// Based on: [math/damped Gradient]. F_V dV = -(F_q dq + F_v dv + F_u du), F_q = R_start + R_middle exp(-h V/2) + R_end exp(-h V);
//   dq' = exp(-h V) dq + h Jr(h V) dV,   dv' = (1 + r) dV - r dv.
#include "dyn/dynamics.h"
#include "step/midpoint.h"
#include "step/step.h"

// D (nv x nc) = dV; column: work, 4 nv
static tgStatus mean(tgSim *s, const tgReal *F_q, const tgiMidpointParts *of, tgReal *column, int nc, tgReal *D) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu;
  for (int c = 0; c < nc; c++) {
    for (int i = 0; i < nv; i++)
      column[i] = -(c < nv ? F_q[i * nv + c] : c < 2 * nv ? of->vel[i * nv + c - nv] : of->input[i * nu + c - 2 * nv]);
    TG_TRY_OUTCOME(tgi_midpoint_solve(s, false, column, column + nv));
    for (int i = 0; i < nv; i++) D[i * nc + c] = column[i];
  }
  return TG_OK;
}

tgStatus tgi_midpoint_jacobian(tgSim *s, tgReal *D, int *clamps) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  int nv = m->nv, nc = 2 * nv + m->nu;
  size_t size = (size_t)nv * (size_t)nc, nn = (size_t)nv * (size_t)nv, mark = tgi_stack_mark(s);
  double r = tgi_midpoint_reflection(s);
  const tgiMidpointParts of = {.start = tgi_stack_real(s, nn), .middle = tgi_stack_real(s, nn), .end = tgi_stack_real(s, nn),
                               .speed = tgi_stack_real(s, nn), .vel = tgi_stack_real(s, nn),
                               .input = tgi_stack_real(s, (size_t)nv * (size_t)m->nu + 1)};
  tgReal *F_q = of.start, *w = tgi_stack_real(s, (size_t)nv), *column = tgi_stack_real(s, 4 * (size_t)nv),
         *blocks = tgi_stack_real(s, 6 * (size_t)nv), *dV = tgi_stack_real(s, size), *one = tgi_stack_real(s, size);
  bool parts = of.start != NULL && of.middle != NULL && of.end != NULL && of.speed != NULL && of.vel != NULL && of.input != NULL;
  if (!parts || w == NULL || column == NULL || blocks == NULL || dV == NULL || one == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY_OUTCOME(tgi_midpoint_derivative(s, &of, clamps));
  for (int k = 1; k <= 2; k++) {
    for (int d = 0; d < nv; d++) w[d] = (k == 1 ? 0.5 : 1) * s->h * own->mean_vel[d];
    tgi_integrate_blocks(m, w, blocks, blocks + 3 * nv);
    tgi_midpoint_add_blocks(m, k == 1 ? of.middle : of.end, blocks, 1, F_q);
  }
  TG_TRY_OUTCOME(mean(s, F_q, &of, column, nc, dV));
  for (size_t k = 0; k < size; k++) {
    int row = (int)(k / (size_t)nc), c = (int)(k % (size_t)nc);
    one[k] = c == row;
    D[size + k] = (1 + r) * dV[k] - (c == nv + row ? r : 0);
    dV[k] *= s->h;
  }
  tgi_integrate_jacobian(m, w, nc, one, dV, D);
  tgi_stack_free(s, mark);
  return TG_OK;
}
