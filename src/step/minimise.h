// minimise.h: the stepper of laws with an energy: a step minimises an objective over the coordinates after it.
//
// Based on: [math/barrier Step], [math/barrier Gradient]. The state is (q, v) with q a step before = q (+) (-h v), which keeps it exactly:
//   q' = argmin L(q'; q, v, u),   v' = (q' (-) q)/h.
// At the minimum dL/dq' = 0, so dq' = -H^-1 (dL_q'/dq dq + dL_q'/dv dv + ...), H the exact second derivative.
#ifndef TG_STEP_MINIMISE_H
#define TG_STEP_MINIMISE_H

#include "contact/contact.h"
#include "math/pattern.h"
#include "sim/param.h"

enum { TGI_PATH = 256 };       // more than there are iterates

/// What it keeps of a step.
typedef struct tgiMinimise {
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) tgReal *name;
#include "step/minimise_fields.def"
#undef TG_OWN_REAL
  tgiPattern pattern;          // of both: its blocks are the sets of coupled dofs
  bool left_out;               // some terms are left out of both (step/minimise_coupling.h)
  bool mixed;                  // the terms have their B
  tgReal *path;                // TGI_PATH x nq: the iterates of the last step, each from the one before by a step that nothing forbids
  int npath;                   // -1: not known
  double shift;                // added to H of the last step, in units of M/h^2, for it to be positive definite: 0 at a true minimum
} tgiMinimise;
static inline tgiMinimise *tgi_minimise_own(const tgSim *s) { return s->own; }

extern const tgStepper tgi_minimise;

/// Are the forces of the model's joints, actuators and tendons such that an energy has them? TG_ERR_UNSUPPORTED: error
/// (may be NULL) names the first that is not.
tgStatus tgi_minimise_supports(const tgModel *m, tgError *error);

/// s->end and v1 from s->start and v0; step_H and step_L at the end. Fills s->info.
tgStatus tgi_minimise_step(tgSim *s, double h);

/// The terms have their B. Once for a step.
tgStatus tgi_minimise_mixed(tgSim *s);
/// Adjoint of the last step: adds to aq, av (nv), du (nu) and p (du and p may be NULL) what gq = dL/dq', gv = dL/dv'
/// (either may be NULL) are in q0, v0, the control and the parameters. clamps counts those met.
tgStatus tgi_minimise_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
/// See tgStepper.
tgStatus tgi_minimise_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
/// Its dense derivative, D (2 nv x (2 nv + nu), row-major): rows q', v', columns q, v, u. Shares no derivative code with the adjoint.
tgStatus tgi_minimise_jacobian(tgSim *s, tgReal *D, int *clamps);
/// See tgStepper.
tgStatus tgi_minimise_inside(tgSim *s, tgiInside *out);
/// See tg_sim_contact_potential.
tgStatus tgi_minimise_potential(tgSim *s, tgReal *energy, tgReal *gradient);

#endif
