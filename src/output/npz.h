// npz.h: named arrays in one .npz file, the format of NumPy's savez: a zip archive of .npy members.
//
// Reading is strict: format versions 1 to 3, little-endian float64, int32, int64 or uint8, C order, no objects, nothing
// left over in a member; the archive and every member bounded. Anything else is an error that names file and array.
#ifndef TG_OUTPUT_NPZ_H
#define TG_OUTPUT_NPZ_H

#include "tangere/base.h"

enum {
  TG_NPZ_MAX_DIM = 8,        ///< dimensions of one array
  TG_NPZ_MAX_ARRAY = 4096,   ///< arrays of one file
  TG_NPZ_MAX_NAME = 256      ///< bytes of an array's name, its end included
};

/// Element types, as NumPy writes them: '<f8', '<i4', '<i8', '|u1'.
typedef enum tgNpzType { TG_NPZ_F8, TG_NPZ_I4, TG_NPZ_I8, TG_NPZ_U1 } tgNpzType;

/// One array, C order. ndim 0 is a single number. data may be NULL when it has no elements.
typedef struct tgNpzArray {
  const char *name;          ///< without ".npy"
  tgNpzType type;
  int ndim;
  size_t shape[TG_NPZ_MAX_DIM];
  const void *data;
} tgNpzArray;

/// What was read; owns names and data.
typedef struct tgNpz {
  tgNpzArray *array;
  int narray;
  tgAllocator alloc;
} tgNpz;

/// Bytes of one element.
size_t tgi_npz_item(tgNpzType type);
/// Number of elements; SIZE_MAX on overflow.
size_t tgi_npz_count(const tgNpzArray *array);

/// Writes narray arrays with distinct names, uncompressed, whole or not at all. The same arrays give the same bytes.
/// Names: 1 to 251 bytes, no '/', '\\' or control characters. error may be NULL.
tgStatus tgi_npz_write(const char *path, const tgNpzArray *array, int narray, tgError *error);

/// Reads a regular file with at most max_bytes of arrays in sum (0: 4 GiB). allocator and error may be NULL. On
/// failure *npz is empty. TG_ERR_FILE: cannot be read; TG_ERR_PARSE: malformed; TG_ERR_UNSUPPORTED: an
/// element type or order that is not read; TG_ERR_LIMIT: too large.
tgStatus tgi_npz_read(const char *path, size_t max_bytes, const tgAllocator *allocator, tgNpz *npz, tgError *error);
/// The same from memory; `name` is for messages.
tgStatus tgi_npz_read_memory(const char *name, const void *bytes, size_t size, size_t max_bytes,
                             const tgAllocator *allocator, tgNpz *npz, tgError *error);
void tgi_npz_free(tgNpz *npz);

/// The array of that name, NULL when there is none.
const tgNpzArray *tgi_npz_find(const tgNpz *npz, const char *name);
/// The same, required: of that type and shape (ndim sizes; SIZE_MAX in shape: any). NULL with the error filled otherwise.
const tgNpzArray *tgi_npz_get(const tgNpz *npz, const char *path, const char *name, tgNpzType type, int ndim,
                              const size_t *shape, tgError *error);

#endif
