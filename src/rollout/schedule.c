// schedule.c: see schedule.h.
#include "rollout/schedule.h"

// (c + r choose c), or `limit` when it is larger; 0 for negative arguments
static int64_t beta(int c, int r, int64_t limit) {
  if (c < 0 || r < 0) return 0;
  int64_t b = 1;
  int small = c < r ? c : r, large = c < r ? r : c;
  for (int k = 1; k <= small; k++) {
    // exact: b (large + k) is divisible by k, as (large + k choose k) is an integer
    b = b * (large + k) / k;
    if (b >= limit) return limit;
  }
  return b;
}

// A segment is reversed at least cost when its two parts lie between the lengths that r - 1 and r repetitions allow:
//   left  (c states):      beta(c, r-2)     <= m     <= beta(c, r-1)
//   right (c - 1 states):  beta(c-1, r-1)   <= n - m <= beta(c-1, r)
int tgi_schedule_split(int n, int spare) {
  if (n <= 1 || spare <= 0) return n;
  int c = spare + 1, r = 1;
  int64_t limit = (int64_t)n + 1;
  while (beta(c, r, limit) < n) r++;
  int64_t low = n - beta(c - 1, r, limit), high = n - beta(c - 1, r - 1, limit);
  if (low < beta(c, r - 2, limit)) low = beta(c, r - 2, limit);
  if (high > beta(c, r - 1, limit)) high = beta(c, r - 1, limit);
  int64_t m = high > low ? high : low;
  if (m < 1) m = 1;
  return m < n ? (int)m : n - 1;
}
