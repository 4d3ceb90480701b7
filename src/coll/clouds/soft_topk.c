// soft_topk.c: see soft_topk.h.
#include "coll/clouds/soft_topk.h"

#include <string.h>

#include "math/dense.h"

enum { MOST = TGI_TOPK_MOST };
#define REACHED 1e-12

// g_j - C_vj; returns the j of the largest
static int gains(const tgiTopk *t, const tgReal *g, int v, tgReal r[MOST + 1]) {
  tgReal z = t->score[v];
  int best = t->K;
  for (int j = 0; j < t->K; j++) {
    tgReal d = z - t->anchor[j];
    r[j] = g[j] - d * d + (t->lean != NULL ? t->lean[(size_t)v * (size_t)t->K + (size_t)j] : 0);
  }
  r[t->K] = -z * z;
  for (int j = 0; j < t->K; j++)
    if (tgRe(r[j]) > tgRe(r[best])) best = j;
  return best;
}

// shares of score v, the last for anchor K; returns width log sum_j exp((g_j - C_vj)/width)
static tgReal shares(const tgiTopk *t, const tgReal *g, int v, tgReal r[MOST + 1]) {
  int best = gains(t, g, v, r);
  tgReal sum = 0, first = r[best];
  for (int j = 0; j <= t->K; j++) {
    r[j] = tgExp((r[j] - first) / t->width);
    sum += r[j];
  }
  for (int j = 0; j <= t->K; j++) r[j] /= sum;
  return first + t->width * tgLog(sum);
}

// F, H = width dF/dg (K x K), and the convex function that F is the gradient of
static tgReal columns(const tgiTopk *t, const tgReal *g, tgReal F[MOST], tgReal *last, tgReal *H) {
  tgReal r[MOST + 1], value = 0;
  int K = t->K;
  for (int j = 0; j < K; j++) {
    F[j] = -1;
    value -= g[j];
  }
  *last = 0;
  if (H != NULL) memset(H, 0, (size_t)(K * K) * sizeof *H);
  for (int v = 0; v < t->V; v++) {
    value += shares(t, g, v, r);
    *last += r[K];
    for (int j = 0; j < K; j++) {
      F[j] += r[j];
      if (H == NULL) continue;
      H[j + K * j] += r[j];
      for (int k = 0; k < K; k++) H[j + K * k] -= r[j] * r[k];
    }
  }
  return value;
}

static double largest(const tgReal *F, int n) {
  double most = 0;
  for (int j = 0; j < n; j++) most = fmax(most, fabs(tgRe(F[j])));
  return most;
}

// A sweep in the log domain: g_j += width log(mass_j/column_j), less the same of the last; columns of any size, by
// logarithms of their shares.
static void sweep(const tgiTopk *t, tgReal *g) {
  double most[MOST + 1], sum[MOST + 1];
  tgReal r[MOST + 1];
  int K = t->K;
  for (int j = 0; j <= K; j++) {
    most[j] = -INFINITY;
    sum[j] = 0;
  }
  for (int v = 0; v < t->V; v++) {
    int best = gains(t, g, v, r);
    double first = tgRe(r[best]), row = 0;
    for (int j = 0; j <= K; j++) row += exp((tgRe(r[j]) - first) / t->width);
    for (int j = 0; j <= K; j++) {
      double l = (tgRe(r[j]) - first) / t->width - log(row);
      if (l > most[j]) {
        sum[j] *= exp(most[j] - l);
        most[j] = l;
      }
      sum[j] += exp(l - most[j]);
    }
  }
  double rest = log(t->V - K) - most[K] - log(sum[K]);
  for (int j = 0; j < K; j++) g[j] -= t->width * (most[j] + log(sum[j]) + rest);
}

// H is positive semidefinite; it vanishes where shares are 0 or 1, and nothing moves then
static bool factor(int K, tgReal *H, int *piv) {
  for (int j = 0; j < K; j++) H[j + K * j] += 1e-13;
  return tgi_small_lu_factor(K, H, piv);
}

// one step of Newton's method, shortened until the function falls; false: it does not
static bool newton(const tgiTopk *t, tgReal *g) {
  tgReal F[MOST], d[MOST], H[MOST * MOST], trial[MOST], last;
  int piv[MOST];
  tgReal value = columns(t, g, F, &last, H);
  double slope = 0, size = largest(F, t->K);
  memcpy(d, F, sizeof d);
  if (!factor(t->K, H, piv)) return false;
  tgi_lu_solve(t->K, H, piv, d, false);
  for (int j = 0; j < t->K; j++) slope += tgRe(F[j]) * tgRe(d[j]) * t->width;
  for (double a = 1; a > 1e-6; a *= 0.5) {
    for (int j = 0; j < t->K; j++) trial[j] = g[j] - a * t->width * d[j];
    tgReal now = columns(t, trial, F, &last, NULL);
    // near the solution the function's rounding hides its fall
    if (tgRe(now) > tgRe(value) - 1e-4 * a * slope && largest(F, t->K) >= fmin(size, 1e-3)) continue;
    memcpy(g, trial, (size_t)t->K * sizeof *g);
    return true;
  }
  return false;
}

// from g on, at the width of t
static bool reach(const tgiTopk *t, tgReal *g, int sweeps, int steps) {
  tgReal F[MOST], last;
  for (int k = 0; k < sweeps; k++) sweep(t, g);
  for (int k = 0; k < steps; k++) {
    columns(t, g, F, &last, NULL);
    if (largest(F, t->K) <= REACHED) return true;
    if (!newton(t, g)) break;
  }
  columns(t, g, F, &last, NULL);
  return largest(F, t->K) <= REACHED;
}

// once more at the solution: in the complex build this is its derivative
static void polish(const tgiTopk *t, tgReal *g) {
  tgReal F[MOST], H[MOST * MOST], last;
  int piv[MOST];
  columns(t, g, F, &last, H);
  if (!factor(t->K, H, piv)) return;
  tgi_lu_solve(t->K, H, piv, F, false);
  for (int j = 0; j < t->K; j++) g[j] -= t->width * F[j];
}

bool tgi_topk_solve(const tgiTopk *t, tgReal *g, tgReal *R) {
  tgReal r[MOST + 1];
  for (int j = 0; j < t->K; j++) g[j] = 0;
  bool reached = reach(t, g, 10, 20);
  // where that does not get there: from a wide choice to narrower ones
  for (int round = 0; round < 2 && !reached; round++) {
    tgiTopk wide = *t;
    for (int j = 0; j < t->K; j++) g[j] = 0;
    for (wide.width = fmax(4, t->width); wide.width > t->width; wide.width *= round == 0 ? 0.5 : 0.8) reach(&wide, g, 3, 30);
    reached = reach(t, g, 10, 100);
  }
  polish(t, g);
  for (int v = 0; v < t->V; v++) {
    shares(t, g, v, r);
    memcpy(R + (size_t)v * (size_t)t->K, r, (size_t)t->K * sizeof *R);
  }
  return reached;
}

void tgi_topk_means(const tgiTopk *t, const tgReal *R, const tgReal *y, tgReal *c) {
  memset(c, 0, 3 * (size_t)t->K * sizeof *c);
  for (int v = 0; v < t->V; v++)
    for (int k = 0; k < t->K; k++)
      for (int i = 0; i < 3; i++) c[3 * k + i] += R[(size_t)v * (size_t)t->K + (size_t)k] * y[3 * (size_t)v + (size_t)i];
}

// With ybar_v = sum_k R_vk y_k and S_vk = (2/width) R_vk (y_k - ybar_v), what the shares change by at held g as z_v does:
//   H dg/width = -sum_v S_v dz_v,   dR_vk = S_vk dz_v + R_vk (dg_k - sum_l R_vl dg_l)/width.
void tgi_topk_jacobian(const tgiTopk *t, const tgReal *R, const tgReal *y, tgReal *J) {
  int K = t->K, piv[MOST];
  tgReal H[MOST * MOST], M[3 * MOST * MOST], S[MOST], d[MOST];   // M: sum_v y_v R_vk (1_kl - R_vl), three for each k, l
  memset(H, 0, sizeof H);
  memset(M, 0, sizeof M);
  for (int v = 0; v < t->V; v++) {
    const tgReal *r = R + (size_t)v * (size_t)K;
    for (int k = 0; k < K; k++)
      for (int l = 0; l < K; l++) {
        tgReal h = r[k] * ((k == l) - r[l]);
        H[k + K * l] += h;
        for (int i = 0; i < 3; i++) M[3 * (K * k + l) + i] += h * y[3 * (size_t)v + (size_t)i];
      }
  }
  bool fine = factor(K, H, piv);
  for (int v = 0; v < t->V; v++) {
    const tgReal *r = R + (size_t)v * (size_t)K;
    tgReal mean = 0;
    for (int k = 0; k < K; k++) mean += r[k] * t->anchor[k];
    for (int k = 0; k < K; k++) d[k] = S[k] = 2 / t->width * r[k] * (t->anchor[k] - mean);
    if (fine) tgi_lu_solve(K, H, piv, d, false);
    for (int k = 0; k < K; k++)
      for (int i = 0; i < 3; i++) {
        tgReal x = S[k] * y[3 * (size_t)v + (size_t)i];
        for (int l = 0; l < K; l++) x -= M[3 * (K * k + l) + i] * d[l];
        J[(size_t)(3 * k + i) * (size_t)t->V + (size_t)v] = x;
      }
  }
}
