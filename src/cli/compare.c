// compare.c: tangere compare TASK ...: tasks under several contact models and methods, in one table.
//
// A row ends: with its iterations, with a failure that is named, or when its time is over, with the best so far. A
// timer looks at the clock, so that a rollout is left between two of its steps.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { ROW_SECONDS = 600 };

typedef struct Row {
  char name[64];
  const char *file, *contact, *method;   // contact, method: overrides; NULL: the task's
  bool zero_contact;
  int iterations;                 // 0: the task's
  tgStatus status;
  int code;                       // where it did not run
  bool ran, met, reached, late;   // met: by the motion itself, whatever its replays; late: its time was over
  char broken[160];               // the first replay that it does not hold in
  int done, unstable, steps;      // iterations; steps of the best that were longer than is stable, of how many
  double first, best, distance, seconds;
  long simulations;
  tgGradLabel label;
  char error[200];
} Row;

// the clock of a row; grace: seconds that an interrupted one still has
static void start_clock(const tgCli *cli, double grace) {
  tgi_cli_start_clock(tgi_cli_now() + (cli->seconds > 0 ? cli->seconds : (double)ROW_SECONDS), grace);
}

// the task's name is the file's without folder and ending
static const char *task_name(const char *file, char name[48]) {
  snprintf(name, 48, "%s", tgi_cli_base_name(file));
  char *dot = strrchr(name, '.');
  if (dot != NULL && dot != name) *dot = '\0';
  return name;
}

// The distance that the best leaves. A run that was stopped has the loss of what it was at, with a
// receding horizon a window's: the table shows the task's, of the motion that it leaves. In the time of a
// row again, else neither is known.
static void judge(const tgCli *cli, const tgTask *task, const tgOptimum *best, Row *r) {
  static const double grace = 2;   // as of the motions of `optimize`
  double loss = NAN, d;
  start_clock(cli, grace);
  tgEvaluator *e = tg_evaluator_create(task, 0, NULL);
  tgRolloutResult result = {.unstable = 0};
  if (e != NULL) tg_sim_watch_stability(tg_rollout_sim(tg_evaluator_rollout(e)), true);
  bool known = e != NULL && tg_evaluate(e, best->best, &loss, NULL, NULL, NULL, &tgi_cli_stop, &result) == TG_OK;
  r->unstable = known ? result.unstable : 0;
  r->steps = result.steps;
  for (int i = 0; known && tg_evaluator_term(e, i, NULL, &d) != NULL; i++)
    if (isfinite(d) && !(d <= r->distance)) r->distance = d;
  if (best->status == TG_CANCELLED) r->best = known ? loss : NAN;
  tg_evaluator_free(e);
  tgi_cli_stop_clock();
}

static void run_row(const tgCli *cli, Row *r) {
  tgCli own = *cli;
  own.contact = r->contact;
  own.method = r->method;
  own.zero_contact = r->zero_contact;
  if (r->iterations > 0) own.iterations = r->iterations;
  tgTask *task = tgi_cli_load_task(&own, r->file, &r->code);
  char name[48];
  tgCliBar bar = {.tty = isatty(2), .what = r->name, .last = tgi_cli_now()};
  tgOptimizeOptions o = tg_optimize_default();
  o.unrefined = true;   // a row is of one contact model
  o.seed = cli->seed;
  o.threads = cli->threads;
  o.cancel = &tgi_cli_stop;
  o.progress = tgi_cli_progress;
  o.progress_ctx = &bar;
  if (task != NULL) tgi_cli_say("%s, %s:", task_name(r->file, name), r->name);
  start_clock(cli, 0);
  tgOptimum *best = task != NULL ? tg_optimize(task, &o) : NULL;
  r->late = tgi_cli_stop_clock() && best != NULL && best->status == TG_CANCELLED;
  r->status = best != NULL ? best->status : TG_ERR_INVALID;
  r->ran = best != NULL;
  if (task != NULL && best == NULL) r->code = TG_EXIT_FAULT;
  if (best != NULL) {
    r->reached = best->reached;
    r->met = best->met;
    const tgVerification *v = &best->verification;
    if (v->broken >= 0) snprintf(r->broken, sizeof r->broken, "%s (%s)", v->row[v->broken].name, v->row[v->broken].text);
    r->first = best->first_loss;
    r->best = best->best_loss;
    r->seconds = best->seconds;
    r->simulations = best->simulations;
    r->label = best->grad.label;
    r->done = best->iterations;
    snprintf(r->error, sizeof r->error, "%.199s", best->status != TG_OK && best->status != TG_CANCELLED ? best->error.text : "");
    tgTask *view = best->stage > 0 ? tg_task_stage(task, best->stage, NULL) : NULL;
    judge(cli, view != NULL ? view : task, best, r);
    tg_task_free(view);
  }
  if (bar.tty && best != NULL && best->status != TG_OK) fputc('\n', stderr);
  tg_optimum_free(best);
  tg_task_free(task);
}

// "reached", "missed", "stopped after 10 min 00 s in iteration 7", "did not converge: ..."
static const char *outcome(const Row *r, char text[280]) {
  char time[32];
  if (!r->ran) snprintf(text, 280, "not run");
  else if (r->status == TG_CANCELLED)
    snprintf(text, 280, "%s after %s in iteration %d%s", r->late ? "stopped" : "interrupted",
             tgi_cli_duration(r->seconds, time, sizeof time), r->done + 1, r->reached ? ", reached" : "");
  else if (r->status == TG_OK && r->met && !r->reached) snprintf(text, 280, "does not hold: %s", r->broken);
  else if (r->status == TG_OK) snprintf(text, 280, "%s", r->reached ? "reached" : "missed");
  else snprintf(text, 280, "%s%s%s", tg_status_text(r->status), r->error[0] != '\0' ? ": " : "", r->error);
  size_t used = strlen(text);
  if (r->unstable > 0) snprintf(text + used, 280 - used, "; %d of %d steps longer than is stable", r->unstable, r->steps);
  return text;
}

static void print_row(FILE *to, const Row *r) {
  char name[48], text[280];
  fprintf(to, "%-22s %-24s ", task_name(r->file, name), r->name);
  if (r->ran)
    fprintf(to, "%-12.5g %-12.5g %-12.4g %-8ld %-9.3g %-10s %s\n", r->first, r->best, r->distance, r->simulations,
            r->seconds, tg_grad_label_text(r->label), outcome(r, text));
  else fprintf(to, "not run, for the reason above\n");
  fflush(to);
}

static json_t *row_json(const Row *r, double base) {
  char text[280];
  json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:I, s:f, s:s}", "task", r->file, "name", r->name,
                        "status", tg_status_text(r->status), "outcome", outcome(r, text), "reached", (int)r->reached,
                        "stopped", (int)r->late, "iterations", r->done, "simulations", (json_int_t)r->simulations,
                        "seconds", r->seconds, "gradient", tg_grad_label_text(r->label));
  json_object_set_new(j, "met", json_boolean(r->met));
  json_object_set_new(j, "unstable_steps", json_integer(r->unstable));
  json_object_set_new(j, "first_loss", isfinite(r->first) ? json_real(r->first) : json_null());
  json_object_set_new(j, "best_loss", isfinite(r->best) ? json_real(r->best) : json_null());
  json_object_set_new(j, "distance_m", isfinite(r->distance) ? json_real(r->distance) : json_null());
  json_object_set_new(j, "loss_over_first_row", isfinite(r->best) && base > 0 ? json_real(r->best / base) : json_null());
  return j;
}

enum { MAX_ROWS = 16, MOST_ROWS = MAX_ROWS - 2 };   // of a task; of these without the two baselines

// the words between commas of `list`, which is cut up; at least one, NULL when there is no list. How many there are, also beyond `most`.
static int split(char *list, char *word[], int most) {
  int n = 0;
  char *save = NULL;
  word[0] = NULL;
  for (char *one = strtok_r(list, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save), n++)
    if (n < most) word[n] = one;
  return n > 0 ? n : 1;
}

// rows of one task: one a contact model and method; with --baselines two more for the first: no contact gradient, and random search.
// 0: there are too many.
static int plan(const tgCli *cli, const char *file, Row *row, char *contacts, char *methods, size_t size) {
  char *contact[MAX_ROWS], *method[MAX_ROWS];
  const Row blank = {.file = file, .first = NAN, .best = NAN, .distance = NAN};
  int n = 0;
  int longest = (int)size - 1, cut = snprintf(contacts, size, "%s", cli->contact != NULL ? cli->contact : "") > longest;
  cut |= snprintf(methods, size, "%s", cli->method != NULL ? cli->method : "") > longest;
  int ncontact = split(contacts, contact, MAX_ROWS), nmethod = split(methods, method, MAX_ROWS);
  if (cut || ncontact > MOST_ROWS || nmethod > MOST_ROWS || ncontact * nmethod > MOST_ROWS) {
    tgi_cli_say("tangere compare: more than %d contact models times methods; compare them in parts", MOST_ROWS);
    return 0;
  }
  for (int i = 0; i < ncontact * nmethod; i++) {
    const char *c = contact[i / nmethod], *m = method[i % nmethod];
    row[n] = blank;
    row[n].contact = c;
    row[n].method = m;
    snprintf(row[n].name, sizeof row[n].name, "%.25s%s%.25s", c != NULL ? c : m == NULL ? "as in the task" : "",
             c != NULL && m != NULL ? " " : "", m != NULL ? m : "");
    n++;
  }
  for (int k = 0; k < 2 && cli->baselines; k++) {
    row[n] = blank;
    row[n].contact = row[0].contact;
    row[n].method = k == 0 ? row[0].method : "random";
    row[n].zero_contact = k == 0;
    snprintf(row[n].name, sizeof row[n].name, "%s", k == 0 ? "no contact gradient" : "random search");
    n++;
  }
  return n;
}

// iterations of random search with as many simulations
static int as_many(const tgCli *cli, const Row *row) {
  tgCli own = *cli;
  own.contact = row->contact;
  own.method = NULL;
  int code;
  tgTask *task = tgi_cli_load_task(&own, row->file, &code);
  if (task == NULL) return 1;
  int windows = tg_task_windows(task);
  long each = (long)tg_task_population(task) * (windows > 0 ? windows : 1);
  tg_task_free(task);
  return (int)((row->simulations + each - 1) / each);
}

// a task that no model runs is bad input; one that some do not support is a row that says so
static int compare_task(const tgCli *cli, const char *file, FILE *to, json_t *rows) {
  Row row[MAX_ROWS];
  char contacts[256], methods[256];
  int n = plan(cli, file, row, contacts, methods, sizeof contacts), failed = 0, ran = 0, own = n - (cli->baselines ? 2 : 0);
  if (n == 0) return TG_EXIT_USAGE;
  for (int i = 0; i < n && !tgi_cli_interrupted; i++) {
    if (i == n - 1 && cli->baselines && row[0].simulations > 0) row[i].iterations = as_many(cli, &row[0]);
    run_row(cli, &row[i]);
    ran += row[i].ran;
    if (!row[i].ran && (own == 1 || row[i].code == TG_EXIT_FAULT)) return row[i].code;
    failed += row[i].status != TG_OK && i < own;
    print_row(to, &row[i]);
    json_array_append_new(rows, row_json(&row[i], row[0].best));
  }
  return ran == 0 && !tgi_cli_interrupted ? TG_EXIT_INPUT : failed > 0 || !row[0].reached ? TG_EXIT_MISSED : TG_EXIT_OK;
}

int tgi_cli_compared(const tgCli *cli, json_t *json, int code) {
  code = tgi_cli_json_into(cli->out, "compare.json", json, "compare", code);
  if (cli->json) return tgi_cli_print_json(json, code);
  json_decref(json);
  return code;
}

// no table is made of it
static bool ends(int code) { return code == TG_EXIT_USAGE || code == TG_EXIT_INPUT || code == TG_EXIT_FAULT; }

// A task that cannot be read is told before any is run: it would take the table of those before it along.
static int read_all(const tgCli *cli) {
  tgCli own = *cli;
  own.contact = own.method = NULL;
  own.ncontact_option = 0;
  own.separate = false;
  int code = TG_EXIT_OK;
  for (int k = 0; k < cli->noperand && code == TG_EXIT_OK; k++) {
    int why;
    tgTask *task = tgi_cli_load_task(&own, cli->operand[k], &why);
    if (task == NULL) code = why;
    tg_task_free(task);
  }
  return code;
}

int tgi_cli_compare(const tgCli *cli) {
  if ((cli->file == NULL) != cli->properties) {
    tgi_cli_say("usage: tangere compare TASK ... [options], or tangere compare --properties");
    return TG_EXIT_USAGE;
  }
  int code = tgi_cli_out_ready(cli);
  if (code != TG_EXIT_OK) return code;
  if (cli->properties) return tgi_cli_properties(cli);
  code = cli->noperand > 1 ? read_all(cli) : TG_EXIT_OK;
  if (code != TG_EXIT_OK) return code;
  tgi_cli_catch_signals();
  FILE *to = cli->json ? stderr : stdout;
  json_t *rows = json_array(), *tasks = json_array();
  fprintf(to, "%-22s %-24s %-12s %-12s %-12s %-8s %-9s %-10s\n", "", "", "first loss", "best loss", "distance [m]",
          "sims", "seconds", "gradient  outcome");
  for (int k = 0; k < cli->noperand && !ends(code) && !tgi_cli_interrupted; k++) {
    int got = compare_task(cli, cli->operand[k], to, rows);
    if (ends(got) || code == TG_EXIT_OK) code = got;
    json_array_append_new(tasks, tgi_cli_input(cli->operand[k]));
  }
  if (ends(code)) {
    json_decref(rows);
    json_decref(tasks);
    return code;
  }
  if (tgi_cli_interrupted) code = TG_EXIT_INTERRUPTED;
  json_t *json = json_pack("{s:s, s:s, s:o, s:o}", "version", tg_version(), "command", "compare", "tasks", tasks, "rows", rows);
  return tgi_cli_compared(cli, json, code);
}
