// pose.h: a pose of the model as a value: coordinates and all that kinematics makes of them. A sim has several; a
// kernel takes the one it means.
#ifndef TG_SIM_POSE_H
#define TG_SIM_POSE_H

#include "model/model.h"

typedef struct tgPose {
#define TG_POSE_REAL(name, rows, cols, unit, producer, text) tgReal *name;
#include "sim/pose_fields.def"
#undef TG_POSE_REAL
} tgPose;

#endif
