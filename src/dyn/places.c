// places.c: derivatives of inverse dynamics as dense matrices. See dynamics.h.
#include "dyn/dynamics.h"

const tgiPlaces *tgi_places_dense(tgSim *s, int width, int vcol) {
  int nv = s->m.nv;
  tgiPlaces *p = tgi_stack_bytes(s, sizeof *p);
  int *at = tgi_stack_bytes(s, 3 * (size_t)(nv + 1) * sizeof *at);
  if (p == NULL || at == NULL) return NULL;
  *p = (tgiPlaces){.row = at, .q = at + nv, .v = at + 2 * nv};
  for (int d = 0; d < nv; d++) {
    at[d] = d * width;
    at[nv + d] = d;
    at[2 * nv + d] = vcol + d;
  }
  return p;
}

tgStatus tgi_inverse_d(tgSim *s, const tgReal *a, const tgReal *xfrc, tgReal *Dtau_q, tgReal *Dtau_v) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  const tgiPlaces *to = tgi_places_dense(s, nv, 0);
  for (int i = 0; i < nv * nv; i++) {
    if (Dtau_q != NULL) Dtau_q[i] = 0;
    if (Dtau_v != NULL) Dtau_v[i] = 0;
  }
  tgStatus status = to == NULL ? TG_ERR_CAPACITY : tgi_inverse_d_into(s, a, xfrc, 1, to, Dtau_q, Dtau_v);
  tgi_stack_free(s, mark);
  return status;
}
