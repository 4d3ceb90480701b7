// rule.c: contact point, normal and gap of a chosen feature pair, with derivatives.
//
// Based on: [math/collision Rules].
// Only the twist of A is differentiated, six columns: B's follow from rigid motion of both, under which p moves as a
// material point, n turns and the gap stays:  D_B = (w x p + v, w x n, 0) - D_A.
#include "coll/rule.h"

// columns of one twist component k: rates of a material point and of a direction of the moving body
static void rate_point(tgReal *dx, const tgReal *x, int k) {
  tgi_v3_zero(dx);
  if (k >= 3) { dx[k - 3] = 1; return; }
  int i = (k + 1) % 3, j = (k + 2) % 3;        // e_k cross x
  dx[j] = x[i];
  dx[i] = -x[j];
}
static void rate_dir(tgReal *du, const tgReal *u, int k) {
  tgi_v3_zero(du);
  if (k < 3) rate_point(du, u, k);
}

// stores column k of A's block and completes B's
static void store(tgContactPoint *c, int k, const tgReal *dp, const tgReal *dn, tgReal dgap) {
  tgReal tp[3], tn[3];
  rate_point(tp, c->p, k);
  rate_dir(tn, c->n, k);
  for (int i = 0; i < 3; i++) {
    c->D[i][k] = dp[i];
    c->D[i][6 + k] = tp[i] - dp[i];
    c->D[3 + i][k] = dn[i];
    c->D[3 + i][6 + k] = tn[i] - dn[i];
  }
  c->D[6][k] = dgap;
  c->D[6][6 + k] = -dgap;
}

// du <- (1 - n n') du / len: rate of unit(x) from that of x
static void rate_unit(tgReal *dn, const tgReal *n, const tgReal *dx, tgReal len) {
  tgReal along = tgi_v3_dot(n, dx);
  for (int i = 0; i < 3; i++) dn[i] = (dx[i] - along * n[i]) / len;
}

// parameters of the closest points from  u.u s - u.w t = -g1,  u.w s - w.w t = -g2; an absent line has parameter 0
typedef struct Gram { tgReal uu, uw, ww, det; bool a, b; } Gram;

static Gram gram(const tgiCore *A, const tgiCore *B) {
  Gram G = {0};
  G.a = A->line;
  G.b = B->line;
  if (G.a) G.uu = tgi_v3_dot(A->u, A->u);
  if (G.b) G.ww = tgi_v3_dot(B->u, B->u);
  if (G.a && G.b) {
    tgReal N[3];
    tgi_v3_cross(N, A->u, B->u);
    G.uw = tgi_v3_dot(A->u, B->u);
    G.det = tgi_v3_dot(N, N);
  }
  return G;
}
static void gram_solve(const Gram *G, tgReal g1, tgReal g2, tgReal *s, tgReal *t) {
  *s = *t = 0;
  if (G->a && G->b) {
    *s = (G->uw * g2 - G->ww * g1) / G->det;
    *t = (G->uu * g2 - G->uw * g1) / G->det;
  } else if (G->a) {
    *s = -g1 / G->uu;
  } else if (G->b) {
    *t = g2 / G->ww;
  }
}

// p = a + lambda (b - a) + kappa n
static void weights(const tgiCore *A, const tgiCore *B, tgReal *lambda, tgReal *kappa) {
  *kappa = 0;
  *lambda = 0.5;
  if (A->round && B->round && tgRe(A->r + B->r) > 0) {
    *lambda = A->r / (A->r + B->r);
  } else if (A->round && !B->round) {
    *lambda = 0;
    *kappa = -A->r;
  } else if (B->round && !A->round) {
    *lambda = 1;
    *kappa = B->r;
  }
}

void tgi_rule_cores(tgContactPoint *c, const tgiCore *A, const tgiCore *B, tgiNormal kind, double side,
                    const double *given, bool derivatives) {
  tgReal a[3], b[3], r[3], N[3], s, t, len = 1, lambda, kappa;
  Gram G = gram(A, B);
  tgi_v3_sub(r, A->x, B->x);
  gram_solve(&G, G.a ? tgi_v3_dot(A->u, r) : 0, G.b ? tgi_v3_dot(B->u, r) : 0, &s, &t);
  tgi_v3_copy(a, A->x);
  tgi_v3_copy(b, B->x);
  if (G.a) tgi_v3_axpy(a, s, A->u);
  if (G.b) tgi_v3_axpy(b, t, B->u);
  tgi_v3_sub(r, a, b);
  if (kind == TGI_NORMAL_CLOSEST) {
    len = tgi_v3_unit(c->n, r);
  } else if (kind == TGI_NORMAL_CROSS) {
    tgi_v3_cross(N, A->u, B->u);
    tgi_v3_scale(N, N, side);
    len = tgi_v3_unit(c->n, N);
  } else {
    for (int i = 0; i < 3; i++) c->n[i] = given[i];
  }
  c->gap = tgi_v3_dot(c->n, r) - A->r - B->r;
  weights(A, B, &lambda, &kappa);
  for (int i = 0; i < 3; i++) c->p[i] = a[i] + lambda * (b[i] - a[i]) + kappa * c->n[i];
  if (!derivatives) return;
  for (int k = 0; k < 6; k++) {
    tgReal da[3], du[3] = {0}, dn[3] = {0}, dr[3], dp[3], ds, dt, g1 = 0, g2 = 0;
    rate_point(da, a, k);                          // of the material point now at a
    if (G.a) {
      rate_dir(du, A->u, k);
      g1 = tgi_v3_dot(du, r) + tgi_v3_dot(A->u, da);
    }
    if (G.b) g2 = tgi_v3_dot(B->u, da);
    gram_solve(&G, g1, g2, &ds, &dt);
    tgi_v3_copy(dr, da);
    if (G.a) { tgi_v3_axpy(dr, ds, A->u); tgi_v3_axpy(da, ds, A->u); }
    if (G.b) tgi_v3_axpy(dr, -dt, B->u);
    if (kind == TGI_NORMAL_CLOSEST) {
      rate_unit(dn, c->n, dr, len);
    } else if (kind == TGI_NORMAL_CROSS) {
      tgReal dN[3];
      tgi_v3_cross(dN, du, B->u);
      tgi_v3_scale(dN, dN, side);
      rate_unit(dn, c->n, dN, len);
    }
    for (int i = 0; i < 3; i++) dp[i] = da[i] - lambda * dr[i] + kappa * dn[i];
    // n'r vanishes: r is along n, or n' is 0
    store(c, k, dp, dn, tgi_v3_dot(c->n, dr));
  }
}

// n from B to A: the reference face's normal, turned round when the reference is A
static void face_normal(tgContactPoint *c, const tgiFace *F) { tgi_v3_scale(c->n, F->n, F->r_is_a ? -1 : 1); }

void tgi_rule_face_point(tgContactPoint *c, const tgiFace *F, const tgReal *x, tgReal r, bool derivatives) {
  tgReal y[3];
  tgi_v3_sub(y, x, F->s);
  face_normal(c, F);
  c->gap = tgi_v3_dot(F->n, y) - r;
  for (int i = 0; i < 3; i++) c->p[i] = x[i] - r * F->n[i];
  if (!derivatives) return;
  for (int k = 0; k < 6; k++) {
    tgReal dx[3] = {0}, dn[3] = {0}, dp[3], v[3];
    rate_point(v, x, k);
    tgReal dgap = tgi_v3_dot(c->n, v);             // envelope: n.(velocity of A at x), of either body
    if (F->r_is_a) rate_dir(dn, F->n, k); else tgi_v3_copy(dx, v);
    for (int i = 0; i < 3; i++) dp[i] = dx[i] - r * dn[i];
    if (F->r_is_a) tgi_v3_scale(dn, dn, -1);
    store(c, k, dp, dn, dgap);
  }
}

void tgi_rule_face_edge(tgContactPoint *c, const tgiFace *F, const tgReal *e, const tgReal *g, const tgReal *b,
                        const tgReal *w, tgReal r, bool derivatives) {
  tgReal m[3], x[3], y[3], z[3];
  tgi_v3_cross(m, g, F->n);                        // normal of the side plane, not of unit length
  tgi_v3_sub(y, e, b);
  tgReal mw = tgi_v3_dot(m, w), t = tgi_v3_dot(m, y) / mw;
  tgi_v3_copy(x, b);
  tgi_v3_axpy(x, t, w);
  tgi_v3_sub(y, x, F->s);
  tgi_v3_sub(z, x, e);
  face_normal(c, F);
  c->gap = tgi_v3_dot(F->n, y) - r;
  for (int i = 0; i < 3; i++) c->p[i] = x[i] - r * F->n[i];
  if (!derivatives) return;
  for (int k = 0; k < 6; k++) {
    tgReal dx[3] = {0}, ds[3] = {0}, de[3] = {0}, dm[3] = {0}, dn[3] = {0}, dp[3];
    if (F->r_is_a) {
      rate_point(ds, F->s, k);
      rate_point(de, e, k);
      rate_dir(dm, m, k);
      rate_dir(dn, F->n, k);
    } else {
      rate_point(dx, x, k);                        // of the material point of the line now at x
    }
    // m.(x - e) = 0:  dt = -[m.(dx - de) + dm.(x - e)]/(m.w); the point slides along the line by dt w
    tgReal dt = -(tgi_v3_dot(m, dx) - tgi_v3_dot(m, de) + tgi_v3_dot(dm, z)) / mw;
    tgi_v3_axpy(dx, dt, w);
    tgReal dgap = tgi_v3_dot(dn, y) + tgi_v3_dot(F->n, dx) - tgi_v3_dot(F->n, ds);
    for (int i = 0; i < 3; i++) dp[i] = dx[i] - r * dn[i];
    if (F->r_is_a) tgi_v3_scale(dn, dn, -1);
    store(c, k, dp, dn, dgap);
  }
}

void tgi_rule_face_corner(tgContactPoint *c, const tgiFace *F, const tgReal *e, const tgReal *m, const tgReal *q,
                          bool derivatives) {
  tgReal y[3];
  tgi_v3_sub(y, q, e);
  tgReal mn = tgi_v3_dot(m, F->n), h = tgi_v3_dot(m, y) / mn;
  face_normal(c, F);
  c->gap = h;
  for (int i = 0; i < 3; i++) c->p[i] = e[i] + h * F->n[i];
  if (!derivatives) return;
  tgi_v3_sub(y, c->p, q);
  for (int k = 0; k < 6; k++) {
    tgReal de[3] = {0}, dn[3] = {0}, dm[3] = {0}, dq[3] = {0}, dp[3];
    if (F->r_is_a) {
      rate_point(de, e, k);
      rate_dir(dn, F->n, k);
    } else {
      rate_point(dq, q, k);
      rate_dir(dm, m, k);
    }
    // m.(e + h n - q) = 0:  dh = -[dm.(p - q) + m.(de + h dn - dq)]/(m.n)
    for (int i = 0; i < 3; i++) dp[i] = de[i] + h * dn[i];
    tgReal dh = -(tgi_v3_dot(dm, y) + tgi_v3_dot(m, dp) - tgi_v3_dot(m, dq)) / mn;
    tgi_v3_axpy(dp, dh, F->n);
    if (F->r_is_a) tgi_v3_scale(dn, dn, -1);
    store(c, k, dp, dn, dh);
  }
}
