// sparse.c: see sparse.h.
#include "contact/lcp/sparse.h"

#include <string.h>

#include "contact/lcp/scratch.h"
#include "math/krylov.h"
#include "math/pattern_wide.h"

// s over the mean of A's diagonal; residuals of Q x = r over those of x = 0 at which the steps end, and where they end when they gain
// no more than that; beyond INCONSISTENT r is not in the range of Q
#define SHIFT 1e-6
#define RESOLVED 1e-13
#define GAIN 0.3
#define INCONSISTENT 1e-9
#define SOLVED 1e-10
enum { STEPS = 12, PASSES = 3 };
enum { GROUP = 6 };   // rows of a contact at most
// what one step takes r down to at most, and what of Q's scale is 0 in the space of its images
#define ENOUGH 1e-10
#define CLOSED 1e-3
// ... of an interior point's direction, whose error the next one takes off
#define DIRECTION 1e-4
// What of a vector by chance is left by x - Q^# Q x where Q is regular
#define REGULAR 1e-6

static int size_of(const tgiLcpSparse *a, int block) { return a->pattern.first[block + 1] - a->pattern.first[block]; }
static const tgReal *numbers(const tgiLcpSparse *a, const tgReal *J, int i) { return J + (size_t)a->row[i] * (size_t)a->width; }

// to += e x of a body's dofs, or of another set's
static inline void add_to(int n, tgReal e, const tgReal *restrict x, tgReal *restrict to) {
  if (n == 6)
    for (int d = 0; d < 6; d++) to[d] += e * x[d];
  else
    for (int d = 0; d < n; d++) to[d] += e * x[d];
}

// sum + x . y, term by term
static inline tgReal add_dot(int n, const tgReal *x, const tgReal *y, tgReal sum) {
  if (n == 6) return sum + x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5];
  for (int d = 0; d < n; d++) sum += x[d] * y[d];
  return sum;
}

void tgi_sparse_sum(const tgiLcpSparse *a, int n, const tgReal *J, const tgReal *f, tgReal *x) {
  for (int d = 0; d < a->nd; d++) x[d] = 0;
  for (int i = 0; i < n; i++) {
    const tgReal *row = numbers(a, J, i), e = f[i];
    if (tgZero(e)) continue;
    for (int side = 0; side < 2; side++) {
      int b = a->block[2 * i + side];
      if (b < 0) continue;
      add_to(size_of(a, b), e, row, x + a->pattern.first[b]);
      row += size_of(a, b);
    }
  }
}

tgReal tgi_sparse_dot(const tgiLcpSparse *a, int i, const tgReal *x) {
  const tgReal *row = numbers(a, a->J, i);
  tgReal sum = 0;
  for (int side = 0; side < 2; side++) {
    int b = a->block[2 * i + side];
    if (b < 0) continue;
    sum = add_dot(size_of(a, b), row, x + a->pattern.first[b], sum);
    row += size_of(a, b);
  }
  return sum;
}

void tgi_sparse_form(const tgiLcpSparse *a, int n, tgReal *A) {
  tgReal *e = a->own[0];
  for (int i = 0; i < n; i++) e[i] = 0;
  for (int j = 0; j < n; j++) {
    e[j] = 1;
    tgi_sparse_sum(a, n, a->MiJ, e, a->dof[0]);
    e[j] = 0;
    for (int i = 0; i <= j; i++) {
      tgReal x = tgi_sparse_dot(a, i, a->dof[0]);
      A[(size_t)n * (size_t)i + (size_t)j] = A[(size_t)n * (size_t)j + (size_t)i] = x;
    }
  }
}

void tgi_sparse_mass(const tgiLcpSparse *a, const tgReal *x, tgReal *y) {
  for (int i = 0; i < a->nd; i++) {
    y[i] = 0;
    for (int j = a->at[3 * i + 1]; j < a->at[3 * i + 2]; j++) y[i] += a->M[a->at[3 * i] + j] * x[j];
  }
}

// ---- H ----

static void add_mass(const tgiLcpSparse *a, tgReal *U) {
  memset(U, 0, a->pattern.size * sizeof *U);
  for (int i = 0; i < a->nd; i++)
    for (int j = i; j < a->at[3 * i + 2]; j++)
      if (!tgZero(a->M[a->at[3 * i] + j])) *tgi_pattern_entry(&a->pattern, U, i, j) += a->M[a->at[3 * i] + j];
}

// Neighbouring rows that act on the same two blocks, as those of a contact do: y and x are the first one's numbers, a row apart.
typedef struct Group { const tgReal *y, *x; int row, count; } Group;

// the block of U (row of block b, columns of c, which is b or later in the order) += y x' of the group; what of b = c is below the diagonal
// no factorisation reads
static void add_block(const tgiLcpSparse *a, int b, int c, const Group *g, int skip_y, int skip_x, tgReal *U) {
  const tgiPattern *p = &a->pattern;
  const tgiPanelOuter o = {.rows = size_of(a, b), .columns = size_of(a, c), .width = p->width[b], .terms = g->count,
                           .apart = a->width};
  tgReal w[GROUP];
  tgi_panel_outer(&o, g->y + skip_y, g->x + skip_x, tgi_pattern_entry(p, U, p->first[b], p->first[c]), w);
}

// U += y x' of the group
static void add_outer(const tgiLcpSparse *a, const Group *g, tgReal *U) {
  const tgiPattern *p = &a->pattern;
  int b = a->block[2 * g->row], c = a->block[2 * g->row + 1];
  if (b < 0) return;
  int skip = size_of(a, b);
  add_block(a, b, b, g, 0, 0, U);
  if (c < 0) return;
  add_block(a, c, c, g, skip, skip, U);
  if (p->place[b] < p->place[c]) add_block(a, b, c, g, 0, skip, U);
  else add_block(a, c, b, g, skip, 0, U);
}

// the rows from i on that are one group
static int group_from(const tgiLcpSparse *a, int n, int i) {
  int count = 1;
  while (i + count < n && count < GROUP && a->row[i + count] == a->row[i] + count && a->block[2 * (i + count)] == a->block[2 * i] &&
         a->block[2 * (i + count) + 1] == a->block[2 * i + 1])
    count++;
  return count;
}

bool tgi_sparse_matrix(const tgiLcpProblem *p, const tgReal *weight, const tgReal *slope, bool sloped, tgReal *L, tgReal *U,
                       bool *negative) {
  const tgiLcpSparse *a = p->sparse;
  size_t width = (size_t)a->width;
  for (int i = 0; i < p->n; i++) {
    const tgReal *row = numbers(a, a->J, i);
    for (size_t d = 0; d < width; d++) a->hung[(size_t)i * width + d] = weight[i] * row[d];
  }
  for (int i = 0; i < p->n && sloped; i++) {
    if (p->kind[i] != TGI_LCP_FRICTION || tgZero(slope[i])) continue;
    const tgReal *row = numbers(a, a->J, i), e = weight[p->parent[i]] * slope[i];
    tgReal *to = a->hung + (size_t)p->parent[i] * width;
    for (size_t d = 0; d < width; d++) to[d] += e * row[d];
  }
  add_mass(a, U);
  if (sloped) memcpy(L, U, a->pattern.size * sizeof *L);
  for (int i = 0, count; i < p->n; i += count) {
    const tgReal *y = a->hung + (size_t)i * width, *x = numbers(a, a->J, i);
    bool any = false;
    count = group_from(a, p->n, i);
    for (int k = 0; k < count; k++) any = any || !tgZero(weight[i + k]);
    if (any) add_outer(a, &(Group){.y = y, .x = x, .row = i, .count = count}, U);
    if (any && sloped) add_outer(a, &(Group){.y = x, .x = y, .row = i, .count = count}, L);
  }
  *negative = false;
  return sloped ? tgi_pattern_factor_both(&a->pattern, L, U, negative) : tgi_pattern_factor(&a->pattern, U, U);
}

void tgi_sparse_product(const tgiLcpProblem *p, const tgReal *x, tgReal *u, tgReal *y) {
  const tgiLcpSparse *a = p->sparse;
  tgi_sparse_mass(a, x, y);
  for (int i = 0; i < p->n; i++) {
    const tgReal *h = a->hung + (size_t)i * (size_t)a->width, e = u[i] = tgi_sparse_dot(a, i, x);
    for (int side = 0; side < 2; side++) {
      int b = a->block[2 * i + side];
      if (b < 0) continue;
      add_to(size_of(a, b), e, h, y + a->pattern.first[b]);
      h += size_of(a, b);
    }
  }
}

typedef struct Product { const tgiLcpProblem *p; const tgReal *L, *U; } Product;

static void solve_factors(const Product *h, const double *in, tgReal *out) {
  const tgiLcpSparse *a = h->p->sparse;
  for (int d = 0; d < a->nd; d++) out[d] = in[d];
  tgi_pattern_solve_both(&a->pattern, h->L, h->U, out, false);
}

static void product_image(const void *of, const double *in, double *out) {
  const Product *h = of;
  const tgiLcpSparse *a = h->p->sparse;
  solve_factors(h, in, a->dof[3]);
  tgi_sparse_product(h->p, a->dof[3], a->own[5], a->dof[4]);
  for (int d = 0; d < a->nd; d++) out[d] = tgRe(a->dof[4][d]);
}

void tgi_sparse_product_solve(const tgiLcpProblem *p, const tgReal *L, const tgReal *U, const tgReal *r, tgReal *x,
                              tgReal *u) {
  const tgiLcpSparse *a = p->sparse;
  const Product of = {p, L, U};
  size_t nd = (size_t)a->nd;
  double *left = a->krylov_dof + (TGI_KRYLOV + 1) * nd, *y = left + nd, most = 0;
  for (int d = 0; d < a->nd; d++) {
    x[d] = 0;
    most = fmax(most, fabs(tgRe(r[d])));
  }
  for (int i = 0; i < p->n; i++) u[i] = 0;
  for (int pass = 0; pass < PASSES; pass++) {
    double worst = 0;
    if (pass > 0) tgi_sparse_product(p, x, u, a->dof[4]);
    for (int d = 0; d < a->nd; d++) {
      left[d] = tgRe(pass > 0 ? r[d] - a->dof[4][d] : r[d]);
      worst = fmax(worst, fabs(left[d]));
    }
    if (!(worst > DIRECTION * most)) return;
    if (pass > 0) tgi_krylov(a->nd, product_image, &of, left, DIRECTION, 0, a->krylov_dof, y);
    solve_factors(&of, pass > 0 ? y : left, a->dof[3]);
    for (int d = 0; d < a->nd; d++) x[d] += tgRe(a->dof[3][d]);
  }
  for (int i = 0; i < p->n; i++) u[i] = tgi_sparse_dot(a, i, x);
}

// Has Q a null space? A vector by chance has a share in it.
static bool is_deficient(tgiLcp *s) {
  const tgiLcpSparse *a = s->problem->sparse;
  double left = 0;
  if (s->nk > a->nd) return true;
  tgReal *x = s->scratch->x;
  for (int k = 0; k < s->nk; k++) x[k] = tgi_lcp_chance(0, k) - 1;
  tgi_sparse_project(s, x);
  for (int k = 0; k < s->nk; k++) left = fmax(left, fabs(tgRe(x[k])));
  return left > REGULAR;
}

bool tgi_sparse_open(tgiLcp *s) {
  const tgiLcpProblem *p = s->problem;
  const tgiLcpSparse *a = p->sparse;
  s->shift = 0;
  s->deficient = false;
  s->rank = s->nk;
  for (int i = 0; i < p->n; i++) s->shift += SHIFT * tgRe(a->diagonal[i]) / p->n;
  s->U = s->factor;
  s->L = s->hanging ? s->factor + a->pattern.size : s->U;
  tgReal *weight = a->own[0], *slope = a->own[1];
  for (int i = 0; i < p->n; i++) {
    weight[i] = s->kpos[i] >= 0 ? 1 / s->shift : 0;
    slope[i] = s->kpos[i] >= 0 ? 0 : tgi_lcp_slope(s, i);
  }
  bool negative, regular = tgi_sparse_matrix(p, weight, slope, s->hanging, s->L, s->U, &negative);
  s->probed = !regular;
  return regular;
}

void tgi_sparse_probe(tgiLcp *s) {
  int nd = s->problem->sparse->nd;
  s->probed = true;
  s->deficient = is_deficient(s);
  if (s->deficient) s->rank = s->nk - 1 < nd ? s->nk - 1 : nd;
}

// ---- solves ----

// of the rows in K, J x; transposed: P' J x
static void from_dofs(const tgiLcp *s, const tgReal *x, bool transposed, tgReal *out) {
  const tgiLcpSparse *a = s->problem->sparse;
  if (!transposed || !s->hanging) {
    for (int k = 0; k < s->nk; k++) out[k] = tgi_sparse_dot(a, s->k[k], x);
    return;
  }
  tgReal *all = a->own[3];
  for (int i = 0; i < s->n; i++) all[i] = tgi_sparse_dot(a, i, x);
  tgi_lcp_gather(s, all, out);
}

// x (nd) = J' P r or MiJ' P r; transposed: without P
static void to_dofs(const tgiLcp *s, const tgReal *J, const tgReal *r, bool transposed, tgReal *x) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgReal *all = a->own[3];
  if (!transposed) tgi_lcp_expand(s, r, all);
  for (int i = 0; i < s->n && transposed; i++) all[i] = s->kpos[i] >= 0 ? r[s->kpos[i]] : 0;
  tgi_sparse_sum(a, s->n, J, all, x);
}

static void multiply(const tgiLcp *s, const tgReal *x, bool transposed, tgReal *out) {
  const tgiLcpSparse *a = s->problem->sparse;
  to_dofs(s, a->MiJ, x, transposed, a->dof[0]);
  from_dofs(s, a->dof[0], transposed, out);
}

// out = (Q + s)^-1 r or of the transpose
static void shifted(const tgiLcp *s, const tgReal *r, bool transposed, tgReal *out) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgReal *x = a->dof[0];
  to_dofs(s, a->J, r, transposed, x);
  for (int d = 0; d < a->nd; d++) x[d] /= s->shift;
  if (s->hanging) tgi_pattern_solve_both(&a->pattern, s->L, s->U, x, transposed);
  else tgi_pattern_solve(&a->pattern, s->U, x);
  from_dofs(s, x, transposed, out);
  for (int k = 0; k < s->nk; k++) out[k] = (r[k] - out[k]) / s->shift;
}

// left <- r - Q x; its size, that of imaginary parts apart, and relative to those of r where `of` is given
static void rest(const tgiLcp *s, const tgReal *r, const tgReal *x, bool transposed, tgReal *left, double size[2]) {
  multiply(s, x, transposed, left);
  size[0] = size[1] = 0;
  for (int k = 0; k < s->nk; k++) {
    left[k] = r[k] - left[k];
    size[0] = fmax(size[0], fabs(tgRe(left[k])));
    size[1] = fmax(size[1], fabs(tgIm(left[k])));
  }
}

typedef struct Shifted { const tgiLcp *s; bool transposed; } Shifted;

// Q (Q + s)^-1
static void image(const void *of, const double *in, double *out) {
  const Shifted *q = of;
  const tgiLcpSparse *a = q->s->problem->sparse;
  tgReal *x = a->own[7], *y = a->own[2];
  for (int i = 0; i < q->s->nk; i++) x[i] = in[i];
  shifted(q->s, x, q->transposed, y);
  multiply(q->s, y, q->transposed, x);
  for (int i = 0; i < q->s->nk; i++) out[i] = tgRe(x[i]);
}

// dx = (Q + s)^-1 y, y that which leaves least of r - Q (Q + s)^-1 y
static void least_left(const tgiLcp *s, const double *r, bool transposed, tgReal *dx) {
  const tgiLcpSparse *a = s->problem->sparse;
  const Shifted of = {s, transposed};
  double *y = a->krylov + (size_t)(TGI_KRYLOV + 2) * (size_t)s->nk;
  tgReal *out = a->own[2];
  tgi_krylov(s->nk, image, &of, r, ENOUGH, CLOSED, a->krylov, y);
  for (int i = 0; i < s->nk; i++) dx[i] = y[i];
  shifted(s, dx, transposed, out);
  for (int i = 0; i < s->nk; i++) dx[i] = tgRe(out[i]);
}

// x += what takes r - Q x down, until that gains nothing; left: r - Q x
static double iterate(const tgiLcp *s, const tgReal *r, tgReal *x, bool transposed, tgReal *left) {
  const tgiLcpSparse *a = s->problem->sparse;
  double most[2] = {0, 0}, size[2], last = INFINITY, *part = a->krylov + (size_t)(TGI_KRYLOV + 1) * (size_t)s->nk;
  tgReal *dx = a->own[1];
  for (int k = 0; k < s->nk; k++) {
    most[0] = fmax(most[0], fabs(tgRe(r[k])));
    most[1] = fmax(most[1], fabs(tgIm(r[k])));
  }
  for (int step = 0;; step++) {
    rest(s, r, x, transposed, left, size);
    if (step < 2) most[1] = fmax(most[1], size[1]);   // the matrix has imaginary parts too, which show once x is there
    double now = most[0] > 0 ? size[0] / most[0] : 0, other = most[1] > 0 ? size[1] / most[1] : 0, worst = fmax(now, other);
    if (!isfinite(worst) || worst <= RESOLVED || step == STEPS || (step > 1 && worst > GAIN * last)) return worst;
    last = worst;
    for (int k = 0; k < s->nk; k++) part[k] = tgRe(left[k]);
    least_left(s, part, transposed, dx);
    for (int k = 0; k < s->nk; k++) x[k] += dx[k];
#ifdef TG_COMPLEX
    for (int k = 0; k < s->nk; k++) part[k] = tgIm(left[k]);
    least_left(s, part, transposed, dx);
    for (int k = 0; k < s->nk; k++) x[k] += dx[k] * CMPLX(0, 1);
#endif
  }
}

// x <- Q^# (r - Q x) + x; x may not be r. What is left of r within the range of Q, as a share of it.
static double apply(const tgiLcp *s, const tgReal *r, tgReal *x, bool transposed) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgReal *left = a->own[0], *within = a->own[6];
  double size = iterate(s, r, x, transposed, left);
  if (!(size > INCONSISTENT)) return size;
  // what no x removes is not in the range of Q; the steps have summed it up in x
  for (int k = 0; k < s->nk; k++) {
    within[k] = r[k] - left[k];
    x[k] = 0;
  }
  return iterate(s, within, x, transposed, left);
}

bool tgi_sparse_solve(const tgiLcp *s, tgReal *x, bool transposed) {
  tgReal *r = s->problem->sparse->own[4];
  for (int k = 0; k < s->nk; k++) {
    r[k] = x[k];
    x[k] = 0;
  }
  return apply(s, r, x, transposed) <= INCONSISTENT;
}

void tgi_sparse_solve_anchored(const tgiLcp *s, tgReal *r) {
  tgReal *x = s->problem->sparse->own[5], *left = s->problem->sparse->own[0];
  double size[2], most = 0;
  for (int k = 0; k < s->nk; k++) {
    x[k] = s->anchor[s->k[k]];
    most = fmax(most, fabs(tgRe(r[k])));
  }
  rest(s, r, x, false, left, size);
  // what is a solution already must not move along what next to nothing is seen of
  bool solved = s->anchored == TGI_AS_ANCHOR || size[0] <= SOLVED * most;
  for (int k = 0; k < s->nk && solved; k++) r[k] -= tgRe(left[k]);
  apply(s, r, x, false);
  for (int k = 0; k < s->nk; k++) r[k] = x[k];
}

// (Q + s) (Q + s)^-1 by the factors, which may be inexact
static void shifted_image(const void *of, const double *in, double *out) {
  const Shifted *q = of;
  const tgiLcpSparse *a = q->s->problem->sparse;
  tgReal *x = a->own[7], *y = a->own[2];
  for (int i = 0; i < q->s->nk; i++) x[i] = in[i];
  shifted(q->s, x, false, y);
  multiply(q->s, y, false, x);
  for (int i = 0; i < q->s->nk; i++) out[i] = tgRe(x[i] + q->s->shift * y[i]);
}

// x += (Q + s)^-1 y by the factors, where that leaves less of r: left, its size. False: it does not.
static bool comes_closer(const tgiLcp *s, const tgReal *r, const tgReal *y, tgReal *x, tgReal *left, double *size) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgReal *next = a->own[2], *rest = a->own[6];
  double now = 0;
  shifted(s, y, false, next);
  for (int k = 0; k < s->nk; k++) next[k] += x[k];
  multiply(s, next, false, rest);
  for (int k = 0; k < s->nk; k++) {
    rest[k] = r[k] - rest[k] - s->shift * next[k];
    now = fmax(now, fabs(tgRe(rest[k])));
  }
  if (!(now < *size)) return false;
  memcpy(x, next, (size_t)s->nk * sizeof *x);
  memcpy(left, rest, (size_t)s->nk * sizeof *left);
  *size = now;
  return true;
}

void tgi_sparse_solve_shifted(const tgiLcp *s, tgReal *r) {
  const tgiLcpSparse *a = s->problem->sparse;
  const Shifted of = {s, false};
  tgReal *x = a->own[5], *left = a->own[4], *y = a->own[1];
  double *in = a->krylov + (size_t)(TGI_KRYLOV + 1) * (size_t)s->nk, *out = in + s->nk, most = 0;
  for (int k = 0; k < s->nk; k++) {
    most = fmax(most, fabs(tgRe(r[k])));
    left[k] = r[k];
    x[k] = 0;
  }
  double size = most;
  for (int pass = 0; pass < PASSES && size > RESOLVED * most; pass++)
    if (!comes_closer(s, r, left, x, left, &size)) break;
  for (int pass = 0; pass < 2 && s->hanging && size > ENOUGH * most; pass++) {   // inexact factors
    for (int k = 0; k < s->nk; k++) in[k] = tgRe(left[k]);
    tgi_krylov(s->nk, shifted_image, &of, in, ENOUGH, 0, a->krylov, out);
    for (int k = 0; k < s->nk; k++) y[k] = out[k];
    if (!comes_closer(s, r, y, x, left, &size)) break;
  }
  memcpy(r, x, (size_t)s->nk * sizeof *x);
}

void tgi_sparse_project(const tgiLcp *s, tgReal *x) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgReal *r = a->own[4], *y = a->own[5];
  multiply(s, x, false, r);
  for (int k = 0; k < s->nk; k++) y[k] = 0;
  apply(s, r, y, false);
  for (int k = 0; k < s->nk; k++) x[k] -= y[k];
}

void tgi_sparse_respond(const tgiLcpSparse *a, int n, const tgReal *f, tgReal *v) {
  tgi_sparse_sum(a, n, a->MiJ, f, a->dof[0]);
  for (int i = 0; i < n; i++) v[i] += tgi_sparse_dot(a, i, a->dof[0]);
}

void tgi_sparse_fixed(const tgiLcp *s, const tgReal *f0, tgReal *fk) {
  const tgiLcpSparse *a = s->problem->sparse;
  tgi_sparse_sum(a, s->n, a->MiJ, f0, a->dof[0]);
  for (int k = 0; k < s->nk; k++) fk[k] -= tgi_sparse_dot(a, s->k[k], a->dof[0]);
}
