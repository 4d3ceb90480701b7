// bench_barrier.c: value, gradient and second derivatives of the `barrier` potential on a rack of 15 balls with a cue ball over the ground.
// usage: bench_barrier [eps] [threads] [form: 0 moment, 1 paper] [f]
//
// Balls are octahedral geodesic meshes of 8 f^2 triangles. sum: an evaluation, the balls having moved by 1e-3
// of their radius; begin: what a step does first (a sum, that bodies are apart, forces for friction); product: what
// the gradient adds (B' Z of those forces). The ground is a plane (one half-space) or a box of 12 triangles.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "bench/rack.h"
#include "contact/barrier/barrier.h"   // private: parts of a step are timed by themselves
#include "kin/kinematics.h"
#include "support/check.h"
#include "tangere/barrier.h"

static const double radius = TGB_RACK_RADIUS;

enum { SUM, BEGIN, PRODUCT, CALLS };
typedef struct Bench { tgSim *s; tgReal *x, *Z, *out; tgtRandom r; int call; } Bench;

// the balls at their places, moved by up to a thousandth of the radius
static void shake(Bench *b) {
  for (int g = 0; g < b->s->m.ngeom; g++)
    for (int i = 0; i < 3 && b->s->m.geom_body[g] > 0; i++)
      b->s->start.geom_xpos[3 * g + i] = b->x[3 * g + i] + 1e-3 * radius * tgt_uniform(&b->r, -1, 1);
}

static bool call(Bench *b) {
  const tgLaw *p = tgi_barrier_model.law;
  if (b->call == BEGIN) return p->begin(b->s, 0.04) == TG_OK;
  if (b->call == PRODUCT) return p->start_vjp(b->s, &b->s->start, b->Z, b->out) == TG_OK;
  return p->evaluate(b->s, &b->s->start, TG_LAW_ENERGY | TG_LAW_POSE) == TG_OK && isfinite(b->s->energy);
}

// least time of a dozen calls, of the processor (one thread) or by the clock
static double least(Bench *b, int threads) {
  double best = 1e30;
  for (int k = 0; k < 12; k++) {
    shake(b);
    double began = threads == 1 ? tgb_core() : tgb_now();
    if (!call(b)) return -1;
    best = fmin(best, (threads == 1 ? tgb_core() : tgb_now()) - began);
  }
  return best;
}

static tgiTreeCount counted(const tgSim *s) {
  tgiTreeCount sum = {0};
  const tgiBarrierWork *w = s->solver;
  for (int i = 0; i < tgi_barrier(s)->npair; i++) {
    const long *c = (const long *)&w->sums.pair[i].count;
    for (size_t k = 0; k < sizeof sum / sizeof(long); k++) ((long *)&sum)[k] += c[k];
  }
  return sum;
}

static int row(int f, int ground, const tgBarrierOptions *o) {
  tgError e = {0};
  tgModel *m = tgb_rack(f, ground);
  tgContact *c = m != NULL ? tg_contact_create(m, "barrier", &o->of, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  if (s == NULL) {
    printf("%s\n", e.text);
    return 1;
  }
  tgi_kinematics(&s->m, s->qpos, &s->start);
  size_t nz = 6 * (size_t)m->nbody;
  Bench b = {.s = s, .x = malloc(3 * (size_t)m->ngeom * sizeof(tgReal)), .Z = malloc(nz * sizeof(tgReal)),
             .out = calloc(nz, sizeof(tgReal)), .r = {1}};
  for (size_t i = 0; i < nz; i++) b.Z[i] = tgt_normal(&b.r);
  double ms[CALLS];
  static const int order[CALLS] = {BEGIN, SUM, PRODUCT};
  memcpy(b.x, s->start.geom_xpos, 3 * (size_t)m->ngeom * sizeof(tgReal));
  for (int k = 0; k < CALLS; k++) {
    b.call = order[k];
    ms[order[k]] = 1e3 * least(&b, o->threads);
    if (ms[order[k]] < 0) printf("%s\n", s->error.text);
  }
  tgiTreeCount n = counted(s);
  printf("%-7s %-6s %5d %8.2f %8.2f %8.2f %9ld %8ld %8ld %7ld %8ld %6.2f\n",
         o->hierarchy == TG_HIERARCHY_PAPER ? "paper" : "moment", ground ? "box" : "plane", 8 * f * f * TGB_RACK_BALLS,
         ms[SUM], ms[BEGIN], ms[PRODUCT], n.visits, n.leaves, n.clusters, n.points, n.blends,
         n.leaves > 0 ? (double)n.iterations / (double)n.leaves : 0);
  free(b.x);
  free(b.Z);
  free(b.out);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return 0;
}

int main(int argc, char **argv) {
  tgBarrierOptions o = tg_barrier_default();
  if (argc > 1) o.eps = atof(argv[1]);
  if (argc > 2) o.threads = atoi(argv[2]);
  int bad = 0;
  printf("%-7s %-6s %5s %8s %8s %8s %9s %8s %8s %7s %8s %6s\n", "form", "ground", "T", "sum ms", "begin", "product",
         "visits", "leaves", "clusters", "points", "blends", "steps");
  int one = argc > 3 ? atoi(argv[3]) : -1, only = argc > 4 ? atoi(argv[4]) : 0;
  for (int form = one >= 0 ? one : 0; form <= (one >= 0 ? one : 1); form++)
    for (int ground = 0; ground < 2; ground++)
      for (int f = only > 0 ? only : 2; f <= (only > 0 ? only : 7); f++) {
        o.hierarchy = form ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT;
        bad += row(f, ground, &o);
        fflush(stdout);
      }
  return bad > 0;
}
