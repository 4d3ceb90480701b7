// test_urdf_bad.c: every file of test/data/bad/urdf, obj and stl is refused as its head says:
//   expect: STATUS line LINE: part of the message
// in a comment (URDF, OBJ), the name (ASCII STL) or the header (binary STL).
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/mesh_raw.h"
#include "support/check.h"
#include "tangere/model.h"

static const char root[] = TG_SOURCE_DIR "/test/data/bad";

static tgStatus status_of(const char *word) {
  static const struct {
    const char *word;
    tgStatus status;
  } list[] = {{"INVALID", TG_ERR_INVALID}, {"PARSE", TG_ERR_PARSE},           {"UNSUPPORTED", TG_ERR_UNSUPPORTED},
              {"FILE", TG_ERR_FILE},       {"NOT_FINITE", TG_ERR_NOT_FINITE}, {"LIMIT", TG_ERR_LIMIT}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strcmp(word, list[i].word) == 0) return list[i].status;
  fail_msg("unknown status word %s", word);
  return TG_ERR_INTERNAL;
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *data = malloc(1 << 20);
  assert_non_null(data);
  *size = fread(data, 1, 1 << 20, f);
  fclose(f);
  return data;
}

// what the head of the file says
static void expectation(const char *name, const char *data, size_t size, tgStatus *status, int *line, char text[128]) {
  char head[200], word[32], rest[128];
  size_t n = size < sizeof head - 1 ? size : sizeof head - 1;
  memcpy(head, data, n);
  head[n] = 0;
  const char *at = strstr(head, "expect: ");
  check_true(at != NULL && sscanf(at, "expect: %31s line %d: %127[^\n]", word, line, rest) == 3, "%s: bad head", name);
  char *end = strstr(rest, " -->");
  if (end != NULL) *end = 0;
  *status = status_of(word);
  strcpy(text, rest);
}

static void judge(const char *name, tgStatus want, int line, const char *text, const tgError *e) {
  check_true(e->status == want && e->line == line && strstr(e->text, text) != NULL,
             "%s: expected %d line %d '%s', got status %d line %d: %s", name, want, line, text, e->status, e->line,
             e->text);
}

static void check_urdf(const char *path, const char *name) {
  size_t size;
  char text[128], *data = read_file(path, &size);
  tgStatus want;
  int line;
  expectation(name, data, size, &want, &line, text);
  free(data);
  tgError e = {0};
  tgModel *model = tg_model_load(path, NULL, &e);
  check_true(model == NULL, "%s is accepted", name);
  judge(name, want, line, text, &e);
  check_true(e.column > 0 && strstr(e.file, name) != NULL, "%s: no place is given (%s, column %d)", name, e.file,
             e.column);
  // an unknown word passes with lenient and is listed
  if (strstr(e.text, "--lenient") == NULL) return;
  tgLoadOptions o = tg_load_default();
  o.lenient = true;
  tgDesc *d = tg_desc_load(path, &o, &e);
  if (d == NULL) {
    check_true(strstr(e.text, "unknown") == NULL, "%s with lenient: %s", name, e.text);
    return;
  }
  int n = 0;
  for (int i = 0; i < d->nnote; i++) n += d->note[i].kind == TG_NOTE_LENIENT;
  check_true(n > 0, "%s with lenient: nothing is listed", name);
  tg_desc_free(d);
}

static void check_mesh(const char *path, const char *name) {
  static const double one[3] = {1, 1, 1};
  size_t size;
  char text[128], *data = read_file(path, &size);
  tgStatus want;
  int line;
  tgRawMesh raw;
  tgError e = {0};
  expectation(name, data, size, &want, &line, text);
  char *exact = malloc(size);
  assert_non_null(exact);
  memcpy(exact, data, size);
  free(data);
  tgi_raw_init(&raw, NULL);
  tgStatus status = tgi_mesh_parse(name, exact, size, &raw, &e);
  if (status == TG_OK) status = tgi_raw_tidy(&raw, one, &e);
  check_true(status < 0, "%s is accepted", name);
  assert_int_equal(status, e.status);
  judge(name, want, line, text, &e);
  tgi_raw_free(&raw);
  free(exact);
}

static void check_folder(const char *folder, void (*check)(const char *, const char *), int least) {
  char directory[512], path[1024];
  struct dirent **list;
  snprintf(directory, sizeof directory, "%s/%s", root, folder);
  int n = scandir(directory, &list, NULL, alphasort), count = 0;
  assert_true(n > 0);
  for (int i = 0; i < n; i++) {
    const char *name = list[i]->d_name, *dot = strrchr(name, '.');
    if (dot != NULL && strcmp(dot + 1, folder) == 0) {
      snprintf(path, sizeof path, "%s/%s", directory, name);
      check(path, name);
      count++;
    }
    free(list[i]);
  }
  free(list);
  check_true(count >= least, "only %d bad files in %s", count, folder);
}

static void bad_urdf(void **state) {
  (void)state;
  check_folder("urdf", check_urdf, 70);
}

static void bad_obj(void **state) {
  (void)state;
  check_folder("obj", check_mesh, 26);
}

static void bad_stl(void **state) {
  (void)state;
  check_folder("stl", check_mesh, 19);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bad_urdf), cmocka_unit_test(bad_obj), cmocka_unit_test(bad_stl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
