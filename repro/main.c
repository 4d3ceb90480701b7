// main.c: the program tangere-reproduce, which `tangere reproduce` becomes: the experiments of the papers, each with
// its rows beside the published figures.
#include <signal.h>
#include <string.h>
#include <time.h>

#include "repro/experiments.h"

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
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f}", "id", run->experiment->id, "title", run->experiment->title,
                   "machine", cpu, "date", date, "version", tg_version(), "seconds", tgi_cli_now() - run->began);
}

static int finish_reproduction(const tgCli *cli, tgRun *run, bool done) {
  if (!tgi_cli_interrupted) tgi_run_missing(run);
  bool pass = done;
  size_t i;
  json_t *row;
  json_array_foreach(run->rows, i, row) pass = pass && json_is_true(json_object_get(row, "pass"));
  int code = tgi_cli_interrupted ? TG_EXIT_INTERRUPTED : !done ? TG_EXIT_FAULT : pass ? TG_EXIT_OK : TG_EXIT_MISSED;
  json_t *json = account(run);
  json_object_set_new(json, "pass", json_boolean(pass && !tgi_cli_interrupted));
  json_object_set(json, "rows", run->rows);
  json_object_set(json, "left", run->left);
  code = tgi_cli_json_into(run->folder, "rows.json", json, "reproduce", code);
  json_array_foreach(run->left, i, row) tgi_cli_say("left: %s", json_string_value(row));
  if (cli->json) return tgi_cli_print_json(json, code);
  json_decref(json);
  return code;
}

static int reproduce(const tgCli *cli) {
  if (cli->list || cli->file == NULL) return tgi_experiments_list(tgi_reproductions, tgi_nreproduction, cli->json);
  const tgExperiment *e = tgi_experiments_find(cli, tgi_reproductions, tgi_nreproduction);
  if (e == NULL) return TG_EXIT_USAGE;
  char folder[1000];
  snprintf(folder, sizeof folder, "%s", cli->out != NULL ? cli->out : "");
  if (cli->out == NULL) snprintf(folder, sizeof folder, "out/%s", e->id);
  int made = cli->no_replay ? TG_EXIT_OK : tgi_cli_make_folder(folder);
  if (made != TG_EXIT_OK) return made;
  tgi_cli_catch_signals();
  tgRun run = {.cli = cli, .experiment = e, .rows = json_array(), .left = json_array(), .folder = cli->no_replay ? NULL : folder,
               .began = tgi_cli_now()};
  int code = finish_reproduction(cli, &run, e->run(&run));
  json_decref(run.rows);
  json_decref(run.left);
  return code;
}

static const tgCommand command = {TG_CLI_REPRODUCE, reproduce};

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  tgi_cli_watch_json();
  return tgi_cli_end(tgi_cli_run(&command, argc, argv));
}
