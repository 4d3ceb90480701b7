// npz.c: .npz files. See tangere/data.h; their container is zip.c.
#include "tangere/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/file_status.h"
#include "base/status.h"
#include "base/atomic_file.h"
#include "output/npy.h"
#include "output/zip.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are stored as they lie in memory");

static const size_t DEFAULT_BYTES = (size_t)4 << 30;
static const char SUFFIX[] = ".npy";

// --- writing

static tgStatus check_array(const tgNpzArray *array, int i, tgError *error) {
  const char *name = array[i].name;
  size_t n = name == NULL ? 0 : strlen(name);
  if (n == 0 || n + sizeof SUFFIX > TG_NPZ_MAX_NAME)
    return tgi_error(error, TG_ERR_ARG, "array %d of the .npz has an empty or too long name", i);
  for (size_t k = 0; k < n; k++)
    if ((unsigned char)name[k] < 0x20 || name[k] == '/' || name[k] == '\\')
      return tgi_error(error, TG_ERR_ARG, "array name '%s' of the .npz has a slash or a control character", name);
  for (int k = 0; k < i; k++)
    if (strcmp(array[k].name, name) == 0) return tgi_error(error, TG_ERR_ARG, "two arrays of the .npz are called '%s'", name);
  if (array[i].ndim < 0 || array[i].ndim > TG_NPZ_MAX_DIM)
    return tgi_error(error, TG_ERR_ARG, "array '%s' has %d dimensions, at most %d are stored", name, array[i].ndim, TG_NPZ_MAX_DIM);
  size_t bytes = tgi_size_mul(tgi_npz_count(&array[i]), tgi_npz_item(array[i].type));
  if (bytes == SIZE_MAX || (bytes > 0 && array[i].data == NULL))
    return tgi_error(error, TG_ERR_ARG, "array '%s' has no data", name);
  return TG_OK;
}

// All arrays as members of an archive; part and head have room for narray.
static tgStatus write_arrays(const char *path, const tgNpzArray *array, int narray, ZipPart *part, char (*head)[TG_NPY_HEAD],
                             tgError *error) {
  char why[128];
  tgAtomicFile file;
  for (int i = 0; i < narray; i++) {
    part[i] = (ZipPart){.head = head[i], .nhead = tgi_npy_format(head[i], &array[i]), .data = array[i].data,
                        .ndata = tgi_npz_count(&array[i]) * tgi_npz_item(array[i].type)};
    snprintf(part[i].name, sizeof part[i].name, "%s%s", array[i].name, SUFFIX);
  }
  TG_TRY(tgi_atomic_open(&file, path, error));
  if (tgi_zip_write(file.stream, part, narray, TG_ZIP_WIDE)) return tgi_atomic_commit(&file, error);
  tgStatus status = tgi_error(error, tgi_file_status(errno), "%s cannot be written: %s", path, tgi_file_reason(errno, why, sizeof why));
  tgi_atomic_discard(&file);
  return status;
}

tgStatus tg_npz_write(const char *path, const tgNpzArray *array, int narray, tgError *error) {
  if (path == NULL || (array == NULL && narray > 0)) return tgi_error(error, TG_ERR_ARG, "no path or no arrays given");
  if (narray < 0 || narray > TG_NPZ_MAX_ARRAY) return tgi_error(error, TG_ERR_ARG, "%d arrays in one .npz", narray);
  if (narray == 0) return tgi_error(error, TG_ERR_ARG, "%s would hold no array", path);
  for (int i = 0; i < narray; i++) TG_TRY(check_array(array, i, error));
  ZipPart *part = calloc((size_t)narray, sizeof *part);
  char (*head)[TG_NPY_HEAD] = calloc((size_t)narray, TG_NPY_HEAD);
  tgStatus status = part != NULL && head != NULL ? write_arrays(path, array, narray, part, head, error)
                                                 : tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
  free(part);
  free(head);
  return status;
}

// --- reading

typedef struct Reader {
  ZipReader zip;
  const char *path;
  size_t left;        // bytes that may still be read
  tgNpz *npz;
  tgError *error;
} Reader;

static void *take_bytes(const tgNpz *npz, size_t bytes) {
  return npz->alloc.alloc(npz->alloc.ctx, bytes > 0 ? bytes : 1);
}

// the array's name from the member's: no folder, ends in .npy, not there yet
static tgStatus read_name(Reader *r, const char *member, char **name) {
  size_t n = strlen(member);
  size_t stem = n - (n < sizeof SUFFIX ? n : sizeof SUFFIX - 1);
  if (n < sizeof SUFFIX || n >= TG_NPZ_MAX_NAME || strcmp(member + stem, SUFFIX) != 0 || strpbrk(member, "/\\") != NULL)
    return tgi_error(r->error, TG_ERR_PARSE, "%s: member '%.80s' is not NAME.npy", r->path, member);
  *name = take_bytes(r->npz, stem + 1);
  if (*name == NULL) return tgi_error(r->error, TG_ERR_MEMORY, "out of memory for %s", r->path);
  memcpy(*name, member, stem);
  (*name)[stem] = '\0';
  if (tg_npz_find(r->npz, *name) != NULL)
    return tgi_error(r->error, TG_ERR_PARSE, "%s holds two arrays called '%s'", r->path, *name);
  return TG_OK;
}

// checks what the directory says of a member before anything is allocated for it
static tgStatus check_member(Reader *r, const ZipMember *m, const char *name) {
  if (m->encrypted) return tgi_error(r->error, TG_ERR_UNSUPPORTED, "%s: array '%s' is encrypted", r->path, name);
  bool stored = m->method == 0, deflated = m->method == 8;
  if (!stored && !deflated)
    return tgi_error(r->error, TG_ERR_UNSUPPORTED, "%s: array '%s' is compressed by method %d; use numpy.savez", r->path, name, m->method);
  // deflate cannot do better than 1032 to 1, so a larger claim is a lie
  if ((stored && m->size != m->packed) || (deflated && m->size / 1032 > m->packed + 1))
    return tgi_error(r->error, TG_ERR_PARSE, "%s: array '%s' claims a size that its bytes cannot hold", r->path, name);
  if (m->size > r->left)
    return tgi_error(r->error, TG_ERR_LIMIT, "%s: array '%s' brings the file over the limit of bytes to read", r->path, name);
  r->left -= (size_t)m->size;
  return TG_OK;
}

static tgStatus read_array(Reader *r) {
  tgNpzArray array = {0};
  ZipMember m;
  char *name = NULL;
  uint8_t *bytes = NULL;
  size_t size = 0, offset = 0;
  char what[512];
  TG_TRY(tgi_zip_next(&r->zip, &m));
  tgStatus status = read_name(r, m.name, &name);
  if (status == TG_OK) status = check_member(r, &m, name);
  if (status == TG_OK) {
    size = (size_t)m.size;
    bytes = take_bytes(r->npz, size);
    if (bytes == NULL) status = tgi_error(r->error, TG_ERR_MEMORY, "%s: no memory for array '%s' of %zu bytes", r->path, name, size);
  }
  if (status == TG_OK) status = tgi_zip_read(&r->zip, &m, bytes);
  if (status == TG_OK) {
    snprintf(what, sizeof what, "%s: array '%s'", r->path, name);
    status = tgi_npy_parse(what, bytes, size, &array, &offset, r->error);
  }
  if (status == TG_OK) {
    // the data is exactly what the shape says
    size_t want = tgi_size_mul(tgi_npz_count(&array), tgi_npz_item(array.type));
    if (want != size - offset)
      status = tgi_error(r->error, TG_ERR_PARSE, "%s has %zu bytes of data, its shape says %zu", what, size - offset, want);
    else
      memmove(bytes, bytes + offset, want);
  }
  if (status != TG_OK) {
    r->npz->alloc.free(r->npz->alloc.ctx, name);
    r->npz->alloc.free(r->npz->alloc.ctx, bytes);
    return status;
  }
  array.name = name;
  array.data = bytes;
  r->npz->array[r->npz->narray++] = array;
  return TG_OK;
}

// reads every member of the archive in fd or, where that is -1, in bytes
static tgStatus read_archive(const char *path, int fd, const void *bytes, uint64_t size, size_t max_bytes, tgNpz *npz, tgError *error) {
  Reader r = {{.path = path, .fd = fd, .bytes = bytes, .size = size, .alloc = &npz->alloc, .error = error}, path,
              max_bytes > 0 ? max_bytes : DEFAULT_BYTES, npz, error};
  TG_TRY(tgi_zip_open(&r.zip));
  int n = r.zip.n;
  npz->array = take_bytes(npz, (size_t)n * sizeof *npz->array);
  if (npz->array == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
  tgStatus status = TG_OK;
  for (int i = 0; i < n && status == TG_OK; i++) status = read_array(&r);
  if (status != TG_OK) tg_npz_free(npz);
  return status;
}

tgStatus tg_npz_read(const char *path, size_t max_bytes, const tgAllocator *allocator, tgNpz *npz, tgError *error) {
  if (npz == NULL) return tgi_error(error, TG_ERR_ARG, "no place given for the arrays of an .npz file");
  memset(npz, 0, sizeof *npz);
  npz->alloc = tgi_allocator(allocator);
  if (path == NULL) return tgi_error(error, TG_ERR_ARG, "no path given");
  char why[128];
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", path, tgi_file_reason(errno, why, sizeof why));
  tgStatus status = TG_OK;
  if (fstat(fd, &info) != 0)
    status = tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", path, tgi_file_reason(errno, why, sizeof why));
  else if (!S_ISREG(info.st_mode)) status = tgi_error(error, TG_ERR_FILE, "%s is not a regular file", path);
  else status = read_archive(path, fd, NULL, (uint64_t)info.st_size, max_bytes, npz, error);
  close(fd);
  return status;
}

tgStatus tg_npz_read_memory(const char *name, const void *bytes, size_t size, size_t max_bytes,
                             const tgAllocator *allocator, tgNpz *npz, tgError *error) {
  if (npz == NULL) return tgi_error(error, TG_ERR_ARG, "no place given for the arrays of an .npz file");
  memset(npz, 0, sizeof *npz);
  npz->alloc = tgi_allocator(allocator);
  if (name == NULL || (bytes == NULL && size > 0))
    return tgi_error(error, TG_ERR_ARG, "no bytes of an .npz file, or no name for them, given");
  return read_archive(name, -1, bytes, size, max_bytes, npz, error);
}

void tg_npz_free(tgNpz *npz) {
  if (npz == NULL) return;
  for (int i = 0; i < npz->narray; i++) {
    union { const void *in; void *out; } name = {.in = npz->array[i].name}, data = {.in = npz->array[i].data};
    npz->alloc.free(npz->alloc.ctx, name.out);
    npz->alloc.free(npz->alloc.ctx, data.out);
  }
  if (npz->array != NULL) npz->alloc.free(npz->alloc.ctx, npz->array);
  npz->array = NULL;
  npz->narray = 0;
}

const tgNpzArray *tg_npz_find(const tgNpz *npz, const char *name) {
  if (npz == NULL || name == NULL) return NULL;
  for (int i = 0; i < npz->narray; i++)
    if (strcmp(npz->array[i].name, name) == 0) return &npz->array[i];
  return NULL;
}

const tgNpzArray *tg_npz_get(const tgNpz *npz, const char *path, const char *name, tgNpzType type, int ndim,
                              const size_t *shape, tgError *error) {
  static const char *const word[] = {"float64", "int32", "int64", "uint8"};
  const tgNpzArray *a = tg_npz_find(npz, name);
  if (a == NULL) {
    tgi_error(error, TG_ERR_PARSE, "%s has no array '%s'", path != NULL ? path : "the file", name != NULL ? name : "");
    return NULL;
  }
  if (a->type != type) {
    tgi_error(error, TG_ERR_PARSE, "%s: array '%s' is %s, %s is needed", path, name, word[a->type], word[type]);
    return NULL;
  }
  if (a->ndim != ndim) {
    tgi_error(error, TG_ERR_PARSE, "%s: array '%s' has %d dimensions, %d are needed", path, name, a->ndim, ndim);
    return NULL;
  }
  for (int k = 0; k < ndim; k++) {
    if (shape[k] == SIZE_MAX || a->shape[k] == shape[k]) continue;
    tgi_error(error, TG_ERR_PARSE, "%s: array '%s' has size %zu in dimension %d, %zu is needed", path, name, a->shape[k],
              k, shape[k]);
    return NULL;
  }
  return a;
}
