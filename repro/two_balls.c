// two_balls.c: TO-R2, a ball that another one brings to a point, through an elastic impact, of [toi] under `toi`; balls as they are and
// as meshes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "repro/barrier.h"
#include "tangere/desc.h"
#include "tangere/geometry.h"
#include "tangere/rollout.h"

// decided: the entries of the first ball's velocity. NULL: reason printed
static tgTask *shot(const char *decided) {
  char path[1024], text[1400];
  tgError e = {0};
  if (!tgi_models_file("two_balls.xml", path, sizeof path)) return NULL;
  int n = snprintf(text, sizeof text,
                   "model: two_balls.xml\ncontact: toi\noptions: {gap: 1.0e-7}\nhorizon: {steps: 20, timestep: 0.01}\n"
                   "restitution: [{geom: cue, value: 1}, {geom: ball, value: 1}]\n"
                   "start:\n  joints: [{joint: cue, position: [-0.4, 0, 0, 1, 0, 0, 0], velocity: [4, -0.1, 0, 0, 0, 0]}]\n"
                   "initial: [{joint: cue, part: velocity, entries: [%s]}]\n"
                   "losses: [{term: body_position, name: ball, target: [0.3, 0.2, 0], axes: xy, weight: 10, at: end}]\n"
                   "optimizer: {method: lbfgs, iterations: 100}\n", decided);
  *strrchr(path, '/') = 0;
  tgTask *t = tg_task_load_text(text, (size_t)n, path, NULL, &e);
  if (t == NULL) tgi_cli_say("%s", e.text);
  return t;
}

// The optimum; its loss is 10 |d|^2. L-BFGS ends at a gradient of 1e-8, which comes late enough with 1e4 times the weight.
static tgOptimum *solve(tgTask *t, double *loss) {
  static const double scale = 1e4;
  tgTaskTerm term;
  tgError e = {0};
  tgOptimizeOptions o = tg_optimize_default();
  o.unverified = true;
  o.cancel = &tgi_cli_interrupted;
  if (!tg_task_term(t, 0, &term)) return NULL;
  term.weight *= scale;
  tgOptimum *out = tg_task_set_term(t, 0, &term, &e) == TG_OK ? tg_optimize(t, &o) : NULL;
  if (out == NULL || out->status < 0) tgi_cli_say("%s", out != NULL ? out->error.text : e.text);
  if (out != NULL) *loss = out->best_loss / scale;
  return out;
}

// worst block of the gradient at the start against extrapolated differences; NAN: reason printed
static double start_error(const tgTask *t) {
  tgError e = {0};
  tgRolloutRun run;
  tgGradCheck check = {0};
  tgGradCheckOptions o = tg_grad_check_default();
  double x[2], worst = 0;
  tgEvaluator *v = tg_evaluator_create(t, 0, &e);
  tg_task_start(t, 0, x);
  bool good = v != NULL && tg_evaluator_run(v, x, &run) == TG_OK &&
              tg_grad_check_rollout(tg_evaluator_rollout(v), &run, &o, &check) == TG_OK;
  for (int i = 0; i < check.nblock; i++)
    if (strstr(check.block[i].name, "slope") == NULL) worst = fmax(worst, check.block[i].error);
  if (!good) tgi_cli_say("the gradient at the start: %s", e.text);
  tg_evaluator_free(v);
  return good ? worst : NAN;
}

// ---- balls as meshes ----

// A facet's normal does not change along it: the outcome has steps, and its exact gradient is that of the facets that met. So the shot
// is the balls', and what is left of it is gone down as far as facets allow, from there and from shots a little to both sides.
enum { LEVEL = 4, TRIES = 40, ASIDE = 2, BALL_STEPS = 20, NQ = 14, NV = 12 };
static const double shot_step = 0.01, radius = 0.05, target[2] = {0.3, 0.2}, apart = 0.02;

static tgStatus missed(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  for (int i = 0; i < 2 && t == steps; i++) {
    tgReal d = tg_sim_qpos(sim)[7 + i] - target[i];
    *value += 10 * d * d;
    if (gq != NULL) gq[6 + i] = 20 * d;
  }
  return TG_OK;
}

static tgStatus bouncing(void *ctx, tgSim *sim) {
  int rows, cols;
  double *e = tg_sim_param(sim, "geom_restitution", &rows, &cols);
  (void)ctx;
  for (int i = 0; i < rows * cols; i++) e[i] = 1;
  return TG_OK;
}

// both balls as icospheres. False: reason printed
static bool open_meshes(tgScene *k) {
  char path[1024];
  tgError e = {0};
  tgAnyContactOptions o;
  *k = (tgScene){.model = NULL};
  tgDesc *d = tgi_models_file("two_balls.xml", path, sizeof path) ? tg_desc_load(path, NULL, &e) : NULL;
  int mesh = d != NULL ? tgi_mesh_icosphere(d, "ball", radius, LEVEL) : -1;
  for (int i = 0; mesh >= 0 && i < d->ngeom; i++) {
    d->geom[i].type = TG_GEOM_MESH;
    d->geom[i].mesh = mesh;
  }
  k->model = mesh >= 0 ? tg_model_compile(d, NULL, &e) : NULL;
  tg_desc_free(d);
  bool good = k->model != NULL && tg_contact_default("toi", &o.of, sizeof o) == TG_OK && tg_contact_set(&o.of, "gap", "1e-7", &e) == TG_OK;
  k->contact = good ? tg_contact_create(k->model, "toi", &o.of, &e) : NULL;
  if (k->contact == NULL) {
    tgi_cli_say("balls as meshes: %s", e.text);
    tgi_scene_close(k);
  }
  return k->contact != NULL;
}

// loss of a shot (vx, vy), its slope g (NULL: not wanted) and its poses q ((BALL_STEPS + 1) x NQ; NULL)
static bool shoot(tgRollout *r, const double shot[2], double *loss, double *g, double *q) {
  double q0[NQ] = {-0.4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}, v0[NV] = {shot[0], shot[1]}, dv[NV];
  tgRolloutResult result;
  tgRolloutRun run = {.q0 = q0, .v0 = v0, .q = q, .loss = missed, .setup = bouncing,
                      .dv0 = g != NULL ? dv : NULL, .cancel = &tgi_cli_interrupted};
  tgStatus status = tg_rollout_run(r, &run, &result);
  *loss = result.loss;
  if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("balls as meshes: %s", result.error.text);
  if (g != NULL) memcpy(g, dv, 2 * sizeof *g);
  return status == TG_OK;
}

static bool shot_value(void *ctx, const double *shot, double *loss, double *g) { return shoot(ctx, shot, loss, g, NULL); }

// shot: that of the balls
static bool mesh_rows(tgRun *run, const double *balls) {
  tgScene k;
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  double q[(BALL_STEPS + 1) * NQ], first, loss = INFINITY, shot[2] = {balls[0], balls[1]};
  int tries = 0;
  if (!open_meshes(&k)) return false;
  o.h = shot_step;
  o.steps = BALL_STEPS;
  tgRollout *r = tg_rollout_create(k.model, k.contact, &o, &e);
  tgDescent d = {.n = 2, .tries = TRIES, .longest = 0.05, .shortest = 1e-7, .value = shot_value, .ctx = r};   // of m/s
  bool good = r != NULL && shoot(r, shot, &first, NULL, NULL);
  for (int i = -ASIDE; i <= ASIDE && good; i++) {
    double at[2] = {balls[0], balls[1] + i * apart}, came;
    int n;
    good = tgi_descend(&d, at, &came, &n);
    tries += n;
    if (!good || came >= loss) continue;
    loss = came;
    memcpy(shot, at, sizeof at);
  }
  good = good && shoot(r, shot, &loss, NULL, q);
  if (good) {
    tgi_run_row(run, "mesh.intersections", (double)tg_intersections_of_motion(k.model, q, BALL_STEPS),
                "pairs of geoms with a point in common, exact, at the ends of %d steps; balls of %d triangles", BALL_STEPS,
                20 << 2 * LEVEL);
    tgi_run_row(run, "mesh.final_error_m", sqrt(loss / 10), "by descent from the balls' shot, which leaves %.2g m, and "
                "from four beside it, to (%.4f, %.4f) m/s, %d motions in all",
                sqrt(first / 10), shot[0], shot[1], tries);
  } else if (r == NULL) tgi_cli_say("balls as meshes: %s", e.text);
  tg_rollout_free(r);
  tgi_scene_close(&k);
  return good;
}

bool tgi_reproduce_two_balls(tgRun *run) {
  double loss, error = NAN;
  tgTask *free_shot = shot("0, 1"), *fixed = shot("1");
  tgOptimum *best = NULL, *aside = NULL;
  if (free_shot != NULL && fixed != NULL) {
    error = start_error(free_shot);
    best = solve(free_shot, &loss);
  }
  bool good = best != NULL && isfinite(error);
  if (good) {
    tgi_run_row(run, "final_loss", loss, "10 |d|^2 of the second ball's end, both components free; the first loss is %.4g",
                best->first_loss / 1e4);
    tgi_run_row(run, "vx_error", fabs(best->best[0] - 4.0369856), "against 4.0369856 m/s");
    tgi_run_row(run, "vy_error", fabs(best->best[1] + 0.7068671), "against -0.7068671 m/s");
    tgi_run_row(run, "final_error_m", sqrt(loss / 10), "distance from the target");
    tgi_run_row(run, "evaluations", (double)best->simulations, "of loss and gradient");
    tgi_run_row(run, "seconds", best->seconds, "of the optimisation");
    tgi_run_row(run, "gradient_error", error, "at the start, worst block of a check against extrapolated differences");
    aside = solve(fixed, &loss);
    good = aside != NULL;
  }
  if (good) tgi_run_row(run, "fixed_vx.vy_error", fabs(aside->best[0] + 0.693503), "against -0.693503 m/s; the loss left is %.4g", loss);
  if (good) good = mesh_rows(run, best->best) && tgi_run_leave_task(run, "two_balls", free_shot, best);
  tg_optimum_free(best);
  tg_optimum_free(aside);
  tg_task_free(free_shot);
  tg_task_free(fixed);
  return good;
}
