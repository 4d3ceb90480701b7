// ipc.h: options of the contact model `ipc`.
#ifndef TANGERE_IPC_H
#define TANGERE_IPC_H

#include "tangere/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options of its own.
#define TG_IPC_OPTIONS(X) \
  X(NUMBER, local_range, 0.01, 1e-6, 0.5, "m", "distance at which the local barrier ends") \
  X(NUMBER, widen, 0, 0, 0.1, "m", "by which every gap is seen wider than it is: surfaces lie half of it deeper in their geoms") \
  X(WORD, long_range, tgLongRange, TG_LONG_RANGE_OFF, "both off", \
    "where the part beyond `local_range` acts; `both`: in the step and in its gradient, between all points and triangles and all edges") \
  X(NEUTRAL, threads, 1, 1, 1024, "that evaluate the potential; the bits do not depend on it")

typedef struct tgIpcOptions {  ///< Options of the `ipc` model.
  tgContactOptions of;     ///< head
  TG_MINIMISE_OPTIONS(TG_OPTION_FIELD)
  TG_IPC_OPTIONS(TG_OPTION_FIELD)
} tgIpcOptions;

static inline tgIpcOptions tg_ipc_default(void) {  ///< Its defaults.
  tgIpcOptions o;
  tg_contact_default("ipc", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
