// damped.h: options of the contact model `damped`.
#ifndef TANGERE_DAMPED_H
#define TANGERE_DAMPED_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How the normal force of a proxy goes by its damped gap.
typedef enum tgDampedLaw {
  TG_DAMPED_PERTURBED,     ///< s/g: never 0, so that there is a gradient at any distance (default)
  TG_DAMPED_PENALTY,       ///< a smooth spring
  TG_DAMPED_BARRIER,       ///< grows without bound as the gap closes, 0 beyond `onset`; its step has no second derivative there
  TG_DAMPED_BARRIER_C2,    ///< the same, and twice differentiable there
  TG_DAMPED_SIGNORINI      ///< no force but at touch: `perturbed` with a ten-thousandth of its strength
} tgDampedLaw;

/// What a mesh is before geoms other than planes, which meet its hull's vertices first.
typedef enum tgDampedMesh {
  TG_DAMPED_MESH_SURFACE,  ///< its triangles: a field on a grid, and its vertices as proxies (default); it must be the border of a solid
  TG_DAMPED_MESH_HULL,     ///< its convex hull: the same of that
  TG_DAMPED_MESH_POINTS    ///< the vertices of its convex hull without a field: two meshes do not meet
} tgDampedMesh;

/// Options of its own.
#define TG_DAMPED_OPTIONS(X) \
  X(WORD, law, tgDampedLaw, TG_DAMPED_PERTURBED, "perturbed penalty barrier barrier_c2 signorini", \
    "how the normal force goes by the damped gap") \
  X(PARAMETER, resting_gap, 0, 0, 1e3, "m", \
    "at which all proxies of a geom together carry the weight of the lighter of the pair's two trees; 0: a thousandth of the smaller " \
    "geom's radius") \
  X(PARAMETER, damping_ratio, 1, 0, 1e6, "", "of a body that rests: 1 is the least at which it comes to rest without a bounce") \
  X(NUMBER, damping_time, 0, 0, 1e6, "s", "by which the gap is damped, instead of `damping_ratio`; 0: by that") \
  X(PARAMETER, stiffness, 0, 0, 1e15, "N/m", "of `penalty`, of a pair of geoms; 0: that weight over the resting gap") \
  X(PARAMETER, onset, 0, 0, 1e3, "m", \
    "of `penalty`: gap over which it sets in, 0: the resting gap; of the barriers: gap below which they push, 0: ten times that") \
  X(NUMBER, reach, 0, 0, 1e9, "m", "damped gap from which on there is no force; from half of it on the law's fades. Pairs farther apart " \
    "cost next to nothing; 0: forces reach any distance") \
  X(NUMBER, spacing, 0, 0, 1e3, "m", \
    "of proxies along edges and axes; 0: half a box's edge, half a capsule's radius, a sixteenth of a cylinder's rim") \
  X(WORD, mesh, tgDampedMesh, TG_DAMPED_MESH_SURFACE, "surface hull points", "what a mesh is before geoms other than " \
    "planes: its triangles, its convex hull, or that hull's vertices without a field") \
  X(INTEGER, mesh_cells, 32, 4, 256, "cells of the grid of a mesh's field along its longest side") \
  X(BOOLEAN, hollow, false, "geoms are hollow: one that begins a step wholly inside another is held in there; an ellipsoid is solid " \
    "always, and so is a mesh under `mesh: points`. False: it is an overlap") \
  X(NUMBER, widen, 0, 0, 0.1, "m", "by which every gap is seen wider than it is") \
  X(NUMBER, near, 0, 0, 1e9, "m", "to compare with: only proxies whose gap at the start of a step is smaller take part in it; 0: all do") \
  X(BOOLEAN, held_normals, false, "to compare with: derivatives take all normals as they are held; labelled surrogate")

typedef struct tgDampedOptions {  ///< Options of the `damped` model.
  tgContactOptions of;     ///< head
  TG_MIDPOINT_OPTIONS(TG_OPTION_FIELD)
  TG_DAMPED_OPTIONS(TG_OPTION_FIELD)
} tgDampedOptions;

static inline tgDampedOptions tg_damped_default(void) {  ///< Its defaults.
  tgDampedOptions o;
  tg_contact_default("damped", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
