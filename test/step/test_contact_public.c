// test_contact_public.c: what a program asks of contact: the forces of a step, the potential at a pose, what a model is like.
#include <string.h>

#include "contact/contact.h"
#include "support/rig.h"
#include "tangere/force.h"
#include "tangere/step.h"

// two boxes of 0.75 and 0.25 kg, the smaller on the larger, a floor below; gaps of 2 mm
static tgModel *boxes(void) {
  static const char text[] =
      "<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body pos='0 0 0.102'><freejoint/><geom name='low' type='box' size='0.1 0.1 0.1' mass='0.75'/></body>"
      "<body pos='0.01 0.02 0.254'><freejoint/><geom name='high' type='box' size='0.05 0.05 0.05' mass='0.25'/></body>"
      "</worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static tgSim *under(const tgModel *m, const char *word, tgContact **c) {
  tgError e = {0};
  *c = tg_contact_create(m, word, NULL, &e);
  tgSim *s = *c != NULL ? tg_sim_create(m, *c, NULL, &e) : NULL;
  check_true(s != NULL, "%s: %s", word, e.text);
  return s;
}

// at rest the forces on each body balance its weight, under every contact model
static void forces_of_a_step(void **state) {
  (void)state;
  static const double mass[3] = {0, 0.75, 0.25};
  tgModel *m = boxes();
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    tgContact *c;
    tgSim *s = under(m, tg_contact_words(w), &c);
    for (int i = 0; i < 1500; i++) assert_int_equal(tg_sim_step_growing(s, 0.002, NULL), TG_OK);
    double up[3] = {0};
    tgContactInfo f;
    for (int i = 0; tg_sim_next_contact(s, &i, &f);) {
      up[f.body2] += f.world[2];
      up[f.body1] -= f.world[2];
      check_true(f.point[2] > -0.01 && f.point[2] < 0.22, "%s: a force at height %g", tg_contact_words(w), f.point[2]);
    }
    for (int b = 1; b < 3; b++)
      check_true(fabs(up[b] - 9.81 * mass[b]) < 0.02 * 9.81 * mass[b], "%s: %g N on body %d", tg_contact_words(w), up[b], b);
    // derivatives go back into the step, whose account is as it was: after a quiet one and after one with impacts
    for (int k = 0; k < 2; k++) {
      double g[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[24];
      if (k == 1) tg_sim_qpos(s)[9] += 0.01, tg_sim_qvel(s)[8] = -20;
      assert_int_equal(tg_sim_step_growing(s, 0.002, NULL), TG_OK);
      tgStepInfo info = *tg_sim_step_info(s);
      assert_int_equal(tg_sim_step_vjp(s, g, g, out, out + 12, NULL, NULL, NULL), TG_OK);
      assert_memory_equal(&info, tg_sim_step_info(s), sizeof info);
    }
    tg_sim_free(s);
    tg_contact_free(c);
  }
  tg_model_free(m);
}

// the gradient is that of the energy; an overlap and a model without a potential are refused, and the state stays
static void potentials(void **state) {
  (void)state;
  tgModel *m = boxes();
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    tgContact *c;
    const char *word = tg_contact_words(w);
    tgSim *s = under(m, word, &c);
    double q[14], g[12], up, down, h = 1e-6, step[12] = {0}, energy = 0, most = 0;
    for (int i = 0; i < 4; i++) tg_sim_qpos(s)[3 + i] = (double[4]){0.99, 0.01, 0.02, 0.1}[i];
    tg_sim_qpos(s)[2] += 0.01;
    tg_sim_qpos(s)[9] += 0.03;
    tg_model_normalize(m, tg_sim_qpos(s), tg_sim_qpos(s));
    memcpy(q, tg_sim_qpos(s), sizeof q);
    tgStatus st = tg_sim_contact_potential(s, &energy, g);
    const tgLaw *law = tgi_contact_table(w)->law;
    if (law == NULL || (law->has & TG_LAW_ENERGY) == 0) {
      assert_int_equal(st, TG_ERR_UNSUPPORTED);
      assert_non_null(strstr(tg_sim_error(s)->text, "potential"));
    } else {
      check_true(st == TG_OK, "%s: %s", word, tg_sim_error(s)->text);
      for (int d = 0; d < 12; d++) most = fmax(most, fabs(g[d]));
      for (int d = 0; d < 12; d++) {
        for (int side = 0; side < 2; side++) {
          step[d] = side == 0 ? h : -h;
          tg_model_integrate(m, q, step, tg_sim_qpos(s));
          assert_int_equal(tg_sim_contact_potential(s, side == 0 ? &up : &down, NULL), TG_OK);
        }
        step[d] = 0;
        check_true(fabs((up - down) / (2 * h) - g[d]) <= 1e-5 * most + 1e-14, "%s, dof %d: %.9g, differences %.9g",
                   word, d, g[d], (up - down) / (2 * h));
      }
      memcpy(tg_sim_qpos(s), q, sizeof q);
      tg_sim_qpos(s)[9] = q[2];
      assert_int_equal(tg_sim_contact_potential(s, &energy, g), TG_ERR_INVALID);
      check_close(tg_sim_qpos(s)[9], q[2], 0);
    }
    tg_sim_free(s);
    tg_contact_free(c);
  }
  tg_model_free(m);
}

// a scene that comes to rest under `barrier`, and its contact number 0
static tgContactInfo rested(const char *text, double q[2]) {
  Rig r = rig_of_text(text, "barrier", NULL);
  tgContactInfo f = {0};
  int at = 0;
  for (int i = 0; i < 200; i++) assert_int_equal(tg_sim_step_growing(r.s, 0.005, NULL), TG_OK);
  assert_true(tg_sim_next_contact(r.s, &at, &f));
  memcpy(q, tg_sim_qpos(r.s), 2 * sizeof *q);
  drop(&r);
  return f;
}

// on a floor turned by 30 degrees, away from its origin: the force of a ball acts under its centre, and the distance is below the gap
static void on_a_slope(void **state) {
  (void)state;
  double q[2], a = TG_PI / 6;
  tgContactInfo f = rested("<mujoco><option gravity='-4.905 0 -8.495709'/><worldbody><geom type='plane' size='1 1 1' euler='0 30 0'/>"
                           "<body pos='1 0 0'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1' ref='0'/>"
                           "<geom type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>", q);
  double n[3] = {sin(a), 0, cos(a)}, centre[3] = {1 + q[0], 0, q[1]}, height = n[0] * centre[0] + n[2] * centre[2];
  check_true(f.distance > 0 && f.distance <= height - 0.1 + 1e-12, "a distance of %g in a gap of %g", f.distance, height - 0.1);
  for (int k = 0; k < 3; k++) check_close(f.point[k], centre[k] - height * n[k], 1e-3);
}

// an ellipsoid on a block: the force acts below its lowest point, which is apart from its centre
static void under_an_oval(void **state) {
  (void)state;
  double q[2], a = TG_PI / 6, A = 0.3, C = 0.1;
  tgContactInfo f = rested("<mujoco><worldbody><geom type='box' size='1 1 1' pos='0 0 -1'/>"
                           "<body pos='0 0 0.25'><joint type='slide' axis='0 0 1'/><joint type='slide' axis='1 0 0' stiffness='1e4'/>"
                           "<geom type='ellipsoid' size='0.3 0.2 0.1' euler='0 30 0' mass='1'/></body></worldbody></mujoco>", q);
  // the support in the direction -z of x = R(a) (A u, C w), u^2 + w^2 = 1:  z = -A sin(a) u + C cos(a) w
  double depth = sqrt(A * A * sin(a) * sin(a) + C * C * cos(a) * cos(a)), u = A * sin(a) / depth, w = -C * cos(a) / depth;
  double x = q[1] + A * u * cos(a) + C * w * sin(a), gap = 0.25 + q[0] - depth;
  check_true(f.distance > 0 && f.distance <= gap + 1e-12, "a distance of %g in a gap of %g", f.distance, gap);
  check_close(f.point[0], x, 0.01);
  check_close(f.point[1], 0, 1e-3);
  check_true(f.point[2] > -0.01 && f.point[2] < 0.01 + gap, "at %g", f.point[2]);
}

// which models never let bodies touch
static void what_models_are_like(void **state) {
  (void)state;
  assert_true(tg_contact_intersection_free("barrier") && tg_contact_intersection_free("sdrs") && tg_contact_intersection_free("toi"));
  int n = 0;
  while (tg_contact_words(n) != NULL) n++;
  for (int i = n; i < n + 100; i++) assert_null(tg_contact_words(i));   // no word after the last
  assert_null(tg_contact_words(-1));
  assert_false(tg_contact_intersection_free("lcp") || tg_contact_intersection_free("softmin") || tg_contact_intersection_free("none such"));
}

// soft contact points have the room that they need from the start: a step that may not grow finds it
static void soft_points_have_room(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body pos='0 0 0.102'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='0.75'/></body>"
      "<body pos='0.01 0.02 0.26'><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='0.25'/></body></worldbody></mujoco>";
  tgAnyContactOptions o = options_of("lcp", "detection=soft spacing=0.01");
  Rig r = rig_of_text(text, "lcp", &o.of);
  check_true(tg_sim_step(r.s, 0.002, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
  drop(&r);
}

// what a step that was refused says of the culprits
static void culprits(void **state) {
  (void)state;
  tgModel *m = boxes();
  tgContact *c;
  tgSim *s = under(m, "barrier", &c);
  assert_int_equal(tg_sim_step(s, 0.002, NULL), TG_OK);
  assert_int_equal(tg_sim_step_info(s)->body1, -1);
  tg_sim_qpos(s)[9] = tg_sim_qpos(s)[2];
  assert_int_equal(tg_sim_step(s, 0.002, NULL), TG_ERR_INVALID);
  assert_int_equal(tg_sim_step_info(s)->body1 + tg_sim_step_info(s)->body2, 3);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forces_of_a_step), cmocka_unit_test(potentials),
                                     cmocka_unit_test(soft_points_have_room), cmocka_unit_test(on_a_slope), cmocka_unit_test(under_an_oval),
                                     cmocka_unit_test(what_models_are_like), cmocka_unit_test(culprits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
