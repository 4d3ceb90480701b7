// view.c: see view.h.
#include "optim/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

// a view with what it has of its own of the file
typedef struct View {
  tgTask task;           // first: a view is freed by it
  YamlTask yaml;
  YamlControls controls;
  YamlReceding receding;
  tgSettings settings;   // the task's and those that are asked for; none: the task's are shared
} View;

static tgStatus add_settings(View *view, const tgTask *task, const tgSettings *more, tgError *error) {
  if (more == NULL || more->n == 0) return TG_OK;
  TG_TRY(tgi_settings_append(&view->settings, &task->settings, error));
  TG_TRY(tgi_settings_append(&view->settings, more, error));
  view->task.settings = view->settings;
  return TG_OK;
}

static tgStatus make_contacts(tgTask *v, const tgTask *task, const tgiViewAsk *ask, tgError *error) {
  const char *word = ask->contact != NULL ? ask->contact : task->word;
  tgAnyContactOptions options;
  TG_TRY(tgi_settings_apply(&v->settings, NULL, word, &options, error));
  if (ask->option != NULL) TG_TRY(tg_contact_set(&options.of, ask->option, ask->value, error));
  v->contact = tg_contact_create(task->model, word, &options.of, error);
  if (v->contact == NULL) return TG_ERR_INVALID;
  snprintf(v->word, sizeof v->word, "%s", word);
  bool same = strcmp(word, task->word) == 0;
  if (!ask->gradient || task->gradient == NULL || !same) return TG_OK;
  return tgi_task_make_gradient(v, v->contact, &v->gradient, error);
}

// blocks of controls, windows and the terms' times keep their seconds
static tgStatus retime(View *view, int sub, tgError *error) {
  tgTask *v = &view->task;
  if ((double)v->steps * sub > 1e8) return tgi_error(error, TG_ERR_INVALID, "%d steps of %d each are more than 1e8", v->steps, sub);
  v->h /= sub;
  v->steps *= sub;
  v->end = v->total = v->steps;
  for (int i = 0; i < v->nterm; i++) v->term[i].step *= sub;
  if (view->yaml.controls != NULL && view->controls.basis == TG_BASIS_STEPS)
    view->controls.every = sub * (view->controls.every > 0 ? view->controls.every : 1);
  view->receding.apply *= sub;
  view->receding.horizon *= sub;
  view->yaml.horizon = (YamlHorizon){.steps = v->steps, .timestep = v->h};
  return TG_OK;
}

// bodies that the task moves apart are as far apart as the view's contact model asks for
static tgStatus own_start(tgTask *v, const tgTask *task, tgError *error) {
  if (!task->separates || strcmp(v->word, task->word) == 0) return TG_OK;
  int moved;
  v->q0 = v->alloc.alloc(v->alloc.ctx, (size_t)v->model->nq * sizeof *v->q0 + 1);
  if (v->q0 == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the start of a view of a task");
  return tgi_task_apart(task, v->contact, v->q0, NULL, &moved, error);
}

static tgStatus fill(View *view, const tgTask *task, const tgiViewAsk *ask, tgError *error) {
  tgTask *v = &view->task;
  size_t bytes = (size_t)task->nterm * sizeof *task->term;
  v->term = v->alloc.alloc(v->alloc.ctx, bytes > 0 ? bytes : 1);
  if (v->term == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a view of a task");
  memcpy(v->term, task->term, bytes);
  TG_TRY(add_settings(view, task, ask->settings, error));
  TG_TRY(make_contacts(v, task, ask, error));
  TG_TRY(own_start(v, task, error));
  return retime(view, ask->sub, error);
}

tgTask *tgi_task_view(const tgTask *task, const tgiViewAsk *ask, tgError *error) {
  View *view = task->alloc.alloc(task->alloc.ctx, sizeof *view);
  if (view == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a view of a task");
    return NULL;
  }
  *view = (View){.task = *task, .yaml = *task->yaml, .settings = {.alloc = task->alloc}};
  tgTask *v = &view->task;
  v->view_of = task;
  v->yaml = &view->yaml;
  v->contact = v->gradient = NULL;
  v->stage = NULL;
  v->term = NULL;
  if (task->yaml->controls != NULL) {
    view->controls = *task->yaml->controls;
    view->yaml.controls = &view->controls;
  }
  if (task->yaml->receding != NULL) {
    view->receding = *task->yaml->receding;
    view->yaml.receding = &view->receding;
  }
  if (fill(view, task, ask, error) == TG_OK) return v;
  tgi_task_view_free(v);
  return NULL;
}

int tgi_stage_sub(const tgTask *task, const YamlStage *stage) {
  if (!(stage->timestep > 0)) return 1;
  double ratio = task->h / stage->timestep, sub = round(ratio);
  return sub >= 1 && sub <= 1e6 && fabs(ratio - sub) <= 1e-9 * sub ? (int)sub : 0;
}

tgTask *tgi_task_stage(const tgTask *task, int k, tgError *error) {
  const YamlStage *stage = &task->yaml->refine[k - 1];
  tgiViewAsk ask = {.contact = stage->contact, .settings = &task->stage_settings[k - 1], .sub = tgi_stage_sub(task, stage),
                    .gradient = true};
  if (ask.sub == 0) {
    tgi_error(error, TG_ERR_INVALID, "refine: stage %d: its timestep %g s is not the task's, %g s, over a whole number", k, stage->timestep,
              task->h);
    return NULL;
  }
  tgTask *v = tgi_task_view(task, &ask, error);
  if (v == NULL) return NULL;
  if (task->stage_iterations > 0) v->optimizer.iterations = task->stage_iterations;
  else if (stage->iterations > 0) v->optimizer.iterations = stage->iterations;
  if (stage->method != NULL) v->optimizer.method = *stage->method;
  if (stage->rate > 0) v->optimizer.rate = stage->rate;
  v->stage = stage;
  if (stage->whole) v->yaml->receding = NULL;   // the view's own copy of the file
  for (int i = 0; i < v->nterm; i++)
    if (v->term[i].stage > 0 && v->term[i].stage <= k) v->term[i].weight = tgi_yaml_weight(&task->yaml->losses[i]);
  return v;
}

void tgi_task_view_free(tgTask *v) {
  tgAllocator a = v->alloc;
  tgi_settings_free(&((View *)(void *)v)->settings);
  tg_contact_free(v->contact);
  tg_contact_free(v->gradient);
  a.free(a.ctx, v->term);
  if (v->q0 != v->view_of->q0) a.free(a.ctx, v->q0);
  a.free(a.ctx, v);
}
