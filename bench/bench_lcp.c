// bench_lcp.c: mean processor time of a frictional LCP by family, cold and from the classes of a neighbouring problem,
// with that of one vector-Jacobian product of the class solve. Usage: bench_lcp [problems per family]
//
// Target: below 50 us cold for four contacts (the first and third family).
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "contact/lcp/families.h"   // private: the solver is timed by itself

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);  // other programs on the machine do not count
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Tally {
  double cold, warm, vjp;
  int solved, stage[6], warm_hits;
} Tally;

static void run(tgiLcp *s, Scene *scene, tgtRandom *r, Tally *t) {
  tgReal f[MAX_ROWS], g[MAX_ROWS], rbar[MAX_ROWS], tbar[MAX_ROWS];
  int8_t cls[MAX_ROWS];
  tgiLcpInfo info;
  tgiLcpProblem p = scene_problem(scene);
  double start = now();
  tgStatus status = tgi_lcp_solve(s, &p, NULL, f, NULL, cls, &info);
  t->cold += now() - start;
  t->solved += status == TG_OK;
  t->stage[info.stage]++;
  for (int i = 0; i < scene->n; i++) g[i] = 1;
  start = now();
  tgi_lcp_derivative_t(s, g, rbar, tbar);
  t->vjp += now() - start;
  for (int j = 0; j < scene->dof; j++) scene->v[j] *= 1 + 0.01 * tgt_normal(r);
  scene_finish(scene);
  start = now();
  tgi_lcp_solve(s, &p, cls, f, NULL, cls, &info);
  t->warm += now() - start;
  t->warm_hits += info.stage == TGI_LCP_WARM;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 2000;
  size_t bytes = tgi_lcp_bytes(3, 16, 32);
  void *memory = malloc(bytes);
  Scene *scene = malloc(sizeof *scene);
  tgiLcp s;
  if (memory == NULL || scene == NULL || count <= 0 || tgi_lcp_init(&s, memory, bytes, 3, 16, 32) != TG_OK) return 1;
  printf("%-16s %5s %9s %9s %9s %8s %8s %7s %7s\n", "family", "rows", "cold us", "warm us", "vjp us", "pivot", "lemke",
         "warm %", "solved");
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom r = {1 + (uint64_t)family};
    Tally t = {0};
    for (int k = 0; k < count; k++) {
      make_scene(scene, family, &r);
      run(&s, scene, &r, &t);
    }
    printf("%-16s %5d %9.2f %9.2f %9.2f %8d %8d %7.1f %7d\n", family_name[family], scene->n, 1e6 * t.cold / count,
           1e6 * t.warm / count, 1e6 * t.vjp / count, t.stage[TGI_LCP_PIVOT], t.stage[TGI_LCP_LEMKE],
           100.0 * t.warm_hits / count, t.solved);
  }
  free(memory);
  free(scene);
  return 0;
}
