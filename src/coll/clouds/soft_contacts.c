// soft_contacts.c: see soft_contacts.h.
#include "coll/clouds/soft_contacts.h"

#include <string.h>

#include "base/memory.h"
#include "coll/clouds/cloud_geom.h"
#include "coll/surfaces/surface.h"

#define FINENESS 6.0   // points along a bounding radius
#define SHARP 20.0     // spacings to eps2

static tgStatus make_cloud(const tgModel *m, int g, double spacing, const tgAllocator *a, tgCloud *cloud, tgError *error) {
  bool plane = m->geom_type[g] == TG_GEOM_PLANE;
  if (!(spacing > 0)) spacing = plane ? 1 : tgRe(m->geom_rbound[g]) / FINENESS;
  tgStatus status = tgi_cloud_of_geom(m, g, spacing, a, cloud, error);
  return status >= 0 ? TG_OK : status;   // a status above 0 is a cloud all the same
}

// points, normals and vertices of two geoms, and the work of their pair
static size_t scratch_of(const tgCloud *a, const tgCloud *b) {
  size_t reals = 6 * ((size_t)a->n + (size_t)b->n) + 3 * ((size_t)a->nvert + (size_t)b->nvert);
  return reals * sizeof(tgReal) + tgi_soft_points_work(a, b) + 512;
}

tgStatus tgi_soft_clouds_make(const tgModel *m, double spacing, double eps1, double eps2, const tgAllocator *allocator,
                              tgiSoftClouds **clouds, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  tgiSoftClouds *k = a.alloc(a.ctx, sizeof *k);
  size_t bytes = tgi_size_mul((size_t)m->ngeom + 1, sizeof *k->cloud);
  tgStatus status = TG_OK;
  *clouds = NULL;
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for soft contact points.");
  *k = (tgiSoftClouds){.alloc = a, .ngeom = m->ngeom, .eps1 = eps1, .eps2 = eps2, .cloud = a.alloc(a.ctx, bytes)};
  if (k->cloud == NULL) status = tgi_error(error, TG_ERR_MEMORY, "Out of memory for the clouds of %d geoms.", m->ngeom);
  else memset(k->cloud, 0, bytes);
  for (int p = 0; p < m->npair && status == TG_OK; p++) {
    int g[2] = {m->pair_geom1[p], m->pair_geom2[p]};
    for (int i = 0; i < 2 && status == TG_OK; i++)
      if (k->cloud[g[i]].n == 0) status = make_cloud(m, g[i], spacing, &a, &k->cloud[g[i]], error);
    size_t need = status == TG_OK ? scratch_of(&k->cloud[g[0]], &k->cloud[g[1]]) : 0;
    if (need > k->scratch) k->scratch = need;
  }
  if (status != TG_OK) tgi_soft_clouds_free(k);
  else *clouds = k;
  return status;
}

void tgi_soft_clouds_free(tgiSoftClouds *clouds) {
  if (clouds == NULL) return;
  tgAllocator a = clouds->alloc;
  for (int g = 0; clouds->cloud != NULL && g < clouds->ngeom; g++)
    if (clouds->cloud[g].n > 0) tgi_cloud_free(&clouds->cloud[g]);
  a.free(a.ctx, clouds->cloud);
  a.free(a.ctx, clouds);
}

// the cloud at the sizes and the place that the geom has in s
static bool place(tgSim *s, const tgPose *pose, int g, tgiSoftCloud *out) {
  const tgiSoftClouds *k = s->contact_model->soft;
  const tgCloud *c = &k->cloud[g];
  tgReal *p = tgi_stack_real(s, 3 * (size_t)c->n), *normal = tgi_stack_real(s, 3 * (size_t)c->n),
         *vert = tgi_stack_real(s, 3 * (size_t)c->nvert + 1);
  if (p == NULL || normal == NULL || vert == NULL) return false;
  tgi_cloud_place(c, tgi_surface_size(&s->m, g), p, normal, vert);
  *out = (tgiSoftCloud){c, p, normal, vert, pose->geom_xpos + 3 * g, pose->geom_xmat + 9 * g,
                        k->eps1 > 0 ? k->eps1 : c->spacing * c->spacing};
  return true;
}

int tgi_soft_collide(tgSim *s, const tgPose *pose, int pair, double margin, bool d, tgContactPoint out[TG_PAIR_POINTS], double *distance) {
  const tgModel *m = &s->m;
  const tgiSoftClouds *k = s->contact_model->soft;
  int g1 = m->pair_geom1[pair], g2 = m->pair_geom2[pair], count = TG_ERR_CAPACITY;
  size_t mark = tgi_stack_mark(s);
  tgiSoftCloud A, B;
  bool placed = place(s, pose, g1, &A) && place(s, pose, g2, &B);
  void *work = placed ? tgi_stack_bytes(s, tgi_soft_points_work(A.cloud, B.cloud)) : NULL;
  if (work != NULL) {
    double spacing = A.cloud->flat ? B.cloud->spacing : B.cloud->flat ? A.cloud->spacing : fmin(A.cloud->spacing, B.cloud->spacing);
    count = tgi_soft_points(&A, &B, k->eps2 > 0 ? k->eps2 : spacing / SHARP, margin, d, work, out);
  }
  tgi_stack_free(s, mark);
  if (count < 0) {
    char a[96], b[96];
    return tgi_error(&s->error, (tgStatus)count, "No soft contact points of %s and %s: %s.",
                     tgi_model_label(m, TG_THING_GEOM, g1, a, sizeof a),
                     tgi_model_label(m, TG_THING_GEOM, g2, b, sizeof b),
                     count == TG_ERR_CAPACITY ? "the scratch is too small; reserve more and repeat the step"
                     : count == TG_ERR_LIMIT  ? "the choice among vertices was not reached"
                                              : "one has fewer than five vertices");
  }
  *distance = margin;
  for (int i = 0; i < count; i++) *distance = fmin(*distance, tgRe(out[i].gap));
  return count;
}
