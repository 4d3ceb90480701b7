// soft_field.c: see soft_field.h.
#include "coll/clouds/soft_field.h"

#include <string.h>

#include "base/layout.h"
#include "coll/clouds/soft_topk.h"

enum { K = TGI_SOFT_CHOICE };

// of the choice: width and lean are compared with scores of about 1
#define WIDTH 0.02
#define LEAN 0.25
#define RIM (1.0 / 50)

// ---- field, distribution, vertices ----

static tgiSsdf field_of(const tgiSoftCloud *O) {
  return (tgiSsdf){.n = O->cloud->n, .p = O->p, .normal = O->normal, .eps = O->eps1};
}

// soft distance of a place in the world, with its gradient and Hessian in world axes (each may be NULL)
static tgReal distance_at(const tgiSoftCloud *O, const tgReal z[3], tgReal *g, tgReal *H) {
  tgiSsdf s = field_of(O);
  tgReal d[3], y[3], a[3], A[9], B[9];
  tgi_v3_sub(d, z, O->x);
  tgi_m3_tmulv(y, O->R, d);
  tgReal phi = tgi_ssdf(&s, y, g != NULL ? a : NULL, H != NULL ? A : NULL);
  if (g != NULL) tgi_m3_mulv(g, O->R, a);
  if (H != NULL) {
    tgi_m3_mul(B, O->R, A);
    tgi_m3_mult(H, B, O->R);
  }
  return phi;
}

static void to_world(const tgiSoftCloud *P, const tgReal y[3], tgReal z[3]) {
  tgReal t[3];
  tgi_m3_mulv(t, P->R, y);
  tgi_v3_add(z, t, P->x);
}

void tgi_soft_phi(const tgiSoftCloud *P, const tgiSoftCloud *O, tgReal *phi, tgReal *dphi) {
  if (P->cloud->flat) return;
  for (int f = 0; f < P->cloud->n; f++) {
    tgReal z[3], g[3];
    to_world(P, P->p + 3 * (size_t)f, z);
    phi[f] = distance_at(O, z, dphi != NULL ? g : NULL, NULL);
    if (dphi == NULL) continue;
    tgi_v3_cross(dphi + 6 * (size_t)f, z, g);
    tgi_v3_copy(dphi + 6 * (size_t)f + 3, g);
  }
}

// dW_f = -W_f (dPhi_f - sum W dPhi)/eps2,  dd = sum W_f (1 - (Phi_f - d)/eps2) dPhi_f
tgReal tgi_soft_distribution(int n, const tgReal *phi, double eps2, int m, const tgReal *dphi, tgReal *W, tgReal *dW, tgReal *dd) {
  tgReal total = 0, d = 0;
  int least = 0;
  for (int f = 1; f < n; f++)
    if (tgRe(phi[f]) < tgRe(phi[least])) least = f;
  for (int f = 0; f < n; f++) total += W[f] = tgExp((phi[least] - phi[f]) / eps2);
  for (int f = 0; f < n; f++) {
    W[f] /= total;
    d += W[f] * (phi[f] - phi[least]);
  }
  for (int j = 0; dphi != NULL && j < m; j++) {
    tgReal mean = 0;
    dd[j] = 0;
    for (int f = 0; f < n; f++) mean += W[f] * dphi[(size_t)f * (size_t)m + (size_t)j];
    for (int f = 0; f < n; f++) {
      size_t at = (size_t)f * (size_t)m + (size_t)j;
      dW[at] = -W[f] * (dphi[at] - mean) / eps2;
      dd[j] += W[f] * (1 - (phi[f] - phi[least] - d) / eps2) * dphi[at];
    }
  }
  return phi[least] + d;
}

void tgi_soft_vertices(const tgCloud *cloud, int m, const tgReal *W, const tgReal *dW, tgReal *z, tgReal *dz) {
  memset(z, 0, (size_t)cloud->nvert * sizeof *z);
  if (dW != NULL) memset(dz, 0, (size_t)cloud->nvert * (size_t)m * sizeof *dz);
  for (int f = 0; f < cloud->n; f++)
    for (int k = cloud->corner_at[f]; k < cloud->corner_at[f + 1]; k++) {
      size_t v = (size_t)cloud->corner[k];
      z[v] += W[f];
      for (int j = 0; dW != NULL && j < m; j++) dz[v * (size_t)m + (size_t)j] += dW[(size_t)f * (size_t)m + (size_t)j];
    }
}

// ---- the choice ----

typedef struct Work { tgReal *phi, *dphi, *W, *dW, *z, *dz, *R, *J; double *lean; } Work;

static size_t place(int n, int nvert, void *base, Work *w) {
  tgLayout l = {.base = base};
  size_t f = (size_t)n, v = (size_t)nvert;
  w->phi = tgi_place(&l, f, sizeof(tgReal));
  w->dphi = tgi_place(&l, 6 * f, sizeof(tgReal));
  w->W = tgi_place(&l, f, sizeof(tgReal));
  w->dW = tgi_place(&l, 6 * f, sizeof(tgReal));
  w->z = tgi_place(&l, v, sizeof(tgReal));
  w->dz = tgi_place(&l, 6 * v, sizeof(tgReal));
  w->R = tgi_place(&l, K * v, sizeof(tgReal));
  w->J = tgi_place(&l, 3 * K * v, sizeof(tgReal));
  w->lean = tgi_place(&l, K * v, sizeof(double));
  return l.used;
}

size_t tgi_soft_points_work(const tgCloud *A, const tgCloud *B) {
  Work w;
  return place(A->n > B->n ? A->n : B->n, A->nvert > B->nvert ? A->nvert : B->nvert, NULL, &w);
}

// z <- z/(z + z0), z0 a share of the norm (sum z^8)^(1/8)
static void score(int n, tgReal *z, tgReal *dz) {
  tgReal sum = 0, dsum[6] = {0};
  for (int v = 0; v < n; v++) {
    tgReal z2 = z[v] * z[v], z4 = z2 * z2, z7 = z4 * z2 * z[v];
    sum += z7 * z[v];
    for (int j = 0; dz != NULL && j < 6; j++) dsum[j] += z7 * dz[6 * v + j];
  }
  tgReal norm = tgSqrt(tgSqrt(tgSqrt(sum))), z0 = RIM * norm;
  for (int v = 0; v < n; v++) {
    tgReal whole = z[v] + z0;
    for (int j = 0; dz != NULL && j < 6; j++) dz[6 * v + j] = (z0 * dz[6 * v + j] - z[v] * z0 * dsum[j] / sum) / (whole * whole);
    z[v] /= whole;
  }
}

static void set_lean(const tgiSoftCloud *P, double *lean) {
  static const double corner[K][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
  double most = 0;
  for (int v = 0; v < P->cloud->nvert; v++) {
    const tgReal *y = P->vert + 3 * (size_t)v;
    most = fmax(most, sqrt(tgRe(y[0]) * tgRe(y[0]) + tgRe(y[1]) * tgRe(y[1]) + tgRe(y[2]) * tgRe(y[2])));
    for (int k = 0; k < K; k++)
      lean[(size_t)v * K + (size_t)k] = (corner[k][0] * tgRe(y[0]) + corner[k][1] * tgRe(y[1]) + corner[k][2] * tgRe(y[2])) / sqrt(3);
  }
  for (int i = 0; i < K * P->cloud->nvert; i++) lean[i] *= LEAN / most;
}

// places in P's frame and their derivatives in P's twist (K x 3 x 6) with O at rest
static int choose(const tgiSoftCloud *P, const tgiSoftCloud *O, double eps2, bool d, void *work, tgReal c[3 * K], tgReal Dc[18 * K]) {
  static const double anchor[K] = {1, 1, 1, 1};
  Work w;
  tgReal g[K], dd[6];
  int n = P->cloud->n, nvert = P->cloud->nvert;
  if (nvert <= K) return TG_ERR_UNSUPPORTED;
  place(n, nvert, work, &w);
  tgi_soft_phi(P, O, w.phi, d ? w.dphi : NULL);
  tgi_soft_distribution(n, w.phi, eps2, 6, d ? w.dphi : NULL, w.W, w.dW, dd);
  tgi_soft_vertices(P->cloud, 6, w.W, d ? w.dW : NULL, w.z, w.dz);
  score(nvert, w.z, d ? w.dz : NULL);
  set_lean(P, w.lean);
  tgiTopk t = {.V = nvert, .K = K, .score = w.z, .anchor = anchor, .lean = w.lean, .width = WIDTH};
  if (!tgi_topk_solve(&t, g, w.R)) return TG_ERR_LIMIT;
  tgi_topk_means(&t, w.R, P->vert, c);
  if (!d) return K;
  tgi_topk_jacobian(&t, w.R, P->vert, w.J);
  memset(Dc, 0, 18 * K * sizeof *Dc);
  for (int i = 0; i < 3 * K; i++)
    for (int v = 0; v < nvert; v++)
      for (int j = 0; j < 6; j++) Dc[6 * i + j] += w.J[(size_t)i * (size_t)nvert + (size_t)v] * w.dz[6 * (size_t)v + (size_t)j];
  return K;
}

// ---- contact points ----

// world motion (3 x 6) of a point at z in a body: [-[z], 1]
static void carried(const tgReal z[3], tgReal J[18]) {
  memset(J, 0, 18 * sizeof *J);
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    J[6 * i + j] = z[k];
    J[6 * i + k] = -z[j];
    J[6 * i + 3 + i] = 1;
  }
}

// D of a point chosen on P against O: with zeta = xi_P - xi_O and B = R_P dc/dzeta,
//   dp = J_z xi_P + B zeta,  dgap = g . (J_z + B) zeta,  dn = omega_O x n + (1 - n n') H/|g| (J_z + B) zeta
// where n = g/|g|; sign: of the normal, which points to A.
static void derive(const tgReal z[3], const tgReal B[18], const tgReal g[3], const tgReal H[9], const tgReal n[3],
                   tgReal length, double sign, int P, tgContactPoint *out) {
  tgReal J[18], M[18], N[9], dn[18];
  int p = 6 * P, o = 6 * (1 - P);
  carried(z, J);
  for (int i = 0; i < 18; i++) M[i] = J[i] + B[i];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      tgReal along = 0;
      for (int k = 0; k < 3; k++) along += n[k] * H[3 * k + j];
      N[3 * i + j] = (H[3 * i + j] - n[i] * along) / length;
    }
  memset(out->D, 0, sizeof out->D);
  for (int j = 0; j < 6; j++) {
    tgReal gap = 0, spin[3] = {0}, e[3] = {0};
    if (j < 3) {
      e[j] = 1;
      tgi_v3_cross(spin, e, n);
    }
    for (int i = 0; i < 3; i++) {
      gap += g[i] * M[6 * i + j];
      dn[6 * i + j] = N[3 * i] * M[j] + N[3 * i + 1] * M[6 + j] + N[3 * i + 2] * M[12 + j];
      out->D[i][p + j] = M[6 * i + j];
      out->D[i][o + j] = -B[6 * i + j];
      out->D[3 + i][p + j] = sign * dn[6 * i + j];
      out->D[3 + i][o + j] = sign * (spin[i] - dn[6 * i + j]);
    }
    out->D[6][p + j] = gap;
    out->D[6][o + j] = -gap;
  }
}

int tgi_soft_points(const tgiSoftCloud *A, const tgiSoftCloud *B, double eps2, double margin, bool d, void *work,
                    tgContactPoint out[TG_PAIR_POINTS]) {
  const tgiSoftCloud *side[2] = {A, B};
  int count = 0;
  for (int s = 0; s < 2; s++) {
    const tgiSoftCloud *P = side[s], *O = side[1 - s];
    tgReal c[3 * K], Dc[18 * K];
    if (P->cloud->flat) continue;
    int chosen = choose(P, O, eps2, d, work, c, Dc);
    if (chosen < 0) return chosen;
    for (int k = 0; k < K; k++) {
      tgContactPoint *x = &out[count];
      tgReal g[3], H[9], b[18], n[3];
      double sign = s == 0 ? 1 : -1;
      to_world(P, c + 3 * k, x->p);
      x->gap = distance_at(O, x->p, g, d ? H : NULL);
      if (tgRe(x->gap) > margin) continue;
      tgReal length = tgi_v3_unit(n, g);
      for (int i = 0; i < 3; i++) x->n[i] = sign * n[i];
      x->feature = 1 + K * s + k;
      x->tie = false;
      count++;
      if (!d) continue;
      for (int j = 0; j < 6; j++)
        for (int i = 0; i < 3; i++) {
          const tgReal *R = P->R + 3 * i, *D = Dc + 18 * k + j;
          b[6 * i + j] = R[0] * D[0] + R[1] * D[6] + R[2] * D[12];
        }
      derive(x->p, b, g, H, n, length, sign, s, x);
    }
  }
  return count;
}
