// fuzz_mjcf.c: arbitrary bytes as the main document, strict and lenient; no file is touched.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/desc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// every index of a loaded description lies inside its array
static void check(const tgDesc *d) {
  for (int i = 1; i < d->nbody; i++)
    if (d->body[i].parent < 0 || d->body[i].parent >= i) abort();
  for (int i = 0; i < d->njoint; i++)
    if (d->joint[i].body < 1 || d->joint[i].body >= d->nbody) abort();
  for (int i = 0; i < d->ngeom; i++)
    if (d->geom[i].body < 0 || d->geom[i].body >= d->nbody || d->geom[i].mesh >= d->nmesh) abort();
  for (int i = 0; i < d->nactuator; i++)
    if (d->actuator[i].target < 0 ||
        d->actuator[i].target >= (d->actuator[i].transmission == TG_TRN_JOINT ? d->njoint : d->ntendon))
      abort();
  for (int i = 0; i < d->nmesh; i++)
    for (int k = 0; k < 3 * d->mesh[i].nface; k++)
      if (d->mesh[i].face[k] < 0 || d->mesh[i].face[k] >= d->mesh[i].nvert) abort();
  for (int i = 0; i < d->nnote; i++)
    if (strlen(d->note[i].text) == 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgLoadOptions options = tg_load_default();
  options.max_elements = 20000;
  for (int lenient = 0; lenient < 2; lenient++) {
    tgError error;
    options.lenient = lenient;
    tgDesc *desc = tg_desc_load_memory("fuzz", data, size, &options, &error);
    if (desc != NULL) check(desc);
    else if (error.status >= 0 || strlen(error.text) == 0) abort();
    tg_desc_free(desc);
  }
  return 0;
}
