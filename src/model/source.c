// source.c: see source.h.
#include "model/source.h"

#include <stdio.h>
#include <string.h>

const char *tgi_model_source(const tgModel *m, tgKindOfThing kind, int i) {
  const char *name = tg_model_name(m, kind, i);
  return name != NULL ? name + strlen(name) + 1 : "";
}

const char *tgi_model_label_source(const tgModel *m, tgKindOfThing kind, int i, char *text, size_t size) {
  const char *source = tgi_model_source(m, kind, i);
  tgi_model_label(m, kind, i, text, size);
  size_t used = strlen(text);
  if (source[0] != '\0' && used < size) snprintf(text + used, size - used, " (%s)", source);
  return text;
}
