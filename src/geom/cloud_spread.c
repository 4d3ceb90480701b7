// cloud_spread.c: sites all over a mesh, at even distances.
//
// Small faces are tried in random order; one becomes a site when no other is near that reaches it over edges that are
// no creases. Then Lloyd's steps: patches grow from their sites over edges that are no creases, a face going to the
// nearest site that reaches it, and each free site moves to the point of its patch nearest to the patch's centroid.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "geom/cloud_mesh.h"

// least distance of a new site from others, in spacings: makes nearest neighbours a spacing apart after Lloyd's steps
#define DISC 0.80
enum { STEPS = 20, STREAM = 0x636c6f75 };

bool tgi_sites_add(tgiSites *sites, tgiBlocks *blocks, const double x[3], int face, bool fixed) {
  if (sites->n == sites->room) {
    int room = sites->room > 0 ? 2 * sites->room : 256;
    tgiSite *site = tgi_blocks_take(blocks, (size_t)room, sizeof *site);
    if (site == NULL) return false;
    if (sites->n > 0) memcpy(site, sites->site, (size_t)sites->n * sizeof *site);
    tgi_blocks_give(blocks, sites->site);
    sites->site = site;
    sites->room = room;
  }
  sites->site[sites->n++] = (tgiSite){.x = {x[0], x[1], x[2]}, .face = face, .fixed = fixed};
  return true;
}

// ---- filling ----

typedef struct Draw {
  uint64_t key;
  int face;
} Draw;

static int by_draw(const void *p, const void *q) {
  const Draw *a = p, *b = q;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->face > b->face) - (a->face < b->face);
}

// takes from the draw what is nearer to the site than DISC and is reached without going farther; stamp: last site that passed a face
static void cover(const tgiFine *fine, const tgiSites *sites, int site, int *stamp, bool *covered, int *queue) {
  int head = 0, tail = 0;
  queue[tail++] = sites->site[site].face;
  stamp[queue[0]] = site;
  covered[queue[0]] = true;
  while (head < tail) {
    int f = queue[head++];
    for (int c = 0; c < 3; c++) {
      int g = fine->next[3 * (size_t)f + c];
      if (g < 0 || stamp[g] == site || tgi_d3_distance(fine->centre + 3 * (size_t)g, sites->site[site].x) >= DISC * fine->spacing) continue;
      stamp[g] = site;
      covered[g] = true;
      queue[tail++] = g;
    }
  }
}

static tgStatus fill(const tgiFine *fine, tgiBlocks *blocks, tgiSites *sites, tgError *error) {
  size_t n = (size_t)fine->nface;
  Draw *draw = tgi_blocks_take(blocks, n, sizeof *draw);
  int *stamp = tgi_blocks_take(blocks, n, sizeof *stamp), *queue = tgi_blocks_take(blocks, n, sizeof *queue);
  bool *covered = tgi_blocks_take(blocks, n, sizeof *covered);
  if (draw == NULL || stamp == NULL || queue == NULL || covered == NULL) return TG_ERR_MEMORY;
  memset(stamp, -1, n * sizeof *stamp);
  for (int i = 0; i < sites->n; i++) cover(fine, sites, i, stamp, covered, queue);
  for (int f = 0; f < fine->nface; f++) draw[f] = (Draw){tgi_random_bits(0, STREAM, (uint64_t)f), f};
  qsort(draw, n, sizeof *draw, by_draw);
  for (size_t k = 0; k < n; k++) {
    int f = draw[k].face;
    if (covered[f]) continue;
    if (!tgi_sites_add(sites, blocks, fine->centre + 3 * (size_t)f, f, false)) return TG_ERR_MEMORY;
    if (sites->n > TGI_CLOUD_MOST) return tgi_cloud_fits(sites->n, fine->spacing, error);
    cover(fine, sites, sites->n - 1, stamp, covered, queue);
  }
  void *done[] = {draw, stamp, queue, covered};
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) tgi_blocks_give(blocks, done[i]);
  return TG_OK;
}

// ---- patches ----

typedef struct Grow {
  double *reach;   // nface: distance of a face's centre to its site
  int *queue;      // nface, a ring
  bool *queued;
} Grow;

// Each small face goes to the nearest of the sites that reach it; a face that finds a nearer one tells its neighbours
// again. Owners of an earlier round (-1: none) are where this one begins.
static void grow(const tgiFine *fine, const tgiSites *sites, Grow *w, int *owner) {
  int n = fine->nface, head = 0, count = 0;
  for (int f = 0; f < n; f++)
    w->reach[f] = owner[f] < 0 ? INFINITY : tgi_d3_distance(fine->centre + 3 * (size_t)f, sites->site[owner[f]].x);
  for (int i = 0; i < sites->n; i++) {
    int f = sites->site[i].face;
    double d = tgi_d3_distance(fine->centre + 3 * (size_t)f, sites->site[i].x);
    if (owner[f] >= 0 && d >= w->reach[f]) continue;
    w->reach[f] = d;
    owner[f] = i;
    if (!w->queued[f]) w->queued[f] = true, w->queue[count++] = f;
  }
  for (int f = 0; f < n; f++) {
    bool border = false;
    for (int c = 0; c < 3 && owner[f] >= 0; c++) {
      int g = fine->next[3 * (size_t)f + c];
      border = border || (g >= 0 && owner[g] != owner[f]);
    }
    if (border && !w->queued[f]) w->queued[f] = true, w->queue[count++] = f;
  }
  while (count > 0) {
    int f = w->queue[head];
    head = head + 1 == n ? 0 : head + 1;
    count--;
    w->queued[f] = false;
    for (int c = 0; c < 3; c++) {
      int g = fine->next[3 * (size_t)f + c];
      if (g < 0 || owner[g] == owner[f]) continue;
      double d = tgi_d3_distance(fine->centre + 3 * (size_t)g, sites->site[owner[f]].x);
      if (!(d < w->reach[g])) continue;
      w->reach[g] = d;
      owner[g] = owner[f];
      if (!w->queued[g]) w->queued[g] = true, w->queue[(head + count++) % n] = g;
    }
  }
}

// A face that its site cannot reach through its patch, which a nearer site cut off later, goes to a patch beside it:
// patches are in one piece.
static void join(const tgiFine *fine, const tgiSites *sites, Grow *w, int *owner) {
  int count = 0;
  for (int i = 0; i < sites->n; i++) {
    int f = sites->site[i].face;
    if (owner[f] == i) w->queued[f] = true, w->queue[count++] = f;
  }
  for (int pass = 0; pass < 2; pass++) {  // within patches, then to what is left
    for (int k = 0; k < count; k++)
      for (int c = 0; c < 3; c++) {
        int f = w->queue[k], g = fine->next[3 * (size_t)f + c];
        if (g < 0 || w->queued[g] || (pass == 0 && owner[g] != owner[f])) continue;
        owner[g] = owner[f];
        w->queued[g] = true;
        w->queue[count++] = g;
      }
  }
  for (int k = 0; k < count; k++) w->queued[w->queue[k]] = false;
}

// point of the triangle nearest to x; by the regions of its edges and corners
static void nearest_in_face(const tgiFine *fine, int f, const double *x, double *y) {
  const double *v[3];
  double best = INFINITY, n[3], d[3], a[3], b[3];
  for (int c = 0; c < 3; c++) v[c] = fine->vert + 3 * (size_t)fine->face[3 * (size_t)f + c];
  tgi_d3_sub(a, v[1], v[0]);
  tgi_d3_sub(b, v[2], v[0]);
  tgi_d3_cross(n, a, b);
  bool inside = tgi_d3_unit(n, n) > 0;
  for (int c = 0; c < 3; c++) {
    double e[3], out[3], z[3];
    tgi_d3_sub(e, v[(c + 1) % 3], v[c]);
    tgi_d3_sub(d, x, v[c]);
    tgi_d3_cross(out, e, n);
    inside = inside && tgi_d3_dot(out, d) <= 0;
    double t = fmin(1, fmax(0, tgi_d3_dot(d, e) / fmax(tgi_d3_dot(e, e), 1e-300)));
    for (int i = 0; i < 3; i++) z[i] = v[c][i] + t * e[i];
    double r = tgi_d3_distance(z, x);
    if (r < best) best = r, memcpy(y, z, sizeof z);
  }
  if (!inside) return;
  tgi_d3_sub(d, x, v[0]);
  double height = tgi_d3_dot(d, n);
  for (int i = 0; i < 3; i++) y[i] = x[i] - height * n[i];
}

// moves free sites to the points of their patches that are nearest to the centroids; sum: room for 4 numbers a site
static void move_to_centroids(const tgiFine *fine, const int *owner, double *sum, tgiSites *sites) {
  memset(sum, 0, 4 * (size_t)sites->n * sizeof *sum);
  for (int f = 0; f < fine->nface; f++) {
    double *s = sum + 4 * (size_t)owner[f];
    for (int i = 0; i < 3; i++) s[i] += fine->area[f] * fine->centre[3 * (size_t)f + i];
    s[3] += fine->area[f];
  }
  for (int k = 0; k < sites->n; k++) {
    double *s = sum + 4 * (size_t)k;
    if (s[3] > 0)
      for (int i = 0; i < 3; i++) s[i] /= s[3];
    else memcpy(s, sites->site[k].x, 3 * sizeof *s);
    s[3] = INFINITY;
  }
  for (int f = 0; f < fine->nface; f++) {
    double *s = sum + 4 * (size_t)owner[f], y[3];
    tgiSite *site = &sites->site[owner[f]];
    // no point is a third from the centre
    if (site->fixed || tgi_d3_distance(fine->centre + 3 * (size_t)f, s) - fine->spacing / 3 >= s[3]) continue;
    nearest_in_face(fine, f, s, y);
    double d = tgi_d3_distance(y, s);
    if (!(d < s[3])) continue;
    s[3] = d;
    site->face = f;
    memcpy(site->x, y, sizeof y);
  }
}

tgStatus tgi_sites_spread(const tgiFine *fine, tgiBlocks *blocks, tgiSites *sites, int *owner, tgError *error) {
  TG_TRY(fill(fine, blocks, sites, error));
  size_t n = (size_t)fine->nface;
  Grow w = {.reach = tgi_blocks_take(blocks, n, sizeof *w.reach), .queue = tgi_blocks_take(blocks, n, sizeof *w.queue)};
  w.queued = tgi_blocks_take(blocks, n, sizeof *w.queued);
  double *sum = tgi_blocks_take(blocks, 4 * (size_t)sites->n, sizeof *sum);
  if (w.reach == NULL || w.queue == NULL || w.queued == NULL || sum == NULL) return TG_ERR_MEMORY;
  memset(owner, -1, n * sizeof *owner);
  for (int step = 0; step < STEPS; step++) {
    grow(fine, sites, &w, owner);
    move_to_centroids(fine, owner, sum, sites);
  }
  grow(fine, sites, &w, owner);
  join(fine, sites, &w, owner);
  void *done[] = {w.reach, w.queue, w.queued, sum};
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) tgi_blocks_give(blocks, done[i]);
  return TG_OK;
}
