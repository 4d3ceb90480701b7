// fuzz_journal.c: arbitrary bytes as a journal. No search by bytes finds a record with its own hash: where the first byte is odd, each gets
// the one that belongs to it, so that what a record says is reached too. Taken up, the file is a journal again, and no longer than it was.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_bytes.h"
#include "optim/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N = 3 };
static const tgJournalKey key = {.problem = 22, .start = 23};
typedef struct Record { uint64_t x, says; int64_t count; tgEvaluation e; } Record;

static const double x[N] = {1, 2, 3};

// what follows a record's head, as it says; then its hash
static void write_sealed(FILE *f, const uint8_t *data, size_t size) {
  while (size >= 2) {
    Record r = {.x = tg_hash(TG_HASH_START, x, sizeof x), .says = data[0] % 4, .count = data[1] % 8 == 7 ? data[1] : N};
    size_t more = (size_t)(r.count > 0 ? r.count : 0) * 8 + (r.says & 1 ? sizeof(tgGradInfo) : 0) + (r.says & 2 ? sizeof(tgError) : 0);
    r.e = (tgEvaluation){.status = data[1] % 16 == 3 ? TG_ERR_NOT_FINITE : TG_OK, .label = data[0] >> 4, .loss = data[1]};
    uint8_t *text = calloc(more + 1, 1);
    if (text == NULL) abort();
    size_t given = size - 2 < more ? size - 2 : more;
    memcpy(text, data + 2, given);
    uint64_t sum = tg_hash(tg_hash(TG_HASH_START, &r, sizeof r), text, more);
    fwrite(&r, sizeof r, 1, f);
    fwrite(text, 1, more, f);
    fwrite(&sum, sizeof sum, 1, f);
    free(text);
    data += 2 + given;
    size -= 2 + given;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct { char magic[8]; tgJournalKey key; int64_t n; } head = {"TGJRNL4", key, N};
  if (size == 0) return 0;
  int fd = memfd_create("journal", MFD_CLOEXEC);
  FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
  if (f == NULL) abort();
  if (data[0] & 2) fwrite(&head, sizeof head, 1, f);
  if (data[0] & 1) write_sealed(f, data + 1, size - 1);
  else fwrite(data + 1, 1, size - 1, f);
  long written = ftell(f);
  fclose(f);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  tgError error = {0};
  tgJournal *j = tgi_journal_open(path, true, false, &key, N, NULL, &error);
  if (j == NULL && (error.status >= 0 || strlen(error.text) == 0)) abort();
  tgOptimum out = {.n = N};
  tgEvaluation e;
  double g[N];
  int taken = 0;
  while (j != NULL && tgi_journal_next(j, x, N, &e, g, N, &out)) {
    if (e.label < 0 || e.label > TG_GRAD_UNSTABLE) abort();
    if (memchr(out.grad.reason, 0, sizeof out.grad.reason) == NULL || memchr(out.error.text, 0, sizeof out.error.text) == NULL) abort();
    if (++taken > written) abort();
  }
  e = (tgEvaluation){.status = TG_OK, .loss = 1};
  if (j != NULL && tgi_journal_add(j, x, N, &e, g, N, &out) != TG_OK) abort();
  tgi_journal_close(j);
  close(fd);
  return 0;
}
