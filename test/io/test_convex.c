// test_convex.c: mesh geoms that are not convex, in pieces: what touches, what weighs, where the pieces are kept, what goes wrong.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geom/pieces.h"
#include "model/model.h"
#include "support/alloc.h"
#include "support/check.h"
#include "tangere/sim.h"
#include "tangere/step.h"

// a trough along y: outline in x, z, walls 0.04, floor 0.03, 0.2 long
enum { OUTLINE = 8 };
static const double outline[OUTLINE][2] =
    {{-0.1, 0}, {0.1, 0}, {0.1, 0.1}, {0.06, 0.1}, {0.06, 0.03}, {-0.06, 0.03}, {-0.06, 0.1}, {-0.1, 0.1}};
static const int cap[6][3] = {{0, 1, 4}, {0, 4, 5}, {1, 2, 3}, {1, 3, 4}, {0, 5, 6}, {0, 6, 7}};
static const double volume = 0.2 * (0.2 * 0.1 - 0.12 * 0.07);

static void trough(double vert[2 * OUTLINE][3], int face[28][3]) {
  int n = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < OUTLINE; i++) {
      double *v = vert[OUTLINE * side + i];
      v[0] = outline[i][0];
      v[1] = side == 0 ? -0.1 : 0.1;
      v[2] = outline[i][1];
    }
  for (int i = 0; i < 6; i++, n += 2)
    for (int k = 0; k < 3; k++) {
      face[n][k] = cap[i][k];                          // seen from -y, x to the right and z up: counter-clockwise
      face[n + 1][k] = OUTLINE + cap[i][2 - k];
    }
  for (int i = 0; i < OUTLINE; i++, n += 2) {
    int j = (i + 1) % OUTLINE;
    memcpy(face[n], (int[3]){i, i + OUTLINE, j}, sizeof face[n]);
    memcpy(face[n + 1], (int[3]){j, i + OUTLINE, j + OUTLINE}, sizeof face[n]);
  }
}

static char folder[64], path[128];

static void write_text(const char *name, const char *text) {
  char file[256];
  snprintf(file, sizeof file, "%s/%s", folder, name);
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void write_trough(void) {
  double vert[2 * OUTLINE][3];
  int face[28][3];
  char text[4096], *at = text;
  trough(vert, face);
  for (int i = 0; i < 2 * OUTLINE; i++) at += sprintf(at, "v %.17g %.17g %.17g\n", vert[i][0], vert[i][1], vert[i][2]);
  for (int i = 0; i < 28; i++) at += sprintf(at, "f %d %d %d\n", face[i][0] + 1, face[i][1] + 1, face[i][2] + 1);
  write_text("trough.obj", text);
}

static const char *const model_text =
    "<mujoco><asset><mesh name='trough' file='trough.obj' inertia='exact'/></asset><worldbody>"
    "<geom type='plane' size='1 1 1'/>"
    "<body name='trough'><freejoint/><geom name='u' type='mesh' mesh='trough' density='2000'/></body>"
    "<body name='ball' pos='0.002 0 0.2'><freejoint/><geom name='ball' type='sphere' size='0.03' mass='0.1'/></body></worldbody></mujoco>";

static int setup(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/test_convex.XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.xml", folder);
  write_trough();
  write_text("m.xml", model_text);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

// files in the folder whose names hold `part`; the last one's path to `found`
static int count_files(const char *where, const char *part, char found[400]) {
  DIR *d = opendir(where);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    if (strstr(e->d_name, part) != NULL) {
      n++;
      if (found != NULL) snprintf(found, 400, "%s/%s", where, e->d_name);
    }
  closedir(d);
  return n;
}

static bool noted(const tgDesc *d, const char *part) {
  for (int i = 0; i < d->nnote; i++)
    if (strstr(d->note[i].text, part) != NULL) return true;
  return false;
}

static tgDesc *load(const tgLoadOptions *o) {
  tgError e = {0};
  tgDesc *d = tg_desc_load(path, o, &e);
  check_true(d != NULL, "%s", e.text);
  return d;
}

static tgLoadOptions cutting(void) {
  tgLoadOptions o = tg_load_default();
  o.decompose = true;
  return o;
}

static int pieces_in(const tgDesc *d) {
  int n = 0;
  for (int g = 0; g < d->ngeom; g++) n += d->geom[g].name != NULL && strncmp(d->geom[g].name, "u/piece", 7) == 0;
  return n;
}

// height of the ball after a second
static double rest(tgDesc *d, double *overlap) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tgContact *c = tg_contact_create(m, "lcp", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  tgStepInfo info;
  for (int k = 0; k < 500; k++) check_true(tg_sim_step(s, 0.002, &info) == TG_OK, "step %d: %s", k, tg_sim_error(s)->text);
  const tgReal *q = tg_sim_qpos(s);
  double z = tgRe(q[9]);
  *overlap = fabs(tgRe(q[2]));
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return z;
}

static void the_ball_lies_in_the_trough(void **state) {
  (void)state;
  double sunk;
  tgLoadOptions whole = tg_load_default(), cut = cutting();
  tgDesc *d = load(&whole);
  // by its hull, the trough is full: the ball lies on top
  check_close(rest(d, &sunk), 0.13, 1e-3);
  tg_desc_free(d);
  d = load(&cut);
  check_true(pieces_in(d) >= 3, "%d pieces", pieces_in(d));
  check_true(noted(d, "convex pieces of it collide"), "no note");
  double z = rest(d, &sunk);
  check_true(fabs(z - 0.06) < 0.004, "the ball is at %g, the floor of the trough at 0.03", z);
  check_true(sunk < 1e-3, "the trough is at %g", sunk);
  // the mass is that of the mesh, once
  int body = tg_desc_find_body(d, "trough");
  check_close(d->body[body].mass, 2000 * volume, 1e-12);
  check_close(d->body[body].com[0], 0, 1e-12);
  tg_desc_free(d);
}

// what pieces cover: every point well inside the mesh, no point well inside the hollow
static void pieces_cover_the_mesh(void **state) {
  (void)state;
  tgLoadOptions o = cutting();
  tgDesc *d = load(&o);
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  int inside = 0, hollow = 0;
  for (int i = 0; i < 4000; i++) {
    double x = -0.095 + 0.19 * (i % 20) / 19, y = -0.095 + 0.19 * (i / 20 % 10) / 9, z = 0.005 + 0.09 * (i / 200) / 19;
    bool in = fabs(x) > 0.065 || z < 0.025, out = fabs(x) < 0.055 && z > 0.035, covered = false;
    for (int g = 0; g < m->ngeom; g++) {
      int h = m->geom_hull[g];
      if (h < 0 || m->geom_type[g] != TG_GEOM_MESH) continue;
      double p[3] = {x - tgRe(m->geom_pos[3 * g]), y - tgRe(m->geom_pos[3 * g + 1]), z - tgRe(m->geom_pos[3 * g + 2])};
      bool behind = true;
      for (int f = 0; f < m->hull[h].nface; f++) {
        const tgReal *n = m->hull[h].face_plane + 4 * f;
        behind = behind && tgRe(n[0]) * p[0] + tgRe(n[1]) * p[1] + tgRe(n[2]) * p[2] <= tgRe(n[3]);
      }
      covered = covered || behind;
    }
    check_true(!in || covered, "%g %g %g is in the mesh and in no piece", x, y, z);
    check_true(!out || !covered, "%g %g %g is in the hollow and in a piece", x, y, z);
    inside += in;
    hollow += out;
  }
  check_true(inside > 500 && hollow > 500, "%d %d points", inside, hollow);
  tg_model_free(m);
  tg_desc_free(d);
}

// keeps one other piece under the name and key that the mesh's pieces have
static void write_other_pieces(const char *file) {
  tgPieces p;
  uint32_t count = 8;
  char head[24];
  FILE *f = fopen(file, "rb");
  assert_non_null(f);
  assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
  fclose(f);
  uint64_t key;
  memcpy(&key, head + 16, sizeof key);
  assert_int_equal(tgi_pieces_create(&p, 1, &count, NULL, NULL), TG_OK);
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) p.vert[3 * i + k] = (i >> k & 1) != 0 ? 0.01 : -0.01;
  size_t size = tgi_pieces_size(&p);
  char *bytes = malloc(size);
  assert_non_null(bytes);
  tgi_pieces_encode(&p, key, bytes);
  f = fopen(file, "wb");
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
  free(bytes);
  tgi_pieces_free(&p);
}

static void pieces_are_kept_beside_the_mesh(void **state) {
  (void)state;
  char file[400];
  tgLoadOptions o = cutting();
  tgDesc *d = load(&o);
  int n = pieces_in(d);
  tg_desc_free(d);
  assert_int_equal(count_files(folder, ".pieces", file), 1);
  check_true(strstr(file, "/trough.obj.") != NULL, "%s", file);
  // what is in the file is what is used
  write_other_pieces(file);
  d = load(&o);
  assert_int_equal(pieces_in(d), 1);
  tg_desc_free(d);
  // a damaged file is said to be, and made anew
  assert_int_equal(truncate(file, 100), 0);
  d = load(&o);
  assert_int_equal(pieces_in(d), n);
  check_true(noted(d, "made anew"), "no note");
  tg_desc_free(d);
  d = load(&o);
  assert_int_equal(pieces_in(d), n);
  check_true(!noted(d, "made anew"), "the file is still damaged");
  tg_desc_free(d);
  // another threshold is another file
  o.decompose_threshold = 0.2;
  tg_desc_free(load(&o));
  assert_int_equal(count_files(folder, ".pieces", file), 2);
}

static void or_in_the_cache_folder(void **state) {
  (void)state;
  char file[400], cache[128];
  tgLoadOptions o = cutting();
  tg_desc_free(load(&o));
  assert_int_equal(count_files(folder, ".pieces", file), 1);
  assert_int_equal(unlink(file), 0);
  assert_int_equal(mkdir(file, 0777), 0);      // nothing can be written there, even by root
  tgDesc *d = load(&o);
  check_true(noted(d, "not kept for the next time"), "no note");
  tg_desc_free(d);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  assert_int_equal(mkdir(cache, 0777), 0);
  o.cache_directory = cache;
  d = load(&o);
  int n = pieces_in(d);
  check_true(!noted(d, "not kept"), "not kept");
  tg_desc_free(d);
  assert_int_equal(count_files(cache, ".pieces", file), 1);
  write_other_pieces(file);
  d = load(&o);
  check_true(n > 1 && pieces_in(d) == 1, "%d, %d pieces", n, pieces_in(d));
  tg_desc_free(d);
}

static void many_processes_at_once(void **state) {
  (void)state;
  pid_t pid[4];
  tgLoadOptions o = cutting();
  for (int i = 0; i < 4; i++) {
    pid[i] = fork();
    if (pid[i] == 0) {
      tgDesc *d = tg_desc_load(path, &o, NULL);
      _exit(d != NULL && pieces_in(d) >= 3 ? 0 : 1);
    }
  }
  for (int i = 0; i < 4; i++) {
    int code;
    assert_int_equal(waitpid(pid[i], &code, 0), pid[i]);
    assert_int_equal(code, 0);
  }
  assert_int_equal(count_files(folder, ".pieces", NULL), 1);
  assert_int_equal(count_files(folder, ".tmp", NULL), 0);
}

static tgDesc *built(bool pair) {
  double vert[2 * OUTLINE][3];
  int face[28][3];
  trough(vert, face);
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  int mesh = tg_desc_add_mesh(d, "t", vert[0], 2 * OUTLINE, face[0], 28);
  for (int i = 0; i < 2; i++) {
    int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_MESH, i == 0 ? "u" : NULL);
    d->body[b].pos[2] = i;
    d->geom[g].mesh = mesh;
    d->geom[g].contype = d->geom[g].conaffinity = !pair;
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  }
  if (pair) {
    int p = tg_desc_add_pair(d, 0, 1, "both");
    d->pair[p].friction[0] = 0.7;
  }
  return d;
}

static void same_mesh_same_pieces(void **state) {
  (void)state;
  tgDesc *a = built(false), *b = built(false);
  tgError e = {0};
  check_true(tg_desc_decompose(a, NULL, &e) == TG_OK, "%s", e.text);
  check_true(tg_desc_decompose(b, NULL, &e) == TG_OK, "%s", e.text);
  check_true(noted(a, "not kept for the next time"), "no file, no folder, and no note");
  int n = a->nmesh - 1;
  check_true(n >= 3 && a->ngeom == 2 + 2 * n, "%d pieces, %d geoms", n, a->ngeom);
  assert_int_equal(a->nmesh, b->nmesh);
  for (int i = 1; i <= n; i++) {
    assert_int_equal(a->mesh[i].nvert, b->mesh[i].nvert);
    assert_memory_equal(a->mesh[i].vert, b->mesh[i].vert, 3 * (size_t)a->mesh[i].nvert * sizeof(double));
  }
  assert_string_equal(a->geom[2].name, "u/piece0");
  assert_null(a->geom[2 + n].name);
  assert_int_equal(a->geom[2 + n].body, 2);
  tg_desc_free(a);
  tg_desc_free(b);
}

static void pairs_are_for_every_two_pieces(void **state) {
  (void)state;
  tgDesc *d = built(true);
  tgError e = {0};
  check_true(tg_desc_decompose(d, NULL, &e) == TG_OK, "%s", e.text);
  int n = d->nmesh - 1;
  assert_int_equal(d->npair, n * n);
  for (int i = 0; i < d->npair; i++) {
    check_true(d->pair[i].geom1 >= 2 && d->pair[i].geom1 < 2 + n && d->pair[i].geom2 >= 2 + n, "pair %d", i);
    check_close(d->pair[i].friction[0], 0.7, 0);
    for (int k = 0; k < i; k++)
      check_true(d->pair[i].geom1 != d->pair[k].geom1 || d->pair[i].geom2 != d->pair[k].geom2, "pairs %d and %d are the same", i, k);
  }
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL && m->npair == n * n, "%s", e.text);
  tg_model_free(m);
  tg_desc_free(d);
}

static void what_is_convex_or_cannot_touch_stays(void **state) {
  (void)state;
  tgDesc *d = built(false);
  tgError e = {0};
  for (int g = 0; g < 2; g++) d->geom[g].contype = d->geom[g].conaffinity = 0;
  static const double tet[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int side[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  int g = tg_desc_add_geom(d, 1, TG_GEOM_MESH, "tet");
  d->geom[g].mesh = tg_desc_add_mesh(d, "tet", tet, 4, side, 4);
  check_true(tg_desc_decompose(d, NULL, &e) == TG_OK, "%s", e.text);
  assert_int_equal(d->ngeom, 3);
  assert_int_equal(d->nmesh, 2);
  assert_int_equal(d->geom[2].contype, 1);
  tg_desc_free(d);
}

static void bad_arguments(void **state) {
  (void)state;
  tgError e = {0};
  tgDesc *d = built(false);
  tgLoadOptions o = tg_load_default();
  assert_int_equal(tg_desc_decompose(NULL, NULL, &e), TG_ERR_ARG);
  o.decompose_threshold = 0.001;
  assert_int_equal(tg_desc_decompose(d, &o, &e), TG_ERR_ARG);
  check_true(strstr(e.text, "0.001") != NULL, "%s", e.text);
  o = tg_load_default();
  o.size = 3;
  assert_int_equal(tg_desc_decompose(d, &o, &e), TG_ERR_ARG);
  o = tg_load_default();
  o.max_elements = 2;
  assert_int_equal(tg_desc_decompose(d, &o, &e), TG_ERR_LIMIT);
  check_true(strstr(e.text, "max_elements") != NULL, "%s", e.text);
  tg_desc_free(d);
  d = built(false);
  d->mesh[0].face[5] = 99;
  assert_int_equal(tg_desc_decompose(d, NULL, &e), TG_ERR_ARG);
  tg_desc_free(d);
}

// triangles at random, open and through each other: pieces or a reason, and this process lives
static void nonsense_is_no_danger(void **state) {
  (void)state;
  unsigned seed = 1;
  for (int round = 0; round < 4; round++) {
    double vert[30];
    int face[36];
    tgError e = {0};
    for (int i = 0; i < 30; i++) vert[i] = ((seed = seed * 1103515245u + 12345u) >> 16 & 1023) / 1023.0;
    for (int i = 0; i < 36; i++) face[i] = i % 3 == 0 ? (int)((seed = seed * 1103515245u + 12345u) >> 16) % 10 : (face[i - 1] + 1) % 10;
    tgDesc *d = tg_desc_create(NULL);
    int g = tg_desc_add_geom(d, 0, TG_GEOM_MESH, "u");
    d->geom[g].mesh = tg_desc_add_mesh(d, "soup", vert, 10, face, 12);
    tgLoadOptions o = tg_load_default();
    o.decompose_threshold = 1;                    // fine pieces of such take minutes
    tgStatus st = tg_desc_decompose(d, &o, &e);
    check_true(st == TG_OK || strstr(e.text, "soup") != NULL, "status %d, no mesh named: %s", st, e.text);
    tg_desc_free(d);
  }
}

// without file numbers there is no pipe; with two, which the pipe takes, the child cannot load the library
static void failures_of_the_child_are_errors(void **state) {
  (void)state;
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (int n = 0; n < 2; n++) {
    tgError e = {0};
    tgDesc *d = built(false);
    int a = dup(0), b = dup(0);
    assert_true(a >= 0 && b > a);
    close(a);
    close(b);
    few = before;
    few.rlim_cur = (rlim_t)(n == 0 ? a : b + 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    tgStatus st = tg_desc_decompose(d, NULL, &e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(st, n == 0 ? TG_ERR_LIMIT : TG_ERR_FILE);
    check_true(strstr(e.text, "mesh t ") != NULL && strstr(e.text, n == 0 ? "no pipe" : "cannot be loaded") != NULL, "%s", e.text);
    tg_desc_free(d);
  }
}

static void memory_may_be_short(void **state) {
  (void)state;
  char file[400];
  tgLoadOptions o = cutting();
  tg_desc_free(load(&o));                       // from the file from here on
  assert_int_equal(count_files(folder, ".pieces", file), 1);
  bool done = false;
  long k = 0;
  while (!done) {
    tgtAlloc a;
    tgError e = {0};
    tgt_alloc_init(&a);
    a.fail_at = ++k;
    o.allocator = &a.hooks;
    tgDesc *d = tg_desc_load(path, &o, &e);
    done = d != NULL;
    check_true(done ? a.calls < k : e.status == TG_ERR_MEMORY && e.text[0] != '\0', "allocation %ld: status %d: %s", k, e.status, e.text);
    tg_desc_free(d);
    check_true(a.blocks == 0, "allocation %ld: %ld blocks are left", k, a.blocks);
    assert_true(k < 5000);
  }
}

static void without_the_library_it_says_so(void **state) {
  (void)state;
  tgError e = {0};
  tgLoadOptions o = cutting();
  check_true(tg_desc_load(path, &o, &e) == NULL && e.status == TG_ERR_UNSUPPORTED, "status %d", e.status);
  check_true(strstr(e.text, "trough.obj") != NULL && strstr(e.text, "coacd") != NULL, "%s", e.text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest with[] = {TEST(the_ball_lies_in_the_trough), TEST(pieces_cover_the_mesh), TEST(pieces_are_kept_beside_the_mesh),
                                    TEST(or_in_the_cache_folder), TEST(many_processes_at_once), TEST(same_mesh_same_pieces),
                                    TEST(pairs_are_for_every_two_pieces), TEST(what_is_convex_or_cannot_touch_stays), TEST(bad_arguments),
                                    TEST(nonsense_is_no_danger), TEST(failures_of_the_child_are_errors), TEST(memory_may_be_short)};
  const struct CMUnitTest without[] = {TEST(without_the_library_it_says_so), TEST(what_is_convex_or_cannot_touch_stays)};
  if (tg_decomposer()[0] == '\0') return cmocka_run_group_tests_name("without a library", without, NULL, NULL);
  return cmocka_run_group_tests_name(tg_decomposer(), with, NULL, NULL);
}
