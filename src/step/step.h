// step.h: checks around a step, shared by the steppers.
#ifndef TG_STEP_STEP_H
#define TG_STEP_STEP_H

#include "sim/sim.h"

/// All parameters of the sim are finite (ends of ranges may be infinite). TG_ERR_NOT_FINITE names the first that is not.
tgStatus tgi_check_parameters(tgSim *s);
/// A new velocity is finite; names the body otherwise.
tgStatus tgi_check_velocity(tgSim *s, const tgReal *v);

#endif
