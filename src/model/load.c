// load.c: from a file to a model in one call.
#include "tangere/model.h"

tgModel *tg_model_load(const char *path, const tgLoadOptions *options, tgError *error) {
  tgDesc *desc = tg_desc_load(path, options, error);
  if (desc == NULL) return NULL;
  tgModel *m = tg_model_compile(desc, options != NULL ? options->allocator : NULL, error);
  tg_desc_free(desc);
  return m;
}
