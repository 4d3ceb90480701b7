// trajectory.h: trajectory.npz, one run of a model: states, controls, and the frames that a replay shows.
//
// Arrays: timestep (), qpos (T+1, nq), qvel (T+1, nv), ctrl (T, nu); with frames also body_pos (T+1, nbody, 3), body_quat
// (T+1, nbody, 4), contact_offset int32 (T+2), contact_pos (n, 3), contact_force (n, 3). World frame, SI, quaternions w first.
#ifndef TG_OUTPUT_TRAJECTORY_H
#define TG_OUTPUT_TRAJECTORY_H

#include "output/npz.h"
#include "output/replay_model.h"

/// A run. When read from a file, all pointers are into npz.
typedef struct tgTrajectory {
  int steps;                 ///< T
  double h;                  ///< step size [s]
  const double *q, *v, *u;   ///< (T+1) x nq, (T+1) x nv, T x nu; u may be NULL when nu is 0
  tgReplayTrajectory frames; ///< nframe is T + 1, or 0: no frames; label and iteration are not stored
  tgNpz npz;                 ///< owner of what was read
} tgTrajectory;

/// Writes a run of the model, whole or not at all. error may be NULL.
tgStatus tgi_trajectory_write(const char *path, const tgModel *model, const tgTrajectory *trajectory, tgError *error);
/// Reads one of that model; arrays of other shapes are errors that name them. max_bytes as in tgi_npz_read.
tgStatus tgi_trajectory_read(const char *path, const tgModel *model, size_t max_bytes, const tgAllocator *allocator,
                             tgTrajectory *trajectory, tgError *error);
void tgi_trajectory_free(tgTrajectory *trajectory);

#endif
