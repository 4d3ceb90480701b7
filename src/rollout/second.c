// second.c: second derivatives of steps and rollouts; see tangere/second.h.
//
// Based on: [math/softmin Second]. Forward over reverse: a tangent goes through the steps, then adjoints and their
// rates along it come back,
//   a_t = dL/ds_t,  da_t = rate of that along the direction, both in the exponential chart at s_t:
//   (a_t, da_t) = loss terms + twin step's adjoint of (a_{t+1}, da_{t+1}).
// States are kept, and what each step remembers of the one before; steps are computed twice; the twin's step (grad/twin.h) gives tangents
// and rates to rounding.
#include <string.h>

#include "base/fpenv.h"
#include "base/layout.h"
#include "base/memory.h"
#include "grad/twin.h"
#include "rollout/rollout.h"
#include "sim/sim.h"
#include "sim/stepper.h"
#include "step/impulse_parts.h"
#include "step/step.h"
#include "tangere/second.h"

struct tgSecond {
  tgAllocator alloc;
  const tgModel *model;
  const tgContact *contact;
  tgSim *sim;                 // of rollouts
  tgxTwin *twin;
  int steps, busy;
  double h;
  int nv, nw, nx, ny;         // of q and w = (v, act) in tangents, of (q, w, u) and of (q, w)
  tgReal *q, *w, *dq, *dw;    // (steps + 1) x nq, nw, nv, nw
  tgReal *a, *da;             // ny: adjoint and its rate
  tgReal *G, *H;              // nx
  tgReal *d, *dy;             // nx, ny
  tgReal *term, *rate;        // nx: a loss term's gradient, and its rate
  tgReal *D, *DD;             // ny x nx
  tgParamGrad *p;             // of the chosen parameters, NULL: none; of a rollout's loss terms
  int np;                     // entries of it
  tgReal *G_p, *H_p, *P, *Q;  // np: sums over a rollout, and of one step
  char *memory;               // of contacts and classes before each step, `stride` bytes each; NULL: nothing is remembered
  size_t stride, room;        // room: of `memory`
  void *block;
};

static void place(tgSecond *s, tgLayout *l) {
  size_t nq = (size_t)s->model->nq, nv = (size_t)s->nv, nw = (size_t)s->nw, n = (size_t)s->steps + 1;
  size_t nx = (size_t)s->nx, ny = (size_t)s->ny;
  s->q = tgi_place(l, tgi_size_mul(n, nq), sizeof(tgReal));
  s->w = tgi_place(l, tgi_size_mul(n, nw), sizeof(tgReal));
  s->dq = tgi_place(l, tgi_size_mul(n, nv), sizeof(tgReal));
  s->dw = tgi_place(l, tgi_size_mul(n, nw), sizeof(tgReal));
  tgReal **const vectors[] = {&s->a, &s->da, &s->G, &s->H, &s->d, &s->dy, &s->term, &s->rate};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = tgi_place(l, nx, sizeof(tgReal));
  s->D = tgi_place(l, tgi_size_mul(ny, nx), sizeof(tgReal));
  s->DD = tgi_place(l, tgi_size_mul(ny, nx), sizeof(tgReal));
}

tgSecond *tg_second_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, tgError *error) {
  tgRolloutOptions o = options != NULL ? *options : tg_rollout_default();
  if (model == NULL || contact == NULL || contact->model != model || o.size != sizeof o || o.steps < 1 || !(o.h >= 0)) {
    tgi_error(error, TG_ERR_ARG, "Second derivatives need a model, a contact model made for it, and options made by tg_rollout_default.");
    return NULL;
  }
  if (!contact->stepper->twice) {
    tgi_error(error, TG_ERR_UNSUPPORTED,
              "The contact model '%s' has no second derivatives: its step is not twice differentiable.",
              tg_contact_word(contact));
    return NULL;
  }
  if (o.gradient_contact != NULL) {
    tgi_error(error, TG_ERR_UNSUPPORTED,
              "Second derivatives are of the step itself; leave gradient_contact, here '%s', NULL.",
              tg_contact_word(o.gradient_contact));
    return NULL;
  }
  tgAllocator a = tgi_allocator(o.allocator);
  tgSecond *s = a.alloc(a.ctx, sizeof *s);
  tgLayout count = {.base = NULL};
  if (s == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives.");
    return NULL;
  }
  *s = (tgSecond){.alloc = a, .model = model, .contact = contact, .steps = o.steps, .h = o.h > 0 ? o.h : tg_model_timestep(model)};
  s->nv = model->nv;
  s->nw = tgi_nw(model);
  s->ny = s->nv + s->nw;
  s->nx = s->ny + model->nu;
  place(s, &count);
  s->block = a.alloc(a.ctx, count.used + 64);
  s->sim = tg_sim_create(model, contact, &a, error);
  s->twin = s->sim != NULL && s->block != NULL ? tgx_create(model, tg_contact_word(contact), contact->options, &a, error) : NULL;
  if (s->twin == NULL) {
    if (s->block == NULL) tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives over %d steps.", o.steps);
    tg_second_free(s);
    return NULL;
  }
  memset(s->block, 0, count.used + 64);
  tgLayout l = {.base = (char *)(((uintptr_t)s->block + 63) / 64 * 64)};
  place(s, &l);
  return s;
}

void tg_second_free(tgSecond *s) {
  if (s == NULL) return;
  tgAllocator a = s->alloc;
  tgx_free(s->twin);
  tg_param_grad_free(s->p);
  a.free(a.ctx, s->G_p);
  a.free(a.ctx, s->memory);
  tg_sim_free(s->sim);
  a.free(a.ctx, s->block);
  a.free(a.ctx, s);
}

// ---- parameters ----

static tgStatus choose(tgSecond *s, const char *const *names, int n, tgError *error) {
  tgAllocator a = s->alloc;
  int size = 0;
  tgParamGrad *p = tg_param_grad_create_contact(s->contact, names, n, &a, error);
  if (p == NULL) return error->status;
  tg_param_grad_values(p, &size);
  tgReal *block = a.alloc(a.ctx, (4 * (size_t)size + 1) * sizeof *block);
  tgStatus status = block == NULL ? tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives in %d parameters.", size)
                                  : tgx_choose(s->twin, names, n, &size, error);
  if (status != TG_OK) {
    tg_param_grad_free(p);
    a.free(a.ctx, block);
    return status;
  }
  tg_param_grad_free(s->p);
  a.free(a.ctx, s->G_p);
  s->p = p;
  s->np = size;
  s->G_p = block;
  s->H_p = block + size;
  s->P = block + 2 * (size_t)size;
  s->Q = block + 3 * (size_t)size;
  return TG_OK;
}

static bool claim(tgSecond *s) { return __atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE) == 0; }
static void release(tgSecond *s) { __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE); }

tgStatus tg_second_choose(tgSecond *second, const char *const *names, int n, tgError *error) {
  tgError own;
  if (second == NULL || (names != NULL && n < 0)) return TG_ERR_ARG;
  if (!claim(second)) return TG_ERR_STATE;
  tgStatus status = choose(second, names, n, error != NULL ? error : &own);
  release(second);
  return status;
}

int tg_second_parameters(const tgSecond *second) { return second != NULL ? second->np : 0; }

// ---- what steps remember: which features and classes the one before had ----

// room for the memory of a sim before each of `steps` steps
static tgStatus make_memory(tgSecond *s, const tgSim *sim, size_t steps) {
  tgAllocator a = s->alloc;
  if (sim->rows == NULL) return TG_OK;
  s->stride = tgi_memory_bytes(sim);
  size_t bytes = tgi_size_mul(s->stride, steps);
  if (bytes <= s->room) return TG_OK;
  a.free(a.ctx, s->memory);
  s->memory = a.alloc(a.ctx, bytes);
  s->room = s->memory != NULL ? bytes : 0;
  return s->memory != NULL ? TG_OK : TG_ERR_MEMORY;
}

static char *memory_at(const tgSecond *s, int t) { return s->memory != NULL ? s->memory + (size_t)t * s->stride : NULL; }

static tgxPoint point_of(const tgSim *sim, const tgReal *q, const tgReal *w, double h, const void *memory) {
  return (tgxPoint){.model = &sim->m, .number = sim->contact_number, .q = q, .w = w, .u = sim->ctrl, .applied = sim->qfrc_applied, .h = h,
                    .memory = memory};
}

// where the sim's last step began; its w is kept in s->w
static tgStatus point_before(tgSecond *s, tgSim *sim, tgxPoint *at) {
  memcpy(s->w, sim->start.vel, (size_t)s->nv * sizeof *s->w);
  if (s->nw > s->nv) memcpy(s->w + s->nv, sim->act0, (size_t)(s->nw - s->nv) * sizeof *s->w);
  tgStatus status = make_memory(s, sim, 1);
  if (status != TG_OK) return tgi_error(&sim->error, status, "Out of memory for second derivatives.");
  if (s->memory != NULL) {
    tgi_parts_swap_memory(sim);
    tgi_memory_save(sim, s->memory);
    tgi_parts_swap_memory(sim);
  }
  *at = point_of(sim, sim->start.q, s->w, sim->h, s->memory);
  return TG_OK;
}

// ---- one step ----

static tgStatus stepped(const tgSecond *s, tgSim *sim) {
  if (sim->model != s->model || sim->contact_model != s->contact)
    return tgi_error(&sim->error, TG_ERR_ARG, "The simulation is of another model or contact model than the second derivatives.");
  if (sim->stage == TG_STAGE_STEPPED) return TG_OK;
  return tgi_error(&sim->error, TG_ERR_STATE,
                   "A step's second derivative is asked for after something else than a successful step; step first.");
}

static void add_vector(int n, const tgReal *x, tgReal *y) {
  for (int i = 0; i < n; i++) y[i] += x[i];
}

static tgStatus step_hvp(tgSecond *s, tgSim *sim, const tgReal *g, const tgReal *d, const tgReal *dp, tgReal *hvp,
                         tgReal *hp, tgReal *jvp) {
  TG_TRY_OUTCOME(stepped(s, sim));
  size_t nx = (size_t)s->nx, ny = (size_t)s->ny;
  tgxPoint at;
  TG_TRY_OUTCOME(point_before(s, sim, &at));
  for (size_t i = 0; i < nx; i++) s->d[i] = d != NULL ? d[i] : 0;
  TG_TRY_OUTCOME(tgx_step(s->twin, &at, s->d, dp, s->dy, &sim->error));
  if (jvp != NULL) memcpy(jvp, s->dy, ny * sizeof *jvp);
  if (hvp == NULL && hp == NULL) return TG_OK;
  memset(s->da, 0, ny * sizeof *s->da);
  TG_TRY_OUTCOME(tgx_vjp(s->twin, g, s->da, s->G, s->H, NULL, hp != NULL ? s->Q : NULL, NULL, &sim->error));
  if (hvp != NULL) memcpy(hvp, s->H, nx * sizeof *hvp);
  if (hp != NULL) memcpy(hp, s->Q, (size_t)s->np * sizeof *hp);
  return TG_OK;
}

tgStatus tg_step_hvp_parameters(tgSecond *second, tgSim *sim, const tgReal *g, const tgReal *d, const tgReal *dp,
                                tgReal *hvp, tgReal *hp, tgReal *jvp) {
  if (second == NULL || sim == NULL || ((hvp != NULL || hp != NULL) && g == NULL) || ((dp != NULL || hp != NULL) && second->p == NULL))
    return TG_ERR_ARG;
  if (!claim(second)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = step_hvp(second, sim, g, d, dp, hvp, hp, jvp);
  tgi_fp_leave(env);
  release(second);
  return status;
}

tgStatus tg_step_hvp(tgSecond *second, tgSim *sim, const tgReal *g, const tgReal *d, tgReal *hvp, tgReal *jvp) {
  return d != NULL ? tg_step_hvp_parameters(second, sim, g, d, NULL, hvp, NULL, jvp) : TG_ERR_ARG;
}

// one column of all matrices after the other, by the derivative of the Jacobian along it
static tgStatus step_hessian(tgSecond *s, tgSim *sim, tgReal *H, const volatile int *cancel) {
  TG_TRY_OUTCOME(stepped(s, sim));
  int nx = s->nx;
  tgxPoint at;
  TG_TRY_OUTCOME(point_before(s, sim, &at));
  for (int j = 0; j < nx; j++) {
    if (cancel != NULL && *cancel != 0) return TG_CANCELLED;
    for (int i = 0; i < nx; i++) s->d[i] = i == j;
    TG_TRY_OUTCOME(tgx_step(s->twin, &at, s->d, NULL, s->dy, &sim->error));
    TG_TRY_OUTCOME(tgx_jacobian(s->twin, s->D, s->DD, &sim->error));
    for (int k = 0; k < s->ny; k++)
      for (int i = 0; i < nx; i++) H[((size_t)k * (size_t)nx + (size_t)i) * (size_t)nx + (size_t)j] = s->DD[k * nx + i];
  }
  return TG_OK;
}

tgStatus tg_step_hessian(tgSecond *second, tgSim *sim, tgReal *H, const volatile int *cancel) {
  if (second == NULL || sim == NULL || H == NULL) return TG_ERR_ARG;
  if (!claim(second)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = step_hessian(second, sim, H, cancel);
  tgi_fp_leave(env);
  release(second);
  return status;
}

// ---- rollouts ----

typedef struct Sweep { tgSecond *s; const tgRolloutRun *run; const tgSecondRun *second; tgRolloutResult *res; } Sweep;

static tgStatus fail(Sweep *w, tgStatus status, int t, const char *text) {
  return tgi_error(&w->res->error, status, "step %d: %s", t, text);
}

static const tgReal *state_q(const tgSecond *s, int t) { return s->q + (size_t)t * (size_t)s->model->nq; }
static const tgReal *state_w(const tgSecond *s, int t) { return s->w + (size_t)t * (size_t)s->nw; }

static void set_controls(Sweep *w, int t) {
  const tgSim *sim = w->s->sim;
  for (int i = 0; i < sim->m.nu; i++) sim->ctrl[i] = w->run->u != NULL ? w->run->u[(size_t)t * (size_t)sim->m.nu + (size_t)i] : 0;
}

// tangent of (q, w, u) at step t
static void set_direction(Sweep *w, int t) {
  tgSecond *s = w->s;
  int nu = s->model->nu;
  size_t nv = (size_t)s->nv, nw = (size_t)s->nw;
  memcpy(s->d, s->dq + (size_t)t * nv, nv * sizeof *s->d);
  memcpy(s->d + nv, s->dw + (size_t)t * nw, nw * sizeof *s->d);
  for (int i = 0; i < nu; i++)
    s->d[s->ny + i] = w->second->du != NULL && t < s->steps ? w->second->du[(size_t)t * (size_t)nu + (size_t)i] : 0;
}

static tgStatus twin_step(Sweep *w, int t) {
  tgSecond *s = w->s;
  tgError error = {.status = TG_OK};
  tgxPoint at = point_of(s->sim, state_q(s, t), state_w(s, t), s->h, memory_at(s, t));
  set_direction(w, t);
  tgStatus status = tgx_step(s->twin, &at, s->d, w->second->dp, s->dy, &error);
  return status == TG_OK ? TG_OK : fail(w, status, t, error.text);
}

static void begin(Sweep *w) {
  tgSecond *s = w->s;
  size_t nq = (size_t)s->model->nq;
  memcpy(s->q, w->run->q0 != NULL ? w->run->q0 : s->sim->m.qpos0, nq * sizeof *s->q);
  for (int i = 0; i < s->nv; i++) s->dq[i] = w->second->dq0 != NULL ? w->second->dq0[i] : 0;
  for (int i = 0; i < s->nw; i++) {
    s->w[i] = w->run->v0 != NULL ? w->run->v0[i] : 0;
    s->dw[i] = w->second->dv0 != NULL ? w->second->dv0[i] : 0;
  }
}

static void show(Sweep *w, int t) {
  memcpy(w->s->sim->qpos, state_q(w->s, t), (size_t)w->s->model->nq * sizeof(tgReal));
  tgi_sim_put_w(w->s->sim, state_w(w->s, t));
}

static tgStatus forward(Sweep *w) {
  tgSecond *s = w->s;
  size_t nq = (size_t)s->model->nq, nv = (size_t)s->nv, nw = (size_t)s->nw;
  begin(w);
  for (int t = 0; t < s->steps; t++) {
    size_t next = (size_t)t + 1;
    if (w->run->cancel != NULL && *w->run->cancel != 0) return TG_CANCELLED;
    show(w, t);
    set_controls(w, t);
    if (s->memory != NULL) tgi_memory_save(s->sim, memory_at(s, t));
    tgStatus status = tg_sim_step(s->sim, s->h, NULL);
    if (status != TG_OK) return fail(w, status, t, tg_sim_error(s->sim)->text);
    memcpy(s->q + next * nq, s->sim->qpos, nq * sizeof *s->q);
    tgi_sim_take_w(s->sim, s->w + next * nw);
    tgGradInfo info;
    status = tgi_step_label(s->sim, &info);
    if (status != TG_OK) return fail(w, status, t, tg_sim_error(s->sim)->text);
    tgi_grad_merge(&w->res->grad, &info, t);
    TG_TRY_OUTCOME(twin_step(w, t));
    memcpy(s->dq + next * nv, s->dy, nv * sizeof *s->dq);
    memcpy(s->dw + next * nw, s->dy + nv, nw * sizeof *s->dw);
    w->res->steps = t + 1;
  }
  return TG_OK;
}

static bool wants_parameters(const tgSecondRun *o) { return o->dp != NULL || o->hp != NULL || o->gp != NULL; }

// what the term depends on in the parameters themselves: its gradient, kept in s->p, and the rates that this makes
static tgStatus loss_parameters(Sweep *w, int t) {
  tgSecond *s = w->s;
  const tgRolloutRun *run = w->run;
  int nv = s->nv, ny = s->ny;
  bool last = t == s->steps;
  TG_TRY_OUTCOME(run->loss_param(run->loss_ctx, s->sim, t, s->steps, s->p));
  return w->second->loss_param_hvp(run->loss_ctx, s->sim, t, s->steps, s->d, s->d + nv, last ? NULL : s->d + ny,
                                   w->second->dp, s->rate, s->rate + nv, last ? NULL : s->rate + ny, s->H_p);
}

// value, gradient and its rate of loss term t, the sim showing state t and step t done
static tgStatus loss_term(Sweep *w, int t) {
  tgSecond *s = w->s;
  const tgRolloutRun *run = w->run;
  int nv = s->nv, nx = s->nx, ny = s->ny, steps = s->steps;
  tgReal value = 0;
  bool last = t == steps;
  memset(s->term, 0, (size_t)nx * sizeof *s->term);
  memset(s->rate, 0, (size_t)nx * sizeof *s->rate);
  if (run->loss == NULL) return TG_OK;
  tgStatus status = run->loss(run->loss_ctx, s->sim, t, steps, &value, s->term, s->term + nv, last ? NULL : s->term + ny);
  w->res->loss += value;
  if (status != TG_OK) return fail(w, status, t, "the loss");
  set_direction(w, t);
  status = w->second->loss_hvp(run->loss_ctx, s->sim, t, steps, s->d, s->d + nv, last ? NULL : s->d + ny, s->rate,
                               s->rate + nv, last ? NULL : s->rate + ny);
  if (status == TG_OK && s->p != NULL && wants_parameters(w->second)) status = loss_parameters(w, t);
  return status == TG_OK ? TG_OK : fail(w, status, t, "the loss's second derivative");
}

static tgStatus backward(Sweep *w) {
  tgSecond *s = w->s;
  int nu = s->model->nu, nx = s->nx;
  size_t ny = (size_t)s->ny;
  const tgSecondRun *o = w->second;
  tg_param_grad_clear(s->p);
  for (int i = 0; i < s->np; i++) s->G_p[i] = s->H_p[i] = 0;
  show(w, s->steps);
  tgStatus status = tg_sim_forward(s->sim);
  if (status != TG_OK) return fail(w, status, s->steps, tg_sim_error(s->sim)->text);
  TG_TRY_OUTCOME(loss_term(w, s->steps));
  memcpy(s->a, s->term, ny * sizeof *s->a);
  memcpy(s->da, s->rate, ny * sizeof *s->da);
  for (int t = s->steps - 1; t >= 0; t--) {
    tgError error = {.status = TG_OK};
    tgGradInfo info;
    if (w->run->cancel != NULL && *w->run->cancel != 0) return TG_CANCELLED;
    show(w, t);
    set_controls(w, t);
    status = s->memory != NULL ? tgi_memory_restore(s->sim, memory_at(s, t)) : TG_OK;
    if (status == TG_OK) status = tg_sim_step(s->sim, s->h, NULL);
    if (status != TG_OK) return fail(w, status, t, tg_sim_error(s->sim)->text);
    show(w, t);
    TG_TRY_OUTCOME(loss_term(w, t));
    TG_TRY_OUTCOME(twin_step(w, t));
    bool parameters = s->p != NULL && wants_parameters(o);
    status = tgx_vjp(s->twin, s->a, s->da, s->G, s->H, parameters ? s->P : NULL, parameters ? s->Q : NULL, &info, &error);
    if (status != TG_OK) return fail(w, status, t, error.text);
    tgi_grad_merge(&w->res->grad, &info, t);
    if (parameters) {
      add_vector(s->np, s->P, s->G_p);
      add_vector(s->np, s->Q, s->H_p);
    }
    add_vector(nx, s->term, s->G);
    add_vector(nx, s->rate, s->H);
    memcpy(s->a, s->G, ny * sizeof *s->a);
    memcpy(s->da, s->H, ny * sizeof *s->da);
    if (w->run->du != NULL) memcpy(w->run->du + (size_t)t * (size_t)nu, s->G + ny, (size_t)nu * sizeof *s->G);
    if (o->hu != NULL) memcpy(o->hu + (size_t)t * (size_t)nu, s->H + ny, (size_t)nu * sizeof *s->H);
  }
  return TG_OK;
}

static void copy_out(tgReal *to, const tgReal *from, size_t n) {
  if (to != NULL) memcpy(to, from, n * sizeof *to);
}

static const tgGradInfo unlabelled = {.label = TG_GRAD_EXACT, .converged = true, .first_step = -1};

static tgStatus rollout(Sweep *w, bool hvp) {
  tgSecond *s = w->s;
  size_t nq = (size_t)s->model->nq, nv = (size_t)s->nv, nw = (size_t)s->nw, n = (size_t)s->steps + 1;
  tg_sim_reset(s->sim);
  if (w->run->setup != NULL) {
    tgStatus status = w->run->setup(w->run->setup_ctx, s->sim);
    if (status != TG_OK) return fail(w, status, 0, "the setup");
  }
  TG_TRY_OUTCOME(forward(w));
  copy_out(w->run->q, s->q, n * nq);
  copy_out(w->run->v, s->w, n * nw);
  copy_out(w->second->jq, s->dq, n * nv);
  copy_out(w->second->jv, s->dw, n * nw);
  if (!hvp) return TG_OK;
  w->res->grad = unlabelled;   // adjoints tell of clamps too
  TG_TRY_OUTCOME(backward(w));
  copy_out(w->run->dq0, s->a, nv);
  copy_out(w->run->dv0, s->a + nv, nw);
  copy_out(w->second->hq0, s->da, nv);
  copy_out(w->second->hv0, s->da + nv, nw);
  if (s->p != NULL) add_vector(s->np, tg_param_grad_values(s->p, NULL), s->G_p);
  copy_out(w->second->gp, s->G_p, (size_t)s->np);
  copy_out(w->second->hp, s->H_p, (size_t)s->np);
  return TG_OK;
}

static tgStatus run_sweep(tgSecond *s, const tgRolloutRun *run, const tgSecondRun *second, bool hvp, tgRolloutResult *result) {
  tgRolloutResult own;
  if (s == NULL || run == NULL || second == NULL || run->policy != NULL || run->loss_contacts != NULL ||
      (hvp && run->loss != NULL && second->loss_hvp == NULL))
    return TG_ERR_ARG;
  if (wants_parameters(second) && (s->p == NULL ||
                                   (hvp && run->loss != NULL && (run->loss_param == NULL ||
                                                                 second->loss_param_hvp == NULL))))
    return TG_ERR_ARG;
  if (!claim(s)) return TG_ERR_STATE;
  Sweep w = {.s = s, .run = run, .second = second, .res = result != NULL ? result : &own};
  tgiFpEnv env = tgi_fp_enter();
  do {   // from the start again where contacts take more room than there is
    *w.res = (tgRolloutResult){.grad = unlabelled};
    w.res->status = make_memory(s, s->sim, (size_t)s->steps + 1) == TG_OK ? rollout(&w, hvp) : fail(&w, TG_ERR_MEMORY, 0, "out of memory");
  } while (w.res->status == TG_ERR_CAPACITY && tg_sim_grow(s->sim) == TG_OK);
  tgi_fp_leave(env);
  release(s);
  return w.res->status;
}

tgStatus tg_loss_hvp_without_parameters(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq, const tgReal *dv,
                                        const tgReal *du, const tgReal *dp, tgReal *hq, tgReal *hv, tgReal *hu,
                                        tgReal *hp) {
  (void)ctx; (void)sim; (void)t; (void)steps; (void)dq; (void)dv; (void)du; (void)dp; (void)hq; (void)hv; (void)hu; (void)hp;
  return TG_OK;
}

tgStatus tg_rollout_jvp(tgSecond *second, const tgRolloutRun *run, const tgSecondRun *direction, tgRolloutResult *result) {
  return run_sweep(second, run, direction, false, result);
}

tgStatus tg_rollout_hvp(tgSecond *second, const tgRolloutRun *run, const tgSecondRun *direction, tgRolloutResult *result) {
  return run_sweep(second, run, direction, true, result);
}
