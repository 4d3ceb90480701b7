// test_event_facets.c: meshes that are not convex under `toi`: their contacts against a search through all faces, what rests in a hollow,
// and random motions of which exact predicates judge every piece.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/contacts.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/triangle.h"
#include "kin/kinematics.h"
#include "math/d3.h"
#include "math/quat.h"
#include "step/judged.h"
#include "support/deriv.h"
#include "support/tree.h"

// A bracket, and room for a star and a ring that are made: closed, none of them convex.
#define BRACKET                                                                                                        \
  "<mesh name='bracket' vertex='-.1 -.08 -.1 .1 -.08 -.1 .1 -.08 0 0 -.08 0 0 -.08 .1 -.1 -.08 .1 "                     \
  "-.1 .08 -.1 .1 .08 -.1 .1 .08 0 0 .08 0 0 .08 .1 -.1 .08 .1' face='0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 " \
  "0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 5 11 6'/>"
#define FREE(geom) "<body pos='0 0 .3'><freejoint/><geom " geom " mass='1'/></body>"
#define MESH(name) "type='mesh' mesh='" name "'"
#define BALL "size='.045'"
#define ROD "type='capsule' size='.03 .06'"
#define BOX "type='box' size='.04 .05 .03'"
#define DRUM "type='cylinder' size='.04 .05'"
#define EGG "type='ellipsoid' size='.04 .05 .03'"
#define WEDGE "<mesh name='wedge' vertex='-.08 -.06 -.05 .08 -.05 -.06 0 .07 -.05 .01 0 .08'/>"
#define STILL(name) "<geom " MESH(name) "/>"
static const char *const bodies[] = {
    STILL("bracket") FREE(MESH("bracket")), STILL("bracket") FREE(BALL),       STILL("bracket") FREE(ROD),
    STILL("bracket") FREE(BOX),             STILL("star") FREE(MESH("ring")),  STILL("ring") FREE(ROD),
    STILL("bracket") FREE(DRUM), STILL("ring") FREE(EGG), FREE(DRUM) FREE(MESH("star")),
    STILL("ring") FREE(MESH("wedge")),      FREE(MESH("star")) FREE(MESH("star")),
    "<geom type='plane' size='2 2 1' pos='0 0 -.25'/>" FREE(MESH("bracket")) FREE(MESH("ring"))};
enum { SCENES = sizeof bodies / sizeof *bodies, TEXT = 20000 };
static int motions = 8, first = 0, only = -1;   // of each scene, from motion `first` on; of one scene alone

static int write_mesh(char *out, const char *name, const double *vert, int nvert, const int *face, int nface) {
  int at = sprintf(out, "<mesh name='%s' vertex='", name);
  for (int i = 0; i < 3 * nvert; i++) at += sprintf(out + at, "%.17g ", vert[i]);
  at += sprintf(out + at, "' face='");
  for (int i = 0; i < 3 * nface; i++) at += sprintf(out + at, "%d ", face[i]);
  return at + sprintf(out + at, "'/>");
}

// a prism with five arms, its ends fans about their middle
static int write_star(char *out) {
  enum { N = 10 };
  double vert[6 * (N + 1)];
  int face[12 * N], n = 0;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k <= N; k++) {
      double *x = vert + 3 * ((N + 1) * side + k), r = k == N ? 0 : k % 2 == 0 ? 0.14 : 0.05;
      x[0] = r * cos(M_PI * k / 5);
      x[1] = r * sin(M_PI * k / 5);
      x[2] = side ? 0.03 : -0.03;
    }
  for (int k = 0; k < N; k++) {
    int l = (k + 1) % N, up = N + 1, f[12] = {N, l, k, up + N, up + k, up + l, k, l, up + l, k, up + l, up + k};
    memcpy(face + n, f, sizeof f);
    n += 12;
  }
  return write_mesh(out, "star", vert, 2 * (N + 1), face, n / 3);
}

static int write_ring(char *out) {
  enum { N = 9, M = 6 };
  double vert[3 * N * M];
  int face[6 * N * M], n = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      double *x = vert + 3 * (M * i + j), r = 0.1 + 0.035 * cos(2 * M_PI * j / M);
      x[0] = r * cos(2 * M_PI * i / N);
      x[1] = r * sin(2 * M_PI * i / N);
      x[2] = 0.035 * sin(2 * M_PI * j / M);
      int a = M * i + j, b = M * ((i + 1) % N) + j, c = M * ((i + 1) % N) + (j + 1) % M, d = M * i + (j + 1) % M;
      int f[6] = {a, b, c, a, c, d};
      memcpy(face + n, f, sizeof f);
      n += 6;
    }
  return write_mesh(out, "ring", vert, N * M, face, n / 3);
}

static Rig scene(const char *world, const char *gravity) {
  static char text[TEXT];
  int at = sprintf(text, "<mujoco><option gravity='%s'/><asset>" BRACKET WEDGE, gravity);
  at += write_star(text + at);
  at += write_ring(text + at);
  sprintf(text + at, "</asset><default><geom friction='.4'/></default><worldbody>%s</worldbody></mujoco>", world);
  return rig_of_text(text, "toi", NULL);
}

static void restitute(Rig *r, double e) {
  int rows, cols;
  tgReal *x = tg_sim_param(r->s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
}

// The last body starts around the middle, so far away, and flies at it, turning.
static void launch(Rig *r, tgtRandom *rnd, double away) {
  tgSim *s = r->s;
  tgReal *q = s->qpos + r->m->nq - 7, *v = s->qvel + r->m->nv - 6, way[3], w[4];
  double length = 0, norm = 0, speed = tgt_uniform(rnd, 5, 15);
  tg_sim_reset(s);
  if (r->m->nq > 7) s->qpos[2] = 0;
  for (int i = 0; i < 3; i++) {
    way[i] = tgt_uniform(rnd, i == 2 ? 0 : -1, 1);
    length += tgRe(way[i]) * tgRe(way[i]);
  }
  for (int i = 0; i < 4; i++) {
    w[i] = tgt_uniform(rnd, -1, 1);
    norm += tgRe(w[i]) * tgRe(w[i]);
  }
  for (int i = 0; i < 4; i++) q[3 + i] = w[i] / sqrt(norm);
  for (int i = 0; i < 3; i++) {
    q[i] = away * way[i] / sqrt(length) + tgt_uniform(rnd, -.03, .03);
    v[i] = -speed * way[i] / sqrt(length);
    v[3 + i] = tgt_uniform(rnd, -10, 10);
  }
}

// ---- contacts of a pose ----

static double least_of_all(const tgiFacetBody *A, const tgiFacetBody *B) {
  double x[9], y[9], least = INFINITY, distance;
  tgContactPoint point[TG_PAIR_POINTS];
  for (int i = 0; i < A->f->nface; i++)
    for (int j = 0; j < B->f->nface; j++) {
      if (A->f->curved || B->f->curved) {
        tgi_facets_curved(A, i, B, j, INFINITY, 0, TG_COLLIDE_POINTS, point, &distance);
        least = fmin(least, distance);
        continue;
      }
      tgi_facet_corners(A, i, x);
      tgi_facet_corners(B, j, y);
      least = fmin(least, tgi_triangle_triangle(x, y).distance - A->r - B->r);
    }
  return least;
}

// of the first vertex of B in A, where that has a surface
static bool winds(const tgiFacetBody *A, const tgiFacetBody *B) {
  tgiExactSurface surface;
  tgAllocator alloc = tgi_allocator(NULL);
  double vert[3 * 64], x[3];
  if (A->f->round) return false;
  assert_true(A->f->nvert <= 64);
  for (int v = 0; v < A->f->nvert; v++) tgi_facet_vertex(A, v, vert + 3 * v);
  tgi_facet_vertex(B, 0, x);
  assert_int_equal(tgi_exact_make(vert, A->f->nvert, A->f->face, A->f->nface, &alloc, &surface), TG_OK);
  tgi_exact_pose(&surface, vert);
  double turns = tgi_surface_winding(&surface, x);
  tgi_exact_free(&surface);
  return turns > 0.5;
}

// The distance is that of all faces; the nearest point has it, no point of what is apart is nearer than it but for those that go on
// beside a face, and each normal leads from the one body to the other.
static void test_points(void **state) {
  (void)state;
  for (int k = 0; k < SCENES - 1; k++) {
    Rig r = scene(bodies[k], "0 0 0");
    tgSim *s = r.s;
    tgtRandom rnd = {.s = 3 + (uint64_t)k};
    int near = 0, apart = 0;
    s->clearance = 1e-6;
    for (int i = 0; i < 300; i++) {
      tgiFacetBody A, B;
      tgContactPoint point[TG_PAIR_POINTS];
      double distance, least = INFINITY;
      launch(&r, &rnd, tgt_uniform(&rnd, 0.05, 0.32));
      tgi_kinematics(&s->m, s->qpos, &s->start);
      tgi_contacts_facets(s, &s->start, 0, &A, &B);
      double all = least_of_all(&A, &B);
      bool deep = all < 0 && (A.f->curved || B.f->curved);   // how deep goes by what else there is to choose from
      if (deep) check_true(tgi_facets_distance(&A, &B, 1) < 0, "apart");
      else check_close(tgi_facets_distance(&A, &B, 1), all, 1e-15);
      check_true(tgi_facets_distance(&A, &B, 0.5 * fabs(all)) <= fmax(all, 0.5 * fabs(all)), "cap");
      int count = tgi_facets_collide(&A, &B, 0.03, 1e-6 / 16, TG_COLLIDE_POINTS, point, &distance);
      if (!deep) check_close(distance, fmin(all, 0.03), 1e-15);
      if (all > 0.03) check_true(count == 0, "%d points", count);
      apart += all > 0.03;
      if (all > 0.03) continue;
      near += all > 0;
      for (int c = 0; c < count; c++) {
        least = fmin(least, tgRe(point[c].gap));
        for (int d = 0; d < c; d++) check_true(point[c].feature != point[d].feature, "twice the same");
      }
      check_true(count > 0 && (deep || least <= all + 1e-6 / 16 + 1e-15), "%d points, the nearest at %g of %g", count, least, all);
      bool inside = all > 0 && (winds(&A, &B) || winds(&B, &A));   // as a whole, and no faces meet
      if (all > 0 && !inside) check_true(least >= all - 1e-6 / 16, "a point at %g of %g", least, all);
      else check_true(least <= 0, "a point at %g of what overlaps", least);
    }
    check_true(near > 12 && apart > 12 && near + apart < 300, "scene %d: %d near, %d apart", k, near, apart);
    drop(&r);
  }
}

// ---- faces that are kept from place to place ----

typedef struct Visits { int n, face[3000]; } Visits;

static void note_visit(tgiFacetVisit *v, int i, int j, const double x[18], const tgiNearby *near) {
  Visits *seen = v->ctx;
  (void)x;
  check_true(near->distance <= v->within && seen->n < 3000, "%d visits, one at %g of %g", seen->n, near->distance, v->within);
  seen->face[seen->n++] = i * v->b->f->nface + j;
}

static Visits visits_of(const tgiFacetBody *A, const tgiFacetBody *B, double within) {
  Visits seen = {.n = 0};
  tgiFacetVisit v = {.a = A, .b = B, .within = within, .visit = note_visit, .ctx = &seen};
  tgi_facets_visit(&v);
  return seen;
}

// Faces within that of each other, by all of them.
static int all_within(const tgiFacetBody *A, const tgiFacetBody *B, double within) {
  double x[9], y[9];
  int n = 0;
  for (int i = 0; i < A->f->nface; i++)
    for (int j = 0; j < B->f->nface; j++) {
      tgi_facet_corners(A, i, x);
      tgi_facet_corners(B, j, y);
      n += tgi_triangle_triangle(x, y).distance <= within;
    }
  return n;
}

// Of two bodies that creep and jump beside each other: the same faces in the same order, the same distance and the same contacts to the bit
// as without what was found at the places before; and they are all that are as near.
static void test_kept_faces(void **state) {
  (void)state;
  int kept = 0, looks = 0;
  for (int k = 0; k < SCENES - 1; k++) {
    Rig r = scene(bodies[k], "0 0 0");
    tgSim *s = r.s;
    tgtRandom rnd = {.s = 17 + (uint64_t)k};
    s->clearance = 1e-6;
    for (int i = 0; i < 200; i++) {
      tgiFacetBody A, B;
      tgContactPoint point[2][TG_PAIR_POINTS];
      double distance[2], size = i % 20 == 0 ? 0 : pow(10, tgt_uniform(&rnd, -6, -2.5)), before;
      if (i % 20 == 0) launch(&r, &rnd, tgt_uniform(&rnd, 0.05, 0.2));
      tgReal *q = s->qpos + r.m->nq - 7;
      for (int d = 0; d < 7; d++) q[d] += tgt_uniform(&rnd, -size, size);
      if (i == 150) tg_sim_param(s, "geom_size", NULL, NULL)[0] *= 1.01;   // of the first geom: what is kept is of other sizes
      tgi_kinematics(&s->m, s->qpos, &s->start);
      tgi_contacts_facets(s, &s->start, 0, &A, &B);
      tgiFaceList *list = A.list;
      assert_non_null(list);
      double within = tgi_facets_within(&A, &B, pow(10, tgt_uniform(&rnd, -5, -2)));
      before = list->R[0];
      Visits with = visits_of(&A, &B, within);
      kept += list->R[0] == before;
      looks++;
      double near = tgi_facets_distance(&A, &B, 0.02);
      int count = tgi_facets_collide(&A, &B, 1e-3, 1e-6 / 16, TG_COLLIDE_POINTS, point[0], &distance[0]);
      A.list = NULL;
      Visits without = visits_of(&A, &B, within);
      check_true(with.n == without.n && memcmp(with.face, without.face, (size_t)with.n * sizeof *with.face) == 0, "%d, %d visits", with.n,
                 without.n);
      if (i % 10 == 0) check_true(with.n == all_within(&A, &B, within), "%d faces, not %d", with.n, all_within(&A, &B, within));
      check_true(near == tgi_facets_distance(&A, &B, 0.02), "distance %g", near);
      int again = tgi_facets_collide(&A, &B, 1e-3, 1e-6 / 16, TG_COLLIDE_POINTS, point[1], &distance[1]);
      check_true(count == again && distance[0] == distance[1], "%d points at %g, %d at %g", count, distance[0], again, distance[1]);
      for (int c = 0; c < count; c++)
        check_true(point[0][c].feature == point[1][c].feature && tgRe(point[0][c].gap) == tgRe(point[1][c].gap), "point %d", c);
    }
    drop(&r);
  }
  check_true(kept > looks / 3 && kept < looks, "%d of %d looks by what was kept", kept, looks);
}

// Faces that lie along each other, all as far apart but for rounding: which of them is looked at first makes no difference to the last bit.
static void test_kept_level(void **state) {
  (void)state;
  Rig r = scene(FREE(MESH("star")) FREE(MESH("star")), "0 0 0");
  tgSim *s = r.s;
  tgtRandom rnd = {.s = 29};
  int differ = 0;
  s->clearance = 1e-6;
  for (int i = 0; i < 3000; i++) {
    tgiFacetBody A, B;
    if (i % 30 == 0) launch(&r, &rnd, 0.3);
    tgReal *q = s->qpos, *p = s->qpos + 7, R[9], up[3], x[3] = {tgt_uniform(&rnd, -.1, .1), tgt_uniform(&rnd, -.1, .1), 0};
    memcpy(q + 3, p + 3, 4 * sizeof *q);
    tgi_quat_to_mat(R, q + 3);
    x[2] = 0.06 + tgt_uniform(&rnd, 1e-6, 5e-4);
    tgi_m3_mulv(up, R, x);
    for (int d = 0; d < 3; d++) p[d] = q[d] + up[d];
    tgi_kinematics(&s->m, s->qpos, &s->start);
    tgi_contacts_facets(s, &s->start, 0, &A, &B);
    visits_of(&A, &B, 1e-3);
    double with = tgi_facets_distance(&A, &B, 0.02);
    A.list = NULL;
    differ += with != tgi_facets_distance(&A, &B, 0.02);
  }
  drop(&r);
  check_true(differ == 0, "%d distances are others", differ);
}

// Of more pairs than there are lists, asked for in turn, the first keep theirs; one that is not asked for any more loses it.
static void test_lists_in_turn(void **state) {
  (void)state;
  enum { PAIRS = TGI_FACE_LISTS + 4, ROUNDS = 30 };
  const tgiFacetTable table = {.npair = PAIRS};
  tgiFaceLists *lists = tgi_face_lists_make(calloc(1, tgi_face_lists_bytes(&table)), &table);
  assert_non_null(lists);
  for (int round = 0; round < ROUNDS; round++)
    for (int p = 0; p < PAIRS; p++) {
      const tgiFaceList *list = tgi_face_list(lists, p);
      check_true(p < TGI_FACE_LISTS ? list == &lists->list[p] : list == NULL, "pair %d in round %d", p, round);
    }
  int passed = 0;
  for (int round = 0; round < ROUNDS && passed == 0; round++)
    for (int p = 1; p < PAIRS; p++)
      if (tgi_face_list(lists, p) == &lists->list[0]) passed = p;
  assert_int_equal(passed > 0, 1);
  assert_int_equal(lists->list[0].pair, passed + 1);
  assert_true(lists->list[0].within < 0);   // and nothing of the pair before
  free(lists);
}

// A box's corner beside the tip of an arm of the star, on one of its two sides and hardly farther from the other, which it is under: it
// touches the one alone.
static void test_far_side(void **state) {
  (void)state;
  Rig r = scene(STILL("star") FREE(BOX), "0 0 0");
  tgSim *s = r.s;
  const double c[3] = {.04, .05, .03}, along[2] = {.05 * cos(M_PI / 5) - .14, .05 * sin(M_PI / 5)}, length = hypot(along[0], along[1]),
               n[3] = {along[1] / length, -along[0] / length, 0}, reach = tgi_d3_norm(c), off = 2e-6;
  s->clearance = 1e-6;
  for (double t = 0.5e-6; t < 40e-6; t += 0.5e-6) {
    tgContactPoint point[TG_PAIR_POINTS];
    tgiFacetBody A, B;
    double distance, axis[3], back[3] = {-n[0], -n[1], 0}, least = INFINITY;
    // turned so that this corner is the lowest along the side's normal
    tgi_d3_cross(axis, c, back);
    double w = reach + tgi_d3_dot(c, back), norm = sqrt(tgi_d3_dot(axis, axis) + w * w);
    tg_sim_reset(s);
    tgReal *q = s->qpos + r.m->nq - 7;
    q[3] = w / norm;
    for (int i = 0; i < 3; i++) q[4 + i] = axis[i] / norm;
    for (int i = 0; i < 3; i++) q[i] = (i == 0 ? .14 : i == 1 ? 0 : .01) + (i < 2 ? t * along[i] / length : 0) + (off + reach) * n[i];
    tgi_kinematics(&s->m, s->qpos, &s->start);
    tgi_contacts_facets(s, &s->start, 0, &A, &B);
    check_close(tgi_facets_distance(&A, &B, 1), off, 1e-12);
    int count = tgi_facets_collide(&A, &B, 1e-3, 1e-6 / 16, TG_COLLIDE_POINTS, point, &distance);
    for (int k = 0; k < count; k++) least = fmin(least, tgRe(point[k].gap));
    check_true(count > 0 && least >= off - 1e-6 / 16, "%g from the ridge: %d points, one at %g", t, count, least);
  }
  drop(&r);
}

// What is open has no inside: its hull collides, as the warning at its loading says.
static void test_open(void **state) {
  (void)state;
  static const char *const tray = "<mesh name='tray' vertex='-.1 -.1 0 .1 -.1 0 .1 .1 0 -.1 .1 0 -.1 -.1 .1 .1 -.1 .1 .1 .1 .1 -.1 .1 .1' "
                                  "face='0 2 1 0 3 2 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7'/>";
  static char world[1500];
  snprintf(world, sizeof world, "</worldbody><asset>%s</asset><worldbody><geom type='mesh' mesh='tray'/>" FREE("size='.03'"), tray);
  Rig r = scene(world, "0 0 0");
  check_true(r.s->contact_model->facets == NULL, "%s", "its faces touch");
  drop(&r);
}

// Which of these meshes collide as they are, and what is said where one does otherwise than it looks.
static void test_told(void **state) {
  (void)state;
#define TETRAHEDRON(a, b, c, d) #a " " #c " " #b " " #a " " #b " " #d " " #a " " #d " " #c " " #b " " #c " " #d " "
  static const struct { const char *mesh, *says; bool as_it_is; } found[] = {
      {"vertex='0 0 0 .1 0 0 0 .1 0 0 0 .1 .3 0 0 .4 0 0 .3 .1 0 .3 0 .1' face='" TETRAHEDRON(0, 1, 2, 3) TETRAHEDRON(4, 5, 6, 7) "'",
       NULL, true},
      {"vertex='0 0 0 .1 0 0 0 .1 0 0 0 .1 .02 .02 .02 .3 .02 .02 .02 .3 .02 .02 .02 .3' face='" TETRAHEDRON(0, 1, 2, 3)
       TETRAHEDRON(4, 5, 6, 7) "'", "its mesh intersects itself, by faces 3 and ", true},
      {"vertex='0 0 0 .1 0 0 0 .1 0 0 0 .1 .3 .3 -.1' face='0 1 3 1 2 3 0 3 2 1 0 4 2 1 4 0 2 4 0 1 2'",
       "3 edges of its mesh have more than two faces, the first between vertices 0 and 1; its convex hull collides", false}};
  for (size_t k = 0; k < sizeof found / sizeof *found; k++) {
    static char world[1500];
    snprintf(world, sizeof world, "</worldbody><asset><mesh name='m' %s/></asset><worldbody><geom name='it' type='mesh' mesh='m'/>"
             FREE("size='.03'"), found[k].mesh);
    Rig r = scene(world, "0 0 0");
    const char *said = tg_contact_warning(r.c, 0);
    check_true((r.s->contact_model->facets != NULL) == found[k].as_it_is, "mesh %d: whether its faces touch", (int)k);
    check_true(found[k].says == NULL ? said == NULL : said != NULL && strstr(said, "'it'") != NULL && strstr(said, found[k].says) != NULL,
               "mesh %d: %s", (int)k, said != NULL ? said : "nothing");
    drop(&r);
  }
}

// ---- contacts of built poses ----

// The free body at x, turned by `turn` about y: its contact points with the bracket that are within 1 mm, its clearance being 1 um
static int points_at(Rig *r, const double x[3], double turn, tgContactPoint point[TG_PAIR_POINTS]) {
  tgSim *s = r->s;
  tgiFacetBody A, B;
  double distance;
  s->clearance = 1e-6;
  for (int i = 0; i < 7; i++) s->qpos[i] = i < 3 ? x[i] : i == 3 ? cos(turn / 2) : i == 5 ? sin(turn / 2) : 0;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  tgi_contacts_facets(s, &s->start, 0, &A, &B);
  return tgi_facets_collide(&A, &B, 1e-3, 1e-6 / 16, TG_COLLIDE_POINTS, point, &distance);
}

// Of an egg over the ledge the contact is the same, by name too, on either side of the diagonal of its two triangles.
static void test_one_plane(void **state) {
  (void)state;
  Rig r = scene(STILL("bracket") FREE(EGG), "0 0 0");
  tgContactPoint a[TG_PAIR_POINTS], b[TG_PAIR_POINTS];
  assert_int_equal(points_at(&r, (double[]){.05, -.03, .0301}, 0, a), 1);
  assert_int_equal(points_at(&r, (double[]){.05, .03, .0301}, 0, b), 1);
  assert_int_equal(a[0].feature, b[0].feature);
  check_close(a[0].gap, 1e-4, 1e-12);
  check_close(b[0].gap, 1e-4, 1e-12);
  drop(&r);
}

// A box's edge along the ledge's, each over no face of the other: both its ends are contacts, as far as the edges.
static void test_along_an_edge(void **state) {
  (void)state;
  Rig r = scene(STILL("bracket") FREE(BOX), "0 0 0");
  tgContactPoint p[TG_PAIR_POINTS];
  const double gap = 1e-4, way = (.05 + gap) * sqrt(.5);   // the corner of .04 and .03 is .05 away, along the ledge's two faces alike
  assert_int_equal(points_at(&r, (double[]){.1 + way, .01, way}, atan2(-.03, -.04) - atan2(-1, -1), p), 2);
  for (int k = 0; k < 2; k++) check_close(p[k].gap, gap, 1e-12);
  check_close(fmin(tgRe(p[0].p[1]), tgRe(p[1].p[1])), .01 - .05, 1e-12);
  check_close(fmax(tgRe(p[0].p[1]), tgRe(p[1].p[1])), .01 + .05, 1e-12);
  drop(&r);
}

// A rod across the top of the wall touches both its edges.
static void test_rod_across(void **state) {
  (void)state;
  Rig r = scene(STILL("bracket") FREE(ROD), "0 0 0");
  tgContactPoint p[TG_PAIR_POINTS];
  assert_int_equal(points_at(&r, (double[]){-.05, .02, .1 + .03 + 1e-4}, TG_PI / 2, p), 2);
  for (int k = 0; k < 2; k++) {
    check_close(p[k].gap, 1e-4, 1e-12);
    check_close(p[k].p[1], .02, 1e-12);
  }
  check_close(fmin(tgRe(p[0].p[0]), tgRe(p[1].p[0])), -.1, 1e-12);
  check_close(fmax(tgRe(p[0].p[0]), tgRe(p[1].p[0])), 0, 1e-12);
  drop(&r);
}

// Corners of a box that stand out over the ledge's edge are over it up to `fine`, and are ties within a thousand millionth of the size,
// 0.1, of that.
static void test_tied_at_the_border(void **state) {
  (void)state;
  Rig r = scene(STILL("bracket") FREE(BOX), "0 0 0");
  tgContactPoint p[TG_PAIR_POINTS];
  for (int k = 0; k < 2; k++) {
    const double out = 1e-6 / 16 - (k == 0 ? 3e-11 : 5e-9);
    int ties = 0, count = points_at(&r, (double[]){.1 + out - .04, 0, .0301}, 0, p);
    for (int i = 0; i < count; i++) ties += p[i].tie;
    check_true(k == 0 ? ties > 0 : count >= 4 && ties == 0, "%g out: %d points, %d ties", out, count, ties);
  }
  drop(&r);
}

// ---- motions ----

static void test_motions(void **state) {
  (void)state;
  for (int k = only < 0 ? 0 : only; k < (only < 0 ? SCENES : only + 1); k++) {
    Rig r = scene(bodies[k], "0 0 -9.81");
    tgtRandom rnd = {.s = 5 + (uint64_t)k};
    Total all = {.least = INFINITY};
    int rattle = 0;   // motions with more pieces in a step than there is room for: the bodies stay where they are then
    for (int i = 0; i < first + motions; i++) {
      Total one;
      launch(&r, &rnd, 0.35);
      double e = tgt_uniform(&rnd, 0, 1);
      if (i < first) continue;
      restitute(&r, e);
      run_judged(&r, 0.02, 2, 40, &one);
      if (one.stalled > 0) print_message("scene %d, motion %d: %d impacts, %d stalled, %d early\n", k, i, one.impacts,
                                         one.stalled, one.early);
      rattle += one.stalled > 0;
      all.impacts += one.impacts;
      all.stalled += one.stalled;
      all.least = fmin(all.least, one.least);
    }
    print_message("scene %d: %d motions, %d impacts, %d stalled, least %g\n", k, motions, all.impacts, all.stalled, all.least);
    check_true(all.impacts > motions / 2 && all.least > 0, "scene %d: %d impacts, least %g", k, all.impacts, all.least);
    check_true(rattle <= motions / 20, "scene %d: %d of %d motions stall", k, rattle, motions);
    drop(&r);
  }
}

// Motions of the long run in which the direction tried between a drum and a face was coarser than that of their contact, by more than they
// were apart: the search came to no end, and the bodies were held where they were. In 6, 189 a drum turns on an edge that lies across it.
static void test_drums(void **state) {
  (void)state;
  static const struct { int scene, motion; } found[] = {{6, 112}, {6, 189}, {8, 27}};
  for (size_t k = 0; k < sizeof found / sizeof *found; k++) {
    Rig r = scene(bodies[found[k].scene], "0 0 -9.81");
    tgtRandom rnd = {.s = 5 + (uint64_t)found[k].scene};
    Total one;
    double e = 0;
    for (int i = 0; i <= found[k].motion; i++) {
      launch(&r, &rnd, 0.35);
      e = tgt_uniform(&rnd, 0, 1);
    }
    restitute(&r, e);
    run_judged(&r, 0.02, 2, 2, &one);
    check_true(one.impacts > 0 && one.stalled == 0, "%d impacts, %d stalled", one.impacts, one.stalled);
    drop(&r);
  }
}

// ---- at rest ----

// In the corner of the bracket: on its ledge and against its wall, whose hull would hold it out.
static void test_rests(void **state) {
  (void)state;
  static const char *const ball = STILL("bracket") "<body pos='.08 0 .06'><freejoint/><geom " BALL " mass='1'/></body>";
  Rig r = scene(ball, "-3 0 -9.81");
  Total total;
  run_judged(&r, 0.01, 150, 2, &total);
  check_close(r.s->qpos[0], 0.045 + 1e-6, 1e-12);
  check_close(r.s->qpos[2], 0.045 + 1e-6, 1e-12);
  for (int d = 0; d < 6; d++) check_close(r.s->qvel[d], 0, 1e-9);
  check_true(total.stalled == 0 && r.s->ncon == 2, "%d stalled, %d contacts", total.stalled, r.s->ncon);
  drop(&r);
}

// A box lies in it on a face of two triangles, by its corners, and slides down where the bracket is tilted, as on a plane.
static void test_slides(void **state) {
  (void)state;
  static const char *const boxed = "<geom " MESH("bracket") " friction='.1'/><body pos='.05 0 .030001'><freejoint/>"
                                   "<geom type='box' size='.02 .03 .03' mass='1' friction='.1'/></body>";
  Rig r = scene(boxed, "0 3 -9");
  Total total;
  r.s->qvel[1] = 0.1;
  run_judged(&r, 0.005, 20, 2, &total);
  double a = 3 - 0.1 * 9, t = 0.1;
  check_close(r.s->qpos[1], 0.1 * t + 0.5 * a * t * t, 1e-9);
  check_close(r.s->qpos[2], 0.030001, 1e-12);
  check_true(total.impacts == 0 && total.stalled == 0, "%d impacts, %d stalled", total.impacts, total.stalled);
  drop(&r);
}

// usage: test_event_facets [MOTIONS [SCENE [FIRST]]]: of one scene the motions alone
int main(int argc, char **argv) {
  const struct CMUnitTest motion[] = {cmocka_unit_test(test_motions)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_kept_faces), cmocka_unit_test(test_kept_level),
                                     cmocka_unit_test(test_lists_in_turn), cmocka_unit_test(test_far_side),
                                     cmocka_unit_test(test_open), cmocka_unit_test(test_told),
                                     cmocka_unit_test(test_one_plane), cmocka_unit_test(test_along_an_edge),
                                     cmocka_unit_test(test_rod_across), cmocka_unit_test(test_tied_at_the_border),
                                     cmocka_unit_test(test_motions), cmocka_unit_test(test_drums), cmocka_unit_test(test_rests),
                                     cmocka_unit_test(test_slides)};
  motions = argc > 1 ? atoi(argv[1]) : tgt_cases(motions, 2);
  if (argc > 2) only = atoi(argv[2]);
  if (argc > 3) first = atoi(argv[3]);
  if (argc > 2) return cmocka_run_group_tests(motion, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
