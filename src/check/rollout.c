// rollout.c: the gradient check of a whole rollout: x = (q0, w0, u) -> L, w0 = (v0, act0), along random directions.
//
// Every run starts with empty contact memory, so L is a function of x. The mode of each step (check/mode.h) is hashed; a stencil
// in which a step has another mode than in the nominal run is shrunk, and where that does not help its two sides are taken apart.
//
// A loss may say that it stands at a kink of its own: several values are least there, and it has taken the derivative of one. Along a
// direction the two sides then differ, and the derivative of any of them lies between the two; on one side of some directions the loss is
// that one alone, and its slope there is held to it.
#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "contact/contact.h"
#include "rollout/rollout.h"

// first steps of the stencils; the narrowest for contact potentials
static const double WIDE = 1e-4, NARROW = 1e-6, NARROWEST = 1e-8;
enum { PROBES = 3, HALVINGS = 12, KINK_SLOPES = 16 };

typedef struct Check {
  tgRollout *rollout;
  const tgRolloutRun *given;
  tgGradCheckOptions o;
  const tgModel *m;
  size_t nu_all;                 // T nu
  size_t nx, nt;
  tgReal *x, *t, *g, *work;      // point, direction, gradient (dq0, dv0, du), of tgi_numdiff
  uint64_t *hash;                // T: modes of the nominal run
  tgiMode nominal, other;
  // of the watching loss
  bool recording;
  bool forgiven;                 // the next run may have another mode: it sits on the switch, where the loss is that of both its sides
  int first;                     // first step with another mode in any run of this stencil, -1 when none
  int capture_at;
  tgiMode *capture_to;
  tgRolloutResult result;
  tgGradInfo kink;               // what the loss says of the derivative it took, where it says anything
} Check;

// the caller's loss, with a look at the mode of each step
static tgStatus watch(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  Check *c = ctx;
  if (t < steps) {
    uint64_t hash = tgi_mode_hash(sim);
    if (c->recording) c->hash[t] = hash;
    else if (hash != c->hash[t] && (c->first < 0 || t < c->first)) c->first = t;
    if (t == c->capture_at) tgi_mode_capture(sim, c->capture_to);
  }
  return c->given->loss(c->given->loss_ctx, sim, t, steps, value, gq, gv, gu);
}

static void choice(void *ctx, bool keep, tgGradInfo *grad) {
  Check *c = ctx;
  if (c->given->loss_choice != NULL) c->given->loss_choice(c->given->loss_ctx, keep, grad);
}

static tgStatus run_at(Check *c, const tgReal *x, bool gradient) {
  const tgModel *m = c->m;
  tgRolloutRun run = *c->given;
  run.q0 = x;
  run.v0 = x + m->nq;
  run.u = x + m->nq + tgi_nw(m);
  run.loss = watch;
  run.loss_ctx = c;
  run.loss_choice = choice;
  run.q = run.v = NULL;
  run.info = NULL;
  run.dq0 = gradient ? c->g : NULL;
  run.dv0 = gradient ? c->g + m->nv : NULL;
  run.du = gradient ? c->g + m->nv + tgi_nw(m) : NULL;
  return tg_rollout_run(c->rollout, &run, &c->result);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Check *c = ctx;
  tgStatus status = run_at(c, x, false);
  if (c->forgiven) c->first = -1;
  c->forgiven = false;
  y[0] = c->result.loss;
  return status;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const Check *c = ctx;
  size_t nq = (size_t)c->m->nq, nv = (size_t)c->m->nv;
  tg_model_integrate(c->m, x, d, out);
  for (size_t i = 0; i < (size_t)tgi_nw(c->m) + c->nu_all; i++) out[nq + i] = x[nq + i] + d[nv + i];
}

// Names what switches at step c->first between the nominal run and the one at x (+) a t.
static void name_switch(Check *c, double a, char *text, size_t size) {
  char what[160] = "";
  int step = c->first;
  c->capture_at = step;
  c->capture_to = &c->nominal;
  tgStatus status = run_at(c, c->x, false);
  tgReal *d = c->work, *x = c->work + c->nt;
  for (int sign = 1; sign >= -1 && status == TG_OK && what[0] == 0; sign -= 2) {
    for (size_t i = 0; i < c->nt; i++) d[i] = sign * a * c->t[i];
    retract(c, c->x, d, x);
    c->capture_to = &c->other;
    status = run_at(c, x, false);
    if (status == TG_OK) tgi_mode_difference(c->m, &c->nominal, &c->other, what, sizeof what);
  }
  c->capture_at = -1;
  snprintf(text, size, "step %d: %s", step, what[0] != 0 ? what : "another contact set");
}

static double dot(const tgReal *a, const tgReal *b, size_t n) {
  double s = 0;
  for (size_t i = 0; i < n; i++) s += tgRe(a[i]) * tgRe(b[i]);
  return s;
}

// -1 where control i (T x nu) stands at the upper end of its range, 1 at the lower, 0 inside or beyond
static int inwards(const Check *c, size_t i) {
  const tgModel *m = c->m;
  size_t a = i % (size_t)m->nu;
  double u = tgRe(c->x[(size_t)m->nq + (size_t)tgi_nw(m) + i]);
  if (!m->act_ctrllimited[a]) return 0;
  return u == tgRe(m->act_ctrlrange[2 * a + 1]) ? -1 : u == tgRe(m->act_ctrlrange[2 * a]) ? 1 : 0;
}

// Unit direction with random normal entries in [from, from + n). Controls at an end of their range go inwards, all of them: one side of
// the direction is then the side that the derivative there is of, and none mixes the two.
static void direction(Check *c, uint64_t stream, size_t from, size_t n) {
  size_t controls = c->nt - c->nu_all;
  for (size_t i = 0; i < c->nt; i++) c->t[i] = 0;
  for (size_t i = from; i < from + n; i++) {
    c->t[i] = tg_random_normal(c->o.seed, stream, (uint64_t)i);
    int in = i >= controls ? inwards(c, i - controls) : 0;
    if (in != 0) c->t[i] = in * fabs(tgRe(c->t[i]));
  }
  double norm = sqrt(dot(c->t, c->t, c->nt));
  for (size_t i = from; i < from + n; i++) c->t[i] /= norm;
}

// A derivative along c->t by differences: its estimate of its own error, what round-off may be of it, whether it had
// to be taken from one side.
typedef struct Reference { double value, estimate, round_off; bool spoiled; char reason[192]; } Reference;

// Round-off of L along c->t; that of its own value where it cannot be measured.
static double measure_noise(Check *c) {
  tgiNumDiff d = {.nx = (int)c->nx, .nt = (int)c->nt, .ny = 1, .map = map, .retract = retract, .ctx = c};
  double least = 2.2e-16 * fabs(tgRe(c->result.loss)), noise, last[2];
  c->first = -1;
  return tgi_numdiff_noise(&d, c->x, c->t, &noise, last, c->work) == TG_OK && c->first < 0 ? fmax(noise, least) : least;
}

// Differences of the widest stencil in which no mode changes and that tells enough for an error of `enough`, else of the one that tells
// most. Contact potentials change over gaps and slip speeds far below the widest.
static bool differences(Check *c, tgiSide side, double enough, double noise, Reference *r) {
  tgiNumDiff d = {.nx = (int)c->nx, .nt = (int)c->nt, .ny = 1, .map = map, .retract = retract, .ctx = c};
  const char *word = tg_contact_word(tg_rollout_sim(c->rollout)->contact_model);
  bool narrow = tg_contact_intersection_free(word);
  r->estimate = INFINITY;
  for (double step = WIDE; step > 0.5 * (narrow ? NARROWEST : NARROW); step /= narrow ? 10 : 100) {
    double value, estimate;
    c->first = -1;
    d.step = step;
    tgStatus status = tgi_numdiff(&d, c->x, c->t, side, &value, &estimate, c->work);
    if (status != TG_OK) snprintf(r->reason, sizeof r->reason, "%.180s", c->result.error.text);
    if (status != TG_OK || c->first >= 0 || !(estimate < r->estimate)) continue;
    r->value = value;
    r->estimate = estimate;
    r->round_off = tgi_numdiff_round_off(noise, step);
    if (estimate <= fmax(enough, r->round_off)) break;
  }
  return r->estimate < INFINITY;
}

// At a kink of the loss: what lies between its derivatives on the two sides is held to be right, else the nearer one is the reference.
// Where the sides do not differ there is no kink along c->t, and r stays.
static void between(Check *c, double ours, double enough, double noise, Reference *r) {
  Reference below, above;
  if (!differences(c, TGI_SIDE_BELOW, enough, noise, &below) || !differences(c, TGI_SIDE_ABOVE, enough, noise, &above)) return;
  double low = fmin(below.value, above.value), high = fmax(below.value, above.value);
  if (high - low <= 10 * enough + below.estimate + above.estimate) return;
  *r = fabs(ours - below.value) < fabs(ours - above.value) ? below : above;
  r->value = fmin(fmax(ours, low), high);
  r->spoiled = true;
  memcpy(r->reason, c->kink.reason, sizeof r->reason);
}

static Reference reference(Check *c, double ours, double enough, double noise) {
  tgiNumDiff d = {.nx = (int)c->nx, .nt = (int)c->nt, .ny = 1, .map = map, .retract = retract, .ctx = c, .step = NARROW};
  Reference r = {.value = NAN, .reason = ""};
  if (differences(c, TGI_SIDE_BOTH, enough, noise, &r)) {
    r.reason[0] = '\0';
    if (c->kink.label == TG_GRAD_ONE_SIDED && fabs(ours - r.value) > 10 * enough) between(c, ours, enough, noise, &r);
    return r;
  }
  r = (Reference){.value = NAN, .round_off = tgi_numdiff_round_off(noise, NARROW), .spoiled = true};
  snprintf(r.reason, sizeof r.reason, "%.180s", c->result.error.text);
  if (c->first >= 0) name_switch(c, NARROW, r.reason, sizeof r.reason);
  double best = HUGE_VAL;
  for (int side = -1; side <= 1; side += 2) {
    double one, err;
    if (tgi_numdiff(&d, c->x, c->t, side < 0 ? TGI_SIDE_BELOW : TGI_SIDE_ABOVE, &one, &err, c->work) != TG_OK) continue;
    if (!(fabs(one - ours) < best)) continue;
    best = fabs(one - ours);
    r.value = one;
    r.estimate = err;
  }
  return r;
}

static void check_part(Check *c, tgGradCheck *check, const char *name, uint64_t stream, size_t from, size_t n) {
  if (n == 0) return;
  tgGradBlock *b = tgi_check_block(check, name, c->o.tolerance);
  if (b == NULL) return;
  b->label = c->result.grad.label;
  memcpy(b->reason, c->result.grad.reason, sizeof b->reason);
  // a random unit direction picks up |g|/sqrt(n) of a gradient: errors are relative to that
  double typical = sqrt(dot(c->g + from, c->g + from, n) / (double)n), worst = -1, noise = 0;
  for (int p = 0; p < PROBES; p++) {
    direction(c, stream * PROBES + (uint64_t)p, from, n);
    if (p == 0) noise = measure_noise(c);
    double ours = dot(c->g, c->t, c->nt);
    Reference r = reference(c, ours, 0.1 * c->o.tolerance * typical, noise);
    // below what round-off hides there is nothing to compare
    double scale = fmax(typical, r.round_off / c->o.tolerance), error = fabs(ours - r.value);
    error = isfinite(error) ? scale > 0 ? error / scale : error : HUGE_VAL;
    if (r.spoiled) {
      b->spoiled++;
      if (b->label < TG_GRAD_ONE_SIDED) b->label = TG_GRAD_ONE_SIDED;
      memcpy(b->reason, r.reason, sizeof b->reason);
    }
    if (error <= worst) continue;
    worst = error;
    b->error = error;
    b->ours = ours;
    b->reference = r.value;
    b->estimate = scale > 0 ? r.estimate / scale : r.estimate;
  }
  tgi_check_verdict(check, b);
}

// Slope of the remainder from a downwards along sign t; false when one fails or the runs differ in mode, but for that on a switch at x.
static bool slope_from(Check *c, double a, double sign, bool on_switch, double *slope, bool *flat) {
  tgiNumDiff d = {.nx = (int)c->nx, .nt = (int)c->nt, .ny = 1, .map = map, .retract = retract, .ctx = c};
  *flat = false;
  *slope = NAN;
  c->first = -1;
  c->forgiven = on_switch;
  tgStatus status = tgi_taylor_slope(&d, c->x, c->t, sign * dot(c->g, c->t, c->nt), sign * a, HALVINGS, slope, flat, c->work);
  // a remainder that is round-off throughout is as small as can be asked for
  if (*flat) *slope = 2;
  return status == TG_OK && c->first < 0;
}

// The nominal run sits on a switch: the mode to keep is that of the points next to it on this side.
static bool rebase(Check *c, double a, double sign) {
  tgReal *d = c->work, *x = c->work + c->nt;
  for (size_t i = 0; i < c->nt; i++) d[i] = sign * a * c->t[i];
  retract(c, c->x, d, x);
  c->recording = true;
  tgStatus status = run_at(c, x, false);
  c->recording = false;
  return status == TG_OK;
}

// Slope along sign t from the largest a whose runs all keep the nominal mode; infinite where there is none.
static double slope_on(Check *c, double sign, bool *flat) {
  double slope;
  for (double a = 1e-1; a > 1e-6; a /= 10)
    if (slope_from(c, a, sign, false, &slope, flat) && !isnan(slope)) return slope;
  return HUGE_VAL;
}

// L(x (+) a t) - L(x) - a g.t falls as a^2 when g is right. Starts from the largest a whose runs all keep one mode: the nominal one,
// or where that is not to be had, the mode on one side. At a kink of the loss g belongs to one side of some directions alone: the best of
// several tells, as a g that is wrong falls as a on both sides of nearly all.
static void check_slope(Check *c, tgGradCheck *check) {
  tgGradBlock *b = tgi_check_block(check, "rollout slope", c->o.slope_tolerance);
  if (b == NULL) return;
  double slope, best = HUGE_VAL;
  int tries = c->kink.label == TG_GRAD_ONE_SIDED ? KINK_SLOPES : 1;
  bool flat = false;
  b->label = c->result.grad.label;
  for (int k = 0; k < tries && !(fabs(best - 2) <= c->o.slope_tolerance); k++) {
    direction(c, 1000 + (uint64_t)k / 2, 0, c->nt);
    slope = slope_on(c, k % 2 == 0 ? 1 : -1, &flat);
    if (fabs(slope - 2) < fabs(best - 2) || best == HUGE_VAL) best = slope;
    if (k == 1) memcpy(b->reason, c->kink.reason, sizeof b->reason);
  }
  if (flat) snprintf(b->reason, sizeof b->reason, "no slope to measure: the remainder is round-off where no mode switches");
  if (best == HUGE_VAL) {
    b->spoiled = 1;
    b->label = b->label < TG_GRAD_ONE_SIDED ? TG_GRAD_ONE_SIDED : b->label;
    if (c->first >= 0) name_switch(c, 1e-6, b->reason, sizeof b->reason);
    else snprintf(b->reason, sizeof b->reason, "%.180s", c->result.error.text);
  }
  for (int k = 0; k < 6 && b->spoiled; k++) {
    double a = pow(10, -3 - k / 2), sign = k % 2 == 0 ? 1 : -1;
    if (!rebase(c, a / 4096, sign) || !slope_from(c, a, sign, true, &slope, &flat) || isnan(slope)) continue;
    if (fabs(slope - 2) < fabs(best - 2)) best = slope;
  }
  b->error = fabs(best - 2);
  b->ours = best;
  b->reference = 2;
  tgi_check_verdict(check, b);
}

static void place(Check *c, tgLayout *l) {
  tgiNumDiff d = {.nx = (int)c->nx, .nt = (int)c->nt, .ny = 1};
  size_t clamps = (size_t)tgi_mode_clamps(c->m), rows = (size_t)c->nominal.caprow;
  c->x = tgi_place(l, c->nx, sizeof(tgReal));
  c->t = tgi_place(l, c->nt, sizeof(tgReal));
  c->g = tgi_place(l, c->nt, sizeof(tgReal));
  c->work = tgi_place(l, tgi_numdiff_work(&d), sizeof(tgReal));
  c->hash = tgi_place(l, (size_t)tgi_rollout_steps(c->rollout), sizeof(uint64_t));
  c->nominal.row = tgi_place(l, rows, sizeof(tgiModeRow));
  c->other.row = tgi_place(l, rows, sizeof(tgiModeRow));
  c->nominal.clamp = tgi_place(l, clamps, 1);
  c->other.clamp = tgi_place(l, clamps, 1);
}

static tgStatus check_all(Check *c, tgGradCheck *check) {
  const tgModel *m = c->m;
  const tgRolloutRun *run = c->given;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nw = (size_t)tgi_nw(m);
  for (size_t i = 0; i < nq; i++) c->x[i] = run->q0 != NULL ? run->q0[i] : m->qpos0[i];
  for (size_t i = 0; i < nw; i++) c->x[nq + i] = run->v0 != NULL ? run->v0[i] : 0;
  for (size_t i = 0; i < c->nu_all; i++) c->x[nq + nw + i] = run->u != NULL ? run->u[i] : 0;
  c->recording = true;
  tgStatus status = run_at(c, c->x, true);
  if (status != TG_OK) return status;
  c->recording = false;
  choice(c, true, &c->kink);   // the gradient is that of what the loss chose
  tgGradInfo info = c->result.grad;
  check_part(c, check, "rollout dq0", 0, 0, nv);
  c->result.grad = info;
  check_part(c, check, "rollout dv0", 1, nv, nv);
  c->result.grad = info;
  check_part(c, check, "rollout dact0", 3, 2 * nv, nw - nv);
  c->result.grad = info;
  check_part(c, check, "rollout du", 2, nv + nw, c->nu_all);
  c->result.grad = info;
  check_slope(c, check);
  return run->cancel != NULL && *run->cancel != 0 ? TG_CANCELLED : TG_OK;   // what is missing then would read as a mistake
}

tgStatus tg_grad_check_rollout(tgRollout *rollout, const tgRolloutRun *run, const tgGradCheckOptions *options, tgGradCheck *check) {
  if (rollout == NULL || run == NULL || run->loss == NULL || check == NULL) return TG_ERR_ARG;
  tgSim *sim = tg_rollout_sim(rollout);
  Check c = {.rollout = rollout, .given = run, .o = options != NULL ? *options : tg_grad_check_default(), .m = &sim->m,
             .capture_at = -1, .first = -1};
  if (c.o.size != sizeof c.o)
    return tgi_error(&sim->error, TG_ERR_ARG, "options of the gradient check must come from tg_grad_check_default");
  c.nu_all = (size_t)tgi_rollout_steps(rollout) * (size_t)c.m->nu;
  c.nx = (size_t)c.m->nq + (size_t)tgi_nw(c.m) + c.nu_all;
  c.nt = (size_t)c.m->nv + (size_t)tgi_nw(c.m) + c.nu_all;
  if (c.nx > INT32_MAX / 2) return tgi_error(&sim->error, TG_ERR_LIMIT, "too many controls for a gradient check: %zu", c.nu_all);
  c.nominal.caprow = c.other.caprow = 2 * sim->cap.nrow + 64;
  tgLayout count = {.base = NULL};
  place(&c, &count);
  char *memory = sim->alloc.alloc(sim->alloc.ctx, count.used + 1);
  if (memory == NULL) return tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for the gradient check of a rollout");
  memset(memory, 0, count.used);
  tgLayout placed = {.base = memory};
  place(&c, &placed);
  tgStatus status = check_all(&c, check);
  choice(&c, false, NULL);
  if (status != TG_OK) {
    check->pass = false;
    tgi_error(&sim->error, status, "%s", c.result.error.text);
  }
  tgAllocator a = sim->alloc;
  a.free(a.ctx, memory);
  return status;
}
