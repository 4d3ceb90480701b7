// reverse_wide.c: which kernel works on a block of terms, and the same column by column. See reverse_wide.h.
#include "contact/barrier/tree/reverse_wide.h"

#include "contact/barrier/pair/law.h"
#include "math/vec3.h"

#if defined(TG_COMPLEX)

// two centres
typedef struct Centres { const tgReal *x; tgReal e[3], n[3], D, d, C[3]; tgiForceWeight weight; } Centres;

static void look(const tgiTreeFrame *f, const tgiForceReverse *p, const tgiReverseBlock *b, int l, Centres *c) {
  const tgReal *x = f->a + (size_t)b->a[l] * TGI_NODE_SIZE, *z = f->b + (size_t)b->b[l] * TGI_NODE_SIZE;
  tgReal y[3];
  c->x = x;
  tgi_v3_add(y, z, f->shift);
  tgi_v3_sub(c->e, x, y);
  c->D = tgi_v3_unit(c->n, c->e);
  tgReal square = tgi_v3_dot(c->e, c->e) + f->moment[0] * x[TGI_NODE_M] + f->moment[1] * z[TGI_NODE_M];
  c->d = tgSqrt(square);
  tgi_law_cluster(x[TGI_NODE_W] * z[TGI_NODE_W], f->base, square, c->C);
  c->weight = tgi_reverse_weigh(p, b->of[l], c->n, x, y, c->d);
}

void tgi_reverse_values(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  for (int l = 0; l < b->count; l++) {
    Centres c;
    look(f, p, b, l, &c);
    b->out[l] = 2 * c.weight.q * c.D;
  }
}

void tgi_reverse_terms(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  for (int l = 0; l < b->count; l++) {
    Centres c;
    look(f, p, b, l, &c);
    const tgiForceWeight *q = &c.weight;
    tgReal phi0 = b->phi[0][l], phi1 = b->phi[1][l], less = c.C[0] - b->below[l], c1 = phi0 * c.C[1] + less * phi1,
           c2 = phi0 * c.C[2] + less * b->phi[2][l] + 2 * phi1 * c.C[1], per = -2 * p->mu, N = per * b->inner[l] * c1 * c.D, force[3], turn[3];
    tgReal slope = b->value_bar[l] * c1 + b->other[l] + q->q * per * b->inner[l] * (c2 * c.D + 0.5 * c1 / c.D) + 0.5 * N * q->d / c.d;
    tgReal across = tgi_v3_dot(c.n, q->n);
    for (int i = 0; i < 3; i++) force[i] = 2 * slope * c.e[i] + N * (q->of->a[i] + (q->n[i] - across * c.n[i]) / c.D);
    tgi_v3_cross(turn, c.x, force);
    for (int i = 0; i < 3; i++) {
      b->twist[i][l] += turn[i];
      b->twist[3 + i][l] += force[i];
    }
    b->out[l] = q->q * per * c1 * c.D;
  }
}

#else

// columns that are not in use become copies of the first that nothing weighs
static void fill(tgiReverseBlock *b) {
  for (int l = b->count; l < TGI_TREE_LANES; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
    b->of[l] = b->of[0];
    b->inner[l] = b->value_bar[l] = b->below[l] = b->other[l] = b->phi[0][l] = b->phi[1][l] = b->phi[2][l] = 0;
  }
}

void tgi_reverse_values(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_reverse_values, (f, p, b));
}

void tgi_reverse_terms(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_reverse_terms, (f, p, b));
}

#endif
