// test_islands.c: what acts on what, and islands solved apart against one solve of everything.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/islands.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/check.h"
#include "tangere/lcp.h"

static const double h = 0.005;

static int hinge_link(tgDesc *d, int parent, const char *name, double x, double y, double z) {
  int b = tg_desc_add_body(d, parent, name), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, name),
      g = tg_desc_add_geom(d, b, TG_GEOM_CAPSULE, name);
  memcpy(d->body[b].pos, (double[]){x, y, z}, sizeof d->body[b].pos);
  memcpy(d->joint[j].axis, (double[]){0, 1, 0}, sizeof d->joint[j].axis);
  memcpy(d->geom[g].size, (double[]){0.03, 0.1, 0}, sizeof d->geom[g].size);
  memcpy(d->geom[g].pos, (double[]){0, 0, -0.13}, sizeof d->geom[g].pos);
  d->geom[g].mass = 0.5;
  d->joint[j].limited = TG_LIMITED_YES;
  d->joint[j].range[0] = -0.3;
  d->joint[j].range[1] = 0.3;
  d->joint[j].frictionloss = 0.01;
  return b;
}

// Two arms on one post, their links given in turn (so that the dofs of the two trees alternate), which a wall stops; a third joined to a
// fourth by a tendon; two boxes and two spheres on the floor, one box on another, and two more boxes pinned to each other in the air.
static tgModel *mixed_model(void) {
  tgDesc *d = tg_desc_create(NULL);
  const double box[3] = {0.1, 0.15, 0.1}, ball[3] = {0.1, 0, 0};
  tgs_plane(d, 0.6);
  int post = tg_desc_add_body(d, 0, "post"), link[4][2];
  memcpy(d->body[post].pos, (double[]){0, 5, 1}, sizeof d->body[post].pos);
  for (int k = 0; k < 2; k++)
    for (int arm = 0; arm < 2; arm++)
      link[arm][k] = hinge_link(d, k == 0 ? post : link[arm][0], NULL, 0, k == 0 ? arm : 0, k == 0 ? 0 : -0.26);
  for (int arm = 2; arm < 4; arm++) link[arm][0] = hinge_link(d, post, NULL, 0, arm, 0);
  int t = tg_desc_add_tendon(d, "across", (int[]){4, 5}, (double[]){1, -1}, 2);
  d->tendon[t].stiffness = 3;
  d->tendon[t].frictionloss = 0.02;
  tgs_free_body(d, "a", (double[]){0, 0, 0.1}, TG_GEOM_BOX, box, 2, 0.5);
  tgs_free_body(d, "b", (double[]){1, 0, 0.1}, TG_GEOM_BOX, box, 1, 0.5);
  tgs_free_body(d, "on b", (double[]){1, 0, 0.3}, TG_GEOM_BOX, box, 1, 0.5);
  tgs_free_body(d, "ball", (double[]){2, 0, 0.1}, TG_GEOM_SPHERE, ball, 0.5, 0.5);
  tgs_free_body(d, "ball 2", (double[]){3, 0, 0.1}, TG_GEOM_SPHERE, ball, 3, 0.5);
  int p = tgs_free_body(d, "p", (double[]){4, 0, 3}, TG_GEOM_BOX, box, 1, 0.5);
  int q = tgs_free_body(d, "q", (double[]){4, 0, 3.3}, TG_GEOM_BOX, box, 1, 0.5);
  int e = tg_desc_add_equality(d, TG_EQ_CONNECT, p, q, "pin");
  memcpy(d->equality[e].anchor, (double[]){0, 0, 0.15}, sizeof d->equality[e].anchor);
  tgError error = {0};
  tgModel *m = tgs_compile(d, &error);
  if (m == NULL) fail_msg("%s", error.text);
  return m;
}

static void thrown(tgSim *s, tgtRandom *r) {
  tg_sim_reset(s);
  tgt_nudge(s, r, 0.002, 0.2);
  for (int i = 0; i < 4; i++) s->qvel[i] += (i % 2 == 0 ? 2 : -2) * tgt_uniform(r, 0, 2);
}

static double size_of(const tgReal *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(x[i])));
  return most;
}

// The lists hold every row and dof once, J Mh^-1 solved for the dense rows is what is kept of it, and A of one solve is
// 0 between islands and the blocks within.
static void check_lists(const tgSim *s, const tgSim *whole) {
  int nv = s->m.nv, dofs = 0;
  assert_int_equal(s->rows->island_adr[s->nisland], s->nrow);
  assert_int_equal(whole->nisland, 1);
  assert_int_equal(whole->nrow, s->nrow);
  for (int d = 0; d < nv; d++) dofs += s->rows->dof_island[d] >= 0;
  assert_int_equal(s->rows->island_dofadr[s->nisland], dofs);
  for (int k = 0; k < s->nisland; k++) {
    for (int a = s->rows->island_adr[k]; a < s->rows->island_adr[k + 1]; a++) {
      int i = s->rows->island_row[a];
      assert_int_equal(s->rows->island[i], k);
      assert_int_equal(s->rows->place[i], a - s->rows->island_adr[k]);
    }
    for (int a = s->rows->island_dofadr[k]; a < s->rows->island_dofadr[k + 1]; a++)
      assert_int_equal(s->rows->dof_island[s->rows->island_dof[a]], k);
  }
  double most = size_of(whole->rows->A, s->nrow * s->nrow);
  tgReal *J = calloc((size_t)(2 * s->nrow + 1) * (size_t)nv, sizeof *J), *MiJ = J + s->nrow * nv, *x = MiJ + s->nrow * nv;
  int rows, cols;
  assert_int_equal(tg_sim_dense(s, "row_J", J, &rows, &cols), TG_OK);
  assert_int_equal(tg_sim_dense(s, "row_MiJ", MiJ, NULL, NULL), TG_OK);
  assert_int_equal(rows, s->nrow);
  assert_int_equal(cols, nv);
  for (int i = 0; i < s->nrow; i++) {
    for (int d = 0; d < nv; d++)
      if (J[i * nv + d] != 0) assert_int_equal(s->rows->dof_island[d], s->rows->island[i]);
    memcpy(x, J + i * nv, (size_t)nv * sizeof *x);
    tgi_factor_solve(&s->m, s->L, x);
    for (int d = 0; d < nv; d++) check_close(MiJ[i * nv + d], x[d], 1e-13 * size_of(x, nv));
    for (int k = 0; k < s->nrow; k++) {
      tgReal sum = 0;
      for (int d = 0; d < nv; d++) sum += J[i * nv + d] * MiJ[k * nv + d];
      check_close(*tgi_row_A(whole, i, k), sum, 1e-13 * most);
      if (s->rows->island[i] == s->rows->island[k]) check_close(*tgi_row_A(s, i, k), sum, 1e-13 * most);
      else check_close(sum, 0, 0);
    }
  }
  free(J);
}

static tgStatus step_grown(tgSim *s) {
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_ERR_CAPACITY) return status;
  assert_int_equal(tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow), TG_OK);
  return tg_sim_step(s, h, NULL);
}

// Impulses to 1e-9 of the largest of the island, Jacobian and adjoint to 1e-9 of their largest number
static void check_same(tgSim *s, tgSim *whole, tgtRandom *r) {
  int nv = s->m.nv, nt = 2 * nv + s->m.nu, size = 2 * nv * nt;
  for (int i = 0; i < s->nrow; i++) {
    double most = 0;
    for (int k = 0; k < s->nrow; k++)
      if (s->rows->island[k] == s->rows->island[i]) most = fmax(most, fabs(tgRe(s->rows->f[k])));
    check_close(s->rows->f[i], whole->rows->f[i], 1e-9 * most);
  }
  check_true(s->nrow > 0, "no rows");
  tgReal *D = malloc(sizeof *D * (size_t)(2 * size + 8 * nt)), *E = D + size, *g = E + size, *x = g + 2 * nv, *y = x + nt;
  assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(whole, E, NULL), TG_OK);
  double most = size_of(E, size);
  for (int i = 0; i < size; i++) check_close(D[i], E[i], 1e-9 * most);
  for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(r);
  assert_int_equal(tg_sim_step_vjp(s, g, g + nv, x, x + nv, x + 2 * nv, NULL, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(whole, g, g + nv, y, y + nv, y + 2 * nv, NULL, NULL), TG_OK);
  most = size_of(y, nt);
  for (int i = 0; i < nt; i++) check_close(x[i], y[i], 1e-9 * most);
  free(D);
}

// Falling, sliding and resting states of the mixed model: 8 islands at most; both solves start from the same state and
// memory. What redundant contacts share is settled by the classes of tied rows, which one solve of everything tries
// together, and where some of them slide the motion depends on it: velocities of the two solves are compared where
// their classes agree, impulses and derivatives always, at the classes that the islands chose.
static void test_against_one_solve(void **state) {
  (void)state;
  tgModel *m = mixed_model();
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;   // one problem, of rows at a pose that both have to the bit
  tgContact *c = tg_contact_create(m, "lcp", &o.of, NULL);
  tgSim *s = tg_sim_create(m, c, NULL, NULL), *whole = tg_sim_create(m, c, NULL, NULL);
  assert_true(s != NULL && whole != NULL);
  whole->one_island = true;
  assert_int_equal(tg_sim_reserve(s, 64, 400), TG_OK);
  assert_int_equal(tg_sim_reserve(whole, 64, 400), TG_OK);
  void *snapshot = malloc(tg_sim_snapshot_size(s)), *after = malloc(tg_sim_snapshot_size(s));
  int most = 0, states = 0, alike = 0;
  for (int seed = 0; seed < 6; seed++) {
    tgtRandom r = {.s = 40u + (unsigned)seed};
    thrown(s, &r);
    for (int i = 0; i < 60; i++) {
      tg_sim_save(s, snapshot);
      if (step_grown(s) != TG_OK) fail_msg("%s", s->error.text);
      if (i % 6 != 5) continue;
      assert_int_equal(tg_sim_restore(whole, snapshot), TG_OK);
      if (step_grown(whole) != TG_OK) fail_msg("%s", whole->error.text);
      states++;
      if (memcmp(s->rows->class, whole->rows->class, (size_t)s->nrow * sizeof *s->rows->class) == 0) {
        alike++;
        for (int d = 0; d < m->nv; d++) check_close(s->end.vel[d], whole->end.vel[d], 1e-9 * (1 + size_of(s->end.vel, m->nv)));
      }
      tg_sim_save(s, after);
      assert_int_equal(tg_sim_restore(whole, after), TG_OK);
      memcpy(whole->qpos, s->start.q, (size_t)m->nq * sizeof *s->start.q);
      memcpy(whole->qvel, s->start.vel, (size_t)m->nv * sizeof *s->start.vel);
      whole->pinned = true;
      assert_int_equal(step_grown(whole), TG_OK);
      whole->pinned = false;
      check_lists(s, whole);
      check_same(s, whole, &r);
      if (s->nisland > most) most = s->nisland;
    }
  }
  // arms 1 and 2, the two that the tendon joins, box a, boxes b and on b, two balls, the pinned boxes
  assert_int_equal(most, 8);
  check_true(2 * alike > states, "classes agree in %d of %d states", alike, states);
  assert_int_equal(s->info.nisland, s->nisland);
  free(snapshot);
  free(after);
  tg_sim_free(s);
  tg_sim_free(whole);
  tg_contact_free(c);
  tg_model_free(m);
}

// Bodies that cannot move join nothing; each body is solved as if alone, whatever the others weigh: to the bit
static void test_alone(void **state) {
  (void)state;
  const double box[3] = {0.1, 0.15, 0.1};
  tgReal alone[13];
  for (int count = 1; count < 5; count += 3) {
    tgDesc *d = tg_desc_create(NULL);
    tgs_plane(d, 0.6);
    for (int b = 0; b < count; b++) tgs_free_body(d, NULL, (double[]){b, 0, 0.1}, TG_GEOM_BOX, box, b == 0 ? 1 : 1e7, 0.5);
    tgModel *m = tgs_compile(d, NULL);
    tgContact *c = tg_contact_create(m, "lcp", NULL, NULL);
    tgSim *s = tg_sim_create(m, c, NULL, NULL);
    assert_non_null(s);
    tg_sim_reserve(s, 32, 100);
    for (int b = 0; b < count; b++) s->qvel[6 * b] = 0.8;
    for (int i = 0; i < 40; i++) {
      assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
      assert_int_equal(s->info.nisland, count);
    }
    if (count == 1) {
      memcpy(alone, s->qpos, 7 * sizeof *alone);
      memcpy(alone + 7, s->qvel, 6 * sizeof *alone);
    } else {
      assert_memory_equal(alone, s->qpos, 7 * sizeof *alone);
      assert_memory_equal(alone + 7, s->qvel, 6 * sizeof *alone);
    }
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_one_solve), cmocka_unit_test(test_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
