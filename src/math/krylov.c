// krylov.c: see krylov.h. Arnoldi's process, orthogonalised twice; rotations make its Hessenberg matrix triangular as it grows.
#include "math/krylov.h"

static double dot(int n, const double *x, const double *y) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

// column k of the Hessenberg matrix h becomes one of a triangular one by the rotations before and a new one, which g takes too
static void rotate(int k, double *h, double (*turn)[2], double *g) {
  for (int i = 0; i < k; i++) {
    double a = h[i], b = h[i + 1];
    h[i] = turn[i][0] * a + turn[i][1] * b;
    h[i + 1] = turn[i][0] * b - turn[i][1] * a;
  }
  double size = hypot(h[k], h[k + 1]);
  turn[k][0] = size > 0 ? h[k] / size : 1;
  turn[k][1] = size > 0 ? h[k + 1] / size : 0;
  h[k] = size;
  g[k + 1] = -turn[k][1] * g[k];
  g[k] *= turn[k][0];
}

// Row k + 1 of the basis V from A times row k, and column k of h. False: the space is closed.
static bool extend(int n, tgiImage *A, const void *of, int k, double *V, double *h) {
  double *next = V + (size_t)(k + 1) * (size_t)n;
  A(of, V + (size_t)k * (size_t)n, next);
  double before = sqrt(dot(n, next, next));
  for (int l = 0; l <= k; l++) h[l] = 0;
  for (int pass = 0; pass < 2; pass++)   // twice is enough
    for (int l = 0; l <= k; l++) {
      const double *v = V + (size_t)l * (size_t)n;
      double e = dot(n, v, next);
      h[l] += e;
      for (int i = 0; i < n; i++) next[i] -= e * v[i];
    }
  h[k + 1] = sqrt(dot(n, next, next));
  bool open = h[k + 1] > 1e-14 * before;
  for (int i = 0; i < n && open; i++) next[i] /= h[k + 1];
  return open;
}

void tgi_krylov(int n, tgiImage *A, const void *of, const double *r, double enough, double closed, double *work, double *y) {
  double *V = work, h[TGI_KRYLOV][TGI_KRYLOV + 1], turn[TGI_KRYLOV][2], g[TGI_KRYLOV + 1], size = sqrt(dot(n, r, r));
  int count = 0;
  for (int i = 0; i < n; i++) {
    V[i] = size > 0 ? r[i] / size : 0;
    y[i] = 0;
  }
  g[0] = size;
  for (bool open = size > 0 && isfinite(size); open && count < TGI_KRYLOV && fabs(g[count]) > enough * size; count++) {
    open = extend(n, A, of, count, V, h[count]);
    rotate(count, h[count], turn, g);
    if (!(fabs(h[count][count]) > closed)) break;
  }
  for (int k = count - 1; k >= 0; k--) {
    for (int l = k + 1; l < count; l++) g[k] -= h[l][k] * g[l];
    g[k] /= h[k][k];
    for (int i = 0; i < n; i++) y[i] += g[k] * V[(size_t)k * (size_t)n + (size_t)i];
  }
}
