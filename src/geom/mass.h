// mass.h: volume, centre of mass and inertia of primitives and triangle meshes.
#ifndef TG_GEOM_MASS_H
#define TG_GEOM_MASS_H

#include "tangere/desc.h"

/// At unit density (shell: unit area density), in the geom's frame.
typedef struct tgMassProps {
  double volume;       ///< m^3 (shell: area, m^2)
  double com[3];       ///< m
  double inertia[6];   ///< about com: xx yy zz xy xz yz
} tgMassProps;

/// How a mesh's inertia is computed; the numbers are tgMeshDesc.inertia_kind.
typedef enum tgMassKind { TG_MASS_EXACT, TG_MASS_SHELL, TG_MASS_CONVEX, TG_MASS_LEGACY } tgMassKind;

/// Closed forms of sphere, capsule, cylinder, ellipsoid, box (sizes as in MuJoCo). TG_ERR_ARG for other types.
tgStatus tgi_mass_primitive(tgGeomType type, const double size[3], bool shell, tgMassProps *out);

/// Mesh: exact (signed tetrahedra; refuses open, inconsistently wound, inside-out and flat meshes, naming the first edge), shell,
/// convex (of the hull) or legacy (unsigned volumes about the area centroid). error tells why.
tgStatus tgi_mass_mesh(const double *vert, int nvert, const int *face, int nface, tgMassKind kind,
                       const tgAllocator *alloc, tgMassProps *out, tgError *error);

#endif
