// desc.h: what readers of files share beside tangere/desc.h.
#ifndef TG_DESC_DESC_H
#define TG_DESC_DESC_H

#include "tangere/desc.h"

/// A geom as tg_desc_add_geom makes it, without a name.
tgGeomDesc tgi_geom_default(int body, tgGeomType type);

#endif
