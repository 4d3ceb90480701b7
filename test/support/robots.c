// robots.c: see robots.h.
#include "support/robots.h"

#include <stdio.h>

static tgDesc *ground(void) {
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  d->option.timestep = 0.01;
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  d->geom[g].friction[0] = 0.8;
  return d;
}

static tgModel *compile(tgDesc *d) {
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tg_desc_free(d);
  return m;
}

tgContact *tgt_contact(const tgModel *model) {
  tgError error = {0};
  tgContact *c = tg_contact_create(model, "lcp", NULL, &error);
  if (c == NULL) fail_msg("%s", error.text);
  return c;
}

// motors along and about the axes of a free joint
static void thrusters(tgDesc *d, int joint, int n) {
  static const char *const name[6] = {"px", "py", "pz", "rx", "ry", "rz"};
  for (int k = 0; k < n; k++) {
    int a = tg_desc_add_actuator(d, TG_TRN_JOINT, joint, name[k]);
    for (int i = 0; i < 6; i++) d->actuator[a].gear[i] = i == k;
  }
}

tgModel *tgt_ball(void) {
  tgDesc *d = ground();
  int b = tg_desc_add_body(d, 0, "ball");
  d->body[b].pos[2] = 0.5;
  int j = tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, "skin");
  d->geom[g].size[0] = 0.1;
  d->geom[g].mass = 0.5;
  thrusters(d, j, 3);
  return compile(d);
}

tgModel *tgt_box(void) {
  tgDesc *d = ground();
  int b = tg_desc_add_body(d, 0, "box");
  d->body[b].pos[2] = 0.1;
  int j = tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  int g = tg_desc_add_geom(d, b, TG_GEOM_BOX, "skin");
  for (int i = 0; i < 3; i++) d->geom[g].size[i] = 0.1;
  d->geom[g].mass = 1;
  thrusters(d, j, 6);
  return compile(d);
}

// a capsule that hangs from its body's origin along the direction of angle `lean` from straight down; it stops short of both joints, or
// the caps of two limbs would be one contact point shared by two bodies: a tie
static void limb(tgDesc *d, int body, const char *name, double length, double lean, double mass) {
  int g = tg_desc_add_geom(d, body, TG_GEOM_CAPSULE, name);
  tgGeomDesc *c = &d->geom[g];
  c->size[0] = 0.046;
  c->size[1] = length / 2 - 0.04;
  c->pos[0] = sin(lean) * length / 2;
  c->pos[2] = -cos(lean) * length / 2;
  c->quat[0] = cos(-lean / 2);
  c->quat[2] = sin(-lean / 2);
  c->mass = mass;
  c->friction[0] = 0.8;
}

static int hinge(tgDesc *d, int body, const char *name, double low, double high, double damping, double stiffness) {
  int j = tg_desc_add_joint(d, body, TG_JOINT_HINGE, name);
  tgJointDesc *h = &d->joint[j];
  h->axis[0] = 0;
  h->axis[1] = 1;
  h->axis[2] = 0;
  h->limited = TG_LIMITED_YES;
  h->range[0] = low;
  h->range[1] = high;
  h->damping = damping;
  h->stiffness = stiffness;
  h->armature = 0.1;
  return j;
}

// three links in a row, each with a hinge and a motor
static void leg(tgDesc *d, int torso, const char *prefix, double x, double sign) {
  static const char *const part[3] = {"thigh", "shin", "foot"};
  static const double length[3] = {0.29, 0.3, 0.19}, mass[3] = {1.5, 1.6, 1.1}, gear[3] = {120, 90, 60}, damping[3] = {6, 4.5, 3},
                      stiffness[3] = {24, 18, 12};
  const double lean[3] = {0.25 * sign, -0.35 * sign, 1.2}, low[3] = {-0.5, -0.8, -0.4}, high[3] = {1.0, 0.8, 0.8};
  int parent = torso;
  double px = x, pz = 0;
  for (int k = 0; k < 3; k++) {
    char name[32];
    snprintf(name, sizeof name, "%s%s", prefix, part[k]);
    int b = tg_desc_add_body(d, parent, name);
    d->body[b].pos[0] = px;
    d->body[b].pos[2] = pz;
    int j = hinge(d, b, name, low[k], high[k], damping[k], stiffness[k]);
    limb(d, b, name, length[k], lean[k], mass[k]);
    int a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, name);
    d->actuator[a].gear[0] = gear[k];
    d->actuator[a].ctrllimited = true;
    d->actuator[a].ctrlrange[0] = -1;
    d->actuator[a].ctrlrange[1] = 1;
    px = sin(lean[k]) * length[k];
    pz = -cos(lean[k]) * length[k];
    parent = b;
  }
}

tgModel *tgt_runner(void) {
  tgDesc *d = ground();
  int torso = tg_desc_add_body(d, 0, "torso");
  d->body[torso].pos[2] = 0.7;
  static const char *const root[3] = {"rootx", "rootz", "rooty"};
  for (int k = 0; k < 3; k++) {
    int j = tg_desc_add_joint(d, torso, k < 2 ? TG_JOINT_SLIDE : TG_JOINT_HINGE, root[k]);
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == (k == 0 ? 0 : k == 1 ? 2 : 1);
  }
  int g = tg_desc_add_geom(d, torso, TG_GEOM_CAPSULE, "torso");
  d->geom[g].size[0] = 0.046;
  d->geom[g].size[1] = 0.5;
  d->geom[g].quat[0] = sqrt(0.5);
  d->geom[g].quat[2] = sqrt(0.5);
  d->geom[g].mass = 6.25;
  leg(d, torso, "b", -0.5, 1);
  leg(d, torso, "f", 0.5, -1);
  return compile(d);
}

// body k of a leg: a capsule hung on a hinge about y whose range ends where it hangs
static int leg_part(tgDesc *d, int parent, const char *name, double down, double length) {
  int b = tg_desc_add_body(d, parent, name), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, name),
      a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, name);
  d->body[b].pos[2] = -down;
  d->joint[j].axis[1] = -1;
  d->joint[j].axis[2] = 0;
  d->joint[j].limited = TG_LIMITED_YES;
  d->joint[j].range[0] = -2;
  d->joint[j].damping = 0.1;
  d->actuator[a].gear[0] = 10;
  d->body[b].has_inertial = true;
  d->body[b].mass = 4 * length;
  d->body[b].com[0] = 0.013;
  d->body[b].com[2] = -length / 2;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = length * length * length / 3;
  return b;
}

tgModel *tgt_two_legs(void) {
  tgDesc *d = tg_desc_create(NULL);
  d->option.timestep = 0.01;
  int torso = tg_desc_add_body(d, 0, "torso");
  static const char *const name[3] = {"x", "z", "pitch"};
  for (int k = 0; k < 3; k++) {
    int j = tg_desc_add_joint(d, torso, k < 2 ? TG_JOINT_SLIDE : TG_JOINT_HINGE, name[k]);
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == (k == 0 ? 0 : k == 1 ? 2 : 1);
  }
  d->body[torso].has_inertial = true;
  d->body[torso].mass = 3.7;
  d->body[torso].com[0] = 0.07;
  d->body[torso].com[2] = 0.2;
  for (int i = 0; i < 3; i++) d->body[torso].inertia[i] = 0.08;
  for (int side = 0; side < 2; side++) {
    int thigh = leg_part(d, torso, side == 0 ? "right thigh" : "left thigh", 0.05, 0.45);
    leg_part(d, thigh, side == 0 ? "right shin" : "left shin", 0.45, 0.5);
  }
  return compile(d);
}
