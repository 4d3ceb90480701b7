// task.c: from what a task file says to a task: model compiled, names resolved, sizes known.
#include "optim/parameters.h"
#include "optim/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/file.h"
#include "math/quat.h"
#include "optim/controls.h"
#include "optim/nlp.h"

static const char *const method_word[] = {"adam", "descent", "lbfgs", "random", "cem", "ilqr", "gauss_newton", "bundle", "ddp", "shooting"};

enum { METHODS = sizeof method_word / sizeof *method_word };

// shooting is the last, and not there in a build without its solver
const char *tg_methods(int i) { return i >= 0 && i < METHODS - !tgi_nlp_available() ? method_word[i] : NULL; }

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
  if (j < 0) FAIL("start: the model has no joint '%s'", y->joint);
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
  t->v0 = take(t, (size_t)m->nv, sizeof *t->v0);
  if (t->q0 == NULL || t->v0 == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a start state");
  int key = s != NULL && s->keyframe != NULL ? tg_model_find(m, TG_THING_KEY, s->keyframe) : -1;
  if (s != NULL && s->keyframe != NULL && key < 0) FAIL("start: the model has no keyframe '%s'", s->keyframe);
  for (int i = 0; i < m->nq; i++) t->q0[i] = tgRe(key >= 0 ? m->key_qpos[key * m->nq + i] : m->qpos0[i]);
  for (int i = 0; i < m->nv; i++) t->v0[i] = key >= 0 ? tgRe(m->key_qvel[key * m->nv + i]) : 0;
  for (unsigned k = 0; s != NULL && k < s->njoints; k++) TG_TRY(set_joint(t, &s->joints[k], error));
  for (int i = 0; i < m->nq; i++)
    if (!isfinite(t->q0[i])) FAIL("start: coordinate %d is not finite", i);
  for (int i = 0; i < m->nv; i++)
    if (!isfinite(t->v0[i])) FAIL("start: velocity %d is not finite", i);
  return TG_OK;
}

// the dofs of one joint that an item of such a list names, all of them where it names none
static tgStatus add_boxes(const tgTask *t, const char *what, const YamlInitial *y, tgInitialVar *out, int *count, tgError *error) {
  const tgModel *m = t->model;
  int j = tg_model_find(m, TG_THING_JOINT, y->joint), width = joint_width(m, j, true);
  tgInitialVar v = {.joint = j, .velocity = y->part == TG_INITIAL_VELOCITY, .low = y->low != NULL ? *y->low : -INFINITY, .high = y->high != NULL ? *y->high : INFINITY};
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
static tgStatus resolve_boxes(tgTask *t, const char *what, const YamlInitial *list, unsigned nlist, tgInitialVar **out, int *count, tgError *error) {
  const tgModel *m = t->model;
  int n = 0;
  for (unsigned k = 0; k < nlist; k++) {
    int j = tg_model_find(m, TG_THING_JOINT, list[k].joint);
    if (j < 0) FAIL("%s: the model has no joint '%s'", what, list[k].joint);
    n += list[k].nentries > 0 ? (int)list[k].nentries : joint_width(m, j, true);
  }
  *out = take(t, (size_t)n, sizeof **out);
  if (*out == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d %s variables", n, what);
  for (unsigned k = 0; k < nlist; k++) TG_TRY(add_boxes(t, what, &list[k], *out, count, error));
  return TG_OK;
}

static tgStatus resolve_initial(tgTask *t, tgError *error) {
  const YamlTask *y = t->yaml;
  TG_TRY(resolve_boxes(t, "initial", y->initial, y->ninitial, &t->initial, &t->ninitial, error));
  TG_TRY(resolve_boxes(t, "states", y->states, y->nstates, &t->state, &t->nstate, error));
  for (int i = 0; i < t->nstate; i++)
    if (!t->state[i].velocity && joint_width(t->model, t->state[i].joint, false) != 1)
      FAIL("states: joint '%s' is not a hinge or slide; only its velocity can be bounded", tg_model_name(t->model, TG_THING_JOINT, t->state[i].joint));
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
};

static const char *thing_word(int thing) {
  return thing == TG_THING_SITE ? "site" : thing == TG_THING_BODY ? "body" : thing == TG_THING_ACTUATOR ? "actuator" : "joint";
}

// which element a loss term is about; -1: all of the model
static tgStatus resolve_name(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  const TermForm *f = &form[y->term];
  term->index = -1;
  if (y->name == NULL && !f->whole) FAIL("losses: a %s term needs a name", f->word);
  if (y->name != NULL) {
    term->index = tg_model_find(t->model, (tgKindOfThing)f->thing, y->name);
    if (term->index < 0) FAIL("losses: the model has no %s '%s'", thing_word(f->thing), y->name);
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
    if (*c < 'x' || *c > 'z' || !f->axes) FAIL("losses: axes '%s' of %s: letters x, y, z, for positions and body velocities only", y->axes, term->label);
    term->axis[*c - 'x'] = true;
  }
  if (y->keyframe != NULL && y->term != TG_TERM_POSE) FAIL("losses: %s takes no keyframe", term->label);
  int key = y->keyframe != NULL ? tg_model_find(t->model, TG_THING_KEY, y->keyframe) : -1;
  if (y->keyframe != NULL && key < 0) FAIL("losses: the model has no keyframe '%s'", y->keyframe);
  term->reference = key >= 0 ? t->model->key_qpos + key * t->model->nq : t->model->qpos0;
  return TG_OK;
}

// the step whose state a term at a time looks at: the nearest
static tgStatus resolve_time(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  if (y->term == TG_TERM_CONTROL) term->when = TG_TERM_ALL;
  if (y->time != NULL && y->at == TG_TERM_END) term->when = TG_TERM_TIME;
  if ((y->time != NULL) != (term->when == TG_TERM_TIME)) FAIL("losses: %s: give time with at: time, and only then", term->label);
  if (y->time == NULL) return TG_OK;
  double step = round(*y->time / t->h);
  if (!(step >= 0 && step <= t->steps)) FAIL("losses: the time %g s of %s is not within the horizon of %g s", *y->time, term->label, t->steps * t->h);
  term->step = (int)step;
  return TG_OK;
}

static tgStatus resolve_term(const tgTask *t, const YamlLoss *y, tgTerm *term, tgError *error) {
  *term = (tgTerm){.kind = y->term, .when = y->at, .weight = y->weight, .tolerance = y->tolerance};
  TG_TRY(resolve_name(t, y, term, error));
  if (!(y->tolerance >= 0 && isfinite(y->tolerance))) FAIL("losses: the tolerance %g of %s is negative or not finite", y->tolerance, term->label);
  if (y->tolerance > 0 && y->term > TG_TERM_BODY_COM) FAIL("losses: %s takes no tolerance; body_position, site_position and body_com do", term->label);
  if (!isfinite(y->weight) || y->weight < 0) FAIL("losses: the weight %g of %s is negative or not finite", y->weight, term->label);
  TG_TRY(resolve_target(t, y, term, error));
  return resolve_time(t, y, term, error);
}

static tgStatus resolve_losses(tgTask *t, tgError *error) {
  t->term = take(t, t->yaml->nlosses, sizeof *t->term);
  if (t->term == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %u losses", t->yaml->nlosses);
  for (unsigned k = 0; k < t->yaml->nlosses; k++) TG_TRY(resolve_term(t, &t->yaml->losses[k], &t->term[t->nterm++], error));
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
    if (!(u->frequency >= 0) || !isfinite(u->frequency) || !isfinite(u->amplitude)) FAIL("controls: frequency %g or amplitude %g", u->frequency, u->amplitude);
    double low = u->low != NULL ? *u->low : -INFINITY, high = u->high != NULL ? *u->high : INFINITY;
    if (!(low <= high)) FAIL("controls: low %g is above high %g, or one is not a number", low, high);
    if (!isfinite(u->start) || !(u->start_noise >= 0 && isfinite(u->start_noise)))
      FAIL("controls: start %g must be finite and start_noise %g not negative", u->start, u->start_noise);
    if (t->model->nu == 0) FAIL("controls: the model '%s' has no actuator", t->yaml->model);
  }
  t->ncontrol = tgi_controls_count(t);
  if (t->ncontrol < 0 || t->ncontrol + t->ninitial > 100000000) FAIL("controls: more than 1e8 variables");
  t->n = t->ncontrol + t->ninitial + t->nparam;
  if (t->n == 0) FAIL("nothing to decide: give controls, initial or parameters");
  return TG_OK;
}

static tgStatus resolve_optimizer(tgTask *t, tgError *error) {
  YamlOptimizer *o = &t->optimizer;
  *o = t->yaml->optimizer;
  if (o->iterations < 1) FAIL("optimizer: iterations is %d; it must be at least 1", o->iterations);
  const double *number[] = {&o->rate, &o->decay, &o->sigma, &o->tolerance, &o->beta1, &o->beta2};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    if (!(*number[i] >= 0) || !isfinite(*number[i]) || (i >= 4 && *number[i] >= 1))
      FAIL("optimizer: rate, decay, sigma, tolerance must not be negative and beta1, beta2 be below 1; one is %g", *number[i]);
  const YamlSuccess *s = t->yaml->success;
  bool below = false;
  for (int i = 0; i < t->nterm; i++) below |= t->term[i].kind == TG_TERM_HEIGHT;
  if (s != NULL && ((s->loss != NULL && !(*s->loss >= 0 || (below && isfinite(*s->loss)))) || !(s->distance >= 0)))
    FAIL("success: loss %g and distance %g must not be negative (the loss may be where a height is wanted)", s->loss != NULL ? *s->loss : 0, s->distance);
  if (o->population < 0 || o->elites < 0 || o->memory < 0 || o->shot < 0) FAIL("optimizer: population, elites, memory and shot must not be negative");
  if (o->rate == 0) o->rate = 0.01;
  if (o->decay == 0) o->decay = 1;
  t->stop_loss = o->stop_loss != NULL ? *o->stop_loss : -INFINITY;
  if (isnan(t->stop_loss)) FAIL("optimizer: stop_loss is not a number");
  if (o->beta1 == 0) o->beta1 = 0.9;
  if (o->beta2 == 0) o->beta2 = 0.999;
  if (o->population == 0) o->population = 16;
  if (o->elites == 0) o->elites = (o->population + 3) / 4;
  if (o->elites > o->population) FAIL("optimizer: %d elites of a population of %d", o->elites, o->population);
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
    FAIL("receding: apply %d and horizon %d must be multiples of the %d steps that a control is held, apply not the longer", y->apply, y->horizon, every);
  return TG_OK;
}

// what potential and force models take
static void field_options(const YamlOptions *o, tgContactOptions *c) {
  const double *given[] = {o->mu, o->eps, o->slip_speed, o->friction_range, o->local_range, o->limit_range, o->stiffness, o->eps1, o->eps2, o->eps3, o->dissipation_speed,
                           o->stiction_speed, o->spacing, o->prune, o->limit_frequency};
  double *number[] = {&c->mu, &c->eps, &c->slip_speed, &c->friction_range, &c->local_range, &c->limit_range, &c->stiffness, &c->eps1, &c->eps2, &c->eps3, &c->dissipation_speed,
                      &c->stiction_speed, &c->spacing, &c->prune, &c->limit_frequency};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i] != NULL) *number[i] = *given[i];
  c->hierarchy = o->form == YAML_FORM_PAPER ? TG_HIERARCHY_PAPER : o->form == YAML_FORM_BRUTE ? TG_HIERARCHY_BRUTE : TG_HIERARCHY_MOMENT;
  c->force_form = o->form == YAML_FORM_PAPER ? TG_FORCE_PAPER : TG_FORCE_CONSISTENT;
  c->integrator = o->integrator;
  c->detection = o->detection;
  c->friction_form = o->friction;
  c->long_range = o->long_range;
  if (o->threads > 0) c->threads = o->threads;
}

static tgStatus make_contact(tgTask *t, const char *word, const tgContactOptions *options, tgError *error) {
  tgContact *made = tg_contact_create(t->model, word, options, error);
  if (made == NULL) return TG_ERR_INVALID;
  tgStatus st = tgi_parameters_of_contact(t, made, error);
  if (st != TG_OK) {
    tg_contact_free(made);
    return st;
  }
  if (word != t->word) snprintf(t->word, sizeof t->word, "%s", word);
  t->contact_options = *options;
  tg_contact_free(t->contact);
  t->contact = made;
  return TG_OK;
}

// as the file has them
static tgContactOptions file_options(const tgTask *t) {
  const YamlOptions *o = t->yaml->options;
  tgContactOptions c = tg_contact_default();
  if (o != NULL && o->erp != NULL) c.erp = *o->erp;
  if (o != NULL && o->symplectic != NULL) c.symplectic = *o->symplectic;
  if (o != NULL && o->restitution_speed != NULL) c.restitution_speed = *o->restitution_speed;
  if (o != NULL) c.explicit_damping = o->explicit_damping;
  if (o != NULL) c.bounce_gradient = o->bounce_gradient;
  if (o != NULL) field_options(o, &c);
  c.aware_gradient = t->yaml->optimizer.aware != 0;
  return c;
}

// restitution is not in MJCF, so a task sets it on the description before it is compiled
static tgStatus set_restitution(const YamlTask *y, tgDesc *desc, tgError *error) {
  for (unsigned k = 0; k < y->nrestitution; k++) {
    int g = tg_desc_find_geom(desc, y->restitution[k].geom);
    if (g < 0) FAIL("restitution: the model has no geom '%s'", y->restitution[k].geom);
    desc->geom[g].restitution = y->restitution[k].value;
    size_t n = strlen(y->restitution[k].geom);   // with it the convex pieces that it was cut into (tg_desc_decompose)
    for (int i = 0; i < desc->ngeom; i++) {
      const char *name = desc->geom[i].name;
      if (name != NULL && strncmp(name, y->restitution[k].geom, n) == 0 && strncmp(name + n, "/piece", 6) == 0)
        desc->geom[i].restitution = y->restitution[k].value;
    }
  }
  return TG_OK;
}

static tgStatus load_model(tgTask *t, const char *directory, const tgLoadOptions *options, tgError *error) {
  if (directory == NULL) FAIL("model '%s' cannot be read: the task was given as text without a directory", t->yaml->model);
  if (!tgi_path_join(t->model_path, sizeof t->model_path, directory, t->yaml->model)) FAIL("model: the path '%s' is too long", t->yaml->model);
  tgLoadOptions o = options != NULL ? *options : tg_load_default();
  if (t->yaml->ground != NULL) {
    o.ground = true;
    o.ground_height = *t->yaml->ground;
  }
  tgDesc *desc = tg_desc_load(t->model_path, &o, error);
  if (desc == NULL) return TG_ERR_INVALID;
  tgStatus st = set_restitution(t->yaml, desc, error);
  if (st == TG_OK) t->model = tg_model_compile(desc, options != NULL ? options->allocator : NULL, error);
  tg_desc_free(desc);
  return st == TG_OK && t->model == NULL ? TG_ERR_INVALID : st;
}

static tgStatus resolve(tgTask *t, const char *directory, const tgLoadOptions *options, tgError *error) {
  TG_TRY(load_model(t, directory, options, error));
  snprintf(t->word, sizeof t->word, "%s", t->yaml->contact);
  tgContactOptions o = file_options(t);
  TG_TRY(make_contact(t, t->word, &o, error));
  TG_TRY(resolve_start(t, error));
  TG_TRY(resolve_initial(t, error));
  TG_TRY(tgi_parameters_resolve(t, error));
  TG_TRY(resolve_horizon(t, error));
  TG_TRY(resolve_losses(t, error));
  TG_TRY(resolve_receding(t, error));
  return resolve_optimizer(t, error);
}

static tgTask *load(const char *text, size_t bytes, const char *file, const char *directory, const tgLoadOptions *options, tgError *error) {
  tgAllocator a = tgi_allocator(options != NULL ? options->allocator : NULL);
  tgTask *t = a.alloc(a.ctx, sizeof *t);
  if (t == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a task");
    return NULL;
  }
  *t = (tgTask){.alloc = a};
  tgStatus st = tgi_task_parse(text, bytes, file, &t->yaml, error);
  if (st == TG_OK) {
    st = resolve(t, directory, options, error);
    if (st < 0 && error != NULL && error->file[0] == '\0') snprintf(error->file, sizeof error->file, "%s", file);
  }
  if (st == TG_OK) return t;
  tg_task_free(t);
  return NULL;
}

tgTask *tg_task_load_text(const char *text, size_t bytes, const char *directory, const tgLoadOptions *options, tgError *error) {
  if (text == NULL) {
    tgi_error(error, TG_ERR_ARG, "no text of a task given");
    return NULL;
  }
  return load(text, bytes, "task", directory, options, error);
}

tgTask *tg_task_load(const char *path, const tgLoadOptions *options, tgError *error) {
  if (path == NULL || *path == 0) {
    tgi_error(error, TG_ERR_ARG, "no path given; name a task file");
    return NULL;
  }
  tgFileSet *files = tgi_files_for_model(path, options, error);
  if (files == NULL) return NULL;
  const char *slash = strrchr(path, '/');
  char directory[1024];
  snprintf(directory, sizeof directory, "%.*s", slash == NULL ? 1 : (int)(slash - path), slash == NULL ? "." : slash == path ? "/" : path);
  if (slash == path) snprintf(directory, sizeof directory, "/");
  tgFile file;
  tgTask *t = NULL;
  if (tgi_file_open(files, 0, slash == NULL ? path : slash + 1, &file, error) == TG_OK) {
    t = load(file.data, file.size, path, directory, options, error);
    tgi_file_close(files, &file);
  }
  tgi_files_free(files);
  return t;
}

void tg_task_free(tgTask *t) {
  if (t == NULL) return;
  tgAllocator a = t->alloc;
  a.free(a.ctx, t->q0);
  a.free(a.ctx, t->v0);
  a.free(a.ctx, t->initial);
  tgi_parameters_free(t);
  a.free(a.ctx, t->state);
  a.free(a.ctx, t->term);
  tg_contact_free(t->contact);
  tg_model_free(t->model);
  tgi_task_parse_free(t->yaml);
  a.free(a.ctx, t);
}

tgStatus tg_task_override(tgTask *task, const char *contact, const char *method, int iterations, tgError *error) {
  if (task == NULL) return tgi_error(error, TG_ERR_ARG, "no task given");
  if (contact != NULL) {
    tgContactOptions o = task->contact_options;
    TG_TRY(make_contact(task, contact, &o, error));
  }
  if (iterations > 0) task->optimizer.iterations = iterations;
  if (method == NULL) return TG_OK;
  for (int i = 0; i < METHODS; i++)
    if (strcmp(method_word[i], method) == 0) {
      task->optimizer.method = (tgMethod)i;
      return TG_OK;
    }
  FAIL("there is no method '%s'; known are adam, descent, lbfgs, random, cem, ilqr, gauss_newton, bundle, ddp and shooting", method);
}

tgStatus tgi_task_set_contact(tgTask *t, const char *word, const tgContactOptions *options, tgError *error) {
  return make_contact(t, word != NULL ? word : t->word, options, error);
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

tgStatus tg_task_zero_contact_gradient(tgTask *task, tgError *error) {
  if (task == NULL) return tgi_error(error, TG_ERR_ARG, "no task given");
  tgContactOptions o = task->contact_options;
  o.zero_contact_gradient = true;
  return make_contact(task, task->word, &o, error);
}

tgStatus tg_task_contact_option(tgTask *task, const char *name, const char *value, tgError *error) {
  if (task == NULL) return tgi_error(error, TG_ERR_ARG, "no task given");
  tgContactOptions o = task->contact_options;
  TG_TRY(tg_contact_set(&o, name, value, error));
  return make_contact(task, task->word, &o, error);
}

const tgModel *tg_task_model(const tgTask *task) { return task != NULL ? task->model : NULL; }
const tgContact *tg_task_contact(const tgTask *task) { return task != NULL ? task->contact : NULL; }
const char *tg_task_model_path(const tgTask *task) { return task != NULL ? task->model_path : NULL; }
const char *tg_task_method(const tgTask *task) { return task != NULL ? method_word[task->optimizer.method] : NULL; }
int tg_task_steps(const tgTask *task) { return task != NULL ? task->steps : 0; }
double tg_task_timestep(const tgTask *task) { return task != NULL ? task->h : 0; }
const char *tg_task_target(const tgTask *task, int i, double target[3], int *body) {
  if (task == NULL) return NULL;
  if (i < 0 || i >= task->nterm) return NULL;
  const tgTerm *t = &task->term[i];
  bool position = t->kind <= TG_TERM_BODY_COM;
  for (int k = 0; k < 3; k++) target[k] = position ? t->target[k] : NAN;
  if (body != NULL) *body = !position ? -1 : t->kind == TG_TERM_SITE_POSITION ? task->model->site_body[t->index] : t->index;
  return t->label;
}
int tg_task_size(const tgTask *task) { return task != NULL ? task->n : 0; }

void tg_task_box(const tgTask *t, double *low, double *high) {
  if (t == NULL || low == NULL || high == NULL) return;
  int n = t->ncontrol;
  tgi_controls_box(t, low, high);
  for (int i = 0; i < t->ninitial; i++, n++) {
    low[n] = t->initial[i].low;
    high[n] = t->initial[i].high;
  }
  for (int i = 0; i < t->nparam; i++, n++) {
    low[n] = t->param[i].low;
    high[n] = t->param[i].high;
  }
}

const char *tg_task_parameter(const tgTask *task, int i, int *variable) {
  if (task == NULL || i < 0 || i >= task->nparam) return NULL;
  if (variable != NULL) *variable = task->n - task->nparam + i;
  return task->param[i].label;
}

// decision variables: those of the controls, then the initial state's entries: velocities as they are, positions as a
// tangent step from the file's start; then model parameters
void tg_task_start(const tgTask *task, uint64_t seed, double *x) {
  if (task == NULL || x == NULL) return;
  int n = task->ncontrol;
  tgi_controls_start(task, seed, x);
  for (int i = 0; i < task->ninitial; i++) x[n++] = task->initial[i].velocity ? task->v0[task->initial[i].dof] : 0;
  for (int i = 0; i < task->nparam; i++) x[n++] = task->param[i].start;
}

void tgi_task_position_step(const tgTask *task, const double *x, double *dq) {
  const double *init = x + task->ncontrol;
  for (int i = 0; i < task->model->nv; i++) dq[i] = 0;
  for (int i = 0; i < task->ninitial; i++)
    if (!task->initial[i].velocity) dq[task->initial[i].dof] = init[i];
}

// the entry of a rotation vector that the variable is: 0 to 2; -1: it moves along
static int turn_entry(const tgModel *m, const tgInitialVar *v) {
  int part = v->dof - m->jnt_vadr[v->joint], type = m->jnt_type[v->joint];
  return type == TG_JOINT_BALL ? part : type == TG_JOINT_FREE && part >= 3 ? part - 3 : -1;
}

// q0 = start (+) step. Decided entries of a rotation are one rotation vector, the others of it 0; the const task has no scratch, so the first
// variable of a rotation gathers the rest.
static void move_start(const tgTask *task, const double *init, double *q0) {
  const tgModel *m = task->model;
  memcpy(q0, task->q0, (size_t)m->nq * sizeof *q0);
  for (int i = 0; i < task->ninitial; i++) {
    const tgInitialVar *v = &task->initial[i];
    int adr = m->jnt_qadr[v->joint];
    bool first = true;
    if (v->velocity) continue;
    if (turn_entry(m, v) < 0) {
      q0[adr + v->dof - m->jnt_vadr[v->joint]] += init[i];
      continue;
    }
    double r[3] = {0, 0, 0}, turn[4], *quat = q0 + adr + (m->jnt_type[v->joint] == TG_JOINT_FREE ? 3 : 0);
    for (int k = 0; k < task->ninitial; k++) {
      const tgInitialVar *w = &task->initial[k];
      if (w->joint != v->joint || w->velocity || turn_entry(m, w) < 0) continue;
      first = first && k >= i;
      r[turn_entry(m, w)] = init[k];
    }
    if (!first) continue;
    tgi_quat_exp(turn, r);
    tgi_quat_mul(quat, quat, turn);
  }
}

void tg_task_expand(const tgTask *task, const double *x, double *q0, double *v0, double *u) {
  if (task == NULL || x == NULL) return;
  const tgModel *m = task->model;
  const double *init = x + task->ncontrol;
  if (v0 != NULL) {
    memcpy(v0, task->v0, (size_t)m->nv * sizeof *v0);
    for (int i = 0; i < task->ninitial; i++)
      if (task->initial[i].velocity) v0[task->initial[i].dof] = init[i];
  }
  if (q0 != NULL) {
    move_start(task, init, q0);
  }
  if (u != NULL) tgi_controls_expand(task, x, u);
}
