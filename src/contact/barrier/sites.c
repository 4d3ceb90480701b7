// sites.c: the sites of the pairs at hand as a step's minimisation sees them. See tgLaw.sites and pair/sites.h.
#include "contact/barrier/barrier.h"
#include "contact/barrier/pair/height.h"

#include <string.h>
#include "math/spatial.h"

// from a twist of A about its origin to one about the world origin, and of body 1 relative to body 2
static void to_bodies(const tgiGeomPair *g, const tgReal *origin, tgLawSite *site) {
  for (int k = 0; k < 6; k++) {
    double *l = site->l + 6 * k;
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, n = (i + 2) % 3;
      l[i] += tgRe(origin[j]) * l[3 + n] - tgRe(origin[n]) * l[3 + j];
    }
    for (int i = 0; i < 6 && g->swapped; i++) l[i] = -l[i];
  }
}

static void corners(const tgiWorldTree *t, int leaf, const tgReal *shift, tgReal x[9]) {
  const int *face = t->surface->face + 3 * (size_t)t->tree->tri[leaf];
  for (int i = 0; i < 9; i++) x[i] = t->vert[3 * (size_t)face[i / 3] + (size_t)(i % 3)] + (shift != NULL ? shift[i % 3] : 0);
}

// the most that a corner of n moves along u by the twist r of A about its origin
static double speed(const tgReal *x, int n, const tgReal u[3], const double r[6]) {
  double most = 0;
  for (int k = 0; k < n; k++) {
    double v = 0;
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, l = (i + 2) % 3;
      v += tgRe(u[i]) * (r[3 + i] + r[j] * tgRe(x[3 * k + l]) - r[l] * tgRe(x[3 * k + j]));
    }
    most = fmax(most, fabs(v));
  }
  return most;
}

// false: r moves it too little. site NULL: asked for no more.
static bool of_triangles(const tgiBarrierGeom *a, const tgiBarrierGeom *b, const tgiSite *at, const double r[6], double least,
                         tgLawSite *site) {
  const tgiPairCores cores = tgi_pair_cores(&a->world, &b->world);
  const tgiPair plane = {.u = {at->u[0], at->u[1], at->u[2]}, .delta = at->delta};
  tgReal x[18], shift[3];
  tgi_v3_sub(shift, b->world.origin, a->world.origin);
  corners(&a->world, at->a, NULL, x);
  corners(&b->world, at->b, shift, x + 9);
  if (speed(x, 6, at->u, r) < least * at->D) return false;
  if (site == NULL) return true;
  tgi_pair_margins(x, &cores, &plane, site->m, site->c, site->l);
  return true;
}

// heights above the separating plane, which follows, and its own above the half-space
static bool of_heights(tgSim *s, const tgPose *pose, const tgiGeomPair *g, const tgiSite *at, const double twist[6], double least,
                       tgLawSite *site) {
  const tgiWorldTree *A = &tgi_barrier_work(s)->geom[g->A].plane;
  tgiHeightPair r;
  tgReal x[9], z[3], n[3], turn[3], axes[9], lowest[3];
  double height = tgRe(tgi_barrier_height(s, g, pose->geom_xpos + 3 * g->B, pose->geom_xmat + 9 * g->B, n)), sum = 0, stiff[3];
  corners(A, at->a, NULL, x);
  if (A->surface->oval) {
    tgi_world_axes(A->vert, axes);
    tgi_oval_point(axes, n, lowest);
    for (int i = 0; i < 9; i++) x[i] = A->vert[i % 3] - lowest[i % 3];
  }
  if (speed(x, 3, n, twist) < least * at->D) return false;
  if (site == NULL) return true;
  for (int k = 0; k < 3; k++) z[k] = height + tgi_v3_dot(n, x + 3 * k) - A->round;
  if (!tgi_height_pair(z, A->surface->segment, &r)) return false;
  memset(site->l, 0, sizeof site->l);
  for (int k = 0; k < 6; k++) {
    site->c[k] = k < 3 ? tgi_height_times(A->surface->segment, k) : 1;
    site->m[k] = tgRe(k < 3 ? z[k] - r.t : r.t);
    double z2 = 2 * site->c[k] / (site->m[k] * site->m[k] * site->m[k]);
    sum += z2;
    if (k < 3) stiff[k] = z2;
  }
  for (int k = 0; k < 3; k++) {
    tgi_v3_cross(turn, x + 3 * k, n);
    for (int i = 0; i < 6; i++) {
      double l = tgRe(i < 3 ? turn[i] : n[i - 3]);
      site->l[6 * k + i] += l;
      for (int j = 0; j < 6; j++) site->l[6 * j + i] += (j < 3 ? -1 : 1) * stiff[k] / sum * l;
    }
  }
  return true;
}

// the twist of A relative to B, about A's origin
static void relative(const tgSim *s, const tgiGeomPair *g, const tgReal *origin, const double *twist, double r[6]) {
  const double *a = twist + 6 * s->m.geom_body[g->A], *b = twist + 6 * s->m.geom_body[g->B];
  for (int i = 0; i < 6; i++) r[i] = a[i] - b[i];
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    r[3 + i] += r[j] * tgRe(origin[k]) - r[k] * tgRe(origin[j]);
  }
}

int tgi_barrier_sites(tgSim *s, const tgPose *pose, const double *twist, double least, int most, tgLawSite *site) {
  const tgiBarrierWork *w = tgi_barrier_work(s);
  int n = 0;
  for (int i = 0; i < w->sums.near.n; i++) {
    const tgiGeomPair *g = &w->sums.near.pair[i];
    const tgiSites *sites = &w->sums.pair[i].sites;
    if (g->law.local > 0 || sites->n == 0 || tgZero(w->sums.pair[i].sum.P)) continue;
    const tgReal *origin = g->plane ? w->geom[g->A].plane.origin : w->geom[g->A].world.origin;
    double r[6];
    relative(s, g, origin, twist, r);
    for (int k = 0; k < sites->n; k++) {
      const tgiSite *at = &sites->at[k];
      tgLawSite *x = n < most ? &site[n] : NULL;
      if (g->plane ? !of_heights(s, pose, g, at, r, least, x) : !of_triangles(&w->geom[g->A], &w->geom[g->B], at, r, least, x)) continue;
      n++;
      if (x == NULL) continue;
      x->term = (int)(tgi_barrier_term(s, g) - s->term);
      x->weight = tgRe(tgi_barrier_weight(s, g)) * at->share;
      to_bodies(g, origin, x);
    }
  }
  return n;
}
