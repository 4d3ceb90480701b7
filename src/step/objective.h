// objective.h: what the step of a potential model minimises over the coordinates q after it, with two derivatives.
//
// Based on: [math/barrier Step]. With the poses T of the bodies at q, T0 at the start of the step (q0) and T-1 a step before (q0 (+) (-h v0)),
//   L(q) = sum_b (tr(A_b Sigma_b A_b') + m_b |a_b|^2)/(2 h^2) - sum_b (1 - gamma_b) m_b g . c_b + J(delta, q) + P(T),
//   A = R - 2 R0 + R-1, a = c - 2 c0 + c-1, delta = q (-) q0, J of joints, actuators and tendons (joint_terms.c), P the contact model's.
// A function of poses is kept as a wrench and a curvature: E(exp(xi) T) = E + w . xi + xi' K xi/2. Over the tree, with w and K summed over
// subtrees and i on the way from j to the root,
//   g_j = S_j . w,   H_ij = S_i . (K S_j + (S_j x* w)/2),   the last part only where i moves before j, not at once with it.
#ifndef TG_STEP_OBJECTIVE_H
#define TG_STEP_OBJECTIVE_H

#include "contact/contact.h"
#include "dyn/dynamics.h"

/// The objective at one q: arrays on the sim's scratch.
typedef struct tgiObjective {
  double h;
  tgReal energy;
  double rounding;       ///< what round-off may be of energy, about
  tgReal *delta, *g;     ///< nv: q (-) q0; gradient in tangents at q
  tgReal *slope, *curve; ///< nv: dJ/d(delta_d) of all that depends on delta; its second derivative but for lines
  tgReal *wrench, *K;    ///< nbody x 6, x 36: of subtrees; K valid after the Hessian
  tgReal *coef;          ///< room for a line
  int *dof;
} tgiObjective;

/// Takes the arrays; false when scratch is short.
bool tgi_objective_take(tgSim *s, double h, tgiObjective *o);
/// s->before: the pose a step before, q0 (+) (-h v0), kept for the step and its derivatives.
tgStatus tgi_objective_begin(tgSim *s, double h);
/// energy and g at the pose; energy INFINITY when something touches or a limit is passed, and then no more.
tgStatus tgi_objective_evaluate(tgSim *s, const tgPose *pose, tgiObjective *o);
/// Of inertia, weight and the terms at hand: energy (but for the terms), and wrench summed over subtrees.
void tgi_objective_gather(const tgSim *s, const tgPose *pose, tgiObjective *o);
/// H (nv x nv, both halves) at the pose of the last evaluation.
void tgi_objective_hessian(tgSim *s, const tgPose *pose, tgiObjective *o, tgReal *H);

/// Adds to H what takes away the negative curvature of pairs of bodies, at the pose and its terms; reach (nbody) of a body's points from its
/// centre of mass. False: there is none.
bool tgi_objective_definite(const tgSim *s, const tgPose *pose, double h, const double *reach, tgReal *H);

/// Betters the Newton step d = -H^-1 g, H positive definite, by what the terms at hand say of how their forces grow (push, hardening); A (nv x nv): room.
tgStatus tgi_objective_foresee(tgSim *s, const tgPose *pose, const tgReal *H, const tgReal *g, tgReal *A, tgReal *d);

/// The pose at q0 (k = 0) or a step before (1).
static inline const tgPose *tgi_old_pose(const tgSim *s, int k) { return k == 0 ? &s->start : &s->before; }
/// A (3x3) and a (3) of a body.
void tgi_second_difference(const tgSim *s, const tgPose *pose, int b, tgReal *A, tgReal *a);
/// Wrench and curvature of a body's inertia and weight.
void tgi_body_terms(const tgSim *s, const tgPose *pose, int b, double h, tgReal *w, tgReal *K);
/// Sigma = tr(I)/2 1 - I of a body about its centre of mass, body axes.
void tgi_spread(const tgSim *s, int b, tgReal *Sigma);

// ---- joint_terms.c ----

/// A scalar y = sum of coef_k delta_(dof_k) of an actuator (i < nu) or a tendon (i - nu), and its energy phi(y) with two derivatives; by_start is
/// that of the slope in the length at q0.
typedef struct tgiLine { int n; tgReal y, energy, slope, curve, by_start; } tgiLine;
/// Lines of a model, and terms of the longest.
static inline int tgi_line_count(const tgModel *m) { return m->nu + m->ntendon; }
int tgi_line_room(const tgModel *m);
/// Line i at the pose, whose difference from q0 is o->delta: dofs and coefficients (in delta) into o->dof, o->coef.
tgiLine tgi_line(const tgSim *s, const tgPose *pose, int i, tgiObjective *o);
/// d(length at q0)/d(q0) of a line's terms, before o->coef is changed.
void tgi_line_start(const tgSim *s, int i, const tgiLine *l, const tgiObjective *o, tgReal *slope);
/// coef of a line, from the space of delta to tangents at q.
void tgi_line_tangent(const tgSim *s, int i, const tgiObjective *o, int n, tgReal *coef);
/// Returns the control of an actuator within its range; its force is a[0] + a[1] length + a[2] velocity.
tgReal tgi_actuator_affine(const tgSim *s, int i, tgReal a[3]);
/// Its length at q0.
tgReal tgi_actuator_start(const tgSim *s, int i);

/// A rotation's energy phi(w) with slope p and second derivative P (3x3) at w = log(R'^-1 R): g += Jr^-T p, H (3x3) += Jr^-T P Jr^-1 + what
/// turns with Jr.
void tgi_rotation_terms(const tgReal *w, const tgReal *p, const tgReal *P, tgReal *g, tgReal *H);
/// Rotation group of joint j: first dof and first coordinate, -1 when the joint has none.
int tgi_rotation_dof(const tgModel *m, int j, int *adr);
/// The barrier of limits, b(x) = -(x - 1)^2 log(x)/x for x < 1, else 0: value and two derivatives, x > 0.
void tgi_limit_barrier(tgReal x, tgReal b[3]);
/// Side 0 or 1 of the range of joint j (ball: of its angle) at q: its distance, and the width over which it pushes. False: there is none.
bool tgi_limit(const tgSim *s, int j, int side, const tgReal *q, tgReal *gap, tgReal *width);
/// delta, slope and curve at the pose.
void tgi_joint_slopes(const tgSim *s, const tgPose *pose, tgiObjective *o);
/// The same, and J into energy and g; energy INFINITY where a limit is passed.
void tgi_joint_terms(const tgSim *s, const tgPose *pose, tgiObjective *o);
/// H += its second derivative.
void tgi_joint_hessian(const tgSim *s, const tgPose *pose, tgiObjective *o, tgReal *H);

#endif
