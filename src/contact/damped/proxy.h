// proxy.h: points of geoms that are always in contact with the fields of others.
//
// A proxy of a geom of size s lies at r, r_k = place_k s_(axis_k), and has the radius s_0 where the geom is round, else 0. Weights are
// shares of the geom's surface, of the sizes that the model has.
// Based on: [math/damped Proxies].
#ifndef TG_CONTACT_DAMPED_PROXY_H
#define TG_CONTACT_DAMPED_PROXY_H

#include "geom/tessellate.h"
#include "model/model.h"

/// place, n x 3, is NULL where the proxies are the vertices of the geom's convex hull, which are the simulation's own. missed, missed_edge:
/// depth to which a point of the geom's surface, of its edges, may be in a field whose gradient is 1 at most while no proxy is [m], of the
/// sizes that the model has; of those before planes, in a plane. Of what is curved both are the surface's.
typedef struct tgiProxies {
  int n, axis[3];
  bool round;
  double *place, *weight, missed, missed_edge;
} tgiProxies;

/// Those of geom g, spacing apart (0: by the geom); before planes: without those that no plane meets first. surface: of a mesh, whose
/// vertices are the proxies; NULL: its hull's are. The arrays are the allocator's. n is 0 where the type has none.
tgStatus tgi_proxies_make(const tgModel *m, int g, bool before_planes, double spacing, const tgiSurface *surface, const tgAllocator *a,
                          tgiProxies *out);
void tgi_proxies_free(const tgAllocator *a, tgiProxies *p);

#endif
