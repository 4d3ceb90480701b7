// options.c: options of contact models by name, as tasks and the command line give them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "contact/contact.h"

typedef enum Kind { NUMBER, TRUTH, COUNT, WORD } Kind;
// whose: of a kind of models, of all but potential ones (STEPPED), or of those that list it, as numbers are
typedef enum Whose { LISTED, IMPULSE, POTENTIAL, FORCE, STEPPED } Whose;
typedef struct Option { const char *name; Kind kind; Whose whose; size_t at; const char *word[4]; } Option;

// words in the order of the enumeration that they stand for
#define AT(field) offsetof(tgContactOptions, field)
static const Option option[] = {
    {"erp", NUMBER, LISTED, AT(erp), {NULL}},
    {"symplectic", TRUTH, STEPPED, AT(symplectic), {NULL}},
    {"explicit_damping", TRUTH, STEPPED, AT(explicit_damping), {NULL}},
    {"restitution_speed", NUMBER, LISTED, AT(restitution_speed), {NULL}},
    {"bounce_gradient", TRUTH, IMPULSE, AT(bounce_gradient), {NULL}},
    {"mu", NUMBER, LISTED, AT(mu), {NULL}},
    {"eps", NUMBER, LISTED, AT(eps), {NULL}},
    {"slip_speed", NUMBER, LISTED, AT(slip_speed), {NULL}},
    {"friction_range", NUMBER, LISTED, AT(friction_range), {NULL}},
    {"local_range", NUMBER, LISTED, AT(local_range), {NULL}},
    {"limit_range", NUMBER, LISTED, AT(limit_range), {NULL}},
    {"equality_opening", NUMBER, LISTED, AT(equality_opening), {NULL}},
    {"form", WORD, POTENTIAL, AT(hierarchy), {"moment", "paper", "brute", NULL}},
    {"friction", WORD, POTENTIAL, AT(friction_form), {"slip", "plane", NULL}},
    {"long_range", WORD, POTENTIAL, AT(long_range), {"both", "backward", "off", NULL}},
    {"threads", COUNT, POTENTIAL, AT(threads), {NULL}},
    {"stiffness", NUMBER, LISTED, AT(stiffness), {NULL}},
    {"eps1", NUMBER, LISTED, AT(eps1), {NULL}},
    {"eps2", NUMBER, LISTED, AT(eps2), {NULL}},
    {"eps3", NUMBER, LISTED, AT(eps3), {NULL}},
    {"dissipation_speed", NUMBER, LISTED, AT(dissipation_speed), {NULL}},
    {"stiction_speed", NUMBER, LISTED, AT(stiction_speed), {NULL}},
    {"spacing", NUMBER, LISTED, AT(spacing), {NULL}},
    {"points", NUMBER, LISTED, AT(points), {NULL}},
    {"prune", NUMBER, LISTED, AT(prune), {NULL}},
    {"limit_frequency", NUMBER, LISTED, AT(limit_frequency), {NULL}},
    {"equality_frequency", NUMBER, LISTED, AT(equality_frequency), {NULL}},
    {"form", WORD, FORCE, AT(force_form), {"consistent", "paper", NULL}},
    {"detection", WORD, IMPULSE, AT(detection), {"features", "soft", NULL}},
    {"integrator", WORD, FORCE, AT(integrator), {"euler", "explicit", "rk4", NULL}},
};
enum { NOPTIONS = sizeof option / sizeof *option };

static bool first_of_name(int i) {
  for (int j = 0; j < i; j++)
    if (strcmp(option[j].name, option[i].name) == 0) return false;
  return true;
}

const char *tg_contact_option_name(int i) {
  for (int k = 0; k < NOPTIONS; k++)
    if (first_of_name(k) && i-- == 0) return option[k].name;
  return NULL;
}

static bool concerns(const tgContact *c, Whose whose) {
  bool force = strcmp(c->kind->stepper, "explicit") == 0;
  switch (whose) {
    case LISTED: return false;
    case IMPULSE: return strcmp(c->kind->stepper, "impulse") == 0;
    case POTENTIAL: return strcmp(c->kind->stepper, "minimise") == 0;
    case FORCE: return force;
    case STEPPED: return strcmp(c->kind->stepper, "minimise") != 0;
  }
  return false;
}

bool tgi_contact_takes(const tgContact *c, const char *name) {
  for (int i = 0; i < NOPTIONS; i++) {
    if (strcmp(option[i].name, name) != 0) continue;
    if (concerns(c, option[i].whose)) return true;
    for (int k = 0; k < c->nnumber + c->nfixed && option[i].whose == LISTED; k++)
      if (strcmp(c->number[k]->name, name) == 0) return true;
  }
  return false;
}

static bool number(const char *text, double *x) {
  char *end;
  *x = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*x);
}

static bool store(tgContactOptions *o, const Option *p, const char *text) {
  void *at = (char *)o + p->at;
  double x;
  switch (p->kind) {
    case NUMBER: return number(text, (double *)at);
    case TRUTH:
      if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) return false;
      *(bool *)at = text[0] == 't';
      return true;
    case COUNT:
      if (!number(text, &x) || x < 1 || x > 4096 || x != floor(x)) return false;
      *(int *)at = (int)x;
      return true;
    case WORD:
      for (int i = 0; p->word[i] != NULL; i++)
        if (strcmp(text, p->word[i]) == 0) {
          memcpy(at, &i, sizeof i);
          return true;
        }
      return false;
  }
  return false;
}

// what an option takes, and the names that there are
static size_t takes(const Option *p, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s", p->kind == NUMBER ? "a number" : p->kind == COUNT ? "a count" : p->kind == TRUTH ? "true or false" : "");
  for (int i = 0; p->word[i] != NULL && used < size; i++) used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "one of ", p->word[i]);
  return used;
}

tgStatus tg_contact_set(tgContactOptions *options, const char *name, const char *value, tgError *error) {
  char text[600] = "";
  if (options == NULL || name == NULL || value == NULL || options->size != sizeof *options)
    return tgi_error(error, TG_ERR_ARG, "tg_contact_set needs options made by tg_contact_default, a name and a value.");
  size_t used = 0;
  bool known = false, stored = false;
  // a name that several kinds of models have stands once for each
  for (int i = 0; i < NOPTIONS; i++) {
    if (strcmp(option[i].name, name) != 0) continue;
    stored = store(options, &option[i], value) || stored;
    if (known && used < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, "; ");
    known = true;
    if (used < sizeof text) used += takes(&option[i], text + used, sizeof text - used);
  }
  if (stored) return TG_OK;
  if (known) return tgi_error(error, TG_ERR_ARG, "Contact option %s takes %s, not '%.60s'.", name, text, value);
  for (int i = 0; i < NOPTIONS && used < sizeof text; i++)
    if (first_of_name(i)) used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", option[i].name);
  return tgi_error(error, TG_ERR_ARG, "No contact option is called '%.60s'; known: %s.", name, text);
}
