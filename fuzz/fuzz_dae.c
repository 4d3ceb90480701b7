// fuzz_dae.c: COLLADA through the child that assimp runs in, and what the parent takes from a child that sends anything: a child whose
// library was broken into is no more to be trusted than a file.
#define tgi_dae_parse fuzz_dae_parse   // the library has one of its own
#include "io/dae.c"
#undef tgi_dae_parse

#include "fuzz_mesh.h"

static tgStatus parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
#ifdef TG_ASSIMP
  if (size > 0 && data[0] % 8 != 0) return take(data + 1, size - 1, raw, error);
#endif
  return fuzz_dae_parse(data + (size > 0), size - (size > 0), raw, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgt_fuzz_mesh(parse, data, size);
  return 0;
}
