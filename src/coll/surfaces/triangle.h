// triangle.h: distance of two triangles, of a point and a triangle, of two segments; with the closest points and their features.
//
// Based on: [math/collision Distance]. Double throughout: it chooses points and features, derivatives follow from those.
#ifndef TG_COLL_SURFACES_TRIANGLE_H
#define TG_COLL_SURFACES_TRIANGLE_H

#include "tangere/base.h"

/// Features of a triangle; edge k runs from vertex k to vertex k + 1. A point is vertex 0, a segment's edge is TGI_EDGE.
enum { TGI_VERTEX = 0, TGI_EDGE = 3, TGI_FACE = 6 };

/// Closest points a of the first and b of the second, on features TGI_VERTEX + k, TGI_EDGE + k or TGI_FACE. Equals: an earlier one of
/// vertices, edges, face. distance 0: they meet; a = b is then a common point.
typedef struct tgiNearby { double distance, a[3], b[3]; int feature_a, feature_b; } tgiNearby;

/// The distance is that of a and b, which lie in the sets to rounding, so never too small; too large by rounding only, edges and triangles
/// without length or area included.
tgiNearby tgi_triangle_triangle(const double a[9], const double b[9]);
tgiNearby tgi_point_triangle(const double p[3], const double t[9]);
tgiNearby tgi_segment_segment(const double a[6], const double b[6]);

#endif
