// surface.h: the triangles and sphere trees of a model's geoms, for contact models that work on surfaces.
#ifndef TG_COLL_SURFACES_SURFACE_H
#define TG_COLL_SURFACES_SURFACE_H

#include "geom/sphere_tree.h"
#include "model/model.h"

/// Surfaces and trees of the geoms that are in some pair of the model; const after tgi_shapes_make. Geoms with the same
/// mesh, and primitives of one type and size, share theirs; spheres of every size do.
typedef struct tgiShapes {
  int ngeom, nsurface;
  const tgiSurface **surface;  ///< ngeom; NULL: a plane (half-space), or never touches
  const tgiTree **tree;        ///< ngeom, likewise
  tgiSurface *surfaces;        ///< nsurface
  tgiTree *trees;              ///< nsurface
  tgAllocator alloc;
} tgiShapes;

/// cores: spheres, capsules and ellipsoids are cores with a radius around them (tgi_surface_core), not inscribed triangles.
/// TG_ERR_INVALID names the geom whose mesh has no face to collide with; TG_ERR_MEMORY. *shapes needs no freeing then.
tgStatus tgi_shapes_make(const tgModel *m, double chord, bool cores, tgiShapes *shapes, tgError *error);
/// `inwards` of every surface but the cores, so that they can lie deeper in their geoms. TG_ERR_MEMORY.
tgStatus tgi_shapes_inwards(const tgModel *m, tgiShapes *shapes, tgError *error);
/// Least half width of a geom with a surface, about: a primitive's by its sizes (of an ellipsoid that is one: its least radius of
/// curvature), a mesh's by its box in its own axes.
double tgi_shape_half_width(const tgModel *m, const tgiShapes *shapes, int geom);
/// The radius around its faces that a geom has to stay under, so that something is left of it inside: of a box and a cylinder, a mesh's
/// half width; infinite where the surface does not round. At the sizes of the model or of a simulation (&s->m).
double tgi_shape_most_rounding(const tgModel *m, const tgiShapes *shapes, int geom);
/// TG_OK where the geom stays under it, or has no surface; else `refused`, and the error says the radius, the geom and that most.
tgStatus tgi_shape_check_rounding(const tgModel *m, const tgiShapes *shapes, int geom, double rounding, tgStatus refused, tgError *error);
void tgi_shapes_free(tgiShapes *shapes);

/// Surface of geom g of the model at its own sizes: the mesh's faces as they are (of a mesh of points alone: of its hull), or the inscribed
/// surface of a primitive. TG_ERR_ARG for a plane.
tgStatus tgi_surface_of_geom(const tgModel *m, int g, double chord, tgiSurface *surface, tgError *error);

/// The same of the convex hull of a mesh that has one.
tgStatus tgi_surface_of_hull(const tgModel *m, int g, tgiSurface *surface, tgError *error);

/// What the surface's coef multiplies: geom_scale of a mesh, else geom_size; of the model or of a simulation (&s->m).
static inline const tgReal *tgi_surface_size(const tgModel *m, int g) {
  return (m->geom_type[g] == TG_GEOM_MESH ? m->geom_scale : m->geom_size) + 3 * g;
}

#endif
