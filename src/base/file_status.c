// file_status.c: see file_status.h.
#include "base/file_status.h"

#include <errno.h>
#include <string.h>

tgStatus tgi_file_status(int error_number) {
  switch (error_number) {
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:       // the limit of the file system, or of the process
    case EINTR:
    case ESTALE:
    case ETIMEDOUT: return TG_ERR_DISK;
    case ENOMEM: return TG_ERR_MEMORY;
    default: return TG_ERR_FILE;
  }
}

const char *tgi_file_reason(int error_number, char *buffer, size_t size) {
#ifdef __GLIBC__
  return strerror_r(error_number, buffer, size);
#else   // as POSIX has it
  return strerror_r(error_number, buffer, size) == 0 ? buffer : "unknown error";
#endif
}
