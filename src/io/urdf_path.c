// urdf_path.c: where the meshes of a URDF lie: package://, relative paths, file://. See urdf.h.
//
// Files come from the model's directory, its package (the nearest directory above it with a package.xml, else the
// parent) and the packages that it names. A package is looked for in the caller's map, then upwards from the model: a
// directory of that name, or one that contains a directory of that name with a package.xml. A package that is nowhere
// is taken as a directory below the roots that there are already.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "io/mesh_file.h"
#include "io/urdf_parts.h"

static bool is_there(const char *directory, const char *name, const char *file) {
  char path[PATH_MAX];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s/%s%s%s", directory, name, *file != 0 ? "/" : "", file);
  return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;
}

// cuts the last component; false at the top
static bool go_up(char *directory) {
  char *slash = strrchr(directory, '/');
  if (slash == NULL || slash == directory) return false;
  *slash = 0;
  return true;
}

// the model's directory, and its package or parent as a further root. Roots beyond the options' own mean that there is
// a model file: root 0 is its directory then.
static tgStatus find_roots(tgUrdf *u) {
  char up[PATH_MAX], real[PATH_MAX];
  if (u->have_roots) return TG_OK;
  u->have_roots = true;
  const char *own = tgi_files_root(u->files, 0);
  if (tgi_files_root(u->files, u->options.nasset_root + u->options.npackage) == NULL || realpath(own, real) == NULL)
    return TG_OK;
  snprintf(u->directory, sizeof u->directory, "%s", real);
  snprintf(up, sizeof up, "%s", real);
  do {
    if (is_there(up, "package.xml", "")) return tgi_files_add_root(u->files, up, u->error) < 0 ? TG_ERR_FILE : TG_OK;
  } while (go_up(up));
  snprintf(up, sizeof up, "%s", real);
  return go_up(up) && tgi_files_add_root(u->files, up, u->error) < 0 ? TG_ERR_FILE : TG_OK;
}

// a directory of that name above the model, or beside one of those with a package.xml
static bool search_up(const tgUrdf *u, const char *name, char *found, size_t size) {
  char up[PATH_MAX];
  snprintf(up, sizeof up, "%s", u->directory);
  if (*up == 0 || *name == 0 || strcmp(name, "..") == 0 || strcmp(name, ".") == 0) return false;
  do {
    const char *slash = strrchr(up, '/');
    if (slash != NULL && strcmp(slash + 1, name) == 0) return snprintf(found, size, "%s", up) < (int)size;
    if (is_there(up, name, "package.xml")) return snprintf(found, size, "%s/%s", up, name) < (int)size;
  } while (go_up(up));
  return false;
}

// *root -1: no such package
static tgStatus find_package(tgUrdf *u, const char *name, int *root, tgError *why) {
  char found[PATH_MAX];
  *root = tgi_files_package(u->files, name);
  for (int k = 0; *root < 0 && k < u->npackage; k++)
    if (strcmp(u->package[k], name) == 0) *root = u->package_root[k];
  if (*root >= 0) return TG_OK;
  if (!search_up(u, name, found, sizeof found)) return TG_OK;
  *root = tgi_files_add_root(u->files, found, why);
  if (*root < 0) return TG_ERR_FILE;
  int room = (int)(sizeof u->package / sizeof *u->package);
  const char *kept = u->npackage < room ? tg_desc_string(u->desc, name) : NULL;
  if (kept != NULL) {
    u->package[u->npackage] = kept;
    u->package_root[u->npackage++] = *root;
  }
  return TG_OK;
}

// the root (-1: any) and the path below it that a URI means
static tgStatus resolve(tgUrdf *u, const char *uri, int *root, const char **path, tgError *why) {
  static const char *const by_package[] = {"package://", "model://"};
  TG_TRY(find_roots(u));
  *root = -1;
  *path = uri;
  for (int k = 0; k < 2; k++) {
    size_t n = strlen(by_package[k]);
    if (strncmp(uri, by_package[k], n) != 0) continue;
    n += strspn(uri + n, "/");
    const char *slash = strchr(uri + n, '/');
    char name[256];
    if (slash == NULL || slash == uri + n || (size_t)(slash - uri) - n >= sizeof name)
      return tgi_error(why, TG_ERR_PARSE, "%.100s names no file in a package (package://NAME/PATH)", uri);
    memcpy(name, uri + n, (size_t)(slash - uri) - n);
    name[(size_t)(slash - uri) - n] = 0;
    TG_TRY(find_package(u, name, root, why));
    *path = *root >= 0 ? slash + strspn(slash, "/") : uri + n;
    return TG_OK;
  }
  if (strncmp(uri, "file://", 7) == 0)
    *path = uri + 7;
  else if (strncmp(uri, "file:", 5) == 0)
    *path = uri + 5;
  else if (strstr(uri, "://") != NULL)
    return tgi_error(why, TG_ERR_UNSUPPORTED, "%.100s: only package:// and file:// are followed, nothing is fetched",
                     uri);
  return TG_OK;
}

static tgStatus read_mesh(tgUrdf *u, const char *uri, const double scale[3], tgMeshDesc *mesh, tgError *why) {
  int root;
  const char *path;
  if (u->files == NULL) return tgi_error(why, TG_ERR_FILE, "%.200s: no file may be read", uri);
  TG_TRY(resolve(u, uri, &root, &path, why));
  tgStatus status = tgi_mesh_read_root(u->desc, u->files, root, path, scale, mesh, why);
  bool packaged = path != uri && strncmp(uri, "file:", 5) != 0;
  if (status != TG_ERR_FILE || !packaged || root >= 0) return status;
  // the package itself is what is missing
  size_t n = strcspn(path, "/");
  return tgi_error(why, TG_ERR_FILE,
                   "%.100s: say where package '%.*s' is (tangere: --package %.*s=DIR); it is none of the %d mapped "
                   "ones nor a directory at or above %.120s", uri, (int)(n < 40 ? n : 40), path, (int)(n < 40 ? n : 40),
                   path, u->options.npackage, *u->directory != 0 ? u->directory : "the roots given");
}

static void keep_failure(tgUrdf *u, const tgXmlNode *node, const tgError *why) {
  size_t n = strlen(u->unreadable_text);
  if (u->nunreadable++ == 0) {
    u->unreadable = node;
    u->unreadable_status = why->status;
  }
  if (n + 1 < sizeof u->unreadable_text)
    snprintf(u->unreadable_text + n, sizeof u->unreadable_text - n, "%s%.200s", n > 0 ? "; " : "", why->text);
}

tgStatus tgi_urdf_unreadable(tgUrdf *u) {
  if (u->nunreadable == 0) return TG_OK;
  return tgi_xml_error(u->xml, u->unreadable, u->error, u->unreadable_status, "%d collision mesh%s cannot be read: %s",
                       u->nunreadable, u->nunreadable > 1 ? "es" : "", u->unreadable_text);
}

tgStatus tgi_urdf_mesh(tgUrdf *u, const tgXmlNode *node, const char *uri, const double scale[3], bool physical,
                       int *mesh) {
  char key[1200];
  tgError why = {0};
  if (snprintf(key, sizeof key, "%s*%a*%a*%a", uri, scale[0], scale[1], scale[2]) >= (int)sizeof key)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_LIMIT, "filename has more than 1000 characters");
  *mesh = tgi_names_find(u->names, TG_NAME_MESH, key);
  bool known = *mesh >= 0;
  if (!known) {
    tgMeshDesc m = {.scale = {scale[0], scale[1], scale[2]}, .refquat = {1, 0, 0, 0}, .source = node->source};
    m.path = tg_desc_string(u->desc, uri);
    const char *kept = tg_desc_string(u->desc, key);
    bool named = tgi_names_find(u->names, TG_NAME_MATERIAL, uri) < 0; // the first scale of a file takes its name
    *mesh = tg_desc_add_mesh(u->desc, named ? uri : NULL, NULL, 0, NULL, 0);
    if (m.path == NULL || kept == NULL || *mesh < 0) return tgi_urdf_memory(u);
    if (tgi_names_add(u->names, TG_NAME_MESH, kept, *mesh, node->source, NULL) == -2 ||
        tgi_names_add(u->names, TG_NAME_MATERIAL, m.path, *mesh, node->source, NULL) == -2)
      return tgi_urdf_memory(u);
    m.name = u->desc->mesh[*mesh].name;
    why.status = read_mesh(u, uri, scale, &m, &why);
    m.missing = why.status < 0;
    u->desc->mesh[*mesh] = m;
  } else if (u->desc->mesh[*mesh].missing && physical) {
    tgMeshDesc again = {0};
    why.status = read_mesh(u, uri, scale, &again, &why); // drawn before, and a warning then
  }
  if (why.status >= 0) return TG_OK;
  if (why.status == TG_ERR_MEMORY) return tgi_urdf_memory(u);
  if (!physical) return tgi_urdf_note(u, TG_NOTE_WARNING, node, "mesh is only drawn and cannot be read: %s", why.text);
  keep_failure(u, node, &why);
  return TG_OK;
}
