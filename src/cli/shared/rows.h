// rows.h: what the named experiments of `tangere reproduce` and the measurements of `tangere bench` share: rows of
// figures, and scenes of models/.
#ifndef TG_CLI_SHARED_ROWS_H
#define TG_CLI_SHARED_ROWS_H

#include "cli/shared/program.h"

/// A row that an experiment must give: value <= limit or >= limit, or only reported (sense 0). paper: the published
/// figure in the row's unit, NAN when there is none.
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
/// A miss for each row of the bands that is not there yet.
void tgi_run_missing(tgRun *run);
/// Progress on standard error: `done` of `total`, with an estimate of the time left.
void tgi_run_progress(const tgRun *run, const char *what, double done, double total, double since);

/// A file of models/, found from the executable (build/bin/tangere) or $TANGERE_MODELS. False: reason printed.
bool tgi_models_file(const char *name, char *path, size_t size);
/// A model of models/ under `lcp`, or contact model `word`, (options may be NULL) with a simulation of it. False:
/// reason printed, nothing held.
typedef struct tgScene { tgModel *model; tgContact *contact; tgSim *sim; double h; } tgScene;
bool tgi_scene_open_under(tgScene *scene, const char *file, const char *word, const tgContactOptions *options);
bool tgi_scene_open(tgScene *scene, const char *file, const tgContactOptions *options);
void tgi_scene_close(tgScene *scene);
/// A step that makes room when it is short of it.
tgStatus tgi_scene_step(tgScene *scene, tgStepInfo *info);

/// Median and least of n numbers; sorts them.
double tgi_median(double *x, int n);

/// What there is: a line each on standard output, or one JSON array. An exit code.
int tgi_experiments_list(const tgExperiment *experiment, int n, bool json);
/// The one that the command line names; NULL: reason printed.
const tgExperiment *tgi_experiments_find(const tgCli *cli, const tgExperiment *experiment, int n);

#endif
