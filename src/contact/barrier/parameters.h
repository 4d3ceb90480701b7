// parameters.h: gradients of the barrier and its friction in the numbers of geoms: coefficients of friction, places,
// sizes and scales, and the step.
#ifndef TG_CONTACT_BARRIER_PARAMETERS_H
#define TG_CONTACT_BARRIER_PARAMETERS_H

#include "sim/param.h"

/// tgLaw.parameters. Leaves the trees at the start of the step.
tgStatus tgi_barrier_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p);
/// tgContactModel.param_nonsmooth: geoms with equal friction, sizes at which the radius of a sphere has two makers, sharp faces that would
/// rub otherwise with any radius of edges.
void tgi_barrier_param_nonsmooth(const tgSim *s, const tgParamGrad *p, tgGradInfo *info);

#endif
