// tree_force.c: the recursion over two trees, or a tree and a half-space, that scatters forces with their rates. See
// tree_force.h; plain throughout.
#include "contact/barrier/tree/tree_link.h"

#include <string.h>

#include "contact/barrier/friction/friction_twist.h"
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/law.h"
#include "contact/barrier/pair/pair_local.h"
#include "contact/barrier/tree/distance_sites.h"
#include "contact/barrier/tree/local_sum.h"

// ---- scatter ----

static void open_points(const tgiForceRun *r) {
  for (int i = 0; i < r->t->npatch * (1 + r->nd); i++) r->t->room[i] = (tgiFrictionSum){0};
}

static void scatter_points(const tgiForceRun *r) {
  tgiFrictionPoint point, d[TGI_MOST_DIRECTIONS];
  for (int i = 0; i < r->t->npatch; i++) {
    const tgiFrictionSum *sum = r->t->room + i * (1 + r->nd);
    if (!tgi_friction_point(sum, &point)) continue;
    tgi_friction_point_d(sum, &point, r->nd, sum + 1, d);
    for (int j = 0; j < r->nd; j++) d[j].N = r->factor[0] * d[j].N + r->factor[1 + j] * point.N;
    point.N *= r->factor[0];
    r->t->point(r->t->ctx, &point, d);
  }
}

enum { ENDS = 2 };   // of a segment

// of one force, for friction; f.a and f.b in the world
static void rub(tgiForceRun *r, int patch, const tgiFrictionForce *f, const tgiFrictionForce *df, tgReal d, const tgReal *dd) {
  tgReal dN[TGI_MOST_DIRECTIONS];
  if (r->t->range > 0) {
    for (int j = 0; j < r->nd; j++) dN[j] = df[j].N;
    tgi_friction_share(r->share, r->t->range, f->N, d);
    tgi_friction_share_d(r->nd, r->share + 1, r->t->range, f->N, d, dN, dd);
  }
  if (r->t->point == NULL) return;
  tgiFrictionSum *sum = r->t->room + patch * (1 + r->nd);
  tgi_friction_add(sum, f);
  tgi_friction_add_d(r->nd, sum + 1, f, df);
}

// one force of a term in a patch of A, across the distance d; f.a and f.b relative to A's origin
static void scatter(tgiForceRun *r, int patch, tgiFrictionForce *f, const tgiFrictionForce *df, tgReal d, const tgReal *dd) {
  tgReal lever[3];
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
  rub(r, patch, f, df, d, dd);
}

// a link whose energy has the slope W c in D
static void scatter_link(tgiForceRun *r, int a, const tgiLink *l, const tgiLink *dl, tgReal W, const tgReal *dW,
                         tgReal c, const tgReal *dc) {
  tgiFrictionForce f = {.N = -W * c * l->nu}, df[TGI_MOST_DIRECTIONS];
  tgReal d = tgSqrt(l->D * l->D + l->m), dd[TGI_MOST_DIRECTIONS];
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
  scatter(r, r->t->patch[a], &f, df, d, dd);
}

// The force f of a segment as one at each of its ends x, in the shares that they have of it: on A a radius towards B, on B where the
// normal from there meets B's tangent plane at f->b. Together they are f.
static void scatter_ends(tgiForceRun *r, int a, const tgReal x[9], const tgReal dx[][9], const tgiFrictionForce *f,
                         const tgiFrictionForce *df, const tgReal share[2], const tgReal dshare[][2], tgReal d, const tgReal *dd) {
  const tgReal radius = r->t->A->round;
  for (int k = 0; k < ENDS; k++) {
    tgiFrictionForce end = {.N = share[k] * f->N}, dend[TGI_MOST_DIRECTIONS];
    tgReal up[3], height;
    tgi_v3_copy(end.n, f->n);
    tgi_v3_copy(end.a, x + 3 * k);
    tgi_v3_axpy(end.a, -radius, f->n);
    tgi_v3_sub(up, end.a, f->b);
    height = tgi_v3_dot(up, f->n);
    tgi_v3_copy(end.b, end.a);
    tgi_v3_axpy(end.b, -height, f->n);
    for (int j = 0; j < r->nd; j++) {
      tgReal dup[3], dround = tgi_force_round_rate(r, j, 0);
      dend[j].N = dshare[j][k] * f->N + share[k] * df[j].N;
      tgi_v3_copy(dend[j].n, df[j].n);
      for (int i = 0; i < 3; i++) dend[j].a[i] = dx[j][3 * k + i] - radius * df[j].n[i] - dround * f->n[i];
      tgi_v3_sub(dup, dend[j].a, df[j].b);
      tgReal dheight = tgi_v3_dot(dup, f->n) + tgi_v3_dot(up, df[j].n);
      for (int i = 0; i < 3; i++) dend[j].b[i] = dend[j].a[i] - dheight * f->n[i] - height * df[j].n[i];
    }
    scatter(r, r->t->patch[a] + 1 + k, &end, dend, d, dd);
  }
}

// ---- triangles ----

// forces on the vertices in the plane's form: c 1/m_k^2, c with the factor of friction
static void scatter_plane(const tgiForceRun *r, const tgReal x[18], const tgiPair *p, const tgiPairField field[],
                          const tgiPairForce *df, tgReal c, const tgReal *dc) {
  tgiFrictionPlane plane, d[TGI_MOST_DIRECTIONS];
  tgReal m[6];
  const tgReal half = (r->t->A->round + r->t->B->round) / 2;
  tgi_v3_copy(plane.n, p->u);
  for (int k = 0; k < 6; k++) {
    double side = k < 3 ? 1 : -1;
    m[k] = side * (tgi_v3_dot(p->u, x + 3 * k) + p->delta) - half;
    plane.f[k] = c / (m[k] * m[k]);
    tgi_v3_add(plane.x + 3 * k, x + 3 * k, r->t->A->origin);
  }
  for (int j = 0; j < r->nd; j++) {
    // the offset's rate from that of N = sum over A of 1/m^2
    const tgReal dhalf = (tgi_force_round_rate(r, j, 0) + tgi_force_round_rate(r, j, 1)) / 2;
    tgReal shift[6], Z = 0, gone = df[j].N;
    for (int k = 0; k < 6; k++) shift[k] = tgi_v3_dot(df[j].u, x + 3 * k) + tgi_v3_dot(p->u, field[j].x + 3 * k);
    for (int k = 0; k < 3; k++) {
      tgReal z = 2 / (m[k] * m[k] * m[k]);
      Z += z;
      gone += z * (shift[k] - dhalf);
    }
    tgReal ddelta = -gone / Z;
    tgi_v3_copy(d[j].n, df[j].u);
    memcpy(d[j].x, field[j].x, sizeof d[j].x);
    for (int k = 0; k < 6; k++) {
      double side = k < 3 ? 1 : -1;
      d[j].f[k] = (dc[j] - 2 * c * (side * (shift[k] + ddelta) - dhalf) / m[k]) / (m[k] * m[k]);
    }
  }
  r->t->plane(r->t->ctx, &plane, d);
}

// A pair of triangles solved: a cost S, of which the energy is f, its force, and its distance 12/S; of the short reach
// the distance is not asked for.
typedef struct Solved { tgiPairCores cores; tgiPair far; tgiPairLocal near; tgReal f[3], more[2], D, D1; } Solved;

static bool solve_triangles(const tgiForceRun *r, const tgReal x[18], Solved *p, tgiPairForce *force) {
  double reach = r->t->law.local;
  p->cores = tgi_pair_cores(r->t->A, r->t->B);
  if (reach > 0) {
    if (!tgi_pair_local_solve(x, &p->cores, reach, false, &p->near)) return false;
    tgi_pair_local_force(x, &p->cores, reach, &p->near, force);
    p->f[0] = p->near.P;
    p->f[1] = 1;
    p->f[2] = p->D = p->D1 = p->more[0] = p->more[1] = 0;
    return true;
  }
  if (!tgi_pair_solve(x, &p->cores, false, &p->far)) return false;
  tgi_pair_force(x, &p->cores, &p->far, force);
  tgi_law_pair(1, r->t->law.base, r->t->law.more, p->far.S, p->f);
  tgi_law_pair_more(1, p->far.S, p->more);
  p->D = 12 / p->far.S;
  p->D1 = -p->D / p->far.S;
  return true;
}

static void triangles_rate(const tgiForceRun *r, const tgReal x[18], const Solved *p, const tgiPairField *field, tgReal *dS,
                           tgiPairForce *df) {
  double reach = r->t->law.local;
  if (reach > 0) tgi_pair_local_rate_d(x, &p->cores, reach, &p->near, field, dS, NULL, df);
  else tgi_pair_rate_d(x, &p->cores, &p->far, field, dS, NULL, df);
}

// rates along the unit twists of A about the world origin, from those about A's own: about the origin a turn e also moves by e x origin
static void twist_rates(const tgiForceRun *r, const tgReal x[18], const Solved *p, tgReal dS[6], tgiPairForce df[6]) {
  double reach = r->t->law.local;
  const tgReal *g = reach > 0 ? p->near.g : p->far.g;
  if (reach > 0) tgi_pair_local_force_d(x, &p->cores, reach, &p->near, df); else tgi_pair_force_d(x, &p->cores, &p->far, df);
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
      for (int i = 0; i < 2; i++) df[j].share[i] += v[k] * df[3 + k].share[i];
    }
  }
}

static bool triangles(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  tgiPairField field[TGI_MOST_DIRECTIONS];
  tgReal x[18], dS[TGI_MOST_DIRECTIONS], c, dc[TGI_MOST_DIRECTIONS], dD[TGI_MOST_DIRECTIONS];
  tgReal wa = tgi_force_node_a(r, at)[TGI_NODE_W], wb = tgi_force_node_b(r, at)[TGI_NODE_W];
  Solved p;
  tgiPairForce pf, dpf[TGI_MOST_DIRECTIONS];
  tgiFrictionForce f, df[TGI_MOST_DIRECTIONS];
  tgi_force_vertices(r, 0, at.a, x);
  tgi_force_vertices(r, 1, at.b, x + 9);
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
    tgi_force_vertices_rate(r, j, 0, at.a, x, field[j].x);
    tgi_force_vertices_rate(r, j, 1, at.b, x + 9, field[j].x + 9);
    for (int side = 0; side < 2; side++) {
      field[j].radius[side] = tgi_force_round_rate(r, j, side);
      tgi_force_axes_rate(r, j, side, field[j].axes[side]);
    }
    triangles_rate(r, x, &p, &field[j], &dS[j], &dpf[j]);
  }
  for (int j = 0; j < r->nd; j++) {
    tgReal dw = tgi_force_number_rate(tgi_force_node_rate(r, j, 0, at.a), TGI_NODE_W) * wb +
                wa * tgi_force_number_rate(tgi_force_node_rate(r, j, 1, at.b), TGI_NODE_W);
    tgReal dmore = r->t->dir[j].more;
    out->d[j] += dw * p.f[0] + wa * wb * (p.f[1] * dS[j] + dmore * p.more[0]);
    dc[j] = (dW[j] * wa * wb + W * dw) * p.f[1] + W * wa * wb * (p.f[2] * dS[j] + dmore * p.more[1]);
    df[j].N = dc[j] * pf.N + c * dpf[j].N;
    dD[j] = p.D1 * dS[j];
    tgi_v3_copy(df[j].n, dpf[j].u);
    tgi_v3_copy(df[j].a, dpf[j].a);
    tgi_v3_copy(df[j].b, dpf[j].b);
  }
  if (p.cores.segment[0]) {
    tgReal dx[TGI_MOST_DIRECTIONS][9], dshare[TGI_MOST_DIRECTIONS][2];
    for (int j = 0; j < r->nd; j++) {
      tgi_force_vertices_rate(r, j, 0, at.a, x, dx[j]);
      memcpy(dshare[j], dpf[j].share, sizeof dshare[j]);
    }
    scatter_ends(r, at.a, x, (const tgReal(*)[9])dx, &f, df, pf.share, (const tgReal(*)[2])dshare, p.D, dD);
    return true;
  }
  scatter(r, r->t->patch[at.a], &f, df, p.D, dD);
  if (!r->planes) return true;
  for (int j = 0; j < r->nd; j++) dc[j] = r->factor[0] * dc[j] + r->factor[1 + j] * c;
  scatter_plane(r, x, &p.far, field, dpf, r->factor[0] * c, dc);
  return true;
}

// ---- distances ----

// what a stencil gives the gradient of the sum and its rates: the moment of the derivatives in A's points, and these. Besides the force
// between the closest points that is the couple of a mollifier.
static void add_stencil(tgiForceRun *r, const tgiDistanceSite *site, const tgiStencil *s, const tgReal x[12], tgReal W,
                        const tgReal dx[][12], const tgReal *dthreshold) {
  for (int k = 0; k < 4; k++) {
    tgReal at[3], F[3];
    if (site->point[k] >= 3) continue;
    tgi_v3_add(at, x + 3 * k, r->t->A->origin);
    tgi_v3_scale(F, s->g + 3 * k, W);
    tgi_friction_wrench(r->sum->g, at, 1, F);
    for (int j = 0; j < r->nd; j++) {
      tgReal dF[3], turn[3];
      for (int i = 0; i < 3; i++) {
        int row = 3 * k + i;
        dF[i] = s->g_by_threshold[row] * dthreshold[j];
        for (int l = 0; l < 12; l++) dF[i] += s->H[12 * row + l] * dx[j][l];
        dF[i] *= W;
      }
      tgi_friction_wrench(r->sum->dg[j], at, 1, dF);
      tgi_v3_cross(turn, dx[j] + 3 * k, F);
      tgi_v3_axpy(r->sum->dg[j], 1, turn);
    }
  }
}

// closest points: of A (where its weights have the sign `sign`) and of B, or rates of both
static void closest(const tgiDistanceSite *site, const tgReal weight[4], const tgReal x[12], double sign, tgReal a[3], tgReal b[3]) {
  for (int k = 0; k < 4; k++)
    if (site->point[k] < 3) tgi_v3_axpy(a, sign * weight[k], x + 3 * k);
    else tgi_v3_axpy(b, -sign * weight[k], x + 3 * k);
}

// The force of a stencil: N = -2 m b'(D) d along r/d on the first of its points. r: of the point of A from that of B times sign.
static void rub_stencil(tgiForceRun *r, int patch, const tgiDistanceSite *site, const tgiStencil *s, const tgReal x[12], tgReal W,
                        const tgReal dx[][12], const tgReal *dthreshold) {
  const tgiFeatures *c = &s->features;
  double sign = site->point[0] < 3 ? 1 : -1;
  tgReal d = tgSqrt(c->D), dd[TGI_MOST_DIRECTIONS];
  tgiFrictionForce f = {.N = -2 * W * s->m * s->b[1] * d}, df[TGI_MOST_DIRECTIONS];
  tgi_v3_scale(f.n, c->r, sign / d);
  tgi_v3_copy(f.a, r->t->A->origin);
  tgi_v3_copy(f.b, r->t->A->origin);
  closest(site, c->weight, x, sign, f.a, f.b);
  for (int j = 0; j < r->nd; j++) {
    tgReal dweight[4], dr[3] = {0, 0, 0}, dm = s->m_by_threshold * dthreshold[j];
    df[j] = (tgiFrictionForce){.N = 0};
    tgi_features_rate(c, dx[j], dweight);
    closest(site, dweight, x, sign, df[j].a, df[j].b);
    closest(site, c->weight, dx[j], sign, df[j].a, df[j].b);
    tgi_v3_sub(dr, df[j].a, df[j].b);
    dd[j] = tgi_v3_dot(f.n, dr);
    for (int k = 0; k < 12; k++) dm += s->m_g[k] * dx[j][k];
    df[j].N = -2 * W * (dm * s->b[1] * d + s->m * (2 * s->b[2] * c->D + s->b[1]) * dd[j]);
    for (int i = 0; i < 3; i++) df[j].n[i] = (dr[i] - dd[j] * f.n[i]) / d;
  }
  rub(r, patch, &f, df, d, dd);
}

static bool distances(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  const tgiWorldTree *A = r->t->A, *B = r->t->B;
  tgiDistanceSite site[TGI_MOST_SITES];
  tgReal x[18], dx[TGI_MOST_DIRECTIONS][18], dthreshold[TGI_MOST_DIRECTIONS];
  int n = tgi_distance_sites(A->owned[A->tree->tri[at.a]], B->owned[B->tree->tri[at.b]], site);
  (void)dW;   // 0: nothing is blended
  if (r->planes) return true;   // which are of triangles that have a plane between them
  tgi_force_vertices(r, 0, at.a, x);
  tgi_force_vertices(r, 1, at.b, x + 9);
  for (int j = 0; j < r->nd; j++) {
    tgi_force_vertices_rate(r, j, 0, at.a, x, dx[j]);
    tgi_force_vertices_rate(r, j, 1, at.b, x + 9, dx[j] + 9);
  }
  if (tgi_triangles_meet(x)) return false;
  for (int i = 0; i < n; i++) {
    tgiStencil s;
    tgReal y[12], dy[TGI_MOST_DIRECTIONS][12];
    if (!tgi_distance_stencil(x, &site[i], &r->t->law, r->nd > 0, &s)) continue;
    if (!(tgRe(s.features.D) > 0)) return false;
    for (int k = 0; k < 12; k++) y[k] = x[3 * site[i].point[k / 3] + k % 3];
    out->P += s.P;
    for (int j = 0; j < r->nd; j++) {
      for (int k = 0; k < 12; k++) dy[j][k] = dx[j][3 * site[i].point[k / 3] + k % 3];
      dthreshold[j] = site[i].edges ? tgi_mollifier_threshold_rate(y, dy[j]) : 0;
      out->d[j] += s.P_by_threshold * dthreshold[j];
      for (int k = 0; k < 12; k++) out->d[j] += s.g[k] * dy[j][k];
    }
    add_stencil(r, &site[i], &s, y, W, (const tgReal(*)[12])dy, dthreshold);
    rub_stencil(r, r->t->patch[at.a], &site[i], &s, y, W, (const tgReal(*)[12])dy, dthreshold);
  }
  return true;
}

// S, its derivatives in three heights, the energy f that it makes and its rates
static bool solve_heights(const tgiForceRun *r, int leaf, const tgReal z[3], tgiHeightPair *p, tgReal f[3], tgReal more[2]) {
  const tgiWorldTree *A = r->t->A;
  double reach = r->t->law.local;
  bool segment = A->surface->segment;
  if (!(reach > 0)) {
    if (!tgi_height_pair(z, segment, p)) return false;
    tgi_law_pair(1, r->t->law.base, r->t->law.more, p->S, f);
    tgi_law_pair_more(1, p->S, more);
    return true;
  }
  more[0] = more[1] = 0;
  *p = (tgiHeightPair){.S = 0};
  for (int k = 0; k < 3; k++) {
    tgReal b[3];
    if (!(tgRe(z[k]) > 0)) return false;
    double times = tgi_height_times(segment, k);
    if (r->t->law.distances) times = A->owned[A->tree->tri[leaf]] >> k & TGI_OWN_VERTEX;
    tgi_local_height(z[k], &r->t->law, b);
    p->S += times * b[0];
    p->d[k] = times * b[1];
    p->D[4 * k] = times * b[2];
  }
  f[0] = p->S;
  f[1] = 1;
  f[2] = 0;
  return true;
}

// corners of a triangle, of an ellipsoid its point with the plane's normal; and their rates
static void lowest_corners(const tgiForceRun *r, int leaf, tgReal x[9]) {
  tgReal axes[9], at[3];
  tgi_force_vertices(r, 0, leaf, x);
  if (!r->t->A->surface->oval) return;
  tgi_world_axes(r->t->A->vert, axes);
  tgi_oval_point(axes, r->t->n, at);
  for (int k = 0; k < 9; k++) x[k] -= at[k % 3];
}
static void lowest_corners_rate(const tgiForceRun *r, int j, int leaf, tgReal dx[9]) {
  tgReal x[9], axes[9], daxes[9], dat[3];
  tgi_force_vertices(r, 0, leaf, x);
  tgi_force_vertices_rate(r, j, 0, leaf, x, dx);
  if (!r->t->A->surface->oval) return;
  tgi_world_axes(r->t->A->vert, axes);
  tgi_force_axes_rate(r, j, 0, daxes);
  tgi_oval_point_d(axes, daxes, r->t->n, dat);
  for (int k = 0; k < 9; k++) dx[k] -= dat[k % 3];
}

static bool triangle_on_plane(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  const tgReal *n = r->t->n;
  tgReal x[9], z[3], law[3], more[2], w = tgi_force_node_a(r, at)[TGI_NODE_W], N = 0, c, dD[TGI_MOST_DIRECTIONS];
  tgiHeightPair p;
  tgiFrictionForce f, df[TGI_MOST_DIRECTIONS];
  lowest_corners(r, at.a, x);
  for (int k = 0; k < 3; k++) z[k] = r->t->height + tgi_v3_dot(n, x + 3 * k) - r->t->A->round;
  if (!solve_heights(r, at.a, z, &p, law, more)) return false;
  if (tgZero(p.d[0]) && tgZero(p.d[1]) && tgZero(p.d[2])) return true;   // nothing is within reach
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
  tgReal mean[3];
  tgi_v3_copy(mean, f.a);
  tgi_v3_axpy(f.a, -r->t->A->round, n);
  tgi_force_foot(r, f.a, r->t->height + tgi_v3_dot(n, f.a), f.b);
  bool far = !r->t->law.distances;
  const tgReal D = far ? 12 / p.S : r->t->height + tgi_v3_dot(n, f.a);
  tgReal dx[TGI_MOST_DIRECTIONS][9], share[2] = {-p.d[0] / N, -p.d[1] / N}, dshare[TGI_MOST_DIRECTIONS][2];
  for (int j = 0; j < r->nd; j++) {
    tgReal dy[3], dz[3], dS = 0, dN = 0, dw = tgi_force_number_rate(tgi_force_node_rate(r, j, 0, at.a), TGI_NODE_W);
    lowest_corners_rate(r, j, at.a, dx[j]);
    for (int k = 0; k < 3; k++) {
      dz[k] = tgi_v3_dot(n, dx[j] + 3 * k) - tgi_force_round_rate(r, j, 0);
      dS += p.d[k] * dz[k];
    }
    tgi_v3_zero(df[j].a);
    for (int k = 0; k < 3; k++) {
      dy[k] = -(p.D[3 * k] * dz[0] + p.D[3 * k + 1] * dz[1] + p.D[3 * k + 2] * dz[2]);
      dN += dy[k];
      for (int i = 0; i < 3; i++) df[j].a[i] += (dy[k] * (x[3 * k + i] - mean[i]) - p.d[k] * dx[j][3 * k + i]) / N;
    }
    for (int k = 0; k < 2; k++) dshare[j][k] = (dy[k] - share[k] * dN) / N;
    tgi_v3_axpy(df[j].a, -tgi_force_round_rate(r, j, 0), n);
    tgReal dmore = r->t->dir[j].more;
    out->d[j] += dw * law[0] + w * (law[1] * dS + dmore * more[0]);
    df[j].N = ((dW[j] * w + W * dw) * law[1] + W * w * (law[2] * dS + dmore * more[1])) * N + c * dN;
    tgi_v3_zero(df[j].n);
    tgi_force_foot(r, df[j].a, tgi_v3_dot(n, df[j].a), df[j].b);
    dD[j] = far ? -12 * dS / (p.S * p.S) : tgi_v3_dot(n, df[j].a);
  }
  if (r->t->A->surface->segment)
    scatter_ends(r, at.a, x, (const tgReal(*)[9])dx, &f, df, share, (const tgReal(*)[2])dshare, D, dD);
  else
    scatter(r, r->t->patch[at.a], &f, df, D, dD);
  return true;
}

// ---- going down ----

typedef bool (*Below)(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out);

// the link's value where it is far, what lies below where it is near, both between
static bool blended(tgiForceRun *r, tgiForceItem at, const tgiLink *l, const tgiLink *dl, tgReal W, const tgReal *dW,
                    tgiForceValue *out, Below below) {
  double eps = r->t->law.eps;
  if (tgi_link_is_near(r, l)) return below(r, at, W, dW, out);
  tgiForceValue C;
  tgReal slope, dslope[TGI_MOST_DIRECTIONS];
  tgi_link_value(r, l, dl, &C, &slope, dslope);
  if (tgRe(l->D) >= tgRe(l->d1) * (1 + eps)) {
    out->P += C.P;
    for (int j = 0; j < r->nd; j++) out->d[j] += C.d[j];
    scatter_link(r, at.a, l, dl, W, dW, slope, dslope);
    return true;
  }
  tgReal b[3], width = eps * l->d1, ds[TGI_MOST_DIRECTIONS], dV[TGI_MOST_DIRECTIONS];
  tgi_law_blend((l->D - l->d1) / width, b);
  for (int j = 0; j < r->nd; j++) {
    ds[j] = (dl[j].D - l->D * dl[j].d1 / l->d1) / width;
    dV[j] = dW[j] * (1 - b[0]) - W * b[1] * ds[j];
  }
  tgiForceValue A = {.P = 0};
  if (!below(r, at, W * (1 - b[0]), dV, &A)) return false;
  tgReal less = C.P - A.P, c = b[0] * slope + less * b[1] / width, dc[TGI_MOST_DIRECTIONS];
  out->P += A.P + b[0] * less;
  for (int j = 0; j < r->nd; j++) {
    tgReal dless = C.d[j] - A.d[j];
    out->d[j] += A.d[j] + b[0] * dless + b[1] * ds[j] * less;
    dc[j] = b[1] * ds[j] * slope + b[0] * dslope[j] + (dless * b[1] + less * (b[2] * ds[j] - b[1] * dl[j].d1 / l->d1)) / width;
  }
  scatter_link(r, at.a, l, dl, W, dW, c, dc);
  return true;
}

static bool visit(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out);

static bool children(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  const int *ca = r->t->A->tree->child + 2 * (size_t)at.a, *cb = r->t->B != NULL ? r->t->B->tree->child + 2 * (size_t)at.b : NULL;
  int na = ca[0] >= 0 ? 2 : 1, nb = cb != NULL && cb[0] >= 0 ? 2 : 1;
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++)
      if (!visit(r, (tgiForceItem){na == 2 ? ca[i] : at.a, nb == 2 ? cb[j] : at.b, at.before}, W, dW, out)) return false;
  return true;
}

// below two spheres that are near
static bool below_spheres(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  if (tgi_force_leaf_a(r, at) && tgi_force_leaf_b(r, at))
    return r->t->law.distances ? distances(r, at, W, dW, out) : triangles(r, at, W, dW, out);
  const tgiTreeLaw *law = &r->t->law;
  int side = law->brute || law->local > 0 ? -1 : tgi_small_side(r->t->A, r->t->B, law, at.a, at.b);
  tgiLink l, dl[TGI_MOST_DIRECTIONS];
  at.before = side >= 0;
  if (side < 0 || !tgi_point_link(r, at, side, &l, dl)) return children(r, at, W, dW, out);
  return blended(r, at, &l, dl, W, dW, out, children);
}

static bool below_height(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  return tgi_force_leaf_a(r, at) ? triangle_on_plane(r, at, W, dW, out) : children(r, at, W, dW, out);
}

// nothing of the local barrier lies under the pair
static bool out_of_reach(const tgiForceRun *r, const tgiLink *l) {
  const tgiTreeLaw *law = &r->t->law;
  return tgRe(l->D - l->d1) >= tgi_local_ends(law, r->t->B == NULL);
}

static bool visit(tgiForceRun *r, tgiForceItem at, tgReal W, const tgReal *dW, tgiForceValue *out) {
  const tgiForceTask *t = r->t;
  tgiLink l, dl[TGI_MOST_DIRECTIONS];
  Below below = t->B != NULL ? below_spheres : below_height;
  if (at.before) return below(r, at, W, dW, out);
  if (t->B != NULL) tgi_cluster_link(r, at, &l, dl); else tgi_height_link(r, at, &l, dl);
  if (t->law.local > 0) return out_of_reach(r, &l) || below(r, at, W, dW, out);
  return blended(r, at, &l, dl, W, dW, out, below);
}

int tgi_force_patches(const tgiSurface *surface, const tgiTree *tree, const double *radius, double size, int *patch) {
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
  return surface->segment ? n + ENDS : n;
}

static int unit_twists(const tgiForceTask *t) {
  for (int j = 0; j < 6; j++) {
    if (j >= t->nd || t->dir[j].node[0] != NULL || t->dir[j].node[1] != NULL || t->dir[j].vert[0] != NULL || t->dir[j].vert[1] != NULL)
      return 0;
    for (int i = 0; i < 6; i++)
      if (!tgZero(t->dir[j].twist[i] - (i == j ? 1 : 0))) return 0;
  }
  return 6;
}

bool tgi_tree_force(const tgiForceTask *task, tgiForceSum *sum) {
  tgiForceRun r = {.t = task, .nd = task->nd, .ntwist = unit_twists(task), .sum = sum};
  tgiForceValue out = {.P = 0};
  const tgReal none[TGI_MOST_DIRECTIONS] = {0};
  if (task->B != NULL) tgi_v3_sub(r.shift, task->B->origin, task->A->origin);
  *sum = (tgiForceSum){.P = 0};
  if (task->point != NULL) open_points(&r);
  if (!visit(&r, (tgiForceItem){0, 0, false}, task->mu, none, &out)) return false;
  sum->P = task->mu * out.P;
  for (int j = 0; j < r.nd; j++) sum->dP[j] = task->mu * out.d[j];
  r.factor[0] = 1;
  if (task->range > 0) r.factor[0] = tgi_friction_factor(r.share, r.nd, r.share + 1, r.factor + 1);
  if (!(tgRe(r.factor[0]) > 0)) return true;
  if (task->point != NULL) scatter_points(&r);
  r.planes = task->plane != NULL;
  return !r.planes || visit(&r, (tgiForceItem){0, 0, false}, task->mu, none, &out);
}

void tgi_world_tree_rates(const tgiWorldTree *world, const tgiTreeNumbers *d, const tgReal R[9], tgReal *node, tgReal *vert) {
  for (size_t k = 0; k < (size_t)world->tree->nnode; k++) {
    tgReal *x = node + k * TGI_NODE_SIZE;
    tgi_m3_mulv(x, R, d->centre + 3 * k);
    x[TGI_NODE_R] = d->radius[k];
    x[TGI_NODE_W] = d->weight[k];
    x[TGI_NODE_M] = d->moment[k];
  }
  for (size_t k = 0; k < (size_t)world->surface->nvert; k++) tgi_m3_mulv(vert + 3 * k, R, d->vert + 3 * k);
}
