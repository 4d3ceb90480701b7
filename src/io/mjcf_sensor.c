// mjcf_sensor.c: sensors. They change no motion: one that cannot be read here is left out, with a note.
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "desc/desc.h"
#include "io/mjcf.h"

static tgStatus left_out(tgMjcf *m, const tgXmlNode *node, const char *why) {
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_note(m->desc, TG_NOTE_SKIPPED, node->source, "sensor %s%s%s%s is not read: %s", node->name, name != NULL ? " \"" : "",
                           name != NULL ? name : "", name != NULL ? "\"" : "", why);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

static tgStatus object(tgMjcf *m, const tgXmlNode *node, tgiSensorOf of, int *index) {
  static const struct { const char *attribute; tgNameKind kind; } by[] = {
      [TGI_OF_JOINT] = {"joint", TG_NAME_JOINT},    [TGI_OF_BALL] = {"joint", TG_NAME_JOINT},
      [TGI_OF_TENDON] = {"tendon", TG_NAME_TENDON}, [TGI_OF_ACTUATOR] = {"actuator", TG_NAME_ACTUATOR},
      [TGI_OF_SITE] = {"site", TG_NAME_SITE},       [TGI_OF_TREE] = {"body", TG_NAME_BODY}};
  TG_TRY(tgi_mjcf_find(m, node, by[of].attribute, by[of].kind, index));
  if (*index < 0 || (of != TGI_OF_JOINT && of != TGI_OF_BALL)) return TG_OK;
  tgJointType type = m->desc->joint[*index].type;
  bool scalar = type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE;
  if (of == TGI_OF_BALL ? type == TG_JOINT_BALL : scalar) return TG_OK;
  if (of == TGI_OF_JOINT && type == TG_JOINT_BALL && strncmp(node->name, "jointlimit", 10) == 0) {
    *index = -1;
    return left_out(m, node, "limits of ball joints are not told");
  }
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "joint"), m->error, TG_ERR_INVALID, "%s is for %s joints, '%.60s' is none",
                            node->name, of == TGI_OF_BALL ? "ball" : "hinge and slide", tgi_xml_get(node, "joint"));
}

// what an element says of a frame; *i -1: it is left out, with a note where `why` is set
static tgStatus frame_of(tgMjcf *m, const tgXmlNode *node, bool ref, bool axes, tgFrameKind *frame, int *i, const char **why) {
  static const struct { const char *word; tgFrameKind frame; tgNameKind kind; } kinds[] = {
      {"body", TG_FRAME_COM, TG_NAME_BODY}, {"xbody", TG_FRAME_BODY, TG_NAME_BODY}, {"geom", TG_FRAME_GEOM, TG_NAME_GEOM},
      {"site", TG_FRAME_SITE, TG_NAME_SITE}};
  const char *attribute = ref ? "reftype" : "objtype", *word = tgi_xml_get(node, attribute);
  *i = -1;
  if (word == NULL) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs %s=\"...\"", attribute);
  if (strcmp(word, "camera") == 0) {
    *why = "cameras are not kept";
    return TG_OK;
  }
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(word, kinds[k].word) != 0) continue;
    *frame = kinds[k].frame;
    TG_TRY(tgi_mjcf_find(m, node, ref ? "refname" : "objname", kinds[k].kind, i));
    if (*i < 0) return TG_OK;
    if (axes && *frame == TG_FRAME_COM) *why = "axes of inertia are not kept; xbody has those of the body";
    // MuJoCo moves the frame of a mesh to its centre and its axes of inertia
    if (*frame == TG_FRAME_GEOM && m->desc->geom[*i].type == TG_GEOM_MESH) *why = "geoms of meshes have another frame here";
    return TG_OK;
  }
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, attribute), m->error, TG_ERR_INVALID,
                            "%s is '%.60s'; it must be one of body, xbody, geom, site", attribute, word);
}

static tgStatus read_frames(tgMjcf *m, const tgXmlNode *node, tgSensorType type, tgSensorDesc *s, const char **why) {
  bool axes = type >= TG_SENSOR_FRAMEQUAT && type <= TG_SENSOR_FRAMEZAXIS;
  bool acceleration = type == TG_SENSOR_FRAMELINACC || type == TG_SENSOR_FRAMEANGACC;
  TG_TRY(frame_of(m, node, false, axes, &s->frame, &s->object, why));
  if (s->object < 0 || *why != NULL || (tgi_xml_get(node, "reftype") == NULL && tgi_xml_get(node, "refname") == NULL)) return TG_OK;
  if (acceleration) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has a reference frame, which accelerations have not");
  TG_TRY(frame_of(m, node, true, true, &s->ref_frame, &s->ref, why));
  if (s->ref < 0) s->object = -1;
  return TG_OK;
}

static bool delayed(const tgXmlNode *node) {
  tgEl el = {.node = node};
  return tgi_el_number(el, "delay", 0) != 0 || tgi_el_number(el, "interval", 0) != 0;
}

static tgStatus read_sensor(tgMjcf *m, const tgXmlNode *node) {
  tgSensorType type = (tgSensorType)tgi_sensor_type(node->name);
  tgiSensorOf of = tgi_sensor_of(type);
  tgSensorDesc s = {.ref = -1};
  const char *why = delayed(node) ? "it is delayed, or read at intervals" : NULL;
  double cutoff = tgi_el_number((tgEl){.node = node}, "cutoff", 0);
  if (cutoff < 0)
    return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "cutoff"), m->error, TG_ERR_INVALID, "cutoff is %g; it must not be negative",
                              cutoff);
  if (why == NULL) TG_TRY(of == TGI_OF_FRAME ? read_frames(m, node, type, &s, &why) : object(m, node, of, &s.object));
  if (why != NULL) return left_out(m, node, why);
  if (s.object < 0) return TG_OK;
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_sensor(m->desc, type, s.object, name);
  if (i < 0) return tgi_mjcf_memory(m);
  tgSensorDesc *to = &m->desc->sensor[i];
  to->frame = s.frame;
  to->ref_frame = s.ref_frame;
  to->ref = s.ref;
  to->cutoff = cutoff;
  to->source = node->source;
  return tgi_mjcf_name(m, node, name, TG_NAME_SENSOR, i);
}

tgStatus tgi_mjcf_sensors(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "sensor"); s != NULL; s = tgi_xml_next(s, "sensor"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next) TG_TRY(read_sensor(m, n));
  return TG_OK;
}
