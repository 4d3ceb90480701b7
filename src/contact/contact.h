// contact.h: what a contact model gives to the stepper, which knows no model by name.
//
// One line per model in table.c: a row solver or a contact law, and the stepper by whose equations its steps are made.
#ifndef TG_CONTACT_CONTACT_H
#define TG_CONTACT_CONTACT_H

#include "dyn/dynamics.h"
#include "joint/joint.h"
#include "sim/param.h"
#include "sim/sim.h"
#include "sim/stepper.h"
#include "tangere/force.h"
#include "tangere/step.h"

/// A row solver finds the impulses of the constraint rows that rows.h makes (sim_fields.def: row_*), given row_A and
/// row_b, and differentiates that. Rows, velocities, the step matrix, A, b and positions are not its business. Vectors
/// over rows have s->nrow entries.
typedef struct tgRowSolver {
  /// row_f, row_w, row_class from row_A and row_b; s->info's solver part. TG_NOT_CONVERGED: s->error names the bodies.
  tgStatus (*solve)(tgSim *s);
  /// What tells these impulses among all that the conditions might have had, at most record_bytes for the sim's
  /// capacity; and what solve makes, to the bit, from the same rows and that: one linear solve.
  size_t (*record_bytes)(const tgSim *s);
  void (*record)(const tgSim *s, void *to);
  tgStatus (*recall)(tgSim *s, const void *from);
  /// Either once more, where row_b alone has changed since: what is kept of the first time is taken where it fits. from: a record; NULL: it
  /// is solved for.
  tgStatus (*again)(tgSim *s, const void *from);

  /// The second phase of an impact by Poisson's law, from what b says, row_rebound and the impulses of the second problem; from: of a
  /// record, NULL: it is solved for. It has the record and the derivative of a solve.
  tgStatus (*rebound)(tgSim *s, const void *from);

  /// Islands whose problem, of velocities or, with `two`, the second one, has another answer than it was given: those known without a
  /// search, and those that one finds, by s->answers_asked. *row: where the answers of the first differ. NULL: never any.
  int (*ambiguous)(tgSim *s, bool two, int *row);

  // derivative of the solve: df = df/dr r + the least-norm part; r = d(A f + b) at held free impulses
  /// df (nrow) from r (nrow).
  void (*solve_jvp)(const tgSim *s, const tgReal *r, tgReal *df);
  /// The same for n vectors over the rows of one island: numbers at[a] .. at[a] + n - 1 of X (n a multiple of 4) are what they have for its
  /// row a; r in, df out. live (the island's rows): rows of the island in which df is not 0, *nlive of them. Where the split of the
  /// impulses over redundant rows moves nothing it need not be that of solve_jvp.
  tgStatus (*solve_columns)(tgSim *s, int island, bool forces, int n, const int *at, tgReal *X, int *live, int *nlive);
  /// rbar (nrow) = dL/dr from g = dL/df.
  void (*solve_vjp)(const tgSim *s, const tgReal *g, tgReal *rbar);
  /// The complementarity-aware choice: z (nv) = dL/dv', lambda = Mh^-1 z, g (nrow) = J lambda; y (nrow) as solve_vjp
  /// gave it is replaced on the islands that let nothing through. s->aware_row: the first contact's row that was taken
  /// otherwise than it is, -1 when none.
  void (*aware_adjoint)(tgSim *s, const tgReal *z, const tgReal *lambda, const tgReal *g, tgReal *y);
  /// Redundant rows whose split of the impulses moves the sim: true when df has a second part, N (beta' dA), N a linear map
  /// that null_jvp applies; beta (nrow) is then filled. forces: where the impulses themselves matter, of any that are
  /// redundant.
  bool (*null_part)(const tgSim *s, bool forces, tgReal *beta);
  /// df (nrow) += N x, x (nrow) = dA beta.
  void (*null_jvp)(const tgSim *s, const tgReal *x, tgReal *df);
  /// alpha (nrow) = N' g: the second part gives dL = alpha' dA beta.
  void (*null_vjp)(const tgSim *s, const tgReal *g, tgReal *alpha);
  /// Rows that the normal `row` bounds have a share in its alpha, as they follow its impulse; false: N splits normals alone.
  bool (*null_has_bounds)(const tgSim *s, int row);
  /// What the row's impulse is as a share of its bound where that holds it: -1 or 1, in a cone the direction of friction along the row;
  /// 0: it is not held by a bound.
  tgReal (*side)(const tgSim *s, int row);
  /// A class by which a normal or a limit presses.
  bool (*presses)(int cls);
  /// The class by which a normal or a limit presses, and by which a tangent sticks.
  int (*holding)(int kind);
} tgRowSolver;

/// What an evaluation of a contact law is asked for besides the wrenches, and what a law has, as bits.
enum {
  TG_LAW_ENERGY = 1,     ///< energy, s->energy, push and hardening
  TG_LAW_POSE = 2,       ///< X
  TG_LAW_VELOCITY = 4,   ///< Y; a law without it has forces of poses alone
  TG_LAW_LAST = 8,      ///< the step is expected to end here: what the next one begins with may be made too
  TG_LAW_STEP = 16,     ///< B and E: the force goes by the poses at the start and the end of the step too, s->start and s->end
  TG_LAW_FORESEEN = 64, ///< terms at the pose as the last evaluation without this foresees them, from which nothing else may have changed
                        ///< since: a guess, for steps of a solve
  TG_LAW_SOLVE = 32     ///< an iteration of a step's solve: wrenches and derivatives may be those of a force that the law finds easier to
                        ///< follow from one iteration to the next, and that becomes its own as these come to an end
};

/// Where and how stiffly a pair pushes or would push: direction n on the first body at the point p (world), stiffness [N/m] once it
/// touches, and slopes of the force in speed along n and across it at the present force [N s/m].
typedef struct tgContactStiffness { double p[3], n[3], stiffness, damping, friction; } tgContactStiffness;

/// A contact law is a force between pairs of bodies (tgPairTerm, s->term) as a function of their poses and velocities,
/// and of the poses at the start of the step; in the complex build its derivative carries the second. Inertia, joints,
/// actuators, the equations of motion and their solve are the stepper's.
typedef struct tgLaw {
  unsigned has;          ///< what it gives of the bits above
  /// Terms for which there is room in s->term at first. A law that may have more raises s->wanted.nterm.
  int (*terms)(const tgContact *c);
  /// Before a step of size h or a derivative of it, at s->start: what follows from the sim's parameters,
  /// and what is held over the step. TG_ERR_INVALID when bodies touch already that the law keeps apart,
  /// naming geoms, faces and depth.
  tgStatus (*begin)(tgSim *s, double h);
  /// s->term[0 .. nterm - 1] at the pose and its velocities; s->info's least distance. s->energy INFINITY, with the
  /// terms undefined, when bodies touch that the law keeps apart.
  tgStatus (*evaluate)(tgSim *s, const tgPose *pose, unsigned want);
  /// Terms of the last evaluation are to be foreseen (TG_LAW_FORESEEN) where no point has moved farther than reach, about. false: an
  /// evaluation costs as little. NULL: they never are.
  bool (*foresees)(tgSim *s, double reach);
  /// At s->end: no body is so deep in another that the force says nothing of the way out. NULL: none ever is.
  bool (*trusted)(const tgSim *s);
  /// From now on forces are those of a gentler law, up to soft = 1, of which the solutions lead to its own's, soft = 0, as that falls.
  /// anew: what solves have left behind is forgotten. NULL: there is none.
  void (*soften)(tgSim *s, double soft, bool anew);
  /// In place of begin and all evaluations of a step whose end, s->end, is known: what begin makes, and the terms at
  /// the end as the last of them left both.
  /// NULL: begin and one evaluation do.
  tgStatus (*revisit)(tgSim *s, double h);
  /// Largest fraction (0, 1] of the tangent step d from the pose along which nothing touches; leaves s->trial
  /// undefined. NULL: no step is too long for it.
  tgStatus (*step_bound)(tgSim *s, const tgPose *pose, const tgReal *d, double *fraction);
  /// B of the terms of the last evaluate, which was at the pose. NULL: nothing is lagged.
  tgStatus (*start_d)(tgSim *s, const tgPose *pose);
  /// out (nbody x 6) += B' Z summed over these terms, Z (nbody x 6) twists at the pose; without their B. NULL with start_d.
  tgStatus (*start_vjp)(tgSim *s, const tgPose *pose, const tgReal *Z, tgReal *out);
  /// p += d/dtheta of the sum over the terms of w . (Z_body1; Z_body2) at the pose of the last evaluate, with its X; Z
  /// (nbody x 6) twists held fixed, theta the numbers of the contact model and of the geoms. only: of that term alone, -1: of all.
  /// TG_ERR_UNSUPPORTED names a parameter without a derivative.
  tgStatus (*parameters)(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p);
  /// What it tells of contacts (tgContactModel.touch): number i is term i, or, by_bodies, a term is that of all pairs of geoms of its
  /// bodies. Beside a plane of the world the normal is the plane's; the point is in the plane.
  bool by_bodies, plane_normal, plane_point;
  /// Positions and outward normals (n x 3, frame of the geom, the sim's own numbers) of the points that a geom collides
  /// by; returns n, 0: none. NULL: no geom has any.
  int (*points)(tgSim *s, int geom, const tgReal **position, const tgReal **normal);
  /// Of term i at the pose of the last evaluate, for the advice on a step's size; false: it pushes nothing whatever
  /// the poses. NULL: not told.
  bool (*stiffness)(tgSim *s, const tgPose *pose, int i, tgContactStiffness *out);
  /// "geom 'a' and geom 'b'" of a term, written into text. Returns text.
  const char *(*term_label)(const tgSim *s, int term, char *text, size_t size);
} tgLaw;

/// A condition under which a motion found with the model is replayed before it is believed (optim/verify.c).
typedef struct tgContactDoubt {
  const char *name;            ///< of the replay
  const char *option;          ///< what is changed: to `word`, or its number by `factor`
  const char *word;
  double factor;
  bool finer;                  ///< with shorter steps as well
  bool required;               ///< unless a task says otherwise
  bool asked;                  ///< of tasks that name it alone
} tgContactDoubt;

typedef struct tgContactModel {
  const char *word;
  const char *stepper;         // by whose equations its steps are made: a name of step/table.c
  tgiOptionList options;
  bool intersection_free;      // bodies never touch: see tg_contact_intersection_free
  bool moving_planes;          // planes may be parts of bodies that move; else such a pair is refused by name
  bool two_problems;           // of rows: each part of a step has one of velocities and one of positions

  /// Bytes of s->solver for a capacity; NULL: none.
  size_t (*solver_bytes)(const tgContact *c, const tgCapacity *z);
  /// Is every geom supported? Makes c->data where the model keeps any. Fills error (may be NULL) with the first that is not.
  tgStatus (*prepare)(tgContact *c, tgError *error);
  /// Frees c->data; NULL: there is none.
  void (*release)(tgContact *c);
  /// See tg_contact_resting_gap; NULL: bodies at rest touch.
  double (*resting_gap)(const tgContact *c);
  /// By how much the surface of a geom lies outside of it, all around [m]: that of the simulation, s NULL: by the options. NULL: nowhere.
  double (*thicker)(const tgContact *c, const tgSim *s, int geom);
  /// Non-smooth points of the last step, counted, the first of them named. TG_ERR_CAPACITY: scratch is short. This and the next may be
  /// NULL: there are none.
  tgStatus (*nonsmooth)(tgSim *s, double h, tgGradInfo *info);
  /// The same of the parameters that p asks for, added to those of the step.
  void (*param_nonsmooth)(const tgSim *s, const tgParamGrad *p, tgGradInfo *info);
  /// Numbers that follow from others where they are 0, and then have no derivative; ended by NULL. NULL: there are none.
  const char *const *derived;
  /// The same of a parameter of the model, `name`: tgContact.differentiable. NULL: all have one.
  tgStatus (*differentiable)(const tgContact *c, const char *name, tgError *error);
  /// See tg_contact_law and tg_contact_grid; NULL: there are none.
  bool (*pair_law)(const tgContact *c, int i, double h, tgContactLaw *out);
  bool (*grid)(const tgContact *c, int i, tgContactGrid *out);
  /// Right after a step, the contacts it was made with: how many there are at most, and number i; false: it is none. Geoms in either
  /// order; of the frame the normal, and the first tangent or 0; of the forces `world` and `torque`. tgi_touch_finish does the rest.
  /// NULL both: they are not told.
  int (*touches)(const tgSim *s);
  bool (*touch)(const tgSim *s, int i, tgContactInfo *out);
  /// Bodies are rigid and touch at no distance: what motions under others are held to.
  bool rigid;
  /// Conditions of its motions, ended by one without a name; NULL: there are none.
  const tgContactDoubt *doubts;
  /// Its physics: rows solved for their impulses, or a force between bodies; the other is NULL.
  const tgRowSolver *rows;
  const tgLaw *law;
} tgContactModel;

/// Refuses, by name, a parameter of p that has no derivative under s's contact model.
tgStatus tgi_contact_differentiable(tgSim *s, const tgParamGrad *p);
/// Lists the options of c->kind that have a derivative in c->number.
void tgi_contact_numbers(tgContact *c);

/// Keeps options of c->kind in `room`, of its struct's size, for c.
void tgi_contact_options(tgContact *c, const tgContactOptions *options, void *room);
/// What all models of a kind of step take: their structs begin alike (tangere/contact.h). Without contact model, or
/// under one of another kind, the defaults.
static inline const tgImpulseOptions *tgi_impulse_options(const tgSim *s) {
  static const tgImpulseOptions without = {.symplectic = true};   // what concerns contacts and rows concerns none
  const tgContact *c = s->contact_model;
  return c != NULL && c->kind->rows != NULL ? (const tgImpulseOptions *)(const void *)c->options : &without;
}
/// Of a contact model or none: steps are made by the rule `closing`. Explicit rules have those of `touching`.
static inline bool tgi_contact_closes(const tgContact *c) {
  if (c == NULL || c->kind->rows == NULL) return false;
  const tgImpulseOptions *o = (const tgImpulseOptions *)(const void *)c->options;
  return o->contact_rule == TG_RULE_CLOSING && o->symplectic;
}
/// Friction of a contact is bounded by Coulomb's cone, along both tangents together.
static inline bool tgi_has_cones(const tgSim *s) { return tgi_impulse_options(s)->friction_cone == TG_CONE_ELLIPTIC; }
/// Which of a contact's numbers of friction bounds its row 1 + t: a cone has one for both tangents, the first.
static inline int tgi_friction_number(const tgSim *s, int t) { return t == 1 && tgi_has_cones(s) ? 0 : t; }
static inline bool tgi_contact_has_cones(const tgContact *c) {
  return c->kind->rows != NULL && ((const tgImpulseOptions *)(const void *)c->options)->friction_cone == TG_CONE_ELLIPTIC;
}
/// The same of a law of residual steps.
static inline const tgMidpointOptions *tgi_midpoint_options(const tgContact *c) {
  return (const tgMidpointOptions *)(const void *)c->options;
}
/// The same of an explicit law.
static inline const tgExplicitOptions *tgi_explicit_options(const tgContact *c) {
  return (const tgExplicitOptions *)(const void *)c->options;
}

/// Adds a warning about the options (printf style), while the contact model is being made; beyond the room for them it is dropped.
void tgi_contact_warn(tgContact *c, const char *format, ...) TG_PRINTF(2, 3);

/// Pair p of the model is of bodies that can move against each other, and not of two planes.
bool tgi_pair_moves(const tgModel *m, int p);
/// Refuses pair p, by name, where friction differs along its two tangents: for laws in which sliding has one coefficient.
tgStatus tgi_pair_one_friction(const tgModel *m, int p, tgError *error);

/// A tie, added to info, where numbers x and y of two geoms are equal: the larger counts, so one side of each has a derivative and the
/// other none.
void tgi_equal_numbers(const tgModel *m, int geom1, int geom2, tgReal x, tgReal y, const char *what, tgGradInfo *info);

/// The contact of two geoms from the wrench w (moment; force; world origin) on the body of geom1, which it pushes along n: its point is
/// where the line of action crosses the plane through `at` across n; of a line along the plane, the one nearest to `at`. The
/// force is not 0.
void tgi_touch_resultant(const tgSim *s, int geom1, int geom2, const double w[6], const double at[3], const double n[3],
                         tgContactInfo *out);
/// out (nbody x 6) += M' seed, M one of a term's matrices (12 x 12).
static inline void tgi_term_seed(const tgPairTerm *t, const tgReal *M, const tgReal *seed, tgReal *out) {
  const int body[2] = {t->body1, t->body2};
  for (int r = 0; r < 12; r++)
    for (int c = 0; c < 12 && seed[r] != 0; c++) out[6 * body[c / 6] + c % 6] += seed[r] * M[12 * r + c];
}
/// The same of the twists of its bodies in Z (nbody x 6).
static inline void tgi_term_transposed(const tgPairTerm *t, const tgReal *M, const tgReal *Z, tgReal *out) {
  tgReal seed[12];
  for (int r = 0; r < 12; r++) seed[r] = Z[6 * (r < 6 ? t->body1 : t->body2) + r % 6];
  tgi_term_seed(t, M, seed, out);
}
/// Does it slide faster than that, at velocities so far along from those at the start of the step (0) to those at its end (1)?
void tgi_touch_slip(const tgSim *s, double along, double slip_speed, tgContactInfo *out);
/// Orders the geoms, completes the frame and takes the force along its axes.
void tgi_touch_finish(tgContactInfo *c);
/// Its adjoint: raw is the contact before, grad a gradient in what it tells afterwards.
void tgi_touch_finish_vjp(const tgContactInfo *raw, const tgContactGrad *grad, tgiTouchGrad *out);

/// The model of that word; NULL with the known words in error.
const tgContactModel *tgi_contact_named(const char *word, tgError *error);
/// Gap of the geoms of a pair at which their surfaces touch as the contact model has them, and the most of any (tgContactModel.thicker).
double tgi_contact_thicker(const tgContact *c, const tgSim *s, int pair);
double tgi_contact_thickest(const tgContact *c, const tgSim *s);
/// Binds the contact model and its stepper to a model; as tg_contact_create.
tgContact *tgi_contact_create(const tgModel *model, const tgContactModel *kind, const tgStepper *stepper,
                              const tgContactOptions *options, tgError *error);

/// The solver of rows that models of impulses have in common (contact/lcp), room for what it keeps (tgContactModel.solver_bytes), and
/// tgContactModel.nonsmooth of steps that it has solved.
extern const tgRowSolver tgi_lcp_rows;
extern const tgContactDoubt tgi_lcp_doubts[];
size_t tgi_lcp_solver_bytes(const tgContact *c, const tgCapacity *z);
tgStatus tgi_lcp_nonsmooth(tgSim *s, double h, tgGradInfo *info);
/// Refuses, by name, what cones of friction cannot be had with, and makes room for what a solve with them records.
tgStatus tgi_lcp_cones_supported(tgContact *c, tgError *error);

/// The table, NULL past the end.
const tgContactModel *tgi_contact_table(int i);

#endif
