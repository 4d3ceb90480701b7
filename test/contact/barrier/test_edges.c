// test_edges.c: edges and corners with a radius: what a blow on an edge does, what stays apart, and what is refused.
#include <stdio.h>
#include <string.h>

#include "bench/clock.h"
#include "coll/surfaces/triangle.h"
#include "geom/tessellate.h"
#include "kin/kinematics.h"
#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/grad.h"

static void steps(Rig *r, double h, int n) {
  for (int k = 0; k < n; k++) {
    tgStatus status = tg_sim_step_growing(r->s, h, NULL);
    check_true(status == TG_OK, "step %d: %s", k, r->s->error.text);
  }
}

// ---- the outcome of a blow ----

// a box comes down with an edge on the edge of another that is fixed, both along y
static const char edges[] =
    "<mujoco><compiler angle='degree'/><option gravity='0 0 0'/><worldbody>"
    "<geom type='box' size='.05 .05 .05' euler='0 45 0' friction='0'/>"
    "<body pos='0 0 .148' euler='0 45 0'><freejoint/>"
    "<geom type='box' size='.05 .04 .05' mass='1' friction='0'/></body></worldbody></mujoco>";

enum { SHOTS = 40, RADII = 3 };   // none of the shots goes to the middle, from where a box may fall to either side
typedef struct Shots { double v[SHOTS], low, high, newton, seconds; int turns; } Shots;

// speed to the side after a blow at 1 m/s, b beside the middle
static Shots shoot(const char *settings, double most) {
  const double h = 5e-4;
  enum { STEPS = 80 };
  Shots s = {.low = INFINITY, .high = -INFINITY};
  double slope[SHOTS] = {0}, db = 2 * most / (SHOTS - 1);
  for (int k = 0; k < SHOTS; k++) {
    tgAnyContactOptions o = options_of("barrier", settings);
    Rig r = rig_of_text(edges, "barrier", &o.of);
    tg_sim_qpos(r.s)[0] = k * db - most;
    tg_sim_qvel(r.s)[2] = -1;
    double t = tgb_core();
    for (int i = 0; i < STEPS; i++) {
      steps(&r, h, 1);
      s.newton += tg_sim_step_info(r.s)->iterations / (double)(SHOTS * STEPS);
    }
    s.seconds += (tgb_core() - t) / (SHOTS * STEPS);
    s.v[k] = tgRe(tg_sim_qvel(r.s)[0]);
    drop(&r);
    if (k == 0) continue;
    slope[k] = (s.v[k] - s.v[k - 1]) / db;
    s.low = fmin(s.low, slope[k]);
    s.high = fmax(s.high, slope[k]);
  }
  for (int k = 3; k < SHOTS; k++) s.turns += (slope[k] - slope[k - 1]) * (slope[k - 1] - slope[k - 2]) < 0;
  return s;
}

// largest distance from the polynomial of degree 8 that fits best
static double off_fit(const double v[SHOTS]) {
  enum { N = 9 };
  double A[N][N + 1] = {{0}}, basis[SHOTS][N], worst = 0;
  for (int k = 0; k < SHOTS; k++) {
    double x = 2.0 * k / (SHOTS - 1) - 1;
    for (int i = 0; i < N; i++) basis[k][i] = i < 2 ? (i == 0 ? 1 : x) : 2 * x * basis[k][i - 1] - basis[k][i - 2];
    for (int i = 0; i < N; i++) {
      for (int j = 0; j < N; j++) A[i][j] += basis[k][i] * basis[k][j];
      A[i][N] += basis[k][i] * v[k];
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
    worst = fmax(worst, fabs(v[k] - fit));
  }
  return worst;
}

// A blow on an edge throws a sharp box to one side or to the other; a round edge gives a slope.
static void test_blows(void **state) {
  (void)state;
  static const double radius[RADII] = {0, 5e-3, 1e-2};
  Shots s[RADII];
  double off[RADII];
  for (int k = 0; k < RADII; k++) {
    char settings[80];
    snprintf(settings, sizeof settings, "weight=1e-8 rounding=%g", radius[k]);
    s[k] = shoot(settings, 4e-3);
    off[k] = off_fit(s[k].v);
    print_message("radius %4.0f mm: slope %.0f..%.0f 1/s, turns %d, off a smooth fit %.1e m/s; %.2f Newton steps, %.0f us a step\n",
                  1e3 * radius[k], s[k].low, s[k].high, s[k].turns, off[k], s[k].newton, 1e6 * s[k].seconds);
    // the scene and its mirror image
    for (int i = 0; i < SHOTS / 2; i++) check_close(s[k].v[i], -s[k].v[SHOTS - 1 - i], 1e-6);
  }
  for (int k = 1; k < RADII; k++) check_true(s[k].high < s[k - 1].high && off[k] < off[k - 1], "radius %g is no smoother", radius[k]);
}

// From the middle itself, or next to nothing beside it, a step's objective may have a saddle, not a minimum, where the boxes stay edge on
// edge. Steps end, in few iterations, and most boxes go to one side.
static void test_middle(void **state) {
  (void)state;
  static const double radius[] = {0, 5e-3, 1e-2}, beside[] = {0, 1e-12, 1e-8, -1e-6};
  enum { RADIUS = 3, BESIDE = 4, FEW = 60 };
  const double h = 2e-3;
  int most = 0, left = 0;
  for (int k = 0; k < 2 * RADIUS * BESIDE; k++) {
    char settings[80];
    snprintf(settings, sizeof settings, "weight=1e-8 rounding=%g", radius[k / BESIDE % RADIUS]);
    tgAnyContactOptions o = options_of("barrier", settings);
    Rig r = rig_of_text(edges, "barrier", &o.of);
    tg_sim_qpos(r.s)[0] = beside[k % BESIDE];
    tg_sim_qvel(r.s)[2] = k < RADIUS * BESIDE ? -2 : -4;
    for (int i = 0; i < 12; i++) {
      steps(&r, h, 1);
      if (tg_sim_step_info(r.s)->iterations > most) most = tg_sim_step_info(r.s)->iterations;
    }
    left += fabs(tgRe(tg_sim_qvel(r.s)[0])) > 1e-3;
    drop(&r);
  }
  check_true(most <= FEW && left > RADIUS * BESIDE, "%d Newton steps, %d left the middle", most, left);
  print_message("edge on edge: %d of %d leave the middle, at most %d Newton steps\n", left, 2 * RADIUS * BESIDE, most);
}

// ---- what stays apart ----

enum { BOXES = 6, CORNERS = 8, FACES = 12 };

// corners of the cores of a geom, its surface that of a box
static void core_at(const Rig *r, const tgiSurface *box, int g, double rounding, double x[3 * CORNERS]) {
  const tgPose *p = &r->s->start;
  tgReal size[3], local[3 * CORNERS];
  for (int i = 0; i < 3; i++) size[i] = r->s->m.geom_size[3 * g + i] - rounding;
  tgi_surface_place(box, size, local);
  for (int k = 0; k < CORNERS; k++)
    for (int i = 0; i < 3; i++) {
      tgReal y = p->geom_xpos[3 * g + i];
      for (int j = 0; j < 3; j++) y += p->geom_xmat[9 * g + 3 * i + j] * local[3 * k + j];
      x[3 * k + i] = tgRe(y);
    }
}

static double distance(const tgiSurface *box, const double *a, const double *b) {
  double least = INFINITY, x[18];
  for (int f = 0; f < FACES * FACES; f++) {
    for (int k = 0; k < 9; k++) {
      x[k] = a[3 * box->face[3 * (f / FACES) + k / 3] + k % 3];
      x[9 + k] = b[3 * box->face[3 * (f % FACES) + k / 3] + k % 3];
    }
    least = fmin(least, tgi_triangle_triangle(x, x + 9).distance);
  }
  return least;
}

// Boxes tumble into a box and come to lie over one another: by the distances of their cores none of the solids meet, and corners come
// nearer to each other than the sharp ones, which do meet there, ever would.
static void test_tumbling(void **state) {
  (void)state;
  const double rounding = 6e-3;
  char text[3000] =
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1' friction='.4'/>"
      "<geom type='box' size='.02 .15 .2' pos='.13 0 .2'/><geom type='box' size='.02 .15 .2' pos='-.13 0 .2'/>"
      "<geom type='box' size='.15 .02 .2' pos='0 .13 .2'/><geom type='box' size='.15 .02 .2' pos='0 -.13 .2'/>";
  size_t n = strlen(text);
  for (int k = 0; k < BOXES; k++)
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "<body pos='%g %g %g' euler='%d %d 0'><freejoint/>"
                          "<geom type='box' size='.04 .03 .02' friction='.4' mass='.2'/></body>",
                          0.01 * (k % 3 - 1), 0.01 * (k % 2), 0.08 + 0.12 * k, 40 * k, 25 * k);
  snprintf(text + n, sizeof text - n, "</worldbody></mujoco>");
  char settings[80];
  snprintf(settings, sizeof settings, "weight=1e-8 rounding=%g", rounding);
  tgAnyContactOptions o = options_of("barrier", settings);
  Rig r = rig_of_text(text, "barrier", &o.of);
  const int ngeom = r.s->m.ngeom, first = ngeom - BOXES;
  const double unit[3] = {1, 1, 1};
  double least = INFINITY, sharp = INFINITY;
  tgiSurface box;
  assert_int_equal(tgi_surface_primitive(TG_GEOM_BOX, unit, 0.01, NULL, &box), TG_OK);
  for (int k = 0; k < 120; k++) {
    double x[2][16][3 * CORNERS];
    steps(&r, 1e-2, 1);
    tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
    for (int g = 1; g < ngeom; g++)
      for (int whole = 0; whole < 2; whole++) core_at(&r, &box, g, whole ? 0 : rounding, x[whole][g]);
    for (int g = first; g < ngeom; g++) {
      for (int b = 1; b < g; b++) {
        least = fmin(least, distance(&box, x[0][g], x[0][b]) - 2 * rounding);
        sharp = fmin(sharp, distance(&box, x[1][g], x[1][b]));
      }
      for (int c = 0; c < CORNERS; c++) least = fmin(least, x[0][g][3 * c + 2] - rounding);
    }
  }
  check_true(least > 0 && least < 2e-3, "least gap %g", least);
  print_message("boxes with edges of %g mm in a box: least gap %.2g m, sharp ones %.2g m\n", 1e3 * rounding, least, sharp);
  tgi_surface_free(&box);
  drop(&r);
}

// ---- meshes ----

static const char mesh_on_floor[] =
    "<mujoco><asset><mesh name='m' vertex='-.1 -.1 -.05 .1 -.1 -.05 -.1 .1 -.05 .1 .1 -.05 -.1 -.1 .05 .1 -.1 .05 -.1 .1 .05 .1 .1 .05'"
    " face='0 2 3 0 3 1 4 5 7 4 7 6 0 1 5 0 5 4 2 6 7 2 7 3 0 4 6 0 6 2 1 3 7 1 7 5'/></asset><worldbody>"
    "<geom type='plane' size='1 1 1'/>"
    "<body pos='0 0 %g'><joint type='slide' axis='0 0 1' damping='8'/><geom type='mesh' mesh='m' mass='1'/></body></worldbody></mujoco>";

// a mesh is thicker by the radius all around
static void test_mesh(void **state) {
  (void)state;
  const double rounding = 4e-3, gap = 5e-4;
  char text[1200], settings[80];
  snprintf(text, sizeof text, mesh_on_floor, 0.05 + rounding + 2 * gap);
  snprintf(settings, sizeof settings, "resting_gap=%g rounding=%g", gap, rounding);
  tgAnyContactOptions o = options_of("barrier", settings);
  Rig r = rig_of_text(text, "barrier", &o.of);
  steps(&r, 5e-3, 400);
  double at = tgRe(tg_sim_qpos(r.s)[0]) + 2 * gap;
  check_true(fabs(at - gap) < 0.2 * gap, "rests %g above the floor", at);
  // moved apart from where it touches, it has room for that
  tg_sim_qpos(r.s)[0] = -rounding - 2 * gap;
  tgStatus status = tg_sim_step_growing(r.s, 5e-3, NULL);
  check_true(status == TG_ERR_INVALID && strstr(r.s->error.text, "0.004 m") != NULL, "%s", r.s->error.text);
  int moved = tg_sim_separate(r.s, -1, NULL, 0);
  check_true(moved > 0, "%s", r.s->error.text);
  steps(&r, 5e-3, 1);
  // likewise where the geoms are apart, their surfaces just not, whatever is asked for
  for (int k = 0; k < 4; k++) {
    const double first = k % 2 == 0 ? 0.6 * rounding : rounding - 1e-6, asked = k < 2 ? -1 : 1e-5;
    tgSeparated pair;
    tg_sim_qpos(r.s)[0] = first - rounding - 2 * gap;
    check_true(tg_sim_step_growing(r.s, 5e-3, NULL) == TG_ERR_INVALID, "%g", first);
    moved = tg_sim_separate(r.s, asked, &pair, 1);
    check_true(moved == 1, "%d %s", moved, r.s->error.text);
    check_close(pair.before, first, 1e-9);
    check_close(pair.after, rounding + (k < 2 ? gap : asked), 2e-3 * gap);
    tg_sim_qvel(r.s)[0] = 0;
    steps(&r, 5e-3, 1);
  }
  // surfaces that are apart stay where they are
  tg_sim_qpos(r.s)[0] = -2 * gap + 0.8 * gap;
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 0), 0);
  drop(&r);
  // another pair's box, which is not thicker, is not moved by that
  strcpy(strstr(text, "</worldbody>"), "<body pos='1 0 .102'><freejoint/><geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>");
  r = rig_of_text(text, "barrier", &o.of);
  tg_sim_qpos(r.s)[0] = -2 * gap - 1e-4;
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 0), 1);
  check_close(tg_sim_qpos(r.s)[3], 0.102, 1e-12);
  drop(&r);
}

// ---- checked as any number is ----

// by differences of the step, for which 0, the default, is the end of the range: then it is in none
static void test_gradcheck(void **state) {
  (void)state;
  static const char scene[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .06' euler='10 20 0'><freejoint/>"
                              "<geom type='box' size='.05 .04 .03' mass='.3' friction='.7'/></body></worldbody></mujoco>";
  for (int k = 0; k < 2; k++) {
    tgAnyContactOptions o = options_of("barrier", k == 0 ? "" : "rounding=.01");
    Rig r = rig_of_text(scene, "barrier", &o.of);
    tgGradCheck check = {.nblock = 0};
    check_true(tg_grad_check_parameters(r.s, NULL, &check) == TG_OK, "%s", r.s->error.text);
    check_true(check.nblock == 1 && check.block[0].pass && check.block[0].error < 1e-6, "%s: %g %s", check.block[0].col_name,
               check.block[0].error, check.block[0].reason);
    drop(&r);
  }
}

// By friction: plane sharp faces rub otherwise than those with any radius: the step jumps as the radius leaves 0, whose derivative is told
// as no derivative of the step. By slip nothing jumps, and without friction neither; nor does it from a radius on.
static void test_sharp(void **state) {
  (void)state;
  static const char scene[] = "<mujoco><option gravity='0 0 -9.81'/><worldbody>"
                              "<geom name='floor' type='box' size='.21 .2 .05' friction='%g'/>"
                              "<body pos='0 0 .0846' euler='2 3 0'><freejoint/>"
                              "<geom name='block' type='box' size='.05 .04 .03' mass='.3' friction='%g'/></body></worldbody></mujoco>";
  static const struct { const char *friction; double mu, rounding; bool jumps; } cases[] = {
      {"plane", 0.7, 0, true}, {"plane", 0, 0, false}, {"slip", 0.7, 0, false}, {"plane", 0.7, 5e-3, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[600], settings[80];
    tgReal end[2][6], dq[6], gv[6] = {1};
    tgGradInfo info;
    snprintf(text, sizeof text, scene, cases[k].mu, 0.5 * cases[k].mu);
    for (int side = 1; side >= 0; side--) {   // a little more of a radius, and the state itself
      snprintf(settings, sizeof settings, "weight=1e-8 friction=%s rounding=%.17g", cases[k].friction, cases[k].rounding + side * 1e-9);
      tgAnyContactOptions o = options_of("barrier", settings);
      Rig r = rig_of_text(text, "barrier", &o.of);
      tgError e;
      tgParamGrad *p = tg_param_grad_create_contact(r.c, &(const char *){"contact.rounding"}, 1, NULL, &e);
      check_true(p != NULL, "%s", e.text);
      tg_sim_qvel(r.s)[0] = 0.3;
      tg_sim_qvel(r.s)[1] = 0.1;
      steps(&r, 1e-3, 1);
      memcpy(end[side], tg_sim_qvel(r.s), sizeof end[side]);
      assert_int_equal(tg_sim_step_vjp(r.s, NULL, gv, dq, NULL, NULL, p, &info), TG_OK);
      tg_param_grad_free(p);
      drop(&r);
    }
    double jump = 0;
    for (int d = 0; d < 6; d++) jump = fmax(jump, fabs(tgRe(end[1][d] - end[0][d])));
    check_true(cases[k].jumps ? jump > 1e-5 : jump < 1e-6, "%s, friction %g, radius %g: v' moves by %g", cases[k].friction, cases[k].mu,
               cases[k].rounding, jump);
    check_true((info.label == TG_GRAD_SURROGATE) == cases[k].jumps, "%s, friction %g, radius %g: %s %s", cases[k].friction, cases[k].mu,
               cases[k].rounding, tg_grad_label_text(info.label), info.reason);
    assert_true(!cases[k].jumps || strstr(info.reason, "'block'") != NULL);
  }
}

// ---- refused ----

static const char stack[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
    "<body pos='0 0 .2'><freejoint/><geom name='lower' type='box' size='.1 .1 .02' mass='1'/></body>"
    "<body pos='0 0 .4'><freejoint/><geom name='tin' type='cylinder' size='.05 .1' mass='1'/></body></worldbody></mujoco>";

static void test_refused(void **state) {
  (void)state;
  static const struct { const char *settings, *text; } cases[] = {
      {"rounding=.02", "'lower' has room for less than 0.02 m, its half width"},
      {"rounding=.5", "'lower' has room for less than 0.02 m"},
      {"rounding=.012 widen=.018", "widen is 0.018, and geom 'lower' is 0.016 m thin"},
      {"rounding=-1e-3", "rounding"},
      {"rounding=2", "rounding"},
  };
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene.xml", stack, strlen(stack), NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tgAnyContactOptions o = options_of("barrier", cases[k].settings);
    assert_null(tg_contact_create(m, "barrier", &o.of, &e));
    check_true(strstr(e.text, cases[k].text) != NULL, "%s: '%s'", cases[k].settings, e.text);
  }
  tgAnyContactOptions o;
  tg_contact_default("barrier", &o.of, sizeof o);
  check_true(tg_contact_set(&o.of, "rounding", "nan", &e) < 0 || (tg_contact_create(m, "barrier", &o.of, &e) == NULL), "%s", e.text);
  check_true(strstr(e.text, "rounding") != NULL, "'%s'", e.text);
  tg_model_free(m);
  tg_desc_free(d);
  // a simulation's own numbers: the radius, and a size under it; nothing moves
  o = options_of("barrier", "rounding=5e-3");
  Rig r = rig_of_text(stack, "barrier", &o.of);
  tgReal *rounding = tg_sim_param(r.s, "contact.rounding", NULL, NULL), before[14];
  memcpy(before, tg_sim_qpos(r.s), sizeof before);
  *rounding = 0.06;
  assert_int_equal(tg_sim_step(r.s, 1e-3, NULL), TG_ERR_INVALID);
  check_true(strstr(r.s->error.text, "'lower' has room for less than 0.02 m") != NULL, "%s", r.s->error.text);
  *rounding = 5e-3;
  tg_sim_param(r.s, "geom_size", NULL, NULL)[3 * 1 + 2] = 4e-3;
  assert_int_equal(tg_sim_step(r.s, 1e-3, NULL), TG_ERR_INVALID);
  check_true(strstr(r.s->error.text, "'lower' has room for less than 0.004 m") != NULL, "%s", r.s->error.text);
  assert_memory_equal(before, tg_sim_qpos(r.s), sizeof before);
  drop(&r);
}

// Boxes that start in each other are refused by the distance of their cores, and those whose sharp corners alone do are not.
static void test_start(void **state) {
  (void)state;
  static const char scene[] =
      "<mujoco><compiler angle='degree'/><worldbody><geom name='a' type='box' size='.05 .05 .05' euler='0 45 0'/>"
      "<body pos='0 0 %.17g' euler='0 45 0'><freejoint/>"
      "<geom name='b' type='box' size='.05 .05 .05' mass='1'/></body></worldbody></mujoco>";
  const double rounding = 0.01, inward = (sqrt(2) - 1) * rounding, tips = 2 * sqrt(2) * 0.05;   // of an edge, from the sharp one
  for (int k = 0; k < 3; k++) {
    char text[600];
    snprintf(text, sizeof text, scene, tips - 2 * inward + (k == 0 ? 1e-4 : k == 1 ? -1e-4 : -0.03));
    tgAnyContactOptions o = options_of("barrier", "weight=1e-9 rounding=.01");
    Rig r = rig_of_text(text, "barrier", &o.of);
    tgStatus status = tg_sim_step_growing(r.s, 1e-3, NULL);
    if (k == 0) check_true(status == TG_OK, "%s", r.s->error.text);
    else check_true(status == TG_ERR_INVALID && strstr(r.s->error.text, k == 1 ? "touch, 0.0001 m" : "touch, 0.0") != NULL, "%s",
                    r.s->error.text);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blows), cmocka_unit_test(test_middle), cmocka_unit_test(test_tumbling),
                                     cmocka_unit_test(test_mesh), cmocka_unit_test(test_refused), cmocka_unit_test(test_start),
                                     cmocka_unit_test(test_gradcheck), cmocka_unit_test(test_sharp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
