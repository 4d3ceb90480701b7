// forces_vjp.c: adjoint of actuator and passive forces. See dynamics.h and forces.h.
//
// L = w . (qfrc_actuator + qfrc_passive). Forces on bodies: L_b = W_b . x_b, W_b = sum of S_d w_d. In reverse, with the
// medium's force phi, Phi = dphi/dV, the weight u at c:
//   Vbar_b = Phi_b W_b,   Sbar_d = w_d X_d + v_d Vbar_d  (X, Vbar: sums over what d carries),   dL/dv_d = S_d . Vbar_d,
//   dL/dq_d = S_d . (sum over bodies of -W x* phi - (V - U) x* Vbar + (c x y; y), y = u x W_w, and over dofs of S_k x* Sbar_k).
// It shares the forces themselves and Phi with forces_d.c, not its composites; the two are compared by dot test.
#include "dyn/forces.h"

#include "math/quat.h"

static void actuators(tgSim *s, const tgReal *q, const tgReal *v, const tgReal *sum, const tgReal *w, tgReal *gq, tgReal *gv,
                      tgReal *gu, int *ties) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++) {
    tgActuatorState a;
    tgReal bar = 0, moment, slope;
    tgi_actuator_state(s, i, q, v, &a, ties);
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, q, &moment, NULL);
      if (!tgi_actuator_sum_clamped(m, d, sum[d], NULL)) bar += moment * w[d];
    }
    if (gu != NULL) gu[i] += bar * a.D_ctrl;
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, q, &moment, &slope);
      if (gq != NULL) gq[d] += bar * a.D_length * slope;
      if (gv != NULL) gv[d] += bar * a.D_velocity * moment;
    }
  }
}

// springs of joints: a rotation's is -k log, whose transposed derivative is -k Jr^-T
static void joint_springs(const tgModel *m, const tgReal *q, const tgReal *w, tgReal *gq) {
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], type = m->jnt_type[j];
    bool turns = type == TG_JOINT_BALL || type == TG_JOINT_FREE;
    int n = type == TG_JOINT_FREE ? 3 : turns ? 0 : 1;
    tgReal k = m->jnt_stiffness[j], r[3], J[9], t[3];
    if (tgRe(k) == 0) continue;
    for (int i = 0; i < n; i++) gq[d + i] -= k * w[d + i];
    if (!turns) continue;
    tgi_spring_rotation(m, a + n, q, r);
    tgi_so3_jr_inv(J, r);
    tgi_m3_tmulv(t, J, w + d + n);
    tgi_v3_axpy(gq + d + n, -k, t);
  }
}

static void tendons(const tgSim *s, const tgReal *w, tgReal *gq, tgReal *gv, int *ties) {
  const tgModel *m = &s->m;
  for (int t = 0; t < m->ntendon; t++) {
    tgReal slope, bar = 0;
    int end = m->ten_adr[t] + m->ten_num[t];
    tgi_tendon_spring(s, t, &slope, ties);
    for (int x = m->ten_adr[t]; x < end; x++) bar += m->wrap_coef[x] * w[m->jnt_vadr[m->wrap_jnt[x]]];
    for (int x = m->ten_adr[t]; x < end; x++) {
      int d = m->jnt_vadr[m->wrap_jnt[x]];
      if (gq != NULL) gq[d] += slope * bar * m->wrap_coef[x];
      if (gv != NULL) gv[d] -= m->ten_damping[t] * bar * m->wrap_coef[x];
    }
  }
}

typedef struct Sweep { tgReal *W, *X, *Vbar, *K; } Sweep;

static void body_terms(const tgSim *s, int b, bool fluid, Sweep *k) {
  const tgModel *m = &s->m;
  const tgReal *W = k->W + 6 * b, *c = s->xcom + 3 * b;
  tgReal *X = k->X + 6 * b, *Vbar = k->Vbar + 6 * b, *K = k->K + 6 * b, phi[6], Phi[36], up[3], y[3], t[6];
  tgi_sp_zero(K);
  tgi_sp_zero(X);
  tgi_sp_zero(Vbar);
  if (fluid) {
    tgi_fluid_force(s, b, phi, Phi);
    tgi_sp_copy(X, phi);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) Vbar[i] += Phi[6 * j + i] * W[j];
    tgi_sp_cross_f(t, W, phi);
    tgi_sp_axpy(K, -1, t);
    tgi_sp_copy(t, s->V + 6 * b);
    tgi_v3_sub(t + 3, t + 3, m->opt_wind);
    tgi_sp_cross_f(t, t, Vbar);
    tgi_sp_axpy(K, -1, t);
  }
  tgi_v3_scale(up, m->opt_gravity, -m->body_gravcomp[b] * m->body_mass[b]);
  tgi_sp_screw(t, c, up);
  tgi_sp_add(X, X, t);
  tgi_v3_cross(y, up, W);
  tgi_sp_screw(t, c, y);
  tgi_sp_axpy(K, 1, t);
}

// reverses the dofs of body b from the last group to the first
static void reverse_body(const tgSim *s, int b, const tgReal *w, Sweep *k, tgReal *gq, tgReal *gv) {
  const tgModel *m = &s->m;
  tgReal *X = k->X + 6 * b, *Vbar = k->Vbar + 6 * b, *K = k->K + 6 * b, bar[6], t[6];
  if (m->body_dofnum[b] == 0) return;
  for (int last = m->body_dofadr[b] + m->body_dofnum[b] - 1; last >= m->body_dofadr[b];) {
    int g = m->dof_grpadr[last];
    for (int d = g; d <= last; d++) {
      for (int i = 0; i < 6; i++) bar[i] = w[d] * X[i] + s->vel[d] * Vbar[i];
      tgi_sp_cross_f(t, s->S + 6 * d, bar);
      tgi_sp_axpy(K, 1, t);
    }
    for (int d = g; d <= last; d++) {
      if (gq != NULL) gq[d] += tgi_sp_dot(s->S + 6 * d, K);
      if (gv != NULL) gv[d] += tgi_sp_dot(s->S + 6 * d, Vbar);
    }
    last = g - 1;
  }
}

static tgStatus body_forces(tgSim *s, const tgReal *w, bool fluid, tgReal *gq, tgReal *gv) {
  const tgModel *m = &s->m;
  size_t n = (size_t)m->nbody * 6;
  Sweep k = {tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n)};
  if (k.W == NULL || k.X == NULL || k.Vbar == NULL || k.K == NULL) return TG_ERR_CAPACITY;
  if (fluid) tgi_fluid_boxes(s);
  tgi_sp_zero(k.W);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(k.W + 6 * b, k.W + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(k.W + 6 * b, w[d], s->S + 6 * d);
    body_terms(s, b, fluid, &k);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int p = m->body_parent[b];
    reverse_body(s, b, w, &k, gq, gv);
    if (p == 0) continue;
    tgi_sp_axpy(k.X + 6 * p, 1, k.X + 6 * b);
    tgi_sp_axpy(k.Vbar + 6 * p, 1, k.Vbar + 6 * b);
    tgi_sp_axpy(k.K + 6 * p, 1, k.K + 6 * b);
  }
  return TG_OK;
}

tgStatus tgi_forces_vjp(tgSim *s, const tgReal *q, const tgReal *v, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu, int *ties) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  bool fluid = tgi_has_fluid(m);
  tgStatus status = TG_OK;
  tgReal *sum = tgi_stack_real(s, (size_t)m->nv);
  if (sum == NULL) return TG_ERR_CAPACITY;
  if (fluid || tgi_has_gravcomp(m)) status = body_forces(s, w, fluid, gq, gv);
  if (status == TG_OK) {
    tgi_actuator_sum(s, q, v, sum);
    for (int d = 0; d < m->nv; d++) tgi_actuator_sum_clamped(m, d, sum[d], ties);
    actuators(s, q, v, sum, w, gq, gv, gu, ties);
    if (gq != NULL) joint_springs(m, q, w, gq);
    for (int d = 0; gv != NULL && d < m->nv; d++) gv[d] -= m->dof_damping[d] * w[d];
    tendons(s, w, gq, gv, ties);
  }
  tgi_stack_free(s, mark);
  return status;
}
