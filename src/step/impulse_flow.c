// impulse_flow.c: see impulse_flow.h.
#include "step/impulse_flow.h"

#include <string.h>

#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "dyn/forces.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/step.h"

tgStatus tgi_flow_end(tgSim *s) {
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv);
  if (w == NULL) return tgi_no_room(s, "parts");
  for (int d = 0; d < s->m.nv; d++) w[d] = s->dt * s->rows->mean[d];
  tg_model_integrate(&s->m, s->start.q, w, s->end.q);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_flow_note_push(tgSim *s) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *q = tgi_stack_real(s, (size_t)m->nq), *end = tgi_stack_real(s, (size_t)m->nq);
  bool any = false;
  if (w == NULL || q == NULL || end == NULL) return tgi_no_room(s, "push");
  // a solve that was cancelled or has no answer leaves no derivative; the step ends with that
  if (s->nrow > 0 && s->unsolved == TG_OK) TG_TRY(tgi_impulse_push(s, w, &any));
  if (any) {
    for (int d = 0; d < m->nv; d++) w[d] = s->dt * (s->rows->mean[d] - w[d]);
    for (int i = 0; i < m->nq; i++) end[i] = s->end.q[i];
    tg_model_integrate(m, s->start.q, w, q);
    tgi_kinematics_bodies(m, q, &s->end);
    double without = tgRe(tgi_potential_energy(s, &s->end));
    tgi_kinematics_bodies(m, end, &s->end);
    s->info.push_energy += tgRe(tgi_potential_energy(s, &s->end)) - without;
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_flow_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, const tgiAdjoint *o) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv), *gw = tgi_stack_real(s, (size_t)nv), *z = tgi_stack_real(s, (size_t)nv);
  if (w == NULL || gw == NULL || z == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) {
    w[d] = s->dt * s->rows->mean[d];
    gw[d] = 0;
  }
  tgi_integrate_vjp(&s->m, w, gq, o->gq, gw);
  for (int d = 0; d < nv; d++) {
    if (o->dt != NULL) *o->dt += s->rows->mean[d] * gw[d];
    z[d] = s->dt * gw[d] + (s->nrow == 0 ? gv[d] : 0);
  }
  tgStatus status = s->nrow == 0 ? tgi_impulse_vjp(s, z, o) : tgi_impulse_both_vjp(s, gv, z, o);
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_flow_jacobian(tgSim *s, tgReal *D, int *clamps) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, again = 0, *span = tgi_stack_bytes(s, 2 * ((size_t)nv + 1) * sizeof *span);
  size_t size = (size_t)nv * (size_t)nc;
  tgReal *w = tgi_stack_real(s, (size_t)nv), *Dv = D + size, *DV = Dv;
  if (w == NULL || span == NULL) return tgi_no_room(s, "Jacobian");
  tgi_island_spans(s, span);
  for (int d = 0; d < nv; d++) w[d] = s->dt * s->rows->mean[d];
  if (s->nrow > 0) {
    DV = tgi_stack_real(s, size);
    if (DV == NULL) return tgi_no_room(s, "Jacobian");
    tgi_rows_select(s, 1);
    tgStatus status = tgi_impulse_jacobian(s, DV, &again);
    tgi_rows_select(s, 0);
    TG_TRY(status);
  }
  TG_TRY(tgi_impulse_jacobian(s, Dv, clamps));
  memset(D, 0, size * sizeof *D);
  tgi_integrate_own_jacobian(&s->m, w, s->dt, nc, DV, span, D);
  return TG_OK;
}
