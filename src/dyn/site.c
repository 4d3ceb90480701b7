// site.c: actuators that push at a site. See forces.h.
//
// Based on: MuJoCo's documentation of site transmissions [mujoco computation]. The gear g is a force and a couple at the site, in its own
// axes, or in those of a reference site against which it pushes. With F, T the two in world axes and screws W = (p x F + T; F) at the site
// and at its reference, the moment of a dof is S . W_site where it moves the site alone, -S . W_ref where it moves the reference alone,
// else 0. The length is F . (p - p_ref) plus the couple's gear times the rotation vector from one to the other; 0 without a reference.
// One of the two bodies carries the other (tgi_check_desc), so that the dofs between them are on one way to the root.
#include "dyn/forces.h"
#include "math/quat.h"

static const tgReal *quat_of(const tgModel *m, const tgPose *pose, int site, tgReal *q) {
  tgi_quat_mul(q, pose->xquat + 4 * m->site_body[site], m->site_quat + 4 * site);
  return q;
}

// the rotation vector r from the reference to the site, and how the couple's length changes with a turn of the site, world axes
static tgReal turned(const tgModel *m, const tgPose *pose, int site, int ref, const tgReal *gear, tgReal *r, tgReal *by_turn) {
  tgReal q[4], p[4], rel[4], J[9], g[3];
  quat_of(m, pose, site, q);
  quat_of(m, pose, ref, p);
  for (int k = 1; k < 4; k++) p[k] = -p[k];
  tgi_quat_mul(rel, p, q);
  tgi_quat_normalize(rel);
  tgi_quat_log(r, rel);
  tgi_so3_jr_inv(J, r);
  tgi_m3_tmulv(g, J, gear);
  tgi_m3_mulv(by_turn, pose->site_xmat + 9 * site, g);
  return tgi_v3_dot(r, gear);
}

void tgi_site_pull(const tgModel *m, const tgPose *pose, int i, tgiSitePull *x) {
  const tgReal *gear = m->act_gear + 6 * i;
  const int site[2] = {m->act_target[i], m->act_refsite[i]};
  *x = (tgiSitePull){.has_ref = site[1] >= 0, .site = {site[0], site[1]}};
  x->R = pose->site_xmat + 9 * site[x->has_ref];
  tgi_m3_mulv(x->F, x->R, gear);
  tgi_m3_mulv(x->T, x->R, gear + 3);
  for (int k = 0; k < 1 + x->has_ref; k++) {
    x->body[k] = m->site_body[site[k]];
    tgi_v3_copy(x->p[k], pose->site_xpos + 3 * site[k]);
    tgi_sp_screw(x->W[k], x->p[k], x->F);
    tgi_v3_add(x->W[k], x->W[k], x->T);
  }
  if (!x->has_ref) return;
  tgi_v3_sub(x->arm, x->p[0], x->p[1]);
  x->length = tgi_v3_dot(x->F, x->arm) + turned(m, pose, site[0], site[1], gear + 3, x->r, x->by_turn);
}

bool tgi_site_next(const tgModel *m, const tgPose *pose, const tgiSitePull *x, tgiSiteTerm *t) {
  for (;;) {
    t->dof = t->begun ? m->dof_parent[t->dof] : m->body_lastdof[x->body[t->side]];
    t->begun = true;
    if (t->dof >= 0 && x->has_ref && tgi_dof_moves(m, t->dof, x->body[1 - t->side])) t->dof = -1;   // and so the rest of the way
    if (t->dof >= 0) {
      t->sign = t->side == 0 ? 1 : -1;
      t->moment = t->sign * tgi_sp_dot(pose->S + 6 * t->dof, x->W[t->side]);
      return true;
    }
    if (!x->has_ref || t->side == 1) return false;
    *t = (tgiSiteTerm){.side = 1};
  }
}

tgReal tgi_site_slope(const tgPose *pose, const tgiSitePull *x, const tgiSiteTerm *t) {
  const tgReal *S = pose->S + 6 * t->dof;
  tgReal v[3], turn[3];
  if (!x->has_ref) return 0;
  tgi_sp_point_velocity(v, S, x->p[t->side]);
  tgReal slope = t->sign * (tgi_v3_dot(x->F, v) + tgi_v3_dot(x->by_turn, S));
  if (t->side == 0) return slope;
  tgi_v3_cross(turn, S, x->F);
  return slope + tgi_v3_dot(turn, x->arm);
}

tgReal tgi_site_curve(const tgModel *m, const tgPose *pose, const tgiSitePull *x, const tgiSiteTerm *t, int j) {
  const tgReal *Si = pose->S + 6 * t->dof, *Sj = pose->S + 6 * j;
  tgReal dp[3], dF[3], c[3], dW[6], t6[6];
  tgi_sp_zero(dW);
  tgi_sp_point_velocity(dp, Sj, x->p[t->side]);
  tgi_v3_cross(dW, dp, x->F);
  if (x->has_ref == (t->side == 1)) {        // the axes turn too
    tgi_v3_cross(dF, Sj, x->F);
    tgi_v3_copy(dW + 3, dF);
    tgi_v3_cross(c, x->p[t->side], dF);
    tgi_v3_add(dW, dW, c);
    tgi_v3_cross(c, Sj, x->T);
    tgi_v3_add(dW, dW, c);
  }
  tgReal sum = tgi_sp_dot(Si, dW);
  if (j < m->dof_grpadr[t->dof] + m->dof_grpnum[t->dof]) {
    tgi_sp_cross_m(t6, Sj, Si);
    sum += tgi_sp_dot(t6, x->W[t->side]);
  }
  return t->sign * sum;
}

tgReal tgi_site_rate(const tgModel *m, const tgPose *pose, const tgiSitePull *x, const tgReal *v, int j) {
  tgReal sum = 0;
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, x, &t);)
    sum += v[t.dof] * (j < 0 ? t.moment : tgi_site_curve(m, pose, x, &t, j));
  return sum;
}

// ---- adjoint of L = sum c_i moment_i + along length ----

// of the place of side k's site
static void add_place(const tgPose *pose, const tgiSitePull *x, int k, const tgReal *g, tgReal scale, tgParamGrad *p) {
  int body = x->body[k];
  const tgReal *at = x->p[k];
  tgReal w[6], r[3];
  if (p->site_pos != NULL) {
    tgi_m3_tmulv(r, pose->xmat + 9 * body, g);
    tgi_v3_axpy(p->site_pos + 3 * x->site[k], scale, r);
  }
  tgi_sp_screw(w, at, g);
  for (int i = 0; i < 6; i++) w[i] *= scale;
  tgi_param_pose(p, body, w);
}

static void add_turn(tgParamGrad *p, int body, const tgReal *couple, tgReal scale) {
  tgReal w[6] = {scale * couple[0], scale * couple[1], scale * couple[2], 0, 0, 0};
  tgi_param_pose(p, body, w);
}

// of c_i moment_i alone: axes, gradients in F and T, and in the place of the screw
static void moment_parameters(const tgModel *m, const tgPose *pose, const tgiSitePull *x, const tgReal *c, tgReal *gF, tgReal *gT,
                              tgParamGrad *p) {
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, x, &t);) {
    const tgReal *S = pose->S + 6 * t.dof;
    tgReal scale = t.sign * c[t.dof], v[3], g[3], bar[6] = {0};
    tgi_sp_point_velocity(v, S, x->p[t.side]);
    tgi_v3_axpy(gF, scale, v);
    tgi_v3_axpy(gT, scale, S);
    tgi_sp_axpy(bar, scale, x->W[t.side]);
    tgi_param_axis(p, t.dof, bar);
    tgi_v3_cross(g, x->F, S);
    add_place(pose, x, t.side, g, scale, p);
  }
}

void tgi_site_parameters(const tgModel *m, const tgPose *pose, int i, const tgiSitePull *x, const tgReal *c, tgReal along, tgParamGrad *p) {
  tgReal gF[3] = {0}, gT[3] = {0}, g[3], t[3];
  moment_parameters(m, pose, x, c, gF, gT, p);
  if (x->has_ref) {
    tgi_v3_axpy(gF, along, x->arm);
    for (int k = 0; k < 2; k++) {
      add_place(pose, x, k, x->F, k == 0 ? along : -along, p);
      add_turn(p, x->body[k], x->by_turn, k == 0 ? along : -along);
    }
  }
  tgi_v3_cross(t, x->F, gF);
  add_turn(p, x->body[x->has_ref], t, 1);
  tgi_v3_cross(t, x->T, gT);
  add_turn(p, x->body[x->has_ref], t, 1);
  if (p->act_gear == NULL) return;
  tgi_m3_tmulv(g, x->R, gF);
  tgi_v3_add(p->act_gear + 6 * i, p->act_gear + 6 * i, g);
  tgi_m3_tmulv(g, x->R, gT);
  tgi_v3_axpy(g, x->has_ref ? along : 0, x->r);
  tgi_v3_add(p->act_gear + 6 * i + 3, p->act_gear + 6 * i + 3, g);
}
