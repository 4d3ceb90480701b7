// prisms.c: TO-R3, sliding prisms and colliding cubes of [toi]: friction acts at every step, and motion ends where it must.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/lcp.h"

enum { STEPS = 150 };

// a motion of STEPS steps from the keyframe, with the speeds along x of its free bodies
typedef struct Slide {
  tgScene scene;
  tgCliTrajectory t;
  int bodies, frictionless;      // steps in which a sliding contact that presses has less friction than mu f_n, or that failed
} Slide;

static double speed(const Slide *s, int step, int body) { return s->t.v[step * tg_model_nv(s->scene.model) + 6 * body]; }

// a step whose normal impulses push a body that slides, while its friction is short of mu times as much
static bool frictionless(const tgSim *sim, const tgStepInfo *info) {
  const int *parent = tg_sim_field_named(sim, "row_parent").data;
  const double *w = tg_sim_field_named(sim, "row_w").data, *f = tg_sim_field_named(sim, "row_f").data,
               *limit = tg_sim_field_named(sim, "row_limit").data;
  for (int i = 0; i < info->nrow; i++) {
    int normal = parent[i];
    if (normal < 0 || fabs(w[i]) < 1e-9) continue;
    if (fabs(f[i]) < limit[i] * f[normal] * (1 - 1e-9)) return true;
  }
  return false;
}

static const double clearance = 1e-6;   // at which bodies meet under `toi`; in the files they touch

static void begin(Slide *s, bool apart) {
  tgSim *sim = s->scene.sim;
  tg_sim_reset_key(sim, tg_model_find(s->scene.model, TG_THING_KEY, "start"));
  for (int b = 0; apart && b < s->bodies; b++) tg_sim_qpos(sim)[7 * b + 2] += clearance;
}

// The same motion twice: stepped here to look at every row, recorded for the replay.
static tgStatus slide(Slide *s, const char *file, const char *word) {
  tgLcpOptions o = tg_lcp_default();
  tgError error = {0};
  o.erp = 0;                     // inelastic and nothing else: overlaps are not pushed apart
  bool apart = strcmp(word, "toi") == 0;
  if (!tgi_scene_open_under(&s->scene, file, word, apart ? NULL : &o.of)) return TG_ERR_FILE;
  tgSim *sim = s->scene.sim;
  s->bodies = tg_model_nv(s->scene.model) / 6;
  begin(s, apart);
  for (int t = 0; t < STEPS; t++) {
    tgStepInfo info;
    tgStatus st = tgi_scene_step(&s->scene, &info);
    if (st != TG_OK) return st;
    s->frictionless += !info.converged || frictionless(sim, &info);
  }
  begin(s, apart);
  s->t = (tgCliTrajectory){.label = file, .iteration = NAN};
  return tgi_cli_record(sim, NULL, STEPS, s->scene.h, &tgi_cli_interrupted, &s->t, &error);
}

static void slide_close(Slide *s) {
  tgi_cli_trajectory_free(&s->t);
  tgi_scene_close(&s->scene);
}

// Velocity falls by mu g h = 0.0144 m/s a step, from 2 m/s: at rest after 138.9 steps, so first at step 139. The most that it is off, and
// that step.
static double slope_error(const Slide *s, int *last) {
  double worst = 0;
  int stop = 0;
  for (int b = 0; b < s->bodies; b++) {
    int t = 1;
    while (t <= STEPS && fabs(speed(s, t, b)) > 1e-9) t++;
    stop = t > stop ? t : stop;
    for (int k = 1; k < t - 1; k++) worst = fmax(worst, fabs(speed(s, k, b) - speed(s, k - 1, b) + 0.0144));
  }
  *last = stop;
  return worst;
}

static void prism_rows(tgRun *run, const Slide *s) {
  int stop;
  double worst = slope_error(s, &stop);
  tgi_run_row(run, "prism.slope_error", worst, "worst step of %d prisms against -0.0144 m/s; the paper's slope is -0.0147", s->bodies);
  tgi_run_row(run, "prism.stop_step", stop, "2/0.0144 = 138.9");
}

// under `toi`, which is exact also in where they stop: v^2/(2 mu g)
static void toi_rows(tgRun *run, const Slide *s) {
  int stop, nq = tg_model_nq(s->scene.model);
  double worst = slope_error(s, &stop), off = 0;
  for (int b = 0; b < s->bodies; b++) off = fmax(off, fabs(s->t.q[STEPS * nq + 7 * b] - s->t.q[7 * b] - 4 / 2.88));
  tgi_run_row(run, "toi.prism.slope_error", worst, "the same under `toi`");
  tgi_run_row(run, "toi.prism.stop_step", stop, "2/0.0144 = 138.9");
  tgi_run_row(run, "toi.prism.distance_error", off, "slid, against %.6f m", 4 / 2.88);
}

// time in a step after which the first cube, braked by a, reaches the second one: it moves by t (v - a t) in t
static double meeting(const double *q, double v, double a) {
  double gap = q[7] - q[0] - 0.2;
  return 2 * gap / (v + sqrt(v * v - 4 * a * gap));
}

// momentum lost from the last step before the cubes touch to the first in which they move together, less what the table takes
static void cube_rows(tgRun *run, const Slide *s) {
  int before = 0, after, last = STEPS, nq = tg_model_nq(s->scene.model);
  double h = s->scene.h;
  while (before < last && fabs(speed(s, before + 1, 1)) < 1e-9) before++;
  after = before + 1;
  while (after < last && fabs(speed(s, after, 0) - speed(s, after, 1)) > 1e-9) after++;
  double p0 = speed(s, before, 0) + speed(s, before, 1), p1 = speed(s, after, 0) + speed(s, after, 1),
         t = meeting(s->t.q + before * nq, speed(s, before, 0), 0.0144 / h), lost = 0.0144 * (2 * (after - before) - t / h);
  tgi_run_row(run, "cubes.final_speed", fmax(fabs(speed(s, last, 0)), fabs(speed(s, last, 1))), "of the faster cube after %d steps", STEPS);
  tgi_run_row(run, "cubes.momentum_error", fabs(p1 - p0 + lost) / p0,
              "sum of v before and after the impact (steps %d and %d), friction counted: of the first cube alone up to the impact", before,
              after);
  const double *q = s->t.q + last * nq;
  tgi_run_report(run, "cubes.distance", q[7] - q[0], "m", NAN,
                 "of the centres at rest; 0.2 is touching, less is the overlap of the step that met the impact");
}

bool tgi_reproduce_prisms(tgRun *run) {
  enum { MOTIONS = 3 };
  static const char *const file[MOTIONS] = {"prisms.xml", "cubes.xml", "prisms.xml"}, *const name[MOTIONS] = {"prisms", "cubes", "toi"},
                    *const word[MOTIONS] = {"lcp", "lcp", "toi"};
  static void (*const rows[MOTIONS])(tgRun *, const Slide *) = {prism_rows, cube_rows, toi_rows};
  int missing = 0;
  bool good = true;
  for (int i = 0; i < MOTIONS && !tgi_cli_interrupted; i++) {
    Slide s = {.bodies = 0};
    tgStatus st = slide(&s, file[i], word[i]);
    if (st == TG_OK) {
      rows[i](run, &s);
      if (i < 2) missing += s.frictionless;   // the rows of `toi` are of a step's last piece
      good = tgi_run_leave(run, name[i], name[i], s.scene.model, s.scene.h, &s.t, 1, NULL, 0) && good;
    } else {
      good = false;
      if (s.scene.sim != NULL) tgi_cli_say("%s: %s", file[i], tg_sim_error(s.scene.sim)->text);
    }
    slide_close(&s);
  }
  if (!tgi_cli_interrupted)
    tgi_run_row(run, "frictionless_steps", missing,
                "of %d: failed, or a sliding contact pressed with less friction than mu f_n", 2 * STEPS);
  return good;
}
