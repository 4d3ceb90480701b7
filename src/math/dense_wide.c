// dense_wide.c: see dense_wide.h. Four columns at a time, so that each entry of a reflector is fetched once for all four.
//
// Based on: [GolubVanLoan 3.2, 5.4]; norms of what remains of the columns as [DrmacBujanovic].
#include "math/dense_wide.h"

static tgReal dot(int n, const tgReal *x, const tgReal *y) {
  tgVec sum;
  int i = 0;
  tgi_vec_set(&sum, 0);
  for (; i + TGI_LANES <= n; i += TGI_LANES) tgi_vec_dot(&sum, x + i, y + i);
  tgReal s = tgi_vec_total(&sum);
  for (; i < n; i++) s += x[i] * y[i];
  return s;
}

// y_c <- y_c - f_c x for neighbouring columns
TGI_INLINE void subtract(int n, const tgReal *x, const tgReal *f, tgReal *y, int ld, const int columns) {
  int i = 0;
  for (; i + TGI_LANES <= n; i += TGI_LANES) {
    tgVec xi;
    tgi_vec_load(&xi, x + i);
    for (int c = 0; c < columns; c++) {
      tgReal *p = y + i + (size_t)ld * c;
      tgVec v;
      tgi_vec_load(&v, p);
      tgi_vec_subtract(&v, f[c], &xi);
      tgi_vec_store(&v, p);
    }
  }
  for (; i < n; i++)
    for (int c = 0; c < columns; c++) y[i + (size_t)ld * c] -= f[c] * x[i];
}

static void swap(tgReal *x, tgReal *y) {
  tgReal t = *x;
  *x = *y;
  *y = t;
}

// Rows k and best change places in all columns; the multipliers of column k stand ready below the pivot. What is 0 there or in row k
// takes nothing away and is passed over: a matrix with few entries about its diagonal costs no more than these.
static void eliminate_column(int n, tgReal *a, int k, int best) {
  const tgReal *l = a + k + 1 + (size_t)n * k;
  int j = k + 1, m = n - k - 1;
  while (m > 0 && tgZero(l[m - 1])) m--;
  if (best != k)
    for (int c = 0; c < n; c++)
      if (c != k) swap(a + k + (size_t)n * c, a + best + (size_t)n * c);
  for (; j + 4 <= n; j += 4) {
    tgReal *x = a + k + (size_t)n * j, f[4] = {x[0], x[n], x[2 * (size_t)n], x[3 * (size_t)n]};
    if (tgZero(f[0]) && tgZero(f[1]) && tgZero(f[2]) && tgZero(f[3])) continue;
    subtract(m, l, f, x + 1, n, 4);
  }
  for (; j < n; j++) subtract(m, l, a + k + (size_t)n * j, a + k + 1 + (size_t)n * j, n, 1);
}

bool TGI_ISA(tgi_wide_lu_factor)(int n, tgReal *a, int *piv) {
  for (int k = 0; k < n; k++) {
    tgReal *col = a + (size_t)n * k;
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(tgRe(col[i])) > fabs(tgRe(col[best]))) best = i;
    piv[k] = best;
    swap(col + k, col + best);
    // in a complex step a pivot of 0 keeps products of imaginary parts
    if (!(fabs(tgRe(col[k])) > fabs(tgIm(col[k]))) || !tgFinite(col[k])) return false;
    for (int i = k + 1; i < n; i++) col[i] /= col[k];
    eliminate_column(n, a, k, best);
  }
  return true;
}

// Householder: H = 1 - tau u u^T, u_0 = 1 (kept implicitly), H x = (beta, 0, ...); x_1.. become u_1..
static tgReal reflect(int m, tgReal *x) {
  tgReal s = dot(m, x, x);
  if (m <= 1 || tgRe(s) <= 0) return 0;
  tgReal beta = tgRe(x[0]) > 0 ? -tgSqrt(s) : tgSqrt(s), head = x[0] - beta;
  for (int i = 1; i < m; i++) x[i] /= head;
  x[0] = beta;
  return -head / beta;
}

TGI_INLINE void reflect_columns(int m, const tgReal *u, tgReal tau, tgReal *x, int ld, const int columns) {
  tgVec sum[4];
  tgReal f[4];
  int i = 1;
  for (int c = 0; c < columns; c++) tgi_vec_set(&sum[c], 0);
  for (; i + TGI_LANES <= m; i += TGI_LANES) {
    for (int c = 0; c < columns; c++) tgi_vec_dot(&sum[c], u + i, x + i + (size_t)ld * c);
  }
  for (int c = 0; c < columns; c++) {
    tgReal *xc = x + (size_t)ld * c, s = xc[0] + tgi_vec_total(&sum[c]);
    for (int r = i; r < m; r++) s += u[r] * xc[r];
    f[c] = tau * s;
    xc[0] -= f[c];
  }
  subtract(m - 1, u + 1, f, x + 1, ld, columns);
}

// x_c <- H x_c for `count` columns
static void reflect_rest(int m, const tgReal *u, tgReal tau, int count, tgReal *x, int ld) {
  int c = 0;
  for (; c + 4 <= count; c += 4) reflect_columns(m, u, tau, x + (size_t)ld * c, ld, 4);
  for (; c < count; c++) reflect_columns(m, u, tau, x + (size_t)ld * c, ld, 1);
}

static void swap_columns(int n, tgReal *a, int *piv, tgReal *now, tgReal *exact, int k, int best) {
  if (best == k) return;
  for (int i = 0; i < n; i++) swap(a + i + (size_t)n * k, a + i + (size_t)n * best);
  now[best] = now[k];
  exact[best] = exact[k];
  int p = piv[k];
  piv[k] = piv[best];
  piv[best] = p;
}

// of the real parts: where these cancel, the square of a complex number may be negative
static double norm(int n, const tgReal *x) {
  tgVec sum;
  int i = 0;
  tgi_vec_set(&sum, 0);
  for (; i + TGI_LANES <= n; i += TGI_LANES) {
    tgVec v;
    tgi_vec_load(&v, x + i);
    tgi_vec_real(&v);
    tgi_vec_products(&sum, &v, &v);
  }
  double s = tgRe(tgi_vec_total(&sum));
  for (; i < n; i++) s += tgRe(x[i]) * tgRe(x[i]);
  return sqrt(s);
}

// |x_1..|^2 = |x|^2 - x_0^2, until cancellation has eaten half the digits since the norm was last summed: then it is summed again
static void shorten_norms(int n, const tgReal *a, int k, tgReal *now, tgReal *exact) {
  static const double few = 1.5e-8;  // sqrt(DBL_EPSILON)
  for (int j = k + 1; j < n; j++) {
    if (tgRe(now[j]) == 0) continue;
    const tgReal *x = a + k + (size_t)n * j;
    double ratio = tgRe(x[0]) / tgRe(now[j]), left = fmax(0, (1 - ratio) * (1 + ratio)), share = tgRe(now[j]) / tgRe(exact[j]);
    if (left * share * share <= few) now[j] = exact[j] = norm(n - k - 1, x + 1);
    else now[j] *= sqrt(left);
  }
}

int TGI_ISA(tgi_wide_qr_pivoted)(int n, tgReal *a, tgReal *tau, int *piv, double cut, tgReal *norms) {
  tgReal *now = norms, *exact = norms + n;
  double first = 0;
  for (int j = 0; j < n; j++) {
    piv[j] = j;
    now[j] = exact[j] = norm(n, a + (size_t)n * j);
    first = fmax(first, tgRe(now[j]));
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int j = k + 1; j < n; j++)
      if (tgRe(now[j]) > tgRe(now[best])) best = j;
    tgReal *col = a + k + (size_t)n * k;
    swap_columns(n, a, piv, now, exact, k, best);
    if (!(norm(n - k, col) > cut * first)) return k;
    tau[k] = reflect(n - k, col);
    reflect_rest(n - k, col, tau[k], n - k - 1, col + n, n);
    shorten_norms(n, a, k, now, exact);
  }
  return n;
}

void TGI_ISA(tgi_wide_qr)(int n, int r, tgReal *a, tgReal *tau) {
  for (int k = 0; k < r; k++) {
    tgReal *col = a + k + (size_t)n * k;
    tau[k] = reflect(n - k, col);
    reflect_rest(n - k, col, tau[k], r - k - 1, col + n, n);
  }
}
