// impulse.h: the stepper of impulse contact models: velocity-level constraint impulses, then positions.
//
// Based on: [math/lcp The step].
//   Mh = M + h D + h^2 K,   vhat = v + h Mh^-1 (tau - c - h K v),   A = J Mh^-1 J',   b = J vhat + bias,
//   of servos, which are actuators with gains on length and velocity, D and K too (dyn/servo.c);
//   bias of a row: e J vhat of a bouncing normal, else erp gap/h;   v' = vhat + Mh^-1 J' f,   w = J v' + bias.
#ifndef TG_STEP_IMPULSE_H
#define TG_STEP_IMPULSE_H

#include "contact/contact.h"
#include "contact/rows.h"
#include "contact/start.h"
#include "dyn/forces.h"
#include "sim/param.h"

extern const tgStepper tgi_impulse;

/// Rule `touching`: v1 from the state (q0, v0) whose frames and smooth dynamics are in the sim. Fills s->info. Nothing
/// of the state changes. record: of that step's actuators that were held and impulses, which are then not solved for;
/// NULL: there is none.
tgStatus tgi_impulse_velocity(tgSim *s, double h, const void *record);

// ---- rule `closing`: parts of a step, flows and impacts, from (q0, v0) as above ----
//
// A flow of dt: rows at q0 (+) dt v0 of what its free motion closes; two problems over them,
//   velocities  v1 = vhat + Mh^-1 J' f,     J v1 >= 0,
//   positions   V  = vhat + Mh^-1 J' f2,    gap + dt J (V - v0) >= 0,    q1 = q0 (+) dt V;   friction and dry friction in both.
// An impact, dt = 0: v1 = v0 + M^-1 J' f, J v1 >= -e J v0, at q0 (step/impulse_impact.h).

/// A part of length h begins: no rows yet, v1 is its free motion from (q0, v0); held: with actuators as they are.
tgStatus tgi_impulse_part(tgSim *s, tgReal h, bool held);
/// A part of no length begins of which rows alone are looked at, by v0; before impulses of theirs: tgi_impulse_still.
void tgi_impulse_look(tgSim *s);
tgStatus tgi_impulse_still(tgSim *s);
/// v1 by the rows as they stand, with the biases that they have been given. record: of one problem, NULL: there is none.
tgStatus tgi_impulse_velocities(tgSim *s, const void *record);
/// row_mean_velocity by the second problem over the same rows, which is selected, likewise.
tgStatus tgi_impulse_again(tgSim *s, const void *record);
/// Before a part: what smooth forces do in the `rest` of the step from (q0, v0), by which impacts are told from what rests. A flow of
/// `rest` right behind it has its free motion from here.
tgStatus tgi_impulse_open(tgSim *s, tgReal rest);
/// A flow: v1 and the mean velocity V (row_mean_velocity). last: what closes fast rests like the others; else it has no
/// rows, and *fast counts it. record: as above, of impulses two.
tgStatus tgi_impulse_flow(tgSim *s, tgReal dt, bool last, const void *record, int *fast);
/// The flow that was made turns crowds into contacts that it has no rows of (s->nturned): the next last flow of the step has them.
tgStatus tgi_impulse_note_turned(tgSim *s);
/// push (nv): the part of the mean velocity V of the flow in the sim that takes away overlaps, passed limits and errors of equalities of
/// more than TG_TOUCH at its start: the derivative of V in them, which is linear in them. *any: there are such; else push is left as it is.
tgStatus tgi_impulse_push(tgSim *s, tgReal *push, bool *any);
/// n . (velocity of the first body - of the second one) at a contact's point, of velocity v.
double tgi_impulse_gap_speed(const tgSim *s, const tgPose *pose, const tgContactRow *c, const tgReal *v);
/// A flow of the event stepper (step/event.h): masses and forces in its middle, at q0 (+) (dt/2) v0, of which s->middle is afterwards;
/// joint damping, springs and servos there too, of the velocity (v0 + v1)/2. Rows of what s->held names, at q0 (+) dt v0, and two problems
/// over them,
///   velocities  v1 = vhat + Mh^-1 J' f,  J v1 >= 0,
///   positions   V  = vhat + Mh^-1 J' f2, gap + dt J (V - v0)/2 >= 0,  V = row_mean_velocity the velocity at the path's end.
/// Where something is not found there, rows are at q0 and gap + dt J (v0 + V)/2 >= 0. Velocities are by the rows at q0 too
/// (step/event_order.h).
/// from: what its solve starts from, or NULL.
tgStatus tgi_impulse_held_flow(tgSim *s, tgReal dt, const void *record, const tgiClasses *from);
/// The same of a flow that is tried: V and its path; v1 is that of a problem before its own, but where forces of actuators have ranges, as
/// which of them are held at an end of theirs is by v1. Of such a flow v1 too, once it is to stay: the sim still has what it was made by.
tgStatus tgi_impulse_try_flow(tgSim *s, tgReal dt, const tgiClasses *from);
tgStatus tgi_impulse_complete_flow(tgSim *s);
/// An error of an equality that is of the caller's state [m or rad]; a turn of 0.4 rad in a flow, of a rod of 1 m, leaves as much.
#define TGI_WIDE 1e-4
/// The flow in the sim brings back what the row is of: a joint past its range, or an equality whose error it removes at 1 m/s or rad/s, and
/// not at once. That is no motion, and has no part in velocities.
bool tgi_row_brings_back(const tgSim *s, int row);
/// The flow in the sim, which was made, is as derivatives ask for: its middle, and s->trial the pose ahead, at q0 (+) dt v0.
tgStatus tgi_impulse_open_flow(tgSim *s);
/// Of the rows, which are at the pose, keeps those of contacts and limits that close fast at velocity u, and of other constraints.
tgStatus tgi_impulse_keep_fast(tgSim *s, const tgPose *pose, const tgReal *u);
/// Makes those rows, in place of those there are, of all that is near the pose.
tgStatus tgi_impulse_near(tgSim *s, const tgPose *pose, const tgReal *u);
/// A normal or a limit, which pushes only.
static inline bool tgi_row_pushes(const tgSim *s, int row) {
  return s->rows->kind[row] == TG_ROW_NORMAL || s->rows->kind[row] == TG_ROW_LIMIT;
}
/// True where steps are made by the rule `closing`.
static inline bool tgi_closes(const tgSim *s) { return tgi_contact_closes(s->contact_model); }
/// v' M v/2.
double tgi_kinetic_energy(const tgSim *s, const tgReal *v);
/// vhat by the forces in the sim.
void tgi_impulse_free_motion(tgSim *s);
/// y = M x, at the pose of the step's start.
void tgi_mass_mul(const tgSim *s, const tgReal *x, tgReal *y);
/// out = Mh^-1 x for a vector of nv; may be in place.
void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out);
/// out = J x (rows), out = J' f (nv).
void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out);
void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out);
/// out (nv) += Mh^-1 J' f.
void tgi_rows_respond(const tgSim *s, const tgReal *f, tgReal *out);
/// How far the rows' pose is from that of the balance, as a share of dt v: 0 at the same one.
static inline double tgi_rows_away(const tgSim *s) { return s->midway ? (s->ahead ? 0.5 : -0.5) : s->ahead ? 1 : 0; }
/// The middle of the flow that is in the sim stands for its start, or, again, the start does: what is of the balance, its derivatives and
/// the state of its actuators, are asked for in between.
static inline void tgi_midway(tgSim *s) {
  tgPose other = s->start;
  s->start = s->middle;
  s->middle = other;
  s->midway = !s->midway;
}
/// True when the step keeps contact forces out of its gradient (the ablation of tgImpulseOptions).
static inline bool tgi_no_contact_gradient(const tgSim *s) {
  return s->contact_model == NULL || tgi_impulse_options(s)->zero_contact_gradient;
}
/// Share of the part at whose end joint damping, joint springs and servos are taken: 1, and 1/2 in the middle of a flow.
static inline double tgi_late(const tgSim *s) { return s->midway ? 0.5 : 1; }
/// Actuators at the end of the part that is in the sim, where its velocity is v, in *end; NULL: they are taken at the start.
static inline const tgStepEnd *tgi_servo_end(const tgSim *s, const tgReal *v, tgStepEnd *end) {
  *end = (tgStepEnd){.h = tgi_late(s) * s->dt, .v = v, .from = s->midway ? s->start.vel : NULL};
  return tgi_impulse_options(s)->servos == TG_SERVOS_IMPLICIT && tgRe(s->dt) != 0 ? end : NULL;
}
/// out (nv) = tau - c - h K v at (q0, v), in the middle of a flow tau - c: what v changes by in a part of h, but for Mh^-1 h. Bias and
/// passive forces are those in the sim.
void tgi_impulse_smooth(const tgSim *s, const tgReal *v, tgReal *out);
/// Bytes of a record of which forces of actuators are held, at the head of those of rows; to and from it.
size_t tgi_servo_record_bytes(const tgSim *s);
void tgi_servo_record(const tgSim *s, void *to);
/// True when joint damping and stiffness are taken at the start of the step.
static inline bool tgi_explicit_damping(const tgSim *s) { return tgi_impulse_options(s)->explicit_damping; }
/// Diagonal stiffness of dof d in Mh, 0 with explicit damping.
static inline tgReal tgi_implicit_stiffness(const tgSim *s, int d) {
  return tgi_explicit_damping(s) ? 0 : s->m.jnt_stiffness[s->m.dof_jnt[d]];
}
/// The same as far as the spring's way in the part is not in the pose that forces are of, as it is in the middle.
static inline tgReal tgi_stiffness_ahead(const tgSim *s, int d) { return s->midway ? 0 : tgi_implicit_stiffness(s, d); }
/// Share of a contact's restitution that row i bounced with: 1 as a rule [math/lcp Restitution], 0 where it does not bounce.
static inline tgReal tgi_bounce_share(const tgSim *s, int i) {
  return tgRe(s->rows->bounce[i]) > 0 ? s->rows->bounce[i] / s->contact[s->rows->owner[i]].restitution : 0;
}

/// Some row has a share of its free velocity in its bias.
static inline bool tgi_any_bounce(const tgSim *s) {
  for (int i = 0; i < s->nrow; i++)
    if (tgRe(s->rows->bounce[i]) != 0) return true;
  return false;
}
/// a (nv) = (v - v0)/h.
static inline void tgi_mean_acceleration(const tgSim *s, const tgReal *v, tgReal *a) {
  for (int d = 0; d < s->m.nv; d++) a[d] = (v[d] - s->start.vel[d]) / s->dt;
}

/// Where an adjoint goes, everything added: coordinates, velocities, controls, parameters but the step size, the length
/// of the part; gu, p and dt may be NULL. clamps counts those met.
/// force (nrow, NULL: none): a gradient in the impulses of the rows besides. forced (nrow, NULL: not wanted): set, not added to: the
/// gradient in impulses that are given to the rows from outside.
/// shape (ncon x 12, NULL: none): a gradient in the points and axes of the contacts besides (tgi_rows_sum_vjp).
/// pull (nrow, NULL: none): impulses along the rows besides theirs, held, at which the balance is; lambda (nv, NULL: not wanted): set, the
/// gradient in the momentum of the balance.
typedef struct tgiAdjoint {
  tgReal *gq, *gv, *gu;
  tgParamGrad *p;
  tgReal *dt;
  int *clamps;
  const tgReal *force, *shape;
  tgReal *forced;
  const tgReal *pull;
  tgReal *lambda;
} tgiAdjoint;

/// x' dM y: what x' M y has of coordinates and parameters at held x and y.
tgStatus tgi_impulse_mass_vjp(tgSim *s, const tgReal *x, const tgReal *y, const tgiAdjoint *o);
/// Adjoint of (q0, v0, u, parameters, dt) -> the velocity of the problem that is selected (tgi_problem_velocity), z its gradient.
tgStatus tgi_impulse_vjp(tgSim *s, const tgReal *z, const tgiAdjoint *o);
/// The sum of that of both problems over the rows, z1 the gradient of the first one's velocity, z2 of the second one's, in one pass.
tgStatus tgi_impulse_both_vjp(tgSim *s, const tgReal *z1, const tgReal *z2, const tgiAdjoint *o);
/// Adjoint of what the seeds weigh of the contacts in the sim, of whose rows the problem that is selected is, at held velocities after it.
tgStatus tgi_part_touches_vjp(tgSim *s, tgiTouchSeeds *k, const tgiAdjoint *o);
/// Dense derivative of the same, D (nv x (2 nv + nu), row-major): columns q, v, u. Shares no code with the adjoint.
tgStatus tgi_impulse_jacobian(tgSim *s, tgReal *D, int *clamps);
/// The same, with that of the impulses, F (nrow x (2 nv + nu)).
tgStatus tgi_impulse_forces_jacobian(tgSim *s, tgReal *D, tgReal *F, int *clamps);
/// out (nv) = derivative of the same in the length of the part.
tgStatus tgi_impulse_length_derivative(tgSim *s, tgReal *out);
/// The same, with that of the impulses, forces (nrow); NULL: not wanted.
tgStatus tgi_impulse_length_forces(tgSim *s, tgReal *out, tgReal *forces);
/// In the middle of a flow: forces by u_k, or u* (event_order.h), with the mean acceleration a, times h: in q, added to G (may be NULL),
/// and in that velocity, written to Gm, whose other entries the caller sets to zero. Joint dampers are of v.
tgStatus tgi_turned_forces_into(tgSim *s, const tgReal *a, const tgiPlaces *to, tgReal *G, tgReal *Gm, int *clamps);
/// Q (nv x nv) = d(J' f)/dq of the rows in the sim, which are at the pose.
tgStatus tgi_rows_pull_jacobian(tgSim *s, const tgPose *pose, const tgReal *f, tgReal *Q);
/// v1, or of the positions' problem V.
static inline const tgReal *tgi_problem_velocity(const tgSim *s) { return s->problem == 0 ? s->end.vel : s->rows->mean; }
/// The part that is in the sim is an impact.
static inline bool tgi_is_impact(const tgSim *s) { return tgRe(s->dt) == 0; }

#endif
