// no_such.c: see no_such.h.
#include "model/no_such.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"

enum { MOST = 1000 };   // names that are looked at

static const char *word(tgKindOfThing kind) {
  static const char *const words[TG_THING_COUNT] = {"body", "joint", "geom", "site", "mesh", "actuator", "tendon",
                                                    "equality", "keyframe", "flex", "sensor"};
  return words[kind];
}

// "; there are 'a', 'b', ..." as far as there is room
static void list(const char *const *names, int n, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "; there %s", n == 1 ? "is" : "are");
  for (int i = 0; i < n; i++) {
    if (used + strlen(names[i]) + 8 > size) {
      snprintf(text + used, size - used, ", ...");
      return;
    }
    used += (size_t)snprintf(text + used, size - used, "%s '%s'", i > 0 ? "," : "", names[i]);
  }
}

tgStatus tgi_model_no_such(const tgModel *m, tgKindOfThing kind, const char *where, const char *name, tgError *error) {
  const char *names[MOST];
  char hint[250] = "";
  int count = tg_model_count(m, kind), n = 0;
  for (int i = 0; i < count && n < MOST; i++) {
    const char *one = tg_model_name(m, kind, i);
    if (one != NULL && one[0] != '\0') names[n++] = one;
  }
  const char *near = tgi_nearest_word(name, names, n);
  if (near != NULL) snprintf(hint, sizeof hint, "; did you mean '%.200s'?", near);
  else if (n > 0) list(names, n, hint, sizeof hint);
  else if (count > 0) snprintf(hint, sizeof hint, "; none of its %d has a name in the file", count);
  else snprintf(hint, sizeof hint, "; there is none");
  return tgi_error(error, TG_ERR_INVALID, "%s: the model has no %s '%.150s'%s", where, word(kind), name, hint);
}
