// push_t.c: SM-R3, a T pushed by a finger: control sequences found in MuJoCo (tools/push_t.py), rolled out open
// loop here and compared with where they end there. [softmin] section IV-C, figures 6 and 7. Beyond it, the
// same goals found by gradient.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "repro/push_t.h"

enum { REPLAY_SECONDS = 300, RUNS = TG_PUSH_GOALS * TG_PUSH_STEPS * TG_PUSH_INTEGRATORS * TG_PUSH_CLOUDS };
static const char *const integrator_word[TG_PUSH_INTEGRATORS] = {"rk4", "euler"}, *const cloud_word[TG_PUSH_CLOUDS] = {"4k", "26"};
static const tgIntegrator integrator_kind[TG_PUSH_INTEGRATORS] = {TG_INTEGRATOR_RK4, TG_INTEGRATOR_EULER};

// figure 7 of the paper, means of five; it has Euler at 2 ms only
typedef struct Published { double dx, turn, ms; } Published;   // cm, deg, ms
static const Published published[TG_PUSH_INTEGRATORS][TG_PUSH_CLOUDS][TG_PUSH_STEPS] = {
    {{{1.2, 10.8, 17.9}, {1.3, 12.5, 18.6}, {4.6, 29.4, 17.7}}, {{2.1, 6.8, 13.5}, {2.4, 11.4, 14.6}, {6.3, 26.6, 15.6}}},
    {{{6.7, 42.3, 0.9}, {NAN, NAN, NAN}, {NAN, NAN, NAN}}, {{11.2, 46.2, 0.8}, {NAN, NAN, NAN}, {NAN, NAN, NAN}}},
};

bool tgi_push_open(tgPushGoals *s) {
  char path[1024];
  tgError error = {0};
  *s = (tgPushGoals){.nhold = 0};
  if (!tgi_models_file("push_t.npz", path, sizeof path) || tg_npz_read(path, 1 << 22, NULL, &s->npz, &error) != TG_OK) goto fail;
  const struct { const char *name; int ndim; size_t shape[4]; const double **data; } want[] = {
      {"u", 3, {TG_PUSH_GOALS, SIZE_MAX, 2}, &s->u},
      {"goal", 2, {TG_PUSH_GOALS, 3}, &s->goal},
      {"final", 4, {TG_PUSH_GOALS, TG_PUSH_INTEGRATORS, TG_PUSH_STEPS, 3}, &s->final},
      {"steps", 1, {TG_PUSH_STEPS}, &s->step},
      {"hold", 0, {0}, &s->hold},
  };
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    const tgNpzArray *a = tg_npz_get(&s->npz, path, want[i].name, TG_NPZ_F8, want[i].ndim, want[i].shape, &error);
    if (a == NULL) goto fail;
    *want[i].data = a->data;
    if (i == 0) s->nhold = (int)a->shape[1];
  }
  const tgNpzArray *count = tg_npz_get(&s->npz, path, "simulations", TG_NPZ_I4, 1, (const size_t[]){TG_PUSH_GOALS}, &error);
  if (count == NULL) goto fail;
  for (int k = 0; k < TG_PUSH_GOALS; k++) s->searched += ((const int32_t *)count->data)[k];
  if (!tgi_models_file("push_t.xml", path, sizeof path)) goto fail;
  s->model = tg_model_load(path, NULL, &error);
  if (s->model != NULL) return true;
fail:
  if (error.text[0] != '\0') tgi_cli_error("reproduce", &error);
  tgi_push_close(s);
  return false;
}

void tgi_push_close(tgPushGoals *s) {
  tg_model_free(s->model);
  tg_npz_free(&s->npz);
  s->model = NULL;
}

void tgi_push_pose(const double q[7], double x[3]) {
  x[0] = q[0];
  x[1] = q[1];
  x[2] = atan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] * q[5] + q[6] * q[6]));
}

double tgi_push_apart(const double a[3], const double b[3], double *turn) {
  *turn = fabs(remainder(a[2] - b[2], 2 * M_PI)) * 180 / M_PI;
  return 100 * hypot(a[0] - b[0], a[1] - b[1]);
}

// The rule for what the paper leaves open, the same for all goals, steps, integrators and clouds: with the default
// stiffness k = m g/eps3 the finger, of half the T's mass, bounces on it with omega^2 = 1.5 g/eps3 at most and is held
// by friction with mu g/v_s, and RK4 at the longest step h = 16 ms must carry both: eps2 = eps3 = g h^2/2, so that
// omega h = 1.7 of the 2.8 it can, and v_s = g h/4. Tails are 1e-11 of the force, a tenth of what is asked.
tgSoftminOptions tgi_push_options(const tgPushGoals *s) {
  const double g = 9.81, h = s->step[TG_PUSH_STEPS - 1];
  tgSoftminOptions o = tg_softmin_default();
  o.eps2 = o.eps3 = 0.5 * g * h * h;
  o.slip_speed = g * h / 4;
  o.prune = 1e-11;
  return o;
}

// Clouds of 4000 points, and of 26 or so on the T: three along its longest faces, and as many on the finger as on one
// of its boxes. The width of soft distances is half the square of the finer spacing for both, faces being flat.
static const double cloud_spacing[TG_PUSH_CLOUDS] = {0.0045, 0}, cloud_points[TG_PUSH_CLOUDS] = {0, 10};

static tgSoftminOptions cloud_options(const tgPushGoals *s, int cloud) {
  tgSoftminOptions o = tgi_push_options(s);
  o.spacing = cloud_spacing[cloud];
  o.points = cloud_points[cloud];
  o.eps1 = 0.5 * cloud_spacing[0] * cloud_spacing[0];
  return o;
}

// ---- replays ----

typedef struct Replay {
  const tgPushGoals *s;
  int goal, step, integrator, cloud;
  bool record;
  double until;                  // on the clock [s]: a motion that is not done by then is given up
  tgStatus status;
  tgError error;
  double pose[3], ms;            // at the end, and of a step on its core
  int points, all;               // of the T's surface, and of all
  tgCliTrajectory t;
} Replay;

// seconds of this thread on a core, which other work on the machine does not lengthen much
static double core_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// controls of every step; malloc
static double *controls(const tgPushGoals *s, int goal, double h, int *steps) {
  int each = (int)lround(*s->hold / h);
  *steps = each * s->nhold;
  double *u = malloc(2 * (size_t)*steps * sizeof *u);
  for (int t = 0; u != NULL && t < *steps; t++)
    memcpy(u + 2 * (size_t)t, s->u + 2 * ((size_t)goal * (size_t)s->nhold + (size_t)(t / each)), 2 * sizeof *u);
  return u;
}

static tgStatus roll(Replay *r, tgSim *sim, const double *u, int steps, double h) {
  double began = core_now();
  tgStatus st = TG_OK;
  int t = 0;
  for (; t < steps && st == TG_OK && !tgi_cli_interrupted && tgi_cli_now() < r->until; t++) {
    memcpy(tg_sim_ctrl(sim), u + 2 * (size_t)t, 2 * sizeof *u);
    st = tg_sim_step_growing(sim, h, NULL);
  }
  r->ms = t > 0 ? 1e3 * (core_now() - began) / t : NAN;
  if (st != TG_OK) {
    r->error = *tg_sim_error(sim);
    return st;
  }
  if (t < steps) return tgi_cli_fail(&r->error, TG_CANCELLED, "given up after %d of %d steps, for want of time", t, steps);
  tgi_push_pose(tg_sim_qpos(sim), r->pose);
  return TG_OK;
}

static void count_points(Replay *r, tgSim *sim) {
  int ngeom;
  const int *type = tgi_cli_ints(r->s->model, "geom_type", &ngeom);
  for (int g = 0; g < ngeom; g++) {
    if (type[g] == TG_GEOM_PLANE) continue;
    int n = tg_sim_geom_points(sim, g, NULL, NULL);
    r->all += n;
    if (type[g] == TG_GEOM_BOX) r->points += n;
  }
}

static void replay(void *ctx, int i) {
  Replay *r = (Replay *)ctx + i;
  double h = r->s->step[r->step];
  int steps;
  tgSoftminOptions o = cloud_options(r->s, r->cloud);
  o.integrator = integrator_kind[r->integrator];
  tgContact *c = tg_contact_create(r->s->model, "softmin", &o.of, &r->error);
  tgSim *sim = c != NULL ? tg_sim_create(r->s->model, c, NULL, &r->error) : NULL;
  double *u = controls(r->s, r->goal, h, &steps);
  if (sim != NULL) count_points(r, sim);
  r->status = sim == NULL ? r->error.status : u == NULL ? TG_ERR_MEMORY : roll(r, sim, u, steps, h);
  if (r->status == TG_OK && r->record) {
    tg_sim_reset(sim);
    r->status = tgi_cli_record(sim, u, steps, h, &tgi_cli_interrupted, &r->t, &r->error);
  }
  free(u);
  tg_sim_free(sim);
  tg_contact_free(c);
}

// ---- rows ----

static void row(tgRun *run, const char *group, const char *what, double value, const char *unit, double paper, const char *note) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", group, what);
  tgi_run_any(run, name, value, unit, paper, note);
}

// the five replays from r on, of one step, integrator and cloud
static void rows(tgRun *run, const Replay *r) {
  const tgPushGoals *s = r->s;
  double dx = 0, turn = 0, ms = 0;
  char dxs[200] = "goals:", turns[200] = "goals:", failed[700] = "", group[32];
  for (int k = 0; k < TG_PUSH_GOALS; k++) {
    const double *there = s->final + 3 * ((size_t)((k * TG_PUSH_INTEGRATORS + r->integrator) * TG_PUSH_STEPS + r->step));
    double a, d = r[k].status == TG_OK ? tgi_push_apart(r[k].pose, there, &a) : (a = NAN);
    dx += d / TG_PUSH_GOALS;
    turn += a / TG_PUSH_GOALS;
    ms += r[k].ms / TG_PUSH_GOALS;
    snprintf(dxs + strlen(dxs), sizeof dxs - strlen(dxs), " %.2f", d);
    snprintf(turns + strlen(turns), sizeof turns - strlen(turns), " %.1f", a);
    if (r[k].status != TG_OK && failed[0] == '\0') snprintf(failed, sizeof failed, "; goal %d: %.600s", k, r[k].error.text);
  }
  const Published *p = &published[r->integrator][r->cloud][r->step];
  snprintf(group, sizeof group, "%s_%gms_%s", integrator_word[r->integrator], 1e3 * s->step[r->step], cloud_word[r->cloud]);
  strncat(dxs, failed, sizeof dxs - strlen(dxs) - 1);
  row(run, group, "dx_cm", dx, "cm", p->dx, dxs);
  row(run, group, "dtheta_deg", turn, "deg", p->turn, turns);
  snprintf(turns, sizeof turns, "mean over the five motions, time on the core; %d points on the T, %d on all surfaces", r->points, r->all);
  row(run, group, "step_ms", ms, "ms", p->ms, turns);
}

// the T where MuJoCo ends: its studs
static int markers(const Replay *r, tgReplayMarker marker[3]) {
  const tgPushGoals *s = r->s;
  const double *x = s->final + 3 * ((size_t)((r->goal * TG_PUSH_INTEGRATORS + r->integrator) * TG_PUSH_STEPS + r->step));
  int n = 0;
  int ngeom;
  const int *type = tgi_cli_ints(s->model, "geom_type", &ngeom), *body = tgi_cli_ints(s->model, "geom_body", NULL);
  const double *pos = tgi_cli_reals(s->model, "geom_pos", NULL);
  for (int g = 0; g < ngeom && n < 3; g++) {
    const double *p = pos + 3 * g;
    if (type[g] != TG_GEOM_SPHERE || body[g] != 1) continue;
    marker[n++] = (tgReplayMarker){.name = "MuJoCo's end",
                                   .pos = {x[0] + cos(x[2]) * p[0] - sin(x[2]) * p[1],
                                           x[1] + sin(x[2]) * p[0] + cos(x[2]) * p[1], 0.05}, .radius = 0.008,
                                           .rgba = TG_CLI_TARGET_COLOR};
  }
  return n;
}

static bool leave(tgRun *run, Replay *r) {
  tgReplayMarker marker[3];
  char name[32], title[120];
  int n = markers(r, marker);
  snprintf(name, sizeof name, "goal%d", r->goal);
  snprintf(title, sizeof title, "a T pushed to goal %d by a sequence found in MuJoCo, which ends at the marks", r->goal);
  return tgi_run_leave(run, name, title, r->s->model, r->s->step[r->step], &r->t, 1, marker, n);
}

static bool replay_all(tgRun *run, const tgPushGoals *s, Replay *r) {
  int n = 0, shown = -1;
  double until = run->cli->full ? INFINITY : tgi_cli_now() + REPLAY_SECONDS;
  // the cheap ones first
  for (int c = TG_PUSH_CLOUDS - 1; c >= 0; c--)
    for (int d = TG_PUSH_STEPS - 1; d >= 0; d--)
      for (int i = 0; i < TG_PUSH_INTEGRATORS; i++) {
        if (c + i + d == 0) shown = n;
        for (int k = 0; k < TG_PUSH_GOALS; k++)
          r[n++] = (Replay){.s = s, .goal = k, .step = d, .integrator = i, .cloud = c, .record = c + i + d == 0,
                            .until = until, .t = {.label = "softmin"}};
      }
  bool good = tgi_run_parallel(run, n, replay, r);
  if (!good || tgi_cli_interrupted) return false;
  for (int k = 0; k < n; k += TG_PUSH_GOALS) rows(run, r + k);
  for (int k = 0; k < TG_PUSH_GOALS && good; k++)
    if (r[shown + k].status == TG_OK) good = leave(run, &r[shown + k]);
  return good;
}

bool tgi_reproduce_push_t(tgRun *run) {
  tgPushGoals s;
  static Replay r[RUNS];
  if (!tgi_push_open(&s)) return false;
  bool good = replay_all(run, &s, r);
  good = good && tgi_push_by_gradient(run, &s);
  for (int k = 0; k < RUNS; k++) tgi_cli_trajectory_free(&r[k].t);
  tgi_push_close(&s);
  return good;
}
