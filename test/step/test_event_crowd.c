// test_event_crowd.c: many contacts that meet in one step of `toi`: bodies apart bounce each on its own, a row that is hit to and fro is a
// crowd or stays where it is, and what touches none of it moves on.
#include <math.h>
#include <stdio.h>

#include "step/event.h"
#include "step/judged.h"
#include "step/toi_rig.h"
#include "support/rig.h"
#include "tangere/step.h"

static const double gap = 1e-6;

// 40 balls that land in one step, each on its own: all bounce.
static void test_many_bounces(void **state) {
  (void)state;
  enum { BALLS = 40 };
  static char xml[12000];
  int at = sprintf(xml, "<mujoco><worldbody>" FLOOR);
  for (int i = 0; i < BALLS; i++)
    at += sprintf(xml + at, "<body pos=\"%g 0 %.17g\"><joint type=\"slide\" axis=\"0 0 1\"/><geom size=\".04\" mass=\"1\"/></body>",
                  0.1 * i - 2, 0.04 + 1e-3 * (1 + 0.1 * i));
  sprintf(xml + at, "</worldbody></mujoco>");
  Rig r = toi(xml, 1);
  Total total;
  for (int i = 0; i < BALLS; i++) r.s->qvel[i] = -1;
  run_judged(&r, 0.01, 1, 0, &total);
  assert_int_equal(total.impacts, BALLS);
  for (int i = 0; i < BALLS; i++) {
    // down by d, and up again what is left of the step
    double d = 1e-3 * (1 + 0.1 * i) - gap, v = sqrt(1 + 2 * 9.81 * d), t = (v - 1) / 9.81;
    check_close(r.s->qvel[i], v - 9.81 * (0.01 - t), 1e-12);
    check_close(r.s->qpos[i], -d + v * (0.01 - t) - 0.5 * 9.81 * (0.01 - t) * (0.01 - t), 1e-12);
  }
  drop(&r);
}

// A row of balls between two walls, 0.1 mm apart, along which a blow runs to and fro, more often than a step has pieces: the row becomes a
// crowd, which goes on. What falls beside it, and what lands after that, move on as if they were alone. Nothing overlaps.
static void test_crowd(void **state) {
  (void)state;
  enum { BALLS = 24 };
  static char xml[8000];
  int at = sprintf(xml, "<mujoco><worldbody>" FLOOR "<geom type=\"box\" size=\".05 1 .05\" pos=\"-.1001 0 1\"/>"
                                              "<geom type=\"box\" size=\".05 1 .05\" pos=\"%g 0 1\"/>", 0.1001 * BALLS);
  for (int i = 0; i < BALLS; i++)
    at += sprintf(xml + at, "<body name=\"b%d\" pos=\"%.17g 0 1\"><joint type=\"slide\" axis=\"1 0 0\"/>"
                            "<geom size=\".05\" mass=\"1\"/></body>", i, 0.1001 * i);
  for (int i = 0; i < 2; i++)
    at += sprintf(xml + at, "<body pos=\"%d 3 %g\"><joint type=\"slide\" axis=\"0 0 1\"/><geom size=\".05\" mass=\"1\"/></body>", i,
                  i == 0 ? 1 : 0.1);
  sprintf(xml + at, "</worldbody></mujoco>");
  Rig r = toi(xml, 1);
  const double h = 0.01;
  tgStepInfo info;
  tgGradInfo label;
  tgReal g[BALLS + 2] = {0}, dq[BALLS + 2], dv[BALLS + 2];
  r.s->qvel[0] = 20;
  r.s->qvel[BALLS + 1] = -6;
  assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
  check_true(info.nstalled == 0 && info.ncrowded > 0, "%d stalled, %d in a crowd of %d impacts in %d pieces", info.nstalled,
             info.ncrowded, info.nimpact, tgi_events(r.s)->n);
  check_close(r.s->qpos[BALLS], -0.5 * 9.81 * h * h, 1e-14);
  check_close(r.s->qvel[BALLS], -9.81 * h, 1e-13);
  double d = 0.05 - gap, v = sqrt(36 + 2 * 9.81 * d), t = (v - 6) / 9.81;
  check_true(t < h, "lands at %g", t);
  check_close(r.s->qpos[BALLS + 1], -d + v * (h - t) - 0.5 * 9.81 * (h - t) * (h - t), 1e-12);
  check_close(r.s->qvel[BALLS + 1], v - 9.81 * (h - t), 1e-11);
  double before = -0.0501, speed = 0;
  for (int i = 0; i < BALLS; i++) speed = fmax(speed, fabs(tgRe(r.s->qvel[i])));
  check_true(speed < 20, "the fastest at %g m/s", speed);
  for (int i = 0; i < BALLS; i++) {
    double x = tgRe(r.s->qpos[i]) + 0.1001 * i;
    check_true(x - before > (i > 0 ? 0.1 : 0.05), "ball %d at %g after %g", i, x, before);
    before = x;
  }
  check_true(0.1001 * BALLS - 0.05 - before > 0.05, "the last at %g", before);
  g[BALLS] = 1;
  assert_int_equal(tg_sim_step_vjp(r.s, g, g, dq, dv, NULL, NULL, &label), TG_OK);
  check_true(label.label <= TG_GRAD_ONE_SIDED, "%s", label.reason);
  check_close(dq[BALLS], 1, 1e-12);
  check_close(dv[BALLS], 1 + h, 1e-12);
  drop(&r);
}

// Ten such rows, each an island: more than can stall one by one before the step's pieces are used up. What has met nothing moves on.
static void test_stall_of_many(void **state) {
  (void)state;
  enum { ROWS = 10, BALLS = 8 };
  static char xml[16000];
  int at = sprintf(xml, "<mujoco><worldbody>");
  for (int k = 0; k < ROWS; k++) {
    for (int i = -1; i <= BALLS; i += BALLS + 1)
      at += sprintf(xml + at, "<geom type=\"box\" size=\".05 .05 .05\" pos=\"%.17g %d 1\"/>", 0.1001 * i, k);
    for (int i = 0; i < BALLS; i++)
      at += sprintf(xml + at, "<body pos=\"%.17g %d 1\"><joint type=\"slide\" axis=\"1 0 0\"/>"
                              "<geom size=\".05\" mass=\"1\"/></body>", 0.1001 * i, k);
  }
  sprintf(xml + at, "<body pos=\"0 -3 1\"><joint type=\"slide\" axis=\"0 0 1\"/><geom size=\".05\" mass=\"1\"/></body>"
                    "</worldbody></mujoco>");
  Rig r = toi(xml, 1);
  const double h = 0.01;
  tgStepInfo info;
  for (int k = 0; k < ROWS; k++) r.s->qvel[BALLS * k] = 20 + k;
  assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
  check_true(info.nstalled > 1 && info.nstalled < ROWS, "%d stalled in %d pieces", info.nstalled, tgi_events(r.s)->n);
  check_close(r.s->qpos[BALLS * ROWS], -0.5 * 9.81 * h * h, 1e-14);
  check_close(r.s->qvel[BALLS * ROWS], -9.81 * h, 1e-13);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_bounces), cmocka_unit_test(test_crowd), cmocka_unit_test(test_stall_of_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
