// rate.h: what the rules of rule.c and smooth.c share: the motions that they are differentiated along, and where the results go.
//
// Columns: the six twist components of A, then, when wanted, the three sizes of A and of B, then six for each of four parts (Dp of
// narrow.h). B's twists follow from rigid motion of both, under which p moves as a material point, n turns and the gap stays:
//   D_B = (w x p + v, w x n, 0) - D_A.
#ifndef TG_COLL_FEATURES_RATE_H
#define TG_COLL_FEATURES_RATE_H

#include "coll/features/rule.h"

enum { TGI_TWIST = 6, TGI_SIZES = 12, TGI_COLUMNS = 36 };
static inline int tgi_rate_columns(tgCollide want) {
  return want == TG_COLLIDE_VERTEX ? TGI_COLUMNS : want == TG_COLLIDE_SIZE ? TGI_SIZES : TGI_TWIST;
}
/// Which size of the body column k changes, -1: none.
static inline int tgi_rate_size(bool is_a, int k) { return k >= TGI_TWIST && k < TGI_SIZES && (k < 9) == is_a ? k % 3 : -1; }

/// Rates, under twist component k of its body, of a material point and of a direction.
static inline void tgi_rate_point(tgReal *dx, const tgReal *x, int k) {
  dx[0] = dx[1] = dx[2] = 0;
  if (k >= 3) { dx[k - 3] = 1; return; }
  int i = (k + 1) % 3, j = (k + 2) % 3;        // e_k cross x
  dx[j] = x[i];
  dx[i] = -x[j];
}
static inline void tgi_rate_dir(tgReal *du, const tgReal *u, int k) {
  if (k < 3) tgi_rate_point(du, u, k);
  else du[0] = du[1] = du[2] = 0;
}

/// Rates in column k of a core's point and direction (0 for a point); returns that of its radius.
tgReal tgi_rate_core(tgReal *dx, tgReal *du, const tgiCore *C, int k);
/// Of a face's point and normal.
void tgi_rate_face(tgReal *ds, tgReal *dn, const tgiFace *F, int k);

/// Notes the parts behind the point; any may be NULL.
void tgi_rate_parts(tgContactPoint *c, const tgiCore *C, const tgiCore *D, const tgiFace *F, const tgiFace *G);

/// Stores column k.
void tgi_rate_store(tgContactPoint *c, int k, const tgReal *dp, const tgReal *dn, tgReal dgap);
/// Point x over a reference face, radius r around it: fills p, n, gap.
void tgi_rate_on_face(tgContactPoint *c, const tgiFace *F, const tgReal *x, tgReal r);
/// Its column k for rates ds, dn of the face and dx, dr of the point; spoils dn.
void tgi_rate_store_on_face(tgContactPoint *c, const tgiFace *F, int k, const tgReal *x, tgReal r, const tgReal *ds, tgReal *dn,
                            const tgReal *dx, tgReal dr);

#endif
