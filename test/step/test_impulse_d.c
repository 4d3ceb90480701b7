// test_impulse_d.c: the derivative of the new velocity of an impulse step in q, v and u, called apart from the step: by complex step,
// its adjoint by the dot test, on trees that meet every kind of row, with implicit and explicit damping, bouncing or not.
#include <stdlib.h>
#include <string.h>

#include "contact/zoo.h"
#include "step/impulse.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8;
#else
static const double tolerance = 1e-5;
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
  for (int i = 0; i < s->nrow && !c->switched; i++) c->switched = s->row_class[i] != c->cls[i];
  memcpy(y, s->v1, (size_t)m->nv * sizeof *y);
  return TG_OK;
}

typedef struct Seen { int total, active, bounced, deficient, null, failed, aside; double worst; } Seen;

static void check_state(tgSim *s, const char *name, tgtRandom *r, Seen *seen) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu, ties = 0;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(m->nq + nv + nu)), *D = malloc(sizeof(tgReal) * (size_t)(nv * nt + 3 * nt)), *z = D + nv * nt,
         *v = z + nt, *g = v + nt;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  tg_sim_freeze_memory(s, true);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status == TG_ERR_CAPACITY && tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow) == TG_OK) status = tg_sim_step(s, h, NULL);
  seen->failed += status != TG_OK;
  if (status == TG_OK) {
    Ctx c = {.s = s, .nrow = s->nrow};
    assert_true(s->nrow <= 200);
    tgReal *beta = malloc(sizeof(tgReal) * (size_t)(s->nrow + 1));
    bool active = false, bounced = false;
    for (int i = 0; i < s->nrow; i++) {
      c.cls[i] = s->row_class[i];
      active = active || (s->row_kind[i] == TG_ROW_NORMAL && tgRe(s->row_f[i]) > 0);
      bounced = bounced || tgRe(s->row_bounce[i]) != 0;
    }
    seen->null += s->nrow > 0 && s->contact_model->kind->null_part(s, beta);
    free(beta);
    assert_int_equal(tgi_impulse_jacobian(s, D, &ties), TG_OK);
    // the adjoint adds to what is there
    for (int i = 0; i < nt; i++) g[i] = i;
    tgt_random_vector(r, nv, z);
    tgt_random_vector(r, nt, v);
    assert_int_equal(tgi_impulse_vjp(s, z, g, g + nv, g + 2 * nv, &ties), TG_OK);
    for (int i = 0; i < nt; i++) g[i] -= i;
    tgt_check_adjoint(D, nv, nt, z, v, g);
    assert_int_equal(ties, 0);
    seen->deficient += s->info.rank_deficient;
    seen->active += active;
    seen->bounced += bounced;
    seen->total++;
    tgtDeriv d = {.name = name, .nx = m->nq + nv + nu, .nt = nt, .ny = nv, .map = map, .retract = retract, .ctx = &c, .tol = tolerance,
                  .step = 1e-6, .cols = (int[]){nv, nv, nu}, .ncols = 3};
    char message[256];
    tgiWorst worst = tgt_jacobian_error(&d, x, D, message);
    if (c.switched) seen->aside++;
    else {
      check_true(worst.error <= tolerance, "%s", message);
      if (worst.error > seen->worst) seen->worst = worst.error;
    }
  }
  tg_sim_freeze_memory(s, false);
  free(x);
  free(D);
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
  print_message("%-10s %d states: %d pressing, %d bouncing, %d redundant (%d with a split that acts), %d set aside, %d not solved; worst %.2g\n",
                name, seen.total, seen.active, seen.bounced, seen.deficient, seen.null, seen.aside, seen.failed, seen.worst);
  assert_int_equal(seen.failed, 0);
  check_true(2 * seen.active >= seen.total, "%d of %d states press", seen.active, seen.total);
  check_true(20 * seen.aside <= seen.total, "%d of %d states set aside", seen.aside, seen.total);
  if (restitution > 0) check_true(seen.bounced > 5, "%d states bounce", seen.bounced);
}

static void test_implicit(void **state) {
  (void)state;
  check_options("implicit", NULL, 0);
}
static void test_explicit(void **state) {
  (void)state;
  tgContactOptions o = tg_contact_default();
  o.explicit_damping = true;
  o.symplectic = false;
  o.erp = 0.05;
  check_options("explicit", &o, 0);
}
static void test_bouncing(void **state) {
  (void)state;
  check_options("bouncing", NULL, 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_implicit), cmocka_unit_test(test_explicit), cmocka_unit_test(test_bouncing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
