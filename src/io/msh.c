// msh.c: MuJoCo's own binary mesh format, little-endian:
//   int32 nvert, nnormal, ntexcoord, nface; float32 vertex[3 nvert], normal[3 nnormal], texcoord[2 ntexcoord];
//   int32 face[3 nface].
// Normals and texture coordinates are passed over. The counts must account for the length exactly.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "io/mesh_raw.h"

static uint32_t read_u32(const char *p) {
  const unsigned char *b = (const unsigned char *)p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double read_float(const char *p) {
  uint32_t bits = read_u32(p);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

tgStatus tgi_msh_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  if (size < 16) return tgi_error(error, TG_ERR_PARSE, "%zu bytes are too short for an MSH file", size);
  uint64_t nvert = read_u32(data), nnormal = read_u32(data + 4), ntex = read_u32(data + 8), nface = read_u32(data + 12);
  uint64_t want = 16 + 12 * nvert + 12 * nnormal + 8 * ntex + 12 * nface;        // below 2^38: no overflow
  if (want != size)
    return tgi_error(error, TG_ERR_PARSE, "an MSH file of %llu vertices and %llu faces has %llu bytes, this one %zu; it is "
                     "damaged or in another format", (unsigned long long)nvert, (unsigned long long)nface,
                     (unsigned long long)want, size);
  TG_TRY(tgi_raw_reserve(raw, (size_t)nvert, (size_t)nface, error));
  const char *p = data + 16;
  for (uint64_t i = 0; i < nvert; i++, p += 12) {
    double x[3] = {read_float(p), read_float(p + 4), read_float(p + 8)};
    for (int k = 0; k < 3; k++)
      if (!(fabs(x[k]) <= TGI_MESH_LARGEST))
        return tgi_error(error, isfinite(x[k]) ? TG_ERR_INVALID : TG_ERR_NOT_FINITE, "vertex %llu has the coordinate %g",
                         (unsigned long long)i, x[k]);
    TG_TRY(tgi_raw_vert(raw, x, error));
  }
  p += 12 * nnormal + 8 * ntex;
  for (uint64_t i = 0; i < nface; i++, p += 12) {
    uint32_t f[3] = {read_u32(p), read_u32(p + 4), read_u32(p + 8)};
    for (int k = 0; k < 3; k++)
      if (f[k] >= nvert)
        return tgi_error(error, TG_ERR_INVALID, "face %llu names vertex %u, there are %llu", (unsigned long long)i, f[k],
                         (unsigned long long)nvert);
    TG_TRY(tgi_raw_face(raw, (int)f[0], (int)f[1], (int)f[2], error));
  }
  return TG_OK;
}
