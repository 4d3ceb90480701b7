// bench_tree_steps.c: steps of `lcp` of random trees with many contacts beside steps of the same tree with four.
// usage: bench_tree_steps [SEED ...]
//
// Trees of test/support/random_tree.h (damping 0.1) that fall on a plane under random torques of 0.3 N m, anew each 0.05 s, for 2 s at
// 5 ms. Steps with 18 to 25 contacts are of the tree as it is: links that begin at one place lie in each other, so that overlaps stay that
// cannot be pushed out. Steps with 3 to 5 are of the tree whose links do not meet there. By default the first six seeds of 15 to 20 links
// that have both, 100 steps of the one and 30 of the other. Milliseconds of the thread, means and medians; how many rows of errors a step
// left, iterations of its solver, steps that went on by a fallback.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "support/random_tree.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

enum { STEPS = 400, HOLD = 10 };
typedef struct Steps {
  int n, fallback;
  double ms[STEPS], mean, left, iterations;
} Steps;

static tgSim *make(int seed, int contact, tgModel **m, tgContact **c) {
  tgError e = {0};
  tgLcpOptions o = tg_lcp_default();
  char text[TGT_TREE_TEXT];
  tgt_random_tree(seed, false, 0.1, contact, text);
  tgDesc *d = tg_desc_load_memory("tree.xml", text, strlen(text), NULL, &e);
  *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  tg_desc_free(d);
  *c = *m != NULL ? tg_contact_create(*m, "lcp", &o.of, &e) : NULL;
  tgSim *s = *c != NULL ? tg_sim_create(*m, *c, NULL, &e) : NULL;
  if (s == NULL) fprintf(stderr, "tree %d: %s\n", seed, e.text);
  return s;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// the steps with `least` to `most` contacts
static bool run(int seed, int contact, int least, int most, Steps *t) {
  tgModel *m = NULL;
  tgContact *c = NULL;
  tgSim *s = make(seed, contact, &m, &c);
  tgtRandom r = {.s = 1000 + (uint64_t)seed};
  *t = (Steps){.n = 0};
  bool good = s != NULL;
  for (int k = 0; k < STEPS && good; k++) {
    tgStepInfo info;
    for (int d = 6; d < tg_model_nv(m) && k % HOLD == 0; d++) tg_sim_qfrc_applied(s)[d] = 0.3 * tgt_normal(&r);
    double start = tgb_core();
    good = tg_sim_step_growing(s, 0.005, &info) == TG_OK;
    double ms = 1e3 * (tgb_core() - start);
    if (!good) fprintf(stderr, "tree %d, step %d: %s\n", seed, k, tg_sim_error(s)->text);
    if (!good || info.ncontact < least || info.ncontact > most) continue;
    t->ms[t->n++] = ms;
    t->mean += ms;
    t->left += info.nleft;
    t->iterations += info.iterations;
    t->fallback += info.fallback != 0;
  }
  double of = fmax(1, t->n);
  t->mean /= of;
  t->left /= of;
  t->iterations /= of;
  qsort(t->ms, (size_t)t->n, sizeof *t->ms, by_size);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  static const int DEFAULT[] = {8, 12, 21, 24, 25, 28};
  static Steps many, four;
  int count = argc > 1 ? argc - 1 : (int)(sizeof DEFAULT / sizeof *DEFAULT);
  printf("%4s %5s | %5s %8s %8s %6s %10s %5s | %5s %8s %8s | %6s %6s\n", "seed", "links", "many", "mean ms", "median", "left", "iterations",
         "fell", "four", "mean ms", "median", "ratio", "median");
  for (int i = 0; i < count; i++) {
    int seed = argc > 1 ? atoi(argv[i + 1]) : DEFAULT[i];
    tgtTree t;
    tgt_draw_tree(seed, false, 0.1, &t);
    if (!run(seed, TGT_TREE_MEETS, 18, 25, &many) || !run(seed, TGT_TREE_MEETS_BUT_SIBLINGS, 3, 5, &four)) return 1;
    printf("%4d %5d | %5d %8.3f %8.3f %6.1f %10.1f %5d | %5d %8.3f %8.3f | %6.1f %6.1f\n", seed, t.n, many.n, many.mean,
           many.ms[many.n / 2], many.left, many.iterations, many.fallback, four.n, four.mean, four.ms[four.n / 2], many.mean / four.mean,
           many.ms[many.n / 2] / four.ms[four.n / 2]);
    fflush(stdout);
  }
  return 0;
}
