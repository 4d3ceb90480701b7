// pieces.c: see pieces.h.
#include "geom/pieces.h"

#include <math.h>
#include <string.h>

#include "tangere/base.h"
#include "base/memory.h"
#include "base/status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie in memory");

typedef struct Head { char magic[8]; uint32_t version, npiece; uint64_t key; } Head;
static const Head head = {.magic = {'T', 'G', 'P', 'I', 'E', 'C', 'E', 'S'}, .version = 1};

tgStatus tgi_pieces_create(tgPieces *p, int npiece, const uint32_t *count, const tgAllocator *allocator, tgError *error) {
  *p = (tgPieces){.alloc = tgi_allocator(allocator)};
  if (npiece < 1 || npiece > TGI_PIECES_MOST)
    return tgi_error(error, TG_ERR_LIMIT, "%d convex pieces; 1 to %d are possible", npiece, TGI_PIECES_MOST);
  size_t total = 0;
  for (int i = 0; i < npiece; i++) {
    if (count[i] < 4 || count[i] > TGI_PIECE_VERTICES_MOST)
      return tgi_error(error, TG_ERR_LIMIT, "piece %d has %u vertices; 4 to %d are possible", i, (unsigned)count[i],
                       TGI_PIECE_VERTICES_MOST);
    total += count[i];
  }
  p->npiece = npiece;
  p->adr = p->alloc.alloc(p->alloc.ctx, ((size_t)npiece + 1) * sizeof *p->adr);
  p->vert = p->alloc.alloc(p->alloc.ctx, 3 * total * sizeof *p->vert);
  if (p->adr == NULL || p->vert == NULL) {
    tgi_pieces_free(p);
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for %zu vertices of convex pieces", total);
  }
  p->adr[0] = 0;
  for (int i = 0; i < npiece; i++) p->adr[i + 1] = p->adr[i] + (int)count[i];
  return TG_OK;
}

void tgi_pieces_free(tgPieces *p) {
  if (p->alloc.free == NULL) return;
  p->alloc.free(p->alloc.ctx, p->adr);
  p->alloc.free(p->alloc.ctx, p->vert);
  *p = (tgPieces){.alloc = p->alloc};
}

static size_t size_of(size_t npiece, size_t nvert) {
  return sizeof(Head) + npiece * sizeof(uint32_t) + 3 * nvert * sizeof(double) + sizeof(uint64_t);
}

size_t tgi_pieces_size(const tgPieces *p) { return size_of((size_t)p->npiece, (size_t)p->adr[p->npiece]); }

void tgi_pieces_encode(const tgPieces *p, uint64_t key, void *bytes) {
  char *at = bytes;
  Head h = head;
  h.npiece = (uint32_t)p->npiece;
  h.key = key;
  memcpy(at, &h, sizeof h);
  at += sizeof h;
  for (int i = 0; i < p->npiece; i++, at += sizeof(uint32_t)) {
    uint32_t n = (uint32_t)(p->adr[i + 1] - p->adr[i]);
    memcpy(at, &n, sizeof n);
  }
  size_t coordinates = 3 * (size_t)p->adr[p->npiece] * sizeof(double);
  memcpy(at, p->vert, coordinates);
  at += coordinates;
  uint64_t sum = tg_hash(TG_HASH_START, bytes, (size_t)(at - (char *)bytes));
  memcpy(at, &sum, sizeof sum);
}

// everything but the coordinates
static tgStatus check_frame(const char *bytes, size_t size, uint64_t key, Head *h, tgError *error) {
  if (size < size_of(1, 4)) return tgi_error(error, TG_ERR_PARSE, "it is too short, %zu bytes", size);
  memcpy(h, bytes, sizeof *h);
  if (memcmp(h->magic, head.magic, sizeof h->magic) != 0 || h->version != head.version)
    return tgi_error(error, TG_ERR_PARSE, "it does not begin as version %u of such a file does", (unsigned)head.version);
  if (h->key != key) return tgi_error(error, TG_ERR_PARSE, "it belongs to another mesh or other options");
  if (h->npiece < 1 || h->npiece > TGI_PIECES_MOST || size < size_of(h->npiece, 4 * (size_t)h->npiece))
    return tgi_error(error, TG_ERR_PARSE, "it says that it has %u pieces, in %zu bytes", (unsigned)h->npiece, size);
  uint64_t sum;
  memcpy(&sum, bytes + size - sizeof sum, sizeof sum);
  if (sum != tg_hash(TG_HASH_START, bytes, size - sizeof sum)) return tgi_error(error, TG_ERR_PARSE, "its checksum is wrong");
  return TG_OK;
}

static tgStatus read_pieces(const char *bytes, size_t size, uint32_t npiece, const double low[3], const double high[3],
                            const tgAllocator *allocator, tgPieces *p, tgError *error) {
  uint32_t count[TGI_PIECES_MOST];
  size_t total = 0;
  memcpy(count, bytes + sizeof(Head), npiece * sizeof *count);
  for (uint32_t i = 0; i < npiece; i++) total += count[i];
  if (size != size_of(npiece, total))
    return tgi_error(error, TG_ERR_PARSE, "it has %zu bytes, %zu vertices need %zu", size, total, size_of(npiece, total));
  TG_TRY(tgi_pieces_create(p, (int)npiece, count, allocator, error));
  memcpy(p->vert, bytes + sizeof(Head) + npiece * sizeof *count, 3 * total * sizeof *p->vert);
  for (size_t i = 0; i < 3 * total; i++)
    if (!(p->vert[i] >= low[i % 3] && p->vert[i] <= high[i % 3])) {
      tgi_error(error, TG_ERR_PARSE, "vertex %zu has the coordinate %g, outside of the mesh", i / 3, p->vert[i]);
      tgi_pieces_free(p);
      return TG_ERR_PARSE;
    }
  return TG_OK;
}

tgStatus tgi_pieces_decode(const void *bytes, size_t size, uint64_t key, const double low[3], const double high[3],
                           const tgAllocator *allocator, tgPieces *pieces, tgError *error) {
  Head h;
  *pieces = (tgPieces){0};
  TG_TRY(check_frame(bytes, size, key, &h, error));
  return read_pieces(bytes, size, h.npiece, low, high, allocator, pieces, error);
}
