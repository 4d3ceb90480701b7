// bench_weights.c: how the weights of a sphere tree should climb: the table of docs/decisions/0009-barrier-weights.md.
// Usage: bench_weights [T]      rows up to T triangles a body (default 6272)
//        bench_weights --frames [T] steps of 16 balls on a table under the contact model `barrier`,
//          T triangles a ball at most (default 392)
//
// Potentials are summed by a plain recursion of its own, along one direction: value, force, and the part of the force that only blending
// makes. Planks: 2 x 0.4 x 0.2 m, one on the other, the gap at which mu F is 1.57 N. Balls: radius 0.1 m, 0.5 kg, octahedra cut into 8 f^2
// triangles and blown up. Blending width 0.5, mu 1e-7, tight spheres (publication: layered).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contact/barrier/pair/pair.h"   // private: pairs are summed by a recursion of its own
#include "geom/sphere_tree.h"
#include "math/vec3.h"
#include "tangere/barrier.h"
#include "tangere/desc.h"
#include "tangere/step.h"

static const double mu = 1e-7, eps = 0.5, up[3] = {0, 0, 1}, aslant[3] = {0.48, 0.6, 0.64};

typedef struct Body {
  tgiSurface s;
  tgiTree t;
  tgiTreeNumbers n;
  double *memory;
} Body;

static void check(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "bench_weights: %s\n", what);
  exit(1);
}

// ---- bodies ----

static void body_of(const double *vert, int nvert, const int *face, int nface, tgiTreeForm form, tgiClimb climb, Body *b) {
  const double one[3] = {1, 1, 1};
  tgError e = {0};
  check(tgi_surface_mesh(vert, nvert, face, nface, NULL, &b->s, &e) >= 0, e.text);
  check(tgi_tree_make(&b->s, one, NULL, &b->t) >= 0, "no tree");
  b->memory = malloc(tgi_tree_reals(&b->s, &b->t) * sizeof *b->memory);
  check(b->memory != NULL, "no memory");
  b->n = tgi_tree_place(&b->s, &b->t, b->memory);
  tgi_tree_numbers(&b->s, &b->t, form, climb, one, &b->n);
}

static void body_free(Body *b) {
  free(b->memory);
  tgi_tree_free(&b->t);
  tgi_surface_free(&b->s);
}

// corner vertices of triangles, welded later
typedef struct Soup {
  double *vert;
  int *face, nvert, nface;
} Soup;

static Soup soup(int nface) {
  Soup s = {.vert = malloc(9 * (size_t)nface * sizeof(double)), .face = malloc(3 * (size_t)nface * sizeof(int))};
  check(s.vert != NULL && s.face != NULL, "no memory");
  for (int k = 0; k < 3 * nface; k++) s.face[k] = k;
  return s;
}

static void put(Soup *s, const double a[3], const double b[3], const double c[3]) {
  memcpy(s->vert + 3 * s->nvert, a, 3 * sizeof *a);
  memcpy(s->vert + 3 * s->nvert + 3, b, 3 * sizeof *a);
  memcpy(s->vert + 3 * s->nvert + 6, c, 3 * sizeof *a);
  s->nvert += 3;
  s->nface++;
}

static Body make(Soup *s, tgiTreeForm form, tgiClimb climb) {
  Body b;
  body_of(s->vert, s->nvert, s->face, s->nface, form, climb, &b);
  free(s->vert);
  free(s->face);
  return b;
}

// octahedron of f cells an edge
static Soup ball_soup(double radius, int f) {
  Soup s = soup(8 * f * f);
  for (int o = 0; o < 8; o++)
    for (int i = 0; i < f; i++)
      for (int j = 0; i + j < f; j++)
        for (int turned = 0; turned < (i + j < f - 1 ? 2 : 1); turned++) {
          int at[3][2] = {{i + turned, j}, {i + 1, j + turned}, {i, j + 1}};
          double x[3][3];
          for (int c = 0; c < 3; c++) {
            double y[3] = {at[c][0], at[c][1], f - at[c][0] - at[c][1]}, r = sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
            for (int k = 0; k < 3; k++) x[c][k] = (o >> k & 1 ? -radius : radius) * y[k] / r;
          }
          if (__builtin_popcount((unsigned)o) % 2 == 0) put(&s, x[0], x[1], x[2]);
          else put(&s, x[0], x[2], x[1]);
        }
  return s;
}

static Body ball(double radius, int f, tgiTreeForm form, tgiClimb climb) {
  Soup s = ball_soup(radius, f);
  return make(&s, form, climb);
}

static Body plank(const int cells[3], tgiTreeForm form, tgiClimb climb) {
  static const double half[3] = {1, 0.2, 0.1};
  Soup s = soup(4 * (cells[0] * cells[1] + cells[1] * cells[2] + cells[2] * cells[0]));
  for (int side = 0; side < 6; side++) {
    int k = side / 2, u = (k + 1) % 3, v = (k + 2) % 3;
    for (int i = 0; i < cells[u]; i++)
      for (int j = 0; j < cells[v]; j++) {
        double x[4][3];
        for (int c = 0; c < 4; c++) {
          x[c][k] = side % 2 == 0 ? -half[k] : half[k];
          x[c][u] = half[u] * (2.0 * (i + (c == 1 || c == 2)) / cells[u] - 1);
          x[c][v] = half[v] * (2.0 * (j + (c >= 2)) / cells[v] - 1);
        }
        put(&s, x[0], x[1], x[2]);
        put(&s, x[0], x[2], x[3]);
      }
  }
  return make(&s, form, climb);
}

// ---- the potential along a direction ----

typedef struct Sum { double P, F, blend; } Sum;   // value, force -dP/dx along the direction, its part that blending makes
typedef struct Scene {
  const Body *a, *b;
  double shift[3], along[3];   // of a, at distance x along
  double constant;             // 12 of the publication's form
} Scene;

// w (constant + h(z)), z = squared distance; f is the derivative in z
static double cluster(const Scene *s, double w, double z, double *f) {
  double r = 1 / sqrt(sqrt(z)), i = r * r;
  *f = -w * 6 * (r + i) / z;
  return w * (s->constant + 24 * r + 12 * i);
}

static Sum triangles(const Scene *s, int I, int J) {
  double x[18];
  for (int c = 0; c < 3; c++) {
    tgi_v3_add(x + 3 * c, s->a->n.vert + 3 * s->a->s.face[3 * s->a->t.tri[I] + c], s->shift);
    tgi_v3_copy(x + 9 + 3 * c, s->b->n.vert + 3 * s->b->s.face[3 * s->b->t.tri[J] + c]);
  }
  double pivot[3];
  tgi_v3_copy(pivot, x);
  for (int c = 0; c < 6; c++) tgi_v3_sub(x + 3 * c, x + 3 * c, pivot);
  tgiPair p;
  check(tgi_pair_solve(x, NULL, false, &p), "triangles touch");
  double w = s->a->n.weight[I] * s->b->n.weight[J], slope = tgi_v3_dot(p.g + 3, s->along);
  return (Sum){.P = w * (s->constant + p.S + 2 * sqrt(12 * p.S)), .F = -w * (1 + sqrt(12 / p.S)) * slope};
}

static Sum walk(const Scene *s, int I, int J) {
  const Body *a = s->a, *b = s->b;
  double d[3], C = 0, f, w = a->n.weight[I] * b->n.weight[J];
  for (int i = 0; i < 3; i++) d[i] = a->n.centre[3 * I + i] + s->shift[i] - b->n.centre[3 * J + i];
  double D = tgi_v3_norm(d), d1 = a->n.radius[I] + b->n.radius[J], along = tgi_v3_dot(d, s->along), push = 0;
  if (D > d1) {
    C = cluster(s, w, D * D + a->n.moment[I] + b->n.moment[J], &f);
    push = -2 * f * along;
    if (D >= (1 + eps) * d1) return (Sum){.P = C, .F = push};
  }
  const int *ca = a->t.child + 2 * I, *cb = b->t.child + 2 * J;
  Sum A = {0};
  if (ca[0] < 0 && cb[0] < 0) A = triangles(s, I, J);
  else
    for (int i = 0; i < (ca[0] < 0 ? 1 : 2); i++)
      for (int j = 0; j < (cb[0] < 0 ? 1 : 2); j++) {
        Sum k = walk(s, ca[0] < 0 ? I : ca[i], cb[0] < 0 ? J : cb[j]);
        A.P += k.P;
        A.F += k.F;
        A.blend += k.blend;
      }
  if (D <= d1) return A;
  double t = (D - d1) / (eps * d1), phi = t * t * t * (10 - 15 * t + 6 * t * t), phi1 = 30 * t * t * (1 - t) * (1 - t) / (eps * d1);
  double made = (A.P - C) * phi1 * along / D;
  return (Sum){.P = (1 - phi) * A.P + phi * C, .F = (1 - phi) * A.F + phi * push + made, .blend = (1 - phi) * A.blend + made};
}

static Sum at(Scene *s, double x) {
  tgi_v3_scale(s->shift, s->along, x);
  return walk(s, 0, 0);
}

// ---- the table ----

static Scene scene(const Body *b, const double along[3]) {
  Scene s = {.a = b, .b = b, .constant = b->n.weight[0] == 1 && b->n.moment[0] == 0 ? 12 : 0};
  tgi_v3_copy(s.along, along);
  return s;
}

// gap that carries 1.57 N, by bisection of the logarithm; the planks' middles are 0.2 m + gap apart
static double plank_gap(const Body *b) {
  Scene s = scene(b, up);
  double low = log(1e-6), high = log(10);
  for (int i = 0; i < 24; i++) {
    double middle = 0.5 * (low + high);
    if (mu * at(&s, 0.2 + exp(middle)).F > 1.57) low = middle;
    else high = middle;
  }
  return exp(low);
}

typedef struct Approach { double near, far, share_near, share_most, rise; int minima; } Approach;

// From touch (distance) outwards along a direction. Accelerations at 1 cm and 1 m; over gaps 1e-4 to 10 m: largest part of the force that
// blending makes; minima of the force over the distance, and how much it grows beyond one at most.
static Approach approach(const Body *b, double touch, const double along[3], double mass, int n) {
  Scene s = scene(b, along);
  Sum k = at(&s, touch + 0.01);
  Approach r = {.near = mu * k.F / mass, .share_near = k.blend / k.F, .far = mu * at(&s, touch + 1).F / mass};
  double last = INFINITY, least = INFINITY;
  bool fell = true;
  for (int i = 0; i <= n; i++) {
    k = at(&s, touch + pow(10, -4 + 5.0 * i / n));
    r.share_most = fmax(r.share_most, k.blend / k.F);
    bool grows = k.F > last;
    if (grows && fell) {
      r.minima++;
      least = last;
    }
    if (grows) r.rise = fmax(r.rise, k.F / least - 1);
    fell = !grows;
    last = k.F;
  }
  return r;
}

// ---- frames ----

// fifteen balls in a triangle, 5 mm apart, and one that comes at 2 m/s, on a box, all 2 mm above it
static tgModel *billiards(int f) {
  const double r = 0.1, apart = 2.05 * r;
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  Soup s = ball_soup(r, f);
  check(d != NULL, "no memory");
  int mesh = tg_desc_add_mesh(d, "ball", s.vert, s.nvert, s.face, s.nface), table = tg_desc_add_geom(d, 0, TG_GEOM_BOX, "table");
  const double half[3] = {3, 3, 0.1};
  memcpy(d->geom[table].size, half, sizeof half);
  d->geom[table].pos[2] = -0.1;
  d->geom[table].friction[0] = 0;
  for (int k = 0, row = 0, at = 0; k < 16; k++, at++) {
    if (k > 0 && k < 15 && at > row) row++, at = 0;
    int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_MESH, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    d->geom[g].mesh = mesh;
    d->geom[g].density = 0;
    d->geom[g].friction[0] = 0;
    d->body[b].has_inertial = true;
    d->body[b].mass = 0.5;
    for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.4 * 0.5 * r * r;
    d->body[b].pos[0] = k < 15 ? row * apart * sqrt(0.75) : -4 * r;
    d->body[b].pos[1] = k < 15 ? (at - 0.5 * row) * apart : 0.01;
    d->body[b].pos[2] = r + 0.002;
  }
  tgModel *m = tg_model_compile(d, NULL, &e);
  check(m != NULL, e.text);
  tg_desc_free(d);
  free(s.vert);
  free(s.face);
  return m;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void frames(int f, tgHierarchy hierarchy) {
  enum { FRAMES = 40 };
  tgError e = {0};
  tgModel *m = billiards(f);
  tgBarrierOptions o = tg_barrier_default();
  o.hierarchy = hierarchy;
  o.weight = mu;
  o.eps = eps;
  tgContact *c = tg_contact_create(m, "barrier", &o.of, &e);
  check(c != NULL, e.text);
  tgSim *sim = tg_sim_create(m, c, NULL, &e);
  check(sim != NULL, e.text);
  tg_sim_qvel(sim)[15 * 6] = 2;
  double took = 0, worst = 0;
  int total = 0, most = 0;
  for (int k = 0; k < FRAMES; k++) {
    tgStepInfo info = {0};
    double start = now();
    tgStatus st = tg_sim_step_growing(sim, 0.04, &info);
    check(st == TG_OK, tg_sim_error(sim)->text);
    took += now() - start;
    worst = fmax(worst, now() - start);
    total += info.iterations;
    if (info.iterations > most) most = info.iterations;
  }
  printf("| %s | %d | %.1f | %d | %.1f | %.1f |\n", hierarchy == TG_HIERARCHY_PAPER ? "publication" : "moment",
         16 * 8 * f * f, total / (double)FRAMES, most, 1e3 * took / FRAMES, 1e3 * worst);
  fflush(stdout);
  tg_sim_free(sim);
  tg_contact_free(c);
  tg_model_free(m);
}

static int all_frames(int most) {
  static const int cells[] = {2, 4, 7};
  printf("| form | T of 16 balls | Newton steps a frame | most | ms a frame | worst |\n|---|---|---|---|---|---|\n");
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++)
      if (8 * cells[i] * cells[i] <= most) frames(cells[i], k == 0 ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT);
  return 0;
}

int main(int argc, char **argv) {
  static const struct { int f, cells[3]; } size[] =
      {{1, {1, 1, 1}}, {2, {5, 1, 1}}, {4, {10, 2, 1}}, {7, {20, 4, 2}}, {16, {40, 8, 4}}, {28, {70, 14, 7}}};
  static const struct { const char *name; tgiTreeForm form; tgiClimb climb; } kind[] = {
      {"publication", TGI_TREE_PAPER, TGI_CLIMB_SUM}, {"sum", TGI_TREE_MOMENT, TGI_CLIMB_SUM}, {"area", TGI_TREE_MOMENT, TGI_CLIMB_AREA}};
  if (argc > 1 && strcmp(argv[1], "--frames") == 0) return all_frames(argc > 2 ? atoi(argv[2]) : 392);
  int most = argc > 1 ? atoi(argv[1]) : 6272;
  printf("| weights | planks T | gap mm | blended at most | minima | beyond | balls T | a(1 cm) | a(1 m) | blended 1 "
         "cm | at most | minima | beyond |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
      if (8 * size[i].f * size[i].f > most) continue;
      int n = size[i].f > 10 ? 300 : 1500;
      Body p = plank(size[i].cells, kind[k].form, kind[k].climb), b = ball(0.1, size[i].f, kind[k].form, kind[k].climb);
      double gap = plank_gap(&p);
      Approach r = approach(&p, 0.2, up, 0.16, n), q = approach(&b, 0.2, aslant, 0.5, n);
      printf("| %s | %d | %.3g | %.0f %% | %d | %+.2g %% | %d | %.3g | %.3g | %.0f %% | %.0f %% | %d | %+.2g %% |\n",
             kind[k].name, p.s.nface, 1e3 * gap, 100 * r.share_most, r.minima, 100 * r.rise, b.s.nface, q.near, q.far,
             100 * q.share_near, 100 * q.share_most, q.minima, 100 * q.rise);
      fflush(stdout);
      body_free(&p);
      body_free(&b);
    }
  return 0;
}
