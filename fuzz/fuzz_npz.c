// fuzz_npz.c: archives of arrays from untrusted bytes: refused, or read within the limit with data for every element.
#include <stdint.h>
#include <stdlib.h>

#include "tangere/data.h"
#include "output/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t limit = (size_t)1 << 20;
  tgNpz npz;
  tgError error;
  size_t total = 0, offset;
  volatile uint8_t sink = 0;
  if (tg_npz_read_memory("fuzz", data, size, limit, NULL, &npz, &error) == TG_OK) {
    for (int i = 0; i < npz.narray; i++) {
      size_t bytes = tgi_npz_count(&npz.array[i]) * tgi_npz_item(npz.array[i].type);
      total += bytes;
      // a sanitizer sees it when the data is shorter than it says
      if (bytes > 0) sink = ((const uint8_t *)npz.array[i].data)[bytes - 1];
    }
    if (total > limit) abort();
    tg_npz_free(&npz);
  }
  (void)sink;
  // the head's grammar by itself, which check sums keep the archive's mutations away from
  tgNpzArray array;
  if (tgi_npy_parse("fuzz", data, size, &array, &offset, &error) == TG_OK && offset > size) abort();
  return 0;
}
