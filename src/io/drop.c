// drop.c: the kinds of what a loader may be told to leave out, by their words.
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"
#include "tangere/desc.h"

static const char *const words[TG_DROP_COUNT] = {
    [TG_DROP_ACTUATOR] = "actuator", [TG_DROP_ATTACH] = "attach", [TG_DROP_EQUALITY] = "equality", [TG_DROP_FLUID] = "fluid",
    [TG_DROP_GEOM] = "geom", [TG_DROP_HFIELD] = "hfield", [TG_DROP_JOINT] = "joint", [TG_DROP_MESH] = "mesh",
    [TG_DROP_OPTION] = "option", [TG_DROP_PLUGIN] = "plugin", [TG_DROP_SOFT_BODY] = "soft-body",
    [TG_DROP_SPATIAL_TENDON] = "spatial-tendon", [TG_DROP_TENDON] = "tendon", [TG_DROP_UNKNOWN] = "unknown"};

static const char *const texts[TG_DROP_COUNT] = {
    [TG_DROP_ACTUATOR] = "muscle, adhesion, plugin and other unsupported actuators, those on slider-cranks, and settings of "
                         "actuators (dyntype, gaintype, biastype, actdim, actearly, delay, damping, armature, ...)",
    [TG_DROP_ATTACH] = "attached models",
    [TG_DROP_EQUALITY] = "equalities of flexes, and distance",
    [TG_DROP_FLUID] = "the ellipsoid fluid model of geoms",
    [TG_DROP_GEOM] = "settings of geoms and pairs (adhesion, surfacevel)",
    [TG_DROP_HFIELD] = "height fields of more than 65536 convex cells or with mass on a body that moves, and "
                       "the geoms that are one",
    [TG_DROP_JOINT] = "settings of joints (polynomial stiffness and damping beyond the linear term, actuatorgravcomp, springyield, align)",
    [TG_DROP_MESH] = "primitives fitted to meshes, and built-in meshes",
    [TG_DROP_OPTION] = "settings of compiler, option and flag (alignfree, convexhull, collision, flags actuation, "
                       "filterparent and passive disabled, ...)",
    [TG_DROP_PLUGIN] = "plugins, signed distance fields of plugins among them",
    [TG_DROP_SOFT_BODY] = "composites, and flexes and flexcomps that are not sheets or have what sheets cannot",
    [TG_DROP_SPATIAL_TENDON] = "spatial tendons that wrap around geoms, and what pulls at them",
    [TG_DROP_TENDON] = "settings of tendons (polynomial stiffness and damping beyond the linear term, springyield, actuatorfrcrange)",
    [TG_DROP_UNKNOWN] = "elements and attributes that MJCF does not have"};

const char *tg_drop_word(tgDrop kind) { return kind >= 0 && kind < TG_DROP_COUNT ? words[kind] : NULL; }
const char *tg_drop_text(tgDrop kind) { return kind >= 0 && kind < TG_DROP_COUNT ? texts[kind] : NULL; }

static tgStatus no_such(tgError *error, const char *word, size_t n) {
  char given[64] = "";
  memcpy(given, word, n < sizeof given ? n : sizeof given - 1);
  const char *near = tgi_nearest_word(given, words, TG_DROP_COUNT);
  return tgi_error(error, TG_ERR_ARG, "drop: there is no kind '%s'%s%s%s", given, near != NULL ? "; did you mean " : "",
                   near != NULL ? near : "", near != NULL ? "?" : "; docs/mjcf.md lists them");
}

tgStatus tg_load_drop(tgLoadOptions *options, const char *list, tgError *error) {
  if (options == NULL || list == NULL) return tgi_error(error, TG_ERR_ARG, "tg_load_drop needs options and words");
  for (const char *word = list + strspn(list, ", "); *word != '\0'; word += strspn(word, ", ")) {
    size_t n = strcspn(word, ", ");
    int kind = 0;
    while (kind < TG_DROP_COUNT && (strlen(words[kind]) != n || strncmp(words[kind], word, n) != 0)) kind++;
    if (kind == TG_DROP_COUNT) return no_such(error, word, n);
    options->drop |= 1u << kind;
    word += n;
  }
  return TG_OK;
}
