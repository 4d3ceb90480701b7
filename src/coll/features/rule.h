// rule.h: from a chosen pair of features to the contact point and its derivatives, in closed form.
//
// Based on: [math/collision Rules] (delta x = w cross x + v for the material points of a body). Every rule fills p, n, gap and,
// as wanted, D, Ds and Dp; feature and tie are left to the caller. All arguments are in world axes.
#ifndef TG_COLL_FEATURES_RULE_H
#define TG_COLL_FEATURES_RULE_H

#include "coll/features/narrow.h"

/// Rates of a feature in its shape's three size parameters, [parameter][component]; set only where Ds is wanted.
typedef struct tgiSizeRates { tgReal x[3][3], u[3][3], r[3]; } tgiSizeRates;

/// Point x, or line x + s u when `line`, of body A (is_a) or B; r is the radius around it; round false: a vertex or edge of a
/// polytope (r 0).
typedef struct tgiCore {
  tgReal x[3], u[3], r;
  bool line, round, is_a;
  int part;                 ///< as in tgContactPoint
  tgiSizeRates size;
} tgiCore;

/// How the normal of two cores follows from them.
typedef enum tgiNormal {
  TGI_NORMAL_CLOSEST,       ///< unit(a - b), a and b the closest points
  TGI_NORMAL_CROSS,         ///< side unit(u x w); both cores are lines
  TGI_NORMAL_FIXED          ///< given, carried by B: closest points coincide and nothing better exists
} tgiNormal;

/// Closest points of two cores, of A and of B. p lies on the surface of the round body, between two round bodies in the ratio
/// of their radii, half-way between two polytopes. `given` is the normal for TGI_NORMAL_FIXED, `side` the sign for CROSS.
void tgi_rule_cores(tgContactPoint *c, const tgiCore *A, const tgiCore *B, tgiNormal kind, double side,
                    const double *given, tgCollide want);

/// A face: outward unit normal n and a point s on it, of body A (is_a) or B. size.x is of s, size.u of n.
typedef struct tgiFace {
  tgReal n[3], s[3];
  bool is_a;
  int part;                 ///< as in tgContactPoint
  tgiSizeRates size;
} tgiFace;

/// Material point x of the other body, radius r around it: gap = n.(x - s) - r, p = x - r n.
void tgi_rule_face_point(tgContactPoint *c, const tgiFace *F, const tgiCore *x, tgCollide want);

/// Where the other body's line b + t w, radius r around it, passes the reference face's side plane through its edge
/// e + s g: a point of a clipped polygon, for which the envelope rule does not hold.
void tgi_rule_face_edge(tgContactPoint *c, const tgiFace *F, const tgiCore *edge, const tgiCore *line, tgCollide want);

/// Corner e of the reference face carried along n onto the other body's face (unit normal m through q).
void tgi_rule_face_corner(tgContactPoint *c, const tgiFace *F, const tgiCore *corner, const tgiFace *other, tgCollide want);

#endif
