// pair_kernel.c: the best plane between two triangles by Newton's steps on the sphere, one pair a lane. See pair.h.
// Compiled for every width of lanes.h.
//
// A step goes along a parabola: Newton's own, and beside it the third derivative's answer, with which steps converge
// cubically. [math/barrier Newton on the sphere] It leaves a tenth of every margin, and is halved until S falls by what
// Armijo asks; when Newton's decrement is small the step is the last. Nothing passes from lane to lane but "one of you
// is not done": what is done is kept as it is, bit by bit.
#include "contact/barrier/pair/pair_kernel.h"

#include "contact/barrier/pair/pair_lanes.h"
#include "contact/barrier/pair/tolerances.h"

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };

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
  s->eta = TGI_PAIR_NOISE * p->size * p->most;
  s->last = m_not(v_less(v_max(v_all(TGI_PAIR_TOLERANCE), s->eta * s->eta) * p->S, s->lambda2));
  for (int k = 0; k < 6; k++) {
    V q = (p->a[k] * w[0] + p->b[k] * w[1] + sided(k, w[2])) * p->inv[k], f = p->y[k] * q * q;
    spent = v_max(spent, -q);
    b[0] += f * p->a[k];
    b[1] += f * p->b[k];
    b[2] += sided(k, f);
  }
  for (int v = 0; v < 3; v++) b[v] *= 3.0 * p->per[v];
  s->alpha = TGI_PAIR_ROOM / spent;
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
  Mask positive = look(p), fell = m_not(v_less(s->S * (1.0 + s->eta) - TGI_PAIR_ARMIJO * s->alpha * s->lambda2, p->S));
  return m_and(m_not(done), m_not(m_and(positive, m_or(s->last, fell))));
}

// Ellipsoids, with the radii around them, grow from what their first plane allows: once the plane is about the best for what they are, by
// nine tenths of the slab that it leaves, with the plane in its middle. Returns the lanes that are stuck: what is left of some margin is
// rounding.
TGI_LANE Mask grow(Plane *p, const Step *s, Mask done) {
  Mask small = m_and(m_not(done), v_less(p->grown, v_all(1)));
  if (!m_any(small)) return m_from(0);
  Mask ready = m_and(small, v_less(s->lambda2, TGI_PAIR_CENTRED * s->S));
  Mask stuck = m_and(ready, v_less(v_all(TGI_PAIR_TOUCHING), TGI_PAIR_NOISE * p->size * p->most));
  V least[2];
  for (int half = 0; half < 2; half++) least[half] = 1.0 / v_max(v_max(p->inv[3 * half], p->inv[3 * half + 1]), p->inv[3 * half + 2]);
  V share = TGI_PAIR_ROOM * (least[0] + least[1]) / (p->less[0] + p->less[1]), most = 1.0 / p->grown - 1.0;
  share = v_min(share, most);
  V middle = 0.5 * (least[1] - least[0] + share * (p->less[0] - p->less[1]));
  p->grown = v_pick(ready, v_pick(v_less(share, most), p->grown * (1.0 + share), v_all(1)), p->grown);
  p->delta = v_pick(ready, p->delta + middle, p->delta);
  look(p);
  return stuck;
}

// from a plane that separates in the lanes of `apart`; returns those of them that converged
TGI_LANE Mask descend(Plane *p, Mask separated, V *steps) {
  Mask done = m_not(separated), failed = m_from(0);
  *steps = v_all(0);
  look(p);
  for (int step = 0; step < MOST_STEPS && m_any(m_not(done)); step++) {
    Step s;
    factor(p);
    prepare(p, &s);
    if (p->oval) s.last = m_and(s.last, m_not(v_less(p->grown, v_all(1))));
    *steps += v_pick(done, v_all(0), v_all(1));
    Mask bad = attempt(p, &s, done);
    for (int halving = 0; m_any(bad); halving++) {
      if (halving == MOST_HALVINGS) {
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
  Mask close = m_not(v_less(v_all(TGI_PAIR_TOUCHING), TGI_PAIR_NOISE * p->size * p->most));
  return m_and(m_and(separated, done), m_and(m_not(failed), close));
}

#ifdef TG_COMPLEX
// whole steps bring the imaginary parts to where the real parts are
static void polish(Plane *p) {
  for (int pass = 0; pass < 2; pass++) {
    Step s;
    factor(p);
    prepare(p, &s);
    s.alpha = v_all(1);
    attempt(p, &s, m_from(0));
  }
}
#endif

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
  V lo[2][3], hi[2][3], zero = v_all(0), doubt = TGI_PAIR_NOISE * p->area * p->size;
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

TGI_LANE void offer_closest(Widest *w, const Plane *p, const Edges *e) {
  V least = v_all(INFINITY), n[3], edge[3], tiny = v_all(DBL_MIN), zero = v_all(0), one = v_all(1), per[2][3];
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

// The same where there are ellipsoids: what separates are the cores; ellipsoids and radii are as large as half of the slab holds, if all
// of it does not hold them.
TGI_LANE Mask settle_ovals(Plane *p, const V u[3], V width, V delta, Mask other, Mask where, double significant) {
  Mask good = m_and(where, v_less(significant * p->size, width));
  for (int i = 0; i < 3; i++) p->u[i] = v_pick(where, v_pick(other, -u[i], u[i]), p->u[i]);
  V grown = p->grown;
  p->grown = v_all(1);
  supports(p);
  V all = p->less[0] + p->less[1], share = 0.5 * width / some(all);
  Mask fits = v_less(significant * p->size, width - all);
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
  Mask good = m_and(where, v_less(significant * p->size, v_max(up, down) - 2.0 * p->round));
  for (int i = 0; i < 3; i++) p->u[i] = v_pick(where, v_pick(other, -u[i], u[i]), p->u[i]);
  p->delta = v_pick(where, v_pick(other, 0.5 * (r.hi[0] - r.hi[1]), 0.5 * (r.lo[1] - r.lo[0])), p->delta);
  return good;
}

// n of a narrow triangle, at right angles to its edges to rounding: a cross product is so only to rounding times length over height
TGI_LANE void straighten(V n[3], V e[3][3]) {
  for (int k = 0; k < 3; k++) {
    V f = v_dot(n, e[k]) / v_max(v_dot(e[k], e[k]), v_all(DBL_MIN));
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

TGI_LANE void nothing(Widest *w) {
  for (int i = 0; i < 3; i++) w->n[i] = v_all(0);
  w->share = v_all(-1e300);
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
  Mask good = settle(p, &w, where, TGI_PAIR_SIGNIFICANT), rest = m_and(where, m_not(good));
  if (m_any(rest)) {
    nothing(&w);
    offer_all(&w, p, &e);
    good = m_or(good, settle(p, &w, rest, TGI_PAIR_SIGNIFICANT_ALL));
  }
  return good;
}

TGI_LANE Mask start(Plane *p, tgiPairBlock *b, int lane) {
  unsigned all = (1u << TGI_WIDTH) - 1, asked = b->warm >> lane & all;
  Mask good = m_from(0);
  for (int i = 0; i < 3; i++) p->u[i] = v_all(0);
  p->delta = v_all(0);
  if (asked != 0) {
    V u[3] = {v_load(b->u[0] + lane), v_load(b->u[1] + lane), v_load(b->u[2] + lane)}, n2 = v_dot(u, u), n = 1.0 / v_sqrt(n2);
    Mask warm = m_and(m_from(asked), v_less(v_all(0.25), n2));
    for (int i = 0; i < 3; i++) p->u[i] = v_pick(warm, turned(p, u[i] * n), p->u[i]);
    p->delta = v_pick(warm, turned(p, v_load(b->delta + lane) * n) + v_dot(p->u, p->centre), p->delta);
    Mask positive = look(p);
    good = m_and(m_and(warm, positive), v_less(TGI_PAIR_SIGNIFICANT * p->size * p->most, v_all(1)));
  }
  if (m_bits(good) != all) good = m_or(good, cold(p, m_not(good)));
  return good;
}

// ---- derivatives, see plane.c

TGI_LANE void put(tgReal *to, V a, Mask separated) { v_store(to, v_pick(separated, a, v_all(0))); }

// sums over A, and the two tangents of the diagonal variables: t1 and t2 - shear t1
typedef struct Sums { V Y, ZA, za, zb, M[3], zx[3], zax[3], zbx[3], t2[3], aa, ab, bb, perA; } Sums;

TGI_LANE void sums(const Plane *p, Sums *s) {
  s->Y = p->y[0] + p->y[1] + p->y[2];
  s->ZA = p->z[0] + p->z[1] + p->z[2];
  V za[3], zb[3], per = 1.0 / s->ZA;
  s->perA = per;
  for (int k = 0; k < 3; k++) {
    za[k] = p->z[k] * p->a[k];
    zb[k] = p->z[k] * p->b[k];
  }
  s->za = za[0] + za[1] + za[2];
  s->zb = zb[0] + zb[1] + zb[2];
  for (int i = 0; i < 3; i++) {
    s->M[i] = p->y[0] * p->p[0][i] + p->y[1] * p->p[1][i] + p->y[2] * p->p[2][i];
    s->zx[i] = p->z[0] * p->p[0][i] + p->z[1] * p->p[1][i] + p->z[2] * p->p[2][i];
    s->zax[i] = za[0] * p->p[0][i] + za[1] * p->p[1][i] + za[2] * p->p[2][i];
    s->zbx[i] = zb[0] * p->p[0][i] + zb[1] * p->p[1][i] + zb[2] * p->p[2][i];
    s->t2[i] = p->t2[i] - p->shear * p->t1[i];
  }
  V ma = s->za * per, mb = s->zb * per;
  s->aa = s->ab = s->bb = v_all(0);
  for (int k = 0; k < 3; k++) {
    V a = p->a[k] - ma, b = p->b[k] - mb, z = p->z[k] * a;
    s->aa += z * a;
    s->ab += z * b;
    s->bb += p->z[k] * b * b;
  }
}

// f = (zx x u - M x t, z u - Y t), moved from the centre to the pivot
TGI_LANE void wrench(const Plane *p, const V zx[3], V z, const Sums *s, const V *t, V f[6]) {
  V turn[3];
  v_cross(f, zx, p->u);
  for (int i = 0; i < 3; i++) f[3 + i] = z * p->u[i];
  if (t != NULL) {
    v_cross(turn, s->M, t);
    for (int i = 0; i < 3; i++) {
      f[i] -= turn[i];
      f[3 + i] -= s->Y * t[i];
    }
  }
  v_cross(turn, p->centre, f + 3);
  for (int i = 0; i < 3; i++) f[i] += turn[i];
}

// What an ellipsoid of the first half adds: its support turns with it. W_ww gains y (u x b)(u x b)'/h, b the rows of bow, and the mixed
// derivatives along t lose y (u x b)(b.t)/h.
TGI_LANE void turn_oval(const Plane *p, const Sums *s, V f[][6], V H[6]) {
  V per = s->Y * per_support(p, 0);
  for (int r = 0; r < 3; r++) {
    V b[3], q[3], along[2];
    for (int i = 0; i < 3; i++) b[i] = p->axes[0][3 * r + i] - p->e[0][r] * p->at[0][i];
    v_cross(q, p->u, b);
    along[0] = per * v_dot(b, p->t1);
    along[1] = per * v_dot(b, s->t2);
    for (int i = 0; i < 3; i++) {
      for (int v = 0; v < 2; v++) f[v][i] -= along[v] * q[i];
      for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += per * q[i] * q[j];
    }
  }
}

TGI_LANE void derivatives(Plane *p, tgiPairBlock *b, int lane, Mask separated) {
  Sums s;
  for (int k = 0; k < 3 && p->oval; k++)
    for (int i = 0; i < 3; i++) p->p[k][i] -= p->at[0][i];   // where the plane's force acts
  V f[3][6], scaled[3][6], M[3], torque[3], H[21];
  sums(p, &s);
  wrench(p, s.zax, s.za, &s, p->t1, f[0]);
  wrench(p, s.zbx, s.zb, &s, s.t2, f[1]);
  wrench(p, s.zx, s.ZA, &s, NULL, f[2]);
  V own[6];
  for (int i = 0; i < 6; i++) own[i] = v_all(0);
  if (p->oval) turn_oval(p, &s, f, own);
  V scale[3] = {-p->per[0], -p->per[1], (p->z[3] + p->z[4] + p->z[5]) * s.perA * p->per[2]};
  for (int v = 0; v < 3; v++)
    for (int i = 0; i < 6; i++) scaled[v][i] = scale[v] * f[v][i];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] = scaled[0][i] * f[0][j] + scaled[1][i] * f[1][j] + scaled[2][i] * f[2][j];
  for (int i = 0; i < 6 && p->oval; i++) H[i] += own[i];
  for (int i = 0; i < 3; i++) M[i] = s.M[i] + s.Y * p->centre[i];
  V Mu = v_dot(M, p->u);
  for (int i = 0; i < 3; i++) {
    V along1 = s.bb * p->t1[i] - s.ab * s.t2[i], along2 = s.aa * s.t2[i] - s.ab * p->t1[i];
    for (int j = 0; j <= i; j++)
      H[TGI_LOWER(i, j)] += along1 * p->t1[j] + along2 * s.t2[j] - 0.5 * (M[i] * p->u[j] + M[j] * p->u[i]);
    H[TGI_LOWER(i, i)] += Mu;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    H[TGI_LOWER(3 + k, j)] -= 0.5 * s.Y * p->u[i];
    H[TGI_LOWER(3 + j, k)] += 0.5 * s.Y * p->u[i];
  }
  for (int i = 0; i < 21; i++) put(b->H[i] + lane, H[i], separated);
  v_cross(torque, p->u, M);
  for (int i = 0; i < 3; i++) {
    put(b->g[i] + lane, turned(p, torque[i]), separated);
    put(b->g[3 + i] + lane, turned(p, -s.Y * p->u[i]), separated);
  }
}

static void solve(tgiPairBlock *b, int lane) {
  Plane p;
  V steps;
  place(&p, b, lane);
  Mask separated = descend(&p, start(&p, b, lane), &steps);
#ifdef TG_COMPLEX
  if (m_any(separated)) polish(&p);
#endif
  factor(&p);
  v_store(b->S + lane, v_pick(separated, p.S, v_all(INFINITY)));
  for (int i = 0; i < 3; i++) put(b->u[i] + lane, turned(&p, p.u[i]), separated);
  put(b->delta + lane, turned(&p, p.delta - v_dot(p.u, p.centre)), separated);
  derivatives(&p, b, lane, separated);
  for (int l = 0; l < TGI_WIDTH; l++) b->steps[lane + l] = (int)tgRe(v_lane(steps, l));
  b->separated |= m_bits(separated) << lane;
}

void KERNEL(tgi_pair_kernel)(tgiPairBlock *b) {
  for (int lane = 0; lane < TGI_PAIR_LANES && lane < b->count; lane += TGI_WIDTH) solve(b, lane);
}

#if TGI_WIDTH == 1
bool tgi_pair_start(const tgReal x[18], double round, const tgReal *axes, tgReal u[3], tgReal *delta) {
  tgiPairBlock b = {.count = 1, .oval = axes != NULL};
  b.radius[0][0] = b.radius[1][0] = round;
  Plane p;
  V steps;
  for (int i = 0; i < 18; i++) b.x[i][0] = x[i];
  for (int i = 0; i < 18 && axes != NULL; i++) b.axes[i / 9][i % 9][0] = axes[i];
  place(&p, &b, 0);
  if (!start(&p, &b, 0)) return false;
  if (axes != NULL && !descend(&p, true, &steps)) return false;
  for (int i = 0; i < 3; i++) u[i] = turned(&p, p.u[i]);
  *delta = turned(&p, p.delta - v_dot(p.u, p.centre));
  return true;
}
#endif
