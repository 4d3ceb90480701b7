// quat.c: unit quaternions and rotations. See quat.h for conventions.
#include "math/quat.h"

tgReal tgi_quat_normalize(tgReal *q) {
  tgReal n = tgSqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (tgRe(n) > 0) {
    for (int i = 0; i < 4; i++) q[i] /= n;
  } else {
    q[0] = 1; q[1] = q[2] = q[3] = 0;
  }
  return n;
}

// sin(sqrt(s)/2)/sqrt(s) and cos(sqrt(s)/2) as power series in s = |w|^2 near 0, so analytic there
void tgi_quat_exp(tgReal *q, const tgReal *w) {
  tgReal s = tgi_v3_dot(w, w), c, f;
  if (tgRe(s) < 1e-4) {
    f = 0.5 - s / 48 + s * s / 3840 - s * s * s / 645120;
    c = 1 - s / 8 + s * s / 384 - s * s * s / 46080;
  } else {
    tgReal a = tgSqrt(s);
    f = tgSin(a / 2) / a;
    c = tgCos(a / 2);
  }
  q[0] = c;
  tgi_v3_scale(q + 1, w, f);
}

// w = 2 atan2(|u|, q0) u/|u|; near |u| = 0: 2 asin(|u|)/|u| u = 2 (1 + s/6 + 3 s^2/40 + 15 s^3/336) u
void tgi_quat_log(tgReal *w, const tgReal *q) {
  tgReal sign = tgRe(q[0]) < 0 ? -1 : 1, s = tgi_v3_dot(q + 1, q + 1), f;
  if (tgRe(s) < 1e-5) {
    f = 2 * (1 + s / 6 + 3 * s * s / 40 + 15 * s * s * s / 336);
  } else {
    tgReal n = tgSqrt(s);
    f = 2 * tgAtan2(n, sign * q[0]) / n;
  }
  tgi_v3_scale(w, q + 1, sign * f);
}

void tgi_quat_axis_angle(tgReal *q, const tgReal *axis, tgReal angle) {
  q[0] = tgCos(angle / 2);
  tgi_v3_scale(q + 1, axis, tgSin(angle / 2));
}

// J = 1 + b [w] + c [w]^2
static void one_b_c(tgReal *J, const tgReal *w, tgReal b, tgReal c) {
  tgReal s = tgi_v3_dot(w, w);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) J[3 * i + j] = c * w[i] * w[j] + (i == j ? 1 - c * s : 0);
  J[1] -= b * w[2]; J[2] += b * w[1]; J[3] += b * w[2];
  J[5] -= b * w[0]; J[6] -= b * w[1]; J[7] += b * w[0];
}

// Jr = 1 - (1 - cos a)/a^2 [w] + (a - sin a)/a^3 [w]^2
void tgi_so3_jr(tgReal *J, const tgReal *w) {
  tgReal s = tgi_v3_dot(w, w), b, c;
  if (tgRe(s) < 1e-2) {
    b = 0.5 - s / 24 + s * s / 720 - s * s * s / 40320 + s * s * s * s / 3628800;
    c = 1.0 / 6 - s / 120 + s * s / 5040 - s * s * s / 362880 + s * s * s * s / 39916800;
  } else {
    tgReal a = tgSqrt(s);
    b = (1 - tgCos(a)) / s;
    c = (a - tgSin(a)) / (s * a);
  }
  one_b_c(J, w, -b, c);
}

// Jr^-1 = 1 + [w]/2 + (1/a^2 - (1 + cos a)/(2 a sin a)) [w]^2
void tgi_so3_jr_inv(tgReal *J, const tgReal *w) {
  tgReal s = tgi_v3_dot(w, w), c;
  if (tgRe(s) < 1e-2) {
    c = 1.0 / 12 + s / 720 + s * s / 30240 + s * s * s / 1209600 + s * s * s * s / 47900160;
  } else {
    tgReal a = tgSqrt(s);
    c = 1 / s - tgCos(a / 2) / (2 * a * tgSin(a / 2));
  }
  one_b_c(J, w, 0.5, c);
}

// With s = |w|^2, Jr^-1 = 1 + [w]/2 + c(s) (w w' - s 1), c = sum over n of |B_2n| s^(n-1)/(2n)!:
//   out = (y x p)/2 + 2 c' (p.w w.y - s p.y) w + c (w.y p + p.w y - 2 p.y w)
void tgi_so3_jr_inv_d(tgReal *out, const tgReal *w, const tgReal *p, const tgReal *y) {
  static const double series[8] = {1.0 / 12, 1.0 / 720, 1.0 / 30240, 1.0 / 1209600, 1.0 / 47900160,
                                   691.0 / 1307674368000, 1.0 / 74724249600, 3617.0 / 10670622842880000};
  tgReal s = tgi_v3_dot(w, w), c = 0, dc = 0, pw = tgi_v3_dot(p, w), wy = tgi_v3_dot(w, y), py = tgi_v3_dot(p, y);
  if (tgRe(s) < 0.1) {
    for (int n = 7; n >= 0; n--) c = c * s + series[n];
    for (int n = 7; n >= 1; n--) dc = dc * s + n * series[n];
  } else {
    tgReal a = tgSqrt(s), sine = tgSin(a / 2), cot = tgCos(a / 2) / sine;
    c = 1 / s - cot / (2 * a);
    dc = -1 / (s * s) + cot / (4 * a * s) + 1 / (8 * s * sine * sine);
  }
  tgi_v3_cross(out, y, p);
  for (int i = 0; i < 3; i++) out[i] = out[i] / 2 + 2 * dc * (pw * wy - s * py) * w[i] + c * (wy * p[i] + pw * y[i] - 2 * py * w[i]);
}
