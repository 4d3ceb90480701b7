// contact.c: binding a contact model to a model.
#include "contact/contact.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

tgContactOptions tg_contact_default(void) {
  return (tgContactOptions){.size = sizeof(tgContactOptions), .erp = 0.2, .symplectic = true, .restitution_speed = 1e-3, .mu = 1e-6, .eps = 0.5,
                             .slip_speed = 1e-3, .friction_range = 0.1, .local_range = 0.01, .limit_range = 0.1, .threads = 1, .dissipation_speed = 0.5,
                             .stiction_speed = 0.05, .limit_frequency = 200, .equality_opening = 1e-5, .equality_frequency = 200, .prune = 1e-13};
}

const char *tg_contact_words(int i) {
  const tgContactModel *k = tgi_contact_table(i);
  return k != NULL ? k->word : NULL;
}

const char *tg_contact_word(const tgContact *contact) { return contact != NULL ? contact->kind->word : NULL; }

static const tgContactModel *find(const char *word) {
  for (int i = 0; tgi_contact_table(i) != NULL; i++)
    if (strcmp(tgi_contact_table(i)->word, word) == 0) return tgi_contact_table(i);
  return NULL;
}

static void known_words(char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; tg_contact_words(i) != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i > 0 ? ", " : "", tg_contact_words(i));
}

// each number against the range in the list
static tgStatus check_numbers(const char *word, int n, const tgContactParam *param, const tgContactOptions *o, tgError *error) {
  for (int i = 0; i < n; i++) {
    const tgContactParam *p = &param[i];
    double value;
    memcpy(&value, (const char *)o + p->at, sizeof value);
    if (!(value >= p->least && value <= p->most))
      return tgi_error(error, TG_ERR_ARG, "Contact option %s of '%s' is %g; give %g to %g.", p->name, word, value, p->least, p->most);
  }
  return TG_OK;
}

// what the step of every potential model takes
static const tgContactParam step_param[] = {
    TG_CONTACT_PARAMETER(mu, 1e-6, 1e-30, 1e6, "J m^(1/2)", "weight of the contact potential and of joints' limits"),
    TG_CONTACT_PARAMETER(slip_speed, 1e-3, 1e-12, 1e3, "m/s", "sliding speed about which friction takes hold"),
    TG_CONTACT_PARAMETER(limit_range, 0.1, 1e-6, 0.5, "", "share of a joint's or tendon's range in which its limit pushes"),
    TG_CONTACT_PARAMETER(equality_opening, 1e-5, 1e-12, 1e3, "m", "by which the weight of the lighter tree opens an equality")};
enum { STEP_PARAMS = sizeof step_param / sizeof *step_param };

// what the step of every force model takes
static const tgContactParam force_param[] = {
    TG_CONTACT_PARAMETER(stiction_speed, 0.05, 1e-9, 1e3, "m/s", "sliding speed about which friction takes hold"),
    TG_CONTACT_PARAMETER(limit_frequency, 200, 1e-3, 1e9, "rad/s", "of a joint's or tendon's inertia on the spring of its limit"),
    TG_CONTACT_PARAMETER(limit_range, 0.1, 1e-6, 0.5, "", "share of a joint's or tendon's range over which the push of its limit sets in"),
    TG_CONTACT_PARAMETER(equality_frequency, 200, 1e-3, 1e9, "rad/s", "of the inertia that an equality meets on its spring, damped critically")};
enum { FORCE_PARAMS = sizeof force_param / sizeof *force_param };

static int add_numbers(tgContact *c, int at, int n, const tgContactParam *param, bool differentiable) {
  for (int i = 0; i < n && at < TG_CONTACT_NUMBERS; i++)
    if ((param[i].parameter != NULL) == differentiable) c->number[at++] = &param[i];
  return at;
}

void tgi_contact_numbers(tgContact *c) {
  int n = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (c->kind->potential != NULL) n = add_numbers(c, n, STEP_PARAMS, step_param, pass == 0);
    if (c->kind->force != NULL) n = add_numbers(c, n, FORCE_PARAMS, force_param, pass == 0);
    n = add_numbers(c, n, c->kind->nparam, c->kind->param, pass == 0);
    if (pass == 0) c->nnumber = n;
  }
  c->nfixed = n - c->nnumber;
}

const char *tg_contact_param_name(const tgContact *contact, int i) {
  return contact != NULL && i >= 0 && i < contact->nnumber ? contact->number[i]->parameter : NULL;
}

static tgStatus check_options(const tgContactModel *kind, const tgContactOptions *o, tgError *error) {
  if (o->size != sizeof(tgContactOptions))
    return tgi_error(error, TG_ERR_ARG, "Contact options were not made by tg_contact_default of this version.");
  if (kind->potential != NULL) TG_TRY(check_numbers(kind->word, STEP_PARAMS, step_param, o, error));
  if (kind->force != NULL) TG_TRY(check_numbers(kind->word, FORCE_PARAMS, force_param, o, error));
  return check_numbers(kind->word, kind->nparam, kind->param, o, error);
}

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

const tgContactModel *tgi_contact_named(const char *word, tgError *error) {
  const tgContactModel *kind = find(word);
  char words[256];
  if (kind != NULL) return kind;
  known_words(words, sizeof words);
  tgi_error(error, TG_ERR_ARG, "No contact model is called '%.60s'; known: %s.", word, words);
  return NULL;
}

tgContact *tgi_contact_create(const tgModel *model, const tgContactModel *kind, const tgStepper *stepper, const tgContactOptions *options, tgError *error) {
  tgContactOptions o = options != NULL ? *options : tg_contact_default();
  if (check_options(kind, &o, error) < 0) return NULL;
  tgAllocator alloc = model->alloc;
  tgContact *c = (tgContact *)alloc.alloc(alloc.ctx, sizeof *c);
  if (c == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "No memory for the contact model '%s'.", kind->word);
    return NULL;
  }
  *c = (tgContact){.model = model, .alloc = alloc, .options = o, .kind = kind, .stepper = stepper, .solver_bytes = kind->solver_bytes};
  tgi_contact_numbers(c);
  if (stepper->supports(c, error) < 0 || kind->prepare(c, error) < 0) {
    tg_contact_free(c);
    return NULL;
  }
  if (kind->potential != NULL) c->nterm = kind->potential->terms(c);
  if (kind->force != NULL) c->nforce = kind->force->terms(c);
  return c;
}

void tg_contact_free(tgContact *contact) {
  if (contact == NULL) return;
  tgAllocator alloc = contact->alloc;
  if (contact->kind->release != NULL) contact->kind->release(contact);
  alloc.free(alloc.ctx, contact->limit_inertia);
  alloc.free(alloc.ctx, contact);
}

void tgi_equal_numbers(const tgModel *m, int geom1, int geom2, const tgReal *number, const char *what, tgGradInfo *info) {
  double a = tgRe(number[geom1]), b = tgRe(number[geom2]);
  char one[80], two[80];
  if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b))) return;
  if (info->ties++ > 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  snprintf(info->reason, sizeof info->reason, "equal %s of %s and %s: the larger counts", what, tgi_model_label(m, TG_THING_GEOM, geom1, one, sizeof one),
           tgi_model_label(m, TG_THING_GEOM, geom2, two, sizeof two));
}

bool tgi_contact_separates(const tgContact *c) { return c != NULL && c->kind->potential != NULL; }
