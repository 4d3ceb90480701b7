// sides.h: where a point lies of all sides of a face, for clipping: planes and edges by columns, whose loops take several at once.
//
// What is told is what a loop over the sides one by one tells, to the bit. Double in both builds, as all that chooses features.
#ifndef TG_COLL_FEATURES_SIDES_H
#define TG_COLL_FEATURES_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "math/wide.h"

enum { TGI_SIDES = 64 };   // at once: a bit of a word for each

/// Planes n.x = at: columns n[0], n[1], n[2], n[3] = at; 0 after the last, up to a whole vector.
typedef struct tgiSides { int count; double n[4][TGI_SIDES]; } tgiSides;
/// Bits of the sides that a point is beyond by more than a tolerance, and of those that it is less than that within or beyond.
typedef struct tgiBeyond { uint64_t out, near; } tgiBeyond;
TGI_KERNEL(tgiBeyond, tgi_sides_at, (const tgiSides *S, const double *x, double tol), (S, x, tol))

static inline double tgi_side_at(const tgiSides *S, int k, const double *x) {
  return S->n[0][k] * x[0] + S->n[1][k] * x[1] + S->n[2][k] * x[2] - S->n[3][k];
}

/// Edges of a loop: columns x of where each begins, direction out of the loop, how far along that a point is no longer within; after the
/// last, up to a whole vector, those of the last.
typedef struct tgiEdges { int count; double x[3][TGI_SIDES], out[3][TGI_SIDES], end[TGI_SIDES]; } tgiEdges;
/// Whether a point is within all of them.
TGI_KERNEL(bool, tgi_edges_hold, (const tgiEdges *E, const double *c), (E, c))

#endif
