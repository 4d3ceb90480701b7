// mass.h: volume, centre of mass and inertia of triangle meshes and of primitives, at unit density.
//
// Exact moments of a simplex: for a tetrahedron with one corner at the origin and the others a, b, c,
//   V = a.(b x c)/6,   int x dV = V s/4,   int x x' dV = V/20 (a a' + b b' + c c' + s s'),   s = a + b + c,
// and for a triangle of area A: int x dA = A s/3, int x x' dA = A/12 (a a' + b b' + c c' + s s').
#ifndef TG_GEOM_MASS_H
#define TG_GEOM_MASS_H

#include "tangere/desc.h"

/// Moments of a body of density 1 kg/m^3 (a shell: 1 kg/m^2).
typedef struct tgMassProps {
  double volume;     ///< m^3; of a shell its area [m^2]
  double com[3];     ///< centre of mass [m]
  double inertia[6]; ///< about com: xx yy zz xy xz yz [kg m^2]
} tgMassProps;

/// How a mesh weighs; the numbers are those of tgMeshDesc.inertia_kind.
typedef enum tgMassKind {
  TG_MASS_EXACT,  ///< signed tetrahedra: exact for closed, consistently wound meshes, convex or not
  TG_MASS_SHELL,  ///< the surface only
  TG_MASS_CONVEX, ///< of the convex hull
  TG_MASS_LEGACY  ///< MuJoCo's: unsigned tetrahedra about the mean of the faces (overestimates concave meshes)
} tgMassKind;

/// Moments of a mesh of nvert x 3 vertices and nface x 3 indices. TG_ERR_INVALID, with a sentence about "it", the
/// mesh, in error: the exact kind refuses open, inconsistently wound, inside-out and flat meshes and names the
/// first edge; the convex and legacy kinds refuse flat ones; the shell only a mesh without area. TG_ERR_MEMORY.
tgStatus tgi_mass_mesh(const double *vert, int nvert, const int *face, int nface, tgMassKind kind,
                       const tgAllocator *allocator, tgMassProps *mass, tgError *error);
/// Volume inside the surface as it is, by signed tetrahedra about the bounding box's centre; nothing is refused.
double tgi_mesh_volume(const double *vert, int nvert, const int *face, int nface);

/// Moments of a primitive about its own frame, size as tgGeomDesc.size (a plane weighs nothing). With `shell`, of its
/// closed surface of uniform thickness; the ellipsoid's shell is MuJoCo's: the limit of two ellipsoids whose semi-axes
/// differ by a constant, with the area by Thomsen's formula (1.1 % at worst). TG_ERR_ARG for a mesh.
tgStatus tgi_mass_primitive(tgGeomType type, const double size[3], bool shell, tgMassProps *mass);

/// I -> R I R' for a 6-vector inertia.
void tgi_inertia_rotate(double inertia[6], const double quat[4]);

#endif
