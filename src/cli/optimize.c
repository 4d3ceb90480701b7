// optimize.c: tangere optimize TASK.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static json_t *figures(const tgCli *cli, const tgTask *task, const tgOptimum *o, double distance);

// The best so far as the folder's page, for whoever looks: not before two seconds, not more than one part in twenty of the time.
static void show_best(tgCliBar *bar, const tgProgress *p) {
  enum { PART = 20, FIRST = 2 };
  double began = tgi_cli_now();
  bool better = p->best < bar->best && isfinite(p->best), last = p->iteration == p->iterations;
  if (!better || last || p->replayed || p->seconds < FIRST || began - bar->shown < PART * bar->cost + 0.5) return;
  json_t *json = figures(bar->cli, bar->task, p->so_far, NAN);
  json_object_set_new(json, "status", json_string("running"));
  tgi_cli_write_optimum(bar->task, p->so_far, bar->cli->out, tgi_cli_base_name(bar->cli->file), json, true);
  json_decref(json);
  bar->best = p->best;
  bar->shown = tgi_cli_now();
  bar->cost = bar->shown - began;
}

void tgi_cli_progress(void *ctx, const tgProgress *p) {
  tgCliBar *bar = ctx;
  if (bar->cli != NULL) show_best(bar, p);
  double now = tgi_cli_now();
  bool end = p->iteration == p->iterations, due = now - bar->last > (bar->tty ? 0.05 : 1);
  bool decade = p->iteration == 1 || p->iteration % (p->iterations >= 50 ? p->iterations / 10 : 10) == 0;
  if (p->replayed || !(end || due || (decade && !bar->tty))) return;
  bar->last = now;
  char left[32];
  const char *what = bar->what != NULL ? bar->what : "";
  int done = p->iterations > 0 ? 24 * p->iteration / p->iterations : 0;
  if (bar->tty)
    fprintf(stderr, "\r%s%s[%.*s%.*s] %d/%d  loss %-11.5g best %-11.5g left %-12s", what, what[0] != '\0' ? " " : "", done,
            "########################", 24 - done, "........................", p->iteration, p->iterations, p->loss, p->best, tgi_cli_duration(p->seconds_left, left, sizeof left));
  else
    fprintf(stderr, "%s%siteration %d of %d: loss %.6g, best %.6g%s%s%s\n", what, what[0] != '\0' ? ": " : "", p->iteration, p->iterations, p->loss, p->best,
            p->seconds_left < 0 ? "" : ", ", p->seconds_left < 0 ? "" : tgi_cli_duration(p->seconds_left, left, sizeof left),
            p->seconds_left < 0 ? "" : " left");
  if (bar->tty && end) fputc('\n', stderr);
}

tgStatus tgi_cli_record_task(const tgTask *task, const double *x, tgCliTrajectory *t, tgError *error) {
  const tgModel *m = tg_task_model(task);
  int steps = tg_task_steps(task);
  tgSim *sim = tg_sim_create(m, tg_task_contact(task), NULL, error);
  double *u = malloc(((size_t)steps * (size_t)tg_model_nu(m) + 1) * sizeof *u);
  tgStatus st = sim != NULL && u != NULL ? TG_OK : TG_ERR_MEMORY;
  error->status = st;
  if (st == TG_OK) {
    tg_task_expand(task, x, tg_sim_qpos(sim), tg_sim_qvel(sim), u);
    tg_task_set_parameters(task, x, sim);
    int interrupted = tgi_cli_interrupted;
    tgi_cli_interrupted = 0;   // short, and the user wants to see it
    st = tgi_cli_record(sim, tg_model_nu(m) > 0 ? u : NULL, steps, tg_task_timestep(task), t, error);
    tgi_cli_interrupted |= interrupted;
  }
  free(u);
  tg_sim_free(sim);
  return st;
}

static json_t *figures(const tgCli *cli, const tgTask *task, const tgOptimum *o, double distance) {
  json_t *j = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:s}", "version", tg_version(), "command", "optimize", "task",
                        tgi_cli_input(cli->file), "model", tgi_cli_input(tg_task_model_path(task)), "contact",
                        tg_contact_word(tg_task_contact(task)), "method", tg_task_method(task), "seed", (json_int_t)cli->seed, "status",
                        o->status == TG_OK ? "ok" : tg_status_text(o->status));
  json_object_set_new(j, "reached", json_boolean(o->reached));
  json_object_set_new(j, "iterations", json_integer(o->iterations));
  if (o->indefinite > 0) json_object_set_new(j, "indefinite", json_integer(o->indefinite));
  json_object_set_new(j, "simulations", json_integer(o->simulations));
  json_object_set_new(j, "first_loss", isfinite(o->first_loss) ? json_real(o->first_loss) : json_null());
  json_object_set_new(j, "best_loss", isfinite(o->best_loss) ? json_real(o->best_loss) : json_null());
  if (isfinite(distance)) json_object_set_new(j, "distance_m", json_real(distance));
  json_object_set_new(j, "seconds", json_real(o->seconds));
  json_t *parameters = json_object();
  const char *label;
  for (int i = 0, at; (label = tg_task_parameter(task, i, &at)) != NULL; i++) json_object_set_new(parameters, label, json_real(o->best[at]));
  if (json_object_size(parameters) > 0) json_object_set_new(j, "parameters", parameters);
  else json_decref(parameters);
  tgi_cli_keep_parameters(task, o, j);
  json_object_set_new(j, "gradient", json_string(tgi_cli_label(o->grad.label)));
  json_object_set_new(j, "gradient_reason", json_string(o->grad.reason));
  if (o->error.text[0] != '\0') json_object_set_new(j, "error", json_string(o->error.text));
  return j;
}

double tgi_cli_best_distance(const tgTask *task, const tgOptimum *o) {
  tgEvaluator *e = tg_evaluator_create(task, 0, NULL);
  double loss, worst = NAN, d;
  if (e != NULL && tg_evaluate(e, o->best, &loss, NULL, NULL, NULL, NULL, NULL) == TG_OK)
    for (int i = 0; tg_evaluator_term(e, i, NULL, &d) != NULL; i++)
      if (isfinite(d) && !(d <= worst)) worst = d;
  tg_evaluator_free(e);
  return worst;
}

int tgi_cli_write_optimum(const tgTask *task, const tgOptimum *o, const char *folder, const char *title, json_t *json, bool replay) {
  tgError error = {0};
  double distance = tgi_cli_best_distance(task, o);
  tgCliTrajectory t[2] = {{.label = "first", .iteration = 0},
                          {.label = "best", .iteration = o->ncurve > 0 ? o->curve_iteration[tgi_cli_least(o->curve_loss, o->ncurve)] : 0}};
  tgStatus st = tgi_cli_record_task(task, o->first, &t[0], &error);
  if (st == TG_OK) st = tgi_cli_record_task(task, o->best, &t[1], &error);
  int code = st != TG_OK ? tgi_cli_error("optimize", &error) : TG_EXIT_OK;
  if (st == TG_OK && folder != NULL)
    for (int i = 0; i < 2; i++)
      if (tgi_cli_record_gradient(task, i == 0 ? o->first : o->best, &t[i], &error) != TG_OK)
        tgi_cli_say("no gradient in the replay of the %s iterate: %s", t[i].label, error.text[0] != '\0' ? error.text : tg_status_text(error.status));
  if (st == TG_OK && folder != NULL) {
    tgReplayFigure fig[] = {{.name = "loss, first", .value = o->first_loss}, {.name = "loss, best", .value = o->best_loss},
                            {.name = "simulations", .value = (double)o->simulations}, {.name = "distance [m]", .value = distance}};
    tgReplayMarker marker[8];
    int track, nmarker = tgi_cli_task_markers(task, marker, 8, &track);
    json_object_set_new(json, "track_body", json_string(tg_model_name(tg_task_model(task), TG_THING_BODY, track)));
    tgCliRun run = {.folder = folder, .title = title, .model = tg_task_model(task), .h = tg_task_timestep(task), .ntrajectory = 2,
                    .trajectory = t, .optimum = o, .nfigure = isfinite(distance) ? 4 : 3, .figure = fig, .nmarker = nmarker,
                    .marker = marker, .track = track, .json = json, .replay = replay};
    code = tgi_cli_write_run(&run);
  }
  for (int i = 0; i < 2; i++) tgi_cli_trajectory_free(&t[i]);
  return code;
}

static int finish(const tgCli *cli, const tgTask *task, const tgOptimum *o) {
  double distance = tgi_cli_best_distance(task, o);
  json_t *json = figures(cli, task, o, distance);
  int code = tgi_cli_write_optimum(task, o, cli->out, tgi_cli_base_name(cli->file), json, !cli->no_replay);
  if (cli->json) code = tgi_cli_print_json(json, code);
  else json_decref(json);
  if (code == TG_EXIT_OK) {
    tgi_cli_say("loss %.6g -> %.6g in %d iterations, %ld simulations, %.3g s; gradient %s%s%s", o->first_loss, o->best_loss, o->iterations,
                o->simulations, o->seconds, tgi_cli_label(o->grad.label), o->grad.reason[0] != '\0' ? ": " : "", o->grad.reason);
    if (o->indefinite > 0)
      tgi_cli_say("%s: in %d iterations a control Hessian was not positive definite; a penalty on states took its place", tg_task_method(task), o->indefinite);
    const char *label;
    for (int i = 0, at; (label = tg_task_parameter(task, i, &at)) != NULL; i++) tgi_cli_say("%s: %.6g -> %.10g", label, o->first[at], o->best[at]);
    if (isfinite(distance)) tgi_cli_say("distance to the target: %.3g m", distance);
    if (cli->out != NULL && !cli->no_replay) tgi_cli_say("replay: %s/replay.html (open it in a browser)", cli->out);
  }
  return code;
}

int tgi_cli_optimize(const tgCli *cli) {
  tgTask *task = tgi_cli_load_task(cli, cli->file);
  if (task == NULL) return TG_EXIT_INPUT;
  char journal[1100];
  tgCliBar bar = {.tty = isatty(2), .best = INFINITY};
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = cli->seed;
  o.resume = cli->resume;
  o.overwrite = cli->overwrite;
  o.threads = cli->threads;
  o.cancel = &tgi_cli_interrupted;
  o.progress = tgi_cli_progress;
  o.progress_ctx = &bar;
  int code = TG_EXIT_OK;
  if (cli->out != NULL) {
    if (!tgi_cli_make_folder(cli->out)) code = TG_EXIT_INPUT;
    snprintf(journal, sizeof journal, "%s/checkpoint", cli->out);
    o.journal = journal;
    if (!cli->no_replay) bar.cli = cli, bar.task = task;
  } else if (cli->resume) {
    tgi_cli_say("tangere optimize: --resume needs --out, the folder of the run to take up");
    code = TG_EXIT_USAGE;
  }
  if (code != TG_EXIT_OK) {
    tg_task_free(task);
    return code;
  }
  tgi_cli_catch_signals();
  tgOptimum *best = tg_optimize(task, &o);
  if (best == NULL) {
    tgi_cli_say("tangere optimize: out of memory");
    code = TG_EXIT_FAULT;
  } else {
    if (bar.tty && best->status != TG_OK) fputc('\n', stderr);
    if (best->status != TG_OK && best->status != TG_CANCELLED) code = tgi_cli_error("optimize", &best->error);
    int wrote = best->iterations > 0 ? finish(cli, task, best) : TG_EXIT_OK;
    if (best->status == TG_CANCELLED) {
      tgi_cli_say("interrupted after iteration %d%s", best->iterations, cli->out != NULL ? "; --resume takes it up" : "");
      code = TG_EXIT_INTERRUPTED;
    } else if (code == TG_EXIT_OK) code = wrote;
    if (code == TG_EXIT_OK && !best->reached) {
      tgi_cli_say("the task's success criterion is not met");
      code = TG_EXIT_MISSED;
    }
  }
  tg_optimum_free(best);
  tg_task_free(task);
  return code;
}
