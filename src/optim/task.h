// task.h: a task as the optimiser sees it: what the YAML file says, resolved against the model.
#ifndef TG_OPTIM_TASK_H
#define TG_OPTIM_TASK_H

#include "base/status.h"
#include "model/model.h"
#include "optim/settings.h"
#include "tangere/optim.h"

typedef enum tgTermKind {
  TG_TERM_BODY_POSITION, TG_TERM_SITE_POSITION, TG_TERM_BODY_COM,
  TG_TERM_JOINT_POSITION, TG_TERM_JOINT_VELOCITY, TG_TERM_VELOCITY, TG_TERM_CONTROL,
  TG_TERM_POSE, TG_TERM_HEIGHT, TG_TERM_BODY_VELOCITY, TG_TERM_BODY_ORIENTATION, TG_TERM_GAP, TG_TERM_SPEED
} tgTermKind;
typedef enum tgTermWhen { TG_TERM_END, TG_TERM_ALL, TG_TERM_TIME, TG_TERM_LEAST } tgTermWhen;
typedef enum tgMethod {
  TG_METHOD_ADAM, TG_METHOD_DESCENT, TG_METHOD_LBFGS, TG_METHOD_RANDOM, TG_METHOD_CEM, TG_METHOD_ILQR,
  TG_METHOD_GAUSS_NEWTON, TG_METHOD_BUNDLE, TG_METHOD_DDP, TG_METHOD_SHOOTING
} tgMethod;
typedef enum tgBasis { TG_BASIS_STEPS, TG_BASIS_SINES } tgBasis;
typedef enum tgInitialPart { TG_INITIAL_POSITION, TG_INITIAL_VELOCITY, TG_INITIAL_ACTIVATION } tgInitialPart;

// what the file says, in its own order (filled by libcyaml; a pointer is NULL where the file is silent)
typedef struct YamlHorizon { int steps; double timestep; } YamlHorizon;
typedef struct YamlJoint { char *joint; double *position, *velocity; unsigned nposition, nvelocity; } YamlJoint;
typedef struct YamlStart { char *keyframe; YamlJoint *joints; unsigned njoints; double *inside, *separate; } YamlStart;
typedef struct YamlRestitution { char *geom; double value; } YamlRestitution;
typedef struct YamlControls {
  tgBasis basis;
  int every, terms;
  char *start;   // a number, "pose" or "keyframe"
  double start_noise, amplitude, frequency, *low, *high;
} YamlControls;
typedef struct YamlInitial { char *joint, *actuator; tgInitialPart part; int *entries; unsigned nentries; double *low, *high; } YamlInitial;
typedef struct YamlParameter { char *name, *of; int *entry; double *start, *low, *high; } YamlParameter;
typedef struct YamlLoss {
  tgTermKind term;
  char *name;
  char **geoms; unsigned ngeoms;
  double *target; unsigned ntarget;
  char *axes, *keyframe;
  double *weight, *time, tolerance;
  int stage;
  tgTermWhen at;
} YamlLoss;
static inline double tgi_yaml_weight(const YamlLoss *y) { return y->weight != NULL ? *y->weight : 1; }
typedef struct YamlOptimizer {
  tgMethod method;
  tgSmoothOrder smoothing;
  const char *gradient;     // a former spelling, which is an error
  int iterations;
  double rate, decay, beta1, beta2, sigma, correlation, momentum, tolerance, *stop_loss, *stop_distance;
  int population, elites, keep, memory, shot, starts, attempts, patience;
  int plans;                // of a search
} YamlOptimizer;
typedef struct YamlReceding { int horizon, apply, hold, aim; } YamlReceding;
typedef struct YamlSuccess { double *loss, distance; } YamlSuccess;
typedef struct YamlVerify { char **rows; unsigned nrows; double *loss, distance; } YamlVerify;
typedef struct YamlStage {
  char *contact;
  tgMethod *method;
  double timestep, rate;
  int iterations;
  bool whole;
  char **replays; unsigned nreplays;
} YamlStage;
typedef struct YamlTask {
  char *model, *contact;
  double *ground;           // height of a plane [m]
  int contact_triangles;    // of a mesh that collides; 0: as many as it has
  char **drop; unsigned ndrop;   // what the loader leaves out, by its words
  YamlHorizon horizon;
  YamlStart *start;
  YamlRestitution *restitution; unsigned nrestitution;
  YamlControls *controls;
  YamlInitial *initial; unsigned ninitial;
  YamlInitial *states; unsigned nstates;
  YamlParameter *parameters; unsigned nparameters;
  YamlLoss *losses; unsigned nlosses;
  char *effort;             // a number, or "off"
  YamlOptimizer optimizer;
  YamlReceding *receding;
  YamlOptimizer *search;    // where the plans of a receding horizon stall
  YamlSuccess *success;
  YamlVerify *verify;
  YamlStage *refine; unsigned nrefine;
} YamlTask;

/// One loss term, resolved.
typedef struct tgTerm {
  tgTermKind kind;
  tgTermWhen when;
  int index;                // body, site, joint, actuator or geom; -1: all
  int other;                // the second geom of a gap
  int step;                 // at which state, with TG_TERM_TIME
  int stage;                // of the refinement, from which on it counts: its weight is 0 before
  double target[4], weight, tolerance;
  const tgReal *reference;  // nq, of a pose: in the model
  bool axis[3];
  char label[96];
} tgTerm;

/// One scalar of the initial state that is decided. velocity: `dof` is an entry of v (nv + na), whose activations belong to no joint (-1).
typedef struct tgInitialVar { int joint, dof; bool velocity; double low, high; } tgInitialVar;

/// The price on speed, effort.h.
typedef struct tgEffort {
  double share;             // of the loss of the start; 0: none, or one whose weight was set by itself
  int at;                   // its term, -1: none
  bool by_default;
  const char *reason;       // why there is none by default, "" else
} tgEffort;

struct tgTask {
  tgAllocator alloc;
  const tgTask *view_of;    // of a view (view.h): the task that owns what it shares; NULL: none
  YamlTask *yaml;           // owned by libcyaml
  tgModel *model;
  tgContact *contact;
  tgSettings settings;      // options of contact models: the file's, with overrides
  tgContact *gradient;      // that gradients are of, NULL: the step itself
  tgSettings gradient_settings;   // its options, beyond `settings`
  tgSettings *stage_settings;     // nrefine: options of contact models in each stage of the refinement, after `settings`
  char model_path[1024], word[32], gradient_word[64];
  int steps, ncontrol, n;   // ncontrol: decision variables of the controls; n: all: controls, initial, parameters
  int offset, end, total;   // a stretch of a longer task: its first step, the step whose state terms at the end look at, steps of the whole
  double h;
  double *q0, *v0;          // start, nq and nv + na: velocities, then activations
  double *u0;               // nu: where decided controls start, before noise; NULL: none are decided
  bool separates;           // q0 is the file's with bodies moved apart, to that gap [m], below 0: to the contact model's
  double gap, *drawn;       // drawn: nq, the file's
  int napart; tgSeparated *apart;   // the pairs that were moved
  int ninitial; tgInitialVar *initial;
  int nstate; tgInitialVar *state;   // bounds on states
  int nparam, nparam_name; struct tgParamVar *param; const char **param_name;   // decided model parameters, parameters.h
  int nterm; tgTerm *term;
  tgEffort effort;
  YamlOptimizer optimizer;  // the file's, with overrides
  YamlOptimizer search;     // the file's; plans 0: none
  double stop_loss;         // -INFINITY: none
  double stop_distance;     // [m]; -INFINITY: none
  const YamlStage *stage;   // of a view that is a stage of the refinement: what the file says of it; NULL: no stage
  int stage_iterations;     // of every stage of the refinement, in place of the file's; 0: the file's
};

/// The kind's word in task files, and how many numbers its target has.
const char *tgi_term_word(tgTermKind kind);
int tgi_term_targets(tgTermKind kind);

/// Start, decision variables, horizon, losses and optimiser of t->yaml, whose model and contact model are there.
tgStatus tgi_task_resolve(tgTask *task, tgError *error);
/// Another step size over about the same time, `steps` of them; a receding horizon keeps its seconds. Terms at a time are refused.
tgStatus tgi_task_retime(tgTask *task, int steps, double h, tgError *error);

/// What gradients are of where the steps' contact model is `forward`: of the task's `gradient`, which it must have.
tgStatus tgi_task_make_gradient(const tgTask *task, const tgContact *forward, tgContact **made, tgError *error);
/// q0 (nq): the start of a task that moves bodies apart (tg_task_separate), under this contact model; *apart (may be NULL): the pairs, a
/// block of the task's allocator, *napart of them. On errors nothing is written.
tgStatus tgi_task_apart(const tgTask *task, const tgContact *contact, double *q0, tgSeparated **apart, int *napart, tgError *error);

/// Tangent step (nv) from the file's start to the q0 of decision variables x.
void tgi_task_position_step(const tgTask *task, const double *x, double *dq);

/// Starts of different seeds are not the same one.
bool tgi_task_starts_differ(const tgTask *task);
/// Windows of the task's receding horizon, which it must have.
int tgi_receding_windows(const tgTask *task);

/// An evaluator; without a rollout of its own it only makes runs for a batch (tg_evaluator_run).
tgEvaluator *tgi_evaluator_create(const tgTask *task, bool own_rollout, size_t tape_bytes, tgError *error);

/// The gradient of what tg_evaluator_run made, for a batch: asks for it in the run; after the run, dL/dx at its x into g.
void tgi_evaluator_want_gradient(tgEvaluator *e, tgRolloutRun *run);
void tgi_evaluator_chain(tgEvaluator *e, const double *x, double *g);

/// The loss to second order along a rollout, and the step's Jacobians; nx = 2 nv + na, nz = nx + nu, tangent coordinates.
typedef struct tgExpansion {
  double *D;                // T x nx x nz: d(q', v', act')/d(q, v, act, u)
  double *g;                // (T + 1) x nz: gradient of the loss of state t and control t; no control at T
  double *H;                // (T + 1) x nz x nz: its Gauss-Newton Hessian, positive semidefinite; or NULL
} tgExpansion;
/// Rolls out controls u (T x nu) from q0, v0 (as a policy decides where `policy` is given: then u is not read); loss, trajectory and
/// expansion, each where wanted (NULL: not). Of x only the model's parameters are taken, NULL: none; the terms' values are noted as
/// there.
typedef struct tgRollAsk {
  const double *x;
  const double *q0, *v0, *u;
  tgPolicyFn policy; void *policy_ctx;
  double *q, *v;
  const tgExpansion *expansion;
  const volatile int *cancel;
} tgRollAsk;
tgStatus tgi_evaluator_roll(tgEvaluator *e, const tgRollAsk *ask, double *loss, tgRolloutResult *result);

/// Largest distance of the position terms at the end of the last evaluation [m]; NaN when there is none.
double tgi_evaluator_distance(const tgEvaluator *e);

/// Sets entries of the model's array `name`, of the element `of` (NULL: an array of the whole model), the entry `entry` or, below 0, all
/// of them, as tg_sim_param sets them in a sim: what follows from them in a file does not. Names as of a task's parameters but for shapes
/// of meshes. TG_ERR_INVALID: no such entry, one that the task decides, or a value that it cannot have. Everything that was made for the
/// task before goes: call tg_task_override with the task's own contact model next.
tgStatus tgi_task_set_number(tgTask *task, const char *name, const char *of, int entry, double value, tgError *error);
/// Is there such an entry, and may it be set? As tgi_task_set_number, without a value.
tgStatus tgi_task_has_number(const tgTask *task, const char *name, const char *of, int entry, tgError *error);
/// Hash of every listed array of the model, continued from h.
uint64_t tgi_model_key(uint64_t h, const tgModel *model);

/// Hash of a contact model and its options, continued from h.
uint64_t tgi_contact_key(uint64_t h, const tgContact *contact);

/// Parses YAML text into *out; errors name file, line and field.
tgStatus tgi_task_parse(const char *text, size_t bytes, const char *file, YamlTask **out, tgError *error);
void tgi_task_parse_free(YamlTask *yaml);

#endif
