// facets.h: the triangles of geoms that touch by vertices, edges and faces: meshes that are not convex, and what may touch them.
//
// What is kept holds for every size of the geom: which faces lie in one plane and where they bend outwards stays as its axes are scaled.
// Based on: [math/collision Facets].
#ifndef TG_COLL_SURFACES_FACETS_H
#define TG_COLL_SURFACES_FACETS_H

#include "coll/features/narrow.h"
#include "coll/surfaces/triangle.h"
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
  int ngeom, npair;         ///< npair: pairs that touch by facets
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

/// Of two geoms the pairs of faces that are no farther apart than `within` where they were last looked for, in the order of their trees,
/// each with its distance there. As long as neither has moved far beside the other, no others are as near as what is asked for.
typedef struct tgiFacePair { int a, b; double distance; } tgiFacePair;
typedef struct tgiFaceList {
  int pair;                 ///< its number and 1; 0: of none yet
  int n;                    ///< -1: there are more than there is room for
  double within;            ///< of the faces' cores
  double size[6], R[9], t[3];   ///< of the geoms; the second as seen from the first
  double rounding;          ///< how far distances there may be out
  long used;                ///< when it was asked for last
  tgiFacePair *face;        ///< TGI_FACE_LIST
  struct tgiFaceLists *all; ///< among which it is
} tgiFaceList;
enum { TGI_FACE_LISTS = 16, TGI_FACE_LIST = 4096 };

/// Where two faces are nearest, of two geoms at one place: one look asks for it several times. Known as apart where only that is.
typedef struct tgiFaceNear { int a, b; long place; double apart; tgiNearby near; } tgiFaceNear;
enum { TGI_FACE_NEARS = 512 };

/// A sim's lists, of pairs that were asked for lately. What is found by them is the same as without, to the bit.
typedef struct tgiFaceLists {
  int count;
  long asked;
  int pair;                 ///< that was looked at last, its number and 1; at this place, so many-th of all
  double at[24];
  long place;
  tgiFaceNear near[TGI_FACE_NEARS];   ///< by the pair of faces' number in its list, the last of those that share a place here
  tgiFaceList list[TGI_FACE_LISTS];
} tgiFaceLists;

/// Bytes of a sim's lists, and lists in such a block, which is zeroed.
size_t tgi_face_lists_bytes(const tgiFacetTable *table);
tgiFaceLists *tgi_face_lists_make(void *block, const tgiFacetTable *table);
/// The list of pair; NULL: lists are NULL, or all are of pairs that were asked for lately.
tgiFaceList *tgi_face_list(tgiFaceLists *lists, int pair);

/// A geom's facets at a place: x = M vert + p.
typedef struct tgiFacetBody {
  const tgiFacets *f;
  tgShape shape;            ///< no hull
  double M[9], p[3], size[3];
  double r, reach;          ///< of the ball that goes along the core; of what is curved, from its centre; 0 of others
  tgiFaceList *list;        ///< of the first of a pair: of its faces near those of the second; NULL: none
} tgiFacetBody;

void tgi_facets_place(tgiFacetBody *body, const tgiFacetTable *table, const tgModel *m, const tgPose *pose, int geom);
void tgi_facet_vertex(const tgiFacetBody *body, int vertex, double x[3]);
void tgi_facet_corners(const tgiFacetBody *body, int face, double x[9]);
/// Outward unit normal of a face with these corners; 0 where it has no area.
void tgi_facet_normal(const double corners[9], double n[3]);

/// A visit to the pairs of faces whose cores are no farther apart than `within`: nearest: those that look near first, and each visit may
/// lower `within`; else in one order, wherever the two are.
typedef struct tgiFacetVisit {
  const tgiFacetBody *a, *b;
  double within;
  bool nearest;
  void (*visit)(struct tgiFacetVisit *v, int face_a, int face_b, const double corners[18], const tgiNearby *near);
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
