// path.c: pivoting along a path of problems, stage 2 of the frictional LCP.
//
// Based on: parametric principal pivoting, [CottlePangStone 4.5], with the moving bounds of [toi IV-C]; [math/lcp (11)].
// Some f, wherever it is from, with the classes nearest to it solves the problem of another right-hand side exactly, b + delta.
// Along b + (1 - t) delta, t from 0 to 1, the classes hold until one row reaches its border and switches:
//   [A_KK + A_KS E + e D] f_K = -(b + (1 - t) delta)_K - A_K: f0,   f_S = E f_K,   f0 = +-limit,
//   w = A f + e D f + b + (1 - t) delta.
// e D, D the diagonal of A, keeps the system regular where rows are redundant; of the solutions of a redundant set the path
// then ends at one near the least of the feasible norms. A path has no fork and never meets itself; behind a switch it goes on
// to where the row that switched moves off its border, which may be back (t falls). The better the start, the fewer switches.
#include "contact/lcp/scratch.h"

#include <string.h>

// How far from its border a row starts that is on it or beyond, in units of the problem; where t has left all bounds
#define MARGIN 1e-5
#define LOST 1e3
// Where forces that balance grow, e alone holds them back: t stays as near to where they may.
#define NEAR 1e-5
// Rows that are beyond their borders at the end by less than this are on them.
#define ARRIVED 1e-6
// Switches in the same classes within so much of t, of its size, are the same one.
#define SAME 1e-12
// Switches of a path at most where each has a factorisation of its own, of a sparse problem
enum { LONG = 60 };

static double diagonal(const tgiLcpReduced *r, int i) {
  return r->large != NULL ? tgRe(tgi_lcp_diagonal(r->large->problem, r->row[i])) : r->A[(size_t)(r->n + 1) * i];
}
static double shift(const tgiLcpReduced *r, int i) { return r->large != NULL ? r->large->shift : TGI_LCP_SHIFT * diagonal(r, i); }
static bool is_held(int8_t c) { return c == TGI_LCP_C || c == TGI_LCP_F; }

// friction that has no bound to move in: under a normal that does not press, or without a coefficient
static bool is_idle(const tgiLcpReduced *r, const int8_t *cls, int i) {
  return r->bound[i] <= 0 || (r->parent[i] >= 0 && cls[r->parent[i]] == TGI_LCP_N);
}

// w <- (A + e D) f + b
static void velocities(tgiLcpScratch *c, const double *f, double *w) {
  const tgiLcpReduced *r = &c->red;
  if (r->large != NULL) {
    memcpy(w, r->b, (size_t)r->n * sizeof *w);
    tgi_lcp_large_image(c, f, w);
  } else if (c->system.narrow > 0) {
    memcpy(w, r->b, (size_t)r->n * sizeof *w);
    tgi_lcp_narrow_image(c, f, w);
  } else tgi_lcp_velocities(r, f, w);
  for (int i = 0; i < r->n; i++) w[i] += shift(r, i) * f[i];
}

// the nearer side of each alternative: f >= 0 or w >= 0, and so on, velocities as the forces that would undo them
static void nearest_classes(const tgiLcpReduced *r, const double *f, const double *w, int8_t *cls) {
  for (int i = 0; i < r->n; i++)
    if (r->kind[i] == TGI_LCP_NORMAL) cls[i] = f[i] > w[i] / diagonal(r, i) ? TGI_LCP_C : TGI_LCP_N;
  for (int i = 0; i < r->n; i++) {
    if (r->kind[i] == TGI_LCP_NORMAL) continue;
    double x = f[i] - w[i] / diagonal(r, i), B = tgi_lcp_bound(r, f, i);
    if (is_idle(r, cls, i)) cls[i] = w[i] > 0 ? TGI_LCP_L : TGI_LCP_H;
    else cls[i] = x > B ? TGI_LCP_H : x < -B ? TGI_LCP_L : TGI_LCP_F;
  }
}

// f moved inside what its class allows
static void move_inside(const tgiLcpReduced *r, const int8_t *cls, int attempt, double *f) {
  double most = 0, fastest = 0;
  for (int i = 0; i < r->n; i++) {
    most = fmax(most, fabs(f[i]));
    fastest = fmax(fastest, fabs(r->b[i]) / diagonal(r, i));
  }
  if (most == 0) most = fastest;
  for (int i = 0; i < r->n; i++) {
    if (cls[i] == TGI_LCP_N) f[i] = 0;
    if (cls[i] == TGI_LCP_C) f[i] = fmax(f[i], MARGIN * tgi_lcp_chance(attempt, 2 * i) * most);
  }
  for (int i = 0; i < r->n; i++) {
    if (r->kind[i] == TGI_LCP_NORMAL) continue;
    double B = tgi_lcp_bound(r, f, i), inner = B * (1 - MARGIN * tgi_lcp_chance(attempt, 2 * i));
    f[i] = cls[i] == TGI_LCP_H ? B : cls[i] == TGI_LCP_L ? -B : fmax(-inner, fmin(inner, f[i]));
  }
}

// Classes at the start, and delta, with which c->f solves the problem off all borders.
static void open_path(tgiLcpScratch *c, int8_t *cls, int attempt) {
  const tgiLcpReduced *r = &c->red;
  double most = 0;
  velocities(c, c->f, c->w);
  nearest_classes(r, c->f, c->w, cls);
  move_inside(r, cls, attempt, c->f);
  velocities(c, c->f, c->w);
  for (int i = 0; i < r->n; i++) most = fmax(most, fabs(r->b[i]));
  for (int i = 0; i < r->n; i++) {
    double off = MARGIN * most * tgi_lcp_chance(attempt, 2 * i + 1), w = c->w[i];
    bool idle = r->kind[i] != TGI_LCP_NORMAL && is_idle(r, cls, i);
    double wanted = idle ? w : cls[i] == TGI_LCP_H ? fmin(w, -off) : is_held(cls[i]) ? 0 : fmax(w, off);
    c->delta[i] = wanted - w;
  }
}

// f, w at t and their rates Df, Dw for the classes
static bool solve_path(tgiLcpScratch *c, const int8_t *cls, double t) {
  const tgiLcpReduced *r = &c->red;
  int n = r->n;
  bool narrow = c->system.narrow > 0;
  if (!(r->large != NULL ? tgi_lcp_large_solve : narrow ? tgi_lcp_narrow_solve : tgi_lcp_bordered_solve)(c, cls, c->f, c->Df)) return false;
  for (int i = 0; i < n; i++) {
    c->f[i] += t * c->Df[i];
    c->w[i] = r->b[i] + (1 - t) * c->delta[i] + shift(r, i) * c->f[i];
    c->Dw[i] = -c->delta[i] + shift(r, i) * c->Df[i];
  }
  if (r->large != NULL || narrow) {
    void (*image)(tgiLcpScratch *, const double *, double *) = narrow ? tgi_lcp_narrow_image : tgi_lcp_large_image;
    image(c, c->f, c->w);
    image(c, c->Df, c->Dw);
    return true;
  }
  for (int j = 0; j < n; j++) {
    const double *A = r->A + (size_t)n * j;
    double f = c->f[j], df = c->Df[j];
    for (int i = 0; (f != 0 || df != 0) && i < n; i++) {
      c->w[i] += A[i] * f;
      c->Dw[i] += A[i] * df;
    }
  }
  return true;
}

// Does row i, which has just switched, move off its border as t grows?
static bool leaves_border(const tgiLcpScratch *c, const int8_t *cls, int i) {
  const tgiLcpReduced *r = &c->red;
  double DB = r->parent[i] >= 0 ? r->bound[i] * c->Df[r->parent[i]] : 0;
  switch (cls[i]) {
    case TGI_LCP_C: return c->Df[i] > 0;
    case TGI_LCP_H: return c->Dw[i] < 0;
    case TGI_LCP_F: return c->f[i] > 0 ? c->Df[i] < DB : c->Df[i] > -DB;
    default: return c->Dw[i] > 0;
  }
}

// The first border that is met as t changes at rate `way`
static tgiLcpBorder first_border(const tgiLcpScratch *c, const int8_t *cls, double way) {
  const tgiLcpReduced *r = &c->red;
  tgiLcpBorder first = {INFINITY, -1, TGI_LCP_NONE};
  for (int i = 0; i < r->n; i++) {
    double f = c->f[i], w = c->w[i], df = way * c->Df[i], dw = way * c->Dw[i];
    if (cls[i] == TGI_LCP_C) tgi_lcp_meet(&first, f, df, i, TGI_LCP_N);
    else if (cls[i] == TGI_LCP_N) tgi_lcp_meet(&first, w, dw, i, TGI_LCP_C);
    else if (is_idle(r, cls, i)) continue;
    else if (cls[i] == TGI_LCP_H) tgi_lcp_meet(&first, -w, -dw, i, TGI_LCP_F);
    else if (cls[i] == TGI_LCP_L) tgi_lcp_meet(&first, w, dw, i, TGI_LCP_F);
    else {
      double B = tgi_lcp_bound(r, c->f, i), DB = r->parent[i] >= 0 ? way * r->bound[i] * c->Df[r->parent[i]] : 0;
      tgi_lcp_meet(&first, B - f, DB - df, i, TGI_LCP_H);
      tgi_lcp_meet(&first, B + f, DB + df, i, TGI_LCP_L);
    }
  }
  return first;
}

// Row i switches; friction on a normal that joins or leaves the pressing ones slides by the sign of its velocity.
static void switch_class(const tgiLcpScratch *c, int8_t *cls, int i, int8_t to) {
  cls[i] = to;
  for (int j = 0; c->red.kind[i] == TGI_LCP_NORMAL && j < c->red.n; j++)
    if (c->red.parent[j] == i) cls[j] = c->w[j] > 0 ? TGI_LCP_L : TGI_LCP_H;
}

// To the end of the path. False where rows lie beyond their borders: rounding, where the system was all but singular on the way.
static bool arrive(tgiLcpScratch *c, const int8_t *cls, double rest) {
  const tgiLcpReduced *r = &c->red;
  double most = 0, fastest = 0, off = 0;
  for (int i = 0; i < r->n; i++) {
    c->f[i] += rest * c->Df[i];
    c->w[i] += rest * c->Dw[i];
    most = fmax(most, fabs(c->f[i]));
    fastest = fmax(fastest, fabs(r->b[i]));
  }
  for (int i = 0; i < r->n; i++) {
    double f = c->f[i] / most, w = c->w[i] / fastest, B = r->kind[i] == TGI_LCP_NORMAL ? 0 : tgi_lcp_bound(r, c->f, i) / most;
    bool idle = r->kind[i] != TGI_LCP_NORMAL && is_idle(r, cls, i);
    if (cls[i] == TGI_LCP_C) off = fmax(off, -f);
    else if (cls[i] == TGI_LCP_F) off = fmax(off, fabs(f) - B);
    else if (!idle) off = fmax(off, cls[i] == TGI_LCP_H ? w : -w);
  }
  return off <= ARRIVED;
}

// Does the piece from t to next come to t = 1, or next to it?
static bool comes_near(double t, double next) {
  return (t - 1) * (next - 1) <= 0 || fabs(t - 1) <= NEAR || fabs(next - 1) <= NEAR;
}

bool tgi_lcp_path_on(tgiLcpScratch *c, double way, int8_t *cls, bool (*ends)(void *ctx, double rest), void *ctx,
                     int *pivots) {
  const tgiLcpReduced *r = &c->red;
  double t = 1;
  int most = tgi_watch_cap(c->watch, 4 * r->n + 20), last = -1;
  c->system.most = c->system.narrow = 0;
  for (int k = 0; k < most && !tgi_lcp_stops(c); k++) {
    ++*pivots;
    if (!tgi_lcp_bordered_factor(c, cls) || !solve_path(c, cls, t)) return false;
    if (last >= 0) way = leaves_border(c, cls, last) ? 1 : -1;
    tgiLcpBorder b = first_border(c, cls, way);
    double next = t + way * b.step;
    if (last >= 0 && comes_near(t, next) && ends(ctx, 1 - t)) return true;
    if (!(fabs(next) < LOST)) return false;
    for (int i = 0; i < r->n; i++) c->w[i] += way * b.step * c->Dw[i];
    t = next;
    switch_class(c, cls, last = b.row, b.to);
  }
  return false;
}

// A switch of a path, to see that the path comes by it again
typedef struct Mark { int row, age; double t; } Mark;

// Is the path, behind its k-th switch, at one where it has been? It would go round for ever: where rows switch together (a normal and
// friction on it) pieces may close. The switch that is remembered, with its classes in c->trial, is a later one each time its age doubles
// (Brent's way to find cycles).
static bool goes_round(tgiLcpScratch *c, Mark *m, int k, int row, double t, const int8_t *cls) {
  size_t bytes = (size_t)c->red.n;
  bool seen = m->row == row && fabs(t - m->t) <= SAME * (1 + fabs(t)) && memcmp(c->trial, cls, bytes) == 0;
  if (seen || k < 2 * m->age) return seen;
  *m = (Mark){row, k, t};
  memcpy(c->trial, cls, bytes);
  return false;
}

bool tgi_lcp_path(tgiLcpScratch *c, int attempt, int borders, int columns, int8_t *cls, int *pivots) {
  const tgiLcpReduced *r = &c->red;
  double t = 0, way = 1;
  // longer ones are cheaper to leave to another start
  int most = tgi_watch_cap(c->watch, r->large != NULL ? LONG : 4 * r->n + 20), last = -1;
  bool fresh = false;
  Mark mark = {-1, 0, 0};
  c->system.most = columns;
  bool narrow = columns > 0 && tgi_lcp_narrow_open(c, columns), whole = r->large == NULL && !narrow;
  if (!narrow) c->system.narrow = 0;
  open_path(c, cls, attempt);
  if (!narrow) c->system.most = borders;
  for (int k = 0; k < most && !tgi_lcp_stops(c); k++) {
    ++*pivots;
    fresh = fresh && tgi_lcp_bordered_switch(c, cls, last);
    if (!fresh && whole && !tgi_lcp_bordered_factor(c, cls)) return false;
    fresh = whole;
    if (!solve_path(c, cls, t)) return false;
    if (last >= 0) way = leaves_border(c, cls, last) ? 1 : -1;
    tgiLcpBorder b = first_border(c, cls, way);
    double next = t + way * b.step;
    if (next >= 1) return arrive(c, cls, 1 - t);
    if (!(next > -LOST)) return false;
    for (int i = 0; i < r->n; i++) c->w[i] += way * b.step * c->Dw[i];
    t = next;
    switch_class(c, cls, last = b.row, b.to);
    if (goes_round(c, &mark, k, last, t, cls)) return false;
  }
  return false;
}
