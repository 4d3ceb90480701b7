// fuzz_stl.c: arbitrary bytes as a mesh file; what is read is checked, weighed and wrapped in its hull.
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgt_fuzz_mesh(tgi_stl_parse, data, size);
  return 0;
}
