// height.c: see height.h.
#include "contact/barrier/pair/height.h"

#include <float.h>
#include <string.h>

#include "contact/barrier/pair/pair.h"
#include "math/vec3.h"

static const double corners = 3;   // of the far triangle

// rho(t) = (sum c_k (z_k - t)^-2)^-1/2 is concave and falls, so Newton on rho(t) = t/sqrt 3 comes down from the right of
// the root without passing it; it starts where the lowest vertex alone would put the plane.
static tgReal newton(const tgReal z[3], bool segment, tgReal t) {
  tgReal y = 0, c = 0, f = 1 / sqrt(corners);
  for (int k = 0; k < 3; k++) {
    tgReal i = 1 / (z[k] - t);
    y += tgi_height_times(segment, k) * i * i;
    c += tgi_height_times(segment, k) * i * i * i;
  }
  tgReal rho = 1 / tgSqrt(y);
  return t + (rho - t * f) / (rho * rho * rho * c + f);
}

static tgReal separating_height(const tgReal z[3], bool segment, double least) {
  enum { MOST_STEPS = 60, POLISH = 2 };
  double r = sqrt(corners);
  tgReal t = least * r / (sqrt(tgi_height_times(segment, 0)) + r);
  for (int i = 0; i < MOST_STEPS; i++) {
    tgReal next = newton(z, segment, t);
    bool still = tgRe(t) - tgRe(next) <= 4 * DBL_EPSILON * tgRe(t);
    t = next;
    if (still) break;
  }
#ifdef TG_COMPLEX
  for (int i = 0; i < POLISH; i++) t = newton(z, segment, t);
#endif
  return t;
}

bool tgi_height_pair(const tgReal z[3], bool segment, tgiHeightPair *r) {
  double least = fmin(tgRe(z[0]), fmin(tgRe(z[1]), tgRe(z[2])));
  tgReal c[3], sum = 0;
  if (!(least > 0)) return false;
  r->t = separating_height(z, segment, least);
  r->S = corners / r->t;
  tgReal own = 2 * corners / (r->t * r->t * r->t);
  for (int k = 0; k < 3; k++) {
    tgReal i = 1 / (z[k] - r->t);
    double n = tgi_height_times(segment, k);
    r->S += n * i;
    r->d[k] = -n * i * i;
    c[k] = 2 * n * i * i * i;
    sum += c[k];
  }
  // diag(c) - c c'/(sum + own), without its differences
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++) {
      tgReal others = c[(k + 1) % 3] + c[(k + 2) % 3] + own;
      r->D[3 * k + l] = (k == l ? c[k] * others : -c[k] * c[l]) / (sum + own);
    }
  return true;
}

tgReal tgi_height(const tgReal n[3], const tgReal x[3], tgReal v[6], tgReal G[21]) {
  tgReal z = tgi_v3_dot(n, x);
  tgi_v3_cross(v, x, n);
  tgi_v3_copy(v + 3, n);
  memset(G, 0, 21 * sizeof *G);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) G[TGI_LOWER(i, j)] = 0.5 * (x[i] * n[j] + n[i] * x[j]) - (i == j ? z : 0);
    int j = (i + 1) % 3, k = (i + 2) % 3;  // the block of w and v is -[n]/2
    G[TGI_LOWER(3 + k, j)] = 0.5 * n[i];
    G[TGI_LOWER(3 + j, k)] = -0.5 * n[i];
  }
  return z;
}

// |L n| and the unit vector along L n
static tgReal along(const tgReal axes[9], const tgReal n[3], tgReal e[3]) {
  tgReal v[3];
  tgi_m3_mulv(v, axes, n);
  return tgi_v3_unit(e, v);
}

void tgi_oval_point(const tgReal axes[9], const tgReal n[3], tgReal at[3]) {
  tgReal e[3];
  along(axes, n, e);
  tgi_m3_tmulv(at, axes, e);
}

void tgi_oval_turn(const tgReal axes[9], const tgReal n[3], tgReal c, tgReal G[6]) {
  tgReal e[3], at[3], h = along(axes, n, e);
  tgi_m3_tmulv(at, axes, e);
  for (int r = 0; r < 3; r++) {
    tgReal b[3], q[3];
    tgi_v3_copy(b, axes + 3 * r);
    tgi_v3_axpy(b, -e[r], at);
    tgi_v3_cross(q, n, b);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j <= i; j++) G[TGI_LOWER(i, j)] -= c / h * q[i] * q[j];
  }
}

void tgi_oval_point_d(const tgReal axes[9], const tgReal daxes[9], const tgReal n[3], tgReal dat[3]) {
  tgReal e[3], de[3], part[3], h = along(axes, n, e);
  tgi_m3_mulv(de, daxes, n);
  tgi_v3_axpy(de, -tgi_v3_dot(de, e), e);
  tgi_m3_tmulv(dat, daxes, e);
  tgi_m3_tmulv(part, axes, de);
  tgi_v3_axpy(dat, 1 / h, part);
}
