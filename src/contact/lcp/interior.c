// interior.c: an interior point method for the classes of an island whose matrix is not formed.
//
// Based on: Mehrotra's predictor and corrector [NocedalWright 16.6]; [math/lcp (21)]. Each row has a force inside its bounds, each bound a
// slack,
//   normal      f > 0, w > 0,               f w = t,          w = J x + b,       x = v' - vhat
//   friction    a = B - f > 0, c = B + f > 0,   a s = c r = t,    r - s = J x + b,   B = mu f_n
// with Mh x = J' f; t falls to 0. Of a step dx, with D = f/w of normals, 1/(s/a + r/c) of friction,
//   df = e - D J dx, and of friction k df_n besides, k = mu (s/a - r/c)/(s/a + r/c): between -mu and mu, where rows hang on their normal,
//   [Mh + sum of D h' J] dx = J' (f + e) - Mh x,   h = J + sum of k J_t over the friction of a normal.
// Redundant rows come to the middle of what is allowed: none is at its bound without need, so that the classes at the end hold all that
// can be held together. The curve of solutions over t, with errors of the equations that fall with t, may turn back where friction couples
// strongly: there the matrix is singular, and on the way back its determinant is negative; t and the errors grow until it turns again.
#include "contact/lcp/interior.h"

#include <string.h>

#include "contact/lcp/scratch.h"
#include "contact/lcp/sparse.h"

// a step goes this share of the way to the first bound; a shorter one goes back to the curve; where that is no longer, the search ends
#define NEAR 0.95
#define SHORT 0.2
#define STUCK 1e-3
// what is added to the rows' part of the system, over the mean of A's diagonal: a step is that of the proximal problem at its start
#define SOFT 1e-8
// of the largest speed, what equations may be off at the end
#define OFF 1e-7
// steps of one search; those that were short, after which it hardly ever ends (of 242 that ended none had more); those for what equations
// are off where products have fallen already: what those leave is the affair of who solves the classes
enum { STEPS = 80, SHORTS = 28, LATE = 2 };

typedef struct Search {
  const tgiLcpProblem *p;
  const tgiLcpSparse *a;
  tgiLcpScratch *c;
  tgReal *L, *U, *x, *right, *dx, *D, *slope;   // slope: k
  double *f, *w, *r, *df, *dw, *dr, *u, *du, *e, *bound;   // w is s of friction
  int8_t *sort;                // of each row
  double force, speed, soft;   // sizes, and what is added to the rows' part
} Search;

static Search open_search(tgiLcp *s, const tgiLcpProblem *p) {
  tgiLcpScratch *c = s->scratch;
  const tgiLcpSparse *a = p->sparse;
  double *const *l = c->line, mean = 0;
  Search q = {.p = p, .a = a, .c = c, .L = s->factor + a->pattern.size, .U = s->factor, .x = a->dof[2], .right = a->dof[1],
              .dx = a->dof[0], .D = a->own[1], .slope = a->own[2], .f = l[0], .w = l[1], .r = l[2], .df = l[3], .dw = l[4], .dr = l[5],
              .u = l[6], .du = l[7], .e = l[8], .bound = l[9], .sort = c->red_cls,
              .speed = p->speed};
  for (int i = 0; i < p->n; i++) {
    mean += tgRe(a->diagonal[i]) / p->n;
    q.speed = fmax(q.speed, fabs(tgRe(p->b[i])));
  }
  if (!(q.speed > 0)) q.speed = 1;
  q.force = q.speed / mean;
  q.soft = SOFT * mean;
  return q;
}

typedef enum Sort { IDLE, FREE, ONE, TWO } Sort;   // no force, of any sign, one bound, two

static Sort find_sort(const Search *q, int i) {
  int kind = q->p->kind[i];
  if (kind == TGI_LCP_EQUALITY) return FREE;
  if (tgi_lcp_acts_on_nothing(q->c, q->p, i)) return IDLE;
  if (kind == TGI_LCP_NORMAL) return ONE;
  bool idle = kind == TGI_LCP_FRICTION && tgi_lcp_acts_on_nothing(q->c, q->p, q->p->parent[i]);
  return idle || !(tgRe(q->p->bound[i]) > 0) ? IDLE : TWO;
}

static Sort sort_of(const Search *q, int i) { return (Sort)q->sort[i]; }

// friction's bounds by the normal forces at hand
static void set_bounds(const Search *q) {
  for (int i = 0; i < q->p->n; i++) {
    int up = q->p->kind[i] == TGI_LCP_FRICTION ? q->p->parent[i] : -1;
    q->bound[i] = q->p->kind[i] == TGI_LCP_NORMAL ? 0 : tgRe(q->p->bound[i]) * (up >= 0 ? q->f[up] : 1);
  }
}

// the start: forces at the middle, below and above
static void open_point(const Search *q, int attempt) {
  static const double share[TGI_INTERIOR_STARTS] = {1, 0.1, 10};
  for (int i = 0; i < q->p->n; i++) q->sort[i] = (int8_t)find_sort(q, i);
  for (int d = 0; d < q->a->nd; d++) q->x[d] = 0;
  for (int i = 0; i < q->p->n; i++) {
    double b = tgRe(q->p->b[i]), w = q->speed;
    Sort sort = sort_of(q, i);
    q->f[i] = sort == ONE ? share[attempt] * q->force : 0;
    q->w[i] = sort == ONE ? fmax(fabs(b), w) : w + fmax(0, -b);
    q->r[i] = w + fmax(0, b);
  }
}

static double bound_change(const Search *q, int i) {
  return q->p->kind[i] == TGI_LCP_FRICTION ? tgRe(q->p->bound[i]) * q->df[q->p->parent[i]] : 0;
}

// mean of f w, a s, c r
static double mean_product(const Search *q, double step) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < q->p->n; i++) {
    Sort sort = sort_of(q, i);
    double f = q->f[i] + step * q->df[i], w = q->w[i] + step * q->dw[i], r = q->r[i] + step * q->dr[i];
    if (sort == ONE) sum += f * w;
    double B = q->bound[i] + step * bound_change(q, i);
    if (sort == TWO) sum += (B - f) * w + (B + f) * r;
    count += sort == ONE ? 1 : sort == TWO ? 2 : 0;
  }
  return count > 0 ? sum / count : 0;
}

// Direction to products t and to that share of the errors, products of second order from the direction at hand taken off; the matrix is
// factorised.
static void direction(const Search *q, double t, double share, bool second) {
  int n = q->p->n;
  tgReal *own = q->a->own[0];
  for (int i = 0; i < n; i++) {   // df without dx, changes of slacks without df; friction's without that of its bound
    Sort sort = sort_of(q, i);
    double f = q->f[i], a = q->bound[i] - f, c = q->bound[i] + f, D = tgRe(q->D[i]), dB = second ? bound_change(q, i) : 0;
    double df = second ? q->df[i] : 0, u = q->u[i], left = sort == ONE ? u - q->w[i] : sort == TWO ? u - q->r[i] + q->w[i] : u;
    u -= share * left;
    if (sort == IDLE) q->e[i] = 0;
    else if (sort == FREE) q->e[i] = -D * u;
    else if (sort == ONE) {
      double w = (t - df * q->dw[i]) / f;
      q->e[i] = D * (w - u);
      q->dr[i] = w - q->w[i];
    } else {
      double s = (t - (dB - df) * q->dw[i]) / a, r = (t - (dB + df) * q->dr[i]) / c;
      q->e[i] = D * (r - s - u);
      q->dw[i] = s - q->w[i];
      q->dr[i] = r - q->r[i];
    }
  }
  for (int i = 0; i < n; i++) {
    if (q->p->kind[i] == TGI_LCP_FRICTION) q->e[i] += tgRe(q->slope[i]) * q->e[q->p->parent[i]];
    own[i] = (1 - share) * q->f[i] + q->e[i];
  }
  tgi_sparse_sum(q->a, n, q->a->J, own, q->right);
  tgi_sparse_mass(q->a, q->x, q->dx);
  for (int d = 0; d < q->a->nd; d++) q->right[d] -= (1 - share) * q->dx[d];
  tgi_sparse_product_solve(q->p, q->L, q->U, q->right, q->dx, own);
  for (int i = 0; i < n; i++) q->du[i] = tgRe(own[i]);
  for (int i = 0; i < n; i++) q->df[i] = q->e[i] - tgRe(q->D[i]) * q->du[i];
  for (int i = 0; i < n; i++)
    if (q->p->kind[i] == TGI_LCP_FRICTION) q->df[i] += tgRe(q->slope[i]) * (q->df[q->p->parent[i]] - q->e[q->p->parent[i]]);
  for (int i = 0; i < n; i++) {
    Sort sort = sort_of(q, i);
    double f = q->f[i], a = q->bound[i] - f, c = q->bound[i] + f, dB = bound_change(q, i);
    if (sort == ONE) q->dw[i] = q->dr[i] - q->w[i] / f * q->df[i];
    else if (sort == TWO) {
      q->dw[i] -= q->w[i] / a * (dB - q->df[i]);
      q->dr[i] -= q->r[i] / c * (dB + q->df[i]);
    } else q->dw[i] = q->dr[i] = 0;
  }
}

static void limit(double x, double dx, double *step) {
  if (dx < 0 && -x < *step * dx) return;
  if (dx < 0) *step = fmin(*step, -x / dx);
}

// the longest step that stays inside
static double longest(const Search *q) {
  double step = 1 / NEAR;
  for (int i = 0; i < q->p->n; i++) {
    Sort sort = sort_of(q, i);
    if (sort != ONE && sort != TWO) continue;
    double dB = bound_change(q, i);
    limit(q->w[i], q->dw[i], &step);
    if (sort == ONE) limit(q->f[i], q->df[i], &step);
    if (sort != TWO) continue;
    limit(q->r[i], q->dr[i], &step);
    limit(q->bound[i] - q->f[i], dB - q->df[i], &step);
    limit(q->bound[i] + q->f[i], dB + q->df[i], &step);
  }
  return fmin(1, NEAR * step);
}

static bool factorise(const Search *q, bool *back) {
  for (int i = 0; i < q->p->n; i++) {
    Sort sort = sort_of(q, i);
    double f = q->f[i], s = q->w[i] / (q->bound[i] - f), r = q->r[i] / (q->bound[i] + f);
    q->D[i] = sort == FREE ? 1 / q->soft : sort == ONE ? 1 / (q->w[i] / f + q->soft) : sort == TWO ? 1 / (s + r + q->soft) : 0;
    q->slope[i] = sort == TWO && q->p->kind[i] == TGI_LCP_FRICTION ? tgRe(q->p->bound[i]) * (s - r) / (s + r + q->soft) : 0;
  }
  return tgi_sparse_matrix(q->p, q->D, q->slope, true, q->L, q->U, back);
}

static void move(const Search *q, double step) {
  for (int d = 0; d < q->a->nd; d++) q->x[d] += step * q->dx[d];
  for (int i = 0; i < q->p->n; i++) {
    q->f[i] += step * q->df[i];
    q->w[i] += step * q->dw[i];
    if (sort_of(q, i) == TWO) q->r[i] += step * q->dr[i];
  }
}

// Of two factors whose product falls, is it f that falls with it? The one of which the last step, df and dw, has left the lesser share does
// [ElBakry].
static bool falls(double f, double df, double w, double dw) { return f * (w - dw) < w * (f - df); }

static void classify(const Search *q, double step, int8_t *cls) {
  for (int i = 0; i < q->p->n; i++) {
    int kind = q->p->kind[i];
    Sort sort = sort_of(q, i);
    double f = q->f[i], df = step * q->df[i], dB = step * bound_change(q, i);
    bool up = sort == TWO && falls(q->bound[i] - f, dB - df, q->w[i], step * q->dw[i]);
    bool down = sort == TWO && falls(q->bound[i] + f, dB + df, q->r[i], step * q->dr[i]);
    if (kind == TGI_LCP_EQUALITY) cls[i] = TGI_LCP_C;
    else if (kind == TGI_LCP_NORMAL)
      cls[i] = sort == ONE && !falls(f, df, q->w[i], step * q->dw[i]) ? TGI_LCP_C : TGI_LCP_N;
    else if (tgi_lcp_acts_on_nothing(q->c, q->p, i)) cls[i] = TGI_LCP_D;
    else if (sort != TWO) cls[i] = q->u[i] > 0 ? TGI_LCP_L : TGI_LCP_H;
    else cls[i] = up ? TGI_LCP_H : down ? TGI_LCP_L : TGI_LCP_F;
  }
  for (int i = 0; i < q->p->n; i++)
    if (q->p->kind[i] == TGI_LCP_FRICTION && cls[q->p->parent[i]] == TGI_LCP_N && cls[i] != TGI_LCP_D)
      cls[i] = q->u[i] > 0 ? TGI_LCP_L : TGI_LCP_H;
}

// how far w is from J x + b, r - s likewise, and as a share of the speed Mh x from J' f
static double off(const Search *q) {
  double most = 0, left = 0;
  tgReal *f = q->a->own[0];
  for (int i = 0; i < q->p->n; i++) f[i] = q->f[i];
  tgi_sparse_sum(q->a, q->p->n, q->a->J, f, q->right);
  tgi_sparse_mass(q->a, q->x, q->dx);
  for (int d = 0; d < q->a->nd; d++) {
    most = fmax(most, fabs(tgRe(q->dx[d])));
    left = fmax(left, fabs(tgRe(q->right[d] - q->dx[d])));
  }
  most = most > 0 ? q->speed * left / most : 0;
  for (int i = 0; i < q->p->n; i++) {
    Sort sort = sort_of(q, i);
    if (sort == ONE) most = fmax(most, fabs(q->u[i] - q->w[i]));
    if (sort == TWO) most = fmax(most, fabs(q->u[i] - q->r[i] + q->w[i]));
  }
  return most;
}

// Towards the least t: predictor and corrector. How far that goes.
static double go_on(const Search *q, double now) {
  direction(q, 0, 0, false);
  double left = mean_product(q, longest(q)) / now;
  direction(q, fmin(1, fmax(1e-3, left * left * left)) * now, 0, true);
  return longest(q);
}

// To the curve where t is some way less, or on the way back more: the first of three that is not short.
static double follow(const Search *q, double now, bool back) {
  static const double change[2][3] = {{0.5, 0.8, 0.95}, {2, 1.3, 1.05}};
  double step = 0;
  for (int k = 0; step < SHORT && k < 3; k++) {
    direction(q, change[back][k] * now, change[back][k], false);
    step = longest(q);
  }
  return step;
}

bool tgi_lcp_interior(tgiLcp *s, const tgiLcpProblem *p, int attempt, double gap, int8_t *cls, int *factorisations) {
  Search q = open_search(s, p);
  double last = 0, end = gap * q.force * q.speed;
  bool back, stuck = false;
  int shorts = 0, late = 0;
  open_point(&q, attempt);
  for (int step = 0; step < tgi_watch_cap(q.c->watch, STEPS) && !stuck; step++) {
    if (tgi_lcp_stops(q.c)) return false;
    set_bounds(&q);
    for (int i = 0; i < p->n; i++) q.u[i] = tgRe(tgi_sparse_dot(q.a, i, q.x)) + tgRe(p->b[i]);
    double now = mean_product(&q, 0);
    bool down = now <= end && step > 0;
    if (down && (late++ == LATE || off(&q) <= OFF * q.speed)) break;
    ++*factorisations;
    if (!factorise(&q, &back)) {
      stuck = !down;
      break;
    }
    last = back ? 0 : go_on(&q, now);
    shorts += last < SHORT;
    if (last < SHORT) last = follow(&q, now, back);
    stuck = !(last >= STUCK) || shorts > SHORTS;
    if (!stuck) move(&q, last);
  }
  set_bounds(&q);
  classify(&q, last, cls);
  return !stuck && mean_product(&q, 0) <= 1e2 * end;
}
