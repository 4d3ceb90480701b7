// dense_wide.c: see dense_wide.h. Four columns at a time, so that each entry of a reflector is fetched once for all four.
//
// Based on: [GolubVanLoan 3.2, 5.4]; norms of what remains of the columns as [DrmacBujanovic].
#include "math/dense_wide.h"

TGI_INLINE double total(const tgVec *a) { return ((*a)[0] + (*a)[1]) + ((*a)[2] + (*a)[3]); }

#define AT(x) (*(const tgVec *)(x))

static double dot(int n, const double *x, const double *y) {
  tgVec sum = {0};
  int i = 0;
  for (; i + TGI_LANES <= n; i += TGI_LANES) sum += AT(x + i) * AT(y + i);
  double s = total(&sum);
  for (; i < n; i++) s += x[i] * y[i];
  return s;
}

// y_c <- y_c - f_c x for neighbouring columns
TGI_INLINE void subtract(int n, const double *x, const double *f, double *y, int ld, const int columns) {
  int i = 0;
  for (; i + TGI_LANES <= n; i += TGI_LANES) {
    tgVec xi = AT(x + i);
    for (int c = 0; c < columns; c++) {
      double *p = y + i + (size_t)ld * c;
      tgVec v = AT(p) - (tgVec){f[c], f[c], f[c], f[c]} * xi;
      tgi_vec_store(&v, p);
    }
  }
  for (; i < n; i++)
    for (int c = 0; c < columns; c++) y[i + (size_t)ld * c] -= f[c] * x[i];
}

static void swap(double *x, double *y) {
  double t = *x;
  *x = *y;
  *y = t;
}

// Rows k and best change places in all columns; the multipliers of column k stand ready below the pivot.
static void eliminate_column(int n, double *a, int k, int best) {
  const double *l = a + k + 1 + (size_t)n * k;
  int j = k + 1;
  if (best != k)
    for (int c = 0; c < n; c++)
      if (c != k) swap(a + k + (size_t)n * c, a + best + (size_t)n * c);
  for (; j + 4 <= n; j += 4) {
    double *x = a + k + (size_t)n * j, f[4] = {x[0], x[n], x[2 * (size_t)n], x[3 * (size_t)n]};
    subtract(n - k - 1, l, f, x + 1, n, 4);
  }
  for (; j < n; j++) subtract(n - k - 1, l, a + k + (size_t)n * j, a + k + 1 + (size_t)n * j, n, 1);
}

bool TGI_ISA(tgi_wide_lu_factor)(int n, double *a, int *piv) {
  for (int k = 0; k < n; k++) {
    double *col = a + (size_t)n * k;
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(col[i]) > fabs(col[best])) best = i;
    piv[k] = best;
    swap(col + k, col + best);
    if (col[k] == 0 || !isfinite(col[k])) return false;
    for (int i = k + 1; i < n; i++) col[i] /= col[k];
    eliminate_column(n, a, k, best);
  }
  return true;
}

// Householder: H = 1 - tau u u^T, u_0 = 1 (kept implicitly), H x = (beta, 0, ...); x_1.. become u_1..
static double reflect(int m, double *x) {
  double s = dot(m, x, x);
  if (m <= 1 || s <= 0) return 0;
  double beta = x[0] > 0 ? -sqrt(s) : sqrt(s), head = x[0] - beta;
  for (int i = 1; i < m; i++) x[i] /= head;
  x[0] = beta;
  return -head / beta;
}

TGI_INLINE void reflect_columns(int m, const double *u, double tau, double *x, int ld, const int columns) {
  tgVec sum[4] = {{0}, {0}, {0}, {0}};
  double f[4];
  int i = 1;
  for (; i + TGI_LANES <= m; i += TGI_LANES) {
    tgVec ui = AT(u + i);
    for (int c = 0; c < columns; c++) sum[c] += ui * AT(x + i + (size_t)ld * c);
  }
  for (int c = 0; c < columns; c++) {
    double *xc = x + (size_t)ld * c, s = xc[0] + total(&sum[c]);
    for (int r = i; r < m; r++) s += u[r] * xc[r];
    f[c] = tau * s;
    xc[0] -= f[c];
  }
  subtract(m - 1, u + 1, f, x + 1, ld, columns);
}

// x_c <- H x_c for `count` columns
static void reflect_rest(int m, const double *u, double tau, int count, double *x, int ld) {
  int c = 0;
  for (; c + 4 <= count; c += 4) reflect_columns(m, u, tau, x + (size_t)ld * c, ld, 4);
  for (; c < count; c++) reflect_columns(m, u, tau, x + (size_t)ld * c, ld, 1);
}

static void swap_columns(int n, double *a, int *piv, double *now, double *exact, int k, int best) {
  if (best == k) return;
  for (int i = 0; i < n; i++) swap(a + i + (size_t)n * k, a + i + (size_t)n * best);
  now[best] = now[k];
  exact[best] = exact[k];
  int p = piv[k];
  piv[k] = piv[best];
  piv[best] = p;
}

// |x_1..|^2 = |x|^2 - x_0^2, until cancellation has eaten half the digits since the norm was last summed: then it is summed again
static void shorten_norms(int n, const double *a, int k, double *now, double *exact) {
  static const double few = 1.5e-8;  // sqrt(DBL_EPSILON)
  for (int j = k + 1; j < n; j++) {
    if (now[j] == 0) continue;
    const double *x = a + k + (size_t)n * j;
    double ratio = x[0] / now[j], left = fmax(0, (1 - ratio) * (1 + ratio)), share = now[j] / exact[j];
    if (left * share * share <= few) now[j] = exact[j] = sqrt(dot(n - k - 1, x + 1, x + 1));
    else now[j] *= sqrt(left);
  }
}

int TGI_ISA(tgi_wide_qr_pivoted)(int n, double *a, double *tau, int *piv, double cut, double *norms) {
  double *now = norms, *exact = norms + n, first = 0;
  for (int j = 0; j < n; j++) {
    piv[j] = j;
    now[j] = exact[j] = sqrt(dot(n, a + (size_t)n * j, a + (size_t)n * j));
    first = fmax(first, now[j]);
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int j = k + 1; j < n; j++)
      if (now[j] > now[best]) best = j;
    double *col = a + k + (size_t)n * k;
    swap_columns(n, a, piv, now, exact, k, best);
    if (!(sqrt(dot(n - k, col, col)) > cut * first)) return k;
    tau[k] = reflect(n - k, col);
    reflect_rest(n - k, col, tau[k], n - k - 1, col + n, n);
    shorten_norms(n, a, k, now, exact);
  }
  return n;
}

void TGI_ISA(tgi_wide_qr)(int n, int r, double *a, double *tau) {
  for (int k = 0; k < r; k++) {
    double *col = a + k + (size_t)n * k;
    tau[k] = reflect(n - k, col);
    reflect_rest(n - k, col, tau[k], r - k - 1, col + n, n);
  }
}
