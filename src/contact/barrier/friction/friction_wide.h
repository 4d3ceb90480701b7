// friction_wide.h: sums over the friction points of a pair, of which its energy and derivatives are made. [math/barrier Friction]
//
// The kernel (friction_kernel.c) is compiled for every width of lanes.h, one point a lane. On one instruction set a
// pair's sums have always the same bits; between the widths they differ by rounding.
#ifndef TG_CONTACT_BARRIER_FRICTION_FRICTION_WIDE_H
#define TG_CONTACT_BARRIER_FRICTION_FRICTION_WIDE_H

#include "contact/barrier/friction/friction.h"
#include "math/isa.h"

// The sums, of numbers T. Of a point: f its force on body 1; x, y its places now on bodies 1 and 2;
// K = d2D/dV2/h^2 = lambda N/(h s) (Q - QV QV'/s^2); A = [x], B = [y], the matrices of cross products. 3x3 by
// rows, symmetric ones as xx yy zz xy xz yz. spare: 0, to a whole number of vectors. fx: f x', fy: f y'; KA = K
// A', AKA = A K A' and so on.
#define TGI_FRICTION_TOTAL(T) \
  { T energy, f[3], fx[9], fy[9], K[6], KA[9], KB[9], AKA[6], AKB[9], BKB[6], spare[5]; }
typedef struct tgiFrictionTotal TGI_FRICTION_TOTAL(tgReal) tgiFrictionTotal;
enum { TGI_FRICTION_TOTALS = sizeof(tgiFrictionTotal) / sizeof(tgReal) };

/// Sums of n points, on one of the instruction sets of isa.h.
void tgi_friction_total_on(int isa, int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law,
                           const tgiFrictionMotion m[2], tgiFrictionTotal *t);

TGI_ISA_DECLARE(tgi_friction_total,
                (int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                 tgiFrictionTotal *t))

#endif
