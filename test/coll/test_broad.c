// test_broad.c: the search for near pairs against a loop over all of them: the same pairs in the same order, the same
// contacts to the bit, a small share of the pairs looked at.
#include <stdlib.h>
#include <string.h>

#include "coll/broad.h"
#include "coll/contacts.h"
#include "kin/kinematics.h"
#include "math/vec3.h"
#include "support/check.h"
#include "tangere/desc.h"

// n free bodies of one or two geoms in a box whose side lets few of them meet; planes in between, fixed spheres, one pair given twice
// over, some bodies excluded
static tgModel *scatter(tgtRandom *r, int n, double side, bool spread) {
  tgDesc *d = tg_desc_create(NULL);
  tgError e = {0};
  for (int k = 0; k < n; k++) {
    if (k % 40 == 7) {
      int plane = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
      d->geom[plane].size[0] = d->geom[plane].size[1] = 9;
    }
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    for (int g = 0; g < 1 + k % 2; g++) {
      int type = k % 3, geom = tg_desc_add_geom(d, b, type == 0 ? TG_GEOM_SPHERE : type == 1 ? TG_GEOM_CAPSULE : TG_GEOM_BOX, NULL);
      double size = k == 3 ? side / 4 : tgt_uniform(r, 0.02, 0.06);
      for (int i = 0; i < 3; i++) d->geom[geom].size[i] = size;
      d->geom[geom].pos[2] = 0.05 * g;
    }
    for (int i = 0; i < 3; i++) d->body[b].pos[i] = spread || i == 2 ? tgt_uniform(r, 0, side) : 0;
    if (k % 9 == 8) tg_desc_add_exclude(d, b, b - 1 - k % 5);
  }
  for (int k = 0; k < n / 3; k++) {   // in the model they come before all that moves, and are the second of no pair
    int fixed = tg_desc_add_geom(d, 0, TG_GEOM_SPHERE, NULL);
    d->geom[fixed].size[0] = tgt_uniform(r, 0.02, 0.1);
    for (int i = 0; i < 3; i++) d->geom[fixed].pos[i] = tgt_uniform(r, 0, side);
  }
  tg_desc_add_pair(d, 20, 31, NULL);
  tg_desc_add_pair(d, 5, 6, NULL);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

// lower bound of the distance of two geoms from their bounding spheres
static double sphere_gap(const tgSim *s, int a, int b) {
  const tgModel *m = &s->m;
  const tgPose *pose = &s->start;
  if (m->geom_type[b] == TG_GEOM_PLANE) { int t = a; a = b; b = t; }
  tgReal d[3], n[3];
  tgi_v3_sub(d, pose->geom_xpos + 3 * b, pose->geom_xpos + 3 * a);
  tgi_m3_col(n, pose->geom_xmat + 9 * a, 2);
  if (m->geom_type[a] == TG_GEOM_PLANE) return tgRe(tgi_v3_dot(n, d)) - tgRe(s->geom_bound[b]);
  return sqrt(tgRe(tgi_v3_dot(d, d))) - tgRe(s->geom_bound[a]) - tgRe(s->geom_bound[b]);
}

static int list_pairs(tgSim *s, int *pair) {
  tgiBroad b;
  int n = 0;
  size_t mark = tgi_stack_mark(s);
  assert_int_equal(tgi_broad_begin(s, &s->start, TG_CONTACT_MARGIN, &b), TG_OK);
  assert_true((b.node == NULL) == s->all_pairs);
  for (int g = 0; g < s->m.ngeom; g++) n += tgi_broad_pairs(&b, g, pair + n);
  tgi_stack_free(s, mark);
  return n;
}

static void check_pairs(tgSim *s) {
  int *near = malloc(2 * ((size_t)s->m.npair + 1) * sizeof *near), *all = near + s->m.npair + 1;
  s->all_pairs = false;
  int n = list_pairs(s, near);
  s->all_pairs = true;
  assert_int_equal(list_pairs(s, all), n);
  assert_memory_equal(near, all, (size_t)n * sizeof *near);
  for (int k = 0, p = 0; p < s->m.npair; p++) {   // by the definition
    bool in = !(sphere_gap(s, s->m.pair_geom1[p], s->m.pair_geom2[p]) > TG_CONTACT_MARGIN);
    assert_true(in == (k < n && near[k] == p));
    k += in;
  }
  for (int p = 0; p < s->m.npair; p++)
    assert_int_equal(s->m.pair_geom2[tgi_pair_of(&s->m, s->m.pair_geom2[p], s->m.pair_geom1[p])], s->m.pair_geom2[p]);
  free(near);
}

// contacts of both, which share nothing
static void check_contacts(const tgModel *m, tgSim *s, tgtRandom *r) {
  tgSim *plain = tg_sim_create(m, s->contact_model, NULL, NULL);
  double least[2];
  assert_non_null(plain);
  plain->all_pairs = true;
  s->all_pairs = false;
  for (int i = 0; i < m->nq; i++) s->qpos[i] += 1e-3 * tgt_uniform(r, -1, 1);
  tgSim *both[2] = {s, plain};
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tg_sim_reserve(both[k], 40000, 10), TG_OK);
    tgi_kinematics(&both[k]->m, s->qpos, &both[k]->start);
    assert_int_equal(tgi_contacts(both[k], &both[k]->start, &least[k]), TG_OK);
  }
  assert_true(s->ncon > 10 && least[0] == least[1]);
  assert_int_equal(s->ncon, plain->ncon);
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *a = &s->contact[i], *b = &plain->contact[i];
    assert_true(a->pair == b->pair && a->feature == b->feature && a->gap == b->gap);
    assert_memory_equal(a->p, b->p, sizeof a->p);
    assert_memory_equal(a->n, b->n, sizeof a->n);
  }
  tg_sim_free(plain);
}

static void test_pairs(void **state) {
  (void)state;
  for (int k = 0; k < 12; k++) {
    tgtRandom r = {.s = 70u + (unsigned)k};
    tgModel *m = scatter(&r, 60 + 20 * k, 0.7 + 0.05 * k, k % 4 != 3);   // every fourth: all in a line
    tgContact *c = tg_contact_create(m, "lcp", NULL, NULL);
    tgSim *s = tg_sim_create(m, c, NULL, NULL);
    assert_non_null(s);
    tgi_kinematics(&s->m, s->qpos, &s->start);
    assert_int_equal(tg_sim_reserve(s, 40000, 10), TG_OK);
    double least;
    assert_int_equal(tgi_contacts(s, &s->start, &least), TG_OK);   // fills the bounds
    check_pairs(s);
    check_contacts(m, s, &r);
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
}

// a centre that is no number hides nothing: every pair of it is found, as by the loop
static void test_no_number(void **state) {
  (void)state;
  tgtRandom r = {.s = 9};
  tgModel *m = scatter(&r, 80, 0.7, true);
  tgContact *c = tg_contact_create(m, "lcp", NULL, NULL);
  tgSim *s = tg_sim_create(m, c, NULL, NULL);
  int *pair = malloc(2 * ((size_t)m->npair + 1) * sizeof *pair), *all = pair + m->npair + 1;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  for (int g = 0; g < m->ngeom; g++) s->geom_bound[g] = 0.05;
  s->start.geom_xpos[3 * 40] = NAN;
  tgiBroad b;
  assert_int_equal(tgi_broad_begin(s, &s->start, TG_CONTACT_MARGIN, &b), TG_OK);
  int n = 0, many = 0;
  for (int g = 0; g < m->ngeom; g++) n += tgi_broad_pairs(&b, g, pair + n);
  s->all_pairs = true;
  many = list_pairs(s, all);
  assert_int_equal(n, many);
  assert_memory_equal(pair, all, (size_t)n * sizeof *pair);
  free(pair);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// Next to the margin, where squares do not tell, it is the gap that decides: margins within a few roundings of it.
static void test_at_the_margin(void **state) {
  (void)state;
  tgtRandom r = {17};
  tgModel *m = scatter(&r, 80, 0.7, true);
  tgSim *s = tg_sim_create(m, NULL, NULL, NULL);
  assert_non_null(s);
  tgi_kinematics(&s->m, s->qpos, &s->start);
  for (int g = 0; g < m->ngeom; g++) s->geom_bound[g] = m->geom_type[g] == TG_GEOM_PLANE ? 0 : tgt_uniform(&r, 0.01, 0.1);
  s->all_pairs = true;
  int *pair = malloc(((size_t)m->npair + 1) * sizeof *pair), listed = 0, asked = 0;
  for (int p = 0; p < m->npair; p += 3) {
    double gap = sphere_gap(s, m->pair_geom1[p], m->pair_geom2[p]);
    for (int k = -2; k <= 2; k++) {
      double margin = gap * (1 + k * 2.3e-16);
      if (margin < 0) continue;
      tgiBroad b;
      size_t mark = tgi_stack_mark(s);
      assert_int_equal(tgi_broad_begin(s, &s->start, margin, &b), TG_OK);
      bool in = false;
      for (int i = 0, n = tgi_broad_pairs(&b, m->pair_geom1[p], pair); i < n; i++) in = in || pair[i] == p;
      tgi_stack_free(s, mark);
      check_true(in == !(gap > margin), "pair %d, gap %.17g, margin %.17g: %d", p, gap, margin, in);
      listed += in;
      asked++;
    }
  }
  check_true(listed > 100 && listed < asked - 100, "%d of %d are listed", listed, asked);
  free(pair);
  tg_sim_free(s);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_no_number),
                                     cmocka_unit_test(test_at_the_margin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
