// test_batch_variants.c: one batch over bodies of different geometry on one kinematic tree: each run is what it is
// alone, gradient included, on any number of threads; models of other trees are refused by name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/reach.h"
#include "support/robots.h"
#include "tangere/desc.h"
#include "tangere/rollout.h"

enum { SHAPES = 4, RUNS = 20, T = 40, NQ = 7, NU = 3 };

// one body on a joint over the ground, with `motors` along its first axis, or its three
static tgModel *body(tgGeomType shape, double size, tgJointType joint, int motors, int bodies) {
  tgDesc *d = tg_desc_create(NULL);
  tgError error = {0};
  assert_non_null(d);
  d->option.timestep = 0.01;
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  int parent = 0, root = -1;
  for (int i = 0; i < bodies; i++) {
    int b = tg_desc_add_body(d, parent, i == 0 ? "body" : "other"),
        j = tg_desc_add_joint(d, b, i == 0 ? joint : TG_JOINT_HINGE, i == 0 ? "root" : "elbow");
    int g = tg_desc_add_geom(d, b, shape, i == 0 ? "skin" : "other_skin");
    d->body[b].pos[2] = 0.3;
    d->joint[j].axis[0] = 1;
    for (int k = 0; k < 3; k++) d->geom[g].size[k] = size * (1 + 0.2 * k);
    d->geom[g].mass = 1;
    if (i == 0) root = j;
    parent = b;
  }
  for (int k = 0; k < motors; k++) {
    char name[24];
    snprintf(name, sizeof name, "motor%d", k);
    int a = tg_desc_add_actuator(d, TG_TRN_JOINT, root, name);
    for (int i = 0; i < 6; i++) d->actuator[a].gear[i] = i == (joint == TG_JOINT_FREE ? k : 0);
  }
  tgModel *m = tg_model_compile(d, NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tg_desc_free(d);
  return m;
}

typedef struct Many {
  tgModel *m[SHAPES];
  tgContact *c[SHAPES];
  tgtReach reach;
  tgRolloutRun run[RUNS];
  tgRolloutResult result[RUNS];
  tgReal u[RUNS][T * NU], q[RUNS][(T + 1) * NQ], du[RUNS][T * NU];
} Many;

static void set(Many *b, int first, int last) {
  for (int i = first; i < last; i++) {
    for (int k = 0; k < T * NU; k++) b->u[i][k] = k % NU == 2 ? -2 : 3 * cos(i + 0.1 * k);
    memset(b->q[i], 0, sizeof b->q[i]);
    memset(b->du[i], 0, sizeof b->du[i]);
    b->run[i] = (tgRolloutRun){.u = b->u[i], .q = b->q[i], .du = b->du[i], .loss = tgt_reach, .loss_ctx = &b->reach,
                               .variant = (7 * i) % SHAPES};
  }
}

static void test_variants(void **state) {
  (void)state;
  static const tgGeomType shape[SHAPES] = {TG_GEOM_SPHERE, TG_GEOM_BOX, TG_GEOM_CAPSULE, TG_GEOM_SPHERE};
  static const double size[SHAPES] = {0.1, 0.12, 0.08, 0.2};
  Many *b = calloc(1, sizeof *b), *alone = calloc(1, sizeof *b);
  tgRolloutOptions o = tg_rollout_default();
  tgError error = {0};
  assert_true(b != NULL && alone != NULL);
  o.steps = T;
  for (int s = 0; s < SHAPES; s++) {
    b->m[s] = body(shape[s], size[s], TG_JOINT_FREE, NU, 1);
    b->c[s] = tgt_contact(b->m[s]);
  }
  b->reach = (tgtReach){.body = 1, .target = {1, 0, 1}, .running = 1, .final = 10, .speed = 1e-3, .control = 1e-3};
  *alone = *b;
  set(alone, 0, RUNS);
  for (int i = 0; i < RUNS; i++) {
    int s = alone->run[i].variant;
    tgRollout *r = tg_rollout_create(b->m[s], b->c[s], &o, &error);
    assert_non_null(r);
    assert_int_equal(tg_rollout_run(r, &alone->run[i], &alone->result[i]), TG_OK);
    tg_rollout_free(r);
  }
  // the geometry counts: bodies land at different heights
  check_true(fabs(tgRe(alone->q[0][T * NQ + 2] - alone->q[1][T * NQ + 2])) > 0.01, "the shapes come to rest alike");
  for (int threads = 1; threads <= 3; threads++) {
    tgBatch *batch = tg_batch_create_variants(SHAPES, (const tgModel *const *)b->m, (const tgContact *const *)b->c, &o, threads, &error);
    if (batch == NULL) fail_msg("%s", error.text);
    set(b, 0, RUNS);
    assert_int_equal(tg_batch_run(batch, RUNS, b->run, b->result), TG_OK);
    for (int i = 0; i < RUNS; i++)
      check_true(b->result[i].status == TG_OK && b->result[i].loss == alone->result[i].loss &&
                 memcmp(b->q[i], alone->q[i], sizeof b->q[i]) == 0 &&
                 memcmp(b->du[i], alone->du[i], sizeof b->du[i]) == 0, "run %d differs on %d threads", i, threads);
    b->run[3].variant = SHAPES;
    assert_int_equal(tg_batch_run(batch, RUNS, b->run, b->result), TG_ERR_ARG);
    b->run[3].variant = -1;
    assert_int_equal(tg_batch_run(batch, RUNS, b->run, b->result), TG_ERR_ARG);
    tg_batch_free(batch);
  }
  for (int s = 0; s < SHAPES; s++) {
    tg_contact_free(b->c[s]);
    tg_model_free(b->m[s]);
  }
  free(b);
  free(alone);
}

static void test_refused(void **state) {
  (void)state;
  struct { tgModel *m; const char *says; } other[] = {
      {body(TG_GEOM_SPHERE, 0.1, TG_JOINT_FREE, NU, 2), "bodies"},  {body(TG_GEOM_SPHERE, 0.1, TG_JOINT_HINGE, NU, 1), "coordinates"},
      {body(TG_GEOM_SPHERE, 0.1, TG_JOINT_FREE, 2, 1), "controls"}};
  tgModel *slide[2] = {body(TG_GEOM_SPHERE, 0.1, TG_JOINT_HINGE, 1, 1), body(TG_GEOM_SPHERE, 0.1, TG_JOINT_SLIDE, 1, 1)};
  tgModel *first = body(TG_GEOM_SPHERE, 0.1, TG_JOINT_FREE, NU, 1);
  tgContact *c = tgt_contact(first);
  for (int i = 0; i < 3; i++) {
    tgError error = {0};
    tgContact *k[2] = {c, tgt_contact(other[i].m)};
    const tgModel *m[2] = {first, other[i].m};
    assert_null(tg_batch_create_variants(2, m, (const tgContact *const *)k, NULL, 1, &error));
    assert_int_equal(error.status, TG_ERR_ARG);
    check_true(strstr(error.text, other[i].says) != NULL && strstr(error.text, "model 1") != NULL, "%s", error.text);
    tg_contact_free(k[1]);
    tg_model_free(other[i].m);
  }
  tgError error = {0};
  tgContact *k[2] = {tgt_contact(slide[0]), tgt_contact(slide[1])};
  assert_null(tg_batch_create_variants(2, (const tgModel *const *)slide, (const tgContact *const *)k, NULL, 1, &error));
  check_true(strstr(error.text, "root") != NULL && strstr(error.text, "type") != NULL, "%s", error.text);
  assert_null(tg_batch_create_variants(0, NULL, NULL, NULL, 1, &error));
  assert_int_equal(error.status, TG_ERR_ARG);
  for (int i = 0; i < 2; i++) {
    tg_contact_free(k[i]);
    tg_model_free(slide[i]);
  }
  tg_contact_free(c);
  tg_model_free(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
