// test_pattern.c: matrices by panels against the same ones dense: products, factors, solves, what is refused; the pattern is of the
// couplings alone. The loops over panels, for both instruction sets, against plain ones, to the bit.
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"
#include "math/krylov.h"
#include "math/ldl.h"
#include "math/pattern.h"
#include "math/pattern_wide.h"
#include "support/check.h"

enum { MOST = 400 };

typedef struct Case { tgiPattern p; int of[MOST]; void *memory; tgReal *A, *U, *dense, *full; } Case;

// unknowns in blocks of 1 to 7, their numbers mixed up between neighbouring blocks
static void open_case(Case *c, tgtRandom *r, int nblock) {
  int n = 0;
  for (int k = 0; k < nblock; k++)
    for (int i = (int)tgt_uniform(r, 0, 6.99); i >= 0 && n < MOST; i--) c->of[n++] = k;
  for (int i = 2; i < n; i++)
    if (c->of[i] - c->of[i - 2] == 1 && tgt_uniform(r, 0, 1) < 0.3) {
      int t = c->of[i];
      c->of[i] = c->of[i - 2];
      c->of[i - 2] = t;
    }
  tgLayout count = {.base = NULL};
  tgi_pattern_place(&c->p, n, nblock, 1, (size_t)n * (size_t)n, &count);
  c->memory = malloc(count.used + 64);
  tgLayout l = {.base = (char *)(((uintptr_t)c->memory + 63) / 64 * 64)};
  tgi_pattern_place(&c->p, n, nblock, 1, (size_t)n * (size_t)n, &l);
  tgi_pattern_blocks(&c->p, c->of);
  tgi_pattern_open(&c->p);
  c->A = calloc(4 * (size_t)n * (size_t)n, sizeof *c->A);
  c->U = c->A + n * n;
  c->full = c->U + n * n;
  c->dense = c->full + n * n;
}

static void close_case(Case *c) {
  free(c->memory);
  free(c->A);
}

// entries of coupled blocks and a diagonal that dominates by `weight`; both matrices
static void fill(Case *c, tgtRandom *r, const bool *coupled, double weight) {
  int n = c->p.n, P = c->p.nblock;
  memset(c->A, 0, c->p.size * sizeof *c->A);
  memset(c->full, 0, (size_t)n * (size_t)n * sizeof *c->full);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      if (c->of[i] != c->of[j] && !coupled[c->of[i] * P + c->of[j]]) continue;
      tgReal x = i == j ? weight * n * tgt_uniform(r, 1, 2) : tgt_normal(r);
      if (i == j) *tgi_pattern_entry(&c->p, c->A, i, i) += x;
      else tgi_pattern_add(&(tgiPatterned){&c->p, c->A}, i, j, x);
      c->full[i * n + j] = c->full[j * n + i] = x;
    }
}

// couplings at random, `many` for each block
static void couple_some(Case *c, tgtRandom *r, double many, bool *coupled) {
  int P = c->p.nblock;
  memset(coupled, 0, (size_t)P * (size_t)P * sizeof *coupled);
  for (int k = 0; k < (int)(many * P); k++) {
    int a = (int)tgt_uniform(r, 0, P - 0.01), b = a + (int)tgt_uniform(r, -5, 5.99);
    if (b < 0 || b >= P) continue;
    tgi_pattern_couple(&c->p, a, b);
    coupled[a * P + b] = coupled[b * P + a] = a != b;
  }
  assert_true(tgi_pattern_close(&c->p));
}

static void check_vector(const tgReal *x, const tgReal *y, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(y[i])));
  for (int i = 0; i < n; i++) check_close(x[i], y[i], 1e-11 * most);
}

static void check_case(Case *c, tgtRandom *r) {
  int n = c->p.n;
  tgReal *x = malloc(sizeof *x * 9 * (size_t)n), *y = x + n, *z = y + n, *X = z + n, *Y = X + 3 * n;
  for (int i = 0; i < n; i++) x[i] = tgt_normal(r);
  for (int i = 0; i < 3 * n; i++) X[i] = Y[i] = tgt_normal(r);
  tgi_pattern_mul(&c->p, c->A, x, y);
  for (int i = 0; i < n; i++) {
    z[i] = 0;
    for (int j = 0; j < n; j++) z[i] += c->full[i * n + j] * x[j];
  }
  check_vector(y, z, n);
  assert_true(tgi_pattern_factor(&c->p, c->A, c->U));
  assert_true(tgi_ldl_factor(n, c->full, c->dense));
  memcpy(y, x, (size_t)n * sizeof *y);
  memcpy(z, x, (size_t)n * sizeof *z);
  tgi_pattern_solve(&c->p, c->U, y);
  tgi_ldl_solve(n, c->dense, z);
  check_vector(y, z, n);
  tgi_pattern_solve_rows(&c->p, c->U, 3, X);
  tgi_ldl_solve_rows(n, c->dense, 3, Y);
  check_vector(X, Y, 3 * n);
  // in place: the same bits; a dense factor has no lower half
  tgi_pattern_factor(&c->p, c->A, c->A);
  if (!c->p.dense) assert_memory_equal(c->A, c->U, c->p.size * sizeof *c->A);
  free(x);
}

static void test_against_dense(void **state) {
  (void)state;
  int sparse = 0, dense = 0;
  for (int k = 0; k < 60; k++) {
    tgtRandom r = {.s = 500u + (unsigned)k};
    Case c;
    open_case(&c, &r, 1 + k % 60);
    bool *coupled = malloc((size_t)c.p.nblock * (size_t)c.p.nblock * sizeof *coupled);
    couple_some(&c, &r, k % 5 * 0.5, coupled);
    fill(&c, &r, coupled, 1);
    check_case(&c, &r);
    sparse += !c.p.dense;
    dense += c.p.dense;
    close_case(&c);
    free(coupled);
  }
  check_true(sparse > 30 && dense > 5, "%d by panels, %d dense", sparse, dense);
}

// A matrix of a pattern that is not symmetric against LU with exchanges; its transpose. What is large stands on the diagonal, or beside it
// within the blocks, and 0 on it; in some unknowns are in units from 1e-9 to 1e9 of the others', of which LU does not hear.
static void test_unsymmetric(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    tgtRandom r = {.s = 900u + (unsigned)k};
    Case c;
    open_case(&c, &r, 2 + 2 * k);
    int n = c.p.n, P = c.p.nblock;
    bool *coupled = malloc((size_t)P * (size_t)P * sizeof *coupled);
    tgReal *x = malloc(3 * (size_t)n * sizeof *x), *y = x + n, *unit = y + n;
    int *pivot = malloc((size_t)n * sizeof *pivot);
    c.p.panels = true;
    couple_some(&c, &r, 1, coupled);
    assert_false(c.p.dense);
    for (int i = 0; i < n; i++) unit[i] = k % 4 == 2 ? ldexp(1, (int)tgt_uniform(&r, -30, 30)) : 1;
    memset(c.A, 0, 2 * (size_t)n * (size_t)n * sizeof *c.A);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        int a = c.p.block[i], e = c.p.block[j];
        c.full[i + (size_t)n * j] = 0;
        if (a != e && !coupled[c.of[i] * P + c.of[j]]) continue;
        int size = c.p.first[a + 1] - c.p.first[a], beside = k % 2;
        bool large = a == e && (c.p.local[i] + beside) % size == c.p.local[j];
        tgReal value = large ? -n * tgt_uniform(&r, 1, 2) : i == j ? 0 : tgt_normal(&r);   // pivots of either sign
        bool upper = a == e ? c.p.local[i] <= c.p.local[j] : c.p.place[a] < c.p.place[e];
        c.full[i + (size_t)n * j] = value;
        if (upper) *tgi_pattern_entry(&c.p, c.U, i, j) = unit[i] * value * unit[j];
        if (!upper || i == j) *tgi_pattern_entry(&c.p, c.A, j, i) = unit[i] * value * unit[j];
      }
    memcpy(c.dense, c.full, (size_t)n * (size_t)n * sizeof *c.dense);
    bool negative, other = false;
    assert_true(tgi_lu_factor(n, c.dense, pivot) && tgi_pattern_factor_both(&c.p, c.A, c.U, &negative));
    for (int i = 0; i < n; i++) other ^= (tgRe(c.dense[(size_t)(n + 1) * (size_t)i]) < 0) ^ (pivot[i] != i);
    assert_int_equal(negative, other);
    for (int transposed = 0; transposed < 2; transposed++) {
      for (int i = 0; i < n; i++) {
        y[i] = tgt_normal(&r);
        x[i] = unit[i] * y[i];
      }
      tgi_pattern_solve_both(&c.p, c.A, c.U, x, transposed);
      tgi_lu_solve(n, c.dense, pivot, y, transposed);
      for (int i = 0; i < n; i++) x[i] *= unit[i];
      check_vector(x, y, n);
    }
    free(pivot);
    free(x);
    free(coupled);
    close_case(&c);
  }
}

static void image(const void *of, const double *in, double *out) {
  const double *A = of;
  for (int i = 0; i < 12; i++) {
    out[i] = 0;
    for (int j = 0; j < 12; j++) out[i] += A[12 * i + j] * in[j];
  }
}

// What a Krylov space leaves is 0 where it takes in all, and no more than was asked for before.
static void test_krylov(void **state) {
  (void)state;
  tgtRandom r = {.s = 31};
  double A[144], b[12], y[12], left[12], work[(TGI_KRYLOV + 1) * 12], last = INFINITY;
  for (int k = 0; k < 144; k++) A[k] = (k % 13 == 0 ? 3 : 0) + 0.3 * tgt_normal(&r);
  for (int i = 0; i < 12; i++) b[i] = tgt_normal(&r);
  for (double enough = 0.5; enough > 1e-12; enough *= 1e-2) {
    double size = 0, all = 0;
    tgi_krylov(12, image, A, b, enough, 0, work, y);
    image(A, y, left);
    for (int i = 0; i < 12; i++) {
      size += (b[i] - left[i]) * (b[i] - left[i]);
      all += b[i] * b[i];
    }
    size = sqrt(size / all);
    check_true(size <= enough * (1 + 1e-9) + 1e-14 && size <= last, "%g left, %g asked", size, enough);
    last = size;
  }
  check_true(last < 1e-11, "%g left of a regular matrix", last);
}

// a pivot that is not positive is found by both, wherever it is; one as small as round-off too
static void test_refused(void **state) {
  (void)state;
  tgtRandom r = {.s = 77};
  Case c;
  open_case(&c, &r, 40);
  bool *coupled = malloc((size_t)c.p.nblock * (size_t)c.p.nblock * sizeof *coupled);
  couple_some(&c, &r, 1, coupled);
  assert_false(c.p.dense);
  for (int i = 0; i < c.p.n; i++) {
    fill(&c, &r, coupled, 1);
    *tgi_pattern_entry(&c.p, c.A, i, i) *= -1;
    assert_false(tgi_pattern_factor(&c.p, c.A, c.U));
  }
  // [a, a; a, a] between two blocks: nothing is left of the second pivot
  int a = -1, b = -1;
  for (int i = 0; i < c.p.n && a < 0; i++)
    for (int j = 0; j < i && a < 0; j++)
      if (coupled[c.of[i] * c.p.nblock + c.of[j]]) a = i, b = j;
  memset(c.A, 0, c.p.size * sizeof *c.A);
  for (int i = 0; i < c.p.n; i++) *tgi_pattern_entry(&c.p, c.A, i, i) = 1.0 / 3;
  assert_true(tgi_pattern_factor(&c.p, c.A, c.U));
  tgi_pattern_add(&(tgiPatterned){&c.p, c.A}, a, b, 1.0 / 3);
  assert_false(tgi_pattern_factor(&c.p, c.A, c.U));
  close_case(&c);
  free(coupled);
}

// the order is that of the couplings, whichever came first and whatever was there before; a chain has no fill-in
static void test_pattern(void **state) {
  (void)state;
  tgtRandom r = {.s = 5};
  Case c, d;
  open_case(&c, &r, 50);
  r.s = 5;
  open_case(&d, &r, 50);
  for (int k = 0; k < 49; k++) {
    tgi_pattern_couple(&c.p, k, k + 1);
    tgi_pattern_couple(&d.p, k * 7 % 50, (k * 11 + 3) % 50);
  }
  assert_true(tgi_pattern_close(&c.p) && tgi_pattern_close(&d.p));
  assert_false(c.p.dense);
  assert_int_equal(c.p.nnext, 49);
  tgi_pattern_open(&d.p);
  for (int k = 48; k >= 0; k--) tgi_pattern_couple(&d.p, k + 1, k);
  assert_true(tgi_pattern_close(&d.p));
  assert_int_equal(c.p.size, d.p.size);
  assert_memory_equal(c.p.order, d.p.order, 50 * sizeof *c.p.order);
  assert_memory_equal(c.p.next, d.p.next, 49 * sizeof *c.p.next);
  // everything coupled: dense
  tgi_pattern_open(&d.p);
  for (int k = 0; k < 50; k++)
    for (int l = 0; l < k; l++) tgi_pattern_couple(&d.p, k, l);
  assert_true(tgi_pattern_close(&d.p));
  assert_true(d.p.dense && d.p.size == (size_t)d.p.n * (size_t)d.p.n);
  close_case(&c);
  close_case(&d);
}

#ifndef TG_COMPLEX
// ---- loops over panels ----

enum { ROWS = 11, WIDTH = 44, PANEL = ROWS * WIDTH };
typedef struct Panels { double L[PANEL], U[PANEL], out[PANEL], x[WIDTH], y[ROWS]; } Panels;

// Each loop with entries in the order that pattern_wide.h and .c promise; a panel of n rows and m columns, and one of `rows` rows.
static void plain_update(const tgiPanelUpdate *u, const Panels *a, double *out) {
  for (int i = 0; i < u->rows; i++)
    for (int j = 0; j < u->runs; j++)
      for (int c = j == 0 ? i : 0; c < u->run[j].count; c++)
        for (int r = 0; r < u->n; r++)
          out[i * u->width + u->run[j].to + c] += -a->L[r * u->m + u->from + i] * a->U[r * u->m + u->run[j].from + c];
}

static void plain_multiply(int n, int m, const double *B, double *S) {
  for (int c = n; c < m; c++) {
    double column[ROWS] = {0};
    for (int r = 0; r < n; r++)
      for (int q = 0; q < n; q++) column[r] += B[q * m + r] * S[q * m + c];
    for (int r = 0; r < n; r++) S[r * m + c] = column[r];
  }
}

static void plain_down(int n, int m, const double *S, const double *f, double *x) {
  for (int c = n; c < m; c++)
    for (int r = 0; r < n; r++) x[c] -= f[r] * S[r * m + c];
}

static void plain_up(int n, int m, const double *S, const double *x, double *y) {
  int whole = n + (m - n) / 4 * 4;
  for (int r = 0; r < n; r++) {
    double part[4] = {0};
    for (int c = n; c < whole; c++) part[(c - n) % 4] += S[r * m + c] * x[c];
    y[r] = (part[0] + part[1]) + (part[2] + part[3]);
    for (int c = whole; c < m; c++) y[r] += S[r * m + c] * x[c];
  }
}

static void plain_outer(const tgiPanelOuter *o, const double *y, const double *x, double *to) {
  for (int r = 0; r < o->rows; r++)
    for (int c = 0; c < o->columns; c++)
      for (int t = 0; t < o->terms; t++) to[r * o->width + c] += y[t * o->apart + r] * x[t * o->apart + c];
}

// sizes of one round; runs: as an update has them, the first of which begins with the columns of `rows`
typedef struct Round { int n, m; tgiRun run[3]; tgiPanelUpdate u; tgiPanelOuter o; } Round;

static void open_round(Round *k, tgtRandom *r) {
  int at = k->n = (int)tgt_uniform(r, 1, ROWS + 0.99), to = 0, rows = (int)tgt_uniform(r, 1, ROWS + 0.99);
  for (int j = 0; j < 3; j++) {
    int count = rows * (j == 0) + (int)tgt_uniform(r, 0, 7.99);
    k->run[j] = (tgiRun){.from = at, .to = to, .count = count > 0 ? count : 1};
    at += k->run[j].count;
    to += k->run[j].count + (int)tgt_uniform(r, 0, 1.99);
  }
  k->m = at;
  k->u = (tgiPanelUpdate){.n = k->n, .m = at, .from = k->n, .rows = rows, .width = to, .runs = 3, .run = k->run};
  k->o = (tgiPanelOuter){.rows = rows, .columns = rows + (int)tgt_uniform(r, 0, 5.99), .width = WIDTH, .terms = 1 + k->n % 6,
                         .apart = 20};
  assert_true(at <= WIDTH && to <= WIDTH && k->o.columns <= k->o.apart);
}

static void expect_same(const double *x, const double *plain, const char *what, int round) {
  for (int i = 0; i < PANEL; i++)
    check_true(memcmp(x + i, plain + i, sizeof *x) == 0, "%s, round %d: %a, plain %a", what, round, x[i], plain[i]);
}

// all five on copies of the same numbers, by one instruction set
#define ALL_LOOPS(isa)                                                               \
  static void loops##isa(const Round *k, const Panels *a, Panels out[5]) {           \
    double work[4 * WIDTH];                                                          \
    tgi_panel_update##isa(&k->u, a->L, a->U, out[0].out, work);                      \
    tgi_panel_multiply##isa(k->n, k->m, a->L, out[1].out, work);                     \
    tgi_panel_down##isa(k->n, k->m, a->U, a->y, out[2].out);                         \
    tgi_panel_up##isa(k->n, k->m, a->U, a->x, out[3].out);                           \
    tgi_panel_outer##isa(&k->o, a->L, a->U, out[4].out, work);                       \
  }
ALL_LOOPS(_v1)
#ifdef TGI_HAS_V3
ALL_LOOPS(_v3)
#endif

static void test_loops(void **state) {
  (void)state;
  static const char *const what[] = {"update", "multiply", "down", "up", "outer"};
  static Panels a, plain[5], wide[5];
  tgtRandom r = {.s = 41};
  for (int round = 0; round < 300; round++) {
    Round k;
    open_round(&k, &r);
    for (size_t i = 0; i < sizeof a / sizeof(double); i++) ((double *)&a)[i] = tgt_normal(&r);
    for (int i = 0; i < 5; i++) plain[i] = a;
    plain_update(&k.u, &a, plain[0].out);
    plain_multiply(k.n, k.m, a.L, plain[1].out);
    plain_down(k.n, k.m, a.U, a.y, plain[2].out);
    plain_up(k.n, k.m, a.U, a.x, plain[3].out);
    plain_outer(&k.o, a.L, a.U, plain[4].out);
    for (int i = 0; i < 5; i++) wide[i] = a;
    loops_v1(&k, &a, wide);
    for (int i = 0; i < 5; i++) expect_same(wide[i].out, plain[i].out, what[i], round);
#ifdef TGI_HAS_V3
    if (!TGI_HAS_V3) continue;
    for (int i = 0; i < 5; i++) wide[i] = a;
    loops_v3(&k, &a, wide);
    for (int i = 0; i < 5; i++) expect_same(wide[i].out, plain[i].out, what[i], round);
#endif
  }
}
#define LOOPS_TEST cmocka_unit_test(test_loops),
#else
#define LOOPS_TEST
#endif

int main(void) {
  const struct CMUnitTest tests[] = {LOOPS_TEST cmocka_unit_test(test_against_dense), cmocka_unit_test(test_unsymmetric),
                                     cmocka_unit_test(test_krylov), cmocka_unit_test(test_refused), cmocka_unit_test(test_pattern)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
