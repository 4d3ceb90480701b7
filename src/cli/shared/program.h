// program.h: what the programs `tangere` and `tangere-reproduce` share: options, messages, exit codes, progress, the
// folder that a run leaves.
//
// Results go to standard output (with --json one machine-readable object), all else to standard error.
#ifndef TG_CLI_SHARED_PROGRAM_H
#define TG_CLI_SHARED_PROGRAM_H

#include <jansson.h>
#include <stdio.h>

#include "tangere/grad.h"
#include "tangere/optim.h"
#include "tangere/replay.h"

/// Exit codes.
enum {
  TG_EXIT_OK = 0,
  TG_EXIT_USAGE = 1,
  TG_EXIT_INPUT = 2,          // bad input
  TG_EXIT_MISSED = 3,         // did not converge, missed its target, a check failed
  TG_EXIT_FAULT = 4,          // memory, disk, internal
  TG_EXIT_INTERRUPTED = 130   // by SIGINT; by SIGHUP the program ends with 129, by SIGTERM with 143 (tgi_cli_end)
};

#define TG_CLI_EXIT_CODES \
  "0 done, 1 usage, 2 bad input, 3 did not converge or missed its target, 4 fault, 130 interrupted (129 by SIGHUP, 143 by SIGTERM)."

/// How far --ground=below is below the lowest point [m].
#define TG_CLI_GROUND_GAP 1e-3
/// Links this near touch but for rounding, and can never be parted under a contact potential [m].
#define TG_CLI_TOUCHING 1e-6

/// How far --inside-limits moves joints inside, in shares of their range.
#define TG_CLI_INSIDE 0.05

/// Options of all commands; each command says which it takes.
typedef struct tgCli {
  const char *command, *file;           // file: the first operand, NULL when none
  const char *operand[16]; int noperand;  // all operands; only compare takes more than one
  const char *contact, *gradient, *out, *key, *method;
  const char *png, *video, *size, *view; int fps; uint64_t frame; bool frame_given, dark, live; double speed; int port;   // of replay
  int steps, iterations, threads, count;
  const char *shard, *scheduler; bool merge;   // of batch
  double dt, seconds;             // seconds: that a row of compare may take; 0: the default
  uint64_t seed;
  bool json, resume, overwrite, lenient, allow_absolute, fixed_base, notes, list, zero_contact, baselines, no_replay, no_trust, sensors,
       repair, exclude_overlapping, full, decompose, ground, ground_below, inside_limits, separate, properties;
  bool second, over_h, widths;    // of gradcheck
  unsigned drop;                  // tgLoadOptions.drop
  int contact_triangles;          // of a mesh that collides; 0: as many as it has
  double decompose_threshold, ground_height, separate_gap;
  const char *asset_root[16]; int nasset_root;
  const char *contact_option[16]; int ncontact_option;   // "name=value"
  const char *package_name[16], *package_path[16]; char package_text[16][512]; int npackage;
  struct { const char *word, *value; } given[128]; int ngiven;   // every option in its order, as it was given; NULL: without a value
} tgCli;

/// One command: the groups of options that it takes, as words (see options.c), its help and its function.
typedef struct tgCommand {
  const char *word, *operands, *options, *help;
  int (*run)(const tgCli *cli);
} tgCommand;

/// The command that a program of its own runs, for its table and for that of `tangere`.
#define TG_CLI_REPRODUCE "reproduce", "[ID]", "list json full out threads no-replay", \
  "run an experiment of a paper beside its published numbers; no ID: list them"

/// An option of a command; value: what it takes, NULL: nothing, in brackets: what may follow.
typedef struct tgCliOption { const char *word, *value, *help; bool repeatable; } tgCliOption;
/// Option i of those that the command takes; false: it has no more.
bool tgi_cli_option(const tgCommand *command, int i, tgCliOption *out);
/// "share of .. (0.2; 0 to 1)" of a contact model's option, written into text. Returns text.
const char *tgi_cli_option_text(const tgOption *option, char *text, size_t size);

/// Parses argv after the command's word. 0, or an exit code with the reason printed.
int tgi_cli_parse(const tgCommand *command, int argc, char **argv, tgCli *cli);
/// Runs a command whose word is argv[0]: its options read, --help answered. An exit code.
int tgi_cli_run(const tgCommand *command, int argc, char **argv);
/// The exit code of a program that ends with `code`: a result that did not get out is no success.
int tgi_cli_end(int code);
/// The folder that this program lies in, without a slash at its end; false: it cannot be told.
bool tgi_cli_own_folder(char *folder, size_t size);
/// Options of the command line that say how a model's file is loaded, as [word, value or null], into `loading` of a run's account.
void tgi_cli_keep_loading(const tgCli *cli, json_t *run);
/// Takes those that the command line does not give itself out of such a list, which stays until the model is loaded. Those that permit
/// folders are only told. False: an entry is none that a run leaves.
bool tgi_cli_take_loading(tgCli *cli, const json_t *loading);
/// Load options that the command line asks for.
tgLoadOptions tgi_cli_load_options(const tgCli *cli);
/// Name of the i-th contact option of the command line; returns its value.
enum { TG_CLI_OPTION_NAME = 64 };
const char *tgi_cli_split_option(const tgCli *cli, int i, char name[TG_CLI_OPTION_NAME]);
/// Options of the contact model `word` with those of the command line that it has; without such a model, which
/// tg_contact_create says, none. False: reason printed.
bool tgi_cli_contact_options(const tgCli *cli, const char *word, tgAnyContactOptions *contact);
/// A compiled model with its notes listed as asked; NULL: reason printed, *code the exit code.
tgModel *tgi_cli_load_model(const tgCli *cli, const char *path, int *code);
/// The start that --key and --inside-limits say; false: there is no such keyframe, which was said.
bool tgi_cli_start(const tgCli *cli, tgSim *sim);
/// What --separate does to the sim, each pair said, and *json (may be NULL) an array of them, NULL: none was moved. False: it cannot,
/// which was said.
bool tgi_cli_separate(const tgCli *cli, tgSim *sim, json_t **json);
json_t *tgi_cli_separated_json(const tgModel *model, const tgSeparated *pair, int count);
/// Name of a geom, its number where it has none.
json_t *tgi_cli_geom(const tgModel *model, int geom);
/// After a contact solve that failed, or `held` steps that left overlaps as they are: the option that helps where links
/// of a robot overlap by design.
void tgi_cli_overlap_hint(const tgCli *cli, tgStatus status, int held);
/// What the contact model warns of, and options of the command line that it does not take, on standard error. contact may be NULL.
void tgi_cli_contact_warnings(const tgCli *cli, const tgContact *contact);
/// After a first step (steps made: 0) that is refused where bodies touch or a joint is at its limit: keyframes to start
/// from, which are tried, and the option that helps where links of a robot touch by design.
void tgi_cli_start_hint(const tgCli *cli, tgSim *sim, double h, tgStatus status, int steps);
/// A task with the command line's overrides; NULL: reason printed, *code the exit code.
tgTask *tgi_cli_load_task(const tgCli *cli, const char *path, int *code);
/// A listed array of the model by name, and how many rows it has (may be NULL); NULL: there is none of that type.
const double *tgi_cli_reals(const tgModel *model, const char *name, int *rows);
const int *tgi_cli_ints(const tgModel *model, const char *name, int *rows);
/// True when the file is a task (its name ends in .yaml or .yml).
bool tgi_cli_is_task(const char *path);

/// "tangere: file:line: text" on standard error. Returns the exit code that fits the status.
int tgi_cli_error(const char *what, const tgError *error);
/// The exit code of a file operation that failed with this errno: a fault where the disk is full or fails, else bad input.
int tgi_cli_file_code(int error_number);
/// Fills *error with a printf-style sentence and returns status.
tgStatus tgi_cli_fail(tgError *error, tgStatus status, const char *format, ...) TG_PRINTF(3, 4);
/// A printf-style line on standard error.
void tgi_cli_say(const char *format, ...) TG_PRINTF(1, 2);
/// First of a program: objects of JSON that memory was short for are not written as if they were whole.
void tgi_cli_watch_json(void);
/// Memory was short for an object of JSON since then.
bool tgi_cli_json_is_short(void);
/// Prints the object as one line on standard output and drops it. Returns `code`, or the code of a fault when it cannot be had as JSON.
int tgi_cli_print_json(json_t *object, int code);
/// Writes the object to `path`, whole or not at all; `indent`: blanks a level. TG_ERR_FILE, TG_ERR_DISK, TG_ERR_MEMORY: the file is
/// as before.
tgStatus tgi_cli_write_json(const char *path, const json_t *object, int indent, tgError *error);
/// The same into file `name` of the folder, which may be NULL. Returns `code`, or the code of a fault with the reason printed.
int tgi_cli_json_into(const char *folder, const char *name, const json_t *object, const char *command, int code);
/// 0 when the folder is there or none is asked for, else the exit code with the reason printed. Called before the work that is to go there.
int tgi_cli_out_ready(const tgCli *cli);
/// False, and told on standard error, where --out is the folder of an earlier run and --overwrite was not given.
bool tgi_cli_out_free(const tgCli *cli, const char *command);

/// Leaves the function with the status of `call` unless it is TG_OK.
#define TG_CLI_TRY(call)                        \
  do {                                          \
    tgStatus tg_cli_try_ = (call);              \
    if (tg_cli_try_ != TG_OK) return tg_cli_try_; \
  } while (0)

/// Set by the first SIGINT, SIGTERM or SIGHUP after tgi_cli_catch_signals; a second one ends the process at once. A SIGHUP that the
/// program was started to ignore (nohup) stays ignored.
extern volatile int tgi_cli_interrupted;
void tgi_cli_catch_signals(void);
/// Set while a clock runs, one at a time: it is `end` (tgi_cli_now), or the signal came, and `grace` seconds have gone by since it did or
/// since the clock began. A timer looks every 50 ms.
extern volatile int tgi_cli_stop;
void tgi_cli_start_clock(double end, double grace);
/// Ends it; tgi_cli_stop stays as it is. Was it `end`?
bool tgi_cli_stop_clock(void);
/// Seconds of a monotonic clock.
double tgi_cli_now(void);
/// "1 min 05 s" into text.
const char *tgi_cli_duration(double seconds, char *text, size_t size);

/// The user's folder for what can be made again ($XDG_CACHE_HOME/tangere or ~/.cache/tangere), made when missing; NULL: none.
const char *tgi_cli_cache_folder(void);
/// Makes the folder `path`, with its parents. 0, or the exit code with the reason printed.
int tgi_cli_make_folder(const char *path);
/// The same of the folder that `file`, which may be NULL, is to lie in.
int tgi_cli_make_folder_of(const char *file);

/// One trajectory of a run.
typedef struct tgCliTrajectory {
  const char *label;
  double iteration;
  tgRecorder *recorder;
  double *q, *v, *act, *u;       // (T+1) x nq, (T+1) x nv, (T+1) x na, T x nu
  bool reads;                    // sensors are to be read
  double *sensor;                // T x nsensordata, after each step, with the mean accelerations of it; NULL: not read
  int steps;                     // T
  int impacts;                   // that were taken at their own time
  double least;                  // distance between geoms that may touch, of all steps [m]; infinity: none was near
  double *grad_q, *grad_v, *grad_act, *grad_u, *push, *push_at;   // of the loss, as in tgTrajectory; grad_q NULL: not known
  double stable;                 // under tg_sim_watch_stability: least stable step [s]
  int unstable;                  // steps that were longer than is stable
  int ambiguous;                 // steps whose contacts are known to have another answer (tgStepInfo.nambiguous)
  int bursts, burst, burst1, burst2;   // steps that burst (tgStepInfo), the first of them and its bodies
  int held;                      // steps with overlaps that were left as they are (tgStepInfo.nleft)
  double pushed;                 // overlap that a step pushes out [m], given
  double depth;                  // of the deepest contact of the first step that left a part of it (tgStepInfo.ncut), where the velocity
                                 // at the step's start leads [m]; 0: none
  int deep, deep1, deep2;        // that step and the contact's geoms
} tgCliTrajectory;
/// Names the overlap that is too deep for one step to push out, where there was one.
void tgi_cli_deep_hint(const tgCli *cli, const tgModel *model, const tgCliTrajectory *t);
/// Names the first of the steps in which overlap was thrown out as velocity, where there were any.
void tgi_cli_burst_hint(const tgCli *cli, const tgModel *model, const tgCliTrajectory *t);

/// Rolls out q0, v0, u (T x nu; NULL: the sim's controls as they are) and records it. Status of the first failing step; what came
/// before is kept and steps says how much. cancel: watched by the sim from now on, may be NULL.
tgStatus tgi_cli_record(tgSim *sim, const double *u, int steps, double h, const volatile int *cancel, tgCliTrajectory *out, tgError *error);
void tgi_cli_trajectory_free(tgCliTrajectory *trajectory);

/// The start of the task at x into the sim (NULL: left out), and its controls into u (may be NULL). False: no memory.
bool tgi_cli_task_start(const tgTask *task, const double *x, tgSim *sim, double *u);

/// Adds the gradient of the task's loss at x along the trajectory, which was recorded at x. On failure, and when cancelled, the
/// trajectory has none.
tgStatus tgi_cli_record_gradient(const tgTask *task, const double *x, const volatile int *cancel, tgCliTrajectory *trajectory,
                                 tgError *error);
void tgi_cli_gradient_free(tgCliTrajectory *trajectory);

/// Into run.json: what the first and the best iterate have for the model's parameters that the task decides.
void tgi_cli_keep_parameters(const tgTask *task, const tgOptimum *optimum, json_t *run);
/// Those of the iterate `label` into a sim of the run's model; none where run.json (may be NULL) holds none.
/// TG_ERR_PARSE: one that is not the model's.
tgStatus tgi_cli_set_parameters(const json_t *run, const char *label, tgSim *sim, tgError *error);

/// A run's folder: run.json, trajectory.npz, loss.csv, replay.html.
typedef struct tgCliRun {
  const char *folder, *title;
  const tgModel *model;
  double h;
  int ntrajectory; tgCliTrajectory *trajectory;
  const tgOptimum *optimum;      // NULL: no loss curve
  int nmarker; const tgReplayMarker *marker;
  int track;                     // body whose path is drawn, 0: the replay's choice
  int nfigure; const tgReplayFigure *figure;
  json_t *json;                  // written as run.json; not dropped
  bool replay;
} tgCliRun;
/// 0 or an exit code with the reason printed.
int tgi_cli_write_run(const tgCliRun *run);
/// The replays of an optimum as rows of run.json; and as a table on standard error.
json_t *tgi_cli_verification_json(const tgVerification *verification);
void tgi_cli_say_verification(const tgVerification *verification);
/// One line of trust in a gradient; what: "trust", or whose.
void tgi_cli_say_trust(FILE *to, const char *what, const tgTrust *trust);
json_t *tgi_cli_trust_json(const tgTrust *trust);
/// The last word on an optimisation, in lengths where the task asks for one: how much is left, of how much at the start, and what the
/// replays left. task: as the stage has it that the best is of. Is it reached?
bool tgi_cli_say_outcome(const tgTask *task, const tgOptimum *optimum);
/// Colour of a target in a replay; forces are red.
#define TG_CLI_TARGET_COLOR {0.2f, 0.65f, 0.35f, 1}
/// A line of progress that renews itself on a terminal; elsewhere a line now and then. ctx: a tgCliBar.
typedef struct tgCliBar {
  bool tty;
  double last;
  const char *what;              // named on each line, NULL: nothing
  void (*show)(void *ctx, const tgProgress *progress); void *show_ctx;   // called first, for whoever shows the best so far; NULL: nobody
} tgCliBar;
void tgi_cli_progress(void *ctx, const tgProgress *progress);
/// The task rolled out at decision variables x. cancel may be NULL.
tgStatus tgi_cli_record_task(const tgTask *task, const double *x, const volatile int *cancel, tgCliTrajectory *out, tgError *error);
/// The folder of an optimised task: first and best iterate, loss curve, targets. json, not dropped, gets the distance and becomes run.json.
/// Motions have `grace` seconds after an interrupt: TG_EXIT_INTERRUPTED where that was not enough, and all but them is written. 0 or an
/// exit code with the reason printed.
int tgi_cli_write_optimum(const tgTask *task, const tgOptimum *optimum, const char *folder, const char *title, json_t *json, bool replay,
                          double grace);
/// Distance [m] of the farthest position term at the end, with decision variables x; NaN when there is none or cancel (may be NULL) is set.
double tgi_cli_distance(const tgTask *task, const double *x, const volatile int *cancel);
/// Index of the least finite of n losses, those of stage `which` where there are stages (NULL: none), 0 when there is none.
int tgi_cli_least(const double *loss, const double *stage, double which, int n);
/// Targets of the task's position losses, for the replay, and the body of the first, whose path is drawn. Returns how many.
int tgi_cli_task_markers(const tgTask *task, tgReplayMarker *marker, int room, int *track);
/// What follows the last slash.
const char *tgi_cli_base_name(const char *path);
/// {"path", "fnv1a64"} of an input file, for run.json; the hash is null when it cannot be read.
json_t *tgi_cli_input(const char *path);

#endif
