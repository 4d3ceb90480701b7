// jacobian.c: products with the Jacobian of a body, whose column d is S_d for the dofs d on its way to the root.
// See kinematics.h.
#include "kin/kinematics.h"

bool tgi_dof_moves(const tgModel *m, int dof, int body) {
  int d = m->body_lastdof[body];
  while (d > dof) d = m->dof_parent[d];  // dof numbers fall towards the root
  return d == dof;
}

void tgi_add_row(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], tgReal sign, tgReal *row) {
  const tgModel *m = &s->m;
  for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parent[d]) row[d] += sign * tgi_sp_dot(pose->S + 6 * d, screw);
}

void tgi_body_velocity(const tgSim *s, const tgPose *pose, int body, const tgReal *v, tgReal V[6]) {
  const tgModel *m = &s->m;
  tgi_sp_zero(V);
  for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parent[d]) tgi_sp_axpy(V, v[d], pose->S + 6 * d);
}

void tgi_body_velocities(const tgModel *m, const tgPose *pose, const tgReal *v, tgReal *V) {
  tgi_sp_zero(V);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(V + 6 * b, V + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(V + 6 * b, v[d], pose->S + 6 * d);
  }
}

void tgi_add_row_d(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], const tgReal *v, tgReal sign, tgReal *row) {
  const tgModel *m = &s->m;
  tgReal U[6], t[6];  // U = V_body - Vp_j, grown from the body towards the root
  tgi_sp_zero(U);
  for (int d = m->body_lastdof[body]; d >= 0;) {
    int g = m->dof_grpadr[d];
    for (int k = g; k <= d; k++) tgi_sp_axpy(U, v[k], pose->S + 6 * k);
    for (int k = g; k <= d; k++) {
      tgi_sp_cross_m(t, pose->S + 6 * k, U);
      row[k] += sign * tgi_sp_dot(t, screw);
    }
    d = m->dof_parent[g];
  }
}

void tgi_point_jacobian(const tgSim *s, const tgPose *pose, int body, const tgReal p[3], tgReal *J) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  tgReal v[3];
  for (int i = 0; i < 6 * nv; i++) J[i] = 0;
  for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parent[d]) {
    tgi_sp_point_velocity(v, pose->S + 6 * d, p);
    for (int i = 0; i < 3; i++) {
      J[i * nv + d] = pose->S[6 * d + i];
      J[(3 + i) * nv + d] = v[i];
    }
  }
}
