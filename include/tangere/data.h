// data.h: arrays and tables in files: .npz as NumPy's savez writes it, .csv, and files that appear whole or not at all.
//
// Reading an .npz is strict: format versions 1 to 3, little-endian float64, int32, int64 or uint8, C order, no objects, nothing
// left over in a member; the archive and every member bounded. Anything else is an error that names file and array.
#ifndef TANGERE_DATA_H
#define TANGERE_DATA_H

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bounds of .npz files.
enum {
  TG_NPZ_MAX_DIM = 8,              ///< dimensions of one array
  TG_NPZ_MAX_ARRAY = 4096,         ///< arrays of one file
  TG_NPZ_MAX_NAME = 256            ///< bytes of an array's name, its end included
};

typedef enum tgNpzType {  ///< Types of elements, as NumPy writes them.
  TG_NPZ_F8,                       ///< double, '<f8'
  TG_NPZ_I4,                       ///< int32_t, '<i4'
  TG_NPZ_I8,                       ///< int64_t, '<i8'
  TG_NPZ_U1                        ///< uint8_t, '|u1'
} tgNpzType;

/// One array, C order.
typedef struct tgNpzArray {
  const char *name;                ///< without ".npy"
  tgNpzType type;                  ///< of its elements
  int ndim;                        ///< 0: a single number
  size_t shape[TG_NPZ_MAX_DIM];    ///< ndim sizes
  const void *data;                ///< may be NULL when it has no elements
} tgNpzArray;

/// What was read. It owns names and data.
typedef struct tgNpz {
  tgNpzArray *array;               ///< narray arrays, in the order of the file
  int narray;                      ///< how many
  tgAllocator alloc;               ///< of all of it
} tgNpz;

/// Writes narray arrays with distinct names, uncompressed, whole or not at all. The same arrays give the same bytes.
/// Names: 1 to 251 bytes, no '/', '\\' or control characters. error may be NULL.
TG_API tgStatus tg_npz_write(const char *path, const tgNpzArray *array, int narray, tgError *error);
/// Reads a regular file with at most max_bytes of arrays in sum (0: 4 GiB). allocator and error may be NULL. On
/// failure *npz is empty. TG_ERR_FILE, TG_ERR_DISK: cannot be read; TG_ERR_PARSE: malformed; TG_ERR_UNSUPPORTED: an
/// element type or order that is not read; TG_ERR_LIMIT: too large.
TG_API tgStatus tg_npz_read(const char *path, size_t max_bytes, const tgAllocator *allocator, tgNpz *npz, tgError *error);
/// The same from `size` bytes in memory; `name` stands for the file in messages.
TG_API tgStatus tg_npz_read_memory(const char *name, const void *bytes, size_t size, size_t max_bytes, const tgAllocator *allocator,
                                   tgNpz *npz, tgError *error);
TG_API void tg_npz_free(tgNpz *npz);  ///< Frees names and data; *npz is empty then.

/// The array of that name, NULL when there is none.
TG_API const tgNpzArray *tg_npz_find(const tgNpz *npz, const char *name);
/// The same, required: of that type and shape (ndim sizes; SIZE_MAX in shape: any). NULL with the error (may be NULL)
/// filled otherwise; `path` is the file's in messages.
TG_API const tgNpzArray *tg_npz_get(const tgNpz *npz, const char *path, const char *name, tgNpzType type, int ndim, const size_t *shape,
                                    tgError *error);

/// Writes a header line of ncolumn names and nrow lines of data (row-major, nrow x ncolumn), whole or not at all. Numbers
/// read back to the same double; '.' in every locale; not finite: nan, inf, -inf. Names with comma, quote or line
/// break are quoted. error may be NULL.
TG_API tgStatus tg_csv_write(const char *path, int ncolumn, const char *const *name, int nrow, const double *data, tgError *error);

/// Writes a file of these bytes, whole or not at all: a crash at any point leaves the old file or the new one. A target
/// that exists must be a regular file; of a symbolic link the target is replaced. error may be NULL.
TG_API tgStatus tg_file_write(const char *path, const void *data, size_t bytes, tgError *error);

#ifdef __cplusplus
}
#endif
#endif
