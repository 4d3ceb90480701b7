// plan.h: which points of a pair may count as long as its bodies move little against each other: lists that a step's
// stages and the steps after it share.
//
// Based on: [math/softmin Pruning]. Lists are made at one relative pose, and hold wherever no point of either surface
// has moved by more than `skin` in the frame of the other: balls around points are larger by that, in the bounds of
// ssdf_tree.h. With y = R p + t and (R0, t0) where they were made,
//   |y - y0| <= |(R - R0) c + t - t0| + |R - R0|_F/sqrt(2) radius        for all p with |p - c| <= radius,
// |R - R0|_F/sqrt(2) being the spectral norm 2 sin(angle/2). What the lists leave out is higher than `level` there; so
// they serve as long as the least
// height is below it by what weighs (pair_fast.h). Sums take what weighs at the pose at hand, in the order of the
// trees: their bits do not depend on where the lists were made.
#ifndef TG_CONTACT_SOFTMIN_PLAN_H
#define TG_CONTACT_SOFTMIN_PLAN_H

#include "base/layout.h"
#include "coll/clouds/ssdf_tree.h"
#include "contact/softmin/field_kernel.h"
#include "contact/softmin/pair.h"

/// The tree over a surface's points and its numbers for them; its grids where it is a box, else NULL.
typedef struct tgiSoftIndex { const tgiSsdfTree *tree; tgiSsdfNumbers numbers; const tgiSoftGrid *grid; } tgiSoftIndex;

/// Eight points that may count against a surface of points, and which of its blocks may there: n from `first` of the
/// pool; -1: not listed, for want of room or because it is a box.
typedef struct tgiSoftCandidate { int block, first, n; } tgiSoftCandidate;

/// The points of one surface against the other, the source.
typedef struct tgiSoftList {
  tgiSoftPose made;                  // relative pose
  int n, *block;                     // of blocks of points, where the source is a plane or a ball
  int ncandidate;
  tgiSoftCandidate *candidate;
} tgiSoftList;

/// Work of a call, which the pairs of a simulation share.
typedef struct tgiSoftPlanWork {
  tgReal *phi, *force, *sums;        // heights of all blocks listed, forces of the candidates; eight numbers a block
  int *blocks, *kept;
  tgReal *near[4];                   // points and normals that count for one, and their adjoints
  int *which;                        // of the surface
} tgiSoftPlanWork;

/// Kept between calls; made: false before the first.
typedef struct tgiSoftPlan {
  bool made;
  // the last answers of tgi_soft_afar, without and with derivatives
  struct { bool made, afar; double key[7]; tgiSoftPose cell[2]; } far[2];
  double key[7];                     // the numbers it was made for: eps1 (2), balls (2), eps2, eps3, tau
  double skin, level;
  tgiSoftList list[2];
  int *pool, pooled, most;
  const tgiSoftPlanWork *work;
} tgiSoftPlan;

/// Work for trees of at most so many blocks and points, linear in them; NULL where the layout counts.
tgiSoftPlanWork *tgi_soft_plan_work(int nblock, int npoint, tgLayout *layout);
/// Arrays of a plan for a pair of such trees, linear in points.
void tgi_soft_plan_place(tgiSoftPlan *plan, const tgiSsdfTree *a, const tgiSsdfTree *b, const tgiSoftPlanWork *work, tgLayout *layout);

// ---- at work ----

/// One side at the pose at hand.
typedef struct tgiSoftMeeting {
  const tgiSoftIndex *source, *points;   // points NULL: none
  tgiSoftPose pose;                      // of searches
  tgiSoftFrame frame;                    // of sums
  tgReal width;                          // eps1 of the source
  double eps1, cut, extent, share;       // cut of pair_fast.h (a); share: eps3/extent
  enum { TGI_SOFT_POINTS, TGI_SOFT_PLANE, TGI_SOFT_BALL } kind;   // of the source
  double n[3], e, c[3], radius;          // in the frame of the points: of a plane n . x = e, of a ball its centre
} tgiSoftMeeting;

/// least: height found, an upper bound of the least; cut: points higher than the least by it weigh less than `tail`;
/// room: how well heights are known in a search; ceiling: a plane higher than this pushes less than tau k eps3.
typedef struct tgiSoftSearch {
  const tgiSoftPair *p;
  int isa;
  tgiSoftMeeting side[2];
  double tau, tail, eps2, least, cut, room, ceiling, skin;
  tgiSoftPlan *plan;
} tgiSoftSearch;

/// Numbers and relative poses of the pair.
void tgi_soft_search_start(tgiSoftSearch *q, int isa, const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, tgiSoftPlan *plan);
/// Is no point pushed? Asked of the cell of poses that the one at hand is in (its numbers rounded), so that the answer
/// does not depend on where it was asked before. slot: of the plan.
bool tgi_soft_afar(const tgiSoftSearch *q, int slot);
/// May the plan's lists be used at this pose? They were made for a tail of tau, or less.
bool tgi_soft_plan_holds(const tgiSoftSearch *q);
/// Forgets all: points or trees are others.
static inline void tgi_soft_plan_forget(tgiSoftPlan *plan) { plan->made = plan->far[0].made = plan->far[1].made = false; }
/// Makes them.
void tgi_soft_plan_make(tgiSoftSearch *q);
/// Node `node` of the points of a side: ball, larger by skin, with the source's point nearest to its centre, which near
/// (may be NULL) is close to.
void tgi_soft_ball(const tgiSoftMeeting *s, int node, const tgiSsdfNearest *near, double skin, tgiSsdfBall *ball);
/// Is the source summed by its grids?
static inline bool tgi_soft_by_grid(const tgiSoftMeeting *s) { return s->source->grid != NULL; }
/// The source with the n blocks at `at`, cut off at `cut`.
tgiSoftSource tgi_soft_source(const tgiSoftSearch *q, const tgiSoftMeeting *s, double cut, const int *at, int n);
/// Heights of eight points against a source.
void tgi_soft_heights(int isa, const tgiSoftSource *source, const tgiSoftFrame *pose, const tgiSsdfBlock *points,
                      tgReal phi[TGI_SOFT_LANES]);

#endif
