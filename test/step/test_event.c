// test_event.c: the contact model `toi` against motions that are known: bounces whose energy stays, walls that nothing passes, cubes that
// come to rest where they have to, and no intersection at any time of any piece.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "math/quat.h"
#include "step/event.h"
#include "step/impulse_parts.h"
#include "step/judged.h"
#include "step/toi_rig.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/geometry.h"
#include "tangere/grad.h"
#include "tangere/param.h"
#include "tangere/step.h"
#include "tangere/toi.h"

static const double gap = 1e-6;

static void run(Rig *r, double h, int steps, Total *total) { run_judged(r, h, steps, 0, total); }

// ---- bounces ----

static const char *const ball = "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody>" FLOOR
                                "<body pos=\"0 0 .55\"><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody></mujoco>";

static double energy(const tgSim *s, double g) {
  double v2 = 0;
  for (int d = 0; d < 3; d++) v2 += tgRe(s->qvel[d]) * tgRe(s->qvel[d]);
  return 0.5 * v2 + g * tgRe(s->qpos[2]);
}

// forces are constant between impacts: each is exact
static void test_elastic_drop(void **state) {
  (void)state;
  Rig r = toi(ball, 1);
  Total total;
  double before = energy(r.s, 9.81);
  run(&r, 0.01, 600, &total);
  check_close(energy(r.s, 9.81), before, 1e-12);
  check_true(total.impacts == 10, "%d impacts", total.impacts);
  drop(&r);
}

static void test_comes_to_rest(void **state) {
  (void)state;
  Rig r = toi(ball, 0.5);
  Total total;
  run(&r, 0.01, 300, &total);
  check_close(r.s->qpos[2], 0.1 + gap, 1e-14);
  check_close(r.s->qvel[2], 0, 1e-14);
  check_true(total.impacts >= 5 && total.impacts < 14 && total.stalled == 0, "%d impacts", total.impacts);
  drop(&r);
}

static const char *const balls =
    "<mujoco><option gravity=\"0 0 0\"/><default><geom type=\"sphere\" size=\"0.1\" mass=\"1\" friction=\"0\"/></default><worldbody>"
    "<body><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body><body pos=\"0.5 0 0\"><joint type=\"slide\" axis=\"1 0 0\"/><geom/></body>"
    "</worldbody></mujoco>";

static void test_two_balls(void **state) {
  (void)state;
  for (int k = 0; k <= 4; k++) {
    double e = 0.25 * k;
    Rig r = toi(balls, e);
    Total total;
    r.s->qvel[0] = 2;
    run(&r, 0.04, 10, &total);
    assert_int_equal(total.impacts, 1);
    double t = (0.3 - gap) / 2, v0 = 1 - e, v1 = 1 + e;
    check_close(r.s->qvel[0], v0, 1e-13);
    check_close(r.s->qvel[1], v1, 1e-13);
    check_close(r.s->qpos[0], 2 * t + v0 * (0.4 - t), 1e-13);
    check_close(r.s->qpos[1], v1 * (0.4 - t), 1e-13);
    drop(&r);
  }
}

#define SLIDES(motor)                                                                                                                    \
  "<mujoco><worldbody><geom type=\"plane\" size=\"5 5 1\" friction=\".1\"/><body pos=\"0 0 .5\"><joint axis=\"0 1 0\" damping=\".01\"/>" \
  "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .4 0 0\" mass=\"1\" friction=\".2\"/><body pos=\".4 0 0\">"                      \
  "<joint name=\"b\" axis=\"0 1 0\" stiffness=\"1\" frictionloss=\".05\"/><joint axis=\"1 0 0\"/><geom type=\"capsule\" size=\".02\" "   \
  "fromto=\"0 0 0 .3 .05 -.46\" mass=\"1\" friction=\".25\"/></body></body></worldbody><actuator>" motor "</actuator></mujoco>"

// A flow that is tried and completed later, when poses were looked at elsewhere, is the flow that is made at once, to the bit. Of motors
// whose force has a range nothing is left to later.
static void test_tried_flow(void **state) {
  (void)state;
  static const char *const scene[] = {SLIDES("<motor joint=\"b\"/>"), SLIDES("<motor joint=\"b\" forcerange=\"-1 1\"/>")};
  for (int k = 0; k < 2; k++) {
    enum { MOST = 12 };
    Rig r = toi(scene[k], 0);
    tgReal v[MOST], V[MOST];
    int nv = r.m->nv, compared = 0, left = 0;
    size_t bytes = (size_t)nv * sizeof *v;
    assert_true(nv <= MOST);
    r.s->qvel[0] = 1;
    r.s->ctrl[0] = 0.4;
    for (int t = 0; t < 60; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
      tgiEvents *e = tgi_events(r.s);
      if (!e->made || e->piece[0].nheld == 0) continue;
      tgReal h = e->s[0];
      assert_int_equal(tgi_piece_load(r.s, 0), TG_OK);
      assert_int_equal(tgi_impulse_held_flow(r.s, h, NULL, NULL), TG_OK);
      memcpy(v, r.s->end.vel, bytes);
      memcpy(V, r.s->rows->mean, bytes);
      assert_int_equal(tgi_impulse_try_flow(r.s, h, NULL), TG_OK);
      left += e->order.left;
      assert_memory_equal(r.s->rows->mean, V, bytes);
      tgi_kinematics(r.m, r.s->qpos, &r.s->trial);
      assert_int_equal(tgi_impulse_complete_flow(r.s), TG_OK);
      assert_memory_equal(r.s->end.vel, v, bytes);
      compared++;
    }
    check_true(compared > 30 && left == (k == 0 ? compared : 0), "scene %d: %d flows, %d left", k, compared, left);
    drop(&r);
  }
}

// A step of one flow has its derivative from the sim as the step left it, in all parameters too: put back from its record it is the same
// to the bit.
static void test_derivative_as_made(void **state) {
  (void)state;
  static const char *const scene[] = {
      FLOOR_AND_BALLS,
      "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .4\"><joint axis=\"0 1 0\" damping=\".1\"/><geom type=\"capsule\" size=\".05\" "
      "fromto=\"0 0 0 .3 0 -.1\" mass=\"1\"/><body pos=\".3 0 -.1\"><joint axis=\"0 1 0\" damping=\".1\"/><geom type=\"capsule\" "
      "size=\".04\" fromto=\"0 0 0 .3 0 -.1\" mass=\".5\"/></body></body></worldbody></mujoco>",
      SLIDES("<motor joint=\"b\"/>")};   // with friction, a spring, dry friction and a motor
  for (int k = 0; k < 3; k++) {
    enum { MOST = 12, SIZE = 4096 };
    static tgReal by[2][SIZE];
    Rig r = toi(scene[k], 0);
    tgReal gq[MOST], gv[MOST], out[2][2 * MOST], J[2][2 * MOST * (2 * MOST + 1)];
    tgError error = {0};
    tgParamGrad *p = tg_param_grad_create(r.m, NULL, 0, NULL, &error);
    check_true(p != NULL, "%s", error.text);
    int nv = r.m->nv, compared = 0, held = 0, size = 0;
    tgReal *values = tg_param_grad_values(p, &size);
    assert_true(nv <= MOST && r.m->nu <= 1 && size > 0 && size <= SIZE);
    for (int d = 0; d < nv; d++) {
      gq[d] = 1 + 0.3 * d;
      gv[d] = 0.5 - 0.2 * d;
    }
    if (k == 2) {
      r.s->qvel[0] = 1;
      r.s->ctrl[0] = 0.4;
    }
    for (int t = 0; t < 120; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
      tgiEvents *e = tgi_events(r.s);
      size_t columns = (size_t)(2 * nv + r.m->nu);
      for (int i = 0; i < 2; i++) {
        e->loaded = false;
        e->made = e->made && i == 0;
        compared += e->made;
        held += e->made && e->piece[0].nheld > 0;
        if (t % 2 == 1) assert_int_equal(tg_sim_step_jacobian(r.s, J[i], NULL), TG_OK);
        tg_param_grad_clear(p);
        assert_int_equal(tg_sim_step_vjp(r.s, gq, gv, out[i], out[i] + nv, NULL, p, NULL), TG_OK);
        memcpy(by[i], values, (size_t)size * sizeof *values);
        if (t % 2 == 0) assert_int_equal(tg_sim_step_jacobian(r.s, J[i], NULL), TG_OK);
      }
      assert_memory_equal(out[0], out[1], 2 * (size_t)nv * sizeof **out);
      assert_memory_equal(by[0], by[1], (size_t)size * sizeof **by);
      assert_memory_equal(J[0], J[1], 2 * (size_t)nv * columns * sizeof **J);
    }
    check_true(compared > 60 && held > 30, "%d steps of one flow, %d with what is held", compared, held);
    tg_param_grad_free(p);
    drop(&r);
  }
}

// ---- what is thin and fast ----

static void test_wall(void **state) {
  (void)state;
  static const char *const wall =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom type=\"box\" size=\".0005 1 1\"/>"
      "<body pos=\"-.7 0 0\"><freejoint/><geom size=\".05\" mass=\"1\"/></body></worldbody></mujoco>";
  static const char *const rod =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom type=\"box\" size=\".0005 .0005 .1\" pos=\".6 .6 0\"/>"
      "<body><joint axis=\"0 0 1\"/><geom type=\"capsule\" size=\".01\" fromto=\".05 0 0 1 0 0\" mass=\"1\"/></body></worldbody></mujoco>";
  static const char *const edge =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom type=\"box\" size=\".0005 1 1\"/>"
      "<body pos=\"-.7 0 0\" euler=\"0 0 45\"><freejoint/><geom type=\"box\" size=\".05 .05 .05\" mass=\"1\"/></body></worldbody></mujoco>";
  Total total;
  Rig r = toi(wall, 0.7);
  r.s->qvel[0] = 100;
  run_judged(&r, 0.01, 3, 40, &total);
  check_close(r.s->qvel[0], -70, 1e-12);
  check_true(total.impacts == 1 && tgRe(r.s->qpos[0]) < -0.05, "%d impacts, x %g", total.impacts, tgRe(r.s->qpos[0]));
  drop(&r);
  r = toi(edge, 0.7);
  r.s->qvel[0] = 100;
  run_judged(&r, 0.01, 3, 40, &total);
  check_close(r.s->qvel[0], -70, 1e-9);
  drop(&r);
  r = toi(rod, 0.5);
  r.s->qvel[0] = 200;
  run_judged(&r, 0.01, 1, 40, &total);
  check_close(r.s->qvel[0], -100, 1e-9);
  check_true(total.impacts == 1, "%d impacts", total.impacts);
  drop(&r);
}

// ---- friction ----

static void test_cubes(void **state) {
  (void)state;
  static const char *const cubes =
      "<mujoco><option gravity=\"0 0 -9\"/><default><geom type=\"box\" size=\".1 .1 .1\" friction=\".16\" mass=\"1\"/></default><worldbody>"
      "<geom size=\"2 1 .1\" pos=\"1 0 -.1\" mass=\"0\"/><body pos=\"0 0 .100001\"><freejoint/><geom/></body>"
      "<body pos=\".7 0 .100001\"><freejoint/><geom/></body></worldbody></mujoco>";
  Rig r = toi(cubes, 0);
  Total total;
  r.s->qvel[0] = 2;
  run_judged(&r, 0.01, 120, 40, &total);
  check_close(r.s->qpos[0], 0.722222, 4e-5);
  check_close(r.s->qpos[7], 0.922222, 4e-5);
  double apart = tgRe(r.s->qpos[7] - r.s->qpos[0]);
  check_true(apart > 0.2 + 0.5 * gap && apart < 0.2 + 2 * gap, "centres are %.9f apart", apart);
  for (int d = 0; d < r.s->m.nv; d++) check_close(r.s->qvel[d], 0, 1e-12);
  check_true(total.stalled == 0, "stalled %d", total.stalled);
  drop(&r);
}

static void test_stack(void **state) {
  (void)state;
  static const char *const stack =
      "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .11\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"1\"/></body>"
      "<body pos=\".02 .01 .32\" euler=\"0 0 20\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"1\"/></body>"
      "<body pos=\"0 0 .52\"><freejoint/><geom type=\"box\" size=\".08 .08 .05\" mass=\"1\"/></body></worldbody></mujoco>";
  Rig r = toi(stack, 0.2);
  Total total;
  run_judged(&r, 0.01, 120, 4, &total);
  for (int d = 0; d < r.s->m.nv; d++) check_close(r.s->qvel[d], 0, 1e-9);
  tgReal q[21];
  memcpy(q, r.s->qpos, sizeof q);
  run(&r, 0.01, 100, &total);
  for (int i = 0; i < 21; i++) check_close(r.s->qpos[i], q[i], 1e-9);
  check_true(total.impacts == 0 && total.stalled == 0, "%d impacts, %d stalled at rest", total.impacts, total.stalled);
  drop(&r);
}

// Tilted boxes that fall into a pile: faces, corners and edges meet, some pairs with several of them at a time.
static void test_pile(void **state) {
  (void)state;
  tgtRandom rnd = {.s = 4};
  char xml[4000] = "<mujoco><worldbody>" FLOOR;
  for (int i = 0; i < 12; i++) {
    size_t used = strlen(xml);
    snprintf(xml + used, sizeof xml - used,
             "<body pos=\"%g %g %g\" euler=\"%g %g %g\"><freejoint/>"
             "<geom type=\"box\" size=\".1 .1 .1\" mass=\"1\" friction=\".5\"/></body>",
             0.23 * (i % 2) + tgt_uniform(&rnd, -0.01, 0.01), 0.23 * (i / 2 % 2) + tgt_uniform(&rnd, -0.01, 0.01), 0.12 + 0.24 * (i / 4),
             tgt_uniform(&rnd, -3, 3), tgt_uniform(&rnd, -3, 3), tgt_uniform(&rnd, -3, 3));
  }
  strcat(xml, "</worldbody></mujoco>");
  for (int k = 0; k < 2; k++) {
    Rig r = toi(xml, 0.3 * k);
    Total total;
    run_judged(&r, 0.005, 70, 2, &total);
    check_true(total.stalled == 0 && total.least > 0, "%d stalled, least gap %g", total.stalled, total.least);
    drop(&r);
  }
}

// a box that falls on an edge, rocks and comes to rest; energy never rises
static void test_tumble(void **state) {
  (void)state;
  static const char *const box = "<mujoco><worldbody>" FLOOR
                                 "<body pos=\"0 0 .3\" euler=\"20 30 10\"><freejoint/>"
                                 "<geom type=\"box\" size=\".1 .15 .05\" mass=\"1\"/></body>"
                                 "</worldbody></mujoco>";
  Rig r = toi(box, 0.3);
  Total total;
  run_judged(&r, 0.01, 200, 40, &total);
  for (int d = 0; d < r.s->m.nv; d++) check_close(r.s->qvel[d], 0, 1e-10);
  check_true(total.impacts > 3 && total.stalled == 0, "%d impacts, %d stalled", total.impacts, total.stalled);
  drop(&r);
}

// the lowest point of a cylinder on a free joint
static double drum_height(const double *q, double r, double half) {
  double up = 1 - 2 * (q[4] * q[4] + q[5] * q[5]);
  return q[2] - r * sqrt(fmax(0, 1 - up * up)) - half * fabs(up);
}

#define DRUM "<freejoint/><geom type=\"cylinder\" size=\".1 .06\" mass=\"1\"/></body>"
static const char *const drums[] = {
    "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .3\" euler=\"20 30 10\">" DRUM "</worldbody></mujoco>",
    "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .15\" euler=\"88 0 0\">" DRUM "</worldbody></mujoco>",
    "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .09\" euler=\"5 3 1\">" DRUM "<body pos=\".03 0 .27\" euler=\"8 0 10\">" DRUM
    "</worldbody></mujoco>"};

// A drum that falls, rocks round its rim and lies flat, one that rolls, and one on another: nothing is below the floor at any time.
static void test_drums(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    Rig r = toi(drums[k], 0.3);
    Total total = {0};
    Poses p = {0};
    int nq = r.s->m.nq, impacts = 0, stalled = 0;
    if (k == 1) r.s->qvel[0] = 1;
    for (int t = 0; t < 150; t++) {
      run(&r, 0.01, 1, &total);
      impacts += total.impacts;
      stalled += total.stalled;
      add_poses(&r, 10, &p);
    }
    for (int i = 0; i < p.n; i++)
      for (int b = 0; b < nq; b += 7) check_true(drum_height(p.q + i * nq + b, 0.1, 0.06) > 0, "scene %d: %g over the floor at %d of %d", k,
                                                   drum_height(p.q + i * nq + b, 0.1, 0.06), i, p.n);
    check_true(tg_intersections_of_motion(r.m, p.q, p.n - 1) == 0, "scene %d: drums intersect", k);
    check_true(impacts > 5 && stalled == 0, "scene %d: %d impacts, %d stalled", k, impacts, stalled);
    for (int d = 0; k == 0 && d < 6; d++) check_close(r.s->qvel[d], 0, 1e-9);
    free(p.q);
    drop(&r);
  }
}

// A contact that is first listed nearer than bodies meet does so there and then, at a share of the clearance that is no level (2^-j). The
// derivative is at an edge by that, whichever flow of the step came to the contact: so many are told at least.
static int check_appears(const tgSim *s) {
  const tgiEvents *e = tgi_events(s);
  int appear = 0, level;
  for (int k = 0; k < e->n; k++) {
    const tgiPiece *p = &e->piece[k];
    bool met = p->kind == TGI_PIECE_MEETING || p->kind == TGI_PIECE_CUT;
    appear += met && frexp(p->share, &level) != 0.5;
  }
  check_true(s->nedge >= appear, "%d contacts appear as they meet, and %d edges are told", appear, s->nedge);
  return appear;
}

static void test_appears(void **state) {
  (void)state;
  int appears = 0;
  for (int k = 0; k < 3; k++) {
    Rig r = toi(drums[k], 0.3);
    Total total = {0};
    if (k == 1) r.s->qvel[0] = 1;
    for (int t = 0; t < 100; t++) {
      run(&r, 0.015, 1, &total);
      appears += check_appears(r.s);
    }
    drop(&r);
  }
  check_true(appears > 0, "no contact of the drums appears as it meets");
}

// ---- energy ----

// energy never rises by more than `rise` in a step
static void run_falling(Rig *r, double h, int steps, double rise, Total *total) {
  Total sum = {.least = INFINITY};
  for (int t = 0; t < steps; t++) {
    Total one;
    double before = whole_energy(r->s), after;
    run(r, h, 1, &one);
    after = whole_energy(r->s);
    check_true(after <= before + rise, "step %d: energy rises by %g J from %g J", t, after - before, before);
    sum.impacts += one.impacts;
    sum.stalled += one.stalled;
    sum.least = fmin(sum.least, one.least);
  }
  *total = sum;
}

// Legs that fall, slide and roll under springs: what is held moves on the curves of nine joints, and meets as often in steps of 5 ms as in
// those of 1 ms.
static void test_cheetah(void **state) {
  (void)state;
  Total total[2];
  for (int k = 0; k < 2; k++) {
    tgError e = {0};
    Rig r = rig_of_model(tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, &e), "toi", NULL, &e);
    run_falling(&r, k == 0 ? 0.005 : 0.001, k == 0 ? 200 : 1000, 1e-9, &total[k]);
    check_true(total[k].stalled == 0, "%d stalled", total[k].stalled);
    drop(&r);
  }
  check_true(total[0].impacts > 2 && total[0].impacts == total[1].impacts, "%d, %d impacts", total[0].impacts, total[1].impacts);
}

// A ball flies into a corner, meeting its floor and both walls at the same time. Without friction their impulses do not move each other:
// three impacts, one after the other, and the derivative is that of each alone, x' = W - e v (h - (W - x)/v), from either side. With
// friction each of them turns the ball and moves it along the others: one impact of all three, whose order would matter.
static void test_corner(void **state) {
  (void)state;
  static const char *const into = "<mujoco><option gravity=\"0 0 0\"/><default><geom friction=\"%s\"/></default><worldbody>"
                                  "<geom type=\"plane\" size=\"5 5 1\"/>"
                                  "<geom type=\"plane\" size=\"5 5 1\" pos=\"1 0 0\" euler=\"0 -90 0\"/>"
                                  "<geom type=\"plane\" size=\"5 5 1\" pos=\"0 1 0\" euler=\"90 0 0\"/>"
                                  "<body><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody></mujoco>";
  const double e = 0.5, h = 0.1, start[3] = {0.85, 0.85, 0.15}, v[3] = {1, 1, -1};
  for (int rough = 0; rough < 2; rough++) {
    char text[800];
    tgReal D[144];
    tgStepInfo info;
    tgGradInfo label;
    snprintf(text, sizeof text, into, rough ? ".3" : "0");
    Rig r = toi(text, e);
    for (int i = 0; i < 3; i++) {
      r.s->qpos[i] = start[i];
      r.s->qvel[i] = v[i];
    }
    assert_int_equal(tg_sim_step(r.s, h, &info), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, &label), TG_OK);
    check_true(info.nimpact == (rough ? 1 : 3), "%d impacts", info.nimpact);
    check_true((label.label == TG_GRAD_EXACT) == !rough, "%d: %s", label.label, label.reason);
    for (int i = 0; i < 3 && !rough; i++) {
      double met = (i < 2 ? 0.9 : 0.1) - v[i] * gap;
      check_close(r.s->qpos[i], met - e * v[i] * (h - (met - start[i]) / v[i]), 1e-12);
      for (int k = 0; k < 12; k++) {
        check_close(D[12 * i + k], k == i ? -e : k == i + 6 ? -e * h : 0, 1e-12);
        check_close(D[12 * (i + 6) + k], k == i + 6 ? -e : 0, 1e-12);
      }
    }
    drop(&r);
  }
}

// A rod with a limb lands flat without friction or bounce, at rest but for its fall: its ends meet at the same time, and their impulses
// move each other. Either end may be said to be first, as both come to the same velocity; how far the limb swings, and how fast, has a
// derivative of either side, and that told is the one of states in which the end that went first meets first. Bare and sliding on friction
// the rod has the same derivative from both sides.
typedef struct Rod { const char *limb, *friction; double bounces, slides; int nv; bool kink, turn; } Rod;

static void land_flat(const Rod *rod, tgReal y[8], tgReal *D, const double *moved, tgGradInfo *label) {
  char xml[900];
  snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 -9.81\"/><default><geom friction=\"%s\"/></default><worldbody>"
           "<geom type=\"plane\" size=\"5 5 1\"/><body pos=\"0 0 .0541\"><joint type=\"slide\" axis=\"1 0 0\"/>"
           "<joint type=\"slide\" axis=\"0 0 1\"/><joint axis=\"0 1 0\"/>"
           "<geom type=\"capsule\" size=\".05\" fromto=\"-.3 0 0 .3 0 0\" mass=\"1\"/>%s</body></worldbody></mujoco>",
           rod->friction, rod->limb);
  Rig r = toi(xml, rod->bounces);
  int nv = r.m->nv;
  r.s->qvel[0] = rod->slides;
  r.s->qvel[1] = -1;
  for (int d = 0; d < nv && moved != NULL; d++) {
    r.s->qpos[d] += moved[d];
    r.s->qvel[d] += moved[nv + d];
  }
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  if (D != NULL) assert_int_equal(tg_sim_step_jacobian(r.s, D, label), TG_OK);
  for (int d = 0; d < nv; d++) {
    y[d] = r.s->qpos[d];
    y[nv + d] = r.s->qvel[d];
  }
  drop(&r);
}

#define LIMB \
  "<body pos=\".1 0 .06\"><joint axis=\"0 1 0\"/><geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .2 0 .3\" mass=\"1\" " \
  "contype=\"0\" conaffinity=\"0\"/></body>"

// Where it bounces, both ends have one impact, whose derivative is that of neither side: surrogate.
static void test_in_turn(void **state) {
  (void)state;
  static const Rod rod[] = {{LIMB, "0", 0, 0, 4, true, true}, {"", "0", 0, 0, 3, false, true}, {"", ".3", 0, 1, 3, false, true},
                            {"", "0", 0.5, 0, 3, true, false}, {LIMB, ".9", 0, 0, 4, true, true}};
  const double eps = 1e-6;
  for (int k = 0; k < 5; k++) {
    int n = 2 * rod[k].nv;
    double kink = 0, off = 0;
    tgReal y[3][8], D[64];
    tgGradInfo label;
    land_flat(&rod[k], y[0], D, NULL, &label);
    check_true(label.label == (rod[k].turn ? TG_GRAD_ONE_SIDED : TG_GRAD_SURROGATE) && strstr(label.reason, "same time") != NULL,
               "rod %d: label %d, %s", k, label.label, label.reason);
    for (int c = 0; c < n; c++) {
      double side[2][8], miss[2] = {0};
      for (int i = 0; i < 2; i++) {
        for (int far = 1; far < 3; far++) {
          double moved[8] = {0};
          moved[c] = (i == 0 ? -far : far) * eps;
          land_flat(&rod[k], y[far], NULL, moved, NULL);
        }
        for (int d = 0; d < n; d++) {
          side[i][d] = tgRe(4 * (y[1][d] - y[0][d]) - (y[2][d] - y[0][d])) / (i == 0 ? -2 * eps : 2 * eps);
          miss[i] = fmax(miss[i], fabs(side[i][d] - tgRe(D[n * d + c])));
        }
      }
      for (int d = 0; d < n; d++) kink = fmax(kink, fabs(side[1][d] - side[0][d]));
      off = fmax(off, fmin(miss[0], miss[1]));
    }
    print_message("rod %d: off by %.2g of either side, which differ by %.2g\n", k, off, kink);
    check_true(rod[k].turn == (off < 2e-5) && (rod[k].kink ? kink > 0.5 : kink < 2e-5), "rod %d: off by %g, sides differ by %g", k, off,
               kink);
  }
}

// What one problem of a piece takes from the other changes nothing: the bits of a step that makes everything anew.
static void test_shared(void **state) {
  (void)state;
  Rig r[2] = {toi(FLOOR_AND_BALLS, 0.5), toi(FLOOR_AND_BALLS, 0.5)};
  int impacts = 0;
  r[1].s->nothing_shared = true;
  for (int t = 0; t < 60; t++) {
    Total total;
    for (int k = 0; k < 2; k++) {
      run(&r[k], 0.01, 1, &total);
      impacts += total.impacts;
    }
    assert_memory_equal(r[0].s->end.q, r[1].s->end.q, (size_t)r[0].s->m.nq * sizeof(tgReal));
    assert_memory_equal(r[0].s->end.vel, r[1].s->end.vel, (size_t)r[0].s->m.nv * sizeof(tgReal));
  }
  check_true(impacts > 10, "%d impacts", impacts);
  for (int k = 0; k < 2; k++) drop(&r[k]);
}

// an arm whose tip drags over the floor, the elbow above the shoulder: held gaps close by the joints' own curvature
static void test_drag(void **state) {
  (void)state;
  static const char *const arm =
      "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody>" FLOOR "<body pos=\"0 0 .3\"><joint axis=\"0 1 0\"/>"
      "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .4 0 .2\" mass=\"1\"/><body pos=\".4 0 .2\"><joint axis=\"0 1 0\"/>"
      "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .3 0 -.4\" mass=\"1\"/></body></body></worldbody></mujoco>";
  Rig r = toi(arm, 0);
  Total total;
  r.s->qvel[0] = 6;
  r.s->qvel[1] = -6;
  run_falling(&r, 0.01, 60, 1e-9, &total);
  check_true(total.impacts == 1, "%d impacts", total.impacts);
  check_true(total.least > 0 && total.stalled == 0, "least gap %g, stalled %d", total.least, total.stalled);
  drop(&r);
}

// A plate on a cam that turns fast and comes to the end of its range in a five-hundredth of the step: until then flows are less than a
// thousandth of the step, as the held gap would close in longer ones; after that the plate flies freely. Flows grow again: as many as the
// rest is long of those before are more than a step may have.
static void test_cam_stops(void **state) {
  (void)state;
  static const double offset = 0.1, rate = 15000, end = 0.3, h = 0.01, g = 9.81;
  static const char *const cam =
      "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 -9.81\"/><default><geom friction=\"0\" condim=\"1\"/></default><worldbody>"
      "<body><joint axis=\"0 -1 0\" limited=\"true\" range=\"-1 .3\"/><geom size=\".05\" pos=\"0 0 -.1\" mass=\"1000\"/></body>"
      "<body pos=\"0 0 -.029999\"><joint type=\"slide\" axis=\"0 0 1\"/><geom type=\"box\" size=\".2 .2 .02\" mass=\".001\"/></body>"
      "</worldbody></mujoco>";
  Rig r = toi(cam, 0);
  Total total;
  r.s->qvel[0] = rate;
  run(&r, h, 1, &total);
  // the heavy cam keeps its rate; the plate leaves with the speed that it has at the end of the range
  double left = h - end / rate, v = offset * rate * sin(end), z = offset * (1 - cos(end)) + v * left - 0.5 * g * left * left;
  check_true(total.stalled == 0 && total.impacts == 1, "%d stalled, %d impacts", total.stalled, total.impacts);
  check_true(r.s->npart > 8 && r.s->npart < 80, "%d pieces", r.s->npart);
  check_close(r.s->qvel[1], v - g * left, 2e-3 * v);
  check_close(r.s->qpos[1], z, 2e-3 * z);
  drop(&r);
}

// A ball lands, by constant forces, while a mass on a spring, which has no geom, comes to the end of its range at about that time: the flow
// up to the landing, with forces of its own middle, is there before the ball lands where the flow of the whole step is not.
static void test_range_beside(void **state) {
  (void)state;
  enum { ENDS = 31 };
  for (int i = 0; i < ENDS; i++) {
    double end = 0.00481 + 6e-5 * i / (ENDS - 1), most = -INFINITY;
    char xml[1000];
    Total total;
    snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody>" FLOOR
             "<body pos=\"0 0 .105\"><freejoint/><geom size=\".1\" mass=\"1\"/></body><body pos=\"2 0 3\">"
             "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\".1 .1 .1\"/><joint type=\"slide\" axis=\"1 0 0\" stiffness=\"1000\" "
             "limited=\"true\" range=\"-1 %.12g\"/></body></worldbody></mujoco>", end);
    Rig r = toi(xml, 0);
    r.s->qvel[2] = -1;
    r.s->qvel[6] = 1;
    run(&r, 0.01, 1, &total);
    for (int k = 0; k < r.s->npart; k++) most = fmax(most, tgRe(tgi_piece_q(r.s, k)[7]));
    check_true(most < end && total.impacts == 2, "end %g: %g beyond it, %d impacts", end, most - end, total.impacts);
    drop(&r);
  }
}

// bodies that meet at the widest gap there is
static void test_wide_gap(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("toi", "gap=1e-3");
  Rig r = rig_of_text(ball, "toi", &o.of);
  Total total;
  run(&r, 0.01, 100, &total);
  check_close(r.s->qpos[2], 0.1 + 1e-3, 1e-12);
  check_true(total.impacts == 1 && total.stalled == 0, "%d impacts, %d stalled", total.impacts, total.stalled);
  drop(&r);
}

// a pendulum between limits, a ball joint that runs into its own, bouncing off nothing
static void test_limits(void **state) {
  (void)state;
  static const char *const joints =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><body><joint axis=\"0 1 0\" limited=\"true\" range=\"-30 30\"/>"
      "<geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/></body><body pos=\"1 0 0\">"
      "<joint type=\"ball\" limited=\"true\" range=\"0 40\"/>"
      "<geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/></body></worldbody></mujoco>";
  Rig r = toi(joints, 0);
  Total total;
  r.s->qvel[0] = 3;
  r.s->qvel[2] = 5;
  run(&r, 0.05, 10, &total);
  check_close(r.s->qpos[0], TG_PI / 6 - 1e-9, 1e-14);
  check_close(2 * atan2(tgRe(r.s->qpos[3]), tgRe(r.s->qpos[1])), TG_PI / 4.5 - 1e-6, 1e-13);
  assert_int_equal(total.impacts, 2);
  drop(&r);
}

// A body of equal moments comes to the end of its ball joint's range, loses what turns it farther and goes round along it, by geodesics of
// the sphere of radius 2 sin(a/2) that rotations by the angle a are: at its speed, however long the step.
static void test_round_a_range(void **state) {
  (void)state;
  static const double a = 0.1, speed = 0.8, T = 0.1;
  static const char *const joint =
      "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 0\"/><worldbody><body><joint type=\"ball\" limited=\"true\" "
      "range=\"0 .1\"/><geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/></body></worldbody></mujoco>";
  for (int parts = 25; parts <= 100; parts *= 2) {
    Rig r = toi(joint, 0);
    Total total;
    tgReal *q = r.s->qpos, w[3];
    double start = a - 2e-6;
    q[0] = cos(start / 2);
    q[1] = sin(start / 2);
    r.s->qvel[0] = 0.1;
    r.s->qvel[2] = speed;
    run(&r, T / parts, parts, &total);
    check_true(total.stalled == 0 && total.impacts == 1, "%d steps: %d stalled, %d impacts", parts, total.stalled, total.impacts);
    tgi_quat_log(w, q);
    double angle = tgRe(tgi_v3_norm(w)), round = atan2(hypot(tgRe(w[1]), tgRe(w[2])), tgRe(w[0])), h = T / parts;
    check_true(a - angle > 0 && a - angle < 1.01e-6, "%d steps: %g inside", parts, a - angle);
    check_close(round, speed * T / (2 * sin(a / 2)), 20 * h * h);
    check_close(tgRe(tgi_v3_norm(r.s->qvel)), speed, 1e-5);   // it has turned by 8e-5 when it comes to the end
    drop(&r);
  }
}

// ---- refused ----

static void test_refused(void **state) {
  (void)state;
  tgAnyContactOptions o;
  tgError e = {0};
  assert_int_equal(tg_contact_default("toi", &o.of, sizeof o), TG_OK);
  static const char *const name[] = {"bounce_gradient", "symplectic", "contact_rule", "erp"};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(tg_contact_set(&o.of, name[i], i < 2 ? "true" : i == 2 ? "closing" : ".1", &e), TG_ERR_ARG);
    check_true(strstr(e.text, name[i]) != NULL, "%s", e.text);
  }
  assert_int_equal(tg_contact_set(&o.of, "gap", "-1", &e), TG_OK);
  Rig r = toi(ball, 1);
  assert_null(tg_contact_create(r.m, "toi", &o.of, &e));
  check_true(strstr(e.text, "gap") != NULL, "%s", e.text);
  r.s->qpos[2] = 0.1 + 1e-11;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_INVALID);
  check_true(strstr(tg_sim_error(r.s)->text, "floor") != NULL, "%s", tg_sim_error(r.s)->text);
  r.s->qpos[2] = 0.05;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_INVALID);
  check_true(strstr(tg_sim_error(r.s)->text, "overlap") != NULL, "%s", tg_sim_error(r.s)->text);
  drop(&r);
}

// What is no number any more is told with its body, the piece of the step and when that began; the state stays.
static void test_not_finite(void **state) {
  (void)state;
  static const char *const scene = "<mujoco><option gravity=\"0 0 0\"/><worldbody><geom name=\"floor\" type=\"plane\" size=\"1 1 1\"/>"
                                   "<body name=\"top\" pos=\"0 0 3\"><freejoint/><geom type=\"box\" size=\".1 .2 .3\" mass=\"1\"/></body>"
                                   "<body name=\"ball\" pos=\"2 0 .2\"><joint type=\"slide\" axis=\"0 0 1\"/><geom size=\".1\"/></body>"
                                   "</worldbody></mujoco>";
  Rig r = toi(scene, 1);
  r.s->qvel[3] = r.s->qvel[4] = 1e200;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_NOT_FINITE);
  const char *text = tg_sim_error(r.s)->text;
  check_true(strstr(text, "Piece 1 of the step, from 0 s on") != NULL && strstr(text, "'top'") != NULL, "%s", text);
  assert_true(tgRe(r.s->qvel[3]) == 1e200 && tgRe(r.s->qpos[2]) == 3);
  tg_sim_reset(r.s);
  int rows, cols;
  tgReal *e = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows; i++) e[i] = 1e308;
  r.s->qvel[6] = -20;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_NOT_FINITE);   // the ball is no number after it bounces, which is the second piece
  check_true(strstr(text, "Piece 2 of the step, from 0.00499995 s on") != NULL && strstr(text, "'ball'") != NULL, "%s", text);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elastic_drop), cmocka_unit_test(test_comes_to_rest), cmocka_unit_test(test_two_balls),
      cmocka_unit_test(test_tried_flow), cmocka_unit_test(test_derivative_as_made), cmocka_unit_test(test_wall),
      cmocka_unit_test(test_cubes), cmocka_unit_test(test_stack), cmocka_unit_test(test_tumble),
      cmocka_unit_test(test_drums), cmocka_unit_test(test_appears),
      cmocka_unit_test(test_pile), cmocka_unit_test(test_shared), cmocka_unit_test(test_drag),
      cmocka_unit_test(test_cheetah), cmocka_unit_test(test_corner), cmocka_unit_test(test_in_turn),
      cmocka_unit_test(test_cam_stops), cmocka_unit_test(test_range_beside),
      cmocka_unit_test(test_wide_gap), cmocka_unit_test(test_limits), cmocka_unit_test(test_round_a_range),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_not_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
