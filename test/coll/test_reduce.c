// test_reduce.c: meshes reduced to a budget of triangles: closed ones stay closed, the distance told is that of two
// surfaces as sampled here, lost holes, parts and walls are told, masses stay those of the mesh.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coll/reduce.h"
#include "geom/mesh_check.h"
#include "geom/simplify.h"
#include "geom/solids.h"
#include "tangere/geometry.h"
#include "tangere/model.h"

static tgiFaces faces(const tgtSolid *s) { return (tgiFaces){s->vert, s->nvert, s->face, s->nface}; }

static tgiFaces mesh_faces(const tgMeshDesc *m) { return (tgiFaces){m->vert, m->nvert, m->face, m->nface}; }

// a body with the solid as a geom of the mesh "solid", above a floor
static tgDesc *desc_of(const tgtSolid *s) {
  tgDesc *d = tg_desc_create(NULL);
  int mesh = tg_desc_add_mesh(d, "solid", s->vert, s->nvert, s->face, s->nface), b = tg_desc_add_body(d, 0, "body");
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, "geom");
  d->geom[g].mesh = mesh;
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  return d;
}

static const char *note_of(const tgDesc *d, const char *part) {
  for (int i = 0; i < d->nnote; i++)
    if (strstr(d->note[i].text, part) != NULL) return d->note[i].text;
  return NULL;
}

// ---- distances by other means: points of one surface, each against all triangles of the other by a search over the triangle

static double to_segment(const double p[3], const double *a, const double *b) {
  double ab[3], ap[3], l = 0, t = 0, sum = 0;
  for (int i = 0; i < 3; i++) {
    ab[i] = b[i] - a[i];
    ap[i] = p[i] - a[i];
    l += ab[i] * ab[i];
    t += ab[i] * ap[i];
  }
  t = l > 0 ? fmin(1, fmax(0, t / l)) : 0;
  for (int i = 0; i < 3; i++) sum += (ap[i] - t * ab[i]) * (ap[i] - t * ab[i]);
  return sqrt(sum);
}

static double to_triangle(const double p[3], const double *x) {
  double u[3], v[3], w[3], uu = 0, uv = 0, vv = 0, wu = 0, wv = 0, sum = 0;
  for (int i = 0; i < 3; i++) {
    u[i] = x[3 + i] - x[i];
    v[i] = x[6 + i] - x[i];
    w[i] = p[i] - x[i];
    uu += u[i] * u[i], uv += u[i] * v[i], vv += v[i] * v[i], wu += w[i] * u[i], wv += w[i] * v[i];
  }
  double det = uu * vv - uv * uv, a = (vv * wu - uv * wv) / det, b = (uu * wv - uv * wu) / det;
  double least = fmin(to_segment(p, x, x + 3), fmin(to_segment(p, x + 3, x + 6), to_segment(p, x + 6, x)));
  if (!(det > 0) || a < 0 || b < 0 || a + b > 1) return least;
  for (int i = 0; i < 3; i++) sum += (w[i] - a * u[i] - b * v[i]) * (w[i] - a * u[i] - b * v[i]);
  return fmin(least, sqrt(sum));
}

static void corners(const tgiFaces *m, int f, double x[9]) {
  for (int i = 0; i < 9; i++) x[i] = m->vert[3 * m->face[3 * f + i / 3] + i % 3];
}

static double to_surface(const double p[3], const tgiFaces *m) {
  double least = INFINITY, x[9];
  for (int f = 0; f < m->nface; f++) {
    corners(m, f, x);
    least = fmin(least, to_triangle(p, x));
  }
  return least;
}

// the farthest of a lattice of points on every face of `from`
static double sampled(const tgiFaces *from, const tgiFaces *to, int n) {
  double most = 0, x[9], p[3];
  for (int f = 0; f < from->nface; f++) {
    corners(from, f, x);
    for (int i = 0; i <= n; i++)
      for (int j = 0; i + j <= n; j++) {
        for (int c = 0; c < 3; c++) p[c] = x[c] + (x[3 + c] - x[c]) * i / n + (x[6 + c] - x[c]) * j / n;
        most = fmax(most, to_surface(p, to));
      }
  }
  return most;
}

// ---- tests

static void distances(void **state) {
  (void)state;
  tgtSolid a = tgt_solid_ball(1, 8), b = tgt_solid_ball(1, 2), c = tgt_solid_ball(1.25, 8);
  tgiFaces fa = faces(&a), fb = faces(&b), fc = faces(&c);
  tgiFarthest far;
  double size = 2 * sqrt(3), slack = 1e-3 * size;
  assert_int_equal(tgi_reduce_distance(&fa, &fa, NULL, &far), TG_OK);
  assert_true(far.most <= slack);
  // one ball in another: every point is about .25 away
  assert_int_equal(tgi_reduce_distance(&fa, &fc, NULL, &far), TG_OK);
  assert_true(far.most >= 0.2499 && far.most <= 0.25 * 1.01 + 1.25 * slack);
  double both = fmax(sampled(&fa, &fb, 6), sampled(&fb, &fa, 24));
  assert_int_equal(tgi_reduce_distance(&fa, &fb, NULL, &far), TG_OK);
  assert_true(both <= far.most * (1 + 1e-12));
  assert_true(far.most <= both * 1.05 + slack);
  double at = far.after ? to_surface(far.at, &fa) : to_surface(far.at, &fb);
  assert_true(at <= far.most * (1 + 1e-12) && far.most <= at * 1.01 + slack);
  assert_true((far.after ? to_surface(far.at, &fb) : to_surface(far.at, &fa)) < 1e-12);
  tgt_solid_free(&a), tgt_solid_free(&b), tgt_solid_free(&c);
}

static void topology(void **state) {
  (void)state;
  tgiTopology t;
  tgtSolid ball = tgt_solid_ball(1, 4), torus = tgt_solid_torus(1, 0.3, 12, 8), two = tgt_solid_cubes(3, 1, 1, "x x", 1),
           frame = tgt_solid_cubes(5, 3, 1, "xxxxx" "x x x" "xxxxx", 1);
  const struct { tgtSolid *s; int parts, holes; } are[] = {{&ball, 1, 0}, {&torus, 1, 1}, {&two, 2, 0}, {&frame, 1, 2}};
  for (size_t i = 0; i < sizeof are / sizeof *are; i++) {
    tgiFaces f = faces(are[i].s);
    assert_int_equal(tgi_reduce_topology(&f, NULL, &t), TG_OK);
    assert_int_equal(t.parts, are[i].parts);
    assert_int_equal(t.holes, are[i].holes);
    assert_int_equal(t.nopen + t.nodd + t.npinched, 0);
  }
  tgiFaces open = faces(&ball);
  open.nface--;
  assert_int_equal(tgi_reduce_topology(&open, NULL, &t), TG_OK);
  assert_int_equal(t.nopen, 3);
  assert_int_equal(t.holes, -1);
  int *turned = ball.face, keep = turned[0];
  turned[0] = turned[1];
  turned[1] = keep;
  tgiFaces odd = faces(&ball);
  assert_int_equal(tgi_reduce_topology(&odd, NULL, &t), TG_OK);
  assert_int_equal(t.nodd, 3);
  tgt_solid_free(&ball), tgt_solid_free(&torus), tgt_solid_free(&two), tgt_solid_free(&frame);
}

static bool built_in(void) {
  if (tg_reducer()[0] == '\0') skip();
  return true;
}

// Closed, wound outwards, with the corners of the mesh, and as near as the note says.
static void check_reduced(tgtSolid *s, int budget, int most_faces, double volume_share) {
  tgDesc *d = desc_of(s);
  tgError error = {0};
  tgMeshCheck was, is;
  tgiFarthest far;
  double told;
  assert_int_equal(tg_desc_reduce(d, budget, &error), TG_OK);
  assert_int_equal(d->nmesh, 2);
  assert_string_equal(d->mesh[1].name, "solid/reduced");
  tgiFaces before = faces(s), after = mesh_faces(&d->mesh[1]);
  if (after.nface > most_faces) fail_msg("%s", note_of(d, "collides as"));
  assert_int_equal(tgi_mesh_check(before.vert, before.nvert, before.face, before.nface, NULL, &was), TG_OK);
  assert_int_equal(tgi_mesh_check(after.vert, after.nvert, after.face, after.nface, NULL, &is), TG_OK);
  assert_int_equal(is.nopen + is.nwinding + is.ncrowded, 0);
  assert_true(is.volume > volume_share * was.volume && is.volume < 1.02 * was.volume);
  for (int i = 0; i < after.nvert; i++) {
    bool found = false;
    for (int k = 0; k < s->nvert && !found; k++) found = memcmp(after.vert + 3 * i, s->vert + 3 * k, 3 * sizeof(double)) == 0;
    assert_true(found);
  }
  const char *note = note_of(d, "collides as");
  assert_non_null(note);
  assert_int_equal(sscanf(strstr(note, "at most"), "at most %lf", &told), 1);
  double both = fmax(sampled(&before, &after, 3), sampled(&after, &before, 6));
  assert_true(both <= told * 1.05);   // of which two digits are written
  assert_true(told <= 1.1 * both + 2e-3 * was.diagonal);
  assert_int_equal(tgi_reduce_distance(&before, &after, NULL, &far), TG_OK);
  assert_true(fabs(far.most - told) <= 0.051 * told);
  tg_desc_free(d);
}

static void closed_meshes_stay_closed(void **state) {
  (void)state;
  built_in();
  tgtSolid ball = tgt_solid_ball(0.4, 12), torus = tgt_solid_torus(1, 0.3, 48, 24);
  check_reduced(&ball, 200, 200, 0.85);
  check_reduced(&ball, 40, 40, 0.6);
  check_reduced(&torus, 300, 300, 0.85);
  tgt_solid_free(&ball), tgt_solid_free(&torus);
}

// geoms, pairs and masses
static void the_geom_keeps_its_mass(void **state) {
  (void)state;
  built_in();
  tgtSolid ring = tgt_solid_torus(1, 0.3, 48, 24);
  tgDesc *d = desc_of(&ring), *plain = desc_of(&ring);
  d->geom[0].friction[0] = 0.3;
  int pair = tg_desc_add_pair(d, 0, 1, NULL);
  assert_int_equal(tg_desc_reduce(d, 100, NULL), TG_OK);
  assert_int_equal(d->ngeom, 3);
  assert_string_equal(d->geom[2].name, "geom/reduced");
  assert_int_equal(d->geom[2].body, d->geom[0].body);
  assert_int_equal(d->geom[2].group, 3);
  assert_true(d->geom[2].friction[0] == 0.3 && d->geom[2].mass == 0);
  assert_true(d->geom[0].contype == 0 && d->geom[0].conaffinity == 0 && d->geom[2].contype == 1);
  assert_int_equal(d->pair[pair].geom1, 2);
  assert_int_equal(d->pair[pair].geom2, 1);
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error), *n = tg_model_compile(plain, NULL, NULL);
  if (m == NULL) fail_msg("%s", error.text);
  assert_non_null(n);
  for (const char *const *name = (const char *const[]){"body_mass", "body_inertia", "body_ipos", NULL}; *name != NULL; name++) {
    tgField a = tg_model_field_named(m, *name), b = tg_model_field_named(n, *name);
    if (a.data == NULL) continue;
    assert_memory_equal(a.data, b.data, (size_t)a.rows * (size_t)a.cols * sizeof(double));
  }
  // what is small enough, or never touches, stays
  tgDesc *other = desc_of(&ring);
  assert_int_equal(tg_desc_reduce(other, ring.nface, NULL), TG_OK);
  assert_int_equal(other->ngeom, 2);
  other->geom[0].contype = other->geom[0].conaffinity = 0;
  assert_int_equal(tg_desc_reduce(other, 50, NULL), TG_OK);
  assert_int_equal(other->ngeom, 2);
  tg_model_free(m), tg_model_free(n);
  tg_desc_free(d), tg_desc_free(plain), tg_desc_free(other);
  tgt_solid_free(&ring);
}

// one mesh for two geoms, the same triangles every time
static void the_same_every_time(void **state) {
  (void)state;
  built_in();
  tgtSolid torus = tgt_solid_torus(1, 0.3, 48, 24);
  tgDesc *d[2] = {desc_of(&torus), desc_of(&torus)};
  for (int k = 0; k < 2; k++) {
    int g = tg_desc_add_geom(d[k], 1, TG_GEOM_MESH, NULL);
    d[k]->geom[g].mesh = 0;
    assert_int_equal(tg_desc_reduce(d[k], 300, NULL), TG_OK);
    assert_int_equal(d[k]->nmesh, 2);
    assert_int_equal(d[k]->ngeom, 5);
  }
  assert_int_equal(d[0]->mesh[1].nface, d[1]->mesh[1].nface);
  assert_memory_equal(d[0]->mesh[1].face, d[1]->mesh[1].face, 3 * (size_t)d[0]->mesh[1].nface * sizeof(int));
  tg_desc_free(d[0]), tg_desc_free(d[1]);
  tgt_solid_free(&torus);
}

static void losses_are_told(void **state) {
  (void)state;
  built_in();
  // a grating of 1 x 1 holes in a plate of bars: too few triangles for all of them
  char cells[25 * 25 + 1] = {0};
  for (int i = 0; i < 625; i++) cells[i] = i % 25 % 2 == 1 && i / 25 % 2 == 1 ? ' ' : 'x';
  tgtSolid grating = tgt_solid_cubes(25, 25, 1, cells, 0.01);
  tgDesc *d = desc_of(&grating);
  assert_int_equal(tg_desc_reduce(d, 60, NULL), TG_OK);
  const char *note = note_of(d, "mesh solid");
  assert_non_null(note);
  assert_true(strstr(note, "lost") != NULL || strstr(note, "not reached") != NULL || strstr(note, "stay closed") != NULL);
  tg_desc_free(d);
  // two hundred grains: with fewer triangles than a tetrahedron each, some go
  char many[399 + 1] = {0};
  for (int i = 0; i < 399; i++) many[i] = i % 2 == 0 ? 'x' : ' ';
  tgtSolid grains = tgt_solid_cubes(399, 1, 1, many, 0.01);
  d = desc_of(&grains);
  assert_int_equal(tg_desc_reduce(d, 100, NULL), TG_OK);
  note = note_of(d, "mesh solid");
  assert_non_null(note);
  assert_true(strstr(note, "parts are lost") != NULL || strstr(note, "not reached") != NULL || strstr(note, "stay closed") != NULL);
  tg_desc_free(d);
  tgt_solid_free(&grating), tgt_solid_free(&grains);
}

static void bad_input(void **state) {
  (void)state;
  tgtSolid ball = tgt_solid_ball(0.4, 4);
  tgDesc *d = desc_of(&ball);
  tgError error = {0};
  assert_int_equal(tg_desc_reduce(NULL, 100, &error), TG_ERR_ARG);
  assert_int_equal(tg_desc_reduce(d, 3, &error), TG_ERR_ARG);
  assert_non_null(strstr(error.text, "3"));
  assert_int_equal(tg_desc_reduce(d, -5, NULL), TG_ERR_ARG);
  double keep = d->mesh[0].vert[7];
  d->mesh[0].vert[7] = NAN;
  assert_int_equal(tg_desc_reduce(d, 20, &error), TG_ERR_NOT_FINITE);
  assert_non_null(strstr(error.text, "solid"));
  d->mesh[0].vert[7] = keep;
  d->mesh[0].face[5] = ball.nvert;
  assert_int_equal(tg_desc_reduce(d, 20, &error), TG_ERR_ARG);
  d->mesh[0].face[5] = ball.face[5];
  d->geom[0].mesh = 4;
  assert_int_equal(tg_desc_reduce(d, 20, &error), TG_ERR_ARG);
  d->geom[0].mesh = 0;
  if (tg_reducer()[0] == '\0') {
    assert_int_equal(tg_desc_reduce(d, 20, &error), TG_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "libmeshoptimizer"));
  }
  tg_desc_free(d);
  // all corners at one place: nothing is left, and the mesh stays for others to complain of
  for (int i = 0; i < 3 * ball.nvert; i++) ball.vert[i] = 0.5;
  d = desc_of(&ball);
  if (tg_reducer()[0] != '\0') {
    assert_int_equal(tg_desc_reduce(d, 20, &error), TG_OK);
    assert_int_equal(d->ngeom, 2);
  }
  tg_desc_free(d);
  tgt_solid_free(&ball);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances),          cmocka_unit_test(topology),           cmocka_unit_test(closed_meshes_stay_closed),
      cmocka_unit_test(the_geom_keeps_its_mass), cmocka_unit_test(the_same_every_time), cmocka_unit_test(losses_are_told),
      cmocka_unit_test(bad_input)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
