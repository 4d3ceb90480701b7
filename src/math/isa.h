// isa.h: which of the kernels compiled for several vector widths (lanes.h) a process takes. [docs/decisions/0017-instruction-sets.md]
#ifndef TG_MATH_ISA_H
#define TG_MATH_ISA_H

#include <stdbool.h>

/// Narrowest first: "plain" (a number at a time), then vectors: "sse" (of 2), "avx2" (4), "avx512" (8) on x86-64,
/// "pairs" (2) elsewhere. The complex build has the plain ones alone.
int tgi_isas(void);
/// NULL outside 0 .. tgi_isas() - 1.
const char *tgi_isa_name(int isa);
/// Has this processor got it?
bool tgi_isa_present(int isa);
/// The one taken: the last that the processor has, or that of environment variable TANGERE_ISA when it has that one.
int tgi_isa(void);

/// TGI_ISA_DECLARE(name, (parameters)) declares a kernel of every width, TGI_ISA_CALL calls name_1, name_2, name_4 or
/// name_8 with the arguments.
#if defined(TG_COMPLEX)
#define TGI_ISA_DECLARE(name, parameters) void name##_1 parameters;
#define TGI_ISA_CALL(isa, name, arguments) ((void)(isa), name##_1 arguments)
#elif defined(__x86_64__) && defined(__GNUC__)
#define TGI_ISA_DECLARE(name, parameters) \
  void name##_1 parameters;               \
  void name##_2 parameters;               \
  void name##_4 parameters;               \
  void name##_8 parameters;
#define TGI_ISA_CALL(isa, name, arguments)        \
  do {                                            \
    int isa_ = (isa);                             \
    if (isa_ == 3) name##_8 arguments;            \
    else if (isa_ == 2) name##_4 arguments;       \
    else if (isa_ == 1) name##_2 arguments;       \
    else name##_1 arguments;                      \
  } while (0)
#else
#define TGI_ISA_DECLARE(name, parameters) \
  void name##_1 parameters;               \
  void name##_2 parameters;
#define TGI_ISA_CALL(isa, name, arguments)        \
  do {                                            \
    if ((isa) == 1) name##_2 arguments;           \
    else name##_1 arguments;                      \
  } while (0)
#endif

#endif
