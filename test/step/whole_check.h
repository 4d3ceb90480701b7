// whole_check.h: the derivative of a step in all of its state and its controls, activations included, by differences.
#ifndef TG_TEST_WHOLE_CHECK_H
#define TG_TEST_WHOLE_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/deriv.h"
#include "support/tree.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8;
#else
static const double tolerance = 1e-5;   // differences of steps that Newton's method solves are no better
#endif
static const double h = 0.004;

typedef struct Map { tgSim *s; tgReal q1[32]; } Map;

static void put(tgSim *s, const tgReal *x) {
  memcpy(s->qpos, x, (size_t)s->m.nq * sizeof *x);
  tgi_sim_put_w(s, x + s->m.nq);
  memcpy(s->ctrl, x + s->m.nq + tgi_nw(&s->m), (size_t)s->m.nu * sizeof *x);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  put(k->s, x);
  tgStatus status = tg_sim_step_growing(k->s, h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(k->s->model, k->q1, k->s->qpos, y);
  tgi_sim_take_w(k->s, y + k->s->m.nv);
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Map *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < tgi_nw(m) + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

/// The step with its memory frozen: Jacobian by differences, adjoint by dot test, label exact.
static void tgt_check_whole_step(tgSim *s, const char *name, tgtRandom *r) {
  const tgModel *m = &s->m;
  int nv = m->nv, na = m->na, nu = m->nu, nw = nv + na, nt = nv + nw + nu, ny = nv + nw, nx = m->nq + nw + nu;
  int rows[3] = {nv, nv, na}, cols[4] = {nv, nv, na, nu};
  Map k = {.s = s};
  tgGradInfo info;
  tgReal x[128], *D = malloc(sizeof(tgReal) * (size_t)(ny * nt + ny + 2 * nt)), *g = D + ny * nt, *out = g + ny, *probe = out + nt;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  tgi_sim_take_w(s, x + m->nq);
  memcpy(x + m->nq + nw, s->ctrl, (size_t)nu * sizeof *x);
  check_true(tg_sim_step_growing(s, h, NULL) == TG_OK, "%s: %s", name, tg_sim_error(s)->text);
  tg_sim_freeze_memory(s, true);
  put(s, x);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof *x);
  check_true(tg_sim_step_jacobian(s, D, &info) == TG_OK, "%s", tg_sim_error(s)->text);
  check_true(info.label == TG_GRAD_EXACT, "%s: label %d, %s", name, (int)info.label, info.reason);
  for (int trial = 0; trial < 3; trial++) {
    tgt_random_vector(r, ny, g);
    tgt_random_vector(r, nt, probe);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + nv + nw, NULL, NULL), TG_OK);
    tgt_check_adjoint(D, ny, nt, g, probe, out);
  }
  // a zero gradient in v' is none
  assert_int_equal(tg_sim_step_vjp(s, g, NULL, NULL, out + nv, NULL, NULL, NULL), TG_OK);
  for (int j = 0; j < nw; j++) {
    tgReal sum = 0;
    for (int i = 0; i < nv; i++) sum += g[i] * D[i * nt + nv + j];
    check_close(tgRe(out[nv + j]), tgRe(sum), 1e-9);
  }
  tgtDeriv d = {.name = name, .nx = nx, .nt = nt, .ny = ny, .map = map, .retract = retract, .ctx = &k, .tol = tolerance, .step = 1e-5,
                .rows = rows, .nrows = 3, .cols = cols, .ncols = 4};
  tgt_check_jacobian(&d, x, D);
  put(s, x);
  tg_sim_freeze_memory(s, false);
  free(D);
}

#endif
