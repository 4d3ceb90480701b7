// param.c: the block of a parameter gradient. See param.h.
#include "sim/param.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/status.h"

#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED TG_MODEL_INT
#define TG_MODEL_REAL TG_MODEL_INT

// one entry for each parameter with a derivative
typedef struct Entry { const char *name; int rows, cols; size_t at; } Entry;
enum {
#define TG_MODEL_PARAM(name, rows, cols, unit, text) AT_##name,
#include "model/model_fields.def"
  ENTRIES,
  MOST_ENTRIES = ENTRIES + TG_CONTACT_NUMBERS
};

// those of the model, then the numbers of the contact model (may be NULL); returns how many
static int entries(const tgModel *m, const tgContact *c, Entry e[MOST_ENTRIES]) {
  int nbody = m->nbody, njnt = m->njnt, nv = m->nv, nq = m->nq, nu = m->nu, ngeom = m->ngeom, nsite = m->nsite,
      nhullvert = m->nhullvert, ntendon = m->ntendon, neq = m->neq, npairown = m->npairown, nflex = m->nflex, nflexvert = m->nflexvert;
#define TG_MODEL_PARAM(name, rows, cols, unit, text) e[AT_##name] = (Entry){#name, rows, cols, offsetof(tgParamGrad, name)};
#include "model/model_fields.def"
  int n = ENTRIES;
  for (int i = 0; c != NULL && i < c->nnumber; i++)
    e[n++] = (Entry){c->number[i]->is.parameter, 1, 1, offsetof(tgParamGrad, number) + (size_t)i * sizeof(tgReal *)};
  return n;
}

const char *tg_param_name(int i) {
  static const char *const names[] = {
#define TG_MODEL_PARAM(name, rows, cols, unit, text) #name,
#include "model/model_fields.def"
  };
  return i >= 0 && i < ENTRIES ? names[i] : NULL;
}
#undef TG_MODEL_INT
#undef TG_MODEL_SHARED
#undef TG_MODEL_REAL

const char *tgi_param_name(const tgContact *c, int k) {
  if (k < ENTRIES) return tg_param_name(k);
  return c != NULL && k - ENTRIES < c->nnumber ? c->number[k - ENTRIES]->is.parameter : NULL;
}

static int entry_named(const Entry *e, int n, const char *name) {
  for (int i = 0; i < n && name != NULL; i++)
    if (strcmp(e[i].name, name) == 0) return i;
  return -1;
}

// a number of a contact model, name without "contact."
static tgStatus refuse_number(const tgContact *c, const char *name, tgError *error) {
  char known[240] = "";
  size_t used = 0;
  if (c == NULL)
    return tgi_error(error, TG_ERR_ARG, "Parameter 'contact.%.60s' is of a contact model; tg_param_grad_create_contact takes those.", name);
  const tgiOption *fixed = tgi_option_named(c->list, name);
  const char *now = tgi_option_now(c->list, name);
  if (fixed != NULL)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "Parameter 'contact.%.60s' (%s) has no derivative under the contact model '%s'.", name,
                     fixed->is.text, tg_contact_word(c));
  if (now != NULL) return tgi_error(error, TG_ERR_ARG, "Parameter 'contact.%.60s' is now called 'contact.%s'.", name, now);
  for (int i = 0; i < c->nnumber && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "; it has ", c->number[i]->is.parameter);
  return tgi_error(error, TG_ERR_ARG, "The contact model '%s' has no parameter 'contact.%.60s'%s.", tg_contact_word(c), name, known);
}

static tgStatus refuse(const tgModel *m, const tgContact *c, const char *name, tgError *error) {
  tgField f = name != NULL ? tg_model_field_named(m, name) : (tgField){.data = NULL};
  if (name != NULL && strncmp(name, TG_CONTACT_PREFIX, sizeof TG_CONTACT_PREFIX - 1) == 0)
    return refuse_number(c, name + sizeof TG_CONTACT_PREFIX - 1, error);
  if (f.name == NULL || f.scalar != TG_SCALAR_REAL) {
    const char *words[MOST_ENTRIES];
    int n = 0;
    while (tg_param_name(n) != NULL) words[n] = tg_param_name(n), n++;
    const char *near = name != NULL ? tgi_nearest_word(name, words, n) : NULL;
    if (near != NULL) return tgi_error(error, TG_ERR_ARG, "A model has no parameter '%s'; did you mean %s?", name, near);
    return tgi_error(error, TG_ERR_ARG,
                     "A model has no parameter '%s'; tg_param_name, in Python param_names, lists those with a derivative.",
                     name != NULL ? name : "(null)");
  }
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "Parameter '%s' (%s) has no derivative; tg_param_name, in Python param_names, lists those that have one.", name, f.text);
}

static tgReal **slot(const tgParamGrad *p, const Entry *e) { return (tgReal **)((uintptr_t)p + e->at); }

static bool differentiable(const tgContact *c, const char *name, tgError *error) {
  return c == NULL || c->differentiable(c, NULL, name, error) == TG_OK;
}

// places of the named entries among `known` ones, NULL: of all that have a derivative; how many, -1: one is refused
static int choose(const tgModel *model, const tgContact *contact, const Entry *e, int known, const char *const *names, int n, int *choice,
                  tgError *error) {
  int chosen = 0;
  for (int k = 0; k < known && names == NULL; k++)
    if (differentiable(contact, e[k].name, NULL)) choice[chosen++] = k;
  for (int k = 0; k < n && names != NULL; k++) {
    int i = entry_named(e, known, tgi_parameter_name(contact, names[k]));
    if (i < 0) {
      refuse(model, contact, names[k], error);
      return -1;
    }
    for (int j = 0; j < chosen; j++)
      if (choice[j] == i) {
        tgi_error(error, TG_ERR_ARG, "Parameter '%s' is named twice.", names[k]);
        return -1;
      }
    choice[chosen++] = i;
  }
  return chosen;
}

static tgParamGrad *create(const tgModel *model, const tgContact *contact, const char *const *names, int n,
                           const tgAllocator *allocator, tgError *error) {
  Entry e[MOST_ENTRIES];
  int choice[MOST_ENTRIES], chosen = choose(model, contact, e, entries(model, contact, e), names, n, choice, error);
  size_t size = 0, place = 6 * ((size_t)model->nv + (size_t)model->nbody);
  if (chosen < 0) return NULL;
  for (int k = 0; k < chosen; k++) size += (size_t)e[choice[k]].rows * (size_t)e[choice[k]].cols;
  tgAllocator a = tgi_allocator(allocator);
  tgParamGrad *p = a.alloc(a.ctx, sizeof *p + (size + place) * sizeof(tgReal));
  if (p == NULL || size > INT32_MAX) {
    a.free(a.ctx, p);
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a gradient of %zu parameters", size);
    return NULL;
  }
  memset(p, 0, sizeof *p);
  p->alloc = a;
  p->model = model;
  p->contact = contact;
  p->all = names == NULL;
  p->size = (int)size;
  p->value = (tgReal *)(void *)(p + 1);
  p->S = p->value + size;
  p->X = p->S + 6 * (size_t)model->nv;
  tgReal *at = p->value;
  for (int k = 0; k < chosen; k++) {
    *slot(p, &e[choice[k]]) = at;
    at += (size_t)e[choice[k]].rows * (size_t)e[choice[k]].cols;
  }
  p->places = p->body_pos != NULL || p->body_quat != NULL || p->jnt_pos != NULL || p->jnt_axis != NULL;
  tg_param_grad_clear(p);
  return p;
}

tgParamGrad *tg_param_grad_create(const tgModel *model, const char *const *names, int n, const tgAllocator *allocator, tgError *error) {
  if (model != NULL && (names == NULL || n >= 0)) return create(model, NULL, names, n, allocator, error);
  tgi_error(error, TG_ERR_ARG, "tg_param_grad_create needs a model and the number of names.");
  return NULL;
}

tgParamGrad *tg_param_grad_create_contact(const tgContact *contact, const char *const *names, int n,
                                          const tgAllocator *allocator, tgError *error) {
  if (contact != NULL && (names == NULL || n >= 0)) return create(contact->model, contact, names, n, allocator, error);
  tgi_error(error, TG_ERR_ARG, "tg_param_grad_create_contact needs a contact model and the number of names.");
  return NULL;
}

void tg_param_grad_free(tgParamGrad *p) {
  if (p != NULL) p->alloc.free(p->alloc.ctx, p);
}

void tg_param_grad_clear(tgParamGrad *p) {
  if (p == NULL) return;
  int n = p->size + 6 * (p->model->nv + p->model->nbody);
  for (int i = 0; i < n; i++) p->value[i] = 0;
}

tgReal *tg_param_grad_field(tgParamGrad *p, const char *name, int *rows, int *cols) {
  if (p == NULL || name == NULL) return NULL;
  Entry e[MOST_ENTRIES];
  int i = entry_named(e, entries(p->model, p->contact, e), tgi_parameter_name(p->contact, name));
  if (i < 0) return NULL;
  if (rows != NULL) *rows = e[i].rows;
  if (cols != NULL) *cols = e[i].cols;
  return *slot(p, &e[i]);
}

const char *tg_param_grad_left_out(const tgParamGrad *p, int i, tgError *error) {
  Entry e[MOST_ENTRIES];
  int n = p != NULL && p->all ? entries(p->model, p->contact, e) : 0;
  for (int k = 0; k < n; k++) {
    if (*slot(p, &e[k]) != NULL || i-- > 0) continue;
    differentiable(p->contact, e[k].name, error);
    return e[k].name;
  }
  return NULL;
}

tgReal *tg_param_grad_values(tgParamGrad *p, int *size) {
  if (p == NULL) return NULL;
  if (size != NULL) *size = p->size;
  return p->value;
}

int tgi_param_traits(const char *name) {
  static const struct { const char *name; int traits; } known[] = {
      {"body_quat", TGI_PARAM_UNIT},         {"geom_quat", TGI_PARAM_UNIT},
      {"jnt_axis", TGI_PARAM_UNIT},          {"geom_friction", TGI_PARAM_RIVALS | TGI_PARAM_SWITCH},
      {"geom_spinfriction", TGI_PARAM_RIVALS | TGI_PARAM_SWITCH}, {"pair_spinfriction", TGI_PARAM_SWITCH},
      {"geom_size", TGI_PARAM_RIVALS},       {"geom_scale", TGI_PARAM_RIVALS},
      {"dof_frictionloss", TGI_PARAM_SWITCH}, {"ten_frictionloss", TGI_PARAM_SWITCH},
      {"pair_friction", TGI_PARAM_SWITCH},   {"pair_restitution", TGI_PARAM_SWITCH},
      {"geom_restitution", TGI_PARAM_RIVALS | TGI_PARAM_SWITCH},
      {"hull_vert", TGI_PARAM_CORNERS},      {"act_ctrlrange", TGI_PARAM_CLAMP},
      {"act_forcerange", TGI_PARAM_CLAMP},   {"act_actrange", TGI_PARAM_CLAMP},
      {"jnt_actfrcrange", TGI_PARAM_CLAMP},  {"ten_lengthspring", TGI_PARAM_CLAMP}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].traits;
  return 0;
}

static void remove_along(const tgReal *x, int n, tgReal *dir) {
  tgReal along = 0;
  for (int i = 0; i < n; i++) along += x[i] * dir[i];
  for (int i = 0; i < n; i++) dir[i] -= along * x[i];
}

void tgi_param_tangent(const tgModel *m, const char *name, int rows, int cols, const tgReal *x, tgReal *dir) {
  bool spring = strcmp(name, "qpos_spring") == 0, unit = (tgi_param_traits(name) & TGI_PARAM_UNIT) != 0;
  for (int j = 0; spring && j < m->njnt; j++) {
    int at = m->jnt_qadr[j] + (m->jnt_type[j] == TG_JOINT_FREE ? 3 : 0);
    if (m->jnt_type[j] == TG_JOINT_FREE || m->jnt_type[j] == TG_JOINT_BALL) remove_along(x + at, 4, dir + at);
  }
  for (int r = 0; unit && r < rows; r++) remove_along(x + r * cols, cols, dir + r * cols);
}
