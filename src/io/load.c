// load.c: the loaders' common entry: reads the main document, tells MJCF from URDF by its root element.
#include "tangere/desc.h"

tgLoadOptions tg_load_default(void) {
  return (tgLoadOptions){.size = sizeof(tgLoadOptions),
                         .max_file_bytes = (size_t)256 << 20,
                         .max_total_bytes = (size_t)1 << 30,
                         .max_elements = 1000000,
                         .max_depth = 10000};
}
