// rollout.h: T steps of a simulation with a loss, its gradient within a byte budget, and batches of them over threads.
#ifndef TANGERE_ROLLOUT_H
#define TANGERE_ROLLOUT_H

#include "tangere/force.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A rollout: one simulation and the memory of its tape, all made before use. One thread at a time.
typedef struct tgRollout tgRollout;

/// Options of a rollout and of a batch; size is set by tg_rollout_default.
typedef struct tgRolloutOptions {
  size_t size;                     ///< set by tg_rollout_default
  int steps;                       ///< T >= 1
  double h;                        ///< step size [s]; 0: the model's timestep
  size_t tape_bytes;               ///< memory for checkpoints, all of it allocated at creation; 0: one for every state,
                                   ///< up to 64 MiB, and then
                                   ///< the gradient solves no step again. Less memory means more steps solved again, never other bits.
  int ncontact, nrow;              ///< contacts and constraint rows to reserve; 0: as tg_sim_create does. Grown when short.
  const tgAllocator *allocator;    ///< NULL: malloc
  const tgContact *gradient_contact;   ///< derivatives of steps are those of this contact model at the same states
                                       ///< (tg_sim_step_vjp_by, tg_contact_create_gradient);
                                   ///< it must outlive the rollout. dp then is of the model alone or of this contact
                                   ///< model. NULL: of the step itself.
} tgRolloutOptions;
TG_API tgRolloutOptions tg_rollout_default(void);  ///< The defaults of rollouts and batches.

/// Term t of the loss. Called for t = 0 .. T-1 after step t has been computed, and for t = T at the end. The sim shows
/// state t: qpos, qvel, act and all frames; for t < T also ctrl, contacts and forces of step t. At t = T gu is NULL.
/// *value is 0 at entry. gq (nv, tangent), gv (nv + na: velocities, then activations) and gu (nu) are zero at entry, to
/// be filled with the term's derivatives; all three are NULL when no gradient is wanted. In a gradient a term is asked
/// for twice, first without, then with derivatives, and must give the same value. It may read the sim and call
/// tg_sim_jacobian; it must not step it or change parameters. A status other than TG_OK ends the rollout with that
/// status.
typedef tgStatus (*tgLossFn)(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu);

/// What loss term t depends on in the parameters themselves, at held (q, v, act, u): adds its derivatives to dp. Called in
/// a gradient after the term's own derivatives, the sim as there. Frames depend on body_pos, body_quat, jnt_pos and
/// jnt_axis: tg_sim_point_param_vjp.
typedef tgStatus (*tgLossParamFn)(void *ctx, tgSim *sim, int t, int steps, tgParamGrad *dp);
/// A tgLossParamFn for losses of (q, v, act, u) alone.
TG_API tgStatus tg_loss_without_parameters(void *ctx, tgSim *sim, int t, int steps, tgParamGrad *dp);

/// What loss term t < T depends on in the contacts of step t: fills grad (n, zero at entry), in the order of tg_sim_next_contact, with the
/// term's derivatives in their fields. Called in a gradient before the term's own derivatives, the sim as there; it may only read it.
typedef tgStatus (*tgLossContactsFn)(void *ctx, tgSim *sim, int t, int steps, tgContactGrad *grad, int n);

/// Of a loss that chooses, as the least of a motion: how right the derivatives of its choice in the last run are, merged into grad, which
/// may be NULL (one-sided: it chose among equals). keep: later runs make the same choices, until a call without.
typedef void (*tgLossChoiceFn)(void *ctx, bool keep, tgGradInfo *grad);

/// Sets parameters (tg_sim_param) of the sim before the first step.
typedef tgStatus (*tgSetupFn)(void *ctx, tgSim *sim);

/// Decides the controls u (nu, zero at entry) of step t, called before it; the sim shows state t, its frames may be older. Must give the
/// same for the same state: when capacity grows, the run starts over.
typedef void (*tgPolicyFn)(void *ctx, const tgSim *sim, int t, tgReal *u);

/// What to run and where to put it. Zero-initialise; all arrays belong to the caller. A row of v holds the activations
/// after the velocities: nv + na numbers, in v0, v, dv0 and sv alike.
typedef struct tgRolloutRun {
  const tgReal *q0, *v0;           ///< nq, nv + na; NULL: pose qpos0; at rest, activations zero
  const tgReal *u;                 ///< T x nu row-major; NULL: zeros
  tgPolicyFn policy; void *policy_ctx;   ///< feedback in place of u, or NULL. TG_ERR_ARG together with a gradient.
  tgLossFn loss; void *loss_ctx;   ///< loss NULL: none, the loss is 0
  tgLossChoiceFn loss_choice;      ///< with loss_ctx; NULL: the loss chooses nothing
  tgSetupFn setup; void *setup_ctx;///< may be NULL
  const volatile int *cancel;      ///< polled before each step and at each pivot of contacts; not 0: TG_CANCELLED. May be NULL.
  tgReal *q, *v;                   ///< trajectory, (T+1) x nq and (T+1) x (nv + na), or NULL
  tgStepInfo *info;                ///< T, or NULL
  tgReal *D;                       ///< Jacobian of each step as tg_sim_step_jacobian gives it, T x (2 nv + na) x (2 nv + na + nu), or NULL
  tgReal *dq0, *dv0, *du;          ///< gradient of the loss, nv, nv + na, T x nu; any may be NULL, all NULL: no gradient
  tgReal *sq, *sv;                 ///< gradient of the loss in each state, (T+1) x nv and (T+1) x (nv + na): what a change of q_t
                                   ///< (tangent) or v_t alone does to the terms from
                                   ///< t on; may be NULL. Written in a gradient only; row 0 is dq0, dv0.
  tgParamGrad *dp;                 ///< gradient in the parameters, constant over the rollout, or NULL; what it held is overwritten
  tgLossParamFn loss_param;        ///< with loss_ctx; needed when there is a loss and dp. TG_ERR_ARG without it.
  tgLossContactsFn loss_contacts;  ///< with loss_ctx; NULL: the loss is of states and controls alone. Errors of a gradient as
                                   ///< tg_sim_contacts_vjp has them; TG_ERR_ARG: without a loss, with gradient_contact, or in second
                                   ///< derivatives.
  int variant;                     ///< tg_batch_run only: which of the batch's models
} tgRolloutRun;

/// How it went.
typedef struct tgRolloutResult {
  tgStatus status;                 ///< TG_OK, else error says at which step and why; then loss and gradient hold no result
  tgError error;                   ///< which step failed and why
  tgReal loss;                     ///< sum of the loss terms
  tgGradInfo grad;                 ///< the worst label of all steps; first_step and the reason are those of the first with it
  int steps;                       ///< steps of the forward sweep that succeeded
  int slots;                       ///< checkpoints that the tape had room for
  long forward_steps;              ///< steps solved in all, those done again for the gradient included
  long revisited_steps;            ///< steps that the gradient took from the tape without solving them again
  double residual, least_distance; ///< worst of all steps
  double stable_step;              ///< least of all steps, under tg_sim_watch_stability of its sim; else infinity
  int ambiguous;                   ///< steps whose contact solve is known to have another answer (tgStepInfo.nambiguous)
  int unstable;                    ///< how many steps were longer than theirs; with a gradient, without a watch, those of label unstable
} tgRolloutResult;

/// A rollout of the model under a contact model; both must outlive it. NULL: see error (may be NULL).
TG_API tgRollout *tg_rollout_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, tgError *error);
TG_API void tg_rollout_free(tgRollout *rollout);
/// Its simulation, to set parameters that all runs share. After a run it is at the last state that was computed.
TG_API tgSim *tg_rollout_sim(tgRollout *rollout);
/// Least tape_bytes that a gradient needs.
TG_API size_t tg_rollout_least_bytes(const tgRollout *rollout);
/// Bytes held in checkpoints and work arrays, the sim not counted.
TG_API size_t tg_rollout_bytes(const tgRollout *rollout);

/// Runs. Starts with empty contact memory, so the same inputs give the same bits whatever ran before, and whatever the budget.
/// result is filled in every case; the status is returned too. TG_NOT_CONVERGED, TG_ERR_NOT_FINITE and others: a step failed.
/// TG_ERR_CAPACITY: the tape is smaller than tg_rollout_least_bytes. TG_ERR_STATE: it is running already.
TG_API tgStatus tg_rollout_run(tgRollout *rollout, const tgRolloutRun *run, tgRolloutResult *result);

/// A pool of threads, each with a rollout of its own.
typedef struct tgBatch tgBatch;

/// nthread 0: one per core that this process may use. Threads start with the first run. tape_bytes is for each thread.
/// The allocator must be safe to call from any thread when capacity has to grow.
TG_API tgBatch *tg_batch_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, int nthread,
                                tgError *error);
/// A batch over several models, each with a contact model of its own: run i is of models[runs[i].variant]. Geometry,
/// masses and all other numbers may differ; bodies, parents, joints, the number of controls and which actuators have an
/// activation have to be the same:
/// TG_ERR_ARG names what is not. Each thread has a rollout for each.
TG_API tgBatch *tg_batch_create_variants(int nvariant, const tgModel *const *models, const tgContact *const *contacts,
                                         const tgRolloutOptions *options, int nthread, tgError *error);
TG_API void tg_batch_free(tgBatch *batch);
TG_API int tg_batch_threads(const tgBatch *batch);

/// Runs n rollouts, each with its own status in results[i]; one that fails does not disturb another. The bits do not depend on
/// the number of threads. Every run starts from the model's parameters; runs[i].setup may change them. The functions of
/// runs[i] are called from the pool's threads. Returns TG_OK when all were run, whatever their statuses; TG_ERR_ARG, with none
/// run, when a variant is not one of the batch's; TG_ERR_STATE in a process forked after the
/// first run, or when the batch is running already.
TG_API tgStatus tg_batch_run(tgBatch *batch, int n, const tgRolloutRun *runs, tgRolloutResult *results);

#ifdef __cplusplus
}
#endif
#endif
