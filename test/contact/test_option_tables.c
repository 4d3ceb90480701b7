// test_option_tables.c: the tables of options in docs/contact/ are those of the lists. With --write the pages' tables are made anew.
//
// A page marks the place by the lines "<!-- options of WORD -->" and "<!-- end of options -->".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "tangere/contact.h"

enum { ROOM = 1 << 17 };

static void put(char *text, const char *what) { strncat(text, what, ROOM - strlen(text) - 1); }

// 1e-06 -> 1e-6
static void short_exponent(char *text) {
  char *e = strchr(text, 'e');
  if (e != NULL && e[2] == '0') memmove(e + 2, e + 3, strlen(e + 3) + 1);
  if (e != NULL && e[1] == '+') memmove(e + 1, e + 2, strlen(e + 2) + 1);
}

// "1e-6", "moment", "true"
static const char *value_text(const tgOption *o, double value, char *text, size_t size) {
  const char *word = o->words;
  for (int i = 0; o->type == TG_OPTION_WORD && i < (int)value; i++) word = strchr(word, ' ') + 1;
  if (o->type == TG_OPTION_WORD) snprintf(text, size, "`%.*s`", (int)strcspn(word, " "), word);
  else if (o->type == TG_OPTION_BOOLEAN) snprintf(text, size, "%s", value != 0 ? "true" : "false");
  else {
    snprintf(text, size, "%g", value);
    short_exponent(text);
  }
  return text;
}

static void put_range(char *text, const tgOption *o) {
  char value[60];
  double last = o->most - o->least;
  if (o->type == TG_OPTION_BOOLEAN) return;
  for (int i = 0; o->type == TG_OPTION_WORD && i <= (int)last; i++) {
    put(text, i > 0 ? ", " : "");
    put(text, value_text(o, i, value, sizeof value));
  }
  if (o->type == TG_OPTION_WORD) return;
  put(text, o->most < HUGE_VAL ? "" : "from ");
  put(text, value_text(o, o->least, value, sizeof value));
  if (!(o->most < HUGE_VAL)) return;
  put(text, " to ");
  put(text, value_text(o, o->most, value, sizeof value));
}

// a bar would end the cell
static void put_text(char *text, const char *what) {
  for (const char *c = what; *c != '\0'; c++) put(text, *c == '|' ? "\\|" : (char[]){*c, '\0'});
}

static void put_row(char *text, const tgOption *o) {
  char value[60];
  put(text, "| `");
  put(text, o->name);
  put(text, "` | ");
  put(text, value_text(o, o->value, value, sizeof value));
  put(text, " | ");
  put_range(text, o);
  put(text, o->unit[0] != '\0' ? " | " : " |");
  put(text, o->unit);
  put(text, " | ");
  put_text(text, o->text);
  if (o->alias != NULL) put(text, ". Also `"), put(text, o->alias), put(text, "`");
  if (o->parameter != NULL) put(text, ". Has a derivative, `"), put(text, o->parameter), put(text, "`");
  put(text, " |\n");
}

static void table_of(const char *word, char *text) {
  text[0] = '\0';
  put(text, "| name | default | range | unit | |\n|---|---|---|---|---|\n");
  for (int i = 0; tg_contact_option(word, i).name != NULL; i++) {
    tgOption o = tg_contact_option(word, i);
    put_row(text, &o);
  }
}

// the page, and where its table begins and ends
static void read_page(const char *path, const char *word, char *page, char *part[2]) {
  char begin[80];
  FILE *f = fopen(path, "rb");
  check_true(f != NULL, "%s cannot be read", path);
  page[fread(page, 1, ROOM - 1, f)] = '\0';
  fclose(f);
  snprintf(begin, sizeof begin, "<!-- options of %s -->\n", word);
  part[0] = strstr(page, begin);
  part[1] = part[0] != NULL ? strstr(part[0], "<!-- end of options -->") : NULL;
  check_true(part[1] != NULL, "%s has no place for the options of '%s'", path, word);
  part[0] += strlen(begin);
}

static bool writing;

static void tables(void **state) {
  (void)state;
  static char page[ROOM], table[ROOM];
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    char path[1024], *part[2];
    snprintf(path, sizeof path, "%s/docs/contact/%s.md", TG_SOURCE_DIR, tg_contact_words(w));
    read_page(path, tg_contact_words(w), page, part);
    table_of(tg_contact_words(w), table);
    bool same = strlen(table) == (size_t)(part[1] - part[0]) && memcmp(part[0], table, strlen(table)) == 0;
    check_true(same || writing,
               "%s: the table of options is not the list's; run test_option_tables --write. It should be:\n%s", path,
               table);
    if (same) continue;
    FILE *f = fopen(path, "wb");
    check_true(f != NULL, "%s cannot be written", path);
    fprintf(f, "%.*s%s%s", (int)(part[0] - page), page, table, part[1]);
    fclose(f);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables)};
  writing = argc > 1 && strcmp(argv[1], "--write") == 0;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
