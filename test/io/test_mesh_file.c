// test_mesh_file.c: OBJ and STL readers: what they give on good input, in every form; triangulation by area; random
// damage never reads outside the bytes (under sanitizers) and never gives a bad mesh.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geom/mass.h"
#include "geom/mesh_check.h"
#include "io/mesh_file.h"
#include "io/mesh_raw.h"
#include "tangere/desc.h"
#include "test/support/check.h"

static const double one[3] = {1, 1, 1};

static tgStatus parse(const char *name, const char *data, size_t size, const double *scale, tgRawMesh *raw,
                      tgError *error) {
  tgi_raw_init(raw, NULL);
  // an exact copy, so that a sanitizer sees one byte too many
  char *copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  memcpy(copy, data, size);
  tgStatus status = tgi_mesh_parse(name, copy, size, raw, error);
  free(copy);
  if (status == TG_OK) status = tgi_raw_tidy(raw, scale, error);
  return status;
}

static void good(const char *text, const double *scale, int nvert, int nface, double volume) {
  tgRawMesh raw;
  tgError error = {0};
  check_true(parse("x.obj", text, strlen(text), scale, &raw, &error) == TG_OK, "%s", error.text);
  assert_int_equal(raw.nvert, nvert);
  assert_int_equal(raw.nface, nface);
  check_close(tgi_mesh_volume(raw.vert, raw.nvert, raw.face, raw.nface), volume, 1e-14);
  tgi_raw_free(&raw);
}

#define CUBE_VERTICES "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
#define CUBE_FACES "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"

static void obj_forms(void **state) {
  (void)state;
  double mirror[3] = {-1, 2, 3}, all[3] = {-1, -1, -1};
  good(CUBE_VERTICES CUBE_FACES, one, 8, 12, 1);
  good(CUBE_VERTICES CUBE_FACES, mirror, 8, 12, 6);
  good(CUBE_VERTICES CUBE_FACES, all, 8, 12, 1);
  // faces first, byte order mark, comments, no newline at the end, groups, materials, colours, tabs and \v
  good("\xEF\xBB\xBF# x\nmtllib a.mtl\no thing\ng a b\ns off\n" CUBE_FACES CUBE_VERTICES "l 1 2\np 1\nusemtl m # y",
       one, 8, 12, 1);
  good("v\t0\v0 0 1 0 0\nv 1 0 0 1 0 0\r\nv 0 1 0 1 0 0\rv 0 0 1 1\nf 1 3 2\nf 1 2 4 \nf 2 3 4#c\nf 3 1 4", one, 4, 4,
       1.0 / 6);
  // texture and normal indices, relative indices, continued lines
  good(
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvn 0 0 1\nf 1/1 3/1 2/1\nf 1//1 2//1 4//1\nf -3/-1/-1 -2/1/1 -1/1/1\n"
      "f 3 \\\n 1 \\\r\n 4",
      one, 4, 4, 1.0 / 6);
  // duplicates merge, -0 is 0, unused vertices go, faces without area go
  good(
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 9 9 9\nv -0 0 -0\nv 0.5 0 0\nf 1 3 2\nf 6 2 4\nf 2 3 4\nf 3 1 4\nf 1 1 2\nf 1 7 2\nf 6 1 3",
      one, 4, 4, 1.0 / 6);
}

// prism over an n-gon: its volume tells whether the caps were triangulated right
static void prism(const double (*p)[2], int n, double area, int turn) {
  static char text[200000];
  size_t k = 0;
  for (int z = 0; z < 2; z++)
    for (int i = 0; i < n; i++) {
      double x[3] = {p[i][0], p[i][1], z};
      k += (size_t)sprintf(text + k, "v %.17g %.17g %.17g\n", x[turn % 3], x[(turn + 1) % 3], x[(turn + 2) % 3]);
    }
  k += (size_t)sprintf(text + k, "f");
  for (int i = 0; i < n; i++) k += (size_t)sprintf(text + k, " %d", n - i);
  k += (size_t)sprintf(text + k, "\nf");
  for (int i = 0; i < n; i++) k += (size_t)sprintf(text + k, " %d", n + i + 1);
  for (int i = 0; i < n; i++)
    k += (size_t)sprintf(text + k, "\nf %d %d %d %d", i + 1, (i + 1) % n + 1, n + (i + 1) % n + 1, n + i + 1);
  tgRawMesh raw;
  tgMeshCheck check;
  tgError error = {0};
  check_true(parse("x.obj", text, k, one, &raw, &error) == TG_OK, "%s", error.text);
  assert_int_equal(raw.ntangled, 0);
  assert_int_equal(raw.nbent, 0);
  assert_int_equal(raw.nface, 2 * (n - 2) + 2 * n);
  assert_int_equal(tgi_mesh_check(raw.vert, raw.nvert, raw.face, raw.nface, NULL, &check), TG_OK);
  assert_int_equal(check.nopen + check.nwinding, 0);
  check_close(check.volume, area, 1e-12 * fabs(area));
  // each cap's triangles all turn the same way, so their unsigned areas sum to the polygon's
  double sum = 0;
  for (int f = 0; f < 2 * (n - 2); f++) {
    tgMassProps shell;
    double v[9];
    int id[3] = {0, 1, 2};
    for (int c = 0; c < 9; c++) v[c] = raw.vert[3 * raw.face[3 * f + c / 3] + c % 3];
    assert_int_equal(tgi_mass_mesh(v, 3, id, 1, TG_MASS_SHELL, NULL, &shell, NULL), TG_OK);
    sum += shell.volume;
  }
  check_close(sum, 2 * area, 1e-12 * area);
  tgi_raw_free(&raw);
}

static void polygons(void **state) {
  (void)state;
  tgtRandom r = {.s = 2};
  for (int t = 0; t < 60; t++) {
    // star-shaped: random radii at even angles; area = sum of triangles at the centre
    double p[600][2], rho[600], area = 0;
    int n = 3 + (int)(tgt_next(&r) % (t < 40 ? 20 : 590));
    for (int i = 0; i < n; i++) rho[i] = tgt_uniform(&r, 0.1, 1);
    for (int i = 0; i < n; i++) {
      p[i][0] = rho[i] * cos(2 * TG_PI * i / n);
      p[i][1] = rho[i] * sin(2 * TG_PI * i / n);
      area += rho[i] * rho[(i + 1) % n] * sin(2 * TG_PI / n) / 2;
    }
    prism((const double(*)[2])p, n, area, t);
  }
  // comb: long teeth, few ears
  double comb[202][2];
  for (int i = 0; i < 100; i++) {
    comb[i][0] = 100 - i;
    comb[i][1] = i % 2 == 0 ? 5 : 1;
  }
  comb[100][0] = 0, comb[100][1] = 5, comb[101][0] = 0, comb[101][1] = 0, comb[102][0] = 100, comb[102][1] = 0;
  double area = 0;
  for (int i = 0; i < 103; i++) {
    const double *a = comb[i], *b = comb[(i + 1) % 103];
    area += (a[0] * b[1] - a[1] * b[0]) / 2;
  }
  prism((const double(*)[2])comb, 103, area, 0);
}

static void put_f32(unsigned char *p, float x) {
  uint32_t b;
  memcpy(&b, &x, sizeof b);
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(b >> (8 * i));
}

static const float tetra[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const int tetra_face[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};

static size_t binary_tetra(unsigned char *data, const char *head) {
  memset(data, 0, 84 + 200);
  memcpy(data, head, strlen(head));
  data[80] = 4;
  for (int f = 0; f < 4; f++)
    for (int c = 0; c < 9; c++) put_f32(data + 84 + 50 * f + 12 + 4 * c, tetra[tetra_face[f][c / 3]][c % 3]);
  return 84 + 200;
}

static size_t ascii_tetra(char *text, const char *newline) {
  size_t k = (size_t)sprintf(text, "solid a name with words%s", newline);
  for (int f = 0; f < 4; f++) {
    k += (size_t)sprintf(text + k, " facet normal nan 0 -1e0%s  outer loop%s", newline, newline);
    for (int c = 0; c < 3; c++) {
      const float *x = tetra[tetra_face[f][c]];
      k += (size_t)sprintf(text + k, "   VERTEX %g %g\t%g%s", (double)x[0], (double)x[1], (double)x[2], newline);
    }
    k += (size_t)sprintf(text + k, "  endloop%s endfacet%s", newline, newline);
  }
  return k + (size_t)sprintf(text + k, "endsolid a name");
}

static void stl_forms(void **state) {
  (void)state;
  unsigned char data[400];
  char text[4000];
  const char *head[] = {"binary", "solid but binary"};
  const char *newline[] = {"\n", "\r\n"};
  double scale[3] = {1, 1, -2};
  for (int k = 0; k < 4; k++) {
    tgRawMesh raw;
    tgError error = {0};
    size_t n = k < 2 ? binary_tetra(data, head[k]) : ascii_tetra(text, newline[k - 2]);
    const char *bytes = k < 2 ? (const char *)data : text;
    check_true(parse("x.obj", bytes, n, scale, &raw, &error) == TG_OK, "%s", error.text); // the name says nothing
    assert_int_equal(raw.nvert, 4);
    assert_int_equal(raw.nface, 4);
    check_close(tgi_mesh_volume(raw.vert, raw.nvert, raw.face, raw.nface), 2.0 / 6, 1e-15);
    tgi_raw_free(&raw);
  }
  // every proper beginning of either is refused
  size_t n = ascii_tetra(text, "\n");
  for (size_t cut = 0; cut + 13 < n; cut++) { // up to the word endsolid
    tgRawMesh raw;
    tgError error;
    check_true(parse("x.stl", text, cut, one, &raw, &error) < 0, "%zu of %zu bytes were taken", cut, n);
    tgi_raw_free(&raw);
  }
  n = binary_tetra(data, "b");
  for (size_t cut = 0; cut < n; cut++) {
    tgRawMesh raw;
    tgError error;
    check_true(parse("x.stl", (char *)data, cut, one, &raw, &error) < 0, "%zu of %zu bytes were taken", cut, n);
    tgi_raw_free(&raw);
  }
}

// a mesh that comes back is one: indices in range, finite, no equal vertices
static void damage(void **state) {
  (void)state;
  tgtRandom r = {.s = 77};
  char text[4000], base[3][4000];
  size_t size[3];
  size[0] = ascii_tetra(base[0], "\n");
  size[1] = binary_tetra((unsigned char *)base[1], "b");
  size[2] = strlen(strcpy(base[2], CUBE_VERTICES CUBE_FACES "f 1/1/1 2//2 -3/4\n"));
  int taken = 0;
  for (int t = 0; t < 30000; t++) {
    size_t n = size[t % 3];
    memcpy(text, base[t % 3], n);
    for (int k = 1 + (int)(tgt_next(&r) % 3); k > 0; k--) {
      static const char byte[] = "0123456789-+.eEvf/ \n\r\\#\tnaix";
      size_t at = tgt_next(&r) % n;
      text[at] = tgt_next(&r) % 4 == 0 ? (char)tgt_next(&r) : byte[tgt_next(&r) % (sizeof byte - 1)];
    }
    if (tgt_next(&r) % 4 == 0) n = tgt_next(&r) % n;
    tgRawMesh raw;
    tgError error;
    if (parse(t % 2 == 0 ? "x.stl" : "x", text, n, one, &raw, &error) == TG_OK) {
      taken++;
      assert_true(raw.nface > 0);
      for (int i = 0; i < 3 * raw.nface; i++) assert_true(raw.face[i] >= 0 && raw.face[i] < raw.nvert);
      for (int i = 0; i < 3 * raw.nvert; i++) assert_true(fabs(raw.vert[i]) <= TGI_MESH_LARGEST);
    }
    tgi_raw_free(&raw);
  }
  assert_true(taken > 1000 && taken < 29000);
}

// self-crossing and bent polygons are taken and counted; a huge convex one is quick; a huge one that is not is refused
static void odd_polygons(void **state) {
  (void)state;
  const char *bow = "v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 4",
             *bent = "v 0 0 0\nv 1 0 0\nv 1 1 0.1\nv 0 1 0\nf 1 2 3 4";
  tgRawMesh raw;
  tgError error = {0};
  assert_int_equal(parse("x", bow, strlen(bow), one, &raw, &error), TG_OK);
  assert_int_equal(raw.ntangled, 1);
  tgi_raw_free(&raw);
  assert_int_equal(parse("x", bent, strlen(bent), one, &raw, &error), TG_OK);
  assert_int_equal(raw.nbent, 1);
  tgi_raw_free(&raw);
  int n = 20000;
  char *text = malloc(80 * (size_t)n);
  assert_non_null(text);
  for (int dent = 0; dent < 2; dent++) {
    size_t k = 0;
    for (int i = 0; i < n; i++) {
      double rho = dent && i % 2 == 0 ? 0.9 : 1;
      k += (size_t)sprintf(text + k, "v %.17g %.17g 0\n", rho * cos(2 * TG_PI * i / n), rho * sin(2 * TG_PI * i / n));
    }
    k += (size_t)sprintf(text + k, "f");
    for (int i = 0; i < n; i++) k += (size_t)sprintf(text + k, " %d", i + 1);
    tgStatus status = parse("x", text, k, one, &raw, &error);
    assert_int_equal(status, dent ? TG_ERR_LIMIT : TG_OK);
    if (dent)
      assert_non_null(strstr(error.text, "line 20001"));
    else
      assert_int_equal(raw.nface, n - 2);
    tgi_raw_free(&raw);
  }
  free(text);
}

// what stands behind the last byte counts for nothing
static void only_its_own_bytes(void **state) {
  (void)state;
  static const char blank[2][5] = {"  <x/", "  v 0"};
  char said[2][sizeof ((tgError *)0)->text];
  tgStatus status[2];
  for (int k = 0; k < 2; k++) {
    tgRawMesh raw;
    tgError error = {0};
    tgi_raw_init(&raw, NULL);
    status[k] = tgi_mesh_parse("x", blank[k], 2, &raw, &error);
    memcpy(said[k], error.text, sizeof error.text);
    tgi_raw_free(&raw);
  }
  assert_int_equal(status[0], status[1]);
  assert_string_equal(said[0], said[1]);
}

// MSH: numbers of vertices, normals, texture coordinates and faces, then these; a coordinate that is none is named with its vertex
static void msh_forms(void **state) {
  (void)state;
  static const int32_t head[4] = {4, 0, 0, 4}, face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  float vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  char data[16 + 48 + 48];
  for (int k = 0; k < 3; k++) {
    vert[7] = k == 0 ? 1 : k == 1 ? NAN : 1e30f;
    memcpy(data, head, 16);
    memcpy(data + 16, vert, 48);
    memcpy(data + 64, face, 48);
    tgRawMesh raw;
    tgError error = {0};
    assert_int_equal(parse("x.msh", data, sizeof data, one, &raw, &error), k == 0 ? TG_OK : k == 1 ? TG_ERR_NOT_FINITE : TG_ERR_INVALID);
    if (k == 0) check_close(tgi_mesh_volume(raw.vert, raw.nvert, raw.face, raw.nface), 1.0 / 6, 1e-7);
    else check_true(strstr(error.text, "vertex 2 has the coordinate") != NULL, "'%s'", error.text);
    tgi_raw_free(&raw);
  }
}

// of two meshes that one is thousands of times as large as is worth a word: the larger is the odd one
static void sizes_of_two(void **state) {
  (void)state;
  static const double vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  for (int k = 0; k < 2; k++) {
    tgDesc *d = tg_desc_create(NULL);
    tgError error = {0};
    double large[12];
    for (int i = 0; i < 12; i++) large[i] = (k == 0 ? 2000 : 900) * vert[i];
    tg_desc_add_mesh(d, "little", vert, 4, face, 4);
    tg_desc_add_mesh(d, "large", large, 4, face, 4);
    assert_int_equal(tgi_mesh_compare_sizes(d, NULL, &error), TG_OK);
    assert_int_equal(d->nnote, k == 0 ? 1 : 0);
    const char *said = k == 0 ? d->note[0].text : "";
    check_true(k == 1 || (strstr(said, "mesh large") != NULL && strstr(said, "scale 0.001") != NULL), "'%s'", said);
    tg_desc_free(d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(obj_forms), cmocka_unit_test(polygons),     cmocka_unit_test(stl_forms),
      cmocka_unit_test(damage),    cmocka_unit_test(odd_polygons), cmocka_unit_test(only_its_own_bytes),
      cmocka_unit_test(msh_forms), cmocka_unit_test(sizes_of_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
