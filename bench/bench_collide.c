// bench_collide.c: time of one pair of shapes in the narrow phase, shallow and deep, and of its derivative; cylinders and ellipsoids
// beside the polytopes of 32 sides and of 12 rings by 24 that stood for them before.
// Usage: bench_collide [--json]
//
// A figure is the mean over 200 random poses of the least of 9 means of 20 calls, one thread, fresh memory. shallow: moved along the
// line of centres to a depth of 1e-4 m; deep: random places at most 0.2 m apart that overlap.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/coll_support.h"   // private: one pair of shapes is timed by itself
#include "support/tessellate.h"

enum { PLACES = 200, REPEAT = 9, CALLS = 20 };
typedef enum Work { SHALLOW, SHALLOW_D, DEEP, WORK_COUNT } Work;
static const char *const work_name[WORK_COUNT] = {"shallow", "shallow with D", "deep"};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tgtShape hull_of(const tgtShape *s, tgHullOwned **owned) {
  tgtShape h = *s;
  double size[3] = {tgRe(s->size[0]), tgRe(s->size[1]), tgRe(s->size[2])};
  tgStatus status = s->type == TG_GEOM_CYLINDER ? tgt_hull_cylinder(size[0], size[1], 32, NULL, owned)
                                                : tgt_hull_ellipsoid(size, 12, 24, NULL, owned);
  if (status < 0) exit(1);
  h.type = TG_GEOM_MESH;
  h.hull = &(*owned)->hull;
  tgi_v3_set(h.size, 1, 1, 1);
  return h;
}

static tgShape plain(const tgtShape *s) {
  return (tgShape){.type = s->type, .size = s->size, .hull = s->hull, .pos = s->pos, .mat = s->mat};
}

static double time_pair(const tgtShape *a, const tgtShape *b, tgCollide want) {
  static volatile double sink;
  tgShape A = plain(a), B = plain(b);
  double least = INFINITY;
  for (int k = 0; k < REPEAT; k++) {
    double start = now();
    for (int i = 0; i < CALLS; i++) {
      int32_t memory[TG_PAIR_MEMORY] = {0};
      tgContactPoint c[TG_PAIR_POINTS];
      double gap = 0;
      tgi_collide(&A, &B, 1e-3, 0, want, memory, c, &gap);
      sink = gap;
    }
    double t = (now() - start) / CALLS;
    if (t < least) least = t;
  }
  (void)sink;
  return 1e9 * least;
}

// moves a along the line of centres (or the plane's normal) to the depth
static void to_depth(tgtShape *a, const tgtShape *b, double depth) {
  double gap = 0;
  for (int it = 0; it < 40; it++) {
    double d[3], len = 0;
    int32_t memory[TG_PAIR_MEMORY] = {0};
    tgContactPoint c[TG_PAIR_POINTS];
    tgt_collide(a, b, 0, TG_COLLIDE_POINTS, memory, c, &gap);
    for (int i = 0; i < 3; i++) {
      d[i] = b->type == TG_GEOM_PLANE ? tgRe(b->mat[3 * i + 2]) : tgRe(a->pos[i] - b->pos[i]);
      len += d[i] * d[i];
    }
    for (int i = 0; i < 3; i++) a->pos[i] -= (gap + depth) * d[i] / sqrt(len);
  }
}

static void measure(int ka, int kb, bool json, bool *first) {
  double sum[WORK_COUNT][2] = {{0}};
  tgtRandom r = {7};
  for (int k = 0; k < PLACES; k++) {
    tgtShape s[2], h[2];
    tgHullOwned *owned[2] = {NULL, NULL};
    tgt_make_shape(&s[0], ka, &r);
    do tgt_make_shape(&s[1], kb, &r); while (kb == 4 && s[1].hull->nvert > 30);
    for (int i = 0; i < 3 && kb == 4; i++) s[1].size[i] = 1;      // this program calls with the hull as it is
    for (int deep = 0; deep < 2; deep++) {
      tgt_random_pose(&r, &s[0], deep ? 0.1 : 0.5);
      tgt_random_pose(&r, &s[1], deep ? 0.1 : 0.5);
      if (!deep) to_depth(&s[0], &s[1], 1e-4);
      for (int i = 0; i < 2; i++) {
        h[i] = s[i];
        if (s[i].type == TG_GEOM_CYLINDER || s[i].type == TG_GEOM_ELLIPSOID) h[i] = hull_of(&s[i], &owned[i]);
      }
      for (int old = 0; old < 2; old++) {
        const tgtShape *q = old ? h : s;
        if (deep) {
          sum[DEEP][old] += time_pair(&q[0], &q[1], TG_COLLIDE_POINTS) / PLACES;
        } else {
          sum[SHALLOW][old] += time_pair(&q[0], &q[1], TG_COLLIDE_POINTS) / PLACES;
          sum[SHALLOW_D][old] += time_pair(&q[0], &q[1], TG_COLLIDE_POSE) / PLACES;
        }
      }
      for (int i = 0; i < 2; i++) tgi_hull_free(owned[i]);
      owned[0] = owned[1] = NULL;
    }
  }
  for (int w = 0; w < WORK_COUNT; w++) {
    if (json)
      printf("%s\n  {\"name\": \"%s-%s %s\", \"ours\": %.4g, \"theirs\": %.4g, \"ratio\": %.3g, \"unit\": \"ns\"}", *first ? "" : ",",
             tgt_kind_name[ka], tgt_kind_name[kb], work_name[w], sum[w][0], sum[w][1], sum[w][0] / sum[w][1]);
    else
      printf("%-10s %-10s %-15s %8.0f ns   tessellated %8.0f ns   ratio %.2f\n", tgt_kind_name[ka], tgt_kind_name[kb], work_name[w],
             sum[w][0], sum[w][1], sum[w][0] / sum[w][1]);
    *first = false;
  }
}

int main(int argc, char **argv) {
  bool json = argc == 2 && strcmp(argv[1], "--json") == 0, first = true;
  if (tgt_build_meshes(NULL) != 0) return 1;
  if (json) printf("{\"id\": \"collide\", \"rows\": [");
  for (int ka = 5; ka < 7; ka++)
    for (int kb = 0; kb < TGT_KINDS; kb++)
      if (kb <= 4 || kb >= ka) measure(ka, kb, json, &first);
  if (json) printf("]}\n");
  tgt_free_meshes(NULL);
  return 0;
}
