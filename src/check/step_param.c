// step_param.c: the gradient check of a step in the parameters of the model.
//
// One random functional L = w . (q', v', act') is differentiated by the adjoint and, along one random direction for each
// array of parameters, by extrapolated differences of steps that keep the rows and classes of the nominal one (pinned):
// the derivative is that of the active set which the step chose. The contact's features, the larger of two frictions
// and, of redundant contacts, which are, may switch all the same: differences narrow enough for that not to happen are
// then taken, and where there are none a side has to agree. Steps with impacts are not pinned, as the times of those are
// unknowns of their own, and steps of which the gradient is a surrogate are not: differences are then of the step as it is,
// narrow enough for its mode to stay.
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "check/check.h"
#include "contact/contact.h"
#include "sim/param.h"

typedef struct Check {
  tgSim *sim;
  double h;
  const volatile int *cancel;
  int nv, ny, n, features, rank;     // n: entries of the array; features: hash of the nominal contact features; rank:
                                     // of the nominal conditions
  bool whole;                        // the step cannot be pinned, but has a mode:
  uint64_t mode;                     // the nominal one
  const char *name;                  // of the array at hand
  bool switched, changes_h;
  tgReal *q, *v, *q1, *w, *nominal, *dir, *work;
  double *col, *err, *noise, *last;
} Check;

static int feature_hash(const tgSim *s) {
  unsigned h = 2166136261u;
  for (int i = 0; i < s->ncon; i++)
    if (s->contact[i].row >= 0) h = (h ^ (unsigned)s->contact[i].feature) * 16777619u;
  return (int)(h & 0x7fffffff);
}

static tgStatus step_from(Check *c, double h) {
  tgSim *s = c->sim;
  for (;;) {
    if (c->cancel != NULL && *c->cancel != 0) return TG_CANCELLED;
    memcpy(s->qpos, c->q, (size_t)s->m.nq * sizeof *c->q);
    tgi_sim_put_w(s, c->v);
    tgStatus status = tg_sim_step(s, h, NULL);
    if (status != TG_ERR_CAPACITY) return status;
    status = tgi_sim_grow(s);
    if (status != TG_OK) return status;
  }
}

// fetched anew: the sim may have grown since
static void set(Check *c, tgReal along) {
  tgReal *param = tgi_sim_param(c->sim, c->name, NULL, NULL);
  for (int i = 0; i < c->n && !c->changes_h; i++) param[i] = c->nominal[i] + along * c->dir[i];
}

static bool has_switched(const Check *c) {
  if (c->whole) return tgi_mode_hash(c->sim) != c->mode;
  return feature_hash(c->sim) != c->features || c->sim->info.rank != c->rank;
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Check *c = ctx;
  set(c, x[0]);
  tgStatus status = step_from(c, c->changes_h ? c->h + tgRe(x[0] * c->dir[0]) : c->h);
  if (status != TG_OK) return status;
  if (has_switched(c)) c->switched = true;
  tg_model_difference(c->sim->model, c->q1, c->sim->qpos, y);
  tgi_sim_take_w(c->sim, y + c->nv);
  return TG_OK;
}

// a number of the contact model that stands at an end of its range, on the other side of which there is no step
static bool at_an_end(const Check *c, const char *name) {
  const tgContact *contact = c->sim->contact_model;
  int k = contact != NULL ? tgi_contact_number_named(contact, name) : -1;
  double x = tgRe(c->nominal[0]);
  return k >= 0 && (x <= contact->number[k]->is.least || x >= contact->number[k]->is.most);
}

// A random direction, scaled to the entries; along the unit spheres of quaternions and axes; not where bounds
// are infinite. Of a number that is the largest of several, all move by the same share where a tie was met,
// and none overtakes another. Of ends at one of which a clamp was met, all move outwards: that side is the one of the
// derivative at an end. Two that are one move together.
static void direction(Check *c, const char *name, int rows, int cols, bool tied, uint64_t seed, int array) {
  int traits = tgi_param_traits(name);
  double least = INFINITY;
  for (int i = 0; i < c->sim->m.nhull; i++) least = fmin(least, c->sim->m.hull[i].radius);
  for (int i = 0; i < c->n; i++) {
    double size = fabs(tgRe(c->nominal[i])), d = tg_random_normal(seed, (uint64_t)array, (uint64_t)i);
    if (tied && (traits & TGI_PARAM_RIVALS) != 0) d = 1;
    if (tied && (traits & TGI_PARAM_CLAMP) != 0) {
      bool one = tgRe(c->nominal[i]) == tgRe(c->nominal[i ^ 1]);
      d = one ? tg_random_normal(seed, (uint64_t)array, (uint64_t)(i / 2)) : i % 2 == 0 ? -fabs(d) : fabs(d);
    }
    c->dir[i] = (traits & TGI_PARAM_CORNERS) != 0 ? 0.02 * least * d : d * (size > 0 && size < 1 ? size : 1);
    if (!isfinite(size) || (size == 0 && (traits & TGI_PARAM_SWITCH) != 0)) c->dir[i] = 0;
    if (c->changes_h) c->dir[i] = c->h * 1e-1;
    if (at_an_end(c, name)) c->dir[i] = 0;
  }
  tgi_param_tangent(c->sim->model, name, rows, cols, c->nominal, c->dir);
}

static tgiNumDiff differences(Check *c) {
  return (tgiNumDiff){.nx = 1, .nt = 1, .ny = c->ny, .map = map, .ctx = c, .analytic = !c->changes_h};
}

// Round-off of L, at least that of the numbers it is made of. The velocity after the step of a contact potential is a
// difference of coordinates over h.
static double measure_noise(Check *c) {
  const tgSim *s = c->sim;
  tgiNumDiff d = differences(c);
  tgReal zero = 0, one = 1;
  double sum = 0, largest = 1;
  bool measured = tgi_numdiff_noise(&d, &zero, &one, c->noise, c->last, c->work) == TG_OK;
  for (int i = 0; i < s->m.nq; i++) largest = fmax(largest, fabs(tgRe(c->q1[i])));
  for (int i = 0; i < c->ny; i++) {
    double least = 2.2e-16 * largest;
    if (i >= c->nv && s->stepper->velocity_by_difference) least = fmax(least, least / c->h);
    double noise = fmax(least, measured ? c->noise[i] : 0);
    sum += tgRe(c->w[i] * c->w[i]) * noise * noise;
  }
  return sqrt(sum);
}

// dL along the direction and what it may be off by; switched is set where a feature changed
static tgStatus difference(Check *c, double step, tgiSide side, double *slope, double *error) {
  tgiNumDiff d = differences(c);
  tgReal zero = 0, one = 1;
  *slope = *error = 0;
  c->switched = false;
  d.step = step;
  tgStatus status = tgi_numdiff(&d, &zero, &one, side, c->col, c->err, c->work);
  for (int i = 0; i < c->ny && status == TG_OK; i++) {
    *slope += tgRe(c->w[i]) * c->col[i];
    *error += fabs(tgRe(c->w[i])) * c->err[i];
  }
  return status;
}

// What is known of dL along the direction: the slope that agrees best, by how much, what the differences leave open,
// whether it is round-off, and whether something switched.
typedef struct Slope { double value, error, doubt; bool round_off, switched; } Slope;

static const double widest = 1e-2, narrowest = 1e-9;

// What a slope may be off by, by what it leaves open itself: up to the round-off of the narrowest difference, as more is a step that is not
// smooth, in which any derivative would pass.
static double leeway(double estimate, double noise, double step) {
  return fmin(4 * estimate, tgi_numdiff_round_off(noise, narrowest)) + tgi_numdiff_round_off(noise, step);
}

// with one step; where something switches or a tie is met, also of either side
static tgStatus slope_at(Check *c, double step, double ours, bool tied, double noise, double tolerance, Slope *out) {
  static const tgiSide sides[3] = {TGI_SIDE_BOTH, TGI_SIDE_ABOVE, TGI_SIDE_BELOW};
  double round_off = tgi_numdiff_round_off(noise, step);
  tgStatus status = TG_OK;
  *out = (Slope){.error = INFINITY, .doubt = INFINITY};
  for (int side = 0; side < 3 && (side == 0 || tied || c->switched); side++) {
    double slope, estimate;
    tgStatus st = difference(c, step, sides[side], &slope, &estimate);
    if (st == TG_CANCELLED || st == TG_ERR_MEMORY) return st;
    if (st != TG_OK) status = st;
    if (st != TG_OK) continue;
    double doubt = 4 * estimate + round_off, apart = fabs(ours - slope),
           error = apart > 0 ? apart / fmax(fabs(slope), leeway(estimate, noise, step) / tolerance) : apart;
    if (doubt < out->doubt) {
      out->doubt = doubt;
      out->round_off = 4 * estimate <= round_off;
    }
    out->switched = out->switched || c->switched;
    if (!(error < out->error)) continue;
    out->error = error;
    out->value = slope;
  }
  return out->error < INFINITY ? TG_OK : status;
}

// Differences of the step that leaves least open, of one across which nothing switches if there is one: narrower
// where the step is refused, switches or is not smooth enough, wider where round-off counts. With none allowed
// the status is the refusal.
static tgStatus compare(Check *c, double ours, bool tied, double tolerance, Slope *best) {
  double noise = measure_noise(c), step = 1e-5;
  int way = 0;
  tgStatus refused = TG_OK;
  *best = (Slope){.error = INFINITY, .doubt = INFINITY, .switched = true};
  while (step < 2 * widest && step > narrowest / 2) {
    Slope now;
    tgStatus status = slope_at(c, step, ours, tied, noise, tolerance, &now);
    if (status == TG_CANCELLED || status == TG_ERR_MEMORY) return status;
    if (status != TG_OK) refused = status;
    bool calm = status == TG_OK && !now.switched;
    if (status == TG_OK && (now.switched == best->switched ? now.doubt < best->doubt : calm)) *best = now;
    if (!best->switched && (best->doubt <= 0.1 * tolerance * fabs(ours) || best->error == 0)) break;
    int to = calm && now.round_off ? 1 : -1;
    if (way != 0 && to != way) break;
    way = to;
    step *= to > 0 ? 10 : 0.1;
  }
  return best->error < INFINITY ? TG_OK : refused;
}

// an array of which every difference that was tried is across a switch
static void count_spoiled(tgGradBlock *b, const char *name) {
  b->spoiled++;
  if (b->label < TG_GRAD_ONE_SIDED) b->label = TG_GRAD_ONE_SIDED;
  if (b->reason[0] == '\0') snprintf(b->reason, sizeof b->reason, "the step changes mode next to this value of %s", name);
}

// one array; *known is false where it has no derivative in this model
static tgStatus check_array(Check *c, int array, const tgGradCheckOptions *o, tgGradBlock *b, bool *known) {
  const char *name = tgi_param_name(c->sim->contact_model, array);
  tgError error;
  tgGradInfo info;
  tgSim *s = c->sim;
  tgParamGrad *p = s->contact_model != NULL ? tg_param_grad_create_contact(s->contact_model, &name, 1, &s->alloc, &error)
                                            : tg_param_grad_create(s->model, &name, 1, &s->alloc, &error);
  if (p == NULL) return error.status;
  int rows, cols;
  tgReal *g = tg_param_grad_field(p, name, &rows, &cols);
  tgStatus status = step_from(c, c->h);
  c->n = rows * cols;
  c->changes_h = strcmp(name, "opt_timestep") == 0;
  c->name = name;
  memcpy(c->nominal, tgi_sim_param(c->sim, name, NULL, NULL), (size_t)c->n * sizeof *c->nominal);
  if (status == TG_OK) status = tg_sim_step_vjp(c->sim, c->w, c->w + c->nv, NULL, NULL, NULL, p, &info);
  *known = status != TG_ERR_UNSUPPORTED;
  if (status == TG_OK && c->n > 0) {
    double ours = 0;
    // entries at the end of their range are in no direction
    if (p->ends > 0 && info.ties == p->ends && info.label < TG_GRAD_SURROGATE) info = (tgGradInfo){.label = TG_GRAD_EXACT};
    bool tied = info.ties > 0 || info.label == TG_GRAD_SURROGATE;
    Slope best;
    direction(c, name, rows, cols, tied, o->seed, array);
    for (int i = 0; i < c->n; i++)
      if (c->dir[i] != 0) ours += tgRe(g[i] * c->dir[i]);
    status = compare(c, ours, tied, o->tolerance, &best);
    set(c, 0);
    bool cannot = status != TG_OK && status != TG_CANCELLED && status != TG_ERR_MEMORY;
    if (cannot || (status == TG_OK && !(best.error <= b->error))) {
      b->error = best.error;
      b->ours = ours;
      b->reference = best.value;
      snprintf(b->col_name, sizeof b->col_name, "%s", name);
    }
    if (cannot) {
      snprintf(b->reason, sizeof b->reason, "no step with %s changed by a share of 1e-9: %.130s", name, tg_sim_error(s)->text);
      status = TG_OK;
    }
    if (info.label > b->label) {
      b->label = info.label;
      if (isfinite(b->error)) memcpy(b->reason, info.reason, sizeof b->reason);
    }
    if (status == TG_OK && !cannot && best.switched) count_spoiled(b, name);
  }
  tg_param_grad_free(p);
  return *known ? status : TG_OK;
}

static int largest_array(tgSim *s) {
  int most = 1, rows, cols;
  for (int i = 0; tgi_param_name(s->contact_model, i) != NULL; i++)
    if (tgi_sim_param(s, tgi_param_name(s->contact_model, i), &rows, &cols) != NULL && rows * cols > most) most = rows * cols;
  return most;
}

static void place(Check *c, tgLayout *l, int most) {
  size_t nq = (size_t)c->sim->m.nq, nw = (size_t)(c->ny - c->nv), ny = (size_t)c->ny;
  tgiNumDiff d = {.nx = 1, .nt = 1, .ny = c->ny};
  tgReal **arrays[] = {&c->q, &c->v, &c->q1, &c->w, &c->nominal, &c->dir, &c->work};
  size_t sizes[] = {nq, nw, nq, ny, (size_t)most, (size_t)most, tgi_numdiff_work(&d)};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(tgReal));
  c->col = tgi_place(l, ny, sizeof(double));
  c->err = tgi_place(l, ny, sizeof(double));
  c->noise = tgi_place(l, ny, sizeof(double));
  c->last = tgi_place(l, 2 * ny, sizeof(double));
}

static tgStatus run(Check *c, const tgGradCheckOptions *o, tgGradCheck *check) {
  tgSim *s = c->sim;
  tgGradInfo info;   // of the nominal step as it is made, without pins
  memcpy(c->q, s->qpos, (size_t)s->m.nq * sizeof *c->q);
  tgi_sim_take_w(s, c->v);
  for (int i = 0; i < c->ny; i++) c->w[i] = tg_random_normal(o->seed, 1000, (uint64_t)i);
  tgStatus status = step_from(c, c->h);
  tg_sim_freeze_memory(s, true);
  if (status == TG_OK) status = step_from(c, c->h);
  if (status != TG_OK) return status;
  memcpy(c->q1, s->qpos, (size_t)s->m.nq * sizeof *c->q1);
  while ((status = tg_sim_step_vjp(s, c->w, c->w + c->nv, NULL, NULL, NULL, NULL, &info)) == TG_ERR_CAPACITY)
    if ((status = tgi_sim_grow(s)) != TG_OK || (status = step_from(c, c->h)) != TG_OK) return status;
  if (status != TG_OK) return status;
  c->features = feature_hash(s);
  bool other = info.label >= TG_GRAD_SURROGATE;   // what is pinned would be another step still, which says nothing of its label
  c->whole = s->stepper->pins != NULL && (other || !s->stepper->pins(s));
  c->mode = tgi_mode_hash(s);
  if (s->stepper->pins != NULL && !c->whole) {
    s->stepper->remember(s);
    s->pinned = true;
    status = step_from(c, c->h);
    if (status != TG_OK) return status;
  }
  c->rank = s->info.rank;
  tgGradBlock *b = tgi_check_block(check, "dL/dp", o->tolerance);
  if (b == NULL) return TG_OK;
  if (other) {
    b->label = info.label;
    memcpy(b->reason, info.reason, sizeof b->reason);
  }
  int unknown = 0;
  for (int k = 0; tgi_param_name(s->contact_model, k) != NULL; k++) {
    bool known = true;
    status = check_array(c, k, o, b, &known);
    if (status != TG_OK) return status;
    if (!known && unknown++ == 0 && b->reason[0] == '\0')
      snprintf(b->reason, sizeof b->reason, "left out: %s, which has no derivative in this model", tgi_param_name(s->contact_model, k));
  }
  tgi_check_verdict(check, b);
  return TG_OK;
}

tgStatus tg_grad_check_parameters(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check) {
  tgGradCheckOptions o = options != NULL ? *options : tg_grad_check_default();
  if (sim == NULL || check == NULL || o.size != sizeof o) return TG_ERR_ARG;
  Check c = {.sim = sim, .cancel = o.cancel, .h = o.h > 0 ? o.h : tg_model_timestep(sim->model), .nv = sim->m.nv};
  c.ny = c.nv + tgi_nw(&sim->m);
  tgLayout l = {.base = NULL};
  int most = largest_array(sim);
  place(&c, &l, most);
  char *block = sim->alloc.alloc(sim->alloc.ctx, l.used);
  size_t bytes = tg_sim_snapshot_size(sim);
  char *before = sim->alloc.alloc(sim->alloc.ctx, bytes + 1);
  tgStatus status = block != NULL && before != NULL ? TG_OK
                    : tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for the check of parameters");
  if (status == TG_OK) {
    l = (tgLayout){.base = block};
    place(&c, &l, most);
    tg_sim_save(sim, before);
    bool frozen = sim->frozen;
    status = run(&c, &o, check);
    sim->pinned = false;
    sim->frozen = frozen;
    tgError error = sim->error;
    tgStatus restored = tg_sim_restore(sim, before);
    sim->error = error;
    if (status == TG_OK) status = restored;
  }
  sim->alloc.free(sim->alloc.ctx, before);
  sim->alloc.free(sim->alloc.ctx, block);
  return status;
}
