// gjk.h: which vertices of two convex cores are nearest, for polytopes too large to try every axis.
//
// Based on: [GJK], distance by simplices of the Minkowski difference X - Y; [vandenBergen], expanding polytope.
// The answer only names vertices; the caller finds the exact features among their neighbours and checks it, so that an
// unsure end here costs time, never the contact.
#ifndef TG_COLL_FEATURES_GJK_H
#define TG_COLL_FEATURES_GJK_H

#include "coll/features/convex.h"

typedef struct tgiSupport { double w[3]; int x, y; } tgiSupport;   ///< vertex x of X minus vertex y of Y

typedef enum tgiNearestKind {
  TGI_NEAREST_FOUND,
  TGI_NEAREST_BEYOND,       ///< a plane leaves more than reach between the cores
  TGI_NEAREST_UNSURE        ///< rounding or size stopped it
} tgiNearestKind;

typedef struct tgiNearest {
  tgiNearestKind kind;
  int count;                ///< vertices that span the nearest feature of X - Y
  tgiSupport p[3];
  double s;                 ///< distance > 0, or minus the least depth; BEYOND: a lower bound
  bool tie;                 ///< another depth as small in another direction
} tgiNearest;

/// n: first guess of a direction from Y to X.
tgiNearest tgi_nearest(const tgiConvex *X, const tgiConvex *Y, const double *n, double reach);

/// Direction n (unit, in: a guess) from Y to X moved by shift, along which they are apart, to about sqrt(accuracy) rad of that
/// of their closest points; curved cores shrunk about their centres by `shrink`. False when they overlap or nearly touch.
bool tgi_direction(const tgiConvex *X, const tgiConvex *Y, const double *shift, double shrink, double accuracy, double *n);

#endif
