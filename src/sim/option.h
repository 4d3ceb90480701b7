// option.h: the list of a contact model's options as the engine reads it.
#ifndef TG_SIM_OPTION_H
#define TG_SIM_OPTION_H

#include "tangere/contact.h"

#define TG_CONTACT_PREFIX "contact."   // of the names of parameters of simulations that are options

/// A line of a list (tangere/option.h).
typedef struct tgiOption {
  tgOption is;
  size_t at;               // of the field in the model's own struct
  const char *now;         // of an alias or a former name: the option that it is another name of; of "name: word" that
                           // is gone: what to give; else NULL
  bool former;
} tgiOption;

/// The options of a contact model, in the order of its list.
typedef struct tgiOptionList { const tgiOption *option; int n; size_t bytes; } tgiOptionList;

#define TGI_OPTION_LIST(array, T) {array, (int)(sizeof(array) / sizeof *(array)), sizeof(T)}

// Lines as entries; T is the model's own struct.
#define TGI_OPTION_NUMBER(T, name, value, least, most, unit, text) \
  {{#name, NULL, TG_OPTION_NUMBER, value, least, most, NULL, unit, text, false, NULL}, offsetof(T, name), NULL, false},
#define TGI_OPTION_PARAMETER(T, name, value, least, most, unit, text) \
  {{#name, NULL, TG_OPTION_NUMBER, value, least, most, NULL, unit, text, false, TG_CONTACT_PREFIX #name}, offsetof(T, name), NULL, false},
#define TGI_OPTION_INTEGER(T, name, value, least, most, text) \
  {{#name, NULL, TG_OPTION_INTEGER, value, least, most, NULL, "", text, false, NULL}, offsetof(T, name), NULL, false},
#define TGI_OPTION_NEUTRAL(T, name, value, least, most, text) \
  {{#name, NULL, TG_OPTION_INTEGER, value, least, most, NULL, "", text, true, NULL}, offsetof(T, name), NULL, false},
#define TGI_OPTION_BOOLEAN(T, name, value, text) \
  {{#name, NULL, TG_OPTION_BOOLEAN, value, 0, 1, NULL, "", text, false, NULL}, offsetof(T, name), NULL, false},
#define TGI_OPTION_WORD(T, name, type, value, words, text) \
  {{#name, NULL, TG_OPTION_WORD, value, 0, 0, words, "", text, false, NULL}, offsetof(T, name), NULL, false},
#define TGI_OPTION_ALIAS(T, other, name) TGI_OPTION_OTHER(#other, #name, false)
#define TGI_OPTION_FORMER(T, old, name) TGI_OPTION_OTHER(#old, #name, true)
#define TGI_OPTION_GONE(T, name, word, instead) TGI_OPTION_OTHER(#name ": " #word, instead, true)
#define TGI_OPTION_OTHER(other, name, former) {{other, NULL, TG_OPTION_NUMBER, 0, 0, 0, NULL, "", "", false, NULL}, 0, name, former},

/// The option of that name or alias; NULL: none.
const tgiOption *tgi_option_named(const tgiOptionList *list, const char *name);
/// Its line for who enumerates: with its alias and its range.
tgOption tgi_option_public(const tgiOptionList *list, const tgiOption *option);
/// What `old` of this list is called now, or what is given now for "name: word"; NULL: it is no former name or word.
const char *tgi_option_now(const tgiOptionList *list, const char *old);
/// Its value in a struct of options.
double tgi_option_get(const tgiOption *option, const void *options);
/// Sets an option of the list from text. TG_ERR_ARG: error says what it takes; no range is checked.
tgStatus tgi_option_read(const tgiOptionList *list, const tgiOption *option, void *options, const char *text, tgError *error);
/// The list's defaults into a struct whose head is set.
void tgi_options_default(const tgiOptionList *list, void *options);
/// Each value is within its range; `word` is the contact model, for the message.
tgStatus tgi_options_check(const tgiOptionList *list, const char *word, const void *options, tgError *error);

#endif
