// pair_newton_lanes.h: the start and the Newton steps of the solve of two triangles (pair_kernel.c), in double precision and, for a guess
// (pair_guess_kernel.c), in single. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_NEWTON_LANES_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_NEWTON_LANES_H

#include "contact/barrier/pair/pair_lanes.h"
#include "contact/barrier/pair/tolerances.h"

// Newton's step in the diagonal variables, and the squared length of it in the Hessian
TGI_LANE V newton(const Plane *p, V w[3]) {
  V g[3] = {v_all(0), v_all(0), v_all(0)};
  for (int k = 0; k < 6; k++) {
    g[0] += p->y[k] * p->a[k];
    g[1] += p->y[k] * p->b[k];
    g[2] += sided(k, p->y[k]);
  }
  for (int v = 0; v < 3; v++) w[v] = g[v] * p->per[v];
  return g[0] * w[0] + g[1] * w[1] + g[2] * w[2];
}

// a start, and the parabola from it
typedef struct Step { V u[3], delta, S, du[2][3], ddelta[2], alpha, lambda2, eta; Mask last; } Step;

TGI_LANE void change(const Plane *p, const V w[3], V du[3], V *ddelta) {
  V tau1 = w[0] - p->shear * w[1];
  for (int i = 0; i < 3; i++) du[i] = tau1 * p->t1[i] + w[1] * p->t2[i];
  *ddelta = w[2] - p->mean[0] * tau1 - p->mean[1] * w[1];
}

TGI_LANE void prepare(const Plane *p, Step *s) {
  V w[3], b[3] = {v_all(0), v_all(0), v_all(0)}, spent = v_all(TGI_PAIR_ROOM);
  s->lambda2 = newton(p, w);
  s->eta = v_all(TGI_PAIR_NOISE) * p->size * p->most;
  s->last = m_not(v_less(v_max(v_all(TGI_PAIR_TOLERANCE), s->eta * s->eta) * p->S, s->lambda2));
  for (int k = 0; k < 6; k++) {
    V q = (p->a[k] * w[0] + p->b[k] * w[1] + sided(k, w[2])) * p->inv[k], f = p->y[k] * q * q;
    spent = v_max(spent, -q);
    b[0] += f * p->a[k];
    b[1] += f * p->b[k];
    b[2] += sided(k, f);
  }
  for (int v = 0; v < 3; v++) b[v] *= 3.0 * p->per[v];
  s->alpha = v_all(TGI_PAIR_ROOM) / spent;
  for (int i = 0; i < 3; i++) s->u[i] = p->u[i];
  s->delta = p->delta;
  s->S = p->S;
  change(p, w, s->du[0], &s->ddelta[0]);
  change(p, b, s->du[1], &s->ddelta[1]);
}

// goes the step unless done; the lanes that may not stay there
TGI_LANE Mask attempt(Plane *p, const Step *s, Mask done) {
  V u[3];
  for (int i = 0; i < 3; i++) u[i] = s->u[i] + s->alpha * (s->du[0][i] + s->alpha * s->du[1][i]);
  V n = 1.0 / v_sqrt(v_dot(u, u));
  for (int i = 0; i < 3; i++) p->u[i] = v_pick(done, s->u[i], u[i] * n);
  p->delta = v_pick(done, s->delta, (s->delta + s->alpha * (s->ddelta[0] + s->alpha * s->ddelta[1])) * n);
  Mask positive = look(p), fell = m_not(v_less(s->S * (1.0 + s->eta) - v_all(TGI_PAIR_ARMIJO) * s->alpha * s->lambda2, p->S));
  return m_and(m_not(done), m_not(m_and(positive, m_or(s->last, fell))));
}

// Ellipsoids, with the radii around them, grow from what their first plane allows: once the plane is about the best for what they are, by
// nine tenths of the slab that it leaves, with the plane in its middle. Returns the lanes that are stuck: what is left of some margin is
// rounding.
TGI_LANE Mask grow(Plane *p, const Step *s, Mask done) {
  Mask small = m_and(m_not(done), v_less(p->grown, v_all(1)));
  if (!m_any(small)) return m_from(0);
  Mask ready = m_and(small, v_less(s->lambda2, v_all(TGI_PAIR_CENTRED) * s->S));
  Mask stuck = m_and(ready, v_less(v_all(TGI_PAIR_TOUCHING), v_all(TGI_PAIR_NOISE) * p->size * p->most));
  V least[2];
  for (int half = 0; half < 2; half++) least[half] = 1.0 / v_max(v_max(p->inv[3 * half], p->inv[3 * half + 1]), p->inv[3 * half + 2]);
  V share = v_all(TGI_PAIR_ROOM) * (least[0] + least[1]) / (p->less[0] + p->less[1]), most = 1.0 / p->grown - 1.0;
  share = v_min(share, most);
  V middle = 0.5 * (least[1] - least[0] + share * (p->less[0] - p->less[1]));
  p->grown = v_pick(ready, v_pick(v_less(share, most), p->grown * (1.0 + share), v_all(1)), p->grown);
  p->delta = v_pick(ready, p->delta + middle, p->delta);
  look(p);
  return stuck;
}

// from a plane that has been looked at and separates in the lanes of `separated`; returns those of them that converged
TGI_LANE Mask descend(Plane *p, Mask separated, V *steps) {
  Mask done = m_not(separated), failed = m_from(0);
  *steps = v_all(0);
  for (int step = 0; step < TGI_PAIR_MOST_STEPS && m_any(m_not(done)); step++) {
    Step s;
    factor(p);
    prepare(p, &s);
    if (p->oval) s.last = m_and(s.last, m_not(v_less(p->grown, v_all(1))));
    *steps += v_pick(done, v_all(0), v_all(1));
    Mask bad = attempt(p, &s, done);
    for (int halving = 0; m_any(bad); halving++) {
      if (halving == TGI_PAIR_MOST_HALVINGS) {
        failed = m_or(failed, bad);
        s.last = m_or(s.last, bad);
        break;
      }
      s.alpha = v_pick(bad, 0.5 * s.alpha, s.alpha);
      bad = attempt(p, &s, done);
    }
    done = m_or(done, s.last);
    if (!p->oval) continue;
    Mask stuck = grow(p, &s, done);
    failed = m_or(failed, stuck);
    done = m_or(done, stuck);
  }
  Mask close = m_not(v_less(v_all(TGI_PAIR_TOUCHING), v_all(TGI_PAIR_NOISE) * p->size * p->most));
  return m_and(m_and(separated, done), m_and(m_not(failed), close));
}

// ---- start: the widest slab between the triangles among directions that need no closest points
//
// First both normals, the nine crosses of edges and the shortest vector from a vertex to an edge; where none
// separates significantly also the six normals of edges in their planes and all pairs of vertices, which is
// complete for flat pairs too.

// the widest direction so far; not unit, of either sign; `share` = width |width|, to be compared over |n|^2
typedef struct Widest { V n[3], share, n2; } Widest;

TGI_LANE void offer(Widest *w, const V n[3], V width) {
  V share = width * v_abs(width), n2 = v_dot(n, n);
  Mask wider = v_less(w->share * n2, share * w->n2);
  for (int i = 0; i < 3; i++) w->n[i] = v_pick(wider, n[i], w->n[i]);
  w->share = v_pick(wider, share, w->share);
  w->n2 = v_pick(wider, n2, w->n2);
}

// ranges of A's and B's projections; B's with the sign of p
typedef struct Ranges { V lo[2], hi[2]; } Ranges;
TGI_LANE void ranges(const Plane *p, const V n[3], Ranges *r) {
  for (int h = 0; h < 2; h++) {
    V s[3] = {v_dot(n, p->p[3 * h]), v_dot(n, p->p[3 * h + 1]), v_dot(n, p->p[3 * h + 2])};
    r->lo[h] = v_min(v_min(s[0], s[1]), s[2]);
    r->hi[h] = v_max(v_max(s[0], s[1]), s[2]);
  }
}
TGI_LANE void offer_any(Widest *w, const Plane *p, const V n[3]) {
  Ranges r;
  ranges(p, n, &r);
  offer(w, n, v_max(r.lo[0] + r.lo[1], -r.hi[0] - r.hi[1]));
}

typedef struct Edges { V d[3][3][3], e[2][3][3], normal[2][3]; } Edges;  // A_i - B_j, edges of both, normals

TGI_LANE void edges(const Plane *p, Edges *e) {
  for (int h = 0; h < 2; h++) {
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) {
        V d = p->p[3 * h + (k + 1) % 3][i] - p->p[3 * h + k][i];
        e->e[h][k][i] = h == 0 ? d : -d;
      }
    v_cross(e->normal[h], e->e[h][0], e->e[h][1]);
  }
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      for (int i = 0; i < 3; i++) e->d[a][b][i] = p->p[a][i] + p->p[3 + b][i];
}

TGI_LANE void offer_normals(Widest *w, const Edges *e) {
  for (int h = 0; h < 2; h++) {
    V s[3];
    for (int k = 0; k < 3; k++) s[k] = v_dot(e->normal[h], h == 0 ? e->d[0][k] : e->d[k][0]);
    offer(w, e->normal[h], v_max(v_min(v_min(s[0], s[1]), s[2]), -v_max(v_max(s[0], s[1]), s[2])));
  }
}

// n = e_a x f_b: along it both ends of e_a are at one place and A's third vertex is -f_b.N_A from there, B's is e_a.N_B from its edge.
// The rounding of the product is taken off the width, so that nothing is promised by edges that are parallel to rounding.
TGI_LANE void offer_crosses(Widest *w, const Plane *p, const Edges *e) {
  V lo[2][3], hi[2][3], zero = v_all(0), doubt = v_all(TGI_PAIR_NOISE) * p->area * p->size;
  for (int h = 0; h < 2; h++)
    for (int k = 0; k < 3; k++) {
      V third = v_dot(e->e[1 - h][k], e->normal[h]);
      if (h == 0) third = -third;
      lo[h][k] = v_min(zero, third);
      hi[h][k] = v_max(zero, third);
    }
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      V n[3];
      v_cross(n, e->e[0][a], e->e[1][b]);
      V d = v_dot(n, e->d[a][b]);
      offer(w, n, v_max(d + (lo[0][b] - hi[1][a]), (lo[1][a] - hi[0][b]) - d) - doubt);
    }
}

#ifdef TGI_LANES_SINGLE
// For a guess the way between the centres does, at a tenth of the price.
TGI_LANE void offer_closest(Widest *w, const Plane *p, const Edges *e) {
  V n[3];
  (void)e;
  for (int i = 0; i < 3; i++) n[i] = p->p[0][i] + p->p[1][i] + p->p[2][i] + p->p[3][i] + p->p[4][i] + p->p[5][i];
  offer_any(w, p, n);
}
#else
TGI_LANE void offer_closest(Widest *w, const Plane *p, const Edges *e) {
  V least = v_all(INFINITY), n[3], edge[3], tiny = v_all(TGI_PAIR_TINY), zero = v_all(0), one = v_all(1), per[2][3];
  Mask within = m_from(0);
  for (int h = 0; h < 2; h++)
    for (int k = 0; k < 3; k++) per[h][k] = one / v_max(v_dot(e->e[h][k], e->e[h][k]), tiny);
  for (int i = 0; i < 3; i++) n[i] = edge[i] = zero;
  for (int k = 0; k < 18; k++) {
    int h = k % 2, a = k / 6, b = k / 2 % 3;
    const V *d = e->d[a][b], *f = e->e[h][h == 0 ? a : b];
    V t = v_dot(d, f) * per[h][h == 0 ? a : b], in = h == 0 ? v_max(v_min(t, zero), -one) : v_min(v_max(t, zero), one);
    V r[3] = {d[0] - in * f[0], d[1] - in * f[1], d[2] - in * f[2]}, r2 = v_dot(r, r);
    Mask closer = v_less(r2, least), same = m_not(m_or(v_less(t, in), v_less(in, t)));
    least = v_pick(closer, r2, least);
    within = m_or(m_and(closer, same), m_and(m_not(closer), within));
    for (int i = 0; i < 3; i++) {
      n[i] = v_pick(closer, r[i], n[i]);
      edge[i] = v_pick(closer, f[i], edge[i]);
    }
  }
  V again = v_pick(within, v_dot(n, edge) / v_max(v_dot(edge, edge), tiny), zero);
  for (int i = 0; i < 3; i++) n[i] -= again * edge[i];
  offer_any(w, p, n);
}
#endif

// The same where there are ellipsoids: what separates are the cores; ellipsoids and radii are as large as half of the slab holds, if all
// of it does not hold them.
TGI_LANE Mask settle_ovals(Plane *p, const V u[3], V width, V delta, Mask other, Mask where, double significant) {
  Mask good = m_and(where, v_less(v_all(significant) * p->size, width));
  for (int i = 0; i < 3; i++) p->u[i] = v_pick(where, v_pick(other, -u[i], u[i]), p->u[i]);
  V grown = p->grown;
  p->grown = v_all(1);
  supports(p);
  V all = p->less[0] + p->less[1], share = 0.5 * width / some(all);
  Mask fits = v_less(v_all(significant) * p->size, width - all);
  p->grown = v_pick(where, v_pick(fits, v_all(1), share), grown);
  supports(p);
  p->delta = v_pick(where, delta + 0.5 * (p->less[0] - p->less[1]), p->delta);
  return good;
}

// takes the widest slab in the lanes of `where`, returns those of them where it is wider than `significant`
TGI_LANE Mask settle(Plane *p, const Widest *w, Mask where, double significant) {
  V n = 1.0 / v_sqrt(w->n2), u[3] = {w->n[0] * n, w->n[1] * n, w->n[2] * n};
  Ranges r;
  ranges(p, u, &r);
  V up = r.lo[0] + r.lo[1], down = -r.hi[0] - r.hi[1];
  Mask other = v_less(up, down);
  if (p->oval) {
    V middle = v_pick(other, 0.5 * (r.hi[0] - r.hi[1]), 0.5 * (r.lo[1] - r.lo[0]));
    return settle_ovals(p, u, v_max(up, down), middle, other, where, significant);
  }
  Mask good = m_and(where, v_less(v_all(significant) * p->size, v_max(up, down) - 2.0 * p->round));
  for (int i = 0; i < 3; i++) p->u[i] = v_pick(where, v_pick(other, -u[i], u[i]), p->u[i]);
  p->delta = v_pick(where, v_pick(other, 0.5 * (r.hi[0] - r.hi[1]), 0.5 * (r.lo[1] - r.lo[0])), p->delta);
  return good;
}

#ifndef TGI_LANES_SINGLE
// n of a narrow triangle, at right angles to its edges to rounding: a cross product is so only to rounding times length over height
TGI_LANE void straighten(V n[3], V e[3][3]) {
  for (int k = 0; k < 3; k++) {
    V f = v_dot(n, e[k]) / v_max(v_dot(e[k], e[k]), v_all(TGI_PAIR_TINY));
    for (int i = 0; i < 3; i++) n[i] -= f * e[k][i];
  }
}

// what the first set holds too, now by the vertices: crosses of nearly parallel edges have no meaning, and promise
// widths that they have not
static __attribute__((noinline)) void offer_all(Widest *w, const Plane *p, Edges *e) {
  V n[3];
  for (int h = 0; h < 2; h++) {
    straighten(e->normal[h], e->e[h]);
    offer_any(w, p, e->normal[h]);
    for (int k = 0; k < 3; k++) {
      v_cross(n, e->normal[h], e->e[h][k]);
      offer_any(w, p, n);
    }
  }
  for (int k = 0; k < 9; k++) {
    v_cross(n, e->e[0][k / 3], e->e[1][k % 3]);
    offer_any(w, p, n);
    offer_any(w, p, e->d[k / 3][k % 3]);
  }
  offer_closest(w, p, e);
}
#endif

TGI_LANE void nothing(Widest *w) {
  for (int i = 0; i < 3; i++) w->n[i] = v_all(0);
  w->share = v_all(-TGI_PAIR_HUGE);
  w->n2 = v_all(1);
}

TGI_LANE Mask cold(Plane *p, Mask where) {
  Widest w;
  Edges e;
  nothing(&w);
  edges(p, &e);
  offer_normals(&w, &e);
  offer_crosses(&w, p, &e);
  offer_closest(&w, p, &e);
  Mask good = settle(p, &w, where, TGI_PAIR_SIGNIFICANT);
#ifndef TGI_LANES_SINGLE
  Mask rest = m_and(where, m_not(good));
  if (m_any(rest)) {
    nothing(&w);
    offer_all(&w, p, &e);
    good = m_or(good, settle(p, &w, rest, TGI_PAIR_SIGNIFICANT_ALL));
  }
#endif
  return good;
}

#endif
