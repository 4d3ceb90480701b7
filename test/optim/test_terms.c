// test_terms.c: the rows of every loss term: residuals against what they mean, Jacobians against differences on the manifold.
#include <stdlib.h>

#include "optim/terms.h"
#include "step/event.h"
#include "step/impulse_parts.h"
#include "support/deriv.h"
#include "support/task.h"

static const char *const model =
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
    "<geom name='egg' type='ellipsoid' size='0.3 0.2 0.1' pos='-1 0 1'/>"
    "<body name='free' pos='0 0 2'><freejoint name='root'/><geom name='box' type='box' size='0.1 0.2 0.3'/>"
    "<body name='fin' pos='0.2 0.1 0'><joint name='hinge' axis='0 1 1'/>"
    "<geom name='fin' type='box' size='0.1 0.1 0.2' pos='0.1 0 0.1'/></body></body>"
    "<body name='arm' pos='2 0 2'><joint name='shoulder' type='ball'/><geom name='arm' type='capsule' size='0.05 0.3' pos='0 0 -0.3'/>"
    "<body name='hand' pos='0 0 -0.6'><joint name='wrist' axis='0 1 0'/><joint name='reach' type='slide' axis='1 0 0.5'/>"
    "<geom name='hand' type='sphere' size='0.1' pos='0.1 0 0'/><site name='tip' pos='0.1 0.2 -0.6'/></body></body></worldbody>"
    "<actuator><motor joint='wrist'/><motor name='hip' joint='hinge'/></actuator>"
    "<keyframe><key name='other' qpos='1 2 3 0.6 0 0.8 0 0.4 0.8 0 0.6 0 -0.3 0.2'/></keyframe></mujoco>";

static const char *const task =
    "model: m.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\ncontrols: {}\nlosses:\n"
    "- {term: body_position, name: fin, target: [0.1, 0.2, 0.3], axes: xz, weight: 1}\n"
    "- {term: site_position, name: tip, target: [0.1, 0.2, 0.3], weight: 1}\n"
    "- {term: body_com, name: hand, target: [0.1, 0.2, 0.3], weight: 1}\n"
    "- {term: joint_position, name: wrist, target: [0.2], weight: 1}\n"
    "- {term: joint_velocity, name: reach, target: [0.2], weight: 1}\n"
    "- {term: velocity, weight: 1}\n- {term: velocity, name: shoulder, weight: 1}\n"
    "- {term: control, weight: 1}\n- {term: control, name: hip, weight: 1}\n"
    "- {term: pose, weight: 1}\n- {term: pose, name: root, keyframe: other, weight: 1}\n"
    "- {term: height, name: hand, weight: 1}\n- {term: height, name: hand, target: [9], weight: 1}\n"
    "- {term: body_velocity, name: hand, target: [1, 2, 3], axes: yz, weight: 1}\n- {term: body_velocity, name: fin, weight: 1}\n"
    "- {term: body_orientation, name: hand, target: [0.5, 0.5, -0.5, 0.5], weight: 1}\n"
    "- {term: gap, geoms: [hand, box], weight: 1}\n- {term: gap, geoms: [fin, arm], target: [0.5], weight: 1}\n"
    "- {term: gap, geoms: [floor, fin], at: least, weight: 1}\n- {term: gap, geoms: [egg, box], weight: 1}\n"
    "- {term: gap, geoms: [arm, egg], at: all, weight: 1}\n- {term: speed, weight: 1}\n"
    "optimizer: {method: adam, iterations: 1}\n";
enum { TERMS = 22, NQ = 14, NV = 12, NU = 2, NZ = 2 * NV + NU, ROWS = 16 };

typedef struct Case { tgSim *sim; const tgTerm *term; tgTermRows rows; } Case;

static void rows_make(Case *c) {
  tgTermRows *w = &c->rows;
  *w = (tgTermRows){.nz = NZ, .r = calloc(ROWS, 8), .slope = calloc(ROWS, 8), .curve = calloc(ROWS, 8), .first = calloc(ROWS, 4),
                    .count = calloc(ROWS, 4), .J = calloc(ROWS * NZ, 8), .work = calloc(6 * NV + NQ, 8)};
}
static void rows_free(Case *c) {
  void *all[] = {c->rows.r, c->rows.slope, c->rows.curve, c->rows.first, c->rows.count, c->rows.J, c->rows.work};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

// the sim at x = (q, v, u)
static void show(Case *c, const double *x) {
  memcpy(tg_sim_qpos(c->sim), x, NQ * sizeof *x);
  memcpy(tg_sim_qvel(c->sim), x + NQ, NV * sizeof *x);
  memcpy(tg_sim_ctrl(c->sim), x + NQ + NV, NU * sizeof *x);
  assert_int_equal(tg_sim_forward(c->sim), TG_OK);
}
static tgStatus residuals(void *ctx, const tgReal *x, tgReal *y) {
  Case *c = ctx;
  show(c, x);
  tgi_term_rows(c->sim, &c->sim->start, c->term, false, &c->rows);
  memcpy(y, c->rows.r, (size_t)c->rows.n * sizeof *y);
  return TG_OK;
}
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  Case *c = ctx;
  tg_model_integrate(tg_sim_model(c->sim), x, d, out);
  for (int i = 0; i < NV + NU; i++) out[NQ + i] = x[NQ + i] + d[NV + i];
}

static void at_random(const tgModel *m, tgtRandom *rng, double *x) {
  double step[NV];
  for (int i = 0; i < NV; i++) step[i] = tgt_uniform(rng, -1.5, 1.5);
  tg_model_integrate(m, m->qpos0, step, x);
  for (int i = NQ; i < NQ + NV + NU; i++) x[i] = tgt_uniform(rng, -2, 2);
}

static void jacobians(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, task);
  Case c = {.sim = tg_sim_create(tg_task_model(t), NULL, NULL, NULL)};
  rows_make(&c);
  tgtRandom rng = {3};
  assert_int_equal(t->nterm, TERMS);
  for (int i = 0; i < TERMS; i++)
    for (int trial = 0; trial < 3; trial++) {
      double x[NQ + NV + NU], D[ROWS * NZ] = {0};
      c.term = &t->term[i];
      at_random(t->model, &rng, x);
      show(&c, x);
      double value = tgi_term_rows(c.sim, &c.sim->start, c.term, true, &c.rows), sum = 0;
      for (int k = 0; k < c.rows.n; k++) {
        memcpy(D + k * NZ + c.rows.first[k], c.rows.J + k * NZ + c.rows.first[k], (size_t)c.rows.count[k] * sizeof *D);
        // the value is phi(r), its slope and curvature those of +-r^2
        double r = c.rows.r[k], sign = c.term->kind == TG_TERM_HEIGHT && r > 0 ? -1 : 1;
        sum += sign * r * r;
        check_close(c.rows.slope[k], 2 * sign * r, 0);
        check_close(c.rows.curve[k], sign > 0 ? 2 : 0, 0);
      }
      check_close(value, sum, 1e-14 * (1 + fabs(sum)));
      tgtDeriv d = {.name = c.term->label, .nx = NQ + NV + NU, .nt = NZ, .ny = c.rows.n, .map = residuals, .retract = retract, .ctx = &c,
                    .tol = 1e-9, .numeric = true};
      tgt_check_jacobian(&d, x, D);
    }
  rows_free(&c);
  tg_sim_free(c.sim);
  tg_task_free(t);
}

// what the residuals mean, from elsewhere: a body's velocity is the motion of its origin, an orientation's residual is as long as the
// angle between the two frames, a pose is reached by its residual
static void meanings(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, task);
  const tgModel *m = tg_task_model(t);
  Case c = {.sim = tg_sim_create(m, NULL, NULL, NULL)};
  rows_make(&c);
  tgtRandom rng = {4};
  double x[NQ + NV + NU], y[NQ + NV + NU], p[2][3], h = 1e-5;
  at_random(m, &rng, x);
  int fin = tg_model_find(m, TG_THING_BODY, "fin"), hand = tg_model_find(m, TG_THING_BODY, "hand");
  memcpy(y, x, sizeof y);
  for (int side = 0; side < 2; side++) {
    double step[NV];
    for (int i = 0; i < NV; i++) step[i] = (side == 0 ? h : -h) * x[NQ + i];
    tg_model_integrate(m, x, step, y);
    show(&c, y);
    memcpy(p[side], c.sim->start.xpos + 3 * fin, sizeof p[side]);
  }
  show(&c, x);
  c.term = &t->term[14];
  tgi_term_rows(c.sim, &c.sim->start, c.term, false, &c.rows);
  assert_int_equal(c.rows.n, 3);
  for (int k = 0; k < 3; k++) check_close(c.rows.r[k], (p[0][k] - p[1][k]) / (2 * h), 1e-8);
  c.term = &t->term[15];
  double value = tgi_term_rows(c.sim, &c.sim->start, c.term, false, &c.rows);
  const double *R = c.sim->start.xmat + 9 * hand;
  // the target (0.5, 0.5, -0.5, 0.5) turns x to -y, y to -z and z to x: its matrix, by hand, has these columns
  static const double target[9] = {0, -1, 0, 0, 0, -1, 1, 0, 0};
  double trace = 0;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) trace += target[3 * k + i] * R[3 * k + i];
  check_close(sqrt(value), acos((trace - 1) / 2), 1e-12);
  c.term = &t->term[9];
  tgi_term_rows(c.sim, &c.sim->start, c.term, false, &c.rows);
  tg_model_integrate(m, m->qpos0, c.rows.r, y);
  for (int i = 0; i < NQ; i++) check_close(y[i], x[i], 1e-12);
  rows_free(&c);
  tg_sim_free(c.sim);
  tg_task_free(t);
}

// with a tolerance: max(0, d^2 - tolerance^2); inside and on the edge no slope, outside the slope of d^2, on both sides of the edge
static void tolerance(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><option gravity='0 0 0'/><worldbody><body name='b' pos='1 2 3'><freejoint name='root'/>"
                       "<geom type='sphere' size='0.1' mass='2'/></body>"
                       "</worldbody></mujoco>",
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 2, timestep: 0.1}\n"
                       "initial: [{joint: root, part: position, entries: [0, 1]}]\n"
                       "losses:\n- {term: body_com, name: b, target: [1, 2, 9], axes: xy, tolerance: 0.5, weight: 3}\n"
                       "- {term: body_com, name: b, target: [1, 2, 9], axes: xy, tolerance: 0.5, weight: 4, at: all}\n"
                       "optimizer: {method: adam, iterations: 1}\n");
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  assert_int_equal(tg_task_size(t), 2);
  static const double at[][2] = {{0, 0}, {0.3, 0.4}, {0.3, 0.4 - 1e-9}, {0.3, 0.4 + 1e-9}, {0.3, -0.399}, {2, 1}, {0.5001, 0}};
  for (int i = 0; i < 7; i++) {
    double f, g[2], value, distance, d2 = at[i][0] * at[i][0] + at[i][1] * at[i][1], over = fmax(0, d2 - 0.25);
    bool out = i == 3 || i > 4;
    assert_int_equal(tg_evaluate(e, at[i], &f, g, NULL, NULL, NULL, NULL), TG_OK);
    if (i != 1) check_close(f, 7 * over, 1e-14);   // at rest: the mean over the steps is that of one
    for (int k = 0; i != 1 && k < 2; k++) check_close(g[k], out ? 14 * at[i][k] : 0, 1e-14);
    tg_evaluator_term(e, 0, &value, &distance);
    if (i != 1) check_close(value, over, 1e-14);
    check_close(distance, sqrt(d2), 1e-14);
  }
  tg_evaluator_free(e);
  tg_task_free(t);
}

// a term at a time looks at the state of the nearest step, and the gradient goes through it
static void at_a_time(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><option gravity='0 0 0'/><worldbody><body name='b'><joint name='x' type='slide' axis='1 0 0'/>"
                       "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>",
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 10, timestep: 0.1}\n"
                       "start: {joints: [{joint: x, velocity: [3]}]}\ncontrols: {}\n"
                       "losses: [{term: joint_position, name: x, time: 0.42, weight: 5}]\noptimizer: {method: adam, iterations: 1}\n");
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double u[10] = {0}, g[10], f;
  assert_int_equal(tg_evaluate(e, u, &f, g, NULL, NULL, NULL, NULL), TG_OK);
  // x after 4 steps is 1.2; u_t moves it by h^2/m (4 - t)
  check_close(f, 5 * 1.2 * 1.2, 1e-12);
  for (int i = 0; i < 10; i++) check_close(g[i], i < 4 ? 5 * 2 * 1.2 * 0.01 / 2 * (4 - i) : 0, 1e-12);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// ---- near misses between states ----

enum { MISSES = 40, TIMES = 400 };

static tgStatus loss_of(void *ctx, const tgReal *x, tgReal *y) { return tg_evaluate(ctx, x, y, NULL, NULL, NULL, NULL, NULL); }

// the least of the term's residual over many times of each step's parabola, and whether that is the start,
// which does not count
static double least_of_times(const tgTask *t, const tgTerm *term, const double *q, const double *v, bool *at_start) {
  const tgModel *m = t->model;
  tgSim *s = tg_sim_create(m, NULL, NULL, NULL);
  Case c = {.sim = s, .term = term};
  rows_make(&c);
  double least = INFINITY, d[NV], w[NV];
  for (int k = 0; k < t->steps; k++) {
    tg_model_difference(m, q + k * m->nq, q + (k + 1) * m->nq, d);
    for (int i = 0; i <= TIMES; i++) {
      double tau = (double)i / TIMES, a = (tau - tau * tau) * t->h, b = tau * tau;
      for (int j = 0; j < m->nv; j++) w[j] = a * v[k * m->nv + j] + b * d[j];
      tg_model_integrate(m, q + k * m->nq, w, tg_sim_qpos(s));
      assert_int_equal(tg_sim_forward(s), TG_OK);
      tgi_term_rows(s, &s->start, term, false, &c.rows);
      if (c.rows.r[0] >= least) continue;
      least = c.rows.r[0];
      *at_start = k == 0 && i == 0;
    }
  }
  rows_free(&c);
  tg_sim_free(s);
  return least;
}

// Two bodies that turn fly past each other in long steps, nearest between two states: value against dense times of the way, derivatives in
// starts, places and sizes against extrapolated differences.
static void passes_between_states(void **state) {
  (void)state;
  static const char *const xml =
      "<mujoco><option gravity='0.3 -0.2 -2'/><worldbody><body name='a'><freejoint name='a'/>"
      "<geom name='a' type='capsule' size='0.06 0.1' mass='1'/>"
      "<geom pos='.1 .05 0' size='.02' mass='.4' contype='0' conaffinity='0'/></body>"
      "<body name='b' pos='1 0 0.5'><freejoint name='b'/>"
      "<geom name='b' type='ellipsoid' size='0.1 0.07 0.12' mass='1'/></body></worldbody></mujoco>";
  static const char *const text =
      "model: m.xml\ncontact: toi\nhorizon: {steps: 5, timestep: 0.1}\n"
      "initial: [{joint: a, part: velocity}, {joint: b, part: position}, {joint: b, part: velocity}]\n"
      "parameters: [{name: geom_size, of: b}, {name: geom_pos, of: a}]\n"
      "losses: [{term: gap, geoms: [a, b], at: least, weight: 3}]\noptimizer: {method: lbfgs, iterations: 1}\n";
  tgTask *t = tgt_task(xml, text);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  tgtRandom rng = {11};
  int n = tg_task_size(t), inside = 0;
  double worst = 0;
  for (int trial = 0; trial < MISSES; trial++) {
    double x[40], g[40], f, q[6 * 14], v[6 * 12];
    assert_true(n <= 40);
    tg_task_start(t, 0, x);
    for (int i = 0; i < 6; i++) x[i] = tgt_uniform(&rng, -3, 3) + (i == 0 ? 5 : 0);
    for (int i = 6; i < 12; i++) x[i] = tgt_uniform(&rng, -0.4, 0.4);
    for (int i = 12; i < 18; i++) x[i] = tgt_uniform(&rng, -3, 3);
    tgRolloutResult result;
    assert_int_equal(tg_evaluate(e, x, &f, g, q, v, NULL, &result), TG_OK);
    bool at_start = false;
    double least = least_of_times(t, &t->term[0], q, v, &at_start), at_states = INFINITY, r = sqrt(f / 3);
    if (r < 1e-5 || at_start) continue;   // they meet, or part all along
    check_true(r <= least + 1e-9 && r >= least - 1e-4, "trial %d: %.12g found, %.12g over dense times", trial, r, least);
    tgSim *s = tg_sim_create(t->model, NULL, NULL, NULL);
    Case c = {.sim = s, .term = &t->term[0]};
    rows_make(&c);
    for (int k = 1; k <= t->steps; k++) {
      memcpy(tg_sim_qpos(s), q + 14 * k, 14 * sizeof *q);
      assert_int_equal(tg_sim_forward(s), TG_OK);
      tgi_term_rows(s, &s->start, &t->term[0], false, &c.rows);
      at_states = fmin(at_states, c.rows.r[0]);
    }
    rows_free(&c);
    tg_sim_free(s);
    if (!(r < at_states - 1e-4)) continue;
    inside++;
    tgtDeriv d = {.name = "near miss", .nx = n, .nt = n, .ny = 1, .map = loss_of, .ctx = e, .tol = 1e-8, .numeric = true};
    char why[256];
    tgiWorst error = tgt_jacobian_error(&d, x, g, why);
    check_true(error.error <= d.tol, "trial %d: %s", trial, why);
    worst = fmax(worst, error.error);
  }
  printf("%d near misses between states, worst derivative %.2g\n", inside, worst);
  check_true(inside >= 10 && worst > 0, "%d near misses between states", inside);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// the least of the term's residual over times of each piece of the steps from these states, in how many pieces its step is, and that at the
// states
static double least_of_pieces(const tgTask *t, const tgTerm *term, const double *q, const double *v, int *pieces, double *at_states) {
  enum { SHARES = 30 };
  const tgModel *m = t->model;
  tgContact *toi = tg_contact_create(m, "toi", NULL, NULL);
  tgSim *s = tg_sim_create(m, toi, NULL, NULL), *see = tg_sim_create(m, NULL, NULL, NULL);
  Case c = {.sim = see, .term = term};
  rows_make(&c);
  double least = INFINITY, w[NV], u[NV];
  for (int k = 0; k < t->steps; k++) {
    memcpy(tg_sim_qpos(s), q + k * m->nq, (size_t)m->nq * sizeof *q);
    memcpy(tg_sim_qvel(s), v + k * m->nv, (size_t)m->nv * sizeof *v);
    assert_int_equal(tg_sim_step_growing(s, t->h, NULL), TG_OK);
    int n = tgi_events(s)->n;
    tgi_parts_swap_memory(s);
    for (int p = 0; p < n; p++) {
      if (tgi_events(s)->piece[p].kind == TGI_PIECE_IMPACT) continue;
      assert_int_equal(tgi_piece_load(s, p), TG_OK);
      tgiFlight path = tgi_piece_path(s, p, tgi_events(s)->s[p]);
      for (int i = 0; i <= SHARES; i++) {
        tgi_flight_at(&s->m, &path, tgi_events(s)->t[p] * i / SHARES, w, u);
        tg_model_integrate(m, s->start.q, w, tg_sim_qpos(see));
        assert_int_equal(tg_sim_forward(see), TG_OK);
        tgi_term_rows(see, &see->start, term, false, &c.rows);
        if ((p == 0 && i == 0) || (p == n - 1 && i == SHARES)) *at_states = fmin(*at_states, c.rows.r[0]);
        if (c.rows.r[0] >= least) continue;
        least = c.rows.r[0];
        *pieces = n;
      }
    }
    tgi_parts_swap_memory(s);
  }
  rows_free(&c);
  tg_sim_free(s);
  tg_sim_free(see);
  tg_contact_free(toi);
  return least;
}

static int passings = 1;   // of each kind, that come out of several pieces; given as the program's argument

// The same in steps in pieces: b bounces off a floor as a comes past, or turns so fast that its flows are halved. Value against times of
// each piece, derivatives in starts, a place and sizes against extrapolated differences.
static void passes_between_pieces(void **state) {
  (void)state;
  static const char *const xml =
      "<mujoco><option gravity='0.3 -0.2 -2'/><worldbody>%s<body name='a'><freejoint name='a'/>"
      "<geom name='a' type='capsule' size='0.06 0.1' mass='1'/></body>"
      "<body name='b' pos='1 0 0.5'><freejoint name='b'/>"
      "<geom name='b' type='ellipsoid' size='0.1 0.07 0.12' mass='1'/></body></worldbody></mujoco>";
  static const char *const text =
      "model: m.xml\ncontact: toi\nhorizon: {steps: 4, timestep: 0.1}\n"
      "initial: [{joint: a, part: velocity}, {joint: b, part: position}, {joint: b, part: velocity}]\n"
      "parameters: [{name: geom_size, of: b}, {name: geom_pos, of: a}]\n"
      "losses: [{term: gap, geoms: [a, b], at: least, weight: 3}]\noptimizer: {method: lbfgs, iterations: 1}\n";
  for (int spins = 0; spins < 2; spins++) {
    char scene[900];
    snprintf(scene, sizeof scene, xml, spins ? "" : "<geom type='plane' size='5 5 1' pos='0 0 -.3'/>");
    tgTask *t = tgt_task(scene, text);
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    tgtRandom rng = {7};
    int n = tg_task_size(t), inside = 0, between = 0, most = passings;
    double worst = 0;
    for (int trial = 0; inside < most; trial++) {
      assert_true(trial < 200);
      double x[40], g[40], f, q[5 * 14], v[5 * 12], at_states = INFINITY;
      int pieces = 1;
      tg_task_start(t, 0, x);
      for (int i = 0; i < 18; i++) x[i] = i >= 6 && i < 12 ? tgt_uniform(&rng, -0.2, 0.2) : tgt_uniform(&rng, -1.5, 1.5);
      x[0] += 5;
      if (spins) x[15] = tgt_uniform(&rng, 9, 12);
      else x[14] = tgt_uniform(&rng, -8, -3);
      tgRolloutResult result;
      assert_int_equal(tg_evaluate(e, x, &f, g, q, v, NULL, &result), TG_OK);
      double r = sqrt(f / 3), least = least_of_pieces(t, &t->term[0], q, v, &pieces, &at_states);
      if (r < 1e-5 || pieces < 2 || r > at_states - 1e-4) continue;
      check_true(r <= least + 1e-9 && r >= least - 2e-3, "%d, trial %d: %.12g found, %.12g over times", spins, trial, r, least);
      inside++;
      between += fabs(r - least) < 1e-12;   // where two pieces meet
      tgtDeriv d = {.name = "near miss", .nx = n, .nt = n, .ny = 1, .map = loss_of, .ctx = e, .tol = 1e-7, .numeric = true, .step = 1e-4};
      char why[256];
      tgiWorst error = tgt_jacobian_error(&d, x, g, why);
      check_true(error.error <= d.tol, "%d, trial %d, %d pieces: %s", spins, trial, pieces, why);
      worst = fmax(worst, error.error);
    }
    printf("%s: %d near misses in steps of several pieces, %d at an impact, worst derivative %.2g\n", spins ? "turning" : "impacts", inside,
           between, worst);
    check_true(most < 30 || spins || between > 0, "none at an impact");
    tg_evaluator_free(e);
    tg_task_free(t);
  }
}

// A ball flies past another: nothing touches, so that the place of the other has no derivative, but the least gap of the flight does. It
// is where the path comes nearest, and on it an optimiser finds the blow, after which the other's place has one too.
static void near_miss(void **state) {
  (void)state;
  static const char *const balls =
      "<mujoco><option gravity='0 0 0'/><worldbody><body name='a'><joint name='ax' type='slide' axis='1 0 0'/>"
      "<joint name='az' type='slide' axis='0 0 1'/><geom name='a' type='sphere' size='0.1' mass='1'/></body>"
      "<body name='b' pos='1 0 0.5'><joint name='bx' type='slide' axis='1 0 0'/><geom name='b' type='sphere' size='0.1' mass='1'/></body>"
      "</worldbody></mujoco>";
  static const char *const head =
      "model: m.xml\ncontact: toi\nhorizon: {steps: 20, timestep: 0.1}\nstart: {joints: [{joint: ax, velocity: [1]}]}\n"
      "initial: [{joint: az, part: velocity}]\nlosses: [%s]\noptimizer: {method: lbfgs, iterations: %d}\n";
  char text[600];
  snprintf(text, sizeof text, head, "{term: gap, geoms: [a, b], at: least, weight: 1}", 20);
  tgTask *t = tgt_task(balls, text);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  // at rest in z: past (1, 0.5), 0.5 away, 0.3 m clear at x = 1; with speed w in z the state at t = 1 has the gap sqrt((w - .5)^2) - .2
  double w = 0, g, f;
  assert_int_equal(tg_evaluate(e, &w, &f, &g, NULL, NULL, NULL, NULL), TG_OK);
  check_close(f, 0.09, 1e-12);
  check_close(g, -2 * 0.3, 1e-9);
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->best_loss < 1e-6, "the least gap is still %g m", sqrt(o->best_loss));
  w = o->best[0] + 1e-3;
  tg_optimum_free(o);
  tg_evaluator_free(e);
  tg_task_free(t);
  snprintf(text, sizeof text, head, "{term: joint_position, name: bx, target: [1], weight: 1}", 1);
  t = tgt_task(balls, text);
  e = tg_evaluator_create(t, 0, NULL);
  assert_int_equal(tg_evaluate(e, &w, &f, &g, NULL, NULL, NULL, NULL), TG_OK);
  check_true(f < 1 && fabs(g) > 1e-3, "loss %g, gradient %g: no blow", f, g);
  tg_evaluator_free(e);
  tg_task_free(t);
}

static void refusals(void **state) {
  (void)state;
#define TASK(loss) \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\ncontrols: {}\n" \
  "losses: [{" loss ", weight: 1}]\noptimizer: {method: adam, iterations: 1}\n"
  static const char *const bad[][2] = {
      {TASK("term: height"), "needs a name"},
      {TASK("term: height, name: nobody"), "no body 'nobody'"},
      {TASK("term: control, name: nobody"), "no actuator 'nobody'"},
      {TASK("term: joint_position, name: root"), "not a hinge or slide"},
      {TASK("term: pose, keyframe: nowhere"), "no keyframe 'nowhere'"},
      {TASK("term: velocity, keyframe: other"), "takes no keyframe"},
      {TASK("term: body_orientation, name: hand, target: [0, 0, 0, 0]"), "length 0"},
      {TASK("term: body_orientation, name: hand"), "target of 4"},
      {TASK("term: pose, time: 0.05"), "not within the horizon"},
      {TASK("term: pose, time: 0.01, at: all"), "at: time"},
      {TASK("term: pose, at: time"), "at: time"},
      {TASK("term: height, name: hand, axes: x"), "axes"},
      {TASK("term: height, name: hand, tolerance: 0.1"), "takes no tolerance"},
      {TASK("term: body_com, name: hand, target: [0, 0, 0], tolerance: -0.1"), "tolerance -0.1"},
      {TASK("term: gap, name: hand"), "geoms: [A, B]"},
      {TASK("term: gap, geoms: [hand, tail]"), "no geom 'tail'"},
      {TASK("term: gap, geoms: [floor, egg]"), "of one body"},
      {TASK("term: height, name: hand, geoms: [hand, box]"), "takes no geoms"},
      {TASK("term: height, name: hand, at: least"), "has no least"},
      {TASK("term: gap, geoms: [hand, box], tolerance: 0.1"), "takes no tolerance"},
      {TASK("term: speed, name: wrist"), "velocity is of one joint"},
      {"effort: much\n" TASK("term: height, name: hand"), "'much' is neither a number"},
      {"effort: -1\n" TASK("term: height, name: hand"), "'-1' is neither a number"},
      {"effort: 0.1\n" TASK("term: speed"), "losses are 0 at the start"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgError e = {0};
    tgTask *t = tgt_task_try(model, bad[i][0], &e);
    check_true(t == NULL, "accepted: %s", bad[i][0]);
    check_true(e.status < 0 && strstr(e.text, bad[i][1]) != NULL, "'%s' does not say '%s'", e.text, bad[i][1]);
  }
}

// what actuators drive, the mean of its squares; and as `effort`, by a share of the loss of the start
static void speed_and_effort(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, task);
  const tgModel *m = tg_task_model(t);
  Case c = {.sim = tg_sim_create(m, NULL, NULL, NULL), .term = &t->term[TERMS - 1]};
  rows_make(&c);
  tgtRandom rng = {5};
  double x[NQ + NV + NU];
  int wrist, hinge;
  at_random(m, &rng, x);
  show(&c, x);
  tg_model_joint(m, tg_model_find(m, TG_THING_JOINT, "wrist"), NULL, NULL, NULL, &wrist);
  tg_model_joint(m, tg_model_find(m, TG_THING_JOINT, "hinge"), NULL, NULL, NULL, &hinge);
  double a = x[NQ + wrist], b = x[NQ + hinge];
  check_close(tgi_term_rows(c.sim, &c.sim->start, c.term, true, &c.rows), (a * a + b * b) / 2, 1e-14);
  assert_int_equal(c.rows.n, 2);
  rows_free(&c);
  tg_sim_free(c.sim);
  tg_task_free(t);

  // hand: drawn at x = 2.1 (site tip 0.1 in x), weight 3, so that the start has 3 * (2.1 - 0.1)^2 = 12; what counts later is not in it
  static const char *const small = "model: m.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\ncontrols: {}\n%slosses:\n"
    "- {term: site_position, name: tip, target: [0.1, 0, 0], axes: x, weight: 3}\n- {term: control, weight: 5}\n"
    "- {term: site_position, name: tip, target: [9, 0, 0], weight: 7, stage: 1}\n- {term: gap, geoms: [floor, fin], at: least, weight: 1}\n"
    "optimizer: {method: adam, iterations: 1}\nrefine: [{timestep: 0.005}]\n";
  static const struct { const char *line; int terms; double weight; } given[] = {
    {"", 4, 0}, {"effort: off\n", 4, 0}, {"effort: 0.25\n", 5, 0.25 * 12}, {"effort: 0\n", 4, 0}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    char text[1200];
    snprintf(text, sizeof text, small, given[i].line);
    t = tgt_task(model, text);
    assert_int_equal(t->nterm, given[i].terms);
    if (given[i].terms == 5) {
      assert_string_equal(t->term[4].label, "effort");
      check_close(t->term[4].weight, given[i].weight, 1e-12);
      tgTask *stage = tg_task_stage(t, 1, NULL);
      check_close(stage->term[4].weight, given[i].weight, 1e-12);
      tg_task_free(stage);
    }
    tg_task_free(t);
  }
}

// A plate rests beside a ball: its gap is as little at every state. The derivative is that of the first of them, which the label tells and
// the check compares with; once it moves towards the ball there is one least, and the label is exact. At the end of the control's range the
// check goes inwards, and the slope too.
static void least_at_rest(void **state) {
  (void)state;
  static const char *const scene =
    "<mujoco><option gravity='0 0 0'/><worldbody><body name='plate'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom name='plate' type='box' size='0.1 0.1 0.1' mass='1'/></body>"
    "<body pos='0.5 0 0'><geom name='ball' type='sphere' size='0.1'/></body>"
    "</worldbody><actuator><motor joint='x' ctrlrange='-2 2'/></actuator></mujoco>";
  for (int moves = 0; moves < 3; moves++) {
    char text[400];
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 8, timestep: 0.01}\ncontrols: {start: %d}\nlosses:\n"
             "- {term: gap, geoms: [plate, ball], weight: 2, at: least}\n- {term: joint_position, name: x, target: [1], weight: 1}\n"
             "effort: off\noptimizer: {method: adam, iterations: 1}\n", moves);
    tgTask *t = tgt_task(scene, text);
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    double x[8], g[8], loss;
    tgRolloutResult result;
    tgRolloutRun run;
    tgGradCheck check = {.pass = true};
    tg_task_start(t, 0, x);
    assert_int_equal(tg_evaluate(e, x, &loss, g, NULL, NULL, NULL, &result), TG_OK);
    tgGradLabel label = moves == 1 ? TG_GRAD_EXACT : TG_GRAD_ONE_SIDED;
    assert_int_equal(result.grad.label, label);
    check_true(moves || strstr(result.grad.reason, "gap plate ball is least at several states") != NULL, "'%s'", result.grad.reason);
    assert_int_equal(tg_evaluator_run(e, x, &run), TG_OK);
    tgGradCheckOptions o = tg_grad_check_default();
    assert_int_equal(tg_grad_check_rollout(tg_evaluator_rollout(e), &run, &o, &check), TG_OK);
    for (int i = 0; i < check.nblock; i++)
      check_true(check.block[i].pass && check.block[i].label == label, "%s: error %g, %s",
                 check.block[i].name, check.block[i].error, tg_grad_label_text(check.block[i].label));
    // what was kept for the check is chosen anew after it
    x[0] = -5;
    double other;
    assert_int_equal(tg_evaluate(e, x, &other, NULL, NULL, NULL, NULL, NULL), TG_OK);
    tgEvaluator *fresh = tg_evaluator_create(t, 0, NULL);
    assert_int_equal(tg_evaluate(fresh, x, &loss, NULL, NULL, NULL, NULL, NULL), TG_OK);
    assert_true(other == loss);
    tg_evaluator_free(fresh);
    tg_evaluator_free(e);
    tg_task_free(t);
  }
}

// a block whose face lies parallel to that of a wall, by gravity towards the wall and what else its joints are
static const char *const faces =
    "<mujoco><option gravity='%g 0 0'/><worldbody><body name='block'><joint name='x' type='slide' axis='1 0 0'/>%s"
    "<geom name='block' type='box' size='0.1 0.2 0.1' mass='1'/></body>"
    "<body pos='0.5 0 0'><geom name='wall' type='box' size='0.1 1 1'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>",
                  *const turns = "<joint name='turn' axis='0 0 1'/>";

// The face of a block lies parallel to that of a wall: turned either way the block comes nearer, by half of its width times the angle. The
// derivative is that of one side, which the label tells. Where the block does not turn, or is turned already, or nothing asks for another
// gap, there is no kink. The check agrees, at the kink with the sides; a gap that is as wanted has no slope, to which differences could be
// compared.
static void parallel_faces(void **state) {
  (void)state;
  enum { KINK, HELD, TURNED, CONTENT };
  for (int kind = KINK; kind <= CONTENT; kind++) {
    char scene_text[700], text[500];
    snprintf(scene_text, sizeof scene_text, faces, 0.0, kind == HELD ? "" : turns);
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 1, timestep: 0.01}\ninitial: [%s{joint: x, part: position}]\n"
             "losses: [{term: gap, geoms: [block, wall], target: [%g], weight: 2}]\noptimizer: {method: adam, iterations: 1}\n",
             kind == HELD ? "" : "{joint: turn, part: position}, ", kind == CONTENT ? 0.3 : 0.1);
    tgTask *t = tgt_task(scene_text, text);
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    double x[2] = {0, 0}, g[2], at, above, below;
    if (kind == TURNED) x[0] = 0.01;
    tgRolloutResult result;
    assert_int_equal(tg_evaluate(e, x, &at, g, NULL, NULL, NULL, &result), TG_OK);
    assert_int_equal(result.grad.label, kind == KINK ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT);
    check_true(kind != KINK || strstr(result.grad.reason, "gap block wall is least at several places") != NULL, "'%s'", result.grad.reason);
    if (kind == KINK) {
      double small = 1e-6;
      x[0] = small;
      assert_int_equal(tg_evaluate(e, x, &above, NULL, NULL, NULL, NULL, NULL), TG_OK);
      x[0] = -small;
      assert_int_equal(tg_evaluate(e, x, &below, NULL, NULL, NULL, NULL, NULL), TG_OK);
      // 2 (gap - 0.1)^2 falls by 2 * 2 * 0.2 * 0.2 either way
      check_close((above - at) / small, -0.16, 1e-4);
      check_close((below - at) / small, -0.16, 1e-4);
      check_close(fabs(g[0]), 0.16, 1e-10);
      check_close(g[1], -0.8, 1e-10);
      x[0] = 0;
    }
    tgRolloutRun run;
    tgGradCheck check = {.pass = true};
    tgGradCheckOptions o = tg_grad_check_default();
    assert_int_equal(tg_evaluator_run(e, x, &run), TG_OK);
    if (kind != CONTENT) assert_int_equal(tg_grad_check_rollout(tg_evaluator_rollout(e), &run, &o, &check), TG_OK);
    for (int i = 0; i < check.nblock; i++)
      check_true(check.block[i].pass, "%d: %s: error %g, %s", kind, check.block[i].name, check.block[i].error, check.block[i].reason);
    tg_evaluator_free(e);
    tg_task_free(t);
  }
}

// The methods that expand the loss say it too, and which state is the first.
static void parallel_faces_expanded(void **state) {
  (void)state;
  static const char *const method[] = {"ilqr", "gauss_newton", "shooting", "adam"};
  for (int k = 0; k < 8; k++) {
    char scene_text[700], text[500];
    snprintf(scene_text, sizeof scene_text, faces, 0.0, k < 4 ? turns : "");
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\ncontrols: {every: 1}\n"
             "losses: [{term: gap, geoms: [block, wall], target: [0.1], weight: 2, at: all}]\noptimizer: {method: %s, iterations: 1}\n",
             method[k % 4]);
    tgTask *t = tgt_task(scene_text, text);
    tgOptimizeOptions o = tg_optimize_default();
    tgOptimum *out = tgt_optimize(t, &o);
    const tgGradInfo *g = &out->grad;
    check_true(g->label == (k < 4 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT), "%s: label %d, '%s'", method[k % 4], g->label, g->reason);
    check_true(k >= 4 || (strstr(g->reason, "least at several places") != NULL && g->first_step == 1), "%s: step %d, '%s'", method[k % 4],
               g->first_step, g->reason);
    tg_optimum_free(out);
    tg_task_free(t);
  }
}

// Where the block is nearest between two states: thrown at the wall with v, it comes v^2 / (2 g) nearer.
static void parallel_faces_passing(void **state) {
  (void)state;
  for (int held = 0; held < 2; held++) {
    char scene_text[700];
    const double g = 2, gap = 0.3, v = 0.5, r = gap - v * v / (2 * g);
    snprintf(scene_text, sizeof scene_text, faces, -g, held ? "" : turns);
    tgTask *t = tgt_task(scene_text, "model: m.xml\ncontact: toi\nhorizon: {steps: 5, timestep: 0.1}\n"
                                     "initial: [{joint: x, part: velocity}]\n"
                                     "losses: [{term: gap, geoms: [block, wall], at: least, weight: 3}]\n"
                                     "optimizer: {method: adam, iterations: 1}\n");
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    double slope, f;
    tgRolloutResult result;
    assert_int_equal(tg_evaluate(e, &v, &f, &slope, NULL, NULL, NULL, &result), TG_OK);
    check_close(f, 3 * r * r, 1e-12);
    check_close(slope, 3 * 2 * r * -v / g, 1e-10);
    const tgGradInfo *label = &result.grad;
    check_true(label->label == (held ? TG_GRAD_EXACT : TG_GRAD_ONE_SIDED), "label %d, '%s'", label->label, label->reason);
    check_true(held || (strstr(label->reason, "least at several places") != NULL && label->first_step == 2), "step %d, '%s'",
               label->first_step, label->reason);
    tg_evaluator_free(e);
    tg_task_free(t);
  }
}

// Nothing said: a thousandth of the loss of the start, unless the losses have a price already or a number of the file would change its
// meaning; and why not is told.
static void effort_by_default(void **state) {
  (void)state;
#define TIP "- {term: site_position, name: tip, target: [0.1, 0, 0], axes: x, weight: 3}\n"   // 12 at the start
#define FROM(more) "model: m.xml\ncontact: lcp\nhorizon: {steps: 4, timestep: 0.01}\n" more "optimizer: {method: adam, iterations: 1"
  static const struct { const char *text, *reason; double weight; } given[] = {
    {FROM("controls: {}\nlosses:\n" TIP) "}\n", "", 0.001 * 12},
    {FROM("controls: {}\nlosses:\n" TIP "- {term: joint_velocity, name: wrist, target: [2], weight: 1, at: all}\n") "}\n", "", 0.001 * 16},
    {FROM("controls: {}\neffort: off\nlosses:\n" TIP) "}\n", "", 0},
    {FROM("initial: [{joint: wrist, part: velocity}]\nlosses:\n" TIP) "}\n", "no controls", 0},
    {FROM("controls: {}\nlosses:\n" TIP "- {term: control, weight: 1}\n") "}\n", "have a price", 0},
    {FROM("controls: {}\nlosses:\n" TIP "- {term: velocity, weight: 1, at: all}\n") "}\n", "have a price", 0},
    {FROM("controls: {}\nlosses:\n" TIP "- {term: joint_velocity, name: wrist, weight: 1, at: all}\n") "}\n", "have a price", 0},
    {FROM("controls: {}\nlosses:\n" TIP) ", stop_loss: 0.1}\n", "held to", 0},
    {FROM("controls: {}\nlosses:\n" TIP) "}\nsuccess: {loss: 0.1}\n", "held to", 0},
    {FROM("controls: {}\nlosses:\n" TIP) "}\nverify: {rows: [finer], loss: 0.1}\n", "held to", 0},
    {FROM("controls: {}\nreceding: {horizon: 2, apply: 1}\nlosses:\n" TIP) "}\n", "receding", 0},
    {FROM("controls: {}\nlosses:\n- {term: site_position, name: tip, target: [2.1, 0, 0], axes: x, weight: 3}\n") "}\n", "no loss", 0}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    tgTask *t = tgt_task(model, given[i].text);
    tgTaskEffort e = tg_task_effort(t);
    check_true(fabs(e.weight - given[i].weight) <= 1e-12, "%s: weight %g", given[i].text, e.weight);
    check_true(e.by_default == (strstr(given[i].text, "effort") == NULL), "%s: by default %d", given[i].text, e.by_default);
    check_true(given[i].reason[0] == '\0' ? e.reason[0] == '\0' : strstr(e.reason, given[i].reason) != NULL, "%s: '%s'", given[i].text,
               e.reason);
    assert_true((e.share > 0) == (e.weight > 0));
    tg_task_free(t);
  }
  assert_true(tg_task_effort(NULL).share == 0);
}

// Another target, another scale; none where the start has none left; and a weight that is set stays.
static void effort_follows(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, FROM("controls: {}\neffort: 0.25\nlosses:\n" TIP) "}\n");
  tgTaskTerm term;
  tgError e = {0};
  static const struct { double target, weight, expected; } set[] = {
    {1.1, 3, 0.25 * 3}, {1.1, 8, 0.25 * 8}, {2.1, 8, 0}, {0.1, 1, 0.25 * 4}};
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
    assert_true(tg_task_term(t, 0, &term));
    term.target[0] = set[i].target;
    term.weight = set[i].weight;
    assert_int_equal(tg_task_set_term(t, 0, &term, &e), TG_OK);
    check_true(fabs(tg_task_effort(t).weight - set[i].expected) <= 1e-12, "target %g: %g", set[i].target, tg_task_effort(t).weight);
  }
  assert_true(tg_task_term(t, 1, &term) && strcmp(term.label, "effort") == 0 && strcmp(term.kind, "speed") == 0);
  term.weight = 7;
  assert_int_equal(tg_task_set_term(t, 1, &term, &e), TG_OK);
  assert_true(tg_task_term(t, 0, &term));
  term.weight = 5;
  assert_int_equal(tg_task_set_term(t, 0, &term, &e), TG_OK);
  assert_true(tg_task_effort(t).weight == 7 && tg_task_effort(t).share == 0);
  tg_task_free(t);
#undef TIP
#undef FROM
}

int main(int argc, char **argv) {
  if (argc > 1) passings = atoi(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(jacobians), cmocka_unit_test(meanings),
                                     cmocka_unit_test(at_a_time), cmocka_unit_test(passes_between_states),
                                     cmocka_unit_test(passes_between_pieces), cmocka_unit_test(near_miss), cmocka_unit_test(tolerance),
                                     cmocka_unit_test(least_at_rest), cmocka_unit_test(parallel_faces),
                                     cmocka_unit_test(parallel_faces_expanded), cmocka_unit_test(parallel_faces_passing),
                                     cmocka_unit_test(speed_and_effort),
                                     cmocka_unit_test(effort_by_default), cmocka_unit_test(effort_follows),
                                     cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
