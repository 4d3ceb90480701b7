// contact.h: what a contact model gives to the stepper, which knows no model by name.
//
// One line per model in table.c: an impulse model, a potential model or a force model.
#ifndef TG_CONTACT_CONTACT_H
#define TG_CONTACT_CONTACT_H

#include "dyn/dynamics.h"
#include "joint/joint.h"
#include "sim/param.h"
#include "sim/sim.h"
#include "sim/stepper.h"

/// An impulse model works on the rows of the sim (sim_fields.def: row_*): it fills them, solves for their impulses given row_A and row_b, and
/// differentiates both. The stepper of impulses (step/impulse.h) owns everything that is dynamics: velocities, the step matrix, A, b, positions.
typedef struct tgImpulseModel {
  // h: step size [s]. Vectors over rows have s->nrow entries.

  /// Contacts and rows at the present frames: kind, owner, part, parent, limit, gap, J, warm class; row_bounce of normals whose
  /// approach speed in s->vhat is high enough.
  tgStatus (*rows)(tgSim *s, const tgPose *pose, double h);
  /// row_f, row_w, row_class from row_A and row_b; s->info's solver part. TG_NOT_CONVERGED: s->error names the bodies.
  tgStatus (*impulses)(tgSim *s);
  /// Keeps the classes and features of this step for the next.
  void (*remember)(tgSim *s);

  // derivatives of rows; u is a generalised velocity, held fixed, y weights of rows, held fixed; p (may be NULL) as in tgi_inverse_vjp
  /// gq (nv) += d/dq [y' J(q) u], p += the same in the parameters.
  void (*rows_vjp)(tgSim *s, const tgPose *pose, const tgReal *y, const tgReal *u, tgReal *gq, tgParamGrad *p);
  /// gq (nv) += d/dq [y' gap(q)], p likewise.
  void (*gap_vjp)(tgSim *s, const tgPose *pose, const tgReal *y, tgReal *gq, tgParamGrad *p);
  /// p += the parameters behind row_limit and row_bounce, y weights of these.
  void (*limit_parameters)(tgSim *s, const tgReal *y, tgParamGrad *p);
  void (*bounce_parameters)(tgSim *s, const tgReal *y, tgParamGrad *p);
  /// R[at[i] + to->q[j]] += y[i] d(J_i u)/dq_j for the rows i, at[i] the place of row i, and the dofs j of its island; y NULL: 1 each.
  tgStatus (*rows_jacobian)(tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R);
  /// R[at[i] + to->q[j]] += y[i] d gap_i/dq_j, likewise.
  tgStatus (*gap_jacobian)(tgSim *s, const tgPose *pose, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R);
  /// Rows as forces in the world: wrench (nbody x 6) = sum of f times the rows' screws, without rows that have none. Scratch-free.
  void (*wrench)(const tgSim *s, const tgPose *pose, const tgReal *f, tgReal *wrench);
  /// D[to->row[i] + to->q[j]] += d(J' f)_i/dq_j without what a wrench fixed in the world gives: the change of the screws themselves, and
  /// rows without screws.
  void (*force_jacobian)(tgSim *s, const tgPose *pose, const tgReal *f, const tgiPlaces *to, tgReal *D);

  // derivative of the solve: df = df/dr r + the least-norm part; r = d(A f + b) at held free impulses
  /// df (nrow) from r (nrow).
  void (*solve_jvp)(const tgSim *s, const tgReal *r, tgReal *df);
  /// The same for n vectors over the rows of one island: numbers at[a] .. at[a] + n - 1 of X (n a multiple of 4) are what they have for its
  /// row a; r in, df out. live (the island's rows): rows of the island in which df is not 0, *nlive of them. Where the split of the
  /// impulses over redundant rows moves nothing it need not be that of solve_jvp.
  tgStatus (*solve_columns)(tgSim *s, int island, int n, const int *at, tgReal *X, int *live, int *nlive);
  /// rbar (nrow) = dL/dr from g = dL/df.
  void (*solve_vjp)(const tgSim *s, const tgReal *g, tgReal *rbar);
  /// The complementarity-aware choice: z (nv) = dL/dv', lambda = Mh^-1 z, g (nrow) = J lambda; y (nrow) as solve_vjp gave it is replaced on the
  /// islands that let nothing through. s->explored: the first contact's row that was taken otherwise than it is, -1 when none.
  void (*explore)(tgSim *s, const tgReal *z, const tgReal *lambda, const tgReal *g, tgReal *y);
  /// Redundant rows whose split of the impulses moves the sim: true when df has a second part, N (beta' dA), N a linear map
  /// that null_jvp applies; beta (nrow) is then filled.
  bool (*null_part)(const tgSim *s, tgReal *beta);
  /// df (nrow) += N x, x (nrow) = dA beta.
  void (*null_jvp)(const tgSim *s, const tgReal *x, tgReal *df);
  /// alpha (nrow) = N' g: the second part gives dL = alpha' dA beta.
  void (*null_vjp)(const tgSim *s, const tgReal *g, tgReal *alpha);
  /// -1 or 1: the row's impulse is held at that end of its bound; 0: not held by a bound.
  int (*side)(const tgSim *s, int row);
  /// Carries what rows_vjp and gap_vjp left with the contacts to the sizes of their shapes, after all of them.
  tgStatus (*size_parameters)(tgSim *s, const tgPose *pose, tgParamGrad *p);
  /// "contact of geom 'a' and geom 'b'", written into text. Returns text.
  const char *(*row_label)(const tgSim *s, int row, char *text, size_t size);
} tgImpulseModel;

/// A potential model is an energy of the configuration, and of that at the start of the step: a sum of terms of two bodies each, with two derivatives
/// (tgPairTerm, s->term). The stepper of potentials (step/implicit.h) owns inertia, joints, actuators and the minimisation.
typedef struct tgPotentialModel {
  /// Terms at most: room of s->term.
  int (*terms)(const tgContact *c);
  /// Before a step, at s->start: TG_ERR_INVALID when bodies touch already, naming geoms, faces and depth. Makes what is frozen over the step.
  tgStatus (*begin)(tgSim *s, double h);
  /// s->term[0 .. nterm - 1] and s->potential, their sum, at the pose; INFINITY, with the terms undefined, when something touches.
  tgStatus (*evaluate)(tgSim *s, const tgPose *pose);
  /// Largest fraction (0, 1] of the tangent step d from the pose along which nothing touches. Leaves s->trial undefined.
  tgStatus (*advance)(tgSim *s, const tgPose *pose, const tgReal *d, double *fraction);
  /// B of the terms of the last evaluate, which was at the pose; may be NULL: there is none.
  tgStatus (*mixed)(tgSim *s, const tgPose *pose);
  /// out (nbody x 6) += B' Z summed over the terms, Z (nbody x 6) twists at the pose; without their B. NULL with mixed.
  tgStatus (*mixed_vjp)(tgSim *s, const tgPose *pose, const tgReal *Z, tgReal *out);
  /// At the pose after the step, puts the terms in place that the gradient is of; *other: they are not the step's. May be NULL: they are.
  tgStatus (*gradient_terms)(tgSim *s, const tgPose *pose, bool *other);
  /// p += d/dtheta of the sum over the terms of g . (Z_body1; Z_body2), Z (nbody x 6) twists at the pose after the step, held fixed; theta the numbers of the
  /// contact model and of the geoms. TG_ERR_UNSUPPORTED names a parameter without a derivative.
  tgStatus (*parameters)(tgSim *s, const tgPose *pose, const tgReal *Z, tgParamGrad *p);
  /// "geom 'a' and geom 'b'" of a term, written into text. Returns text.
  const char *(*term_label)(const tgSim *s, int term, char *text, size_t size);
} tgPotentialModel;

/// Where and how stiffly a pair of a force model pushes or would push: direction n on the first body at the point p (world), stiffness [N/m] once it
/// touches, and slopes of the force in speed along n and across it at the present force [N s/m].
typedef struct tgContactStiffness { double p[3], n[3], stiffness, damping, friction; } tgContactStiffness;

/// A force model is a force between pairs of bodies in closed form, of their poses and velocities, with one derivative (tgPairForce, s->force); in the
/// complex build that derivative carries the second. The stepper of forces (step/force.h) owns dynamics, joints and integration.
typedef struct tgForceModel {
  /// Pairs: room of s->force.
  int (*terms)(const tgContact *c);
  /// Before a step or an adjoint: what follows from the sim's parameters alone.
  tgStatus (*begin)(tgSim *s);
  /// s->force[0 .. nforce - 1] at the pose and its V: w, and with order 1 also X and Y. The least distance into s->info.
  tgStatus (*evaluate)(tgSim *s, const tgPose *pose, int order);
  /// p += d/dtheta of the sum over the pairs of w . (Z_body1; Z_body2) at the pose of the last evaluate and its X; Z (nbody x 6) twists held fixed,
  /// theta the numbers of the contact model and of the geoms. TG_ERR_UNSUPPORTED names a parameter without a derivative.
  tgStatus (*parameters)(tgSim *s, const tgPose *pose, const tgReal *Z, tgParamGrad *p);
  /// Positions and outward normals (n x 3, frame of the geom, the sim's own numbers) of the points that a geom collides by; returns n, 0: none.
  int (*points)(tgSim *s, int geom, const tgReal **position, const tgReal **normal);
  /// Of pair i at the pose of the last evaluate; false: it pushes nothing whatever the poses.
  bool (*stiffness)(tgSim *s, const tgPose *pose, int i, tgContactStiffness *out);
  /// "geom 'a' and geom 'b'" of a pair, written into text. Returns text.
  const char *(*term_label)(const tgSim *s, int i, char *text, size_t size);
} tgForceModel;

/// A contact force to look at: f [N] on body1 at the point p, its opposite on body2; world.
typedef struct tgTouch { int body1, body2; double p[3], f[3]; } tgTouch;

typedef struct tgContactModel {
  const char *word;
  const char *stepper;         // by whose equations its steps are made: a name of step/table.c
  tgiOptionList options;

  /// Bytes of s->solver for a capacity.
  size_t (*solver_bytes)(const tgContact *c, const tgCapacity *z);
  /// Is every geom expressible? Makes c->data where the model keeps any. Fills error (may be NULL) with the first that is not.
  tgStatus (*prepare)(tgContact *c, tgError *error);
  /// Frees c->data; NULL: there is none.
  void (*release)(tgContact *c);
  /// Ties and switches of the last step, counted, the first of them named. This and the next may be NULL: there are none.
  void (*ties)(const tgSim *s, double h, tgGradInfo *info);
  /// Ties of the parameters that p asks for, added to those of the step.
  void (*param_ties)(const tgSim *s, const tgParamGrad *p, tgGradInfo *info);
  /// Right after a step, the contact forces it was made with: how many there are at most, and number i; false: it is none.
  int (*touches)(const tgSim *s);
  bool (*touch)(const tgSim *s, int i, tgTouch *out);
  /// The kind of step: one of the three, the others NULL.
  const tgImpulseModel *impulse;
  const tgPotentialModel *potential;
  const tgForceModel *force;
} tgContactModel;

/// Lists the options of c->kind that have a derivative in c->number.
void tgi_contact_numbers(tgContact *c);

/// Keeps options of c->kind in `room`, of its struct's size, for c.
void tgi_contact_options(tgContact *c, const tgContactOptions *options, void *room);
/// What all models of a kind of step take: their structs begin alike (tangere/contact.h). Without contact model, or under one of another kind, the defaults.
static inline const tgImpulseOptions *tgi_impulse_options(const tgSim *s) {
  static const tgImpulseOptions without = {.symplectic = true};   // what concerns contacts and rows concerns none
  const tgContact *c = s->contact_model;
  return c != NULL && c->kind->impulse != NULL ? (const tgImpulseOptions *)(const void *)c->options : &without;
}
/// The same of a force model.
static inline const tgExplicitOptions *tgi_explicit_options(const tgContact *c) { return (const tgExplicitOptions *)(const void *)c->options; }

/// Adds a warning about the options (printf style), while the contact model is being made; beyond the room for them it is dropped.
void tgi_contact_warn(tgContact *c, const char *format, ...) TG_PRINTF(2, 3);

/// Bodies must stay apart under the contact model: its forces change over the gaps that are left, however small.
bool tgi_contact_separates(const tgContact *c);

/// Can the step of a potential model express the model's joints, actuators and tendons? TG_ERR_UNSUPPORTED: error (may be NULL) names the first
/// that it cannot.
tgStatus tgi_potential_express(const tgModel *m, tgError *error);

/// A tie, added to info, where two geoms' numbers are equal: the larger counts, so one side of each has a derivative and the other none.
void tgi_equal_numbers(const tgModel *m, int geom1, int geom2, const tgReal *number, const char *what, tgGradInfo *info);

/// Where the line of action of the wrench w (moment; force; world origin) crosses the plane through `at` across n; of a line along the plane its point
/// nearest to `at`. The force is not 0.
void tgi_touch_point(const double w[6], const double at[3], const double n[3], double p[3]);

/// The model of that word; NULL with the known words in error.
const tgContactModel *tgi_contact_named(const char *word, tgError *error);
/// Binds it and its stepper to a model; as tg_contact_create.
tgContact *tgi_contact_create(const tgModel *model, const tgContactModel *kind, const tgStepper *stepper, const tgContactOptions *options, tgError *error);

/// The table, NULL past the end.
const tgContactModel *tgi_contact_table(int i);

#endif
