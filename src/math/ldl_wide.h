// ldl_wide.h: the factorisation of ldl.h in vectors of four; real build only. The same bits as the plain one's (test_ldl).
#ifndef TG_MATH_LDL_WIDE_H
#define TG_MATH_LDL_WIDE_H

#include "math/wide.h"

/// As tgi_ldl_plain_factor.
TGI_KERNEL(bool, tgi_wide_ldl_factor, (int n, double *U), (n, U))

#endif
