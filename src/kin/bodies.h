// bodies.h: a part of tgi_kinematics.
#ifndef TG_KIN_BODIES_H
#define TG_KIN_BODIES_H

#include "kin/kinematics.h"

/// tgi_kinematics without the frames of geoms and without ST: what energies are of.
TGI_KERNEL(void, tgi_kinematics_bodies, (const tgModel *m, const tgReal *q, tgPose *pose), (m, q, pose))

#endif
