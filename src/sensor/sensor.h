// sensor.h: what sensors read and how that changes with the state, in pieces.
//
// A frame fixed to a body has a motion; a dof's coordinate, velocity or acceleration changes it. With twists V and accelerations A of
// bodies in world axes at the world's origin, Vp, Ap those before the group of dof j, Va that after it (kin/kinematics.h):
//   d/dq_j: the frame turns and moves by S_j,  dV = S_j x (V - Vp),  dA = S_j x (A - Ap) + (Vp x S_j) x (V - Vp)
//   d/dv_j: dV = S_j,  dA = Vp x S_j + S_j x (V - Va)
//   d/da_j: dA = S_j
// The second is the first's rate of change, S_j turning with what is before it; all hold for dofs that move the body, else 0.
#ifndef TG_SENSOR_SENSOR_H
#define TG_SENSOR_SENSOR_H

#include "kin/kinematics.h"

/// What is differentiated by.
typedef enum tgiBy { TGI_BY_Q, TGI_BY_V, TGI_BY_A } tgiBy;

/// Motion of a frame: place, axes, angular velocity, velocity, angular acceleration, acceleration less gravity; world axes.
typedef struct tgiMotion { tgReal p[3], R[9], quat[4], w[3], v[3], al[3], a[3]; } tgiMotion;
/// How it changes: a turn and moves of the rest.
typedef struct tgiChange { tgReal turn[3], p[3], w[3], v[3], al[3], a[3]; } tgiChange;

/// A state at which sensors are read, and whether there is a last step, whose forces some tell.
typedef struct tgiSensing {
  tgSim *s;
  tgPose pose;
  bool stepped;
  tgReal *wrench;        // nbody x 6: tg_sim_joint_wrenches, where it is asked for and known
  tgReal *A, *Ap, *Va;   // nbody x 6, nv x 6, nv x 6
} tgiSensing;

/// Where a row of a derivative goes, each NULL or its first entry: in q and accelerations (nv), in v and act (nv + na), in u (nu).
typedef struct tgiRow { tgReal *q, *v, *u, *a; } tgiRow;

/// A, Ap and Va at accelerations qacc (nv) from the pose and its velocities; gravity is an acceleration of the world upwards.
void tgi_sensing_accelerations(tgiSensing *x, const tgReal *qacc);
/// Motion of a point p (world) of a body, without axes.
void tgi_point_motion(const tgiSensing *x, int body, const tgReal p[3], tgiMotion *of);
/// Change of that by dof j; false: j does not move the body, *c is zero.
bool tgi_point_change(const tgiSensing *x, int body, const tgiMotion *of, int j, tgiBy by, tgiChange *c);
/// Motion of frame i of a kind; TG_FRAME_NONE: the world's.
void tgi_frame_motion(const tgiSensing *x, tgFrameKind kind, int i, tgiMotion *of);
/// The body that it is fixed to; 0 of the world's.
int tgi_frame_body(const tgModel *m, tgFrameKind kind, int i);

/// Values of sensor i, without its cutoff; `row` (NULL: not asked for) the rows of their derivatives, each of its length, zero before.
void tgi_sensor_read(const tgiSensing *x, int i, tgReal *value, const tgiRow *row);

/// Values of a sensor of the last step's forces: touch, force or torque at site i. NaN: there is no step to tell of, or its joints' forces
/// are not known.
void tgi_sensor_force(const tgiSensing *x, int type, int i, tgReal *value);
/// Does the half line from p (in the frame of a shape) along d meet the shape?
bool tgi_meets_shape(int type, const double size[3], const double p[3], const double d[3]);

#endif
