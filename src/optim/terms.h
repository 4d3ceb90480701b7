// terms.h: loss terms as rows: value = sum_k phi(r_k) of residuals r_k(q, v, act, u), so that one routine gives values, gradients and the
// Gauss-Newton curvature sum_k phi''(r_k) J_k' J_k. phi(r) = r^2, or -sign(r) r^2 for a height. With a tolerance the value is
// max(0, r . r - tolerance^2), and rows within it have no slope.
#ifndef TG_OPTIM_TERMS_H
#define TG_OPTIM_TERMS_H

#include "base/layout.h"
#include "optim/task.h"
#include "sim/param.h"
#include "sim/sim.h"

/// The rows of one term at one state. J: tangent coordinates, columns (q, v, act, u), nz = 2 nv + na + nu of them.
typedef struct tgTermRows {
  int nz, n;               ///< columns; rows in use
  bool tied;               ///< with derivatives: a gap has other nearest points, whose rows differ from this one
  double *r;               ///< residuals
  double *slope, *curve;   ///< phi'(r), and phi''(r) where it is positive, else 0
  int *first, *count;      ///< columns that row k depends on: first .. first + count - 1
  double *J;               ///< n x nz; only those columns are written
  double *work;            ///< 6 nv + nq
} tgTermRows;

/// The arrays for any term of this model, and nz.
void tgi_term_rows_place(const tgModel *m, tgTermRows *w, tgLayout *l);

/// True for terms that are a squared distance between points.
bool tgi_term_is_position(tgTermKind kind);

/// scale times the term's derivative in the parameters that place bodies and joints, at held (q, v), added to p. Rows are used.
void tgi_term_parameters(tgSim *s, const tgPose *pose, const tgTerm *term, double scale, tgTermRows *rows, tgParamGrad *p);

/// Rows of the term at the sim's state and frames (as a tgLossFn sees it); derivatives only where asked for. Returns the value.
double tgi_term_rows(tgSim *s, const tgPose *pose, const tgTerm *term, bool derivatives, tgTermRows *rows);

#endif
