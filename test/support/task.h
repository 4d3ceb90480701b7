// task.h: tasks from text, with their model beside them for as long as it takes to load.
#ifndef TG_TEST_TASK_H
#define TG_TEST_TASK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "tangere/optim.h"

/// The task, whose file names the model m.xml; NULL: error says why.
static inline tgTask *tgt_task_try(const char *model, const char *text, tgError *error) {
  char folder[] = "/tmp/tangere-task-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.xml", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(model, f);
  fclose(f);
  tgTask *t = tg_task_load_text(text, strlen(text), folder, NULL, error);
  unlink(path);
  rmdir(folder);
  return t;
}
static inline tgTask *tgt_task(const char *model, const char *text) {
  tgError e = {0};
  tgTask *t = tgt_task_try(model, text, &e);
  check_true(t != NULL, "%s", e.text);
  return t;
}
/// It is refused, with an error that says so.
static inline void tgt_task_refused(const char *model, const char *text, const char *says) {
  tgError e = {0};
  tgTask *t = tgt_task_try(model, text, &e);
  check_true(t == NULL && strstr(e.text, says) != NULL, "'%s' is not what is said of '%s': %s", says, text, e.text);
}

/// The contact model that a method's tests run under: NULL, the task's own, or one whose step is twice differentiable.
static inline const char *tgt_contact_for(const char *method) { return strcmp(method, "ddp") == 0 ? "softmin" : NULL; }

/// Optimises; the outcome has to be there and well.
static inline tgOptimum *tgt_optimize(const tgTask *t, const tgOptimizeOptions *o) {
  tgOptimum *best = tg_optimize(t, o);
  assert_non_null(best);
  check_true(best->status == TG_OK, "%s: %s", tg_task_method(t), best->error.text);
  return best;
}

#endif
