// geometry.h: geometry of a model's shapes apart from its contact models: intersections decided exactly, point clouds
// of surfaces, soft signed distance.
#ifndef TANGERE_GEOMETRY_H
#define TANGERE_GEOMETRY_H

#include "tangere/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Judges whether geoms intersect, without rounding error: exact predicates on their triangles (primitives by
/// their inscribed surfaces of 1 % chord error, planes as half-spaces). No code of the contact models is
/// used. One thread at a time.
typedef struct tgIntersections tgIntersections;
/// For simulations of the model, which must outlive it. NULL: no memory, or a geom without a face, see error (may be NULL).
TG_API tgIntersections *tg_intersections_create(const tgModel *model, tgError *error);
TG_API void tg_intersections_free(tgIntersections *judge);
/// Counts the pairs of geoms that may touch by the model's list and have a point in common, or one of which is inside
/// the other, at the sim's frames (tg_sim_forward). The first `room` of them go to geoms (room x 2; NULL with room 0).
TG_API int tg_intersections_count(tgIntersections *judge, const tgSim *sim, int (*geoms)[2], int room);
/// The same summed over the steps + 1 states of a motion q ((steps + 1) x nq). -1: it could not be told, for want of
/// memory or at a state that is none.
TG_API long tg_intersections_of_motion(const tgModel *model, const double *q, int steps);

/// Makes every mesh geom that may touch and whose mesh has more than `triangles` (4 at least) collide as a mesh of about so many: a
/// geom NAME/reduced of the same body and group 3, without mass, appended to the geoms. The geom itself keeps mesh, mass and looks
/// and touches nothing; pairs are of the other. Corners stay where vertices of the mesh are; a closed mesh stays closed, if need be with
/// more triangles. A note tells, of each mesh, the largest distance between the two surfaces, which no point of either
/// exceeds, where it is, and which parts, holes or thin walls are lost. Same mesh, same triangles. For before tg_model_compile.
/// TG_ERR_UNSUPPORTED when the build has no library for it and a mesh has more; TG_ERR_ARG, TG_ERR_NOT_FINITE, TG_ERR_MEMORY. After
/// an error desc is good for freeing only.
TG_API tgStatus tg_desc_reduce(tgDesc *desc, int triangles, tgError *error);
/// The library that reduces meshes, with its version; "" when none is built in.
TG_API const char *tg_reducer(void);

/// A surface as oriented points, each with a patch; patches are polygons that cover the surface once.
typedef struct tgPointCloud tgPointCloud;
/// Of a primitive (MuJoCo's sizes [m], see tgGeomDesc), points about `spacing` [m] apart. error may be NULL. NULL:
/// TG_ERR_ARG, TG_ERR_LIMIT: more than 4 million points, TG_ERR_MEMORY.
TG_API tgPointCloud *tg_point_cloud_primitive(tgGeomType type, const double size[3], double spacing, tgError *error);
/// Of a closed mesh (vert nvert x 3 [m], face nface x 3, counter-clockwise from outside), non-convex, in several pieces
/// and with holes. Points beside creases of more than 30 degrees are in pairs at equal distances, none is on an edge.
/// NULL: TG_ERR_INVALID names the first bad edge; else as above.
TG_API tgPointCloud *tg_point_cloud_mesh(const double *vert, int nvert, const int *face, int nface, double spacing, tgError *error);
TG_API void tg_point_cloud_free(tgPointCloud *cloud);

/// What a cloud consists of; lives as long as the cloud.
typedef struct tgPoints {
  int n;                           ///< points
  const double *position;          ///< n x 3 [m]
  const double *normal;            ///< n x 3, outward, of unit length
  const double *area;              ///< n: of the patches [m^2]
  int nvert;                       ///< corners of patches
  const double *vert;              ///< nvert x 3 [m]
  const int *corner_at, *corner;   ///< n + 1; patch i has the vertices corner[corner_at[i]] .. corner[corner_at[i + 1]
                                   ///< - 1], counter-clockwise from outside
} tgPoints;
TG_API tgPoints tg_point_cloud_points(const tgPointCloud *cloud);  ///< All zero without a cloud.

/// How even a cloud is, and how well it keeps to its creases. Lengths are over the spacing asked for, areas over its square.
typedef struct tgCloudQuality {
  double near_mean, near_deviation, near_least, near_most;  ///< distance to the nearest neighbour that faces the same
                                                            ///< way (within 60 degrees)
  int nalone;                      ///< points that have none within two spacings; not counted above
  double area_mean, area_deviation, area_least, area_most;  ///< of the patches
  int ncrease;                     ///< edges of patches where normals turn by more than 30 degrees
  double crease_inset;             ///< mean distance of the points on their two sides to them
  double crease_error, crease_worst;  ///< half the difference of the two distances, mean by length and worst: so far
                                      ///< the cloud's edge is off
} tgCloudQuality;
TG_API tgStatus tg_point_cloud_quality(const tgPointCloud *cloud, tgCloudQuality *quality);  ///< TG_ERR_MEMORY. A plane has none: all zero.

/// Soft signed distance at x of n oriented points (position, normal: n x 3), as the contact model `softmin` has it
/// [math/softmin]: a mean of the signed distances to the points' planes with weights that fall as exp(-|x - p|^2/eps),
/// eps > 0 [m^2]. Smooth everywhere, negative inside. g (3) and H (9, row-major): gradient and Hessian in x; either may
/// be NULL. NAN without points.
TG_API tgReal tg_soft_distance(int n, const tgReal *position, const tgReal *normal, tgReal eps, const tgReal x[3], tgReal *g, tgReal *H);

#ifdef __cplusplus
}
#endif
#endif
