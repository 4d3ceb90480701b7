// param.h: a gradient with respect to parameters, as the adjoints fill it.
#ifndef TG_SIM_PARAM_H
#define TG_SIM_PARAM_H

#include "sim/sim.h"
#include "tangere/param.h"
#include "tangere/step.h"

struct tgParamGrad {
  tgAllocator alloc;
  const tgModel *model;
  const tgContact *contact;    // whose numbers may be chosen; NULL: no contact model's
  bool all;                    // asked for without names
  int size;                    // of value
  tgReal *value;               // the chosen arrays, one after the other
  // into value; NULL when not chosen
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED(name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text)
#define TG_MODEL_PARAM(name, rows, cols, unit, text) tgReal *name;
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_SHARED
#undef TG_MODEL_REAL
  tgReal *number[TG_CONTACT_NUMBERS];   // of the contact model, in the order of contact->number
  // of the points of one geom's surface under an explicit law, in its frame: positions and normals (3 n each), added; NULL: not wanted
  int points_of;
  tgReal *point, *point_normal;
  // of the step whose adjoint is taken: where the derivative in what is chosen is that of one side alone; starts exact
  tgGradInfo sided;
  int ends;                    // those of them that are entries which are 0, the end of their range
  // what depends on where things are, until tgi_place_vjp carries it to the parameters that place them
  bool places;                 // some of body_pos, body_quat, jnt_pos, jnt_axis is chosen
  tgReal *S;                   // nv x 6: of a dof's axis, poses held
  tgReal *X;                   // nbody x 6: of a body's pose as a force against its twist, axes held
};

/// Names of the model's parameters, then of the numbers of its contact model (may be NULL); NULL past the end.
const char *tgi_param_name(const tgContact *contact, int k);
/// Where the derivative in a number of the contact model goes, NULL when it is not chosen: TG_NUMBER_GRAD(p, weight).
static inline tgReal *tgi_param_number(const tgParamGrad *p, const char *name) {
  int i = tgi_contact_number_at(p->contact, name);
  return i >= 0 ? p->number[i] : NULL;
}
#define TG_NUMBER_GRAD(grad, name) tgi_param_number(grad, #name)
/// The gradient is of the sim's model and, where it has numbers of a contact model, of that.
static inline bool tgi_param_fits(const tgParamGrad *p, const tgSim *s) {
  return p->model == s->model && (p->contact == NULL || p->contact == s->contact_model);
}

/// What is peculiar to the entries of a parameter array, as bits.
typedef enum tgiParamTrait {
  TGI_PARAM_UNIT = 1,          // its rows are unit quaternions or axes
  TGI_PARAM_RIVALS = 2,        // the largest of several counts: two frictions or restitutions of a pair, two corners of a sphere
  TGI_PARAM_SWITCH = 4,        // 0 is the end of its range, and leaving it switches something on: a bounce, rows of friction
  TGI_PARAM_CORNERS = 8,       // corners of polytopes, whose faces have to stay flat
  TGI_PARAM_CLAMP = 16         // lower and upper ends between which something acts freely; at an end the derivative is that of inside
} tgiParamTrait;
int tgi_param_traits(const char *name);

/// Takes from a direction in the array `name` (rows x cols, at x) what would change the length of a unit quaternion or axis.
void tgi_param_tangent(const tgModel *m, const char *name, int rows, int cols, const tgReal *x, tgReal *dir);

/// L of a dof's axis: S_d += a * bar. No effect when nothing placed is wanted.
static inline void tgi_param_axis(tgParamGrad *p, int dof, const tgReal bar[6]) {
  for (int i = 0; i < 6; i++) p->S[6 * dof + i] += bar[i];
}
/// L of a body's pose.
static inline void tgi_param_pose(tgParamGrad *p, int body, const tgReal bar[6]) {
  for (int i = 0; i < 6; i++) p->X[6 * body + i] += bar[i];
}

#endif
