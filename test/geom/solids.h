// solids.h: closed meshes for tests of clouds: solids of cubes (non-convex, with holes), tori, balls, prisms.
#ifndef TG_TEST_GEOM_SOLIDS_H
#define TG_TEST_GEOM_SOLIDS_H

/// A mesh; free with tgt_solid_free.
typedef struct tgtSolid {
  int nvert, nface;
  double *vert;   // nvert x 3
  int *face;      // nface x 3
} tgtSolid;

/// Cubes of side `side` where `cells` (sx x sy x sz characters, x fastest, then y, then z) is not a space; vertices are shared.
tgtSolid tgt_solid_cubes(int sx, int sy, int sz, const char *cells, double side);
/// Torus about z with 2 m n faces: n around the tube of radius r, m around z at radius R.
tgtSolid tgt_solid_torus(double R, double r, int m, int n);
/// Octahedral ball of 8 n^2 faces.
tgtSolid tgt_solid_ball(double radius, int n);
/// Prism over a convex polygon (n x 2, counter-clockwise) from z = 0 to height.
tgtSolid tgt_solid_prism(const double *polygon, int n, double height);
void tgt_solid_free(tgtSolid *s);

#endif
