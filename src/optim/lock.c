// lock.c: see lock.h. The lock belongs to the open file, so that two runs of one process are kept apart too, and the system lets
// it go with a process that dies. The process's own record lock beside it tells who holds it.
#include "optim/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

static bool none_here(int error) { return error == ENOLCK || error == ENOSYS || error == EINVAL || error == EOPNOTSUPP; }

static tgStatus held(const tgRunLock *lock, const char *journal, tgError *error) {
  struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char who[40] = "of this process";
  if (fcntl(lock->fd, F_GETLK, &owner) == 0 && owner.l_type != F_UNLCK) snprintf(who, sizeof who, "process %ld", (long)owner.l_pid);
  return tgi_error(error, TG_ERR_FILE, "%s is being written by another run (%s): wait for its end, or stop it", journal, who);
}

// the file under the path is still the one that was opened: its last holder took it away with it
static bool still_there(const tgRunLock *lock) {
  struct stat open, named;
  return fstat(lock->fd, &open) == 0 && stat(lock->path, &named) == 0 && open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

tgStatus tgi_run_lock(tgRunLock *lock, const char *journal, tgError *error) {
  lock->fd = -1;
  if (journal == NULL) return TG_OK;
  if (snprintf(lock->path, sizeof lock->path, "%s.lock", journal) >= (int)sizeof lock->path)
    return tgi_error(error, TG_ERR_FILE, "the journal's path is longer than %zu characters", sizeof lock->path - 6);
  for (;;) {
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->fd < 0) return tgi_error(error, TG_ERR_FILE, "%s cannot be opened: %s", lock->path, strerror(errno));
    bool taken = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
    if (!taken && !none_here(errno)) {
      tgStatus st = errno == EWOULDBLOCK ? held(lock, journal, error)
                                         : tgi_error(error, TG_ERR_FILE, "%s cannot be locked: %s", lock->path, strerror(errno));
      close(lock->fd);
      lock->fd = -1;
      return st;
    }
    if (!taken || still_there(lock)) break;
    close(lock->fd);
  }
  struct flock own = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)fcntl(lock->fd, F_SETLK, &own);   // for the name alone
  return TG_OK;
}

void tgi_run_unlock(tgRunLock *lock) {
  if (lock->fd < 0) return;
  unlink(lock->path);
  close(lock->fd);
  lock->fd = -1;
}
