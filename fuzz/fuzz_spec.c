// fuzz_spec.c: arbitrary bytes as a specification of shards; what loads must make as many shards and points as it says, and finite numbers.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shard/spec.h"
#include "tangere/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const tgSpec *s, int64_t point) {
  char text[64];
  (void)tgi_spec_seed(s, point);
  for (unsigned k = 0; k < s->yaml->nvary; k++) {
    double value = tgi_spec_value(s, (int)k, point, text, sizeof text);
    bool number = s->vary[k].number != NULL || s->yaml->vary[k].nvalues == 0;
    if ((number && !isfinite(value)) || memchr(text, '\0', sizeof text) == NULL) abort();
  }
}

static void check(const tgSpec *s) {
  if (s->shards < 1 || s->shards > TG_SHARD_MOST || s->points < s->shards) abort();
  if (tgi_spec_first(s, 0) != 0 || tgi_spec_first(s, s->shards) != s->points) abort();
  int middle = s->shards / 2;
  if (tgi_spec_first(s, middle) >= tgi_spec_first(s, middle + 1)) abort();
  check_point(s, 0);
  check_point(s, s->points / 2);
  check_point(s, s->points - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tgSpec s;
  tgError error = {0};
  if (tgi_spec_parse((const char *)data, size, "a.yaml", &s, &error) == TG_OK) {
    check(&s);
    tgi_spec_free(&s);
  } else if (error.status >= 0 || strlen(error.text) == 0) {
    abort();
  }
  return 0;
}
