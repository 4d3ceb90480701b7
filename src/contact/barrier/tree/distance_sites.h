// distance_sites.h: which points and triangles, and which edges, two triangles of surfaces answer for in the barrier of distances.
//
// Each vertex and each edge of a surface belongs to one of its faces, so that pairs of faces have each vertex with each triangle of the
// other surface once, and each two edges. [math/barrier Distance barrier]
#ifndef TG_CONTACT_BARRIER_TREE_DISTANCE_SITES_H
#define TG_CONTACT_BARRIER_TREE_DISTANCE_SITES_H

#include "contact/barrier/pair/distance.h"
#include "contact/barrier/tree/tree_pair.h"

/// Of a face: bit k that vertex k is its own, bit 3 + k that the edge from there to vertex k + 1 is.
enum { TGI_OWN_VERTEX = 1, TGI_OWN_EDGE = 8 };
/// owned (nface) of a surface: the first face with it has it. TG_ERR_MEMORY.
tgStatus tgi_distance_owners(const tgiSurface *surface, const tgAllocator *allocator, unsigned char *owned);

enum { TGI_MOST_SITES = 15 };
/// Four of the six vertices of two triangles, A's first; see distance.h.
typedef struct tgiDistanceSite { int point[4]; bool edges; } tgiDistanceSite;
/// Sites of two faces with these bits; returns how many.
int tgi_distance_sites(unsigned owned_a, unsigned owned_b, tgiDistanceSite site[TGI_MOST_SITES]);

/// tgi_stencil of the site of triangles x.
bool tgi_distance_stencil(const tgReal x[18], const tgiDistanceSite *site, const tgiTreeLaw *law, bool second, tgiStencil *s);
/// Adds it to a sum, with derivatives in a twist of A. Squared distance of the site.
typedef struct tgiDistanceAdded { double D; bool felt, tie; } tgiDistanceAdded;
tgiDistanceAdded tgi_distance_add(const tgReal x[18], const tgiDistanceSite *site, const tgiTreeLaw *law, tgiPairSum *sum);
/// Do two triangles meet?
bool tgi_triangles_meet(const tgReal x[18]);

#endif
