// rows.c: rows of experiments and measurements, and the bands that they are held to.
#include "cli/shared/rows.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

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
  tgi_cli_say("%-4s %-38s %-12.6g %-5s %-10s %-12s %s", b->sense == 0 ? "" : pass ? "ok" : "MISS", b->name, value,
              b->unit, want, paper, note);
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

void tgi_run_missing(tgRun *run) {
  for (int i = 0; i < run->experiment->nband; i++) {
    const tgBand *b = &run->experiment->band[i];
    bool there = false;
    size_t k;
    json_t *row;
    json_array_foreach(run->rows, k, row) there = there || strcmp(json_string_value(json_object_get(row, "name")), b->name) == 0;
    if (!there) add_row(run, &(tgBand){b->name, b->sense != 0 ? b->sense : '>', b->limit, b->unit, b->paper}, NAN, "not measured");
  }
}

void tgi_run_progress(const tgRun *run, const char *what, double done, double total, double since) {
  char left[32];
  double spent = tgi_cli_now() - since;
  tgi_cli_say("%s %s: %.0f of %.0f, %s left", run->experiment->id, what, done, total,
              tgi_cli_duration(done > 0 ? spent / done * (total - done) : -1, left, sizeof left));
}

int tgi_experiments_list(const tgExperiment *e, int n, bool json) {
  json_t *all = json_array();
  for (int i = 0; i < n; i++) {
    if (!json) printf("%-9s %s\n", e[i].id, e[i].title);
    json_array_append_new(all, json_pack("{s:s, s:s}", "id", e[i].id, "title", e[i].title));
  }
  if (json) return tgi_cli_print_json(all, TG_EXIT_OK);
  json_decref(all);
  return TG_EXIT_OK;
}

const tgExperiment *tgi_experiments_find(const tgCli *cli, const tgExperiment *e, int n) {
  for (int i = 0; i < n && cli->file != NULL; i++)
    if (strcasecmp(e[i].id, cli->file) == 0) return &e[i];
  tgi_cli_say("tangere %s: %s%s; `tangere %s --list` names what there is", cli->command, cli->file != NULL ? "there is no " : "give a name",
              cli->file != NULL ? cli->file : "", cli->command);
  return NULL;
}
