// ssdf.c: see ssdf.h. Everything is a plain sum; tgi_ssdf_among over the points that an index keeps (ssdf_tree.h) is the fast form.
#include "coll/clouds/ssdf.h"

#include "math/vec3.h"

// the points summed over, and the one with the largest exponent
typedef struct Sum {
  const tgiSsdf *s;
  const int *kept;
  int n, best;
  const tgReal *x;
  tgReal first, slope[3];   // s_i and the gradient of l_i of the best: sums are of differences to it, which do not
                            // cancel where it alone counts
} Sum;

static int point(const Sum *k, int a) { return k->kept != NULL ? k->kept[a] : a; }

// r = A_i d
static void shaped(const tgiSsdf *s, int i, const tgReal d[3], tgReal r[3]) {
  if (s->shape == NULL) {
    tgi_v3_copy(r, d);
    return;
  }
  const tgReal *A = s->shape + 6 * (size_t)i;
  r[0] = A[0] * d[0] + A[1] * d[1] + A[3] * d[2];
  r[1] = A[1] * d[0] + A[2] * d[1] + A[4] * d[2];
  r[2] = A[3] * d[0] + A[4] * d[1] + A[5] * d[2];
}

static double squared(const tgiSsdf *s, int i, const tgReal x[3]) {
  tgReal d[3], r[3];
  tgi_v3_sub(d, x, s->p + 3 * (size_t)i);
  shaped(s, i, d, r);
  return tgRe(tgi_v3_dot(d, r));
}

// l_i - l_best. Equal kernels: (p_i - p_b) . (2 x - p_i - p_b)/eps, in which the squares of far distances do not cancel.
static tgReal exponent(const Sum *k, int i) {
  const tgiSsdf *s = k->s;
  const tgReal *p = s->p + 3 * (size_t)i, *b = s->p + 3 * (size_t)k->best;
  tgReal d[3], e[3], r[3];
  if (s->shape == NULL) {
    for (int c = 0; c < 3; c++) {
      d[c] = p[c] - b[c];
      e[c] = 2 * k->x[c] - p[c] - b[c];
    }
    return tgi_v3_dot(d, e) / s->eps;
  }
  tgi_v3_sub(d, k->x, p);
  shaped(s, i, d, r);
  tgReal l = -tgi_v3_dot(d, r);
  tgi_v3_sub(d, k->x, b);
  shaped(s, k->best, d, r);
  return (l + tgi_v3_dot(d, r)) / s->eps;
}

// gradient of l_i in x less that of l_best
static void slope(const Sum *k, int i, tgReal v[3]) {
  const tgiSsdf *s = k->s;
  tgReal d[3];
  if (s->shape == NULL) {
    tgi_v3_sub(d, s->p + 3 * (size_t)i, s->p + 3 * (size_t)k->best);
    tgi_v3_scale(v, d, 2 / s->eps);
    return;
  }
  tgi_v3_sub(d, k->x, s->p + 3 * (size_t)i);
  shaped(s, i, d, v);
  for (int c = 0; c < 3; c++) v[c] = -2 / s->eps * v[c] - k->slope[c];
}

// s_i less that of the best
static tgReal plane_distance(const Sum *k, int i) {
  tgReal d[3];
  tgi_v3_sub(d, k->x, k->s->p + 3 * (size_t)i);
  return tgi_v3_dot(k->s->normal + 3 * (size_t)i, d) - k->first;
}

static Sum begin(const tgiSsdf *s, const int *kept, int n, const tgReal x[3]) {
  Sum k = {.s = s, .kept = kept, .n = n, .x = x};
  double least = INFINITY;
  for (int a = 0; a < n; a++) {
    double d = squared(s, point(&k, a), x);
    if (!(d < least)) continue;
    least = d;
    k.best = point(&k, a);
  }
  tgReal v[3];
  slope(&k, k.best, v);
  tgi_v3_copy(k.slope, v);
  k.first = plane_distance(&k, k.best);
  return k;
}

// phi less the best's s, sum of exponentials and mean slope
static tgReal average(const Sum *k, tgReal *total, tgReal mean[3]) {
  tgReal W = 0, S = 0;
  tgi_v3_zero(mean);
  for (int a = 0; a < k->n; a++) {
    int i = point(k, a);
    tgReal w = tgExp(exponent(k, i)), v[3];
    slope(k, i, v);
    W += w;
    S += w * plane_distance(k, i);
    tgi_v3_axpy(mean, w, v);
  }
  tgi_v3_scale(mean, mean, 1 / W);
  *total = W;
  return S / W;
}

// With v_i = grad l_i - mean: grad phi = sum w (n_i + (s_i - phi) v_i),
//   Hess phi = sum w [n_i v_i' + v_i n_i' + (s_i - phi)(v_i v_i' - 2 A_i/eps)];  with equal kernels the last term sums to 0.
static void derivatives(const Sum *k, tgReal phi, tgReal W, const tgReal mean[3], tgReal g[3], tgReal H[9]) {
  tgReal G[3] = {0}, M[9] = {0};
  for (int a = 0; a < k->n; a++) {
    int i = point(k, a);
    const tgReal *n = k->s->normal + 3 * (size_t)i, *A = k->s->shape != NULL ? k->s->shape + 6 * (size_t)i : NULL;
    tgReal w = tgExp(exponent(k, i)) / W, t = w * (plane_distance(k, i) - phi), v[3];
    slope(k, i, v);
    tgi_v3_sub(v, v, mean);
    for (int r = 0; r < 3; r++) {
      G[r] += w * n[r] + t * v[r];
      for (int c = 0; H != NULL && c <= r; c++) {
        M[3 * r + c] += w * (n[r] * v[c] + v[r] * n[c]) + t * v[r] * v[c];
        if (A != NULL) M[3 * r + c] -= 2 * t * A[r * (r + 1) / 2 + c] / k->s->eps;
      }
    }
  }
  if (g != NULL) tgi_v3_copy(g, G);
  for (int r = 0; H != NULL && r < 3; r++)
    for (int c = 0; c <= r; c++) H[3 * r + c] = H[3 * c + r] = M[3 * r + c];
}

tgReal tgi_ssdf_among(const tgiSsdf *s, const int *kept, int n, const tgReal x[3], tgReal g[3], tgReal H[9]) {
  Sum k = begin(s, kept, n, x);
  tgReal W, mean[3], phi = average(&k, &W, mean);
  if (g != NULL || H != NULL) derivatives(&k, phi, W, mean, g, H);
  return k.first + phi;
}

tgReal tgi_ssdf(const tgiSsdf *s, const tgReal x[3], tgReal g[3], tgReal H[9]) { return tgi_ssdf_among(s, NULL, s->n, x, g, H); }
