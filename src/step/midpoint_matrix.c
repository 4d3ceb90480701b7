// midpoint_matrix.c: the derivative of a step's residual in its mean velocity as a matrix: what it couples, its factors, solves. See
// midpoint.h.
//
// Based on: [math/damped Solve]. Kinematic trees are coupled by sheets, tendons, equalities and the pairs that touch. Where few are, the
// matrix is kept and factorised tree by tree, with exchanges of pivots inside the blocks alone: inertia stands there. Where it is dense,
// with exchanges.
#include <string.h>

#include "math/combine.h"
#include "math/dense.h"
#include "model/blocks.h"
#include "step/midpoint.h"
#include "step/step.h"

enum { MOST_REFINED = 6 };
#define REFINED 1e-13   // of an answer: corrections that small are the last
#define UNSURE 1e-6     // and with any that are larger it is none

// ---- what is coupled ----

int tgi_midpoint_trees(const tgModel *m, int *tree, int *least) {
  int n = 0, dofs = 0;
  *least = m->nv;
  for (int d = 0; d < m->nv; d++) {
    bool first = m->dof_tree[2 * d] == d;
    for (int k = d; first && k < m->dof_tree[2 * d + 1]; k++) {
      if (m->dof_tree[2 * k] != d) continue;   // of a tree in between
      if (tree != NULL) tree[k] = n;
      dofs++;
    }
    if (first && dofs < *least) *least = dofs;
    n += first;
    dofs = 0;
  }
  return n;
}

static void couple_dofs(const tgSim *s, int i, int j) {
  tgiPattern *p = &tgi_midpoint_own(s)->pattern;
  if (i >= 0 && j >= 0) tgi_pattern_couple(p, p->block[i], p->block[j]);
}

static void couple_bodies(const tgSim *s, int a, int b) { couple_dofs(s, s->m.body_lastdof[a], s->m.body_lastdof[b]); }

static void couple_patch(const tgSim *s, const int *vert, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) couple_bodies(s, s->m.flex_vertbody[vert[i]], s->m.flex_vertbody[vert[j]]);
}

static void couple_sheet(const tgSim *s, int f) {
  const tgModel *m = &s->m;
  int triangles = m->flex_stretch[f] ? m->flex_elemnum[f] : 0, edges = m->flex_bend[f] ? m->flex_hingenum[f] : 0;
  for (int i = 0; i < triangles; i++) couple_patch(s, m->flex_elem + 3 * (m->flex_elemadr[f] + i), 3);
  for (int i = 0; i < edges; i++) couple_patch(s, m->flex_hinge + 4 * (m->flex_hingeadr[f] + i), 4);
}

static void couple_sides(const tgSim *s, const tgiTieSide *a, const tgiTieSide *b) {
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++) couple_dofs(s, tgi_tie_dof(&s->m, a, i), tgi_tie_dof(&s->m, b, j));
}

static void couple_equality(const tgSim *s, int e) {
  const tgModel *m = &s->m;
  if (!m->eq_active[e]) return;
  if (!tgi_is_tie(m, e)) {
    couple_bodies(s, m->eq_a[e], m->eq_b[e]);
    return;
  }
  tgiTieSide a = tgi_tie_side(m, e, 0), b = tgi_tie_side(m, e, 1);
  couple_sides(s, &a, &b);
}

// bodies of all that a spatial tendon runs over
static void couple_strands(const tgSim *s, int t) {
  const tgModel *m = &s->m;
  const int *site = m->strand_site + 2 * m->ten_strandadr[t];
  for (int i = 0; i < 2 * m->ten_strandnum[t]; i++)
    for (int j = 0; j < i; j++) couple_bodies(s, m->site_body[site[i]], m->site_body[site[j]]);
}

static void couple_model(const tgSim *s) {
  const tgModel *m = &s->m;
  for (int f = 0; f < m->nflex; f++) couple_sheet(s, f);
  for (int t = 0; t < m->ntendon; t++) {
    tgiTieSide all = {.n = m->ten_num[t], .joint = m->wrap_jnt + m->ten_adr[t]};
    couple_sides(s, &all, &all);
    couple_strands(s, t);
  }
  for (int e = 0; e < m->neq; e++) couple_equality(s, e);
}

// The order of elimination is a function of what is coupled alone, so that a step that is revisited has the same numbers.
tgStatus tgi_midpoint_couple(tgSim *s) {
  tgiMidpoint *own = tgi_midpoint_own(s);
  tgiPattern *p = &own->pattern;
  bool same = own->ordered && own->npair == s->nterm;
  for (int i = 0; i < s->nterm && same; i++) same = own->pair[2 * i] == s->term[i].body1 && own->pair[2 * i + 1] == s->term[i].body2;
  if (same) return TG_OK;
  own->npair = s->nterm;
  tgi_pattern_open(p);
  couple_model(s);
  for (int i = 0; i < s->nterm; i++) {
    own->pair[2 * i] = s->term[i].body1;
    own->pair[2 * i + 1] = s->term[i].body2;
    couple_bodies(s, s->term[i].body1, s->term[i].body2);
  }
  own->ordered = tgi_pattern_close(p);
  if (own->ordered) return TG_OK;
  if (p->size > s->wanted.nH) s->wanted.nH = p->size;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "The derivative of a step has %zu numbers, there is room for %zu; reserve more and repeat.",
                   p->size, s->cap.nH);
}

// ---- numbers ----

static tgReal *below(const tgSim *s, tgReal *A) { return A + s->cap.nH; }

void tgi_midpoint_clear(const tgSim *s, tgReal *A) {
  const tgiPattern *p = &tgi_midpoint_own(s)->pattern;
  memset(A, 0, p->size * sizeof *A);
  if (!p->dense) memset(below(s, A), 0, p->size * sizeof *A);
}

bool tgi_midpoint_factor(tgSim *s, double ease) {
  const tgModel *m = &s->m;
  tgiMidpoint *own = tgi_midpoint_own(s);
  const tgiPattern *p = &own->pattern;
  memcpy(own->step_LU, own->step_F, p->size * sizeof(tgReal));
  if (!p->dense) memcpy(below(s, own->step_LU), below(s, own->step_F), p->size * sizeof(tgReal));
  tgiPatternBlock last = {.row = -1};
  for (int i = 0; i < m->nv && ease > 0; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++)
      if (m->dof_tree[2 * i] == m->dof_tree[2 * j]) tgi_midpoint_put(s, &last, own->step_LU, i, j, ease * tgi_block_row(m, s->M, i)[j]);
  bool negative;
  return p->dense ? tgi_lu_factor(m->nv, own->step_LU, own->pivot)
                  : tgi_pattern_factor_both(p, below(s, own->step_LU), own->step_LU, &negative);
}

void tgi_midpoint_solve_once(const tgSim *s, bool transposed, tgReal *x) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  if (own->pattern.dense) tgi_lu_solve(s->m.nv, own->step_LU, own->pivot, x, !transposed);
  else tgi_pattern_solve_both(&own->pattern, below(s, own->step_LU), own->step_LU, x, transposed);
}

// y = F_V x, or F_V' x
static void multiply(const tgSim *s, bool transposed, const tgReal *x, tgReal *y) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  tgReal *U = own->step_F, *L = below(s, U);
  size_t n = (size_t)s->m.nv;
  if (!own->pattern.dense) {
    tgi_pattern_mul_both(&own->pattern, transposed ? U : L, transposed ? L : U, x, y);
    return;
  }
  for (size_t i = 0; i < n; i++) y[i] = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) y[transposed ? j : i] += U[i * n + j] * x[transposed ? i : j];
}

// the sizes of the columns of X (nv x ld)
static void sizes(int n, int ld, const tgReal *X, double *size) {
  for (int c = 0; c < ld; c++) size[c] = 0;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < ld; c++) {
      double x = tgRe(tgAbs(X[ld * i + c]));
      if (!(x <= size[c]) && size[c] >= 0) size[c] = x;   // NaN too, which stays
    }
}

// the largest correction, of its column
static double largest(int n, int ld, const tgReal *x, const tgReal *correction, double *size) {
  double most = 0;
  sizes(n, ld, x, size);
  sizes(n, ld, correction, size + ld);
  for (int c = 0; c < ld; c++) {
    double off = size[c] == 0 ? 0 : size[ld + c] / size[c];   // NaN of what is NaN
    if (!(off <= most) && most >= 0) most = off;
  }
  return most;
}

static tgStatus sure(tgSim *s, double off) {
  if (off <= UNSURE) return TG_OK;
  return tgi_error(&s->error, TG_NOT_CONVERGED, "The derivative of a step could not be solved for: its equation is singular there to %.2g "
                   "of the answer. Try a smaller step, or a larger resting gap.", off);
}

// Refined until the corrections no longer halve or are of round-off; the last of them is what the answer is sure to.
tgStatus tgi_midpoint_solve(tgSim *s, bool transposed, tgReal *x, tgReal *work) {
  int n = s->m.nv;
  tgReal *right = work, *image = work + n, *rest = work + 2 * n;
  double off = INFINITY, size[2];
  memcpy(right, x, (size_t)n * sizeof *x);
  tgi_midpoint_solve_once(s, transposed, x);
  for (int k = 0; k < MOST_REFINED; k++) {
    multiply(s, transposed, x, image);
    for (int i = 0; i < n; i++) rest[i] = right[i] - image[i];
    tgi_midpoint_solve_once(s, transposed, rest);
    for (int i = 0; i < n; i++) x[i] += rest[i];
    double last = off;
    off = largest(n, 1, x, rest, size);
    if (off <= REFINED || !(off <= last / 2)) break;
  }
  return sure(s, off);
}

// column by column
static tgStatus solve_columns(tgSim *s, int ld, tgReal *X) {
  int n = s->m.nv;
  tgReal *column = tgi_stack_real(s, 4 * (size_t)n);
  if (column == NULL) return tgi_no_room(s, "Jacobian");
  for (int c = 0; c < ld; c++) {
    for (int i = 0; i < n; i++) column[i] = X[ld * i + c];
    TG_TRY_OUTCOME(tgi_midpoint_solve(s, false, column, column + n));
    for (int i = 0; i < n; i++) X[ld * i + c] = column[i];
  }
  return TG_OK;
}

// R = B - F_V X
static void rest_of(const tgSim *s, int ld, const tgReal *B, const tgReal *X, tgReal *w, const int *at, tgReal *R) {
  int n = s->m.nv;
  memcpy(R, B, (size_t)n * (size_t)ld * sizeof *R);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++) w[k] = -tgi_midpoint_own(s)->step_F[(size_t)n * (size_t)i + (size_t)k];
    tgi_combine(n, w, at, X, ld, R + (size_t)ld * (size_t)i);
  }
}

// all columns at once, by the dense factors
static tgStatus solve_rows(tgSim *s, int ld, tgReal *X) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  size_t n = (size_t)s->m.nv, all = n * (size_t)ld;
  tgReal *B = tgi_stack_real(s, all), *R = tgi_stack_real(s, all), *w = tgi_stack_real(s, n);
  int *at = tgi_stack_bytes(s, n * sizeof *at), *work = tgi_stack_bytes(s, n * sizeof *work);
  double off = INFINITY, *size = tgi_stack_bytes(s, 2 * (size_t)ld * sizeof *size);
  if (B == NULL || R == NULL || w == NULL || at == NULL || work == NULL || size == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t i = 0; i < n; i++) at[i] = (int)i * ld;
  memcpy(B, X, all * sizeof *B);
  tgi_lu_solve_rows((int)n, own->step_LU, own->pivot, ld, X, w, work);
  for (int k = 0; k < MOST_REFINED; k++) {
    rest_of(s, ld, B, X, w, at, R);
    tgi_lu_solve_rows((int)n, own->step_LU, own->pivot, ld, R, w, work);
    for (size_t i = 0; i < all; i++) X[i] += R[i];
    double last = off;
    off = largest((int)n, ld, X, R, size);
    if (off <= REFINED || !(off <= last / 2)) break;
  }
  return sure(s, off);
}

tgStatus tgi_midpoint_solve_all(tgSim *s, int ld, tgReal *X) {
  size_t mark = tgi_stack_mark(s);
  TG_TRY_OUTCOME(tgi_midpoint_own(s)->pattern.dense ? solve_rows(s, ld, X) : solve_columns(s, ld, X));
  tgi_stack_free(s, mark);
  return TG_OK;
}
