// experiments.h: what the named experiments of `tangere reproduce` and the measurements of `tangere bench` share.
#ifndef TG_CLI_EXPERIMENTS_H
#define TG_CLI_EXPERIMENTS_H

#include "cli/cli.h"

/// A row that an experiment must give: value <= limit or >= limit, or only reported (sense 0). paper: the published figure in the row's unit, NAN
/// when there is none.
typedef struct tgBand {
  const char *name;
  char sense;                  // '<', '>', 0
  double limit;
  const char *unit;
  double paper;
} tgBand;

struct tgExperiment;
/// A run of an experiment: rows found so far, and where it may leave files.
typedef struct tgRun {
  const tgCli *cli;
  const struct tgExperiment *experiment;
  json_t *rows;
  const char *folder;          // NULL: leave nothing
  double began;
  json_t *left;                // paths of replays and plots
} tgRun;

typedef struct tgExperiment {
  const char *id, *title;
  bool (*run)(tgRun *run);     // false: it could not be run, and the reason is said
  const tgBand *band; int nband;
} tgExperiment;

/// Adds the row of that name of the experiment's bands, or a reported row beyond them. note (printf style) may be "".
void tgi_run_row(tgRun *run, const char *name, double value, const char *note, ...) TG_PRINTF(4, 5);
/// A reported row beyond the bands, with its unit and the paper's figure (NAN: none).
void tgi_run_report(tgRun *run, const char *name, double value, const char *unit, double paper, const char *note);
/// The one where the experiment has a band of that name, the other where not.
void tgi_run_any(tgRun *run, const char *name, double value, const char *unit, double paper, const char *note);
/// Progress on standard error: `done` of `total`, with an estimate of the time left.
void tgi_run_progress(const tgRun *run, const char *what, double done, double total, double since);

/// A file of models/, found from the executable (build/bin/tangere) or $TANGERE_MODELS. False: reason printed.
bool tgi_models_file(const char *name, char *path, size_t size);
/// A model of models/ under `lcp`, or contact model `word`, (options may be NULL) with a simulation of it. False: reason printed, nothing held.
typedef struct tgScene { tgModel *model; tgContact *contact; tgSim *sim; double h; } tgScene;
bool tgi_scene_open_under(tgScene *scene, const char *file, const char *word, const tgContactOptions *options);
bool tgi_scene_open(tgScene *scene, const char *file, const tgContactOptions *options);
void tgi_scene_close(tgScene *scene);
/// A step that makes room when it is short of it.
tgStatus tgi_scene_step(tgScene *scene, tgStepInfo *info);

/// Median and least of n numbers; sorts them.
double tgi_median(double *x, int n);

/// How a task of models/ is run in an experiment.
typedef struct tgTaskRun {
  const char *file, *method;   // method NULL: the task's
  int iterations;              // 0: the task's
  bool zero_contact;           // the ablation without contact gradients
  double seconds, loss;        // stop at this wall clock or loss, 0: neither
  uint64_t seed;
} tgTaskRun;
/// Optimises it. NULL: reason printed. *task (may be NULL) is the task, to be freed after the optimum is used.
tgOptimum *tgi_run_task(tgRun *run, const tgTaskRun *how, tgTask **task);
/// The same from seeds 0 .. starts - 1 until a loss is at most `enough`; the best. *used (may be NULL): how many starts that took.
tgOptimum *tgi_run_starts(tgRun *run, const tgTaskRun *how, int starts, double enough, int *used, tgTask **task);
/// Leaves first and best iterate in the run's folder under `name`. False: reason printed.
bool tgi_run_leave_task(tgRun *run, const char *name, const tgTask *task, const tgOptimum *optimum);
/// Leaves a recorded motion in the run's folder under `name`. False: reason printed.
bool tgi_run_leave(tgRun *run, const char *name, const char *title, const tgModel *model, double h, tgCliTrajectory *trajectory, int count,
                   const tgReplayMarker *marker, int nmarker);

bool tgi_reproduce_reach(tgRun *run);
bool tgi_reproduce_jacobians(tgRun *run);
bool tgi_reproduce_search(tgRun *run);
bool tgi_reproduce_drone(tgRun *run);
bool tgi_reproduce_motions(tgRun *run);
bool tgi_reproduce_prisms(tgRun *run);
bool tgi_reproduce_force_profile(tgRun *run);
bool tgi_reproduce_push_t(tgRun *run);

extern const tgExperiment tgi_benches[];
extern const int tgi_nbench;
extern const tgExperiment tgi_reproductions[];
extern const int tgi_nreproduction;

#endif
