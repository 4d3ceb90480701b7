// scenes.c: see scenes.h. The half-cheetah's numbers are those of the half-cheetah of [lcp], turned so that z is up.
#include "scenes/scenes.h"

#include <math.h>
#include <stddef.h>

static void set3(double *r, double x, double y, double z) { r[0] = x; r[1] = y; r[2] = z; }

const char *tgs_name(tgsScene scene) {
  static const char *const names[TGS_COUNT] = {"block", "arm on wall", "cheetah", "stack", "spheres", "humanoid"};
  return scene >= 0 && scene < TGS_COUNT ? names[scene] : "";
}

int tgs_plane(tgDesc *d, double friction) {
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  if (g < 0) return -1;
  set3(d->geom[g].size, 5, 5, 1);
  d->geom[g].friction[0] = friction;
  return g;
}

int tgs_free_body(tgDesc *d, const char *name, const double pos[3], tgGeomType type, const double size[3], double mass,
                  double friction) {
  int b = tg_desc_add_body(d, 0, name);
  if (b < 0 || tg_desc_add_joint(d, b, TG_JOINT_FREE, name) < 0) return -1;
  int g = tg_desc_add_geom(d, b, type, name);
  if (g < 0) return -1;
  set3(d->body[b].pos, pos[0], pos[1], pos[2]);
  set3(d->geom[g].size, size[0], size[1], size[2]);
  d->geom[g].mass = mass;
  d->geom[g].friction[0] = friction;
  return b;
}

// quaternion that turns z to the unit direction u
static void quat_z_to(double *q, const double *u) {
  double w = 1 + u[2];
  if (w < 1e-12) { q[0] = 0; q[1] = 1; q[2] = q[3] = 0; return; }
  double n = sqrt(w * w + u[0] * u[0] + u[1] * u[1]);
  q[0] = w / n;
  q[1] = -u[1] / n;
  q[2] = u[0] / n;
  q[3] = 0;
}

// capsule about the centre c (body frame) along u
static int capsule(tgDesc *d, int body, const double c[3], const double u[3], double radius, double half, double mass) {
  int g = tg_desc_add_geom(d, body, TG_GEOM_CAPSULE, NULL);
  if (g < 0) return -1;
  set3(d->geom[g].pos, c[0], c[1], c[2]);
  set3(d->geom[g].size, radius, half, 0);
  quat_z_to(d->geom[g].quat, u);
  d->geom[g].mass = mass;
  return g;
}

static int hinge(tgDesc *d, int body, const char *name, double x, double y, double z) {
  int j = tg_desc_add_joint(d, body, TG_JOINT_HINGE, name);
  if (j >= 0) set3(d->joint[j].axis, x, y, z);
  return j;
}

static int limited_hinge(tgDesc *d, int body, const char *name, const double axis[3], double lo, double hi) {
  int j = hinge(d, body, name, axis[0], axis[1], axis[2]);
  if (j < 0) return -1;
  d->joint[j].limited = TG_LIMITED_YES;
  d->joint[j].range[0] = lo;
  d->joint[j].range[1] = hi;
  return j;
}

static int motor(tgDesc *d, int joint, double gear) {
  int a = tg_desc_add_actuator(d, TG_TRN_JOINT, joint, d->joint[joint].name);
  if (a >= 0) d->actuator[a].gear[0] = gear;
  return a;
}

static void block(tgDesc *d) {
  tgs_plane(d, 0.5);
  tgs_free_body(d, "block", (double[]){0, 0, 0.1}, TG_GEOM_BOX, (double[]){0.2, 0.3, 0.1}, 2, 0.5);
  int a = tg_desc_add_actuator(d, TG_TRN_JOINT, 0, "push");
  if (a >= 0)
    for (int i = 0; i < 6; i++) d->actuator[a].gear[i] = 1 - 0.3 * i;
}

static void arm(tgDesc *d) {
  tgs_plane(d, 0.8);
  int wall = tg_desc_add_geom(d, 0, TG_GEOM_BOX, "wall");
  if (wall < 0) return;
  set3(d->geom[wall].size, 0.1, 1, 1);
  set3(d->geom[wall].pos, 1.05, 0, 1);
  d->geom[wall].friction[0] = 0.6;
  static const double axes[3][3] = {{0, 1, 0}, {0, 1, 0}, {1, 0, 0}};
  int parent = 0;
  for (int i = 0; i < 3; i++) {
    int b = tg_desc_add_body(d, parent, i == 0 ? "upper" : i == 1 ? "lower" : "hand");
    if (b < 0) return;
    set3(d->body[b].pos, i == 0 ? 0 : 0.4, 0, i == 0 ? 0.5 : 0);
    int j = hinge(d, b, i == 0 ? "shoulder" : i == 1 ? "elbow" : "roll", axes[i][0], axes[i][1], axes[i][2]);
    d->joint[j].damping = 0.1;
    d->joint[j].armature = 0.01;
    int g = capsule(d, b, (double[]){0.2, i == 2 ? 0.05 : 0, 0}, (double[]){1, 0, 0}, 0.04, i == 2 ? 0.1 : 0.18, 1);
    if (g < 0) return;
    motor(d, j, 10);
    parent = b;
  }
  int tip = tg_desc_add_geom(d, parent, TG_GEOM_SPHERE, "tip");
  if (tip < 0) return;
  set3(d->geom[tip].pos, 0.35, 0.1, 0);
  set3(d->geom[tip].size, 0.06, 0, 0);
  d->geom[tip].friction[0] = 0.6;
}

typedef struct Link {
  const char *name;
  int parent;                   // in this table, -1: the root
  double x, z, mass, cx, cz;    // frame in the world, mass, centre in the frame
  double angle, half, lo, hi, damping, stiffness;
} Link;

static void cheetah(tgDesc *d) {
  static const Link link[8] = {
      {"pelvis", -1, 0, .7, 4.89254870769, 0, 0, 1.5708, .5, 0, 0, 0, 0},
      {"head", 0, .6, .8, 1.46776461231, 0, 0, -.87, .15, 0, 0, 0, 0},
      {"bthigh", 0, -.5, .7, 1.53524804, .1, -.13, 3.8, .145, -.52, 1.05, .6, 240},
      {"bshin", 2, -.34, .45, 1.58093995, -.14, -.07, 2.03, .145, -.785, .785, .45, 180},
      {"bfoot", 3, -.62, .31, 1.0691906, .03, -.097, .27, .094, -.4, .785, .3, 120},
      {"fthigh", 0, .5, .7, 1.42558747, -.07, -.12, -.52, .133, -1, .7, .45, 180},
      {"fshin", 5, .36, .46, 1.17885117, .065, -.09, .6, .106, -1.2, .87, .3, 120},
      {"ffoot", 6, .49, .28, .84986945, .045, -.07, .6, .07, -.5, .5, .15, 60}};
  int body[8];
  tgs_plane(d, 0.4);
  for (int i = 0; i < 8; i++) {
    const Link *k = &link[i], *up = k->parent >= 0 ? &link[k->parent] : NULL;
    int b = body[i] = tg_desc_add_body(d, up != NULL ? body[k->parent] : 0, k->name);
    if (b < 0) return;
    set3(d->body[b].pos, k->x - (up != NULL ? up->x : 0), 0, k->z - (up != NULL ? up->z : 0));
    if (i == 0) {
      int x = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rootx"), z = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rootz");
      if (x < 0 || z < 0) return;
      set3(d->joint[x].axis, 1, 0, 0);
      hinge(d, b, "rooty", 0, 1, 0);
    } else if (i != 1) {
      int j = limited_hinge(d, b, k->name, (double[]){0, 1, 0}, k->lo, k->hi);
      if (j < 0) return;
      d->joint[j].damping = k->damping;
      d->joint[j].stiffness = k->stiffness;
      motor(d, j, 100);
    }
    // the capsule's axis in the file is Rx(90 deg) Ry(angle) z with y up; here z is up. The pelvis lies along x.
    double u[3] = {i == 0 ? 1 : sin(k->angle), 0, i == 0 ? 0 : -cos(k->angle)};
    int g = capsule(d, b, (double[]){k->cx, 0, k->cz}, u, .046, k->half, k->mass);
    if (g < 0) return;
    d->geom[g].friction[0] = 0.4;
    d->geom[g].contype = 0;   // touches the floor, not itself
  }
}

static void stack(tgDesc *d) {
  static const double half[3][3] = {{.3, .3, .1}, {.2, .22, .1}, {.15, .1, .1}};
  static const char *const name[3] = {"low", "middle", "high"};
  tgs_plane(d, 0.5);
  for (int i = 0; i < 3; i++)
    tgs_free_body(d, name[i], (double[]){0.02 * i, -0.01 * i, 0.1 + 0.2 * i}, TG_GEOM_BOX, half[i], 3 - 0.8 * i, 0.5);
}

static void spheres(tgDesc *d) {
  tgs_plane(d, 0.5);
  tgs_free_body(d, "ball", (double[]){0, 0, 0.3}, TG_GEOM_SPHERE, (double[]){0.3, 0, 0}, 2, 0.5);
  tgs_free_body(d, "top", (double[]){0.05, 0.02, 0.79}, TG_GEOM_SPHERE, (double[]){0.2, 0, 0}, 1, 0.3);
}

// one leg: hip (3), knee, ankle (2); y: its side
static void leg(tgDesc *d, int pelvis, double y, const char *const name[6]) {
  int thigh = tg_desc_add_body(d, pelvis, NULL), shin = tg_desc_add_body(d, thigh, NULL), foot = tg_desc_add_body(d, shin, NULL);
  if (foot < 0) return;
  set3(d->body[thigh].pos, 0, y, -0.05);
  set3(d->body[shin].pos, 0, 0, -0.4);
  set3(d->body[foot].pos, 0, 0, -0.4);
  int body[6] = {thigh, thigh, thigh, shin, foot, foot};
  static const double axis[6][3] = {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {1, 0, 0}};
  static const double range[6][2] = {{-.6, .6}, {-.7, .7}, {-1.8, .8}, {-.05, 2.4}, {-.9, .9}, {-.6, .6}};
  for (int i = 0; i < 6; i++) {
    int j = limited_hinge(d, body[i], name[i], axis[i], range[i][0], range[i][1]);
    d->joint[j].damping = 1;
    d->joint[j].armature = 0.01;
    d->joint[j].stiffness = 20;
    motor(d, j, 80);
  }
  capsule(d, thigh, (double[]){0, 0, -.2}, (double[]){0, 0, 1}, .06, .14, 4.5);
  capsule(d, shin, (double[]){0, 0, -.2}, (double[]){0, 0, 1}, .045, .15, 2.5);
  int sole = tg_desc_add_geom(d, foot, TG_GEOM_BOX, NULL);
  set3(d->geom[sole].pos, .05, 0, -.04);
  set3(d->geom[sole].size, .12, .05, .03);
  d->geom[sole].mass = 1.1;
}

static void arm_of(tgDesc *d, int chest, double y, const char *const name[3]) {
  int upper = tg_desc_add_body(d, chest, NULL), lower = tg_desc_add_body(d, upper, NULL);
  if (lower < 0) return;
  set3(d->body[upper].pos, 0, y, .2);
  set3(d->body[lower].pos, 0, 0, -.28);
  int j[3] = {hinge(d, upper, name[0], 0, 1, 0), hinge(d, upper, name[1], 1, 0, 0), hinge(d, lower, name[2], 0, 1, 0)};
  for (int i = 0; i < 3; i++) {
    d->joint[j[i]].damping = .5;
    d->joint[j[i]].armature = .01;
    motor(d, j[i], 25);
  }
  capsule(d, upper, (double[]){0, 0, -.14}, (double[]){0, 0, 1}, .04, .1, 1.8);
  capsule(d, lower, (double[]){0, 0, -.13}, (double[]){0, 0, 1}, .035, .1, 1.2);
}

static void humanoid(tgDesc *d) {
  static const char *const right[6] = {"hip_x_r", "hip_z_r", "hip_y_r", "knee_r", "ankle_y_r", "ankle_x_r"},
                           *const left[6] = {"hip_x_l", "hip_z_l", "hip_y_l", "knee_l", "ankle_y_l", "ankle_x_l"},
                           *const rarm[3] = {"shoulder_y_r", "shoulder_x_r", "elbow_r"},
                           *const larm[3] = {"shoulder_y_l", "shoulder_x_l", "elbow_l"};
  int floor = tgs_plane(d, 0.8);
  int pelvis = tgs_free_body(d, "pelvis", (double[]){0, 0, 0.92}, TG_GEOM_CAPSULE, (double[]){.09, .07, 0}, 9, 0.8);
  int chest = tg_desc_add_body(d, pelvis, "chest");
  if (floor < 0 || chest < 0) return;
  quat_z_to(d->geom[1].quat, (double[]){0, 1, 0});
  set3(d->body[chest].pos, 0, 0, .15);
  for (int i = 0; i < 3; i++) {
    int j = hinge(d, chest, i == 0 ? "waist_z" : i == 1 ? "waist_y" : "waist_x", i == 2, i == 1, i == 0);
    d->joint[j].damping = 2;
    d->joint[j].stiffness = 40;
    d->joint[j].armature = .02;
    motor(d, j, 60);
  }
  capsule(d, chest, (double[]){0, 0, .15}, (double[]){0, 1, 0}, .11, .08, 14);
  int head = tg_desc_add_geom(d, chest, TG_GEOM_SPHERE, "head");
  set3(d->geom[head].pos, 0, 0, .42);
  set3(d->geom[head].size, .1, 0, 0);
  d->geom[head].mass = 4;
  leg(d, pelvis, -.1, right);
  leg(d, pelvis, .1, left);
  arm_of(d, chest, -.2, rarm);
  arm_of(d, chest, .2, larm);
  // limbs touch the floor only
  for (int g = 0; g < d->ngeom; g++)
    if (g != floor) d->geom[g].contype = 0;
}

tgDesc *tgs_desc(tgsScene scene) {
  static void (*const build[TGS_COUNT])(tgDesc *) = {block, arm, cheetah, stack, spheres, humanoid};
  tgDesc *d = tg_desc_create(NULL);
  if (d != NULL && scene >= 0 && scene < TGS_COUNT) build[scene](d);
  return d;
}

tgModel *tgs_compile(tgDesc *desc, tgError *error) {
  tgModel *m = desc != NULL ? tg_model_compile(desc, NULL, error) : NULL;
  tg_desc_free(desc);
  return m;
}

tgModel *tgs_model(tgsScene scene, tgError *error) { return tgs_compile(tgs_desc(scene), error); }

tgDesc *tgs_chain(int n) {
  tgDesc *d = tg_desc_create(NULL);
  int parent = 0;
  for (int i = 0; d != NULL && i < n; i++) {
    int b = tg_desc_add_body(d, parent, NULL);
    int j = b >= 0 ? hinge(d, b, NULL, i % 3 == 1, i % 3 == 0, i % 3 == 2) : -1;
    int g = j >= 0 ? capsule(d, b, (double[]){0, 0, -.15}, (double[]){0, 0, 1}, .04, .11, 1) : -1;
    if (g < 0 || motor(d, j, 5) < 0) break;
    set3(d->body[b].pos, 0, 0, i == 0 ? 0 : -.3);
    d->joint[j].damping = .1;
    d->joint[j].armature = .01;
    d->geom[g].contype = d->geom[g].conaffinity = 0;
    parent = b;
  }
  return d;
}
