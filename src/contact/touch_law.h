// touch_law.h: gradients in what is told of the contacts of a law, see touch_law.c.
#ifndef TG_CONTACT_TOUCH_LAW_H
#define TG_CONTACT_TOUCH_LAW_H

#include "contact/contact.h"

/// Of gradients g in what is told of the contacts of a law, one for each number of touch: seed (nterm x 12), those in the wrenches of its
/// terms at hand. TG_ERR_UNSUPPORTED names a contact of which a part that is weighed has no derivative.
tgStatus tgi_law_seeds(tgSim *s, const tgiTouchGrad *g, tgReal *seed);
/// p += what these have of a law's numbers at held poses; Z: work, nbody x 6.
tgStatus tgi_law_seeds_parameters(tgSim *s, const tgPose *pose, const tgReal *seed, tgReal *Z, tgParamGrad *p);
/// p += what gradients g in what is told of the contacts of a law, one for each number of touch, have of planes of the world: of the
/// normal, and of the plane in which the point is. pose: one whose tgi_place_vjp comes after.
void tgi_law_planes_parameters(tgSim *s, const tgPose *pose, const tgiTouchGrad *g, tgParamGrad *p);

#endif
