// test_cone.c: steps with friction in Coulomb's cone (friction_cone: elliptic) under lcp: closed forms of what slides, axes that do not
// matter, Jacobian, adjoint and parameters against differences of the step. Argument: states per scene.
#include "gradient_check.h"
#include "param_check.h"
#include "scene_states.h"
#include "tangere/lcp.h"
#include "tangere/toi.h"

#include <math.h>

#ifdef TG_COMPLEX
static const double parameters = 1e-8, zero_parameters = 1e-4;
static int states = 2;
#else
static const double parameters = 1e-5, zero_parameters = 1e-2;
static int states = 1;
#endif
static const double h = 0.004, mu = 0.4, g = 9.81;

typedef struct Rig { tgModel *m; tgContact *contact; tgSim *s; } Rig;

static Rig take(tgModel *m, tgContactRule rule) {
  tgError e = {0};
  tgLcpOptions o = tg_lcp_default();
  o.friction_cone = TG_CONE_ELLIPTIC;
  o.contact_rule = rule;
  Rig rig = {.m = m, .contact = tg_contact_create(m, "lcp", &o.of, &e)};
  check_true(rig.contact != NULL, "%s", e.text);
  rig.s = tg_sim_create(m, rig.contact, NULL, &e);
  check_true(rig.s != NULL, "%s", e.text);
  return rig;
}

static void drop(Rig *rig) {
  tg_sim_free(rig->s);
  tg_contact_free(rig->contact);
  tg_model_free(rig->m);
}

// own: friction is the pair's, else the floor's
static Rig box_and_floor(tgContactRule rule, bool own) {
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, own ? mu / 2 : mu);
  tgs_free_body(d, "box", (double[]){0, 0, 0.1}, TG_GEOM_BOX, (double[]){0.3, 0.25, 0.1}, 2, mu / 2);
  if (own) {
    int pair = tg_desc_add_pair(d, 0, 1, NULL);
    d->pair[pair].friction[0] = d->pair[pair].friction[1] = mu;
  }
  tgModel *m = tgs_compile(d, &e);
  check_true(m != NULL, "%s", e.text);
  return take(m, rule);
}

static Rig box_on_floor(tgContactRule rule) { return box_and_floor(rule, false); }

static void step(tgSim *s) {
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status == TG_ERR_CAPACITY && tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow) == TG_OK) status = tg_sim_step(s, h, NULL);
  check_true(status == TG_OK, "%s", s->error.text);
}

// A box that slides loses mu g h of its speed a step, whatever way it goes; and nothing holds it across: pushed there by a force below
// friction it gives way at once, by what is left of mu m g against its motion.
static void test_slides(void **state) {
  (void)state;
  for (int k = 0; k < 16; k++) {
    Rig rig = box_on_floor(k % 2 == 0 ? TG_RULE_CLOSING : TG_RULE_TOUCHING);
    double way = 0.1 + 2 * TG_PI * k / 16, push = k < 8 ? 0 : 3, m = 2;
    tgReal *v = rig.s->qvel;
    v[0] = cos(way);
    v[1] = sin(way);
    rig.s->qfrc_applied[0] = -push * sin(way);
    rig.s->qfrc_applied[1] = push * cos(way);
    step(rig.s);
    // the velocity without friction is (1, push h/m) along and across; friction is against the velocity after it
    double free_along = 1, free_across = push * h / m, speed = hypot(free_along, free_across);
    double left = 1 - mu * g * h / speed, along = tgRe(v[0]) * cos(way) + tgRe(v[1]) * sin(way),
           across = tgRe(v[1]) * cos(way) - tgRe(v[0]) * sin(way);
    check_true(fabs(along - left * free_along) < 1e-12 && fabs(across - left * free_across) < 1e-12,
               "way %.3g: %.15g along, %.15g across, not %.15g, %.15g", way, along, across, left * free_along, left * free_across);
    check_true(rig.s->info.residual <= 1e-8 && rig.s->info.fallback == 0, "residual %.3g", rig.s->info.residual);
    drop(&rig);
  }
}

// The world turned about the normal by any angle is the same world: the axes of the rows, which are the world's, have no part in it. A
// box that slides, spins and is pushed for 100 steps.
static void test_turned_world(void **state) {
  (void)state;
  double first[6] = {0};
  for (int k = 0; k < 8; k++) {
    Rig rig = box_on_floor(TG_RULE_CLOSING);
    double turn = 2 * TG_PI * k / 7.3;
    tgReal *q = rig.s->qpos, *v = rig.s->qvel, *push = rig.s->qfrc_applied;
    const double c = cos(turn), s = sin(turn);
    q[3] = cos(turn / 2);
    q[6] = sin(turn / 2);
    v[0] = 1.5 * c - 0.7 * s;
    v[1] = 1.5 * s + 0.7 * c;
    v[5] = 2;
    push[0] = c * 1 - s * 2;
    push[1] = s * 1 + c * 2;
    for (int i = 0; i < 100; i++) step(rig.s);
    double last[6] = {c * tgRe(q[0]) + s * tgRe(q[1]), c * tgRe(q[1]) - s * tgRe(q[0]), c * tgRe(v[0]) + s * tgRe(v[1]),
                      c * tgRe(v[1]) - s * tgRe(v[0]), tgRe(v[5]), tgRe(q[2])};
    for (int i = 0; i < 6 && k == 0; i++) first[i] = last[i];
    for (int i = 0; i < 6; i++)
      check_true(fabs(last[i] - first[i]) < 1e-10, "turned by %.3g: number %d is %.15g, not %.15g", turn, i, last[i], first[i]);
    drop(&rig);
  }
}

// A box at rest on corners that overlap the floor by a little, each by another bit: rows to which there is no answer, and of which a search
// that goes on as long as it may is not to be had in each step.
static void test_contradiction(void **state) {
  (void)state;
  tgError e = {0};
  tgModel *m = tgs_model(TGS_BLOCK, &e);
  check_true(m != NULL, "%s", e.text);
  Rig rig = take(m, TG_RULE_TOUCHING);
  int left = 0, most = 0;
  check_true(tgt_scene_state(rig.s, TGS_BLOCK, 0, h) == TG_OK, "%s", rig.s->error.text);
  for (int i = 0; i < 50; i++) {
    step(rig.s);
    left += rig.s->info.nleft > 0;
    if (rig.s->info.nleft > 0 && rig.s->info.iterations > most) most = rig.s->info.iterations;
    check_true(rig.s->info.residual <= 1e-8 && rig.s->info.fallback == 0, "step %d: residual %.3g", i, rig.s->info.residual);
  }
  print_message("errors left in %d of 50 steps, after %d iterations at most\n", left, most);
  check_true(left > 0 && most > 1000 && most < 5000, "left in %d steps, after %d iterations at most", left, most);
  drop(&rig);
}

static void check_scene(tgsScene scene, tgContactRule rule) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  check_true(m != NULL, "%s", e.text);
  Rig rig = take(m, rule);
  Count c = {0};
  for (int k = 0; k < states; k++) {
    if (tgt_scene_state(rig.s, scene, k, h) == TG_OK) check_state(rig.s, tgs_name(scene), k, h, &c);
    else c.failed++;
  }
  print_count(tgs_name(scene), &c);
  check_true(c.failed == 0, "%s: %d states were not solved", tgs_name(scene), c.failed);
  check_true(3 * c.aside <= c.total || c.aside <= 1, "%s: %d of %d states set aside", tgs_name(scene), c.aside, c.total);
  drop(&rig);
}

static void test_gradients(void **state) {
  (void)state;
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    bool dear = scene != TGS_ARM && scene != TGS_SPHERES;   // with more states only
    for (int rule = 0; rule < 2 && (!dear || states > 2); rule++)
      check_scene((tgsScene)scene, rule == 0 ? TG_RULE_TOUCHING : TG_RULE_CLOSING);
  }
}

// A box flat on the floor that slides and spins, whose corners share its weight in one way of many.
static void test_spinner(void **state) {
  (void)state;
  Count c = {0};
  tgtParamSeen seen = {0};
  for (int k = 0; k < 4 * states; k++) {
    Rig rig = box_and_floor(k % 2 == 0 ? TG_RULE_TOUCHING : TG_RULE_CLOSING, k % 4 > 1);
    tgtRandom r = {.s = (unsigned)k + 5};
    tgReal x[13] = {0, 0, 0.0999, 1, 0, 0, 0, tgt_normal(&r), tgt_normal(&r), 0, 0, 0, 3 * tgt_normal(&r)};
    for (int i = 0; i < 6; i++) rig.s->qfrc_applied[i] = 0.3 * tgt_normal(&r);
    set_state(rig.s, x);
    check_state(rig.s, "spinner", k, h, &c);
    char what[32];
    snprintf(what, sizeof what, "spinner %d", k);
    set_state(rig.s, x);
    check_true(tgt_check_params(rig.s, h, &r, parameters, zero_parameters, what, &seen), "%s: %s", what, rig.s->error.text);
    drop(&rig);
  }
  print_count("spinner", &c);
  check_true(c.null == c.total && c.aside == 0, "%d of %d states have a split that acts, %d set aside", c.null, c.total, c.aside);
}

// Three wheels of one axle, which share its weight in one way of many and are braked by rolling friction of their own, roll and do not
// slide: the split acts by rows at their bounds though nothing is turned.
static void test_roller(void **state) {
  (void)state;
  static const double along[3] = {0, -0.3, 0.35}, rolling[3] = {0.006, 0.002, 0.004};
  const tgReal x[13] = {0, 0, 0.0999, 1, 0, 0, 0, 1, 0, 0, 0, 10, 0};
  Count c = {0};
  tgtParamSeen seen = {0};
  for (int k = 0; k < 2; k++) {
    tgError e = {0};
    tgDesc *d = tg_desc_create(NULL);
    tgs_plane(d, 1);
    int body = tg_desc_add_body(d, 0, "roller");
    d->body[body].pos[2] = 0.1;
    tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
    for (int i = 0; i < 3; i++) {
      int geom = tg_desc_add_geom(d, body, TG_GEOM_SPHERE, NULL);
      d->geom[geom].size[0] = 0.1;
      d->geom[geom].pos[1] = along[i];
      d->geom[geom].condim = 6;
      d->geom[geom].friction[0] = 1;
      d->geom[geom].friction[1] = 0.01 * (i + 1);
      d->geom[geom].friction[2] = rolling[i];
    }
    tgModel *m = tgs_compile(d, &e);
    check_true(m != NULL, "%s", e.text);
    Rig rig = take(m, k == 0 ? TG_RULE_TOUCHING : TG_RULE_CLOSING);
    tgtRandom r = {.s = (unsigned)k + 5};
    set_state(rig.s, x);
    check_state(rig.s, "roller", k, h, &c);
    set_state(rig.s, x);
    check_true(tgt_check_params(rig.s, h, &r, parameters, zero_parameters, "roller", &seen), "%s", rig.s->error.text);
    drop(&rig);
  }
  print_count("roller", &c);
  check_true(c.null == c.total, "%d of %d states have a split that acts", c.null, c.total);
}

// A box at rest is pushed by less than friction holds, by as much, and by more, in a direction that is along none of the axes: it stands,
// is at a switch, and slides by what is left of the push; the derivative is that of the side it is on.
static void test_switch(void **state) {
  (void)state;
  static const double more[] = {-1e-3, 0, 1e-3};
  for (int k = 0; k < 6; k++) {
    Rig rig = box_on_floor(k < 3 ? TG_RULE_TOUCHING : TG_RULE_CLOSING);
    double m = 2, hold = mu * m * g, push = hold * (1 + more[k % 3]), way[2] = {cos(0.5), sin(0.5)}, left = fmax(0, push - hold);
    tgReal *v = rig.s->qvel, gv[6] = {way[0], way[1]}, dq[6], dv[6];
    tgGradInfo info;
    for (int i = 0; i < 2; i++) rig.s->qfrc_applied[i] = push * way[i];
    step(rig.s);
    double tie = 1e-9 * hold * h / m;   // of the solver
    check_true(fabs(tgRe(v[0]) - left * h / m * way[0]) < tie && fabs(tgRe(v[1]) - left * h / m * way[1]) < tie,
               "pushed by %.17g of %.17g: %.15g, %.15g", push, hold, tgRe(v[0]), tgRe(v[1]));
    assert_int_equal(tg_sim_step_vjp(rig.s, NULL, gv, dq, dv, NULL, NULL, &info), TG_OK);
    check_true(info.label == (k % 3 == 1 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT), "pushed by %.17g of %.17g: %s", push, hold, info.reason);
    double along = tgRe(dv[0]) * way[0] + tgRe(dv[1]) * way[1];
    check_true(k % 3 == 1 || fabs(along - (left > 0)) < 1e-9, "pushed by %.17g of %.17g: %.15g of a speed before is left", push, hold,
               along);
    drop(&rig);
  }
}

#ifdef TG_COMPLEX
// Under toi, which no difference may bring to touch: the same box, which lands and slides on.
static void test_toi(void **state) {
  (void)state;
  Count c = {0};
  for (int k = 0; k < 2 * states; k++) {
    Rig rig = box_on_floor(TG_RULE_CLOSING);
    tgError e = {0};
    tgToiOptions o = tg_toi_default();
    o.friction_cone = TG_CONE_ELLIPTIC;
    tg_sim_free(rig.s);
    tg_contact_free(rig.contact);
    rig.contact = tg_contact_create(rig.m, "toi", &o.of, &e);
    check_true(rig.contact != NULL, "%s", e.text);
    rig.s = tg_sim_create(rig.m, rig.contact, NULL, &e);
    tgtRandom r = {.s = (unsigned)k + 11};
    tgReal x[13] = {0, 0, 0.1001, 1, 0, 0, 0, 1 + 0.2 * tgt_normal(&r), tgt_normal(&r), 0, 0, 0, 2 * tgt_normal(&r)};
    set_state(rig.s, x);
    for (int i = 0; i < 6; i++) rig.s->qfrc_applied[i] = 0.1 * tgt_normal(&r);
    for (int i = 0; i < 12 + k; i++) step(rig.s);
    check_state(rig.s, "toi", k, h, &c);
    drop(&rig);
  }
  print_count("toi", &c);
  check_true(c.slip == c.total && c.failed == 0 && 2 * c.aside <= c.total, "%d of %d slide, %d set aside", c.slip, c.total, c.aside);
}
#endif

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_slides), cmocka_unit_test(test_turned_world), cmocka_unit_test(test_spinner),
                                     cmocka_unit_test(test_roller),
#ifdef TG_COMPLEX
                                     cmocka_unit_test(test_toi),
#endif
                                     cmocka_unit_test(test_switch), cmocka_unit_test(test_contradiction),
                                     cmocka_unit_test(test_gradients)};
  if (argc > 1) states = atoi(argv[1]);
  if (argc > 2) cmocka_set_test_filter(argv[2]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
