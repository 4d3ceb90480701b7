// effort.c: see effort.h.
#include "optim/effort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "optim/terms.h"

// sum of weight |e| over the terms at the start, where the sim is
static double loss_of_start(const tgTask *t, tgSim *sim, tgTermRows *rows) {
  double sum = 0;
  for (int i = 0; i < t->nterm; i++)
    if (t->term[i].when != TG_TERM_LEAST && t->term[i].weight > 0)
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

tgStatus tgi_effort_resolve(tgTask *t, tgError *error) {
  const char *text = t->yaml->effort;
  if (text == NULL || strcmp(text, "off") == 0) return TG_OK;
  char *end;
  double share = strtod(text, &end), scale = 0;
  if (end == text || *end != '\0' || !isfinite(share) || share < 0)
    return tgi_error(error, TG_ERR_INVALID, "effort: '%s' is neither a number from 0 on nor off", text);
  if (t->model->nu == 0) return tgi_error(error, TG_ERR_INVALID, "effort: the model has no actuator");
  TG_TRY(scale_of(t, &scale, error));
  if (!(scale > 0) || !isfinite(scale))
    return tgi_error(error, TG_ERR_INVALID, "effort: the losses are %g at the start, which is no scale; give a term of kind speed", scale);
  t->term[t->nterm++] = (tgTerm){.kind = TG_TERM_SPEED, .when = TG_TERM_ALL, .index = -1, .weight = share * scale, .label = "effort"};
  return TG_OK;
}
