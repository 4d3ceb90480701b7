// bond.c: connects and welds: where their anchors are, and what holds these together, as an energy or as a force of a
// pair of bodies. See joint.h.
//
// Based on: [math/joints Bonds]. With the error e = pa - pb of the anchors, and of a weld tau = R_b theta,
// z = w_b - w_a - w_a x w_b/2 the turn of b against a,
//   E = k |e|^2/2 + k_turn |theta|^2/2;   to second order of k_turn |theta|^2/2: k_turn (tau . z + z' R_b Sym(Jr^-1(theta)) R_b' z/2).
//   F = -k e - c r on a at p = (pa + pb)/2, r the velocity of a against b there;
//     T = k_turn tau - c_turn (w_a - w_b);   their opposites on b.
#include "joint/joint.h"
#include "kin/kinematics.h"
#include "math/quat.h"

#include <string.h>

static void connect_anchors(const tgModel *m, const tgPose *pose, int eq, tgiBond *bond) {
  // the anchor in a, the same point at qpos0 in b
  tgReal x[3];
  tgi_m3_mulv(x, pose->xmat + 9 * bond->a, m->eq_anchor + 3 * eq);
  tgi_v3_add(bond->pa, pose->xpos + 3 * bond->a, x);
  tgi_m3_mulv(x, bond->Rb, m->eq_anchor2 + 3 * eq);
  tgi_v3_add(bond->pb, pose->xpos + 3 * bond->b, x);
  tgi_v3_zero(bond->theta);
}

static void weld_anchors(const tgModel *m, const tgPose *pose, int eq, tgiBond *bond) {
  // the anchor in b; in a it stands at relpos + R(relquat) anchor
  const tgReal *anchor = m->eq_anchor + 3 * eq;
  tgReal x[3], r[3], target[4], relative[4];
  tgi_m3_mulv(x, bond->Rb, anchor);
  tgi_v3_add(bond->pb, pose->xpos + 3 * bond->b, x);
  tgi_quat_rotate(r, m->eq_relquat + 4 * eq, anchor);
  tgi_v3_add(r, r, m->eq_relpos + 3 * eq);
  tgi_m3_mulv(x, pose->xmat + 9 * bond->a, r);
  tgi_v3_add(bond->pa, pose->xpos + 3 * bond->a, x);
  tgi_quat_mul(target, pose->xquat + 4 * bond->a, m->eq_relquat + 4 * eq);
  for (int i = 1; i < 4; i++) target[i] = -target[i];
  tgi_quat_mul(relative, target, pose->xquat + 4 * bond->b);
  tgi_quat_log(bond->theta, relative);
}

void tgi_bond(const tgSim *s, const tgPose *pose, int eq, tgiBond *bond) {
  const tgModel *m = &s->m;
  bond->a = m->eq_a[eq];
  bond->b = m->eq_b[eq];
  bond->weld = m->eq_type[eq] == TG_EQ_WELD;
  bond->Rb = pose->xmat + 9 * bond->b;
  if (bond->weld) weld_anchors(m, pose, eq, bond); else connect_anchors(m, pose, eq, bond);
  for (int i = 0; i < 3; i++) bond->p[i] = (bond->pa[i] + bond->pb[i]) / 2;
}

static void add_rotated(tgReal *out, const tgReal *R, const tgReal *g) {
  tgReal r[3];
  tgi_m3_tmulv(r, R, g);
  tgi_v3_add(out, out, r);
}

void tgi_bond_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal ga[3], const tgReal gb[3], tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *Ra = pose->xmat + 9 * m->eq_a[eq], *Rb = pose->xmat + 9 * m->eq_b[eq];
  if (m->eq_type[eq] == TG_EQ_CONNECT) {
    if (p->eq_anchor != NULL) add_rotated(p->eq_anchor + 3 * eq, Ra, ga);
    if (p->eq_anchor2 != NULL) add_rotated(p->eq_anchor2 + 3 * eq, Rb, gb);
    return;
  }
  // weld: pb = R_b anchor, pa = R_a (relpos + R_rel anchor)
  tgReal local[3], Rrel[9];
  tgi_m3_tmulv(local, Ra, ga);
  if (p->eq_relpos != NULL) tgi_v3_add(p->eq_relpos + 3 * eq, p->eq_relpos + 3 * eq, local);
  if (p->eq_anchor == NULL) return;
  tgi_quat_to_mat(Rrel, m->eq_relquat + 4 * eq);
  add_rotated(p->eq_anchor + 3 * eq, Rb, gb);
  add_rotated(p->eq_anchor + 3 * eq, Rrel, local);
}

bool tgi_is_bound(const tgModel *m, int eq) {
  return m->eq_active[eq] && !tgi_is_tie(m, eq) && (m->body_lastdof[m->eq_a[eq]] >= 0 || m->body_lastdof[m->eq_b[eq]] >= 0);
}

static void skew(const tgReal *x, tgReal scale, tgReal *K) {
  tgReal full[9] = {0, -x[2], x[1], x[2], 0, -x[0], -x[1], x[0], 0};
  for (int i = 0; i < 9; i++) K[i] = scale * full[i];
}

// sym(R_b Jr^-1(theta) R_b'), and R_b Jr^-1 R_b' itself
static void turn_matrices(const tgiBond *k, tgReal *whole, tgReal *sym) {
  tgReal J[9], t[9];
  tgi_so3_jr_inv(J, k->theta);
  tgi_m3_mul(t, k->Rb, J);
  tgi_m3_mult(whole, t, k->Rb);
  for (int i = 0; i < 9; i++) sym[i] = (whole[i] + whole[i % 3 * 3 + i / 3]) / 2;
}

// ---- energy ----

// X (3 x 6) = d(point at p)/d(twist)
static void point_slope(const tgReal *p, tgReal *X) {
  tgReal K[9];
  skew(p, -1, K);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      X[6 * i + j] = K[3 * i + j];
      X[6 * i + 3 + j] = i == j;
    }
}

// H += the second order of f . p under a twist of the body of p: f . (w x (v + w x p))/2, on the diagonal block `side`
static void turn_of_force(const tgReal *f, const tgReal *p, int side, tgReal *H) {
  tgReal K[9], along = tgi_v3_dot(f, p);
  skew(f, -0.5, K);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int r = 6 * side + i, c = 6 * side + j;
      H[12 * r + c] += (f[i] * p[j] + f[j] * p[i]) / 2 - (i == j ? along : 0);
      H[12 * r + c + 3] += K[3 * i + j];
      H[12 * (c + 3) + r] += K[3 * i + j];
    }
}

// k |e|^2/2: its gradient into w, its second derivative along exp into X
static void stretch(const tgiBond *b, tgReal k, tgPairTerm *t) {
  tgReal e[3], f[3], minus[3], X[2][18];
  tgi_v3_sub(e, b->pa, b->pb);
  tgi_v3_scale(f, e, k);
  tgi_v3_scale(minus, f, -1);
  t->energy += tgi_v3_dot(e, f) / 2;
  tgi_sp_screw(t->w, b->pa, f);
  tgi_sp_screw(t->w + 6, b->pb, minus);
  point_slope(b->pa, X[0]);
  point_slope(b->pb, X[1]);
  for (int r = 0; r < 12; r++)
    for (int c = 0; c < 12; c++)
      for (int i = 0; i < 3; i++) t->X[12 * r + c] += (r / 6 == c / 6 ? k : -k) * X[r / 6][6 * i + r % 6] * X[c / 6][6 * i + c % 6];
  turn_of_force(f, b->pa, 0, t->X);
  turn_of_force(minus, b->pb, 1, t->X);
}

// k |theta|^2/2, likewise
static void twist(const tgiBond *b, tgReal k, tgPairTerm *t) {
  tgReal tau[3], whole[9], G[9], half[9];
  tgi_m3_mulv(tau, b->Rb, b->theta);
  t->energy += k * tgi_v3_dot(tau, tau) / 2;
  tgi_v3_axpy(t->w, -k, tau);
  tgi_v3_axpy(t->w + 6, k, tau);
  turn_matrices(b, whole, G);
  skew(tau, 0.5 * k, half);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      t->X[12 * i + j] += k * G[3 * i + j];
      t->X[12 * (6 + i) + 6 + j] += k * G[3 * i + j];
      t->X[12 * i + 6 + j] += half[3 * i + j] - k * G[3 * i + j];
      t->X[12 * (6 + j) + i] += half[3 * i + j] - k * G[3 * i + j];
    }
}

double tgi_bond_term(const tgSim *s, const tgPose *pose, int eq, tgPairTerm *t) {
  tgiBond b;
  tgiEqualityGains gain;
  double rounding = 0;
  tgi_bond(s, pose, eq, &b);
  tgi_equality_energy_gains(s, eq, &gain);
  memset(t, 0, sizeof *t);
  t->body1 = b.a;
  t->body2 = b.b;
  stretch(&b, gain.k, t);
  if (b.weld) twist(&b, gain.k_turn, t);
  // the error is known to the round-off of the anchors
  for (int i = 0; i < 3; i++) rounding += fabs(tgRe(t->w[3 + i])) * fabs(tgRe(b.pa[i])) + fabs(tgRe(gain.k_turn * b.theta[i]));
  // the force is minus the derivative
  for (int i = 0; i < 12; i++) t->w[i] = -t->w[i];
  for (int i = 0; i < 144; i++) t->X[i] = -t->X[i];
  tgi_term_turn(t);
  return rounding + fabs(tgRe(t->energy));
}

void tgi_bond_term_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal *Za, const tgReal *Zb, tgParamGrad *p) {
  tgiBond b;
  tgiEqualityGains gain;
  tgReal e[3], ua[3], ub[3], u[3], turn[3], ga[3], gb[3], tau[3];
  tgi_bond(s, pose, eq, &b);
  tgi_equality_energy_gains(s, eq, &gain);
  tgi_v3_sub(e, b.pa, b.pb);
  tgi_sp_point_velocity(ua, Za, b.pa);
  tgi_sp_point_velocity(ub, Zb, b.pb);
  tgi_v3_sub(u, ua, ub);
  // k e . (ua - ub), where u of an anchor changes by w x with it
  tgi_v3_cross(turn, e, Za);
  for (int i = 0; i < 3; i++) ga[i] = gain.k * (u[i] + turn[i]);
  tgi_v3_cross(turn, e, Zb);
  for (int i = 0; i < 3; i++) gb[i] = -gain.k * (u[i] + turn[i]);
  tgi_bond_parameters(s, pose, eq, ga, gb, p);
  tgReal by_k = gain.k * tgi_v3_dot(e, u);
  if (b.weld) {
    tgi_m3_mulv(tau, b.Rb, b.theta);
    by_k += gain.k_turn * (tgi_v3_dot(tau, Zb) - tgi_v3_dot(tau, Za));
  }
  tgi_equality_parameters(s, by_k, 0, p);
}

// ---- force ----

// what the force is made of
typedef struct BondForce { tgiBond b; tgiEqualityGains gain; tgReal e[3], r[3], turn[3], tau[3], F[3], T[3]; } BondForce;

static void force_at(const tgSim *s, const tgPose *pose, int eq, BondForce *k) {
  tgReal V[6];
  tgi_bond(s, pose, eq, &k->b);
  tgi_equality_force_gains(s, eq, &k->gain);
  tgi_v3_sub(k->e, k->b.pa, k->b.pb);
  tgi_sp_sub(V, pose->V + 6 * k->b.a, pose->V + 6 * k->b.b);
  tgi_sp_point_velocity(k->r, V, k->b.p);
  tgi_v3_copy(k->turn, V);
  tgi_v3_zero(k->tau);
  if (k->b.weld) tgi_m3_mulv(k->tau, k->b.Rb, k->b.theta);
  for (int i = 0; i < 3; i++) {
    k->F[i] = -k->gain.k * k->e[i] - k->gain.c * k->r[i];
    k->T[i] = k->b.weld ? k->gain.k_turn * k->tau[i] - k->gain.c_turn * k->turn[i] : 0;
  }
}

// change of the force and the torque on a, dF and dT, for changes of the point, the error, tau and the relative velocity there
static void force_d(const BondForce *k, const tgReal *dp, const tgReal *de, const tgReal *dtau, const tgReal *dr,
                    const tgReal *dturn, tgReal *out) {
  tgReal dF[3], t[3];
  for (int i = 0; i < 3; i++) dF[i] = -k->gain.k * de[i] - k->gain.c * dr[i];
  tgi_v3_cross(out, k->b.p, dF);
  tgi_v3_cross(t, dp, k->F);
  tgi_v3_add(out, out, t);
  for (int i = 0; i < 3 && k->b.weld; i++) out[i] += k->gain.k_turn * dtau[i] - k->gain.c_turn * dturn[i];
  tgi_v3_copy(out + 3, dF);
}

// column of X or Y: a unit twist of body `side` moves the anchors, or changes the velocity
static void column(const BondForce *k, const tgReal *whole, int side, int c, bool moves, tgReal *out) {
  tgReal Z[6] = {0}, at[3], dp[3] = {0}, de[3] = {0}, dtau[3] = {0}, dr[3] = {0}, dturn[3] = {0}, t[3], sign = side == 0 ? 1 : -1;
  Z[c] = 1;
  if (!moves) {
    tgi_sp_point_velocity(dr, Z, k->b.p);
    tgi_v3_scale(dr, dr, sign);
    tgi_v3_scale(dturn, Z, sign);
  } else {
    tgi_sp_point_velocity(at, Z, side == 0 ? k->b.pa : k->b.pb);
    tgi_v3_scale(dp, at, 0.5);
    tgi_v3_scale(de, at, sign);
    tgi_v3_cross(dr, k->turn, dp);
    // d(R_b theta) = w_b x tau + R_b Jr^-1 R_b' (w_b - w_a)
    tgi_v3_scale(t, Z, -sign);
    tgi_m3_mulv(dtau, whole, t);
    tgi_v3_cross(t, Z, k->tau);
    if (side == 1) tgi_v3_add(dtau, dtau, t);
  }
  force_d(k, dp, de, dtau, dr, dturn, out);
}

void tgi_bond_force(const tgSim *s, const tgPose *pose, int eq, tgPairTerm *f) {
  BondForce k;
  tgReal whole[9], sym[9], x[6];
  force_at(s, pose, eq, &k);
  f->body1 = k.b.a;
  f->body2 = k.b.b;
  tgi_sp_screw(f->w, k.b.p, k.F);
  tgi_v3_add(f->w, f->w, k.T);
  for (int i = 0; i < 6; i++) f->w[6 + i] = -f->w[i];
  turn_matrices(&k.b, whole, sym);
  for (int c = 0; c < 24; c++) {
    tgReal *D = c < 12 ? f->X : f->Y;
    column(&k, whole, c % 12 / 6, c % 6, c < 12, x);
    for (int r = 0; r < 6; r++) {
      D[12 * r + c % 12] = x[r];
      D[12 * (6 + r) + c % 12] = -x[r];
    }
  }
}

void tgi_bond_force_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal *Za, const tgReal *Zb, tgParamGrad *p) {
  BondForce k;
  tgReal Z[6], z[3], at[3], t[3], ga[3], gb[3];
  force_at(s, pose, eq, &k);
  tgi_sp_sub(Z, Za, Zb);
  tgi_sp_point_velocity(z, Z, k.b.p);
  // F . z: the point turns z, and the relative velocity there
  tgi_v3_cross(at, k.F, Z);
  tgi_v3_cross(t, z, k.turn);
  tgi_v3_axpy(at, -k.gain.c, t);
  for (int i = 0; i < 3; i++) {
    ga[i] = at[i] / 2 - k.gain.k * z[i];
    gb[i] = at[i] / 2 + k.gain.k * z[i];
  }
  tgi_bond_parameters(s, pose, eq, ga, gb, p);
  tgi_equality_parameters(s, k.gain.k_turn * tgi_v3_dot(k.tau, Z) - k.gain.k * tgi_v3_dot(k.e, z),
                          -k.gain.c * tgi_v3_dot(k.r, z) - (k.b.weld ? k.gain.c_turn * tgi_v3_dot(k.turn, Z) : 0), p);
}
