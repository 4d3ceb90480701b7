// local.c: all shards of a part on threads of this process. See tangere/shard.h.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/threads.h"
#include "optim/optimize.h"
#include "tangere/shard.h"

typedef struct Local {
  const tgShardOptions *o;
  const char *folder;
  tgShards **own;           // of each thread
  tgShardLedger *ledger;
  int *shard, before;       // those to compute; done when the run began
  double began;
  atomic_int stopped;       // a status that ends the run, TG_OK: none
  pthread_mutex_t lock;     // of the ledger and the error
  tgError *error;
} Local;

static void work(void *ctx, int worker, int item) {
  Local *l = ctx;
  tgShardResult result;
  tgError error = {0};
  if (atomic_load(&l->stopped) != TG_OK) return;
  tgStatus st = l->o->cancel != NULL && *l->o->cancel != 0 ? TG_CANCELLED : TG_OK;
  if (st == TG_OK) st = tg_shards_run(l->own[worker], l->shard[item], l->folder, l->o->cancel, &result, &error);
  pthread_mutex_lock(&l->lock);
  if (st == TG_OK) st = tg_shard_ledger_add(l->ledger, &result, &error);
  if (st == TG_OK && l->o->progress != NULL) l->o->progress(l->o->progress_ctx, l->ledger, l->before, tgi_opt_now() - l->began);
  if (st != TG_OK && atomic_load(&l->stopped) == TG_OK) {
    atomic_store(&l->stopped, st);
    if (l->error != NULL) *l->error = error, l->error->status = st;
  }
  pthread_mutex_unlock(&l->lock);
}

static tgStatus load_each(Local *l, const char *path, int threads, tgError *error) {
  l->own = calloc((size_t)threads, sizeof(tgShards *));
  if (l->own == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d threads", threads);
  for (int i = 0; i < threads; i++) {
    tgError why = {0};
    l->own[i] = tg_shards_load(path, l->o->load, &why);
    if (l->own[i] == NULL) {
      if (error != NULL) *error = why;
      return why.status != TG_OK ? why.status : TG_ERR_INVALID;
    }
    if (tg_shards_key(l->own[i]) != tg_shards_key(l->own[0])) return tgi_error(error, TG_ERR_INVALID, "%s changed while it was read", path);
  }
  return TG_OK;
}

// the shards that are left, in order; how many, -1: no memory
static int list_left(Local *l) {
  int left = tg_shard_ledger_total(l->ledger) - tg_shard_ledger_done(l->ledger), n = 0;
  l->shard = malloc(((size_t)left + 1) * sizeof *l->shard);
  for (int i = -1; l->shard != NULL && n < left && (i = tg_shard_ledger_next(l->ledger, i + 1)) >= 0;) l->shard[n++] = i;
  return l->shard != NULL ? n : -1;
}

static tgStatus run(Local *l, int threads, tgError *error) {
  int n = list_left(l);
  tgiPool *pool = n >= 0 ? tgi_pool_create(threads, NULL) : NULL;
  if (pool == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a list of shards");
  l->before = tg_shard_ledger_done(l->ledger);
  l->began = tgi_opt_now();
  tgStatus st = tgi_pool_run(pool, n, work, l);
  tgi_pool_free(pool);
  if (st == TG_OK) st = (tgStatus)atomic_load(&l->stopped);
  return st == TG_OK ? tg_shard_ledger_sync(l->ledger, error) : st;
}

tgStatus tg_shards_run_all(const char *path, const char *folder, const tgShardOptions *options, int *shards, int *done, int64_t *failed,
                           tgError *error) {
  tgShardOptions none = {0};
  Local l = {.o = options != NULL ? options : &none, .folder = folder, .error = error};
  if (path == NULL || folder == NULL || l.o->threads < 0)
    return tgi_error(error, TG_ERR_ARG, "a run needs a specification, a folder, and no negative number of threads");
  int threads = l.o->threads > 0 ? l.o->threads : tgi_cores(), parts = l.o->parts > 0 ? l.o->parts : 1;
  atomic_init(&l.stopped, TG_OK);
  pthread_mutex_init(&l.lock, NULL);
  tgStatus st = load_each(&l, path, threads, error);
  if (st == TG_OK) {
    tgError why = {0};
    l.ledger = tg_shard_ledger_open(l.own[0], folder, l.o->part, parts, &why);
    st = l.ledger != NULL ? run(&l, threads, error) : why.status;
    if (l.ledger == NULL && error != NULL) *error = why;
  }
  if (shards != NULL) *shards = tg_shard_ledger_total(l.ledger);
  if (done != NULL) *done = tg_shard_ledger_done(l.ledger);
  if (failed != NULL) *failed = tg_shard_ledger_failed(l.ledger);
  tg_shard_ledger_close(l.ledger);
  for (int i = 0; l.own != NULL && i < threads; i++) tg_shards_free(l.own[i]);
  free(l.own);
  free(l.shard);
  pthread_mutex_destroy(&l.lock);
  return st;
}
