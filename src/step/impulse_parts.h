// impulse_parts.h: a step by the rule `closing`: flows, cut where something meets fast, and the impacts between them.
//
// A flow runs to the time at which the first of what meets fast is at gap 0, found on the flow itself; the impact there
// changes velocities alone; the next flow takes the rest of the step. t*, the length of a flow that ends in an impact,
// is a function of the start: of the gap g at the flow's end, dt* = -(dg at held t)/(dg/dt).
// Based on: [math/lcp Impacts].
#ifndef TG_STEP_IMPULSE_PARTS_H
#define TG_STEP_IMPULSE_PARTS_H

#include "sim/sim.h"

/// See tgStepper.step and revisit; record NULL: there is none.
tgStatus tgi_parts_step(tgSim *s, double h, const void *record);
/// See tgStepper.
size_t tgi_parts_record_bytes(const tgSim *s);
void tgi_parts_record(const tgSim *s, void *to);
tgStatus tgi_parts_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps);
tgStatus tgi_parts_jacobian(tgSim *s, tgReal *D, int *clamps);

#endif
