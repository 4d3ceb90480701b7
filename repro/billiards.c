// billiards.c: BA-R2, a cue ball's place and speed are found that bring two balls of the rack to places drawn at
// random, from rest and out of contact. [barrier] Section 6, figure 5, appendix A.6.2 and table 3.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// The paper draws balls and places at random and does not say how. Here a cue ball's place and speed are drawn that hit
// the rack, the motion is run, and of the balls that it took 1.5 m or more from where they come to be without it two
// become the targets, there: so that every set can be solved, and nothing tells the optimiser how.
enum { SEEDS = 10, TARGETS = 2, STREAM = 11, TRIES = 32, ITERATIONS = 200, SOFT_ITERATIONS = 150 };
static const double far_enough = 1.5;   // in units of the scene

// slow, fast: of the shots [m/s]; in a rack of 15 slow ones move no two balls far enough. unit: 1.1 radii. soft: of a task in hard contact,
// whose replays must hold too, the task of the same rack under `barrier`; else NULL
typedef struct Draw {
  const char *file, *soft;
  double slow, fast, unit;
  uint64_t seed;
  int ball[TARGETS];
  double place[TARGETS][2], x[4];
} Draw;

// a rollout of the task from a drawn cue ball; the balls' ends in end (nq), where they start in first (NULL: not wanted)
static tgStatus hidden(const tgTask *task, const double *x, double *end, double *first) {
  tgError error = {0};
  tgCliTrajectory t = {.label = "hidden"};
  tgStatus st = tgi_cli_record_task(task, x, NULL, &t, &error);
  if (st == TG_OK && first != NULL) memcpy(first, t.q, (size_t)tg_model_nq(tg_task_model(task)) * sizeof *first);
  if (st == TG_OK) memcpy(end, t.q + t.steps * tg_model_nq(tg_task_model(task)), (size_t)tg_model_nq(tg_task_model(task)) * sizeof *end);
  else tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&t);
  return st;
}

// a shot from beside the start towards the middle of the rack
static void shoot(const Draw *d, uint64_t k, double x[4]) {
  double u[4];
  for (uint64_t i = 0; i < 4; i++) u[i] = tg_random_uniform(d->seed, STREAM, 8 * k + i);
  x[0] = (-0.5 + u[0]) * d->unit;
  x[1] = (-1 + 2 * u[1]) * d->unit;
  double speed = d->slow + (d->fast - d->slow) * u[2], dx = 5.6 * d->unit - x[0],
         dy = -x[1] + 2 * (u[3] - 0.5) * d->unit, n = hypot(dx, dy);
  x[2] = speed * dx / n;
  x[3] = speed * dy / n;
}

// left: where the balls come to be when the cue ball is left alone (nq)
static bool draw(tgTask *task, const double *left, double *end, Draw *d) {
  int nbody = tg_model_count(tg_task_model(task), TG_THING_BODY);
  for (uint64_t k = 0; k < TRIES; k++) {
    int moved[16], count = 0;
    shoot(d, k, d->x);
    if (hidden(task, d->x, end, NULL) != TG_OK) return false;
    for (int b = 2; b < nbody; b++) {
      const double *p = end + 7 * (b - 1), *q = left + 7 * (b - 1);
      if (hypot(p[0] - q[0], p[1] - q[1]) > far_enough * d->unit) moved[count++] = b;
    }
    if (count < TARGETS) continue;
    int first = (int)(count * tg_random_uniform(d->seed, STREAM, 8 * k + 4)),
        second = (int)((count - 1) * tg_random_uniform(d->seed, STREAM, 8 * k + 5));
    d->ball[0] = moved[first];
    d->ball[1] = moved[second + (second >= first)];
    for (int i = 0; i < TARGETS; i++) memcpy(d->place[i], end + 7 * (d->ball[i] - 1), sizeof d->place[i]);
    return true;
  }
  tgi_cli_say("no shot of set %d moves two balls far enough", (int)d->seed);
  return false;
}

static bool prepare(tgTask *task, void *ctx) {
  const Draw *d = ctx;
  tgError error = {0};
  for (int i = 0; i < TARGETS; i++) {
    tgTaskTerm t;
    tg_task_term(task, i, &t);
    t.body = d->ball[i];
    t.target[0] = d->place[i][0];
    t.target[1] = d->place[i][1];
    if (tg_task_set_term(task, i, &t, &error) != TG_OK) return tgi_cli_error("reproduce", &error), false;
  }
  return true;
}

// how far the balls of the rack go while the cue ball is left alone, at most
static double drift_of(const double *first, const double *left, size_t nq) {
  double most = 0;
  for (size_t k = 7; k < nq; k += 7) most = fmax(most, hypot(left[k] - first[k], left[k + 1] - first[k + 1]));
  return most;
}

// the drift in a motion of so many seconds
static bool still_drift(const Draw *d, double seconds, double *drift) {
  tgError error = {0};
  const double still[4] = {0};
  tgTask *t = tgi_models_task(d->file);
  size_t nq = t != NULL ? (size_t)tg_model_nq(tg_task_model(t)) : 0;
  double *q = calloc(2 * nq + 1, sizeof *q);
  bool good = t != NULL && q != NULL &&
              tg_task_set_horizon(t, (int)lround(seconds / tg_task_timestep(t)), tg_task_timestep(t), &error) == TG_OK;
  if (error.status != TG_OK) tgi_cli_error("reproduce", &error);
  good = good && hidden(t, still, q, q + nq) == TG_OK;
  if (good) *drift = drift_of(q + nq, q, nq);
  free(q);
  tg_task_free(t);
  return good;
}

static bool draw_all(Draw *d, const Draw *like, double *drift) {
  tgTask *task = tgi_models_task(like->file);
  size_t nq = task != NULL ? (size_t)tg_model_nq(tg_task_model(task)) : 0;
  double *left = calloc(3 * nq + 1, sizeof *left);
  const double still[4] = {0};
  bool good = task != NULL && left != NULL && hidden(task, still, left, left + 2 * nq) == TG_OK;
  if (good) *drift = drift_of(left + 2 * nq, left, nq);
  for (int s = 0; s < SEEDS && good && !tgi_cli_interrupted; s++) {
    d[s] = *like;
    d[s].seed = (uint64_t)s + 1;
    good = draw(task, left, left + nq, &d[s]);
  }
  free(left);
  tg_task_free(task);
  return good;
}

// ---- what an interrupted run is taken up from: NAMEk.journal in the run's folder, until the whole is done ----

static const char *const journals[] = {"set", "local", "lcp", "bundle", "round", "table", "hard_round", "hard_table"};

// false, and path as it was: the run has no folder
static bool journal(const tgRun *run, const char *name, int k, char path[1100]) {
  if (run->folder == NULL) return false;
  snprintf(path, 1100, "%s/%s%d.journal", run->folder, name, k + 1);
  return true;
}

static void begin_anew_next_time(const tgRun *run) {
  char path[1100];
  for (size_t i = 0; i < sizeof journals / sizeof *journals; i++)
    for (int k = 0; k < SEEDS; k++)
      if (journal(run, journals[i], k, path)) remove(path);
}

static bool baseline(tgRun *run, Draw *d, const char *name, const char *contact, const char *method, int iterations) {
  tgBarrierTask how = {.file = d->file, .contact = contact, .method = method, .prepare = prepare, .ctx = d,
                       .iterations = iterations, .seed = d->seed};
  tgBarrierRun runs[TG_BARRIER_RATES];
  char shown[200], row[60];
  if (!tgi_barrier_rates(&how, runs)) return false;
  for (int k = 0; k < TG_BARRIER_RATES; k++) journal(run, name, k, runs[k].how.journal);
  bool good = tgi_barrier_runs(run, runs, TG_BARRIER_RATES);
  double best = tgi_barrier_best(runs, shown, sizeof shown, NULL);
  snprintf(row, sizeof row, "%s.final_over_first", name);
  if (good && !tgi_cli_interrupted)
    tgi_run_row(run, row, best, "target set 1, %d iterations, as many as ours took; best of three rates: %s", iterations, shown);
  tgi_barrier_free(runs, TG_BARRIER_RATES);
  return good;
}

static void solved_rows(tgRun *run, const tgBarrierRun *runs) {
  int solved = 0, iterations = 0;
  long touching = 0;
  double seconds = 0, ratio = 0;
  char which[80] = "", took[80] = "";
  for (int s = 0; s < SEEDS; s++) {
    const tgOptimum *o = runs[s].optimum;
    solved += o->met;
    if (!o->met) snprintf(which + strlen(which), sizeof which - strlen(which), " %d", s + 1);
    snprintf(took + strlen(took), sizeof took - strlen(took), " %d", o->iterations);
    iterations += o->iterations;
    seconds += o->seconds;
    ratio += o->best_loss / o->first_loss / SEEDS;
    touching += tgi_barrier_touching(runs[s].task, o->best);
  }
  tgi_run_row(run, "paper.seeds_solved", solved,
              "of %d target sets, both balls within 1 m, 1.1 radii; iterations%s; %.3g s in all; not solved:%s", SEEDS,
              took, seconds, which[0] != '\0' ? which : " none");
  tgi_run_report(run, "paper.iterations", (double)iterations / SEEDS, "", NAN, "mean over the target sets");
  tgi_run_report(run, "paper.final_over_first", ratio, "", NAN, "loss, mean over the target sets");
  tgi_run_row(run, "intersections", (double)touching, "pairs of geoms over all states of the ten motions found, by exact predicates");
}

// of how many motions each replay holds
static bool held_rows(tgRun *run, const tgBarrierRun *runs) {
  tgVerification first = {0}, v;
  int held[TG_VERIFY_ROWS] = {0};
  tgError error = {0};
  for (int s = 0; s < SEEDS; s++) {
    if (tg_verify(runs[s].task, runs[s].optimum->best, &tgi_cli_interrupted, &v, &error) != TG_OK)
      return tgi_cli_error("reproduce", &error), false;
    for (int i = 0; i < v.n; i++) held[i] += v.row[i].verdict == TG_VERDICT_HOLDS;
    if (s == 0) first = v;
  }
  for (int i = 0; i < first.n; i++) {
    char name[60], note[360];
    snprintf(name, sizeof name, "paper.verify.%s.hold", first.row[i].name);
    snprintf(note, sizeof note, "of %d motions found, replayed: %s%s%s", SEEDS, first.row[i].text,
             first.row[i].reason[0] != '\0' ? "; set 1: " : "", first.row[i].reason);
    tgi_run_report(run, name, held[i], "", NAN, note);
  }
  return true;
}

// *iterations: of the first set
static bool solve(tgRun *run, Draw *d, int *iterations) {
  tgBarrierRun runs[SEEDS];
  for (int s = 0; s < SEEDS; s++) {
    runs[s] = (tgBarrierRun){.how = {.file = d[s].file, .prepare = prepare, .ctx = &d[s], .seed = d[s].seed,
                                     .iterations = run->cli->full ? 0 : ITERATIONS}};
    journal(run, "set", s, runs[s].how.journal);
  }
  bool good = tgi_barrier_runs(run, runs, SEEDS);
  if (good && !tgi_cli_interrupted) {
    *iterations = runs[0].optimum->iterations;
    solved_rows(run, runs);
    good = held_rows(run, runs) && tgi_billiards_draw(run, runs, SEEDS) && tgi_run_leave_task(run, "set1", runs[0].task, runs[0].optimum);
  }
  tgi_barrier_free(runs, SEEDS);
  return good;
}

// do the replays hold that the task asks for?
static bool holds(const tgTask *task, const double *x) {
  tgVerification v;
  tgError error = {0};
  if (tg_verify(task, x, &tgi_cli_interrupted, &v, &error) == TG_OK) return v.broken < 0;
  tgi_cli_error("reproduce", &error);
  return false;
}

// the shots that `barrier` finds for the targets d, played in the hard contact that the targets are of (hard: tasks of the same targets)
static bool soft_shots(tgRun *run, const char *prefix, Draw *d, const tgBarrierRun *hard) {
  tgBarrierRun runs[SEEDS];
  char row[60], note[240];
  double worst = 0;
  int met = 0, hold = 0;
  for (int s = 0; s < SEEDS; s++)
    runs[s] = (tgBarrierRun){.how = {.file = d[s].soft, .prepare = prepare, .ctx = &d[s], .seed = d[s].seed,
                                     .iterations = SOFT_ITERATIONS}};
  bool good = tgi_barrier_runs(run, runs, SEEDS);
  for (int s = 0; s < SEEDS && good; s++) {
    double left = tgi_cli_distance(hard[s].task, runs[s].optimum->best, NULL);
    met += runs[s].optimum->met;
    hold += left <= tg_task_success_distance(hard[s].task);
    worst = fmax(worst, left / d[s].unit * 1.1);
  }
  tgi_barrier_free(runs, SEEDS);
  if (!good || tgi_cli_interrupted) return good;
  snprintf(row, sizeof row, "%sbarrier_holds", prefix);
  snprintf(note, sizeof note, "of %d shots found by barrier for the same targets in at most %d iterations, played in hard contact; in "
           "their own motion %d are home; the farthest ball is left %.2g radii off", SEEDS, SOFT_ITERATIONS, met, worst);
  tgi_run_report(run, row, hold, "", NAN, note);
  return true;
}

// is the shot home under another contact model (NULL: its own), in steps of h?
static bool home_elsewhere(Draw *d, const double *x, const char *contact, double h) {
  tgError error = {0};
  tgTask *t = tgi_models_task(d->file);
  bool good = t != NULL && tg_task_override(t, contact, NULL, 0, &error) == TG_OK && prepare(t, d);
  int steps = good ? (int)lround(tg_task_steps(t) * tg_task_timestep(t) / h) : 0;
  good = good && tg_task_set_horizon(t, steps, h, &error) == TG_OK;
  bool home = good && tgi_cli_distance(t, x, NULL) <= tg_task_success_distance(t);
  if (error.status != TG_OK) tgi_cli_error("reproduce", &error);
  tg_task_free(t);
  return home;
}

// Of the sets that are solved, the share whose shots are home elsewhere too; and how far a ball goes in 4 s that nobody touches.
static bool elsewhere_rows(tgRun *run, Draw *d, const tgBarrierRun *runs) {
  static const double ms = 1e-3, longer = 4;
  double drift = 0, h = tg_task_timestep(runs[0].task);
  int solved = 0, fine = 0, lcp = 0, toi = 0;
  for (int s = 0; s < SEEDS && !tgi_cli_interrupted; s++) {
    const double *x = runs[s].optimum->best;
    if (!runs[s].optimum->met) continue;
    solved++;
    fine += home_elsewhere(&d[s], x, NULL, h / 8);
    lcp += home_elsewhere(&d[s], x, "lcp", ms);
    toi += home_elsewhere(&d[s], x, NULL, ms);
  }
  if (tgi_cli_interrupted) return true;
  tgi_run_row(run, "verify.fine.within", (double)fine / solved, "of %d solved: steps of %.3g ms", solved, 1e3 * h / 8);
  tgi_run_row(run, "verify.lcp.within", (double)lcp / solved, "lcp, steps of 1 ms");
  tgi_run_report(run, "verify.toi.within", (double)toi / solved, "", NAN, "toi, steps of 1 ms");
  return still_drift(d, longer, &drift) && (tgi_run_row(run, "drift_m", drift, "in %g s, the cue ball at rest", longer), true);
}

// ten sets of the rack of six with spheres in place of meshes; name: of its journals, prefix: of its rows
static bool rounded(tgRun *run, const char *name, const char *prefix, const Draw *like) {
  Draw d[SEEDS];
  tgBarrierRun runs[SEEDS];
  char row[60], which[80] = "";
  double drift = 0, seconds = 0;
  int solved = 0, iterations = 0;
  if (!draw_all(d, like, &drift)) return false;
  for (int s = 0; s < SEEDS; s++) {
    runs[s] = (tgBarrierRun){.how = {.file = d[s].file, .prepare = prepare, .ctx = &d[s], .seed = d[s].seed}};
    journal(run, name, s, runs[s].how.journal);
  }
  bool good = tgi_barrier_runs(run, runs, SEEDS);
  for (int s = 0; s < SEEDS && good; s++) {
    const tgOptimum *o = runs[s].optimum;
    bool home = o->met && (like->soft == NULL || holds(runs[s].task, o->best));
    solved += home;
    if (!home) snprintf(which + strlen(which), sizeof which - strlen(which), " %d", s + 1);
    iterations += o->iterations;
    seconds += o->seconds;
  }
  if (good && like->soft != NULL && !tgi_cli_interrupted) good = soft_shots(run, prefix, d, runs);
  if (good && prefix[0] == '\0' && !tgi_cli_interrupted) good = elsewhere_rows(run, d, runs);
  tgi_barrier_free(runs, SEEDS);
  if (!good || tgi_cli_interrupted) return good;
  snprintf(row, sizeof row, "%sseeds_solved", prefix);
  tgi_run_row(run, row, solved, "of %d target sets, balls as spheres, both within 1.1 radii%s; %d iterations, %.3g s in all; not solved:%s",
              SEEDS, like->soft == NULL ? "" : ", targets of a motion in hard contact, in steps of an eighth too", iterations,
              seconds, which[0] != '\0' ? which : " none");
  snprintf(row, sizeof row, "%sdrift_over_radius", prefix);
  tgi_run_report(run, row, drift * 1.1 / like->unit, "", NAN,
                 "how far a ball of the rack goes that nobody touches, in the length of the motion");
  return true;
}

bool tgi_reproduce_billiards(tgRun *run) {
  Draw d[SEEDS];
  int iterations = ITERATIONS;
  // ten minutes allow a rack of six
  double drift = 0;
  const Draw all = {.file = "billiards.yaml", .slow = 4, .fast = 6, .unit = 1},
             six = {.file = "billiards_small.yaml", .slow = 2.5, .fast = 3.5, .unit = 1},
             round = {.file = "billiards_round.yaml", .slow = 2.5, .fast = 3.5, .unit = 1},
             table = {.file = "billiards_table.yaml", .slow = 0.83, .fast = 1.16, .unit = 0.033},
             hard_round = {.file = "billiards_hard_round.yaml", .soft = round.file, .slow = 2.5, .fast = 3.5, .unit = 1},
             hard_table = {.file = "billiards_hard_table.yaml", .soft = table.file, .slow = 0.83, .fast = 1.16, .unit = 0.033};
  bool good = rounded(run, "round", "round.", &round) && rounded(run, "table", "table.", &table);
  good = good && rounded(run, "hard_round", "hard_round.", &hard_round) && rounded(run, "hard_table", "", &hard_table);
  good = good && draw_all(d, run->cli->full ? &all : &six, &drift) && solve(run, d, &iterations);
  good = good && baseline(run, &d[0], "local", "sdrs", NULL, iterations);
  good = good && baseline(run, &d[0], "lcp", "lcp", NULL, iterations);
  good = good && baseline(run, &d[0], "bundle", "sdrs", "bundle", iterations);
  if (good && !tgi_cli_interrupted) begin_anew_next_time(run);
  return good;
}
