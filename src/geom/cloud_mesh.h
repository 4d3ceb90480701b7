// cloud_mesh.h: steps by which a mesh becomes a cloud, and what they share: the mesh cut into faces much smaller than the spacing.
#ifndef TG_GEOM_CLOUD_MESH_H
#define TG_GEOM_CLOUD_MESH_H

#include "base/memory.h"
#include "geom/cloud_make.h"
#include "math/d3.h"

/// Blocks that are freed together.
typedef struct tgiBlocks {
  tgAllocator alloc;
  void *block[48];
  int count;
} tgiBlocks;

/// n zeroed things of `size` bytes; NULL: no memory.
void *tgi_blocks_take(tgiBlocks *b, size_t n, size_t size);
/// Frees one of them (may be NULL).
void tgi_blocks_give(tgiBlocks *b, void *block);
void tgi_blocks_free(tgiBlocks *b);

/// A closed surface cut into small faces, all edges below a third of the spacing. Creases are edges where the surface
/// turns by more than 30 degrees.
typedef struct tgiFine {
  int nvert, nface;
  double spacing;
  double *vert;    ///< nvert x 3
  int *face;       ///< nface x 3, counter-clockwise from outside
  int *next;       ///< nface x 3: the face beyond the edge from corner c to corner c + 1, -1: a crease
  double *normal;  ///< nface x 3, unit, of the face it was cut from
  double *area;    ///< nface
  double *centre;  ///< nface x 3
  int *segment;    ///< nface: what can be reached without crossing a crease has one number
  int nsegment;
} tgiFine;

/// A point of the cloud on its way: where, on which small face; fixed: beside a crease, stays where it is.
typedef struct tgiSite {
  double x[3];
  int face;
  bool fixed;
} tgiSite;
typedef struct tgiSites {
  int n, room;
  tgiSite *site;
} tgiSites;

/// Cuts welded faces (no face names a vertex twice) that are known to be closed. TG_ERR_LIMIT, TG_ERR_MEMORY.
tgStatus tgi_fine_make(const double *vert, int nvert, const int *face, int nface, double spacing, tgiBlocks *blocks,
                       tgiFine *fine, tgError *error);
/// Walks from x on edge `edge` of face *face along the unit direction in that face, straight on over edges, up to `length` or to a crease.
/// Returns how far; x and *face are where it ended.
double tgi_fine_walk(const tgiFine *fine, int *face, int edge, double x[3], double length);
/// Sites beside all creases: pairs (or more) at equal distances from the crease, a spacing apart along it. TG_ERR_LIMIT, TG_ERR_MEMORY.
tgStatus tgi_sites_beside_creases(const tgiFine *fine, tgiBlocks *blocks, tgiSites *sites, tgError *error);
/// Fills up the surface with sites in random order, none nearer than a part of the spacing to others, and evens them
/// out by Lloyd's steps. owner (nface): the site to whose patch a small face belongs. TG_ERR_LIMIT, TG_ERR_MEMORY.
tgStatus tgi_sites_spread(const tgiFine *fine, tgiBlocks *blocks, tgiSites *sites, int *owner, tgError *error);
/// Room for one more site; false: no memory or too many.
bool tgi_sites_add(tgiSites *sites, tgiBlocks *blocks, const double x[3], int face, bool fixed);
/// The cloud of sites and their patches, at scale 1. TG_ERR_MEMORY.
tgStatus tgi_cloud_assemble(const tgiFine *fine, const tgiSites *sites, const int *owner, tgiBlocks *blocks, tgCloud *cloud);

// ---- points in space by cells ----

/// Points that are asked for by place, in cells as wide as the radius asked about.
typedef struct tgiCells {
  double width;
  int most;          ///< points there is room for
  uint64_t mask;
  int *head, *next;  ///< first point of a bucket of cells, next one of the same; -1: none
} tgiCells;

/// For up to `most` points. False: no memory.
bool tgi_cells_make(tgiCells *cells, double width, int most, tgiBlocks *blocks);
void tgi_cells_add(tgiCells *cells, const double x[3], int point);
/// The first point of the bucket of the cell `k` (0 to 26) about x; others of it follow by next. A point may come up
/// twice and need not be near.
int tgi_cells_about(const tgiCells *cells, const double x[3], int k);

#endif
