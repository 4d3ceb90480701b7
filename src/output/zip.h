// zip.h: the container of .npz files: stored members written, stored and deflated ones read [ZIP].
#ifndef TG_OUTPUT_ZIP_H
#define TG_OUTPUT_ZIP_H

#include <stdio.h>

#include "tangere/base.h"
#include "tangere/data.h"

enum { TG_ZIP_NAME = TG_NPZ_MAX_NAME + 8 };   ///< bytes of a member's name, its end included

// ---- writing ----

/// A member: `head` and then `data`. crc and at are set by the writer.
typedef struct ZipPart {
  char name[TG_ZIP_NAME];
  const void *head, *data;
  size_t nhead, ndata;
  uint32_t crc;
  uint64_t at;
} ZipPart;

#define TG_ZIP_WIDE UINT32_MAX   ///< sizes and places from here on take 64 bits

/// Writes an archive of stored members, each dated 1980-01-01: the same members give the same bytes. `wide`: TG_ZIP_WIDE; less makes 64-bit
/// fields where they are not needed. false: errno says why not.
bool tgi_zip_write(FILE *to, ZipPart *part, int n, uint64_t wide);

// ---- reading ----

/// An archive in a file or, with fd -1, in memory. Nothing is allocated for it.
typedef struct ZipReader {
  const char *path;         ///< for messages
  int fd;
  const uint8_t *bytes;
  uint64_t size;
  int n;                    ///< members
  uint64_t start, next, end;   ///< places of the directory, of its next entry and of its end
  uint64_t left;            ///< bytes before the directory that no member has taken
  const tgAllocator *alloc; ///< of what unpacks
  tgError *error;
} ZipReader;

typedef struct ZipMember {
  char name[TG_ZIP_NAME];   ///< cut off where it is longer
  bool cut;
  bool encrypted;
  int method;               ///< 0: stored, 8: deflated
  uint32_t crc;
  uint64_t size, packed, at;
} ZipMember;

/// Finds the directory: path, fd, bytes, size, alloc and error are set. TG_ERR_PARSE: no archive, a damaged one or one that something is
/// put before or behind; TG_ERR_LIMIT; TG_ERR_DISK.
tgStatus tgi_zip_open(ZipReader *z);
/// The next member as the directory has it, which its own head must repeat. Members share no bytes.
tgStatus tgi_zip_next(ZipReader *z, ZipMember *m);
/// Its m->size bytes, whose check sum holds. The method is one of the two; of what is stored the sizes are equal.
tgStatus tgi_zip_read(ZipReader *z, const ZipMember *m, uint8_t *to);

#endif
