// cloud.c: see cloud.h. Memory, and points for sizes with their adjoint.
#include "geom/cloud.h"

#include <string.h>

#include "base/layout.h"
#include "geom/cloud_make.h"
#include "math/vec3.h"

#define WIDEST 1e60  // spacing, and its inverse: squares of areas stay doubles

// which sizes scale the axes of a part, and how often the half length shifts it along z
typedef struct Part {
  int axis[3];
  double shift;
} Part;

static const Part parts[] = {
    [TGI_PART_BODY] = {{0, 1, 2}, 0},  // box, ellipsoid, mesh
    [TGI_PART_BALL] = {{0, 0, 0}, 0},  // sphere
    [TGI_PART_TUBE] = {{0, 0, 1}, 0},  // cylinder, side of a capsule
    [TGI_PART_LOW] = {{0, 0, 0}, -1},  // lower and upper cap of a capsule
    [TGI_PART_HIGH] = {{0, 0, 0}, 1},
};

// ---- memory ----

static size_t layout(tgCloud *c, char *base, int ncorner) {
  tgLayout l = {.base = base};
  size_t n = (size_t)c->n, nvert = (size_t)c->nvert;
  c->p = tgi_place(&l, 3 * n, sizeof *c->p);
  c->normal = tgi_place(&l, 3 * n, sizeof *c->normal);
  c->area = tgi_place(&l, n, sizeof *c->area);
  c->vert = tgi_place(&l, 3 * nvert, sizeof *c->vert);
  c->corner_at = tgi_place(&l, n + 1, sizeof *c->corner_at);
  c->corner = tgi_place(&l, (size_t)ncorner, sizeof *c->corner);
  c->unit = tgi_place(&l, 3 * n, sizeof *c->unit);
  c->extent = tgi_place(&l, 3 * n, sizeof *c->extent);
  c->vert_unit = tgi_place(&l, 3 * nvert, sizeof *c->vert_unit);
  c->part = tgi_place(&l, n, sizeof *c->part);
  c->vert_part = tgi_place(&l, nvert, sizeof *c->vert_part);
  return l.used;
}

tgStatus tgi_cloud_room(tgGeomType type, double spacing, int n, int nvert, int ncorner, const tgAllocator *allocator, tgCloud *cloud) {
  *cloud = (tgCloud){.type = type, .n = n, .nvert = nvert, .spacing = spacing, .alloc = tgi_allocator(allocator)};
  size_t bytes = layout(cloud, NULL, ncorner);
  cloud->block = cloud->alloc.alloc(cloud->alloc.ctx, bytes);
  if (cloud->block == NULL) return TG_ERR_MEMORY;
  memset(cloud->block, 0, bytes);
  layout(cloud, cloud->block, ncorner);
  return TG_OK;
}

void tgi_cloud_free(tgCloud *cloud) {
  if (cloud == NULL || cloud->block == NULL) return;
  cloud->alloc.free(cloud->alloc.ctx, cloud->block);
  *cloud = (tgCloud){0};
}

tgStatus tgi_cloud_spacing(double spacing, tgError *error) {
  if (spacing >= 1 / WIDEST && spacing <= WIDEST) return TG_OK;
  return tgi_error(error, TG_ERR_ARG, "spacing of its points is %g m, not between %g and %g", spacing, 1 / WIDEST, WIDEST);
}

tgStatus tgi_cloud_fits(double points, double spacing, tgError *error) {
  if (points <= TGI_CLOUD_MOST) return TG_OK;
  return tgi_error(error, TG_ERR_LIMIT, "it would have %.3g points %g m apart, more than %d; choose a wider spacing", points, spacing,
                   TGI_CLOUD_MOST);
}

// ---- points for sizes ----

static int nsizes(tgGeomType type) {
  return type == TG_GEOM_PLANE ? 0 : type == TG_GEOM_SPHERE ? 1 : type == TG_GEOM_CAPSULE || type == TG_GEOM_CYLINDER ? 2 : 3;
}

// x = S u + shift size_1 e_z
static void place(const Part *part, const tgReal size[3], const double *u, tgReal *x) {
  for (int i = 0; i < 3; i++) x[i] = size[part->axis[i]] * u[i];
  if (part->shift != 0) x[2] += part->shift * size[1];
}

static void place_vjp(const Part *part, const double *u, const tgReal *x_bar, tgReal size_bar[3]) {
  for (int i = 0; i < 3; i++) size_bar[part->axis[i]] += u[i] * x_bar[i];
  if (part->shift != 0) size_bar[1] += part->shift * x_bar[2];
}

// N = cof(S) a, turned outward where S mirrors
static void extent_at(const Part *part, const tgReal size[3], const double *a, tgReal *N) {
  tgReal s[3] = {size[part->axis[0]], size[part->axis[1]], size[part->axis[2]]};
  double sign = tgRe(s[0]) * tgRe(s[1]) * tgRe(s[2]) < 0 ? -1 : 1;
  for (int i = 0; i < 3; i++) N[i] = sign * a[i] * s[(i + 1) % 3] * s[(i + 2) % 3];
}

// the direction of N = cof(S) a is that of S^-1 a:  dn = (I - n n') dN/|N|,  dN_i/ds_j = N_i/s_j for j != i
static void normal_vjp(const Part *part, const tgReal size[3], const double *a, const tgReal *n_bar, tgReal size_bar[3]) {
  tgReal N[3], n[3], along;
  extent_at(part, size, a, N);
  tgReal length = tgi_v3_unit(n, N);
  along = tgi_v3_dot(n, n_bar);
  for (int i = 0; i < 3; i++) {
    tgReal N_bar = (n_bar[i] - along * n[i]) / length;
    for (int j = 0; j < 3; j++)
      if (j != i) size_bar[part->axis[j]] += N_bar * N[i] / size[part->axis[j]];
  }
}

void tgi_cloud_place(const tgCloud *c, const tgReal size[3], tgReal *p, tgReal *normal, tgReal *vert) {
  if (c->flat) {
    if (p != NULL) tgi_v3_zero(p);
    if (normal != NULL) tgi_v3_set(normal, 0, 0, 1);
    return;
  }
  for (int i = 0; i < c->n; i++) {
    const Part *part = &parts[c->part[i]];
    if (p != NULL) place(part, size, c->unit + 3 * i, p + 3 * i);
    if (normal == NULL) continue;
    tgReal N[3];
    extent_at(part, size, c->extent + 3 * i, N);
    tgi_v3_unit(normal + 3 * i, N);
  }
  for (int i = 0; i < c->nvert && vert != NULL; i++) place(&parts[c->vert_part[i]], size, c->vert_unit + 3 * i, vert + 3 * i);
}

void tgi_cloud_place_vjp(const tgCloud *c, const tgReal size[3], const tgReal *p_bar, const tgReal *normal_bar, const tgReal *vert_bar,
                         tgReal size_bar[3]) {
  if (c->flat) return;
  for (int i = 0; i < c->n; i++) {
    const Part *part = &parts[c->part[i]];
    if (p_bar != NULL) place_vjp(part, c->unit + 3 * i, p_bar + 3 * i, size_bar);
    if (normal_bar != NULL) normal_vjp(part, size, c->extent + 3 * i, normal_bar + 3 * i, size_bar);
  }
  for (int i = 0; i < c->nvert && vert_bar != NULL; i++)
    place_vjp(&parts[c->vert_part[i]], c->vert_unit + 3 * i, vert_bar + 3 * i, size_bar);
}

tgStatus tgi_cloud_resize(tgCloud *c, const tgReal size[3]) {
  for (int j = 0; j < nsizes(c->type); j++)
    if (!tgFinite(size[j]) || tgRe(size[j]) == 0 || (tgRe(size[j]) < 0 && c->type != TG_GEOM_MESH)) return TG_ERR_ARG;
  for (int j = 0; j < nsizes(c->type); j++) c->size[j] = size[j];
  tgi_cloud_place(c, size, c->p, c->normal, c->vert);
  for (int i = 0; i < c->n && !c->flat; i++) {
    tgReal N[3];
    extent_at(&parts[c->part[i]], size, c->extent + 3 * i, N);
    c->area[i] = tgRe(tgi_v3_norm(N));
  }
  return TG_OK;
}

// ---- primitives ----

static tgStatus plane(double spacing, const tgAllocator *allocator, tgCloud *cloud) {
  TG_TRY(tgi_cloud_room(TG_GEOM_PLANE, spacing, 1, 0, 0, allocator, cloud));
  cloud->flat = true;
  cloud->area[0] = INFINITY;
  return TG_OK;
}

tgStatus tgi_cloud_primitive(tgGeomType type, const double size[3], double spacing, const tgAllocator *allocator,
                             tgCloud *cloud, tgError *error) {
  *cloud = (tgCloud){0};
  if (type == TG_GEOM_MESH) return tgi_error(error, TG_ERR_ARG, "it is a mesh, not a primitive");
  TG_TRY(tgi_cloud_spacing(spacing, error));
  tgReal sizes[3] = {0};
  for (int j = 0; j < nsizes(type); j++) {
    if (!(size[j] > 0 && isfinite(size[j]))) return tgi_error(error, TG_ERR_ARG, "its size %d is %g, not positive and finite", j, size[j]);
    sizes[j] = size[j];
  }
  tgStatus st = type == TG_GEOM_PLANE ? plane(spacing, allocator, cloud)
                : type == TG_GEOM_BOX ? tgi_cloud_box(size, spacing, allocator, cloud, error)
                                      : tgi_cloud_round(type, size, spacing, allocator, cloud, error);
  if (st == TG_ERR_MEMORY) tgi_error(error, st, "out of memory for its points");
  return st < 0 ? st : tgi_cloud_resize(cloud, sizes);
}
