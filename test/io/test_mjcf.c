// test_mjcf.c: what well-formed MJCF becomes, with values derived by hand; locale; memory running out at every point.
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "tangere/desc.h"

static const double deg = TG_PI / 180;

static tgDesc *load(const char *text, bool lenient) {
  tgError e;
  tgLoadOptions o = tg_load_default();
  o.lenient = lenient;
  tgDesc *d = tg_desc_load_memory("t.xml", text, strlen(text), &o, &e);
  check_true(d != NULL, "t.xml:%d:%d: %s", e.line, e.column, d == NULL ? e.text : "");
  return d;
}

static void close_array(const double *a, const double *b, int n, const char *what) {
  for (int i = 0; i < n; i++)
    check_true(fabs(a[i] - b[i]) <= 1e-14 * (1 + fabs(b[i])), "%s[%d] = %.17g, not %.17g", what, i, a[i], b[i]);
}
#define CLOSE(a, ...)                                                                             \
  do {                                                                                            \
    const double want_[] = {__VA_ARGS__};                                                         \
    close_array(a, want_, (int)(sizeof want_ / sizeof *want_), #a);                               \
  } while (0)

// a quaternion up to its sign
static void close_quat(const double *q, double w, double x, double y, double z) {
  double n = sqrt(w * w + x * x + y * y + z * z), s = q[0] * w + q[1] * x + q[2] * y + q[3] * z < 0 ? -1 : 1;
  CLOSE(q, s * w / n, s * x / n, s * y / n, s * z / n);
}

static int count_notes(const tgDesc *d, tgNoteKind kind) {
  int n = 0;
  for (int i = 0; i < d->nnote; i++) n += d->note[i].kind == kind;
  return n;
}

static void test_minimal(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco model='m'/>", false);
  assert_string_equal(d->name, "m");
  assert_int_equal(d->nbody, 1);
  check_close(d->option.timestep, 0.002, 0);
  CLOSE(d->option.gravity, 0, 0, -9.81);
  assert_int_equal(d->nnote, 0);
  tg_desc_free(d);
}

// the six ways to give an orientation; quarter turns about z have quaternion (1 0 0 1), about x (1 1 0 0)
static void test_orientations(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><compiler eulerseq='xyz'/><worldbody>"
                   "<site quat='2 0 0 2'/><site axisangle='0 0 3 90'/><site euler='0 0 90'/>"
                   "<site xyaxes='0 2 0 -3 5 0'/><site zaxis='0 -2 0'/><site zaxis='0 0 -1'/>"
                   "<site euler='90 0 90'/></worldbody></mujoco>", false);
  for (int i = 0; i < 4; i++) close_quat(d->site[i].quat, 1, 0, 0, 1);
  close_quat(d->site[4].quat, 1, 1, 0, 0);          // z to -y: a quarter turn about +x
  close_quat(d->site[5].quat, 0, 1, 0, 0);          // z to -z: half a turn about x
  close_quat(d->site[6].quat, 1, 1, -1, 1);         // turning axes: Rx Rz
  tg_desc_free(d);
  d = load("<mujoco><compiler eulerseq='XYZ' angle='radian'/><worldbody><site euler='1.5707963267948966 0 "
           "1.5707963267948966'/><site axisangle='0 0 1 1.5707963267948966'/></worldbody></mujoco>", false);
  close_quat(d->site[0].quat, 1, 1, 1, 1);          // fixed axes: Rz Rx
  close_quat(d->site[1].quat, 1, 0, 0, 1);
  tg_desc_free(d);
}

static const char classes[] =
    "<mujoco><default><geom size='1 2 3' friction='.1 .2 .3' euler='0 0 90'/><joint damping='2'/>"
    "  <default class='a'><geom type='box' size='4'/><default class='b'><geom contype='2' size='5 6'/></default></default>"
    "</default><default><joint armature='7'/></default>"
    "<worldbody><body childclass='a'><joint/><geom/><geom class='b'/><geom class='main' size='9'/>"
    "  <frame childclass='b'><geom quat='1 0 0 0'/></frame><body><geom friction='.9'/></body></body></worldbody></mujoco>";

static void test_classes(void **state) {
  (void)state;
  tgDesc *d = load(classes, false);
  check_close(d->joint[0].damping, 2, 0);
  check_close(d->joint[0].armature, 7, 0);
  CLOSE(d->geom[0].size, 4, 2, 3);                  // fewer numbers than the parent class: the others stay
  assert_int_equal(d->geom[0].type, TG_GEOM_BOX);
  close_quat(d->geom[0].quat, 1, 0, 0, 1);
  CLOSE(d->geom[1].size, 5, 6, 3);
  assert_int_equal(d->geom[1].contype, 2);
  CLOSE(d->geom[2].size, 9, 2, 3);
  assert_int_equal(d->geom[2].type, TG_GEOM_SPHERE);
  assert_int_equal(d->geom[3].contype, 2);          // childclass of the frame
  close_quat(d->geom[3].quat, 1, 0, 0, 0);          // the element's own orientation hides the class's euler
  CLOSE(d->geom[4].friction, .9, .2, .3);
  assert_int_equal(d->geom[4].contype, 1);          // back in class a
  tg_desc_free(d);
}

// frames: p = p0 + R0 p1; the frame turns a quarter about z, so its x is the parent's y
static void test_frames(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><worldbody><frame pos='1 2 3' euler='0 0 90'><body pos='1 0 0'>"
                   "<frame pos='0 0 1' euler='90 0 0'><joint type='slide' axis='0 0 2' pos='0 1 0'/><geom size='1' pos='0 1 0'/>"
                   "</frame></body></frame></worldbody></mujoco>", false);
  CLOSE(d->body[1].pos, 1, 3, 3);
  close_quat(d->body[1].quat, 1, 0, 0, 1);
  CLOSE(d->joint[0].pos, 0, 0, 2);                  // a quarter turn about x takes y to z
  check_close(d->joint[0].axis[1], -1, 1e-15);      // and z to -y; made a unit vector
  check_close(d->joint[0].axis[2], 0, 1e-15);
  CLOSE(d->geom[0].pos, 0, 0, 2);
  tg_desc_free(d);
}

static void test_joints(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><worldbody><body><body>"
                   "<joint name='h' range='-90 45' ref='30' springref='10' stiffness='3' frictionloss='.5'/>"
                   "<joint name='s' type='slide' range='-90 45' ref='30' axis='3 0 4' limited='false' actuatorfrcrange='-1 2'/>"
                   "</body><joint name='b' type='ball' range='0 60'/><geom size='1'/></body>"
                   "<body><freejoint name='f'/></body><body><joint type='free' damping='2'/></body></worldbody></mujoco>",
                   false);
  // numbered by body: the ball joint of body 1 comes first although it is written later
  assert_string_equal(d->joint[0].name, "b");
  assert_int_equal(d->joint[0].body, 1);
  assert_int_equal(d->joint[0].limited, TG_LIMITED_YES);
  check_close(d->joint[0].range[1], 60 * deg, 1e-15);
  CLOSE(d->joint[1].range, -90 * deg, 45 * deg);
  check_close(d->joint[1].ref, 30 * deg, 1e-15);
  check_close(d->joint[1].springref, 10 * deg, 1e-15);
  check_close(d->joint[1].stiffness, 3, 0);
  check_close(d->joint[1].frictionloss, .5, 0);
  CLOSE(d->joint[2].range, -90, 45);
  CLOSE(d->joint[2].axis, .6, 0, .8);
  check_close(d->joint[2].ref, 30, 0);
  assert_int_equal(d->joint[2].limited, TG_LIMITED_NO);
  assert_int_equal(d->joint[2].actfrclimited, TG_LIMITED_YES);
  assert_int_equal(d->joint[3].type, TG_JOINT_FREE);
  check_close(d->joint[4].damping, 2, 0);
  assert_int_equal(tg_desc_find_joint(d, "f"), 3);
  tg_desc_free(d);
}

static void test_inertials(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><worldbody>"
                   "<body><freejoint/><inertial pos='1 2 3' mass='4' diaginertia='2 3 4' euler='0 0 90'/></body>"
                   "<body><freejoint/><inertial pos='0 0 0' mass='4' fullinertia='2 3 4 .1 .2 .3'/></body>"
                   "<body><freejoint/><geom size='1'/></body></worldbody></mujoco>", false);
  assert_true(d->body[1].has_inertial);
  CLOSE(d->body[1].com, 1, 2, 3);
  for (int i = 0; i < 6; i++) check_close(d->body[1].inertia[i], ((double[]){3, 2, 4, 0, 0, 0})[i], 1e-14);
  CLOSE(d->body[2].inertia, 2, 3, 4, .1, .2, .3);
  assert_false(d->body[3].has_inertial);
  tg_desc_free(d);
  // an impossible inertia is accepted where something makes it possible later, and repaired only on request
  const char *bad = "<mujoco>%s<worldbody><body name='x'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 2 6'/></body>"
                    "</worldbody></mujoco>";
  char text[512];
  snprintf(text, sizeof text, bad, "<compiler balanceinertia='true'/>");
  d = load(text, false);
  CLOSE(d->body[1].inertia, 1, 2, 6, 0, 0, 0);
  assert_true(d->compiler.balanceinertia);
  tg_desc_free(d);
  snprintf(text, sizeof text, bad, "");
  tgLoadOptions o = tg_load_default();
  o.repair = true;
  tgError e;
  d = tg_desc_load_memory("t.xml", text, strlen(text), &o, &e);
  assert_non_null(d);
  CLOSE(d->body[1].inertia, 3, 3, 3, 0, 0, 0);
  assert_int_equal(count_notes(d, TG_NOTE_WARNING), 1);
  tg_desc_free(d);
}

static void test_geoms(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><asset><material name='red' rgba='1 0 0 .5'/></asset><worldbody>"
                   "<geom type='capsule' size='.1' fromto='1 0 0 1 0 4'/>"
                   "<geom type='box' size='.1 .2' fromto='0 0 0 0 -4 0'/>"
                   "<geom type='plane' size='0 0 1' material='red'/>"
                   "<geom type='cylinder' size='.1 .2' mass='3' group='2' condim='1' priority='5' shellinertia='true'/>"
                   "</worldbody></mujoco>", false);
  CLOSE(d->geom[0].size, .1, 2, 0);
  CLOSE(d->geom[0].pos, 1, 0, 2);
  close_quat(d->geom[0].quat, 0, 1, 0, 0);          // +z of the geom points to the first end, which is below
  CLOSE(d->geom[1].size, .1, .1, 2);
  CLOSE(d->geom[1].pos, 0, -2, 0);
  close_quat(d->geom[1].quat, 1, -1, 0, 0);         // z to +y
  check_close(d->geom[2].rgba[3], .5, 0);
  check_close(d->geom[3].mass, 3, 0);
  assert_true(isnan(d->geom[0].mass) && d->geom[3].shell && d->geom[3].group == 2 && d->geom[3].condim == 1 &&
              d->geom[3].priority == 5);
  tg_desc_free(d);
}

static void test_meshes(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><default><mesh scale='1 2 -1'/></default><asset>"
                   "<mesh name='m' vertex='1 0 0  2 0 0  1 1 0  1 0 1' face='0 2 1 0 1 3 0 3 2 1 2 3' refpos='1 0 0' "
                   "refquat='1 0 0 1' inertia='exact'/><mesh name='n' vertex='1 0 0  2 0 0  1 1 0  1 0 1'/></asset>"
                   "<worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>", false);
  const tgMeshDesc *m = &d->mesh[0];
  // refpos taken off, turned back by a quarter about z (x to -y, y to x), then scaled
  const double want[] = {0, 0, 0, 0, -2, 0, 1, 0, 0, 0, 0, -1};
  for (int i = 0; i < 12; i++) check_close(m->vert[i], want[i], 1e-15);
  assert_int_equal(m->nface, 4);
  assert_int_equal(m->face[1], 1);                  // the mirror turned the first triangle 0 2 1 round
  assert_int_equal(m->face[2], 2);
  assert_int_equal(m->inertia_kind, 0);
  assert_int_equal(d->geom[0].mesh, 0);
  assert_int_equal(d->mesh[1].inertia_kind, 2);
  tg_desc_free(d);
}

// a mesh file that is not there: a warning where it is only drawn, an error that names all where collision or mass needs it
static void test_missing_meshes(void **state) {
  (void)state;
  static const char head[] = "<mujoco><compiler meshdir='meshes'/><asset><mesh file='a/Leg.stl'/><mesh name='b' file='b.obj'/></asset>";
  char text[1024];
  tgError e;
  snprintf(text, sizeof text, "%s<worldbody><body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
           "<geom type='mesh' mesh='Leg' contype='0' conaffinity='0'/></body><body><freejoint/><geom size='1'/>"
           "<geom type='mesh' mesh='b' contype='0' conaffinity='0' mass='0'/></body></worldbody></mujoco>", head);
  tgDesc *d = load(text, false);
  assert_true(d->mesh[0].missing && d->mesh[1].missing && d->mesh[0].nvert == 0);
  assert_string_equal(d->mesh[0].name, "Leg");
  assert_string_equal(d->mesh[0].path, "meshes/a/Leg.stl");
  assert_int_equal(count_notes(d, TG_NOTE_WARNING), 2);
  tg_desc_free(d);
  snprintf(text, sizeof text, "%s<worldbody><geom type='mesh' mesh='Leg'/><body><freejoint/><geom size='1'/>"
           "<geom type='mesh' mesh='b' contype='0' conaffinity='0'/></body></worldbody></mujoco>", head);
  assert_null(tg_desc_load_memory("t.xml", text, strlen(text), NULL, &e));
  check_true(e.status == TG_ERR_FILE && strstr(e.text, "meshes/a/Leg.stl") != NULL && strstr(e.text, "meshes/b.obj") != NULL,
             "%s", e.text);
}

static const char arm[] =
    "<mujoco><compiler angle='radian'/>%s<worldbody><body name='B'><joint name='j' range='-1 3' springref='.25'/>"
    "<joint name='k' type='slide' springref='.5' stiffness='2' damping='3'/><geom name='g' size='1'/><site name='s' pos='1 0 0'/>"
    "<body name='C'><joint name='q' type='ball'/><geom name='h' size='1'/><site name='t' pos='0 2 0' euler='0 0 "
    "1.5707963267948966'/></body></body><body name='F'><freejoint name='f'/><geom size='1'/></body></worldbody>%s</mujoco>";

static tgDesc *load_arm(const char *before, const char *after) {
  static const size_t room = 4000;
  char *text = malloc(room);
  assert_non_null(text);
  snprintf(text, room, arm, before, after);
  tgDesc *d = load(text, false);
  free(text);
  return d;
}

static void test_actuators(void **state) {
  (void)state;
  tgDesc *d = load_arm(
      "<default><motor ctrlrange='-1 1'/><default class='p'><position kp='7' kv='2'/><default class='pp'><position kp='9'/>"
      "</default></default></default>",
      "<tendon><fixed name='T'><joint joint='j' coef='2'/></fixed></tendon><actuator>"
      "<motor joint='j' gear='3'/><position class='pp' joint='k'/><velocity joint='k' kv='4'/><damper joint='k' kv='5' ctrlrange='0 1'/>"
      "<general joint='f' gear='1 2 3 4 5 6' gainprm='2' biastype='affine' biasprm='.1 .2 .3'/>"
      "<general tendon='T' gaintype='affine' gainprm='1 2 3' forcerange='-1 2' ctrllimited='false'/>"
      "<position joint='j' inheritrange='.5' ctrllimited='true' class='q'/></actuator>"
      "<default><default class='q'><motor ctrlrange='0 0'/></default></default>");
  const tgActuatorDesc *a = d->actuator;
  CLOSE(a[0].gear, 3, 0, 0, 0, 0, 0);
  CLOSE(a[0].gain, 1, 0, 0);
  assert_true(a[0].ctrllimited);
  CLOSE(a[1].gain, 9, 0, 0);
  CLOSE(a[1].bias, 0, -9, -2);
  CLOSE(a[2].gain, 4, 0, 0);
  CLOSE(a[2].bias, 0, 0, -4);
  CLOSE(a[3].gain, 0, 0, -5);
  CLOSE(a[3].bias, 0, 0, 0);
  CLOSE(a[4].gear, 1, 2, 3, 4, 5, 6);
  CLOSE(a[4].bias, .1, .2, .3);
  assert_int_equal(a[4].target, tg_desc_find_joint(d, "f"));
  assert_int_equal(a[5].transmission, TG_TRN_TENDON);
  CLOSE(a[5].gain, 1, 2, 3);
  assert_true(a[5].forcelimited && !a[5].ctrllimited);
  CLOSE(a[6].ctrlrange, 0, 2);                      // middle 1, half of the half range 2
  tg_desc_free(d);
}

static void test_tendons_and_equalities(void **state) {
  (void)state;
  tgDesc *d = load_arm("", "<tendon><fixed name='T' stiffness='1' range='0 1'><joint joint='j' coef='2'/><joint joint='k' coef='-1'/>"
                       "</fixed><fixed springlength='.1'><joint joint='k' coef='1'/></fixed></tendon><equality>"
                       "<connect body1='B' body2='F' anchor='1 2 3'/><weld body1='F' relpose='1 2 3 0 0 0 2' anchor='4 5 6' "
                       "torquescale='2' active='false'/><weld body1='B' body2='F'/><joint joint1='j' joint2='k' polycoef='.5'/>"
                       "<joint joint1='k'/><weld site1='s' site2='t'/></equality>");
  CLOSE(d->tendon[0].springlength, 0, 0);           // 2 x .25 - .5
  assert_int_equal(d->tendon[0].limited, TG_LIMITED_YES);
  CLOSE(d->tendon[1].springlength, .1, .1);
  const tgEqualityDesc *e = d->equality;
  CLOSE(e[0].anchor, 1, 2, 3);
  assert_int_equal(e[1].b, 0);
  assert_true(!e[1].relpose_from_qpos0 && !e[1].active);
  CLOSE(e[1].relpos, 1, 2, 3);
  close_quat(e[1].relquat, 0, 0, 0, 1);
  check_close(e[1].torquescale, 2, 0);
  assert_true(e[2].relpose_from_qpos0 && e[2].active);
  CLOSE(e[3].polycoef, .5, 1, 0, 0, 0);
  assert_int_equal(e[4].b, -1);
  // C in B so that t meets s: turned back a quarter; its origin at s minus the turned 0 2 0
  close_quat(e[5].relquat, 1, 0, 0, -1);
  for (int i = 0; i < 3; i++) check_close(e[5].relpos[i], ((double[]){1 - 2, 0, 0})[i], 1e-15);
  CLOSE(e[5].anchor, 0, 2, 0);
  tg_desc_free(d);
}

static void test_contacts_and_keys(void **state) {
  (void)state;
  tgDesc *d = load_arm("", "<contact><pair geom1='g' geom2='h' friction='.5'/><exclude body1='B' body2='world'/></contact>"
                       "<keyframe><key name='K' qpos='.1 .2 0 0 0 2 1 2 3 1 0 0 0'/><key qvel='1 2 3 4 5 6 7 8 9 10 11'/></keyframe>");
  assert_int_equal(d->pair[0].geom1, tg_desc_find_geom(d, "g"));
  check_close(d->pair[0].friction[0], .5, 0);
  assert_true(isnan(d->pair[0].friction[1]));
  assert_int_equal(d->exclude[0].body2, 0);
  assert_int_equal(d->key[0].nqpos, 13);
  CLOSE(d->key[0].qpos, .1, .2, 0, 0, 0, 1, 1, 2, 3, 1, 0, 0, 0);
  assert_int_equal(d->key[1].nqpos, 0);
  assert_int_equal(d->key[1].nqvel, 11);
  tg_desc_free(d);
}

static void test_flags(void **state) {
  (void)state;
  tgDesc *d = load_arm("<option density='1.2' viscosity='.1' wind='1 2 3'><flag gravity='disable' contact='disable' limit='disable' "
                       "spring='disable' clampctrl='disable' warmstart='disable'/></option>",
                       "<contact><pair geom1='g' geom2='h'/></contact><actuator><motor joint='j' ctrlrange='0 1'/></actuator>");
  CLOSE(d->option.gravity, 0, 0, 0);
  CLOSE(d->option.wind, 1, 2, 3);
  check_close(d->option.density, 1.2, 0);
  assert_int_equal(d->geom[0].contype | d->geom[0].conaffinity | d->npair, 0);
  assert_int_equal(d->joint[0].limited, TG_LIMITED_NO);
  check_close(d->joint[1].stiffness, 0, 0);
  check_close(d->joint[1].damping, 3, 0);
  assert_false(d->actuator[0].ctrllimited);
  tg_desc_free(d);
}

static void test_notes(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><visual/><statistic/><size/><custom/><asset><texture name='t'/></asset><sensor/>\n"
                   "<option solver='CG' cone='elliptic' integrator='RK4'/><worldbody><light/><camera/>\n"
                   "<geom size='1' solref='1 1' margin='.1' user='1'/><geom size='1' solref='1 1'/></worldbody></mujoco>", false);
  assert_int_equal(count_notes(d, TG_NOTE_SKIPPED), 9);     // eight elements, attribute user
  assert_int_equal(count_notes(d, TG_NOTE_SOFT), 5);        // solref is listed once
  assert_int_equal(count_notes(d, TG_NOTE_LENIENT) + count_notes(d, TG_NOTE_WARNING), 0);
  tg_desc_free(d);
  d = load("<mujoco><worldbody><body mocap='true'><geom size='1' condim='6'/></body><body><joint name='j'/><zzz/></body></worldbody>"
           "<actuator><muscle name='m' joint='j'/><motor joint='j'/></actuator><keyframe><key ctrl='1 2'/></keyframe></mujoco>",
           true);
  assert_int_equal(d->nactuator, 1);
  assert_int_equal(d->geom[0].condim, 3);
  assert_int_equal(count_notes(d, TG_NOTE_LENIENT), 5);     // mocap, condim, zzz, muscle, the key's controls
  tg_desc_free(d);
}

// lenient: what refers to something left out is left out too, and what is left keeps its place in keyframes
static void test_lenient_references(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><worldbody><body name='b'><joint name='j'/><geom name='g' size='1' material='none'/>"
                   "<geom name='h' type='hfield' hfield='x'/></body><body mocap='true'/></worldbody><contact><pair geom1='g' geom2='h'/>"
                   "</contact><equality><connect site1='a' site2='c'/><tendon tendon1='t'/></equality><tendon><spatial name='t'/></tendon>"
                   "<actuator><motor tendon='t'/><motor jointinparent='j'/><motor site='s'/></actuator>"
                   "<keyframe><key qpos='1' mpos='0 0 1'/></keyframe></mujoco>", true);
  assert_int_equal(d->npair + d->nequality + d->ntendon, 0);
  assert_int_equal(d->nactuator, 1);
  assert_int_equal(d->nkey, 1);
  check_close(d->key[0].qpos[0], 1, 0);
  assert_int_equal(count_notes(d, TG_NOTE_WARNING), 1);     // the material that is not there
  tg_desc_free(d);
}

// ---- files ----

static void put(const char *directory, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void test_include(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  snprintf(path, sizeof path, "%s/m.xml", base);
  put(base, "m.xml", "<mujoco>\n<include file='one.xml'/>\n<worldbody><include file='two.xml'/>\n<geom size='3'/></worldbody>\n"
                     "<include file='empty.xml'/></mujoco>");
  put(base, "one.xml", "<mujoco><include file='three.xml'/><option timestep='.5'/></mujoco>");
  put(base, "two.xml", "<any><geom size='1'/>\n<geom size='2'/></any>");
  put(base, "three.xml", "<mujoco><option viscosity='.25'/></mujoco>");
  put(base, "empty.xml", "<mujoco/>");
  tgError e;
  tgDesc *d = tg_desc_load(path, NULL, &e);
  check_true(d != NULL, "%s:%d: %s", e.file, e.line, d == NULL ? e.text : "");
  check_close(d->option.timestep, .5, 0);
  check_close(d->option.viscosity, .25, 0);
  assert_int_equal(d->ngeom, 3);
  for (int i = 0; i < 3; i++) check_close(d->geom[i].size[0], 1 + i, 0);
  assert_int_equal(d->geom[1].source.line, 2);
  assert_non_null(strstr(d->file[d->geom[1].source.file], "two.xml"));
  tg_desc_free(d);
  // from a folder: an include and a mesh are looked for from the main file, then beside the file that names them
  char sub[64];
  snprintf(sub, sizeof sub, "%s/sub", base);
  assert_int_equal(mkdir(sub, 0700), 0);
  put(base, "m.xml", "<mujoco><include file='sub/a.xml'/><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  put(sub, "a.xml", "<mujoco><include file='b.xml'/><include file='one.xml'/><asset><mesh file='t.obj'/></asset></mujoco>");
  put(sub, "b.xml", "<mujoco><option density='4'/></mujoco>");
  put(sub, "one.xml", "<mujoco><option timestep='9'/></mujoco>");
  put(sub, "t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  d = tg_desc_load(path, NULL, &e);
  check_true(d != NULL, "%s:%d: %s", e.file, e.line, d == NULL ? e.text : "");
  check_close(d->option.density, 4, 0);
  check_close(d->option.timestep, .5, 0);
  assert_string_equal(d->mesh[0].path, "sub/t.obj");
  tg_desc_free(d);
  // a chain longer than 64
  for (int i = 0; i < 70; i++) {
    char name[32], text[64];
    snprintf(name, sizeof name, "c%d.xml", i);
    snprintf(text, sizeof text, "<mujoco><include file='c%d.xml'/></mujoco>", i + 1);
    put(base, name, text);
  }
  snprintf(path, sizeof path, "%s/c0.xml", base);
  assert_null(tg_desc_load(path, NULL, &e));
  check_true(e.status == TG_ERR_LIMIT && strstr(e.text, "64 deep") != NULL, "%s", e.text);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
}

// a tetrahedron in MuJoCo's binary format, with two normals and a texture coordinate to pass over
static void test_msh(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  int32_t count[4] = {4, 2, 1, 4}, face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  float vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, .5f}, other[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  put(base, "m.xml", "<mujoco><asset><mesh file='t.msh'/></asset><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  for (int bad = 0; bad < 3; bad++) {
    face[11] = bad == 1 ? 4 : 3;
    count[0] = bad == 2 ? 5 : 4;
    snprintf(path, sizeof path, "%s/t.msh", base);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(count, 4, 4, f);
    fwrite(vert, 4, 12, f);
    fwrite(other, 4, 8, f);
    fwrite(face, 4, 12, f);
    fclose(f);
    snprintf(path, sizeof path, "%s/m.xml", base);
    tgError e;
    tgDesc *d = tg_desc_load(path, NULL, &e);
    assert_int_equal(d != NULL, bad == 0);
    if (d == NULL) {
      check_true(strstr(e.text, bad == 1 ? "names vertex 4" : "damaged") != NULL, "%s", e.text);
      continue;
    }
    assert_int_equal(d->mesh[0].nvert, 4);
    assert_int_equal(d->mesh[0].nface, 4);
    double top = 0;
    for (int i = 0; i < 12; i++) top = fmax(top, d->mesh[0].vert[i]);
    check_close(top, 1, 0);
    tg_desc_free(d);
  }
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
}

static void test_special_files(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  tgError e;
  static const struct { const char *name, *target; } link[] = {
      {"zero.xml", "/dev/zero"}, {"passwd.xml", "/etc/passwd"}, {"random.xml", "/dev/urandom"}};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", base, link[i].name);
    assert_int_equal(symlink(link[i].target, path), 0);
    assert_null(tg_desc_load(path, NULL, &e));
    check_true(e.status == TG_ERR_FILE, "%s: %s", path, e.text);
  }
  snprintf(path, sizeof path, "%s/fifo.xml", base);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_null(tg_desc_load(path, NULL, &e));               // does not wait for a writer
  check_true(e.status == TG_ERR_FILE && strstr(e.text, "pipe") != NULL, "%s", e.text);
  assert_null(tg_desc_load("/dev/zero", NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
  assert_null(tg_desc_load(base, NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
  assert_null(tg_desc_load("", NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_null(tg_desc_load("no/such/file.xml", NULL, NULL));
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  // in memory: nothing may be read
  static const char text[] = "<mujoco><include file='/etc/passwd'/></mujoco>";
  assert_null(tg_desc_load_memory("t.xml", text, sizeof text - 1, NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
}

// a locale whose decimal point is a comma, compiled on the spot; false when localedef is not installed
static bool set_comma_locale(char *base) {
  char command[256];
  put(base, "comma", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
  snprintf(command, sizeof command, "localedef -c -i %s/comma -f ANSI_X3.4-1968 %s/xx >/dev/null 2>&1", base, base);
  if (system(command) == -1) return false;
  setenv("LOCPATH", base, 1);
  return setlocale(LC_NUMERIC, "xx") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
}

// an FP environment that rounds upwards and flushes denormals changes no number and is left as it was
static void test_fp_environment(void **state) {
  (void)state;
  const char *text = "<mujoco><option timestep='0.1234567890123456789' viscosity='1e-310'/></mujoco>";
  fesetround(FE_UPWARD);
  tgDesc *d = load(text, false);
  int left = fegetround();
  fesetround(FE_TONEAREST);
  assert_int_equal(left, FE_UPWARD);
  check_true(d->option.timestep == 0.1234567890123456789, "%.17g", d->option.timestep);
  check_true(d->option.viscosity == 1e-310, "%.17g", d->option.viscosity);
  tg_desc_free(d);
}

static void test_locale(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_locale_XXXXXX", command[80];
  assert_non_null(mkdtemp(base));
  bool set = set_comma_locale(base);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  if (!set) skip();
  tgDesc *d = load("<mujoco><option timestep='1.25e-3' gravity='0.1 0.30000000000000004 -9.8100000000000000000001'/></mujoco>",
                   false);
  tgError e;
  bool refused = tg_desc_load_memory("t", "<mujoco><option timestep='0,5'/></mujoco>", 41, NULL, &e) == NULL;
  setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  check_close(d->option.timestep, 1.25e-3, 0);
  check_true(d->option.gravity[0] == .1 && d->option.gravity[1] == 0.30000000000000004 && d->option.gravity[2] == -9.81,
             "gravity %.17g %.17g %.17g", d->option.gravity[0], d->option.gravity[1], d->option.gravity[2]);
  tg_desc_free(d);
  assert_true(refused);
}

// ---- damaged files, depth, memory ----

static char *read_whole(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = malloc(1 << 20);
  assert_non_null(text);
  *size = fread(text, 1, 1 << 20, f);
  fclose(f);
  return text;
}

// cut anywhere, a file is refused with a place; with one byte changed it loads or is refused, and never more than that
static void test_damaged(void **state) {
  (void)state;
  size_t size, end;
  char *text = read_whole(TG_SOURCE_DIR "/test/data/mjcf/everything.xml", &size);
  tgError e;
  for (end = size; text[end - 1] != '>'; end--) {}
  for (size_t n = 0; n < end; n++) {
    tgDesc *d = tg_desc_load_memory("t.xml", text, n, NULL, &e);
    check_true(d == NULL && e.status == TG_ERR_PARSE && strcmp(e.file, "t.xml") == 0, "the first %zu bytes: %s", n, e.text);
  }
  int loaded = 0, refused = 0;
  for (size_t n = 0; n < end; n += 3) {
    char kept = text[n];
    text[n] = "<\"0 x\n\xff-"[n % 8];
    tgDesc *d = tg_desc_load_memory("t.xml", text, size, NULL, &e);
    if (d == NULL) check_true(e.status < 0 && e.text[0] != 0, "byte %zu: refused without a word", n);
    loaded += d != NULL;
    refused += d == NULL;
    tg_desc_free(d);
    text[n] = kept;
  }
  assert_true(loaded > 50 && refused > 50);
  free(text);
}

// the same document in UTF-16, either byte order, gives the same description
static void test_utf16(void **state) {
  (void)state;
  static const char text[] = "<mujoco model='m'><option timestep='0.25'/><worldbody><geom name='g' size='.5'/></worldbody></mujoco>";
  for (int big = 0; big < 2; big++) {
    char wide[2 * sizeof text + 2];
    memcpy(wide, big ? "\xfe\xff" : "\xff\xfe", 2);
    for (size_t i = 0; i < sizeof text; i++) {
      wide[2 + 2 * i + (size_t)big] = text[i];
      wide[3 + 2 * i - (size_t)big] = 0;
    }
    tgError e;
    tgDesc *d = tg_desc_load_memory("t.xml", wide, 2 * sizeof text, NULL, &e);
    check_true(d != NULL, "%s", d == NULL ? e.text : "");
    check_close(d->option.timestep, .25, 0);
    assert_string_equal(d->geom[0].name, "g");
    tg_desc_free(d);
  }
}

static void test_long_chain(void **state) {
  (void)state;
  enum { N = 5000 };
  char *text = malloc(200 * N);
  assert_non_null(text);
  char *p = text + sprintf(text, "<mujoco><worldbody>");
  for (int i = 0; i < N; i++) p += sprintf(p, "<body pos='0 0 1'><joint/><geom size='.1'/>");
  for (int i = 0; i < N; i++) p += sprintf(p, "</body>");
  sprintf(p, "</worldbody></mujoco>");
  tgDesc *d = load(text, false);
  assert_int_equal(d->nbody, N + 1);
  assert_int_equal(d->body[N].parent, N - 1);
  tg_desc_free(d);
  free(text);
}

typedef struct Counter { int left, live; } Counter;
static void *count_alloc(void *ctx, size_t n) {
  Counter *c = ctx;
  if (c->left-- <= 0) return NULL;
  c->live++;
  return malloc(n);
}
static void *count_realloc(void *ctx, void *p, size_t n) {
  Counter *c = ctx;
  if (c->left-- <= 0) return NULL;
  if (p == NULL) c->live++;
  return realloc(p, n);
}
static void count_free(void *ctx, void *p) {
  Counter *c = ctx;
  if (p != NULL) c->live--;
  free(p);
}

// fails every allocation in turn: an error that says so, and nothing is left behind
static int sweep(const char *path) {
  int k = 0;
  for (bool loaded = false; !loaded; k++) {
    Counter c = {.left = k};
    tgAllocator a = {&c, count_alloc, count_realloc, count_free};
    tgLoadOptions o = tg_load_default();
    o.allocator = &a;
    tgError e;
    tgDesc *d = tg_desc_load(path, &o, &e);
    loaded = d != NULL;
    if (!loaded)
      check_true(e.status == TG_ERR_MEMORY && strstr(e.text, "out of memory") != NULL && strlen(e.text) > strlen("out of memory") && e.file[0] != 0,
                 "allocation %d failed: status %d: %s", k, e.status, e.text);
    tg_desc_free(d);
    check_true(c.live == 0, "allocation %d failed: %d blocks are left", k, c.live);
    assert_true(k < 10000);
  }
  return k;
}

static void test_memory(void **state) {
  (void)state;
  int whole = sweep(TG_SOURCE_DIR "/test/data/mjcf/everything.xml");
  check_true(whole > 60, "only %d allocations", whole);
  // include and mesh files
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  put(base, "m.xml", "<mujoco><include file='a.xml'/><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  put(base, "a.xml", "<mujoco><asset><mesh file='t.obj'/></asset></mujoco>");
  put(base, "t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  snprintf(path, sizeof path, "%s/m.xml", base);
  int n = sweep(path);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  check_true(n > 15, "only %d allocations", n);
}

static void test_options(void **state) {
  (void)state;
  tgLoadOptions o = {0};
  tgError e;
  assert_null(tg_desc_load_memory("t", "<mujoco/>", 9, &o, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_null(tg_desc_load_memory("t", "", 0, NULL, &e));
  assert_int_equal(e.status, TG_ERR_PARSE);
  assert_null(tg_desc_load_memory("t", NULL, 3, NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_minimal),   cmocka_unit_test(test_orientations),
      cmocka_unit_test(test_classes),   cmocka_unit_test(test_frames),
      cmocka_unit_test(test_joints),    cmocka_unit_test(test_inertials),
      cmocka_unit_test(test_geoms),     cmocka_unit_test(test_meshes),
      cmocka_unit_test(test_missing_meshes),
      cmocka_unit_test(test_actuators), cmocka_unit_test(test_tendons_and_equalities),
      cmocka_unit_test(test_contacts_and_keys), cmocka_unit_test(test_flags),
      cmocka_unit_test(test_notes), cmocka_unit_test(test_lenient_references),     cmocka_unit_test(test_include),
      cmocka_unit_test(test_msh), cmocka_unit_test(test_special_files), cmocka_unit_test(test_locale),
      cmocka_unit_test(test_fp_environment),
      cmocka_unit_test(test_damaged), cmocka_unit_test(test_utf16),
      cmocka_unit_test(test_long_chain), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
