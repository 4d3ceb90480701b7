// pieces.h: a mesh cut into convex pieces, and the bytes in which pieces are kept.
//
// Bytes, all numbers little-endian:
//   "TGPIECES", u32 version 1, u32 npiece, u64 key, u32 vertices of each piece, f64 coordinates (3 a vertex), u64 FNV-1a of all before
#ifndef TG_GEOM_PIECES_H
#define TG_GEOM_PIECES_H

#include "tangere/base.h"

/// Vertices of piece i are vert[3 adr[i]] to vert[3 adr[i + 1] - 1], in the frame of the mesh; their hull is the piece.
typedef struct tgPieces {
  int npiece;
  int *adr;              ///< npiece + 1
  double *vert;          ///< 3 adr[npiece]
  tgAllocator alloc;
} tgPieces;

enum { TGI_PIECES_MOST = 4096, TGI_PIECE_VERTICES_MOST = 65536 };

/// Room for npiece pieces with count[i] vertices each. TG_ERR_LIMIT beyond the two numbers above or below 4 vertices; TG_ERR_MEMORY.
tgStatus tgi_pieces_create(tgPieces *pieces, int npiece, const uint32_t *count, const tgAllocator *allocator, tgError *error);
void tgi_pieces_free(tgPieces *pieces);

/// Number of bytes that the pieces take.
size_t tgi_pieces_size(const tgPieces *pieces);
/// Writes them, tgi_pieces_size bytes.
void tgi_pieces_encode(const tgPieces *pieces, uint64_t key, void *bytes);
/// Reads bytes that may come from anywhere. Every vertex must lie in the box low, high. TG_ERR_PARSE with what is wrong,
/// TG_ERR_LIMIT, TG_ERR_MEMORY; *pieces needs no freeing then.
tgStatus tgi_pieces_decode(const void *bytes, size_t size, uint64_t key, const double low[3], const double high[3],
                           const tgAllocator *allocator, tgPieces *pieces, tgError *error);

#endif
