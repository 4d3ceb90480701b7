// inside.h: what is told of the inside of a step, gathered by the steppers that know of it. See tgStepper.inside.
#ifndef TG_STEP_INSIDE_H
#define TG_STEP_INSIDE_H

#include "sim/sim.h"
#include "sim/stepper.h"

/// The impulses of the impact in the sim, of what has rows, at that time.
void tgi_inside_add_impact(const tgSim *s, double time, tgiInside *out);
/// A pose at that time.
void tgi_inside_add_pose(const tgSim *s, double time, const tgReal *q, tgiInside *out);
/// Is that the time of a pose of its own, neither that of a state nor, to rounding, that of the pose before, at `last`?
bool tgi_inside_apart(const tgSim *s, double time, double last);

#endif
