// sim.h: the simulation as the engine sees it: one block of arrays and a mark/free scratch stack.
#ifndef TG_SIM_SIM_H
#define TG_SIM_SIM_H

#include <string.h>

#include "base/layout.h"
#include "base/status.h"
#include "base/watch.h"
#include "model/model.h"
#include "sim/option.h"
#include "sim/pose.h"
#include "tangere/sim.h"
#include "tangere/step.h"

enum { TG_MEM_CONTACT = 9, TG_MEM_PAIR = 3, TG_MEM_FORCE = 12 };

/// Kinds of constraint rows. w = J v' + bias.
typedef enum tgRowKind {
  TG_ROW_EQUALITY,     // w = 0, f free
  TG_ROW_LIMIT,        // 0 <= f perp w >= 0: joint or tendon limit
  TG_ROW_NORMAL,       // the same: contact normal
  TG_ROW_TANGENT,      // |f| <= limit * f of the parent row
  TG_ROW_FRICTION      // |f| <= limit: dry friction of a dof or tendon
} tgRowKind;

/// One contact point. n points from geom2 to geom1; t1, t2, n are orthonormal, t2 = n x t1.
typedef struct tgContactRow {
  int pair, geom1, geom2, feature, axis;   // axis: world axis k of t1 = unit(k - (k.n) n)
  bool tie;
  tgReal p[3], n[3], t1[3], t2[3], gap;
  double margin;                           // within which its pair was looked for [m]
  tgReal friction[5], restitution;         // along t1, t2; about n; about t1, t2 [m]
  int row, nrow;                           // first row and number of rows (1, 3, 4, 6), row -1 while inactive
  int memory_in[2], memory[2];             // reference features of the pair before and after collision
  tgReal D[7][12];                         // d(p, n, gap)/d(twist of geom1, twist of geom2), world origin; see contact_d
  tgReal bar[7];                           // dL/d(p, n, gap) of an adjoint under way, for the shapes' sizes; 0 between adjoints
} tgContactRow;

/// Force between two bodies at a pose and its velocities, as a contact law gives it. Either body may be the world, 0.
/// Wrenches are (moment; force) at the world origin, twists xi = (xi1; xi2) likewise, pose_i <- exp(xi_i) pose_i;
/// matrices are row-major, 12 x 12. What was not asked for is undefined.
typedef struct tgPairTerm {
  int body1, body2;
  tgReal energy;                           // of a law that has one: w is minus its derivative
  tgReal w[12];                            // wrenches on body1, then on body2
  tgReal X[144];                           // dw/d(xi1; xi2), the bodies' spatial velocities V_i held as numbers
  tgReal Y[144];                           // dw/d(V1; V2)
  tgReal B[144];                           // dw/d(twists of the two bodies at the start of the step); 0 where nothing is lagged
  tgReal E[144];                           // dw/d(twists of the two bodies at the end of the step), of a law of a whole step
  tgReal push[6], hardening;               // of the part of w that grows without bound as the bodies meet: the wrench
                                           // on body 2 (on body 1 its opposite), and
                                           // its curvature along its own translation over its square; hardening 0: there is none
  bool left_out;                           // by a stepper: its bodies have no block together in the matrix of the step
} tgPairTerm;

/// Entry (i, j) of the second derivative of a term's energy along exp: minus the symmetric part of X.
static inline tgReal tgi_term_stiffness(const tgPairTerm *t, int i, int j) { return -0.5 * (t->X[12 * i + j] + t->X[12 * j + i]); }
/// X <- X - T/2 on the blocks of one body each, T(i, j) = g . [e_i, e_j] with g = -w: from minus the second derivative
/// of an energy along exp to dw/dxi.
void tgi_term_turn(tgPairTerm *t);

/// Reserved capacity. npairmem is ncon: a pair is remembered while it has a contact point. widest, nA: rows
/// of the largest island, and numbers of the islands' blocks (squares of their rows) together. nH: numbers of
/// the second derivative of a step that minimises. nfactor: of a factor of the islands whose matrix is not formed.
/// npoint, nfriction: friction points of a contact law, and pairs of geoms that have any. nterm: its terms. nnear:
/// pairs of geoms that it finds near each other. ndry: rows of dry friction of dofs and tendons.
typedef struct tgCapacity {
  int ncon, nrow, npairmem, widest, npoint, nfriction, nterm, nnear, ndry;
  int recorded;                        // tgContact.recorded
  size_t nA, nH, nfactor, stack;
} tgCapacity;

enum { TG_CONTACT_NUMBERS = 32, TG_CONTACT_WARNINGS = 4 };

/// A contact model bound to a model. The struct stands here, below contact/, because a sim sizes the solver's workspace
/// through it and has its own copy of its numbers; the rest is contact/'s.
struct tgContact {
  const tgModel *model;
  tgAllocator alloc;
  const tgContactOptions *options;     // of the struct of its model (tangere/lcp.h ..), behind this
  const struct tgContactModel *kind;   // its line in contact/table.c
  size_t (*solver_bytes)(const struct tgContact *c, const tgCapacity *z);   // workspace for that capacity; SIZE_MAX on overflow
  struct tgiSoftClouds *soft;          // clouds for soft contact points (coll/clouds/soft_contacts.h); NULL: contact
                                       // points are those of features
  struct tgiFacetTable *facets;        // of meshes that touch as they are (coll/surfaces/facets.h); NULL: by their hulls
  size_t list_bytes;                   // of a sim's lists of faces that are near each other; 0: none
  void *data;                          // what the contact model keeps of the model's geometry, const after creation
  const struct tgStepper *stepper;     // by whose equations a step is made (step/table.c)
  int nterm;                           // terms of a contact law for which there is room at first
  int recorded;                        // numbers of each row in a record of a solve, besides its classes
  const tgiOptionList *list;           // of its model
  int nnumber;                         // options with a derivative, parameters of each sim
  const tgiOption *number[TG_CONTACT_NUMBERS];
  /// Has the parameter `name` a derivative under this contact model, by the numbers of s or, where that is NULL, by its options?
  /// TG_ERR_UNSUPPORTED: error (may be NULL) says why not.
  tgStatus (*differentiable)(const struct tgContact *c, const tgSim *s, const char *name, tgError *error);
  int nwarning;
  char warning[TG_CONTACT_WARNINGS][200];
  double *limit_inertia;               // njnt + ntendon, of an explicit law: at qpos0, that the stiffness of their limits
                                       // goes by (joint/inertia.c)
  double *equality_inertia;            // neq x 2: the same of equalities, of lengths or a joint's coordinate and of a
                                       // weld's turn; in the block of limit_inertia
  size_t scratch;                      // bytes of a sim's scratch that the model's derivatives need besides the dynamics'
};

/// Rows that do not come from contacts, at most: equalities, limits, dry friction.
static inline int tgi_fixed_rows(const tgModel *m) {
  return 6 * m->neq + 2 * m->njnt + 2 * m->ntendon + m->nv + m->ntendon;
}

/// Those of dry friction, by the present parameters.
static inline int tgi_dry_rows(const tgModel *m) {
  int n = 0;
  for (int d = 0; d < m->nv; d++) n += tgRe(m->dof_frictionloss[d]) > 0;
  for (int t = 0; t < m->ntendon; t++) n += tgRe(m->ten_frictionloss[t]) > 0;
  return n;
}

/// Impacts that a step takes each at its own time, and the parts that it then has at most: a flow and an impact each, and the last flow.
enum { TGI_IMPACTS = 8, TGI_PARTS = 2 * TGI_IMPACTS + 1 };
/// Rows of an island beyond which what closes fast among them is stopped over a whole flow (step/impulse_crowd.h).
enum { TGI_CROWD = 150 };
/// Integers of a part's record: a byte for each actuator and joint, 16 to round up, and the answers of two problems over its rows
/// (tgRowSolver.record_bytes), forces of islands whose matrix is not formed with them, or directions of friction.
static inline int tgi_part_record_ints(const tgModel *m, const tgCapacity *z) {
  int numbers = z->recorded > 0 ? z->recorded : z->nfactor > 0;
  return (m->nu + m->njnt + 15) / 4 + 1 + (9 + 16 * numbers) / 4 * z->nrow;
}

/// Rows that act in the parts of a step that are kept as what they chose, of steps of at most so many rows at a time, and integers of each.
#define TGI_CHOICES(rows) (2 * (rows) + 64)
enum { TG_ROW_CHOICE = 7 };
/// Contacts at most that a last flow has rows of because its impulses would turn bodies into them.
static inline int tgi_most_late(const tgModel *m) { return 32 + 2 * m->nbody; }
/// How often a flow's velocity in its middle is looked for (step/impulse_midway.h).
enum { TGI_TURNS = 2 };
/// Where in a step a row acts: in a step of one part, in a flow or an impact of one of several, or it is touched at the start of one.
typedef enum tgiWhere { TGI_WHERE_STEP, TGI_WHERE_FLOW, TGI_WHERE_IMPACT, TGI_WHERE_DRIFT } tgiWhere;

/// Constraint rows of the last step and the islands that they make, with the choices of the last one that the next starts from (mem_*).
typedef struct tgRows {
#define TG_ROW_REAL(member, name, rows, cols, unit, producer, text) tgReal *member;
#define TG_ROW_INT(member, name, rows, cols, unit, producer, text) int *member;
#include "sim/row_fields.def"
#undef TG_ROW_REAL
#undef TG_ROW_INT
} tgRows;

/// How far the arrays are valid.
typedef enum tgStage { TG_STAGE_NONE, TG_STAGE_FORWARD, TG_STAGE_STEPPED } tgStage;

/// Islands of which other answers are looked for: of few rows whose classes changed, of any number of rows, all.
typedef enum tgiAnswersAsked { TGI_ASK_FEW, TGI_ASK_CHANGED, TGI_ASK_ALL } tgiAnswersAsked;

struct tgSim {
  tgModel m;                   // shallow copy: real arrays point to this sim's own numbers
  const tgModel *model;
  const tgContact *contact_model;
  const struct tgStepper *stepper;
  void *own;                   // the stepper's
  tgReal *contact_number;      // contact_model->nnumber: this sim's own; tgi_contact_number
  tgAllocator alloc;
  tgCapacity cap, wanted;
  tgError error;
  tgStage stage;
  bool frozen;                 // memory is read and not updated
  bool watched;                // each step of an explicit law advises on its size
  tgiAnswersAsked answers_asked;   // of which contact solves other answers are looked for (tg_sim_watch_answers)
  bool visiting;               // put at a state of another contact model's, under which bodies may be nearer than they
                               // can be here (step/foreign.c)
  double widened;              // by which the last step saw every gap wider than it is [m]
  bool pinned;                 // rows and their classes are those of the memory, right or wrong: the step of one active
                               // set (gradient check)
  bool all_pairs;              // no search for near pairs: each is looked at (the twin that tests compare the search with)
  bool one_island;             // all rows and dofs as one island (the twin that tests compare islands and patterns with)
  int refused_solves;          // tries at each island's velocities that count as without an answer (for tests of the fallback)
  int dense_rows;              // rows of an island up to which its matrix is formed; 0: TGI_DENSE_ROWS
  bool nothing_shared;         // no part of a step and neither of its problems takes what another has made (the twin that tests compare
                               // with)
  tgiWatch watch;              // asked by each iteration of a step's solvers; where it stops them the step ends with TG_CANCELLED
  int busy;                    // atomic: a call is computing in this sim
  int aware_row;               // row of the contact that the last adjoint took otherwise than it is, -1 when none
  bool no_aware_adjoint;           // the rows of a Jacobian are being formed by adjoints: nothing is taken otherwise than it is
  double h;                    // step size of the last step [s]
  tgReal dt;                   // of the part of it that vhat, rows and impulses are of [s]: h where the step is one part, 0 of an impact
  tgStatus unsolved;           // of the first solve of the step that had no answer, TG_OK: all had
  bool opened;                 // vhat and L are of the free motion of dt from the start, and nothing else of a part is made yet
  double rest;                 // what was left of the step when its first forces were taken, row_surge's [s]
  tgReal clearance;            // gap at which bodies meet [m], limits of joints and fixed tendons [m or rad], and those of spatial tendons
  tgReal limit_clearance;      // [m]: 0, but under the event stepper
  tgReal strand_clearance;
  double wider;                // contacts are listed from so much farther away [m]: 0, but where bodies are moved apart
  const uint64_t *held;        // names (tgi_row_name) of rows that are closed whatever their gap, nheld of them, the event stepper's
  int nheld;
  bool ahead;                  // rows are at s->trial, the pose q0 (+) dt v0, else at the start
  bool rebounds;               // the impact in the sim is by Poisson's law: f is of its second phase, f2 of its first
  bool midway;                 // s->start is the middle of a flow, q0 (+) (dt/2) v0, and s->middle its start (tgi_midway)
  int turning;                 // forces of that flow that go by velocities are those of row turning - 1 of s->turned; 0: of v0
  bool guarded;                // the impact that was made last blends two problems (step/impulse_impact.h)
  int ntouch;                  // contacts whose impulses are summed over the pieces of the step
  int npart;                   // parts of the last step
  bool surrogate_part;         // a part but the last has forces that its derivative is not of
  int nedge;                   // choices of its parts that a move of 1e-9 may change, besides those that its last rows show
  char edge[200];              // the first of them, as words
  uint64_t part_mode;          // hash of what its parts chose: which they were, of what rows, in which classes
  bool last_flow;              // the flow in the sim takes the rest of the step, whatever closes fast in it
  int nlate;                   // entries of rows->late
  double late_gap;             // from which these are listed [m]
  int first_rows;              // rows of the step's first flow, of all its length, by which its impacts are counted; -1: not made yet
  int most_impacts;            // that the flow in the sim may have
  int ncrowd;                  // contacts and limits that close fast in the flow in the sim and are stopped over all of it
  int nturned;                 // contacts without a row into which it turns bodies of crowds fast
  int nchoice;                 // entries of rows->choice
  int problem;                 // which of the two problems over the rows f, w, b and the like are of (tgi_rows_select)
  tgStepInfo info;             // of the last step
  tgPose start;                // at the start of the last step (q0, v0), or where tg_sim_forward was asked
  tgPose end;                  // after the last step (q1, v1); the rest of it only where a stepper evaluates anything there
  tgPose trial;                // where a step is tried
  tgPose before;               // a step before the start, q0 (+) (-h v0), of a model whose step needs it
  tgPose middle;               // of a flow of the event stepper, q0 (+) (dt/2) v0: of its masses and forces
  int ncon, nrow, nisland;     // contacts, rows and islands of the last step
  tgRows *rows;                // of a stepper that makes rows; else NULL
  tgContactRow *contact;       // cap.ncon
  bool contact_d;              // D of the active contacts is filled (tgi_contacts_d)
  int nterm;                   // terms of the last evaluation of a contact law
  tgPairTerm *term;            // cap.nterm
  tgReal energy;               // sum of theirs, of a law that has one; infinite where bodies touch that the law keeps apart
  tgHull *hull;                // model->nhull, also m.hull: the model's; where hull_vert is not as in the model with
                               // this sim's vertices and planes
  tgReal *hull_plane;          // room for all planes of hulls
  bool hulls_given;            // the caller has asked for hull_vert and may have changed it
  tgReal *scaled_hull[2];      // room for the largest hull under a scale, vertices and planes, one for each shape of a pair
  void *face_lists;            // contact_model->list_bytes, zeroed: which faces are near each other, kept from look to look
  void *solver;                // workspace of the contact solver, contact_model->solver_bytes(m, &cap), zeroed
  size_t solver_bytes;
#define TG_SIM_REAL(name, rows, cols, unit, producer, text) tgReal *name;
#define TG_SIM_INT(name, rows, cols, unit, producer, text) int *name;
#include "sim/sim_fields.def"
#undef TG_SIM_REAL
#undef TG_SIM_INT
  char *stack;                 // scratch, apart from the block
  size_t stack_used, stack_high;
  void *block, *stack_block;
};

/// Marks the sim as in use for the length of a call; false when it is already, by another thread. That call then returns
/// TG_ERR_STATE and touches nothing, the error record included.
static inline bool tgi_sim_claim(tgSim *s) { return __atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE) == 0; }
static inline void tgi_sim_release(tgSim *s) { __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE); }

/// A step that was stopped in the middle of `what`.
static inline tgStatus tgi_sim_cancelled(tgSim *s, const char *what) {
  return tgi_error(&s->error, TG_CANCELLED, "Cancelled inside the %s; the state is unchanged.", what);
}
/// An iteration of `what` in a step begins: TG_OK, or TG_CANCELLED with its text.
static inline tgStatus tgi_sim_iterates(tgSim *s, const char *what) {
  return tgi_watch_stops(&s->watch) ? tgi_sim_cancelled(s, what) : TG_OK;
}

/// What stands for velocities in a state (tgi_nw), of the sim to w and back.
void tgi_sim_take_w(const tgSim *s, tgReal *w);
void tgi_sim_put_w(tgSim *s, const tgReal *w);
/// tg_sim_param, and the model's opt_timestep, which nothing reads.
tgReal *tgi_sim_param(tgSim *sim, const char *name, int *rows, int *cols);
/// Which of the contact model's numbers is the option of that name; -1: none with a derivative, or no contact model.
static inline int tgi_contact_number_at(const tgContact *c, const char *name) {
  for (int i = 0; c != NULL && i < c->nnumber; i++)
    if (c->number[i]->is.name[0] == name[0] && strcmp(c->number[i]->is.name, name) == 0) return i;
  return -1;
}
/// The number called `parameter` ("contact.weight", or by its alias); -1: none.
int tgi_contact_number_named(const tgContact *c, const char *parameter);
/// The name proper of what may be the alias of a contact model's parameter.
const char *tgi_parameter_name(const tgContact *c, const char *name);
/// This sim's value of a number that its contact model lists as a parameter: TG_NUMBER(s, weight).
static inline tgReal tgi_contact_number(const tgSim *s, const char *name) {
  int i = tgi_contact_number_at(s->contact_model, name);
  return i >= 0 ? s->contact_number[i] : NAN;
}
#define TG_NUMBER(sim, name) tgi_contact_number(sim, #name)

/// A simulation that steps by the stepper; NULL: it makes none. Else as tg_sim_create.
tgSim *tgi_sim_create(const tgModel *model, const tgContact *contact, const struct tgStepper *stepper,
                      const tgAllocator *allocator, tgError *error);

/// The state before the last step of `from`, a sim of the same model, with its control, applied forces and parameters
/// of the model, and empty memory.
void tgi_sim_take_start(tgSim *s, const tgSim *from);
/// Parameters and numbers of the contact model of one sim to another of the same model and contact model.
void tgi_sim_copy_parameters(tgSim *to, const tgSim *from);

// ---- rows.c ----

/// Lays out s->rows of a sim whose steps have rows, at s->cap; else leaves it NULL.
void tgi_rows_place(tgSim *s, tgLayout *l);
/// Every array, as far as from's capacity goes.
void tgi_rows_copy(tgSim *to, const tgSim *from);
/// Field i of the rows as tg_sim_field gives it; name NULL past the last.
tgField tgi_rows_field(const tgSim *s, int i);
/// How many there are.
int tgi_rows_fields(const tgSim *s);
/// The arrays of a pose of m; with l->base NULL counts.
void tgi_place_pose(tgPose *pose, const tgModel *m, tgLayout *l);
/// The pose that the rows are at.
static inline tgPose *tgi_rows_pose(tgSim *s) { return s->ahead ? &s->trial : s->midway ? &s->middle : &s->start; }
/// Lets row_f, row_w, row_b, row_class, row_rate, row_drift and row_bounce be those of the velocities' problem (0) or of
/// the positions' (1). Public functions leave it at 0.
void tgi_rows_select(tgSim *s, int problem);
/// Empties the memory of contacts and classes, and says that no step was made.
void tgi_forget(tgSim *s);
/// Bytes that the memory takes at most, the memory as bytes, and back. TG_ERR_CAPACITY: there is no room, s->wanted is
/// raised; nothing was changed.
size_t tgi_memory_bytes(const tgSim *s);
void tgi_memory_save(const tgSim *s, void *to);
tgStatus tgi_memory_restore(tgSim *s, const void *from);

/// Takes n reals from the scratch stack, not initialised; NULL when short (s->wanted.stack is then raised).
tgReal *tgi_stack_real(tgSim *s, size_t n);
/// The same for anything else, aligned to 64 bytes.
void *tgi_stack_bytes(tgSim *s, size_t bytes);
/// Mark and release: everything taken after the mark is given back.
static inline size_t tgi_stack_mark(const tgSim *s) { return s->stack_used; }
static inline void tgi_stack_free(tgSim *s, size_t mark) {
  tgi_red(s->stack + mark, s->stack_used - mark);
  s->stack_used = mark;
}
/// Makes the scratch at least `bytes` long, between calls, when nothing is taken from it; what else the sim holds stays
/// where it is. TG_ERR_MEMORY: nothing was changed.
tgStatus tgi_stack_reserve(tgSim *s, size_t bytes);
/// The same for a dense derivative of the last step, which takes far more than steps and adjoints.
tgStatus tgi_stack_reserve_dense(tgSim *s);
/// Grows to s->wanted keeping state, memory and parameters; used between steps.
tgStatus tgi_sim_grow(tgSim *s);

#endif
