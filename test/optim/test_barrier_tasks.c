// test_barrier_tasks.c: the gradient of the barrier paper's tasks: adjoints at random controls, where bodies meet
// and where they stay a metre apart, against Ridders' differences of whole motions along random directions, and
// against complex steps of each step of the motion, one after the other: these know nine digits also where the
// differences do not know six.
// Usage: test_barrier_tasks [trials [task]]      default: one trial each of shorter motions
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/numdiff.h"
#include "grad/twin.h"
#include "optim/task.h"
#include "sim/sim.h"
#include "support/check.h"

typedef struct Case {
  const char *file;
  int few, steps;
  double spread[2], tol;           // of the variables: near (bodies meet), far
  double step;                     // of differences, near
  bool (*start)(tgTask *task, bool near);
} Case;

// the rod beside the box, or a metre from it
static bool push_start(tgTask *t, bool near) {
  t->q0[tg_model_find(t->model, TG_THING_JOINT, "rod_x")] = near ? -0.27 : 0.7;
  return true;
}
// the cue ball just before the rack and fast, or a metre from it; of the rack the balls that it meets first
static bool billiards_start(tgTask *t, bool near) {
  int cue = tg_model_find(t->model, TG_THING_JOINT, "cue");
  t->q0[t->model->jnt_qadr[cue]] = near ? -2.1 : -2.9;
  if (near) t->v0[t->model->jnt_vadr[cue]] = 4;
  t->term[0].index = tg_model_find(t->model, TG_THING_BODY, "ball1");
  t->term[1].index = tg_model_find(t->model, TG_THING_BODY, "ball2");
  return true;
}
// the ant beside the box and going to it, or a metre from it; the box at the origin, where its place is hardly rounded
static bool ant_start(tgTask *t, bool near) {
  const tgModel *m = t->model;
  int x = tg_model_find(m, TG_THING_JOINT, "ant_x"), box = m->jnt_qadr[tg_model_find(m, TG_THING_JOINT, "box")];
  t->q0[m->jnt_qadr[x]] = (near ? 0.22 : -0.35) - t->q0[box];
  t->q0[box] = 0;
  if (near) t->v0[m->jnt_vadr[x]] = 1;
  return true;
}
// the hand beside the object and turning to it, or the object a metre farther
static bool franka_start(tgTask *t, bool near) {
  const tgModel *m = t->model;
  int base = tg_model_find(m, TG_THING_JOINT, "joint1");
  if (near) {
    t->q0[m->jnt_qadr[base]] = -0.36;
    t->v0[m->jnt_vadr[base]] = 1;
  } else t->q0[m->jnt_qadr[tg_model_find(m, TG_THING_JOINT, "bunny")]] += 1;
  return true;
}
static const char franka[] =
    "model: franka_push.xml\ncontact: barrier\noptions: {weight: 1.0e-7}\nhorizon: {steps: 50, timestep: 0.04}\nstart: {keyframe: start}\n"
                             "controls: {}\nlosses:\n  - {term: body_com, name: bunny, target: [0.54, 0.1, 0], axes: xy, weight: 1.0e+6}\n"
                             "optimizer: {method: adam, iterations: 1, rate: 0.01}\n";

static const Case cases[] = {
    {"push.yaml", 16, 24, {0.2, 0.2}, 1e-6, 5e-3, push_start},
    // within some 1e-6 of a state fast balls may go to another minimum of a step: a jump that differences must not step over
    {"billiards_small.yaml", 4, 12, {0.02, 0.2}, 1e-6, 1e-4, billiards_start},
    {"billiards.yaml", 0, 12, {0.02, 0.2}, 1e-6, 1e-4, billiards_start},
    {"ant_push.yaml", 12, 24, {0.3, 0.3}, 1e-6, 5e-3, ant_start},
    {"franka", 1, 8, {0.05, 0.05}, 1e-6, 1e-3, franka_start},
};

// the meshes of the arm are those of a Python package of the project's environment
static tgTask *load(const char *file, tgError *e) {
  char path[1024];
  snprintf(path, sizeof path, TG_SOURCE_DIR "/models/%s", file);
  if (strcmp(file, "franka") != 0) return tg_task_load(path, NULL, e);
  glob_t found;
  tgLoadOptions o = tg_load_default();
  o.nasset_root = glob(TG_SOURCE_DIR "/build/venv/lib/python3*/site-packages/pybullet_data", 0, NULL, &found) == 0 && found.gl_pathc > 0;
  const char *root[1] = {o.nasset_root > 0 ? found.gl_pathv[0] : NULL};
  o.asset_root = root;
  tgTask *t = o.nasset_root > 0 ? tg_task_load_text(franka, strlen(franka), TG_SOURCE_DIR "/models", &o, e) : NULL;
  if (o.nasset_root == 0) print_message("franka is left out: the package pybullet_data, whose meshes it has, is not in build/venv\n");
  globfree(&found);
  return t;
}

// servos are asked for the pose that the task starts from
static void start_variables(const tgTask *t, double *x) {
  const tgModel *m = t->model;
  tg_task_start(t, 0, x);
  for (int k = 0; k < t->ncontrol && m->nkey > 0; k++) x[k] = m->key_ctrl[k % m->nu];
}

static tgStatus value(void *ctx, const tgReal *x, tgReal *y) { return tg_evaluate(ctx, x, y, NULL, NULL, NULL, NULL, NULL); }

// one centimetre beside the body's start, so that the loss is small and differences of it are not lost in its last
// digits; returns what the rounding of the body's place makes of the loss
static double aim(const tgTask *t, tgTerm *term) {
  double at = 0;
  const tgModel *m = t->model;
  term->tolerance = 0;
  for (int j = 0; j < m->njnt; j++)
    for (int k = 0; m->jnt_body[j] == term->index && k < 2; k++) {
      term->target[k] = t->q0[m->jnt_qadr[j] + k] + 0.01 * (k == 0);
      if (k == 0) at = fabs(t->q0[m->jnt_qadr[j]]);
    }
  return 2 * term->weight * 0.01 * at * 1.1e-16;
}

// ---- the tangent of a motion: the step's derivative along it is a complex step of the whole minimisation, so
// nothing of the adjoint is in it

typedef struct Motion {
  const tgTask *t;
  tgEvaluator *eval;
  tgSim *sim;
  tgxTwin *twin;
  double *q0, *q1, *v0, *u;      // start and controls: at x, and (q1) at another place
  double *dq, *dv, *du;          // tangent of start and controls
  double *q, *v, *g;             // motion, and gradients of the loss in its single states
  double *work;
} Motion;

// tangent from the start at x, speeds, controls
static tgStatus start_of(void *ctx, const tgReal *x, tgReal *y) {
  const Motion *m = ctx;
  int nv = m->t->model->nv;
  tg_task_expand(m->t, x, m->q1, y + nv, y + 2 * nv);
  tg_model_difference(m->t->model, m->q0, m->q1, y);
  return TG_OK;
}

static void motion_free(Motion *m) {
  tgx_free(m->twin);
  tg_sim_free(m->sim);
  free(m->q0);
}

static void motion_make(const tgTask *t, tgEvaluator *eval, Motion *m) {
  const tgModel *model = t->model;
  size_t nq = (size_t)model->nq, nv = (size_t)model->nv, nu = (size_t)(t->steps * model->nu), n = (size_t)t->steps + 1,
         nz = 2 * nv + (size_t)model->nu, ny = 2 * nv + nu;
  tgiNumDiff d = {.nx = t->n, .nt = t->n, .ny = (int)ny};
  tgError e = {0};
  *m = (Motion){.t = t, .eval = eval, .sim = tg_sim_create(model, t->contact, NULL, &e),
                .twin = tgx_create(model, t->word, t->contact->options, NULL, &e)};
  check_true(m->sim != NULL && m->twin != NULL, "%s", e.text);
  size_t size[] = {nq, nq, nv, nu, ny, n * nq, n * nv, n * nz, ny + nz + 2 * nv + tgi_numdiff_work(&d)}, at = 0, all = 0;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) all += size[i];
  double *block = calloc(all, sizeof *block), **array[] = {&m->q0, &m->q1, &m->v0, &m->u, &m->dq, &m->q, &m->v, &m->g, &m->work};
  assert_non_null(block);
  for (size_t i = 0; i < sizeof size / sizeof *size; at += size[i++]) *array[i] = block + at;
  m->dv = m->dq + nv;
  m->du = m->dq + 2 * nv;
}

// derivative of the loss along dir at x
static double tangent(Motion *m, const double *x, const double *dir) {
  const tgTask *t = m->t;
  const tgModel *model = t->model;
  int nv = model->nv, nu = model->nu, nz = 2 * nv + nu, ny = 2 * nv + t->steps * nu;
  double loss, sum = 0, *error = m->work, *along = error + ny, *dy = along + nz;
  tgiNumDiff d = {.nx = t->n, .nt = t->n, .ny = ny, .map = start_of, .ctx = m};
  tgExpansion expansion = {.g = m->g};
  tgRollAsk ask = {.q0 = m->q0, .v0 = m->v0, .u = m->u, .q = m->q, .v = m->v, .expansion = &expansion};
  tgRolloutResult result;
  tgError e = {0};
  tg_task_expand(t, x, m->q0, m->v0, m->u);
  assert_int_equal(tgi_numdiff(&d, x, dir, TGI_SIDE_BOTH, m->dq, error, dy + 2 * nv), TG_OK);
  assert_int_equal(tgi_evaluator_roll(m->eval, &ask, &loss, &result), TG_OK);
  memcpy(along, m->dq, 2 * (size_t)nv * sizeof *along);
  for (int k = 0; k <= t->steps; k++) {
    const double *u = m->u + k * nu, *g = m->g + k * nz;
    for (int i = 0; i < nu; i++) along[2 * nv + i] = k < t->steps ? m->du[k * nu + i] : 0;
    for (int i = 0; i < nz; i++) sum += g[i] * along[i];
    if (k == t->steps) break;
    tgxPoint at = {.model = &m->sim->m, .number = m->sim->contact_number, .q = m->q + k * model->nq, .w = m->v + k * nv, .u = u,
                   .applied = m->sim->qfrc_applied, .h = t->h};
    tgStatus status = tgx_step(m->twin, &at, along, NULL, dy, &e);
    check_true(status == TG_OK, "step %d in complex numbers: %s", k, e.text);
    memcpy(along, dy, 2 * (size_t)nv * sizeof *along);
  }
  return sum;
}

static void check_case(const Case *c, bool near, int steps, int trials) {
  tgError e = {0};
  tgTask *t = load(c->file, &e);
  check_true(t != NULL || e.status == TG_OK, "%s", e.text);
  if (t == NULL) return;
  assert_true(c->start(t, near));
  YamlReceding *receding = t->yaml->receding;
  t->yaml->receding = NULL;        // the one window, whole
  assert_int_equal(tgi_task_retime(t, steps, t->h, &e), TG_OK);
  double rounding = 0;
  for (int i = 0; i < t->nterm; i++) rounding += aim(t, &t->term[i]);
  int n = tg_task_size(t);
  tgEvaluator *eval = tg_evaluator_create(t, 0, &e);
  check_true(eval != NULL, "%s", e.text);
  tgiNumDiff d = {.nx = n, .nt = n, .ny = 1, .map = value, .ctx = eval};
  double *x = calloc((size_t)n, sizeof *x), *g = calloc((size_t)n, sizeof *g), *dir = calloc((size_t)n, sizeof *dir),
         *work = calloc(tgi_numdiff_work(&d), sizeof *work);
  tgtRandom rng = {17};
  Motion motion;
  motion_make(t, eval, &motion);
  double worst = 0, known = 0, apart = 0;
  int told = 0;
  for (int k = 0; k < trials; k++) {
    double f, D, error, slope = 0, size = 0, len = 0;
    start_variables(t, x);
    for (int i = 0; i < n; i++) {
      x[i] += c->spread[near ? 0 : 1] * tgt_uniform(&rng, -1, 1);
      dir[i] = tgt_uniform(&rng, -1, 1);
      len += dir[i] * dir[i];
    }
    tgStatus status = tg_evaluate(eval, x, &f, g, NULL, NULL, NULL, NULL);
    check_true(status == TG_OK, "%s, trial %d: %s", c->file, k, tg_status_text(status));
    for (int i = 0; i < n; i++) {
      dir[i] /= sqrt(len);
      slope += g[i] * dir[i];
      size += g[i] * g[i];
    }
    // The potential is smooth to its second derivative, the loss to its first: a kink of its slope within the
    // differences shows when they narrow.
    double scale = fmax(fabs(slope), sqrt(size / n)), noise = rounding + 2.2e-16 * f, widest = near ? c->step : 0.01 * sqrt(n), wide;
    d.step = fmax(widest / 16, fmin(widest, 320 * noise / (c->tol * scale)));
    assert_int_equal(tgi_numdiff(&d, x, dir, TGI_SIDE_BOTH, &wide, &error, work), TG_OK);
    d.step /= 8;
    assert_int_equal(tgi_numdiff(&d, x, dir, TGI_SIDE_BOTH, &D, &error, work), TG_OK);
    // what the differences know: their own estimate, rounding over their narrowest step, how far the two are apart
    error += 32 * noise / d.step + fabs(D - wide);
    worst = fmax(worst, fabs(slope - D) / scale);
    known = fmax(known, error / scale);
    // where they know less than is asked their estimate is one of rounding, which it may miss: the tangents below tell then
    check_true(error > c->tol * scale || fabs(slope - D) <= c->tol * scale + 2 * error,
               "%s %s, trial %d: adjoint %.12g, differences %.12g (+- %.2g), scale %.3g", c->file,
               near ? "near" : "far", k, slope, D, error, scale);
    told += error <= 1e-6 * scale;
    // differences tell a gradient of a long motion to 1e-6 or not quite, as rounding falls; complex steps tell every one
    double exact = tangent(&motion, x, dir);
    apart = fmax(apart, fabs(slope - exact) / scale);
    check_true(fabs(slope - exact) <= 1e-9 * scale, "%s %s, trial %d: adjoint %.12g, tangent %.12g, scale %.3g",
               c->file, near ? "near" : "far", k, slope, exact, scale);
  }
  print_message("%s %s: %d trials, worst %.2g; differences know %d of them to 1e-6, all to %.2g; from the tangents, "
                "worst %.2g\n", c->file, near ? "near" : "far", trials, worst, told, known, apart);
  free(x);
  free(g);
  free(dir);
  free(work);
  motion_free(&motion);
  tg_evaluator_free(eval);
  t->yaml->receding = receding;
  tg_task_free(t);
}

static int trials = 0, only = -1;
static void adjoints_are_derivatives(void **state) {
  (void)state;
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
    for (int near = 1, last = 2 - tgt_cases(2, 1); near >= last; near--) {
      const Case *c = &cases[i];
      int steps = trials > 0 ? c->steps : c->few;
      if (steps > 0 && (only < 0 || only == i)) check_case(c, near, steps, trials > 0 ? trials : 1);
    }
}

// The servos of Franka-Push carry the arm: it stays where the keyframe has it.
static void arm_at_rest(void **state) {
  (void)state;
  tgError e = {0};
  tgTask *t = load("franka", &e);
  check_true(t != NULL || e.status == TG_OK, "%s", e.text);
  if (t == NULL) return;
  const tgModel *m = t->model;
  tgSim *s = tg_sim_create(m, t->contact, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  assert_int_equal(tg_sim_reset_key(s, 0), TG_OK);
  for (int k = 0; k < 3; k++) check_true(tg_sim_step_growing(s, t->h, NULL) == TG_OK, "step %d: %s", k, tg_sim_error(s)->text);
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_type[j] == TG_JOINT_HINGE) check_close(s->qpos[m->jnt_qadr[j]], m->key_qpos[m->jnt_qadr[j]], 1e-3);
  tg_sim_free(s);
  tg_task_free(t);
}

int main(int argc, char **argv) {
  if (argc > 1) trials = atoi(argv[1]);
  if (argc > 2) only = atoi(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(adjoints_are_derivatives), cmocka_unit_test(arm_at_rest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
