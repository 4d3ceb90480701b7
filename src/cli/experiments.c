// experiments.c: tangere reproduce ID and tangere bench NAME: rows, their bands, and the two commands.
#include "cli/experiments.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const tgBand *find_band(const tgExperiment *e, const char *name) {
  for (int i = 0; i < e->nband; i++)
    if (strcmp(e->band[i].name, name) == 0) return &e->band[i];
  return NULL;
}

static void add_row(tgRun *run, const tgBand *b, double value, const char *note) {
  char want[40] = "reported";
  if (b->sense != 0) snprintf(want, sizeof want, "%c= %g", b->sense, b->limit);
  bool pass = b->sense == 0 || (b->sense == '<' ? value <= b->limit : value >= b->limit);  // NaN passes neither
  json_array_append_new(run->rows, json_pack("{s:s, s:o, s:s, s:b, s:o, s:s, s:s}", "name", b->name, "value",
                                             isfinite(value) ? json_real(value) : json_null(), "band", want, "pass", (int)pass, "paper",
                                             isfinite(b->paper) ? json_real(b->paper) : json_null(), "unit", b->unit, "note", note));
  char paper[40] = "";
  if (isfinite(b->paper)) snprintf(paper, sizeof paper, "paper %.4g", b->paper);
  tgi_cli_say("%-4s %-38s %-12.6g %-5s %-10s %-12s %s", b->sense == 0 ? "" : pass ? "ok" : "MISS", b->name, value, b->unit, want, paper, note);
}

void tgi_run_row(tgRun *run, const char *name, double value, const char *note, ...) {
  char text[600];
  va_list args;
  va_start(args, note);
  vsnprintf(text, sizeof text, note, args);
  va_end(args);
  const tgBand *b = find_band(run->experiment, name), none = {.name = name, .unit = "", .paper = NAN};
  add_row(run, b != NULL ? b : &none, value, text);
}

void tgi_run_report(tgRun *run, const char *name, double value, const char *unit, double paper, const char *note) {
  tgBand b = {.name = name, .unit = unit, .paper = paper};
  add_row(run, &b, value, note);
}

void tgi_run_any(tgRun *run, const char *name, double value, const char *unit, double paper, const char *note) {
  for (int i = 0; i < run->experiment->nband; i++)
    if (strcmp(run->experiment->band[i].name, name) == 0) {
      tgi_run_row(run, name, value, "%s", note);
      return;
    }
  tgi_run_report(run, name, value, unit, paper, note);
}

void tgi_run_progress(const tgRun *run, const char *what, double done, double total, double since) {
  char left[32];
  double spent = tgi_cli_now() - since;
  tgi_cli_say("%s %s: %.0f of %.0f, %s left", run->experiment->id, what, done, total,
              tgi_cli_duration(done > 0 ? spent / done * (total - done) : -1, left, sizeof left));
}

static int list(const tgExperiment *e, int n, bool json) {
  json_t *all = json_array();
  for (int i = 0; i < n; i++) {
    if (!json) printf("%-9s %s\n", e[i].id, e[i].title);
    json_array_append_new(all, json_pack("{s:s, s:s}", "id", e[i].id, "title", e[i].title));
  }
  if (json) return tgi_cli_print_json(all, TG_EXIT_OK);
  json_decref(all);
  return TG_EXIT_OK;
}

static const tgExperiment *find(const tgCli *cli, const tgExperiment *e, int n) {
  for (int i = 0; i < n && cli->file != NULL; i++)
    if (strcasecmp(e[i].id, cli->file) == 0) return &e[i];
  tgi_cli_say("tangere %s: %s%s; `tangere %s --list` names what there is", cli->command, cli->file != NULL ? "there is no " : "give a name",
              cli->file != NULL ? cli->file : "", cli->command);
  return NULL;
}

// {"machine", "date", "version", "seconds"}: what a figure means nothing without
static json_t *account(const tgRun *run) {
  char cpu[200] = "unknown", line[256], date[32] = "";
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
      snprintf(cpu, sizeof cpu, "%s", strchr(line, ':') + 2);
      cpu[strcspn(cpu, "\n")] = '\0';
      break;
    }
  if (f != NULL) fclose(f);
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f}", "id", run->experiment->id, "title", run->experiment->title, "machine", cpu, "date", date,
                   "version", tg_version(), "seconds", tgi_cli_now() - run->began);
}

// rows that were promised and are not there are misses, not silence
static void fill_missing(tgRun *run) {
  for (int i = 0; i < run->experiment->nband; i++) {
    const tgBand *b = &run->experiment->band[i];
    bool there = false;
    size_t k;
    json_t *row;
    json_array_foreach(run->rows, k, row) there = there || strcmp(json_string_value(json_object_get(row, "name")), b->name) == 0;
    if (!there) add_row(run, &(tgBand){b->name, b->sense != 0 ? b->sense : '>', b->limit, b->unit, b->paper}, NAN, "not measured");
  }
}

static int finish_reproduction(const tgCli *cli, tgRun *run, bool done) {
  if (!tgi_cli_interrupted) fill_missing(run);
  bool pass = done;
  size_t i;
  json_t *row;
  json_array_foreach(run->rows, i, row) pass = pass && json_is_true(json_object_get(row, "pass"));
  int code = tgi_cli_interrupted ? TG_EXIT_INTERRUPTED : !done ? TG_EXIT_FAULT : pass ? TG_EXIT_OK : TG_EXIT_MISSED;
  json_t *json = account(run);
  json_object_set_new(json, "pass", json_boolean(pass && !tgi_cli_interrupted));
  json_object_set(json, "rows", run->rows);
  json_object_set(json, "left", run->left);
  if (run->folder != NULL) {
    char path[1100];
    snprintf(path, sizeof path, "%s/rows.json", run->folder);
    if (json_dump_file(json, path, JSON_INDENT(2) | JSON_REAL_PRECISION(17) | JSON_PRESERVE_ORDER) != 0) {
      tgi_cli_say("tangere reproduce: %s cannot be written", path);
      if (code == TG_EXIT_OK || code == TG_EXIT_MISSED) code = TG_EXIT_FAULT;
    }
  }
  json_array_foreach(run->left, i, row) tgi_cli_say("left: %s", json_string_value(row));
  if (cli->json) return tgi_cli_print_json(json, code);
  json_decref(json);
  return code;
}

int tgi_cli_reproduce(const tgCli *cli) {
  if (cli->list || cli->file == NULL) return list(tgi_reproductions, tgi_nreproduction, cli->json);
  const tgExperiment *e = find(cli, tgi_reproductions, tgi_nreproduction);
  if (e == NULL) return TG_EXIT_USAGE;
  char folder[1000];
  snprintf(folder, sizeof folder, "%s", cli->out != NULL ? cli->out : "");
  if (cli->out == NULL) snprintf(folder, sizeof folder, "out/%s", e->id);
  if (!cli->no_replay && !tgi_cli_make_folder(folder)) return TG_EXIT_INPUT;
  tgi_cli_catch_signals();
  tgRun run = {.cli = cli, .experiment = e, .rows = json_array(), .left = json_array(), .folder = cli->no_replay ? NULL : folder,
               .began = tgi_cli_now()};
  int code = finish_reproduction(cli, &run, e->run(&run));
  json_decref(run.rows);
  json_decref(run.left);
  return code;
}

int tgi_cli_bench(const tgCli *cli) {
  if (cli->list) return list(tgi_benches, tgi_nbench, cli->json);
  const tgExperiment *e = find(cli, tgi_benches, tgi_nbench);
  if (e == NULL) return TG_EXIT_USAGE;
  tgRun run = {.cli = cli, .experiment = e, .rows = json_array(), .began = tgi_cli_now()};
  int code = e->run(&run) ? TG_EXIT_OK : TG_EXIT_FAULT;
  if (cli->json) return tgi_cli_print_json(json_pack("{s:s, s:o}", "id", e->id, "rows", run.rows), code);
  json_decref(run.rows);
  return code;
}
