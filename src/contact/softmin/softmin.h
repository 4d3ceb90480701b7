// softmin.h: the `softmin` contact model: contact as a force field in closed form between surfaces of oriented points.
//
// Based on: [softmin]; [math/softmin].
#ifndef TG_CONTACT_SOFTMIN_SOFTMIN_H
#define TG_CONTACT_SOFTMIN_SOFTMIN_H

#include "contact/contact.h"
#include "contact/softmin/pair_fast.h"
#include "geom/cloud.h"
#include "tangere/softmin.h"

extern const tgContactModel tgi_softmin_model;

/// Two geoms at work.
typedef struct tgiSoftGeoms {
  int pair, geom[2];        ///< of the model
  double mass;              ///< of the lighter of the two trees, that the stiffness goes by [kg]
  double spacing;           ///< of the finer surface [m]
} tgiSoftGeoms;

/// tgContact.data, const.
typedef struct tgiSoftmin {
  tgAllocator alloc;
  int npair, most_points;   ///< points of the largest two surfaces together
  tgiSoftGeoms *pair;
  tgCloud *cloud;           ///< ngeom, at the model's sizes; n is 0 where the geom is in no pair
  tgiSsdfTree *tree;        ///< ngeom, over their points
} tgiSoftmin;

/// A geom's points in a simulation.
typedef struct tgiSoftPoints { bool made; tgReal size[3], *p, *normal; tgiSsdfNumbers numbers; tgiSoftGrid grid; } tgiSoftPoints;

/// s->solver.
typedef struct tgiSoftminWork {
  void *home;               ///< s->solver when placed
  tgiSoftPoints *geom;      ///< ngeom
  tgReal *work;             ///< of one pair
  tgiSoftPlan *plan;        ///< npair: which points may count
  double *height;           ///< npair: least soft distance of the last evaluate [m]
} tgiSoftminWork;

static inline const tgSoftminOptions *tgi_softmin_options(const tgContact *c) { return (const tgSoftminOptions *)(const void *)c->options; }
static inline const tgiSoftmin *tgi_softmin(const tgSim *s) { return (const tgiSoftmin *)s->contact_model->data; }
/// The workspace, placed.
tgiSoftminWork *tgi_softmin_work(tgSim *s);
/// Pair i at the pose and its velocities.
tgiSoftPair tgi_softmin_pair(tgSim *s, const tgPose *pose, int i);
/// The trees over its surfaces.
void tgi_softmin_index(tgSim *s, int i, tgiSoftIndex index[2]);
/// p += what a pair's forces cost in its numbers (tgLaw.parameters).
tgStatus tgi_softmin_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p);

tgStatus tgi_softmin_prepare(tgContact *c, tgError *error);
void tgi_softmin_release(tgContact *c);
size_t tgi_softmin_bytes(const tgContact *c, const tgCapacity *z);

#endif
