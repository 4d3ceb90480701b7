// moved.h: bounds on the gap of a pair of convex shapes that cost less than a look at it.
//
// The depth of two convex bodies is the least by which they overlap along any direction: none is deeper than along one that is tried, and
// none becomes deeper by more than its points move.
#ifndef TG_COLL_MOVED_H
#define TG_COLL_MOVED_H

#include "coll/contacts.h"

/// How far points of the one geom of a pair have moved past the other between two poses at most [m]; infinite where its gap is no depth.
double tgi_pair_moved(const tgSim *s, const tgPose *from, const tgPose *to, int pair);
/// By how much a gap that is looked for may be below the pair's own, for the sake of features that are preferred, at most [m].
double tgi_pair_preference(const tgSim *s, int pair);

/// Whether boxes about the two geoms of a pair, one of them a mesh, show that a look at it with that margin finds nothing. False of what
/// has no such box, or touches by its faces or by clouds.
bool tgi_pair_boxes_apart(const tgSim *s, const tgPose *pose, int pair, double margin);
/// How far apart the two are along the normal of the face that the pair is remembered by; -infinity: it is by none, or its gap is no depth.
double tgi_pair_along_face(const tgSim *s, const tgPose *pose, int pair);

/// The gap at another pose of the features that contact c is of, wherever they are there; false: not known.
bool tgi_contact_then(const tgSim *s, const tgPose *pose, const tgContactRow *c, double *gap);

#endif
