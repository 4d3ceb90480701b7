// lock.h: one run writes a journal, and those of its starts and stages, at a time.
#ifndef TG_OPTIM_LOCK_H
#define TG_OPTIM_LOCK_H

#include "tangere/base.h"

/// The lock of the runs that write `journal`: the file of its name with .lock behind it, there while a run holds it or after one that
/// was killed. No state of the process: descriptor -1 is none.
typedef struct tgRunLock {
  int fd;
  char path[1100];
} tgRunLock;

/// Takes it. TG_ERR_FILE: another run has it, of this process or of one that is named; or it cannot be made. TG_ERR_DISK: the disk fails. A
/// file system without locks is no error. NULL journal: nothing to take.
tgStatus tgi_run_lock(tgRunLock *lock, const char *journal, tgError *error);
/// Gives it back; the file goes. Also after a lock that was not taken.
void tgi_run_unlock(tgRunLock *lock);

#endif
