// gradient_check.h: a step's Jacobian and adjoint against differences of the whole step, memory frozen.
//
// Complex step in the complex build (1e-8), Ridders in the real one (1e-6); blocks are compared apart. A state whose active
// set changes inside Ridders' stencil is set aside and checked from the side where it does not.
#ifndef TG_TEST_GRADIENT_CHECK_H
#define TG_TEST_GRADIENT_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/lcp/solve.h"
#include "sim/sim.h"
#include "support/deriv.h"

// blocks whose largest entry is below zero_block are compared with that
#ifdef TG_COMPLEX
static const double tolerance = 1e-8, zero_block = 1e-4;
#else
static const double tolerance = 1e-6, zero_block = 1e-2;
#endif

// the step as a map of x = (q, v, u) to (q' - q1 in tangents, v')
typedef struct Map {
  tgSim *s;
  const tgReal *q1;         // nominal q'
  unsigned long long mode;  // signature of the nominal active set
  bool switched;            // another one was met
  const char *name;
  double h;
} Map;

static unsigned long long mode_of(const tgSim *s) {
  unsigned long long x = 1469598103934665603ull;
  if (s->npart > 0) x = (x ^ s->part_mode) * 1099511628211ull;
  for (int i = 0; i < s->nrow; i++) {
    int part[5] = {s->rows->kind[i], s->rows->owner[i], s->rows->part[i], s->rows->class[i], tgRe(s->rows->bounce[i]) > 0};
    if (s->rows->kind[i] == TG_ROW_NORMAL) part[1] = 1000 * s->contact[s->rows->owner[i]].pair + s->contact[s->rows->owner[i]].feature;
    // the side of a tangent without a normal force has no effect
    if (s->rows->kind[i] == TG_ROW_TANGENT) part[1] = 0;
    if (s->rows->kind[i] == TG_ROW_TANGENT && s->rows->class[s->rows->parent[i]] == TGI_LCP_N) part[3] = TGI_LCP_N;
    for (int k = 0; k < 5; k++) x = (x ^ (unsigned long long)part[k]) * 1099511628211ull;
  }
  return x;
}

static void set_state(tgSim *s, const tgReal *x) {
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  tgSim *s = k->s;
  set_state(s, x);
  tgStatus status = tg_sim_step(s, k->h, NULL);
  if (status != TG_OK) return status;
  if (mode_of(s) != k->mode) k->switched = true;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  for (int d = 0; d < s->m.nv; d++) y[s->m.nv + d] = s->qvel[d];
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Map *)ctx)->s->m;
  tg_model_integrate(((Map *)ctx)->s->model, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

typedef struct Count { int total, impacts, active, stick, slip, aside, onesided, deficient, null, failed; double worst, dot; } Count;

static void count_classes(const tgSim *s, Count *c) {
  bool stick = false, slip = false, active = false;
  for (int i = 0; i < s->nrow; i++) {
    if (s->rows->kind[i] == TG_ROW_NORMAL && s->rows->class[i] == TGI_LCP_C) active = true;
    if (s->rows->kind[i] == TG_ROW_TANGENT && s->rows->class[i] == TGI_LCP_F) stick = true;
    if (s->rows->kind[i] == TG_ROW_TANGENT && s->rows->class[s->rows->parent[i]] == TGI_LCP_C &&
        (s->rows->class[i] == TGI_LCP_H || s->rows->class[i] == TGI_LCP_L))
      slip = true;
  }
  c->active += active;
  c->impacts += s->info.nimpact > 0;
  c->stick += stick;
  c->slip += slip;
  c->deficient += s->info.rank_deficient;
  tgReal *beta = malloc(sizeof(tgReal) * (size_t)(s->nrow + 1));
  c->null += s->nrow > 0 && s->contact_model->kind->rows->null_part(s, false, beta);
  free(beta);
}

// adjoint against the Jacobian with two random pairs, and all unit gradients of a few rows
static void check_adjoint(tgSim *s, const tgReal *D, tgtRandom *r, Count *c) {
  int nv = s->m.nv, nu = s->m.nu, n = 2 * nv + nu;
  tgReal *g = malloc(sizeof(tgReal) * (size_t)(2 * nv)), *out = malloc(sizeof(tgReal) * (size_t)n), *v = malloc(sizeof(tgReal) * (size_t)n);
  for (int trial = 0; trial < 3; trial++) {
    for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(r);
    for (int i = 0; i < n; i++) v[i] = tgt_normal(r);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
    double error = tgi_dot_error(D, 2 * nv, n, g, v, out);
    if (error > c->dot) c->dot = error;
    tgt_check_adjoint(D, 2 * nv, n, g, v, out);
  }
  free(g);
  free(out);
  free(v);
}

// each column from the side on which the mode stays; true when one was found for all
static bool one_sided(Map *k, const tgiNumDiff *n, const tgReal *x, const tgReal *D, double *worst) {
  int nt = n->nt, ny = n->ny;
  tgReal *work = malloc(sizeof(tgReal) * (tgi_numdiff_work(n) + (size_t)nt));
  double *column = malloc(sizeof(double) * 2 * (size_t)ny), scale = 0;
  tgReal *t = work + tgi_numdiff_work(n);
  bool all = true;
  *worst = 0;
  for (int i = 0; i < ny * nt; i++) scale = fmax(scale, fabs(tgRe(D[i])));
  for (int j = 0; j < nt; j++) {
    bool found = false;
    for (int side = -1; side <= 1 && !found; side += 2) {
      for (int i = 0; i < nt; i++) t[i] = i == j;
      k->switched = false;
      if (tgi_numdiff(n, x, t, (tgiSide)side, column, column + ny, work) != TG_OK || k->switched) continue;
      found = true;
      for (int i = 0; i < ny; i++) *worst = fmax(*worst, fabs(column[i] - tgRe(D[i * nt + j])) / scale);
    }
    all = all && found;
  }
  free(work);
  free(column);
  return all;
}

// worst of the six blocks d(q', v')/d(q, v, u); a block below zero_block is compared with that
static double compare(Map *k, const tgReal *x, const tgReal *D, int nx, double shrink, char message[256]) {
  int nv = k->s->m.nv, nu = k->s->m.nu, nt = 2 * nv + nu, ny = 2 * nv, width[3] = {nv, nv, nu};
  tgiNumDiff n = {.nx = nx, .nt = nt, .ny = ny, .map = map, .retract = retract, .ctx = k, .step = 1e-6, .analytic = true};
  tgReal *work = malloc(sizeof(tgReal) * (tgi_numdiff_work(&n) + (size_t)nt)), *t = work + tgi_numdiff_work(&n);
  double *column = malloc(sizeof(double) * 2 * (size_t)ny), *R = malloc(sizeof(double) * (size_t)(ny * nt)), worst = 0;
  for (int j = 0; j < nt; j++) {
    for (int i = 0; i < nt; i++) t[i] = i == j;
    // steps that move v' by about as much: positions, velocities, controls
    n.step = shrink * (j < nv ? 1e-5 : j < 2 * nv ? 1e-4 : 1e-2);
    assert_int_equal(tgi_numdiff(&n, x, t, TGI_SIDE_BOTH, column, column + ny, work), TG_OK);
    for (int i = 0; i < ny; i++) R[i * nt + j] = column[i];
  }
  for (int b = 0; b < 6; b++) {
    int r0 = b / 3 * nv, c0 = b % 3 * nv;
    if (width[b % 3] == 0) continue;
    tgiWorst w = tgi_block_error(D + r0 * nt + c0, nt, R + r0 * nt + c0, nt, nv, width[b % 3]);
    double biggest = 0;
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < width[b % 3]; j++) biggest = fmax(biggest, fabs(R[(r0 + i) * nt + c0 + j]));
    // what is held has blocks of zeros, whose differences are rounding of what a free body has there: h of q' by v, 1/h of v' by q
    double zero = b == 1 ? fmax(zero_block, k->h) : b == 3 ? zero_block / k->h : zero_block,
           error = biggest < zero_block ? fabs(w.ours - w.reference) / zero : w.error;
    if (error < worst) continue;
    worst = error;
    snprintf(message, 256, "%s: block %d entry (%d, %d) is %.17g, differences give %.17g", k->name, b, w.row, w.col, w.ours,
             w.reference);
  }
  free(R);
  free(column);
  free(work);
  return worst;
}

/// Checks the step of h seconds from the sim's present state; k numbers the state in messages.
static void check_state(tgSim *s, const char *name, int k, double h, Count *c) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nx = m->nq + nv + nu, nt = 2 * nv + nu;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(nx + m->nq)), *D = malloc(sizeof(tgReal) * (size_t)(2 * nv * nt)), *q1 = x + nx;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  // one nominal step makes the memory, then it is frozen and the step is taken again
  tgStatus status = tg_sim_step(s, h, NULL);
  tg_sim_freeze_memory(s, true);
  set_state(s, x);
  if (status == TG_OK) status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) print_message("%s state %d: %s\n", name, k, s->error.text);
  c->failed += status != TG_OK;
  if (status == TG_OK) {
    tgtRandom r = {.s = (unsigned)k};
    tgGradInfo info;
    Map ctx = {.s = s, .q1 = q1, .mode = mode_of(s), .name = name, .h = h};
    memcpy(q1, s->qpos, (size_t)m->nq * sizeof *x);
    count_classes(s, c);
    c->total++;
    assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
    check_adjoint(s, D, &r, c);
    char message[256];
    // the widest stencil in which the active set stays
    double worst = compare(&ctx, x, D, nx, 1, message);
    static const double narrower[] = {0.1, 0.03, 0.01};
    for (int shrink = 0; shrink < 3 && ctx.switched; shrink++) {
      ctx.switched = false;
      worst = compare(&ctx, x, D, nx, narrower[shrink], message);
    }
    // differences may cross a tie that changes no class
    if (ctx.switched || (info.label == TG_GRAD_ONE_SIDED && worst > tolerance)) {
      c->aside++;
      tgiNumDiff n = {.nx = nx, .nt = nt, .ny = 2 * nv, .map = map, .retract = retract, .ctx = &ctx, .step = 1e-6};
      double error;
      if (one_sided(&ctx, &n, x, D, &error)) {
        c->onesided++;
        check_true(error < 1e-5, "%s state %d: one-sided error %.3g", name, k, error);
      }
    } else {
      if (worst > c->worst) c->worst = worst;
      check_true(worst <= tolerance, "state %d: %s (label %d %s)", k, message, (int)info.label, info.reason);
    }
  }
  tg_sim_freeze_memory(s, false);
  free(x);
  free(D);
}

static inline void print_count(const char *name, const Count *c) {
  print_message("%-14s %d states: %d with impacts, %d touching, %d sticking, %d slipping, %d redundant (%d with a split that acts), %d "
                "set aside (%d checked "
                "one-sided), %d not solved; worst error %.2g, dot test %.2g\n", name, c->total, c->impacts, c->active, c->stick,
                c->slip, c->deficient, c->null, c->aside, c->onesided, c->failed, c->worst, c->dot);
}

#endif
