// isa.h: which of the kernels compiled for several vector widths (lanes.h) a process takes. [docs/decisions/0017-instruction-sets.md]
#ifndef TG_MATH_ISA_H
#define TG_MATH_ISA_H

#include <stdbool.h>

/// Narrowest first: "sse" (vectors of 2), "avx2" (4), "avx512" (8) on x86-64, "plain" (2) elsewhere and in the complex build.
int tgi_isas(void);
/// NULL outside 0 .. tgi_isas() - 1.
const char *tgi_isa_name(int isa);
/// Has this processor got it?
bool tgi_isa_present(int isa);
/// The one taken: the last that the processor has, or that of environment variable TANGERE_ISA when it has that one.
int tgi_isa(void);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
/// Calls name_2, name_4 or name_8 with the arguments (in parentheses).
#define TGI_ISA_CALL(isa, name, arguments)        \
  do {                                            \
    int isa_ = (isa);                             \
    if (isa_ == 2) name##_8 arguments;            \
    else if (isa_ == 1) name##_4 arguments;       \
    else name##_2 arguments;                      \
  } while (0)
#else
#define TGI_ISA_CALL(isa, name, arguments) ((void)(isa), name##_2 arguments)
#endif

#endif
