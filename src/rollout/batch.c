// batch.c: many rollouts over a pool of threads, one rollout object a worker and variant of the model.
//
// Nothing that a run computes depends on the worker: each starts from the model's parameters with empty contact memory, and
// nothing is summed across runs. So the bits are the same for any number of threads and any order.
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "model/model.h"
#include "rollout/rollout.h"

struct tgBatch {
  tgAllocator alloc;
  tgiPool *pool;
  int n, nvariant;        // workers, models
  tgRollout **rollout;    // n x nvariant
};

typedef struct Job {
  tgBatch *batch;
  const tgRolloutRun *runs;
  tgRolloutResult *results;
} Job;

// ---- models of one kinematic tree ----

// model i against the first: TG_ERR_ARG names what differs
static tgStatus same_number(int i, const char *what, int a, int b, tgError *error) {
  if (a == b) return TG_OK;
  return tgi_error(error, TG_ERR_ARG,
                   "Models of a batch have to share one kinematic tree: model %d has %d %s, model 0 has %d.", i, a,
                   what, b);
}

static tgStatus same_tree(const tgModel *m, const tgModel *first, int i, tgError *error) {
  char label[96];
  TG_TRY(same_number(i, "bodies", m->nbody, first->nbody, error));
  TG_TRY(same_number(i, "joints", m->njnt, first->njnt, error));
  TG_TRY(same_number(i, "coordinates", m->nq, first->nq, error));
  TG_TRY(same_number(i, "dofs", m->nv, first->nv, error));
  TG_TRY(same_number(i, "controls", m->nu, first->nu, error));
  for (int k = 0; k < m->nu; k++)
    if ((m->act_adr[k] < 0) != (first->act_adr[k] < 0))
      return tgi_error(error, TG_ERR_ARG,
                       "Models of a batch have to share their state: %s has an activation in one of model %d and model 0.",
                       tgi_model_label(m, TG_THING_ACTUATOR, k, label, sizeof label), i);
  for (int b = 0; b < m->nbody; b++)
    if (m->body_parent[b] != first->body_parent[b])
      return tgi_error(error, TG_ERR_ARG,
                       "Models of a batch have to share one kinematic tree: %s of model %d has another parent than in "
                       "model 0.", tgi_model_label(m, TG_THING_BODY, b, label, sizeof label), i);
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_type[j] != first->jnt_type[j] || m->jnt_body[j] != first->jnt_body[j])
      return tgi_error(error, TG_ERR_ARG,
                       "Models of a batch have to share one kinematic tree: %s of model %d is of another type, or of "
                       "another body, than in model 0.", tgi_model_label(m, TG_THING_JOINT, j, label, sizeof label), i);
  return TG_OK;
}

// ---- batches ----

tgBatch *tg_batch_create_variants(int nvariant, const tgModel *const *models, const tgContact *const *contacts,
                                  const tgRolloutOptions *options, int nthread, tgError *error) {
  tgAllocator a = tgi_allocator(options != NULL ? options->allocator : NULL);
  int n = nthread > 0 ? nthread : tgi_cores();
  if (nthread < 0 || n > 4096) {
    tgi_error(error, TG_ERR_ARG, "a batch over %d threads: the number must be 0 (one per core) to 4096", nthread);
    return NULL;
  }
  if (nvariant < 1 || nvariant > 4096 || models == NULL || contacts == NULL) {
    tgi_error(error, TG_ERR_ARG, "a batch of %d models: give 1 to 4096 and a contact model for each", nvariant);
    return NULL;
  }
  for (int i = 1; i < nvariant; i++)
    if (models[0] != NULL && models[i] != NULL && same_tree(models[i], models[0], i, error) < 0) return NULL;
  tgBatch *b = a.alloc(a.ctx, sizeof *b);
  size_t bytes = (size_t)n * (size_t)nvariant * sizeof *b->rollout;
  if (b == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a batch");
    return NULL;
  }
  *b = (tgBatch){.alloc = a, .n = n, .nvariant = nvariant, .pool = tgi_pool_create(n, &a), .rollout = a.alloc(a.ctx, bytes)};
  if (b->rollout != NULL) memset(b->rollout, 0, bytes);
  if (b->pool == NULL || b->rollout == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a batch over %d threads", n);
    tg_batch_free(b);
    return NULL;
  }
  for (int i = 0; i < n * nvariant; i++) {
    b->rollout[i] = tg_rollout_create(models[i % nvariant], contacts[i % nvariant], options, error);
    if (b->rollout[i] != NULL) continue;
    tg_batch_free(b);
    return NULL;
  }
  return b;
}

tgBatch *tg_batch_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, int nthread, tgError *error) {
  return tg_batch_create_variants(1, &model, &contact, options, nthread, error);
}

void tg_batch_free(tgBatch *b) {
  if (b == NULL) return;
  tgAllocator a = b->alloc;
  tgi_pool_free(b->pool);
  for (int i = 0; b->rollout != NULL && i < b->n * b->nvariant; i++) tg_rollout_free(b->rollout[i]);
  a.free(a.ctx, b->rollout);
  a.free(a.ctx, b);
}

int tg_batch_threads(const tgBatch *b) { return b != NULL ? b->n : 0; }

static void work(void *ctx, int worker, int item) {
  Job *job = ctx;
  const tgBatch *b = job->batch;
  tgRollout *r = b->rollout[worker * b->nvariant + job->runs[item].variant];
  tg_sim_reset(tg_rollout_sim(r));
  tg_rollout_run(r, &job->runs[item], &job->results[item]);
}

tgStatus tg_batch_run(tgBatch *b, int n, const tgRolloutRun *runs, tgRolloutResult *results) {
  if (b == NULL || n < 0 || (n > 0 && (runs == NULL || results == NULL))) return TG_ERR_ARG;
  for (int i = 0; i < n; i++)
    if (runs[i].variant < 0 || runs[i].variant >= b->nvariant) return TG_ERR_ARG;
  Job job = {b, runs, results};
  return tgi_pool_run(b->pool, n, work, &job);
}
