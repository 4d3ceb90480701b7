// zip.c: see zip.h. Numbers are little-endian; names of fields and signatures are those of [ZIP].
#include "output/zip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file_status.h"
#include "base/status.h"

enum { LOCAL = 30, ENTRY = 46, END = 22, WIDE_END = 56, LOCATOR = 20, WIDE_LOCAL = 20, WIDE_ENTRY = 28 };   // bytes of records
static const uint32_t LOCAL_SIGN = 0x04034b50, ENTRY_SIGN = 0x02014b50, END_SIGN = 0x06054b50, WIDE_END_SIGN = 0x06064b50,
                      LOCATOR_SIGN = 0x07064b50;
enum { UTF8 = 0x800, ENCRYPTED = 1, SIZES_BEHIND = 8, DATE = 0x21 /* 1980-01-01 */, WIDE_EXTRA = 1 };

static uint64_t number(const uint8_t *p, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | p[i];
  return value;
}

// CRC-32 of what came before and these bytes
static uint32_t check_sum(uint32_t before, const void *bytes, size_t n) { return n > 0 ? (uint32_t)crc32_z(before, bytes, n) : before; }

// ---- writing ----

typedef struct Record { uint8_t byte[WIDE_END]; size_t n; } Record;

static void put(Record *r, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) r->byte[r->n++] = (uint8_t)(value >> 8 * i);
}

static bool out(FILE *to, const void *bytes, size_t n) { return n == 0 || fwrite(bytes, 1, n, to) == n; }

// version to the sizes, which heads of members and entries of the directory have alike
static void put_member(Record *r, const ZipPart *part, bool is_wide) {
  uint64_t size = (uint64_t)part->nhead + part->ndata;
  put(r, is_wide ? 45 : 20, 2);
  put(r, UTF8, 2);
  put(r, 0, 2);   // stored
  put(r, 0, 2);
  put(r, DATE, 2);
  put(r, part->crc, 4);
  for (int i = 0; i < 2; i++) put(r, is_wide ? UINT32_MAX : size, 4);
  put(r, strlen(part->name), 2);
}

static bool write_member(FILE *to, const ZipPart *part, bool is_wide) {
  Record r = {.n = 0}, extra = {.n = 0};
  uint64_t size = (uint64_t)part->nhead + part->ndata;
  put(&r, LOCAL_SIGN, 4);
  put_member(&r, part, is_wide);
  put(&r, is_wide ? WIDE_LOCAL : 0, 2);
  put(&extra, WIDE_EXTRA, 2);
  put(&extra, WIDE_LOCAL - 4, 2);
  for (int i = 0; i < 2; i++) put(&extra, size, 8);
  return out(to, r.byte, r.n) && out(to, part->name, strlen(part->name)) && out(to, extra.byte, is_wide ? extra.n : 0) &&
         out(to, part->head, part->nhead) && out(to, part->data, part->ndata);
}

static bool write_entry(FILE *to, const ZipPart *part, bool is_wide) {
  Record r = {.n = 0}, extra = {.n = 0};
  uint64_t size = (uint64_t)part->nhead + part->ndata;
  put(&r, ENTRY_SIGN, 4);
  put(&r, 3 << 8 | (is_wide ? 45 : 20), 2);   // made on Unix: its permissions stand below
  put_member(&r, part, is_wide);
  put(&r, is_wide ? WIDE_ENTRY : 0, 2);
  put(&r, 0, 2);   // no comment
  put(&r, 0, 2);   // the first disk
  put(&r, 0, 2);
  put(&r, (uint64_t)0100644 << 16, 4);
  put(&r, is_wide ? UINT32_MAX : part->at, 4);
  put(&extra, WIDE_EXTRA, 2);
  put(&extra, WIDE_ENTRY - 4, 2);
  for (int i = 0; i < 2; i++) put(&extra, size, 8);
  put(&extra, part->at, 8);
  return out(to, r.byte, r.n) && out(to, part->name, strlen(part->name)) && out(to, extra.byte, is_wide ? extra.n : 0);
}

// what says that the directory of n entries is at `at` and has `size` bytes
static bool write_end(FILE *to, int n, uint64_t at, uint64_t size, bool is_wide) {
  Record wide = {.n = 0}, locator = {.n = 0}, r = {.n = 0};
  put(&wide, WIDE_END_SIGN, 4);
  put(&wide, WIDE_END - 12, 8);
  put(&wide, 3 << 8 | 45, 2);
  put(&wide, 45, 2);
  put(&wide, 0, 8);   // disks
  for (int i = 0; i < 2; i++) put(&wide, (uint64_t)n, 8);
  put(&wide, size, 8);
  put(&wide, at, 8);
  put(&locator, LOCATOR_SIGN, 4);
  put(&locator, 0, 4);
  put(&locator, at + size, 8);
  put(&locator, 1, 4);
  put(&r, END_SIGN, 4);
  put(&r, 0, 4);   // disks
  for (int i = 0; i < 2; i++) put(&r, is_wide ? UINT16_MAX : (uint64_t)n, 2);
  put(&r, is_wide ? UINT32_MAX : size, 4);
  put(&r, is_wide ? UINT32_MAX : at, 4);
  put(&r, 0, 2);   // no comment
  return out(to, wide.byte, is_wide ? wide.n : 0) && out(to, locator.byte, is_wide ? locator.n : 0) && out(to, r.byte, r.n);
}

bool tgi_zip_write(FILE *to, ZipPart *part, int n, uint64_t wide) {
  uint64_t at = 0;
  for (int i = 0; i < n; i++) {
    uint64_t size = (uint64_t)part[i].nhead + part[i].ndata;
    bool is_wide = size >= wide;
    part[i].at = at;
    part[i].crc = check_sum(check_sum(0, part[i].head, part[i].nhead), part[i].data, part[i].ndata);
    if (!write_member(to, &part[i], is_wide)) return false;
    at += LOCAL + strlen(part[i].name) + (is_wide ? WIDE_LOCAL : 0) + size;
  }
  uint64_t directory = at;
  for (int i = 0; i < n; i++) {
    bool is_wide = (uint64_t)part[i].nhead + part[i].ndata >= wide || part[i].at >= wide;
    if (!write_entry(to, &part[i], is_wide)) return false;
    at += ENTRY + strlen(part[i].name) + (is_wide ? WIDE_ENTRY : 0);
  }
  return write_end(to, n, directory, at - directory, directory >= wide || at - directory >= wide || n >= UINT16_MAX);
}

// ---- reading ----

static tgStatus damaged(const ZipReader *z, const char *what) {
  return tgi_error(z->error, TG_ERR_PARSE, "%s is no .npz archive, or a damaged one: %s", z->path, what);
}

// n bytes from `at` on
static tgStatus get(const ZipReader *z, uint64_t at, uint8_t *to, size_t n) {
  char why[128];
  if (at > z->size || n > z->size - at) return damaged(z, "it ends early");
  if (z->fd < 0) {
    if (n > 0) memcpy(to, z->bytes + at, n);
    return TG_OK;
  }
  while (n > 0) {
    ssize_t got = pread(z->fd, to, n, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return tgi_error(z->error, tgi_file_status(errno), "%s cannot be read: %s", z->path, tgi_file_reason(errno, why, sizeof why));
    if (got == 0) return damaged(z, "it ends early");
    to += got;
    at += (uint64_t)got;
    n -= (size_t)got;
  }
  return TG_OK;
}

tgStatus tgi_zip_open(ZipReader *z) {
  uint8_t end[END], locator[LOCATOR], wide[WIDE_END];
  if (z->size < END) return damaged(z, "it is too short");
  uint64_t last = z->size - END;
  TG_TRY(get(z, last, end, END));
  if (number(end, 4) != END_SIGN || number(end + 20, 2) != 0) return damaged(z, "it does not end as one");
  uint64_t n = number(end + 10, 2), size = number(end + 12, 4), at = number(end + 16, 4), disks = number(end + 4, 4);
  bool same = number(end + 8, 2) == n, is_wide = false;
  if (last >= LOCATOR + WIDE_END) {
    TG_TRY(get(z, last - LOCATOR, locator, LOCATOR));
    is_wide = number(locator, 4) == LOCATOR_SIGN;
  }
  if (is_wide) {
    last -= LOCATOR + WIDE_END;
    TG_TRY(get(z, last, wide, WIDE_END));
    if (number(wide, 4) != WIDE_END_SIGN || number(wide + 4, 8) != WIDE_END - 12 || number(locator + 8, 8) != last)
      return damaged(z, "its 64-bit end is none");
    n = number(wide + 32, 8), size = number(wide + 40, 8), at = number(wide + 48, 8);
    same = number(wide + 24, 8) == n;
    disks |= number(wide + 16, 8) | number(locator + 4, 4);
  }
  if (disks != 0 || !same) return damaged(z, "it is one of several disks");
  if (at > last || size != last - at) return damaged(z, "its directory is not where it should be");
  if (n < 1) return tgi_error(z->error, TG_ERR_PARSE, "%s holds no array", z->path);
  if (n > TG_NPZ_MAX_ARRAY)
    return tgi_error(z->error, TG_ERR_LIMIT, "%s holds %llu arrays, at most %d are read", z->path, (unsigned long long)n, TG_NPZ_MAX_ARRAY);
  z->n = (int)n;
  z->start = z->next = z->left = at;
  z->end = last;
  return TG_OK;
}

// Sizes and place that do not fit into 32 bits stand in a field of the n bytes from `at` on, those that do not in their order.
static tgStatus read_extra(const ZipReader *z, uint64_t at, size_t n, ZipMember *m) {
  uint64_t *value[] = {&m->size, &m->packed, &m->at};
  uint8_t head[4], word[8];
  bool wanted = false;
  for (int i = 0; i < 3; i++) wanted = wanted || *value[i] == UINT32_MAX;
  while (wanted && n >= sizeof head) {
    TG_TRY(get(z, at, head, sizeof head));
    size_t size = (size_t)number(head + 2, 2);
    at += sizeof head;
    n -= sizeof head;
    if (size > n) return damaged(z, "a field of its directory is cut off");
    if (number(head, 2) == WIDE_EXTRA) {
      for (int i = 0; i < 3; i++) {
        if (*value[i] != UINT32_MAX) continue;
        if (size < sizeof word) return damaged(z, "a 64-bit size is missing");
        TG_TRY(get(z, at, word, sizeof word));
        *value[i] = number(word, sizeof word);
        at += sizeof word;
        size -= sizeof word;
      }
      return TG_OK;
    }
    at += size;
    n -= size;
  }
  return TG_OK;
}

// the member's own head, beside what the directory says; m->at is then where its data begin
static tgStatus check_local(ZipReader *z, ZipMember *m, size_t nname) {
  uint8_t head[LOCAL], name[TG_ZIP_NAME];
  TG_TRY(get(z, m->at, head, LOCAL));
  uint64_t flags = number(head + 6, 2), packed = number(head + 18, 4), size = number(head + 22, 4);
  uint64_t whole = LOCAL + nname + number(head + 28, 2);
  if (number(head, 4) != LOCAL_SIGN || (int)number(head + 8, 2) != m->method || number(head + 26, 2) != nname ||
      ((flags & ENCRYPTED) != 0) != m->encrypted)
    return damaged(z, "a member is not what its directory says");
  if (!m->cut) {
    TG_TRY(get(z, m->at + LOCAL, name, nname));
    if (memcmp(name, m->name, nname) != 0) return damaged(z, "a member is not what its directory says");
  }
  bool same = (packed == m->packed || packed == UINT32_MAX) && (size == m->size || size == UINT32_MAX) && number(head + 14, 4) == m->crc;
  if ((flags & SIZES_BEHIND) == 0 && !same) return damaged(z, "a member is not what its directory says");
  if (whole > z->left || m->packed > z->left - whole || whole + m->packed > z->start || m->at > z->start - whole - m->packed)
    return damaged(z, "its members are longer than it");
  z->left -= whole + m->packed;
  m->at += whole;
  return TG_OK;
}

tgStatus tgi_zip_next(ZipReader *z, ZipMember *m) {
  uint8_t entry[ENTRY];
  memset(m, 0, sizeof *m);
  if (z->end - z->next < ENTRY) return damaged(z, "its directory is cut off");
  TG_TRY(get(z, z->next, entry, ENTRY));
  size_t nname = (size_t)number(entry + 28, 2), nextra = (size_t)number(entry + 30, 2), ncomment = (size_t)number(entry + 32, 2);
  if (number(entry, 4) != ENTRY_SIGN || number(entry + 34, 2) != 0 || nname + nextra + ncomment > z->end - z->next - ENTRY)
    return damaged(z, "its directory is cut off");
  m->encrypted = (number(entry + 8, 2) & ENCRYPTED) != 0;
  m->method = (int)number(entry + 10, 2);
  m->crc = (uint32_t)number(entry + 16, 4);
  m->packed = number(entry + 20, 4);
  m->size = number(entry + 24, 4);
  m->at = number(entry + 42, 4);
  m->cut = nname >= sizeof m->name;
  TG_TRY(get(z, z->next + ENTRY, (uint8_t *)m->name, m->cut ? sizeof m->name - 1 : nname));
  TG_TRY(read_extra(z, z->next + ENTRY + nname, nextra, m));
  TG_TRY(check_local(z, m, nname));
  // nothing behind the last one
  z->next += ENTRY + nname + nextra + ncomment;
  if (--z->n == 0 && z->next != z->end) return damaged(z, "its directory is longer than its members");
  return TG_OK;
}

static voidpf take(voidpf alloc, uInt n, uInt size) {
  const tgAllocator *a = alloc;
  return a->alloc(a->ctx, (size_t)n * size);
}
static void give(voidpf alloc, voidpf block) {
  const tgAllocator *a = alloc;
  a->free(a->ctx, block);
}

static tgStatus bad_member(const ZipReader *z, const ZipMember *m, uint64_t good) {
  return tgi_error(z->error, TG_ERR_PARSE, "%s: member '%s' is damaged: %llu of %llu bytes are good", z->path, m->name,
                   (unsigned long long)good, (unsigned long long)m->size);
}

// Unpacks to exactly m->size bytes out of exactly m->packed.
static tgStatus inflate_all(const ZipReader *z, const ZipMember *m, z_stream *s, uint8_t *to) {
  enum { PART = 1 << 30 };
  uint8_t in[16384], more;
  uint64_t taken = 0, done = 0;
  int code = Z_OK;
  s->avail_in = 0;
  while (code == Z_OK) {
    if (s->avail_in == 0 && taken < m->packed) {
      size_t n = m->packed - taken < sizeof in ? (size_t)(m->packed - taken) : sizeof in;
      TG_TRY(get(z, m->at + taken, in, n));
      s->next_in = in;
      s->avail_in = (uInt)n;
      taken += n;
    }
    // one byte of room beyond the end shows what is longer than it says
    uint64_t left = m->size - done;
    uInt room = left == 0 ? 1 : left < PART ? (uInt)left : PART;
    s->next_out = left == 0 ? &more : to + done;
    s->avail_out = room;
    code = inflate(s, Z_NO_FLUSH);
    if (left == 0 && s->avail_out == 0) return bad_member(z, m, done);
    if (left > 0) done += room - s->avail_out;
  }
  if (code == Z_MEM_ERROR) return tgi_error(z->error, TG_ERR_MEMORY, "out of memory for %s", z->path);
  return code == Z_STREAM_END && done == m->size && taken == m->packed && s->avail_in == 0 ? TG_OK : bad_member(z, m, done);
}

tgStatus tgi_zip_read(ZipReader *z, const ZipMember *m, uint8_t *to) {
  if (m->method == 0) {
    TG_TRY(get(z, m->at, to, (size_t)m->size));
  } else {
    z_stream s = {.zalloc = take, .zfree = give, .opaque = (voidpf)(uintptr_t)z->alloc};
    // -15: no head of zlib's own, a window of 32 kB
    if (inflateInit2(&s, -15) != Z_OK) return tgi_error(z->error, TG_ERR_MEMORY, "out of memory for %s", z->path);
    tgStatus status = inflate_all(z, m, &s, to);
    inflateEnd(&s);
    if (status != TG_OK) return status;
  }
  return check_sum(0, to, (size_t)m->size) == m->crc ? TG_OK : bad_member(z, m, 0);
}
