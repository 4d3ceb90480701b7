// lagged.h: friction of a simulation: forces at the start of a step, gathered to points, and their energy at the poses
// after it. [math/barrier Friction]
#ifndef TG_CONTACT_BARRIER_LAGGED_H
#define TG_CONTACT_BARRIER_LAGGED_H

#include "base/layout.h"
#include "contact/barrier/friction/friction.h"
#include "contact/barrier/tree/tree_force.h"
#include "sim/sim.h"

struct tgiGeomPair;

/// Nodes of A with a radius up to this share of the root's are one friction point with all below them.
#define TGI_FRICTION_PATCH 0.25

/// Friction of a pair of geoms at the pose of the last evaluation: energy and its derivatives in the twists of the bodies of A and B.
typedef struct tgiFrictionTerm { tgReal energy, g[12], H[144]; } tgiFrictionTerm;

/// Friction points of all pairs, of the forces at one pose. Pairs have the places that they have in the list of the sums there.
typedef struct tgiLaggedPoints {
  bool made;                ///< of `ahead`: by the last sums over the pairs, with
  tgReal weight;            ///< this weight of the barrier
  int *npoint, *first;      ///< of each pair of geoms: its points, and the first of them
  int used, room;           ///< points of all pairs, and room for them; pairs take theirs in any order, on which no result depends
  tgiFrictionPoint *point;
  int *patch;               ///< of a point, where tgi_lagged_scatters
  tgiFrictionShare *share;  ///< of each pair, likewise
} tgiLaggedPoints;

/// What is frozen over a step.
typedef struct tgiLagged {
  double h;
  tgiLaggedPoints start;    ///< of the step under way
  tgiLaggedPoints ahead;    ///< of the last sums, which may be where the next step starts
  int nacting, most_acting; ///< pairs of geoms on which friction acts in the step under way, and room for them
  struct tgiGeomPair *acting; ///< these pairs, in the order of the model's
  int *slot;                ///< most_acting: their places in `start`
  unsigned char *needs;     ///< ngeom: trees that they need, as tgiNearPairs.needs
  tgiFrictionTerm *term;    ///< most_acting: at the present pose
  tgReal *out;              ///< most_acting x 12: of a product
  bool *separated;          ///< most_acting: by that product
  tgiPatchWeight *weight;   ///< room for those of one pair, for each thread
  tgiFrictionPoint *point;  ///< the same for its points, and for their patches
  int *patch;
  tgiFrictionSum *sum;      ///< room for the sums of one pair and their rates, for each thread
  int room;                 ///< of plane: in the plane's form the sim's capacity of contacts, else 0
  int *first_plane;         ///< of each pair, and one past the last
  tgiFrictionPlane *plane;
  tgReal *body, *geom;      ///< nbody x 12, ngeom x 12: frames at the start
} tgiLagged;

/// TG_ERR_UNSUPPORTED names a pair whose two tangents have different coefficients.
tgStatus tgi_lagged_supports(const tgModel *m, tgError *error);
/// Places the arrays, for lists with room for so many pairs; with l->base NULL counts.
void tgi_lagged_place(tgLayout *l, const tgContact *c, const tgCapacity *z, int room, tgiLagged *lagged);
/// A step begins with its step size and its start's pose. Friction's points then follow from the forces of the pairs'
/// sums there: while a pair is summed it scatters its forces where tgi_lagged_scatter says (any thread, `worker`:
/// which), and tgi_lagged_gather makes points of them. The last sums of the step before may have been those: where they
/// made points they are the step's, by tgi_lagged_take. Last come the planes.
void tgi_lagged_freeze(tgSim *s, double h);
tgiForceScatter tgi_lagged_scatter(tgSim *s, int worker, const struct tgiGeomPair *g, tgiFrictionShare *share);
/// Points of pair i of the sums' list, which is separated; scatter NULL: its sum scatters nothing
/// (tgi_lagged_scatters). false: it is not separated. Points that find no room are counted in points->used.
bool tgi_lagged_gather(tgSim *s, int worker, int i, const tgiForceScatter *scatter, tgiLaggedPoints *points);
/// The points ahead become those of the step.
void tgi_lagged_take(tgSim *s);
/// Sums at any pose can make all points: the plane's form and the local barrier ask for forces by themselves, at the
/// start. Not in the complex build, where a step's parts are made anew, as a twin.
bool tgi_lagged_by_sums(const tgSim *s);
/// TG_ERR_CAPACITY: too many friction points, pairs with friction, or pairs of triangles in the plane's form; s->wanted says how many.
tgStatus tgi_lagged_planes(tgSim *s);
/// Friction of one of the acting pairs at the pose of the last evaluation, on any thread; then that of all, added to the sim's terms.
void tgi_lagged_pair(tgSim *s, int acting);
void tgi_lagged_evaluate(tgSim *s);
/// Adds B. Leaves the trees at the start.
tgStatus tgi_lagged_mixed(tgSim *s, const tgPose *pose);
/// out (nbody x 6) += B' Z of all terms, B of forces. Leaves the trees at the start.
tgStatus tgi_lagged_mixed_vjp(tgSim *s, const tgPose *pose, const tgReal *Z, tgReal *out);

/// The place of a pair among those that friction acts on in the step under way; -1: on it none does, and it has no derivatives.
int tgi_lagged_acting(const tgSim *s, const struct tgiGeomPair *g);
/// Coefficient, step and slip speed of a pair of geoms.
tgiFrictionLaw tgi_lagged_law(const tgSim *s, const struct tgiGeomPair *g);
/// Motions over the step of the bodies of A and of B.
void tgi_lagged_motions(const tgSim *s, const struct tgiGeomPair *g, tgiFrictionMotion m[2]);
/// Friction of the pair takes the plane's form.
bool tgi_lagged_in_planes(const tgSim *s, const struct tgiGeomPair *g);
/// The pair has points, from forces that its sum scatters (scatter.h).
bool tgi_lagged_scatters(const tgSim *s, const struct tgiGeomPair *g);
/// Room of one thread for the sums of a pair's patches and their rates.
tgiFrictionSum *tgi_lagged_room(const tgSim *s, int worker);
/// to += from (12x12), turned from the order A, B to that of the term.
void tgi_lagged_subtract_blocks(const struct tgiGeomPair *g, const tgReal from[144], tgReal to[144]);
/// n frames, 12 reals each: x, R.
void tgi_lagged_frames(int n, const tgReal *x, const tgReal *R, tgReal *frame);
/// Transforms the trees of the acting pairs to the pose of the start.
void tgi_lagged_transform(tgSim *s);
/// The pair's forces where its trees are, frame (ngeom x 12) being the geoms' frames there; n: room for a plane's normal.
tgiForceTask tgi_lagged_task(tgSim *s, const struct tgiGeomPair *g, const tgReal *frame, tgReal n[3]);

#endif
