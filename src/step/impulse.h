// impulse.h: the stepper of impulse contact models: velocity-level constraint impulses, then positions.
//
// Based on: [math/lcp The step].
//   Mh = M + h D + h^2 K,   vhat = v + h Mh^-1 (tau - c - h K v),   A = J Mh^-1 J',   b = J vhat + bias,
//   bias of a row: e J vhat of a bouncing normal, else erp gap/h;   v' = vhat + Mh^-1 J' f,   w = J v' + bias.
#ifndef TG_STEP_IMPULSE_H
#define TG_STEP_IMPULSE_H

#include "contact/contact.h"
#include "sim/param.h"

extern const tgStepper tgi_impulse;

/// v1 from the state (q0, v0) whose frames and smooth dynamics are in the sim. Fills s->info. Nothing of the
/// state changes. record: what the contact model recorded of that step's impulses, which are then not solved
/// for; NULL: there is none.
tgStatus tgi_impulse_velocity(tgSim *s, double h, const void *record);
/// out = Mh^-1 x for a vector of nv; may be in place.
void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out);
/// out = J x (rows), out = J' f (nv).
void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out);
void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out);
/// out (nv) += Mh^-1 J' f.
void tgi_rows_respond(const tgSim *s, const tgReal *f, tgReal *out);
/// True when the step keeps contact forces out of its gradient (the ablation of tgImpulseOptions).
static inline bool tgi_no_contact_gradient(const tgSim *s) {
  return s->contact_model == NULL || tgi_impulse_options(s)->zero_contact_gradient;
}
/// True when joint damping and stiffness are taken at the start of the step.
static inline bool tgi_explicit_damping(const tgSim *s) { return tgi_impulse_options(s)->explicit_damping; }
/// Diagonal stiffness of dof d in Mh, 0 with explicit damping.
static inline tgReal tgi_implicit_stiffness(const tgSim *s, int d) {
  return tgi_explicit_damping(s) ? 0 : s->m.jnt_stiffness[s->m.dof_jnt[d]];
}
/// Bias coefficient of a row's gap: erp/h, 0 on rows that bounce and where the solve left the error as it is.
static inline double tgi_gap_rate(const tgSim *s, int row) { return tgRe(s->rows->rate[row]); }

/// Share of a contact's restitution that row i bounced with: 1 as a rule [math/lcp Restitution], 0 where it does not bounce.
static inline tgReal tgi_bounce_share(const tgSim *s, int i) {
  return tgRe(s->rows->bounce[i]) != 0 ? s->rows->bounce[i] / s->contact[s->rows->owner[i]].restitution : 0;
}

/// Some normal bounces in this step.
static inline bool tgi_any_bounce(const tgSim *s) {
  for (int i = 0; i < s->nrow; i++)
    if (tgRe(s->rows->bounce[i]) != 0) return true;
  return false;
}
/// a (nv) = (v - v0)/h.
static inline void tgi_mean_acceleration(const tgSim *s, const tgReal *v, tgReal *a) {
  for (int d = 0; d < s->m.nv; d++) a[d] = (v[d] - s->start.vel[d]) / s->h;
}

/// Adjoint of (q0, v0, u, parameters) -> v1: from z = dL/dv1 adds to gq, gv, gu and p (gu, p may be NULL). clamps counts those met.
tgStatus tgi_impulse_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, int *clamps);
/// Dense derivative of the same, D (nv x (2 nv + nu), row-major): columns q, v, u. Shares no code with the adjoint.
tgStatus tgi_impulse_jacobian(tgSim *s, tgReal *D, int *clamps);

#endif
