// d3.h: vectors of three doubles, real in both builds: what chooses features and judges meshes, whose derivatives follow from the choice.
#ifndef TG_MATH_D3_H
#define TG_MATH_D3_H

#include <math.h>

static inline double tgi_d3_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline double tgi_d3_norm(const double *a) { return sqrt(tgi_d3_dot(a, a)); }
static inline void tgi_d3_sub(double *r, const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[i] - b[i];
}
static inline double tgi_d3_distance(const double *a, const double *b) {
  double d[3];
  tgi_d3_sub(d, a, b);
  return tgi_d3_norm(d);
}
/// r = a + s u
static inline void tgi_d3_along(double *r, const double *a, double s, const double *u) {
  for (int i = 0; i < 3; i++) r[i] = a[i] + s * u[i];
}
static inline void tgi_d3_cross(double *r, const double *a, const double *b) {
  double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
  r[0] = x;
  r[1] = y;
  r[2] = z;
}
/// r = a/|a| (0 when a is 0); returns |a|
static inline double tgi_d3_unit(double *r, const double *a) {
  double n = tgi_d3_norm(a);
  for (int i = 0; i < 3; i++) r[i] = n > 0 ? a[i] / n : 0;
  return n;
}

#endif
