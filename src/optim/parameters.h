// parameters.h: model parameters as decision variables: one variable for each entry of the arrays that the task names.
#ifndef TG_OPTIM_PARAMETERS_H
#define TG_OPTIM_PARAMETERS_H

#include "optim/task.h"
#include "sim/param.h"

/// One decided entry: `at` in array `array` of the task's parameter names.
typedef struct tgParamVar {
  int array, at;
  double low, high, start;
  bool given;                  // the file says where it starts; else the model or the options of its contact model do
  char label[120];
} tgParamVar;

/// Fills task->param, nparam, param_name, nparam_name from the file. Errors name the parameter.
tgStatus tgi_parameters_resolve(tgTask *task, tgError *error);
/// For `contact` in place of the task's contact model: decided numbers that the file does not start begin at its
/// options. Errors name one that it does not have, or that would start outside its bounds; the task is then unchanged.
tgStatus tgi_parameters_of_contact(tgTask *task, const tgContact *contact, tgError *error);
/// With gradients of the contact model `gradient`, every decided parameter has one: it is of the model, not a number of
/// the step's contact model. Errors name it.
tgStatus tgi_parameters_of_gradient(const tgTask *task, const tgContact *gradient, tgError *error);
void tgi_parameters_free(tgTask *task);
/// g (nparam) from the gradient in the arrays.
void tgi_parameters_gather(const tgTask *task, tgParamGrad *grad, double *g);

#endif
