// parameters.c: see parameters.h.
#include "optim/parameters.h"
#include "tangere/optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)

// an array of the model, or a number of the contact model as one of a single entry
static tgField field_of(const tgTask *t, const char *name) {
  int i = tgi_contact_number_named(t->contact, name);
  if (i < 0) return tg_model_field_named(t->model, name);
  const tgiOption *p = t->contact->number[i];
  return (tgField){.name = p->is.parameter, .scalar = TG_SCALAR_REAL, .rows = 1, .cols = 1, .unit = p->is.unit, .text = p->is.text,
                   .data = (const char *)t->contact->options + p->at};
}

// places of the row's entries in the array, and their numbers in the element; of a number of the contact model the only one
static int entries_of(const tgTask *t, const YamlParameter *y, int *at, int *number, int room, tgError *error) {
  tgError why;
  int entry = y->entry != NULL ? *y->entry : -1, n = 1;
  if (tgi_contact_number_named(t->contact, y->name) < 0) n = tg_model_entries(t->model, y->name, y->of, entry, at, number, room, &why);
  else if (y->of != NULL) n = -1, tgi_error(&why, TG_ERR_ARG, "%s is one for the whole model; leave out of: %s", y->name, y->of);
  else if (entry > 0) n = -1, tgi_error(&why, TG_ERR_ARG, "%s has entries 0 to 0, not %d", y->name, entry);
  else if (room > 0) at[0] = number[0] = 0;
  if (n < 0) tgi_error(error, TG_ERR_INVALID, "parameters: %s", why.text);
  return n;
}

// what must stay a unit vector has no box; the step size is the horizon's
static tgStatus check_name(const tgTask *t, const char *name, tgError *error) {
  if (strstr(name, "_quat") != NULL || strcmp(name, "jnt_axis") == 0 || strcmp(name, "qpos_spring") == 0 ||
      strncmp(name, "pair_", 5) == 0 || strcmp(name, "opt_timestep") == 0)
    FAIL("parameters: %s cannot be decided by a task (unit vectors, reference poses, pairs and the step size); the C "
         "interface has its gradient", name);
  tgParamGrad *p = tg_param_grad_create_contact(t->contact, &name, 1, &t->alloc, error);
  tg_param_grad_free(p);
  return p != NULL ? TG_OK : TG_ERR_INVALID;
}

static int name_index(tgTask *t, const char *name) {
  for (int i = 0; i < t->nparam_name; i++)
    if (strcmp(t->param_name[i], name) == 0) return i;
  t->param_name[t->nparam_name] = name;
  return t->nparam_name++;
}

static tgStatus add_variable(tgTask *t, const YamlParameter *y, const tgField *f, int at, int entry, bool alone, tgError *error) {
  tgParamVar *v = &t->param[t->nparam++];
  double range[2];
  *v = (tgParamVar){.array = name_index(t, tgi_parameter_name(t->contact, y->name)), .at = at, .given = y->start != NULL};
  v->start = y->start != NULL ? *y->start : ((const double *)f->data)[v->at];
  tg_param_range(y->name, v->start, range);
  v->low = y->low != NULL ? *y->low : range[0];
  v->high = y->high != NULL ? *y->high : range[1];
  int number = tgi_contact_number_named(t->contact, y->name);
  if (number >= 0) {
    v->low = fmax(v->low, t->contact->number[number]->is.least);
    v->high = fmin(v->high, t->contact->number[number]->is.most);
  }
  if (!isfinite(v->start) || !(v->low <= v->start && v->start <= v->high))
    FAIL("parameters: %s of %s starts at %g, which is not within %g and %g", y->name,
         y->of != NULL ? y->of : "the model", v->start, v->low, v->high);
  for (int i = 0; i + 1 < t->nparam; i++)
    if (t->param[i].array == v->array && t->param[i].at == v->at)
      FAIL("parameters: %s of %s is decided twice", y->name, y->of != NULL ? y->of : "the model");
  if (number >= 0) snprintf(v->label, sizeof v->label, "%.60s", t->param_name[v->array]);
  else if (alone) snprintf(v->label, sizeof v->label, "%.40s of %.50s", y->name, y->of != NULL ? y->of : "the model");
  else snprintf(v->label, sizeof v->label, "%.40s[%d] of %.50s", y->name, entry, y->of != NULL ? y->of : "the model");
  return TG_OK;
}

// the variables of one row of the file; `place` has room for all of its array, twice
static tgStatus add_row(tgTask *t, const YamlParameter *y, int *place, tgError *error) {
  tgField f = field_of(t, y->name);
  int all = f.rows * f.cols, *number = place + all, n = entries_of(t, y, place, number, all, error);
  if (n < 0) return TG_ERR_INVALID;
  bool alone = f.cols == 1 && n == 1 && (y->entry == NULL || *y->entry == 0);
  for (int i = 0; i < n; i++) TG_TRY(add_variable(t, y, &f, place[i], number[i], alone, error));
  return TG_OK;
}

tgStatus tgi_parameters_resolve(tgTask *t, tgError *error) {
  const YamlTask *y = t->yaml;
  int most = 0, widest = 0;
  if (y->nparameters == 0) return TG_OK;
  for (unsigned k = 0; k < y->nparameters; k++) {
    TG_TRY(check_name(t, y->parameters[k].name, error));
    tgField f = field_of(t, y->parameters[k].name);
    most += f.rows * f.cols;
    if (f.rows * f.cols > widest) widest = f.rows * f.cols;
  }
  t->param = t->alloc.alloc(t->alloc.ctx, (size_t)most * sizeof *t->param);
  t->param_name = t->alloc.alloc(t->alloc.ctx, y->nparameters * sizeof *t->param_name);
  int *place = t->alloc.alloc(t->alloc.ctx, 2 * (size_t)widest * sizeof *place);
  tgStatus status = t->param != NULL && t->param_name != NULL && place != NULL
                        ? TG_OK
                        : tgi_error(error, TG_ERR_MEMORY, "out of memory for %d parameters", most);
  for (unsigned k = 0; status == TG_OK && k < y->nparameters; k++) status = add_row(t, &y->parameters[k], place, error);
  t->alloc.free(t->alloc.ctx, place);
  return status;
}

// where a decided number of a contact model starts under `contact`, which has it
static double number_start(const tgTask *t, const tgParamVar *v, const tgContact *contact) {
  double start = v->start;
  int number = tgi_contact_number_named(contact, t->param_name[v->array]);
  if (!v->given && number >= 0) start = tgi_option_get(contact->number[number], contact->options);
  return start;
}

tgStatus tgi_parameters_of_contact(tgTask *t, const tgContact *contact, tgError *error) {
  for (int i = 0; i < t->nparam; i++) {
    const tgParamVar *v = &t->param[i];
    const char *name = t->param_name[v->array];
    double start = number_start(t, v, contact);
    tgParamGrad *p = tg_param_grad_create_contact(contact, &name, 1, &t->alloc, error);
    tg_param_grad_free(p);
    if (p == NULL) return TG_ERR_INVALID;
    if (!(v->low <= start && start <= v->high))
      FAIL("parameters: %s starts at %g, which is not within %g and %g", name, start, v->low, v->high);
  }
  for (int i = 0; i < t->nparam; i++) t->param[i].start = number_start(t, &t->param[i], contact);
  return TG_OK;
}

tgStatus tgi_parameters_of_gradient(const tgTask *t, const tgContact *gradient, tgError *error) {
  for (int i = 0; i < t->nparam_name; i++) {
    const char *name = t->param_name[i], *word = tg_contact_word(gradient);
    if (strncmp(name, TG_CONTACT_PREFIX, sizeof TG_CONTACT_PREFIX - 1) == 0)
      FAIL("parameters: %s is a number of the step's contact model, which the gradient, of '%s', does not depend on", name, word);
    tgParamGrad *p = tg_param_grad_create_contact(gradient, &name, 1, &t->alloc, error);
    tg_param_grad_free(p);
    if (p == NULL) return TG_ERR_INVALID;
  }
  return TG_OK;
}

void tgi_parameters_free(tgTask *t) {
  t->alloc.free(t->alloc.ctx, t->param);
  t->alloc.free(t->alloc.ctx, t->param_name);
}

tgStatus tg_task_set_parameters(const tgTask *t, const double *x, tgSim *sim) {
  if (t == NULL || x == NULL || sim == NULL || tg_sim_model(sim) != t->model) return TG_ERR_ARG;
  const double *value = x + t->n - t->nparam;
  for (int i = 0; i < t->nparam; i++) tg_sim_param(sim, t->param_name[t->param[i].array], NULL, NULL)[t->param[i].at] = value[i];
  return TG_OK;
}

void tgi_parameters_gather(const tgTask *t, tgParamGrad *grad, double *g) {
  for (int i = 0; i < t->nparam; i++) g[i] = tgRe(tg_param_grad_field(grad, t->param_name[t->param[i].array], NULL, NULL)[t->param[i].at]);
}

// ---- numbers that a program sets ----

// which of the task's decided variables is that entry, -1: none
static int decided(const tgTask *t, const char *name, int at) {
  for (int i = 0; i < t->nparam; i++)
    if (strcmp(t->param_name[t->param[i].array], name) == 0 && t->param[i].at == at) return i;
  return -1;
}

static tgStatus check_value(const char *name, double value, tgError *error) {
  double range[2];
  tg_param_range(name, value, range);
  if (isfinite(value) && range[0] <= value && value <= range[1]) return TG_OK;
  FAIL("%s cannot be %g", name, value);
}

// calls for each entry: the value written where there is one
static tgStatus each_number(const tgTask *t, const char *name, const char *of, int entry, const double *value, tgError *error) {
  tgError why;
  if (tgi_contact_number_named(t->contact, name) >= 0) FAIL("%s is of the contact model: vary it as an option", name);
  if (strcmp(name, "hull_vert") == 0 || strcmp(name, "geom_scale") == 0 || strcmp(name, "flex_rest") == 0)
    FAIL("%s is the shape of a mesh, which a batch cannot vary; give a model file for each shape", name);
  TG_TRY(check_name(t, name, error));
  int n = tg_model_entries(t->model, name, of, entry, NULL, NULL, 0, &why);
  if (n < 0) FAIL("parameters: %s", why.text);
  int *at = t->alloc.alloc(t->alloc.ctx, (size_t)n * sizeof *at);
  if (at == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d entries of %s", n, name);
  n = tg_model_entries(t->model, name, of, entry, at, NULL, n, NULL);
  bool ours = false;
  for (int i = 0; i < n; i++) ours = ours || decided(t, name, at[i]) >= 0;
  double *data = (double *)(uintptr_t)tg_model_field_named(t->model, name).data;   // the model is the task's own
  for (int i = 0; i < n && !ours && value != NULL; i++) data[at[i]] = *value;
  t->alloc.free(t->alloc.ctx, at);
  if (ours) FAIL("%s of %s is decided by the task, so a batch cannot vary it", name, of != NULL ? of : "the model");
  return TG_OK;
}

tgStatus tgi_task_has_number(const tgTask *t, const char *name, const char *of, int entry, tgError *error) {
  return each_number(t, name, of, entry, NULL, error);
}

tgStatus tgi_task_set_number(tgTask *t, const char *name, const char *of, int entry, double value, tgError *error) {
  TG_TRY(check_value(name, value, error));
  return each_number(t, name, of, entry, &value, error);
}
