// fuzz_urdf.c: arbitrary bytes as a URDF, strict and lenient, floating and fixed; no file is touched. What loads is
// compiled.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const tgDesc *d) {
  for (int i = 1; i < d->nbody; i++)
    if (d->body[i].parent < 0 || d->body[i].parent >= i) abort();
  for (int i = 0; i < d->njoint; i++)
    if (d->joint[i].body < 1 || d->joint[i].body >= d->nbody) abort();
  for (int i = 0; i < d->ngeom; i++)
    if (d->geom[i].body < 0 || d->geom[i].body >= d->nbody || d->geom[i].mesh >= d->nmesh) abort();
  for (int i = 0; i < d->nactuator; i++)
    if (d->actuator[i].target < 0 || d->actuator[i].target >= d->njoint) abort();
  for (int i = 0; i < d->nequality; i++)
    if (d->equality[i].a < 0 || d->equality[i].a >= d->njoint || d->equality[i].b >= d->njoint) abort();
}

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
    check(desc);
    if (desc->ngeom < 40) {
      tgModel *model = tg_model_compile(desc, NULL, &error);
      if (model == NULL && (error.status >= 0 || strlen(error.text) == 0)) abort();
      tg_model_free(model);
    }
    tg_desc_free(desc);
  }
  return 0;
}
