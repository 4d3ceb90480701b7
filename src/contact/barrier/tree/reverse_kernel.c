// reverse_kernel.c: the work of reverse_wide.h on vectors, one term a lane. Compiled for every width of lanes.h.
#include "contact/barrier/tree/reverse_wide.h"
#include "contact/barrier/tree/tree_lanes.h"

// the numbers of tgiPatchWeight, in its order
typedef struct Patch { V N, a[3], b[3], M[6], pa[3], pb[3], Q[6]; } Patch;
enum { NUMBERS = sizeof(Patch) / sizeof(V) };
_Static_assert(NUMBERS == 25 && sizeof(tgiPatchWeight) == 25 * sizeof(tgReal), "a patch's numbers are read one after the other");

TGI_LANE void patches(const tgiPatchWeight *const *of, Patch *p) {
  V *to = (V *)p;
  int i = 0;
#if TGI_WIDTH == 8 && defined(__AVX512F__)
  for (; i + 8 <= NUMBERS; i += 8) {
    V row[8];
    for (int l = 0; l < 8; l++) row[l] = v_load((const tgReal *)of[l] + i);
    v_turn(row);
    for (int l = 0; l < 8; l++) to[i + l] = row[l];
  }
#endif
  for (; i < NUMBERS; i++) {
    tgReal t[TGI_WIDTH];
    for (int l = 0; l < TGI_WIDTH; l++) t[l] = ((const tgReal *)of[l])[i];
    to[i] = v_load(t);
  }
}

// a term: its nodes, the unit vector between them, their distance D and that of the law, d; its weight q and derivatives in n and d
typedef struct Term { Pair pair; V e[3], n[3], D, d, q, qn[3], qd, a[3]; } Term;

TGI_LANE void weigh(const tgiForceReverse *p, const tgiPatchWeight *const *of, Term *t) {
  const V *n = t->n;
  Patch w;
  patches(of, &w);
  t->q = w.N + p->share.all;
  for (int i = 0; i < 3; i++) {
    t->q += w.a[i] * (t->pair.x[i] + p->origin[i] - w.pa[i]) + w.b[i] * (t->pair.y[i] + p->origin[i] - w.pb[i]);
    t->a[i] = w.a[i];
  }
  // differences that lose nothing where the patch has one force
  t->q += w.M[0] * (n[0] * n[0] - 1.0 + w.Q[0]) + w.M[1] * (n[1] * n[1] - 1.0 + w.Q[1]) + w.M[2] * (n[2] * n[2] - 1.0 + w.Q[2]);
  t->q += w.M[3] * (n[0] * n[1] + w.Q[3]) + w.M[4] * (n[0] * n[2] + w.Q[4]) + w.M[5] * (n[1] * n[2] + w.Q[5]);
  t->qn[0] = 2.0 * w.M[0] * n[0] + w.M[3] * n[1] + w.M[4] * n[2];
  t->qn[1] = w.M[3] * n[0] + 2.0 * w.M[1] * n[1] + w.M[5] * n[2];
  t->qn[2] = w.M[4] * n[0] + w.M[5] * n[1] + 2.0 * w.M[2] * n[2];
  t->qd = v_all(0);
  if (!(p->range > 0) || tgZero(p->share.near)) return;
  V slope, phi = nearby(p->range, t->d, &slope);
  t->q += p->share.near * phi;
  t->qd = p->share.near * slope;
}

TGI_LANE void take(const tgiTreeFrame *f, const tgiForceReverse *p, const tgiReverseBlock *b, int at, Term *t) {
  look(f, b->a + at, b->b + at, &t->pair);
  t->D = v_sqrt(t->pair.q);
  t->d = v_sqrt(t->pair.q + t->pair.m);
  V per = 1.0 / t->D;
  for (int i = 0; i < 3; i++) {
    t->e[i] = t->pair.x[i] - t->pair.y[i];
    t->n[i] = t->e[i] * per;
  }
  weigh(p, b->of + at, t);
}

void KERNEL(tgi_reverse_values)(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    Term t;
    take(f, p, b, at, &t);
    v_store(b->out + at, 2.0 * t.q * t.D);
  }
}

// (74): N = -2 mu W c1 D
void KERNEL(tgi_reverse_terms)(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  for (int at = 0; at < b->count; at += TGI_WIDTH) {
    Term t;
    V C[3], force[3], turn[3], phi0 = v_load(b->phi[0] + at), phi1 = v_load(b->phi[1] + at),
      phi2 = v_load(b->phi[2] + at), inner = v_load(b->inner + at);
    take(f, p, b, at, &t);
    law(f, &t.pair, C);
    V less = C[0] - v_load(b->below + at), c1 = phi0 * C[1] + less * phi1, c2 = phi0 * C[2] + less * phi2 + 2.0 * phi1 * C[1];
    V per = v_all(-2 * p->mu), N = per * inner * c1 * t.D, i1 = 1.0 / t.D;
    V slope = v_load(b->value_bar + at) * c1 + v_load(b->other + at) + t.q * per * inner * (c2 * t.D + 0.5 * c1 * i1) +
              0.5 * N * t.qd / t.d;
    V across = v_dot(t.n, t.qn);
    for (int i = 0; i < 3; i++) force[i] = 2.0 * slope * t.e[i] + N * (t.a[i] + (t.qn[i] - across * t.n[i]) * i1);
    v_cross(turn, t.pair.x, force);
    for (int i = 0; i < 3; i++) {
      v_store(b->twist[i] + at, v_load(b->twist[i] + at) + turn[i]);
      v_store(b->twist[3 + i] + at, v_load(b->twist[3 + i] + at) + force[i]);
    }
    v_store(b->out + at, t.q * per * c1 * t.D);
  }
}
