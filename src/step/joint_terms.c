// joint_terms.c: energies of joints, actuators and tendons in the objective of a step; see objective.h.
//
// Based on: [math/barrier Step]. Of delta = q (-) q0, which for a rotation is log(R0' R), with y = moment . delta of an actuator or a tendon:
//   damper D delta^2/(2 h), armature a (delta - h v0)^2/(2 h^2), dry friction h f sqrt((delta/h)^2 + eps^2), applied force -f delta,
//   actuator -(a0 + a1 l0) y - (a1 + a2/h) y^2/2, force a0 + a1 l + a2 l' at the end of the step (a_k = gain_k u + bias_k; l = l0 + y, exact
//   but for balls), tendon k (l - rest)^2/2 + D y^2/(2 h) + its dry friction. Of q alone: springs k |q - rest|^2/2, for a rotation
//   k |log(rest^-1 q)|^2/2, and limits mu b(gap/width).
// For a rotation w = log(..): dw = Jr^-1(w) d(tangent), so the gradient of phi(w) is Jr^-T p.
#include "step/objective.h"

#include "dyn/forces.h"
#include "math/quat.h"

int tgi_line_room(const tgModel *m) {
  int most = 6;
  for (int t = 0; t < m->ntendon; t++) most = m->ten_num[t] > most ? m->ten_num[t] : most;
  return most;
}

tgReal tgi_actuator_affine(const tgSim *s, int i, tgReal a[3]) {
  const tgModel *m = &s->m;
  const tgReal *range = m->act_ctrlrange + 2 * i;
  tgReal u = s->ctrl[i];
  if (m->act_ctrllimited[i]) u = tgMin(tgMax(u, range[0]), range[1]);
  for (int k = 0; k < 3; k++) a[k] = m->act_gain[3 * i + k] * u + m->act_bias[3 * i + k];
  return u;
}

tgReal tgi_actuator_start(const tgSim *s, int i) {
  const tgModel *m = &s->m;
  const tgReal *gear = m->act_gear + 6 * i;
  tgReal length[6], sum = 0;
  int t = m->act_target[i];
  if (m->act_trn[i] == TG_TRN_TENDON) {
    for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) sum += m->wrap_coef[w] * s->q0[m->jnt_qadr[m->wrap_jnt[w]]];
    return gear[0] * sum;
  }
  tgi_actuator_unit_length(m, i, s->q0, length);
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) sum += gear[k] * length[k];
  return sum;
}

// h f sqrt((y/h)^2 + eps^2): value, slope, curvature added
static void dry_friction(const tgSim *s, double h, tgReal f, tgReal y, tgReal *energy, tgReal *slope, tgReal *curve) {
  if (tgZero(f)) return;
  tgReal eps = TG_NUMBER(s, slip_speed);
  tgReal r = tgSqrt(y * y / (h * h) + eps * eps);
  *energy += h * f * r;
  *slope += f * y / (h * r);
  *curve += f * eps * eps / (h * r * r * r);
}

static tgiLine tendon_line(const tgSim *s, const tgPose *pose, int t, tgiObjective *o) {
  const tgModel *m = &s->m;
  tgiLine l = {.n = m->ten_num[t]};
  tgReal k = m->ten_stiffness[t], D = m->ten_damping[t], length = pose->ten_length[t];
  for (int w = 0; w < l.n; w++) {
    o->coef[w] = m->wrap_coef[m->ten_adr[t] + w];
    o->dof[w] = m->jnt_vadr[m->wrap_jnt[m->ten_adr[t] + w]];
    l.y += o->coef[w] * o->delta[o->dof[w]];
  }
  l.energy = D * l.y * l.y / (2 * o->h);
  l.slope = D * l.y / o->h;
  l.curve = D / o->h;
  dry_friction(s, o->h, m->ten_frictionloss[t], l.y, &l.energy, &l.slope, &l.curve);
  int side = tgZero(k) ? 0 : tgi_tendon_side(m, t, length, NULL);
  if (side == 0) return l;
  tgReal stretch = length - m->ten_lengthspring[2 * t + (side > 0)];
  l.energy += k * stretch * stretch / 2;
  l.slope += k * stretch;
  l.curve += k;
  l.by_start = k;
  return l;
}

tgiLine tgi_line(const tgSim *s, const tgPose *pose, int i, tgiObjective *o) {
  const tgModel *m = &s->m;
  if (i >= m->nu) return tendon_line(s, pose, i - m->nu, o);
  tgiLine l = {.n = tgi_actuator_terms(m, i)};
  tgReal a[3], force, stiffness;
  for (int k = 0; k < l.n; k++) {
    o->dof[k] = tgi_actuator_term(m, i, k, s->q0, &o->coef[k], NULL);
    l.y += o->coef[k] * o->delta[o->dof[k]];
  }
  tgi_actuator_affine(s, i, a);
  force = a[0] + a[1] * tgi_actuator_start(s, i);
  stiffness = -(a[1] + a[2] / o->h);
  l.energy = -force * l.y + stiffness * l.y * l.y / 2;
  l.slope = -force + stiffness * l.y;
  l.curve = stiffness;
  l.by_start = -a[1];
  return l;
}

void tgi_line_start(const tgSim *s, int i, const tgiLine *l, const tgiObjective *o, tgReal *slope) {
  tgReal moment;
  for (int k = 0; k < l->n; k++)
    if (i < s->m.nu) tgi_actuator_term(&s->m, i, k, s->q0, &moment, &slope[k]);
    else slope[k] = o->coef[k];
}

int tgi_rotation_dof(const tgModel *m, int j, int *adr) {
  int lead = m->jnt_type[j] == TG_JOINT_FREE ? 3 : 0;
  if (m->jnt_type[j] != TG_JOINT_FREE && m->jnt_type[j] != TG_JOINT_BALL) return -1;
  *adr = m->jnt_qadr[j] + lead;
  return m->jnt_vadr[j] + lead;
}

void tgi_line_tangent(const tgSim *s, int i, const tgiObjective *o, int n, tgReal *coef) {
  const tgModel *m = &s->m;
  int adr, d = i < m->nu && m->act_trn[i] != TG_TRN_TENDON ? tgi_rotation_dof(m, m->act_target[i], &adr) : -1;
  if (d < 0) return;
  tgReal J[9], c[3];
  tgi_so3_jr_inv(J, o->delta + d);
  tgi_v3_copy(c, coef + n - 3);
  tgi_m3_tmulv(coef + n - 3, J, c);
}

void tgi_rotation_terms(const tgReal *w, const tgReal *p, const tgReal *P, tgReal *g, tgReal *H) {
  tgReal J[9], t[9], X[9], e[3], N[3];
  tgi_so3_jr_inv(J, w);
  if (g != NULL) {
    tgi_m3_tmulv(e, J, p);
    tgi_v3_add(g, g, e);
  }
  if (H == NULL) return;
  tgi_m3_mul(t, P, J);
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < 3; i++) e[i] = i == c;
    tgi_so3_jr_inv_d(N, w, p, e);
    for (int i = 0; i < 3; i++) N[i] += t[3 * i + c];
    tgi_m3_tmulv(e, J, N);
    for (int r = 0; r < 3; r++) X[3 * r + c] = e[r];
  }
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) H[3 * r + c] += (X[3 * r + c] + X[3 * c + r]) / 2;
}

void tgi_limit_barrier(tgReal x, tgReal b[3]) {
  b[0] = b[1] = b[2] = 0;
  if (tgRe(x) >= 1) return;
  tgReal l = tgLog(x), y = x - 1;
  b[0] = -y * y * l / x;
  b[1] = -2 * y * l / x + (l - 1) * y * y / (x * x);
  b[2] = 4 * (l - 1) * y / (x * x) - 2 * l * (y * y / (x * x * x) + 1 / x) + 3 * y * y / (x * x * x);
}

bool tgi_limit(const tgSim *s, int j, int side, const tgReal *q, tgReal *gap, tgReal *width) {
  const tgModel *m = &s->m;
  const tgReal *range = m->jnt_range + 2 * j;
  bool turns = m->jnt_type[j] == TG_JOINT_BALL;
  if (!m->jnt_limited[j] || m->jnt_type[j] == TG_JOINT_FREE || !isfinite(tgRe(range[side]))) return false;
  if (turns && (side == 0 || tgRe(range[1]) >= TG_PI)) return false;
  tgReal span = turns ? range[1] : range[1] - range[0];
  *width = TG_NUMBER(s, limit_range) * (isfinite(tgRe(span)) ? span : 1);
  tgReal x = q[m->jnt_qadr[j]];
  if (turns) {
    tgReal r[4], w[3];
    for (int i = 0; i < 4; i++) r[i] = q[m->jnt_qadr[j] + i];
    tgi_quat_normalize(r);
    tgi_quat_log(w, r);
    // inside the width of the limit the angle is not 0, where it has no derivative
    x = tgRe(tgi_v3_dot(w, w)) > 0 ? tgi_v3_norm(w) : 0;
  }
  *gap = side == 0 ? x - range[0] : range[1] - x;
  return true;
}

// mu b(gap/width) of joint j, whose derivative by its coordinate (a ball: its angle) has the sign of side
static bool limit_terms(const tgSim *s, int j, int side, const tgReal *q, tgReal out[3]) {
  tgReal gap, width;
  tgReal mu = TG_NUMBER(s, mu);
  double sign = side == 0 ? 1 : -1;
  if (!tgi_limit(s, j, side, q, &gap, &width)) return false;
  if (!(tgRe(gap) > 0)) {
    out[0] = INFINITY;
    return true;
  }
  if (tgRe(gap) >= tgRe(width)) return false;
  tgi_limit_barrier(gap / width, out);
  out[0] *= mu;
  out[1] *= sign * mu / width;
  out[2] *= mu / (width * width);
  return true;
}

static void add_block(const tgModel *m, int d, const tgReal *X, tgReal *H) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) H[(d + r) * m->nv + d + c] += X[3 * r + c];
}

// limit of a ball: phi(|w|), w = log q
static void ball_limit(const tgModel *m, int j, const tgReal *q, const tgReal *phi, tgReal *g, tgReal *H) {
  int d = m->jnt_vadr[j];
  tgReal r[4], w[3], n[3], p[3], P[9], X[9] = {0};
  for (int i = 0; i < 4; i++) r[i] = q[m->jnt_qadr[j] + i];
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
  tgReal angle = tgi_v3_unit(n, w);
  tgi_v3_scale(p, n, phi[1]);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) P[3 * i + k] = (phi[2] - phi[1] / angle) * n[i] * n[k] + (i == k ? phi[1] / angle : 0);
  tgi_rotation_terms(w, p, P, g != NULL ? g + d : NULL, H != NULL ? X : NULL);
  if (H != NULL) add_block(m, d, X, H);
}

static void limits(const tgSim *s, int j, const tgReal *q, tgiObjective *o, tgReal *H) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j];
  for (int side = 0; side < 2; side++) {
    tgReal phi[3];
    if (!limit_terms(s, j, side, q, phi)) continue;
    if (H == NULL) o->energy += phi[0];
    if (!(tgRe(phi[0]) < INFINITY)) return;
    if (m->jnt_type[j] == TG_JOINT_BALL) {
      ball_limit(m, j, q, phi, H == NULL ? o->g : NULL, H);
      continue;
    }
    if (H == NULL) o->g[d] += phi[1];
    else H[d * m->nv + d] += phi[2];
  }
}

// energies of q alone: into energy and g, or (H not NULL) into H
static void absolute(const tgSim *s, int j, const tgReal *q, tgiObjective *o, tgReal *H) {
  const tgModel *m = &s->m;
  int a = m->jnt_qadr[j], d = m->jnt_vadr[j], adr, turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
  tgReal k = m->jnt_stiffness[j];
  limits(s, j, q, o, H);
  if (tgZero(k)) return;
  for (int i = 0; i < n; i++) {
    tgReal stretch = q[a + i] - m->qpos_spring[a + i];
    if (H != NULL) H[(d + i) * m->nv + d + i] += k;
    if (H != NULL) continue;
    o->energy += k * stretch * stretch / 2;
    o->g[d + i] += k * stretch;
  }
  if (turn < 0) return;
  tgReal w[3], p[3], P[9] = {k, 0, 0, 0, k, 0, 0, 0, k}, X[9] = {0};
  tgi_spring_rotation(m, adr, q, w);
  tgi_v3_scale(p, w, k);
  if (H == NULL) o->energy += tgi_v3_dot(w, p) / 2;
  tgi_rotation_terms(w, p, P, H == NULL ? o->g + turn : NULL, H != NULL ? X : NULL);
  if (H != NULL) add_block(m, turn, X, H);
}

// slope, curve and energy of what depends on delta
static void relative(const tgSim *s, const tgPose *pose, tgiObjective *o) {
  const tgModel *m = &s->m;
  double h = o->h;
  for (int d = 0; d < m->nv; d++) {
    tgReal x = o->delta[d], D = m->dof_damping[d] / h, a = m->dof_armature[d] / (h * h), late = x - h * s->v0[d];
    o->slope[d] = D * x + a * late - s->qfrc_applied[d];
    o->curve[d] = D + a;
    o->energy += (D * x * x + a * late * late) / 2 - s->qfrc_applied[d] * x;
    dry_friction(s, h, m->dof_frictionloss[d], x, &o->energy, &o->slope[d], &o->curve[d]);
  }
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, o);
    o->energy += l.energy;
    for (int k = 0; k < l.n; k++) o->slope[o->dof[k]] += o->coef[k] * l.slope;
  }
}

void tgi_joint_slopes(const tgSim *s, const tgPose *pose, tgiObjective *o) {
  tg_model_difference(&s->m, s->q0, pose->q, o->delta);
  relative(s, pose, o);
}

void tgi_joint_terms(const tgSim *s, const tgPose *pose, tgiObjective *o) {
  const tgModel *m = &s->m;
  tgi_joint_slopes(s, pose, o);
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = m->jnt_vadr[j], turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
    for (int i = 0; i < n; i++) o->g[d + i] += o->slope[d + i];
    // delta is known to the round-off of the coordinates
    for (int i = 0; i < n; i++) o->rounding += fabs(tgRe(o->slope[d + i])) * fabs(tgRe(pose->q[m->jnt_qadr[j] + i]));
    for (int i = 0; i < 3 && turn >= 0; i++) o->rounding += fabs(tgRe(o->slope[turn + i]));
    if (turn >= 0) tgi_rotation_terms(o->delta + turn, o->slope + turn, NULL, o->g + turn, NULL);
    absolute(s, j, pose->q, o, NULL);
  }
  o->rounding += fabs(tgRe(o->energy));
}

void tgi_joint_hessian(const tgSim *s, const tgPose *pose, tgiObjective *o, tgReal *H) {
  const tgModel *m = &s->m;
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = m->jnt_vadr[j], turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
    for (int i = 0; i < n; i++) H[(d + i) * m->nv + d + i] += o->curve[d + i];
    absolute(s, j, pose->q, o, H);
    if (turn < 0) continue;
    const tgReal *c = o->curve + turn, P[9] = {c[0], 0, 0, 0, c[1], 0, 0, 0, c[2]};
    tgReal X[9] = {0};
    tgi_rotation_terms(o->delta + turn, o->slope + turn, P, NULL, X);
    add_block(m, turn, X, H);
  }
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, o);
    if (tgZero(l.curve)) continue;
    tgi_line_tangent(s, i, o, l.n, o->coef);
    for (int r = 0; r < l.n; r++)
      for (int c = 0; c < l.n; c++) H[o->dof[r] * m->nv + o->dof[c]] += l.curve * o->coef[r] * o->coef[c];
  }
}
