// grad.h: the gradient check: a step's and a rollout's derivatives against independent differences, block by block.
#ifndef TANGERE_GRAD_H
#define TANGERE_GRAD_H

#include "tangere/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options; size is set by tg_grad_check_default.
typedef struct tgGradCheckOptions {
  size_t size;                     ///< set by tg_grad_check_default
  double h;                ///< of the step [s], 0: the model's timestep; a rollout has its own
  double tolerance;        ///< of a block, max|dD| / max|D_ref|; 1e-6. A block whose entries are below what the reference can tell is
                           ///< measured by that: round-off of the reference, or 4 times the error that it estimates of
                           ///< itself up to that of its narrowest step
  double dot_tolerance;    ///< of the adjoint: |<w,Jv> - <J'w,v>| / (|w| |J| |v|); 1e-11. Under a contact potential at
                           ///< least the rounding of coordinates over
                           ///< the least gap: 2.2e-16 m over it, or times the largest number of the state where that is more than 1
  double slope_tolerance;  ///< of a rollout's Taylor remainder: |slope - 2|; 0.1
  uint64_t seed;           ///< of the random directions
  const volatile int *cancel;  ///< polled before each step of a step's check; not 0: stop with TG_CANCELLED. May be
                               ///< NULL; a rollout's check has that
                               ///< of its run
} tgGradCheckOptions;
TG_API tgGradCheckOptions tg_grad_check_default(void);  ///< The defaults of gradient checks.

typedef enum tgDifference {  ///< Finite differences.
  TG_DIFFERENCE_RIDDERS,           ///< central ones of shrinking steps, extrapolated to none (default)
  TG_DIFFERENCE_CENTRAL            ///< central ones of one step
} tgDifference;
/// Options; size is set by tg_difference_default.
typedef struct tgDifferenceOptions {
  size_t size;                     ///< set by tg_difference_default
  tgDifference method;             ///< how
  double h;                ///< of the step of simulation [s], 0: the model's timestep
  double step;             ///< of the difference, the first of them in tangents, activations and controls; 0: 1e-4, of central ones 1e-7
  int first, count;        ///< columns that are wanted; count 0: all from `first` on
} tgDifferenceOptions;
TG_API tgDifferenceOptions tg_difference_default(void);  ///< The defaults of finite differences.
/// Jacobian of a step from the sim's present state by finite differences, a baseline for what tg_sim_step_jacobian
/// gives exactly: shape and columns as there, of which those wanted are written. Contact memory is used as it is found
/// and goes on from step to step (tg_sim_freeze_memory holds it). State and controls are restored. Returns the step's
/// status when one fails. Allocates its work arrays, and may make more room in the sim.
TG_API tgStatus tg_grad_differences(tgSim *sim, const tgDifferenceOptions *options, tgReal *D);

/// Verdict on one block.
typedef struct tgGradBlock {
  char name[32];           ///< "dq'/dq", "dv'/du", "adjoint", "rollout du", "rollout slope"
  double error, tolerance; ///< as the options say; with spoiled columns the tolerance is at least the round-off of their narrow stencils
  tgGradLabel label;               ///< how right the derivative says it is
  bool pass;                       ///< it agrees within the tolerance
  int row, col;            ///< worst entry, -1 when the block has none
  char row_name[64], col_name[64];   ///< its joint or actuator
  double ours, reference;  ///< its two values
  double estimate;         ///< error that the reference itself may have, relative as `error`
  int spoiled;             ///< columns across which the step changes mode; they were compared one-sided
  char reason[192];        ///< what spoils it: the contact or limit and its classes on the two sides; "" when nothing does
} tgGradBlock;

enum { TG_GRAD_BLOCKS = 32 };  ///< Blocks that a check has room for.
typedef struct tgGradCheck {  ///< Outcome of gradient checks.
  bool pass;                       ///< all blocks agree
  int nblock;                      ///< blocks in use
  tgGradBlock block[TG_GRAD_BLOCKS];  ///< their verdicts
} tgGradCheck;

/// Checks the step from the sim's present state: dense Jacobian against extrapolated differences on the manifold with the contact
/// memory frozen after one nominal step, adjoint against Jacobian by a dot test. The sim's state is restored. A column across which
/// contact classes, contacts or clamps change is compared with both one-sided differences and passes if either side agrees and the
/// label says one-sided. Where several ties meet and neither side is the Jacobian's, it is compared with the differences of the step that
/// keeps the nominal rows and classes at every point, provided that the label says one-sided or no switch is within
/// 1e-9. Returns the step's status when it fails; pass and blocks say the rest. Allocates its work arrays, and may make
/// more room in the sim as tg_sim_reserve does.
TG_API tgStatus tg_grad_check_step(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check);

/// Appends one block, "dL/dp": the step's adjoint in every parameter of the model that has a derivative
/// (tg_param_name), for a random functional L of (q', v', act'), each array along one random direction, against
/// extrapolated differences of steps that keep the rows and classes of the nominal one, or, where it has impacts, whose times move
/// with every parameter, of those that the engine makes. col_name is the worst array; spoiled counts those next to whose values the
/// step changes mode however little they move: a side has to agree, and the label is one-sided or worse. Arrays without a derivative in
/// this model are left out, and the reason names the first; so are entries that are 0 where that is the end of their range (friction, dry
/// friction, restitution), and numbers of the contact model at an end of theirs. State, memory and parameters are restored. Returns the
/// step's status when it fails.
TG_API tgStatus tg_grad_check_parameters(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check);

/// Appends blocks "second dq", "second dv", "second dact" (with activations), "second du", "second dp", "second
/// symmetry": products with the Hessian of a random functional of (q', v', act') along every coordinate of (q, v, act,
/// u) and along one random direction for each array of parameters with a derivative (but the step's size), against
/// extrapolated differences of the step's adjoint, which share no arithmetic with them; and <b, H a> against <a, H b>,
/// to 1e-10. Rows of blocks are coordinates and, in "second dp", parameters, by name. For contact models whose step is
/// twice differentiable: TG_ERR_UNSUPPORTED else. State and parameters are restored.
TG_API tgStatus tg_grad_check_second(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check);

/// Checks the gradient of a rollout (run->loss is needed; its outputs are not used) in random directions of q0, v0,
/// act0 and u: directional derivatives against extrapolated differences, and the slope of the Taylor remainder. Blocks
/// are appended to check, which starts zero-initialised or as tg_grad_check_step left it; an error's text is in
/// tg_sim_error of the rollout's sim.
TG_API tgStatus tg_grad_check_rollout(tgRollout *rollout, const tgRolloutRun *run, const tgGradCheckOptions *options, tgGradCheck *check);

/// Options of a check of a motion; size is set by tg_motion_check_default.
typedef struct tgMotionCheckOptions {
  size_t size;             ///< set by tg_motion_check_default
  double h;                ///< longest step size [s]; 0: the model's timestep
  int steps;               ///< of that size, 100: the motion lasts steps times h
  const tgReal *u;         ///< controls, steps x nu, each held over its step at every step size; NULL: those of the sim, held
  int halvings;            ///< of h, 0 to 8; 3. Where value or gradient does not converge over them and yet changes less and less,
                           ///< there are up to two more; the order is that of the last `halvings` of them
  uint64_t seed;           ///< of what is differentiated and of the directions
  const volatile int *cancel;  ///< polled before each step; not 0: stop with TG_CANCELLED. May be NULL
} tgMotionCheckOptions;
TG_API tgMotionCheckOptions tg_motion_check_default(void);  ///< The defaults of checks of a motion.

/// What becomes of a number of the motion as the step shrinks.
typedef enum tgConvergence {
  TG_CONVERGES,            ///< its changes fall with the step, of order 0.5 at least, or are round-off
  TG_CONVERGES_NOT,        ///< they do not
  TG_GROWS                 ///< it grows itself, as a power of 1/h of 0.5 at least: what the step knows, the motion does not
} tgConvergence;
/// "converges", "does not converge", "grows"; NULL for no such value.
TG_API const char *tg_convergence_text(tgConvergence convergence);

/// The motion at one step size. A change is that from the row before; in the first row 0.
typedef struct tgMotionRow {
  double h;                        ///< step size [s]
  double value, value_change;      ///< of the functional of the end
  double gradient, gradient_change;///< norms of its gradient in (q0, v0, act0, u)
  double entry;                    ///< the entry of the gradient that changes most at the last halving
  tgGradLabel label;               ///< how right each gradient says it is
  int unstable;                    ///< of the longest step size: steps that were longer than they are stable (tg_sim_watch_stability)
} tgMotionRow;

/// The gradient at the longest step size against central differences of the motion itself, of one width.
typedef struct tgWidthRow {
  double width;            ///< of (q0, v0, act0) along unit directions
  double error;            ///< largest |difference - derivative| over the norm of the gradient in (q0, v0, act0), of three
                           ///< random directions; infinite
                           ///< where the motion from such a start is refused
  double ours, reference;  ///< the two, of the worst direction
} tgWidthRow;

enum { TG_MOTION_ROWS = 9, TG_MOTION_WIDTHS = 6 };  ///< Rows that a check of a motion has room for.
typedef struct tgMotionCheck {  ///< Outcome of a check of a motion.
  bool pass;                       ///< value and gradient converge, no step is longer than it is stable, and the
                                   ///< gradient is the slope of the motion at some width
  tgConvergence value, gradient;   ///< as the step shrinks
  double value_order, gradient_order;  ///< of their changes in h, by least squares; NAN where all are round-off, or fewer than two
  double growth;                   ///< of the gradient's norm as a power of 1/h, by least squares
  double holds_to;                 ///< the largest width at which the differences are within a tenth of the gradient; 0: none
  char entry_name[80];             ///< of tgMotionRow.entry: "q0 of 'slide'"
  char reason[256];                ///< why it does not pass, "" when it does
  int nrow;                        ///< rows in use
  tgMotionRow row[TG_MOTION_ROWS]; ///< from the longest step size to the shortest
  int nwidth;                      ///< widths in use
  tgWidthRow width[TG_MOTION_WIDTHS];  ///< 1e-7 to 1e-2
} tgMotionCheck;

/// Checks the gradient of a motion, which may be wrong where that of each step is right: is it the motion's, or the
/// step size's? From the sim's state, with its parameters, controls and applied forces, the motion is run at h,
/// h/2, h/4 .. and a random functional of its end differentiated in (q0, v0, act0, u): both have to converge. At h the
/// gradient is compared with differences of the motion over widths from 1e-7 to 1e-2. Runs start with empty contact
/// memory. The sim is left as it was. Returns the status of a run that fails, its step size named in the error.
/// Allocates its work arrays.
TG_API tgStatus tg_grad_check_motion(tgSim *sim, const tgMotionCheckOptions *options, tgMotionCheck *check);

/// Options; size is set by tg_trust_default.
typedef struct tgTrustOptions {
  size_t size;             ///< set by tg_trust_default
  double least, most;      ///< changes of the variables that are tried, by their norm, both above 0: 1e-6 to 1e3
  int directions;          ///< random directions that are tried beside the gradient's, 0 to 100: 12
  uint64_t seed;           ///< of them
  bool quick;              ///< wider steps from width to width: a third of the rollouts, and a range that is told more narrowly
} tgTrustOptions;
TG_API tgTrustOptions tg_trust_default(void);  ///< The defaults.

/// How far a gradient may be trusted, beside how right it is: a derivative that is exact may hold over no change that matters.
typedef struct tgTrust {
  double loss, slope;      ///< the loss, and the norm of its gradient
  double range;            ///< largest norm of a change up to which the gradient foretells the loss within a factor of 2: down and up
                           ///< the gradient and, measured by what a random direction sees of it, along random directions. 0: none that
                           ///< was tried
  bool beyond;             ///< it is the largest that was tried
  double growth;           ///< by which the adjoint state grows a step on its way back, the geometric mean; norms in SI units
  int step;                ///< the step that multiplies it most, -1: none does
  double multiplied;       ///< and by how much
  char by[128];            ///< the contact that presses most in that step, "" without contact
  int unstable;            ///< steps that were longer than they are stable (tg_sim_watch_stability): all may grow without bound
  int ambiguous;           ///< steps in which the way of contacts changed and their solve has another answer (tgStepInfo.nambiguous; with
                           ///< tg_sim_watch_answers all steps that have one): which of them the motion goes by, a small change may decide
  int untimed;             ///< steps under `lcp` by `contact_rule: touching` in which bodies met that were apart before: their
                           ///< gradient does not know when in the step, and though exact need not be the motion's
  tgGradInfo grad;         ///< how right the gradient is
  int runs;                ///< rollouts that were made to find the range
} tgTrust;

/// Trust in the gradient of the run's loss in its controls: some 300 rollouts without a gradient beside one with. The run's loss, start and
/// controls are those given; what it asks for is not written.
TG_API tgStatus tg_rollout_trust(tgRollout *rollout, const tgRolloutRun *run, const tgTrustOptions *options, tgTrust *trust);

#ifdef __cplusplus
}
#endif
#endif
