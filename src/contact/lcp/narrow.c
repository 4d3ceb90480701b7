// narrow.c: the system of the held rows along a path where rows are many times the degrees of freedom that they act on.
//
// Based on: the matrix inversion lemma [GolubVanLoan 2.1.4]; [math/lcp (11)]. A of the reduced problem is G G' with few columns. With H the
// rows of G, and beside those of held normals what slides on them, H_K = G_K + E' G_S, and e D on the diagonal
//   [G_K H_K' + e D] x = g:   (1 + H_K' (e D)^-1 G_K) y = H_K' (e D)^-1 g,   x = (e D)^-1 (g - G_K y),
// and once more for what x leaves of g, since g - G_K y cancels. A switch costs a system of the columns, and products with G.
#include <string.h>

#include "contact/lcp/scratch.h"

// of the diagonal, what the columns may leave: well below the shift e
#define LEFT 1e-13

static double diagonal(const tgiLcpReduced *r, int i) { return r->A[(size_t)(r->n + 1) * i]; }
static bool is_held(int8_t c) { return c == TGI_LCP_C || c == TGI_LCP_F; }
static double side(const tgiLcpReduced *r, const int8_t *cls, int i) {
  return cls[i] == TGI_LCP_H ? r->bound[i] : cls[i] == TGI_LCP_L ? -r->bound[i] : 0;
}

// G (n x m->narrow, a row for each row), Cholesky columns of A with pivots from the diagonal. False: `most` are not enough.
bool tgi_lcp_narrow_open(tgiLcpScratch *c, int most) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  double *left = m->x[0], largest = 0;
  int n = r->n;
  m->narrow = 0;
  for (int i = 0; i < n; i++) {
    left[i] = diagonal(r, i);
    largest = fmax(largest, left[i]);
  }
  for (int k = 0; k <= most; k++) {
    int p = 0;
    for (int i = 1; i < n; i++)
      if (left[i] > left[p]) p = i;
    if (!(left[p] > LEFT * largest)) {
      m->narrow = k;
      return k > 0;
    }
    if (k == most) return false;
    const double *row = r->A + (size_t)n * p, *Gp = m->Z + (size_t)most * p;
    double scale = 1 / sqrt(left[p]);
    for (int i = 0; i < n; i++) {
      double *Gi = m->Z + (size_t)most * i, x = row[i];
      for (int a = 0; a < k; a++) x -= Gi[a] * Gp[a];
      Gi[k] = x * scale;
    }
    for (int i = 0; i < n; i++) left[i] -= m->Z[(size_t)most * i + k] * m->Z[(size_t)most * i + k];
    left[p] = -INFINITY;
  }
  return false;
}

// w += A f
void tgi_lcp_narrow_image(tgiLcpScratch *c, const double *f, double *w) {
  const tgiLcpBordered *m = &c->system;
  double *y = m->xz;
  int n = c->red.n, nc = m->narrow;
  for (int a = 0; a < nc; a++) y[a] = 0;
  for (int i = 0; i < n; i++)
    for (int a = 0; f[i] != 0 && a < nc; a++) y[a] += m->Z[(size_t)m->most * i + a] * f[i];
  for (int i = 0; i < n; i++)
    for (int a = 0; a < nc; a++) w[i] += m->Z[(size_t)m->most * i + a] * y[a];
}

// H_K, and 1 + H_K' (e D)^-1 G_K factorised. False: singular.
static bool factor(tgiLcpScratch *c, const int8_t *cls) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  int n = r->n, nc = m->narrow;
  size_t most = (size_t)m->most;
  memcpy(m->V, m->Z, (size_t)n * most * sizeof *m->V);
  for (int i = 0; i < n; i++) {
    int up = r->kind[i] == TGI_LCP_FRICTION && !is_held(cls[i]) ? r->parent[i] : -1;
    double e = up >= 0 && is_held(cls[up]) ? side(r, cls, i) : 0;
    for (int a = 0; e != 0 && a < nc; a++) m->V[most * up + a] += e * m->Z[most * i + a];
  }
  for (int a = 0; a < nc * nc; a++) m->S[a] = a % (nc + 1) == 0;
  for (int i = 0; i < n; i++) {
    if (!is_held(cls[i])) continue;
    const double *G = m->Z + most * i, *H = m->V + most * i;
    double over = 1 / (TGI_LCP_SHIFT * diagonal(r, i));
    for (int b = 0; b < nc; b++)
      for (int a = 0; a < nc; a++) m->S[a + (size_t)nc * b] += over * H[a] * G[b];
  }
  return tgi_lu_factor(nc, m->S, m->S_piv);
}

// x += what solves the system for g, rows of the held ones
static void solve(tgiLcpScratch *c, const int8_t *cls, const double *g, double *x) {
  const tgiLcpReduced *r = &c->red;
  const tgiLcpBordered *m = &c->system;
  int n = r->n, nc = m->narrow;
  size_t most = (size_t)m->most;
  tgReal *y = m->z[0];
  for (int a = 0; a < nc; a++) y[a] = 0;
  for (int i = 0; i < n; i++) {
    double over = is_held(cls[i]) ? g[i] / (TGI_LCP_SHIFT * diagonal(r, i)) : 0;
    for (int a = 0; over != 0 && a < nc; a++) y[a] += over * m->V[most * i + a];
  }
  tgi_lu_solve(nc, m->S, m->S_piv, y, false);
  for (int i = 0; i < n; i++) {
    if (!is_held(cls[i])) continue;
    double left = g[i];
    for (int a = 0; a < nc; a++) left -= m->Z[most * i + a] * tgRe(y[a]);
    x[i] += left / (TGI_LCP_SHIFT * diagonal(r, i));
  }
}

// x (held rows) for g, once more for what it leaves
static void solve_twice(tgiLcpScratch *c, const int8_t *cls, double *g, double *x) {
  const tgiLcpReduced *r = &c->red;
  const tgiLcpBordered *m = &c->system;
  int n = r->n, nc = m->narrow;
  size_t most = (size_t)m->most;
  double *y = m->xz;
  for (int i = 0; i < n; i++) x[i] = 0;
  solve(c, cls, g, x);
  for (int a = 0; a < nc; a++) y[a] = 0;
  for (int i = 0; i < n; i++)
    for (int a = 0; is_held(cls[i]) && a < nc; a++) y[a] += m->V[most * i + a] * x[i];
  for (int i = 0; i < n; i++) {
    if (!is_held(cls[i])) continue;
    g[i] -= TGI_LCP_SHIFT * diagonal(r, i) * x[i];
    for (int a = 0; a < nc; a++) g[i] -= m->Z[most * i + a] * y[a];
  }
  solve(c, cls, g, x);
}

bool tgi_lcp_narrow_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBordered *m = &c->system;
  int n = r->n;
  double *fixed = m->f0, *g = m->w0;
  if (!factor(c, cls)) return false;
  for (int i = 0; i < n; i++) {
    fixed[i] = r->kind[i] == TGI_LCP_BOX ? side(r, cls, i) : 0;
    g[i] = r->b[i] + c->delta[i];
  }
  tgi_lcp_narrow_image(c, fixed, g);
  for (int i = 0; i < n; i++) g[i] = -g[i];
  solve_twice(c, cls, g, f);
  memcpy(g, c->delta, (size_t)n * sizeof *g);
  solve_twice(c, cls, g, rate);
  for (int i = 0; i < n; i++) {   // what slides
    int up = r->kind[i] == TGI_LCP_FRICTION && !is_held(cls[i]) ? r->parent[i] : -1;
    if (up >= 0) {
      f[i] = is_held(cls[up]) ? side(r, cls, i) * f[up] : 0;
      rate[i] = is_held(cls[up]) ? side(r, cls, i) * rate[up] : 0;
    } else if (!is_held(cls[i])) f[i] = fixed[i];
  }
  return true;
}
