// urdf_link.c: inertials and geoms of URDF links. See urdf.h.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "desc/desc.h"
#include "geom/mass.h"
#include "io/urdf_parts.h"

tgStatus tgi_urdf_inertial(tgUrdf *u, tgUrdfLink *l) {
  static const tgUrdfSpec spec = {.child = "origin mass inertia"};
  static const tgUrdfSpec spec_mass = {.attr = "value"};
  static const tgUrdfSpec spec_inertia = {.attr = "ixx ixy ixz iyy iyz izz"};
  const tgXmlNode *node, *mass, *inertia;
  double quat[4];
  TG_TRY(tgi_urdf_only(u, l->node, "inertial", &node));
  if (node == NULL) return TG_OK;
  l->has_inertial = true;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(tgi_urdf_only(u, node, "mass", &mass));
  TG_TRY(tgi_urdf_only(u, node, "inertia", &inertia));
  if (mass == NULL || inertia == NULL)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE,
                         "inertial of link '%s' needs <mass value=\"\"/> and <inertia .../>", l->name);
  TG_TRY(tgi_urdf_check(u, mass, &spec_mass));
  TG_TRY(tgi_urdf_check(u, inertia, &spec_inertia));
  TG_TRY(tgi_urdf_origin(u, node, l->com, quat));
  TG_TRY(tgi_urdf_number(u, mass, "value", &l->mass));
  if (l->mass < 0)
    return tgi_xml_error(u->xml, mass, u->error, TG_ERR_INVALID,
                         "mass %g of link '%s' is negative; give a positive one", l->mass, l->name);
  static const char *const diagonal[] = {"ixx", "iyy", "izz"}, *const cross[] = {"ixy", "ixz", "iyz"};
  for (int k = 0; k < 3; k++) {
    TG_TRY(tgi_urdf_number(u, inertia, diagonal[k], &l->inertia[k]));
    TG_TRY(tgi_urdf_optional(u, inertia, cross[k], 0, &l->inertia[3 + k]));
  }
  tgi_inertia_rotate(l->inertia, quat);
  return TG_OK;
}

// ---- geometry ----

// A size; *drawn, where there is one, becomes false of a visual without extent.
static tgStatus positive(tgUrdf *u, const tgXmlNode *node, const char *what, double x, bool *drawn) {
  if (x > 0) return TG_OK;
  if (drawn != NULL && u->options.lenient) {
    *drawn = false;
    return TG_OK;
  }
  return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "%s is %g and must be positive%s", what, x,
                       drawn != NULL ? " (--lenient does not draw it)" : "");
}

static tgStatus box(tgUrdf *u, const tgXmlNode *node, bool *drawn, tgGeomDesc *g) {
  static const char *const what[] = {"size 1", "size 2", "size 3"};
  int n;
  g->type = TG_GEOM_BOX;
  TG_TRY(tgi_xml_numbers(u->xml, node, "size", 3, 3, g->size, &n, u->error));
  if (n == 0) return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs the attribute size");
  for (int k = 0; k < 3; k++) {
    TG_TRY(positive(u, node, what[k], g->size[k], drawn));
    g->size[k] /= 2;
  }
  return TG_OK;
}

static tgStatus round_shape(tgUrdf *u, const tgXmlNode *node, bool *drawn, tgGeomDesc *g) {
  TG_TRY(tgi_urdf_number(u, node, "radius", &g->size[0]));
  TG_TRY(positive(u, node, "radius", g->size[0], drawn));
  g->type = TG_GEOM_SPHERE;
  if (strcmp(node->name, "sphere") == 0) return TG_OK;
  g->type = strcmp(node->name, "capsule") == 0 ? TG_GEOM_CAPSULE : TG_GEOM_CYLINDER;
  TG_TRY(tgi_urdf_number(u, node, "length", &g->size[1]));
  TG_TRY(positive(u, node, "length", g->size[1], drawn));
  g->size[1] /= 2;
  return TG_OK;
}

static tgStatus mesh(tgUrdf *u, const tgXmlNode *node, bool physical, tgGeomDesc *g) {
  double scale[3] = {1, 1, 1};
  const char *file = tgi_xml_get(node, "filename");
  int n;
  if (file == NULL || *file == 0)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs the attribute filename");
  TG_TRY(tgi_xml_numbers(u->xml, node, "scale", 1, 3, scale, &n, u->error));
  if (n == 2) return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "scale needs 1 or 3 numbers, has 2");
  if (n == 1) scale[1] = scale[2] = scale[0];
  for (int k = 0; k < 3; k++)
    if (scale[k] == 0) return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "scale %d is zero", k + 1);
  g->type = TG_GEOM_MESH;
  return tgi_urdf_mesh(u, node, file, scale, physical, &g->mesh);
}

// the one shape in <geometry>; *found false: none that we know (only in visuals)
static tgStatus geometry(tgUrdf *u, const tgXmlNode *node, bool visual, tgGeomDesc *g, bool *found) {
  const tgUrdfSpec spec = {
      .skip_attr = "name", .child = "box cylinder sphere capsule mesh", .skip = "material", .cosmetic = visual};
  const tgUrdfSpec shape = {.attr = "size radius length filename scale", .cosmetic = visual};
  *found = false;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  for (const tgXmlNode *s = node->child; s != NULL; s = s->next) {
    bool is_box = strcmp(s->name, "box") == 0, is_mesh = strcmp(s->name, "mesh") == 0;
    bool is_round =
        strcmp(s->name, "sphere") == 0 || strcmp(s->name, "cylinder") == 0 || strcmp(s->name, "capsule") == 0;
    if (!is_box && !is_mesh && !is_round) continue;
    if (*found)
      return tgi_xml_error(u->xml, s, u->error, TG_ERR_INVALID,
                           "geometry has a second shape <%s>; give each its own <%s>", s->name,
                           visual ? "visual" : "collision");
    *found = true;
    TG_TRY(tgi_urdf_check(u, s, &shape));
    bool *drawn = visual ? found : NULL;
    TG_TRY(is_box ? box(u, s, drawn, g) : is_mesh ? mesh(u, s, !visual, g) : round_shape(u, s, drawn, g));
  }
  return TG_OK;
}

// <color rgba> of a <material>, or of the robot's material of that name
static tgStatus colour(tgUrdf *u, const tgXmlNode *visual, float rgba[4]) {
  const tgXmlNode *m = tgi_xml_child(visual, "material");
  const char *name = m != NULL ? tgi_xml_get(m, "name") : NULL;
  const tgXmlNode *c = m != NULL ? tgi_xml_child(m, "color") : NULL;
  if (c == NULL && name != NULL)
    for (m = tgi_xml_child(u->xml->root, "material"); m != NULL && c == NULL; m = tgi_xml_next(m, "material")) {
      const char *other = tgi_xml_get(m, "name");
      if (other != NULL && strcmp(name, other) == 0) c = tgi_xml_child(m, "color");
    }
  double x[4];
  int n = 0;
  if (c == NULL || tgi_xml_numbers(u->xml, c, "rgba", 4, 4, x, &n, NULL) < 0 || n != 4) return TG_OK; // only colour
  for (int k = 0; k < 4; k++) rgba[k] = (float)fmin(fmax(x[k], 0), 1);
  return TG_OK;
}

// Bullet's <contact>: friction and restitution of the link's collision geoms
static tgStatus contact(tgUrdf *u, const tgUrdfLink *l, tgGeomDesc *g) {
  static const tgUrdfSpec spec = {.child = "lateral_friction spinning_friction rolling_friction restitution",
                                  .soft = "contact_cfm contact_erp stiffness damping friction_anchor inertia_scaling"};
  const tgXmlNode *node, *c;
  TG_TRY(tgi_urdf_only(u, l->node, "contact", &node));
  if (node == NULL) return TG_OK;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  static const char *const name[4] = {"lateral_friction", "spinning_friction", "rolling_friction", "restitution"};
  double *value[4] = {&g->friction[0], &g->friction[1], &g->friction[2], &g->restitution};
  for (int k = 0; k < 4; k++) {
    TG_TRY(tgi_urdf_only(u, node, name[k], &c));
    if (c == NULL) continue;
    TG_TRY(tgi_urdf_number(u, c, "value", value[k]));
    if (*value[k] < 0 || (k == 3 && *value[k] > 1))
      return tgi_xml_error(u->xml, c, u->error, TG_ERR_INVALID, "%s %g of link '%s' is out of range", c->name,
                           *value[k], l->name);
  }
  return TG_OK;
}

static tgStatus add(tgUrdf *u, const tgUrdfLink *l, const tgXmlNode *node, const tgGeomDesc *like) {
  const tgUrdfSpec spec = {.attr = "name",
                           .skip_attr = "concave",
                           .child = "origin geometry material",
                           .skip = "verbose",
                           .cosmetic = like->visual_only};
  const tgXmlNode *shape;
  tgGeomDesc g = *like;
  bool found = false;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(tgi_urdf_only(u, node, "geometry", &shape));
  TG_TRY(tgi_urdf_origin(u, node, g.pos, g.quat));
  if (shape != NULL) TG_TRY(geometry(u, shape, g.visual_only, &g, &found));
  if (!found && g.visual_only)
    return tgi_urdf_note(u, TG_NOTE_WARNING, node, "visual of link '%.80s' has no shape, or one without extent, and is not drawn", l->name);
  if (!found)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "collision of link '%s' has no shape in <geometry>",
                         l->name);
  if (g.visual_only) TG_TRY(colour(u, node, g.rgba));
  // names of visuals and collisions need not be unique in a URDF: the first keeps it
  const char *name = tgi_xml_get(node, "name");
  if (name != NULL && *name != 0) {
    int taken = tgi_names_add(u->names, TG_NAME_GEOM, name, u->desc->ngeom, node->source, NULL);
    if (taken == -2) return tgi_urdf_memory(u);
    if (taken >= 0) name = NULL;
  } else {
    name = NULL;
  }
  int at = tg_desc_add_geom(u->desc, l->body, g.type, name);
  if (at < 0) return tgi_urdf_memory(u);
  g.name = u->desc->geom[at].name;
  g.source = node->source;
  u->desc->geom[at] = g;
  return TG_OK;
}

tgStatus tgi_urdf_geoms(tgUrdf *u, const tgUrdfLink *l) {
  tgGeomDesc solid = tgi_geom_default(l->body, TG_GEOM_PLANE);   // the type is read
  solid.mass = 0;   // links have inertials of their own
  tgGeomDesc drawn = solid;
  drawn.contype = drawn.conaffinity = 0;
  drawn.group = 1;
  drawn.visual_only = true;
  TG_TRY(contact(u, l, &solid));
  for (const tgXmlNode *n = l->node->child; n != NULL; n = n->next) {
    if (strcmp(n->name, "visual") == 0) TG_TRY(add(u, l, n, &drawn));
    if (strcmp(n->name, "collision") == 0) TG_TRY(add(u, l, n, &solid));
  }
  return TG_OK;
}
