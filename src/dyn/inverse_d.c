// inverse_d.c: dense derivatives of inverse dynamics in O(nv x depth). See dynamics.h.
//
// Based on: the composite-quantity recursion [Singh], derived again for world axes and rotation groups; see also [CarpentierMansard].
// Moving q_j turns and shifts all that j carries rigidly by S_j, with velocity Vp_j and acceleration Ap_j before j's group fixed:
//   dS_k = S_j x S_k,  dV_b = S_j x (V_b - Vp_j),  dA_b = S_j x (A_b - Ap_j) + P_j x (V_b - Vp_j),     P_j = Vp_j x S_j,
//   df_b = S_j x* (f_b + x_b) + I_b Q_j + B_b P_j,    Q_j = Ap_j x S_j + Vp_j x P_j,
// and v_j:  dV_b = S_j,  dA_b = R_j - V_b x S_j,  df_b = I_b R_j + B_b S_j,    R_j = (Vp_j + V_after) x S_j,
// with V_after the velocity after j's group and B m = V x* I m - I (V x m) + m x* I V. About the centre of mass B takes only
// the rotation w of m: (2 w_b x (J - tr J/2) w; -2 m v_c x w), so at the origin it is a 3x3 matrix N and the linear momentum p:
//   B m = (N w; -2 p x w),   B' m = (N' w + 2 p x v; 0).
// Sums over what dof i carries (Ic, N, p, X: subtree of its body) give, for j on the way from i to the root,
//   d tau_i/dq_j = (Ic_i S_i) . Q_j + (B_i' S_i) . P_j - (S_j x S_i) . X_i     j = i and i's whole group included,
//   d tau_j/dq_i = S_j . (S_i x* (F_i + X_i) + Ic_i Q_i + B_i P_i)             j before i's group,
//   d tau_i/dv_j = (Ic_i S_i) . R_j + (B_i' S_i) . S_j,    d tau_j/dv_i = S_j . (Ic_i R_i + B_i S_i).
// Code: Coriolis = (N, p); all else as here.
#include "dyn/dynamics.h"

typedef struct Coriolis { tgReal N[9], p[3]; } Coriolis;
enum { CORIOLIS_SIZE = 12 };

// scratch of one call
typedef struct Work {
  tgReal *coriolis;  // nbody x 12
  tgReal *X;         // nbody x 6, sum of fixed forces; NULL when there are none
  tgReal *Q, *R;     // nv x 6
} Work;

// N and p of one body: with W = I_o - m (|c|^2 1 - c c') = J,  N = 2 [w] (J - tr J/2) - 2 m [c][v_c],  p = m v_c
static void body_coriolis(const tgReal *I, const tgReal *V, tgReal *r) {
  Coriolis *B = (Coriolis *)r;
  tgReal K[9], T[9], c[3];
  for (int i = 0; i < 3; i++) c[i] = tgRe(I[0]) > 0 ? I[1 + i] / I[0] : 0;
  // p = m v - h x w
  tgi_v3_cross(B->p, V, I + 1);
  tgi_v3_axpy(B->p, I[0], V + 3);
  // K = J - tr J/2 with J = I_o - (h.c 1 - h c')
  tgReal hc = tgi_v3_dot(I + 1, c), trace = I[4] + I[5] + I[6] - 2 * hc;
  for (int i = 0; i < 3; i++) K[4 * i] = I[4 + i] - hc + I[1 + i] * c[i] - trace / 2;
  K[1] = K[3] = I[7] + I[1] * c[1];
  K[2] = K[6] = I[8] + I[1] * c[2];
  K[5] = K[7] = I[9] + I[2] * c[2];
  for (int j = 0; j < 3; j++) {
    tgReal k[3], w[3], e[3] = {0, 0, 0}, u[3];
    tgi_m3_col(k, K, j);
    tgi_v3_cross(w, V, k);
    // [c][p] e_j
    e[j] = 1;
    tgi_v3_cross(u, B->p, e);
    tgi_v3_cross(u, c, u);
    for (int i = 0; i < 3; i++) T[3 * i + j] = 2 * (w[i] - u[i]);
  }
  tgi_m3_copy(B->N, T);
}

// r = B m: only the rotation of m counts
static void coriolis_mul(tgReal *r, const tgReal *c, const tgReal *m) {
  const Coriolis *B = (const Coriolis *)c;
  tgi_m3_mulv(r, B->N, m);
  tgi_v3_cross(r + 3, m, B->p);
  tgi_v3_scale(r + 3, r + 3, 2);
}

// r (3) = rotation part of B' m, the rest is zero
static void coriolis_tmul(tgReal *r, const tgReal *c, const tgReal *m) {
  const Coriolis *B = (const Coriolis *)c;
  tgReal t[3];
  tgi_m3_tmulv(r, B->N, m);
  tgi_v3_cross(t, B->p, m + 3);
  tgi_v3_axpy(r, 2, t);
}

static bool take(tgSim *s, const tgReal *xfrc, Work *w) {
  const tgModel *m = &s->m;
  w->coriolis = tgi_stack_real(s, (size_t)m->nbody * CORIOLIS_SIZE);
  w->Q = tgi_stack_real(s, (size_t)m->nv * 6);
  w->R = tgi_stack_real(s, (size_t)m->nv * 6);
  w->X = xfrc != NULL ? tgi_stack_real(s, (size_t)m->nbody * 6) : NULL;
  return w->coriolis != NULL && w->Q != NULL && w->R != NULL && (xfrc == NULL || w->X != NULL);
}

// sums over subtrees, leaves first
static void composites(tgSim *s, const tgReal *xfrc, Work *w) {
  const tgModel *m = &s->m;
  for (int b = 0; b < m->nbody; b++) {
    body_coriolis(s->cinert + TG_INERTIA_SIZE * b, s->V + 6 * b, w->coriolis + CORIOLIS_SIZE * b);
    if (xfrc != NULL) tgi_sp_copy(w->X + 6 * b, xfrc + 6 * b);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int p = m->body_parent[b];
    for (int i = 0; i < CORIOLIS_SIZE; i++) w->coriolis[CORIOLIS_SIZE * p + i] += w->coriolis[CORIOLIS_SIZE * b + i];
    if (xfrc != NULL) tgi_sp_axpy(w->X + 6 * p, 1, w->X + 6 * b);
  }
}

// Q_d and R_d of every dof
static void dof_terms(tgSim *s, Work *w) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    int g = m->dof_grpadr[d], n = m->dof_grpnum[d];
    tgReal t[6], U[6];
    tgi_sp_cross_m(w->Q + 6 * d, s->Ap + 6 * d, s->S + 6 * d);
    tgi_sp_cross_m(t, s->Vp + 6 * d, s->Sd + 6 * d);
    tgi_sp_axpy(w->Q + 6 * d, 1, t);
    // R = 2 Vp x S + V_rel x S; V_rel of a group of one is along S
    for (int i = 0; i < 6; i++) w->R[6 * d + i] = 2 * s->Sd[6 * d + i];
    if (n == 1) continue;
    tgi_sp_zero(U);
    for (int k = g; k < g + n; k++) tgi_sp_axpy(U, s->vel[k], s->S + 6 * k);
    tgi_sp_cross_m(t, U, s->S + 6 * d);
    tgi_sp_axpy(w->R + 6 * d, 1, t);
  }
}

// row and column i of both matrices
static void chain_q(tgSim *s, const Work *w, int i, const tgReal *u, const tgReal *t, tgReal *D) {
  const tgModel *m = &s->m;
  int nv = m->nv, b = m->dof_body[i];
  const tgReal *S = s->S + 6 * i;
  tgReal Z[6], y[6];
  tgi_sp_copy(y, s->F + 6 * b);
  if (w->X != NULL) tgi_sp_axpy(y, 1, w->X + 6 * b);
  tgi_sp_cross_f(Z, S, y);
  tgi_sp_inertia_mul(y, s->crb + TG_INERTIA_SIZE * b, w->Q + 6 * i);
  tgi_sp_axpy(Z, 1, y);
  coriolis_mul(y, w->coriolis + CORIOLIS_SIZE * b, s->Sd + 6 * i);
  tgi_sp_axpy(Z, 1, y);
  // X_i . (S_i x S_j) = -S_j . (S_i x* X_i)
  if (w->X != NULL) tgi_sp_cross_f(y, S, w->X + 6 * b);
  int group = m->dof_grpadr[i];
  for (int j = i; j >= 0; j = m->dof_parent[j]) {
    tgReal r = tgi_sp_dot(u, w->Q + 6 * j) + tgi_v3_dot(t, s->Sd + 6 * j);
    if (w->X != NULL) r -= tgi_sp_dot(s->S + 6 * j, y);
    D[i * nv + j] = r;
    if (j < group) D[j * nv + i] = tgi_sp_dot(s->S + 6 * j, Z);
  }
  // later members of i's group move its axis too
  for (int j = i + 1; j < group + m->dof_grpnum[i]; j++) {
    D[i * nv + j] = tgi_sp_dot(u, w->Q + 6 * j) + tgi_v3_dot(t, s->Sd + 6 * j);
    if (w->X != NULL) D[i * nv + j] -= tgi_sp_dot(s->S + 6 * j, y);
  }
}

static void chain_v(tgSim *s, const Work *w, int i, const tgReal *u, const tgReal *t, tgReal *D) {
  const tgModel *m = &s->m;
  int nv = m->nv, b = m->dof_body[i];
  tgReal Y[6], y[6];
  tgi_sp_inertia_mul(Y, s->crb + TG_INERTIA_SIZE * b, w->R + 6 * i);
  coriolis_mul(y, w->coriolis + CORIOLIS_SIZE * b, s->S + 6 * i);
  tgi_sp_axpy(Y, 1, y);
  for (int j = i; j >= 0; j = m->dof_parent[j]) {
    D[i * nv + j] = tgi_sp_dot(u, w->R + 6 * j) + tgi_v3_dot(t, s->S + 6 * j);
    if (j != i) D[j * nv + i] = tgi_sp_dot(s->S + 6 * j, Y);
  }
}

tgStatus tgi_inverse_d(tgSim *s, const tgReal *a, const tgReal *xfrc, tgReal *Dtau_q, tgReal *Dtau_v) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), n = (size_t)m->nv * (size_t)m->nv;
  Work w;
  tgReal *tau = tgi_stack_real(s, (size_t)m->nv);
  if (!take(s, xfrc, &w) || tau == NULL) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  tgi_inverse(s, a, xfrc, tau);  // A, Ap and F
  composites(s, xfrc, &w);
  dof_terms(s, &w);
  for (size_t i = 0; i < n; i++) {
    if (Dtau_q != NULL) Dtau_q[i] = 0;
    if (Dtau_v != NULL) Dtau_v[i] = 0;
  }
  for (int i = 0; i < m->nv; i++) {
    tgReal u[6], t[3];
    int b = m->dof_body[i];
    tgi_sp_inertia_mul(u, s->crb + TG_INERTIA_SIZE * b, s->S + 6 * i);
    coriolis_tmul(t, w.coriolis + CORIOLIS_SIZE * b, s->S + 6 * i);
    if (Dtau_q != NULL) chain_q(s, &w, i, u, t, Dtau_q);
    if (Dtau_v != NULL) chain_v(s, &w, i, u, t, Dtau_v);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
