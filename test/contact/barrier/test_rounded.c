// test_rounded.c: balls and capsules as cores with a radius: what smooth shapes do, which inscribed triangles do not.
#include <stdio.h>
#include <string.h>

#include "coll/surfaces/oval.h"
#include "kin/kinematics.h"
#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/barrier.h"

static const char ball_on_floor[] =
    "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' friction='.5'/>"
    "<body pos='0 0 .06'><freejoint/><geom type='sphere' size='.05' mass='1' friction='.5'/></body></worldbody></mujoco>";

static void steps(Rig *r, double h, int n) {
  for (int k = 0; k < n; k++) {
    tgStatus status = tg_sim_step_growing(r->s, h, NULL);
    check_true(status == TG_OK, "step %d: %s", k, r->s->error.text);
  }
}

// height at which the force 12 weight (z^-3/2 + z^-2) carries f
static double resting(double weight, double f) {
  double low = 0, high = 1;
  for (int i = 0; i < 200; i++) {
    double z = (low + high) / 2;
    if (12 * weight * (pow(z, -1.5) + pow(z, -2)) > f) low = z;
    else high = z;
  }
  return low;
}

// A ball rests where the closed form says, and rolls with the loss of the time step alone, which an ideal rolling ball has too: .4863 of
// .5 m/s are left after 1 s of 1 ms. Inscribed triangles leave .28 to .36.                          [math/barrier Rounded primitives]
static void test_rolling(void **state) {
  (void)state;
  const double weights[] = {1e-6, 1e-8}, h = 1e-3, v = 0.5, radius = 0.05;
  for (int k = 0; k < 2; k++) {
    char settings[80];
    snprintf(settings, sizeof settings, "weight=%g geom_form=rounded", weights[k]);
    tgAnyContactOptions o = options_of("barrier", settings);
    Rig r = rig_of_text(ball_on_floor, "barrier", &o.of);
    double z = resting(weights[k], 9.81);
    tg_sim_qpos(r.s)[2] = radius + z;
    steps(&r, h, 10);
    check_close(tg_sim_qpos(r.s)[2] - radius, z, 1e-9 * z);
    tg_sim_qvel(r.s)[0] = v;
    tg_sim_qvel(r.s)[4] = v / radius;
    steps(&r, h, 1000);
    check_close(tg_sim_qvel(r.s)[0], 0.4863, 1e-4);
    check_close(tg_sim_qvel(r.s)[4] * radius, 0.4863, 1e-4);
    drop(&r);
  }
}

// A capsule that lies and turns about the normal is slowed by its two ends, each with half its weight: mu m g half/I; what rests, rests.
static void test_turning(void **state) {
  (void)state;
  static const char lying[] =
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='%s'/>"
      "<body pos='0 0 .05'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='.002 .02 .02'/>"
      "<geom type='capsule' fromto='-.2 0 0 .2 0 0' size='.05' friction='.5'/></body></worldbody></mujoco>";
  const char *const floor_[2] = {"plane' size='1 1 1' friction='.5", "box' size='1 1 .5' pos='0 0 -.5' friction='.5"};
  const double half = 0.2, h = 1e-3, w0 = 10, stop = 0.5 * 9.81 * half / 0.02;
  for (int k = 0; k < 2; k++) {
    char text[800];
    snprintf(text, sizeof text, lying, floor_[k]);
    tgAnyContactOptions o = options_of("barrier", "weight=1e-8 geom_form=rounded");
    Rig r = rig_of_text(text, "barrier", &o.of);
    tg_sim_qpos(r.s)[2] += k == 0 ? resting(1e-8, 9.81) : 1e-4;
    steps(&r, h, 20);
    check_close(tg_sim_qvel(r.s)[5], 0, k == 0 ? 1e-9 : 1e-6);   // the sides of a box are two triangles each
    tg_sim_qvel(r.s)[5] = w0;
    steps(&r, h, 100);
    check_close(tg_sim_qvel(r.s)[5], w0 - stop * 0.1, 0.02 * w0);
    steps(&r, h, 300);
    check_close(tg_sim_qvel(r.s)[5], 0, 1e-3);
    drop(&r);
  }
}

// A pair of geoms rests at the gap that is asked for, each of another mass, whatever its shapes and their meshes; what a face of a mesh
// carries is its share of the surface.
static void test_resting_gap(void **state) {
  (void)state;
  static const struct { const char *upper, *lower, *settings; double half, tol; } cases[] = {
      {"type='sphere' size='.05'", "type='plane' size='1 1 1'", "geom_form=rounded", .05, 1e-6},
      {"type='sphere' size='.05'", "type='box' size='.5 .5 .5' pos='.1 .2 -.5'", "geom_form=rounded", .05, .2},
      {"type='capsule' fromto='-.1 0 0 .1 0 0' size='.05'", "type='plane' size='1 1 1'", "geom_form=rounded", .05, 1e-6},
      {"type='capsule' fromto='-.1 0 0 .1 0 0' size='.05'", "type='box' size='.5 .5 .5' pos='.2 -.2 -.5'", "geom_form=rounded", .05, .2},
      // between the two triangles of a side both are felt
      {"type='capsule' fromto='-.1 0 0 .1 0 0' size='.05'", "type='box' size='.5 .5 .5' pos='0 0 -.5'", "geom_form=rounded", .05, .4},
      {"type='ellipsoid' size='.08 .06 .05'", "type='plane' size='1 1 1'", "geom_form=rounded", .05, 1e-6},
      {"type='ellipsoid' size='.08 .06 .05'", "type='box' size='.5 .5 .5' pos='.1 .2 -.5'", "geom_form=rounded", .05, .2},
      {"type='ellipsoid' size='.08 .06 .05'", "type='ellipsoid' size='.3 .2 .1' pos='0 0 -.1'", "geom_form=rounded", .05, 1e-6},
      {"type='box' size='.1 .1 .05'", "type='plane' size='1 1 1'", "geom_form=mesh", .05, .2},
      {"type='box' size='.1 .1 .05'", "type='box' size='.1 .1 .1' pos='0 0 -.1'", "geom_form=mesh", .05, .2},
      {"type='box' size='.1 .1 .05'", "type='box' size='.5 .5 .1' pos='.1 .2 -.1'", "geom_form=mesh", .05, .2},
      {"type='box' size='.1 .1 .05'", "type='box' size='.5 .5 .1' pos='.1 .2 -.1'", "long_range=off", .05, .2},
      {"type='box' size='.1 .1 .05'", "type='plane' size='1 1 1'", "far_strength=100", .05, .2},
      {"type='ellipsoid' size='.08 .06 .05'", "type='ellipsoid' size='.3 .2 .1' pos='0 0 -.1'", "far_strength=1000", .05, 1e-6},
      // sides stay where they are
      {"type='box' size='.1 .1 .05'", "type='plane' size='1 1 1'", "rounding=.02", .05, .2},
      {"type='box' size='.1 .1 .05'", "type='box' size='.5 .5 .1' pos='.1 .2 -.1'", "rounding=.02", .05, .2},
      {"type='cylinder' size='.1 .05'", "type='plane' size='1 1 1'", "rounding=.02", .05, .2},
      {"type='sphere' size='.05'", "type='box' size='.5 .5 .5' pos='.1 .2 -.5'", "rounding=.2", .05, .2},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int heavy = 0; heavy < 2; heavy++) {
      const double gap = 5e-4, h = 5e-3;
      char text[900], settings[120];
      snprintf(text, sizeof text,
               "<mujoco><option gravity='0 0 -9.80665'/><worldbody><geom %s/>"
               "<body pos='0 0 %g'><joint type='slide' axis='0 0 1' damping='%g'/>"
               "<geom %s mass='%g'/></body></worldbody></mujoco>", cases[k].lower, cases[k].half + 2 * gap, heavy ? 200.0 : 4.0,
               cases[k].upper, heavy ? 50.0 : 1.0);
      snprintf(settings, sizeof settings, "resting_gap=%g %s", gap, cases[k].settings);
      tgAnyContactOptions o = options_of("barrier", settings);
      Rig r = rig_of_text(text, "barrier", &o.of);
      steps(&r, h, 400);
      double at = tgRe(tg_sim_qpos(r.s)[0]) + 2 * gap;
      check_true(fabs(at - gap) <= cases[k].tol * gap, "%s on %s, %s: rests at %g", cases[k].upper, cases[k].lower, cases[k].settings, at);
      check_close(tg_contact_resting_gap(r.c), gap, 0);
      drop(&r);
    }
}

// Each body at its own gap, a thousandth of its diameter, where one weight for all lets a pellet of 2 g hover higher than it is wide.
static void test_resting_share(void **state) {
  (void)state;
  static const char scene[] =
      "<mujoco><option gravity='0 0 -9.80665'/><worldbody><geom type='plane' size='1 1 1'/>"
      "<body pos='0 0 .0502'><joint type='slide' axis='0 0 1' damping='8'/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='1 0 .0052'><joint type='slide' axis='0 0 1' damping='.05'/><geom type='sphere' size='.005' mass='.002'/></body>"
      "<body pos='2 0 .0504'><joint type='slide' axis='0 0 1' damping='60'/><geom type='box' size='.1 .1 .05' mass='5'/></body>"
      "</worldbody></mujoco>";
  static const double start[] = {2e-4, 2e-4, 4e-4}, size[] = {.1, .01, .3}, tol[] = {1e-3, 1e-3, .2};
  tgAnyContactOptions o = options_of("barrier", "resting_share=1e-3"), plain = options_of("barrier", "");
  Rig r = rig_of_text(scene, "barrier", &o.of), high = rig_of_text(scene, "barrier", &plain.of);
  steps(&r, 5e-3, 400);
  steps(&high, 5e-3, 400);
  for (int i = 0; i < 3; i++) {
    double gap = start[i] + tgRe(tg_sim_qpos(r.s)[i]);
    check_true(fabs(gap - 1e-3 * size[i]) <= tol[i] * 1e-3 * size[i], "body %d rests at %g", i, gap);
  }
  check_close(tg_contact_resting_gap(r.c), 1e-5, 1e-12);
  check_true(tgRe(tg_sim_qpos(high.s)[1]) > .01, "by one weight the pellet rests at %g", tgRe(tg_sim_qpos(high.s)[1]));
  drop(&r);
  drop(&high);
}

static void test_resting_refused(void **state) {
  (void)state;
  static const struct { const char *settings, *text; } cases[] = {
      {"resting_gap=1e-3 resting_share=1e-3", "both say how far apart bodies rest; give one"},
      {"resting_share=.1 long_range=off", "By contact option resting_share geom 1 of body 1 and geom 0"},
      {"resting_gap=.02 long_range=off", "By contact option resting_gap geom 1 of body 1 and geom 0"}};
  static const char scene[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
                              "<body pos='0 0 .3'><freejoint/><geom type='sphere' size='.2' mass='1'/></body></worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene.xml", scene, strlen(scene), NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tgAnyContactOptions o = options_of("barrier", cases[k].settings);
    assert_null(tg_contact_create(m, "barrier", &o.of, &e));
    check_true(strstr(e.text, cases[k].text) != NULL, "%s: '%s'", cases[k].settings, e.text);
  }
  tg_model_free(m);
  tg_desc_free(d);
}

// an ellipsoid with equal axes is a ball, among balls, capsules, a plane and triangles
static void test_ball_as_ellipsoid(void **state) {
  (void)state;
  static const char scene[] =
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' friction='.5'/>"
      "<geom type='box' size='.1 .1 .1' pos='.35 0 .1' friction='.5'/>"
      "<body pos='0 0 .052'><freejoint/><geom type='%s' size='.05 .05 .05' mass='1' friction='.5'/></body>"
      "<body pos='.12 .02 .042'><freejoint/><geom type='sphere' size='.04' mass='.5' friction='.5'/></body>"
      "<body pos='.05 .1 .052'><freejoint/><geom type='capsule' fromto='-.1 0 0 .1 0 0' size='.04' mass='.7' friction='.5'/></body>"
      "</worldbody></mujoco>";
  static const char *const kind[2] = {"sphere", "ellipsoid"};
  static const char *const settings[2] = {"weight=1e-7 hierarchy=brute", "weight=1e-2 long_range=off"};
  // brute, as the spheres of their leaves, from which clusters are blended, are not the same
  for (int k = 0; k < 2; k++) {
    double q[2][21];
    for (int shape = 0; shape < 2; shape++) {
      char text[1200];
      snprintf(text, sizeof text, scene, kind[shape]);
      tgAnyContactOptions o = options_of("barrier", settings[k]);
      Rig r = rig_of_text(text, "barrier", &o.of);
      tg_sim_qvel(r.s)[0] = 1;
      tg_sim_qvel(r.s)[5] = 3;
      steps(&r, 5e-3, 60);
      for (int i = 0; i < 21; i++) q[shape][i] = tgRe(tg_sim_qpos(r.s)[i]);
      drop(&r);
    }
    check_true(q[0][7] > 0.121 && q[0][0] > 0.01, "%s: nothing was hit", settings[k]);
    for (int i = 0; i < 21; i++) check_close(q[1][i], q[0][i], 1e-7);
  }
}

// eggs and discs fall into a box and come to lie over one another: every step ends, and none overlap
static void test_eggs(void **state) {
  (void)state;
  enum { EGGS = 8 };
  char text[4000] =
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' friction='.4'/>"
      "<geom type='box' size='.02 .15 .2' pos='.15 0 .2'/><geom type='box' size='.02 .15 .2' pos='-.15 0 .2'/>"
      "<geom type='box' size='.15 .02 .2' pos='0 .15 .2'/><geom type='box' size='.15 .02 .2' pos='0 -.15 .2'/>";
  size_t n = strlen(text);
  for (int k = 0; k < EGGS; k++)
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "<body pos='%g %g %g' euler='%d %d 0'><freejoint/>"
                          "<geom type='ellipsoid' size='%g %g %g' friction='.4' mass='.2'/></body>",
                          0.01 * (k % 3 - 1), 0.01 * (k % 2), 0.1 + 0.11 * k, 40 * k, 25 * k, 0.05, 0.035, k % 3 == 0 ? 0.008 : 0.03);
  snprintf(text + n, sizeof text - n, "</worldbody></mujoco>");
  tgAnyContactOptions o = options_of("barrier", "weight=1e-9");
  Rig r = rig_of_text(text, "barrier", &o.of);
  double least = INFINITY;
  for (int k = 0; k < 150; k++) {
    tgiOvalPart part[EGGS];
    steps(&r, 1e-2, 1);
    tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
    for (int e = 0; e < EGGS; e++) {
      int g = r.s->m.ngeom - EGGS + e;
      part[e] = (tgiOvalPart){.oval = true};
      for (int i = 0; i < 9; i++) {
        part[e].x[i] = tgRe(r.s->start.geom_xpos[3 * g + i % 3]);
        part[e].axes[i] = tgRe(r.s->start.geom_xmat[9 * g + 3 * (i % 3) + i / 3] * r.s->m.geom_size[3 * g + i / 3]);
      }
      for (int f = 0; f < e; f++) {
        double apart[3];
        least = fmin(least, tgi_oval_distance(&part[e], &part[f], apart));
      }
    }
  }
  check_true(least > 0 && least < 5e-3, "least gap %g", least);
  print_message("eggs in a box: least gap %.2g m\n", least);
  drop(&r);
}

static const char two_balls[] =
    "<mujoco><option gravity='0 0 0'/><worldbody>"
    "<body pos='0 0 0'><freejoint/><geom type='sphere' size='.05' mass='1' friction='0'/></body>"
    "<body pos='.3 0 0'><freejoint/><geom type='sphere' size='.05' mass='1' friction='0'/></body></worldbody></mujoco>";

// vy of the second ball, hit at the offset b by the first at 2 m/s
static double outcome(const char *settings, double b) {
  tgAnyContactOptions o = options_of("barrier", settings);
  Rig r = rig_of_text(two_balls, "barrier", &o.of);
  tg_sim_qpos(r.s)[1] = -b;
  tg_sim_qvel(r.s)[0] = 2;
  steps(&r, 5e-3, 60);
  double vy = tgRe(tg_sim_qvel(r.s)[7]);
  drop(&r);
  return vy;
}

enum { SHOTS = 81 };
typedef struct Shots { double vy[SHOTS], low, high; int turns; } Shots;

// offsets of 20 to 40 mm; slopes between neighbours and how often these turn round
static Shots shoot(const char *settings) {
  Shots s = {.low = INFINITY, .high = -INFINITY};
  double slope[SHOTS], db = 0.02 / (SHOTS - 1);
  for (int k = 0; k < SHOTS; k++) s.vy[k] = outcome(settings, 0.02 + k * db);
  for (int k = 1; k < SHOTS; k++) {
    slope[k] = (s.vy[k] - s.vy[k - 1]) / db;
    s.low = fmin(s.low, slope[k]);
    s.high = fmax(s.high, slope[k]);
  }
  for (int k = 3; k < SHOTS; k++) s.turns += (slope[k] - slope[k - 1]) * (slope[k - 1] - slope[k - 2]) < 0;
  return s;
}

// largest distance from the polynomial of degree 6 that fits best
static double off_fit(const double vy[SHOTS]) {
  enum { N = 7 };
  double A[N][N + 1] = {{0}}, basis[SHOTS][N], worst = 0;
  for (int k = 0; k < SHOTS; k++) {
    double x = 2.0 * k / (SHOTS - 1) - 1;
    for (int i = 0; i < N; i++) basis[k][i] = i < 2 ? (i == 0 ? 1 : x) : 2 * x * basis[k][i - 1] - basis[k][i - 2];
    for (int i = 0; i < N; i++) {
      for (int j = 0; j < N; j++) A[i][j] += basis[k][i] * basis[k][j];
      A[i][N] += basis[k][i] * vy[k];
    }
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double f = i != j ? A[j][i] / A[i][i] : 0;
      for (int c = 0; c <= N; c++) A[j][c] -= f * A[i][c];
    }
  for (int k = 0; k < SHOTS; k++) {
    double fit = 0;
    for (int i = 0; i < N; i++) fit += A[i][N] / A[i][i] * basis[k][i];
    worst = fmax(worst, fabs(vy[k] - fit));
  }
  return worst;
}

// the outcome of a collision is a smooth function of where it is hit, with the slope of balls; that of triangles is not
static void test_shots(void **state) {
  (void)state;
  Shots round = shoot("weight=1e-6 geom_form=rounded"), mesh = shoot("weight=1e-6 geom_form=mesh");
  print_message("slope of the outcome in the offset [1/s]: rounded %.2f..%.2f, turns %d; mesh %.1f..%.1f, turns %d\n", round.low,
                round.high, round.turns, mesh.low, mesh.high, mesh.turns);
  print_message("off a smooth fit: rounded %.1e, mesh %.1e m/s\n", off_fit(round.vy), off_fit(mesh.vy));
  assert_int_equal(round.turns, 0);
  assert_true(round.low > 7 && round.high < 12 && off_fit(round.vy) < 1e-5);
  assert_true(mesh.turns > 0 && mesh.low < 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rolling), cmocka_unit_test(test_turning), cmocka_unit_test(test_resting_gap),
                                     cmocka_unit_test(test_resting_share), cmocka_unit_test(test_resting_refused),
                                     cmocka_unit_test(test_ball_as_ellipsoid), cmocka_unit_test(test_eggs),
                                     cmocka_unit_test(test_shots)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
