// test_threads.c: every item is done once by a valid worker; the pool is lazy, refuses re-entry and the child of a fork.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"
#include "support/check.h"

enum { ITEMS = 5000 };
typedef struct Count {
  atomic_int times[ITEMS];
  atomic_int bad_worker;
  int workers;
  tgiPool *pool;
  tgStatus again;
} Count;

static void count(void *ctx, int worker, int item) {
  Count *c = ctx;
  if (worker < 0 || worker >= c->workers) atomic_fetch_add(&c->bad_worker, 1);
  atomic_fetch_add(&c->times[item], 1);
}

static void each_item_is_done_once(void **state) {
  (void)state;
  Count *c = malloc(sizeof *c);
  assert_non_null(c);
  for (int n = 1; n <= 16; n *= 2) {
    tgiPool *pool = tgi_pool_create(n, NULL);
    assert_non_null(pool);
    for (int run = 0; run < 20; run++) {
      int items = run % 3 == 0 ? run / 3 : ITEMS;
      memset(c, 0, sizeof *c);
      c->workers = n;
      assert_int_equal(tgi_pool_run(pool, items, count, c), TG_OK);
      for (int i = 0; i < ITEMS; i++) check_true(c->times[i] == (i < items), "item %d was done %d times", i, c->times[i]);
      assert_int_equal(c->bad_worker, 0);
    }
    tgi_pool_free(pool);
  }
  free(c);
}

static void reenter(void *ctx, int worker, int item) {
  Count *c = ctx;
  (void)worker;
  (void)item;
  c->again = tgi_pool_run(c->pool, 1, reenter, c);
}

static void reentry_is_refused(void **state) {
  (void)state;
  Count *c = calloc(1, sizeof *c);
  assert_non_null(c);
  c->pool = tgi_pool_create(2, NULL);
  c->again = TG_OK;
  assert_int_equal(tgi_pool_run(c->pool, 1, reenter, c), TG_OK);
  assert_int_equal(c->again, TG_ERR_STATE);
  tgi_pool_free(c->pool);
  free(c);
}

static void a_forked_child_gets_a_status(void **state) {
  (void)state;
  Count *c = calloc(1, sizeof *c);
  assert_non_null(c);
  c->workers = 3;
  tgiPool *used = tgi_pool_create(3, NULL), *fresh = tgi_pool_create(3, NULL);
  assert_int_equal(tgi_pool_run(used, 10, count, c), TG_OK);
  pid_t child = fork();
  if (child == 0) {
    // threads do not survive a fork: the used pool says so, the fresh one starts its own; both can be freed
    int ok = tgi_pool_run(used, 10, count, c) == TG_ERR_STATE;
#ifndef __SANITIZE_THREAD__  // which allows no new threads after a fork
    ok = ok && tgi_pool_run(fresh, 10, count, c) == TG_OK;
#endif
    tgi_pool_free(used);
    tgi_pool_free(fresh);
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(tgi_pool_run(used, 10, count, c), TG_OK);
  tgi_pool_free(used);
  tgi_pool_free(fresh);
  free(c);
}

static void cores_are_counted(void **state) {
  (void)state;
  int n = tgi_cores();
  check_true(n >= 1 && n <= sysconf(_SC_NPROCESSORS_ONLN), "%d cores", n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_item_is_done_once),
    cmocka_unit_test(reentry_is_refused),
    cmocka_unit_test(a_forked_child_gets_a_status),
    cmocka_unit_test(cores_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
