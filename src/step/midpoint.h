// midpoint.h: the stepper of laws over a whole step: its mean velocity is the root of a residual.
//
// Based on: [math/damped Step]. With V the mean velocity, poses at q, q_m = q (+) h V/2 and q' = q (+) h V,
//   F(V) = ID(q_i, v_i, (1 + r) (V - v)/h) - tau(q_f, V, u) - joints(q_f, V) - J(q_f)' bonds - J(q_m)' contact = 0,
//   rule `end`        q_i = q, v_i = (v + V)/2, q_f = q', r = 0;
//   rule `midpoint`   q_i = q_f = q_m, v_i = V, r = 1;
//   v' = V + r (V - v).
// Contact is a law's wrenches at q_m, which may go by the poses at q and q' too. Newton's method; the derivative of F has no symmetry.
#ifndef TG_STEP_MIDPOINT_H
#define TG_STEP_MIDPOINT_H

#include "contact/contact.h"
#include "joint/joint.h"
#include "sim/param.h"

/// What it keeps of a step.
typedef struct tgiMidpoint {
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) tgReal *name;
#include "step/midpoint_fields.def"
#undef TG_OWN_REAL
  int *pivot;              ///< nv: of a dense step_LU
  tgiPattern pattern;      ///< of step_F and step_LU: its blocks are the kinematic trees
  bool ordered;            ///< it is that of the model and the pairs of bodies
  int npair, *pair;        ///< nterm x 2: bodies of the terms that it was made for
} tgiMidpoint;
static inline tgiMidpoint *tgi_midpoint_own(const tgSim *s) { return s->own; }

extern const tgStepper tgi_midpoint;

static inline bool tgi_midpoint_symmetric(const tgSim *s) { return tgi_midpoint_options(s->contact_model)->rule == TG_RULE_MIDPOINT; }
/// r.
static inline double tgi_midpoint_reflection(const tgSim *s) { return tgi_midpoint_symmetric(s) ? 1 : 0; }
/// Where things are: contact at the middle; inertia and forces by the rule. The pose at the start stays as it is: inertia at q
/// with another velocity than v is at `before`.
static inline tgPose *tgi_midpoint_middle(tgSim *s) { return &s->trial; }
static inline tgPose *tgi_midpoint_inertia(tgSim *s) { return tgi_midpoint_symmetric(s) ? &s->trial : &s->before; }
static inline tgPose *tgi_midpoint_forces(tgSim *s) { return tgi_midpoint_symmetric(s) ? &s->trial : &s->end; }

/// See tgStepper.
tgStatus tgi_midpoint_step(tgSim *s, double h);
size_t tgi_midpoint_record_bytes(const tgSim *s);
void tgi_midpoint_record(const tgSim *s, void *to);
tgStatus tgi_midpoint_revisit(tgSim *s, double h, const void *from);
tgStatus tgi_midpoint_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
tgStatus tgi_midpoint_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
tgStatus tgi_midpoint_jacobian(tgSim *s, tgReal *D, int *clamps);

/// How many kinematic trees there are; the tree of each dof (nv, may be NULL) and the dofs of the least.
int tgi_midpoint_trees(const tgModel *m, int *tree, int *least);
/// The pattern of F_V as it is coupled now; TG_ERR_CAPACITY: its numbers are more than there is room for.
tgStatus tgi_midpoint_couple(tgSim *s);
/// A matrix of that pattern, as step_F is: its zero, and entry by entry.
void tgi_midpoint_clear(const tgSim *s, tgReal *A);
static inline void tgi_midpoint_put(const tgSim *s, tgiPatternBlock *last, tgReal *A, int i, int j, tgReal x) {
  const tgiPattern *p = &tgi_midpoint_own(s)->pattern;
  if (p->dense) A[(size_t)i * (size_t)p->n + (size_t)j] += x;
  else tgi_pattern_put_both(p, last, A + s->cap.nH, A, i, j, x);
}
/// Nine of them, x by rows, at i, i + 1, .. of one tree and j, j + 1, .. of one tree.
static inline void tgi_midpoint_put_block(const tgSim *s, tgiPatternBlock *last, tgReal *A, int i, int j, const tgReal x[9]) {
  const tgiPattern *p = &tgi_midpoint_own(s)->pattern;
  if (!p->dense) tgi_pattern_put_block_both(p, last, A + s->cap.nH, A, i, j, x);
  for (int e = 0; e < 9 && p->dense; e++) A[(size_t)(i + e / 3) * (size_t)p->n + (size_t)(j + e % 3)] += x[e];
}
/// step_LU, of F_V + ease M; false: it is singular.
bool tgi_midpoint_factor(tgSim *s, double ease);
/// x (nv) <- F_V^-1 x, or F_V^-T x, by the factors that are there.
void tgi_midpoint_solve_once(const tgSim *s, bool transposed, tgReal *x);
/// The same refined, by factors of F_V itself; work: 3 nv. TG_NOT_CONVERGED: it has no sixth digit.
tgStatus tgi_midpoint_solve(tgSim *s, bool transposed, tgReal *x, tgReal *work);
/// X <- F_V^-1 X of many columns, X (nv x ld, row-major), ld a multiple of 4, as tgi_midpoint_solve.
tgStatus tgi_midpoint_solve_all(tgSim *s, int ld, tgReal *X);
/// The residual at the poses and terms that are there.
tgStatus tgi_midpoint_residual(tgSim *s);
/// step_F, at the poses and terms that are there.
tgStatus tgi_midpoint_matrix(tgSim *s);
/// Derivatives of the residual of the last step, written: in V (D, nv x nv, row-major), or, at_start, in the coordinates at the start at
/// held V, and with these, if not NULL, in the velocity at the start (nv x nv) and in the actuators' inputs (nv x nu); clamps counts those
/// met.
tgStatus tgi_midpoint_derivative(tgSim *s, bool at_start, tgReal *D, tgReal *vel, tgReal *input, int *clamps);
/// wrench (nbody x 6) = that of contacts, and of connects and welds, summed over each body's pairs.
void tgi_midpoint_contact_wrenches(const tgSim *s, tgReal *wrench);
void tgi_midpoint_bond_wrenches(tgSim *s, tgReal *wrench);
/// out (nv) += sign J' of the wrenches at the pose, which are summed over subtrees.
void tgi_midpoint_gather(const tgSim *s, const tgPose *pose, tgReal *wrench, tgReal sign, tgReal *out);

#endif
