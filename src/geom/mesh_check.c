// mesh_check.c: see mesh_check.h.
#include "geom/mesh_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geom/mass.h"

// ---- extent ----

static double sub_norm(const double *a, const double *b, double d[3]) {
  for (int i = 0; i < 3; i++) d[i] = a[i] - b[i];
  return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static void cross(const double *a, const double *b, double r[3]) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

static double box_diagonal(const double *point, int npoint) {
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    double lo = npoint > 0 ? point[i] : 0, hi = lo;
    for (int k = 1; k < npoint; k++) {
      lo = fmin(lo, point[3 * (size_t)k + i]);
      hi = fmax(hi, point[3 * (size_t)k + i]);
    }
    sum += (hi - lo) * (hi - lo);
  }
  return sqrt(sum);
}

// the farthest point from the first, from the line through both, from the plane through the three
tgExtent tgi_points_extent(const double *point, int npoint, double *diagonal) {
  double size = box_diagonal(point, npoint), e[3] = {0}, n[3] = {0}, d[3], c[3], far = 0;
  if (diagonal != NULL) *diagonal = size;
  double least = TGI_FLAT * size;
  if (!(size > 0)) return TG_EXTENT_POINT;
  for (int k = 1; k < npoint; k++) {
    double r = sub_norm(point + 3 * (size_t)k, point, d);
    if (r > far) {
      far = r;
      for (int i = 0; i < 3; i++) e[i] = d[i] / r;
    }
  }
  far = 0;
  for (int k = 1; k < npoint; k++) {
    sub_norm(point + 3 * (size_t)k, point, d);
    cross(e, d, c);
    double r = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    if (r > far) {
      far = r;
      for (int i = 0; i < 3; i++) n[i] = c[i] / r;
    }
  }
  if (far <= least) return TG_EXTENT_LINE;
  far = 0;
  for (int k = 1; k < npoint; k++) {
    sub_norm(point + 3 * (size_t)k, point, d);
    far = fmax(far, fabs(n[0] * d[0] + n[1] * d[1] + n[2] * d[2]));
  }
  return far <= least ? TG_EXTENT_PLANE : TG_EXTENT_SOLID;
}

const char *tgi_extent_word(tgExtent extent) {
  static const char *const word[] = {"coincident", "collinear", "flat", "solid"};
  return word[extent];
}

// ---- edges ----

// one use of an edge by a face; a < b, forward: the face runs a -> b
typedef struct Use {
  int a, b, face;
  bool forward;
} Use;

static int compare_use(const void *x, const void *y) {
  const Use *p = x, *q = y;
  if (p->a != q->a) return p->a < q->a ? -1 : 1;
  if (p->b != q->b) return p->b < q->b ? -1 : 1;
  return p->face < q->face ? -1 : p->face > q->face;
}

// all 3 nface uses, sorted by edge. NULL: no memory.
static Use *edge_uses(const int *face, int nface, const tgAllocator *a) {
  Use *use = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nface + 1, sizeof *use));
  if (use == NULL) return NULL;
  for (int f = 0; f < nface; f++)
    for (int c = 0; c < 3; c++) {
      int i = face[3 * (size_t)f + c], j = face[3 * (size_t)f + (c + 1) % 3];
      use[3 * (size_t)f + c] = (Use){.a = i < j ? i : j, .b = i < j ? j : i, .face = f, .forward = i < j};
    }
  qsort(use, 3 * (size_t)nface, sizeof *use, compare_use);
  return use;
}

static size_t run_length(const Use *use, size_t i, size_t n) {
  size_t k = i + 1;
  while (k < n && use[k].a == use[i].a && use[k].b == use[i].b) k++;
  return k - i;
}

// ---- check ----

static int find_root(int *up, int i) {
  while (up[i] != i) {
    up[i] = up[up[i]];
    i = up[i];
  }
  return i;
}

// a vertex of the border joins the forest; each union of two pieces makes one less
static int touch(int *up, int v, int *npiece) {
  if (up[v] < 0) {
    up[v] = v;
    (*npiece)++;
  }
  return find_root(up, v);
}

static void note_open(tgMeshCheck *check, const Use *u, int *up) {
  if (check->nopen++ == 0) {
    check->open_edge[0] = u->a;
    check->open_edge[1] = u->b;
    check->open_face = u->face;
  }
  int a = touch(up, u->a, &check->nloop), b = touch(up, u->b, &check->nloop);
  if (a != b) check->nloop--;
  up[b] = a;
}

static void note_winding(tgMeshCheck *check, const Use *u) {
  if (check->nwinding++ > 0) return;
  check->winding_edge[0] = u->a;
  check->winding_edge[1] = u->b;
  check->winding_face[0] = u[0].face;
  check->winding_face[1] = u[1].face;
}

static void note_crowded(tgMeshCheck *check, const Use *u) {
  if (check->ncrowded++ > 0) return;
  check->crowded_edge[0] = u->a;
  check->crowded_edge[1] = u->b;
}

// an edge of 2k faces run k times each way bounds a solid (two boxes that touch along an edge)
static bool balanced(const Use *use, size_t n) {
  size_t forward = 0;
  for (size_t k = 0; k < n; k++) forward += use[k].forward;
  return 2 * forward == n;
}

tgStatus tgi_mesh_check(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator,
                        tgMeshCheck *check) {
  tgAllocator a = tgi_allocator(allocator);
  size_t n = 3 * (size_t)nface;
  *check = (tgMeshCheck){0};
  check->extent = tgi_points_extent(vert, nvert, &check->diagonal);
  Use *use = edge_uses(face, nface, &a);
  int *up = a.alloc(a.ctx, tgi_size_mul((size_t)nvert + 1, sizeof *up));
  if (use == NULL || up == NULL) {
    a.free(a.ctx, use);
    a.free(a.ctx, up);
    return TG_ERR_MEMORY;
  }
  for (int v = 0; v < nvert; v++) up[v] = -1;
  for (size_t i = 0, len; i < n; i += len) {
    len = run_length(use, i, n);
    if (len == 1)
      note_open(check, use + i, up);
    else if (len == 2 && use[i].forward == use[i + 1].forward)
      note_winding(check, use + i);
    else if (len > 2 && !balanced(use + i, len))
      note_crowded(check, use + i);
  }
  a.free(a.ctx, use);
  a.free(a.ctx, up);
  double d = check->diagonal;
  check->volume = tgi_mesh_volume(vert, nvert, face, nface);
  check->no_volume = !(fabs(check->volume) > 1e-12 * d * d * d);
  return TG_OK;
}

tgStatus tgi_mesh_check_solid(const tgMeshCheck *c, tgError *error) {
  if (c->extent != TG_EXTENT_SOLID)
    return tgi_error(
        error, TG_ERR_INVALID,
        "it is %s (within %g of the size of its bounding box) and has no solid inertia; use inertia=\"shell\" or "
        "give the body an inertial",
        tgi_extent_word(c->extent), TGI_FLAT);
  if (c->nopen > 0)
    return tgi_error(
        error, TG_ERR_INVALID,
        "it is not closed: %d open edges in %d pieces of border, the first between vertices %d and %d of face "
        "%d; close it, or use inertia=\"convex\" or \"shell\"",
        c->nopen, c->nloop, c->open_edge[0], c->open_edge[1], c->open_face);
  if (c->nwinding > 0)
    return tgi_error(
        error, TG_ERR_INVALID,
        "it is wound inconsistently at %d edges, the first between vertices %d and %d of faces %d and %d; turn "
        "the faces over in a mesh editor or load with repair",
        c->nwinding, c->winding_edge[0], c->winding_edge[1], c->winding_face[0], c->winding_face[1]);
  if (c->ncrowded > 0)
    return tgi_error(
        error, TG_ERR_INVALID,
        "it has %d edges of three or more faces that bound no solid, the first between vertices %d and %d; "
        "remove inner faces or use inertia=\"convex\"",
        c->ncrowded, c->crowded_edge[0], c->crowded_edge[1]);
  if (c->no_volume)
    return tgi_error(error, TG_ERR_INVALID,
                     "it encloses no volume (%g m^3 in a box of diagonal %g m); use inertia=\"shell\"", c->volume,
                     c->diagonal);
  if (c->volume < 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "it is inside out: its faces point inwards (volume %g m^3); reverse them or load with repair",
                     c->volume);
  return TG_OK;
}

// ---- orientation ----

typedef struct Orient {
  const Use *use;
  size_t *at; // where the run of edge c of face f starts: at[3 f + c]
  int *state; // 0 unseen, 1 as it is, -1 turned over
  int *queue;
  int nface;
} Orient;

// turns the piece of `seed`, breadth first over edges of exactly two faces; false: it contradicts itself
static bool orient_piece(Orient *o, int seed, int *ntail) {
  int head = 0, tail = 0;
  o->queue[tail++] = seed;
  o->state[seed] = 1;
  while (head < tail) {
    int f = o->queue[head++];
    for (int c = 0; c < 3; c++) {
      const Use *u = o->use + o->at[3 * (size_t)f + c];
      size_t len = run_length(o->use, o->at[3 * (size_t)f + c], 3 * (size_t)o->nface);
      if (len != 2) continue;
      int g = u[0].face == f ? u[1].face : u[0].face;
      int want = u[0].forward == u[1].forward ? -o->state[f] : o->state[f];
      if (g == f) continue;
      if (o->state[g] == 0) {
        o->state[g] = want;
        o->queue[tail++] = g;
      } else if (o->state[g] != want) {
        return false;
      }
    }
  }
  *ntail = tail;
  return true;
}

// six times the signed volume of the piece in the queue, with its turned faces turned
static double piece_volume(const Orient *o, int n, const double *vert, const int *face) {
  double sum = 0;
  const double *o0 = vert + 3 * (size_t)face[3 * (size_t)o->queue[0]];
  for (int k = 0; k < n; k++) {
    const int *f = face + 3 * (size_t)o->queue[k];
    double v[3][3], x[3];
    for (int c = 0; c < 3; c++) sub_norm(vert + 3 * (size_t)f[c], o0, v[c]);
    cross(v[1], v[2], x);
    sum += o->state[o->queue[k]] * (v[0][0] * x[0] + v[0][1] * x[1] + v[0][2] * x[2]);
  }
  return sum;
}

static tgStatus orient_all(Orient *o, const double *vert, const int *face, tgError *error) {
  memset(o->state, 0, (size_t)o->nface * sizeof *o->state);
  for (size_t i = 0, len, n = 3 * (size_t)o->nface; i < n; i += len) {
    len = run_length(o->use, i, n);
    for (size_t k = i; k < i + len; k++)
      for (int c = 0; c < 3; c++) {
        const int *f = face + 3 * (size_t)o->use[k].face;
        int p = f[c], q = f[(c + 1) % 3];
        if ((p < q ? p : q) == o->use[i].a && (p < q ? q : p) == o->use[i].b) o->at[3 * (size_t)o->use[k].face + c] = i;
      }
  }
  for (int f = 0; f < o->nface; f++) {
    int n;
    if (o->state[f] != 0) continue;
    if (!orient_piece(o, f, &n))
      return tgi_error(error, TG_ERR_INVALID,
                       "the faces around face %d cannot be wound consistently (a one-sided surface)", f);
    if (piece_volume(o, n, vert, face) < 0)
      for (int k = 0; k < n; k++) o->state[o->queue[k]] = -o->state[o->queue[k]];
  }
  return TG_OK;
}

tgStatus tgi_mesh_orient(const double *vert, int nvert, int *face, int nface, const tgAllocator *allocator, int *nflip,
                         tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  (void)nvert;
  *nflip = 0;
  Use *use = edge_uses(face, nface, &a);
  size_t *at = a.alloc(a.ctx, tgi_size_mul(3 * (size_t)nface + 1, sizeof *at));
  int *state = a.alloc(a.ctx, tgi_size_mul(2 * (size_t)nface + 1, sizeof *state));
  tgStatus status = TG_ERR_MEMORY;
  if (use == NULL || at == NULL || state == NULL) {
    tgi_error(error, status, "out of memory while orienting a mesh of %d faces", nface);
  } else {
    Orient o = {.use = use, .at = at, .state = state, .queue = state + nface, .nface = nface};
    status = orient_all(&o, vert, face, error);
    for (int f = 0; status == TG_OK && f < nface; f++)
      if (state[f] < 0) {
        int t = face[3 * (size_t)f + 1];
        face[3 * (size_t)f + 1] = face[3 * (size_t)f + 2];
        face[3 * (size_t)f + 2] = t;
        (*nflip)++;
      }
  }
  a.free(a.ctx, use);
  a.free(a.ctx, at);
  a.free(a.ctx, state);
  return status;
}
