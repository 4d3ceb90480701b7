// pair_wide.c: which kernel solves a block of pairs. See pair_wide.h.
#include "contact/barrier/pair/pair_wide.h"

#include "contact/barrier/pair/pair_kernel.h"

// columns that are not in use become copies of the first
static void fill(tgiPairBlock *b) {
  for (int l = b->count; l < TGI_PAIR_LANES; l++) {
    for (int i = 0; i < 18; i++) b->x[i][l] = b->x[i][0];
    for (int i = 0; i < 3; i++) b->u[i][l] = 0;
    b->delta[l] = 0;
  }
}

#if defined(TG_COMPLEX)

void tgi_pair_block_on(int isa, tgiPairBlock *b) {
  (void)isa;
  fill(b);
  b->separated = 0;
  for (int l = 0; l < b->count; l++) {
    tgReal x[18];
    tgiPair r;
    for (int i = 0; i < 18; i++) x[i] = b->x[i][l];
    for (int i = 0; i < 3; i++) r.u[i] = b->u[i][l];
    r.delta = b->delta[l];
    if (tgi_pair_solve(x, (b->warm >> l & 1) != 0, &r)) b->separated |= 1u << l;
    for (int i = 0; i < 3; i++) b->u[i][l] = r.u[i];
    for (int i = 0; i < 6; i++) b->g[i][l] = r.g[i];
    for (int i = 0; i < 21; i++) b->H[i][l] = r.H[i];
    b->delta[l] = r.delta;
    b->S[l] = r.S;
    b->steps[l] = r.iterations;
  }
}

static void column(const tgiPairBlock *b, int l, tgReal x[18], tgiPair *r) {
  for (int i = 0; i < 18; i++) x[i] = b->x[i][l];
  *r = (tgiPair){.S = b->S[l], .u = {b->u[0][l], b->u[1][l], b->u[2][l]}, .delta = b->delta[l]};
}

void tgi_pair_block_force_on(int isa, const tgiPairBlock *b, tgiPairForces *f) {
  (void)isa;
  for (int l = 0; l < b->count; l++) {
    tgReal x[18];
    tgiPair r;
    tgiPairForce one;
    column(b, l, x, &r);
    tgi_pair_force(x, &r, &one);
    f->N[l] = one.N;
    for (int i = 0; i < 3; i++) {
      f->u[i][l] = one.u[i];
      f->a[i][l] = one.a[i];
      f->b[i][l] = one.b[i];
    }
  }
}

void tgi_pair_block_force_vjp_on(int isa, const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  (void)isa;
  for (int l = 0; l < b->count; l++) {
    tgReal x[18], sum[6] = {0};
    tgiPair r;
    tgiPairForce one = {.N = bar->N[l]};
    column(b, l, x, &r);
    for (int i = 0; i < 3; i++) {
      one.u[i] = bar->u[i][l];
      one.a[i] = bar->a[i][l];
      one.b[i] = bar->b[i][l];
    }
    tgi_pair_force_vjp(x, &r, &one, sum);
    for (int i = 0; i < 6; i++) twist[i][l] = sum[i];
  }
}

#else

void tgi_pair_block_force_on(int isa, const tgiPairBlock *b, tgiPairForces *f) { TGI_ISA_CALL(isa, tgi_pair_force_kernel, (b, f)); }

void tgi_pair_block_force_vjp_on(int isa, const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  TGI_ISA_CALL(isa, tgi_pair_weigh_kernel, (b, bar, twist));
}

void tgi_pair_block_on(int isa, tgiPairBlock *b) {
  fill(b);
  b->separated = 0;
  TGI_ISA_CALL(isa, tgi_pair_kernel, (b));
  b->separated &= (1u << b->count) - 1;
}

#endif

void tgi_pair_block(tgiPairBlock *b) { tgi_pair_block_on(tgi_isa(), b); }
void tgi_pair_block_force(const tgiPairBlock *b, tgiPairForces *f) { tgi_pair_block_force_on(tgi_isa(), b, f); }
void tgi_pair_block_force_vjp(const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  tgi_pair_block_force_vjp_on(tgi_isa(), b, bar, twist);
}
