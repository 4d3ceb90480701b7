// step.h: one step as a differentiable map (q, v, u) -> (q', v'), with its adjoint and its Jacobian.
#ifndef TANGERE_STEP_H
#define TANGERE_STEP_H

#include "tangere/param.h"
#include "tangere/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a step's solve did. Filled by every step.
typedef struct tgStepInfo {
  bool converged;                  ///< the conditions hold to the solver's tolerance, with no fallback
  int iterations;          ///< of the contact solver (pivots or sweeps), or Newton steps of a minimisation
  int stage;               ///< of the contact solver that gave the answer: 0 none (nothing to solve, or no answer), 1 warm classes,
                           ///< 2 pivoting, in islands of many rows interior points, 3 Lemke, 4 Lemke on a shifted matrix, 5 sweeps
  double residual;         ///< of the contact conditions, relative; of a law with an energy: the last Newton step, of the scene's size
  double least_distance;   ///< smallest gap between geoms that may touch, infinity when none was near [m]
  int ncontact, nrow;      ///< active contact points, constraint rows; 0 under a contact potential, which has neither: see least_distance
  int nisland;             ///< islands: sets of trees that constraints join; each is solved and differentiated by itself
  int nleft;               ///< overlaps and passed limits left as they are, because with them pushed out the conditions
                           ///< of their island contradict
                           ///< each other (a part jammed by friction); they are held, and pushed out again when that is possible
  int ndamped;             ///< islands that bounce less than their restitution says, which would have added energy or
                           ///< contradicted other contacts
  int fallback;            ///< what the step went on with where its contact solve had no answer (option `unsolved`): 0 all had one,
                           ///< 1 less friction (a half, a quarter, none), 2 the least residual: at once where that is at most 1e-6 of
                           ///< forces and speeds, else where less friction has no answer either; gradients are then labelled surrogate
  int nfallback;           ///< in how many solves of islands
  int nambiguous;          ///< islands whose conditions have another answer than the step's, with other velocities, as friction may jam or
                           ///< slip: which of them it is follows from where the search began. The derivative is that of the one taken.
                           ///< Asked of islands whose classes changed in the step, of at most 9 rows, 24 where it took pivoting, and known
                           ///< where the answer's own matrix proves it; else under tg_sim_watch_answers (`lcp`, `toi`; not of cones)
  int ambiguous1, ambiguous2;      ///< bodies of the first such, -1: none
  int nimpact;             ///< impacts that were taken at their own time (`toi`; `lcp` with `contact_rule: closing`)
  int ncrowded;            ///< contacts and limits that closed fast and were stopped over all that was left of the step, without an
                           ///< impact of their own. Under `lcp` (`closing`), of what does not bounce: those of an island of more than 150
                           ///< rows; where nothing bounces, all beside such an island, and all if they would meet at more than 8 times
                           ///< (1200 over the number of rows, where these are more than 150). After 8 impacts all. Under `toi`
                           ///< those of an island after 64 impacts of it
  int nstalled;            ///< islands that `toi` held where they were for the rest of the step, after too many impacts or pieces, or
                           ///< after 16 impacts with a solve that had no answer
  int ncut;                ///< overlaps and errors of which the push speed leaves a part after the step (`contact_rule: closing`); under
                           ///< `toi` errors of equalities of more than 1e-4 m or rad, of which 1 m/s or rad/s leaves a part
  double energy_gained;    ///< kinetic energy that constraints added to the free motion's: overlap and errors thrown out as velocity, which
                           ///< only `contact_rule: touching` does [J]
  double push_energy;      ///< potential energy of weights and springs that pushing out overlaps, passed limits and errors of equalities,
                           ///< in positions alone, has added: `contact_rule: closing` [J]
  bool burst;              ///< that is more than the free motion had: bodies are thrown about
  int burst1, burst2;      ///< bodies of the row that added most of it, -1: none
  double stable_step;      ///< under tg_sim_watch_stability: largest stable step at the state that the step began from,
                           ///< as tg_sim_step_advice [s]; else infinity
  bool unstable;           ///< the step was longer than that: forces may overshoot, motions and gradients grow without bound
  bool rank_deficient;     ///< redundant contacts: the forces are those of least norm
  int rank;                ///< how many of the conditions that hold at the end are independent; where it changes, so does the derivative
  int body1, body2;        ///< culprits when not converged, of a fallback the first, else -1
  size_t scratch_high;     ///< bytes of scratch used at most
} tgStepInfo;

/// How right a gradient is.
typedef enum tgGradLabel {
  TG_GRAD_EXACT,           ///< the derivative
  TG_GRAD_ONE_SIDED,       ///< a tie or a mode switch was met: one of several one-sided derivatives
  TG_GRAD_SMOOTHED,        ///< of a loss smoothed over normal perturbations (tg_task_smoothed); no contact model smooths a step
  TG_GRAD_SURROGATE,       ///< of something else than the step; the reason says what
  TG_GRAD_UNSTABLE         ///< of a step of explicit forces that is longer than it is stable: it overshoots, and says nothing of the motion
} tgGradLabel;
/// "exact", "one-sided", "smoothed", "surrogate", "unstable"; NULL for no such label.
TG_API const char *tg_grad_label_text(tgGradLabel label);
typedef struct tgGradInfo {  ///< How right a gradient is, and why.
  tgGradLabel label;               ///< the worst met
  bool converged;          ///< false: a step in it had not converged
  int ties;                ///< how many were met
  int first_step;          ///< of a rollout the first step with this label, of which the reason is; -1 when all are right
  char reason[192];        ///< "" when exact; names the first tie's geoms or joint
} tgGradInfo;

/// One step of h seconds from the sim's (qpos, qvel, act, ctrl); qpos, qvel, act and the memory become those after it.
/// Forces are made with the activations at its start. Arrays of frames and dynamics keep the values at the start of the
/// step. info may be NULL. Returns TG_NOT_CONVERGED with the state unchanged when a minimisation failed, or a contact solve under
/// `unsolved: stop`;
/// TG_ERR_CAPACITY, TG_ERR_NOT_FINITE and, under a contact model with a potential, TG_ERR_INVALID for bodies that touch
/// or a joint at its limit at the start, likewise change nothing.
TG_API tgStatus tg_sim_step(tgSim *sim, double h, tgStepInfo *info);
/// The same with tg_sim_grow and another try where capacity is short: such a step allocates. TG_ERR_MEMORY: there is none.
TG_API tgStatus tg_sim_step_growing(tgSim *sim, double h, tgStepInfo *info);

/// *cancel is looked at in each iteration of a step's solvers from now on; not 0: the step ends with TG_CANCELLED and changes nothing.
/// NULL: nobody cancels, as at first. Rollouts have a flag of their own (tgRolloutRun.cancel).
TG_API void tg_sim_watch_cancel(tgSim *sim, const volatile int *cancel);

/// What the last step's solve did, that of one that failed too: it names the culprits. NULL without a sim.
TG_API const tgStepInfo *tg_sim_step_info(const tgSim *sim);

/// Adjoint of the last step: from gq = dL/dq' (nv, tangent) and gv = dL/dv' (nv + na: velocities, then activations;
/// NULL: zero) to dL/dq (nv), dL/dv (nv + na), dL/du (nu), written, not added. dL/dp of the parameters of dp is added
/// to it; "opt_timestep" is h. Outputs may be NULL. TG_ERR_STATE when the last call was not a successful step,
/// TG_ERR_ARG for a dp of another model or contact model, TG_ERR_UNSUPPORTED for a parameter without a derivative in
/// this model (the sim's error names it), TG_ERR_CAPACITY: tg_sim_grow, then step again. After an error outputs mean nothing.
TG_API tgStatus tg_sim_step_vjp(tgSim *sim, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp,
                                tgGradInfo *info);

/// Dense Jacobian of the last step: rows (q', v', act'), columns (q, v, act, u): (2 nv + na) x (2 nv + na + nu),
/// row-major, tangent coordinates.
TG_API tgStatus tg_sim_step_jacobian(tgSim *sim, tgReal *D, tgGradInfo *info);

/// Dense Jacobian of the last step in the parameters of dp: rows (q', v', act'), columns as in tg_param_grad_values:
/// (2 nv + na) x size, row-major, tangent coordinates. One adjoint for each row; dp is overwritten. Errors as for the
/// adjoint.
TG_API tgStatus tg_sim_step_param_jacobian(tgSim *sim, tgParamGrad *dp, tgReal *D, tgGradInfo *info);

/// The same two of another contact model's step at the same state: `by`, a simulation of the same model under the
/// contact model that the gradient is to be of (tg_contact_create_gradient), takes state, control, applied force and
/// the model's parameters of before sim's last step, steps as long, and is differentiated; its memory begins empty. The
/// label is always surrogate, and the reason names both contact models. dp: of the model alone or of the contact model
/// of `by`. Errors of its step are sim's, with TG_ERR_INVALID for bodies that it cannot have so near, by name;
/// TG_ERR_CAPACITY: tg_sim_grow(by).
/// TG_ERR_ARG: `by` is sim itself or of another model.
TG_API tgStatus tg_sim_step_vjp_by(tgSim *sim, tgSim *by, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv,
                                   tgReal *du, tgParamGrad *dp, tgGradInfo *info);
TG_API tgStatus tg_sim_step_jacobian_by(tgSim *sim, tgSim *by, tgReal *D, tgGradInfo *info);

/// How long steps of an explicit law may be at a state.
typedef struct tgStepAdvice {
  double h;                ///< largest step for which the stiffest mode met is stable [s]; infinite when nothing is stiff
  double frequency;        ///< of that mode [rad/s]
  double damping;          ///< its rate [1/s]
  char reason[320];        ///< what it is: a contact, friction or limit, by the names of its geoms or joint; "" when h is infinite
} tgStepAdvice;
/// Advice at the sim's present (qpos, qvel): each pair alone, as if it carried the weight of the lighter body
/// or, where more, its present force; limits and dry friction. A bound for one contact: several that act
/// together may need less. Fields then hold values at that state. TG_ERR_UNSUPPORTED: the contact model is of
/// another kind and has no explicit forces.
TG_API tgStatus tg_sim_step_advice(tgSim *sim, tgStepAdvice *advice);
/// The oriented points by which geom `geom` collides under an explicit law: their number, 0 when it has none; *position
/// and *normal (n x 3, frame of the geom, at the sim's sizes; either may be NULL) hold until the sim's next call.
TG_API int tg_sim_geom_points(tgSim *sim, int geom, const tgReal **position, const tgReal **normal);
/// Adjoint of the last step in each of those points: dposition, dnormal (n x 3, frame of the geom, written; either may
/// be NULL) from gq = dL/dq', gv = dL/dv' (nv + na; NULL: zero). Normals count as free vectors: of a unit normal
/// take the part across it. What sizes and scales do to points together is geom_size and geom_scale of a tgParamGrad.
/// TG_ERR_STATE when the last call was not a successful step, TG_ERR_UNSUPPORTED when the geom has no points.
TG_API tgStatus tg_sim_step_points_vjp(tgSim *sim, const tgReal *gq, const tgReal *gv, int geom, tgReal *dposition, tgReal *dnormal);
/// on: each step under an explicit law fills stable_step and unstable of its tgStepInfo, and tgRolloutResult counts such
/// steps; the bits of the step stay. It then takes about twice the time with Euler, a quarter more with Runge-Kutta.
/// Kept by tg_sim_reset; for a rollout, set it on tg_rollout_sim. Off at first, and without effect under contact models
/// of other kinds, whose forces are implicit. Gradients need no watch: their label says where a step was too long.
TG_API void tg_sim_watch_stability(tgSim *sim, bool on);
/// on: each step under `lcp` and `toi` looks for other answers of all its contact solves and counts them in nambiguous of its tgStepInfo;
/// tgRolloutResult counts such steps; the bits of the step stay. A search follows the answer's own curve as contacts are pulled apart and
/// pushed together: two pivots a contact and more, in an island of some contacts as much as the step, of tens many times that. It finds
/// nearly all where contacts act independently, most where they squeeze a body or share its load. Islands of more than 150 rows, and
/// friction in a cone, are left out. Kept by tg_sim_reset. Off at first.
TG_API void tg_sim_watch_answers(tgSim *sim, bool on);
/// Inverse dynamics with contact at the present (qpos, qvel): tau (nv) = M qacc + c - contact forces - limits - dry
/// friction, what actuators, springs and applied forces have to give. For contact forces in closed form;
/// TG_ERR_UNSUPPORTED otherwise.
TG_API tgStatus tg_sim_inverse_contact(tgSim *sim, const tgReal *qacc, tgReal *tau);

/// Contact potential [J] at the present qpos and its gradient (nv, tangent): minus the generalised force by which
/// contact pushes bodies at rest. Friction, limits and weight are not in it. Either may be NULL. TG_ERR_INVALID: bodies
/// touch, where it is infinite; TG_ERR_UNSUPPORTED: the contact model has no potential;
/// TG_ERR_CAPACITY: tg_sim_grow, then again.
TG_API tgStatus tg_sim_contact_potential(tgSim *sim, tgReal *energy, tgReal *gradient);

/// A pair of geoms that was moved apart: gaps before and after [m], negative where they overlap (after: at most 1 mm more than
/// was asked for is told), and how far the origins of both went [m].
typedef struct tgSeparated { int geom1, geom2; double before, after, moved1, moved2; } tgSeparated;
/// Moves bodies that overlap, or are nearer than half of `gap` [m], apart until no two are nearer than that, by the least motion in the
/// metric of the mass matrix; of surfaces that the contact model has thicker than the geoms, as `rounding` of `barrier` makes meshes, both
/// are said of these, `before` and `after` of the geoms. Joints stay within their limits, and errors of equalities as they are.
/// gap < 0: that of the contact model, its option `gap`, else tg_contact_resting_gap. qpos alone changes. Returns how many pairs were, 0:
/// nothing was too near; the first `room` of them are in pair (may be NULL with 0), which names each. What overlaps by more than it is
/// thick may end up on either side. Allocates, and may grow the sim as tg_sim_grow does. TG_ERR_INVALID, with qpos as it was: some two
/// cannot be moved apart, which the error names, or a step is refused all the same; errors of the state and of parameters as tg_sim_step
/// has them.
TG_API int tg_sim_separate(tgSim *sim, double gap, tgSeparated *pair, int room);

/// true: contact memory (classes, reference features, tangent choices) is used as it is and not updated, so that the step is
/// a map of (q, v, u) alone; used by gradient checks after one nominal step.
TG_API void tg_sim_freeze_memory(tgSim *sim, bool frozen);

#ifdef __cplusplus
}
#endif
#endif
