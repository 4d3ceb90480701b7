// param_check.h: dL/dp of a step against differences of the step itself, for every parameter that has a derivative.
//
// One random functional L of (q', v', act') for a state; each array of parameters is compared as a block, entry by entry in
// the complex build (complex step; h by Ridders), along one random direction in the real build. Unit quaternions and
// axes are moved along their sphere.
#ifndef TG_TEST_PARAM_CHECK_H
#define TG_TEST_PARAM_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "check/numdiff.h"
#include "contact/contact.h"
#include "sim/param.h"
#include "sim/sim.h"
#include "support/check.h"
#include "support/tree.h"

enum { TGT_PARAMS_MOST = 80 };
typedef struct tgtParamSeen {
  const char *without;     // a parameter that is refused, NULL: none
  double width;            // of differences of what moves what touches, which contacts that do not part allow; 0: narrow
  int states, aside;                      // checked; set aside because the step changed its classes inside a stencil
  int tied;                               // comparisons that the other class of a tie spoilt
  int ends[TGT_PARAMS_MOST];              // states where entries of parameter k were 0, the end of their range, and it acted
  int acts[TGT_PARAMS_MOST];              // states where parameter k had a derivative that is not zero
  double worst[TGT_PARAMS_MOST];
} tgtParamSeen;

typedef struct tgtParamCtx {
  tgSim *s;
  double h;
  const tgReal *q, *w, *q1, *v1, *dir;    // state before (w: velocities, activations), q' and v' of the nominal step, direction
  tgReal *param;                          // NULL: the step size itself
  const tgReal *nominal;
  int n, nrow;
  const int *cls;
  uint64_t parts;                         // what its parts chose, where it has any
  bool tied;                              // a tie in one of several parts: the complex step may take its other class
  bool moves;                             // moves what touches: contacts at rest part within 1e-8 m, so differences are narrow
  double width;                           // that of those, where the model's contacts never part
  bool switched;
  bool held;                              // friction as small as it is just above 0 held something, or changed the class of a contact
  bool dry;                               // of joints and tendons, whose rows stand before those of contacts
} tgtParamCtx;

static const double tgt_just_above = 1e-3;

static inline bool tgt_holds(const tgSim *s, int row, double h) {
  int kind = s->rows->kind[row];
  double limit = tgRe(s->rows->limit[row]) / (kind == TG_ROW_FRICTION ? h : 1);
  bool small = limit > 0 && limit < 5 * tgt_just_above;
  return (kind == TG_ROW_TANGENT || kind == TG_ROW_FRICTION) && small && s->contact_model->kind->rows->side(s, row) == 0;
}

// contacts' rows, the last ones, are in the classes of the nominal step
static inline bool tgt_same_contacts(const tgtParamCtx *c) {
  const tgSim *s = c->s;
  int n = 0;
  for (int i = 0; i < s->nrow; i++) n += s->rows->kind[i] == TG_ROW_NORMAL || s->rows->kind[i] == TG_ROW_TANGENT;
  if (n > c->nrow) return false;
  for (int i = 1; i <= n; i++)
    if (s->rows->class[s->nrow - i] != c->cls[c->nrow - i]) return false;
  return true;
}

static inline tgStatus tgt_param_step(void *ctx, const tgReal *x, tgReal *y) {
  tgtParamCtx *c = ctx;
  tgSim *s = c->s;
  int nv = s->m.nv;
  memcpy(s->qpos, c->q, (size_t)s->m.nq * sizeof *c->q);
  tgi_sim_put_w(s, c->w);
  double h = c->param != NULL ? c->h : c->h + tgRe(x[0]);
  for (int i = 0; i < c->n; i++) c->param[i] = c->nominal[i] + x[0] * c->dir[i];
  tgStatus status = tg_sim_step(s, h, NULL);
  for (int i = 0; i < c->n; i++) c->param[i] = c->nominal[i];
  if (status != TG_OK) return status;
  for (int i = 0; i < s->nrow; i++) c->held = c->held || tgt_holds(s, i, h);
  c->held = c->held || (c->dry && !tgt_same_contacts(c));
  c->switched = c->switched || s->nrow != c->nrow;
  for (int i = 0; i < s->nrow && !c->switched; i++) c->switched = s->rows->class[i] != c->cls[i];
  c->switched = c->switched || (s->npart > 0 && s->part_mode != c->parts);
  tg_model_difference(s->model, c->q1, s->qpos, y);
  memcpy(y + nv, s->end.vel, (size_t)nv * sizeof *y);
  if (s->m.na > 0) memcpy(y + 2 * nv, s->act1, (size_t)s->m.na * sizeof *y);
  return TG_OK;
}

// dL along dir, L = w . (q', v', act'), and how far the differences themselves may be off
static inline double tgt_param_slope(tgtParamCtx *c, const tgReal *w, bool analytic, double *doubt) {
  int ny = c->s->m.nv + tgi_nw(&c->s->m);
  // what moves nothing is moved farther: smaller differences drown in the rounding of a step (1e-12)
  double width = !c->moves ? 3e-4 : c->width > 0 ? c->width : 1e-6;
  tgiNumDiff n = {.nx = 1, .nt = 1, .ny = ny, .map = tgt_param_step, .ctx = c, .step = width, .analytic = analytic};
  tgReal *work = malloc(sizeof(tgReal) * tgi_numdiff_work(&n)), zero = 0, one = 1;
  double *D = malloc(sizeof(double) * 2 * (size_t)ny), sum = 0;
  assert_int_equal(tgi_numdiff(&n, &zero, &one, TGI_SIDE_BOTH, D, D + ny, work), TG_OK);
  *doubt = 0;
  for (int i = 0; i < ny; i++) {
    sum += tgRe(w[i]) * D[i];
    *doubt += fabs(tgRe(w[i])) * D[ny + i];
  }
  free(work);
  free(D);
  return sum;
}

/// Parameter k of a sim: the model's, then its contact model's numbers; NULL past the end.
static inline const char *tgt_param_name(const tgSim *s, int k) {
  int n = 0;
  while (tg_param_name(n) != NULL) n++;
  return k < n ? tg_param_name(k) : tg_contact_param_name(s->contact_model, k - n);
}

static inline void tgt_check_param(tgtParamCtx *c, int k, const tgReal *w, tgParamGrad *p, tgtRandom *r, double tol,
                                   double floor_, const char *what, tgtParamSeen *seen) {
  const char *name = tgt_param_name(c->s, k);
  int rows = 0, cols = 0, prows, pcols;
  tgReal *g = tg_param_grad_field(p, name, &rows, &cols);
  // without restitution or dry friction there is no bounce and no row: a switch
  bool step = strcmp(name, "opt_timestep") == 0, switches = (tgi_param_traits(name) & TGI_PARAM_SWITCH) != 0;
  int n = rows * cols;
  if (g == NULL || n == 0) return;
  tgReal *dir = malloc(sizeof(tgReal) * 2 * (size_t)n), *nominal = dir + n;
  double worst = 0, biggest = 0, ours_at = 0, ref_at = 0, doubt;
  c->param = step ? NULL : tg_sim_param(c->s, name, &prows, &pcols);
  assert_true(step || (c->param != NULL && prows == rows && pcols == cols));
  c->n = step ? 0 : n;
  for (int i = 0; i < c->n; i++) nominal[i] = c->param[i];
  c->nominal = nominal;
  c->dir = dir;
#ifdef TG_COMPLEX
  int directions = n;
#else
  int directions = 1;
#endif
  c->switched = false;
  c->width = seen->width;
  c->moves = step || strstr(name, "_pos") != NULL || strstr(name, "_quat") != NULL || strstr(name, "_axis") != NULL ||
             strstr(name, "_size") != NULL || strstr(name, "_scale") != NULL || strstr(name, "_vert") != NULL;
  for (int d = 0; d < directions; d++) {
    double ours = 0, ref;
    for (int i = 0; i < n; i++) dir[i] = directions == 1 ? (n == 1 ? 1 : tgt_normal(r)) : i == d;
    for (int i = 0; i < n && !step; i++)
      if (!isfinite(tgRe(nominal[i])) || (switches && tgRe(nominal[i]) == 0)) dir[i] = 0;
    if (!step) tgi_param_tangent(&c->s->m, name, rows, cols, nominal, dir);
    for (int i = 0; i < n; i++) ours += dir[i] != 0 ? tgRe(g[i]) * tgRe(dir[i]) : 0;
    ref = tgt_param_slope(c, w, !step, &doubt);
    biggest = fmax(biggest, fabs(ref));
    double off = fmax(0, fabs(ours - ref) - doubt);
    if (off <= worst) continue;
    worst = off;
    ours_at = ours;
    ref_at = ref;
  }
#ifdef TG_COMPLEX
  // the step size is not complex: its differences are those of the real build
  if (step) tol = fmax(tol, 1e-6);
  if (step) floor_ = fmax(floor_, 1e-2);
#endif
  double error = worst / fmax(biggest, floor_);
  if (c->switched) seen->aside++;
  else if (c->tied && error > tol) seen->tied++;
  else {
    check_true(error <= tol, "%s: %s: %.12g, differences %.12g, error %.2g > %g", what, name, ours_at, ref_at, error, tol);
    seen->acts[k] += biggest > 1e-4;
    seen->worst[k] = fmax(seen->worst[k], error);
  }
  free(dir);
}

// dL along dir just above 0. Less than 1e-3 of friction is lost in the solver's own tolerance (1e-8 of the largest force): in the complex
// build the derivatives at 1, 2 and 4 times that are extrapolated to 0.
static inline double tgt_param_slope_above(tgtParamCtx *c, const tgReal *w, double *doubt) {
#ifdef TG_COMPLEX
  static const double at[3] = {tgt_just_above, 2 * tgt_just_above, 4 * tgt_just_above}, share[3] = {8. / 3, -2, 1. / 3};
  const tgiSide side = TGI_SIDE_BOTH;
  enum { POINTS = 3 };
#else
  static const double at[1] = {0}, share[1] = {1};
  const tgiSide side = TGI_SIDE_ABOVE;
  enum { POINTS = 1 };
#endif
  int ny = c->s->m.nv + tgi_nw(&c->s->m);
  tgiNumDiff n = {.nx = 1, .nt = 1, .ny = ny, .map = tgt_param_step, .ctx = c, .step = 1e-2, .analytic = true};
  tgReal *work = malloc(sizeof(tgReal) * tgi_numdiff_work(&n)), one = 1;
  double *D = malloc(sizeof(double) * 2 * (size_t)ny), sum = 0;
  *doubt = 0;
  for (int k = 0; k < POINTS; k++) {
    tgReal x = at[k];
    assert_int_equal(tgi_numdiff(&n, &x, &one, side, D, D + ny, work), TG_OK);
    for (int i = 0; i < ny; i++) {
      sum += share[k] * tgRe(w[i]) * D[i];
      *doubt += fabs(share[k] * tgRe(w[i])) * D[ny + i];
    }
  }
  free(work);
  free(D);
  return sum;
}

// room for the rows that entries which are 0 open; the sim's arrays may move
static inline void tgt_param_room(tgtParamCtx *c, const char *name, int n) {
  memcpy(c->s->qpos, c->q, (size_t)c->s->m.nq * sizeof *c->q);
  tgi_sim_put_w(c->s, c->w);
  for (int i = 0; i < n; i++) tg_sim_param(c->s, name, NULL, NULL)[i] += 1e-3;
  tgStatus status = tg_sim_step_growing(c->s, c->h, NULL);
  check_true(status == TG_OK, "%s: %s", name, tg_sim_error(c->s)->text);
  for (int i = 0; i < n; i++) tg_sim_param(c->s, name, NULL, NULL)[i] = c->nominal[i];
}

/// Entries that are 0 where that is the end of their range, all raised together: the derivative is that of the allowed side.
static inline void tgt_check_param_end(tgtParamCtx *c, int k, const tgReal *w, tgParamGrad *p, double tol, double floor_, const char *what,
                                       tgtParamSeen *seen) {
  const char *name = tgt_param_name(c->s, k);
  int rows = 0, cols = 0, ends = 0;
  tgReal *g = tg_param_grad_field(p, name, &rows, &cols);
  int n = rows * cols;
  if (g == NULL || n == 0 || (tgi_param_traits(name) & TGI_PARAM_SWITCH) == 0) return;
  tgReal *dir = malloc(sizeof(tgReal) * 2 * (size_t)n), *nominal = dir + n;
  double ours = 0, doubt;
  for (int i = 0; i < n; i++) nominal[i] = tg_sim_param(c->s, name, NULL, NULL)[i];
  c->n = n;
  c->nominal = nominal;
  c->dir = dir;
  c->held = false;
  c->dry = strstr(name, "frictionloss") != NULL;
  tgt_param_room(c, name, n);
  c->param = tg_sim_param(c->s, name, NULL, NULL);
  for (int i = 0; i < n; i++) {
    bool slow = strncmp(name, "dof_", 4) == 0 && fabs(tgRe(c->v1[i])) < 1e-2;
    dir[i] = tgRe(nominal[i]) == 0 && !slow;
    ends += tgRe(nominal[i]) == 0;
    ours += tgRe(g[i] * dir[i]);
  }
#ifdef TG_COMPLEX
  tol = fmax(tol, 1e-6);   // what the extrapolation leaves
#endif
  // rule `touching`: a bounce takes the place of what pushes overlap out, and the map jumps
  bool jumps = strstr(name, "restitution") != NULL && c->s->npart == 0;
  if (ends > 0 && !jumps) {
    double ref = tgt_param_slope_above(c, w, &doubt), error = fmax(0, fabs(ours - ref) - doubt) / fmax(fabs(ref), floor_);
    if (c->held) seen->aside++;
    else if (c->tied && error > tol) seen->tied++;
    else check_true(error <= tol, "%s: %s at 0: %.12g, differences above %.12g, error %.2g > %g", what, name, ours, ref, error, tol);
    seen->ends[k] += !c->held && fabs(ref) > 1e-4;
  }
  free(dir);
}

// all parameters but `without`, which may be NULL
static inline tgParamGrad *tgt_param_grad(const tgSim *s, const char *without, tgError *e) {
  const char *names[TGT_PARAMS_MOST];
  int n = 0;
  for (int k = 0; without != NULL && tgt_param_name(s, k) != NULL; k++)
    if (strcmp(tgt_param_name(s, k), without) != 0) names[n++] = tgt_param_name(s, k);
  if (n > 0) return tg_param_grad_create_contact(s->contact_model, names, n, NULL, e);
  if (s->contact_model != NULL) return tg_param_grad_create_contact(s->contact_model, NULL, 0, NULL, e);
  return tg_param_grad_create(s->model, NULL, 0, NULL, e);
}

/// The larger friction and restitution of two geoms counts: with equal ones there is no derivative.
static inline void tgt_unequal(tgSim *s) {
  for (int g = 0; g < s->m.ngeom; g++) {
    tg_sim_param(s, "geom_friction", NULL, NULL)[g] *= 1 + 0.07 * g;
    tg_sim_param(s, "geom_restitution", NULL, NULL)[g] *= 1 - 0.07 * g;
  }
}

// the dense Jacobian's rows, weighted, are the adjoint
static inline void tgt_check_param_rows(tgSim *s, tgParamGrad *p, const tgReal *w) {
  int size, ny = s->m.nv + tgi_nw(&s->m);
  const tgReal *g = tg_param_grad_values(p, &size);
  const char *names[TGT_PARAMS_MOST];
  int n = 0;
  for (int k = 0; tgt_param_name(s, k) != NULL; k++)
    if (tg_param_grad_field(p, tgt_param_name(s, k), NULL, NULL) != NULL) names[n++] = tgt_param_name(s, k);
  tgParamGrad *rows = s->contact_model != NULL ? tg_param_grad_create_contact(s->contact_model, names, n, NULL, NULL)
                                               : tg_param_grad_create(s->model, names, n, NULL, NULL);
  tgReal *D = malloc(sizeof(tgReal) * (size_t)ny * (size_t)(size + 1));
  assert_int_equal(tg_sim_step_param_jacobian(s, rows, D, NULL), TG_OK);
  double scale = 1;
  for (int k = 0; k < size; k++) scale = fmax(scale, fabs(tgRe(g[k])));
  for (int k = 0; k < size; k++) {
    tgReal sum = 0;
    for (int i = 0; i < ny; i++) sum += w[i] * D[(size_t)i * (size_t)size + (size_t)k];
    check_true(fabs(tgRe(sum - g[k])) <= 1e-12 * scale, "entry %d: rows give %.17g, the adjoint %.17g", k, tgRe(sum), tgRe(g[k]));
  }
  free(D);
  tg_param_grad_free(rows);
}

/// The step of h seconds from the sim's state, its contact memory as it is after one nominal step. floor_: derivatives of L below this
/// count as zero (|w| is about sqrt(2 nv)). Sets memory frozen while it works. False: the nominal step failed.
static inline bool tgt_check_params(tgSim *s, double h, tgtRandom *r, double tol, double floor_, const char *what, tgtParamSeen *seen) {
  const tgModel *m = &s->m;
  int nq = m->nq, nv = m->nv, nw = tgi_nw(m);
  tgReal *q = malloc(sizeof(tgReal) * (size_t)(2 * nq + 3 * nv + 2 * nw)), *v = q + nq, *q1 = v + nw, *v1 = q1 + nq, *w = v1 + nv;
  memcpy(q, s->qpos, (size_t)nq * sizeof *q);
  tgi_sim_take_w(s, v);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status == TG_ERR_CAPACITY && tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow) == TG_OK) status = tg_sim_step(s, h, NULL);
  m = &s->m;
  tg_sim_freeze_memory(s, true);
  memcpy(s->qpos, q, (size_t)nq * sizeof *q);
  tgi_sim_put_w(s, v);
  if (status == TG_OK) status = tg_sim_step(s, h, NULL);
  if (status == TG_OK) {
    tgError e;
    tgParamGrad *p = tgt_param_grad(s, seen->without, &e);
    check_true(p != NULL, "%s", e.text);
    int *cls = malloc(sizeof(int) * (size_t)(s->nrow + 1));
    if (s->nrow > 0) memcpy(cls, s->rows->class, (size_t)s->nrow * sizeof *cls);
    memcpy(q1, s->qpos, (size_t)nq * sizeof *q);
    memcpy(v1, s->qvel, (size_t)nv * sizeof *v);
    tgt_random_vector(r, nv + nw, w);
    tgGradInfo info;
    check_true(tg_sim_step_vjp(s, w, w + nv, NULL, NULL, NULL, p, &info) == TG_OK, "%s: %s", what, tg_sim_error(s)->text);
    tgt_check_param_rows(s, p, w);
    seen->states++;
    int nrow = s->nrow;
    uint64_t parts = s->part_mode;
    bool tied = s->npart > 1 && info.label != TG_GRAD_EXACT;
    for (int k = 0; tgt_param_name(s, k) != NULL; k++) {
      assert_true(k < TGT_PARAMS_MOST);
      if (seen->without != NULL && strcmp(tgt_param_name(s, k), seen->without) == 0) continue;
      tgtParamCtx c = {.s = s, .h = h, .q = q, .w = v, .q1 = q1, .v1 = v1, .nrow = nrow, .cls = cls, .parts = parts, .tied = tied};
      tgt_check_param(&c, k, w, p, r, tol, floor_, what, seen);
      tgt_check_param_end(&c, k, w, p, tol, floor_, what, seen);
    }
    free(cls);
    tg_param_grad_free(p);
  }
  tg_sim_freeze_memory(s, false);
  free(q);
  return status == TG_OK;
}

#endif
