// test_flight.c: the search for the first contact against what is sampled along its path: up to the time found no contact of any pair is
// nearer than it may come, and that which is found has come down to it. Bodies slide, roll and turn on each other, a clearance apart.
#include <math.h>
#include <string.h>

#include "coll/contacts.h"
#include "coll/flight_bound.h"
#include "kin/kinematics.h"
#include "support/rig.h"

static const double meet = 1e-6, slip = 1e-10, span = 0.01;
enum { MOST = 32, SAMPLES = 600 };

#define UPPER(geom) "<body pos=\"0 0 .6\"><freejoint/><geom " geom " mass=\"1\"/></body>"
#define FLOOR "<geom type=\"plane\" size=\"5 5 1\"/>"
#define LOWER "<body pos=\"0 0 .2\"><freejoint/><geom type=\"sphere\" size=\".11\" mass=\"1\"/></body>"
#define SLAB "<geom type=\"box\" size=\"1 1 .1\" pos=\"0 0 .1\"/>"
#define TRUNK "<body pos=\"0 0 .2\"><freejoint/><geom type=\"cylinder\" size=\".11 .1\" mass=\"1\"/></body>"
#define BALL "type=\"sphere\" size=\".07\""
#define ROD "type=\"capsule\" size=\".05 .1\""
#define BOX "type=\"box\" size=\".1 .05 .04\""
#define DRUM "type=\"cylinder\" size=\".08 .05\""
#define SCENE(under, over) "<mujoco><worldbody>" under over "</worldbody></mujoco>"
#define ARM                                                                                                                  \
  "<body pos=\"0 0 .6\"><joint type=\"slide\" axis=\"0 0 1\"/><joint type=\"ball\"/><body pos=\".3 0 0\"><joint axis=\"0 1 .2\"/>" \
  "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .2 .05 -.2\" mass=\"1\"/></body></body>"
static const char *const scene[] = {SCENE(FLOOR, UPPER(BALL)), SCENE(FLOOR, UPPER(ROD)), SCENE(FLOOR, UPPER(BOX)), SCENE(FLOOR, ARM),
                                    SCENE(SLAB, UPPER(ROD)), SCENE(SLAB, UPPER(BOX)), SCENE(LOWER, UPPER(BALL)), SCENE(LOWER, UPPER(BOX)),
                                    SCENE(FLOOR, UPPER(DRUM)), SCENE(SLAB, UPPER(DRUM)), SCENE(LOWER, UPPER(DRUM)),
                                    SCENE(TRUNK, UPPER(DRUM)), SCENE(TRUNK, UPPER(BOX)), SCENE(TRUNK, UPPER(ROD))};
enum { SCENES = sizeof scene / sizeof *scene };

// the height of the upper body: of a free joint, or of the arm's slide
static int height(const tgModel *m) { return m->jnt_qadr[m->njnt - 1] - (m->jnt_type[m->njnt - 1] == TG_JOINT_FREE ? -2 : 5); }
static int rise(const tgModel *m) { return m->jnt_vadr[m->njnt - 1] - (m->jnt_type[m->njnt - 1] == TG_JOINT_FREE ? -2 : 4); }

// the nearest contact of pair 0 at q; its gap
static double nearest(tgSim *s, const tgReal *q, tgContactPoint *at) {
  tgContactPoint point[TG_PAIR_POINTS];
  double distance, least = INFINITY;
  tgi_kinematics(&s->m, q, &s->start);
  int count = tgi_contacts_of_pair(s, &s->start, 0, 1, point, &distance);
  for (int i = 0; i < count; i++) {
    if (tgRe(point[i].gap) >= least) continue;
    least = tgRe(point[i].gap);
    *at = point[i];
  }
  return least;
}

// a random state with the nearest contact a clearance open and opening slowly; false: this one is not
static bool draw(tgSim *s, tgtRandom *r, tgReal *q, tgReal *v0, tgReal *v1) {
  const tgModel *m = &s->m;
  tgReal w[MOST], gap, rate, last;
  tgContactPoint at = {.gap = 0};
  for (int d = 0; d < m->nv; d++) {
    w[d] = tgt_uniform(r, -0.03, 0.03);
    if (d >= m->nv - 3) w[d] = r->s % 3 == 0 ? 0 : tgt_uniform(r, -2, 2);   // some lie flat
    v0[d] = tgt_uniform(r, -20, 20);
    v1[d] = v0[d] + tgt_uniform(r, -1, 1);
  }
  tg_model_integrate(m, s->qpos, w, q);
  for (int k = 0; k < 60; k++) {
    double g = nearest(s, q, &at);
    if (!isfinite(g)) return false;
    q[height(m)] -= (g - meet) / fmax(0.3, fabs(tgRe(at.n[2])));
  }
  if (fabs(nearest(s, q, &at) - meet) > 1e-13) return false;
  if (!tgi_flight_gap(s, &s->start, v0, 0, at.feature, &gap, &last)) return false;
  v0[rise(m)] += 1;
  assert_true(tgi_flight_gap(s, &s->start, v0, 0, at.feature, &gap, &rate));
  double by = tgRe(rate - last), up = tgt_uniform(r, -5e-5, 2e-4) - tgRe(last);
  v0[rise(m)] += up / by - 1;
  v1[rise(m)] += up / by;
  return fabs(by) > 0.2;
}

// Half of the paths end about a clearance apart, as those of what is held do.
static void end_closed(tgSim *s, tgtRandom *r, const tgiFlight *path, tgReal *v1) {
  const tgModel *m = &s->m;
  tgReal w[MOST], x[MOST], u[MOST];
  tgContactPoint at;
  double target = meet * tgt_uniform(r, 0.6, 3);
  for (int k = 0; k < 20; k++) {
    tgi_flight_at(m, path, path->s, w, u);
    tg_model_integrate(m, path->q, w, x);
    double gap = nearest(s, x, &at);
    if (isfinite(gap)) v1[rise(m)] -= 2 * (gap - target) / (tgRe(path->s) * fmax(0.3, fabs(tgRe(at.n[2]))));
  }
}

typedef struct Tally { int looks, paths, met, whole, known; } Tally;

// Contacts that are known at the start are not looked for again: a search along the path's beginning finds the same with them as without.
static void check_known(tgSim *s, const tgiFlight *path, const tgiClosed *closed, int nclosed, const tgContactPoint *point, int count,
                        Tally *t) {
  tgiStartPoint start[TG_PAIR_POINTS];
  tgiFlight part = {path->q, path->v0, path->v1, path->s / 64};
  tgiFirst f[2];
  for (int i = 0; i < count; i++) {
    start[i] = (tgiStartPoint){.feature = point[i].feature, .gap = point[i].gap};
    memcpy(start[i].p, point[i].p, sizeof start[i].p);
    memcpy(start[i].n, point[i].n, sizeof start[i].n);
  }
  for (int i = 0; i < 2; i++) {
    f[i] = (tgiFirst){.meet = meet, .closed = closed, .nclosed = nclosed, .start = start, .nstart = i * count};
    assert_int_equal(tgi_first_contact(s, &part, &f[i]), TG_OK);
  }
  t->known += nclosed > 0;
  check_true(f[0].pair == f[1].pair && (f[0].pair < 0 || f[0].feature == f[1].feature), "%d and %d", f[0].feature, f[1].feature);
  check_close(f[1].t, f[0].t, 1e-9 * tgRe(part.s));
}

static void check(tgSim *s, tgtRandom *r, Tally *t) {
  const tgModel *m = &s->m;
  tgReal q[MOST], v0[MOST], v1[MOST], w[MOST], x[MOST], u[MOST];
  tgiClosed closed[TG_PAIR_POINTS];
  tgContactPoint point[TG_PAIR_POINTS];
  double distance;
  if (!draw(s, r, q, v0, v1)) return;
  s->clearance = meet;
  memcpy(s->start.q, q, (size_t)m->nq * sizeof *q);
  tgiFlight path = {s->start.q, v0, v1, span};
  if (t->paths % 2 == 0) end_closed(s, r, &path, v1);
  tgi_kinematics(m, q, &s->start);
  tgiFirst f = {.meet = meet, .closed = closed};
  int count = tgi_contacts_of_pair(s, &s->start, 0, 1e-3, point, &distance);
  for (int i = 0; i < count; i++)
    if (tgRe(point[i].gap) <= meet * (1 + 1e-3)) closed[f.nclosed++] = (tgiClosed){0, point[i].feature, 0.5 * meet};
  check_known(s, &path, closed, f.nclosed, point, count, t);
  assert_int_equal(tgi_first_contact(s, &path, &f), TG_OK);
  t->looks += f.looks;
  t->paths++;
  t->met += f.pair >= 0;
  t->whole += f.t == span;
  for (int k = 1; k <= SAMPLES; k++) {
    tgi_flight_pose(m, &path, f.t * k / SAMPLES, w, x, &s->trial, u);
    count = tgi_contacts_of_pair(s, &s->trial, 0, 1e-3, point, &distance);
    check_true(distance >= 0.25 * meet, "distance %g at %g of %g", distance, f.t * k / SAMPLES, f.t);
    for (int i = 0; i < count; i++) {
      double level = meet, gap = tgRe(point[i].gap);
      for (int c = 0; c < f.nclosed; c++)
        if (closed[c].feature == point[i].feature) level = closed[c].level;
      check_true(gap >= level - slip, "gap %.9g below %g at %g of %g", gap, level, f.t * k / SAMPLES, f.t);
      if (k == SAMPLES && f.pair == 0 && point[i].feature == f.feature) check_true(gap <= level + slip, "gap %g, level %g", gap, level);
    }
  }
}

static void test_paths(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    tgtRandom r = {.s = 3 + (uint64_t)k};
    Rig rig = rig_of_text(scene[k], "toi", NULL);
    Tally t = {0};
    tgStepInfo info;
    assert_int_equal(tg_sim_step_growing(rig.s, 1e-6, &info), TG_OK);   // what geoms are bounded by is made by a step
    tg_sim_reset(rig.s);
    for (int i = 0; i < 150; i++) check(rig.s, &r, &t);
    bool good = t.paths > 50 && t.met > 30 && t.met + t.whole == t.paths && t.known > 50;
    check_true(good, "scene %d: %d paths, %d met, %d clear, %d closed", k, t.paths, t.met, t.whole, t.known);
    // bounds by accelerations alone take 20 to 60; what comes down on a plane is seen once before it meets, and there
    double most = tgi_over_plane(rig.s, &rig.s->start, 0, &(tgiOver){0}) ? 3.5 : 25;
    check_true(t.looks < most * t.paths, "scene %d: %.1f looks at a path", k, (double)t.looks / t.paths);
    drop(&rig);
  }
}

// A direction along which the bodies do not lie apart at the start says nothing, however far apart they come along it.
static void test_direction(void **state) {
  (void)state;
  Rig r = rig_of_text(SCENE(LOWER, UPPER(BALL)), "toi", NULL);
  tgSim *s = r.s;
  tgStepInfo info;
  assert_int_equal(tg_sim_step_growing(s, 1e-6, &info), TG_OK);
  tg_sim_reset(s);
  s->qpos[0] = 0.5;
  memcpy(s->start.q, s->qpos, (size_t)s->m.nq * sizeof *s->qpos);
  tgi_kinematics(&s->m, s->start.q, &s->start);
  double d[12] = {0}, slope[12] = {0}, w[12] = {0}, V1[6] = {0}, V2[6] = {0}, up[3] = {0, 0, 1}, side[3] = {1, 0, 0};
  d[8] = -100;   // the upper ball, past the lower one
  V2[5] = -100;
  tgiStretch k = {&s->m, &s->start, d, d, slope, w, 0.02};
  double down[3] = {0, 0, -1};
  int g = s->m.pair_geom1[0];
  assert_true(tgRe(s->m.geom_size[3 * g]) > 0.1);   // the lower one comes first
  check_close(tgi_flight_clear(s, &k, 0, side, V1, V2, meet), k.span, 0);
  check_close(tgi_flight_clear(s, &k, 0, up, V1, V2, meet), 0, 0);
  check_true(tgi_flight_clear(s, &k, 0, down, V1, V2, meet) < k.span, "clear through each other");
  drop(&r);
}

// the first d > 0, of span at most, at which height + rise d - A d^2/2 comes down to 0: by halving of the side on which it falls
static double comes_down(double height, double rise, double A) {
  double low = rise > 0 && A > 0 ? rise / A : 0, high = span;
  if (height <= 0) return 0;
  if (height + high * rise - 0.5 * A * high * high >= 0) return span;
  for (int i = 0; i < 100; i++) {
    double d = 0.5 * (low + high);
    if (height + d * rise - 0.5 * A * d * d >= 0) low = d;
    else high = d;
  }
  return low;
}

// What does not turn is clear up to the root of one parabola: to rounding, where the shape has few corners; also where it is a line or
// constant, and where it has a double root at the start.
static void test_parabola(void **state) {
  (void)state;
  static const double off[] = {0, 1e-9, 1e-6, 1e-3}, speed[] = {0, -0.5, -1e-3, 0.2, -30}, push[] = {0, 5, -5, 2000};
  static const char *const over[] = {SCENE(FLOOR, UPPER(BALL)), SCENE(FLOOR, UPPER(ROD)), SCENE(FLOOR, UPPER(BOX)),
                                     SCENE(SLAB, UPPER(BOX))};
  for (int k = 0; k < 4; k++) {
    Rig rig = rig_of_text(over[k], "toi", NULL);
    tgSim *s = rig.s;
    tgStepInfo info;
    tgContactPoint at;
    assert_int_equal(tg_sim_step_growing(s, 1e-6, &info), TG_OK);
    tg_sim_reset(s);
    double gap = nearest(s, s->qpos, &at), n[3], up[6] = {0}, still[6] = {0};
    for (int i = 0; i < 3; i++) n[i] = tgRe(at.n[i]);
    bool first = s->m.body_lastdof[s->m.geom_body[s->m.pair_geom1[0]]] >= 0;
    for (int c = 0; c < 4 * 5 * 4; c++) {
      double height = off[c % 4], v = speed[c / 4 % 5], a = push[c / 20], d0[6] = {0}, d1[6] = {0}, slope[6] = {0}, w[6] = {0};
      tgiStretch part = {&s->m, &s->start, d0, d1, slope, w, span};
      d0[2] = up[5] = v;
      slope[2] = a;
      d1[2] = v + a * span;
      double clear = tgi_flight_clear(s, &part, 0, n, first ? up : still, first ? still : up, gap - height);
      // a gap is known to rounding, of which a root by the square is known to the root
      double d = comes_down(height, v, fabs(a)), rate = fmax(fabs(v - fabs(a) * d), 1e-3);
      if (height == 0) check_true(clear <= comes_down(1e-15, v, fabs(a)), "scene %d: clear for %g s from its level", k, clear);
      else check_close(clear, d, 1e-15 / rate + 1e-12 * d);
    }
    drop(&rig);
  }
}

// ---- faces ----

#define BRACKET                                                                                                                 \
  "<mujoco><asset><mesh name='bracket' vertex='-.1 -.08 -.1 .1 -.08 -.1 .1 -.08 0 0 -.08 0 0 -.08 .1 -.1 -.08 .1 "                \
  "-.1 .08 -.1 .1 .08 -.1 .1 .08 0 0 .08 0 0 .08 .1 -.1 .08 .1' face='0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 "          \
  "0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 5 11 6'/></asset><worldbody>"                           \
  "<body><freejoint/><geom type='mesh' mesh='bracket' mass='1'/></body>"
#define OVER(geom) BRACKET "<body pos='0 0 .4'><freejoint/><geom " geom " mass='1'/></body></worldbody></mujoco>"

// where the state is, with twists of both bodies there
static void start_at(tgSim *s, double V1[6], double V2[6]) {
  double *V[2] = {V1, V2};
  memcpy(s->start.q, s->qpos, (size_t)s->m.nq * sizeof *s->qpos);
  tgi_kinematics(&s->m, s->start.q, &s->start);
  for (int i = 0; i < 2; i++)
    tgi_body_velocity(s, &s->start, s->m.geom_body[i == 0 ? s->m.pair_geom1[0] : s->m.pair_geom2[0]], s->qvel, V[i]);
}

static double distance_at(tgSim *s, const tgPose *pose) {
  tgContactPoint point[TG_PAIR_POINTS];
  double distance;
  assert_true(tgi_contacts_of_pair(s, pose, 0, 0.5, point, &distance) >= 0);
  return distance;
}

// The second body is turned at random and let down onto the first until it is `apart` from it.
static void let_down(tgSim *s, tgtRandom *r, double apart, double V1[6], double V2[6]) {
  double low = 0, high = 0.6, way[3], norm = 0, *x = s->qpos + 7;
  tg_sim_reset(s);
  for (int i = 0; i < 3; i++) {
    way[i] = tgt_uniform(r, -1, 1);
    norm += way[i] * way[i];
  }
  tgReal turn[12] = {0}, q[14];
  for (int d = 3; d < 6; d++) turn[6 + d] = tgt_uniform(r, -2, 2);
  tg_model_integrate(&s->m, s->qpos, turn, q);
  memcpy(s->qpos, q, sizeof q);
  for (int i = 0; i < 60; i++) {
    double at = 0.5 * (low + high);
    for (int j = 0; j < 3; j++) x[j] = at * way[j] / sqrt(norm);
    start_at(s, V1, V2);
    if (distance_at(s, &s->start) < apart) low = at;
    else high = at;
  }
}

// Faces are no nearer than the level for as long as their bound says, however both bodies turn: edges across each other, rims, corners.
static void test_faces(void **state) {
  (void)state;
  static const char *const over[] = {OVER("type='cylinder' size='.04 .05'"), OVER("type='box' size='.04 .05 .03'"),
                                     OVER("type='capsule' size='.03 .06'"), OVER("type='mesh' mesh='bracket'")};
  for (int k = 0; k < 4; k++) {
    Rig rig = rig_of_text(over[k], "toi", NULL);
    tgSim *s = rig.s;
    tgtRandom r = {.s = 7 + (uint64_t)k};
    tgStepInfo info;
    double least = INFINITY, mean = 0;
    assert_int_equal(tg_sim_step_growing(s, 1e-6, &info), TG_OK);
    int g[2] = {s->m.pair_geom1[0], s->m.pair_geom2[0]}, tries = 40;
    for (int i = 0; i < tries; i++) {
      double V1[6], V2[6], w[12] = {0}, slope[12], v1[12], c[3], time = 2e-4;
      let_down(s, &r, meet * (1.2 + 100 * (i % 3)), V1, V2);
      for (int d = 0; d < 12; d++) {
        s->qvel[d] = (d % 6 < 3 ? 1 : 60) * tgt_uniform(&r, -1, 1);
        slope[d] = (d % 6 < 3 ? 100 : 2000) * tgt_uniform(&r, -1, 1);
        v1[d] = s->qvel[d] + slope[d] * time;
      }
      start_at(s, V1, V2);
      tgiStretch part = {&s->m, &s->start, s->qvel, v1, slope, w, time};
      double bound = tgRe(s->geom_bound[g[0]]);
      tgi_geom_centre(&s->start, g[0], c);
      tgiSpeeds R = tgi_stretch_speeds(&part, s->m.geom_body[g[0]], -1, c, bound),
                Q = tgi_stretch_speeds(&part, s->m.geom_body[g[1]], -1, c, bound + R.speed * time);
      double clear = tgi_flight_clear_faces(s, &part, 0, V1, V2, R.speed + Q.speed, 1, meet);
      tgiFlight path = {s->start.q, s->qvel, v1, time};
      tgReal W[12], x[14], u[12];
      mean += clear / tries;
      for (int j = 1; j <= 20; j++) {
        tgi_flight_pair(&s->m, &path, clear * j / 20, 0, W, x, &s->trial, u);
        least = fmin(least, distance_at(s, &s->trial));
      }
    }
    print_message("faces %d: clear for %.2g s of 2e-4 in the mean, least distance %.9g\n", k, mean, least);
    check_true(least >= meet - slip && mean > 1e-5, "faces %d: least distance %.9g, clear for %g s", k, least, mean);
    drop(&rig);
  }
}

#define BRANCH(x) "<body pos=\"" x " 0 .1\"><geom size=\".02\"/><body pos=\"0 .1 0\"><joint type=\"ball\"/><geom " ROD "/></body></body>"
#define BRANCHES \
  "<body pos=\"0 0 .6\"><freejoint/><geom " BOX "/><body><joint axis=\"1 0 .3\"/>" BRANCH("-.3") BRANCH(".3") "</body></body>"

// What places a pair alone has the bits of the whole pose: bodies of one tree, of a body and the world, of two trees.
static void test_pair_poses(void **state) {
  (void)state;
  tgError e = {0};
  Rig rigs[2] = {rig_of_model(tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, &e), "toi", NULL, &e),
                 rig_of_text(SCENE(LOWER, BRANCHES), "toi", NULL)};
  tgtRandom r = {.s = 5};
  int pairs = 0;
  for (int k = 0; k < 2; k++) {
    tgSim *s = rigs[k].s;
    const tgModel *m = &s->m;
    tgReal v0[MOST], v1[MOST], w[MOST], x[MOST], u[2][MOST];
    for (int d = 0; d < m->nv; d++) {
      v0[d] = tgt_uniform(&r, -20, 20);
      v1[d] = v0[d] + tgt_uniform(&r, -5, 5);
    }
    tgiFlight path = {s->qpos, v0, v1, span};
    for (int p = 0; p < m->npair; p++, pairs++) {
      tgReal t = tgt_uniform(&r, 0, span);
      int g[2] = {m->pair_geom1[p], m->pair_geom2[p]};
      tgi_flight_pose(m, &path, t, w, x, &s->start, u[0]);
      tgi_flight_pair(m, &path, t, p, w, x, &s->trial, u[1]);
      for (int i = 0; i < 2; i++) {
        assert_memory_equal(s->start.geom_xpos + 3 * g[i], s->trial.geom_xpos + 3 * g[i], 3 * sizeof *x);
        assert_memory_equal(s->start.geom_xmat + 9 * g[i], s->trial.geom_xmat + 9 * g[i], 9 * sizeof *x);
        for (int d = m->body_lastdof[m->geom_body[g[i]]]; d >= 0; d = m->dof_parent[d]) {
          assert_memory_equal(s->start.S + 6 * d, s->trial.S + 6 * d, 6 * sizeof *x);
          assert_memory_equal(u[0] + d, u[1] + d, sizeof *x);
        }
      }
    }
    drop(&rigs[k]);
  }
  assert_true(pairs > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths), cmocka_unit_test(test_direction), cmocka_unit_test(test_faces),
                                     cmocka_unit_test(test_pair_poses), cmocka_unit_test(test_parabola)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
