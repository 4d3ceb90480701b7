// mjcf_flex.c: sheets of triangles: flexcomp, which makes bodies for its vertices, and flex, whose bodies are there.
//
// As MuJoCo 4 reads them. Vertex i of flexcomp NAME that is not pinned is the body NAME_i, a child of the body that flexcomp stands in,
// with three slides along that body's axes and the total mass over the number of vertices; a pinned one is a point of the body itself.
// Grids are numbered along y first. Every vertex touches as a ball of the radius that the sheet has.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mesh_file.h"
#include "io/mjcf.h"

// a sheet being read: vertices in the frame of the body `parent`
typedef struct Sheet {
  const tgXmlNode *node;
  int parent, nvert, nelem, count[3];
  double *vert;
  int *elem;
  bool *pinned, grid;            // grid: pins may tell places in it
  bool left_out;                 // something is not supported, and the options leave all of it out
} Sheet;

static tgStatus bad(const tgMjcf *m, const tgXmlNode *node, const char *attribute, const char *text) {
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, attribute), m->error, TG_ERR_INVALID, "%s %s", attribute, text);
}

static tgStatus unsupported(tgMjcf *m, Sheet *s, const tgXmlNode *node, const char *attribute, const char *advice) {
  const tgXmlAttr *a = tgi_xml_attr(node, attribute);
  s->left_out = true;
  return tgi_mjcf_unsupported(m, TG_DROP_SOFT_BODY, node, a, "%s=\"%.40s\" is not supported: %s", attribute,
                              a != NULL ? a->value : "", advice);
}

// attributes that must be absent or have one of the words
static tgStatus only(tgMjcf *m, Sheet *s, const tgXmlNode *node, const char *attribute, const char *words, const char *advice) {
  const char *text = tgi_xml_get(node, attribute);
  for (const char *w = words; text != NULL && *w != 0; w += strcspn(w, " "), w += strspn(w, " "))
    if (strlen(text) == strcspn(w, " ") && strncmp(text, w, strlen(text)) == 0) return TG_OK;
  if (strcmp(words, "0") == 0 && tgi_el_number((tgEl){.node = node}, attribute, 1) == 0) return TG_OK;   // however it is written
  return text == NULL ? TG_OK : unsupported(m, s, node, attribute, advice);
}

static tgStatus room(tgMjcf *m, Sheet *s, double nvert, double nelem) {
  const char *many = !(nvert <= m->options->max_elements) ? "vertices" : !(nelem <= 2.0 * m->options->max_elements) ? "triangles" : NULL;
  if (many != NULL)
    return tgi_xml_error(m->xml, s->node, m->error, TG_ERR_LIMIT,
                         "has more %s than max_elements = %d allows; raise it if that is meant", many, m->options->max_elements);
  s->nvert = (int)nvert;
  s->nelem = (int)nelem;
  s->vert = tgi_xml_bytes(m->xml, (3 * (size_t)s->nvert + 1) * sizeof *s->vert);
  s->elem = tgi_xml_bytes(m->xml, (3 * (size_t)s->nelem + 1) * sizeof *s->elem);
  s->pinned = tgi_xml_bytes(m->xml, (size_t)s->nvert + 1);
  if (s->vert == NULL || s->elem == NULL || s->pinned == NULL) return tgi_mjcf_memory(m);
  memset(s->pinned, 0, (size_t)s->nvert + 1);
  return TG_OK;
}

// ---- the shape ----

// two triangles for each cell; of a disc those of two quarters the other way about
static void cells(Sheet *s, bool disc) {
  int nx = s->count[0], ny = s->count[1], *e = s->elem;
  for (int i = 0; i + 1 < nx; i++)
    for (int j = 0; j + 1 < ny; j++, e += 6) {
      int a = i * ny + j, b = a + ny;
      bool turned = disc && (2 * i < nx - 1) != (2 * j < ny - 1);
      if (turned) memcpy(e, (int[6]){a, b, a + 1, b, b + 1, a + 1}, 6 * sizeof *e);
      else memcpy(e, (int[6]){a, b, b + 1, a, b + 1, a + 1}, 6 * sizeof *e);
    }
}

// type grid, square and disc; a disc is MuJoCo's, whose points are multiplied by half the lengths of the grid
static tgStatus make_grid(tgMjcf *m, Sheet *s, bool disc) {
  double count[3] = {10, 10, 10}, spacing[3] = {0.02, 0.02, 0.02}, half[2];
  tgEl el = {.node = s->node};
  tgi_el_numbers(el, "count", 3, count);
  tgi_el_numbers(el, "spacing", 3, spacing);
  for (int k = 0; k < 3; k++) {
    if (!(count[k] >= (k < 2 ? 2 : 1)) || !(count[k] < 1e9) || count[k] != floor(count[k]))
      return bad(m, s->node, "count", "needs two whole numbers of 2 or more, then 1");
    s->count[k] = (int)count[k];
  }
  if (s->count[2] != 1) return bad(m, s->node, "count", "of a sheet ends in 1");
  for (int k = 0; k < 2; k++) {
    if (!(spacing[k] > 0)) return bad(m, s->node, "spacing", "must be positive");
    half[k] = spacing[k] * (count[k] - 1) / 2;
  }
  TG_TRY(room(m, s, count[0] * count[1], 2 * (count[0] - 1) * (count[1] - 1)));
  for (int i = 0, v = 0; i < s->count[0]; i++)
    for (int j = 0; j < s->count[1]; j++, v++) {
      double *x = s->vert + 3 * v;
      x[0] = i * spacing[0] - half[0];
      x[1] = j * spacing[1] - half[1];
      x[2] = 0;
      double length = hypot(x[0], x[1]), most = fmax(fabs(x[0]), fabs(x[1]));
      for (int k = 0; disc && k < 2; k++) x[k] *= length > 0 ? half[k] * most / length : 0;
    }
  cells(s, disc);
  const char *type = tgi_xml_get(s->node, "type");
  s->grid = type == NULL || strcmp(type, "grid") == 0;
  return TG_OK;
}

static tgStatus whole(tgMjcf *m, const tgXmlNode *node, const char *attribute, const double *x, int n, int below, int *out) {
  for (int i = 0; i < n; i++) {
    if (!(x[i] >= 0 && x[i] < below && x[i] == floor(x[i])))
      return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, attribute), m->error, TG_ERR_INVALID,
                                "%s: %g is not a vertex; vertices are 0 to %d", attribute, x[i], below - 1);
    out[i] = (int)x[i];
  }
  return TG_OK;
}

static tgStatus triangles(tgMjcf *m, const tgXmlNode *node, double **elem, int *n) {
  TG_TRY(tgi_xml_array(m->xml, node, "element", elem, n, m->error));
  return *n > 0 && *n % 3 == 0 ? TG_OK : bad(m, node, "element", "needs three vertices for each triangle");
}

static tgStatus make_direct(tgMjcf *m, Sheet *s) {
  double *point, *elem;
  int npoint, nelem;
  TG_TRY(tgi_xml_array(m->xml, s->node, "point", &point, &npoint, m->error));
  if (npoint == 0 || npoint % 3 != 0) return bad(m, s->node, "point", "needs three numbers for each vertex");
  TG_TRY(triangles(m, s->node, &elem, &nelem));
  TG_TRY(room(m, s, npoint / 3, nelem / 3));
  memcpy(s->vert, point, (size_t)npoint * sizeof *point);
  return whole(m, s->node, "element", elem, nelem, s->nvert, s->elem);
}

static tgStatus make_mesh(tgMjcf *m, Sheet *s) {
  tgMeshDesc mesh = {0};
  tgError why = {0};
  if (tgi_xml_get(s->node, "file") == NULL) return bad(m, s->node, "file", "is needed by type mesh");
  tgStatus status = tgi_mjcf_mesh_file(m, s->node, &mesh, &why);
  if (status < 0) return tgi_xml_attr_error(m->xml, s->node, tgi_xml_attr(s->node, "file"), m->error, status, "%.200s", why.text);
  TG_TRY(room(m, s, mesh.nvert, mesh.nface));
  memcpy(s->vert, mesh.vert, 3 * (size_t)s->nvert * sizeof *s->vert);
  memcpy(s->elem, mesh.face, 3 * (size_t)s->nelem * sizeof *s->elem);
  return TG_OK;
}

static tgStatus make(tgMjcf *m, Sheet *s) {
  const char *type = tgi_xml_get(s->node, "type");
  if (type == NULL || strcmp(type, "grid") == 0 || strcmp(type, "square") == 0) return make_grid(m, s, false);
  if (strcmp(type, "disc") == 0) return make_grid(m, s, true);
  if (strcmp(type, "direct") == 0) return make_direct(m, s);
  if (strcmp(type, "mesh") == 0) return make_mesh(m, s);
  return unsupported(m, s, s->node, "type", "sheets are of type grid, square, disc, mesh or direct");
}

// scale, of points that are given, and the pose, then that of the frames around it
static tgStatus move(tgMjcf *m, Sheet *s, tgPlace frame) {
  tgPlace place = {.quat = {1, 0, 0, 0}};
  double scale[3] = {1, 1, 1};
  tgEl el = {.node = s->node};
  if (s->count[0] == 0) tgi_el_numbers(el, "scale", 3, scale);
  TG_TRY(tgi_mjcf_place(m, el, &place));
  place = tgi_place_mul(frame, place);
  for (int i = 0; i < s->nvert; i++) {
    double *x = s->vert + 3 * i, y[3] = {x[0] * scale[0], x[1] * scale[1], x[2] * scale[2]};
    tgi_place_rotate(x, place.quat, y);
    for (int k = 0; k < 3; k++) x[k] += place.pos[k];
  }
  return TG_OK;
}

// ---- pins ----

static tgStatus pin_box(tgMjcf *m, Sheet *s, const tgXmlNode *pin, const char *attribute, const int *low, const int *high) {
  for (int k = 0; k < 2; k++)
    if (low[k] > high[k] || high[k] >= s->count[k]) return bad(m, pin, attribute, "goes beyond the grid, or backwards");
  for (int i = low[0]; i <= high[0]; i++)
    for (int j = low[1]; j <= high[1]; j++) s->pinned[i * s->count[1] + j] = true;
  return TG_OK;
}

// lists of vertices, or of places in the grid (two numbers each), each of one or, range, of the first and the last
static tgStatus pin_list(tgMjcf *m, Sheet *s, const tgXmlNode *pin, const char *attribute, bool grid, bool range) {
  double *x;
  int n, width = (grid ? 2 : 1) * (range ? 2 : 1), at[4] = {0};
  if (tgi_xml_get(pin, attribute) == NULL) return TG_OK;
  TG_TRY(tgi_xml_array(m->xml, pin, attribute, &x, &n, m->error));
  if (grid && !s->grid) return bad(m, pin, attribute, "is for type grid; give id or range");
  if (n % width != 0) return bad(m, pin, attribute, range ? "needs the first and the last" : "needs two numbers for each vertex");
  for (int i = 0; i < n; i += width) {
    TG_TRY(whole(m, pin, attribute, x + i, width, s->nvert, at));
    if (!grid && range && at[0] > at[1]) return bad(m, pin, attribute, "is backwards");
    if (grid) {
      TG_TRY(pin_box(m, s, pin, attribute, at, range ? at + 2 : at));
      continue;
    }
    for (int v = at[0]; v <= at[range ? 1 : 0]; v++) s->pinned[v] = true;
  }
  return TG_OK;
}

static tgStatus pins(tgMjcf *m, Sheet *s) {
  for (const tgXmlNode *pin = tgi_xml_child(s->node, "pin"); pin != NULL; pin = tgi_xml_next(pin, "pin")) {
    TG_TRY(pin_list(m, s, pin, "id", false, false));
    TG_TRY(pin_list(m, s, pin, "range", false, true));
    TG_TRY(pin_list(m, s, pin, "grid", true, false));
    TG_TRY(pin_list(m, s, pin, "gridrange", true, true));
  }
  return TG_OK;
}

// ---- what it is made of ----

static tgStatus elasticity(tgMjcf *m, Sheet *s, tgFlexDesc *f) {
  const tgXmlNode *node = tgi_xml_child(s->node, "elasticity");
  tgEl el = {.node = node};
  if (node == NULL) return TG_OK;
  f->young = tgi_el_number(el, "young", 0);
  f->poisson = tgi_el_number(el, "poisson", 0);
  f->damping = tgi_el_number(el, "damping", 0);
  const char *what = tgi_xml_get(node, "elastic2d");
  f->stretch = what != NULL && (strcmp(what, "stretch") == 0 || strcmp(what, "both") == 0);
  f->bend = what != NULL && (strcmp(what, "bend") == 0 || strcmp(what, "both") == 0);
  if (!f->stretch && !f->bend && f->young != 0)
    return bad(m, node, "young", "resists nothing without elastic2d=\"stretch\", \"bend\" or \"both\"");
  if (f->stretch || f->bend || tgi_xml_get(node, "thickness") != NULL) f->thickness = tgi_el_number(el, "thickness", -1);
  if (!(f->thickness > 0)) return bad(m, node, "thickness", "must be given and positive");
  if (!(f->poisson > -1 && f->poisson < 0.5)) return bad(m, node, "poisson", "must be above -1 and below 0.5");
  if (!(f->young >= 0)) return bad(m, node, "young", "must not be negative");
  if (!(f->damping >= 0)) return bad(m, node, "damping", "must not be negative");
  return TG_OK;
}

// what is refused of all sheets
static tgStatus check(tgMjcf *m, Sheet *s) {
  static const struct { const char *child, *attribute, *words, *advice; } rules[] = {
      {NULL, "dim", "2", "only sheets, dim 2"},
      {NULL, "dof", "full", "only dof full: a body for each vertex"},
      {NULL, "rigid", "false", "fix a mesh geom to the body instead"},
      {"edge", "equality", "false", "edges are not held rigid; give elasticity"},
      {"edge", "stiffness", "0", "give elasticity: young, poisson and thickness"},
      {"edge", "damping", "0", "give elasticity: damping"},
      {"elasticity", "shear", "", "sheets have no shear modulus of their own"},
      {"elasticity", "section", "", "it is for rods"},
      {"elasticity", "sectionsize", "", "it is for rods"},
      {"elasticity", "yield", "0", "sheets are elastic"},
      {"contact", "selfcollide", "none", "sheets do not touch themselves; set selfcollide=\"none\""}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules && !s->left_out; i++) {
    const tgXmlNode *node = rules[i].child == NULL ? s->node : tgi_xml_child(s->node, rules[i].child);
    if (node != NULL) TG_TRY(only(m, s, node, rules[i].attribute, rules[i].words, rules[i].advice));
  }
  return TG_OK;
}

// a ball where each vertex is
static tgStatus balls(tgMjcf *m, const Sheet *s, int flex) {
  static const double unit[4] = {1, 0, 0, 0};
  const tgXmlNode *node = tgi_xml_child(s->node, "contact");
  tgEl el = {.node = node}, own = {.node = s->node};
  double friction[3] = {1, 0.005, 0.0001}, radius = tgi_el_number(own, "radius", 0.005);
  if (node != NULL) tgi_el_numbers(el, "friction", 3, friction);
  if (!(radius > 0)) return bad(m, s->node, "radius", "must be positive");
  for (int i = 0; i < s->nvert; i++) {
    const tgFlexDesc *f = &m->desc->flex[flex];
    int g = tg_desc_add_geom(m->desc, f->body[i], TG_GEOM_SPHERE, NULL);
    if (g < 0) return tgi_mjcf_memory(m);
    tgGeomDesc *ball = &m->desc->geom[g];
    ball->flex = flex;
    ball->size[0] = radius;
    ball->mass = 0;
    ball->source = s->node->source;
    memcpy(ball->pos, f->pos + 3 * i, sizeof ball->pos);
    memcpy(ball->quat, unit, sizeof unit);
    memcpy(ball->friction, friction, sizeof friction);
    memcpy(ball->rgba, f->rgba, sizeof f->rgba);
    ball->group = tgi_el_int(own, "group", 0);
    if (node != NULL) {
      ball->contype = tgi_el_int(el, "contype", 1);
      ball->conaffinity = tgi_el_int(el, "conaffinity", 1);
      ball->condim = tgi_el_int(el, "condim", 3);
      ball->priority = tgi_el_int(el, "priority", 0);
    }
    if (m->no_contact) ball->contype = ball->conaffinity = 0;
  }
  return TG_OK;
}

// body and pos are those of vertices
static tgStatus add(tgMjcf *m, Sheet *s, const int *body, const double *pos) {
  const char *name = tgi_mjcf_own_name(s->node);
  int flex = tg_desc_add_flex(m->desc, name, body, pos, s->nvert, s->elem, s->nelem);
  if (flex < 0) return tgi_mjcf_memory(m);
  double rgba[4] = {0.5, 0.5, 0.5, 1};
  tgi_el_numbers((tgEl){.node = s->node}, "rgba", 4, rgba);
  tgFlexDesc *f = &m->desc->flex[flex];
  for (int k = 0; k < 4; k++) f->rgba[k] = (float)rgba[k];
  f->source = s->node->source;
  TG_TRY(elasticity(m, s, f));
  const tgXmlNode *contact = tgi_xml_child(s->node, "contact");
  if (contact == NULL || tgi_xml_get(contact, "selfcollide") == NULL) {
    int note = tg_desc_add_note(m->desc, TG_NOTE_WARNING, s->node->source, "%s %s: its vertices do not touch each other, nor those of "
                                "other sheets; MuJoCo's do unless selfcollide is none", s->node->name, name != NULL ? name : "");
    if (note < 0) return tgi_mjcf_memory(m);
  }
  return balls(m, s, flex);
}

// ---- flexcomp ----

static tgStatus vertex_body(tgMjcf *m, const Sheet *s, int i, double mass, double box, int *body) {
  const char *name = tgi_mjcf_own_name(s->node);
  size_t n = strlen(name) + 16;
  char *own = tgi_xml_bytes(m->xml, n);
  if (own == NULL) return tgi_mjcf_memory(m);
  snprintf(own, n, "%s_%d", name, i);
  *body = tg_desc_add_body(m->desc, s->parent, own);
  if (*body < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, s->node, own, TG_NAME_BODY, *body));
  tgBodyDesc *b = &m->desc->body[*body];
  memcpy(b->pos, s->vert + 3 * i, sizeof b->pos);
  b->has_inertial = true;
  b->mass = mass;
  for (int k = 0; k < 3; k++) b->inertia[k] = mass * 2 * box * box / 3;
  b->source = s->node->source;
  for (int k = 0; k < 3; k++) {
    int j = tg_desc_add_joint(m->desc, *body, TG_JOINT_SLIDE, NULL);
    if (j < 0) return tgi_mjcf_memory(m);
    for (int c = 0; c < 3; c++) m->desc->joint[j].axis[c] = c == k;
    m->desc->joint[j].source = s->node->source;
  }
  return TG_OK;
}

static tgStatus build(tgMjcf *m, Sheet *s) {
  tgEl el = {.node = s->node};
  double mass = tgi_el_number(el, "mass", 1), box = tgi_el_number(el, "inertiabox", 0.005);
  int *body = tgi_xml_bytes(m->xml, ((size_t)s->nvert + 1) * sizeof *body);
  if (body == NULL) return tgi_mjcf_memory(m);
  if (!(mass > 0)) return bad(m, s->node, "mass", "must be positive");
  if (!(box > 0)) return bad(m, s->node, "inertiabox", "must be positive");
  if (tgi_mjcf_own_name(s->node) == NULL) return bad(m, s->node, "name", "is needed: its bodies are NAME_0, NAME_1, ..");
  for (int i = 0; i < s->nvert; i++) {
    body[i] = s->parent;
    if (s->pinned[i]) continue;
    TG_TRY(vertex_body(m, s, i, mass / s->nvert, box, &body[i]));
    for (int k = 0; k < 3; k++) s->vert[3 * i + k] = 0;   // its body is there
  }
  return add(m, s, body, s->vert);
}

// A vertex in no triangle would be a loose body: MuJoCo leaves it out and counts the others anew.
static tgStatus check_all_used(tgMjcf *m, const Sheet *s) {
  bool *used = tgi_xml_bytes(m->xml, (size_t)s->nvert + 1);
  if (used == NULL) return tgi_mjcf_memory(m);
  memset(used, 0, (size_t)s->nvert + 1);
  for (int k = 0; k < 3 * s->nelem; k++) used[s->elem[k]] = true;
  for (int i = 0; i < s->nvert; i++)
    if (!used[i]) return tgi_xml_error(m->xml, s->node, m->error, TG_ERR_INVALID, "vertex %d is in no triangle: leave it out", i);
  return TG_OK;
}

tgStatus tgi_mjcf_flexcomp(tgMjcf *m, const tgXmlNode *node, int parent, tgPlace frame) {
  Sheet s = {.node = node, .parent = parent};
  TG_TRY(check(m, &s));
  if (!s.left_out) TG_TRY(make(m, &s));
  if (s.left_out) return TG_OK;
  TG_TRY(check_all_used(m, &s));
  TG_TRY(move(m, &s, frame));
  TG_TRY(pins(m, &s));
  return build(m, &s);
}

// ---- flex ----

// the bodies of the vertices, one for each or one for all, by names with spaces between
static tgStatus bodies_of(tgMjcf *m, const tgXmlNode *node, int nvert, int *body, int *n) {
  const char *text = tgi_xml_get(node, "body");
  char name[256];
  *n = 0;
  for (const char *p = text != NULL ? text + strspn(text, " \t\n\r") : ""; *p != 0; p += strspn(p, " \t\n\r")) {
    size_t length = strcspn(p, " \t\n\r");
    if (length >= sizeof name) return bad(m, node, "body", "has a name that is too long");
    memcpy(name, p, length);
    name[length] = 0;
    p += length;
    int at = tgi_names_find(m->names, TG_NAME_BODY, name);
    if (at < 0)
      return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "body"), m->error, TG_ERR_INVALID, "there is no body '%.60s'", name);
    if (*n >= nvert && nvert > 0) return bad(m, node, "body", "needs one body, or one for each vertex");
    if (body != NULL) body[*n] = at;
    ++*n;
  }
  return *n > 0 ? TG_OK : bad(m, node, "body", "needs one body, or one for each vertex");
}

static tgStatus read_flex(tgMjcf *m, const tgXmlNode *node) {
  Sheet s = {.node = node};
  double *vert = NULL, *elem;
  int nvert = 0, nelem, nbody;
  TG_TRY(check(m, &s));
  if (s.left_out) return TG_OK;
  TG_TRY(bodies_of(m, node, 0, NULL, &nbody));
  if (tgi_xml_get(node, "vertex") != NULL) TG_TRY(tgi_xml_array(m->xml, node, "vertex", &vert, &nvert, m->error));
  if (nvert % 3 != 0 || (nvert > 0 && nbody != 1 && nvert != 3 * nbody))
    return bad(m, node, "vertex", "needs three numbers for each vertex, and bodies as many or one");
  TG_TRY(triangles(m, node, &elem, &nelem));
  TG_TRY(room(m, &s, nvert > 0 ? nvert / 3 : nbody, nelem / 3));
  int *body = tgi_xml_bytes(m->xml, ((size_t)s.nvert + 1) * sizeof *body);
  if (body == NULL) return tgi_mjcf_memory(m);
  TG_TRY(bodies_of(m, node, s.nvert, body, &nbody));
  for (int i = nbody; i < s.nvert; i++) body[i] = body[0];
  for (int i = 0; i < 3 * s.nvert; i++) s.vert[i] = nvert > 0 ? vert[i] : 0;   // without vertices: the bodies' own places
  TG_TRY(whole(m, node, "element", elem, nelem, s.nvert, s.elem));
  return add(m, &s, body, s.vert);
}

tgStatus tgi_mjcf_flexes(tgMjcf *m) {
  for (const tgXmlNode *d = tgi_xml_child(m->root, "deformable"); d != NULL; d = tgi_xml_next(d, "deformable"))
    for (const tgXmlNode *n = tgi_xml_child(d, "flex"); n != NULL; n = tgi_xml_next(n, "flex")) TG_TRY(read_flex(m, n));
  return TG_OK;
}
