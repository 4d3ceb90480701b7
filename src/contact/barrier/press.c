// press.c: see press.h.
#include "contact/barrier/press.h"

#include "math/vec3.h"

void tgi_press(const tgiTreePress *p, const tgiPosed *A, int node, const tgReal F[3], const tgReal a[3], const tgReal b[3], tgReal d) {
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

tgiForceWeight tgi_pull_weigh(const tgiTreePull *p, const tgiPosed *A, int node, const tgReal n[3], const tgReal a[3], const tgReal b[3], tgReal d) {
  tgiForceWeight w = {.of = p->weight + p->patch[node]};
  w.q = w.of->N + p->share.all;
  const tgiFrictionPoint *p0 = w.of->point;
  for (int i = 0; i < 3 && p0 != NULL; i++) w.q += w.of->a[i] * (a[i] + A->origin[i] - p0->a[i]) + w.of->b[i] * (b[i] + A->origin[i] - p0->b[i]);
  for (int i = 0; i < 6 && p0 != NULL; i++) {
    w.q += w.of->M[i] * (n[tgi_friction_row[i]] * n[tgi_friction_col[i]] - (i < 3 ? 1 : 0) + p0->Q[i]);
    w.n[tgi_friction_row[i]] += w.of->M[i] * n[tgi_friction_col[i]];
    w.n[tgi_friction_col[i]] += w.of->M[i] * n[tgi_friction_row[i]];
  }
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

void tgi_pull_at(tgiTreePull *p, const tgReal x[3], const tgReal f[3]) {
  tgReal t[3];
  tgi_v3_cross(t, x, f);
  tgi_v3_add(p->twist, p->twist, t);
  tgi_v3_add(p->twist + 3, p->twist + 3, f);
}
