// flex.c: sheets of triangles: the edges between two of them, and the shape at rest.
#include <stdlib.h>
#include <string.h>

#include "math/quat.h"
#include "model/compile.h"

typedef struct Side { int low, high, opposite, element; } Side;   // an edge of a triangle

static int by_edge(const void *x, const void *y) {
  const Side *a = x, *b = y;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->element < b->element ? -1 : a->element > b->element;
}

static int sides(const tgFlexDesc *f, Side *side) {
  int n = 0;
  for (int e = 0; e < f->nelem; e++)
    for (int k = 0; k < 3; k++) {
      int a = f->elem[3 * e + k], b = f->elem[3 * e + (k + 1) % 3];
      side[n++] = (Side){a < b ? a : b, a < b ? b : a, f->elem[3 * e + (k + 2) % 3], e};
    }
  qsort(side, (size_t)n, sizeof *side, by_edge);
  return n;
}

static tgStatus hinges(tgCompile *c, int i, Side *side) {
  const tgFlexDesc *f = &c->desc->flex[i];
  char label[128];
  int n = sides(f, side);
  for (int k = 0; k + 1 < n; k++) {
    const Side *s = side + k;
    if (s[0].low != s[1].low || s[0].high != s[1].high) continue;
    if (k + 2 < n && s[2].low == s[0].low && s[2].high == s[0].high)
      return tgi_compile_error(c, TG_ERR_INVALID, f->source, tgi_desc_label("flex", f->name, i, label, sizeof label),
                               "three triangles share the edge of vertices %d and %d", s[0].low, s[0].high);
    memcpy(c->hinge[c->nhinge++], (int[4]){s[0].low, s[0].high, s[0].opposite, s[1].opposite}, sizeof *c->hinge);
  }
  return TG_OK;
}

// where vertices are at qpos0
static void rest(const tgCompile *c, const tgFlexDesc *f, int k, tgReal x[3]) {
  tgReal local[3] = {f->pos[3 * k], f->pos[3 * k + 1], f->pos[3 * k + 2]};
  tgi_quat_rotate(x, c->xquat + 4 * f->body[k], local);
  tgi_v3_add(x, x, c->xpos + 3 * f->body[k]);
}

static tgStatus areas(tgCompile *c, int i) {
  const tgFlexDesc *f = &c->desc->flex[i];
  char label[128];
  for (int e = 0; e < f->nelem; e++) {
    tgReal x[9], n[3];
    for (int k = 0; k < 3; k++) rest(c, f, f->elem[3 * e + k], x + 3 * k);
    tgi_v3_sub(x + 3, x + 3, x);
    tgi_v3_sub(x + 6, x + 6, x);
    tgi_v3_cross(n, x + 3, x + 6);
    double area = tgRe(tgSqrt(tgi_v3_dot(n, n))), size = tgRe(tgi_v3_dot(x + 3, x + 3) + tgi_v3_dot(x + 6, x + 6));
    if (area > 1e-12 * size) continue;
    return tgi_compile_error(c, TG_ERR_INVALID, f->source, tgi_desc_label("flex", f->name, i, label, sizeof label),
                             "triangle %d of vertices %d %d %d has no area at rest", e, f->elem[3 * e], f->elem[3 * e + 1],
                             f->elem[3 * e + 2]);
  }
  return TG_OK;
}

tgStatus tgi_compile_flexes(tgCompile *c) {
  const tgDesc *d = c->desc;
  size_t all = 0, most = 0;
  if (d->nflex == 0) return TG_OK;
  for (int i = 0; i < d->nflex; i++) {
    all += (size_t)d->flex[i].nelem;
    if ((size_t)d->flex[i].nelem > most) most = (size_t)d->flex[i].nelem;
  }
  Side *side = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(3 * most, sizeof *side));
  c->hinge = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(2 * all, sizeof *c->hinge));   // each takes two of three sides
  c->hinge_adr = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)d->nflex + 1, sizeof *c->hinge_adr));
  tgStatus st = TG_OK;
  if (side == NULL || c->hinge == NULL || c->hinge_adr == NULL)
    st = tgi_error(c->error, TG_ERR_MEMORY, "out of memory for sheets of %zu triangles", all);
  for (int i = 0; i < d->nflex && st == TG_OK; i++) {
    c->hinge_adr[i] = c->nhinge;
    st = areas(c, i);
    if (st == TG_OK) st = hinges(c, i, side);
    c->hinge_adr[i + 1] = c->nhinge;
  }
  c->alloc.free(c->alloc.ctx, side);
  return st;
}

void tgi_fill_flexes(tgCompile *c, tgModel *m) {
  int vert = 0, elem = 0;
  for (int i = 0; i < m->nflex; i++) {
    const tgFlexDesc *f = &c->desc->flex[i];
    PUT_INT(flex_vertadr, i, vert);
    PUT_INT(flex_vertnum, i, f->nvert);
    PUT_INT(flex_elemadr, i, elem);
    PUT_INT(flex_elemnum, i, f->nelem);
    PUT_INT(flex_hingeadr, i, c->hinge_adr[i]);
    PUT_INT(flex_hingenum, i, c->hinge_adr[i + 1] - c->hinge_adr[i]);
    PUT_INT(flex_stretch, i, f->stretch);
    PUT_INT(flex_bend, i, f->bend);
    PUT_REAL(flex_young, i, f->young);
    PUT_REAL(flex_poisson, i, f->poisson);
    PUT_REAL(flex_thickness, i, f->thickness);
    PUT_REAL(flex_damping, i, f->damping);
    for (int k = 0; k < 4; k++) PUT_REAL(flex_rgba, 4 * i + k, (double)f->rgba[k]);
    for (int k = 0; k < 3 * f->nelem; k++) PUT_INT(flex_elem, 3 * elem + k, vert + f->elem[k]);
    for (int h = c->hinge_adr[i]; h < c->hinge_adr[i + 1]; h++)
      for (int k = 0; k < 4; k++) PUT_INT(flex_hinge, 4 * h + k, vert + c->hinge[h][k]);
    for (int k = 0; k < f->nvert; k++) {
      tgReal x[3];
      rest(c, f, k, x);
      PUT_INT(flex_vertbody, vert + k, f->body[k]);
      for (int j = 0; j < 3; j++) {
        PUT_REAL(flex_vertpos, 3 * (vert + k) + j, f->pos[3 * k + j]);
        PUT_REAL(flex_rest, 3 * (vert + k) + j, x[j]);
      }
    }
    vert += f->nvert;
    elem += f->nelem;
  }
}
