// test_barrier_tasks_far.c: the barrier paper's tasks with the body that is to be moved far from the one that is
// controlled: how the first one's speed after a step depends on place, speed and controls of the second, the smallest
// block of the step's Jacobian: its adjoint against complex steps.
// Usage: test_barrier_tasks_far [trials]      states of each task at each distance; default: one, without the arm
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "sim/sim.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/barrier.h"

enum { ROWS = 6 };

typedef struct Case {
  const char *file, *moved, *driver;   // the free joint that is far; the driver's own free joint, NULL: all other joints
  double mu, speed, control;           // of random states: speeds and controls about the start
} Case;
static const Case cases[] = {
    {"push.xml", "box", NULL, 1e-6, 0.5, 0.2},
    {"billiards_small.xml", "ball5", "cue", 1e-7, 3, 0},
    {"ant_push.xml", "box", NULL, 1e-8, 0.5, 0.3},
    {"franka_push.xml", "bunny", NULL, 1e-7, 0.2, 0.1},
};
static const double distances[] = {10, 100};

// random directions in the driver's place, speed and controls: one column of the check each
enum { PARTS = 3 };
typedef struct Far {
  tgSim *s;
  double h;
  tgReal *q, *v, *u, *dq, *g;    // the state and its controls
  tgReal *dir;                   // nt; in the order (q, v, u)
  int moved, driver, rows;       // joints; how many of the moved one's speeds are looked at
} Far;

static bool driven(const Far *f, int j) { return j != f->moved && (f->driver < 0 || j == f->driver); }

static tgStatus step(void *ctx, const tgReal *x, tgReal *y) {
  Far *f = ctx;
  tgSim *s = f->s;
  const tgModel *m = s->model;
  for (int k = 0; k < m->nv; k++) {
    f->dq[k] = x[0] * f->dir[k];
    s->qvel[k] = f->v[k] + x[1] * f->dir[m->nv + k];
  }
  for (int k = 0; k < m->nu; k++) s->ctrl[k] = f->u[k] + x[2] * f->dir[2 * m->nv + k];
  tg_model_integrate(m, f->q, f->dq, s->qpos);
  TG_TRY(tg_sim_step_growing(s, f->h, NULL));
  memcpy(y, s->qvel + m->jnt_vadr[f->moved], (size_t)f->rows * sizeof *y);
  return TG_OK;
}

// a random state and random directions
static void draw(Far *f, const Case *c, double distance, tgtRandom *r) {
  const tgModel *m = f->s->model;
  if (m->nkey > 0) tg_sim_reset_key(f->s, 0);
  else tg_sim_reset(f->s);
  memcpy(f->q, f->s->qpos, (size_t)m->nq * sizeof *f->q);
  f->q[m->jnt_qadr[f->moved]] += distance;
  memset(f->v, 0, (size_t)m->nv * sizeof *f->v);
  memset(f->dir, 0, (size_t)(2 * m->nv + m->nu) * sizeof *f->dir);
  for (int j = 0; j < m->njnt; j++) {
    if (!driven(f, j)) continue;
    int first = m->jnt_vadr[j], next = j + 1 < m->njnt ? m->jnt_vadr[j + 1] : m->nv;
    for (int k = first; k < next; k++) {
      // a free body moves over the floor
      if (k < first + 2) f->v[k] = c->speed * tgt_uniform(r, -1, 1);
      f->dir[k] = tgt_uniform(r, -1, 1);
      f->dir[m->nv + k] = tgt_uniform(r, -1, 1);
    }
  }
  for (int k = 0; k < m->nu; k++) {
    f->u[k] = f->s->ctrl[k] + c->control * tgt_uniform(r, -1, 1);
    f->dir[2 * m->nv + k] = tgt_uniform(r, -1, 1);
  }
}

// The step sees inertia about the world's origin, so what turns a body is known to a few roundings of m d^2 over its
// own inertia: 1e-9 of Franka's object at 100 m.
static double rounding(const Far *f, double distance) {
  const tgModel *m = f->s->model;
  int b = m->jnt_body[f->moved];
  double least = fmin(tgRe(m->body_inertia[6 * b]), fmin(tgRe(m->body_inertia[6 * b + 1]), tgRe(m->body_inertia[6 * b + 2])));
  return 32 * 2.2e-16 * tgRe(m->body_mass[b]) * distance * distance / least;
}

static double compare(Far *f, const Case *c, double distance, int rows, double tol, const tgReal *J, int parts) {
  int cols[PARTS] = {1, 1, 1};
  tgReal x[PARTS] = {0};
  char text[256];
  tgtDeriv d = {.name = c->file, .nx = parts, .ny = rows, .map = step, .ctx = f, .tol = tol, .cols = cols, .ncols = parts};
  f->rows = rows;
  double error = tgt_jacobian_error(&d, x, J, text).error;
  check_true(error <= tol, "%s at %g m: %s", c->file, distance, text);
  return error;
}

static double check_state(Far *f, const Case *c, double distance) {
  tgSim *s = f->s;
  const tgModel *m = s->model;
  int nv = m->nv, parts = m->nu > 0 ? PARTS : PARTS - 1, size[PARTS] = {nv, nv, m->nu};
  tgReal x[PARTS] = {0}, y[ROWS], J[ROWS * PARTS], *w = f->g, *g = w + 2 * nv;
  f->rows = ROWS;
  tgStatus status = step(f, x, y);
  check_true(status == TG_OK, "%s at %g m: %s", c->file, distance, s->error.text);
  for (int i = 0; i < ROWS; i++) {
    memset(f->g, 0, (size_t)(4 * nv + m->nu) * sizeof *f->g);
    w[nv + m->jnt_vadr[f->moved] + i] = 1;
    assert_int_equal(tg_sim_step_vjp(s, w, w + nv, g, g + nv, g + 2 * nv, NULL, NULL), TG_OK);
    for (int p = 0, at = 0; p < parts; at += size[p++]) {
      J[i * parts + p] = 0;
      for (int k = 0; k < size[p]; k++) J[i * parts + p] += g[at + k] * f->dir[at + k];
    }
  }
  double turning = rounding(f, distance), error = compare(f, c, distance, 3, 1e-9, J, parts);
  compare(f, c, distance, ROWS, fmax(1e-9, turning), J, parts);
  return error;
}

// the models' meshes: the Python package of the project's environment; false: it is not there
static bool package(char *path, size_t size) {
  glob_t found;
  bool there = glob(TG_SOURCE_DIR "/build/venv/lib/python3*/site-packages/pybullet_data", 0, NULL, &found) == 0 && found.gl_pathc > 0;
  if (there) snprintf(path, size, "%s", found.gl_pathv[0]);
  globfree(&found);
  return there;
}

static void check_case(const Case *c, int trials) {
  char path[1024], meshes[1024];
  tgError e = {0};
  tgLoadOptions load = tg_load_default();
  const char *root[1] = {meshes};
  if (strcmp(c->file, "franka_push.xml") == 0) {
    if (!package(meshes, sizeof meshes)) {
      print_message("%s is left out: the package pybullet_data, whose meshes it has, is not in build/venv\n", c->file);
      return;
    }
    load.asset_root = root;
    load.nasset_root = 1;
  }
  tgBarrierOptions o = tg_barrier_default();
  o.weight = c->mu;
  snprintf(path, sizeof path, TG_SOURCE_DIR "/models/%s", c->file);
  Rig rig = rig_of_model(tg_model_load(path, &load, &e), "barrier", &o.of, &e);
  const tgModel *m = rig.m;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu;
  tgReal *work = calloc(nq + 8 * nv + 3 * nu, sizeof *work);
  assert_non_null(work);
  Far f = {.s = rig.s, .h = tgRe(m->opt_timestep[0]), .q = work, .v = work + nq, .dq = work + nq + nv, .u = work + nq + 2 * nv};
  f.dir = f.u + nu;
  f.g = f.dir + 2 * nv + nu;
  f.moved = tg_model_find(m, TG_THING_JOINT, c->moved);
  f.driver = c->driver != NULL ? tg_model_find(m, TG_THING_JOINT, c->driver) : -1;
  tgtRandom r = {23};
  double worst = 0;
  for (int k = 0; k < trials; k++)
    for (size_t at = 0; at < sizeof distances / sizeof *distances; at++) {
      draw(&f, c, distances[at], &r);
      worst = fmax(worst, check_state(&f, c, distances[at]));
    }
  print_message("%s: %d states at 10 and 100 m each, worst %.2g along the floor and up\n", c->file, trials, worst);
  free(work);
  drop(&rig);
}

static int trials = 0;
static void far_blocks_are_derivatives(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (trials > 0 || strcmp(cases[i].file, "franka_push.xml") != 0) check_case(&cases[i], trials > 0 ? trials : 1);
}

int main(int argc, char **argv) {
  if (argc > 1) trials = atoi(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(far_blocks_are_derivatives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
