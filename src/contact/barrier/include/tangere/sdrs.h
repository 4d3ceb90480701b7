// sdrs.h: options of the contact model `sdrs`.
#ifndef TANGERE_SDRS_H
#define TANGERE_SDRS_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options of its own.
#define TG_SDRS_OPTIONS(X) \
  X(NUMBER, local_range, 0.01, 1e-6, 0.5, "m", "distance at which the local barrier ends") \
  X(NUMBER, widen, 0, 0, 0.1, "m", "by which every gap is seen wider than it is: surfaces lie half of it deeper in their geoms") \
  X(NEUTRAL, threads, 1, 1, 1024, "that evaluate the potential; the bits do not depend on it")

typedef struct tgSdrsOptions {  ///< Options of the `sdrs` model.
  tgContactOptions of;     ///< head
  TG_MINIMISE_OPTIONS(TG_OPTION_FIELD)
  TG_SDRS_OPTIONS(TG_OPTION_FIELD)
} tgSdrsOptions;

static inline tgSdrsOptions tg_sdrs_default(void) {  ///< Its defaults.
  tgSdrsOptions o;
  tg_contact_default("sdrs", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
