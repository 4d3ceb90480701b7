// energy_jacobian.c: what the gradient of J changes by with the state at the start of the step and the controls, dense.
// See joint.h. Shares no derivative code with energy_start.c.
//
// Based on: [math/joints Start]: -Jr^-T J_delta,delta Jr^-T and the turn of Jr^-T; armature's part in v; of lines y and
// the length at q move with q, the force with u.
#include "joint/joint.h"
#include "math/quat.h"

static void dofs(const tgSim *s, const tgiJointTerms *t, int nc, tgReal *B) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    if (m->dof_grpnum[d] == 3) continue;
    B[d * nc + d] -= t->curve[d];
    B[d * nc + m->nv + d] -= m->dof_armature[d] / t->h;
  }
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9], e[3], N[3];
    if (d < 0) continue;
    tgi_so3_jr_inv(J, t->delta + d);
    for (int r = 0; r < 3; r++) {
      for (int i = 0; i < 3; i++) e[i] = i == r;
      tgi_so3_jr_inv_d(N, t->delta + d, t->slope + d, e);
      for (int i = 0; i < 3; i++) N[i] += J[3 * i + r] * t->curve[d + i];
      for (int c = 0; c < 3; c++) {
        B[(d + r) * nc + d + c] -= tgi_v3_dot(N, J + 3 * c);
        B[(d + r) * nc + m->nv + d + c] -= J[3 * c + r] * m->dof_armature[d + c] / t->h;
      }
    }
  }
}

// what line i's slope has by q0, as tangents of its dofs
static void by_start(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, tgReal *by, tgReal *slope) {
  const tgModel *m = &s->m;
  int adr, turn = i < m->nu && m->act_trn[i] != TG_TRN_TENDON ? tgi_rotation_dof(m, m->act_target[i], &adr) : -1;
  for (int k = 0; k < l->n; k++) by[k] = -l->curve * t->coef[k];
  if (turn >= 0) {
    tgReal J[9], x[3];
    tgi_so3_jr_inv(J, t->delta + turn);
    tgi_v3_copy(x, by + l->n - 3);
    tgi_m3_mulv(by + l->n - 3, J, x);
  }
  tgi_line_start(s, i, l, t, slope);
  for (int k = 0; k < l->n; k++) by[k] += l->by_start * slope[k];
}

static void line(const tgSim *s, const tgPose *pose, int i, tgiJointTerms *t, int nc, tgReal *by, tgReal *slope, tgReal *B, int *clamps) {
  const tgModel *m = &s->m;
  tgiLine l = tgi_line(s, pose, i, t);
  int tendon = i - m->nu;
  tgReal lever;
  if (l.n == 0) return;
  by_start(s, i, &l, t, by, slope);
  if (tendon >= 0 && tendon < m->ntendon && !tgZero(m->ten_stiffness[tendon])) tgi_tendon_side(m, tendon, pose->ten_length[tendon], clamps);
  tgi_line_sum_side(s, i, &l, t, clamps);
  tgi_line_tangent(s, i, l.n, t);
  for (int r = 0; r < l.n; r++)
    for (int c = 0; c < l.n; c++) B[t->dof[r] * nc + t->dof[c]] += t->coef[r] * by[c];
  for (int k = tgi_line_motor(m, i, -1, &lever); k >= 0; k = tgi_line_motor(m, i, k, &lever)) {
    tgActuatorState a;
    tgi_line_motor_state(s, i, k, lever, &l, t, &a, clamps);
    for (int r = 0; r < l.n; r++) B[t->dof[r] * nc + 2 * m->nv + k] -= t->coef[r] * lever * a.D_input;
  }
}

tgStatus tgi_joint_start_jacobian(tgSim *s, const tgPose *pose, tgiJointTerms *t, int nc, tgReal *B, int *clamps) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), room = (size_t)tgi_line_room(m);
  tgReal *by = tgi_stack_real(s, room), *slope = tgi_stack_real(s, room);
  if (by == NULL || slope == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
  dofs(s, t, nc, B);
  for (int i = 0; i < tgi_line_count(m); i++) line(s, pose, i, t, nc, by, slope, B, clamps);
  tgi_stack_free(s, mark);
  return TG_OK;
}
