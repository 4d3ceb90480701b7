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
#include "contact/barrier/barrier.h"
#include "kin/kinematics.h"
#include "support/check.h"
#include "tangere/barrier.h"
#include "tangere/desc.h"

enum { BALLS = 16 };
static const double radius = 0.1;

// faces of an octahedron cut into f x f, on the sphere; vertices of neighbouring faces are made one by the surface
static void geodesic(int f, double **vert, int *nvert, int **face, int *nface) {
  static const double corner[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
  *vert = malloc((size_t)(8 * f * f * 9) * sizeof **vert);
  *face = malloc((size_t)(8 * f * f * 3) * sizeof **face);
  *nvert = 0;
  *nface = 0;
  for (int o = 0; o < 8; o++) {
    const double *a = corner[o & 1 ? 3 : 0], *b = corner[o & 2 ? 4 : 1], *c = corner[o & 4 ? 5 : 2];
    bool turned = ((o & 1) + (o >> 1 & 1) + (o >> 2)) % 2 == 1;
    for (int i = 0; i < f; i++)
      for (int j = 0; j < f - i; j++)
        for (int t = 0; t < (j < f - i - 1 ? 2 : 1); t++) {
          int at[3][2] = {{i + t, j + t}, {i + 1, j}, {i, j + 1}};
          if (t == 1) at[1][0] = i, at[1][1] = j + 1, at[2][0] = i + 1, at[2][1] = j;
          for (int k = 0; k < 3; k++) {
            double x[3], n = 0;   // whole numbers up to the root: the same bits where faces meet
            for (int d = 0; d < 3; d++) {
              x[d] = (f - at[k][0] - at[k][1]) * a[d] + at[k][0] * b[d] + at[k][1] * c[d];
              n += x[d] * x[d];
            }
            for (int d = 0; d < 3; d++) (*vert)[3 * *nvert + d] = radius * x[d] / sqrt(n);
            (*face)[3 * *nface + (turned && k > 0 ? 3 - k : k)] = (*nvert)++;
          }
          (*nface)++;
        }
  }
}

static tgModel *scene(int f, int ground) {
  double *vert, s = 2.05 * radius;
  int nvert, *face, nface;
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  geodesic(f, &vert, &nvert, &face, &nface);
  int mesh = tg_desc_add_mesh(d, "ball", vert, nvert, face, nface);
  d->mesh[mesh].inertia_kind = 1;
  for (int k = 0, row = 0, place = 0; k < BALLS; k++) {
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, NULL);
    d->geom[g].mesh = mesh;
    double *x = d->body[b].pos;
    x[0] = k == 15 ? -1 : row * s * sqrt(0.75);
    x[1] = k == 15 ? 0 : (place - row / 2.0) * s;
    x[2] = 1.05 * radius;
    if (place++ == row) row++, place = 0;
  }
  int g = tg_desc_add_geom(d, 0, ground ? TG_GEOM_BOX : TG_GEOM_PLANE, NULL);
  double size[3] = {3, 3, 0.1};
  memcpy(d->geom[g].size, size, sizeof size);
  if (ground) d->geom[g].pos[2] = -0.1;
  tgModel *m = tg_model_compile(d, NULL, &e);
  if (m == NULL) printf("%s\n", e.text);
  tg_desc_free(d);
  free(vert);
  free(face);
  return m;
}

enum { SUM, BEGIN, PRODUCT, CALLS };
typedef struct Bench { tgSim *s; tgReal *x, *Z, *out; tgtRandom r; int call; } Bench;

// the balls at their places, moved by up to a thousandth of the radius
static void shake(Bench *b) {
  for (int g = 0; g < b->s->m.ngeom; g++)
    for (int i = 0; i < 3 && b->s->m.geom_body[g] > 0; i++) b->s->start.geom_xpos[3 * g + i] = b->x[3 * g + i] + 1e-3 * radius * tgt_uniform(&b->r, -1, 1);
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
    const long *c = (const long *)&w->pair[i].count;
    for (size_t k = 0; k < sizeof sum / sizeof(long); k++) ((long *)&sum)[k] += c[k];
  }
  return sum;
}

static int row(int f, int ground, const tgBarrierOptions *o) {
  tgError e = {0};
  tgModel *m = scene(f, ground);
  tgContact *c = m != NULL ? tg_contact_create(m, "barrier", &o->of, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  if (s == NULL) {
    printf("%s\n", e.text);
    return 1;
  }
  tgi_kinematics(&s->m, s->qpos, &s->start);
  size_t nz = 6 * (size_t)m->nbody;
  Bench b = {.s = s, .x = malloc(3 * (size_t)m->ngeom * sizeof(tgReal)), .Z = malloc(nz * sizeof(tgReal)), .out = calloc(nz, sizeof(tgReal)), .r = {1}};
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
  printf("%-7s %-6s %5d %8.2f %8.2f %8.2f %9ld %8ld %8ld %7ld %8ld %6.2f\n", o->hierarchy == TG_HIERARCHY_PAPER ? "paper" : "moment", ground ? "box" : "plane",
         8 * f * f * BALLS, ms[SUM], ms[BEGIN], ms[PRODUCT], n.visits, n.leaves, n.clusters, n.points, n.blends, n.leaves > 0 ? (double)n.iterations / (double)n.leaves : 0);
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
  printf("%-7s %-6s %5s %8s %8s %8s %9s %8s %8s %7s %8s %6s\n", "form", "ground", "T", "sum ms", "begin", "product", "visits", "leaves", "clusters", "points", "blends",
         "steps");
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
