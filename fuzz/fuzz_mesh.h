// fuzz_mesh.h: what the targets of the mesh readers do with bytes.
#ifndef TG_FUZZ_MESH_H
#define TG_FUZZ_MESH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "geom/cloud.h"
#include "geom/hull.h"
#include "geom/mass.h"
#include "geom/mesh_check.h"
#include "geom/sphere_tree.h"
#include "io/mesh_raw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// indices in range, coordinates finite, no two vertices equal, every vertex used
static void tgt_check_raw(const tgRawMesh *raw) {
  if (raw->nface < 1 || raw->nvert < 3) abort();
  for (size_t i = 0; i < 3 * (size_t)raw->nface; i++)
    if (raw->face[i] < 0 || raw->face[i] >= raw->nvert) abort();
  for (size_t i = 0; i < 3 * (size_t)raw->nvert; i++)
    if (!(fabs(raw->vert[i]) <= TGI_MESH_LARGEST)) abort();
}

// surface and sphere tree: finite numbers, spheres that hold their leaves
static void tgt_use_surface(const tgRawMesh *raw) {
  static const double one[3] = {1, 1, 1};
  tgiSurface s;
  tgiTree t;
  tgError error = {0};
  tgStatus status = tgi_surface_mesh(raw->vert, raw->nvert, raw->face, raw->nface, NULL, &s, &error);
  if (status < 0 && strlen(error.text) == 0) abort();
  if (status < 0) return;
  if (s.nface + s.ndropped != raw->nface || tgi_surface_degenerate(raw->vert, raw->face, raw->nface, NULL) != s.ndropped) abort();
  if (tgi_tree_make(&s, one, NULL, &t) < 0) abort();
  double *memory = malloc(tgi_tree_reals(&s, &t) * sizeof *memory);
  tgiTreeNumbers n = tgi_tree_place(&s, &t, memory);
  for (int form = 0; form < 3; form++) {
    tgi_tree_numbers(&s, &t, form < 2 ? TGI_TREE_MOMENT : TGI_TREE_PAPER, form == 1 ? TGI_CLIMB_AREA : TGI_CLIMB_SUM, one, &n);
    for (size_t k = 0; k < tgi_tree_reals(&s, &t); k++)
      if (!isfinite(memory[k])) abort();
    for (int k = 0; k < t.nnode; k++)
      if (!(n.weight[k] > 0 && n.radius[k] > 0 && n.moment[k] >= 0 && n.area[k] > 0)) abort();
  }
  free(memory);
  tgi_tree_free(&t);
  tgi_surface_free(&s);
}

// cloud: refused with a reason, or points with unit normals and patches of at least three corners that cover the mesh
static void tgt_use_cloud(const tgRawMesh *raw, double diagonal) {
  static const double one[3] = {1, 1, 1};
  tgCloud c;
  tgError error = {0};
  double normals = 0;
  tgStatus status = tgi_cloud_mesh(raw->vert, raw->nvert, raw->face, raw->nface, one, diagonal / 8, true, NULL, &c, &error);
  if (status < 0 && strlen(error.text) == 0) abort();
  if (status < 0) return;
  for (int i = 0; i < c.n; i++) {
    const double *n = c.normal + 3 * i, *p = c.p + 3 * i;
    normals += n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    if (!(c.area[i] > 0) || c.corner_at[i + 1] - c.corner_at[i] < 3 || !isfinite(p[0] + p[1] + p[2])) abort();
  }
  for (int k = 0; k < c.corner_at[c.n]; k++)
    if (c.corner[k] < 0 || c.corner[k] >= c.nvert) abort();
  if (!(fabs(normals - c.n) < 1e-9 * c.n)) abort();
  tgi_cloud_free(&c);
}

static void tgt_use_mesh(tgRawMesh *raw) {
  tgMeshCheck check;
  tgHullOwned *hull;
  tgError error = {0};
  int nflip;
  if (tgi_mesh_check(raw->vert, raw->nvert, raw->face, raw->nface, NULL, &check) < 0) abort();
  for (int kind = TG_MASS_EXACT; kind <= TG_MASS_LEGACY; kind++) {
    tgMassProps mass;
    tgStatus status =
        tgi_mass_mesh(raw->vert, raw->nvert, raw->face, raw->nface, (tgMassKind)kind, NULL, &mass, &error);
    if (status == TG_OK && !(mass.volume > 0)) abort();
    if (status < 0 && strlen(error.text) == 0) abort();
  }
  tgStatus status = tgi_hull_from_points(raw->vert, raw->nvert, NULL, &hull, &error);
  if ((status == TG_OK) != (hull != NULL)) abort();
  if (status == TG_OK && !(tgi_hull_volume(&hull->hull) > 0)) abort();
  if (status == TG_ERR_INTERNAL) abort(); // qhull's answer failed our check
  tgi_hull_free(hull);
  tgt_use_surface(raw);
  tgt_use_cloud(raw, check.diagonal);
  if (tgi_mesh_orient(raw->vert, raw->nvert, raw->face, raw->nface, NULL, &nflip, &error) == TG_OK) {
    tgi_mesh_check(raw->vert, raw->nvert, raw->face, raw->nface, NULL, &check);
    if (check.nwinding > 0) abort();
  }
}

static inline void tgt_fuzz_mesh(tgStatus (*parse)(const char *, size_t, tgRawMesh *, tgError *), const uint8_t *data,
                                 size_t size) {
  static const double one[3] = {1, 1, 1}, mirror[3] = {-2, 1, 0.5};
  for (int k = 0; k < 2; k++) {
    tgRawMesh raw;
    tgError error = {0};
    tgi_raw_init(&raw, NULL);
    tgStatus status = parse((const char *)data, size, &raw, &error);
    if (status == TG_OK) status = tgi_raw_tidy(&raw, k == 0 ? one : mirror, &error);
    if (status == TG_OK) {
      tgt_check_raw(&raw);
      if (raw.nface < 2000) tgt_use_mesh(&raw);
    } else if (strlen(error.text) == 0) {
      abort();
    }
    tgi_raw_free(&raw);
  }
}

#endif
