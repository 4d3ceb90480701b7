// joint.h: the law of joints for every stepper that is not of impulses: limits, springs, dampers, armature, dry
// friction, actuators with their ranges, tendons and equalities, as functions of coordinates, velocities, controls and
// the coordinates at the start of the step.
//
// Based on: [math/joints]. Two ways of asking, which share lines, limits, bonds and the actuators' law (dyn/forces.h):
//   as a force   joints(q, v) with derivatives in q and v: limits, dry friction, equalities;
//     actuators and passive forces are those of dyn/dynamics.h;
//   as an energy J(q'; q, v, u), what a step of h from (q, v) to q' minimises of them, velocities being delta/h,
//     delta = q' (-) q: with its gradient and
//                second derivative in q', and the derivative of the gradient in q, v and u.
// A connect or a weld is a pair of bodies with a force between them, as a contact is: tgPairTerm, tgPairTerm.
#ifndef TG_JOINT_JOINT_H
#define TG_JOINT_JOINT_H

#include "dyn/forces.h"
#include "math/pattern.h"
#include "sim/param.h"

#define TG_STANDARD_GRAVITY 9.80665   // m/s^2

// ---- inertia.c: what stiffnesses go by ----

/// Makes c->limit_inertia and c->equality_inertia, at qpos0: of an energy (the weight that an equality may carry), or
/// of forces (what they meet).
tgStatus tgi_joint_inertias(tgContact *c, bool as_energy, tgError *error);
/// Mass of the tree that a body moves with [kg]; infinite when nothing moves it.
double tgi_tree_mass(const tgModel *m, int body);

// ---- limit.c ----

/// Rotation group of joint j: first dof and first coordinate, -1 when the joint has none.
int tgi_rotation_dof(const tgModel *m, int j, int *adr);
/// Joints and tendons have their limits in one list: joints, then tendons.
static inline int tgi_limit_count(const tgModel *m) { return m->njnt + m->ntendon; }
/// Side 0 or 1 of limit i, but of a spatial tendon: the distance to it at q (of a ball: of its angle), and the width over which it pushes.
/// False: there is none.
bool tgi_limit(const tgSim *s, int i, int side, const tgReal *q, tgReal *gap, tgReal *width);
/// The same at a pose, whose q it takes, and the lengths of spatial tendons.
bool tgi_limit_at(const tgSim *s, int i, int side, const tgPose *pose, tgReal *gap, tgReal *width);
/// p += by_gap and by_width times the derivatives of these two in the ranges and in limit_range.
void tgi_limit_parameters(const tgSim *s, int i, int side, tgReal by_gap, tgReal by_width, tgParamGrad *p);
/// "joint 'a'" or "tendon 'b'" of limit i, written into text. Returns text.
const char *tgi_limit_label(const tgModel *m, int i, char *text, size_t size);
/// Length of a fixed tendon at q; its rate, or what x gives along it. Of either kind at a pose: tgi_tendon_speed.
tgReal tgi_tendon_length(const tgModel *m, int t, const tgReal *q);
tgReal tgi_tendon_rate(const tgModel *m, int t, const tgReal *v);
/// The barrier of limits, b(x) = -(x - 1)^2 log(x)/x for x < 1, else 0: value and two derivatives, x > 0.
void tgi_limit_barrier(tgReal x, tgReal b[3]);

// ---- equality.c ----

/// Of an equality: stiffness and damping of what is to be 0, lengths or a joint's coordinate, and of rotations (welds).
typedef struct tgiEqualityGains { tgReal k, c, k_turn, c_turn; } tgiEqualityGains;
/// As an energy, and as forces.
void tgi_equality_energy_gains(const tgSim *s, int eq, tgiEqualityGains *g);
void tgi_equality_force_gains(const tgSim *s, int eq, tgiEqualityGains *g);
/// p += bar_k and bar_c, what springs and dampers of an equality did, times the rates of stiffness and damping in
/// the contact model's number.
void tgi_equality_parameters(const tgSim *s, tgReal bar_k, tgReal bar_c, tgParamGrad *p);
/// A side of a tie: a joint, or the joints and coefficients of a tendon; n 0: there is none.
typedef struct tgiTieSide { int n; const int *joint; const tgReal *coef; } tgiTieSide;
/// A joint or tendon equality at q: the error xa - xa0 - poly(x), x = xb - xb0, and poly's first two derivatives.
typedef struct tgiTie { tgiTieSide a, b; tgReal x, error, slope, curve; } tgiTie;
void tgi_tie(const tgModel *m, int eq, const tgReal *q, tgiTie *t);
tgiTieSide tgi_tie_side(const tgModel *m, int eq, int side);
/// Dof of a side's term k.
static inline int tgi_tie_dof(const tgModel *m, const tgiTieSide *s, int k) { return m->jnt_vadr[s->joint[k]]; }
/// What v (nv) gives along a side; x += y times its coefficients.
tgReal tgi_tie_rate(const tgModel *m, const tgiTieSide *s, const tgReal *v);
void tgi_tie_add(const tgModel *m, const tgiTieSide *s, tgReal y, tgReal *x);
/// The error's gradient J has so many entries, of which one is of a dof, and *coef; a dof may have several.
static inline int tgi_tie_entries(const tgiTie *t) { return t->a.n + t->b.n; }
int tgi_tie_entry(const tgModel *m, const tgiTie *t, int k, tgReal *coef);
/// The first dof of a side, which tells its set of dofs; -1: there is no such side.
int tgi_tie_lead(const tgModel *m, int eq, int side);
/// p += the derivative in the coefficients of by_error times the error and by_slope times the slope.
void tgi_tie_parameters(int eq, const tgiTie *t, tgReal by_error, tgReal by_slope, tgParamGrad *p);

// ---- bond.c ----

/// Geometry of a connect or weld: the anchor as a point of either body, the point p half way between them, where forces act and
/// velocities are compared, for a weld the rotation vector theta with R_b = R_a R_rel exp(theta), and Rb.
typedef struct tgiBond { int a, b; tgReal pa[3], pb[3], p[3], theta[3]; const tgReal *Rb; bool weld; } tgiBond;
void tgi_bond(const tgSim *s, const tgPose *pose, int eq, tgiBond *bond);
/// From gradients in the anchors of a connect or weld, as points of a and of b, to the parameters that place them in the bodies.
void tgi_bond_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal ga[3], const tgReal gb[3], tgParamGrad *p);
/// An active connect or weld of which a body moves.
bool tgi_is_bound(const tgModel *m, int eq);
/// Its energy, and about what round-off may be of it over 2.2e-16.
double tgi_bond_term(const tgSim *s, const tgPose *pose, int eq, tgPairTerm *t);
/// p += d/dtheta of g . (Za; Zb), twists held fixed, theta all but the places of bodies.
void tgi_bond_term_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal *Za, const tgReal *Zb, tgParamGrad *p);
/// Its force at the pose and its V.
void tgi_bond_force(const tgSim *s, const tgPose *pose, int eq, tgPairTerm *f);
/// p += d/dtheta of w . (Za; Zb), likewise.
void tgi_bond_force_parameters(const tgSim *s, const tgPose *pose, int eq, const tgReal *Za, const tgReal *Zb, tgParamGrad *p);

// ---- line.c ----

/// A scalar y = sum of coef_k delta_(dof_k) and its energy phi(y) with two derivatives; by_start is that of the slope
/// in the length at q. Lines are those of actuators that work alone, of tendons, and of joints whose summed actuator
/// force is limited. n 0: there is none.
typedef struct tgiLine { int n; tgReal y, energy, slope, curve, by_start; } tgiLine;

/// J at one q', and what is asked with it: arrays on the sim's scratch.
typedef struct tgiJointTerms {
  double h;
  tgReal energy;
  double rounding;       ///< what round-off may be of energy, about, over 2.2e-16
  tgReal *delta;         ///< nv: q' (-) q
  tgReal *slope, *curve; ///< nv: dJ/d(delta_d) of all that depends on delta; its second derivative but for lines
  tgReal *coef;          ///< room for a line
  int *dof;
} tgiJointTerms;

static inline int tgi_line_count(const tgModel *m) { return m->nu + m->ntendon + m->njnt; }
/// Terms of the longest.
int tgi_line_room(const tgModel *m);
/// Line i at the pose of q', whose difference from q is t->delta: dofs and coefficients (in delta) into t->dof, t->coef.
tgiLine tgi_line(const tgSim *s, const tgPose *pose, int i, tgiJointTerms *t);
/// d(length at q)/dq of a line's terms, before t->coef is changed.
void tgi_line_start(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, tgReal *slope);
/// t->coef of a line, from the space of delta to tangents at q'.
void tgi_line_tangent(const tgSim *s, int i, int n, tgiJointTerms *t);
/// The next actuator on line i after that one (-1: the first), and what a unit of its force is along the line; -1 past the last.
int tgi_line_motor(const tgModel *m, int i, int after, tgReal *lever);
/// Its state on that line; slopes 0 where the joint's sum is clamped.
void tgi_line_motor_state(const tgSim *s, int i, int actuator, tgReal lever, const tgiLine *l, const tgiJointTerms *t,
                          tgActuatorState *a, int *clamps);
/// Dry friction h f sqrt((y/h)^2 + eps^2), added to an energy, its slope and curvature in y; eps is slip_speed.
void tgi_dry_friction(const tgSim *s, double h, tgReal f, tgReal y, tgReal *energy, tgReal *slope, tgReal *curve);
/// -1, 0, 1: the joint's summed force is held at that end of its range.
int tgi_line_sum_side(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, int *clamps);

// ---- energy.c, energy_start.c, energy_jacobian.c, energy_parameters.c ----

/// A rotation's energy phi(w) with slope p and second derivative P (3x3) at w = log(R'^-1 R): g += Jr^-T p, H (3x3) += Jr^-T P Jr^-1 + what
/// turns with Jr.
void tgi_rotation_terms(const tgReal *w, const tgReal *p, const tgReal *P, tgReal *g, tgReal *H);
/// Takes the arrays; false when scratch is short.
bool tgi_joint_take(tgSim *s, double h, tgiJointTerms *t);
/// delta, slope and curve at the pose of q'.
void tgi_joint_slopes(const tgSim *s, const tgPose *pose, tgiJointTerms *t);
/// The same, J, and g (nv) += its gradient in tangents at q'; energy INFINITY where a limit is passed, and then no
/// more. Connects and welds apart.
void tgi_joint_energy(const tgSim *s, const tgPose *pose, tgiJointTerms *t, tgReal *g);
/// H += its second derivative, after tgi_joint_slopes.
void tgi_joint_curvature(const tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgiPatterned *H);
/// Largest share of the tangent step d from q, at most 1, that limits and rotations allow.
double tgi_joint_share(const tgSim *s, const tgReal *q, const tgReal *d);
/// With z (nv) against the gradient in q' and zeta = Jr^-1 z: aq, av (nv), du (nu, may be NULL) += its derivatives in
/// q, v, u. work: nv. clamps counts clamps.
tgStatus tgi_joint_start_vjp(tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgReal *z, const tgReal *zeta,
                             tgReal *work, tgReal *aq, tgReal *av, tgReal *du, int *clamps);
/// The same, dense: B (nv x nc) += columns q, v, u.
tgStatus tgi_joint_start_jacobian(tgSim *s, const tgPose *pose, tgiJointTerms *t, int nc, tgReal *B, int *clamps);
/// p += the same in the parameters; z in tangents at q'.
void tgi_joint_energy_parameters(const tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgReal *z, const tgReal *zeta, tgParamGrad *p);
/// out = Jr^-1 x, or Jr^-T x, in the rotations of delta; out may be x.
void tgi_joint_rotate(const tgModel *m, const tgReal *delta, const tgReal *x, bool transposed, tgReal *out);

// ---- force.c ----

/// qfrc (nv) += limits, dry friction of joints and tendons, equalities of these. Connects and welds apart.
void tgi_joint_forces(const tgSim *s, const tgPose *pose, const tgReal *v, tgReal *qfrc);
/// Dq, Dv (nv x nv) += its derivatives.
void tgi_joint_forces_d(const tgSim *s, const tgPose *pose, const tgReal *v, tgReal *Dq, tgReal *Dv);
/// The same entry by entry.
void tgi_joint_forces_d_each(const tgSim *s, const tgPose *pose, const tgReal *v, const tgiEntries *D);
/// Adjoint: gq += Dq' x, gv += Dv' x, p (may be NULL) likewise.
void tgi_joint_forces_vjp(const tgSim *s, const tgPose *pose, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p);

#endif
