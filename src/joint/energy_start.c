// energy_start.c: what the gradient of J changes by with the state at the start of the step and the controls, as an
// adjoint. See joint.h. Shares no derivative code with energy_jacobian.c.
//
// Based on: [math/joints Start]. With z against the gradient in tangents at q' and zeta = Jr^-1 z against its slopes in delta:
//   t = J_delta,delta zeta + (d Jr^-1)' .., dq = -Jr^-1 t; and what hangs on v (armature), on u and on the lengths at q apart.
#include "joint/joint.h"
#include "math/quat.h"

static tgReal along(const tgiLine *l, const tgiJointTerms *t, const tgReal *x) {
  tgReal sum = 0;
  for (int k = 0; k < l->n; k++) sum += t->coef[k] * x[t->dof[k]];
  return sum;
}

static void controls(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, tgReal zeta, tgReal *du, int *clamps) {
  tgReal lever;
  for (int k = tgi_line_motor(&s->m, i, -1, &lever); k >= 0; k = tgi_line_motor(&s->m, i, k, &lever)) {
    tgActuatorState a;
    tgi_line_motor_state(s, i, k, lever, l, t, &a, clamps);
    if (du != NULL) du[k] -= zeta * lever * a.D_input;
  }
  tgi_line_sum_side(s, i, l, t, clamps);
}

// lines: their curvature into t, what hangs on l0 into aq, on the control into du
static tgStatus lines(tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgReal *zeta, tgReal *work, tgReal *aq,
                      tgReal *du, int *clamps) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *slope = tgi_stack_real(s, (size_t)tgi_line_room(m));
  if (slope == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, t);
    tgReal bar = along(&l, t, zeta);
    if (l.n == 0) continue;
    for (int k = 0; k < l.n; k++) work[t->dof[k]] += l.curve * bar * t->coef[k];
    tgi_line_start(s, i, &l, t, slope);
    for (int k = 0; k < l.n; k++) aq[t->dof[k]] += l.by_start * bar * slope[k];
    int tendon = i - m->nu;
    if (tendon >= 0 && tendon < m->ntendon && !tgZero(m->ten_stiffness[tendon]))
      tgi_tendon_side(m, tendon, pose->ten_length[tendon], clamps);
    controls(s, i, &l, t, bar, du, clamps);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_joint_start_vjp(tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgReal *z, const tgReal *zeta,
                             tgReal *work, tgReal *aq, tgReal *av, tgReal *du, int *clamps) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    work[d] = t->curve[d] * zeta[d];
    av[d] -= m->dof_armature[d] / t->h * zeta[d];
  }
  TG_TRY(lines(s, pose, t, zeta, work, aq, du, clamps));
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal N[3];
    if (d < 0) continue;
    tgi_so3_jr_inv_d(N, t->delta + d, t->slope + d, z + d);
    tgi_v3_add(work + d, work + d, N);
  }
  tgi_joint_rotate(m, t->delta, work, false, work);
  for (int d = 0; d < m->nv; d++) aq[d] -= work[d];
  return TG_OK;
}
