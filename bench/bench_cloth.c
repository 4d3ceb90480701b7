// bench_cloth.c: steps of `damped` of a cloth, from a file that bench/cloth.py writes, and the gradient of a rollout.
// usage: bench_cloth FILE STEPS H ROLLOUT
//
// A JSON row: dofs; means of a step, of its Newton steps, of its adjoint [ms]; whether the step's matrix is dense, and bytes of its
// factors; of a rollout of that many steps (0: none) seconds with its gradient; bytes of the process at most. Times are the processor's.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/clock.h"
#include "bench/last_speeds.h"
#include "step/midpoint.h"   // private: its matrix
#include "tangere/damped.h"
#include "tangere/model.h"
#include "tangere/rollout.h"

typedef struct Row { double step, newton, adjoint, rollout; } Row;

static bool steps_of(tgSim *s, int nv, int steps, double h, double *g, Row *row) {
  for (int i = 0; i < 2 * nv; i++) g[i] = 1;
  for (int k = 0; k < steps; k++) {
    tgStepInfo info;
    tgStatus status;
    double start = tgb_core();
    while ((status = tg_sim_step(s, h, &info)) == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK) start = tgb_core();
    row->step += 1e3 * (tgb_core() - start) / steps;
    row->newton += (double)info.iterations / steps;
    start = tgb_core();
    if (status != TG_OK || tg_sim_step_vjp(s, g, g + nv, g + 2 * nv, g + 3 * nv, NULL, NULL, NULL) != TG_OK) return false;
    row->adjoint += 1e3 * (tgb_core() - start) / steps;
  }
  return true;
}

static bool rollout(const tgModel *m, const tgContact *c, int nv, int steps, double h, double *g, Row *row, tgError *e) {
  tgRolloutOptions o = tg_rollout_default();
  tgRolloutResult result;
  if (steps == 0) return true;
  o.steps = steps;
  o.h = h;
  tgRollout *r = tg_rollout_create(m, c, &o, e);
  if (r == NULL) return false;
  double start = tgb_core();
  bool good = tg_rollout_run(r, &(tgRolloutRun){.loss = tgb_last_speeds, .loss_ctx = &nv, .dq0 = g, .dv0 = g + nv}, &result) == TG_OK;
  row->rollout = tgb_core() - start;
  *e = result.error;
  tg_rollout_free(r);
  return good;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  tgError e = {0};
  tgDampedOptions o = tg_damped_default();
  double h = atof(argv[3]);
  Row row = {0};
  o.resting_gap = 0.002;
  tgModel *m = tg_model_load(argv[1], NULL, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, "damped", &o.of, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  int nv = m != NULL ? tg_model_nv(m) : 0;
  double *g = calloc(4 * (size_t)nv + 1, sizeof *g);
  bool good = s != NULL && g != NULL;
  if (good && !steps_of(s, nv, atoi(argv[2]), h, g, &row)) {
    e = *tg_sim_error(s);
    good = false;
  }
  if (!good || !rollout(m, c, nv, atoi(argv[4]), h, g, &row, &e)) {
    fprintf(stderr, "%s\n", e.text);
    return 1;
  }
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  const tgiPattern *p = &tgi_midpoint_own(s)->pattern;
  printf("{\"dofs\": %d, \"step\": %.4f, \"newton\": %.2f, \"adjoint\": %.4f, \"dense\": %s, \"factors\": %zu, \"rollout\": %.3f, "
         "\"bytes\": %zu}\n", nv, row.step, row.newton, row.adjoint, p->dense ? "true" : "false",
         (p->dense ? 1 : 2) * p->size * sizeof(tgReal), row.rollout, (size_t)use.ru_maxrss << 10);
  free(g);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return 0;
}
