// threads.h: a pool of threads that share out numbered items.
#ifndef TG_BASE_THREADS_H
#define TG_BASE_THREADS_H

#include "tangere/base.h"

typedef struct tgiPool tgiPool;

/// Cores that this process may use: its affinity mask, and the quota of its control group when that is less. At least 1.
int tgi_cores(void);

/// A pool of n workers (at least 1): the thread that calls run, and n - 1 others, started by the first run. NULL: no memory.
tgiPool *tgi_pool_create(int n, const tgAllocator *allocator);
/// Ends the threads. In a process forked after the first run there are none to end.
void tgi_pool_free(tgiPool *pool);

/// Calls work(ctx, worker, item) once for each item 0 .. n-1, claimed in that order, worker in 0 .. workers - 1; returns when all
/// are done. Should the system refuse a thread, fewer work. TG_ERR_STATE: forked since the first run, or running already.
tgStatus tgi_pool_run(tgiPool *pool, int n, void (*work)(void *ctx, int worker, int item), void *ctx);

#endif
