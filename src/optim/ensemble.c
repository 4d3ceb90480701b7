// ensemble.c: see ensemble.h.
#include "optim/ensemble.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "optim/optimize.h"
#include "optim/verify.h"
#include "rollout/rollout.h"

typedef struct Member { const char *name; tgTask *view; tgEvaluator *evaluator; } Member;

struct tgEnsemble {
  tgAllocator alloc;
  int n, nx;
  Member *member;
  double *g;                // nx: gradient of one member
};

int tgi_ensemble_size(const tgTask *stage) { return stage->stage != NULL ? (int)stage->stage->nreplays : 0; }

tgStatus tgi_ensemble_check(const tgTask *stage, tgMethod method, tgSmoothOrder smoothing, tgError *error) {
  bool follows = method == TG_METHOD_ADAM || method == TG_METHOD_DESCENT || method == TG_METHOD_LBFGS;
  int n = tgi_ensemble_size(stage);
  if (n == 0) return TG_OK;
  int k = (int)(stage->stage - stage->yaml->refine) + 1;
  if (!follows || smoothing != TG_SMOOTH_NONE || stage->yaml->receding != NULL)
    return tgi_error(error, TG_ERR_INVALID, "refine: stage %d: replays are for adam, descent and lbfgs, without smoothing and with the "
                                            "whole motion at once", k);
  for (int i = 0; i < n; i++) {
    const char *name = stage->stage->replays[i];
    tgError why = {0};
    tgTask *view = tgi_verify_view(stage, name, &why);
    if (view == NULL) return tgi_error(error, TG_ERR_INVALID, "refine: stage %d: replays: %.60s: %.300s", k, name, why.text);
    tg_task_free(view);
  }
  return TG_OK;
}

// the ensemble itself, and in `into` the places of its arrays
static tgEnsemble *place(tgEnsemble *into, tgLayout *l) {
  tgEnsemble *self = tgi_place(l, 1, sizeof *self);
  into->member = tgi_place(l, (size_t)into->n, sizeof *into->member);
  into->g = tgi_place(l, (size_t)into->nx, sizeof *into->g);
  return self;
}

static bool make(tgEnsemble *e, const tgTask *stage, size_t tape_bytes, tgError *error) {
  for (int i = 0; i < e->n; i++) {
    Member *m = &e->member[i];
    m->name = stage->stage->replays[i];
    m->view = tgi_verify_view(stage, m->name, error);
    m->evaluator = m->view != NULL ? tg_evaluator_create(m->view, tape_bytes, error) : NULL;
    if (m->evaluator == NULL) return false;
  }
  return true;
}

tgEnsemble *tgi_ensemble_create(const tgTask *stage, size_t tape_bytes, tgError *error) {
  tgAllocator a = stage->alloc;
  tgEnsemble count = {.n = tgi_ensemble_size(stage), .nx = stage->n};
  tgLayout l = {.base = NULL};
  place(&count, &l);
  void *block = a.alloc(a.ctx, l.used);
  if (block == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for %d replays", count.n);
    return NULL;
  }
  memset(block, 0, l.used);
  l = (tgLayout){.base = block};
  tgEnsemble *e = place(&count, &l);
  *e = count;
  e->alloc = a;
  if (make(e, stage, tape_bytes, error)) return e;
  tgi_ensemble_free(e);
  return NULL;
}

void tgi_ensemble_free(tgEnsemble *e) {
  if (e == NULL) return;
  tgAllocator a = e->alloc;
  for (int i = 0; i < e->n; i++) {
    tg_evaluator_free(e->member[i].evaluator);
    tg_task_free(e->member[i].view);
  }
  a.free(a.ctx, e);
}

uint64_t tgi_ensemble_key(uint64_t h, const tgEnsemble *e) {
  for (int i = 0; e != NULL && i < e->n; i++) {
    const tgTask *view = e->member[i].view;
    h = tgi_contact_key(tg_hash(h, &view->h, sizeof view->h), view->contact);
  }
  return h;
}

tgStatus tgi_ensemble_mean(tgEnsemble *e, const double *x, const volatile int *cancel, double *f, double *g, tgGradInfo *grad,
                           tgError *error) {
  double share = 1.0 / (e->n + 1);
  for (int i = 0; i < e->n; i++) {
    double own;
    tgRolloutResult result;
    tgStatus st = tg_evaluate(e->member[i].evaluator, x, &own, g != NULL ? e->g : NULL, NULL, NULL, cancel, &result);
    if (st != TG_OK) {
      const char *why = result.error.text[0] != '\0' ? result.error.text : tg_status_text(st);
      if (st != TG_CANCELLED) tgi_error(error, st, "replay %.30s: %.500s", e->member[i].name, why);
      return st;
    }
    *f += own;
    for (int k = 0; g != NULL && k < e->nx; k++) g[k] += e->g[k];
    if (g != NULL) tgi_grad_worst(grad, &result.grad);
  }
  *f *= share;
  for (int k = 0; g != NULL && k < e->nx; k++) g[k] *= share;
  return TG_OK;
}
