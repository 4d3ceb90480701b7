// test_sparse_islands.c: islands whose matrix is not formed against those that have one, and their derivatives. Small heaps take that road
// here from the first row on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/islands.h"
#include "scenes/scenes.h"
#include "sim/row.h"
#include "contact/lcp/work.h"
#include "step/gradient_check.h"
#include "step/step.h"
#include "support/check.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"

static const double h = 0.005;

// Balls and boxes that fall on each other, side x side of them next to each other
static tgModel *heap_model(int bodies, int side, double mu) {
  tgDesc *d = tg_desc_create(NULL);
  tgtRandom r = {7};
  tgs_plane(d, mu);
  for (int k = 0; k < bodies; k++) {
    double size[3] = {tgt_uniform(&r, 0.03, 0.05), tgt_uniform(&r, 0.02, 0.04), tgt_uniform(&r, 0.02, 0.03)};
    double x = tgt_uniform(&r, -0.01, 0.01), y = tgt_uniform(&r, -0.01, 0.01);
    double apart = side > 2 ? 0.075 : 0.05, layer = side > 2 ? 0.075 * (k / (side * side)) : 0.11 * (k / side);
    double at[3] = {apart * (k % side) + x, apart * (k / side % side) + y, 0.06 + layer};
    tgs_free_body(d, NULL, at, k % 3 == 2 ? TG_GEOM_BOX : TG_GEOM_SPHERE, size, 0.3 + 0.1 * k, mu);
  }
  tgError e = {0};
  tgModel *m = tgs_compile(d, &e);
  if (m == NULL) fail_msg("%s", e.text);
  return m;
}

// A raft of side x side balls on a plane, their heights a little apart
static tgModel *raft_model(int side, double mu) {
  char *text = malloc(1 << 16), *at = text;
  tgtRandom r = {9};
  at += sprintf(at, "<mujoco><worldbody><geom type='plane' size='9 9 1' friction='%g'/><body pos='0 0 .05'><freejoint/>", mu);
  for (int k = 0; k < side * side; k++)
    at += sprintf(at, "<geom size='.05' pos='%g %g %.9g' friction='%g'/>", 0.11 * (k % side), 0.11 * (k / side),
                  tgt_uniform(&r, -1e-10, 1e-10), mu);
  sprintf(at, "</body></worldbody></mujoco>");
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("raft.xml", text, strlen(text), NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  if (m == NULL) fail_msg("%s", e.text);
  tg_desc_free(d);
  free(text);
  return m;
}

static tgContact *contact_of(const tgModel *m, tgContactRule rule) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  return tg_contact_create(m, "lcp", &o.of, NULL);
}

static void step(tgSim *s) {
  if (tg_sim_step_growing(s, h, NULL) != TG_OK) fail_msg("%s", s->error.text);
}

// The conditions, from J, the step matrix and the velocities alone: v' is what the impulses make of vhat, and every row's force and
// velocity are in one of its cases, to 1e-8 of the largest.
static void check_conditions(const tgSim *s) {
  int nv = s->m.nv;
  tgReal *x = calloc((size_t)nv, sizeof *x);
  double sf = 1e-12, sw = 1e-6;
  for (int i = 0; i < s->nrow; i++) {
    tgi_row_add(s, s->rows->J, i, s->rows->f[i], x);
    sf = fmax(sf, fabs(tgRe(s->rows->f[i])));
    sw = fmax(sw, fabs(tgRe(s->rows->b[i])));
  }
  tgi_factor_solve(&s->m, s->L, x);
  for (int d = 0; d < nv; d++) check_close(s->vhat[d] + x[d], s->end.vel[d], 1e-10 * (1 + sw));
  for (int i = 0; i < s->nrow; i++) {
    double push = tgRe(s->rows->rate[i] * s->rows->gap[i]), f = tgRe(s->rows->f[i]) / sf;
    double w = (tgRe(tgi_row_dot(s, s->rows->J, i, s->end.vel)) + push) / sw;
    if (s->rows->kind[i] == TG_ROW_NORMAL) {
      check_true(f > -1e-8 && w > -2e-8 && fmin(fabs(f), fabs(w)) < 2e-8, "normal %d: f %g w %g", i, f, w);
      continue;
    }
    double B = tgRe(s->rows->limit[i] * s->rows->f[s->rows->parent[i]]) / sf, off = w < 0 ? fabs(B - f) : fabs(B + f);
    check_true(fabs(f) < B + 1e-8 && fmin(fabs(w), off) < 2e-8, "tangent %d: f %g of %g, w %g", i, f, B, w);
  }
  free(x);
}

// A heap that falls and comes to rest: the answer of every step holds by itself. At its classes the other road comes to the same
// velocities, and to the same adjoint, where how redundant rows share their forces moves nothing.
static void test_twins(void **state) {
  (void)state;
  tgModel *m = heap_model(10, 2, 0.4);
  tgContact *c = contact_of(m, TG_RULE_TOUCHING);
  tgSim *s = tg_sim_create(m, c, NULL, NULL), *dense = tg_sim_create(m, c, NULL, NULL);
  size_t room = 0;
  void *after = NULL;
  int nv = m->nv, compared = 0, rows = 0, pivoted = 0;
  tgReal *g = malloc(sizeof *g * (size_t)(6 * nv)), *x = g + 2 * nv, *y = x + 2 * nv;
  tgtRandom r = {3};
  s->dense_rows = 1;
  for (int i = 0; i < 90; i++) {
    step(s);
    if (s->nrow == 0) continue;
    rows = rows > s->nrow ? rows : s->nrow;
    pivoted += s->info.stage == TGI_LCP_PIVOT;
    bool sparse = false;
    for (int k = 0; k < s->nisland; k++) sparse = sparse || tgi_island_is_sparse(s, k);
    check_conditions(s);
    if (i % 5 != 0 || !sparse) continue;
    tgGradInfo info;
    for (int d = 0; d < 2 * nv; d++) g[d] = tgt_normal(&r);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, x, x + nv, NULL, NULL, &info), TG_OK);
    if (strstr(info.reason, "held split") != NULL) continue;
    if (tg_sim_reserve(dense, 64, 400) != TG_OK) fail_msg("%s", dense->error.text);
    if (tg_sim_snapshot_size(s) > room) after = realloc(after, room = tg_sim_snapshot_size(s));
    tg_sim_save(s, after);
    assert_int_equal(tg_sim_restore(dense, after), TG_OK);
    memcpy(dense->qpos, s->start.q, (size_t)m->nq * sizeof *s->start.q);
    memcpy(dense->qvel, s->start.vel, (size_t)nv * sizeof *s->start.vel);
    dense->pinned = true;
    step(dense);
    dense->pinned = false;
    double speed = 1e-3, most = 1e-3;
    for (int d = 0; d < nv; d++) speed = fmax(speed, fabs(tgRe(s->end.vel[d])));
    for (int d = 0; d < nv; d++) check_close(s->end.vel[d], dense->end.vel[d], 1e-7 * speed);
    assert_int_equal(tg_sim_step_vjp(dense, g, g + nv, y, y + nv, NULL, NULL, NULL), TG_OK);
    for (int d = 0; d < 2 * nv; d++) most = fmax(most, fabs(tgRe(y[d])));
    for (int d = 0; d < 2 * nv; d++) check_close(x[d], y[d], 1e-6 * most);
    compared++;
  }
  check_true(rows > 30 && pivoted > 5 && compared > 5, "%d rows at most, %d steps searched, %d compared", rows, pivoted, compared);
  free(g);
  free(after);
  tg_sim_free(s);
  tg_sim_free(dense);
  tg_contact_free(c);
  tg_model_free(m);
}

// Jacobian and adjoint of the steps of a heap against differences of the whole step: by touching with the complex step, by both rules with
// Ridders' extrapolation.
#ifdef TG_COMPLEX
enum { RULES = 1 };
#else
enum { RULES = 2 };
#endif
static void test_derivatives(void **state) {
  (void)state;
  for (int rule = 0; rule < RULES; rule++) {
    tgModel *m = heap_model(4, 2, 0.4);
    tgContact *c = contact_of(m, (tgContactRule)rule);
    tgSim *s = tg_sim_create(m, c, NULL, NULL);
    Count count = {0};
    s->dense_rows = 1;
    for (int i = 0; i < 60; i++) {
      step(s);
      if (i % 12 != 11) continue;
      check_state(s, "heap", i, h, &count);
      tg_sim_freeze_memory(s, false);
      for (int d = 0; d < m->nq; d++) s->qpos[d] = tgRe(s->qpos[d]);
      for (int d = 0; d < m->nv; d++) s->qvel[d] = tgRe(s->qvel[d]);
    }
    print_count("heap", &count);
    assert_int_equal(count.failed, 0);
    check_true(count.total >= 4 && count.active >= 3, "%d states, %d active", count.total, count.active);
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
}

// how the islands without a matrix were answered
typedef struct Answers { int sparse, near, found; } Answers;
static void count_answers(const tgSim *s, Answers *c) {
  for (int k = 0; k < s->nisland; k++) {
    const tgiLcpIsland *island = &tgi_lcp_work_of(s, 0)->island[k];
    if (!tgi_island_is_sparse(s, k)) continue;
    c->sparse++;
    c->near += island->lcp.anchored == TGI_NEAR_ANCHOR;
    c->found += island->lcp.anchored == TGI_AS_ANCHOR;
  }
}

// A step made again from its record has the same velocities and adjoint to the bit, whichever of its redundant forces it found and
// whether it found them itself or by the island's matrix. Whichever way, the conditions hold.
static void test_records(void **state) {
  (void)state;
  Answers count = {0};
  for (int rule = 0; rule < 2; rule++) {
    tgModel *m = heap_model(12, 2, 0.6);
    tgContact *c = contact_of(m, (tgContactRule)rule);
    tgSim *s = tg_sim_create(m, c, NULL, NULL);
    size_t nv = (size_t)m->nv;
    tgReal *g = malloc(9 * nv * sizeof *g), *x = g + 2 * nv, *y = x + 2 * nv, *q = y + 2 * nv, *v = q + 2 * nv;
    tgtRandom r = {5};
    s->dense_rows = 1;
    for (int i = 0; i < 60; i++) {
      bool solved;
      s->refused_solves = i % 4 == 3;
      step(s);
      s->refused_solves = 0;
      if (s->npart > 1 || s->nrow == 0) continue;
      count_answers(s, &count);
      if (rule == TG_RULE_TOUCHING) check_conditions(s);
      for (size_t d = 0; d < 2 * nv; d++) g[d] = tgt_normal(&r);
      assert_int_equal(tg_sim_step_vjp(s, g, g + nv, x, x + nv, NULL, NULL, NULL), TG_OK);
      void *record = malloc(tgi_step_record_bytes(s));
      tgi_step_record(s, record);
      memcpy(v, s->end.vel, nv * sizeof *v);
      memcpy(q, s->qpos, (size_t)m->nq * sizeof *q);
      memcpy(s->qpos, s->start.q, (size_t)m->nq * sizeof *q);
      memcpy(s->qvel, s->start.vel, nv * sizeof *v);
      assert_int_equal(tgi_step_revisit(s, h, record, &solved), TG_OK);
      assert_false(solved);
      assert_memory_equal(v, s->end.vel, nv * sizeof *v);
      assert_int_equal(tg_sim_step_vjp(s, g, g + nv, y, y + nv, NULL, NULL, NULL), TG_OK);
      assert_memory_equal(x, y, 2 * nv * sizeof *x);
      tgi_step_take(s);
      assert_memory_equal(q, s->qpos, (size_t)m->nq * sizeof *q);
      free(record);
    }
    free(g);
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
  check_true(count.sparse > 40 && count.near > 10, "%d islands, %d near forces found, %d as found", count.sparse, count.near, count.found);
  printf("%d islands, %d near forces found, %d as found\n", count.sparse, count.near, count.found);
}

// A heap of many redundant contacts: the conditions of every step hold by themselves, none falls back, whatever the stage. What no classes
// hold is labelled surrogate.
static void test_heap(void **state) {
  (void)state;
  Answers count = {0};
  tgModel *m = heap_model(36, 3, 0.5);
  tgContact *c = contact_of(m, TG_RULE_TOUCHING);
  tgSim *s = tg_sim_create(m, c, NULL, NULL);
  tgReal *g = calloc(4 * (size_t)m->nv, sizeof *g);
  s->dense_rows = 20;
  for (int i = 0; i < 70; i++) {
    Answers now = {0};
    tgGradInfo info;
    step(s);
    assert_int_equal(s->info.nfallback, 0);
    if (s->nrow == 0) continue;
    check_conditions(s);
    count_answers(s, &now);
    assert_int_equal(tg_sim_step_vjp(s, g, g, g + 2 * m->nv, g + 3 * m->nv, NULL, NULL, &info), TG_OK);
    if (now.found > 0) assert_int_equal(info.label, TG_GRAD_SURROGATE);
    count.sparse += now.sparse;
    count.near += now.near;
    count.found += now.found;
  }
  check_true(count.near > 20, "%d islands, %d near forces found, %d as found", count.sparse, count.near, count.found);
  printf("%d islands, %d near forces found, %d as found\n", count.sparse, count.near, count.found);
  free(g);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// A sim of the same model as s, with its state and what it remembers.
static tgSim *copy_of(const tgSim *s, const tgModel *m, const tgContact *c) {
  tgSim *other = tg_sim_create(m, c, NULL, NULL);
  void *snapshot = malloc(tg_sim_snapshot_size(s));
  other->dense_rows = s->dense_rows;
  assert_int_equal(tg_sim_reserve(other, s->cap.ncon, s->cap.nrow), TG_OK);
  tg_sim_save(s, snapshot);
  assert_int_equal(tg_sim_restore(other, snapshot), TG_OK);
  free(snapshot);
  return other;
}

// Forces of the step before: with them more steps of a heap that comes to rest are solved without a search; a snapshot has them, and steps
// with the same bits; without them, and by touching without classes too, a step comes to the same velocities.
static void test_kept_forces(void **state) {
  (void)state;
  int warm[2] = {0, 0}, known = 0, searched = 0;
  for (int rule = 0; rule < 2; rule++) {
    tgModel *m = heap_model(10, 3, 0.6);
    tgContact *c = contact_of(m, (tgContactRule)rule);
    tgSim *s = tg_sim_create(m, c, NULL, NULL);
    size_t nv = (size_t)m->nv;
    s->dense_rows = 1;
    for (int i = 0; i < 160; i++) {
      tgSim *same = copy_of(s, m, c), *less = copy_of(s, m, c), *none = copy_of(s, m, c);
      for (int k = 0; k < s->rows->mem_count[0]; k++)
        for (int e = 0; e < TG_MEM_FORCE; e++) {
          known += tgRe(s->rows->mem_force[k * TG_MEM_FORCE + e]) != 0;
          less->rows->mem_force[k * TG_MEM_FORCE + e] = none->rows->mem_force[k * TG_MEM_FORCE + e] = 0;
        }
      for (int k = 0; k < s->rows->mem_count[0]; k++)
        for (int e = 3; e < TG_MEM_CONTACT; e++) none->rows->mem_contact[k * TG_MEM_CONTACT + e] = 0;
      step(s);
      step(same);
      step(less);
      step(none);
      assert_memory_equal(s->qvel, same->qvel, nv * sizeof *s->qvel);
      assert_memory_equal(s->qpos, same->qpos, (size_t)m->nq * sizeof *s->qpos);
      double speed = 1;
      for (size_t d = 0; d < nv; d++) speed = fmax(speed, fabs(tgRe(s->vhat[d])));
      for (size_t d = 0; d < nv && s->npart <= 1 && s->info.nleft == 0; d++) {
        if (rule == TG_RULE_TOUCHING) check_close(s->qvel[d], none->qvel[d], 1e-8 * speed);
        check_close(s->qvel[d], less->qvel[d], 1e-8 * speed);
      }
      warm[0] += less->info.stage == TGI_LCP_WARM;
      warm[1] += s->info.stage == TGI_LCP_WARM;
      searched += none->info.stage == TGI_LCP_PIVOT;
      tg_sim_free(same);
      tg_sim_free(less);
      tg_sim_free(none);
    }
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
  check_true(known > 1000 && searched > 100 && warm[1] > warm[0] + 50,
             "%d forces known, %d steps searched, %d and %d warm", known, searched,
             warm[0], warm[1]);
  printf("%d steps searched without classes; %d warm without forces, %d with them\n", searched, warm[0], warm[1]);
}

// Rows of few degrees of freedom have a matrix, more of them than others: a raft of 64 feet. Where it slides its steps are those without
// one; where it spins as well, how its feet share the load moves it, and the conditions alone are asked for.
static void check_narrow(bool spins) {
  tgModel *m = raft_model(8, 0.4);
  tgContact *c = contact_of(m, TG_RULE_TOUCHING);
  tgSim *s = tg_sim_create(m, c, NULL, NULL), *other = tg_sim_create(m, c, NULL, NULL);
  int nv = m->nv, wide = 0;
  tg_sim_qvel(s)[0] = 1;
  tg_sim_qvel(s)[1] = 0.5;
  tg_sim_qvel(s)[5] = spins ? 2 : 0;
  other->dense_rows = 1;
  for (int i = 0; i < 20; i++) {
    step(s);
    if (s->nrow <= TGI_DENSE_ROWS) continue;
    wide++;
    assert_false(tgi_island_is_sparse(s, 0));
    check_conditions(s);
    assert_int_equal(s->info.fallback, 0);
    if (spins) continue;
    memcpy(other->qpos, s->start.q, (size_t)m->nq * sizeof *s->start.q);
    memcpy(other->qvel, s->start.vel, (size_t)nv * sizeof *s->start.vel);
    step(other);
    assert_true(tgi_island_is_sparse(other, 0));
    double speed = 1e-3;
    for (int d = 0; d < nv; d++) speed = fmax(speed, fabs(tgRe(s->end.vel[d])));
    for (int d = 0; d < nv; d++) check_close(s->end.vel[d], other->end.vel[d], 1e-6 * speed);
  }
  check_true(wide > 15, "%d steps of many rows", wide);
  tg_sim_free(s);
  tg_sim_free(other);
  tg_contact_free(c);
  tg_model_free(m);
}

static void test_narrow(void **state) {
  (void)state;
  check_narrow(false);
  check_narrow(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_narrow), cmocka_unit_test(test_twins),
                                     cmocka_unit_test(test_derivatives), cmocka_unit_test(test_records),
                                     cmocka_unit_test(test_heap), cmocka_unit_test(test_kept_forces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
