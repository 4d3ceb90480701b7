// batch.c: tangere batch TASK: many rollouts with gradients, and their bits; what a specification asks is in shards.c.
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "tangere/shard.h"

// everything of one batch, made before it runs
typedef struct Batch {
  const tgTask *task;
  int n;
  double *x, *g;                 // n x size; per rollout dq0, dv0, du
  tgEvaluator **evaluator;
  tgRolloutRun *run;
  tgRolloutResult *result;
  size_t stride;                 // of g
} Batch;

static void batch_free(Batch *b) {
  for (int i = 0; b->evaluator != NULL && i < b->n; i++) tg_evaluator_free(b->evaluator[i]);
  free(b->x);
  free(b->g);
  free(b->evaluator);
  free(b->run);
  free(b->result);
}

static tgStatus batch_make(Batch *b, const tgTask *task, int n, uint64_t seed, tgError *error) {
  const tgModel *m = tg_task_model(task);
  size_t count = (size_t)n, size = (size_t)tg_task_size(task), nv = (size_t)tg_model_nv(m),
         nw = nv + (size_t)tg_model_na(m);
  *b = (Batch){.task = task, .n = n, .stride = nv + nw + (size_t)tg_task_steps(task) * (size_t)tg_model_nu(m)};
  b->x = calloc(count * size + 1, sizeof *b->x);
  b->g = calloc(count * b->stride + 1, sizeof *b->g);
  b->evaluator = calloc(count + 1, sizeof *b->evaluator);
  b->run = calloc(count + 1, sizeof *b->run);
  b->result = calloc(count + 1, sizeof *b->result);
  if (b->x == NULL || b->g == NULL || b->evaluator == NULL || b->run == NULL || b->result == NULL) return error->status = TG_ERR_MEMORY;
  for (int i = 0; i < n; i++) {
    b->evaluator[i] = tg_evaluator_create_runs(task, error);
    if (b->evaluator[i] == NULL) return error->status;
    double *x = b->x + (size_t)i * size, *g = b->g + (size_t)i * b->stride;
    tg_task_start(task, seed + (uint64_t)i, x);
    tg_evaluator_run(b->evaluator[i], x, &b->run[i]);
    b->run[i].dq0 = g;
    b->run[i].dv0 = g + nv;
    b->run[i].du = g + nv + nw;
    b->run[i].cancel = &tgi_cli_interrupted;
  }
  return TG_OK;
}

static uint64_t batch_bits(const Batch *b) {
  uint64_t bits = TG_HASH_START;
  for (int i = 0; i < b->n; i++) {
    bits = tg_hash(bits, &b->result[i].loss, sizeof b->result[i].loss);
    bits = tg_hash(bits, b->g + (size_t)i * b->stride, b->stride * sizeof *b->g);
  }
  return bits;
}

bool tgi_cli_batch_bits(const tgTask *task, int count, int threads, double *seconds, uint64_t *bits) {
  tgError error = {0};
  Batch b;
  tgRolloutOptions o = tg_task_rollout_options(task);
  tgStatus st = batch_make(&b, task, count, 1, &error);
  tgBatch *pool = st == TG_OK ? tg_batch_create(tg_task_model(task), tg_task_contact(task), &o, threads, &error) : NULL;
  if (pool != NULL) error.status = tg_batch_run(pool, b.n, b.run, b.result);   // threads start, pages are touched
  double began = tgi_cli_now();
  if (pool != NULL && error.status == TG_OK) error.status = tg_batch_run(pool, b.n, b.run, b.result);
  *seconds = tgi_cli_now() - began;
  bool done = pool != NULL && error.status == TG_OK;
  if (done) *bits = batch_bits(&b);
  else tgi_cli_error("batch", &error);
  tg_batch_free(pool);
  batch_free(&b);
  return done;
}

static int batch_report(const tgCli *cli, const Batch *b, int threads, double seconds) {
  int failed = 0, left = 0;
  json_t *rows = json_array();
  for (int i = 0; i < b->n; i++) {
    const tgRolloutResult *r = &b->result[i];
    double norm = 0;
    const double *g = b->g + (size_t)i * b->stride;
    for (size_t k = 0; k < b->stride; k++) norm += g[k] * g[k];
    failed += r->status != TG_OK;
    json_t *row = json_pack("{s:I, s:s, s:s}", "seed", (json_int_t)(cli->seed + (uint64_t)i), "status",
                            tg_status_text(r->status), "gradient", tg_grad_label_text(r->grad.label));
    json_object_set_new(row, "loss", r->status == TG_OK ? json_real(r->loss) : json_null());
    json_object_set_new(row, "gradient_norm", r->status == TG_OK ? json_real(sqrt(norm)) : json_null());
    if (r->status != TG_OK) json_object_set_new(row, "error", json_string(r->error.text));
    json_array_append_new(rows, row);
    left += r->status == TG_CANCELLED;
    if (!cli->json && r->status != TG_CANCELLED)
      printf("%4d  %-10.6g |g| %-10.4g %-10s %s %s\n", i, r->loss, sqrt(norm), tg_grad_label_text(r->grad.label),
             tg_status_text(r->status), r->error.text);
  }
  char hex[20];
  snprintf(hex, sizeof hex, "%016llx", (unsigned long long)batch_bits(b));
  tgi_cli_say("%d rollouts of %d steps with gradients on %d threads in %.3g s, %d failed, bits %s", b->n,
              tg_task_steps(b->task), threads, seconds, failed, hex);
  if (left > 0) tgi_cli_say("interrupted: %d of %d rollouts were made", b->n - left, b->n);
  json_t *json = json_pack("{s:s, s:o, s:i, s:f, s:i, s:s, s:o}", "command", "batch", "task", tgi_cli_input(cli->file),
                           "threads", threads, "seconds", seconds, "failed", failed, "bits", hex, "rows", rows);
  int code = tgi_cli_json_into(cli->out, "batch.json", json, "batch", failed > 0 ? TG_EXIT_MISSED : TG_EXIT_OK);
  if (cli->json) return tgi_cli_print_json(json, code);
  json_decref(json);
  return code;
}

static int batch_task(const tgCli *cli) {
  tgError error = {0};
  int code = tgi_cli_out_ready(cli);
  tgTask *task = code == TG_EXIT_OK ? tgi_cli_load_task(cli, cli->file, &code) : NULL;
  if (task == NULL) return code;
  tgi_cli_catch_signals();
  Batch b;
  tgStatus st = batch_make(&b, task, cli->count > 0 ? cli->count : 16, cli->seed, &error);
  tgRolloutOptions o = tg_task_rollout_options(task);
  tgBatch *pool = st == TG_OK ? tg_batch_create(tg_task_model(task), tg_task_contact(task), &o, cli->threads, &error) : NULL;
  if (pool != NULL) {
    double began = tgi_cli_now();
    st = tg_batch_run(pool, b.n, b.run, b.result);
    error.status = st;
    code = st != TG_OK ? tgi_cli_error("batch", &error) : batch_report(cli, &b, tg_batch_threads(pool), tgi_cli_now() - began);
    if (tgi_cli_interrupted) code = TG_EXIT_INTERRUPTED;
  } else code = tgi_cli_error("batch", &error);
  tg_batch_free(pool);
  batch_free(&b);
  tg_task_free(task);
  return code;
}

int tgi_cli_batch(const tgCli *cli) {
  if (cli->merge) return tgi_cli_merge(cli);
  if (cli->noperand > 1) {
    tgi_cli_say("tangere batch: one task or specification; several folders only with --merge");
    return TG_EXIT_USAGE;
  }
  tgError error;
  if (tg_shards_is_spec(cli->file, &error)) return tgi_cli_shards(cli);
  if (error.status != TG_OK) return tgi_cli_error("batch", &error);
  if (cli->shard == NULL && cli->scheduler == NULL) return batch_task(cli);
  tgi_cli_say("tangere batch: --%s needs a specification (a YAML file with the field `task`), which %s is not",
              cli->shard != NULL ? "shard" : "scheduler", cli->file);
  return TG_EXIT_USAGE;
}
