// journal.c: see journal.h. A record: hash of x, evaluation, the numbers that it carries, what the run then says of its
// gradients and of its last failure where that is not what it said before, hash of the record.
#include "optim/journal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/file_status.h"
#include "base/status.h"
#include "optim/optimize.h"

#define MAGIC "TGJRNL4"   // eight bytes with its end

typedef struct Head { char magic[8]; tgJournalKey key; int64_t n; } Head;
typedef struct Record { uint64_t x, says; int64_t count; tgEvaluation e; } Record;
enum { SAYS_GRAD = 1, SAYS_ERROR = 2 };   // of Record.says: follow the numbers

struct tgJournal {
  tgAllocator alloc;
  FILE *file;
  int n;
  bool replaying;
  int broken;          // errno of a read or a cut that failed: nothing more is written, or what follows would be lost
  char path[1100];     // for messages
  tgGradInfo grad;     // as after the last record
  tgError error;
};

static uint64_t hash_of(const void *data, size_t bytes) { return tg_hash(TG_HASH_START, data, bytes); }

static uint64_t seal(const Record *r, const double *data, const tgGradInfo *grad, const tgError *error) {
  uint64_t h = tg_hash(hash_of(r, sizeof *r), data, (size_t)r->count * sizeof *data);
  if (r->says & SAYS_GRAD) h = tg_hash(h, grad, sizeof *grad);
  return r->says & SAYS_ERROR ? tg_hash(h, error, sizeof *error) : h;
}

// copies of which every byte is told, also those after the ends of texts and between fields
static tgGradInfo whole_grad(const tgGradInfo *from) {
  tgGradInfo g;
  memset(&g, 0, sizeof g);
  g.label = from->label;
  g.converged = from->converged;
  g.ties = from->ties;
  g.first_step = from->first_step;
  snprintf(g.reason, sizeof g.reason, "%s", from->reason);
  return g;
}

static tgError whole_error(const tgError *from) {
  tgError e;
  memset(&e, 0, sizeof e);
  e.status = from->status;
  e.line = from->line;
  e.column = from->column;
  snprintf(e.file, sizeof e.file, "%s", from->file);
  snprintf(e.element, sizeof e.element, "%s", from->element);
  snprintf(e.text, sizeof e.text, "%s", from->text);
  return e;
}

// What a record says is of the form that was written: a file whose hashes fit may have been made by anybody.
static bool well_formed(const tgEvaluation *e, const tgGradInfo *grad, const tgError *error) {
  unsigned char flag;
  memcpy(&flag, &grad->converged, sizeof flag);
  return (e->status == TG_OK || tgi_opt_numerical((tgStatus)e->status)) && e->label >= 0 && e->label <= TG_GRAD_UNSTABLE && flag <= 1 &&
         (int)grad->label >= 0 && grad->label <= TG_GRAD_UNSTABLE && memchr(grad->reason, 0, sizeof grad->reason) != NULL &&
         memchr(error->file, 0, sizeof error->file) != NULL && memchr(error->element, 0, sizeof error->element) != NULL &&
         memchr(error->text, 0, sizeof error->text) != NULL;
}

// reads one whole record of `count` numbers, or of none when it failed; false at the end, at a torn one and at one of another size
static bool read_record(tgJournal *j, Record *r, double *data, int count) {
  uint64_t want;
  tgGradInfo grad = j->grad;
  tgError error = j->error;
  bool ok = fread(r, sizeof *r, 1, j->file) == 1 && r->count == (r->e.status == TG_OK ? count : 0);
  ok = ok && fread(data, sizeof *data, (size_t)r->count, j->file) == (size_t)r->count;
  ok = ok && (!(r->says & SAYS_GRAD) || fread(&grad, sizeof grad, 1, j->file) == 1);
  ok = ok && (!(r->says & SAYS_ERROR) || fread(&error, sizeof error, 1, j->file) == 1);
  ok = ok && fread(&want, sizeof want, 1, j->file) == 1 && want == seal(r, data, &grad, &error);
  if (!ok || !well_formed(&r->e, &grad, &error)) return false;
  j->grad = grad;
  j->error = error;
  return true;
}

static tgStatus start(tgJournal *j, bool resume, const tgJournalKey *key, const char *path, tgError *error) {
  Head want = {.magic = MAGIC, .key = *key, .n = j->n}, head;
  bool there = resume && fread(&head, sizeof head, 1, j->file) == 1;
  if (there && key->follows) want.key.start = head.key.start;
  if (there && memcmp(&head, &want, sizeof head) != 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "%s is the journal of another task, model, seed, method or version; run with overwrite in place "
                     "of resume to write it anew", path);
  if (there && head.key.start == key->start) {
    j->replaying = true;
    return TG_OK;
  }
  want.key.start = key->start;
  if (ferror(j->file)) return tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", path, strerror(errno));
  rewind(j->file);
  if (ftruncate(fileno(j->file), 0) != 0 || fwrite(&want, sizeof want, 1, j->file) != 1 || fflush(j->file) != 0)
    return tgi_error(error, tgi_file_status(errno), "%s cannot be written: %s", path, strerror(errno));
  return TG_OK;
}

// bytes of a record on its file
static size_t record_size(const Record *r) {
  return sizeof *r + (size_t)r->count * sizeof(double) + (r->says & SAYS_GRAD ? sizeof(tgGradInfo) : 0) +
         (r->says & SAYS_ERROR ? sizeof(tgError) : 0) + sizeof(uint64_t);
}

// the journal of a run whose start could not be evaluated: one record, of that failure
static bool ended_at_the_start(const char *path, off_t size) {
  Head head;
  Record r;
  FILE *f = fopen(path, "rb");
  bool read = f != NULL && fread(&head, sizeof head, 1, f) == 1 && fread(&r, sizeof r, 1, f) == 1;
  if (f != NULL) fclose(f);
  return read && memcmp(head.magic, MAGIC, sizeof head.magic) == 0 && r.count == 0 && r.e.status != TG_OK &&
         size == (off_t)(sizeof head + record_size(&r));
}

// true when there is something at path that a run has found, or that is no journal
static bool holds_something(const char *path) {
  struct stat at;
  return stat(path, &at) == 0 && S_ISREG(at.st_mode) && at.st_size > (off_t)sizeof(Head) && !ended_at_the_start(path, at.st_size);
}

tgJournal *tgi_journal_open(const char *path, bool resume, bool overwrite, const tgJournalKey *key, int n, const tgAllocator *alloc,
                            tgError *error) {
  tgAllocator a = tgi_allocator(alloc);
  tgJournal *j = a.alloc(a.ctx, sizeof *j);
  if (j == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a journal");
    return NULL;
  }
  *j = (tgJournal){.alloc = a, .n = n};
  if (path == NULL) return j;
  snprintf(j->path, sizeof j->path, "%s", path);
  if (!resume && !overwrite && holds_something(path)) {
    tgi_error(error, TG_ERR_FILE, "%s holds an earlier run: resume (--resume) takes it up, overwrite (--overwrite) begins anew", path);
    tgi_journal_close(j);
    return NULL;
  }
  j->file = fopen(path, resume ? "r+b" : "w+b");
  if (j->file == NULL && resume && errno == ENOENT) j->file = fopen(path, "w+b");
  tgStatus st = TG_OK;
  if (j->file == NULL) st = tgi_error(error, tgi_file_status(errno), "%s cannot be opened: %s", path, strerror(errno));
  else st = start(j, resume, key, path, error);
  if (st == TG_OK) return j;
  tgi_journal_close(j);
  return NULL;
}

bool tgi_journal_next(tgJournal *j, const double *x, int nx, tgEvaluation *e, double *data, int count, tgOptimum *out) {
  if (!j->replaying) return false;
  Record r;
  long at = ftell(j->file);
  if (read_record(j, &r, data, count) && r.x == hash_of(x, (size_t)nx * sizeof *x)) {
    *e = r.e;
    out->grad = j->grad;
    out->error = j->error;
    return true;
  }
  // the journal ends here: what follows is cut off and written anew, unless it is there and cannot be read
  j->replaying = false;
  bool cut = !ferror(j->file) && fseek(j->file, at, SEEK_SET) == 0 && fflush(j->file) == 0 && ftruncate(fileno(j->file), at) == 0 &&
             fseek(j->file, at, SEEK_SET) == 0;
  if (!cut) j->broken = errno != 0 ? errno : EIO;
  return false;
}

tgStatus tgi_journal_add(tgJournal *j, const double *x, int nx, const tgEvaluation *e, const double *data, int count, tgOptimum *out) {
  if (j->file == NULL) return TG_OK;
  if (j->broken != 0)
    return tgi_error(&out->error, tgi_file_status(j->broken), "%s cannot be taken up: %s; what it holds is kept", j->path,
                     strerror(j->broken));
  Record r;
  memset(&r, 0, sizeof r);
  r.x = hash_of(x, (size_t)nx * sizeof *x);
  r.count = count;
  r.e = *e;
  tgGradInfo grad = whole_grad(&out->grad);
  tgError error = whole_error(&out->error);
  if (memcmp(&grad, &j->grad, sizeof grad) != 0) r.says |= SAYS_GRAD;
  if (memcmp(&error, &j->error, sizeof error) != 0) r.says |= SAYS_ERROR;
  j->grad = grad;
  j->error = error;
  uint64_t sum = seal(&r, data, &grad, &error);
  bool ok = fwrite(&r, sizeof r, 1, j->file) == 1 && (count == 0 || fwrite(data, sizeof *data, (size_t)count, j->file) == (size_t)count);
  ok = ok && (!(r.says & SAYS_GRAD) || fwrite(&grad, sizeof grad, 1, j->file) == 1);
  ok = ok && (!(r.says & SAYS_ERROR) || fwrite(&error, sizeof error, 1, j->file) == 1);
  ok = ok && fwrite(&sum, sizeof sum, 1, j->file) == 1 && fflush(j->file) == 0;
  return ok ? TG_OK : tgi_error(&out->error, tgi_file_status(errno), "%s cannot be written: %s", j->path, strerror(errno));
}

// ---- journals beside one ----

// what tg_optimize puts behind the name of a journal: ".2", ".start1", ".attempt1.start2"
static bool names_part(const char *tail) {
  while (*tail == '.') {
    tail++;
    if (strncmp(tail, "attempt", 7) == 0) tail += 7;
    else if (strncmp(tail, "start", 5) == 0) tail += 5;
    size_t digits = strspn(tail, "0123456789");
    if (digits == 0) return false;
    tail += digits;
  }
  return *tail == '\0';
}

// it begins as a journal does
static bool is_journal(const char *path) {
  char magic[6] = "";
  FILE *f = fopen(path, "rb");
  bool is = f != NULL && fread(magic, sizeof magic, 1, f) == 1 && memcmp(magic, "TGJRNL", sizeof magic) == 0;
  if (f != NULL) fclose(f);
  return is;
}

tgStatus tgi_journal_clear_parts(const char *path, tgError *error) {
  char folder[1100], file[1400];
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  size_t n = strlen(name);
  int length = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
  bool fits = snprintf(folder, sizeof folder, "%.*s", length, slash == NULL ? "." : path) < (int)sizeof folder;
  if (!fits) return TG_OK;   // the lock refuses it
  DIR *d = opendir(folder);
  if (d == NULL && errno == ENOENT) return TG_OK;   // opening the journal says so
  if (d == NULL) return tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", folder, strerror(errno));
  tgStatus st = TG_OK;
  for (const struct dirent *e; st == TG_OK && (e = readdir(d)) != NULL;) {
    if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '.' || !names_part(e->d_name + n)) continue;
    if (snprintf(file, sizeof file, "%s/%s", folder, e->d_name) >= (int)sizeof file || !is_journal(file)) continue;
    if (unlink(file) != 0 && errno != ENOENT)
      st = tgi_error(error, tgi_file_status(errno), "%s is of the run that is overwritten, and cannot be removed: %s", file,
                     strerror(errno));
  }
  closedir(d);
  return st;
}

void tgi_journal_close(tgJournal *j) {
  if (j == NULL) return;
  tgAllocator a = j->alloc;
  if (j->file != NULL) fclose(j->file);
  a.free(a.ctx, j);
}
