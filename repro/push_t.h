// push_t.h: what the experiments with the pushed T share.
#ifndef TG_REPRO_PUSH_T_H
#define TG_REPRO_PUSH_T_H

#include "repro/experiments.h"
#include "tangere/data.h"
#include "tangere/softmin.h"

enum { TG_PUSH_GOALS = 5, TG_PUSH_STEPS = 3, TG_PUSH_INTEGRATORS = 2, TG_PUSH_CLOUDS = 2 };

/// models/push_t.npz, which tools/push_t.py makes, and the model. Poses are (x, y, angle) of the T [m, rad].
typedef struct tgPushGoals {
  tgNpz npz;
  tgModel *model;
  int nhold;
  const double *hold;            // each target is held so long [s]
  const double *u;               // GOALS x nhold x 2: targets of the finger from where it is drawn [m]
  const double *goal;            // GOALS x 3
  const double *step;            // STEPS: of the replays [s]
  double searched;               // simulations of the search, all goals
  const double *final;           // GOALS x INTEGRATORS (RK4, Euler) x STEPS x 3: where MuJoCo ends
} tgPushGoals;

/// False: reason printed, nothing held.
bool tgi_push_open(tgPushGoals *s);
void tgi_push_close(tgPushGoals *s);
void tgi_push_pose(const double q[7], double x[3]);
/// Distance of two poses [cm], and the turn between them [deg].
double tgi_push_apart(const double a[3], const double b[3], double *turn);
/// Options of `softmin` for the scene.
tgSoftminOptions tgi_push_options(const tgPushGoals *s);
/// The goals by gradient: rows, and the targets found. False: it could not be run, and the reason is said.
bool tgi_push_by_gradient(tgRun *run, const tgPushGoals *s);

#endif
