// robots.h: small models built in code for tests of steps, gradients and rollouts.
#ifndef TG_TEST_ROBOTS_H
#define TG_TEST_ROBOTS_H

#include "support/check.h"
#include "tangere/contact.h"

/// A ball (radius 0.1 m, 0.5 kg) on a free joint over the ground plane, driven by three motors along the world axes.
tgModel *tgt_ball(void);
/// A planar runner of nine dofs (x, z, pitch, two legs of three hinges) and six limited leg motors over the ground, with joint limits,
/// damping and springs. Standing height of the torso: q[1] = 0.
tgModel *tgt_runner(void);
/// A box (0.2 m, 1 kg) on a free joint that stands on the ground plane at q[2] = 0.1, driven by six motors.
tgModel *tgt_box(void);
/// A torso free in the plane (slides x and z, pitch) with two legs of thigh and shin that hang exactly at the upper
/// ends of their ranges, in the air under gravity; a motor on each leg joint.
tgModel *tgt_two_legs(void);
/// The lcp contact model for it; fails the test when it cannot be made.
tgContact *tgt_contact(const tgModel *model);

#endif
