// tree_link.c: see tree_link.h; plain throughout.
#include "contact/barrier/tree/tree_link.h"

#include "contact/barrier/pair/law.h"

// ---- rates of the shapes along direction j ----

// of a point of A at x: the twist's, and `own` (NULL: none)
static void moved_a(const tgiForceRun *r, int j, const tgReal x[3], const tgReal *own, tgReal dx[3]) {
  const tgReal *twist = r->t->dir[j].twist;
  tgReal world[3];
  tgi_v3_add(world, x, r->t->A->origin);
  tgi_v3_cross(dx, twist, world);
  for (int i = 0; i < 3; i++) dx[i] += twist[3 + i] + (own != NULL ? own[i] : 0);
}

static void moved_b(const tgReal *own, tgReal dx[3]) {
  for (int i = 0; i < 3; i++) dx[i] = own != NULL ? own[i] : 0;
}

const tgReal *tgi_force_node_rate(const tgiForceRun *r, int j, int side, int k) {
  const tgReal *node = r->t->dir[j].node[side];
  return node != NULL ? node + (size_t)k * TGI_NODE_SIZE : NULL;
}

void tgi_force_vertices(const tgiForceRun *r, int side, int leaf, tgReal x[9]) {
  const tgiWorldTree *p = side == 0 ? r->t->A : r->t->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[3 * k + i] = p->vert[3 * (size_t)face[k] + i] + (side == 0 ? 0 : r->shift[i]);
}

void tgi_force_vertices_rate(const tgiForceRun *r, int j, int side, int leaf, const tgReal x[9], tgReal dx[9]) {
  const tgiWorldTree *p = side == 0 ? r->t->A : r->t->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  const tgReal *vert = r->t->dir[j].vert[side];
  for (int k = 0; k < 3; k++) {
    const tgReal *own = vert != NULL ? vert + 3 * (size_t)face[k] : NULL;
    if (side == 0) moved_a(r, j, x + 3 * k, own, dx + 3 * k); else moved_b(own, dx + 3 * k);
  }
}

void tgi_force_axes_rate(const tgiForceRun *r, int j, int side, tgReal daxes[9]) {
  const tgiWorldTree *p = side == 0 ? r->t->A : r->t->B;
  const tgReal *vert = r->t->dir[j].vert[side];
  tgReal axes[9];
  for (int i = 0; i < 9; i++) daxes[i] = 0;
  if (p == NULL || !p->surface->oval) return;
  if (vert != NULL) tgi_world_axes(vert, daxes);
  tgi_world_axes(p->vert, axes);
  for (int i = 0; i < 9 && side == 0; i += 3) {
    tgReal turn[3];
    tgi_v3_cross(turn, r->t->dir[j].twist, axes + i);
    tgi_v3_axpy(daxes + i, 1, turn);
  }
}

// ---- links ----

static void unit_rate(const tgiLink *l, const tgReal e[3], tgiLink *dl) {
  dl->D = tgi_v3_dot(e, l->n);
  for (int i = 0; i < 3; i++) dl->n[i] = (e[i] - l->n[i] * dl->D) / l->D;
}

void tgi_cluster_link(const tgiForceRun *r, tgiForceItem at, tgiLink *l, tgiLink *dl) {
  const tgReal *x = tgi_force_node_a(r, at), *y = tgi_force_node_b(r, at);
  const tgiTreeLaw *law = &r->t->law;
  double s = TGI_ONE_SIDED * TGI_ONE_SIDED, sa = law->one_sided[0] ? s : 1, sb = law->one_sided[1] ? s : 1;
  tgReal e[3];
  tgi_v3_copy(l->a, x);
  tgi_v3_add(l->b, y, r->shift);
  tgi_v3_sub(e, l->a, l->b);
  l->D = tgi_v3_unit(l->n, e);
  l->nu = 1;
  l->w = x[TGI_NODE_W] * y[TGI_NODE_W];
  l->m = sa * x[TGI_NODE_M] + sb * y[TGI_NODE_M];
  l->d1 = x[TGI_NODE_R] + y[TGI_NODE_R];
  for (int j = 0; j < r->nd && !tgi_link_is_near(r, l); j++) {
    const tgReal *da = tgi_force_node_rate(r, j, 0, at.a), *db = tgi_force_node_rate(r, j, 1, at.b);
    moved_a(r, j, x, da, dl[j].a);
    moved_b(db, dl[j].b);
    tgi_v3_sub(e, dl[j].a, dl[j].b);
    unit_rate(l, e, &dl[j]);
    dl[j].nu = 0;
    dl[j].w = tgi_force_number_rate(da, TGI_NODE_W) * y[TGI_NODE_W] + x[TGI_NODE_W] * tgi_force_number_rate(db, TGI_NODE_W);
    dl[j].m = sa * tgi_force_number_rate(da, TGI_NODE_M) + sb * tgi_force_number_rate(db, TGI_NODE_M);
    dl[j].d1 = tgi_force_number_rate(da, TGI_NODE_R) + tgi_force_number_rate(db, TGI_NODE_R);
  }
}

bool tgi_point_link(const tgiForceRun *r, tgiForceItem at, int side, tgiLink *l, tgiLink *dl) {
  tgReal x[18], *own = x + 9 * side, *other = x + 9 * (1 - side);
  const tgReal *node = side == 0 ? tgi_force_node_a(r, at) : tgi_force_node_b(r, at),
               *face = side == 0 ? tgi_force_node_b(r, at) : tgi_force_node_a(r, at);
  int k = side == 0 ? at.a : at.b, leaf = side == 0 ? at.b : at.a;
  double s = TGI_ONE_SIDED * TGI_ONE_SIDED;
  tgiPair p;
  tgiPairForce f, df;
  tgiPairCores cores = tgi_pair_cores(r->t->A, r->t->B);
  cores.radius[side] = 0;
  cores.segment[side] = cores.oval[side] = false;
  for (int i = 0; i < 9; i++) own[i] = node[i % 3] + (side == 0 ? 0 : r->shift[i % 3]);
  tgi_force_vertices(r, 1 - side, leaf, other);
  if (!tgi_pair_solve(x, &cores, false, &p)) return false;
  tgi_pair_force(x, &cores, &p, &f);
  l->D = 12 / p.S;
  l->nu = 12 * f.N / (p.S * p.S);
  tgi_v3_copy(l->n, f.u);
  tgi_v3_copy(l->a, f.a);
  tgi_v3_copy(l->b, f.b);
  l->w = node[TGI_NODE_W] * face[TGI_NODE_W];
  l->m = s * node[TGI_NODE_M];
  l->d1 = TGI_ONE_SIDED * node[TGI_NODE_R];
  for (int j = 0; j < r->nd && !tgi_link_is_near(r, l); j++) {
    const tgReal *dn = tgi_force_node_rate(r, j, side, k), *dt = tgi_force_node_rate(r, j, 1 - side, leaf);
    tgiPairField field = {.x = {0}};
    tgReal dS, v[3];
    if (side == 0) moved_a(r, j, own, dn, v); else moved_b(dn, v);
    for (int i = 0; i < 9; i++) field.x[9 * side + i] = v[i % 3];
    tgi_force_vertices_rate(r, j, 1 - side, leaf, other, field.x + 9 * (1 - side));
    field.radius[1 - side] = tgi_force_round_rate(r, j, 1 - side);
    tgi_force_axes_rate(r, j, 1 - side, field.axes[1 - side]);
    tgi_pair_rate_d(x, &cores, &p, &field, &dS, NULL, &df);
    dl[j].D = -l->D * dS / p.S;
    dl[j].nu = 12 * df.N / (p.S * p.S) - 2 * l->nu * dS / p.S;
    tgi_v3_copy(dl[j].n, df.u);
    tgi_v3_copy(dl[j].a, df.a);
    tgi_v3_copy(dl[j].b, df.b);
    dl[j].w = tgi_force_number_rate(dn, TGI_NODE_W) * face[TGI_NODE_W] + node[TGI_NODE_W] * tgi_force_number_rate(dt, TGI_NODE_W);
    dl[j].m = s * tgi_force_number_rate(dn, TGI_NODE_M);
    dl[j].d1 = TGI_ONE_SIDED * tgi_force_number_rate(dn, TGI_NODE_R);
  }
  return true;
}

void tgi_force_foot(const tgiForceRun *r, const tgReal a[3], tgReal z, tgReal b[3]) {
  tgi_v3_copy(b, a);
  tgi_v3_axpy(b, -z, r->t->n);
}

void tgi_height_link(const tgiForceRun *r, tgiForceItem at, tgiLink *l, tgiLink *dl) {
  const tgReal *x = tgi_force_node_a(r, at);
  tgi_v3_copy(l->a, x);
  tgi_v3_copy(l->n, r->t->n);
  l->D = r->t->height + tgi_v3_dot(l->n, x);
  tgi_force_foot(r, l->a, l->D, l->b);
  l->nu = 1;
  l->w = x[TGI_NODE_W];
  l->m = 0;
  l->d1 = x[TGI_NODE_R];
  for (int j = 0; j < r->nd && !tgi_link_is_near(r, l); j++) {
    const tgReal *da = tgi_force_node_rate(r, j, 0, at.a);
    moved_a(r, j, x, da, dl[j].a);
    dl[j].D = tgi_v3_dot(l->n, dl[j].a);
    tgi_force_foot(r, dl[j].a, dl[j].D, dl[j].b);
    tgi_v3_zero(dl[j].n);
    dl[j].nu = dl[j].m = 0;
    dl[j].w = tgi_force_number_rate(da, TGI_NODE_W);
    dl[j].d1 = tgi_force_number_rate(da, TGI_NODE_R);
  }
}

void tgi_link_value(const tgiForceRun *r, const tgiLink *l, const tgiLink *dl, tgiForceValue *C, tgReal *slope, tgReal *dslope) {
  tgReal f[3], more[2];
  tgi_law_cluster(1, r->t->law.base, r->t->law.more, l->D * l->D + l->m, f);
  tgi_law_cluster_more(l->w, l->D * l->D + l->m, more);
  C->P = l->w * f[0];
  *slope = 2 * l->D * l->w * f[1];
  for (int j = 0; j < r->nd; j++) {
    tgReal dz = 2 * l->D * dl[j].D + dl[j].m;
    tgReal dmore = r->t->dir[j].more;
    C->d[j] = dl[j].w * f[0] + l->w * f[1] * dz + dmore * more[0];
    dslope[j] = 2 * (dl[j].D * l->w * f[1] + l->D * (dl[j].w * f[1] + l->w * f[2] * dz + dmore * more[1]));
  }
}
