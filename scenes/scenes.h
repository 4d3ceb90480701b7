// scenes.h: models built in C for tests, benchmarks and samples.
#ifndef TG_SCENES_H
#define TG_SCENES_H

#include "tangere/model.h"

typedef enum tgsScene {
  TGS_BLOCK,        ///< a box (0.2 0.3 0.1 m half, 2 kg) on a plane, friction 0.5; free joint; a 6-vector motor
  TGS_ARM,          ///< three hinged capsules whose spherical tip meets a wall and the floor
  TGS_CHEETAH,      ///< the nine-dof half-cheetah of [lcp] on a plane, six leg motors, limits on
  TGS_STACK,        ///< three boxes on each other on a plane
  TGS_SPHERES,      ///< a sphere on a sphere on a plane
  TGS_HUMANOID,     ///< a humanoid (21 hinges, free base) with box feet on a plane
  TGS_COUNT
} tgsScene;

const char *tgs_name(tgsScene scene);
/// Description of a scene in its own pose; NULL when memory is short.
tgDesc *tgs_desc(tgsScene scene);
/// Compiled scene; NULL: error (may be NULL) is filled.
tgModel *tgs_model(tgsScene scene, tgError *error);
/// Compiles and frees a description.
tgModel *tgs_compile(tgDesc *desc, tgError *error);

/// Chain of n hinges in space (axes turning x, y, z), capsule links of 0.3 m that touch nothing, a motor on each. n >= 1.
tgDesc *tgs_chain(int n);

// pieces
/// Ground plane z = 0 with that friction. Index of the geom.
int tgs_plane(tgDesc *d, double friction);
/// Body with a free joint at pos and one geom of that type, size, mass and friction. Index of the body, or -1.
int tgs_free_body(tgDesc *d, const char *name, const double pos[3], tgGeomType type, const double size[3], double mass, double friction);

#endif
