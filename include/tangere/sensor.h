// sensor.h: what the sensors of a model read, and how that changes with state, controls and accelerations.
//
// Sensors are those of the model's description (tgSensorDesc), in its order, with MuJoCo's conventions: a frame's acceleration has gravity
// in it (at rest it is 9.81 m/s^2 upwards), quaternions are w first, limits tell by how far they are overstepped (below 0; else 0).
#ifndef TANGERE_SENSOR_H
#define TANGERE_SENSOR_H

#include "tangere/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many numbers all sensors tell.
TG_API int tg_model_nsensordata(const tgModel *model);
/// Of sensor i (TG_THING_SENSOR): its type, where its numbers begin, and how many it has; each may be NULL. TG_ERR_ARG: there is none.
TG_API tgStatus tg_model_sensor(const tgModel *model, int sensor, tgSensorType *type, int *adr, int *width);

/// value (nsensordata): what sensors read at the present qpos, qvel, act and ctrl. qacc (nv): the accelerations that accelerometers and
/// the like read, NULL: the mean ones of the last step, right after it. What the last step left, its derivatives included, stays as it
/// is. TG_ERR_STATE: qacc is NULL, a sensor reads an acceleration, and this is not the state that a successful step came to in the last
/// call; TG_ERR_NOT_FINITE. touch, force and torque tell of that step (tangere/force.h) and read NaN at another state, or where joints'
/// forces are not known.
TG_API tgStatus tg_sim_sensors(tgSim *sim, const tgReal *qacc, tgReal *value);
/// Their derivatives, row-major; any may be NULL: Dq (nsensordata x nv) in tangent coordinates, Dv (nsensordata x (nv + na)) in
/// velocities, then activations, Du (nsensordata x nu) in controls, Da (nsensordata x nv) in qacc. One-sided at limits, ranges and
/// cutoffs, where it is that of the inside. Mean accelerations of a step depend on its two velocities: Da with the
/// step's own derivative. Rows of touch, force and torque are NaN: what they tell has no derivative here. Errors as above.
TG_API tgStatus tg_sim_sensors_d(tgSim *sim, const tgReal *qacc, tgReal *Dq, tgReal *Dv, tgReal *Du, tgReal *Da);

#ifdef __cplusplus
}
#endif
#endif
