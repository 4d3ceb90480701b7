// facets.h: the triangles of geoms that touch by vertices, edges and faces: meshes that are not convex, and what may touch them.
//
// What is kept holds for every size of the geom: which faces lie in one plane and where they bend outwards stays as its axes are scaled.
// Based on: [math/collision Facets].
#ifndef TG_COLL_SURFACES_FACETS_H
#define TG_COLL_SURFACES_FACETS_H

#include "coll/features/narrow.h"
#include "model/model.h"
#include "sim/pose.h"

/// A box about the faces under a node, at sizes 1; a leaf has one face. The first child of a node comes next after it.
typedef struct tgiFacetNode { double mid[3], half[3]; int face, second; } tgiFacetNode;

/// Of a ball or a capsule (round) the core: a triangle without area, whose vertices and edge it is; of a cylinder or an ellipsoid (curved
/// too) its centre alone, and what it touches it touches as a convex shape.
typedef struct tgiFacets {
  int nvert, nedge, nface;
  bool round, curved;
  double *vert;             ///< nvert x 3, at sizes 1
  int *face, *side;         ///< nface x 3: vertices, counter-clockwise from outside; the edge from each to the next
  int *plane;               ///< nface: of the faces that are in one plane and hang together, the first
  int *edge;                ///< nedge x 4: ends, the face in which it runs so and the other one; -1: none
  bool *ridge;              ///< nedge: the faces bend outwards there
  int *vert_adr, *vert_edge;   ///< nvert + 1, 2 nedge: edges that end in each vertex
  tgiFacetNode *node;       ///< 2 nface - 1
  int *order;               ///< nface: for the making
} tgiFacets;

/// Its vertices and edges; it has no more faces.
static inline int tgi_facet_numbers(const tgiFacets *f) { return f->nvert + f->nedge; }

/// Facets of all geoms that may touch a mesh that is not convex, and of those; const after tgi_facets_make.
typedef struct tgiFacetTable {
  int ngeom;
  bool *concave;            ///< ngeom
  tgiFacets **of;           ///< ngeom; NULL: none. Geoms of one mesh, and primitives of one type, share theirs
  tgAllocator alloc;
} tgiFacetTable;

/// The facets that a model needs where meshes with concave[g] (ngeom) touch as they are. TG_ERR_UNSUPPORTED names a geom that has none, and
/// what may be done; TG_ERR_INVALID a mesh without a surface; TG_ERR_MEMORY. *table is then NULL.
tgStatus tgi_facets_make(const tgModel *m, const bool *concave, tgiFacetTable **table, tgError *error);
void tgi_facets_free(tgiFacetTable *table);
/// Does pair touch by facets? A plane touches hulls, which have the same lowest points.
bool tgi_facets_pair(const tgiFacetTable *table, const tgModel *m, int pair);
/// The same of any two geoms, where both have facets.
bool tgi_facets_two(const tgiFacetTable *table, const tgModel *m, int geom1, int geom2);

/// A geom's facets at a place: x = M vert + p.
typedef struct tgiFacetBody {
  const tgiFacets *f;
  tgShape shape;            ///< no hull
  double M[9], p[3], size[3];
  double r, reach;          ///< of the ball that goes along the core; of what is curved, from its centre; 0 of others
} tgiFacetBody;

void tgi_facets_place(tgiFacetBody *body, const tgiFacetTable *table, const tgModel *m, const tgPose *pose, int geom);
void tgi_facet_vertex(const tgiFacetBody *body, int vertex, double x[3]);
void tgi_facet_corners(const tgiFacetBody *body, int face, double x[9]);
/// Outward unit normal of a face with these corners; 0 where it has no area.
void tgi_facet_normal(const double corners[9], double n[3]);

/// A visit to the pairs of faces whose cores may be no farther apart than `within`, which it may lower as it goes.
typedef struct tgiFacetVisit {
  const tgiFacetBody *a, *b;
  double within;
  void (*visit)(struct tgiFacetVisit *v, int face_a, int face_b, const double corners[18]);
  void *ctx;
} tgiFacetVisit;
void tgi_facets_visit(tgiFacetVisit *v);
/// What `within` is for bodies that far apart.
static inline double tgi_facets_within(const tgiFacetBody *a, const tgiFacetBody *b, double distance) {
  return distance + a->r + b->r + a->reach + b->reach;
}
/// Of two faces, of which one stands for a curved body: contacts of the other as a convex shape with it, as tgi_collide.
int tgi_facets_curved(const tgiFacetBody *a, int face_a, const tgiFacetBody *b, int face_b, double margin, double fine, tgCollide want,
                      tgContactPoint out[TG_PAIR_POINTS], double *distance);

/// Least of the distance, radii counted, and cap.
double tgi_facets_distance(const tgiFacetBody *a, const tgiFacetBody *b, double cap);

/// Contact points: vertices over faces, ridges across ridges, and vertices at ridges and vertices, where that is the nearest there. As
/// tgi_collide, but margin and fine are lengths above 0 and distance is the margin where there are none. Where faces meet one point tells
/// how deep.
int tgi_facets_collide(const tgiFacetBody *a, const tgiFacetBody *b, double margin, double fine, tgCollide want,
                       tgContactPoint out[TG_PAIR_POINTS], double *distance);

#endif
