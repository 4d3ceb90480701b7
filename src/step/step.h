// step.h: checks and smooth forces of a step, shared by the steppers.
#ifndef TG_STEP_STEP_H
#define TG_STEP_STEP_H

#include "sim/sim.h"

/// All parameters of the sim are finite (ends of ranges may be infinite). TG_ERR_NOT_FINITE names the first that is not.
tgStatus tgi_check_parameters(tgSim *s);
/// A new velocity is finite; names the body otherwise.
tgStatus tgi_check_velocity(tgSim *s, const tgReal *v);

/// Velocities, bias and smooth forces at (q0, v), with the frames of q0: V, Vp, Sd, vel, bias, qfrc_actuator, qfrc_passive, tau.
void tgi_step_forces(tgSim *s, const tgReal *v);

/// The pose, inertias, mass matrix and smooth forces at (q0, v0).
void tgi_start_smooth(tgSim *s);

#endif
