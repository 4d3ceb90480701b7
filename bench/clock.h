// clock.h: the least time of a call among many, the figure least disturbed by what else the machine does.
#ifndef TG_BENCH_CLOCK_H
#define TG_BENCH_CLOCK_H

#include <stdbool.h>
#include <time.h>

static inline double tgb_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Seconds of this thread on a core, which other work on the machine lengthens by what it takes of caches and shared units alone.
static inline double tgb_core(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Least of 15 means of 8 calls of `call`(bench, work), nanoseconds; negative when a call failed.
#define tgb_least(bench, work)                                  \
  __extension__({                                               \
    double least_ = 1e30;                                       \
    for (int batch_ = 0; least_ > 0 && batch_ < 15; batch_++) { \
      double start_ = tgb_now(), spent_;                        \
      bool good_ = true;                                        \
      for (int r_ = 0; good_ && r_ < 8; r_++) good_ = call((bench), (work)); \
      spent_ = (tgb_now() - start_) / 8;                        \
      if (!good_) least_ = -1;                                  \
      else if (spent_ < least_) least_ = spent_;                \
    }                                                           \
    1e9 * least_;                                               \
  })

#endif
