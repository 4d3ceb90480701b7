// billiards.c: BA-R2, a cue ball's place and speed are found that bring two balls of the rack to places drawn at random, from rest and out of contact.
// [barrier] Section 6, figure 5, appendix A.6.2 and table 3.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cli/reproduce/barrier.h"
#include "sim/sim.h"

// The paper draws balls and places at random and does not say how. Here a cue ball's place and speed are drawn that hit the rack, the motion is run, and two
// of the balls that moved become the targets where they came to be: so that every set can be solved, and nothing tells the optimiser how.
enum { SEEDS = 10, TARGETS = 2, STREAM = 11 };

typedef struct Draw { const char *file; uint64_t seed; int ball[TARGETS]; double place[TARGETS][2], x[4]; } Draw;

// a rollout of the task from a drawn cue ball; the balls' ends in end (nq)
static tgStatus hidden(const tgTask *task, const double *x, double *end) {
  tgError error = {0};
  tgCliTrajectory t = {.label = "hidden"};
  tgStatus st = tgi_cli_record_task(task, x, &t, &error);
  if (st == TG_OK) memcpy(end, t.q + t.steps * task->model->nq, (size_t)task->model->nq * sizeof *end);
  else tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&t);
  return st;
}

static bool draw(tgTask *task, Draw *d) {
  const tgModel *m = task->model;
  double *end = calloc((size_t)m->nq + 1, sizeof *end);
  bool good = false;
  for (uint64_t k = 0; k < 8 && end != NULL && !good; k++) {
    double u[4];
    for (uint64_t i = 0; i < 4; i++) u[i] = tgi_random_uniform(d->seed, STREAM, 8 * k + i);
    // beside the start, towards the middle of the rack, 4 to 6 m/s
    d->x[0] = -0.5 + u[0];
    d->x[1] = -1 + 2 * u[1];
    double speed = 4 + 2 * u[2], dx = 5.6 - d->x[0], dy = -d->x[1] + 2 * (u[3] - 0.5), n = hypot(dx, dy);
    d->x[2] = speed * dx / n;
    d->x[3] = speed * dy / n;
    if (hidden(task, d->x, end) != TG_OK) break;
    int moved[16], count = 0;
    for (int b = 2; b < m->nbody; b++)
      if (hypot(end[7 * (b - 1)] - task->q0[7 * (b - 1)], end[7 * (b - 1) + 1] - task->q0[7 * (b - 1) + 1]) > 1.5) moved[count++] = b;
    if (count < TARGETS) continue;
    int first = (int)(count * tgi_random_uniform(d->seed, STREAM, 8 * k + 4)), second = (int)((count - 1) * tgi_random_uniform(d->seed, STREAM, 8 * k + 5));
    d->ball[0] = moved[first];
    d->ball[1] = moved[second + (second >= first)];
    for (int i = 0; i < TARGETS; i++) memcpy(d->place[i], end + 7 * (d->ball[i] - 1), sizeof d->place[i]);
    good = true;
  }
  free(end);
  return good;
}

static bool prepare(tgTask *task, void *ctx) {
  const Draw *d = ctx;
  for (int i = 0; i < TARGETS; i++) {
    tgTerm *t = &task->term[i];
    t->index = d->ball[i];
    t->target[0] = d->place[i][0];
    t->target[1] = d->place[i][1];
    snprintf(t->label, sizeof t->label, "body_com %s", tg_model_name(task->model, TG_THING_BODY, t->index));
  }
  return true;
}

static bool draw_all(Draw *d, const char *file) {
  char path[1024];
  tgError error = {0};
  tgTask *task = tgi_models_file(file, path, sizeof path) ? tg_task_load(path, NULL, &error) : NULL;
  if (task == NULL && error.status != TG_OK) tgi_cli_error("reproduce", &error);
  bool good = task != NULL;
  for (int s = 0; s < SEEDS && good && !tgi_cli_interrupted; s++) {
    d[s] = (Draw){.file = file, .seed = (uint64_t)s + 1};
    good = draw(task, &d[s]);
  }
  tg_task_free(task);
  return good;
}

static bool baseline(tgRun *run, Draw *d, const char *row, const char *contact, const char *method, double seconds) {
  tgBarrierTask how = {.file = d->file, .contact = contact, .method = method, .prepare = prepare, .ctx = d, .seconds = seconds};
  tgBarrierRun runs[TG_BARRIER_RATES];
  char shown[200];
  if (!tgi_barrier_rates(&how, runs)) return false;
  bool good = tgi_barrier_runs(run, runs, TG_BARRIER_RATES);
  double best = tgi_barrier_best(runs, shown, sizeof shown, NULL);
  if (!tgi_cli_interrupted) tgi_run_row(run, row, best, "target set 1, best of three rates: %s", shown);
  tgi_barrier_free(runs, TG_BARRIER_RATES);
  return good;
}

static bool solve(tgRun *run, Draw *d) {
  tgBarrierRun runs[SEEDS];
  for (int s = 0; s < SEEDS; s++)
    runs[s] = (tgBarrierRun){.how = {.file = d[s].file, .prepare = prepare, .ctx = &d[s], .seed = d[s].seed, .seconds = run->cli->full ? 0 : 85}};
  bool good = tgi_barrier_runs(run, runs, SEEDS);
  int solved = 0, iterations = 0;
  long touching = 0;
  double seconds = 0, ratio = 0;
  char which[80] = "";
  for (int s = 0; s < SEEDS && good; s++) {
    const tgOptimum *o = runs[s].optimum;
    solved += o->reached;
    if (!o->reached) snprintf(which + strlen(which), sizeof which - strlen(which), " %d", s + 1);
    iterations += o->iterations;
    seconds += o->seconds;
    ratio += o->best_loss / o->first_loss / SEEDS;
    touching += tgi_barrier_touching(runs[s].task, o->best);
  }
  if (good && !tgi_cli_interrupted) {
    tgi_run_row(run, "seeds_solved", solved, "of %d target sets, both balls within 1 m, 1.1 radii; %d iterations and %.3g s in all; not solved:%s", SEEDS, iterations, seconds,
                which[0] != '\0' ? which : " none");
    tgi_run_report(run, "final_over_first", ratio, "", NAN, "loss, mean over the target sets");
    tgi_run_row(run, "intersections", (double)touching, "pairs of geoms over all states of the ten motions found, by exact predicates");
    good = tgi_run_leave_task(run, "set1", runs[0].task, runs[0].optimum);
  }
  tgi_barrier_free(runs, SEEDS);
  return good;
}

bool tgi_reproduce_billiards(tgRun *run) {
  Draw d[SEEDS];
  // ten minutes allow a rack of six, and not all iterations of each set
  bool good = draw_all(d, run->cli->full ? "billiards.yaml" : "billiards_small.yaml") && solve(run, d);
  double seconds = run->cli->full ? 0 : 15;
  good = good && baseline(run, &d[0], "local.final_over_first", "sdrs", NULL, seconds);
  good = good && baseline(run, &d[0], "lcp.final_over_first", "lcp", NULL, seconds);
  return good && baseline(run, &d[0], "bundle.final_over_first", "sdrs", "bundle", seconds);
}
