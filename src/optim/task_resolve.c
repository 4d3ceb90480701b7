// task_resolve.c: what a task file says, resolved against the compiled model: names found, sizes and ranges checked.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "math/quat.h"
#include "model/no_such.h"
#include "optim/aim.h"
#include "optim/controls.h"
#include "optim/effort.h"
#include "optim/ensemble.h"
#include "optim/parameters.h"
#include "optim/task.h"
#include "optim/terms.h"
#include "optim/verify.h"
#include "optim/view.h"

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)

// nothing, or an array from the task's allocator
static void *take(tgTask *t, size_t n, size_t size) {
  void *p = t->alloc.alloc(t->alloc.ctx, tgi_size_mul(n > 0 ? n : 1, size));
  if (p != NULL) memset(p, 0, n * size);
  return p;
}

static int joint_width(const tgModel *m, int j, bool velocity) {
  switch (m->jnt_type[j]) {
    case TG_JOINT_FREE: return velocity ? 6 : 7;
    case TG_JOINT_BALL: return velocity ? 3 : 4;
    default: return 1;
  }
}

static tgStatus set_joint(tgTask *t, const YamlJoint *y, tgError *error) {
  const tgModel *m = t->model;
  int j = tg_model_find(m, TG_THING_JOINT, y->joint);
  if (j < 0) return tgi_model_no_such(m, TG_THING_JOINT, "start", y->joint, error);
  if (y->nposition > 0 && (int)y->nposition != joint_width(m, j, false))
    FAIL("start: joint '%s' has %d coordinates, the file gives %u", y->joint, joint_width(m, j, false), y->nposition);
  if (y->nvelocity > 0 && (int)y->nvelocity != joint_width(m, j, true))
    FAIL("start: joint '%s' has %d velocities, the file gives %u", y->joint, joint_width(m, j, true), y->nvelocity);
  for (unsigned k = 0; k < y->nposition; k++) t->q0[m->jnt_qadr[j] + (int)k] = y->position[k];
  for (unsigned k = 0; k < y->nvelocity; k++) t->v0[m->jnt_vadr[j] + (int)k] = y->velocity[k];
  return TG_OK;
}

static tgStatus resolve_start(tgTask *t, tgError *error) {
  const tgModel *m = t->model;
  const YamlStart *s = t->yaml->start;
  t->q0 = take(t, (size_t)m->nq, sizeof *t->q0);
  t->v0 = take(t, (size_t)tgi_nw(m), sizeof *t->v0);
  if (t->q0 == NULL || t->v0 == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a start state");
  int key = s != NULL && s->keyframe != NULL ? tg_model_find(m, TG_THING_KEY, s->keyframe) : -1;
  if (s != NULL && s->keyframe != NULL && key < 0) return tgi_model_no_such(m, TG_THING_KEY, "start", s->keyframe, error);
  for (int i = 0; i < m->nq; i++) t->q0[i] = tgRe(key >= 0 ? m->key_qpos[key * m->nq + i] : m->qpos0[i]);
  for (int i = 0; i < m->nv; i++) t->v0[i] = key >= 0 ? tgRe(m->key_qvel[key * m->nv + i]) : 0;
  for (int i = 0; i < m->na; i++) t->v0[m->nv + i] = key >= 0 ? tgRe(m->key_act[key * m->na + i]) : 0;
  for (unsigned k = 0; s != NULL && k < s->njoints; k++) TG_TRY(set_joint(t, &s->joints[k], error));
  for (int i = 0; i < m->nq; i++)
    if (!isfinite(t->q0[i])) FAIL("start: coordinate %d is not finite", i);
  for (int i = 0; i < m->nv; i++)
    if (!isfinite(t->v0[i])) FAIL("start: velocity %d is not finite", i);
  for (int i = 0; i < m->na; i++)
    if (!isfinite(t->v0[m->nv + i])) FAIL("start: activation %d is not finite", i);
  return TG_OK;
}

// the activation that an item of such a list names
static tgStatus add_activation(const tgTask *t, const char *what, const YamlInitial *y, tgInitialVar *out, int *count, tgError *error) {
  const tgModel *m = t->model;
  int i = tg_model_find(m, TG_THING_ACTUATOR, y->actuator);
  if (y->joint != NULL) FAIL("%s: joint '%s' and actuator '%s' in one item; give one", what, y->joint, y->actuator);
  if (y->part != TG_INITIAL_ACTIVATION) FAIL("%s: actuator '%s': its part is activation", what, y->actuator);
  if (i < 0) return tgi_model_no_such(m, TG_THING_ACTUATOR, what, y->actuator, error);
  if (m->act_adr[i] < 0) FAIL("%s: actuator '%s' has no activation", what, y->actuator);
  if (y->nentries > 0) FAIL("%s: actuator '%s': an activation is one number; remove entries", what, y->actuator);
  tgInitialVar v = {.joint = -1, .dof = m->nv + m->act_adr[i], .velocity = true, .low = y->low != NULL ? *y->low : -INFINITY,
                    .high = y->high != NULL ? *y->high : INFINITY};
  if (!(v.low <= v.high)) FAIL("%s: actuator '%s': low %g is above high %g, or one is not a number", what, y->actuator, v.low, v.high);
  for (int k = 0; k < *count; k++)
    if (out[k].dof == v.dof && out[k].velocity) FAIL("%s: actuator '%s' is given twice", what, y->actuator);
  out[(*count)++] = v;
  return TG_OK;
}

// the dofs of one joint that an item of such a list names, all of them where it names none
static tgStatus add_boxes(const tgTask *t, const char *what, const YamlInitial *y, tgInitialVar *out, int *count, tgError *error) {
  const tgModel *m = t->model;
  int j = tg_model_find(m, TG_THING_JOINT, y->joint), width = joint_width(m, j, true);
  tgInitialVar v = {.joint = j, .velocity = y->part == TG_INITIAL_VELOCITY, .low = y->low != NULL ? *y->low : -INFINITY,
                    .high = y->high != NULL ? *y->high : INFINITY};
  if (!(v.low <= v.high)) FAIL("%s: joint '%s': low %g is above high %g, or one is not a number", what, y->joint, v.low, v.high);
  for (int k = 0; k < (y->nentries > 0 ? (int)y->nentries : width); k++) {
    int entry = y->nentries > 0 ? y->entries[k] : k;
    if (entry < 0 || entry >= width) FAIL("%s: joint '%s' has entries 0 to %d, not %d", what, y->joint, width - 1, entry);
    v.dof = m->jnt_vadr[j] + entry;
    for (int i = 0; i < *count; i++)
      if (out[i].dof == v.dof && out[i].velocity == v.velocity)
        FAIL("%s: entry %d of joint '%s' is given twice", what, entry, y->joint);
    out[(*count)++] = v;
  }
  return TG_OK;
}

// the dofs that a list of joints with boxes names, under `what`, the list's word in the file
static tgStatus resolve_boxes(tgTask *t, const char *what, const YamlInitial *list, unsigned nlist, tgInitialVar **out,
                              int *count, tgError *error) {
  const tgModel *m = t->model;
  int n = 0;
  for (unsigned k = 0; k < nlist; k++) {
    if (list[k].actuator != NULL) {
      n++;
      continue;
    }
    if (list[k].joint == NULL || list[k].part == TG_INITIAL_ACTIVATION)
      FAIL("%s: an item names a joint with its position or velocity, or an actuator with its activation", what);
    int j = tg_model_find(m, TG_THING_JOINT, list[k].joint);
    if (j < 0) return tgi_model_no_such(m, TG_THING_JOINT, what, list[k].joint, error);
    n += list[k].nentries > 0 ? (int)list[k].nentries : joint_width(m, j, true);
  }
  *out = take(t, (size_t)n, sizeof **out);
  if (*out == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d %s variables", n, what);
  for (unsigned k = 0; k < nlist; k++)
    TG_TRY((list[k].actuator != NULL ? add_activation : add_boxes)(t, what, &list[k], *out, count, error));
  return TG_OK;
}

static tgStatus resolve_initial(tgTask *t, tgError *error) {
  const YamlTask *y = t->yaml;
  TG_TRY(resolve_boxes(t, "initial", y->initial, y->ninitial, &t->initial, &t->ninitial, error));
  TG_TRY(resolve_boxes(t, "states", y->states, y->nstates, &t->state, &t->nstate, error));
  for (int i = 0; i < t->nstate; i++)
    if (!t->state[i].velocity && joint_width(t->model, t->state[i].joint, false) != 1)
      FAIL("states: joint '%s' is not a hinge or slide; only its velocity can be bounded",
           tg_model_name(t->model, TG_THING_JOINT, t->state[i].joint));
  return TG_OK;
}

// what the file has to give for a term: how its element is named, and how many numbers its target has
typedef struct TermForm {
  const char *word;
  int thing;                // tgKindOfThing of `name`, -1: it takes none
  bool whole;               // the name may be left out: all of the model
  unsigned target;          // numbers of the target,
  bool optional;            // which may be left out
  bool axes;
} TermForm;

static const TermForm form[] = {
    [TG_TERM_BODY_POSITION] = {"body_position", TG_THING_BODY, false, 3, false, true},
    [TG_TERM_SITE_POSITION] = {"site_position", TG_THING_SITE, false, 3, false, true},
    [TG_TERM_BODY_COM] = {"body_com", TG_THING_BODY, false, 3, false, true},
    [TG_TERM_JOINT_POSITION] = {"joint_position", TG_THING_JOINT, false, 1, true, false},
    [TG_TERM_JOINT_VELOCITY] = {"joint_velocity", TG_THING_JOINT, false, 1, true, false},
    [TG_TERM_VELOCITY] = {"velocity", TG_THING_JOINT, true, 0, true, false},
    [TG_TERM_CONTROL] = {"control", TG_THING_ACTUATOR, true, 0, true, false},
    [TG_TERM_POSE] = {"pose", TG_THING_JOINT, true, 0, true, false},
    [TG_TERM_HEIGHT] = {"height", TG_THING_BODY, false, 1, true, false},
    [TG_TERM_BODY_VELOCITY] = {"body_velocity", TG_THING_BODY, false, 3, true, true},
    [TG_TERM_BODY_ORIENTATION] = {"body_orientation", TG_THING_BODY, false, 4, false, false},
    [TG_TERM_GAP] = {"gap", TG_THING_GEOM, false, 1, true, false},
    [TG_TERM_SPEED] = {"speed", TG_THING_JOINT, true, 0, true, false},
};

const char *tgi_term_word(tgTermKind kind) { return form[kind].word; }
int tgi_term_targets(tgTermKind kind) { return (int)form[kind].target; }

// the two geoms of a gap: convex, of two bodies, not two planes
static tgStatus resolve_geoms(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  const tgModel *m = t->model;
  int geom[2];
  if (y->name != NULL || y->ngeoms != 2) FAIL("losses: a gap term takes geoms: [A, B]");
  for (int k = 0; k < 2; k++) {
    geom[k] = tg_model_find(m, TG_THING_GEOM, y->geoms[k]);
    if (geom[k] < 0) return tgi_model_no_such(m, TG_THING_GEOM, "losses", y->geoms[k], error);
    if (m->geom_type[geom[k]] == TG_GEOM_MESH && m->geom_hull[geom[k]] < 0)
      FAIL("losses: geom '%s' is a mesh without a convex hull, from which no gap is taken; name a piece of it", y->geoms[k]);
  }
  if (m->geom_body[geom[0]] == m->geom_body[geom[1]])
    FAIL("losses: geoms '%s' and '%s' are of one body, their gap never changes", y->geoms[0], y->geoms[1]);
  if (m->geom_type[geom[0]] == TG_GEOM_PLANE && m->geom_type[geom[1]] == TG_GEOM_PLANE)
    FAIL("losses: geoms '%s' and '%s' are two planes, which have no gap", y->geoms[0], y->geoms[1]);
  term->index = geom[0];
  term->other = geom[1];
  snprintf(term->label, sizeof term->label, "gap %.40s %.40s", y->geoms[0], y->geoms[1]);
  return TG_OK;
}

// which element a loss term is about; -1: all of the model
static tgStatus resolve_name(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  const TermForm *f = &form[y->term];
  if (y->term == TG_TERM_GAP) return resolve_geoms(t, y, term, error);
  if (y->ngeoms > 0) FAIL("losses: a %s term takes no geoms", f->word);
  term->index = -1;
  if (y->name != NULL && y->term == TG_TERM_SPEED) FAIL("losses: speed is of all that actuators drive; velocity is of one joint");
  if (y->name == NULL && !f->whole) FAIL("losses: a %s term needs a name", f->word);
  if (y->name != NULL) {
    term->index = tg_model_find(t->model, (tgKindOfThing)f->thing, y->name);
    if (term->index < 0) return tgi_model_no_such(t->model, (tgKindOfThing)f->thing, "losses", y->name, error);
  }
  if ((y->term == TG_TERM_JOINT_POSITION || y->term == TG_TERM_JOINT_VELOCITY) && t->model->jnt_type[term->index] != TG_JOINT_HINGE &&
      t->model->jnt_type[term->index] != TG_JOINT_SLIDE)
    FAIL("losses: joint '%s' is not a hinge or slide; use pose or velocity", y->name);
  snprintf(term->label, sizeof term->label, "%s%s%s", f->word, y->name == NULL ? "" : " ", y->name == NULL ? "" : y->name);
  return TG_OK;
}

static tgStatus resolve_target(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  const TermForm *f = &form[y->term];
  if (y->ntarget != f->target && !(f->optional && y->ntarget == 0))
    FAIL("losses: %s takes a target of %u numbers, the file gives %u", term->label, f->target, y->ntarget);
  for (unsigned k = 0; k < y->ntarget; k++) {
    term->target[k] = y->target[k];
    if (!isfinite(y->target[k])) FAIL("losses: the target of %s is not finite", term->label);
  }
  if (y->term == TG_TERM_BODY_ORIENTATION && tgRe(tgi_quat_normalize(term->target)) == 0)
    FAIL("losses: the target of %s is a quaternion of length 0", term->label);
  for (int k = 0; k < 3; k++) term->axis[k] = y->axes == NULL;
  for (const char *c = y->axes; c != NULL && *c != '\0'; c++) {
    if (*c < 'x' || *c > 'z' || !f->axes)
      FAIL("losses: axes '%s' of %s: letters x, y, z, for positions and body velocities only", y->axes, term->label);
    term->axis[*c - 'x'] = true;
  }
  if (y->keyframe != NULL && y->term != TG_TERM_POSE) FAIL("losses: %s takes no keyframe", term->label);
  int key = y->keyframe != NULL ? tg_model_find(t->model, TG_THING_KEY, y->keyframe) : -1;
  if (y->keyframe != NULL && key < 0) return tgi_model_no_such(t->model, TG_THING_KEY, "losses", y->keyframe, error);
  term->reference = key >= 0 ? t->model->key_qpos + key * t->model->nq : t->model->qpos0;
  return TG_OK;
}

// the step whose state a term at a time looks at: the nearest
static tgStatus resolve_time(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  if (y->term == TG_TERM_CONTROL) term->when = TG_TERM_ALL;
  if (y->at == TG_TERM_LEAST && y->term != TG_TERM_GAP) FAIL("losses: %s has no least; a gap has", term->label);
  if (y->at == TG_TERM_LEAST && (t->yaml->optimizer.method >= TG_METHOD_ILQR || t->yaml->receding != NULL))
    FAIL("losses: %s: the least of the motion is a term for adam, descent, lbfgs, random and cem, without a receding horizon", term->label);
  if (y->time != NULL && y->at == TG_TERM_END) term->when = TG_TERM_TIME;
  if ((y->time != NULL) != (term->when == TG_TERM_TIME)) FAIL("losses: %s: give time with at: time, and only then", term->label);
  if (y->time == NULL) return TG_OK;
  double step = round(*y->time / t->h);
  if (!(step >= 0 && step <= t->steps))
    FAIL("losses: the time %g s of %s is not within the horizon of %g s", *y->time, term->label, t->steps * t->h);
  term->step = (int)step;
  return TG_OK;
}

static tgStatus resolve_term(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  double weight = tgi_yaml_weight(y);
  *term = (tgTerm){.kind = y->term, .when = y->at, .weight = y->stage > 0 ? 0 : weight, .tolerance = y->tolerance, .stage = y->stage};
  TG_TRY(resolve_name(t, y, term, error));
  if (!(y->tolerance >= 0 && isfinite(y->tolerance)))
    FAIL("losses: the tolerance %g of %s is negative or not finite", y->tolerance, term->label);
  if (y->tolerance > 0 && y->term > TG_TERM_BODY_COM)
    FAIL("losses: %s takes no tolerance; body_position, site_position and body_com do", term->label);
  if (!isfinite(weight) || weight < 0) FAIL("losses: the weight %g of %s is negative or not finite", weight, term->label);
  if (y->stage < 0 || y->stage > (int)t->yaml->nrefine)
    FAIL("losses: %s counts from stage %d on; the stages of `refine` are 1 to %u", term->label, y->stage, t->yaml->nrefine);
  TG_TRY(resolve_target(t, y, term, error));
  return resolve_time(t, y, term, error);
}

static tgStatus resolve_losses(tgTask *t, tgError *error) {
  t->term = take(t, t->yaml->nlosses + 1, sizeof *t->term);   // and the effort
  if (t->term == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %u losses", t->yaml->nlosses);
  for (unsigned k = 0; k < t->yaml->nlosses; k++) {
    tgStatus status = resolve_term(t, &t->yaml->losses[k], &t->term[t->nterm++], error);
    if (status != TG_OK && error != NULL) snprintf(error->element, sizeof error->element, "losses[%u]", k);
    if (status != TG_OK) return status;
  }
  return TG_OK;
}

static tgStatus resolve_horizon(tgTask *t, tgError *error) {
  const YamlHorizon *h = &t->yaml->horizon;
  const YamlControls *u = t->yaml->controls;
  if (h->steps < 1 || h->steps > 100000000) FAIL("horizon: steps is %d; it must be at least 1", h->steps);
  if (h->timestep < 0 || !isfinite(h->timestep)) FAIL("horizon: timestep %g must be positive", h->timestep);
  t->steps = t->end = t->total = h->steps;
  t->h = h->timestep > 0 ? h->timestep : tg_model_timestep(t->model);
  if (u != NULL) {
    if (u->every < 0 || u->terms < 0 || u->terms > 1000) FAIL("controls: every is %d and terms is %d", u->every, u->terms);
    if (u->basis == TG_BASIS_STEPS && (u->terms != 0 || u->amplitude != 0 || u->frequency != 0))
      FAIL("controls: terms, amplitude and frequency belong to basis: sines");
    if (u->basis == TG_BASIS_SINES && u->every != 0) FAIL("controls: every belongs to basis: steps");
    if (!(u->frequency >= 0) || !isfinite(u->frequency) || !isfinite(u->amplitude))
      FAIL("controls: frequency %g or amplitude %g", u->frequency, u->amplitude);
    double low = u->low != NULL ? *u->low : -INFINITY, high = u->high != NULL ? *u->high : INFINITY;
    if (!(low <= high)) FAIL("controls: low %g is above high %g, or one is not a number", low, high);
    if (!(u->start_noise >= 0 && isfinite(u->start_noise)))
      FAIL("controls: start_noise %g must be finite and not negative", u->start_noise);
    if (t->model->nu == 0) FAIL("controls: the model '%s' has no actuator", t->yaml->model);
  }
  TG_TRY(tgi_controls_resolve(t, error));
  t->ncontrol = tgi_controls_count(t);
  if (t->ncontrol < 0 || t->ncontrol + t->ninitial > 100000000) FAIL("controls: more than 1e8 variables");
  t->n = t->ncontrol + t->ninitial + t->nparam;
  if (t->n == 0) FAIL("nothing to decide: give controls, initial or parameters");
  return TG_OK;
}

bool tgi_task_starts_differ(const tgTask *t) {
  tgMethod method = t->optimizer.method;
  bool drawn = method == TG_METHOD_RANDOM || method == TG_METHOD_CEM || method == TG_METHOD_BUNDLE;
  return drawn || (t->yaml->controls != NULL && t->yaml->controls->start_noise > 0);
}

// the numbers of a method, which `of` in the file gives, and those that it leaves out
static tgStatus resolve_method(const char *of, YamlOptimizer *o, tgError *error) {
  if (o->iterations < 1) FAIL("%s: iterations is %d; it must be at least 1", of, o->iterations);
  const double *number[] = {&o->rate, &o->decay, &o->sigma, &o->tolerance, &o->beta1, &o->beta2};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    if (!(*number[i] >= 0) || !isfinite(*number[i]) || (i >= 4 && *number[i] >= 1))
      FAIL("%s: rate, decay, sigma, tolerance must not be negative and beta1, beta2 be below 1; one is %g", of, *number[i]);
  if (!(o->correlation >= 0 && o->correlation < 1) || !(o->momentum >= 0 && o->momentum < 1))
    FAIL("%s: correlation %g and momentum %g must be at least 0 and below 1", of, o->correlation, o->momentum);
  if (o->population < 0 || o->elites < 0 || o->memory < 0 || o->shot < 0 || o->patience < 0)
    FAIL("%s: population, elites, memory, shot and patience must not be negative", of);
  if (o->rate == 0) o->rate = 0.01;
  if (o->decay == 0) o->decay = 1;
  if (o->beta1 == 0) o->beta1 = 0.9;
  if (o->beta2 == 0) o->beta2 = 0.999;
  if (o->population == 0) o->population = 16;
  if (o->smoothing >= TG_SMOOTH_ZEROTH && o->population < 2) FAIL("%s: smoothing by losses takes a population of 2 or more", of);
  if (o->elites == 0) o->elites = (o->population + 3) / 4;
  if (o->keep < 0 || o->keep > o->elites) FAIL("%s: keep is %d; it must be 0 to the %d elites", of, o->keep, o->elites);
  if (o->elites > o->population) FAIL("%s: %d elites of a population of %d", of, o->elites, o->population);
  return TG_OK;
}

// Distances are those of position terms: of a task without one, none would ever be within any.
static tgStatus needs_position(const tgTask *t, const char *what, tgError *error) {
  for (int i = 0; i < t->nterm; i++)
    if (tgi_term_is_position(t->term[i].kind)) return TG_OK;
  FAIL("%s is that of position terms (body_position, site_position, body_com), of which losses have none; give a loss instead", what);
}

static tgStatus resolve_stop_distance(tgTask *t, tgError *error) {
  const double *stop = t->optimizer.stop_distance;
  t->stop_distance = stop != NULL ? *stop : -INFINITY;
  if (stop == NULL) return TG_OK;
  if (!(*stop >= 0)) FAIL("optimizer: stop_distance is %g; it must be at least 0", *stop);
  return needs_position(t, "optimizer: stop_distance", error);
}

static tgStatus resolve_optimizer(tgTask *t, tgError *error) {
  YamlOptimizer *o = &t->optimizer;
  *o = t->yaml->optimizer;
  TG_TRY(resolve_method("optimizer", o, error));
  const YamlSuccess *s = t->yaml->success;
  bool below = false;
  for (int i = 0; i < t->nterm; i++) below |= t->term[i].kind == TG_TERM_HEIGHT;
  if (s != NULL && ((s->loss != NULL && !(*s->loss >= 0 || (below && isfinite(*s->loss)))) || !(s->distance >= 0)))
    FAIL("success: loss %g and distance %g must not be negative (the loss may be where a height is wanted)",
         s->loss != NULL ? *s->loss : 0, s->distance);
  if (s != NULL && s->distance > 0) TG_TRY(needs_position(t, "success: distance", error));
  if (t->yaml->verify != NULL && t->yaml->verify->distance > 0) TG_TRY(needs_position(t, "verify: distance", error));
  t->stop_loss = o->stop_loss != NULL ? *o->stop_loss : -INFINITY;
  if (isnan(t->stop_loss)) FAIL("optimizer: stop_loss is not a number");
  TG_TRY(resolve_stop_distance(t, error));
  if (o->plans != 0) FAIL("optimizer: plans belongs to `search`");
  if (o->starts < 0 || o->starts > 1000) FAIL("optimizer: starts is %d; it must be 1 to 1000", o->starts);
  if (o->starts > 1 && !tgi_task_starts_differ(t))
    FAIL("optimizer: %d starts would all be the same; give controls a start_noise", o->starts);
  if (o->attempts < 0 || o->attempts > 1000) FAIL("optimizer: attempts is %d; it must be 1 to 1000", o->attempts);
  if (o->attempts > 1 && !tgi_task_starts_differ(t))
    FAIL("optimizer: %d attempts would all be the same; give controls a start_noise", o->attempts);
  if (o->attempts > 1 && s == NULL && t->yaml->verify == NULL)
    FAIL("optimizer: attempts end with one that is reached; give `success` or `verify`, which say what that is");
  return TG_OK;
}

// what plans should promise is said, and how the search goes
static tgStatus resolve_search(tgTask *t, tgError *error) {
  if (t->yaml->search == NULL) return TG_OK;
  YamlOptimizer *o = &t->search;
  *o = *t->yaml->search;
  TG_TRY(resolve_method("search", o, error));
  if (o->plans == 0) o->plans = 3;
  if (o->plans < 0) FAIL("search: plans is %d; it must be at least 1", o->plans);
  if (o->stop_loss != NULL || o->stop_distance != NULL || o->starts != 0 || o->attempts != 0)
    FAIL("search: it ends as plans do; stop_loss, stop_distance, starts and attempts belong to `optimizer`");
  if (t->yaml->receding == NULL) FAIL("search: it is for plans that stall; give `receding`, which says what is planned");
  if (!tgi_task_can_stop(t) && t->yaml->success == NULL)
    FAIL("search: give optimizer `stop_loss` or `stop_distance`, or `success`, which says what a plan should promise");
  return TG_OK;
}

// a window is whole blocks of controls, and so is what is done of it
static tgStatus resolve_receding(const tgTask *t, tgError *error) {
  const YamlReceding *y = t->yaml->receding;
  int every = tgi_controls_every(t);
  if (y == NULL) return TG_OK;
  if (t->ncontrol == 0 || t->ninitial > 0 || t->nparam > 0 || tgi_controls_sines(t))
    FAIL("receding: a receding horizon decides controls with basis: steps, and nothing else");
  if (y->apply < 1 || y->horizon < y->apply || y->apply % every != 0 || y->horizon % every != 0)
    FAIL("receding: apply %d and horizon %d must be multiples of the %d steps that a control is held, apply not the "
         "longer", y->apply, y->horizon, every);
  int home = 0;
  for (int i = 0; i < t->nterm; i++) home += tgi_aim_can(&t->term[i]);
  if (y->aim && home < 2)
    FAIL("receding: aim: nearest brings one thing home after another; %d of the losses are of a position and have a tolerance within which "
         "it is home, which at least two should", home);
  return TG_OK;
}

// each stage can be made; what only its run shows (a method that the contact model has not) is told there
static tgStatus resolve_refine(const tgTask *t, tgError *error) {
  for (unsigned k = 0; k < t->yaml->nrefine; k++) {
    const YamlStage *s = &t->yaml->refine[k];
    if (!(s->timestep >= 0) || !isfinite(s->timestep) || s->iterations < 0 || !(s->rate >= 0) || !isfinite(s->rate))
      FAIL("refine: stage %u: timestep %g, iterations %d and rate %g must not be negative", k + 1, s->timestep, s->iterations, s->rate);
    if (s->whole && t->yaml->receding == NULL)
      FAIL("refine: stage %u: whole is for tasks with a receding horizon; all others plan the whole", k + 1);
    tgTask *stage = tgi_task_stage(t, (int)k + 1, error);
    if (stage == NULL) return TG_ERR_INVALID;
    const YamlOptimizer *o = &t->yaml->optimizer;
    tgStatus st = tgi_ensemble_check(stage, s->method != NULL ? *s->method : o->method, o->smoothing, error);
    tg_task_free(stage);
    TG_TRY(st);
  }
  return TG_OK;
}

tgStatus tgi_task_resolve(tgTask *t, tgError *error) {
  TG_TRY(resolve_start(t, error));
  TG_TRY(resolve_initial(t, error));
  TG_TRY(tgi_parameters_resolve(t, error));
  TG_TRY(resolve_horizon(t, error));
  TG_TRY(resolve_losses(t, error));
  TG_TRY(tgi_effort_resolve(t, error));
  TG_TRY(resolve_receding(t, error));
  TG_TRY(resolve_refine(t, error));
  TG_TRY(tgi_verify_resolve(t, error));
  TG_TRY(resolve_optimizer(t, error));
  return resolve_search(t, error);
}

tgStatus tgi_task_retime(tgTask *t, int steps, double h, tgError *error) {
  YamlReceding *r = t->yaml->receding;
  double ratio = t->h / h;
  for (int i = 0; i < t->nterm; i++)
    if (t->term[i].when == TG_TERM_TIME) FAIL("losses: %s looks at a time, and the steps are changed", t->term[i].label);
  t->yaml->horizon.steps = steps;
  t->yaml->horizon.timestep = h;
  if (r != NULL) {
    int every = tgi_controls_every(t), apply = (int)lround(r->apply * ratio / every), horizon = (int)lround(r->horizon * ratio / every);
    r->apply = every * (apply > 1 ? apply : 1);
    r->horizon = every * horizon > r->apply ? every * horizon : r->apply;
  }
  return resolve_horizon(t, error);
}
