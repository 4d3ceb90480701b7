// dynamics.h: inverse and forward dynamics in generalised coordinates and their derivatives.
//
// Based on: Featherstone, Rigid Body Dynamics Algorithms (2008) [RBDA]; the lcp paper, appendix F [lcp F];
// derivatives by recursion in world axes (lcp_math E2 asks for one inverse-dynamics derivative a step).
// All functions use the frames of the last tgi_kinematics and nothing is allocated.
#ifndef TG_DYN_DYNAMICS_H
#define TG_DYN_DYNAMICS_H

#include "kin/kinematics.h"

/// cinert from mass, com, inertia and the frames.
void tgi_inertias(tgSim *s);
/// V and Vp at velocity v.
void tgi_velocities(tgSim *s, const tgReal *v);
/// M (dense, symmetric, both halves) with armature.  [RBDA 6.2]
void tgi_mass_matrix(tgSim *s);
/// bias = c(q, v), at the v of tgi_velocities, with gravity.  [RBDA 5.3]
void tgi_bias(tgSim *s);

/// tau (nv) = M a + c at (q, v of tgi_velocities) minus J' xfrc; armature included. xfrc (nbody x 6 spatial forces, world
/// origin, fixed in the world) may be NULL.
void tgi_inverse(tgSim *s, const tgReal *a, const tgReal *xfrc, tgReal *tau);
/// Derivatives of tgi_inverse (nv x nv row-major, [i*nv+j] = d tau_i/d q_j in tangent coordinates), xfrc held fixed in the world; either
/// may be NULL. O(nv x depth) on scratch from the stack; returns TG_ERR_CAPACITY when that is short.
tgStatus tgi_inverse_d(tgSim *s, const tgReal *a, const tgReal *xfrc, tgReal *Dtau_q, tgReal *Dtau_v);
/// Adjoint of the same without forming it: gq += Dtau_q' w, gv += Dtau_v' w; either may be NULL.
tgStatus tgi_inverse_vjp(tgSim *s, const tgReal *a, const tgReal *xfrc, const tgReal *w, tgReal *gq, tgReal *gv);
/// Regressor Y (nv x 10 nbody): tau = Y pi + armature a, pi of a body: m, m c (3), inertia about the body origin (xx yy zz xy xz yz), body axes.
tgStatus tgi_regressor(tgSim *s, const tgReal *a, tgReal *Y);

/// Sparse factorisation A = L' D L (tree order, no fill-in, [RBDA 6.5]); A is nv x nv, L as in sim_fields. False: not positive definite.
bool tgi_factor(const tgModel *m, const tgReal *A, tgReal *L);
/// x <- A^-1 x, in place.
void tgi_factor_solve(const tgModel *m, const tgReal *L, tgReal *x);

/// act_length, act_velocity, act_force, qfrc_actuator from ctrl, q and v.
void tgi_actuation(tgSim *s, const tgReal *q, const tgReal *v);
/// Generalised passive force without the implicit joint damping and stiffness terms of the step: joint springs at q, joint and
/// tendon dampers at v, tendon springs, fluid, gravity compensation -> qfrc_passive.
void tgi_passive(tgSim *s, const tgReal *q, const tgReal *v);
/// Derivatives of qfrc_actuator + qfrc_passive: Dq, Dv (nv x nv), Du (nv x nu), written; any may be NULL. ties (may be NULL)
/// counts clamps and kinks met within 1e-12 relative.
tgStatus tgi_forces_d(tgSim *s, const tgReal *q, const tgReal *v, tgReal *Dq, tgReal *Dv, tgReal *Du, int *ties);
/// Adjoint of the same: gq += Dq' w, gv += Dv' w, gu += Du' w; any may be NULL.
tgStatus tgi_forces_vjp(tgSim *s, const tgReal *q, const tgReal *v, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *gu, int *ties);

/// Mh = M + h D + h^2 K (diagonal joint damping and stiffness); hd and hk false: left out.
void tgi_step_matrix(tgSim *s, double h, bool implicit);

#endif
