// shards.c: tangere batch SPEC --out DIR: all runs of a specification; tangere batch --merge DIR ..: their results as one file.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tangere/shard.h"

typedef struct Bar { double last; bool tty; } Bar;

static void show(void *ctx, const tgShardLedger *ledger, int before, double seconds) {
  Bar *bar = ctx;
  int done = tg_shard_ledger_done(ledger), total = tg_shard_ledger_total(ledger);
  double every = bar->tty ? 0.2 : 10, t = tgi_cli_now();
  if (t - bar->last < every && done < total) return;
  bar->last = t;
  char left[40];
  double rate = seconds > 0 ? (done - before) / seconds : 0;
  tgi_cli_duration(rate > 0 ? (total - done) / rate : 0, left, sizeof left);
  fprintf(stderr, "%s%d of %d shards, %.3g a second, %s left, %lld points failed, least loss %.6g%s", bar->tty ? "\r\033[K" : "",
          done, total, rate, left, (long long)tg_shard_ledger_failed(ledger), tg_shard_ledger_best(ledger),
          bar->tty && done < total ? "" : "\n");
}

// "I/N" with 0 <= I < N; false: said
static bool read_part(const char *text, int *part, int *parts) {
  char end;
  *part = 0;
  *parts = 1;
  if (text == NULL) return true;
  if (sscanf(text, "%d/%d%c", part, parts, &end) == 2 && *parts >= 1 && *part >= 0 && *part < *parts) return true;
  tgi_cli_say("tangere batch: --shard '%s': wanted is I/N, I from 0 to N - 1", text);
  return false;
}

static bool identify(const char *path, const tgLoadOptions *load, char *identity, size_t size, tgError *error) {
  tgShards *s = tg_shards_load(path, load, error);
  if (s == NULL) return false;
  snprintf(identity, size, "%s", tg_shards_identity(s));
  tg_shards_free(s);
  return true;
}

static int finish(const tgCli *cli, tgStatus st, const tgError *error, int shards, int done, int64_t failed, const char *identity,
                  double seconds) {
  int code = failed > 0 ? TG_EXIT_MISSED : TG_EXIT_OK;
  if (st == TG_CANCELLED) code = TG_EXIT_INTERRUPTED;
  else if (st != TG_OK) code = tgi_cli_error("batch", error);
  if (st == TG_ERR_FILE && shards > 0) code = TG_EXIT_FAULT;   // what was to be read is read: it is where results go
  bool begun = shards > 0 || st == TG_OK || st == TG_CANCELLED;   // else refused, as the same command would be again
  if (begun)
    tgi_cli_say("%d of %d shards done, %lld points failed, %.3g s; %s", done, shards, (long long)failed, seconds,
                st == TG_CANCELLED  ? "interrupted: the same command goes on from here"
                : st == TG_OK       ? "tangere batch --merge joins the results"
                                    : "the same command goes on from here");
  if (!cli->json) return code;
  json_t *j = json_pack("{s:s, s:s, s:o, s:s, s:s, s:i, s:i, s:I, s:f, s:s}", "version", tg_version(), "command", "batch", "specification",
                        tgi_cli_input(cli->file), "folder", cli->out, "of", identity, "shards", shards, "done", done, "failed",
                        (json_int_t)failed, "seconds", seconds, "status", tg_status_text(st));
  return tgi_cli_print_json(j, code);
}

// Becomes the Python package's driver, which hands the shards to the workers of a scheduler.
static int on_workers(const tgCli *cli) {
  const char *argument[] = {NULL, "-m", "tangere.cluster", cli->file, "--out", cli->out, "--scheduler", cli->scheduler,
                            cli->json ? "--json" : NULL, NULL};
  return tgi_cli_become_python("batch", argument, "--scheduler needs Python with the package tangere[cluster]");
}

int tgi_cli_shards(const tgCli *cli) {
  tgError error = {0};
  int part, parts, shards = 0, done = 0;
  int64_t failed = 0;
  char identity[200];
  if (cli->out == NULL) {
    tgi_cli_say("tangere batch: a specification needs --out, the folder of its results");
    return TG_EXIT_USAGE;
  }
  if (cli->contact != NULL || cli->ncontact_option > 0 || cli->separate || cli->inside_limits || cli->count > 0) {
    tgi_cli_say("tangere batch: --contact, --option, --separate, --inside-limits and --count are of a task; a specification says all "
                "that its runs depend on");
    return TG_EXIT_USAGE;
  }
  if (!read_part(cli->shard, &part, &parts)) return TG_EXIT_USAGE;
  if (cli->scheduler != NULL && cli->shard != NULL) {
    tgi_cli_say("tangere batch: --shard and --scheduler are two ways to share shards out; take one");
    return TG_EXIT_USAGE;
  }
  bool loading = cli->lenient || cli->drop != 0 || cli->repair || cli->decompose || cli->decompose_threshold > 0 || cli->ground ||
                 cli->fixed_base || cli->allow_absolute || cli->nasset_root > 0 || cli->npackage > 0;
  if (cli->ground_below || (cli->scheduler != NULL && loading)) {
    tgi_cli_say("tangere batch: %s: say it in the task's file (ground, drop) or in the model's",
                cli->ground_below ? "--ground=below is not for a specification" : "workers of --scheduler load models without options");
    return TG_EXIT_USAGE;
  }
  if (cli->scheduler != NULL) return on_workers(cli);
  tgLoadOptions load = tgi_cli_load_options(cli);
  Bar bar = {.tty = isatty(2) != 0, .last = tgi_cli_now()};
  if (!identify(cli->file, &load, identity, sizeof identity, &error)) return tgi_cli_error("batch", &error);
  tgi_cli_catch_signals();
  tgShardOptions o = {.load = &load, .threads = cli->threads, .part = part, .parts = parts, .cancel = &tgi_cli_interrupted,
                      .progress = show, .progress_ctx = &bar};
  double began = tgi_cli_now();
  error.status = tg_shards_run_all(cli->file, cli->out, &o, &shards, &done, &failed, &error);
  return finish(cli, error.status, &error, shards, done, failed, identity, tgi_cli_now() - began);
}

int tgi_cli_merge(const tgCli *cli) {
  tgError error = {0};
  tgShardMerged m;
  const char *out = cli->out != NULL ? cli->out : cli->file;
  double began = tgi_cli_now();
  tgStatus st = tg_shards_merge((const char *const *)cli->operand, cli->noperand, out, &m, &error);
  error.status = st;
  if (st != TG_OK) return tgi_cli_error("batch --merge", &error);
  char key[20], bits[20];
  snprintf(key, sizeof key, "%016llx", (unsigned long long)m.key);
  snprintf(bits, sizeof bits, "%016llx", (unsigned long long)m.bits);
  json_t *j = json_pack("{s:s, s:s, s:i, s:I, s:I, s:s, s:s, s:o, s:o, s:b}", "version", tg_version(), "command", "batch --merge",
                        "shards", m.shards, "points", (json_int_t)m.points, "failed", (json_int_t)m.failed, "key",
                        key, "bits", bits, "best_loss", isfinite(m.best) ? json_real(m.best) : json_null(), "best_point",
                        m.best_point >= 0 ? json_integer(m.best_point) : json_null(), "rows_left_in_shards", m.left);
  tgi_cli_say("%d shards, %lld points, %lld failed, bits %s, in %.3g s: %s/merged.npz%s", m.shards, (long long)m.points,
              (long long)m.failed, bits, tgi_cli_now() - began, out,
              m.left ? "; rows of several numbers are more than 1 GiB and stay in the shards' files" : "");
  int code = tgi_cli_json_into(out, "merged.json", j, "batch --merge", m.failed > 0 ? TG_EXIT_MISSED : TG_EXIT_OK);
  if (cli->json) return tgi_cli_print_json(j, code);
  json_decref(j);
  return code;
}
