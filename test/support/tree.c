// tree.c: see tree.h.
#include "support/tree.h"

#include "dyn/dynamics.h"

static void unit(tgtRandom *r, double *x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) {
    x[i] = tgt_normal(r);
    s += x[i] * x[i];
  }
  for (int i = 0; i < n; i++) x[i] /= sqrt(s);
}

// inertia of five random points about their centre, so always that of a real body
static void random_inertia(tgtRandom *r, double *J) {
  for (int i = 0; i < 6; i++) J[i] = 0;
  for (int k = 0; k < 5; k++) {
    double m = tgt_uniform(r, 0.1, 0.6), x[3];
    for (int i = 0; i < 3; i++) x[i] = tgt_uniform(r, -0.3, 0.3);
    J[0] += m * (x[1] * x[1] + x[2] * x[2]);
    J[1] += m * (x[0] * x[0] + x[2] * x[2]);
    J[2] += m * (x[0] * x[0] + x[1] * x[1]);
    J[3] -= m * x[0] * x[1];
    J[4] -= m * x[0] * x[2];
    J[5] -= m * x[1] * x[2];
  }
}

static void add_joint(tgDesc *d, tgtRandom *r, int body, tgJointType type, int flags) {
  int new_j = tg_desc_add_joint(d, body, type, NULL);
  tgJointDesc *j = &d->joint[new_j];
  bool scalar = type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE;
  unit(r, j->axis, 3);
  for (int i = 0; i < 3 && type != TG_JOINT_FREE; i++) j->pos[i] = tgt_uniform(r, -0.2, 0.2);
  if (scalar) j->ref = tgt_uniform(r, -0.3, 0.3);
  if (!(flags & TGT_TREE_PASSIVE)) return;
  j->armature = tgt_uniform(r, 0, 0.05);
  j->damping = tgt_uniform(r, 0, 0.4);
  j->stiffness = tgt_uniform(r, 0, 3);
  if (scalar) j->springref = tgt_uniform(r, -0.5, 0.5);
  if (!(flags & TGT_TREE_ENERGY)) return;
  j->frictionloss = tgt_uniform(r, 0, 0.5);
  if (type == TG_JOINT_FREE || new_j % 2 == 0) return;
  j->limited = TG_LIMITED_YES;
  j->range[0] = scalar ? -1.5 : 0;
  j->range[1] = scalar ? 1.8 : 2.5;
}

static void add_joints(tgDesc *d, tgtRandom *r, int body, int kind, int flags) {
  static const tgJointType kinds[7][4] = {
      {TG_JOINT_HINGE, TG_JOINT_FREE}, {TG_JOINT_BALL, TG_JOINT_FREE}, {TG_JOINT_SLIDE, TG_JOINT_FREE},
      {TG_JOINT_SLIDE, TG_JOINT_SLIDE, TG_JOINT_HINGE, TG_JOINT_FREE}, {TG_JOINT_HINGE, TG_JOINT_HINGE, TG_JOINT_HINGE, TG_JOINT_FREE},
      {TG_JOINT_SLIDE, TG_JOINT_BALL, TG_JOINT_FREE}, {TG_JOINT_FREE}};  // a free joint here only ends the list
  for (int k = 0; k < 4 && kinds[kind][k] != TG_JOINT_FREE; k++) add_joint(d, r, body, kinds[kind][k], flags);
}

static bool on_tendon(const tgDesc *d, int j) {
  for (int t = 0; t < d->ntendon; t++)
    for (int w = 0; w < d->tendon[t].njoint; w++)
      if (d->tendon[t].joint[w] == j) return true;
  return false;
}

// a second motor on every scalar joint that no tendon goes over, the sum of both limited
static void add_pairs(tgDesc *d) {
  for (int j = 0; j < d->njoint; j++) {
    tgJointDesc *joint = &d->joint[j];
    if ((joint->type != TG_JOINT_HINGE && joint->type != TG_JOINT_SLIDE) || on_tendon(d, j)) continue;
    int new_a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
    tgActuatorDesc *a = &d->actuator[new_a];
    a->gear[0] = 0.6 + 0.1 * j;
    a->gain[0] = 1.4;
    a->bias[1] = -0.7;
    a->bias[2] = -0.4;
    a->forcelimited = true;
    a->forcerange[0] = -0.9;
    a->forcerange[1] = 1.1;
    joint->actfrclimited = TG_LIMITED_YES;
    joint->actfrcrange[0] = -1.1;
    joint->actfrcrange[1] = 0.8;
  }
}

static void add_actuators(tgDesc *d, tgtRandom *r, bool energy) {
  for (int j = 0; j < d->njoint; j++) {
    int new_a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
    tgActuatorDesc *a = &d->actuator[new_a];
    for (int i = 0; i < 6; i++) a->gear[i] = tgt_normal(r);
    for (int i = 0; i < 3; i++) {
      a->gain[i] = tgt_normal(r);
      a->bias[i] = tgt_normal(r);
    }
    a->ctrllimited = j % 2 == 0;
    a->ctrlrange[0] = -0.7;
    a->ctrlrange[1] = 0.9;
    a->forcelimited = j % 3 == 0;
    a->forcerange[0] = -2;
    a->forcerange[1] = 1.5;
    tgJointType t = d->joint[j].type;
    if (!energy && j % 4 == 1 && (t == TG_JOINT_HINGE || t == TG_JOINT_SLIDE)) {
      d->joint[j].actfrclimited = TG_LIMITED_YES;
      d->joint[j].actfrcrange[0] = -1;
      d->joint[j].actfrcrange[1] = 0.8;
    }
  }
  if (energy) add_pairs(d);
  if (d->ntendon == 0) return;
  int new_a = tg_desc_add_actuator(d, TG_TRN_TENDON, 0, NULL);
  tgActuatorDesc *a = &d->actuator[new_a];
  a->gear[0] = 1.3;
  a->gain[1] = 0.4;
  a->bias[1] = -0.8;
  a->bias[2] = -0.2;
}

static void add_activations(tgDesc *d) {
  for (int i = 0; i < d->nactuator; i++) {
    tgActuatorDesc *a = &d->actuator[i];
    if (i % 3 == 1) continue;
    a->activation = (tgActivation)(TG_ACT_INTEGRATOR + i % 4 % 3);
    a->timeconst = 0.05 + 0.02 * i;
    a->actlimited = i % 5 < 2;
    a->actrange[0] = -0.6;
    a->actrange[1] = 0.8;
  }
}

// two tendons over the first few scalar joints: one with a dead band, one without
static void add_tendons(tgDesc *d, tgtRandom *r, int flags) {
  int joint[4], n = 0;
  double coef[4];
  for (int j = 0; j < d->njoint && n < 4; j++)
    if (d->joint[j].type == TG_JOINT_HINGE || d->joint[j].type == TG_JOINT_SLIDE) {
      joint[n] = j;
      coef[n++] = tgt_normal(r);
    }
  if (n < 2) return;
  for (int k = 0; k < 2; k++) {
    int new_t = tg_desc_add_tendon(d, NULL, joint, coef, n - k);
    tgTendonDesc *t = &d->tendon[new_t];
    t->stiffness = 2;
    t->damping = 0.3;
    t->springlength[0] = k == 0 ? -0.1 : 0.05;
    t->springlength[1] = 0.05;
    if (!(flags & TGT_TREE_ENERGY)) continue;
    t->frictionloss = 0.2;
    t->limited = TG_LIMITED_YES;
    t->range[0] = -50;
    t->range[1] = 50;
  }
}

// the last body to the world and, welded, to the first; a scalar joint to another and to its place
static void add_equalities(tgDesc *d, tgtRandom *r) {
  static const double poly[5] = {0.02, 0.8, 0.5, -0.3, 0.2}, gentle[5] = {0.02, 0.3, 0.05, -0.02, 0.005};   // of tendons, which get long
  int joint[2], n = 0;
  for (int k = 0; k < 2; k++) {
    int e = tg_desc_add_equality(d, k == 0 ? TG_EQ_CONNECT : TG_EQ_WELD, d->nbody - 1 - k, k, NULL);
    for (int i = 0; i < 3; i++) d->equality[e].anchor[i] = tgt_uniform(r, -0.3, 0.3);
    d->equality[e].relpose_from_qpos0 = k == 1;
  }
  for (int j = d->njoint - 1; j >= 0 && n < 2; j--)
    if (d->joint[j].type == TG_JOINT_HINGE || d->joint[j].type == TG_JOINT_SLIDE) joint[n++] = j;
  for (int k = 0; k < n; k++) {
    int e = tg_desc_add_equality(d, TG_EQ_JOINT, joint[k], k == 0 && n == 2 ? joint[1] : -1, NULL);
    for (int i = 0; i < 5; i++) d->equality[e].polycoef[i] = poly[i];
  }
  if (d->ntendon == 0 || d->tendon[0].njoint < 4) return;   // fewer joints would have nowhere to go
  int e = tg_desc_add_equality(d, TG_EQ_TENDON, 0, d->njoint % 2 == 0 ? 1 : -1, NULL);
  for (int i = 0; i < 5; i++) d->equality[e].polycoef[i] = gentle[i];
}

tgModel *tgt_random_tree(uint64_t seed, int nbody, int flags) {
  tgtRandom r = {seed};
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  for (int b = 1; b <= nbody; b++) {
    int parent = b == 1 ? 0 : b % 3 == 0 ? b - 2 : b - 1;  // branches
    if ((flags & TGT_TREE_FREE) && b > 1 && parent == 0) parent = 1;
    int new_body = tg_desc_add_body(d, parent, NULL);
    tgBodyDesc *body = &d->body[new_body];
    for (int i = 0; i < 3; i++) {
      body->pos[i] = tgt_uniform(&r, -0.6, 0.6);
      body->com[i] = tgt_uniform(&r, -0.2, 0.2);
    }
    unit(&r, body->quat, 4);
    body->has_inertial = true;
    body->mass = tgt_uniform(&r, 0.4, 2);
    random_inertia(&r, body->inertia);
    if (flags & TGT_TREE_PASSIVE) body->gravcomp = b % 2 == 0 ? tgt_uniform(&r, 0, 1.5) : 0;
    if (b == 1 && (flags & TGT_TREE_FREE)) add_joint(d, &r, b, TG_JOINT_FREE, flags);
    else add_joints(d, &r, b, b == 1 ? (int)(seed % 6) : (int)((seed + (uint64_t)b) % 7), flags);
  }
  if (flags & TGT_TREE_PASSIVE) add_tendons(d, &r, flags);
  if (flags & TGT_TREE_ACTUATED) add_actuators(d, &r, (flags & TGT_TREE_ENERGY) != 0);
  if (flags & TGT_TREE_ACTIVATED) add_activations(d);
  if (flags & TGT_TREE_TIED) add_equalities(d, &r);
  if (flags & TGT_TREE_FLUID) {
    d->option.density = 40;
    d->option.viscosity = 0.3;
    for (int i = 0; i < 3; i++) d->option.wind[i] = tgt_normal(&r);
  }
  for (int i = 0; i < 3; i++) d->option.gravity[i] = 5 * tgt_normal(&r);
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "random tree %llu: %s", (unsigned long long)seed, error.text);
  tg_desc_free(d);
  return m;
}

void tgt_random_vector(tgtRandom *r, int n, tgReal *x) {
  for (int i = 0; i < n; i++) x[i] = tgt_normal(r);
}

void tgt_random_state(tgSim *s, tgtRandom *r, bool flat) {
  const tgModel *m = s->model;
  tgReal step[256];
  assert_true(m->nv <= 256);
  for (int i = 0; i < m->nq; i++) s->qpos[i] = m->qpos0[i];
  tgt_random_vector(r, m->nv, step);
  if (!flat) tg_model_integrate(m, s->qpos, step, s->qpos);
  // quaternions at the identity too
  for (int j = 0; j < m->njnt && flat; j++)
    if (m->jnt_type[j] == TG_JOINT_FREE)
      for (int i = 0; i < 4; i++) s->qpos[m->jnt_qadr[j] + 3 + i] = i == 0;
  tgt_random_vector(r, m->nv, s->qvel);
  tgt_random_vector(r, m->nu, s->ctrl);
  tgt_random_vector(r, m->nv, s->qfrc_applied);
  tgt_random_vector(r, m->na, s->act);
}

tgSim *tgt_sim(const tgModel *m) {
  tgError error = {0};
  tgSim *s = tg_sim_create(m, NULL, NULL, &error);
  check_true(s != NULL, "tg_sim_create: %s", error.text);
  return s;
}

void tgt_prepare(tgSim *s, const tgReal *q, const tgReal *v) {
  tgi_kinematics(&s->m, q, &s->start);
  tgi_inertias(s, &s->start);
  tgi_velocities(s, &s->start, v);
}

void tgt_check_near_at(const tgReal *a, const tgReal *b, int n, double tol, const char *what, const char *file, int line) {
  double scale = 1, worst = 0;
  int at = 0;
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(tgRe(b[i])));
  for (int i = 0; i < n; i++) {
    double e = fabs(tgRe(a[i]) - tgRe(b[i]));
    if (e > worst || e != e) {
      worst = e != e ? HUGE_VAL : e;
      at = i;
    }
  }
  if (!(worst <= tol * scale))
    fail_msg("%s:%d: %s differ most at %d: %.17g and %.17g, by %.3g > %.3g", file, line, what, at, tgRe(a[at]),
             tgRe(b[at]), worst, tol * scale);
}
