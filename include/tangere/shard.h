// shard.h: many runs of one task, cut into shards that any process on any machine can compute: sweeps over parameters and seeds,
// optimisations from many starts, rollouts with gradients, gradients summed over domains. Page docs/many_machines.md.
//
// A shard is a pure function of the specification, the task, the model, the version and the instruction set: the same bits wherever
// and however often it is computed. Its result is a file that appears whole or not at all; a ledger says which are done.
#ifndef TANGERE_SHARD_H
#define TANGERE_SHARD_H

#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A specification with its task loaded. One thread at a time computes with it; others take one of their own.
typedef struct tgShards tgShards;

/// Reads a specification (a YAML file; docs/many_machines.md lists its fields) and the task that it names. NULL: error names file, line,
/// field. TG_ERR_INVALID: it makes no shard, varies what cannot be; TG_ERR_LIMIT: more than TG_SHARD_MOST shards.
TG_API tgShards *tg_shards_load(const char *path, const tgLoadOptions *options, tgError *error);
TG_API void tg_shards_free(tgShards *shards);
/// True for a file that is a specification (it has the field `task` at its outermost level), not a task. False also for one that cannot be
/// read: then error (may be NULL) says why, else its status is TG_OK.
TG_API bool tg_shards_is_spec(const char *path, tgError *error);
enum { TG_SHARD_MOST = 10000000 };                                ///< Shards of one specification, at most.
TG_API int tg_shards_count(const tgShards *shards);               ///< Number of shards.
TG_API int64_t tg_shards_points(const tgShards *shards);          ///< Number of points (runs, motions) in all of them.
/// Hash of all that a result depends on: specification, task, model, version, compiler, instruction set.
TG_API uint64_t tg_shards_key(const tgShards *shards);
/// "tangere 0.1.0 by 12.2.0, avx2, specification .., task .., model .." (12.2.0: the compiler's version) with the hash of each: what two
/// machines compare. The shards' own.
TG_API const char *tg_shards_identity(const tgShards *shards);
TG_API const char *tg_shards_job(const tgShards *shards);         ///< "optimize", "rollouts" or "gradient".

/// What the ledger keeps of a shard.
typedef struct tgShardResult {
  int shard;                       ///< its number, from 0
  int points, failed;              ///< its points; of these, those without a finite result
  uint64_t bits;                   ///< hash of every array of its result
  double best;                     ///< least loss of its points; infinite: none is finite
} tgShardResult;

/// Computes shard `shard` and writes DIR/shards/.../N.npz of the folder, whole or not at all. A motion that fails is part of the result:
/// its status and its reason. TG_ERR_FILE, TG_ERR_DISK, TG_ERR_MEMORY: the machine failed, and there is no result; TG_CANCELLED likewise.
/// result and error may be NULL.
TG_API tgStatus tg_shards_run(tgShards *shards, int shard, const char *folder, const volatile int *cancel, tgShardResult *result,
                              tgError *error);
/// The path of shard `shard` below a folder, "shards/000/N.npz", written into path. Returns path.
TG_API char *tg_shard_path(int shard, char *path, size_t size);
/// Reads the result of a shard from its file and checks that it is this specification's. TG_ERR_FILE: there is none; TG_ERR_PARSE: damaged;
/// TG_ERR_INVALID: of another key. result and error may be NULL.
TG_API tgStatus tg_shards_read(const tgShards *shards, int shard, const char *folder, tgShardResult *result, tgError *error);

/// The ledger of a run: which shards are done. One process writes it at a time.
typedef struct tgShardLedger tgShardLedger;

/// Opens (or begins) the ledger of part `part` (from 0) of `parts` in the folder, which is made: shard i belongs to part i mod parts.
/// A last line that was cut off is taken back. Results that are there without a line are checked and taken up; lines whose result is gone
/// count as not done. NULL: error. TG_ERR_INVALID: the ledger of another specification, task, model, version or instruction set (both are
/// named), or a line that is damaged; TG_ERR_FILE: another process writes it.
TG_API tgShardLedger *tg_shard_ledger_open(const tgShards *shards, const char *folder, int part, int parts, tgError *error);
/// Writes what is not yet on the disk, and gives the ledger back.
TG_API void tg_shard_ledger_close(tgShardLedger *ledger);
/// The first shard from `from` on that is this part's and not done; -1: none.
TG_API int tg_shard_ledger_next(const tgShardLedger *ledger, int from);
/// Notes a shard whose result file is there. Noted twice with the same bits: once. TG_ERR_INTERNAL: with other bits; TG_ERR_FILE: the disk
/// is full, and the ledger is as before.
TG_API tgStatus tg_shard_ledger_add(tgShardLedger *ledger, const tgShardResult *result, tgError *error);
/// Hands to the disk what was noted; without, that happens every 0.2 s of notes and at the end.
TG_API tgStatus tg_shard_ledger_sync(tgShardLedger *ledger, tgError *error);
TG_API int tg_shard_ledger_total(const tgShardLedger *ledger);    ///< Shards of this part.
TG_API int tg_shard_ledger_done(const tgShardLedger *ledger);     ///< Of these, those that are done.
TG_API int64_t tg_shard_ledger_failed(const tgShardLedger *ledger);  ///< Points of them without a finite result.
TG_API double tg_shard_ledger_best(const tgShardLedger *ledger);  ///< Their least loss; infinite: none.

/// How a run on this machine is made; zero-initialise.
typedef struct tgShardOptions {
  const tgLoadOptions *load;       ///< of the task's model, or NULL
  int threads;                     ///< each computes whole shards; 0: all cores. The same bits for any number
  int part, parts;                 ///< part of the shards, from 0; parts 0: all of them
  const volatile int *cancel;      ///< polled at each step; may be NULL
  void (*progress)(void *ctx, const tgShardLedger *ledger, int before, double seconds);  ///< after each shard, by one thread at a time;
                                   ///< before: done when the run began; seconds since. May be NULL
  void *progress_ctx;              ///< handed to it
} tgShardOptions;

/// Computes all shards of the part that the folder has not, on threads of this process. Taken up where an earlier call ended. TG_OK: all
/// are there, failed points or not; TG_CANCELLED; TG_ERR_FILE, TG_ERR_DISK, TG_ERR_MEMORY: what was done is kept. *shards, *done, *failed
/// (may be NULL): of the part.
TG_API tgStatus tg_shards_run_all(const char *path, const char *folder, const tgShardOptions *options, int *shards, int *done,
                                  int64_t *failed, tgError *error);

/// What a merge found.
typedef struct tgShardMerged {
  int shards;                      ///< merged
  int64_t points, failed;          ///< of all shards
  uint64_t key, bits;              ///< of the specification; of all results in the order of shards: what two runs compare
  double best;                     ///< the least loss; infinite: none
  int64_t best_point;              ///< whose it is, -1: none
  bool left;                       ///< arrays with a row for each point are more than TG_SHARD_MERGE_BYTES and stay in the shards' files
} tgShardMerged;
enum { TG_SHARD_MERGE_BYTES = 1 << 30 };  ///< Of rows in a merged file, at most; trajectories are never merged.

/// All results of the folders (parts of one run) as one file out/merged.npz: rows in the order of points, sums added pairwise in the order
/// of shards. TG_ERR_INVALID: folders of different runs, or shards that are missing, named; TG_ERR_PARSE: a result that is not what its
/// ledger says. error may be NULL.
TG_API tgStatus tg_shards_merge(const char *const *folders, int nfolder, const char *out, tgShardMerged *merged, tgError *error);

#ifdef __cplusplus
}
#endif
#endif
