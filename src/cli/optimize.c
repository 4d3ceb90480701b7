// optimize.c: tangere optimize TASK.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static json_t *effort_json(const tgTask *task) {
  tgTaskEffort e = tg_task_effort(task);
  return json_pack("{s:f, s:f, s:b, s:s}", "share", e.share, "weight", e.weight, "by_default", (int)e.by_default, "reason", e.reason);
}

// what is priced is said before it counts
static void say_effort(const tgTask *task) {
  tgTaskEffort e = tg_task_effort(task);
  if (e.share > 0)
    tgi_cli_say("effort %g%s: a speed of 1 m/s or rad/s of what is driven adds %.3g to the loss%s", e.share,
                e.by_default ? " by default" : "", e.weight, e.by_default ? "; effort: off takes that away" : "");
}

static json_t *figures(const tgCli *cli, const tgTask *task, const tgOptimum *o) {
  json_t *j = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:s}", "version", tg_version(), "command", "optimize", "task",
                        tgi_cli_input(cli->file), "model", tgi_cli_input(tg_task_model_path(task)), "contact",
                        tg_contact_word(tg_task_contact(task)), "method", tg_task_method(task), "seed", (json_int_t)cli->seed, "status",
                        o->status == TG_OK ? "ok" : tg_status_text(o->status));
  tgi_cli_keep_loading(cli, j);
  json_object_set_new(j, "reached", json_boolean(o->reached));
  json_object_set_new(j, "met", json_boolean(o->met));
  if (o->attempt > 0) json_object_set_new(j, "attempt", json_integer(o->attempt));
  if (o->start > 0) json_object_set_new(j, "start", json_integer(o->start));
  if (o->stage > 0) json_object_set_new(j, "stage", json_integer(o->stage));
  if (o->verification.n > 0) json_object_set_new(j, "verification", tgi_cli_verification_json(&o->verification));
  int apart;
  const tgSeparated *pair = tg_task_separated(task, &apart);
  if (apart > 0) json_object_set_new(j, "separated", tgi_cli_separated_json(tg_task_model(task), pair, apart));
  json_object_set_new(j, "effort", effort_json(task));
  if (o->trust_first.told) json_object_set_new(j, "trust_first", tgi_cli_trust_json(&o->trust_first.trust));
  if (o->trust_best.told) json_object_set_new(j, "trust_best", tgi_cli_trust_json(&o->trust_best.trust));
  json_object_set_new(j, "iterations", json_integer(o->iterations));
  if (o->indefinite > 0) json_object_set_new(j, "indefinite", json_integer(o->indefinite));
  json_object_set_new(j, "simulations", json_integer(o->simulations));
  json_object_set_new(j, "first_loss", isfinite(o->first_loss) ? json_real(o->first_loss) : json_null());
  json_object_set_new(j, "best_loss", isfinite(o->best_loss) ? json_real(o->best_loss) : json_null());
  json_object_set_new(j, "seconds", json_real(o->seconds));
  json_t *parameters = json_object();
  const char *label;
  for (int i = 0, at; (label = tg_task_parameter(task, i, &at)) != NULL; i++)
    json_object_set_new(parameters, label, json_real(o->best[at]));
  if (json_object_size(parameters) > 0) json_object_set_new(j, "parameters", parameters);
  else json_decref(parameters);
  tgi_cli_keep_parameters(task, o, j);
  json_object_set_new(j, "gradient", json_string(tg_grad_label_text(o->grad.label)));
  json_object_set_new(j, "gradient_reason", json_string(o->grad.reason));
  if (o->error.text[0] != '\0') json_object_set_new(j, "error", json_string(o->error.text));
  return j;
}

// the page of the folder while the optimiser runs: when it was last written, seconds that took, and the loss then
typedef struct Page {
  const tgCli *cli;
  const tgTask *task;
  tgTask *view;             // the task as the stage under way has it; NULL: the task itself
  int attempt, stage;
  char name[40];            // of it, in each line of progress
  bool begun;
  double shown, cost, best;
} Page;

// the stage that begins is said, and has its own losses
static void enter_stage(Page *page, int stage, int stages) {
  page->stage = stage;
  page->best = INFINITY;
  tg_task_free(page->view);
  page->view = stage > 0 ? tg_task_stage(page->task, stage, NULL) : NULL;
  const tgTask *task = page->view != NULL ? page->view : page->task;
  snprintf(page->name, sizeof page->name, "stage %d of %d", stage + 1, stages + 1);
  tgi_cli_say("stage %d of %d: %s, steps of %.3g ms", stage + 1, stages + 1, tg_contact_word(tg_task_contact(task)),
              1e3 * tg_task_timestep(task));
}

// The best so far as the folder's page, for whoever looks: not before two seconds, not more than one part in twenty of the time.
static void show_best(void *ctx, const tgProgress *p) {
  enum { PART = 20, FIRST = 2 };
  Page *page = ctx;
  double began = tgi_cli_now();
  bool again = page->begun && p->attempt != page->attempt;
  if (again) tgi_cli_say("attempt %d of at most %d", p->attempt + 1, p->attempts);
  if (p->stages > 0 && (p->stage != page->stage || again || !page->begun)) enter_stage(page, p->stage, p->stages);
  if (again) page->best = INFINITY;
  page->attempt = p->attempt;
  page->begun = true;
  bool better = p->best < page->best && isfinite(p->best), last = p->iteration == p->iterations;
  if (page->cli->out == NULL || page->cli->no_replay) return;
  if (!better || last || p->replayed || p->seconds < (double)FIRST || began - page->shown < (double)PART * page->cost + 0.5) return;
  const tgTask *task = page->view != NULL ? page->view : page->task;
  json_t *json = figures(page->cli, task, p->so_far);
  json_object_set_new(json, "status", json_string("running"));
  tgi_cli_write_optimum(task, p->so_far, page->cli->out, tgi_cli_base_name(page->cli->file), json, true, 0);
  json_decref(json);
  page->best = p->best;
  page->shown = tgi_cli_now();
  page->cost = page->shown - began;
}

// whole: the task; task: as the stage has it that the best is of
static void say_account(const tgTask *whole, const tgTask *task, const tgOptimum *o) {
  tgi_cli_say("loss %.6g -> %.6g in %d iterations, %ld simulations, %.3g s; gradient %s%s%s", o->first_loss, o->best_loss, o->iterations,
              o->simulations, o->seconds, tg_grad_label_text(o->grad.label), o->grad.reason[0] != '\0' ? ": " : "", o->grad.reason);
  if (o->trust_first.told) tgi_cli_say_trust(stderr, "trust in the first gradient", &o->trust_first.trust);
  if (o->trust_best.told) tgi_cli_say_trust(stderr, "trust in the gradient at the best", &o->trust_best.trust);
  if (o->indefinite > 0)
    tgi_cli_say("%s: in %d iterations a control Hessian was not positive definite; a penalty on states took its "
                "place", tg_task_method(task), o->indefinite);
  const char *label;
  for (int i = 0, at; (label = tg_task_parameter(task, i, &at)) != NULL; i++)
    tgi_cli_say("%s: %.6g -> %.10g", label, o->first[at], o->best[at]);
  if (tg_task_attempts(whole) > 1) tgi_cli_say("the motion is that of attempt %d of %d", o->attempt + 1, tg_task_attempts(whole));
  if (tg_task_starts(whole) > 1) tgi_cli_say("the motion is that of start %d of %d", o->start + 1, tg_task_starts(whole));
  if (tg_task_stages(whole) > 0)
    tgi_cli_say("the motion is that of stage %d of %d: %s, steps of %.3g ms", o->stage + 1, tg_task_stages(whole) + 1,
                tg_contact_word(tg_task_contact(task)), 1e3 * tg_task_timestep(task));
  tgi_cli_say_verification(&o->verification);
}

// what was found is said where it cannot be written, too
static int finish(const tgCli *cli, const tgTask *whole, const tgTask *task, const tgOptimum *o) {
  enum { GRACE = 2 };   // seconds for the motions after an interrupt
  json_t *json = figures(cli, task, o);
  int code = tgi_cli_write_optimum(task, o, cli->out, tgi_cli_base_name(cli->file), json, !cli->no_replay, GRACE);
  bool cut = code == TG_EXIT_INTERRUPTED, written = code == TG_EXIT_OK;
  if (cli->json) code = tgi_cli_print_json(json, code);
  else json_decref(json);
  if (cut && cli->out != NULL)
    tgi_cli_say("interrupted: its motions take longer than %d s and are left out; --resume makes them", GRACE);
  say_account(whole, task, o);
  if (written && cli->out != NULL && !cli->no_replay) tgi_cli_say("replay: %s/replay.html (open it in a browser)", cli->out);
  return code;
}

// What there is to say and write at the end of a search, and the program's exit status: that of the files, unless the search itself was
// cut short, refused or missed its goal.
static int conclude(const tgCli *cli, const tgTask *task, tgOptimum *best) {
  int code = TG_EXIT_OK;
  if (best->status != TG_OK && best->status != TG_CANCELLED) code = tgi_cli_error("optimize", &best->error);
  tgTask *view = best->stage > 0 ? tg_task_stage(task, best->stage, &best->error) : NULL;
  const tgTask *shown = view != NULL ? view : task;
  bool refused = cli->resume && best->status == TG_ERR_INVALID;   // a journal of another run, whose folder stays as it is
  int wrote = best->iterations > 0 && !refused ? finish(cli, task, shown, best) : TG_EXIT_OK;
  if (best->status == TG_CANCELLED) {
    tgi_cli_say("interrupted after iteration %d%s", best->iterations, cli->out != NULL ? "; --resume takes it up" : "");
    code = TG_EXIT_INTERRUPTED;
  } else if (code == TG_EXIT_OK || wrote == TG_EXIT_FAULT) code = wrote;
  if (best->status == TG_OK && !tgi_cli_say_outcome(shown, best) && code == TG_EXIT_OK) code = TG_EXIT_MISSED;
  tg_task_free(view);
  return code;
}

int tgi_cli_optimize(const tgCli *cli) {
  int code = TG_EXIT_OK;
  tgTask *task = tgi_cli_load_task(cli, cli->file, &code);
  if (task == NULL) return code;
  char journal[1100];
  Page page = {.cli = cli, .task = task, .best = INFINITY};
  tgCliBar bar = {.tty = isatty(2), .what = page.name, .show = show_best, .show_ctx = &page};
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = cli->seed;
  o.resume = cli->resume;
  o.overwrite = cli->overwrite;
  o.threads = cli->threads;
  o.trust = !cli->no_trust;
  o.cancel = &tgi_cli_interrupted;
  o.progress = tgi_cli_progress;
  o.progress_ctx = &bar;
  code = TG_EXIT_OK;
  if (cli->out != NULL) {
    code = tgi_cli_make_folder(cli->out);
    snprintf(journal, sizeof journal, "%s/checkpoint", cli->out);
    o.journal = journal;
  } else if (cli->resume) {
    tgi_cli_say("tangere optimize: --resume needs --out, the folder of the run to take up");
    code = TG_EXIT_USAGE;
  }
  if (code != TG_EXIT_OK) {
    tg_task_free(task);
    return code;
  }
  tgi_cli_catch_signals();
  say_effort(task);
  tgOptimum *best = tg_optimize(task, &o);
  if (best == NULL) {
    tgi_cli_say("tangere optimize: out of memory");
    code = TG_EXIT_FAULT;
  } else {
    if (bar.tty && best->status != TG_OK) fputc('\n', stderr);
    code = conclude(cli, task, best);
  }
  tg_optimum_free(best);
  tg_task_free(page.view);
  tg_task_free(task);
  return code;
}
