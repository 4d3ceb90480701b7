// test_inside.c: what is told of the inside of a step: its impacts, with times and impulses in closed form and by the momenta that they
// change, and its way from one state to the next, along which exact predicates find no intersection under `barrier`.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/quat.h"
#include "math/vec3.h"
#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/force.h"
#include "tangere/geometry.h"
#include "tangere/grad.h"
#include "tangere/step.h"

enum { ROOM = 4000 };

static void step(Rig *r, double h) {
  tgStatus status = tg_sim_step_growing(r->s, h, NULL);
  check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
}

static void bounce(Rig *r, double e) {
  int rows, cols;
  double *x = tg_sim_param(r->s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
}

// ---- what a look inside leaves ----

static void same_start(const Rig *r, const double *q, const double *v, const double *pos, const char *after) {
  const tgSim *s = r->s;
  size_t nq = (size_t)s->m.nq, nv = (size_t)s->m.nv, npos = 3 * (size_t)s->m.ngeom;
  check_true(memcmp(s->start.q, q, nq * sizeof *q) == 0 && memcmp(s->start.vel, v, nv * sizeof *v) == 0, "another start after %s", after);
  check_true(memcmp(s->start.geom_xpos, pos, npos * sizeof *pos) == 0, "bodies are elsewhere after %s", after);
}

// A step of several pieces shows where it started, of which accelerations and Hessians are, whatever it was asked for since.
static void start_stays(void **state) {
  (void)state;
  enum { NV = 12 };
  static const char *const heap =
      "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .2'><freejoint/><geom size='.1' mass='1'/></body>"
      "<body pos='.05 0 .5' euler='20 30 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body></worldbody></mujoco>";
  static const char *const word[] = {"toi", "lcp"};
  for (int w = 0; w < 2; w++) {
    Rig r = rig_of_text(heap, word[w], NULL);
    int checked = 0;
    bounce(&r, 0.5);
    for (int t = 0; t < 60; t++) {
      double q[14], v[NV], pos[9], g[2 * NV] = {1, 1, 1}, J[4 * NV * NV], time[64], way[64 * 14];
      tgImpact impact[64];
      step(&r, 0.01);
      memcpy(q, r.s->start.q, sizeof q);
      memcpy(v, r.s->start.vel, sizeof v);
      memcpy(pos, r.s->start.geom_xpos, sizeof pos);
      checked += tg_sim_impacts(r.s, impact, 64) > 0;
      same_start(&r, q, v, pos, "its impacts");
      assert_true(tg_sim_poses_within(r.s, time, way, 64) >= 0);
      same_start(&r, q, v, pos, "the poses within");
      assert_int_equal(tg_sim_step_vjp(r.s, g, g + NV, NULL, NULL, NULL, NULL, NULL), TG_OK);
      same_start(&r, q, v, pos, "its gradient");
      assert_int_equal(tg_sim_step_jacobian(r.s, J, NULL), TG_OK);
      same_start(&r, q, v, pos, "its Jacobian");
    }
    check_true(checked >= 3, "%s: %d steps with impacts", word[w], checked);
    drop(&r);
  }
}

// ---- impacts in closed form ----

static const char *const balls =
    "<mujoco><option gravity='0 0 0'/><default><geom type='sphere' size='0.1' mass='1' friction='0'/></default><worldbody>"
    "<body><joint type='slide' axis='1 0 0'/><geom/></body><body pos='0.5 0 0'><joint type='slide' axis='1 0 0'/><geom/></body>"
    "</worldbody></mujoco>";

// two equal balls, the second at rest: they meet when 0.3 m less the gap is gone, and the impulse is m v (1 + e)/2
static void two_balls(void **state) {
  (void)state;
  static const char *const word[] = {"toi", "lcp"};
  static const double gap[] = {1e-6, 0};
  for (int w = 0; w < 2; w++) {
    for (int k = 0; k <= 4; k++) {
      double e = 0.25 * k, h = 0.04, at = (0.3 - gap[w]) / 2, time[2], q[4];
      Rig r = rig_of_text(balls, word[w], NULL);
      tgImpact impact[2];
      bounce(&r, e);
      tg_sim_qvel(r.s)[0] = 2;
      for (int i = 0; i < 6; i++) {
        step(&r, h);
        int n = tg_sim_impacts(r.s, impact, 2);
        check_true(n == (i == 3), "%s: %d impacts in step %d", word[w], n, i);
        assert_int_equal(tg_sim_poses_within(r.s, time, q, 2), n);
        if (i != 3) continue;
        const tgContactInfo *c = &impact[0].contact;
        check_close(3 * h + impact[0].time, at, 1e-13);
        check_close(time[0], impact[0].time, 1e-15);
        check_close(q[0], 2 * at, 1e-13);
        check_close(q[1], 0, 1e-15);
        assert_int_equal(c->geom1, 0);
        assert_int_equal(c->geom2, 1);
        assert_int_equal(c->body2, 2);
        check_close(c->force[0], 1 + e, 1e-12);
        check_close(c->world[0], 1 + e, 1e-12);
        check_close(c->frame[0], 1, 1e-12);
        check_close(c->point[0], 0.4 - gap[w] / 2, 1e-12);
        check_close(c->distance, gap[w], 1e-9);
      }
      drop(&r);
    }
  }
}

// touching within rounding at the start of a step, under `lcp`: the drift to the meeting is of either sign, the time told is not
static void meets_at_the_start(void **state) {
  (void)state;
  for (int k = -3; k <= 3; k++) {
    Rig r = rig_of_text(balls, "lcp", NULL);
    tgImpact impact[2];
    tg_sim_qpos(r.s)[0] = 0.3 + k * 1e-16;
    tg_sim_qvel(r.s)[0] = 2;
    step(&r, 0.04);
    assert_int_equal(tg_sim_impacts(r.s, impact, 2), 1);
    check_true(impact[0].time >= 0 && impact[0].time < 1e-15, "%g s", impact[0].time);
    drop(&r);
  }
}

// ---- impulses of random impacts ----

enum { CROWD = 9 };

// balls and boxes in a cage of still walls, without gravity: impacts are all that changes a momentum
static void crowd(char *xml) {
  static const double wall[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  char *at = xml + sprintf(xml, "<mujoco><option gravity='0 0 0'/><default><geom friction='.4'/></default><worldbody>");
  for (int i = 0; i < 6; i++) {
    const double *n = wall[i];
    at += sprintf(at, "<geom type='box' size='%g %g %g' pos='%g %g %g'/>", n[0] != 0 ? .05 : .5, n[1] != 0 ? .05 : .5, n[2] != 0 ? .05 : .5,
                  .55 * n[0], .55 * n[1], .55 * n[2]);
  }
  for (int i = 0; i < CROWD; i++)
    at += sprintf(at, "<body pos='%g %g %g'><freejoint/><geom type='%s' size='.09 .07 .08' mass='%g'/></body>", .3 * (i % 3 - 1),
                  .3 * (i / 3 - 1), .1 * (i % 2), i % 3 == 0 ? "box" : "sphere", 1 + .3 * i);
  sprintf(at, "</worldbody></mujoco>");
}

// P and L of each body about the world's origin
static void momenta(tgSim *s, double (*p)[6]) {
  assert_int_equal(tg_sim_forward(s), TG_OK);
  for (int b = 1; b <= CROWD; b++) {
    double m = 1 + .3 * (b - 1), size[3] = {.09, .07, .08}, *v = tg_sim_qvel(s) + 6 * (b - 1);
    const double *c = (const double *)tg_sim_field_named(s, "xpos").data + 3 * b;
    const double *R = (const double *)tg_sim_field_named(s, "xmat").data + 9 * b;
    bool box = (b - 1) % 3 == 0;
    double spin[3] = {0};
    for (int k = 0; k < 3; k++) {
      int i = (k + 1) % 3, j = (k + 2) % 3;
      double I = box ? m * (size[i] * size[i] + size[j] * size[j]) / 3 : .4 * m * size[0] * size[0];
      for (int d = 0; d < 3; d++) spin[d] += R[3 * d + k] * I * v[3 + k];   // angular velocity in body axes
    }
    for (int k = 0; k < 3; k++) {
      int i = (k + 1) % 3, j = (k + 2) % 3;
      p[b][k] = m * v[k];
      p[b][3 + k] = m * (c[i] * v[j] - c[j] * v[i]) + spin[k];
    }
  }
}

// Of what nothing holds the impulses told are the change of the momenta, linear and, but for what a tumbling box's step loses, angular; and
// those of a pair are its force times the step.
static void momenta_change_by_impulses(void **state) {
  (void)state;
  static char xml[8000];
  crowd(xml);
  Rig r = rig_of_text(xml, "toi", NULL);
  tgtRandom random = {5};
  double before[CROWD + 1][6], after[CROWD + 1][6], h = 0.02;
  int most = 0, all = 0;
  static tgImpact impact[ROOM];
  bounce(&r, 0.8);
  for (int d = 0; d < 6 * CROWD; d++) tg_sim_qvel(r.s)[d] = (d % 6 < 3 ? 4 : 2) * tgt_uniform(&random, -1, 1);
  for (int k = 0; k < 40; k++) {
    momenta(r.s, before);
    step(&r, h);
    int n = tg_sim_impacts(r.s, impact, ROOM);
    check_true(n >= 0 && n <= ROOM, "%d impacts", n);
    double sum[CROWD + 1][6] = {{0}}, last = 0, pair = 0;
    for (int i = 0; i < n; i++) {
      check_true(impact[i].time >= last && impact[i].time <= h, "impact %d of %d at %g s", i, n, impact[i].time);
      last = impact[i].time;
      for (int b = 1; b <= CROWD; b++) tg_contact_add_wrench(&impact[i].contact, b, NULL, sum[b]);
      pair += impact[i].contact.world[0];
    }
    tgContactInfo c;
    for (int at = 0; tg_sim_next_contact(r.s, &at, &c);) pair -= c.world[0] * h;
    check_close(pair, 0, 1e-11);
    momenta(r.s, after);
    for (int b = 1; b <= CROWD; b++)
      for (int i = 0; i < 6; i++)
        if (i < 3 || (b - 1) % 3 != 0) check_close(after[b][i] - before[b][i], sum[b][i], 1e-11);
    most = n > most ? n : most;
    all += n;
  }
  check_true(most >= 4 && all >= 40, "%d impacts, at most %d in a step", all, most);
  drop(&r);
}

// ---- asking changes nothing ----

static const char *const tumble =
    "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.5'/>"
    "<body pos='0 0 .2'><freejoint/><geom size='.1' mass='1'/></body>"
    "<body pos='.05 0 .5' euler='20 30 0'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
    "<body pos='.5 0 .4'><freejoint/><geom type='capsule' size='.05 .1' mass='1'/></body></worldbody></mujoco>";

static void gradient(Rig *r, double *g) {
  double seed[36];
  for (int d = 0; d < 36; d++) seed[d] = sin(1 + d);
  assert_true(tg_sim_step_vjp(r->s, seed, seed + 18, g, g + 18, NULL, NULL, NULL) >= 0);
}

static void asking_changes_nothing(void **state) {
  (void)state;
  static tgImpact impact[ROOM];
  static double time[ROOM], pose[ROOM * 21];
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    const char *word = tg_contact_words(w);
    Rig a = rig_of_text(tumble, word, NULL), b = rig_of_text(tumble, word, NULL);
    int impacts = 0;
    for (int k = 0; k < 120; k++) {
      double ga[36], gb[36];
      step(&a, 0.002);
      step(&b, 0.002);
      int n = tg_sim_impacts(a.s, impact, ROOM);
      check_true(n >= 0 && tg_sim_poses_within(a.s, time, pose, ROOM) >= 0, "%s: %s", word, tg_sim_error(a.s)->text);
      assert_int_equal(tg_sim_impacts(a.s, NULL, 0), n);
      impacts += n;
      gradient(&a, ga);
      gradient(&b, gb);
      check_true(memcmp(ga, gb, sizeof ga) == 0, "%s: another gradient in step %d", word, k);
      check_true(memcmp(tg_sim_qpos(a.s), tg_sim_qpos(b.s), 21 * sizeof(double)) == 0 &&
                     memcmp(tg_sim_qvel(a.s), tg_sim_qvel(b.s), 18 * sizeof(double)) == 0, "%s: another state in step %d", word, k);
    }
    bool has = strcmp(word, "toi") == 0 || strcmp(word, "lcp") == 0;
    check_true((impacts > 0) == has, "%s: %d impacts", word, impacts);
    drop(&a);
    drop(&b);
  }
}

static void not_after_a_step(void **state) {
  (void)state;
  Rig r = rig_of_text(balls, "toi", NULL);
  tgImpact impact;
  assert_int_equal(tg_sim_impacts(r.s, &impact, 1), TG_ERR_STATE);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "step first"));
  assert_int_equal(tg_sim_poses_within(r.s, NULL, NULL, 0), TG_ERR_STATE);
  assert_int_equal(tg_sim_impacts(r.s, NULL, 1), TG_ERR_ARG);
  assert_int_equal(tg_sim_impacts(r.s, &impact, -1), TG_ERR_ARG);
  drop(&r);
}

// ---- the way of a step ----

// boxes in a box that is shaken
static void shaken_box(char *xml) {
  char *at = xml + sprintf(xml, "<mujoco><worldbody><body><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>");
  for (int i = 0; i < 6; i++) {
    int axis = i / 2, side = i % 2 == 0 ? -1 : 1;
    at += sprintf(at, "<geom type='box' size='%g %g %g' pos='%g %g %g' mass='3'/>", axis == 0 ? .02 : .2, axis == 1 ? .02 : .2,
                  axis == 2 ? .02 : .2, axis == 0 ? side * .22 : 0, axis == 1 ? side * .22 : 0, axis == 2 ? .2 + side * .22 : .2);
  }
  at += sprintf(at, "</body>");
  for (int i = 0; i < 8; i++)
    at += sprintf(at, "<body pos='%g %g %g' euler='%d %d 5'><freejoint/><geom type='box' size='.04 .05 .03' mass='.2'/></body>",
                  (i & 1) * .16 - .08, (i >> 1 & 1) * .16 - .08, (i >> 2) * .16 + .1, 20 * i, 30 * i);
  sprintf(at, "</worldbody></mujoco>");
}

// an arm of two links that is driven around among boxes
static void sweeping_arm(char *xml) {
  char *at = xml + sprintf(xml, "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .12'><joint axis='0 0 1'/>"
                           "<geom type='box' size='.15 .03 .1' pos='.15 0 0' mass='2'/><body pos='.33 0 0'><joint axis='0 0 1'/>"
                           "<geom type='box' size='.15 .03 .1' pos='.18 0 0' mass='1'/></body></body>");
  for (int i = 0; i < 10; i++)
    at += sprintf(at, "<body pos='%g %g .06'><freejoint/><geom type='box' size='.05 .05 .05' mass='.2'/></body>", .45 * cos(.6 + i * .55),
                  .45 * sin(.6 + i * .55));
  sprintf(at, "</worldbody></mujoco>");
}

typedef struct Judged { Rig r; tgIntersections *judge; tgSim *see; double *d; int nq, nv; } Judged;

static Judged judged(void (*scene)(char *xml), const char *word) {
  static char xml[8000];
  tgError e;
  scene(xml);
  Judged j = {.r = rig_of_text(xml, word, NULL)};
  j.nq = tg_model_nq(j.r.m);
  j.nv = tg_model_nv(j.r.m);
  j.judge = tg_intersections_create(j.r.m, &e);
  j.see = tg_sim_create(j.r.m, NULL, NULL, &e);
  j.d = calloc((size_t)j.nv, sizeof *j.d);
  check_true(j.judge != NULL && j.see != NULL && j.d != NULL, "%s", e.text);
  return j;
}

static void drop_judged(Judged *j) {
  tg_sim_free(j->see);
  tg_intersections_free(j->judge);
  free(j->d);
  drop(&j->r);
}

// the pose a share of the way, straight in the joints
static void straight_in_joints(Judged *j, const double *from, const double *to, double part) {
  tg_model_difference(j->r.m, from, to, j->d);
  for (int k = 0; k < j->nv; k++) j->d[k] *= part;
  tg_model_integrate(j->r.m, from, j->d, tg_sim_qpos(j->see));
  assert_int_equal(tg_sim_forward(j->see), TG_OK);
}

static void frames_at(Judged *j, const double *q, double pos[][3], double quat[][4]) {
  memcpy(tg_sim_qpos(j->see), q, (size_t)j->nq * sizeof *q);
  assert_int_equal(tg_sim_forward(j->see), TG_OK);
  size_t n = (size_t)j->see->m.nbody;
  memcpy(pos, j->see->start.xpos, 3 * n * sizeof(double));
  memcpy(quat, j->see->start.xquat, 4 * n * sizeof(double));
}

// the same as a page draws it: each body's origin straight, its turn about one axis
static void drawn(Judged *j, const double *from, const double *to, double part) {
  enum { BODIES = 16 };
  const tgModel *m = &j->see->m;
  double p[2][BODIES][3], u[2][BODIES][4];
  assert_true(m->nbody <= BODIES);
  frames_at(j, from, p[0], u[0]);
  frames_at(j, to, p[1], u[1]);
  for (int g = 0; g < m->ngeom; g++) {
    int b = m->geom_body[g];
    double cosine = 0, w[2] = {1 - part, part}, q[4], own[4], R[9], at[3], *x = j->see->start.geom_xpos + 3 * g;
    for (int k = 0; k < 4; k++) cosine += u[0][b][k] * u[1][b][k];
    double angle = acos(fmin(fabs(cosine), 1));
    for (int i = 0; i < 2 && angle > 1e-6; i++) w[i] = sin(w[i] * angle) / sin(angle);
    for (int k = 0; k < 4; k++) q[k] = w[0] * u[0][b][k] + (cosine < 0 ? -1 : 1) * w[1] * u[1][b][k];
    tgi_quat_to_mat(R, q);
    tgi_m3_mulv(at, R, m->geom_pos + 3 * g);
    for (int k = 0; k < 3; k++) x[k] = (1 - part) * p[0][b][k] + part * p[1][b][k] + at[k];
    tgi_quat_mul(own, q, m->geom_quat + 4 * g);
    tgi_quat_to_mat(j->see->start.geom_xmat + 9 * g, own);
  }
}

typedef void Way(Judged *j, const double *from, const double *to, double part);

// of `times` poses on the way from one to another, those at which something intersects
static int crossings(Judged *j, Way *way, const double *from, const double *to, int times) {
  int n = 0;
  for (int i = 1; i <= times; i++) {
    way(j, from, to, (double)i / times);
    n += tg_intersections_count(j->judge, j->see, NULL, 0) > 0;
  }
  return n;
}

// steps that cross straight from state to state, and by the way that is told
typedef struct Count { int straight, told, poses; } Count;

static Count count_crossings(Judged *j, Way *way, int steps, double h, void (*drive)(double *v, int k)) {
  enum { TIMES = 10 };
  size_t nq = (size_t)j->nq;
  double *pose = calloc((ROOM + 2) * nq, sizeof *pose), time[ROOM];
  Count c = {0};
  for (int k = 0; k < steps; k++) {
    double last = 0;
    memcpy(pose, tg_sim_qpos(j->r.s), nq * sizeof *pose);
    drive(tg_sim_qvel(j->r.s), k);
    step(&j->r, h);
    int n = tg_sim_poses_within(j->r.s, time, pose + nq, ROOM), more = 0;
    check_true(n >= 0 && n <= ROOM, "%d poses: %s", n, tg_sim_error(j->r.s)->text);
    memcpy(pose + (size_t)(n + 1) * nq, tg_sim_qpos(j->r.s), nq * sizeof *pose);
    c.straight += crossings(j, way, pose, pose + (size_t)(n + 1) * nq, TIMES) > 0;
    for (int i = 0; i <= n; i++) more += crossings(j, way, pose + (size_t)i * nq, pose + (size_t)(i + 1) * nq, TIMES);
    for (int i = 0; i < n; i++) {
      check_true(time[i] >= last && time[i] <= h, "pose %d at %g s", i, time[i]);
      last = time[i];
    }
    c.told += more > 0;
    c.poses += n;
  }
  free(pose);
  print_message("%d of %d steps cross straight, %d by the way that is told, by %d poses\n", c.straight, steps, c.told, c.poses);
  return c;
}

static void shake(double *v, int k) {
  v[0] = 3 * cos(1.44 * k);
  v[1] = 2 * cos(1.2 * k);
}

static void sweep(double *v, int k) {
  v[0] = 6;
  v[1] = 6 * cos(.7 * k);
}

// straight from state to state most of the coarse steps cross; by the way that is told none
static void shaken_box_does_not_cross(void **state) {
  (void)state;
  Judged j = judged(shaken_box, "barrier");
  Count c = count_crossings(&j, straight_in_joints, 20, 0.04, shake);
  check_true(c.straight >= 8 && c.told == 0, "%d steps cross straight, %d by the way told", c.straight, c.told);
  drop_judged(&j);
}

// nor as a page draws it, where links do not move as their joints do
static void drawn_arm_does_not_cross(void **state) {
  (void)state;
  Judged j = judged(sweeping_arm, "barrier");
  Count c = count_crossings(&j, drawn, 30, 0.05, sweep);
  check_true(c.straight >= 12 && c.told == 0, "%d steps cross straight, %d by the way told", c.straight, c.told);
  drop_judged(&j);
}

// The same under `toi`, whose path bends between impacts.
static void toi_does_not_cross(void **state) {
  (void)state;
  Judged j = judged(shaken_box, "toi");
  Count c = count_crossings(&j, straight_in_joints, 14, 0.04, shake);
  check_true(c.straight >= 5 && c.told == 0, "%d steps cross straight, %d by the way told", c.straight, c.told);
  drop_judged(&j);
  j = judged(sweeping_arm, "toi");
  c = count_crossings(&j, drawn, 12, 0.05, sweep);
  check_true(c.straight >= 5 && c.told == 0, "%d steps cross straight, %d by the way told", c.straight, c.told);
  drop_judged(&j);
}

// where nothing is near the straight way is enough
static void free_flight_has_no_poses(void **state) {
  (void)state;
  Rig r = rig_of_text(balls, "barrier", NULL);
  tg_sim_qvel(r.s)[1] = 0.5;
  step(&r, 0.01);
  assert_int_equal(tg_sim_poses_within(r.s, NULL, NULL, 0), 0);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(start_stays), cmocka_unit_test(two_balls), cmocka_unit_test(meets_at_the_start),
      cmocka_unit_test(momenta_change_by_impulses),
      cmocka_unit_test(asking_changes_nothing), cmocka_unit_test(not_after_a_step), cmocka_unit_test(shaken_box_does_not_cross),
      cmocka_unit_test(drawn_arm_does_not_cross), cmocka_unit_test(toi_does_not_cross), cmocka_unit_test(free_flight_has_no_poses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
