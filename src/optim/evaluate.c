// evaluate.c: loss and gradient of a task at its decision variables: expand, roll out, chain back.
//
// L(x) = sum over terms of weight * e, e a term of terms.h at the end, at a time, the mean over the steps, or where its residual is
// least: at a state, or between two (passing.h). Where that is the forward sweep notes; the value then counts at the end, the slope at
// that state, or at both.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "check/check.h"
#include "kin/kinematics.h"
#include "optim/controls.h"
#include "optim/parameters.h"
#include "optim/passing.h"
#include "optim/terms.h"
#include "rollout/rollout.h"

struct tgEvaluator {
  tgAllocator alloc;
  const tgTask *task;
  tgRollout *rollout;
  double *q0, *v0, *u, *dq0, *dv0, *du, *step, *gstep;   // as the rollout takes them; a step of q0 and its gradient
  double *x;                                            // decision variables of the run under way, where it has parameters
  tgParamGrad *dp;                                      // NULL: none are decided
  tgTermRows rows;
  const tgExpansion *expansion;                         // to be filled by the loss, or NULL
  double *value, *distance;                             // of each term, of the last evaluation
  double *least;                                        // of each term at its least, the residual there,
  int *least_at;                                        // and the state that has it, or behind which the way has it,
  bool *passes;                                         // if so
  bool *tied;                                           // another state has as little
  int *corner;                                          // the first state with other nearest points of a gap, -1: none
  bool kept;                                            // least_at and passes stay those of the run before
  tgiPassing *passing;                                  // of each term, there
  tgiPassingWork passing_work;
  void *block;
};

// gq, gv, gu += scale J' phi'
static void add_slope(const tgTermRows *w, const tgModel *m, double scale, double *gq, double *gv, double *gu) {
  int nv = m->nv, nx = nv + tgi_nw(m);
  for (int k = 0; k < w->n; k++) {
    const double *row = w->J + (size_t)k * (size_t)w->nz;
    double c = scale * w->slope[k];
    for (int i = w->first[k]; i < w->first[k] + w->count[k]; i++) {
      double *at = i < nv ? gq + i : i < nx ? gv + i - nv : gu + i - nx;
      *at += c * row[i];
    }
  }
}

// g += scale J' phi', and where it is wanted H += scale J' diag(phi'') J
static void add_expansion(const tgTermRows *w, double scale, double *g, double *H) {
  for (int k = 0; k < w->n; k++) {
    const double *row = w->J + (size_t)k * (size_t)w->nz;
    double c = scale * w->curve[k];
    int a = w->first[k], b = a + w->count[k];
    for (int i = a; i < b; i++) {
      g[i] += scale * w->slope[k] * row[i];
      for (int j = a; j < b && c != 0 && H != NULL; j++) H[(size_t)i * (size_t)w->nz + (size_t)j] += c * row[i] * row[j];
    }
  }
}

// true when the term looks at state t of this stretch. Means over the steps are taken over t = 0 .. T-1 (controls) or 1 .. T (states);
// a state where two stretches meet belongs to the first.
static bool counts(const tgTask *task, const tgTerm *term, int t, int steps) {
  if (term->kind == TG_TERM_CONTROL) return t < steps;
  if (t == 0 && task->offset > 0) return false;
  if (term->when == TG_TERM_LEAST) return true;
  if (term->when == TG_TERM_ALL) return t > 0;
  return task->offset + t == (term->when == TG_TERM_END ? task->end : term->step);
}

static double rows_norm(const tgTermRows *w) {
  double sum = 0;
  for (int k = 0; k < w->n; k++) sum += w->r[k] * w->r[k];
  return sqrt(sum);
}

// Residuals nearer than this are equal [m]: gaps of bodies that rest differ by their round-off.
static const double TIE = 1e-12;

// the least of term i where it was in the run before
static void note_kept(tgEvaluator *e, tgSim *s, int i, int t) {
  const tgTerm *term = &e->task->term[i];
  if (t != e->least_at[i]) return;
  if (!e->passes[i]) e->value[i] = tgi_term_rows(s, &s->start, term, false, &e->rows);
  else if (tgi_passing_find(s, term, INFINITY, &e->rows, &e->passing_work, &e->passing[i])) e->value[i] = e->passing[i].value;
}

// the least so far of term i: at state t, if that counts, and on the way from it
static void note_least(tgEvaluator *e, tgSim *s, int i, int t, int steps) {
  const tgTerm *term = &e->task->term[i];
  if (e->kept) {
    note_kept(e, s, i, t);
    return;
  }
  if (t > 0) {
    double raw = tgi_term_rows(s, &s->start, term, false, &e->rows), r = e->rows.r[0];
    if (r < e->least[i] - TIE) e->tied[i] = false;
    else if (r <= e->least[i] + TIE) e->tied[i] = true;
    if (!(r >= e->least[i])) {
      e->least[i] = r;
      e->least_at[i] = t;
      e->passes[i] = false;
      e->value[i] = raw;
    }
  }
  if (t == steps || !tgi_passing_find(s, term, e->least[i], &e->rows, &e->passing_work, &e->passing[i])) return;
  if (e->passing[i].r < e->least[i] - TIE) e->tied[i] = false;
  e->least[i] = e->passing[i].r;
  e->least_at[i] = t;
  e->passes[i] = true;
  e->value[i] = e->passing[i].value;
}

// A gradient's sweep comes last to the first state, an expansion's first. A gap that is as wanted has no slope on any side.
static void note_corner(tgEvaluator *e, int i, int t, bool tied, double r) {
  bool earlier = e->corner[i] < 0 || t < e->corner[i];
  if (earlier && tied && fabs(r) > TIE) e->corner[i] = t;
}

// Of a term at the least of its residual: at the end its value, where it is least its slope; between two states that goes through the step
// from the first of them, which is in the sim.
static tgStatus least_loss(tgEvaluator *e, tgSim *s, int i, int t, int steps, bool note, tgReal *value, double *gq, double *gv,
                           double *gu) {
  const tgTerm *term = &e->task->term[i];
  if (note) note_least(e, s, i, t, steps);
  if (t == steps) *value += term->weight * e->value[i];
  if (gq == NULL || t != e->least_at[i]) return TG_OK;
  if (e->passes[i]) {
    note_corner(e, i, t, e->passing[i].tied, e->passing[i].r);
    return tgi_passing_slopes(s, &e->passing[i], term->weight, &e->passing_work, gq, gv, gu, NULL);
  }
  tgi_term_rows(s, &s->start, term, true, &e->rows);
  note_corner(e, i, t, e->rows.tied, e->rows.r[0]);
  add_slope(&e->rows, &s->m, term->weight, gq, gv, gu);
  return TG_OK;
}

static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  tgEvaluator *e = ctx;
  const tgTask *task = e->task;
  size_t nz = (size_t)e->rows.nz;
  const tgExpansion *x = e->expansion;
  double *g = x != NULL ? x->g + (size_t)t * nz : NULL, *H = x != NULL && x->H != NULL ? x->H + (size_t)t * nz * nz : NULL;
  if (g != NULL) memset(g, 0, nz * sizeof *g);
  if (H != NULL) memset(H, 0, nz * nz * sizeof *H);
  // the forward sweep, which comes first, notes the values
  bool note = gq == NULL || t == steps;
  for (int i = 0; i < task->nterm; i++) {
    const tgTerm *term = &task->term[i];
    if (note && t == 0) {
      e->value[i] = 0;
      e->distance[i] = NAN;
      e->corner[i] = -1;
      if (!e->kept) {
        e->least[i] = INFINITY;
        e->least_at[i] = 0;
        e->passes[i] = e->tied[i] = false;
      }
    }
    if (!counts(task, term, t, steps)) continue;
    if (term->when == TG_TERM_LEAST) {
      TG_TRY_OUTCOME(least_loss(e, s, i, t, steps, note, value, gq, gv, gu));
      continue;
    }
    double share = term->when == TG_TERM_ALL ? 1.0 / task->total : 1, scale = term->weight * share;
    double raw = tgi_term_rows(s, &s->start, term, gq != NULL || x != NULL, &e->rows);
    *value += scale * raw;
    note_corner(e, i, t, e->rows.tied, e->rows.r[0]);
    if (gq != NULL) add_slope(&e->rows, &s->m, scale, gq, gv, gu);
    if (x != NULL) add_expansion(&e->rows, scale, g, H);
    if (!note) continue;
    e->value[i] += share * raw;
    if (tgi_term_is_position(term->kind) && (term->when != TG_TERM_ALL || t == steps)) e->distance[i] = rows_norm(&e->rows);
  }
  return TG_OK;
}

static tgStatus loss_parameters(void *ctx, tgSim *s, int t, int steps, tgParamGrad *dp) {
  tgEvaluator *e = ctx;
  const tgTask *task = e->task;
  for (int i = 0; i < task->nterm; i++) {
    const tgTerm *term = &task->term[i];
    if (!counts(task, term, t, steps) || (term->when == TG_TERM_LEAST && t != e->least_at[i])) continue;
    if (term->when == TG_TERM_LEAST && e->passes[i]) {
      TG_TRY_OUTCOME(tgi_passing_slopes(s, &e->passing[i], term->weight, &e->passing_work, NULL, NULL, NULL, dp));
      tgi_passing_parameters(s, term, &e->passing[i], term->weight, &e->rows, &e->passing_work, dp);
      continue;
    }
    tgi_term_parameters(s, &s->start, term, term->weight * (term->when == TG_TERM_ALL ? 1.0 / task->total : 1), &e->rows, dp);
  }
  return TG_OK;
}

static void choice(void *ctx, bool keep, tgGradInfo *grad) {
  tgEvaluator *e = ctx;
  e->kept = keep;
  for (int i = 0; i < e->task->nterm && grad != NULL; i++) {
    const tgTerm *term = &e->task->term[i];
    bool tied = term->when == TG_TERM_LEAST && e->tied[i], corner = e->corner[i] >= 0;
    if ((!tied && !corner) || !(term->weight > 0)) continue;
    tgGradInfo tie = {.label = TG_GRAD_ONE_SIDED, .converged = true, .first_step = tied ? e->least_at[i] : e->corner[i]};
    snprintf(tie.reason, sizeof tie.reason, "losses: %.90s is least at several %s%s%s", term->label, tied ? "states" : "",
             tied && corner ? " and several " : "", corner ? "places of the geoms" : "");
    tgi_grad_worst(grad, &tie);
  }
}

static tgStatus set_parameters(void *ctx, tgSim *sim) {
  const tgEvaluator *e = ctx;
  return tg_task_set_parameters(e->task, e->x, sim);
}

static void place(tgEvaluator *e, tgLayout *l) {
  const tgModel *m = e->task->model;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nw = (size_t)tgi_nw(m), nu = tgi_size_mul((size_t)e->task->steps, (size_t)m->nu),
         nt = (size_t)e->task->nterm;
  double **arrays[] = {&e->q0, &e->v0, &e->u, &e->dq0, &e->dv0, &e->du, &e->step, &e->gstep, &e->value, &e->distance, &e->least, &e->x};
  size_t sizes[] = {nq, nw, nu, nv, nw, nu, nv, nv, nt, nt, nt, e->task->nparam > 0 ? (size_t)e->task->n : 0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
  e->least_at = tgi_place(l, nt, sizeof(int));
  e->passes = tgi_place(l, nt, sizeof(bool));
  e->tied = tgi_place(l, nt, sizeof(bool));
  e->corner = tgi_place(l, nt, sizeof(int));
  tgiPassing none, *passing = e->passing = tgi_place(l, nt, sizeof *passing);
  for (size_t i = 0; i < nt; i++) tgi_passing_place(m, passing != NULL ? &passing[i] : &none, l);
  tgi_passing_place_work(m, &e->passing_work, l);
  tgi_term_rows_place(m, &e->rows, l);
}

tgEvaluator *tgi_evaluator_create(const tgTask *task, bool own_rollout, size_t tape_bytes, tgError *error) {
  tgAllocator a = task->alloc;
  tgEvaluator *e = a.alloc(a.ctx, sizeof *e);
  if (e == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for an evaluator");
    return NULL;
  }
  *e = (tgEvaluator){.alloc = a, .task = task};
  tgLayout l = {.base = NULL};
  place(e, &l);
  e->block = a.alloc(a.ctx, l.used);
  if (e->block == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for %d steps of %d controls", task->steps, task->model->nu);
  else if (own_rollout) {
    tgRolloutOptions o = tg_task_rollout_options(task);
    o.tape_bytes = tape_bytes;
    e->rollout = tg_rollout_create(task->model, task->contact, &o, error);
  }
  const tgContact *by = task->gradient != NULL ? task->gradient : task->contact;
  if (e->block != NULL && task->nparam > 0) e->dp = tg_param_grad_create_contact(by, task->param_name, task->nparam_name, &a, error);
  if (e->block == NULL || (own_rollout && e->rollout == NULL) || (task->nparam > 0 && e->dp == NULL)) {
    tg_evaluator_free(e);
    return NULL;
  }
  memset(e->block, 0, l.used);
  l = (tgLayout){.base = e->block};
  place(e, &l);
  return e;
}

tgEvaluator *tg_evaluator_create(const tgTask *task, size_t tape_bytes, tgError *error) {
  if (task == NULL) {
    tgi_error(error, TG_ERR_ARG, "no task given");
    return NULL;
  }
  return tgi_evaluator_create(task, true, tape_bytes, error);
}

tgEvaluator *tg_evaluator_create_runs(const tgTask *task, tgError *error) {
  if (task == NULL) return tgi_error(error, TG_ERR_ARG, "no task given"), NULL;
  return tgi_evaluator_create(task, false, 0, error);
}

void tg_evaluator_free(tgEvaluator *e) {
  if (e == NULL) return;
  tgAllocator a = e->alloc;
  tg_rollout_free(e->rollout);
  tg_param_grad_free(e->dp);
  a.free(a.ctx, e->block);
  a.free(a.ctx, e);
}

tgRollout *tg_evaluator_rollout(tgEvaluator *e) { return e != NULL ? e->rollout : NULL; }

tgStatus tg_evaluator_run(tgEvaluator *e, const double *x, tgRolloutRun *run) {
  if (e == NULL || x == NULL || run == NULL) return TG_ERR_ARG;
  tg_task_expand(e->task, x, e->q0, e->v0, e->u);
  *run = (tgRolloutRun){.q0 = e->q0, .v0 = e->v0, .u = e->u, .loss = loss, .loss_ctx = e, .loss_choice = choice,
                        .loss_param = loss_parameters};
  if (e->task->nparam == 0) return TG_OK;
  memcpy(e->x, x, (size_t)e->task->n * sizeof *x);
  run->setup = set_parameters;
  run->setup_ctx = e;
  return TG_OK;
}

void tgi_evaluator_want_gradient(tgEvaluator *e, tgRolloutRun *run) {
  run->dq0 = e->dq0;
  run->dv0 = e->dv0;
  run->du = e->du;
  run->dp = e->dp;
}

// blocks of controls add up; a position entry goes through q0 = start (+) step
void tgi_evaluator_chain(tgEvaluator *e, const double *x, double *g) {
  const tgTask *t = e->task;
  const tgModel *m = t->model;
  tgi_controls_vjp(t, x, e->du, g);
  tgi_task_position_step(t, x, e->step);
  memset(e->gstep, 0, (size_t)m->nv * sizeof *e->gstep);
  tgi_integrate_vjp(m, e->step, e->dq0, NULL, e->gstep);
  for (int i = 0; i < t->ninitial; i++)
    g[t->ncontrol + i] = t->initial[i].velocity ? e->dv0[t->initial[i].dof] : e->gstep[t->initial[i].dof];
  if (t->nparam > 0) tgi_parameters_gather(t, e->dp, g + t->ncontrol + t->ninitial);
}

tgStatus tg_evaluate(tgEvaluator *e, const double *x, double *value, double *g, double *q, double *v, const volatile int *cancel,
                     tgRolloutResult *result) {
  if (e == NULL || x == NULL || e->rollout == NULL) return TG_ERR_ARG;
  tgRolloutRun run;
  tgRolloutResult r;
  tg_evaluator_run(e, x, &run);
  run.q = q;
  run.v = v;
  run.cancel = cancel;
  if (g != NULL) tgi_evaluator_want_gradient(e, &run);
  tgStatus st = tg_rollout_run(e->rollout, &run, &r);
  if (result != NULL) *result = r;
  if (st != TG_OK) return st;
  *value = r.loss;
  if (g != NULL) tgi_evaluator_chain(e, x, g);
  return TG_OK;
}

// ---- trust ----

typedef struct From { tgEvaluator *e; const double *x; double *moved; const volatile int *cancel; } From;

static tgStatus loss_from(void *ctx, const double *step, double *value) {
  From *f = ctx;
  for (int i = 0; i < f->e->task->n; i++) f->moved[i] = f->x[i] + step[i];
  return tg_evaluate(f->e, f->moved, value, NULL, NULL, NULL, f->cancel, NULL);
}

tgStatus tg_evaluator_trust(tgEvaluator *e, const double *x, const tgTrustOptions *options, const volatile int *cancel, tgTrust *trust,
                            tgError *error) {
  tgTrustOptions o = options != NULL ? *options : tg_trust_default();
  tgError unread = {0};
  if (error == NULL) error = &unread;
  if (e == NULL || x == NULL || trust == NULL || e->rollout == NULL)
    return tgi_error(error, TG_ERR_ARG, "trust takes an evaluator with a rollout, and variables");
  TG_TRY(tgi_trust_options_check(&o, error));
  size_t n = (size_t)e->task->n;
  tgAllocator a = e->alloc;
  double *g = a.alloc(a.ctx, 4 * n * sizeof *g);
  if (g == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for trust in %zu variables", n);
  *trust = (tgTrust){.step = -1};
  tgRolloutRun run;
  tg_evaluator_run(e, x, &run);
  run.cancel = cancel;
  tgi_evaluator_want_gradient(e, &run);
  tgStatus st = tgi_trust_growth(e->rollout, &run, trust, error);
  if (st == TG_OK) {
    tgi_evaluator_chain(e, x, g);
    From from = {.e = e, .x = x, .moved = g + n, .cancel = cancel};
    tgiTrustMap map = {.n = (int)n, .loss = loss_from, .ctx = &from};
    st = tgi_trust_range(&map, &o, trust->loss, g, g + 2 * n, trust);
  }
  a.free(a.ctx, g);
  return st;
}

tgStatus tgi_evaluator_roll(tgEvaluator *e, const tgRollAsk *ask, double *value, tgRolloutResult *result) {
  tgRolloutRun run = {.q0 = ask->q0, .v0 = ask->v0, .u = ask->u, .policy = ask->policy, .policy_ctx = ask->policy_ctx,
                      .loss = loss, .loss_ctx = e, .cancel = ask->cancel, .q = ask->q, .v = ask->v,
                      .D = ask->expansion != NULL ? ask->expansion->D : NULL};
  if (ask->x != NULL && e->task->nparam > 0) {
    memcpy(e->x, ask->x, (size_t)e->task->n * sizeof *e->x);
    run.setup = set_parameters;
    run.setup_ctx = e;
  }
  e->expansion = ask->expansion;
  tgStatus st = tg_rollout_run(e->rollout, &run, result);
  if (st == TG_OK && ask->expansion != NULL) choice(e, false, &result->grad);   // a rollout asks only with gradients
  e->expansion = NULL;
  *value = result->loss;
  return st;
}

double tgi_evaluator_distance(const tgEvaluator *e) {
  double worst = NAN;
  for (int i = 0; i < e->task->nterm; i++)
    if (!isnan(e->distance[i]) && !(e->distance[i] <= worst)) worst = e->distance[i];
  return worst;
}

int tg_evaluator_terms(const tgEvaluator *e) { return e != NULL ? e->task->nterm : 0; }
const char *tg_evaluator_term(const tgEvaluator *e, int i, double *value, double *distance) {
  if (e == NULL) return NULL;
  if (i < 0 || i >= e->task->nterm) return NULL;
  if (value != NULL) *value = e->value[i];
  if (distance != NULL) *distance = e->distance[i];
  return e->task->term[i].label;
}
