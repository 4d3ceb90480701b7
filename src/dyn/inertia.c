// inertia.c: spatial inertias, velocities, mass matrix. See dynamics.h.
//
// Based on: [RBDA 2.13], in world axes at the world origin.
#include <string.h>

#include "dyn/dynamics.h"

void TGI_ISA(tgi_inertias)(tgSim *s, tgPose *pose) {
  const tgModel *m = &s->m;
  for (int b = 0; b < m->nbody; b++) {
    tgReal *I = pose->cinert + TG_INERTIA_SIZE * b;
    if (b == 0)
      for (int i = 0; i < TG_INERTIA_SIZE; i++) I[i] = 0;  // the world does not move
    else
      tgi_sp_inertia(I, m->body_mass[b], pose->xcom + 3 * b, m->body_inertia + 6 * b, pose->xmat + 9 * b);
    for (int i = 0; i < TG_INERTIA_SIZE; i++) pose->crb[TG_INERTIA_SIZE * b + i] = I[i];
  }
  // leaves first: children come after their parents
  for (int b = m->nbody - 1; b > 0; b--)
    for (int i = 0; i < TG_INERTIA_SIZE; i++)
      pose->crb[TG_INERTIA_SIZE * m->body_parent[b] + i] += pose->crb[TG_INERTIA_SIZE * b + i];
}

void TGI_ISA(tgi_velocities)(tgSim *s, tgPose *pose, const tgReal *v) {
  const tgModel *m = &s->m;
  tgi_sp_zero(pose->V);
  for (int b = 1; b < m->nbody; b++) {
    tgReal *V = pose->V + 6 * b;
    tgi_sp_copy(V, pose->V + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) {
      int g = m->dof_grpadr[d];
      tgi_sp_copy(pose->Vp + 6 * d, g == d ? V : pose->Vp + 6 * g);
      tgi_sp_cross_m(pose->Sd + 6 * d, pose->Vp + 6 * d, pose->S + 6 * d);
      tgi_sp_axpy(V, v[d], pose->S + 6 * d);
      pose->vel[d] = v[d];
    }
  }
}

// row j of M as far as the diagonal, and the column that mirrors it: M_ij = S_i . Ic_j S_j for i on the way from j to the root  [RBDA 6.2]
static void mass_row(tgSim *s, const tgPose *pose, int j) {
  const tgModel *m = &s->m;
  int ld = m->nv + 3;
  tgReal f[6], x[TGI_LANES];
  tgi_sp_inertia_mul(f, pose->crb + TG_INERTIA_SIZE * m->dof_body[j], pose->S + 6 * j);
  for (int i = j; i >= 0; i = m->dof_parent[m->dof_run[i]])
    for (int k = m->dof_run[i]; k <= i; k += TGI_LANES) {
      tgVec v;
      tgi_vec_set(&v, 0);
      for (int c = 0; c < 6; c++) tgi_vec_add(&v, f[c], pose->ST + c * ld + k);
      tgi_vec_put(&v, i + 1 - k, s->M + m->dof_block[j] + k);
      tgi_vec_store(&v, x);
      for (int c = 0; c < TGI_LANES && k + c <= i; c++) s->M[m->dof_block[k + c] + j] = x[c];
    }
  *tgi_block_diagonal(m, s->M, j) += m->dof_armature[j];
}

// entries of dofs on different branches are zero from the start and stay so
void TGI_ISA(tgi_mass_matrix)(tgSim *s, const tgPose *pose) {
  for (int j = 0; j < s->m.nv; j++) mass_row(s, pose, j);
}

// the matrix of the step that takes joint dampers and springs at its end; see dynamics.h
void TGI_ISA(tgi_step_matrix)(tgSim *s, tgReal h, bool implicit) {
  const tgModel *m = &s->m;
  memcpy(s->Mh, s->M, (size_t)m->nM * sizeof *s->Mh);
  if (!implicit) return;
  for (int d = 0; d < m->nv; d++) *tgi_block_diagonal(m, s->Mh, d) += h * m->dof_damping[d] + h * h * m->jnt_stiffness[m->dof_jnt[d]];
}
