// barrier.h: what the experiments of the barrier paper share.
#ifndef TG_REPRO_BARRIER_H
#define TG_REPRO_BARRIER_H

#include "repro/experiments.h"
#include "tangere/geometry.h"

// ---- meshes.c: in place of mesh `mesh` of the description; false: no memory ----

/// Octahedral geodesic ball of 8 frequency^2 triangles.
bool tgi_mesh_ball(tgDesc *desc, int mesh, double radius, int frequency);
/// Adds the mesh of an icosahedron whose triangles are cut in four `level` times, 20 4^level of them. Its index, -1: no memory.
int tgi_mesh_icosphere(tgDesc *desc, const char *name, double radius, int level);
/// Box of cells[0] x cells[1] x cells[2] cells on its sides, two triangles a cell: 4 (n0 n1 + n1 n2 + n2 n0) of them.
bool tgi_mesh_box(tgDesc *desc, int mesh, const double half[3], const int cells[3]);

// ---- baselines.c: a task run by several models and methods ----

/// How a task of the barrier paper is run.
typedef struct tgBarrierTask {
  const char *file, *contact, *method;   // contact, method NULL: the file's
  double mu, rate, timestep;             // 0: the file's; another step keeps the seconds of the horizon and of the window
  int iterations, steps;                 // 0: the file's; steps: a shorter horizon
  double seconds, loss;                  // stop at this wall clock or loss, 0: neither
  uint64_t seed;
  char journal[1100];                    // "": none; else what an interrupted run of the same is taken up from
  bool (*prepare)(tgTask *task, void *ctx); void *ctx;   // changes the task after loading; may be NULL
} tgBarrierTask;
/// A task to run and what came of it. optimum NULL: reason printed; to be freed before the task.
typedef struct tgBarrierRun {
  tgBarrierTask how;
  tgTask *task;
  tgOptimum *optimum;
} tgBarrierRun;
/// Optimises them, several at a time, each in one thread. False: one could not be run, and the reason is said.
bool tgi_barrier_runs(tgRun *run, tgBarrierRun *runs, int n);
void tgi_barrier_free(tgBarrierRun *runs, int n);
/// Baselines: three runs of `how` at a third of the file's rate, at the rate, and at three times it. False: reason printed.
enum { TG_BARRIER_RATES = 3 };
bool tgi_barrier_rates(const tgBarrierTask *how, tgBarrierRun runs[TG_BARRIER_RATES]);
/// Least final over first loss of such runs; shown: what each rate came to; *reached (may be NULL): one of them met the task's criterion.
double tgi_barrier_best(const tgBarrierRun runs[TG_BARRIER_RATES], char *shown, size_t size, bool *reached);
/// Intersections in the motion of the optimum, by tg_intersections_of_motion.
long tgi_barrier_touching(const tgTask *task, const double *x);

// ---- billiards_picture.c ----

/// billiards.svg in the run's folder: losses of the n runs over iterations, and the first one's motion from above. False: reason printed.
bool tgi_billiards_draw(tgRun *run, const tgBarrierRun *runs, int n);

// ---- gather.c ----

/// The task of `r` by its own contact model, and its rows NAME.solved, how many of its ten bodies are home at the end, and
/// NAME.seconds; what touches in the motion is added to *touching. False: reason printed.
bool tgi_gather_solve(tgRun *run, const char *name, tgBarrierRun *r, long *touching);

// ---- franka.c ----

/// Rows of the arm that pushes; what touches in its motions is added to *touching. False: reason printed.
bool tgi_franka(tgRun *run, long *touching);

// ---- gather_picture.c ----

/// gather.svg in the run's folder: the two motions from above and the losses of their windows. False: reason printed.
bool tgi_gather_draw(tgRun *run, const tgBarrierRun runs[2]);

// ---- cost.c ----

/// Means over the frames of 16 balls of 8 f^2 triangles each on a floor, under a contact model of that `weight` (form: its option
/// `hierarchy`, NULL: it has none): milliseconds of a step with its gradient, of the worst and of the step alone, Newton iterations; and
/// pairs of geoms that meet. False: reason printed.
typedef struct tgFrameCost { double mean, worst, step, newton; int frames; long touching; } tgFrameCost;
bool tgi_frame_cost(int f, const char *word, const char *weight, const char *form, int frames, tgFrameCost *c);

bool tgi_reproduce_stack(tgRun *run);
bool tgi_reproduce_billiards(tgRun *run);
bool tgi_reproduce_cost(tgRun *run);
bool tgi_reproduce_push(tgRun *run);
bool tgi_reproduce_gather(tgRun *run);
bool tgi_reproduce_ant(tgRun *run);
bool tgi_reproduce_sweep(tgRun *run);
bool tgi_reproduce_ablations(tgRun *run);
bool tgi_reproduce_meshes(tgRun *run);

#endif
