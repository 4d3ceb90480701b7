// fpenv.h: the floating-point environment that the engine computes in, whatever the caller's is.
//
// Another library in the process may have switched on flush-to-zero, another rounding or traps; results must not depend on it. A public
// entry that computes is bracketed by enter and leave: round to nearest, denormals kept, no traps; then the caller's settings again.
#ifndef TG_BASE_FPENV_H
#define TG_BASE_FPENV_H

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned tgiFpEnv;
// MXCSR: all exceptions masked, round to nearest, no flush-to-zero, no denormals-are-zero; the low six bits are flags
#define TGI_FP_DEFAULT 0x1F80u
#define TGI_FP_FLAGS 0x3Fu

/// Sets the engine's environment and returns the caller's. The memory clobber keeps loads, and so the arithmetic on them, behind it.
static inline tgiFpEnv tgi_fp_enter(void) {
  tgiFpEnv env = _mm_getcsr();
  if ((env & ~TGI_FP_FLAGS) != TGI_FP_DEFAULT) _mm_setcsr(TGI_FP_DEFAULT);
  __asm__ volatile("" ::: "memory");
  return env;
}
static inline void tgi_fp_leave(tgiFpEnv env) {
  __asm__ volatile("" ::: "memory");
  if ((env & ~TGI_FP_FLAGS) != TGI_FP_DEFAULT) _mm_setcsr(env);
}
#else
#include <fenv.h>

typedef fenv_t tgiFpEnv;
static inline tgiFpEnv tgi_fp_enter(void) {
  tgiFpEnv env;
  fegetenv(&env);
  fesetenv(FE_DFL_ENV);
  return env;
}
static inline void tgi_fp_leave(tgiFpEnv env) { fesetenv(&env); }
#endif

#endif
