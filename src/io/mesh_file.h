// mesh_file.h: mesh files into a description: OBJ, STL, MSH and, where assimp is built in, COLLADA, told apart by content.
#ifndef TG_IO_MESH_FILE_H
#define TG_IO_MESH_FILE_H

#include "io/file.h"

/// Reads a mesh below the file set's roots, scaled (a mirroring scale turns the faces over): its vertices, faces and the file
/// that it was found in, which belong to desc.
/// What was changed (faces without area dropped, bent or tangled polygons) is noted in desc. Errors: those of
/// tgi_file_open, with its text; TG_ERR_PARSE, TG_ERR_INVALID, TG_ERR_NOT_FINITE with "PATH: line N: ...";
/// TG_ERR_UNSUPPORTED for other formats and COLLADA without assimp ("convert it to OBJ or STL"); TG_ERR_LIMIT, TG_ERR_MEMORY.
tgStatus tgi_mesh_read(tgDesc *desc, tgFileSet *files, const char *path, const double scale[3], tgMeshDesc *mesh, tgError *error);
/// The same below root `root` only; -1: the first that has it.
tgStatus tgi_mesh_read_root(tgDesc *desc, tgFileSet *files, int root, const char *path, const double scale[3], tgMeshDesc *mesh,
                            tgError *error);
/// Warns of meshes whose size is more than 1000 times or less than 1/1000 of the median mesh's. TG_ERR_MEMORY.
tgStatus tgi_mesh_compare_sizes(tgDesc *desc, const tgAllocator *allocator, tgError *error);

#endif
