// order.c: joints, geoms and sites in the model's order (by body, else as given) and body poses at qpos0.
#include <string.h>

#include "math/quat.h"
#include "model/compile.h"

// counting sort by body, stable: to[old] = new, from[new] = old, adr[b] = first of body b
static void order(int n, const int *body, int nbody, int *to, int *from, int *adr) {
  memset(adr, 0, ((size_t)nbody + 1) * sizeof *adr);
  for (int i = 0; i < n; i++) adr[body[i] + 1]++;
  for (int b = 0; b < nbody; b++) adr[b + 1] += adr[b];
  for (int i = 0; i < n; i++) {
    to[i] = adr[body[i]]++;
    from[to[i]] = i;
  }
  for (int b = nbody; b > 0; b--) adr[b] = adr[b - 1];
  adr[0] = 0;
}

// bodies of the elements of one list of the desc, in scratch
#define ORDER(list, count, to, from, adr)                                                                        \
  do {                                                                                                      \
    int n_ = c->desc->count;                                                                                \
    int *body_ = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)n_ + 1, sizeof *body_));                 \
    if (body_ == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the order of joints, geoms and sites"); \
    for (int i_ = 0; i_ < n_; i_++) body_[i_] = c->desc->list[i_].body;                                     \
    order(n_, body_, c->desc->nbody, to, from, adr);                                                        \
    c->alloc.free(c->alloc.ctx, body_);                                                                     \
  } while (0)

tgStatus tgi_compile_order(tgCompile *c) {
  ORDER(joint, njoint, c->joint_to, c->joint_from, c->joint_adr);
  ORDER(geom, ngeom, c->geom_to, c->geom_from, c->geom_adr);
  ORDER(site, nsite, c->site_to, c->site_from, c->site_adr);
  // frames at qpos0: joints are at rest there, so poses compose along the tree
  const tgBodyDesc *body = c->desc->body;
  for (int b = 0; b < c->desc->nbody; b++) {
    tgReal pos[3], quat[4];
    for (int k = 0; k < 3; k++) pos[k] = body[b].pos[k];
    for (int k = 0; k < 4; k++) quat[k] = body[b].quat[k];
    if (b == 0) {
      tgi_v3_copy(c->xpos, pos);
      memcpy(c->xquat, quat, sizeof quat);
      continue;
    }
    const tgReal *pp = c->xpos + 3 * body[b].parent, *pq = c->xquat + 4 * body[b].parent;
    tgi_quat_rotate(c->xpos + 3 * b, pq, pos);
    tgi_v3_add(c->xpos + 3 * b, c->xpos + 3 * b, pp);
    tgi_quat_mul(c->xquat + 4 * b, pq, quat);
  }
  return TG_OK;
}
