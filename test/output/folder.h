// folder.h: a fresh folder for a test's files, and reading a file back.
#ifndef TG_TEST_OUTPUT_FOLDER_H
#define TG_TEST_OUTPUT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

typedef struct tgtFolder {
  char path[64];
  char file[400];
} tgtFolder;

static inline void tgt_folder_make(tgtFolder *f) {
  strcpy(f->path, "/tmp/tangere-test-XXXXXX");
  assert_non_null(mkdtemp(f->path));
}
/// Path of `name` in the folder, until the next call.
static inline const char *tgt_folder_file(tgtFolder *f, const char *name) {
  snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
  return f->file;
}
/// Number of files.
static inline int tgt_folder_count(const tgtFolder *f) {
  int n = 0;
  DIR *dir = opendir(f->path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir)) != NULL;) n += e->d_name[0] != '.';
  closedir(dir);
  return n;
}
/// Removes the folder and its files (no subfolders but empty ones).
static inline void tgt_folder_remove(tgtFolder *f) {
  DIR *dir = opendir(f->path);
  if (dir == NULL) return;
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) remove(tgt_folder_file(f, e->d_name));
  closedir(dir);
  rmdir(f->path);
}
/// The bytes of a file, malloc'd and ended by 0; NULL when it cannot be read.
static inline char *tgt_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  long n = ftell(file);
  rewind(file);
  char *bytes = malloc((size_t)n + 1);
  assert_int_equal(fread(bytes, 1, (size_t)n, file), n);
  fclose(file);
  bytes[n] = '\0';
  if (size != NULL) *size = (size_t)n;
  return bytes;
}
static inline void tgt_write(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}
/// Fails unless the call gave this status and an error text that has the word.
#define check_refused(call, want, error, word)                                                              \
  do {                                                                                                      \
    (error) = (tgError){0};                                                                                 \
    tgStatus cr_ = (call);                                                                                  \
    if (cr_ != (want) || strstr((error).text, (word)) == NULL)                                              \
      fail_msg("%s:%d: status %d, wanted %d; text \"%s\", wanted \"%s\" in it", __FILE__, __LINE__, cr_, (want), \
               (error).text, (word));                                                                       \
  } while (0)

#endif
