// test_fpenv.c: whatever rounding, flushing and traps the caller has set, steps and gradients have the same bits and the settings stay.
#include <string.h>
#include <xmmintrin.h>

#include "tangere/base.h"
#include "support/robots.h"
#include "tangere/rollout.h"

enum { T = 30 };

static uint64_t outcome(const tgModel *m, const tgContact *c) {
  tgRolloutOptions o = tg_rollout_default();
  o.steps = T;
  tgRollout *r = tg_rollout_create(m, c, &o, NULL);
  tgReal u[T * 6], q[(T + 1) * 9], D[18 * 24], g[18], d[24];
  // written out, as arithmetic here would itself depend on the rounding
  for (int i = 0; i < T * 6; i++) u[i] = i % 5 == 0 ? 0.5 : i % 3 == 0 ? -0.25 : 0.125;
  for (int i = 0; i < 18; i++) g[i] = 1;
  tgRolloutRun run = {.u = u, .q = q};
  tgRolloutResult result;
  assert_int_equal(tg_rollout_run(r, &run, &result), TG_OK);
  uint64_t hash = tg_hash(TG_HASH_START, q, sizeof q);
  tgSim *s = tg_sim_create(m, c, NULL, NULL);
  memcpy(tg_sim_qpos(s), q + (T - 5) * 9, 9 * sizeof(tgReal));
  for (int t = 0; t < 5; t++) {
    memcpy(tg_sim_ctrl(s), u + t * 6, 6 * sizeof(tgReal));
    assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(s, g, g + 9, d, d + 9, d + 18, NULL, NULL), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
    hash = tg_hash(hash, d, sizeof d);
    hash = tg_hash(hash, D, sizeof D);
  }
  assert_int_equal(tg_sim_forward(s), TG_OK);
  tgReal M[81];
  assert_int_equal(tg_sim_dense(s, "M", M, NULL, NULL), TG_OK);
  hash = tg_hash(hash, M, sizeof M);
  tg_sim_free(s);
  tg_rollout_free(r);
  return hash;
}

static void settings_change_nothing(void **state) {
  (void)state;
  tgModel *m = tgt_runner();
  tgContact *c = tgt_contact(m);
  unsigned before = _mm_getcsr();
  uint64_t golden = outcome(m, c);
  // flush to zero with denormals are zero; up; down; towards zero; invalid and division by zero trap
  const unsigned settings[] = {0x9FC0u, 0x5F80u, 0x3F80u, 0x7F80u, 0x1D00u};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    _mm_setcsr(settings[i]);
    uint64_t got = outcome(m, c);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    check_true((after & ~0x3Fu) == settings[i], "settings %x became %x", settings[i], after);
    check_true(got == golden, "bits differ under MXCSR %x", settings[i]);
  }
  tg_contact_free(c);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(settings_change_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
