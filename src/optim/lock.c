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

#include "base/file_status.h"
#include "base/status.h"

static bool none_here(int error) { return error == ENOLCK || error == ENOSYS || error == EINVAL || error == EOPNOTSUPP; }

static tgStatus held(const tgRunLock *lock, const char *journal, tgError *error) {
  struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char who[40] = "of this process";
  if (fcntl(lock->fd, F_GETLK, &owner) == 0 && owner.l_type != F_UNLCK) snprintf(who, sizeof who, "process %ld", (long)owner.l_pid);
  return tgi_error(error, TG_ERR_FILE, "%s is being written by another run (%s): wait for its end, or stop it", journal, who);
}

static tgStatus unusable(const tgRunLock *lock, const char *what, tgError *error) {
  int why = errno;
  return tgi_error(error, tgi_file_status(why), "%s cannot be %s: %s", lock->path, what, strerror(why));
}

// Whether the file under the path is still the one that was opened: its last holder may have taken it away with it. *unknown: that cannot
// be told, for the reason in errno.
static bool still_there(const tgRunLock *lock, bool *unknown) {
  struct stat open, named;
  errno = 0;
  bool both = fstat(lock->fd, &open) == 0 && stat(lock->path, &named) == 0;
  *unknown = !both && errno != ENOENT;
  return both && open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// Locks the open file; *again: it is no longer the one of that name.
static tgStatus take(const tgRunLock *lock, const char *journal, bool *again, tgError *error) {
  bool unknown = false;
  *again = false;
  if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
    if (none_here(errno)) return TG_OK;
    return errno == EWOULDBLOCK ? held(lock, journal, error) : unusable(lock, "locked", error);
  }
  *again = !still_there(lock, &unknown);
  return unknown ? unusable(lock, "looked at", error) : TG_OK;
}

tgStatus tgi_run_lock(tgRunLock *lock, const char *journal, tgError *error) {
  lock->fd = -1;
  if (journal == NULL) return TG_OK;
  if (snprintf(lock->path, sizeof lock->path, "%s.lock", journal) >= (int)sizeof lock->path)
    return tgi_error(error, TG_ERR_FILE, "the journal's path is longer than %zu characters", sizeof lock->path - 6);
  for (bool again = true; again;) {
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->fd < 0) return unusable(lock, "opened", error);
    tgStatus st = take(lock, journal, &again, error);
    if (st == TG_OK && !again) break;
    close(lock->fd);
    lock->fd = -1;
    if (st != TG_OK) return st;
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
