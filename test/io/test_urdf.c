// test_urdf.c: what URDF files become: tree and order, joints of every type, inertials, motors, mimics, geoms,
// packages.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "tangere/model.h"

#define INERTIAL "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
#define LINK(name) "<link name='" name "'>" INERTIAL "</link>"
#define JOINT(name, type, p, c, rest)                                                                                  \
  "<joint name='" name "' type='" type "'><parent link='" p "'/><child link='" c "'/>" rest "</joint>"
#define LIMIT "<limit lower='-1' upper='2' effort='30' velocity='4'/>"

static tgDesc *load_with(const char *text, const tgLoadOptions *options) {
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("robot.urdf", text, strlen(text), options, &e);
  check_true(d != NULL, "line %d: %s", e.line, e.text);
  return d;
}
static tgDesc *load(const char *text) { return load_with(text, NULL); }

static int notes(const tgDesc *d, tgNoteKind kind, const char *word) {
  int n = 0;
  for (int i = 0; i < d->nnote; i++) n += d->note[i].kind == kind && strstr(d->note[i].text, word) != NULL;
  return n;
}

// depth first; children in the order of their joints, not of their links
static void tree_order(void **state) {
  (void)state;
  tgDesc *d =
      load("<robot name='r'>" LINK("d") LINK("c") LINK("b") LINK("a") LINK("e") JOINT("ab", "revolute", "a", "b", LIMIT)
               JOINT("cd", "fixed", "c", "d", "") JOINT("ac", "continuous", "a", "c", "")
                   JOINT("be", "prismatic", "b", "e", LIMIT) "</robot>");
  static const char *const body[] = {"world", "a", "b", "e", "c", "d"}, *const joint[] = {"root", "ab", "be", "ac"};
  static const int parent[] = {-1, 0, 1, 2, 1, 4};
  assert_string_equal(d->name, "r");
  assert_int_equal(d->nbody, 6);
  assert_int_equal(d->njoint, 4);
  for (int i = 0; i < 6; i++) {
    assert_string_equal(d->body[i].name, body[i]);
    assert_int_equal(d->body[i].parent, parent[i]);
  }
  for (int i = 0; i < 4; i++) assert_string_equal(d->joint[i].name, joint[i]);
  assert_int_equal(d->joint[0].type, TG_JOINT_FREE);
  // one motor a moving joint, in the order of the tree, limited by the effort
  assert_int_equal(d->nactuator, 3);
  for (int i = 0; i < 3; i++) {
    assert_string_equal(d->actuator[i].name, joint[i + 1]);
    assert_int_equal(d->actuator[i].target, i + 1);
    assert_int_equal(d->actuator[i].ctrllimited, i < 2);
  }
  check_close(d->actuator[0].ctrlrange[0], -30, 0);
  check_close(d->actuator[0].ctrlrange[1], 30, 0);
  assert_int_equal(notes(d, TG_NOTE_SKIPPED, "velocity limit 4 of joint 'ab'"), 1);
  tg_desc_free(d);
}

static void joints(void **state) {
  (void)state;
  tgDesc *d = load("<robot name='r'>" LINK("a") LINK("b") LINK("c") LINK("d") LINK("e") LINK("f")
                       JOINT("hinge", "revolute", "a", "b",
                             "<axis xyz='0 3 4'/><origin xyz='1 2 3' rpy='0.1 0.2 0.3'/>" LIMIT
                             "<dynamics damping='0.5' friction='0.25'/>") JOINT("slide", "prismatic", "a", "c", LIMIT)
                           JOINT("turn", "continuous", "a", "d", "<axis xyz='0 0 -2'/><limit effort='0' velocity='1'/>")
                               JOINT("flat", "planar", "a", "e", "<axis xyz='0 0 1'/>")
                                   JOINT("tilted", "planar", "a", "f", "<axis xyz='1 0 0'/>") "</robot>");
  const tgJointDesc *j = d->joint + 1;
  assert_int_equal(j->type, TG_JOINT_HINGE);
  check_close(j->axis[1], 0.6, 1e-15);
  check_close(j->axis[2], 0.8, 1e-15);
  assert_int_equal(j->limited, TG_LIMITED_YES);
  check_close(j->range[0], -1, 0);
  check_close(j->range[1], 2, 0);
  check_close(j->damping, 0.5, 0);
  check_close(j->frictionloss, 0.25, 0);
  // R = Rz(0.3) Ry(0.2) Rx(0.1): its first column by hand
  const tgBodyDesc *b = &d->body[j->body];
  double q[4], first[3] = {cos(0.3) * cos(0.2), sin(0.3) * cos(0.2), -sin(0.2)};
  memcpy(q, b->quat, sizeof q);
  double column[3] = {1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] + q[0] * q[3]),
                      2 * (q[1] * q[3] - q[0] * q[2])};
  for (int k = 0; k < 3; k++) {
    check_close(b->pos[k], k + 1, 0);
    check_close(column[k], first[k], 1e-15);
  }
  // R_32 = cos(pitch) sin(roll)
  check_close(2 * (q[2] * q[3] + q[0] * q[1]), cos(0.2) * sin(0.1), 1e-15);
  // no axis: x
  assert_int_equal(d->joint[2].type, TG_JOINT_SLIDE);
  check_close(d->joint[2].axis[0], 1, 0);
  assert_int_equal(d->joint[3].type, TG_JOINT_HINGE);
  check_close(d->joint[3].axis[2], -1, 0);
  assert_int_equal(d->joint[3].limited, TG_LIMITED_NO);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "effort of joint 'turn' is 0"), 1);
  static const char *const name[] = {"flat_x", "flat_y", "flat_z", "tilted_x", "tilted_y", "tilted_z"};
  static const double axis[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, -1}, {0, 1, 0}, {1, 0, 0}};
  assert_int_equal(d->njoint, 10);
  assert_int_equal(d->nactuator, 9);
  for (int i = 0; i < 6; i++) {
    assert_string_equal(d->joint[4 + i].name, name[i]);
    assert_int_equal(d->joint[4 + i].type, i % 3 == 2 ? TG_JOINT_HINGE : TG_JOINT_SLIDE);
    for (int k = 0; k < 3; k++) check_close(d->joint[4 + i].axis[k], axis[i][k], 1e-15);
  }
  tg_desc_free(d);
}

static void limits(void **state) {
  (void)state;
  tgDesc *d = load(
      "<robot name='r'>" LINK("a") LINK("b") LINK("c") LINK("d") LINK("e") JOINT("none", "revolute", "a", "b", "")
          JOINT("empty", "revolute", "a", "c", "<limit effort='1' velocity='1'/>")
              JOINT("huge", "revolute", "a", "d", "<limit lower='-1e16' upper='1e16' effort='1e300' velocity='1'/>")
                  JOINT("upper", "prismatic", "a", "e", "<limit upper='3' effort='1' velocity='1'/>") "</robot>");
  for (int i = 1; i <= 3; i++) assert_int_equal(d->joint[i].limited, TG_LIMITED_NO);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "'none' has no <limit>"), 1);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "'empty' has no lower and upper"), 1);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "'huge' are beyond"), 1);
  assert_int_equal(d->actuator[2].ctrllimited, false);
  assert_int_equal(d->joint[4].limited, TG_LIMITED_YES);
  check_close(d->joint[4].range[0], 0, 0);
  check_close(d->joint[4].range[1], 3, 0);
  tg_desc_free(d);
}

// I_body = R I R': a box's tensor in an inertial frame turned by 90 degrees about z swaps x and y
static void inertials(void **state) {
  (void)state;
  tgDesc *d = load(
      "<robot name='r'><link name='a'><inertial><origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/><mass value='5'/>"
      "<inertia ixx='2' ixy='0.1' ixz='0.2' iyy='3' iyz='0.3' izz='4'/></inertial></link></robot>");
  static const double want[6] = {3, 2, 4, -0.1, -0.3, 0.2};
  const tgBodyDesc *b = &d->body[1];
  check_close(b->mass, 5, 0);
  for (int k = 0; k < 3; k++) check_close(b->com[k], k + 1, 0);
  for (int k = 0; k < 6; k++) check_close(b->inertia[k], want[k], 1e-15);
  tg_desc_free(d);
}

static void mimics(void **state) {
  (void)state;
  tgDesc *d = load("<robot name='r'>" LINK("a") LINK("b") LINK("c") LINK("d")
                       JOINT("follow", "revolute", "a", "b", LIMIT "<mimic joint='lead' multiplier='-2' offset='0.5'/>")
                           JOINT("lead", "revolute", "a", "c", LIMIT)
                               JOINT("plain", "prismatic", "c", "d", LIMIT "<mimic joint='lead'/>") "</robot>");
  assert_int_equal(d->nactuator, 1);
  assert_string_equal(d->actuator[0].name, "lead");
  assert_int_equal(d->nequality, 2);
  for (int i = 0; i < 2; i++) {
    const tgEqualityDesc *e = &d->equality[i];
    assert_int_equal(e->type, TG_EQ_JOINT);
    assert_string_equal(d->joint[e->a].name, i == 0 ? "follow" : "plain");
    assert_string_equal(d->joint[e->b].name, "lead");
    check_close(e->polycoef[0], i == 0 ? 0.5 : 0, 0);
    check_close(e->polycoef[1], i == 0 ? -2 : 1, 0);
  }
  tg_desc_free(d);
}

static void roots(void **state) {
  (void)state;
  tgLoadOptions fixed = tg_load_default();
  fixed.fixed_base = true;
  tgDesc *d = load_with("<robot name='r'>" LINK("a") "</robot>", &fixed);
  assert_int_equal(d->njoint, 0);
  tg_desc_free(d);
  // world is the world; a floating joint below it is a free joint of its name
  d = load("<robot name='r'><link name='world'/>" LINK("a") LINK("b") JOINT(
      "fly", "floating", "world", "a", "<origin xyz='0 0 2'/>") JOINT("weld", "fixed", "world", "b", "") "</robot>");
  assert_int_equal(d->nbody, 3);
  assert_int_equal(d->njoint, 1);
  assert_int_equal(d->joint[0].type, TG_JOINT_FREE);
  assert_string_equal(d->joint[0].name, "fly");
  check_close(d->body[1].pos[2], 2, 0);
  assert_int_equal(d->body[2].parent, 0);
  assert_int_equal(d->nactuator, 0);
  tg_desc_free(d);
  // a frame as root floats with the mass that is fixed to it, however deep
  d = load("<robot name='r'><link name='foot'/><link name='mid'/>" LINK("a") JOINT("x", "fixed", "foot", "mid", "")
               JOINT("y", "fixed", "mid", "a", "") "</robot>");
  assert_int_equal(d->joint[0].type, TG_JOINT_FREE);
  assert_int_equal(d->joint[0].body, 1);
  tg_desc_free(d);
  // without any it cannot float
  d = load("<robot name='r'><link name='base'/>" LINK("a") JOINT("x", "revolute", "base", "a", LIMIT) "</robot>");
  assert_int_equal(d->njoint, 1);
  assert_string_equal(d->joint[0].name, "x");
  assert_int_equal(notes(d, TG_NOTE_WARNING, "root link 'base'"), 1);
  tg_desc_free(d);
}

// the base of a fixed robot does not collide with the link on its first joint, whatever is fixed to either; the next link may
static void neighbours_of_the_base(void **state) {
  (void)state;
  const char *arm = "<robot name='r'>" LINK("base") LINK("cover") LINK("a") LINK("b") JOINT("bolt", "fixed", "base", "cover", "")
      JOINT("x", "revolute", "base", "a", LIMIT) JOINT("y", "revolute", "a", "b", LIMIT) "</robot>";
  tgDesc *d = load(arm);
  assert_int_equal(d->nexclude, 0);   // it floats: every parent and child are kept apart by the model
  tg_desc_free(d);
  tgLoadOptions fixed = tg_load_default();
  fixed.fixed_base = true;
  d = load_with(arm, &fixed);
  assert_int_equal(d->nexclude, 2);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(d->body[d->exclude[i].body1].name, i == 0 ? "base" : "cover");
    assert_string_equal(d->body[d->exclude[i].body2].name, "a");
  }
  tg_desc_free(d);
  // the world itself is ground
  d = load("<robot name='r'><link name='world'/>" LINK("a") JOINT("x", "revolute", "world", "a", LIMIT) "</robot>");
  assert_int_equal(d->nexclude, 0);
  tg_desc_free(d);
}

static void geoms(void **state) {
  (void)state;
  tgDesc *d = load(
      "<robot name='r'><material name='red'><color rgba='1 0 0 0.5'/></material><link name='a'>" INERTIAL
      "<visual name='g'><geometry><box size='1 2 3'/></geometry><material name='red'/></visual>"
      "<collision name='g'><origin xyz='0 0 1'/><geometry><cylinder radius='0.5' length='3'/></geometry></collision>"
      "<collision><geometry><sphere radius='2'/></geometry></collision><visual/>"
      "<collision><geometry><capsule radius='0.1' length='1'/></geometry></collision>"
      "<contact><lateral_friction value='0.7'/><restitution value='0.2'/><stiffness value='3'/></contact></link></robot>");
  assert_int_equal(d->ngeom, 4);
  const tgGeomDesc *g = d->geom;
  assert_true(g[0].visual_only && g[0].contype == 0 && g[0].conaffinity == 0);
  assert_string_equal(g[0].name, "g");
  for (int k = 0; k < 3; k++) check_close(g[0].size[k], (k + 1) / 2.0, 0);
  check_close((double)g[0].rgba[0], 1, 0);
  check_close((double)g[0].rgba[3], 0.5, 0);
  assert_int_equal(g[1].type, TG_GEOM_CYLINDER);
  assert_null(g[1].name);
  check_close(g[1].size[1], 1.5, 0);
  check_close(g[1].pos[2], 1, 0);
  assert_int_equal(g[2].type, TG_GEOM_SPHERE);
  assert_int_equal(g[3].type, TG_GEOM_CAPSULE);
  for (int i = 1; i < 4; i++) {
    assert_true(!g[i].visual_only && g[i].contype == 1 && g[i].conaffinity == 1);
    check_close(g[i].friction[0], 0.7, 0);
    check_close(g[i].restitution, 0.2, 0);
  }
  assert_int_equal(notes(d, TG_NOTE_SOFT, "stiffness"), 1);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "visual of link 'a' has no shape"), 1);
  // the link weighs what its inertial says, not its geoms
  tgModel *m = tg_model_compile(d, NULL, NULL);
  assert_non_null(m);
  check_close(d->body[1].mass, 1, 0);
  tg_model_free(m);
  tg_desc_free(d);
}

// ---- packages ----

static void put(const char *directory, const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  for (char *p = strchr(path + strlen(directory) + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = 0;
    mkdir(path, 0700);
    *p = '/';
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

#define TETRA "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
#define MESH(file) "<collision><geometry><mesh filename='" file "' scale='1 1 -2'/></geometry></collision>"

static tgDesc *load_file(const char *directory, const char *name, const tgLoadOptions *o, tgError *e) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  *e = (tgError){0};
  return tg_desc_load(path, o, e);
}

static void packages(void **state) {
  (void)state;
  char dir[] = "/tmp/tangere_urdf_XXXXXX", map[600];
  assert_non_null(mkdtemp(dir));
  put(dir, "ws/bot/package.xml", "<package/>");
  put(dir, "ws/bot/meshes/t.obj", TETRA);
  put(dir, "ws/other/package.xml", "<package/>");
  put(dir, "ws/other/t.obj", TETRA);
  put(dir, "ws/secret/t.obj", TETRA);
  put(dir, "elsewhere/t.obj", TETRA);
  put(dir, "ws/bot/urdf/all.urdf",
      "<robot name='r'><link name='a'>" INERTIAL MESH("../meshes/t.obj") MESH("package://bot/meshes/t.obj")
          MESH("package://other/t.obj") MESH("package:///other/t.obj") "</link></robot>");
  put(dir, "ws/bot/urdf/secret.urdf",
      "<robot name='r'><link name='a'>" INERTIAL MESH("package://secret/t.obj") "</link></robot>");
  put(dir, "ws/bot/urdf/far.urdf",
      "<robot name='r'><link name='a'>" INERTIAL MESH("package://far/t.obj") "</link></robot>");
  put(dir, "ws/bot/urdf/drawn.urdf",
      "<robot name='r'><link name='a'>" INERTIAL
      "<visual><geometry><mesh filename='none.stl'/></geometry></visual><visual><geometry><mesh filename='x.dae'/></geometry></visual>"
      "</link></robot>");
  put(dir, "ws/bot/urdf/both.urdf",
      "<robot name='r'><link name='a'>" INERTIAL
      "<visual><geometry><mesh filename='none.stl'/></geometry></visual><collision><geometry><mesh filename='none.stl'/></geometry>"
      "</collision></link></robot>");
  tgError e;
  tgDesc *d = load_file(dir, "ws/bot/urdf/all.urdf", NULL, &e);
  check_true(d != NULL, "%s", e.text);
  assert_int_equal(d->nmesh, 4);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(d->mesh[i].nvert, 4);
    assert_false(d->mesh[i].missing);
    double *v = d->mesh[i].vert;
    assert_true(v[2] == 0 && v[11] == -2);   // scaled
    assert_int_equal(d->mesh[i].face[1], 1); // and turned over
  }
  tg_desc_free(d);
  // a directory beside the package that is no package is out of reach
  d = load_file(dir, "ws/bot/urdf/secret.urdf", NULL, &e);
  assert_null(d);
  assert_int_equal(e.status, TG_ERR_FILE);
  check_true(strstr(e.text, "package 'secret'") != NULL, "%s", e.text);
  // the map reaches anywhere
  tgLoadOptions o = tg_load_default();
  const char *name = "far", *path = map;
  snprintf(map, sizeof map, "%s/elsewhere", dir);
  o.package_name = &name;
  o.package_path = &path;
  o.npackage = 1;
  d = load_file(dir, "ws/bot/urdf/far.urdf", &o, &e);
  check_true(d != NULL, "%s", e.text);
  tg_desc_free(d);
  d = load_file(dir, "ws/bot/urdf/drawn.urdf", NULL, &e);
  check_true(d != NULL, "%s", e.text);
  assert_true(d->nmesh == 2 && d->mesh[0].missing && d->mesh[1].missing);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "only drawn and cannot be read"), 2);
  tg_desc_free(d);
  d = load_file(dir, "ws/bot/urdf/both.urdf", NULL, &e);
  assert_null(d);
  check_true(strstr(e.text, "1 collision mesh cannot be read: none.stl") != NULL, "%s", e.text);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", dir);
  assert_int_equal(system(command), 0);
}

// what repair mends of a link and a joint, told, and refused or kept without it
static void repaired(void **state) {
  (void)state;
  static const char *const inertia[] = {"ixx='2e-8' iyy='3e-8' izz='4e-8' ixy='6e-8' ixz='1e-8' iyz='1e-8'",
                                        "ixx='-1e-19' iyy='-1e-19' izz='0'"};
  static const double mean[] = {3e-8, 0};
  tgLoadOptions o = tg_load_default();
  for (int k = 0; k < 2; k++) {
    char text[600];
    snprintf(text, sizeof text,
             "<robot name='r'><link name='a'>" INERTIAL "</link><link name='b'><inertial><mass value='.3'/><origin xyz='.1 0 0'/>"
             "<inertia %s/></inertial></link>"
             JOINT("j", "revolute", "a", "b", "<axis xyz='0 0 1'/><limit lower='0' upper='0' effort='0' velocity='0'/>") "</robot>",
             inertia[k]);
    for (int repair = 0; repair < 2; repair++) {
      tgError e = {0};
      o.repair = repair == 1;
      tgDesc *d = load_with(text, &o);
      assert_int_equal(notes(d, TG_NOTE_WARNING, "it is not limited (repair)"), repair);
      assert_int_equal(d->joint[1].limited == TG_LIMITED_YES, !repair);
      tgModel *m = tg_model_compile(d, NULL, &e);
      check_true((m != NULL) == (repair == 1), "%d %d: %s", k, repair, e.text);
      bool told = strstr(e.text, "its inertia is not positive") != NULL && strstr(e.text, "--repair") != NULL;
      check_true(told || repair == 1, "%s", e.text);
      if (repair == 1) {
        const double *I = tg_model_field_named(m, "body_inertia").data;
        for (int i = 0; i < 3; i++) check_close(I[6 * 2 + i], mean[k], 1e-12 * mean[k]);
        assert_int_equal(notes(d, TG_NOTE_WARNING, "replaced by their mean"), 1);
      }
      tg_model_free(m);
      tg_desc_free(d);
    }
  }
  // moments that are 0 but for rounding are those of no body, and need no mending
  tgError none = {0};
  tgDesc *point = load("<robot name='r'>" LINK("a") "<link name='b'><inertial><mass value='.3'/><origin xyz='.1 0 0'/>"
                       "<inertia ixx='4e-19' iyy='0' izz='0'/></inertial></link>" JOINT("j", "revolute", "a", "b", LIMIT) "</robot>");
  tgModel *good = tg_model_compile(point, NULL, &none);
  check_true(good != NULL, "%s", none.text);
  tg_model_free(good);
  tg_desc_free(point);
  // one that is wrong beyond its mean is refused with repair too; limits of an effort stay
  o.repair = true;
  tgError e = {0};
  tgDesc *d = load_with("<robot name='r'><link name='a'><inertial><mass value='.3'/><inertia ixx='-1' iyy='.1' izz='.1'/></inertial>"
                        "</link>" LINK("b")
                        JOINT("j", "revolute", "a", "b", "<limit lower='0' upper='0' effort='3' velocity='0'/>") "</robot>", &o);
  assert_true(d->joint[1].limited == TG_LIMITED_YES);
  assert_null(tg_model_compile(d, NULL, &e));
  assert_null(strstr(e.text, "--repair"));
  tg_desc_free(d);
}

// zero bytes behind the document
static void trailing_zeros(void **state) {
  (void)state;
  static const char text[] = "<robot name='r'>" LINK("a") "</robot>\n\0\0";
  tgLoadOptions o = tg_load_default();
  tgError e = {0};
  assert_null(tg_desc_load_memory("r.urdf", text, sizeof text - 1, &o, &e));
  assert_int_equal(e.status, TG_ERR_PARSE);
  o.lenient = true;
  tgDesc *d = tg_desc_load_memory("r.urdf", text, sizeof text - 1, &o, &e);
  check_true(d != NULL, "%s", e.text);
  assert_int_equal(notes(d, TG_NOTE_LENIENT, "2 zero bytes at its end"), 1);
  tg_desc_free(d);
  assert_null(tg_desc_load_memory("r.urdf", "\0\0", 2, &o, &e));
}

// what is odd about a mesh is said: size, border, winding, faces dropped; repair turns faces over
static void odd_meshes(void **state) {
  (void)state;
  char dir[] = "/tmp/tangere_urdf_XXXXXX";
  assert_non_null(mkdtemp(dir));
  put(dir, "t.obj", TETRA);
  put(dir, "open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 1 2\n");
  put(dir, "turned.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 4 1\n");
  put(dir, "world.urdf",
      "<robot name='r'><link name='world'/><link name='a'>" INERTIAL MESH("t.obj") MESH("open.obj")
          MESH("turned.obj") "<collision><geometry><mesh filename='t.obj' scale='2000'/></geometry></collision></link>"
                             "<link name='b'>" INERTIAL
                             "<collision><geometry><box size='1 1 1'/></geometry></collision></link>" JOINT(
                                 "j", "floating", "world", "a", "")
                                 JOINT("k", "floating", "world", "b", "") "</robot>");
  tgError e;
  tgLoadOptions o = tg_load_default();
  for (int repair = 0; repair < 2; repair++) {
    o.repair = repair == 1;
    tgDesc *d = load_file(dir, "world.urdf", &o, &e);
    check_true(d != NULL, "%s", e.text);
    assert_int_equal(notes(d, TG_NOTE_WARNING, "looks like millimetres"), 1);
    assert_int_equal(notes(d, TG_NOTE_WARNING, "1 face(s) without area dropped"), 1);
    assert_int_equal(notes(d, TG_NOTE_WARNING, "1 of 4 faces turned over"), repair);
    tgModel *m = tg_model_compile(d, NULL, &e);
    check_true(m != NULL, "%s", e.text);
    assert_int_equal(notes(d, TG_NOTE_WARNING, "is open: 3 edges in 1 pieces of border"), 1);
    assert_int_equal(notes(d, TG_NOTE_WARNING, "wound inconsistently at 3 edges"), 1 - repair);
    tg_model_free(m);
    tg_desc_free(d);
  }
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", dir);
  assert_int_equal(system(command), 0);
}

// A ball joint, a chain without mass and a visual without extent, as Bullet's and others' files have them.
static void as_others_have_them(void **state) {
  (void)state;
  static const char text[] =
      "<robot name='r'>" LINK("a") "<link name='b'><visual><geometry><sphere radius='0'/></geometry></visual>"
      "<visual><geometry><box size='1 0 1'/></geometry></visual>" INERTIAL "</link><link name='tip'><inertial><mass value='0'/>"
      "<inertia ixx='0' iyy='0' izz='0'/></inertial></link><link name='end'/>"
      JOINT("ball", "spherical", "a", "b", "<dynamics damping='.5'/><limit effort='1' velocity='1'/>")
      JOINT("bend", "revolute", "b", "tip", LIMIT)
      JOINT("last", "revolute", "tip", "end", LIMIT "<mimic joint='bend'/>") "</robot>";
  tgLoadOptions o = tg_load_default();
  tgError e = {0};
  assert_null(tg_desc_load_memory("robot.urdf", text, sizeof text - 1, &o, &e));
  check_true(strstr(e.text, "radius is 0 and must be positive (--lenient does not draw it)") != NULL, "%s", e.text);
  o.lenient = true;
  tgDesc *d = load_with(text, &o);
  assert_null(tg_model_compile(d, NULL, &e));
  bool told = strstr(e.text, "neither it nor anything it carries has mass") != NULL && strstr(e.text, "--repair fixes the joint") != NULL;
  check_true(told, "%s", e.text);
  tg_desc_free(d);
  o.repair = true;
  d = load_with(text, &o);
  assert_int_equal(d->ngeom, 0);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "has no shape, or one without extent"), 2);
  assert_int_equal(notes(d, TG_NOTE_WARNING, "moves nothing that has mass: it is fixed (repair)"), 2);
  assert_int_equal(notes(d, TG_NOTE_SKIPPED, "'ball' has no motor, and its velocity no limit"), 1);
  assert_int_equal(d->njoint, 2);
  assert_int_equal(d->joint[1].type, TG_JOINT_BALL);
  check_close(d->joint[1].damping, .5, 0);
  assert_int_equal(d->nactuator + d->nequality, 0);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  assert_int_equal(tg_model_nv(m), 9);
  tg_model_free(m);
  tg_desc_free(d);
}

// ten thousand links in a chain: nothing recurses
static void long_chain(void **state) {
  (void)state;
  enum { N = 10000 };
  char *text = malloc(400 * (size_t)N);
  assert_non_null(text);
  size_t k = (size_t)sprintf(text, "<robot name='r'>");
  for (int i = 0; i < N; i++) k += (size_t)sprintf(text + k, "<link name='l%d'>" INERTIAL "</link>", i);
  for (int i = 1; i < N; i++)
    k += (size_t)sprintf(text + k, "<joint name='j%d' type='%s'><parent link='l%d'/><child link='l%d'/></joint>", i,
                         i % 2 == 0 ? "fixed" : "continuous", i - 1, i);
  sprintf(text + k, "</robot>");
  tgDesc *d = load(text);
  assert_int_equal(d->nbody, N + 1);
  assert_int_equal(d->body[N].parent, N - 1);
  assert_int_equal(d->njoint, 1 + N / 2);
  tg_desc_free(d);
  free(text);
}

// ---- memory ----

typedef struct Failing {
  long left, live;
} Failing;
static void *failing_alloc(void *ctx, size_t n) {
  Failing *f = ctx;
  if (f->left-- <= 0) return NULL;
  void *p = malloc(n);
  f->live += p != NULL;
  return p;
}
static void *failing_realloc(void *ctx, void *old, size_t n) {
  Failing *f = ctx;
  if (f->left-- <= 0) return NULL;
  void *p = realloc(old, n);
  f->live += p != NULL && old == NULL;
  return p;
}
static void failing_free(void *ctx, void *p) {
  Failing *f = ctx;
  f->live -= p != NULL;
  free(p);
}

// whichever allocation fails, the load says so and leaks nothing
static void out_of_memory(void **state) {
  (void)state;
  char dir[] = "/tmp/tangere_urdf_XXXXXX", path[600];
  assert_non_null(mkdtemp(dir));
  put(dir, "t.obj", TETRA);
  put(dir, "r.urdf",
      "<robot name='r'>" LINK(
          "a") "<link name='b'>" INERTIAL "<visual><geometry><mesh filename='t.obj'/></geometry></visual>"
               "<collision><geometry><mesh filename='package://x/t.obj'/></geometry></collision></link>" LINK("c")
                   JOINT("j", "revolute", "a", "b", LIMIT)
                       JOINT("k", "revolute", "b", "c", LIMIT "<mimic joint='j'/>") "</robot>");
  snprintf(path, sizeof path, "%s/r.urdf", dir);
  bool loaded = false;
  for (long k = 0; !loaded && k < 2000; k++) {
    Failing f = {.left = k};
    tgAllocator a = {&f, failing_alloc, failing_realloc, failing_free};
    tgLoadOptions o = tg_load_default();
    const char *name = "x", *root = dir;
    o.allocator = &a;
    o.package_name = &name;
    o.package_path = &root;
    o.npackage = 1;
    tgError e = {0};
    tgDesc *d = tg_desc_load(path, &o, &e);
    loaded = d != NULL;
    if (!loaded)
      check_true(e.status == TG_ERR_MEMORY || e.status == TG_ERR_FILE, "allocation %ld: status %d: %s", k, e.status,
                 e.text);
    tg_desc_free(d);
    check_true(f.live == 0, "allocation %ld: %ld blocks leak", k, f.live);
  }
  assert_true(loaded);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", dir);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tree_order), cmocka_unit_test(joints),        cmocka_unit_test(limits),
      cmocka_unit_test(inertials),  cmocka_unit_test(mimics),        cmocka_unit_test(roots), cmocka_unit_test(neighbours_of_the_base),
      cmocka_unit_test(geoms),      cmocka_unit_test(packages),      cmocka_unit_test(odd_meshes),
                                     cmocka_unit_test(repaired), cmocka_unit_test(trailing_zeros), cmocka_unit_test(as_others_have_them),
      cmocka_unit_test(long_chain), cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
