// combine.h: sums of weighted rows, the one loop behind products with dense blocks; loops over one row.
#ifndef TG_MATH_COMBINE_H
#define TG_MATH_COMBINE_H

#include <stdbool.h>

#include "math/wide.h"

/// out[c] += sum of w[k] X[at[k] + c] over k < count, for c < n; n is a multiple of 4. out may be a row of X that is not among them.
TGI_KERNEL(void, tgi_combine, (int count, const tgReal *w, const int *at, const tgReal *X, int n, tgReal *out), (count, w, at, X, n, out))
/// out[c] += f x[c] for c < n, any n.
TGI_KERNEL(void, tgi_add_scaled, (int n, tgReal f, const tgReal *x, tgReal *out), (n, f, x, out))
/// Are all of them finite.
TGI_KERNEL(bool, tgi_all_finite, (int n, const tgReal *x), (n, x))

#endif
