// midpoint_residual.c: what a step's mean velocity is a root of, and its derivatives in poses and velocities. See midpoint.h.
//
// Based on: [math/damped Gradient]. A wrench w that stays as it is gives J' w the derivative (S_k x S_j) . w of row j in dof k, k on the
// way to the root of j or in its group.
#include <string.h>

#include "dyn/dynamics.h"
#include "step/midpoint.h"
#include "step/step.h"

static void add_wrenches(const tgPairTerm *t, tgReal *wrench) {
  tgi_sp_axpy(wrench + 6 * t->body1, 1, t->w);
  tgi_sp_axpy(wrench + 6 * t->body2, 1, t->w + 6);
}

void tgi_midpoint_contact_wrenches(const tgSim *s, tgReal *wrench) {
  for (int i = 0; i < 6 * s->m.nbody; i++) wrench[i] = 0;
  for (int i = 0; i < s->nterm; i++) add_wrenches(&s->term[i], wrench);
}

void tgi_midpoint_bond_wrenches(tgSim *s, tgReal *wrench) {
  for (int i = 0; i < 6 * s->m.nbody; i++) wrench[i] = 0;
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_force(s, tgi_midpoint_forces(s), e, &bond);
    add_wrenches(&bond, wrench);
  }
}

void tgi_midpoint_gather(const tgSim *s, const tgPose *pose, tgReal *wrench, tgReal sign, tgReal *out) {
  const tgModel *m = &s->m;
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * m->body_parent[b], 1, wrench + 6 * b);
  for (int d = 0; d < m->nv; d++) out[d] += sign * tgi_sp_dot(pose->S + 6 * d, wrench + 6 * m->dof_body[d]);
}

tgStatus tgi_midpoint_residual(tgSim *s) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *forces = tgi_midpoint_forces(s);
  size_t mark = tgi_stack_mark(s);
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody), *joints = tgi_stack_real(s, (size_t)m->nv);
  if (wrench == NULL || joints == NULL) return tgi_no_room(s, "equation");
  tgi_inverse(s, tgi_midpoint_inertia(s), own->mean_acc, NULL, own->residual);
  tgi_actuation(s, forces);
  tgi_passive(s, forces);
  for (int d = 0; d < m->nv; d++) {
    s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
    joints[d] = 0;
  }
  tgi_joint_forces(s, forces->q, own->mean_vel, joints);
  for (int d = 0; d < m->nv; d++) own->residual[d] -= s->tau[d] + joints[d];
  tgi_midpoint_contact_wrenches(s, wrench);
  tgi_midpoint_gather(s, tgi_midpoint_middle(s), wrench, -1, own->residual);
  tgi_midpoint_bond_wrenches(s, wrench);
  tgi_midpoint_gather(s, forces, wrench, -1, own->residual);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- derivatives ----

// A matrix of one side of a pair times an axis: out (12) += M[:, side] x
static void mul(const tgReal *M, int side, const tgReal *x, tgReal *out) {
  for (int r = 0; r < 12; r++)
    for (int k = 0; k < 6; k++) out[r] += M[12 * r + 6 * side + k] * x[k];
}

// D[:, d] -= J' dw at the pose
static void add_column(const tgSim *s, const tgPose *pose, const tgPairTerm *t, const tgReal *dw, int d, tgReal *D) {
  const tgModel *m = &s->m;
  for (int side = 0; side < 2; side++)
    for (int i = m->body_lastdof[side == 0 ? t->body1 : t->body2]; i >= 0; i = m->dof_parent[i])
      D[i * m->nv + d] -= tgi_sp_dot(pose->S + 6 * i, dw + 6 * side);
}

// -J(pose)' M dxi, dxi twists of the bodies at the pose `at`
static void add_twists(const tgSim *s, const tgPose *pose, const tgPairTerm *t, const tgReal *M, const tgPose *at, tgReal *D) {
  const tgModel *m = &s->m;
  const int body[2] = {t->body1, t->body2};
  for (int first = 0; first < 2; first++)
    for (int d = m->body_lastdof[body[first]]; d >= 0; d = m->dof_parent[d]) {
      tgReal dw[12] = {0};
      bool both = tgi_dof_moves(m, d, body[1 - first]);
      if (first == 1 && both) continue;   // its column came with the first body
      mul(M, first, at->S + 6 * d, dw);
      if (both) mul(M, 1 - first, at->S + 6 * d, dw);
      add_column(s, pose, t, dw, d, D);
    }
}

// -J' Y dV, velocities changed by a turn of the frames: dV = S_d x (V - Vp_d)
static void add_turned(const tgSim *s, const tgPose *pose, const tgPairTerm *t, tgReal *D) {
  const tgModel *m = &s->m;
  const int body[2] = {t->body1, t->body2};
  for (int first = 0; first < 2; first++)
    for (int d = m->body_lastdof[body[first]]; d >= 0; d = m->dof_parent[d]) {
      tgReal dw[12] = {0}, U[6];
      if (first == 1 && tgi_dof_moves(m, d, body[0])) continue;
      for (int side = first; side < 2; side++) {
        if (side != first && !tgi_dof_moves(m, d, body[side])) continue;
        tgi_sp_sub(U, pose->V + 6 * body[side], pose->Vp + 6 * d);
        tgi_sp_cross_m(U, pose->S + 6 * d, U);
        mul(t->Y, side, U, dw);
      }
      add_column(s, pose, t, dw, d, D);
    }
}

// of -J' w with w held, summed over subtrees
static void add_held(const tgSim *s, const tgPose *pose, const tgReal *wrench, tgReal *D) {
  const tgModel *m = &s->m;
  for (int j = 0; j < m->nv; j++) {
    int group = m->dof_grpadr[j], last = group + m->dof_grpnum[j] - 1;
    for (int k = last; k >= 0; k = m->dof_parent[k]) {
      tgReal turned[6];
      tgi_sp_cross_m(turned, pose->S + 6 * k, pose->S + 6 * j);
      D[j * m->nv + k] -= tgi_sp_dot(turned, wrench + 6 * m->dof_body[j]);
    }
  }
}

static void add_contacts(tgSim *s, tgReal *wrench) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *middle = tgi_midpoint_middle(s);
  unsigned has = s->contact_model->kind->law->has;
  for (int i = 0; i < s->nterm; i++) {
    const tgPairTerm *t = &s->term[i];
    add_twists(s, middle, t, t->X, middle, own->by_middle);
    if (has & TG_LAW_VELOCITY) {
      add_twists(s, middle, t, t->Y, middle, own->by_speed);
      add_turned(s, middle, t, own->by_middle);
    }
    if (!(has & TG_LAW_STEP)) continue;
    add_twists(s, middle, t, t->B, &s->start, own->by_start);
    add_twists(s, middle, t, t->E, &s->end, own->by_end);
  }
  tgi_midpoint_contact_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(s, middle, wrench, own->by_middle);
}

static void add_bonds(tgSim *s, tgReal *wrench, tgReal *by_pose) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *pose = tgi_midpoint_forces(s);
  bool any = false;
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    any = true;
    tgi_bond_force(s, pose, e, &bond);
    add_twists(s, pose, &bond, bond.X, pose, by_pose);
    add_twists(s, pose, &bond, bond.Y, pose, own->by_speed);
    add_turned(s, pose, &bond, by_pose);
  }
  if (!any) return;
  tgi_midpoint_bond_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(s, pose, wrench, by_pose);
}

// inertia: by_speed and by_vel are written, and the matrix of its pose
static tgStatus inertial(tgSim *s) {
  const tgModel *m = &s->m;
  tgiMidpoint *own = tgi_midpoint_own(s);
  size_t nn = (size_t)m->nv * (size_t)m->nv;
  bool symmetric = tgi_midpoint_symmetric(s);
  double by = (1 + tgi_midpoint_reflection(s)) / s->h;
  memset(own->by_start, 0, nn * sizeof(tgReal));
  memset(own->by_middle, 0, nn * sizeof(tgReal));
  memset(own->by_end, 0, nn * sizeof(tgReal));
  TG_TRY(tgi_inverse_d(s, tgi_midpoint_inertia(s), own->mean_acc, NULL, symmetric ? own->by_middle : own->by_start, own->by_speed));
  for (size_t i = 0; i < nn; i++) {
    own->by_vel[i] = symmetric ? 0 : own->by_speed[i] / 2;
    own->by_speed[i] -= own->by_vel[i];
  }
  tgi_block_add(m, by, s->M, own->by_speed);
  tgi_block_add(m, -by, s->M, own->by_vel);
  return TG_OK;
}

void tgi_midpoint_add_blocks(const tgModel *m, const tgReal *R, const tgReal *B, double by, tgReal *out) {
  for (int i = 0; i < m->nv; i++)
    for (int d = 0; d < m->nv; d++) {
      int n = m->dof_grpnum[d] == 3 ? 3 : 1, first = n == 3 ? m->dof_grpadr[d] : d;
      tgReal sum = 0;
      for (int k = 0; k < n; k++) sum += R[i * m->nv + first + k] * B[3 * (first + k) + d - first];
      out[i * m->nv + d] += by * sum;
    }
}

tgStatus tgi_midpoint_derivative(tgSim *s, int *clamps) {
  const tgModel *m = &s->m;
  tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *forces = tgi_midpoint_forces(s);
  tgReal *by_forces = tgi_midpoint_symmetric(s) ? own->by_middle : own->by_end;
  size_t mark = tgi_stack_mark(s), nv = (size_t)m->nv, nn = nv * nv;
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody), *blocks = tgi_stack_real(s, 6 * nv), *w = tgi_stack_real(s, nv);
  if (wrench == NULL || blocks == NULL || w == NULL) return tgi_no_room(s, "equation");
  TG_TRY(inertial(s));
  TG_TRY(tgi_forces_d(s, forces, own->work_q, own->work_v, own->by_input, clamps));
  tgi_joint_forces_d(s, forces->q, own->mean_vel, own->work_q, own->work_v);
  for (size_t i = 0; i < nn; i++) {
    by_forces[i] -= own->work_q[i];
    own->by_speed[i] -= own->work_v[i];
  }
  for (size_t i = 0; i < nv * (size_t)m->nu; i++) own->by_input[i] = -own->by_input[i];
  add_contacts(s, wrench);
  add_bonds(s, wrench, by_forces);
  memcpy(own->step_F, own->by_speed, nn * sizeof(tgReal));
  for (int k = 1; k <= 2; k++) {
    double share = k == 1 ? 0.5 * s->h : s->h;
    for (size_t d = 0; d < nv; d++) w[d] = share * own->mean_vel[d];
    tgi_integrate_blocks(m, w, blocks, blocks + 3 * nv);
    tgi_midpoint_add_blocks(m, k == 1 ? own->by_middle : own->by_end, blocks + 3 * nv, share, own->step_F);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
