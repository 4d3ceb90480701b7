// run.c: a shard computed: its points one after the other, and its result file. See tangere/shard.h.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_status.h"
#include "base/folder.h"
#include "shard/shards.h"

// a shard under way. What a job does not have is NULL.
typedef struct Run {
  tgShards *s;
  int64_t first;
  size_t points, n;
  const volatile int *cancel;
  tgTable table;
  int64_t *seed, *simulations;
  int32_t *status, *label, *iterations;
  uint8_t *reached;
  double *value[100];       // of what varies
  double *loss, *first_loss, *x, *gradient, *q, *v, *sum_loss, *sum_gradient;
  int64_t *sum_points;
  tgPairSum pairs;          // loss, then gradient
  double *term, *start;     // of pairs, 1 + n; n
  char *errors;
  size_t nerrors;
  int failed;
  double best;
} Run;

static bool add_columns(Run *r) {
  const tgSpec *spec = &r->s->spec;
  const tgTask *t = r->s->task;
  tgTable *b = &r->table;
  size_t p = r->points, n = r->n, states = (size_t)t->steps + 1;
  bool ok = true;
#define ADD(field, name, type, rows, width, width2) ok = ok && (r->field = tgi_table_add(b, name, type, rows, width, width2)) != NULL
  int64_t *key = tgi_table_add(b, TGI_KEY, TG_NPZ_I8, 2, 0, 0);
  if (key == NULL) return false;
  memcpy(&key[0], &r->s->key, sizeof *key);
  key[1] = r->first / spec->yaml->group;
  ADD(seed, "seed", TG_NPZ_I8, p, 0, 0);
  for (unsigned k = 0; k < spec->yaml->nvary; k++) ADD(value[k], spec->vary[k].label, TG_NPZ_F8, p, 0, 0);
  ADD(status, "status", TG_NPZ_I4, p, 0, 0);
  ADD(label, "label", TG_NPZ_I4, p, 0, 0);
  ADD(loss, "loss", TG_NPZ_F8, p, 0, 0);
  switch (spec->yaml->job) {
    case TG_JOB_OPTIMIZE:
      ADD(first_loss, "first_loss", TG_NPZ_F8, p, 0, 0);
      ADD(reached, "reached", TG_NPZ_U1, p, 0, 0);
      ADD(iterations, "iterations", TG_NPZ_I4, p, 0, 0);
      ADD(simulations, "simulations", TG_NPZ_I8, p, 0, 0);
      ADD(x, "x", TG_NPZ_F8, p, n, 0);
      break;
    case TG_JOB_ROLLOUTS:
      ADD(x, "x", TG_NPZ_F8, p, n, 0);
      ADD(gradient, "gradient", TG_NPZ_F8, p, n, 0);
      if (!spec->yaml->trajectory) break;
      ADD(q, "qpos", TG_NPZ_F8, p, states, (size_t)t->model->nq);
      ADD(v, "qvel", TG_NPZ_F8, p, states, (size_t)tgi_nw(t->model));
      break;
    case TG_JOB_GRADIENT:
      ADD(sum_points, TGI_SUM "points", TG_NPZ_I8, 1, 0, 0);
      ADD(sum_loss, TGI_SUM "loss", TG_NPZ_F8, 1, 0, 0);
      ADD(sum_gradient, TGI_SUM "gradient", TG_NPZ_F8, n, 0, 0);
      ok = ok && tgi_pair_sum_begin(&r->pairs, n + 1);
  }
#undef ADD
  r->term = malloc((n + 1) * sizeof *r->term);
  r->start = malloc((n + 1) * sizeof *r->start);
  return ok && r->term != NULL && r->start != NULL;
}

// ---- the task as a point has it ----

static tgStatus set_option(tgTask *t, const char *name, const char *value, tgError *error) {
  char before[64];
  tgi_settings_take(&t->settings, name, before);
  return tgi_settings_add(&t->settings, name, value, 0, 0, error);
}

// All that varies is set at every point, so that nothing of the point before is left.
static tgStatus apply(Run *r, size_t i, tgError *error) {
  const tgSpec *spec = &r->s->spec;
  tgTask *t = r->s->task;
  const char *contact = t->word, *method = NULL;
  char word[100][64];
  int iterations = 0;
  for (unsigned k = 0; k < spec->yaml->nvary; k++) r->value[k][i] = tgi_spec_value(spec, (int)k, r->first + (int64_t)i, word[k], 64);
  for (unsigned k = 0; k < spec->yaml->nvary; k++) {
    const YamlVary *y = &spec->yaml->vary[k];
    double value = r->value[k][i];
    if (y->parameter != NULL) TG_TRY(tgi_task_set_number(t, y->parameter, y->of, y->entry != NULL ? *y->entry : -1, value, error));
    else if (y->option != NULL) TG_TRY(set_option(t, y->option, word[k], error));
    else if (strcmp(y->task, "contact") == 0) contact = word[k];
    else if (strcmp(y->task, "method") == 0) method = word[k];
    else if (value >= 1 && value <= 1e9 && value == floor(value)) iterations = (int)value;
    else return tgi_error(error, TG_ERR_INVALID, "iterations: %g is not a whole number above 0", value);
  }
  return spec->yaml->nvary > 0 ? tg_task_override(t, contact, method, iterations, error) : TG_OK;
}

// ---- jobs ----

static bool all_finite(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += 0 * x[i];
  return sum == 0;
}

static void start(const Run *r, size_t i, double *x) {
  if (r->s->variables != NULL) memcpy(x, r->s->variables, r->n * sizeof *x);
  else tg_task_start(r->s->task, (uint64_t)r->seed[i], x);
}

// the loss (and gradient g) of point i at x
static tgStatus evaluate(Run *r, size_t i, const double *x, double *g, tgError *error) {
  const tgTask *t = r->s->task;
  tgRolloutResult result = {0};
  size_t states = (size_t)t->steps + 1;
  tgEvaluator *e = tg_evaluator_create(t, 0, error);
  if (e == NULL) return error->status;
  tgStatus st = tg_evaluate(e, x, &r->loss[i], g, r->q != NULL ? r->q + i * states * (size_t)t->model->nq : NULL,
                            r->v != NULL ? r->v + i * states * (size_t)tgi_nw(t->model) : NULL, r->cancel, &result);
  tg_evaluator_free(e);
  if (st != TG_OK) *error = result.error;
  r->label[i] = (int32_t)result.grad.label;
  if (st == TG_OK && !(isfinite(r->loss[i]) && all_finite(g, r->n)))
    st = tgi_error(error, TG_ERR_NOT_FINITE, "the loss or its gradient is not finite");
  return st;
}

static tgStatus optimize(Run *r, size_t i, tgError *error) {
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = (uint64_t)r->seed[i];
  o.start = r->s->variables;
  o.threads = 1;
  o.cancel = r->cancel;
  tgOptimum *best = tg_optimize(r->s->task, &o);
  if (best == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for an optimisation");
  tgStatus st = best->status;
  if (st != TG_OK) *error = best->error;
  r->loss[i] = best->best_loss;
  r->first_loss[i] = best->first_loss;
  r->reached[i] = best->reached;
  r->iterations[i] = best->iterations;
  r->simulations[i] = best->simulations;
  r->label[i] = (int32_t)best->grad.label;
  memcpy(r->x + i * r->n, best->best, r->n * sizeof *r->x);
  if (st == TG_OK && !(isfinite(best->best_loss) && all_finite(best->best, r->n)))
    st = tgi_error(error, TG_ERR_NOT_FINITE, "no motion has a finite loss%s%s", best->error.text[0] != '\0' ? ": " : "", best->error.text);
  tg_optimum_free(best);
  return st;
}

static tgStatus compute(Run *r, size_t i, tgError *error) {
  TG_TRY(apply(r, i, error));
  switch (r->s->spec.yaml->job) {
    case TG_JOB_OPTIMIZE: return optimize(r, i, error);
    case TG_JOB_ROLLOUTS:
      start(r, i, r->x + i * r->n);
      return evaluate(r, i, r->x + i * r->n, r->gradient + i * r->n, error);
    default:
      start(r, i, r->start);
      return evaluate(r, i, r->start, r->term + 1, error);
  }
}

// a point without a result: NaN, its status, and a line that says why
static tgStatus note_failure(Run *r, size_t i, tgStatus status, const tgError *error) {
  char line[800];
  int length = snprintf(line, sizeof line, "%lld: %s\n", (long long)(r->first + (int64_t)i),
                        error->text[0] != '\0' ? error->text : tg_status_text(status));
  size_t more = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
  char *grown = realloc(r->errors, r->nerrors + more + 1);
  if (grown == NULL) return TG_ERR_MEMORY;
  r->errors = grown;
  memcpy(r->errors + r->nerrors, line, more);
  r->nerrors += more;
  r->failed++;
  r->loss[i] = NAN;
  for (size_t k = 0; k < r->n && r->gradient != NULL; k++) r->gradient[i * r->n + k] = NAN;
  return TG_OK;
}

// the machine's failures, not the motion's
static bool of_machine(tgStatus st) { return st == TG_ERR_MEMORY || st == TG_ERR_FILE || st == TG_ERR_DISK || st == TG_CANCELLED; }

static tgStatus run_point(Run *r, size_t i, tgError *error) {
  tgError why = {0};
  r->seed[i] = (int64_t)tgi_spec_seed(&r->s->spec, r->first + (int64_t)i);
  tgStatus st = compute(r, i, &why);
  if (of_machine(st)) {
    if (error != NULL) *error = why;
    return st;
  }
  r->status[i] = st;
  if (st != TG_OK) TG_TRY(note_failure(r, i, st, &why));
  else if (r->loss[i] < r->best) r->best = r->loss[i];
  if (r->sum_points == NULL) return TG_OK;
  if (st == TG_OK) r->term[0] = r->loss[i];
  else memset(r->term, 0, (r->n + 1) * sizeof *r->term);
  *r->sum_points += st == TG_OK;
  tgi_pair_sum_add(&r->pairs, r->term);
  return TG_OK;
}

static tgStatus finish(Run *r, tgError *error) {
  char *errors = tgi_table_add(&r->table, TGI_ERRORS, TG_NPZ_U1, r->nerrors, 0, 0);
  if (errors == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a shard's result");
  if (r->nerrors > 0) memcpy(errors, r->errors, r->nerrors);
  if (r->sum_points == NULL) return TG_OK;
  tgi_pair_sum_end(&r->pairs, r->term);
  *r->sum_loss = r->term[0];
  memcpy(r->sum_gradient, r->term + 1, r->n * sizeof *r->term);
  return TG_OK;
}

// ---- files ----

static tgStatus write_result(Run *r, int shard, const char *folder, tgError *error) {
  char path[1200], name[64];
  int n = snprintf(path, sizeof path, "%s/%s", folder, tg_shard_path(shard, name, sizeof name));
  if (n >= (int)sizeof path) return tgi_error(error, TG_ERR_FILE, "%s: the path is too long", folder);
  char *slash = strrchr(path, '/');
  *slash = '\0';
  TG_TRY(tgi_make_folder(path, error));
  *slash = '/';
  tgStatus st = tg_npz_write(path, r->table.array, r->table.n, error);
  return st == TG_ERR_ARG ? TG_ERR_INTERNAL : st;
}

tgStatus tg_shards_run(tgShards *s, int shard, const char *folder, const volatile int *cancel, tgShardResult *result, tgError *error) {
  if (s == NULL || folder == NULL || shard < 0 || shard >= s->spec.shards)
    return tgi_error(error, TG_ERR_ARG, "no specification, no folder, or no shard %d: there are %d", shard, tg_shards_count(s));
  Run r = {.s = s, .first = tgi_spec_first(&s->spec, shard), .n = (size_t)tg_task_size(s->task), .cancel = cancel, .best = INFINITY};
  r.points = (size_t)(tgi_spec_first(&s->spec, shard + 1) - r.first);
  tgStatus st = add_columns(&r) ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "out of memory for shard %d of %zu points", shard, r.points);
  for (size_t i = 0; i < r.points && st == TG_OK; i++) st = run_point(&r, i, error);
  if (st == TG_OK) st = finish(&r, error);
  if (st == TG_OK) st = write_result(&r, shard, folder, error);
  if (st == TG_OK && result != NULL)
    *result = (tgShardResult){.shard = shard, .points = (int)r.points, .failed = r.failed, .best = r.best,
                              .bits = tgi_arrays_bits(r.table.array, r.table.n)};
  free(r.pairs.level);
  tgi_table_free(&r.table);
  free(r.term);
  free(r.start);
  free(r.errors);
  return st;
}

// ---- results read again ----

static tgStatus judge(const tgShards *s, int shard, const char *path, const tgNpz *npz, tgShardResult *out, tgError *error) {
  size_t two = 2, points = (size_t)(tgi_spec_first(&s->spec, shard + 1) - tgi_spec_first(&s->spec, shard));
  const tgNpzArray *key = tg_npz_get(npz, path, TGI_KEY, TG_NPZ_I8, 1, &two, error);
  if (key == NULL) return TG_ERR_PARSE;
  const int64_t *k = key->data;
  if (memcmp(&k[0], &s->key, sizeof *k) != 0 || k[1] != shard)
    return tgi_error(error, TG_ERR_INVALID, "%s is shard %lld of another run (key %016llx; this is %016llx)", path, (long long)k[1],
                     (unsigned long long)k[0], (unsigned long long)s->key);
  const tgNpzArray *status = tg_npz_get(npz, path, "status", TG_NPZ_I4, 1, &points, error),
                   *loss = tg_npz_get(npz, path, "loss", TG_NPZ_F8, 1, &points, error);
  if (status == NULL || loss == NULL) return TG_ERR_PARSE;
  *out = (tgShardResult){.shard = shard, .points = (int)points, .bits = tgi_arrays_bits(npz->array, npz->narray), .best = INFINITY};
  for (size_t i = 0; i < points; i++) {
    bool ok = ((const int32_t *)status->data)[i] == TG_OK;
    double value = ((const double *)loss->data)[i];
    out->failed += !ok;
    if (ok && value < out->best) out->best = value;
  }
  return TG_OK;
}

tgStatus tg_shards_read(const tgShards *s, int shard, const char *folder, tgShardResult *result, tgError *error) {
  char path[1200], name[64];
  tgNpz npz;
  tgShardResult found;
  if (s == NULL || folder == NULL || shard < 0 || shard >= s->spec.shards)
    return tgi_error(error, TG_ERR_ARG, "no specification, no folder, or no shard %d: there are %d", shard, tg_shards_count(s));
  if (snprintf(path, sizeof path, "%s/%s", folder, tg_shard_path(shard, name, sizeof name)) >= (int)sizeof path)
    return tgi_error(error, TG_ERR_FILE, "%s: the path is too long", folder);
  tgStatus st = tg_npz_read(path, 0, NULL, &npz, error);
  if (st != TG_OK) return st;
  st = judge(s, shard, path, &npz, &found, error);
  if (st == TG_OK && result != NULL) *result = found;
  tg_npz_free(&npz);
  return st;
}
