// urdf.c: the loader's frame: what may stand where, links and joints to a tree, the tree to bodies. See urdf.h.
#include "io/urdf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/urdf_parts.h"

// ---- helpers ----

tgStatus tgi_urdf_memory(tgUrdf *u) { return tgi_xml_memory(u->xml, u->at, u->error); }

tgStatus tgi_urdf_note(tgUrdf *u, tgNoteKind kind, const tgXmlNode *node, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return tg_desc_add_note(u->desc, kind, node->source, "%s", text) < 0 ? tgi_urdf_memory(u) : TG_OK;
}

tgStatus tgi_urdf_number(tgUrdf *u, const tgXmlNode *node, const char *attr, double *value) {
  int n;
  TG_TRY(tgi_xml_numbers(u->xml, node, attr, 1, 1, value, &n, u->error));
  return n == 1 ? TG_OK : tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs the attribute %s", attr);
}

tgStatus tgi_urdf_optional(tgUrdf *u, const tgXmlNode *node, const char *attr, double absent, double *value) {
  *value = absent;
  return tgi_xml_numbers(u->xml, node, attr, 1, 1, value, NULL, u->error);
}

tgStatus tgi_urdf_only(tgUrdf *u, const tgXmlNode *node, const char *name, const tgXmlNode **child) {
  *child = tgi_xml_child(node, name);
  const tgXmlNode *second = *child != NULL ? tgi_xml_next(*child, name) : NULL;
  if (second == NULL) return TG_OK;
  return tgi_xml_error(u->xml, second, u->error, TG_ERR_INVALID,
                       "<%s> has a second <%s> (the first is on line %d); keep one", node->name, name,
                       (*child)->source.line);
}

tgStatus tgi_urdf_origin(tgUrdf *u, const tgXmlNode *node, double pos[3], double quat[4]) {
  const tgXmlNode *origin;
  double rpy[3] = {0, 0, 0};
  pos[0] = pos[1] = pos[2] = 0;
  TG_TRY(tgi_urdf_only(u, node, "origin", &origin));
  if (origin != NULL) {
    static const tgUrdfSpec spec = {.attr = "xyz rpy"};
    TG_TRY(tgi_urdf_check(u, origin, &spec));
    TG_TRY(tgi_xml_numbers(u->xml, origin, "xyz", 3, 3, pos, NULL, u->error));
    TG_TRY(tgi_xml_numbers(u->xml, origin, "rpy", 3, 3, rpy, NULL, u->error));
  }
  double cr = cos(rpy[0] / 2), sr = sin(rpy[0] / 2), cp = cos(rpy[1] / 2), sp = sin(rpy[1] / 2), cy = cos(rpy[2] / 2),
         sy = sin(rpy[2] / 2);
  // q = qz(yaw) qy(pitch) qx(roll)
  quat[0] = cy * cp * cr + sy * sp * sr;
  quat[1] = cy * cp * sr - sy * sp * cr;
  quat[2] = cy * sp * cr + sy * cp * sr;
  quat[3] = sy * cp * cr - cy * sp * sr;
  return TG_OK;
}

// `word` is one of the words of `list`
static bool listed(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; p != NULL && *p != 0; p += strspn(p, " ")) {
    size_t m = strcspn(p, " ");
    if (m == n && strncmp(p, word, n) == 0) return true;
    p += m;
  }
  return false;
}

// the word of `list` that is nearest to an unknown one, in `near`; false when none is near
static bool nearest(const char *word, const char *list, char near[32]) {
  char text[256];
  const char *at[16];
  int n = 0;
  snprintf(text, sizeof text, "%s", list != NULL ? list : "");
  for (char *p = text; *p != 0 && n < 16; n++) {
    at[n] = p;
    p += strcspn(p, " ");
    while (*p == ' ') *p++ = 0;
  }
  const char *best = tgi_nearest_word(word, at, n);
  if (best != NULL) snprintf(near, 32, "%s", best);
  return best != NULL;
}

// "unknown X" with the nearest known word: refused where it may be physics, noted otherwise
static tgStatus unknown(tgUrdf *u, const tgXmlNode *node, const tgXmlAttr *attr, const char *known, bool cosmetic) {
  const char *word = attr != NULL ? attr->name : node->name, *what = attr != NULL ? "attribute" : "element";
  char hint[80] = "", near[32];
  if (nearest(word, known, near)) snprintf(hint, sizeof hint, "; did you mean %s?", near);
  if (cosmetic) return tgi_urdf_note(u, TG_NOTE_SKIPPED, node, "unknown %s %.60s", what, word);
  if (u->options.lenient)
    return tgi_urdf_note(u, TG_NOTE_LENIENT, node, "unknown %s %.60s passed over%s", what, word, hint);
  return tgi_xml_attr_error(u->xml, node, attr, u->error, TG_ERR_UNSUPPORTED,
                            "unknown %s %.60s%s (--lenient passes over it)", what, word, hint);
}

tgStatus tgi_urdf_check(tgUrdf *u, const tgXmlNode *node, const tgUrdfSpec *spec) {
  u->at = node;
  for (const tgXmlAttr *a = node->attr; a != NULL; a = a->next) {
    if (listed(spec->attr, a->name) || strncmp(a->name, "xmlns", 5) == 0) continue;
    if (listed(spec->skip_attr, a->name) || strchr(a->name, ':') != NULL)
      TG_TRY(tgi_urdf_note(u, TG_NOTE_SKIPPED, node, "%s of <%s>", a->name, node->name));
    else
      TG_TRY(unknown(u, node, a, spec->attr, spec->cosmetic));
  }
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next) {
    if (listed(spec->child, c->name)) continue;
    if (listed(spec->soft, c->name))
      TG_TRY(tgi_urdf_note(u, TG_NOTE_SOFT, c, "<%s> of <%s> has no counterpart", c->name, node->name));
    else if (listed(spec->skip, c->name) || strchr(c->name, ':') != NULL)
      TG_TRY(tgi_urdf_note(u, TG_NOTE_SKIPPED, c, "<%s> of <%s>", c->name, node->name));
    else
      TG_TRY(unknown(u, c, NULL, spec->child, spec->cosmetic));
  }
  return TG_OK;
}

// ${...}, $(...) and xacro: elements are a program that makes a URDF, not a URDF
static tgStatus refuse_xacro(tgUrdf *u) {
  for (const tgXmlNode *n = u->xml->root; n != NULL; n = tgi_xml_walk(u->xml->root, n)) {
    if (strncmp(n->name, "xacro:", 6) == 0)
      return tgi_xml_error(u->xml, n, u->error, TG_ERR_PARSE,
                           "this is a xacro file; run xacro first and load what it writes");
    for (const tgXmlAttr *a = n->attr; a != NULL; a = a->next)
      if (strstr(a->value, "${") != NULL || strstr(a->value, "$(") != NULL)
        return tgi_xml_attr_error(u->xml, n, a, u->error, TG_ERR_PARSE,
                                  "%s=\"%.60s\" is not expanded; run xacro first and load what it writes", a->name,
                                  a->value);
  }
  return TG_OK;
}

// ---- links and joints ----

static tgStatus take_name(tgUrdf *u, tgNameKind kind, const tgXmlNode *node, int index, const char **name) {
  tgSource first = {0};
  *name = tgi_xml_get(node, "name");
  if (*name == NULL || **name == 0)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "<%s> needs a name", node->name);
  int at = tgi_names_add(u->names, kind, *name, index, node->source, &first);
  if (at == -2) return tgi_urdf_memory(u);
  if (at >= 0)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "the name is taken by the %s on line %d; rename one",
                         node->name, first.line);
  return TG_OK;
}

static tgStatus read_link(tgUrdf *u, const tgXmlNode *node) {
  static const tgUrdfSpec spec = {.attr = "name",
                                  .skip_attr = "type concave",
                                  .child = "inertial visual collision contact",
                                  .skip =
                                      "self_filter collision_checking audio_source self_collision_checking visual_mesh",
                                  .soft = "surface kinematic gravity"};
  tgUrdfLink *l = &u->link[u->nlink];
  *l = (tgUrdfLink){.node = node, .parent_joint = -1, .first_child = -1, .last_child = -1, .body = -1};
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(take_name(u, TG_NAME_BODY, node, u->nlink++, &l->name));
  return tgi_urdf_inertial(u, l);
}

static tgStatus read_type(tgUrdf *u, const tgXmlNode *node, tgUrdfType *type) {
  static const char *const word[] = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical"};
  const char *text = tgi_xml_get(node, "type");
  if (text == NULL) return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs a type (revolute, fixed, ...)");
  for (int k = 0; k < TG_URDF_TYPES; k++)
    if (strcmp(text, word[k]) == 0) {
      *type = (tgUrdfType)k;
      return TG_OK;
    }
  const char *near = tgi_nearest_word(text, word, TG_URDF_TYPES);
  return tgi_xml_attr_error(
      u->xml, node, tgi_xml_attr(node, "type"), u->error, TG_ERR_UNSUPPORTED,
      "joint type '%.40s' is not one of revolute, continuous, prismatic, fixed, floating, planar, spherical%s%s%s", text,
      near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

// <parent link=""/> or <child link=""/>
static tgStatus end_link(tgUrdf *u, const tgXmlNode *node, const char *which, int *link) {
  static const tgUrdfSpec spec = {.attr = "link"};
  const tgXmlNode *end;
  TG_TRY(tgi_urdf_only(u, node, which, &end));
  const char *name = end != NULL ? tgi_xml_get(end, "link") : NULL;
  if (name == NULL) return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs <%s link=\"...\"/>", which);
  TG_TRY(tgi_urdf_check(u, end, &spec));
  *link = tgi_names_find(u->names, TG_NAME_BODY, name);
  if (*link >= 0) return TG_OK;
  const char *near = tgi_names_nearest(u->names, TG_NAME_BODY, name);
  return tgi_xml_error(u->xml, end, u->error, TG_ERR_INVALID, "%s link '%.80s' of joint '%.80s' does not exist%s%s%s",
                       which, name, tgi_xml_get(node, "name"), near != NULL ? "; did you mean " : "",
                       near != NULL ? near : "", near != NULL ? "?" : "");
}

static tgStatus read_joint(tgUrdf *u, const tgXmlNode *node) {
  static const tgUrdfSpec spec = {.attr = "name type",
                                  .skip_attr = "dont_collapse",
                                  .child = "parent child origin axis limit dynamics joint_properties mimic",
                                  .skip = "calibration safety_controller hardwareInterface"};
  int at = u->njoint;
  tgUrdfJoint *j = &u->joint[at];
  *j = (tgUrdfJoint){.node = node, .next = -1, .desc_joint = -1};
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(take_name(u, TG_NAME_JOINT, node, u->njoint++, &j->name));
  TG_TRY(read_type(u, node, &j->type));
  TG_TRY(end_link(u, node, "parent", &j->parent));
  TG_TRY(end_link(u, node, "child", &j->child));
  tgUrdfLink *parent = &u->link[j->parent], *child = &u->link[j->child];
  if (j->parent == j->child)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "joins link '%s' to itself", child->name);
  if (child->parent_joint >= 0) {
    const tgUrdfJoint *other = &u->joint[child->parent_joint];
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID,
                         "link '%s' has two parents: joint '%s' on line %d and joint '%s' on line %d; a URDF is a tree",
                         child->name, other->name, other->node->source.line, j->name, node->source.line);
  }
  child->parent_joint = at;
  if (parent->last_child >= 0)
    u->joint[parent->last_child].next = at;
  else
    parent->first_child = at;
  parent->last_child = at;
  return TG_OK;
}

static tgStatus read_all(tgUrdf *u) {
  static const tgUrdfSpec spec = {.attr = "name version",
                                  .child = "link joint material",
                                  .skip = "gazebo transmission sensor ros2_control mujoco plugin drake"};
  const tgXmlNode *root = u->xml->root;
  size_t nlink = 0, njoint = 0;
  TG_TRY(tgi_urdf_check(u, root, &spec));
  u->desc->name = tg_desc_string(u->desc, tgi_xml_get(root, "name"));
  for (const tgXmlNode *n = root->child; n != NULL; n = n->next) {
    nlink += strcmp(n->name, "link") == 0;
    njoint += strcmp(n->name, "joint") == 0;
  }
  u->link = u->alloc.alloc(u->alloc.ctx, tgi_size_mul(nlink + 1, sizeof *u->link));
  u->joint = u->alloc.alloc(u->alloc.ctx, tgi_size_mul(njoint + 1, sizeof *u->joint));
  if (u->link == NULL || u->joint == NULL) return tgi_urdf_memory(u);
  if (nlink == 0) return tgi_xml_error(u->xml, root, u->error, TG_ERR_INVALID, "has no link");
  for (const tgXmlNode *n = tgi_xml_child(root, "link"); n != NULL; n = tgi_xml_next(n, "link"))
    TG_TRY(read_link(u, n));
  for (const tgXmlNode *n = tgi_xml_child(root, "joint"); n != NULL; n = tgi_xml_next(n, "joint"))
    TG_TRY(read_joint(u, n));
  return TG_OK;
}

// ---- tree ----

// follows parents from a link that no root reaches until one comes again: names a cycle
static tgStatus cycle(tgUrdf *u, int link) {
  int slow = link, fast = link;
  do {
    slow = u->joint[u->link[slow].parent_joint].parent;
    for (int k = 0; k < 2; k++) fast = u->joint[u->link[fast].parent_joint].parent;
  } while (slow != fast);
  const tgUrdfJoint *j = &u->joint[u->link[slow].parent_joint];
  return tgi_xml_error(
      u->xml, j->node, u->error, TG_ERR_INVALID,
      "links form a cycle: '%s' (line %d) is below '%s' (line %d), which is below it; a URDF is a tree",
      u->link[j->child].name, u->link[j->child].node->source.line, u->link[j->parent].name,
      u->link[j->parent].node->source.line);
}

static tgStatus find_root(tgUrdf *u, int *root) {
  *root = -1;
  for (int l = 0; l < u->nlink; l++) {
    if (u->link[l].parent_joint >= 0) continue;
    if (*root >= 0)
      return tgi_xml_error(
          u->xml, u->link[l].node, u->error, TG_ERR_INVALID,
          "is a second root beside link '%s' (line %d): no joint has it as child; join it or remove it",
          u->link[*root].name, u->link[*root].node->source.line);
    *root = l;
  }
  return *root >= 0 ? TG_OK : cycle(u, 0);
}

// mass of a link and of what is below it: what is fixed to it, or all
static double mass_below(const tgUrdf *u, int root, bool all) {
  double sum = u->link[root].mass;
  int at = u->link[root].first_child;
  while (at >= 0) { // depth first over fixed joints, without a stack: up through parent_joint
    const tgUrdfJoint *j = &u->joint[at];
    int down = -1;
    if (all || j->type == TG_URDF_FIXED) {
      sum += u->link[j->child].mass;
      down = u->link[j->child].first_child;
    }
    while (down < 0 && at >= 0) {
      down = u->joint[at].next;
      if (down < 0) at = u->joint[at].parent == root ? -1 : u->link[u->joint[at].parent].parent_joint;
    }
    at = at < 0 ? -1 : down;
  }
  return sum;
}

static double rigid_mass(const tgUrdf *u, int root) { return mass_below(u, root, false); }

static void set_inertial(tgBodyDesc *body, const tgUrdfLink *l) {
  body->has_inertial = true;
  body->mass = l->mass;
  memcpy(body->com, l->com, sizeof body->com);
  memcpy(body->inertia, l->inertia, sizeof body->inertia);
  body->source = l->node->source;
}

static tgStatus place_root(tgUrdf *u, int root) {
  tgUrdfLink *l = &u->link[root];
  if (strcmp(l->name, "world") == 0) {
    l->body = 0;
    if (l->mass > 0)
      TG_TRY(tgi_urdf_note(u, TG_NOTE_WARNING, l->node,
                           "link 'world' is the world, which does not move: its mass is not used"));
    return tgi_urdf_geoms(u, l);
  }
  l->body = tg_desc_add_body(u->desc, 0, l->name);
  if (l->body < 0) return tgi_urdf_memory(u);
  set_inertial(&u->desc->body[l->body], l);
  bool welded = u->options.fixed_base;
  if (!welded && !(rigid_mass(u, root) > 0)) {
    welded = true;
    TG_TRY(tgi_urdf_note(u, TG_NOTE_WARNING, l->node,
                         "root link '%.80s' and what is fixed to it have no mass: it is fixed to the world", l->name));
  }
  if (!welded) {
    const char *name = tgi_names_find(u->names, TG_NAME_JOINT, "root") < 0 ? "root" : NULL;
    int j = tg_desc_add_joint(u->desc, l->body, TG_JOINT_FREE, name);
    if (j < 0) return tgi_urdf_memory(u);
    u->desc->joint[j].source = l->node->source;
  }
  return tgi_urdf_geoms(u, l);
}

// a link without inertial is a frame; where it moves on its own, mass was forgotten
static tgStatus check_frame(tgUrdf *u, const tgUrdfLink *l, const tgUrdfJoint *j) {
  if (l->has_inertial || j->type == TG_URDF_FIXED || rigid_mass(u, j->child) > 0) return TG_OK;
  if (u->options.lenient)
    return tgi_urdf_note(u, TG_NOTE_LENIENT, l->node,
                         "link '%.80s' moves with joint '%.80s' and has no inertial: it is massless", l->name, j->name);
  return tgi_xml_error(
      u->xml, l->node, u->error, TG_ERR_INVALID,
      "moves with joint '%s' (line %d) but has no <inertial>, nor has anything fixed to it; give it one", j->name,
      j->node->source.line);
}

// what has no mass has no motion either
static tgStatus fix_massless(tgUrdf *u, tgUrdfJoint *j) {
  if (!u->options.repair || j->type == TG_URDF_FIXED || mass_below(u, j->child, true) > 0) return TG_OK;
  j->type = TG_URDF_FIXED;
  return tgi_urdf_note(u, TG_NOTE_WARNING, j->node, "joint '%.80s' moves nothing that has mass: it is fixed (repair)", j->name);
}

static tgStatus place_child(tgUrdf *u, int at) {
  tgUrdfJoint *j = &u->joint[at];
  tgUrdfLink *l = &u->link[j->child];
  if (strcmp(l->name, "world") == 0)
    return tgi_xml_error(u->xml, l->node, u->error, TG_ERR_INVALID,
                         "only the root link may be called world; rename it");
  l->body = tg_desc_add_body(u->desc, u->link[j->parent].body, l->name);
  if (l->body < 0) return tgi_urdf_memory(u);
  tgBodyDesc *body = &u->desc->body[l->body];
  set_inertial(body, l);
  TG_TRY(tgi_urdf_origin(u, j->node, body->pos, body->quat));
  TG_TRY(fix_massless(u, j));
  TG_TRY(check_frame(u, l, j));
  TG_TRY(tgi_urdf_joint(u, j, l->body));
  return tgi_urdf_geoms(u, l);
}

// depth first, children in the order of their joints
static tgStatus place_all(tgUrdf *u, int root) {
  TG_TRY(place_root(u, root));
  int at = u->link[root].first_child, placed = 1;
  while (at >= 0) {
    TG_TRY(place_child(u, at));
    placed++;
    int down = u->link[u->joint[at].child].first_child;
    while (down < 0 && at >= 0) {
      down = u->joint[at].next;
      if (down < 0) at = u->link[u->joint[at].parent].parent_joint;
    }
    at = down;
  }
  for (int l = 0; placed < u->nlink && l < u->nlink; l++)
    if (u->link[l].body < 0) return cycle(u, l);
  return TG_OK;
}

// Neighbours of a base that is fixed to the world. The pairs of a model keep a link from its parent, but not from a parent that does
// not move (such is the ground); the base of an arm is no ground: it and what is fixed to it touch the link on the first joint always.
// top[b]: first body below the world, weld[b]: topmost body rigidly attached to b, 0 where it does not move.
static tgStatus exclude_base(tgUrdf *u, int *top, int *weld) {
  tgDesc *d = u->desc;
  for (int b = 0; b < d->nbody; b++) weld[b] = 0;
  for (int j = 0; j < d->njoint; j++) weld[d->joint[j].body] = d->joint[j].body;
  for (int b = 1; b < d->nbody; b++) {
    int parent = d->body[b].parent;
    top[b] = parent == 0 ? b : top[parent];
    if (weld[b] == 0) weld[b] = weld[parent];
  }
  for (int b = 1; b < d->nbody; b++) {
    int base = weld[b] == 0 ? 0 : d->body[weld[b]].parent;
    if (base == 0 || weld[base] != 0) continue;
    for (int a = 1; a < d->nbody; a++)
      if (weld[a] == 0 && top[a] == top[b] && tg_desc_add_exclude(d, a, b) < 0) return tgi_urdf_memory(u);
  }
  return TG_OK;
}

static tgStatus base_neighbours(tgUrdf *u) {
  size_t n = (size_t)u->desc->nbody;
  int *work = u->alloc.alloc(u->alloc.ctx, 2 * n * sizeof *work);
  if (work == NULL) return tgi_urdf_memory(u);
  tgStatus status = exclude_base(u, work, work + n);
  u->alloc.free(u->alloc.ctx, work);
  return status;
}

static tgStatus load(tgUrdf *u) {
  int root;
  TG_TRY(refuse_xacro(u));
  TG_TRY(read_all(u));
  TG_TRY(find_root(u, &root));
  TG_TRY(place_all(u, root));
  TG_TRY(base_neighbours(u));
  TG_TRY(tgi_urdf_unreadable(u));
  TG_TRY(tgi_urdf_mimics(u));
  return tgi_urdf_motors(u);
}

tgStatus tgi_urdf_load(tgDesc *desc, const tgXml *doc, tgFileSet *files, const tgLoadOptions *options, tgError *error) {
  tgError local;
  tgAllocator alloc = tgi_allocator(options != NULL ? options->allocator : NULL);
  tgUrdf *u = alloc.alloc(alloc.ctx, sizeof *u);
  if (error == NULL) error = &local;
  if (u == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for robot %s", doc->desc->file[0]);
  *u = (tgUrdf){.desc = desc,
                .xml = doc,
                .files = files,
                .options = options != NULL ? *options : tg_load_default(),
                .error = error,
                .alloc = alloc,
                .names = tgi_names_create(&alloc)};
  desc->compiler.balanceinertia = u->options.repair;
  tgStatus status = u->names != NULL ? load(u) : tgi_urdf_memory(u);
  tgi_names_free(u->names);
  alloc.free(alloc.ctx, u->link);
  alloc.free(alloc.ctx, u->joint);
  alloc.free(alloc.ctx, u);
  return status;
}
