// bench_pair.c: millions of triangle pairs a second, with gradient and 6x6 Hessian, of every kernel that the
// machine has: cold, and warm from the plane of a pose moved by a tenth of the gap and turned by 0.02. Beside it
// what is to be reached on AVX-512.
// Usage: bench_pair [blocks per kind]
#include <stdio.h>
#include <stdlib.h>

#include "bench/clock.h"
#include "contact/barrier/pair/pair_wide.h"   // private: the kernel of pairs is timed by itself
#include "contact/barrier/pairs.h"

enum { REPEATS = 7 };

typedef struct Work { const char *name; tgiPairBlock *cold, *warm; int n; } Work;

static void fill(Work *w, int kind, double gap, tgtRandom *r) {
  for (int i = 0; i < w->n; i++)
    for (int l = 0; l < TGI_PAIR_LANES; l++) {
      double x[18], size[2] = {1, 1}, turn[3];
      if (kind == PAIR_KINDS) gap = pair_any(r, x);
      else pair_make(r, kind, gap, size, 1, 0.2, x);
      for (int k = 0; k < 18; k++) w->cold[i].x[k][l] = w->warm[i].x[k][l] = x[k];
      // the pose before: A turned about its nearest place, the origin of the generator, and lifted
      for (int k = 0; k < 3; k++) turn[k] = fmin(0.02, 0.1 * gap) * tgt_uniform(r, -1, 1);
      for (int k = 0; k < 9; k += 3)
        for (int j = 0; j < 3; j++) {
          double d = turn[(j + 1) % 3] * x[k + (j + 2) % 3] - turn[(j + 2) % 3] * x[k + (j + 1) % 3];
          w->warm[i].x[k + j][l] = x[k + j] + d;
        }
    }
}

static double run(int isa, tgiPairBlock *b, const tgiPairBlock *planes, int n) {
  double least = 1e30;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    if (planes != NULL)
      for (int i = 0; i < n; i++)
        for (int l = 0; l < TGI_PAIR_LANES; l++) {
          for (int k = 0; k < 3; k++) b[i].u[k][l] = planes[i].u[k][l];
          b[i].delta[l] = planes[i].delta[l];
        }
    double start = tgb_core();
    for (int i = 0; i < n; i++) {
      b[i].count = TGI_PAIR_LANES;
      b[i].warm = planes != NULL ? (1u << TGI_PAIR_LANES) - 1 : 0;
      tgi_pair_block_on(isa, &b[i]);
    }
    least = fmin(least, tgb_core() - start);
  }
  return least;
}

static double steps(const tgiPairBlock *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    int most = 0;
    for (int l = 0; l < TGI_PAIR_LANES; l++) most = b[i].steps[l] > most ? b[i].steps[l] : most;
    sum += most;
  }
  return sum / n;
}

int main(int argc, char **argv) {
  static const struct { int kind; double gap; } cases[] = {
      {APART, 3},           {VERTEX_FACE, 1e-1}, {VERTEX_FACE, 1e-3}, {EDGE_EDGE, 1e-2},        {FACE_FACE, 1e-2},
      {VERTEX_VERTEX, 1e-2}, {VERTEX_EDGE, 1e-2}, {VERTEX_EDGE, 1e-6}, {FLAT_VERTEX_EDGE, 1e-3}, {BOX_FACES, 1e-3},
      {BOX_SIDES, 1e-3},    {PAIR_KINDS, 0}};
  int n = argc > 1 ? atoi(argv[1]) : 500;
  Work w = {.n = n};
  if (n <= 0) return 1;
  w.cold = aligned_alloc(64, ((size_t)n * sizeof *w.cold + 63) / 64 * 64);
  w.warm = aligned_alloc(64, ((size_t)n * sizeof *w.warm + 63) / 64 * 64);
  if (w.cold == NULL || w.warm == NULL) return 1;
  printf("%-8s %-18s %7s  %9s %9s  %6s %6s   (to reach on avx512: 8 cold, 11 warm)\n", "kernel", "pair", "gap",
         "cold M/s", "warm M/s", "steps", "warm");
  for (int isa = 0; isa < tgi_isas(); isa++) {
    tgtRandom r = {31};
    double cold = 0, warm = 0;
    int count = (int)(sizeof cases / sizeof *cases);
    if (!tgi_isa_present(isa)) continue;
    for (int c = 0; c < count; c++) {
      const char *name = cases[c].kind == PAIR_KINDS ? "torture" : pair_kind[cases[c].kind];
      fill(&w, cases[c].kind, cases[c].gap, &r);
      run(isa, w.warm, NULL, n);  // planes of the pose before
      double a = run(isa, w.cold, NULL, n), first = steps(w.cold, n), b = run(isa, w.cold, w.warm, n), pairs = 1e-6 * TGI_PAIR_LANES * n;
      printf("%-8s %-18s %7.0e  %9.2f %9.2f  %6.2f %6.2f\n", tgi_isa_name(isa), name, cases[c].gap, pairs / a,
             pairs / b, first, steps(w.cold, n));
      cold += a / pairs;
      warm += b / pairs;
    }
    printf("%-8s %-18s %7s  %9.2f %9.2f\n", tgi_isa_name(isa), "all", "", count / cold, count / warm);
  }
  free(w.cold);
  free(w.warm);
  return 0;
}
