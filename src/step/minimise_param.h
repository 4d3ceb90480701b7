// minimise_param.h: the adjoint of a step of a law with an energy as its parameters see it.
#ifndef TG_STEP_MINIMISE_PARAM_H
#define TG_STEP_MINIMISE_PARAM_H

#include "step/objective.h"

typedef struct tgiAdjoint {
  tgiObjective o;      ///< its joints at q1
  tgReal *z, *zeta;    ///< nv: -H^-1 lambda, and Jr^-1 z
  tgReal *Z, *back;    ///< nbody x 6: twists that z gives, and minus them: a force is minus the derivative of its energy
  tgReal *old[2];      ///< nbody x 6: wrenches on the bodies at q0 and a step before
  tgReal *t;           ///< nv: scratch
} tgiAdjoint;

/// p += z . d(dL/dq')/dp, at the pose after the step.
tgStatus tgi_minimise_parameters(tgSim *s, tgiAdjoint *a, tgParamGrad *p);

#endif
