// passing.h: the least of a gap between two states, where a step's way is known: one parabola in the joints after another.
#ifndef TG_OPTIM_PASSING_H
#define TG_OPTIM_PASSING_H

#include "base/layout.h"
#include "optim/terms.h"
#include "sim/stepper.h"

/// What the search uses, and what of a term it has found.
typedef struct tgiPassing {
  double r, value;               ///< the term's residual there, and its value
  double *q;                     ///< nq: the pose
  int leg;                       ///< of the step, on which it is
  bool tied;                     ///< the gap has other nearest points there (terms.h)
  double t, *q0, *v0, *q1;       ///< d value in the leg's time and, nv each, in its start (tangent, velocity) and its end (tangent)
} tgiPassing;
typedef struct tgiPassingWork {
  tgPose pose;
  double value;                  ///< of the term at the time that was looked at last
  tgiLeg leg;                    ///< that is looked along
  double *q, *d, *w, *u, *x;     ///< nq; nv each
  double *gq, *gv, *gu;          ///< nv, nw, nu: of tgi_passing_slopes
} tgiPassingWork;
void tgi_passing_place(const tgModel *m, tgiPassing *found, tgLayout *l);
void tgi_passing_place_work(const tgModel *m, tgiPassingWork *work, tgLayout *l);

/// The least of a gap term along the way of the last step, strictly between its states, where it is below `least` there: where the gap's
/// rate changes from below 0 to above, on a leg of the way or, by an impact, between two. False: there is none, or the way is not known. Of
/// several on one leg it is one, of legs the least.
bool tgi_passing_find(tgSim *s, const tgTerm *term, double least, tgTermRows *rows, tgiPassingWork *work, tgiPassing *found);
/// Adds scale times what that is in the state before the step and in its control, through the step's pieces; gq NULL: and in parameters.
tgStatus tgi_passing_slopes(tgSim *s, const tgiPassing *found, double scale, tgiPassingWork *work, double *gq, double *gv, double *gu,
                            tgParamGrad *p);
/// As tgi_term_parameters, at the pose found, which stays.
void tgi_passing_parameters(tgSim *s, const tgTerm *term, const tgiPassing *found, double scale, tgTermRows *rows, tgiPassingWork *work,
                            tgParamGrad *p);

#endif
