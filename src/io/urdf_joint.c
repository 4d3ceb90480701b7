// urdf_joint.c: URDF joints, their limits, motors and mimics. See urdf.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/number.h"
#include "io/urdf_parts.h"

static bool is_scalar(tgUrdfType t) {
  return t == TG_URDF_REVOLUTE || t == TG_URDF_CONTINUOUS || t == TG_URDF_PRISMATIC;
}
static int count_joints(tgUrdfType t) { return is_scalar(t) ? 1 : t == TG_URDF_PLANAR ? 3 : 0; }

// unit axis in the child's frame, x when absent
static tgStatus read_axis(tgUrdf *u, const tgUrdfJoint *j, double axis[3]) {
  static const tgUrdfSpec spec = {.attr = "xyz", .skip_attr = "rpy"};
  const tgXmlNode *node;
  axis[0] = 1;
  axis[1] = axis[2] = 0;
  TG_TRY(tgi_urdf_only(u, j->node, "axis", &node));
  if (node == NULL) return TG_OK;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(tgi_xml_numbers(u->xml, node, "xyz", 3, 3, axis, NULL, u->error));
  double n = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (!(n > 1e-12))
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "the axis of joint '%s' is zero; give a direction",
                         j->name);
  for (int k = 0; k < 3; k++) axis[k] /= n;
  return TG_OK;
}

// <dynamics>, or <joint_properties> as it was once called
static tgStatus read_dynamics(tgUrdf *u, const tgUrdfJoint *j, tgJointDesc *d) {
  static const tgUrdfSpec spec = {.attr = "damping friction", .skip_attr = "D K mu_coulomb mu_viscous"};
  const tgXmlNode *node;
  TG_TRY(tgi_urdf_only(u, j->node, "dynamics", &node));
  if (node == NULL) TG_TRY(tgi_urdf_only(u, j->node, "joint_properties", &node));
  if (node == NULL) return TG_OK;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(tgi_urdf_optional(u, node, "damping", 0, &d->damping));
  TG_TRY(tgi_urdf_optional(u, node, "friction", 0, &d->frictionloss));
  if (d->damping < 0 || d->frictionloss < 0)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "%s %g of joint '%s' is negative",
                         d->damping < 0 ? "damping" : "friction", d->damping < 0 ? d->damping : d->frictionloss,
                         j->name);
  return TG_OK;
}

static tgStatus find_limit(tgUrdf *u, const tgUrdfJoint *j, const tgXmlNode **node) {
  static const tgUrdfSpec spec = {.attr = "lower upper effort velocity",
                                  .skip_attr =
                                      "acceleration deceleration jerk current twist gear_velocity command_effort"};
  TG_TRY(tgi_urdf_only(u, j->node, "limit", node));
  return *node != NULL ? tgi_urdf_check(u, *node, &spec) : TG_OK;
}

// A number of a limit; absent: 0. Beyond 1e10 (some write 1e16) it stands for "no limit" and becomes infinite.
static tgStatus bound(tgUrdf *u, const tgXmlNode *node, const char *attr, double *value) {
  const char *text = tgi_xml_get(node, attr);
  const char *end = text != NULL ? text + strlen(text) : NULL;
  const char *start = text != NULL ? tgi_skip_space(text, end) : NULL;
  const char *rest = start != NULL ? tgi_number(start, end, value) : NULL;
  if (rest != NULL && tgi_skip_space(rest, end) == end && fabs(*value) > 1e10) {
    *value = *value > 0 ? INFINITY : -INFINITY;
    return TG_OK;
  }
  return tgi_urdf_optional(u, node, attr, 0, value);
}

// what exporters write of a joint for which nobody set limits: four zeros
static tgStatus is_unset(tgUrdf *u, const tgXmlNode *node, const double range[2], bool *unset) {
  double effort = 0, velocity = 0;
  *unset = range[0] == 0 && range[1] == 0 && tgi_xml_get(node, "effort") != NULL && tgi_xml_get(node, "velocity") != NULL;
  if (!*unset) return TG_OK;
  TG_TRY(bound(u, node, "effort", &effort));
  TG_TRY(bound(u, node, "velocity", &velocity));
  *unset = effort == 0 && velocity == 0;
  return TG_OK;
}
static tgStatus read_limit(tgUrdf *u, const tgUrdfJoint *j, tgJointDesc *d) {
  const tgXmlNode *node;
  double velocity;
  bool ranged = j->type == TG_URDF_REVOLUTE || j->type == TG_URDF_PRISMATIC;
  TG_TRY(find_limit(u, j, &node));
  if (node == NULL && ranged)
    return tgi_urdf_note(u, TG_NOTE_WARNING, j->node, "joint '%.80s' has no <limit>: it is not limited", j->name);
  if (node == NULL) return TG_OK;
  TG_TRY(bound(u, node, "velocity", &velocity));
  if (velocity > 0 && velocity < INFINITY)
    TG_TRY(tgi_urdf_note(u, TG_NOTE_SKIPPED, node, "velocity limit %g of joint '%.80s' is not enforced", velocity,
                         j->name));
  if (!ranged) return TG_OK;
  if (tgi_xml_get(node, "lower") == NULL && tgi_xml_get(node, "upper") == NULL)
    return tgi_urdf_note(u, TG_NOTE_WARNING, node, "limit of joint '%.80s' has no lower and upper: it is not limited",
                         j->name);
  TG_TRY(bound(u, node, "lower", &d->range[0]));
  TG_TRY(bound(u, node, "upper", &d->range[1]));
  if (d->range[0] > d->range[1])
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID,
                         "lower limit %g of joint '%s' is above its upper limit %g", d->range[0], j->name, d->range[1]);
  bool unset;
  TG_TRY(is_unset(u, node, d->range, &unset));
  if (unset && u->options.repair)
    return tgi_urdf_note(u, TG_NOTE_WARNING, node,
                         "limits of joint '%.80s' are all 0, as exporters write what nobody set: it is not limited (repair)", j->name);
  bool open[2] = {d->range[0] == -INFINITY, d->range[1] == INFINITY};
  if (open[0] && open[1]) {
    d->range[0] = d->range[1] = 0;
    return tgi_urdf_note(u, TG_NOTE_WARNING, node, "limits of joint '%.80s' are beyond 1e10: it is not limited",
                         j->name);
  }
  // the description wants finite limits: a one-sided one has its other side out of reach
  if (open[0]) d->range[0] = -1e10;
  if (open[1]) d->range[1] = 1e10;
  d->limited = TG_LIMITED_YES;
  return TG_OK;
}

static tgStatus add(tgUrdf *u, tgUrdfJoint *j, int body, tgJointType type, const char *suffix, const double axis[3],
                    const tgJointDesc *like) {
  char name[256];
  if (snprintf(name, sizeof name, "%s%s", j->name, suffix) >= (int)sizeof name)
    return tgi_xml_error(u->xml, j->node, u->error, TG_ERR_LIMIT, "the name has more than 250 characters; shorten it");
  if (*suffix != 0 && tgi_names_find(u->names, TG_NAME_JOINT, name) >= 0)
    return tgi_xml_error(u->xml, j->node, u->error, TG_ERR_INVALID,
                         "a part of this planar joint is called '%s', as is another joint; rename one", name);
  int at = tg_desc_add_joint(u->desc, body, type, name);
  if (at < 0) return tgi_urdf_memory(u);
  tgJointDesc *d = &u->desc->joint[at];
  memcpy(d->axis, axis, sizeof d->axis);
  d->limited = like->limited;
  memcpy(d->range, like->range, sizeof d->range);
  d->damping = like->damping;
  d->frictionloss = like->frictionloss;
  d->source = j->node->source;
  if (j->desc_joint < 0) j->desc_joint = at;
  return TG_OK;
}

// slides along two directions across the normal, then the hinge about it; with normal z these are x, y, z
static tgStatus add_planar(tgUrdf *u, tgUrdfJoint *j, int body, const double n[3], const tgJointDesc *like) {
  // the shortest turn that takes z to n, applied to x:  x - n' (n_x / (1 + n_z)), n' = n + z
  double x[3] = {1, 0, 0}, y[3];
  if (n[2] > -1 + 1e-9) {
    double k = n[0] / (1 + n[2]);
    for (int i = 0; i < 3; i++) x[i] -= k * (n[i] + (i == 2));
  }
  y[0] = n[1] * x[2] - n[2] * x[1];
  y[1] = n[2] * x[0] - n[0] * x[2];
  y[2] = n[0] * x[1] - n[1] * x[0];
  TG_TRY(add(u, j, body, TG_JOINT_SLIDE, "_x", x, like));
  TG_TRY(add(u, j, body, TG_JOINT_SLIDE, "_y", y, like));
  return add(u, j, body, TG_JOINT_HINGE, "_z", n, like);
}

// Bullet's: no limits, no motor
static tgStatus add_ball(tgUrdf *u, const tgUrdfJoint *j, int body) {
  tgJointDesc like = {.limited = TG_LIMITED_NO};
  const tgXmlNode *limit;
  TG_TRY(find_limit(u, j, &limit));
  if (limit != NULL && (tgi_xml_get(limit, "lower") != NULL || tgi_xml_get(limit, "upper") != NULL))
    return tgi_xml_error(u->xml, limit, u->error, TG_ERR_UNSUPPORTED,
                         "joint '%s' is spherical, where lower and upper say nothing; leave them out",
                         j->name);
  if (limit != NULL)
    TG_TRY(tgi_urdf_note(u, TG_NOTE_SKIPPED, limit, "the spherical joint '%.80s' has no motor, and its velocity no limit", j->name));
  TG_TRY(read_dynamics(u, j, &like));
  int at = tg_desc_add_joint(u->desc, body, TG_JOINT_BALL, j->name);
  if (at < 0) return tgi_urdf_memory(u);
  tgJointDesc *d = &u->desc->joint[at];
  d->damping = like.damping;
  d->frictionloss = like.frictionloss;
  d->source = j->node->source;
  return TG_OK;
}

tgStatus tgi_urdf_joint(tgUrdf *u, tgUrdfJoint *j, int body) {
  double axis[3];
  tgJointDesc like = {.limited = TG_LIMITED_NO};
  if (j->type == TG_URDF_FIXED) return TG_OK;
  if (j->type == TG_URDF_FLOATING) {
    if (u->desc->body[body].parent != 0)
      return tgi_xml_error(u->xml, j->node, u->error, TG_ERR_UNSUPPORTED,
                           "a floating joint is only possible below the link 'world'; join '%s' to it",
                           u->link[j->child].name);
    int at = tg_desc_add_joint(u->desc, body, TG_JOINT_FREE, j->name);
    if (at < 0) return tgi_urdf_memory(u);
    u->desc->joint[at].source = j->node->source;
    return TG_OK;
  }
  if (j->type == TG_URDF_SPHERICAL) return add_ball(u, j, body);
  TG_TRY(read_axis(u, j, axis));
  TG_TRY(read_dynamics(u, j, &like));
  TG_TRY(read_limit(u, j, &like));
  if (j->type == TG_URDF_PLANAR) return add_planar(u, j, body, axis, &like);
  return add(u, j, body, j->type == TG_URDF_PRISMATIC ? TG_JOINT_SLIDE : TG_JOINT_HINGE, "", axis, &like);
}

// ---- motors ----

static tgStatus motor(tgUrdf *u, const tgUrdfJoint *j) {
  const tgXmlNode *limit;
  double effort = 0;
  TG_TRY(find_limit(u, j, &limit));
  if (limit != NULL) TG_TRY(bound(u, limit, "effort", &effort));
  if (effort < 0)
    return tgi_xml_error(u->xml, limit, u->error, TG_ERR_INVALID, "effort %g of joint '%s' is negative", effort,
                         j->name);
  if (effort == 0 && limit != NULL)
    TG_TRY(tgi_urdf_note(u, TG_NOTE_WARNING, limit, "effort of joint '%.80s' is 0 or missing: it has a motor all the same, "
                         "which is not limited; of a joint that nothing drives say effort=\"1e-9\"", j->name));
  for (int k = 0; k < count_joints(j->type); k++) {
    int at = tg_desc_add_actuator(u->desc, TG_TRN_JOINT, j->desc_joint + k, u->desc->joint[j->desc_joint + k].name);
    if (at < 0) return tgi_urdf_memory(u);
    tgActuatorDesc *a = &u->desc->actuator[at];
    a->source = j->node->source;
    // its force is its control: a range of the latter, which every contact model supports, limits the same
    a->ctrllimited = effort > 0 && effort < INFINITY;
    a->ctrlrange[0] = a->ctrllimited ? -effort : 0;
    a->ctrlrange[1] = a->ctrllimited ? effort : 0;
  }
  return TG_OK;
}

tgStatus tgi_urdf_motors(tgUrdf *u) {
  int *owner = u->alloc.alloc(u->alloc.ctx, ((size_t)u->desc->njoint + 1) * sizeof *owner);
  if (owner == NULL) return tgi_urdf_memory(u);
  for (int k = 0; k < u->desc->njoint; k++) owner[k] = -1;
  for (int k = 0; k < u->njoint; k++)
    if (u->joint[k].desc_joint >= 0 && tgi_xml_child(u->joint[k].node, "mimic") == NULL)
      owner[u->joint[k].desc_joint] = k;
  tgStatus status = TG_OK;
  for (int k = 0; k < u->desc->njoint && status == TG_OK; k++)
    if (owner[k] >= 0) status = motor(u, &u->joint[owner[k]]);
  u->alloc.free(u->alloc.ctx, owner);
  return status;
}

// ---- mimic ----

// q = multiplier q_of + offset
static tgStatus mimic(tgUrdf *u, const tgUrdfJoint *j, const tgXmlNode *node) {
  static const tgUrdfSpec spec = {.attr = "joint multiplier offset"};
  double multiplier, offset;
  TG_TRY(tgi_urdf_check(u, node, &spec));
  TG_TRY(tgi_urdf_optional(u, node, "multiplier", 1, &multiplier));
  TG_TRY(tgi_urdf_optional(u, node, "offset", 0, &offset));
  const char *name = tgi_xml_get(node, "joint");
  if (name == NULL) return tgi_xml_error(u->xml, node, u->error, TG_ERR_PARSE, "needs the attribute joint");
  int of = tgi_names_find(u->names, TG_NAME_JOINT, name);
  if (of < 0) {
    const char *near = tgi_names_nearest(u->names, TG_NAME_JOINT, name);
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID,
                         "joint '%s' mimics '%.80s', which does not exist%s%s%s", j->name, name,
                         near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
  }
  if (j->type == TG_URDF_FIXED)
    return tgi_urdf_note(u, TG_NOTE_WARNING, node, "joint '%.80s' is fixed: its mimic has no effect", j->name);
  if (&u->joint[of] == j)
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_INVALID, "joint '%s' mimics itself", j->name);
  if (!is_scalar(j->type) || !is_scalar(u->joint[of].type))
    return tgi_xml_error(u->xml, node, u->error, TG_ERR_UNSUPPORTED,
                         "joint '%s' mimics '%s': both must be revolute, continuous or prismatic", j->name, name);
  int at = tg_desc_add_equality(u->desc, TG_EQ_JOINT, j->desc_joint, u->joint[of].desc_joint, j->name);
  if (at < 0) return tgi_urdf_memory(u);
  u->desc->equality[at].polycoef[0] = offset;
  u->desc->equality[at].polycoef[1] = multiplier;
  u->desc->equality[at].source = node->source;
  return TG_OK;
}

tgStatus tgi_urdf_mimics(tgUrdf *u) {
  for (int k = 0; k < u->njoint; k++) {
    const tgXmlNode *node;
    TG_TRY(tgi_urdf_only(u, u->joint[k].node, "mimic", &node));
    if (node != NULL) TG_TRY(mimic(u, &u->joint[k], node));
  }
  return TG_OK;
}
