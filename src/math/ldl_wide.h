// ldl_wide.h: the factorisation of ldl.h in vectors of four. Entries go through the operations of the textbook's loops,
// in their order (test_ldl).
#ifndef TG_MATH_LDL_WIDE_H
#define TG_MATH_LDL_WIDE_H

#include "math/wide.h"

/// In place, A's upper half to U. False: a pivot is not positive beyond round-off: what cancelled in it is some 2.2e-16
/// of the entry that it began as, U_kk + sum of D U^2.
TGI_KERNEL(bool, tgi_wide_ldl_factor, (int n, tgReal *U), (n, U))

#endif
