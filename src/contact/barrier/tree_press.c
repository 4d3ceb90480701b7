// tree_press.c: the forces of the terms of a sum over two trees, for friction. See tree_run.h.
#include "contact/barrier/tree_run.h"

// of the gradient g (its linear part)
static void press(const tgiTreeRun *r, int node, const tgReal g[3], tgReal share, const tgReal a[3], const tgReal b[3], tgReal d) {
  tgReal F[3];
  tgi_v3_scale(F, g, -share * r->w->press->mu);
  tgi_press(r->w->press, r->A, node, F, a, b, d);
}

void tgi_press_centres(tgiTreeRun *r, tgiTreeItem at, const tgReal g[3], tgReal share) {
  tgReal y[3], e[3];
  tgi_v3_add(y, tgi_run_node_b(r, at.b), r->frame.shift);
  tgi_v3_sub(e, tgi_run_node_a(r, at.a), y);
  press(r, at.a, g, share, tgi_run_node_a(r, at.a), y, tgi_run_distance(r, at, tgi_v3_dot(e, e)));
}

// six vertices, the triangle of A first, in steps of `stride`, with the cost S: at the means with weights 1/m^2
void tgi_press_triangles(tgiTreeRun *r, tgiTreeItem at, const tgReal *x, int stride, const tgReal u[3], tgReal delta, tgReal S, const tgReal g[3], tgReal share) {
  tgReal at_mean[2][3] = {{0}}, sum[2] = {0}, D = 12 / S;
  for (int k = 0; k < 6; k++) {
    const tgReal *v = x + (size_t)(3 * k * stride);
    tgReal m = u[0] * v[0] + u[1] * v[stride] + u[2] * v[2 * stride] + delta, y = 1 / (m * m);
    sum[k / 3] += y;
    for (int i = 0; i < 3; i++) at_mean[k / 3][i] += y * v[i * stride];
  }
  for (int half = 0; half < 2; half++) tgi_v3_scale(at_mean[half], at_mean[half], 1 / sum[half]);
  press(r, at.a, g, share, at_mean[0], at_mean[1], tgi_run_distance(r, at, D * D));
}

// column l of the solved pairs; g: gradient of what its share is of
void tgi_press_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal g[3], tgReal share) {
  const tgiPairBlock *p = r->w->pairs;
  tgReal u[3] = {p->u[0][l], p->u[1][l], p->u[2][l]};
  tgi_press_triangles(r, at, &p->x[0][l], TGI_TREE_LANES, u, p->delta[l], p->S[l], g, share);
}
