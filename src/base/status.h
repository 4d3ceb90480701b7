// status.h: filling tgError, and the one error flow of the engine.
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include "tangere/base.h"

/// Fills *error (may be NULL) with a printf-style sentence and returns status.
tgStatus tgi_error(tgError *error, tgStatus status, const char *format, ...) TG_PRINTF(3, 4);

/// Leaves the function with a negative status of `call`.
#define TG_TRY(call)                          \
  do {                                        \
    tgStatus tg_try_ = (call);                \
    if (tg_try_ < 0) return tg_try_;          \
  } while (0)

#endif
