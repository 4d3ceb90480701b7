// nlp.h: nonlinear programs with equality constraints in a box, solved by Ipopt where this build has it.
#ifndef TG_OPTIM_NLP_H
#define TG_OPTIM_NLP_H

#include "base/status.h"

/// min f(x), c(x) = 0, low <= x <= high. Functions return false where they cannot be had at x: the solver then tries a shorter step.
typedef struct tgNlp {
  int n, m, njacobian;                // variables, constraints, entries of the sparse Jacobian
  const double *low, *high;           // n; infinite: no bound
  const double *zero;                 // m zeros
  double *x;                          // start, then where the solver ended
  int iterations, memory;             // at most; pairs of the limited-memory BFGS Hessian
  double tolerance;                   // on optimality (scaled) and on constraints
  void *ctx;
  bool (*value)(void *ctx, const double *x, double *f, double *c);
  bool (*derivative)(void *ctx, const double *x, double *g, double *jacobian);
  void (*structure)(void *ctx, int *row, int *column);
  bool (*iteration)(void *ctx, int iteration, double infeasibility);   // after iteration k, and with 0 at the start; false: stop
} tgNlp;

/// False in a build without Ipopt.
bool tgi_nlp_available(void);

/// Solves; prints nothing, reads no option file. TG_OK: solved, or stopped by `iteration`. TG_NOT_CONVERGED: error says how it ended; x is
/// the last point. TG_ERR_UNSUPPORTED: this build has no Ipopt.
tgStatus tgi_nlp_solve(tgNlp *nlp, tgError *error);

#endif
