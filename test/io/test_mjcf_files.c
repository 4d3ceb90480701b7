// test_mjcf_files.c: MJCF from files: includes, meshes, locale, damaged files, depth, memory running out at every point.
#include <fenv.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/mjcf_support.h"

static void put(const char *directory, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void test_include(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  snprintf(path, sizeof path, "%s/m.xml", base);
  put(base, "m.xml", "<mujoco>\n<include file='one.xml'/>\n<worldbody><include file='two.xml'/>\n<geom size='3'/></worldbody>\n"
                     "<include file='empty.xml'/></mujoco>");
  put(base, "one.xml", "<mujoco><include file='three.xml'/><option timestep='.5'/></mujoco>");
  put(base, "two.xml", "<any><geom size='1'/>\n<geom size='2'/></any>");
  put(base, "three.xml", "<mujoco><option viscosity='.25'/></mujoco>");
  put(base, "empty.xml", "<mujoco/>");
  tgError e;
  tgDesc *d = tg_desc_load(path, NULL, &e);
  check_true(d != NULL, "%s:%d: %s", e.file, e.line, d == NULL ? e.text : "");
  check_close(d->option.timestep, .5, 0);
  check_close(d->option.viscosity, .25, 0);
  assert_int_equal(d->ngeom, 3);
  for (int i = 0; i < 3; i++) check_close(d->geom[i].size[0], 1 + i, 0);
  assert_int_equal(d->geom[1].source.line, 2);
  assert_non_null(strstr(d->file[d->geom[1].source.file], "two.xml"));
  tg_desc_free(d);
  // from a folder: an include and a mesh are looked for from the main file, then beside the file that names them
  char sub[64];
  snprintf(sub, sizeof sub, "%s/sub", base);
  assert_int_equal(mkdir(sub, 0700), 0);
  put(base, "m.xml", "<mujoco><include file='sub/a.xml'/><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  put(sub, "a.xml", "<mujoco><include file='b.xml'/><include file='one.xml'/><asset><mesh file='t.obj'/></asset></mujoco>");
  put(sub, "b.xml", "<mujoco><option density='4'/></mujoco>");
  put(sub, "one.xml", "<mujoco><option timestep='9'/></mujoco>");
  put(sub, "t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  d = tg_desc_load(path, NULL, &e);
  check_true(d != NULL, "%s:%d: %s", e.file, e.line, d == NULL ? e.text : "");
  check_close(d->option.density, 4, 0);
  check_close(d->option.timestep, .5, 0);
  assert_string_equal(d->mesh[0].path, "sub/t.obj");
  tg_desc_free(d);
  // a chain longer than 64
  for (int i = 0; i < 70; i++) {
    char name[32], text[64];
    snprintf(name, sizeof name, "c%d.xml", i);
    snprintf(text, sizeof text, "<mujoco><include file='c%d.xml'/></mujoco>", i + 1);
    put(base, name, text);
  }
  snprintf(path, sizeof path, "%s/c0.xml", base);
  assert_null(tg_desc_load(path, NULL, &e));
  check_true(e.status == TG_ERR_LIMIT && strstr(e.text, "64 deep") != NULL, "%s", e.text);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
}

// a tetrahedron in MuJoCo's binary format, with two normals and a texture coordinate to pass over
static void test_msh(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  int32_t count[4] = {4, 2, 1, 4}, face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  float vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, .5f}, other[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  put(base, "m.xml", "<mujoco><asset><mesh file='t.msh'/></asset><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  for (int bad = 0; bad < 3; bad++) {
    face[11] = bad == 1 ? 4 : 3;
    count[0] = bad == 2 ? 5 : 4;
    snprintf(path, sizeof path, "%s/t.msh", base);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(count, 4, 4, f);
    fwrite(vert, 4, 12, f);
    fwrite(other, 4, 8, f);
    fwrite(face, 4, 12, f);
    fclose(f);
    snprintf(path, sizeof path, "%s/m.xml", base);
    tgError e;
    tgDesc *d = tg_desc_load(path, NULL, &e);
    assert_int_equal(d != NULL, bad == 0);
    if (d == NULL) {
      check_true(strstr(e.text, bad == 1 ? "names vertex 4" : "damaged") != NULL, "%s", e.text);
      continue;
    }
    assert_int_equal(d->mesh[0].nvert, 4);
    assert_int_equal(d->mesh[0].nface, 4);
    double top = 0;
    for (int i = 0; i < 12; i++) top = fmax(top, d->mesh[0].vert[i]);
    check_close(top, 1, 0);
    tg_desc_free(d);
  }
  // a coordinate that is none, one beyond any length, a file of a head alone, and one byte less
  const struct { float x; size_t bytes; const char *want; } ends[] = {
      {NAN, 0, "coordinate nan"}, {1e30f, 0, "vertex 1 has the coordinate"}, {1, 16, "t.msh"}, {1, 15, "15 bytes are too short"}};
  face[11] = 3;
  for (int i = 0; i < 4; i++) {
    count[0] = ends[i].bytes > 0 ? 0 : 4;
    count[1] = count[2] = 0;
    count[3] = ends[i].bytes > 0 ? 0 : 4;
    vert[4] = ends[i].x;
    snprintf(path, sizeof path, "%s/t.msh", base);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(count, 1, ends[i].bytes > 0 ? ends[i].bytes : 16, f);
    if (ends[i].bytes == 0) fwrite(vert, 4, 12, f), fwrite(face, 4, 12, f);
    fclose(f);
    snprintf(path, sizeof path, "%s/m.xml", base);
    tgError e = {0};
    assert_null(tg_desc_load(path, NULL, &e));
    check_true(i == 2 ? strstr(e.text, "too short") == NULL : strstr(e.text, ends[i].want) != NULL, "'%s'", e.text);
  }
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
}

static void test_special_files(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  tgError e;
  static const struct { const char *name, *target; } link[] = {
      {"zero.xml", "/dev/zero"}, {"passwd.xml", "/etc/passwd"}, {"random.xml", "/dev/urandom"}};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", base, link[i].name);
    assert_int_equal(symlink(link[i].target, path), 0);
    assert_null(tg_desc_load(path, NULL, &e));
    check_true(e.status == TG_ERR_FILE, "%s: %s", path, e.text);
  }
  snprintf(path, sizeof path, "%s/fifo.xml", base);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_null(tg_desc_load(path, NULL, &e));               // does not wait for a writer
  check_true(e.status == TG_ERR_FILE && strstr(e.text, "pipe") != NULL, "%s", e.text);
  assert_null(tg_desc_load("/dev/zero", NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
  assert_null(tg_desc_load(base, NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
  assert_null(tg_desc_load("", NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_null(tg_desc_load("no/such/file.xml", NULL, NULL));
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  // in memory: nothing may be read
  static const char text[] = "<mujoco><include file='/etc/passwd'/></mujoco>";
  assert_null(tg_desc_load_memory("t.xml", text, sizeof text - 1, NULL, &e));
  assert_int_equal(e.status, TG_ERR_FILE);
}

// a locale whose decimal point is a comma, compiled on the spot; false when localedef is not installed
static bool set_comma_locale(char *base) {
  char command[256];
  put(base, "comma", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
  snprintf(command, sizeof command, "localedef -c -i %s/comma -f ANSI_X3.4-1968 %s/xx >/dev/null 2>&1", base, base);
  if (system(command) == -1) return false;
  setenv("LOCPATH", base, 1);
  return setlocale(LC_NUMERIC, "xx") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
}

// an FP environment that rounds upwards and flushes denormals changes no number and is left as it was
static void test_fp_environment(void **state) {
  (void)state;
  const char *text = "<mujoco><option timestep='0.1234567890123456789' viscosity='1e-310'/></mujoco>";
  fesetround(FE_UPWARD);
  tgDesc *d = load(text, false);
  int left = fegetround();
  fesetround(FE_TONEAREST);
  assert_int_equal(left, FE_UPWARD);
  check_true(d->option.timestep == 0.1234567890123456789, "%.17g", d->option.timestep);
  check_true(d->option.viscosity == 1e-310, "%.17g", d->option.viscosity);
  tg_desc_free(d);
}

static void test_locale(void **state) {
  (void)state;
  char base[] = "/tmp/tangere_locale_XXXXXX", command[80];
  assert_non_null(mkdtemp(base));
  bool set = set_comma_locale(base);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  if (!set) skip();
  tgDesc *d = load("<mujoco><option timestep='1.25e-3' gravity='0.1 0.30000000000000004 -9.8100000000000000000001'/></mujoco>",
                   false);
  tgError e;
  bool refused = tg_desc_load_memory("t", "<mujoco><option timestep='0,5'/></mujoco>", 41, NULL, &e) == NULL;
  setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  check_close(d->option.timestep, 1.25e-3, 0);
  check_true(d->option.gravity[0] == .1 && d->option.gravity[1] == 0.30000000000000004 && d->option.gravity[2] == -9.81,
             "gravity %.17g %.17g %.17g", d->option.gravity[0], d->option.gravity[1], d->option.gravity[2]);
  tg_desc_free(d);
  assert_true(refused);
}

// ---- damaged files, depth, memory ----

static char *read_whole(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = malloc(1 << 20);
  assert_non_null(text);
  *size = fread(text, 1, 1 << 20, f);
  fclose(f);
  return text;
}

// cut anywhere, a file is refused with a place; with one byte changed it loads or is refused, and never more than that
static void test_damaged(void **state) {
  (void)state;
  size_t size, end;
  char *text = read_whole(TG_SOURCE_DIR "/test/data/mjcf/everything.xml", &size);
  tgError e;
  for (end = size; text[end - 1] != '>'; end--) {}
  for (size_t n = 0; n < end; n++) {
    tgDesc *d = tg_desc_load_memory("t.xml", text, n, NULL, &e);
    check_true(d == NULL && e.status == TG_ERR_PARSE && strcmp(e.file, "t.xml") == 0, "the first %zu bytes: %s", n, e.text);
  }
  int loaded = 0, refused = 0;
  for (size_t n = 0; n < end; n += 3) {
    char kept = text[n];
    text[n] = "<\"0 x\n\xff-"[n % 8];
    tgDesc *d = tg_desc_load_memory("t.xml", text, size, NULL, &e);
    if (d == NULL) check_true(e.status < 0 && e.text[0] != 0, "byte %zu: refused without a word", n);
    loaded += d != NULL;
    refused += d == NULL;
    tg_desc_free(d);
    text[n] = kept;
  }
  assert_true(loaded > 50 && refused > 50);
  free(text);
}

// the same document in UTF-16, either byte order, gives the same description
static void test_utf16(void **state) {
  (void)state;
  static const char text[] = "<mujoco model='m'><option timestep='0.25'/><worldbody><geom name='g' size='.5'/></worldbody></mujoco>";
  for (int big = 0; big < 2; big++) {
    char wide[2 * sizeof text + 2];
    memcpy(wide, big ? "\xfe\xff" : "\xff\xfe", 2);
    for (size_t i = 0; i < sizeof text; i++) {
      wide[2 + 2 * i + (size_t)big] = text[i];
      wide[3 + 2 * i - (size_t)big] = 0;
    }
    tgError e;
    tgDesc *d = tg_desc_load_memory("t.xml", wide, 2 * sizeof text, NULL, &e);
    check_true(d != NULL, "%s", d == NULL ? e.text : "");
    check_close(d->option.timestep, .25, 0);
    assert_string_equal(d->geom[0].name, "g");
    tg_desc_free(d);
  }
}

static void test_long_chain(void **state) {
  (void)state;
  enum { N = 5000 };
  char *text = malloc(200 * N);
  assert_non_null(text);
  char *p = text + sprintf(text, "<mujoco><worldbody>");
  for (int i = 0; i < N; i++) p += sprintf(p, "<body pos='0 0 1'><joint/><geom size='.1'/>");
  for (int i = 0; i < N; i++) p += sprintf(p, "</body>");
  sprintf(p, "</worldbody></mujoco>");
  tgDesc *d = load(text, false);
  assert_int_equal(d->nbody, N + 1);
  assert_int_equal(d->body[N].parent, N - 1);
  tg_desc_free(d);
  free(text);
}

typedef struct Counter { int left, live; } Counter;
static void *count_alloc(void *ctx, size_t n) {
  Counter *c = ctx;
  if (c->left-- <= 0) return NULL;
  c->live++;
  return malloc(n);
}
static void *count_realloc(void *ctx, void *p, size_t n) {
  Counter *c = ctx;
  if (c->left-- <= 0) return NULL;
  if (p == NULL) c->live++;
  return realloc(p, n);
}
static void count_free(void *ctx, void *p) {
  Counter *c = ctx;
  if (p != NULL) c->live--;
  free(p);
}

// fails every allocation in turn: an error that says so, and nothing is left behind
static int sweep(const char *path) {
  int k = 0;
  for (bool loaded = false; !loaded; k++) {
    Counter c = {.left = k};
    tgAllocator a = {&c, count_alloc, count_realloc, count_free};
    tgLoadOptions o = tg_load_default();
    o.allocator = &a;
    tgError e;
    tgDesc *d = tg_desc_load(path, &o, &e);
    loaded = d != NULL;
    if (!loaded)
      check_true(e.status == TG_ERR_MEMORY && strstr(e.text, "out of memory") != NULL &&
                 strlen(e.text) > strlen("out of memory") && e.file[0] != 0, "allocation %d failed: status %d: %s", k,
                 e.status, e.text);
    tg_desc_free(d);
    check_true(c.live == 0, "allocation %d failed: %d blocks are left", k, c.live);
    assert_true(k < 10000);
  }
  return k;
}

static void test_memory(void **state) {
  (void)state;
  int whole = sweep(TG_SOURCE_DIR "/test/data/mjcf/everything.xml");
  check_true(whole > 60, "only %d allocations", whole);
  // include and mesh files
  char base[] = "/tmp/tangere_mjcf_XXXXXX", path[64], command[80];
  assert_non_null(mkdtemp(base));
  put(base, "m.xml", "<mujoco><include file='a.xml'/><worldbody><geom type='mesh' mesh='t'/></worldbody></mujoco>");
  put(base, "a.xml", "<mujoco><asset><mesh file='t.obj'/></asset></mujoco>");
  put(base, "t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  snprintf(path, sizeof path, "%s/m.xml", base);
  int n = sweep(path);
  snprintf(command, sizeof command, "rm -r %s", base);
  assert_int_equal(system(command), 0);
  check_true(n > 15, "only %d allocations", n);
}

static void test_options(void **state) {
  (void)state;
  tgLoadOptions o = {0};
  tgError e;
  assert_null(tg_desc_load_memory("t", "<mujoco/>", 9, &o, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_null(tg_desc_load_memory("t", "", 0, NULL, &e));
  assert_int_equal(e.status, TG_ERR_PARSE);
  assert_null(tg_desc_load_memory("t", NULL, 3, NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_include), cmocka_unit_test(test_msh), cmocka_unit_test(test_special_files),
      cmocka_unit_test(test_fp_environment), cmocka_unit_test(test_locale), cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_utf16), cmocka_unit_test(test_long_chain), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
