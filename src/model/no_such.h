// no_such.h: a name that a model does not have.
#ifndef TG_MODEL_NO_SUCH_H
#define TG_MODEL_NO_SUCH_H

#include "tangere/model.h"

/// TG_ERR_INVALID, "WHERE: the model has no geom 'NAME'; did you mean ...": with the names that there are where none is near.
tgStatus tgi_model_no_such(const tgModel *m, tgKindOfThing kind, const char *where, const char *name, tgError *error);

#endif
