// narrow.h: contact points of one pair of convex shapes, with exact derivatives.
#ifndef TG_COLL_FEATURES_NARROW_H
#define TG_COLL_FEATURES_NARROW_H

#include "geom/hull.h"
#include "math/vec3.h"
#include "tangere/desc.h"

/// A geom as collision sees it.
typedef struct tgShape {
  tgGeomType type;
  const tgReal *size;     ///< three: sphere r; capsule and cylinder r, half length (axis z); ellipsoid and box half
                          ///< lengths; mesh: the scale that its hull has
  const tgHull *hull;     ///< of a mesh, its vertices and planes already scaled (tgi_hull_scale); other shapes have none
  const tgReal *pos;      ///< world position of the geom frame
  const tgReal *mat;      ///< world rotation of the geom frame, row-major
} tgShape;

enum {
  TG_PAIR_POINTS = 32,    ///< at most so many points from one pair
  TGI_FACE_POINTS = 8,    ///< and from two convex shapes, or two places of one direction
  TG_PAIR_MEMORY = 2      ///< ints of discrete memory of one pair: reference feature; 0 when fresh
};

/// What to compute beside the points.
typedef enum tgCollide {
  TG_COLLIDE_POINTS,      ///< nothing
  TG_COLLIDE_POSE,        ///< D
  TG_COLLIDE_SIZE,        ///< D and Ds
  TG_COLLIDE_VERTEX       ///< D, Ds and Dp
} tgCollide;

/// One contact point. n is the unit normal from B to A; gap > 0 apart, < 0 overlapping, along n.
typedef struct tgContactPoint {
  tgReal p[3], n[3], gap;
  int feature;            ///< identifies the pair of features; the same features give the same number
  bool tie;               ///< at a switch of features (within 1e-9 of scale): derivatives are one-sided
  tgReal D[7][12];        ///< d(p, n, gap)/d(twist A, twist B); twists are spatial motions (w; v) of the geoms in
                          ///< world axes at the world origin: a material point x moves by w cross x + v
  tgReal Ds[7][6];        ///< d(p, n, gap)/d(size of A, size of B), three each as in tgShape; 0 where a shape has fewer
  int part[4];            ///< parts of polytopes behind the point: vertex or edge of A, face of A, the same of B; 0: none, 1 + vertex,
                          ///< -1 - edge, 1 + face
  tgReal Dp[7][24];       ///< d(p, n, gap)/d(point, direction of each part), world axes: of an edge its start and the
                          ///< way to its end, of a face
                          ///< the mean of its corners and its normal; anything where there is no part
} tgContactPoint;

/// Features are preferred to others by so much of the smaller of two polytopes' radii, see tgi_collide.
#define TGI_HYSTERESIS 1e-4

/// The features of a contact that tgi_collide has given of two polytopes, by its `feature` and the memory that it left, at the present
/// pose, as it gives them (no derivatives), whether or not they still meet there; n: the contact's normal, by which faces beside edges
/// are told apart. False: not two polytopes, or these have more parts than `feature` can tell apart, or their face is not known.
bool tgi_same_features(const tgShape *A, const tgShape *B, int feature, const int memory[TG_PAIR_MEMORY], const tgReal n[3],
                       tgContactPoint *c);

/// How far apart the two are along the normal of the reference face that memory names; -infinity: it names none of a polytope.
double tgi_remembered_separation(const tgShape *A, const tgShape *B, const int32_t memory[TG_PAIR_MEMORY]);

/// Unit n from B to A across the two edges that separate two polytopes most; false: no two do, or one is none.
bool tgi_edge_normal(const tgShape *A, const tgShape *B, double n[3]);

/// Contact points with gap <= margin, in a fixed order, at most TGI_FACE_POINTS. Returns their count, or
/// a negative tgStatus when a shape has no hull but needs one (TG_ERR_UNSUPPORTED). memory is read and
/// updated (reference-feature hysteresis, at most `fine` long where that is not 0, else by the sizes of the bodies; by so much, too, points
/// that stand for a cap's rim may lie above it); the points are a function of the poses for given memory. D and Ds
/// are left alone unless wanted. distance (may be NULL): the gap of the pair, a lower bound on it when the pair is
/// farther than margin.  Swapping A and B gives the same points with n and twists swapped.
int tgi_collide(const tgShape *A, const tgShape *B, double margin, double fine, tgCollide want, int32_t memory[TG_PAIR_MEMORY],
                tgContactPoint out[TG_PAIR_POINTS], double *distance);

#endif
