// answers.h: all answers to a small frictional problem, found one by one: the plain twin of what the solver says of others than its own.
#ifndef TG_TEST_LCP_ANSWERS_H
#define TG_TEST_LCP_ANSWERS_H

#include "contact/lcp/solve.h"
#include "support/check.h"

// contacts of a problem at most, kinds of classes of a contact, answers of a problem that are kept
enum { CONTACTS = 4, KINDS = 10, ANSWERS = 16 };
// velocities of two answers, and rows at a border, of the largest b; by which rounding may put a row beyond its border
static const double apart = 1e-6, tied = 1e-6, beyond = 1e-9;

// An answer in its classes; index: the sign of the determinant of the system that these give.
typedef struct Answer { double f[3 * CONTACTS], w[3 * CONTACTS]; int8_t cls[3 * CONTACTS]; int index; } Answer;
typedef struct Answers { int n; bool tied; Answer of[ANSWERS]; } Answers;

// the k-th way in which a contact may be: parted, or pressing with either tangent stuck or sliding to either side
static inline void contact_classes(int k, int8_t *cls) {
  static const int8_t way[] = {TGI_LCP_F, TGI_LCP_H, TGI_LCP_L};
  cls[0] = k == 0 ? TGI_LCP_N : TGI_LCP_C;
  cls[1] = k == 0 ? TGI_LCP_H : way[(k - 1) / 3];
  cls[2] = k == 0 ? TGI_LCP_H : way[(k - 1) % 3];
}

// M x = r by Gauss' elimination, x in r; the determinant's sign, 0: singular
static inline int eliminate(int n, double (*M)[3 * CONTACTS], double *r) {
  int sign = 1;
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++) best = fabs(M[i][k]) > fabs(M[best][k]) ? i : best;
    if (!(fabs(M[best][k]) > 1e-11)) return 0;
    for (int j = 0; best != k && j < n; j++) {
      double x = M[k][j];
      M[k][j] = M[best][j];
      M[best][j] = x;
    }
    double x = r[k];
    r[k] = r[best];
    r[best] = x;
    if (best != k) sign = -sign;
    if (M[k][k] < 0) sign = -sign;
    for (int i = k + 1; i < n; i++) {
      double e = M[i][k] / M[k][k];
      for (int j = k; j < n; j++) M[i][j] -= e * M[k][j];
      r[i] -= e * r[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) r[k] -= M[k][j] * r[j];
    r[k] /= M[k][k];
  }
  return sign;
}

// The forces of these classes: one linear equation a row, in the order of the rows, so that without friction and pressing the system is
// the identity. Do they answer the problem? *close: but for next to nothing, one way or the other.
static inline bool is_answer(const tgiLcpProblem *p, Answer *a, bool *close) {
  double M[3 * CONTACTS][3 * CONTACTS], sf = 0, sw = 0, worst = -INFINITY;
  int n = p->n;
  for (int i = 0; i < n; i++) {
    int up = p->kind[i] == TGI_LCP_FRICTION ? p->parent[i] : -1;
    bool held = a->cls[i] == TGI_LCP_C || a->cls[i] == TGI_LCP_F;
    double mu = up < 0 || a->cls[up] != TGI_LCP_C ? 0 : a->cls[i] == TGI_LCP_H ? tgRe(p->bound[i]) : -tgRe(p->bound[i]);
    for (int j = 0; j < n; j++) M[i][j] = held ? tgRe(p->A[n * i + j]) : i == j ? 1 : j == up ? -mu : 0;
    a->f[i] = held ? -tgRe(p->b[i]) : 0;
  }
  a->index = eliminate(n, M, a->f);
  if (a->index == 0) return false;
  for (int i = 0; i < n; i++) {
    a->w[i] = tgRe(p->b[i]);
    for (int j = 0; j < n; j++) a->w[i] += tgRe(p->A[n * i + j]) * a->f[j];
    sf = fmax(sf, fabs(a->f[i]));
    sw = fmax(sw, fabs(tgRe(p->b[i])));
  }
  for (int i = 0; i < n; i++) {   // how far on the wrong side of its border the row is that is farthest
    double f = a->f[i] / fmax(sf, 1e-300), w = a->w[i] / sw;
    if (p->kind[i] == TGI_LCP_NORMAL) worst = fmax(worst, a->cls[i] == TGI_LCP_C ? -f : -w);
    else if (a->cls[p->parent[i]] == TGI_LCP_C) {
      double B = tgRe(p->bound[i]) * a->f[p->parent[i]] / fmax(sf, 1e-300);
      worst = fmax(worst, a->cls[i] == TGI_LCP_F ? fabs(f) - B : a->cls[i] == TGI_LCP_H ? w : -w);
    }
  }
  *close = *close || fabs(worst) < tied;
  return worst <= beyond;
}

// Do two velocities differ by more than rounding, in units of sw?
static inline bool differ(const tgiLcpProblem *p, double sw, const double *w, const double *x) {
  double off = 0;
  for (int i = 0; i < p->n; i++) off = fmax(off, fabs(w[i] - x[i]));
  return off > apart * sw;
}

static inline double largest_b(const tgiLcpProblem *p) {
  double sw = 0;
  for (int i = 0; i < p->n; i++) sw = fmax(sw, fabs(tgRe(p->b[i])));
  return sw;
}

// all answers of a problem of contacts whose rows follow each other, one of each velocity
static inline void find_all(const tgiLcpProblem *p, Answers *all) {
  int total = 1;
  double sw = largest_b(p);
  for (int c = 0; c < p->n / 3; c++) total *= KINDS;
  all->n = 0;
  all->tied = false;
  for (int k = 0; k < total; k++) {
    Answer a;
    for (int c = 0, rest = k; c < p->n / 3; c++, rest /= KINDS) contact_classes(rest % KINDS, a.cls + 3 * c);
    if (!is_answer(p, &a, &all->tied)) continue;
    bool known = false;
    for (int j = 0; j < all->n && !known; j++) known = !differ(p, sw, all->of[j].w, a.w);
    all->tied = all->tied || known;
    if (known) continue;
    assert_true(all->n < ANSWERS);
    all->of[all->n++] = a;
  }
}

#endif
