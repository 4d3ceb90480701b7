// objective.h: what the step of a law with an energy minimises over the coordinates q after it, with two derivatives.
//
// Based on: [math/barrier Step]. With the poses T of the bodies at q, T0 at the start of the step (q0) and T-1 a
// step before (q0 (+) (-h v0)),
//   L(q) = sum_b (tr(A_b Sigma_b A_b') + m_b |a_b|^2)/(2 h^2) - sum_b (1 - gamma_b) m_b g . c_b + J(delta, q) + P(T),
//   A = R - 2 R0 + R-1, a = c - 2 c0 + c-1, delta = q (-) q0, J of joints, actuators,
//     tendons and equalities (joint/joint.h), P the contact model's.
// A function of poses is kept as a wrench and a curvature: E(exp(xi) T) = E + w . xi + xi' K xi/2. Over the tree, with w and K summed over
// subtrees and i on the way from j to the root,
//   g_j = S_j . w,   H_ij = S_i . (K S_j + (S_j x* w)/2),   the last part only where i moves before j, not at once with it.
#ifndef TG_STEP_OBJECTIVE_H
#define TG_STEP_OBJECTIVE_H

#include "contact/contact.h"
#include "dyn/dynamics.h"
#include "joint/joint.h"
#include "math/pattern.h"

/// The objective at one q: arrays on the sim's scratch.
typedef struct tgiObjective {
  double h;
  tgReal energy;
  const tgiPattern *pattern;  ///< of H, the caller's
  double rounding;       ///< what round-off may be of energy, about
  tgReal *g;             ///< nv: gradient in tangents at q
  tgReal *wrench, *K;    ///< nbody x 6, x 36: of subtrees; K valid after the Hessian
  tgiJointTerms joints;
} tgiObjective;

/// Takes the arrays; false when scratch is short.
bool tgi_objective_take(tgSim *s, double h, tgiObjective *o);
/// s->before: the pose a step before, q0 (+) (-h v0), kept for the step and its derivatives.
tgStatus tgi_objective_begin(tgSim *s, double h);
/// energy and g at the pose; want: TG_LAW_LAST or TG_LAW_FORESEEN or 0; energy INFINITY when something
/// touches or a limit is passed, and then no more.
tgStatus tgi_objective_evaluate(tgSim *s, const tgPose *pose, unsigned want, tgiObjective *o);
/// The same with the terms of that pose at hand, which is allowed.
void tgi_objective_at_terms(tgSim *s, const tgPose *pose, tgiObjective *o);
/// Of inertia, weight and the terms at hand: energy (but for the terms), and wrench summed over subtrees.
void tgi_objective_gather(const tgSim *s, const tgPose *pose, tgiObjective *o);
/// Does a term join its bodies in H?
bool tgi_term_acts(const tgPairTerm *t);
/// H (stored by o->pattern) at the pose of the last evaluation.
void tgi_objective_hessian(tgSim *s, const tgPose *pose, tgiObjective *o, tgReal *H);

/// Adds to H what takes away the negative curvature of pairs of bodies, at the pose and its terms; reach (nbody) of a
/// body's points from its centre of mass. False: there is none.
bool tgi_objective_definite(const tgSim *s, const tgPose *pose, double h, const double *reach, const tgiPatterned *H);

/// Betters the Newton step d = -H^-1 g, H (of the pattern p) positive definite, by what the terms at hand say of how
/// their forces grow (push, hardening); A: room for another such matrix.
tgStatus tgi_objective_foresee(tgSim *s, const tgPose *pose, const tgiPattern *p, const tgReal *H, const tgReal *g, tgReal *A, tgReal *d);

/// The pose at q0 (k = 0) or a step before (1).
static inline const tgPose *tgi_old_pose(const tgSim *s, int k) { return k == 0 ? &s->start : &s->before; }
/// A (3x3) and a (3) of a body.
void tgi_second_difference(const tgSim *s, const tgPose *pose, int b, tgReal *A, tgReal *a);
/// Wrench and curvature of a body's inertia and weight.
void tgi_body_terms(const tgSim *s, const tgPose *pose, int b, double h, tgReal *w, tgReal *K);
/// Sigma = tr(I)/2 1 - I of a body about its centre of mass, body axes.
void tgi_spread(const tgSim *s, int b, tgReal *Sigma);

#endif
