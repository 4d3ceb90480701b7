// scenes.c: see scenes.h: pieces of scenes, tilts and variants.
#include "conformance/scenes.h"

#include <stdio.h>
#include <string.h>

void tgt_conform_quat_mul(const double a[4], const double b[4], double out[4]) {
  out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

void tgt_conform_turn(int axis, double angle, double out[4]) {
  for (int i = 0; i < 4; i++) out[i] = i == 0 ? cos(angle / 2) : i == axis + 1 ? sin(angle / 2) : 0;
}

void tgt_conform_rotate(const double q[4], const double x[3], double out[3]) {
  double p[4] = {0, x[0], x[1], x[2]}, back[4] = {q[0], -q[1], -q[2], -q[3]}, a[4], b[4];
  tgt_conform_quat_mul(q, p, a);
  tgt_conform_quat_mul(a, back, b);
  for (int i = 0; i < 3; i++) out[i] = b[i + 1];
}

// ---- pieces ----

int tgt_conform_body(tgtConform *c, int parent, const double pos[3], const double quat[4], double mass) {
  int b = tg_desc_add_body(c->d, parent, NULL);
  assert_true(b > 0);
  tgBodyDesc *body = &c->d->body[b];
  for (int i = 0; i < 3; i++) body->pos[i] = pos[i];
  for (int i = 0; i < 4 && quat != NULL; i++) body->quat[i] = quat[i];
  body->has_inertial = true;
  body->mass = mass;
  for (int i = 0; i < 3; i++) body->inertia[i] = 1;
  return b;
}

int tgt_conform_joint(tgtConform *c, int body, tgJointType type, double x, double y, double z) {
  char name[16];
  snprintf(name, sizeof name, "joint%d", c->d->njoint);
  int j = tg_desc_add_joint(c->d, body, type, name);
  assert_true(j >= 0 && j < TGT_CONFORM_JOINTS);
  tgJointDesc *joint = &c->d->joint[j];
  if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE) {
    joint->axis[0] = x;
    joint->axis[1] = y;
    joint->axis[2] = z;
  }
  return j;
}

int tgt_conform_slides(tgtConform *c, int body) {
  int first = tgt_conform_joint(c, body, TG_JOINT_SLIDE, 1, 0, 0);
  tgt_conform_joint(c, body, TG_JOINT_SLIDE, 0, 1, 0);
  return first;
}

int tgt_conform_geom(tgtConform *c, int body, tgGeomType type, double x, double y, double z, double friction) {
  int g = tg_desc_add_geom(c->d, body, type, NULL);
  assert_true(g >= 0);
  tgGeomDesc *geom = &c->d->geom[g];
  geom->size[0] = x;
  geom->size[1] = y;
  geom->size[2] = z;
  geom->friction[0] = friction;
  return g;
}

int tgt_conform_box(tgtConform *c, int body, double x, double y, double z, double friction) {
  return tgt_conform_geom(c, body, TG_GEOM_BOX, x / 2, y / 2, z / 2, friction);
}

int tgt_conform_mesh_box(tgtConform *c, int body, double x, double y, double z, double friction) {
  static const int face[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                  {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  double vert[8][3];
  for (int i = 0; i < 8; i++) {
    vert[i][0] = (i & 1 ? .5 : -.5) * x;
    vert[i][1] = (i & 2 ? .5 : -.5) * y;
    vert[i][2] = (i & 4 ? .5 : -.5) * z;
  }
  int mesh = tg_desc_add_mesh(c->d, NULL, vert[0], 8, face[0], 12), g = tg_desc_add_geom(c->d, body, TG_GEOM_MESH, NULL);
  assert_true(mesh >= 0 && g >= 0);
  c->d->geom[g].mesh = mesh;
  c->d->geom[g].friction[0] = friction;
  return g;
}

int tgt_conform_wall(tgtConform *c, const double pos[3], double x, double y, double z, double friction) {
  int g = tgt_conform_box(c, 0, x, y, z, friction);
  for (int i = 0; i < 3; i++) c->d->geom[g].pos[i] = pos[i];
  return g;
}

// ---- the whole ----

static void tilt_quat(tgtTilt tilt, double q[4]) {
  double a[4], b[4];
  switch (tilt) {
    case TGT_TILT_Z_UP: tgt_conform_turn(0, TG_PI / 2, q); break;
    case TGT_TILT_OBLIQUE:
      tgt_conform_turn(0, 0.6, a);
      tgt_conform_turn(2, -0.9, b);
      tgt_conform_quat_mul(a, b, q);
      break;
    default: tgt_conform_turn(0, 0, q); break;
  }
}

static void tilt_place(const double turn[4], double pos[3], double quat[4]) {
  double x[3] = {pos[0], pos[1], pos[2]}, q[4] = {quat[0], quat[1], quat[2], quat[3]};
  tgt_conform_rotate(turn, x, pos);
  tgt_conform_quat_mul(turn, q, quat);
}

// turns what is fixed in the world, or free in it
static void tilt_world(tgtConform *c, tgtTilt tilt) {
  double turn[4], x[3];
  tgDesc *d = c->d;
  tilt_quat(tilt, turn);
  for (int b = 1; b < d->nbody; b++)
    if (d->body[b].parent == 0) tilt_place(turn, d->body[b].pos, d->body[b].quat);
  for (int g = 0; g < d->ngeom; g++)
    if (d->geom[g].body == 0) tilt_place(turn, d->geom[g].pos, d->geom[g].quat);
  memcpy(x, d->option.gravity, sizeof x);
  tgt_conform_rotate(turn, x, d->option.gravity);
  for (int j = 0; j < d->njoint; j++) {
    if (d->joint[j].type != TG_JOINT_FREE) continue;
    memcpy(x, c->v[j], sizeof x);
    tgt_conform_rotate(turn, x, c->v[j]);
    memcpy(x, c->f[j], sizeof x);
    tgt_conform_rotate(turn, x, c->f[j]);
  }
}

static void make_passive(tgtConform *c) {
  for (int j = 0; j < c->d->njoint; j++) {
    tgJointDesc *joint = &c->d->joint[j];
    bool scalar = joint->type == TG_JOINT_HINGE || joint->type == TG_JOINT_SLIDE;
    joint->damping = 0.3 + 0.1 * (j % 3);
    joint->stiffness = joint->type == TG_JOINT_FREE ? 0 : 2 + j % 4;
    joint->armature = 0.05 * (1 + j % 2);
    if (scalar) joint->springref = 0.1 * (j % 3 - 1);
    int a = tg_desc_add_actuator(c->d, TG_TRN_JOINT, j, NULL);
    for (int i = 0; i < 6; i++) c->d->actuator[a].gear[i] = 1 - 0.3 * i;
    c->d->actuator[a].gain[0] = 1 + j;
  }
}

tgModel *tgt_conform_build(const tgtConformScene *scene, const tgtConformVariant *variant, tgtConform *c) {
  *c = (tgtConform){.d = tg_desc_create(NULL), .h = 1e-3, .erp = 0.2, .reversed = variant->reversed,
                    .self = variant->self, .slip = variant->slip};
  // gravity stays along -z as published where a scene does not say: across the plane that slides x and y move in
  assert_non_null(c->d);
  scene->build(c, scene->a, scene->b);
  if (variant->passive) make_passive(c);
  tilt_world(c, variant->tilt);
  tgError e = {0};
  tgModel *m = tg_model_compile(c->d, NULL, &e);
  if (m == NULL) fail_msg("%s: %s", scene->name, e.text);
  return m;
}

void tgt_conform_state(const tgtConform *c, tgSim *sim) {
  tg_sim_reset(sim);
  for (int j = 0; j < c->d->njoint; j++) {
    tgJointType type;
    int qadr, vadr, joint = tg_model_find(sim->model, TG_THING_JOINT, c->d->joint[j].name);
    assert_int_equal(tg_model_joint(sim->model, joint, &type, NULL, &qadr, &vadr), TG_OK);
    int dofs = type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
    if (dofs == 1) sim->qpos[qadr] += c->q[j];
    for (int i = 0; i < dofs; i++) {
      sim->qvel[vadr + i] = c->v[j][i];
      sim->qfrc_applied[vadr + i] = c->f[j][i];
    }
  }
  for (int i = 0; i < sim->m.nu; i++) sim->ctrl[i] = 0.2 - 0.1 * (i % 4);
}
