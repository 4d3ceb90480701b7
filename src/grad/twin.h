// twin.h: a simulation in complex numbers beside one in real numbers, for second derivatives: the derivative of a
// derivative along a direction.
//
// Based on: [math/softmin Second]. twin.c is compiled in the complex build alone, which libtangere carries as one
// object whose only visible names are these (docs/decisions/0011). All arguments are plain doubles, so that both
// builds see the same functions.
#ifndef TG_GRAD_TWIN_H
#define TG_GRAD_TWIN_H

#include "tangere/base.h"
#include "tangere/contact.h"

typedef struct tgxTwin tgxTwin;
struct tgGradInfo;

/// model: a struct tgModel of the real build, which must outlive the twin; it holds counts and pointers alone, so
/// both builds lay it out alike.
tgxTwin *tgx_create(const void *model, const char *word, const tgContactOptions *options, const tgAllocator *allocator, tgError *error);
void tgx_free(tgxTwin *twin);

/// Where a step starts: numbers of a simulation (its struct tgModel), numbers of its contact model, state, controls, applied forces.
/// w: velocities, then activations, nw together. memory: of contacts and classes, as tgi_memory_save has it, which both builds lay out
/// alike; NULL: none.
typedef struct tgxPoint { const void *model; const double *number, *q, *w, *u, *applied; double h; const void *memory; } tgxPoint;

/// Parameters that directions and products have from now on, in place of those before: names as in
/// tg_param_grad_create_contact, NULL: all with a derivative. size: their entries. On failure those before stay.
tgStatus tgx_choose(tgxTwin *twin, const char *const *names, int n, int *size, tgError *error);

/// Steps from the point moved by i e d, d (nv + nw + nu) a direction of (q, w, u), and with the chosen parameters moved by
/// i e dp (NULL: not moved); dy (nv + nw) is the step's derivative along both. Of dp what would change the length of a
/// unit quaternion or axis is left out, and entries of numbers that are not finite. TG_ERR_UNSUPPORTED: a direction in
/// the step's size. Nothing is allocated but where contacts take more room than ever before.
tgStatus tgx_step(tgxTwin *twin, const tgxPoint *at, const double *d, const double *dp, double *dy, tgError *error);
/// Of the last tgx_step, in exponential charts at the states before and after it: G (nv + nw + nu) = D'g, and H = dG along
/// d while g changes by dg (nv + nw). P and Q (NULL: not wanted): the same in the chosen parameters. info (may be NULL): how right G is.
tgStatus tgx_vjp(tgxTwin *twin, const double *g, const double *dg, double *G, double *H, double *P, double *Q,
                 struct tgGradInfo *info, tgError *error);
/// Likewise D ((nv + nw) x (nv + nw + nu)) and its derivative along d.
tgStatus tgx_jacobian(tgxTwin *twin, double *D, double *DD, tgError *error);

#endif
