// file_status.c: see file_status.h.
#include "base/file_status.h"

#include <errno.h>

tgStatus tgi_file_status(int error_number) {
  switch (error_number) {
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:       // the limit of the file system, or of the process
    case EINTR:
    case ESTALE:
    case ETIMEDOUT: return TG_ERR_DISK;
    default: return TG_ERR_FILE;
  }
}
