// test_dense.c: LU, complete orthogonal decomposition, factors of low rank: against matrices of known rank, the wide kernels against
// plain loops and against each other, and the same bits from many threads at once (a library that keeps scratch memory
// of its own fails here, decision 0018).
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "math/combine.h"
#include "math/dense.h"
#include "support/check.h"

enum { MOST = 40 };

typedef struct Pair {
  tgReal a[MOST * MOST], b[MOST * MOST], wa[MOST * MOST], wb[MOST * MOST];
  tgReal ta[MOST], tb[MOST], ua[MOST], ub[MOST], worka[TGI_COD_WORK(MOST)], workb[TGI_COD_WORK(MOST)];
  int pa[MOST], pb[MOST];
  tgiCod da, db;
} Pair;

// n x n of the rank asked, entries of order one
static void fill(int n, int rank, tgtRandom *r, tgReal *a) {
  double u[MOST * MOST], v[MOST * MOST];
  for (int i = 0; i < n * rank; i++) {
    u[i] = tgt_normal(r);
    v[i] = tgt_normal(r);
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      double s = 0;
      for (int k = 0; k < rank; k++) s += u[i * rank + k] * v[j * rank + k];
      a[i + n * j] = s;
    }
}

static void set_up(Pair *p, int n, int rank, tgtRandom *r) {
  fill(n, rank, r, p->a);
  memcpy(p->b, p->a, sizeof p->a);
  p->da = (tgiCod){n, 0, p->a, p->ta, p->wa, p->ua, p->pa, p->worka};
  p->db = (tgiCod){n, 0, p->b, p->tb, p->wb, p->ub, p->pb, p->workb};
}

// ---- the decomposition in plain loops ----

// Householder: H = 1 - tau u u^T, u_0 = 1 (kept implicitly), H x = (beta, 0, ...); x_1.. become u_1..
static tgReal reflect(int m, tgReal *x) {
  tgReal s = 0;
  for (int i = 0; i < m; i++) s += x[i] * x[i];
  if (m <= 1 || tgRe(s) <= 0) return 0;
  tgReal beta = tgRe(x[0]) > 0 ? -tgSqrt(s) : tgSqrt(s), head = x[0] - beta;
  tgReal tau = -head / beta;
  for (int i = 1; i < m; i++) x[i] /= head;
  x[0] = beta;
  return tau;
}

static void reflect_apply(int m, const tgReal *u, tgReal tau, tgReal *x) {
  tgReal s = x[0];
  for (int i = 1; i < m; i++) s += u[i] * x[i];
  x[0] -= tau * s;
  for (int i = 1; i < m; i++) x[i] -= tau * s * u[i];
}

static void plain_cod_factor(tgiCod *d, double cut) {
  int n = d->n, k = 0;
  double first = 0;
  for (int j = 0; j < n; j++) d->piv[j] = j;
  for (; k < n; k++) {
    int best = k;
    double most = -1;
    for (int j = k; j < n; j++) {
      double s = 0;
      for (int i = k; i < n; i++) s += tgRe(d->qr[i + (size_t)n * j]) * tgRe(d->qr[i + (size_t)n * j]);
      if (s > most) { most = s; best = j; }
    }
    if (k == 0) first = sqrt(most);
    if (!(sqrt(most) > cut * first)) break;
    for (int i = 0; best != k && i < n; i++) {
      tgReal t = d->qr[i + (size_t)n * k];
      d->qr[i + (size_t)n * k] = d->qr[i + (size_t)n * best];
      d->qr[i + (size_t)n * best] = t;
    }
    int p = d->piv[k];
    d->piv[k] = d->piv[best];
    d->piv[best] = p;
    d->tau[k] = reflect(n - k, d->qr + k + (size_t)n * k);
    for (int j = k + 1; j < n; j++)
      reflect_apply(n - k, d->qr + k + (size_t)n * k, d->tau[k], d->qr + k + (size_t)n * j);
  }
  d->rank = k;
  for (int r = 0; r < d->rank; r++)
    for (int j = 0; j < n; j++) d->w[j + (size_t)n * r] = j < r ? 0 : d->qr[r + (size_t)n * j];
  for (int r = 0; r < d->rank; r++) {
    tgReal *u = d->w + r + (size_t)n * r;
    d->wtau[r] = reflect(n - r, u);
    for (int c = r + 1; c < d->rank; c++) reflect_apply(n - r, u, d->wtau[r], d->w + r + (size_t)n * c);
  }
}

static void times(int n, const tgReal *a, const tgReal *x, tgReal *y, bool transposed) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < n; j++) y[i] += (transposed ? a[j + n * i] : a[i + n * j]) * x[j];
  }
}

// Both sizes of both implementations; A x = b solved, transposed too
static void test_lu(void **state) {
  (void)state;
  tgtRandom r = {3};
  for (int n = 1; n <= MOST; n += n < 12 ? 1 : 7) {
    tgReal a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], x[MOST], y[MOST], z[MOST], w[2 * MOST];
    int pa[MOST], pb[MOST];
    fill(n, n, &r, a);
    for (int i = 0; i < n; i++) a[i + n * i] += 3;
    // every other one has entries about its diagonal alone, what is 0 being passed over
    for (int i = 0; i < n * n && n % 2 == 0; i++)
      if (abs(i % n - i / n) > 3) a[i] = 0;
    memcpy(b, a, sizeof a);
    memcpy(c, a, sizeof a);
    assert_true(tgi_lu_factor(n, a, pa) && tgi_small_lu_factor(n, b, pb));
    for (int i = 0; i < n; i++) assert_int_equal(pa[i], pb[i]);
    for (int t = 0; t < 2; t++) {
      for (int i = 0; i < n; i++) x[i] = tgt_normal(&r);
      times(n, c, x, y, t == 1);
      memcpy(z, y, sizeof y);
      tgi_lu_solve(n, a, pa, y, t == 1);
      tgi_lu_solve(n, b, pb, z, t == 1);
      for (int i = 0; i < n; i++) {
        check_close(y[i], x[i], 1e-9);
        check_close(y[i], z[i], 1e-10);
      }
    }
    // of many columns at once
    enum { COLUMNS = 8 };
    tgReal X[COLUMNS * MOST], Y[COLUMNS * MOST], one[MOST];
    tgtRandom own = {.s = (uint64_t)n};
    int at[MOST];
    for (int i = 0; i < COLUMNS * n; i++) X[i] = tgt_normal(&own);
    for (int col = 0; col < COLUMNS; col++) {
      for (int i = 0; i < n; i++) one[i] = X[COLUMNS * i + col];
      tgi_lu_solve(n, a, pa, one, true);
      for (int i = 0; i < n; i++) Y[COLUMNS * i + col] = one[i];
    }
    tgi_lu_solve_rows(n, a, pa, COLUMNS, X, w, at);
    for (int i = 0; i < COLUMNS * n; i++) check_close(X[i], Y[i], 1e-10);
    // condition: the estimate against the inverse column by column
    double norm = 0, inverse = 0;
    for (int j = 0; j < n; j++) {
      double s = 0, q = 0;
      for (int i = 0; i < n; i++) {
        s += fabs(tgRe(c[i + n * j]));
        x[i] = i == j;
      }
      tgi_lu_solve(n, a, pa, x, false);
      for (int i = 0; i < n; i++) q += fabs(tgRe(x[i]));
      norm = fmax(norm, s);
      inverse = fmax(inverse, q);
    }
    double rcond = tgi_lu_rcond(n, a, pa, norm, w), exact = 1 / (norm * inverse);
    check_true(rcond >= exact * (1 - 1e-9) && rcond <= 3 * exact, "n %d: rcond %.3g, exact %.3g", n, rcond, exact);
    static const double shares[] = {1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.99, 0.999999, 1.000001, 1.01, 2, 1e3};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
      bool above = tgi_lu_rcond_above(n, a, pa, norm, shares[k] * rcond, w);
      check_true(above == (shares[k] < 1), "n %d: rcond %.3g, above %g of it: %d", n, rcond, shares[k], above);
    }
  }
  tgReal zero[4] = {0, 0, 0, 1};
  int piv[2];
  assert_false(tgi_small_lu_factor(2, zero, piv));
}

// A condition that a bound tells is told without the estimate, which is asked for where the bound does not: of a column that all but
// follows from others, and of one that does.
static void test_condition(void **state) {
  (void)state;
  tgtRandom r = {21};
  for (int k = 0; k < 60; k++) {
    enum { N = 12 };
    tgReal a[N * N], w[2 * N];
    int piv[N];
    double apart = k % 15 == 14 ? 0 : pow(10, -k % 15), norm = 0;
    fill(N, N, &r, a);
    for (int i = 0; i < N; i++) a[i + N * (N - 1)] = a[i] - a[i + N] + apart * a[i + N * (N - 1)];
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int i = 0; i < N; i++) sum += fabs(tgRe(a[i + N * j]));
      norm = fmax(norm, sum);
    }
    bool factored = tgi_lu_factor(N, a, piv);
    double rcond = factored ? tgi_lu_rcond(N, a, piv, norm, w) : 0;
    for (double least = 1e-16; factored && least < 1; least *= 10)
      check_true(tgi_lu_rcond_above(N, a, piv, norm, least, w) == (rcond > least), "%d: rcond %.3g, least %g", k, rcond, least);
  }
  tgReal one[1] = {2}, w[2];
  int piv[1] = {0};
  assert_false(tgi_lu_rcond_above(0, one, piv, 1, 0, w) || tgi_lu_rcond_above(1, one, piv, 0, 0, w));
  one[0] = NAN;
  assert_false(tgi_lu_rcond_above(1, one, piv, 1, 0, w));
}

// Loops over one row against plain ones, of every length, to the bit; what is not finite is found wherever it is.
static void test_one_row(void **state) {
  (void)state;
  tgtRandom r = {5};
  enum { LONG = 19 };
  for (int n = 0; n <= LONG; n++) {
    tgReal x[LONG + 1], y[LONG + 1], z[LONG + 1], f = tgt_normal(&r);
    for (int i = 0; i <= LONG; i++) {
      x[i] = tgt_normal(&r);
      y[i] = z[i] = tgt_normal(&r);
    }
    tgi_add_scaled(n, f, x, y);
    for (int i = 0; i < n; i++) z[i] += f * x[i];
    assert_memory_equal(y, z, sizeof y);
    assert_true(tgi_all_finite(n, x));
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int at = 0; at <= LONG; at++)
      for (int k = 0; k < 3; k++) {
        tgReal before = x[at];
        x[at] = bad[k];
        check_true(tgi_all_finite(n, x) == (at >= n), "%g at %d of %d", bad[k], at, n);
        x[at] = before;
      }
  }
}

// Penrose's conditions, rank, and agreement of the two implementations
static void test_cod(void **state) {
  (void)state;
  tgtRandom r = {4};
  static const int sizes[] = {1, 2, 5, 9, 17, 33, 40};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int rank = 0; rank <= sizes[s]; rank += 1 + sizes[s] / 4) {
      int n = sizes[s];
      Pair p;
      tgReal c[MOST * MOST], x[MOST], y[MOST], z[MOST], u[MOST];
      set_up(&p, n, rank, &r);
      memcpy(c, p.a, sizeof c);
      tgi_cod_factor(&p.da, 1e-10);
      plain_cod_factor(&p.db, 1e-10);
      assert_int_equal(p.da.rank, rank);
      assert_int_equal(p.db.rank, rank);
      for (int t = 0; t < 2; t++) {
        for (int i = 0; i < n; i++) x[i] = y[i] = tgt_normal(&r);
        tgi_cod_solve(&p.da, x, t == 1);
        tgi_cod_solve(&p.db, y, t == 1);
        double size = 0;
        for (int i = 0; i < n; i++) size = fmax(size, fabs(tgRe(x[i])));
        for (int i = 0; i < n; i++) check_close(x[i], y[i], 1e-10 * size);
        // A^+ A A^+ = A^+ on a fresh vector, A A^+ A = A
        for (int i = 0; i < n; i++) z[i] = x[i];
        times(n, c, z, y, t == 1);
        tgi_cod_solve(&p.da, y, t == 1);
        for (int i = 0; i < n; i++) check_close(y[i], x[i], 1e-10 * size);
        for (int i = 0; i < n; i++) x[i] = tgt_normal(&r);
        times(n, c, x, y, t == 1);
        memcpy(z, y, sizeof y);
        tgi_cod_solve(&p.da, z, t == 1);
        times(n, c, z, u, t == 1);
        for (int i = 0; i < n; i++) check_close(u[i], y[i], 1e-10 * n);
        if (t == 1) continue;
        // (I - A^+ A) x is what the solve loses, and A makes it vanish
        memcpy(u, x, sizeof x);
        tgi_cod_project(&p.da, u);
        for (int i = 0; i < n; i++) check_close(u[i], x[i] - z[i], 1e-10 * n);
        tgi_cod_project(&p.db, x);
        for (int i = 0; i < n; i++) check_close(u[i], x[i], 1e-10);
        times(n, c, u, y, false);
        for (int i = 0; i < n; i++) check_close(y[i], 0, 1e-11 * n);
      }
    }
}

// ---- factors of low rank: Q = A + A W, A = (G B + t Z) (G B + t Z)' ----

typedef struct LowRank {
  tgReal A[MOST * MOST], X[MOST * MOST], Q[MOST * MOST];   // Q = A + X, column-major
  tgReal l[MOST * MOST], c[MOST * MOST], ltau[MOST], ctau[MOST], work[TGI_COD_WORK(MOST)];
  int piv[MOST];
  tgiLowRank d;
} LowRank;

// of the rank asked at t = 0; Z's rows leave the range of B's
static void fill_low_rank(LowRank *x, int n, int rank, uint64_t seed, tgReal t, bool symmetric) {
  tgtRandom r = {seed};
  tgReal B[MOST * 2 * MOST];
  double G[MOST * MOST], own[MOST * MOST], W[MOST * MOST];
  int wide = 2 * rank + 1;
  for (int i = 0; i < rank * rank; i++) own[i] = tgt_normal(&r);
  for (int i = 0; i < n * rank; i++) G[i] = tgt_normal(&r);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < wide; k++) {
      B[i * wide + k] = t * tgt_normal(&r);
      for (int c = 0; c < rank && k < rank; c++) B[i * wide + k] += G[i * rank + c] * own[c * rank + k];
    }
  for (int i = 0; i < n * n; i++) W[i] = i % 3 == 0 ? 0.3 * tgt_normal(&r) : 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      x->A[i + n * j] = 0;
      for (int k = 0; k < wide; k++) x->A[i + n * j] += B[i * wide + k] * B[j * wide + k];
    }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      x->X[i + n * j] = 0;
      for (int k = 0; k < n && !symmetric; k++) x->X[i + n * j] += x->A[i + n * k] * W[k + n * j];
      x->Q[i + n * j] = x->A[i + n * j] + x->X[i + n * j];
    }
}

static bool factor_low_rank(LowRank *x, int n, bool symmetric) {
  int k[MOST], at[MOST];
  for (int i = 0; i < n; i++) k[i] = i;
  int rank = tgi_semidefinite_factor(n, x->A, n, k, 1e-10, x->l, x->piv, x->work, at);
  x->d = (tgiLowRank){n, rank, x->l, x->ltau, symmetric ? x->l : x->c, symmetric ? x->ltau : x->ctau};
  memcpy(x->c, x->l, sizeof x->c);
  tgi_low_rank_open(&x->d);
  for (int j = 0; j < n && !symmetric; j++) {
    tgi_low_rank_coordinates(&x->d, x->X + n * j);
    for (int c = 0; c < rank; c++) x->c[j + n * c] += x->X[c + n * j];
  }
  return tgi_low_rank_close(&x->d, 1e-10);
}

// as the complete orthogonal decomposition of the same matrix
static void test_low_rank(void **state) {
  (void)state;
  static LowRank x;
  static Pair p;
  for (int n = 1; n <= MOST; n += 3)
    for (int rank = 1; rank <= n; rank += 1 + n / 4)
      for (int symmetric = 0; symmetric < 2; symmetric++) {
        tgtRandom r = {(uint64_t)(n + rank)};
        tgReal u[MOST], v[MOST];
        fill_low_rank(&x, n, rank, (uint64_t)(50 * n + rank), 0, symmetric == 1);
        memcpy(p.a, x.Q, sizeof p.a);
        p.da = (tgiCod){n, 0, p.a, p.ta, p.wa, p.ua, p.pa, p.worka};
        tgi_cod_factor(&p.da, 1e-10);
        assert_true(factor_low_rank(&x, n, symmetric == 1));
        assert_int_equal(x.d.rank, rank);
        assert_int_equal(p.da.rank, rank);
        for (int way = 0; way < 3; way++) {
          double size = 0;
          for (int i = 0; i < n; i++) u[i] = v[i] = tgt_normal(&r);
          if (way < 2) tgi_low_rank_solve(&x.d, u, way == 1); else tgi_low_rank_project(&x.d, u);
          if (way < 2) tgi_cod_solve(&p.da, v, way == 1); else tgi_cod_project(&p.da, v);
          for (int i = 0; i < n; i++) size = fmax(size, fabs(tgRe(v[i])));
          for (int i = 0; i < n; i++) check_close(u[i], v[i], 1e-8 * size + 1e-12);
        }
      }
}

// Q = A (1 - v v'), v of length 1 in the range of A, has one rank less.
static void test_low_rank_lost(void **state) {
  (void)state;
  static LowRank x;
  for (int n = 4; n <= MOST; n += 4) {
    double v[MOST], size = 0;
    fill_low_rank(&x, n, n / 2, (uint64_t)n, 0, true);
    for (int i = 0; i < n; i++) size += tgRe(x.A[i]) * tgRe(x.A[i]);
    for (int i = 0; i < n; i++) v[i] = tgRe(x.A[i]) / sqrt(size);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) x.X[i + n * j] -= x.A[i + n * k] * v[k] * v[j];
    assert_false(factor_low_rank(&x, n, false));
  }
}

#ifdef TG_COMPLEX
// Where the rank of A(t) grows with t, the derivative of Q^+ b, b = Q x, is that of the rank at 0, as the decomposition's.
static void test_low_rank_derivative(void **state) {
  (void)state;
  static LowRank x;
  static Pair p;
  for (int n = 5; n <= 20; n++)
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      tgtRandom r = {(uint64_t)n};
      tgReal b[MOST] = {0}, u[MOST];
      fill_low_rank(&x, n, n / 3, (uint64_t)n, CMPLX(0, 1e-30), symmetric == 1);
      for (int j = 0; j < n; j++) {
        double e = tgt_normal(&r);
        for (int i = 0; i < n; i++) b[i] += x.Q[i + n * j] * e;
      }
      memcpy(p.a, x.Q, sizeof p.a);
      memcpy(u, b, sizeof u);
      p.da = (tgiCod){n, 0, p.a, p.ta, p.wa, p.ua, p.pa, p.worka};
      tgi_cod_factor(&p.da, 1e-10);
      assert_true(factor_low_rank(&x, n, symmetric == 1));
      assert_int_equal(x.d.rank, n / 3);
      tgi_low_rank_solve(&x.d, u, false);
      tgi_cod_solve(&p.da, b, false);
      double size = 0;
      for (int i = 0; i < n; i++) size = fmax(size, fabs(tgIm(b[i]) / 1e-30));
      for (int i = 0; i < n; i++) {
        check_close(u[i], b[i], 1e-8);
        check_close(tgIm(u[i]) / 1e-30, tgIm(b[i]) / 1e-30, 1e-7 * size);
      }
    }
}

// x = A(t)^+ b of A = sum over two k of u_k (v_k + t w_k)', whose columns 1 and 4 are zero at t = 0: complex step against differences
static void bent_solution(int n, const double *uvwb, tgReal t, tgReal *x) {
  const double *u = uvwb, *v = u + 2 * n, *w = v + 2 * n, *b = w + 2 * n;
  static Pair p;
  p.da = (tgiCod){n, 0, p.a, p.ta, p.wa, p.ua, p.pa, p.worka};
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      p.a[i + n * j] = 0;
      for (int k = 0; k < 2; k++) p.a[i + n * j] += u[i + n * k] * ((j % 3 == 1 ? 0 : v[j + n * k]) + t * w[j + n * k]);
    }
  tgi_cod_factor(&p.da, 1e-10);
  assert_int_equal(p.da.rank, 2);
  for (int i = 0; i < n; i++) x[i] = b[i];
  tgi_cod_solve(&p.da, x, false);
}

static void test_cod_derivative(void **state) {
  (void)state;
  tgtRandom r = {8};
  for (int n = 5; n <= 12; n++) {
    double uvwb[7 * MOST], step = 1e-5;
    tgReal x[MOST], more[MOST], less[MOST];
    for (int i = 0; i < 7 * n; i++) uvwb[i] = tgt_normal(&r);
    bent_solution(n, uvwb, CMPLX(0, 1e-30), x);
    bent_solution(n, uvwb, step, more);
    bent_solution(n, uvwb, -step, less);
    for (int i = 0; i < n; i++) check_close(tgIm(x[i]) / 1e-30, tgRe(more[i] - less[i]) / (2 * step), 1e-6);
  }
}
#define COMPLEX_TEST cmocka_unit_test(test_cod_derivative), cmocka_unit_test(test_low_rank_derivative),
#else
#define COMPLEX_TEST
#endif

static void test_solve_real(void **state) {
  (void)state;
  tgtRandom r = {5};
  for (int n = 1; n <= MOST; n += 3) {
    double a[MOST * MOST], c[MOST * MOST], x[MOST], y[MOST];
    for (int i = 0; i < n * n; i++) a[i] = c[i] = tgt_normal(&r) + (i % (n + 1) == 0 ? 4 : 0);
    for (int i = 0; i < n; i++) x[i] = tgt_normal(&r);
    for (int i = 0; i < n; i++) {
      y[i] = 0;
      for (int j = 0; j < n; j++) y[i] += c[i + n * j] * x[j];
    }
    assert_true(tgi_solve_real(n, a, y));
    for (int i = 0; i < n; i++) check_close(y[i], x[i], 1e-11);
    if (n == 1) continue;
    for (int i = 0; i < n; i++) c[i + n] = 2 * c[i];  // second column twice the first
    assert_false(tgi_solve_real(n, c, y));
  }
}

#if defined(__x86_64__) && !defined(TG_COMPLEX)
#include "math/dense_wide.h"

enum { WIDEST = 131 };

typedef struct Wide {
  double a[WIDEST * WIDEST], tau[WIDEST], norms[2 * WIDEST];
  int piv[WIDEST], found;
} Wide;

// n x n of the rank asked; graded: column j is 2^-j as long as the first, and nearly parallel to its neighbours (norms that cancel)
static void fill_wide(int n, int rank, bool graded, tgtRandom *r, double *a) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      if (j >= rank) a[i + n * j] = a[i + n * (j - rank)] - 2 * a[i + n * ((j + 1) % rank)];
      else if (graded) a[i + n * j] = (j ? a[i + n * (j - 1)] / 2 : 1) + ldexp(tgt_normal(r), -j - 12);
      else a[i + n * j] = tgt_normal(r);
    }
}

static void compare_wide(int n, const Wide *x, const Wide *y) {
  assert_int_equal(x->found, y->found);
  assert_memory_equal(x->a, y->a, sizeof(double) * (size_t)n * (size_t)n);
  assert_memory_equal(x->piv, y->piv, sizeof(int) * (size_t)n);
  assert_memory_equal(x->tau, y->tau, sizeof(double) * (size_t)n);
}

// both instruction sets give the same bits; plain loops agree in rank, order and factors
static void test_wide(void **state) {
  (void)state;
  tgtRandom r = {7};
  static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 64, 72, WIDEST};
  Wide *x = calloc(3, sizeof *x), *y = x + 1, *z = x + 2;
  double *w = calloc(WIDEST * WIDEST + 4 * WIDEST, sizeof *w), *wtau = w + WIDEST * WIDEST;
  assert_true(x && w);
  for (size_t k = 0; k < 4 * (sizeof sizes / sizeof *sizes); k++) {
    int n = sizes[k / 4], rank = k % 4 == 1 ? (n + 1) / 2 : n;
    bool graded = k % 4 == 2;
    fill_wide(n, rank, graded, &r, x->a);
    memcpy(y->a, x->a, sizeof x->a);
    memcpy(z->a, x->a, sizeof x->a);
    if (k % 4 == 3) {
      x->found = tgi_wide_lu_factor_v1(n, x->a, x->piv);
      z->found = tgi_small_lu_factor(n, z->a, z->piv);
      memset(x->tau, 0, sizeof x->tau);
      memset(y->tau, 0, sizeof y->tau);
      if (TGI_HAS_V3) {
        y->found = tgi_wide_lu_factor_v3(n, y->a, y->piv);
        compare_wide(n, x, y);
      }
    } else {
      tgiCod plain = {n, 0, z->a, z->tau, w, wtau, z->piv, z->norms};
      x->found = tgi_wide_qr_pivoted_v1(n, x->a, x->tau, x->piv, 1e-10, x->norms);
      plain_cod_factor(&plain, 1e-10);
      z->found = plain.rank;
      if (graded) rank = plain.rank;  // rounding's and the cut's own
      assert_int_equal(x->found, rank);
      if (TGI_HAS_V3) {
        y->found = tgi_wide_qr_pivoted_v3(n, y->a, y->tau, y->piv, 1e-10, y->norms);
        compare_wide(n, x, y);
      }
    }
    assert_int_equal(x->found, z->found);
    for (int j = 0; j < rank; j++) assert_int_equal(x->piv[j], z->piv[j]);
    for (int j = 0; j < rank; j++)
      for (int i = 0; i < n; i++) check_close(x->a[i + n * j], z->a[i + n * j], 1e-9);
  }
  free(x);
  free(w);
}
#define WIDE_TEST cmocka_unit_test(test_wide),
#else
#define WIDE_TEST
#endif

enum { KINDS = 24, WORKERS = 4, TIMES = 40000 };

typedef struct Factors {
  tgReal lu[MOST * MOST], qr[MOST * MOST], w[MOST * MOST];
  double solved[MOST];
} Factors;

typedef struct Crowd {
  tgReal a[KINDS][MOST * MOST];
  Factors alone[KINDS];
  atomic_int wrong;
} Crowd;

static int size_of(int kind) { return MOST - 7 * (kind % 4); }

static void factor_all(const Crowd *c, int kind, Factors *f) {
  int n = size_of(kind), piv[MOST];
  tgReal tau[MOST], wtau[MOST], work[TGI_COD_WORK(MOST)];
  double real[MOST * MOST];
  tgiCod d = {n, 0, f->qr, tau, f->w, wtau, piv, work};
  memset(f, 0, sizeof *f);
  memcpy(f->lu, c->a[kind], sizeof f->lu);
  memcpy(f->qr, c->a[kind], sizeof f->qr);
  for (int i = 0; i < n * n; i++) real[i] = tgRe(c->a[kind][i]);
  for (int i = 0; i < n; i++) f->solved[i] = 1;
  tgi_lu_factor(n, f->lu, piv);
  tgi_cod_factor(&d, 1e-10);
  if (!tgi_solve_real(n, real, f->solved)) f->solved[0] = NAN;
}

static void factor_in_crowd(void *ctx, int worker, int item) {
  (void)worker;
  Crowd *c = ctx;
  Factors f;
  factor_all(c, item % KINDS, &f);
  if (memcmp(&f, &c->alone[item % KINDS], sizeof f) != 0) atomic_fetch_add(&c->wrong, 1);
}

static void test_crowd(void **state) {
  (void)state;
  tgtRandom r = {6};
  Crowd *c = calloc(1, sizeof *c);
  tgiPool *pool = tgi_pool_create(WORKERS, NULL);
  assert_true(c && pool);
  for (int k = 0; k < KINDS; k++) {
    fill(size_of(k), size_of(k), &r, c->a[k]);
    factor_all(c, k, &c->alone[k]);
    check_true(isfinite(c->alone[k].solved[0]), "matrix %d is singular", k);
  }
  assert_int_equal(tgi_pool_run(pool, TIMES, factor_in_crowd, c), TG_OK);
  check_true(atomic_load(&c->wrong) == 0, "%d of %d factorisations differ from those done alone", atomic_load(&c->wrong), TIMES);
  tgi_pool_free(pool);
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lu),
      cmocka_unit_test(test_condition),
      cmocka_unit_test(test_one_row),
      cmocka_unit_test(test_cod),
      cmocka_unit_test(test_low_rank),
      cmocka_unit_test(test_low_rank_lost),
      cmocka_unit_test(test_solve_real),
      WIDE_TEST COMPLEX_TEST cmocka_unit_test(test_crowd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
