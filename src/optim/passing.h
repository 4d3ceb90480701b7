// passing.h: the least of a gap between two states, where a step's way is one parabola in the joints: where two geoms pass each other.
#ifndef TG_OPTIM_PASSING_H
#define TG_OPTIM_PASSING_H

#include "base/layout.h"
#include "optim/terms.h"

/// What the search uses, and what of a term it has found.
typedef struct tgiPassing {
  double r, value;               ///< the term's residual there, and its value
  double *q;                     ///< nq: the pose
  double *q0, *v0, *q1;          ///< nv each: d value in the states before (tangent, velocity) and behind (tangent)
} tgiPassing;
typedef struct tgiPassingWork {
  tgPose pose;
  double value;                  ///< of the term at the time that was looked at last
  double *q, *d, *w, *u, *x;     ///< nq; nv each
} tgiPassingWork;
void tgi_passing_place(const tgModel *m, tgiPassing *found, tgLayout *l);
void tgi_passing_place_work(const tgModel *m, tgiPassingWork *work, tgLayout *l);

/// The least of a gap term along the way of the last step, strictly between its states, where it is below `least` there: where the gap's
/// rate changes from below 0 to above. False: there is none, or the step's way is not known to be one parabola. Of several it is one.
bool tgi_passing_find(tgSim *s, const tgTerm *term, double least, tgTermRows *rows, tgiPassingWork *work, tgiPassing *found);
/// As tgi_term_parameters, at the pose found.
void tgi_passing_parameters(tgSim *s, const tgTerm *term, const tgiPassing *found, double scale, tgTermRows *rows, tgiPassingWork *work,
                            tgParamGrad *p);

#endif
