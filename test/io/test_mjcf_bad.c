// test_mjcf_bad.c: every file of test/data/bad/mjcf is refused, read or compiled, as its first line says:
//   <!-- expect: STATUS line LINE: part of the message -->
// A refusal that tells an option to go on is right: with the options that are told it loads, and lists what it left out.
// Files that begin with _ are included by others.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "tangere/desc.h"
#include "tangere/model.h"

static const char directory[] = TG_SOURCE_DIR "/test/data/bad/mjcf";

static tgStatus status_of(const char *word) {
  static const struct { const char *word; tgStatus status; } list[] = {
      {"INVALID", TG_ERR_INVALID}, {"PARSE", TG_ERR_PARSE},           {"UNSUPPORTED", TG_ERR_UNSUPPORTED},
      {"FILE", TG_ERR_FILE},       {"NOT_FINITE", TG_ERR_NOT_FINITE}, {"LIMIT", TG_ERR_LIMIT}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strcmp(word, list[i].word) == 0) return list[i].status;
  fail_msg("unknown status word %s", word);
  return TG_ERR_INTERNAL;
}

// takes the option that a refusal tells; false: it tells none
static bool take_told(const char *text, tgLoadOptions *o) {
  char word[64];
  const char *drop = strstr(text, "(--drop="), *lenient = strstr(text, "(--lenient goes on");
  if (lenient != NULL) o->lenient = true;
  if (drop == NULL) return lenient != NULL;
  check_true(sscanf(drop, "(--drop=%63[a-z-] goes on", word) == 1, "'%s'", text);
  tgError e;
  check_true(tg_load_drop(o, word, &e) == TG_OK, "%s", e.text);
  return true;
}

static void check_told(const char *path, const char *name, const char *text) {
  tgLoadOptions o = tg_load_default();
  tgError e;
  if (!take_told(text, &o)) return;
  tgDesc *d = tg_desc_load(path, &o, &e);
  for (int more = 0; d == NULL && more < 4 && take_told(e.text, &o); more++) d = tg_desc_load(path, &o, &e);
  check_true(d != NULL, "%s without what it named: %d:%d: %s", name, e.line, e.column, d == NULL ? e.text : "");
  int n = 0;
  for (int i = 0; i < d->nnote; i++) n += d->note[i].kind == TG_NOTE_LENIENT || d->note[i].kind == TG_NOTE_DROPPED;
  check_true(n > 0, "%s: nothing is listed", name);
  tg_desc_free(d);
}

static void check_file(const char *name) {
  char path[512], head[512], word[32], *text, *end;
  int line = -1, at = 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  check_true(fgets(head, sizeof head, f) != NULL, "%s is empty", name);
  fclose(f);
  check_true(sscanf(head, "<!-- expect: %31s line %d: %n", word, &line, &at) == 2 && at > 0, "%s: bad first line", name);
  text = head + at;
  end = strstr(text, " -->");
  check_true(end != NULL, "%s: bad first line", name);
  *end = 0;
  tgError e;
  tgDesc *d = tg_desc_load(path, NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;   // some of what is wrong shows there
  check_true(m == NULL, "%s is accepted", name);
  tg_desc_free(d);
  check_true(e.status == status_of(word) && e.line == line && strstr(e.text, text) != NULL,
             "%s: expected %s line %d '%s', got status %d, %s:%d:%d: %s", name, word, line, text, e.status, e.file, e.line,
             e.column, e.text);
  check_true(e.column > 0 && e.file[0] != 0, "%s: no place is given", name);
  char told[sizeof e.text];
  strcpy(told, e.text);
  check_true(e.status != TG_ERR_UNSUPPORTED || strstr(told, "(--") != NULL, "%s: no option is told: %s", name, told);
  check_told(path, name, told);
}

static void test_bad_files(void **state) {
  (void)state;
  struct dirent **list;
  int n = scandir(directory, &list, NULL, alphasort), count = 0;
  assert_true(n > 0);
  for (int i = 0; i < n; i++) {
    const char *name = list[i]->d_name, *dot = strrchr(name, '.');
    if (name[0] != '_' && name[0] != '.' && dot != NULL && strcmp(dot, ".xml") == 0) {
      check_file(name);
      count++;
    }
    free(list[i]);
  }
  free(list);
  check_true(count >= 60, "only %d bad files found", count);
}

// the first error in document order is the one reported, whatever section it stands in
static void test_first_error(void **state) {
  (void)state;
  static const char text[] = "<mujoco>\n<keyframe>\n<key foo='1'/>\n</keyframe>\n<worldbody>\n<goem/>\n</worldbody>\n"
                             "<option timestep='x'/>\n</mujoco>";
  tgError e;
  assert_null(tg_desc_load_memory("t.xml", text, sizeof text - 1, NULL, &e));
  assert_int_equal(e.line, 3);
  assert_int_equal(e.column, 6);
  assert_string_equal(e.file, "t.xml");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_files), cmocka_unit_test(test_first_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
