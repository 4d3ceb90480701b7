// place_vjp.c: from the adjoints of axes and poses to the parameters that place bodies and joints. See kinematics.h.
//
// X_b pairs with a twist of body b's frame (axes held), S_d with the axis of dof d (poses held). From the leaves to the root, K being the
// force of all that moves with the frame at hand:
//   a joint with anchor p = R_before jnt_pos: turning about it leaves x = p_world - R_after jnt_pos, so
//     d/d jnt_pos = R_before' (sum a_k x S_k.v) + (R_before - R_after)' K.f,
//   its axis a: the world turns by R_after Jr(theta a) theta da about the anchor, and S = (a; p x a) by da itself,
//   a group's axes turn with the frame before it: K += S_d x* S_d-adjoint,
//   body_pos: R_parent' K.f;   body_quat: the turn R_0 delta about the frame's own place, delta with dq = q delta/2.
#include "kin/kinematics.h"

#include "math/quat.h"

// g4 += gradient along the unit sphere at q of L, with dL = delta . g, dq = q (0, delta)/2
void tgi_quat_gradient(const tgReal *q, const tgReal *g, tgReal *g4) {
  tgReal w[4] = {0, g[0], g[1], g[2]}, r[4];
  tgi_quat_mul(r, q, w);
  for (int i = 0; i < 4; i++) g4[i] += 2 * r[i];
}

// torque of the force K about the point
static void torque_about(const tgReal *K, const tgReal *point, tgReal *t) {
  tgi_v3_cross(t, point, K + 3);
  for (int i = 0; i < 3; i++) t[i] = K[i] - t[i];
}

static void add_transposed(tgReal *out, const tgReal *R, const tgReal *x) {
  tgReal r[3];
  tgi_m3_tmulv(r, R, x);
  tgi_v3_add(out, out, r);
}

// gradient of a unit axis: without its part along the axis
static void add_tangential(tgReal *out, const tgReal *axis, const tgReal *g) {
  tgReal along = tgi_v3_dot(axis, g);
  for (int i = 0; i < 3; i++) out[i] += g[i] - along * axis[i];
}

// Ra: the frame after the joint on entry, before it on return
static void joint_frame(const tgSim *s, int j, const tgReal *qpos, tgReal *R, tgReal *angle) {
  const tgModel *m = &s->m;
  const tgReal *q = qpos + m->jnt_qadr[j];
  tgReal dq[4], D[9], t[9];
  *angle = 0;
  if (m->jnt_type[j] == TG_JOINT_SLIDE) *angle = q[0] - m->qpos0[m->jnt_qadr[j]];
  if (m->jnt_type[j] == TG_JOINT_SLIDE) return;
  if (m->jnt_type[j] == TG_JOINT_BALL) {
    for (int i = 0; i < 4; i++) dq[i] = q[i];
    tgi_quat_normalize(dq);
  } else {
    *angle = q[0] - m->qpos0[m->jnt_qadr[j]];
    tgi_quat_axis_angle(dq, m->jnt_axis + 3 * j, *angle);
  }
  tgi_quat_to_mat(D, dq);
  tgi_m3_mult(t, R, D);
  tgi_m3_copy(R, t);
}

// what the placement of joint j costs, K the force of all after it, its own axes apart
static void joint_parameters(const tgSim *s, const tgPose *pose, int j, const tgReal *Rafter, const tgReal *Rbefore,
                             tgReal angle, const tgReal *anchor, const tgReal *K, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j], n = m->jnt_type[j] == TG_JOINT_BALL ? 3 : 1;
  bool slides = m->jnt_type[j] == TG_JOINT_SLIDE;
  tgReal x[3], t[3], g[3], back[3];
  if (p->jnt_pos != NULL && !slides) {
    tgReal *out = p->jnt_pos + 3 * j;
    for (int k = 0; k < n; k++) {
      tgi_v3_cross(x, pose->S + 6 * (d + k), p->S + 6 * (d + k) + 3);
      add_transposed(out, Rbefore, x);
    }
    add_transposed(out, Rbefore, K + 3);
    tgi_m3_tmulv(back, Rafter, K + 3);
    tgi_v3_sub(out, out, back);
  }
  if (p->jnt_axis == NULL || n == 3) return;
  const tgReal *axis = m->jnt_axis + 3 * j, *bar = p->S + 6 * d;
  tgi_v3_zero(g);
  if (slides) {
    for (int i = 0; i < 3; i++) x[i] = bar[3 + i] + angle * K[3 + i];
    add_transposed(g, Rbefore, x);
  } else {
    tgi_v3_cross(x, bar + 3, anchor);
    tgi_v3_add(x, x, bar);
    add_transposed(g, Rbefore, x);
    tgReal w[3], J[9];
    torque_about(K, anchor, t);
    tgi_m3_tmulv(x, Rafter, t);
    tgi_v3_scale(w, axis, angle);
    tgi_so3_jr(J, w);
    tgi_m3_tmulv(t, J, x);
    tgi_v3_axpy(g, angle, t);
  }
  add_tangential(p->jnt_axis + 3 * j, axis, g);
}

// the joints of body b from the last to the first; K and R (its frame's orientation) become those before them
static void body_joints(const tgSim *s, const tgPose *pose, int b, tgReal *K, tgReal *R, tgReal *pos, tgParamGrad *p, tgReal *gq) {
  const tgModel *m = &s->m;
  for (int k = m->body_jntnum[b] - 1; k >= 0; k--) {
    int j = m->body_jntadr[b] + k, d = m->jnt_vadr[j], type = m->jnt_type[j], n = type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
    tgReal Rafter[9], anchor[3], r[3], angle, t[6];
    tgi_m3_copy(Rafter, R);
    tgi_m3_mulv(r, R, m->jnt_pos + 3 * j);
    tgi_v3_add(anchor, pos, r);
    if (type != TG_JOINT_FREE) {
      joint_frame(s, j, pose->q, R, &angle);
      joint_parameters(s, pose, j, Rafter, R, angle, anchor, K, p);
      // the frame's place before the joint
      if (type == TG_JOINT_SLIDE) {
        tgi_v3_axpy(pos, -angle, pose->S + 6 * d + 3);
      } else {
        tgi_m3_mulv(r, R, m->jnt_pos + 3 * j);
        tgi_v3_sub(pos, anchor, r);
      }
    }
    for (int e = d + n - 1; e >= d;) {
      int g = m->dof_grpadr[e];
      for (int i = g; i <= e; i++) {
        tgi_sp_cross_f(t, pose->S + 6 * i, p->S + 6 * i);
        tgi_sp_axpy(K, 1, t);
      }
      if (gq != NULL)
        for (int i = g; i <= e; i++) gq[i] += tgi_sp_dot(pose->S + 6 * i, K);
      e = g - 1;
    }
    if (type == TG_JOINT_FREE) tgi_sp_zero(K);  // its frame is qpos alone, wherever the file put the body
  }
}

void tgi_place_vjp(const tgSim *s, const tgPose *pose, tgParamGrad *p, tgReal *gq) {
  const tgModel *m = &s->m;
  for (int b = m->nbody - 1; b > 0; b--) {
    int parent = m->body_parent[b];
    tgReal *K = p->X + 6 * b, R[9], pos[3], t[3], g[3];
    tgi_m3_copy(R, pose->xmat + 9 * b);
    tgi_v3_copy(pos, pose->xpos + 3 * b);
    body_joints(s, pose, b, K, R, pos, p, gq);
    if (p->body_pos != NULL) add_transposed(p->body_pos + 3 * b, pose->xmat + 9 * parent, K + 3);
    if (p->body_quat != NULL) {
      torque_about(K, pos, t);
      tgi_m3_tmulv(g, R, t);
      tgi_quat_gradient(m->body_quat + 4 * b, g, p->body_quat + 4 * b);
    }
    tgi_sp_axpy(p->X + 6 * parent, 1, K);
  }
  for (int i = 0; i < 6 * m->nv; i++) p->S[i] = 0;
  for (int i = 0; i < 6 * m->nbody; i++) p->X[i] = 0;
}
