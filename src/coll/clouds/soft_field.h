// soft_field.h: soft collision detection of two clouds: separation field, separation distribution, soft distance,
// vertex weights, soft contact points.
//
// Based on: [softmin] eqs. (11)-(13). Phi_f is the soft signed distance (ssdf.h) of point f of either cloud to the
// other, W ~ exp(-Phi/eps2),
//   d = sum W_f Phi_f,   z_v = sum W_f over the patches f around vertex v,   c_k = sum_v R_kv y_v,
//     R the soft choice (soft_topk.h) of K vertices.
// The choice is made on either surface by itself, K = 4 each, or all points might lie on one. Two things differ from
// the publication, for the points to be of use as contacts of a body at rest:
// - vertices are scored by z/(z + z0), z0 = (sum z^8)^(1/8)/50, as a patch's rim has fewer patches around it and else would score less;
// - a face that rests has many vertices of equal weight, of which every column would take an equal share and all points
// the same middle. So the four
//   anchors lean to the corners of a tetrahedron fixed in the geom's frame: among equals each takes what is farthest in its direction.
// Twists are spatial (angular; linear) at the world origin.
#ifndef TG_COLL_CLOUDS_SOFT_FIELD_H
#define TG_COLL_CLOUDS_SOFT_FIELD_H

#include "coll/clouds/ssdf.h"
#include "coll/features/narrow.h"
#include "geom/cloud.h"

enum { TGI_SOFT_CHOICE = 4 };

/// A cloud at its pose: points, normals, vertices for its sizes in the geom's frame, which is at x, R in the world.
typedef struct tgiSoftCloud { const tgCloud *cloud; const tgReal *p, *normal, *vert, *x, *R; tgReal eps1; } tgiSoftCloud;

/// Phi of the points of P against O (none where P is flat), and its derivative (n x 6; NULL: not wanted) in P's twist, O at rest.
void tgi_soft_phi(const tgiSoftCloud *P, const tgiSoftCloud *O, tgReal *phi, tgReal *dphi);
/// W of n values; the soft distance is returned. dphi (n x m; NULL): derivatives of phi, then dW and dd (m) of W and of the distance.
tgReal tgi_soft_distribution(int n, const tgReal *phi, double eps2, int m, const tgReal *dphi, tgReal *W, tgReal *dW, tgReal *dd);
/// z of the vertices (nvert) of a cloud from W of its points; m derivatives of it alike where dW is given.
void tgi_soft_vertices(const tgCloud *cloud, int m, const tgReal *W, const tgReal *dW, tgReal *z, tgReal *dz);

/// Contact points of geoms A and B as the narrow phase gives them (narrow.h), at most 4 on either surface;
/// those farther apart than the margin are left out. d: with D. work: tgi_soft_points_work bytes. Returns
/// their count; negative: the choice was not reached (TG_ERR_LIMIT), or a surface has no vertices to choose
/// from (TG_ERR_UNSUPPORTED).
size_t tgi_soft_points_work(const tgCloud *A, const tgCloud *B);
int tgi_soft_points(const tgiSoftCloud *A, const tgiSoftCloud *B, double eps2, double margin, bool d, void *work,
                    tgContactPoint out[TG_PAIR_POINTS]);

#endif
