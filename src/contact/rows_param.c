// rows_param.c: the parameters behind the constraint rows: limits, bounces, anchors, ranges, coefficients, the geoms' places. See rows.h.
#include "contact/rows.h"

#include <stdio.h>

#include "coll/contacts.h"
#include "coll/features/feature.h"
#include "kin/kinematics.h"
#include "math/quat.h"

static void add_rotated(tgReal *out, const tgReal *R, const tgReal *g) {
  tgReal r[3];
  tgi_m3_tmulv(r, R, g);
  tgi_v3_add(out, out, r);
}

void tgi_geom_parameters(const tgSim *s, const tgPose *pose, int g, const tgReal twist[6], tgParamGrad *p) {
  const tgModel *m = &s->m;
  if (p->geom_pos != NULL) add_rotated(p->geom_pos + 3 * g, pose->xmat + 9 * m->geom_body[g], twist + 3);
  if (p->geom_quat == NULL) return;
  tgReal t[3], local[3];
  tgi_v3_cross(t, pose->geom_xpos + 3 * g, twist + 3);
  tgi_v3_sub(t, twist, t);
  tgi_m3_tmulv(local, pose->geom_xmat + 9 * g, t);
  tgi_quat_gradient(m->geom_quat + 4 * g, local, p->geom_quat + 4 * g);
}

void tgi_row_gap_parameters(const tgSim *s, const tgPose *pose, int row, tgReal g, tgParamGrad *p) {
  int owner = s->rows->owner[row], part = s->rows->part[row];
  if (s->rows->kind[row] == TG_ROW_LIMIT) {
    tgReal *range = part < 2 ? p->jnt_range : p->ten_range;
    if (range != NULL) range[2 * owner + part % 2] += part % 2 == 0 ? -g : g;
    if (tgi_strands_sign(s, row) != 0) tgi_strands_vjp(s, pose, owner, pose->vel, 0, tgi_strands_sign(s, row) * g, NULL, p);
  } else {
    tgiTie t;
    tgi_tie(&s->m, owner, pose->q, &t);
    tgi_tie_parameters(owner, &t, g, 0, p);
  }
}

static tgReal *at(tgReal *array, int i) { return array != NULL ? array + i : NULL; }

// where the gradient of the friction t of a pair's contacts goes; NULL: it is not asked for
static tgReal *friction_at(const tgSim *s, int pair, int t, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int geom, own = m->pair_own[pair];
  t = tgi_friction_number(s, t);
  tgi_pair_friction(m, pair, t, &geom);
  if (geom >= 0) return t < 2 ? at(p->geom_friction, geom) : at(p->geom_spinfriction, 2 * geom + (t > 2));
  return t < 2 ? at(p->pair_friction, 2 * own + t) : at(p->pair_spinfriction, 3 * own + t - 2);
}

void tgi_rows_limit_parameters(tgSim *s, const tgReal *y, tgParamGrad *p) {
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i], part = s->rows->part[i];
    if (s->rows->kind[i] == TG_ROW_TANGENT) {
      tgReal *bar = friction_at(s, s->contact[owner].pair, part - 1, p);
      if (bar != NULL) *bar += y[i];
    } else if (s->rows->kind[i] == TG_ROW_FRICTION) {
      tgReal *loss = part == 0 ? p->dof_frictionloss : p->ten_frictionloss;
      if (loss != NULL) loss[owner] += s->dt * y[i];
    }
  }
}

void tgi_rows_bounce_parameters(tgSim *s, const tgReal *y, tgParamGrad *p) {
  const tgModel *m = &s->m;
  for (int i = 0; i < s->nrow; i++) {
    if (!(tgRe(s->rows->bounce[i]) > 0) && !(s->rebounds && tgRe(s->rows->rebound[i]) > 0)) continue;
    int pair = s->contact[s->rows->owner[i]].pair, geom;
    tgi_pair_restitution(m, pair, &geom);
    if (geom >= 0 && p->geom_restitution != NULL) p->geom_restitution[geom] += y[i];
    if (geom < 0 && p->pair_restitution != NULL) p->pair_restitution[m->pair_own[pair]] += y[i];
  }
}

static void add_size(const tgSim *s, const int geom[2], const tgContactPoint *point, const tgReal bar[7], tgParamGrad *p) {
  for (int side = 0; side < 2; side++) {
    int g = geom[side];
    tgReal *out = s->m.geom_type[g] == TG_GEOM_MESH ? p->geom_scale : p->geom_size;
    for (int k = 0; k < 3 && out != NULL; k++)
      for (int r = 0; r < 7; r++) out[3 * g + k] += point->Ds[r][3 * side + k] * bar[r];
  }
}

// through the parts of hulls behind the point to their vertices
static void add_vertices(const tgSim *s, const tgPose *pose, const int geom[2], const tgContactPoint *point, const tgReal bar[7],
                         tgReal *out) {
  const tgModel *m = &s->m;
  tgHull scaled;
  for (int side = 0; side < 2; side++) {
    int hull = m->geom_hull[geom[side]];
    if (hull < 0) continue;
    tgShape S = tgi_geom_shape(s, pose, geom[side], side, &scaled);
    for (int face = 0; face < 2; face++) {
      tgReal g[6] = {0};
      for (int k = 0; k < 6; k++)
        for (int r = 0; r < 7; r++) g[k] += point->Dp[r][12 * side + 6 * face + k] * bar[r];
      tgi_hull_part_vjp(&S, face == 1, point->part[2 * side + face], g, g + 3, out + 3 * m->hull_vertadr[hull]);
    }
  }
}

tgCollide tgi_size_parameters_want(const tgParamGrad *p) {
  if (p->hull_vert != NULL) return TG_COLLIDE_VERTEX;
  return p->geom_size != NULL || p->geom_scale != NULL ? TG_COLLIDE_SIZE : TG_COLLIDE_POINTS;
}

void tgi_point_size_parameters(const tgSim *s, const tgPose *pose, const int geom[2], const tgContactPoint *point, const tgReal bar[7],
                               tgParamGrad *p) {
  add_size(s, geom, point, bar, p);
  if (p->hull_vert != NULL) add_vertices(s, pose, geom, point, bar, p->hull_vert);
}

tgStatus tgi_rows_size_parameters(tgSim *s, const tgPose *pose, tgParamGrad *p) {
  tgContactPoint point[TG_PAIR_POINTS];
  tgCollide want = tgi_size_parameters_want(p);
  int status = TG_OK;
  for (int i = 0; i < s->ncon;) {
    int end = i, count = 0;
    bool active = false;
    for (; end < s->ncon && s->contact[end].pair == s->contact[i].pair; end++) active = active || s->contact[end].row >= 0;
    if (active && want != TG_COLLIDE_POINTS && status >= 0) count = tgi_contacts_pair_d(s, pose, i, want, point);
    if (count < 0) status = count;
    for (int k = i; k < end; k++) {
      tgContactRow *c = &s->contact[k];
      if (k - i < count) tgi_point_size_parameters(s, pose, (int[]){c->geom1, c->geom2}, &point[k - i], c->bar, p);
      for (int r = 0; r < 7; r++) c->bar[r] = 0;
    }
    i = end;
  }
  return status < 0 ? (tgStatus)status : TG_OK;
}

// of a contact whose friction is the larger of its geoms'
static void friction_ties(const tgSim *s, const tgContactRow *c, tgParamGrad *p) {
  static const struct { int part, n; const char *what; } kind[3] = {
      {1, 2, "friction"}, {3, 1, "torsional friction"}, {4, 2, "rolling friction"}};
  for (int i = 0; i < 3 && kind[i].part < c->nrow; i++) {
    int geom, t = kind[i].part - 1;
    bool slides = false;
    for (int k = 0; k < kind[i].n; k++) slides = slides || s->contact_model->kind->rows->side(s, c->row + kind[i].part + k) != 0;
    tgi_pair_friction(&s->m, c->pair, t, &geom);
    if (slides && geom >= 0 && friction_at(s, c->pair, t, p) != NULL)
      tgi_equal_numbers(&s->m, c->geom1, c->geom2, tgi_geom_friction(&s->m, c->geom1, t), tgi_geom_friction(&s->m, c->geom2, t),
                        kind[i].what, &p->sided);
  }
}

void tgi_rows_param_nonsmooth(const tgSim *s, tgParamGrad *p) {
  const tgModel *m = &s->m;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    if (c->row < 0) continue;
    if (m->geom_priority[c->geom1] == m->geom_priority[c->geom2]) friction_ties(s, c, p);
    if (tgRe(s->rows->bounce[c->row]) != 0 && tgRe(tgi_pair_number(m, c->pair, m->pair_restitution, 1, 0)) < 0 &&
        p->geom_restitution != NULL)
      tgi_equal_numbers(m, c->geom1, c->geom2, m->geom_restitution[c->geom1], m->geom_restitution[c->geom2], "restitution", &p->sided);
  }
}

// ---- numbers that are 0 ----

// What moves slower is held by the least friction [m/s or rad/s].
static const double rests = 1e-9;

// the side at which a little friction would be, against the speed w
static int against(tgReal w) { return tgRe(w) > rests ? -1 : tgRe(w) < -rests ? 1 : 0; }

static void zero_ends(tgParamGrad *p, const char *what, const char *label) {
  p->ends++;
  if (p->sided.ties++ > 0) return;
  p->sided.label = TG_GRAD_ONE_SIDED;
  snprintf(p->sided.reason, sizeof p->sided.reason, "%s is 0, the end of its range: %.140s", what, label);
}

void tgi_joints_zero_parameters(const tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *lambda, tgParamGrad *p) {
  const tgModel *m = &s->m;
  char label[100];
  if (tgRe(s->dt) == 0) return;   // an impact
  for (int d = 0; d < m->nv && p->dof_frictionloss != NULL; d++) {
    if (tgRe(m->dof_frictionloss[d]) > 0) continue;
    p->dof_frictionloss[d] += s->dt * against(u[d]) * lambda[d];
    zero_ends(p, "dry friction", tgi_model_label(m, TG_THING_JOINT, m->dof_jnt[d], label, sizeof label));
  }
  for (int t = 0; t < m->ntendon && p->ten_frictionloss != NULL; t++) {
    if (tgRe(m->ten_frictionloss[t]) > 0) continue;
    p->ten_frictionloss[t] += s->dt * against(tgi_tendon_speed(s, pose, t, u)) * tgi_tendon_speed(s, pose, t, lambda);
    zero_ends(p, "dry friction", tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label));
  }
}

// J x of row `part` of a contact, which may have none
static tgReal contact_speed(const tgSim *s, const tgPose *pose, const tgContactRow *c, int part, const tgReal *x) {
  tgReal screw[6], V1[6], V2[6];
  tgi_contact_screw(c, part, screw);
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom1], x, V1);
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom2], x, V2);
  return tgi_sp_dot(screw, V1) - tgi_sp_dot(screw, V2);
}

static tgReal *restitution_at(const tgModel *m, int pair, tgParamGrad *p) {
  int geom;
  tgi_pair_restitution(m, pair, &geom);
  if (geom >= 0) return p->geom_restitution != NULL ? p->geom_restitution + geom : NULL;
  return p->pair_restitution != NULL ? p->pair_restitution + m->pair_own[pair] : NULL;
}

// which way a little friction t of a contact would act, against the velocity u
static tgReal little_friction(const tgSim *s, const tgPose *pose, const tgContactRow *c, int t, const tgReal *u) {
  tgReal w = contact_speed(s, pose, c, 1 + t, u);
  if (t > 1 || !tgi_has_cones(s)) return against(w);
  tgReal other = contact_speed(s, pose, c, 2 - t, u), speed = tgSqrt(w * w + other * other);
  return tgRe(speed) > rests ? -w / speed : 0;
}

void tgi_contacts_zero_parameters(tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *lambda, const tgReal *alpha,
                                  const tgReal *X, const tgReal *y, tgParamGrad *p) {
  const tgModel *m = &s->m;
  char label[200];
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    if (c->row < 0) continue;
    tgReal f = s->rows->f[c->row], *bar;
    for (int t = 0; t < m->pair_condim[c->pair] - 1 && f != 0; t++) {
      bar = friction_at(s, c->pair, t, p);
      if (bar == NULL || tgRe(c->friction[tgi_friction_number(s, t)]) > 0) continue;
      tgReal x = f * contact_speed(s, pose, c, 1 + t, lambda);
      bool bounds = alpha != NULL && s->contact_model->kind->rows->null_has_bounds(s, c->row);
      if (bounds) x += alpha[c->row] * contact_speed(s, pose, c, 1 + t, X);
      *bar += little_friction(s, pose, c, t, u) * x;
      zero_ends(p, "friction", tgi_row_label(s, c->row, label, sizeof label));
    }
    bar = restitution_at(m, c->pair, p);
    if (bar == NULL || tgRe(c->restitution) > 0 || s->problem != 0 || !tgi_row_may_bounce(s, pose, c->row)) continue;
    *bar += y[c->row] * tgi_row_dot(s, s->rows->J, c->row, s->vhat);
    zero_ends(p, "restitution", tgi_row_label(s, c->row, label, sizeof label));
  }
}
