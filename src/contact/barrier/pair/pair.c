// pair.c: one pair at a time, by the kernels of one pair (pair_kernel.c); and rates of its force along any field of
// the vertices. See pair.h.
#include "contact/barrier/pair/pair.h"
#include <string.h>

#include "contact/barrier/pair/pair_kernel.h"
#include "contact/barrier/pair/plane.h"
#include "math/vec3.h"

static void put(tgiPairBlock *b, const tgReal x[18], const tgiPairCores *cores, const tgiPair *plane) {
  b->count = 1;
  b->oval = tgi_pair_oval(cores);
  for (int half = 0; half < 2; half++) {
    b->radius[half][0] = cores != NULL ? cores->radius[half] : 0;
    b->segment[half][0] = cores != NULL && cores->segment[half];
    for (int i = 0; i < 9 && b->oval; i++) b->axes[half][i][0] = cores->oval[half] ? cores->axes[half][i] : 0;
  }
  for (int i = 0; i < 18; i++) b->x[i][0] = x[i];
  for (int i = 0; i < 3; i++) b->u[i][0] = plane != NULL ? plane->u[i] : 0;
  b->delta[0] = plane != NULL ? plane->delta : 0;
}

bool tgi_pair_solve(const tgReal x[18], const tgiPairCores *cores, bool warm, tgiPair *r) {
  tgiPairBlock b;
  put(&b, x, cores, warm ? r : NULL);
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

// the ends of A weigh by the squares of their margins
static void shares(const tgReal x[18], const tgiPairCores *cores, const tgReal u[3], tgReal delta, tgReal share[2]) {
  share[0] = share[1] = 0;
  if (cores == NULL || !cores->segment[0]) return;
  for (int k = 0; k < 2; k++) {
    tgReal m = tgi_v3_dot(u, x + 3 * k) + delta - 0.5 * (cores->radius[0] + cores->radius[1]);
    share[k] = 1 / (m * m);
  }
  tgReal sum = share[0] + share[1];
  for (int k = 0; k < 2; k++) share[k] /= sum;
}

void tgi_pair_force(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, tgiPairForce *f) {
  tgiPairBlock b;
  tgiPairForces out;
  put(&b, x, cores, r);
  tgi_pair_force_kernel_1(&b, &out);
  f->N = out.N[0];
  for (int i = 0; i < 3; i++) {
    f->u[i] = out.u[i][0];
    f->a[i] = out.a[i][0];
    f->b[i] = out.b[i][0];
  }
  shares(x, cores, r->u, r->delta, f->share);
}

void tgi_pair_force_vjp(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, const tgiPairForce *bar, tgReal twist[6]) {
  tgiPairBlock b;
  tgiPairForces in;
  tgReal out[6][TGI_PAIR_LANES];
  put(&b, x, cores, r);
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

// the plane of r, with c/m^2, 2c/m^3 and the diagonal variables for u <- (u + tau1 t1 + tau2 t2)/|.|
//   [math/barrier (25), (26)]
static void at(tgiPlane *p, const tgReal x[18], const tgiPairCores *cores, const tgiPair *r) {
  tgReal t[2][3], S = 0;
  tgi_plane_place(p, x, cores);
  tgi_plane_set(p, r->u, r->delta);
  tgi_plane_margins(p);
  for (int k = 0; k < 6; k++) {
    tgReal i = 1 / p->m[k];
    p->y[k] = p->times[k] * i * i;
    p->z[k] = 2 * i * p->y[k];
    S += p->times[k] * i + p->round * p->y[k];
  }
  const tgReal own[2] = {S, S};  // the curvature of the sphere of directions, and of the margins' radii
  tgi_plane_tangents(p->n, t);
  tgi_plane_factor(p, 2, t, own);
}

void tgi_pair_rate_d(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, const tgiPairField *field, tgReal *dS,
                     tgReal dg[6], tgiPairForce *df) {
  tgiPlane p;
  at(&p, x, cores, r);
  tgi_plane_rate(&p, field, dS, dg, df);
}

void tgi_pair_force_d(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, tgiPairForce df[6]) {
  tgiPlane p;
  at(&p, x, cores, r);
  tgi_plane_force_rates(&p, x, df);
}
