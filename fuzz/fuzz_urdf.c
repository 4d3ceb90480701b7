// fuzz_urdf.c: arbitrary bytes as a URDF, strict and lenient, floating and fixed; no file is touched. What loads is
// compiled.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_desc.h"
#include "tangere/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgLoadOptions options = tg_load_default();
  options.max_elements = 20000;
  for (int variant = 0; variant < 2; variant++) {
    tgError error = {0};
    options.lenient = options.repair = variant == 1;
    options.fixed_base = variant == 1;
    tgDesc *desc = tg_desc_load_memory("fuzz", data, size, &options, &error);
    if (desc == NULL) {
      if (error.status >= 0 || strlen(error.text) == 0) abort();
      continue;
    }
    tgt_check_desc(desc);
    if (desc->ngeom < 40) {
      tgModel *model = tg_model_compile(desc, NULL, &error);
      if (model == NULL && (error.status >= 0 || strlen(error.text) == 0)) abort();
      tg_model_free(model);
    }
    tg_desc_free(desc);
  }
  return 0;
}
