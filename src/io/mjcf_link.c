// mjcf_link.c: what refers to bodies, joints and geoms by name: tendons, contact pairs and excludes, equalities, keyframes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"

static tgStatus need_number(tgMjcf *m, tgEl el, const char *attribute, double value, double least) {
  if (value >= least) return TG_OK;
  return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, attribute), m->error, TG_ERR_INVALID,
                            "%s is %g; it must not be below %g", attribute, value, least);
}

// ---- tendons ----

// damping or stiffness: the linear term, in MuJoCo 4 the first of up to three
static tgStatus linear(tgMjcf *m, tgEl el, const char *attribute, double *value) {
  double p[3] = {0};
  tgi_el_numbers(el, attribute, 3, p);
  *value = p[0];
  if (p[1] == 0 && p[2] == 0) return TG_OK;
  return tgi_mjcf_unsupported(m, TG_DROP_TENDON, el.node, tgi_el_attr(el, attribute), "%s with more than a linear term is not supported; "
                              "give one number", attribute);
}

static tgStatus tendon_joints(tgMjcf *m, const tgXmlNode *node, int *joint, double *coef, int *n) {
  *n = 0;
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next) {
    int j;
    TG_TRY(tgi_mjcf_find(m, c, "joint", TG_NAME_JOINT, &j));
    if (j < 0) continue;
    if (m->desc->joint[j].type != TG_JOINT_HINGE && m->desc->joint[j].type != TG_JOINT_SLIDE)
      return tgi_xml_error(m->xml, c, m->error, TG_ERR_INVALID, "a fixed tendon runs over hinge and slide joints only, %s is "
                           "neither", tgi_xml_get(c, "joint"));
    if (tgi_xml_get(c, "coef") == NULL) return tgi_xml_error(m->xml, c, m->error, TG_ERR_INVALID, "needs coef=\"...\"");
    joint[*n] = j;
    coef[(*n)++] = tgi_el_number((tgEl){.node = c}, "coef", 1);
  }
  if (*n > 0) return TG_OK;
  if (m->dropped) return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, NULL, "has no joint left, so it is left out");
  return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has no joint; add one");
}

// Sites and pulleys of a spatial tendon in order; *n 0: it is left out.
static tgStatus tendon_path(tgMjcf *m, const tgXmlNode *node, int *site, double *divisor, int *n) {
  *n = 0;
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next)
    if (strcmp(c->name, "geom") == 0)
      return tgi_mjcf_unsupported(m, TG_DROP_SPATIAL_TENDON, c, NULL, "a tendon that wraps around a geom is not supported; lead it over "
                                  "sites");
  int count = 0;
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next, count++) {
    divisor[count] = 1;
    site[count] = -1;
    if (strcmp(c->name, "pulley") == 0) {
      if (tgi_xml_get(c, "divisor") == NULL) return tgi_xml_error(m->xml, c, m->error, TG_ERR_INVALID, "needs divisor=\"...\"");
      divisor[count] = tgi_el_number((tgEl){.node = c}, "divisor", 1);
      if (!(divisor[count] > 0))
        return tgi_xml_attr_error(m->xml, c, tgi_xml_attr(c, "divisor"), m->error, TG_ERR_INVALID, "divisor is %g; it must be positive",
                                  divisor[count]);
      continue;
    }
    TG_TRY(tgi_mjcf_find(m, c, "site", TG_NAME_SITE, &site[count]));
    if (site[count] < 0)   // its site is left out
      return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, NULL, "runs over a site that is left out, and is so too");
  }
  if (count == 0) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has no site; add two");
  *n = count;
  return TG_OK;
}

// resting length: given, one number or a dead band of two; else the length where all joint springs rest
static void springlength(const tgMjcf *m, tgEl el, tgTendonDesc *t) {
  double s[2] = {-1, -1};
  if (tgi_el_numbers(el, "springlength", 2, s) == 1) s[1] = s[0];
  if (s[0] == -1 && s[1] == -1 && t->npath == 0) {
    s[0] = 0;
    for (int i = 0; i < t->njoint; i++) s[0] += t->coef[i] * m->desc->joint[t->joint[i]].springref;
    s[1] = s[0];
  }
  memcpy(t->springlength, s, sizeof s);
}

static tgStatus read_tendon(tgMjcf *m, const tgXmlNode *node) {
  int cls, n = 0, count = 0;
  TG_TRY(tgi_mjcf_class(m, node, "class", 0, &cls));
  tgEl el = tgi_mjcf_el(m, node, "tendon", cls);
  for (const tgXmlNode *c = node->child; c != NULL; c = c->next) n++;
  int *joint = tgi_xml_bytes(m->xml, ((size_t)n + 1) * sizeof *joint);
  double *coef = tgi_xml_bytes(m->xml, ((size_t)n + 1) * sizeof *coef);
  if (joint == NULL || coef == NULL) return tgi_mjcf_memory(m);
  bool spatial = strcmp(node->name, "spatial") == 0;
  TG_TRY((spatial ? tendon_path : tendon_joints)(m, node, joint, coef, &count));
  if (count == 0) return TG_OK;
  const char *name = tgi_mjcf_own_name(node);
  int i = (spatial ? tg_desc_add_spatial_tendon : tg_desc_add_tendon)(m->desc, name, joint, coef, count);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_TENDON, i));
  tgTendonDesc *t = &m->desc->tendon[i];
  t->source = node->source;
  tgi_el_numbers(el, "range", 2, t->range);
  bool limited;
  TG_TRY(tgi_mjcf_limited(m, el, "limited", "range", tgi_el_tri(el, "limited"), t->range, &limited));
  t->limited = limited && !m->no_limit ? TG_LIMITED_YES : TG_LIMITED_NO;
  TG_TRY(linear(m, el, "stiffness", &t->stiffness));
  TG_TRY(linear(m, el, "damping", &t->damping));
  t->frictionloss = tgi_el_number(el, "frictionloss", 0);
  t->armature = tgi_el_number(el, "armature", 0);
  TG_TRY(need_number(m, el, "damping", t->damping, 0));
  TG_TRY(need_number(m, el, "frictionloss", t->frictionloss, 0));
  TG_TRY(need_number(m, el, "armature", t->armature, 0));
  if (m->no_spring) t->stiffness = 0;
  if (m->no_damper) t->damping = 0;
  if (m->no_frictionloss) t->frictionloss = 0;
  springlength(m, el, t);
  if (t->springlength[0] > t->springlength[1])
    return tgi_xml_attr_error(m->xml, node, tgi_el_attr(el, "springlength"), m->error, TG_ERR_INVALID,
                              "springlength is %g to %g; the first number must be the smaller", t->springlength[0],
                              t->springlength[1]);
  return TG_OK;
}

tgStatus tgi_mjcf_tendons(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "tendon"); s != NULL; s = tgi_xml_next(s, "tendon"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next) TG_TRY(read_tendon(m, n));
  return TG_OK;
}

// ---- contact ----

static tgStatus read_pair(tgMjcf *m, const tgXmlNode *node) {
  int cls, a, b;
  TG_TRY(tgi_mjcf_class(m, node, "class", 0, &cls));
  tgEl el = tgi_mjcf_el(m, node, "pair", cls);
  TG_TRY(tgi_mjcf_find(m, node, "geom1", TG_NAME_GEOM, &a));
  TG_TRY(tgi_mjcf_find(m, node, "geom2", TG_NAME_GEOM, &b));
  if (a < 0 || b < 0 || m->no_contact) return TG_OK;
  if (a == b) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "names the same geom twice");
  const tgGeomDesc *ga = &m->desc->geom[a], *gb = &m->desc->geom[b];
  // without condim: that of the geom with the higher priority, else the larger
  int condim = ga->priority != gb->priority ? (ga->priority > gb->priority ? ga : gb)->condim
                                            : (ga->condim > gb->condim ? ga : gb)->condim;
  condim = tgi_el_int(el, "condim", condim);
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_pair(m->desc, a, b, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_PAIR, i));
  tgPairDesc *p = &m->desc->pair[i];
  p->source = node->source;
  p->condim = condim;
  tgi_el_numbers(el, "friction", 5, p->friction);
  for (int k = 0; k < 5; k++)
    if (p->friction[k] < 0) TG_TRY(need_number(m, el, "friction", p->friction[k], 0));
  return TG_OK;
}

static tgStatus read_exclude(tgMjcf *m, const tgXmlNode *node) {
  int a, b;
  TG_TRY(tgi_mjcf_find(m, node, "body1", TG_NAME_BODY, &a));
  TG_TRY(tgi_mjcf_find(m, node, "body2", TG_NAME_BODY, &b));
  if (a < 0 || b < 0) return TG_OK;
  int i = tg_desc_add_exclude(m->desc, a, b);
  if (i < 0) return tgi_mjcf_memory(m);
  m->desc->exclude[i].source = node->source;
  return tgi_mjcf_name(m, node, tgi_mjcf_own_name(node), TG_NAME_EXCLUDE, i);
}

tgStatus tgi_mjcf_contacts(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "contact"); s != NULL; s = tgi_xml_next(s, "contact"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next)
      TG_TRY(strcmp(n->name, "pair") == 0 ? read_pair(m, n) : read_exclude(m, n));
  return TG_OK;
}

// ---- equality ----

static tgStatus add_equality(tgMjcf *m, tgEl el, tgEqualityType type, int a, int b, tgEqualityDesc **out) {
  const char *name = tgi_mjcf_own_name(el.node);
  int i = tg_desc_add_equality(m->desc, type, a, b, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, el.node, name, TG_NAME_EQUALITY, i));
  *out = &m->desc->equality[i];
  (*out)->source = el.node->source;
  (*out)->active = tgi_el_bool(el, "active", true) && !m->no_equality;
  return TG_OK;
}

// body1 must be there, body2 may be absent: the world
static tgStatus two_bodies(tgMjcf *m, const tgXmlNode *node, int *a, int *b) {
  *b = 0;
  TG_TRY(tgi_mjcf_find(m, node, "body1", TG_NAME_BODY, a));
  if (tgi_xml_get(node, "body2") != NULL) TG_TRY(tgi_mjcf_find(m, node, "body2", TG_NAME_BODY, b));
  if (*a >= 0 && *a == *b) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "ties a body to itself");
  return TG_OK;
}

// site1 and site2 of an element that has them instead of bodies; *found false: one was left out
static tgStatus two_sites(tgMjcf *m, const tgXmlNode *node, const tgSiteDesc **a, const tgSiteDesc **b, bool *found) {
  static const char *const instead[] = {"body1", "body2", "anchor", "relpose"};
  int s1, s2;
  for (int i = 0; i < 4; i++)
    if (tgi_xml_get(node, instead[i]) != NULL)
      return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has sites and bodies, anchor or relpose; keep the sites or "
                           "the others");
  TG_TRY(tgi_mjcf_find(m, node, "site1", TG_NAME_SITE, &s1));
  TG_TRY(tgi_mjcf_find(m, node, "site2", TG_NAME_SITE, &s2));
  *found = s1 >= 0 && s2 >= 0;
  if (!*found) return TG_OK;
  *a = &m->desc->site[s1];
  *b = &m->desc->site[s2];
  if ((*a)->body == (*b)->body) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "ties a body to itself");
  return TG_OK;
}

static bool by_sites(const tgXmlNode *node) { return tgi_xml_get(node, "site1") != NULL || tgi_xml_get(node, "site2") != NULL; }

// connect by sites: the two sites are the two anchors
static tgStatus connect_sites(tgMjcf *m, const tgXmlNode *node, tgEl el) {
  const tgSiteDesc *a, *b;
  tgEqualityDesc *e;
  bool found;
  TG_TRY(two_sites(m, node, &a, &b, &found));
  if (!found) return TG_OK;
  TG_TRY(add_equality(m, el, TG_EQ_CONNECT, a->body, b->body, &e));
  memcpy(e->anchor, a->pos, sizeof e->anchor);
  memcpy(e->anchor2, b->pos, sizeof e->anchor2);
  e->has_anchor2 = true;
  return TG_OK;
}

static tgStatus read_connect(tgMjcf *m, const tgXmlNode *node, tgEl el) {
  if (by_sites(node)) return connect_sites(m, node, el);
  int a, b;
  tgEqualityDesc *e;
  TG_TRY(two_bodies(m, node, &a, &b));
  if (a < 0 || b < 0) return TG_OK;
  if (tgi_xml_get(node, "anchor") == NULL)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs anchor=\"x y z\"");
  TG_TRY(add_equality(m, el, TG_EQ_CONNECT, a, b, &e));
  tgi_el_numbers(el, "anchor", 3, e->anchor);
  return TG_OK;
}

// weld by sites: site1 = S1 in body a and site2 = S2 in body b coincide, so b in a is S1 S2^-1 and the anchor is site2
static tgStatus weld_sites(tgMjcf *m, const tgXmlNode *node, tgEl el) {
  const tgSiteDesc *a, *b;
  tgEqualityDesc *e;
  bool found;
  TG_TRY(two_sites(m, node, &a, &b, &found));
  if (!found) return TG_OK;
  tgPlace pa, pb;
  memcpy(pa.pos, a->pos, sizeof pa.pos);
  memcpy(pa.quat, a->quat, sizeof pa.quat);
  memcpy(pb.pos, b->pos, sizeof pb.pos);
  memcpy(pb.quat, b->quat, sizeof pb.quat);
  tgPlace rel = tgi_place_mul(pa, tgi_place_inverse(pb));
  TG_TRY(add_equality(m, el, TG_EQ_WELD, a->body, b->body, &e));
  memcpy(e->relpos, rel.pos, sizeof e->relpos);
  memcpy(e->relquat, rel.quat, sizeof e->relquat);
  memcpy(e->anchor, pb.pos, sizeof e->anchor);
  e->relpose_from_qpos0 = false;
  e->torquescale = tgi_el_number(el, "torquescale", 1);
  return TG_OK;
}

static tgStatus read_weld(tgMjcf *m, const tgXmlNode *node, tgEl el) {
  if (by_sites(node)) return weld_sites(m, node, el);
  int a, b;
  tgEqualityDesc *e;
  double rel[7] = {0};
  TG_TRY(two_bodies(m, node, &a, &b));
  if (a < 0 || b < 0) return TG_OK;
  TG_TRY(add_equality(m, el, TG_EQ_WELD, a, b, &e));
  tgi_el_numbers(el, "anchor", 3, e->anchor);
  tgi_el_numbers(el, "relpose", 7, rel);
  e->torquescale = tgi_el_number(el, "torquescale", 1);
  // a quaternion of zeros means the pose that the file draws
  e->relpose_from_qpos0 = !tgi_unit(rel + 3, 4);
  if (!e->relpose_from_qpos0) {
    memcpy(e->relpos, rel, sizeof e->relpos);
    memcpy(e->relquat, rel + 3, sizeof e->relquat);
  }
  return TG_OK;
}

static tgStatus scalar_joint(tgMjcf *m, const tgXmlNode *node, const char *attribute, int joint) {
  tgJointType type = m->desc->joint[joint].type;
  if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE) return TG_OK;
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, attribute), m->error, TG_ERR_INVALID, "%s must be a hinge or slide joint",
                            attribute);
}

// of two joints or two tendons, the second of which may be absent
static tgStatus read_tie(tgMjcf *m, const tgXmlNode *node, tgEl el, bool joints) {
  static const char *const word[2][2] = {{"tendon1", "tendon2"}, {"joint1", "joint2"}};
  int x[2] = {-1, -1};
  tgEqualityDesc *e;
  for (int i = 0; i < 2; i++) {
    const char *attribute = word[joints][i];
    if (i == 1 && tgi_xml_get(node, attribute) == NULL) break;
    TG_TRY(tgi_mjcf_find(m, node, attribute, joints ? TG_NAME_JOINT : TG_NAME_TENDON, &x[i]));
    if (x[i] < 0) return TG_OK;
    if (joints) TG_TRY(scalar_joint(m, node, attribute, x[i]));
  }
  if (x[0] == x[1]) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "ties a %s to itself", joints ? "joint" : "tendon");
  TG_TRY(add_equality(m, el, joints ? TG_EQ_JOINT : TG_EQ_TENDON, x[0], x[1], &e));
  tgi_el_numbers(el, "polycoef", 5, e->polycoef);
  return TG_OK;
}

tgStatus tgi_mjcf_equalities(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "equality"); s != NULL; s = tgi_xml_next(s, "equality"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next) {
      int cls;
      TG_TRY(tgi_mjcf_class(m, n, "class", 0, &cls));
      tgEl el = tgi_mjcf_el(m, n, "equality", cls);
      if (strcmp(n->name, "connect") == 0) TG_TRY(read_connect(m, n, el));
      else if (strcmp(n->name, "weld") == 0) TG_TRY(read_weld(m, n, el));
      else TG_TRY(read_tie(m, n, el, strcmp(n->name, "joint") == 0));
    }
  return TG_OK;
}

// ---- keyframes ----

static tgStatus key_array(tgMjcf *m, const tgXmlNode *node, const char *name, int want, double **value, int *n) {
  TG_TRY(tgi_xml_array(m->xml, node, name, value, n, m->error));
  if (*n == 0 || *n == want) return TG_OK;
  if (m->dropped) {                       // maybe what these numbers belong to
    *n = 0;
    return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, tgi_xml_attr(node, name), "%s does not fit what was loaded; left out", name);
  }
  return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, name), m->error, TG_ERR_INVALID,
                            "%s has %d numbers, the model needs %d", name, *n, want);
}

static tgStatus normalize_quats(tgMjcf *m, const tgXmlNode *node, double *qpos) {
  for (int i = 0, at = 0; i < m->desc->njoint; i++) {
    tgJointType type = m->desc->joint[i].type;
    int quat = type == TG_JOINT_FREE ? at + 3 : type == TG_JOINT_BALL ? at : -1;
    at += type == TG_JOINT_FREE ? 7 : type == TG_JOINT_BALL ? 4 : 1;
    if (quat >= 0 && !tgi_unit(qpos + quat, 4))
      return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "qpos"), m->error, TG_ERR_INVALID,
                                "qpos has a quaternion of zeros at number %d; 1 0 0 0 is no rotation", quat + 1);
  }
  return TG_OK;
}

static tgStatus read_key(tgMjcf *m, const tgXmlNode *node) {
  int nq = 0, nv = 0, na = 0, n[4];
  double *value[4];
  for (int i = 0; i < m->desc->njoint; i++) {
    tgJointType type = m->desc->joint[i].type;
    nq += type == TG_JOINT_FREE ? 7 : type == TG_JOINT_BALL ? 4 : 1;
    nv += type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
  }
  for (int i = 0; i < m->desc->nactuator; i++) na += m->desc->actuator[i].activation != TG_ACT_NONE;
  TG_TRY(key_array(m, node, "qpos", nq, &value[0], &n[0]));
  TG_TRY(key_array(m, node, "qvel", nv, &value[1], &n[1]));
  TG_TRY(key_array(m, node, "ctrl", m->desc->nactuator, &value[2], &n[2]));
  TG_TRY(key_array(m, node, "act", na, &value[3], &n[3]));
  static const char *const mocap[] = {"mpos", "mquat"};
  for (int i = 0; i < 2; i++)
    if (tgi_xml_get(node, mocap[i]) != NULL &&
        tg_desc_add_note(m->desc, TG_NOTE_WARNING, node->source, "attribute %s of key is not read: mocap bodies stay where they are drawn, "
                         "until the parameters body_pos and body_quat put them elsewhere", mocap[i]) < 0)
      return tgi_mjcf_memory(m);
  if (n[0] > 0) TG_TRY(normalize_quats(m, node, value[0]));
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_key(m->desc, name, n[0] > 0 ? value[0] : NULL, n[0], n[1] > 0 ? value[1] : NULL, n[1],
                          n[2] > 0 ? value[2] : NULL, n[2]);
  if (i < 0 || (n[3] > 0 && !tg_desc_key_activations(m->desc, i, value[3], n[3]))) return tgi_mjcf_memory(m);
  m->desc->key[i].source = node->source;
  return tgi_mjcf_name(m, node, name, TG_NAME_KEY, i);
}

tgStatus tgi_mjcf_keys(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "keyframe"); s != NULL; s = tgi_xml_next(s, "keyframe"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next) TG_TRY(read_key(m, n));
  return TG_OK;
}
