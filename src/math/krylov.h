// krylov.h: the minimal residual of a linear system over a Krylov space. For real numbers in both builds.
#ifndef TG_MATH_KRYLOV_H
#define TG_MATH_KRYLOV_H

#include "math/real.h"

/// Vectors of the space at most.
enum { TGI_KRYLOV = 24 };

/// out = A in, n numbers each.
typedef void tgiImage(const void *of, const double *in, double *out);

/// y (n), from the space of r, A r, A^2 r .., that leaves least of r - A y: until that is `enough` of r, the space is closed, or A takes
/// what is new in it to less than `closed` of its length. work: (TGI_KRYLOV + 1) n.   [GolubVanLoan 11.4]
void tgi_krylov(int n, tgiImage *A, const void *of, const double *r, double enough, double closed, double *work, double *y);

#endif
