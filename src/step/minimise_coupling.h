// minimise_coupling.h: which pairs of sets of dofs a step's second derivative H has blocks for, and solves with it.
//
// A potential of long range couples all bodies, and H would be dense; most of these couplings are far smaller than the
// bodies' inertia. With C the blocks of those, H = N + C, only N is stored and factorised, and
//   H^-1 x = sum over k of (-N^-1 C)^k N^-1 x                                                                            (89)
// down to round-off: steps and derivatives are those of H.
#ifndef TG_STEP_MINIMISE_COUPLING_H
#define TG_STEP_MINIMISE_COUPLING_H

#include "step/minimise.h"

/// The pattern of the terms at hand and of equalities, for a step of size h. Where it would be dense, terms whose
/// couplings are small against M/h^2 are left_out, but for `whole`. TG_ERR_CAPACITY: there is no room for its numbers,
/// s->wanted says how many.
tgStatus tgi_coupling_find(tgSim *s, double h, bool whole);
/// x <- H^-1 x at s->end and its terms, by step_L. TG_NOT_CONVERGED: (89) comes to no end.
tgStatus tgi_coupling_solve(tgSim *s, tgReal *x);
/// The same for a Newton step, of which a part is enough: *slow is true where the series falls too slowly for
/// derivatives to be had from it, and x is undefined then.
tgStatus tgi_coupling_solve_step(tgSim *s, tgReal *x, bool *slow);
/// tgi_coupling_solve of each column of X, nv x n.
tgStatus tgi_coupling_solve_columns(tgSim *s, int n, tgReal *X);

#endif
