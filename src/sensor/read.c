// read.c: values of sensors and rows of their derivatives. See sensor.h; conventions are MuJoCo's [mujoco XML reference, sensor].
#include "dyn/forces.h"
#include "math/quat.h"
#include "sensor/sensor.h"

static void put(tgReal *row, int i, tgReal x) {
  if (row != NULL) row[i] += x;
}

// ---- joints, tendons, actuators: one number each, but for balls ----

static int joint_dof(const tgModel *m, int j) { return m->jnt_vadr[j]; }

// length or speed of a tendon; row += sign times its Jacobian
static tgReal tendon_value(const tgiSensing *x, int t, bool speed, tgReal sign, tgReal *row) {
  tgReal rate = tgi_tendon_speed(x->s, &x->pose, t, x->pose.vel);
  if (row != NULL) tgi_tendon_row(x->s, &x->pose, t, sign, row);
  return speed ? rate : x->pose.ten_length[t];
}

// of a tendon's rate: what it has in the coordinates, by which only a spatial one changes
static void tendon_turn(const tgiSensing *x, int t, tgReal scale, tgReal *row) {
  if (tgi_is_spatial(&x->s->m, t)) tgi_strands_vjp(x->s, &x->pose, t, x->pose.vel, scale, 0, row, NULL);
}

// by how far x is beyond a limit, below 0, and on which side; 0 inside
static tgReal beyond(tgReal x, const tgReal *range, bool limited, int *side) {
  *side = !limited ? 0 : tgRe(x) < tgRe(range[0]) ? 1 : tgRe(x) > tgRe(range[1]) ? -1 : 0;
  return *side == 0 ? 0 : *side > 0 ? x - range[0] : range[1] - x;
}

// rows of an actuator at a site: by_length and by_rate times the changes of its length and of its speed
static void site_rows(const tgiSensing *x, int i, tgReal by_length, tgReal by_rate, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgiSitePull pull;
  tgi_site_pull(m, &x->pose, i, &pull);
  for (tgiSiteTerm t = {0}; tgi_site_next(m, &x->pose, &pull, &t);) {
    put(row->q, t.dof, by_length * tgi_site_slope(&x->pose, &pull, &t) + by_rate * tgi_site_rate(m, &x->pose, &pull, x->pose.vel, t.dof));
    put(row->v, t.dof, by_rate * t.moment);
  }
}

// the same of one at a spatial tendon
static void strands_rows(const tgiSensing *x, int i, tgReal by_length, tgReal by_rate, const tgiRow *row) {
  int t = x->s->m.act_target[i];
  tgReal gear = x->s->m.act_gear[6 * i];
  if (row->q != NULL) tgi_strands_row(x->s, &x->pose, t, by_length * gear, row->q);
  tendon_turn(x, t, by_rate * gear, row->q);
  if (row->v != NULL) tgi_strands_row(x->s, &x->pose, t, by_rate * gear, row->v);
}

// scale times the force of actuator i
static tgReal actuator_force(const tgiSensing *x, int i, tgReal scale, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgActuatorState a;
  tgi_actuator_state(x->s, &x->pose, i, NULL, &a, NULL);
  if (row == NULL) return scale * a.force;
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
    tgReal moment, slope;
    int d = tgi_actuator_term(m, i, k, x->pose.q, &moment, &slope);
    put(row->q, d, scale * a.D_length * slope);
    put(row->v, d, scale * a.D_velocity * moment);
  }
  if (tgi_on_site(m, i)) site_rows(x, i, scale * a.D_length, scale * a.D_velocity, row);
  if (tgi_on_strands(m, i)) strands_rows(x, i, scale * a.D_length, scale * a.D_velocity, row);
  if (m->act_adr[i] >= 0) put(row->v, m->nv + m->act_adr[i], scale * a.D_input);
  else put(row->u, i, scale * a.D_input);
  return scale * a.force;
}

// the same of its part in the force on a dof, where it pushes at a site
static tgReal site_force(const tgiSensing *x, int i, int dof, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgiSitePull pull;
  tgActuatorState a;
  tgi_site_pull(m, &x->pose, i, &pull);
  tgi_actuator_state(x->s, &x->pose, i, NULL, &a, NULL);
  for (tgiSiteTerm t = {0}; tgi_site_next(m, &x->pose, &pull, &t);) {
    if (t.dof != dof) continue;
    for (tgiSiteTerm c = {0}; row != NULL && tgi_site_next(m, &x->pose, &pull, &c);)
      put(row->q, c.dof, a.force * tgi_site_curve(m, &x->pose, &pull, &t, c.dof));
    return actuator_force(x, i, t.moment, row);
  }
  return 0;
}

// the same where it pulls at a spatial tendon
static tgReal strands_force(const tgiSensing *x, int i, int dof, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  int t = m->act_target[i];
  tgReal gear = m->act_gear[6 * i];
  tgActuatorState a;
  if (!tgi_strands_moved(m, t, dof)) return 0;
  tgi_actuator_state(x->s, &x->pose, i, NULL, &a, NULL);
  for (int d = 0; row != NULL && d < m->nv; d++)
    if (tgi_strands_moved(m, t, d)) put(row->q, d, a.force * gear * tgi_strands_curve(m, &x->pose, t, dof, d));
  return actuator_force(x, i, gear * tgi_strands_moment(m, &x->pose, t, dof), row);
}

static tgReal joint_force(const tgiSensing *x, int j, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  int dof = joint_dof(m, j);
  tgReal sum = 0;
  for (int pass = 0; pass < 2; pass++) {   // the second with derivatives, where the sum is not held at its limit
    if (pass == 1 && row == NULL) break;
    sum = 0;
    for (int i = 0; i < m->nu; i++) {
      if (tgi_on_site(m, i)) sum += site_force(x, i, dof, pass == 1 ? row : NULL);
      if (tgi_on_strands(m, i)) sum += strands_force(x, i, dof, pass == 1 ? row : NULL);
      for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
        tgReal moment;
        if (tgi_actuator_term(m, i, k, x->pose.q, &moment, NULL) == dof) sum += actuator_force(x, i, moment, pass == 1 ? row : NULL);
      }
    }
    if (!tgi_sum_limited(m, j)) continue;
    const tgReal *range = m->jnt_actfrcrange + 2 * j;
    int side = tgi_clamp_side(sum, range[0], range[1], NULL);
    if (side != 0) return range[side > 0];
  }
  return sum;
}

static tgReal tendon_force(const tgiSensing *x, int t, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgReal sum = 0;
  for (int i = 0; i < m->nu; i++)
    if (m->act_trn[i] == TG_TRN_TENDON && m->act_target[i] == t) sum += actuator_force(x, i, 1, row);
  return sum;
}

static tgReal actuator_value(const tgiSensing *x, int i, bool speed, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgActuatorState a;
  tgi_actuator_state(x->s, &x->pose, i, NULL, &a, NULL);
  for (int k = 0; row != NULL && k < tgi_actuator_terms(m, i); k++) {
    tgReal moment, slope;
    int d = tgi_actuator_term(m, i, k, x->pose.q, &moment, &slope);
    put(speed ? row->v : row->q, d, speed ? moment : slope);
  }
  if (row != NULL && tgi_on_site(m, i)) site_rows(x, i, !speed, speed, row);
  if (row != NULL && tgi_on_strands(m, i)) strands_rows(x, i, !speed, speed, row);
  return speed ? a.velocity : a.length;
}

// how far beyond its limit a joint or tendon is, or how fast it comes back
static tgReal limit_value(const tgiSensing *x, int type, int i, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  bool joint = type == TG_SENSOR_JOINTLIMITPOS || type == TG_SENSOR_JOINTLIMITVEL;
  bool speed = type == TG_SENSOR_JOINTLIMITVEL || type == TG_SENSOR_TENDONLIMITVEL;
  int side;
  tgReal length = joint ? x->pose.q[m->jnt_qadr[i]] : x->pose.ten_length[i];
  tgReal past = beyond(length, joint ? m->jnt_range + 2 * i : m->ten_range + 2 * i, joint ? m->jnt_limited[i] : m->ten_limited[i], &side);
  if (side == 0) return 0;
  tgReal *to = row == NULL ? NULL : speed ? row->v : row->q;
  if (!joint) {
    tgReal rate = tendon_value(x, i, true, side, to);
    if (row != NULL && speed) tendon_turn(x, i, side, row->q);
    return speed ? side * rate : past;
  }
  put(to, joint_dof(m, i), side);
  return speed ? side * x->pose.vel[joint_dof(m, i)] : past;
}

static tgReal scalar(const tgiSensing *x, int type, int i, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  switch (type) {
    case TG_SENSOR_JOINTPOS:
      if (row != NULL) put(row->q, joint_dof(m, i), 1);
      return x->pose.q[m->jnt_qadr[i]];
    case TG_SENSOR_JOINTVEL:
      if (row != NULL) put(row->v, joint_dof(m, i), 1);
      return x->pose.vel[joint_dof(m, i)];
    case TG_SENSOR_JOINTACTUATORFRC: return joint_force(x, i, row);
    case TG_SENSOR_TENDONPOS: return tendon_value(x, i, false, 1, row == NULL ? NULL : row->q);
    case TG_SENSOR_TENDONVEL:
      if (row != NULL) tendon_turn(x, i, 1, row->q);
      return tendon_value(x, i, true, 1, row == NULL ? NULL : row->v);
    case TG_SENSOR_TENDONACTUATORFRC: return tendon_force(x, i, row);
    case TG_SENSOR_ACTUATORPOS: return actuator_value(x, i, false, row);
    case TG_SENSOR_ACTUATORVEL: return actuator_value(x, i, true, row);
    case TG_SENSOR_ACTUATORFRC: return actuator_force(x, i, 1, row);
    default: return limit_value(x, type, i, row);
  }
}

// ---- quaternions ----

// d(q) = (0, turn) q/2, the turn in the axes on its left; or q (0, turn)/2
static void quat_change(const tgReal *q, const tgReal *turn, bool left, tgReal *out) {
  tgReal half[4] = {0, turn[0] / 2, turn[1] / 2, turn[2] / 2};
  if (left) tgi_quat_mul(out, half, q);
  else tgi_quat_mul(out, q, half);
}

static void ball(const tgiSensing *x, int type, int j, tgReal *value, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  int d = m->jnt_vadr[j];
  if (type == TG_SENSOR_BALLANGVEL) {
    for (int k = 0; k < 3; k++) value[k] = x->pose.vel[d + k];
    for (int k = 0; k < 3 && row != NULL; k++) put(row[k].v, d + k, 1);
    return;
  }
  for (int k = 0; k < 4; k++) value[k] = x->pose.q[m->jnt_qadr[j] + k];
  tgi_quat_normalize(value);
  for (int j3 = 0; j3 < 3 && row != NULL; j3++) {
    tgReal turn[3] = {j3 == 0, j3 == 1, j3 == 2}, dq[4];
    quat_change(value, turn, false, dq);
    for (int k = 0; k < 4; k++) put(row[k].q, d + j3, dq[k]);
  }
}

// ---- frames ----

// the vector that a sensor reads, world axes, of a frame `o` beside another `r`
static void vector(int type, const tgiMotion *o, const tgiMotion *r, tgReal x[3]) {
  tgReal arm[3], c[3];
  tgi_v3_sub(arm, o->p, r->p);
  switch (type) {
    case TG_SENSOR_FRAMEPOS: tgi_v3_copy(x, arm); return;
    case TG_SENSOR_FRAMEXAXIS: case TG_SENSOR_FRAMEYAXIS: case TG_SENSOR_FRAMEZAXIS:
      tgi_m3_col(x, o->R, type - TG_SENSOR_FRAMEXAXIS);
      return;
    case TG_SENSOR_FRAMELINVEL:   // as one sees it who turns with the other
      tgi_v3_sub(x, o->v, r->v);
      tgi_v3_cross(c, r->w, arm);
      tgi_v3_sub(x, x, c);
      return;
    case TG_SENSOR_FRAMEANGVEL: tgi_v3_sub(x, o->w, r->w); return;
    case TG_SENSOR_FRAMELINACC: case TG_SENSOR_ACCELEROMETER: tgi_v3_copy(x, o->a); return;
    case TG_SENSOR_FRAMEANGACC: tgi_v3_copy(x, o->al); return;
    case TG_SENSOR_VELOCIMETER: tgi_v3_copy(x, o->v); return;
    default: tgi_v3_copy(x, o->w); return;   // gyro
  }
}

static void vector_change(int type, const tgiMotion *o, const tgiMotion *r, const tgiChange *co, const tgiChange *cr, tgReal x[3]) {
  tgReal arm[3], darm[3], c[3];
  tgi_v3_sub(arm, o->p, r->p);
  tgi_v3_sub(darm, co->p, cr->p);
  switch (type) {
    case TG_SENSOR_FRAMEPOS: tgi_v3_copy(x, darm); return;
    case TG_SENSOR_FRAMEXAXIS: case TG_SENSOR_FRAMEYAXIS: case TG_SENSOR_FRAMEZAXIS:
      tgi_m3_col(c, o->R, type - TG_SENSOR_FRAMEXAXIS);
      tgi_v3_cross(x, co->turn, c);
      return;
    case TG_SENSOR_FRAMELINVEL:
      tgi_v3_sub(x, co->v, cr->v);
      tgi_v3_cross(c, cr->w, arm);
      tgi_v3_sub(x, x, c);
      tgi_v3_cross(c, r->w, darm);
      tgi_v3_sub(x, x, c);
      return;
    case TG_SENSOR_FRAMEANGVEL: tgi_v3_sub(x, co->w, cr->w); return;
    case TG_SENSOR_FRAMELINACC: case TG_SENSOR_ACCELEROMETER: tgi_v3_copy(x, co->a); return;
    case TG_SENSOR_FRAMEANGACC: tgi_v3_copy(x, co->al); return;
    case TG_SENSOR_VELOCIMETER: tgi_v3_copy(x, co->v); return;
    default: tgi_v3_copy(x, co->w); return;
  }
}

static tgReal *row_of(const tgiRow *row, tgiBy by) { return by == TGI_BY_Q ? row->q : by == TGI_BY_V ? row->v : row->a; }

// o's orientation in r's axes
static void relative_quat(const tgiMotion *o, const tgiMotion *r, tgReal *value) {
  tgReal inverse[4] = {r->quat[0], -r->quat[1], -r->quat[2], -r->quat[3]};
  tgi_quat_mul(value, inverse, o->quat);
}

// its change, or that of a vector in the axes Q that turn by `turn`: d(Q' x) = Q' (dx - turn x x)
static void frame_change(int type, const tgiMotion *o, const tgiMotion *r, const tgiChange *co, const tgiChange *cr, bool own_axes,
                         const tgReal *value, tgReal *out) {
  tgReal x[3], dx[3], c[3];
  if (type == TG_SENSOR_FRAMEQUAT) {
    tgi_v3_sub(dx, co->turn, cr->turn);
    tgi_m3_tmulv(x, r->R, dx);
    quat_change(value, x, true, out);
    return;
  }
  vector(type, o, r, x);
  vector_change(type, o, r, co, cr, dx);
  tgi_v3_cross(c, own_axes ? co->turn : cr->turn, x);
  tgi_v3_sub(dx, dx, c);
  tgi_m3_tmulv(out, own_axes ? o->R : r->R, dx);
}

static void frame(const tgiSensing *x, int i, tgReal *value, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  int type = m->sensor_type[i], n = m->sensor_num[i];
  tgFrameKind of = (tgFrameKind)m->sensor_frame[i], beside = (tgFrameKind)m->sensor_refframe[i];
  bool own_axes = type == TG_SENSOR_ACCELEROMETER || type == TG_SENSOR_VELOCIMETER || type == TG_SENSOR_GYRO;
  tgiMotion o, r;
  tgReal v[3];
  tgi_frame_motion(x, of, m->sensor_object[i], &o);
  tgi_frame_motion(x, beside, m->sensor_ref[i], &r);
  if (type == TG_SENSOR_FRAMEQUAT) relative_quat(&o, &r, value);
  else {
    vector(type, &o, &r, v);
    tgi_m3_tmulv(value, own_axes ? o.R : r.R, v);
  }
  if (row == NULL) return;
  int body = tgi_frame_body(m, of, m->sensor_object[i]), other = tgi_frame_body(m, beside, m->sensor_ref[i]);
  for (tgiBy by = TGI_BY_Q; by <= TGI_BY_A; by++)
    for (int j = 0; j < m->nv && row_of(row, by) != NULL; j++) {
      tgiChange co, cr;
      tgReal d[4];
      bool moves = tgi_point_change(x, body, &o, j, by, &co), moves_other = tgi_point_change(x, other, &r, j, by, &cr);
      if (!moves && !moves_other) continue;
      frame_change(type, &o, &r, &co, &cr, own_axes, value, d);
      for (int k = 0; k < n; k++) put(row_of(row + k, by), j, d[k]);
    }
}

// ---- subtrees ----

static bool carries(const tgModel *m, int root, int b) {
  while (b > root) b = m->body_parent[b];
  return b == root;
}

static tgReal tree_mass(const tgModel *m, int root) {
  tgReal mass = 0;
  for (int b = root; b < m->nbody; b++)
    if (carries(m, root, b)) mass += m->body_mass[b];
  return mass;
}

// I x, I the inertia of body b about its centre, world axes
static void inertia_times(const tgiSensing *x, int b, const tgReal *v, tgReal *out) {
  const tgReal *J = x->s->m.body_inertia + 6 * b, *R = x->pose.xmat + 9 * b;
  const tgReal M[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]};
  tgReal local[3], turned[3];
  tgi_m3_tmulv(local, R, v);
  tgi_m3_mulv(turned, M, local);
  tgi_m3_mulv(out, R, turned);
}

// of body b what is summed over the subtree, of which `centre` is the motion of the centre of mass
static void part(const tgiSensing *x, int type, int b, const tgiMotion *o, const tgiMotion *centre, tgReal share, tgReal *sum) {
  tgReal arm[3], v[3], h[3];
  if (type == TG_SENSOR_SUBTREECOM) tgi_v3_axpy(sum, share, o->p);
  if (type == TG_SENSOR_SUBTREELINVEL) tgi_v3_axpy(sum, share, o->v);
  if (type != TG_SENSOR_SUBTREEANGMOM) return;
  inertia_times(x, b, o->w, h);
  tgi_v3_add(sum, sum, h);
  tgi_v3_sub(arm, o->p, centre->p);
  tgi_v3_sub(v, o->v, centre->v);
  tgi_v3_cross(h, arm, v);
  tgi_v3_axpy(sum, x->s->m.body_mass[b], h);
}

// its change: what the centre adds to the change of momenta about itself is 0, as sum m (c - C) and sum m (v - V) are
static void part_change(const tgiSensing *x, int type, int b, const tgiMotion *o, const tgiMotion *centre, const tgiChange *c, tgReal share,
                        tgReal *sum) {
  tgReal arm[3], v[3], h[3], t[3];
  if (type == TG_SENSOR_SUBTREECOM) tgi_v3_axpy(sum, share, c->p);
  if (type == TG_SENSOR_SUBTREELINVEL) tgi_v3_axpy(sum, share, c->v);
  if (type != TG_SENSOR_SUBTREEANGMOM) return;
  inertia_times(x, b, o->w, h);     // d(I w) = turn x I w + I (dw - turn x w)
  tgi_v3_cross(t, c->turn, h);
  tgi_v3_add(sum, sum, t);
  tgi_v3_cross(t, c->turn, o->w);
  tgi_v3_sub(t, c->w, t);
  inertia_times(x, b, t, h);
  tgi_v3_add(sum, sum, h);
  tgi_v3_sub(arm, o->p, centre->p);
  tgi_v3_sub(v, o->v, centre->v);
  tgi_v3_cross(h, c->p, v);
  tgi_v3_axpy(sum, x->s->m.body_mass[b], h);
  tgi_v3_cross(h, arm, c->v);
  tgi_v3_axpy(sum, x->s->m.body_mass[b], h);
}

// of a subtree without mass its body stands for it
static tgReal share_of(const tgModel *m, int root, int b, tgReal mass) {
  if (tgRe(mass) > 0) return m->body_mass[b] / mass;
  return b == root;
}

static void tree(const tgiSensing *x, int type, int root, tgReal *value, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  tgReal mass = tree_mass(m, root);
  tgiMotion centre = {.quat = {1}}, o;
  for (int b = root; b < m->nbody; b++) {
    if (!carries(m, root, b)) continue;
    tgi_point_motion(x, b, x->pose.xcom + 3 * b, &o);
    part(x, TG_SENSOR_SUBTREECOM, b, &o, &centre, share_of(m, root, b, mass), centre.p);
    part(x, TG_SENSOR_SUBTREELINVEL, b, &o, &centre, share_of(m, root, b, mass), centre.v);
  }
  tgi_v3_zero(value);
  for (int b = root; b < m->nbody; b++) {
    if (!carries(m, root, b)) continue;
    tgReal share = share_of(m, root, b, mass);
    tgi_point_motion(x, b, x->pose.xcom + 3 * b, &o);
    part(x, type, b, &o, &centre, share, value);
    for (tgiBy by = TGI_BY_Q; row != NULL && by <= TGI_BY_V; by++)
      for (int j = m->body_lastdof[b]; j >= 0 && row_of(row, by) != NULL; j = m->dof_parent[j]) {
        tgiChange c;
        tgReal d[3] = {0};
        tgi_point_change(x, b, &o, j, by, &c);
        part_change(x, type, b, &o, &centre, &c, share, d);
        for (int k = 0; k < 3; k++) put(row_of(row + k, by), j, d[k]);
      }
  }
}

// a row that nobody can tell
static void unknown(const tgModel *m, const tgiRow *row) {
  for (int j = 0; j < m->nv; j++) {
    put(row->q, j, NAN);
    put(row->a, j, NAN);
  }
  for (int j = 0; j < tgi_nw(m); j++) put(row->v, j, NAN);
  for (int j = 0; j < m->nu; j++) put(row->u, j, NAN);
}

void tgi_sensor_read(const tgiSensing *x, int i, tgReal *value, const tgiRow *row) {
  const tgModel *m = &x->s->m;
  int type = m->sensor_type[i], object = m->sensor_object[i];
  if (type >= TG_SENSOR_TOUCH) {
    tgi_sensor_force(x, type, object, value);
    for (int k = 0; row != NULL && k < m->sensor_num[i]; k++) unknown(m, &row[k]);
  } else if (type == TG_SENSOR_BALLQUAT || type == TG_SENSOR_BALLANGVEL) ball(x, type, object, value, row);
  else if (type < TG_SENSOR_ACCELEROMETER) value[0] = scalar(x, type, object, row);
  else if (type >= TG_SENSOR_SUBTREECOM && type <= TG_SENSOR_SUBTREEANGMOM) tree(x, type, object, value, row);
  else frame(x, i, value, row);
}
