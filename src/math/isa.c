// isa.c: see isa.h.
#include "math/isa.h"

#include <stdlib.h>
#include <string.h>

#if defined(TG_COMPLEX)
static const char *const name[] = {"plain"};
#elif defined(__x86_64__) && defined(__GNUC__)
static const char *const name[] = {"plain", "sse", "avx2", "avx512"};
#else
static const char *const name[] = {"plain", "pairs"};
#endif
enum { ISAS = sizeof name / sizeof *name };

int tgi_isas(void) { return ISAS; }
const char *tgi_isa_name(int isa) { return isa >= 0 && isa < ISAS ? name[isa] : NULL; }

bool tgi_isa_present(int isa) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
  if (isa == 2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == 3) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return isa >= 0 && isa < 2 && isa < ISAS;
}

static int choice;
// before main and before any thread: later nothing is written
__attribute__((constructor)) static void choose(void) {
  const char *wanted = getenv("TANGERE_ISA");
#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
  __builtin_cpu_init();
#endif
  for (int isa = 0; isa < ISAS; isa++) {
    if (!tgi_isa_present(isa)) continue;
    choice = isa;
    if (wanted != NULL && strcmp(wanted, name[isa]) == 0) break;
  }
}
int tgi_isa(void) { return choice; }
