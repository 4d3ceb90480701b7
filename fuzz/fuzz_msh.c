// fuzz_msh.c: arbitrary bytes as MuJoCo's binary mesh, read and tidied; indices stay inside.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "io/mesh_raw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const double scale[3] = {1, -2, 0.5};
  tgRawMesh raw;
  tgError error;
  tgi_raw_init(&raw, NULL);
  if (tgi_msh_parse((const char *)data, size, &raw, &error) == TG_OK && tgi_raw_tidy(&raw, scale, &error) == TG_OK) {
    if (raw.nface == 0) abort();
    for (int i = 0; i < 3 * raw.nface; i++)
      if (raw.face[i] < 0 || raw.face[i] >= raw.nvert) abort();
  }
  tgi_raw_free(&raw);
  return 0;
}
