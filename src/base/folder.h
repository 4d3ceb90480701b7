// folder.h: folders made with their parents.
#ifndef TG_BASE_FOLDER_H
#define TG_BASE_FOLDER_H

#include "tangere/base.h"

/// Makes the folder and those above it that are missing; one that is there is left as it is. TG_ERR_FILE, TG_ERR_DISK: error names the one
/// that cannot be made, and why. error may be NULL.
tgStatus tgi_make_folder(const char *path, tgError *error);

#endif
