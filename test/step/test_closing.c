// test_closing.c: the rule `closing` of lcp against what is known of the motion: overlap that is moved apart without motion, rest without
// drift, lifts that change nothing, both ends of a range, impacts that gain no energy.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kin/kinematics.h"
#include "model/blocks.h"
#include "step/closing.h"
#include "step/impulse_parts.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

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

// The corners of a box that the push speed leaves in the floor are those that it leaves there after the step: with an impact of a ball in
// it too, whose flow through the floor, thrown away, is none of the step, and in which the flow up to it leaves what the next one does not.
static void test_left_after_the_step(void **state) {
  (void)state;
  static const char *const beside =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody>" FLOOR "<body pos=\"0 0 0.1\"><freejoint/>"
      "<geom type=\"box\" size=\"0.1 0.15 0.1\" mass=\"2\"/></body><body pos=\"1 0 0.11\"><freejoint/>"
      "<geom size=\"0.1\" mass=\"1\"/></body></worldbody></mujoco>";
  static const double depth[2] = {0.02, 0.004};   // of a push of 5 mm in the step, or of 2.5 mm in each of two flows
  for (int k = 0; k < 4; k++) {
    tgStepInfo info;
    Rig r = closing(beside, 0.5);
    bool meets = k % 2 == 1;
    tg_sim_qpos(r.s)[2] = 0.1 - depth[k / 2];
    tg_sim_qvel(r.s)[6 + 2] = meets ? -4 : 0;   // after 2.5 ms
    run(&r, 5e-3, 1, &info);
    assert_int_equal(info.nimpact, meets);
    check_close(tgRe(tg_sim_qpos(r.s)[2]), 0.1 - fmax(depth[k / 2] - 5e-3, 0), 1e-9);
    check_true(info.ncut == (k < 2 ? 4 : 0), "%g m deep, %d impacts: %d corners left", depth[k / 2], info.nimpact, info.ncut);
    drop(&r);
  }
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

// Which limits of hinges and slides have rows, most without having been given one first, is told by their gaps and speeds: those that the
// free motion ends past, and those that are next to their end and could be thrown back.
static void test_limits_that_act(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><default><joint limited=\"true\"/><geom type=\"sphere\" size=\".1\" mass=\"1\" contype=\"0\"/>"
      "</default><worldbody><body><joint type=\"slide\" axis=\"1 0 0\" range=\"-.2 .3\"/><geom/>"
      "<body pos=\".3 0 0\"><joint type=\"hinge\" axis=\"0 1 0\" range=\"-60 30\"/><geom pos=\".2 0 0\"/>"
      "<body pos=\".3 0 0\"><joint type=\"hinge\" axis=\"0 1 1\" range=\"-40 80\"/><geom pos=\".2 0 .1\"/>"
      "</body></body></body></worldbody></mujoco>";
  const double h = 4e-3;
  tgtRandom random = {8};
  Rig r = closing(text, 0);
  tgSim *s = r.s;
  int acting = 0, none = 0;
  for (int trial = 0; trial < 600; trial++) {
    tgStepInfo info;
    for (int j = 0; j < s->m.njnt; j++) {   // next to an end, or in the middle
      const tgReal *range = s->m.jnt_range + 2 * j;
      double at = trial % 4 == 0 ? 0.5 : trial % 2, off = tgt_uniform(&random, -1e-3, 6e-3);
      s->qpos[j] = range[0] + at * (range[1] - range[0]) + (at < 0.5 ? off : -off);
      s->qvel[j] = tgt_uniform(&random, -1, 1);
    }
    tgStatus status = tg_sim_step_growing(s, h, &info);
    check_true(status == TG_OK, "%s", tg_sim_error(s)->text);
    if (info.nimpact > 0 || s->npart > 1) continue;   // rows of the last of several parts
    for (int k = 0; k < 2 * s->m.njnt; k++) {
      int j = k / 2, sign = k % 2 == 0 ? 1 : -1;
      const tgReal *range = s->m.jnt_range + 2 * j;
      double before = sign * tgRe(s->start.vel[j]), after = sign * tgRe(s->vhat[j]);
      double gap = tgRe(k % 2 == 0 ? s->trial.q[j] - range[0] : range[1] - s->trial.q[j]);
      bool acts = gap + h * (after - before) <= 1e-8 || gap - h * before <= 1e-8 + h * fabs(after - before), has = false;
      for (int i = 0; i < s->nrow; i++)
        has = has || (s->rows->kind[i] == TG_ROW_LIMIT && s->rows->owner[i] == j && s->rows->part[i] == k % 2);
      check_true(has == acts, "trial %d, joint %d, side %d: gap %g, speeds %g and %g, row %d", trial, j, k % 2, gap, before, after, has);
      acting += acts;
      none += !acts;
    }
  }
  check_true(acting > 100 && none > 100, "%d act, %d do not", acting, none);
  drop(&r);
}

// Next to where a limit of a slide or hinge would get a row, on either side, the step says that its derivative is one-sided, and by which
// limit, be there a row or none; a little farther away it says nothing.
static void test_limits_at_an_edge(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity=\"0 0 0\"/><default><joint limited=\"true\"/><geom type=\"sphere\" size=\".1\" mass=\"1\"/></default>"
      "<worldbody><body><joint name=\"s\" type=\"slide\" axis=\"1 0 0\" range=\"-.2 .3\"/><geom/></body>"
      "<body pos=\"0 2 0\"><joint name=\"t\" axis=\"0 1 0\" range=\"-57 28\"/><geom/></body></worldbody></mujoco>";
  static const char *const side[] = {"lower", "upper"}, *const name[] = {"'s'", "'t'"};
  const double h = 4e-3;
  Rig r = closing(text, 0);
  tgSim *s = r.s;
  for (int k = 0; k < 4; k++)
    for (int i = -3; i <= 3; i++) {
      int j = k / 2, sign = k % 2 == 0 ? 1 : -1;
      double D[8 * 4], off = 4e-10 * i;   // 1e-9 is the edge's reach
      tgGradInfo info;
      tg_sim_reset(s);
      s->qvel[j] = -0.5 * sign;
      s->qpos[j] = s->m.jnt_range[2 * j + k % 2] + sign * (1e-8 + 0.5 * h + off);
      assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
      assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
      bool edge = abs(i) < 3, named = strstr(info.reason, side[k % 2]) != NULL && strstr(info.reason, name[j]) != NULL;
      check_true((info.label == TG_GRAD_ONE_SIDED) == edge && named == edge, "limit %d, off %g: %s, '%s'", k, off,
                 tg_grad_label_text(info.label), info.reason);
    }
  drop(&r);
}

// A ball on a light arm that lengthens freely glides on a floor without friction: along a straight line, as fast as before. With its joints
// as fast as at the start it would turn about the pivot, up from the floor and out of the list of what is near, and it is the turn of its
// velocity that takes it back: to 2 mm in the floor in 4 ms, 8 mm in 8 ms, if nothing held it.
static void test_glides(void **state) {
  (void)state;
  static const char *const arm =
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='5 5 1' friction='0'/>"
      "<body pos='0 0 .35'><joint type='hinge' axis='0 -1 0'/><inertial pos='0 0 0' mass='1e-3' diaginertia='1e-6 1e-6 1e-6'/>"
      "<body><joint type='slide' axis='0 0 -1'/><geom type='sphere' size='.05' pos='0 0 -.3' mass='1' friction='0'/></body>"
      "</body></worldbody></mujoco>";
  const double length = 0.3, rate = 30;
  Rig r = closing(arm, 0);
  for (int k = 0; k < 2; k++) {
    tgStepInfo info;
    tgGradCheck check;
    tgGradCheckOptions o = tg_grad_check_default();
    double h = k == 0 ? 4e-3 : 8e-3, angle = rate * h;
    o.h = h;
    tg_sim_reset(r.s);
    tg_sim_qvel(r.s)[0] = rate;
    run(&r, h, 1, &info);
    double turn = tgRe(tg_sim_qpos(r.s)[0]), d = length + tgRe(tg_sim_qpos(r.s)[1]);
    double w = tgRe(tg_sim_qvel(r.s)[0]), u = tgRe(tg_sim_qvel(r.s)[1]);
    check_close(length - d * cos(turn), 0, 1e-5);
    assert_int_equal(info.ncut, 0);   // 9 mm in 8 ms are the arc's, and no overlap
    assert_int_equal(info.nimpact, 0);
    check_close(d * sin(turn), length * angle, length * angle * angle * angle);
    // rates of the start's frame in that of the end, w = rate and u = rate^2 length h, are 1.5 angle^2 off
    check_close(w * d * cos(turn) + u * sin(turn), length * rate, 1.5 * length * rate * angle * angle);
    tg_sim_reset(r.s);
    tg_sim_qvel(r.s)[0] = rate;
    assert_int_equal(tg_grad_check_step(r.s, &o, &check), TG_OK);
    for (int b = 0; b < check.nblock; b++) check_true(check.block[b].pass, "%s: %g", check.block[b].name, check.block[b].error);
  }
  drop(&r);
}

// how high the lowest corner of two boxes is over the floor
static double lowest_corner(const tgModel *m, const tgPose *pose) {
  double low = INFINITY;
  for (int g = 1; g < 3; g++)
    for (int c = 0; c < 8; c++) {
      double z = tgRe(pose->geom_xpos[3 * g + 2]);
      for (int k = 0; k < 3; k++) z += (c >> k & 1 ? 1 : -1) * tgRe(m->geom_size[3 * g + k] * pose->geom_xmat[9 * g + 6 + k]);
      low = fmin(low, z);
    }
  return low;
}

typedef double (*Lowest)(const tgModel *m, const tgPose *pose);

// links on five joints anyhow, on a floor or up to 1 mm over it, that turn fast
static void throw_links(tgSim *s, tgtRandom *r, Lowest lowest) {
  tg_sim_reset(s);
  for (int d = 2; d < 5; d++) {
    double most = d == 3 ? 0.5 : 1.5;
    s->qpos[d] = tgt_uniform(r, -most, most);
    s->qvel[d] = tgt_uniform(r, 25, 60) * (tgt_uniform(r, 0, 1) < 0.5 ? -1 : 1);
  }
  for (int d = 0; d < 2; d++) s->qvel[d] = tgt_uniform(r, -6, 6);
  double above = tgt_uniform(r, -1e-3, 1e-3);
  tgi_kinematics(&s->m, s->qpos, &s->end);
  s->qpos[1] += fmax(above, 0) - lowest(&s->m, &s->end);
}

// Two boxes on hinges turn at up to 60 rad/s and touch a floor with other corners and edges at the end of a step than at its start. Nothing
// overlaps at the start, so nothing is an overlap of it; the derivatives of such steps are those of differences.
static void test_arcs(void **state) {
  (void)state;
  static const char *const links =
      "<mujoco><worldbody><geom type='%s' size='5 5 1' pos='0 0 %d' friction='.5'/>"
      "<body pos='0 0 .5'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
      "<joint type='hinge' axis='1 0 0'/><geom type='box' size='.03 .025 .15' density='1000' friction='.5'/>"
      "<body pos='0 0 -.15'><joint type='hinge' axis='0 -1 0'/>"
      "<geom type='box' size='.03 .02 .1' pos='0 0 -.1' density='1000' friction='.5'/></body></body></worldbody></mujoco>";
  const double h = 4e-3;
  for (int floor = 0; floor < 2; floor++) {
    char xml[1000];
    snprintf(xml, sizeof xml, links, floor == 0 ? "plane" : "box", -floor);
    Rig r = closing(xml, 0);
    tgSim *s = r.s;
    tgtRandom random = {.s = 77};
    int held = 0, checked = 0;
    for (int k = 0; k < 400; k++) {
      tgStepInfo info;
      tgtRandom same = random;
      throw_links(s, &random, lowest_corner);
      run(&r, h, 1, &info);
      if (info.nimpact > 0 || info.ncontact == 0) continue;   // after an impact a flow may start from where the one before ended in overlap
      check_true(info.ncut == 0, "throw %d: %d overlaps of the start", k, info.ncut);
      if (held++ % 4 != 0 || checked == 4) continue;
      tgGradCheck check;
      tgGradCheckOptions o = tg_grad_check_default();
      o.h = h;
      throw_links(s, &same, lowest_corner);
      assert_int_equal(tg_grad_check_step(s, &o, &check), TG_OK);
      for (int b = 0; b < check.nblock; b++)
        check_true(check.block[b].pass, "throw %d, %s: %g", k, check.block[b].name, check.block[b].error);
      checked++;
    }
    print_message("%d steps with contacts and no impact\n", held);
    assert_true(held > 10 && checked > 2);
    drop(&r);
  }
}

// the lowest end of three capsules
static double lowest_end(const tgModel *m, const tgPose *pose) {
  double low = INFINITY;
  for (int g = 1; g < 4; g++) {
    const tgReal *size = m->geom_size + 3 * g;
    low = fmin(low, tgRe(pose->geom_xpos[3 * g + 2] - size[0]) - fabs(tgRe(size[1] * pose->geom_xmat[9 * g + 8])));
  }
  return low;
}

static bool in_shares(const tgSim *s) {
  for (int k = 0; k < s->npart; k++)
    if (tgi_part_is_share(s, k)) return true;
  return false;
}

typedef struct Length { Rig *r; tgReal x[10], w[10]; } Length;   // a state of five joints, and what its step is weighed by

// what a step of x[0] leads to
static tgStatus of_length(void *ctx, const tgReal *x, tgReal *y) {
  Length *c = ctx;
  tgSim *s = c->r->s;
  tg_sim_reset(s);
  memcpy(s->qpos, c->x, 5 * sizeof *s->qpos);
  memcpy(s->qvel, c->x + 5, 5 * sizeof *s->qvel);
  TG_TRY(tg_sim_step_growing(s, tgRe(x[0]), NULL));
  y[0] = 0;
  for (int i = 0; i < 5; i++) y[0] += c->w[i] * s->qpos[i] + c->w[5 + i] * s->qvel[i];
  return TG_OK;
}

// the derivative of such a step in its length, and all else by the library's own check
static void check_shares(Rig *r, tgtRandom *random, double h) {
  static const char *const name = "opt_timestep";
  Length c = {.r = r};
  tgGradCheck check;
  tgGradCheckOptions o = tg_grad_check_default();
  tgReal x = h, y, a[10];
  tgError e = {0};
  tgGradInfo info;
  o.h = h;
  for (int i = 0; i < 5; i++) c.x[i] = r->s->qpos[i], c.x[5 + i] = r->s->qvel[i];
  assert_int_equal(tg_grad_check_step(r->s, &o, &check), TG_OK);
  for (int b = 0; b < check.nblock; b++) check_true(check.block[b].pass, "%s: %g", check.block[b].name, check.block[b].error);
  tgt_random_vector(random, 10, c.w);
  assert_int_equal(of_length(&c, &x, &y), TG_OK);
  tgParamGrad *p = tg_param_grad_create(r->m, &name, 1, NULL, &e);
  assert_int_equal(tg_sim_step_vjp(r->s, c.w, c.w + 5, a, a + 5, NULL, p, &info), TG_OK);
  tgtDeriv d = {.name = name, .nx = 1, .ny = 1, .map = of_length, .ctx = &c, .tol = 1e-5, .numeric = true, .step = 1e-3 * h};
  if (info.label == TG_GRAD_EXACT) tgt_check_jacobian(&d, &x, tg_param_grad_field(p, name, NULL, NULL));
  tg_param_grad_free(p);
}

// Links that turn so fast end in a floor by 9 to 23 mm where a flow keeps the length that it was to have, before an impact, after one, or
// without any. Made in shorter ones they come out at most 1 mm deep, and that is the map that the derivative is of.
static void test_shorter_flows(void **state) {
  (void)state;
  static const char *const links[2] = {
      "<body pos='0 0 .5'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
      "<joint type='hinge' axis='1 0 0'/><geom type='box' size='.03 .025 .15' density='1000' friction='.5'/>"
      "<body pos='0 0 -.15'><joint type='hinge' axis='0 -1 0'/>"
      "<geom type='box' size='.03 .02 .1' pos='0 0 -.1' density='1000' friction='.5'/></body></body>",
      "<body pos='0 0 .5'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
      "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/>"
      "<body pos='0 0 -.2'><joint type='hinge' axis='0 -1 0'/>"
      "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/>"
      "<body pos='0 0 -.2'><joint type='hinge' axis='0 -1 0'/>"
      "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/></body></body></body>"};
  const double h = 4e-3;
  int checked = 0, hit = 0;
  for (int k = 0; k < 2; k++) {
    char xml[1500];
    snprintf(xml, sizeof xml, "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.5'/>%s</worldbody></mujoco>", links[k]);
    Rig r = closing(xml, 0);
    tgSim *s = r.s;
    tgtRandom random = {.s = 77};
    Lowest lowest = k == 0 ? lowest_corner : lowest_end;
    for (int t = 0; t < tgt_cases(1600, 800); t++) {
      tgStepInfo info;
      tgtRandom same = random;
      throw_links(s, &random, lowest);
      run(&r, h, 1, &info);
      tgi_kinematics(&s->m, s->qpos, &s->end);
      double low = lowest(&s->m, &s->end);
      check_true(low > -1e-3, "links %d, throw %d: %g m", k, t, low);
      if (!in_shares(s)) continue;
      hit += info.nimpact > 0;
      throw_links(s, &same, lowest);
      if (checked++ % 8 == 0) check_shares(&r, &same, h);
    }
    drop(&r);
  }
  print_message("%d steps of shorter flows, %d with impacts\n", checked, hit);
  assert_true(checked > 6 && hit > 0);
}

// A box over a floor in a long step, whose bounds alone are in it: where nothing is pushed apart either, that is no overlap, and no edge.
static void test_shorter_flows_without_push(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  tgStepInfo info;
  tgGradInfo grad;
  tgReal w[12] = {1, 2, 3}, a[12];
  o.push_speed = 0;
  Rig r = rig_of_text("<mujoco><worldbody>" FLOOR "<body pos='0 0 .16'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
                      "</worldbody></mujoco>", "lcp", &o.of);
  run(&r, 0.04, 1, &info);
  assert_int_equal(r.s->npart, 1);
  check_close(tg_sim_qvel(r.s)[2], -9.81 * 0.04, 1e-12);
  assert_int_equal(tg_sim_step_vjp(r.s, w, w + 6, a, a + 6, NULL, NULL, &grad), TG_OK);
  check_true(grad.label == TG_GRAD_EXACT, "%s", grad.reason);
  drop(&r);
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
  int models = tgt_cases(MODELS, 24);
  tgtRandom r = {.s = 5};
  int guarded = 0, impacts = 0;
  double worst = 0;
  for (int k = 0; k < models; k++) {
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
  printf("%d of %d throws meet, %d guarded; worst gain %.3g\n", impacts, models * THROWS, guarded, worst);
  assert_true(impacts > models * THROWS / 2 && guarded > 100);
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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_overlap), cmocka_unit_test(test_overlap_of_one_push),
      cmocka_unit_test(test_left_after_the_step), cmocka_unit_test(test_push_energy),
      cmocka_unit_test(test_both_ends_of_a_range), cmocka_unit_test(test_limits_that_act),
      cmocka_unit_test(test_limits_at_an_edge),
      cmocka_unit_test(test_glides), cmocka_unit_test(test_arcs),
      cmocka_unit_test(test_shorter_flows), cmocka_unit_test(test_shorter_flows_without_push), cmocka_unit_test(test_flap),
      cmocka_unit_test(test_rest_and_lift),
      cmocka_unit_test(test_adjoint), cmocka_unit_test(test_shared), cmocka_unit_test(test_unsolved),
      cmocka_unit_test(test_rocking), cmocka_unit_test(test_burst), cmocka_unit_test(test_both_ends),
      cmocka_unit_test(test_impacts_gain_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
