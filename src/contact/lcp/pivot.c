// pivot.c: moving-bound pivoting, stage 2 of the frictional LCP.
//
// Based on: [toi IV-C, Algorithm 1] with bounds that move with the normal force; [math/lcp (11)].
// Rows enter one at a time, normals and constant bounds first. Entering row i is driven, f_i changing at rate sigma,
// while all settled rows keep their class:
//   [A_KK + A_KS E] Df_K = -sigma (A_Ki + sum e_s A_Ks),   Df_S = E Df,   Dw = A Df
// (a row at rest that needs no force stays out of K, class D, until it would move: K then seldom has redundant rows)
// until row i reaches its own condition or a settled row its border, which then switches class.
#include <string.h>

#include "contact/lcp/scratch.h"

typedef struct Event {
  double step;
  int row;
  int8_t to;
} Event;

static void consider(Event *e, double step, int row, int8_t to) {
  if (step < 0) step = 0;  // rounding: it stands at its border already
  if (step < e->step) *e = (Event){step, row, to};
}

// +-mu of a sliding friction row, else 0
static double slope(const tgiLcpReduced *r, const int8_t *cls, int i) {
  if (r->parent[i] < 0) return 0;
  return cls[i] == TGI_LCP_H ? r->bound[i] : cls[i] == TGI_LCP_L ? -r->bound[i] : 0;
}

static bool is_held(int8_t c) { return c == TGI_LCP_C || c == TGI_LCP_F; }

static void velocities(const tgiLcpReduced *r, const double *f, const double *b, double *w) {
  for (int i = 0; i < r->n; i++) {
    const double *Ai = r->A + (size_t)r->n * i;
    double s = b != NULL ? b[i] : 0;
    for (int j = 0; j < r->n; j++) s += Ai[j] * f[j];
    w[i] = s;
  }
}

// Forces of sliding rows from their bounds; a border that was crossed by rounding is put back.
static void impose(const tgiLcpReduced *r, const int8_t *cls, double *f) {
  for (int i = 0; i < r->n; i++)
    if (cls[i] == TGI_LCP_N) f[i] = 0;
  for (int i = 0; i < r->n; i++) {
    if (cls[i] == TGI_LCP_H) f[i] = tgi_lcp_bound(r, f, i);
    if (cls[i] == TGI_LCP_L) f[i] = -tgi_lcp_bound(r, f, i);
  }
}

// [A_KK + A_KS E], column-major in Q
static void fill_held(tgiLcpScratch *c, const int8_t *cls, int nk) {
  const tgiLcpReduced *r = &c->red;
  for (int a = 0; a < nk; a++) {
    const double *row = r->A + (size_t)r->n * c->K[a];
    for (int k = 0; k < nk; k++) c->Q[a + (size_t)nk * k] = row[c->K[k]];
  }
  for (int j = 0; j < r->n; j++) {
    double e = slope(r, cls, j);
    if (e == 0 || c->K_pos[r->parent[j]] < 0) continue;
    double *col = c->Q + (size_t)nk * c->K_pos[r->parent[j]];
    for (int a = 0; a < nk; a++) col[a] += e * r->A[(size_t)r->n * c->K[a] + j];
  }
}

// rhs <- solution, least norm where the held rows are redundant; false when they contradict each other.
static bool solve_held(tgiLcpScratch *c, const int8_t *cls, int nk) {
  double most = 0;
  fill_held(c, cls, nk);
  for (int a = 0; a < nk; a++) {
    c->x[a] = c->rhs[a];
    most = fmax(most, fabs(c->rhs[a]));
  }
  if (tgi_solve_real(nk, c->Q, c->rhs)) return true;
  fill_held(c, cls, nk);
  c->held.n = nk;
  for (size_t t = 0; t < (size_t)nk * nk; t++) c->held.qr[t] = c->Q[t];
  tgi_cod_factor(&c->held, 1e-10);
  for (int a = 0; a < nk; a++) c->rhs[a] = tgRe(c->x[a]);
  tgi_cod_solve(&c->held, c->x, false);
  double off = 0;
  for (int a = 0; a < nk; a++) {
    double e = -c->rhs[a];
    for (int k = 0; k < nk; k++) e += c->Q[a + (size_t)nk * k] * tgRe(c->x[k]);
    off = fmax(off, fabs(e));
  }
  for (int a = 0; a < nk; a++) c->rhs[a] = tgRe(c->x[a]);
  return off <= 1e-9 * most;
}

// Df, Dw for f_i changing at rate sigma. False when the held rows contradict each other.
static bool direction(tgiLcpScratch *c, const int8_t *cls, int i, double sigma) {
  const tgiLcpReduced *r = &c->red;
  int n = r->n, nk = 0;
  for (int j = 0; j < n; j++) {
    c->K_pos[j] = is_held(cls[j]) ? nk : -1;
    if (is_held(cls[j])) c->K[nk++] = j;
    c->Df[j] = 0;
  }
  c->Df[i] = sigma;
  for (int j = 0; j < n; j++)
    if (r->parent[j] == i) c->Df[j] = slope(r, cls, j) * sigma;
  for (int a = 0; a < nk; a++) {
    const double *row = r->A + (size_t)n * c->K[a];
    double s = 0;
    for (int j = 0; j < n; j++) s += row[j] * c->Df[j];
    c->rhs[a] = -s;
  }
  if (!solve_held(c, cls, nk)) return false;
  for (int a = 0; a < nk; a++) c->Df[c->K[a]] = c->rhs[a];
  for (int j = 0; j < n; j++)
    if (r->parent[j] >= 0 && c->K_pos[r->parent[j]] >= 0 && slope(r, cls, j) != 0)
      c->Df[j] = slope(r, cls, j) * c->Df[r->parent[j]];
  velocities(r, c->Df, NULL, c->Dw);
  return true;
}

// A friction row (or constant bound) that may move inside its bound: entering or held
static void consider_bounds(const tgiLcpScratch *c, int j, double tiny, Event *e) {
  const tgiLcpReduced *r = &c->red;
  double B = tgi_lcp_bound(r, c->f, j), DB = r->parent[j] >= 0 ? r->bound[j] * c->Df[r->parent[j]] : 0;
  if (c->Df[j] - DB > tiny) consider(e, (B - c->f[j]) / (c->Df[j] - DB), j, TGI_LCP_H);
  if (c->Df[j] + DB < -tiny) consider(e, -(B + c->f[j]) / (c->Df[j] + DB), j, TGI_LCP_L);
}

// The first border met along (Df, Dw)
static Event first_event(const tgiLcpScratch *c, const int8_t *cls, int i, double amax) {
  const tgiLcpReduced *r = &c->red;
  double dfmax = 0;
  for (int j = 0; j < r->n; j++) dfmax = fmax(dfmax, fabs(c->Df[j]));
  double tiny_f = 1e-13 * dfmax, tiny_w = 1e-13 * dfmax * amax;
  Event e = {INFINITY, -1, TGI_LCP_NONE};
  if (c->w[i] * c->Dw[i] < 0 && fabs(c->Dw[i]) > tiny_w)
    consider(&e, -c->w[i] / c->Dw[i], i, r->kind[i] == TGI_LCP_NORMAL ? TGI_LCP_C : TGI_LCP_F);
  if (r->kind[i] != TGI_LCP_NORMAL) consider_bounds(c, i, tiny_f, &e);
  for (int j = 0; j < r->n; j++) {
    bool sliding = (cls[j] == TGI_LCP_H || cls[j] == TGI_LCP_L) && tgi_lcp_bound(r, c->f, j) > 0;
    if (cls[j] == TGI_LCP_C && c->Df[j] < -tiny_f) consider(&e, -c->f[j] / c->Df[j], j, TGI_LCP_N);
    else if (cls[j] == TGI_LCP_N && c->Dw[j] < -tiny_w) consider(&e, -c->w[j] / c->Dw[j], j, TGI_LCP_C);
    else if (cls[j] == TGI_LCP_F) consider_bounds(c, j, tiny_f, &e);
    else if (cls[j] == TGI_LCP_D && fabs(c->Dw[j]) > 1e-10 * dfmax * amax) consider(&e, 0, j, TGI_LCP_F);
    else if (sliding && cls[j] == TGI_LCP_H && c->Dw[j] > tiny_w) consider(&e, -c->w[j] / c->Dw[j], j, TGI_LCP_F);
    else if (sliding && cls[j] == TGI_LCP_L && c->Dw[j] < -tiny_w) consider(&e, -c->w[j] / c->Dw[j], j, TGI_LCP_F);
  }
  return e;
}

// Settled tangents of a normal that has just left or joined the pressing ones slide by the sign of their velocity.
static void slide_children(const tgiLcpScratch *c, int8_t *cls, int normal) {
  for (int j = 0; j < c->red.n; j++)
    if (c->red.parent[j] == normal && cls[j] != TGI_LCP_NONE) cls[j] = c->w[j] > 0 ? TGI_LCP_L : TGI_LCP_H;
}

// Rows that need no driving; NONE for the others
static int8_t settled_class(const tgiLcpScratch *c, const int8_t *cls, int i, double eps) {
  const tgiLcpReduced *r = &c->red;
  double w = c->w[i];
  if (r->kind[i] == TGI_LCP_NORMAL) return w >= -eps ? TGI_LCP_N : TGI_LCP_NONE;
  bool powerless = r->bound[i] <= 0 || (r->parent[i] >= 0 && cls[r->parent[i]] == TGI_LCP_N);
  if (powerless) return w > 0 ? TGI_LCP_L : TGI_LCP_H;
  if (fabs(w) > eps) return TGI_LCP_NONE;
  return c->f[i] != 0 ? TGI_LCP_F : TGI_LCP_D;
}

// Drives row i until it is settled.
static bool enter(tgiLcpScratch *c, int8_t *cls, int i, double amax, double eps, int *left) {
  const tgiLcpReduced *r = &c->red;
  for (;;) {
    int8_t done = settled_class(c, cls, i, eps);
    // a partly raised f_i stays as it is when its velocity vanishes on the way
    if (done == TGI_LCP_N && c->f[i] > 0) done = TGI_LCP_C;
    if (done != TGI_LCP_NONE) {
      cls[i] = done;
      impose(r, cls, c->f);
      return true;
    }
    if (--*left < 0 || !direction(c, cls, i, c->w[i] < 0 ? 1 : -1)) return false;
    Event e = first_event(c, cls, i, amax);
    if (e.row < 0) return false;
    for (int j = 0; j < r->n; j++) c->f[j] += e.step * c->Df[j];
    int8_t from = cls[e.row];
    cls[e.row] = e.to;
    impose(r, cls, c->f);
    velocities(r, c->f, r->b, c->w);
    if (r->kind[e.row] == TGI_LCP_NORMAL && (e.to == TGI_LCP_N || from == TGI_LCP_N)) {
      slide_children(c, cls, e.row);
      impose(r, cls, c->f);
      if (e.to == TGI_LCP_N && r->parent[i] == e.row) c->f[i] = 0;
      velocities(r, c->f, r->b, c->w);
    }
    if (e.row == i) return true;
  }
}

bool tgi_lcp_pivot(tgiLcpScratch *c, int8_t *cls, int *pivots) {
  const tgiLcpReduced *r = &c->red;
  double amax = 0, bmax = 0;
  for (int i = 0; i < r->n; i++) {
    amax = fmax(amax, r->A[i + (size_t)r->n * i]);
    bmax = fmax(bmax, fabs(r->b[i]));
    c->f[i] = 0;
    c->w[i] = r->b[i];
    cls[i] = TGI_LCP_NONE;
  }
  int most = 4 * r->n + 20, left = most;  // cycles are cheaper to leave to Lemke than to wait out
  bool ok = true;
  for (int pass = 0; pass < 2 && ok; pass++)
    for (int i = 0; i < r->n && ok; i++)
      if ((r->kind[i] == TGI_LCP_FRICTION) == (pass == 1)) ok = enter(c, cls, i, amax, 1e-9 * bmax, &left);
  *pivots += most - (left < 0 ? 0 : left);
  return ok;
}
