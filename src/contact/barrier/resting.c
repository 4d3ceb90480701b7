// resting.c: see resting.h.
#include "contact/barrier/resting.h"

#include <string.h>

#include "base/memory.h"
#include "coll/contacts.h"
#include "contact/barrier/tree/local_sum.h"

// a geom's largest flat side in its frame: a point in its middle and the normal outwards
typedef struct Side { tgReal at[3], n[3]; } Side;

static double cross_of(const tgReal *vert, const int *face, tgReal n[3]) {
  tgReal a[3], b[3];
  tgi_v3_sub(a, vert + 3 * (size_t)face[1], vert + 3 * (size_t)face[0]);
  tgi_v3_sub(b, vert + 3 * (size_t)face[2], vert + 3 * (size_t)face[0]);
  tgi_v3_cross(n, a, b);
  return tgRe(tgi_v3_norm(n));
}

// The faces in one plane with the largest; one: that alone, for between faces what is round is felt a little more.
static Side side_of_faces(const tgiSurface *s, const tgReal *vert, bool one) {
  const double flat = 1e-6;
  Side side = {.at = {0, 0, 0}};
  int largest = 0;
  double most = 0, area = 0;
  tgReal n[3], d[3];
  for (int f = 0; f < s->nface; f++) {
    double twice = cross_of(vert, s->face + 3 * (size_t)f, n);
    if (!(twice > (1 + flat) * most)) continue;
    most = twice;
    largest = f;
  }
  cross_of(vert, s->face + 3 * (size_t)largest, n);
  tgi_v3_unit(side.n, n);
  const tgReal *corner = vert + 3 * (size_t)s->face[3 * (size_t)largest];
  for (int f = 0; f < s->nface; f++) {
    const int *v = s->face + 3 * (size_t)f;
    double twice = cross_of(vert, v, n);
    tgi_v3_sub(d, vert + 3 * (size_t)v[0], corner);
    if (one && f != largest) continue;
    if (tgRe(tgi_v3_dot(n, side.n)) < (1 - flat) * twice || fabs(tgRe(tgi_v3_dot(d, side.n))) > flat * sqrt(most)) continue;
    area += twice;
    for (int k = 0; k < 3; k++) tgi_v3_axpy(side.at, twice / 3, vert + 3 * (size_t)v[k]);
  }
  tgi_v3_scale(side.at, side.at, 1 / area);
  return side;
}

// an ellipsoid lies on the end of its least axis
static Side side_of_oval(const tgReal *vert) {
  Side side = {.at = {0, 0, 0}, .n = {0, 0, 0}};
  int least = 0;
  for (int i = 1; i < 3; i++)
    if (tgRe(vert[3 * (i + 1) + i]) < tgRe(vert[3 * (least + 1) + least])) least = i;
  side.at[least] = vert[3 * (least + 1) + least];
  side.n[least] = 1;
  return side;
}

// of a core: where it is as it lies, its axis along z
static Side side_of(const tgiSurface *s, const tgiTreeNumbers *n, bool one) {
  if (!s->core) {
    Side side = side_of_faces(s, n->vert, one);
    tgi_v3_axpy(side.at, *n->round, side.n);
    return side;
  }
  if (s->oval) return side_of_oval(n->vert);
  return (Side){.at = {*n->round, 0, 0}, .n = {1, 0, 0}};
}

// R turns the side's normal to the sign of z
static void facing(const Side *side, double sign, tgReal R[9]) {
  tgReal t[2][3];
  int axis = 0;
  for (int i = 1; i < 3; i++)
    if (fabs(tgRe(side->n[i])) < fabs(tgRe(side->n[axis]))) axis = i;
  tgi_tangents(side->n, axis, t[0], t[1]);
  for (int i = 0; i < 3; i++) {
    R[i] = t[0][i];
    R[3 + i] = sign * t[1][i];
    R[6 + i] = sign * side->n[i];
  }
}

typedef struct Posed { tgiWorldTree world; tgReal *memory; } Posed;

// the geom with its side at the height z, looking up or down at the geom `other`
static bool pose(const tgModel *m, const tgiBarrier *k, int g, int other, double sign, double z, Posed *p) {
  bool plane = m->geom_type[other] == TG_GEOM_PLANE;
  const tgiSurface *surface = k->shapes.surface[g];
  const tgiTree *tree = k->shapes.tree[g];
  size_t reals = tgi_tree_reals(surface, tree), world = tgi_world_tree_reals(surface, tree);
  tgReal R[9], x[3], turned[3];
  p->memory = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(2 * reals + world, sizeof(tgReal)));
  if (p->memory == NULL) return false;
  tgiTreeNumbers own = tgi_tree_place(surface, tree, p->memory), n = own;
  tgi_tree_numbers_at(surface, tree, k->form, TGI_CLIMB_DEFAULT, tgi_surface_size(m, g), 0, k->options.rounding, &own);
  if (plane && k->form == TGI_TREE_MOMENT) {
    n = tgi_tree_place(surface, tree, p->memory + reals);
    tgi_plane_numbers(tree, &own, &n);
  }
  Side side = side_of(surface, &own, !plane && k->shapes.surface[other]->core);
  facing(&side, sign, R);
  tgi_m3_mulv(turned, R, side.at);
  tgi_v3_set(x, 0, 0, z);
  tgi_v3_sub(x, x, turned);
  p->world = (tgiWorldTree){.nominal = k->nominal[g], .owned = k->owned[g]};
  tgi_world_tree_place(surface, tree, p->memory + 2 * reals, &p->world);
  tgi_world_tree_numbers(&n, &p->world);
  tgi_world_tree_transform(&n, x, R, &p->world);
  return true;
}

// the slope of the sum in A's height
static bool sum_of(const tgiBarrier *k, const tgiGeomPair *g, const tgiWorldTree *A, const tgiWorldTree *B, void *memory, tgiPairSum *sum) {
  const tgReal up[3] = {0, 0, 1};
  int touching[2];
  if (g->law.local > 0) return tgi_local_sum(A, B, up, A->origin[2], &g->law, sum, touching, NULL, NULL);
  if (B != NULL) return tgi_tree_pair(A, B, &g->law, tgi_tree_work_place(memory, k->depth), sum, touching, NULL, NULL);
  tgiHalfSpace t = {.A = A, .n = up, .height = A->origin[2], .law = &g->law, .work = tgi_height_work_place(memory, k->faces)};
  return tgi_half_space(&t, sum, touching, NULL, NULL);
}

tgStatus tgi_resting_force(const tgModel *m, const tgiBarrier *k, const tgiGeomPair *g, double gap, double *force) {
  Posed A = {.memory = NULL}, B = {.memory = NULL};
  tgiPairSum sum;
  size_t tree = tgi_tree_work_bytes(k->depth), height = tgi_height_work_bytes(k->faces);
  void *memory = k->alloc.alloc(k->alloc.ctx, tree > height ? tree : height);
  bool room = memory != NULL && pose(m, k, g->A, g->B, -1, gap, &A) && (g->plane || pose(m, k, g->B, g->A, 1, 0, &B));
  *force = 0;
  if (room && sum_of(k, g, &A.world, g->plane ? NULL : &B.world, memory, &sum)) *force = fmax(0, -tgRe(sum.g[5]));
  k->alloc.free(k->alloc.ctx, memory);
  k->alloc.free(k->alloc.ctx, A.memory);
  k->alloc.free(k->alloc.ctx, B.memory);
  return room ? TG_OK : TG_ERR_MEMORY;
}
