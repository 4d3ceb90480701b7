// step.h: checks and smooth forces of a step, shared by the steppers.
#ifndef TG_STEP_STEP_H
#define TG_STEP_STEP_H

#include "sim/sim.h"
#include "sim/stepper.h"

/// All parameters of the sim are finite (ends of ranges may be infinite). TG_ERR_NOT_FINITE names the first that is not.
tgStatus tgi_check_parameters(tgSim *s);
/// A new velocity is finite; names the body otherwise.
tgStatus tgi_check_velocity(tgSim *s, const tgReal *v);

/// TG_ERR_CAPACITY for `what` of a step.
tgStatus tgi_no_room(tgSim *s, const char *what);

/// Velocities, bias and smooth forces at the pose of q0 and v: V, Vp, Sd, vel, bias, qfrc_actuator, qfrc_passive, tau.
void tgi_step_forces(tgSim *s, const tgReal *v);

/// tg_sim_step in two: the step and its derivatives are there while the sim still shows the state that it starts from,
/// which is what a loss looks at; then the state after it is taken over.
tgStatus tgi_step_solve(tgSim *s, double h, tgStepInfo *info);
void tgi_step_take(tgSim *s);

/// A step on a tape: its info and what the stepper keeps of it, aligned to 16.
size_t tgi_step_record_bytes(const tgSim *s);
/// Writes that of the last step.
void tgi_step_record(const tgSim *s, void *to);
/// The step of that record again, from the state, control, forces and memory it was made from and with its size: the
/// sim is then as tgi_step_solve left it, as far as derivatives and the state go. *solved: it had to be made anew. As
/// tgi_step_solve otherwise.
tgStatus tgi_step_revisit(tgSim *s, double h, const void *from, bool *solved);

/// How right a derivative of the last step is, but for clamps, which the derivative itself counts. TG_ERR_CAPACITY: scratch is short.
tgStatus tgi_step_label(tgSim *s, tgGradInfo *info);
/// As tg_sim_step_vjp, of a number that a leg of the last step decides (tgStepper.leg), without a label.
tgStatus tgi_step_leg_vjp(tgSim *s, const tgiLegSlopes *g, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp);

/// tg_sim_contacts_vjp inside a call: from g, one for each number of tgContactModel.touch.
tgStatus tgi_step_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, tgGradInfo *info);

/// tg_sim_joint_wrenches inside a call; takes scratch.
tgStatus tgi_joint_wrenches(tgSim *s, tgReal *wrench);

/// The pose, inertias, mass matrix and smooth forces at (q0, v0).
void tgi_start_smooth(tgSim *s);

#endif
