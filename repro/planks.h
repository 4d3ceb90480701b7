// planks.h: the stack of planks of models/planks.xml under the barrier, as BA-R1 uses it. Planks count from the bottom, 0 to TG_PLANKS - 1.
#ifndef TG_REPRO_PLANKS_H
#define TG_REPRO_PLANKS_H

#include "repro/experiments.h"
#include "tangere/barrier.h"

enum { TG_PLANKS = 20 };
static const double tgi_plank_height = 0.2;   // m

/// What a plank may do: go up and down, without friction; go along three axes without turning; everything (the file's free joints).
typedef enum tgPlankHold { TG_PLANKS_SINK, TG_PLANKS_SLIDE, TG_PLANKS_FREE } tgPlankHold;

/// First what the caller chooses.
typedef struct tgPlanks {
  double mu;
  tgHierarchy form;
  const int *cells;              // of a plank's sides (tgi_mesh_box); NULL: the file's twelve triangles
  tgPlankHold hold;
  double slip;                   // slip speed of friction [m/s]; 0: the default
  tgModel *model;
  tgContact *contact;
  tgSim *sim;
} tgPlanks;

/// False: error says why; to be closed all the same.
bool tgi_planks_open(tgPlanks *p, const char *file, tgError *error);
void tgi_planks_close(tgPlanks *p);

/// Place [m] and turn of a plank at the coordinates q.
void tgi_planks_pose(const tgPlanks *p, const double *q, int plank, double x[3], double quat[4]);
/// All planks at these heights of their middles [m], in the file's places otherwise.
void tgi_planks_lift(tgPlanks *p, const double z[TG_PLANKS]);
double tgi_planks_weight(const tgPlanks *p, int plank);   // [N]
/// Upward force on a plank by another, or by the floor (-1), at the last step's end [N].
double tgi_planks_push(const tgPlanks *p, int plank, int other);
/// The largest sum of the upward forces on a plank and its weight, at the last step's end [N].
double tgi_planks_imbalance(const tgPlanks *p);
/// Planks that may only sink do so, by steps that each begin at rest, until forces and weights balance to `enough` [N],
/// in at most `most` steps. *imbalance: what is left. Status of the first step that fails.
tgStatus tgi_planks_sink(tgPlanks *p, double enough, int most, double *imbalance);

// ---- planks_picture.c ----

/// A plank from the side: its middle [m] and its turn towards falling [rad].
typedef struct tgPlanksPlace { double x, z, tilt; } tgPlanksPlace;
typedef struct tgPlanksPicture {
  int n;                         // of mu
  const double *mu, *published, *paper, *moment;   // and margins [m], NAN: none
  tgPlanksPlace stands[TG_PLANKS], falls[TG_PLANKS];
  double fell;                   // when they are as in falls [s]
} tgPlanksPicture;
/// stack.svg in the run's folder. False: reason printed.
bool tgi_planks_draw(tgRun *run, const tgPlanksPicture *p);

#endif
