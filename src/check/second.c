// second.c: the check of a step's second derivatives: products with Hessians against extrapolated differences of the step's own adjoint.
//
// One random functional L = g . y, y = (q', v', act') in the chart at the nominal q'. Its gradient in the chart at the
// nominal state, and in the parameters, is taken from real adjoints at points of a line; differences of it share no
// arithmetic with the complex twin that makes the products. Lines: each coordinate of (q, v, act, u), and one random
// direction for each array of parameters. Rows are compared in groups (q, v, act, u, each array), each by its own size.
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "check/check.h"
#include "contact/contact.h"
#include "joint/joint.h"
#include "math/quat.h"
#include "sim/param.h"
#include "tangere/second.h"

enum { STENCILS = 4, MOST_PARAMETERS = 96 };
// first steps of the stencils: of coordinates [m, rad, ..], and as shares of parameters
static const double STENCIL[STENCILS] = {1e-3, 1e-4, 1e-5, 1e-6}, SHARE[STENCILS] = {1e-1, 1e-2, 1e-3, 1e-4};
static const double SYMMETRY = 1e-10;

typedef struct Check {
  tgSim *sim;
  tgSecond *second;
  tgParamGrad *p;                    // of the arrays that have a derivative in this model
  const char *name[MOST_PARAMETERS]; // theirs
  int nname;
  tgGradCheckOptions o;
  double h;
  int nq, nv, nw, nu, ny, nx, np, n; // nw: velocities and activations; ny = nv + nw, nx = ny + nu, n = nx + np
  tgReal *q, *v, *u, *q1, *g;        // nominal point, v of nw; q' of it, weights of (q', v', act')
  tgReal *dir, *dp, *nominal;        // the line: nx, np; nominal parameters
  tgReal *d, *w, *bar, *work;        // scratch: nx each, and of tgi_numdiff
  tgReal *ours;                      // n: the product
  double *col, *err, *noise, *last;  // n, n, n, 2 n
  double *base;                      // n: round-off along a line that moves every coordinate
  double *ref, *doubt;               // n: the best difference, and what it leaves open
  double *H, *R, *E;                 // rows x lines: products, differences, what these leave open
  tgGradInfo info;
} Check;

// ---- the gradient along a line ----

// g by the transpose of Jr (or of its inverse) of every rotation in w
static void through_charts(const tgModel *m, bool inverse, const tgReal *w, tgReal *g) {
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9], t[3];
    if (d < 0) continue;
    if (inverse) tgi_so3_jr_inv(J, w + d);
    else tgi_so3_jr(J, w + d);
    tgi_m3_tmulv(t, J, g + d);
    tgi_v3_copy(g + d, t);
  }
}

static tgReal *entry(const Check *c, const char *name, int *n) {
  int rows, cols;
  tgReal *x = tg_param_grad_field(c->p, name, &rows, &cols);
  *n = rows * cols;
  return x;
}

// fetched anew: the sim may have grown since
static void set_parameters(Check *c, tgReal along) {
  for (int k = 0; k < c->nname; k++) {
    int n;
    size_t at = (size_t)(entry(c, c->name[k], &n) - c->p->value);
    tgReal *x = strcmp(c->name[k], "opt_timestep") != 0 ? tg_sim_param(c->sim, c->name[k], NULL, NULL) : NULL;
    for (int i = 0; i < n && x != NULL; i++)
      x[i] = c->dp[at + (size_t)i] != 0 ? c->nominal[at + (size_t)i] + along * c->dp[at + (size_t)i] : c->nominal[at + (size_t)i];
  }
}

// the row after the group of row i: of q, v, act, u, or one array of parameters
static int group_end(const Check *c, int i) {
  if (i < c->nx) return i < c->nv ? c->nv : i < 2 * c->nv ? 2 * c->nv : i < c->ny ? c->ny : c->nx;
  int end = c->nx, n;
  for (int k = 0; i >= end; k++) {
    end = c->nx + (int)(entry(c, c->name[k], &n) - c->p->value);
    end += n;
  }
  return end;
}

static tgStatus step_at(Check *c, tgReal along) {
  tgSim *s = c->sim;
  if (c->o.cancel != NULL && *c->o.cancel != 0) return TG_CANCELLED;
  for (int i = 0; i < c->nx; i++) c->d[i] = along * c->dir[i];
  tg_model_integrate(s->model, c->q, c->d, s->qpos);
  for (int i = 0; i < c->nw; i++) c->w[i] = c->v[i] + c->d[c->nv + i];
  tgi_sim_put_w(s, c->w);
  for (int i = 0; i < c->nu; i++) s->ctrl[i] = c->u[i] + c->d[c->ny + i];
  set_parameters(c, along);
  return tg_sim_step(s, c->h, NULL);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *out) {
  Check *c = ctx;
  tgSim *s = c->sim;
  int nv = c->nv;
  TG_TRY_OUTCOME(step_at(c, x[0]));
  tg_model_difference(s->model, c->q1, s->qpos, c->w);
  memcpy(c->bar, c->g, (size_t)c->ny * sizeof *c->bar);
  through_charts(&s->m, true, c->w, c->bar);
  tg_param_grad_clear(c->p);
  TG_TRY_OUTCOME(tg_sim_step_vjp(s, c->bar, c->bar + nv, out, out + nv, out + c->ny, c->p, &c->info));
  through_charts(&s->m, false, c->d, out);
  memcpy(out + c->nx, c->p->value, (size_t)c->np * sizeof *out);
  return TG_OK;
}

// Round-off of the gradient's entries: measured, and at least that of the largest number of their group.
// Along a line that moves little, round-off is the same at near points and does not show: it is no less than
// along one that moves all.
static void measure_noise(Check *c, const tgiNumDiff *d) {
  tgReal zero = 0, one = 1;
  bool measured = tgi_numdiff_noise(d, &zero, &one, c->noise, c->last, c->work) == TG_OK && map(c, &zero, c->work) == TG_OK;
  for (int i = 0, end; i < c->n; i = end) {
    double largest = 0, measures = 0;
    end = group_end(c, i);
    for (int k = i; k < end && measured; k++) {
      largest = fmax(largest, fabs(tgRe(c->work[k])));
      measures = fmax(measures, c->noise[k]);
    }
    for (int k = i; k < end; k++) c->noise[k] = fmax(fmax(measures, c->base[k]), 2.2e-16 * largest);
  }
}

// ref and doubt along the line, row by row from the stencil that leaves least open. Refused only where each stencil is.
static tgStatus differences(Check *c, const double *stencil) {
  tgiNumDiff d = {.nx = 1, .nt = 1, .ny = c->n, .map = map, .ctx = c};
  tgReal zero = 0, one = 1;
  tgStatus status = TG_OK;
  bool any = false;
  measure_noise(c, &d);
  for (int i = 0; i < c->n; i++) c->doubt[i] = INFINITY;
  for (int k = 0; k < STENCILS; k++) {
    d.step = stencil[k];
    tgStatus st = tgi_numdiff(&d, &zero, &one, TGI_SIDE_BOTH, c->col, c->err, c->work);
    if (st == TG_CANCELLED || st == TG_ERR_MEMORY) return st;
    if (st != TG_OK) status = st;
    if (st != TG_OK) continue;
    any = true;
    for (int i = 0; i < c->n; i++) {
      double doubt = 4 * c->err[i] + 2 * tgi_numdiff_round_off(c->noise[i], stencil[k]);
      if (!(doubt < c->doubt[i])) continue;
      c->doubt[i] = doubt;
      c->ref[i] = c->col[i];
    }
  }
  return any ? TG_OK : status;
}

static tgStatus product(Check *c) {
  TG_TRY_OUTCOME(step_at(c, 0));
  return tg_step_hvp_parameters(c->second, c->sim, c->g, c->dir, c->dp, c->ours, c->ours + c->nx, NULL);
}

// ---- verdicts ----

// A group of rows and columns. By the largest entry of its own column, but no finer than the reference tells, nor than
// 1e-4 of the group's largest.
static void group(tgGradBlock *b, const double *ours, const double *ref, const double *doubt, int rows, int cols,
                  int ld, int row0, int col0) {
  double all = 0;
  for (int i = 0; i < rows * cols; i++) all = fmax(all, fabs(ref[i / cols * ld + i % cols]));
  for (int j = 0; j < cols; j++) {
    double scale = 1e-4 * all;
    for (int i = 0; i < rows; i++) scale = fmax(scale, fabs(ref[i * ld + j]));
    for (int i = 0; i < rows; i++) {
      int k = i * ld + j;
      double by = fmax(scale, doubt[k] / b->tolerance), error = ours[k] == ref[k] ? 0 : fabs(ours[k] - ref[k]) / by;
      if (!isfinite(ours[k]) || !isfinite(ref[k])) error = INFINITY;
      if (!(error > b->error) && b->row >= 0) continue;
      b->error = error;
      b->estimate = doubt[k] / by;
      b->row = row0 + i;
      b->col = col0 + j;
      b->ours = ours[k];
      b->reference = ref[k];
    }
  }
}

static void name_of(const Check *c, int i, char *text, size_t size) {
  if (i < c->ny) tgi_check_rate_name(&c->sim->m, i < c->nv ? i : i - c->nv, text, size);
  else if (i < c->nx) tgi_check_actuator_name(&c->sim->m, i - c->ny, text, size);
  else
    for (int k = 0; k < c->nname; k++) {
      int n, at = (int)(entry(c, c->name[k], &n) - c->p->value);
      if (i - c->nx >= at && i - c->nx < at + n) snprintf(text, size, "%.50s[%d]", c->name[k], i - c->nx - at);
    }
}

static void verdict(const Check *c, tgGradCheck *check, tgGradBlock *b) {
  b->label = c->info.label;
  if (b->row >= 0 && b->row_name[0] == '\0') name_of(c, b->row, b->row_name, sizeof b->row_name);
  if (b->col >= 0 && b->col_name[0] == '\0') name_of(c, b->col, b->col_name, sizeof b->col_name);
  tgi_check_verdict(check, b);
}

// ---- lines ----

static void clear_line(Check *c) {
  memset(c->dir, 0, (size_t)c->nx * sizeof *c->dir);
  memset(c->dp, 0, (size_t)c->np * sizeof *c->dp);
}

static tgStatus state_lines(Check *c, tgGradCheck *check) {
  static const char *const names[4] = {"second dq", "second dv", "second dact", "second du"};
  const int w[4] = {c->nv, c->nv, c->nw - c->nv, c->nu};
  int at = 0;
  for (int j = 0; j < c->nx; j++) {
    clear_line(c);
    c->dir[j] = 1;
    TG_TRY_OUTCOME(product(c));
    TG_TRY_OUTCOME(differences(c, STENCIL));
    for (int i = 0; i < c->nx; i++) {
      c->H[i * c->nx + j] = tgRe(c->ours[i]);
      c->R[i * c->nx + j] = c->ref[i];
      c->E[i * c->nx + j] = c->doubt[i];
    }
  }
  for (int k = 0; k < 4; at += w[k++]) {
    tgGradBlock *b = w[k] > 0 ? tgi_check_block(check, names[k], c->o.tolerance) : NULL;
    if (b == NULL) continue;
    for (int r = 0, row = 0; r < 4; row += w[r++])
      if (w[r] > 0) group(b, c->H + row * c->nx + at, c->R + row * c->nx + at, c->E + row * c->nx + at, w[r], w[k], c->nx, row, at);
    verdict(c, check, b);
  }
  return TG_OK;
}

// Scaled to the entries; along unit spheres; all by the same share where the larger of several counts; not where
// leaving 0 switches something on, or a bound is infinite. False: nothing of the array moves.
static bool direction(Check *c, int k) {
  int n, rows, cols, traits = tgi_param_traits(c->name[k]);
  size_t at = (size_t)(entry(c, c->name[k], &n) - c->p->value);
  const tgReal *x = c->nominal + at;
  tgReal *dir = c->dp + at;
  bool any = false;
  clear_line(c);
  if (strcmp(c->name[k], "opt_timestep") == 0) return false;
  for (int i = 0; i < n; i++) {
    double size = fabs(tgRe(x[i])), r = (traits & TGI_PARAM_RIVALS) != 0 ? 1
                  : tg_random_normal(c->o.seed, (uint64_t)(2000 + k), (uint64_t)i);
    bool held = !isfinite(size) || (size == 0 && (traits & (TGI_PARAM_SWITCH | TGI_PARAM_RIVALS)) != 0);
    dir[i] = held ? 0 : 0.1 * r * (size > 0 ? size : 1);
  }
  tg_param_grad_field(c->p, c->name[k], &rows, &cols);
  tgi_param_tangent(c->sim->model, c->name[k], rows, cols, x, dir);
  for (int i = 0; i < n; i++) any = any || dir[i] != 0;
  return any;
}

static tgStatus parameter_lines(Check *c, tgGradCheck *check) {
  tgGradBlock *b = c->np > 0 ? tgi_check_block(check, "second dp", c->o.tolerance) : NULL;
  const char *line[MOST_PARAMETERS];
  int lines = 0, ld = c->nname;
  for (int k = 0; k < c->nname && b != NULL; k++) {
    if (!direction(c, k)) continue;
    TG_TRY_OUTCOME(product(c));
    TG_TRY_OUTCOME(differences(c, SHARE));
    for (int i = 0; i < c->n; i++) {
      c->H[i * ld + lines] = tgRe(c->ours[i]);
      c->R[i * ld + lines] = c->ref[i];
      c->E[i * ld + lines] = c->doubt[i];
    }
    line[lines++] = c->name[k];
  }
  if (b == NULL || lines == 0) return TG_OK;
  for (int i = 0, end; i < c->n; i = end) {
    end = group_end(c, i);
    group(b, c->H + i * ld, c->R + i * ld, c->E + i * ld, end - i, lines, ld, i, 0);
  }
  snprintf(b->col_name, sizeof b->col_name, "%s", line[b->col]);
  verdict(c, check, b);
  return TG_OK;
}

// <b, H a> = <a, H b> for two random directions of everything that has a line
static tgStatus symmetry(Check *c, tgGradCheck *check) {
  tgReal *a = c->R, *Ha = c->E;   // done with
  double ab = 0, ba = 0, scale = 0;
  for (int side = 0; side < 2; side++) {
    clear_line(c);
    for (int k = 0; k < c->nname; k++) {
      int n;
      size_t at = (size_t)(entry(c, c->name[k], &n) - c->p->value);
      memcpy(c->col, c->dp, (size_t)c->np * sizeof *c->col);
      bool any = direction(c, k);
      for (int i = 0; i < n && any; i++)
        c->col[at + (size_t)i] = c->dp[at + (size_t)i] * tg_random_normal(c->o.seed, (uint64_t)(4000 + side), (uint64_t)k);
      memcpy(c->dp, c->col, (size_t)c->np * sizeof *c->col);
    }
    for (int i = 0; i < c->nx; i++) c->dir[i] = tg_random_normal(c->o.seed, (uint64_t)(3000 + side), (uint64_t)i);
    if (side == 0) {
      memcpy(a, c->dir, (size_t)c->nx * sizeof *a);
      memcpy(a + c->nx, c->dp, (size_t)c->np * sizeof *a);
    }
    TG_TRY_OUTCOME(product(c));
    if (side == 0) memcpy(Ha, c->ours, (size_t)c->n * sizeof *Ha);
  }
  for (int i = 0; i < c->n; i++) {
    double y = i < c->nx ? c->dir[i] : c->dp[i - c->nx];
    ab += y * Ha[i];
    ba += a[i] * c->ours[i];
    scale += fabs(y * Ha[i]) + fabs(a[i] * c->ours[i]);
  }
  tgGradBlock *b = tgi_check_block(check, "second symmetry", SYMMETRY);
  if (b == NULL) return TG_OK;
  b->error = scale > 0 ? fabs(ab - ba) / scale : 0;
  b->ours = ab;
  b->reference = ba;
  b->label = c->info.label;
  tgi_check_verdict(check, b);
  return TG_OK;
}

// ---- the whole ----

// names of the arrays with a derivative in this model; c->info of the nominal step
static tgStatus choose(Check *c) {
  tgSim *s = c->sim;
  tgError error;
  for (int k = 0; tgi_param_name(s->contact_model, k) != NULL && c->nname < MOST_PARAMETERS; k++) {
    const char *name = tgi_param_name(s->contact_model, k);
    tgParamGrad *p = tg_param_grad_create_contact(s->contact_model, &name, 1, &s->alloc, &error);
    if (p == NULL) return tgi_error(&s->error, error.status, "%s", error.text);
    tgStatus status = p->size > 0 ? tg_sim_step_vjp(s, c->g, c->g + c->nv, NULL, NULL, NULL, p, NULL) : TG_ERR_UNSUPPORTED;
    tg_param_grad_free(p);
    if (status != TG_OK && status != TG_ERR_UNSUPPORTED) return status;
    if (status == TG_OK) c->name[c->nname++] = name;
  }
  c->p = tg_param_grad_create_contact(s->contact_model, c->name, c->nname, &s->alloc, &error);
  if (c->p == NULL) return tgi_error(&s->error, error.status, "%s", error.text);
  c->np = c->p->size;
  c->n = c->nx + c->np;
  return TG_OK;
}

static void place_state(Check *c, tgLayout *l) {
  tgReal **arrays[] = {&c->q, &c->q1, &c->v, &c->u, &c->g};
  int sizes[] = {c->nq, c->nq, c->nw, c->nu, c->ny};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, (size_t)sizes[i], sizeof(tgReal));
}

static void place_lines(Check *c, tgLayout *l) {
  tgiNumDiff d = {.nx = 1, .nt = 1, .ny = c->n};
  size_t n = (size_t)c->n, nx = (size_t)c->nx, np = (size_t)c->np,
         square = nx * nx > n * (size_t)(c->nname + 1) ? nx * nx : n * (size_t)(c->nname + 1);
  tgReal **arrays[] = {&c->dir, &c->dp, &c->nominal, &c->d, &c->w, &c->bar, &c->work, &c->ours, &c->col, &c->err,
                       &c->noise, &c->last, &c->base, &c->ref, &c->doubt, &c->H, &c->R, &c->E};
  size_t sizes[] = {nx, np, np, nx, nx, nx, tgi_numdiff_work(&d), n, n, n, n, 2 * n, n, n, n, square, square, square};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(tgReal));
}

static void *take(Check *c, void (*place)(Check *, tgLayout *)) {
  tgAllocator a = c->sim->alloc;
  tgLayout l = {.base = NULL};
  place(c, &l);
  char *block = a.alloc(a.ctx, l.used + 64);
  if (block == NULL) {
    tgi_error(&c->sim->error, TG_ERR_MEMORY, "out of memory for the check of second derivatives");
    return NULL;
  }
  memset(block, 0, l.used + 64);
  l = (tgLayout){.base = (char *)(((uintptr_t)block + 63) / 64 * 64)};
  place(c, &l);
  return block;
}

static tgStatus lines(Check *c, tgGradCheck *check) {
  tgSim *s = c->sim;
  for (int k = 0; k < c->nname; k++) {
    int n;
    tgReal *to = c->nominal + (entry(c, c->name[k], &n) - c->p->value);
    if (n > 0) memcpy(to, tgi_sim_param(s, c->name[k], NULL, NULL), (size_t)n * sizeof *to);
  }
  clear_line(c);
  for (int i = 0; i < c->nx; i++) c->dir[i] = tg_random_normal(c->o.seed, 5000, (uint64_t)i);
  tgiNumDiff all = {.nx = 1, .nt = 1, .ny = c->n, .map = map, .ctx = c};
  measure_noise(c, &all);
  memcpy(c->base, c->noise, (size_t)c->n * sizeof *c->base);
  tgStatus status = state_lines(c, check);
  if (status == TG_OK) status = parameter_lines(c, check);
  if (status == TG_OK) status = symmetry(c, check);
  clear_line(c);
  set_parameters(c, 0);
  return status;
}

static tgStatus run(Check *c, tgGradCheck *check) {
  tgSim *s = c->sim;
  tgError error;
  c->second = tg_second_create(s->model, s->contact_model, NULL, &error);
  if (c->second == NULL) return tgi_error(&s->error, error.status, "%s", error.text);
  memcpy(c->q, s->qpos, (size_t)c->nq * sizeof *c->q);
  tgi_sim_take_w(s, c->v);
  memcpy(c->u, s->ctrl, (size_t)c->nu * sizeof *c->u);
  for (int i = 0; i < c->ny; i++) c->g[i] = tg_random_normal(c->o.seed, 1000, (uint64_t)i);
  TG_TRY_OUTCOME(tg_sim_step(s, c->h, NULL));
  memcpy(c->q1, s->qpos, (size_t)c->nq * sizeof *c->q1);
  TG_TRY_OUTCOME(choose(c));
  if (tg_second_choose(c->second, c->name, c->nname, &error) != TG_OK) return tgi_error(&s->error, error.status, "%s", error.text);
  void *block = take(c, place_lines);
  tgStatus status = block != NULL ? lines(c, check) : TG_ERR_MEMORY;
  s->alloc.free(s->alloc.ctx, block);
  return status;
}

tgStatus tg_grad_check_second(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check) {
  tgGradCheckOptions o = options != NULL ? *options : tg_grad_check_default();
  if (sim == NULL || check == NULL || o.size != sizeof o) return TG_ERR_ARG;
  if (sim->contact_model == NULL)
    return tgi_error(&sim->error, TG_ERR_UNSUPPORTED, "Second derivatives need a contact model whose step is twice differentiable.");
  Check c = {.sim = sim, .o = o, .h = o.h > 0 ? o.h : tg_model_timestep(sim->model), .nq = sim->m.nq, .nv = sim->m.nv, .nu = sim->m.nu,
             .nw = tgi_nw(&sim->m)};
  c.ny = c.nv + c.nw;
  c.nx = c.ny + c.nu;
  tgAllocator a = sim->alloc;
  char *before = a.alloc(a.ctx, tg_sim_snapshot_size(sim) + 1);
  void *block = take(&c, place_state);
  tgStatus status = before != NULL && block != NULL ? TG_OK
                    : tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for the check of second derivatives");
  if (status == TG_OK) {
    bool frozen = sim->frozen;
    tg_sim_save(sim, before);
    tg_sim_freeze_memory(sim, true);   // all of the steps choose as this one
    status = run(&c, check);
    tg_sim_freeze_memory(sim, frozen);
    tgError error = sim->error;
    tgStatus restored = tg_sim_restore(sim, before);
    sim->error = error;
    if (status == TG_OK) status = restored;
  }
  tg_param_grad_free(c.p);
  tg_second_free(c.second);
  a.free(a.ctx, block);
  a.free(a.ctx, before);
  return status;
}
