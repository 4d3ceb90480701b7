// stepper.h: what a kind of step is to everything around it: its equations of motion and how they are solved. One line in step/table.c.
//
// A step is a map (q, v, u) -> (q', v') at the step size h, u the input of each actuator (tgi_actuator_input): its control,
// or an activation, which the caller advances. The caller (step/step.c) checks the state, notes it as (q0, v0), which is
// s->start.q and s->start.vel, and takes over (q1, v1), s->end.q and s->end.vel.
// No file outside a stepper's own asks which one runs.
#ifndef TG_SIM_STEPPER_H
#define TG_SIM_STEPPER_H

#include "base/layout.h"
#include "base/status.h"
#include "tangere/force.h"
#include "tangere/step.h"

/// What is told of the inside of a step, by rising times: see tg_sim_impacts and tg_sim_poses_within.
typedef struct tgiInside {
  bool impacts;          // asked for; else poses
  double last;           // time of the one before
  int n, room;           // found, and how many of them go to these
  tgImpact *impact;
  double *time;
  tgReal *q;
} tgiInside;

/// A leg of a step: the parabola in the joints that leaves q0 at v0 and comes to q1 in the time t.
typedef struct tgiLeg { const tgReal *q0, *v0, *q1; tgReal t; } tgiLeg;
/// A number that a leg's way decides: its slopes in those, q in tangent coordinates.
typedef struct tgiLegSlopes { int leg; const tgReal *q0, *v0, *q1; tgReal t; } tgiLegSlopes;

/// A gradient in what tgContactModel.touch gives of a contact: `world`, `torque`, `point`, and the first two rows of the frame.
typedef struct tgiTouchGrad { tgReal world[3], torque[3], point[3], normal[3], tangent[3]; } tgiTouchGrad;

typedef struct tgStepper {
  const char *name;            ///< by which a contact model asks for it
  bool rows;                   ///< contact points and constraint rows are made: a sim has room for them
  bool twice;                  ///< the step has second derivatives, by its adjoint in complex numbers, where first ones are exact
  bool velocity_by_difference; ///< v' = (q' (-) q)/h: the round-off of coordinates stands in it over h

  /// TG_ERR_UNSUPPORTED names the first element of the model that the equations do not support. Makes what the stepper
  /// keeps with the contact model.
  tgStatus (*supports)(tgContact *c, tgError *error);
  /// Bytes of scratch that its dense derivative needs besides the dynamics'. May be NULL, as all that follow may
  /// but step, vjp and jacobian.
  size_t (*scratch)(const tgContact *c);
  /// Its own arrays, s->own; with l->base NULL counts. They need not outlive a change of capacity.
  void (*place)(tgSim *s, tgLayout *l);
  /// Array i of its own as tg_sim_field gives it; name NULL past the last.
  tgField (*field)(const tgSim *s, int i);

  /// From (q0, v0): q1, v1 and s->info. Nothing of the state changes.
  tgStatus (*step)(tgSim *s, double h);
  /// What of a step that was taken over is remembered for the next: choices, and of large islands forces, from which a search starts.
  void (*remember)(tgSim *s);
  /// Whether the last step can be made from elsewhere with the rows and classes that it had (s->pinned): a step with impacts cannot, as
  /// their times are unknowns of their own. NULL: none can.
  bool (*pins)(const tgSim *s);
  /// A step taken over, as a record of record_bytes (its room; any alignment to 16), and back: with the sim at (q0,
  /// v0), control and memory of before, what vjp, jacobian and label read, q1 and v1, all to the bit as step left it,
  /// but without solving for it. All three or none: a step is then made anew.
  size_t (*record_bytes)(const tgSim *s);
  void (*record)(const tgSim *s, void *to);
  tgStatus (*revisit)(tgSim *s, double h, const void *from);
  /// Adjoint of the last step: adds to aq, av (nv), du (nu) and p (du and p may be NULL) what gq = dL/dq', gv = dL/dv'
  /// (either may be NULL) are in q0, v0, the control and the parameters. clamps counts those met.
  tgStatus (*vjp)(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
  /// The same of the contacts of the last step, from g, one for each number of tgContactModel.touch. TG_ERR_UNSUPPORTED names one of which
  /// a part that g weighs has no derivative. NULL: no contact has any.
  tgStatus (*touches_vjp)(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
  /// Its dense derivative, D (2 nv x (2 nv + nu), row-major): rows q', v', columns q, v, u. Shares no derivative code with vjp.
  tgStatus (*jacobian)(tgSim *s, tgReal *D, int *clamps);
  /// Raises the label of a derivative of the last step where it is not that of the step.
  void (*label)(const tgSim *s, tgGradInfo *info);

  /// See tg_sim_step_advice; NULL: steps of any size are stable.
  tgStatus (*advice)(tgSim *s, tgStepAdvice *out);
  /// See tg_sim_inverse_contact; NULL: contact forces have no closed form.
  tgStatus (*inverse)(tgSim *s, const tgReal *qacc, tgReal *tau);
  /// See tg_sim_contact_potential; NULL: contact has none.
  tgStatus (*potential)(tgSim *s, tgReal *energy, tgReal *gradient);
  /// Of the last step: see tg_sim_impacts and tg_sim_poses_within; NULL: it has no impacts and its way is not known.
  tgStatus (*inside)(tgSim *s, tgiInside *out);
  /// Leg k of the way of the last step, in the order of time, see tgiLeg: *leg.t is 0 where it is none, as of an impact. False: there are
  /// no more. NULL: the way is not known.
  bool (*leg)(const tgSim *s, int k, tgiLeg *leg);
  /// Adjoint, as vjp, of a number that the way of one leg decides. Where leg is.
  tgStatus (*leg_vjp)(tgSim *s, const tgiLegSlopes *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
  /// See tg_sim_geom_points and tg_sim_step_points_vjp; NULL both: no geom collides by points.
  int (*points)(tgSim *s, int geom, const tgReal **position, const tgReal **normal);
  tgStatus (*points_vjp)(tgSim *s, const tgReal *gq, const tgReal *gv, int geom, tgReal *dposition, tgReal *dnormal);
} tgStepper;

#endif
