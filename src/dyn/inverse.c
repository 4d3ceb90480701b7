// inverse.c: inverse dynamics and bias forces by the recursive Newton-Euler algorithm. See dynamics.h.
//
// Based on: [RBDA 5.3], in world axes: A_i = A_parent + sum S_d a_d + (Vp_d x S_d) v_d, A_0 = (0; -gravity),
//   f_i = I_i A_i + V_i x* I_i V_i - x_i,  F_i = f_i + sum of children's,  tau_d = S_d . F_body(d).
// (Vp x S) v summed over a rotation group is the exact rate: its axes turn with the body, and the part V_rel x V_rel is 0.
#include "dyn/dynamics.h"

static void accelerations(tgSim *s, const tgPose *pose, const tgReal *v, const tgReal *a) {
  const tgModel *m = &s->m;
  for (int i = 0; i < 3; i++) {
    s->A[i] = 0;
    s->A[3 + i] = -m->opt_gravity[i];
  }
  for (int b = 1; b < m->nbody; b++) {
    tgReal *A = s->A + 6 * b;
    tgi_sp_copy(A, s->A + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) {
      int g = m->dof_grpadr[d];
      tgi_sp_copy(s->Ap + 6 * d, g == d ? A : s->Ap + 6 * g);
      if (a != NULL) tgi_sp_axpy(A, a[d], pose->S + 6 * d);
      tgi_sp_axpy(A, v[d], pose->Sd + 6 * d);
    }
  }
}

// a NULL: zero
static void newton_euler(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal *tau) {
  const tgModel *m = &s->m;
  accelerations(s, pose, pose->vel, a);
  tgi_sp_zero(s->F);
  for (int b = 1; b < m->nbody; b++) {
    const tgReal *I = pose->cinert + TG_INERTIA_SIZE * b;
    tgReal *F = s->F + 6 * b, p[6];
    tgi_sp_inertia_mul(p, I, pose->V + 6 * b);
    tgi_sp_cross_f(p, pose->V + 6 * b, p);
    tgi_sp_inertia_mul(F, I, s->A + 6 * b);
    tgi_sp_add(F, F, p);
    if (xfrc != NULL) tgi_sp_sub(F, F, xfrc + 6 * b);
  }
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(s->F + 6 * m->body_parent[b], 1, s->F + 6 * b);
  for (int d = 0; d < m->nv; d++) {
    tau[d] = tgi_sp_dot(pose->S + 6 * d, s->F + 6 * m->dof_body[d]);
    if (a != NULL) tau[d] += m->dof_armature[d] * a[d];
  }
}

void TGI_ISA(tgi_bias)(tgSim *s, const tgPose *pose) { newton_euler(s, pose, NULL, NULL, s->bias); }

void TGI_ISA(tgi_inverse)(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal *tau) {
  newton_euler(s, pose, a, xfrc, tau);
}
