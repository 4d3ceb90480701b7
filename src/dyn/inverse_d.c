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
// Code: Coriolis = (N, p); all else as here. What a row or column of dof i takes from the dofs j on its way is a sum of few numbers of i
// times components of j; Q, R, Sd and S are therefore kept component by component, four neighbouring j are taken at a time.
#include "dyn/dynamics.h"

typedef struct Coriolis { tgReal N[9], p[3]; } Coriolis;

// scratch of one call
typedef struct Work {
  Coriolis *coriolis;  // nbody
  tgReal *X;           // nbody x 6, sum of fixed forces; NULL when there are none
  tgReal *Q, *R, *Sd;  // 6 rows, 6 rows and 3 rows of ld
  int ld;
} Work;

// what dof i puts into the entries of its row and column
typedef struct Terms {
  tgReal u[6], t[3], y[6], Z[6];   // q: u . Q_j + t . Sd_j - y . S_j,  S_j . Z
  tgReal Y[6];                     // v: u . R_j + t . S_j,             S_j . Y
} Terms;

// N and p of one body: with W = I_o - m (|c|^2 1 - c c') = J,  N = 2 [w] (J - tr J/2) - 2 m [c][v_c],  p = m v_c,
// and [c][p] = p c' - (c.p) 1
static void body_coriolis(const tgReal *I, const tgReal *c, const tgReal *V, Coriolis *B) {
  tgReal K[9];
  // p = m v - h x w
  tgi_v3_cross(B->p, V, I + 1);
  tgi_v3_axpy(B->p, I[0], V + 3);
  // K = J - tr J/2 with J = I_o - (h.c 1 - h c')
  tgReal hc = tgi_v3_dot(I + 1, c), trace = I[4] + I[5] + I[6] - 2 * hc, cp = tgi_v3_dot(c, B->p);
  for (int i = 0; i < 3; i++) K[4 * i] = I[4 + i] - hc + I[1 + i] * c[i] - trace / 2;
  K[1] = K[3] = I[7] + I[1] * c[1];
  K[2] = K[6] = I[8] + I[1] * c[2];
  K[5] = K[7] = I[9] + I[2] * c[2];
  for (int j = 0; j < 3; j++) {
    tgReal wk[3];
    tgi_v3_cross(wk, V, K + 3 * j);   // K is symmetric: its row is its column
    for (int i = 0; i < 3; i++) B->N[3 * i + j] = 2 * (wk[i] - B->p[i] * c[j]);
    B->N[4 * j] += 2 * cp;
  }
}

// r = B m: only the rotation of m counts
static void coriolis_mul(tgReal *r, const Coriolis *B, const tgReal *m) {
  tgi_m3_mulv(r, B->N, m);
  tgi_v3_cross(r + 3, m, B->p);
  tgi_v3_scale(r + 3, r + 3, 2);
}

// r (3) = rotation part of B' m, the rest is zero
static void coriolis_tmul(tgReal *r, const Coriolis *B, const tgReal *m) {
  tgReal t[3];
  tgi_m3_tmulv(r, B->N, m);
  tgi_v3_cross(t, B->p, m + 3);
  tgi_v3_axpy(r, 2, t);
}

static bool take(tgSim *s, const tgReal *xfrc, Work *w) {
  const tgModel *m = &s->m;
  w->ld = m->nv + TGI_LANES - 1;   // four may be read from any dof on
  size_t row = (size_t)w->ld;
  w->coriolis = (Coriolis *)(void *)tgi_stack_real(s, (size_t)m->nbody * (sizeof(Coriolis) / sizeof(tgReal)));
  w->Q = tgi_stack_real(s, 15 * row);
  w->X = xfrc != NULL ? tgi_stack_real(s, (size_t)m->nbody * 6) : NULL;
  if (w->coriolis == NULL || w->Q == NULL || (xfrc != NULL && w->X == NULL)) return false;
  w->R = w->Q + 6 * row;
  w->Sd = w->R + 6 * row;
  for (int k = 0; k < 15; k++)
    for (int j = m->nv; j < w->ld; j++) w->Q[k * w->ld + j] = 0;
  return true;
}

// sums over subtrees, leaves first
static void composites(tgSim *s, const tgPose *pose, const tgReal *xfrc, Work *w) {
  const tgModel *m = &s->m;
  for (int b = 0; b < m->nbody; b++) {
    body_coriolis(pose->cinert + TG_INERTIA_SIZE * b, pose->xcom + 3 * b, pose->V + 6 * b, &w->coriolis[b]);
    if (xfrc != NULL) tgi_sp_copy(w->X + 6 * b, xfrc + 6 * b);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int p = m->body_parent[b];
    if (p == 0) continue;   // what the world carries moves nothing
    for (int i = 0; i < 9; i++) w->coriolis[p].N[i] += w->coriolis[b].N[i];
    tgi_v3_add(w->coriolis[p].p, w->coriolis[p].p, w->coriolis[b].p);
    if (xfrc != NULL) tgi_sp_axpy(w->X + 6 * p, 1, w->X + 6 * b);
  }
}

// Q, R and Sd of every dof, by component
static void dof_terms(tgSim *s, const tgPose *pose, Work *w) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    int g = m->dof_grpadr[d], n = m->dof_grpnum[d];
    tgReal Q[6], t[6], U[6], R[6];
    const tgReal *S = pose->S + 6 * d, *Sd = pose->Sd + 6 * d;
    tgi_sp_cross_m(Q, s->Ap + 6 * d, S);
    tgi_sp_cross_m(t, pose->Vp + 6 * d, Sd);
    for (int k = 0; k < 6; k++) {
      Q[k] += t[k];
      R[k] = 2 * Sd[k];
    }
    // R = 2 Vp x S + V_rel x S; V_rel of a group of one is along S
    if (n > 1) {
      tgi_sp_zero(U);
      for (int k = g; k < g + n; k++) tgi_sp_axpy(U, pose->vel[k], pose->S + 6 * k);
      tgi_sp_cross_m(t, U, S);
      tgi_sp_add(R, R, t);
    }
    for (int k = 0; k < 6; k++) {
      w->Q[k * w->ld + d] = Q[k];
      w->R[k * w->ld + d] = R[k];
      if (k < 3) w->Sd[k * w->ld + d] = Sd[k];
    }
  }
}

static void terms_of(const tgSim *s, const tgPose *pose, const Work *w, int i, tgReal scale, Terms *T) {
  int b = s->m.dof_body[i];
  const tgReal *S = pose->S + 6 * i, *crb = pose->crb + TG_INERTIA_SIZE * b;
  const Coriolis *B = &w->coriolis[b];
  tgReal x[6], F[6], Q[6], R[6];
  tgi_sp_inertia_mul(T->u, crb, S);
  coriolis_tmul(T->t, B, S);
  for (int k = 0; k < 6; k++) {
    Q[k] = w->Q[k * w->ld + i];
    R[k] = w->R[k * w->ld + i];
    F[k] = s->F[6 * b + k] + (w->X != NULL ? w->X[6 * b + k] : 0);
  }
  tgi_sp_cross_f(T->Z, S, F);
  tgi_sp_inertia_mul(x, crb, Q);
  tgi_sp_add(T->Z, T->Z, x);
  coriolis_mul(x, B, pose->Sd + 6 * i);
  tgi_sp_add(T->Z, T->Z, x);
  tgi_sp_inertia_mul(T->Y, crb, R);
  coriolis_mul(x, B, S);
  tgi_sp_add(T->Y, T->Y, x);
  // X_i . (S_i x S_j) = -S_j . (S_i x* X_i)
  tgi_sp_zero(T->y);
  if (w->X != NULL) tgi_sp_cross_f(T->y, S, w->X + 6 * b);
  for (int k = 0; k < 6; k++) {
    T->u[k] *= scale;
    T->y[k] *= scale;
    T->Z[k] *= scale;
    T->Y[k] *= scale;
    if (k < 3) T->t[k] *= scale;
  }
}

// the first n of four neighbours into a row, of them the first nc into a column
TGI_INLINE void put(const tgVec *row, int n, tgReal *to_row, const tgVec *col, int nc, const int *at, tgReal *to_col) {
  tgReal x[TGI_LANES];
  tgi_vec_put(row, n, to_row);
  if (nc <= 0) return;
  tgi_vec_store(col, x);
  for (int c = 0; c < TGI_LANES && c < nc; c++) to_col[at[c]] = x[c];
}

// entries of dof i with dofs k .. k + 3: of the four, n belong to its row, nc to its column
TGI_INLINE void entries_q(const tgSim *s, const tgPose *pose, const Work *w, const Terms *T, int i, int k, int n,
                          int nc, const tgiPlaces *to, tgReal *D) {
  int ld = w->ld, ls = s->m.nv + 3;
  tgVec row, col;
  tgi_vec_set(&row, 0);
  tgi_vec_set(&col, 0);
  for (int c = 0; c < 6; c++) tgi_vec_add(&row, T->u[c], w->Q + c * ld + k);
  for (int c = 0; c < 3; c++) tgi_vec_add(&row, T->t[c], w->Sd + c * ld + k);
  if (w->X != NULL)
    for (int c = 0; c < 6; c++) tgi_vec_sub(&row, T->y[c], pose->ST + c * ls + k);
  for (int c = 0; c < 6; c++) tgi_vec_add(&col, T->Z[c], pose->ST + c * ls + k);
  put(&row, n, D + to->row[i] + to->q[k], &col, nc, to->row + k, D + to->q[i]);
}

TGI_INLINE void entries_v(const tgSim *s, const tgPose *pose, const Work *w, const Terms *T, int i, int k, int n,
                          int nc, const tgiPlaces *to, tgReal *D) {
  int ld = w->ld, ls = s->m.nv + 3;
  tgVec row, col;
  tgi_vec_set(&row, 0);
  tgi_vec_set(&col, 0);
  for (int c = 0; c < 6; c++) tgi_vec_add(&row, T->u[c], w->R + c * ld + k);
  for (int c = 0; c < 3; c++) tgi_vec_add(&row, T->t[c], pose->ST + c * ls + k);
  for (int c = 0; c < 6; c++) tgi_vec_add(&col, T->Y[c], pose->ST + c * ls + k);
  put(&row, n, D + to->row[i] + to->v[k], &col, nc, to->row + k, D + to->v[i]);
}

// row and column of dof i of both matrices, run by run towards the root
static void entries(const tgSim *s, const tgPose *pose, const Work *w, int i, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv) {
  const tgModel *m = &s->m;
  Terms T;
  terms_of(s, pose, w, i, scale, &T);
  // later members of i's group move its axis too, and no member has a column in the group
  int group = m->dof_grpadr[i], last = group + m->dof_grpnum[i] - 1;
  for (int j = i, end = last; j >= 0;) {
    int lo = m->dof_run[j];
    for (int k = lo; k <= end; k += TGI_LANES) {
      if (Dq != NULL) entries_q(s, pose, w, &T, i, k, end + 1 - k, (group < end + 1 ? group : end + 1) - k, to, Dq);
      if (Dv != NULL && k <= i) entries_v(s, pose, w, &T, i, k, j + 1 - k, (i < j + 1 ? i : j + 1) - k, to, Dv);
    }
    end = j = m->dof_parent[lo];
  }
}

tgStatus TGI_ISA(tgi_inverse_d_into)(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal scale,
                                     const tgiPlaces *to, tgReal *Dq, tgReal *Dv) {
  size_t mark = tgi_stack_mark(s);
  Work w;
  tgReal *tau = tgi_stack_real(s, (size_t)s->m.nv);
  if (!take(s, xfrc, &w) || tau == NULL) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  tgi_inverse(s, pose, a, xfrc, tau);  // A, Ap and F
  composites(s, pose, xfrc, &w);
  dof_terms(s, pose, &w);
  for (int i = 0; i < s->m.nv; i++) entries(s, pose, &w, i, scale, to, Dq, Dv);
  tgi_stack_free(s, mark);
  return TG_OK;
}
