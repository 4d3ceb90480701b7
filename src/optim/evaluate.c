// evaluate.c: loss and gradient of a task at its decision variables: expand, roll out, chain back.
//
// L(x) = sum over terms of weight * e, e = |P (p - target)|^2 of a point p on the axes P, (q - target)^2, (v - target)^2,
// |v|^2 or mean |u|^2; at the end, or the mean over the steps.
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "kin/kinematics.h"
#include "optim/controls.h"

struct tgEvaluator {
  tgAllocator alloc;
  const tgTask *task;
  tgRollout *rollout;
  double *q0, *v0, *u, *dq0, *dv0, *du, *step, *gstep;   // as the rollout takes them; a step of q0 and its gradient
  double *jacobian;                                     // 6 x nv
  double *value, *distance;                             // of each term, of the last evaluation
  void *block;
};

static bool is_position(tgTermKind k) { return k == TG_TERM_BODY_POSITION || k == TG_TERM_SITE_POSITION || k == TG_TERM_BODY_COM; }

// where a position term looks, and the body that carries the point
static const tgReal *term_point(const tgSim *s, const tgTerm *t, int *body) {
  *body = t->kind == TG_TERM_SITE_POSITION ? s->m.site_body[t->index] : t->index;
  if (t->kind == TG_TERM_SITE_POSITION) return s->site_xpos + 3 * t->index;
  return (t->kind == TG_TERM_BODY_COM ? s->xcom : s->xpos) + 3 * t->index;
}

static tgStatus position_term(tgEvaluator *e, tgSim *s, const tgTerm *t, double scale, double *value, double *gq) {
  int body, nv = s->m.nv;
  const tgReal *p = term_point(s, t, &body);
  double d[3], sum = 0;
  for (int k = 0; k < 3; k++) {
    d[k] = t->axis[k] ? tgRe(p[k]) - t->target[k] : 0;
    sum += d[k] * d[k];
  }
  *value = sum;
  if (gq == NULL) return TG_OK;
  TG_TRY(tg_sim_jacobian(s, body, p, e->jacobian));
  for (int i = 0; i < nv; i++)
    for (int k = 0; k < 3; k++) gq[i] += scale * 2 * d[k] * e->jacobian[(3 + k) * nv + i];
  return TG_OK;
}

static void scalar_term(const double *x, int i, double target, double scale, double *value, double *g) {
  double d = x[i] - target;
  *value = d * d;
  if (g != NULL) g[i] += scale * 2 * d;
}

// one term at one time: its raw value; derivatives times scale are added
static tgStatus term_at(tgEvaluator *e, tgSim *s, const tgTerm *t, double scale, double *value, double *gq, double *gv, double *gu) {
  const tgModel *m = &s->m;
  *value = 0;
  switch (t->kind) {
    case TG_TERM_JOINT_POSITION: {
      double v;
      const tgReal *q = s->qpos + m->jnt_qadr[t->index];
      scalar_term(q, 0, t->target[0], scale, &v, gq == NULL ? NULL : gq + m->jnt_vadr[t->index]);
      *value = v;
      return TG_OK;
    }
    case TG_TERM_JOINT_VELOCITY: scalar_term(s->qvel, m->jnt_vadr[t->index], t->target[0], scale, value, gv); return TG_OK;
    case TG_TERM_VELOCITY:
      for (int i = 0; i < m->nv; i++) {
        double v;
        scalar_term(s->qvel, i, 0, scale, &v, gv);
        *value += v;
      }
      return TG_OK;
    case TG_TERM_CONTROL:
      for (int i = 0; i < m->nu; i++) {
        double v;
        scalar_term(s->ctrl, i, 0, scale, &v, gu);
        *value += v;
      }
      return TG_OK;
    default: return position_term(e, s, t, scale, value, gq);
  }
}

// the rollout's loss: terms at the end count at t = T, the others as means over t = 0 .. T-1 (controls) or 1 .. T (states)
static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  tgEvaluator *e = ctx;
  for (int i = 0; i < e->task->nterm; i++) {
    const tgTerm *term = &e->task->term[i];
    bool control = term->kind == TG_TERM_CONTROL;
    bool counts = term->when == TG_TERM_END ? t == steps : control ? t < steps : t > 0;
    if (!counts) continue;
    double raw, share = term->when == TG_TERM_END ? 1 : 1.0 / steps, scale = term->weight * share;
    TG_TRY(term_at(e, s, term, scale, &raw, gq, gv, gu));
    *value += scale * raw;
    if (gq != NULL && t < steps) continue;   // noted by the forward sweep, which comes first; the end is visited once
    if (term->when == TG_TERM_END || t == (control ? 0 : 1)) e->value[i] = 0;
    e->value[i] += share * raw;
    if (t == steps && is_position(term->kind)) e->distance[i] = sqrt(raw);
  }
  return TG_OK;
}

static void place(tgEvaluator *e, tgLayout *l) {
  const tgModel *m = e->task->model;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nu = tgi_size_mul((size_t)e->task->steps, (size_t)m->nu), nt = (size_t)e->task->nterm;
  double **arrays[] = {&e->q0, &e->v0, &e->u, &e->dq0, &e->dv0, &e->du, &e->step, &e->gstep, &e->jacobian, &e->value, &e->distance};
  size_t counts[] = {nq, nv, nu, nv, nv, nu, nv, nv, 6 * nv, nt, nt};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *arrays[i] = tgi_place(l, counts[i], sizeof(double));
}

tgEvaluator *tgi_evaluator_create(const tgTask *task, bool own_rollout, size_t tape_bytes, tgError *error) {
  tgAllocator a = task->alloc;
  tgEvaluator *e = a.alloc(a.ctx, sizeof *e);
  if (e == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for an evaluator");
    return NULL;
  }
  *e = (tgEvaluator){.alloc = a, .task = task};
  tgLayout l = {.base = NULL};
  place(e, &l);
  e->block = a.alloc(a.ctx, l.used);
  if (e->block == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for %d steps of %d controls", task->steps, task->model->nu);
  else if (own_rollout) {
    tgRolloutOptions o = tgi_task_rollout_options(task);
    o.tape_bytes = tape_bytes;
    e->rollout = tg_rollout_create(task->model, task->contact, &o, error);
  }
  if (e->block == NULL || (own_rollout && e->rollout == NULL)) {
    tg_evaluator_free(e);
    return NULL;
  }
  memset(e->block, 0, l.used);
  l = (tgLayout){.base = e->block};
  place(e, &l);
  return e;
}

tgEvaluator *tg_evaluator_create(const tgTask *task, size_t tape_bytes, tgError *error) {
  return tgi_evaluator_create(task, true, tape_bytes, error);
}

tgRolloutOptions tgi_task_rollout_options(const tgTask *task) {
  tgRolloutOptions o = tg_rollout_default();
  o.steps = task->steps;
  o.h = task->h;
  o.allocator = &task->alloc;
  return o;
}

void tg_evaluator_free(tgEvaluator *e) {
  if (e == NULL) return;
  tgAllocator a = e->alloc;
  tg_rollout_free(e->rollout);
  a.free(a.ctx, e->block);
  a.free(a.ctx, e);
}

tgRollout *tg_evaluator_rollout(tgEvaluator *e) { return e->rollout; }

tgStatus tg_evaluator_run(tgEvaluator *e, const double *x, tgRolloutRun *run) {
  tg_task_expand(e->task, x, e->q0, e->v0, e->u);
  *run = (tgRolloutRun){.q0 = e->q0, .v0 = e->v0, .u = e->u, .loss = loss, .loss_ctx = e};
  return TG_OK;
}

// dL/dx from dL/d(q0, v0, u): blocks of controls add up; a position entry goes through q0 = start (+) step
static void chain(tgEvaluator *e, const double *x, double *g) {
  const tgTask *t = e->task;
  const tgModel *m = t->model;
  tgi_controls_vjp(t, x, e->du, g);
  tgi_task_position_step(t, x, e->step);
  memset(e->gstep, 0, (size_t)m->nv * sizeof *e->gstep);
  tgi_integrate_vjp(m, e->step, e->dq0, NULL, e->gstep);
  for (int i = 0; i < t->ninitial; i++)
    g[t->ncontrol + i] = t->initial[i].velocity ? e->dv0[t->initial[i].dof] : e->gstep[t->initial[i].dof];
}

tgStatus tg_evaluate(tgEvaluator *e, const double *x, double *value, double *g, double *q, double *v, const volatile int *cancel,
                     tgRolloutResult *result) {
  tgRolloutRun run;
  tgRolloutResult r;
  tg_evaluator_run(e, x, &run);
  run.q = q;
  run.v = v;
  run.cancel = cancel;
  if (g != NULL) {
    run.dq0 = e->dq0;
    run.dv0 = e->dv0;
    run.du = e->du;
  }
  tgStatus st = tg_rollout_run(e->rollout, &run, &r);
  if (result != NULL) *result = r;
  if (st != TG_OK) return st;
  *value = r.loss;
  if (g != NULL) chain(e, x, g);
  return TG_OK;
}

double tgi_evaluator_distance(const tgEvaluator *e) {
  double worst = NAN;
  for (int i = 0; i < e->task->nterm; i++)
    if (is_position(e->task->term[i].kind) && !(e->distance[i] <= worst)) worst = e->distance[i];
  return worst;
}

int tg_evaluator_terms(const tgEvaluator *e) { return e->task->nterm; }
const char *tg_evaluator_term(const tgEvaluator *e, int i, double *value, double *distance) {
  if (i < 0 || i >= e->task->nterm) return NULL;
  if (value != NULL) *value = e->value[i];
  if (distance != NULL) *distance = is_position(e->task->term[i].kind) ? e->distance[i] : NAN;
  return e->task->term[i].label;
}
