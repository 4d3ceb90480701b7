// shards.c: a specification with its task, and what identifies its results. See tangere/shard.h.
#include "shard/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_status.h"
#include "io/file.h"
#include "math/isa.h"

// the bytes of a file that the specification names; false: error
static bool read_whole(const char *path, const tgLoadOptions *options, tgFileSet **files, tgFile *file, tgError *error) {
  const char *slash = strrchr(path, '/');
  *files = tgi_files_for_model(path, options, error);
  if (*files == NULL) return false;
  if (tgi_file_open(*files, 0, slash == NULL ? path : slash + 1, file, error) == TG_OK) return true;
  tgi_files_free(*files);
  return false;
}

static bool hash_file(const char *path, const tgLoadOptions *options, uint64_t *hash, tgError *error) {
  tgFileSet *files;
  tgFile file;
  if (!read_whole(path, options, &files, &file, error)) return false;
  *hash = tg_hash(TG_HASH_START, file.data, file.size);
  tgi_file_close(files, &file);
  tgi_files_free(files);
  return true;
}

bool tg_shards_is_spec(const char *path, tgError *error) {
  tgFileSet *files;
  tgFile file;
  if (error != NULL) *error = (tgError){.status = TG_OK};
  if (path == NULL) return tgi_error(error, TG_ERR_ARG, "no specification given"), false;
  if (!read_whole(path, NULL, &files, &file, error)) return false;
  bool is;
  (void)tgi_spec_find_key(file.data, file.size, path, "task", &is, error);
  tgi_file_close(files, &file);
  tgi_files_free(files);
  return is;
}

// the word of a contact model has such an option, under which its models may be chosen
static bool known_option(const char *name) {
  const char *dot = strchr(name, '.');
  for (int i = 0; tg_contact_words(i) != NULL; i++) {
    const char *word = tg_contact_words(i);
    bool its = dot != NULL && strlen(word) == (size_t)(dot - name) && strncmp(word, name, (size_t)(dot - name)) == 0;
    if (dot != NULL && !its) continue;
    if (tg_contact_option_named(word, dot != NULL ? dot + 1 : name).name != NULL) return true;
  }
  return false;
}

// what varies is there; its values are judged where they are set
static tgStatus check_vary(const tgShards *s, tgError *error) {
  for (unsigned k = 0; k < s->spec.yaml->nvary; k++) {
    const YamlVary *y = &s->spec.yaml->vary[k];
    if (y->parameter != NULL)
      TG_TRY(tgi_task_has_number(s->task, y->parameter, y->of, y->entry != NULL ? *y->entry : -1, error));
    if (y->option != NULL && !known_option(y->option))
      return tgi_error(error, TG_ERR_INVALID, "vary: no contact model has an option '%s'", y->option);
  }
  return TG_OK;
}

static tgStatus read_variables(tgShards *s, const char *path, uint64_t *hash, tgError *error) {
  tgNpz npz;
  size_t n = (size_t)tg_task_size(s->task);
  TG_TRY(tg_npz_read(path, 0, NULL, &npz, error));
  const tgNpzArray *x = tg_npz_get(&npz, path, "x", TG_NPZ_F8, 1, &n, error);
  s->variables = x != NULL ? malloc(n * sizeof *s->variables + 1) : NULL;
  if (s->variables != NULL) {
    memcpy(s->variables, x->data, n * sizeof *s->variables);
    *hash = tg_hash(*hash, x->data, n * sizeof *s->variables);
  }
  bool none = x == NULL;
  tg_npz_free(&npz);
  return s->variables != NULL ? TG_OK : none ? TG_ERR_INVALID : tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
}

// a file that the specification names, beside it
static bool beside(char *out, size_t size, const char *path, const char *name, tgError *error) {
  const char *slash = strrchr(path, '/');
  char folder[1024];
  snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
  if (tgi_path_join(out, size, folder, name)) return true;
  tgi_error(error, TG_ERR_INVALID, "%s: the path '%s' is too long", path, name);
  return false;
}

static void identify(tgShards *s, uint64_t spec, uint64_t task) {
  const char *isa = tgi_isa_name(tgi_isa());   // other vectors, other roundings
  uint64_t model = tgi_model_key(TG_HASH_START, s->task->model), part[] = {spec, task, model};
  snprintf(s->identity, sizeof s->identity, "tangere %s by %.50s, %s, specification %016llx, task %016llx, model %016llx", tg_version(),
           __VERSION__, isa,   // other compilers, other roundings
           (unsigned long long)spec, (unsigned long long)task, (unsigned long long)model);
  s->key = tg_hash(tg_hash(TG_HASH_START, part, sizeof part), s->identity, strlen(s->identity));
}

// what is not the specification's fault is said as such
static tgStatus said(const tgError *error, tgStatus other) {
  return error != NULL && (error->status == TG_ERR_DISK || error->status == TG_ERR_MEMORY) ? error->status : other;
}

static tgStatus load(tgShards *s, const char *path, const tgLoadOptions *options, tgError *error) {
  tgFileSet *files;
  tgFile file;
  char task[1100], variables[1100];
  if (!read_whole(path, options, &files, &file, error)) return said(error, TG_ERR_FILE);
  uint64_t spec_hash = tg_hash(TG_HASH_START, file.data, file.size), task_hash;
  tgStatus st = tgi_spec_parse(file.data, file.size, path, &s->spec, error);
  tgi_file_close(files, &file);
  tgi_files_free(files);
  if (st != TG_OK) return st;
  if (!beside(task, sizeof task, path, s->spec.yaml->task, error) || !hash_file(task, options, &task_hash, error))
    return said(error, TG_ERR_FILE);
  s->task = tg_task_load(task, options, error);
  if (s->task == NULL) return said(error, TG_ERR_INVALID);
  st = check_vary(s, error);
  if (st == TG_OK && s->spec.yaml->variables != NULL)
    st = beside(variables, sizeof variables, path, s->spec.yaml->variables, error) ? read_variables(s, variables, &spec_hash, error)
                                                                                   : TG_ERR_INVALID;
  if (st < 0 && error != NULL && error->file[0] == '\0') snprintf(error->file, sizeof error->file, "%s", path);
  if (st == TG_OK) identify(s, spec_hash, task_hash);
  return st;
}

tgShards *tg_shards_load(const char *path, const tgLoadOptions *options, tgError *error) {
  if (path == NULL) return tgi_error(error, TG_ERR_ARG, "no specification given"), NULL;
  tgShards *s = calloc(1, sizeof *s);
  if (s == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a specification"), NULL;
  tgStatus st = load(s, path, options, error);
  if (st == TG_OK) return s;
  if (error != NULL) error->status = st;
  tg_shards_free(s);
  return NULL;
}

void tg_shards_free(tgShards *s) {
  if (s == NULL) return;
  tg_task_free(s->task);
  tgi_spec_free(&s->spec);
  free(s->variables);
  free(s);
}

int tg_shards_count(const tgShards *s) { return s != NULL ? s->spec.shards : 0; }
int64_t tg_shards_points(const tgShards *s) { return s != NULL ? s->spec.points : 0; }
uint64_t tg_shards_key(const tgShards *s) { return s != NULL ? s->key : 0; }
const char *tg_shards_identity(const tgShards *s) { return s != NULL ? s->identity : NULL; }
const char *tg_shards_job(const tgShards *s) { return s != NULL ? tgi_job_word(s->spec.yaml->job) : NULL; }

char *tg_shard_path(int shard, char *path, size_t size) {
  if (path != NULL) snprintf(path, size, "shards/%05d/%08d.npz", shard / 1000, shard);
  return path;
}
