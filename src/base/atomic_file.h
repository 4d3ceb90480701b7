// atomic_file.h: a file that appears whole or not at all.
//
// Writing goes to a temporary file in the same directory; commit flushes it to the disk, renames it over the target and
// flushes the directory. A crash at any point leaves the old file or the new one. A target that exists must be a
// regular file (devices and pipes are refused, never replaced); a symbolic link's target is replaced, not the link.
#ifndef TG_BASE_ATOMIC_FILE_H
#define TG_BASE_ATOMIC_FILE_H

#include <stdio.h>

#include "tangere/base.h"

typedef struct tgAtomicFile {
  FILE *stream;   ///< write here; NULL when not open
  char *path;     ///< the target, links followed
  char *tmp;      ///< the temporary file beside it
} tgAtomicFile;

/// Opens a temporary file beside `path`. On failure *file needs no further call. TG_ERR_FILE: the path is wrong; TG_ERR_DISK: the disk is
/// full or fails, here and in commit. error may be NULL.
tgStatus tgi_atomic_open(tgAtomicFile *file, const char *path, tgError *error);
/// Makes what was written the target. On failure the target is as before and the temporary file is gone.
tgStatus tgi_atomic_commit(tgAtomicFile *file, tgError *error);
/// Drops what was written. Also allowed after a failed open or a commit.
void tgi_atomic_discard(tgAtomicFile *file);

#endif
