// mesh_raw.h: the triangles that the mesh readers gather, and the readers as pure functions over bytes.
#ifndef TG_IO_MESH_RAW_H
#define TG_IO_MESH_RAW_H

#include "tangere/desc.h"

/// Growing mesh. Freed with tgi_raw_free.
typedef struct tgRawMesh {
  double *vert; ///< 3 nvert
  int *face;    ///< 3 nface
  int nvert, nface, capvert, capface;
  int nzero;    ///< faces without area that tgi_raw_tidy dropped
  int nbent;    ///< polygons out of their plane by more than 1e-4 of their size
  int ntangled; ///< polygons that cross themselves, triangulated as fans
  tgAllocator alloc;
} tgRawMesh;

/// Coordinates beyond this are refused: a mistake in any unit.
#define TGI_MESH_LARGEST 1e10

void tgi_raw_init(tgRawMesh *raw, const tgAllocator *allocator);
void tgi_raw_free(tgRawMesh *raw);
/// Room for that many vertices and faces in all. TG_ERR_MEMORY, TG_ERR_LIMIT past 2^31 numbers.
tgStatus tgi_raw_reserve(tgRawMesh *raw, size_t nvert, size_t nface, tgError *error);
tgStatus tgi_raw_vert(tgRawMesh *raw, const double x[3], tgError *error);
tgStatus tgi_raw_face(tgRawMesh *raw, int a, int b, int c, tgError *error);
/// Triangulates a polygon of n >= 3 vertex numbers: a fan when convex, else by ear clipping (n <= 10000, TG_ERR_LIMIT).
tgStatus tgi_raw_polygon(tgRawMesh *raw, const int *loop, int n, tgError *error);
/// Applies the scale (turning faces over when it mirrors), merges vertices that are equal bit by bit (-0 as 0), drops
/// faces without area (two equal corners, or corners on a line to 1e-12) and vertices that no face has. TG_ERR_INVALID:
/// no face is left, or a coordinate exceeds TGI_MESH_LARGEST.
tgStatus tgi_raw_tidy(tgRawMesh *raw, const double scale[3], tgError *error);

/// Wavefront OBJ: v and f; texture, normals, groups, materials, points and lines are passed over. Errors have the line.
tgStatus tgi_obj_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error);
/// STL, binary when the length is 84 + 50 times the count at byte 80, else ASCII.
tgStatus tgi_stl_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error);
/// COLLADA, where assimp is built in (else TG_ERR_UNSUPPORTED): all nodes in their places, in metres, in the axes of the file.
tgStatus tgi_dae_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error);
/// MuJoCo's MSH.
tgStatus tgi_msh_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error);
/// The length fits the count of a binary STL.
bool tgi_stl_is_binary(const char *data, size_t size);
/// Any of the formats, by content; MSH, which has no mark, by its name. name serves else only to tell a truncated
/// binary STL from noise.
tgStatus tgi_mesh_parse(const char *name, const char *data, size_t size, tgRawMesh *raw, tgError *error);

/// "line N: ..." with status and error->line.
tgStatus tgi_line_error(tgError *error, tgStatus status, int line, const char *format, ...) TG_PRINTF(4, 5);
/// x at a line, judged: finite, not larger than TGI_MESH_LARGEST.
tgStatus tgi_check_coordinate(double x, int line, tgError *error);

#endif
