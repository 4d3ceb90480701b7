// test_mjcf.c: what the bodies, joints, geoms and meshes of well-formed MJCF become, with values derived by hand.
#include "io/mjcf_support.h"
#include "tangere/sim.h"

static const double deg = TG_PI / 180;

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

// more copies than a first list of places holds: each has its own name, place and parts
static void test_replicas(void **state) {
  (void)state;
  enum { N = 20 };
  tgDesc *d = load("<mujoco><worldbody><replicate count='20' offset='.5 0 .1'><body name='ball' pos='0 1 2'><joint name='j' type='slide'/>"
                   "<geom name='g' size='.1'/><body name='arm' pos='0 0 .3'><geom name='h' size='.05'/></body><site name='s' pos='0 0 .5'/>"
                   "</body></replicate></worldbody></mujoco>", false);
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  assert_int_equal(tg_model_count(m, TG_THING_BODY), 2 * N + 1);
  assert_int_equal(tg_model_count(m, TG_THING_SITE), N);
  assert_int_equal(tg_model_nv(m), N);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  assert_int_equal(tg_sim_forward(s), TG_OK);
  const double *x = tg_sim_field_named(s, "xpos").data;
  for (int i = 0; i < N; i++) {
    char ball[16], arm[16], joint[16];
    snprintf(ball, sizeof ball, "ball%02d", i);
    snprintf(arm, sizeof arm, "arm%02d", i);
    snprintf(joint, sizeof joint, "j%02d", i);
    int b = tg_model_find(m, TG_THING_BODY, ball), a = tg_model_find(m, TG_THING_BODY, arm);
    check_true(b == 2 * i + 1 && a == 2 * i + 2 && tg_model_find(m, TG_THING_JOINT, joint) == i, "%s is %d, its arm %d", ball, b, a);
    CLOSE(x + 3 * b, 0.5 * i, 1, 2 + 0.1 * i);
    CLOSE(x + 3 * a, 0.5 * i, 1, 2.3 + 0.1 * i);
  }
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_minimal), cmocka_unit_test(test_orientations), cmocka_unit_test(test_classes),
      cmocka_unit_test(test_replicas), cmocka_unit_test(test_frames), cmocka_unit_test(test_joints), cmocka_unit_test(test_inertials),
      cmocka_unit_test(test_geoms), cmocka_unit_test(test_meshes), cmocka_unit_test(test_missing_meshes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
