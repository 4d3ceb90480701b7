// pair_wide.c: which kernel solves a block of pairs. See pair_wide.h.
#include "contact/barrier/pair_wide.h"
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/pair_kernel.h"

// columns that are not in use become copies of the first
static void fill(tgiPairBlock *b) {
  for (int l = b->count; l < TGI_PAIR_LANES; l++) {
    for (int i = 0; i < 18; i++) b->x[i][l] = b->x[i][0];
    for (int i = 0; i < 3; i++) b->u[i][l] = 0;
    b->delta[l] = 0;
  }
}

#if defined(TG_COMPLEX)

int tgi_pair_isas(void) { return 1; }
const char *tgi_pair_isa_name(int isa) { return isa == 0 ? "plain" : NULL; }
bool tgi_pair_isa_present(int isa) { return isa == 0; }

void tgi_pair_block_on(int isa, tgiPairBlock *b) {
  (void)isa;
  fill(b);
  b->apart = 0;
  for (int l = 0; l < b->count; l++) {
    tgReal x[18];
    tgiPair r;
    for (int i = 0; i < 18; i++) x[i] = b->x[i][l];
    for (int i = 0; i < 3; i++) r.u[i] = b->u[i][l];
    r.delta = b->delta[l];
    if (tgi_pair_solve(x, (b->warm >> l & 1) != 0, &r)) b->apart |= 1u << l;
    for (int i = 0; i < 3; i++) b->u[i][l] = r.u[i];
    for (int i = 0; i < 6; i++) b->g[i][l] = r.g[i];
    for (int i = 0; i < 21; i++) b->H[i][l] = r.H[i];
    b->delta[l] = r.delta;
    b->S[l] = r.S;
    b->steps[l] = r.iterations;
  }
}
int tgi_pair_isa(void) { return 0; }
void tgi_pair_block(tgiPairBlock *b) { tgi_pair_block_on(0, b); }

#else

typedef void Kernel(tgiPairBlock *b);
#ifdef TGI_PAIR_X86
static const struct { const char *name; Kernel *kernel; } table[] = {
    {"sse", tgi_pair_kernel_2}, {"avx2", tgi_pair_kernel_4}, {"avx512", tgi_pair_kernel_8}};
#else
static const struct { const char *name; Kernel *kernel; } table[] = {{"plain", tgi_pair_kernel_2}};
#endif
enum { ISAS = sizeof table / sizeof *table };

int tgi_pair_isas(void) { return ISAS; }
const char *tgi_pair_isa_name(int isa) { return isa >= 0 && isa < ISAS ? table[isa].name : NULL; }

bool tgi_pair_isa_present(int isa) {
#ifdef TGI_PAIR_X86
  if (isa == 1) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == 2) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return isa == 0;
}

void tgi_pair_block_on(int isa, tgiPairBlock *b) {
  fill(b);
  b->apart = 0;
  table[isa].kernel(b);
  b->apart &= (1u << b->count) - 1;
}

static int choice;
// before main and before any thread: later nothing is written
__attribute__((constructor)) static void choose(void) {
  const char *wanted = getenv("TANGERE_ISA");
#ifdef TGI_PAIR_X86
  __builtin_cpu_init();
#endif
  for (int isa = 0; isa < ISAS; isa++) {
    if (!tgi_pair_isa_present(isa)) continue;
    choice = isa;
    if (wanted != NULL && strcmp(wanted, table[isa].name) == 0) break;
  }
}
int tgi_pair_isa(void) { return choice; }
void tgi_pair_block(tgiPairBlock *b) { tgi_pair_block_on(choice, b); }

#endif
