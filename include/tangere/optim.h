// optim.h: tasks (a YAML file: model, contact model, decision variables, losses, optimiser) and their optimisation.
#ifndef TANGERE_OPTIM_H
#define TANGERE_OPTIM_H

#include "tangere/grad.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A task read from a file, with its model compiled. Const after loading but for tg_task_override.
typedef struct tgTask tgTask;

/// Reads a task file and the model that it names (path relative to the task file). NULL: error names file, line, field.
TG_API tgTask *tg_task_load(const char *path, const tgLoadOptions *options, tgError *error);
/// The same from text; the model's path is relative to `directory`. NULL where there is no directory: TG_ERR_INVALID.
TG_API tgTask *tg_task_load_text(const char *text, size_t bytes, const char *directory, const tgLoadOptions *options, tgError *error);
TG_API void tg_task_free(tgTask *task);

/// The calls below make the task's contact model anew: free evaluators of the task before.
/// Replaces the contact model word, the optimisation method or the number of iterations (NULL, NULL, 0: as in the file).
TG_API tgStatus tg_task_override(tgTask *task, const char *contact, const char *method, int iterations, tgError *error);
/// Gradients as if no contact force depended on anything (an ablation, labelled surrogate).
TG_API tgStatus tg_task_zero_contact_gradient(tgTask *task, tgError *error);
/// Sets an option of the contact model as tg_contact_set does.
TG_API tgStatus tg_task_contact_option(tgTask *task, const char *name, const char *value, tgError *error);
/// Gradients are those of the contact model `word` (tg_contact_create_gradient), with the task's options that it has
/// and those of the file's `gradient`. Not together with an aware gradient or one without contact forces.
TG_API tgStatus tg_task_gradient(tgTask *task, const char *word, tgError *error);
/// The file's start with each limited slide or hinge joint inside its range by at least `share` (0 to 0.5) of it (tg_model_inside):
/// steps under a contact potential must start so. TG_ERR_ARG: share; of a task that moves bodies apart, errors of
/// tg_task_separate, and its next start may be another. The start of a task that says `inside` itself is so already.
TG_API tgStatus tg_task_inside(tgTask *task, double share, tgError *error);
/// Moves bodies apart that overlap at the file's start, as tg_sim_separate does, now and whenever the contact model is made anew; errors
/// are its own, and the task then stays as it was. The start of a task that says `separate` itself is so already.
TG_API tgStatus tg_task_separate(tgTask *task, double gap, tgError *error);
/// The pairs that were moved apart; the task's, until its contact model is made anew. count may be NULL. NULL: none was asked for.
TG_API const tgSeparated *tg_task_separated(const tgTask *task, int *count);

TG_API const tgModel *tg_task_model(const tgTask *task);  ///< What the task names, as overridden; valid until the next such call.
TG_API const tgContact *tg_task_contact(const tgTask *task);
TG_API const tgContact *tg_task_gradient_contact(const tgTask *task);  ///< NULL: gradients are of the step itself.
TG_API const char *tg_task_model_path(const tgTask *task);
TG_API const char *tg_task_method(const tgTask *task);
TG_API int tg_task_steps(const tgTask *task);
TG_API double tg_task_timestep(const tgTask *task);
/// The most that the farthest position term may be off for the task to be met [m]; NaN: it asks for no distance.
TG_API double tg_task_success_distance(const tgTask *task);
/// Windows of a task with a receding horizon; 0: it plans all at once.
TG_API int tg_task_windows(const tgTask *task);
/// Starts of a task that tries several which differ, else 1.
TG_API int tg_task_starts(const tgTask *task);
/// Attempts that a task allows at starts and stages until a motion holds, else 1.
TG_API int tg_task_attempts(const tgTask *task);
/// Rollouts of an iteration of the methods that sample (random, cem, bundle, and others with `smoothing`).
TG_API int tg_task_population(const tgTask *task);
TG_API double tg_task_rate(const tgTask *task);  ///< Rate of the methods that take steps along a gradient.
/// Another rate. TG_ERR_ARG: it is not positive.
TG_API tgStatus tg_task_set_rate(tgTask *task, double rate, tgError *error);
/// Another step size h [s] over `steps` steps; a receding horizon keeps its seconds. TG_ERR_INVALID: a loss term looks
/// at a time.
TG_API tgStatus tg_task_set_horizon(tgTask *task, int steps, double h, tgError *error);
/// Options of the task's rollouts: steps, step size.
TG_API tgRolloutOptions tg_task_rollout_options(const tgTask *task);

/// A loss term.
typedef struct tgTaskTerm {
  const char *label;               ///< "body_com box"; lives as long as the task
  const char *kind;                ///< its word in task files, "body_com"
  int body;                        ///< that it is about, -1: none
  int ntarget; double target[4];   ///< numbers of the target and the target, in the units of the kind (docs/tasks.md)
  double weight, tolerance;        ///< of its square; distance within which it is 0 [m]
} tgTaskTerm;
/// Loss term i; false past the last.
TG_API bool tg_task_term(const tgTask *task, int i, tgTaskTerm *term);
/// Gives loss term i another body, target, weight and tolerance; label and kind are not read. The weight of `effort` follows; given one
/// itself it keeps that. TG_ERR_ARG: one that the term cannot have, and nothing is changed.
TG_API tgStatus tg_task_set_term(tgTask *task, int i, const tgTaskTerm *term, tgError *error);
/// The task's price on the speed of what actuators drive (docs/tasks.md, `effort`).
typedef struct tgTaskEffort {
  double share;                    ///< of the losses at the start that a speed of 1 m/s or 1 rad/s all the time costs; 0: none
  double weight;                   ///< of the loss term "effort" that it is: share times those losses, and follows them and the start
  bool by_default;                 ///< the file says nothing
  const char *reason;              ///< why there is none then, else ""
} tgTaskEffort;
TG_API tgTaskEffort tg_task_effort(const tgTask *task);  ///< See tgTaskEffort.
/// Label of loss term i, its target [m] and the body that is to reach it (may be NULL); NaN and -1 where the term has no
/// position. NULL past the last.
TG_API const char *tg_task_target(const tgTask *task, int i, double target[3], int *body);
/// Number of decision variables: controls, initial state, model parameters, in this order.
TG_API int tg_task_size(const tgTask *task);
/// Label ("body_mass of box") of decided parameter i and its decision variable (may be NULL). NULL past the last.
TG_API const char *tg_task_parameter(const tgTask *task, int i, int *variable);
/// The parameter array of decided parameter i (tg_sim_param), and its entry there (may be NULL). NULL past the last.
TG_API const char *tg_task_parameter_array(const tgTask *task, int i, int *entry);
/// Entries of the parameter `name` that belong to the element `of`, as a task file's `parameters` name them: how many; -1 and error (may
/// be NULL) where there are none such. of: the name of a body, joint, geom, site, actuator, tendon, equality or sheet, of hull_vert that of
/// the mesh or of a geom of it; NULL where the array is one for the whole model. entry: -1 for all, else one of them, counted along the
/// element's rows, of hull_vert 3 times the number of the mesh's vertex plus the axis. The first `room` places in the row-major array go
/// to `at`, their numbers as entries to `number` (may be NULL).
TG_API int tg_model_entries(const tgModel *model, const char *name, const char *of, int entry, int *at, int *number, int room,
                            tgError *error);
/// Range within which an entry of the parameter `name` may be moved from `start`: masses and sizes stay positive (a millionth of start),
/// friction and the like not negative, Poisson's ratio between -0.99 and 0.49; infinite where every number does.
TG_API void tg_param_range(const char *name, double start, double range[2]);
/// Box of the decision variables, tg_task_size each; infinite where there is no bound.
TG_API void tg_task_box(const tgTask *task, double *low, double *high);
/// The start of the decision variables for a seed: the file's start, plus noise when the file asks for it (start_noise).
TG_API void tg_task_start(const tgTask *task, uint64_t seed, double *x);
/// Sets the decided model parameters of x in a sim of the task's model.
TG_API tgStatus tg_task_set_parameters(const tgTask *task, const double *x, tgSim *sim);
/// q0 (nq), v0 (nv + na: velocities, then activations) and controls (steps x nu) for decision variables x. Outputs may
/// be NULL.
TG_API void tg_task_expand(const tgTask *task, const double *x, double *q0, double *v0, double *u);
/// Methods of this build: "adam", "descent", "lbfgs", "random", "cem", "ilqr", "gauss_newton", "bundle", "ddp",
/// "shooting" (where Ipopt was found); NULL past the end.
TG_API const char *tg_methods(int i);

/// The rollout of a task, which must outlive it: evaluates the loss and its gradient. One thread at a time. tape_bytes
/// as in tgRolloutOptions.
typedef struct tgEvaluator tgEvaluator;
TG_API tgEvaluator *tg_evaluator_create(const tgTask *task, size_t tape_bytes, tgError *error);  ///< NULL: error (may be NULL) says why.
/// The same without a rollout of its own: it makes runs for a tgBatch (tg_evaluator_run), and cannot evaluate. Small
/// where there are many.
TG_API tgEvaluator *tg_evaluator_create_runs(const tgTask *task, tgError *error);
TG_API void tg_evaluator_free(tgEvaluator *evaluator);
/// Loss and, when g is not NULL, its gradient (tg_task_size entries) at x. q ((T+1) x nq), v ((T+1) x (nv + na)):
/// trajectory, may be NULL.
TG_API tgStatus tg_evaluate(tgEvaluator *evaluator, const double *x, double *loss, double *g, double *q, double *v,
                            const volatile int *cancel, tgRolloutResult *result);
/// Trust in the gradient in the decision variables at x (grad.h). cancel may be NULL. error (may be NULL) says what failed.
TG_API tgStatus tg_evaluator_trust(tgEvaluator *evaluator, const double *x, const tgTrustOptions *options, const volatile int *cancel,
                                   tgTrust *trust, tgError *error);

/// How a smoothed gradient is estimated from motions at normal perturbations of the decision variables.
typedef enum tgSmoothOrder {
  TG_SMOOTH_NONE,                  ///< no smoothing: a field of tasks alone
  TG_SMOOTH_FIRST,                 ///< the mean of their gradients: exact derivatives, which see no jump of the loss
  TG_SMOOTH_ZEROTH,                ///< the covariance of their losses and the perturbations: sees jumps, varies more
  TG_SMOOTH_MIXED                  ///< both, weighed by their variances, with less of the first where the two contradict each other
} tgSmoothOrder;
typedef struct tgSmoothOptions {   ///< Options of a smoothed gradient.
  size_t size;                     ///< set by tg_smooth_default
  tgSmoothOrder order;             ///< mixed
  int samples;                     ///< 16; from 1, from 2 where losses are used
  double sigma;                    ///< spread of every variable; 0: 5 % of its box
  uint64_t seed;                   ///< of the perturbations: the same ones for every x
  int threads;                     ///< 0: all cores; the same bits for any number
  size_t tape_bytes;               ///< of each rollout, as in tgRolloutOptions
} tgSmoothOptions;
TG_API tgSmoothOptions tg_smooth_default(void);  ///< The defaults of smoothed gradients.
typedef struct tgSmoothed {        ///< What a smoothed gradient is of.
  tgGradInfo grad;                 ///< smoothed, or worse where a sample's is
  double loss, mean;               ///< at x itself; over the samples
  double share;                    ///< of the first order in it, 0 to 1
  double error;                    ///< bound of its standard error, of all entries together, each times its sigma
  int used;                        ///< samples whose motion went well; others are left out
  long simulations;                ///< rollouts, gradients counted as one
} tgSmoothed;
/// Gradient g (tg_task_size) of the smoothed loss E L(x + w), w normal of spread sigma and x + w moved into the box, by
/// rollouts over the threads. options and cancel may be NULL. TG_ERR_INVALID: a variable without a box and no sigma; a failure of x's own
/// motion is that of tg_evaluate.
TG_API tgStatus tg_task_smoothed(const tgTask *task, const double *x, const tgSmoothOptions *options, const volatile int *cancel, double *g,
                                 tgSmoothed *smoothed, tgError *error);
/// What tg_evaluate runs, for tg_grad_check_rollout: valid until the next call with this evaluator.
TG_API tgStatus tg_evaluator_run(tgEvaluator *evaluator, const double *x, tgRolloutRun *run);
TG_API tgRollout *tg_evaluator_rollout(tgEvaluator *evaluator);
/// Loss terms: count, label, their value and, for position terms, the distance [m] at the end, of the last evaluation.
TG_API int tg_evaluator_terms(const tgEvaluator *evaluator);
TG_API const char *tg_evaluator_term(const tgEvaluator *evaluator, int i, double *value, double *distance);

/// What became of a motion that was replayed under other conditions than those it was found under.
typedef enum tgVerdict {
  TG_VERDICT_HOLDS,                ///< the task's criterion is met
  TG_VERDICT_MISSES,               ///< it is not
  TG_VERDICT_ENDS,                 ///< the replay ended early: reason
  TG_VERDICT_NOT_EXPRESSED         ///< the contact model cannot express the model or the task: reason. Not passed
} tgVerdict;
TG_API const char *tg_verdict_text(tgVerdict verdict);  ///< "holds", "misses", "ends early", "not expressed".

/// One replay (docs/tasks.md, Motions that hold). Controls are held in time as they were found.
typedef struct tgVerifyRow {
  char name[32];                   ///< "finer", "stiffer", "near", "cone", or the word of a contact model
  char text[96];                   ///< what it is: "weight 1e-08, steps of 5 ms"
  tgVerdict verdict;               ///< what became of it
  bool required;                   ///< the motion counts as reached only if it holds
  double h;                        ///< size of its steps [s]
  double loss, distance;           ///< the task's loss; the farthest position term [m], NaN: none
  char reason[640];                ///< why it ended early or is not expressed, else ""
} tgVerifyRow;

enum { TG_VERIFY_ROWS = 16 };      ///< Replays of one motion, at most.
/// The replays of a motion, in the order of docs/tasks.md.
typedef struct tgVerification {
  int n;                           ///< replays; 0: none are asked for
  int broken;                      ///< the first that is required and does not hold, -1: none
  tgVerifyRow row[TG_VERIFY_ROWS];  ///< in order
} tgVerification;

/// Replays the motion of decision variables x as the task's `verify` asks. TG_CANCELLED: rows so far. TG_ERR_MEMORY, TG_ERR_ARG.
TG_API tgStatus tg_verify(const tgTask *task, const double *x, const volatile int *cancel, tgVerification *out, tgError *error);
/// The states of replay `name` at the task's own times: q ((T+1) x nq), v ((T+1) x (nv + na)), either may be NULL. TG_ERR_ARG: no such
/// replay; TG_ERR_UNSUPPORTED: it cannot be expressed; else the status of the replay, states that it did not come to being as they were.
TG_API tgStatus tg_verify_motion(const tgTask *task, const double *x, const char *name, double *q, double *v, const volatile int *cancel,
                                 tgError *error);

/// Loss and distance of the farthest position term [m] (NaN: none) of states from elsewhere, at the task's own times: q ((T+1) x nq),
/// v ((T+1) x (nv + na)), with the controls and parameters of x.
TG_API tgStatus tg_task_judge(const tgTask *task, const double *x, const double *q, const double *v, double *loss, double *distance,
                              tgError *error);
/// Does a replay that leaves this much hold, as the task's `verify` or `success` asks: TG_VERDICT_HOLDS or TG_VERDICT_MISSES.
TG_API tgVerdict tg_task_verdict(const tgTask *task, double loss, double distance);

/// Stages of the task's refinement (`refine`) after the first, which is the task's own.
TG_API int tg_task_stages(const tgTask *task);
/// The task as stage k (1 .. tg_task_stages) has it: another contact model, shorter steps; decision variables mean the same. It shares
/// what it can with the task, which has to outlive it and must not be overridden meanwhile, nor its start be moved (tg_task_inside and
/// tg_task_separate of a stage: TG_ERR_ARG); tg_task_free. NULL: error.
TG_API tgTask *tg_task_stage(const tgTask *task, int k, tgError *error);

/// Progress, after every iteration.
typedef struct tgProgress {
  int attempt, attempts;           ///< of the task's attempts: from 0; how many, 0: there is one alone
  int start, starts;               ///< of several: from 0; how many, 0: there is one alone
  int stage, stages;               ///< of the task's refinement: 0, the task's own, to stages
  int iteration, iterations;       ///< finished; wanted
  long evaluations;                ///< losses computed so far
  double loss, best;               ///< of this iterate; least so far
  double seconds, seconds_left;    ///< spent; estimate, negative when unknown
  bool window;                     ///< an iteration is a window of a receding horizon, whose plans' losses do not compare
  bool replayed;                   ///< taken from the journal of an earlier run
  const struct tgOptimum *so_far;  ///< outcome as far as it is known: first and best variables, curve; valid during the call
} tgProgress;

/// Options; size is set by tg_optimize_default.
typedef struct tgOptimizeOptions {
  size_t size;                     ///< set by tg_optimize_default
  uint64_t seed;                   ///< of the start's noise and of sampling
  const double *start;             ///< decision variables to start from, tg_task_size; NULL: tg_task_start of the seed
  const char *journal;             ///< file that records every evaluation; NULL: none
  bool resume;                     ///< take up the journal where it ends, to the same bits; one of another task, model, seed,
                                   ///< version or instruction set is refused with TG_ERR_INVALID, one that another run is
                                   ///< writing with TG_ERR_FILE. false: a journal that holds a run is refused, TG_ERR_FILE
  bool overwrite;                  ///< without resume: a journal that holds a run is begun anew
  bool unrefined;                  ///< the task's own stage alone
  bool trust;                      ///< a run that came to its end tells how far its gradients may be trusted: some 90 rollouts at the
                                   ///< start and as many at the best, without a gradient; they are not counted among the simulations
  bool unverified;                 ///< no replays (`verify`): the best counts as reached by its own motion alone
  int threads;                     ///< for several starts, each of which then has one, and methods that evaluate populations; 0: all cores
  size_t tape_bytes;               ///< of each rollout, as in tgRolloutOptions
  const volatile int *cancel;      ///< polled each step
  void (*progress)(void *ctx, const tgProgress *progress);  ///< called after each iteration, by one thread at a time; NULL: none
  void *progress_ctx;              ///< handed to it
} tgOptimizeOptions;
TG_API tgOptimizeOptions tg_optimize_default(void);  ///< The defaults of optimisations.

/// Trust in the gradient at one iterate of an optimisation.
typedef struct tgTrustAt {
  bool told;                       ///< it was asked for (tgOptimizeOptions.trust), and the iterate's motion comes to its end
  double iteration;                ///< place of the iterate on the loss curve
  tgTrust trust;                   ///< of the task as its stage has it
} tgTrustAt;

/// Outcome. Arrays are owned by it; freed by tg_optimum_free.
typedef struct tgOptimum {
  tgStatus status;                 ///< TG_OK; TG_CANCELLED: the best so far; else error says what stopped it
  tgError error;                   ///< what stopped it
  bool reached;                    ///< the task's success criterion holds at the best iterate (true when it has none), and in all
                                   ///< replays that the task requires
  bool met;                        ///< it holds at the best iterate itself
  int start;                       ///< the one of several (the task's `starts`, or 0) that best is of, or was refined from
  int attempt;                     ///< of the task's attempts that best is of, from 0
  int stage;                       ///< of the task's refinement that best, best_loss and met are of; 0: the task's own
  tgVerification verification;     ///< of the best
  int iterations;                  ///< done
  int indefinite;                  ///< of ilqr and ddp: iterations whose control Hessian was not positive definite, so
                                   ///< that a penalty was put on states
  long evaluations, simulations;   ///< simulations: rollouts, gradients counted as one
  double first_loss, best_loss, seconds;  ///< of the start; the least; time spent [s]
  int n;                           ///< number of decision variables
  double *first, *best;            ///< decision variables, n
  int ncurve;                      ///< length of the loss curve
  double *curve_iteration, *curve_loss, *curve_best;   ///< ncurve
  double *curve_stage;             ///< ncurve: the stage of the task's refinement that each is of, 0: its own. Losses of stages do not
                                   ///< compare: contact models, steps and windows differ.
  tgGradInfo grad;                 ///< worst label met, first_step from the motion's start; surrogate under tg_task_zero_contact_gradient
  tgTrustAt trust_first, trust_best;  ///< in the gradients at `first`, of the task's own stage, and at `best`, of its stage
} tgOptimum;

/// Runs the task's optimiser, from each of its `starts` (with seed, seed + 1, ..., unless a start is given), of which the best goes on to
/// the stages of refinement; and again, up to the task's `attempts`, until a motion is reached, attempt k with the seeds from
/// seed + k starts on (one attempt where a start is given, and without stages or replays). Returns NULL only for want of memory. With
/// several starts the task's allocator is called by several threads.
TG_API tgOptimum *tg_optimize(const tgTask *task, const tgOptimizeOptions *options);
TG_API void tg_optimum_free(tgOptimum *optimum);

/// A task's horizon that moves with the world: plans from the state that is measured, in a loop with a robot or another simulator.
/// Each plan is a window of the task's `receding` (of its whole horizon where it has none) by the task's own method, and starts from the
/// plan before. Without terms at a time the task begins anew with each plan; with one its clock counts, from 0 to the task's end.
typedef struct tgController tgController;
/// Options; size is set by tg_controller_default.
typedef struct tgControllerOptions {
  size_t size;                     ///< set by tg_controller_default
  int iterations;                  ///< of each plan; 0: the task's
  double seconds;                  ///< no iteration of a plan begins later than this after the plan [s]; 0: no limit
  uint64_t seed;                   ///< of the start's noise and of sampling
  int threads;                     ///< for methods that evaluate populations; 0: all cores
  size_t tape_bytes;               ///< of each rollout, as in tgRolloutOptions
  bool separate;                   ///< bodies that overlap in a measured state are moved apart first (tg_sim_separate, to its own gap)
} tgControllerOptions;
TG_API tgControllerOptions tg_controller_default(void);  ///< The defaults of controllers.

/// A plan.
typedef struct tgPlan {
  double time;                     ///< at which the state was measured that it starts from [s]
  int steps, nu;                   ///< of the window; numbers of a control
  double h;                        ///< size of its steps [s]
  const double *u;                 ///< steps x nu; the controller's, until the next plan
  double first_loss, loss, distance;  ///< loss it started from; loss; the farthest position term at the window's end [m], NaN: none
  int iterations;                  ///< done, those of a search among them
  long simulations;                ///< rollouts, gradients counted as one
  double seconds;                  ///< time spent [s]
  tgGradInfo grad;                 ///< worst label met
  int searched;                    ///< iterations of the task's `search`, as plans had stalled; 0: none
  double unsearched;               ///< loss of the plan before that, NaN: none; where the search found no better one it stands
  int nseparated;                  ///< pairs that overlapped in the measured state and were moved apart
  double separated;                ///< the largest of their overlaps [m]; 0: none
} tgPlan;

/// NULL: error says why. The task must outlive it and not be overridden meanwhile. Targets that tg_task_set_term moves count from the
/// next plan on.
TG_API tgController *tg_controller_create(const tgTask *task, const tgControllerOptions *options, tgError *error);
TG_API void tg_controller_free(tgController *controller);
/// A motion that was found before, by tg_optimize of this task or of another one of the model: u (steps x nu), each held for h [s], the
/// first from `time` on. Plans start at it where the plan before does not reach; what was planned before is forgotten. Copied. steps 0:
/// none, as at first.
TG_API tgStatus tg_controller_give(tgController *controller, double time, double h, int steps, const double *u, tgError *error);
/// Plans from the state (q: nq, v: nv + na) measured at `time` [s]. TG_CANCELLED or another status: error (may be NULL) says why, and
/// the plan before stands.
TG_API tgStatus tg_controller_plan(tgController *controller, double time, const double *q, const double *v, const volatile int *cancel,
                                   tgError *error);
/// The controls (nu) of the last plan at `time`; beyond its end its last ones. TG_ERR_INVALID: there is no plan.
TG_API tgStatus tg_controller_control(const tgController *controller, double time, double *u, tgError *error);
TG_API const tgPlan *tg_controller_last(const tgController *controller);  ///< The last plan; NULL: none yet.
/// Time between plans that the task means: what its `receding` applies of each, else one control [s].
TG_API double tg_controller_interval(const tgController *controller);

#ifdef __cplusplus
}
#endif
#endif
