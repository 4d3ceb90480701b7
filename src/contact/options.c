// options.c: options of contact models by name, as tasks, the command line and Python give them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "contact/contact.h"
#include "base/nearest.h"

static const tgContactModel *model_named(const char *word) { return word != NULL ? tgi_contact_named(word, NULL) : NULL; }

tgStatus tg_contact_default(const char *word, tgContactOptions *options, size_t size) {
  const tgContactModel *kind = model_named(word);
  if (options == NULL || size < sizeof *options) return TG_ERR_ARG;
  *options = (tgContactOptions){.size = 0};
  if (kind == NULL || (size != kind->options.bytes && size != sizeof(tgAnyContactOptions))) return TG_ERR_ARG;
  memset(options, 0, size);
  *options = (tgContactOptions){.size = size, .word = kind->word};
  tgi_options_default(&kind->options, options);
  return TG_OK;
}

// ---- names that are not the model's ----

enum { MOST_NAMES = 128 };

// "'a' and 'b'": the models that have the option; returns how many they are
static int those_with(const char *name, char *text, size_t size) {
  const char *word[MOST_NAMES];
  int n = 0;
  for (int i = 0; tgi_contact_table(i) != NULL && n < MOST_NAMES; i++)
    if (tgi_option_named(&tgi_contact_table(i)->options, name) != NULL) word[n++] = tgi_contact_table(i)->word;
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < n && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i == 0 ? "" : i + 1 < n ? ", " : " and ", word[i]);
  return n;
}

// what the option is called now by the model, else by another; NULL: no model has such a former name
static const char *name_now(const tgContactModel *kind, const char *name) {
  const char *now = tgi_option_now(&kind->options, name);
  for (int i = 0; now == NULL && tgi_contact_table(i) != NULL; i++) now = tgi_option_now(&tgi_contact_table(i)->options, name);
  return now;
}

static const char *nearest(const tgiOptionList *list, const char *name) {
  const char *known[MOST_NAMES];
  int n = 0;
  for (int i = 0; i < list->n && n < MOST_NAMES; i++)
    if (!list->option[i].former) known[n++] = list->option[i].is.name;
  return tgi_nearest_word(name, known, n);
}

// of the model's names, else of another's
static const char *near_name(const tgContactModel *kind, const char *name) {
  const char *near = nearest(&kind->options, name);
  for (int i = 0; near == NULL && tgi_contact_table(i) != NULL; i++) near = nearest(&tgi_contact_table(i)->options, name);
  return near;
}

static void names_of(const tgiOptionList *list, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < list->n && used < size; i++)
    if (list->option[i].now == NULL)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", list->option[i].is.name);
}

static tgStatus refuse(const tgContactModel *kind, const char *name, tgError *error) {
  char text[700] = "";
  const char *now = name_now(kind, name), *near = near_name(kind, name);
  int n = those_with(name, text, sizeof text);
  if (n > 0 && tgi_option_now(&kind->options, name) == NULL)
    return tgi_error(error, TG_ERR_ARG, "The contact model '%s' has no option %.60s; %s %s.", kind->word, name, text,
                     n > 1 ? "have it" : "has it");
  if (now != NULL) return tgi_error(error, TG_ERR_ARG, "Contact option %.60s is now called %s.", name, now);
  if (near != NULL) return tgi_error(error, TG_ERR_ARG, "No contact option is called '%.60s'; did you mean %s?", name, near);
  names_of(&kind->options, text, sizeof text);
  return tgi_error(error, TG_ERR_ARG, "No contact option is called '%.60s'; '%s' has %s.", name, kind->word, text);
}

// ---- by name ----

// the model of the options, NULL when they are none
static const tgContactModel *model_of(const tgContactOptions *options) {
  const tgContactModel *kind = options != NULL && options->size > 0 ? model_named(options->word) : NULL;
  return kind != NULL && (options->size == kind->options.bytes || options->size == sizeof(tgAnyContactOptions)) ? kind : NULL;
}

tgStatus tg_contact_set(tgContactOptions *options, const char *name, const char *value, tgError *error) {
  const tgContactModel *kind = model_of(options);
  if (kind == NULL || name == NULL || value == NULL)
    return tgi_error(error, TG_ERR_ARG, "tg_contact_set needs options made by tg_contact_default, a name and a value.");
  const tgiOption *option = tgi_option_named(&kind->options, name);
  return option != NULL ? tgi_option_read(&kind->options, option, options, value, error) : refuse(kind, name, error);
}

// a setting for another model, which is to accept it all the same
static tgStatus check_other(const tgContactModel *kind, const char *name, const char *value, tgError *error) {
  tgAnyContactOptions other;
  tg_contact_default(kind->word, &other.of, sizeof other);
  return tg_contact_set(&other.of, name, value, error);
}

// "WORD.NAME"
static tgStatus offer_to(tgContactOptions *options, const char *name, const char *value, bool *taken, tgError *error) {
  const char *dot = strchr(name, '.');
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)(dot - name), name);
  const tgContactModel *kind = model_named(word);
  if (kind == NULL) return tgi_error(error, TG_ERR_ARG, "Contact option %.80s: no contact model is called '%s'.", name, word);
  *taken = strcmp(options->word, word) == 0;
  return *taken ? tg_contact_set(options, dot + 1, value, error) : check_other(kind, dot + 1, value, error);
}

tgStatus tg_contact_offer(tgContactOptions *options, const char *name, const char *value, bool *taken, tgError *error) {
  const tgContactModel *kind = model_of(options);
  bool unasked, *mine = taken != NULL ? taken : &unasked;
  tgStatus status = TG_ERR_ARG;
  *mine = false;
  if (kind == NULL || name == NULL || value == NULL)
    return tgi_error(error, TG_ERR_ARG, "tg_contact_offer needs options made by tg_contact_default, a name and a value.");
  if (strchr(name, '.') != NULL) return offer_to(options, name, value, mine, error);
  *mine = tgi_option_named(&kind->options, name) != NULL;
  if (*mine || tgi_option_now(&kind->options, name) != NULL) return tg_contact_set(options, name, value, error);
  bool known = false;
  for (int i = 0; tgi_contact_table(i) != NULL && status != TG_OK; i++) {
    if (tgi_option_named(&tgi_contact_table(i)->options, name) == NULL) continue;
    status = check_other(tgi_contact_table(i), name, value, known ? NULL : error);   // the first one's reason is told
    known = true;
  }
  return known ? status : refuse(kind, name, error);
}

double tg_contact_get(const tgContactOptions *options, const char *name) {
  const tgContactModel *kind = model_of(options);
  const tgiOption *option = kind != NULL && name != NULL ? tgi_option_named(&kind->options, name) : NULL;
  return option != NULL ? tgi_option_get(option, options) : NAN;
}

tgOption tg_contact_option(const char *word, int i) {
  const tgContactModel *kind = model_named(word);
  for (int k = 0; kind != NULL && k < kind->options.n; k++)
    if (kind->options.option[k].now == NULL && i-- == 0) return tgi_option_public(&kind->options, &kind->options.option[k]);
  return (tgOption){.name = NULL};
}

tgOption tg_contact_option_named(const char *word, const char *name) {
  const tgContactModel *kind = model_named(word);
  const tgiOption *option = kind != NULL && name != NULL ? tgi_option_named(&kind->options, name) : NULL;
  return option != NULL ? tgi_option_public(&kind->options, option) : (tgOption){.name = NULL};
}
