// lag.h: friction of a simulation: forces at the start of a step, gathered to points, and their energy at the poses after it. [math/barrier Friction]
#ifndef TG_CONTACT_BARRIER_LAG_H
#define TG_CONTACT_BARRIER_LAG_H

#include "base/layout.h"
#include "contact/barrier/friction.h"
#include "contact/barrier/tree_force.h"
#include "sim/sim.h"

struct tgiGeomPair;

/// Nodes of A with a radius up to this share of the root's are one friction point with all below them.
#define TGI_FRICTION_PATCH 0.25

/// Friction of a pair of geoms at the present frames: energy and its derivatives in the twists of the bodies of A and B.
typedef struct tgiFrictionTerm { tgReal energy, g[12], H[144]; } tgiFrictionTerm;

/// Friction points of all pairs at the frames of one evaluation.
typedef struct tgiLagPoints {
  int *npoint;              ///< npair: points of a pair of geoms, from pair[].point on
  tgiFrictionPoint *point;
  int *patch;               ///< of a point, where tgi_lag_fast
  tgiFrictionShare *share;  ///< npair, likewise
} tgiLagPoints;

/// What is frozen over a step.
typedef struct tgiLag {
  double h;
  tgiLagPoints start;       ///< of the step under way
  tgiLagPoints ahead;       ///< being made, or made by an evaluation that may be the last of the step: then the next one starts with them
  tgiFrictionTerm *term;    ///< npair: at the present frames, of those that rub
  tgiPatchWeight *weight;   ///< room for those of one pair, for each thread
  tgReal *out;              ///< npair x 12: of a product
  tgiFrictionSum *sum;      ///< room for the sums of one pair and their rates, for each thread
  int room;                 ///< of plane: in the plane's form the sim's capacity of contacts, else 0
  int *first_plane;         ///< npair + 1
  tgiFrictionPlane *plane;
  tgReal *body, *geom;      ///< nbody x 12, ngeom x 12: frames at the start
} tgiLag;

/// TG_ERR_UNSUPPORTED names a pair whose two tangents have different coefficients.
tgStatus tgi_lag_express(const tgModel *m, tgError *error);
/// Places the arrays; with l->base NULL counts.
void tgi_lag_place(tgLayout *l, const tgContact *c, const tgCapacity *z, tgiLag *lag);
/// The start of a step. First the frames, at which all geoms are posed; then for each pair, in any order and on any thread (worker: which), with
/// tgi_lag_press before its sum what this hands its forces to (false: it needs not), and after it its points from them (press NULL: there are none), of a
/// pair that is apart (false: it touches), all to `ahead`, which tgi_lag_start makes those of the step; then the planes. The pairs' part may have been
/// done by an evaluation before that: tgi_lag_may_press.
void tgi_lag_open(tgSim *s, double h);
bool tgi_lag_may_press(const tgSim *s);
void tgi_lag_start(tgSim *s);
bool tgi_lag_press(tgSim *s, int worker, int pair, tgiFrictionShare *share, tgiTreePress *press);
bool tgi_lag_points(tgSim *s, int worker, int pair, const tgiTreePress *press);
/// TG_ERR_CAPACITY: too many pairs of triangles in the plane's form, s->wanted says how many.
tgStatus tgi_lag_planes(tgSim *s);
/// Friction of one pair at the present frames, on any thread; then that of all, added to the sim's terms.
void tgi_lag_pair(tgSim *s, int pair);
void tgi_lag_evaluate(tgSim *s);
/// Adds B. Leaves the geoms posed at the start.
tgStatus tgi_lag_mixed(tgSim *s);
/// out (nbody x 6) += B' Z of all terms. Leaves the geoms posed at the start.
tgStatus tgi_lag_mixed_vjp(tgSim *s, const tgReal *Z, tgReal *out);

/// Friction acted on the pair in the step under way: where it did not, it has no derivatives either.
bool tgi_lag_rubs(const tgSim *s, const struct tgiGeomPair *g);
/// Coefficient, step and slip speed of a pair of geoms.
tgiFrictionLaw tgi_lag_law(const tgSim *s, const struct tgiGeomPair *g);
/// Motions over the step of the bodies of A and of B.
void tgi_lag_motions(const tgSim *s, const struct tgiGeomPair *g, tgiFrictionMotion m[2]);
/// Friction of the pair takes the plane's form.
bool tgi_lag_in_planes(const tgSim *s, const struct tgiGeomPair *g);
/// The pair has points, from forces that its sum hands out (press.h).
bool tgi_lag_fast(const tgSim *s, const struct tgiGeomPair *g);
/// Room of one thread for the sums of a pair's patches and their rates.
tgiFrictionSum *tgi_lag_room(const tgSim *s, int worker);
/// to += from (12x12), turned from the order A, B to that of the term.
void tgi_lag_add_blocks(const struct tgiGeomPair *g, const tgReal from[144], tgReal to[144]);
/// n frames, 12 reals each: x, R.
void tgi_lag_frames(int n, const tgReal *x, const tgReal *R, tgReal *frame);
/// Poses all geoms at the frames of the start.
void tgi_lag_pose(tgSim *s);
/// The pair's forces where its geoms are posed, frame (ngeom x 12) being their frames there; n: room for a plane's normal.
tgiForceTask tgi_lag_task(tgSim *s, const struct tgiGeomPair *g, const tgReal *frame, tgReal n[3]);

#endif
