// shooting.h: the nonlinear program of multiple shooting, apart from its solver.
#ifndef TG_OPTIM_SHOOTING_H
#define TG_OPTIM_SHOOTING_H

#include "optim/nlp.h"
#include "optim/optimize.h"

typedef struct tgShooting tgShooting;

/// The program of r's task about the rollout of x; r must outlive it. NULL: *status and r->out->error say why.
tgShooting *tgi_shooting_create(tgOptRun *r, const double *x, tgStatus *status);
void tgi_shooting_free(tgShooting *shooting);
/// The program, at its start.
tgNlp *tgi_shooting_nlp(tgShooting *shooting);

#endif
