// impulse_carried.h: Coriolis and gyroscopic forces of trees that turn fast, from the momenta that their bodies carry.
//
// Based on: [math/lcp Fast trees]. The velocity v was made at q- = q (+) (-h v), or near it. There the bodies have the momenta
// p_b(q-, v); they fly freely for h, with the velocity of the centre of mass and the angular momentum about it kept, and their momenta
// are put on the joints at q:
//   c~ = weight + (M(q) v - J_b(q)' p_b)/h,
// which goes to c(q, v) with h. h c(q, v) grows with v^2; h c~ with v alone, and the projection of momenta on the joints has no more
// energy than the bodies brought, but for what an angular momentum has more of when its body has turned under it.
// A tree's forces are c + share (c~ - c), share from 0 to 1 with x^2 = h^2 (sum of the squares of its rates of turning), twice
// continuously: 0 up to x = 0.1, 1 from 0.3 on; of a body alone in the middle of a flow of `toi` 1 and 1.5. A slow tree has none of
// this, to the bit.
#ifndef TG_STEP_IMPULSE_CARRIED_H
#define TG_STEP_IMPULSE_CARRIED_H

#include "sim/param.h"

/// carried_share and, where it is not 0, carried = c~ - c for a part of h from the state in s->start, whose frames, inertias, velocities,
/// bias and mass matrix are there; s->before is then at q- with v. TG_ERR_CAPACITY: scratch is short.
tgStatus tgi_carried(tgSim *s, tgReal h);
/// Force of it on dof d: what c lacks.
static inline tgReal tgi_carried_force(const tgSim *s, int d) {
  return tgRe(s->carried_share[d]) != 0 ? s->carried_share[d] * s->carried[d] : 0;
}
/// Adjoint of carried_share of the part in the sim: by (nv, spoilt) is, summed over each tree, what its share is weighed by; sum: work, nv;
/// adds to gv and dt (NULL: not wanted).
void tgi_carried_share_vjp(const tgSim *s, tgReal *by, tgReal *sum, tgReal *gv, tgReal *dt);
/// Derivative of dof d's share in v, by_v (nv), written, and, added to *by_h (NULL: not wanted), in h. work: 2 nv.
void tgi_carried_share_slope(const tgSim *s, int d, tgReal *work, tgReal *by_v, tgReal *by_h);
/// The fastest turning of a body alone at the start [rad/s], of those whose inertia is not the same about all axes.
double tgi_turn_alone(const tgSim *s);
/// Some tree has a share of it.
bool tgi_any_carried(const tgSim *s);
/// Adjoint of share (c~ - c) of the part in the sim, w its gradient: adds to gq, gv, dt and p (NULL: not wanted).
tgStatus tgi_carried_vjp(tgSim *s, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *dt, tgParamGrad *p);

#endif
