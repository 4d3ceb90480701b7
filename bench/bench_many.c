// bench_many.c: memory of a simulation and time of a step as the number of bodies grows: spheres at rest on the ground.
//
//   bench_many [seconds]    lcp, barrier without and with its long range,
//     softmin: 100 to 4,000 free spheres on a plane, apart from each other.
//
// bytes: what the model, the contact model and the simulation hold after ten steps (the simulation grows while it finds
// its contacts), and what a dense Jacobian adds when it is asked for. step: the least of its repeats, in milliseconds;
// exponent: d log(step)/d log(n) from the row above; n log n has 1.15 from 100 to 1,000. A row that would take more
// than `seconds` (60) a step, or 4 GB, is left out.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "tangere/contact.h"
#include "tangere/desc.h"
#include "tangere/step.h"

// ---- an allocator that counts; the size stands before the block ----

enum { HEAD = 64 };
typedef struct Count { size_t now, limit; } Count;

static void *take(void *ctx, size_t bytes) {
  Count *c = ctx;
  if (c->now + bytes > c->limit) return NULL;
  char *p = malloc(bytes + HEAD);
  if (p == NULL) return NULL;
  memcpy(p, &bytes, sizeof bytes);
  c->now += bytes;
  return p + HEAD;
}

static void give(void *ctx, void *block) {
  Count *c = ctx;
  if (block == NULL) return;
  size_t bytes;
  char *p = (char *)block - HEAD;
  memcpy(&bytes, p, sizeof bytes);
  c->now -= bytes;
  free(p);
}

static void *again(void *ctx, void *block, size_t bytes) {
  size_t old = 0;
  void *p = take(ctx, bytes);
  if (p == NULL || block == NULL) return p;
  memcpy(&old, (char *)block - HEAD, sizeof old);
  memcpy(p, block, old < bytes ? old : bytes);
  give(ctx, block);
  return p;
}

// ---- the scene ----

static const double radius = 0.05, h = 0.002;

static tgModel *spheres(int n, double gap, const tgAllocator *a, tgError *e) {
  tgDesc *d = tg_desc_create(NULL);
  int side = (int)ceil(sqrt(n)), ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[ground].size[0] = d->geom[ground].size[1] = 100;
  for (int k = 0; k < n; k++) {
    int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    d->geom[g].size[0] = radius;
    d->body[b].pos[0] = 3 * radius * (k % side);
    d->body[b].pos[1] = 3 * radius * (k / side);
    d->body[b].pos[2] = radius + gap;
  }
  tgModel *m = tg_model_compile(d, a, e);
  tg_desc_free(d);
  return m;
}

typedef struct Case { const char *name, *word, *range; double gap; int most; } Case;
typedef struct Row { double model, sim, step, build; int iterations; } Row;

static bool fail(const char *what, const tgError *e) {
  printf("  %s: %s\n", what, e->text);
  return false;
}

static bool measure(const Case *c, int n, double seconds, Row *row) {
  Count model = {0, (size_t)4 << 30}, sim = {0, (size_t)4 << 30};
  tgAllocator ma = {&model, take, again, give}, sa = {&sim, take, again, give};
  tgAnyContactOptions o;
  tg_contact_default(c->word, &o.of, sizeof o);
  tgError e = {0};
  double begin = tgb_now();
  if (c->range != NULL && tg_contact_set(&o.of, "long_range", c->range, &e) != TG_OK) return fail("options", &e);
  tgModel *m = spheres(n, c->gap, &ma, &e);
  tgContact *k = m != NULL ? tg_contact_create(m, c->word, &o.of, &e) : NULL;
  tgSim *s = k != NULL ? tg_sim_create(m, k, &sa, &e) : NULL;
  row->build = tgb_now() - begin;
  row->step = INFINITY;
  bool good = s != NULL || fail("no room", &e);
  tgStepInfo info = {0};
  for (int i = 0; good && i < 10; i++) {
    double start = tgb_now();
    good = tg_sim_step_growing(s, h, &info) == TG_OK || fail("step", tg_sim_error(s));
    if (tgb_now() - start > seconds) break;
  }
  for (int i = 0; good && i < 20 && tgb_now() - begin < 3 * seconds; i++) {
    double start = tgb_core();
    good = tg_sim_step(s, h, &info) == TG_OK || fail("step", tg_sim_error(s));
    row->step = fmin(row->step, tgb_core() - start);
  }
  row->iterations = info.iterations;
  row->model = (double)model.now;
  row->sim = (double)sim.now;
  tg_sim_free(s);
  tg_contact_free(k);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  static const Case cases[] = {{"lcp", "lcp", NULL, 0, 4000}, {"barrier, long_range: off", "barrier", "off", 1e-3, 4000},
                               {"barrier, long_range: both", "barrier", "both", 1e-3, 1000}, {"softmin", "softmin", NULL, 0, 4000}};
  static const int sizes[] = {100, 200, 400, 1000, 2000, 4000};
  double seconds = argc > 1 ? atof(argv[1]) : 60;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    if (argc > 2 && atoi(argv[2]) != (int)c) continue;
    Row row, last = {0};
    int before = 0;
    printf("%s\n%8s %12s %12s %10s %10s %6s %9s\n", cases[c].name, "bodies", "model MB", "sim MB", "build s", "step ms",
           "iter", "exponent");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= cases[c].most; i++) {
      if (!measure(&cases[c], sizes[i], seconds, &row)) break;
      printf("%8d %12.2f %12.2f %10.3f %10.4f %6d", sizes[i], row.model / 1e6, row.sim / 1e6, row.build, 1e3 * row.step, row.iterations);
      if (before > 0) printf(" %9.2f", log(row.step / last.step) / log((double)sizes[i] / before));
      printf("\n");
      fflush(stdout);
      if (row.step > seconds / 4) break;
      last = row;
      before = sizes[i];
    }
  }
  return 0;
}
