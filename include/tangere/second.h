// second.h: second derivatives of steps and rollouts: under contact models whose step is twice differentiable (kind force: `softmin`), and
// under `toi`, through the times of its impacts, as long as what meets, holds and slides stays the same.
//
// Products with Hessians cost a few times a gradient, whatever the number of variables. All second derivatives are in
// exponential charts: at a state s, d -> s (+) d (tg_model_integrate), so that Hessians are symmetric; a gradient in
// such a chart is the tangent gradient of the adjoints.
#ifndef TANGERE_SECOND_H
#define TANGERE_SECOND_H

#include "tangere/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Room for second derivatives: made before use, one thread at a time. A call that finds another inside returns TG_ERR_STATE.
typedef struct tgSecond tgSecond;

/// For steps of simulations under this contact model, and for rollouts of options->steps steps of options->h
/// (tg_rollout_default; the tape is not used, states are all kept). options and error may be NULL. NULL:
/// TG_ERR_UNSUPPORTED names the contact model whose step is not twice differentiable.
TG_API tgSecond *tg_second_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, tgError *error);
TG_API void tg_second_free(tgSecond *second);

/// Of the sim's last step y(x), x = (q, v, act, u) with 2 nv + na + nu entries, y = (q', v', act') with 2 nv + na: jvp
/// = Dy d, as long as y, and hvp = sum_k g_k D2y_k d, as long as x, d a direction of x, g as long as y. hvp or jvp may
/// be NULL. The sim's controls and parameters must be those of the step. TG_ERR_STATE when its last call was no
/// successful step, TG_ERR_ARG when it is of another model or contact model.
TG_API tgStatus tg_step_hvp(tgSecond *second, tgSim *sim, const tgReal *g, const tgReal *d, tgReal *hvp, tgReal *jvp);
/// Chooses the parameters that directions and products may have, in place of those chosen before: names as in
/// tg_param_grad_create_contact (NULL: all with a derivative). Vectors of parameters below have their entries, one
/// array after the other in the order of the names, as tg_param_grad_values. Nothing else
/// here allocates, but where contacts take more room than ever before.
/// TG_ERR_ARG, TG_ERR_UNSUPPORTED, TG_ERR_MEMORY: error (may be NULL) says why, and those chosen before stay.
TG_API tgStatus tg_second_choose(tgSecond *second, const char *const *names, int n, tgError *error);
/// How many entries the chosen parameters have, 0 when none were chosen.
TG_API int tg_second_parameters(const tgSecond *second);
/// tg_step_hvp in (x, p), p the chosen parameters: jvp = Dy (d, dp), hvp and hp (tg_second_parameters) the two parts of
/// sum_k g_k D2y_k (d, dp). d, dp NULL: zero; hvp, hp, jvp may be NULL. Of dp what would change the length of a unit
/// quaternion or axis is left out, and entries of numbers that are not finite. TG_ERR_ARG also when no parameters were
/// chosen; TG_ERR_UNSUPPORTED for a direction in "opt_timestep" (hp has its entry).
TG_API tgStatus tg_step_hvp_parameters(tgSecond *second, tgSim *sim, const tgReal *g, const tgReal *d, const tgReal *dp,
                                       tgReal *hvp, tgReal *hp, tgReal *jvp);
/// All of D2y: H ((2 nv + na) x n x n, n = 2 nv + na + nu): entry (k, i, j) is d2 y_k/dx_i dx_j. cancel: polled before
/// each of the n columns j; not 0: stop with TG_CANCELLED, the columns from there on as they were; may be NULL. Errors
/// as above.
TG_API tgStatus tg_step_hessian(tgSecond *second, tgSim *sim, tgReal *H, const volatile int *cancel);

/// Product of the second derivative of loss term t (tgLossFn) with a direction, at the same place: hq (nv), hv (nv +
/// na), hu (nu) are zero at entry; at t = T du and hu are NULL.
typedef tgStatus (*tgLossHvpFn)(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq, const tgReal *dv,
                                const tgReal *du, tgReal *hq, tgReal *hv, tgReal *hu);

/// What a term that depends on the parameters themselves adds, at the same place, to hq (nv), hv (nv + na), hu (nu) and
/// hp: the products with its second derivatives that have a parameter, in a direction (dq, dv, du, dp); dp may be NULL.
/// What tgLossParamFn is to tgLossFn.
typedef tgStatus (*tgLossParamHvpFn)(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq, const tgReal *dv,
                                     const tgReal *du, const tgReal *dp, tgReal *hq, tgReal *hv, tgReal *hu,
                                     tgReal *hp);
/// A tgLossParamHvpFn for losses of (q, v, act, u) alone.
TG_API tgStatus tg_loss_hvp_without_parameters(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq,
                                               const tgReal *dv, const tgReal *du, const tgReal *dp, tgReal *hq,
                                               tgReal *hv, tgReal *hu, tgReal *hp);

/// A direction and what comes of it. Zero-initialise; arrays belong to the caller. Those of v have nv + na entries a row.
typedef struct tgSecondRun {
  const tgReal *dq0, *dv0, *du;    ///< direction: nv, nv + na, T x nu; NULL: zero
  tgReal *jq, *jv;                 ///< rates of the trajectory along it, (T+1) x nv and (T+1) x (nv + na), or NULL
  tgReal *hq0, *hv0, *hu;          ///< Hessian of the loss times the direction, nv, nv + na, T x nu; any may be NULL
  tgLossHvpFn loss_hvp;            ///< with run->loss_ctx; needed by tg_rollout_hvp when there is a loss. TG_ERR_ARG without it.
  const tgReal *dp;                ///< direction in the chosen parameters (tg_second_choose), the same in all steps; NULL: zero
  tgReal *gp, *hp;                 ///< gradient of the loss in them, and Hessian times direction; may be NULL
  tgLossParamHvpFn loss_param_hvp; ///< with dp, gp or hp and a loss needed, as is run->loss_param. TG_ERR_ARG without them.
} tgSecondRun;

/// Rates of a rollout's trajectory along a direction. Of run, q0, v0, u, setup, cancel and the outputs q and v are
/// used; a policy is TG_ERR_ARG. result->grad: how right they are, clamps of actuators apart.
TG_API tgStatus tg_rollout_jvp(tgSecond *second, const tgRolloutRun *run, const tgSecondRun *direction, tgRolloutResult *result);
/// The same, and the Hessian of the loss times the direction; also the loss and, where run asks for dq0, dv0, du, its gradient.
/// result->grad says how right both are.
TG_API tgStatus tg_rollout_hvp(tgSecond *second, const tgRolloutRun *run, const tgSecondRun *direction, tgRolloutResult *result);

#ifdef __cplusplus
}
#endif
#endif
