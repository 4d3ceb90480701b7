// fuzz_mjcf.c: arbitrary bytes as the main document, strict and lenient; no file is touched.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_desc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgLoadOptions options = tg_load_default();
  options.max_elements = 20000;
  for (int lenient = 0; lenient < 2; lenient++) {
    tgError error;
    options.lenient = lenient;
    options.drop = lenient ? (1u << TG_DROP_COUNT) - 1 : 0;
    tgDesc *desc = tg_desc_load_memory("fuzz", data, size, &options, &error);
    if (desc != NULL) tgt_check_desc(desc);
    else if (error.status >= 0 || strlen(error.text) == 0) abort();
    tg_desc_free(desc);
  }
  return 0;
}
