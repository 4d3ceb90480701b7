// impulse_midway.h: forces in the middle of a flow that go by velocity: Coriolis forces, the medium, dampers of tendons and sheets.
//
// Based on: [math/toi The middle of a flow]. A flow of s has its masses and forces at q_m = q (+) (s/2) v. With those of v it is of first
// order where they change with velocity, so they are taken at u_2, by
//   u_0 = v,   v^_k = v + s Mh^-1 (tau - c)(q_m, u_(k-1)),   u_k = v + c (v^_k - v),
// c = 1/2 of trees that no row acts on. u_1 is the velocity in the middle to second order; u_2 is nearer to v^ = 2 u - v, with which a body
// that turns freely keeps its energy: in a step of 0.3 rad it gains 4e-6 of it at most, 3e-4 with u_1, 2e-2 with v.
// What a row acts on has c = 0, as v^ is without the row's force: see event_order.h. Fast trees of several bodies go over to momenta that
// are kept (step/impulse_carried.h): c = (1 - share)/2; so does a body alone that turns by more than 1 rad: from 2.5 rad on u_2 runs away.
// Joint dampers and servos are implicit and have both ends' mean velocity without this.
#ifndef TG_STEP_IMPULSE_MIDWAY_H
#define TG_STEP_IMPULSE_MIDWAY_H

#include "sim/sim.h"

/// Of a flow in whose middle the sim is, whose rows are in it and whose vhat is by u_(turning): that becomes v^ and forces become those of
/// the next u. False: nothing changes, as all of them were made or none goes by velocity.
bool tgi_midway_turn(tgSim *s);
/// After that: the pose has v0's velocities again.
void tgi_midway_end(tgSim *s);
/// s->turning = k and bias, qfrc_passive and tau of u_k; joint dampers, where they are implicit, of v0. The pose keeps v0's velocities.
void tgi_midway_level(tgSim *s, int k);
/// Forces that go by velocity, of the model's kind, become those of u (nv); the pose keeps v0's velocities.
bool tgi_midway_goes_by_velocity(const tgModel *m);
void tgi_midway_forces(tgSim *s, const tgReal *u);
/// c (nv).
void tgi_midway_shares(const tgSim *s, tgReal *c);
/// v^_k and u_k (nv), k from 1.
static inline tgReal *tgi_foreseen(const tgSim *s, int k) { return s->foreseen + (size_t)(k - 1) * (size_t)s->m.nv; }
static inline tgReal *tgi_turned(const tgSim *s, int k) { return s->turned + (size_t)(k - 1) * (size_t)s->m.nv; }

#endif
