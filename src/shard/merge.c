// merge.c: the results of all shards as one file. See tangere/shard.h.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_status.h"
#include "base/folder.h"
#include "base/memory.h"
#include "output/npy.h"
#include "shard/ledger.h"
#include "shard/shards.h"

// where a shard's result is
typedef struct Source { int folder; bool known; tgShardResult result; } Source;

typedef struct Merge {
  const char *const *folder;
  int nfolder, current;     // folder whose ledger is read
  tgLedgerHead head;
  char head_path[1400];
  bool begun;
  Source *source;           // of each shard
  tgTable table;            // what is written
  int column[TGI_TABLE_MOST];   // of each array of a shard in the table, -1: left in the shards' files
  tgPairSum sum[TGI_TABLE_MOST];
  int narray;               // arrays of a shard
  int64_t point;            // rows so far
  tgShardMerged *out;
} Merge;

// ---- which shards there are ----

static tgStatus from_line(void *ctx, const tgShardResult *r, tgError *error) {
  Merge *m = ctx;
  Source *s = &m->source[r->shard];
  if (s->known && s->result.bits != r->bits)
    return tgi_error(error, TG_ERR_INVALID,
                     "shard %d has bits %016" PRIx64 " in %s and %016" PRIx64 " in %s: the machines do not compute the same",
                     r->shard, s->result.bits, m->folder[s->folder], r->bits, m->folder[m->current]);
  if (!s->known) *s = (Source){.folder = m->current, .known = true, .result = *r};
  return TG_OK;
}

static tgStatus no_line(void *ctx, const tgShardResult *r, tgError *error) {
  (void)ctx, (void)r, (void)error;
  return TG_OK;
}

static tgStatus read_ledger(Merge *m, const char *path, tgError *error) {
  tgLedgerHead head;
  long good;
  tgStatus st = tgi_ledger_read(path, &head, no_line, NULL, &good, error);
  if (st != TG_OK || good == 0) return st;
  if (m->begun && head.key != m->head.key)
    return tgi_error(error, TG_ERR_INVALID, "the folders are of different runs:\n  %s: %s\n  %s: %s", m->head_path, m->head.identity, path,
                     head.identity);
  if (!m->begun) {
    m->source = calloc((size_t)head.shards + 1, sizeof *m->source);
    if (m->source == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d shards", head.shards);
    m->head = head;
    m->begun = true;
    snprintf(m->head_path, sizeof m->head_path, "%s", path);
  }
  return tgi_ledger_read(path, &head, from_line, m, &good, error);
}

static bool is_ledger(const char *name) {
  size_t n = strlen(name);
  return (strcmp(name, "ledger") == 0 || strncmp(name, "ledger-", 7) == 0) && !(n > 5 && strcmp(name + n - 5, ".lock") == 0);
}

static tgStatus read_folder(Merge *m, tgError *error) {
  const char *folder = m->folder[m->current];
  DIR *dir = opendir(folder);
  if (dir == NULL) return tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", folder, strerror(errno));
  tgStatus st = TG_OK;
  int found = 0;
  for (struct dirent *e; st == TG_OK;) {
    char path[1400];
    errno = 0;
    e = readdir(dir);
    if (e == NULL && errno != 0) st = tgi_error(error, tgi_file_status(errno), "%s cannot be read: %s", folder, strerror(errno));
    if (e == NULL) break;
    if (!is_ledger(e->d_name)) continue;
    found++;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    st = read_ledger(m, path, error);
  }
  closedir(dir);
  if (st == TG_OK && found == 0) return tgi_error(error, TG_ERR_FILE, "%s has no ledger: it is not the folder of a batch", folder);
  return st;
}

static tgStatus check_whole(const Merge *m, tgError *error) {
  char list[120] = "";
  int missing = 0;
  size_t used = 0;
  if (!m->begun) return tgi_error(error, TG_ERR_INVALID, "the ledgers are empty: nothing was computed yet");
  for (int i = 0; i < m->head.shards; i++) {
    if (m->source[i].known) continue;
    if (missing++ < 8) used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", missing > 1 ? ", " : "", i);
  }
  if (missing == 0) return TG_OK;
  return tgi_error(error, TG_ERR_INVALID, "%d of %d shards are missing (%s%s): run the batch again, it goes on where it ended", missing,
                   m->head.shards, list, missing > 8 ? ", ..." : "");
}

// ---- their numbers ----

static size_t row_numbers(const tgNpzArray *a) {
  size_t n = 1;
  for (int k = 1; k < a->ndim; k++) n = tgi_size_mul(n, a->shape[k]);
  return n;
}

static bool is_row(const tgNpzArray *a) { return tgi_array_of_points(a->name) && !tgi_array_of_states(a->name); }

// arrays of the merged file, as the first shard has them; rows of several numbers are left out where all are too many
static tgStatus make_columns(Merge *m, const tgNpz *npz, tgError *error) {
  size_t bytes = 0, points = (size_t)m->head.points;
  if (npz->narray > TGI_TABLE_MOST) return tgi_error(error, TG_ERR_PARSE, "shard 0 has %d arrays", npz->narray);
  for (int i = 0; i < npz->narray; i++)
    if (is_row(&npz->array[i])) bytes += tgi_size_mul(points, tgi_size_mul(row_numbers(&npz->array[i]), tgi_npz_item(npz->array[i].type)));
  m->narray = npz->narray;
  m->out->left = bytes > TG_SHARD_MERGE_BYTES;
  for (int i = 0; i < npz->narray; i++) {
    const tgNpzArray *a = &npz->array[i];
    bool sum = strncmp(a->name, TGI_SUM, sizeof TGI_SUM - 1) == 0, row = is_row(a) && (a->ndim == 1 || !m->out->left);
    m->column[i] = -1;
    if (!sum && !row) continue;
    m->column[i] = m->table.n;
    size_t width = a->ndim > 1 ? row_numbers(a) : 0;
    if (tgi_table_add(&m->table, a->name, a->type, sum ? a->shape[0] : points, width, 0) == NULL)
      return tgi_error(error, TG_ERR_MEMORY, "out of memory for %zu points", points);
    if (sum && a->type == TG_NPZ_F8 && !tgi_pair_sum_begin(&m->sum[i], a->shape[0]))
      return tgi_error(error, TG_ERR_MEMORY, "out of memory for a sum");
  }
  return TG_OK;
}

static tgStatus add_array(Merge *m, int i, const tgNpzArray *a, int64_t points, tgError *error) {
  const tgNpzArray *to = m->column[i] >= 0 ? &m->table.array[m->column[i]] : NULL;
  if (to == NULL) return TG_OK;
  bool sum = !tgi_array_of_points(a->name);
  size_t row = tgi_size_mul(row_numbers(a), tgi_npz_item(a->type));
  bool same = strcmp(a->name, to->name) == 0 && a->type == to->type && row_numbers(a) == row_numbers(to) &&
              a->shape[0] == (sum ? to->shape[0] : (size_t)points);
  if (!same) return tgi_error(error, TG_ERR_PARSE, "array '%s' is not as in the first shard", a->name);
  char *data = (char *)(uintptr_t)to->data;
  if (!sum) memcpy(data + (size_t)m->point * row, a->data, (size_t)points * row);
  else if (a->type == TG_NPZ_F8) tgi_pair_sum_add(&m->sum[i], (double *)(uintptr_t)a->data);
  else *(int64_t *)(void *)data += *(const int64_t *)a->data;
  return TG_OK;
}

static void note_best(Merge *m, const tgNpz *npz, int64_t points) {
  const tgNpzArray *loss = tg_npz_find(npz, "loss"), *status = tg_npz_find(npz, "status");
  if (loss == NULL || status == NULL || loss->type != TG_NPZ_F8 || status->type != TG_NPZ_I4) return;
  for (int64_t k = 0; k < points && k < (int64_t)loss->shape[0] && k < (int64_t)status->shape[0]; k++) {
    double value = ((const double *)loss->data)[k];
    if (((const int32_t *)status->data)[k] != TG_OK || !(value < m->out->best)) continue;
    m->out->best = value;
    m->out->best_point = m->point + k;
  }
}

static tgStatus add_shard(Merge *m, int shard, tgError *error) {
  const Source *s = &m->source[shard];
  char path[1400], name[64];
  tgNpz npz;
  snprintf(path, sizeof path, "%s/%s", m->folder[s->folder], tg_shard_path(shard, name, sizeof name));
  tgStatus st = tg_npz_read(path, 0, NULL, &npz, error);
  if (st != TG_OK) return st;
  if (tgi_arrays_bits(npz.array, npz.narray) != s->result.bits)
    st = tgi_error(error, TG_ERR_PARSE, "%s is not the result that the ledger has (other bits): take it out and run the batch again", path);
  if (st == TG_OK && m->point + s->result.points > m->head.points)
    st = tgi_error(error, TG_ERR_PARSE, "%s: the ledger has more points than the run", path);
  if (st == TG_OK && shard == 0) st = make_columns(m, &npz, error);
  if (st == TG_OK && npz.narray != m->narray) st = tgi_error(error, TG_ERR_PARSE, "%s has other arrays than the first shard", path);
  if (st == TG_OK) note_best(m, &npz, s->result.points);
  for (int i = 0; i < npz.narray && st == TG_OK; i++) st = add_array(m, i, &npz.array[i], s->result.points, error);
  m->point += s->result.points;
  m->out->failed += s->result.failed;
  m->out->bits = tg_hash(m->out->bits, &s->result.bits, sizeof s->result.bits);
  tg_npz_free(&npz);
  return st;
}

static tgStatus write_out(Merge *m, const char *out, tgError *error) {
  char path[1200];
  for (int i = 0; i < TGI_TABLE_MOST; i++)
    if (m->sum[i].level != NULL) tgi_pair_sum_end(&m->sum[i], (double *)(uintptr_t)m->table.array[m->column[i]].data);
  m->out->bits = tg_hash(m->out->bits, &m->out->failed, sizeof m->out->failed);
  if (snprintf(path, sizeof path, "%s/merged.npz", out) >= (int)sizeof path)
    return tgi_error(error, TG_ERR_FILE, "%s: the path is too long", out);
  TG_TRY(tgi_make_folder(out, error));
  return tg_npz_write(path, m->table.array, m->table.n, error);
}

static tgStatus merge(Merge *m, const char *out, tgError *error) {
  for (m->current = 0; m->current < m->nfolder; m->current++) TG_TRY(read_folder(m, error));
  TG_TRY(check_whole(m, error));
  m->out->shards = m->head.shards;
  m->out->points = m->head.points;
  m->out->key = m->head.key;
  for (int i = 0; i < m->head.shards; i++) TG_TRY(add_shard(m, i, error));
  if (m->point != m->head.points) return tgi_error(error, TG_ERR_PARSE, "the shards have %lld points, not %lld", (long long)m->point,
                                                   (long long)m->head.points);
  return write_out(m, out, error);
}

tgStatus tg_shards_merge(const char *const *folders, int nfolder, const char *out, tgShardMerged *merged, tgError *error) {
  tgShardMerged found;
  if (folders == NULL || nfolder < 1 || out == NULL) return tgi_error(error, TG_ERR_ARG, "a merge needs folders, and one to write to");
  Merge *m = calloc(1, sizeof *m);
  if (m == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a merge");
  m->folder = folders;
  m->nfolder = nfolder;
  m->out = merged != NULL ? merged : &found;
  *m->out = (tgShardMerged){.best = INFINITY, .best_point = -1, .bits = TG_HASH_START};
  tgStatus st = merge(m, out, error);
  for (int i = 0; i < TGI_TABLE_MOST; i++) free(m->sum[i].level);
  tgi_table_free(&m->table);
  free(m->source);
  free(m);
  return st;
}
