// boxqp.c: projected Newton for box-constrained quadratic programs.
//
// Based on: [boxddp III]. Entries at a bound that the gradient presses against are held; a Newton step in the others, projected onto the
// box, with Armijo backtracking on the projected path. H need be positive definite over the free entries only.
#include "optim/boxqp.h"

#include <math.h>
#include <string.h>

#include "math/real.h"

bool tgi_chol_factor(int n, double *a) {
  for (int i = 0; i < n; i++) {
    double *ri = a + (size_t)i * (size_t)n;
    for (int j = 0; j <= i; j++) {
      const double *rj = a + (size_t)j * (size_t)n;
      double s = ri[j];
      for (int k = 0; k < j; k++) s -= ri[k] * rj[k];
      if (j < i) ri[j] = s / rj[j];
      else if (s > 0 && isfinite(s)) ri[i] = sqrt(s);
      else return false;
    }
  }
  return true;
}

void tgi_chol_solve(int n, const double *l, double *x) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) x[i] -= l[(size_t)i * (size_t)n + (size_t)k] * x[k];
    x[i] /= l[(size_t)i * (size_t)n + (size_t)i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) x[i] -= l[(size_t)k * (size_t)n + (size_t)i] * x[k];
    x[i] /= l[(size_t)i * (size_t)n + (size_t)i];
  }
}

static double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

// value at x, and the gradient g + Hx
static double value(const tgBoxQp *p, const double *x, double *gradient) {
  double f = 0;
  for (int i = 0; i < p->n; i++) {
    const double *row = p->H + (size_t)i * (size_t)p->n;
    double s = 0;
    for (int j = 0; j < p->n; j++) s += row[j] * x[j];
    f += x[i] * (0.5 * s + p->g[i]);
    gradient[i] = s + p->g[i];
  }
  return f;
}

// the free entries at x; true when they are others than before
static bool choose(tgBoxQp *p, const double *gradient) {
  int n = 0;
  bool changed = false;
  for (int i = 0; i < p->n; i++) {
    bool held = (p->x[i] <= p->low[i] && gradient[i] > 0) || (p->x[i] >= p->high[i] && gradient[i] < 0) || p->low[i] >= p->high[i];
    if (held) continue;
    changed |= n >= p->nfree || p->free[n] != i;
    p->free[n++] = i;
  }
  changed |= n != p->nfree;
  p->nfree = n;
  return changed;
}

static bool factor(tgBoxQp *p) {
  int m = p->nfree;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) p->L[i * m + j] = p->H[(size_t)p->free[i] * (size_t)p->n + (size_t)p->free[j]];
  return tgi_chol_factor(m, p->L);
}

// x moved along the Newton direction, in the box
static void move(const tgBoxQp *p, const double *step, double a, double *x) {
  memcpy(x, p->x, (size_t)p->n * sizeof *x);
  for (int i = 0; i < p->nfree; i++) x[p->free[i]] = clamp(x[p->free[i]] + a * step[i], p->low[p->free[i]], p->high[p->free[i]]);
}

// the longest step along the projected Newton path that lowers the value as far as its slope promises; false: none does
static bool search(tgBoxQp *p, const double *step, double *f, double *gradient, double *next, double *next_gradient) {
  enum { HALVINGS = 40 };
  double a = 1;
  for (int tries = 0; tries < HALVINGS; tries++, a *= 0.5) {
    move(p, step, a, next);
    double promised = 0, fn = value(p, next, next_gradient);
    for (int i = 0; i < p->n; i++) promised += gradient[i] * (next[i] - p->x[i]);
    if (!(fn < *f && fn <= *f + 0.1 * promised)) continue;
    *f = fn;
    memcpy(p->x, next, (size_t)p->n * sizeof *next);
    memcpy(gradient, next_gradient, (size_t)p->n * sizeof *next);
    return true;
  }
  return false;
}

// A step that promises `slope` and does not lower the value, or is one of ever more, is round-off of the terms that the value is summed of.
// Else the entries that it drives against bounds, of which H knows next to nothing, have made it one of next to no use in the others.
static bool is_roundoff(const tgBoxQp *p, double slope) {
  double sum = 0;
  for (int i = 0; i < p->n; i++) {
    double s = fabs(p->g[i]);
    for (int j = 0; j < p->n; j++) s += fabs(p->H[(size_t)i * (size_t)p->n + (size_t)j] * p->x[j]);
    sum += fabs(p->x[i]) * s;
  }
  return -slope <= 1e-12 * sum;
}

bool tgi_box_qp(tgBoxQp *p) {
  enum { ITERATIONS = 100 };
  double *gradient = p->work, *step = p->work + p->n, *next = p->work + 2 * p->n, *next_gradient = p->work + 3 * p->n;
  for (int i = 0; i < p->n; i++) p->x[i] = clamp(p->x[i], p->low[i], p->high[i]);
  double f = value(p, p->x, gradient);
  p->nfree = -1;
  double slope = 0;
  for (int k = 0; k < ITERATIONS; k++) {
    if (choose(p, gradient) && !factor(p)) return false;
    if (p->nfree == 0) return true;
    for (int i = 0; i < p->nfree; i++) step[i] = -gradient[p->free[i]];
    tgi_chol_solve(p->nfree, p->L, step);
    slope = 0;
    for (int i = 0; i < p->nfree; i++) slope += step[i] * gradient[p->free[i]];
    if (-slope <= 1e-26 * fabs(f)) return true;   // nothing left to gain beyond round-off
    if (!search(p, step, &f, gradient, next, next_gradient)) break;
  }
  return is_roundoff(p, slope);
}
