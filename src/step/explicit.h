// explicit.h: the stepper of explicit laws: accelerations in closed form, no iteration.
//
// Based on: [softmin] eqs. (24), (25); [math/softmin Step]. Stages i of coordinates q_i = q0 (+) w_i and velocities
// v_i, with the contact wrenches f,
//   M(q_i) a_i = tau(q_i, v_i, u) + joints(q_i, v_i) + J' f(q_i, v_i) - c(q_i, v_i).
//   euler      one stage, at (q0, v0); v' = v0 + h a, w' = h v'.
//     Joint damping and stiffness at the end of the step: (M + h D + h^2 K) a = .. - h K v.
//   explicit   one stage; v' = v0 + h a, w' = h v0.
//   rk4        four. With w_i in the exponential chart at q0, where dw/dt = E(w) v,
//     E = Jr^-1 for rotations and 1 else, the classical scheme for (w, v)
//              is of order 4 in the rotations too.
#ifndef TG_STEP_EXPLICIT_H
#define TG_STEP_EXPLICIT_H

#include "contact/contact.h"
#include "joint/joint.h"
#include "sim/param.h"

enum { TGI_MOST_STAGES = 4 };

/// What it keeps of a step, stage by stage.
typedef struct tgiExplicit {
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) tgReal *name;
#include "step/explicit_fields.def"
#undef TG_OWN_REAL
} tgiExplicit;
static inline tgiExplicit *tgi_explicit_own(const tgSim *s) { return s->own; }

extern const tgStepper tgi_explicit;
/// Joint damping and stiffness are taken at the end of the step.
static inline bool tgi_explicit_implicit_damping(const tgSim *s) {
  return tgi_explicit_options(s->contact_model)->integrator == TG_INTEGRATOR_EULER &&
         !tgi_explicit_options(s->contact_model)->explicit_damping;
}
/// Positions go by the velocity after the step.
static inline bool tgi_explicit_symplectic(const tgSim *s) {
  return tgi_explicit_options(s->contact_model)->integrator == TG_INTEGRATOR_EULER && tgi_explicit_options(s->contact_model)->symplectic;
}
/// Where stage i is, in steps, and its share of the step's rate.
typedef struct tgiTableau { int n; double at[TGI_MOST_STAGES], share[TGI_MOST_STAGES]; } tgiTableau;
const tgiTableau *tgi_explicit_tableau(const tgSim *s);

/// v1 and step_w from (q0, v0); s->term then has the wrenches at the start. Fills s->info.
tgStatus tgi_explicit_step(tgSim *s, double h);
/// A step on a tape: its accelerations. See tgStepper.
size_t tgi_explicit_record_bytes(const tgSim *s);
void tgi_explicit_record(const tgSim *s, void *to);
tgStatus tgi_explicit_revisit(tgSim *s, double h, const void *from);
/// The pose of stage i: one is kept besides that at the start.
static inline tgPose *tgi_explicit_pose(tgSim *s, int i) { return i == 0 ? &s->start : &s->trial; }
/// That pose, smooth dynamics, factor of the step matrix and contact forces at stage i; derivative: with X and Y of the terms.
tgStatus tgi_explicit_stage(tgSim *s, int i, bool derivative);
/// wrench (nbody x 6) = the forces of contacts, connects and welds, summed over each body's pairs.
void tgi_explicit_wrenches(const tgSim *s, const tgPose *pose, tgReal *wrench);
/// out (nv) = E(w) v; and with x = dL/dout, gw += its adjoint in w, gv += that in v.
void tgi_explicit_rate(const tgModel *m, const tgReal *w, const tgReal *v, tgReal *out);
void tgi_explicit_rate_vjp(const tgModel *m, const tgReal *w, const tgReal *v, const tgReal *x, tgReal *gw, tgReal *gv);
/// out (nv x n) = E(w) V + d(E(w) v)/dw W, V and W nv x n, row-major; out must be neither.
void tgi_explicit_rate_jacobian(const tgModel *m, const tgReal *w, const tgReal *v, int n, const tgReal *W, const tgReal *V, tgReal *out);

/// Adjoint of the last step: adds to gq, gv (nv), gu (nu) and p (gu, p may be NULL) what xq = dL/dq' and xv = dL/dv'
/// (either may be NULL) are in the state before it, the controls and the parameters. clamps counts those met.
tgStatus tgi_explicit_vjp(tgSim *s, const tgReal *xq, const tgReal *xv, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, int *clamps);
/// See tgStepper.
tgStatus tgi_explicit_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
/// Its dense derivative, D (2 nv x (2 nv + nu)): rows q', v', columns q, v, u. Shares no derivative code with the
/// adjoint beyond the forces' own.
tgStatus tgi_explicit_jacobian(tgSim *s, tgReal *D, int *clamps);

/// See tgStepper.
tgStatus tgi_explicit_advice(tgSim *s, tgStepAdvice *out);
/// Largest stable step for a mode x'' = -omega2 x - beta x'; infinite when both are 0, 0 when none is.
double tgi_explicit_stable_step(tgIntegrator integrator, double omega2, double beta);

#endif
