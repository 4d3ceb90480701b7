// terms.c: see terms.h.
#include "optim/terms.h"

#include <math.h>
#include <string.h>

#include "coll/contacts.h"
#include "contact/rows.h"
#include "kin/kinematics.h"
#include "math/quat.h"

bool tgi_term_is_position(tgTermKind k) { return k == TG_TERM_BODY_POSITION || k == TG_TERM_SITE_POSITION || k == TG_TERM_BODY_COM; }

// that a term of this model may have
static size_t most_rows(const tgModel *m) {
  int n = m->nv > m->nu ? m->nv : m->nu;
  return (size_t)(n > 3 ? n : 3);
}

void tgi_term_rows_place(const tgModel *m, tgTermRows *w, tgLayout *l) {
  size_t n = most_rows(m), nv = (size_t)m->nv;
  w->nz = m->nv + tgi_nw(m) + m->nu;
  w->r = tgi_place(l, n, sizeof *w->r);
  w->slope = tgi_place(l, n, sizeof *w->slope);
  w->curve = tgi_place(l, n, sizeof *w->curve);
  w->J = tgi_place(l, n * (size_t)w->nz, sizeof *w->J);
  w->work = tgi_place(l, 6 * nv + (size_t)m->nq, sizeof *w->work);
  w->first = tgi_place(l, n, sizeof *w->first);
  w->count = tgi_place(l, n, sizeof *w->count);
}

// a row that depends on one column, which is itself; its J is 1
static void unit_row(tgTermRows *w, double r, int column) {
  w->r[w->n] = r;
  w->first[w->n] = column;
  w->count[w->n] = 1;
  w->J[(size_t)w->n * (size_t)w->nz + (size_t)column] = 1;
  w->n++;
}

// a row over `count` columns from 0, zeroed
static double *full_row(tgTermRows *w, double r, int count) {
  double *row = w->J + (size_t)w->n * (size_t)w->nz;
  w->r[w->n] = r;
  w->first[w->n] = 0;
  w->count[w->n] = count;
  memset(row, 0, (size_t)count * sizeof *row);
  w->n++;
  return row;
}

// where a position term looks, and the body that carries the point
static const tgReal *term_point(const tgSim *s, const tgPose *pose, const tgTerm *t, int *body) {
  *body = t->kind == TG_TERM_SITE_POSITION ? s->m.site_body[t->index] : t->index;
  if (t->kind == TG_TERM_SITE_POSITION) return pose->site_xpos + 3 * t->index;
  return (t->kind == TG_TERM_BODY_COM ? pose->xcom : pose->xpos) + 3 * t->index;
}

// r_k = p_k - target_k on the axes asked for
static void position_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  int body, nv = s->m.nv;
  const tgReal *p = term_point(s, pose, t, &body);
  if (derivatives) tgi_point_jacobian(s, pose, body, p, w->work);
  for (int k = 0; k < 3; k++) {
    if (!t->axis[k]) continue;
    double *row = full_row(w, tgRe(p[k]) - t->target[k], derivatives ? nv : 0);
    if (derivatives) memcpy(row, w->work + (3 + k) * nv, (size_t)nv * sizeof *row);
  }
}

// r = p_z - target of a body's origin
static void height_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  int nv = s->m.nv;
  const tgReal *p = pose->xpos + 3 * t->index;
  double *row = full_row(w, tgRe(p[2]) - t->target[0], derivatives ? nv : 0);
  if (!derivatives) return;
  tgi_point_jacobian(s, pose, t->index, p, w->work);
  memcpy(row, w->work + 5 * nv, (size_t)nv * sizeof *row);
}

// r_k = pdot_k - target_k, pdot = V_lin + w x p of the body's origin p:
//   d(e . pdot)/dq_j = (p x e; e) . dV/dq_j + (e x w) . dp/dq_j
static void velocity_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  int nv = s->m.nv;
  const tgReal *p = pose->xpos + 3 * t->index;
  tgReal V[6], pdot[3];
  tgi_body_velocity(s, pose, t->index, s->qvel, V);
  tgi_sp_point_velocity(pdot, V, p);
  if (derivatives) tgi_point_jacobian(s, pose, t->index, p, w->work);
  for (int k = 0; k < 3; k++) {
    if (!t->axis[k]) continue;
    double *row = full_row(w, tgRe(pdot[k]) - t->target[k], derivatives ? 2 * nv : 0);
    if (!derivatives) continue;
    tgReal e[3] = {k == 0, k == 1, k == 2}, screw[6], turn[3];
    tgi_v3_cross(screw, p, e);
    memcpy(screw + 3, e, sizeof e);
    tgi_v3_cross(turn, e, V);
    tgi_add_row_d(s, pose, t->index, screw, s->qvel, 1, row);
    for (int j = 0; j < nv; j++) {
      for (int i = 0; i < 3; i++) row[j] += turn[i] * w->work[(3 + i) * nv + j];
      row[nv + j] = w->work[(3 + k) * nv + j];
    }
  }
}

// r = log(target' R), R exp([d]) being the body turned by d about its own axes: dr = Jr(r)^-1 R' J_angular dq
static void orientation_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  int nv = s->m.nv;
  const tgReal *q = pose->xquat + 4 * t->index, *R = pose->xmat + 9 * t->index, *x = t->target;
  tgReal inverse[4] = {x[0], -x[1], -x[2], -x[3]}, turn[4], r[3], T[9], body[3], d[3];
  tgi_quat_mul(turn, inverse, q);
  tgi_quat_log(r, turn);
  double *row[3];
  for (int k = 0; k < 3; k++) row[k] = full_row(w, tgRe(r[k]), derivatives ? nv : 0);
  if (!derivatives) return;
  tgi_point_jacobian(s, pose, t->index, pose->xpos + 3 * t->index, w->work);
  tgi_so3_jr_inv(T, r);
  for (int j = 0; j < nv; j++) {
    tgReal world[3] = {w->work[j], w->work[nv + j], w->work[2 * nv + j]};
    tgi_m3_tmulv(body, R, world);
    tgi_m3_mulv(d, T, body);
    for (int k = 0; k < 3; k++) row[k][j] = d[k];
  }
}

// r = q (-) reference over the dofs of one joint or of all; rotations by their log, dr = Jr(r)^-1 d
static void pose_rows(tgSim *s, const tgTerm *t, bool derivatives, tgTermRows *w) {
  const tgModel *m = &s->m;
  double *r = w->work;
  int from = t->index < 0 ? 0 : m->jnt_vadr[t->index], to = t->index < 0 ? m->nv : from;
  if (t->index >= 0)
    while (to < m->nv && m->dof_jnt[to] == t->index) to++;
  tg_model_difference(m, t->reference, s->qpos, r);
  for (int d = from; d < to; d++) {
    if (m->dof_grpnum[d] != 3) {
      unit_row(w, r[d], d);
      continue;
    }
    int g = m->dof_grpadr[d];
    double *row = full_row(w, r[d], derivatives ? m->nv : 0);
    if (!derivatives) continue;
    tgReal T[9];
    tgi_so3_jr_inv(T, r + g);
    for (int k = 0; k < 3; k++) row[g + k] = T[3 * (d - g) + k];
  }
}

// the velocities of one joint or of all
static void dof_rows(tgSim *s, const tgTerm *t, tgTermRows *w) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nv; i++)
    if (t->index < 0 || m->dof_jnt[i] == t->index) unit_row(w, tgRe(s->qvel[i]), m->nv + i);
}

static bool drives(const tgModel *m, int actuator, int dof) {
  return m->act_trn[actuator] != TG_TRN_JOINT || m->act_target[actuator] == m->dof_jnt[dof];
}

static bool is_driven(const tgModel *m, int dof) {
  for (int a = 0; a < m->nu; a++)
    if (drives(m, a, dof)) return true;
  return false;
}

// r_i = v_i / sqrt(n) of the n dofs that actuators drive: all of the model's where one pulls at a tendon or at a site
static void speed_rows(tgSim *s, tgTermRows *w) {
  const tgModel *m = &s->m;
  int n = 0;
  for (int i = 0; i < m->nv; i++) n += is_driven(m, i);
  double share = n > 0 ? 1 / sqrt(n) : 0;
  for (int i = 0; i < m->nv; i++) {
    if (!is_driven(m, i)) continue;
    unit_row(w, share * tgRe(s->qvel[i]), m->nv + i);
    w->J[(size_t)(w->n - 1) * (size_t)w->nz + (size_t)(m->nv + i)] = share;
  }
}

static void control_rows(tgSim *s, const tgTerm *t, tgTermRows *w) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++)
    if (t->index < 0 || i == t->index) unit_row(w, tgRe(s->ctrl[i]), m->nv + tgi_nw(m) + i);
}

// rows of a gap that differ by more belong to other motions: metres a metre, or a radian
static const double APART = 1e-9;

// of twists of the geoms the gap's change is D[6], which the dofs of each carry: added to row
static void gap_row(const tgModel *m, const tgPose *pose, const tgTerm *t, const tgContactPoint *point, double *row) {
  for (int side = 0; side < 2; side++)
    for (int d = m->body_lastdof[m->geom_body[side == 0 ? t->index : t->other]]; d >= 0; d = m->dof_parent[d])
      row[d] += tgi_sp_dot(point->D[6] + 6 * side, pose->S + 6 * d);
}

// r = gap - target of two geoms. Where several of their points have as little, each is the nearest after some motion: the row is that of
// the first.
static void gap_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  const tgModel *m = &s->m;
  tgContactPoint point[TG_PAIR_POINTS];
  int n = tgi_geoms_nearest(s, pose, t->index, t->other, derivatives ? TG_COLLIDE_POSE : TG_COLLIDE_POINTS, point);
  double *row = full_row(w, n > 0 ? tgRe(point[0].gap) - t->target[0] : NAN, derivatives ? m->nv : 0), *apart = w->work;
  if (n > 0 && derivatives) gap_row(m, pose, t, &point[0], row);
  for (int i = 1; i < n && derivatives; i++) {
    for (int d = 0; d < m->nv; d++) apart[d] = -row[d];
    gap_row(m, pose, t, &point[i], apart);
    for (int d = 0; d < m->nv; d++) w->tied = w->tied || fabs(apart[d]) > APART;
  }
}

static void fill(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  const tgModel *m = &s->m;
  switch (t->kind) {
    case TG_TERM_JOINT_POSITION:
      unit_row(w, tgRe(s->qpos[m->jnt_qadr[t->index]]) - t->target[0], m->jnt_vadr[t->index]);
      return;
    case TG_TERM_JOINT_VELOCITY:
      unit_row(w, tgRe(s->qvel[m->jnt_vadr[t->index]]) - t->target[0], m->nv + m->jnt_vadr[t->index]);
      return;
    case TG_TERM_VELOCITY: dof_rows(s, t, w); return;
    case TG_TERM_CONTROL: control_rows(s, t, w); return;
    case TG_TERM_SPEED: speed_rows(s, w); return;
    case TG_TERM_POSE: pose_rows(s, t, derivatives, w); return;
    case TG_TERM_HEIGHT: height_rows(s, pose, t, derivatives, w); return;
    case TG_TERM_BODY_VELOCITY: velocity_rows(s, pose, t, derivatives, w); return;
    case TG_TERM_BODY_ORIENTATION: orientation_rows(s, pose, t, derivatives, w); return;
    case TG_TERM_GAP: gap_rows(s, pose, t, derivatives, w); return;
    default: position_rows(s, pose, t, derivatives, w); return;
  }
}

double tgi_term_rows(tgSim *s, const tgPose *pose, const tgTerm *t, bool derivatives, tgTermRows *w) {
  double value = 0;
  w->n = 0;
  w->tied = false;
  fill(s, pose, t, derivatives, w);
  for (int k = 0; k < w->n; k++) {
    double r = w->r[k], sign = t->kind != TG_TERM_HEIGHT ? 1 : r > 0 ? -1 : r < 0 ? 1 : 0;
    value += sign * (r * r);
    w->slope[k] = sign * 2 * r;
    w->curve[k] = sign > 0 ? 2 : 0;
  }
  if (t->tolerance <= 0) return value;
  // max(0, r . r - tolerance^2): within the tolerance, and on its edge, nothing is asked for
  if (value > t->tolerance * t->tolerance) return value - t->tolerance * t->tolerance;
  for (int k = 0; k < w->n; k++) w->slope[k] = w->curve[k] = 0;
  return 0;
}

// sum over the axes asked for of scale * slope, as a world vector
static void world_slope(const tgTerm *t, const tgTermRows *w, double scale, tgReal g[3]) {
  int row = 0;
  for (int k = 0; k < 3; k++) g[k] = t->kind == TG_TERM_BODY_ORIENTATION || t->axis[k] ? scale * w->slope[row++] : 0;
}

// L = g . (V_lin + w x p): the axes carry (p x g; g), the point moves by (g x w)
static void velocity_parameters(tgSim *s, const tgPose *pose, const tgTerm *t, const tgReal g[3], tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *x = pose->xpos + 3 * t->index;
  tgReal V[6], screw[6], bar[6], turn[3];
  tgi_sp_screw(screw, x, g);
  for (int d = m->body_lastdof[t->index]; d >= 0; d = m->dof_parent[d]) {
    for (int i = 0; i < 6; i++) bar[i] = s->qvel[d] * screw[i];
    tgi_param_axis(p, d, bar);
  }
  tgi_body_velocity(s, pose, t->index, s->qvel, V);
  tgi_v3_cross(turn, g, V);
  tgi_sp_screw(screw, x, turn);
  tgi_param_pose(p, t->index, screw);
}

// through the places of bodies and geoms, sizes and vertices
static void gap_parameters(tgSim *s, const tgPose *pose, const tgTerm *t, double scale, tgTermRows *w, tgParamGrad *p) {
  tgContactPoint point[TG_PAIR_POINTS];
  tgCollide want = tgi_size_parameters_want(p);
  tgReal bar[7] = {0}, wrench[6];
  const int geom[2] = {t->index, t->other};
  tgi_term_rows(s, pose, t, false, w);
  if (tgi_geoms_nearest(s, pose, t->index, t->other, want == TG_COLLIDE_POINTS ? TG_COLLIDE_POSE : want, point) <= 0) return;
  bar[6] = scale * w->slope[0];
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < 6; i++) wrench[i] = bar[6] * point[0].D[6][6 * side + i];
    tgi_param_pose(p, s->m.geom_body[geom[side]], wrench);
    tgi_geom_parameters(s, pose, geom[side], wrench, p);
  }
  if (want != TG_COLLIDE_POINTS) tgi_point_size_parameters(s, pose, geom, &point[0], bar, p);
  tgi_place_vjp(s, pose, p, NULL);
}

void tgi_term_parameters(tgSim *s, const tgPose *pose, const tgTerm *t, double scale, tgTermRows *w, tgParamGrad *p) {
  tgReal g[3] = {0, 0, 0}, screw[6] = {0, 0, 0, 0, 0, 0}, local[3], T[9];
  int body = t->index;
  if (t->kind == TG_TERM_GAP) {
    gap_parameters(s, pose, t, scale, w, p);
    return;
  }
  if (!tgi_term_is_position(t->kind) && t->kind != TG_TERM_HEIGHT && t->kind != TG_TERM_BODY_VELOCITY &&
      t->kind != TG_TERM_BODY_ORIENTATION)
    return;
  tgi_term_rows(s, pose, t, true, w);
  if (t->kind == TG_TERM_HEIGHT) g[2] = scale * w->slope[0];
  else world_slope(t, w, scale, g);
  if (t->kind == TG_TERM_BODY_VELOCITY) {
    velocity_parameters(s, pose, t, g, p);
  } else if (t->kind == TG_TERM_BODY_ORIENTATION) {
    // dr = Jr(r)^-1 R' w
    tgi_so3_jr_inv(T, w->r);
    tgi_m3_tmulv(local, T, g);
    tgi_m3_mulv(screw, pose->xmat + 9 * body, local);
    tgi_param_pose(p, body, screw);
  } else {
    const tgReal *x = t->kind == TG_TERM_HEIGHT ? pose->xpos + 3 * body : term_point(s, pose, t, &body);
    tgi_sp_screw(screw, x, g);
    tgi_param_pose(p, body, screw);
    tgi_m3_tmulv(local, pose->xmat + 9 * body, g);
    if (t->kind == TG_TERM_SITE_POSITION && p->site_pos != NULL) tgi_v3_add(p->site_pos + 3 * t->index, p->site_pos + 3 * t->index, local);
    if (t->kind == TG_TERM_BODY_COM && p->body_com != NULL) tgi_v3_add(p->body_com + 3 * body, p->body_com + 3 * body, local);
  }
  tgi_place_vjp(s, pose, p, NULL);
}
