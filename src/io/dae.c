// dae.c: COLLADA meshes through assimp: the one file that knows it (see docs/decisions/0006).
//
// Importers of large formats are where vulnerabilities are, so assimp runs in a child that can open no file; what it sends
// back is checked like a file. Every node's transformation is applied, and the unit of the document; its up_axis is not: URDFs
// are drawn in the axes of the file by the tools that they are made with.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/status.h"
#include "io/mesh_raw.h"

#ifndef TG_ASSIMP

tgStatus tgi_dae_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  (void)data, (void)size, (void)raw;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "an XML format (COLLADA?), and this build has no assimp to read it: install libassimp-dev and build again "
                   "(-DTG_WITH_ASSIMP=ON insists on it), or convert it to OBJ or STL");
}

#else

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

enum { UNREADABLE = TGI_CHILD_OWN, TOO_LARGE, DEEPEST = 256, CPU_SECONDS = 120 };
typedef struct Document { const char *data; size_t size; } Document;
/// What a child sends: this, vertices (3 doubles each), triangles (3 ints each).
typedef struct Head { uint64_t nvert, nface; } Head;

// ---- in the child ----

static struct aiMatrix4x4 times(struct aiMatrix4x4 a, const struct aiMatrix4x4 *b) {
  aiMultiplyMatrix4(&a, b);
  return a;
}

static int write_mesh(FILE *to, const struct aiMesh *mesh, const struct aiMatrix4x4 *place) {
  for (unsigned i = 0; i < mesh->mNumVertices; i++) {
    struct aiVector3D v = mesh->mVertices[i];
    aiTransformVecByMatrix4(&v, place);
    double x[3] = {(double)v.x, (double)v.y, (double)v.z};
    if (fwrite(x, sizeof x, 1, to) != 1) return TGI_CHILD_BROKEN;
  }
  return 0;
}

// in document order, each use of a mesh placed anew; with `to` NULL only counted
typedef struct Walk { const struct aiScene *scene; FILE *to; Head count; bool faces; } Walk;

static int walk(Walk *w, const struct aiNode *node, struct aiMatrix4x4 above, int depth) {
  struct aiMatrix4x4 place = times(above, &node->mTransformation);
  if (depth > DEEPEST) return TOO_LARGE;
  for (unsigned i = 0; i < node->mNumMeshes; i++) {
    const struct aiMesh *mesh = w->scene->mMeshes[node->mMeshes[i]];
    uint64_t base = w->count.nvert;
    int code = 0;
    if (w->to != NULL && !w->faces) code = write_mesh(w->to, mesh, &place);
    w->count.nvert += mesh->mNumVertices;
    for (unsigned f = 0; code == 0 && f < mesh->mNumFaces; f++) {
      if (mesh->mFaces[f].mNumIndices != 3) continue;             // points and lines
      const unsigned *k = mesh->mFaces[f].mIndices;
      int corner[3] = {(int)(base + k[0]), (int)(base + k[1]), (int)(base + k[2])};
      if (w->to != NULL && w->faces && fwrite(corner, sizeof corner, 1, w->to) != 1) code = TGI_CHILD_BROKEN;
      w->count.nface++;
    }
    if (code != 0) return code;
    if (w->count.nvert > INT32_MAX / 4 || w->count.nface > INT32_MAX / 4) return TOO_LARGE;
  }
  for (unsigned i = 0; i < node->mNumChildren; i++) {
    int code = walk(w, node->mChildren[i], place, depth + 1);
    if (code != 0) return code;
  }
  return 0;
}

static int import(const void *ctx, int fd) {
  const Document *d = ctx;
  struct aiMatrix4x4 identity;
  aiIdentityMatrix4(&identity);
  struct aiPropertyStore *set = aiCreatePropertyStore();
  aiSetImportPropertyInteger(set, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
  aiSetImportPropertyInteger(set, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);   // else nodes without meshes get shapes made up
  const struct aiScene *scene = aiImportFileFromMemoryWithProperties(d->data, (unsigned)d->size, aiProcess_Triangulate, "dae", set);
  if (scene == NULL || scene->mRootNode == NULL) return UNREADABLE;
  FILE *to = fdopen(fd, "wb");
  if (to == NULL) return TGI_CHILD_BROKEN;
  Walk w = {.scene = scene};
  int code = walk(&w, scene->mRootNode, identity, 0);
  if (code == 0 && fwrite(&w.count, sizeof w.count, 1, to) != 1) code = TGI_CHILD_BROKEN;
  for (int faces = 0; code == 0 && faces < 2; faces++) {
    w = (Walk){.scene = scene, .to = to, .faces = faces == 1};
    code = walk(&w, scene->mRootNode, identity, 0);
  }
  return code == 0 && fflush(to) != 0 ? TGI_CHILD_BROKEN : code;
}

// ---- in the parent ----

static tgStatus take(const char *bytes, size_t size, tgRawMesh *raw, tgError *error) {
  Head h;
  if (size < sizeof h) return tgi_error(error, TG_ERR_PARSE, "assimp sends %zu bytes", size);
  memcpy(&h, bytes, sizeof h);
  if (h.nvert > INT32_MAX / 4 || h.nface > INT32_MAX / 4 || size != sizeof h + 24 * (size_t)h.nvert + 12 * (size_t)h.nface)
    return tgi_error(error, TG_ERR_PARSE, "assimp sends %zu bytes for %llu vertices and %llu triangles", size, (unsigned long long)h.nvert,
                     (unsigned long long)h.nface);
  if (h.nface == 0) return tgi_error(error, TG_ERR_INVALID, "it has no faces");
  TG_TRY(tgi_raw_reserve(raw, (size_t)h.nvert, (size_t)h.nface, error));
  const char *at = bytes + sizeof h;
  for (uint64_t i = 0; i < h.nvert; i++, at += 24) {
    double x[3];
    memcpy(x, at, sizeof x);
    for (int k = 0; k < 3; k++)
      if (!(fabs(x[k]) <= TGI_MESH_LARGEST))
        return tgi_error(error, isfinite(x[k]) ? TG_ERR_INVALID : TG_ERR_NOT_FINITE,
                         "vertex %llu: coordinate %g is not finite or larger than %g", (unsigned long long)i, x[k],
                         TGI_MESH_LARGEST);
    TG_TRY(tgi_raw_vert(raw, x, error));
  }
  for (uint64_t i = 0; i < h.nface; i++, at += 12) {
    int f[3];
    memcpy(f, at, sizeof f);
    for (int k = 0; k < 3; k++)
      if (f[k] < 0 || (uint64_t)f[k] >= h.nvert)
        return tgi_error(error, TG_ERR_PARSE, "face %llu has vertex %d of %llu", (unsigned long long)i, f[k], (unsigned long long)h.nvert);
    TG_TRY(tgi_raw_face(raw, f[0], f[1], f[2], error));
  }
  return TG_OK;
}

tgStatus tgi_dae_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  Document d = {data, size};
  char *bytes;
  size_t n;
  int code;
  if (size > UINT32_MAX) return tgi_error(error, TG_ERR_LIMIT, "the file has %zu bytes; assimp reads up to 4 GiB", size);
  tgStatus status = tgi_child_run(import, &d, CPU_SECONDS, true, &raw->alloc, &bytes, &n, &code, error);
  if (status == TG_OK && code == UNREADABLE)
    status = tgi_error(error, TG_ERR_PARSE, "it is no COLLADA document that assimp can read; convert it to OBJ or STL");
  else if (status == TG_OK && code == TOO_LARGE)
    status = tgi_error(error, TG_ERR_LIMIT, "its nodes are deeper than %d or its triangles too many", DEEPEST);
  else if (status == TG_OK && code != 0)
    status = tgi_error(error, TG_ERR_PARSE, "assimp fails on it (%s %d)", code < 0 ? "signal" : "code", code < 0 ? -code : code);
  if (status == TG_OK) status = take(bytes, n, raw, error);
  raw->alloc.free(raw->alloc.ctx, bytes);
  return status;
}

#endif
