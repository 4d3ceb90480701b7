// impulse_flow.h: one flow of a step by the rule `closing`, which is in the sim: its end and its derivative.
//
// Based on: [math/lcp (14), (15)].
#ifndef TG_STEP_IMPULSE_FLOW_H
#define TG_STEP_IMPULSE_FLOW_H

#include "step/impulse.h"

/// end.q = q0 (+) dt V.
tgStatus tgi_flow_end(tgSim *s);
/// *deep: that flow ends in overlap that is deeper than at its start, by more than a tenth of what a push takes away in its time.
/// s->end's frames are lost.
tgStatus tgi_flow_ends_deep(tgSim *s, bool *deep);
/// Adds to the step's push_energy what pushing errors out has added in that flow, at whose end the sim is. s->end's frames are lost.
tgStatus tgi_flow_note_push(tgSim *s);
/// Adjoint of (q0, v0, u, parameters, dt) -> (q1, v1), of gq and gv there.
tgStatus tgi_flow_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, const tgiAdjoint *o);
/// Dense derivative of the same, D as tgStepper.jacobian has it.
tgStatus tgi_flow_jacobian(tgSim *s, tgReal *D, int *clamps);

#endif
