// child.c: see child.h.
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

enum { MOST_BYTES = 1 << 30 };

int tgi_child_send(int fd, const void *data, size_t size) {
  for (const char *at = data; size > 0;) {
    ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return TGI_CHILD_BROKEN;
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

// quiet, one thread, default signals, gone with its parent, within its limits
static void settle(int cpu_seconds, bool no_files) {
  struct rlimit cpu = {(rlim_t)cpu_seconds, (rlim_t)cpu_seconds}, none = {0, 0};
  int nowhere = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nowhere >= 0; fd++) dup2(nowhere, fd);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &none);
  if (no_files) setrlimit(RLIMIT_NOFILE, &none);     // those that are open stay
  for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  setenv("OMP_NUM_THREADS", "1", 1);
}

// all that comes until the other end closes
static tgStatus receive(int fd, const tgAllocator *a, char **bytes, size_t *size, tgError *error) {
  size_t room = 0;
  for (;;) {
    if (*size == room) {
      room = room == 0 ? 65536 : 2 * room;
      char *more = room <= MOST_BYTES ? a->realloc(a->ctx, *bytes, room) : NULL;
      if (more == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %zu bytes from a child process", room);
      *bytes = more;
    }
    ssize_t n = read(fd, *bytes + *size, room - *size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tgi_error(error, TG_ERR_INTERNAL, "the pipe from a child process cannot be read (error %d)", errno);
    if (n == 0) return TG_OK;
    *size += (size_t)n;
  }
}

tgStatus tgi_child_run(tgiChildFn fn, const void *ctx, int cpu_seconds, bool no_files, const tgAllocator *allocator, char **bytes,
                       size_t *size, int *code, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  int end[2], state = 0;
  *bytes = NULL;
  *size = 0;
  *code = 0;
  if (pipe2(end, O_CLOEXEC) != 0) return tgi_error(error, TG_ERR_LIMIT, "no pipe for a child process (error %d)", errno);
  pid_t pid = fork();
  if (pid == 0) {
    settle(cpu_seconds, no_files);
    _exit(fn(ctx, end[1]));
  }
  close(end[1]);
  if (pid < 0) {
    close(end[0]);
    return tgi_error(error, TG_ERR_LIMIT, "no child process (error %d)", errno);
  }
  tgStatus status = receive(end[0], &a, bytes, size, error);
  close(end[0]);                       // a child that still writes fails, and ends
  pid_t gone;
  while ((gone = waitpid(pid, &state, 0)) < 0 && errno == EINTR) {}
  if (gone == pid) *code = WIFSIGNALED(state) ? -WTERMSIG(state) : WEXITSTATUS(state);
  return status;
}
