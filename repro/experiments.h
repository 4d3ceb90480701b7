// experiments.h: what the experiments share: tasks of models/ that are run, and what is left of them to look at.
#ifndef TG_REPRO_EXPERIMENTS_H
#define TG_REPRO_EXPERIMENTS_H

#include <stdio.h>

#include "cli/shared/rows.h"

/// How a task of models/ is run in an experiment.
typedef struct tgTaskRun {
  const char *file, *method;   // method NULL: the task's
  int iterations;              // 0: the task's
  bool zero_contact;           // the ablation without contact gradients
  bool held;                   // with the task's stages of refinement and its replays; else by its own motion alone, as the papers judge
  double seconds, loss;        // stop at this wall clock or loss, 0: neither
  uint64_t seed;
} tgTaskRun;
/// A task of models/. NULL: reason printed.
tgTask *tgi_models_task(const char *file);
/// Optimises it. NULL: reason printed. *task (may be NULL) is the task, to be freed after the optimum is used.
tgOptimum *tgi_run_task(tgRun *run, const tgTaskRun *how, tgTask **task);
/// The same from seeds 0 .. starts - 1 until a loss is at most `enough`; the best. *used (may be NULL): how many starts that took.
tgOptimum *tgi_run_starts(tgRun *run, const tgTaskRun *how, int starts, double enough, int *used, tgTask **task);
/// Leaves first and best iterate in the run's folder under `name`. False: reason printed.
bool tgi_run_leave_task(tgRun *run, const char *name, const tgTask *task, const tgOptimum *optimum);
/// Rows of a motion's replays, [SCENE.]verify.NAME.error_m, each with what it is and what became of it; scene NULL: none.
void tgi_run_verification(tgRun *run, const char *scene, const tgVerification *v);
/// The same of a motion that is replayed here, as its task asks. False: reason printed.
bool tgi_run_verify(tgRun *run, const char *scene, const tgTask *task, const double *x);
/// Ends a picture that was drawn into `f`, closes it and leaves it at `path`. False: reason printed.
bool tgi_run_picture(tgRun *run, FILE *f, const char *path);
/// Leaves a recorded motion in the run's folder under `name`. False: reason printed.
bool tgi_run_leave(tgRun *run, const char *name, const char *title, const tgModel *model, double h, tgCliTrajectory *trajectory, int count,
                   const tgReplayMarker *marker, int nmarker);

// ---- descent.c ----

enum { TG_DESCENT_MOST = 8 };   // variables
/// What is descended, and for how long.
typedef struct tgDescent {
  int n, tries;                // variables; values taken at most
  double longest, shortest;    // the first step and the longest; below the other it ends
  double enough;               // so does it at this loss
  bool (*value)(void *ctx, const double *x, double *loss, double *g); void *ctx;   // false: reason printed
} tgDescent;
/// Along the gradient from x, with steps that are halved where they gain nothing and doubled where they do. *loss at x, *tries: values
/// taken. False: reason printed.
bool tgi_descend(const tgDescent *d, double *x, double *loss, int *tries);

// ---- cost.c ----

/// Seconds that this thread has spent on its core.
double tgi_core_now(void);

// ---- parallel.c ----

/// Calls work(ctx, i) once for each i in 0 .. n - 1, several at a time in threads of their own: as many as the command
/// line says, else one for each core that this process may use. False: the system gives no thread, reason printed.
bool tgi_run_parallel(const tgRun *run, int n, void (*work)(void *ctx, int i), void *ctx);

bool tgi_reproduce_reach(tgRun *run);
bool tgi_reproduce_jacobians(tgRun *run);
bool tgi_reproduce_search(tgRun *run);
bool tgi_reproduce_drone(tgRun *run);
bool tgi_reproduce_motions(tgRun *run);
bool tgi_reproduce_prisms(tgRun *run);
bool tgi_reproduce_gripper(tgRun *run);
bool tgi_reproduce_two_balls(tgRun *run);
bool tgi_reproduce_collisions(tgRun *run);
bool tgi_reproduce_pancake(tgRun *run);
bool tgi_reproduce_peg(tgRun *run);
bool tgi_reproduce_impacts(tgRun *run);
bool tgi_reproduce_force_profile(tgRun *run);
bool tgi_reproduce_drop(tgRun *run);
bool tgi_reproduce_roll(tgRun *run);
bool tgi_reproduce_flip(tgRun *run);
bool tgi_reproduce_bowl(tgRun *run);
bool tgi_reproduce_cloth(tgRun *run);
bool tgi_reproduce_push_t(tgRun *run);

extern const tgExperiment tgi_reproductions[];
extern const int tgi_nreproduction;

/// Sets an option of the task's contact model.
tgStatus tgi_task_number(tgTask *task, const char *name, double value, tgError *error);

#endif
