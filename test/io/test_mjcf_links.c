// test_mjcf_links.c: what actuators, tendons, equalities, contacts, keyframes and flags of well-formed MJCF become;
// what is left out and said.
#include "io/mjcf_support.h"

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
  assert_int_equal(count_notes(d, TG_NOTE_SKIPPED), 8);     // seven elements, attribute user
  assert_int_equal(count_notes(d, TG_NOTE_SOFT), 5);        // solref is listed once
  assert_int_equal(count_notes(d, TG_NOTE_LENIENT) + count_notes(d, TG_NOTE_DROPPED) + count_notes(d, TG_NOTE_WARNING), 0);
  tg_desc_free(d);
  d = load("<mujoco><worldbody><body mocap='true'><geom size='1' condim='6'/></body><body><joint name='j'/><zzz/></body></worldbody>"
           "<actuator><muscle name='m' joint='j'/><motor joint='j'/></actuator><keyframe><key ctrl='1 2'/></keyframe></mujoco>",
           true);
  assert_int_equal(d->nactuator, 1);
  assert_int_equal(d->geom[0].condim, 6);
  assert_int_equal(count_notes(d, TG_NOTE_DROPPED), 3);     // zzz, muscle, the key's controls
  tg_desc_free(d);
}

// what refers to something left out is left out too, and what is left keeps its place in keyframes
static void test_references_to_what_is_dropped(void **state) {
  (void)state;
  tgDesc *d = load("<mujoco><asset><hfield name='x' nrow='2' ncol='2' size='1 1 1 1'/></asset>"
                   "<worldbody><body name='b'><joint name='j'/><geom name='g' size='1' material='none'/>"
                   "<geom name='h' type='hfield' hfield='x'/></body><body mocap='true'/></worldbody><contact><pair geom1='g' geom2='h'/>"
                   "</contact><equality><connect site1='a' site2='c'/><tendon tendon1='t'/></equality>"
                   "<tendon><spatial name='t'><site site='s'/><geom geom='g'/></spatial></tendon>"
                   "<actuator><motor tendon='t'/><motor jointinparent='j'/><motor site='s'/></actuator>"
                   "<keyframe><key qpos='1' mpos='0 0 1'/></keyframe></mujoco>", true);
  assert_int_equal(d->npair + d->nequality + d->ntendon, 0);
  assert_int_equal(d->nactuator, 1);
  assert_int_equal(d->nkey, 1);
  check_close(d->key[0].qpos[0], 1, 0);
  assert_int_equal(count_notes(d, TG_NOTE_WARNING), 4);     // the cells of x, the material that is not there, the mocap body, mpos
  tg_desc_free(d);
}

static tgStatus loads(const char *text, bool lenient, const char *drop, tgError *e) {
  tgLoadOptions o = tg_load_default();
  o.lenient = lenient;
  assert_int_equal(tg_load_drop(&o, drop, e), TG_OK);
  tgDesc *d = tg_desc_load_memory("t.xml", text, strlen(text), &o, e);
  tg_desc_free(d);
  return d != NULL ? TG_OK : e->status;
}

// what is not supported may be given by the word that stands for doing nothing
static void test_neutral_words(void **state) {
  (void)state;
  tgError e;
  check_true(loads("<mujoco><compiler coordinate='local' alignfree='false' convexhull='true'/><option>"
                   "<flag filterparent='enable' override='disable'/></option><worldbody><body>"
                   "<joint actuatorgravcomp='false' springdamper='0 0'/><geom size='1' fluidshape='none' adhesion='0'/>"
                   "</body></worldbody></mujoco>", false, "", &e) == TG_OK, "%s", e.text);
  assert_int_equal(loads("<mujoco><compiler alignfree='true'/></mujoco>", false, "", &e), TG_ERR_UNSUPPORTED);
  assert_int_equal(loads("<mujoco><compiler coordinate='loca'/></mujoco>", false, "", &e), TG_ERR_UNSUPPORTED);
}

// lenient passes over a stray word, not over a muscle; a kind of drop leaves out no other
static void test_lenient_changes_no_motion(void **state) {
  (void)state;
  static const char word[] = "<mujoco><worldbody>oops<geom size='1'/></worldbody></mujoco>",
                    muscle[] = "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator><muscle joint='j'/>"
                               "</actuator></mujoco>";
  tgError e;
  assert_int_equal(loads(word, false, "", &e), TG_ERR_PARSE);
  assert_non_null(strstr(e.text, "--lenient goes on"));
  assert_int_equal(loads(word, true, "", &e), TG_OK);
  assert_int_equal(loads(word, false, "unknown", &e), TG_ERR_PARSE);
  assert_int_equal(loads(muscle, true, "", &e), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(e.text, "(--drop=actuator goes on without it)"));
  assert_int_equal(loads(muscle, true, "hfield, spatial-tendon", &e), TG_ERR_UNSUPPORTED);
  assert_int_equal(loads(muscle, false, "hfield,actuator", &e), TG_OK);
  // an actuator that is a plugin is an actuator
  static const char plugin[] = "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator><plugin joint='j'/>"
                               "</actuator></mujoco>";
  assert_int_equal(loads(plugin, false, "plugin", &e), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(e.text, "(--drop=actuator goes on without it)"));
  assert_int_equal(loads(plugin, false, "actuator", &e), TG_OK);
}

static void test_drop_words(void **state) {
  (void)state;
  tgLoadOptions o = tg_load_default();
  tgError e;
  for (int i = 0; i < TG_DROP_COUNT; i++) {
    o.drop = 0;
    assert_int_equal(tg_load_drop(&o, tg_drop_word((tgDrop)i), &e), TG_OK);
    assert_int_equal(o.drop, 1u << i);
    assert_non_null(tg_drop_text((tgDrop)i));
  }
  assert_null(tg_drop_word(TG_DROP_COUNT));
  assert_null(tg_drop_text((tgDrop)-1));
  assert_int_equal(tg_load_drop(&o, "mesh hfeild", &e), TG_ERR_ARG);
  assert_non_null(strstr(e.text, "'hfeild'; did you mean hfield?"));
  assert_int_equal(tg_load_drop(NULL, "mesh", &e), TG_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_actuators), cmocka_unit_test(test_tendons_and_equalities), cmocka_unit_test(test_contacts_and_keys),
      cmocka_unit_test(test_flags), cmocka_unit_test(test_notes), cmocka_unit_test(test_references_to_what_is_dropped),
      cmocka_unit_test(test_neutral_words), cmocka_unit_test(test_lenient_changes_no_motion), cmocka_unit_test(test_drop_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
