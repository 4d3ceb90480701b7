// param.h: the gradient with respect to the parameters of a model: one array for each, of the parameter's own shape.
#ifndef TANGERE_PARAM_H
#define TANGERE_PARAM_H

#include "tangere/contact.h"
#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/// dL/dp for a choice of parameter arrays (names as in tg_sim_param, "body_mass"). "opt_timestep" stands for the size h of the steps
/// that were run. A quaternion's and a unit axis' entries hold the gradient along their unit sphere: what changes its length has none.
/// One thread at a time.
typedef struct tgParamGrad tgParamGrad;

/// Parameters by name; names NULL: every parameter that has a derivative, which without a contact model is not known of all (see
/// tg_param_grad_left_out). allocator NULL: malloc. NULL: error (may be NULL) names the parameter that the model does not have (TG_ERR_ARG)
/// or that has no derivative (TG_ERR_UNSUPPORTED), or memory is short.
TG_API tgParamGrad *tg_param_grad_create(const tgModel *model, const char *const *names, int n,
                                         const tgAllocator *allocator, tgError *error);
/// The same of the model that the contact model is bound to, and of the contact model's own numbers ("contact.weight";
/// tg_contact_param_name lists them). For simulations under this contact model alone.
TG_API tgParamGrad *tg_param_grad_create_contact(const tgContact *contact, const char *const *names, int n,
                                                 const tgAllocator *allocator, tgError *error);
/// Of a gradient of every parameter, number i of those that were left out since they have no derivative under the contact model with its
/// options, as tg_contact_param_name's that are 0 and follow from others; NULL past the last. error (may be NULL): why.
TG_API const char *tg_param_grad_left_out(const tgParamGrad *grad, int i, tgError *error);
TG_API void tg_param_grad_free(tgParamGrad *grad);
/// Sets all to zero. The calls that take a tgParamGrad add to it.
TG_API void tg_param_grad_clear(tgParamGrad *grad);
/// The gradient of one parameter array, rows x cols row-major. NULL when it is not among those chosen.
TG_API tgReal *tg_param_grad_field(tgParamGrad *grad, const char *name, int *rows, int *cols);
/// All chosen arrays as one vector, one after the other in the order of the names (NULL names: the order of tg_param_name, then that of
/// tg_contact_param_name), and its length.
TG_API tgReal *tg_param_grad_values(tgParamGrad *grad, int *size);
/// Names of a model's parameters that have a derivative; NULL past the last.
TG_API const char *tg_param_name(int i);
/// Names of the contact model's numbers that have a derivative ("contact.weight"); NULL past the last. Each simulation
/// has its own value (tg_sim_param), the options' to begin with.
TG_API const char *tg_contact_param_name(const tgContact *contact, int i);

#ifdef __cplusplus
}
#endif
#endif
