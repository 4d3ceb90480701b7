// fuzz_ledger.c: arbitrary bytes as a ledger. No search by bytes finds a line with its own hash: where the first byte is odd, every line
// gets the hash that belongs to it, so that what a line says is reached too.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "optim/optimize.h"
#include "shard/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_lines(FILE *f, const char *text, size_t size, bool sealed) {
  while (size > 0) {
    const char *end = memchr(text, '\n', size);
    size_t length = end != NULL ? (size_t)(end - text) : size;
    fwrite(text, 1, length, f);
    if (end == NULL) return;     // cut off
    if (sealed) fprintf(f, " #%016" PRIx64, tg_hash(TG_HASH_START, text, length));
    fputc('\n', f);
    text += length + 1;
    size -= length + 1;
  }
}

static tgStatus each(void *ctx, const tgShardResult *r, tgError *error) {
  const tgLedgerHead *head = ctx;
  (void)error;
  if (r->shard < 0 || r->shard >= head->shards || r->points < 1 || r->failed < 0 || r->failed > r->points) abort();
  return TG_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  int fd = memfd_create("ledger", MFD_CLOEXEC);
  FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
  if (f == NULL) abort();
  write_lines(f, (const char *)data + 1, size - 1, data[0] % 2 == 1);
  long written = ftell(f);
  fclose(f);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  tgLedgerHead head = {0};
  tgError error = {0};
  long good;
  tgStatus st = tgi_ledger_read(path, &head, each, &head, &good, &error);
  if (good < 0 || good > written || (good > 0 && (head.shards < 1 || head.shards > TG_SHARD_MOST || head.points < head.shards))) abort();
  if (st != TG_OK && (error.status != st || strlen(error.text) == 0)) abort();
  close(fd);
  return 0;
}
