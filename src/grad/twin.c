// twin.c: see twin.h. Compiled in the complex build alone.
//
// Everything is first order in i e: a complex adjoint's imaginary part over e is the derivative of the adjoint along
// the direction, to rounding. Gradients along the sphere of a unit quaternion or axis are those of a function that
// normalises first; so are their rates, along the sphere.
// Charts: with the state moved by exp(i e d), a gradient in tangents there is Jr^-T times that in the chart: to first order (1 -+ [d]/2).
#include "grad/twin.h"

#include <string.h>

#include "base/layout.h"
#include "contact/contact.h"
#include "math/vec3.h"
#include "model/model.h"
#include "sim/param.h"
#include "sim/sim.h"
#include "joint/joint.h"

#define STEP 1e-30

struct tgxTwin {
  tgAllocator alloc;
  tgModel *model;
  tgContact *contact;
  tgSim *sim;
  tgReal *q1;            // nq: q' without the imaginary part
  int nx, ny;            // of (q, w, u) and (q', w') in tangents, w = (v, act)
  tgReal *g, *G, *D;     // ny, nx, ny x nx
  double *d, *dy;        // of the last step
  tgParamGrad *p;        // of the chosen parameters
  tgReal *dp;            // their direction
  void *block;
};

// ---- the model in complex numbers ----

static void widen(tgReal *to, const void *from, size_t n) {
  const double *x = from;
  for (size_t i = 0; i < n; i++) to[i] = x[i];
}

#define SIZES(m) \
  int nbody = (m)->nbody, njnt = (m)->njnt, nv = (m)->nv, nq = (m)->nq, nu = (m)->nu, na = (m)->na, ngeom = (m)->ngeom, \
      nsite = (m)->nsite, nmesh = (m)->nmesh, \
      nmeshvert = (m)->nmeshvert, nmeshface = (m)->nmeshface, nhull = (m)->nhull, nhullvert = (m)->nhullvert, \
                  ntendon = (m)->ntendon, nwrap = (m)->nwrap, nstrand = (m)->nstrand, \
      neq = (m)->neq, npair = (m)->npair, npairown = (m)->npairown, nkey = (m)->nkey, nflex = (m)->nflex, \
      nflexvert = (m)->nflexvert, nflexelem = (m)->nflexelem, nflexhinge = (m)->nflexhinge, nsensor = (m)->nsensor; \
  (void)nbody; \
  (void)njnt; \
  (void)nv; \
  (void)nq; \
  (void)nu; \
  (void)na; \
  (void)ngeom; \
  (void)nsite; \
  (void)nmesh; \
  (void)nmeshvert; \
  (void)nmeshface; \
  (void)nhull; \
  (void)nhullvert; (void)ntendon; (void)nwrap; (void)nstrand; (void)neq; (void)npair; (void)npairown; (void)nkey; \
  (void)nflex; (void)nflexvert; (void)nflexelem; (void)nflexhinge; (void)nsensor

// structure is shared, numbers are copied
static tgModel *copy_model(const tgModel *from, tgLayout *l) {
  SIZES(from);
  tgModel *m = tgi_place(l, 1, sizeof *m);
  if (m != NULL) *m = *from;
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED TG_MODEL_REAL
#define TG_MODEL_REAL(name, rows, cols, unit, text)                            \
  {                                                                            \
    size_t n = tgi_size_mul((size_t)(rows), (size_t)(cols));                   \
    tgReal *x = tgi_place(l, n, sizeof *x);                                    \
    if (m != NULL) {                                                           \
      widen(x, from->name, n);                                                 \
      m->name = x;                                                             \
    }                                                                          \
  }
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_SHARED
#undef TG_MODEL_REAL
  tgHull *hull = tgi_place(l, (size_t)from->nhull, sizeof *hull);
  for (int i = 0; i < from->nhull; i++) {
    const tgHull *like = &from->hull[i];
    tgReal *plane = tgi_place(l, 4 * (size_t)like->nface, sizeof *plane);
    if (m == NULL) continue;
    hull[i] = *like;
    widen(plane, like->face_plane, 4 * (size_t)like->nface);
    hull[i].vert = m->hull_vert + 3 * m->hull_vertadr[i];
    hull[i].face_plane = plane;
  }
  if (m != NULL) {
    m->hull = hull;
    m->block = NULL;
  }
  return m;
}

// a simulation's own numbers
static void copy_numbers(tgModel *to, const tgModel *from) {
  SIZES(from);
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED(name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text) widen((tgReal *)(uintptr_t)to->name, from->name, (size_t)(rows) * (size_t)(cols));
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_SHARED
#undef TG_MODEL_REAL
}

static void place(tgxTwin *t, const tgModel *from, tgLayout *l) {
  size_t ny = (size_t)t->ny, nx = (size_t)t->nx;
  t->model = copy_model(from, l);
  t->q1 = tgi_place(l, (size_t)from->nq, sizeof *t->q1);
  t->g = tgi_place(l, ny, sizeof *t->g);
  t->G = tgi_place(l, nx, sizeof *t->G);
  t->D = tgi_place(l, ny * nx, sizeof *t->D);
  t->d = tgi_place(l, nx, sizeof *t->d);
  t->dy = tgi_place(l, ny, sizeof *t->dy);
}

tgxTwin *tgx_create(const void *model, const char *word, const tgContactOptions *options, const tgAllocator *allocator, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  tgxTwin *t = a.alloc(a.ctx, sizeof *t);
  tgLayout count = {.base = NULL};
  if (t == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives.");
    return NULL;
  }
  const tgModel *from = model;
  *t = (tgxTwin){.alloc = a, .ny = from->nv + tgi_nw(from), .nx = from->nv + tgi_nw(from) + from->nu};
  place(t, model, &count);
  t->block = a.alloc(a.ctx, count.used + 64);
  if (t->block == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives: %zu bytes.", count.used);
    tgx_free(t);
    return NULL;
  }
  memset(t->block, 0, count.used + 64);
  tgLayout l = {.base = (char *)(((uintptr_t)t->block + 63) / 64 * 64)};
  place(t, model, &l);
  t->model->alloc = a;
  t->contact = tg_contact_create(t->model, word, options, error);
  t->sim = t->contact != NULL ? tg_sim_create(t->model, t->contact, &a, error) : NULL;
  if (t->sim != NULL) {
    t->sim->hulls_given = true;   // vertices are those of the point that it steps from
    return t;
  }
  tgx_free(t);
  return NULL;
}

void tgx_free(tgxTwin *t) {
  if (t == NULL) return;
  tgAllocator a = t->alloc;
  tg_param_grad_free(t->p);
  a.free(a.ctx, t->dp);
  tg_sim_free(t->sim);
  tg_contact_free(t->contact);
  a.free(a.ctx, t->block);
  a.free(a.ctx, t);
}

// ---- a step ----

static tgStatus explain(const tgxTwin *t, tgStatus status, tgError *error) {
  if (status != TG_OK && error != NULL) {
    *error = *tg_sim_error(t->sim);
    error->status = status;
  }
  return status;
}

// r += by a x b for every rotation, over vectors of tangents with the given strides
static void add_cross(const tgModel *m, double by, const double *a, const double *b, int ldb, double *r, int ldr) {
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    if (d < 0) continue;
    for (int i = 0; i < 3; i++) {
      int k = d + (i + 1) % 3, l = d + (i + 2) % 3;
      r[(d + i) * ldr] += by * (a[k] * b[l * ldb] - a[l] * b[k * ldb]);
    }
  }
}

// ---- parameters ----

tgStatus tgx_choose(tgxTwin *t, const char *const *names, int n, int *size, tgError *error) {
  tgAllocator a = t->alloc;
  tgParamGrad *p = tg_param_grad_create_contact(t->contact, names, n, &a, error);
  if (p == NULL) return error != NULL ? error->status : TG_ERR_ARG;
  tg_param_grad_values(p, size);
  tgReal *dp = a.alloc(a.ctx, ((size_t)*size + 1) * sizeof *dp);
  if (dp == NULL) {
    tg_param_grad_free(p);
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for second derivatives in %d parameters.", *size);
  }
  tg_param_grad_free(t->p);
  a.free(a.ctx, t->dp);
  t->p = p;
  t->dp = dp;
  return TG_OK;
}

// the array `name` of the sim += i e times its part of t->dp
static tgStatus move_array(tgxTwin *t, const char *name, tgError *error) {
  int rows, cols;
  const tgReal *entry = tg_param_grad_field(t->p, name, &rows, &cols);
  if (entry == NULL) return TG_OK;
  int n = rows * cols;
  tgReal *dir = t->dp + (entry - t->p->value), *x = tg_sim_param(t->sim, name, NULL, NULL);
  bool moves = false;
  for (int i = 0; i < n; i++) moves = moves || tgRe(dir[i]) != 0;
  if (!moves) return TG_OK;
  if (strcmp(name, "opt_timestep") == 0 || x == NULL)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "There is no second derivative along '%s'; leave its entry of the direction 0.", name);
  for (int i = 0; i < n; i++)
    if (!isfinite(tgRe(x[i]))) dir[i] = 0;
  tgi_param_tangent(t->model, name, rows, cols, x, dir);
  for (int i = 0; i < n; i++)
    if (tgRe(dir[i]) != 0) x[i] += CMPLX(0, STEP * tgRe(dir[i]));
  return TG_OK;
}

static tgStatus move_parameters(tgxTwin *t, const double *dp, tgError *error) {
  if (dp == NULL || t->p == NULL) return TG_OK;
  widen(t->dp, dp, (size_t)t->p->size);
  for (int k = 0; tgi_param_name(t->contact, k) != NULL; k++) TG_TRY(move_array(t, tgi_param_name(t->contact, k), error));
  return TG_OK;
}

static tgStatus put_memory(tgSim *s, const void *memory) {
  if (memory == NULL) {
    tgi_forget(s);
    return TG_OK;
  }
  tgStatus status = tgi_memory_restore(s, memory);
  if (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK) status = tgi_memory_restore(s, memory);
  return status;
}

tgStatus tgx_step(tgxTwin *t, const tgxPoint *at, const double *d, const double *dp, double *dy, tgError *error) {
  tgSim *s = t->sim;
  const tgModel *m = t->model;
  int nv = m->nv, nw = tgi_nw(m), nu = m->nu;
  copy_numbers(&s->m, at->model);
  for (int i = 0; i < t->contact->nnumber; i++) s->contact_number[i] = at->number[i];
  TG_TRY(move_parameters(t, dp, error));
  for (int i = 0; i < t->nx; i++) t->d[i] = d[i];
  for (int i = 0; i < nv; i++) {
    t->G[i] = CMPLX(0, STEP * d[i]);
    s->qfrc_applied[i] = at->applied[i];
  }
  for (int i = 0; i < nw; i++) t->g[i] = CMPLX(at->w[i], STEP * d[nv + i]);
  tgi_sim_put_w(s, t->g);
  for (int i = 0; i < nu; i++) s->ctrl[i] = CMPLX(at->u[i], STEP * d[nv + nw + i]);
  widen(s->qpos, at->q, (size_t)m->nq);
  tg_model_integrate(m, s->qpos, t->G, s->qpos);
  tgStatus status = put_memory(s, at->memory);
  if (status == TG_OK) status = tg_sim_step_growing(s, at->h, NULL);
  if (status != TG_OK) return explain(t, status, error);
  for (int i = 0; i < m->nq; i++) t->q1[i] = tgRe(s->qpos[i]);
  tg_model_difference(m, t->q1, s->qpos, t->G);
  tgi_sim_take_w(s, t->g);
  for (int i = 0; i < t->ny; i++) t->dy[i] = tgIm(i < nv ? t->G[i] : t->g[i - nv]) / STEP;
  memcpy(dy, t->dy, (size_t)t->ny * sizeof *dy);
  return TG_OK;
}

tgStatus tgx_vjp(tgxTwin *t, const double *g, const double *dg, double *G, double *H, double *P, double *Q,
                 struct tgGradInfo *info, tgError *error) {
  const tgModel *m = t->model;
  int nv = m->nv;
  for (int i = 0; i < t->ny; i++) H[i] = dg[i];
  add_cross(m, -0.5, t->dy, g, 1, H, 1);
  for (int i = 0; i < t->ny; i++) t->g[i] = CMPLX(g[i], STEP * H[i]);
  tgParamGrad *p = P != NULL || Q != NULL ? t->p : NULL;
  tg_param_grad_clear(p);
  tgStatus status = tg_sim_step_vjp(t->sim, t->g, t->g + nv, t->G, t->G + nv, t->G + t->ny, p, info);
  if (status != TG_OK) return explain(t, status, error);
  for (int i = 0; i < t->nx; i++) {
    G[i] = tgRe(t->G[i]);
    H[i] = tgIm(t->G[i]) / STEP;
  }
  add_cross(m, 0.5, t->d, G, 1, H, 1);
  for (int i = 0; p != NULL && i < p->size; i++) {
    if (P != NULL) P[i] = tgRe(p->value[i]);
    if (Q != NULL) Q[i] = tgIm(p->value[i]) / STEP;
  }
  return TG_OK;
}

tgStatus tgx_jacobian(tgxTwin *t, double *D, double *DD, tgError *error) {
  const tgModel *m = t->model;
  int nx = t->nx;
  tgStatus status = tg_sim_step_jacobian(t->sim, t->D, NULL);
  if (status != TG_OK) return explain(t, status, error);
  for (int i = 0; i < t->ny * nx; i++) {
    D[i] = tgRe(t->D[i]);
    DD[i] = tgIm(t->D[i]) / STEP;
  }
  // rows of q' with 1 + [dy]/2, columns of q with 1 - [d]/2
  for (int c = 0; c < nx; c++) add_cross(m, 0.5, t->dy, D + c, nx, DD + c, nx);
  for (int r = 0; r < t->ny; r++) add_cross(m, 0.5, t->d, D + r * nx, 1, DD + r * nx, 1);
  return TG_OK;
}
