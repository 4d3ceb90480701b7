// fuzz_pieces.c: arbitrary bytes as a file of convex pieces: as they are, and with a checksum that fits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/base.h"
#include "geom/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pieces(const void *data, size_t size) {
  static const double low[3] = {-1, -2, -3}, high[3] = {1, 2, 3};
  tgPieces p;
  tgError error = {0};
  uint64_t key = 0;
  if (size >= 24) memcpy(&key, (const char *)data + 16, sizeof key);
  tgStatus status = tgi_pieces_decode(data, size, key, low, high, NULL, &p, &error);
  if (status < 0 && error.text[0] == '\0') abort();
  if (status < 0) return;
  if (p.npiece < 1 || tgi_pieces_size(&p) != size) abort();
  for (int i = 0; i < 3 * p.adr[p.npiece]; i++)
    if (!(fabs(p.vert[i]) <= high[i % 3])) abort();
  char *again = malloc(size);
  if (again == NULL) abort();
  tgi_pieces_encode(&p, key, again);
  if (memcmp(again, data, size) != 0) abort();
  free(again);
  tgi_pieces_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_pieces(data, size);
  if (size < 32) return 0;
  char *sealed = malloc(size);
  if (sealed == NULL) return 0;
  uint64_t sum = tg_hash(TG_HASH_START, data, size - 8);
  memcpy(sealed, data, size - 8);
  memcpy(sealed + size - 8, &sum, sizeof sum);
  read_pieces(sealed, size);
  free(sealed);
  return 0;
}
