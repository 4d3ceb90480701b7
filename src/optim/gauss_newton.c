// gauss_newton.c: Gauss-Newton with Levenberg-Marquardt damping on the loss of a trajectory.
//
// Based on: [Nocedal 10.3]; the damping follows the gain as in [Nielsen]. The loss is a sum of phi(r_k), r_k residuals of terms.h; with
// J = dr/dx by forward sensitivities, a step solves  min g.d + d'(J' phi'' J + lambda diag) d / 2  in the box,
//   by projected Newton. lambda is 0
// as long as that works, so a linear problem takes one step.
#include <math.h>
#include <string.h>

#include "optim/boxqp.h"
#include "optim/optimize.h"
#include "optim/sensitivity.h"

static const double LEAST = 1e-6, MOST = 1e16;

typedef struct Newton {
  tgOptRun *r;
  const tgTask *task;
  int n, nv;
  double *state;                 // what an iteration hands on to the next: LAMBDA, NU, then the diagonal
  tgExpansion e;
  tgSensitivity s;
  double *q0, *v0, *u;
  double *local, *Hlocal;        // gradient and Hessian in the order of the sensitivity: initial values, then controls
  double *g, *H, *diagonal;      // in that of x; diagonal: the largest that H's has been, of the state
  double *damped, *low, *high;   // of the step
  double *from, *next, *work, *saved;
  tgBoxQp qp;
  void *block;
} Newton;

enum { LAMBDA, NU, DIAGONAL };   // damping, the factor of its next rise, then n numbers

static void place(Newton *s, tgLayout *l) {
  const tgModel *m = s->task->model;
  size_t n = (size_t)s->n, nn = tgi_size_mul(n, n), T = (size_t)s->task->steps, nv = (size_t)m->nv, nw = (size_t)tgi_nw(m),
         nx = nv + nw, nz = nx + (size_t)m->nu;
  double **arrays[] = {&s->e.D, &s->e.g, &s->e.H, &s->q0, &s->v0, &s->u, &s->local, &s->Hlocal, &s->g, &s->H,
                       &s->damped, &s->state, &s->low, &s->high, &s->from, &s->next, &s->work, &s->saved, &s->qp.x,
                       &s->qp.work, &s->qp.L};
  size_t sizes[] = {tgi_size_mul(T, nx * nz), tgi_size_mul(T + 1, nz), tgi_size_mul(T + 1, nz * nz), (size_t)m->nq, nw,
                    tgi_size_mul(T, (size_t)m->nu), n, nn, n, nn, nn, DIAGONAL + n, n, n, n, n,
                    nv + 2 * nv * (size_t)s->task->ninitial, DIAGONAL + n + TG_OPT_SAVED + 2 * n, n, 4 * n, nn};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
  s->qp.free = tgi_place(l, n, sizeof(int));
  tgi_sensitivity_place(&s->s, s->n, l);
}

static tgStatus make(Newton *s, tgOptRun *r) {
  const tgTask *t = r->task;
  *s = (Newton){.r = r, .task = t, .n = t->n, .nv = t->model->nv,
                .s = {.nx = t->model->nv + tgi_nw(t->model), .nu = t->model->nu, .nstate = t->ninitial, .ncontrol = t->ncontrol}};
  tgLayout l = {.base = NULL};
  place(s, &l);
  s->block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (s->block == NULL)
    return tgi_error(&r->out->error, TG_ERR_MEMORY,
                     "out of memory for Gauss-Newton in %d variables; controls held over more steps (every) take less",
                     t->n);
  memset(s->block, 0, l.used);
  l = (tgLayout){.base = s->block};
  place(s, &l);
  s->state[NU] = 2;
  s->diagonal = s->state + DIAGONAL;
  return TG_OK;
}

// gradient and Gauss-Newton Hessian at x
static tgStatus linearise(Newton *s, const double *x) {
  tgOptRun *r = s->r;
  const tgTask *t = s->task;
  int n = s->n, ni = t->ninitial, nc = t->ncontrol;
  tgRolloutResult result;
  double f;
  tg_task_expand(t, x, s->q0, s->v0, s->u);
  tgRollAsk ask = {.q0 = s->q0, .v0 = s->v0, .u = s->u, .expansion = &s->e, .cancel = r->o->cancel};
  TG_TRY_OUTCOME(tgi_opt_roll(r, x, &ask, &f, &result));
  memset(s->s.S, 0, (size_t)s->s.nx * (size_t)n * sizeof *s->s.S);
  tgi_sensitivity_initial(t, x, s->s.S, n, s->work);
  memset(s->local, 0, (size_t)n * sizeof *s->local);
  memset(s->Hlocal, 0, (size_t)n * (size_t)n * sizeof *s->Hlocal);
  tgi_sensitivity_run(&s->s, t, x, 0, t->steps, &s->e, s->local, s->Hlocal);
  // from (initial, controls) to (controls, initial)
  for (int i = 0; i < n; i++) {
    size_t a = (size_t)(i < nc ? ni + i : i - nc);
    s->g[i] = s->local[a];
    for (int j = 0; j < n; j++) s->H[(size_t)i * (size_t)n + (size_t)j] = s->Hlocal[a * (size_t)n + (size_t)(j < nc ? ni + j : j - nc)];
    s->diagonal[i] = fmax(s->diagonal[i], s->H[(size_t)i * (size_t)n + (size_t)i]);
  }
  return TG_OK;
}

// the damped step in the box; false: no minimum, more damping is needed
static bool solve(Newton *s, const double *x) {
  size_t n = (size_t)s->n;
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, s->diagonal[i]);
  memcpy(s->damped, s->H, n * n * sizeof *s->H);
  for (size_t i = 0; i < n; i++) {
    // a variable that moves no residual is held by a small share of the largest
    s->damped[i * n + i] += s->state[LAMBDA] * (most > 0 ? fmax(s->diagonal[i], 1e-8 * most) : 1);
    s->low[i] = s->r->low[i] - x[i];
    s->high[i] = s->r->high[i] - x[i];
    s->qp.x[i] = 0;
  }
  s->qp.n = s->n;
  s->qp.H = s->damped;
  s->qp.g = s->g;
  s->qp.low = s->low;
  s->qp.high = s->high;
  return tgi_box_qp(&s->qp);
}

// decrease of the quadratic model, without its damping, for the step
static double promised(const Newton *s) {
  size_t n = (size_t)s->n;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double Hd = 0;
    for (size_t j = 0; j < n; j++) Hd += s->H[i * n + j] * s->qp.x[j];
    sum -= s->qp.x[i] * (s->g[i] + 0.5 * Hd);
  }
  return sum;
}

static void raise(Newton *s) {
  s->state[LAMBDA] = fmax(s->state[LAMBDA] * s->state[NU], LEAST);
  s->state[NU] *= 2;
}

static void lower(Newton *s, double gain) {
  double c = 2 * gain - 1;
  s->state[LAMBDA] *= fmax(1.0 / 3, 1 - c * c * c);
  if (s->state[LAMBDA] < 0.1 * LEAST) s->state[LAMBDA] = 0;
  s->state[NU] = 2;
}

// one iteration from x with loss *f: damping is raised until a step lowers the loss
static tgStatus iterate(void *ctx, double *x, double *f, bool *done) {
  Newton *s = ctx;
  tgOptRun *r = s->r;
  *done = false;
  TG_TRY_OUTCOME(linearise(s, x));
  for (; s->state[LAMBDA] <= MOST; raise(s)) {
    if (!solve(s, x)) continue;
    double promise = promised(s), fn;
    if ((*done = promise <= fmax(s->task->optimizer.tolerance, 1e-14) * fabs(*f))) return TG_OK;
    for (int i = 0; i < s->n; i++) s->next[i] = fmin(fmax(x[i] + s->qp.x[i], r->low[i]), r->high[i]);
    tg_task_expand(s->task, s->next, s->q0, s->v0, s->u);
    tgRollAsk ask = {.q0 = s->q0, .v0 = s->v0, .u = s->u, .cancel = r->o->cancel};
    tgRolloutResult result;
    tgStatus st = tgi_opt_roll(r, s->next, &ask, &fn, &result);
    if (st != TG_OK && !tgi_opt_numerical(st)) return st;
    if (st != TG_OK || !(*f - fn > 1e-4 * promise)) continue;
    lower(s, (*f - fn) / promise);
    *f = fn;
    memcpy(x, s->next, (size_t)s->n * sizeof *x);
    return TG_OK;
  }
  *done = true;
  return TG_OK;
}

tgStatus tgi_opt_gauss_newton(tgOptRun *r, double *x) {
  Newton s;
  tgStatus st = make(&s, r);
  tgOptIterates m = {.ctx = &s, .iterate = iterate, .state = s.state, .count = DIAGONAL + s.n, .from = s.from, .saved = s.saved};
  if (st == TG_OK) st = tgi_opt_iterate(r, &m, x);
  r->alloc.free(r->alloc.ctx, s.block);
  return st;
}
