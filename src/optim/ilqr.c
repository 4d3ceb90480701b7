// ilqr.c: iterative LQR, and differential dynamic programming, which takes the second derivatives of the steps too; with limits.
//
// Based on: [ddp], [ilqg] for the backward pass, the schedule of the penalty and the line search; [boxddp] for limits on controls. States
// deviate in tangent coordinates, so rotations need no care here. A rollout that fails is a step too long.
#include <math.h>
#include <string.h>

#include "optim/controls.h"
#include "optim/lq.h"
#include "optim/optimize.h"
#include "optim/sensitivity.h"
#include "sim/sim.h"
#include "tangere/second.h"

// the penalty's schedule [ilqg II.F], the shortest step of the line search and the least share of the expected decrease to accept
static const double MU_LEAST = 1e-6, MU_MOST = 1e10, DELTA = 1.6, ACCEPT = 1e-4;
enum { HALVINGS = 12 };

// the penalty and the factor of its next change; 1: x is not where the trajectory was expanded
enum { MU, DELTA_NOW, STALE, FAILED, SAVED };

typedef struct Ilqr {
  tgOptRun *r;
  const tgTask *task;
  int nq, nv, nw, nu, nx, n;     // nw: velocities and activations; nx = nv + nw
  tgLq lq;
  double state[SAVED];           // what an iteration hands on to the next
  bool expanded;                 // there is an expansion in memory: not after a journal
  double *u, *low, *high;        // nblock x nu: the controls deviated from, and their limits (both equal u when controls are not decided)
  double *q, *v;                 // (T+1) x nq, nw: the trajectory deviated from
  double *q0, *v0, *all;         // start, and the controls of all steps (T x nu)
  double *from;                  // n: where the iteration began
  double *next, alpha;           // candidate (n) and its step
  double *dx, *step;             // nx; work of tgi_sensitivity_initial
  // decided initial states: d(q0, v0)/d(variables) (nx x ninitial), the step in them and its program
  double *G, *VG, *Hs, *gs, *slow, *shigh;
  tgBoxQp start;
  double *saved;                 // what the journal holds of an iteration
  tgSecond *second;              // of ddp, NULL otherwise; with a simulation to step
  tgSim *sim;
  void *block;
} Ilqr;

static void place(Ilqr *s, tgLayout *l) {
  const tgTask *t = s->task;
  size_t T = (size_t)t->steps + 1, nq = (size_t)s->nq, nv = (size_t)s->nv, nw = (size_t)s->nw, nx = (size_t)s->nx,
         n = (size_t)s->n, ni = (size_t)t->ninitial;
  tgi_lq_place(&s->lq, l);
  size_t nc = (size_t)s->lq.nblock * (size_t)s->nu;
  double **arrays[] = {&s->u, &s->low, &s->high, &s->q, &s->v, &s->q0, &s->v0, &s->all, &s->from, &s->next, &s->dx,
                       &s->step, &s->G, &s->VG, &s->Hs, &s->gs, &s->slow, &s->shigh, &s->start.x, &s->start.work,
                       &s->start.L, &s->saved};
  size_t sizes[] = {nc, nc, nc, tgi_size_mul(T, nq), tgi_size_mul(T, nw), nq, nw, tgi_size_mul(T, (size_t)s->nu), n, n,
                    nx, nv + 2 * nv * ni, nx * ni, nx * ni, ni * ni, ni, ni, ni, ni, 4 * ni, ni * ni,
                    SAVED + TG_OPT_SAVED + 2 * n};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
  s->start.free = tgi_place(l, ni, sizeof(int));
}

static tgStatus make(Ilqr *s, tgOptRun *r) {
  const tgTask *t = r->task;
  const tgModel *m = t->model;
  *s = (Ilqr){.r = r, .task = t, .nq = m->nq, .nv = m->nv, .nw = tgi_nw(m), .nu = m->nu, .nx = m->nv + tgi_nw(m), .n = t->n,
              .state = {[DELTA_NOW] = 1, [STALE] = 1}};
  s->lq = (tgLq){.nx = s->nx, .nu = s->nu, .steps = t->steps, .every = tgi_controls_every(t),
                 .curved = t->optimizer.method == TG_METHOD_DDP};
  tgLayout l = {.base = NULL};
  place(s, &l);
  s->block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (s->block == NULL) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for iLQR over %d steps", t->steps);
  memset(s->block, 0, l.used);
  l = (tgLayout){.base = s->block};
  place(s, &l);
  if (s->lq.curved) {
    s->second = tg_second_create(m, t->contact, NULL, &r->out->error);
    s->sim = s->second != NULL ? tg_sim_create(m, t->contact, &r->alloc, &r->out->error) : NULL;
    if (s->sim == NULL) return r->out->error.status;
    tg_sim_watch_cancel(s->sim, r->o->cancel);
  }
  memcpy(s->low, r->low, (size_t)t->ncontrol * sizeof *s->low);
  memcpy(s->high, r->high, (size_t)t->ncontrol * sizeof *s->high);
  return TG_OK;
}

// second derivatives of all steps of the trajectory
static tgStatus curve(Ilqr *s) {
  const tgTask *t = s->task;
  size_t nq = (size_t)s->nq, nw = (size_t)s->nw, nz = (size_t)(s->nx + s->nu);
  for (size_t k = 0; k < (size_t)t->steps; k++) {
    memcpy(s->sim->qpos, s->q + k * nq, nq * sizeof(double));
    tgi_sim_put_w(s->sim, s->v + k * nw);
    memcpy(s->sim->ctrl, s->all + k * (size_t)s->nu, (size_t)s->nu * sizeof(double));
    tgStatus status = tg_sim_step(s->sim, t->h, NULL);
    if (status == TG_OK) status = tg_step_hessian(s->second, s->sim, s->lq.F + k * (size_t)s->nx * nz * nz, s->r->o->cancel);
    if (status == TG_CANCELLED) return status;
    if (status != TG_OK) return tgi_error(&s->r->out->error, status, "step %zu: %s", k, tg_sim_error(s->sim)->text);
  }
  return TG_OK;
}

// trajectory of x, Jacobians of its steps and the loss to second order
static tgStatus linearise(Ilqr *s, const double *x) {
  tgOptRun *r = s->r;
  tgRolloutResult result;
  double f;
  tg_task_expand(s->task, x, s->q0, s->v0, s->all);
  memcpy(s->u, x, (size_t)s->task->ncontrol * sizeof *s->u);
  tgRollAsk ask = {.q0 = s->q0, .v0 = s->v0, .u = s->all, .q = s->q, .v = s->v, .expansion = &s->lq.e, .cancel = r->o->cancel};
  TG_TRY_OUTCOME(tgi_opt_roll(r, x, &ask, &f, &result));
  return s->lq.curved ? curve(s) : TG_OK;
}

// the step in the decided initial values: min of V over them in their box
static bool initial_step(Ilqr *s, const double *x) {
  const tgTask *t = s->task;
  int ni = t->ninitial, nx = s->nx;
  if (ni == 0) return true;
  tgi_sensitivity_initial(t, x, s->G, ni, s->step);
  memset(s->VG, 0, (size_t)nx * (size_t)ni * sizeof *s->VG);
  for (int r = 0; r < nx; r++)
    for (int c = 0; c < nx; c++)
      for (int i = 0; i < ni; i++) s->VG[r * ni + i] += s->lq.Vxx[r * nx + c] * s->G[c * ni + i];
  for (int i = 0; i < ni; i++) {
    s->gs[i] = 0;
    s->slow[i] = s->r->low[t->ncontrol + i] - x[t->ncontrol + i];
    s->shigh[i] = s->r->high[t->ncontrol + i] - x[t->ncontrol + i];
    s->start.x[i] = 0;
    for (int r = 0; r < nx; r++) s->gs[i] += s->G[r * ni + i] * s->lq.Vx[r];
    for (int j = 0; j < ni; j++) {
      double h = i == j ? s->state[MU] : 0;
      for (int r = 0; r < nx; r++) h += s->G[r * ni + i] * s->VG[r * ni + j];
      s->Hs[i * ni + j] = h;
    }
  }
  s->start.n = ni;
  s->start.H = s->Hs;
  s->start.g = s->gs;
  s->start.low = s->slow;
  s->start.high = s->shigh;
  if (!tgi_box_qp(&s->start)) return false;
  for (int i = 0; i < ni; i++) {
    double Hd = -s->state[MU] * s->start.x[i];
    for (int j = 0; j < ni; j++) Hd += s->Hs[i * ni + j] * s->start.x[j];
    s->lq.expected[0] += s->gs[i] * s->start.x[i];
    s->lq.expected[1] += 0.5 * s->start.x[i] * Hd;
  }
  return true;
}

static void raise(Ilqr *s) {
  double *mu = &s->state[MU], *delta = &s->state[DELTA_NOW];
  *delta = fmax(DELTA, *delta * DELTA);
  *mu = fmax(MU_LEAST, *mu * *delta);
}

static void lower(Ilqr *s) {
  double *mu = &s->state[MU], *delta = &s->state[DELTA_NOW];
  *delta = fmin(1 / DELTA, *delta / DELTA);
  *mu = *mu * *delta >= MU_LEAST ? *mu * *delta : 0;
}

// u = u_b + alpha k_b + K_b dx in the box at the first step of a block, held over it
static void policy(void *ctx, const tgSim *sim, int t, tgReal *u) {
  Ilqr *s = ctx;
  int nu = s->nu, b = t / s->lq.every;
  double *ub = s->next + b * nu;
  if (s->task->ncontrol == 0) return;
  if (t % s->lq.every == 0) {
    const double *K = s->lq.K + (size_t)b * (size_t)nu * (size_t)s->nx;
    tg_model_difference(s->task->model, s->q + (size_t)t * (size_t)s->nq, sim->qpos, s->dx);
    tgi_sim_take_w(sim, s->dx + s->nv);
    for (int i = 0; i < s->nw; i++) s->dx[s->nv + i] -= s->v[(size_t)t * (size_t)s->nw + (size_t)i];
    for (int i = 0; i < nu; i++) {
      double w = s->u[b * nu + i] + s->alpha * s->lq.k[b * nu + i];
      for (int c = 0; c < s->nx; c++) w += K[i * s->nx + c] * s->dx[c];
      ub[i] = fmin(fmax(w, s->low[b * nu + i]), s->high[b * nu + i]);
    }
  }
  memcpy(u, ub, (size_t)nu * sizeof *u);
}

// the longest step that lowers the loss as far as expected: *f and s->next. *found false: none. A rollout that fails is none either.
static tgStatus search(Ilqr *s, const double *x, double *f, bool *found) {
  tgOptRun *r = s->r;
  const tgTask *t = s->task;
  *found = false;
  s->alpha = 1;
  for (int tries = 0; tries < HALVINGS && !*found; tries++, s->alpha *= 0.5) {
    tgRolloutResult result;
    double fn, expected = -(s->alpha * s->lq.expected[0] + s->alpha * s->alpha * s->lq.expected[1]);
    for (int i = 0; i < t->ninitial; i++) {
      int k = t->ncontrol + i;   // to the bound itself, not to a rounding of it
      s->next[k] = fmin(fmax(x[k] + s->alpha * s->start.x[i], r->low[k]), r->high[k]);
    }
    tg_task_expand(t, s->next, s->q0, s->v0, NULL);
    tgRollAsk ask = {.q0 = s->q0, .v0 = s->v0, .policy = policy, .policy_ctx = s, .cancel = r->o->cancel};
    tgStatus st = tgi_opt_roll(r, s->next, &ask, &fn, &result);
    if (st != TG_OK && !tgi_opt_numerical(st)) return st;
    *found = st == TG_OK && expected > 0 && *f - fn > ACCEPT * expected;
    if (*found) *f = fn;
  }
  return TG_OK;
}

// The expansion at x is made where x has moved. After a journal it is made in any case, which is no simulation of the run's account where
// the run that wrote the journal had it.
static tgStatus expand(Ilqr *s, const double *x) {
  tgOptimum *out = s->r->out;
  bool stale = s->state[STALE] != 0;
  if (!stale && s->expanded) return TG_OK;
  long evaluations = out->evaluations, simulations = out->simulations;
  TG_TRY_OUTCOME(linearise(s, x));
  if (!stale) {
    out->evaluations = evaluations;
    out->simulations = simulations;
  }
  s->state[STALE] = 0;
  s->expanded = true;
  return TG_OK;
}

// one iteration from x with loss *f. *done: nothing more to gain.
static tgStatus iterate(void *ctx, double *x, double *f, bool *done) {
  Ilqr *s = ctx;
  bool found = false;
  *done = false;
  TG_TRY_OUTCOME(expand(s, x));
  for (bool first = true; !tgi_lq_backward(&s->lq, s->u, s->low, s->high, s->state[MU]) || !initial_step(s, x); first = false) {
    if (first) s->r->out->indefinite++;
    raise(s);
    if ((*done = s->state[MU] > MU_MOST)) return TG_OK;
  }
  double gain = -(s->lq.expected[0] + s->lq.expected[1]), tolerance = s->task->optimizer.tolerance;
  if ((*done = gain <= fmax(tolerance, 1e-14) * fabs(*f) && (s->state[MU] < 1e-5 || gain <= 0))) return TG_OK;
  TG_TRY_OUTCOME(search(s, x, f, &found));
  if (found) {
    memcpy(x, s->next, (size_t)s->n * sizeof *x);
    s->state[STALE] = 1;
    s->state[FAILED] = 0;
    lower(s);
  } else {
    int patience = s->task->optimizer.patience;
    raise(s);
    *done = s->state[MU] > MU_MOST || ++s->state[FAILED] == patience;
  }
  return TG_OK;
}

tgStatus tgi_opt_ilqr(tgOptRun *r, double *x) {
  Ilqr s;
  if (tgi_controls_sines(r->task))
    return tgi_error(&r->out->error, TG_ERR_UNSUPPORTED,
                     "method %s decides a control at each time; it does not take controls with basis: sines "
                     "(gauss_newton does)", tg_task_method(r->task));
  tgStatus st = make(&s, r);
  tgOptIterates m = {.ctx = &s, .iterate = iterate, .state = s.state, .count = SAVED, .from = s.from, .saved = s.saved};
  if (st == TG_OK) st = tgi_opt_iterate(r, &m, x);
  tg_sim_free(s.sim);
  tg_second_free(s.second);
  r->alloc.free(r->alloc.ctx, s.block);
  return st;
}
