// task.c: a task from a file or text: its model, its contact model, and what is asked of it.
#include "optim/parameters.h"
#include "optim/task.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "contact/contact.h"
#include "io/file.h"
#include "math/quat.h"
#include "optim/controls.h"
#include "optim/effort.h"
#include "optim/nlp.h"
#include "optim/optimize.h"
#include "optim/view.h"
#include "optim/yaml.h"
#include "tangere/geometry.h"

static const char *const method_word[] = {"adam", "descent", "lbfgs", "random", "cem", "ilqr", "gauss_newton", "bundle", "ddp", "shooting"};

enum { METHODS = sizeof method_word / sizeof *method_word };

static bool built(const char *method) {
  if (strcmp(method, "lbfgs") == 0) return tgi_lbfgs_available();
  return strcmp(method, "shooting") != 0 || tgi_nlp_available();
}

const char *tg_methods(int i) {
  for (int k = 0; i >= 0 && k < METHODS; k++)
    if (built(method_word[k]) && i-- == 0) return method_word[k];
  return NULL;
}

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)

// the gradient's contact model; how much wider it sees gaps goes by the step's, `forward`
static tgStatus make_gradient(const tgTask *t, const char *word, const tgContact *forward, tgContact **made, tgError *error) {
  tgAnyContactOptions options;
  const tgContactOptions *own = tg_contact_options(forward);
  if (tg_contact_get(own, "aware_gradient") > 0 || tg_contact_get(own, "zero_contact_gradient") > 0)
    FAIL("gradient: it is of the contact model '%.60s', and cannot be complementarity-aware or without contact forces as well", word);
  if (tgi_settings_apply(&t->settings, &t->gradient_settings, word, &options, error) != TG_OK) return TG_ERR_INVALID;
  *made = tg_contact_create_gradient(t->model, forward, word, &options.of, error);
  if (*made == NULL) return TG_ERR_INVALID;
  tgStatus st = tgi_parameters_of_gradient(t, *made, error);
  if (st != TG_OK) tg_contact_free(*made);
  return st;
}

tgStatus tgi_task_make_gradient(const tgTask *t, const tgContact *forward, tgContact **made, tgError *error) {
  return make_gradient(t, t->gradient_word, forward, made, error);
}

tgStatus tgi_task_apart(const tgTask *t, const tgContact *contact, double *q0, tgSeparated **apart, int *napart, tgError *error) {
  enum { MOST = 1000 };   // pairs that are told
  size_t nq = (size_t)t->model->nq * sizeof *q0;
  int room = t->model->npair < MOST ? t->model->npair : MOST, count = TG_ERR_MEMORY;
  tgSeparated *pair = t->alloc.alloc(t->alloc.ctx, (size_t)room * sizeof *pair + 1);
  tgSim *sim = pair != NULL ? tg_sim_create(t->model, contact, &t->alloc, error) : NULL;
  if (sim != NULL) {
    memcpy(tg_sim_qpos(sim), t->drawn, nq);
    count = tg_sim_separate(sim, t->gap, pair, room);
    if (count < 0 && error != NULL) *error = *tg_sim_error(sim);
  }
  if (count >= 0) {
    memcpy(q0, tg_sim_qpos(sim), nq);
    *napart = count < room ? count : room;
  }
  if (count < 0 || apart == NULL) t->alloc.free(t->alloc.ctx, pair);
  else *apart = pair;
  tg_sim_free(sim);
  return count < 0 ? (tgStatus)count : TG_OK;
}

// the task's start under that contact model; what there is stays where that fails
static tgStatus separate(tgTask *t, const tgContact *contact, tgError *error) {
  tgSeparated *before = t->apart;
  TG_TRY(tgi_task_apart(t, contact, t->q0, &t->apart, &t->napart, error));
  t->alloc.free(t->alloc.ctx, before);
  return TG_OK;
}

// what the start has a part in
static tgStatus follow_start(tgTask *t, tgError *error) {
  TG_TRY(tgi_controls_resolve(t, error));
  return tgi_effort_follow(t, error);
}

// A stage's start is made once, with the stage, of arrays that are the task's.
static tgStatus is_no_stage(const tgTask *t, tgError *error) {
  return t->view_of == NULL ? TG_OK : tgi_error(error, TG_ERR_ARG, "a stage starts as its task does: move the start of the task");
}

tgStatus tg_task_separate(tgTask *task, double gap, tgError *error) {
  if (task == NULL || !(gap < HUGE_VAL)) return tgi_error(error, TG_ERR_ARG, "tg_task_separate needs a task and a gap");
  TG_TRY(is_no_stage(task, error));
  size_t nq = (size_t)task->model->nq;
  if (task->drawn == NULL) {
    task->drawn = task->alloc.alloc(task->alloc.ctx, nq * sizeof *task->drawn + 1);
    if (task->drawn == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a start");
  }
  if (!task->separates) memcpy(task->drawn, task->q0, nq * sizeof *task->q0);
  double before = task->gap;
  task->gap = gap;
  tgStatus status = separate(task, task->contact, error);
  if (status != TG_OK) {
    task->gap = before;
    return status;
  }
  task->separates = true;
  return follow_start(task, error);
}

tgStatus tg_task_inside(tgTask *task, double share, tgError *error) {
  if (task == NULL || !(share >= 0 && share <= 0.5))
    return tgi_error(error, TG_ERR_ARG, "start: inside: a share of each joint's range from 0 to 0.5 is needed, not %g", share);
  TG_TRY(is_no_stage(task, error));
  double *start = task->separates ? task->drawn : task->q0;
  tg_model_inside(task->model, start, share, start);
  if (task->separates) TG_TRY(separate(task, task->contact, error));
  return follow_start(task, error);
}

const tgSeparated *tg_task_separated(const tgTask *task, int *count) {
  if (count != NULL) *count = task != NULL ? task->napart : 0;
  return task != NULL ? task->apart : NULL;
}

// the contact model `word` with the task's settings; the present one stays where it cannot be made
static tgStatus make_contact(tgTask *t, const char *word, tgError *error) {
  tgAnyContactOptions options;
  tgContact *gradient = NULL;
  if (tgi_settings_apply(&t->settings, NULL, word, &options, error) != TG_OK) return TG_ERR_INVALID;
  tgContact *made = tg_contact_create(t->model, word, &options.of, error);
  if (made == NULL) return TG_ERR_INVALID;
  tgStatus st = tgi_parameters_of_contact(t, made, error);
  if (st == TG_OK && t->gradient_word[0] != '\0') st = make_gradient(t, t->gradient_word, made, &gradient, error);
  bool moves = t->separates && t->view_of == NULL;
  if (st == TG_OK && moves) st = separate(t, made, error);
  if (st != TG_OK) {
    tg_contact_free(gradient);
    tg_contact_free(made);
    return st;
  }
  tg_contact_free(t->gradient);
  t->gradient = gradient;
  if (word != t->word) snprintf(t->word, sizeof t->word, "%s", word);
  tg_contact_free(t->contact);
  t->contact = made;
  return moves ? follow_start(t, error) : tgi_effort_follow(t, error);
}

// Options of the file that neither the contact model nor that of gradients has; what is written for another one by its name is not told.
static void tell_idle(tgTask *t) {
  for (int i = 0; i < t->settings.n; i++) {
    const tgSetting *p = &t->settings.setting[i];
    if (p->line == 0 || strchr(p->name, '.') != NULL || tg_contact_option_named(t->word, p->name).name != NULL) continue;
    if (t->gradient_word[0] != '\0' && tg_contact_option_named(t->gradient_word, p->name).name != NULL) continue;
    tgi_contact_warn(t->contact, "option %s of the task does nothing under the contact model '%s'", p->name, t->word);
  }
}

// restitution is not in MJCF, so a task sets it on the description before it is compiled
static tgStatus set_restitution(const YamlTask *y, tgDesc *desc, tgError *error) {
  for (unsigned k = 0; k < y->nrestitution; k++) {
    int g = tg_desc_find_geom(desc, y->restitution[k].geom);
    if (g < 0) FAIL("restitution: the model has no geom '%s'", y->restitution[k].geom);
    desc->geom[g].restitution = y->restitution[k].value;
    size_t n = strlen(y->restitution[k].geom);   // with it the convex pieces that it was cut into (tg_desc_decompose)
    for (int i = 0; i < desc->ngeom; i++) {
      const char *name = desc->geom[i].name;
      if (name != NULL && strncmp(name, y->restitution[k].geom, n) == 0 && strncmp(name + n, "/piece", 6) == 0)
        desc->geom[i].restitution = y->restitution[k].value;
    }
  }
  return TG_OK;
}

static tgStatus load_model(tgTask *t, const char *directory, const tgLoadOptions *options, tgError *error) {
  if (directory == NULL) FAIL("model '%s' cannot be read: the task was given as text without a directory", t->yaml->model);
  if (!tgi_path_join(t->model_path, sizeof t->model_path, directory, t->yaml->model))
    FAIL("model: the path '%s' is too long", t->yaml->model);
  tgLoadOptions o = options != NULL ? *options : tg_load_default();
  if (t->yaml->ground != NULL) {
    o.ground = true;
    o.ground_height = *t->yaml->ground;
  }
  for (unsigned i = 0; i < t->yaml->ndrop; i++) TG_TRY(tg_load_drop(&o, t->yaml->drop[i], error));
  tgDesc *desc = tg_desc_load(t->model_path, &o, error);
  if (desc == NULL) return TG_ERR_INVALID;
  tgStatus st = set_restitution(t->yaml, desc, error);
  if (st == TG_OK && t->yaml->contact_triangles != 0) st = tg_desc_reduce(desc, t->yaml->contact_triangles, error);
  if (st == TG_OK) t->model = tg_model_compile(desc, options != NULL ? options->allocator : NULL, error);
  tg_desc_free(desc);
  return st == TG_OK && t->model == NULL ? TG_ERR_INVALID : st;
}

static tgStatus resolve(tgTask *t, const char *directory, const tgLoadOptions *options, tgError *error) {
  if (t->yaml->optimizer.gradient != NULL)
    FAIL("optimizer: gradient: %s is gone; the complementarity-aware gradient is the option aware_gradient: true of "
         "`lcp`", t->yaml->optimizer.gradient);
  TG_TRY(load_model(t, directory, options, error));
  snprintf(t->word, sizeof t->word, "%s", t->yaml->contact);
  if (t->gradient_settings.n > 0 && !tgi_settings_take(&t->gradient_settings, "model", t->gradient_word))
    FAIL("gradient: give `model`, the word of the contact model that gradients are of");
  TG_TRY(make_contact(t, t->word, error));
  tell_idle(t);
  TG_TRY(tgi_task_resolve(t, error));
  if (t->yaml->start != NULL && t->yaml->start->inside != NULL) TG_TRY(tg_task_inside(t, *t->yaml->start->inside, error));
  if (t->yaml->start != NULL && t->yaml->start->separate != NULL) TG_TRY(tg_task_separate(t, *t->yaml->start->separate, error));
  return t->gradient != NULL ? tgi_parameters_of_gradient(t, t->gradient, error) : TG_OK;
}

// the options of contact models that the file has, for all and for each stage of the refinement
static tgStatus read_settings(tgTask *t, const char *text, size_t bytes, const char *file, tgError *error) {
  TG_TRY(tgi_settings_read(&t->settings, "options", NULL, text, bytes, file, error));
  TG_TRY(tgi_settings_read(&t->gradient_settings, "gradient", "model", text, bytes, file, error));
  int n = (int)t->yaml->nrefine;
  t->stage_settings = t->alloc.alloc(t->alloc.ctx, ((size_t)n + 1) * sizeof *t->stage_settings);
  if (t->stage_settings == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d stages", n);
  for (int k = 0; k < n; k++) t->stage_settings[k] = (tgSettings){.alloc = t->alloc};
  for (int k = 0; k < n; k++) TG_TRY(tgi_settings_read_stage(&t->stage_settings[k], k, text, bytes, file, error));
  return TG_OK;
}

// An error of what a task file asks for begins with the field that asks: its place is that of the field's value, or of the loss.
static void place_of_error(const char *text, size_t bytes, const char *file, tgError *error) {
  char key[40];
  int item = -1, line, column;
  if (error == NULL || error->file[0] != '\0') return;
  snprintf(error->file, sizeof error->file, "%s", file);
  if (sscanf(error->text, "%39[a-z]: ", key) != 1) return;
  (void)sscanf(error->element, "losses[%d]", &item);
  if (!tgi_yaml_place(text, bytes, key, item, &line, &column)) return;
  error->line = line;
  error->column = column;
}

static tgTask *load(const char *text, size_t bytes, const char *file, const char *directory, const tgLoadOptions *options, tgError *error) {
  tgAllocator a = tgi_allocator(options != NULL ? options->allocator : NULL);
  tgTask *t = a.alloc(a.ctx, sizeof *t);
  if (t == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a task");
    return NULL;
  }
  *t = (tgTask){.alloc = a, .settings = {.alloc = a}, .gradient_settings = {.alloc = a}};
  tgStatus st = tgi_task_parse(text, bytes, file, &t->yaml, error);
  if (st == TG_OK) st = read_settings(t, text, bytes, file, error);
  if (st == TG_OK) {
    st = resolve(t, directory, options, error);
    if (st < 0) place_of_error(text, bytes, file, error);
  }
  if (st == TG_OK) return t;
  tg_task_free(t);
  return NULL;
}

tgTask *tg_task_load_text(const char *text, size_t bytes, const char *directory, const tgLoadOptions *options, tgError *error) {
  if (text == NULL) {
    tgi_error(error, TG_ERR_ARG, "no text of a task given");
    return NULL;
  }
  return load(text, bytes, "task", directory, options, error);
}

tgTask *tg_task_load(const char *path, const tgLoadOptions *options, tgError *error) {
  if (path == NULL || *path == 0) {
    tgi_error(error, TG_ERR_ARG, "no path given; name a task file");
    return NULL;
  }
  tgFileSet *files = tgi_files_for_model(path, options, error);
  if (files == NULL) return NULL;
  const char *slash = strrchr(path, '/');
  char directory[1024];
  snprintf(directory, sizeof directory, "%.*s", slash == NULL ? 1 : (int)(slash - path), slash == NULL ? "." : slash == path ? "/" : path);
  if (slash == path) snprintf(directory, sizeof directory, "/");
  tgFile file;
  tgTask *t = NULL;
  if (tgi_file_open(files, 0, slash == NULL ? path : slash + 1, &file, error) == TG_OK) {
    t = load(file.data, file.size, path, directory, options, error);
    tgi_file_close(files, &file);
  }
  tgi_files_free(files);
  return t;
}

void tg_task_free(tgTask *t) {
  if (t == NULL) return;
  if (t->view_of != NULL) {
    tgi_task_view_free(t);
    return;
  }
  tgAllocator a = t->alloc;
  tgi_settings_free(&t->settings);
  tgi_settings_free(&t->gradient_settings);
  for (unsigned k = 0; t->stage_settings != NULL && k < t->yaml->nrefine; k++) tgi_settings_free(&t->stage_settings[k]);
  a.free(a.ctx, t->stage_settings);
  a.free(a.ctx, t->q0);
  a.free(a.ctx, t->v0);
  a.free(a.ctx, t->u0);
  a.free(a.ctx, t->drawn);
  a.free(a.ctx, t->apart);
  a.free(a.ctx, t->initial);
  tgi_parameters_free(t);
  a.free(a.ctx, t->state);
  a.free(a.ctx, t->term);
  tg_contact_free(t->contact);
  tg_contact_free(t->gradient);
  tg_model_free(t->model);
  tgi_task_parse_free(t->yaml);
  a.free(a.ctx, t);
}

tgStatus tg_task_override(tgTask *task, const char *contact, const char *method, int iterations, tgError *error) {
  if (task == NULL) return tgi_error(error, TG_ERR_ARG, "no task given");
  if (contact != NULL) TG_TRY(make_contact(task, contact, error));
  if (iterations > 0) task->optimizer.iterations = task->stage_iterations = iterations;
  if (method == NULL) return TG_OK;
  for (int i = 0; i < METHODS; i++)
    if (strcmp(method_word[i], method) == 0) {
      task->optimizer.method = (tgMethod)i;
      return TG_OK;
    }
  FAIL("there is no method '%s'; known are adam, descent, lbfgs, random, cem, ilqr, gauss_newton, bundle, ddp and shooting", method);
}

tgStatus tg_task_contact_option(tgTask *task, const char *name, const char *value, tgError *error) {
  if (task == NULL || name == NULL || value == NULL) return tgi_error(error, TG_ERR_ARG, "no task, or no name or value of an option given");
  TG_TRY(tgi_settings_add(&task->settings, name, value, 0, 0, error));
  tgStatus st = make_contact(task, task->word, error);
  if (st == TG_OK) tell_idle(task);
  else task->settings.n--;
  return st;
}

tgStatus tg_task_gradient(tgTask *task, const char *word, tgError *error) {
  if (task == NULL || word == NULL) return tgi_error(error, TG_ERR_ARG, "tg_task_gradient needs a task and the word of a contact model");
  tgContact *made;
  TG_TRY(make_gradient(task, word, task->contact, &made, error));
  tg_contact_free(task->gradient);
  task->gradient = made;
  snprintf(task->gradient_word, sizeof task->gradient_word, "%s", tg_contact_word(made));
  return TG_OK;
}

tgStatus tg_task_zero_contact_gradient(tgTask *task, tgError *error) {
  return tg_task_contact_option(task, "zero_contact_gradient", "true", error);
}

const tgModel *tg_task_model(const tgTask *task) { return task != NULL ? task->model : NULL; }
const tgContact *tg_task_gradient_contact(const tgTask *task) { return task != NULL ? task->gradient : NULL; }
const tgContact *tg_task_contact(const tgTask *task) { return task != NULL ? task->contact : NULL; }
const char *tg_task_model_path(const tgTask *task) { return task != NULL ? task->model_path : NULL; }
const char *tg_task_method(const tgTask *task) { return task != NULL ? method_word[task->optimizer.method] : NULL; }
int tg_task_steps(const tgTask *task) { return task != NULL ? task->steps : 0; }
double tg_task_timestep(const tgTask *task) { return task != NULL ? task->h : 0; }
const char *tg_task_target(const tgTask *task, int i, double target[3], int *body) {
  if (task == NULL) return NULL;
  if (i < 0 || i >= task->nterm) return NULL;
  const tgTerm *t = &task->term[i];
  bool position = t->kind <= TG_TERM_BODY_COM;
  for (int k = 0; k < 3; k++) target[k] = position ? t->target[k] : NAN;
  if (body != NULL) *body = !position ? -1 : t->kind == TG_TERM_SITE_POSITION ? task->model->site_body[t->index] : t->index;
  return t->label;
}
int tg_task_size(const tgTask *task) { return task != NULL ? task->n : 0; }

void tg_task_box(const tgTask *t, double *low, double *high) {
  if (t == NULL || low == NULL || high == NULL) return;
  int n = t->ncontrol;
  tgi_controls_box(t, low, high);
  for (int i = 0; i < t->ninitial; i++, n++) {
    low[n] = t->initial[i].low;
    high[n] = t->initial[i].high;
  }
  for (int i = 0; i < t->nparam; i++, n++) {
    low[n] = t->param[i].low;
    high[n] = t->param[i].high;
  }
}

const char *tg_task_parameter(const tgTask *task, int i, int *variable) {
  if (task == NULL || i < 0 || i >= task->nparam) return NULL;
  if (variable != NULL) *variable = task->n - task->nparam + i;
  return task->param[i].label;
}

// decision variables: those of the controls, then the initial state's entries: velocities as they are, positions as a
// tangent step from the file's start; then model parameters
void tg_task_start(const tgTask *task, uint64_t seed, double *x) {
  if (task == NULL || x == NULL) return;
  int n = task->ncontrol;
  tgi_controls_start(task, seed, x);
  for (int i = 0; i < task->ninitial; i++) x[n++] = task->initial[i].velocity ? task->v0[task->initial[i].dof] : 0;
  for (int i = 0; i < task->nparam; i++) x[n++] = task->param[i].start;
}

void tgi_task_position_step(const tgTask *task, const double *x, double *dq) {
  const double *init = x + task->ncontrol;
  for (int i = 0; i < task->model->nv; i++) dq[i] = 0;
  for (int i = 0; i < task->ninitial; i++)
    if (!task->initial[i].velocity) dq[task->initial[i].dof] = init[i];
}

// the entry of a rotation vector that the variable is: 0 to 2; -1: it moves along
static int turn_entry(const tgModel *m, const tgInitialVar *v) {
  int part = v->dof - m->jnt_vadr[v->joint], type = m->jnt_type[v->joint];
  return type == TG_JOINT_BALL ? part : type == TG_JOINT_FREE && part >= 3 ? part - 3 : -1;
}

// q0 = start (+) step. Decided entries of a rotation are one rotation vector, the others of it 0; the const task has no
// scratch, so the first variable of a rotation gathers the rest.
static void move_start(const tgTask *task, const double *init, double *q0) {
  const tgModel *m = task->model;
  memcpy(q0, task->q0, (size_t)m->nq * sizeof *q0);
  for (int i = 0; i < task->ninitial; i++) {
    const tgInitialVar *v = &task->initial[i];
    if (v->velocity) continue;   // that of an activation is of no joint
    int adr = m->jnt_qadr[v->joint];
    bool first = true;
    if (turn_entry(m, v) < 0) {
      q0[adr + v->dof - m->jnt_vadr[v->joint]] += init[i];
      continue;
    }
    double r[3] = {0, 0, 0}, turn[4], *quat = q0 + adr + (m->jnt_type[v->joint] == TG_JOINT_FREE ? 3 : 0);
    for (int k = 0; k < task->ninitial; k++) {
      const tgInitialVar *w = &task->initial[k];
      if (w->joint != v->joint || w->velocity || turn_entry(m, w) < 0) continue;
      first = first && k >= i;
      r[turn_entry(m, w)] = init[k];
    }
    if (!first) continue;
    tgi_quat_exp(turn, r);
    tgi_quat_mul(quat, quat, turn);
  }
}

void tg_task_expand(const tgTask *task, const double *x, double *q0, double *v0, double *u) {
  if (task == NULL || x == NULL) return;
  const tgModel *m = task->model;
  const double *init = x + task->ncontrol;
  if (v0 != NULL) {
    memcpy(v0, task->v0, (size_t)tgi_nw(m) * sizeof *v0);
    for (int i = 0; i < task->ninitial; i++)
      if (task->initial[i].velocity) v0[task->initial[i].dof] = init[i];
  }
  if (q0 != NULL) {
    move_start(task, init, q0);
  }
  if (u != NULL) tgi_controls_expand(task, x, u);
}
