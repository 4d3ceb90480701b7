// journal.c: see journal.h. Records are fixed in size: hash of x, kind, evaluation, n doubles, hash of the record.
#include "optim/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct Head { char magic[8]; uint64_t key; int64_t n; } Head;
typedef struct Record { uint64_t x; int64_t gradient; tgEvaluation e; } Record;

struct tgJournal {
  tgAllocator alloc;
  FILE *file;
  int n;
  bool replaying;
  double *g;        // n, the gradient of the record that was read
};

static uint64_t hash_of(const void *data, size_t bytes) { return tgi_hash(TGI_HASH_START, data, bytes); }

static uint64_t seal(const Record *r, const double *g, int n) {
  return tgi_hash(hash_of(r, sizeof *r), g, r->gradient ? (size_t)n * sizeof *g : 0);
}

// reads one whole record; false at the end or at a torn one, with the file where the record began
static bool read_record(tgJournal *j, Record *r) {
  long at = ftell(j->file);
  uint64_t want;
  size_t ng = 0;
  bool ok = fread(r, sizeof *r, 1, j->file) == 1 && (r->gradient == 0 || r->gradient == 1);
  if (ok && r->gradient) ng = (size_t)j->n;
  ok = ok && (ng == 0 || fread(j->g, sizeof *j->g, ng, j->file) == ng) && fread(&want, sizeof want, 1, j->file) == 1;
  if (ok && want == seal(r, j->g, j->n)) return true;
  fseek(j->file, at, SEEK_SET);
  return false;
}

static tgStatus start(tgJournal *j, bool resume, uint64_t key, const char *path, tgError *error) {
  Head want = {.magic = "TGJRNL1", .key = key, .n = j->n}, head;
  if (resume && fread(&head, sizeof head, 1, j->file) == 1) {
    if (memcmp(&head, &want, sizeof head) != 0)
      return tgi_error(error, TG_ERR_INVALID, "%s is the journal of another task, model, seed, method or version; run without resume to write it anew", path);
    j->replaying = true;
    return TG_OK;
  }
  rewind(j->file);
  if (ftruncate(fileno(j->file), 0) != 0 || fwrite(&want, sizeof want, 1, j->file) != 1 || fflush(j->file) != 0)
    return tgi_error(error, TG_ERR_FILE, "%s cannot be written: %s", path, strerror(errno));
  return TG_OK;
}

tgJournal *tgi_journal_open(const char *path, bool resume, uint64_t key, int n, const tgAllocator *alloc, tgError *error) {
  tgAllocator a = tgi_allocator(alloc);
  tgJournal *j = a.alloc(a.ctx, sizeof *j);
  if (j == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a journal");
    return NULL;
  }
  *j = (tgJournal){.alloc = a, .n = n};
  if (path == NULL) return j;
  j->g = a.alloc(a.ctx, tgi_size_mul((size_t)n + 1, sizeof *j->g));
  j->file = j->g == NULL ? NULL : fopen(path, resume ? "r+b" : "w+b");
  if (j->file == NULL && j->g != NULL && resume) j->file = fopen(path, "w+b");
  tgStatus st = TG_OK;
  if (j->g == NULL) st = tgi_error(error, TG_ERR_MEMORY, "out of memory for a journal of %d variables", n);
  else if (j->file == NULL) st = tgi_error(error, TG_ERR_FILE, "%s cannot be opened: %s", path, strerror(errno));
  else st = start(j, resume, key, path, error);
  if (st == TG_OK) return j;
  tgi_journal_close(j);
  return NULL;
}

bool tgi_journal_next(tgJournal *j, const double *x, tgEvaluation *e, double *g) {
  if (!j->replaying) return false;
  Record r;
  long at = ftell(j->file);
  // a failed evaluation has no gradient, asked for or not
  if (read_record(j, &r) && r.x == hash_of(x, (size_t)j->n * sizeof *x) && (r.gradient != 0) == (g != NULL && r.e.status == TG_OK)) {
    *e = r.e;
    if (r.gradient) memcpy(g, j->g, (size_t)j->n * sizeof *g);
    return true;
  }
  // the journal ends here: what follows is cut off and written anew
  fseek(j->file, at, SEEK_SET);
  j->replaying = false;
  fflush(j->file);
  if (ftruncate(fileno(j->file), at) != 0) return false;
  fseek(j->file, at, SEEK_SET);
  return false;
}

tgStatus tgi_journal_add(tgJournal *j, const double *x, const tgEvaluation *e, const double *g, tgError *error) {
  if (j->file == NULL) return TG_OK;
  Record r;
  memset(&r, 0, sizeof r);
  r.x = hash_of(x, (size_t)j->n * sizeof *x);
  r.gradient = g != NULL;
  r.e = *e;
  uint64_t sum = seal(&r, g, j->n);
  bool ok = fwrite(&r, sizeof r, 1, j->file) == 1 && (g == NULL || fwrite(g, sizeof *g, (size_t)j->n, j->file) == (size_t)j->n) &&
            fwrite(&sum, sizeof sum, 1, j->file) == 1 && fflush(j->file) == 0;
  return ok ? TG_OK : tgi_error(error, TG_ERR_FILE, "the journal cannot be written: %s", strerror(errno));
}

void tgi_journal_close(tgJournal *j) {
  if (j == NULL) return;
  tgAllocator a = j->alloc;
  if (j->file != NULL) fclose(j->file);
  a.free(a.ctx, j->g);
  a.free(a.ctx, j);
}
