// distance_sites.c: see distance_sites.h.
#include "contact/barrier/tree/distance_sites.h"

#include <stdlib.h>
#include <string.h>

#include "coll/surfaces/triangle.h"
#include "contact/barrier/pair/height.h"
#include "math/vec3.h"

// ---- owners ----

typedef struct Edge { int low, high, at; } Edge;   // at: 3 face + k

static int by_ends(const void *p, const void *q) {
  const Edge *a = p, *b = q;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return (a->at > b->at) - (a->at < b->at);
}

static void own_edges(const tgiSurface *surface, Edge *edge, unsigned char *owned) {
  int n = 3 * surface->nface;
  for (int i = 0; i < n; i++) {
    int a = surface->face[i], b = surface->face[i % 3 == 2 ? i - 2 : i + 1];
    edge[i] = (Edge){a < b ? a : b, a < b ? b : a, i};
  }
  qsort(edge, (size_t)n, sizeof *edge, by_ends);
  for (int i = 0; i < n; i++)
    if (i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high)
      owned[edge[i].at / 3] |= (unsigned char)(TGI_OWN_EDGE << edge[i].at % 3);
}

tgStatus tgi_distance_owners(const tgiSurface *surface, const tgAllocator *allocator, unsigned char *owned) {
  size_t n = 3 * (size_t)surface->nface, nvert = (size_t)surface->nvert;
  Edge *edge = allocator->alloc(allocator->ctx, (n + 1) * sizeof *edge);
  bool *seen = allocator->alloc(allocator->ctx, (nvert + 1) * sizeof *seen);
  bool room = edge != NULL && seen != NULL;
  if (room) {
    memset(owned, 0, (size_t)surface->nface);
    memset(seen, 0, (nvert + 1) * sizeof *seen);
    own_edges(surface, edge, owned);
    for (size_t i = 0; i < n; i++) {
      bool *vertex = &seen[surface->face[i]];
      if (!*vertex) owned[i / 3] |= (unsigned char)(TGI_OWN_VERTEX << i % 3);
      *vertex = true;
    }
  }
  allocator->free(allocator->ctx, edge);
  allocator->free(allocator->ctx, seen);
  return room ? TG_OK : TG_ERR_MEMORY;
}

// ---- sites ----

int tgi_distance_sites(unsigned owned_a, unsigned owned_b, tgiDistanceSite site[TGI_MOST_SITES]) {
  int n = 0;
  for (int k = 0; k < 3; k++) {
    if (owned_a >> k & TGI_OWN_VERTEX) site[n++] = (tgiDistanceSite){.point = {k, 3, 4, 5}};
    if (owned_b >> k & TGI_OWN_VERTEX) site[n++] = (tgiDistanceSite){.point = {3 + k, 0, 1, 2}};
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      if ((owned_a >> i & TGI_OWN_EDGE) && (owned_b >> j & TGI_OWN_EDGE))
        site[n++] = (tgiDistanceSite){.point = {i, (i + 1) % 3, 3 + j, 3 + (j + 1) % 3}, .edges = true};
  return n;
}

static void points_of(const tgReal x[18], const tgiDistanceSite *site, tgReal points[12]) {
  for (int k = 0; k < 4; k++) tgi_v3_copy(points + 3 * k, x + 3 * site->point[k]);
}

bool tgi_distance_stencil(const tgReal x[18], const tgiDistanceSite *site, const tgiTreeLaw *law, bool second, tgiStencil *s) {
  const tgiDistanceLaw distance = {.reach = law->local, .everywhere = law->everywhere};
  tgReal points[12];
  points_of(x, site, points);
  return tgi_stencil(points, site->edges, &distance, second, s);
}

// derivatives in the points of A to those in its twist: x_k moves by w x x_k + v, and to second order by half of w x (w x x_k) + w x v
static void add_points(const tgReal x[12], const tgiDistanceSite *site, const tgiStencil *s, tgiPairSum *sum) {
  tgReal J[12][6] = {{0}}, T[12][6] = {{0}};
  for (int k = 0; k < 4; k++) {
    tgReal v[6], G[21];
    if (site->point[k] >= 3) continue;
    const tgReal *at = x + 3 * k;
    tgi_height(s->g + 3 * k, at, v, G);
    for (int i = 0; i < 6; i++) sum->g[i] += v[i];
    for (int i = 0; i < 21; i++) sum->H[i] += G[i];
    for (int i = 0; i < 3; i++) {
      J[3 * k + i][3 + i] = 1;
      J[3 * k + (i + 2) % 3][(i + 1) % 3] = -at[i];
      J[3 * k + (i + 1) % 3][(i + 2) % 3] = at[i];
    }
  }
  for (int k = 0; k < 12; k++)
    for (int l = 0; l < 12 && site->point[k / 3] < 3; l++)
      for (int j = 0; j < 6 && site->point[l / 3] < 3; j++) T[k][j] += s->H[12 * k + l] * J[l][j];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < 12; k++) sum->H[TGI_LOWER(i, j)] += J[k][i] * T[k][j];
  sum->P += s->P;
}

// The same without a mollifier, at once in the twist: r turns and moves with A's closest point a, and what slides it along A turns with A,
//   D' = 2 n.a',  D'' = 2 (a'.a' + n.a'' - M K^-1 M'),  M_i = e_i.n' + n.e_i',  n = r or -r, from B to A                [math/barrier (99)]
static void add_distance(const tgReal x[12], const tgiDistanceSite *site, const tgiFeatures *c, const tgiDistanceLaw *law,
                         tgiPairSum *sum) {
  double sign = site->point[0] < 3 ? 1 : -1;
  tgReal a[3] = {0, 0, 0}, n[3], v[6], G[21], M[2][6], b[3];
  for (int k = 0; k < 4; k++)
    if (site->point[k] < 3) tgi_v3_axpy(a, sign * c->weight[k], x + 3 * k);
  tgi_v3_scale(n, c->r, sign);
  tgi_height(n, a, v, G);
  // a'.a' of w x a + v
  tgReal aa = tgi_v3_dot(a, a);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) G[TGI_LOWER(i, j)] += (i == j ? aa : 0) - a[i] * a[j];
    G[TGI_LOWER(3 + i, 3 + i)] += 1;
    G[TGI_LOWER(3 + (i + 2) % 3, (i + 1) % 3)] -= a[i];
    G[TGI_LOWER(3 + (i + 1) % 3, (i + 2) % 3)] += a[i];
  }
  for (int i = 0; i < c->nfree; i++) {
    bool of_a = false;
    tgReal turn[3];
    for (int k = 0; k < 4; k++) of_a = of_a || (c->slide[i][k] != 0 && site->point[k] < 3);
    tgi_v3_cross(M[i], a, c->e[i]);
    tgi_v3_copy(M[i] + 3, c->e[i]);
    tgi_v3_cross(turn, c->e[i], n);
    if (of_a) tgi_v3_add(M[i], M[i], turn);
  }
  for (int i = 0; i < c->nfree; i++)
    for (int j = 0; j < c->nfree; j++)
      for (int k = 0; k < 6; k++)
        for (int l = 0; l <= k; l++) G[TGI_LOWER(k, l)] -= M[i][k] * c->inverse[2 * i + j] * M[j][l];
  tgi_distance_barrier(c->D, law, b);
  sum->P += b[0];
  for (int i = 0; i < 6; i++) sum->g[i] += 2 * b[1] * v[i];
  tgi_sum_add(sum->H, 4 * b[2], v, 2 * b[1], G);
}

tgiDistanceAdded tgi_distance_add(const tgReal x[18], const tgiDistanceSite *site, const tgiTreeLaw *law, tgiPairSum *sum) {
  const tgiDistanceLaw distance = {.reach = law->local, .everywhere = law->everywhere};
  tgReal points[12];
  tgiFeatures c;
  points_of(x, site, points);
  if (site->edges) tgi_distance_of_edges(points, &c);
  else tgi_distance_of_point(points, &c);
  tgiDistanceAdded added = {.D = tgRe(c.D), .felt = law->everywhere || tgRe(c.D) < distance.reach * distance.reach};
  if (!added.felt || !(added.D > 0)) return added;
  added.tie = tgi_stencil_tie(points, site->edges, &c);
  tgiStencil s;
  if (tgi_stencil_plain(points, site->edges)) add_distance(points, site, &c, &distance, sum);
  else if (tgi_stencil(points, true, &distance, true, &s)) add_points(points, site, &s, sum);
  return added;
}

// the plane of the triangle t has all of u on one side
static bool parts(const double t[9], const double u[9]) {
  const double noise = 1e-12;
  double e[2][3], d[3], n[3], least = INFINITY, most = -INFINITY, size = 0;
  for (int i = 0; i < 3; i++) {
    e[0][i] = t[3 + i] - t[i];
    e[1][i] = t[6 + i] - t[i];
  }
  for (int i = 0; i < 3; i++) n[i] = e[0][(i + 1) % 3] * e[1][(i + 2) % 3] - e[0][(i + 2) % 3] * e[1][(i + 1) % 3];
  for (int k = 0; k < 9; k += 3) {
    double z = 0;
    for (int i = 0; i < 3; i++) {
      d[i] = u[k + i] - t[i];
      z += n[i] * d[i];
      size += fabs(n[i] * d[i]);
    }
    least = fmin(least, z);
    most = fmax(most, z);
  }
  return least > noise * size || most < -noise * size;
}

bool tgi_triangles_meet(const tgReal x[18]) {
  double a[18];
  for (int i = 0; i < 18; i++) a[i] = tgRe(x[i]);
  return !parts(a, a + 9) && !parts(a + 9, a) && !(tgi_triangle_triangle(a, a + 9).distance > 0);
}
