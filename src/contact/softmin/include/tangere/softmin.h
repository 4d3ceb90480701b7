// softmin.h: options of the contact model `softmin`.
#ifndef TANGERE_SOFTMIN_H
#define TANGERE_SOFTMIN_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Lever and dissipation of the `softmin` model.
typedef enum tgForceForm {
  TG_FORCE_CONSISTENT,     ///< action and reaction at one point, dissipation with two continuous derivatives (default)
  TG_FORCE_PAPER           ///< the publication's: reaction at the surface's points, dissipation with one; the sign is that of a repulsion
} tgForceForm;

/// Options of its own.
#define TG_SOFTMIN_OPTIONS(X) \
  X(PARAMETER, stiffness, 0, 0, 1e15, "N/m", "of a pair of geoms; 0: the weight of the lighter of the two trees over `eps3`") \
  X(PARAMETER, eps1, 0, 0, 1e6, "m^2", "width of a surface's soft distance; 0: its spacing, squared") \
  X(PARAMETER, eps2, 0, 0, 1e3, "m", "width over which points share the force; 0: a twentieth of the pair's smaller spacing") \
  X(PARAMETER, eps3, 0, 0, 1e3, "m", "depth over which the force sets in; 0: a twentieth of that spacing") \
  X(PARAMETER, dissipation_speed, 0.5, 1e-9, 1e9, "m/s", "closing speed that doubles the force") \
  X(NUMBER, spacing, 0, 0, 1e3, "m", "of a surface's points; 0: a quarter of the geom's least half length, and at most about 1000 points") \
  X(NUMBER, points, 0, 0, 1e6, "", \
    "of each geom, about, instead of one spacing for all, but at most a quarter of the radius apart on curved ones; 0: by `spacing`") \
  X(NUMBER, prune, 1e-13, 0, 0.1, "", "share of the force that points left out may have in all; 0: none is left out") \
  X(WORD, form, tgForceForm, TG_FORCE_CONSISTENT, "consistent paper", "`paper`: the publication's lever and dissipation")

typedef struct tgSoftminOptions {  ///< Options of the `softmin` model.
  tgContactOptions of;     ///< head
  TG_EXPLICIT_OPTIONS(TG_OPTION_FIELD)
  TG_SOFTMIN_OPTIONS(TG_OPTION_FIELD)
} tgSoftminOptions;

static inline tgSoftminOptions tg_softmin_default(void) {  ///< Its defaults.
  tgSoftminOptions o;
  tg_contact_default("softmin", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
