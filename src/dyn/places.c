// places.c: derivatives of dynamics as matrices, dense or by trees. See dynamics.h.
#include "dyn/dynamics.h"

const tgiPlaces *tgi_places_trees(tgSim *s) {
  tgiPlaces *p = tgi_stack_bytes(s, sizeof *p);
  int *at = tgi_stack_bytes(s, ((size_t)s->m.nv + 1) * sizeof *at);
  if (p == NULL || at == NULL) return NULL;
  for (int d = 0; d < s->m.nv; d++) at[d] = d;
  *p = (tgiPlaces){.row = s->m.dof_block, .q = at, .v = at};
  return p;
}

const tgiPlaces *tgi_places_dense(tgSim *s) {
  int nv = s->m.nv, nu = s->m.nu;
  tgiPlaces *p = tgi_stack_bytes(s, sizeof *p);
  int *at = tgi_stack_bytes(s, (3 * (size_t)nv + (size_t)nu + 1) * sizeof *at);
  if (p == NULL || at == NULL) return NULL;
  *p = (tgiPlaces){.row = at, .q = at + nv, .v = at + nv, .urow = at + 2 * nv, .u = at + 3 * nv};
  for (int d = 0; d < nv; d++) {
    at[d] = d * nv;
    at[nv + d] = d;
    at[2 * nv + d] = d * nu;
  }
  for (int i = 0; i < nu; i++) at[3 * nv + i] = i;
  return p;
}

static void zero(tgReal *x, int n) {
  for (int i = 0; x != NULL && i < n; i++) x[i] = 0;
}

tgStatus tgi_inverse_d(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal *Dtau_q, tgReal *Dtau_v) {
  int nn = s->m.nv * s->m.nv;
  size_t mark = tgi_stack_mark(s);
  const tgiPlaces *to = tgi_places_dense(s);
  zero(Dtau_q, nn);
  zero(Dtau_v, nn);
  tgStatus status = to == NULL ? TG_ERR_CAPACITY : tgi_inverse_d_into(s, pose, a, xfrc, 1, to, Dtau_q, Dtau_v);
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_forces_d(tgSim *s, const tgPose *pose, tgReal *Dq, tgReal *Dv, tgReal *Du, int *clamps) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  const tgiPlaces *to = tgi_places_dense(s);
  zero(Dq, nv * nv);
  zero(Dv, nv * nv);
  zero(Du, nv * s->m.nu);
  tgStatus status = to == NULL ? TG_ERR_CAPACITY : tgi_forces_d_into(s, pose, NULL, 1, to, Dq, Dv, Du, clamps);
  tgi_stack_free(s, mark);
  return status;
}
