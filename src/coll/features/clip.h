// clip.h: contact manifold of a reference face: candidates, their reduction, their closed forms.
#ifndef TG_COLL_FEATURES_CLIP_H
#define TG_COLL_FEATURES_CLIP_H

#include "coll/features/convex.h"
#include "coll/features/sides.h"

/// A candidate point: kind TGI_KIND_FACE_*; i the other body's vertex, edge or face, j the reference's edge or vertex; of curved
/// bodies the numbers of clip_curved.c.
typedef struct tgiCandidate {
  int kind, i, j;
  double x[3], gap;         ///< working frame
  double at;                ///< parameter of a crossing of a curve
  bool tie;
} tgiCandidate;

enum { TGI_CANDIDATES = 32 };
/// Candidates below a margin. When full it is reduced, so any number may be offered; the deepest is never lost.
typedef struct tgiManifold {
  tgiCandidate c[TGI_CANDIDATES];
  int count;
  double margin, tol, least;     ///< least: smallest gap offered, below the margin or not
  double axis[2][3];             ///< directions in the contact plane, fixed in a body, for the reduction
} tgiManifold;

void tgi_manifold_start(tgiManifold *M, double margin, double tol, const double *n, const double *along);
void tgi_manifold_offer(tgiManifold *M, int kind, int i, int j, const double *x, double gap, bool tie);
/// Down to at most `most` points. Of those that touch (gap at most the larger of 0 and the least, within 1e-6 of the size),
/// when they are enough, the deepest and the outermost in equally spread directions; else all of them and the nearest of
/// the rest. Order is kept; equals within 1e-6 of the size go to the earlier, so that round-off does not choose.
void tgi_manifold_reduce(tgiManifold *M, int most);

/// The outline of face f of F: a polygon's side planes, made as they are asked for and up to TGI_SIDES kept; a cap's circle; none
/// of a plane.
typedef struct tgiOutline {
  const tgiConvex *F;
  int f, nside, made;
  double n[3], off;              ///< plane of the face
  double side[TGI_SIDES][4];
} tgiOutline;
void tgi_outline_start(tgiOutline *O, const tgiConvex *F, int f);
/// Side plane through edge k of a polygon's loop: unit normal out of the face, offset.
const double *tgi_outline_side(tgiOutline *O, int k, double scratch[4]);
/// Whether x is within the outline or up to tol beyond it; *tie is set when within tol of it.
bool tgi_outline_holds(tgiOutline *O, const double *x, double tol, bool *tie);

/// Clips face g of I (its segment or point when I is round, g -1) against the side planes of face f of F.
void tgi_clip(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, int g, double margin, double tol);
/// The same where F or I is curved, or F is a plane: rims, lines of a cylinder's side, lowest points.
void tgi_clip_curved(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, int g, double margin, double tol);
/// The closed form of a candidate of tgi_clip_curved; W is face f of F.
void tgi_emit_curved(tgContactPoint *c, const tgiCandidate *k, const tgiFace *W, const tgiConvex *F, const tgiConvex *I,
                     tgCollide want);
/// The part of a cylinder, as numbered there, that is lowest along n.
int tgi_cylinder_lowest(const tgiConvex *I, const double *n);
/// Face f of a polytope, cylinder or plane in the world.
void tgi_convex_world_face(tgiFace *W, const tgiConvex *F, int f, tgCollide want);
static inline bool tgi_convex_is_curved(const tgiConvex *C) {
  return C->kind == TGI_CONVEX_ELLIPSOID || C->kind == TGI_CONVEX_CYLINDER;
}

/// The face of I that meets face f of F: of those at its lowest vertex the one most opposed; prefer is kept when about as
/// good (hysteresis h, a length). -1 when I has none to clip. *tie: another is as opposed.
int tgi_incident_face(const tgiConvex *F, int f, const tgiConvex *I, int prefer, double h, bool *tie);

/// Contact points of the candidates of face f of F against I, after reduction to TGI_FACE_POINTS. Returns their count.
int tgi_manifold_emit(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, bool tie, tgiPair *P);

#endif
