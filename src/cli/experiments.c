// experiments.c: tangere reproduce ID and tangere bench NAME: tables of named experiments and measurements.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

// a file of models/, found from the executable (build/bin/tangere) or $TANGERE_MODELS
static bool model_file(const char *name, char *path, size_t size) {
  const char *folder = getenv("TANGERE_MODELS");
  char exe[900];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(exe, '/');
  if (slash != NULL) *slash = '\0';
  if (folder != NULL) snprintf(path, size, "%s/%s", folder, name);
  else snprintf(path, size, "%s/../../models/%s", exe, name);
  if (access(path, R_OK) == 0) return true;
  tgi_cli_say("tangere: %s is not there; set TANGERE_MODELS to the folder models/ of the source", path);
  return false;
}

static void add_row(json_t *rows, const char *name, double value, const char *unit, const char *paper, const char *want, bool pass) {
  json_array_append_new(rows, json_pack("{s:s, s:o, s:s, s:s, s:s, s:b}", "name", name, "value", isfinite(value) ? json_real(value) : json_null(),
                                        "unit", unit, "paper", paper, "want", want, "pass", (int)pass));
  tgi_cli_say("%-4s %-28s %-12.6g %-6s want %-10s paper %s", pass ? "ok" : "MISS", name, value, unit, want, paper[0] != '\0' ? paper : "-");
}

static tgOptimum *optimise(const char *path, const char *method, int iterations, bool zero, double *distance) {
  tgError error = {0};
  tgTask *t = tg_task_load(path, NULL, &error);
  tgOptimum *o = NULL;
  tgOptimizeOptions options = tg_optimize_default();
  options.cancel = &tgi_cli_interrupted;
  if (t != NULL && tg_task_override(t, NULL, method, iterations, &error) == TG_OK && (!zero || tg_task_zero_contact_gradient(t, &error) == TG_OK))
    o = tg_optimize(t, &options);
  if (o == NULL) tgi_cli_error("reproduce", &error);
  tgEvaluator *e = o != NULL ? tg_evaluator_create(t, 0, NULL) : NULL;
  double loss;
  *distance = NAN;
  if (e != NULL && tg_evaluate(e, o->best, &loss, NULL, NULL, NULL, NULL, NULL) == TG_OK) tg_evaluator_term(e, 0, NULL, distance);
  tg_evaluator_free(e);
  tg_task_free(t);
  return o;
}

// the main job: head of the half-cheetah to its target by gradient, beside the two baselines with as many simulations
static bool reach(json_t *rows) {
  char path[1024];
  double d, unused;
  if (!model_file("half_cheetah_reach.yaml", path, sizeof path)) return false;
  tgOptimum *ours = optimise(path, NULL, 0, false, &d), *zero = optimise(path, NULL, 0, true, &unused);
  tgOptimum *random = ours != NULL ? optimise(path, "random", (int)((ours->simulations + 15) / 16), false, &unused) : NULL;
  bool have = ours != NULL && zero != NULL && random != NULL;
  if (have) {
    double rz = zero->best_loss / ours->best_loss, rr = random->best_loss / ours->best_loss;
    add_row(rows, "reach.distance", d, "m", "", "<= 0.03", d <= 0.03);
    add_row(rows, "reach.seconds", ours->seconds, "s", "", "<= 90", ours->seconds <= 90);
    add_row(rows, "no_contact_gradient.loss_ratio", rz, "", "", ">= 5", rz >= 5);
    add_row(rows, "random_search.loss_ratio", rr, "", "", ">= 5", rr >= 5);
  }
  tg_optimum_free(ours);
  tg_optimum_free(zero);
  tg_optimum_free(random);
  return have;
}

typedef struct Experiment { const char *id, *title; bool (*run)(json_t *rows); } Experiment;
static const Experiment experiments[] = {
    {"reach", "half-cheetah brings its head to the target of the lcp paper's trajectory scene, from zero controls", reach},
};

// medians of timings of one call, in microseconds
static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
static double median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return x[n / 2];
}

// the cheetah on the ground: forward step, adjoint, Jacobian, and our own central differences of the same step
static bool bench_step(json_t *rows) {
  enum { REPEAT = 400 };
  char path[1024];
  tgError error = {0};
  if (!model_file("half_cheetah.xml", path, sizeof path)) return false;
  tgModel *m = tg_model_load(path, NULL, &error);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", NULL, &error) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &error) : NULL;
  if (s == NULL) {
    tgi_cli_error("bench", &error);
    tg_contact_free(c);
    tg_model_free(m);
    return false;
  }
  int nv = tg_model_nv(m), nu = tg_model_nu(m), nin = 2 * nv + nu;
  double h = tg_model_timestep(m), t[4][REPEAT], gq[64] = {1}, gv[64] = {1}, dq[64], dv[64], du[64];
  double *D = malloc((size_t)(2 * nv) * (size_t)nin * sizeof *D);
  void *snap = malloc(tg_sim_snapshot_size(s));
  for (int i = 0; i < 300; i++) tg_sim_step(s, h, NULL);   // it lies on the ground
  tgStepInfo info = {0};
  tg_sim_save(s, snap);
  for (int i = 0; i < REPEAT; i++) {
    double a = tgi_cli_now();
    tg_sim_restore(s, snap);
    tg_sim_step(s, h, &info);
    double b = tgi_cli_now();
    tg_sim_step_vjp(s, gq, gv, dq, dv, du, NULL);
    double e = tgi_cli_now();
    tg_sim_step_jacobian(s, D, NULL);
    double f = tgi_cli_now();
    for (int k = 0; k < 2 * nin && i < REPEAT / 8; k++) {
      tg_sim_restore(s, snap);
      double *x = k / 2 < nv ? tg_sim_qpos(s) + k / 2 : k / 2 < 2 * nv ? tg_sim_qvel(s) + (k / 2 - nv) : tg_sim_ctrl(s) + (k / 2 - 2 * nv);
      *x += k % 2 == 0 ? 1e-7 : -1e-7;
      tg_sim_step(s, h, NULL);
    }
    t[0][i] = 1e6 * (b - a);
    t[1][i] = 1e6 * (e - b);
    t[2][i] = 1e6 * (f - e);
    if (i < REPEAT / 8) t[3][i] = 1e6 * (tgi_cli_now() - f);
  }
  double us[4] = {median(t[0], REPEAT), median(t[1], REPEAT), median(t[2], REPEAT), median(t[3], REPEAT / 8)};
  static const char *const name[] = {"cheetah.step_us", "cheetah.adjoint_us", "cheetah.jacobian_us"};
  for (int i = 0; i < 3; i++) {
    double theirs = i == 2 ? us[3] : us[0];
    json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:s}", "name", name[i], "ours", us[i], "theirs", theirs, "ratio", us[i] / theirs,
                                          "against", i == 2 ? "own central differences" : "own forward step"));
    tgi_cli_say("%-22s %8.2f us   %-24s %8.2f us   ratio %.3g", name[i], us[i], i == 2 ? "own central differences" : "own forward step", theirs, us[i] / theirs);
  }
  tgi_cli_say("%d contacts, %d rows", info.ncontact, info.nrow);
  free(D);
  free(snap);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return true;
}

// 64 rollouts of the main job with gradients, on one thread and on two: seconds, speed-up, and whether the bits agree
static bool bench_rollouts(json_t *rows) {
  enum { COUNT = 64 };
  char path[1024];
  tgError error = {0};
  if (!model_file("half_cheetah_reach.yaml", path, sizeof path)) return false;
  tgTask *task = tg_task_load(path, NULL, &error);
  if (task == NULL) {
    tgi_cli_error("bench", &error);
    return false;
  }
  double seconds[2] = {INFINITY, INFINITY};
  uint64_t bits[2] = {0, 1};
  bool done = true;
  for (int repeat = 0; repeat < 5; repeat++)
    for (int threads = 1; threads <= 2; threads++) {
      double took = INFINITY;  // of a run that is not done
      done = done && tgi_cli_batch_bits(task, COUNT, threads, &took, &bits[threads - 1]);
      seconds[threads - 1] = fmin(seconds[threads - 1], took);
    }
  tg_task_free(task);
  if (!done) return false;
  bool same = bits[0] == bits[1];
  json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:s, s:b}", "name", "cheetah.64_rollouts_2_threads_s", "ours", seconds[1], "theirs",
                                        seconds[0], "ratio", seconds[0] / seconds[1], "against", "own run on one thread", "same_bits", (int)same));
  tgi_cli_say("64 rollouts of 400 steps with gradients: %.3g s on one thread, %.3g s on two: %.3g x, bits %s", seconds[0], seconds[1],
              seconds[0] / seconds[1], same ? "equal" : "DIFFER");
  return same;
}

static const Experiment benches[] = {
    {"step", "half-cheetah on the ground: step, adjoint and Jacobian against own central differences", bench_step},
    {"rollouts", "64 half-cheetah rollouts with gradients on one and on two threads", bench_rollouts},
};

static int list(const Experiment *e, int n, bool json) {
  json_t *all = json_array();
  for (int i = 0; i < n; i++) {
    if (!json) printf("%-12s %s\n", e[i].id, e[i].title);
    json_array_append_new(all, json_pack("{s:s, s:s}", "id", e[i].id, "title", e[i].title));
  }
  if (json) return tgi_cli_print_json(all, TG_EXIT_OK);
  json_decref(all);
  return TG_EXIT_OK;
}

static const Experiment *find(const tgCli *cli, const Experiment *e, int n) {
  for (int i = 0; i < n && cli->file != NULL; i++)
    if (strcmp(e[i].id, cli->file) == 0) return &e[i];
  tgi_cli_say("tangere %s: %s%s; `tangere %s --list` names what there is", cli->command, cli->file != NULL ? "there is no " : "give a name",
              cli->file != NULL ? cli->file : "", cli->command);
  return NULL;
}

int tgi_cli_reproduce(const tgCli *cli) {
  int n = (int)(sizeof experiments / sizeof *experiments);
  if (cli->list) return list(experiments, n, cli->json);
  const Experiment *e = find(cli, experiments, n);
  if (e == NULL) return TG_EXIT_USAGE;
  tgi_cli_catch_signals();
  json_t *rows = json_array(), *row;
  bool pass = e->run(rows);
  size_t i;
  json_array_foreach(rows, i, row) pass = pass && json_is_true(json_object_get(row, "pass"));
  int code = tgi_cli_interrupted ? TG_EXIT_INTERRUPTED : pass ? TG_EXIT_OK : TG_EXIT_MISSED;
  if (cli->json) return tgi_cli_print_json(json_pack("{s:s, s:b, s:o}", "id", e->id, "pass", (int)pass, "rows", rows), code);
  json_decref(rows);
  return code;
}

int tgi_cli_bench(const tgCli *cli) {
  int n = (int)(sizeof benches / sizeof *benches);
  if (cli->list) return list(benches, n, cli->json);
  const Experiment *e = find(cli, benches, n);
  if (e == NULL) return TG_EXIT_USAGE;
  json_t *rows = json_array();
  bool done = e->run(rows);
  int code = done ? TG_EXIT_OK : TG_EXIT_FAULT;
  if (cli->json) return tgi_cli_print_json(json_pack("{s:s, s:o}", "id", e->id, "rows", rows), code);
  json_decref(rows);
  return code;
}
