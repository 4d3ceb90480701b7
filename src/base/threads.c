// threads.c: see threads.h.
//
// Workers sleep on one condition between runs. A run is a generation number with a counter of items; the run is over when every
// worker that joined it has left. Threads block all signals, so that those of the process reach the caller's threads.
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

typedef struct tgiWorker {
  tgiPool *pool;
  pthread_t thread;
  int index;
} tgiWorker;

struct tgiPool {
  tgAllocator alloc;
  int n, started;            // workers wanted, threads running (the caller is not among them)
  pid_t pid;                 // process that started them, 0 before
  atomic_flag busy;
  pthread_mutex_t lock;
  pthread_cond_t wake, done;
  // under lock
  unsigned long generation;
  int inside;                // threads that have not left this generation
  bool quit;
  // of the run
  void (*work)(void *ctx, int worker, int item);
  void *ctx;
  int count;
  atomic_int next;
  tgiWorker worker[];
};

// cores of a control group (version 2): "quota period" or "max period"
static int cgroup_cores(void) {
  FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (f == NULL) return 0;
  long quota = 0, period = 0;
  int got = fscanf(f, "%ld %ld", &quota, &period);
  fclose(f);
  if (got != 2 || quota <= 0 || period <= 0) return 0;
  long cores = (quota + period - 1) / period;
  return cores < 1 << 20 ? (int)cores : 0;
}

int tgi_cores(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1, quota = cgroup_cores();
  if (quota > 0 && quota < n) n = quota;
  return n > 0 ? n : 1;
}

tgiPool *tgi_pool_create(int n, const tgAllocator *allocator) {
  tgAllocator a = tgi_allocator(allocator);
  if (n < 1) n = 1;
  size_t bytes = tgi_size_mul((size_t)n, sizeof(tgiWorker));
  if (bytes > SIZE_MAX - sizeof(tgiPool)) return NULL;
  tgiPool *p = a.alloc(a.ctx, bytes + sizeof(tgiPool));
  if (p == NULL) return NULL;
  memset(p, 0, bytes + sizeof(tgiPool));
  p->alloc = a;
  p->n = n;
  atomic_flag_clear(&p->busy);
  // with default attributes these three cannot fail on Linux
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
  return p;
}

static void share(tgiPool *p, int worker) {
  for (;;) {
    int item = atomic_fetch_add(&p->next, 1);
    if (item >= p->count) return;
    p->work(p->ctx, worker, item);
  }
}

static void *worker_main(void *arg) {
  tgiWorker *w = arg;
  tgiPool *p = w->pool;
  unsigned long seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->quit && p->generation == seen) pthread_cond_wait(&p->wake, &p->lock);
    if (p->quit) break;
    seen = p->generation;
    pthread_mutex_unlock(&p->lock);
    share(p, w->index);
    pthread_mutex_lock(&p->lock);
    if (--p->inside == 0) pthread_cond_signal(&p->done);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void start(tgiPool *p) {
  sigset_t all, old;
  p->pid = getpid();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (int i = 1; i < p->n; i++) {
    tgiWorker *w = &p->worker[p->started];
    *w = (tgiWorker){.pool = p, .index = p->started + 1};
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
    p->started++;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

tgStatus tgi_pool_run(tgiPool *p, int n, void (*work)(void *ctx, int worker, int item), void *ctx) {
  if (p->pid != 0 && p->pid != getpid()) return TG_ERR_STATE;
  if (atomic_flag_test_and_set(&p->busy)) return TG_ERR_STATE;
  if (p->pid == 0) start(p);
  pthread_mutex_lock(&p->lock);
  p->work = work;
  p->ctx = ctx;
  // the counter runs past the count by one a worker, which must not overflow
  p->count = n;
  atomic_store(&p->next, 0);
  p->inside = p->started;
  p->generation++;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  share(p, 0);
  pthread_mutex_lock(&p->lock);
  while (p->inside > 0) pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
  atomic_flag_clear(&p->busy);
  return TG_OK;
}

void tgi_pool_free(tgiPool *p) {
  if (p == NULL) return;
  tgAllocator a = p->alloc;
  if (p->pid == 0 || p->pid == getpid()) {
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++) pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
  }
  a.free(a.ctx, p);
}
