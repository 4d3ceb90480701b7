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

static void of_triangles(const tgiBarrierGeom *a, const tgiBarrierGeom *b, const tgiSite *at, tgLawSite *site) {
  const tgiPairCores cores = tgi_pair_cores(&a->world, &b->world);
  const tgiPair plane = {.u = {at->u[0], at->u[1], at->u[2]}, .delta = at->delta};
  tgReal x[18], shift[3];
  tgi_v3_sub(shift, b->world.origin, a->world.origin);
  corners(&a->world, at->a, NULL, x);
  corners(&b->world, at->b, shift, x + 9);
  tgi_pair_margins(x, &cores, &plane, site->m, site->c, site->l);
}

// heights above the separating plane, which follows, and its own above the half-space
static bool of_heights(tgSim *s, const tgPose *pose, const tgiGeomPair *g, const tgiSite *at, tgLawSite *site) {
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

int tgi_barrier_sites(tgSim *s, const tgPose *pose, int most, tgLawSite *site) {
  const tgiBarrierWork *w = tgi_barrier_work(s);
  int n = 0;
  for (int i = 0; i < w->sums.near.n; i++) {
    const tgiGeomPair *g = &w->sums.near.pair[i];
    const tgiSites *sites = &w->sums.pair[i].sites;
    if (g->law.local > 0 || sites->n == 0) continue;
    int term = (int)(tgi_barrier_term(s, g) - s->term);
    for (int k = 0; k < sites->n; k++, n++) {
      if (n >= most) continue;
      const tgiBarrierGeom *A = &w->geom[g->A];
      site[n].term = term;
      site[n].weight = tgRe(tgi_barrier_weight(s, g)) * sites->at[k].share;
      if (!g->plane) of_triangles(A, &w->geom[g->B], &sites->at[k], &site[n]);
      else if (!of_heights(s, pose, g, &sites->at[k], &site[n])) site[n].weight = 0;
      to_bodies(g, g->plane ? A->plane.origin : A->world.origin, &site[n]);
    }
  }
  return n;
}
