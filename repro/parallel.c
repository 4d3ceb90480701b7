// parallel.c: items of an experiment done several at a time.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "repro/experiments.h"

enum { MOST = 64 };

typedef struct Shared {
  atomic_int next;
  int n;
  void (*work)(void *ctx, int i);
  void *ctx;
} Shared;

static void *take_items(void *ctx) {
  Shared *s = ctx;
  for (int i = atomic_fetch_add(&s->next, 1); i < s->n; i = atomic_fetch_add(&s->next, 1)) s->work(s->ctx, i);
  return NULL;
}

static int cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

bool tgi_run_parallel(const tgRun *run, int n, void (*work)(void *ctx, int i), void *ctx) {
  Shared s = {.n = n, .work = work, .ctx = ctx};
  pthread_t thread[MOST];
  int wanted = run->cli->threads > 0 ? run->cli->threads : cores(), started = 0, code = 0;
  if (wanted > n) wanted = n;
  if (wanted > MOST) wanted = MOST;
  while (started < wanted && (code = pthread_create(&thread[started], NULL, take_items, &s)) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  if (started > 0 || n == 0) return true;
  tgi_cli_say("%s: no thread can be started: %s", run->experiment->id, strerror(code));
  return false;
}
