// mjcf_schema.c: which elements and attributes an MJCF file may have, and what becomes of each.
//
// One row per element. attrs: "name:type" with type
//   s text, b true or false, t true, false or auto, i integer, nA or nA-B that many numbers, n* any number of them,
//   k|x|y one of the words, "." no effect on physics, "~" a soft-constraint or solver setting,
//   "!x" changes physics and is not supported, except with the neutral value x (numbers: all equal to it).
// children: "name" or "name=row", with "." before it: no effect on physics, "~": soft, "!": not supported.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "io/number.h"

typedef struct Row { const char *key, *attrs, *children; } Row;

#define ORIENT " quat:n4 axisangle:n4 euler:n3 xyaxes:n6 zaxis:n3"
#define SOLVE " solref:~ solimp:~"
#define LIMITS " solreflimit:~ solimplimit:~ solreffriction:~ solimpfriction:~ margin:~"
#define JOINT                                                                                                   \
  "name:s class:s type:k|free|ball|slide|hinge pos:n3 axis:n3 ref:n1 limited:t range:n2 damping:n1-3 "          \
  "stiffness:n1-3 springref:n1 armature:n1 frictionloss:n1 actuatorfrclimited:t actuatorfrcrange:n2 "           \
  "actuatorgravcomp:!false springdamper:n2 springyield:!0 group:. user:." LIMITS
#define GEOM                                                                                                    \
  "name:s class:s type:s pos:n3" ORIENT " size:n1-3 fromto:n6 mesh:s density:n1 mass:n1 friction:n1-3 "         \
  "contype:i conaffinity:i condim:k|1|3|4|6 priority:i group:i shellinertia:b rgba:n4 material:s margin:~ gap:~ " \
  "solmix:~ fluidshape:!none fluidcoef:. hfield:s fitscale:. adhesion:!0 surfacevel:!0 castshadow:. user:." SOLVE
#define SITE "name:s class:s type:s pos:n3" ORIENT " size:n1-3 fromto:n6 group:. rgba:. material:. mesh:. user:."
#define TENDON                                                                                                  \
  "name:s class:s limited:t range:n2 stiffness:n1-3 damping:n1-3 frictionloss:n1 springlength:n1-2 armature:n1 " \
  "springyield:!0 actuatorfrclimited:!false actuatorfrcrange:!0 group:. width:. rgba:. material:. user:." LIMITS
#define SENSOR "name:s cutoff:n1 noise:. user:. nsample:. interp:. delay:n1 interval:n1-2 "
#define EQUAL "name:s class:s active:b" SOLVE
#define ACT                                                                                                     \
  "name:s class:s joint:s jointinparent:s tendon:s site:s body:! cranksite:! slidersite:! refsite:s cranklength:. " \
  "gear:n1-6 ctrllimited:t ctrlrange:n2 forcelimited:t forcerange:n2 lengthrange:. group:. user:. delay:!0 "    \
  "nsample:. interp:. damping:!0 armature:!0 "
#define SERVO ACT "inheritrange:n1 kp:n1 kv:n1 dampratio:n1 "
#define ACTUATORS(mark)                                                                                         \
  "general motor position velocity damper intvelocity cylinder " mark "muscle " mark "adhesion " mark "plugin " \
  mark "dcmotor " mark "pid " mark "orientation"
#define IN_BODY "joint freejoint geom site body frame .camera .light !composite flexcomp !plugin !attach replicate"

static const Row rows[] = {
    {"mujoco", "model:s",
     "compiler option .size .statistic .visual default !extension .custom asset worldbody deformable contact tendon "
     "equality actuator sensor keyframe"},
    {"compiler",
     "angle:k|degree|radian eulerseq:s meshdir:s assetdir:s texturedir:. autolimits:b inertiafromgeom:t "
     "inertiagrouprange:n2 balanceinertia:b boundmass:n1 boundinertia:n1 settotalmass:n1 coordinate:!local fitaabb:. "
     "strippath:b alignfree:!false fusestatic:. discardvisual:. convexhull:!true exactmeshinertia:b usethread:. "
     "saveinertial:. savecanonical:. savecompiled:. passthrough:. conflict:.",
     ".lengthrange"},
    {"option",
     "timestep:n1 gravity:n3 density:n1 viscosity:n1 wind:n3 magnetic:. integrator:~ solver:~ cone:~ jacobian:~ "
     "iterations:~ tolerance:~ ls_iterations:~ ls_tolerance:~ noslip_iterations:~ noslip_tolerance:~ "
     "ccd_iterations:~ ccd_tolerance:~ mpr_iterations:~ mpr_tolerance:~ sdf_iterations:~ sdf_initpoints:~ impratio:~ "
     "o_margin:~ o_solref:~ o_solimp:~ o_friction:~ apirate:~ collision:!all sleep_tolerance:~ "
     "actuatorgroupdisable:!",
     "flag"},
    {"flag",
     "constraint:k|enable|disable equality:k|enable|disable frictionloss:k|enable|disable limit:k|enable|disable "
     "contact:k|enable|disable passive:!enable spring:k|enable|disable damper:k|enable|disable "
     "gravity:k|enable|disable clampctrl:k|enable|disable warmstart:~ filterparent:!enable actuation:!enable refsafe:~ "
     "sensor:. midphase:~ nativeccd:~ eulerdamp:~ autoreset:~ override:!disable energy:. fwdinv:. invdiscrete:~ "
     "multiccd:~ island:~ sleep:~ diagexact:~ ipc:!disable speculative:~",
     ""},
    {"default", "class:s",
     "default mesh .material .texture joint geom site .camera .light pair=defpair equality=defequality "
     "tendon=deftendon " ACTUATORS(".")},
    {"defpair", "condim:k|1|3|4|6 friction:n1-5 margin:~ gap:~ solreffriction:~ adhesion:!0" SOLVE, ""},
    {"defequality", "active:b" SOLVE, ""},
    {"deftendon", TENDON, ""},
    {"asset", "", ".texture material mesh .skin hfield !model"},
    {"hfield", "name:s content_type:. file:s nrow:i ncol:i size:n4 elevation:n*", ""},
    {"material", "name:s class:s rgba:n4 texture:. texrepeat:. texuniform:. emission:. specular:. shininess:. "
     "reflectance:. metallic:. roughness:.", ".layer"},
    {"mesh", "name:s class:s file:s vertex:n* face:n* normal:. texcoord:. scale:n3 refpos:n3 refquat:n4 "
     "inertia:k|exact|shell|convex|legacy smoothnormal:. maxhullvert:~ content_type:. material:. builtin:! params:!",
     "!plugin"},
    {"worldbody", "", IN_BODY},
    {"body", "name:s pos:n3" ORIENT " childclass:s gravcomp:n1 mocap:b user:. sleep:. simple:. fuse:.",
     "inertial " IN_BODY},
    {"frame", "name:s pos:n3" ORIENT " childclass:s", IN_BODY},
    {"replicate", "count:i sep:s offset:n3 euler:n3", IN_BODY},
    {"inertial", "pos:n3" ORIENT " mass:n1 diaginertia:n3 fullinertia:n6", ""},
    {"joint", JOINT, ""},
    {"freejoint", "name:s group:. align:!false", ""},
    {"geom", GEOM, "!plugin"},
    {"site", SITE, ""},
    {"deformable", "", "flex .skin"},
    {"flexcomp", "name:s type:s dim:i count:n3 spacing:n3 point:n* element:n* texcoord:. file:s mesh:! scale:n3 mass:n1 inertiabox:n1 "
     "radius:n1 dof:s rigid:b flatskin:. cellcount:. group:i rgba:n4 material:. origin:. pos:n3" ORIENT,
     "edge=flexedge elasticity contact=flexcontact pin !plugin"},
    {"flex", "name:s dim:i radius:n1 body:s node:! vertex:n* element:n* texcoord:. elemtexcoord:. flatskin:. cellcount:. dof:s group:i "
     "rgba:n4 material:.", "edge=flexedge elasticity contact=flexcontact"},
    {"flexedge", "equality:s stiffness:s damping:s" SOLVE, ""},
    {"elasticity", "young:n1 poisson:n1 thickness:n1 damping:n1 elastic2d:k|none|bend|stretch|both shear:s section:s sectionsize:s yield:s",
     ""},
    {"flexcontact", "selfcollide:k|none|narrow|bvh|sap|auto passive:~ activelayers:~ internal:~ vertcollide:~ contype:i conaffinity:i "
     "condim:k|1|3|4|6 priority:i friction:n1-3 solmix:~ margin:~ gap:~" SOLVE, ""},
    {"pin", "id:n* range:n* grid:n* gridrange:n*", ""},
    {"contact", "", "pair exclude"},
    {"pair", "name:s class:s geom1:s geom2:s condim:k|1|3|4|6 friction:n1-5 margin:~ gap:~ solreffriction:~ "
     "adhesion:!0" SOLVE, ""},
    {"exclude", "name:s body1:s body2:s", ""},
    {"tendon", "", "fixed spatial"},
    {"fixed", TENDON, "joint=tendonjoint"},
    {"tendonjoint", "joint:s coef:n1", ""},
    {"spatial", TENDON, "site=tendonsite geom=tendongeom pulley"},
    {"tendonsite", "site:s", ""},
    {"tendongeom", "geom:s sidesite:s", ""},
    {"pulley", "divisor:n1", ""},
    {"equality", "", "connect weld joint=eqjoint tendon=eqtendon !flex !flexvert !flexstrain !distance"},
    {"connect", EQUAL " body1:s body2:s anchor:n3 site1:s site2:s", ""},
    {"weld", EQUAL " body1:s body2:s anchor:n3 relpose:n7 torquescale:n1 site1:s site2:s", ""},
    {"eqjoint", EQUAL " joint1:s joint2:s polycoef:n1-5", ""},
    {"eqtendon", EQUAL " tendon1:s tendon2:s polycoef:n1-5", ""},
    {"actuator", "", ACTUATORS("!")},
    {"general",
     ACT "gaintype:s biastype:s dyntype:s gainprm:n1-10 biasprm:n1-10 dynprm:n1-10 actdim:!1 actlimited:t actrange:n2 "
         "actearly:!false inheritrange:n1 input:!ctrl ffrange:! velrange:!", ""},
    {"motor", ACT, ""},
    {"position", SERVO "timeconst:n1", ""},
    {"intvelocity", SERVO "actlimited:. actrange:n2", ""},
    {"cylinder", ACT "timeconst:n1 area:n1 diameter:n1 bias:n3", ""},
    {"velocity", ACT "kv:n1", ""},
    {"damper", ACT "kv:n1", ""},
    {"sensor", "",
     "jointpos=sjoint jointvel=sjoint jointlimitpos=sjoint jointlimitvel=sjoint jointactuatorfrc=sjoint ballquat=sjoint ballangvel=sjoint "
     "tendonpos=stendon tendonvel=stendon tendonlimitpos=stendon tendonlimitvel=stendon tendonactuatorfrc=stendon "
     "actuatorpos=sactuator actuatorvel=sactuator actuatorfrc=sactuator accelerometer=ssite velocimeter=ssite gyro=ssite touch=ssite "
     "force=ssite torque=ssite "
     "subtreecom=stree subtreelinvel=stree subtreeangmom=stree framepos=sframe framequat=sframe framexaxis=sframe frameyaxis=sframe "
     "framezaxis=sframe framelinvel=sframe frameangvel=sframe framelinacc=sframe frameangacc=sframe .magnetometer "
     ".camprojection .rangefinder .jointlimitfrc .tendonlimitfrc .insidesite .distance .normal .fromto .contact .e_potential .e_kinetic "
     ".clock .tactile .user .plugin"},
    {"sjoint", SENSOR "joint:s", ""},
    {"stendon", SENSOR "tendon:s", ""},
    {"sactuator", SENSOR "actuator:s", ""},
    {"ssite", SENSOR "site:s", ""},
    {"stree", SENSOR "body:s", ""},
    {"sframe", SENSOR "objtype:s objname:s reftype:s refname:s", ""},
    {"keyframe", "", "key"},
    {"key", "name:s time:. qpos:n* qvel:n* act:n* ctrl:n* mpos:n* mquat:n* plastic:.", ""},
};
enum { NROW = sizeof rows / sizeof *rows, SKIPPED = -1 };

// what to do instead, for what is not supported
static const struct { const char *name, *advice; } advices[] = {
    {"composite", "write its bodies out (MuJoCo's mj_saveLastXML does) or remove it"},
    {"mesh", "give the file"},
    {"node", "give vertex and body"},
    {"plugin", "plugins run code of MuJoCo's; remove it"},
    {"extension", "plugins run code of MuJoCo's; remove it"},
    {"attach", "write the attached model out (MuJoCo's mj_saveLastXML does)"},
    {"model", "write the attached model out (MuJoCo's mj_saveLastXML does)"},
    {"muscle", "use a motor or general actuator; dyntype filter follows its control with a time constant"},
    {"pid", "use a position actuator"},
    {"dcmotor", "use a motor with damping and frictionloss on its joint"},
    {"adhesion", "adhesion forces are not supported; remove it"},
    {"actdim", "an actuator has one activation at most; remove it"},
    {"actearly", "forces are made with the activation at the start of the step; remove it"},
    {"cranksite", "drive a joint or tendon instead"},
    {"slidersite", "drive a joint or tendon instead"},
    {"body", "adhesion actuators are not supported; remove it"},
    {"site1", "connect bodies and give the anchor"},
    {"site2", "connect bodies and give the anchor"},
    {"coordinate", "only local coordinates are supported; convert the file with MuJoCo 2.2"},
    {"actuatorgravcomp", "remove it; gravcomp itself is supported"},
    {"fluidshape", "only the inertia-box fluid model is supported; remove fluidshape"},
    {"alignfree", "place the body's frame at its centre of mass instead"},
    {"align", "remove it, or place the body's frame at its centre of mass"},
    {"distance", "it was removed from MuJoCo 3; use a tendon limit"},
    {"convexhull", "collision needs the hull; remove convexhull=\"false\""},
    {"builtin", "give vertex and face, or a file"},
    {"collision", "use contype and conaffinity"},
};

// the kind by which it may be left out: that of its name, else that of the element around it
static tgDrop kind_of(const Row *row, const char *name) {
  static const struct { const char *name; tgDrop kind; } own[] = {
      {"composite", TG_DROP_SOFT_BODY}, {"plugin", TG_DROP_PLUGIN},
      {"extension", TG_DROP_PLUGIN},    {"attach", TG_DROP_ATTACH},      {"model", TG_DROP_ATTACH},   {"hfield", TG_DROP_HFIELD},
      {"fluidshape", TG_DROP_FLUID}};
  static const struct { const char *row; tgDrop kind; } around[] = {
      {"joint", TG_DROP_JOINT},      {"freejoint", TG_DROP_JOINT}, {"geom", TG_DROP_GEOM},       {"pair", TG_DROP_GEOM},
      {"defpair", TG_DROP_GEOM},     {"fixed", TG_DROP_TENDON},    {"deftendon", TG_DROP_TENDON}, {"mesh", TG_DROP_MESH},
      {"equality", TG_DROP_EQUALITY}, {"compiler", TG_DROP_OPTION}, {"option", TG_DROP_OPTION},   {"flag", TG_DROP_OPTION},
      {"flexcomp", TG_DROP_SOFT_BODY}, {"flex", TG_DROP_SOFT_BODY}, {"spatial", TG_DROP_TENDON}};
  bool by_name = strcmp(row->key, "actuator") != 0 && strcmp(row->key, "equality") != 0;   // these have elements of the same names
  for (size_t i = 0; i < sizeof own / sizeof *own && by_name; i++)
    if (strcmp(own[i].name, name) == 0) return own[i].kind;
  for (size_t i = 0; i < sizeof around / sizeof *around; i++)
    if (strcmp(around[i].row, row->key) == 0) return around[i].kind;
  return TG_DROP_ACTUATOR;
}

static int find_row(const char *key, size_t n) {
  for (int i = 0; i < NROW; i++)
    if (strncmp(rows[i].key, key, n) == 0 && rows[i].key[n] == 0) return i;
  return SKIPPED;
}

// the token of a space-separated list whose part before `stop` (or its whole) is `name`; mark characters are skipped
static const char *find_token(const char *list, const char *name, char stop_at) {
  size_t n = strlen(name);
  for (const char *p = list; *p != 0;) {
    const char *word = p + strspn(p, " ");
    const char *bare = stop_at == ':' ? word : word + strspn(word, ".~!");
    if (strncmp(bare, name, n) == 0 && (bare[n] == stop_at || bare[n] == ' ' || bare[n] == 0) && n > 0) return word;
    p = word + strcspn(word, " ");
  }
  return NULL;
}

// the listed name nearest to `name`, copied into near
static const char *suggest(const char *list, const char *name, char *near, size_t size) {
  const char *best = NULL;
  char word[64];
  near[0] = 0;
  for (const char *p = list; *p != 0;) {
    p += strspn(p, " .~!");
    size_t n = strcspn(p, ":= ");
    if (n > 0 && n < sizeof word) {
      memcpy(word, p, n);
      word[n] = 0;
      const char *pair[2] = {best != NULL ? best : word, word};
      if (tgi_nearest_word(name, pair, 2) == word) {
        snprintf(near, size, "%s", word);
        best = near;
      }
    }
    p += strcspn(p, " ");
  }
  return best;
}

static const char *advice(const char *name) {
  for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
    if (strcmp(advices[i].name, name) == 0) return advices[i].advice;
  return "remove it";
}

// ---- attributes ----

// one number or word of a "!x" attribute equals its neutral value x
static bool neutral(const char *value, const char *x, size_t n) {
  const char *end = value + strlen(value), *s = tgi_skip_space(value, end);
  double want, have;
  if (n == 0) return s == end;
  if (tgi_number(x, x + n, &want) == NULL || s == end) return strlen(value) == n && strncmp(value, x, n) == 0;
  for (; s < end; s = tgi_skip_space(s, end)) {
    s = tgi_number(s, end, &have);
    if (s == NULL || have != want) return false;
  }
  return true;
}

// whether value is one of "|a|b|c", n characters long
static bool one_of(const char *value, const char *words, size_t n) {
  size_t len = strlen(value);
  for (const char *p = words; p < words + n;) {
    size_t k = strcspn(++p, "| ");
    if (k == len && strncmp(p, value, k) == 0) return true;
    p += k;
  }
  return false;
}

static tgStatus bad_word(tgMjcf *m, const tgXmlNode *node, const tgXmlAttr *a, const char *words, int n) {
  return tgi_xml_attr_error(m->xml, node, a, m->error, TG_ERR_PARSE, "%s is '%.60s'; it must be one of %.*s", a->name,
                            a->value, n, words);
}

static tgStatus check_int(tgMjcf *m, const tgXmlNode *node, const tgXmlAttr *a) {
  const char *end = a->value + strlen(a->value), *s = tgi_skip_space(a->value, end);
  int x;
  s = tgi_integer(s, end, &x);
  if (s != NULL && tgi_skip_space(s, end) == end) return TG_OK;
  return tgi_xml_attr_error(m->xml, node, a, m->error, TG_ERR_PARSE, "%s is '%.60s'; it must be an integer", a->name,
                            a->value);
}

static tgStatus check_numbers(tgMjcf *m, const tgXmlNode *node, const tgXmlAttr *a, const char *type) {
  double value[16], *values;
  int count;
  if (type[1] == '*') return tgi_xml_array(m->xml, node, a->name, &values, &count, m->error);
  int min = 0, max = 0;
  const char *end = type + strcspn(type, " ");
  const char *s = tgi_integer(type + 1, end, &min);
  max = min;
  if (s != NULL && *s == '-') tgi_integer(s + 1, end, &max);
  return tgi_xml_numbers(m->xml, node, a->name, min, max, value, &count, m->error);
}

// lists an attribute without effect once per row and name, where it is met first
static tgStatus list_once(tgMjcf *m, bool *listed, tgNoteKind kind, const tgXmlNode *node, const tgXmlAttr *a) {
  if (*listed) return TG_OK;
  *listed = true;
  const char *why = kind == TG_NOTE_SOFT ? "a soft-constraint or solver setting of MuJoCo's, without counterpart here"
                                         : "no effect on physics";
  int i = tg_desc_add_note(m->desc, kind, a->source, "attribute %s of %s: %s", a->name, node->name, why);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

// judges one attribute; *keep: whether later passes shall see it
static tgStatus check_attr(tgMjcf *m, const Row *row, bool *listed, const tgXmlNode *node, const tgXmlAttr *a,
                           bool *keep) {
  const char *token = find_token(row->attrs, a->name, ':');
  *keep = token != NULL;
  if (token == NULL) {
    char near[64];
    const char *word = suggest(row->attrs, a->name, near, sizeof near);
    return tgi_mjcf_unknown(m, TG_DROP_UNKNOWN, node, a, "unknown attribute %.60s%s%s%s", a->name, word != NULL ? "; did you mean " : "",
                                word != NULL ? word : "", word != NULL ? "?" : "; remove it");
  }
  const char *type = token + strlen(a->name) + 1;
  size_t n = strcspn(type, " ");
  int k;
  switch (type[0]) {
    case '.': return list_once(m, &listed[token - row->attrs], TG_NOTE_SKIPPED, node, a);
    case '~': return list_once(m, &listed[token - row->attrs], TG_NOTE_SOFT, node, a);
    case 'i': return check_int(m, node, a);
    case 'n': return check_numbers(m, node, a, type);
    case 'b': return one_of(a->value, "|true|false", 11) ? TG_OK : bad_word(m, node, a, "true, false", 11);
    case 't': return one_of(a->value, "|true|false|auto", 16) ? TG_OK : bad_word(m, node, a, "true, false, auto", 17);
    case 'k': return one_of(a->value, type + 1, n - 1) ? TG_OK : bad_word(m, node, a, type + 2, (int)n - 2);
    case '!':
      k = (int)n - 1;
      *keep = false;
      if (neutral(a->value, type + 1, (size_t)k) || (strcmp(a->value, "auto") == 0 && k == 5)) return TG_OK;
      return tgi_mjcf_unsupported(m, kind_of(row, a->name), node, a, "attribute %s=\"%.40s\" changes physics and is not supported: %s",
                                  a->name, a->value, advice(a->name));
    default: return TG_OK;
  }
}

static tgStatus check_attrs(tgMjcf *m, const Row *row, bool *listed, tgXmlNode *node) {
  for (tgXmlAttr **link = &node->attr; *link != NULL;) {
    bool keep;
    TG_TRY(check_attr(m, row, listed, node, *link, &keep));
    if (keep) link = &(*link)->next;
    else *link = (*link)->next;
  }
  return TG_OK;
}

// ---- elements ----

// the row of a child element, SKIPPED when it is to be left out
static tgStatus check_child(tgMjcf *m, const Row *row, tgXmlNode *node, int *kind) {
  *kind = SKIPPED;
  const char *token = find_token(row->children, node->name, '=');
  if (token == NULL) {
    char near[64];
    const char *word = suggest(row->children, node->name, near, sizeof near);
    return tgi_mjcf_unknown(m, TG_DROP_UNKNOWN, node, NULL, "not known inside %s%s%s%s", node->parent->name,
                                word != NULL ? "; did you mean " : "", word != NULL ? word : "",
                                word != NULL ? "?" : "; remove it");
  }
  if (*token == '.' || *token == '~') {
    tgNoteKind note = *token == '.' ? TG_NOTE_SKIPPED : TG_NOTE_SOFT;
    const char *name = tgi_mjcf_own_name(node);
    int i = tg_desc_add_note(m->desc, note, node->source, "element %s%s%s%s: no effect on physics", node->name,
                             name != NULL ? " \"" : "", name != NULL ? name : "", name != NULL ? "\"" : "");
    return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
  }
  if (*token == '!')
    return tgi_mjcf_unsupported(m, kind_of(row, node->name), node, NULL, "inside %s, changes physics and is not supported: %s",
                                node->parent->name, advice(node->name));
  const char *equal = token + strlen(node->name);
  *kind = *equal == '=' ? find_row(equal + 1, strcspn(equal + 1, " ")) : find_row(node->name, strlen(node->name));
  return *kind < 0 ? tgi_xml_error(m->xml, node, m->error, TG_ERR_INTERNAL, "the schema has no row for it") : TG_OK;
}

static tgStatus check_text(tgMjcf *m, tgXmlNode *node) {
  if (node->text == NULL) return TG_OK;
  const char *s = tgi_skip_space(node->text, node->text + strlen(node->text));
  for (const char *c = s; *c != 0; c++)
    if ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z')
      return tgi_mjcf_unknown(m, TGI_LENIENT, node, NULL, "contains the text '%.30s'; a tag may be broken, remove or mend it", s);
  int i = tg_desc_add_note(m->desc, TG_NOTE_WARNING, node->source, "element %s contains stray characters", node->name);
  return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

// takes the children that were marked SKIPPED out of the tree
static void prune(tgXmlNode *root) {
  for (tgXmlNode *n = root; n != NULL; n = tgi_xml_walk(root, n)) {
    tgXmlNode *last = NULL;
    for (tgXmlNode **link = &n->child; *link != NULL;) {
      if ((*link)->kind == SKIPPED) {
        *link = (*link)->next;
      } else {
        last = *link;
        link = &last->next;
      }
    }
    n->last = last;
  }
}

tgStatus tgi_mjcf_schema(tgMjcf *m) {
  // one flag per character of each row's attribute list: that attribute was listed
  size_t at[NROW], total = 0;
  for (int i = 0; i < NROW; i++) {
    at[i] = total;
    total += strlen(rows[i].attrs) + 1;
  }
  bool *listed = tgi_xml_bytes(m->xml, total * sizeof *listed);
  if (listed == NULL) return tgi_mjcf_memory(m);
  memset(listed, 0, total * sizeof *listed);
  m->root->kind = 0;
  for (tgXmlNode *node = m->root; node != NULL;) {
    if (node != m->root) TG_TRY(check_child(m, &rows[node->parent->kind], node, &node->kind));
    if (node->kind != SKIPPED) {
      TG_TRY(check_attrs(m, &rows[node->kind], listed + at[node->kind], node));
      TG_TRY(check_text(m, node));
      node = tgi_xml_walk(m->root, node);
    } else {
      while (node != m->root && node->next == NULL) node = node->parent;   // past its subtree
      node = node != m->root ? node->next : NULL;
    }
  }
  prune(m->root);
  return TG_OK;
}

int tgi_mjcf_kind(const char *element) {
  static const char *const kind[] = {"mesh", "joint", "geom", "site", "pair", "equality", "tendon", "material"};
  for (int i = 0; i < TGI_MJCF_KINDS; i++)
    if (strcmp(kind[i], element) == 0) return i;
  return -1;
}

bool tgi_mjcf_partial(const char *element, const char *attribute) {
  char key[32];
  snprintf(key, sizeof key, "%s%s", strcmp(element, "tendon") == 0 || strcmp(element, "equality") == 0 ||
           strcmp(element, "pair") == 0 ? "def" : "", element);
  int row = find_row(key, strlen(key));
  const char *token = row >= 0 ? find_token(rows[row].attrs, attribute, ':') : NULL;
  if (token == NULL) return false;
  const char *type = token + strlen(attribute) + 1;
  size_t n = strcspn(type, " ");
  return type[0] == 'n' && memchr(type, '-', n) != NULL;
}
