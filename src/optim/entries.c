// entries.c: entries of parameters by the names of task files.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/model.h"
#include "tangere/optim.h"

#define FAIL(...) return tgi_error(error, TG_ERR_ARG, __VA_ARGS__), -1

// the mesh or geom `of` whose hull has vertices to move, as its mesh; -1: none
static int mesh_of(const tgModel *m, const char *of) {
  int mesh = tg_model_find(m, TG_THING_MESH, of), geom = tg_model_find(m, TG_THING_GEOM, of);
  for (int i = 0; i < m->nhull; i++)
    if (m->hull_mesh[i] == mesh) return mesh;
  return geom >= 0 && m->geom_hull[geom] >= 0 ? m->hull_mesh[m->geom_hull[geom]] : -1;
}

// a mesh that does not collide itself has no hull; if it was cut, its pieces have
static int no_hull(const tgModel *m, const char *name, const char *of, tgError *error) {
  char piece[300];
  snprintf(piece, sizeof piece, "%.280s/piece0", of);
  bool cut = tg_model_find(m, TG_THING_MESH, piece) >= 0 || tg_model_find(m, TG_THING_GEOM, piece) >= 0;
  FAIL("nothing called '%s' collides as a mesh, so %s does nothing%s%s%s", of, name, cut ? "; name its convex pieces, " : "",
       cut ? piece : "", cut ? " and so on" : "");
}

// The element `of` that rows of the array belong to; -1: none, with the error.
static int thing_of(const tgModel *m, const char *name, tgKindOfThing kind, const char *of, tgError *error) {
  bool hull = strcmp(name, "hull_vert") == 0;
  int i = hull ? mesh_of(m, of) : tg_model_find(m, kind, of);
  if ((hull && i < 0) || (i >= 0 && strcmp(name, "geom_scale") == 0 && m->geom_hull[i] < 0)) return no_hull(m, name, of, error);
  if (i >= 0) return i;
  char all[200] = "";
  for (int k = 0; k < tg_model_count(m, kind); k++) {
    const char *word = tg_model_name(m, kind, k);
    size_t used = strlen(all);
    if (word[0] != '\0') snprintf(all + used, sizeof all - used, "%s'%s'", used > 0 ? ", " : "", word);
  }
  FAIL("the model has nothing called '%s' that has a %s%s%s", of, name, all[0] != '\0' ? "; there are " : "", all);
}

int tg_model_entries(const tgModel *m, const char *name, const char *of, int entry, int *at, int *number, int room,
                     tgError *error) {
  if (m == NULL || name == NULL || room < 0 || (at == NULL && room > 0)) FAIL("entries: a model, a name and room are needed");
  tgField f = tg_model_field_named(m, name);
  tgKindOfThing kind;
  bool named = tgi_model_rows_kind(name, &kind), hull = strcmp(name, "hull_vert") == 0;
  if (f.data == NULL) FAIL("the model has no parameter '%s'", name);
  if (!named && of != NULL) FAIL("%s is one for the whole model; leave out of: %s", name, of);
  if (named && of == NULL) FAIL("%s needs of: the name of the element", name);
  int thing = named ? thing_of(m, name, kind, of, error) : 0, first = -1, last = 0, found = 0;
  if (thing < 0) return -1;
  for (int row = 0; row < f.rows; row++) {
    if (named && tgi_model_row_thing(m, name, row) != thing) continue;
    if (first < 0) first = row;
    for (int col = 0; col < f.cols; col++) {
      last = f.cols * (hull ? m->hull_vertid[row] : row - first) + col;
      if (entry >= 0 && entry != last) continue;
      if (found < room) at[found] = row * f.cols + col;
      if (found < room && number != NULL) number[found] = last;
      found++;
    }
  }
  if (found == 0 && entry >= 0 && hull)
    FAIL("no corner of the hull of %s is entry %d (3 times the number of a mesh's vertex, and its axis)", of, entry);
  if (found == 0 && entry >= 0) FAIL("%s has entries 0 to %d, not %d", name, last, entry);
  return found;
}

void tg_param_range(const char *name, double start, double range[2]) {
  static const char *const positive[] = {"body_mass", "geom_size", "geom_scale", "flex_thickness"},
                          *const zero[] = {"damping", "stiffness", "armature", "frictionloss", "geom_friction", "geom_restitution",
                                           "flex_young"};
  if (name == NULL || range == NULL) return;
  range[0] = -INFINITY;
  range[1] = INFINITY;
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
    if (strstr(name, zero[i]) != NULL) range[0] = 0;
  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
    if (strcmp(name, positive[i]) == 0) range[0] = fmax(1e-6 * fabs(start), DBL_MIN);
  if (strcmp(name, "flex_poisson") == 0) {
    range[0] = -0.99;
    range[1] = 0.49;
  }
}
