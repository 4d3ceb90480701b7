// desc.c: growable arrays behind tgDesc, one pool for strings and small arrays, one free.
#include "desc/desc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

// Pool blocks hold strings and arrays; growing an array makes a new block and leaves the old one.
typedef struct Block { struct Block *next; } Block;
struct tgDescPool {
  tgAllocator alloc;
  Block *blocks;
};

static void *pool_take(struct tgDescPool *pool, size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(max_align_t) - sizeof(Block)) return NULL;
  size_t head = (sizeof(Block) + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  Block *b = pool->alloc.alloc(pool->alloc.ctx, head + (bytes > 0 ? bytes : 1));
  if (b == NULL) return NULL;
  b->next = pool->blocks;
  pool->blocks = b;
  return (char *)b + head;
}

void *tg_desc_bytes(tgDesc *desc, const void *data, size_t bytes) {
  if (desc == NULL) return NULL;
  void *p = pool_take(desc->pool, bytes);
  if (p != NULL && data != NULL && bytes > 0) memcpy(p, data, bytes);
  if (p != NULL && data == NULL) memset(p, 0, bytes);
  return p;
}

const char *tg_desc_string(tgDesc *desc, const char *text) {
  if (desc == NULL) return NULL;
  return text == NULL ? NULL : tg_desc_bytes(desc, text, strlen(text) + 1);
}

// grows *array (n elements of `size` bytes) by one zeroed element when n is 0 or a power of two
static bool grow(tgDesc *desc, void **array, int n, size_t size) {
  if (n >= INT32_MAX / 2) return false;
  if (n == 0 || (n & (n - 1)) == 0) {
    size_t cap = n == 0 ? 1 : 2 * (size_t)n;
    if (cap > SIZE_MAX / size) return false;
    char *p = pool_take(desc->pool, cap * size);
    if (p == NULL) return false;
    if (n > 0) memcpy(p, *array, (size_t)n * size);
    *array = p;
  }
  memset((char *)*array + (size_t)n * size, 0, size);
  return true;
}
#define GROW(list, count) grow(desc, (void **)&desc->list, desc->count, sizeof *desc->list)

static const tgSource in_code = {.file = -1};

tgDesc *tg_desc_create(const tgAllocator *allocator) {
  tgAllocator a = tgi_allocator(allocator);
  struct tgDescPool *pool = a.alloc(a.ctx, sizeof *pool);
  if (pool == NULL) return NULL;
  *pool = (struct tgDescPool){.alloc = a};
  tgDesc *desc = pool_take(pool, sizeof *desc);
  if (desc == NULL) {
    a.free(a.ctx, pool);
    return NULL;
  }
  *desc = (tgDesc){.pool = pool,
                   .option = {.timestep = 0.002, .gravity = {0, 0, -9.81}},
                   .compiler = {.inertiagrouprange = {0, 5}, .settotalmass = -1}};
  if (tg_desc_add_body(desc, -1, "world") < 0) {
    tg_desc_free(desc);
    return NULL;
  }
  return desc;
}

void tg_desc_free(tgDesc *desc) {
  if (desc == NULL) return;
  struct tgDescPool *pool = desc->pool;
  for (Block *b = pool->blocks; b != NULL;) {
    Block *next = b->next;
    pool->alloc.free(pool->alloc.ctx, b);
    b = next;
  }
  pool->alloc.free(pool->alloc.ctx, pool);
}

// copies the name before growing, so that a failure leaves the desc as it was
static bool name_and_grow(tgDesc *desc, const char *name, const char **copy, void **array, int n, size_t size) {
  *copy = tg_desc_string(desc, name);
  return (name == NULL || *copy != NULL) && grow(desc, array, n, size);
}
#define ADD(list, count) name_and_grow(desc, name, &copy, (void **)&desc->list, desc->count, sizeof *desc->list)

int tg_desc_add_body(tgDesc *desc, int parent, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(body, nbody)) return -1;
  desc->body[desc->nbody] = (tgBodyDesc){.name = copy, .parent = parent, .quat = {1, 0, 0, 0}, .source = in_code};
  return desc->nbody++;
}

int tg_desc_add_joint(tgDesc *desc, int body, tgJointType type, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(joint, njoint)) return -1;
  desc->joint[desc->njoint] =
      (tgJointDesc){.name = copy, .body = body, .type = type, .axis = {0, 0, 1}, .source = in_code};
  return desc->njoint++;
}

tgGeomDesc tgi_geom_default(int body, tgGeomType type) {
  return (tgGeomDesc){.body = body, .type = type, .quat = {1, 0, 0, 0}, .mesh = -1, .mass = NAN, .density = 1000,
                      .friction = {1, 0.005, 0.0001}, .contype = 1, .conaffinity = 1, .condim = 3, .flex = -1,
                      .rgba = {0.5f, 0.5f, 0.5f, 1}, .source = in_code};
}

int tg_desc_add_geom(tgDesc *desc, int body, tgGeomType type, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(geom, ngeom)) return -1;
  desc->geom[desc->ngeom] = tgi_geom_default(body, type);
  desc->geom[desc->ngeom].name = copy;
  return desc->ngeom++;
}

int tg_desc_add_site(tgDesc *desc, int body, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(site, nsite)) return -1;
  desc->site[desc->nsite] =
      (tgSiteDesc){.name = copy, .body = body, .type = TG_GEOM_SPHERE, .quat = {1, 0, 0, 0}, .size = {0.005, 0.005, 0.005},
                   .source = in_code};
  return desc->nsite++;
}

int tg_desc_add_mesh(tgDesc *desc, const char *name, const double *vert, int nvert, const int *face, int nface) {
  const char *copy;
  if (nvert < 0 || nface < 0) return -1;
  double *v = tg_desc_bytes(desc, vert, 3 * (size_t)nvert * sizeof *v);
  int *f = tg_desc_bytes(desc, face, 3 * (size_t)nface * sizeof *f);
  if (v == NULL || f == NULL || !ADD(mesh, nmesh)) return -1;
  desc->mesh[desc->nmesh] = (tgMeshDesc){.name = copy, .vert = v, .nvert = nvert, .face = f, .nface = nface,
                                         .scale = {1, 1, 1}, .refquat = {1, 0, 0, 0}, .source = in_code};
  return desc->nmesh++;
}

int tg_desc_add_actuator(tgDesc *desc, tgTransmission transmission, int target, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(actuator, nactuator)) return -1;
  desc->actuator[desc->nactuator] = (tgActuatorDesc){.name = copy, .transmission = transmission, .target = target, .refsite = -1,
                                                     .gear = {1}, .gain = {1}, .timeconst = 1, .source = in_code};
  return desc->nactuator++;
}

int tg_desc_add_tendon(tgDesc *desc, const char *name, const int *joint, const double *coef, int njoint) {
  const char *copy;
  if (njoint < 0) return -1;
  int *j = tg_desc_bytes(desc, joint, (size_t)njoint * sizeof *j);
  double *c = tg_desc_bytes(desc, coef, (size_t)njoint * sizeof *c);
  if (j == NULL || c == NULL || !ADD(tendon, ntendon)) return -1;
  desc->tendon[desc->ntendon] = (tgTendonDesc){.name = copy, .joint = j, .coef = c, .njoint = njoint, .source = in_code};
  return desc->ntendon++;
}

int tg_desc_add_spatial_tendon(tgDesc *desc, const char *name, const int *site, const double *divisor, int npath) {
  const char *copy;
  if (npath < 0) return -1;
  int *s = tg_desc_bytes(desc, site, (size_t)npath * sizeof *s);
  double *d = tg_desc_bytes(desc, divisor, (size_t)npath * sizeof *d);
  if (s == NULL || d == NULL || !ADD(tendon, ntendon)) return -1;
  desc->tendon[desc->ntendon] = (tgTendonDesc){.name = copy, .site = s, .divisor = d, .npath = npath, .springlength = {-1, -1},
                                                 .source = in_code};
  return desc->ntendon++;
}

int tg_desc_add_equality(tgDesc *desc, tgEqualityType type, int a, int b, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(equality, nequality)) return -1;
  desc->equality[desc->nequality] =
      (tgEqualityDesc){.name = copy, .type = type, .active = true, .a = a, .b = b, .relquat = {1, 0, 0, 0},
                       .relpose_from_qpos0 = true, .polycoef = {0, 1}, .torquescale = 1, .source = in_code};
  return desc->nequality++;
}

int tg_desc_add_pair(tgDesc *desc, int geom1, int geom2, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(pair, npair)) return -1;
  desc->pair[desc->npair] = (tgPairDesc){.name = copy, .geom1 = geom1, .geom2 = geom2, .condim = 3,
                                         .friction = {NAN, NAN, NAN, NAN, NAN}, .restitution = NAN, .source = in_code};
  return desc->npair++;
}

int tg_desc_add_flex(tgDesc *desc, const char *name, const int *body, const double *pos, int nvert, const int *elem, int nelem) {
  const char *copy;
  if (nvert < 0 || nelem < 0) return -1;
  int *b = tg_desc_bytes(desc, body, (size_t)nvert * sizeof *b), *e = tg_desc_bytes(desc, elem, 3 * (size_t)nelem * sizeof *e);
  double *x = tg_desc_bytes(desc, pos, 3 * (size_t)nvert * sizeof *x);
  if (b == NULL || e == NULL || x == NULL || !ADD(flex, nflex)) return -1;
  desc->flex[desc->nflex] = (tgFlexDesc){.name = copy, .body = b, .pos = x, .nvert = nvert, .elem = e, .nelem = nelem,
                                         .thickness = 1e-3, .rgba = {0.5f, 0.5f, 0.5f, 1}, .source = in_code};
  return desc->nflex++;
}

int tg_desc_add_sensor(tgDesc *desc, tgSensorType type, int object, const char *name) {
  if (desc == NULL) return -1;
  const char *copy;
  if (!ADD(sensor, nsensor)) return -1;
  tgFrameKind frame = tgi_sensor_of(type) == TGI_OF_FRAME ? TG_FRAME_BODY : TG_FRAME_NONE;
  desc->sensor[desc->nsensor] =
      (tgSensorDesc){.name = copy, .type = type, .object = object, .frame = frame, .ref = -1, .source = in_code};
  return desc->nsensor++;
}

int tg_desc_add_exclude(tgDesc *desc, int body1, int body2) {
  if (desc == NULL) return -1;
  if (!GROW(exclude, nexclude)) return -1;
  desc->exclude[desc->nexclude] = (tgExcludeDesc){.body1 = body1, .body2 = body2, .source = in_code};
  return desc->nexclude++;
}

int tg_desc_add_key(tgDesc *desc, const char *name, const double *qpos, int nqpos, const double *qvel, int nqvel,
                    const double *ctrl, int nctrl) {
  const char *copy;
  if (nqpos < 0 || nqvel < 0 || nctrl < 0) return -1;
  double *q = tg_desc_bytes(desc, qpos, (size_t)nqpos * sizeof *q);
  double *v = tg_desc_bytes(desc, qvel, (size_t)nqvel * sizeof *v);
  double *u = tg_desc_bytes(desc, ctrl, (size_t)nctrl * sizeof *u);
  if (q == NULL || v == NULL || u == NULL || !ADD(key, nkey)) return -1;
  desc->key[desc->nkey] = (tgKeyDesc){.name = copy, .qpos = q, .qvel = v, .ctrl = u, .nqpos = nqpos, .nqvel = nqvel,
                                      .nctrl = nctrl, .source = in_code};
  return desc->nkey++;
}

bool tg_desc_key_activations(tgDesc *desc, int key, const double *act, int nact) {
  if (desc == NULL || key < 0 || key >= desc->nkey || nact < 0) return false;
  double *a = tg_desc_bytes(desc, act, (size_t)nact * sizeof *a);
  if (a == NULL) return false;
  desc->key[key].act = a;
  desc->key[key].nact = nact;
  return true;
}

int tg_desc_add_note(tgDesc *desc, tgNoteKind kind, tgSource source, const char *format, ...) {
  if (desc == NULL || format == NULL) return -1;
  char text[768];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *copy = tg_desc_string(desc, text);
  if (copy == NULL || !GROW(note, nnote)) return -1;
  desc->note[desc->nnote] = (tgNote){.kind = kind, .text = copy, .source = source};
  return desc->nnote++;
}

int tg_desc_add_file(tgDesc *desc, const char *path) {
  if (desc == NULL || path == NULL) return -1;
  for (int i = 0; i < desc->nfile; i++)
    if (strcmp(desc->file[i], path) == 0) return i;
  const char *copy = tg_desc_string(desc, path);
  if (copy == NULL || !GROW(file, nfile)) return -1;
  desc->file[desc->nfile] = copy;
  return desc->nfile++;
}

#define FIND(kind, list, count)                                                        \
  int tg_desc_find_##kind(const tgDesc *desc, const char *name) {                      \
    for (int i = 0; desc != NULL && name != NULL && i < desc->count; i++)              \
      if (desc->list[i].name != NULL && strcmp(desc->list[i].name, name) == 0) return i; \
    return -1;                                                                         \
  }
FIND(body, body, nbody)
FIND(joint, joint, njoint)
FIND(geom, geom, ngeom)
FIND(mesh, mesh, nmesh)
FIND(tendon, tendon, ntendon)
FIND(site, site, nsite)
#undef FIND
