// spring.h: options of the contact model `spring`.
#ifndef TANGERE_SPRING_H
#define TANGERE_SPRING_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options of its own.
#define TG_SPRING_OPTIONS(X) \
  X(PARAMETER, stiffness, 10000, 0, 1e15, "N/m", "of the spring at a contact point") \
  X(NUMBER, length, 1e-3, 0, 1, "m", "gap below which it pushes")

typedef struct tgSpringOptions {  ///< Options of the `spring` model.
  tgContactOptions of;     ///< head
  TG_MINIMISE_OPTIONS(TG_OPTION_FIELD)
  TG_SPRING_OPTIONS(TG_OPTION_FIELD)
} tgSpringOptions;

static inline tgSpringOptions tg_spring_default(void) {  ///< Its defaults.
  tgSpringOptions o;
  tg_contact_default("spring", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
