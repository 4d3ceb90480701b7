// friction_kernel.c: the sums of friction_wide.h on vectors, one friction point a lane. Compiled for every width of lanes.h.
#include "math/lanes.h"
#include "contact/barrier/friction/friction_wide.h"

// the numbers of a point by columns
enum { N, A = 1, B = 4, Q = 7, REALS = 13 };
_Static_assert(sizeof(tgiFrictionPoint) == REALS * sizeof(tgReal) && TGI_FRICTION_TOTALS % TGI_WIDTH == 0, "whole vectors");

typedef union Total {
  struct TGI_FRICTION_TOTAL(V);
  V all[TGI_FRICTION_TOTALS];
} Total;

// `left` points, at most as many as there are lanes; the lanes beyond repeat the first, without its force
TGI_LANE void columns(int left, const tgiFrictionPoint *p, V c[REALS]) {
  for (int i = 0; i < REALS; i += TGI_WIDTH) {
    int at = i + TGI_WIDTH <= REALS ? i : REALS - TGI_WIDTH;
    V r[TGI_WIDTH];
    for (int l = 0; l < TGI_WIDTH; l++) r[l] = v_load((const tgReal *)(p + (l < left ? l : 0)) + at);
    v_turn(r);
    for (int l = 0; l < TGI_WIDTH; l++) c[at + l] = r[l];
  }
  if (left < TGI_WIDTH) c[N] = v_pick(m_from((1u << left) - 1), c[N], v_all(0));
}

TGI_LANE void full(V X[9], const V M[6]) {
  for (int i = 0; i < 6; i++) X[3 * tgi_friction_row[i] + tgi_friction_col[i]] = X[3 * tgi_friction_col[i] + tgi_friction_row[i]] = M[i];
}

TGI_LANE void moved(V r[3], const tgiFrictionMotion *m, const V p[3]) {
  V c[3];
  for (int i = 0; i < 3; i++) c[i] = p[i] - m->from[i];
  for (int i = 0; i < 3; i++) r[i] = m->E[3 * i] * c[0] + m->E[3 * i + 1] * c[1] + m->E[3 * i + 2] * c[2] + m->d[i];
}

// rows of X [x]': x cross each row
TGI_LANE void by_turn(V out[9], const V X[9], const V x[3]) {
  for (int i = 0; i < 3; i++) v_cross(out + 3 * i, x, X + 3 * i);
}

// sum += entry i, j of (KX)' [y]', of which KX = K [x]'
TGI_LANE void add_entry(V *sum, const V KX[9], const V y[3], int i, int j) {
  int k = (j + 1) % 3, l = (j + 2) % 3;
  *sum += y[k] * KX[3 * l + i];
  *sum -= y[l] * KX[3 * k + i];
}

TGI_LANE void add_stiffness(Total *t, const V K[6], const V x[3], const V y[3]) {
  V X[9], KA[9], KB[9];
  full(X, K);
  by_turn(KA, X, x);
  by_turn(KB, X, y);
  for (int i = 0; i < 6; i++) {
    t->K[i] += K[i];
    add_entry(&t->AKA[i], KA, x, tgi_friction_row[i], tgi_friction_col[i]);
    add_entry(&t->BKB[i], KB, y, tgi_friction_row[i], tgi_friction_col[i]);
  }
  for (int i = 0; i < 9; i++) {
    t->KA[i] += KA[i];
    t->KB[i] += KB[i];
    add_entry(&t->AKB[i], KA, y, i / 3, i % 3);
  }
}

TGI_LANE void add_points(Total *t, const V c[REALS], const tgiFrictionLaw *law, const tgiFrictionMotion m[2]) {
  V x[3], y[3], v[3], q[9], Qv[3], f[3], K[6], perh = v_all(1 / law->h);
  moved(x, &m[0], c + A);
  moved(y, &m[1], c + B);
  for (int i = 0; i < 3; i++) {
    v[i] = (x[i] - y[i]) * perh;
    x[i] += c[A + i];
    y[i] += c[B + i];
  }
  full(q, c + Q);
  for (int i = 0; i < 3; i++) Qv[i] = v_dot(q + 3 * i, v);
  // s - eps = v'Qv/(s + eps), without the cancellation
  V vQv = v_dot(v, Qv), s = v_sqrt(vQv + law->eps * law->eps), pers = 1.0 / s, scale = law->lambda * c[N] * pers, stiff = scale * perh;
  t->energy += law->lambda * law->h * c[N] * vQv / (s + law->eps);
  for (int i = 0; i < 3; i++) t->f[i] += f[i] = scale * Qv[i];
  for (int i = 0; i < 9; i++) {
    t->fx[i] += f[i / 3] * x[i % 3];
    t->fy[i] += f[i / 3] * y[i % 3];
  }
  for (int i = 0; i < 3; i++) v[i] = Qv[i] * pers;
  for (int i = 0; i < 6; i++) K[i] = stiff * (c[Q + i] - v[tgi_friction_row[i]] * v[tgi_friction_col[i]]);
  add_stiffness(t, K, x, y);
}

// over the lanes, first half and second half first
TGI_LANE void total(const Total *t, tgReal *out) {
  for (int i = 0; i < TGI_FRICTION_TOTALS; i += TGI_WIDTH) {
    V r[TGI_WIDTH];
    for (int l = 0; l < TGI_WIDTH; l++) r[l] = t->all[i + l];
    v_turn(r);
    for (int half = TGI_WIDTH / 2; half > 0; half /= 2)
      for (int l = 0; l < half; l++) r[l] += r[half + l];
    v_store(out + i, r[0]);
  }
}

void KERNEL(tgi_friction_total)(int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law,
                                const tgiFrictionMotion m[2], tgiFrictionTotal *out) {
  Total t;
  for (int i = 0; i < TGI_FRICTION_TOTALS; i++) t.all[i] = v_all(0);
  for (int k = 0; k < n; k += TGI_WIDTH) {
    V c[REALS];
    columns(n - k, p + k, c);
    add_points(&t, c, law, m);
  }
  total(&t, (tgReal *)out);
}
