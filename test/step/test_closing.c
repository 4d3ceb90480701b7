// test_closing.c: the rule `closing` of lcp against what is known of the motion: impacts at their own time whatever the
// step, overlap that is moved apart without motion, rest without drift, lifts that change nothing, several impacts in a step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/blocks.h"
#include "step/impulse_parts.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

#define FLOOR "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\"0.5\"/>"
static const char *const balls =
    "<mujoco><option gravity=\"0 0 0\"/><default><geom type=\"sphere\" size=\"0.1\" mass=\"1\" friction=\"0\"/></default><worldbody>"
    "<body><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body><body pos=\"0.5 0 0\"><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body>"
    "<body pos=\"0.702 0 0\"><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body></worldbody></mujoco>";
static const char *const box = "<mujoco><worldbody>" FLOOR "<body name=\"box\" pos=\"0 0 0.1\"><freejoint/>"
                               "<geom type=\"box\" size=\"0.1 0.15 0.1\" mass=\"2\" friction=\"0.5\"/></body></worldbody></mujoco>";
static const char *const arm =
    "<mujoco><worldbody><body name=\"a\"><joint name=\"a\" axis=\"0 1 0\" damping=\"0.01\"/>"
    "<geom type=\"capsule\" size=\"0.03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/>"
    "<body name=\"b\" pos=\".4 0 0\"><joint name=\"b\" axis=\"0 1 0\" limited=\"true\" range=\"-20 20\"/>"
    "<geom type=\"capsule\" size=\"0.03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/></body></body></worldbody></mujoco>";

static Rig closing(const char *xml, double e) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  Rig r = rig_of_text(xml, "lcp", &o.of);
  int rows, cols;
  tgReal *x = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
  return r;
}

static void run(Rig *r, double h, int steps, tgStepInfo *info) {
  int impacts = 0;
  for (int t = 0; t < steps; t++) {
    tgStatus status = tg_sim_step_growing(r->s, h, info);
    check_true(status == TG_OK, "step %d: %s", t, tg_sim_error(r->s)->text);
    impacts += info->nimpact;
  }
  info->nimpact = impacts;
}

// a stack and an arm with dry friction that come down, slide and rest
static const char *const mixed =
    "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .1\"><freejoint/>"
    "<geom type=\"box\" size=\".1 .15 .1\" mass=\"2\" friction=\".5\"/></body>"
    "<body pos=\".03 0 .305\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"1\" friction=\".4\"/></body>"
    "<body pos=\"1 0 .3\"><joint axis=\"0 1 0\" frictionloss=\".2\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/>"
    "<body pos=\".4 0 0\"><joint axis=\"0 1 0\" limited=\"true\" range=\"-20 20\" frictionloss=\".1\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/></body></body></worldbody></mujoco>";

// Positions solved from the classes and the factorisation of the velocities, a free motion made once: the bits of a step that makes
// each anew.
static void test_shared(void **state) {
  (void)state;
  Rig r[2] = {closing(mixed, 0.3), closing(mixed, 0.3)};
  size_t nv = (size_t)r[0].s->m.nv, size = 2 * nv * (2 * nv + (size_t)r[0].s->m.nu);
  tgReal *D[2] = {calloc(size, sizeof *D[0]), calloc(size, sizeof *D[0])}, g[2][64], out[2][64];
  int alike = 0, other = 0, impacts = 0;
  r[1].s->nothing_shared = true;
  assert_true(2 * nv <= 64);
  for (size_t i = 0; i < 2 * nv; i++) g[0][i] = g[1][i] = 1 + (double)i;
  for (int k = 0; k < 2; k++)
    for (size_t d = 0; d < nv; d++) tg_sim_qvel(r[k].s)[d] = 0.4 * sin(3 * (double)d + 1);
  for (int t = 0; t < 300; t++) {
    for (int k = 0; k < 2; k++) {
      tgSim *s = r[k].s;
      tgStepInfo info;
      run(&r[k], 0.005, 1, &info);
      impacts += info.nimpact;
      assert_int_equal(tg_sim_step_vjp(s, g[k], g[k] + nv, out[k], out[k] + nv, NULL, NULL, NULL), TG_OK);
      if (t % 5 == 0) assert_int_equal(tg_sim_step_jacobian(s, D[k], NULL), TG_OK);
    }
    const tgSim *s = r[0].s;
    bool same = memcmp(s->rows->class, s->rows->class2, (size_t)s->nrow * sizeof *s->rows->class) == 0;
    *(same ? &alike : &other) += s->nrow > 0;
    assert_memory_equal(r[0].s->end.q, r[1].s->end.q, (size_t)s->m.nq * sizeof(tgReal));
    assert_memory_equal(r[0].s->end.vel, r[1].s->end.vel, nv * sizeof(tgReal));
    assert_memory_equal(out[0], out[1], 2 * nv * sizeof(tgReal));
    assert_memory_equal(D[0], D[1], size * sizeof(tgReal));
  }
  check_true(alike > 50 && other > 5 && impacts > 4, "problems in the same classes in %d steps, in others in %d, impacts %d", alike,
             other, impacts);
  for (int k = 0; k < 2; k++) {
    free(D[k]);
    drop(&r[k]);
  }
}

static const char *const torn =
    "<mujoco><option gravity=\"0 0 0\"/><worldbody><body><joint name=\"rail\" type=\"slide\" axis=\"1 0 0\"/>"
    "<geom size=\".1\" mass=\"1\"/></body></worldbody><equality><joint joint1=\"rail\" polycoef=\"0 0 0 0 0\"/>"
    "<joint joint1=\"rail\" polycoef=\".1 0 0 0 0\"/></equality></mujoco>";

// A part that has no answer, as two equalities that ask for different things have none, or whose solve is cancelled: the step says so
// and changes nothing.
static void test_unsolved(void **state) {
  (void)state;
  tgStepInfo info;
  tgLcpOptions stop = tg_lcp_default();
  stop.unsolved = TG_UNSOLVED_STOP;
  Rig r = rig_of_text(torn, "lcp", &stop.of);
  tg_sim_qvel(r.s)[0] = 0.3;
  assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_NOT_CONVERGED);
  assert_false(info.converged);
  check_close(tg_sim_qpos(r.s)[0], 0, 0);
  check_close(tg_sim_qvel(r.s)[0], 0.3, 0);
  drop(&r);
  r = closing(mixed, 0);
  tgReal *q = tg_sim_qpos(r.s), before = q[2];
  volatile int cancel = 1;
  tgStatus status = TG_OK;
  r.s->watch.cancel = &cancel;
  for (int t = 0; t < 300 && status == TG_OK; t++) {
    before = q[2];
    tgi_forget(r.s);
    status = tg_sim_step_growing(r.s, 0.005, &info);
  }
  assert_int_equal(status, TG_CANCELLED);
  check_close(q[2], before, 0);
  cancel = 0;
  assert_int_equal(tg_sim_step_growing(r.s, 0.005, &info), TG_OK);
  drop(&r);
}

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

// drawn 2 cm deep: out at the push speed, and not a bit of it is velocity
static void test_overlap(void **state) {
  (void)state;
  Rig r = closing(box, 0);
  tgStepInfo info;
  double h = 5e-3, energy = 0;
  double pushed = 0;
  int cut = 0, steps = 0;
  tg_sim_qpos(r.s)[2] = 0.08;
  for (; tgRe(tg_sim_qpos(r.s)[2]) < 0.1 - 1e-6 && steps < 20; steps++) {
    run(&r, h, 1, &info);
    cut += info.ncut > 0;
    pushed += info.push_energy;
    for (int d = 0; d < 6; d++) energy += tgRe(tg_sim_qvel(r.s)[d]) * tgRe(tg_sim_qvel(r.s)[d]);
  }
  check_true(steps >= 4 && steps <= 5, "%d steps", steps);
  check_true(cut >= 3, "%d steps cut the push", cut);
  check_true(energy < 1e-20, "speeds squared %g", energy);
  check_close(tgRe(tg_sim_qpos(r.s)[2]), 0.1, 1e-9);
  check_close(pushed, 2 * 9.81 * 0.02, 1e-9);
  run(&r, h, 1, &info);
  check_true(info.push_energy == 0, "at rest %g J", info.push_energy);
  drop(&r);
}

// Of a stack the lower box of which is deep, both are lifted; a hinge with a spring is pushed out of its limit: what that adds is weight
// times the lift, and what the spring holds more.
static void test_push_energy(void **state) {
  (void)state;
  static const char *const limit =
      "<mujoco><worldbody><body><joint axis=\"0 1 0\" limited=\"true\" range=\"-20 20\" stiffness=\"3\"/>"
      "<geom type=\"capsule\" size=\"0.03\" fromto=\"0 0 0 .4 0 0\" mass=\"1\"/></body></worldbody></mujoco>";
  const double h = 5e-3, g = 9.81;
  tgStepInfo info;
  Rig r = closing(mixed, 0);
  tg_sim_qpos(r.s)[2] = 0.098;
  tg_sim_qpos(r.s)[7 + 2] = 0.298;
  double before = 2 * tgRe(tg_sim_qpos(r.s)[2]) + tgRe(tg_sim_qpos(r.s)[9]);
  run(&r, h, 1, &info);
  check_close(info.push_energy, g * (2 * tgRe(tg_sim_qpos(r.s)[2]) + tgRe(tg_sim_qpos(r.s)[9]) - before), 1e-9);
  check_close(info.push_energy, 3 * g * 0.002, 1e-6);
  drop(&r);

  r = closing(limit, 0);
  double low = 20 * M_PI / 180, at = low + 0.003;
  tg_sim_qpos(r.s)[0] = at;
  run(&r, h, 1, &info);
  check_close(tgRe(tg_sim_qpos(r.s)[0]), low, 1e-9);
  check_close(info.push_energy, g * 0.2 * (sin(at) - sin(low)) + 1.5 * (low * low - at * at), 1e-9);
  drop(&r);
}

// A motor drives a slide with a range of 2 mm by far more in a step: the rows of both ends act, and there is room for both.
static void test_both_ends_of_a_range(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody>"
      "<body><joint name=\"x\" type=\"slide\" axis=\"1 0 0\" limited=\"true\" range=\"-.001 .001\"/>"
      "<geom type=\"sphere\" size=\".1\" mass=\"2\"/></body></worldbody><actuator><motor joint=\"x\"/></actuator></mujoco>";
  const double h = 5e-3;
  for (int sign = -1; sign <= 1; sign += 2) {
    Rig r = closing(text, 0);
    tgStepInfo info;
    tg_sim_ctrl(r.s)[0] = sign * 1e4;
    run(&r, h, 3, &info);
    assert_int_equal(info.nrow, 2);
    check_close(tgRe(tg_sim_qpos(r.s)[0]), sign * 1e-3, 1e-8);
    check_close(tgRe(tg_sim_qvel(r.s)[0]), 0, 1e-8);
    drop(&r);
  }
}

// Two triangles that hang on an edge between fixed vertices: bending alone couples the two others, which no row and no mass does.
static void test_flap(void **state) {
  (void)state;
  static const char *const flap =
      "<mujoco><worldbody><flexcomp name='c' type='direct' dim='2' mass='.5' radius='.02' pos='0 0 1' "
      "point='0 -.1 0  0 .1 0  .2 0 .03  -.2 .02 .05' element='0 1 2  1 0 3'>"
      "<elasticity young='200' poisson='.3' thickness='.1' damping='.01' elastic2d='both'/>"
      "<contact selfcollide='none'/><pin id='0 1'/></flexcomp></worldbody></mujoco>";
  Rig r = closing(flap, 0);
  tgGradCheck check;
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = 1e-3;
  assert_int_equal(tg_model_nv(r.m), 6);
  assert_int_equal(r.m->nset, 1);
  for (int d = 0; d < 6; d++) {
    tg_sim_qpos(r.s)[d] = 0.01 * (d - 3);
    tg_sim_qvel(r.s)[d] = 0.3 * (3 - d);
  }
  assert_int_equal(tg_grad_check_step(r.s, &o, &check), TG_OK);
  for (int b = 0; b < check.nblock; b++) check_true(check.block[b].pass, "%s: %g", check.block[b].name, check.block[b].error);
  drop(&r);
}

// As deep as the push takes it in one step: where it is cut, the derivative is one-sided, and a gradient check holds the rows to it.
static void test_overlap_of_one_push(void **state) {
  (void)state;
  Rig r = closing(box, 0);
  tgGradCheck check;
  tgGradInfo label;
  tgReal g[6] = {0, 0, 1, 0, 0, 0}, dq[6], dv[6];
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = 5e-3;
  tg_sim_qpos(r.s)[2] = 0.1 - o.h;
  assert_int_equal(tg_grad_check_step(r.s, &o, &check), TG_OK);
  for (int b = 0; b < check.nblock; b++) check_true(check.block[b].pass, "%s: %g", check.block[b].name, check.block[b].error);
  assert_int_equal(tg_sim_step_growing(r.s, o.h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(r.s, g, g, dq, dv, NULL, NULL, &label), TG_OK);
  check_true(label.label == TG_GRAD_ONE_SIDED, "label %d", label.label);
  drop(&r);
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
    check_true(label.label == TG_GRAD_ONE_SIDED && strstr(label.reason, "about to pass by") != NULL, "%d: %s", label.label, label.reason);
    for (int i = 0; i < 36; i++) check_true(tgFinite(D[i]), "entry %d is no number", i);
  }
  drop(&r);
}

static void test_rest_and_lift(void **state) {
  (void)state;
  static const double lift[5] = {-1e-8, 0, 2e-8, 1e-7, 1e-6};
  for (int i = 0; i < 5; i++) {
    Rig r = closing(box, 0);
    tgStepInfo info;
    tgGradInfo label;
    tgReal g[6] = {0, 0, 1, 0, 0, 0}, gv[6] = {0, 0, 1, 0, 0, 0}, dq[6], dv[6];
    tg_sim_qpos(r.s)[2] = 0.1 + lift[i];
    run(&r, 2e-3, 1, &info);
    check_close(tgRe(tg_sim_qpos(r.s)[2]), 0.1, 1e-12);
    check_close(tgRe(tg_sim_qvel(r.s)[2]), 0, 1e-12);
    assert_int_equal(tg_sim_step_vjp(r.s, g, gv, dq, dv, NULL, NULL, &label), TG_OK);
    for (int d = 0; d < 6; d++) check_close(tgRe(dq[d]), 0, 1e-9);
    run(&r, 2e-3, 1000, &info);
    check_close(tgRe(tg_sim_qpos(r.s)[2]), 0.1, 1e-12);
    check_close(tgRe(tg_sim_qpos(r.s)[0]), 0, 1e-12);
    drop(&r);
  }
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

// An adjoint leaves the account of the step as it was. With too little scratch, wherever it runs short, it says so; with enough it is the
// same.
static void check_short_of_scratch(tgSim *s, const tgReal *z) {
  tgReal whole[12] = {0}, g[12];
  int clamps = 0;
  tgStepInfo before = s->info;
  s->stack_high = 0;
  assert_int_equal(tgi_parts_vjp(s, z, z + 6, whole, whole + 6, NULL, NULL, &clamps), TG_OK);
  tgi_stack_free(s, 0);
  assert_true(s->info.iterations == before.iterations && s->info.nisland == before.nisland && s->info.nrow == before.nrow &&
              s->info.stage == before.stage && s->info.residual == before.residual && s->info.rank == before.rank);
  size_t had = s->cap.stack, need = s->stack_high;
  for (size_t room = 0; room <= need; room += 64) {
    s->cap.stack = room;
    memset(g, 0, sizeof g);
    assert_int_equal(tgi_parts_vjp(s, z, z + 6, g, g + 6, NULL, NULL, &clamps), room < need ? TG_ERR_CAPACITY : TG_OK);
    tgi_stack_free(s, 0);
  }
  s->cap.stack = had;
  assert_memory_equal(g, whole, sizeof g);
}

// A box thrown on an edge, step by step: the adjoint against the dense derivative, which are written apart for steps of one part.
static void test_adjoint(void **state) {
  (void)state;
  Rig r = closing(box, 0.3);
  tgSim *s = r.s;
  tgtRandom random = {.s = 5};
  int several = 0, pressed = 0;
  tgReal *q = tg_sim_qpos(s), *v = tg_sim_qvel(s), D[12 * 12], z[12], x[12], g[12];
  q[2] = 0.3;
  v[0] = 1;
  v[2] = -1;
  v[3] = 4;
  v[4] = 3;
  for (int t = 0; t < 150; t++) {
    int clamps = 0;
    tgStepInfo info;
    run(&r, 4e-3, 1, &info);
    several += s->npart > 1;
    pressed += s->npart == 1 && s->nrow > 0;
    assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
    assert_int_equal(tgi_parts_jacobian(s, D, &clamps), TG_OK);
    tgt_random_vector(&random, 12, z);
    tgt_random_vector(&random, 12, x);
    for (int i = 0; i < 12; i++) g[i] = 0;
    tgi_stack_free(s, 0);
    assert_int_equal(tgi_parts_vjp(s, z, z + 6, g, g + 6, NULL, NULL, &clamps), TG_OK);
    tgi_stack_free(s, 0);
    tgt_check_adjoint(D, 12, 12, z, x, g);
    if (s->npart > 1 && several < 4) check_short_of_scratch(s, z);
  }
  check_true(several >= 5 && pressed >= 20, "%d steps of several parts, %d that press", several, pressed);
  drop(&r);
}

// A box that falls on another, thrown about: it rocks from edge to edge, and comes to rest.
static void test_rocking(void **state) {
  (void)state;
  static const char stack[] =
      "<mujoco><worldbody>" FLOOR
      "<body pos=\".03 0 .305\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"1\" friction=\".4\"/></body>"
      "<body pos=\"0 0 .1\"><freejoint/><geom type=\"box\" size=\".1 .15 .1\" mass=\"2\" friction=\".5\"/></body></worldbody></mujoco>";
  tgtRandom random = {.s = 11};
  for (int k = 0; k < 16; k++) {
    Rig r = closing(stack, 0);
    double h = k % 2 == 0 ? 0.01 : 0.003;
    int steps = (int)(1.5 / h);
    tgReal before[14], moved[12];
    tgStepInfo info;
    for (int d = 0; d < 6; d++) r.s->qvel[d] = tgt_uniform(&random, -1, 1) * (d < 3 ? 0.5 : 2);
    run(&r, h, steps, &info);
    memcpy(before, r.s->qpos, sizeof before);
    run(&r, h, steps / 3, &info);
    assert_int_equal(info.nimpact, 0);
    tg_model_difference(r.m, before, r.s->qpos, moved);
    for (int d = 0; d < 12; d++)
      check_true(fabs(tgRe(moved[d])) < 1e-12 && fabs(tgRe(r.s->qvel[d])) < 1e-12, "throw %d: coordinate %d moves by %g, at %g", k, d,
                 tgRe(moved[d]), tgRe(r.s->qvel[d]));
    drop(&r);
  }
}

// ---- a step that throws bodies about says so ----

static void test_burst(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++) {
    tgLcpOptions o = tg_lcp_default();
    o.contact_rule = rule == 0 ? TG_RULE_TOUCHING : TG_RULE_CLOSING;
    Rig r = rig_of_text(box, "lcp", &o.of);
    tgSim *s = r.s;
    tgStepInfo info;
    s->qpos[2] = 0.08;   // 2 cm in the floor, 2 kg
    run(&r, 2e-3, 1, &info);
    // erp 0.2 of it in a step; free motion falls with g h
    double thrown = 0.2 * 0.02 / 2e-3, falls = 9.81 * 2e-3;
    check_true(info.burst == (rule == 0), "rule %d", rule);
    check_close(info.energy_gained, rule == 0 ? thrown * thrown - falls * falls : 0, 1e-9);
    check_true(rule == 1 || (info.burst1 + info.burst2 == 1 && info.burst1 * info.burst2 == 0), "bodies %d and %d", info.burst1,
               info.burst2);
    // resting, nothing is thrown
    run(&r, 2e-3, 1500, &info);
    check_true(!info.burst && info.energy_gained < 1e-12, "rule %d at rest: %g J", rule, info.energy_gained);
    drop(&r);
  }
}

// ---- impacts with friction gain no energy ----

// two bodies on a hinge whose `n` balls each touch a fixed ball from its own side; restitution and friction mixed
static Rig touching_balls(tgtRandom *r, int n) {
  char xml[8000], fixed[1500] = "", ball[2][1500] = {"", ""};
  for (int k = 0; k < n; k++) {
    double c[3], u[3], length = 0;
    for (int i = 0; i < 3; i++) {
      c[i] = tgt_uniform(r, -0.3, 0.3);
      u[i] = tgt_normal(r);
      length += u[i] * u[i];
    }
    // the second body's frame is 0.3 m along x
    char *text = ball[k % 2];
    size_t used = strlen(text);
    double mu = tgt_uniform(r, 0, 1.2), shift = k % 2 == 1 ? 0.3 : 0;
    snprintf(text + used, sizeof ball[0] - used, "<geom type='sphere' size='.04' pos='%.17g %.17g %.17g' mass='%g' friction='%g'/>",
             c[0] - shift, c[1], c[2], tgt_uniform(r, 0.1, 1), mu);
    used = strlen(fixed);
    snprintf(fixed + used, sizeof fixed - used, "<geom type='sphere' size='.04' pos='%.17g %.17g %.17g' friction='0'/>",
             c[0] + 0.08 * u[0] / sqrt(length), c[1] + 0.08 * u[1] / sqrt(length), c[2] + 0.08 * u[2] / sqrt(length));
  }
  snprintf(xml, sizeof xml,
           "<mujoco><option gravity='0 0 0'/><worldbody>%s<body><freejoint/>%s<inertial pos='0 0 0' mass='1' diaginertia='.01 .02 .015'/>"
           "<body pos='.3 0 0'><joint axis='.3 1 .2'/>%s<inertial pos='.05 0 .02' mass='.4' diaginertia='.004 .003 .005'/>"
           "</body></body></worldbody></mujoco>",
           fixed, ball[0], ball[1]);
  return closing(xml, 0);
}

static double kinetic(tgSim *s) {
  assert_int_equal(tg_sim_forward(s), TG_OK);
  double sum = 0;
  for (int i = 0; i < s->m.nv; i++)
    for (int k = i; k >= 0; k = s->m.dof_parent[k])
      sum += (k == i ? 0.5 : 1) * tgRe(tgi_block_row(&s->m, s->M, i)[k] * s->qvel[i] * s->qvel[k]);
  return sum;
}

static void test_impacts_gain_nothing(void **state) {
  (void)state;
  enum { MODELS = 120, THROWS = 84 };
  tgtRandom r = {.s = 5};
  int guarded = 0, impacts = 0;
  double worst = 0;
  for (int k = 0; k < MODELS; k++) {
    Rig rig = touching_balls(&r, 1 + k % 6);
    tgSim *s = rig.s;
    int rows, cols;
    tgReal *bounce = tg_sim_param(s, "geom_restitution", &rows, &cols);
    for (int t = 0; t < THROWS; t++) {
      tgStepInfo info;
      tg_sim_reset(s);
      for (int g = 0; g < rows * cols; g++) bounce[g] = tgt_uniform(&r, 0, 1);
      for (int d = 0; d < s->m.nv; d++) s->qvel[d] = tgt_normal(&r);
      double before = kinetic(s);
      tgStatus status = tg_sim_step_growing(s, 1e-9, &info);
      check_true(status == TG_OK, "model %d throw %d: %s", k, t, tg_sim_error(s)->text);
      worst = fmax(worst, kinetic(s) / before - 1);
      guarded += info.ndamped > 0;
      impacts += info.nimpact > 0;
    }
    drop(&rig);
  }
  printf("%d of %d throws meet, %d guarded; worst gain %.3g\n", impacts, MODELS * THROWS, guarded, worst);
  assert_true(impacts > MODELS * THROWS / 2 && guarded > 100);
  check_true(worst < 1e-8, "energy grows by %g of it", worst);
}

// A chain whose ranges are so narrow that both ends of each are in touch: twice as many rows as joints in an
// island, for which the solver has room.
static void test_both_ends(void **state) {
  (void)state;
  enum { LINKS = 40 };
  char xml[LINKS * 200 + 400], *at = xml;
  at += sprintf(at, "<mujoco><compiler autolimits=\"true\" angle=\"radian\"/><option timestep=\".005\"/><worldbody>");
  for (int i = 0; i < LINKS; i++)
    at += sprintf(at, "<body pos=\"0 0 -.1\"><joint type=\"hinge\" axis=\"%d %d 0\" range=\"-4e-9 4e-9\"/>"
                  "<inertial pos=\"0 0 -.05\" mass=\".1\" diaginertia=\"1e-4 1e-4 1e-4\"/>", i % 2, 1 - i % 2);
  for (int i = 0; i < LINKS; i++) at += sprintf(at, "</body>");
  sprintf(at, "</worldbody></mujoco>");
  Rig r = rig_of_text(xml, "lcp", NULL);
  tgtRandom random = {.s = 3};
  int most = 0;
  for (int k = 0; k < 8; k++) {
    for (int d = 0; d < LINKS; d++) r.s->qvel[d] = tgt_uniform(&random, -3e-8, 3e-8);
    tgStepInfo info;
    tgStatus status = tg_sim_step_growing(r.s, 0.005, &info);
    check_true(status == TG_OK && info.fallback == 0, "step %d: %s", k, r.s->error.text);
    if (info.nrow > most) most = info.nrow;
  }
  assert_int_equal(most, 2 * LINKS);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_row_of_balls), cmocka_unit_test(test_overlap),
                                     cmocka_unit_test(test_slow_landing), cmocka_unit_test(test_meeting_at_the_least_speed),
                                     cmocka_unit_test(test_overlap_of_one_push),
                                     cmocka_unit_test(test_meeting_by_another_name),
                                     cmocka_unit_test(test_grazes_where_another_meets),
                                     cmocka_unit_test(test_push_energy),
                                     cmocka_unit_test(test_both_ends_of_a_range), cmocka_unit_test(test_flap),
                                     cmocka_unit_test(test_rest_and_lift),
                                     cmocka_unit_test(test_adjoint),
                                     cmocka_unit_test(test_meeting_at_a_boundary),
                                     cmocka_unit_test(test_limit_of_an_arm), cmocka_unit_test(test_end_of_a_beam),
                                     cmocka_unit_test(test_shared), cmocka_unit_test(test_unsolved),
                                     cmocka_unit_test(test_elastic_ball), cmocka_unit_test(test_rocking), cmocka_unit_test(test_burst),
                                     cmocka_unit_test(test_both_ends),
                                     cmocka_unit_test(test_impacts_gain_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
