// barrier.h: the `barrier` contact model: a potential of all pairs of triangles, smooth, infinite when they touch, felt at every distance.
//
// Bodies (of one rigid group) that may touch make one term each pair; the surfaces, planes and trees are those of the model's geoms.
#ifndef TG_CONTACT_BARRIER_BARRIER_H
#define TG_CONTACT_BARRIER_BARRIER_H

#include "base/threads.h"
#include "coll/surfaces/advance.h"
#include "coll/surfaces/surface.h"
#include "contact/barrier/halfspace/halfspace.h"
#include "contact/barrier/lagged.h"
#include "contact/barrier/near.h"
#include "contact/barrier/tree/tree_pair.h"
#include "contact/contact.h"
#include "tangere/barrier.h"

extern const tgContactModel tgi_barrier_model;
/// `sdrs`: the same step with a potential of compact support.
extern const tgContactModel tgi_sdrs_model;
/// `ipc`: the same step with the barrier of distances.
extern const tgContactModel tgi_ipc_model;

/// tgContact.data: const but for the threads, which one simulation at a time may use.
typedef struct tgiBarrier {
  tgBarrierOptions options; ///< as chosen; of `sdrs`: what amounts to them
  tgiShapes shapes;
  tgiTreeForm form;
  tgiTreeLaw law;           ///< of all pairs, but for the sides of each
  int npair, nterm, depth;  ///< nterm: at most; depth: of the two deepest trees of a pair together
  int faces;                ///< most of a geom that meets a plane
  double sunk, most_sunk;   ///< how deep in their geoms surfaces are, and half-spaces under their planes, half of what
                            ///< gaps are wider by [m]; most that can be
  tgiGeomPair *pair;        ///< npair, where all of them are looked at; NULL: a simulation lists those that are near
  int *geom1, *geom2;       ///< npair: A and B, likewise
  double *times;            ///< pairs of the model: their weights over the option's; NULL: all 1
  double least_gap;         ///< at which a pair rests by resting_gap or resting_share [m]; infinite: none has such
  unsigned char **owned;    ///< ngeom: bits of the faces (distance_sites.h) where distances are summed; else NULL
  double **nominal;         ///< ngeom: radii at the model's sizes, NULL where there is no tree
  bool *before_plane, *paired;  ///< ngeom: meets a plane; is in a pair
  int **patch, *npatch;     ///< ngeom: friction patches of the nodes (tree_force.h), NULL where there is no tree
  int npoint, most_patches; ///< friction points of all pairs at most, of a pair one for each patch of A; patches of a geom
  tgiPool *pool;            ///< NULL: one thread
  tgAllocator alloc;
} tgiBarrier;

/// A geom in a simulation.
typedef struct tgiBarrierGeom {
  bool made, renewed;       ///< renewed: its numbers, by the last transform
  tgReal size[3];           ///< that the numbers are of
  double sunk;              ///< likewise
  tgReal rounding;          ///< likewise, 0 where the surface has no edges that it rounds
  double around;            ///< radius of a sphere around the root's centre that holds the roots of both trees
  bool placed[2];           ///< `world` and `plane` are at
  tgReal frame[2][12];      ///< these frames
  tgiTreeNumbers numbers, plane_numbers;
  tgiWorldTree world, plane;  ///< plane: for pairs with planes
} tgiBarrierGeom;

/// A pair at the pose of the last evaluation. Derivatives for a twist of A about the world origin.
typedef struct tgiBarrierPair {
  tgiPairSum sum;
  int face[2];              ///< touching faces
  bool separated;
  tgiClearance clear;
  tgiTreeCount count;
} tgiBarrierPair;

/// Sums of the pairs at one pose.
typedef struct tgiBarrierSums {
  tgiNearPairs near;        ///< those that are looked at there
  tgiBarrierPair *pair;     ///< near.room
  tgiHardLeaves *hard;      ///< of their potentials of long reach
  tgiHardLeaf *leaf;        ///< theirs, one pair's after the other's
  tgReal *frame;            ///< ngeom x 12: the geoms' frames there
  bool current;             ///< the pairs are those of the frames, and of the geoms' sizes
  bool thinned;             ///< of their hardest leaves some were left out: no step begins with them
} tgiBarrierSums;

/// Of the pairs of the last sums, what a step's minimisation foresees at other poses (foreseen.c).
typedef struct tgiForeseen {
  bool made;                ///< rest: of the last sums
  tgiPairSum *rest;         ///< their sums less those over their hardest leaves
  tgiPairSum *sum;          ///< at the pose of the call
  bool *separated;
} tgiForeseen;

/// Terms of the last evaluation by their two bodies, hashed; term 0: nothing stands at a place, else 1 + its place in s->term.
typedef struct tgiTermTable { struct { int body1, body2, term; } *at; size_t mask; } tgiTermTable;

/// s->solver.
typedef struct tgiBarrierWork {
  void *home;               ///< s->solver when placed
  int nthread;
  const tgPose *pose;       ///< of the call under way
  double sunk;              ///< as tgiBarrier.sunk; deeper in a step from a state of another contact model's that needs it
  tgReal far_strength;      ///< that sums are of
  tgReal rounding;          ///< of the call under way
  tgiBarrierGeom *geom;     ///< ngeom
  tgiBarrierSums sums;      ///< of the last evaluation
  tgiBarrierSums start;     ///< of the start of the step put back last (revisit), where the step before it ends
  tgiForeseen foreseen;     ///< of `sums`
  tgiTreeWork **tree;       ///< nthread
  tgiHardLog **log;         ///< nthread
  tgiHardLeaf *own;         ///< log's few for each pair
  tgiHeightWork **height;   ///< nthread
  tgiSolid *solid;          ///< ngeom: what advance sees of them
  tgReal *frame;            ///< ngeom x 12: frames of the geoms that trees are being transformed to
  tgiAdvance advance;
  tgiNearStep step;         ///< its pairs
  double *apart;            ///< step.room: room for what it is told
  tgiTermTable term;
  tgiLagged lagged;
  int ties, tied_pair;      ///< of closest features at the start of the step where friction acts, and a pair of the model with one
  int tied;                 ///< geom with a radius of two makers in the last gradient in sizes, -1: none
} tgiBarrierWork;

static inline const tgiBarrier *tgi_barrier(const tgSim *s) { return (const tgiBarrier *)s->contact_model->data; }
/// Law of a pair, with this simulation's `far_strength`, which those of local barriers have not.
static inline tgiTreeLaw tgi_barrier_law(const tgSim *s, const tgiGeomPair *g) {
  tgiTreeLaw law = g->law;
  if (!(law.local > 0)) law.more = TG_NUMBER(s, far_strength) - 1;
  return law;
}
/// Radius around the faces of surfaces that round, this simulation's; 0 under `sdrs` and `ipc`.
static inline tgReal tgi_barrier_rounding(const tgSim *s) {
  return s->contact_model->kind == &tgi_barrier_model ? TG_NUMBER(s, rounding) : 0;
}
/// Weight of a pair.
static inline tgReal tgi_barrier_weight(const tgSim *s, const tgiGeomPair *g) { return g->times * TG_NUMBER(s, weight); }
/// The workspace, placed.
tgiBarrierWork *tgi_barrier_work(tgSim *s);
/// Numbers of all trees for the sizes; the trees of the pairs of the last sums at the pose, which is that of the call
/// under way from then on.
void tgi_barrier_transform(tgSim *s, const tgPose *pose);
/// The trees that are needed (as tgiNearPairs.needs) at the frames, ngeom x 12.
void tgi_barrier_place(tgSim *s, const tgReal *frame, const unsigned char *needs);
/// The tree of a geom for pairs of surfaces, placed in its frame (12).
const tgiWorldTree *tgi_barrier_tree_at(tgSim *s, int geom, const tgReal *frame);
/// The pairs at the pose; last: as TG_LAW_LAST. TG_ERR_CAPACITY: there are more than there is room for.
tgStatus tgi_barrier_pairs(tgSim *s, const tgPose *pose, bool last);
/// Height of A's origin, where its tree is, above the half-space of the plane B whose frame is x, R, and its normal n.
tgReal tgi_barrier_height(tgSim *s, const tgiGeomPair *g, const tgReal *x, const tgReal *R, tgReal n[3]);
/// See tgLaw.foresees.
bool tgi_barrier_foresees(tgSim *s, double reach);
/// w->foreseen at the pose: the hardest leaves of the last sums as they are there, what is left by its parabola.
void tgi_barrier_foresee(tgSim *s, const tgPose *pose);
/// From a twist of A in a frame that is moved by R (NULL: not turned) and t to one in the frame itself.
void tgi_sum_carry(const tgReal *R, const tgReal t[3], tgiPairSum *sum);
/// The term of a pair's bodies among s->term, all 0 where it is new; NULL: there is no room.
tgPairTerm *tgi_barrier_term(tgSim *s, const tgiGeomPair *g);
/// See tgContactModel.touches: one contact a pair of geoms.
int tgi_barrier_touches(const tgSim *s);
bool tgi_barrier_touch(const tgSim *s, int i, tgContactInfo *out);
/// Calls work(ctx, worker, item) once for each item of n, on the model's threads.
void tgi_barrier_each(tgSim *s, int n, void (*work)(void *ctx, int worker, int item), void *ctx);

#endif
