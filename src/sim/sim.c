// sim.c: one block for state, parameters, everything computed, discrete memory and scratch.
//
// place() is the one layout function: it counts when l->base is NULL, else places. Growing makes a new block and
// copies the old arrays over, so that state, parameters and memory survive; it happens between steps only. Scratch is
// apart, as dense derivatives need far more of it than steps: it grows when one is asked for.
#include "sim/sim.h"

#include <limits.h>
#include <string.h>

#include "base/layout.h"
#include "sim/stepper.h"

enum { POSES = 5 };
static tgPose *pose_of(tgSim *s, int i) {
  tgPose *all[POSES] = {&s->start, &s->end, &s->trial, &s->before, &s->middle};
  return all[i];
}

// the sim's own copies of the model's parameters
static void place_parameters(tgSim *s, const tgModel *model, tgLayout *l) {
  int nbody = model->nbody, njnt = model->njnt, nv = model->nv, nq = model->nq, nu = model->nu, na = model->na, ngeom = model->ngeom,
      nsite = model->nsite, nhullvert = model->nhullvert, ntendon = model->ntendon, nwrap = model->nwrap, nstrand = model->nstrand,
      neq = model->neq, npairown = model->npairown, nkey = model->nkey, nflex = model->nflex, nflexvert = model->nflexvert;
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED(name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text) \
  s->m.name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(tgReal));
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
}

// vertices and planes of the largest hull
static size_t hull_room(const tgModel *m) {
  size_t room = 0;
  for (int i = 0; i < m->nhull; i++) {
    size_t n = 3 * (size_t)m->hull[i].nvert + 4 * (size_t)m->hull[i].nface;
    if (n > room) room = n;
  }
  return room;
}

static size_t hull_planes(const tgModel *m) {
  size_t n = 0;
  for (int i = 0; i < m->nhull; i++) n += (size_t)m->hull[i].nface;
  return n;
}

void tgi_place_pose(tgPose *p, const tgModel *m, tgLayout *l) {
#define TG_POSE_REAL(name, rows, cols, unit, producer, text) \
  p->name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(tgReal));
#include "sim/pose_fields.def"
#undef TG_POSE_REAL
}

static void place(tgSim *s, tgLayout *l) {
  const tgModel *m = s->model;
  const tgCapacity *z = &s->cap;
  s->m = *m;
  place_parameters(s, m, l);
  for (int i = 0; i < POSES; i++) tgi_place_pose(pose_of(s, i), m, l);
#define TG_SIM_REAL(name, rows, cols, unit, producer, text) \
  s->name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(tgReal));
#define TG_SIM_INT(name, rows, cols, unit, producer, text) \
  s->name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(int));
#include "sim/sim_fields.def"
#undef TG_SIM_REAL
#undef TG_SIM_INT
  tgi_rows_place(s, l);
  s->contact = tgi_place(l, (size_t)z->ncon, sizeof *s->contact);
  s->term = tgi_place(l, (size_t)z->nterm, sizeof *s->term);
  s->contact_number = tgi_place(l, s->contact_model != NULL ? (size_t)s->contact_model->nnumber : 0, sizeof(tgReal));
  s->hull = tgi_place(l, (size_t)m->nhull, sizeof *s->hull);
  s->hull_plane = tgi_place(l, hull_planes(m), 4 * sizeof(tgReal));
  s->m.hull = s->hull;
  for (int i = 0; i < 2; i++) s->scaled_hull[i] = tgi_place(l, hull_room(m), sizeof(tgReal));
  s->face_lists = tgi_place(l, s->contact_model != NULL ? s->contact_model->list_bytes : 0, 1);
  s->solver_bytes = s->contact_model != NULL && s->contact_model->solver_bytes != NULL
                    ? s->contact_model->solver_bytes(s->contact_model, z) : 0;
  s->solver = tgi_place(l, s->solver_bytes, 1);
  if (s->stepper != NULL && s->stepper->place != NULL) s->stepper->place(s, l);
}

static size_t plus(size_t a, size_t b) { return a < SIZE_MAX - b ? a + b : SIZE_MAX; }

// scratch that a step, its adjoint and the contact model need at this capacity: vectors, and the widest set of dofs
// times the rows of the widest island
static size_t scratch_bytes(const tgModel *m, const tgContact *c, const tgCapacity *z) {
  size_t nv = (size_t)tgi_nw(m), nb = (size_t)m->nbody, nu = (size_t)m->nu, nr = (size_t)z->nrow;
  size_t terms = 13 * (size_t)z->nterm;
  size_t reals = 160 * (nv + nb) + 16 * ((size_t)m->ngeom + nu + (size_t)m->nwrap + (size_t)m->nstrand) + 64 * nr +
                 ((size_t)m->set_width + 2) * ((size_t)z->widest + 8) + terms + 4096;
  return plus(tgi_size_mul(reals, sizeof(tgReal)), c != NULL ? c->scratch : 0);
}

// what a dense derivative of a step takes
static size_t dense_bytes(const tgSim *s) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)tgi_nw(m), nu = (size_t)m->nu, nr = (size_t)s->cap.nrow, reals = 10 * nv * nv + 4 * nv * nu + 4 * nr * nv + nr * nu;
  size_t bytes = plus(tgi_size_mul(reals, sizeof(tgReal)), scratch_bytes(m, s->contact_model, &s->cap));
  return s->stepper != NULL && s->stepper->scratch != NULL ? plus(bytes, s->stepper->scratch(s->contact_model)) : bytes;
}

// dofs up to which a simulation has that scratch from the start, so that no derivative of a robot's step takes memory
enum { SMALL = 96 };
static size_t stack_bytes(const tgSim *s) {
  return s->model->nv <= SMALL ? dense_bytes(s) : scratch_bytes(s->model, s->contact_model, &s->cap);
}

tgStatus tgi_stack_reserve_dense(tgSim *s) { return tgi_stack_reserve(s, dense_bytes(s)); }

enum { ANY_PATTERN = 512, SPARSE = 32 };   // dofs up to which a step's second derivative has room whatever touches; numbers to a dof beyond
enum { POINTS = 16384, FRICTION = 1024 };   // friction points, and pairs with friction, for which there is room at first
enum { NEAR = 16 };   // pairs that are near each other, for each geom, likewise
enum { ANY_ISLANDS = 512 };   // rows up to which room is made for them in whatever islands; beyond, for islands of that many

static tgCapacity first_capacity(const tgModel *m, const tgContact *c, const tgStepper *stepper) {
  bool rows = stepper == NULL || stepper->rows;
  int ncon = !rows ? 0 : m->npair < 8 ? 4 * m->npair : 32, fixed = tgi_fixed_rows(m);
  tgCapacity z = {.ncon = ncon, .npairmem = ncon, .nrow = !rows ? 0 : (fixed < 128 ? fixed : 128) + (m->friction_most + 1) * ncon};
  z.widest = z.nrow;
  z.nA = (size_t)z.nrow * (size_t)z.nrow;
  z.npoint = POINTS;
  z.nfriction = FRICTION;
  z.nnear = m->ngeom < INT_MAX / NEAR ? NEAR * m->ngeom : INT_MAX;
  z.nterm = c != NULL ? c->nterm : 0;
  z.recorded = c != NULL ? c->recorded : 0;
  z.ndry = tgi_dry_rows(m);
  z.nH = (size_t)m->nv * (size_t)(m->nv < ANY_PATTERN ? m->nv : SPARSE);
  return z;
}

// sets the block of a sim whose model, contact model and capacity are set; the old block is the caller's
static tgStatus make_block(tgSim *s) {
  tgLayout count = {.base = NULL};
  place(s, &count);
  char *block = count.used < SIZE_MAX / 4 ? s->alloc.alloc(s->alloc.ctx, count.used + 64) : NULL;
  if (block == NULL) return TG_ERR_MEMORY;
  memset(block, 0, count.used + 64);
  tgLayout l = {.base = (char *)(((uintptr_t)block + 63) / 64 * 64)};
  place(s, &l);
  for (int i = 0; i < s->model->nhull; i++) s->hull[i] = s->model->hull[i];
  s->block = block;
  return TG_OK;
}

// the scratch anew; the old block is the caller's
static tgStatus make_stack(tgSim *s, size_t bytes) {
  char *block = bytes < SIZE_MAX / 4 ? s->alloc.alloc(s->alloc.ctx, bytes + 64) : NULL;
  if (block == NULL) return TG_ERR_MEMORY;
  s->stack_block = block;
  s->stack = (char *)(((uintptr_t)block + 63) / 64 * 64);
  tgi_red(s->stack, bytes);
  s->cap.stack = bytes;
  s->stack_used = 0;
  return TG_OK;
}

tgStatus tgi_stack_reserve(tgSim *s, size_t bytes) {
  void *old = s->stack_block;
  if (bytes <= s->cap.stack) return TG_OK;
  if (s->stack_used > 0 || make_stack(s, bytes) != TG_OK)
    return tgi_error(&s->error, TG_ERR_MEMORY, "out of memory for %zu bytes of scratch", bytes);
  s->alloc.free(s->alloc.ctx, old);
  if (s->wanted.stack < bytes) s->wanted.stack = bytes;
  return TG_OK;
}

#define COPY(T, name, rows, cols) \
  if ((rows) * (cols) > 0) memcpy((void *)(uintptr_t)to->name, from->name, (size_t)(rows) * (size_t)(cols) * sizeof(T));

// parameters from the model or from another sim of it
static void copy_parameters(tgSim *to_sim, const tgModel *from) {
  tgModel *to = &to_sim->m;
  int nbody = from->nbody, njnt = from->njnt, nv = from->nv, nq = from->nq, nu = from->nu, na = from->na, ngeom = from->ngeom,
      nsite = from->nsite, nhullvert = from->nhullvert, ntendon = from->ntendon, nwrap = from->nwrap, nstrand = from->nstrand,
      neq = from->neq, npairown = from->npairown, nkey = from->nkey, nflex = from->nflex, nflexvert = from->nflexvert;
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED(name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text) COPY(tgReal, name, rows, cols)
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
}

void tgi_sim_copy_parameters(tgSim *to, const tgSim *from) {
  copy_parameters(to, &from->m);
  for (int i = 0; from->contact_model != NULL && i < from->contact_model->nnumber; i++) to->contact_number[i] = from->contact_number[i];
  to->hulls_given = from->hulls_given;
}

// the contact model's numbers as they were chosen when it was made
static void reset_numbers(tgSim *s) {
  const tgContact *c = s->contact_model;
  for (int i = 0; c != NULL && i < c->nnumber; i++)
    s->contact_number[i] = tgi_option_get(c->number[i], c->options);
}

static void copy_pose(tgPose *to, const tgPose *from, const tgModel *m) {
#define TG_POSE_REAL(name, rows, cols, unit, producer, text) COPY(tgReal, name, rows, cols)
#include "sim/pose_fields.def"
#undef TG_POSE_REAL
}

// every array, as far as the smaller capacity goes
static void copy_fields(tgSim *to, tgSim *from) {
  const tgModel *m = from->model;
  for (int i = 0; i < POSES; i++) copy_pose(pose_of(to, i), pose_of(from, i), m);
#define TG_SIM_REAL(name, rows, cols, unit, producer, text) COPY(tgReal, name, rows, cols)
#define TG_SIM_INT(name, rows, cols, unit, producer, text) COPY(int, name, rows, cols)
#include "sim/sim_fields.def"
#undef TG_SIM_REAL
#undef TG_SIM_INT
  tgi_rows_copy(to, from);
}
#undef COPY

tgSim *tgi_sim_create(const tgModel *model, const tgContact *contact, const tgStepper *stepper,
                      const tgAllocator *allocator, tgError *error) {
  if (model == NULL || (contact != NULL && contact->model != model)) {
    tgi_error(error, TG_ERR_ARG, "tg_sim_create needs a model, and a contact model made for that model");
    return NULL;
  }
  tgAllocator a = tgi_allocator(allocator);
  tgSim *s = a.alloc(a.ctx, sizeof *s);
  if (s != NULL) {
    *s = (tgSim){.model = model, .contact_model = contact, .stepper = stepper, .alloc = a, .cap = first_capacity(model, contact, stepper)};
    s->m = *model;
    s->cap.stack = stack_bytes(s);
    s->wanted = s->cap;
    if (make_block(s) == TG_OK && make_stack(s, s->cap.stack) == TG_OK) {
      copy_parameters(s, model);
      tg_sim_reset(s);
      return s;
    }
    a.free(a.ctx, s->block);
    a.free(a.ctx, s);
  }
  tgi_error(error, TG_ERR_MEMORY, "out of memory for a simulation of %d dofs", model->nv);
  return NULL;
}

void tg_sim_free(tgSim *sim) {
  if (sim == NULL) return;
  tgAllocator a = sim->alloc;
  a.free(a.ctx, sim->stack_block);
  a.free(a.ctx, sim->block);
  a.free(a.ctx, sim);
}

tgStatus tgi_sim_grow(tgSim *s) {
  tgSim grown = *s;
  if (grown.wanted.ncon > grown.cap.ncon) grown.cap.ncon = grown.wanted.ncon;
  if (grown.wanted.nrow > grown.cap.nrow) grown.cap.nrow = grown.wanted.nrow;
  if (grown.wanted.widest > grown.cap.widest) grown.cap.widest = grown.wanted.widest;
  if (grown.wanted.nA > grown.cap.nA) grown.cap.nA = grown.wanted.nA;
  if (grown.wanted.nH > grown.cap.nH) grown.cap.nH = grown.wanted.nH;
  if (grown.wanted.nfactor > grown.cap.nfactor) grown.cap.nfactor = grown.wanted.nfactor;
  if (grown.wanted.npoint > grown.cap.npoint) grown.cap.npoint = grown.wanted.npoint;
  if (grown.wanted.nterm > grown.cap.nterm) grown.cap.nterm = grown.wanted.nterm;
  if (grown.wanted.nfriction > grown.cap.nfriction) grown.cap.nfriction = grown.wanted.nfriction;
  if (grown.wanted.ndry > grown.cap.ndry) grown.cap.ndry = grown.wanted.ndry;
  if (grown.wanted.nnear > grown.cap.nnear) grown.cap.nnear = grown.wanted.nnear;
  grown.cap.npairmem = grown.cap.ncon;
  size_t need = stack_bytes(&grown);
  if (need > grown.cap.stack) grown.cap.stack = need;
  if (grown.wanted.stack > grown.cap.stack) grown.cap.stack = grown.wanted.stack;
  grown.block = NULL;
  if (make_block(&grown) != TG_OK || make_stack(&grown, grown.cap.stack) != TG_OK) {
    s->alloc.free(s->alloc.ctx, grown.block);
    return tgi_error(&s->error, TG_ERR_MEMORY, "out of memory for %d contacts and %d rows", grown.cap.ncon, grown.cap.nrow);
  }
  tgi_sim_copy_parameters(&grown, s);
  copy_fields(&grown, s);
  s->alloc.free(s->alloc.ctx, s->block);
  s->alloc.free(s->alloc.ctx, s->stack_block);
  *s = grown;
  s->wanted = s->cap;
  s->stage = TG_STAGE_NONE;
  s->stack_used = 0;
  return TG_OK;
}

tgStatus tg_sim_reserve(tgSim *sim, int ncontact, int nrow) {
  if (sim == NULL || ncontact < 0 || nrow < 0) return TG_ERR_ARG;
  if (ncontact > sim->wanted.ncon) sim->wanted.ncon = ncontact;
  if (nrow > sim->wanted.nrow) sim->wanted.nrow = nrow;
  int widest = nrow < ANY_ISLANDS ? nrow : ANY_ISLANDS;
  if (widest > sim->wanted.widest) sim->wanted.widest = widest;
  if ((size_t)widest * (size_t)nrow > sim->wanted.nA) sim->wanted.nA = (size_t)widest * (size_t)nrow;
  const tgCapacity *want = &sim->wanted, *cap = &sim->cap;
  bool fits = want->ncon <= cap->ncon && want->nrow <= cap->nrow && want->widest <= cap->widest && want->nA <= cap->nA;
  fits = fits && want->nH <= cap->nH && want->nfactor <= cap->nfactor && want->npoint <= cap->npoint &&
         want->nfriction <= cap->nfriction && want->nterm <= cap->nterm && want->nnear <= cap->nnear && want->ndry <= cap->ndry;
  if (fits && want->stack <= cap->stack) return TG_OK;
  return tgi_sim_grow(sim);
}

tgStatus tg_sim_grow(tgSim *sim) {
  if (sim == NULL) return TG_ERR_ARG;
  tgCapacity *want = &sim->wanted;
  const tgCapacity cap = sim->cap;
  const size_t square = (size_t)sim->m.nv * (size_t)sim->m.nv;
  if (want->ncon > cap.ncon) want->ncon += cap.ncon / 2;
  if (want->nrow > cap.nrow) want->nrow += cap.nrow / 2;
  if (want->widest > cap.widest) want->widest += cap.widest / 2;
  if (want->nA > cap.nA) want->nA += cap.nA / 2;
  if (want->nH > cap.nH) want->nH = want->nH + cap.nH / 2 < square ? want->nH + cap.nH / 2 : square;
  if (want->nfactor > cap.nfactor) want->nfactor += cap.nfactor / 2;
  if (want->npoint > cap.npoint) want->npoint += cap.npoint / 2;
  if (want->nterm > cap.nterm) want->nterm += cap.nterm / 2;
  if (want->nfriction > cap.nfriction) want->nfriction += cap.nfriction / 2;
  if (want->nnear > cap.nnear) want->nnear += cap.nnear / 2;
  if (want->npairmem > cap.npairmem) want->npairmem += cap.npairmem / 2;
  if (want->stack > cap.stack) want->stack += cap.stack / 2;
  return tgi_sim_grow(sim);
}

void tg_sim_wanted(const tgSim *sim, int *ncontact, int *nrow) {
  if (sim == NULL) return;
  if (ncontact != NULL) *ncontact = sim->wanted.ncon;
  if (nrow != NULL) *nrow = sim->wanted.nrow;
}

void *tgi_stack_bytes(tgSim *s, size_t bytes) {
  size_t end = s->stack_used + (bytes + 63) / 64 * 64;
  if (bytes > SIZE_MAX / 4 || end > s->cap.stack) {
    if (end > s->wanted.stack) s->wanted.stack = 2 * end;
    return NULL;
  }
  void *p = s->stack + s->stack_used;
  tgi_not_red(p, bytes);
  tgi_red((char *)p + bytes, end - s->stack_used - bytes);
  s->stack_used = end;
  if (end > s->stack_high) s->stack_high = end;
  return p;
}

tgReal *tgi_stack_real(tgSim *s, size_t n) { return tgi_stack_bytes(s, tgi_size_mul(n, sizeof(tgReal))); }

const tgModel *tg_sim_model(const tgSim *sim) { return sim != NULL ? sim->model : NULL; }
const tgError *tg_sim_error(const tgSim *sim) {
  static const tgError none = {.status = TG_ERR_ARG, .text = "no simulation given"};
  return sim != NULL ? &sim->error : &none;
}
tgReal *tg_sim_qpos(tgSim *sim) { return sim != NULL ? sim->qpos : NULL; }
tgReal *tg_sim_qvel(tgSim *sim) { return sim != NULL ? sim->qvel : NULL; }
tgReal *tg_sim_act(tgSim *sim) { return sim != NULL ? sim->act : NULL; }
tgReal *tg_sim_ctrl(tgSim *sim) { return sim != NULL ? sim->ctrl : NULL; }
tgReal *tg_sim_qfrc_applied(tgSim *sim) { return sim != NULL ? sim->qfrc_applied : NULL; }

void tgi_sim_take_w(const tgSim *s, tgReal *w) {
  memcpy(w, s->qvel, (size_t)s->m.nv * sizeof *w);
  if (s->m.na > 0) memcpy(w + s->m.nv, s->act, (size_t)s->m.na * sizeof *w);
}

void tgi_sim_put_w(tgSim *s, const tgReal *w) {
  memcpy(s->qvel, w, (size_t)s->m.nv * sizeof *w);
  if (s->m.na > 0) memcpy(s->act, w + s->m.nv, (size_t)s->m.na * sizeof *w);
}

void tg_sim_state(const tgSim *sim, tgReal *q, tgReal *v) {
  if (sim != NULL && q != NULL) memcpy(q, sim->qpos, (size_t)sim->m.nq * sizeof *q);
  if (sim != NULL && v != NULL) tgi_sim_take_w(sim, v);
}

void tg_sim_set_state(tgSim *sim, const tgReal *q, const tgReal *v) {
  if (sim != NULL && q != NULL) memcpy(sim->qpos, q, (size_t)sim->m.nq * sizeof *q);
  if (sim != NULL && v != NULL) tgi_sim_put_w(sim, v);
}

void tgi_sim_take_start(tgSim *s, const tgSim *from) {
  const tgModel *m = s->model;
  copy_parameters(s, &from->m);
  s->hulls_given = from->hulls_given;
  s->visiting = true;
  memcpy(s->qpos, from->start.q, (size_t)m->nq * sizeof(tgReal));
  memcpy(s->qvel, from->start.vel, (size_t)m->nv * sizeof(tgReal));
  memcpy(s->act, from->act0, (size_t)m->na * sizeof(tgReal));
  memcpy(s->ctrl, from->ctrl, (size_t)m->nu * sizeof(tgReal));
  memcpy(s->qfrc_applied, from->qfrc_applied, (size_t)m->nv * sizeof(tgReal));
  tgi_forget(s);
}

void tg_sim_reset(tgSim *sim) {
  if (sim == NULL) return;
  const tgModel *m = sim->model;
  copy_parameters(sim, m);
  reset_numbers(sim);
  sim->visiting = false;
  for (int i = 0; i < m->nq; i++) sim->qpos[i] = sim->m.qpos0[i];
  for (int i = 0; i < m->nv; i++) sim->qvel[i] = 0;
  for (int i = 0; i < m->na; i++) sim->act[i] = 0;
  for (int i = 0; i < m->nu; i++) sim->ctrl[i] = 0;
  for (int i = 0; i < m->nv; i++) sim->qfrc_applied[i] = 0;
  tgi_forget(sim);
}

tgStatus tg_sim_reset_key(tgSim *sim, int key) {
  if (sim == NULL) return TG_ERR_ARG;
  const tgModel *m = sim->model;
  if (key < 0 || key >= m->nkey) return tgi_error(&sim->error, TG_ERR_ARG, "keyframe %d of %d does not exist", key, m->nkey);
  tg_sim_reset(sim);
  for (int i = 0; i < m->nq; i++) sim->qpos[i] = m->key_qpos[key * m->nq + i];
  for (int i = 0; i < m->nv; i++) sim->qvel[i] = m->key_qvel[key * m->nv + i];
  for (int i = 0; i < m->na; i++) sim->act[i] = m->key_act[key * m->na + i];
  for (int i = 0; i < m->nu; i++) sim->ctrl[i] = m->key_ctrl[key * m->nu + i];
  return TG_OK;
}

// read from the model by all of its sims
static bool is_shared(const char *name) {
#define TG_MODEL_INT(field, rows, cols, unit, text)
#define TG_MODEL_REAL(field, rows, cols, unit, text)
#define TG_MODEL_SHARED(field, rows, cols, unit, text) if (strcmp(name, #field) == 0) return true;
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
  return false;
}

int tgi_contact_number_named(const tgContact *c, const char *parameter) {
  bool contact = c != NULL && strncmp(parameter, TG_CONTACT_PREFIX, sizeof TG_CONTACT_PREFIX - 1) == 0;
  const tgiOption *option = contact ? tgi_option_named(c->list, parameter + sizeof TG_CONTACT_PREFIX - 1) : NULL;
  for (int i = 0; option != NULL && i < c->nnumber; i++)
    if (c->number[i] == option) return i;
  return -1;
}

const char *tgi_parameter_name(const tgContact *c, const char *name) {
  int i = name != NULL ? tgi_contact_number_named(c, name) : -1;
  return i >= 0 ? c->number[i]->is.parameter : name;
}

tgReal *tg_sim_param(tgSim *sim, const char *name, int *rows, int *cols) {
  bool read = sim != NULL && name != NULL && strcmp(name, "opt_timestep") != 0;   // steps take their size as an argument
  return read ? tgi_sim_param(sim, name, rows, cols) : NULL;
}

tgReal *tgi_sim_param(tgSim *sim, const char *name, int *rows, int *cols) {
  int number = tgi_contact_number_named(sim->contact_model, name);
  if (number >= 0) {
    if (rows != NULL) *rows = 1;
    if (cols != NULL) *cols = 1;
    return &sim->contact_number[number];
  }
  for (int i = 0; i < tg_model_field_count(&sim->m); i++) {
    tgField f = tg_model_field(&sim->m, i);
    if (strcmp(f.name, name) != 0 || f.scalar != TG_SCALAR_REAL || is_shared(name)) continue;
    if (rows != NULL) *rows = f.rows;
    if (cols != NULL) *cols = f.cols;
    sim->hulls_given = sim->hulls_given || f.data == sim->m.hull_vert;
    return (tgReal *)(uintptr_t)f.data;
  }
  return NULL;
}

// a snapshot: sizes, state, memory
typedef struct SnapshotHead { int nq, nv, nu, na; } SnapshotHead;

static size_t state_reals(const tgModel *m) { return (size_t)m->nq + 2 * (size_t)m->nv + (size_t)m->na + (size_t)m->nu; }

size_t tg_sim_snapshot_size(const tgSim *sim) {
  return sim != NULL ? sizeof(SnapshotHead) + state_reals(sim->model) * sizeof(tgReal) + tgi_memory_bytes(sim) : 0;
}

static void put(char **at, const void *from, size_t bytes) {
  if (bytes > 0) memcpy(*at, from, bytes);
  *at += bytes;
}
static void take(const char **at, void *to, size_t bytes) {
  if (bytes > 0) memcpy(to, *at, bytes);
  *at += bytes;
}

void tg_sim_save(const tgSim *sim, void *snapshot) {
  if (sim == NULL || snapshot == NULL) return;
  const tgModel *m = sim->model;
  SnapshotHead head = {m->nq, m->nv, m->nu, m->na};
  char *at = snapshot;
  put(&at, &head, sizeof head);
  put(&at, sim->qpos, (size_t)m->nq * sizeof(tgReal));
  put(&at, sim->qvel, (size_t)m->nv * sizeof(tgReal));
  put(&at, sim->act, (size_t)m->na * sizeof(tgReal));
  put(&at, sim->ctrl, (size_t)m->nu * sizeof(tgReal));
  put(&at, sim->qfrc_applied, (size_t)m->nv * sizeof(tgReal));
  tgi_memory_save(sim, at);
}

tgStatus tg_sim_restore(tgSim *sim, const void *snapshot) {
  if (sim == NULL || snapshot == NULL) return TG_ERR_ARG;
  const tgModel *m = sim->model;
  SnapshotHead head;
  const char *at = snapshot;
  take(&at, &head, sizeof head);
  if (head.nq != m->nq || head.nv != m->nv || head.nu != m->nu || head.na != m->na)
    return tgi_error(&sim->error, TG_ERR_ARG, "the snapshot is of another model (nq %d, nv %d, nu %d, na %d)", head.nq, head.nv, head.nu,
                     head.na);
  TG_TRY(tgi_memory_restore(sim, at + state_reals(m) * sizeof(tgReal)));
  take(&at, sim->qpos, (size_t)m->nq * sizeof(tgReal));
  take(&at, sim->qvel, (size_t)m->nv * sizeof(tgReal));
  take(&at, sim->act, (size_t)m->na * sizeof(tgReal));
  take(&at, sim->ctrl, (size_t)m->nu * sizeof(tgReal));
  take(&at, sim->qfrc_applied, (size_t)m->nv * sizeof(tgReal));
  sim->stage = TG_STAGE_NONE;
  return TG_OK;
}

// those of the rows, then the stepper's own
static bool further_field(const tgSim *sim, int i, tgField *f) {
  int rows = tgi_rows_fields(sim);
  *f = i < rows ? tgi_rows_field(sim, i) : sim->stepper != NULL && sim->stepper->field != NULL
       ? sim->stepper->field(sim, i - rows) : (tgField){.name = NULL};
  return f->name != NULL;
}

int tg_sim_field_count(const tgSim *sim) {
  if (sim == NULL) return 0;
  int n = 0;
#define TG_SIM_REAL(name, rows, cols, unit, producer, text) n++;
#define TG_SIM_INT TG_SIM_REAL
#define TG_POSE_REAL TG_SIM_REAL
#include "sim/sim_fields.def"
#include "sim/pose_fields.def"
#undef TG_POSE_REAL
#undef TG_SIM_REAL
#undef TG_SIM_INT
  tgField further;
  n += tgi_rows_fields(sim);
  for (int i = tgi_rows_fields(sim); further_field(sim, i, &further); i++) n++;
  return n;
}

tgField tg_sim_field(const tgSim *sim, int i) {
  if (sim == NULL) return (tgField){0};
  const tgModel *m = sim->model;
  int n = 0;
#define FIELD(from, scalar_, name_, rows_, cols_, unit_, producer_, text_)                                      \
  if (n++ == i)                                                                                             \
    return (tgField){.name = #name_, .scalar = scalar_, .rows = rows_, .cols = cols_, .unit = unit_,        \
                     .producer = producer_, .text = text_, .data = (from)->name_};
#define TG_SIM_REAL(name, rows, cols, unit, producer, text) FIELD(sim, TG_SCALAR_REAL, name, rows, cols, unit, producer, text)
#define TG_SIM_INT(name, rows, cols, unit, producer, text) FIELD(sim, TG_SCALAR_INT, name, rows, cols, unit, producer, text)
#define TG_POSE_REAL(name, rows, cols, unit, producer, text) FIELD(&sim->start, TG_SCALAR_REAL, name, rows, cols, unit, producer, text)
#include "sim/sim_fields.def"
#include "sim/pose_fields.def"
#undef TG_POSE_REAL
#undef TG_SIM_REAL
#undef TG_SIM_INT
#undef FIELD
  tgField further;
  return i >= n && further_field(sim, i - n, &further) ? further : (tgField){.data = NULL};
}

tgField tg_sim_field_named(const tgSim *sim, const char *name) {
  if (sim == NULL || name == NULL) return (tgField){0};
  for (int i = 0, n = tg_sim_field_count(sim); i < n; i++) {
    tgField f = tg_sim_field(sim, i);
    if (strcmp(f.name, name) == 0) return f;
  }
  return (tgField){.data = NULL};
}
