// parameters.c: see parameters.h.
#include "optim/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)

// what the rows of an array belong to, by the prefix of its name
static bool rows_of(const char *name, tgKindOfThing *kind) {
  static const struct { const char *prefix; tgKindOfThing kind; } prefixes[] = {
      {"body_", TG_THING_BODY}, {"jnt_", TG_THING_JOINT}, {"dof_", TG_THING_JOINT}, {"geom_", TG_THING_GEOM},
      {"act_", TG_THING_ACTUATOR}, {"ten_", TG_THING_TENDON}, {"eq_", TG_THING_EQUALITY}};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0) {
      *kind = prefixes[i].kind;
      return true;
    }
  return false;
}

// first row and number of rows of the element `of`
static tgStatus find_rows(const tgTask *t, const YamlParameter *y, int rows, int range[2], tgError *error) {
  const tgModel *m = t->model;
  tgKindOfThing kind;
  range[0] = 0;
  range[1] = rows;
  if (!rows_of(y->name, &kind)) {
    if (y->of != NULL) FAIL("parameters: %s is one for the whole model; leave out of: %s", y->name, y->of);
    return TG_OK;
  }
  if (y->of == NULL) FAIL("parameters: %s needs of: the name of the element", y->name);
  int i = tg_model_find(m, kind, y->of);
  if (i < 0) FAIL("parameters: the model has nothing called '%s' that has a %s", y->of, y->name);
  bool dofs = strncmp(y->name, "dof_", 4) == 0;
  range[0] = dofs ? m->jnt_vadr[i] : i;
  range[1] = range[0] + 1;
  while (dofs && range[1] < m->nv && m->dof_jnt[range[1]] == i) range[1]++;
  return TG_OK;
}

// what must stay a unit vector has no box; the step size is the horizon's
static tgStatus check_name(const tgTask *t, const char *name, tgError *error) {
  if (strstr(name, "_quat") != NULL || strcmp(name, "jnt_axis") == 0 || strcmp(name, "qpos_spring") == 0 || strncmp(name, "pair_", 5) == 0 ||
      strcmp(name, "opt_timestep") == 0)
    FAIL("parameters: %s cannot be decided by a task (unit vectors, reference poses, pairs and the step size); the C interface has its gradient", name);
  tgParamGrad *p = tg_param_grad_create(t->model, &name, 1, &t->alloc, error);
  tg_param_grad_free(p);
  return p != NULL ? TG_OK : TG_ERR_INVALID;
}

static int name_index(tgTask *t, const char *name) {
  for (int i = 0; i < t->nparam_name; i++)
    if (strcmp(t->param_name[i], name) == 0) return i;
  t->param_name[t->nparam_name] = name;
  return t->nparam_name++;
}

// quantities that are not negative, and those that must be positive, unless the file has a lower bound of its own
static double least(const char *name, double start) {
  static const char *const positive[] = {"body_mass", "geom_size", "geom_scale"},
                          *const zero[] = {"damping", "stiffness", "armature", "frictionloss", "geom_friction", "geom_restitution"};
  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
    if (strcmp(name, positive[i]) == 0) return 1e-6 * fabs(start);
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
    if (strstr(name, zero[i]) != NULL) return 0;
  return -INFINITY;
}

static tgStatus add_variable(tgTask *t, const YamlParameter *y, const tgField *f, int row, int col, tgError *error) {
  tgParamVar *v = &t->param[t->nparam++];
  *v = (tgParamVar){.array = name_index(t, y->name), .at = row * f->cols + col};
  v->start = y->start != NULL ? *y->start : ((const double *)f->data)[v->at];
  v->low = y->low != NULL ? *y->low : least(y->name, v->start);
  v->high = y->high != NULL ? *y->high : INFINITY;
  if (!isfinite(v->start) || !(v->low <= v->start && v->start <= v->high))
    FAIL("parameters: %s of %s starts at %g, which is not within %g and %g", y->name, y->of != NULL ? y->of : "the model", v->start, v->low, v->high);
  for (int i = 0; i + 1 < t->nparam; i++)
    if (t->param[i].array == v->array && t->param[i].at == v->at) FAIL("parameters: %s of %s is decided twice", y->name, y->of != NULL ? y->of : "the model");
  if (f->cols > 1) snprintf(v->label, sizeof v->label, "%.40s[%d] of %.50s", y->name, col, y->of != NULL ? y->of : "the model");
  else snprintf(v->label, sizeof v->label, "%.40s of %.50s", y->name, y->of != NULL ? y->of : "the model");
  return TG_OK;
}

tgStatus tgi_parameters_resolve(tgTask *t, tgError *error) {
  const YamlTask *y = t->yaml;
  int most = 0;
  if (y->nparameters == 0) return TG_OK;
  for (unsigned k = 0; k < y->nparameters; k++) {
    tgField f = tg_model_field_named(t->model, y->parameters[k].name);
    TG_TRY(check_name(t, y->parameters[k].name, error));
    most += f.rows * f.cols;
  }
  t->param = t->alloc.alloc(t->alloc.ctx, (size_t)most * sizeof *t->param);
  t->param_name = t->alloc.alloc(t->alloc.ctx, y->nparameters * sizeof *t->param_name);
  if (t->param == NULL || t->param_name == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d parameters", most);
  for (unsigned k = 0; k < y->nparameters; k++) {
    const YamlParameter *p = &y->parameters[k];
    tgField f = tg_model_field_named(t->model, p->name);
    int rows[2];
    TG_TRY(find_rows(t, p, f.rows, rows, error));
    if (p->entry != NULL && (*p->entry < 0 || *p->entry >= f.cols)) FAIL("parameters: %s has entries 0 to %d, not %d", p->name, f.cols - 1, *p->entry);
    for (int row = rows[0]; row < rows[1]; row++)
      for (int col = 0; col < f.cols; col++)
        if (p->entry == NULL || col == *p->entry) TG_TRY(add_variable(t, p, &f, row, col, error));
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
