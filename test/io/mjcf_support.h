// mjcf_support.h: a description from a text, and comparisons with it.
#ifndef TG_TEST_MJCF_SUPPORT_H
#define TG_TEST_MJCF_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "tangere/desc.h"

// left_out: what can be, whatever its kind
static inline tgDesc *load(const char *text, bool left_out) {
  tgError e;
  tgLoadOptions o = tg_load_default();
  o.lenient = left_out;
  o.drop = left_out ? (1u << TG_DROP_COUNT) - 1 : 0;
  tgDesc *d = tg_desc_load_memory("t.xml", text, strlen(text), &o, &e);
  check_true(d != NULL, "t.xml:%d:%d: %s", e.line, e.column, d == NULL ? e.text : "");
  return d;
}

static inline void close_array(const double *a, const double *b, int n, const char *what) {
  for (int i = 0; i < n; i++)
    check_true(fabs(a[i] - b[i]) <= 1e-14 * (1 + fabs(b[i])), "%s[%d] = %.17g, not %.17g", what, i, a[i], b[i]);
}
#define CLOSE(a, ...)                                                                             \
  do {                                                                                            \
    const double want_[] = {__VA_ARGS__};                                                         \
    close_array(a, want_, (int)(sizeof want_ / sizeof *want_), #a);                               \
  } while (0)

// a quaternion up to its sign
static inline void close_quat(const double *q, double w, double x, double y, double z) {
  double n = sqrt(w * w + x * x + y * y + z * z), s = q[0] * w + q[1] * x + q[2] * y + q[3] * z < 0 ? -1 : 1;
  CLOSE(q, s * w / n, s * x / n, s * y / n, s * z / n);
}

static inline int count_notes(const tgDesc *d, tgNoteKind kind) {
  int n = 0;
  for (int i = 0; i < d->nnote; i++) n += d->note[i].kind == kind;
  return n;
}

#endif
