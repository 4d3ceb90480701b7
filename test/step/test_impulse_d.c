// test_impulse_d.c: the derivative of the new velocity of an impulse step in q, v and u, called apart from the step: by complex step,
// its adjoint by the dot test, on trees that meet every kind of row, with implicit and explicit damping, bouncing or not, and on scenes
// with redundant contacts.
#include <stdlib.h>
#include <string.h>

#include "contact/zoo.h"
#include "step/impulse.h"
#include "step/scene_states.h"
#include "tangere/lcp.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8, zero_block = 1e-4;
#else
static const double tolerance = 1e-5, zero_block = 1e-2;
#endif
static const double h = 0.004;
enum { STATES = 4 };

typedef struct Ctx { tgSim *s; int nrow; bool switched; int cls[200]; } Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Ctx *)ctx)->s->m;
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}
static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) return status;
  if (s->nrow != c->nrow) c->switched = true;
  for (int i = 0; i < s->nrow && !c->switched; i++) c->switched = s->rows->class[i] != c->cls[i];
  memcpy(y, s->end.vel, (size_t)m->nv * sizeof *y);
  return TG_OK;
}

typedef struct Seen { int total, active, bounced, deficient, null, failed, aside; double worst; } Seen;

// worst of the three blocks; where contacts hold a body fast a block is zero, which is compared with zero_block
static double compare(Ctx *c, const tgReal *x, const tgReal *D, const char *name, char message[256]) {
  const tgModel *m = &c->s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu, width[3] = {nv, nv, nu};
  tgiNumDiff n = {.nx = m->nq + nv + nu, .nt = nt, .ny = nv, .map = map, .retract = retract, .ctx = c, .step = 1e-6, .analytic = true};
  tgReal *work = malloc(sizeof(tgReal) * (tgi_numdiff_work(&n) + (size_t)nt)), *t = work + tgi_numdiff_work(&n);
  double *column = malloc(sizeof(double) * 2 * (size_t)nv), *R = malloc(sizeof(double) * (size_t)(nv * nt)), worst = 0;
  for (int j = 0; j < nt; j++) {
    for (int i = 0; i < nt; i++) t[i] = i == j;
    assert_int_equal(tgi_numdiff(&n, x, t, TGI_SIDE_BOTH, column, column + nv, work), TG_OK);
    for (int i = 0; i < nv; i++) R[i * nt + j] = column[i];
  }
  for (int b = 0, at = 0; b < 3; at += width[b++]) {
    if (width[b] == 0) continue;
    tgiWorst w = tgi_block_error(D + at, nt, R + at, nt, nv, width[b]);
    double biggest = 0;
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < width[b]; j++) biggest = fmax(biggest, fabs(R[i * nt + at + j]));
    double error = biggest < zero_block ? fabs(w.ours - w.reference) / zero_block : w.error;
    if (!isfinite(error)) error = HUGE_VAL;
    if (error <= worst) continue;
    worst = error;
    snprintf(message, 256, "%s: block %d entry (%d, %d) is %.17g, differences give %.17g", name, b, w.row, w.col, w.ours, w.reference);
  }
  free(R);
  free(column);
  free(work);
  return worst;
}

static void check_state(tgSim *s, const char *name, tgtRandom *r, Seen *seen) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu, clamps = 0;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(m->nq + nv + nu)),
         *D = malloc(sizeof(tgReal) * (size_t)(nv * nt + 3 * nt)), *z = D + nv * nt, *v = z + nt, *g = v + nt;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  // one step makes the memory, then it is frozen and the step is taken again
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status == TG_ERR_CAPACITY && tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow) == TG_OK) status = tg_sim_step(s, h, NULL);
  tg_sim_freeze_memory(s, true);
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)nv * sizeof *x);
  if (status == TG_OK) status = tg_sim_step(s, h, NULL);
  seen->failed += status != TG_OK;
  if (status == TG_OK) {
    Ctx c = {.s = s, .nrow = s->nrow};
    assert_true(s->nrow <= 200);
    tgReal *beta = malloc(sizeof(tgReal) * (size_t)(s->nrow + 1));
    bool active = false, bounced = false;
    for (int i = 0; i < s->nrow; i++) {
      c.cls[i] = s->rows->class[i];
      active = active || (s->rows->kind[i] == TG_ROW_NORMAL && tgRe(s->rows->f[i]) > 0);
      bounced = bounced || tgRe(s->rows->bounce[i]) != 0;
    }
    seen->null += s->nrow > 0 && s->contact_model->kind->rows->null_part(s, false, beta);
    free(beta);
    assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
    assert_int_equal(tgi_impulse_jacobian(s, D, &clamps), TG_OK);
    // the adjoint adds to what is there
    for (int i = 0; i < nt; i++) g[i] = i;
    tgt_random_vector(r, nv, z);
    tgt_random_vector(r, nt, v);
    tgiAdjoint o = {.gq = g, .gv = g + nv, .gu = g + 2 * nv, .clamps = &clamps};
    assert_int_equal(tgi_impulse_vjp(s, z, &o), TG_OK);
    for (int i = 0; i < nt; i++) g[i] -= i;
    tgt_check_adjoint(D, nv, nt, z, v, g);
    assert_int_equal(clamps, 0);
    seen->deficient += s->info.rank_deficient;
    seen->active += active;
    seen->bounced += bounced;
    seen->total++;
    char message[256];
    double worst = compare(&c, x, D, name, message);
    if (c.switched) seen->aside++;
    else {
      check_true(worst <= tolerance, "%s", message);
      if (worst > seen->worst) seen->worst = worst;
    }
  }
  tg_sim_freeze_memory(s, false);
  free(x);
  free(D);
}

static void print_seen(const char *name, const Seen *s) {
  print_message("%-10s %d states: %d pressing, %d bouncing, %d redundant (%d with a split that acts), %d set aside, %d "
                "not solved; worst %.2g\n", name, s->total, s->active, s->bounced, s->deficient, s->null, s->aside,
                s->failed, s->worst);
}

// whose derivative these are: that of one problem
static tgLcpOptions touching(void) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;
  return o;
}
static tgContact *contact_of(const tgModel *m, tgError *e) {
  tgLcpOptions o = touching();
  return tg_contact_create(m, "lcp", &o.of, e);
}

static void check_options(const char *name, const tgContactOptions *o, double restitution) {
  Seen seen = {0};
  for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++)
    for (int k = 0; k < STATES; k++) {
      char label[64];
      snprintf(label, sizeof label, "%s pair %d state %d", name, pair, k);
      tgtZoo z = tgt_zoo(pair, (uint64_t)k + 40, o, restitution);
      tgtRandom r = {.s = 100u * (unsigned)pair + (unsigned)k};
      tgt_zoo_state(&z, &r, k == 3, 0.05, 0.002);
      check_state(z.s, label, &r, &seen);
      tgt_zoo_free(&z);
    }
  print_seen(name, &seen);
  assert_int_equal(seen.failed, 0);
  check_true(2 * seen.active >= seen.total, "%d of %d states press", seen.active, seen.total);
  check_true(20 * seen.aside <= seen.total, "%d of %d states set aside", seen.aside, seen.total);
  if (restitution > 0) check_true(seen.bounced > 5, "%d states bounce", seen.bounced);
}

static void test_minimise(void **state) {
  (void)state;
  tgLcpOptions o = touching();
  check_options("implicit", &o.of, 0);
}
static void test_explicit(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.explicit_damping = true;
  o.symplectic = false;
  o.erp = 0.05;
  check_options("explicit", &o.of, 0);
}
static void test_bouncing(void **state) {
  (void)state;
  tgLcpOptions o = touching();
  check_options("bouncing", &o.of, 0.5);
}

// states reached by simulation
static void test_scenes(void **state) {
  (void)state;
  Seen seen = {0};
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    tgError e = {0};
    tgModel *m = tgs_model((tgsScene)scene, &e);
    check_true(m != NULL, "%s", e.text);
    tgContact *contact = contact_of(m, &e);
    tgSim *s = tg_sim_create(m, contact, NULL, &e);
    check_true(s != NULL, "%s", e.text);
    for (int k = 0; k < 12; k++) {
      tgtRandom r = {.s = (unsigned)k};
      assert_int_equal(tgt_scene_state(s, (tgsScene)scene, k, h), TG_OK);
      check_state(s, tgs_name((tgsScene)scene), &r, &seen);
    }
    tg_sim_free(s);
    tg_contact_free(contact);
    tg_model_free(m);
  }
  print_seen("scenes", &seen);
  assert_int_equal(seen.failed, 0);
  check_true(seen.active > seen.total / 2 && seen.deficient > 0, "%d press, %d redundant", seen.active, seen.deficient);
}

// a box flat on the floor that slides and spins: the split of its four redundant normal forces decides
static void test_spinning(void **state) {
  (void)state;
  Seen seen = {0};
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.4);
  tgs_free_body(d, "box", (double[]){0, 0, 0.0999}, TG_GEOM_BOX, (double[]){0.3, 0.2, 0.1}, 2, 0.4);
  tgError e = {0};
  tgModel *m = tgs_compile(d, &e);
  check_true(m != NULL, "%s", e.text);
  tgContact *contact = contact_of(m, &e);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  for (int k = 0; k < 12; k++) {
    tgtRandom r = {.s = (unsigned)k};
    tgReal w[6] = {tgt_normal(&r), tgt_normal(&r), -0.002, 0, 0, tgt_normal(&r)};
    tg_sim_reset(s);
    tg_model_integrate(m, s->qpos, w, s->qpos);
    s->qvel[0] = 0.3 * tgt_normal(&r);
    s->qvel[1] = 0.3 * tgt_normal(&r);
    s->qvel[5] = 2 * tgt_normal(&r);
    check_state(s, "spinning box", &r, &seen);
  }
  print_seen("spinning", &seen);
  assert_int_equal(seen.failed, 0);
  check_true(seen.null >= 4, "%d splits that act", seen.null);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_minimise), cmocka_unit_test(test_explicit), cmocka_unit_test(test_bouncing),
                                     cmocka_unit_test(test_scenes), cmocka_unit_test(test_spinning)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
