// forces.h: pieces of actuator and passive forces that values, derivatives and adjoints share (forward quantities only).
#ifndef TG_DYN_FORCES_H
#define TG_DYN_FORCES_H

#include "dyn/dynamics.h"
#include "sim/param.h"

/// An actuator at (q, v): force after clamps and its slopes in length, velocity and input (zero where clamped).
typedef struct tgActuatorState { tgReal length, velocity, force, D_length, D_velocity, D_input; } tgActuatorState;

/// Control of actuator i within its range. side: the end of that at which it is held, -1 or 1, else 0; *clamps (may be
/// NULL) as in tgi_clamp_side.
tgReal tgi_actuator_control(const tgSim *s, int i, int *side, int *clamps);
/// What the gain of actuator i multiplies: its activation at the start of the step or, where it has none, its control
/// within its range, with side and *clamps of that.
tgReal tgi_actuator_input(const tgSim *s, int i, int *side, int *clamps);

/// The law of actuator i where its length and velocity are these. *clamps (may be NULL) is raised for each one met within 1e-12 relative.
void tgi_actuator_law(const tgSim *s, int i, tgReal length, tgReal velocity, tgActuatorState *a, int *clamps);
/// p += bar times its derivative in gain, bias and ranges; a is of tgi_actuator_law.
void tgi_actuator_parameters(const tgSim *s, int i, const tgActuatorState *a, tgReal bar, tgParamGrad *p);
/// State of actuator i; *clamps (may be NULL) is raised for each one met within 1e-12 relative.
void tgi_actuator_state(const tgSim *s, const tgPose *pose, int i, const tgReal *q, const tgReal *v, tgActuatorState *a, int *clamps);
/// Number of dofs that actuator i works on.
int tgi_actuator_terms(const tgModel *m, int i);
/// Dof of term k, its moment, and d length/d q of that dof (the moment, but for balls). slope may be NULL.
int tgi_actuator_term(const tgModel *m, int i, int k, const tgReal *q, tgReal *moment, tgReal *slope);
/// Length of actuator i on a joint per unit of each gear entry (6).
void tgi_actuator_unit_length(const tgModel *m, int i, const tgReal *q, tgReal length[6]);
/// -1, 0 or 1: where x lies to [lo, hi]; a tie (within 1e-12 relative of an end) counts as inside and raises *clamps (may be NULL).
int tgi_clamp_side(tgReal x, tgReal lo, tgReal hi, int *clamps);
/// Sum of actuator forces before the joints' own limits, written to qfrc (nv).
void tgi_actuator_sum(const tgSim *s, const tgPose *pose, const tgReal *q, const tgReal *v, tgReal *qfrc);
/// The forces of actuators on joint j are summed, and their sum limited.
bool tgi_sum_limited(const tgModel *m, int j);
/// True when the summed actuator force on dof d lies outside its joint's actfrcrange.
bool tgi_actuator_sum_clamped(const tgModel *m, int d, tgReal qfrc, int *clamps);

// ---- activation.c ----

/// Activation of actuator i after a step of h from act0, clamped, with its slopes (zero where it is). side, control_side:
/// the ends of actrange and ctrlrange at which it and the control are held, -1 or 1, else 0.
typedef struct tgActivationRule { tgReal next, D_act, D_control, D_timeconst, D_step; int side, control_side; } tgActivationRule;
void tgi_activation_rule(const tgSim *s, int i, double h, tgActivationRule *r, int *clamps);

/// 1: longer than its dead band, -1: shorter, 0: inside.
int tgi_tendon_side(const tgModel *m, int t, tgReal length, int *clamps);
/// Spring force of tendon t along its length and its slope (0 or -stiffness).
tgReal tgi_tendon_spring(const tgSim *s, const tgPose *pose, int t, tgReal *slope, int *clamps);
/// Rotation vector from a joint's spring rest orientation to q, body axes; quat is the offset of the quaternion in q.
void tgi_spring_rotation(const tgModel *m, int adr, const tgReal *q, tgReal *w);

/// Energy of the springs of joints and tendons at q, whose tendon lengths are at hand [J]: tgi_passive's spring
/// forces are minus its gradient.
tgReal tgi_spring_energy(const tgSim *s, const tgPose *pose);

/// Does any body feel the medium; does any have its weight compensated.
bool tgi_has_fluid(const tgModel *m);
bool tgi_has_gravcomp(const tgModel *m);
/// fluid_box of every body, from inertia and mass (their real parts: no derivative in them).
void tgi_fluid_boxes(tgSim *s);
/// Spatial force f of the medium on body b at the V of tgi_velocities, and Phi = df/dV (6x6, symmetric; may be NULL).
void tgi_fluid_force(const tgSim *s, const tgPose *pose, int b, tgReal *f, tgReal *Phi);

#endif
