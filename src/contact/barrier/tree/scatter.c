// scatter.c: see scatter.h.
#include "contact/barrier/tree/scatter.h"

#include "math/vec3.h"

void tgi_scatter(const tgiForceScatter *p, const tgiWorldTree *A, int node, const tgReal F[3], const tgReal a[3],
                 const tgReal b[3], tgReal d) {
  tgiFrictionForce f;
  tgReal square = tgi_v3_dot(F, F);
  if (!(tgRe(square) > 0)) return;
  f.N = tgSqrt(square);
  for (int i = 0; i < 3; i++) f.n[i] = F[i] / f.N;   // along an axis 1, without rounding
  tgi_v3_add(f.a, a, A->origin);
  tgi_v3_add(f.b, b, A->origin);
  tgi_friction_add(&p->sum[p->patch[node]], &f);
  if (p->range > 0) tgi_friction_share(p->share, p->range, f.N, d);
}

// M (xx yy zz xy xz yz) . (n n' - 1 + Q), entries once; differences first: for one force they are 0
static tgReal turned(const tgReal M[6], const tgReal n[3], const tgReal Q[6]) {
  return M[0] * (n[0] * n[0] - 1 + Q[0]) + M[1] * (n[1] * n[1] - 1 + Q[1]) + M[2] * (n[2] * n[2] - 1 + Q[2]) + M[3] * (n[0] * n[1] + Q[3]) +
         M[4] * (n[0] * n[2] + Q[4]) + M[5] * (n[1] * n[2] + Q[5]);
}

tgiForceWeight tgi_reverse_weigh(const tgiForceReverse *p, const tgiPatchWeight *of, const tgReal n[3],
                                 const tgReal a[3], const tgReal b[3], tgReal d) {
  tgiForceWeight w = {.of = of, .q = of->N + p->share.all};
  const tgReal *M = of->M;
  for (int i = 0; i < 3; i++) w.q += of->a[i] * (a[i] + p->origin[i] - of->pa[i]) + of->b[i] * (b[i] + p->origin[i] - of->pb[i]);
  w.q += turned(M, n, of->Q);
  tgi_v3_set(w.n, 2 * M[0] * n[0] + M[3] * n[1] + M[4] * n[2], M[3] * n[0] + 2 * M[1] * n[1] + M[5] * n[2],
             M[4] * n[0] + M[5] * n[1] + 2 * M[2] * n[2]);
  // of a pair that rests the share is all, and has no slope
  if (!(p->range > 0) || tgZero(p->share.near)) return w;
  const tgReal none = 0, one = 1;
  tgiFrictionShare near = {.all = 0}, rate = {.all = 0};
  tgi_friction_share(&near, p->range, 1, d);
  tgi_friction_share_d(1, &rate, p->range, 1, d, &none, &one);
  w.q += p->share.near * near.near;
  w.d = p->share.near * rate.near;
  return w;
}

void tgi_reverse_at(tgiForceReverse *p, const tgReal x[3], const tgReal f[3]) {
  tgReal t[3];
  tgi_v3_cross(t, x, f);
  tgi_v3_add(p->twist, p->twist, t);
  tgi_v3_add(p->twist + 3, p->twist + 3, f);
}
