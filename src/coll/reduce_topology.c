// reduce_topology.c: parts, holes and borders of a mesh. See reduce.h.
#include <stdlib.h>

#include "base/memory.h"
#include "coll/reduce.h"
#include "geom/tessellate.h"

// a face's use of the edge from vertex a to the higher b, turn 1: this way round
typedef struct Use { int a, b, turn; } Use;

static int by_edge(const void *x, const void *y) {
  const Use *p = x, *q = y;
  if (p->a != q->a) return p->a < q->a ? -1 : 1;
  if (p->b != q->b) return p->b < q->b ? -1 : 1;
  return p->turn - q->turn;
}

static int root(int *up, int i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

// the uses of edges, in order; of degenerate faces none. up: vertices of a part hang together, -1: in no face
static size_t list(const tgiFaces *m, const int *same, Use *use, int *up, int *nface) {
  size_t n = 0;
  *nface = 0;
  for (int v = 0; v < m->nvert; v++) up[v] = -1;
  for (int f = 0; f < m->nface; f++) {
    int c[3];
    for (int k = 0; k < 3; k++) c[k] = same[m->face[3 * (size_t)f + (size_t)k]];
    if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
    for (int k = 0; k < 3; k++)
      if (up[c[k]] < 0) up[c[k]] = c[k];
    for (int k = 0; k < 3; k++) {
      int i = c[k], j = c[(k + 1) % 3];
      use[n++] = i < j ? (Use){i, j, 1} : (Use){j, i, -1};
      up[root(up, i)] = root(up, j);
    }
    ++*nface;
  }
  qsort(use, n, sizeof *use, by_edge);
  return n;
}

static void count(const Use *use, size_t n, int *up, int nvert, int nface, tgiTopology *t) {
  int edges = 0, vertices = 0;
  for (size_t i = 0, k; i < n; i = k, edges++) {
    int turn = 0;
    for (k = i; k < n && use[k].a == use[i].a && use[k].b == use[i].b; k++) turn += use[k].turn;
    t->nopen += k - i == 1;
    t->nodd += k - i > 1 && turn != 0;
    t->npinched += k - i > 2;
  }
  for (int v = 0; v < nvert; v++) {
    vertices += up[v] >= 0;
    t->parts += up[v] == v;
  }
  int euler = vertices - edges + nface;
  t->holes = t->nopen + t->nodd + t->npinched > 0 ? -1 : t->parts - euler / 2;
}

tgStatus tgi_reduce_topology(const tgiFaces *m, const tgAllocator *allocator, tgiTopology *topology) {
  tgAllocator a = tgi_allocator(allocator);
  *topology = (tgiTopology){0};
  int nface, *same = a.alloc(a.ctx, tgi_size_mul((size_t)m->nvert, sizeof *same));
  int *up = a.alloc(a.ctx, tgi_size_mul((size_t)m->nvert, sizeof *up));
  Use *use = a.alloc(a.ctx, tgi_size_mul(3 * (size_t)m->nface, sizeof *use));
  bool good = same != NULL && up != NULL && use != NULL && tgi_mesh_weld(m->vert, m->nvert, m->face, m->nface, &a, same, NULL) == TG_OK;
  if (good) {
    size_t n = list(m, same, use, up, &nface);
    count(use, n, up, m->nvert, nface, topology);
  }
  a.free(a.ctx, use);
  a.free(a.ctx, up);
  a.free(a.ctx, same);
  return good ? TG_OK : TG_ERR_MEMORY;
}
