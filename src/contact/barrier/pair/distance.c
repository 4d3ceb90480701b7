// distance.c: see distance.h.
#include "contact/barrier/pair/distance.h"

#include <string.h>

#include "math/vec3.h"

// ---- closest points ----

static void difference(const tgReal x[12], int a, int b, tgReal r[3]) { tgi_v3_sub(r, x + 3 * a, x + 3 * b); }

static void finish(const tgReal x[12], tgiFeatures *c) {
  tgi_v3_zero(c->r);
  for (int k = 0; k < 4; k++) tgi_v3_axpy(c->r, c->weight[k], x + 3 * k);
  for (int i = 0; i < c->nfree; i++) {
    tgi_v3_zero(c->e[i]);
    for (int k = 0; k < 4; k++) tgi_v3_axpy(c->e[i], c->slide[i][k], x + 3 * k);
  }
  // what is left of r along the free directions is rounding
  if (c->nfree == 1) tgi_v3_axpy(c->r, -tgi_v3_dot(c->r, c->e[0]) * c->inverse[0], c->e[0]);
  if (c->nfree == 2) {
    tgReal n[3];
    tgi_v3_cross(n, c->e[0], c->e[1]);
    tgi_v3_scale(n, n, tgi_v3_dot(n, c->r) / tgi_v3_dot(n, n));
    tgi_v3_copy(c->r, n);
  }
  c->D = tgi_v3_dot(c->r, c->r);
}

// the point p and the edge from a to b, of numbers of the four points; `flip`: r is from the point to the edge
static void point_edge(const tgReal x[12], int p, int a, int b, bool flip, tgiFeatures *c) {
  double sign = flip ? -1 : 1;
  tgReal e[3], w[3], s = 0;
  memset(c, 0, sizeof *c);
  difference(x, b, a, e);
  difference(x, p, a, w);
  tgReal ee = tgi_v3_dot(e, e);
  if (tgRe(ee) > 0) s = tgi_v3_dot(w, e) / ee;
  bool inner = tgRe(s) > 0 && tgRe(s) < 1;
  if (!inner) s = tgRe(s) >= 1 ? 1 : 0;
  c->weight[p] = sign;
  c->weight[a] = -sign * (1 - s);
  c->weight[b] = -sign * s;
  if (inner) {
    c->nfree = 1;
    c->slide[0][a] = sign;
    c->slide[0][b] = -sign;
    c->inverse[0] = 1 / ee;
  }
  finish(x, c);
}

static void keep_closer(const tgiFeatures *other, tgiFeatures *c) {
  if (tgRe(other->D) < tgRe(c->D)) *c = *other;
}

// the numbers s of r = w + s_0 e_0 + s_1 e_1 for which r is across both e; false: the two are as good as parallel
static bool across(const tgReal w[3], const tgReal e[2][3], tgReal s[2], tgReal inverse[4]) {
  const double parallel = 1e-16;
  tgReal n[3], aa = tgi_v3_dot(e[0], e[0]), ab = tgi_v3_dot(e[0], e[1]), bb = tgi_v3_dot(e[1], e[1]);
  tgi_v3_cross(n, e[0], e[1]);
  tgReal det = tgi_v3_dot(n, n), t[3];
  if (!(tgRe(det) > parallel * tgRe(aa * bb))) return false;
  // by crosses: s_0 = n.(e_1 x w)/n.n
  tgi_v3_cross(t, e[1], w);
  s[0] = tgi_v3_dot(n, t) / det;
  tgi_v3_cross(t, w, e[0]);
  s[1] = tgi_v3_dot(n, t) / det;
  inverse[0] = bb / det;
  inverse[1] = inverse[2] = -ab / det;
  inverse[3] = aa / det;
  return true;
}

void tgi_distance_of_point(const tgReal x[12], tgiFeatures *c) {
  tgReal w[3], e[2][3], s[2], inverse[4];
  tgiFeatures other;
  difference(x, 0, 1, w);
  difference(x, 1, 2, e[0]);
  difference(x, 1, 3, e[1]);
  bool flat = across(w, (const tgReal(*)[3])e, s, inverse), inner = flat && tgRe(s[0]) > 0 && tgRe(s[1]) > 0 && tgRe(s[0] + s[1]) < 1;
  if (inner) {
    *c = (tgiFeatures){.weight = {1, -(1 - s[0] - s[1]), -s[0], -s[1]}, .nfree = 2, .slide = {{0, 1, -1, 0}, {0, 1, 0, -1}}};
    memcpy(c->inverse, inverse, sizeof inverse);
    finish(x, c);
    return;
  }
  point_edge(x, 0, 1, 2, false, c);
  point_edge(x, 0, 2, 3, false, &other);
  keep_closer(&other, c);
  point_edge(x, 0, 3, 1, false, &other);
  keep_closer(&other, c);
}

void tgi_distance_of_edges(const tgReal x[12], tgiFeatures *c) {
  tgReal w[3], e[2][3], s[2], inverse[4];
  tgiFeatures other;
  difference(x, 0, 2, w);
  difference(x, 1, 0, e[0]);
  difference(x, 2, 3, e[1]);
  bool skew = across(w, (const tgReal(*)[3])e, s, inverse);
  if (skew && tgRe(s[0]) > 0 && tgRe(s[0]) < 1 && tgRe(s[1]) > 0 && tgRe(s[1]) < 1) {
    *c = (tgiFeatures){.weight = {1 - s[0], s[0], -(1 - s[1]), -s[1]}, .nfree = 2, .slide = {{-1, 1, 0, 0}, {0, 0, 1, -1}}};
    memcpy(c->inverse, inverse, sizeof inverse);
    finish(x, c);
    return;
  }
  point_edge(x, 0, 2, 3, false, c);
  point_edge(x, 1, 2, 3, false, &other);
  keep_closer(&other, c);
  point_edge(x, 2, 0, 1, true, &other);
  keep_closer(&other, c);
  point_edge(x, 3, 0, 1, true, &other);
  keep_closer(&other, c);
}

// The closest points are where D has no slope along the free directions: of second derivatives what they save is taken off,
//   D_xx - D_xs D_ss^-1 D_sx,  D_ss = 2 e_i.e_j,  D_{s_i x_k} = 2 (slide_ik r + weight_k e_i)                          [math/barrier (99)]
void tgi_features_derivatives(const tgiFeatures *c, tgReal g[12], tgReal H[144]) {
  for (int k = 0; k < 12; k++) g[k] = 2 * c->weight[k / 3] * c->r[k % 3];
  if (H == NULL) return;
  tgReal mixed[2][12];
  for (int i = 0; i < c->nfree; i++)
    for (int k = 0; k < 12; k++) mixed[i][k] = c->slide[i][k / 3] * c->r[k % 3] + c->weight[k / 3] * c->e[i][k % 3];
  for (int k = 0; k < 12; k++)
    for (int l = 0; l <= k; l++) {
      tgReal h = k % 3 == l % 3 ? c->weight[k / 3] * c->weight[l / 3] : 0;
      for (int i = 0; i < c->nfree; i++)
        for (int j = 0; j < c->nfree; j++) h -= mixed[i][k] * c->inverse[2 * i + j] * mixed[j][l];
      H[12 * k + l] = H[12 * l + k] = 2 * h;
    }
}

void tgi_features_rate(const tgiFeatures *c, const tgReal dx[12], tgReal dweight[4]) {
  tgReal slope[2] = {0, 0};
  for (int k = 0; k < 4; k++) dweight[k] = 0;
  for (int i = 0; i < c->nfree; i++)
    for (int k = 0; k < 12; k++) slope[i] += (c->slide[i][k / 3] * c->r[k % 3] + c->weight[k / 3] * c->e[i][k % 3]) * dx[k];
  for (int i = 0; i < c->nfree; i++) {
    tgReal ds = 0;
    for (int j = 0; j < c->nfree; j++) ds -= c->inverse[2 * i + j] * slope[j];
    for (int k = 0; k < 4; k++) dweight[k] += c->slide[i][k] * ds;
  }
}

// ---- barrier and mollifier ----

void tgi_distance_barrier(tgReal D, const tgiDistanceLaw *law, tgReal b[3]) {
  double D0 = law->reach * law->reach;
  tgReal t = D / D0, l = tgLog(t), e = t - 1;
  b[0] = b[1] = b[2] = 0;
  if (law->everywhere) {
    b[0] = -l;
    b[1] = -1 / D;
    b[2] = 1 / (D * D);
  } else if (tgRe(e) < 0) {
    b[0] = -e * e * l;
    b[1] = -(2 * e * l + e * e / t) / D0;
    b[2] = -(2 * l + 4 * e / t - e * e / (t * t)) / (D0 * D0);
  }
}

tgiMollifier tgi_mollifier(tgReal c, tgReal threshold) {
  tgiMollifier m = {.m = 1};
  if (!(tgRe(c) < tgRe(threshold))) return m;
  tgReal t = c / threshold, i = 1 / threshold;
  m.m = t * (2 - t);
  m.m1 = 2 * (1 - t) * i;
  m.m2 = -2 * i * i;
  m.by_threshold = -2 * (1 - t) * t * i;
  m.m1_by_threshold = (4 * t - 2) * i * i;
  return m;
}

// |u x v|^2 of the edges u and v, half of its first derivatives and of its second
static tgReal cross_square(const tgReal u[3], const tgReal v[3], tgReal g[6], tgReal H[36]) {
  tgReal n[3], uu = tgi_v3_dot(u, u), uv = tgi_v3_dot(u, v), vv = tgi_v3_dot(v, v);
  tgi_v3_cross(n, u, v);
  tgi_v3_cross(g, v, n);
  tgi_v3_cross(g + 3, n, u);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double one = i == j;
      H[6 * i + j] = one * vv - v[i] * v[j];
      H[6 * (3 + i) + 3 + j] = one * uu - u[i] * u[j];
      H[6 * i + 3 + j] = H[6 * (3 + j) + i] = 2 * u[i] * v[j] - v[i] * u[j] - one * uv;
    }
  return tgi_v3_dot(n, n);
}

// of the ends of two edges, from those in the edges u = x1 - x0 and v = x3 - x2
static void to_ends(const tgReal g6[6], const tgReal H6[36], tgReal g[12], tgReal H[144]) {
  for (int k = 0; k < 12; k++) {
    double sk = k / 3 % 2 == 1 ? 1 : -1;
    int a = 3 * (k / 6) + k % 3;
    g[k] = sk * g6[a];
    for (int l = 0; l < 12; l++) H[12 * k + l] = sk * (l / 3 % 2 == 1 ? 1 : -1) * H6[6 * a + 3 * (l / 6) + l % 3];
  }
}

// P = m b, with b's derivatives in g and H already
static void mollify(const tgReal x[12], bool second, tgiStencil *s) {
  tgReal u[3], v[3], g6[6], H6[36], g[12], H[144], b = s->b[0];
  difference(x, 1, 0, u);
  difference(x, 3, 2, v);
  tgReal threshold = tgi_mollifier_threshold(tgi_v3_dot(u, u), tgi_v3_dot(v, v)), c = cross_square(u, v, g6, H6);
  if (!(tgRe(c) < tgRe(threshold))) return;
  tgiMollifier m = tgi_mollifier(c, threshold);
  to_ends(g6, H6, g, H);
  for (int k = 0; k < 12; k++)
    for (int l = 0; l < 12 && second; l++)
      s->H[12 * k + l] = m.m * s->H[12 * k + l] + 2 * m.m1 * (g[k] * s->g[l] + s->g[k] * g[l]) +
                         b * (4 * m.m2 * g[k] * g[l] + 2 * m.m1 * H[12 * k + l]);
  for (int k = 0; k < 12; k++) {
    s->g_by_threshold[k] = m.by_threshold * s->g[k] + 2 * m.m1_by_threshold * b * g[k];
    s->m_g[k] = 2 * m.m1 * g[k];
    s->g[k] = m.m * s->g[k] + b * s->m_g[k];
  }
  s->m = m.m;
  s->m_by_threshold = m.by_threshold;
  s->P_by_threshold = m.by_threshold * b;
  s->P *= m.m;
}

// A point of a feature is the closest by so little that it could lie in the next one: one of its weights is all but 0, or D falls no more
// than that on the way from it to a point without weight.
static bool feature_tie(const tgReal x[12], int first, int n, double sign, const tgiFeatures *c) {
  const double least = 1e-9;
  double r[3], at[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) r[i] = tgRe(c->r[i]);
  for (int k = first; k < first + n; k++)
    for (int i = 0; i < 3; i++) at[i] += sign * tgRe(c->weight[k]) * tgRe(x[3 * k + i]);
  for (int k = first; k < first + n; k++) {
    double w = fabs(tgRe(c->weight[k])), rise = 0, length = 0;
    for (int i = 0; i < 3; i++) {
      double way = tgRe(x[3 * k + i]) - at[i];
      rise += sign * r[i] * way;
      length += way * way;
    }
    if (w > 0 ? w < least : rise < least * sqrt(tgRe(c->D) * length)) return true;
  }
  return false;
}

// |u x v|^2 of two edges over the mollifier's threshold
static double openness(const tgReal x[12]) {
  tgReal u[3], v[3], n[3];
  difference(x, 1, 0, u);
  difference(x, 3, 2, v);
  tgi_v3_cross(n, u, v);
  return tgRe(tgi_v3_dot(n, n)) / tgRe(tgi_mollifier_threshold(tgi_v3_dot(u, u), tgi_v3_dot(v, v)));
}

bool tgi_stencil_plain(const tgReal x[12], bool edges) { return !edges || openness(x) >= 1; }

bool tgi_stencil_tie(const tgReal x[12], bool edges, const tgiFeatures *c) {
  const double least = 1e-9;
  if (!edges) return feature_tie(x, 1, 3, -1, c);
  double t = openness(x);
  if (fabs(t - 1) < least) return true;
  return t > least && (feature_tie(x, 0, 2, 1, c) || feature_tie(x, 2, 2, -1, c));
}

tgReal tgi_mollifier_threshold_rate(const tgReal x[12], const tgReal dx[12]) {
  tgReal u[3], v[3], du[3], dv[3];
  difference(x, 1, 0, u);
  difference(x, 3, 2, v);
  difference(dx, 1, 0, du);
  difference(dx, 3, 2, dv);
  return 2 * TGI_MOLLIFIER * (tgi_v3_dot(u, du) * tgi_v3_dot(v, v) + tgi_v3_dot(u, u) * tgi_v3_dot(v, dv));
}

bool tgi_stencil(const tgReal x[12], bool edges, const tgiDistanceLaw *law, bool second, tgiStencil *s) {
  tgReal g[12];
  tgiFeatures *c = &s->features;
  if (edges) tgi_distance_of_edges(x, c);
  else tgi_distance_of_point(x, c);
  if (!law->everywhere && tgRe(c->D) >= law->reach * law->reach) return false;
  tgi_distance_barrier(c->D, law, s->b);
  tgi_features_derivatives(c, g, second ? s->H : NULL);
  s->P = s->b[0];
  for (int k = 0; k < 12; k++) {
    s->g[k] = s->b[1] * g[k];
    for (int l = 0; l < 12 && second; l++) s->H[12 * k + l] = s->b[1] * s->H[12 * k + l] + s->b[2] * g[k] * g[l];
  }
  s->m = 1;
  s->P_by_threshold = s->m_by_threshold = 0;
  memset(s->m_g, 0, sizeof s->m_g);
  memset(s->g_by_threshold, 0, sizeof s->g_by_threshold);
  if (edges) mollify(x, second, s);
  return true;
}
