// impulse_impact.h: the impact of a step by the rule `closing`, which adds no energy, and its derivative.
//
// Two problems over the same rows, v_e with the restitution as given and v_c with none. By island
//   v+ = v_c + x (v_e - v_c),   x = 1 where v_e has no more kinetic energy than v, else the x in [0, 1) at which v+ has as much.
// Bounds of forces and of velocities hold for both, and so for what lies between.
// Based on: [math/lcp Impacts].
#ifndef TG_STEP_IMPULSE_IMPACT_H
#define TG_STEP_IMPULSE_IMPACT_H

#include "step/impulse.h"

/// The impact of what is within touch at (q0, v0): row_after, the velocity after it; end.vel is v_e. s->guarded: some x is
/// below 1, and the second problem of the rows is v_c, row_mean_velocity. record: of the first problem and, if guarded, the
/// second; NULL: there is none.
tgStatus tgi_impact(tgSim *s, const void *record);
/// The same of rows that stand already, with their bounces, in a part that tgi_impulse_part has begun.
tgStatus tgi_impact_rows(tgSim *s, const void *record);
/// Adjoint of the impact in the sim, of gv at its end; positions stay.
tgStatus tgi_impact_vjp(tgSim *s, const tgReal *gv, const tgiAdjoint *o);

#endif
