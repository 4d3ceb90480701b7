// test_mass.c: moments of meshes and primitives against closed forms, quadrature and each other; findings about bad
// meshes; turning faces over.
#include <string.h>

#include "geom/hull.h"
#include "geom/mass.h"
#include "geom/mesh_check.h"
#include "support/check.h"
#include "support/tessellate.h"

// tetrahedron with corners 0, a, b, c on the axes, mass m = abc/6: com (a, b, c)/4, int x^2 = m a^2/10, int xy = m
// ab/20
static void tetrahedron(void **state) {
  (void)state;
  double a = 0.7, b = 1.3, c = 2.1, m = a * b * c / 6;
  for (int far = 0; far < 2; far++) {
    double o = far ? 100 : 0, vert[12] = {o, o, o, o + a, o, o, o, o + b, o, o, o, o + c};
    int face[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    double want[6] = {b * b + c * c, a * a + c * c, a * a + b * b, -a * b, -a * c, -b * c};
    for (int k = 0; k < 3; k++) want[k] *= m * (1.0 / 10 - 1.0 / 16);
    for (int k = 3; k < 6; k++) want[k] *= m * (1.0 / 20 - 1.0 / 16);
    static const tgMassKind kind[3] = {TG_MASS_EXACT, TG_MASS_CONVEX, TG_MASS_LEGACY};
    for (int t = 0; t < 3; t++) {
      tgMassProps p;
      assert_int_equal(tgi_mass_mesh(vert, 4, face, 4, kind[t], NULL, &p, NULL), TG_OK);
      check_close(p.volume, m, 1e-12);
      check_close(p.com[0], o + a / 4, 1e-12);
      check_close(p.com[1], o + b / 4, 1e-12);
      check_close(p.com[2], o + c / 4, 1e-12);
      for (int k = 0; k < 6; k++) check_close(p.inertia[k], want[k], 1e-12);
    }
  }
}

// an L-shaped solid is two boxes: its signed moments are exact, its hull's are not
static void concave(void **state) {
  (void)state;
  static const double xy[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 3}, {0, 3}};
  static const int cap[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}};
  double vert[36];
  int face[60], n = 0;
  for (int i = 0; i < 12; i++) {
    vert[3 * i] = xy[i % 6][0];
    vert[3 * i + 1] = xy[i % 6][1];
    vert[3 * i + 2] = i / 6;
  }
  for (int t = 0; t < 4; t++)
    for (int up = 0; up < 2; up++) {
      face[n++] = cap[t][0] + 6 * up;
      face[n++] = cap[t][up ? 1 : 2] + 6 * up;
      face[n++] = cap[t][up ? 2 : 1] + 6 * up;
    }
  for (int i = 0; i < 6; i++) {
    int j = (i + 1) % 6, quad[6] = {i, j, j + 6, i, j + 6, i + 6};
    for (int k = 0; k < 6; k++) face[n++] = quad[k];
  }
  tgMassProps p, box[2];
  tgMeshCheck check;
  assert_int_equal(n, 60);
  assert_int_equal(tgi_mesh_check(vert, 12, face, 20, NULL, &check), TG_OK);
  assert_int_equal(check.nopen + check.nwinding + check.ncrowded, 0);
  assert_int_equal(tgi_mass_mesh(vert, 12, face, 20, TG_MASS_EXACT, NULL, &p, NULL), TG_OK);
  // boxes [0,2]x[0,1] and [0,1]x[1,3], each 2 m^3, centres (1, 1/2) and (1/2, 2)
  double half[2][3] = {{1, 0.5, 0.5}, {0.5, 1, 0.5}}, centre[2][3] = {{1, 0.5, 0.5}, {0.5, 2, 0.5}}, want[6] = {0};
  for (int b = 0; b < 2; b++) {
    assert_int_equal(tgi_mass_primitive(TG_GEOM_BOX, half[b], false, &box[b]), TG_OK);
    double d[3] = {centre[b][0] - 0.75, centre[b][1] - 1.25, 0};
    want[0] += box[b].inertia[0] + 2 * d[1] * d[1];
    want[1] += box[b].inertia[1] + 2 * d[0] * d[0];
    want[2] += box[b].inertia[2] + 2 * (d[0] * d[0] + d[1] * d[1]);
    want[3] -= 2 * d[0] * d[1];
  }
  check_close(p.volume, 4, 1e-13);
  check_close(p.com[0], 0.75, 1e-13);
  check_close(p.com[1], 1.25, 1e-13);
  for (int k = 0; k < 6; k++) check_close(p.inertia[k], want[k], 1e-12);
  // the hull adds the triangle (2,1) (1,3) (1,1): 1 m^3
  assert_int_equal(tgi_mass_mesh(vert, 12, face, 20, TG_MASS_CONVEX, NULL, &p, NULL), TG_OK);
  check_close(p.volume, 5, 1e-13);
  tgHullOwned *hull;
  assert_int_equal(tgi_hull_from_points(vert, 12, NULL, &hull, NULL), TG_OK);
  check_close(tgi_hull_concavity(&hull->hull, vert, 12, face, 20), 0.25, 1e-12);
  tgi_hull_free(hull);
}

// a fine sphere's mesh converges to the spherical shell as 1/n^2, the next term as 1/n^4
static void shells(void **state) {
  (void)state;
  double previous = 0, r = 0.8, semi[3] = {r, r, r};
  for (int n = 20; n <= 80; n *= 2) {
    tgHullOwned *hull;
    double vert[20000];
    static int face[60000];
    int nface = 0;
    tgMassProps p;
    assert_int_equal(tgt_hull_ellipsoid(semi, n / 2 - 1, n, NULL, &hull), TG_OK);
    const tgHull *h = &hull->hull;
    for (int i = 0; i < 3 * h->nvert; i++) vert[i] = tgRe(h->vert[i]);
    for (int f = 0; f < h->nface; f++)
      for (int k = h->face_adr[f] + 1; k + 1 < h->face_adr[f + 1]; k++, nface++) {
        face[3 * nface] = h->face_vert[h->face_adr[f]];
        face[3 * nface + 1] = h->face_vert[k];
        face[3 * nface + 2] = h->face_vert[k + 1];
      }
    assert_int_equal(tgi_mass_mesh(vert, h->nvert, face, nface, TG_MASS_SHELL, NULL, &p, NULL), TG_OK);
    double area = 4 * TG_PI * r * r, error = fabs(p.inertia[0] / (area * 2 / 3 * r * r) - 1);
    assert_true(p.volume < area && p.volume > area * (1 - 20.0 / (n * n)));
    if (n > 20) check_close(previous / error, 4, 120.0 / (n * n));
    previous = error;
    tgi_hull_free(hull);
  }
  // a box as a mesh of 12 triangles has the closed shell form
  double half[3] = {0.3, 0.5, 0.9}, v[24];
  int f[36], n = 0;
  tgHullOwned *box;
  tgMassProps mesh, exact;
  assert_int_equal(tgt_hull_box(half, NULL, &box), TG_OK);
  for (int i = 0; i < 24; i++) v[i] = tgRe(box->hull.vert[i]);
  for (int k = 0; k < 6; k++)
    for (int t = 0; t < 2; t++)
      for (int c = 0; c < 3; c++) f[n++] = box->hull.face_vert[4 * k + (c == 0 ? 0 : t + c)];
  tgi_hull_free(box);
  assert_int_equal(tgi_mass_mesh(v, 8, f, 12, TG_MASS_SHELL, NULL, &mesh, NULL), TG_OK);
  assert_int_equal(tgi_mass_primitive(TG_GEOM_BOX, half, true, &exact), TG_OK);
  check_close(mesh.volume, exact.volume, 1e-13);
  for (int k = 0; k < 6; k++) check_close(mesh.inertia[k], exact.inertia[k], 1e-13);
}

// moments of a surface or solid of revolution about z by quadrature: radius(s), height(s), weight per length
static void quadrature(tgGeomType type, const double *size, bool shell, double want[3]) {
  enum { N = 200000 };
  double r = size[0], h = size[1], top = type == TG_GEOM_CAPSULE ? h + r : h;
  want[0] = want[1] = want[2] = 0;
  for (int i = 0; i < N; i++) {
    double z = -top + (i + 0.5) * 2 * top / N, over = fabs(z) - h, cap = type == TG_GEOM_CAPSULE && over > 0;
    double rho = cap != 0 ? sqrt(r * r - over * over) : r, dz = 2 * top / N;
    double m, polar;
    if (shell) {
      m = 2 * TG_PI * (cap != 0 ? r : rho) * dz; // a sphere's zones have equal area
      polar = m * rho * rho;
    } else {
      m = TG_PI * rho * rho * dz;
      polar = m * rho * rho / 2;
    }
    want[0] += m;
    want[1] += polar / 2 + m * z * z;
    want[2] += polar;
  }
  if (shell && type == TG_GEOM_CYLINDER) { // two discs
    double m = 2 * TG_PI * r * r;
    want[0] += m;
    want[1] += m * (r * r / 4 + h * h);
    want[2] += m * r * r / 2;
  }
}

static void primitives(void **state) {
  (void)state;
  tgtRandom r = {.s = 4};
  for (int t = 0; t < 8; t++) {
    double size[3] = {tgt_uniform(&r, 0.1, 1), tgt_uniform(&r, 0.1, 1), tgt_uniform(&r, 0.1, 1)}, want[3];
    tgMassProps p;
    tgGeomType type = t % 2 == 0 ? TG_GEOM_CAPSULE : TG_GEOM_CYLINDER;
    bool shell = t / 2 % 2 == 1;
    quadrature(type, size, shell, want);
    assert_int_equal(tgi_mass_primitive(type, size, shell, &p), TG_OK);
    check_close(p.volume / want[0], 1, 1e-9);
    check_close(p.inertia[0] / want[1], 1, 1e-9);
    check_close(p.inertia[1] / want[1], 1, 1e-9);
    check_close(p.inertia[2] / want[2], 1, 1e-9);
    // solid ellipsoid and box, by hand
    assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, size, false, &p), TG_OK);
    double m = 4.0 / 3 * TG_PI * size[0] * size[1] * size[2];
    check_close(p.inertia[1], m / 5 * (size[0] * size[0] + size[2] * size[2]), 1e-15);
    // shell of an ellipsoid: two solid ones, the limit by a difference
    double e = 1e-5, out[3], in[3], I[3], mass[2];
    tgMassProps a, b;
    for (int k = 0; k < 3; k++) {
      out[k] = size[k] + e;
      in[k] = size[k] - e;
    }
    assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, out, false, &a), TG_OK);
    assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, in, false, &b), TG_OK);
    assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, size, true, &p), TG_OK);
    mass[0] = a.volume - b.volume;
    for (int k = 0; k < 3; k++) {
      I[k] = (a.inertia[k] - b.inertia[k]) / mass[0];
      check_close(p.inertia[k] / p.volume, I[k], 1e-7 * I[k]);
    }
  }
  double ball[3] = {0.4, 0, 0};
  tgMassProps p;
  assert_int_equal(tgi_mass_primitive(TG_GEOM_SPHERE, ball, false, &p), TG_OK);
  check_close(p.inertia[2], p.volume * 0.4 * 0.16, 1e-15);
  assert_int_equal(tgi_mass_primitive(TG_GEOM_SPHERE, ball, true, &p), TG_OK);
  check_close(p.volume, 4 * TG_PI * 0.16, 1e-12);
  check_close(p.inertia[2], p.volume * 2 / 3 * 0.16, 1e-12);
  assert_int_equal(tgi_mass_primitive(TG_GEOM_MESH, ball, false, &p), TG_ERR_ARG);
}

static const double cube[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
static const int cube_face[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                  2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static void refused(const double *v, int nv, const int *f, int nf, const char *word) {
  tgMassProps p;
  tgError e = {0};
  assert_int_equal(tgi_mass_mesh(v, nv, f, nf, TG_MASS_EXACT, NULL, &p, &e), TG_ERR_INVALID);
  check_true(strstr(e.text, word) != NULL, "'%s' lacks '%s'", e.text, word);
}

static void findings(void **state) {
  (void)state;
  int f[72];
  double v[48];
  tgMeshCheck c;
  assert_int_equal(tgi_mesh_check(cube, 8, cube_face, 12, NULL, &c), TG_OK);
  assert_int_equal(c.nopen + c.nloop + c.nwinding + c.ncrowded, 0);
  check_close(c.volume, 1, 1e-15);
  // without two opposite squares there are two borders of four edges
  memcpy(f, cube_face + 12, 24 * sizeof(int));
  assert_int_equal(tgi_mesh_check(cube, 8, f, 8, NULL, &c), TG_OK);
  assert_int_equal(c.nopen, 8);
  assert_int_equal(c.nloop, 2);
  assert_true(c.open_edge[0] == 0 && c.open_edge[1] == 1);
  refused(cube, 8, f, 8, "8 open edges in 2 pieces of border, the first between vertices 0 and 1 of face");
  // one face turned over
  memcpy(f, cube_face, sizeof cube_face);
  f[0] = 2;
  f[1] = 0;
  assert_int_equal(tgi_mesh_check(cube, 8, f, 12, NULL, &c), TG_OK);
  assert_int_equal(c.nwinding, 3);
  refused(cube, 8, f, 12, "wound inconsistently at 3 edges, the first between vertices 0 and 1");
  // all turned over
  for (int k = 0; k < 12; k++) {
    f[3 * k] = cube_face[3 * k + 1];
    f[3 * k + 1] = cube_face[3 * k];
    f[3 * k + 2] = cube_face[3 * k + 2];
  }
  refused(cube, 8, f, 12, "inside out");
  // a wall inside
  memcpy(f, cube_face, sizeof cube_face);
  int wall[3] = {0, 3, 4};
  memcpy(f + 36, wall, sizeof wall);
  refused(cube, 8, f, 13, "open");
  // two cubes that share an edge only bound a solid all the same
  memcpy(v, cube, sizeof cube);
  memcpy(f, cube_face, sizeof cube_face);
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) v[24 + 3 * i + k] = cube[3 * i + k] + (k < 2);
  for (int k = 0; k < 36; k++) {
    int i = cube_face[k];
    f[36 + k] = i == 0 ? 3 : i == 4 ? 7 : i + 8; // its edge at (1, 1) is the first one's
  }
  assert_int_equal(tgi_mesh_check(v, 16, f, 24, NULL, &c), TG_OK);
  assert_int_equal(c.nopen + c.nwinding + c.ncrowded, 0);
  check_close(c.volume, 2, 1e-14);
  // flat, collinear, coincident, at any scale
  for (double s = 1e-6; s < 1e7; s *= 1e4) {
    double flat[12] = {0, 0, 0, s, 0, 0, 0, s, 0, s, s, 0}, line[9] = {0, 0, 0, s, s, s, 2 * s, 2 * s, 2 * s},
           same[9] = {s, s, s, s, s, s, s, s, s};
    refused(flat, 4, cube_face, 2, "is flat");
    refused(line, 3, cube_face, 1, "is collinear");
    refused(same, 3, cube_face, 1, "is coincident");
    for (int i = 0; i < 24; i++) v[i] = s * cube[i] * (i % 3 == 2 ? 1e-4 : 1);
    tgMassProps p;
    assert_int_equal(tgi_mass_mesh(v, 8, cube_face, 12, TG_MASS_EXACT, NULL, &p, NULL), TG_OK);
    check_close(p.volume / (s * s * s * 1e-4), 1, 1e-12);
  }
}

static void orientation(void **state) {
  (void)state;
  tgtRandom r = {.s = 6};
  int f[72], n;
  double v[48];
  for (int t = 0; t < 50; t++) {
    // two separate cubes with faces turned over at random
    for (int i = 0; i < 16; i++)
      for (int k = 0; k < 3; k++) v[3 * i + k] = cube[3 * (i % 8) + k] + (i < 8 ? 0 : 5);
    for (int k = 0; k < 24; k++) {
      bool turn = tgt_next(&r) % 2 == 0;
      for (int c = 0; c < 3; c++) f[3 * k + c] = cube_face[3 * (k % 12) + (turn ? 2 - c : c)] + (k < 12 ? 0 : 8);
    }
    assert_int_equal(tgi_mesh_orient(v, 16, f, 24, NULL, &n, NULL), TG_OK);
    tgMassProps p;
    assert_int_equal(tgi_mass_mesh(v, 16, f, 24, TG_MASS_EXACT, NULL, &p, NULL), TG_OK);
    check_close(p.volume, 2, 1e-13);
    assert_int_equal(tgi_mesh_orient(v, 16, f, 24, NULL, &n, NULL), TG_OK);
    assert_int_equal(n, 0);
  }
  // a Moebius strip of five quads has no inside
  int strip[30], before[30];
  double x[30];
  for (int i = 0; i < 5; i++) {
    double a = 2 * TG_PI * i / 5;
    for (int s = 0; s < 2; s++) {
      double w = (s == 0 ? -0.3 : 0.3);
      x[6 * i + 3 * s] = (2 + w * cos(a / 2)) * cos(a);
      x[6 * i + 3 * s + 1] = (2 + w * cos(a / 2)) * sin(a);
      x[6 * i + 3 * s + 2] = w * sin(a / 2);
    }
    int p = 2 * i, q = 2 * i + 1, u = i < 4 ? 2 * i + 2 : 1, w = i < 4 ? 2 * i + 3 : 0;
    int quad[6] = {p, u, q, q, u, w};
    memcpy(strip + 6 * i, quad, sizeof quad);
  }
  memcpy(before, strip, sizeof strip);
  tgError e = {0};
  assert_int_equal(tgi_mesh_orient(x, 10, strip, 10, NULL, &n, &e), TG_ERR_INVALID);
  assert_non_null(strstr(e.text, "one-sided"));
  assert_memory_equal(before, strip, sizeof strip);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tetrahedron), cmocka_unit_test(concave),
                                     cmocka_unit_test(shells),      cmocka_unit_test(primitives),
                                     cmocka_unit_test(findings),    cmocka_unit_test(orientation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
