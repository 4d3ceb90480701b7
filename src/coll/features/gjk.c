// gjk.c: nearest vertices of two convex cores. See gjk.h.
#include "coll/features/gjk.h"
#include <string.h>

enum { STEPS = 64, POINTS = 96, FACES = 2 * POINTS };

typedef struct Simplex {
  tgiSupport p[4];
  int count;
} Simplex;

// vertex of X - Y with the least n.w; hints carry the last vertices found
typedef struct Query {
  const tgiConvex *X, *Y;
  int hint_x, hint_y;
  double scale;
} Query;

static double lowest(Query *Q, const double *n, tgiSupport *p) {
  double m[3] = {-n[0], -n[1], -n[2]}, x[3], y[3];
  tgi_convex_support_from(Q->X, n, Q->hint_x, &p->x);
  tgi_convex_support_from(Q->Y, m, Q->hint_y, &p->y);
  Q->hint_x = p->x;
  Q->hint_y = p->y;
  tgi_convex_vertex(Q->X, p->x, x);
  tgi_convex_vertex(Q->Y, p->y, y);
  tgi_d3_sub(p->w, x, y);
  return tgi_d3_dot(n, p->w);
}

// ---- the point of a simplex nearest to the origin; the simplex shrinks to the vertices that carry it

static void keep1(Simplex *S, int i, double *v) {
  S->p[0] = S->p[i];
  S->count = 1;
  memcpy(v, S->p[0].w, 3 * sizeof *v);
}
static void keep2(Simplex *S, int i, int j, double t, double *v) {
  tgiSupport a = S->p[i], b = S->p[j];
  double d[3];
  S->p[0] = a;
  S->p[1] = b;
  S->count = 2;
  tgi_d3_sub(d, b.w, a.w);
  tgi_d3_along(v, a.w, t, d);
}

static void nearest_segment(Simplex *S, int i, int j, double *v) {
  double d[3];
  tgi_d3_sub(d, S->p[j].w, S->p[i].w);
  double dd = tgi_d3_dot(d, d), t = dd > 0 ? -tgi_d3_dot(d, S->p[i].w) / dd : 0;
  if (t <= 0) keep1(S, i, v);
  else if (t >= 1) keep1(S, j, v);
  else keep2(S, i, j, t, v);
}

// triangle i j k: inside when the origin is on the inner side of all three edges, else the nearest of its edges
static void nearest_triangle(Simplex *S, int i, int j, int k, double *v) {
  const tgiSupport p[3] = {S->p[i], S->p[j], S->p[k]};
  double e[3], f[3], n[3], c[3], best = INFINITY;
  tgi_d3_sub(e, p[1].w, p[0].w);
  tgi_d3_sub(f, p[2].w, p[0].w);
  tgi_d3_cross(n, e, f);
  double nn = tgi_d3_dot(n, n);
  bool inside = nn > 1e-24 * tgi_d3_dot(e, e) * tgi_d3_dot(f, f);
  for (int a = 0; a < 3 && inside; a++) {
    tgi_d3_sub(e, p[(a + 1) % 3].w, p[a].w);
    tgi_d3_cross(c, e, n);                            // out of the triangle
    inside = tgi_d3_dot(c, p[a].w) >= 0;
  }
  if (inside) {
    double h = tgi_d3_dot(n, p[0].w) / nn;
    for (int a = 0; a < 3; a++) v[a] = h * n[a];
    memcpy(S->p, p, sizeof p);
    S->count = 3;
    return;
  }
  for (int a = 0; a < 3; a++) {
    Simplex T = {.p = {p[a], p[(a + 1) % 3]}, .count = 2};
    double u[3];
    nearest_segment(&T, 0, 1, u);
    double d = tgi_d3_dot(u, u);
    if (d < best) { best = d; *S = T; memcpy(v, u, 3 * sizeof *v); }
  }
}

// the nearest of the faces that the origin is outside of; true (v = 0) when it is outside of none
static bool nearest_tetrahedron(Simplex *S, double *v) {
  static const int face[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
  double best = INFINITY;
  Simplex result = *S;
  for (int k = 0; k < 4; k++) {
    const double *a = S->p[face[k][0]].w, *b = S->p[face[k][1]].w, *c = S->p[face[k][2]].w, *d = S->p[face[k][3]].w;
    double e[3], f[3], n[3], r[3], u[3];
    tgi_d3_sub(e, b, a);
    tgi_d3_sub(f, c, a);
    tgi_d3_cross(n, e, f);
    tgi_d3_sub(r, d, a);
    double in = tgi_d3_dot(n, r), origin = -tgi_d3_dot(n, a);
    if (in != 0 && in * origin > 0) continue;
    Simplex T = *S;
    nearest_triangle(&T, face[k][0], face[k][1], face[k][2], u);
    double dd = tgi_d3_dot(u, u);
    if (dd < best) { best = dd; result = T; memcpy(v, u, 3 * sizeof *v); }
  }
  if (best == INFINITY) return true;
  *S = result;
  return false;
}

static bool reduce(Simplex *S, double *v) {
  switch (S->count) {
    case 1: memcpy(v, S->p[0].w, 3 * sizeof *v); return false;
    case 2: nearest_segment(S, 0, 1, v); return false;
    case 3: nearest_triangle(S, 0, 1, 2, v); return false;
    default: return nearest_tetrahedron(S, v);
  }
}

// ---- depth: grow a polytope inside X - Y from the tetrahedron round the origin, always at its nearest face

typedef struct Face {
  int v[3];
  double n[3], d;           // outward unit normal, distance of its plane from the origin
  bool alive;
} Face;
typedef struct Grown {
  tgiSupport p[POINTS];
  Face f[FACES];
  int npoint, nface, used;  // used: places of faces before this one are taken
} Grown;

static bool add_face(Grown *G, int i, int j, int k, double scale) {
  int slot = G->used;
  while (slot < G->nface && G->f[slot].alive) slot++;
  if (slot == FACES) return false;
  G->used = slot + 1;
  if (slot == G->nface) G->nface++;
  Face *F = &G->f[slot];
  double e[3], f[3];
  tgi_d3_sub(e, G->p[j].w, G->p[i].w);
  tgi_d3_sub(f, G->p[k].w, G->p[i].w);
  tgi_d3_cross(F->n, e, f);
  double len = tgi_d3_norm(F->n);
  F->v[0] = i;
  F->v[1] = j;
  F->v[2] = k;
  F->alive = true;
  if (!(len > 1e-14 * scale * scale)) return false;   // a sliver has no normal
  for (int a = 0; a < 3; a++) F->n[a] /= len;
  F->d = tgi_d3_dot(F->n, G->p[i].w);
  return F->d > -1e-12 * scale;
}

static bool start_growing(Grown *G, const Simplex *S, double scale) {
  static const int face[4][3] = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};
  double e[3], f[3], g[3], n[3];
  G->npoint = 4;
  G->nface = G->used = 0;
  memcpy(G->p, S->p, sizeof S->p);
  tgi_d3_sub(e, G->p[1].w, G->p[0].w);
  tgi_d3_sub(f, G->p[2].w, G->p[0].w);
  tgi_d3_sub(g, G->p[3].w, G->p[0].w);
  tgi_d3_cross(n, e, f);
  if (tgi_d3_dot(n, g) > 0) {                          // face 0 1 2 has to look away from 3
    tgiSupport t = G->p[1];
    G->p[1] = G->p[2];
    G->p[2] = t;
  }
  for (int k = 0; k < 4; k++)
    if (!add_face(G, face[k][0], face[k][1], face[k][2], scale)) return false;
  return true;
}

// one closed loop through each of its vertices once
static bool one_loop(int rim[][2], int n) {
  int at = 0, steps = 0;
  for (int m = 0; m < n; m++)
    for (int k = m + 1; k < n; k++)
      if (rim[m][0] == rim[k][0]) return false;
  do {
    int next = 0;
    while (next < n && rim[next][0] != rim[at][1]) next++;
    if (next == n || ++steps > n) return false;
    at = next;
  } while (at != 0);
  return steps == n && n >= 3;
}

// The rim of the faces that see the point from more than `above` their planes, which are dead then. False: it is not one loop; they live.
static bool cut_out(Grown *G, const double *w, double above, int rim[][2], int *count) {
  int dead[FACES], ndead = 0, n = 0;
  bool room = true;
  for (int k = 0; k < G->nface && room; k++) {
    Face *F = &G->f[k];
    if (!F->alive || !(tgi_d3_dot(F->n, w) > F->d + above)) continue;
    F->alive = false;
    if (k < G->used) G->used = k;
    dead[ndead++] = k;
    for (int a = 0; a < 3 && room; a++) {              // an edge met from both sides is inside the hole
      int i = F->v[a], j = F->v[(a + 1) % 3], m = 0;
      while (m < n && !(rim[m][0] == j && rim[m][1] == i)) m++;
      if (m < n) {
        n--;
        rim[m][0] = rim[n][0];
        rim[m][1] = rim[n][1];
      } else if (n < FACES) {
        rim[n][0] = i;
        rim[n][1] = j;
        n++;
      } else room = false;
    }
  }
  *count = n;
  if (room && n > 0 && one_loop(rim, n)) return true;
  for (int k = 0; k < ndead; k++) G->f[dead[k]].alive = true;
  return false;
}

// Replaces the faces that the new point sees by a fan from their rim. The surface stays closed as long as the rim is one
// loop; with the origin on the inner side of every face the nearest plane then bounds the depth. Faces in whose planes the point lies
// are seen or not by rounding, which may tear the rim: then none of them is, or all.
static bool grow(Grown *G, const tgiSupport *p, double scale) {
  static const double above[] = {0, 1e-12, -1e-12};
  int rim[FACES][2], n = 0;
  bool cut = false;
  if (G->npoint == POINTS) return false;
  G->p[G->npoint] = *p;
  for (int k = 0; k < 3 && !cut; k++) cut = cut_out(G, p->w, above[k] * scale, rim, &n);
  if (!cut) return false;
  for (int m = 0; m < n; m++)
    if (!add_face(G, rim[m][0], rim[m][1], G->npoint, scale)) return false;
  G->npoint++;
  return true;
}

static tgiNearest deepest(Query *Q, const Simplex *S) {
  tgiNearest R = {.kind = TGI_NEAREST_UNSURE, .count = 3};
  Grown G;
  tgiSupport p;
  if (!start_growing(&G, S, Q->scale)) return R;
  for (int step = 0; step < POINTS; step++) {
    int best = -1;
    for (int k = 0; k < G.nface; k++)
      if (G.f[k].alive && (best < 0 || G.f[k].d < G.f[best].d)) best = k;
    if (best < 0) return R;
    Face F = G.f[best];
    double n[3] = {-F.n[0], -F.n[1], -F.n[2]};
    Q->hint_x = G.p[F.v[0]].x;   // a corner of the face is near what is beyond it
    Q->hint_y = G.p[F.v[0]].y;
    if (-lowest(Q, n, &p) > F.d + 1e-11 * Q->scale) {
      if (!grow(&G, &p, Q->scale)) return R;
      continue;
    }
    for (int k = 0; k < G.nface; k++)
      R.tie = R.tie || (G.f[k].alive && G.f[k].d < F.d + TGI_TIE * Q->scale && tgi_d3_dot(G.f[k].n, F.n) < 1 - 1e-9);
    for (int a = 0; a < 3; a++) R.p[a] = G.p[F.v[a]];
    R.s = -F.d;
    R.kind = TGI_NEAREST_FOUND;
    return R;
  }
  return R;
}

tgiNearest tgi_nearest(const tgiConvex *X, const tgiConvex *Y, const double *n, double reach) {
  tgiNearest R = {.kind = TGI_NEAREST_UNSURE};
  Query Q = {X, Y, 0, 0, X->radius + Y->radius};
  Simplex S = {.count = 1};
  double v[3];
  lowest(&Q, n, &S.p[0]);
  for (int step = 0; step < STEPS; step++) {
    if (reduce(&S, v)) return deepest(&Q, &S);
    double vv = tgi_d3_dot(v, v), len = sqrt(vv);
    if (len < 1e-10 * Q.scale) return R;               // touching: no direction to be had here
    tgiSupport p;
    double low = lowest(&Q, v, &p);
    if (low > reach * len && low > 0) {
      R.kind = TGI_NEAREST_BEYOND;
      R.s = low / len;
      return R;
    }
    bool old = false;
    for (int k = 0; k < S.count; k++) old = old || (S.p[k].x == p.x && S.p[k].y == p.y);
    if (old || vv - low <= 1e-14 * vv) {
      if (vv - low > 1e-9 * len * Q.scale) return R;   // stopped by rounding short of the goal
      R.kind = TGI_NEAREST_FOUND;
      R.count = S.count;
      for (int k = 0; k < S.count; k++) R.p[k] = S.p[k];
      R.s = len;
      return R;
    }
    S.p[S.count++] = p;
  }
  return R;
}

// as tgi_nearest without vertices to name: stops when the plane through the support point is as far as the simplex, to the accuracy
bool tgi_direction(const tgiConvex *X, const tgiConvex *Y, const double *shift, double shrink, double accuracy, double *n) {
  Simplex S = {.count = 0};
  double v[3], m[3], x[3], y[3], scale = X->radius + Y->radius;
  int at_x = 0, at_y = 0;
  memcpy(v, n, sizeof v);
  for (int step = 0; step < STEPS; step++) {
    tgiSupport p = {.x = step, .y = step};
    for (int i = 0; i < 3; i++) m[i] = -v[i];
    tgi_convex_lowest(X, v, shrink, &at_x, x);
    tgi_convex_lowest(Y, m, shrink, &at_y, y);
    for (int i = 0; i < 3; i++) p.w[i] = x[i] + shift[i] - y[i];
    double low = tgi_d3_dot(v, p.w), vv = tgi_d3_dot(v, v);
    bool old = false;
    for (int k = 0; k < S.count; k++) {
      double d[3];
      tgi_d3_sub(d, p.w, S.p[k].w);
      old = old || tgi_d3_norm(d) < 1e-12 * scale;
    }
    if (S.count > 0 && (old || vv - low <= accuracy * vv)) break;
    S.p[S.count++] = p;
    if (reduce(&S, v) || tgi_d3_norm(v) < 1e-9 * scale) return false;
  }
  double len = tgi_d3_norm(v);
  for (int i = 0; i < 3; i++) n[i] = v[i] / len;
  return true;
}
