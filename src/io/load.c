// load.c: the loaders' common entry: reads the main document, tells MJCF from URDF by its root element.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/status.h"
#include "geom/decompose.h"
#include "io/mesh_file.h"
#include "io/mjcf.h"
#include "io/urdf.h"
#include "tangere/desc.h"

tgLoadOptions tg_load_default(void) {
  return (tgLoadOptions){.size = sizeof(tgLoadOptions),
                         .max_file_bytes = (size_t)256 << 20,
                         .max_total_bytes = (size_t)1 << 30,
                         .max_elements = 1000000,
                         .max_depth = 10000,
                         .decompose_threshold = TGI_DECOMPOSE_THRESHOLD};
}

// a horizontal plane in the world
static tgStatus add_ground(tgDesc *desc, double height, tgError *error) {
  if (!isfinite(height)) return tgi_error(error, TG_ERR_ARG, "ground_height %g is not finite", height);
  if (tg_desc_find_geom(desc, "ground") >= 0)
    return tgi_error(error, TG_ERR_INVALID, "a plane called ground is asked for, and the model has a geom of that name already");
  int g = tg_desc_add_geom(desc, 0, TG_GEOM_PLANE, "ground");
  if (g < 0) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the plane called ground");
  desc->geom[g].pos[2] = height;
  return TG_OK;
}

// The document without the zero bytes that some editors leave behind it, where that is allowed; *size is what is left.
static tgStatus trim(tgDesc *desc, const char *name, const tgFile *file, const tgLoadOptions *options, size_t *size, tgError *error) {
  for (*size = file->size; options->lenient && *size > 0 && file->data[*size - 1] == '\0';) --*size;
  if (*size == file->size) return TG_OK;
  if (tg_desc_add_note(desc, TG_NOTE_LENIENT, (tgSource){.file = -1}, "%s: %zu zero bytes at its end passed over", name,
                       file->size - *size) >= 0)
    return TG_OK;
  return tgi_error(error, TG_ERR_MEMORY, "out of memory for a note");
}

// the parsed document into desc
static tgStatus fill(tgDesc *desc, const char *name, const tgFile *file, tgFileSet *files, const tgLoadOptions *options,
                     tgError *error) {
  tgXml xml;
  size_t size;
  TG_TRY(trim(desc, name, file, options, &size, error));
  tgi_xml_init(&xml, desc, options);
  tgStatus status = tgi_xml_parse(&xml, name, file->data, size, 0, &xml.root, error);
  if (status == TG_OK && options->fixed_base && strcmp(xml.root->name, "mujoco") == 0)
    status = tgi_xml_error(&xml, xml.root, error, TG_ERR_ARG,
                           "fixed_base is for URDF, which does not say how its root is held; here a body moves by the "
                           "joints that it has: take out its freejoint");
  else if (status == TG_OK && strcmp(xml.root->name, "mujoco") == 0)
    status = tgi_mjcf_load(desc, &xml, xml.root, file->ino != 0 ? file : NULL, files, options, error);
  else if (status == TG_OK && strcmp(xml.root->name, "robot") == 0)
    status = tgi_urdf_load(desc, &xml, files, options, error);
  else if (status == TG_OK)
    status = tgi_xml_error(&xml, xml.root, error, TG_ERR_PARSE, "the root element must be <mujoco> or <robot>");
  const char *above = tgi_files_above(files);
  if (status == TG_OK && above != NULL &&
      tg_desc_add_note(desc, TG_NOTE_WARNING, xml.root->source, "files above the model's directory are read too, below %s, "
                       "the nearest that holds them; an asset root would be read in its place", above) < 0)
    status = tgi_error(error, TG_ERR_MEMORY, "out of memory for a note");
  if (status == TG_OK && options->ground) status = add_ground(desc, options->ground_height, error);
  if (status == TG_OK) status = tgi_mesh_compare_sizes(desc, options->allocator, error);
  if (status == TG_OK && options->decompose) status = tg_desc_decompose(desc, options, error);
  tgi_xml_free(&xml);
  return status;
}

static tgDesc *load(const char *name, const tgFile *file, tgFileSet *files, const tgLoadOptions *options,
                    tgError *error) {
  tgDesc *desc = tg_desc_create(options->allocator);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = desc != NULL ? fill(desc, name, file, files, options, error)
                                 : tgi_error(error, TG_ERR_MEMORY, "out of memory for the description of %s", name);
  tgi_fp_leave(env);
  if (status >= 0) return desc;
  tg_desc_free(desc);
  return NULL;
}

// the caller's options, checked, or the default ones
static tgStatus take_options(const tgLoadOptions *given, tgLoadOptions *options, tgError *error) {
  if (error != NULL) *error = (tgError){0};
  *options = given != NULL ? *given : tg_load_default();
  if (options->size != sizeof *options)
    return tgi_error(error, TG_ERR_ARG, "tgLoadOptions must come from tg_load_default of this version");
  if (options->max_elements < 1 || options->max_depth < 1 || options->max_file_bytes >= SIZE_MAX / 4)
    return tgi_error(error, TG_ERR_ARG,
                     "tgLoadOptions: max_elements %d and max_depth %d must be at least 1, max_file_bytes %zu less than "
                     "%zu", options->max_elements, options->max_depth, options->max_file_bytes, SIZE_MAX / 4);
  return TG_OK;
}

tgDesc *tg_desc_load(const char *path, const tgLoadOptions *options, tgError *error) {
  tgLoadOptions o;
  tgError local;
  if (error == NULL) error = &local;
  if (take_options(options, &o, error) < 0) return NULL;
  if (path == NULL || *path == 0) {
    tgi_error(error, TG_ERR_ARG, "no path given; name an MJCF or URDF file");
    return NULL;
  }
  tgFileSet *files = tgi_files_for_model(path, &o, error);
  if (files == NULL) {
    snprintf(error->file, sizeof error->file, "%s", path);
    return NULL;
  }
  const char *slash = strrchr(path, '/');
  tgDesc *desc = NULL;
  tgFile file = {0};
  tgi_files_allow_above(files);
  if (tgi_file_open(files, 0, slash != NULL ? slash + 1 : path, &file, error) == TG_OK)
    desc = load(path, &file, files, &o, error);
  if (desc == NULL && error->file[0] == 0) snprintf(error->file, sizeof error->file, "%s", path);
  tgi_file_close(files, &file);
  tgi_files_free(files);
  return desc;
}

tgDesc *tg_desc_load_memory(const char *name, const void *data, size_t size, const tgLoadOptions *options,
                            tgError *error) {
  tgLoadOptions o;
  if (take_options(options, &o, error) < 0) return NULL;
  if (data == NULL) {
    tgi_error(error, TG_ERR_ARG, "no data given for %zu bytes of a document", size);
    return NULL;
  }
  tgFile file = {.data = (char *)(uintptr_t)data, .size = size};
  tgFileSet *files = tgi_files_in_memory(&o, error);
  if (files == NULL) return NULL;
  tgDesc *desc = load(name != NULL ? name : "memory", &file, files, &o, error);
  tgi_files_free(files);
  return desc;
}
