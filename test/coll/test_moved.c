// test_moved.c: bounds on the gap of a pair against looks at it, searches that leave pairs out by them against those that look at all, and
// features of a contact at another pose against those that a look finds.
#include "coll/coll_support.h"

#include "coll/features/pair.h"
#include "coll/moved.h"
#include "kin/kinematics.h"
#include "tangere/desc.h"

// ---- the same features elsewhere

enum { KINDS = 16 };

// points of two shapes, by the memory of an earlier look
static int look(const tgtShape *a, const tgtShape *b, const int32_t *in, int32_t *out, tgContactPoint *point) {
  double distance;
  memcpy(out, in, TG_PAIR_MEMORY * sizeof *out);
  return tgt_collide(a, b, 0.02, TG_COLLIDE_POINTS, out, point, &distance);
}

static bool again(const tgtShape *a, const tgtShape *b, const tgContactPoint *p, const int32_t *memory, tgContactPoint *q) {
  static tgtScaled room[2];
  tgShape A = tgt_shape(a, &room[0]), B = tgt_shape(b, &room[1]);
  return tgi_same_features(&A, &B, p->feature, memory, p->n, q);
}

static bool same_point(const tgContactPoint *p, const tgContactPoint *q) {
  double off = fabs(tgRe(p->gap - q->gap));
  for (int i = 0; i < 3; i++) off = fmax(off, fmax(fabs(tgRe(p->p[i] - q->p[i])), fabs(tgRe(p->n[i] - q->n[i]))));
  return off < 1e-12;
}

// What a look names at one pose is found there and, where a look after a small motion names it too, with the same memory, there as well.
static void same_features(void **state) {
  (void)state;
  tgtRandom r = {9};
  int found[KINDS] = {0}, kept = 0, other = 0, unknown = 0;
  for (int trial = 0; trial < 3000; trial++) {
    tgtShape shape[2];
    int32_t fresh[TG_PAIR_MEMORY] = {0}, before[TG_PAIR_MEMORY], after[TG_PAIR_MEMORY];
    tgContactPoint old[TG_PAIR_POINTS], new[TG_PAIR_POINTS], q;
    double step[6];
    for (int k = 0; k < 2; k++) {
      tgt_make_shape(&shape[k], 3 + (trial >> k) % 2, &r);
      tgt_random_pose(&r, &shape[k], 0.3);
    }
    int n = look(&shape[0], &shape[1], fresh, before, old);
    for (int k = 0; k < n; k++) {
      if (!again(&shape[0], &shape[1], &old[k], before, &q)) { unknown++; continue; }
      check_true(same_point(&old[k], &q), "trial %d, point %d, kind %d: gap %.17g, %.17g", trial, k, old[k].feature >> TGI_FEATURE_KIND,
                 tgRe(old[k].gap), tgRe(q.gap));
      found[old[k].feature >> TGI_FEATURE_KIND]++;
    }
    for (int i = 0; i < 6; i++) step[i] = tgt_uniform(&r, -0.005, 0.005);
    tgt_move(&shape[0], step, 1);
    int m = look(&shape[0], &shape[1], before, after, new);
    for (int k = 0; k < n && memcmp(before, after, sizeof after) == 0; k++)
      for (int l = 0; l < m; l++) {
        if (old[k].feature != new[l].feature || !again(&shape[0], &shape[1], &old[k], before, &q)) continue;
        // beside a crossing of edges the face may be another one by then, under the same name
        bool face = tgRe(tgi_v3_dot(new[l].n, q.n)) > 1 - 1e-9 || before[0] > 0 || before[1] > 0;
        check_true(!face || same_point(&new[l], &q), "trial %d, point %d moved: gap %.17g, %.17g", trial, k, tgRe(new[l].gap), tgRe(q.gap));
        kept += face;
        other += !face;
      }
  }
  print_message("%d kept, %d over another face, %d unknown\n", kept, other, unknown);
  static const int of_faces[] = {TGI_KIND_FACE_POINT, TGI_KIND_FACE_EDGE, TGI_KIND_FACE_CORNER};
  for (int k = 0; k < 3; k++) check_true(found[of_faces[k]] > 50 && found[of_faces[k] + TGI_KIND_A] > 50, "kind %d is rare", of_faces[k]);
  check_true(found[TGI_KIND_CROSS] > 50 && kept > 500 && other < kept / 50, "%d crossings, %d kept, %d over another face",
             found[TGI_KIND_CROSS], kept, other);
}

// not of what is no polytope
static void other_features(void **state) {
  (void)state;
  tgtRandom r = {4};
  tgtShape box, other;
  tgContactPoint p = {.feature = tgi_feature(TGI_KIND_FACE_POINT, 0, 0)}, q;
  const int32_t memory[TG_PAIR_MEMORY] = {1, -1};
  tgt_make_shape(&box, 3, &r);
  for (int kind = 0; kind < TGT_KINDS; kind++) {
    tgt_make_shape(&other, kind, &r);
    bool polytope = kind == 3 || kind == 4;
    assert_true(again(&box, &other, &p, memory, &q) == polytope && again(&other, &box, &p, memory, &q) == polytope);
  }
  p.feature = tgi_feature(TGI_KIND_CORES, 0, 0);   // apart: those are asked of no overlap
  assert_false(again(&box, &box, &p, memory, &q));
  p.feature = tgi_feature(TGI_KIND_FACE_EDGE, 0, 1);   // over no face that is known
  assert_false(again(&box, &box, &p, (int32_t[]){0, 0}, &q) || again(&box, &box, &p, (int32_t[]){3, -2}, &q));
}

// ---- how far gaps change

static const tgGeomType type_of[] = {TG_GEOM_BOX, TG_GEOM_MESH, TG_GEOM_CAPSULE, TG_GEOM_SPHERE, TG_GEOM_MESH, TG_GEOM_PLANE};
enum { GEOMS = sizeof type_of / sizeof *type_of };

static tgSim *scene(tgtRandom *r, const tgGeomType *types, int n, tgModel **m, tgContact **c) {
  tgDesc *d = tg_desc_create(NULL);
  tgError e = {0};
  for (int k = 0; k < n; k++) {
    int body = types[k] == TG_GEOM_PLANE ? 0 : tg_desc_add_body(d, 0, NULL), g;
    if (body > 0) tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
    g = tg_desc_add_geom(d, body, types[k], NULL);
    for (int i = 0; i < 3; i++) d->geom[g].size[i] = tgt_uniform(r, 0.1, 0.3);
    if (types[k] != TG_GEOM_MESH) continue;
    double x[3 * 60];
    tgHullOwned *h;
    for (int i = 0; i < 3 * 60; i++) x[i] = 0.2 * tgt_normal(r);
    assert_int_equal(tgi_hull_from_points(x, 60, NULL, &h, &e), TG_OK);
    int face[3 * 400], nface = 0;
    for (int f = 0; f < h->hull.nface; f++)
      for (int l = h->hull.face_adr[f] + 2; l < h->hull.face_adr[f + 1]; l++, nface++) {
        face[3 * nface] = h->hull.face_vert[h->hull.face_adr[f]];
        face[3 * nface + 1] = h->hull.face_vert[l - 1];
        face[3 * nface + 2] = h->hull.face_vert[l];
      }
    double vert[3 * 60];
    for (int i = 0; i < 3 * h->hull.nvert; i++) vert[i] = tgRe(h->hull.vert[i]);
    d->geom[g].mesh = tg_desc_add_mesh(d, NULL, vert, h->hull.nvert, face, nface);
    tgi_hull_free(h);
  }
  *m = tg_model_compile(d, NULL, &e);
  check_true(*m != NULL, "%s", e.text);
  tg_desc_free(d);
  *c = tg_contact_create(*m, "lcp", NULL, NULL);
  tgSim *s = tg_sim_create(*m, *c, NULL, NULL);
  assert_non_null(s);
  assert_int_equal(tg_sim_reserve(s, 400, 10), TG_OK);
  return s;
}

static void place(tgSim *s, tgPose *pose, const tgReal *q, const double *step) {
  tgReal w[6 * GEOMS], to[7 * GEOMS];
  for (int d = 0; d < s->m.nv; d++) w[d] = step[d];
  tg_model_integrate(&s->m, q, w, to);
  tgi_kinematics(&s->m, to, pose);
}

static double gap_of(tgSim *s, const tgPose *pose, int pair) {
  tgContactPoint point[TG_PAIR_POINTS];
  double gap;
  int count = tgi_contacts_of_pair(s, pose, pair, 10, point, &gap);
  assert_true(count >= 0);
  for (int k = 0; k < count; k++) gap = fmin(gap, tgRe(point[k].gap));
  return gap;
}

// No gap, and no depth, changes by more than the bound; some change by nearly as much.
static void gaps_change(void **state) {
  (void)state;
  tgtRandom r = {12};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, type_of, GEOMS, &m, &c);
  double most = 0, least, still[6 * GEOMS] = {0}, step[6 * GEOMS];
  int deep = 0;
  for (int trial = 0; trial < tgt_cases(400, 60); trial++) {
    for (int d = 0; d < s->m.nv; d++) step[d] = tgt_uniform(&r, -0.2, 0.2) * (d % 6 < 3 ? 1 : 5);
    tgReal q[7 * GEOMS], w[6 * GEOMS];
    for (int d = 0; d < s->m.nv; d++) w[d] = step[d];
    tg_model_integrate(&s->m, s->m.qpos0, w, q);
    double size = pow(10, tgt_uniform(&r, -4, -1));
    for (int d = 0; d < s->m.nv; d++) step[d] = trial % 3 == 0 && d % 6 >= 3 ? 0 : size * tgt_normal(&r);
    place(s, &s->start, q, still);
    place(s, &s->end, q, step);
    assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);   // fills the bounds
    for (int pair = 0; pair < s->m.npair; pair++) {
      double moved = tgi_pair_moved(s, &s->start, &s->end, pair), room = moved + tgi_pair_preference(s, pair) + 1e-9;
      double a = gap_of(s, &s->start, pair), b = gap_of(s, &s->end, pair);
      assert_true(isfinite(moved) && moved > 0 && tgi_pair_moved(s, &s->end, &s->start, pair) < 1.001 * moved + 1e-12);
      check_true(fabs(a - b) <= room, "trial %d, pair %d: gap %g, %g, moved by %g", trial, pair, a, b, moved);
      most = fmax(most, fabs(a - b) / moved);
      deep += a < 0;
    }
  }
  print_message("%d overlap, at most %.3f of the bound\n", deep, most);
  check_true(most > 0.9 && deep > 100, "at most %g of the bound, %d overlap", most, deep);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// A translation by its length, a turn by the way of what is farthest out; of the other body's motion only what differs.
static void how_far(void **state) {
  (void)state;
  tgtRandom r = {3};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, (tgGeomType[]){TG_GEOM_BOX, TG_GEOM_SPHERE}, 2, &m, &c);
  double step[12] = {0}, least;
  tgi_kinematics(&s->m, s->m.qpos0, &s->start);
  assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);
  step[0] = 0.03;
  step[1] = -0.04;
  place(s, &s->end, s->m.qpos0, step);
  check_close(tgi_pair_moved(s, &s->start, &s->end, 0), 0.05, 1e-12);
  step[6] = step[0];
  step[7] = step[1];
  place(s, &s->end, s->m.qpos0, step);
  check_close(tgi_pair_moved(s, &s->start, &s->end, 0), 0, 1e-12);
  memset(step, 0, sizeof step);
  step[5] = 0.2;
  place(s, &s->end, s->m.qpos0, step);
  double box = tgRe(s->geom_bound[s->m.pair_geom1[0]]), ball = tgRe(s->geom_bound[s->m.pair_geom2[0]]);
  check_close(tgi_pair_moved(s, &s->start, &s->end, 0), 2 * sin(0.1) * fmin(box, ball), 1e-9);
  // both carried about by a quarter of a turn about z, the ball beside the box: nothing has moved past the other
  tgReal from[14] = {0, 0, 0, 1, 0, 0, 0, 0.3, 0.2, 0.1, 1, 0, 0, 0};
  tgReal to[14] = {1, 2, 3, sqrt(0.5), 0, 0, sqrt(0.5), 0.8, 2.3, 3.1, sqrt(0.5), 0, 0, sqrt(0.5)};
  tgi_kinematics(&s->m, from, &s->start);
  tgi_kinematics(&s->m, to, &s->end);
  check_close(tgi_pair_moved(s, &s->start, &s->end, 0), 0, 1e-12);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  // curved bodies deep in one another have gaps that are no depths
  s = scene(&r, (tgGeomType[]){TG_GEOM_BOX, TG_GEOM_CYLINDER}, 2, &m, &c);
  tgi_kinematics(&s->m, s->m.qpos0, &s->start);
  assert_true(isinf(tgi_pair_moved(s, &s->start, &s->start, 0)));
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// ---- boxes, and the face that is remembered

static const tgGeomType boxed[] = {TG_GEOM_MESH, TG_GEOM_MESH, TG_GEOM_BOX, TG_GEOM_CAPSULE, TG_GEOM_CYLINDER, TG_GEOM_ELLIPSOID};

// bodies within a place, turned at random by as much
static void scatter(tgSim *s, tgtRandom *r, double wide, double turn, tgReal q[7 * GEOMS]) {
  tgReal w[6 * GEOMS];
  for (int d = 0; d < s->m.nv; d++) w[d] = d % 6 < 3 ? tgt_uniform(r, -wide, wide) : tgt_uniform(r, -turn, turn);
  tg_model_integrate(&s->m, s->m.qpos0, w, q);
}

// What boxes show apart is so by more than the margin, sizes and scales having changed too; much of what is apart is shown.
static void boxes_apart(void **state) {
  (void)state;
  tgtRandom r = {31};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, boxed, GEOMS, &m, &c);
  double least;
  int apart = 0, shown = 0;
  for (int trial = 0; trial < tgt_cases(600, 60); trial++) {
    tgReal q[7 * GEOMS];
    scatter(s, &r, trial % 4 ? 1.2 : 0.7, trial % 2 ? 3 : 1e-3, q);   // boxes that are not turned have their sides where corners are
    for (int g = 0; g < GEOMS; g++)
      for (int i = 0; i < 3; i++) {
        tg_sim_param(s, "geom_size", NULL, NULL)[3 * g + i] = tgt_uniform(&r, 0.05, 0.3);
        tg_sim_param(s, "geom_scale", NULL, NULL)[3 * g + i] = tgt_uniform(&r, 0.5, 1.5);
      }
    tgi_kinematics(&s->m, q, &s->start);
    assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);   // fills the bounds
    double margin = trial % 3 ? 0 : 0.05;
    for (int pair = 0; pair < s->m.npair; pair++) {
      bool mesh = s->m.geom_type[s->m.pair_geom1[pair]] == TG_GEOM_MESH || s->m.geom_type[s->m.pair_geom2[pair]] == TG_GEOM_MESH;
      bool told = tgi_pair_boxes_apart(s, &s->start, pair, margin);
      double gap = gap_of(s, &s->start, pair);
      check_true(!told || (mesh && gap > margin), "trial %d, pair %d: gap %g, margin %g", trial, pair, gap, margin);
      apart += mesh && gap > margin;
      shown += told;
    }
  }
  print_message("%d of %d\n", shown, apart);
  check_true(shown > 0.7 * apart && apart > 300, "%d of %d shown", shown, apart);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

static void check_same_contacts(const tgSim *a, const tgSim *b) {
  assert_int_equal(a->ncon, b->ncon);
  for (int i = 0; i < a->ncon; i++) {
    const tgContactRow *x = &a->contact[i], *y = &b->contact[i];
    assert_true(x->pair == y->pair && x->feature == y->feature && x->gap == y->gap && x->tie == y->tie && x->axis == y->axis);
    assert_true(memcmp(x->p, y->p, sizeof x->p) == 0 && memcmp(x->n, y->n, sizeof x->n) == 0);
  }
}

typedef struct Sum { double of; int n; } Sum;
static void add_seen(tgSim *s, const tgContactRow *c, void *with) {
  (void)s;
  Sum *sum = with;
  sum->n++;
  sum->of += sum->n * (tgRe(c->gap) + tgRe(c->p[0])) + c->feature;
}

// A search that puts pairs aside finds what one that looks at all does, the least distance of a scene without contacts among it.
static void searches(void **state) {
  (void)state;
  tgtRandom r = {33};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, boxed, GEOMS, &m, &c), *all = tg_sim_create(m, c, NULL, NULL);
  int none = 0, some = 0, seen = 0;
  assert_int_equal(tg_sim_reserve(all, 400, 10), TG_OK);
  all->all_pairs = true;
  for (int trial = 0; trial < tgt_cases(400, 60); trial++) {
    double least[2];
    tgReal q[7 * GEOMS], v[6 * GEOMS];
    Sum sum[2] = {{0, 0}, {0, 0}};
    scatter(s, &r, 0.5 + 0.6 * (trial % 3), 3, q);
    for (int d = 0; d < s->m.nv; d++) v[d] = 20 * tgt_normal(&r);
    tgSim *both[2] = {s, all};
    for (int k = 0; k < 2; k++) {
      tgi_kinematics(&both[k]->m, q, &both[k]->start);
      assert_int_equal(tgi_contacts(both[k], &both[k]->start, &least[k]), TG_OK);
      assert_int_equal(tgi_contacts_beyond(both[k], &both[k]->start, 0.01, v, &(tgiFar){0}, (tgiSees){add_seen, &sum[k]}), TG_OK);
      if (trial % 3 == 0) tgi_contacts_remember(both[k]);
    }
    assert_true(least[0] == least[1] && sum[0].n == sum[1].n && sum[0].of == sum[1].of);
    check_same_contacts(s, all);
    none += s->ncon == 0 && least[0] < INFINITY;
    some += s->ncon > 0;
    seen += sum[0].n;
  }
  print_message("%d with contacts, %d without, %d seen beyond\n", some, none, seen);
  check_true(some > 30 && none > 5 && seen > 30, "%d with contacts, %d without, %d seen beyond", some, none, seen);
  tg_sim_free(s);
  tg_sim_free(all);
  tg_contact_free(c);
  tg_model_free(m);
}

// No gap that a look tells of is less than along the remembered face by more than the preference; where it still is the contact's, as much.
static void remembered_face(void **state) {
  (void)state;
  tgtRandom r = {35};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, type_of, GEOMS, &m, &c);
  double least, step[6 * GEOMS];
  int known = 0, same = 0;
  for (int trial = 0; trial < tgt_cases(600, 100); trial++) {
    tgReal q[7 * GEOMS];
    scatter(s, &r, 0.4, 3, q);
    tgi_kinematics(&s->m, q, &s->start);
    assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);
    tgi_contacts_remember(s);
    for (int d = 0; d < s->m.nv; d++) step[d] = 0.01 * tgt_normal(&r);
    place(s, &s->end, q, step);
    for (int pair = 0; pair < s->m.npair; pair++) {
      double along = tgi_pair_along_face(s, &s->end, pair), gap = gap_of(s, &s->end, pair), room = tgi_pair_preference(s, pair) + 1e-9;
      check_true(gap >= along - room, "trial %d, pair %d: gap %g, along the face %g", trial, pair, gap, along);
      known += along > -INFINITY;
      same += fabs(gap - along) <= room;
    }
  }
  print_message("%d of a face, %d still\n", known, same);
  check_true(known > 100 && same > known / 4, "%d of a face, %d still", known, same);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// What a capsule and a sphere tell to be clear has no point within the margin. They tell of most pairs with a capsule that are clear, of
// no others, and of none that a plane is of.
static void clear(void **state) {
  (void)state;
  static const tgGeomType types[] = {TG_GEOM_CAPSULE, TG_GEOM_CAPSULE, TG_GEOM_SPHERE, TG_GEOM_BOX, TG_GEOM_MESH, TG_GEOM_PLANE};
  tgtRandom r = {14};
  tgModel *m;
  tgContact *c;
  tgSim *s = scene(&r, types, GEOMS, &m, &c);
  int told = 0, apart = 0, near = 0;
  double least;
  for (int trial = 0; trial < tgt_cases(300, 60); trial++) {
    double step[6 * GEOMS], margin = pow(10, tgt_uniform(&r, -4, -1));
    for (int d = 0; d < s->m.nv; d++) step[d] = tgt_uniform(&r, -0.6, 0.6) * (d % 6 < 3 ? 1 : 5);
    place(s, &s->start, s->m.qpos0, step);
    assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);   // fills the bounds
    for (int pair = 0; pair < s->m.npair; pair++) {
      tgContactPoint point[TG_PAIR_POINTS];
      double distance;
      int g1 = m->geom_type[m->pair_geom1[pair]], g2 = m->geom_type[m->pair_geom2[pair]];
      int count = tgi_contacts_of_pair(s, &s->start, pair, margin, point, &distance);
      bool is = tgi_pair_is_clear(s, &s->start, pair, margin), capsule = g1 == TG_GEOM_CAPSULE || g2 == TG_GEOM_CAPSULE;
      check_true(!is || count == 0, "trial %d, pair %d: clear of %g, with %d points, the first at %g", trial, pair, margin, count,
                 tgRe(point[0].gap));
      assert_true(!is || (capsule && g1 != TG_GEOM_PLANE && g2 != TG_GEOM_PLANE));
      told += is;
      near += count > 0 && capsule;
      apart += count == 0 && capsule && g1 != TG_GEOM_PLANE && g2 != TG_GEOM_PLANE;
    }
  }
  print_message("%d of %d told, %d near\n", told, apart, near);
  check_true(told > apart / 2 && told < apart && near > 100, "%d of %d told, %d near", told, apart, near);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_features), cmocka_unit_test(other_features), cmocka_unit_test(gaps_change),
                                     cmocka_unit_test(how_far), cmocka_unit_test(boxes_apart), cmocka_unit_test(searches),
                                     cmocka_unit_test(remembered_face), cmocka_unit_test(clear)};
  return cmocka_run_group_tests(tests, tgt_build_meshes, tgt_free_meshes);
}
