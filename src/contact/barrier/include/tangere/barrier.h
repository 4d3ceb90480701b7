// barrier.h: options of the contact model `barrier`.
#ifndef TANGERE_BARRIER_H
#define TANGERE_BARRIER_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How the `barrier` model's potential sums over triangles.
typedef enum tgHierarchy {
  TG_HIERARCHY_MOMENT,     ///< product weights, second moments, tight spheres: independent of the mesh's refinement (default)
  TG_HIERARCHY_PAPER,      ///< the publication's: unit weights, layered spheres
  TG_HIERARCHY_BRUTE       ///< every pair of triangles, with the weights of `moment`
} tgHierarchy;
typedef enum tgFrictionForm {  ///< Friction of the `barrier` model.
  TG_FRICTION_SLIP,        ///< one sliding velocity a patch (default)
  TG_FRICTION_PLANE        ///< the publication's: a massless plane between the triangles of each pair
} tgFrictionForm;
/// Where the part of the potential beyond touching range acts.
typedef enum tgLongRange {
  TG_LONG_RANGE_BOTH,      ///< in the step and in its gradient (default)
  TG_LONG_RANGE_OFF        ///< nowhere
} tgLongRange;

typedef enum tgGeomForm {  ///< What primitives are to the `barrier` model.
  TG_GEOM_FORM_MESH,       ///< inscribed triangles
  TG_GEOM_FORM_ROUNDED     ///< spheres, capsules and ellipsoids as they are (default); other primitives as inscribed triangles
} tgGeomForm;

/// Options of its own.
#define TG_BARRIER_OPTIONS(X) \
  X(PARAMETER, far_strength, 1, 1e-3, 1e6, "", \
    "factor of the part that is felt from afar, so that a small `weight` or gap does not take it away") \
  X(NUMBER, friction_range, 0.1, 1e-9, 1e9, "m", \
    "distance from which on surfaces do not rub; they rub fully where half of their force is from within half of it") \
  X(NUMBER, eps, 0.5, 1e-3, 10, "", \
    "width of the blend between exact and clustered terms, relative; below 0.4 the force has minima in distance") \
  X(NUMBER, local_range, 0.01, 1e-6, 0.5, "m", "distance at which the local barrier ends that stands in where there is no long range") \
  X(NUMBER, resting_gap, 0, 0, 1, "m", \
    "gap at which the lighter tree of each pair rests with its largest flat side; weights follow, `weight` over its default scales them; " \
    "0: `resting_share` says it") \
  X(NUMBER, resting_share, 0, 0, 0.1, "", \
    "the same gap as a share of the size of the pair's larger body that moves, the diameter of its largest geom; 0: all have `weight`") \
  X(PARAMETER, rounding, 0, 0, 1, "m", \
    "radius of the edges and corners of boxes and cylinders, whose sides stay where they are, and by which meshes are thicker all around") \
  X(NUMBER, widen, 0, 0, 0.1, "m", "by which every gap is seen wider than it is: surfaces lie half of it deeper in their geoms") \
  X(WORD, hierarchy, tgHierarchy, TG_HIERARCHY_MOMENT, "moment paper brute", \
    "how the potential is summed: `paper`: the publication's weights and spheres; `brute`: every pair of triangles") \
  X(FORMER, form, hierarchy) \
  X(WORD, geom_form, tgGeomForm, TG_GEOM_FORM_ROUNDED, "mesh rounded", \
    "spheres, capsules and ellipsoids as they are, exact and smooth, or as inscribed triangles, which rest lower at one `weight`") \
  X(WORD, friction, tgFrictionForm, TG_FRICTION_SLIP, "slip plane", "one sliding velocity a patch; `plane`: the publication's") \
  X(WORD, long_range, tgLongRange, TG_LONG_RANGE_BOTH, "both off", \
    "where the part beyond touching range acts; `off`: nowhere, the local barrier stands in for it") \
  X(GONE, long_range, backward, \
    "long_range: off, and take the gradient from a second contact model, gradient: {model: barrier, long_range: both}") \
  X(NEUTRAL, threads, 1, 1, 1024, "that evaluate the potential; the bits do not depend on it")

typedef struct tgBarrierOptions {  ///< Options of the `barrier` model.
  tgContactOptions of;     ///< head
  TG_MINIMISE_OPTIONS(TG_OPTION_FIELD)
  TG_BARRIER_OPTIONS(TG_OPTION_FIELD)
} tgBarrierOptions;

static inline tgBarrierOptions tg_barrier_default(void) {  ///< Its defaults.
  tgBarrierOptions o;
  tg_contact_default("barrier", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
