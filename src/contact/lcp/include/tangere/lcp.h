// lcp.h: options of the contact model `lcp`.
#ifndef TANGERE_LCP_H
#define TANGERE_LCP_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Contact points of the `lcp` model.
typedef enum tgDetection {
  TG_DETECTION_FEATURES,   ///< of the nearest features of two shapes: exact, with switches between features (default)
  TG_DETECTION_SOFT        ///< four on either surface, chosen softly among the vertices of its cloud: smooth in the
                           ///< pose, within about a spacing of the
                           ///< exact ones; of meshes their own closed surface, concave too; no derivative in sizes and
                           ///< scales. Takes spacing, eps1 and eps2
} tgDetection;

/// Options of its own.
#define TG_LCP_OPTIONS(X) \
  X(WORD, detection, tgDetection, TG_DETECTION_FEATURES, "features soft", \
    "contact points: of nearest features, or four smooth ones of clouds of points, of meshes their own closed surface, concave too") \
  X(NUMBER, spacing, 0, 0, 1e3, "m", "of `detection: soft`: of a surface's points; 0: a sixth of the geom's bounding radius") \
  X(NUMBER, eps1, 0, 0, 1e6, "m^2", "of `detection: soft`: width of a surface's soft distance; 0: its spacing, squared") \
  X(NUMBER, eps2, 0, 0, 1e3, "m", "of `detection: soft`: width over which points are weighed; 0: a twentieth of the pair's smaller spacing")

typedef struct tgLcpOptions {  ///< Options of the `lcp` model.
  tgContactOptions of;     ///< head
  TG_IMPULSE_OPTIONS(TG_OPTION_FIELD)
  TG_LCP_OPTIONS(TG_OPTION_FIELD)
} tgLcpOptions;

static inline tgLcpOptions tg_lcp_default(void) {  ///< Its defaults.
  tgLcpOptions o;
  tg_contact_default("lcp", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
