// model.c: tg_model_compile and what a model tells about itself.
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "model/compile.h"

static void compile_free(tgCompile *c) {
  tgAllocator a = c->alloc;
  for (int i = 0; i < c->nhull; i++) tgi_hull_free(c->hull[i]);
  a.free(a.ctx, c->hull);
  a.free(a.ctx, c->joint_to);
  a.free(a.ctx, c->xpos);
  a.free(a.ctx, c->geom_mass);
  a.free(a.ctx, c->pair);
  a.free(a.ctx, c->hinge);
  a.free(a.ctx, c->hinge_adr);
}

// all index arrays in one block, all frames in another
static tgStatus compile_alloc(tgCompile *c) {
  const tgDesc *d = c->desc;
  size_t nj = (size_t)d->njoint, ng = (size_t)d->ngeom, ns = (size_t)d->nsite, nb = (size_t)d->nbody;
  size_t nint = 2 * nj + 3 * ng + 2 * ns + 3 * (nb + 1);
  int *p = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(nint, sizeof *p));
  c->joint_to = p;
  c->xpos = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(7 * nb, sizeof *c->xpos));
  c->geom_mass = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(ng + 1, sizeof *c->geom_mass));
  c->hull = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(ng + 1, sizeof *c->hull));
  if (p == NULL || c->xpos == NULL || c->geom_mass == NULL || c->hull == NULL)
    return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for a model of %d bodies and %d geoms", d->nbody, d->ngeom);
  c->xquat = c->xpos + 3 * nb;
  c->joint_from = (p += nj);
  c->geom_to = (p += nj);
  c->geom_from = (p += ng);
  c->geom_hull = (p += ng);
  c->site_to = (p += ng);
  c->site_from = (p += ns);
  c->joint_adr = (p += ns);
  c->geom_adr = (p += nb + 1);
  c->site_adr = p + nb + 1;
  return TG_OK;
}

static tgStatus compile_passes(tgCompile *c) {
  TG_TRY(tgi_check_desc(c));
  TG_TRY(compile_alloc(c));
  TG_TRY(tgi_compile_order(c));
  TG_TRY(tgi_compile_pairs(c));
  TG_TRY(tgi_compile_flexes(c));
  TG_TRY(tgi_compile_hulls(c));
  TG_TRY(tgi_compile_inertia(c));
  tgModel count;
  tgLayout l = {.base = NULL};
  tgi_place(&l, 1, sizeof(tgModel));
  tgi_model_layout(c, &count, &l);
  char *block = c->alloc.alloc(c->alloc.ctx, l.used + 64);
  if (block == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for a model of %zu bytes", l.used);
  tgLayout place = {.base = (char *)(((uintptr_t)block + 63) / 64 * 64)};
  memset(block, 0, l.used + 64);
  c->m = tgi_place(&place, 1, sizeof(tgModel));
  tgi_model_layout(c, c->m, &place);
  c->m->block = block;
  tgStatus st = tgi_compile_springs(c);
  if (st < 0) tg_model_free(c->m);
  return st;
}

tgModel *tg_model_compile(tgDesc *desc, const tgAllocator *allocator, tgError *error) {
  if (desc == NULL) {
    tgi_error(error, TG_ERR_ARG, "tg_model_compile needs a description");
    return NULL;
  }
  tgCompile c = {.desc = desc, .alloc = tgi_allocator(allocator), .error = error};
  tgStatus st = compile_passes(&c);
  compile_free(&c);
  return st < 0 ? NULL : c.m;
}

void tg_model_free(tgModel *model) {
  if (model == NULL) return;
  tgAllocator a = model->alloc;
  tgi_model_keep_free(model);
  a.free(a.ctx, model->block);
}

int tg_model_nq(const tgModel *model) { return model != NULL ? model->nq : 0; }
int tg_model_nv(const tgModel *model) { return model != NULL ? model->nv : 0; }
int tg_model_nu(const tgModel *model) { return model != NULL ? model->nu : 0; }
int tg_model_na(const tgModel *model) { return model != NULL ? model->na : 0; }
double tg_model_timestep(const tgModel *model) { return model != NULL ? tgRe(model->opt_timestep[0]) : 0; }

int tg_model_count(const tgModel *m, tgKindOfThing kind) {
  if (m == NULL) return 0;
  switch (kind) {
    case TG_THING_BODY: return m->nbody;
    case TG_THING_JOINT: return m->njnt;
    case TG_THING_GEOM: return m->ngeom;
    case TG_THING_SITE: return m->nsite;
    case TG_THING_MESH: return m->nmesh;
    case TG_THING_ACTUATOR: return m->nu;
    case TG_THING_TENDON: return m->ntendon;
    case TG_THING_EQUALITY: return m->neq;
    case TG_THING_KEY: return m->nkey;
    case TG_THING_FLEX: return m->nflex;
    case TG_THING_SENSOR: return m->nsensor;
    case TG_THING_COUNT: break;
  }
  return 0;
}

const char *tg_model_name(const tgModel *m, tgKindOfThing kind, int i) {
  if (m == NULL) return NULL;
  return i < 0 || i >= tg_model_count(m, kind) ? NULL : m->thing_name[kind][i];
}

int tg_model_find(const tgModel *m, tgKindOfThing kind, const char *name) {
  if (m == NULL || name == NULL) return -1;
  if (name == NULL || name[0] == '\0') return -1;
  for (int i = 0; i < tg_model_count(m, kind); i++)
    if (strcmp(m->thing_name[kind][i], name) == 0) return i;
  return -1;
}

tgStatus tg_model_joint(const tgModel *m, int joint, tgJointType *type, int *body, int *qadr, int *vadr) {
  if (m == NULL) return TG_ERR_ARG;
  if (joint < 0 || joint >= m->njnt) return TG_ERR_ARG;
  if (type != NULL) *type = (tgJointType)m->jnt_type[joint];
  if (body != NULL) *body = m->jnt_body[joint];
  if (qadr != NULL) *qadr = m->jnt_qadr[joint];
  if (vadr != NULL) *vadr = m->jnt_vadr[joint];
  return TG_OK;
}

const char *tgi_model_label(const tgModel *m, tgKindOfThing kind, int i, char *text, size_t size) {
  static const char *const word[] = {"body", "joint", "geom", "site", "mesh", "actuator", "tendon", "equality", "keyframe", "flex",
                                     "sensor"};
  const char *name = tg_model_name(m, kind, i);
  if (name != NULL && name[0] != '\0') snprintf(text, size, "%s '%s'", word[kind], name);
  else if (kind == TG_THING_GEOM && name != NULL) {
    char body[96];
    snprintf(text, size, "geom %d of %s", i, tgi_model_label(m, TG_THING_BODY, m->geom_body[i], body, sizeof body));
  } else snprintf(text, size, "%s %d", word[kind], i);
  return text;
}

static bool begins(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

bool tgi_model_rows_kind(const char *name, tgKindOfThing *kind) {
  static const struct { const char *prefix; tgKindOfThing kind; } prefixes[] = {
      {"body_", TG_THING_BODY}, {"jnt_", TG_THING_JOINT}, {"dof_", TG_THING_JOINT}, {"geom_", TG_THING_GEOM}, {"hull_", TG_THING_MESH},
      {"site_", TG_THING_SITE}, {"act_", TG_THING_ACTUATOR}, {"ten_", TG_THING_TENDON}, {"eq_", TG_THING_EQUALITY}, {"key_", TG_THING_KEY},
      {"flex_", TG_THING_FLEX}, {"sensor_", TG_THING_SENSOR}};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (begins(name, prefixes[i].prefix)) {
      *kind = prefixes[i].kind;
      return true;
    }
  return false;
}

int tgi_model_row_thing(const tgModel *m, const char *name, int row) {
  int hull = 0, flex = 0;
  if (begins(name, "dof_")) return m->dof_jnt[row];
  if (begins(name, "flex_rest") || begins(name, "flex_vertpos")) {
    while (row >= m->flex_vertadr[flex] + m->flex_vertnum[flex]) flex++;
    return flex;
  }
  if (!begins(name, "hull_vert")) return row;
  while (row >= m->hull_vertadr[hull] + m->hull_vertnum[hull]) hull++;
  return m->hull_mesh[hull];
}

tgReal tgi_geom_friction(const tgModel *m, int g, int t) {
  return t < 2 ? m->geom_friction[g] : m->geom_spinfriction[2 * g + (t > 2)];
}

tgReal tgi_pair_friction(const tgModel *m, int p, int t, int *geom) {
  int a = m->pair_geom1[p], b = m->pair_geom2[p];
  if (geom != NULL) *geom = -1;
  tgReal own = t < 2 ? tgi_pair_number(m, p, m->pair_friction, 2, t) : tgi_pair_number(m, p, m->pair_spinfriction, 3, t - 2);
  if (tgRe(own) >= 0) return own;
  tgReal x = tgi_geom_friction(m, a, t), y = tgi_geom_friction(m, b, t);
  bool first = m->geom_priority[a] != m->geom_priority[b] ? m->geom_priority[a] > m->geom_priority[b] : tgRe(x) >= tgRe(y);
  if (geom != NULL) *geom = first ? a : b;
  return first ? x : y;
}

int tgi_pair_of(const tgModel *m, int geom1, int geom2) {
  int a = geom1 < geom2 ? geom1 : geom2, b = geom1 < geom2 ? geom2 : geom1, low = m->geom_pairadr[a], high = m->geom_pairadr[a + 1];
  // where geoms meet all that come after them, the pair is as far on as its geom's number
  int near = low < high ? low + b - m->pair_geom2[low] : high;
  if (near >= low && near < high && m->pair_geom2[near] == b && (near == low || m->pair_geom2[near - 1] < b)) return near;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (m->pair_geom2[middle] < b) low = middle + 1;
    else high = middle;
  }
  return low < m->geom_pairadr[a + 1] && m->pair_geom2[low] == b ? low : -1;
}

tgReal tgi_pair_restitution(const tgModel *m, int p, int *geom) {
  int a = m->pair_geom1[p], b = m->pair_geom2[p];
  if (geom != NULL) *geom = -1;
  tgReal own = tgi_pair_number(m, p, m->pair_restitution, 1, 0);
  if (tgRe(own) >= 0) return own;
  int larger = tgRe(m->geom_restitution[a]) >= tgRe(m->geom_restitution[b]) ? a : b;
  if (geom != NULL) *geom = larger;
  return m->geom_restitution[larger];
}

int tg_model_field_count(const tgModel *model) {
  if (model == NULL) return 0;
  (void)model;
  int n = 0;
#define TG_MODEL_INT(name, rows, cols, unit, text) n++;
#define TG_MODEL_REAL TG_MODEL_INT
#define TG_MODEL_SHARED TG_MODEL_INT
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
  return n;
}

tgField tg_model_field(const tgModel *m, int i) {
  if (m == NULL) return (tgField){0};
  int n = 0, nbody = m->nbody, njnt = m->njnt, nv = m->nv, nq = m->nq, nu = m->nu, na = m->na, ngeom = m->ngeom, nsite = m->nsite,
      nmesh = m->nmesh, nmeshface = m->nmeshface, nmeshvert = m->nmeshvert, nhull = m->nhull, nhullvert = m->nhullvert,
      ntendon = m->ntendon, nwrap = m->nwrap, nstrand = m->nstrand, neq = m->neq, npair = m->npair,
      npairown = m->npairown, nkey = m->nkey, nflex = m->nflex, nflexvert = m->nflexvert, nflexelem = m->nflexelem,
      nflexhinge = m->nflexhinge, nsensor = m->nsensor;
#define FIELD(scalar_, name_, rows_, cols_, unit_, text_)                                                       \
  if (n++ == i)                                                                                                  \
    return (tgField){.name = #name_, .scalar = scalar_, .rows = rows_, .cols = cols_, .unit = unit_,             \
                     .producer = "tg_model_compile", .text = text_, .data = m->name_};
#define TG_MODEL_INT(name, rows, cols, unit, text) FIELD(TG_SCALAR_INT, name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text) FIELD(TG_SCALAR_REAL, name, rows, cols, unit, text)
#define TG_MODEL_SHARED TG_MODEL_REAL
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
#undef FIELD
  return (tgField){.data = NULL};
}

tgField tg_model_field_named(const tgModel *model, const char *name) {
  if (model == NULL || name == NULL) return (tgField){0};
  for (int i = 0; i < tg_model_field_count(model); i++) {
    tgField f = tg_model_field(model, i);
    if (strcmp(f.name, name) == 0) return f;
  }
  return (tgField){.data = NULL};
}
