// bench.c: what `tangere bench` measures, as ratios in one run.
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/shared/rows.h"

// the cheetah on the ground: forward step, adjoint, Jacobian, and our own central differences of the same step
static bool bench_step(tgRun *run) {
  enum { REPEAT = 400 };
  tgScene scene;
  if (!tgi_scene_open(&scene, "half_cheetah.xml", NULL)) return false;
  tgModel *m = scene.model;
  tgSim *s = scene.sim;
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
    tg_sim_step_vjp(s, gq, gv, dq, dv, du, NULL, NULL);
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
  double us[4] = {tgi_median(t[0], REPEAT), tgi_median(t[1], REPEAT), tgi_median(t[2], REPEAT), tgi_median(t[3], REPEAT / 8)};
  static const char *const name[] = {"cheetah.step_us", "cheetah.adjoint_us", "cheetah.jacobian_us"};
  for (int i = 0; i < 3; i++) {
    double theirs = i == 2 ? us[3] : us[0];
    json_array_append_new(run->rows, json_pack("{s:s, s:f, s:f, s:f, s:s}", "name", name[i], "ours", us[i], "theirs",
                                               theirs, "ratio", us[i] / theirs, "against",
                                               i == 2 ? "own central differences" : "own forward step"));
    tgi_cli_say("%-22s %8.2f us   %-24s %8.2f us   ratio %.3g", name[i], us[i],
                i == 2 ? "own central differences" : "own forward step", theirs, us[i] / theirs);
  }
  tgi_cli_say("%d contacts, %d rows", info.ncontact, info.nrow);
  free(D);
  free(snap);
  tgi_scene_close(&scene);
  return true;
}

// 64 rollouts of the main job with gradients, on one thread and on two: seconds, speed-up, and whether the bits agree
static bool bench_rollouts(tgRun *run) {
  enum { COUNT = 64 };
  char path[1024];
  tgError error = {0};
  if (!tgi_models_file("half_cheetah_reach.yaml", path, sizeof path)) return false;
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
  json_array_append_new(run->rows, json_pack("{s:s, s:f, s:f, s:f, s:s, s:b}", "name",
                                             "cheetah.64_rollouts_2_threads_s", "ours", seconds[1], "theirs",
                                             seconds[0], "ratio", seconds[0] / seconds[1], "against",
                                             "own run on one thread", "same_bits", (int)same));
  tgi_cli_say("64 rollouts of 400 steps with gradients: %.3g s on one thread, %.3g s on two: %.3g x, bits %s", seconds[0], seconds[1],
              seconds[0] / seconds[1], same ? "equal" : "DIFFER");
  return same;
}

static const tgExperiment benches[] = {
    {.id = "step", .title = "half-cheetah on the ground: step, adjoint and Jacobian against own central differences", .run = bench_step},
    {.id = "rollouts", .title = "64 half-cheetah rollouts with gradients on one and on two threads", .run = bench_rollouts},
};
enum { NBENCH = (int)(sizeof benches / sizeof *benches) };

int tgi_cli_bench(const tgCli *cli) {
  if (cli->list) return tgi_experiments_list(benches, NBENCH, cli->json);
  const tgExperiment *e = tgi_experiments_find(cli, benches, NBENCH);
  if (e == NULL) return TG_EXIT_USAGE;
  tgRun run = {.cli = cli, .experiment = e, .rows = json_array(), .began = tgi_cli_now()};
  int code = e->run(&run) ? TG_EXIT_OK : TG_EXIT_FAULT;
  if (cli->json) return tgi_cli_print_json(json_pack("{s:s, s:o}", "id", e->id, "rows", run.rows), code);
  json_decref(run.rows);
  return code;
}
