// test_npz.c: arrays come back as they were; files that lie, end early or hold anything else are refused in words.
// That NumPy reads what we write, and we what NumPy writes, is test/output/test_numpy.py's.
#include "tangere/data.h"

#include <zlib.h>

#include "output/folder.h"
#include "output/npy.h"
#include "output/zip.h"
#include "support/alloc.h"

static const double F8[] = {0.1, -0.0, 1e-308, 3, NAN, INFINITY};
static const int32_t I4[] = {-2147483647, 0, 7, 2147483647};
static const int64_t I8[] = {INT64_MIN, INT64_MAX};
static const uint8_t U1[] = {0, 255, 3};
static const tgNpzArray ARRAYS[] = {
    {"q", TG_NPZ_F8, 2, {2, 3}, F8},      {"index", TG_NPZ_I4, 1, {4}, I4},  {"seed", TG_NPZ_I8, 1, {2}, I8},
    {"bytes", TG_NPZ_U1, 3, {1, 3, 1}, U1}, {"time", TG_NPZ_F8, 0, {0}, F8}, {"none", TG_NPZ_F8, 2, {0, 5}, NULL},
};
enum { NARRAY = sizeof ARRAYS / sizeof *ARRAYS };

static void test_round_trip(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgError error = {0};
  const char *path = tgt_folder_file(&folder, "a.npz");
  assert_int_equal(tg_npz_write(path, ARRAYS, NARRAY, &error), TG_OK);
  size_t size = 0, again = 0;
  char *bytes = tgt_read(path, &size);
  for (int from_memory = 0; from_memory < 2; from_memory++) {
    tgNpz npz;
    tgStatus status = from_memory ? tg_npz_read_memory("a.npz", bytes, size, 0, NULL, &npz, &error)
                                  : tg_npz_read(path, 0, NULL, &npz, &error);
    check_true(status == TG_OK, "%s", error.text);
    assert_int_equal(npz.narray, NARRAY);
    for (int i = 0; i < NARRAY; i++) {
      const tgNpzArray *a = tg_npz_get(&npz, path, ARRAYS[i].name, ARRAYS[i].type, ARRAYS[i].ndim, ARRAYS[i].shape, &error);
      check_true(a != NULL, "%s", error.text);
      size_t n = tgi_npz_count(a) * tgi_npz_item(a->type);
      if (n > 0) assert_memory_equal(a->data, ARRAYS[i].data, n);
    }
    assert_null(tg_npz_find(&npz, "absent"));
    tg_npz_free(&npz);
  }
  // the same arrays give the same bytes, and only the file itself is left
  const char *second = tgt_folder_file(&folder, "b.npz");
  assert_int_equal(tg_npz_write(second, ARRAYS, NARRAY, &error), TG_OK);
  char *other = tgt_read(second, &again);
  assert_int_equal(again, size);
  assert_memory_equal(other, bytes, size);
  assert_int_equal(tgt_folder_count(&folder), 2);
  free(bytes);
  free(other);
  tgt_folder_remove(&folder);
}

static void test_get_names_what_differs(void **state) {
  (void)state;
  tgNpzArray array[2] = {ARRAYS[0], ARRAYS[1]};
  tgNpz npz = {array, 2, {0}};
  tgError error;
  const size_t any[] = {SIZE_MAX, 3}, other[] = {2, 4};
  assert_non_null(tg_npz_get(&npz, "f.npz", "q", TG_NPZ_F8, 2, any, NULL));
  assert_null(tg_npz_get(&npz, "f.npz", "v", TG_NPZ_F8, 2, any, &error));
  assert_string_equal(error.text, "f.npz has no array 'v'");
  assert_null(tg_npz_get(&npz, "f.npz", "index", TG_NPZ_F8, 1, any, &error));
  assert_string_equal(error.text, "f.npz: array 'index' is int32, float64 is needed");
  assert_null(tg_npz_get(&npz, "f.npz", "q", TG_NPZ_F8, 1, any, &error));
  assert_string_equal(error.text, "f.npz: array 'q' has 2 dimensions, 1 are needed");
  assert_null(tg_npz_get(&npz, "f.npz", "q", TG_NPZ_F8, 2, other, &error));
  assert_string_equal(error.text, "f.npz: array 'q' has size 3 in dimension 1, 4 is needed");
}

static void test_bad_arrays_are_not_written(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *path = tgt_folder_file(&folder, "a.npz");
  tgError error;
  char longname[300];
  memset(longname, 'n', sizeof longname);
  longname[sizeof longname - 1] = '\0';
  const struct { tgNpzArray array; const char *word; } bad[] = {
      {{"", TG_NPZ_F8, 1, {1}, F8}, "empty or too long"},   {{"../q", TG_NPZ_F8, 1, {1}, F8}, "slash"},
      {{longname, TG_NPZ_F8, 1, {1}, F8}, "too long"},      {{"q\n", TG_NPZ_F8, 1, {1}, F8}, "control character"},
      {{"q", TG_NPZ_F8, 9, {1}, F8}, "9 dimensions"},       {{"q", TG_NPZ_F8, 1, {1}, NULL}, "no data"},
      {{"q", TG_NPZ_F8, 2, {SIZE_MAX / 4, 8}, F8}, "no data"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    check_refused(tg_npz_write(path, &bad[i].array, 1, &error), TG_ERR_ARG, error, bad[i].word);
  const tgNpzArray twice[] = {ARRAYS[0], ARRAYS[0]};
  check_refused(tg_npz_write(path, twice, 2, &error), TG_ERR_ARG, error, "two arrays");
  check_refused(tg_npz_write(path, ARRAYS, 0, &error), TG_ERR_ARG, error, "no array");
  check_refused(tg_npz_write("/nowhere/a.npz", ARRAYS, 1, &error), TG_ERR_FILE, error, "/nowhere/a.npz");
  assert_int_equal(tgt_folder_count(&folder), 0);
  tgt_folder_remove(&folder);
}

// a head of version 1.0 around a dictionary
static size_t make_head(char *out, const char *dictionary) {
  size_t n = strlen(dictionary);
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)(n & 0xFF);
  out[9] = (char)(n >> 8);
  memcpy(out + 10, dictionary, n);
  return n + 10;
}

static void test_head_grammar(void **state) {
  (void)state;
  const struct { const char *dictionary; tgStatus status; const char *word; } row[] = {
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n", TG_OK, ""},
      {"{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f8\"}", TG_OK, ""},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", TG_OK, ""},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }", TG_OK, ""},
      {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }", TG_ERR_UNSUPPORTED, "'>f8'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", TG_ERR_UNSUPPORTED, "'<f4'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", TG_ERR_UNSUPPORTED, "'|O'"},
      {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", TG_ERR_UNSUPPORTED, "records"},
      {"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", TG_ERR_UNSUPPORTED, "Fortran order"},
      {"{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3), }", TG_ERR_PARSE, "neither True nor False"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (7), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': [2, 3], }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (02, 3), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2 3), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1), }", TG_ERR_PARSE, "shape"},
      {"{'descr': '<f8', 'fortran_order': False, }", TG_ERR_PARSE, "lacks a key"},
      {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", TG_ERR_PARSE, "twice"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", TG_ERR_PARSE, "'x' that no array has"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} + 1", TG_ERR_PARSE, "after its end"},
      {"{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}", TG_ERR_PARSE, "malformed"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,", TG_ERR_PARSE, "shape"},
      {"__import__('os').system('true')", TG_ERR_PARSE, "malformed"},
      {"", TG_ERR_PARSE, "malformed"},
  };
  char head[256];
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    size_t n = make_head(head, row[i].dictionary), offset = 0;
    // an exact copy on the heap, so that a sanitizer sees any read past the end
    uint8_t *copy = malloc(n);
    memcpy(copy, head, n);
    tgNpzArray array = {0};
    tgError error = {0};
    tgStatus status = tgi_npy_parse("x", copy, n, &array, &offset, &error);
    check_true(status == row[i].status && strstr(error.text, row[i].word) != NULL, "%s: status %d, \"%s\"", row[i].dictionary,
               status, error.text);
    if (status == TG_OK) assert_int_equal(offset, n);
    // cut anywhere it is refused, and nothing past the cut is read
    for (size_t cut = 0; cut < n; cut++) {
      uint8_t *part = malloc(cut > 0 ? cut : 1);
      memcpy(part, head, cut);
      assert_true(tgi_npy_parse("x", part, cut, &array, &offset, NULL) < 0);
      free(part);
    }
    free(copy);
  }
  // magic and version
  size_t n = make_head(head, row[0].dictionary), offset;
  tgNpzArray array;
  tgError error;
  head[6] = 4;
  check_refused(tgi_npy_parse("x", (uint8_t *)head, n, &array, &offset, &error), TG_ERR_UNSUPPORTED, error, "version 4.0");
  head[0] = 'N';
  check_refused(tgi_npy_parse("x", (uint8_t *)head, n, &array, &offset, &error), TG_ERR_PARSE, error, "no NumPy array");
}

static void test_our_heads_are_read(void **state) {
  (void)state;
  char head[TG_NPY_HEAD];
  tgNpzArray a = {"big", TG_NPZ_I8, TG_NPZ_MAX_DIM, {0}, NULL}, back;
  for (int k = 0; k < TG_NPZ_MAX_DIM; k++) a.shape[k] = SIZE_MAX - (size_t)k;
  size_t n = tgi_npy_format(head, &a), offset;
  assert_true(n <= TG_NPY_HEAD && n % 64 == 0);
  assert_int_equal(tgi_npy_parse("x", (uint8_t *)head, n, &back, &offset, NULL), TG_OK);
  assert_int_equal(offset, n);
  assert_int_equal(back.ndim, TG_NPZ_MAX_DIM);
  assert_memory_equal(back.shape, a.shape, sizeof a.shape);
}

enum { STORED = 0, DEFLATED = 8, FLAGS = 6, METHOD = 8 };   // methods; places of fields in a member's own head

static size_t field(char *to, size_t at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to[at + (size_t)i] = (char)(value >> 8 * i);
  return at + (size_t)bytes;
}

// An archive of one member with these bytes, made here from the format's description; returns its size. *file is malloc'd.
static size_t lay_zip(char **file, const char *member, const void *bytes, size_t size, int method) {
  size_t nname = strlen(member), room = size + size / 1000 + 100, at = 0;
  char *out = *file = calloc(room + 2 * nname + 200, 1);
  char *packed = malloc(room);
  z_stream s = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size, .next_out = (Bytef *)packed, .avail_out = (uInt)room};
  assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
  size_t npacked = method == DEFLATED ? s.total_out : size;
  deflateEnd(&s);
  for (int part = 0; part < 2; part++) {   // its own head with the data, then the directory
    size_t begin = at;
    at = field(out, at, part == 0 ? 0x04034b50 : 0x02014b50, 4);
    if (part == 1) at = field(out, at, 20, 2);
    at = field(out, at, 20, 2);
    at = field(out, at, 0, 2);
    at = field(out, at, (uint64_t)method, 2);
    at = field(out, at, 0x210000, 4);
    at = field(out, at, crc32(0, bytes, (uInt)size), 4);
    at = field(out, at, npacked, 4);
    at = field(out, at, size, 4);
    at = field(out, at, nname, 2) + (part == 0 ? 2 : 16);
    memcpy(out + at, member, nname);
    at += nname;
    if (part == 0) {
      memcpy(out + at, method == DEFLATED ? packed : bytes, npacked);
      at += npacked;
      continue;
    }
    size_t directory = at - begin;
    at = field(out, at, 0x06054b50, 4) + 4;
    at = field(out, at, 1, 2);
    at = field(out, at, 1, 2);
    at = field(out, at, directory, 4);
    at = field(out, at, begin, 4) + 2;
  }
  free(packed);
  return at;
}

static void make_zip(const char *path, const char *member, const void *bytes, size_t size, int method) {
  char *file;
  size_t n = lay_zip(&file, member, bytes, size, method);
  tgt_write(path, file, n);
  free(file);
}

static void test_bad_members(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *path = tgt_folder_file(&folder, "a.npz");
  const char *good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
  const char *huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }";
  char bytes[256] = {0};
  tgNpz npz;
  tgError error;
  size_t n = make_head(bytes, good);

  make_zip(path, "q.npy", bytes, n + 16, DEFLATED);
  assert_int_equal(tg_npz_read(path, 0, NULL, &npz, NULL), TG_OK);
  tg_npz_free(&npz);
  check_refused(tg_npz_read(path, n + 15, NULL, &npz, &error), TG_ERR_LIMIT, error, "array 'q' brings the file over");
  make_zip(path, "q.npy", bytes, n + 15, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "array 'q' has 15 bytes of data, its shape says 16");
  make_zip(path, "q.npy", bytes, n + 17, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "17 bytes");
  make_zip(path, "q.npy", bytes, 0, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "no NumPy array");
  make_zip(path, "q.txt", bytes, n + 16, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "'q.txt' is not NAME.npy");
  make_zip(path, "../q.npy", bytes, n + 16, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "is not NAME.npy");
  make_zip(path, ".npy", bytes, n + 16, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "is not NAME.npy");
  n = make_head(bytes, huge);
  make_zip(path, "q.npy", bytes, n, STORED);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "0 bytes of data");
  tgt_folder_remove(&folder);
}

// Little of a file that unpacks to much of memory: beyond the limit nothing is allocated for it, and what a directory says too little of is
// read no further than it says.
static void test_ratio_bombs(void **state) {
  (void)state;
  enum { ZEROS = 8 << 20, LIMIT = 1 << 20 };
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *path = tgt_folder_file(&folder, "a.npz");
  char *zeros = calloc(ZEROS, 1);
  make_head(zeros, "{'descr': '|i1', 'fortran_order': False, 'shape': (8388480,), }");
  make_zip(path, "q.npy", zeros, ZEROS, DEFLATED);
  free(zeros);
  size_t size = 0;
  char *file = tgt_read(path, &size);
  check_true(size < ZEROS / 500, "%zu bytes for %d", size, ZEROS);
  tgNpz npz;
  tgError error;
  tgtAlloc a;
  tgt_alloc_init(&a);
  check_refused(tg_npz_read(path, LIMIT, &a.hooks, &npz, &error), TG_ERR_LIMIT, error, "array 'q' brings the file over");
  check_true(a.peak < LIMIT / 100, "%zu bytes were allocated", a.peak);

  // as many bytes as claimed: PK 1 2 is the directory's entry, the size of what is packed at 24; PK 3 4 is the member's own, at 22
  for (uint32_t claim = 200; claim > 0; claim = claim == 200 ? UINT32_MAX - 1 : 0) {
    int changed = 0;
    for (size_t i = 0; i + 46 < size; i++) {
      size_t at = memcmp(file + i, "PK\1\2", 4) == 0 ? 24 : memcmp(file + i, "PK\3\4", 4) == 0 ? 22 : 0;
      if (at == 0) continue;
      for (size_t k = 0; k < 4; k++) file[i + at + k] = (char)(claim >> (8 * k));
      changed++;
    }
    assert_int_equal(changed, 2);
    tgt_alloc_init(&a);
    check_refused(tg_npz_read_memory("lie", file, size, SIZE_MAX, &a.hooks, &npz, &error), TG_ERR_PARSE, error,
                  claim == 200 ? "member 'q.npy' is damaged" : "array 'q' claims");
    // the window and tables of what unpacks are 40 kB
    check_true(a.peak < LIMIT / 20 && a.live == 0, "claim of %u: %zu bytes were allocated, %zu are left", claim, a.peak, a.live);
  }
  free(file);
  tgt_folder_remove(&folder);
}

// what a directory may say that is not so, each beside a file that is read
static void test_lies_of_the_directory(void **state) {
  (void)state;
  char bytes[160] = {0}, *file;
  size_t n = make_head(bytes, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") + 16;
  size_t size = lay_zip(&file, "q.npy", bytes, n, STORED);
  size_t entry = size - 22 - 46 - 5, end = size - 22;
  const struct { size_t local, entry, end; uint64_t value; int bytes; tgStatus status; const char *word; } lie[] = {
      {FLAGS, 8, 0, 1, 2, TG_ERR_UNSUPPORTED, "encrypted"},          {METHOD, 10, 0, 12, 2, TG_ERR_UNSUPPORTED, "method 12"},
      {METHOD, 0, 0, 8, 2, TG_ERR_PARSE, "not what its directory"},  {26, 0, 0, 4, 2, TG_ERR_PARSE, "not what its directory"},
      {14, 0, 0, 1, 4, TG_ERR_PARSE, "not what its directory"},      {28, 0, 0, 60000, 2, TG_ERR_PARSE, "longer than it"},
      {0, 42, 0, 1, 4, TG_ERR_PARSE, "not what its directory"},      {0, 42, 0, 0xFFFFFFF0, 4, TG_ERR_PARSE, "ends early"},
      {0, 28, 0, 6, 2, TG_ERR_PARSE, "cut off"},                     {0, 28, 0, 4, 2, TG_ERR_PARSE, "not what its directory"},
      {0, 0, 10, 2, 2, TG_ERR_PARSE, "disks"},                       {0, 0, 12, 50, 4, TG_ERR_PARSE, "directory is not where"},
      {0, 0, 16, 0xFFFFFFFF, 4, TG_ERR_PARSE, "directory is not where"},         {0, 0, 4, 1, 2, TG_ERR_PARSE, "disks"},
      {0, 0, 20, 1, 2, TG_ERR_PARSE, "does not end"},                {14, 16, 0, 7, 4, TG_ERR_PARSE, "'q.npy' is damaged"},
  };
  tgNpz npz;
  tgError error = {0};
  check_true(tg_npz_read_memory("good", file, size, 0, NULL, &npz, &error) == TG_OK, "%s", error.text);
  tg_npz_free(&npz);
  for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
    char *copy = malloc(size);
    memcpy(copy, file, size);
    if (lie[i].local != 0) field(copy, lie[i].local, lie[i].value, lie[i].bytes);
    if (lie[i].entry != 0) field(copy, entry + lie[i].entry, lie[i].value, lie[i].bytes);
    if (lie[i].end != 0) field(copy, end + lie[i].end, lie[i].value, lie[i].bytes);
    check_refused(tg_npz_read_memory("lie", copy, size, 0, NULL, &npz, &error), lie[i].status, error, lie[i].word);
    free(copy);
  }
  free(file);
}

// Sizes and places in 64 bits, as archives of 4 GB and more have them: what is written so, NumPy reads (test_numpy.py), and so do we.
static void test_wide_numbers(void **state) {
  (void)state;
  char head[2][TG_NPY_HEAD], bytes[4096];
  for (uint64_t wide = 0; wide < 400; wide += 90) {   // at 90 the second place is wide, at 360 the directory's alone
    ZipPart part[2] = {{.name = "q.npy", .head = head[0], .nhead = tgi_npy_format(head[0], &ARRAYS[0]), .data = F8, .ndata = sizeof F8},
                       {.name = "index.npy", .head = head[1], .nhead = tgi_npy_format(head[1], &ARRAYS[1]), .data = I4,
                        .ndata = sizeof I4}};
    FILE *to = fmemopen(bytes, sizeof bytes, "wb");
    assert_true(tgi_zip_write(to, part, 2, wide));
    size_t size = (size_t)ftell(to);
    fclose(to);
    tgNpz npz;
    tgError error = {0};
    check_true(tg_npz_read_memory("wide", bytes, size, 0, NULL, &npz, &error) == TG_OK, "from %d on: %s", (int)wide, error.text);
    assert_int_equal(npz.narray, 2);
    assert_memory_equal(npz.array[0].data, F8, sizeof F8);
    assert_memory_equal(npz.array[1].data, I4, sizeof I4);
    tg_npz_free(&npz);
    // cut anywhere it is none
    for (size_t cut = 0; cut < size; cut++) assert_true(tg_npz_read_memory("cut", bytes, cut, 0, NULL, &npz, NULL) < 0);
  }
}

static void test_bad_files(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgNpz npz;
  tgError error;
  check_refused(tg_npz_read("/nowhere.npz", 0, NULL, &npz, &error), TG_ERR_FILE, error, "/nowhere.npz");
  check_refused(tg_npz_read("/dev/zero", 0, NULL, &npz, &error), TG_ERR_FILE, error, "not a regular file");
  check_refused(tg_npz_read(folder.path, 0, NULL, &npz, &error), TG_ERR_FILE, error, "not a regular file");
  const char *fifo = tgt_folder_file(&folder, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  check_refused(tg_npz_read(fifo, 0, NULL, &npz, &error), TG_ERR_FILE, error, "not a regular file");
  const char *path = tgt_folder_file(&folder, "a.npz");
  tgt_write(path, "hello, world, this is text", 26);
  check_refused(tg_npz_read(path, 0, NULL, &npz, &error), TG_ERR_PARSE, error, "no .npz archive");
  tgt_folder_remove(&folder);
}

// every cut and every flipped byte of a good file: refused, or (in bytes that carry no meaning) read the same
static void test_cut_and_flipped(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *path = tgt_folder_file(&folder, "a.npz");
  const tgNpzArray two[] = {ARRAYS[0], ARRAYS[1]};
  assert_int_equal(tg_npz_write(path, two, 2, NULL), TG_OK);
  size_t size = 0;
  char *bytes = tgt_read(path, &size);
  tgNpz npz;
  for (size_t cut = 0; cut < size; cut++) {
    char *part = malloc(cut + 1);
    memcpy(part, bytes, cut);
    check_true(tg_npz_read_memory("cut", part, cut, 0, NULL, &npz, NULL) < 0, "a file cut to %zu of %zu bytes is read", cut, size);
    free(part);
  }
  int refused = 0;
  for (size_t i = 0; i < size; i++) {
    bytes[i] = (char)(bytes[i] ^ 0x41);
    if (tg_npz_read_memory("flip", bytes, size, 0, NULL, &npz, NULL) == TG_OK) {
      for (int k = 0; k < npz.narray && k < 2; k++) {
        size_t n = tgi_npz_count(&npz.array[k]) * tgi_npz_item(npz.array[k].type);
        check_true(n == tgi_npz_count(&two[k]) * tgi_npz_item(two[k].type) && memcmp(npz.array[k].data, two[k].data, n) == 0,
                   "flipping byte %zu changes the data unnoticed", i);
      }
      tg_npz_free(&npz);
    } else {
      refused++;
    }
    bytes[i] = (char)(bytes[i] ^ 0x41);
  }
  check_true(refused > (int)size / 2, "only %d of %zu flips were noticed", refused, size);
  free(bytes);
  tgt_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),         cmocka_unit_test(test_get_names_what_differs),
      cmocka_unit_test(test_head_grammar),       cmocka_unit_test(test_bad_arrays_are_not_written),
      cmocka_unit_test(test_our_heads_are_read), cmocka_unit_test(test_bad_members), cmocka_unit_test(test_ratio_bombs),
      cmocka_unit_test(test_bad_files),          cmocka_unit_test(test_cut_and_flipped),  cmocka_unit_test(test_lies_of_the_directory),
      cmocka_unit_test(test_wide_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
