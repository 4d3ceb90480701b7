// contact.c: binding a contact model to a model.
#include "contact/contact.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *tg_contact_words(int i) {
  const tgContactModel *k = tgi_contact_table(i);
  return k != NULL ? k->word : NULL;
}

const char *tg_contact_word(const tgContact *contact) { return contact != NULL ? contact->kind->word : NULL; }

bool tg_contact_intersection_free(const char *word) {
  const tgContactModel *kind = word != NULL ? tgi_contact_named(word, NULL) : NULL;
  return kind != NULL && (kind->intersection_free || (kind->law != NULL && kind->law->step_bound != NULL));
}

static void known_words(char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; tg_contact_words(i) != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i > 0 ? ", " : "", tg_contact_words(i));
}

void tgi_contact_numbers(tgContact *c) {
  const tgiOptionList *list = c->list = &c->kind->options;
  c->nnumber = 0;
  for (int i = 0; i < list->n && c->nnumber < TG_CONTACT_NUMBERS; i++)
    if (list->option[i].is.parameter != NULL) c->number[c->nnumber++] = &list->option[i];
}

const char *tg_contact_param_name(const tgContact *contact, int i) {
  return contact != NULL && i >= 0 && i < contact->nnumber ? contact->number[i]->is.parameter : NULL;
}

// made by tg_contact_default of this version, for whatever model
static bool stamped(const tgContactOptions *o) {
  bool known = o->size == sizeof(tgAnyContactOptions);
  for (int i = 0; !known && tgi_contact_table(i) != NULL; i++) known = o->size == tgi_contact_table(i)->options.bytes;
  return known && o->word != NULL;
}

static tgStatus check_options(const tgContactModel *kind, const tgContactOptions *o, tgError *error) {
  if (!stamped(o)) return tgi_error(error, TG_ERR_ARG, "Contact options were not made by tg_contact_default of this version.");
  if (strcmp(o->word, kind->word) != 0)
    return tgi_error(error, TG_ERR_ARG, "The options are of the contact model '%.60s', not of '%s'.", o->word, kind->word);
  return tgi_options_check(&kind->options, kind->word, o, error);
}

void tgi_contact_options(tgContact *c, const tgContactOptions *options, void *room) {
  const tgContactOptions head = {.size = c->kind->options.bytes, .word = c->kind->word};
  memcpy(room, options, head.size);
  memcpy(room, &head, sizeof head);
  c->options = room;
}

const tgContactOptions *tg_contact_options(const tgContact *contact) { return contact != NULL ? contact->options : NULL; }

void tgi_contact_warn(tgContact *c, const char *format, ...) {
  va_list args;
  if (c->nwarning == TG_CONTACT_WARNINGS) return;
  va_start(args, format);
  vsnprintf(c->warning[c->nwarning++], sizeof c->warning[0], format, args);
  va_end(args);
}

const char *tg_contact_warning(const tgContact *contact, int i) {
  return contact != NULL && i >= 0 && i < contact->nwarning ? contact->warning[i] : NULL;
}

bool tg_contact_law(const tgContact *contact, int i, double h, tgContactLaw *law) {
  return contact != NULL && contact->kind->pair_law != NULL && i >= 0 && contact->kind->pair_law(contact, i, h, law);
}

bool tg_contact_grid(const tgContact *contact, int i, tgContactGrid *grid) {
  return contact != NULL && contact->kind->grid != NULL && i >= 0 && contact->kind->grid(contact, i, grid);
}

static tgStatus differentiable(const tgContact *c, const tgSim *s, const char *name, tgError *error) {
  for (const char *const *d = c->kind->derived; d != NULL && *d != NULL; d++) {
    int i = tgi_contact_number_at(c, *d);
    if (strcmp(c->number[i]->is.parameter, name) != 0) continue;
    if ((s != NULL ? tgRe(s->contact_number[i]) : tg_contact_get(c->options, *d)) > 0) return TG_OK;
    return tgi_error(error, TG_ERR_UNSUPPORTED, "%s is 0: the number follows from others and has no derivative; give it a value.", name);
  }
  return c->kind->differentiable != NULL ? c->kind->differentiable(c, name, error) : TG_OK;
}

tgStatus tgi_contact_differentiable(tgSim *s, const tgParamGrad *p) {
  const tgContact *c = s->contact_model;
  for (int i = 0; i < c->nnumber; i++)
    if (p->number[i] != NULL) TG_TRY(differentiable(c, s, c->number[i]->is.parameter, &s->error));
  return p->hull_vert != NULL ? differentiable(c, s, "hull_vert", &s->error) : TG_OK;
}

const tgContactModel *tgi_contact_named(const char *word, tgError *error) {
  char words[256];
  for (int i = 0; tgi_contact_table(i) != NULL; i++)
    if (strcmp(tgi_contact_table(i)->word, word) == 0) return tgi_contact_table(i);
  known_words(words, sizeof words);
  tgi_error(error, TG_ERR_ARG, "No contact model is called '%.60s'; known: %s.", word, words);
  return NULL;
}

// Planes stand still under contact models that do not say otherwise.
static tgStatus check_planes(const tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  char geom[128], body[128];
  for (int p = 0; p < m->npair && !c->kind->moving_planes; p++)
    for (int k = 0; k < 2; k++) {
      int g = k == 0 ? m->pair_geom1[p] : m->pair_geom2[p];
      if (m->geom_type[g] != TG_GEOM_PLANE || m->body_lastdof[m->geom_body[g]] < 0) continue;
      return tgi_error(error, TG_ERR_UNSUPPORTED,
                       "%s is a plane and moves with %s: under the contact model '%s' planes stand still; use a thin box.",
                       tgi_model_label(m, TG_THING_GEOM, g, geom, sizeof geom),
                       tgi_model_label(m, TG_THING_BODY, m->geom_body[g], body, sizeof body), c->kind->word);
    }
  return TG_OK;
}

// Laws push at many points of surfaces, which resist spin by themselves.
static void warn_spin(tgContact *c) {
  const tgModel *m = c->model;
  char a[128], b[128];
  for (int p = 0; p < m->npair; p++) {
    bool given = false;
    for (int t = 2; t < m->pair_condim[p] - 1; t++) given = given || tgRe(tgi_pair_friction(m, p, t, NULL)) > 0;
    if (!given) continue;
    tgi_contact_warn(c, "%s and %s have torsional or rolling friction, which the contact model '%s' leaves out: what resists spin there "
                     "is friction at the points of their surfaces.", tgi_model_label(m, TG_THING_GEOM, m->pair_geom1[p], a, sizeof a),
                     tgi_model_label(m, TG_THING_GEOM, m->pair_geom2[p], b, sizeof b), c->kind->word);
    return;
  }
}

// Nothing bounces off a force of the gap by a number of its own.
static void warn_restitution(tgContact *c) {
  const tgModel *m = c->model;
  char a[64], b[64];
  for (int p = 0; p < m->npair; p++) {
    if (!(tgRe(tgi_pair_restitution(m, p, NULL)) > 0)) continue;
    tgi_contact_warn(c, "%s and %s have restitution, which the contact model '%s' leaves out; 'lcp' and 'toi' have it.",
                     tgi_model_label(m, TG_THING_GEOM, m->pair_geom1[p], a, sizeof a),
                     tgi_model_label(m, TG_THING_GEOM, m->pair_geom2[p], b, sizeof b), c->kind->word);
    return;
  }
}

tgContact *tgi_contact_create(const tgModel *model, const tgContactModel *kind, const tgStepper *stepper,
                              const tgContactOptions *options, tgError *error) {
  tgAnyContactOptions own;
  if (options == NULL) tg_contact_default(kind->word, &own.of, sizeof own);
  const tgContactOptions *o = options != NULL ? options : &own.of;
  if (check_options(kind, o, error) < 0) return NULL;
  tgAllocator alloc = model->alloc;
  tgContact *c = (tgContact *)alloc.alloc(alloc.ctx, sizeof *c + kind->options.bytes);
  if (c == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "No memory for the contact model '%s'.", kind->word);
    return NULL;
  }
  *c = (tgContact){.model = model, .alloc = alloc, .kind = kind, .stepper = stepper, .solver_bytes = kind->solver_bytes,
                   .differentiable = differentiable};
  tgi_contact_options(c, o, c + 1);
  tgi_contact_numbers(c);
  if (check_planes(c, error) < 0 || stepper->supports(c, error) < 0 || kind->prepare(c, error) < 0) {
    tg_contact_free(c);
    return NULL;
  }
  if (kind->law != NULL) c->nterm = kind->law->terms(c);
  if (kind->rows == NULL) {
    warn_spin(c);
    warn_restitution(c);
  }
  return c;
}

void tg_contact_free(tgContact *contact) {
  if (contact == NULL) return;
  tgAllocator alloc = contact->alloc;
  if (contact->kind->release != NULL) contact->kind->release(contact);
  alloc.free(alloc.ctx, contact->limit_inertia);
  alloc.free(alloc.ctx, contact);
}

void tgi_equal_numbers(const tgModel *m, int geom1, int geom2, tgReal x, tgReal y, const char *what, tgGradInfo *info) {
  double a = tgRe(x), b = tgRe(y);
  char one[80], two[80];
  if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b))) return;
  if (info->ties++ > 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  snprintf(info->reason, sizeof info->reason, "equal %s of %s and %s: the larger counts", what,
           tgi_model_label(m, TG_THING_GEOM, geom1, one, sizeof one),
           tgi_model_label(m, TG_THING_GEOM, geom2, two, sizeof two));
}

bool tgi_pair_moves(const tgModel *m, int p) {
  int a = m->pair_geom1[p], b = m->pair_geom2[p];
  return m->body_weld[m->geom_body[a]] != m->body_weld[m->geom_body[b]] &&
         !(m->geom_type[a] == TG_GEOM_PLANE && m->geom_type[b] == TG_GEOM_PLANE);
}

tgStatus tgi_pair_one_friction(const tgModel *m, int p, tgError *error) {
  char a[128], b[128];
  tgReal friction[2] = {tgi_pair_number(m, p, m->pair_friction, 2, 0), tgi_pair_number(m, p, m->pair_friction, 2, 1)};
  if (m->pair_condim[p] == 1 || tgRe(friction[0]) < 0 || tgRe(friction[0]) == tgRe(friction[1])) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "The pair of %s and %s has friction %g and %g along its two tangents; this contact model has one coefficient.",
                   tgi_model_label(m, TG_THING_GEOM, m->pair_geom1[p], a, sizeof a),
                   tgi_model_label(m, TG_THING_GEOM, m->pair_geom2[p], b, sizeof b), tgRe(friction[0]), tgRe(friction[1]));
}
