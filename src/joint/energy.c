// energy.c: J, the energy of joints, actuators and tendons that a step minimises, with two derivatives; see joint.h.
//
// Based on: [math/joints Energy]. Of delta = q' (-) q, which for a rotation is log(R' R_q'):
//   damper D delta^2/(2 h), armature a (delta - h v)^2/(2 h^2), dry friction h f sqrt((delta/h)^2 + eps^2),
//     applied force -f delta, lines (line.c).
// Of q' alone: springs k |q' - rest|^2/2, for a rotation k |log(rest^-1 q')|^2/2, limits mu b(gap/width), and ties k error^2/2.
// For a rotation w = log(..): dw = Jr^-1(w) d(tangent), so the gradient of phi(w) is Jr^-T p.
#include "joint/joint.h"
#include "math/quat.h"

static const double MOST_TURN = 1.0;     // of a rotation in one step of the minimisation [rad]
static const double KEPT_GAP = 0.99;     // share of the distance to a limit that such a step may go

bool tgi_joint_take(tgSim *s, double h, tgiJointTerms *t) {
  size_t nv = (size_t)s->m.nv, room = (size_t)tgi_line_room(&s->m);
  *t = (tgiJointTerms){.h = h};
  t->delta = tgi_stack_real(s, nv);
  t->slope = tgi_stack_real(s, nv);
  t->curve = tgi_stack_real(s, nv);
  t->coef = tgi_stack_real(s, room);
  t->dof = tgi_stack_bytes(s, room * sizeof(int));
  return t->delta != NULL && t->slope != NULL && t->curve != NULL && t->coef != NULL && t->dof != NULL;
}

// ---- rotations ----

void tgi_joint_rotate(const tgModel *m, const tgReal *delta, const tgReal *x, bool transposed, tgReal *out) {
  for (int d = 0; d < m->nv; d++) out[d] = x[d];
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9], t[3];
    if (d < 0) continue;
    tgi_so3_jr_inv(J, delta + d);
    tgi_v3_copy(t, out + d);
    if (transposed) tgi_m3_tmulv(out + d, J, t);
    else tgi_m3_mulv(out + d, J, t);
  }
}

void tgi_line_tangent(const tgSim *s, int i, int n, tgiJointTerms *t) {
  const tgModel *m = &s->m;
  int adr, d = i < m->nu && m->act_trn[i] != TG_TRN_TENDON ? tgi_rotation_dof(m, m->act_target[i], &adr) : -1;
  if (d < 0 || n == 0) return;
  tgReal J[9], c[3];
  tgi_so3_jr_inv(J, t->delta + d);
  tgi_v3_copy(c, t->coef + n - 3);
  tgi_m3_tmulv(t->coef + n - 3, J, c);
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

static void add_block(int d, const tgReal *X, const tgiPatterned *H) {
  for (int i = 0; i < 9; i++) tgi_pattern_put(H, d + i / 3, d + i % 3, X[i]);
}

// ---- of q' alone: into energy and g, or (H not NULL) into H ----

// mu b(gap/width) of limit i, whose derivative by its coordinate (a ball: its angle) has the sign of side
static bool limit_terms(const tgSim *s, int i, int side, const tgReal *q, tgReal out[3]) {
  tgReal gap, width, mu = TG_NUMBER(s, weight);
  double sign = side == 0 ? 1 : -1;
  if (!tgi_limit(s, i, side, q, &gap, &width)) return false;
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

// limit of a ball: phi(|w|), w = log q
static void ball_limit(const tgModel *m, int j, const tgReal *q, const tgReal *phi, tgReal *g, const tgiPatterned *H) {
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
  if (H != NULL) add_block(d, X, H);
}

// phi of a tendon's length
static void tendon_limit(const tgModel *m, int t, const tgReal *phi, tgReal *g, const tgiPatterned *H) {
  for (int a = m->ten_adr[t], end = a + m->ten_num[t]; a < end; a++) {
    int i = m->jnt_vadr[m->wrap_jnt[a]];
    if (g != NULL) g[i] += m->wrap_coef[a] * phi[1];
    for (int b = m->ten_adr[t]; b < end && H != NULL; b++)
      tgi_pattern_put(H, i, m->jnt_vadr[m->wrap_jnt[b]], m->wrap_coef[a] * m->wrap_coef[b] * phi[2]);
  }
}

static void limits(const tgSim *s, const tgReal *q, tgiJointTerms *t, tgReal *g, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  for (int i = 0; i < tgi_limit_count(m); i++)
    for (int side = 0; side < 2; side++) {
      tgReal phi[3];
      if (!limit_terms(s, i, side, q, phi)) continue;
      if (H == NULL) t->energy += phi[0];
      if (!(tgRe(phi[0]) < INFINITY)) return;
      if (i >= m->njnt) tendon_limit(m, i - m->njnt, phi, g, H);
      else if (m->jnt_type[i] == TG_JOINT_BALL) ball_limit(m, i, q, phi, g, H);
      else if (H == NULL) g[m->jnt_vadr[i]] += phi[1];
      else tgi_pattern_put(H, m->jnt_vadr[i], m->jnt_vadr[i], phi[2]);
    }
}

static void spring(const tgSim *s, int j, const tgReal *q, tgiJointTerms *t, tgReal *g, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  int a = m->jnt_qadr[j], d = m->jnt_vadr[j], adr, turn = tgi_rotation_dof(m, j, &adr),
      n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
  tgReal k = m->jnt_stiffness[j];
  if (tgZero(k)) return;
  for (int i = 0; i < n; i++) {
    tgReal stretch = q[a + i] - m->qpos_spring[a + i];
    if (H != NULL) {
      tgi_pattern_put(H, d + i, d + i, k);
      continue;
    }
    t->energy += k * stretch * stretch / 2;
    g[d + i] += k * stretch;
  }
  if (turn < 0) return;
  tgReal w[3], p[3], P[9] = {k, 0, 0, 0, k, 0, 0, 0, k}, X[9] = {0};
  tgi_spring_rotation(m, adr, q, w);
  tgi_v3_scale(p, w, k);
  if (H == NULL) t->energy += tgi_v3_dot(w, p) / 2;
  tgi_rotation_terms(w, p, P, H == NULL ? g + turn : NULL, H != NULL ? X : NULL);
  if (H != NULL) add_block(turn, X, H);
}

static void equalities(const tgSim *s, const tgReal *q, tgiJointTerms *t, tgReal *g, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  for (int e = 0; e < m->neq; e++) {
    tgiTie x;
    tgiEqualityGains gain;
    if (!m->eq_active[e] || !tgi_is_tie(m, e)) continue;
    tgi_tie(m, e, q, &x);
    tgi_equality_energy_gains(s, e, &gain);
    tgReal f = gain.k * x.error, y, z;
    for (int r = 0; r < tgi_tie_entries(&x); r++) {
      int i = tgi_tie_entry(m, &x, r, &y);
      for (int c = 0; c < tgi_tie_entries(&x) && H != NULL; c++) {
        int k = tgi_tie_entry(m, &x, c, &z);
        tgi_pattern_put(H, i, k, gain.k * y * z);
      }
      if (H != NULL) continue;
      g[i] += f * y;
      t->rounding += fabs(tgRe(f * y * q[m->jnt_qadr[m->dof_jnt[i]]]));
    }
    if (H == NULL) t->energy += f * x.error / 2;
    for (int r = 0; r < x.b.n && H != NULL; r++)
      for (int c = 0; c < x.b.n; c++)
        tgi_pattern_put(H, tgi_tie_dof(m, &x.b, r), tgi_tie_dof(m, &x.b, c), -f * x.curve * x.b.coef[r] * x.b.coef[c]);
  }
}

// ---- the whole ----

// slope, curve and energy of what depends on delta
static void relative(const tgSim *s, const tgPose *pose, tgiJointTerms *t) {
  const tgModel *m = &s->m;
  double h = t->h;
  t->energy = 0;
  t->rounding = 0;
  for (int d = 0; d < m->nv; d++) {
    tgReal x = t->delta[d], D = m->dof_damping[d] / h, a = m->dof_armature[d] / (h * h), late = x - h * s->start.vel[d];
    t->slope[d] = D * x + a * late - s->qfrc_applied[d];
    t->curve[d] = D + a;
    t->energy += (D * x * x + a * late * late) / 2 - s->qfrc_applied[d] * x;
    tgi_dry_friction(s, h, m->dof_frictionloss[d], x, &t->energy, &t->slope[d], &t->curve[d]);
  }
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, t);
    t->energy += l.energy;
    for (int k = 0; k < l.n; k++) t->slope[t->dof[k]] += t->coef[k] * l.slope;
  }
}

void tgi_joint_slopes(const tgSim *s, const tgPose *pose, tgiJointTerms *t) {
  tg_model_difference(&s->m, s->start.q, pose->q, t->delta);
  relative(s, pose, t);
}

void tgi_joint_energy(const tgSim *s, const tgPose *pose, tgiJointTerms *t, tgReal *g) {
  const tgModel *m = &s->m;
  const tgReal *q = pose->q;
  tgi_joint_slopes(s, pose, t);
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = m->jnt_vadr[j], turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
    for (int i = 0; i < n; i++) g[d + i] += t->slope[d + i];
    // delta is known to the round-off of the coordinates
    for (int i = 0; i < n; i++) t->rounding += fabs(tgRe(t->slope[d + i])) * fabs(tgRe(q[m->jnt_qadr[j] + i]));
    for (int i = 0; i < 3 && turn >= 0; i++) t->rounding += fabs(tgRe(t->slope[turn + i]));
    if (turn >= 0) tgi_rotation_terms(t->delta + turn, t->slope + turn, NULL, g + turn, NULL);
    spring(s, j, q, t, g, NULL);
  }
  limits(s, q, t, g, NULL);
  equalities(s, q, t, g, NULL);
  t->rounding += fabs(tgRe(t->energy));
}

void tgi_joint_curvature(const tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  const tgReal *q = pose->q;
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = m->jnt_vadr[j], turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
    for (int i = 0; i < n; i++) tgi_pattern_put(H, d + i, d + i, t->curve[d + i]);
    spring(s, j, q, t, NULL, H);
    if (turn < 0) continue;
    const tgReal *c = t->curve + turn, P[9] = {c[0], 0, 0, 0, c[1], 0, 0, 0, c[2]};
    tgReal X[9] = {0};
    tgi_rotation_terms(t->delta + turn, t->slope + turn, P, NULL, X);
    add_block(turn, X, H);
  }
  limits(s, q, t, NULL, H);
  equalities(s, q, t, NULL, H);
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, t);
    if (tgZero(l.curve)) continue;
    tgi_line_tangent(s, i, l.n, t);
    for (int r = 0; r < l.n; r++)
      for (int c = 0; c < l.n; c++) tgi_pattern_put(H, t->dof[r], t->dof[c], l.curve * t->coef[r] * t->coef[c]);
  }
}

// ---- how far a step may go ----

// of a limit other than a ball's: its rate along d
static double approach_of(const tgModel *m, int i, int side, const tgReal *d) {
  tgReal rate = i < m->njnt ? d[m->jnt_vadr[i]] : tgi_tendon_rate(m, i - m->njnt, d);
  return (side == 0 ? -1 : 1) * tgRe(rate);
}

double tgi_joint_share(const tgSim *s, const tgReal *q, const tgReal *d) {
  const tgModel *m = &s->m;
  double share = 1;
  for (int i = 0; i < tgi_limit_count(m); i++) {
    int adr, turn = i < m->njnt ? tgi_rotation_dof(m, i, &adr) : -1;
    tgReal gap, width;
    if (turn >= 0) {
      double angle = 0, most = MOST_TURN;
      for (int k = 0; k < 3; k++) angle += tgRe(d[turn + k]) * tgRe(d[turn + k]);
      // not through the forbidden angles to those beyond
      if (tgi_limit(s, i, 1, q, &gap, &width)) most = fmin(most, KEPT_GAP * 2 * (TG_PI - tgRe(m->jnt_range[2 * i + 1])));
      if (sqrt(angle) * share > most) share = most / sqrt(angle);
      continue;
    }
    for (int side = 0; side < 2; side++) {
      double approach = approach_of(m, i, side, d);
      if (tgi_limit(s, i, side, q, &gap, &width) && approach * share > KEPT_GAP * tgRe(gap)) share = KEPT_GAP * tgRe(gap) / approach;
    }
  }
  return share;
}
