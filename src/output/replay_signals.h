// replay_signals.h: a stored run as a replay shows it: poses from its coordinates, and signals to plot.
#ifndef TG_OUTPUT_REPLAY_SIGNALS_H
#define TG_OUTPUT_REPLAY_SIGNALS_H

#include "output/replay_model.h"

enum { TG_REPLAY_SIGNALS = 9, TG_REPLAY_FRAMES = 20000 };   // frames of a run that are written at most; of a longer one
                                                            // every second, third, ...

/// A run made ready; what trajectory points to is in here and in the arrays that were given.
typedef struct tgReplayShown {
  tgRecorder recorder;
  double *energy;                 ///< nframe x 2: kinetic (with armature); potential of gravity with its zero at the
                                  ///< world's origin, less what is compensated, and of springs [J]
  double *between;                ///< poses between states: positions of bodies, then quaternions
  char (*part)[64];               ///< names of coordinates, velocities, controls, activations, energies
  const char **part_name;
  tgReplaySignal signal[TG_REPLAY_SIGNALS];
  tgReplayTrajectory trajectory;
  tgAllocator alloc;
} tgReplayShown;

/// Goes through the stored states with the sim, whose state is lost. Signals: q, v, ctrl, act, energy; with gradients also
/// those in q, v, ctrl and act. A state that the sim refuses is its error. TG_ERR_MEMORY.
tgStatus tgi_replay_show(tgSim *sim, const tgTrajectory *stored, const char *label, double iteration, double dt, tgReplayShown *shown,
                         tgError *error);
void tgi_replay_shown_free(tgReplayShown *shown);

/// Energies of the sim's state, whose frames and mass matrix are up to date (tg_sim_forward): {kinetic, potential} [J].
void tgi_replay_energy(const tgSim *sim, double energy[2]);

#endif
