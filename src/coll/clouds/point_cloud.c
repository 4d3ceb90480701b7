// point_cloud.c: point clouds and soft signed distances for whoever looks at surfaces by themselves. See tangere/geometry.h.
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "coll/clouds/ssdf.h"
#include "geom/cloud_quality.h"
#include "tangere/geometry.h"

struct tgPointCloud { tgCloud cloud; };

// the cloud that was made into it, or nothing
static tgPointCloud *keep(tgPointCloud *made, tgStatus status) {
  if (status >= 0) return made;
  free(made);
  return NULL;
}

static tgPointCloud *room(tgError *error) {
  tgPointCloud *made = malloc(sizeof *made);
  if (made == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for a point cloud");
  return made;
}

tgPointCloud *tg_point_cloud_primitive(tgGeomType type, const double size[3], double spacing, tgError *error) {
  if (size == NULL || type == TG_GEOM_MESH) return tgi_error(error, TG_ERR_ARG, "a point cloud of a primitive needs its sizes"), NULL;
  tgPointCloud *made = room(error);
  return made != NULL ? keep(made, tgi_cloud_primitive(type, size, spacing, NULL, &made->cloud, error)) : NULL;
}

tgPointCloud *tg_point_cloud_mesh(const double *vert, int nvert, const int *face, int nface, double spacing, tgError *error) {
  static const double as_it_is[3] = {1, 1, 1};
  if (vert == NULL || face == NULL) return tgi_error(error, TG_ERR_ARG, "a point cloud of a mesh needs vertices and faces"), NULL;
  tgPointCloud *made = room(error);
  return made != NULL ? keep(made, tgi_cloud_mesh(vert, nvert, face, nface, as_it_is, spacing, false, NULL, &made->cloud, error)) : NULL;
}

void tg_point_cloud_free(tgPointCloud *cloud) {
  if (cloud == NULL) return;
  tgi_cloud_free(&cloud->cloud);
  free(cloud);
}

tgPoints tg_point_cloud_points(const tgPointCloud *cloud) {
  if (cloud == NULL) return (tgPoints){0};
  const tgCloud *c = &cloud->cloud;
  return (tgPoints){.n = c->n, .position = c->p, .normal = c->normal, .area = c->area, .nvert = c->nvert,
                    .vert = c->vert, .corner_at = c->corner_at, .corner = c->corner};
}

tgStatus tg_point_cloud_quality(const tgPointCloud *cloud, tgCloudQuality *quality) {
  if (cloud == NULL || quality == NULL) return TG_ERR_ARG;
  return tgi_cloud_quality(&cloud->cloud, NULL, quality);
}

tgReal tg_soft_distance(int n, const tgReal *position, const tgReal *normal, tgReal eps, const tgReal x[3], tgReal *g, tgReal *H) {
  if (n < 1 || position == NULL || normal == NULL || x == NULL) return NAN;
  tgiSsdf field = {.n = n, .p = position, .normal = normal, .eps = eps};
  return tgi_ssdf(&field, x, g, H);
}
