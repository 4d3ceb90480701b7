// test_controls.c: controls from decision variables, and the adjoint of that map.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optim/controls.h"
#include "support/deriv.h"

enum { STEPS = 12 };

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  tgi_controls_expand(ctx, x, y);
  return TG_OK;
}

// rows of du/dx, each the adjoint of one control at one step, against differences
static void check(const char *controls, int want_n) {
  char text[600];
  snprintf(text, sizeof text,
           "model: half_cheetah.xml\ncontact: lcp\nhorizon: {steps: %d, timestep: 0.01}\ncontrols: %s\n"
           "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", STEPS, controls);
  tgError e = {0};
  tgTask *t = tg_task_load_text(text, strlen(text), TG_SOURCE_DIR "/models", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  int n = tgi_controls_count(t), ny = STEPS * t->model->nu;
  assert_int_equal(n, want_n);
  double *x = calloc((size_t)n, sizeof *x), *w = calloc((size_t)ny, sizeof *w), *D = calloc((size_t)ny * (size_t)n, sizeof *D);
  tgtRandom rng = {5};
  for (int i = 0; i < n; i++) x[i] = tgt_uniform(&rng, -3, 3);
  for (int r = 0; r < ny; r++) {
    w[r] = 1;
    tgi_controls_vjp(t, x, w, D + r * n);
    w[r] = 0;
  }
  // the rows of one step, over the variables that act in it and over all
  double *J = calloc((size_t)t->model->nu * (size_t)n, sizeof *J);
  for (int s = 0; s < STEPS; s++)
    for (int all = 0; all < 2; all++) {
      int count = n, first = all ? 0 : tgi_controls_range(t, s, s + 1, &count);
      tgi_controls_jacobian(t, x, s, first, count, J);
      for (int k = 0; k < t->model->nu; k++)
        for (int i = 0; i < n; i++)
          check_close(i >= first && i < first + count ? J[k * count + i - first] : 0, D[(s * t->model->nu + k) * n + i], 1e-14);
    }
  free(J);
  tgtDeriv d = {.name = controls, .nx = n, .ny = ny, .map = map, .ctx = t, .tol = 1e-9};
  tgt_check_jacobian(&d, x, D);
  free(x);
  free(w);
  free(D);
  tg_task_free(t);
}

// 12 steps in blocks of 5: the last is shorter
static void blocks(void **state) {
  (void)state;
  check("{every: 5}", 3 * 6);
}

// an offset, then amplitude, frequency and phase of each term
static void sines(void **state) {
  (void)state;
  check("{basis: sines, terms: 2}", 7 * 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(blocks), cmocka_unit_test(sines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
