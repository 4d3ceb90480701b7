// controls.h: from decision variables to controls: piecewise constant, or sums of sines.
//
// steps:  u(t, k) = x[block(t), k], blocks of `every` steps; variables (blocks x nu).
// sines:  u(t, k) = c_k + sum_i a_ki sin(2 pi f_ki t h + p_ki), i < terms; variables of control k: c, then a, f, p of each term.
#ifndef TG_OPTIM_CONTROLS_H
#define TG_OPTIM_CONTROLS_H

#include "optim/task.h"

/// Number of decision variables of the controls; 0 when they are not decided. At most 1e9, else -1.
int tgi_controls_count(const tgTask *t);
/// Steps over which a control of basis steps is held; whether the basis is sines.
int tgi_controls_every(const tgTask *t);
bool tgi_controls_sines(const tgTask *t);
/// u0 as the file says: a number, the keyframe's or, as when it says nothing, those of the pose. To be asked again where q0 has changed.
tgStatus tgi_controls_resolve(tgTask *t, tgError *error);
/// Start (with the file's noise for a seed other than 0) and box of the variables; outputs may be NULL.
void tgi_controls_start(const tgTask *t, uint64_t seed, double *x);
void tgi_controls_box(const tgTask *t, double *low, double *high);
/// u (steps x nu) for variables x.
void tgi_controls_expand(const tgTask *t, const double *x, double *u);
/// Variables first .. first + *count - 1 are those that decide the controls of steps from .. to - 1.
int tgi_controls_range(const tgTask *t, int from, int to, int *count);
/// J (nu x count): du/d(variables first .. first + count - 1) at step s.
void tgi_controls_jacobian(const tgTask *t, const double *x, int s, int first, int count, double *J);
/// g = (du/dx)' du, written.
void tgi_controls_vjp(const tgTask *t, const double *x, const double *du, double *g);

#endif
