// quad.c: see quad.h.
#include "contact/barrier/quad.h"

#include "support/check.h"

enum { STEPS = 10 };
typedef tgtQuad Q;

static Q root(Q a) {
  Q r = sqrt((double)a);
  for (int k = 0; k < 3; k++) r = (r + a / r) / 2;
  return r;
}
static Q dot(const Q *a, const Q *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(Q r[3], const Q *a, const Q *b) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static void solve3(Q A[3][3], Q b[3]) {  // positive definite, so without pivoting
  for (int c = 0; c < 3; c++)
    for (int r = c + 1; r < 3; r++) {
      Q f = A[r][c] / A[c][c];
      for (int k = c; k < 3; k++) A[r][k] -= f * A[c][k];
      b[r] -= f * b[c];
    }
  for (int r = 2; r >= 0; r--) {
    for (int k = r + 1; k < 3; k++) b[r] -= A[r][k] * b[k];
    b[r] /= A[r][r];
  }
}

static Q value(const Q x[18], const Q u[3], Q delta, Q m[6]) {
  Q S = 0;
  for (int k = 0; k < 6; k++) {
    m[k] = (dot(u, x + 3 * k) + delta) * (k < 3 ? 1 : -1);
    if (m[k] <= 0) return -1;
    S += 1 / m[k];
  }
  return S;
}

void quad_pair(const Q x[18], Q u[3], Q *delta, Q *S, Q g[6]) {
  Q m[6];
  for (int pass = 0; pass < STEPS; pass++) {
    Q n = root(dot(u, u)), axis[3] = {0, 0, 0}, t[2][3], K[3][3] = {{0}}, w[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) u[i] /= n;
    *delta /= n;
    *S = value(x, u, *delta, m);
    axis[fabs((double)u[0]) < 0.6 ? 0 : 1] = 1;
    cross(t[0], u, axis);
    n = root(dot(t[0], t[0]));
    for (int i = 0; i < 3; i++) t[0][i] /= n;
    cross(t[1], u, t[0]);
    for (int k = 0; k < 6; k++) {
      Q row[3] = {dot(t[0], x + 3 * k), dot(t[1], x + 3 * k), 1}, y = 1 / (m[k] * m[k]);
      for (int i = 0; i < 3; i++) {
        w[i] += (k < 3 ? 1 : -1) * y * row[i];
        for (int j = 0; j < 3; j++) K[i][j] += 2 * y / m[k] * row[i] * row[j];
      }
    }
    K[0][0] += *S;
    K[1][1] += *S;
    solve3(K, w);
    Q moved[3], d, alpha = 1, now = *S;
    for (int k = 0; k < 60; k++, alpha /= 2) {
      for (int i = 0; i < 3; i++) moved[i] = u[i] + alpha * (w[0] * t[0][i] + w[1] * t[1][i]);
      d = *delta + alpha * w[2];
      n = root(dot(moved, moved));
      for (int i = 0; i < 3; i++) moved[i] /= n;
      Q S2 = value(x, moved, d / n, m);
      if (S2 > 0 && S2 <= now * (1 + (Q)1e-24)) break;
    }
    for (int i = 0; i < 3; i++) u[i] = moved[i];
    *delta = d / n;
  }
  *S = value(x, u, *delta, m);
  for (int i = 0; i < 6; i++) g[i] = 0;
  for (int k = 0; k < 3; k++) {
    Q turn[3], y = 1 / (m[k] * m[k]);
    cross(turn, x + 3 * k, u);
    for (int i = 0; i < 3; i++) {
      g[i] -= y * turn[i];
      g[3 + i] -= y * u[i];
    }
  }
}

void quad_reference(const double x[18], const tgiPair *start, tgiPair *reference) {
  Q at[18], u[3], delta = start->delta, S, g[6], column[6][6], step = 1e-8 * (12 / start->S);
  for (int i = 0; i < 18; i++) at[i] = x[i];
  for (int i = 0; i < 3; i++) u[i] = start->u[i];
  quad_pair(at, u, &delta, &S, g);
  reference->S = (double)S;
  for (int i = 0; i < 6; i++) reference->g[i] = (double)g[i];
  for (int j = 0; j < 6; j++) {
    Q length = 1;
    if (j < 3)  // a turn moves the vertices by its angle times their distance
      for (int i = 0; i < 9; i++) length = fmax((double)length, fabs(x[i]));
    Q h = step / length, ends[2][6];
    for (int side = 0; side < 2; side++) {
      Q a = side == 0 ? -h : h, v[3] = {u[0], u[1], u[2]}, d = delta, y[18];
      for (int i = 0; i < 18; i++) y[i] = at[i];
      for (int k = 0; k < 9; k += 3) {
        Q axis[3] = {0, 0, 0}, dx[3], ddx[3];
        axis[j % 3] = a;
        if (j < 3) {
          cross(dx, axis, at + k);
          cross(ddx, axis, dx);
        }
        for (int i = 0; i < 3; i++) y[k + i] += j < 3 ? dx[i] + ddx[i] / 2 : axis[i];
      }
      quad_pair(y, v, &d, &S, ends[side]);
    }
    for (int i = 0; i < 6; i++) column[j][i] = (ends[1][i] - ends[0][i]) / (2 * h);
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) reference->H[TGI_LOWER(i, j)] = (double)((column[i][j] + column[j][i]) / 2);
  for (int i = 0; i < 3; i++) reference->u[i] = (double)u[i];
  reference->delta = (double)delta;
}
