// pair_force_kernel.c: the forces of solved pairs and their weighed rates (plane.c) on vectors, one pair a lane.
// Compiled for every width of lanes.h.
#include "contact/barrier/pair/pair_kernel.h"
#include "contact/barrier/pair/pair_lanes.h"

TGI_LANE void load(const tgReal (*from)[TGI_PAIR_LANES], int lane, V to[3]) {
  for (int i = 0; i < 3; i++) to[i] = v_load(from[i] + lane);
}
TGI_LANE void store(tgReal (*to)[TGI_PAIR_LANES], int lane, const V from[3]) {
  for (int i = 0; i < 3; i++) v_store(to[i] + lane, from[i]);
}

TGI_LANE void force(const tgiPairBlock *b, int lane, tgiPairForces *f) {
  V u[3], delta = v_load(b->delta + lane), radius[2] = {v_load(b->radius[0] + lane), v_load(b->radius[1] + lane)},
    round = 0.5 * (radius[0] + radius[1]);
  load(b->u, lane, u);
  for (int half = 0; half < 2; half++) {
    V less = round, at[3] = {v_all(0), v_all(0), v_all(0)}, e[3], axes[9];
    if (b->oval) {
      for (int i = 0; i < 9; i++) axes[i] = v_load(b->axes[half][i] + lane);
      less += support(axes, u, e, at);
    }
    V sum = v_all(0), mean[3] = {v_all(0), v_all(0), v_all(0)};
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      V x[3], i, y, segment = v_load(b->segment[half] + lane);
      load(b->x + 3 * k, lane, x);
      i = 1.0 / (v_dot(u, x) + delta - sided(k, less));
      y = (k % 3 < 2 ? 1.0 + 0.5 * segment : 1.0 - segment) * i * i;
      sum += y;
      for (int d = 0; d < 3; d++) mean[d] += y * x[d];
    }
    V per = 1.0 / sum;
    for (int d = 0; d < 3; d++) mean[d] = mean[d] * per - sided(3 * half, radius[half] * u[d]);
    for (int d = 0; d < 3 && b->oval; d++) mean[d] -= sided(3 * half, at[d]);
    store(half == 0 ? f->a : f->b, lane, mean);
    if (half == 0) v_store(f->N + lane, sum);
  }
  store(f->u, lane, u);
}

// What the normal n, the margins m and the variables g of the plane are weighed by; mean: of both halves' points.
// Vertices carry their sides, as in pair_lanes.h
typedef struct Bars { V n[3], m[6], g[3], mean[2][3], perY[2]; } Bars;

TGI_LANE void weigh_points(const Plane *p, const tgiPairBlock *block, const tgiPairForces *bar, int lane, Bars *w) {
  V N = v_load(bar->N + lane), a[3], b[3], u[3], along = v_all(0), Y0 = p->y[0] + p->y[1] + p->y[2];
  load(bar->a, lane, a);
  load(bar->b, lane, b);
  load(bar->u, lane, u);
  for (int i = 0; i < 3; i++) {
    w->mean[0][i] = v_pick(p->swapped, b[i], a[i]);
    w->mean[1][i] = v_pick(p->swapped, a[i], b[i]);
    // the points are a radius along u from the means
    u[i] = turned(p, u[i] - v_load(block->radius[0] + lane) * a[i] + v_load(block->radius[1] + lane) * b[i]);
    along += u[i] * p->u[i];
  }
  for (int i = 0; i < 3; i++) w->n[i] = u[i] + (N * Y0 - along) * p->u[i];
  for (int half = 0; half < 2; half++) {
    const V *y = p->y + 3 * half;
    V c[3], per = w->perY[half] = 1.0 / (y[0] + y[1] + y[2]);
    for (int i = 0; i < 3; i++) c[i] = (y[0] * p->p[3 * half][i] + y[1] * p->p[3 * half + 1][i] + y[2] * p->p[3 * half + 2][i]) * per;
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      V e[3] = {p->p[k][0] - c[0], p->p[k][1] - c[1], p->p[k][2] - c[2]};
      V q = sided(k, v_dot(w->mean[half], e)) * per;
      w->m[k] = -p->z[k] * (half == 0 ? q + N : q);
    }
  }
}

TGI_LANE void weigh_plane(const Plane *p, Bars *w) {
  V n1 = v_dot(w->n, p->t1), g[3] = {n1, v_dot(w->n, p->t2) - p->shear * n1, v_all(0)};
  for (int k = 0; k < 6; k++) {
    g[0] += w->m[k] * p->a[k];
    g[1] += w->m[k] * p->b[k];
    g[2] += sided(k, w->m[k]);
  }
  for (int v = 0; v < 3; v++) w->g[v] = -g[v] * p->per[v];
}

// the vertices of A: of the first half, or of the second where the triangles are swapped
TGI_LANE void weigh_vertices(const Plane *p, const Bars *w, V twist[6]) {
  V side = v_pick(p->swapped, v_all(-1), v_all(1)), per = v_pick(p->swapped, w->perY[1], w->perY[0]), turn[3], mean[3];
  for (int i = 0; i < 3; i++) {
    turn[i] = side * (w->g[0] * p->t1[i] + w->g[1] * (p->t2[i] - p->shear * p->t1[i]));
    mean[i] = per * v_pick(p->swapped, w->mean[1][i], w->mean[0][i]);
  }
  for (int i = 0; i < 6; i++) twist[i] = v_all(0);
  for (int k = 0; k < 3; k++) {
    V y = v_pick(p->swapped, p->y[3 + k], p->y[k]), z = v_pick(p->swapped, p->z[3 + k], p->z[k]),
      a = v_pick(p->swapped, p->a[3 + k], p->a[k]), b = v_pick(p->swapped, p->b[3 + k], p->b[k]),
      m = v_pick(p->swapped, w->m[3 + k], w->m[k]), r[3], x[3], t[3];
    V across = side * (m + z * (w->g[0] * a + w->g[1] * b)) + z * w->g[2];
    for (int i = 0; i < 3; i++) {
      x[i] = side * v_pick(p->swapped, p->p[3 + k][i], p->p[k][i]) + p->centre[i];
      r[i] = across * p->u[i] + y * (mean[i] - turn[i]);
    }
    v_cross(t, x, r);
    for (int i = 0; i < 3; i++) {
      twist[i] += t[i];
      twist[3 + i] += r[i];
    }
  }
}

TGI_LANE void weigh(const tgiPairBlock *b, const tgiPairForces *bar, int lane, tgReal (*out)[TGI_PAIR_LANES]) {
  Plane p;
  Bars w;
  V twist[6];
  place(&p, b, lane);
  load(b->u, lane, p.u);
  for (int i = 0; i < 3; i++) p.u[i] = turned(&p, p.u[i]);
  p.delta = turned(&p, v_load(b->delta + lane)) + v_dot(p.u, p.centre);
  look(&p);
  factor(&p);
  weigh_points(&p, b, bar, lane, &w);
  weigh_plane(&p, &w);
  weigh_vertices(&p, &w, twist);
  for (int i = 0; i < 6; i++) v_store(out[i] + lane, twist[i]);
}

void KERNEL(tgi_pair_force_kernel)(const tgiPairBlock *b, tgiPairForces *f) {
  for (int lane = 0; lane < b->count; lane += TGI_WIDTH) force(b, lane, f);
}

void KERNEL(tgi_pair_weigh_kernel)(const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  for (int lane = 0; lane < b->count; lane += TGI_WIDTH) weigh(b, bar, lane, twist);
}
