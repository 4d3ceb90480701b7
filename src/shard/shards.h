// shards.h: a specification with its task loaded, and the table of a shard's result.
#ifndef TG_SHARD_SHARDS_H
#define TG_SHARD_SHARDS_H

#include "optim/task.h"
#include "shard/spec.h"
#include "tangere/data.h"
#include "tangere/shard.h"

struct tgShards {
  tgSpec spec;
  tgTask *task;
  double *variables;        // where motions start from, tg_task_size; NULL: the task's own start
  uint64_t key;
  char identity[200];
};

enum { TGI_TABLE_MOST = 128 };
/// Arrays of a result file, of which each owns its data. The first axis of all but those named below counts points.
typedef struct tgTable {
  int n;
  tgNpzArray array[TGI_TABLE_MOST];
  char name[TGI_TABLE_MOST][168];
} tgTable;
/// A new array of zeros: rows x width x width2; width 0: one axis alone, width2 0: two. NULL: no memory.
void *tgi_table_add(tgTable *t, const char *name, tgNpzType type, size_t rows, size_t width, size_t width2);
void tgi_table_free(tgTable *t);
/// Hash of names, types, shapes and numbers.
uint64_t tgi_arrays_bits(const tgNpzArray *array, int n);

/// Arrays with rows that are not points: key and number of the shard; what failed, a line each; sums over the shard's points.
#define TGI_KEY "key"
#define TGI_ERRORS "errors"
#define TGI_SUM "sum_"
/// Does the array have a row for each point?
bool tgi_array_of_points(const char *name);
/// Trajectories, which stay in the shards' files.
bool tgi_array_of_states(const char *name);

/// Sums vectors in pairs: ((1 + 2) + (3 + 4)) + ..., whatever their number, by the order in which they come alone.
typedef struct tgPairSum {
  size_t n;
  int64_t count;
  double *level;            // LEVELS x n
} tgPairSum;
/// False: no memory.
bool tgi_pair_sum_begin(tgPairSum *s, size_t n);
/// Adds v (n); v may be changed.
void tgi_pair_sum_add(tgPairSum *s, double *v);
/// The sum of all into out (n), zeros where there was none; frees.
void tgi_pair_sum_end(tgPairSum *s, double *out);

#endif
