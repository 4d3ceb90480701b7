// bounce.h: the derivative of a step that bounces, taken as an impact in continuous time (option bounce_gradient): no
// derivative of the step itself.
//
// A step takes an impact at its start, whenever it is: moving the body along the normal moves the impact in time, which
// no derivative of the step sees. With t the time of the impact, dt = -J dq/(J v-), J the normal's row, C(q) the map of
// v- to v+, a- and a+ the accelerations before and after:
//   (1)  dq+ = dq + (v+ - v-) dt = R dq,   R = 1 - M^-1 J' P Q^-1 (1 + Sigma) J where all that acts bounces without friction
//   (2)  dv+ = C dv + (dC/dq v-) (dq + v- dt) + (C a- - a+) dt
// Based on: [math/lcp Bounces].
#ifndef TG_STEP_BOUNCE_H
#define TG_STEP_BOUNCE_H

#include "sim/sim.h"

/// True where the last step bounced and its derivative is to be that of the impact.
bool tgi_bounces(const tgSim *s);
/// Dense: Dv (nv x nc) is tgi_impulse_jacobian's, nc = 2 nv + nu, and gets the terms of (2) that it lacks; X (nv x nc)
/// += R - 1 in its first nv columns.
tgStatus tgi_bounce_jacobian(tgSim *s, tgReal *Dv, tgReal *X);
/// Adjoint of (1): gx (nv) += R' x - x. gx is not x. gaps (nrow, may be NULL) += dL/d(gap) of the bouncing normals, of
/// which J dq is the part in q.
tgStatus tgi_bounce_position_vjp(tgSim *s, const tgReal *x, tgReal *gx, tgReal *gaps);
/// Adjoint of (2), that of tgi_impulse_vjp in it: adds to gq, gv, gu and p (gu and p may be NULL). gaps (nrow; NULL with p NULL) holds what
/// tgi_bounce_position_vjp left; parameters that move gaps move the impact too.
tgStatus tgi_bounce_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, tgReal *gaps, int *clamps);

#endif
