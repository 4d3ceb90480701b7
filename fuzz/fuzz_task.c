// fuzz_task.c: arbitrary bytes as a task file beside the project's models; what loads must expand to finite numbers.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/optim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const tgTask *t) {
  int n = tg_task_size(t);
  if (n < 1 || n > 100000 || (double)tg_task_steps(t) * tg_model_nu(tg_task_model(t)) > 1e5) return;
  double *x = malloc((size_t)n * sizeof *x), *q0 = malloc((size_t)tg_model_nq(tg_task_model(t)) * sizeof *q0);
  double *u = malloc(((size_t)tg_task_steps(t) * (size_t)tg_model_nu(tg_task_model(t)) + 1) * sizeof *u);
  tg_task_start(t, 1, x);
  tg_task_expand(t, x, q0, NULL, u);
  for (int i = 0; i < tg_model_nq(tg_task_model(t)); i++)
    if (!isfinite(q0[i])) abort();
  free(x);
  free(q0);
  free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgError error = {0};
  tgTask *t = tg_task_load_text((const char *)data, size, TG_SOURCE_DIR "/models", NULL, &error);
  if (t != NULL) check(t);
  else if (error.status >= 0 || strlen(error.text) == 0) abort();
  tg_task_free(t);
  return 0;
}
