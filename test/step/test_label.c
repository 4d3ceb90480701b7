// test_label.c: a gradient is never called exact where the derivatives from the left and from the right differ.
//
// 1,000 states: half of them reached by simulation, half built to sit on a tie.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/lcp/solve.h"
#include "scenes/scenes.h"
#include "scene_states.h"
#include "step/label_check.h"
#include "step/step.h"
#include "support/rig.h"
#include "support/robots.h"

static const double h = 0.01;

static const tgContactRule rules[2] = {TG_RULE_TOUCHING, TG_RULE_CLOSING};

static void reached(tgContactRule rule, int states) {
  tgtLabels t = {0};
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    Rig r = rig_ruled(tgs_desc((tgsScene)scene), rule);
    for (int k = 0; k < states; k++) {
      assert_int_equal(tgt_scene_state(r.s, (tgsScene)scene, 1000 + k, h), TG_OK);
      tgt_judge(r.s, h, tgs_name((tgsScene)scene), k, &t);
    }
    drop(&r);
  }
  print_message("reached: %d states, %d with a kink, %d called exact\n", t.states, t.kinks, t.exact);
  // the label means something: most states are not ties
  check_true(t.exact > t.states / 2, "%d of %d called exact", t.exact, t.states);
}

static void test_reached(void **state) {
  (void)state;
  reached(TG_RULE_TOUCHING, 84);
  reached(TG_RULE_CLOSING, 40);
}

// a ball that cannot turn, on three slides over a floor; an actuator pulls along x
static tgDesc *slider(double mass, double mu, double e) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, mu);
  int b = tg_desc_add_body(d, 0, "slider");
  for (int k = 0; k < 3; k++) {
    int j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, k == 0 ? "x" : k == 1 ? "y" : "z");
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == k;
  }
  int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, "ball");
  d->geom[g].size[0] = 0.1;
  d->geom[g].mass = mass;
  d->geom[g].friction[0] = mu;
  d->geom[g].restitution = d->geom[0].restitution = e;
  d->body[b].pos[2] = 0.1;
  int a = tg_desc_add_actuator(d, TG_TRN_JOINT, 0, "pull");
  d->actuator[a].ctrllimited = true;
  d->actuator[a].ctrlrange[0] = -1;
  d->actuator[a].ctrlrange[1] = 1;
  return d;
}

enum { BOUND, STOP, WEIGHTLESS, TOUCH, LIMIT, CLAMP, DRY, BOUNCE, EDGE, KINDS };

// kind by kind: what stands on its tie, by closed form
static Rig tie(int kind, tgContactRule rule, tgtRandom *r) {
  double m = tgt_uniform(r, 0.5, 4), mu = tgt_uniform(r, 0.2, 0.9), g = 9.81, side = tgt_uniform(r, 0, 1) < 0.5 ? -1 : 1;
  tgDesc *d = slider(m, mu, kind == BOUNCE ? 0.5 : 0);
  if (kind == LIMIT || kind == DRY) {
    d->joint[1].limited = kind == LIMIT ? TG_LIMITED_YES : TG_LIMITED_NO;
    d->joint[1].range[0] = -0.3;
    d->joint[1].range[1] = 0.3;
    d->joint[1].frictionloss = kind == DRY ? 2 : 0;
  }
  if (kind == EDGE) {
    // the ball over the rim of a table
    int t = tg_desc_add_geom(d, 0, TG_GEOM_BOX, "table");
    d->geom[t].size[0] = d->geom[t].size[1] = d->geom[t].size[2] = 0.5;
    d->geom[t].friction[0] = mu;
  }
  Rig x = rig_ruled(d, rule);
  tgSim *s = x.s;
  s->qvel[1] = 0;
  switch (kind) {
    case BOUND: s->qfrc_applied[0] = side * mu * m * g; break;            // friction at its bound, no slip
    case STOP: s->qvel[0] = side * mu * g * h; break;                      // slides and just stops in this step
    case WEIGHTLESS: s->qfrc_applied[2] = m * g; break;                    // touches without force
    case TOUCH: s->qpos[2] = 1e-8; s->qvel[2] = -0.1; break;               // about to act
    case LIMIT:
      s->qpos[1] = side * (0.3 - 1e-8);
      s->qvel[1] = side * 0.2;
      s->qpos[2] = 1;
      break;
    case CLAMP: s->ctrl[0] = side; s->qpos[2] = 1; break;
    case DRY: s->qfrc_applied[1] = side * 2; s->qpos[2] = 1; break;
    case BOUNCE: s->qvel[2] = 0; s->qvel[0] = 1; break;                    // approaches with |g| h, where bouncing begins
    case EDGE: s->qpos[0] = side * 0.5; s->qpos[2] = 0.4999; s->qvel[0] = 0.3; break;
  }
  return x;
}

static void test_built(void **state) {
  (void)state;
  static const char *const name[KINDS] = {"bound", "stop", "weightless", "touch", "limit", "clamp", "dry", "bounce", "edge"};
  tgtRandom r = {.s = 5};
  for (int kind = 0; kind < 2 * KINDS; kind++) {
    tgtLabels t = {0};
    bool closing = kind >= KINDS;
    for (int k = 0; k < 56; k++) {
      Rig x = tie(kind % KINDS, rules[closing], &r);
      tgt_judge(x.s, h, name[kind % KINDS], k, &t);
      drop(&x);
    }
    print_message("%-10s %d states, %d with a kink, %d called exact%s\n", name[kind % KINDS], t.states, t.kinks, t.exact,
                  closing ? ", closing" : "");
    // the tie is there: at least half the states show it; not by `closing`, of which touch at the start is none
    check_true(closing || 2 * t.kinks >= t.states, "%s: only %d of %d states show their kink", name[kind % KINDS], t.kinks, t.states);
  }
}

// Legs that hang at the ends of their ranges while all falls: rows press with round-off, or part with it, and a nudge switches them.
static void test_falling_at_the_limits(void **state) {
  (void)state;
  Rig x = {.m = tgt_two_legs()};
  x.c = tgt_contact(x.m);
  x.s = tg_sim_create(x.m, x.c, NULL, NULL);
  assert_non_null(x.s);
  tgtLabels t = {0};
  for (int k = 0; k < 60; k++) {
    // judge ends with a nudged memory and the state of before
    tgt_judge(x.s, h, "falling", k, &t);
    assert_int_equal(tg_sim_step(x.s, h, NULL), TG_OK);
    tgGradInfo info;
    tgReal D[14 * 18];
    assert_int_equal(tg_sim_step_jacobian(x.s, D, &info), TG_OK);
    check_true(info.label == TG_GRAD_ONE_SIDED && strstr(info.reason, "limit") != NULL,
               "step %d: label %d, reason '%s'", k, info.label, info.reason);
  }
  print_message("falling    %d states, %d with a kink, %d called exact\n", t.states, t.kinks, t.exact);
  check_true(2 * t.kinks >= t.states, "only %d of %d states show their kink", t.kinks, t.states);
  drop(&x);
}

// The least speed of a tie is low enough: a box that stands on its four corners is not on one.
static void test_real_forces_are_no_tie(void **state) {
  (void)state;
  Rig x = {.m = tgt_box()};
  x.c = tgt_contact(x.m);
  x.s = tg_sim_create(x.m, x.c, NULL, NULL);
  assert_non_null(x.s);
  x.s->qpos[2] = 0.0999;
  tgtLabels t = {0};
  for (int k = 0; k < 40; k++) {
    tgt_judge(x.s, h, "box", k, &t);
    assert_int_equal(tg_sim_step(x.s, h, NULL), TG_OK);
  }
  check_true(t.exact == t.states, "box: %d of %d called exact", t.exact, t.states);
  drop(&x);
}

// A table on four balls at the ends of legs that swing fore and aft, `forward` of where they hang straight down. Straight down the four
// normals act on the table's height and tilt alone: (1, -1, -1, 1) does nothing. Of swung legs it turns the hips. aside: of the centre of
// mass; one leg has no force then. With friction it slides aside and turns: each foot another way.
static Rig table_on_legs(double forward, double aside, double mu) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0);
  int b = tg_desc_add_body(d, 0, "table");
  tg_desc_add_joint(d, b, TG_JOINT_FREE, "free");
  int g = tg_desc_add_geom(d, b, TG_GEOM_BOX, "top");
  for (int i = 0; i < 3; i++) d->geom[g].size[i] = i == 2 ? 0.02 : 0.2;
  d->geom[g].mass = 4;
  d->geom[g].pos[0] = aside;
  d->geom[g].pos[1] = 0.75 * aside;
  d->body[b].pos[2] = 0.25;
  for (int leg = 0; leg < 4; leg++) {
    int l = tg_desc_add_body(d, b, NULL), f = tg_desc_add_geom(d, l, TG_GEOM_SPHERE, NULL);
    d->body[l].pos[0] = leg & 1 ? 0.2 : -0.2;
    d->body[l].pos[1] = leg & 2 ? 0.15 : -0.15;
    int j = tg_desc_add_joint(d, l, TG_JOINT_HINGE, NULL);
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == 1;
    d->geom[f].size[0] = 0.05;
    d->geom[f].pos[0] = forward;
    d->geom[f].pos[2] = -0.2;
    d->geom[f].mass = 0.3;
    d->geom[f].friction[0] = mu;
  }
  Rig x = rig_ruled(d, tg_lcp_default().contact_rule);
  if (mu > 0) {
    x.s->qvel[1] = 0.1;
    x.s->qvel[5] = 2;
  }
  return x;
}

// What is redundant in one symmetrical pose alone is told, whatever the pattern of its forces.
static void test_redundant_only_here(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    bool swung = k % 2, slides = k >= 2;
    Rig x = table_on_legs(swung ? 0.05 : 0, 0, slides ? 0.3 : 0);
    tgGradInfo info;
    tgReal D[20 * 20];
    tgStepInfo step;
    assert_int_equal(tg_sim_step(x.s, h, &step), TG_OK);
    assert_int_equal(step.nrow, slides ? 12 : 4);
    for (int i = 0; i < x.s->nrow; i++) assert_int_equal(x.s->rows->kind[i] == TG_ROW_NORMAL, x.s->rows->class[i] == TGI_LCP_C);
    assert_int_equal(step.rank_deficient, !swung);
    assert_int_equal(tg_sim_step_jacobian(x.s, D, &info), TG_OK);
    bool told = info.label == TG_GRAD_ONE_SIDED && strstr(info.reason, "redundant only here") != NULL;
    check_true(told == !swung, "%s legs%s: label %d, reason '%s'", swung ? "swung" : "straight", slides ? ", sliding" : "", info.label,
               info.reason);
    drop(&x);
  }
}

// So is what follows from the others in that pose alone: the leg without a force, which they hold.
static void test_follows_only_here(void **state) {
  (void)state;
  Rig x = table_on_legs(0, 0.16, 0);
  tgGradInfo info;
  tgReal D[20 * 20];
  int idle = 0;
  assert_int_equal(tg_sim_step(x.s, h, NULL), TG_OK);
  for (int i = 0; i < x.s->nrow; i++) idle += tgRe(x.s->rows->f[i]) == 0 && fabs(tgRe(x.s->rows->w[i])) < 1e-12;
  assert_int_equal(idle, 1);
  assert_int_equal(tg_sim_step_jacobian(x.s, D, &info), TG_OK);
  check_true(info.label == TG_GRAD_ONE_SIDED && strstr(info.reason, "switch") != NULL, "label %d, reason '%s'", info.label, info.reason);
  drop(&x);
}

// Where scratch is too short to look, the label's error is that; it never says exact.
static void test_short_of_scratch(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Rig x = table_on_legs(0, k == 0 ? 0 : 0.16, 0);   // redundant only here; a leg that follows only here
    tgGradInfo info;
    int told = 0, done = 0;
    assert_int_equal(tg_sim_step(x.s, h, NULL), TG_OK);
    size_t whole = x.s->cap.stack;
    for (size_t room = 0; room < 6000; room += 64) {
      x.s->cap.stack = room;
      tgStatus status = tgi_step_label(x.s, &info);
      told += status == TG_ERR_CAPACITY;
      done += status == TG_OK;
      check_true(status == TG_ERR_CAPACITY || (status == TG_OK && info.label == TG_GRAD_ONE_SIDED), "%zu bytes: %s, label %d, %s", room,
                 tg_status_text(status), info.label, info.reason);
    }
    x.s->cap.stack = whole;
    check_true(told > 0 && done > 0, "short %d times of %d", told, told + done);
    drop(&x);
  }
}

// a box that rests on its four corners, and how they share its load is open; motors push it in all six coordinates
static const char pushed[] =
    "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='3 3 1' friction='.5'/>"
    "<body pos='0 0 .1'><joint name='x' type='slide' axis='1 0 0'/><joint name='y' type='slide' axis='0 1 0'/>"
    "<joint name='z' type='slide' axis='0 0 1'/><joint name='c' axis='0 0 1'/><joint name='b' axis='0 1 0'/><joint name='a' axis='1 0 0'/>"
    "<geom type='box' size='.2 .1 .1' mass='1' friction='.5'/></body></worldbody><actuator><motor joint='x'/><motor joint='y'/>"
    "<motor joint='z'/><motor joint='c'/><motor joint='b'/><motor joint='a'/></actuator></mujoco>";

// v' of a step from rest under `share` of the pushes u; the largest speed
static double pushed_by(tgSim *s, const double *u, double share, double *v) {
  double fast = 0;
  tg_sim_reset(s);
  for (int i = 0; i < 6; i++) tg_sim_ctrl(s)[i] = 0;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  for (int i = 0; i < 6; i++) tg_sim_ctrl(s)[i] = share * u[i];
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  for (int i = 0; i < 6; i++) {
    v[i] = tg_sim_qvel(s)[i];
    fast = fmax(fast, fabs(v[i]));
  }
  return fast;
}

static double apart(const double *a, const double *b) {
  double most = 0;
  for (int i = 0; i < 6; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

// Friction's bounds follow what each corner carries, which is open. The box begins to move without a jump all the same, whatever way it is
// pushed, and nothing jumps from there on: halving the way between the two pushes over which v' changes most leaves no change.
static void test_redundant_rest_ends_without_a_jump(void **state) {
  (void)state;
  enum { STEPS = 60, HALVINGS = 26 };
  static const double size[6] = {5, 5, 3, 0.6, 0.3, 0.3};
  tgtRandom r = {61};
  int cases = tgt_cases(160, 20), moved = 0;
  Rig w = rig_of_text(pushed, "lcp", NULL);
  for (int k = 0; k < cases; k++) {
    double u[6], at[STEPS + 1][6], low = 0, high = 10, most = 0, mid[6];
    int from = 0;
    for (int i = 0; i < 6; i++) u[i] = size[i] * tgt_normal(&r);
    if (!(pushed_by(w.s, u, high, mid) > 1e-9)) continue;
    moved++;
    for (int n = 0; n < 50; n++) {
      double half = 0.5 * (low + high);
      if (pushed_by(w.s, u, half, mid) > 1e-10) high = half;
      else low = half;
    }
    check_true(pushed_by(w.s, u, high + 1e-9, mid) < 1e-7, "push %d begins to move at %g", k, mid[0]);
    for (int n = 0; n <= STEPS; n++) pushed_by(w.s, u, low * (0.9 + 0.6 * n / STEPS), at[n]);
    for (int n = 0; n < STEPS; n++)
      if (apart(at[n], at[n + 1]) > most) {
        most = apart(at[n], at[n + 1]);
        from = n;
      }
    double a = low * (0.9 + 0.6 * from / STEPS), b = low * (0.9 + 0.6 * (from + 1) / STEPS);
    for (int n = 0; n < HALVINGS; n++) {
      pushed_by(w.s, u, 0.5 * (a + b), mid);
      bool first = apart(at[from], mid) > apart(mid, at[from + 1]);
      memcpy(at[first ? from + 1 : from], mid, sizeof mid);
      *(first ? &b : &a) = 0.5 * (a + b);
    }
    check_true(apart(at[from], at[from + 1]) < 1e-7, "push %d: a jump of %g", k, apart(at[from], at[from + 1]));
  }
  check_true(moved > cases / 2, "%d of %d boxes moved", moved, cases);
  drop(&w);
}

// Two boxes that friction holds, edge before edge at `gap`: the way from one to the other turns by 1/gap of what either moves across it,
// so that the rounding of their velocities, of some 1e-17 m/s, turns it by more than what stands still may. They are at no switch: where
// the one presses on the other neither moves.
static void test_rounding_beside_a_short_distance(void **state) {
  (void)state;
  static const double gaps[] = {2e-8, 1e-7, 1e-6};
  for (int k = 0; k < 3; k++) {
    char text[700];
    double apart = 0.2 * sqrt(2) + gaps[k];
    snprintf(text, sizeof text,
             "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='3 3 1' friction='.5'/>"
             "<body pos='0 0 .1' euler='0 0 45'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.5'/></body>"
             "<body pos='%.17g 0 .1' euler='0 0 45'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.5'/></body>"
             "</worldbody></mujoco>", apart);
    Rig w = rig_of_text(text, "lcp", NULL);
    tgtLabels t = {0};
    for (int i = 0; i < 3; i++) assert_int_equal(tg_sim_step(w.s, h, NULL), TG_OK);
    tgt_judge(w.s, h, "edges", k, &t);
    check_true(t.exact == 1 && t.kinks == 0, "edges %g apart: %d exact, %d with a kink", gaps[k], t.exact, t.kinks);
    drop(&w);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reached), cmocka_unit_test(test_built),
                                     cmocka_unit_test(test_falling_at_the_limits), cmocka_unit_test(test_real_forces_are_no_tie),
                                     cmocka_unit_test(test_redundant_only_here), cmocka_unit_test(test_short_of_scratch),
                                     cmocka_unit_test(test_follows_only_here),
                                     cmocka_unit_test(test_redundant_rest_ends_without_a_jump),
                                     cmocka_unit_test(test_rounding_beside_a_short_distance)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
