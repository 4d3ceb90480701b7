// bordered.c: the system of the held rows along a path, factorised once and bordered as rows switch.
//
// Based on: the Schur complement of a bordered matrix, [GolubVanLoan 3.2]; [math/lcp (11)]. With M = A_KK + A_KS E + e D of the
// classes at the factorisation ("base"), a row whose relation is no longer that of the base has a border:
//   held at the base:      its equation gets a slack s,  M x + e_i s = g;  besides, f_i as its class has it, or s = 0
//   not held at the base:  its force a deviation y,      f_i = (P x + f0)_i + y;  besides, w_i = 0, or f_i as its class has it
// Unknowns are x and z, the borders':  M x + U z = g,  V x + W z = h,  so (W - V M^-1 U) z = h - V M^-1 g,  x = M^-1 (g - U z).
// Right-hand sides are two: those at t = 0, and their rates.
#include "contact/lcp/scratch.h"

#include <string.h>

static double diagonal(const tgiLcpReduced *r, int i) { return r->A[(size_t)(r->n + 1) * i]; }
static bool is_held(int8_t c) { return c == TGI_LCP_C || c == TGI_LCP_F; }

// +-bound of a row that slides, 0 of one that is held
static double side(const tgiLcpReduced *r, const int8_t *cls, int i) {
  return cls[i] == TGI_LCP_H ? r->bound[i] : cls[i] == TGI_LCP_L ? -r->bound[i] : 0;
}

// Position in K of the normal that row i hung on at the base, -1 for none
static int hung_on(const tgiLcpBordered *m, const tgiLcpReduced *r, int i) {
  bool slid = r->kind[i] == TGI_LCP_FRICTION && m->K_pos[i] < 0;
  return slid ? m->K_pos[r->parent[i]] : -1;
}

// M, column-major
static void fill(const tgiLcpBordered *m, const tgiLcpReduced *r, tgReal *q) {
  int nk = m->nk;
  for (int k = 0; k < nk; k++) {
    const double *column = r->A + (size_t)r->n * m->K[k];   // A is symmetric: its rows are its columns
    for (int a = 0; a < nk; a++) q[a + (size_t)nk * k] = column[m->K[a]];
    q[k + (size_t)nk * k] += TGI_LCP_SHIFT * diagonal(r, m->K[k]);
  }
  for (int i = 0; i < r->n; i++) {
    int up = hung_on(m, r, i);
    double e = side(r, m->base, i);
    if (up < 0 || e == 0) continue;
    const double *column = r->A + (size_t)r->n * i;
    for (int a = 0; a < nk; a++) q[a + (size_t)nk * up] += e * column[m->K[a]];
  }
}

// M^-1 of the column in c->x, real parts to `to`
static void solve_into(tgiLcpScratch *c, double *to) {
  tgiLcpBordered *m = &c->system;
  if (m->nk > 0) tgi_lu_solve(m->nk, c->lu, c->lu_piv, c->x, false);
  for (int a = 0; a < m->nk; a++) to[a] = tgRe(c->x[a]);
}

bool tgi_lcp_bordered_factor(tgiLcpScratch *c, const int8_t *cls) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  m->nk = m->count = 0;
  memcpy(m->base, cls, (size_t)r->n);
  for (int i = 0; i < r->n; i++) {
    m->K_pos[i] = is_held(cls[i]) ? m->nk : -1;
    if (is_held(cls[i])) m->K[m->nk++] = i;
    m->border[i] = -1;
    m->f0[i] = r->kind[i] == TGI_LCP_BOX ? side(r, cls, i) : 0;
  }
  tgi_lcp_velocities(r, m->f0, m->w0);
  for (int i = 0; i < r->n; i++) m->w0[i] += TGI_LCP_SHIFT * diagonal(r, i) * m->f0[i];
  fill(m, r, c->lu);
  if (m->nk > 0 && !tgi_lu_factor(m->nk, c->lu, c->lu_piv)) return false;
  for (int a = 0; a < m->nk; a++) c->x[a] = -m->w0[m->K[a]] - c->delta[m->K[a]];
  solve_into(c, m->x[0]);
  for (int a = 0; a < m->nk; a++) c->x[a] = c->delta[m->K[a]];
  solve_into(c, m->x[1]);
  return true;
}

// Is the relation of row i another than at the base?
static bool differs(const tgiLcpBordered *m, const tgiLcpReduced *r, const int8_t *cls, int i) {
  if (is_held(cls[i]) != is_held(m->base[i])) return true;
  if (is_held(cls[i]) || r->kind[i] == TGI_LCP_NORMAL) return false;
  if (r->kind[i] == TGI_LCP_BOX) return cls[i] != m->base[i];
  if (cls[r->parent[i]] != TGI_LCP_C) return false;   // no force then, as now
  return m->base[r->parent[i]] != TGI_LCP_C || cls[i] != m->base[i];
}

// (w_i without deviations) as a function of x: A_i: P, and the constant's share apart
static void velocity_row(const tgiLcpBordered *m, const tgiLcpReduced *r, int i, double *v) {
  const double *A = r->A + (size_t)r->n * i;
  for (int a = 0; a < m->nk; a++) v[a] = A[m->K[a]];
  for (int j = 0; j < r->n; j++) {
    int up = hung_on(m, r, j);
    if (up >= 0) v[up] += side(r, m->base, j) * (A[j] + (j == i ? TGI_LCP_SHIFT * diagonal(r, i) : 0));
  }
}

static double dot(int n, const double *a, const double *b) {
  double s[4] = {0};
  int k = 0;
  for (; k + 4 <= n; k += 4)
    for (int l = 0; l < 4; l++) s[l] += a[k + l] * b[k + l];
  for (; k < n; k++) s[0] += a[k] * b[k];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

static void add_border(tgiLcpScratch *c, int i) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  int b = m->count++;
  size_t nk = (size_t)m->nk, most = (size_t)m->most;
  m->border[i] = b;
  m->row[b] = i;
  const double *A = r->A + (size_t)r->n * i;
  bool slack = m->K_pos[i] >= 0;
  for (int a = 0; a < m->nk; a++) c->x[a] = slack ? m->K[a] == i : A[m->K[a]];
  solve_into(c, m->Z + nk * (size_t)b);
  if (!slack) velocity_row(m, r, i, m->V + nk * (size_t)b);
  for (int a = 0; a <= b; a++) {
    if (!slack) m->G[most * (size_t)b + (size_t)a] = dot(m->nk, m->V + nk * (size_t)b, m->Z + nk * (size_t)a);
    if (m->K_pos[m->row[a]] < 0) m->G[most * (size_t)a + (size_t)b] = dot(m->nk, m->V + nk * (size_t)a, m->Z + nk * (size_t)b);
  }
}

bool tgi_lcp_bordered_switch(tgiLcpScratch *c, const int8_t *cls, int i) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  for (int j = 0; j < r->n; j++) {
    bool touched = j == i || (r->kind[i] == TGI_LCP_NORMAL && r->parent[j] == i);
    if (!touched || m->border[j] >= 0 || !differs(m, r, cls, j)) continue;
    if (m->count == m->most) return false;
    add_border(c, j);
  }
  return true;
}

// Coefficient of border b in the force of row i, and the force without borders for right-hand side k: M^-1 U and M^-1 g are put in
static double force_of(const tgiLcpBordered *m, const tgiLcpReduced *r, int i, int b) {
  int at = m->K_pos[i], up = hung_on(m, r, i);
  const double *Z = m->Z + (size_t)m->nk * (size_t)b;
  double own = m->K_pos[i] < 0 && m->border[i] == b ? 1 : 0;
  return own - (at >= 0 ? Z[at] : up >= 0 ? side(r, m->base, i) * Z[up] : 0);
}
static double plain_force(const tgiLcpBordered *m, const tgiLcpReduced *r, int i, int k) {
  int at = m->K_pos[i], up = hung_on(m, r, i);
  double f0 = k == 0 ? m->f0[i] : 0;
  return f0 + (at >= 0 ? m->x[k][at] : up >= 0 ? side(r, m->base, i) * m->x[k][up] : 0);
}

// One equation of the borders: row a of S, h
static void equation(const tgiLcpScratch *c, const int8_t *cls, int a, tgReal *S, tgReal *h[2]) {
  const tgiLcpReduced *r = &c->red;
  const tgiLcpBordered *m = &c->system;
  int i = m->row[a], n = m->count;
  bool slack = m->K_pos[i] >= 0;
  size_t most = (size_t)m->most;
  if (is_held(cls[i]) && slack) {
    for (int b = 0; b < n; b++) S[a + (size_t)n * b] = a == b;
    h[0][a] = h[1][a] = 0;
  } else if (is_held(cls[i])) {
    const double *A = r->A + (size_t)r->n * i, *v = m->V + (size_t)m->nk * (size_t)a;
    for (int b = 0; b < n; b++) {
      int j = m->row[b];
      double own = m->K_pos[j] >= 0 ? 0 : A[j] + (j == i ? TGI_LCP_SHIFT * diagonal(r, i) : 0);
      S[a + (size_t)n * b] = own - m->G[most * (size_t)a + (size_t)b];
    }
    h[0][a] = -m->w0[i] - c->delta[i] - dot(m->nk, v, m->x[0]);
    h[1][a] = c->delta[i] - dot(m->nk, v, m->x[1]);
  } else {
    int up = r->kind[i] == TGI_LCP_FRICTION ? r->parent[i] : -1;
    double e = side(r, cls, i), wanted = r->kind[i] == TGI_LCP_BOX ? e : 0;
    for (int b = 0; b < n; b++) S[a + (size_t)n * b] = force_of(m, r, i, b) - (up >= 0 ? e * force_of(m, r, up, b) : 0);
    for (int k = 0; k < 2; k++)
      h[k][a] = (k == 0 ? wanted : 0) - plain_force(m, r, i, k) + (up >= 0 ? e * plain_force(m, r, up, k) : 0);
  }
}

bool tgi_lcp_bordered_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  int n = m->count;
  for (int a = 0; a < n; a++) equation(c, cls, a, m->S, m->z);
  if (n > 0) {
    if (!tgi_lu_factor(n, m->S, m->S_piv)) return false;
    for (int k = 0; k < 2; k++) tgi_lu_solve(n, m->S, m->S_piv, m->z[k], false);
  }
  for (int k = 0; k < 2; k++) {
    double *x = m->xz, *to = k == 0 ? f : rate;
    memcpy(x, m->x[k], (size_t)m->nk * sizeof *x);
    for (int b = 0; b < n; b++) {
      const double *Z = m->Z + (size_t)m->nk * (size_t)b;
      double z = tgRe(m->z[k][b]);
      for (int a = 0; a < m->nk; a++) x[a] -= Z[a] * z;
    }
    for (int i = 0; i < r->n; i++) {
      int at = m->K_pos[i], up = hung_on(m, r, i);
      to[i] = (k == 0 ? m->f0[i] : 0) + (at >= 0 ? x[at] : up >= 0 ? side(r, m->base, i) * x[up] : 0);
      if (at < 0 && m->border[i] >= 0) to[i] += tgRe(m->z[k][m->border[i]]);
    }
  }
  return true;
}
