// forces.h: pieces of actuator and passive forces that values, derivatives and adjoints share (forward quantities only).
#ifndef TG_DYN_FORCES_H
#define TG_DYN_FORCES_H

#include "dyn/dynamics.h"
#include "kin/tendon.h"
#include "sim/param.h"

/// An actuator where its length and velocity are these: force after clamps and its slopes in length, velocity and input
/// (zero where clamped). side: the end of forcerange at which it is held, -1 or 1, else 0.
typedef struct tgActuatorState { tgReal length, velocity, force, D_length, D_velocity, D_input; int side; } tgActuatorState;

/// Where actuators are taken at the end of a step: of length h, with the velocity v. Length and velocity of an actuator
/// are then those at the start and h and 1 times its moment . v. NULL in place of it: they are taken at the start.
/// from: of a step in whose middle the pose is, h half its length, the velocity at its start. Both are then those in the middle: the length
/// is the pose's and h times moment . (v - from)/2, the velocity moment . (v + from)/2.
struct tgStepEnd { tgReal h; const tgReal *v, *from; };
/// In what way an actuator, or the sum of those on a joint, takes part in a step's end (act_hold, jnt_hold of a sim): held
/// at an end of its range, by its law, or, of actuators alone, taken at the start all the same.
enum { TGI_HOLD_LOW = -1, TGI_HOLD_NOT = 0, TGI_HOLD_HIGH = 1, TGI_HOLD_START = 2 };
/// Actuator i is taken at the end of the step.
static inline bool tgi_actuator_at_end(const tgSim *s, int i, const tgStepEnd *end) {
  return end != NULL && s->act_hold[i] != TGI_HOLD_START;
}
/// Share of its velocity by which an actuator's length grows: 0 on a free joint, where it has none, else 1.
static inline double tgi_actuator_reach(const tgModel *m, int i) {
  return m->act_trn[i] == TG_TRN_JOINT && m->jnt_type[m->act_target[i]] == TG_JOINT_FREE ? 0 : 1;
}

/// Parts of the forces whose derivative is asked for.
enum { TGI_ACTUATION = 1, TGI_PASSIVE = 2 };

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
/// State of actuator i at the pose and its velocities, or at the end; *clamps (may be NULL) is raised for each one met within 1e-12
/// relative, at the end within 1e-9.
void tgi_actuator_state(const tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, tgActuatorState *a, int *clamps);
/// Force of actuator i at the end by its law alone, whatever its range.
tgReal tgi_actuator_asked(const tgSim *s, const tgPose *pose, int i, const tgStepEnd *end);
/// How the force of actuator i grows with its velocity; at the end of a step its length grows with that too, but not in the middle.
static inline tgReal tgi_actuator_by_rate(const tgSim *s, int i, const tgStepEnd *end, const tgActuatorState *a) {
  bool longer = tgi_actuator_at_end(s, i, end) && end->from == NULL;
  return a->D_velocity + (longer ? tgi_actuator_reach(&s->m, i) * end->h * a->D_length : 0);
}
/// Number of dofs that actuator i works on; 0 on a site or a spatial tendon, whose moments go by the pose (below).
int tgi_actuator_terms(const tgModel *m, int i);
/// Dof of term k, its moment, and d length/d q of that dof (the moment, but for balls). slope may be NULL.
int tgi_actuator_term(const tgModel *m, int i, int k, const tgReal *q, tgReal *moment, tgReal *slope);
/// Length of actuator i on a joint per unit of each gear entry (6).
void tgi_actuator_unit_length(const tgModel *m, int i, const tgReal *q, tgReal length[6]);
/// -1, 0 or 1: where x lies to [lo, hi]; a tie (within 1e-12 relative of an end) counts as inside and raises *clamps (may be NULL).
int tgi_clamp_side(tgReal x, tgReal lo, tgReal hi, int *clamps);
/// Sum of actuator forces before the joints' own limits, written to qfrc (nv).
void tgi_actuator_sum(const tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal *qfrc);
/// The forces of actuators on joint j are summed, and their sum limited.
bool tgi_sum_limited(const tgModel *m, int j);
/// The end of its joint's actfrcrange at which the summed actuator force qfrc on dof d is held, -1 or 1, else 0.
int tgi_actuator_sum_side(const tgSim *s, int d, const tgStepEnd *end, tgReal qfrc, int *clamps);

// ---- site.c: actuators on sites; they are taken at the start of a step ----

/// Such an actuator at a pose: F, T its force and couple per unit, world axes R; of its site (0) and its reference (1) the
/// body, the place and the screw; its length.
typedef struct tgiSitePull {
  bool has_ref;
  int site[2], body[2];
  const tgReal *R;
  tgReal F[3], T[3], p[2][3], W[2][6], arm[3], length, r[3], by_turn[3];
} tgiSitePull;
/// A dof that it works on, {0} before the first, and its moment there.
typedef struct tgiSiteTerm { bool begun; int side, dof, sign; tgReal moment; } tgiSiteTerm;
static inline bool tgi_on_site(const tgModel *m, int i) { return m->act_trn[i] == TG_TRN_SITE; }
/// Actuator i pulls at a spatial tendon (kin/tendon.h), with gear[0] times its length; it too is taken at the start of a step.
static inline bool tgi_on_strands(const tgModel *m, int i) { return m->act_trn[i] == TG_TRN_TENDON && tgi_is_spatial(m, m->act_target[i]); }
void tgi_site_pull(const tgModel *m, const tgPose *pose, int i, tgiSitePull *x);
/// The next dof; false: there is no other.
bool tgi_site_next(const tgModel *m, const tgPose *pose, const tgiSitePull *x, tgiSiteTerm *t);
/// d length/dq of that dof.
tgReal tgi_site_slope(const tgPose *pose, const tgiSitePull *x, const tgiSiteTerm *t);
/// d moment/dq_j of that dof's, j another of its dofs.
tgReal tgi_site_curve(const tgModel *m, const tgPose *pose, const tgiSitePull *x, const tgiSiteTerm *t, int j);
/// Its moments times v; j >= 0: d/dq_j of that.
tgReal tgi_site_rate(const tgModel *m, const tgPose *pose, const tgiSitePull *x, const tgReal *v, int j);
/// p += the gradient of sum c_d moment_d + along length, c (nv) read at its dofs, in gear, axes and poses (tgi_place_vjp).
void tgi_site_parameters(const tgModel *m, const tgPose *pose, int i, const tgiSitePull *x, const tgReal *c, tgReal along, tgParamGrad *p);

// ---- servo.c ----

/// Ends of the range at which x is, as a force at the end of a step.
int tgi_end_tie(tgReal x, const tgReal *range);
/// Distance to an end of a range, over the larger of 1 and the end, within which a force at the end of a step is at it.
#define TGI_HOLD_TIE 1e-9
/// act_hold and jnt_hold as the forces at the start foretell them, for a step of h. Those whose gains drive them away from
/// where they are, by more than half of what the mass matrix resists in the step, are taken at the start, as are those
/// on a tendon across trees or on a joint whose sum of forces is limited. Mh, L and vhat are spoilt.
void tgi_servo_foretell(tgSim *s, tgReal h);
/// There is a force of an actuator or a joint's sum of them that has a range.
bool tgi_servo_any_range(const tgModel *m);
/// The same as what they were found to be at the end of a step; true: some changed. hold: what is held stays so. sum: work, nv.
bool tgi_servo_revise(tgSim *s, const tgStepEnd *end, bool hold, tgReal *sum);
/// Mh += -h sum (D_velocity + h D_length) m m', m the moments of actuators that are taken at the end and not held.
void tgi_servo_matrix(tgSim *s, tgReal h);
/// qfrc (nv) = forces of actuators at the end of a step from the sim's start, joints' limits included.
void tgi_servo_forces(const tgSim *s, const tgStepEnd *end, tgReal *qfrc);
/// d/dh of lambda . qfrc, what tgi_servo_forces gives, h that of `end`.
tgReal tgi_servo_rate(const tgSim *s, const tgStepEnd *end, const tgReal *lambda);
/// Adjoint of x' W y, W what tgi_servo_matrix adds: gu (nu) += that in the inputs, p that in gains and gears, *dt that in
/// h; any may be NULL.
void tgi_servo_matrix_vjp(const tgSim *s, tgReal h, const tgReal *x, const tgReal *y, tgReal *gu, tgParamGrad *p, tgReal *dt);
/// d(W y)/d(input of actuator i) = the returned number times its moments, which come to out (nv), 0 elsewhere.
tgReal tgi_servo_matrix_input(const tgSim *s, tgReal h, int i, const tgReal *y, tgReal *out);

// ---- activation.c ----

/// Activation of actuator i after a step of h from act0, clamped, with its slopes (zero where it is). side, control_side:
/// the ends of actrange and ctrlrange at which it and the control are held, -1 or 1, else 0.
typedef struct tgActivationRule { tgReal next, D_act, D_control, D_timeconst, D_step; int side, control_side; } tgActivationRule;
void tgi_activation_rule(const tgSim *s, int i, double h, tgActivationRule *r, int *clamps);

/// 1: longer than its dead band, -1: shorter, 0: inside.
int tgi_tendon_side(const tgModel *m, int t, tgReal length, int *clamps);
/// A spring without a dead band at its rest length is smooth in the length and in both ends of the band together, not in one of them
/// alone: counted in p->sided where ten_lengthspring is chosen.
void tgi_tendon_rest_tie(const tgModel *m, int t, tgReal length, tgParamGrad *p);
/// Spring force of tendon t along its length and its slope (0 or -stiffness).
tgReal tgi_tendon_spring(const tgSim *s, const tgPose *pose, int t, tgReal *slope, int *clamps);
/// Derivatives of the force J' f of a spatial tendon, f along its length with the slopes by_length and by_rate in the length and in
/// its rate J v.
void tgi_strands_force_d(const tgModel *m, const tgPose *pose, int t, const tgReal *v, tgReal f, tgReal by_length, tgReal by_rate,
                         const tgiEntries *D);
/// Rate of tendon t, of either kind, at v (nv); row (nv) += scale times its Jacobian.
tgReal tgi_tendon_speed(const tgSim *s, const tgPose *pose, int t, const tgReal *v);
void tgi_tendon_row(const tgSim *s, const tgPose *pose, int t, tgReal scale, tgReal *row);
/// Rotation vector from a joint's spring rest orientation to q, body axes; quat is the offset of the quaternion in q.
void tgi_spring_rotation(const tgModel *m, int adr, const tgReal *q, tgReal *w);

/// Energy of the springs of joints and tendons, and of sheets, at the pose [J]: tgi_passive's spring
/// forces are minus its gradient.
tgReal tgi_spring_energy(const tgSim *s, const tgPose *pose);

/// The same and that of weights, but for what is compensated, 0 at the world's origin [J].
tgReal tgi_potential_energy(const tgSim *s, const tgPose *pose);

/// Does any body feel the medium; does any have its weight compensated.
bool tgi_has_fluid(const tgModel *m);
bool tgi_has_gravcomp(const tgModel *m);
/// fluid_box of every body, from inertia and mass (their real parts: no derivative in them).
void tgi_fluid_boxes(tgSim *s);
/// Spatial force f of the medium on body b at the V of tgi_velocities, and Phi = df/dV (6x6, symmetric; may be NULL).
void tgi_fluid_force(const tgSim *s, const tgPose *pose, int b, tgReal *f, tgReal *Phi);

#endif
