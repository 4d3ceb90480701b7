// lbfgs.c: L-BFGS with bounds, of [NLopt]. The one file that knows NLopt.
#include "optim/optimize.h"

#ifndef TG_NLOPT

bool tgi_lbfgs_available(void) { return false; }

tgStatus tgi_opt_lbfgs(tgOptRun *r, double *x) {
  (void)x;
  return tgi_error(&r->out->error, TG_ERR_UNSUPPORTED,
                   "method lbfgs needs NLopt, which this build is without: install libnlopt-dev and build again "
                   "(-DTG_WITH_NLOPT=ON insists on it)");
}

#else

#include <math.h>
#include <nlopt.h>

bool tgi_lbfgs_available(void) { return true; }

typedef struct Lbfgs { tgOptRun *run; nlopt_opt opt; tgStatus status; bool reached; double *scratch; } Lbfgs;

// NLopt asks; an evaluation that cannot be had stops it, as the last one does. It may ask again before it looks: the outcome has no room
// for that.
static double lbfgs_objective(unsigned n, const double *x, double *g, void *ctx) {
  Lbfgs *l = ctx;
  double f;
  (void)n;
  if (l->status != TG_OK || l->reached) return HUGE_VAL;
  l->status = tgi_opt_eval(l->run, x, &f, g != NULL ? g : l->scratch);
  if (l->status == TG_OK) l->reached = tgi_opt_iteration(l->run, f) || l->run->out->iterations >= l->run->task->optimizer.iterations;
  if (l->status != TG_OK || l->reached) nlopt_force_stop(l->opt);
  return l->status == TG_OK ? f : HUGE_VAL;
}

tgStatus tgi_opt_lbfgs(tgOptRun *r, double *x) {
  const YamlOptimizer *o = &r->task->optimizer;
  nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)r->task->n);
  if (opt == NULL) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for L-BFGS in %d variables", r->task->n);
  Lbfgs l = {.run = r, .opt = opt};
  nlopt_set_min_objective(opt, lbfgs_objective, &l);
  nlopt_set_lower_bounds(opt, r->low);
  nlopt_set_upper_bounds(opt, r->high);
  if (o->memory > 0) nlopt_set_vector_storage(opt, (unsigned)o->memory);
  if (o->tolerance > 0) nlopt_set_ftol_rel(opt, o->tolerance);
  double f;
  nlopt_result rc = nlopt_optimize(opt, x, &f);
  nlopt_destroy(opt);
  if (l.status != TG_OK) return l.status;
  // a line search that finds nothing lower ends the method, it is no fault; the best iterate stands
  if (rc == NLOPT_OUT_OF_MEMORY) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory in L-BFGS");
  if (rc == NLOPT_INVALID_ARGS) return tgi_error(&r->out->error, TG_ERR_INVALID, "NLopt refuses the bounds or the start");
  return TG_OK;
}

#endif
