// effort.c: see effort.h.
#include "optim/effort.h"

#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "io/number.h"
#include "optim/terms.h"

// sum of weight |e| over the terms at the start, where the sim is
static double loss_of_start(const tgTask *t, tgSim *sim, tgTermRows *rows) {
  double sum = 0;
  for (int i = 0; i < t->nterm; i++)
    if (i != t->effort.at && t->term[i].when != TG_TERM_LEAST && t->term[i].weight > 0)
      sum += t->term[i].weight * fabs(tgi_term_rows(sim, &sim->start, &t->term[i], false, rows));
  return sum;
}

static tgStatus scale_of(const tgTask *t, double *scale, tgError *error) {
  tgTermRows rows;
  tgLayout l = {.base = NULL};
  tgi_term_rows_place(t->model, &rows, &l);
  void *block = t->alloc.alloc(t->alloc.ctx, l.used);
  if (block == NULL) return tgi_error(error, TG_ERR_MEMORY, "effort: out of memory for the losses of the start");
  memset(block, 0, l.used);
  l = (tgLayout){.base = block};
  tgi_term_rows_place(t->model, &rows, &l);
  tgError why = {0};
  tgSim *sim = tg_sim_create(t->model, t->contact, &t->alloc, &why);
  tgStatus st = why.status;
  if (sim != NULL) {
    tg_sim_set_state(sim, t->q0, t->v0);
    st = tg_sim_forward(sim);
    if (st != TG_OK) why = *tg_sim_error(sim);
  }
  if (st == TG_OK) *scale = loss_of_start(t, sim, &rows);
  else tgi_error(error, st, "effort: the start: %.500s", why.text);
  tg_sim_free(sim);
  t->alloc.free(t->alloc.ctx, block);
  return st;
}

// ---- the default ----

// A motion at 1 m/s or 1 rad/s pays a thousandth of what it is to save (docs/decisions/0050).
static const double DEFAULT_SHARE = 0.001;

// the first term of the file that is a price on speed or control already, -1: none. A target of 0 is one, another is what is wanted.
static int own_price(const tgTask *t) {
  for (int i = 0; i < t->nterm; i++) {
    const tgTerm *e = &t->term[i];
    bool speed = e->kind == TG_TERM_VELOCITY || e->kind == TG_TERM_SPEED || (e->kind == TG_TERM_JOINT_VELOCITY && e->target[0] == 0);
    if (e->kind == TG_TERM_CONTROL || (speed && e->when == TG_TERM_ALL)) return i;
  }
  return -1;
}

// what speaks against a price that the file does not ask for; NULL: nothing. A number that the file has for its losses stays what it was.
static const char *against(const tgTask *t) {
  const YamlTask *y = t->yaml;
  bool loss = y->optimizer.stop_loss != NULL || (y->success != NULL && y->success->loss != NULL) ||
              (y->verify != NULL && y->verify->loss != NULL);
  if (t->ncontrol == 0) return "no controls are decided";
  if (own_price(t) >= 0) return "the losses have a price on speed or control";
  if (loss) return "a loss is what the task is held to";
  if (y->receding != NULL) return "a window of a receding horizon does not see what a push brings later";
  return NULL;
}

static void add(tgTask *t, double share, double scale) {
  t->effort.share = share;
  t->effort.at = t->nterm;
  t->term[t->nterm++] = (tgTerm){.kind = TG_TERM_SPEED, .when = TG_TERM_ALL, .index = -1, .weight = share * scale, .label = "effort"};
}

static tgStatus by_default(tgTask *t, tgError *error) {
  double scale = 0;
  const char *reason = against(t);
  t->effort.by_default = true;
  if (reason == NULL) {
    TG_TRY(scale_of(t, &scale, error));
    if (!(scale > 0) || !isfinite(scale)) reason = "the start has no loss, which would be its scale";
  }
  if (reason == NULL) add(t, DEFAULT_SHARE, scale);
  else t->effort.reason = reason;
  return TG_OK;
}

// ---- what the file asks for ----

tgStatus tgi_effort_resolve(tgTask *t, tgError *error) {
  const char *text = t->yaml->effort;
  t->effort = (tgEffort){.at = -1, .reason = ""};
  if (text == NULL) return by_default(t, error);
  if (strcmp(text, "off") == 0) return TG_OK;
  const char *end = text + strlen(text);
  double share, scale = 0;
  if (tgi_number(text, end, &share) != end || !isfinite(share) || share < 0)
    return tgi_error(error, TG_ERR_INVALID, "effort: '%s' is neither a number from 0 on nor off", text);
  if (share == 0) return TG_OK;
  if (t->model->nu == 0) return tgi_error(error, TG_ERR_INVALID, "effort: the model has no actuator");
  TG_TRY(scale_of(t, &scale, error));
  if (!(scale > 0) || !isfinite(scale))
    return tgi_error(error, TG_ERR_INVALID, "effort: the losses are %g at the start, which is no scale; give a term of kind speed", scale);
  add(t, share, scale);
  return TG_OK;
}

// ---- as the task is changed ----

tgStatus tgi_effort_follow(tgTask *t, tgError *error) {
  if (!(t->effort.share > 0)) return TG_OK;
  double scale = 0;
  TG_TRY(scale_of(t, &scale, error));
  t->term[t->effort.at].weight = isfinite(scale) ? t->effort.share * scale : 0;
  return TG_OK;
}

void tgi_effort_fixed(tgTask *t, int i) {
  if (i == t->effort.at) t->effort.share = 0;
}

tgTaskEffort tg_task_effort(const tgTask *t) {
  if (t == NULL) return (tgTaskEffort){.reason = ""};
  const tgEffort *e = &t->effort;
  double weight = e->at >= 0 ? t->term[e->at].weight : 0;
  return (tgTaskEffort){.share = e->share, .weight = weight, .by_default = e->by_default, .reason = e->reason};
}
