// batch.c: many rollouts over a pool of threads, one rollout object a worker.
//
// Nothing that a run computes depends on the worker: each starts from the model's parameters with empty contact memory, and
// nothing is summed across runs. So the bits are the same for any number of threads and any order.
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "rollout/rollout.h"

struct tgBatch {
  tgAllocator alloc;
  tgiPool *pool;
  int n;                  // workers
  tgRollout **rollout;    // one a worker
};

typedef struct Job {
  tgBatch *batch;
  const tgRolloutRun *runs;
  tgRolloutResult *results;
} Job;

tgBatch *tg_batch_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, int nthread, tgError *error) {
  tgAllocator a = tgi_allocator(options != NULL ? options->allocator : NULL);
  int n = nthread > 0 ? nthread : tgi_cores();
  if (nthread < 0 || n > 4096) {
    tgi_error(error, TG_ERR_ARG, "a batch over %d threads: the number must be 0 (one per core) to 4096", nthread);
    return NULL;
  }
  tgBatch *b = a.alloc(a.ctx, sizeof *b);
  size_t bytes = (size_t)n * sizeof *b->rollout;
  if (b == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a batch");
    return NULL;
  }
  *b = (tgBatch){.alloc = a, .n = n, .pool = tgi_pool_create(n, &a), .rollout = a.alloc(a.ctx, bytes)};
  if (b->rollout != NULL) memset(b->rollout, 0, bytes);
  if (b->pool == NULL || b->rollout == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a batch over %d threads", n);
    tg_batch_free(b);
    return NULL;
  }
  for (int i = 0; i < n; i++) {
    b->rollout[i] = tg_rollout_create(model, contact, options, error);
    if (b->rollout[i] != NULL) continue;
    tg_batch_free(b);
    return NULL;
  }
  return b;
}

void tg_batch_free(tgBatch *b) {
  if (b == NULL) return;
  tgAllocator a = b->alloc;
  tgi_pool_free(b->pool);
  for (int i = 0; b->rollout != NULL && i < b->n; i++) tg_rollout_free(b->rollout[i]);
  a.free(a.ctx, b->rollout);
  a.free(a.ctx, b);
}

int tg_batch_threads(const tgBatch *b) { return b != NULL ? b->n : 0; }

static void work(void *ctx, int worker, int item) {
  Job *job = ctx;
  tgRollout *r = job->batch->rollout[worker];
  tg_sim_reset(tg_rollout_sim(r));
  tg_rollout_run(r, &job->runs[item], &job->results[item]);
}

tgStatus tg_batch_run(tgBatch *b, int n, const tgRolloutRun *runs, tgRolloutResult *results) {
  if (b == NULL || n < 0 || (n > 0 && (runs == NULL || results == NULL))) return TG_ERR_ARG;
  Job job = {b, runs, results};
  return tgi_pool_run(b->pool, n, work, &job);
}
