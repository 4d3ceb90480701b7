// ledger.h: the text of a ledger: a line that says of which run it is, then a line for each shard that is done. Every line ends with the
// hash of what stands before, so that one that was not written whole, or changed later, is known.
#ifndef TG_SHARD_LEDGER_H
#define TG_SHARD_LEDGER_H

#include "tangere/shard.h"

typedef struct tgLedgerHead {
  uint64_t key;
  int shards;
  int64_t points;
  char identity[200];
} tgLedgerHead;

/// Reads a ledger: head, and each(ctx, result) for every line, which may refuse with a status. *good: bytes up to the end of the last whole
/// line; what follows was cut off. A file that is not there or holds no whole head: *good is 0, TG_OK. TG_ERR_INVALID: a damaged line.
tgStatus tgi_ledger_read(const char *path, tgLedgerHead *head, tgStatus (*each)(void *ctx, const tgShardResult *result, tgError *error),
                         void *ctx, long *good, tgError *error);
/// Name of the ledger of a part: "ledger", or "ledger-2-of-8".
void tgi_ledger_name(const char *folder, int part, int parts, char *path, size_t size);

#endif
