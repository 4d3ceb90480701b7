// pair_sum.c: sums over the points of a pair, and its wrenches and their derivatives from them. See pair.h.
#include "contact/softmin/pair.h"

#include <string.h>

#include "math/spatial.h"

static void turn_vector(const tgReal *R, tgReal *x) {
  tgReal t[3];
  tgi_m3_mulv(t, R, x);
  tgi_v3_copy(x, t);
}

// R M R'
static void turn_matrix(const tgReal *R, tgReal *M) {
  tgReal t[9];
  tgi_m3_mul(t, R, M);
  tgi_m3_mult(M, t, R);
}

void tgi_soft_point_turn(const tgReal *R, bool paper, bool d, tgiSoftPoint *f) {
  turn_vector(R, f->F);
  if (paper) turn_vector(R, f->T);
  if (!d) return;
  turn_vector(R, f->g);
  turn_matrix(R, f->Fy);
  turn_matrix(R, f->Fu);
  if (!paper) return;
  turn_matrix(R, f->Fw);
  turn_matrix(R, f->Ty);
  turn_matrix(R, f->Tu);
  turn_matrix(R, f->Tw);
}

// column j of a 9 x 6 matrix += W (z x dF; dF; dT)
static void add_column(tgReal *D, int j, tgReal W, const tgReal z[3], const tgReal dF[3], const tgReal dT[3]) {
  tgReal moment[3];
  tgi_v3_cross(moment, z, dF);
  for (int i = 0; i < 3; i++) {
    D[6 * i + j] += W * moment[i];
    D[6 * (3 + i) + j] += W * dF[i];
    D[6 * (6 + i) + j] += W * dT[i];
  }
}

static void mul(tgReal *r, const tgReal *A, const tgReal *x, tgReal sign) {
  for (int i = 0; i < 3; i++) r[i] += sign * (A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2]);
}

// unit twist j (angular; linear) at z
static void unit_velocity(int j, const tgReal z[3], tgReal e[3], tgReal v[3]) {
  e[0] = e[1] = e[2] = 0;
  e[j % 3] = 1;
  if (j < 3) tgi_v3_cross(v, e, z);
  else tgi_v3_copy(v, e);
}

void tgi_soft_sum_add(tgiSoftSum *sum, tgReal W, const tgReal z[3], const tgReal *VP, const tgReal *VO,
                      const tgiSoftPoint *f, bool paper, bool d) {
  tgReal h[TGI_SOFT_ROWS], spin[3], e[3], dz[3], du[3], t[3], zero[3] = {0};
  tgi_v3_cross(h, z, f->F);
  tgi_v3_copy(h + 3, f->F);
  tgi_v3_copy(h + 6, f->T);
  for (int i = 0; i < TGI_SOFT_ROWS; i++) sum->h[i] += W * h[i];
  if (!d) return;
  tgi_v3_sub(spin, VP, VO);
  for (int j = 0; j < 6; j++) {
    tgReal dF[3] = {0}, dT[3] = {0};
    unit_velocity(j, z, e, dz);
    tgReal dphi = tgi_v3_dot(f->g, dz);
    sum->phi[j] += W * dphi;
    for (int i = 0; i < TGI_SOFT_ROWS; i++) sum->hphi[6 * i + j] += W * h[i] * dphi;
    tgi_v3_cross(du, spin, dz);
    mul(dF, f->Fy, dz, 1);
    mul(dF, f->Fu, du, 1);
    if (paper) {
      mul(dT, f->Ty, dz, 1);
      mul(dT, f->Tu, du, 1);
    }
    add_column(sum->Dh, j, W, z, dF, dT);
    tgi_v3_cross(t, dz, f->F);
    for (int i = 0; i < 3; i++) sum->Dh[6 * i + j] += W * t[i];
    // velocities: of P the point moves with dz, of O against it, and O's turning
    for (int i = 0; i < 3; i++) dF[i] = dT[i] = 0;
    mul(dF, f->Fu, dz, 1);
    if (paper) mul(dT, f->Tu, dz, 1);
    add_column(sum->YP, j, W, z, dF, paper ? dT : zero);
    for (int i = 0; i < 3; i++) {
      dF[i] = -dF[i];
      dT[i] = -dT[i];
    }
    if (paper && j < 3) {
      mul(dF, f->Fw, e, 1);
      mul(dT, f->Tw, e, 1);
    }
    add_column(sum->YO, j, W, z, dF, dT);
  }
}

// derivative of the h of a sum in a twist of both bodies: xi x* on the wrench, omega x on T, less the velocities' turning
static void common_motion(const tgiSoftSum *s, const tgReal *VP, const tgReal *VO, tgReal *C) {
  for (int j = 0; j < 6; j++) {
    tgReal e[6] = {0}, f[6], t[3], a[6], b[6];
    e[j] = 1;
    tgi_sp_cross_f(f, e, s->h);
    tgi_v3_cross(t, e, s->h + 6);
    tgi_sp_cross_m(a, e, VP);
    tgi_sp_cross_m(b, e, VO);
    for (int i = 0; i < TGI_SOFT_ROWS; i++) {
      tgReal x = i < 6 ? f[i] : t[i - 6];
      for (int k = 0; k < 6; k++) x -= s->YP[6 * i + k] * a[k] + s->YO[6 * i + k] * b[k];
      C[6 * i + j] = x;
    }
  }
}

// out (12 x ld, from column `at`, n columns of 6) += by times the 12 rows of M (9 x 6): body of P from 6 (1 - o), of O from 6 o
static void spread(const tgReal *M, int o, tgReal by, int at, tgReal *out) {
  int P = 6 * (1 - o), O = 6 * o;
  for (int j = 0; j < 6; j++)
    for (int i = 0; i < 6; i++) {
      tgReal x = by * M[6 * i + j];
      out[12 * (P + i) + at + j] += x;
      out[12 * (O + i) + at + j] -= x;
      if (i < 3) out[12 * (O + i) + at + j] -= by * M[6 * (6 + i) + j];
    }
}

void tgi_soft_sum_finish(const tgiSoftSum sum[2], const tgReal *V1, const tgReal *V2, tgReal eps2, bool d, tgPairTerm *out) {
  for (int i = 0; i < 12; i++) out->w[i] = 0;
  for (int o = 0; o < 2; o++)
    for (int i = 0; i < 6; i++) {
      const tgReal *h = sum[o].h;
      out->w[6 * (1 - o) + i] += h[i];
      out->w[6 * o + i] -= i < 3 ? h[i] + h[6 + i] : h[i];
    }
  if (!d) return;
  memset(out->X, 0, sizeof out->X);
  memset(out->Y, 0, sizeof out->Y);
  tgReal C[TGI_SOFT_ROWS * 6];
  for (int o = 0; o < 2; o++) {
    const tgiSoftSum *s = &sum[o];
    int P = 6 * (1 - o), O = 6 * o;
    spread(s->Dh, o, 1, P, out->X);
    spread(s->Dh, o, -1, O, out->X);
    common_motion(s, o == 0 ? V2 : V1, o == 0 ? V1 : V2, C);
    spread(C, o, 1, O, out->X);
    // weights: Phi depends on the relative pose alone
    spread(s->hphi, o, -1 / eps2, P, out->X);
    spread(s->hphi, o, 1 / eps2, O, out->X);
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 6; j++) {
        tgReal x = out->w[i] * s->phi[j] / eps2;
        out->X[12 * i + P + j] += x;
        out->X[12 * i + O + j] -= x;
      }
    spread(s->YP, o, 1, P, out->Y);
    spread(s->YO, o, 1, O, out->Y);
  }
}
