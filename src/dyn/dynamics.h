// dynamics.h: inverse and forward dynamics in generalised coordinates and their derivatives.
//
// Based on: [RBDA 5.3, 6.2]; [lcp F];
// derivatives by recursion in world axes [math/dynamics Derivatives], of which a step takes one of inverse dynamics [math/lcp (5)].
// A pose is one that tgi_kinematics made; nothing is allocated.
#ifndef TG_DYN_DYNAMICS_H
#define TG_DYN_DYNAMICS_H

#include "kin/kinematics.h"
#include "model/blocks.h"

/// cinert, and crb its sums over subtrees, from mass, com, inertia and the frames.
TGI_KERNEL(void, tgi_inertias, (tgSim *s, tgPose *pose), (s, pose))
/// V, Vp, Sd and vel at velocity v.
TGI_KERNEL(void, tgi_velocities, (tgSim *s, tgPose *pose, const tgReal *v), (s, pose, v))
/// M (stored by trees, symmetric, both halves) with armature, from crb.  [RBDA 6.2]
TGI_KERNEL(void, tgi_mass_matrix, (tgSim *s, const tgPose *pose), (s, pose))
/// bias = c(q, v), at the v of tgi_velocities, with gravity.  [RBDA 5.3]
TGI_KERNEL(void, tgi_bias, (tgSim *s, const tgPose *pose), (s, pose))

/// tau (nv) = M a + c at (q, v of tgi_velocities) minus J' xfrc; armature included. xfrc (nbody x 6 spatial forces, world
/// origin, fixed in the world) may be NULL.
TGI_KERNEL(void, tgi_inverse, (tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal *tau), (s, pose, a, xfrc, tau))
/// Derivatives of tgi_inverse (nv x nv row-major, [i*nv+j] = d tau_i/d q_j in tangent coordinates), xfrc held fixed in the world; either
/// may be NULL. O(nv x depth) on scratch from the stack; returns TG_ERR_CAPACITY when that is short.
tgStatus tgi_inverse_d(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal *Dtau_q, tgReal *Dtau_v);
/// Where entries of derivative matrices go: (i, j), a row of dof i and the column of dof j's q or v, at row[i] + q[j] or row[i] + v[j]
/// (nv each), those of actuator k at urow[i] + u[k]. Columns of neighbours of a run (dof_run) are neighbours.
typedef struct tgiPlaces { const int *row, *q, *v, *urow, *u; } tgiPlaces;
/// Or one by one: of entry (i, j) what it has in q and in v. block (may be NULL): nine at once, of three slides each, i, i + 1, .. and
/// j, j + 1, ..; rows are `stride` apart.
typedef struct tgiEntries {
  void (*add)(void *to, int i, int j, tgReal by_q, tgReal by_v);
  void *to;
  void (*block)(void *to, int i, int j, const tgReal *by_q, const tgReal *by_v, int stride);
} tgiEntries;
/// The places of matrices stored by trees (model/blocks.h), of q and v alone; NULL where scratch is short.
const tgiPlaces *tgi_places_trees(tgSim *s);
/// The places of dense matrices: nv columns for q and v, nu for u. On scratch; NULL when that is short.
const tgiPlaces *tgi_places_dense(tgSim *s);
/// tgi_inverse_d times scale, written to those places: only entries of dofs one of which is on the other's way to the root, so that the
/// caller sets the others to zero. Dq or Dv may be NULL.
TGI_KERNEL(tgStatus, tgi_inverse_d_into,
           (tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, tgReal scale, const tgiPlaces *to,
            tgReal *Dq, tgReal *Dv), (s, pose, a, xfrc, scale, to, Dq, Dv))
/// Adjoint of the same without forming it: gq += Dtau_q' w, gv += Dtau_v' w, p += that in the parameters; any may be NULL. What p gets
/// in its axes and poses awaits tgi_place_vjp.
tgStatus tgi_inverse_vjp(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, const tgReal *w, tgReal *gq,
                         tgReal *gv, tgParamGrad *p);
/// gq += the gradient of x' M(q) y in q at held x and y, and p as there; either may be NULL. What tgi_inverse_vjp at w = x has of its
/// accelerations y, without the rest.
tgStatus tgi_mass_vjp(tgSim *s, const tgPose *pose, const tgReal *x, const tgReal *y, tgReal *gq, tgParamGrad *p);
/// sum_b X_b . h_b, h_b (6) the momenta of the bodies at the pose with the velocity y: gq += its gradient in q at held twists X
/// (nbody x 6), gv += that in y, p as there (may be NULL). force (nbody x 6): gradients in the poses of bodies, as wrenches,
/// that gq and p get besides.
tgStatus tgi_momenta_vjp(tgSim *s, const tgPose *pose, const tgReal *X, const tgReal *force, const tgReal *y, tgReal *gq, tgReal *gv,
                         tgParamGrad *p);
/// Regressor Y (nv x 10 nbody): tau = Y pi + armature a, pi of a body: m, m c (3), inertia about the body origin (xx
/// yy zz xy xz yz), body axes.
tgStatus tgi_regressor(tgSim *s, const tgPose *pose, const tgReal *a, tgReal *Y);

/// Sparse factorisation A = L' D L (tree order, no fill-in, [RBDA 6.5]); A and L stored by trees (model/blocks.h).
/// False: not positive definite.
TGI_KERNEL(bool, tgi_factor, (const tgModel *m, const tgReal *A, tgReal *L), (m, A, L))
/// The error where the mass matrix at the pose has no factor: the state ran away, in place or in velocity, by
/// name, or bodies have no mass, or `otherwise`, "" or ", or ..".
tgStatus tgi_no_factor(tgSim *s, const tgPose *pose, const char *otherwise);
/// x <- A^-1 x, in place.
TGI_KERNEL(void, tgi_factor_solve, (const tgModel *m, const tgReal *L, tgReal *x), (m, L, x))
/// The same where x is 0 outside dofs from .. to - 1, a range that holds every dof of the trees that it meets with x not 0.
TGI_KERNEL(void, tgi_factor_solve_range, (const tgModel *m, const tgReal *L, int from, int to, tgReal *x), (m, L, from, to, x))
/// The same for the n columns of X (nv x n, row-major).
TGI_KERNEL(void, tgi_factor_solve_rows, (const tgModel *m, const tgReal *L, int n, tgReal *X), (m, L, n, X))
/// The same for the rows of `count` dofs alone, whole trees in ascending order; the row of dof d is at X + row[d],
/// n (a multiple of 4) long.
TGI_KERNEL(void, tgi_factor_solve_rows_at, (const tgModel *m, const tgReal *L, int count, const int *dof, const int *row, int n, tgReal *X),
           (m, L, count, dof, row, n, X))
/// X (nv x nv) = A^-1.
TGI_KERNEL(void, tgi_factor_inverse, (const tgModel *m, const tgReal *L, tgReal *X), (m, L, X))

/// act_length, act_velocity, act_force, qfrc_actuator from ctrl, act0 and the pose with its velocities (vel).
void tgi_actuation(tgSim *s, const tgPose *pose);
/// Generalised passive force of the pose and its velocities: joint springs and dampers, tendon springs (none inside the dead band) and
/// dampers, medium, gravity compensation -> qfrc_passive. What the step adds to take some at its end: tgi_step_matrix.
void tgi_passive(tgSim *s, const tgPose *pose);
/// Derivatives of qfrc_actuator + qfrc_passive: Dq, Dv (nv x nv), Du (nv x nu), written; any may be NULL. clamps (may be NULL)
/// counts clamps and kinks met within 1e-12 relative.
tgStatus tgi_forces_d(tgSim *s, const tgPose *pose, tgReal *Dq, tgReal *Dv, tgReal *Du, int *clamps);
/// Where actuators are taken at the end of a step (dyn/forces.h).
typedef struct tgStepEnd tgStepEnd;
/// The same times scale, added at those places; with actuators at the end of a step (NULL: at the start), whose
/// velocity changes as v does.
tgStatus tgi_forces_d_into(tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv,
                           tgReal *Du, int *clamps);
/// The derivatives of tgi_forces_d entry by entry; Du (may be NULL) as there, added.
tgStatus tgi_forces_d_each(tgSim *s, const tgPose *pose, const tgiEntries *each, tgReal *Du, int *clamps);
/// Adjoint of the same: gq += Dq' w, gv += Dv' w, gu += Du' w, and p as in tgi_inverse_vjp; any may be NULL. TG_ERR_UNSUPPORTED: p has the
/// mass or the inertia of bodies while a medium acts on them, whose force has no derivative in these.
tgStatus tgi_forces_vjp(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu,
                        tgParamGrad *p, int *clamps);
/// Both in two: of qfrc_actuator alone, and of qfrc_passive alone, which may be of another velocity.
tgStatus tgi_actuation_vjp(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu,
                           tgParamGrad *p, int *clamps);
tgStatus tgi_passive_vjp(tgSim *s, const tgPose *pose, const tgReal *w, tgReal *gq, tgReal *gv, tgParamGrad *p, int *clamps);
tgStatus tgi_actuation_d_into(tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv,
                              tgReal *Du, int *clamps);
tgStatus tgi_passive_d_into(tgSim *s, const tgPose *pose, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv, int *clamps);

/// Mh = M + h D + h^2 K (diagonal joint damping and stiffness), or M alone when not implicit. Joint dampers and springs are taken at the
/// end of the step: M (v' - v)/h = rest - c - D v' - K (q + h v' - q_spring), and with tau = rest - D v - K (q - q_spring) as
/// tgi_passive gives it, exactly
///   (M + h D + h^2 K)(v' - v) = h (tau - c) - h^2 K v.
/// For a rotation K (log(q_spring^-1 q) + h v') stands for the spring at q (+) h v': first order in h, exact for hinges and slides.
/// Tendon springs and dampers stay explicit: they would fill the matrix in.
TGI_KERNEL(void, tgi_step_matrix, (tgSim *s, tgReal h, bool implicit), (s, h, implicit))

/// act1 from act0 and ctrl, over a step of h.
void tgi_activation(tgSim *s, double h);
/// Adjoint of a step in activations and controls, written: da (na) and du (nu), either may be NULL, from g = dL/d(act1) (na;
/// NULL: zero) and from input (nu), what the step's forces give in what they take of each actuator: its activation or
/// its control. p as in tgi_inverse_vjp.
void tgi_activation_vjp(const tgSim *s, double h, const tgReal *g, const tgReal *input, tgReal *da, tgReal *du, tgParamGrad *p,
                        int *clamps);
/// Dense, in place: D has rows q', v' (2 nv) and columns q, v, input (2 nv + nu); then rows q', v', act' and columns q,
/// v, act, u. row: nu.
void tgi_activation_jacobian(const tgSim *s, double h, tgReal *row, tgReal *D, int *clamps);

/// TG_OK when qpos, qvel, act, ctrl and qfrc_applied are finite, else TG_ERR_NOT_FINITE with the body or actuator in the sim's error.
tgStatus tgi_check_state(tgSim *s);

#endif
