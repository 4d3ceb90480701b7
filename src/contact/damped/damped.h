// damped.h: the contact model `damped`: the proxies of every geom are always in contact with the field of every other that it may touch.
//
// Based on: [math/damped].
#ifndef TG_CONTACT_DAMPED_DAMPED_H
#define TG_CONTACT_DAMPED_DAMPED_H

#include "contact/contact.h"
#include "contact/damped/field.h"
#include "contact/damped/law.h"
#include "contact/damped/proxy.h"

extern const tgContactModel tgi_damped_model;

/// Proxies of one geom in the field of another, with a share of the pair's weight.
typedef struct tgiDampedSide {
  int of, in;               ///< geoms: whose proxies, and whose field
  bool second;              ///< the proxies are the pair's second geom's
  int first;                ///< of their states
  double share, depth;      ///< depth to which the field may be trusted
  bool hollow;              ///< the field's geom is
  const tgiProxies *proxies;
  tgiField field;           ///< but for its size, which is the simulation's
} tgiDampedSide;

/// Two geoms at work.
typedef struct tgiDampedPair {
  int pair, geom[2], side, nside;   ///< of the model; its first side, and how many
  double mass, gap;                 ///< of the lighter tree [kg]; the resting gap where none is given [m]
} tgiDampedPair;

/// What a mesh of a scale is before geoms other than planes, kept with the model. The proxies are none of hulls, whose vertices are the
/// simulation's.
typedef struct tgiMeshField {
  tgiKept kept;
  tgiDistanceGrid grid;
  tgiProxies proxies;
} tgiMeshField;

/// tgContact.data, const.
typedef struct tgiDamped {
  tgAllocator alloc;
  int npair, nside, nproxy;
  tgiDampedPair *pair;
  tgiDampedSide *side;
  tgiProxies *proxies;      ///< ngeom x 2: for planes, for others; made as they are wanted
  const tgiMeshField **mesh;   ///< ngeom, NULL where none is wanted
  double least_gap;         ///< smallest resting gap of all pairs
  bool plain;               ///< no proxy is passed over, however far: what tests compare with
  int gridded;              ///< a geom that has a grid for its field, -1: none
} tgiDamped;

/// A proxy in one field, in a step.
typedef struct tgiProxyState {
  tgReal r[3], radius;      ///< place in its geom's frame
  tgReal gap, screw[6];     ///< at the start of the step: the gap and its rate by twists of its body
  bool followed;            ///< the solve has been here
  double slack;             ///< gap at which it has taken the force's tangent last
  double w[3], hold[3];     ///< sliding velocity of its last iteration, and friction as a share of the most there may be
} tgiProxyState;

/// Of a side's sphere at a pose: its centre and axes in the field's frame, and the gap there, less what proxies are round: theirs are by no
/// more than the sphere's radius times the field's steepness away from it.
typedef struct tgiBall { tgReal y[3], axes[9]; double gap; } tgiBall;
/// A side in a step. A sphere about the origin of the proxies' geom holds their places.
typedef struct tgiSideState {
  double radius, round;     ///< of the sphere, and of the proxies
  double steep;             ///< no gradient of the field is longer
  tgiBall start;
  bool known;               ///< gaps at the start have been looked at
  bool inside, idle;        ///< the proxies are in the hollow of the field's geom; it is the other way round
  bool live;                ///< at the last evaluation some proxy may push
} tgiSideState;

/// s->solver.
typedef struct tgiDampedWork {
  void *home;               ///< s->solver when placed
  tgiSideState *side;       ///< nside
  int *pair;                ///< npair: of terms
  tgiProxyState *state;     ///< nproxy
  tgiDampedNumbers *numbers;///< npair
  double *centre;           ///< npair x TGI_DAMPED_CENTRE: where and in what direction a pair pushes, its least gap, and how many of its
                            ///< proxies neither hold nor have let go
} tgiDampedWork;
enum { TGI_DAMPED_CENTRE = 8 };

static inline const tgDampedOptions *tgi_damped_options(const tgContact *c) { return (const tgDampedOptions *)(const void *)c->options; }
static inline const tgiDamped *tgi_damped(const tgSim *s) { return (const tgiDamped *)s->contact_model->data; }
/// The workspace, placed.
tgiDampedWork *tgi_damped_work(tgSim *s);

/// Geom g is the first of those that share a grid.
bool tgi_damped_first_of_grid(const tgContact *c, int g);
tgStatus tgi_damped_prepare(tgContact *c, tgError *error);
void tgi_damped_release(tgContact *c);
size_t tgi_damped_bytes(const tgContact *c, const tgCapacity *z);

/// See tgLaw.
tgStatus tgi_damped_begin(tgSim *s, double h);
tgStatus tgi_damped_evaluate(tgSim *s, const tgPose *pose, unsigned want);
void tgi_damped_soften(tgSim *s, double soft, bool anew);
bool tgi_damped_trusted(const tgSim *s);
tgStatus tgi_damped_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p);

/// Numbers of a pair, from the six that they follow from.
void tgi_damped_numbers_of(const tgContact *c, const tgiDampedPair *pair, const tgReal from[6], tgiJets k, tgiDampedNumbers *n);
/// The six numbers that those of a pair follow from (law.h), for a step of size h.
void tgi_damped_from(const tgSim *s, const tgiDampedPair *pair, double h, tgReal from[6]);
/// The size by which a geom's proxies or field go: its size, of a mesh its scale.
static inline const tgReal *tgi_damped_size(const tgSim *s, int g) {
  return (s->m.geom_type[g] == TG_GEOM_MESH ? s->m.geom_scale : s->m.geom_size) + 3 * g;
}
/// Friction of a pair.
tgReal tgi_damped_friction(const tgSim *s, const tgiDampedPair *pair);
/// "geom 'a' and geom 'b'" of a term, written into text. Returns text.
const char *tgi_damped_label(const tgSim *s, int term, char *text, size_t size);

// ---- one proxy ----

/// Under the option `near`; its gap at the start of the step has been looked at.
static inline bool tgi_proxy_takes_part(const tgSim *s, const tgiProxyState *state) {
  double near = tgi_damped_options(s->contact_model)->near;
  return !(near > 0) || tgRe(state->gap) < near;
}
/// What a side's proxies count of the pair's force in this step.
double tgi_damped_share(const tgSim *s, const tgiDampedSide *side);
/// Of a proxy at a pose: its centre in the world and in the field's frame.
void tgi_proxy_place(const tgiDampedSide *side, const tgiProxyState *state, const tgPose *pose, tgReal x[3], tgReal y[3]);
/// The field at y; with_size: its derivatives in the geom's size too.
void tgi_proxy_field(const tgSim *s, const tgiDampedSide *side, const tgReal y[3], int order, bool with_size, tgiJet *G);
/// world = R of the field's frame times x.
void tgi_proxy_turn(const tgiDampedSide *side, const tgPose *pose, const tgReal x[3], tgReal world[3]);

#endif
