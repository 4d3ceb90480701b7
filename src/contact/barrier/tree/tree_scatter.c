// tree_scatter.c: the forces of the terms of a sum over two trees, for friction. See tree_run.h.
#include "contact/barrier/tree/tree_run.h"

// of the gradient g (its linear part)
static void scatter(const tgiTreeRun *r, int node, const tgReal g[3], tgReal share, const tgReal a[3], const tgReal b[3], tgReal d) {
  tgReal F[3];
  tgi_v3_scale(F, g, -share * r->w->scatter->mu);
  tgi_scatter(r->w->scatter, r->A, node, F, a, b, d);
}

void tgi_scatter_begin(tgiTreeRun *r) {
  const tgiForceScatter *to = r->w->scatter;
  tgiTreeForces *f = r->w->forces;
  *f = (tgiTreeForces){.mu = to->mu, .range = to->range, .pairs = r->w->force};
  tgi_v3_copy(f->origin, r->A->origin);
}

void tgi_scatter_end(tgiTreeRun *r) {
  const tgiTreeForces *f = r->w->forces;
  for (int l = 0; l < TGI_TREE_LANES; l++) {
    r->w->scatter->share->all += f->all[l];
    r->w->scatter->share->near += f->near[l];
  }
}

tgiTreeForces *tgi_scatter_block(tgiTreeRun *r) {
  const tgiForceScatter *to = r->w->scatter;
  tgiTreeForces *f = r->w->forces;
  const tgiTreeBlock *b = r->w->block;
  if (to == NULL) return NULL;
  for (int l = 0; l < b->count; l++) f->to[l] = &to->sum[to->patch[b->a[l]]];
  return f;
}

void tgi_scatter_triangles(tgiTreeRun *r, tgiTreeItem at, const tgReal x[18], const tgiPair *p, const tgReal g[3], tgReal share) {
  tgiPairForce f;
  tgReal D = 12 / p->S;
  const tgiPairCores cores = tgi_run_point_cores(r, at);
  tgi_pair_force(x, &cores, p, &f);
  scatter(r, at.a, g, share, f.a, f.b, tgi_run_point_distance(r, at, D * D));
}

void tgi_scatter_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal g[3], tgReal share) {
  const tgiPairForces *f = r->w->force;
  tgReal a[3] = {f->a[0][l], f->a[1][l], f->a[2][l]}, b[3] = {f->b[0][l], f->b[1][l], f->b[2][l]}, D = 12 / r->w->pairs->S[l];
  scatter(r, at.a, g, share, a, b, tgi_run_point_distance(r, at, D * D));
}
