// rule.c: contact point, normal and gap of a chosen feature pair, with derivatives.
//
// Based on: [math/collision Rules].
// Each rule is differentiated along one motion of the features at a time (rate.h).
#include "coll/features/rate.h"

// dn <- (1 - n n') dx / len: rate of unit(x) from that of x
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

// p = a + lambda (b - a) + kappa n; rates for those of the radii
static bool in_ratio(const tgiCore *A, const tgiCore *B) { return A->round && B->round && tgRe(A->r + B->r) > 0; }
static void weights(const tgiCore *A, const tgiCore *B, tgReal *lambda, tgReal *kappa) {
  *kappa = 0;
  *lambda = 0.5;
  if (in_ratio(A, B)) {
    *lambda = A->r / (A->r + B->r);
  } else if (A->round && !B->round) {
    *lambda = 0;
    *kappa = -A->r;
  } else if (B->round && !A->round) {
    *lambda = 1;
    *kappa = B->r;
  }
}
static void rate_weights(const tgiCore *A, const tgiCore *B, tgReal dra, tgReal drb, tgReal *dlambda, tgReal *dkappa) {
  tgReal sum = A->r + B->r;
  *dkappa = A->round && !B->round ? -dra : B->round && !A->round ? drb : 0;
  *dlambda = in_ratio(A, B) ? (dra * B->r - A->r * drb) / (sum * sum) : 0;
}

// c->n of the kind, by r = a - b; the length that it is a unit of, 1 of one that is given
static tgReal cores_normal(tgContactPoint *c, const tgiCore *A, const tgiCore *B, tgiNormal kind, double side, const double *given,
                           const tgReal r[3]) {
  tgReal N[3];
  if (kind == TGI_NORMAL_CLOSEST) return tgi_v3_unit(c->n, r);
  if (kind == TGI_NORMAL_CROSS) {
    tgi_v3_cross(N, A->u, B->u);
    tgi_v3_scale(N, N, side);
    return tgi_v3_unit(c->n, N);
  }
  for (int i = 0; i < 3; i++) c->n[i] = given[i];
  return 1;
}

// its rate, by those of r and of the lines' directions
static void rate_normal(tgReal dn[3], const tgReal n[3], tgReal len, const tgiCore *A, const tgiCore *B, tgiNormal kind, double side,
                        const tgReal dr[3], const tgReal du[3], const tgReal dw[3]) {
  tgReal dN[3], other[3];
  tgi_v3_zero(dn);
  if (kind == TGI_NORMAL_CLOSEST) rate_unit(dn, n, dr, len);
  if (kind != TGI_NORMAL_CROSS) return;
  tgi_v3_cross(dN, du, B->u);
  tgi_v3_cross(other, A->u, dw);
  tgi_v3_add(dN, dN, other);
  tgi_v3_scale(dN, dN, side);
  rate_unit(dn, n, dN, len);
}

void tgi_rule_cores(tgContactPoint *c, const tgiCore *A, const tgiCore *B, tgiNormal kind, double side,
                    const double *given, tgCollide want) {
  tgReal a[3], b[3], r[3], s, t, lambda, kappa;
  Gram G = gram(A, B);
  tgi_v3_sub(r, A->x, B->x);
  gram_solve(&G, G.a ? tgi_v3_dot(A->u, r) : 0, G.b ? tgi_v3_dot(B->u, r) : 0, &s, &t);
  tgi_v3_copy(a, A->x);
  tgi_v3_copy(b, B->x);
  if (G.a) tgi_v3_axpy(a, s, A->u);
  if (G.b) tgi_v3_axpy(b, t, B->u);
  tgi_v3_sub(r, a, b);
  tgReal len = cores_normal(c, A, B, kind, side, given, r);
  c->gap = tgi_v3_dot(c->n, r) - A->r - B->r;
  tgi_rate_parts(c, A, B, NULL, NULL);
  weights(A, B, &lambda, &kappa);
  for (int i = 0; i < 3; i++) c->p[i] = a[i] + lambda * (b[i] - a[i]) + kappa * c->n[i];
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal da[3], du[3], db[3], dw[3], dn[3], dr[3], dp[3], ds, dt, g1 = 0, g2 = 0, dlambda, dkappa;
    tgReal dra = tgi_rate_core(da, du, A, k), drb = tgi_rate_core(db, dw, B, k);
    if (G.a) tgi_v3_axpy(da, s, du);               // of the points now at a and b, held on their lines
    if (G.b) tgi_v3_axpy(db, t, dw);
    tgi_v3_sub(dr, da, db);
    if (G.a) g1 = tgi_v3_dot(du, r) + tgi_v3_dot(A->u, dr);
    if (G.b) g2 = tgi_v3_dot(dw, r) + tgi_v3_dot(B->u, dr);
    gram_solve(&G, g1, g2, &ds, &dt);
    if (G.a) { tgi_v3_axpy(dr, ds, A->u); tgi_v3_axpy(da, ds, A->u); }
    if (G.b) tgi_v3_axpy(dr, -dt, B->u);
    rate_normal(dn, c->n, len, A, B, kind, side, dr, du, dw);
    rate_weights(A, B, dra, drb, &dlambda, &dkappa);
    for (int i = 0; i < 3; i++) dp[i] = da[i] - lambda * dr[i] - dlambda * r[i] + kappa * dn[i] + dkappa * c->n[i];
    // n'r vanishes: r is along n, or n' is 0
    tgi_rate_store(c, k, dp, dn, tgi_v3_dot(c->n, dr) - dra - drb);
  }
}

// ---- reference faces

// n from B to A: the reference face's normal, turned round when the reference is A
static void face_normal(tgContactPoint *c, const tgiFace *F) { tgi_v3_scale(c->n, F->n, F->is_a ? -1 : 1); }

void tgi_rule_face_point(tgContactPoint *c, const tgiFace *F, const tgiCore *C, tgCollide want) {
  tgi_rate_on_face(c, F, C->x, C->r);
  tgi_rate_parts(c, C, NULL, F, NULL);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal ds[3], dn[3], dx[3], du[3];
    tgi_rate_face(ds, dn, F, k);
    tgReal dr = tgi_rate_core(dx, du, C, k);
    tgi_rate_store_on_face(c, F, k, C->x, C->r, ds, dn, dx, dr);
  }
}

void tgi_rule_face_edge(tgContactPoint *c, const tgiFace *F, const tgiCore *edge, const tgiCore *line, tgCollide want) {
  tgReal m[3], x[3], y[3], z[3];
  tgi_v3_cross(m, edge->u, F->n);                  // normal of the side plane, not of unit length
  tgi_v3_sub(y, edge->x, line->x);
  tgReal mw = tgi_v3_dot(m, line->u), t = tgi_v3_dot(m, y) / mw;
  tgi_v3_copy(x, line->x);
  tgi_v3_axpy(x, t, line->u);
  tgi_v3_sub(z, x, edge->x);
  tgi_rate_on_face(c, F, x, line->r);
  tgi_rate_parts(c, edge, line, F, NULL);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal ds[3], dn[3], de[3], dg[3], dx[3], dw[3], dm[3], v[3];
    tgi_rate_face(ds, dn, F, k);
    tgi_rate_core(de, dg, edge, k);
    tgReal dr = tgi_rate_core(dx, dw, line, k);
    tgi_v3_axpy(dx, t, dw);                        // of the point of the line now at x
    tgi_v3_cross(dm, dg, F->n);
    tgi_v3_cross(v, edge->u, dn);
    tgi_v3_add(dm, dm, v);
    // m.(x - e) = 0:  dt = -[m.(dx - de) + dm.(x - e)]/(m.w); the point slides along the line by dt w
    tgi_v3_sub(v, dx, de);
    tgi_v3_axpy(dx, -(tgi_v3_dot(m, v) + tgi_v3_dot(dm, z)) / mw, line->u);
    tgi_rate_store_on_face(c, F, k, x, line->r, ds, dn, dx, dr);
  }
}

void tgi_rule_face_corner(tgContactPoint *c, const tgiFace *F, const tgiCore *corner, const tgiFace *other, tgCollide want) {
  tgReal y[3];
  tgi_v3_sub(y, other->s, corner->x);
  tgReal mn = tgi_v3_dot(other->n, F->n), h = tgi_v3_dot(other->n, y) / mn;
  face_normal(c, F);
  c->gap = h;
  tgi_rate_parts(c, corner, NULL, F, other);
  for (int i = 0; i < 3; i++) c->p[i] = corner->x[i] + h * F->n[i];
  tgi_v3_sub(y, c->p, other->s);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal ds[3], dn[3], de[3], du[3], dq[3], dm[3];
    tgi_rate_face(ds, dn, F, k);
    tgi_rate_face(dq, dm, other, k);
    tgi_rate_core(de, du, corner, k);
    // m.(e + h n - q) = 0:  dh = -[dm.(p - q) + m.(de + h dn - dq)]/(m.n)
    tgi_v3_axpy(de, h, dn);
    tgi_v3_sub(du, de, dq);
    tgReal dh = -(tgi_v3_dot(dm, y) + tgi_v3_dot(other->n, du)) / mn;
    tgi_v3_axpy(de, dh, F->n);
    if (F->is_a) tgi_v3_scale(dn, dn, -1);
    tgi_rate_store(c, k, de, dn, dh);
  }
}
