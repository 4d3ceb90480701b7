// check.c: a description is checked whole before anything is built: indices, ranges, finite numbers.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/compile.h"

const char *tgi_desc_label(const char *kind, const char *name, int i, char *text, size_t size) {
  if (name != NULL && name[0] != '\0') snprintf(text, size, "%s '%s'", kind, name);
  else snprintf(text, size, "%s %d", kind, i);
  return text;
}

tgStatus tgi_compile_noted(tgCompile *c, int note) {
  return note >= 0 ? TG_OK : tgi_error(c->error, TG_ERR_MEMORY, "out of memory for a warning");
}

tgStatus tgi_compile_error(tgCompile *c, tgStatus status, tgSource source, const char *element, const char *format, ...) {
  tgError *e = c->error;
  if (e == NULL) return status;
  char what[480];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  *e = (tgError){.status = status, .line = source.line, .column = source.column};
  snprintf(e->element, sizeof e->element, "%s", element);
  if (source.file >= 0 && source.file < c->desc->nfile) snprintf(e->file, sizeof e->file, "%s", c->desc->file[source.file]);
  snprintf(e->text, sizeof e->text, "%s: %s", element, what);
  return status;
}

#define FAIL(...) return tgi_compile_error(c, TG_ERR_INVALID, source, label, __VA_ARGS__)

static bool finite_all(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static bool unit_quat(const double *q) {
  double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  return finite_all(q, 4) && fabs(n - 1) < 1e-6;
}

static tgStatus check_body(tgCompile *c, int i) {
  const tgBodyDesc *b = &c->desc->body[i];
  char label[128];
  tgSource source = b->source;
  tgi_desc_label("body", b->name, i, label, sizeof label);
  if (i == 0 ? b->parent != -1 : b->parent < 0 || b->parent >= i) FAIL("parent %d must come before it", b->parent);
  if (!finite_all(b->pos, 3) || !unit_quat(b->quat)) FAIL("its position or orientation is not finite or not a unit quaternion");
  if (!isfinite(b->gravcomp)) FAIL("gravcomp is not finite");
  if (b->has_inertial) {
    if (!finite_all(b->com, 3) || !finite_all(b->inertia, 6) || !isfinite(b->mass)) FAIL("its inertial is not finite");
    if (b->mass < 0) FAIL("mass %g is negative; give a positive mass", b->mass);
  }
  return TG_OK;
}

// a range that is enforced: two numbers, the first not above the second; infinite ones leave that side free
static bool is_range(const double *range) { return range[0] <= range[1]; }

static tgStatus check_joint(tgCompile *c, int i) {
  const tgJointDesc *j = &c->desc->joint[i];
  char label[128];
  tgSource source = j->source;
  tgi_desc_label("joint", j->name, i, label, sizeof label);
  if (j->type < TG_JOINT_FREE || j->type > TG_JOINT_HINGE) FAIL("unknown joint type %d", (int)j->type);
  if (j->body < 1 || j->body >= c->desc->nbody) FAIL("body %d does not exist or is the world", j->body);
  if (j->type == TG_JOINT_FREE && c->desc->body[j->body].parent != 0) FAIL("a free joint is only allowed on a child of the world");
  double n = j->axis[0] * j->axis[0] + j->axis[1] * j->axis[1] + j->axis[2] * j->axis[2];
  if (!finite_all(j->pos, 3) || !isfinite(n)) FAIL("its position or axis is not finite");
  if ((j->type == TG_JOINT_HINGE || j->type == TG_JOINT_SLIDE) && n < 1e-24) FAIL("its axis is zero; give a direction");
  const double number[] = {j->ref, j->damping, j->stiffness, j->springref, j->armature, j->frictionloss};
  if (!finite_all(number, 6)) FAIL("a number of it is not finite");
  if (j->damping < 0) FAIL("damping %g is negative", j->damping);
  if ((j->springdamper[0] != 0 || j->springdamper[1] != 0) &&
      (!(j->springdamper[0] > 0) || !(j->springdamper[1] > 0) || !finite_all(j->springdamper, 2)))
    FAIL("springdamper %g %g: time constant and damping ratio must be positive", j->springdamper[0], j->springdamper[1]);
  if (j->stiffness < 0) FAIL("stiffness %g is negative", j->stiffness);
  if (j->armature < 0) FAIL("armature %g is negative", j->armature);
  if (j->frictionloss < 0) FAIL("frictionloss %g is negative", j->frictionloss);
  if (j->limited == TG_LIMITED_YES && j->type == TG_JOINT_FREE) FAIL("a free joint has no limits");
  if (j->limited == TG_LIMITED_YES && !(j->range[0] <= j->range[1] && finite_all(j->range, 2)))
    FAIL("its lower limit %g is above its upper limit %g", j->range[0], j->range[1]);
  if (j->limited == TG_LIMITED_YES && j->type == TG_JOINT_BALL && (j->range[0] != 0 || j->range[1] <= 0))
    FAIL("the range of a ball joint is 0 and its largest angle");
  if (j->actfrclimited == TG_LIMITED_YES && j->type != TG_JOINT_HINGE && j->type != TG_JOINT_SLIDE)
    FAIL("actfrcrange is for hinge and slide joints only; clear actfrclimited");
  if (j->actfrclimited == TG_LIMITED_YES && !is_range(j->actfrcrange))
    FAIL("actfrcrange %g %g: the first number must not be above the second", j->actfrcrange[0], j->actfrcrange[1]);
  return TG_OK;
}

#define CONDIM_TEXT "condim %d is not supported: give 1 (no friction), 3 (along two axes), 4 (and torsional) or 6 (and rolling)"
static bool known_condim(int n) { return n == 1 || n == 3 || n == 4 || n == 6; }

static tgStatus check_geom(tgCompile *c, int i) {
  const tgGeomDesc *g = &c->desc->geom[i];
  static const int nsize[] = {0, 1, 2, 3, 2, 3, 0};
  char label[128];
  tgSource source = g->source;
  tgi_desc_label("geom", g->name, i, label, sizeof label);
  if (g->body < 0 || g->body >= c->desc->nbody) FAIL("body %d does not exist", g->body);
  if (g->flex < -1 || g->flex >= c->desc->nflex) FAIL("sheet %d does not exist", g->flex);
  if (g->type < TG_GEOM_PLANE || g->type > TG_GEOM_MESH) FAIL("unknown geom type %d", (int)g->type);
  if (g->type == TG_GEOM_MESH ? g->mesh < 0 || g->mesh >= c->desc->nmesh : g->mesh != -1) FAIL("mesh %d does not exist", g->mesh);
  if (!finite_all(g->pos, 3) || !unit_quat(g->quat)) FAIL("its position or orientation is not finite or not a unit quaternion");
  for (int k = 0; k < nsize[g->type]; k++)
    if (!(g->size[k] > 0) || !isfinite(g->size[k])) FAIL("size %d is %g; it must be positive", k + 1, g->size[k]);
  for (int k = 0; k < 3; k++)
    if (!(g->friction[k] >= 0) || isinf(g->friction[k])) FAIL("friction %g must be finite and not negative", g->friction[k]);
  if (!known_condim(g->condim)) return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, CONDIM_TEXT, g->condim);
  if (!(g->restitution >= 0 && g->restitution <= 1)) FAIL("restitution %g is not between 0 and 1", g->restitution);
  if (!isnan(g->mass) && (g->mass < 0 || !isfinite(g->mass))) FAIL("mass %g is negative or not finite", g->mass);
  if (!(g->density >= 0) || !isfinite(g->density)) FAIL("density %g is negative or not finite", g->density);
  return TG_OK;
}

static tgStatus check_mesh(tgCompile *c, int i) {
  const tgMeshDesc *mesh = &c->desc->mesh[i];
  char label[128];
  tgSource source = mesh->source;
  tgi_desc_label("mesh", mesh->name, i, label, sizeof label);
  if (mesh->inertia_kind < TG_MASS_EXACT || mesh->inertia_kind > TG_MASS_LEGACY)
    FAIL("unknown inertia_kind %d; give 0 to 3", mesh->inertia_kind);
  for (int k = 0; k < 3 * mesh->nvert; k++)
    if (!isfinite(mesh->vert[k]) || fabs(mesh->vert[k]) > 1e10) FAIL("vertex %d has the coordinate %g", k / 3, mesh->vert[k]);
  for (int k = 0; k < 3 * mesh->nface; k++)
    if (mesh->face[k] < 0 || mesh->face[k] >= mesh->nvert)
      FAIL("face %d uses vertex %d of %d", k / 3, mesh->face[k], mesh->nvert);
  return TG_OK;
}

static tgStatus check_sites(tgCompile *c) {
  const tgDesc *d = c->desc;
  const char *label = "site";
  for (int i = 0; i < d->nsite; i++) {
    tgSource source = d->site[i].source;
    if (d->site[i].body < 0 || d->site[i].body >= d->nbody || !finite_all(d->site[i].pos, 3) || !unit_quat(d->site[i].quat))
      FAIL("site %d has no body, or its pose is not finite", i);
    if (d->site[i].type <= TG_GEOM_PLANE || d->site[i].type >= TG_GEOM_MESH || !finite_all(d->site[i].size, 3))
      FAIL("site %d is no sphere, capsule, ellipsoid, cylinder or box, or its size is not finite", i);
  }
  return TG_OK;
}

static bool joint_is_scalar(const tgDesc *d, int j) {
  return j >= 0 && j < d->njoint && (d->joint[j].type == TG_JOINT_HINGE || d->joint[j].type == TG_JOINT_SLIDE);
}

static tgStatus check_activation(tgCompile *c, const tgActuatorDesc *a, const char *label) {
  tgSource source = a->source;
  if (a->activation < TG_ACT_NONE || a->activation > TG_ACT_FILTER_EXACT) FAIL("unknown activation %d", (int)a->activation);
  bool filter = a->activation == TG_ACT_FILTER || a->activation == TG_ACT_FILTER_EXACT;
  if (filter && !(a->timeconst > 0 && isfinite(a->timeconst))) FAIL("its time constant %g must be positive", a->timeconst);
  if (a->activation == TG_ACT_NONE && a->actlimited) FAIL("actrange is for actuators with an activation; clear actlimited");
  if (a->actlimited && !(a->actrange[0] < a->actrange[1])) FAIL("actrange %g %g is not increasing", a->actrange[0], a->actrange[1]);
  return TG_OK;
}

static bool carries(const tgDesc *d, int body, int carried) {
  while (carried > body) carried = d->body[carried].parent;
  return carried == body;
}

static tgStatus check_site_pull(tgCompile *c, const tgActuatorDesc *a, const char *label) {
  const tgDesc *d = c->desc;
  tgSource source = a->source;
  if (a->refsite < -1 || a->refsite >= d->nsite) FAIL("its reference site %d does not exist", a->refsite);
  if (a->dampratio > 0)
    return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, "a damping ratio is not supported at a site; give kv");
  if (a->refsite < 0) return TG_OK;
  int one = d->site[a->target].body, two = d->site[a->refsite].body;
  if (carries(d, one, two) || carries(d, two, one)) return TG_OK;
  return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label,
                           "neither of its two sites is carried by the other's body, which is not supported; take a reference site of a "
                           "body that carries it, or of the world");
}

static bool is_spatial(const tgDesc *d, int tendon) { return tendon >= 0 && d->tendon[tendon].npath > 0; }

static tgStatus check_actuator(tgCompile *c, int i) {
  const tgActuatorDesc *a = &c->desc->actuator[i];
  char label[128];
  tgSource source = a->source;
  tgi_desc_label("actuator", a->name, i, label, sizeof label);
  int n = a->transmission == TG_TRN_JOINT ? c->desc->njoint : a->transmission == TG_TRN_SITE ? c->desc->nsite : c->desc->ntendon;
  if (a->transmission < TG_TRN_JOINT || a->transmission > TG_TRN_SITE) FAIL("unknown transmission %d", (int)a->transmission);
  if (a->target < 0 || a->target >= n) FAIL("its target %d does not exist", a->target);
  if (a->transmission == TG_TRN_SITE) TG_TRY(check_site_pull(c, a, label));
  if (a->transmission == TG_TRN_TENDON && is_spatial(c->desc, a->target) && a->dampratio > 0)
    return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, "a damping ratio is not supported at a spatial tendon; give kv");
  if (!finite_all(a->gear, 6) || !finite_all(a->gain, 3) || !finite_all(a->bias, 3)) FAIL("a number of it is not finite");
  if (!(a->dampratio >= 0) || !isfinite(a->dampratio)) FAIL("dampratio %g must not be negative", a->dampratio);
  if (a->dampratio > 0 && a->gain[0] < 0) FAIL("a damping ratio is for servos of which kp is not negative; it is %g", a->gain[0]);
  if (a->ctrllimited && !(a->ctrlrange[0] < a->ctrlrange[1])) FAIL("ctrlrange %g %g is not increasing", a->ctrlrange[0], a->ctrlrange[1]);
  if (a->forcelimited && !(a->forcerange[0] < a->forcerange[1]))
    FAIL("forcerange %g %g is not increasing", a->forcerange[0], a->forcerange[1]);
  return check_activation(c, a, label);
}

// Some joint moves one of its sites.
static bool moves(const tgDesc *d, const tgTendonDesc *t) {
  for (int k = 0; k < t->npath; k++)
    for (int b = t->site[k] < 0 ? 0 : d->site[t->site[k]].body; b > 0; b = d->body[b].parent)
      for (int j = 0; j < d->njoint; j++)
        if (d->joint[j].body == b) return true;
  return false;
}

static bool is_site(const tgTendonDesc *t, int k) { return k >= 0 && k < t->npath && t->site[k] >= 0; }

// the path of a spatial tendon
static tgStatus check_path(tgCompile *c, const tgTendonDesc *t, const char *label) {
  tgSource source = t->source;
  for (int k = 0; k < t->npath; k++) {
    if (t->site[k] < -1 || t->site[k] >= c->desc->nsite) FAIL("place %d of its path is no site", k);
    if (!is_site(t, k)) {
      if (!(t->divisor[k] > 0) || !isfinite(t->divisor[k])) FAIL("the divisor of a pulley is %g; it must be positive", t->divisor[k]);
      if (!is_site(t, k + 1)) FAIL("its pulley %d is not followed by a site", k);
    } else {
      if (!is_site(t, k - 1) && !is_site(t, k + 1)) FAIL("place %d of its path is a site alone; a branch needs two", k);
      if (is_site(t, k + 1) && t->site[k] == t->site[k + 1]) FAIL("place %d of its path is the site before it again", k + 1);
    }
  }
  if (t->npath > 0 && t->njoint > 0) FAIL("it runs over joints and over sites; take two tendons");
  if (t->npath > 0 && !moves(c->desc, t)) FAIL("no joint moves a site of it, so that its length is constant; remove it");
  return TG_OK;
}

static tgStatus check_tendon(tgCompile *c, int i) {
  const tgTendonDesc *t = &c->desc->tendon[i];
  char label[128];
  tgSource source = t->source;
  tgi_desc_label("tendon", t->name, i, label, sizeof label);
  for (int k = 0; k < t->njoint; k++) {
    if (!joint_is_scalar(c->desc, t->joint[k])) FAIL("its term %d is not a hinge or slide joint", k);
    if (!isfinite(t->coef[k])) FAIL("its coefficient %d is not finite", k);
  }
  TG_TRY(check_path(c, t, label));
  if (t->armature != 0)
    return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, "tendon armature is not supported; put armature on joints");
  if (t->limited == TG_LIMITED_YES && !(t->range[0] < t->range[1])) FAIL("range %g %g is not increasing", t->range[0], t->range[1]);
  if (!(t->stiffness >= 0) || !(t->damping >= 0) || !(t->frictionloss >= 0)) FAIL("stiffness, damping or frictionloss is negative");
  return TG_OK;
}

static bool has_length(const tgTendonDesc *t) {
  for (int k = 0; k < t->njoint; k++)
    if (t->coef[k] != 0) return true;
  return false;
}

static tgStatus check_equality(tgCompile *c, int i) {
  const tgEqualityDesc *e = &c->desc->equality[i];
  char label[128];
  tgSource source = e->source;
  tgi_desc_label("equality", e->name, i, label, sizeof label);
  if (e->type < TG_EQ_CONNECT || e->type > TG_EQ_TENDON) FAIL("unknown equality type %d", (int)e->type);
  if (e->type == TG_EQ_JOINT) {
    if (!joint_is_scalar(c->desc, e->a) || (e->b != -1 && !joint_is_scalar(c->desc, e->b))) FAIL("it takes hinge or slide joints");
    if (e->a == e->b) FAIL("its two joints are the same");
  } else if (e->type == TG_EQ_TENDON) {
    if (e->a < 0 || e->a >= c->desc->ntendon || e->b < -1 || e->b >= c->desc->ntendon) FAIL("it takes tendons");
    if (e->a == e->b) FAIL("its two tendons are the same");
    if (is_spatial(c->desc, e->a) || is_spatial(c->desc, e->b))
      return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label,
                               "it ties a spatial tendon, which is not supported; give the tendon a range, or connect the bodies");
    if (!has_length(&c->desc->tendon[e->a])) FAIL("its first tendon has no coefficient that is not zero");
  } else if (e->a < 0 || e->a >= c->desc->nbody || e->b < 0 || e->b >= c->desc->nbody || e->a == e->b) {
    FAIL("it takes two different bodies");
  }
  if (!finite_all(e->anchor, 3) || (e->has_anchor2 && !finite_all(e->anchor2, 3)) || !finite_all(e->polycoef, 5) ||
      !finite_all(e->relpos, 3))
    FAIL("a number of it is not finite");
  if (e->type == TG_EQ_WELD && !unit_quat(e->relquat)) FAIL("its relative orientation is not a unit quaternion");
  return TG_OK;
}

static tgStatus check_key(tgCompile *c, int i) {
  const tgDesc *d = c->desc;
  const tgKeyDesc *k = &d->key[i];
  tgSource source = k->source;
  char label[128];
  int nq = 0, nv = 0, na = 0;
  tgi_desc_label("keyframe", k->name, i, label, sizeof label);
  for (int j = 0; j < d->njoint; j++) {
    tgJointType type = d->joint[j].type;
    nq += type == TG_JOINT_FREE ? 7 : type == TG_JOINT_BALL ? 4 : 1;
    nv += type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
  }
  for (int j = 0; j < d->nactuator; j++) na += d->actuator[j].activation != TG_ACT_NONE;
  const struct { const char *name; int n, want; } array[] = {
      {"qpos", k->nqpos, nq}, {"qvel", k->nqvel, nv}, {"act", k->nact, na}, {"ctrl", k->nctrl, d->nactuator}};
  for (int j = 0; j < 4; j++)
    if (array[j].n != 0 && array[j].n != array[j].want)
      FAIL("%s has %d numbers, the model needs %d", array[j].name, array[j].n, array[j].want);
  return TG_OK;
}

static tgStatus check_flex(tgCompile *c, int i) {
  const tgFlexDesc *f = &c->desc->flex[i];
  char label[128];
  tgSource source = f->source;
  tgi_desc_label("flex", f->name, i, label, sizeof label);
  if (f->nelem == 0) FAIL("it has no triangles");
  for (int k = 0; k < f->nvert; k++)
    if (f->body[k] < 0 || f->body[k] >= c->desc->nbody) FAIL("vertex %d is fixed to body %d, which does not exist", k, f->body[k]);
  for (int k = 0; k < 3 * f->nelem; k++)
    if (f->elem[k] < 0 || f->elem[k] >= f->nvert) FAIL("triangle %d uses vertex %d of %d", k / 3, f->elem[k], f->nvert);
  if (!finite_all(f->pos, 3 * f->nvert)) FAIL("a vertex is not finite");
  if (!(f->young >= 0) || !isfinite(f->young)) FAIL("young %g must not be negative", f->young);
  if (!(f->poisson > -1 && f->poisson < 0.5)) FAIL("poisson %g must be above -1 and below 0.5", f->poisson);
  if (!(f->thickness > 0) || !isfinite(f->thickness)) FAIL("thickness %g must be positive", f->thickness);
  if (!(f->damping >= 0) || !isfinite(f->damping)) FAIL("damping %g must not be negative", f->damping);
  return TG_OK;
}

static tgStatus check_frame(tgCompile *c, const char *label, tgSource source, tgFrameKind frame, int i, bool axes) {
  const tgDesc *d = c->desc;
  if (frame < TG_FRAME_COM || frame > TG_FRAME_SITE) FAIL("unknown kind of frame %d", (int)frame);
  int n = frame == TG_FRAME_GEOM ? d->ngeom : frame == TG_FRAME_SITE ? d->nsite : d->nbody;
  if (i < 0 || i >= n) FAIL("the frame %d of it does not exist", i);
  if (axes && frame == TG_FRAME_COM)
    return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, "axes of inertia are not kept; take the frame of the body (xbody)");
  return TG_OK;
}

static bool needs_axes(tgSensorType type) { return type >= TG_SENSOR_FRAMEQUAT && type <= TG_SENSOR_FRAMEZAXIS; }

static tgStatus check_sensor(tgCompile *c, int i) {
  const tgDesc *d = c->desc;
  const tgSensorDesc *s = &d->sensor[i];
  char label[128];
  tgSource source = s->source;
  tgi_desc_label("sensor", s->name, i, label, sizeof label);
  if (s->type < 0 || s->type >= TG_SENSOR_COUNT) FAIL("unknown type %d", (int)s->type);
  tgiSensorOf of = tgi_sensor_of(s->type);
  int n = of == TGI_OF_JOINT || of == TGI_OF_BALL ? d->njoint : of == TGI_OF_TENDON ? d->ntendon : of == TGI_OF_ACTUATOR ? d->nactuator
          : of == TGI_OF_SITE ? d->nsite : d->nbody;
  if (!(s->cutoff >= 0) || !isfinite(s->cutoff)) FAIL("cutoff %g must not be negative", s->cutoff);
  if (of != TGI_OF_FRAME && s->ref_frame != TG_FRAME_NONE) FAIL("a reference frame is for sensors of frames");
  if (of == TGI_OF_FRAME) {
    bool in_world = s->type == TG_SENSOR_FRAMELINACC || s->type == TG_SENSOR_FRAMEANGACC;
    if (in_world && s->ref_frame != TG_FRAME_NONE) FAIL("accelerations have no reference frame");
    TG_TRY(check_frame(c, label, source, s->frame, s->object, needs_axes(s->type)));
    return s->ref_frame == TG_FRAME_NONE ? TG_OK : check_frame(c, label, source, s->ref_frame, s->ref, true);
  }
  if (s->object < 0 || s->object >= n) FAIL("its object %d does not exist", s->object);
  if (of == TGI_OF_JOINT && !joint_is_scalar(d, s->object)) FAIL("it takes a hinge or slide joint");
  if (of == TGI_OF_BALL && d->joint[s->object].type != TG_JOINT_BALL) FAIL("it takes a ball joint");
  return TG_OK;
}

static tgStatus check_rest(tgCompile *c) {
  const tgDesc *d = c->desc;
  const char *label = "contact";
  for (int i = 0; i < d->npair; i++) {
    tgSource source = d->pair[i].source;
    int a = d->pair[i].geom1, b = d->pair[i].geom2;
    if (a < 0 || b < 0 || a >= d->ngeom || b >= d->ngeom || a == b) FAIL("pair %d does not name two geoms", i);
    if (d->geom[a].body == d->geom[b].body) FAIL("pair %d names two geoms of one body", i);
    if (!known_condim(d->pair[i].condim))
      return tgi_compile_error(c, TG_ERR_UNSUPPORTED, source, label, "pair %d: " CONDIM_TEXT, i, d->pair[i].condim);
    for (int k = 0; k < 5; k++)
      if (d->pair[i].friction[k] < 0 || isinf(d->pair[i].friction[k]))
        FAIL("pair %d: friction %g is negative or infinite", i, d->pair[i].friction[k]);
    if (d->pair[i].restitution < 0 || d->pair[i].restitution > 1)
      FAIL("pair %d: restitution %g is not between 0 and 1", i, d->pair[i].restitution);
  }
  for (int i = 0; i < d->nexclude; i++) {
    tgSource source = d->exclude[i].source;
    int a = d->exclude[i].body1, b = d->exclude[i].body2;
    if (a < 0 || b < 0 || a >= d->nbody || b >= d->nbody) FAIL("exclude %d does not name two bodies", i);
  }
  label = "option";
  tgSource source = {.file = -1};
  if (!(d->option.timestep > 0) || !isfinite(d->option.timestep)) FAIL("timestep %g must be positive", d->option.timestep);
  if (!finite_all(d->option.gravity, 3) || !finite_all(d->option.wind, 3)) FAIL("gravity or wind is not finite");
  if (!(d->option.density >= 0) || !(d->option.viscosity >= 0)) FAIL("density or viscosity is negative");
  return TG_OK;
}

tgStatus tgi_check_desc(tgCompile *c) {
  for (int i = 0; i < c->desc->nbody; i++) TG_TRY(check_body(c, i));
  for (int i = 0; i < c->desc->njoint; i++) TG_TRY(check_joint(c, i));
  for (int i = 0; i < c->desc->nmesh; i++) TG_TRY(check_mesh(c, i));
  for (int i = 0; i < c->desc->ngeom; i++) TG_TRY(check_geom(c, i));
  TG_TRY(check_sites(c));
  for (int i = 0; i < c->desc->ntendon; i++) TG_TRY(check_tendon(c, i));
  for (int i = 0; i < c->desc->nactuator; i++) TG_TRY(check_actuator(c, i));
  for (int i = 0; i < c->desc->nequality; i++) TG_TRY(check_equality(c, i));
  for (int i = 0; i < c->desc->nkey; i++) TG_TRY(check_key(c, i));
  for (int i = 0; i < c->desc->nflex; i++) TG_TRY(check_flex(c, i));
  for (int i = 0; i < c->desc->nsensor; i++) TG_TRY(check_sensor(c, i));
  return check_rest(c);
}
