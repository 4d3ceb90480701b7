// status.h: filling tgError, and the one error flow of the engine.
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include "tangere/base.h"

/// Fills *error (may be NULL) with a printf-style sentence and returns status.
tgStatus tgi_error(tgError *error, tgStatus status, const char *format, ...) TG_PRINTF(3, 4);

/// Leaves the function with a negative status of `call`, or where it was cancelled: what it has made is then no result.
#define TG_TRY(call)                                                \
  do {                                                              \
    tgStatus tg_try_ = (call);                                      \
    if (tg_try_ < 0 || tg_try_ == TG_CANCELLED) return tg_try_;     \
  } while (0)

/// The same with any status but TG_OK: what was not solved or was cancelled is no result to go on from.
#define TG_TRY_OUTCOME(call)                         \
  do {                                        \
    tgStatus tg_outcome_ = (call);            \
    if (tg_outcome_ != TG_OK) return tg_outcome_; \
  } while (0)

#endif
