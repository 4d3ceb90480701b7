// tree_force.c: the recursion over two trees, or a tree and a half-space, that hands out forces. See tree_force.h; plain throughout.
#include "contact/barrier/tree_force.h"

#include <string.h>

#include "contact/barrier/friction_twist.h"
#include "contact/barrier/halfspace.h"
#include "contact/barrier/law.h"
#include "contact/barrier/local_sum.h"
#include "contact/barrier/pair_local.h"

enum { DIRECTIONS = TGI_MOST_DIRECTIONS };

// Two nodes, a node and a triangle, or a node and a plane, as far as a cluster's value knows them: distance D along n between the points a and b;
// its gradient is nu (a x n; n). Value w (base + h(D^2 + m)); blended from D = d1 on.
typedef struct Link { tgReal D, n[3], a[3], b[3], nu, w, m, d1; } Link;

// value of what lies under a pair of nodes, with its rates
typedef struct Value { tgReal P, d[DIRECTIONS]; } Value;

typedef struct Run {
  const tgiForceTask *t;
  int nd, ntwist;           // directions; of these the first are the unit twists of A and nothing else: 6 or 0
  tgReal shift[3];          // of B's origin from A's; positions here are relative to A's
  tgiForceSum *sum;
  tgiFrictionShare share[1 + DIRECTIONS];   // of what is nearby, and its rates
  tgReal factor[1 + DIRECTIONS];            // of friction, once all forces are known
  bool planes;              // a second time, for the planes alone
} Run;

// before: below a node that met a triangle as a point; it no longer asks its spheres (tree_pair.c)
typedef struct Item { int a, b; bool before; } Item;

static const tgReal *node_a(const Run *r, Item at) { return r->t->A->node + (size_t)at.a * TGI_NODE_SIZE; }
static const tgReal *node_b(const Run *r, Item at) { return r->t->B->node + (size_t)at.b * TGI_NODE_SIZE; }
static bool leaf_a(const Run *r, Item at) { return r->t->A->tree->tri[at.a] >= 0; }
static bool leaf_b(const Run *r, Item at) { return r->t->B->tree->tri[at.b] >= 0; }

// ---- rates of the shapes along direction j ----

// of a point of A at x: the twist's, and `own` (NULL: none)
static void moved_a(const Run *r, int j, const tgReal x[3], const tgReal *own, tgReal dx[3]) {
  const tgReal *twist = r->t->dir[j].twist;
  tgReal world[3];
  tgi_v3_add(world, x, r->t->A->origin);
  tgi_v3_cross(dx, twist, world);
  for (int i = 0; i < 3; i++) dx[i] += twist[3 + i] + (own != NULL ? own[i] : 0);
}

static void moved_b(const tgReal *own, tgReal dx[3]) {
  for (int i = 0; i < 3; i++) dx[i] = own != NULL ? own[i] : 0;
}

static const tgReal *node_rate(const Run *r, int j, int side, int k) {
  const tgReal *node = r->t->dir[j].node[side];
  return node != NULL ? node + (size_t)k * TGI_NODE_SIZE : NULL;
}

static tgReal number_rate(const tgReal *node, int which) { return node != NULL ? node[which] : 0; }

static void vertices(const Run *r, int side, int leaf, tgReal x[9]) {
  const tgiPosed *p = side == 0 ? r->t->A : r->t->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[3 * k + i] = p->vert[3 * (size_t)face[k] + i] + (side == 0 ? 0 : r->shift[i]);
}

static void vertices_rate(const Run *r, int j, int side, int leaf, const tgReal x[9], tgReal dx[9]) {
  const tgiPosed *p = side == 0 ? r->t->A : r->t->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  const tgReal *vert = r->t->dir[j].vert[side];
  for (int k = 0; k < 3; k++) {
    const tgReal *own = vert != NULL ? vert + 3 * (size_t)face[k] : NULL;
    if (side == 0) moved_a(r, j, x + 3 * k, own, dx + 3 * k); else moved_b(own, dx + 3 * k);
  }
}

// ---- handing out ----

static void open_points(const Run *r) {
  for (int i = 0; i < r->t->npatch * (1 + r->nd); i++) r->t->room[i] = (tgiFrictionSum){0};
}

static void hand_points(const Run *r) {
  tgiFrictionPoint point, d[DIRECTIONS];
  for (int i = 0; i < r->t->npatch; i++) {
    const tgiFrictionSum *sum = r->t->room + i * (1 + r->nd);
    if (!tgi_friction_point(sum, &point)) continue;
    tgi_friction_point_d(sum, &point, r->nd, sum + 1, d);
    for (int j = 0; j < r->nd; j++) d[j].N = r->factor[0] * d[j].N + r->factor[1 + j] * point.N;
    point.N *= r->factor[0];
    r->t->point(r->t->ctx, &point, d);
  }
}

// one force of a term whose node of A is a and whose distance is d; f.a and f.b relative to A's origin
static void press(Run *r, int a, tgiFrictionForce *f, const tgiFrictionForce *df, tgReal d, const tgReal *dd) {
  tgReal lever[3], dN[DIRECTIONS];
  if (r->planes) return;
  tgi_v3_add(f->a, f->a, r->t->A->origin);
  tgi_v3_add(f->b, f->b, r->t->A->origin);
  tgi_friction_wrench(r->sum->g, f->a, -1, (tgReal[3]){f->N * f->n[0], f->N * f->n[1], f->N * f->n[2]});
  for (int j = 0; j < r->nd; j++) {
    tgReal F[3], dF[3];
    for (int i = 0; i < 3; i++) {
      F[i] = f->N * f->n[i];
      dF[i] = df[j].N * f->n[i] + f->N * df[j].n[i];
    }
    tgi_friction_wrench(r->sum->dg[j], f->a, -1, dF);
    tgi_v3_cross(lever, df[j].a, F);
    tgi_v3_axpy(r->sum->dg[j], -1, lever);
  }
  if (r->t->range > 0) {
    for (int j = 0; j < r->nd; j++) dN[j] = df[j].N;
    tgi_friction_share(r->share, r->t->range, f->N, d);
    tgi_friction_share_d(r->nd, r->share + 1, r->t->range, f->N, d, dN, dd);
  }
  if (r->t->point == NULL) return;
  tgiFrictionSum *sum = r->t->room + r->t->patch[a] * (1 + r->nd);
  tgi_friction_add(sum, f);
  tgi_friction_add_d(r->nd, sum + 1, f, df);
}

// a link whose energy has the slope W c in D
static void press_link(Run *r, int a, const Link *l, const Link *dl, tgReal W, const tgReal *dW, tgReal c, const tgReal *dc) {
  tgiFrictionForce f = {.N = -W * c * l->nu}, df[DIRECTIONS];
  tgReal d = tgSqrt(l->D * l->D + l->m), dd[DIRECTIONS];
  tgi_v3_copy(f.n, l->n);
  tgi_v3_copy(f.a, l->a);
  tgi_v3_copy(f.b, l->b);
  for (int j = 0; j < r->nd; j++) {
    df[j].N = -(dW[j] * c * l->nu + W * dc[j] * l->nu + W * c * dl[j].nu);
    tgi_v3_copy(df[j].n, dl[j].n);
    tgi_v3_copy(df[j].a, dl[j].a);
    tgi_v3_copy(df[j].b, dl[j].b);
    dd[j] = (l->D * dl[j].D + 0.5 * dl[j].m) / d;
  }
  press(r, a, &f, df, d, dd);
}

// ---- links: their rates only where they are not near ----

static bool is_near(const Run *r, const Link *l) { return r->t->law->brute || r->t->law->local > 0 || tgRe(l->D) <= tgRe(l->d1); }

static void unit_rate(const Link *l, const tgReal e[3], Link *dl) {
  dl->D = tgi_v3_dot(e, l->n);
  for (int i = 0; i < 3; i++) dl->n[i] = (e[i] - l->n[i] * dl->D) / l->D;
}

static void cluster_link(const Run *r, Item at, Link *l, Link *dl) {
  const tgReal *x = node_a(r, at), *y = node_b(r, at);
  const tgiTreeLaw *law = r->t->law;
  double s = TGI_ONE_SIDED * TGI_ONE_SIDED, sa = law->one_sided[0] ? s : 1, sb = law->one_sided[1] ? s : 1;
  tgReal e[3];
  tgi_v3_copy(l->a, x);
  tgi_v3_add(l->b, y, r->shift);
  tgi_v3_sub(e, l->a, l->b);
  l->D = tgi_v3_unit(l->n, e);
  l->nu = 1;
  l->w = x[TGI_NODE_W] * y[TGI_NODE_W];
  l->m = sa * x[TGI_NODE_M] + sb * y[TGI_NODE_M];
  l->d1 = x[TGI_NODE_R] + y[TGI_NODE_R];
  for (int j = 0; j < r->nd && !is_near(r, l); j++) {
    const tgReal *da = node_rate(r, j, 0, at.a), *db = node_rate(r, j, 1, at.b);
    moved_a(r, j, x, da, dl[j].a);
    moved_b(db, dl[j].b);
    tgi_v3_sub(e, dl[j].a, dl[j].b);
    unit_rate(l, e, &dl[j]);
    dl[j].nu = 0;
    dl[j].w = number_rate(da, TGI_NODE_W) * y[TGI_NODE_W] + x[TGI_NODE_W] * number_rate(db, TGI_NODE_W);
    dl[j].m = sa * number_rate(da, TGI_NODE_M) + sb * number_rate(db, TGI_NODE_M);
    dl[j].d1 = number_rate(da, TGI_NODE_R) + number_rate(db, TGI_NODE_R);
  }
}

// a node of `side`, as a point three times, and a triangle of the other; false: no plane between them
static bool point_link(const Run *r, Item at, int side, Link *l, Link *dl) {
  tgReal x[18], *own = x + 9 * side, *other = x + 9 * (1 - side);
  const tgReal *node = side == 0 ? node_a(r, at) : node_b(r, at), *face = side == 0 ? node_b(r, at) : node_a(r, at);
  int k = side == 0 ? at.a : at.b, leaf = side == 0 ? at.b : at.a;
  double s = TGI_ONE_SIDED * TGI_ONE_SIDED;
  tgiPair p;
  tgiPairForce f, df;
  for (int i = 0; i < 9; i++) own[i] = node[i % 3] + (side == 0 ? 0 : r->shift[i % 3]);
  vertices(r, 1 - side, leaf, other);
  if (!tgi_pair_solve(x, false, &p)) return false;
  tgi_pair_force(x, &p, &f);
  l->D = 12 / p.S;
  l->nu = 12 * f.N / (p.S * p.S);
  tgi_v3_copy(l->n, f.u);
  tgi_v3_copy(l->a, f.a);
  tgi_v3_copy(l->b, f.b);
  l->w = node[TGI_NODE_W] * face[TGI_NODE_W];
  l->m = s * node[TGI_NODE_M];
  l->d1 = TGI_ONE_SIDED * node[TGI_NODE_R];
  for (int j = 0; j < r->nd && !is_near(r, l); j++) {
    const tgReal *dn = node_rate(r, j, side, k), *dt = node_rate(r, j, 1 - side, leaf);
    tgReal dx[18], dS, v[3];
    if (side == 0) moved_a(r, j, own, dn, v); else moved_b(dn, v);
    for (int i = 0; i < 9; i++) dx[9 * side + i] = v[i % 3];
    vertices_rate(r, j, 1 - side, leaf, other, dx + 9 * (1 - side));
    tgi_pair_rate_d(x, &p, dx, &dS, NULL, &df);
    dl[j].D = -l->D * dS / p.S;
    dl[j].nu = 12 * df.N / (p.S * p.S) - 2 * l->nu * dS / p.S;
    tgi_v3_copy(dl[j].n, df.u);
    tgi_v3_copy(dl[j].a, df.a);
    tgi_v3_copy(dl[j].b, df.b);
    dl[j].w = number_rate(dn, TGI_NODE_W) * face[TGI_NODE_W] + node[TGI_NODE_W] * number_rate(dt, TGI_NODE_W);
    dl[j].m = s * number_rate(dn, TGI_NODE_M);
    dl[j].d1 = TGI_ONE_SIDED * number_rate(dn, TGI_NODE_R);
  }
  return true;
}

// rates of a's foot on the plane, b = a - z n
static void foot(const Run *r, const tgReal a[3], tgReal z, tgReal b[3]) {
  tgi_v3_copy(b, a);
  tgi_v3_axpy(b, -z, r->t->n);
}

static void height_link(const Run *r, Item at, Link *l, Link *dl) {
  const tgReal *x = node_a(r, at);
  tgi_v3_copy(l->a, x);
  tgi_v3_copy(l->n, r->t->n);
  l->D = r->t->height + tgi_v3_dot(l->n, x);
  foot(r, l->a, l->D, l->b);
  l->nu = 1;
  l->w = x[TGI_NODE_W];
  l->m = 0;
  l->d1 = x[TGI_NODE_R];
  for (int j = 0; j < r->nd && !is_near(r, l); j++) {
    const tgReal *da = node_rate(r, j, 0, at.a);
    moved_a(r, j, x, da, dl[j].a);
    dl[j].D = tgi_v3_dot(l->n, dl[j].a);
    foot(r, dl[j].a, dl[j].D, dl[j].b);
    tgi_v3_zero(dl[j].n);
    dl[j].nu = dl[j].m = 0;
    dl[j].w = number_rate(da, TGI_NODE_W);
    dl[j].d1 = number_rate(da, TGI_NODE_R);
  }
}

// value and slope in D of a link's cluster, with rates
static void cluster_value(const Run *r, const Link *l, const Link *dl, Value *C, tgReal *slope, tgReal *dslope) {
  tgReal f[3];
  tgi_law_cluster(1, r->t->law->base, l->D * l->D + l->m, f);
  C->P = l->w * f[0];
  *slope = 2 * l->D * l->w * f[1];
  for (int j = 0; j < r->nd; j++) {
    tgReal dz = 2 * l->D * dl[j].D + dl[j].m;
    C->d[j] = dl[j].w * f[0] + l->w * f[1] * dz;
    dslope[j] = 2 * (dl[j].D * l->w * f[1] + l->D * (dl[j].w * f[1] + l->w * f[2] * dz));
  }
}

// ---- triangles ----

// forces on the vertices in the plane's form: c 1/m_k^2, c with the factor of friction
static void hand_plane(const Run *r, const tgReal x[18], const tgiPair *p, const tgReal dx[][18], const tgiPairForce *df, tgReal c,
                       const tgReal *dc) {
  tgiFrictionPlane plane, d[DIRECTIONS];
  tgReal m[6];
  tgi_v3_copy(plane.n, p->u);
  for (int k = 0; k < 6; k++) {
    m[k] = (k < 3 ? 1 : -1) * (tgi_v3_dot(p->u, x + 3 * k) + p->delta);
    plane.f[k] = c / (m[k] * m[k]);
    tgi_v3_add(plane.x + 3 * k, x + 3 * k, r->t->A->origin);
  }
  for (int j = 0; j < r->nd; j++) {
    // the offset's rate from that of N = sum over A of 1/m^2
    tgReal rise[6], Z = 0, gone = df[j].N;
    for (int k = 0; k < 6; k++) rise[k] = tgi_v3_dot(df[j].u, x + 3 * k) + tgi_v3_dot(p->u, dx[j] + 3 * k);
    for (int k = 0; k < 3; k++) {
      tgReal z = 2 / (m[k] * m[k] * m[k]);
      Z += z;
      gone += z * rise[k];
    }
    tgReal ddelta = -gone / Z;
    tgi_v3_copy(d[j].n, df[j].u);
    memcpy(d[j].x, dx[j], sizeof d[j].x);
    for (int k = 0; k < 6; k++) d[j].f[k] = (dc[j] - 2 * c * (k < 3 ? 1 : -1) * (rise[k] + ddelta) / m[k]) / (m[k] * m[k]);
  }
  r->t->plane(r->t->ctx, &plane, d);
}

// A pair of triangles solved: a cost S, of which the energy is f, its force, and its distance 12/S; of the short reach the distance is not asked for.
typedef struct Solved { tgiPair far; tgiPairLocal near; tgReal f[3], D, D1; } Solved;

static bool solve_triangles(const Run *r, const tgReal x[18], Solved *p, tgiPairForce *force) {
  double reach = r->t->law->local;
  if (reach > 0) {
    if (!tgi_pair_local_solve(x, reach, false, &p->near)) return false;
    tgi_pair_local_force(x, reach, &p->near, force);
    p->f[0] = p->near.P;
    p->f[1] = 1;
    p->f[2] = p->D = p->D1 = 0;
    return true;
  }
  if (!tgi_pair_solve(x, false, &p->far)) return false;
  tgi_pair_force(x, &p->far, force);
  tgi_law_pair(1, r->t->law->base, p->far.S, p->f);
  p->D = 12 / p->far.S;
  p->D1 = -p->D / p->far.S;
  return true;
}

static void triangles_rate(const Run *r, const tgReal x[18], const Solved *p, const tgReal dx[18], tgReal *dS, tgiPairForce *df) {
  double reach = r->t->law->local;
  if (reach > 0) tgi_pair_local_rate_d(x, reach, &p->near, dx, dS, NULL, df);
  else tgi_pair_rate_d(x, &p->far, dx, dS, NULL, df);
}

// rates along the unit twists of A about the world origin, from those about A's own: about the origin a turn e also moves by e x origin
static void twist_rates(const Run *r, const tgReal x[18], const Solved *p, tgReal dS[6], tgiPairForce df[6]) {
  double reach = r->t->law->local;
  const tgReal *g = reach > 0 ? p->near.g : p->far.g;
  if (reach > 0) tgi_pair_local_force_d(x, reach, &p->near, df); else tgi_pair_force_d(x, &p->far, df);
  for (int j = 0; j < 6; j++) dS[j] = g[j];
  for (int j = 0; j < 3; j++) {
    tgReal e[3] = {0}, v[3];
    e[j] = 1;
    tgi_v3_cross(v, e, r->t->A->origin);
    for (int k = 0; k < 3; k++) {
      dS[j] += v[k] * g[3 + k];
      df[j].N += v[k] * df[3 + k].N;
      tgi_v3_axpy(df[j].u, v[k], df[3 + k].u);
      tgi_v3_axpy(df[j].a, v[k], df[3 + k].a);
      tgi_v3_axpy(df[j].b, v[k], df[3 + k].b);
    }
  }
}

static bool triangles(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  tgReal x[18], dx[DIRECTIONS][18], dS[DIRECTIONS], c, dc[DIRECTIONS], dD[DIRECTIONS];
  tgReal wa = node_a(r, at)[TGI_NODE_W], wb = node_b(r, at)[TGI_NODE_W];
  Solved p;
  tgiPairForce pf, dpf[DIRECTIONS];
  tgiFrictionForce f, df[DIRECTIONS];
  vertices(r, 0, at.a, x);
  vertices(r, 1, at.b, x + 9);
  if (!solve_triangles(r, x, &p, &pf)) return false;
  c = W * wa * wb * p.f[1];
  out->P += wa * wb * p.f[0];
  f.N = c * pf.N;
  tgi_v3_copy(f.n, pf.u);
  tgi_v3_copy(f.a, pf.a);
  tgi_v3_copy(f.b, pf.b);
  // the plane's form also asks for the vertices' own rates
  int quick = r->planes ? 0 : r->ntwist;
  if (quick > 0) twist_rates(r, x, &p, dS, dpf);
  for (int j = quick; j < r->nd; j++) {
    vertices_rate(r, j, 0, at.a, x, dx[j]);
    vertices_rate(r, j, 1, at.b, x + 9, dx[j] + 9);
    triangles_rate(r, x, &p, dx[j], &dS[j], &dpf[j]);
  }
  for (int j = 0; j < r->nd; j++) {
    tgReal dw = number_rate(node_rate(r, j, 0, at.a), TGI_NODE_W) * wb + wa * number_rate(node_rate(r, j, 1, at.b), TGI_NODE_W);
    out->d[j] += dw * p.f[0] + wa * wb * p.f[1] * dS[j];
    dc[j] = (dW[j] * wa * wb + W * dw) * p.f[1] + W * wa * wb * p.f[2] * dS[j];
    df[j].N = dc[j] * pf.N + c * dpf[j].N;
    dD[j] = p.D1 * dS[j];
    tgi_v3_copy(df[j].n, dpf[j].u);
    tgi_v3_copy(df[j].a, dpf[j].a);
    tgi_v3_copy(df[j].b, dpf[j].b);
  }
  press(r, at.a, &f, df, p.D, dD);
  if (!r->planes) return true;
  for (int j = 0; j < r->nd; j++) dc[j] = r->factor[0] * dc[j] + r->factor[1 + j] * c;
  hand_plane(r, x, &p.far, (const tgReal(*)[18])dx, dpf, r->factor[0] * c, dc);
  return true;
}

// S, its derivatives in three heights and the energy f that it makes
static bool solve_heights(const Run *r, const tgReal z[3], tgiHeightPair *p, tgReal f[3]) {
  double reach = r->t->law->local;
  if (!(reach > 0)) {
    if (!tgi_height_pair(z, p)) return false;
    tgi_law_pair(1, r->t->law->base, p->S, f);
    return true;
  }
  *p = (tgiHeightPair){.S = 0};
  for (int k = 0; k < 3; k++) {
    tgReal b[3];
    if (!(tgRe(z[k]) > 0)) return false;
    tgi_local_barrier(z[k], reach, b);
    p->S += b[0];
    p->d[k] = b[1];
    p->D[4 * k] = b[2];
  }
  f[0] = p->S;
  f[1] = 1;
  f[2] = 0;
  return true;
}

static bool triangle_on_plane(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  const tgReal *n = r->t->n;
  tgReal x[9], z[3], law[3], w = node_a(r, at)[TGI_NODE_W], N = 0, c, dD[DIRECTIONS];
  tgiHeightPair p;
  tgiFrictionForce f, df[DIRECTIONS];
  vertices(r, 0, at.a, x);
  for (int k = 0; k < 3; k++) z[k] = r->t->height + tgi_v3_dot(n, x + 3 * k);
  if (!solve_heights(r, z, &p, law)) return false;
  if (tgZero(p.S)) return true;
  out->P += w * law[0];
  c = W * w * law[1];
  tgi_v3_copy(f.n, n);
  tgi_v3_zero(f.a);
  for (int k = 0; k < 3; k++) {
    N -= p.d[k];
    tgi_v3_axpy(f.a, -p.d[k], x + 3 * k);
  }
  tgi_v3_scale(f.a, f.a, 1 / N);
  f.N = c * N;
  foot(r, f.a, r->t->height + tgi_v3_dot(n, f.a), f.b);
  for (int j = 0; j < r->nd; j++) {
    tgReal dx[9], dz[3], dS = 0, dN = 0, dw = number_rate(node_rate(r, j, 0, at.a), TGI_NODE_W);
    vertices_rate(r, j, 0, at.a, x, dx);
    for (int k = 0; k < 3; k++) {
      dz[k] = tgi_v3_dot(n, dx + 3 * k);
      dS += p.d[k] * dz[k];
    }
    tgi_v3_zero(df[j].a);
    for (int k = 0; k < 3; k++) {
      tgReal dy = -(p.D[3 * k] * dz[0] + p.D[3 * k + 1] * dz[1] + p.D[3 * k + 2] * dz[2]);
      dN += dy;
      for (int i = 0; i < 3; i++) df[j].a[i] += (dy * (x[3 * k + i] - f.a[i]) - p.d[k] * dx[3 * k + i]) / N;
    }
    out->d[j] += dw * law[0] + w * law[1] * dS;
    df[j].N = ((dW[j] * w + W * dw) * law[1] + W * w * law[2] * dS) * N + c * dN;
    tgi_v3_zero(df[j].n);
    foot(r, df[j].a, tgi_v3_dot(n, df[j].a), df[j].b);
    dD[j] = -12 * dS / (p.S * p.S);
  }
  press(r, at.a, &f, df, 12 / p.S, dD);
  return true;
}

// ---- going down ----

typedef bool (*Below)(Run *r, Item at, tgReal W, const tgReal *dW, Value *out);

// the link's value where it is far, what lies below where it is near, both between
static bool blended(Run *r, Item at, const Link *l, const Link *dl, tgReal W, const tgReal *dW, Value *out, Below below) {
  double eps = r->t->law->eps;
  if (is_near(r, l)) return below(r, at, W, dW, out);
  Value C;
  tgReal slope, dslope[DIRECTIONS];
  cluster_value(r, l, dl, &C, &slope, dslope);
  if (tgRe(l->D) >= tgRe(l->d1) * (1 + eps)) {
    out->P += C.P;
    for (int j = 0; j < r->nd; j++) out->d[j] += C.d[j];
    press_link(r, at.a, l, dl, W, dW, slope, dslope);
    return true;
  }
  tgReal b[3], width = eps * l->d1, ds[DIRECTIONS], dV[DIRECTIONS];
  tgi_law_blend((l->D - l->d1) / width, b);
  for (int j = 0; j < r->nd; j++) {
    ds[j] = (dl[j].D - l->D * dl[j].d1 / l->d1) / width;
    dV[j] = dW[j] * (1 - b[0]) - W * b[1] * ds[j];
  }
  Value A = {.P = 0};
  if (!below(r, at, W * (1 - b[0]), dV, &A)) return false;
  tgReal less = C.P - A.P, c = b[0] * slope + less * b[1] / width, dc[DIRECTIONS];
  out->P += A.P + b[0] * less;
  for (int j = 0; j < r->nd; j++) {
    tgReal dless = C.d[j] - A.d[j];
    out->d[j] += A.d[j] + b[0] * dless + b[1] * ds[j] * less;
    dc[j] = b[1] * ds[j] * slope + b[0] * dslope[j] + (dless * b[1] + less * (b[2] * ds[j] - b[1] * dl[j].d1 / l->d1)) / width;
  }
  press_link(r, at.a, l, dl, W, dW, c, dc);
  return true;
}

static bool visit(Run *r, Item at, tgReal W, const tgReal *dW, Value *out);

static bool children(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  const int *ca = r->t->A->tree->child + 2 * (size_t)at.a, *cb = r->t->B != NULL ? r->t->B->tree->child + 2 * (size_t)at.b : NULL;
  int na = ca[0] >= 0 ? 2 : 1, nb = cb != NULL && cb[0] >= 0 ? 2 : 1;
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++)
      if (!visit(r, (Item){na == 2 ? ca[i] : at.a, nb == 2 ? cb[j] : at.b, at.before}, W, dW, out)) return false;
  return true;
}

static int small_side(const Run *r, Item at) {
  const tgiPosed *A = r->t->A, *B = r->t->B;
  const tgiTreeLaw *law = r->t->law;
  if (law->brute || law->local > 0) return -1;
  if (law->one_sided[0] && leaf_b(r, at) && !leaf_a(r, at) && A->nominal[at.a] <= 0.5 * B->nominal[at.b]) return 0;
  if (law->one_sided[1] && leaf_a(r, at) && !leaf_b(r, at) && B->nominal[at.b] <= 0.5 * A->nominal[at.a]) return 1;
  return -1;
}

// below two spheres that are near
static bool below_spheres(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  if (leaf_a(r, at) && leaf_b(r, at)) return triangles(r, at, W, dW, out);
  int side = small_side(r, at);
  Link l, dl[DIRECTIONS];
  at.before = side >= 0;
  if (side < 0 || !point_link(r, at, side, &l, dl)) return children(r, at, W, dW, out);
  return blended(r, at, &l, dl, W, dW, out, children);
}

static bool below_height(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  return leaf_a(r, at) ? triangle_on_plane(r, at, W, dW, out) : children(r, at, W, dW, out);
}

// nothing of the local barrier lies under the pair
static bool out_of_reach(const Run *r, const Link *l) {
  const tgiTreeLaw *law = r->t->law;
  return tgRe(l->D - l->d1) >= (r->t->B != NULL ? tgi_local_reach(law->local) : law->local);
}

static bool visit(Run *r, Item at, tgReal W, const tgReal *dW, Value *out) {
  const tgiForceTask *t = r->t;
  Link l, dl[DIRECTIONS];
  Below below = t->B != NULL ? below_spheres : below_height;
  if (at.before) return below(r, at, W, dW, out);
  if (t->B != NULL) cluster_link(r, at, &l, dl); else height_link(r, at, &l, dl);
  if (t->law->local > 0) return out_of_reach(r, &l) || below(r, at, W, dW, out);
  return blended(r, at, &l, dl, W, dW, out, below);
}

int tgi_force_patches(const tgiTree *tree, const double *radius, double size, int *patch) {
  int n = 0;
  for (int k = 0; k < tree->nnode; k++) patch[k] = -1;
  // parents stand before their children
  for (int k = 0; k < tree->nnode; k++) {
    if (patch[k] < 0) patch[k] = n++;
    const int *child = tree->child + 2 * (size_t)k;
    if (child[0] < 0) continue;
    bool inner = radius[k] <= size;
    for (int i = 0; i < 2 && inner; i++) patch[child[i]] = patch[k];
  }
  return n;
}

static int unit_twists(const tgiForceTask *t) {
  for (int j = 0; j < 6; j++) {
    if (j >= t->nd || t->dir[j].node[0] != NULL || t->dir[j].node[1] != NULL || t->dir[j].vert[0] != NULL || t->dir[j].vert[1] != NULL) return 0;
    for (int i = 0; i < 6; i++)
      if (!tgZero(t->dir[j].twist[i] - (i == j ? 1 : 0))) return 0;
  }
  return 6;
}

bool tgi_tree_force(const tgiForceTask *task, tgiForceSum *sum) {
  Run r = {.t = task, .nd = task->nd, .ntwist = unit_twists(task), .sum = sum};
  Value out = {.P = 0};
  const tgReal none[DIRECTIONS] = {0};
  if (task->B != NULL) tgi_v3_sub(r.shift, task->B->origin, task->A->origin);
  *sum = (tgiForceSum){.P = 0};
  if (task->point != NULL) open_points(&r);
  if (!visit(&r, (Item){0, 0, false}, task->mu, none, &out)) return false;
  sum->P = task->mu * out.P;
  for (int j = 0; j < r.nd; j++) sum->dP[j] = task->mu * out.d[j];
  r.factor[0] = 1;
  if (task->range > 0) r.factor[0] = tgi_friction_factor(r.share, r.nd, r.share + 1, r.factor + 1);
  if (!(tgRe(r.factor[0]) > 0)) return true;
  if (task->point != NULL) hand_points(&r);
  r.planes = task->plane != NULL;
  return !r.planes || visit(&r, (Item){0, 0, false}, task->mu, none, &out);
}

void tgi_posed_rates(const tgiPosed *posed, const tgiTreeNumbers *d, const tgReal R[9], tgReal *node, tgReal *vert) {
  for (size_t k = 0; k < (size_t)posed->tree->nnode; k++) {
    tgReal *x = node + k * TGI_NODE_SIZE;
    tgi_m3_mulv(x, R, d->centre + 3 * k);
    x[TGI_NODE_R] = d->radius[k];
    x[TGI_NODE_W] = d->weight[k];
    x[TGI_NODE_M] = d->moment[k];
  }
  for (size_t k = 0; k < (size_t)posed->surface->nvert; k++) tgi_m3_mulv(vert + 3 * k, R, d->vert + 3 * k);
}
