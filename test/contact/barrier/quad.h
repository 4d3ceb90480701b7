// quad.h: the triangle pair in twice the digits, formed and solved the plain way, as the reference of the barrier's tests.
#ifndef TG_TEST_BARRIER_QUAD_H
#define TG_TEST_BARRIER_QUAD_H

#include "contact/barrier/pair/pair.h"

__extension__ typedef __float128 tgtQuad;

/// Value and gradient for a twist of A at vertices x, by Newton steps from the plane u, delta (which is improved).
void quad_pair(const tgtQuad x[18], tgtQuad u[3], tgtQuad *delta, tgtQuad *S, tgtQuad g[6]);
/// The same at x in double from the plane of `start`, and H by central differences of the gradient.
void quad_reference(const double x[18], const tgiPair *start, tgiPair *reference);

#endif
