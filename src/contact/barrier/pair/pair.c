// pair.c: one pair at a time, by the kernels of one pair (pair_kernel.c); and rates of its force along any field of
// the vertices. See pair.h.
#include "contact/barrier/pair/pair.h"
#include <string.h>

#include "contact/barrier/pair/pair_kernel.h"
#include "contact/barrier/pair/plane.h"
#include "math/vec3.h"

static void put(tgiPairBlock *b, const tgReal x[18], const tgiPair *plane) {
  b->count = 1;
  for (int i = 0; i < 18; i++) b->x[i][0] = x[i];
  for (int i = 0; i < 3; i++) b->u[i][0] = plane != NULL ? plane->u[i] : 0;
  b->delta[0] = plane != NULL ? plane->delta : 0;
}

bool tgi_pair_solve(const tgReal x[18], bool warm, tgiPair *r) {
  tgiPairBlock b;
  put(&b, x, warm ? r : NULL);
  b.warm = warm;
  b.separated = 0;
  tgi_pair_kernel_1(&b);
  for (int i = 0; i < 3; i++) r->u[i] = b.u[i][0];
  for (int i = 0; i < 6; i++) r->g[i] = b.g[i][0];
  for (int i = 0; i < 21; i++) r->H[i] = b.H[i][0];
  r->delta = b.delta[0];
  r->S = b.S[0];
  r->iterations = b.steps[0];
  return b.separated != 0;
}

void tgi_pair_force(const tgReal x[18], const tgiPair *r, tgiPairForce *f) {
  tgiPairBlock b;
  tgiPairForces out;
  put(&b, x, r);
  tgi_pair_force_kernel_1(&b, &out);
  f->N = out.N[0];
  for (int i = 0; i < 3; i++) {
    f->u[i] = out.u[i][0];
    f->a[i] = out.a[i][0];
    f->b[i] = out.b[i][0];
  }
}

void tgi_pair_force_vjp(const tgReal x[18], const tgiPair *r, const tgiPairForce *bar, tgReal twist[6]) {
  tgiPairBlock b;
  tgiPairForces in;
  tgReal out[6][TGI_PAIR_LANES];
  put(&b, x, r);
  in.N[0] = bar->N;
  for (int i = 0; i < 3; i++) {
    in.u[i][0] = bar->u[i];
    in.a[i][0] = bar->a[i];
    in.b[i][0] = bar->b[i];
  }
  tgi_pair_weigh_kernel_1(&b, &in, out);
  for (int i = 0; i < 6; i++) twist[i] += out[i][0];
}

// ---- rates ----

// the plane of r, with 1/m^2, 2/m^3 and the diagonal variables for u <- (u + tau1 t1 + tau2 t2)/|.|
//   [math/barrier (25), (26)]
static void at(tgiPlane *p, const tgReal x[18], const tgiPair *r) {
  tgReal t[2][3], S = 0;
  tgi_plane_place(p, x);
  tgi_plane_set(p, r->u, r->delta);
  tgi_plane_margins(p);
  for (int k = 0; k < 6; k++) {
    tgReal i = 1 / p->m[k];
    S += i;
    p->y[k] = i * i;
    p->z[k] = 2 * i * p->y[k];
  }
  const tgReal own[2] = {S, S};  // the sphere's curvature
  tgi_plane_tangents(p->n, t);
  tgi_plane_factor(p, 2, t, own);
}

void tgi_pair_rate_d(const tgReal x[18], const tgiPair *r, const tgReal dx[18], tgReal *dS, tgReal dg[6], tgiPairForce *df) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_rate(&p, dx, dS, dg, df);
}

void tgi_pair_force_d(const tgReal x[18], const tgiPair *r, tgiPairForce df[6]) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_force_rates(&p, x, df);
}
