// sensitivity.h: how the states of a stretch of steps, and the loss over it, change with what is decided: forward, by the steps' Jacobians.
#ifndef TG_OPTIM_SENSITIVITY_H
#define TG_OPTIM_SENSITIVITY_H

#include "base/layout.h"
#include "optim/task.h"

/// Columns: `nstate` that move the first state, then the control variables first .. first + ncontrol - 1.
typedef struct tgSensitivity {
  int nx, nu, nstate, first, ncontrol;
  double *S;                // nx x (nstate + ncontrol): d(state)/d(column); the caller fills it for the first state
  double *next, *Z, *W, *U; // work
} tgSensitivity;

/// Places the arrays for at most `columns` columns.
void tgi_sensitivity_place(tgSensitivity *w, int columns, tgLayout *l);

/// Goes through `steps` steps from step `from` of the task whose expansion is e: S becomes that of the last state; g (columns) += gradient
/// of the loss, and, where H is not NULL, H (columns x columns) += its Gauss-Newton Hessian (then e->H is needed). x: decision variables.
void tgi_sensitivity_run(tgSensitivity *w, const tgTask *task, const double *x, int from, int steps,
                         const tgExpansion *e, double *g, double *H);

/// S (nx x nstate of them) for the task's decided initial values at x; columns: of S; work: nv + 2 nv x ninitial.
void tgi_sensitivity_initial(const tgTask *task, const double *x, double *S, int columns, double *work);

#endif
