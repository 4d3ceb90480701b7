// test_alloc.c: a step, its adjoint and its Jacobian take no memory from the system.
//
// The allocator of the C library is stood in for by one that counts; sanitizers bring their own, so there nothing is counted.
#include <stdio.h>
#include <stdlib.h>

#include "contact/contact.h"
#include "scenes/scenes.h"
#include "scene_states.h"
#include "step/activated.h"
#include "step/made_up.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED 0
#else
#define COUNTED 1
#endif
#else
#define COUNTED 1
#endif

static long taken;

#if COUNTED
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { taken++; return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { taken++; return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { taken++; return __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { taken++; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { taken++; *p = __libc_memalign(a, n); return *p == NULL ? 12 : 0; }
#endif

static void test_steps(void **state) {
  (void)state;
#if COUNTED
  // the counter counts
  long before = taken;
  void *volatile probe = malloc(16);
  free(probe);
  assert_int_equal(taken, before + 1);
#endif
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    tgError e = {0};
    tgModel *m = tgs_model((tgsScene)scene, &e);
    tgContact *c = tg_contact_create(m, "lcp", NULL, &e);
    tgSim *s = tg_sim_create(m, c, NULL, &e);
    check_true(s != NULL, "%s", e.text);
    int nt = 2 * m->nv + m->nu;
    tgReal *D = malloc(sizeof(tgReal) * (size_t)(2 * m->nv * nt + 2 * m->nv + nt)), *g = D + 2 * m->nv * nt, *out = g + 2 * m->nv;
    for (int i = 0; i < 2 * m->nv; i++) g[i] = 1;
    assert_int_equal(tgt_scene_state(s, (tgsScene)scene, 5, 0.005), TG_OK);
    long start = taken;
    int rows = 0;
    for (int k = 0; k < 40; k++) {
      tgStepInfo info;
      tgGradInfo grad;
      tgStatus status[3] = {tg_sim_step(s, 0.005, &info), TG_OK, TG_OK};
      if (status[0] == TG_OK) status[1] = tg_sim_step_vjp(s, g, g + m->nv, out, out + m->nv, out + 2 * m->nv, NULL, &grad);
      if (status[0] == TG_OK) status[2] = tg_sim_step_jacobian(s, D, &grad);
      rows += info.nrow;
      const tgStepInfo *kept = tg_sim_step_info(s);   // derivatives go back into the step, whose account is as it was
      check_true(kept->nrow == info.nrow && kept->iterations == info.iterations && kept->rank == info.rank && kept->stage == info.stage &&
                     kept->least_distance == info.least_distance && kept->residual == info.residual && kept->ncontact == info.ncontact &&
                     kept->nisland == info.nisland && kept->nimpact == info.nimpact && kept->ncut == info.ncut &&
                     kept->ndamped == info.ndamped && kept->energy_gained == info.energy_gained &&
                     kept->push_energy == info.push_energy && kept->scratch_high == info.scratch_high && kept->nleft == info.nleft &&
                     kept->converged == info.converged && kept->body1 == info.body1 && kept->body2 == info.body2 &&
                     kept->rank_deficient == info.rank_deficient && kept->fallback == info.fallback && kept->burst == info.burst,
                 "%s: the step's account has changed", tgs_name((tgsScene)scene));
      if (status[0] != TG_OK || status[1] != TG_OK || status[2] != TG_OK) fail_msg("%s: %s", tgs_name((tgsScene)scene), s->error.text);
    }
    check_true(taken == start, "%s: %ld allocations in 40 steps", tgs_name((tgsScene)scene), taken - start);
    check_true(rows > 0, "%s met no contact", tgs_name((tgsScene)scene));
    free(D);
    tg_sim_free(s);
    tg_contact_free(c);
    tg_model_free(m);
  }
}

static void test_minimise(void **state) {
  (void)state;
  tgError e = {0};
  tgModel *m = tgt_random_tree(9, 5, TGT_TREE_FREE | TGT_TREE_PASSIVE | TGT_TREE_ACTUATED | TGT_TREE_ENERGY);
  tgContact c = made_contact(m, true);
  tgSim *s = tg_sim_create(m, &c, NULL, &e);
  tgParamGrad *p = tg_param_grad_create(m, NULL, 0, NULL, &e);
  int nt = 2 * m->nv + m->nu;
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(2 * m->nv * nt + 2 * m->nv + nt)), *g = D + 2 * m->nv * nt, *out = g + 2 * m->nv;
  for (int i = 0; i < 2 * m->nv; i++) g[i] = 1;
  long start = taken;
  for (int k = 0; k < 10; k++) {
    tgStepInfo info;
    tgGradInfo grad;
    tgStatus status[3] = {tg_sim_step(s, 0.005, &info), TG_OK, TG_OK};
    if (status[0] == TG_OK) status[1] = tg_sim_step_vjp(s, g, g + m->nv, out, out + m->nv, out + 2 * m->nv, p, &grad);
    if (status[0] == TG_OK) status[2] = tg_sim_step_jacobian(s, D, &grad);
    if (status[0] != TG_OK || status[1] != TG_OK || status[2] != TG_OK) fail_msg("%s", s->error.text);
  }
  check_true(taken == start, "%ld allocations in 10 steps", taken - start);
  free(D);
  tg_param_grad_free(p);
  tg_sim_free(s);
  tg_model_free(m);
}

// Nor do those of a robot with activations, under any stepper.
static void test_activations(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    Rig r = activated(v);
    tgtRandom random = {.s = (uint64_t)v};
    activated_state(r.s, &random);
    int nv = r.m->nv, ny = nv + tgi_nw(r.m), nx = ny + r.m->nu;
    tgReal *D = malloc(sizeof(tgReal) * (size_t)(ny * nx + ny + nx)), *g = D + ny * nx, *out = g + ny;
    for (int i = 0; i < ny; i++) g[i] = 1;
    assert_int_equal(tg_sim_step_growing(r.s, 0.004, NULL), TG_OK);
    long start = taken;
    for (int k = 0; k < 5; k++) {
      assert_int_equal(tg_sim_step(r.s, 0.004, NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(r.s, g, g + nv, out, out + nv, out + ny, NULL, NULL), TG_OK);
      assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
    }
    check_true(taken == start, "%s: %ld blocks taken", activated_variant[v].name, taken - start);
    free(D);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_activations), cmocka_unit_test(test_minimise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
