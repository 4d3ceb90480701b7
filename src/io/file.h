// file.h: reading files that a model names, confined to declared directories and bounded in size.
//
// A file set holds one directory handle per root. Every path is resolved below a root by the kernel (openat2 with
// RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS; without openat2, component by component with O_NOFOLLOW), opened without
// blocking, and read only when it is a regular file. Identity is (device, inode), so links cannot hide a cycle.
#ifndef TG_IO_FILE_H
#define TG_IO_FILE_H

#include <stdint.h>

#include "tangere/desc.h"

typedef struct tgFileSet tgFileSet;

/// Bytes of one file. data[size] is 0 (not counted in size). Freed with tgi_file_close.
typedef struct tgFile {
  char *data;
  size_t size;
  uint64_t dev, ino;
  char path[1024];               ///< where it was found: the root as given, '/', the path below it
} tgFile;

/// A set for a document in memory: its roots are options->asset_root and options->package_path. NULL: error filled.
tgFileSet *tgi_files_in_memory(const tgLoadOptions *options, tgError *error);
/// The set for the model file at `path`: root 0 is its directory, then options->asset_root and
/// options->package_path. NULL with error filled when a root cannot be opened.
tgFileSet *tgi_files_for_model(const char *path, const tgLoadOptions *options, tgError *error);
void tgi_files_free(tgFileSet *files);
/// The options that the set was made with, or the defaults.
const tgLoadOptions *tgi_files_options(const tgFileSet *files);
/// Uses the component-wise walk even where openat2 is available (for tests of it).
void tgi_files_walk_only(tgFileSet *files);

/// A model's files may also come from a directory above its own, where a path leads out of it by "..": from the nearest that holds
/// what was asked for, at most TGI_FILES_ABOVE up, never the user's home directory or one above it, never "/" or one directly below.
/// Not where the options name asset roots, which then are all.
enum { TGI_FILES_ABOVE = 4 };
void tgi_files_allow_above(tgFileSet *files);
/// The directory above that files were taken from; NULL: none was.
const char *tgi_files_above(const tgFileSet *files);

/// Adds a directory as a further root; its index, or -1 with error filled.
int tgi_files_add_root(tgFileSet *files, const char *directory, tgError *error);
/// Name of root i as given; NULL past the last.
const char *tgi_files_root(const tgFileSet *files, int i);
/// Index of the root that is the path of package `name` in options->package_name, -1 when there is none.
int tgi_files_package(const tgFileSet *files, const char *name);

/// Reads `path` below root `root` (-1: the first root in order that has it). A path may use "..", but not to leave its
/// root. Absolute paths need options->allow_absolute and must lie below a root. TG_ERR_FILE: missing, unreadable, not
/// a regular file, outside; TG_ERR_LIMIT: over max_file_bytes or max_total_bytes. The error text names every place searched.
tgStatus tgi_file_open(tgFileSet *files, int root, const char *path, tgFile *file, tgError *error);
void tgi_file_close(tgFileSet *files, tgFile *file);

/// Joins a directory (NULL, "" : none) and a path into out; an absolute path stays itself. False: too long.
bool tgi_path_join(char *out, size_t size, const char *directory, const char *path);

#endif
