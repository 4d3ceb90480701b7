// forces_vjp.c: adjoint of actuator and passive forces. See dynamics.h and forces.h.
//
// L = w . (qfrc_actuator + qfrc_passive). Forces on bodies: L_b = W_b . x_b, W_b = sum of S_d w_d. In reverse, with the
// medium's force phi, Phi = dphi/dV, the weight u at c:
//   Vbar_b = Phi_b W_b,   Sbar_d = w_d X_d + v_d Vbar_d  (X, Vbar: sums over what d carries),   dL/dv_d = S_d . Vbar_d,
//   dL/dq_d = S_d . (sum over bodies of -W x* phi - (V - U) x* Vbar + (c x y; y), y = u x W_w, and over dofs of S_k x* Sbar_k).
// It shares the forces themselves and Phi with forces_d.c, not its composites; the two are compared by dot test.
#include <stdio.h>

#include "dyn/forces.h"
#include "dyn/sheet.h"
#include "math/quat.h"

// the force itself: f = clamp((g . x) u + b . x), u the input, x = (1, length, velocity); bar = dL/df
void tgi_actuator_parameters(const tgSim *s, int i, const tgActuatorState *a, tgReal bar, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *g = m->act_gain + 3 * i, x[3] = {1, a->length, a->velocity};
  int side;
  tgReal u = tgi_actuator_input(s, i, &side, NULL), gain = g[0] + g[1] * x[1] + g[2] * x[2];
  if (a->side != 0 && p->act_forcerange != NULL) p->act_forcerange[2 * i + (a->side > 0)] += bar;
  if (a->side != 0) return;
  if (side != 0 && p->act_ctrlrange != NULL) p->act_ctrlrange[2 * i + (side > 0)] += bar * gain;
  for (int k = 0; k < 3; k++) {
    if (p->act_gain != NULL) p->act_gain[3 * i + k] += bar * u * x[k];
    if (p->act_bias != NULL) p->act_bias[3 * i + k] += bar * x[k];
  }
}

// gear: the moment, the length and the velocity; bar = dL/df, w on the dofs as far as their sum is not clamped
static void actuator_gear(const tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, const tgActuatorState *a, tgReal bar,
                          const tgReal *sum, const tgReal *w, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal *out = p->act_gear + 6 * i, length[6], moment;
  bool tendon = m->act_trn[i] == TG_TRN_TENDON;
  bool at_end = tgi_actuator_at_end(s, i, end), midway = at_end && end->from != NULL;
  const tgReal *moves = at_end ? end->v : pose->vel;
  tgReal by_rate = tgi_actuator_by_rate(s, i, end, a), by_way = midway ? tgi_actuator_reach(m, i) * end->h * a->D_length : 0;
  if (!tendon) tgi_actuator_unit_length(m, i, pose->q, length);
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
    int d = tgi_actuator_term(m, i, k, pose->q, &moment, NULL), slot = tendon ? 0 : k;
    // d moment / d gear: the tendon's coefficient, else 1
    tgReal unit = tendon ? m->wrap_coef[m->ten_adr[m->act_target[i]] + k] : 1;
    if (tgi_actuator_sum_side(s, d, end, sum[d], NULL) == 0) out[slot] += unit * a->force * w[d];
    if (midway) out[slot] += 0.5 * bar * unit * (by_rate * (moves[d] + end->from[d]) + by_way * (moves[d] - end->from[d]));
    else out[slot] += bar * by_rate * unit * moves[d];
    if (!tendon) out[slot] += bar * a->D_length * length[k];
  }
  if (tendon) out[0] += bar * a->D_length * pose->ten_length[m->act_target[i]];
}

// one on a site; c: work, nv
static void on_site(tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, const tgActuatorState *a, const tgReal *sum, const tgReal *w,
                    tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, tgReal *c) {
  const tgModel *m = &s->m;
  tgiSitePull x;
  tgReal bar = 0;
  tgi_site_pull(m, pose, i, &x);
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, &x, &t);)
    if (tgi_actuator_sum_side(s, t.dof, end, sum[t.dof], NULL) == 0) bar += t.moment * w[t.dof];
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, &x, &t);) {
    bool counts = tgi_actuator_sum_side(s, t.dof, end, sum[t.dof], NULL) == 0;
    c[t.dof] = (counts ? w[t.dof] * a->force : 0) + bar * a->D_velocity * pose->vel[t.dof];
  }
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, &x, &t);) {
    if (gv != NULL) gv[t.dof] += bar * a->D_velocity * t.moment;
    if (gq != NULL) gq[t.dof] += bar * a->D_length * tgi_site_slope(pose, &x, &t) + tgi_site_rate(m, pose, &x, c, t.dof);
  }
  if (gu != NULL) gu[i] += bar * a->D_input;
  if (p == NULL) return;
  tgi_actuator_parameters(s, i, a, bar, p);
  tgi_site_parameters(m, pose, i, &x, c, bar * a->D_length, p);
}

// one on a spatial tendon; c: work, nv
static void on_strands(tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, const tgActuatorState *a, const tgReal *sum,
                       const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, tgReal *c) {
  const tgModel *m = &s->m;
  int t = m->act_target[i];
  tgReal gear = m->act_gear[6 * i];
  for (int d = 0; d < m->nv; d++) c[d] = tgi_actuator_sum_side(s, d, end, sum[d], NULL) == 0 ? w[d] : 0;
  tgReal along = tgi_strands_rate(s, pose, t, c), bar = gear * along;   // dL/df
  if (gv != NULL) tgi_strands_row(s, pose, t, bar * a->D_velocity * gear, gv);
  if (gq != NULL) tgi_strands_row(s, pose, t, bar * a->D_length * gear, gq);
  for (int d = 0; d < m->nv; d++) c[d] = a->force * c[d] + bar * a->D_velocity * pose->vel[d];
  tgi_strands_vjp(s, pose, t, c, gear, bar * a->D_length * gear, gq, p);
  if (gu != NULL) gu[i] += bar * a->D_input;
  if (p == NULL) return;
  tgi_actuator_parameters(s, i, a, bar, p);
  if (p->act_gear == NULL) return;
  tgReal by_gear = a->D_length * pose->ten_length[t] + a->D_velocity * tgi_strands_rate(s, pose, t, pose->vel);
  p->act_gear[6 * i] += along * a->force + bar * by_gear;
}

static void actuators(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *sum, const tgReal *w, tgReal *gq, tgReal *gv,
                      tgReal *gu, tgParamGrad *p, int *clamps, tgReal *c) {
  const tgModel *m = &s->m;
  for (int d = 0; p != NULL && p->jnt_actfrcrange != NULL && d < m->nv; d++) {
    int side = tgi_actuator_sum_side(s, d, end, sum[d], NULL);
    if (side != 0) p->jnt_actfrcrange[2 * m->dof_jnt[d] + (side > 0)] += w[d];
  }
  for (int i = 0; i < m->nu; i++) {
    tgActuatorState a;
    tgReal bar = 0, moment, slope;
    tgi_actuator_state(s, pose, i, end, &a, clamps);
    if (tgi_on_site(m, i)) {
      on_site(s, pose, i, end, &a, sum, w, gq, gv, gu, p, c);
      continue;
    }
    if (tgi_on_strands(m, i)) {
      on_strands(s, pose, i, end, &a, sum, w, gq, gv, gu, p, c);
      continue;
    }
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, pose->q, &moment, NULL);
      if (tgi_actuator_sum_side(s, d, end, sum[d], NULL) == 0) bar += moment * w[d];
    }
    if (gu != NULL) gu[i] += bar * a.D_input;
    if (p != NULL) tgi_actuator_parameters(s, i, &a, bar, p);
    if (p != NULL && p->act_gear != NULL) actuator_gear(s, pose, i, end, &a, bar, sum, w, p);
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, pose->q, &moment, &slope);
      if (gq != NULL) gq[d] += bar * a.D_length * slope;
      if (gv != NULL) gv[d] += bar * tgi_actuator_by_rate(s, i, end, &a) * moment;
    }
  }
}

// -k (q - rest); of a rotation -k r, r = log(rest^-1 q), which a turn delta of the rest orientation changes by
// -Jl^-1(r) delta = -Jr^-T delta
static void spring_parameters(const tgModel *m, int j, int n, bool turns, const tgReal *q, const tgReal *w, tgParamGrad *p) {
  int a = m->jnt_qadr[j], d = m->jnt_vadr[j];
  tgReal k = m->jnt_stiffness[j], r[3], J[9], t[3];
  for (int i = 0; i < n; i++) {
    if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] -= (q[a + i] - m->qpos_spring[a + i]) * w[d + i];
    if (p->qpos_spring != NULL) p->qpos_spring[a + i] += k * w[d + i];
  }
  if (!turns) return;
  tgi_spring_rotation(m, a + n, q, r);
  if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] -= tgi_v3_dot(r, w + d + n);
  if (p->qpos_spring == NULL || tgZero(k)) return;
  tgi_so3_jr_inv(J, r);
  tgi_m3_mulv(t, J, w + d + n);
  tgi_v3_scale(t, t, k);
  tgi_quat_gradient(m->qpos_spring + a + n, t, p->qpos_spring + a + n);
}

// springs of joints: a rotation's is -k log, whose transposed derivative is -k Jr^-T
static void joint_springs(const tgModel *m, const tgReal *q, const tgReal *w, tgReal *gq, tgParamGrad *p) {
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], type = m->jnt_type[j];
    bool turns = type == TG_JOINT_BALL || type == TG_JOINT_FREE;
    int n = type == TG_JOINT_FREE ? 3 : turns ? 0 : 1;
    tgReal k = m->jnt_stiffness[j], r[3], J[9], t[3];
    if (p != NULL) spring_parameters(m, j, n, turns, q, w, p);
    if (tgZero(k) || gq == NULL) continue;
    for (int i = 0; i < n; i++) gq[d + i] -= k * w[d + i];
    if (!turns) continue;
    tgi_spring_rotation(m, a + n, q, r);
    tgi_so3_jr_inv(J, r);
    tgi_m3_tmulv(t, J, w + d + n);
    tgi_v3_axpy(gq + d + n, -k, t);
  }
}

void tgi_tendon_rest_tie(const tgModel *m, int t, tgReal length, tgParamGrad *p) {
  const tgReal *rest = m->ten_lengthspring + 2 * t;
  char text[90];
  if (p->ten_lengthspring == NULL || tgZero(m->ten_stiffness[t])) return;
  if (tgRe(rest[0]) != tgRe(rest[1]) || tgi_end_tie(length, rest) == 0) return;
  if (p->sided.ties++ > 0) return;
  p->sided.label = TG_GRAD_ONE_SIDED;
  snprintf(p->sided.reason, sizeof p->sided.reason, "at the length at which the spring of %s rests, one end of which moves alone",
           tgi_model_label(m, TG_THING_TENDON, t, text, sizeof text));
}

// f = -k (l - end of the dead band) - damping l'
static void tendon_parameters(const tgSim *s, const tgPose *pose, int t, tgReal slope, tgReal bar, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *rest = m->ten_lengthspring + 2 * t;
  tgReal l = pose->ten_length[t];
  if (p->ten_damping != NULL) p->ten_damping[t] -= bar * tgi_tendon_speed(s, pose, t, pose->vel);
  int side = tgi_tendon_side(m, t, l, NULL);
  tgi_tendon_rest_tie(m, t, l, p);
  if (side == 0) return;
  if (p->ten_stiffness != NULL) p->ten_stiffness[t] -= bar * (l - rest[side > 0]);
  if (p->ten_lengthspring != NULL) p->ten_lengthspring[2 * t + (side > 0)] -= bar * slope;
}

// c: work, nv
static void tendons(const tgSim *s, const tgPose *pose, const tgReal *w, tgReal *gq, tgReal *gv, tgParamGrad *p, int *clamps, tgReal *c) {
  const tgModel *m = &s->m;
  for (int t = 0; t < m->ntendon; t++) {
    tgReal slope, f = tgi_tendon_spring(s, pose, t, &slope, clamps), damping = m->ten_damping[t], bar = tgi_tendon_speed(s, pose, t, w);
    if (p != NULL) tendon_parameters(s, pose, t, slope, bar, p);
    if (gq != NULL) tgi_tendon_row(s, pose, t, slope * bar, gq);
    if (gv != NULL) tgi_tendon_row(s, pose, t, -damping * bar, gv);
    if (!tgi_is_spatial(m, t)) continue;
    f -= damping * tgi_strands_rate(s, pose, t, pose->vel);
    for (int d = 0; d < m->nv; d++) c[d] = f * w[d] - bar * damping * pose->vel[d];
    tgi_strands_vjp(s, pose, t, c, 1, slope * bar, gq, p);
  }
}

typedef struct Sweep { tgReal *W, *X, *Vbar, *K; } Sweep;

// the force -gravcomp m g at the centre of mass c; y: what moving c costs
static void gravcomp_parameters(const tgSim *s, const tgPose *pose, int b, const tgReal *W, const tgReal *y, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal at[3], r[3], g;
  tgi_sp_point_velocity(at, W, pose->xcom + 3 * b);
  g = tgi_v3_dot(m->opt_gravity, at);
  if (p->body_gravcomp != NULL) p->body_gravcomp[b] -= m->body_mass[b] * g;
  if (p->body_mass != NULL) p->body_mass[b] -= m->body_gravcomp[b] * g;
  if (p->opt_gravity != NULL) tgi_v3_axpy(p->opt_gravity, -m->body_gravcomp[b] * m->body_mass[b], at);
  if (p->body_com == NULL) return;
  tgi_m3_tmulv(r, pose->xmat + 9 * b, y);
  tgi_v3_add(p->body_com + 3 * b, p->body_com + 3 * b, r);
}

static void body_terms(const tgSim *s, const tgPose *pose, int b, bool fluid, Sweep *k, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *W = k->W + 6 * b, *c = pose->xcom + 3 * b;
  tgReal *X = k->X + 6 * b, *Vbar = k->Vbar + 6 * b, *K = k->K + 6 * b, phi[6], Phi[36], up[3], y[3], t[6];
  tgi_sp_zero(K);
  tgi_sp_zero(X);
  tgi_sp_zero(Vbar);
  if (fluid) {
    tgi_fluid_force(s, pose, b, phi, Phi);
    tgi_sp_copy(X, phi);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) Vbar[i] += Phi[6 * j + i] * W[j];
    tgi_sp_cross_f(t, W, phi);
    tgi_sp_axpy(K, -1, t);
    tgi_sp_copy(t, pose->V + 6 * b);
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
  if (p == NULL) return;
  tgi_param_pose(p, b, K);
  gravcomp_parameters(s, pose, b, W, y, p);
}

// a force f at the place x of a body with the twist W, where y = W at x: what that body's sums get; gx, gv: gradients in place and velocity
static void vertex_terms(const tgPose *pose, int b, const tgReal *x, const tgReal *f, const tgReal *gx, const tgReal *gv, Sweep *k,
                         tgParamGrad *p) {
  tgReal at[3], t[3], w[6];
  tgi_sp_screw(w, x, f);
  tgi_sp_axpy(k->X + 6 * b, 1, w);
  tgi_sp_screw(w, x, gv);
  tgi_sp_axpy(k->Vbar + 6 * b, 1, w);
  tgi_v3_cross(t, f, k->W + 6 * b);
  tgi_v3_add(at, gx, t);
  tgi_v3_cross(t, gv, pose->V + 6 * b);
  tgi_v3_add(at, at, t);
  tgi_sp_screw(w, x, at);
  tgi_sp_axpy(k->K + 6 * b, 1, w);
  if (p != NULL) tgi_param_pose(p, b, w);
}

static void sheet_terms(const tgSim *s, const tgPose *pose, Sweep *k, tgParamGrad *p) {
  for (tgiPatch patch = tgi_no_patch; tgi_next_patch(s, pose, &patch);) {
    tgReal y[12], f[12], gx[12], gv[12];
    for (int i = 0; i < patch.n; i++)
      tgi_sp_point_velocity(y + 3 * i, k->W + 6 * s->m.flex_vertbody[patch.vert[i]], patch.x + 3 * i);
    tgi_patch_force(s, &patch, f);
    tgi_patch_vjp(s, &patch, y, gx, gv, p);
    for (int i = 0; i < patch.n; i++)
      if (s->m.flex_vertbody[patch.vert[i]] > 0)
        vertex_terms(pose, s->m.flex_vertbody[patch.vert[i]], patch.x + 3 * i, f + 3 * i, gx + 3 * i, gv + 3 * i, k, p);
  }
}

// reverses the dofs of body b from the last group to the first
static void reverse_body(const tgSim *s, const tgPose *pose, int b, const tgReal *w, Sweep *k, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal *X = k->X + 6 * b, *Vbar = k->Vbar + 6 * b, *K = k->K + 6 * b, bar[6], t[6];
  if (m->body_dofnum[b] == 0) return;
  for (int last = m->body_dofadr[b] + m->body_dofnum[b] - 1; last >= m->body_dofadr[b];) {
    int g = m->dof_grpadr[last];
    for (int d = g; d <= last; d++) {
      for (int i = 0; i < 6; i++) bar[i] = w[d] * X[i] + pose->vel[d] * Vbar[i];
      if (p != NULL) tgi_param_axis(p, d, bar);
      tgi_sp_cross_f(t, pose->S + 6 * d, bar);
      tgi_sp_axpy(K, 1, t);
    }
    for (int d = g; d <= last; d++) {
      if (gq != NULL) gq[d] += tgi_sp_dot(pose->S + 6 * d, K);
      if (gv != NULL) gv[d] += tgi_sp_dot(pose->S + 6 * d, Vbar);
    }
    last = g - 1;
  }
}

static tgStatus body_forces(tgSim *s, const tgPose *pose, const tgReal *w, bool fluid, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  size_t n = (size_t)m->nbody * 6;
  Sweep k = {tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n)};
  if (k.W == NULL || k.X == NULL || k.Vbar == NULL || k.K == NULL) return TG_ERR_CAPACITY;
  if (fluid) tgi_fluid_boxes(s);
  tgi_sp_zero(k.W);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(k.W + 6 * b, k.W + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(k.W + 6 * b, w[d], pose->S + 6 * d);
    body_terms(s, pose, b, fluid, &k, p);
  }
  sheet_terms(s, pose, &k, p);
  for (int b = m->nbody - 1; b > 0; b--) {
    int parent = m->body_parent[b];
    reverse_body(s, pose, b, w, &k, gq, gv, p);
    if (parent == 0) continue;
    tgi_sp_axpy(k.X + 6 * parent, 1, k.X + 6 * b);
    tgi_sp_axpy(k.Vbar + 6 * parent, 1, k.Vbar + 6 * b);
    tgi_sp_axpy(k.K + 6 * parent, 1, k.K + 6 * b);
  }
  return TG_OK;
}

static tgStatus forces_vjp(tgSim *s, const tgPose *pose, int parts, const tgStepEnd *end, const tgReal *w, tgReal *gq, tgReal *gv,
                           tgReal *gu, tgParamGrad *p, int *clamps) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  bool fluid = tgi_has_fluid(m);
  bool actuation = parts & TGI_ACTUATION, passive = parts & TGI_PASSIVE;
  if (passive && fluid && p != NULL && (p->body_mass != NULL || p->body_inertia != NULL || p->body_com != NULL))
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                     "Parameters body_mass, body_com and body_inertia have no derivative while a medium acts "
                     "(opt_density, opt_viscosity): choose the others by name.");
  tgStatus status = TG_OK;
  tgReal *sum = tgi_stack_real(s, (size_t)m->nv), *work = tgi_stack_real(s, (size_t)m->nv);
  if (sum == NULL || work == NULL) return TG_ERR_CAPACITY;
  // gravity compensation that is off still has a derivative in its fraction
  bool wanted = p != NULL && p->body_gravcomp != NULL;
  if (passive && (fluid || tgi_has_gravcomp(m) || tgi_has_sheet(m) || wanted)) status = body_forces(s, pose, w, fluid, gq, gv, p);
  if (status == TG_OK && actuation) {
    tgi_actuator_sum(s, pose, end, sum);
    for (int d = 0; d < m->nv; d++) tgi_actuator_sum_side(s, d, end, sum[d], clamps);
    actuators(s, pose, end, sum, w, gq, gv, gu, p, clamps, work);
  }
  if (status == TG_OK && passive) {
    joint_springs(m, pose->q, w, gq, p);
    for (int d = 0; gv != NULL && d < m->nv; d++) gv[d] -= m->dof_damping[d] * w[d];
    for (int d = 0; p != NULL && p->dof_damping != NULL && d < m->nv; d++) p->dof_damping[d] -= pose->vel[d] * w[d];
    tendons(s, pose, w, gq, gv, p, clamps, work);
  }
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_forces_vjp(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu,
                        tgParamGrad *p, int *clamps) {
  return forces_vjp(s, pose, TGI_ACTUATION | TGI_PASSIVE, end, w, gq, gv, gu, p, clamps);
}

tgStatus tgi_actuation_vjp(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu,
                           tgParamGrad *p, int *clamps) {
  return forces_vjp(s, pose, TGI_ACTUATION, end, w, gq, gv, gu, p, clamps);
}

tgStatus tgi_passive_vjp(tgSim *s, const tgPose *pose, const tgReal *w, tgReal *gq, tgReal *gv, tgParamGrad *p, int *clamps) {
  return forces_vjp(s, pose, TGI_PASSIVE, NULL, w, gq, gv, NULL, p, clamps);
}
