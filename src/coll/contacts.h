// contacts.h: the contact points of a pose: broad phase over the model's pairs, narrow phase, tangents, memory.
#ifndef TG_COLL_CONTACTS_H
#define TG_COLL_CONTACTS_H

#include "coll/surfaces/facets.h"
#include "sim/sim.h"

/// Pairs nearer than this are listed, so that their reference features are remembered and a gap at the switch shows [m].
#define TG_CONTACT_MARGIN 1e-3

/// The same above the gap at which bodies meet.
static inline double tgi_contact_margin(const tgSim *s) { return TG_CONTACT_MARGIN + tgRe(s->clearance) + s->wider; }

/// A contact or limit acts while its gap is at most this [m or rad]. Not 0: a body at rest has gaps of either sign within
/// round-off, and must keep all of its contacts.
#define TG_TOUCH 1e-8

/// Brings s->hull in line with hull_vert. TG_ERR_INVALID, naming mesh, vertex and face, where moved vertices make no convex hull.
tgStatus tgi_hulls_update(tgSim *s);

/// Fills s->contact and s->ncon with the points of all pairs whose gap is at most the margin, in the order of the pairs;
/// rows are -1, D is not filled. least (may be NULL): smallest distance found, infinity when nothing was near.
/// TG_ERR_CAPACITY with s->wanted.ncon raised when there are too many; TG_ERR_INVALID for a size or scale that is not
/// positive.
tgStatus tgi_contacts(tgSim *s, const tgPose *pose, double *least);

/// Pairs that are listed from a gap [m] that is wider than the margin: n entries, of which each of two integers begins with one.
typedef struct tgiFar { const int *pair; int n; double gap; } tgiFar;
/// tgi_contacts with such pairs.
tgStatus tgi_contacts_and_far(tgSim *s, const tgPose *pose, const tgiFar *far, double *least);
/// Shows to `see` what comes as near as the bodies move in t [s] at v and is farther apart than tgi_contacts_and_far lists: contacts
/// without rows and D. The list stays as it is.
typedef struct tgiSees { void (*see)(tgSim *s, const tgContactRow *c, void *with); void *with; } tgiSees;
tgStatus tgi_contacts_beyond(tgSim *s, const tgPose *pose, double t, const tgReal *v, const tgiFar *far, tgiSees sees);

/// Visits the pairs whose bounds overlap at the pose, as the last search for contacts, at whichever pose, has them.
typedef struct tgiPairs { tgStatus (*see)(tgSim *s, int pair, void *with); void *with; } tgiPairs;
tgStatus tgi_pairs_near(tgSim *s, const tgPose *pose, tgiPairs pairs);

/// Fills D of the contacts that have rows, once a step.
void tgi_contacts_d(tgSim *s, const tgPose *pose);

/// The points of the pair of contact i, the first of its pair, again, in the order of s->contact, with D and, as wanted, Ds and Dp.
/// Returns their count, or a negative status with the error
/// set.
int tgi_contacts_pair_d(tgSim *s, const tgPose *pose, int i, tgCollide want, tgContactPoint point[TG_PAIR_POINTS]);

/// The points of one pair at a pose, within a margin, by the sim's memory; distance: as tgi_collide. The same status.
int tgi_contacts_of_pair(tgSim *s, const tgPose *pose, int pair, double margin, tgContactPoint point[TG_PAIR_POINTS], double *distance);
/// The same, with what want asks for besides.
int tgi_contacts_of_pair_with(tgSim *s, const tgPose *pose, int pair, double margin, tgCollide want,
                              tgContactPoint point[TG_PAIR_POINTS], double *distance);

/// What the sim remembers of a pair; false: nothing.
bool tgi_contacts_memory(const tgSim *s, int pair, int32_t memory[TG_PAIR_MEMORY]);

/// No point of the pair is within the margin, which the sphere about one geom tells that is clear of a capsule, the other. False: not told.
bool tgi_pair_is_clear(const tgSim *s, const tgPose *pose, int pair, double margin);

/// Does the pair touch by its faces, and these at a pose: A of geom1, B of geom2.
bool tgi_contacts_of_facets(const tgSim *s, int pair);
void tgi_contacts_facets(const tgSim *s, const tgPose *pose, int pair, tgiFacetBody *A, tgiFacetBody *B);
/// Least of the distance of such a pair and cap.
tgStatus tgi_faces_distance(tgSim *s, const tgPose *pose, int pair, double cap, double *distance);

/// Geom g as the narrow phase sees it, at its place in s. side 0 or 1: which shape of a pair, for the room of a scaled hull;
/// scaled (may be NULL when none is) holds that hull.
tgShape tgi_geom_shape(const tgSim *s, const tgPose *pose, int g, int side, tgHull *scaled);

/// The contact points with the least gap of two geoms, however far apart they are, from no memory; convex shapes, not two planes. How many
/// have as little, as the corners of two faces that lie parallel, or a negative status with the error set: TG_ERR_UNSUPPORTED, one has
/// no convex hull.
int tgi_geoms_nearest(tgSim *s, const tgPose *pose, int geom1, int geom2, tgCollide want, tgContactPoint point[TG_PAIR_POINTS]);

/// t1 = unit(k - (k.n) n) for world axis k, t2 = n x t1.
void tgi_tangents(const tgReal n[3], int axis, tgReal t1[3], tgReal t2[3]);
/// Their change for a change dn of the normal.
void tgi_tangents_d(const tgContactRow *c, const tgReal dn[3], tgReal dt1[3], tgReal dt2[3]);
/// Adjoint: gn += dt1' g1 + dt2' g2.
void tgi_tangents_vjp(const tgContactRow *c, const tgReal g1[3], const tgReal g2[3], tgReal gn[3]);

/// Writes the contacts of this step, with the classes and the kept forces of their rows, into the sim's memory.
void tgi_contacts_remember(tgSim *s);
/// The memory of contact c, where it has one, takes the classes of its rows.
void tgi_contacts_warm(tgSim *s, const tgContactRow *c);
/// Classes of the three rows of contact c as remembered, 0 where it is new.
void tgi_contacts_recall(const tgSim *s, const tgContactRow *c, int cls[6]);
/// The rows of contact c, which are open, get the forces that are remembered of them.
void tgi_contacts_recall_forces(tgSim *s, const tgContactRow *c);

#endif
