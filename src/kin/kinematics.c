// kinematics.c: frames, motion axes and tendon lengths at coordinates q. See kinematics.h.
//
// A body's frame is its parent's times (pos, quat), then moved by its joints in order, each about its own anchor and
// axis in the frame as the earlier ones left it (MuJoCo's convention). q is measured from qpos0, except a ball's and a
// free joint's quaternion, which are taken as they are.
#include "kin/kinematics.h"

#include "kin/tendon.h"
#include "math/quat.h"

// frame of a body while its joints are applied
typedef struct Frame { tgReal pos[3], quat[4]; } Frame;

// most anchors are the frame's origin, where a turn moves nothing; the imaginary parts carry a derivative in jnt_pos
static bool at_origin(const tgReal *local) {
  for (int i = 0; i < 3; i++)
    if (!tgZero(local[i])) return false;
  return true;
}

// no turn, in the imaginary parts neither
static bool is_unturned(const tgReal *quat) { return tgZero(quat[0] - 1) && at_origin(quat + 1); }

// world position of the anchor
static void place_anchor(const Frame *f, const tgReal *local, tgReal *anchor) {
  tgi_v3_copy(anchor, f->pos);
  if (at_origin(local)) return;
  tgReal r[3];
  tgi_quat_rotate(r, f->quat, local);
  tgi_v3_add(anchor, anchor, r);
}

// turns the frame by the local rotation dq about the anchor, which stays where it is
static void turn(Frame *f, const tgReal *dq, const tgReal *local, const tgReal *anchor) {
  tgi_quat_mul(f->quat, f->quat, dq);
  if (at_origin(local)) return;
  tgReal r[3];
  tgi_quat_rotate(r, f->quat, local);
  tgi_v3_sub(f->pos, anchor, r);
}

// three rotation axes of a group that turns with the body: its own axes through the anchor
static void ball_axes(const Frame *f, const tgReal *anchor, tgReal *S) {
  tgReal R[9], a[3];
  tgi_quat_to_mat(R, f->quat);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(a, R, k);
    tgi_v3_copy(S + 6 * k, a);
    tgi_v3_cross(S + 6 * k + 3, anchor, a);
  }
}

static void read_quat(tgReal *r, const tgReal *q) {
  for (int i = 0; i < 4; i++) r[i] = q[i];
  tgi_quat_normalize(r);
}

static void apply_free(const tgReal *q, Frame *f, tgReal *S) {
  tgi_v3_copy(f->pos, q);
  read_quat(f->quat, q + 3);
  for (int k = 0; k < 3; k++) {
    tgi_sp_zero(S + 6 * k);
    S[6 * k + 3 + k] = 1;
  }
  ball_axes(f, f->pos, S + 18);
}

// moves f by joint j and writes the axes of its dofs
static void apply_joint(const tgModel *m, int j, const tgReal *qpos, Frame *f, tgReal *S) {
  const tgReal *q = qpos + m->jnt_qadr[j], *local = m->jnt_pos + 3 * j;
  tgReal anchor[3], axis[3], dq[4], d;
  if (m->jnt_type[j] == TG_JOINT_FREE) {
    apply_free(q, f, S);
    return;
  }
  place_anchor(f, local, anchor);
  if (m->jnt_type[j] == TG_JOINT_BALL) {
    read_quat(dq, q);
    turn(f, dq, local, anchor);
    ball_axes(f, anchor, S);
    return;
  }
  tgi_quat_rotate(axis, f->quat, m->jnt_axis + 3 * j);
  d = q[0] - m->qpos0[m->jnt_qadr[j]];
  if (m->jnt_type[j] == TG_JOINT_SLIDE) {
    tgi_v3_zero(S);
    tgi_v3_copy(S + 3, axis);
    tgi_v3_axpy(f->pos, d, axis);
  } else {
    tgi_v3_copy(S, axis);
    tgi_v3_cross(S + 3, anchor, axis);
    tgi_quat_axis_angle(dq, m->jnt_axis + 3 * j, d);
    turn(f, dq, local, anchor);
  }
}

static void body_frame(const tgModel *m, tgPose *pose, int b) {
  int p = m->body_parent[b];
  Frame f;
  tgReal r[3];
  tgi_m3_mulv(r, pose->xmat + 9 * p, m->body_pos + 3 * b);
  tgi_v3_add(f.pos, pose->xpos + 3 * p, r);
  if (is_unturned(m->body_quat + 4 * b))
    for (int i = 0; i < 4; i++) f.quat[i] = pose->xquat[4 * p + i];
  else tgi_quat_mul(f.quat, pose->xquat + 4 * p, m->body_quat + 4 * b);
  for (int k = 0; k < m->body_jntnum[b]; k++) {
    int j = m->body_jntadr[b] + k;
    apply_joint(m, j, pose->q, &f, pose->S + 6 * m->jnt_vadr[j]);
  }
  tgi_v3_copy(pose->xpos + 3 * b, f.pos);
  for (int i = 0; i < 4; i++) pose->xquat[4 * b + i] = f.quat[i];
  tgi_quat_to_mat(pose->xmat + 9 * b, f.quat);
  tgi_m3_mulv(r, pose->xmat + 9 * b, m->body_com + 3 * b);
  tgi_v3_add(pose->xcom + 3 * b, f.pos, r);
}

static void attached_place(const tgPose *pose, int b, const tgReal *pos, tgReal *xpos) {
  tgReal r[3];
  tgi_v3_copy(xpos, pose->xpos + 3 * b);
  if (at_origin(pos)) return;
  tgi_m3_mulv(r, pose->xmat + 9 * b, pos);
  tgi_v3_add(xpos, xpos, r);
}

static void attached_axes(const tgPose *pose, int b, const tgReal *quat, tgReal *xmat) {
  tgReal q[4];
  if (is_unturned(quat)) {
    for (int i = 0; i < 9; i++) xmat[i] = pose->xmat[9 * b + i];
    return;
  }
  tgi_quat_mul(q, pose->xquat + 4 * b, quat);
  tgi_quat_to_mat(xmat, q);
}

// world pose of something fixed in a body: much has the body's own place or axes
static void attached_frame(const tgPose *pose, int b, const tgReal *pos, const tgReal *quat, tgReal *xpos, tgReal *xmat) {
  attached_place(pose, b, pos, xpos);
  attached_axes(pose, b, quat, xmat);
}

static void geom_frame(const tgModel *m, tgPose *pose, int g) {
  attached_frame(pose, m->geom_body[g], m->geom_pos + 3 * g, m->geom_quat + 4 * g, pose->geom_xpos + 3 * g, pose->geom_xmat + 9 * g);
}

static void world_frame(tgPose *pose) {
  tgi_v3_zero(pose->xpos);
  tgi_v3_zero(pose->xcom);
  tgi_m3_identity(pose->xmat);
  for (int i = 0; i < 4; i++) pose->xquat[i] = i == 0;
}

// of bodies from below `stop` to b
static void way_frames(const tgModel *m, tgPose *pose, int b, int stop) {
  if (b == stop) return;
  way_frames(m, pose, m->body_parent[b], stop);
  body_frame(m, pose, b);
}

void TGI_ISA(tgi_kinematics_geom)(const tgModel *m, int g, int stop, tgPose *pose) {
  if (stop == 0) world_frame(pose);
  way_frames(m, pose, m->geom_body[g], stop);
  geom_frame(m, pose, g);
}

void TGI_ISA(tgi_kinematics)(const tgModel *m, const tgReal *q, tgPose *pose) {
  TGI_ISA(tgi_kinematics_bodies)(m, q, pose);
  for (int d = 0; d < m->nv; d++)
    for (int k = 0; k < 6; k++) pose->ST[k * (m->nv + 3) + d] = pose->S[6 * d + k];
  for (int g = 0; g < m->ngeom; g++) geom_frame(m, pose, g);
}

void TGI_ISA(tgi_kinematics_bodies)(const tgModel *m, const tgReal *q, tgPose *pose) {
  for (int i = 0; i < m->nq; i++) pose->q[i] = q[i];
  world_frame(pose);
  for (int b = 1; b < m->nbody; b++) body_frame(m, pose, b);
  for (int i = 0; i < m->nsite; i++)
    attached_frame(pose, m->site_body[i], m->site_pos + 3 * i, m->site_quat + 4 * i, pose->site_xpos + 3 * i, pose->site_xmat + 9 * i);
  for (int t = 0; t < m->ntendon; t++) {
    // length = sum coef q, q itself and not its difference from qpos0
    tgReal length = 0;
    for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++)
      length += m->wrap_coef[w] * q[m->jnt_qadr[m->wrap_jnt[w]]];
    pose->ten_length[t] = tgi_is_spatial(m, t) ? tgi_strands_length(m, pose, t) : length;
  }
}
