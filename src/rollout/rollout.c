// rollout.c: T steps with a loss, and the adjoint over them within a byte budget.
//
// Forward:  s_{t+1} = step(s_t, u_t),  L = sum_t l_t(s_t, u_t) + l_T(s_T);  s = (q, w), w = (v, act).
// Adjoint:  a_T = dl_T/ds,  (a_t, g_t) = step_vjp_t(a_{t+1}) + (dl_t/ds, dl_t/du),  dL/ds_0 = a_0,  dL/du_t = g_t.
// The tape is a stack of snapshots, kept where schedule.h says, each with a record of the step made from it
// (step/step.h). The adjoint of step t uses what the simulation holds right after that step: the record of a snapshot
// at t puts it back without a solve, else the step is made again from the nearest snapshot below it. Both give the same
// bits, so the budget changes none.
#include "rollout/rollout.h"

#include "sim/param.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "rollout/schedule.h"
#include "step/step.h"

// largest tape taken when the caller names no budget, and how often capacity may grow in one run
static const size_t AUTO_TAPE = (size_t)64 << 20;
enum { GROWTHS = 48 };

// A slot of the tape: the index of a state, then its snapshot, then the record of the step from there once that is
// made; slots are `stride` bytes apart.
typedef struct Slot { int t; bool recorded; } Slot;

struct tgRollout {
  tgAllocator alloc;
  tgSim *sim;
  tgSim *by;                // whose steps' derivatives are taken, NULL: the sim's
  const tgModel *model;
  int nq, nv, nw, nu, steps;   // nw: velocities and activations
  double h;
  int busy;                 // atomic: a run is going on
  // tape
  bool automatic;           // no budget was named
  size_t tape_bytes, stride, work_bytes;
  char *tape;
  int slots, top;           // room, and slots in use
  int at;                   // state that the sim is at, -1: none of the run
  // work arrays, one block
  tgReal *work;
  tgReal *aq, *aw;          // nv, nw: adjoint of the state after a step
  tgReal *bq, *bw;          // nv, nw: of the state before it
  tgReal *gq, *gw, *gu;     // nv, nw, nu: derivatives of a loss term
  tgReal *du;               // nu
  tgContactGrad *touch;     // of a loss of contacts, grown to the most that a step has had
  int touch_room;
};

// What a sweep needs, together.
typedef struct Sweep {
  tgRollout *r;
  const tgRolloutRun *run;
  tgRolloutResult *res;
  bool gradient;
} Sweep;

tgRolloutOptions tg_rollout_default(void) { return (tgRolloutOptions){.size = sizeof(tgRolloutOptions), .steps = 1}; }

static const char *sim_text(const tgSim *sim, tgStatus status) {
  const tgError *e = tg_sim_error(sim);
  return e->text[0] != 0 ? e->text : tg_status_text(status);
}

static size_t rounded(size_t bytes) { return (bytes + 15) / 16 * 16; }
static size_t slot_stride(const tgSim *sim) {
  return rounded(sizeof(Slot)) + rounded(tg_sim_snapshot_size(sim)) + rounded(tgi_step_record_bytes(sim));
}

static Slot *slot(const tgRollout *r, int i) { return (Slot *)(void *)(r->tape + (size_t)i * r->stride); }
static char *slot_snapshot(const tgRollout *r, int i) { return (char *)slot(r, i) + rounded(sizeof(Slot)); }
static char *slot_record(const tgRollout *r, int i) { return slot_snapshot(r, i) + rounded(tg_sim_snapshot_size(r->sim)); }

// Lays the tape out for the present size of a snapshot; an automatic one is allocated anew when it has to.
static tgStatus tape_layout(tgRollout *r) {
  r->stride = slot_stride(r->sim);
  if (r->automatic) {
    size_t want = tgi_size_mul((size_t)r->steps, r->stride);
    if (want > AUTO_TAPE) want = AUTO_TAPE / r->stride * r->stride;
    if (want < r->stride) want = r->stride;
    if (want != r->tape_bytes || r->tape == NULL) {
      r->alloc.free(r->alloc.ctx, r->tape);
      r->tape_bytes = 0;
      r->slots = 0;
      r->tape = r->alloc.alloc(r->alloc.ctx, want);
      if (r->tape == NULL) return TG_ERR_MEMORY;
      r->tape_bytes = want;
    }
  }
  size_t slots = r->tape_bytes / r->stride;
  r->slots = slots > (size_t)r->steps ? r->steps : (int)slots;
  return TG_OK;
}

static tgStatus allocate(tgRollout *r) {
  size_t n = (size_t)(3 * r->nv + 3 * r->nw + 2 * r->nu) + 1;
  r->work_bytes = n * sizeof(tgReal);
  r->work = r->alloc.alloc(r->alloc.ctx, r->work_bytes);
  if (r->work == NULL) return TG_ERR_MEMORY;
  memset(r->work, 0, r->work_bytes);
  tgReal *p = r->work;
  tgReal **field[] = {&r->aq, &r->aw, &r->bq, &r->bw, &r->gq, &r->gw, &r->gu, &r->du};
  int size[] = {r->nv, r->nw, r->nv, r->nw, r->nv, r->nw, r->nu, r->nu};
  for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
    *field[i] = p;
    p += size[i];
  }
  if (!r->automatic) {
    r->tape = r->alloc.alloc(r->alloc.ctx, r->tape_bytes);
    if (r->tape == NULL) return TG_ERR_MEMORY;
  }
  return tape_layout(r);
}

static bool make_second_sim(tgRollout *r, const tgContact *gradient, tgError *error) {
  if (gradient->model == r->model) r->by = tg_sim_create(r->model, gradient, &r->alloc, error);
  else tgi_error(error, TG_ERR_ARG, "gradient_contact, '%s', was made for another model than the rollout's", tg_contact_word(gradient));
  return r->by != NULL;
}

tgRollout *tg_rollout_create(const tgModel *model, const tgContact *contact, const tgRolloutOptions *options, tgError *error) {
  tgRolloutOptions o = options != NULL ? *options : tg_rollout_default();
  if (model == NULL || o.size != sizeof(tgRolloutOptions)) {
    tgi_error(error, TG_ERR_ARG, "a rollout needs a model, and options made by tg_rollout_default");
    return NULL;
  }
  if (o.steps < 1 || !(o.h >= 0) || o.h > 1e6) {
    tgi_error(error, TG_ERR_ARG,
              "a rollout of %d steps of %g s: steps must be at least 1, the step size finite and not negative", o.steps,
              o.h);
    return NULL;
  }
  tgAllocator a = tgi_allocator(o.allocator);
  tgRollout *r = a.alloc(a.ctx, sizeof *r);
  if (r == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a rollout");
    return NULL;
  }
  memset(r, 0, sizeof *r);
  *r = (tgRollout){.alloc = a, .model = model, .nq = model->nq, .nv = model->nv, .nw = tgi_nw(model), .nu = model->nu,
                   .steps = o.steps, .h = o.h > 0 ? o.h : tg_model_timestep(model), .automatic = o.tape_bytes == 0,
                   .tape_bytes = o.tape_bytes, .at = -1};
  r->sim = tg_sim_create(model, contact, &a, error);
  if (r->sim == NULL) {
    tg_rollout_free(r);
    return NULL;
  }
  if (o.gradient_contact != NULL && !make_second_sim(r, o.gradient_contact, error)) {
    tg_rollout_free(r);
    return NULL;
  }
  tgStatus status = TG_OK;
  if (o.ncontact > 0 || o.nrow > 0) status = tg_sim_reserve(r->sim, o.ncontact, o.nrow);
  if (status == TG_OK && r->by != NULL && (o.ncontact > 0 || o.nrow > 0)) status = tg_sim_reserve(r->by, o.ncontact, o.nrow);
  if (status == TG_OK) status = allocate(r);
  if (status == TG_OK) return r;
  tgi_error(error, status, "a rollout of %d steps with a tape of %zu bytes: %s", o.steps, o.tape_bytes, tg_status_text(status));
  tg_rollout_free(r);
  return NULL;
}

void tg_rollout_free(tgRollout *r) {
  if (r == NULL) return;
  tgAllocator a = r->alloc;
  a.free(a.ctx, r->tape);
  a.free(a.ctx, r->work);
  a.free(a.ctx, r->touch);
  tg_sim_free(r->sim);
  tg_sim_free(r->by);
  a.free(a.ctx, r);
}

tgSim *tg_rollout_sim(tgRollout *r) { return r != NULL ? r->sim : NULL; }
size_t tg_rollout_least_bytes(const tgRollout *r) { return r != NULL ? slot_stride(r->sim) : 0; }
size_t tg_rollout_bytes(const tgRollout *r) { return r != NULL ? r->tape_bytes + r->work_bytes + sizeof *r : 0; }
int tgi_rollout_steps(const tgRollout *r) { return r->steps; }
double tgi_rollout_timestep(const tgRollout *r) { return r->h; }

// ---- one step ----

// Records a failure once: the text names the step and what the sim says.
static tgStatus fail(const Sweep *w, tgStatus status, const char *what, int t, const char *text) {
  tgi_error(&w->res->error, status, "%s %d of %d: %s", what, t, w->r->steps, text);
  return status;
}

static void save(tgRollout *r) {
  *slot(r, r->top) = (Slot){.t = r->at};
  tg_sim_save(r->sim, slot_snapshot(r, r->top));
  r->top++;
}

// The topmost snapshot is of the state that step t is made from.
static bool kept(const tgRollout *r, int t) { return r->top > 0 && slot(r, r->top - 1)->t == t; }

// Before step r->at: its control. TG_CANCELLED: not any more.
static tgStatus before_step(Sweep *w) {
  tgRollout *r = w->r;
  const tgReal *u = w->run->policy == NULL ? w->run->u : NULL;
  if (w->run->cancel != NULL && __atomic_load_n(w->run->cancel, __ATOMIC_RELAXED) != 0)
    return fail(w, TG_CANCELLED, "before step", r->at, "cancelled by the caller");
  for (int i = 0; i < r->nu; i++) r->sim->ctrl[i] = u != NULL ? u[(size_t)r->at * (size_t)r->nu + (size_t)i] : 0;
  if (w->run->policy != NULL) w->run->policy(w->run->policy_ctx, r->sim, r->at, r->sim->ctrl);
  return TG_OK;
}

static tgStatus after_step(Sweep *w, tgStatus status) {
  tgRollout *r = w->r;
  if (status == TG_ERR_CAPACITY) return status;
  if (status != TG_OK) return fail(w, status, "step", r->at, sim_text(r->sim, status));
  r->at++;
  return TG_OK;
}

// Step r->at, not taken over: the sim still shows the state that it starts from. It is recorded where its state is
// kept. TG_ERR_CAPACITY is passed on without a text: the caller grows and starts again.
static tgStatus step(Sweep *w, tgStepInfo *info) {
  tgRollout *r = w->r;
  tgStatus status = before_step(w);
  if (status != TG_OK) return status;
  w->res->forward_steps++;
  status = tgi_step_solve(r->sim, r->h, info);
  if (status == TG_OK && kept(r, r->at)) {
    tgi_step_record(r->sim, slot_record(r, r->top - 1));
    slot(r, r->top - 1)->recorded = true;
  }
  return after_step(w, status);
}

// The same step from its record, which is the topmost; not taken over either.
static tgStatus put_back(Sweep *w) {
  tgRollout *r = w->r;
  bool solved;
  tgStatus status = before_step(w);
  if (status != TG_OK) return status;
  status = tgi_step_revisit(r->sim, r->h, slot_record(r, r->top - 1), &solved);
  (*(solved ? &w->res->forward_steps : &w->res->revisited_steps))++;
  return after_step(w, status);
}

// ---- loss ----

static bool finite_all(const tgReal *x, int n, int *where) {
  for (int i = 0; i < n; i++) {
    if (tgFinite(x[i])) continue;
    *where = i;
    return false;
  }
  return true;
}

static tgStatus loss_call(Sweep *w, int t, bool derivatives, tgReal *value) {
  tgRollout *r = w->r;
  const tgRolloutRun *run = w->run;
  bool last = t == r->steps;
  int i = 0;
  *value = 0;
  memset(r->gq, 0, (size_t)(r->nv + r->nw + r->nu) * sizeof(tgReal));
  tgStatus status = run->loss(run->loss_ctx, r->sim, t, r->steps, value, derivatives ? r->gq : NULL, derivatives ? r->gw : NULL,
                              derivatives && !last ? r->gu : NULL);
  if (status != TG_OK) return fail(w, status, "loss term", t, "the loss function reports a failure");
  if (!tgFinite(*value)) return fail(w, TG_ERR_NOT_FINITE, "loss term", t, "its value is not finite");
  if (derivatives && !finite_all(r->gq, r->nv + r->nw + r->nu, &i))
    return fail(w, TG_ERR_NOT_FINITE, "loss term", t, "its derivative is not finite");
  if (!derivatives || run->dp == NULL) return TG_OK;
  status = run->loss_param(run->loss_ctx, r->sim, t, r->steps, run->dp);
  if (status != TG_OK) return fail(w, status, "loss term", t, "its part in the parameters reports a failure");
  return TG_OK;
}

// ---- sweeps ----

static void record(const Sweep *w) {
  const tgRollout *r = w->r;
  const tgRolloutRun *run = w->run;
  size_t t = (size_t)r->at, nq = (size_t)r->nq;
  if (run->q != NULL) memcpy(run->q + t * nq, r->sim->qpos, nq * sizeof(tgReal));
  if (run->v != NULL) tgi_sim_take_w(r->sim, run->v + t * (size_t)r->nw);
}

static void note_step(const Sweep *w, const tgStepInfo *info) {
  tgRolloutResult *res = w->res;
  res->steps = w->r->at;
  res->residual = fmax(res->residual, info->residual);
  res->least_distance = fmin(res->least_distance, info->least_distance);
  res->stable_step = fmin(res->stable_step, info->stable_step);
  res->unstable += info->unstable;
  res->ambiguous += info->nambiguous > 0;
  if (w->run->info != NULL) w->run->info[w->r->at - 1] = *info;
}

void tgi_grad_merge(tgGradInfo *all, const tgGradInfo *one, int t) {
  bool right = one->label == TG_GRAD_EXACT && one->converged, worse = one->label > all->label || all->first_step < 0;
  all->ties += one->ties;
  if (!one->converged) all->converged = false;
  if (right || !(worse || (one->label == all->label && t < all->first_step))) return;
  all->label = one->label;
  all->first_step = t;
  memcpy(all->reason, one->reason, sizeof all->reason);
}

void tgi_grad_worst(tgGradInfo *all, const tgGradInfo *one) {
  bool both = all->converged && one->converged;
  if (one->label > all->label || (one->label == all->label && all->converged && !one->converged)) *all = *one;
  all->converged = both;
}

// ---- derivatives of the step just computed ----

static tgStatus step_vjp(Sweep *w, tgGradInfo *info) {
  tgRollout *r = w->r;
  if (r->by == NULL) return tg_sim_step_vjp(r->sim, r->aq, r->aw, r->bq, r->bw, r->du, w->run->dp, info);
  return tg_sim_step_vjp_by(r->sim, r->by, r->aq, r->aw, r->bq, r->bw, r->du, w->run->dp, info);
}

static tgStatus step_jacobian(const tgRollout *r, tgReal *D, tgGradInfo *info) {
  return r->by == NULL ? tg_sim_step_jacobian(r->sim, D, info) : tg_sim_step_jacobian_by(r->sim, r->by, D, info);
}

// The Jacobian of the step just computed, where it is wanted. A gradient labels the rollout by itself.
static tgStatus jacobian_of_step(Sweep *w) {
  tgRollout *r = w->r;
  if (w->run->D == NULL) return TG_OK;
  size_t t = (size_t)r->at - 1, block = (size_t)(r->nv + r->nw) * (size_t)(r->nv + r->nw + r->nu);
  tgGradInfo one = {0};
  tgStatus status = step_jacobian(r, w->run->D + t * block, &one);
  if (status == TG_ERR_CAPACITY) return status;
  if (status != TG_OK) return fail(w, status, "Jacobian of step", (int)t, sim_text(r->sim, status));
  if (!w->gradient) tgi_grad_merge(&w->res->grad, &one, (int)t);
  return TG_OK;
}

static int next_slot(const tgRollout *r, int t, int end) { return t + tgi_schedule_split(end - t, r->slots - r->top); }

static tgStatus forward(Sweep *w) {
  tgRollout *r = w->r;
  tgStatus status;
  tgReal value;
  tgStepInfo info;
  int next = w->gradient ? 0 : r->steps;
  record(w);
  while (r->at < r->steps) {
    if (r->at == next) {
      save(r);
      next = next_slot(r, r->at, r->steps);
    }
    status = step(w, &info);
    if (status != TG_OK) return status;
    note_step(w, &info);
    status = jacobian_of_step(w);
    if (status == TG_OK && w->run->loss != NULL) status = loss_call(w, r->at - 1, false, &value);
    if (status != TG_OK) return status;
    if (w->run->loss != NULL) w->res->loss += value;
    tgi_step_take(r->sim);
    record(w);
  }
  if (w->run->loss == NULL) return TG_OK;
  status = tg_sim_forward(r->sim);
  if (status == TG_ERR_CAPACITY) return status;
  if (status != TG_OK) return fail(w, status, "state", r->steps, sim_text(r->sim, status));
  status = loss_call(w, r->steps, w->gradient, &value);
  w->res->loss += value;
  return status;
}

// From the topmost snapshot on, until step end - 1 is made and not taken over: from its record or, with those before
// it, again, states kept on the way.
static tgStatus reach(Sweep *w, int end) {
  tgRollout *r = w->r;
  int start = slot(r, r->top - 1)->t, next = next_slot(r, start, end);
  tgStepInfo info;
  if (r->at != start) {
    tgStatus status = tg_sim_restore(r->sim, slot_snapshot(r, r->top - 1));
    if (status != TG_OK) return fail(w, status, "state", start, sim_text(r->sim, status));
    r->at = start;
  }
  if (start == end - 1 && slot(r, r->top - 1)->recorded) return put_back(w);
  while (r->at < end) {
    if (r->at == next && r->at < end - 1) {
      save(r);
      next = next_slot(r, r->at, end);
    }
    tgStatus status = step(w, &info);
    if (status != TG_OK) return status;
    if (r->at < end) tgi_step_take(r->sim);
  }
  return TG_OK;
}

static void add(tgReal *x, const tgReal *y, int n) {
  for (int i = 0; i < n; i++) x[i] += y[i];
}

// room for the contacts of a step
static bool touch_room(tgRollout *r, int n) {
  if (n <= r->touch_room) return true;
  r->alloc.free(r->alloc.ctx, r->touch);
  r->touch_room = 0;
  r->touch = r->alloc.alloc(r->alloc.ctx, 2 * (size_t)n * sizeof *r->touch);
  if (r->touch != NULL) r->touch_room = 2 * n;
  return r->touch != NULL;
}

static bool weighs(const tgContactGrad *g, int n) {
  for (int i = 0; i < n; i++)
    for (size_t k = 0; k < sizeof *g / sizeof(double); k++)
      if (((const double *)&g[i])[k] != 0) return true;
  return false;
}

// What the loss term has of the contacts of step t, added to the adjoint of its start. A loss that this step's contacts do not move needs
// no adjoint.
static tgStatus contacts_back(Sweep *w, int t) {
  tgRollout *r = w->r;
  const tgRolloutRun *run = w->run;
  int n = tg_sim_count_contacts(r->sim);
  if (n == 0) return TG_OK;
  if (!touch_room(r, n)) return fail(w, TG_ERR_MEMORY, "loss term", t, "no memory for the gradient in its contacts");
  memset(r->touch, 0, (size_t)n * sizeof *r->touch);
  tgStatus status = run->loss_contacts(run->loss_ctx, r->sim, t, r->steps, r->touch, n);
  if (status != TG_OK) return fail(w, status, "loss term", t, "its part in the contacts reports a failure");
  if (!weighs(r->touch, n)) return TG_OK;
  tgGradInfo one = {0};
  status = tg_sim_contacts_vjp(r->sim, r->touch, n, r->gq, r->gw, r->gu, run->dp, &one);
  if (status == TG_ERR_CAPACITY) return status;
  if (status != TG_OK) return fail(w, status, "gradient in the contacts of step", t, sim_text(r->sim, status));
  add(r->bq, r->gq, r->nv);
  add(r->bw, r->gw, r->nw);
  add(r->du, r->gu, r->nu);
  one.ties = 0;   // those of the step
  tgi_grad_merge(&w->res->grad, &one, t);
  return TG_OK;
}

// Adjoint of step t = r->at - 1, with the loss term of its state and control.
static tgStatus step_back(Sweep *w) {
  tgRollout *r = w->r;
  int t = r->at - 1, i = 0;
  tgGradInfo one = {0};
  tgReal value;
  tgStatus status = step_vjp(w, &one);
  if (status == TG_ERR_CAPACITY) return status;
  if (status != TG_OK) return fail(w, status, "gradient of step", t, sim_text(r->sim, status));
  tgi_grad_merge(&w->res->grad, &one, t);
  if (!r->sim->watched) w->res->unstable += one.label == TG_GRAD_UNSTABLE;
  if (w->run->loss != NULL) {
    // before the term's own derivatives, which may ask the sim for Jacobians of points, after which it tells no contacts
    if (w->run->loss_contacts != NULL) {
      status = contacts_back(w, t);
      if (status != TG_OK) return status;
    }
    status = loss_call(w, t, true, &value);
    if (status != TG_OK) return status;
    add(r->bq, r->gq, r->nv);
    add(r->bw, r->gw, r->nw);
    add(r->du, r->gu, r->nu);
  }
  tgi_step_take(r->sim);
  if (!finite_all(r->bq, r->nv, &i) || !finite_all(r->bw, r->nw, &i) || !finite_all(r->du, r->nu, &i))
    return fail(w, TG_ERR_NOT_FINITE, "gradient of step", t, "not finite; over this horizon it grows beyond what a number holds");
  if (w->run->du != NULL) memcpy(w->run->du + (size_t)t * (size_t)r->nu, r->du, (size_t)r->nu * sizeof(tgReal));
  memcpy(r->aq, r->bq, (size_t)r->nv * sizeof(tgReal));
  memcpy(r->aw, r->bw, (size_t)r->nw * sizeof(tgReal));
  return TG_OK;
}

// the adjoint of state t, where it is asked for
static void keep_adjoint(const Sweep *w, int t) {
  const tgRollout *r = w->r;
  size_t nv = (size_t)r->nv, nw = (size_t)r->nw;
  if (w->run->sq != NULL) memcpy(w->run->sq + (size_t)t * nv, r->aq, nv * sizeof(tgReal));
  if (w->run->sv != NULL) memcpy(w->run->sv + (size_t)t * nw, r->aw, nw * sizeof(tgReal));
}

static tgStatus backward(Sweep *w) {
  tgRollout *r = w->r;
  int i = 0;
  // a_T: what the last loss term left in gq, gw; zero without a loss
  memcpy(r->aq, r->gq, (size_t)r->nv * sizeof(tgReal));
  memcpy(r->aw, r->gw, (size_t)r->nw * sizeof(tgReal));
  keep_adjoint(w, r->steps);
  for (int end = r->steps; end > 0; end--) {
    tgStatus status = reach(w, end);
    if (status == TG_OK) status = step_back(w);
    if (status != TG_OK) return status;
    keep_adjoint(w, end - 1);
    // the state before this step is not needed again
    if (slot(r, r->top - 1)->t == end - 1) r->top--;
  }
  if (w->run->dq0 != NULL) memcpy(w->run->dq0, r->aq, (size_t)r->nv * sizeof(tgReal));
  if (w->run->dv0 != NULL) memcpy(w->run->dv0, r->aw, (size_t)r->nw * sizeof(tgReal));
  if (w->run->dp != NULL && !finite_all(w->run->dp->value, w->run->dp->size, &i))
    return fail(w, TG_ERR_NOT_FINITE, "gradient at step", 0,
                "that in the parameters is not finite; over this horizon it grows beyond what a number holds");
  return TG_OK;
}

// ---- a run ----

static void put_at_rest(tgSim *s) {
  for (int i = 0; i < s->m.nv; i++) s->qvel[i] = 0;
  for (int i = 0; i < s->m.na; i++) s->act[i] = 0;
}

// State 0 with empty contact memory and a clean result.
static tgStatus start(Sweep *w) {
  tgRollout *r = w->r;
  tgSim *s = r->sim;
  tgRolloutResult *res = w->res;
  const tgRolloutRun *run = w->run;
  *res = (tgRolloutResult){.slots = r->slots, .least_distance = INFINITY, .stable_step = INFINITY,
                           .forward_steps = res->forward_steps, .revisited_steps = res->revisited_steps};
  res->grad.converged = true;
  res->grad.first_step = -1;
  for (int i = 0; i < r->nq; i++) s->qpos[i] = run->q0 != NULL ? run->q0[i] : s->m.qpos0[i];
  if (run->v0 != NULL) tgi_sim_put_w(s, run->v0);
  else put_at_rest(s);
  memset(r->gq, 0, (size_t)(r->nv + r->nw + r->nu) * sizeof(tgReal));
  if (run->dp != NULL) tg_param_grad_clear(run->dp);
  tgi_forget(s);   // parameters and applied forces stay
  r->at = r->top = 0;
  if (w->gradient && r->slots < 1)
    return tgi_error(&res->error, TG_ERR_CAPACITY, "a tape of %zu bytes holds no state; a gradient needs at least %zu",
                     r->tape_bytes, r->stride);
  return TG_OK;
}

// Each growth starts the run over.
static tgStatus grow(Sweep *w) {
  tgRollout *r = w->r;
  tgStatus status = tg_sim_grow(r->sim);
  if (status == TG_OK && r->by != NULL) status = tg_sim_grow(r->by);
  if (status == TG_OK) status = tape_layout(r);
  if (status == TG_OK) return TG_OK;
  return fail(w, status, "room for step", r->at, tg_status_text(status));
}

tgStatus tg_loss_without_parameters(void *ctx, tgSim *sim, int t, int steps, tgParamGrad *dp) {
  (void)ctx;
  (void)sim;
  (void)t;
  (void)steps;
  (void)dp;
  return TG_OK;
}

static tgStatus check_parameters(Sweep *w) {
  const tgRolloutRun *run = w->run;
  if (run->dp == NULL) return TG_OK;
  if (!tgi_param_fits(run->dp, w->r->by != NULL ? w->r->by : w->r->sim))
    return tgi_error(&w->res->error, TG_ERR_ARG, "the parameter gradient of the rollout was made for another model or contact model");
  if (run->loss == NULL || run->loss_param != NULL) return TG_OK;
  return tgi_error(&w->res->error, TG_ERR_ARG,
                   "a gradient in parameters needs loss_param, what the loss depends on in them directly; "
                   "tg_loss_without_parameters when nothing");
}

static tgStatus run_all(Sweep *w) {
  tgStatus status = check_parameters(w);
  if (status == TG_OK && w->gradient && w->run->loss_contacts != NULL && w->run->loss == NULL)
    status = tgi_error(&w->res->error, TG_ERR_ARG, "loss_contacts is a part of a loss, and there is none");
  if (status == TG_OK && w->gradient && w->run->loss_contacts != NULL && w->r->by != NULL)
    status = tgi_error(&w->res->error, TG_ERR_ARG, "a loss of contacts has no gradient under another contact model (gradient_contact)");
  if (status != TG_OK) return status;
  w->res->forward_steps = w->res->revisited_steps = 0;
  // a tape that an earlier run failed to make anew
  if (w->r->tape == NULL) {
    status = tape_layout(w->r);
    if (status != TG_OK) return tgi_error(&w->res->error, status, "room for the tape of a rollout: %s", tg_status_text(status));
  }
  if (w->run->setup != NULL) {
    status = w->run->setup(w->run->setup_ctx, w->r->sim);
    if (status != TG_OK) return tgi_error(&w->res->error, status, "the setup function of the rollout reports a failure");
  }
  for (int growth = 0; growth < GROWTHS; growth++) {
    status = start(w);
    if (status == TG_OK) {
      status = forward(w);
      if (status == TG_OK && w->gradient) status = backward(w);
      if (status != TG_ERR_CAPACITY) return status;
      status = grow(w);
    }
    if (status != TG_OK) return status;
  }
  return fail(w, TG_ERR_INTERNAL, "room for step", w->r->at, "capacity was grown many times and is still too small");
}

tgStatus tg_rollout_run(tgRollout *r, const tgRolloutRun *run, tgRolloutResult *result) {
  if (r == NULL || run == NULL || result == NULL) return TG_ERR_ARG;
  memset(result, 0, sizeof *result);
  if (__atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE) != 0) {
    result->status = tgi_error(&result->error, TG_ERR_STATE, "this rollout is running already; each thread needs its own");
    return result->status;
  }
  Sweep w = {.r = r, .run = run, .res = result, .gradient = run->dq0 != NULL || run->dv0 != NULL || run->du != NULL || run->dp != NULL};
  tgiFpEnv env = tgi_fp_enter();
  r->sim->watch.cancel = run->cancel;
  tgStatus status = w.gradient && run->policy != NULL
                        ? tgi_error(&result->error, TG_ERR_ARG,
                                    "a gradient through a feedback policy is not had from a rollout; give it controls")
                        : run_all(&w);
  if (status == TG_OK && w.gradient && run->loss_choice != NULL) run->loss_choice(run->loss_ctx, false, &result->grad);
  r->sim->watch.cancel = NULL;
  tgi_fp_leave(env);
  result->status = status;
  if (status != TG_OK) result->loss = NAN;
  __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
  return status;
}
