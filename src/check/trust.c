// trust.c: over which change of the variables a gradient foretells the loss, and where on the way it grows.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "check/check.h"
#include "model/model.h"
#include "rollout/rollout.h"
#include "tangere/force.h"

// A change is foretold where it is within a factor of 2 of what the gradient says.
static const double LEAST_RATIO = 0.5, MOST_RATIO = 2;
// From a width to the next by FACTOR; directions other than down the gradient are tried from 1/SPAN of its range up to it. Of what the
// probes show TOLD is told, as other directions may do worse (200 rollouts of a runner: test_trust). The second factor is the quick one.
static const double FACTOR[2] = {1.4142135623730951, 4}, SPAN = 1024, TOLD = 0.6;
// of a loss: its round-off; what the narrowest probe changes is that many times it
static const double ROUND_OFF = 2.2e-16, CLEAR = 1e4;

tgTrustOptions tg_trust_default(void) {
  return (tgTrustOptions){.size = sizeof(tgTrustOptions), .least = 1e-6, .most = 1e3, .directions = 12};
}

tgStatus tgi_trust_options_check(const tgTrustOptions *o, tgError *error) {
  if (o->size != sizeof *o) return tgi_error(error, TG_ERR_ARG, "options of trust must come from tg_trust_default");
  // the ladder of widths starts at `least` and ends
  if (!(o->least > 0) || !(o->most >= o->least) || !isfinite(o->most))
    return tgi_error(error, TG_ERR_ARG, "trust tries changes from %g to %g; 0 < least <= most, finite, is wanted", o->least, o->most);
  if (o->directions < 0 || o->directions > 100)
    return tgi_error(error, TG_ERR_ARG, "trust takes 0 to 100 random directions, not %d", o->directions);
  return TG_OK;
}

// ---- range ----

typedef struct Probe {
  const tgiTrustMap *map;
  const tgTrustOptions *o;
  double *d, *step;        // unit direction, and a step along it
  double norm, loss, from; // norm of the gradient, loss at no step, narrowest width
  tgTrust *trust;
  tgStatus status;         // of the last run, TG_CANCELLED ends
} Probe;

// the change of the loss along d is foretold at width w; a run that ends is not
static bool foretold(Probe *p, double w, double slope) {
  double value;
  for (int i = 0; i < p->map->n; i++) p->step[i] = w * p->d[i];
  p->status = p->map->loss(p->map->ctx, p->step, &value);
  p->trust->runs++;
  if (p->status != TG_OK) return false;
  double change = value - p->loss, said = w * slope, typical = w * p->norm / sqrt(p->map->n);
  if (fabs(said) >= typical) return change / said >= LEAST_RATIO && change / said <= MOST_RATIO;
  // across the gradient little is said: the error is measured by what a random direction sees of it
  return fabs(change - said) <= LEAST_RATIO * typical;
}

// the width up to which changes along d are foretold, from `least` to `most`; 0: not even there
static double climb(Probe *p, double slope, double least, double most) {
  double reached = 0;
  for (double w = least; w <= most * (1 + 1e-9) && p->status != TG_CANCELLED; w *= FACTOR[p->o->quick]) {
    if (!foretold(p, w, slope)) break;
    reached = w;
  }
  return reached;
}

static void random_direction(Probe *p, int k) {
  double sum = 0;
  for (int i = 0; i < p->map->n; i++) {
    p->d[i] = tg_random_normal(p->o->seed, (uint64_t)k, (uint64_t)i);
    sum += p->d[i] * p->d[i];
  }
  for (int i = 0; i < p->map->n; i++) p->d[i] /= sqrt(sum);
}

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

// of gradients whose squares are beyond all numbers, too, as those of a motion that is not stable
static double norm_of(int n, const double *g) {
  double size = sqrt(dot(n, g, g));
  if (isfinite(size)) return size;
  size = 0;
  for (int i = 0; i < n; i++) size = hypot(size, g[i]);
  return size;
}

tgStatus tgi_trust_range(const tgiTrustMap *map, const tgTrustOptions *o, double loss, const double *g, double *work, tgTrust *trust) {
  int n = map->n;
  Probe p = {.map = map, .o = o, .d = work, .step = work + n, .norm = norm_of(n, g), .loss = loss, .trust = trust};
  trust->slope = p.norm;
  trust->range = 0;
  if (!(p.norm > 0) || !isfinite(p.norm) || !isfinite(loss)) return TG_OK;
  p.from = fmax(o->least, CLEAR * ROUND_OFF * fabs(loss) / p.norm);
  for (int i = 0; i < n; i++) p.d[i] = -g[i] / p.norm;
  double range = climb(&p, -p.norm, p.from, o->most);
  for (int i = 0; i < n; i++) p.d[i] = -p.d[i];
  if (range > 0) range = climb(&p, p.norm, range / SPAN, range);
  for (int k = 0; k < o->directions && range > 0; k++) {
    random_direction(&p, k);
    range = climb(&p, dot(n, g, p.d), range / SPAN, range);
  }
  if (p.status == TG_CANCELLED) return TG_CANCELLED;
  trust->range = TOLD * range;
  trust->beyond = range > 0 && range * FACTOR[o->quick] > o->most;
  return TG_OK;
}

// ---- growth ----

enum { PAIRS = 256 };   // that are told apart, at most

typedef struct Watch {
  const tgRolloutRun *given;
  tgReal *sq, *sv;         // of the run
  tgReal *gq, *gv;         // (T+1) x nv, nw: each loss term's gradient
  int at;                  // step whose contacts are looked at, -1: none
  bool untimed;            // the step does not know when in it bodies meet: such steps are counted
  int met, nbefore;        // in which they did; the pairs that touch at the state before
  struct { int a, b; } before[PAIRS];
  char *by;
  size_t size;
} Watch;

// the contact of this step that presses most
static void name_contact(Watch *w, tgSim *sim) {
  const tgModel *m = tg_sim_model(sim);
  tgContactInfo c;
  double most = 0;
  for (int at = 0; tg_sim_next_contact(sim, &at, &c);) {
    double force = sqrt(c.world[0] * c.world[0] + c.world[1] * c.world[1] + c.world[2] * c.world[2]);
    char a[64], b[64];
    if (!(force > most)) continue;
    most = force;
    snprintf(w->by, w->size, "%s on %s", tgi_model_label(m, TG_THING_GEOM, c.geom1, a, sizeof a),
             tgi_model_label(m, TG_THING_GEOM, c.geom2, b, sizeof b));
  }
}

// a step in which a pair touches that did not at the state before
static void count_meeting(Watch *w, tgSim *sim, int t) {
  Watch now = {.nbefore = 0};
  tgContactInfo c;
  bool meets = false;
  for (int at = 0; tg_sim_next_contact(sim, &at, &c);) {
    bool known = false, listed = false;
    for (int i = 0; i < w->nbefore; i++) known = known || (w->before[i].a == c.geom1 && w->before[i].b == c.geom2);
    for (int i = 0; i < now.nbefore; i++) listed = listed || (now.before[i].a == c.geom1 && now.before[i].b == c.geom2);
    if (listed || now.nbefore == PAIRS) continue;
    now.before[now.nbefore].a = c.geom1;
    now.before[now.nbefore++].b = c.geom2;
    meets = meets || !known;
  }
  w->met += meets && t > 0;
  w->nbefore = now.nbefore;
  memcpy(w->before, now.before, sizeof now.before);
}

// `lcp` by `contact_rule: touching`, but for a gradient that goes through the times of impacts
static bool untimed(const tgContact *contact) {
  const tgContactOptions *o = tg_contact_options(contact);
  return tg_contact_get(o, "contact_rule") == (double)TG_RULE_TOUCHING && !(tg_contact_get(o, "bounce_gradient") > 0);
}

static tgStatus watch(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  Watch *w = ctx;
  size_t nv = (size_t)sim->m.nv, nw = (size_t)tgi_nw(&sim->m);
  tgStatus status = w->given->loss(w->given->loss_ctx, sim, t, steps, value, gq, gv, gu);
  if (gq != NULL) {
    memcpy(w->gq + (size_t)t * nv, gq, nv * sizeof *gq);
    memcpy(w->gv + (size_t)t * nw, gv, nw * sizeof *gv);
  }
  if (gq == NULL && t == w->at && t < steps) name_contact(w, sim);
  if (gq == NULL && w->untimed && t < steps) count_meeting(w, sim, t);
  return status;
}

static void choice(void *ctx, bool keep, tgGradInfo *grad) {
  const Watch *w = ctx;
  if (w->given->loss_choice != NULL) w->given->loss_choice(w->given->loss_ctx, keep, grad);
}

// adjoints of many steps may be so large or small that their squares are not numbers any more
static double norm(const tgReal *a, const tgReal *less, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum = hypot(sum, tgRe(a[i]) - (less != NULL ? tgRe(less[i]) : 0));
  return sum;
}

// The adjoint that step t has made of the one after it, without the loss's own gradient at t, over that: how it multiplies.
static void growth(const Watch *w, size_t nv, size_t nw, int steps, tgTrust *trust) {
  double sum = 0;
  int counted = 0;
  trust->step = -1;
  trust->multiplied = 0;
  for (int t = 0; t < steps; t++) {
    size_t q = (size_t)t * nv, v = (size_t)t * nw;
    double before = hypot(norm(w->sq + q, w->gq + q, nv), norm(w->sv + v, w->gv + v, nw)),
           after = hypot(norm(w->sq + q + nv, NULL, nv), norm(w->sv + v + nw, NULL, nw));
    if (!(after > 0) || !(before > 0)) continue;
    double ratio = before / after;
    sum += log(ratio);
    counted++;
    if (ratio > trust->multiplied) {
      trust->multiplied = ratio;
      trust->step = t;
    }
  }
  trust->growth = counted > 0 ? exp(sum / counted) : 1;
}

tgStatus tgi_trust_growth(tgRollout *rollout, const tgRolloutRun *given, tgTrust *trust, tgError *error) {
  tgSim *sim = tg_rollout_sim(rollout);
  size_t nv = (size_t)sim->m.nv, nw = (size_t)tgi_nw(&sim->m), rows = (size_t)tgi_rollout_steps(rollout) + 1;
  tgAllocator a = sim->alloc;
  tgReal *memory = a.alloc(a.ctx, (rows * 2 * (nv + nw) + nv + 1) * sizeof *memory);
  if (memory == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the growth of a gradient");
  Watch w = {.given = given, .sq = memory, .sv = memory + rows * nv, .gq = memory + rows * (nv + nw), .at = -1, .by = trust->by,
             .size = sizeof trust->by};
  w.gv = w.gq + rows * nv;
  memset(memory, 0, rows * 2 * (nv + nw) * sizeof *memory);
  tgRolloutRun run = *given;
  tgRolloutResult result;
  run.loss = watch;
  run.loss_ctx = &w;
  run.loss_choice = choice;
  run.sq = w.sq;
  run.sv = w.sv;
  w.untimed = untimed(sim->contact_model);
  if (run.dq0 == NULL) run.dq0 = memory + rows * 2 * (nv + nw);
  tgiAnswersAsked asked = sim->answers_asked;
  if (asked == TGI_ASK_FEW) sim->answers_asked = TGI_ASK_CHANGED;
  tgStatus status = tg_rollout_run(rollout, &run, &result);
  sim->answers_asked = asked;
  trust->grad = result.grad;
  trust->loss = tgRe(result.loss);
  trust->unstable = result.unstable;
  trust->ambiguous = result.ambiguous;
  trust->untimed = w.met;
  w.untimed = false;
  if (status == TG_OK) growth(&w, nv, nw, (int)rows - 1, trust);
  if (status == TG_OK && trust->step >= 0) {
    w.at = trust->step;
    run = *given;
    run.loss = watch;
    run.loss_ctx = &w;
    run.loss_choice = choice;
    run.dq0 = run.dv0 = run.du = NULL;
    run.dp = NULL;
    status = tg_rollout_run(rollout, &run, &result);
  }
  if (status != TG_OK) *error = result.error;
  a.free(a.ctx, memory);
  return status;
}

// ---- of a rollout ----

typedef struct Controls {
  tgRollout *rollout;
  const tgRolloutRun *given;
  tgReal *u;
  size_t n;
} Controls;

static tgStatus loss_of_controls(void *ctx, const double *step, double *value) {
  Controls *c = ctx;
  tgRolloutRun run = *c->given;
  tgRolloutResult result;
  for (size_t i = 0; i < c->n; i++) c->u[i] = (c->given->u != NULL ? c->given->u[i] : 0) + step[i];
  run.u = c->u;
  run.q = run.v = run.sq = run.sv = run.dq0 = run.dv0 = run.du = run.D = NULL;
  run.info = NULL;
  run.dp = NULL;
  tgStatus status = tg_rollout_run(c->rollout, &run, &result);
  *value = tgRe(result.loss);
  return status;
}

tgStatus tg_rollout_trust(tgRollout *rollout, const tgRolloutRun *run, const tgTrustOptions *options, tgTrust *trust) {
  if (rollout == NULL || run == NULL || run->loss == NULL || trust == NULL) return TG_ERR_ARG;
  tgSim *sim = tg_rollout_sim(rollout);
  tgTrustOptions o = options != NULL ? *options : tg_trust_default();
  size_t n = (size_t)tgi_rollout_steps(rollout) * (size_t)sim->m.nu;
  *trust = (tgTrust){.step = -1};
  TG_TRY(tgi_trust_options_check(&o, &sim->error));
  if (n == 0) return tgi_error(&sim->error, TG_ERR_ARG, "the model has no controls, of whose change the trust would be");
  if (n > INT32_MAX / 4) return tgi_error(&sim->error, TG_ERR_LIMIT, "too many controls: %zu", n);
  tgAllocator a = sim->alloc;
  tgReal *memory = a.alloc(a.ctx, 2 * n * sizeof *memory);
  double *work = a.alloc(a.ctx, 3 * n * sizeof *work);
  tgStatus status = TG_OK;
  if (memory == NULL || work == NULL) status = tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for the trust of a rollout");
  Controls c = {.rollout = rollout, .given = run, .u = memory, .n = n};
  tgRolloutRun gradient = *run;
  tgError error = {0};
  gradient.du = memory != NULL ? memory + n : NULL;
  gradient.dq0 = gradient.dv0 = NULL;   // what the caller asks for is not written
  gradient.dp = NULL;
  if (status == TG_OK && (status = tgi_trust_growth(rollout, &gradient, trust, &error)) != TG_OK)
    tgi_error(&sim->error, status, "%s", error.text);
  if (status == TG_OK) {
    for (size_t i = 0; i < n; i++) work[i] = tgRe(gradient.du[i]);
    tgiTrustMap map = {.n = (int)n, .loss = loss_of_controls, .ctx = &c};
    status = tgi_trust_range(&map, &o, trust->loss, work, work + n, trust);
  }
  a.free(a.ctx, memory);
  a.free(a.ctx, work);
  return status;
}
