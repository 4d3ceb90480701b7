// ssdf_shape.c: see ssdf_shape.h.
#include "coll/clouds/ssdf_shape.h"

enum { DEPTH = 96 };

// ---- least eigenvalues ----

// Of a symmetric A by the trigonometric solution of its characteristic polynomial: with q = tr A/3, p^2 = |A - q
// 1|^2/6, r = det(A - q 1)/(2 p^3) in [-1, 1], the least is q + 2 p cos(acos(r)/3 + 2 pi/3). Where two are equal acos
// has an error of the root of rounding, 1e-7 or less: hence the margin.
static double least_eigenvalue(const tgReal *shape) {
  double a[6], trace;
  for (int k = 0; k < 6; k++) a[k] = tgRe(shape[k]);
  trace = a[0] + a[2] + a[5];
  double q = trace / 3, x = a[0] - q, y = a[2] - q, z = a[5] - q;
  double p = sqrt((x * x + y * y + z * z + 2 * (a[1] * a[1] + a[3] * a[3] + a[4] * a[4])) / 6), least = q;
  if (p > 0) {
    double det = x * (y * z - a[4] * a[4]) - a[1] * (a[1] * z - a[4] * a[3]) + a[3] * (a[1] * a[4] - y * a[3]);
    double r = fmin(1, fmax(-1, det / (2 * p * p * p)));
    least = q + 2 * p * cos(acos(r) / 3 + 2 * TG_PI / 3);
  }
  least -= 1e-6 * trace;
  return least > 0 ? least : 0;
}

void tgi_ssdf_tree_shapes(const tgiSsdfTree *tree, const tgReal *shape, double *low) {
  for (int i = tree->nnode - 1; i >= 0; i--) {
    if (tree->child[i] >= 0) {
      low[i] = fmin(low[tree->child[i]], low[tree->child[i] + 1]);
      continue;
    }
    const int *point = tree->point + TGI_SSDF_BLOCK * tree->block[i];
    low[i] = INFINITY;
    for (int k = 0; k < tree->used[tree->block[i]]; k++) low[i] = fmin(low[i], least_eigenvalue(shape + 6 * (size_t)point[k]));
  }
}

// ---- searches ----

// (1), a little less for rounding
static double bound(const tgiSsdfNode *d, double low, const double x[3]) {
  double sum = 0;
  for (int k = 0; k < 3; k++) {
    double e = fmax(fmax(d->lo[k] - x[k], x[k] - d->hi[k]), 0);
    sum += e * e;
  }
  return low * sum * (1 - 1e-14);
}

static double squared(const tgiSsdf *s, int i, const double x[3]) {
  const tgReal *p = s->p + 3 * (size_t)i, *A = s->shape + 6 * (size_t)i;
  double d[3] = {x[0] - tgRe(p[0]), x[1] - tgRe(p[1]), x[2] - tgRe(p[2])};
  return tgRe(A[0]) * d[0] * d[0] + tgRe(A[2]) * d[1] * d[1] + tgRe(A[5]) * d[2] * d[2] +
         2 * (tgRe(A[1]) * d[0] * d[1] + tgRe(A[3]) * d[0] * d[2] + tgRe(A[4]) * d[1] * d[2]);
}

// the least D, the nearer of two nodes first
static double least_squared(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *low, const double x[3]) {
  int stack[DEPTH], top = 0;
  double at[DEPTH], best = INFINITY;
  stack[0] = 0;
  at[0] = 0;
  while (top >= 0) {
    int i = stack[top];
    if (at[top--] >= best) continue;
    if (tree->child[i] < 0) {
      const int *point = tree->point + TGI_SSDF_BLOCK * tree->block[i];
      for (int k = 0; k < tree->used[tree->block[i]]; k++) best = fmin(best, squared(s, point[k], x));
      continue;
    }
    int a = tree->child[i];
    double b[2] = {bound(z->node + a, low[a], x), bound(z->node + a + 1, low[a + 1], x)};
    int first = b[0] <= b[1] ? 0 : 1;
    stack[++top] = a + 1 - first;
    at[top] = b[1 - first];
    stack[++top] = a + first;
    at[top] = b[first];
  }
  return best;
}

int tgi_ssdf_shaped_kept(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double *low,
                         double tau, const double x[3], int *kept) {
  int stack[DEPTH], top = 0, n = 0;
  double most = least_squared(s, tree, numbers, low, x);
  most += tgi_ssdf_cut(tgRe(s->eps), s->n, tau) + 1e-14 * most;
  stack[0] = 0;
  while (top >= 0) {
    int i = stack[top--];
    if (bound(numbers->node + i, low[i], x) > most) continue;
    if (tree->child[i] >= 0) {
      stack[++top] = tree->child[i] + 1;
      stack[++top] = tree->child[i];
      continue;
    }
    const int *point = tree->point + TGI_SSDF_BLOCK * tree->block[i];
    for (int k = 0; k < tree->used[tree->block[i]]; k++)
      if (squared(s, point[k], x) <= most) kept[n++] = point[k];
  }
  return n;
}

tgReal tgi_ssdf_pruned_shaped(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers,
                              const double *low, double tau, int *kept, const tgReal x[3], tgReal g[3], tgReal H[9]) {
  const double c[3] = {tgRe(x[0]), tgRe(x[1]), tgRe(x[2])};
  int n = tgi_ssdf_shaped_kept(s, tree, numbers, low, tau, c, kept);
  return tgi_ssdf_among(s, kept, n, x, g, H);
}
