// pairs.h: pairs of triangles of known kind and gap for the tests of the barrier.
#ifndef TG_TEST_BARRIER_PAIRS_H
#define TG_TEST_BARRIER_PAIRS_H

#include "support/check.h"

/// What of A (upper) is next to what of B; FLAT: both in one plane; BOX: halves of rectangles with parallel edges, face to face or side by
/// side; APART: two random triangles, the gap is about the distance of centres.
enum {
  FACE_FACE, EDGE_EDGE, VERTEX_FACE, VERTEX_VERTEX, VERTEX_EDGE, FLAT_VERTEX_EDGE, FLAT_VERTEX_VERTEX, FLAT_EDGE_EDGE, BOX_FACES, BOX_SIDES,
  APART, PAIR_KINDS
};
extern const char *const pair_kind[PAIR_KINDS];

/// Six vertices (A, B) with that gap: sizes of the triangles, sliver: width of both across a random direction, of their size (1: none).
/// Turned at random and moved by up to `offset`; the gap is exact up to rounding.
void pair_make(tgtRandom *r, int kind, double gap, const double size[2], double sliver, double offset, double x[18]);
/// One of every kind, gap, size, sliver and scale: gaps 1e-9..10 of the smaller triangle, sizes 10^-1.5..10^1.5, slivers to 1e-6, scales
/// 1e-3..1e3. Returns the gap.
double pair_any(tgtRandom *r, double x[18]);

#endif
