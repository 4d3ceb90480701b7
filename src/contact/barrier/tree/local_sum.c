// local_sum.c: see local_sum.h.
#include "contact/barrier/tree/local_sum.h"

#include <string.h>

#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/pair_local.h"
#include "contact/barrier/tree/distance_sites.h"
#include "math/vec3.h"

typedef struct Run {
  const tgiWorldTree *A, *B;
  const tgReal *n;
  tgReal height, shift[3];
  const tgiTreeLaw *law;
  double reach;
  tgiPairSum *sum;
  int *intersecting;
  tgiClearance clear;
  tgiTreeCount count;
} Run;

static void vertices(const tgiWorldTree *p, int leaf, const tgReal *shift, tgReal x[9]) {
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[3 * k + i] = p->vert[3 * (size_t)face[k] + i] + (shift != NULL ? shift[i] : 0);
}

static const tgReal *node(const tgiWorldTree *p, int k) { return p->node + (size_t)k * TGI_NODE_SIZE; }

// width of the slab along n
static double slab(const tgReal x[18], const tgiPairCores *cores, const tgReal n[3]) {
  double a = INFINITY, b = -INFINITY, length = sqrt(tgRe(tgi_v3_dot(n, n))), less = tgRe(cores->radius[0] + cores->radius[1]);
  for (int side = 0; side < 2; side++) {
    tgReal h[3];
    if (!cores->oval[side]) continue;
    tgi_m3_mulv(h, cores->axes[side], n);
    less += tgRe(tgi_v3_norm(h)) / length;
  }
  for (int k = 0; k < 3; k++) {
    a = fmin(a, tgRe(tgi_v3_dot(n, x + 3 * k)));
    b = fmax(b, tgRe(tgi_v3_dot(n, x + 9 + 3 * k)));
  }
  return (a - b) / length - less;
}

static void note(Run *r, double gap, bool solved) {
  r->clear.all = fmin(r->clear.all, gap);
  if (solved) r->clear.solved = fmin(r->clear.solved, gap);
}

double tgi_local_ends(const tgiTreeLaw *law, bool plane) {
  if (law->everywhere) return INFINITY;
  return law->distances || plane ? law->local : tgi_local_reach(law->local);
}

static bool distances(Run *r, int a, int b) {
  tgReal x[18];
  tgiDistanceSite site[TGI_MOST_SITES];
  int face[2] = {r->A->tree->tri[a], r->B->tree->tri[b]}, n = tgi_distance_sites(r->A->owned[face[0]], r->B->owned[face[1]], site);
  bool apart;
  vertices(r->A, a, NULL, x);
  vertices(r->B, b, r->shift, x + 9);
  r->count.leaves++;
  apart = !tgi_triangles_meet(x);
  for (int i = 0; i < n && apart; i++) {
    tgiDistanceAdded added = tgi_distance_add(x, &site[i], r->law, r->sum);
    apart = added.D > 0;
    note(r, sqrt(added.D), added.felt);
    r->count.ties += added.tie;
  }
  for (int side = 0; side < 2 && !apart; side++) r->intersecting[side] = face[side];
  return apart;
}

static bool triangles(Run *r, int a, int b) {
  tgReal x[18], w = node(r->A, a)[TGI_NODE_W] * node(r->B, b)[TGI_NODE_W];
  tgiPairLocal p;
  const tgiPairCores cores = tgi_pair_cores(r->A, r->B);
  vertices(r->A, a, NULL, x);
  vertices(r->B, b, r->shift, x + 9);
  r->count.leaves++;
  if (!tgi_pair_local_solve(x, &cores, r->law->local, false, &p)) {
    r->intersecting[0] = r->A->tree->tri[a];
    r->intersecting[1] = r->B->tree->tri[b];
    return false;
  }
  r->count.iterations += p.iterations;
  note(r, slab(x, &cores, p.n), true);
  r->sum->P += w * p.P;
  for (int i = 0; i < 6; i++) r->sum->g[i] += w * p.g[i];
  for (int i = 0; i < 21; i++) r->sum->H[i] += w * p.H[i];
  return true;
}

void tgi_local_height(tgReal z, const tgiTreeLaw *law, tgReal b[3]) {
  if (!law->distances) {
    tgi_local_barrier(z, law->local, b);
    return;
  }
  tgi_distance_barrier(z * z, &(tgiDistanceLaw){.reach = law->local, .everywhere = law->everywhere}, b);
  b[2] = 4 * z * z * b[2] + 2 * b[1];
  b[1] *= 2 * z;
}

static bool corners(Run *r, int a) {
  tgReal x[9], w = node(r->A, a)[TGI_NODE_W];
  bool oval = r->A->surface->oval;
  tgReal axes[9], at[3] = {0, 0, 0};
  vertices(r->A, a, NULL, x);
  if (oval) {
    tgi_world_axes(r->A->vert, axes);
    tgi_oval_point(axes, r->n, at);
  }
  r->count.leaves++;
  for (int k = 0; k < 3; k++) {
    tgi_v3_sub(x + 3 * k, x + 3 * k, at);
    tgReal v[6], G[21], b[3], z = r->height + tgi_height(r->n, x + 3 * k, v, G) - r->A->round;
    if (oval) tgi_oval_turn(axes, r->n, 1, G);
    tgReal c = w * tgi_height_times(r->A->surface->segment, k);
    if (r->law->distances) c = r->A->owned[r->A->tree->tri[a]] >> k & TGI_OWN_VERTEX;
    if (!(tgRe(z) > 0)) {
      r->intersecting[0] = r->A->tree->tri[a];
      return false;
    }
    note(r, tgRe(z), true);
    tgi_local_height(z, r->law, b);
    r->sum->P += c * b[0];
    for (int i = 0; i < 6; i++) r->sum->g[i] += c * b[1] * v[i];
    tgi_sum_add(r->sum->H, c * b[2], v, c * b[1], G);
  }
  return true;
}

static bool visit(Run *r, int a, int b) {
  tgReal d[3];
  const int *ca = r->A->tree->child + 2 * (size_t)a, *cb = r->B != NULL ? r->B->tree->child + 2 * (size_t)b : NULL;
  double gap, ra = tgRe(node(r->A, a)[TGI_NODE_R]), rb = r->B != NULL ? tgRe(node(r->B, b)[TGI_NODE_R]) : 0;
  r->count.visits++;
  if (r->B == NULL) {
    gap = tgRe(r->height + tgi_v3_dot(r->n, node(r->A, a))) - ra;
  } else {
    tgi_v3_sub(d, node(r->A, a), node(r->B, b));
    tgi_v3_sub(d, d, r->shift);
    gap = sqrt(tgRe(tgi_v3_dot(d, d))) - ra - rb;
  }
  if (gap >= r->reach) {
    note(r, gap, false);
    return true;
  }
  bool leaf_a = ca[0] < 0, leaf_b = cb == NULL || cb[0] < 0;
  if (leaf_a && leaf_b) return r->B == NULL ? corners(r, a) : r->law->distances ? distances(r, a, b) : triangles(r, a, b);
  // the larger of the two is divided
  if (leaf_b || (!leaf_a && ra >= rb)) return visit(r, ca[0], b) && visit(r, ca[1], b);
  return visit(r, a, cb[0]) && visit(r, a, cb[1]);
}

bool tgi_local_sum(const tgiWorldTree *A, const tgiWorldTree *B, const tgReal n[3], tgReal height, const tgiTreeLaw *law,
                   tgiPairSum *sum, int intersecting[2], tgiClearance *clear, tgiTreeCount *count) {
  Run r = {.A = A, .B = B, .n = n, .height = height, .law = law, .sum = sum, .intersecting = intersecting, .clear = {INFINITY, INFINITY}};
  r.reach = tgi_local_ends(law, B == NULL);
  if (B != NULL) tgi_v3_sub(r.shift, B->origin, A->origin);
  memset(sum, 0, sizeof *sum);
  intersecting[1] = -1;
  bool separated = visit(&r, 0, 0);
  if (count != NULL) *count = r.count;
  if (clear != NULL) *clear = r.clear;
  return separated;
}
