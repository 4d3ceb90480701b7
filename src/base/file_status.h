// file_status.h: whose fault it is that a file operation failed.
#ifndef TG_BASE_FILE_STATUS_H
#define TG_BASE_FILE_STATUS_H

#include "tangere/base.h"

/// The status of a file operation that failed with this errno: TG_ERR_DISK where the machine is at fault (full, failing, interrupted),
/// TG_ERR_MEMORY where it is short of it, TG_ERR_FILE where the path is wrong (missing, no permission, a folder).
tgStatus tgi_file_status(int error_number);
/// Its text, in the buffer or the C library's own; safe with threads.
const char *tgi_file_reason(int error_number, char *buffer, size_t size);

#endif
