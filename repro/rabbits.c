// rabbits.c: BA-R7, Gather with meshes in place of its cubes: Gather-Bunny, and what its frames cost under three potentials. [barrier]
// appendix A.6.5 and figure 14. With it Franka-Push, franka.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

enum { FRAMES = 40, BRUTE = 2, SECONDS = 300 };   // the last: of the plans, without --full

// A potential, and how many frames are timed of it. Under each the rabbits rest 0.039 mm above the floor.
typedef struct Kind { const char *row, *word, *weight, *form; int frames; double paper; } Kind;
static const Kind kinds[] = {{"bunny.frame_ms", "barrier", "5e-9", "moment", FRAMES, 3890},
                             {"bunny.ipc_ms", "ipc", "1.4e-5", NULL, FRAMES, 3140},
                             {"bunny.brute_ms", "barrier", "5e-9", "brute", BRUTE, 309620}};

static bool open(const Kind *k, const tgModel *m, tgScene *s) {
  tgError error = {0};
  tgAnyContactOptions o;
  *s = (tgScene){.model = NULL};
  tgStatus st = tg_contact_default(k->word, &o.of, sizeof o);
  if (st == TG_OK) st = tg_contact_set(&o.of, "weight", k->weight, &error);
  if (st == TG_OK && k->form != NULL) st = tg_contact_set(&o.of, "hierarchy", k->form, &error);
  s->contact = st == TG_OK ? tg_contact_create(m, k->word, &o.of, &error) : NULL;
  s->sim = s->contact != NULL ? tg_sim_create(m, s->contact, NULL, &error) : NULL;
  s->h = tg_model_timestep(m);
  if (s->sim == NULL) tgi_cli_error("reproduce", &error);
  return s->sim != NULL;
}

// steps with their gradients from the middle of the motion on, with its controls; the row
static bool cost(tgRun *run, const Kind *k, const tgModel *m, const tgCliTrajectory *t) {
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), nu = (size_t)tg_model_nu(m), from = (size_t)t->steps / 2;
  double *g = calloc(4 * nv + 1, sizeof *g), ms = 0, back = 0, newton = 0;
  tgScene s;
  bool good = open(k, m, &s) && g != NULL;
  if (good) tg_sim_set_state(s.sim, t->q + from * nq, t->v + from * nv);
  for (size_t i = 0; i < 2 * nv && good; i++) g[i] = 1;
  for (int i = 0; i < k->frames && good && !tgi_cli_interrupted; i++) {
    tgStepInfo info;
    memcpy(tg_sim_ctrl(s.sim), t->u + (from + (size_t)i) * nu, nu * sizeof *t->u);
    double began = tgi_core_now();
    good = tgi_scene_step(&s, &info) == TG_OK;
    double middle = tgi_core_now();
    good = good && tg_sim_step_vjp(s.sim, g, g + nv, g + 2 * nv, g + 3 * nv, NULL, NULL, NULL) == TG_OK;
    ms += 1e3 * (tgi_core_now() - began) / k->frames;
    back += 1e3 * (tgi_core_now() - middle) / k->frames;
    newton += (double)info.iterations / k->frames;
  }
  if (!good && s.sim != NULL) tgi_cli_say("gather_rabbits.xml under %s: %s", k->word, tg_sim_error(s.sim)->text);
  char note[200];
  snprintf(note, sizeof note,
           "mean of %d frames from the middle of the motion on, step and gradient, %.3g ms of them the gradient, %.3g Newton "
           "iterations; time on the core; 2772 triangles and a plane", k->frames, back, newton);
  if (good) tgi_run_report(run, k->row, ms, "ms", k->paper, note);
  tgi_scene_close(&s);
  free(g);
  return good;
}

static bool rabbits(tgRun *run, long *touching) {
  tgBarrierRun r = {.how = {.file = "gather_rabbits.yaml", .seconds = run->cli->full ? 0 : SECONDS}};
  tgError error = {0};
  bool good = tgi_gather_solve(run, "bunny", &r, touching);
  if (good && !tgi_cli_interrupted) {
    tgCliTrajectory t = {.label = "best"};
    good = tgi_cli_record_task(r.task, r.optimum->best, &t, &error) == TG_OK;
    if (!good) tgi_cli_error("reproduce", &error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && good && !tgi_cli_interrupted; i++)
      good = cost(run, &kinds[i], tg_task_model(r.task), &t);
    tgi_cli_trajectory_free(&t);
  }
  tgi_barrier_free(&r, 1);
  return good;
}

bool tgi_reproduce_meshes(tgRun *run) {
  long touching = 0;
  bool good = tgi_franka(run, &touching) && (tgi_cli_interrupted || rabbits(run, &touching));
  if (good && !tgi_cli_interrupted)
    tgi_run_row(run, "intersections", (double)touching,
                "pairs of geoms over all states of the arm's sweep, of the motion found for it and of the rabbits', by exact predicates");
  return good;
}
