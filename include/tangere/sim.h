// sim.h: a simulation: state and everything computed from it, in one block sized before use.
//
// A state is (q, v, act). Wherever it stands in arrays of derivatives, rollouts and optimisers, activations follow the
// velocities: what is called v there, dv, gv or the block of v in a Jacobian, has nv + na entries. Models without
// activations have na = 0.
//
// A sim belongs to one thread at a time (a step, derivative or forward call that finds another inside returns TG_ERR_STATE and
// touches nothing); sims share a const model. No call allocates except create, reserve, grow,
// and, of a model of more than 96 dofs, the first dense derivative of a step.
#ifndef TANGERE_SIM_H
#define TANGERE_SIM_H

#include "tangere/contact.h"
#include "tangere/model.h"
#include "tangere/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tgSim tgSim;  ///< A simulation.

/// A simulation of the model under a contact model (both must outlive it), in the pose qpos0, at rest,
/// activations and controls zero. contact NULL: nothing touches, and limits, dry friction and equalities do not act.
/// allocator NULL: malloc. NULL: no memory or bad argument, see error (may be NULL).
TG_API tgSim *tg_sim_create(const tgModel *model, const tgContact *contact, const tgAllocator *allocator, tgError *error);
TG_API void tg_sim_free(tgSim *sim);

/// Makes room for ncontact contact points and nrow constraint rows at once; of more than 512 rows, no more than 512
/// act on each other (bodies that touch), else a step asks for more (TG_ERR_CAPACITY). State, memory and parameters
/// are kept; pointers into the
/// sim (state, parameters, fields) are invalid after it. TG_ERR_MEMORY: nothing was changed.
TG_API tgStatus tg_sim_reserve(tgSim *sim, int ncontact, int nrow);
/// Makes the room that the last TG_ERR_CAPACITY asked for, and half as much again, so that few such calls are needed. As tg_sim_reserve.
TG_API tgStatus tg_sim_grow(tgSim *sim);
/// What TG_ERR_CAPACITY asked for, ready for tg_sim_reserve.
TG_API void tg_sim_wanted(const tgSim *sim, int *ncontact, int *nrow);

TG_API const tgModel *tg_sim_model(const tgSim *sim);  ///< The model that it simulates.
/// The last error of this sim, never NULL. Its text holds until the next call that fails or steps.
TG_API const tgError *tg_sim_error(const tgSim *sim);

/// Writable state: qpos (nq), qvel (nv) and act (na), the activations of the actuators that have one, in their order; then
/// ctrl (nu), and qfrc_applied (nv), a generalised force added each step.
TG_API tgReal *tg_sim_qpos(tgSim *sim);
TG_API tgReal *tg_sim_qvel(tgSim *sim);
TG_API tgReal *tg_sim_act(tgSim *sim);
TG_API tgReal *tg_sim_ctrl(tgSim *sim);
TG_API tgReal *tg_sim_qfrc_applied(tgSim *sim);
/// A whole state as rollouts have it, out of the sim and into it: q (nq), v (nv + na); either may be NULL and is left out.
TG_API void tg_sim_state(const tgSim *sim, tgReal *q, tgReal *v);
TG_API void tg_sim_set_state(tgSim *sim, const tgReal *q, const tgReal *v);
/// Pose qpos0, zero velocity, activation, control and applied force, empty memory; parameters as in the model and in the
/// contact model's options.
TG_API void tg_sim_reset(tgSim *sim);
/// The same from keyframe `key`. TG_ERR_ARG when there is none.
TG_API tgStatus tg_sim_reset_key(tgSim *sim, int key);

/// This sim's own copy of a real model array (a parameter, e.g. "body_mass") or of a number of its contact model
/// ("contact.weight"), writable. NULL when there is none, and for "opt_timestep": each step takes its size as an
/// argument. Changing one takes effect at the next call; values are checked at the step: finite, a contact
/// model's within their range.
TG_API tgReal *tg_sim_param(tgSim *sim, const char *name, int *rows, int *cols);

/// State (qpos, qvel, act, ctrl, qfrc_applied) with discrete memory (contact classes, reference features) as bytes:
/// size at the present capacity, save, restore to the same bits. Parameters are not in it. Restoring gives TG_ERR_ARG
/// for a snapshot of another model and TG_ERR_CAPACITY for one with more contacts than there is room for (reserve, then
/// repeat); either changes nothing.
TG_API size_t tg_sim_snapshot_size(const tgSim *sim);
TG_API void tg_sim_save(const tgSim *sim, void *snapshot);
TG_API tgStatus tg_sim_restore(tgSim *sim, const void *snapshot);

/// Lists every array of the sim with its shape, unit, producer and meaning; data NULL when there is no such field. Arrays of contacts
/// and rows have the rows of the capacity; the first tgStepInfo.nrow (for row_A the blocks of the islands, see island_at) are in use.
TG_API int tg_sim_field_count(const tgSim *sim);
TG_API tgField tg_sim_field(const tgSim *sim, int i);
TG_API tgField tg_sim_field_named(const tgSim *sim, const char *name);
/// A field that is stored by blocks as the dense matrix that it stands for: the mass matrix "M", the step matrix "Mh",
/// their factors "Lm" and "L"
/// (nv x nv, row-major), the rows of the last step "row_J" and "row_MiJ" (nrow x nv). Written to out, which may be
/// NULL; its shape to rows and cols, which may be NULL. TG_ERR_ARG: no such field.
TG_API tgStatus tg_sim_dense(const tgSim *sim, const char *name, tgReal *out, int *rows, int *cols);

/// Frames, mass matrix, bias and smooth forces at the present state, without a step; the fields (tg_sim_field) then hold them. The calls
/// below look at the present state likewise; q in them stands for its nv tangent coordinates. TG_ERR_NOT_FINITE names the number of the
/// state that is not finite.
TG_API tgStatus tg_sim_forward(tgSim *sim);
/// Inverse dynamics: tau (nv) = M qacc + c for accelerations qacc (nv). Gravity, Coriolis and gyroscopic forces and armatures are in it;
/// passive forces (springs, dampers, the medium), applied forces and contacts are not.
TG_API tgStatus tg_sim_inverse(tgSim *sim, const tgReal *qacc, tgReal *tau);
/// Derivatives of inverse dynamics, row-major: Dtau_q and Dtau_v (nv x nv: entry i nv + j is d tau_i/d q_j, d tau_i/d v_j); regressor (nv x
/// (10 nbody)) in the parameters of each body, in which tau is linear: m, m com (3), inertia about the body frame's origin
/// (6: xx yy zz xy xz yz). Any may be NULL.
TG_API tgStatus tg_sim_inverse_d(tgSim *sim, const tgReal *qacc, tgReal *Dtau_q, tgReal *Dtau_v, tgReal *regressor);
/// Forward dynamics, the inverse of that: qacc (nv) = M^-1 (tau - c) for forces tau (nv). Its derivatives, row-major: Da_q, Da_v and
/// Da_tau = M^-1 (nv x nv), and Da_pi (nv x (10 nbody)) in the parameters of the regressor; any may be NULL.
TG_API tgStatus tg_sim_acceleration(tgSim *sim, const tgReal *tau, tgReal *qacc);
TG_API tgStatus tg_sim_acceleration_d(tgSim *sim, const tgReal *tau, tgReal *Da_q, tgReal *Da_v, tgReal *Da_tau, tgReal *Da_pi);
/// Jacobian (6 x nv row-major: 3 rows angular, 3 rows linear, world axes) of the point `point` (world) moving with the body.
TG_API tgStatus tg_sim_jacobian(tgSim *sim, int body, const tgReal point[3], tgReal *jacobian);
/// Gradient of a loss in an impulse [N s] on each body at its centre of mass, from its gradient gv (nv) in the
/// velocities: J M^-1 gv, J the Jacobian of that centre. gradient, at (nbody x 3, world): that gradient [loss / (N s)],
/// and the centres [m]. Accelerations among the fields are lost.
TG_API tgStatus tg_sim_impulse_gradient(tgSim *sim, const tgReal *gv, tgReal *gradient, tgReal *at);
/// Adjoint of where such a point is, at held coordinates: from g = dL/dpoint (world) adds dL/dp of the parameters that place bodies and
/// joints (body_pos, body_quat, jnt_pos, jnt_axis) to those of them that dp has.
TG_API tgStatus tg_sim_point_param_vjp(tgSim *sim, int body, const tgReal point[3], const tgReal g[3], tgParamGrad *dp);

#ifdef __cplusplus
}
#endif
#endif
