// trajectory.h: one run of a model as arrays of trajectory.npz: states, controls, contact forces.
//
// Arrays: qpos (T+1, nq), qvel (T+1, nv), ctrl (T, nu); with contacts also contact_offset int32 (T+2), contact_pos (n, 3),
// contact_force (n, 3), those of state i from offset[i] to offset[i+1] - 1, world frame [m], [N]; with the loss's gradient
// also grad_qpos, grad_qvel (T+1, nv), grad_ctrl (T, nu), push and push_at (T+1, nbody, 3), see output/replay_signals.h. A file may hold several runs:
// the names of each then end in an underscore and its label. Poses of bodies are not stored, they follow from qpos.
#ifndef TG_OUTPUT_TRAJECTORY_H
#define TG_OUTPUT_TRAJECTORY_H

#include "model/model.h"
#include "output/npz.h"

enum {
  TG_TRAJECTORY_ARRAYS = 11,  ///< of one run
  TG_TRAJECTORY_NAME = 64    ///< bytes of a name with its label
};

/// A run. Nothing is owned.
typedef struct tgTrajectory {
  int steps;                                    ///< T
  const double *q, *v, *u;                      ///< (T+1) x nq, (T+1) x nv, T x nu; u may be NULL when nu or T is 0
  const int *contact_offset;                    ///< T + 2, NULL: contacts are not known
  const double *contact_pos, *contact_force;    ///< 3 a contact
  const double *grad_q, *grad_v, *grad_u;       ///< of the loss: (T+1) x nv, (T+1) x nv, T x nu; grad_q NULL: these and the next are not known
  const double *push, *push_at;                 ///< (T+1) x nbody x 3
} tgTrajectory;

/// Arrays of the run for tgi_npz_write, with their names; label NULL or "": none. Returns how many.
int tgi_trajectory_arrays(const tgModel *model, const tgTrajectory *trajectory, const char *label,
                          tgNpzArray array[TG_TRAJECTORY_ARRAYS], char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME]);

/// Does the file hold a run of that label?
bool tgi_trajectory_has(const tgNpz *npz, const char *label);
/// The run of that label, pointing into npz. TG_ERR_PARSE: an array is missing or not of this model's shape, and is named.
tgStatus tgi_trajectory_find(const tgNpz *npz, const char *path, const tgModel *model, const char *label,
                             tgTrajectory *trajectory, tgError *error);

#endif
