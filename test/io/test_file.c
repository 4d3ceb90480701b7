// test_file.c: confined reading, numbers in any locale, the XML tree's places and limits.
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/number.h"
#include "io/xml.h"
#include "support/check.h"

// ---- a directory tree to read from: base/{model/{m.xml, sub/a.txt, fifo, links}, other/b.txt} ----

typedef struct Tree { char base[64], model[128]; } Tree;

static void put(const char *directory, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static Tree plant(void) {
  Tree t;
  char path[192];
  strcpy(t.base, "/tmp/tangere_file_XXXXXX");
  assert_non_null(mkdtemp(t.base));
  snprintf(t.model, sizeof t.model, "%s/model", t.base);
  assert_int_equal(mkdir(t.model, 0700), 0);
  snprintf(path, sizeof path, "%s/sub", t.model);
  assert_int_equal(mkdir(path, 0700), 0);
  put(path, "a.txt", "inside");
  put(t.model, "m.xml", "<mujoco/>");
  snprintf(path, sizeof path, "%s/other", t.base);
  assert_int_equal(mkdir(path, 0700), 0);
  put(path, "b.txt", "outside");
  snprintf(path, sizeof path, "%s/fifo", t.model);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(path, sizeof path, "%s/out", t.model);
  assert_int_equal(symlink("../other/b.txt", path), 0);
  snprintf(path, sizeof path, "%s/etc", t.model);
  assert_int_equal(symlink("/etc/passwd", path), 0);
  snprintf(path, sizeof path, "%s/zero", t.model);
  assert_int_equal(symlink("/dev/zero", path), 0);
  snprintf(path, sizeof path, "%s/in", t.model);
  assert_int_equal(symlink("sub/a.txt", path), 0);
  return t;
}

static void fell(const Tree *t) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", t->base);
  assert_int_equal(system(command), 0);
}

static tgFileSet *open_set(const Tree *t, const tgLoadOptions *o) {
  char path[192];
  tgError e;
  snprintf(path, sizeof path, "%s/m.xml", t->model);
  tgFileSet *files = tgi_files_for_model(path, o, &e);
  assert_non_null(files);
  return files;
}

static void expect_file(tgFileSet *files, const char *path, const char *content) {
  tgFile f;
  tgError e = {0};
  tgStatus s = tgi_file_open(files, -1, path, &f, &e);
  check_true(s == TG_OK, "%s: %s", path, e.text);
  assert_string_equal(f.data, content);
  assert_int_equal(f.size, strlen(content));
  tgi_file_close(files, &f);
}

static void expect_refused(tgFileSet *files, const char *path, tgStatus status, const char *text) {
  tgFile f;
  tgError e = {0};
  tgStatus s = tgi_file_open(files, -1, path, &f, &e);
  check_true(s == status, "%s: status %d, not %d: %s", path, s, status, e.text);
  check_true(strstr(e.text, text) != NULL, "%s: '%s' does not contain '%s'", path, e.text, text);
  assert_null(f.data);
}

static void check_confined(bool walk_only) {
  Tree t = plant();
  tgFileSet *files = open_set(&t, NULL);
  if (walk_only) tgi_files_walk_only(files);
  expect_file(files, "m.xml", "<mujoco/>");
  expect_file(files, "sub/a.txt", "inside");
  expect_file(files, "./sub/../sub//a.txt", "inside");
  expect_refused(files, "../other/b.txt", TG_ERR_FILE, "add an asset root");
  expect_refused(files, "sub/../../other/b.txt", TG_ERR_FILE, "outside");
  expect_refused(files, "/etc/passwd", TG_ERR_FILE, "absolute");
  expect_refused(files, "fifo", TG_ERR_FILE, "a pipe");
  expect_refused(files, "sub", TG_ERR_FILE, "a directory");
  expect_refused(files, "none.txt", TG_ERR_FILE, "No such file");
  expect_refused(files, "", TG_ERR_FILE, "empty");
  expect_refused(files, "m.xml/x", TG_ERR_FILE, "Not a directory");
  // a link that stays inside is followed by the kernel, never by the walk; one that leaves by neither
  expect_refused(files, "out", TG_ERR_FILE, "symbolic link");
  expect_refused(files, "etc", TG_ERR_FILE, "symbolic link");
  expect_refused(files, "zero", TG_ERR_FILE, "symbolic link");
  if (walk_only) expect_refused(files, "in", TG_ERR_FILE, "symbolic link");
  else expect_file(files, "in", "inside");
  tgi_files_free(files);
  fell(&t);
}

// from the nearest directory above, where the model's may and no root is given
static void test_above(void **state) {
  (void)state;
  Tree t = plant();
  char path[192], real[PATH_MAX];
  tgLoadOptions o = tg_load_default();
  const char *root[] = {t.model};
  tgFileSet *files = open_set(&t, NULL);
  tgi_files_allow_above(files);
  expect_refused(files, "out", TG_ERR_FILE, "outside");   // a link leads out, not the path
  assert_null(tgi_files_above(files));
  expect_file(files, "../other/b.txt", "outside");
  assert_non_null(realpath(t.base, real));
  assert_string_equal(tgi_files_above(files), real);
  expect_file(files, "sub/../../other/b.txt", "outside");
  expect_refused(files, "../other/c.txt", TG_ERR_FILE, "No such file");
  expect_refused(files, "../../passwd", TG_ERR_FILE, "outside");              // /tmp, or / where links lead there
  expect_refused(files, "../../../../../../etc/passwd", TG_ERR_FILE, "outside");
  expect_refused(files, "/etc/passwd", TG_ERR_FILE, "absolute");
  tgi_files_free(files);
  o.asset_root = root;
  o.nasset_root = 1;
  files = open_set(&t, &o);
  tgi_files_allow_above(files);
  expect_refused(files, "../other/b.txt", TG_ERR_FILE, "outside");
  tgi_files_free(files);
  // the home directory, and five levels up
  snprintf(path, sizeof path, "%s", getenv("HOME") != NULL ? getenv("HOME") : "");
  assert_int_equal(setenv("HOME", t.base, 1), 0);
  files = open_set(&t, NULL);
  tgi_files_allow_above(files);
  expect_refused(files, "../other/b.txt", TG_ERR_FILE, "outside");
  tgi_files_free(files);
  assert_int_equal(setenv("HOME", path, 1), 0);
  Tree deep = t;
  strcat(deep.model, "/sub");
  for (int level = 0; level < TGI_FILES_ABOVE; level++) {
    strcat(deep.model, "/d");
    assert_int_equal(mkdir(deep.model, 0700), 0);
  }
  files = open_set(&deep, NULL);
  tgi_files_allow_above(files);
  expect_file(files, "../../../../a.txt", "inside");
  expect_refused(files, "../../../../../m.xml", TG_ERR_FILE, "outside");
  tgi_files_free(files);
  fell(&t);
}

static void test_confined(void **state) { (void)state; check_confined(false); }
static void test_confined_without_openat2(void **state) { (void)state; check_confined(true); }

static void test_asset_root(void **state) {
  (void)state;
  Tree t = plant();
  char other[128], absolute[160];
  snprintf(other, sizeof other, "%s/other", t.base);
  snprintf(absolute, sizeof absolute, "%s/other/b.txt", t.base);
  const char *root[] = {other}, *name[] = {"pkg"};
  tgLoadOptions o = tg_load_default();
  o.asset_root = root;
  o.nasset_root = 1;
  tgFileSet *files = open_set(&t, &o);
  expect_file(files, "b.txt", "outside");                 // found in the second root
  expect_file(files, "../other/b.txt", "outside");        // leaves the first root for a place below the second
  expect_refused(files, absolute, TG_ERR_FILE, "absolute");
  expect_refused(files, "../base.txt", TG_ERR_FILE, "outside");
  tgi_files_free(files);
  o.allow_absolute = true;
  files = open_set(&t, &o);
  expect_file(files, absolute, "outside");
  expect_refused(files, "/etc/passwd", TG_ERR_FILE, "outside");
  expect_refused(files, "/dev/zero", TG_ERR_FILE, "outside");
  tgi_files_free(files);
  o = tg_load_default();
  o.package_name = name;
  o.package_path = root;
  o.npackage = 1;
  files = open_set(&t, &o);
  assert_int_equal(tgi_files_package(files, "pkg"), 1);
  assert_int_equal(tgi_files_package(files, "none"), -1);
  assert_string_equal(tgi_files_root(files, 1), other);
  assert_null(tgi_files_root(files, 2));
  tgi_files_free(files);
  fell(&t);
}

static void test_device_and_budget(void **state) {
  (void)state;
  tgLoadOptions o = tg_load_default();
  o.max_file_bytes = 8;
  Tree t = plant();
  tgFileSet *files = open_set(&t, &o);
  expect_refused(files, "m.xml", TG_ERR_LIMIT, "max_file_bytes");
  expect_file(files, "sub/a.txt", "inside");
  tgi_files_free(files);
  o = tg_load_default();
  o.max_total_bytes = 10;
  files = open_set(&t, &o);
  expect_file(files, "sub/a.txt", "inside");
  expect_refused(files, "sub/a.txt", TG_ERR_LIMIT, "max_total_bytes");
  tgi_files_free(files);
  fell(&t);
  tgError e;
  files = tgi_files_for_model("/dev/zero", NULL, &e);
  assert_non_null(files);
  expect_refused(files, "zero", TG_ERR_FILE, "a device");
  expect_refused(files, "null", TG_ERR_FILE, "a device");
  tgi_files_free(files);
  assert_null(tgi_files_for_model("/nowhere/at/all/m.xml", NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
}

static void test_lying_size(void **state) {
  (void)state;
  // a file of /proc says size 0 and has content
  tgError e;
  tgFileSet *files = tgi_files_for_model("/proc/self/status", NULL, &e);
  assert_non_null(files);
  expect_refused(files, "status", TG_ERR_FILE, "changed its size");
  tgi_files_free(files);
}

// ---- numbers ----

static void expect_number(const char *text, double want, size_t length) {
  double x = -99;
  const char *end = text + strlen(text), *next = tgi_number(text, end, &x);
  check_true(next == text + length, "'%s': read %td characters, not %zu", text, next != NULL ? next - text : -1, length);
  check_true(memcmp(&x, &want, sizeof x) == 0, "'%s': %.17g, not %.17g", text, x, want);
}

static void test_number(void **state) {
  (void)state;
  expect_number("1", 1, 1);
  expect_number("-0", -0.0, 2);
  expect_number("+.5e1x", 5, 5);
  expect_number("1e", 1, 1);
  expect_number("1.e2", 100, 4);
  expect_number("1,5", 1, 1);
  expect_number("0x10", 0, 1);
  expect_number("1e400", INFINITY, 5);
  expect_number("1e-400", 0, 6);
  expect_number("-InFinityx", -INFINITY, 9);
  expect_number("1e99999999999999999999", INFINITY, 22);
  expect_number("0e99999999999999999999", 0, 22);
  // 2^-1074, and just above its half: the least denormal; the half itself: 0
  expect_number("4.9406564584124654e-324", 0x1p-1074, 23);
  expect_number("2.4703282292062329e-324", 0x1p-1074, 23);
  expect_number("2.4703282292062327e-324", 0, 23);
  // halfway between 1 and its successor goes to even; a digit far behind decides
  expect_number("1.00000000000000011102230246251565404236316680908203125", 1, 55);
  char text[1000];
  memset(text, '0', sizeof text);
  memcpy(text, "1.00000000000000011102230246251565404236316680908203125", 55);
  strcpy(text + 990, "1");
  expect_number(text, 1 + 0x1p-52, 991);
  double x;
  static const char *const none[] = {"", "-", ".", "e5", "+-1", "--1", "in", "na", "x", "-."};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    check_true(tgi_number(none[i], none[i] + strlen(none[i]), &x) == NULL, "'%s' is no number", none[i]);
  const char *nan = "NaN";
  assert_ptr_equal(tgi_number(nan, nan + 3, &x), nan + 3);
  assert_true(isnan(x));
  // never past the end: "12" of "123"
  const char *cut = "123";
  assert_ptr_equal(tgi_number(cut, cut + 2, &x), cut + 2);
  check_close(x, 12, 0);
}

// against the C library in the C locale, on random texts
static void test_number_random(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int i = 0; i < 20000; i++) {
    char text[64];
    uint64_t bits = tgt_next(&r);
    double x, back;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) continue;
    int digits = 1 + (int)(tgt_next(&r) % 20);
    snprintf(text, sizeof text, i % 2 ? "%.*e" : "%.*g", digits, i % 3 ? x : tgt_uniform(&r, -1e4, 1e4));
    assert_non_null(tgi_number(text, text + strlen(text), &back));
    double want = strtod(text, NULL);
    check_true(memcmp(&want, &back, sizeof want) == 0, "'%s': %.17g, not %.17g", text, back, want);
  }
}

static void test_integer(void **state) {
  (void)state;
  int x;
  const char *t = "-2147483648 2147483647 2147483648 12a";
  const char *end = t + strlen(t);
  assert_non_null(tgi_integer(t, end, &x));
  assert_int_equal(x, INT32_MIN);
  assert_non_null(tgi_integer(t + 12, end, &x));
  assert_int_equal(x, INT32_MAX);
  assert_null(tgi_integer(t + 23, end, &x));
  assert_null(tgi_integer(t + 11, end, &x));
  assert_ptr_equal(tgi_integer(t + 34, end, &x), t + 36);
}

// ---- XML ----

static tgStatus parse(tgXml *xml, tgDesc **desc, const char *text, size_t size, const tgLoadOptions *o, tgError *e) {
  *desc = tg_desc_create(NULL);
  assert_non_null(*desc);
  tgi_xml_init(xml, *desc, o);
  return tgi_xml_parse(xml, "t.xml", text, size, 0, &xml->root, e);
}

static void test_xml_places(void **state) {
  (void)state;
  const char *text = "<?xml version=\"1.0\"?>\n<a x = '1'\n   y=\"2>\n'\" z='3'>\n <b/> tail <c name=\"n\">in</c>\n</a>\n";
  tgXml xml;
  tgDesc *desc;
  tgError e;
  assert_int_equal(parse(&xml, &desc, text, strlen(text), NULL, &e), TG_OK);
  const tgXmlNode *a = xml.root, *b = a->child, *c = b->next;
  assert_string_equal(a->name, "a");
  assert_int_equal(a->source.line, 2);
  assert_int_equal(a->source.column, 1);
  const tgXmlAttr *x = tgi_xml_attr(a, "x"), *y = tgi_xml_attr(a, "y"), *z = tgi_xml_attr(a, "z");
  assert_int_equal(x->source.line, 2);
  assert_int_equal(x->source.column, 4);
  assert_int_equal(y->source.line, 3);
  assert_int_equal(y->source.column, 4);
  assert_int_equal(z->source.line, 4);
  assert_int_equal(z->source.column, 4);
  assert_string_equal(y->value, "2> '");        // a newline in a value is a space
  assert_int_equal(b->source.line, 5);
  assert_int_equal(b->source.column, 2);
  assert_string_equal(c->text, "in");
  assert_string_equal(tgi_skip_space(a->text, a->text + strlen(a->text)), "tail ");
  assert_ptr_equal(tgi_xml_child(a, "c"), c);
  assert_ptr_equal(tgi_xml_walk(a, a), b);
  assert_ptr_equal(tgi_xml_walk(a, b), c);
  assert_null(tgi_xml_walk(a, c));
  assert_int_equal(tgi_xml_error(&xml, c, &e, TG_ERR_INVALID, "is %d", 3), TG_ERR_INVALID);
  assert_string_equal(e.text, "c \"n\": is 3");
  assert_string_equal(e.file, "t.xml");
  assert_int_equal(e.line, 5);
  tgi_xml_free(&xml);
  tg_desc_free(desc);
}

static void expect_xml(const char *text, size_t size, const tgLoadOptions *o, tgStatus status, int line,
                       const char *message) {
  tgXml xml;
  tgDesc *desc;
  tgError e = {0};
  tgStatus s = parse(&xml, &desc, text, size, o, &e);
  check_true(s == status && e.line == line && strstr(e.text, message) != NULL, "%.40s: status %d line %d: %s", text, s,
             e.line, e.text);
  tgi_xml_free(&xml);
  tg_desc_free(desc);
}
#define XML(text, ...) expect_xml(text, sizeof text - 1, NULL, __VA_ARGS__)

static void test_xml_malformed(void **state) {
  (void)state;
  XML("", TG_ERR_PARSE, 0, "empty");
  XML("<a>", TG_ERR_PARSE, 1, "well-formed");
  XML("<a/>\n<b/>", TG_ERR_PARSE, 2, "after document element");
  XML("<a x=\"1\" x=\"2\"/>", TG_ERR_PARSE, 1, "duplicate attribute");
  XML("<a>\n\0</a>", TG_ERR_PARSE, 2, "well-formed");
  XML("\x1f\x8b\x08\0\0\0", TG_ERR_PARSE, 1, "compressed");
  XML("<a x=\"K\xf6r\"/>", TG_ERR_PARSE, 1, "(a byte that is not UTF-8");
  XML("model: a.xml", TG_ERR_PARSE, 1, "(a model file begins with '<'");
  XML("<!DOCTYPE a>\n<a/>", TG_ERR_PARSE, 1, "DOCTYPE");
  XML("<!DOCTYPE a [<!ENTITY x \"xx\"><!ENTITY y \"&x;&x;\">]>\n<a>&y;</a>", TG_ERR_PARSE, 1, "DOCTYPE");
  XML("\n<!DOCTYPE a SYSTEM \"file:///etc/passwd\">\n<a/>", TG_ERR_PARSE, 2, "DOCTYPE");
  XML("<a>&x;</a>", TG_ERR_PARSE, 1, "undefined entity");
  XML("\xef\xbb\xbf<a/>", TG_OK, 0, "");
  XML("\xff\xfe<\0a\0 \0x\0=\0'\0" "1\0'\0/\0>\0", TG_OK, 0, "");
}

static void test_xml_limits(void **state) {
  (void)state;
  tgLoadOptions o = tg_load_default();
  enum { DEEP = 200000 };
  char *text = malloc(7 * DEEP);
  assert_non_null(text);
  for (int i = 0; i < DEEP; i++) memcpy(text + 3 * i, "<a>", 3);
  for (int i = 0; i < DEEP; i++) memcpy(text + 3 * DEEP + 4 * i, "</a>", 4);
  expect_xml(text, 7 * DEEP, NULL, TG_ERR_LIMIT, 1, "max_depth");
  o.max_depth = DEEP;
  expect_xml(text, 7 * DEEP, &o, TG_OK, 0, "");
  o.max_elements = 1000;
  expect_xml(text, 7 * DEEP, &o, TG_ERR_LIMIT, 1, "max_elements");
  char *p = text + sprintf(text, "<a");
  for (int i = 0; i < 8001; i++) p += sprintf(p, " a%d=''", i);
  sprintf(p, "/>");
  expect_xml(text, strlen(text), NULL, TG_OK, 0, "");
  expect_xml(text, strlen(text), &o, TG_ERR_LIMIT, 1, "more attributes");
  free(text);
}

static void test_nearest_word(void **state) {
  (void)state;
  static const char *const words[] = {"damping", "stiffness", "armature", "range"};
  assert_string_equal(tgi_nearest_word("dampning", words, 4), "damping");
  assert_string_equal(tgi_nearest_word("rnage", words, 4), "range");
  assert_null(tgi_nearest_word("colour", words, 4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_confined),          cmocka_unit_test(test_confined_without_openat2),
      cmocka_unit_test(test_asset_root), cmocka_unit_test(test_above),        cmocka_unit_test(test_device_and_budget),
      cmocka_unit_test(test_lying_size),        cmocka_unit_test(test_number),
      cmocka_unit_test(test_number_random),     cmocka_unit_test(test_integer),
      cmocka_unit_test(test_xml_places),        cmocka_unit_test(test_xml_malformed),
      cmocka_unit_test(test_xml_limits),        cmocka_unit_test(test_nearest_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
