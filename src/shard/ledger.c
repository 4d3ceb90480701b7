// ledger.c: see ledger.h and tangere/shard.h. Lines are appended to one file by one process, which a lock file beside it holds.
#include "shard/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/file_status.h"
#include "base/status.h"
#include "optim/lock.h"
#include "optim/optimize.h"

enum { LINE = 600 };
#define SYNC_SECONDS 0.2

void tgi_ledger_name(const char *folder, int part, int parts, char *path, size_t size) {
  if (parts <= 1) snprintf(path, size, "%s/ledger", folder);
  else snprintf(path, size, "%s/ledger-%d-of-%d", folder, part, parts);
}

// ---- lines ----

// ends the line with its hash
static int seal(char line[LINE], int length) {
  uint64_t h = tg_hash(TG_HASH_START, line, (size_t)length);
  return length + snprintf(line + length, LINE - (size_t)length, " #%016" PRIx64 "\n", h);
}

static int head_line(const tgLedgerHead *head, char line[LINE]) {
  return seal(line, snprintf(line, LINE - 20, "tangere-ledger 1 key %016" PRIx64 " shards %d points %" PRId64 " of %s", head->key,
                             head->shards, head->points, head->identity));
}

static int done_line(const tgShardResult *r, char line[LINE]) {
  uint64_t best;            // its bits: numbers in text have commas in some locales
  memcpy(&best, &r->best, sizeof best);
  return seal(line, snprintf(line, LINE - 20, "done %d bits %016" PRIx64 " points %d failed %d best %016" PRIx64, r->shard, r->bits,
                             r->points, r->failed, best));
}

// the text without its hash; false: the line is not what was written
static bool unseal(char *line, size_t length) {
  if (length < 19 || line[length - 18] != ' ' || line[length - 17] != '#') return false;
  char *end;
  uint64_t want = strtoull(line + length - 16, &end, 16);
  if (end != line + length || want != tg_hash(TG_HASH_START, line, length - 18)) return false;
  line[length - 18] = '\0';
  return true;
}

static bool read_head(const char *line, tgLedgerHead *head) {
  int at = 0;
  if (sscanf(line, "tangere-ledger 1 key %16" SCNx64 " shards %d points %" SCNd64 " of %n", &head->key, &head->shards, &head->points,
             &at) != 3 ||
      at == 0 || head->shards < 1 || head->shards > TG_SHARD_MOST || head->points < head->shards)
    return false;
  snprintf(head->identity, sizeof head->identity, "%.199s", line + at);
  return true;
}

static bool read_done(const char *line, int shards, tgShardResult *r) {
  uint64_t best;
  int n = sscanf(line, "done %d bits %16" SCNx64 " points %d failed %d best %16" SCNx64, &r->shard, &r->bits, &r->points, &r->failed,
                 &best);
  if (n != 5) return false;
  memcpy(&r->best, &best, sizeof best);
  return r->shard >= 0 && r->shard < shards && r->points >= 1 && r->failed >= 0 && r->failed <= r->points;
}

typedef struct Lines { const char *path; char *text; size_t size; } Lines;

static tgStatus read_text(Lines *l, tgError *error) {
  FILE *f = fopen(l->path, "rbe");
  struct stat at;
  if (f == NULL && errno == ENOENT) return TG_OK;
  bool known = f != NULL && fstat(fileno(f), &at) == 0, ok = known && S_ISREG(at.st_mode);
  if (ok) l->text = malloc((size_t)at.st_size + 1);
  int why = errno;
  bool plain = ok || !known;
  if (ok && l->text != NULL) {
    l->size = fread(l->text, 1, (size_t)at.st_size, f);
    why = errno;
    ok = !ferror(f);      // what cannot be read is not an end: lines behind it would be cut off
  }
  if (f != NULL) fclose(f);
  if (!plain) return tgi_error(error, TG_ERR_FILE, "%s cannot be read: it is not a regular file", l->path);
  if (!ok) return tgi_error(error, tgi_file_status(why), "%s cannot be read: %s", l->path, strerror(why));
  return l->text != NULL ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", l->path);
}

static tgStatus read_lines(const Lines *l, tgLedgerHead *head, tgStatus (*each)(void *, const tgShardResult *, tgError *), void *ctx,
                           long *good, tgError *error) {
  int number = 0;
  for (char *line = l->text, *end; line != NULL; line = end + 1) {
    size_t left = l->size - (size_t)(line - l->text);
    end = memchr(line, '\n', left);
    if (end == NULL) return TG_OK;   // nothing, or a line that was cut off
    tgShardResult r;
    number++;
    bool whole = unseal(line, (size_t)(end - line)) && (number == 1 ? read_head(line, head) : read_done(line, head->shards, &r));
    if (!whole && number == 1)
      return tgi_error(error, TG_ERR_INVALID, "%s is not a ledger of this program", l->path);
    if (!whole)
      return tgi_error(error, TG_ERR_INVALID, "%s, line %d is damaged: take the line out, and its shard is taken from its result file",
                       l->path, number);
    if (number > 1) TG_TRY(each(ctx, &r, error));
    *good = end + 1 - l->text;
  }
  return TG_OK;
}

tgStatus tgi_ledger_read(const char *path, tgLedgerHead *head, tgStatus (*each)(void *ctx, const tgShardResult *result, tgError *error),
                         void *ctx, long *good, tgError *error) {
  Lines l = {.path = path};
  *good = 0;
  tgStatus st = read_text(&l, error);
  if (st == TG_OK) st = read_lines(&l, head, each, ctx, good, error);
  free(l.text);
  return st;
}

// ---- a ledger that is written ----

struct tgShardLedger {
  tgRunLock lock;
  char path[1100], folder[1024];
  int fd, part, parts, shards, total, done;
  int64_t failed;
  long size;                // bytes of whole lines
  double best, synced;      // synced: when [s]
  bool dirty;
  uint64_t *bits;           // of each shard
  bool *is_done;
};

static tgStatus append(tgShardLedger *l, const char *line, int length, tgError *error) {
  for (int at = 0; at < length;) {
    ssize_t n = pwrite(l->fd, line + at, (size_t)(length - at), l->size + at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int why = n < 0 ? errno : ENOSPC;
      if (ftruncate(l->fd, l->size) != 0) why = errno;
      return tgi_error(error, tgi_file_status(why), "%s cannot be written: %s", l->path, strerror(why));
    }
    at += (int)n;
  }
  l->size += length;
  l->dirty = true;
  return TG_OK;
}

static void note(tgShardLedger *l, const tgShardResult *r) {
  l->is_done[r->shard] = true;
  l->bits[r->shard] = r->bits;
  l->done++;
  l->failed += r->failed;
  l->best = fmin(l->best, r->best);
}

static bool result_there(const tgShardLedger *l, int shard) {
  char path[1200], name[64];
  struct stat at;
  snprintf(path, sizeof path, "%s/%s", l->folder, tg_shard_path(shard, name, sizeof name));
  return stat(path, &at) == 0 && S_ISREG(at.st_mode) && at.st_size > 0;
}

static tgStatus other_bits(const tgShardLedger *l, const tgShardResult *r, tgError *error) {
  return tgi_error(error, TG_ERR_INTERNAL, "%s: shard %d came out with bits %016" PRIx64 ", and before with %016" PRIx64
                   ": the machines do not compute the same", l->path, r->shard, r->bits, l->bits[r->shard]);
}

static tgStatus from_line(void *ctx, const tgShardResult *r, tgError *error) {
  tgShardLedger *l = ctx;
  if (l->bits == NULL || r->shard >= l->shards || r->shard % l->parts != l->part)
    return tgi_error(error, TG_ERR_INVALID, "%s has a shard %d that is not of this run", l->path, r->shard);
  if (l->bits[r->shard] != 0 && l->bits[r->shard] != r->bits) return other_bits(l, r, error);
  bool before = l->is_done[r->shard];
  l->bits[r->shard] = r->bits;
  if (!before && result_there(l, r->shard)) note(l, r);
  return TG_OK;
}

// results that a process wrote that ended before it noted them; one that is damaged or of another run is computed again
static tgStatus adopt(tgShardLedger *l, const tgShards *s, tgError *error) {
  for (int i = l->part; i < l->shards; i += l->parts) {
    tgShardResult r;
    if (l->is_done[i] || !result_there(l, i) || tg_shards_read(s, i, l->folder, &r, NULL) != TG_OK) continue;
    tgStatus st = tg_shard_ledger_add(l, &r, error);
    if (st != TG_OK) return st;
  }
  return TG_OK;
}

static tgStatus begin(tgShardLedger *l, const tgShards *s, tgError *error) {
  tgLedgerHead head = {0}, own = {.key = tg_shards_key(s), .shards = tg_shards_count(s), .points = tg_shards_points(s)};
  snprintf(own.identity, sizeof own.identity, "%s", tg_shards_identity(s));
  TG_TRY(tgi_make_folder(l->folder, error));
  TG_TRY(tgi_run_lock(&l->lock, l->path, error));
  tgStatus read = tgi_ledger_read(l->path, &head, from_line, l, &l->size, error);
  if (l->size > 0 && head.key != own.key)
    return tgi_error(error, TG_ERR_INVALID, "%s is of another run:\n  there: %s\n  here:  %s\nname another folder", l->path, head.identity,
                     own.identity);
  if (read != TG_OK) return read;
  l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (l->fd < 0 || ftruncate(l->fd, l->size) != 0)
    return tgi_error(error, tgi_file_status(errno), "%s cannot be opened: %s", l->path, strerror(errno));
  char line[LINE];
  if (l->size == 0) TG_TRY(append(l, line, head_line(&own, line), error));
  TG_TRY(adopt(l, s, error));
  return tg_shard_ledger_sync(l, error);
}

tgShardLedger *tg_shard_ledger_open(const tgShards *s, const char *folder, int part, int parts, tgError *error) {
  if (s == NULL || folder == NULL || folder[0] == '\0' || parts < 1 || part < 0 || part >= parts || strlen(folder) > 1000) {
    tgi_error(error, TG_ERR_ARG, "a ledger needs a specification, a folder, and a part from 0 to %d, not %d", parts - 1, part);
    return NULL;
  }
  int shards = tg_shards_count(s);
  tgShardLedger *l = calloc(1, sizeof *l);
  if (l != NULL) {
    *l = (tgShardLedger){.lock = {.fd = -1}, .fd = -1, .part = part, .parts = parts, .shards = shards, .best = INFINITY,
                         .synced = tgi_opt_now()};
    l->total = part < shards ? (shards - 1 - part) / parts + 1 : 0;
    snprintf(l->folder, sizeof l->folder, "%s", folder);
    tgi_ledger_name(folder, part, parts, l->path, sizeof l->path);
    l->bits = calloc((size_t)shards + 1, sizeof *l->bits);
    l->is_done = calloc((size_t)shards + 1, sizeof *l->is_done);
  }
  tgStatus st = l != NULL && l->bits != NULL && l->is_done != NULL ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "out of memory for a ledger");
  if (st == TG_OK) st = begin(l, s, error);
  if (st == TG_OK) return l;
  tg_shard_ledger_close(l);
  return NULL;
}

void tg_shard_ledger_close(tgShardLedger *l) {
  if (l == NULL) return;
  if (l->fd >= 0) {
    fsync(l->fd);
    close(l->fd);
  }
  tgi_run_unlock(&l->lock);
  free(l->bits);
  free(l->is_done);
  free(l);
}

tgStatus tg_shard_ledger_sync(tgShardLedger *l, tgError *error) {
  if (l == NULL) return tgi_error(error, TG_ERR_ARG, "no ledger given");
  l->synced = tgi_opt_now();
  if (l->dirty && fsync(l->fd) != 0) return tgi_error(error, tgi_file_status(errno), "%s cannot be written: %s", l->path, strerror(errno));
  l->dirty = false;
  return TG_OK;
}

tgStatus tg_shard_ledger_add(tgShardLedger *l, const tgShardResult *r, tgError *error) {
  if (l == NULL || r == NULL || r->shard < 0 || r->shard >= l->shards || r->shard % l->parts != l->part)
    return tgi_error(error, TG_ERR_ARG, "no ledger, or a shard that is not of its part");
  if (r->points < 1 || r->failed < 0 || r->failed > r->points)   // a line of which would not be read again
    return tgi_error(error, TG_ERR_ARG, "shard %d: of %d points %d failed: that is no result", r->shard, r->points, r->failed);
  if (l->bits[r->shard] != 0 && l->bits[r->shard] != r->bits) return other_bits(l, r, error);
  if (l->is_done[r->shard]) return TG_OK;
  char line[LINE];
  bool noted = l->bits[r->shard] != 0;   // its line is there; its result was lost, and is there again
  if (!noted) TG_TRY(append(l, line, done_line(r, line), error));
  note(l, r);
  return tgi_opt_now() - l->synced > SYNC_SECONDS ? tg_shard_ledger_sync(l, error) : TG_OK;
}

int tg_shard_ledger_next(const tgShardLedger *l, int from) {
  if (l == NULL) return -1;
  for (int i = from < 0 ? 0 : from; i < l->shards; i++)
    if (i % l->parts == l->part && !l->is_done[i]) return i;
  return -1;
}

int tg_shard_ledger_total(const tgShardLedger *l) { return l != NULL ? l->total : 0; }
int tg_shard_ledger_done(const tgShardLedger *l) { return l != NULL ? l->done : 0; }
int64_t tg_shard_ledger_failed(const tgShardLedger *l) { return l != NULL ? l->failed : 0; }
double tg_shard_ledger_best(const tgShardLedger *l) { return l != NULL ? l->best : INFINITY; }
