// mjcf_body.c: worldbody: bodies, frames, inertials, joints, geoms, sites.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "math/real.h"

// What holds inside an element of the tree: the body it belongs to, the pose of the frames between, the class.
typedef struct Scope {
  int body, cls;
  bool mocap;                    // the body is one
  tgPlace frame;
} Scope;

static const tgPlace identity = {.quat = {1, 0, 0, 0}};

static tgStatus invalid(const tgMjcf *m, tgEl el, const char *attribute, const char *text) {
  const tgXmlAttr *a = tgi_el_attr(el, attribute);
  return tgi_xml_attr_error(m->xml, el.node, a, m->error, TG_ERR_INVALID, "%s %s", attribute, text);
}

static tgStatus negative(const tgMjcf *m, tgEl el, const char *attribute, double value) {
  if (!(value < 0)) return TG_OK;
  const tgXmlAttr *a = tgi_el_attr(el, attribute);
  return tgi_xml_attr_error(m->xml, el.node, a, m->error, TG_ERR_INVALID, "%s is %g; it must not be negative", attribute,
                            value);
}

// damping and stiffness may be polynomials in MuJoCo 4: only the linear term is supported
static tgStatus linear(tgMjcf *m, tgEl el, const char *attribute, double *value) {
  double p[3] = {*value, 0, 0};
  tgi_el_numbers(el, attribute, 3, p);
  *value = p[0];
  if (p[1] == 0 && p[2] == 0) return TG_OK;
  return tgi_mjcf_unsupported(m, TG_DROP_JOINT, el.node, tgi_el_attr(el, attribute), "%s with more than a linear term is not supported; "
                              "give one number", attribute);
}

// ---- inertial ----

// eigenvalues of a symmetric 3x3 matrix (xx yy zz xy xz yz), ascending: Jacobi rotations
static void eigenvalues(const double s[6], double e[3]) {
  double A[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
  for (int sweep = 0; sweep < 30; sweep++)
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (A[p][q] == 0) continue;
        double theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), d = t * c;
        for (int k = 0; k < 3; k++) {                  // columns p, q, then rows p, q
          double x = A[k][p], y = A[k][q];
          A[k][p] = c * x - d * y;
          A[k][q] = d * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          double x = A[p][k], y = A[q][k];
          A[p][k] = c * x - d * y;
          A[q][k] = d * x + c * y;
        }
      }
  for (int i = 0; i < 3; i++) e[i] = A[i][i];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (e[j] > e[j + 1]) {
        double t = e[j];
        e[j] = e[j + 1];
        e[j + 1] = t;
      }
}

static tgStatus check_inertia(tgMjcf *m, const tgXmlNode *node, tgBodyDesc *b) {
  double e[3], bound = m->desc->compiler.boundinertia;
  if (m->desc->compiler.inertiafromgeom == TG_INERTIA_FROM_GEOM) return TG_OK;
  eigenvalues(b->inertia, e);
  double small = 1e-12 * fabs(e[2]);
  if (e[0] < -small)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "the inertia has principal moments %g %g %g; none may be "
                         "negative", e[0], e[1], e[2]);
  for (int i = 0; i < 3; i++) e[i] = fmax(e[i], bound);
  if (e[0] + e[1] >= e[2] - 1e-6 * e[2] || m->desc->compiler.balanceinertia) return TG_OK;
  if (!m->options->repair)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "no body has the principal moments %g %g %g: two of them "
                         "must sum to at least the third; correct them, or set balanceinertia=\"true\"", e[0], e[1], e[2]);
  double mean = (e[0] + e[1] + e[2]) / 3;
  memcpy(b->inertia, (double[6]){mean, mean, mean}, sizeof b->inertia);
  tgSource at = node->source;
  int i = tg_desc_add_note(m->desc, TG_NOTE_WARNING, at, "inertial of body %s: principal moments %g %g %g replaced by "
                           "their mean %g", b->name != NULL ? b->name : "without name", e[0], e[1], e[2], mean);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

// I = R diag(d) R^T as xx yy zz xy xz yz; column k of R is the rotated axis k
static void rotate_diagonal(double I[6], const double q[4], const double d[3]) {
  double R[3][3];
  for (int k = 0; k < 3; k++) tgi_place_rotate(R[k], q, (double[3]){k == 0, k == 1, k == 2});
  static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
  for (int i = 0; i < 6; i++) {
    I[i] = 0;
    for (int k = 0; k < 3; k++) I[i] += R[k][row[i]] * d[k] * R[k][column[i]];
  }
}

static tgStatus read_inertial(tgMjcf *m, const tgXmlNode *node, tgBodyDesc *b) {
  tgEl el = {.node = node};
  if (b->has_inertial)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "is the second one of its body; keep one");
  static const char *const needed[] = {"pos", "mass"};
  for (int i = 0; i < 2; i++)
    if (tgi_el_get(el, needed[i]) == NULL)
      return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs %s=\"...\"", needed[i]);
  bool full = tgi_el_get(el, "fullinertia") != NULL, diag = tgi_el_get(el, "diaginertia") != NULL;
  if (full == diag)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, full ? "has diaginertia and fullinertia; keep one"
                                                                      : "needs diaginertia or fullinertia");
  tgPlace place = identity;
  TG_TRY(tgi_mjcf_place(m, el, &place));
  b->mass = tgi_el_number(el, "mass", 0);
  TG_TRY(negative(m, el, "mass", b->mass));
  memcpy(b->com, place.pos, sizeof b->com);
  double d[3] = {0};
  if (full) {
    tgi_el_numbers(el, "fullinertia", 6, b->inertia);
    if (fabs(place.quat[0]) < 1)
      return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has fullinertia and an orientation; rotate the "
                           "matrix, or give diaginertia");
  } else {
    tgi_el_numbers(el, "diaginertia", 3, d);
    for (int i = 0; i < 3; i++) TG_TRY(negative(m, el, "diaginertia", d[i]));
    rotate_diagonal(b->inertia, place.quat, d);
  }
  b->has_inertial = true;
  return check_inertia(m, node, b);
}

// ---- joints ----

static tgJointType joint_type(const char *text) {
  if (text == NULL || strcmp(text, "hinge") == 0) return TG_JOINT_HINGE;
  return strcmp(text, "free") == 0 ? TG_JOINT_FREE : strcmp(text, "ball") == 0 ? TG_JOINT_BALL : TG_JOINT_SLIDE;
}

// joint limits: hinge and ball in angle units; a ball's range is 0 to the largest angle; a free joint has none
static tgStatus joint_limits(tgMjcf *m, tgEl el, tgJointDesc *j) {
  double unit = m->radian || j->type == TG_JOINT_SLIDE ? 1 : TG_PI / 180;
  if (j->type == TG_JOINT_FREE) return TG_OK;
  tgi_el_numbers(el, "range", 2, j->range);
  bool limited;
  TG_TRY(tgi_mjcf_limited(m, el, "limited", "range", tgi_el_tri(el, "limited"), j->range, &limited));
  if (limited && j->type == TG_JOINT_BALL && j->range[0] != 0)
    return invalid(m, el, "range", "of a ball joint is 0 and the largest angle; set the first number to 0");
  j->limited = limited && !m->no_limit ? TG_LIMITED_YES : TG_LIMITED_NO;
  for (int i = 0; i < 2; i++) j->range[i] *= unit;
  tgi_el_numbers(el, "actuatorfrcrange", 2, j->actfrcrange);
  TG_TRY(tgi_mjcf_limited(m, el, "actuatorfrclimited", "actuatorfrcrange", tgi_el_tri(el, "actuatorfrclimited"),
                          j->actfrcrange, &limited));
  if (limited && j->type == TG_JOINT_BALL)
    return invalid(m, el, "actuatorfrcrange", "is for hinge and slide joints only; remove it");
  j->actfrclimited = limited ? TG_LIMITED_YES : TG_LIMITED_NO;
  return TG_OK;
}

// time constant and damping ratio, of which stiffness and damping are made when the inertia is known; 0 0: none
static tgStatus springdamper(tgMjcf *m, tgEl el, tgJointDesc *j) {
  double *s = j->springdamper;
  tgi_el_numbers(el, "springdamper", 2, s);
  if (s[0] == 0 && s[1] == 0) return TG_OK;
  if (!(s[0] > 0) || !(s[1] > 0))
    return invalid(m, el, "springdamper", "must be a positive time constant and a positive damping ratio");
  if (!m->no_spring && !m->no_damper) return TG_OK;
  s[0] = s[1] = 0;
  if (m->no_spring && m->no_damper) return TG_OK;
  return tgi_mjcf_unsupported(m, TG_DROP_JOINT, el.node, tgi_el_attr(el, "springdamper"), "springdamper where the flag spring or damper "
                              "alone is disabled is not supported; give stiffness or damping");
}

static tgStatus joint_dynamics(tgMjcf *m, tgEl el, tgJointDesc *j) {
  double unit = m->radian || j->type != TG_JOINT_HINGE ? 1 : TG_PI / 180;
  if (j->type == TG_JOINT_HINGE || j->type == TG_JOINT_SLIDE) {
    j->ref = unit * tgi_el_number(el, "ref", 0);
    j->springref = unit * tgi_el_number(el, "springref", 0);
  }
  TG_TRY(linear(m, el, "damping", &j->damping));
  TG_TRY(linear(m, el, "stiffness", &j->stiffness));
  TG_TRY(springdamper(m, el, j));
  j->armature = tgi_el_number(el, "armature", 0);
  j->frictionloss = tgi_el_number(el, "frictionloss", 0);
  TG_TRY(negative(m, el, "damping", j->damping));
  TG_TRY(negative(m, el, "armature", j->armature));
  TG_TRY(negative(m, el, "frictionloss", j->frictionloss));
  if (m->no_spring) j->stiffness = 0;
  if (m->no_damper) j->damping = 0;
  if (m->no_frictionloss) j->frictionloss = 0;
  return TG_OK;
}

static tgStatus read_joint(tgMjcf *m, const tgXmlNode *node, const Scope *s) {
  bool free = strcmp(node->name, "freejoint") == 0;
  int cls;
  TG_TRY(tgi_mjcf_class(m, node, "class", s->cls, &cls));
  tgEl el = free ? (tgEl){.node = node} : tgi_mjcf_el(m, node, "joint", cls);
  tgJointType type = free ? TG_JOINT_FREE : joint_type(tgi_el_get(el, "type"));
  if (s->body == 0)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "stands in the world, which cannot move; put it in a body");
  if (s->mocap)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "stands in a mocap body, which has no joints: it is where it is put");
  if (type == TG_JOINT_FREE && m->desc->body[s->body].parent != 0)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "a free joint may stand only in a child of the world; "
                         "move the body there or use other joints");
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_joint(m->desc, s->body, type, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_JOINT, i));
  tgJointDesc *j = &m->desc->joint[i];
  j->source = node->source;
  if (type != TG_JOINT_FREE) {
    double pos[3] = {0}, axis[3] = {0, 0, 1};
    tgi_el_numbers(el, "pos", 3, pos);
    tgi_el_numbers(el, "axis", 3, axis);
    if (type == TG_JOINT_BALL) memcpy(axis, (double[3]){0, 0, 1}, sizeof axis);
    if (!tgi_unit(axis, 3)) return invalid(m, el, "axis", "has zero length; give a direction");
    tgi_place_rotate(j->pos, s->frame.quat, pos);
    for (int k = 0; k < 3; k++) j->pos[k] += s->frame.pos[k];
    if (type != TG_JOINT_BALL) tgi_place_rotate(j->axis, s->frame.quat, axis);
    if (type != TG_JOINT_BALL) tgi_unit(j->axis, 3);
  }
  if (free) return TG_OK;
  TG_TRY(joint_limits(m, el, j));
  return joint_dynamics(m, el, j);
}

// ---- geoms ----

static tgStatus geom_type(tgMjcf *m, tgEl el, tgGeomType *type) {
  static const char *const word[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
  const char *text = tgi_el_get(el, "type");
  *type = TG_GEOM_SPHERE;
  if (text == NULL) return TG_OK;
  for (int i = 0; i < 7; i++)
    if (strcmp(text, word[i]) == 0) {
      *type = (tgGeomType)i;
      return TG_OK;
    }
  if (strcmp(text, "sdf") == 0)
    return tgi_mjcf_unsupported(m, TG_DROP_PLUGIN, el.node, tgi_el_attr(el, "type"), "type sdf is not supported; use a mesh or boxes");
  const char *near = tgi_nearest_word(text, word, 7);
  return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "type"), m->error, TG_ERR_PARSE, "unknown type '%.40s'%s%s%s",
                            text, near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

// pose and half length from the two ends: +z points from `to` to `from`
static tgStatus place_fromto(tgMjcf *m, tgEl el, bool third, double size[3], tgPlace *place) {
  double e[6], v[3], length = 0;
  if (tgi_el_numbers(el, "fromto", 6, e) < 6) return TG_OK;
  for (int i = 0; i < 3; i++) {
    v[i] = e[i] - e[i + 3];
    length += v[i] * v[i];
    place->pos[i] = (e[i] + e[i + 3]) / 2;
  }
  length = sqrt(length);
  if (!(length > 1e-10)) return invalid(m, el, "fromto", "has two equal ends; move one");
  tgi_quat_from_z(place->quat, v);
  if (third) size[1] = size[0];
  size[third ? 2 : 1] = length / 2;
  return TG_OK;
}

static tgStatus geom_size(tgMjcf *m, tgEl el, tgGeomDesc *g, tgPlace *place) {
  static const int need[] = {[TG_GEOM_PLANE] = 0, [TG_GEOM_SPHERE] = 1, [TG_GEOM_CAPSULE] = 2, [TG_GEOM_ELLIPSOID] = 3,
                             [TG_GEOM_CYLINDER] = 2, [TG_GEOM_BOX] = 3, [TG_GEOM_MESH] = 0};
  bool ends = tgi_el_get(el, "fromto") != NULL;
  if (ends && (need[g->type] < 2))
    return invalid(m, el, "fromto", "is for capsule, cylinder, ellipsoid and box only; give pos and size");
  tgi_el_numbers(el, "size", 3, g->size);
  bool third = g->type == TG_GEOM_BOX || g->type == TG_GEOM_ELLIPSOID;
  TG_TRY(place_fromto(m, el, third, g->size, place));
  for (int i = 0; i < need[g->type]; i++)
    if (!(g->size[i] > 0)) {
      int wanted = ends ? 1 : need[g->type];
      return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "size"), m->error, TG_ERR_INVALID,
                                "size needs %d positive number%s for this type", wanted, wanted == 1 ? "" : "s");
    }
  return TG_OK;
}

static tgStatus geom_contact(tgMjcf *m, tgEl el, tgGeomDesc *g) {
  tgi_el_numbers(el, "friction", 3, g->friction);
  for (int i = 0; i < 3; i++) TG_TRY(negative(m, el, "friction", g->friction[i]));
  g->contype = tgi_el_int(el, "contype", 1);
  g->conaffinity = tgi_el_int(el, "conaffinity", 1);
  if (m->no_contact) g->contype = g->conaffinity = 0;
  g->priority = tgi_el_int(el, "priority", 0);
  g->condim = tgi_el_int(el, "condim", 3);
  return TG_OK;
}

static tgStatus geom_colour(tgMjcf *m, tgEl el, tgGeomDesc *g) {
  double rgba[4] = {0.5, 0.5, 0.5, 1};
  const char *material = tgi_el_get(el, "material");
  if (material != NULL && *material != 0) {
    int i = tgi_names_find(m->names, TG_NAME_MATERIAL, material);
    if (i >= 0) memcpy(rgba, m->colour[i], sizeof rgba);
    else if (tg_desc_add_note(m->desc, TG_NOTE_WARNING, el.node->source, "geom: there is no material '%.60s'; drawn without",
                              material) < 0)
      return tgi_mjcf_memory(m);
  }
  tgi_el_numbers(el, "rgba", 4, rgba);
  for (int i = 0; i < 4; i++) g->rgba[i] = (float)rgba[i];
  return TG_OK;
}

static bool has_joint(const tgXmlNode *node) {
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next)
    if (strcmp(c->name, "joint") == 0 || strcmp(c->name, "freejoint") == 0 || (strcmp(c->name, "frame") == 0 && has_joint(c))) return true;
  return false;
}

// MuJoCo gives a height field the mass of a box, which counts where its body moves.
static bool would_weigh(tgEl el) {
  double mass = tgi_el_number(el, "mass", NAN);
  if (mass == 0 || (isnan(mass) && tgi_el_number(el, "density", 1000) == 0)) return false;
  for (const tgXmlNode *n = el.node->parent; n != NULL; n = n->parent)
    if (strcmp(n->name, "body") == 0 && has_joint(n)) return true;
  return false;
}

static tgStatus add_field_cell(tgMjcf *m, tgEl el, const Scope *s, const char *name, int mesh, const tgPlace *place) {
  int i = tg_desc_add_geom(m->desc, s->body, TG_GEOM_MESH, name);
  if (i < 0) return tgi_mjcf_memory(m);
  tgGeomDesc *g = &m->desc->geom[i];
  TG_TRY(tgi_mjcf_name(m, el.node, g->name, TG_NAME_GEOM, i));
  g->source = el.node->source;
  memcpy(g->pos, place->pos, sizeof g->pos);
  memcpy(g->quat, place->quat, sizeof g->quat);
  g->mesh = mesh;
  g->mass = 0;
  g->group = tgi_el_int(el, "group", 0);
  TG_TRY(geom_contact(m, el, g));
  return geom_colour(m, el, g);
}

// The cells of a height field: geoms NAME/cell0, ... without mass; one alone has the geom's own name.
static tgStatus read_field(tgMjcf *m, tgEl el, const Scope *s) {
  const char *field = tgi_el_get(el, "hfield"), *own = tgi_mjcf_own_name(el.node);
  int first, count = 0;
  char label[256];
  if (field == NULL) return tgi_xml_error(m->xml, el.node, m->error, TG_ERR_INVALID, "type hfield needs hfield=\"...\"");
  TG_TRY(tgi_mjcf_find_el(m, el, "hfield", TG_NAME_HFIELD, &first));
  if (first < 0) return TG_OK;   // it was left out
  if (would_weigh(el))
    return tgi_mjcf_unsupported(m, TG_DROP_HFIELD, el.node, NULL, "a height field with mass on a body that moves is not supported; give it "
                                "mass=\"0\"");
  for (bool more = true; more; count += more) {
    snprintf(label, sizeof label, "%.200s/cell%d", field, count);
    more = first + count < m->desc->nmesh && strcmp(m->desc->mesh[first + count].name, label) == 0;
  }
  TG_TRY(tgi_mjcf_count_cells(m, el.node, count));
  tgPlace place = identity;
  TG_TRY(tgi_mjcf_place(m, el, &place));
  place = tgi_place_mul(s->frame, place);
  for (int k = 0; k < count; k++) {
    snprintf(label, sizeof label, "%.200s/cell%d", own != NULL ? own : "", k);
    TG_TRY(add_field_cell(m, el, s, own == NULL || count == 1 ? own : label, first + k, &place));
  }
  return TG_OK;
}

static tgStatus read_geom(tgMjcf *m, const tgXmlNode *node, const Scope *s) {
  int cls;
  TG_TRY(tgi_mjcf_class(m, node, "class", s->cls, &cls));
  tgEl el = tgi_mjcf_el(m, node, "geom", cls);
  const char *word = tgi_el_get(el, "type");
  if (word != NULL && strcmp(word, "hfield") == 0) return read_field(m, el, s);
  tgGeomType type;
  TG_TRY(geom_type(m, el, &type));
  const char *mesh = tgi_el_get(el, "mesh"), *name = tgi_mjcf_own_name(node);
  if (word != NULL && strcmp(word, "sdf") == 0) return TG_OK;   // it was left out
  if (tgi_xml_get(node, "hfield") != NULL)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has a height field; give type=\"hfield\", or remove it");
  if (mesh != NULL && type != TG_GEOM_MESH)
    return tgi_mjcf_unsupported(m, TG_DROP_MESH, node, tgi_el_attr(el, "mesh"), "fitting a primitive to mesh '%.60s' is not supported; "
                                "give type=\"mesh\", or size instead of mesh", mesh);
  if (mesh == NULL && type == TG_GEOM_MESH)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "type mesh needs mesh=\"...\"");
  int i = tg_desc_add_geom(m->desc, s->body, type, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_GEOM, i));
  tgGeomDesc *g = &m->desc->geom[i];
  g->source = node->source;
  tgPlace place = identity;
  TG_TRY(tgi_mjcf_place(m, el, &place));
  TG_TRY(geom_size(m, el, g, &place));
  place = tgi_place_mul(s->frame, place);
  memcpy(g->pos, place.pos, sizeof g->pos);
  memcpy(g->quat, place.quat, sizeof g->quat);
  if (type == TG_GEOM_MESH) {
    g->mesh = tgi_names_find(m->names, TG_NAME_MESH, mesh);
    if (g->mesh < 0) {
      const char *near = tgi_names_nearest(m->names, TG_NAME_MESH, mesh);
      return tgi_xml_attr_error(m->xml, node, tgi_el_attr(el, "mesh"), m->error, TG_ERR_INVALID,
                                "there is no mesh '%.60s'%s%.60s%s", mesh, near != NULL ? "; did you mean " : "",
                                near != NULL ? near : "", near != NULL ? "?" : "");
    }
  }
  g->density = tgi_el_number(el, "density", 1000);
  g->mass = tgi_el_number(el, "mass", NAN);
  TG_TRY(negative(m, el, "density", g->density));
  TG_TRY(negative(m, el, "mass", g->mass));
  g->group = tgi_el_int(el, "group", 0);
  g->shell = tgi_el_bool(el, "shellinertia", false);
  TG_TRY(geom_contact(m, el, g));
  return geom_colour(m, el, g);
}

// what MuJoCo may have beyond these (meshes) is drawn only
static tgStatus site_shape(tgMjcf *m, const tgXmlNode *node, const char *word, tgGeomType *type) {
  static const struct { const char *word; tgGeomType type; } shapes[] = {
      {"sphere", TG_GEOM_SPHERE}, {"capsule", TG_GEOM_CAPSULE}, {"ellipsoid", TG_GEOM_ELLIPSOID}, {"cylinder", TG_GEOM_CYLINDER},
      {"box", TG_GEOM_BOX}};
  for (size_t i = 0; word != NULL && i < sizeof shapes / sizeof *shapes; i++)
    if (strcmp(word, shapes[i].word) == 0) {
      *type = shapes[i].type;
      return TG_OK;
    }
  if (word == NULL) return TG_OK;
  int i = tg_desc_add_note(m->desc, TG_NOTE_WARNING, node->source, "a site of type %.40s is a sphere to touch sensors", word);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

static tgStatus read_site(tgMjcf *m, const tgXmlNode *node, const Scope *s) {
  int cls;
  TG_TRY(tgi_mjcf_class(m, node, "class", s->cls, &cls));
  tgEl el = tgi_mjcf_el(m, node, "site", cls);
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_site(m->desc, s->body, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_SITE, i));
  tgSiteDesc *site = &m->desc->site[i];
  site->source = node->source;
  tgPlace place = identity;
  TG_TRY(tgi_mjcf_place(m, el, &place));
  tgi_el_numbers(el, "size", 3, site->size);
  const char *type = tgi_el_get(el, "type");
  bool third = type != NULL && (strcmp(type, "box") == 0 || strcmp(type, "ellipsoid") == 0);
  TG_TRY(site_shape(m, node, type, &site->type));
  TG_TRY(place_fromto(m, el, third, site->size, &place));
  place = tgi_place_mul(s->frame, place);
  memcpy(site->pos, place.pos, sizeof site->pos);
  memcpy(site->quat, place.quat, sizeof site->quat);
  return TG_OK;
}

// ---- the tree ----

// As in MuJoCo a mocap body is fixed, and is elsewhere when it is put there: its place is a parameter of the model.
static tgStatus note_mocap(tgMjcf *m, const tgXmlNode *node, const Scope *outer, const char *name, Scope *inner) {
  inner->mocap = tgi_el_bool((tgEl){.node = node}, "mocap", false);
  if (!inner->mocap) return TG_OK;
  if (outer->body != 0) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "a mocap body may stand only in the world");
  int at = tg_desc_add_note(m->desc, TG_NOTE_WARNING, node->source, "mocap body %s stays where it is drawn, until the parameters "
                            "body_pos and body_quat put it elsewhere", name != NULL ? name : "without a name");
  return at < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

static tgStatus open_body(tgMjcf *m, const tgXmlNode *node, const Scope *outer, Scope *inner) {
  const char *name = tgi_mjcf_own_name(node);
  tgPlace place = identity;
  TG_TRY(tgi_mjcf_place(m, (tgEl){.node = node}, &place));
  inner->body = tg_desc_add_body(m->desc, outer->body, name);
  if (inner->body < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_BODY, inner->body));
  place = tgi_place_mul(outer->frame, place);
  tgBodyDesc *b = &m->desc->body[inner->body];
  memcpy(b->pos, place.pos, sizeof b->pos);
  memcpy(b->quat, place.quat, sizeof b->quat);
  b->gravcomp = tgi_el_number((tgEl){.node = node}, "gravcomp", 0);
  b->source = node->source;
  inner->frame = identity;
  TG_TRY(note_mocap(m, node, outer, name, inner));
  return tgi_mjcf_class(m, node, "childclass", outer->cls, &inner->cls);
}

// handles one element found in `outer`; what holds inside it goes to *inner
static tgStatus visit(tgMjcf *m, const tgXmlNode *node, const Scope *outer, Scope *inner) {
  *inner = *outer;
  if (strcmp(node->name, "body") == 0) return open_body(m, node, outer, inner);
  if (strcmp(node->name, "replicated") == 0) return TG_OK;
  if (strcmp(node->name, "replica") == 0) {
    inner->frame = tgi_place_mul(outer->frame, m->replica[node->kind]);
    return TG_OK;
  }
  if (strcmp(node->name, "frame") == 0) {
    tgPlace place = identity;
    TG_TRY(tgi_mjcf_place(m, (tgEl){.node = node}, &place));
    inner->frame = tgi_place_mul(outer->frame, place);
    return tgi_mjcf_class(m, node, "childclass", outer->cls, &inner->cls);
  }
  if (strcmp(node->name, "inertial") == 0) return read_inertial(m, node, &m->desc->body[outer->body]);
  if (strcmp(node->name, "geom") == 0) return read_geom(m, node, outer);
  if (strcmp(node->name, "site") == 0) return read_site(m, node, outer);
  if (strcmp(node->name, "flexcomp") == 0) return tgi_mjcf_flexcomp(m, node, outer->body, outer->frame);
  if (strcmp(node->parent->name, "flexcomp") == 0) return TG_OK;
  return read_joint(m, node, outer);
}

// stable order by body, as MuJoCo numbers joints, geoms and sites: where[i] becomes the new index of element i
static tgStatus sort_by_body(tgMjcf *m, tgNameKind kind, void *array, int n, size_t size, size_t body_at) {
  int nbody = m->desc->nbody;
  char *sorted = tgi_xml_bytes(m->xml, (size_t)n * size + 1);
  int *start = tgi_xml_bytes(m->xml, ((size_t)nbody + 1) * sizeof *start);
  int *where = tgi_xml_bytes(m->xml, ((size_t)n + 1) * sizeof *where);
  if (sorted == NULL || start == NULL || where == NULL) return tgi_mjcf_memory(m);
  memset(start, 0, ((size_t)nbody + 1) * sizeof *start);
  for (int i = 0; i < n; i++) {
    int body;
    memcpy(&body, (char *)array + (size_t)i * size + body_at, sizeof body);
    start[body + 1]++;
  }
  for (int b = 0; b < nbody; b++) start[b + 1] += start[b];
  for (int i = 0; i < n; i++) {
    int body;
    memcpy(&body, (char *)array + (size_t)i * size + body_at, sizeof body);
    where[i] = start[body]++;
    memcpy(sorted + (size_t)where[i] * size, (char *)array + (size_t)i * size, size);
  }
  if (n > 0) memcpy(array, sorted, (size_t)n * size);
  tgi_names_renumber(m->names, kind, where);
  return TG_OK;
}

// joints of one body: a free joint alone, nothing that turns after a ball
static tgStatus check_bodies(tgMjcf *m) {
  const tgDesc *d = m->desc;
  for (int i = 0; i < d->njoint; i++) {
    const tgJointDesc *j = &d->joint[i], *before = i > 0 && d->joint[i - 1].body == j->body ? &d->joint[i - 1] : NULL;
    tgXmlNode at = {.name = "joint", .source = j->source};
    bool after_ball = before != NULL && before->type == TG_JOINT_BALL && j->type != TG_JOINT_SLIDE;
    if (before != NULL && (before->type == TG_JOINT_FREE || j->type == TG_JOINT_FREE))
      return tgi_xml_error(m->xml, &at, m->error, TG_ERR_INVALID, "a free joint must be the only one of its body; remove "
                           "the others");
    if (after_ball)
      return tgi_xml_error(m->xml, &at, m->error, TG_ERR_INVALID, "turns about an axis that the ball joint before it has "
                           "freed already; remove one of them");
  }
  return TG_OK;
}

tgStatus tgi_mjcf_bodies(tgMjcf *m) {
  int deepest = 0;
  for (const tgXmlNode *n = m->root; n != NULL; n = tgi_xml_walk(m->root, n))
    if (n->depth > deepest) deepest = n->depth;
  Scope *scope = tgi_xml_bytes(m->xml, ((size_t)deepest + 1) * sizeof *scope);   // by depth: what holds inside
  if (scope == NULL) return tgi_mjcf_memory(m);
  for (tgXmlNode *w = tgi_xml_child(m->root, "worldbody"); w != NULL; w = tgi_xml_next(w, "worldbody")) {
    scope[w->depth] = (Scope){.body = 0, .cls = 0, .frame = identity};
    for (const tgXmlNode *n = tgi_xml_walk(w, w); n != NULL; n = tgi_xml_walk(w, n))
      TG_TRY(visit(m, n, &scope[n->depth - 1], &scope[n->depth]));
  }
  TG_TRY(tgi_mjcf_flexes(m));
  tgDesc *d = m->desc;
  TG_TRY(sort_by_body(m, TG_NAME_JOINT, d->joint, d->njoint, sizeof *d->joint, offsetof(tgJointDesc, body)));
  TG_TRY(sort_by_body(m, TG_NAME_GEOM, d->geom, d->ngeom, sizeof *d->geom, offsetof(tgGeomDesc, body)));
  TG_TRY(sort_by_body(m, TG_NAME_SITE, d->site, d->nsite, sizeof *d->site, offsetof(tgSiteDesc, body)));
  return check_bodies(m);
}
