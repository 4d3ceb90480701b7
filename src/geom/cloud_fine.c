// cloud_fine.c: the mesh in small faces, with what is beyond each edge, and points by cells.
#include <string.h>

#include "base/memory.h"
#include "geom/cloud_mesh.h"

enum { FACES_MOST = 1 << 26, ROUNDS_MOST = 64 };
#define CREASE_COSINE 0.86602540378443865  // of 30 degrees
#define SLIVER 1e-9                        // height over longest edge at which a face's own normal means nothing

// ---- blocks ----

void *tgi_blocks_take(tgiBlocks *b, size_t n, size_t size) {
  size_t bytes = tgi_size_mul(n > 0 ? n : 1, size);
  int most = (int)(sizeof b->block / sizeof *b->block), at = 0;
  while (at < b->count && b->block[at] != NULL) at++;
  if (at == most) return NULL;
  void *block = b->alloc.alloc(b->alloc.ctx, bytes);
  if (block == NULL) return NULL;
  memset(block, 0, bytes);
  b->block[at] = block;
  if (at == b->count) b->count++;
  return block;
}

void tgi_blocks_give(tgiBlocks *b, void *block) {
  for (int i = 0; i < b->count; i++)
    if (block != NULL && b->block[i] == block) {
      b->alloc.free(b->alloc.ctx, block);
      b->block[i] = NULL;
      return;
    }
}

void tgi_blocks_free(tgiBlocks *b) {
  for (int i = 0; i < b->count; i++)
    if (b->block[i] != NULL) b->alloc.free(b->alloc.ctx, b->block[i]);
  b->count = 0;
}

// ---- numbers of pairs of vertices ----

// open addressing; value -1: free
typedef struct Pairs {
  uint64_t mask, *key;
  int *value;
} Pairs;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static bool pairs_make(Pairs *p, size_t most, tgiBlocks *blocks) {
  size_t size = 16;
  while (size < 2 * most) size *= 2;
  p->mask = size - 1;
  p->key = tgi_blocks_take(blocks, size, sizeof *p->key);
  p->value = tgi_blocks_take(blocks, size, sizeof *p->value);
  if (p->key == NULL || p->value == NULL) return false;
  memset(p->value, -1, size * sizeof *p->value);
  return true;
}

static void pairs_give(Pairs *p, tgiBlocks *blocks) {
  tgi_blocks_give(blocks, p->key);
  tgi_blocks_give(blocks, p->value);
}

// where the pair is, or would be put
static int *pairs_at(Pairs *p, int a, int b) {
  uint64_t key = (uint64_t)(uint32_t)a << 32 | (uint32_t)b, at = mix(key + 0x9E3779B97F4A7C15u) & p->mask;
  while (p->value[at] >= 0 && p->key[at] != key) at = (at + 1) & p->mask;
  p->key[at] = key;
  return &p->value[at];
}

// ---- cells ----

bool tgi_cells_make(tgiCells *cells, double width, int most, tgiBlocks *blocks) {
  size_t size = 64;
  while (size < 2 * (size_t)most) size *= 2;
  cells->width = width;
  cells->mask = size - 1;
  cells->most = most;
  cells->head = tgi_blocks_take(blocks, size, sizeof *cells->head);
  cells->next = tgi_blocks_take(blocks, (size_t)most, sizeof *cells->next);
  if (cells->head == NULL || cells->next == NULL) return false;
  memset(cells->head, -1, size * sizeof *cells->head);
  return true;
}

static uint64_t cell_bucket(const tgiCells *cells, const double x[3], int k) {
  const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
  uint64_t h = 0;
  for (int i = 0; i < 3; i++) h = mix(h + 0x9E3779B97F4A7C15u + (uint64_t)((int64_t)floor(x[i] / cells->width) + step[i]));
  return h & cells->mask;
}

void tgi_cells_add(tgiCells *cells, const double x[3], int point) {
  uint64_t at = cell_bucket(cells, x, 13);
  cells->next[point] = cells->head[at];
  cells->head[at] = point;
}

int tgi_cells_about(const tgiCells *cells, const double x[3], int k) { return cells->head[cell_bucket(cells, x, k)]; }

// ---- normals ----

// the mesh while it is cut: faces know which of the given ones they are of
typedef struct Cut {
  int nvert, nface;
  double *vert;
  int *face, *parent;
} Cut;

static void face_vector(const double *vert, const int *v, double *n) {
  double a[3], b[3];
  tgi_d3_sub(a, vert + 3 * (size_t)v[1], vert + 3 * (size_t)v[0]);
  tgi_d3_sub(b, vert + 3 * (size_t)v[2], vert + 3 * (size_t)v[0]);
  tgi_d3_cross(n, a, b);
}

// edge from corner c on that is longest
static int longest_edge(const double *vert, const int *v, double *length) {
  int best = 0;
  *length = 0;
  for (int c = 0; c < 3; c++) {
    double l = tgi_d3_distance(vert + 3 * (size_t)v[c], vert + 3 * (size_t)v[(c + 1) % 3]);
    if (l > *length) *length = l, best = c;
  }
  return best;
}

// face beyond each edge; -1 where an edge has more than two faces
static bool beyond_edges(const int *face, int nface, int *next, tgiBlocks *blocks) {
  Pairs p;
  if (!pairs_make(&p, 3 * (size_t)nface, blocks)) return false;
  for (int e = 0; e < 3 * nface; e++) {  // twice the half-edge, odd when the pair has several
    int *at = pairs_at(&p, face[e], face[e - e % 3 + (e + 1) % 3]);
    *at = *at < 0 ? 2 * e : *at | 1;
  }
  for (int e = 0; e < 3 * nface; e++) {
    int a = face[e], b = face[e - e % 3 + (e + 1) % 3], forth = *pairs_at(&p, a, b), back = *pairs_at(&p, b, a);
    next[e] = forth % 2 == 1 || back < 0 || back % 2 == 1 ? -1 : back / 2 / 3;
  }
  pairs_give(&p, blocks);
  return true;
}

// Unit normals of the given faces. A sliver takes that of the face beyond its longest edge, and so on as long as those are slivers.
static bool face_normals(const double *vert, const int *face, int nface, double *normal, tgiBlocks *blocks) {
  int *next = tgi_blocks_take(blocks, 3 * (size_t)nface, sizeof *next);
  if (next == NULL || !beyond_edges(face, nface, next, blocks)) return false;
  for (int f = 0; f < nface; f++) {
    double n[3], longest;
    int g = f;
    for (int hop = 0; hop < 16; hop++) {
      int edge = longest_edge(vert, face + 3 * g, &longest);
      face_vector(vert, face + 3 * g, n);
      if (tgi_d3_norm(n) > SLIVER * longest * longest || next[3 * g + edge] < 0) break;
      g = next[3 * g + edge];
    }
    tgi_d3_unit(normal + 3 * f, n);
  }
  tgi_blocks_give(blocks, next);
  return true;
}

// ---- cutting ----

// numbers of the middles of the edges of face v, -1 where an edge is short enough; new ones are put at the end of the vertices
static int middles(Cut *c, Pairs *p, const int *v, double longest, int *middle) {
  int count = 0;
  for (int i = 0; i < 3; i++) {
    int a = v[i], b = v[(i + 1) % 3], *at;
    middle[i] = -1;
    if (tgi_d3_distance(c->vert + 3 * (size_t)a, c->vert + 3 * (size_t)b) <= longest) continue;
    at = pairs_at(p, a < b ? a : b, a < b ? b : a);
    if (*at < 0) {
      *at = c->nvert++;
      for (int j = 0; j < 3; j++) c->vert[3 * (size_t)*at + j] = 0.5 * (c->vert[3 * (size_t)a + j] + c->vert[3 * (size_t)b + j]);
    }
    middle[i] = *at;
    count++;
  }
  return count;
}

static void put_face(Cut *c, int parent, int v0, int v1, int v2) {
  int *v = c->face + 3 * (size_t)c->nface;
  v[0] = v0;
  v[1] = v1;
  v[2] = v2;
  c->parent[c->nface++] = parent;
}

// the face in place of which come two, three or four
static void split(Cut *c, int parent, const int *v, const int *middle, int count) {
  int i = 0;
  if (count == 0) {
    put_face(c, parent, v[0], v[1], v[2]);
  } else if (count == 3) {
    for (i = 0; i < 3; i++) put_face(c, parent, v[i], middle[i], middle[(i + 2) % 3]);
    put_face(c, parent, middle[0], middle[1], middle[2]);
  } else if (count == 1) {
    while (middle[i] < 0) i++;
    put_face(c, parent, v[i], middle[i], v[(i + 2) % 3]);
    put_face(c, parent, middle[i], v[(i + 1) % 3], v[(i + 2) % 3]);
  } else {
    while (middle[i] >= 0) i++;  // the edge from a to b stays; the rest is cut by the shorter diagonal
    int a = v[i], b = v[(i + 1) % 3], tip = v[(i + 2) % 3], mb = middle[(i + 1) % 3], ma = middle[(i + 2) % 3];
    put_face(c, parent, mb, tip, ma);
    if (tgi_d3_distance(c->vert + 3 * (size_t)a, c->vert + 3 * (size_t)mb) <= tgi_d3_distance(c->vert + 3 * (size_t)b,
        c->vert + 3 * (size_t)ma)) {
      put_face(c, parent, a, b, mb);
      put_face(c, parent, a, mb, ma);
    } else {
      put_face(c, parent, a, b, ma);
      put_face(c, parent, b, mb, ma);
    }
  }
}

// one round of halving edges that are too long; *done: there was none
static tgStatus cut_round(Cut *c, double longest, tgiBlocks *blocks, bool *done, tgError *error) {
  size_t edges = 0;
  for (int e = 0; e < 3 * c->nface; e++) {
    int a = c->face[e], b = c->face[e - e % 3 + (e + 1) % 3];
    edges += tgi_d3_distance(c->vert + 3 * (size_t)a, c->vert + 3 * (size_t)b) > longest;
  }
  *done = edges == 0;
  if (*done) return TG_OK;
  if ((size_t)c->nface + edges > FACES_MOST)
    return tgi_error(error, TG_ERR_LIMIT, "cutting it into faces below %g m gives more than %d; choose a wider spacing",
                     longest, FACES_MOST);
  // each edge that is cut adds a vertex, and a face for each face beside it
  Cut d = {.nvert = c->nvert};
  Pairs p;
  d.vert = tgi_blocks_take(blocks, 3 * ((size_t)c->nvert + edges), sizeof *d.vert);
  d.face = tgi_blocks_take(blocks, 3 * ((size_t)c->nface + edges), sizeof *d.face);
  d.parent = tgi_blocks_take(blocks, (size_t)c->nface + edges, sizeof *d.parent);
  if (d.vert == NULL || d.face == NULL || d.parent == NULL || !pairs_make(&p, edges, blocks)) return TG_ERR_MEMORY;
  memcpy(d.vert, c->vert, 3 * (size_t)c->nvert * sizeof *d.vert);
  for (int f = 0; f < c->nface; f++) {
    int middle[3], count = middles(&d, &p, c->face + 3 * (size_t)f, longest, middle);
    split(&d, c->parent[f], c->face + 3 * (size_t)f, middle, count);
  }
  pairs_give(&p, blocks);
  tgi_blocks_give(blocks, c->vert);
  tgi_blocks_give(blocks, c->face);
  tgi_blocks_give(blocks, c->parent);
  *c = d;
  return TG_OK;
}

// ---- the whole ----

static bool number_segments(tgiFine *fine, tgiBlocks *blocks) {
  int *queue = tgi_blocks_take(blocks, (size_t)fine->nface, sizeof *queue);
  if (queue == NULL) return false;
  memset(fine->segment, -1, (size_t)fine->nface * sizeof *fine->segment);
  for (int seed = 0; seed < fine->nface; seed++) {
    int head = 0, tail = 0;
    if (fine->segment[seed] >= 0) continue;
    fine->segment[seed] = fine->nsegment;
    queue[tail++] = seed;
    while (head < tail) {
      int f = queue[head++];
      for (int c = 0; c < 3; c++) {
        int g = fine->next[3 * (size_t)f + c];
        if (g < 0 || fine->segment[g] >= 0) continue;
        fine->segment[g] = fine->nsegment;
        queue[tail++] = g;
      }
    }
    fine->nsegment++;
  }
  tgi_blocks_give(blocks, queue);
  return true;
}

static bool measure(tgiFine *fine, const double *normal, const int *parent, tgiBlocks *blocks) {
  size_t n = (size_t)fine->nface;
  fine->next = tgi_blocks_take(blocks, 3 * n, sizeof *fine->next);
  fine->normal = tgi_blocks_take(blocks, 3 * n, sizeof *fine->normal);
  fine->area = tgi_blocks_take(blocks, n, sizeof *fine->area);
  fine->centre = tgi_blocks_take(blocks, 3 * n, sizeof *fine->centre);
  fine->segment = tgi_blocks_take(blocks, n, sizeof *fine->segment);
  if (fine->next == NULL || fine->normal == NULL || fine->area == NULL || fine->centre == NULL || fine->segment == NULL) return false;
  if (!beyond_edges(fine->face, fine->nface, fine->next, blocks)) return false;
  for (size_t f = 0; f < n; f++) {
    double a[3];
    face_vector(fine->vert, fine->face + 3 * f, a);
    fine->area[f] = 0.5 * tgi_d3_norm(a);
    memcpy(fine->normal + 3 * f, normal + 3 * (size_t)parent[f], 3 * sizeof *normal);
    for (int i = 0; i < 3; i++)
      for (int c = 0; c < 3; c++) fine->centre[3 * f + i] += fine->vert[3 * (size_t)fine->face[3 * f + c] + i] / 3;
  }
  for (size_t e = 0; e < 3 * n; e++)
    if (fine->next[e] >= 0 && tgi_d3_dot(fine->normal + 3 * (e / 3), fine->normal + 3 * (size_t)fine->next[e]) < CREASE_COSINE)
      fine->next[e] = -1;
  return number_segments(fine, blocks);
}

tgStatus tgi_fine_make(const double *vert, int nvert, const int *face, int nface, double spacing, tgiBlocks *blocks,
                       tgiFine *fine, tgError *error) {
  Cut c = {.nvert = nvert, .nface = nface};
  double *normal = tgi_blocks_take(blocks, 3 * (size_t)nface, sizeof *normal);
  c.vert = tgi_blocks_take(blocks, 3 * (size_t)nvert, sizeof *c.vert);
  c.face = tgi_blocks_take(blocks, 3 * (size_t)nface, sizeof *c.face);
  c.parent = tgi_blocks_take(blocks, (size_t)nface, sizeof *c.parent);
  *fine = (tgiFine){.spacing = spacing};
  if (normal == NULL || c.vert == NULL || c.face == NULL || c.parent == NULL) return TG_ERR_MEMORY;
  memcpy(c.vert, vert, 3 * (size_t)nvert * sizeof *vert);
  memcpy(c.face, face, 3 * (size_t)nface * sizeof *face);
  for (int f = 0; f < nface; f++) c.parent[f] = f;
  if (!face_normals(vert, face, nface, normal, blocks)) return TG_ERR_MEMORY;
  bool done = false;
  for (int round = 0; round < ROUNDS_MOST && !done; round++) TG_TRY(cut_round(&c, spacing / 3, blocks, &done, error));
  fine->nvert = c.nvert;
  fine->nface = c.nface;
  fine->vert = c.vert;
  fine->face = c.face;
  if (!measure(fine, normal, c.parent, blocks)) return TG_ERR_MEMORY;
  tgi_blocks_give(blocks, normal);
  tgi_blocks_give(blocks, c.parent);
  return TG_OK;
}

// ---- walking ----

// direction into face f from its edge c, in the plane of the normal n, and along the edge
static void edge_frame(const tgiFine *fine, int f, int c, double *along, double *inward) {
  double d[3];
  tgi_d3_sub(d, fine->vert + 3 * (size_t)fine->face[3 * (size_t)f + (c + 1) % 3], fine->vert + 3 * (size_t)fine->face[3 * (size_t)f + c]);
  tgi_d3_unit(along, d);
  tgi_d3_cross(inward, fine->normal + 3 * (size_t)f, along);
}

// edge other than `entry` through which the ray x + s t leaves face f, and s
static int exit_edge(const tgiFine *fine, int f, int entry, const double *x, const double *t, double *s) {
  int best = -1;
  for (int c = 0; c < 3; c++) {
    double along[3], inward[3], d[3], speed;
    if (c == entry) continue;
    edge_frame(fine, f, c, along, inward);
    speed = -tgi_d3_dot(t, inward);
    tgi_d3_sub(d, x, fine->vert + 3 * (size_t)fine->face[3 * (size_t)f + c]);
    double at = fmax(0, tgi_d3_dot(d, inward)) / speed;
    if (speed > 1e-12 && (best < 0 || at < *s)) *s = at, best = c;
  }
  return best;
}

double tgi_fine_walk(const tgiFine *fine, int *face, int edge, double x[3], double length) {
  double t[3], along[3], inward[3], walked = 0, s = 0;
  int entry = edge;
  edge_frame(fine, *face, entry, along, t);
  for (int hop = 0; hop < 4096; hop++) {
    int leave = exit_edge(fine, *face, entry, x, t, &s);
    double step = leave < 0 || s > length - walked ? length - walked : s;
    for (int i = 0; i < 3; i++) x[i] += step * t[i];
    walked += step;
    if (leave < 0 || walked >= length) break;
    int from = *face, g = fine->next[3 * (size_t)from + leave];
    if (g < 0) break;
    // unfold: what runs along the edge stays, what leaves one face enters the other
    edge_frame(fine, from, leave, along, inward);
    double a = tgi_d3_dot(t, along), out = -tgi_d3_dot(t, inward);
    entry = 0;
    while (entry < 2 && fine->face[3 * (size_t)g + (entry + 1) % 3] != fine->face[3 * (size_t)from + leave]) entry++;
    edge_frame(fine, g, entry, along, inward);
    for (int i = 0; i < 3; i++) t[i] = -a * along[i] + out * inward[i];
    tgi_d3_unit(t, t);
    *face = g;
  }
  return walked;
}
