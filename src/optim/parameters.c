// parameters.c: see parameters.h.
#include "optim/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)

// the mesh or geom `of` whose hull has vertices to move, as its mesh; -1: none
static int mesh_of(const tgModel *m, const char *of) {
  int mesh = tg_model_find(m, TG_THING_MESH, of), geom = tg_model_find(m, TG_THING_GEOM, of);
  for (int i = 0; i < m->nhull; i++)
    if (m->hull_mesh[i] == mesh) return mesh;
  return geom >= 0 && m->geom_hull[geom] >= 0 ? m->hull_mesh[m->geom_hull[geom]] : -1;
}

// a mesh that does not collide itself has no hull; if it was cut, its pieces have
static tgStatus no_hull(const tgModel *m, const YamlParameter *y, tgError *error) {
  char piece[300];
  snprintf(piece, sizeof piece, "%.280s/piece0", y->of);
  bool cut = tg_model_find(m, TG_THING_MESH, piece) >= 0 || tg_model_find(m, TG_THING_GEOM, piece) >= 0;
  FAIL("parameters: nothing called '%s' collides as a mesh, so %s does nothing%s%s%s", y->of, y->name,
       cut ? "; name its convex pieces, " : "", cut ? piece : "", cut ? " and so on" : "");
}

// an array of the model, or a number of the contact model as one of a single entry
static tgField field_of(const tgTask *t, const char *name) {
  int i = tgi_contact_number_named(t->contact, name);
  if (i < 0) return tg_model_field_named(t->model, name);
  const tgiOption *p = t->contact->number[i];
  return (tgField){.name = p->is.parameter, .scalar = TG_SCALAR_REAL, .rows = 1, .cols = 1, .unit = p->is.unit, .text = p->is.text,
                   .data = (const char *)t->contact->options + p->at};
}

// first row and number of rows of the element `of`
static tgStatus find_rows(const tgTask *t, const YamlParameter *y, int rows, int range[2], tgError *error) {
  const tgModel *m = t->model;
  tgKindOfThing kind;
  range[0] = 0;
  range[1] = rows;
  if (!tgi_model_rows_kind(y->name, &kind)) {
    if (y->of != NULL) FAIL("parameters: %s is one for the whole model; leave out of: %s", y->name, y->of);
    return TG_OK;
  }
  if (y->of == NULL) FAIL("parameters: %s needs of: the name of the element", y->name);
  bool hull = strcmp(y->name, "hull_vert") == 0;
  int i = hull ? mesh_of(m, y->of) : tg_model_find(m, kind, y->of);
  bool scale = i >= 0 && strcmp(y->name, "geom_scale") == 0;
  if ((hull && i < 0) || (scale && m->geom_hull[i] < 0)) return no_hull(m, y, error);
  if (i < 0) FAIL("parameters: the model has nothing called '%s' that has a %s", y->of, y->name);
  while (range[0] < rows && tgi_model_row_thing(m, y->name, range[0]) != i) range[0]++;
  range[1] = range[0];
  while (range[1] < rows && tgi_model_row_thing(m, y->name, range[1]) == i) range[1]++;
  return TG_OK;
}

// number of an entry within its element: the column; of a vertex 3 times its number in the mesh or the sheet, and the axis
static int entry_of(const tgModel *m, const char *name, int row, int col) {
  if (strcmp(name, "flex_rest") == 0) return 3 * (row - m->flex_vertadr[tgi_model_row_thing(m, name, row)]) + col;
  return strcmp(name, "hull_vert") == 0 ? 3 * m->hull_vertid[row] + col : col;
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

// quantities that are not negative, and those that must be positive, unless the file has a lower bound of its own
static double least(const char *name, double start) {
  static const char *const positive[] = {"body_mass", "geom_size", "geom_scale", "flex_thickness"},
                          *const zero[] = {"damping", "stiffness", "armature", "frictionloss", "geom_friction", "geom_restitution",
                                           "flex_young"};
  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
    if (strcmp(name, positive[i]) == 0) return 1e-6 * fabs(start);
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
    if (strstr(name, zero[i]) != NULL) return 0;
  return strcmp(name, "flex_poisson") == 0 ? -0.99 : -INFINITY;
}

static tgStatus add_variable(tgTask *t, const YamlParameter *y, const tgField *f, int row, int col, tgError *error) {
  tgParamVar *v = &t->param[t->nparam++];
  *v = (tgParamVar){.array = name_index(t, tgi_parameter_name(t->contact, y->name)), .at = row * f->cols + col, .given = y->start != NULL};
  v->start = y->start != NULL ? *y->start : ((const double *)f->data)[v->at];
  v->low = y->low != NULL ? *y->low : least(y->name, v->start);
  v->high = y->high != NULL ? *y->high : strcmp(y->name, "flex_poisson") == 0 ? 0.49 : INFINITY;
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
  else if (f->cols > 1)
    snprintf(v->label, sizeof v->label, "%.40s[%d] of %.50s", y->name, entry_of(t->model, y->name, row, col),
             y->of != NULL ? y->of : "the model");
  else snprintf(v->label, sizeof v->label, "%.40s of %.50s", y->name, y->of != NULL ? y->of : "the model");
  return TG_OK;
}

tgStatus tgi_parameters_resolve(tgTask *t, tgError *error) {
  const YamlTask *y = t->yaml;
  int most = 0;
  if (y->nparameters == 0) return TG_OK;
  for (unsigned k = 0; k < y->nparameters; k++) {
    TG_TRY(check_name(t, y->parameters[k].name, error));
    tgField f = field_of(t, y->parameters[k].name);
    most += f.rows * f.cols;
  }
  t->param = t->alloc.alloc(t->alloc.ctx, (size_t)most * sizeof *t->param);
  t->param_name = t->alloc.alloc(t->alloc.ctx, y->nparameters * sizeof *t->param_name);
  if (t->param == NULL || t->param_name == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d parameters", most);
  for (unsigned k = 0; k < y->nparameters; k++) {
    const YamlParameter *p = &y->parameters[k];
    tgField f = field_of(t, p->name);
    int rows[2];
    TG_TRY(find_rows(t, p, f.rows, rows, error));
    int before = t->nparam;
    for (int row = rows[0]; row < rows[1]; row++)
      for (int col = 0; col < f.cols; col++)
        if (p->entry == NULL || entry_of(t->model, p->name, row, col) == *p->entry) TG_TRY(add_variable(t, p, &f, row, col, error));
    if (p->entry != NULL && t->nparam == before && strcmp(p->name, "hull_vert") == 0)
      FAIL("parameters: no corner of the hull of %s is entry %d (3 times the number of a mesh's vertex, and its axis)", p->of, *p->entry);
    if (p->entry != NULL && t->nparam == before)
      FAIL("parameters: %s has entries 0 to %d, not %d", p->name, entry_of(t->model, p->name, rows[1] - 1, f.cols - 1), *p->entry);
  }
  return TG_OK;
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
  double low = least(name, 1);
  bool positive = low > 0, poisson = strcmp(name, "flex_poisson") == 0 && !(value < 0.5);
  if (isfinite(value) && (positive ? value > 0 : value >= low) && !poisson) return TG_OK;
  FAIL("%s cannot be %g", name, value);
}

// calls for each entry: the value written where there is one
static tgStatus each_number(const tgTask *t, const char *name, const char *of, int entry, const double *value, tgError *error) {
  int rows[2], found = 0;
  char *own_of = (char *)(uintptr_t)of, *own_name = (char *)(uintptr_t)name;
  YamlParameter y = {.name = own_name, .of = own_of};
  if (tgi_contact_number_named(t->contact, name) >= 0) FAIL("%s is of the contact model: vary it as an option", name);
  if (strcmp(name, "hull_vert") == 0 || strcmp(name, "geom_scale") == 0 || strcmp(name, "flex_rest") == 0)
    FAIL("%s is the shape of a mesh, which a batch cannot vary; give a model file for each shape", name);
  TG_TRY(check_name(t, name, error));
  tgField f = tg_model_field_named(t->model, name);
  TG_TRY(find_rows(t, &y, f.rows, rows, error));
  for (int row = rows[0]; row < rows[1]; row++)
    for (int col = 0; col < f.cols; col++) {
      int at = row * f.cols + col;
      if (entry >= 0 && entry_of(t->model, name, row, col) != entry) continue;
      found++;
      if (decided(t, name, at) >= 0) FAIL("%s of %s is decided by the task, so a batch cannot vary it", name,
                                          of != NULL ? of : "the model");
      if (value != NULL) ((double *)(uintptr_t)f.data)[at] = *value;   // the model is the task's own
    }
  if (found == 0) FAIL("%s of %s has no entry %d", name, of != NULL ? of : "the model", entry);
  return TG_OK;
}

tgStatus tgi_task_has_number(const tgTask *t, const char *name, const char *of, int entry, tgError *error) {
  return each_number(t, name, of, entry, NULL, error);
}

tgStatus tgi_task_set_number(tgTask *t, const char *name, const char *of, int entry, double value, tgError *error) {
  TG_TRY(check_value(name, value, error));
  return each_number(t, name, of, entry, &value, error);
}
