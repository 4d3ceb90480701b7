// test_closing_meeting.c: impacts of the rule `closing` of lcp at their own time: whatever the step, at its ends,
// at the least speed, several in a step and several together, and their derivatives.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step/closing.h"
#include "step/impulse_parts.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/step.h"

static const char *const balls =
    "<mujoco><option gravity=\"0 0 0\"/><default><geom type=\"sphere\" size=\"0.1\" mass=\"1\" friction=\"0\"/></default><worldbody>"
    "<body><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body><body pos=\"0.5 0 0\"><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body>"
    "<body pos=\"0.702 0 0\"><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body></worldbody></mujoco>";

static const char *const arm =
    "<mujoco><worldbody><body name=\"a\"><joint name=\"a\" axis=\"0 1 0\" damping=\"0.01\"/>"
    "<geom type=\"capsule\" size=\"0.03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/>"
    "<body name=\"b\" pos=\".4 0 0\"><joint name=\"b\" axis=\"0 1 0\" limited=\"true\" range=\"-20 20\"/>"
    "<geom type=\"capsule\" size=\"0.03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/></body></body></worldbody></mujoco>";

enum { MOST = 300, DOFS = 3 };

// Runs from the sim's state and takes w (2 nv), a gradient at the end, to the start; joints are slides and hinges.
static void motion_gradient(Rig *r, double h, int steps, tgReal *w) {
  int nv = r->s->m.nv;
  tgReal start[MOST][2 * DOFS], *q = tg_sim_qpos(r->s), *v = tg_sim_qvel(r->s), end[2 * DOFS];
  tgStepInfo info;
  assert_true(steps <= MOST && nv <= DOFS);
  for (int t = 0; t < steps; t++) {
    memcpy(start[t], q, (size_t)nv * sizeof *q);
    memcpy(start[t] + nv, v, (size_t)nv * sizeof *v);
    run(r, h, 1, &info);
  }
  memcpy(end, q, (size_t)nv * sizeof *q);
  for (int t = steps - 1; t >= 0; t--) {
    tgReal g[2 * DOFS];
    memcpy(q, start[t], (size_t)nv * sizeof *q);
    memcpy(v, start[t] + nv, (size_t)nv * sizeof *v);
    run(r, h, 1, &info);
    assert_int_equal(tg_sim_step_vjp(r->s, w, w + nv, g, g + nv, NULL, NULL, NULL), TG_OK);
    memcpy(w, g, 2 * (size_t)nv * sizeof *w);
  }
  memcpy(q, end, (size_t)nv * sizeof *q);
}

// Balls that meet at the very end of a step, to rounding: before, at it or after, the derivative goes through the time. With g the gap
// and T the time, x2' = x2 + (1 + e)/2 v (T - g/v): (1 + e)/2 of the first one's place, (1 - e)/2 of its own.
static void test_meeting_at_a_boundary(void **state) {
  (void)state;
  static const double shift[5] = {0, 1e-16, -1e-16, 5e-9, -5e-9};
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 2; k++) {
      double e = 0.4 * k;
      Rig r = closing(balls, e);
      tgReal *q = tg_sim_qpos(r.s), w[6] = {0, 1, 0, 0, 0, 0};
      q[0] = shift[i];
      q[2] = 10;   // out of the way
      tg_sim_qvel(r.s)[0] = 1;
      motion_gradient(&r, 1e-2, 80, w);
      check_close(tgRe(q[1]), (1 + e) / 2 * (0.5 + shift[i]), 1e-9);
      check_close(tgRe(w[0]), (1 + e) / 2, 1e-9);
      check_close(tgRe(w[1]), (1 - e) / 2, 1e-9);
      drop(&r);
    }
}

// A ball that meets two that nearly touch: both impacts are in one step where it is longer than 2 mm/(1 m/s). With e = 1 the last one
// takes all the speed; with e = .5 impacts one after the other, (1 + e)/2 and (1 - e)/2 of a speed each: until no more meet.
static void test_row_of_balls(void **state) {
  (void)state;
  static const double size[3] = {1e-2, 2.5e-3, 1e-3};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      for (int half = 0; half < 2; half++) {
        double e = half ? 0.5 : 1, h = size[i];
        Rig r = closing(balls, e);
        tgStepInfo info;
        tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s);
        q[0] = -k * h / 4;
        v[0] = 1;
        run(&r, h, (int)lround(1 / h), &info);
        // e = .5: v = (1 0 0) -> (.25 .75 0) -> (.25 .1875 .5625) -> (.203125 .234375 .5625)
        double want[2][3] = {{0, 0, 1}, {0.203125, 0.234375, 0.5625}};
        for (int j = 0; j < 3; j++) check_close(tgRe(v[j]), want[half][j], 1e-9);
        assert_int_equal(info.nimpact, half ? 3 : 2);
        drop(&r);
      }
}

// A ball that touches, or hardly, and closes slowly or fast, down to three times what weight does in a step: in that step the floor stops
// it, at gap 0 or where it was, and the derivative is that of differences.
static void test_slow_landing(void **state) {
  (void)state;
  const double h = 0.01, lift[5] = {-1e-6, -1e-9, 0, 1e-9, 1e-6};
  const tgReal down[6] = {0, 0, 1, 0, 0, 0};
  int exact = 0;
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 24; k++) {
      Rig r = closing("<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .1\"><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody>"
                      "</mujoco>", 0);
      tgStepInfo info;
      tgGradInfo label;
      tgReal dq[6], dv[6];
      r.s->qpos[2] = 0.1 + lift[i];
      r.s->qvel[2] = -0.1 * (k + 0.37) * 9.81 * h;
      run(&r, h, 1, &info);
      check_close(r.s->qpos[2], 0.1, 1e-9);
      check_close(r.s->qvel[2], 0, 1e-9);
      assert_int_equal(tg_sim_step_vjp(r.s, down, down, dq, dv, NULL, NULL, &label), TG_OK);
      if (label.label == TG_GRAD_EXACT) {
        check_close(dq[2], 0, 1e-9);
        check_close(dv[2], 0, 1e-9);
        exact++;
      }
      drop(&r);
    }
  check_true(exact > 100, "%d of 150 called exact", exact);
}

// impacts of one step of a ball that comes down from above the floor
static int impacts_of(Rig *r, double height, double speed, double h) {
  tgStepInfo info;
  tg_sim_reset(r->s);
  r->s->qpos[2] = 0.1 + height;
  r->s->qvel[2] = -speed;
  run(r, h, 1, &info);
  return info.nimpact;
}

// A ball that closes, when it meets the floor, by the speed at which an impact begins, to the last bit that makes one: the impact's time
// is the root of the gap, where the ball is slower by what it falls in a rounding. Its derivative finds what met there all the same; with
// an impact or held, the ball lies on the floor at the end.
static void test_meeting_at_the_least_speed(void **state) {
  (void)state;
  const double h = 0.01;
  const tgReal down[6] = {0, 0, 1, 0, 0, 0};
  Rig r = closing("<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .1\"><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody>"
                  "</mujoco>", 0);
  int edges = 0;
  for (int k = 0; k < 40; k++) {
    double height = 2e-4 + 2e-5 * k, low = 0.05, high = 0.4;
    tgGradInfo label;
    tgReal dq[6], dv[6];
    for (double middle = 0.5 * (low + high); middle > low && middle < high; middle = 0.5 * (low + high))
      *(impacts_of(&r, height, middle, h) > 0 ? &high : &low) = middle;
    assert_int_equal(impacts_of(&r, height, high, h), 1);
    assert_int_equal(tg_sim_step_vjp(r.s, down, down, dq, dv, NULL, NULL, &label), TG_OK);
    check_close(dq[2], 0, 1e-9);
    check_close(dv[2], 0, 1e-9);
    edges += label.label != TG_GRAD_EXACT;
  }
  assert_int_equal(edges, 40);
  drop(&r);
}

// The flow of an adjoint is solved for by the classes that the step's ended with, and a rounding of that may make the contact that meets
// another feature of its two geoms: that is found, and has the same derivative. What no two of its geoms have is not found, and told.
static void test_meeting_by_another_name(void **state) {
  (void)state;
  Rig r = closing(box, 0.3);
  tgSim *s = r.s;
  tgStepInfo info;
  tgReal z[6] = {1, -2, 3, 0.5, 2, -1}, q[2][6], v[2][6];
  int meetings = 0;
  s->qpos[2] = 0.25;
  s->qvel[0] = 1;
  s->qvel[3] = 4;
  s->qvel[4] = 3;
  do run(&r, 4e-3, 1, &info);
  while (info.nimpact == 0);
  assert_int_equal(tg_sim_step_vjp(s, z, z, q[0], v[0], NULL, NULL, NULL), TG_OK);
  for (int k = 0; k < s->npart; k++) {
    int *who = s->rows->part_who + 3 * k;
    if (who[0] != TG_ROW_NORMAL) continue;
    meetings++;
    who[2] += 1000;
  }
  assert_int_equal(meetings, 1);
  assert_int_equal(tg_sim_step_vjp(s, z, z, q[1], v[1], NULL, NULL, NULL), TG_OK);
  assert_memory_equal(q[0], q[1], sizeof q[0]);
  assert_memory_equal(v[0], v[1], sizeof v[0]);
  for (int k = 0; k < s->npart; k++)
    if (s->rows->part_who[3 * k] == TG_ROW_NORMAL) s->rows->part_who[3 * k + 1] += 1;
  assert_int_equal(tg_sim_step_vjp(s, z, z, q[1], v[1], NULL, NULL, NULL), TG_ERR_STATE);
  drop(&r);
}

// Two balls meet walls at the same time: the second flies evenly, the first is slowed by a third one that it is tied to, so that at that
// time its gap has a minimum, within rounding of 0: it grazes along the ends of flows, v t + a t^2, though it has half its speed there. The
// time found is the second one's; a correction of it by the slope of the gap that grazes, next to none, would lead out of the step.
static void test_grazes_where_another_meets(void **state) {
  (void)state;
  const double h = 0.1, meets = 0.05, slows = -10, over = 0.5e-11, e = 0.5;
  Rig r = closing("<mujoco><option gravity=\"0 0 0\"/><default><geom size=\".1\" mass=\"1\" friction=\"0\"/></default><worldbody>"
                  "<geom type=\"plane\" size=\"5 5 1\" pos=\"0 0 1\" euler=\"180 0 0\"/>"
                  "<geom type=\"plane\" size=\"5 5 1\" pos=\"1 0 0\" euler=\"0 -90 0\"/>"
                  "<body pos=\"-1 0 0\"><joint name=\"a\" type=\"slide\" axis=\"0 0 1\"/><geom/></body>"
                  "<body><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body>"
                  "<body pos=\"-2 0 -1\"><joint name=\"c\" type=\"slide\" axis=\"0 0 1\"/><geom/></body></worldbody>"
                  "<equality><joint joint1=\"a\" joint2=\"c\" polycoef=\"0 1 0 0 0\"/></equality></mujoco>", e);
  for (int misses = 0; misses < 2; misses++) {
    tgStepInfo info;
    tgGradInfo label;
    tgReal D[36];
    double start = 0.9 - 0.025 + (misses ? -1e-6 : over), grazing = 1 + meets * slows, back = misses ? 0 : -e * grazing + meets * slows;
    r.s->qpos[0] = r.s->qpos[2] = start;
    r.s->qpos[1] = 0.9 - meets;
    r.s->qvel[0] = r.s->qvel[1] = r.s->qvel[2] = 1;
    r.s->qfrc_applied[2] = 2 * slows;
    run(&r, h, 1, &info);
    assert_int_equal(info.nimpact, 1);
    check_close(r.s->qvel[0], back, 1e-9);
    check_close(r.s->qpos[0], start + meets * grazing + (h - meets) * back, 1e-9);
    check_close(r.s->qpos[1], 0.9 - e * (h - meets), 1e-12);
    check_close(r.s->qvel[1], -e, 1e-12);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, &label), TG_OK);
    if (misses) continue;
    // both that it is about to pass by and that two meet together
    check_true(label.label == TG_GRAD_SURROGATE && label.ties >= 2, "%d, %d ties: %s", label.label, label.ties, label.reason);
    for (int i = 0; i < 36; i++) check_true(tgFinite(D[i]), "entry %d is no number", i);
  }
  drop(&r);
}

// A two-link arm swings its second joint into its limit: against differences over 1e-3 of the start, at several phases.
static void test_limit_of_an_arm(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    double end[3][2];
    tgReal J[2] = {0, 0}, w[4] = {0};
    double h = 1e-3;
    for (int side = 0; side < 3; side++) {
      Rig r = closing(arm, 0);
      tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s);
      q[1] = 0.1 + 0.0007 * k + (side == 0 ? 0 : side == 1 ? 1e-3 : -1e-3);
      tgReal from[2] = {q[0], q[1]};
      for (int i = 0; i < 2; i++) {
        q[0] = from[0];
        q[1] = from[1];
        v[0] = 0;
        v[1] = 3;
        for (int d = 0; d < 4; d++) w[d] = d == i;
        motion_gradient(&r, h, 250, w);
        end[side][i] = tgRe(q[i]);
        if (side == 0) J[i] = w[1];
      }
      drop(&r);
    }
    for (int i = 0; i < 2; i++) {
      double slope = (end[1][i] - end[2][i]) / 2e-3;
      check_true(fabs(slope - tgRe(J[i])) < 0.02 * fmax(1, fabs(slope)), "phase %d, d q%d: %g, differences over 1e-3 %g", k, i,
                 tgRe(J[i]), slope);
    }
  }
}

// A beam comes down on the edge of a table, turned about its own length so that an edge of it lies across, and turns until its end hits the
// top, of which each step has a derivative and the motion, in steps of 2 ms, that of differences over 1e-3 to a twentieth.
static void test_end_of_a_beam(void **state) {
  (void)state;
  static const char beam[] =
      "<mujoco><worldbody><geom type=\"box\" size=\".3 .3 .1\" pos=\"0 0 -.1\" friction=\"0\"/><body pos=\".2 0 .05\">"
      "<joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/><joint axis=\"0 1 0\"/>"
      "<geom type=\"box\" size=\".4 .02 .02\" euler=\"40 0 0\" mass=\"1\" friction=\"0\"/></body></worldbody></mujoco>";
  for (int k = 0; k < 24; k++) {
    double end[3][3], h = 2e-3;
    tgReal J[3];
    for (int side = 0; side < 3; side++)
      for (int i = 0; i < 3; i++) {
        Rig r = closing(beam, 0);
        tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s), w[6];
        v[0] = -1 + 0.07 * k;
        v[2] = k % 5 - 2;
        q[2] = 0.1 + 0.0013 * k + (side == 0 ? 0 : side == 1 ? 1e-3 : -1e-3);
        for (int d = 0; d < 6; d++) w[d] = d == i;
        motion_gradient(&r, h, 150, w);
        end[side][i] = tgRe(q[i]);
        if (side == 0) J[i] = w[2];
        drop(&r);
      }
    for (int i = 0; i < 3; i++) {
      double slope = (end[1][i] - end[2][i]) / 2e-3;
      check_true(fabs(slope - tgRe(J[i])) < 0.05 * fmax(1, fabs(slope)), "phase %d, d q%d: %g, differences over 1e-3 %g", k, i,
                 tgRe(J[i]), slope);
    }
  }
}

// Elastic: E falls by about 2 g h/v a bounce and never grows.
static void test_elastic_ball(void **state) {
  (void)state;
  Rig r = closing("<mujoco><worldbody>" FLOOR "<body pos=\"0 0 0.6\"><joint type=\"slide\" axis=\"0 0 1\"/>"
                  "<geom size=\"0.1\" mass=\"1\"/></body></worldbody></mujoco>", 1);
  tgStepInfo info;
  double g = 9.81, last = g * 0.5;
  for (int t = 0; t < 10; t++) {
    run(&r, 1e-3, 640, &info);
    double v = tgRe(tg_sim_qvel(r.s)[0]), energy = g * (tgRe(tg_sim_qpos(r.s)[0]) + 0.5) + v * v / 2;
    check_true(energy < last * 1.004, "energy %g after %g", energy, last);
    check_true(energy > last * 0.985, "energy %g after %g", energy, last);
    last = energy;
  }
  drop(&r);
}

// What meets at the same time has one impact, at the time of the one that was looked for: a rod that lands flat on both ends, bare or with
// a limb on a hinge, and two balls that share nothing but the time. Without friction a bare rod and the balls have one derivative, which
// is told; else it is of neither side, which the label says of all.
typedef struct Together { const char *bodies, *friction; double bounces, slides; int nv; bool side; } Together;

#define SLIDES "<joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
#define ROD "<body pos=\"0 0 .0541\">" SLIDES "<joint axis=\"0 1 0\"/>" \
  "<geom type=\"capsule\" size=\".05\" fromto=\"-.3 0 0 .3 0 0\" mass=\"1\"/>"
#define SPHERE(x) "<body pos=\"" x " 0 .0541\">" SLIDES "<geom size=\".05\" mass=\"1\"/></body>"
#define LIMB "<body pos=\".1 0 .06\"><joint axis=\"0 1 0\"/><geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .2 0 .3\" mass=\"1\" " \
  "contype=\"0\" conaffinity=\"0\"/></body>"

static void land_together(const Together *o, tgReal y[8], tgReal *D, const double *moved, tgGradInfo *label) {
  char xml[900];
  snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 -9.81\"/><default><geom friction=\"%s\"/></default><worldbody>"
           "<geom type=\"plane\" size=\"5 5 1\"/>%s</worldbody></mujoco>", o->friction, o->bodies);
  Rig r = closing(xml, o->bounces);
  tgStepInfo info;
  int nv = r.m->nv;
  assert_int_equal(nv, o->nv);
  r.s->qvel[0] = o->slides;
  r.s->qvel[1] = -1;
  if (strstr(o->bodies, "pos=\"1 0") != NULL) r.s->qvel[3] = -1;
  for (int d = 0; d < nv && moved != NULL; d++) {
    r.s->qpos[d] += moved[d];
    r.s->qvel[d] += moved[nv + d];
  }
  assert_int_equal(tg_sim_step(r.s, 0.01, &info), TG_OK);
  if (D != NULL) assert_int_equal(tg_sim_step_jacobian(r.s, D, label), TG_OK);
  if (D != NULL) assert_int_equal(info.nimpact, 1);
  for (int d = 0; d < nv; d++) {
    y[d] = r.s->qpos[d];
    y[nv + d] = r.s->qvel[d];
  }
  drop(&r);
}

static void test_together(void **state) {
  (void)state;
  static const Together scene[] = {{ROD "</body>", "0", 0, 0, 3, true}, {ROD "</body>", ".3", 0, 1, 3, false},
                                   {ROD LIMB "</body>", "0", 0, 0, 4, false}, {ROD "</body>", "0", .5, 0, 3, false},
                                   {ROD LIMB "</body>", ".9", 0, 0, 4, false},
                                   {SPHERE("0") SPHERE("1"), "0", 0, 0, 4, true}, {SPHERE("0") SPHERE("1"), ".3", 0, 1, 4, false}};
  const double eps = 1e-6;
  for (int k = 0; k < (int)(sizeof scene / sizeof *scene); k++) {
    int n = 2 * scene[k].nv;
    double kink = 0, off = 0;
    tgReal y[3][8], D[64];
    tgGradInfo label;
    land_together(&scene[k], y[0], D, NULL, &label);
    for (int c = 0; c < n; c++) {
      double side[2][8], miss[2] = {0};
      for (int i = 0; i < 2; i++) {
        for (int far = 1; far < 3; far++) {
          double moved[8] = {0};
          moved[c] = (i == 0 ? -far : far) * eps;
          land_together(&scene[k], y[far], NULL, moved, NULL);
        }
        for (int d = 0; d < n; d++) {
          side[i][d] = tgRe(4 * (y[1][d] - y[0][d]) - (y[2][d] - y[0][d])) / (i == 0 ? -2 * eps : 2 * eps);
          miss[i] = fmax(miss[i], fabs(side[i][d] - tgRe(D[n * d + c])));
        }
      }
      for (int d = 0; d < n; d++) kink = fmax(kink, fabs(side[1][d] - side[0][d]));
      off = fmax(off, fmin(miss[0], miss[1]));
    }
    print_message("scene %d: off by %.2g of the nearer side, which differ by %.2g\n", k, off, kink);
    check_true(scene[k].side == (off < 2e-5), "scene %d: off by %g", k, off);
    check_true(label.label == TG_GRAD_SURROGATE && strstr(label.reason, "same time") != NULL, "scene %d: label %d, %s", k, label.label,
               label.reason);
  }
}

// Forces close more of a gap in a step than the margin of contacts is wide: a light ball is pressed at a wall by 10 N (a = 200 m/s^2,
// a h^2 up to 2 m), from gaps below and above that. No step ends in overlap, whatever its length, and a step that ends at the wall is
// held there: its derivative in the place and the speed is 0.
static const char *const light_ball =
    "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom type=\"plane\" size=\"1 1 1\" zaxis=\"1 0 0\"/>"
    "<body><joint name=\"x\" type=\"slide\" axis=\"1 0 0\"/><geom size=\".01\" mass=\".05\"/></body></worldbody>"
    "<actuator><motor joint=\"x\"/></actuator></mujoco>";

static void test_pressed_from_afar(void **state) {
  (void)state;
  static const double size[5] = {5e-4, 2e-3, 4e-3, 1e-2, 1e-1};
  int found = 0;
  for (int i = 0; i < 5; i++)
    for (int k = 1; k <= 12; k++)
      for (int bounces = 0; bounces < 2; bounces++) {
        double h = size[i], fall = 200 * h * h;
        Rig r = closing(light_ball, 0.5 * bounces);
        tgStepInfo info;
        tgReal *q = tg_sim_qpos(r.s), J[6];
        q[0] = 0.01 + fall * k / 8;
        tg_sim_ctrl(r.s)[0] = -10;
        for (int t = 0; t < 12; t++) {
          run(&r, h, 1, &info);
          check_true(tgRe(q[0]) > 0.01 - 1e-9, "%g s, step %d of %d: it ends %g m deep", h, t, k, 0.01 - tgRe(q[0]));
          if (info.ncontact > 0) check_close(info.least_distance, tgRe(q[0]) - 0.01, 1e-9);
          if (bounces || t > 0 || fabs(tgRe(q[0]) - 0.01) > 1e-9) continue;
          assert_int_equal(tg_sim_step_jacobian(r.s, J, NULL), TG_OK);
          for (int j = 0; j < 6; j++) check_true(fabs(tgRe(J[j])) < 1e-6 || k == 8, "%g s, %d: entry %d is %g", h, k, j, tgRe(J[j]));
          found++;
        }
        drop(&r);
      }
  check_true(found >= 30, "%d steps end at the wall", found);
}

// What forces press at a wall through another body: a light ball lies between a finger under 10 N and the wall. Its own free motion stays
// where it is, and the flow takes it farther than the margin of contacts is wide, up to 0.4 m. It never ends in the wall; from gaps on
// either side of what the finger closes in a step, and of its radius; and the derivative of the first step is that of differences.
static const char *const ball_between =
    "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom type=\"plane\" size=\"1 1 1\" zaxis=\"1 0 0\"/>"
    "<body><joint type=\"slide\" axis=\"1 0 0\"/><geom size=\".01\" mass=\".02\"/></body>"
    "<body><joint name=\"x\" type=\"slide\" axis=\"1 0 0\"/><geom size=\".01\" mass=\".05\"/></body></worldbody>"
    "<actuator><motor joint=\"x\"/></actuator></mujoco>";

typedef struct Pushed { tgSim *s; double h; } Pushed;

static tgStatus pushed_map(void *ctx, const tgReal *x, tgReal *y) {
  const Pushed *p = ctx;
  memcpy(p->s->qpos, x, 2 * sizeof *x);
  memcpy(p->s->qvel, x + 2, 2 * sizeof *x);
  p->s->ctrl[0] = x[4];
  tgStatus status = tg_sim_step(p->s, p->h, NULL);
  memcpy(y, p->s->qpos, 2 * sizeof *x);
  memcpy(y + 2, p->s->qvel, 2 * sizeof *x);
  return status;
}

static void test_pressed_through_another(void **state) {
  (void)state;
  static const double size[4] = {2e-3, 4e-3, 8e-3, 5e-2};
  int met = 0, apart = 0;
  for (int i = 0; i < 4; i++)
    for (int k = 1; k <= 10; k++)
      for (int bounces = 0; bounces < 2; bounces++) {
        double h = size[i], gap = 143 * h * h * (k - 0.3) / 8;
        Rig r = closing(ball_between, 0.5 * bounces);
        Pushed p = {r.s, h};
        tgStepInfo info;
        tgGradInfo label;
        tgReal x[5] = {0.01 + gap, 0.03 + gap, 0, 0, -10}, y[4], J[20];
        assert_int_equal(pushed_map(&p, x, y), TG_OK);
        check_true(tgRe(y[0]) > 0.01 - 1e-9, "%g s, %d: it ends %g m deep", h, k, 0.01 - tgRe(y[0]));
        met += k < 8 && gap > 1e-3;
        assert_int_equal(tg_sim_step_jacobian(r.s, J, &label), TG_OK);
        const tgtDeriv d = {.name = "pushed", .nx = 5, .ny = 4, .map = pushed_map, .ctx = &p, .tol = 1e-6, .step = 1e-6};
        check_true(label.label == TG_GRAD_EXACT, "%g s, %d: %s", h, k, label.reason);
        bool rests = tgRe(y[0]) < 0.01 + 1e-9;   // at the wall, where differences are rounding
        if (!rests) tgt_check_jacobian(&d, x, J);
        for (int j = 0; j < 20 && rests; j++) check_close(tgRe(J[j]), 0, 1e-9);
        apart += !rests;
        pushed_map(&p, x, y);
        for (int t = 0; t < 12; t++) {
          run(&r, h, 1, &info);
          check_true(tgRe(r.s->qpos[0]) > 0.01 - 1e-9, "%g s, step %d of %d: it ends %g m deep", h, t, k, 0.01 - tgRe(r.s->qpos[0]));
        }
        drop(&r);
      }
  check_true(met >= 30 && apart >= 20, "%d first steps take it to the wall from beyond the margin, %d end off it", met, apart);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pressed_from_afar), cmocka_unit_test(test_pressed_through_another),
      cmocka_unit_test(test_row_of_balls), cmocka_unit_test(test_together),
      cmocka_unit_test(test_slow_landing),
      cmocka_unit_test(test_meeting_at_the_least_speed), cmocka_unit_test(test_meeting_by_another_name),
      cmocka_unit_test(test_grazes_where_another_meets), cmocka_unit_test(test_meeting_at_a_boundary),
      cmocka_unit_test(test_limit_of_an_arm), cmocka_unit_test(test_end_of_a_beam),
      cmocka_unit_test(test_elastic_ball)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
