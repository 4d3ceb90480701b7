// verify.c: a motion found is replayed under other conditions than those it was found under: does it hold?
//
// Three kinds of replays: with shorter steps; with what the contact model doubts of itself (tgContactDoubt); under contact models that
// are rigid, in steps of a millisecond. Controls are held in time as they were found.
#include "optim/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "contact/contact.h"
#include "geom/hull.h"
#include "optim/view.h"
#include "sim/sim.h"

enum { FINER = 8 };                      // steps for one of the task's
static const double rigid_step = 1e-3;   // [s], of rigid contact models

const char *tg_verdict_text(tgVerdict v) {
  static const char *const text[] = {"holds", "misses", "ends early", "not expressed"};
  return v >= TG_VERDICT_HOLDS && v <= TG_VERDICT_NOT_EXPRESSED ? text[v] : "unknown";
}

// ---- which replays ----

// a replay of a task: name, and what it changes; contact NULL: nothing but the step; doubt NULL: no option
typedef struct Replay {
  const char *name, *contact;
  const tgContactDoubt *doubt;
  bool finer, required, gradient;   // gradient: is asked for
  bool named;                       // contact is, by the task
} Replay;

typedef struct Replays { int n; Replay replay[TG_VERIFY_ROWS]; } Replays;

static void add(Replays *all, Replay r) {
  if (all->n < TG_VERIFY_ROWS) all->replay[all->n++] = r;
}

static const tgContactDoubt *doubt_named(const tgContactModel *kind, const char *name) {
  for (const tgContactDoubt *d = kind->doubts; d != NULL && d->name != NULL; d++)
    if (strcmp(d->name, name) == 0) return d;
  return NULL;
}

// some contact model has it
static bool is_doubt(const char *name) {
  for (int i = 0; tgi_contact_table(i) != NULL; i++)
    if (doubt_named(tgi_contact_table(i), name) != NULL) return true;
  return false;
}

// of every contact model, or none at all
static bool is_own(const char *name) { return strcmp(name, "finer") == 0 || strcmp(name, "none") == 0; }

static bool is_known(const char *name) { return is_own(name) || is_doubt(name) || tgi_contact_named(name, NULL) != NULL; }

tgStatus tgi_verify_resolve(const tgTask *task, tgError *error) {
  const YamlVerify *y = task->yaml->verify;
  if (y == NULL) return TG_OK;
  for (unsigned i = 0; i < y->nrows; i++)
    if (!is_known(y->rows[i]))
      return tgi_error(error, TG_ERR_INVALID, "verify: there is no replay '%.60s'; known are finer, stiffer, near, cone, the words "
                                              "of contact models, and none", y->rows[i]);
  if (!(y->distance >= 0) || (y->loss != NULL && isnan(*y->loss)))
    return tgi_error(error, TG_ERR_INVALID, "verify: distance %g must not be negative, nor the loss not a number", y->distance);
  return TG_OK;
}

static Replay replay_named(const tgTask *task, const char *name) {
  if (strcmp(name, "finer") == 0) return (Replay){.name = name, .finer = true, .required = true};
  if (!is_doubt(name)) return (Replay){.name = name, .contact = name, .required = true, .named = true};
  const tgContactDoubt *d = doubt_named(task->contact->kind, name);
  return (Replay){.name = name, .doubt = d, .finer = d != NULL && d->finer, .required = true};
}

// where the file names none: shorter steps, the contact model's own doubts, and every rigid one
static void replays_of(const tgTask *task, Replays *all) {
  const YamlVerify *y = task->yaml->verify;
  all->n = 0;
  for (unsigned i = 0; y != NULL && i < y->nrows; i++)
    if (strcmp(y->rows[i], "none") != 0) add(all, replay_named(task, y->rows[i]));
  if (y != NULL && y->rows != NULL) return;
  add(all, (Replay){.name = "finer", .finer = true, .required = true});
  for (const tgContactDoubt *d = task->contact->kind->doubts; d != NULL && d->name != NULL; d++)
    if (!d->asked) add(all, (Replay){.name = d->name, .doubt = d, .finer = d->finer, .required = d->required});
  for (int i = 0; tgi_contact_table(i) != NULL; i++)
    if (tgi_contact_table(i)->rigid && tgi_contact_table(i) != task->contact->kind)
      add(all, (Replay){.name = tgi_contact_table(i)->word, .contact = tgi_contact_table(i)->word, .required = true});
  // a stage of a refinement: what the task itself is under
  const tgContact *first = task->view_of != NULL ? task->view_of->contact : task->contact;
  if (first->kind != task->contact->kind && !first->kind->rigid)
    add(all, (Replay){.name = first->kind->word, .contact = first->kind->word});
}

// ---- one of them ----

// the most that is left, infinite where nothing is asked
typedef struct Bounds { double loss, distance; } Bounds;

// of the motion itself
static Bounds own_bounds(const tgTask *task) {
  const YamlSuccess *s = task->yaml->success;
  return (Bounds){.loss = s != NULL && s->loss != NULL ? *s->loss : INFINITY,
                  .distance = s != NULL && s->distance > 0 ? s->distance : INFINITY};
}

// of a replay: the file's, else those of the motion itself
static Bounds replay_bounds(const tgTask *task) {
  const YamlVerify *v = task->yaml->verify;
  Bounds b = own_bounds(task);
  if (v != NULL && v->loss != NULL) b.loss = *v->loss;
  if (v != NULL && v->distance > 0) b.distance = v->distance;
  return b;
}

// a task without a position term has no distance, and is not within one
static bool within(Bounds b, double loss, double distance) { return loss <= b.loss && (b.distance == INFINITY || distance <= b.distance); }

bool tgi_task_met(const tgTask *task, double loss, double distance) { return within(own_bounds(task), loss, distance); }

bool tgi_task_can_stop(const tgTask *t) { return isfinite(t->stop_loss) || isfinite(t->stop_distance); }

bool tgi_task_stops(const tgTask *t, double loss, double distance) { return loss <= t->stop_loss || distance <= t->stop_distance; }

static void not_expressed(tgVerifyRow *row, const char *why) {
  row->verdict = TG_VERDICT_NOT_EXPRESSED;
  snprintf(row->reason, sizeof row->reason, "%.639s", why);
}

static bool is_decided(const tgTask *task, const char *option) {
  for (int i = 0; i < task->nparam_name; i++)
    if (strncmp(task->param_name[i], "contact.", 8) == 0 && strcmp(task->param_name[i] + 8, option) == 0) return true;
  return false;
}

// the option that the replay changes, and its value; NULL: why it has none
static const char *doubt(const tgTask *task, const tgContactDoubt *d, tgVerifyRow *row, char *value, size_t size) {
  if (d == NULL) return "the contact model has no such replay";
  double now = tg_contact_get(tg_contact_options(task->contact), d->option), changed = d->factor * now;
  if (d->word != NULL) snprintf(value, size, "%s", d->word);
  else snprintf(value, size, "%.17g", changed);
  if (d->word != NULL) snprintf(row->text, sizeof row->text, "%.30s %s, steps of %.3g ms", d->option, d->word, 1e3 * row->h);
  else snprintf(row->text, sizeof row->text, "%.30s %.3g, steps of %.3g ms", d->option, changed, 1e3 * row->h);
  if (d->word == NULL && now == 0) return "the option follows from the model; give it a value";
  return is_decided(task, d->option) ? "the task decides the option" : NULL;
}

// The first geom that may touch and whose mesh is not convex, -1: there is none, or -2: out of memory.
static int first_concave(const tgTask *task) {
  const tgModel *m = task->model;
  int found = -1;
  for (int g = 0; g < m->ngeom && found == -1; g++) {
    int hull = m->geom_hull[g];
    if (m->geom_type[g] != TG_GEOM_MESH || hull < 0) continue;
    int mesh = m->hull_mesh[hull], n = m->mesh_vertnum[mesh];
    double *vert = task->alloc.alloc(task->alloc.ctx, tgi_size_mul(3 * (size_t)n + 1, sizeof *vert));
    for (int i = 0; i < 3 * n && vert != NULL; i++) vert[i] = tgRe(m->mesh_vert[3 * m->mesh_vertadr[mesh] + i]);
    const int *face = m->mesh_face + 3 * m->mesh_faceadr[mesh];
    double more = vert == NULL ? 0 : tgi_hull_concavity(&m->hull[hull], vert, n, face, m->mesh_facenum[mesh]);
    if (vert == NULL || more > TGI_HULL_CONCAVE) found = vert == NULL ? -2 : g;
    task->alloc.free(task->alloc.ctx, vert);
  }
  return found;
}

// Has the contact model hulls in the place of meshes: one that is rigid, without facets and without clouds of points.
static bool has_hulls(const tgContact *c) { return c->kind->rigid && c->facets == NULL && c->soft == NULL; }

// A replay among hulls, of a motion found among meshes as they are, is of another scene: false where it is one, or row or error says why.
static bool same_shapes(const tgTask *task, const tgTask *view, tgVerifyRow *row, tgError *error) {
  char label[96], why[300];
  if (!has_hulls(view->contact) || has_hulls(task->contact)) return true;
  int g = first_concave(task);
  if (g == -2) tgi_error(error, TG_ERR_MEMORY, "out of memory for the meshes of a replay");
  if (g < 0) return g == -1;
  snprintf(why, sizeof why, "the mesh of %s is not convex, and %s has its convex hull in its place",
           tgi_model_label(task->model, TG_THING_GEOM, g, label, sizeof label), tg_contact_word(view->contact));
  not_expressed(row, why);
  return false;
}

// the task under the replay's conditions; NULL: row or error says why there is none
static tgTask *view_of(const tgTask *task, const Replay *r, tgVerifyRow *row, tgError *error) {
  tgiViewAsk ask = {.contact = r->contact, .sub = r->finer ? FINER : 1, .gradient = r->gradient};
  char value[40];
  if (r->contact != NULL) {
    double own = task->view_of != NULL ? task->view_of->h : task->h;
    ask.sub = (int)fmax(1, ceil(task->h / (tgi_contact_named(r->contact, NULL)->rigid ? rigid_step : own / (double)FINER) - 1e-9));
  }
  row->h = task->h / ask.sub;
  if (is_doubt(r->name)) {
    const char *why = doubt(task, r->doubt, row, value, sizeof value);
    if (why != NULL) {
      not_expressed(row, why);
      return NULL;
    }
    ask.option = r->doubt->option;
    ask.value = value;
  } else snprintf(row->text, sizeof row->text, "%s, steps of %.3g ms", r->contact != NULL ? r->contact : "the same", 1e3 * row->h);
  tgTask *view = tgi_task_view(task, &ask, error);
  if (view == NULL && error->status != TG_ERR_MEMORY) not_expressed(row, error->text);
  if (view == NULL || r->named || same_shapes(task, view, row, error)) return view;
  tg_task_free(view);
  return NULL;
}

tgTask *tgi_verify_view(const tgTask *task, const char *name, tgError *error) {
  if (!is_known(name) || strcmp(name, "none") == 0) {
    tgi_error(error, TG_ERR_INVALID, "there is no such replay; known are finer, stiffer, near, cone and the words of contact models");
    return NULL;
  }
  Replay r = replay_named(task, name);
  tgVerifyRow row = {.h = 0};
  tgError own = {0};
  r.gradient = true;
  tgTask *view = view_of(task, &r, &row, &own);
  if (view == NULL && row.verdict == TG_VERDICT_NOT_EXPRESSED) tgi_error(error, TG_ERR_UNSUPPORTED, "%s", row.reason);
  else if (view == NULL && error != NULL) *error = own;
  return view;
}

// controls, the view's start and room for a replay of `sub` steps for one of the task's
typedef struct Motion { double *q0, *v0, *u, *q, *v; void *block; } Motion;

static bool take_motion(const tgTask *task, const tgTask *view, const double *x, int sub, bool states, Motion *m) {
  size_t nq = (size_t)task->model->nq, nw = (size_t)tgi_nw(task->model), nu = (size_t)task->model->nu, T = (size_t)task->steps,
         fine = tgi_size_mul(T, (size_t)sub), rows = states ? fine + 1 : 0;
  size_t n = nq + nw + tgi_size_mul(fine, nu) + tgi_size_mul(rows, nq + nw) + 1;
  m->block = task->alloc.alloc(task->alloc.ctx, tgi_size_mul(n, sizeof(double)));
  if (m->block == NULL) return false;
  m->q0 = m->block;
  m->v0 = m->q0 + nq;
  m->u = m->v0 + nw;
  m->q = m->u + fine * nu;
  m->v = m->q + rows * nq;
  tg_task_expand(task, x, NULL, m->v0, m->u);
  tg_task_expand(view, x, m->q0, NULL, NULL);
  for (size_t t = fine; t-- > 0 && sub > 1;) memmove(m->u + t * nu, m->u + t / (size_t)sub * nu, nu * sizeof(double));
  return true;
}

static tgStatus run(const tgTask *task, const tgTask *view, const double *x, Motion *m, bool states, const volatile int *cancel,
                    tgVerifyRow *row, tgRolloutResult *result, tgError *error) {
  tgEvaluator *e = tg_evaluator_create(view, 0, error);
  if (e == NULL) {
    not_expressed(row, error->text);
    return error->status == TG_ERR_MEMORY ? TG_ERR_MEMORY : TG_OK;
  }
  tgRollAsk ask = {.x = x, .q0 = m->q0, .v0 = m->v0, .u = m->u, .q = states ? m->q : NULL, .v = states ? m->v : NULL, .cancel = cancel};
  tgStatus st = tgi_evaluator_roll(e, &ask, &row->loss, result);
  row->distance = st == TG_OK ? tgi_evaluator_distance(e) : NAN;
  row->verdict = st != TG_OK ? TG_VERDICT_ENDS
                 : within(replay_bounds(task), row->loss, row->distance) ? TG_VERDICT_HOLDS : TG_VERDICT_MISSES;
  // a start that the contact model refuses, as bodies that touch at it
  if (st == TG_ERR_INVALID && result->steps == 0) row->verdict = TG_VERDICT_NOT_EXPRESSED;
  if (st != TG_OK) {
    row->loss = NAN;
    snprintf(row->reason, sizeof row->reason, "%.639s", result->error.text[0] != '\0' ? result->error.text : tg_status_text(st));
  }
  tg_evaluator_free(e);
  return st == TG_CANCELLED || st == TG_ERR_MEMORY ? st : TG_OK;
}

static tgStatus replay(const tgTask *task, const double *x, const Replay *r, Motion *kept, const volatile int *cancel, tgVerifyRow *row,
                       tgRolloutResult *result, tgError *error) {
  *row = (tgVerifyRow){.required = r->required, .loss = NAN, .distance = NAN};
  snprintf(row->name, sizeof row->name, "%s", r->name);
  tgError own = {0};
  tgTask *view = view_of(task, r, row, &own);
  tgStatus st = TG_OK;
  Motion m = {.block = NULL};
  if (view == NULL && row->verdict != TG_VERDICT_NOT_EXPRESSED) st = own.status;
  if (view != NULL && !take_motion(task, view, x, view->steps / task->steps, kept != NULL, &m))
    st = tgi_error(&own, TG_ERR_MEMORY, "out of memory for a replay of %d steps", view->steps);
  if (view != NULL && st == TG_OK) st = run(task, view, x, &m, kept != NULL, cancel, row, result, &own);
  // what only the default asks for and the contact model cannot express is not held against the motion
  bool asked = task->yaml->verify != NULL && task->yaml->verify->rows != NULL;
  if (row->verdict == TG_VERDICT_NOT_EXPRESSED && !asked) row->required = false;
  if (view != NULL) tg_task_free(view);
  if (kept != NULL) *kept = m;
  else task->alloc.free(task->alloc.ctx, m.block);
  if (st != TG_OK && error != NULL) *error = own;
  return st;
}

tgStatus tg_verify(const tgTask *task, const double *x, const volatile int *cancel, tgVerification *out, tgError *error) {
  if (task == NULL || x == NULL || out == NULL)
    return tgi_error(error, TG_ERR_ARG, "tg_verify needs a task, variables and a place for the rows");
  Replays all;
  *out = (tgVerification){.broken = -1};
  replays_of(task, &all);
  for (int i = 0; i < all.n; i++) {
    tgRolloutResult result;
    tgStatus st = replay(task, x, &all.replay[i], NULL, cancel, &out->row[i], &result, error);
    if (st != TG_OK) return st;
    out->n = i + 1;
    if (out->broken < 0 && out->row[i].required && out->row[i].verdict != TG_VERDICT_HOLDS) out->broken = i;
  }
  return TG_OK;
}

double tgi_verify_worst(const tgTask *task, const tgVerification *v) {
  Bounds b = replay_bounds(task);
  double worst = 0;
  for (int i = 0; i < v->n; i++) {
    const tgVerifyRow *r = &v->row[i];
    if (!r->required || r->verdict == TG_VERDICT_HOLDS) continue;
    if (r->verdict != TG_VERDICT_MISSES) return INFINITY;
    if (r->distance > b.distance) worst = fmax(worst, r->distance / b.distance);
    if (r->loss > b.loss) worst = fmax(worst, b.loss > 0 ? r->loss / b.loss : 1 + r->loss - b.loss);
  }
  return worst;
}

tgStatus tg_verify_motion(const tgTask *task, const double *x, const char *name, double *q, double *v, const volatile int *cancel,
                          tgError *error) {
  if (task == NULL || x == NULL || name == NULL) return tgi_error(error, TG_ERR_ARG, "tg_verify_motion needs a task, variables and a name");
  Replays all;
  replays_of(task, &all);
  const Replay *r = NULL;
  for (int i = 0; i < all.n; i++)
    if (strcmp(all.replay[i].name, name) == 0) r = &all.replay[i];
  if (r == NULL) return tgi_error(error, TG_ERR_ARG, "the task has no replay '%.60s'", name);
  tgVerifyRow row;
  Motion m = {.block = NULL};
  tgRolloutResult result = {.steps = 0};
  tgStatus st = replay(task, x, r, &m, cancel, &row, &result, error);
  if (st == TG_OK && row.verdict == TG_VERDICT_NOT_EXPRESSED) st = tgi_error(error, TG_ERR_UNSUPPORTED, "%s: %s", name, row.reason);
  size_t nq = (size_t)task->model->nq, nw = (size_t)tgi_nw(task->model);
  int sub = (int)lround(task->h / row.h), states = m.block == NULL || st != TG_OK ? 0 : task->steps + 1;
  if (row.verdict == TG_VERDICT_ENDS && states > 0) states = result.steps / sub + 1;
  for (int t = 0; t < states; t++) {
    size_t from = (size_t)t * (size_t)sub, to = (size_t)t;
    if (q != NULL) memcpy(q + to * nq, m.q + from * nq, nq * sizeof *q);
    if (v != NULL) memcpy(v + to * nw, m.v + from * nw, nw * sizeof *v);
  }
  task->alloc.free(task->alloc.ctx, m.block);
  if (st != TG_OK || row.verdict != TG_VERDICT_ENDS) return st;
  if (error != NULL) *error = result.error;
  return result.error.status < 0 ? result.error.status : TG_NOT_CONVERGED;
}

static tgStatus judge(const tgTask *task, tgEvaluator *e, tgSim *sim, const double *x, const double *q, const double *v, double *loss) {
  size_t nq = (size_t)task->model->nq, nw = (size_t)tgi_nw(task->model), nu = (size_t)task->model->nu;
  tgRolloutRun run;
  TG_TRY(tg_evaluator_run(e, x, &run));
  TG_TRY(tg_task_set_parameters(task, x, sim));
  *loss = 0;
  for (int t = 0; t <= task->steps; t++) {
    tg_sim_set_state(sim, q + (size_t)t * nq, v + (size_t)t * nw);
    if (t < task->steps && nu > 0) memcpy(sim->ctrl, run.u + (size_t)t * nu, nu * sizeof *run.u);
    TG_TRY(tg_sim_forward(sim));
    TG_TRY(run.loss(run.loss_ctx, sim, t, task->steps, loss, NULL, NULL, NULL));
  }
  return TG_OK;
}

tgStatus tg_task_judge(const tgTask *task, const double *x, const double *q, const double *v, double *loss, double *distance,
                       tgError *error) {
  if (task == NULL || x == NULL || q == NULL || v == NULL || loss == NULL || distance == NULL)
    return tgi_error(error, TG_ERR_ARG, "tg_task_judge needs a task, variables, states and a place for loss and distance");
  tgEvaluator *e = tgi_evaluator_create(task, false, 0, error);
  tgSim *sim = e != NULL ? tg_sim_create(task->model, task->contact, &task->alloc, error) : NULL;
  tgError own = {0};
  tgStatus st = sim == NULL ? (error != NULL && error->status < 0 ? error->status : TG_ERR_MEMORY) : judge(task, e, sim, x, q, v, loss);
  if (sim != NULL && st != TG_OK) {
    own = *tg_sim_error(sim);
    if (own.text[0] == '\0') tgi_error(&own, st, "the states cannot be judged: %s", tg_status_text(st));
    if (error != NULL) *error = own;
  }
  if (st == TG_OK) *distance = tgi_evaluator_distance(e);
  tg_sim_free(sim);
  tg_evaluator_free(e);
  return st;
}

double tg_task_success_distance(const tgTask *task) {
  double most = task != NULL ? own_bounds(task).distance : INFINITY;
  return isfinite(most) ? most : NAN;
}

tgVerdict tg_task_verdict(const tgTask *task, double loss, double distance) {
  return task != NULL && within(replay_bounds(task), loss, distance) ? TG_VERDICT_HOLDS : TG_VERDICT_MISSES;
}
