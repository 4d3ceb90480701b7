// mjcf.c: the MJCF loader: order of the passes, compiler and option, names and messages that all parts share.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"

tgStatus tgi_mjcf_memory(const tgMjcf *m) { return tgi_xml_memory(m->xml, m->at, m->error); }

const char *tgi_mjcf_own_name(const tgXmlNode *node) {
  const char *name = tgi_xml_get(node, "name");
  return name != NULL && *name != 0 ? name : NULL;
}

static tgStatus refuse_or_list(tgMjcf *m, tgStatus status, int without, const tgXmlNode *node, const tgXmlAttr *attr,
                               const char *format, va_list args) {
  char text[512];
  bool lenient = without == TGI_LENIENT, drop = without >= 0;
  vsnprintf(text, sizeof text, format, args);
  if ((lenient && !m->options->lenient) || (drop && (m->options->drop >> without & 1) == 0))
    return tgi_xml_attr_error(m->xml, node, attr, m->error, status, "%s (--%s%s goes on without it)", text, lenient ? "lenient" : "drop=",
                              drop ? tg_drop_word((tgDrop)without) : "");
  m->dropped = m->dropped || drop;
  const char *name = tgi_mjcf_own_name(node);
  tgSource at = attr != NULL ? attr->source : node->source;
  int i = tg_desc_add_note(m->desc, lenient ? TG_NOTE_LENIENT : TG_NOTE_DROPPED, at, "%s%s%.60s%s: %s", node->name,
                           name != NULL ? " \"" : "", name != NULL ? name : "", name != NULL ? "\"" : "", text);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

tgStatus tgi_mjcf_unsupported(tgMjcf *m, int without, const tgXmlNode *node, const tgXmlAttr *attr, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tgStatus status = refuse_or_list(m, TG_ERR_UNSUPPORTED, without, node, attr, format, args);
  va_end(args);
  return status;
}

tgStatus tgi_mjcf_unknown(tgMjcf *m, int without, const tgXmlNode *node, const tgXmlAttr *attr, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tgStatus status = refuse_or_list(m, TG_ERR_PARSE, without, node, attr, format, args);
  va_end(args);
  return status;
}

tgStatus tgi_mjcf_name(tgMjcf *m, const tgXmlNode *node, const char *name, tgNameKind kind, int index) {
  tgSource first;
  if (name == NULL) return TG_OK;
  int taken = tgi_names_add(m->names, kind, name, index, node->source, &first);
  if (taken == -1) return TG_OK;
  if (taken == -2) return tgi_mjcf_memory(m);
  const char *file = first.file >= 0 && first.file != node->source.file ? m->desc->file[first.file] : NULL;
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "name"), m->error, TG_ERR_INVALID,
                            "the name '%.60s' is taken by another %s at line %d%s%.200s; names are unique per kind", name,
                            tgi_name_kind_text(kind), first.line, file != NULL ? " of " : "", file != NULL ? file : "");
}

tgStatus tgi_mjcf_find(tgMjcf *m, const tgXmlNode *node, const char *attribute, tgNameKind kind, int *index) {
  return tgi_mjcf_find_el(m, (tgEl){.node = node}, attribute, kind, index);
}

tgStatus tgi_mjcf_find_el(tgMjcf *m, tgEl el, const char *attribute, tgNameKind kind, int *index) {
  const tgXmlNode *node = el.node;
  const tgXmlAttr *a = tgi_el_attr(el, attribute);
  *index = -1;
  if (a == NULL && m->dropped) return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, NULL, "has no %s left, so it is left out", attribute);
  if (a == NULL) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs %s=\"...\"", attribute);
  *index = tgi_names_find(m->names, kind, a->value);
  if (*index >= 0) return TG_OK;
  if (m->dropped)
    return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, a, "there is no %s '%.60s'; it may be among what was left out, so this is left out "
                                "too", tgi_name_kind_text(kind), a->value);
  const char *near = tgi_names_nearest(m->names, kind, a->value);
  return tgi_xml_attr_error(m->xml, node, a, m->error, TG_ERR_INVALID, "there is no %s '%.60s'%s%.60s%s",
                            tgi_name_kind_text(kind), a->value, near != NULL ? "; did you mean " : "",
                            near != NULL ? near : "", near != NULL ? "?" : "");
}

// ---- compiler, option, material ----

static tgStatus refuse(const tgMjcf *m, tgEl el, const char *attribute, const char *text) {
  return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, attribute), m->error, TG_ERR_INVALID, "%s %s", attribute,
                            text);
}

static tgStatus read_compiler(tgMjcf *m, const tgXmlNode *node) {
  tgEl el = {.node = node};
  tgCompilerDesc *c = &m->desc->compiler;
  const char *angle = tgi_el_get(el, "angle"), *seq = tgi_el_get(el, "eulerseq");
  if (angle != NULL) m->radian = strcmp(angle, "radian") == 0;
  if (seq != NULL) {
    if (strlen(seq) != 3 || strspn(seq, "xyzXYZ") != 3)
      return refuse(m, el, "eulerseq", "must be three of x y z (turning axes) or X Y Z (fixed axes)");
    memcpy(m->eulerseq, seq, 4);
  }
  if (tgi_el_get(el, "assetdir") != NULL) m->meshdir = tgi_el_get(el, "assetdir");
  if (tgi_el_get(el, "meshdir") != NULL) m->meshdir = tgi_el_get(el, "meshdir");
  m->autolimits = tgi_el_bool(el, "autolimits", m->autolimits);
  m->strippath = tgi_el_bool(el, "strippath", m->strippath);
  m->exact_mesh = tgi_el_bool(el, "exactmeshinertia", m->exact_mesh);
  static const tgInertiaFrom from[] = {TG_INERTIA_FROM_FILE, TG_INERTIA_FROM_GEOM, TG_INERTIA_FROM_AUTO};
  if (tgi_el_get(el, "inertiafromgeom") != NULL) c->inertiafromgeom = from[tgi_el_tri(el, "inertiafromgeom")];
  double group[2] = {c->inertiagrouprange[0], c->inertiagrouprange[1]};
  tgi_el_numbers(el, "inertiagrouprange", 2, group);
  for (int i = 0; i < 2; i++) {
    if (!(fabs(group[i]) < 1e9) || group[i] != floor(group[i])) return refuse(m, el, "inertiagrouprange", "must be integers");
    c->inertiagrouprange[i] = (int)group[i];
  }
  c->balanceinertia = tgi_el_bool(el, "balanceinertia", c->balanceinertia);
  c->boundmass = tgi_el_number(el, "boundmass", c->boundmass);
  c->boundinertia = tgi_el_number(el, "boundinertia", c->boundinertia);
  c->settotalmass = tgi_el_number(el, "settotalmass", c->settotalmass);
  if (c->boundmass < 0) return refuse(m, el, "boundmass", "must not be negative");
  if (c->boundinertia < 0) return refuse(m, el, "boundinertia", "must not be negative");
  return TG_OK;
}

static bool disabled(tgEl el, const char *name) {
  const char *text = tgi_el_get(el, name);
  return text != NULL && strcmp(text, "disable") == 0;
}

static tgStatus read_option(tgMjcf *m, const tgXmlNode *node) {
  tgEl el = {.node = node};
  tgOptionDesc *o = &m->desc->option;
  o->timestep = tgi_el_number(el, "timestep", o->timestep);
  tgi_el_numbers(el, "gravity", 3, o->gravity);
  o->density = tgi_el_number(el, "density", o->density);
  o->viscosity = tgi_el_number(el, "viscosity", o->viscosity);
  tgi_el_numbers(el, "wind", 3, o->wind);
  if (!(o->timestep > 0)) return refuse(m, el, "timestep", "must be positive");
  if (o->density < 0) return refuse(m, el, "density", "must not be negative");
  if (o->viscosity < 0) return refuse(m, el, "viscosity", "must not be negative");
  for (const tgXmlNode *f = tgi_xml_child(node, "flag"); f != NULL; f = tgi_xml_next(f, "flag")) {
    tgEl flag = {.node = f};
    if (disabled(flag, "gravity")) memset(o->gravity, 0, sizeof o->gravity);
    bool all = disabled(flag, "constraint");
    m->no_contact = m->no_contact || all || disabled(flag, "contact");
    m->no_limit = m->no_limit || all || disabled(flag, "limit");
    m->no_frictionloss = m->no_frictionloss || all || disabled(flag, "frictionloss");
    m->no_equality = m->no_equality || all || disabled(flag, "equality");
    m->no_spring = m->no_spring || disabled(flag, "spring");
    m->no_damper = m->no_damper || disabled(flag, "damper");
    m->no_clampctrl = m->no_clampctrl || disabled(flag, "clampctrl");
  }
  // MuJoCo counts fluid forces and gravity compensation as neither springs nor dampers, but drops them with both
  if (m->no_spring && m->no_damper) o->density = o->viscosity = 0;
  return TG_OK;
}

static tgStatus read_materials(tgMjcf *m) {
  int n = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) m->colour = tgi_xml_bytes(m->xml, ((size_t)n + 1) * sizeof *m->colour);
    if (pass == 1 && m->colour == NULL) return tgi_mjcf_memory(m);
    n = 0;
    for (const tgXmlNode *s = tgi_xml_child(m->root, "asset"); s != NULL; s = tgi_xml_next(s, "asset"))
      for (const tgXmlNode *c = tgi_xml_child(s, "material"); c != NULL; c = tgi_xml_next(c, "material"), n++) {
        if (pass == 0) continue;
        int cls;
        TG_TRY(tgi_mjcf_class(m, c, "class", 0, &cls));
        TG_TRY(tgi_mjcf_name(m, c, tgi_mjcf_own_name(c), TG_NAME_MATERIAL, n));
        memcpy(m->colour[n], (double[4]){1, 1, 1, 1}, sizeof m->colour[n]);
        tgi_el_numbers(tgi_mjcf_el(m, c, "material", cls), "rgba", 4, m->colour[n]);
      }
  }
  return TG_OK;
}

static tgStatus each(tgMjcf *m, const char *name, tgStatus (*read)(tgMjcf *, const tgXmlNode *)) {
  for (const tgXmlNode *n = tgi_xml_child(m->root, name); n != NULL; n = tgi_xml_next(n, name)) TG_TRY(read(m, n));
  return TG_OK;
}

static tgStatus load(tgMjcf *m, const tgFile *main_file) {
  TG_TRY(tgi_mjcf_include(m, main_file));
  TG_TRY(tgi_mjcf_schema(m));
  const char *model = tgi_xml_get(m->root, "model");
  m->desc->name = tg_desc_string(m->desc, model != NULL ? model : "");
  if (m->desc->name == NULL) return tgi_mjcf_memory(m);
  if (tgi_names_add(m->names, TG_NAME_BODY, "world", 0, m->root->source, NULL) == -2) return tgi_mjcf_memory(m);
  TG_TRY(each(m, "compiler", read_compiler));
  TG_TRY(each(m, "option", read_option));
  TG_TRY(tgi_mjcf_defaults(m));
  TG_TRY(read_materials(m));
  TG_TRY(tgi_mjcf_mesh_names(m));
  TG_TRY(tgi_mjcf_hfields(m));
  TG_TRY(tgi_mjcf_replicate(m));
  TG_TRY(tgi_mjcf_bodies(m));
  TG_TRY(tgi_mjcf_contacts(m));
  TG_TRY(tgi_mjcf_meshes(m));
  TG_TRY(tgi_mjcf_tendons(m));
  TG_TRY(tgi_mjcf_equalities(m));
  TG_TRY(tgi_mjcf_actuators(m));
  TG_TRY(tgi_mjcf_sensors(m));
  return tgi_mjcf_keys(m);
}

tgStatus tgi_mjcf_load(tgDesc *desc, tgXml *xml, tgXmlNode *root, const tgFile *main_file, tgFileSet *files,
                       const tgLoadOptions *options, tgError *error) {
  tgMjcf m = {.desc = desc, .xml = xml, .root = root, .files = files, .options = options, .error = error,
              .autolimits = true, .eulerseq = "xyz"};
  m.names = tgi_names_create(options->allocator);
  tgStatus status = m.names != NULL ? load(&m, main_file) : tgi_mjcf_memory(&m);
  tgi_names_free(m.names);
  return status;
}
