// field.h: smooth fields of geoms: about the signed distance to the surface, in the geom's frame.
//
// Based on: [math/damped Fields].
#ifndef TG_CONTACT_DAMPED_FIELD_H
#define TG_CONTACT_DAMPED_FIELD_H

#include "contact/damped/jet.h"
#include "tangere/desc.h"

/// size: as the geom has it. rounding, softness: of edges and clamps [m], constants.
typedef struct tgiField { tgGeomType type; const tgReal *size; double rounding, softness; } tgiField;

/// Has the type a field?
bool tgi_field_is(tgGeomType type);
/// Field of a geom of this type and size.
tgiField tgi_field_make(tgGeomType type, const double size[3]);
/// Depth to which it may be trusted, of a geom of that size [m]; infinite of a plane.
double tgi_field_depth(tgGeomType type, const double size[3]);
/// G at y (geom's frame). Variables of the jet: y, then, where it has six, the size.
void tgi_field(const tgiField *f, const tgReal y[3], tgiJets k, tgiJet *G);

#endif
