// mjcf_actuator.c: actuators, and the activations that some of them have.
//
// force = gain u + bias0 + bias1 length + bias2 velocity:
//   motor: gain 1;  position: gain kp, bias 0 -kp -kv;  velocity: gain kv, bias 0 0 -kv;  damper: gain 0 0 -kv, u >= 0;
//     a servo's bias2 above 0 is no velocity gain but the damping ratio, dampratio of the description;
//   cylinder: gain area, bias as given;  intvelocity: as position;  general: gain from gainprm, bias from biasprm.
// Activation: position with a timeconst: filterexact;  cylinder: filter;  intvelocity: integrator;  general: dyntype.
// A class's settings are one record that every actuator element of it writes to, in document order; an element of
// another kind than the one that wrote gain and bias last starts them afresh, general excepted, which shares them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "math/real.h"

tgMjcfAct tgi_mjcf_act_initial(void) {
  return (tgMjcfAct){.gain = {1}, .gear = {1}, .ctrllimited = 2, .forcelimited = 2, .actlimited = 2, .timeconst = 1};
}

// word of gaintype or biastype: 0 fixed or none, 1 affine
static tgStatus affine_word(tgMjcf *m, tgEl el, const char *attribute, const char *plain, int *affine) {
  const char *text = tgi_el_get(el, attribute);
  if (text == NULL) return TG_OK;
  *affine = strcmp(text, "affine") == 0;
  if (*affine || strcmp(text, plain) == 0) return TG_OK;
  return tgi_mjcf_unsupported(m, TG_DROP_ACTUATOR, el.node, tgi_el_attr(el, attribute),
                              "%s=\"%.40s\" is not supported; use %s or affine", attribute, text, plain);
}

static tgStatus dynamics(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  static const char *const word[] = {"none", "integrator", "filter", "filterexact"};   // in the order of tgActivation
  const char *text = tgi_el_get(el, "dyntype");
  int known = text != NULL ? 0 : -1;
  while (known >= 0 && known < 4 && strcmp(text, word[known]) != 0) known++;
  if (known == 4)
    return tgi_mjcf_unsupported(m, TG_DROP_ACTUATOR, el.node, tgi_el_attr(el, "dyntype"),
                                "dyntype=\"%.40s\" is not supported; use none, integrator, filter or filterexact", text);
  if (known >= 0) act->activation = (tgActivation)known;
  act->timeconst = tgi_el_number(el, "dynprm", act->timeconst);
  tgi_el_numbers(el, "actrange", 2, act->actrange);
  if (tgi_el_get(el, "actlimited") != NULL) act->actlimited = tgi_el_tri(el, "actlimited");
  return TG_OK;
}

static tgStatus general(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  TG_TRY(affine_word(m, el, "gaintype", "fixed", &act->gain_affine));
  TG_TRY(affine_word(m, el, "biastype", "none", &act->bias_affine));
  tgi_el_numbers(el, "gainprm", 3, act->gain);
  tgi_el_numbers(el, "biasprm", 3, act->bias);
  act->inheritrange = tgi_el_number(el, "inheritrange", act->inheritrange);
  act->kind = NULL;
  return dynamics(m, el, act);
}

static tgStatus bad_gain(tgMjcf *m, tgEl el, const char *attribute, const char *text) {
  return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, attribute), m->error, TG_ERR_INVALID, "%s %s", attribute, text);
}

// kp, kv or dampratio, and inheritrange of position and intvelocity
static tgStatus servo(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  bool by_ratio = tgi_el_get(el, "dampratio") != NULL, by_kv = tgi_el_get(el, "kv") != NULL;
  double kp = tgi_el_number(el, "kp", act->gain[0]), kv = tgi_el_number(el, "kv", 0), ratio = tgi_el_number(el, "dampratio", 0);
  if (by_ratio && by_kv) return bad_gain(m, el, "dampratio", "and kv are given; keep one");
  if (kv < 0) return bad_gain(m, el, "kv", "must not be negative");
  if (ratio < 0) return bad_gain(m, el, "dampratio", "must not be negative");
  act->gain[0] = kp;
  act->bias[1] = -kp;
  if (by_ratio || by_kv) act->bias[2] = by_ratio ? ratio : -kv;
  act->bias_affine = 1;
  act->inheritrange = tgi_el_number(el, "inheritrange", act->inheritrange);
  return TG_OK;
}

static tgStatus position(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  const char *given = tgi_el_get(el, "timeconst");
  double timeconst = tgi_el_number(el, "timeconst", act->timeconst);
  if (given == NULL && act->activation != TG_ACT_FILTER_EXACT) act->activation = TG_ACT_NONE;
  if (given != NULL && timeconst < 0)
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "timeconst"), m->error, TG_ERR_INVALID, "timeconst must not be negative");
  if (given != NULL) act->activation = timeconst > 0 ? TG_ACT_FILTER_EXACT : TG_ACT_NONE;
  if (timeconst > 0) act->timeconst = timeconst;
  return servo(m, el, act);
}

static tgStatus intvelocity(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  act->activation = TG_ACT_INTEGRATOR;
  act->actlimited = 2;
  tgi_el_numbers(el, "actrange", 2, act->actrange);
  if (tgi_el_get(el, "actrange") != NULL && tgi_el_number(el, "inheritrange", 0) != 0)
    return tgi_xml_error(m->xml, el.node, m->error, TG_ERR_INVALID, "has actrange and inheritrange; keep one");
  return servo(m, el, act);
}

static void cylinder(tgEl el, tgMjcfAct *act) {
  double diameter = tgi_el_number(el, "diameter", 0);
  act->activation = TG_ACT_FILTER;
  act->timeconst = tgi_el_number(el, "timeconst", act->timeconst);
  act->gain[0] = tgi_el_number(el, "area", act->gain[0]);
  if (diameter > 0) act->gain[0] = TG_PI / 4 * diameter * diameter;
  tgi_el_numbers(el, "bias", 3, act->bias);
  act->bias_affine = 1;
}

// the settings of another kind of element do not hold for this one, those of a general one do but for an affine gain
static bool starts_afresh(const tgMjcfAct *act, const char *kind) {
  if (act->kind != NULL) return strcmp(kind, "motor") == 0 || strcmp(act->kind, kind) != 0;
  return strcmp(kind, "motor") == 0 || (act->gain_affine && strcmp(kind, "damper") != 0);
}

// puts what an element says over the settings of its class
static tgStatus apply(tgMjcf *m, tgEl el, tgMjcfAct *act) {
  const char *kind = el.node->name;
  tgi_el_numbers(el, "gear", 6, act->gear);
  tgi_el_numbers(el, "ctrlrange", 2, act->ctrlrange);
  tgi_el_numbers(el, "forcerange", 2, act->forcerange);
  if (tgi_el_get(el, "ctrllimited") != NULL) act->ctrllimited = tgi_el_tri(el, "ctrllimited");
  if (tgi_el_get(el, "forcelimited") != NULL) act->forcelimited = tgi_el_tri(el, "forcelimited");
  if (strcmp(kind, "general") == 0) return general(m, el, act);
  if (starts_afresh(act, kind)) {
    memcpy(act->gain, (double[3]){1}, sizeof act->gain);
    memset(act->bias, 0, sizeof act->bias);
    act->inheritrange = 0;
    act->activation = TG_ACT_NONE;
    act->timeconst = 1;
  }
  act->kind = kind;
  act->gain_affine = act->bias_affine = 0;
  if (strcmp(kind, "position") == 0) return position(m, el, act);
  if (strcmp(kind, "intvelocity") == 0) return intvelocity(m, el, act);
  if (strcmp(kind, "cylinder") == 0) {
    cylinder(el, act);
    return TG_OK;
  }
  act->activation = TG_ACT_NONE;
  if (strcmp(kind, "velocity") == 0) {
    act->gain[0] = tgi_el_number(el, "kv", act->gain[0]);
    memcpy(act->bias, (double[3]){0, 0, -act->gain[0]}, sizeof act->bias);
    act->bias_affine = 1;
  } else if (strcmp(kind, "damper") == 0) {
    double kv = tgi_el_number(el, "kv", act->gain[2] < 0 ? -act->gain[2] : 0);
    if (kv < 0) return bad_gain(m, el, "kv", "must not be negative");
    memcpy(act->gain, (double[3]){0, 0, -kv}, sizeof act->gain);
    act->gain_affine = 1;
    act->ctrllimited = 1;
  }
  return TG_OK;
}

tgStatus tgi_mjcf_act_default(tgMjcf *m, const tgXmlNode *node, tgMjcfAct *act) {
  return apply(m, (tgEl){.node = node}, act);
}

// joint, tendon or site that it drives; *target -1: left out
static tgStatus transmission(tgMjcf *m, const tgXmlNode *node, tgTransmission *kind, int *target) {
  static const struct { const char *word; tgTransmission kind; tgNameKind name; } by[] = {
      {"joint", TG_TRN_JOINT, TG_NAME_JOINT}, {"jointinparent", TG_TRN_JOINT, TG_NAME_JOINT}, {"tendon", TG_TRN_TENDON, TG_NAME_TENDON},
      {"site", TG_TRN_SITE, TG_NAME_SITE}};
  const char *found = NULL;
  tgNameKind name = TG_NAME_JOINT;
  *target = -1;
  for (int i = 0; i < 4; i++) {
    if (tgi_xml_get(node, by[i].word) == NULL) continue;
    if (found != NULL)
      return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has %s and %s; keep one", found, by[i].word);
    found = by[i].word;
    *kind = by[i].kind;
    name = by[i].name;
  }
  if (found == NULL && m->dropped) return tgi_mjcf_unsupported(m, TGI_FOLLOWS, node, NULL, "drives nothing; left out");
  if (found == NULL) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs joint=\"...\", tendon=\"...\" or site=\"...\"");
  TG_TRY(tgi_mjcf_find(m, node, found, name, target));
  if (*target < 0 || strcmp(found, "jointinparent") != 0) return TG_OK;
  tgJointType type = m->desc->joint[*target].type;
  if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE) return TG_OK;
  return tgi_mjcf_unsupported(m, TG_DROP_ACTUATOR, node, tgi_xml_attr(node, found), "jointinparent is supported for hinge and slide "
                              "joints only; use joint");
}

// -1: it has none, or, with *target -1, the one that it names is left out
static tgStatus reference(tgMjcf *m, const tgXmlNode *node, tgTransmission kind, int *target, int *refsite) {
  *refsite = -1;
  if (tgi_xml_get(node, "refsite") == NULL) return TG_OK;
  if (kind != TG_TRN_SITE) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has a refsite and no site; remove it");
  TG_TRY(tgi_mjcf_find(m, node, "refsite", TG_NAME_SITE, refsite));
  if (*refsite < 0) *target = -1;
  return TG_OK;
}

// gain and bias of a position servo
static bool is_servo(const tgMjcfAct *act) { return act->bias_affine && act->gain[0] == -act->bias[1]; }

// range of the control, or of what integrates it, from the target's own range, widened or narrowed about its middle
static tgStatus inherit_range(tgMjcf *m, const tgXmlNode *node, tgTransmission kind, int target, tgMjcfAct *act) {
  if (act->inheritrange == 0 || act->gain_affine || !is_servo(act)) return TG_OK;   // of other actuators MuJoCo reads it and does nothing
  if (act->activation == TG_ACT_FILTER)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "inheritrange is for position and intvelocity actuators; remove it");
  const tgJointDesc *j = kind == TG_TRN_JOINT ? &m->desc->joint[target] : NULL;
  const tgTendonDesc *t = kind == TG_TRN_TENDON ? &m->desc->tendon[target] : NULL;
  static const double none[2] = {0};
  const double *range = j != NULL ? j->range : t != NULL ? t->range : none;
  bool integrates = act->activation == TG_ACT_INTEGRATOR;
  double *to = integrates ? act->actrange : act->ctrlrange;
  if (!integrates && (to[0] != 0 || to[1] != 0))
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "has ctrlrange and inheritrange; keep one");
  if (!(act->inheritrange > 0) || !(range[0] < range[1]))
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "inheritrange needs a positive factor and a range of its "
                         "target");
  double middle = (range[0] + range[1]) / 2, half = act->inheritrange * (range[1] - range[0]) / 2;
  to[0] = middle - half;
  to[1] = middle + half;
  return TG_OK;
}

// the activation, and whether its range is a limit
static tgStatus activation(tgMjcf *m, tgEl el, const tgMjcfAct *act, tgActuatorDesc *a) {
  bool given = act->actrange[0] != 0 || act->actrange[1] != 0, filter = act->activation >= TG_ACT_FILTER;
  if (act->activation == TG_ACT_NONE && (given || act->actlimited == 1))
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "actrange"), m->error, TG_ERR_INVALID,
                              "has an actrange and no activation; remove it or give dyntype");
  if (filter && !(act->timeconst > 0))
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, strcmp(el.node->name, "general") == 0 ? "dynprm" : "timeconst"), m->error,
                              TG_ERR_INVALID, "the time constant is %g; it must be positive", act->timeconst);
  a->activation = act->activation;
  a->timeconst = filter ? act->timeconst : 1;
  memcpy(a->actrange, act->actrange, sizeof a->actrange);
  return tgi_mjcf_limited(m, el, "actlimited", "actrange", act->actlimited, a->actrange, &a->actlimited);
}

static tgStatus read_actuator(tgMjcf *m, const tgXmlNode *node) {
  int cls, target, refsite;
  tgTransmission kind = TG_TRN_JOINT;
  TG_TRY(tgi_mjcf_class(m, node, "class", 0, &cls));
  tgMjcfAct act = m->cls[cls].act;
  tgEl el = {.node = node};
  TG_TRY(apply(m, el, &act));
  TG_TRY(transmission(m, node, &kind, &target));
  TG_TRY(reference(m, node, kind, &target, &refsite));
  if (target < 0) return TG_OK;
  TG_TRY(inherit_range(m, node, kind, target, &act));
  const char *name = tgi_mjcf_own_name(node);
  int i = tg_desc_add_actuator(m->desc, kind, target, name);
  if (i < 0) return tgi_mjcf_memory(m);
  TG_TRY(tgi_mjcf_name(m, node, name, TG_NAME_ACTUATOR, i));
  tgActuatorDesc *a = &m->desc->actuator[i];
  a->source = node->source;
  a->refsite = refsite;
  memcpy(a->gear, act.gear, sizeof a->gear);
  for (int k = 0; k < 3; k++) {
    a->gain[k] = k == 0 || act.gain_affine ? act.gain[k] : 0;
    a->bias[k] = act.bias_affine ? act.bias[k] : 0;
  }
  if (is_servo(&act) && act.bias[2] > 0) {
    if (act.gain[0] < 0)
      return tgi_xml_attr_error(m->xml, node, tgi_el_attr(el, "kp"), m->error, TG_ERR_INVALID,
                                "a damping ratio is for servos of which kp is not negative; it is %g", act.gain[0]);
    a->dampratio = act.bias[2];
    a->bias[2] = 0;
  }
  memcpy(a->ctrlrange, act.ctrlrange, sizeof a->ctrlrange);
  memcpy(a->forcerange, act.forcerange, sizeof a->forcerange);
  TG_TRY(tgi_mjcf_limited(m, el, "ctrllimited", "ctrlrange", act.ctrllimited, a->ctrlrange, &a->ctrllimited));
  TG_TRY(tgi_mjcf_limited(m, el, "forcelimited", "forcerange", act.forcelimited, a->forcerange, &a->forcelimited));
  TG_TRY(activation(m, el, &act, a));
  if (strcmp(node->name, "damper") == 0 && a->ctrlrange[0] < 0)
    return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "ctrlrange"), m->error, TG_ERR_INVALID, "ctrlrange of a "
                              "damper must not be negative");
  if (m->no_clampctrl) a->ctrllimited = false;
  return TG_OK;
}

tgStatus tgi_mjcf_actuators(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "actuator"); s != NULL; s = tgi_xml_next(s, "actuator"))
    for (const tgXmlNode *n = s->child; n != NULL; n = n->next) TG_TRY(read_actuator(m, n));
  return TG_OK;
}
