// option.h: options of contact models as lists: one line says all that there is to say of an option.
//
// A list is a macro that hands its lines to X. The struct of the options, their defaults and ranges, their names in
// tasks, on the command line and in Python, the parameters of simulations and the tables of the documentation are
// all made of it. Its lines:
//
//   X(NUMBER, name, default, least, most, unit, text)
//   X(PARAMETER, name, default, least, most, unit, text): a number with a derivative, the parameter "contact.name" of each simulation
//   X(INTEGER, name, default, least, most, text)
//   X(NEUTRAL, name, default, least, most, text): an integer on which no bit of a result depends, such as a number of threads
//   X(BOOLEAN, name, default, text)
//   X(WORD, name, type, default, words, text): `type` is an enumeration that counts from 0;
//     `words` are its constants' names, a space between them
//   X(ALIAS, other, name): `other` is accepted wherever `name` is
//   X(FORMER, old, name): `name` was called `old`, which is an error that says so
//   X(GONE, name, word, instead): `name` took `word` once, which is an error that says what to give instead
#ifndef TANGERE_OPTION_H
#define TANGERE_OPTION_H

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tgOptionType {  ///< What an option takes.
  TG_OPTION_NUMBER,        ///< a double
  TG_OPTION_INTEGER,       ///< an int
  TG_OPTION_BOOLEAN,       ///< true or false
  TG_OPTION_WORD           ///< one of a few words, an enumeration in C
} tgOptionType;

/// An option as its list has it.
typedef struct tgOption {
  const char *name;        ///< in tasks, --option, Python and tg_contact_set; of the field in the model's own struct too
  const char *alias;       ///< another name that is accepted wherever this one is; NULL: none
  tgOptionType type;       ///< what it takes
  double value;            ///< the default; of a boolean 0 or 1, of a word its place among `words`
  double least, most;      ///< its range
  const char *words;       ///< of a word: those that there are, a space between them; else NULL
  const char *unit;        ///< "" where it has none
  const char *text;        ///< what it is
  bool neutral;            ///< no bit of a result depends on it
  const char *parameter;   ///< its name among the parameters of a simulation ("contact.weight"); NULL: no derivative
} tgOption;

/// Fields of a list's options in a struct: TG_SOME_LIST(TG_OPTION_FIELD).
#define TG_OPTION_FIELD(kind, ...) TG_OPTION_FIELD_##kind(__VA_ARGS__)
#define TG_OPTION_FIELD_NUMBER(name, value, least, most, unit, text) double name;
#define TG_OPTION_FIELD_PARAMETER(name, value, least, most, unit, text) double name;
#define TG_OPTION_FIELD_INTEGER(name, value, least, most, text) int name;
#define TG_OPTION_FIELD_NEUTRAL(name, value, least, most, text) int name;
#define TG_OPTION_FIELD_BOOLEAN(name, value, text) bool name;
#define TG_OPTION_FIELD_WORD(name, type, value, words, text) type name;
#define TG_OPTION_FIELD_ALIAS(other, name)
#define TG_OPTION_FIELD_FORMER(old, name)
#define TG_OPTION_FIELD_GONE(name, word, instead)

#ifdef __cplusplus
}
#endif
#endif
