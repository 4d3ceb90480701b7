// field.h: smooth fields of geoms: about the signed distance to the surface, in the geom's frame.
//
// Based on: [math/damped Fields].
#ifndef TG_CONTACT_DAMPED_FIELD_H
#define TG_CONTACT_DAMPED_FIELD_H

#include "coll/surfaces/distance_grid.h"
#include "contact/damped/jet.h"
#include "tangere/desc.h"

/// size: as the geom has it, of a mesh its scale. rounding, softness: of edges and clamps [m], constants. grid: of a mesh, at scale made.
/// inside: G is that of a hollow, positive in it; not of ellipsoids and planes.
typedef struct tgiField {
  tgGeomType type;
  const tgReal *size;
  double rounding, softness, made[3];
  const tgiDistanceGrid *grid;
  bool inside;
} tgiField;

/// Field of a geom of this type and size, of a mesh by its grid.
tgiField tgi_field_make(tgGeomType type, const double size[3], const tgiDistanceGrid *grid);
/// Depth to which it may be trusted [m]; infinite of a plane.
double tgi_field_depth(tgGeomType type, const double size[3], const tgiDistanceGrid *grid);
/// No gradient of G is longer, at the size that it has.
double tgi_field_steepness(const tgiField *f);
/// G at y (geom's frame). Variables of the jet: y, then, where it has six, the size or scale.
void tgi_field(const tgiField *f, const tgReal y[3], tgiJets k, tgiJet *G);

#endif
