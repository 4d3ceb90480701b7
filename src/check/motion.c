// motion.c: the gradient of a motion, judged by what it is as the step shrinks and by differences of finite width.
//
// A gradient that is exact for the step may be wrong for the motion: a step that does not know when in it an impact
// falls has derivatives that grow as 1/h, and agree with themselves at each h. The functional is L = w . (q_T, v_T, act_T), w
// random and the same at every step size; a quaternion counts with its four numbers.
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "check/check.h"
#include "contact/contact.h"
#include "math/quat.h"
#include "rollout/rollout.h"

enum { DIRECTIONS = 3, MOST_HALVINGS = TG_MOTION_ROWS - 1, MORE_HALVINGS = 2 };
static const double MOST_STEPS = 1e8;   // of the shortest size, times one more than there are controls
static const double WIDTH[TG_MOTION_WIDTHS] = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
static const double ORDER = 0.5, GROWTH = 0.5, AGREES = 0.1;
// changes below these shares of a number are round-off
static const double VALUE_ROUNDS = 1e-9, GRADIENT_ROUNDS = 1e-7;
// streams of random numbers
enum { OF_FUNCTIONAL = 100, OF_DIRECTION = 101 };

typedef struct Motion {
  tgSim *sim;                  // the caller's
  const tgModel *m;
  tgMotionCheckOptions o;
  tgMotionCheck *check;
  tgRollout *rollout;          // at the step size under way
  int parts;                   // steps of the rollout in one of the caller's
  int most;                    // halvings that there is room for
  int ngroup;                  // controls that the gradient is taken in: steps x nu of the caller, or nu that are held
  size_t nu_all;               // of the rollout
  tgReal *w;                   // nq + nw, nw: velocities and activations
  tgReal *q0, *q;              // start, and another one: nq coordinates, then these
  tgReal *u, *du;              // of the rollout, sized for the shortest step
  tgReal *d;                   // nv + nw: gradient of a run, or the way to another start
  double *g[TG_MOTION_ROWS];   // gradients, nv + nw + ngroup
  tgRolloutResult result;
} Motion;

tgMotionCheckOptions tg_motion_check_default(void) {
  return (tgMotionCheckOptions){.size = sizeof(tgMotionCheckOptions), .steps = 100, .halvings = 3, .seed = 1};
}

// of the start, and all
static int start_entries(const Motion *c) { return c->m->nv + tgi_nw(c->m); }
static int entries(const Motion *c) { return start_entries(c) + c->ngroup; }

// ---- the functional ----

// g (3) of the tangent of a quaternion from w . q: dq = q (0, d)/2
static void quaternion_gradient(const tgReal *q, const tgReal *w, tgReal *g) {
  for (int i = 0; i < 3; i++) {
    tgReal e[4] = {0, i == 0 ? 0.5 : 0, i == 1 ? 0.5 : 0, i == 2 ? 0.5 : 0}, dq[4];
    tgi_quat_mul(dq, q, e);
    g[i] = 0;
    for (int k = 0; k < 4; k++) g[i] += w[k] * dq[k];
  }
}

static tgStatus functional(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  const Motion *c = ctx;
  const tgModel *m = c->m;
  const tgReal *q = tg_sim_qpos(sim), *v = tg_sim_qvel(sim), *act = tg_sim_act(sim);
  (void)gu;
  if (t < steps) return TG_OK;
  for (int i = 0; i < m->nq; i++) *value += c->w[i] * q[i];
  for (int i = 0; i < m->nv; i++) *value += c->w[m->nq + i] * v[i];
  for (int i = 0; i < m->na; i++) *value += c->w[m->nq + m->nv + i] * act[i];
  if (gq == NULL) return TG_OK;
  for (int i = 0; i < tgi_nw(m); i++) gv[i] = c->w[m->nq + i];
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qadr[j], va = m->jnt_vadr[j];
    bool free = m->jnt_type[j] == TG_JOINT_FREE, turns = free || m->jnt_type[j] == TG_JOINT_BALL;
    int straight = free ? 3 : turns ? 0 : 1;
    for (int k = 0; k < straight; k++) gq[va + k] = c->w[qa + k];
    if (turns) quaternion_gradient(q + qa + straight, c->w + qa + straight, gq + va + straight);
  }
  return TG_OK;
}

// ---- runs ----

static tgStatus set_up(void *ctx, tgSim *sim) {
  const Motion *c = ctx;
  tgi_sim_copy_parameters(sim, c->sim);
  return TG_OK;
}

static tgStatus fail(Motion *c, tgStatus status, double h, const tgError *error) {
  tgError copy = *error;
  c->check->pass = false;
  return tgi_error(&c->sim->error, status, "the motion at a step size of %g s: %s", h, copy.text);
}

// a rollout of the whole motion, steps shorter by 2^halving
static tgStatus start(Motion *c, int halving, double h) {
  tgRolloutOptions o = tg_rollout_default();
  tgError error = {0};
  c->parts = 1 << halving;
  o.h = h / c->parts;
  o.steps = c->o.steps * c->parts;
  o.allocator = &c->sim->alloc;
  c->rollout = tg_rollout_create(c->sim->model, c->sim->contact_model, &o, &error);
  if (c->rollout == NULL) return fail(c, error.status, o.h, &error);
  tgSim *s = tg_rollout_sim(c->rollout);
  memcpy(s->qfrc_applied, c->sim->qfrc_applied, (size_t)c->m->nv * sizeof(tgReal));
  size_t nu = (size_t)c->m->nu;
  for (int t = 0; t < o.steps; t++)
    memcpy(c->u + (size_t)t * nu, c->o.u != NULL ? c->o.u + (size_t)(t / c->parts) * nu : c->sim->ctrl, nu * sizeof(tgReal));
  return TG_OK;
}

// L from a start (q, then w); with a gradient where g is not NULL
static tgStatus run(Motion *c, const tgReal *q, double *g) {
  const tgModel *m = c->m;
  tgRolloutRun run = {.q0 = q, .v0 = q + m->nq, .u = c->u, .loss = functional, .loss_ctx = c, .setup = set_up,
                      .setup_ctx = c, .cancel = c->o.cancel};
  tgReal *gq = c->d, *gv = c->d + m->nv;
  if (g != NULL) {
    run.dq0 = gq;
    run.dv0 = gv;
    run.du = c->du;
  }
  tgStatus status = tg_rollout_run(c->rollout, &run, &c->result);
  if (status != TG_OK || g == NULL) return status;
  int n = start_entries(c);
  for (int i = 0; i < n; i++) g[i] = tgRe(c->d[i]);
  for (int i = 0; i < c->ngroup; i++) g[n + i] = 0;
  for (int t = 0; t < c->o.steps * c->parts; t++)
    for (int i = 0; i < m->nu; i++)
      g[n + (c->o.u != NULL ? t / c->parts * m->nu : 0) + i] += tgRe(c->du[(size_t)t * (size_t)m->nu + (size_t)i]);
  return TG_OK;
}

// ---- over the step size ----

static double norm(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (a[i] - (b != NULL ? b[i] : 0)) * (a[i] - (b != NULL ? b[i] : 0));
  return sqrt(sum);
}

static tgStatus run_row(Motion *c, int k, double h) {
  tgMotionRow *row = &c->check->row[k];
  TG_TRY(start(c, k, h));
  tg_sim_watch_stability(tg_rollout_sim(c->rollout), k == 0);   // what the longest step cannot do; costs as much as a step
  tgStatus status = run(c, c->q0, c->g[k]);
  tg_sim_watch_stability(tg_rollout_sim(c->rollout), false);
  if (status != TG_OK) return status == TG_CANCELLED ? status : fail(c, status, h / c->parts, &c->result.error);
  *row = (tgMotionRow){.h = h / c->parts, .value = tgRe(c->result.loss), .label = c->result.grad.label, .unstable = c->result.unstable};
  row->gradient = norm(c->g[k], NULL, entries(c));
  if (k > 0) {
    row->value_change = fabs(row->value - row[-1].value);
    row->gradient_change = norm(c->g[k], c->g[k - 1], entries(c));
  }
  c->check->nrow = k + 1;
  return TG_OK;
}

// Slope of log y over log h at halvings of h, by least squares over n points; NAN: fewer than two.
static double slope(const double *y, int n) {
  double mean = 0, sum = 0, weight = 0;
  if (n < 2) return NAN;
  for (int i = 0; i < n; i++) mean += log2(y[i]) / n;
  for (int i = 0; i < n; i++) {
    double x = (n - 1) / 2.0 - i;   // log2 h but for a constant
    sum += x * (log2(y[i]) - mean);
    weight += x * x;
  }
  return sum / weight;
}

// of changes over row 1 .. n; *order NAN where they are round-off
static tgConvergence judge(const double *change, int n, double round_off, double *order) {
  bool rounds = true;
  for (int i = 0; i < n; i++) rounds = rounds && change[i] <= round_off;
  *order = NAN;
  if (rounds) return TG_CONVERGES;
  double kept[TG_MOTION_ROWS];
  for (int i = 0; i < n; i++) kept[i] = fmax(change[i], round_off);
  *order = slope(kept, n);
  return isnan(*order) || *order >= ORDER ? TG_CONVERGES : TG_CONVERGES_NOT;
}

static void name_entry(const Motion *c, int i, char *text, size_t size) {
  const tgModel *m = c->m;
  char what[64];
  int n = start_entries(c);
  if (i < n) tgi_check_rate_name(m, i < m->nv ? i : i - m->nv, what, sizeof what);
  else tgi_check_actuator_name(m, (i - n) % m->nu, what, sizeof what);
  if (i >= n && c->o.u != NULL) snprintf(text, size, "u of %.44s at step %d", what, (i - n) / m->nu);
  else snprintf(text, size, "%s of %.50s", i < m->nv ? "q0" : i < 2 * m->nv ? "v0" : i < n ? "act0" : "u", what);
}

// by the last halvings, as many as were asked for
static void judge_rows(Motion *c) {
  tgMotionCheck *k = c->check;
  int n = k->nrow - 1 < c->o.halvings ? k->nrow - 1 : c->o.halvings, worst = 0;
  const tgMotionRow *row = &k->row[k->nrow - 1 - n];
  double values[TG_MOTION_ROWS], gradients[TG_MOTION_ROWS], norms[TG_MOTION_ROWS], value = 0, gradient = 0;
  for (int i = 0; i <= n; i++) {
    norms[i] = fmax(row[i].gradient, 1e-300);
    value = fmax(value, fabs(row[i].value));
    gradient = fmax(gradient, row[i].gradient);
    if (i == 0) continue;
    values[i - 1] = row[i].value_change;
    gradients[i - 1] = row[i].gradient_change;
  }
  k->value = judge(values, n, VALUE_ROUNDS * fmax(value, 1e-9), &k->value_order);
  k->gradient = judge(gradients, n, GRADIENT_ROUNDS * fmax(gradient, 1e-9), &k->gradient_order);
  k->growth = n > 0 ? -slope(norms, n + 1) : 0;
  if (k->growth >= GROWTH) k->gradient = TG_GROWS;
  int last = k->nrow - 1;
  for (int i = 1; i < entries(c) && last > 0; i++)
    if (fabs(c->g[last][i] - c->g[last - 1][i]) > fabs(c->g[last][worst] - c->g[last - 1][worst])) worst = i;
  for (int i = 0; i <= last; i++) k->row[i].entry = entries(c) > 0 ? c->g[i][worst] : 0;
  if (entries(c) > 0) name_entry(c, worst, k->entry_name, sizeof k->entry_name);
}

// What does not converge yet, but changes less at its last halving than at the one before, may have been too far from its limit for an
// order to show, as stiff servos and contacts are at long steps: it is worth another halving.
static bool comes_nearer(const Motion *c) {
  const tgMotionCheck *k = c->check;
  const tgMotionRow *last = &k->row[k->nrow - 1];
  if (k->nrow < 3 || k->gradient == TG_GROWS || (k->value == TG_CONVERGES && k->gradient == TG_CONVERGES)) return false;
  return (k->value == TG_CONVERGES || last->value_change < last[-1].value_change) &&
         (k->gradient == TG_CONVERGES || last->gradient_change < last[-1].gradient_change);
}

// ---- over the width ----

// |difference - derivative| along direction number k, over the norm of the gradient
static tgStatus run_width(Motion *c, tgWidthRow *row, int k) {
  int nv = c->m->nv, nq = c->m->nq, n = start_entries(c);
  double length = 0, ours = 0, size = norm(c->g[0], NULL, n), L[2];
  for (int i = 0; i < n; i++) {
    double x = tg_random_normal(c->o.seed, OF_DIRECTION + (uint64_t)k, (uint64_t)i);
    length += x * x;
    ours += x * c->g[0][i];
  }
  length = sqrt(length);
  ours /= length;
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < n; i++)
      c->d[i] = (side == 0 ? 1 : -1) * row->width * tg_random_normal(c->o.seed, OF_DIRECTION + (uint64_t)k, (uint64_t)i) / length;
    tg_model_integrate(c->m, c->q0, c->d, c->q);
    for (int i = 0; i < n - nv; i++) c->q[nq + i] = c->q0[nq + i] + c->d[nv + i];
    tgStatus status = run(c, c->q, NULL);
    if (status == TG_CANCELLED) return status;
    if (status != TG_OK) {
      row->error = INFINITY;
      return TG_OK;
    }
    L[side] = tgRe(c->result.loss);
  }
  double reference = (L[0] - L[1]) / (2 * row->width), apart = fabs(reference - ours), error = size > 0 ? apart / size : apart;
  // two values of L round to this
  if (apart <= 4 * 2.2e-16 * fmax(fabs(L[0]), 1) * c->o.steps / row->width) error = fmin(error, AGREES);
  if (!(error < row->error)) *row = (tgWidthRow){.width = row->width, .error = error, .ours = ours, .reference = reference};
  return TG_OK;
}

static tgStatus run_widths(Motion *c) {
  tgMotionCheck *check = c->check;
  for (int i = 0; i < TG_MOTION_WIDTHS; i++) {
    tgWidthRow *row = &check->width[i];
    *row = (tgWidthRow){.width = WIDTH[i]};
    for (int k = 0; k < DIRECTIONS; k++) TG_TRY(run_width(c, row, k));
    check->nwidth = i + 1;
  }
  for (int i = 0; i < TG_MOTION_WIDTHS; i++)
    if (check->width[i].error <= AGREES) check->holds_to = WIDTH[i];
  return TG_OK;
}

// ---- the check ----

const char *tg_convergence_text(tgConvergence convergence) {
  static const char *const text[] = {"converges", "does not converge", "grows"};
  return (int)convergence >= 0 && convergence <= TG_GROWS ? text[convergence] : NULL;
}

static void verdict(Motion *c) {
  tgMotionCheck *k = c->check;
  char *to = k->reason;
  size_t size = sizeof k->reason;
  const tgMotionRow *first = &k->row[0], *last = &k->row[k->nrow - 1];
  if (first->unstable > 0)
    snprintf(to, size, "%d of %d steps of %g s are longer than they are stable", first->unstable, c->o.steps, first->h);
  else if (k->gradient == TG_GROWS)
    snprintf(to, size, "the gradient grows as h^-%.1f: d / d %.60s is %.3g at %g s and %.3g at %g s", k->growth,
             k->entry_name, first->entry, first->h, last->entry, last->h);
  else if (k->value != TG_CONVERGES || k->gradient != TG_CONVERGES)
    snprintf(to, size, "the value %s and the gradient %s as the step shrinks: d / d %.60s is %.6g at %g s and %.6g at "
                       "%g s", tg_convergence_text(k->value), tg_convergence_text(k->gradient), k->entry_name, last[-1].entry, last[-1].h,
                       last->entry, last->h);
  else if (k->nwidth > 0 && k->holds_to == 0)
    snprintf(to, size, "the gradient is the slope of the motion at no width from %g to %g", WIDTH[0], WIDTH[TG_MOTION_WIDTHS - 1]);
  k->pass = to[0] == '\0';
}

static void place(Motion *c, tgLayout *l) {
  size_t nq = (size_t)c->m->nq, nw = (size_t)tgi_nw(c->m);
  c->w = tgi_place(l, nq + nw, sizeof(tgReal));
  c->q0 = tgi_place(l, nq + nw, sizeof(tgReal));
  c->q = tgi_place(l, nq + nw, sizeof(tgReal));
  c->d = tgi_place(l, (size_t)start_entries(c), sizeof(tgReal));
  c->u = tgi_place(l, c->nu_all, sizeof(tgReal));
  c->du = tgi_place(l, c->nu_all, sizeof(tgReal));
  for (int i = 0; i < TG_MOTION_ROWS; i++) c->g[i] = tgi_place(l, (size_t)entries(c), sizeof(double));
}

static tgStatus check_all(Motion *c, double h) {
  tgStatus status = TG_OK;
  for (int i = 0; i < c->m->nq + tgi_nw(c->m); i++) c->w[i] = tg_random_normal(c->o.seed, OF_FUNCTIONAL, (uint64_t)i);
  memcpy(c->q0, c->sim->qpos, (size_t)c->m->nq * sizeof *c->q0);
  tgi_sim_take_w(c->sim, c->q0 + c->m->nq);
  for (int k = 0; k <= c->most && status == TG_OK && (k <= c->o.halvings || comes_nearer(c)); k++) {
    status = run_row(c, k, h);
    if (status == TG_OK && k == 0) status = run_widths(c);
    if (status == TG_OK && k >= c->o.halvings) judge_rows(c);
    tg_rollout_free(c->rollout);
    c->rollout = NULL;
  }
  if (status != TG_OK) return status;
  verdict(c);
  return TG_OK;
}

static bool valid(const tgMotionCheckOptions *o, double h) {
  return o->size == sizeof *o && o->steps > 0 && o->halvings >= 0 && o->halvings <= MOST_HALVINGS && h > 0 && isfinite(h);
}

static bool affordable(const Motion *c, int halvings) { return (double)c->o.steps * (1 << halvings) * (c->m->nu + 1) <= MOST_STEPS; }

tgStatus tg_grad_check_motion(tgSim *sim, const tgMotionCheckOptions *options, tgMotionCheck *check) {
  if (sim == NULL || check == NULL) return TG_ERR_ARG;
  *check = (tgMotionCheck){.pass = false};
  Motion c = {.sim = sim, .m = &sim->m, .check = check, .o = options != NULL ? *options : tg_motion_check_default()};
  double h = c.o.h != 0 ? c.o.h : tg_model_timestep(sim->model);
  if (!valid(&c.o, h))
    return tgi_error(&sim->error, TG_ERR_ARG,
                     "a check of a motion needs options from tg_motion_check_default, a positive h and steps, and 0 to "
                     "%d halvings", MOST_HALVINGS);
  if (!affordable(&c, c.o.halvings))
    return tgi_error(&sim->error, TG_ERR_LIMIT, "too many steps for a check of a motion: %d, halved %d times", c.o.steps, c.o.halvings);
  c.most = c.o.halvings;
  while (c.o.halvings > 0 && c.most < c.o.halvings + MORE_HALVINGS && c.most < MOST_HALVINGS && affordable(&c, c.most + 1)) c.most++;
  c.nu_all = ((size_t)c.o.steps << c.most) * (size_t)c.m->nu;
  c.ngroup = c.o.u != NULL ? c.o.steps * c.m->nu : c.m->nu;
  tgLayout count = {.base = NULL};
  place(&c, &count);
  char *memory = sim->alloc.alloc(sim->alloc.ctx, count.used + 64);
  if (memory == NULL) return tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for the check of a motion of %d steps", c.o.steps);
  tgLayout placed = {.base = (char *)(((uintptr_t)memory + 63) / 64 * 64)};
  place(&c, &placed);
  tgStatus status = check_all(&c, h);
  sim->alloc.free(sim->alloc.ctx, memory);
  return status;
}
