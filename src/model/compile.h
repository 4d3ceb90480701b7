// compile.h: the passes of tg_model_compile and what they share.
#ifndef TG_MODEL_COMPILE_H
#define TG_MODEL_COMPILE_H

#include "base/layout.h"
#include "base/status.h"
#include "desc/desc.h"
#include "geom/mass.h"
#include "model/model.h"

// compilation writes the arrays of its tgModel *m through the const pointers of the struct; nothing else does
#define PUT(field, T, i, value) (((T *)(uintptr_t)m->field)[i] = (value))
#define PUT_INT(field, i, value) PUT(field, int, i, value)
#define PUT_REAL(field, i, value) PUT(field, tgReal, i, value)

/// Work of one compilation; freed at its end.
typedef struct tgCompile {
  tgDesc *desc;
  tgAllocator alloc;
  tgError *error;
  tgModel *m;
  int *joint_to;      // desc joint -> model joint (sorted by body, else in the order of the desc)
  int *geom_to;       // desc geom -> model geom
  int *geom_from;     // model geom -> desc geom
  int *joint_from;    // model joint -> desc joint
  int *site_to, *site_from;
  int *joint_adr, *geom_adr, *site_adr;  // nbody + 1: first joint, geom, site of each body, model order
  tgReal *xpos, *xquat;        // body frames at qpos0, world
  tgMassProps *geom_mass;      // of each desc geom, geom frame
  tgHullOwned **hull;          // built hulls
  int nhull;
  int *geom_hull;              // desc geom -> hull, -1
  int (*pair)[4];              // candidate pairs: geom1, geom2 (model), desc pair or -1, condim
  int npair, pair_room;
  int (*hinge)[4];             // edges between two triangles of a sheet: their vertices, then those opposite, counted in the sheet
  int *hinge_adr;              // nflex + 1: first of each sheet
  int nhinge;
} tgCompile;

/// TG_OK for the index of a note, TG_ERR_MEMORY for -1: no warning is lost in silence.
tgStatus tgi_compile_noted(tgCompile *c, int note);
/// Error naming the element and where it came from. Returns status.
tgStatus tgi_compile_error(tgCompile *c, tgStatus status, tgSource source, const char *element, const char *format, ...)
    TG_PRINTF(5, 6);

/// "body 'name'" or "body 3" into text.
const char *tgi_desc_label(const char *kind, const char *name, int i, char *text, size_t size);

tgStatus tgi_check_desc(tgCompile *c);      // indices, ranges, finite numbers
tgStatus tgi_compile_order(tgCompile *c);   // joints, geoms, sites sorted by body
tgStatus tgi_compile_hulls(tgCompile *c);   // convex hulls of what may touch
/// Radius about the geom's origin that holds it; plane: 0.
double tgi_geom_radius(const tgCompile *c, int geom);
tgStatus tgi_compile_inertia(tgCompile *c); // masses of geoms, then of bodies, into desc->body
tgStatus tgi_compile_pairs(tgCompile *c);   // geom pairs that may touch
tgStatus tgi_compile_flexes(tgCompile *c);  // edges between triangles
/// Sheets into the placed model, whose bodies are there.
void tgi_fill_flexes(tgCompile *c, tgModel *m);
/// Sizes and arrays of the model: counts when l->base is NULL, else places.
void tgi_model_layout(tgCompile *c, tgModel *m, tgLayout *l);
/// Into the placed model: what springdamper of joints and dampratio of actuators come to.
tgStatus tgi_compile_springs(tgCompile *c);

#endif
