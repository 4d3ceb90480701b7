// stack.c: BA-R1, book stacking: twenty planks at the greatest overhang that the stack can carry, under the barrier at several mu. [barrier] Section 6,
// figure 4 and table 2; beyond it, the moment form and planks of 512 triangles.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reproduce/barrier.h"
#include "math/quat.h"
#include "sim/sim.h"

// A stack is settled by steps from rest, in which it only sinks, then let go for ten seconds, or for one if it falls in it.
enum { PLANKS = 20, SETTLING = 30, FIRST = 25, STEPS = 250 };
static const double length = 2, height = 0.2, mass = 0.16;

// a plank that is farther than this from where it was let go, or turned more, has left the stack [m, rad]
static const double far = 0.02, turned = 0.02;

typedef struct Stack {
  double mu;
  tgHierarchy form;
  const int *cells;              // of a plank's sides; NULL: the file's twelve triangles
  tgModel *model;
  tgContact *contact;
  tgSim *sim;
  double stable, margin, force_error, seconds;
  long touching;
  tgCliTrajectory t;
} Stack;

static bool open(Stack *s) {
  char path[1024];
  tgError error = {0};
  tgContactOptions o = tg_contact_default();
  o.mu = s->mu;
  o.hierarchy = s->form;
  if (!tgi_models_file("planks.xml", path, sizeof path)) return false;
  tgDesc *desc = tg_desc_load(path, NULL, &error);
  bool good = desc != NULL && (s->cells == NULL || tgi_mesh_box(desc, 0, (const double[3]){length / 2, 0.2, height / 2}, s->cells));
  s->model = good ? tg_model_compile(desc, NULL, &error) : NULL;
  tg_desc_free(desc);
  s->contact = s->model != NULL ? tg_contact_create(s->model, "barrier", &o, &error) : NULL;
  s->sim = s->contact != NULL ? tg_sim_create(s->model, s->contact, NULL, &error) : NULL;
  if (s->sim == NULL) tgi_cli_error("reproduce", &error);
  return s->sim != NULL;
}

static void stack_close(Stack *s) {
  tgi_cli_trajectory_free(&s->t);
  tg_sim_free(s->sim);
  tg_contact_free(s->contact);
  tg_model_free(s->model);
}

// about the gaps at rest: a face carries what lies on it at a gap that falls with the root of the load
static void place(Stack *s) {
  double z = 0;
  for (int b = 0; b < PLANKS; b++) {
    z += 3.5e-3 * sqrt(s->mu / 1e-7 / (PLANKS - b));
    tg_sim_qpos(s->sim)[7 * b + 2] = z + height / 2;
    z += height;
  }
}

static tgStatus settle(Stack *s) {
  tgStatus st = TG_OK;
  place(s);
  for (int k = 0; k < SETTLING && st == TG_OK && !tgi_cli_interrupted; k++) {
    memset(tg_sim_qvel(s->sim), 0, (size_t)s->model->nv * sizeof(double));
    st = tg_sim_step_growing(s->sim, s->model->opt_timestep[0], NULL);
  }
  memset(tg_sim_qvel(s->sim), 0, (size_t)s->model->nv * sizeof(double));
  return st;
}

// seconds until a plank leaves the stack, or all of them
static double stable_seconds(const Stack *s, int steps) {
  const double *q0 = s->t.q;
  int nq = s->model->nq;
  for (int t = 1; t <= steps; t++)
    for (int b = 0; b < PLANKS; b++) {
      const double *a = q0 + 7 * b, *q = s->t.q + t * nq + 7 * b;
      double d = hypot(hypot(q[0] - a[0], q[1] - a[1]), q[2] - a[2]), dot = 0;
      for (int k = 3; k < 7; k++) dot += a[k] * q[k];
      if (!(d <= far) || !(2 * acos(fmin(1, fabs(dot))) <= turned)) return t * s->model->opt_timestep[0];
    }
  return steps * s->model->opt_timestep[0];
}

static tgStatus let_go(Stack *s, const char *label, tgError *error) {
  size_t nq = (size_t)s->model->nq;
  double h = s->model->opt_timestep[0], *q0 = malloc(nq * sizeof *q0);
  tgStatus st = q0 != NULL ? TG_OK : TG_ERR_MEMORY;
  if (st == TG_OK) memcpy(q0, tg_sim_qpos(s->sim), nq * sizeof *q0);
  for (int steps = FIRST; st == TG_OK; steps = STEPS) {
    tg_sim_reset(s->sim);
    memcpy(tg_sim_qpos(s->sim), q0, nq * sizeof *q0);
    s->t = (tgCliTrajectory){.label = label, .iteration = NAN};
    st = tgi_cli_record(s->sim, NULL, steps, h, &s->t, error);
    if (steps == STEPS || st != TG_OK || stable_seconds(s, steps) < steps * h) break;
    tgi_cli_trajectory_free(&s->t);
  }
  free(q0);
  return st;
}

// height of the top (side 1) or bottom (-1) face of a plank above x
static double face_height(const double *q, int side, double x) {
  double ex[3], ez[3];
  tgi_quat_rotate(ex, q + 3, (const double[3]){1, 0, 0});
  tgi_quat_rotate(ez, q + 3, (const double[3]){0, 0, 1});
  double px = q[0] + side * 0.5 * height * ez[0], pz = q[2] + side * 0.5 * height * ez[2];
  return pz + (x - px) / ex[0] * ex[2];
}

// mean gap of the interfaces between planks, each where its overlap is narrowest, at one of its ends
static double mean_margin(const double *q) {
  double sum = 0;
  for (int b = 0; b + 1 < PLANKS; b++) {
    const double *low = q + 7 * b, *high = low + 7;
    double right = low[0] + length / 2, left = high[0] - length / 2;
    sum += fmin(face_height(high, -1, right) - face_height(low, 1, right), face_height(high, -1, left) - face_height(low, 1, left));
  }
  return sum / (PLANKS - 1);
}

// upward force of the plank below on the top one, against the top one's weight
static double force_error(const tgSim *s) {
  int top = PLANKS, below = PLANKS - 1;   // bodies; 0 is the world
  double up = 0;
  for (int i = 0; i < s->nterm; i++) {
    const tgPairTerm *t = &s->term[i];
    if (t->body1 == top && t->body2 == below) up -= t->g[5];
    if (t->body2 == top && t->body1 == below) up -= t->g[11];
  }
  return fabs(up - mass * 9.81);
}

static bool measure(tgRun *run, Stack *s, const char *label) {
  tgError error = {0};
  double began = tgi_cli_now();
  if (!open(s)) return false;
  tgStatus st = settle(s);
  if (st == TG_OK) {
    s->margin = mean_margin(tg_sim_qpos(s->sim));
    s->force_error = force_error(s->sim);
    st = let_go(s, label, &error);
  }
  s->seconds = tgi_cli_now() - began;
  if (st != TG_OK && !(st < 0 && s->t.steps > 0)) {
    tgi_cli_say("%s: %s", label, error.text[0] != '\0' ? error.text : tg_sim_error(s->sim)->text);
    return false;
  }
  s->stable = stable_seconds(s, s->t.steps);
  s->touching = tgi_touching_motion(s->model, s->t.q, s->t.steps);
  tgi_run_progress(run, label, 1, 1, began);
  return s->touching >= 0;
}

// slope of log margin over log mu, least squares over all mu
static double exponent(const double *mu, const double *margin, int n) {
  double k = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int i = 0; i < n; i++) {
    if (!(margin[i] > 0)) continue;
    double a = log(mu[i]), b = log(margin[i]);
    k++, x += a, y += b, xx += a * a, xy += a * b;
  }
  return (k * xy - x * y) / (k * xx - x * x);
}

enum { MUS = 6 };
static const double mus[MUS] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10};
// the paper has no row of 1e-9
static const double paper_margin[MUS] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, NAN, 3.13e-5}, paper_force[MUS] = {6.38e-3, 6.40e-4, 6.42e-5, 6.42e-6, NAN, 6.42e-8};
static const char *const mu_word[MUS] = {"mu1e-5", "mu1e-6", "mu1e-7", "mu1e-8", "mu1e-9", "mu1e-10"};

static void rows(tgRun *run, const Stack *s, const char *form, int k) {
  char name[80];
  bool paper = s->form == TG_HIERARCHY_PAPER;
  snprintf(name, sizeof name, "%s.%s.stable_s", form, mu_word[k]);
  tgi_run_row(run, name, s->stable, "until a plank moves 2 cm or turns 1.1 degrees, of %g s; %.3g s of work%s", STEPS * 0.04, s->seconds,
              paper && k == 0 ? "; the paper's fails" : "");
  snprintf(name, sizeof name, "%s.%s.margin_m", form, mu_word[k]);
  if (k == 2 && paper) tgi_run_row(run, name, s->margin, "mean of 19 interfaces, narrowest place of each, when let go");
  else tgi_run_report(run, name, s->margin, "m", paper ? paper_margin[k] : NAN, "mean of 19 interfaces, narrowest place of each, when let go");
  snprintf(name, sizeof name, "%s.%s.force_error_N", form, mu_word[k]);
  if (k == 2 && paper) tgi_run_row(run, name, s->force_error, "on the top plank by the next, against its weight of 1.57 N, when let go");
  else tgi_run_report(run, name, s->force_error, "N", paper ? paper_force[k] : NAN, "on the top plank by the next, against its weight of 1.57 N, when let go");
}

static bool one(tgRun *run, Stack *s, const char *form, int k, double *margin, long *touching) {
  char label[60];
  snprintf(label, sizeof label, "%s.%s", form, mu_word[k]);
  bool good = measure(run, s, label);
  if (good) {
    *margin = s->margin;
    *touching += s->touching;
    rows(run, s, form, k);
    if (k == 2) good = tgi_run_leave(run, label, label, s->model, s->model->opt_timestep[0], &s->t, 1, NULL, 0);
  }
  stack_close(s);
  return good;
}

bool tgi_reproduce_stack(tgRun *run) {
  static const int fine[3] = {8, 8, 4};   // 512 triangles
  double margin[2][MUS], refined = NAN;
  long touching = 0;
  bool good = true;
  for (int form = 0; form < 2; form++)
    for (int k = 0; k < MUS && good && !tgi_cli_interrupted; k++) {
      margin[form][k] = NAN;
      Stack s = {.mu = mus[k], .form = form == 0 ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT};
      good = one(run, &s, form == 0 ? "paper" : "moment", k, &margin[form][k], &touching);
    }
  if (!good || tgi_cli_interrupted) return good;
  tgi_run_row(run, "paper.margin_exponent", exponent(mus, margin[0], MUS), "least squares over all mu");
  for (int form = 1; form >= (run->cli->full ? 0 : 1) && good; form--) {
    Stack s = {.mu = mus[2], .form = form == 0 ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT, .cells = fine};
    good = one(run, &s, form == 0 ? "paper.512" : "moment.512", 2, &refined, &touching);
    if (form == 1)
      tgi_run_row(run, "moment.mu1e-7.refined_margin_ratio_error", fabs(refined / margin[1][2] - 1), "512 triangles a plank: %.3g m, 12: %.3g m", refined, margin[1][2]);
  }
  tgi_run_row(run, "intersections", (double)touching, "pairs of geoms over all states, by exact predicates");
  return good;
}
