// test_force.c: the contacts of a step and what joints carry, under every contact model, against statics and the laws of motion.
#include "tangere/force.h"

#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "support/rig.h"
#include "tangere/step.h"

static const double G = 9.81, H = 0.002;

static Rig rig(const char *text, const char *word, const char *settings) {
  if (word == NULL) return rig_of_text(text, NULL, NULL);
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_text(text, word, &o.of);
}

static const char *word_of(const Rig *r) { return tg_contact_word(r->c); }

static void steps(Rig *r, int n) {
  for (int i = 0; i < n; i++)
    check_true(tg_sim_step_growing(r->s, H, NULL) == TG_OK, "%s, step %d: %s", word_of(r), i, tg_sim_error(r->s)->text);
}

static bool of_rows(const char *word) { return strcmp(word, "lcp") == 0 || strcmp(word, "toi") == 0; }

// what holds of every contact: the order of its geoms, their bodies, axes that are a rotation, the force along them
static void check_form(const Rig *r, const tgContactInfo *c) {
  const int *body = tg_model_field_named(r->m, "geom_body").data;
  const double *f = c->frame;
  assert_true(c->geom1 < c->geom2 && body[c->geom1] == c->body1 && body[c->geom2] == c->body2);
  for (int i = 0; i < 3; i++) {
    double back = 0;
    for (int j = 0; j < 3; j++) {
      check_close(f[3 * i] * f[3 * j] + f[3 * i + 1] * f[3 * j + 1] + f[3 * i + 2] * f[3 * j + 2], i == j, 1e-12);
      back += f[3 * j + i] * c->force[j];
    }
    check_close(back, c->world[i], 1e-12 * (1 + fabs(c->world[i])));
    int a = (i + 1) % 3, b = (i + 2) % 3;
    check_close(f[a] * f[3 + b] - f[b] * f[3 + a], f[6 + i], 1e-12);
  }
  // of laws the normal is the direction of what pushes; where forces of all directions cancel friction may be more
  check_true(c->force[0] >= (of_rows(word_of(r)) ? 0 : -0.1), "%s: %g N", word_of(r), c->force[0]);
}

// ---- a block that slides along x and z on what is fixed, pushed along x by a part of gravity ----

static const char on_plane[] =
    "<mujoco><option gravity='%g 0 -9.81'/><default><geom friction='0.5 0 0'/></default><worldbody><geom type='plane' size='1 1 1'/>"
    "<body pos='0 0 0.102'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
    "<geom type='box' size='0.1 0.1 0.1' mass='0.75'/></body></worldbody></mujoco>";
// The block comes first, the table that it stands on later, beside the diagonal of its top, where the barrier pushes aside.
static const char on_table[] =
    "<mujoco><option gravity='%g 0 -9.81'/><default><geom friction='0.5 0 0'/></default><worldbody>"
    "<body pos='0 0 0.102'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
    "<geom type='box' size='0.1 0.1 0.1' mass='0.75'/></body>"
    "<body pos='0 0.22 -0.4'><geom type='box' size='0.4 0.4 0.4'/></body></worldbody></mujoco>";

// sums over the block's contacts: normal forces, and along x all force on it and what of that is friction
static void on_block(const Rig *r, int block, tgContactState state, double *normal, double *along, double *friction) {
  tgContactInfo c;
  double wrench[6] = {0};
  const double *x = tg_sim_field_named(r->s, "xpos").data;
  *normal = *along = *friction = 0;
  for (int at = 0; tg_sim_next_contact(r->s, &at, &c);) {
    check_form(r, &c);
    if (!(c.force[0] > 0)) continue;
    check_true(c.state == state, "%s: %s", word_of(r), tg_contact_state_text(c.state));
    double up = c.body2 == block ? 1 : -1;
    check_close(c.frame[2], up, 0.005);
    check_true(fabs(c.distance) < 0.002 && fabs(c.point[2]) < 0.002 && fabs(c.point[0] - x[3 * block]) < 0.11, "%s: %g %g %g", word_of(r),
               c.distance, c.point[2], c.point[0] - x[3 * block]);
    *normal += c.force[0];
    *along += up * c.world[0];
    *friction += up * (c.world[0] - c.force[0] * c.frame[0]);
    tg_contact_add_wrench(&c, block, x + 3 * block, wrench);
  }
  double lever = (wrench[4] + 0.1 * *along) / *normal;   // from the middle to the line of the normal forces
  check_true(fabs(lever) < 0.02, "%s: the block's weight is carried %g m beside its middle", word_of(r), lever);
  check_close(wrench[0], *along, 1e-9);
  check_close(wrench[2], *normal, 5e-4 * *normal);
}

// at rest it carries m g and sticks to what holds it; pushed by more than friction holds, mu N and slides
static void rest_and_slide(const char *scene, bool table) {
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int slides = 0; slides < 2; slides++) {
      if (table && strcmp(tg_contact_words(w), "softmin") == 0) continue;   // a face of few points is not flat to another's
      char text[1000];
      double normal, along, friction, push = slides ? 6.5 : 2;
      Rig r;
      snprintf(text, sizeof text, scene, push);
      r = rig(text, tg_contact_words(w), "");
      steps(&r, slides ? 240 : 500);
      int block = 1;
      bool rows = of_rows(word_of(&r));
      on_block(&r, block, slides ? TG_CONTACT_SLIDING : TG_CONTACT_STICKING, &normal, &along, &friction);
      double want = slides ? -0.5 * 0.75 * G : -0.75 * push, have = slides ? friction : along;
      check_true(fabs(normal - 0.75 * G) < (rows ? 1e-9 : 0.01) * 0.75 * G, "%s, table %d: %.9g N", word_of(&r), table, normal);
      // two surfaces also push each other aside, which cancels in the sum and bears friction
      check_true(fabs(have - want) < (rows ? 1e-9 : table ? 0.02 : 0.01) * fabs(want), "%s, table %d: friction %.9g of %.9g N", word_of(&r),
                 table, have, want);
      drop(&r);
    }
}

static void on_a_plane(void **state) { (void)state; rest_and_slide(on_plane, false); }
static void on_a_table(void **state) { (void)state; rest_and_slide(on_table, true); }

// ---- no friction, no force, no step ----

static void states(void **state) {
  (void)state;
  static const char ball[] = "<mujoco><worldbody><geom type='plane' size='1 1 1' condim='%d'/><body pos='0 0 0.1'>"
                             "<freejoint/><geom size='0.1' mass='1' condim='1'/></body></worldbody></mujoco>";
  char text[300];
  Rig r;
  tgContactInfo c;
  int at = 0;
  snprintf(text, sizeof text, ball, 1);
  r = rig(text, "lcp", "");
  assert_false(tg_sim_next_contact(r.s, &at, &c));
  steps(&r, 1);
  assert_true(tg_sim_next_contact(r.s, &at, &c) && c.state == TG_CONTACT_SLIDING);   // there is no friction to hold it
  assert_false(tg_sim_next_contact(r.s, &at, &c));
  assert_int_equal(tg_sim_forward(r.s), TG_OK);
  at = 0;
  assert_false(tg_sim_next_contact(r.s, &at, &c));   // the last call was no step
  at = -1;
  assert_false(tg_sim_next_contact(r.s, &at, &c));
  drop(&r);
  snprintf(text, sizeof text, ball, 3);
  r = rig(text, "lcp", "contact_rule=touching");
  tg_sim_qvel(r.s)[2] = 1;
  steps(&r, 1);
  at = 0;
  assert_true(tg_sim_next_contact(r.s, &at, &c) && c.state == TG_CONTACT_OPEN && c.force[0] == 0);
  assert_string_equal(tg_contact_state_text(c.state), "open");
  assert_null(tg_contact_state_text((tgContactState)7));
  drop(&r);
}

// ---- two boxes thrown down: what reaches a body that floats by contacts, weight and motion is all; its joint carries nothing ----

static void thrown(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
      "<body pos='0 0 0.13'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='0.75'/></body>"
      "<body pos='0.01 0.02 0.3'><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='0.25'/></body></worldbody></mujoco>";
  for (int w = -1; w < 0 || tg_contact_words(w) != NULL; w++) {
    Rig r;
    double wrench[18], most[2] = {0}, force = 0;
    r = w < 0 ? rig(text, "lcp", "contact_rule=touching") : rig(text, tg_contact_words(w), "");
    static const double spin[6] = {0.3, 0.1, 0, 1, -2, 0.5};
    memcpy(tg_sim_qvel(r.s), spin, sizeof spin);
    for (int i = 0; i < 200; i++) {
      tgContactInfo c;
      steps(&r, 1);
      for (int at = 0; tg_sim_next_contact(r.s, &at, &c);) {
        check_form(&r, &c);
        force = fmax(force, c.force[0]);
      }
      assert_int_equal(tg_sim_joint_wrenches(r.s, wrench), TG_OK);
      for (int k = 6; k < 18; k++) most[k % 6 >= 3] = fmax(most[k % 6 >= 3], fabs(wrench[k]));
    }
    check_true(force > 20, "%s: nothing fell", word_of(&r));
    // moments are of poses somewhere in the step, but where all is taken at its start
    check_true(most[0] < 1e-6 * force, "%s: %.3g N of %.3g N", word_of(&r), most[0], force);
    check_true(most[1] < (w < 0 ? 1e-9 : 0.02) * 0.1 * force, "%s: %.3g N m of %.3g N", word_of(&r), most[1], force);
    drop(&r);
  }
}

// ---- what joints carry ----

// hinge about y at the origin, a ball of 2 kg 0.5 m from it and one of 1 kg another 0.3 m along a weld: a pendulum
static void pendulum(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body><joint type='hinge' axis='0 1 0'/><geom size='0.05' pos='0 0 -0.5' mass='2'/>"
      "<body pos='0 0 -0.8'><geom size='0.05' mass='1'/></body></body></worldbody></mujoco>";
  Rig r;
  double w[18], turn = 3;
  r = rig(text, NULL, "");
  steps(&r, 1);
  assert_int_equal(tg_sim_joint_wrenches(r.s, w), TG_OK);
  for (int k = 0; k < 18; k++) check_close(w[k], k == 8 ? 3 * G : k == 14 ? G : 0, 1e-12);
  tg_sim_reset(r.s);
  tg_sim_qvel(r.s)[0] = turn;   // through its lowest point: weights and m l w^2, and no moment but what turns
  steps(&r, 1);
  double slower = (tg_sim_qvel(r.s)[0] - turn) / H;
  assert_int_equal(tg_sim_joint_wrenches(r.s, w), TG_OK);
  check_close(w[8], 3 * G + (2 * 0.5 + 0.8) * turn * turn, 1e-9);
  check_close(w[14], G + 0.8 * turn * turn, 1e-9);
  check_close(w[10], 0, 1e-9);    // nothing drives the hinge
  check_close(w[6], -(2 * 0.5 + 0.8) * slower, 1e-9);
  assert_int_equal(tg_sim_forward(r.s), TG_OK);
  assert_int_equal(tg_sim_joint_wrenches(r.s, w), TG_ERR_STATE);
  drop(&r);
}

// a slide across, on a floor that carries the weight: what is left to the slide is the push along it
static void beside_contact(void **state) {
  (void)state;
  static const char text[] = "<mujoco><option gravity='2 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' condim='1'/>"
                             "<body pos='0 0 0.1'><joint type='slide' axis='0 0 1'/><geom size='0.1' mass='3' condim='1'/></body>"
                             "</worldbody></mujoco>";
  Rig r;
  double w[12];
  r = rig(text, "lcp", "");
  steps(&r, 5);
  assert_int_equal(tg_sim_joint_wrenches(r.s, w), TG_OK);
  for (int k = 0; k < 12; k++) check_close(w[k], k == 6 ? -6 : 0, 1e-9);
  drop(&r);
}

static void loops(void **state) {
  (void)state;
  static const char text[] = "<mujoco><worldbody><body name='a'><freejoint/><geom size='0.1'/></body></worldbody>"
                             "<equality><connect name='hook' body1='a' anchor='0 0 0'/></equality></mujoco>";
  Rig r;
  double w[12];
  r = rig(text, "lcp", "");
  steps(&r, 1);
  assert_int_equal(tg_sim_joint_wrenches(r.s, w), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "hook"));
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_a_plane), cmocka_unit_test(on_a_table), cmocka_unit_test(states),
                                     cmocka_unit_test(thrown), cmocka_unit_test(pendulum), cmocka_unit_test(beside_contact),
                                     cmocka_unit_test(loops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
