// differences.c: the Jacobian of a step by finite differences: what the exact one is compared with. See tangere/grad.h.
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "check/numdiff.h"
#include "sim/sim.h"
#include "tangere/grad.h"

static const double STEP = 1e-4;

tgDifferenceOptions tg_difference_default(void) {
  return (tgDifferenceOptions){.size = sizeof(tgDifferenceOptions), .method = TG_DIFFERENCE_RIDDERS};
}

// a step as a map of x = (q, w, u) to y = (q', w'), w = (v, act), q' as a tangent from q1
typedef struct Map {
  tgSim *sim;
  double h;
  int nq, nv, nw, nu, nx, nt, ny;
  tgReal *x0, *q1;               // where the Jacobian is taken, and the outcome there
  tgReal *t, *D, *e, *x, *rest;  // a direction, two outcomes, a moved x, work of the extrapolation
} Map;

static void put(const Map *m, const tgReal *x) {
  memcpy(tg_sim_qpos(m->sim), x, (size_t)m->nq * sizeof *x);
  tgi_sim_put_w(m->sim, x + m->nq);
  memcpy(tg_sim_ctrl(m->sim), x + m->nq + m->nw, (size_t)m->nu * sizeof *x);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *m = ctx;
  put(m, x);
  tgStatus status = tg_sim_step_growing(m->sim, m->h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(tg_sim_model(m->sim), m->q1, tg_sim_qpos(m->sim), y);
  tgi_sim_take_w(m->sim, y + m->nv);
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const Map *m = ctx;
  tg_model_integrate(tg_sim_model(m->sim), x, d, out);
  for (int i = 0; i < m->nw + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

static tgiNumDiff numdiff(Map *m, double step) {
  return (tgiNumDiff){.nx = m->nx, .nt = m->nt, .ny = m->ny, .map = map, .retract = retract, .ctx = m, .step = step};
}

// the arrays of a map; NULL: no memory
static tgReal *make(Map *m, tgSim *sim, double h) {
  const tgModel *model = tg_sim_model(sim);
  *m = (Map){.sim = sim, .h = h, .nq = model->nq, .nv = model->nv, .nw = tgi_nw(model), .nu = model->nu};
  m->nx = m->nq + m->nw + m->nu;
  m->ny = m->nv + m->nw;
  m->nt = m->ny + m->nu;
  tgiNumDiff d = numdiff(m, 0);
  size_t n = (size_t)(2 * m->nx + m->nq + m->nt + 2 * m->ny);
  tgReal *block = calloc(n + tgi_numdiff_work(&d), sizeof *block);
  if (block == NULL) return NULL;
  m->x0 = block;
  m->q1 = m->x0 + m->nx;
  m->t = m->q1 + m->nq;
  m->D = m->t + m->nt;
  m->e = m->D + m->ny;
  m->x = m->e + m->ny;
  m->rest = m->x + m->nx;
  memcpy(m->x0, tg_sim_qpos(sim), (size_t)m->nq * sizeof *block);
  tgi_sim_take_w(sim, m->x0 + m->nq);
  memcpy(m->x0 + m->nq + m->nw, tg_sim_ctrl(sim), (size_t)m->nu * sizeof *block);
  return block;
}

// (y(x0 + step e_j) - y(x0 - step e_j)) / (2 step) into m->D: the outcomes' tangent from one to the other needs no third
static tgStatus central(Map *m, int j, double step) {
  memset(m->t, 0, (size_t)m->nt * sizeof *m->t);
  m->t[j] = -step;
  retract(m, m->x0, m->t, m->x);
  put(m, m->x);
  tgStatus status = tg_sim_step_growing(m->sim, m->h, NULL);
  if (status != TG_OK) return status;
  memcpy(m->q1, tg_sim_qpos(m->sim), (size_t)m->nq * sizeof *m->q1);
  tgi_sim_take_w(m->sim, m->e + m->nv);
  m->t[j] = step;
  retract(m, m->x0, m->t, m->x);
  status = map(m, m->x, m->D);
  for (int i = 0; i < m->ny; i++) m->D[i] = (m->D[i] - (i < m->nv ? 0 : m->e[i])) / (2 * step);
  return status;
}

static tgStatus ridders(Map *m, int j, double step) {
  tgiNumDiff d = numdiff(m, step);
  memset(m->t, 0, (size_t)m->nt * sizeof *m->t);
  m->t[j] = 1;
  return tgi_numdiff(&d, m->x0, m->t, TGI_SIDE_BOTH, m->D, m->e, m->rest);
}

static tgStatus columns(Map *m, const tgDifferenceOptions *o, tgReal *D) {
  double step = o->step > 0 ? o->step : o->method == TG_DIFFERENCE_CENTRAL ? 1e-7 : STEP;
  int last = o->count > 0 ? o->first + o->count : m->nt;
  if (o->method == TG_DIFFERENCE_RIDDERS) {
    tgStatus status = tg_sim_step_growing(m->sim, m->h, NULL);
    if (status != TG_OK) return status;
    memcpy(m->q1, tg_sim_qpos(m->sim), (size_t)m->nq * sizeof *m->q1);
  }
  for (int j = o->first; j < last; j++) {
    tgStatus status = o->method == TG_DIFFERENCE_CENTRAL ? central(m, j, step) : ridders(m, j, step);
    if (status != TG_OK) return status;
    for (int i = 0; i < m->ny; i++) D[(size_t)i * (size_t)m->nt + (size_t)j] = m->D[i];
  }
  return TG_OK;
}

tgStatus tg_grad_differences(tgSim *sim, const tgDifferenceOptions *options, tgReal *D) {
  tgDifferenceOptions o = options != NULL ? *options : tg_difference_default();
  if (sim == NULL || D == NULL || o.size != sizeof o) return TG_ERR_ARG;
  Map m;
  double h = o.h > 0 ? o.h : tg_model_timestep(tg_sim_model(sim));
  tgReal *block = make(&m, sim, h);
  if (block == NULL) return TG_ERR_MEMORY;
  bool there = o.first >= 0 && o.count >= 0 && o.first + o.count <= m.nt;
  tgStatus status = there ? columns(&m, &o, D) : TG_ERR_ARG;
  put(&m, m.x0);
  free(block);
  return status;
}
