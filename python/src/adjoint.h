// adjoint.h: what is asked for behind a trajectory: dL/dq, dL/dv and dL/du of a rollout, or of each of a batch.
#ifndef TANGERE_PYTHON_ADJOINT_H
#define TANGERE_PYTHON_ADJOINT_H

#include "sim.h"
#include "tangere/force.h"

namespace tangere {

/// What dL/d(trajectory) may be: one row for every state, or one for the last.
struct Seed {
  In rows;
  bool last = false;
  const double *at(size_t lane, int t, int steps, size_t n) const {
    if (rows.p == nullptr || (last && t < steps)) return nullptr;
    return rows.p + (last ? lane : lane * (size_t)(steps + 1) + (size_t)t) * n;
  }
};
/// The argument `name` for `lanes` trajectories of that many steps, n numbers a state.
Seed seed(nb::handle given, const char *name, const Shape &lanes, size_t steps, size_t n);

/// The loss of an adjoint: linear in the trajectory and its contacts, its value nowhere asked for.
struct Linear {
  const Seed *q, *v;
  const double *u;   // T x nu of this lane, or NULL
  size_t lane, nv, nw, nu;   // nw: velocities and activations
  const tgContactGrad *contacts = nullptr;   // of all lanes, or NULL
  const size_t *first = nullptr;   // T + 1: where in them those of each step of this lane begin
};
/// A tgLossFn.
tgStatus linear(void *ctx, tgSim *, int t, int steps, tgReal *, tgReal *gq, tgReal *gv, tgReal *gu);
/// Its tgLossContactsFn. TG_ERR_STATE: a step has another number of contacts than it had.
tgStatus linear_contacts(void *ctx, tgSim *, int t, int steps, tgContactGrad *grad, int n);

}  // namespace tangere

#endif
