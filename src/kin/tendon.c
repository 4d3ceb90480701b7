// tendon.c: see tendon.h.
//
// J v is u . (v_b - v_a), v the velocities of the points of both bodies where the ends are. As a pose changes, the twists of the bodies
// change with their axes (tgi_add_row_d), the points move by dp and u by du = (1 - u u')(dp_b - dp_a)/length. Hence, with
// y = (1 - u u')(v_b - v_a)/length and omega the turning of a body at v,
//   d(J v) = (twists at fixed screws) + dp_b . (y + u x omega_b) - dp_a . (y + u x omega_a).
#include "kin/tendon.h"

// below this a strand has no direction [m]
static const double shortest = 1e-15;

// side 0: where it starts, 1: where it ends
typedef struct Strand { int site[2], body[2]; const tgReal *at[2]; tgReal u[3], length, share; } Strand;

static Strand strand(const tgModel *m, const tgPose *pose, int k) {
  Strand x = {.share = m->strand_share[k]};
  tgReal way[3];
  for (int side = 0; side < 2; side++) {
    x.site[side] = m->strand_site[2 * k + side];
    x.body[side] = m->site_body[x.site[side]];
    x.at[side] = pose->site_xpos + 3 * x.site[side];
  }
  tgi_v3_sub(way, x.at[1], x.at[0]);
  if (!(fabs(tgRe(way[0])) + fabs(tgRe(way[1])) + fabs(tgRe(way[2])) > shortest)) {
    tgi_v3_zero(x.u);
    return x;
  }
  x.length = tgi_v3_norm(way);
  tgi_v3_scale(x.u, way, 1 / x.length);
  return x;
}

// turns with its body
static bool is_rigid(const tgModel *m, const Strand *x) { return m->body_weld[x->body[0]] == m->body_weld[x->body[1]]; }

static int begin(const tgModel *m, int t) { return m->ten_strandadr[t]; }
static int end(const tgModel *m, int t) { return m->ten_strandadr[t] + m->ten_strandnum[t]; }

// dof d moves an end of strand k
static bool moves_strand(const tgModel *m, int k, int d) {
  const int *site = m->strand_site + 2 * k;
  return tgi_dof_moves(m, d, m->site_body[site[0]]) || tgi_dof_moves(m, d, m->site_body[site[1]]);
}

bool tgi_strands_moved(const tgModel *m, int t, int d) {
  for (int k = begin(m, t); k < end(m, t); k++)
    if (moves_strand(m, k, d)) return true;
  return false;
}

int tgi_tendon_lead(const tgModel *m, int t) {
  if (!tgi_is_spatial(m, t)) return m->jnt_vadr[m->wrap_jnt[m->ten_adr[t]]];
  for (int k = 2 * begin(m, t); k < 2 * end(m, t); k++)
    if (m->body_lastdof[m->site_body[m->strand_site[k]]] >= 0) return m->body_lastdof[m->site_body[m->strand_site[k]]];
  return -1;
}

tgReal tgi_strands_length(const tgModel *m, const tgPose *pose, int t) {
  tgReal sum = 0;
  for (int k = begin(m, t); k < end(m, t); k++) {
    Strand x = strand(m, pose, k);
    sum += x.share * x.length;
  }
  return sum;
}

bool tgi_strands_degenerate(const tgModel *m, const tgPose *pose, int t) {
  for (int k = begin(m, t); k < end(m, t); k++) {
    Strand x = strand(m, pose, k);
    if (tgRe(x.length) == 0 && !is_rigid(m, &x)) return true;
  }
  return false;
}

void tgi_strands_row(const tgSim *s, const tgPose *pose, int t, tgReal scale, tgReal *row) {
  for (int k = begin(&s->m, t); k < end(&s->m, t); k++) {
    Strand x = strand(&s->m, pose, k);
    for (int side = 0; side < 2 && !is_rigid(&s->m, &x); side++) {
      tgReal screw[6];
      tgi_sp_screw(screw, x.at[side], x.u);
      tgi_add_row(s, pose, x.body[side], screw, side == 0 ? -scale * x.share : scale * x.share, row);
    }
  }
}

// v_b - v_a, and the twists
static void velocities(const tgSim *s, const tgPose *pose, const Strand *x, const tgReal *v, tgReal V[2][6], tgReal apart[3]) {
  tgReal at[2][3];
  for (int side = 0; side < 2; side++) {
    tgi_body_velocity(s, pose, x->body[side], v, V[side]);
    tgi_sp_point_velocity(at[side], V[side], x->at[side]);
  }
  tgi_v3_sub(apart, at[1], at[0]);
}

tgReal tgi_strands_rate(const tgSim *s, const tgPose *pose, int t, const tgReal *v) {
  tgReal sum = 0;
  for (int k = begin(&s->m, t); k < end(&s->m, t); k++) {
    Strand x = strand(&s->m, pose, k);
    tgReal V[2][6], apart[3];
    if (is_rigid(&s->m, &x)) continue;
    velocities(s, pose, &x, v, V, apart);
    sum += x.share * tgi_v3_dot(x.u, apart);
  }
  return sum;
}

// dp: the velocity of an end with dof d; false: it stays
static bool moved(const tgModel *m, const tgPose *pose, const Strand *x, int side, int d, tgReal dp[3]) {
  tgi_v3_zero(dp);
  if (!tgi_dof_moves(m, d, x->body[side])) return false;
  tgi_sp_point_velocity(dp, pose->S + 6 * d, x->at[side]);
  return true;
}

tgReal tgi_strands_moment(const tgModel *m, const tgPose *pose, int t, int i) {
  tgReal sum = 0, dp[2][3];
  for (int k = begin(m, t); k < end(m, t); k++) {
    if (!moves_strand(m, k, i)) continue;
    Strand x = strand(m, pose, k);
    for (int side = 0; side < 2; side++) moved(m, pose, &x, side, i, dp[side]);
    sum += x.share * (tgi_v3_dot(x.u, dp[1]) - tgi_v3_dot(x.u, dp[0]));
  }
  return sum;
}

static tgReal strand_curve(const tgModel *m, const tgPose *pose, const Strand *x, int i, int j) {
  const tgReal *Si = pose->S + 6 * i, *Sj = pose->S + 6 * j;
  tgReal di[2][3], dj[2][3], y[3], sum = 0;
  bool by_i[2];
  for (int side = 0; side < 2; side++) by_i[side] = moved(m, pose, x, side, i, di[side]);
  tgi_v3_sub(y, di[1], di[0]);
  tgi_v3_axpy(y, -tgi_v3_dot(x->u, y), x->u);
  tgi_v3_scale(y, y, 1 / x->length);
  for (int side = 0; side < 2; side++) {
    tgReal sign = side == 0 ? -1 : 1, g[3], t[6], screw[6];
    if (!moved(m, pose, x, side, j, dj[side])) continue;
    sum += sign * tgi_v3_dot(dj[side], y);
    if (!by_i[side]) continue;
    tgi_v3_cross(g, x->u, Si);
    sum += sign * tgi_v3_dot(dj[side], g);
    if (j >= m->dof_grpadr[i] + m->dof_grpnum[i]) continue;   // behind it: the axis stays
    tgi_sp_cross_m(t, Sj, Si);
    tgi_sp_screw(screw, x->at[side], x->u);
    sum += sign * tgi_sp_dot(t, screw);
  }
  return sum;
}

tgReal tgi_strands_curve(const tgModel *m, const tgPose *pose, int t, int i, int j) {
  tgReal sum = 0;
  for (int k = begin(m, t); k < end(m, t); k++) {
    if (!moves_strand(m, k, i) || !moves_strand(m, k, j)) continue;
    Strand x = strand(m, pose, k);
    if (tgRe(x.length) != 0 && !is_rigid(m, &x)) sum += x.share * strand_curve(m, pose, &x, i, j);
  }
  return sum;
}

// of an end that is a gradient g to move, and of axes that turn with the velocity v at the screw
static void parameters(const tgSim *s, const tgPose *pose, const Strand *x, int side, const tgReal *v, const tgReal screw[6], tgReal by,
                       const tgReal g[3], tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal bar[6], r[3];
  for (int d = m->body_lastdof[x->body[side]]; d >= 0; d = m->dof_parent[d]) {
    for (int i = 0; i < 6; i++) bar[i] = by * v[d] * screw[i];
    tgi_param_axis(p, d, bar);
  }
  tgi_sp_screw(bar, x->at[side], g);
  tgi_param_pose(p, x->body[side], bar);
  if (p->site_pos == NULL) return;
  tgi_m3_tmulv(r, pose->xmat + 9 * x->body[side], g);
  tgi_v3_add(p->site_pos + 3 * x->site[side], p->site_pos + 3 * x->site[side], r);
}

void tgi_strands_vjp(const tgSim *s, const tgPose *pose, int t, const tgReal *v, tgReal scale, tgReal along, tgReal *gq, tgParamGrad *p) {
  for (int k = begin(&s->m, t); k < end(&s->m, t); k++) {
    Strand x = strand(&s->m, pose, k);
    tgReal V[2][6], apart[3], y[3];
    if (tgRe(x.length) == 0) continue;
    velocities(s, pose, &x, v, V, apart);
    tgi_v3_copy(y, apart);
    tgi_v3_axpy(y, -tgi_v3_dot(x.u, apart), x.u);
    tgi_v3_scale(y, y, 1 / x.length);
    for (int side = 0; side < 2; side++) {
      tgReal sign = (side == 0 ? -1 : 1) * x.share, g[3], screw[6], point[6];
      tgi_v3_cross(g, x.u, V[side]);
      tgi_v3_add(g, g, y);
      tgi_v3_scale(g, g, sign * scale);
      tgi_sp_screw(screw, x.at[side], x.u);
      if (gq != NULL && !is_rigid(&s->m, &x)) {
        tgi_add_row_d(s, pose, x.body[side], screw, v, sign * scale, gq);
        tgi_sp_screw(point, x.at[side], g);
        tgi_add_row(s, pose, x.body[side], point, 1, gq);
      }
      tgi_v3_axpy(g, sign * along, x.u);
      if (p != NULL) parameters(s, pose, &x, side, v, screw, sign * scale, g, p);
    }
  }
}
