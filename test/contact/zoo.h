// zoo.h: a random tree that meets every kind of constraint row at once, with one pair of shapes in contact: for the tests of the
// derivatives of contacts, of rows and of impulse steps, each apart from the others.
//
//   root (free, ball, slide and hinge, or none) carries A (a shape; or A is a tilted plane of the world), arm (hinge, slide), hand (ball);
//   B (three slides and a ball on root or world) carries the other shape; hand is pinned to B and welded to cargo (free); rod
//   (free) is pinned to the world. A joint equality with and one without a second joint;
//     limits of hinges, slides, balls and tendons; dry friction of
//   dofs and of a tendon.
#ifndef TG_TEST_ZOO_H
#define TG_TEST_ZOO_H

#include <stdio.h>

#include "coll/contacts.h"
#include "coll/features/narrow.h"
#include "contact/contact.h"
#include "contact/rows.h"
#include "kin/kinematics.h"
#include "support/deriv.h"
#include "support/tree.h"
#include "tangere/contact.h"

enum { TGT_ZOO_PAIRS = 17, TGT_ZOO_NV = 40 };

/// The shapes of pair k: most pairs of plane, sphere, capsule, box, mesh, cylinder and ellipsoid.
static inline const tgGeomType *tgt_zoo_shapes(int k) {
  static const tgGeomType shapes[TGT_ZOO_PAIRS][2] = {
      {TG_GEOM_PLANE, TG_GEOM_SPHERE}, {TG_GEOM_PLANE, TG_GEOM_CAPSULE}, {TG_GEOM_PLANE, TG_GEOM_BOX}, {TG_GEOM_PLANE, TG_GEOM_CYLINDER},
      {TG_GEOM_SPHERE, TG_GEOM_SPHERE}, {TG_GEOM_SPHERE, TG_GEOM_CAPSULE}, {TG_GEOM_SPHERE, TG_GEOM_BOX},
      {TG_GEOM_SPHERE, TG_GEOM_ELLIPSOID},
      {TG_GEOM_CAPSULE, TG_GEOM_CAPSULE}, {TG_GEOM_CAPSULE, TG_GEOM_BOX}, {TG_GEOM_CAPSULE, TG_GEOM_CYLINDER}, {TG_GEOM_BOX, TG_GEOM_BOX},
      {TG_GEOM_BOX, TG_GEOM_CYLINDER}, {TG_GEOM_CYLINDER, TG_GEOM_ELLIPSOID},
      {TG_GEOM_CYLINDER, TG_GEOM_CYLINDER}, {TG_GEOM_BOX, TG_GEOM_MESH}, {TG_GEOM_ELLIPSOID, TG_GEOM_MESH}};
  return shapes[k];
}

typedef struct tgtZoo {
  tgModel *m;
  tgContact *contact;
  tgSim *s;
  int b, slide;            // body of B and the first of its slides
} tgtZoo;

static inline void tgt_zoo_unit(tgtRandom *r, double *x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) {
    x[i] = tgt_normal(r);
    s += x[i] * x[i];
  }
  for (int i = 0; i < n; i++) x[i] /= sqrt(s);
}

static inline int tgt_zoo_body(tgDesc *d, tgtRandom *r, int parent) {
  int b = tg_desc_add_body(d, parent, NULL);
  tgBodyDesc *body = &d->body[b];
  for (int i = 0; i < 3; i++) {
    body->pos[i] = tgt_uniform(r, -0.5, 0.5);
    body->com[i] = tgt_uniform(r, -0.1, 0.1);
  }
  tgt_zoo_unit(r, body->quat, 4);
  body->has_inertial = true;
  body->mass = tgt_uniform(r, 0.5, 2);
  for (int i = 0; i < 6; i++) body->inertia[i] = i < 3 ? tgt_uniform(r, 0.06, 0.1) : tgt_uniform(r, -0.01, 0.01);
  return b;
}

// every second scalar joint is limited at both ends of a range that is passed at either end at random; a ball is passed soon
static inline int tgt_zoo_joint(tgDesc *d, tgtRandom *r, int body, tgJointType type, bool limited) {
  int k = tg_desc_add_joint(d, body, type, NULL);
  tgJointDesc *j = &d->joint[k];
  tgt_zoo_unit(r, j->axis, 3);
  for (int i = 0; i < 3 && type != TG_JOINT_FREE; i++) j->pos[i] = tgt_uniform(r, -0.2, 0.2);
  if (limited) j->limited = TG_LIMITED_YES;
  j->range[0] = type == TG_JOINT_BALL ? 0 : -0.02;
  j->range[1] = 0.02;
  if (type != TG_JOINT_FREE && k % 2 == 0) j->frictionloss = 0.1;
  j->damping = 0.1;
  j->stiffness = type == TG_JOINT_FREE ? 0 : 0.5;
  return k;
}

static inline int tgt_zoo_geom(tgDesc *d, tgtRandom *r, int body, tgGeomType type) {
  int g = tg_desc_add_geom(d, body, type, NULL);
  tgt_zoo_unit(r, d->geom[g].quat, 4);
  for (int i = 0; i < 3; i++) {
    d->geom[g].pos[i] = tgt_uniform(r, -0.1, 0.1);
    d->geom[g].size[i] = tgt_uniform(r, 0.15, 0.35);
  }
  d->geom[g].friction[0] = 0.6;
  if (type == TG_GEOM_MESH) {                          // an octahedron of unequal arms
    static const int face[24] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    double vert[18] = {0};
    for (int k = 0; k < 6; k++) vert[3 * k + k / 2] = (k % 2 ? -1 : 1) * tgt_uniform(r, 0.2, 0.45);
    d->geom[g].mesh = tg_desc_add_mesh(d, NULL, vert, 6, face, 8);
  }
  return g;
}

static inline void tgt_zoo_equalities(tgDesc *d, const int hinge[3], int slide, const int bond[3][2]) {
  static const double poly[5] = {0.01, 0.8, 0.5, -0.3, 0.2};
  for (int k = 0; k < 3; k++) {
    int e = tg_desc_add_equality(d, k == 0 ? TG_EQ_WELD : TG_EQ_CONNECT, bond[k][0], bond[k][1], NULL);
    for (int i = 0; i < 3; i++) d->equality[e].anchor[i] = 0.1 * (i + 1) - 0.07 * k;
    d->equality[e].relpose_from_qpos0 = k == 0;
  }
  for (int k = 0; k < 2; k++) {
    int e = tg_desc_add_equality(d, TG_EQ_JOINT, k == 0 ? hinge[0] : hinge[1], k == 0 ? slide : -1, NULL);
    for (int i = 0; i < 5; i++) d->equality[e].polycoef[i] = poly[i];
  }
}

static inline void tgt_zoo_tendons(tgDesc *d, const int hinge[3], int slide) {
  for (int k = 0; k < 2; k++) {
    int t = tg_desc_add_tendon(d, NULL, (int[]){hinge[0], slide, hinge[2]}, (double[]){1, -0.7, 2}, 3 - k);
    d->tendon[t].stiffness = 0.4;
    if (k == 0) {
      d->tendon[t].limited = TG_LIMITED_YES;
      d->tendon[t].range[0] = -0.01;
      d->tendon[t].range[1] = 0.01;
    } else {
      d->tendon[t].frictionloss = 0.2;
    }
  }
}

static inline tgDesc *tgt_zoo_desc(int pair, tgtRandom *r, tgtZoo *z) {
  static const tgJointType roots[4][2] = {
      {TG_JOINT_FREE, TG_JOINT_FREE}, {TG_JOINT_BALL, TG_JOINT_FREE}, {TG_JOINT_SLIDE, TG_JOINT_HINGE}, {TG_JOINT_FREE, TG_JOINT_FREE}};
  int kind = (int)(tgt_next(r) % 4), hinge[3], slide = -1;
  const tgGeomType *shape = tgt_zoo_shapes(pair);
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  int root = tgt_zoo_body(d, r, 0);
  if (kind < 3) tgt_zoo_joint(d, r, root, roots[kind][0], kind == 1);
  if (kind == 2) tgt_zoo_joint(d, r, root, roots[kind][1], true);
  int a = tgt_zoo_body(d, r, root), arm = tgt_zoo_body(d, r, a), hand = tgt_zoo_body(d, r, arm);
  hinge[0] = tgt_zoo_joint(d, r, a, TG_JOINT_HINGE, false);
  hinge[1] = tgt_zoo_joint(d, r, arm, TG_JOINT_HINGE, true);
  slide = tgt_zoo_joint(d, r, arm, TG_JOINT_SLIDE, true);
  hinge[2] = tgt_zoo_joint(d, r, arm, TG_JOINT_HINGE, false);
  tgt_zoo_joint(d, r, hand, TG_JOINT_BALL, true);
  // B's frame is its parent's, so that its slides move it along the parent's axes
  z->b = tgt_zoo_body(d, r, kind % 2 == 0 ? root : 0);
  for (int i = 0; i < 4; i++) d->body[z->b].quat[i] = i == 0;
  for (int k = 0; k < 3; k++) {
    int j = tgt_zoo_joint(d, r, z->b, TG_JOINT_SLIDE, false);
    if (k == 0) z->slide = j;
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == k;
  }
  tgt_zoo_joint(d, r, z->b, TG_JOINT_BALL, false);
  int cargo = tgt_zoo_body(d, r, 0);
  int rod = tgt_zoo_body(d, r, 0);
  tgt_zoo_joint(d, r, cargo, TG_JOINT_FREE, false);
  tgt_zoo_joint(d, r, rod, TG_JOINT_FREE, false);
  // half of the pairs are listed the other way round
  bool world = shape[0] == TG_GEOM_PLANE;
  if (tgt_next(r) % 2 == 0) { tgt_zoo_geom(d, r, world ? 0 : a, shape[0]); tgt_zoo_geom(d, r, z->b, shape[1]); }
  else { tgt_zoo_geom(d, r, z->b, shape[1]); tgt_zoo_geom(d, r, world ? 0 : a, shape[0]); }
  // a third of the pairs each with friction along tangents alone, torsional friction too, and rolling friction too
  for (int g = 0; g < d->ngeom; g++) {
    d->geom[g].condim = pair % 3 == 0 ? 3 : pair % 3 == 1 ? 4 : 6;
    d->geom[g].friction[1] = 0.04 + 0.01 * g;
    d->geom[g].friction[2] = 0.02 + 0.004 * g;
  }
  tgt_zoo_equalities(d, hinge, slide, (int[3][2]){{hand, cargo}, {z->b, hand}, {rod, 0}});
  tgt_zoo_tendons(d, hinge, slide);
  for (int j = 0; j < d->njoint; j++) {
    int u = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
    for (int i = 0; i < 6; i++) d->actuator[u].gear[i] = tgt_normal(r);
    d->actuator[u].gain[0] = 1;
  }
  return d;
}

static inline tgtZoo tgt_zoo(int pair, uint64_t seed, const tgContactOptions *o, double restitution) {
  tgtZoo z = {0};
  tgtRandom r = {.s = 977 * seed + (uint64_t)pair};
  tgDesc *d = tgt_zoo_desc(pair, &r, &z);
  for (int g = 0; g < d->ngeom; g++) d->geom[g].restitution = restitution;
  tgError e = {0};
  z.m = tg_model_compile(d, NULL, &e);
  check_true(z.m != NULL, "zoo: %s", e.text);
  tg_desc_free(d);
  z.contact = tg_contact_create(z.m, "lcp", o, &e);
  check_true(z.contact != NULL, "zoo: %s", e.text);
  z.s = tg_sim_create(z.m, z.contact, NULL, &e);
  check_true(z.s != NULL, "zoo: %s", e.text);
  assert_true(z.m->nv <= TGT_ZOO_NV);
  assert_int_equal(tg_sim_reserve(z.s, TG_PAIR_POINTS, tgi_fixed_rows(z.m) + 3 * TG_PAIR_POINTS), TG_OK);
  return z;
}
static inline void tgt_zoo_free(tgtZoo *z) {
  tg_sim_free(z->s);
  tg_contact_free(z->contact);
  tg_model_free(z->m);
}

/// Least gap of the two shapes at qpos with B moved by x in the world.
static inline double tgt_zoo_gap(tgtZoo *z, const double x[3]) {
  tgSim *s = z->s;
  const tgModel *m = &s->m;
  tgContactPoint point[TG_PAIR_POINTS];
  tgShape shape[2];
  tgHull hull[2];
  tgReal pos[2][3];
  double gap = HUGE_VAL;
  for (int g = 0; g < 2; g++) {
    for (int i = 0; i < 3; i++) pos[g][i] = s->start.geom_xpos[3 * g + i] + (m->geom_body[g] == z->b ? x[i] : 0);
    shape[g] = tgi_geom_shape(s, &s->start, g, g, &hull[g]);
    shape[g].pos = pos[g];
  }
  int32_t memory[TG_PAIR_MEMORY] = {0, 0};
  int n = tgi_collide(&shape[0], &shape[1], 1e-3, 0, TG_COLLIDE_POINTS, memory, point, NULL);
  for (int k = 0; k < n; k++) gap = fmin(gap, tgRe(point[k].gap));
  return gap;
}

/// Random state, flat: zero joint angles (joints at their drawn pose, where errors of equalities are zero); B is put where the shapes
/// overlap by depth, so that they touch along a random direction.
static inline void tgt_zoo_state(tgtZoo *z, tgtRandom *r, bool flat, double spread, double depth) {
  tgSim *s = z->s;
  const tgModel *m = &s->m;
  tgReal step[TGT_ZOO_NV];
  tg_sim_reset(s);
  for (int d = 0; d < m->nv; d++) step[d] = flat ? 0 : spread * tgt_normal(r);
  tg_model_integrate(s->model, s->qpos, step, s->qpos);
  tgt_random_vector(r, m->nv, s->qvel);
  tgt_random_vector(r, m->nu, s->ctrl);
  tgt_random_vector(r, m->nv, s->qfrc_applied);
  tgi_kinematics(&s->m, s->qpos, &s->start);
  // from the centres on one another outwards; away from a plane along its normal
  int gb = m->geom_body[0] == z->b ? 0 : 1;
  double dir[3], from[3], x[3], lo = 0, hi = 2;
  tgt_zoo_unit(r, dir, 3);
  if (m->geom_type[1 - gb] == TG_GEOM_PLANE)
    for (int i = 0; i < 3; i++) dir[i] = tgRe(s->start.geom_xmat[9 * (1 - gb) + 3 * i + 2]);
  for (int i = 0; i < 3; i++) from[i] = tgRe(s->start.geom_xpos[3 * (1 - gb) + i] - s->start.geom_xpos[3 * gb + i]);
  for (int k = 0; k < 60; k++) {
    double t = 0.5 * (lo + hi);
    for (int i = 0; i < 3; i++) x[i] = from[i] + t * dir[i];
    if (tgt_zoo_gap(z, x) < -depth) lo = t; else hi = t;
  }
  const tgReal *R = s->start.xmat + 9 * m->body_parent[z->b];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) s->qpos[m->jnt_qadr[z->slide] + k] += R[3 * i + k] * x[i];
  for (int i = 0; i < m->nq; i++) s->start.q[i] = s->qpos[i];
}

/// Frames and rows at coordinates q; s->vhat stays what it was.
static inline tgStatus tgt_zoo_rows(tgSim *s, const tgReal *q) {
  for (int i = 0; i < s->m.nq; i++) s->start.q[i] = q[i];
  tgi_kinematics(&s->m, q, &s->start);
  return tgi_rows(s, &s->start, s->h, TGI_ROWS_TOUCHING);
}

#endif
