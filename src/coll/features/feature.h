// feature.h: the features of shapes in world axes, with their rates in the shape's size parameters where Ds is wanted.
#ifndef TG_COLL_FEATURES_FEATURE_H
#define TG_COLL_FEATURES_FEATURE_H

#include "coll/features/rule.h"

enum { TGI_AT_START, TGI_AT_END, TGI_AT_INSIDE };

/// The core of a sphere or capsule: its centre, or the end or line that `at` names.
void tgi_round_core(tgiCore *core, const tgShape *S, bool is_a, int at, tgCollide want);
/// A plane geom.
void tgi_plane_face(tgiFace *F, const tgShape *P, bool is_a);
/// Vertex v of a polytope; edge e as a line from its start; face f.
void tgi_hull_vertex(tgiCore *core, const tgShape *S, bool is_a, int v, tgCollide want);
void tgi_hull_edge(tgiCore *core, const tgShape *S, bool is_a, int e, tgCollide want);
void tgi_hull_face(tgiFace *F, const tgShape *S, bool is_a, int f, tgCollide want);
/// Adjoint of a part (0: none) in the vertices that it depends on: g (nvert x 3, frame of the geom, before the
/// scale of a mesh) += gx . d(point) + gu . d(direction),
/// point and direction as in Dp of narrow.h.
void tgi_hull_part_vjp(const tgShape *S, bool face, int part, const tgReal gx[3], const tgReal gu[3], tgReal *g);
/// Cap 0 (-z) or 1 of a cylinder, and a point of its rim at the unit vector `at` of the cap's plane.
void tgi_cylinder_cap(tgiFace *F, const tgShape *S, bool is_a, int cap);
void tgi_cylinder_point(tgiCore *core, const tgShape *S, bool is_a, int cap, const double at[2]);

#endif
