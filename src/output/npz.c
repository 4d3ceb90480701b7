// npz.c: .npz files by libzip. See tangere/data.h.
#include "tangere/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/memory.h"
#include "base/file_status.h"
#include "base/status.h"
#include "base/atomic_file.h"
#include "output/npy.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are stored as they lie in memory");

static const size_t DEFAULT_BYTES = (size_t)4 << 30;
static const char SUFFIX[] = ".npy";

// the status of an error of libzip that came from the system, else `other`
static tgStatus of_zip(zip_error_t *error, tgStatus other) {
  bool system = zip_error_system_type(error) == ZIP_ET_SYS && zip_error_code_system(error) != 0;
  return system && tgi_file_status(zip_error_code_system(error)) == TG_ERR_DISK ? TG_ERR_DISK : other;
}

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

// adds one member; head must outlive the archive. Returns false with the archive's error set.
static bool add_array(zip_t *zip, const tgNpzArray *array, char head[TG_NPY_HEAD]) {
  char member[TG_NPZ_MAX_NAME + sizeof SUFFIX];
  snprintf(member, sizeof member, "%s%s", array->name, SUFFIX);
  size_t bytes = tgi_npz_count(array) * tgi_npz_item(array->type);
  union { const void *in; zip_uint8_t *out; } data = {.in = array->data};  // libzip only reads it
  zip_buffer_fragment_t part[2] = {{(zip_uint8_t *)head, tgi_npy_format(head, array)}, {data.out, bytes}};
  zip_source_t *source = zip_source_buffer_fragment(zip, part, bytes > 0 ? 2 : 1, 0);
  if (source == NULL) return false;
  zip_int64_t i = zip_file_add(zip, member, source, ZIP_FL_ENC_UTF_8);
  if (i < 0) {
    zip_source_free(source);
    return false;
  }
  // a fixed date (1980-01-01, the first that zip knows): the same arrays give the same bytes
  return zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(zip, (zip_uint64_t)i, 0, 0x21, 0) == 0;
}

tgStatus tg_npz_write(const char *path, const tgNpzArray *array, int narray, tgError *error) {
  if (path == NULL || (array == NULL && narray > 0)) return tgi_error(error, TG_ERR_ARG, "no path or no arrays given");
  if (narray < 0 || narray > TG_NPZ_MAX_ARRAY) return tgi_error(error, TG_ERR_ARG, "%d arrays in one .npz", narray);
  for (int i = 0; i < narray; i++) TG_TRY(check_array(array, i, error));
  tgAtomicFile file;
  TG_TRY(tgi_atomic_open(&file, path, error));
  tgi_atomic_close_stream(&file);  // libzip writes by name
  // an archive without members is a bare end record: libzip would delete the file instead
  char (*head)[TG_NPY_HEAD] = calloc((size_t)narray + 1, TG_NPY_HEAD);
  int code = 0;
  errno = 0;
  zip_t *zip = head == NULL || narray == 0 ? NULL : zip_open(file.tmp, ZIP_CREATE | ZIP_TRUNCATE, &code);
  tgStatus status = TG_OK;
  if (head == NULL) status = tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
  else if (narray == 0) status = tgi_error(error, TG_ERR_ARG, "%s would hold no array", path);
  else if (zip == NULL) status = tgi_error(error, tgi_file_status(errno), "%s cannot be written (zip error %d)", path, code);
  bool ok = status == TG_OK;
  for (int i = 0; i < narray && ok; i++) ok = add_array(zip, &array[i], head[i]);
  if (zip != NULL && (!ok || zip_close(zip) != 0)) {
    status = tgi_error(error, of_zip(zip_get_error(zip), TG_ERR_FILE), "%s cannot be written: %s", path, zip_strerror(zip));
    zip_discard(zip);
  }
  free(head);
  if (status == TG_OK) return tgi_atomic_commit(&file, error);
  tgi_atomic_discard(&file);
  return status;
}

// --- reading

typedef struct Reader {
  const char *path;
  zip_t *zip;
  size_t left;        // bytes that may still be read
  tgNpz *npz;
  tgError *error;
} Reader;

static void *take_bytes(const tgNpz *npz, size_t bytes) {
  return npz->alloc.alloc(npz->alloc.ctx, bytes > 0 ? bytes : 1);
}

// the array's name from the member's: no folder, ends in .npy, not there yet
static tgStatus read_name(Reader *r, const char *member, char **name) {
  size_t n = member == NULL ? 0 : strlen(member);
  size_t stem = n - (n < sizeof SUFFIX ? n : sizeof SUFFIX - 1);
  if (n < sizeof SUFFIX || n >= TG_NPZ_MAX_NAME || strcmp(member + stem, SUFFIX) != 0 || strpbrk(member, "/\\") != NULL)
    return tgi_error(r->error, TG_ERR_PARSE, "%s: member '%.80s' is not NAME.npy", r->path, member == NULL ? "" : member);
  *name = take_bytes(r->npz, stem + 1);
  if (*name == NULL) return tgi_error(r->error, TG_ERR_MEMORY, "out of memory for %s", r->path);
  memcpy(*name, member, stem);
  (*name)[stem] = '\0';
  if (tg_npz_find(r->npz, *name) != NULL)
    return tgi_error(r->error, TG_ERR_PARSE, "%s holds two arrays called '%s'", r->path, *name);
  return TG_OK;
}

// checks what the directory says of member i before anything is allocated for it
static tgStatus check_member(Reader *r, zip_uint64_t i, const char *name, size_t *size) {
  zip_stat_t info;
  const zip_uint64_t want = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(r->zip, i, 0, &info) != 0 || (info.valid & want) != want)
    return tgi_error(r->error, TG_ERR_PARSE, "%s: array '%s' has no size: %s", r->path, name, zip_strerror(r->zip));
  if (info.encryption_method != ZIP_EM_NONE)
    return tgi_error(r->error, TG_ERR_UNSUPPORTED, "%s: array '%s' is encrypted", r->path, name);
  bool stored = info.comp_method == ZIP_CM_STORE, deflated = info.comp_method == ZIP_CM_DEFLATE;
  if (!stored && !deflated)
    return tgi_error(r->error, TG_ERR_UNSUPPORTED, "%s: array '%s' is compressed by method %d; use numpy.savez", r->path,
                     name, info.comp_method);
  // deflate cannot do better than 1032 to 1, so a larger claim is a lie
  if ((stored && info.size != info.comp_size) || (deflated && info.size / 1032 > info.comp_size + 1))
    return tgi_error(r->error, TG_ERR_PARSE, "%s: array '%s' claims a size that its bytes cannot hold", r->path, name);
  if (info.size > r->left)
    return tgi_error(r->error, TG_ERR_LIMIT, "%s: array '%s' brings the file over the limit of bytes to read", r->path, name);
  r->left -= info.size;
  *size = (size_t)info.size;
  return TG_OK;
}

// reads `size` bytes of member i; its check sum is verified at the end
static tgStatus read_member(Reader *r, zip_uint64_t i, const char *name, uint8_t *bytes, size_t size) {
  zip_file_t *file = zip_fopen_index(r->zip, i, 0);
  if (file == NULL)
    return tgi_error(r->error, of_zip(zip_get_error(r->zip), TG_ERR_PARSE), "%s: array '%s' cannot be read: %s", r->path, name,
                     zip_strerror(r->zip));
  size_t done = 0;
  zip_int64_t got = 1;
  while (done < size && got > 0) {
    got = zip_fread(file, bytes + done, size - done);
    if (got > 0) done += (size_t)got;
  }
  uint8_t extra;
  bool ok = done == size && zip_fread(file, &extra, 1) == 0;
  tgStatus why = of_zip(zip_file_get_error(file), TG_ERR_PARSE);
  if (zip_fclose(file) != 0) ok = false;
  if (ok) return TG_OK;
  return tgi_error(r->error, why, "%s: array '%s' %s: %zu of %zu bytes are good", r->path, name,
                   why == TG_ERR_DISK ? "cannot be read, the disk fails" : "is damaged", done, size);
}

static tgStatus read_array(Reader *r, zip_uint64_t i) {
  tgNpzArray array = {0};
  char *name = NULL;
  uint8_t *bytes = NULL;
  size_t size = 0, offset = 0;
  char what[512];
  tgStatus status = read_name(r, zip_get_name(r->zip, i, ZIP_FL_ENC_RAW), &name);
  if (status == TG_OK) status = check_member(r, i, name, &size);
  if (status == TG_OK) {
    bytes = take_bytes(r->npz, size);
    if (bytes == NULL) status = tgi_error(r->error, TG_ERR_MEMORY, "%s: no memory for array '%s' of %zu bytes", r->path, name, size);
  }
  if (status == TG_OK) status = read_member(r, i, name, bytes, size);
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

// reads every member and closes the archive
static tgStatus read_archive(const char *path, zip_t *zip, size_t max_bytes, tgNpz *npz, tgError *error) {
  Reader r = {path, zip, max_bytes > 0 ? max_bytes : DEFAULT_BYTES, npz, error};
  zip_int64_t n = zip_get_num_entries(zip, 0);
  tgStatus status = TG_OK;
  if (n < 1) {
    status = tgi_error(error, TG_ERR_PARSE, "%s holds no array", path);
  } else if (n > TG_NPZ_MAX_ARRAY) {
    status = tgi_error(error, TG_ERR_LIMIT, "%s holds %lld arrays, at most %d are read", path, (long long)n, TG_NPZ_MAX_ARRAY);
  } else {
    npz->array = take_bytes(npz, (size_t)n * sizeof *npz->array);
    if (npz->array == NULL) status = tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
  }
  for (zip_int64_t i = 0; i < n && status == TG_OK; i++) status = read_array(&r, (zip_uint64_t)i);
  zip_discard(zip);
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
  int wrong = fstat(fd, &info) != 0 ? errno : 0;
  if (wrong != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    if (wrong != 0) return tgi_error(error, tgi_file_status(wrong), "%s cannot be read: %s", path, tgi_file_reason(wrong, why, sizeof why));
    return tgi_error(error, TG_ERR_FILE, "%s is not a regular file", path);
  }
  int code = 0;
  errno = 0;
  zip_t *zip = zip_fdopen(fd, ZIP_CHECKCONS, &code);  // owns fd when it succeeds
  if (zip != NULL) return read_archive(path, zip, max_bytes, npz, error);
  wrong = code == ZIP_ER_READ || code == ZIP_ER_SEEK || code == ZIP_ER_OPEN ? errno : 0;
  close(fd);
  if (wrong != 0 && tgi_file_status(wrong) == TG_ERR_DISK)
    return tgi_error(error, TG_ERR_DISK, "%s cannot be read: %s", path, tgi_file_reason(wrong, why, sizeof why));
  return tgi_error(error, TG_ERR_PARSE, "%s is no .npz archive, or a damaged one (zip error %d)", path, code);
}

tgStatus tg_npz_read_memory(const char *name, const void *bytes, size_t size, size_t max_bytes,
                             const tgAllocator *allocator, tgNpz *npz, tgError *error) {
  if (npz == NULL) return tgi_error(error, TG_ERR_ARG, "no place given for the arrays of an .npz file");
  memset(npz, 0, sizeof *npz);
  npz->alloc = tgi_allocator(allocator);
  if (name == NULL || (bytes == NULL && size > 0))
    return tgi_error(error, TG_ERR_ARG, "no bytes of an .npz file, or no name for them, given");
  zip_error_t why;
  zip_error_init(&why);
  zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &why);
  zip_t *zip = source == NULL ? NULL : zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why);
  int code = zip_error_code_zip(&why);
  zip_error_fini(&why);
  if (zip != NULL) return read_archive(name, zip, max_bytes, npz, error);
  if (source != NULL) zip_source_free(source);
  return tgi_error(error, TG_ERR_PARSE, "%s is no .npz archive, or a damaged one (zip error %d)", name, code);
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
