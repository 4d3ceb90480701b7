// sides.c: see sides.h.
#include "coll/features/sides.h"

#if defined(TG_ISA_V3)
#define TGI_WIDTH 4
#elif !defined(TG_COMPLEX)
#define TGI_WIDTH 2
#endif
#define TGI_LANES_REAL
#include "math/lanes.h"

tgiBeyond TGI_ISA(tgi_sides_at)(const tgiSides *S, const double *x, double tol) {
  V at[3] = {v_all(x[0]), v_all(x[1]), v_all(x[2])}, from = v_all(-tol), to = v_all(tol);
  uint64_t out = 0, within = 0, all = ~(uint64_t)0 >> (TGI_SIDES - S->count);
  for (int k = 0; k < S->count; k += TGI_WIDTH) {
    V n[3] = {v_load(S->n[0] + k), v_load(S->n[1] + k), v_load(S->n[2] + k)}, d = v_dot(n, at) - v_load(S->n[3] + k);
    out |= (uint64_t)m_bits(v_less(to, d)) << k;
    within |= (uint64_t)m_bits(v_less(d, from)) << k;
  }
  return (tgiBeyond){out & all, ~within & all};
}

bool TGI_ISA(tgi_edges_hold)(const tgiEdges *E, const double *c) {
  V at[3] = {v_all(c[0]), v_all(c[1]), v_all(c[2])};
  for (int k = 0; k < E->count; k += TGI_WIDTH) {
    V r[3] = {at[0] - v_load(E->x[0] + k), at[1] - v_load(E->x[1] + k), at[2] - v_load(E->x[2] + k)};
    V out[3] = {v_load(E->out[0] + k), v_load(E->out[1] + k), v_load(E->out[2] + k)};
    if (m_any(m_not(v_less(v_dot(out, r), v_load(E->end + k))))) return false;
  }
  return true;
}
