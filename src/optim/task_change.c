// task_change.c: a task looked at and changed by a program: its loss terms, its horizon, its rate. See tangere/optim.h.
#include <math.h>
#include <stdio.h>

#include "math/quat.h"
#include "optim/effort.h"
#include "optim/parameters.h"
#include "optim/terms.h"

// ---- loss terms ----

static int body_of(const tgTask *task, const tgTerm *t) {
  switch (t->kind) {
    case TG_TERM_SITE_POSITION: return task->model->site_body[t->index];
    case TG_TERM_BODY_POSITION:
    case TG_TERM_BODY_COM:
    case TG_TERM_HEIGHT:
    case TG_TERM_BODY_VELOCITY:
    case TG_TERM_BODY_ORIENTATION: return t->index;
    default: return -1;
  }
}

bool tg_task_term(const tgTask *task, int i, tgTaskTerm *term) {
  if (task == NULL || term == NULL || i < 0 || i >= task->nterm) return false;
  const tgTerm *t = &task->term[i];
  *term = (tgTaskTerm){.label = t->label, .kind = tgi_term_word(t->kind), .body = body_of(task, t),
                       .ntarget = tgi_term_targets(t->kind), .weight = t->weight, .tolerance = t->tolerance};
  for (int k = 0; k < 4; k++) term->target[k] = t->target[k];
  return true;
}

static bool finite_target(const tgTaskTerm *term, int n) {
  bool finite = true;
  for (int k = 0; k < n; k++) finite = finite && isfinite(term->target[k]);
  return finite;
}

tgStatus tg_task_set_term(tgTask *task, int i, const tgTaskTerm *term, tgError *error) {
  if (task == NULL || term == NULL || i < 0 || i >= task->nterm) return tgi_error(error, TG_ERR_ARG, "no task, or no loss term %d", i);
  tgTerm *t = &task->term[i], changed = *t;
  int n = tgi_term_targets(t->kind), body = body_of(task, t);
  if (!finite_target(term, n) || !isfinite(term->weight) || term->weight < 0)
    return tgi_error(error, TG_ERR_ARG, "loss term %s: a target and a weight are finite numbers, the weight not negative", t->label);
  if (!isfinite(term->tolerance) || term->tolerance < 0 || (term->tolerance > 0 && !tgi_term_is_position(t->kind)))
    return tgi_error(error, TG_ERR_ARG, "loss term %s takes no tolerance of %g", t->label, term->tolerance);
  if (term->body != body && (body < 0 || t->kind == TG_TERM_SITE_POSITION || term->body < 0 || term->body >= task->model->nbody))
    return tgi_error(error, TG_ERR_ARG, "loss term %s cannot be of body %d", t->label, term->body);
  for (int k = 0; k < n; k++) changed.target[k] = term->target[k];
  if (t->kind == TG_TERM_BODY_ORIENTATION && tgRe(tgi_quat_normalize(changed.target)) == 0)
    return tgi_error(error, TG_ERR_ARG, "loss term %s: a target of zeros is no orientation", t->label);
  changed.weight = term->weight;
  changed.tolerance = term->tolerance;
  if (term->body != body) {
    changed.index = term->body;
    snprintf(changed.label, sizeof changed.label, "%s %.70s", tgi_term_word(t->kind),
             tg_model_name(task->model, TG_THING_BODY, term->body));
  }
  tgTerm before = *t;
  *t = changed;
  tgi_effort_fixed(task, i);
  tgStatus status = tgi_effort_follow(task, error);
  if (status != TG_OK) *t = before;
  return status;
}

// ---- what is decided ----

const char *tg_task_parameter_array(const tgTask *task, int i, int *entry) {
  if (task == NULL || i < 0 || i >= task->nparam) return NULL;
  if (entry != NULL) *entry = task->param[i].at;
  return task->param_name[task->param[i].array];
}

// ---- time and optimiser ----

tgStatus tg_task_set_horizon(tgTask *task, int steps, double h, tgError *error) {
  if (task == NULL || steps < 1 || !(h > 0) || !isfinite(h))
    return tgi_error(error, TG_ERR_ARG, "a horizon is at least one step of a positive size");
  return tgi_task_retime(task, steps, h, error);
}

int tg_task_starts(const tgTask *task) {
  if (task == NULL || task->optimizer.starts <= 1) return 1;
  return tgi_task_starts_differ(task) ? task->optimizer.starts : 1;
}

int tg_task_attempts(const tgTask *task) {
  if (task == NULL || task->optimizer.attempts <= 1) return 1;
  return tgi_task_starts_differ(task) ? task->optimizer.attempts : 1;
}

int tg_task_windows(const tgTask *task) { return task != NULL && task->yaml->receding != NULL ? tgi_receding_windows(task) : 0; }
int tg_task_population(const tgTask *task) { return task != NULL ? task->optimizer.population : 0; }
double tg_task_rate(const tgTask *task) { return task != NULL ? task->optimizer.rate : 0; }

tgStatus tg_task_set_rate(tgTask *task, double rate, tgError *error) {
  if (task == NULL || !(rate > 0) || !isfinite(rate)) return tgi_error(error, TG_ERR_ARG, "a rate is a positive number");
  task->optimizer.rate = rate;
  return TG_OK;
}

tgRolloutOptions tg_task_rollout_options(const tgTask *task) {
  tgRolloutOptions o = tg_rollout_default();
  if (task == NULL) return o;
  o.steps = task->steps;
  o.h = task->h;
  o.gradient_contact = task->gradient;
  o.allocator = &task->alloc;
  return o;
}
