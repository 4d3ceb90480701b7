// tree_kernel.c: the work of tree_wide.h on vectors, one pair of nodes a lane. Compiled for every width of lanes.h.
#include "contact/barrier/tree/tree_lanes.h"

// half of the gradient of q = |x - y|^2 for a twist that moves x: to x + w x x + v + (w x (w x x) + w x v)/2                           (44)
TGI_LANE void gradient(const Pair *p, V v[6]) {
  v_cross(v, p->y, p->x);
  for (int i = 0; i < 3; i++) v[3 + i] = p->x[i] - p->y[i];
}

TGI_LANE void add(tgiTreeSum *sum, int at, int n, V h) {
  tgReal *to = sum->H[n] + at;
  v_store(to, v_load(to) + h);
}

// H += v p' + c G/2, G the second derivatives of q, and p v' where p is not along v; lower triangle
TGI_LANE void add_second(tgiTreeSum *sum, int at, const Pair *k, const V v[6], const V p[6], bool along, V c) {
  V cx[3], s[3], dot = c * v_dot(k->x, k->y), diagonal[6];
  for (int i = 0; i < 3; i++) {
    cx[i] = c * k->x[i];
    s[i] = 0.5 * (cx[i] + c * k->y[i]);
    diagonal[i] = dot;
    diagonal[3 + i] = c;
  }
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++) {
      V h = v[i] * p[j];
      if (!along) h += p[i] * v[j];
      if (i == j) h += diagonal[i];
      if (i < 3) h -= 0.5 * (cx[i] * k->y[j] + k->y[i] * cx[j]);
      else if (j < 3 && (j + 1) % 3 == i - 3) h -= s[(j + 2) % 3];   // [x + y]/2
      else if (j < 3 && (j + 2) % 3 == i - 3) h += s[(j + 1) % 3];
      add(sum, at, n, h);
    }
}

// N, N a, N b, N n n' of a tgiFrictionSum
enum { FORCE = sizeof(tgiFrictionSum) / sizeof(tgReal) };
_Static_assert(FORCE == 13, "a sum of forces is added up one number after the other");

#if TGI_WIDTH == 1
TGI_LANE void add_forces(tgiFrictionSum *const *to, const V c[16]) {
  for (int i = 0; i < FORCE; i++) ((tgReal *)to[0])[i] += c[i];
}
#else
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

TGI_LANE void add_forces(tgiFrictionSum *const *to, const V c[16]) {
  double row[TGI_WIDTH][16];
  for (int i = 0; i < 16; i += TGI_WIDTH) {
    V r[TGI_WIDTH];
    for (int l = 0; l < TGI_WIDTH; l++) r[l] = c[i + l];
    v_turn(r);
    for (int l = 0; l < TGI_WIDTH; l++) v_store(row[l] + i, r[l]);
  }
  for (int l = 0; l < TGI_WIDTH; l++) {
    double *sum = (double *)to[l];
    for (int i = 0; i < 12; i += 4) *(Four *)(sum + i) += *(const Four *)(row[l] + i);
    sum[12] += row[l][12];
  }
}
#endif

// Forces F on A, each at its a against b, both from A's origin, across d. What has no force has no direction.
TGI_LANE void scatter(tgiTreeForces *f, int at, const V F[3], const V a[3], const V b[3], V d) {
  V N = v_sqrt(v_dot(F, F)), n[3], c[16], slope;
  Mask acts = v_less(v_all(0), N);
  for (int i = 0; i < 3; i++) n[i] = v_pick(acts, F[i] / N, v_all(0));   // along an axis 1, without rounding
  c[0] = N;
  for (int i = 0; i < 3; i++) {
    c[1 + i] = N * (a[i] + f->origin[i]);
    c[4 + i] = N * (b[i] + f->origin[i]);
  }
  for (int i = 0; i < 6; i++) c[7 + i] = N * n[tgi_friction_row[i]] * n[tgi_friction_col[i]];
  for (int i = FORCE; i < 16; i++) c[i] = v_all(0);
  add_forces(f->to + at, c);
  if (!(f->range > 0)) return;
  v_store(f->all + at, v_load(f->all + at) + N);
  v_store(f->near + at, v_load(f->near + at) + N * nearby(f->range, d, &slope));
}

// of two centres, v half of the gradient of q, whose slope c1 is of the shares `inner`
TGI_LANE void scatter_centres(tgiTreeForces *f, int at, const Pair *p, const V v[6], V c1, V inner) {
  V F[3], s = -2.0 * f->mu * inner * c1;
  for (int i = 0; i < 3; i++) F[i] = s * v[3 + i];
  scatter(f, at, F, p->x, p->y, v_sqrt(p->q + p->m));
}

void KERNEL(tgi_tree_visit)(const tgiTreeFrame *f, tgiTreeLook *b) {
  b->far = b->between = 0;
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    Pair p;
    look(f, b->a + at, b->b + at, &p);
    V end = p.d1 * (1 + f->eps);
    unsigned far = ~m_bits(v_less(p.q, end * end)), out = m_bits(v_less(p.d1 * p.d1, p.q));
    b->far |= (far & ((1u << TGI_WIDTH) - 1)) << at;
    b->between |= (~far & out & ((1u << TGI_WIDTH) - 1)) << at;
    if ((~far & out & ((1u << TGI_WIDTH) - 1)) == 0) continue;
    // the quintic in s = (D - d1)/(d2 - d1), D = sqrt q
    V D = v_sqrt(p.q), i = 1.0 / (f->eps * p.d1), s1 = 0.5 * i / D, phi[3];
    blend((D - p.d1) * i, phi);
    v_store(b->phi[0] + at, phi[0]);
    v_store(b->phi[1] + at, phi[1] * s1);
    v_store(b->phi[2] + at, phi[2] * s1 * s1 - phi[1] * s1 * 0.5 / p.q);
  }
}

void KERNEL(tgi_tree_far)(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces) {
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    Pair p;
    V C[3], v[6], g[8], k[6], inner = v_load(b->inner + at);
    look(f, b->a + at, b->b + at, &p);
    law(f, &p, C);
    gradient(&p, v);
    v_store(b->square + at, v_min(v_load(b->square + at), p.q));
    g[0] = C[0];
    g[7] = v_all(0);
    for (int i = 0; i < 6; i++) {
      g[1 + i] = 2.0 * C[1] * v[i];
      k[i] = 4.0 * inner * C[2] * v[i];
    }
    add_rows(b->to + at, g);
    if (sum != NULL) add_second(sum, at, &p, v, k, true, 2.0 * inner * C[1]);
    if (forces != NULL) scatter_centres(forces, at, &p, v, C[1], inner);
  }
}

void KERNEL(tgi_tree_close)(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces) {
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    Pair p;
    V C[3], v[6], A[8], k[6], phi0 = v_load(b->phi[0] + at), phi1 = v_load(b->phi[1] + at),
      phi2 = v_load(b->phi[2] + at), inner = v_load(b->inner + at);
    look(f, b->a + at, b->b + at, &p);
    law(f, &p, C);
    gradient(&p, v);
    columns(b->below + at, A);
    V less = C[0] - A[0], c1 = phi0 * C[1] + less * phi1, c2 = phi0 * C[2] + less * phi2 + 2.0 * phi1 * C[1], rest = 1.0 - phi0;
    for (int i = 0; i < 6; i++) k[i] = 2.0 * inner * (c2 * v[i] - phi1 * A[1 + i]);
    if (sum != NULL) add_second(sum, at, &p, v, k, false, 2.0 * inner * c1);
    A[0] += phi0 * less;
    A[7] = v_all(0);
    for (int i = 0; i < 6; i++) A[1 + i] = rest * A[1 + i] + 2.0 * c1 * v[i];
    add_rows(b->to + at, A);
    if (forces != NULL) scatter_centres(forces, at, &p, v, c1, inner);
  }
}

// of an ellipsoid with the semi-axes L, along u
TGI_LANE V support(const tgReal (*L)[TGI_PAIR_LANES], int at, const V u[3]) {
  V sum = v_all(0);
  for (int i = 0; i < 3; i++) {
    V e = v_load(L[3 * i] + at) * u[0] + v_load(L[3 * i + 1] + at) * u[1] + v_load(L[3 * i + 2] + at) * u[2];
    sum += e * e;
  }
  return v_sqrt(sum);
}

// of triangles, g the gradient of S, in which the total has the slope c1
TGI_LANE void scatter_leaves(tgiTreeForces *f, int at, const V g[6], V c1, V S) {
  V F[3], a[3], b[3], s = -f->mu * c1;
  for (int i = 0; i < 3; i++) {
    F[i] = s * g[3 + i];
    a[i] = v_load(f->pairs->a[i] + at);
    b[i] = v_load(f->pairs->b[i] + at);
  }
  scatter(f, at, F, a, b, 12.0 / S);
}

void KERNEL(tgi_tree_leaves)(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal *weight, tgiTreeBlock *b, tgiTreeSum *sum,
                             tgiTreeForces *forces) {
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    V S = v_load(p->S + at), w = v_load(weight + at), inner = v_load(b->inner + at), r = (1 + f->more) * v_sqrt(12.0 * S), i = 1.0 / S,
      c1 = w * (1.0 + r * i), lo = v_all(INFINITY), hi = v_all(-INFINITY), row[8];
    V u[3], g[6], c2 = -0.5 * inner * w * r * i * i, share = inner * c1;
    for (int k = 0; k < 3; k++) u[k] = v_load(p->u[k] + at);
    for (int k = 0; k < 6; k++) {
      V x[3], z;
      for (int d = 0; d < 3; d++) x[d] = v_load(p->x[3 * k + d] + at);
      z = v_dot(u, x);
      if (k < 3) lo = v_min(lo, z);
      else hi = v_max(hi, z);
    }
    for (int half = 0; half < 2; half++) lo -= v_load(p->radius[half] + at) + (p->oval ? support(p->axes[half], at, u) : v_all(0));
    v_store(b->slab + at, v_min(v_load(b->slab + at), lo - hi));
    row[0] = w * (f->base + S + 2.0 * r);
    row[7] = v_all(0);
    for (int k = 0; k < 6; k++) {
      g[k] = v_load(p->g[k] + at);
      row[1 + k] = c1 * g[k];
    }
    add_rows(b->to + at, row);
    if (forces != NULL) scatter_leaves(forces, at, g, share, S);
    for (int k = 0, n = 0; k < 6 && sum != NULL; k++) {
      V c = c2 * g[k];
      for (int j = 0; j <= k; j++, n++) add(sum, at, n, c * g[j] + share * v_load(p->H[n] + at));
    }
  }
}
