// child.h: a library that may crash, abort or hang, run in a forked child that sends bytes back.
#ifndef TG_BASE_CHILD_H
#define TG_BASE_CHILD_H

#include "tangere/base.h"

/// What the child does: sends its result with tgi_child_send(fd, ...) and returns 0, or a code of its own from TGI_CHILD_OWN on.
/// It may allocate, load libraries and use the parent's memory as it was at the call.
typedef int (*tgiChildFn)(const void *ctx, int fd);
enum { TGI_CHILD_OWN = 11, TGI_CHILD_BROKEN = 10 };

/// Runs fn in a child without output, signal handlers and core files, with at most cpu_seconds of processor time, and with no further
/// files to open when no_files is set. *bytes (from the allocator, to be freed whatever is returned) and *size: all that it sent.
/// *code: what fn returned; minus the number of the signal that ended it; 0 where the program ignores SIGCHLD and nobody knows.
/// TG_ERR_LIMIT: no pipe or process; TG_ERR_MEMORY; TG_ERR_INTERNAL. Nothing that was sent is to be trusted.
tgStatus tgi_child_run(tgiChildFn fn, const void *ctx, int cpu_seconds, bool no_files, const tgAllocator *allocator, char **bytes,
                       size_t *size, int *code, tgError *error);
/// 0, or TGI_CHILD_BROKEN when the parent does not listen.
int tgi_child_send(int fd, const void *bytes, size_t size);

#endif
