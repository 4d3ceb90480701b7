// source.h: where things of a model were written, for messages.
#ifndef TG_MODEL_SOURCE_H
#define TG_MODEL_SOURCE_H

#include "model/model.h"

/// "FILE:LINE" of a geom or a mesh, "" when it was built in code. It stands behind the end of the thing's name.
const char *tgi_model_source(const tgModel *m, tgKindOfThing kind, int i);
/// tgi_model_label with that behind it: "geom 'name' (FILE:LINE)".
const char *tgi_model_label_source(const tgModel *m, tgKindOfThing kind, int i, char *text, size_t size);

#endif
