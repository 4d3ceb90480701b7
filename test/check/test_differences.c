// test_differences.c: Jacobians of a step by finite differences, beside the exact one.
#include <stdlib.h>
#include <string.h>

#include "check/numdiff.h"
#include "support/check.h"
#include "tangere/grad.h"

enum { NV = 9, NT = 19 };

// a box and a ball joint in the air, turning: rotations on both sides of the step
static tgModel *turning(void) {
  static const char text[] =
      "<mujoco><worldbody><body><freejoint/><geom type='box' size='0.1 0.2 0.3' contype='0' conaffinity='0'/>"
      "<body pos='0 0 0.4'><joint name='b' type='ball'/>"
      "<geom type='capsule' size='0.05 0.2' pos='0 0 0.2' contype='0' conaffinity='0'/></body></body></worldbody>"
      "<actuator><motor joint='b' gear='0.3 0.5 0.7'/></actuator></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  assert_true(tg_model_nv(m) == NV && 2 * NV + tg_model_nu(m) == NT);
  return m;
}

static void differences_agree(void **state) {
  (void)state;
  tgModel *m = turning();
  tgError e = {0};
  tgContact *c = tg_contact_create(m, "lcp", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  double *exact = calloc(3 * 2 * NV * NT, sizeof *exact), *D = exact + 2 * NV * NT, *part = D + 2 * NV * NT, q[11], scale = 0;
  assert_true(s != NULL && exact != NULL);
  for (int i = 0; i < NV; i++) tg_sim_qvel(s)[i] = 0.3 * i - 1;
  tg_sim_ctrl(s)[0] = 2;
  memcpy(q, tg_sim_qpos(s), sizeof q);
  tgDifferenceOptions o = tg_difference_default();
  o.h = 0.01;
  for (int method = 0; method < 2; method++) {
    o.method = method == 0 ? TG_DIFFERENCE_RIDDERS : TG_DIFFERENCE_CENTRAL;
    o.first = o.count = 0;
    assert_int_equal(tg_grad_differences(s, &o, method == 0 ? D : part), TG_OK);
    assert_memory_equal(q, tg_sim_qpos(s), sizeof q);   // back where it was
    check_close(tg_sim_qvel(s)[8], 1.4, 0);
    check_close(tg_sim_ctrl(s)[0], 2, 0);
  }
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(s, exact, NULL), TG_OK);
  for (int i = 0; i < 2 * NV * NT; i++) scale = fmax(scale, fabs(exact[i]));
  for (int i = 0; i < 2 * NV * NT; i++) {
    check_close(D[i], exact[i], 1e-9 * scale);
    check_close(part[i], exact[i], 1e-6 * scale);
  }
  free(exact);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// only the columns that are asked for are written, and what is out of range is refused
static void columns_are_chosen(void **state) {
  (void)state;
  tgModel *m = turning();
  tgSim *s = tg_sim_create(m, NULL, NULL, NULL);
  double *D = malloc(2 * NV * NT * sizeof *D);
  tgDifferenceOptions o = tg_difference_default();
  for (int i = 0; i < 2 * NV * NT; i++) D[i] = 7;
  o.first = 2 * NV;
  o.count = 1;
  assert_int_equal(tg_grad_differences(s, &o, D), TG_OK);
  for (int i = 0; i < 2 * NV * NT; i++) assert_true((D[i] == 7) == (i % NT != 2 * NV));
  o.count = 2;
  assert_int_equal(tg_grad_differences(s, &o, D), TG_ERR_ARG);
  o.size = 0;
  assert_int_equal(tg_grad_differences(s, &o, D), TG_ERR_ARG);
  free(D);
  tg_sim_free(s);
  tg_model_free(m);
}

typedef struct Square { int calls, fails_at; } Square;

// 1 + 2 x + 3 x^2
static tgStatus square(void *ctx, const tgReal *x, tgReal *y) {
  Square *c = ctx;
  y[0] = 1 + 2 * x[0] + 3 * x[0] * x[0];
  return ++c->calls == c->fails_at ? TG_ERR_INVALID : TG_OK;
}

// as many points as asked for and the start, none after one that fails
static void remainders_are_of_so_many_points(void **state) {
  (void)state;
  Square c = {0, 0};
  tgiNumDiff d = {.nx = 1, .nt = 1, .ny = 1, .map = square, .ctx = &c};
  tgReal x = 0, t = 1, work[64];
  double slope;
  bool flat;
  assert_true(tgi_numdiff_work(&d) <= sizeof work / sizeof *work);
  assert_int_equal(tgi_taylor_slope(&d, &x, &t, 2, 0.1, 5, &slope, &flat, work), TG_OK);
  assert_int_equal(c.calls, 6);
  check_close(slope, 2, 1e-9);
  c = (Square){0, 3};
  assert_int_equal(tgi_taylor_slope(&d, &x, &t, 2, 0.1, 5, &slope, &flat, work), TG_ERR_INVALID);
  assert_int_equal(c.calls, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(differences_agree), cmocka_unit_test(columns_are_chosen),
                                     cmocka_unit_test(remainders_are_of_so_many_points)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
