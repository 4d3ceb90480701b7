// model.h: the compiled model: const, shared by any number of simulations and threads.
#ifndef TANGERE_MODEL_H
#define TANGERE_MODEL_H

#include "tangere/desc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tgModel tgModel;  ///< A compiled model.

/// Compiles a description: checks it, resolves inertias, lays out q and v as MuJoCo does, builds convex hulls and
/// the list of geom pairs that may touch. NULL on failure, error (may be NULL) names the element, file and line.
/// Warnings are added to desc as notes, and its bodies get the mass, centre and inertia that were resolved. The desc is not kept.
TG_API tgModel *tg_model_compile(tgDesc *desc, const tgAllocator *allocator, tgError *error);

/// tg_desc_load, tg_model_compile and tg_desc_free in one call. options and error may be NULL.
TG_API tgModel *tg_model_load(const char *path, const tgLoadOptions *options, tgError *error);

TG_API void tg_model_free(tgModel *model);  ///< Frees a model; simulations and contact models made of it must be gone.

/// Kinds of named things, for tg_model_count, tg_model_name and tg_model_find.
typedef enum tgKindOfThing {
  TG_THING_BODY, TG_THING_JOINT, TG_THING_GEOM, TG_THING_SITE, TG_THING_MESH, TG_THING_ACTUATOR, TG_THING_TENDON,  ///< elements of the kind
  TG_THING_EQUALITY, TG_THING_KEY, TG_THING_FLEX, TG_THING_SENSOR, TG_THING_COUNT  ///< the last: how many kinds there are
} tgKindOfThing;

TG_API int tg_model_nq(const tgModel *model);   ///< length of qpos
TG_API int tg_model_nv(const tgModel *model);   ///< degrees of freedom
TG_API int tg_model_nu(const tgModel *model);   ///< controls
TG_API int tg_model_na(const tgModel *model);   ///< activations: of the actuators that have one, in their order
TG_API int tg_model_count(const tgModel *model, tgKindOfThing kind);   ///< how many there are of that kind
/// Name of element i, "" when it has none, NULL when i is out of range. Lives as long as the model.
TG_API const char *tg_model_name(const tgModel *model, tgKindOfThing kind, int i);
/// Index of the named element, -1 when there is none.
TG_API int tg_model_find(const tgModel *model, tgKindOfThing kind, const char *name);
TG_API double tg_model_timestep(const tgModel *model);  ///< [s], of the file
/// A joint's type, its body, and where its numbers begin in q and in v; each may be NULL. TG_ERR_ARG: there is no such joint.
TG_API tgStatus tg_model_joint(const tgModel *model, int joint, tgJointType *type, int *body, int *qadr, int *vadr);

/// Scalar types of listed arrays.
typedef enum tgScalar { TG_SCALAR_REAL, TG_SCALAR_INT } tgScalar;
/// One listed array: data is rows x cols, row-major.
typedef struct tgField {
  const char *name;                ///< as tg_model_field_named and tg_sim_field_named take it
  tgScalar scalar;                 ///< type of data
  int rows, cols;                  ///< its shape
  const char *unit;      ///< SI, "" when it has none
  const char *producer;  ///< function that computes it
  const char *text;      ///< what it is, with its frame
  const void *data;                ///< the entries; lives as long as what lists it
} tgField;
TG_API int tg_model_field_count(const tgModel *model);  ///< Number of arrays that the model lists.
/// Field i in the order of the list; data NULL when i is out of range.
TG_API tgField tg_model_field(const tgModel *model, int i);
/// Field by name; data NULL when there is none.
TG_API tgField tg_model_field_named(const tgModel *model, const char *name);

/// out (nq) = q (+) dv, the pose that joint velocities v lead to from q in a time t, with dv (nv) = t v: a sum for slides and hinges, for
/// quaternions a turn by the rotation vector in the body's frame; of a free joint the first three are along the world's axes. out may be q.
TG_API void tg_model_integrate(const tgModel *model, const tgReal *q, const tgReal *dv, tgReal *out);
/// The way from q1 to q2 as such a dv: q2 = q1 (+) out, out (nv). Of turns the shorter one.
TG_API void tg_model_difference(const tgModel *model, const tgReal *q1, const tgReal *q2, tgReal *out);
/// out (nq) = q with its quaternions at unit length, as every other call expects them. out may be q. TG_ERR_NOT_FINITE,
/// nothing written: one is 0.
TG_API tgStatus tg_model_normalize(const tgModel *model, const tgReal *q, tgReal *out);
/// out (nq) = q with each limited slide or hinge joint inside its range by at least `share` (0 to 0.5) of the range:
/// what is outside is moved, what is inside stays as it is. out may be q. TG_ERR_ARG: share.
TG_API tgStatus tg_model_inside(const tgModel *model, const tgReal *q, double share, tgReal *out);
/// out (nv) = dL/d(tangent) from g (nq) = dL/dq at q, entry by entry: of a function of q's numbers.
TG_API void tg_model_to_tangent(const tgModel *model, const tgReal *q, const tgReal *g, tgReal *out);
/// out (nq) = dL/dq, entry by entry, from g (nv) = dL/d(tangent), of a function that normalises q first (quaternions
/// need not be of unit length).
TG_API void tg_model_from_tangent(const tgModel *model, const tgReal *q, const tgReal *g, tgReal *out);

#ifdef __cplusplus
}
#endif
#endif
