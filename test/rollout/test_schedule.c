// test_schedule.c: the placement of checkpoints is the cheapest there is (by dynamic programming) and reverses every length.
#include "rollout/schedule.h"
#include "support/check.h"

enum { N = 220, C = 12 };
static double best[C + 1][N + 1], ours[C + 1][N + 1];

// Steps computed to reverse n steps with c states kept (the first among them), each step once for its own adjoint: with one
// state 1 + 2 + .. + n, else the cheapest place m for the next state: m steps to reach it, then both parts.
static void tables(void) {
  for (int n = 0; n <= N; n++) best[1][n] = ours[1][n] = n * (n + 1) / 2.0;
  for (int c = 2; c <= C; c++) {
    for (int n = 0; n <= N; n++) {
      best[c][n] = ours[c][n] = n;
      if (n <= 1) continue;
      best[c][n] = HUGE_VAL;
      for (int m = 1; m < n; m++) best[c][n] = fmin(best[c][n], m + best[c][m] + best[c - 1][n - m]);
      int m = tgi_schedule_split(n, c - 1);
      check_true(m >= 1 && m < n, "split of %d steps with %d states is %d", n, c, m);
      ours[c][n] = m + ours[c][m] + ours[c - 1][n - m];
    }
  }
}

static void cost_is_least(void **state) {
  (void)state;
  tables();
  for (int c = 1; c <= C; c++)
    for (int n = 1; n <= N; n++)
      check_true(ours[c][n] == best[c][n], "%d steps with %d states cost %g steps, %g is possible", n, c, ours[c][n], best[c][n]);
}

static void ends_are_right(void **state) {
  (void)state;
  assert_int_equal(tgi_schedule_split(1, 5), 1);
  assert_int_equal(tgi_schedule_split(9, 0), 9);
  assert_int_equal(tgi_schedule_split(5, 4), 1);
  assert_int_equal(tgi_schedule_split(5, 1000), 1);
  for (int spare = 1; spare < 600000000; spare = spare * 3 + 1) {
    int m = tgi_schedule_split(2000000000, spare);
    check_true(m >= 1 && m < 2000000000, "split %d", m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cost_is_least), cmocka_unit_test(ends_are_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
