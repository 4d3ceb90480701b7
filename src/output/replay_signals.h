// replay_signals.h: a stored run as a replay shows it: poses from its coordinates, and signals to plot.
#ifndef TG_OUTPUT_REPLAY_SIGNALS_H
#define TG_OUTPUT_REPLAY_SIGNALS_H

#include "output/replay_model.h"
#include "output/trajectory.h"

enum { TG_REPLAY_SIGNALS = 7, TG_REPLAY_FRAMES = 20000 };   // frames of a run that are written at most; of a longer one every second, third, ...

/// A run made ready; what trajectory points to is in here and in the arrays that were given.
typedef struct tgReplayShown {
  tgRecorder recorder;
  double *energy;                 ///< nframe x 2: kinetic (with armature); potential of gravity with its zero at the world's origin, less what is compensated, and of springs [J]
  char (*part)[64];               ///< names of coordinates, velocities, controls, energies
  const char **part_name;
  tgReplaySignal signal[TG_REPLAY_SIGNALS];
  tgReplayTrajectory trajectory;
  tgAllocator alloc;
} tgReplayShown;

/// The recorder's contacts as those of a trajectory of that many frames; none of a run that was not recorded to its end.
void tgi_replay_contacts(const tgRecorder *recorder, tgTrajectory *trajectory);

/// Goes through the stored states with the sim, whose state is lost. Signals: q, v, ctrl, energy; with gradients also those in q, v and ctrl.
/// A state that the sim refuses is its error. TG_ERR_MEMORY.
tgStatus tgi_replay_show(tgSim *sim, const tgTrajectory *stored, const char *label, double iteration, double dt, tgReplayShown *shown,
                         tgError *error);
void tgi_replay_shown_free(tgReplayShown *shown);

/// Energies of the sim's state, whose frames and mass matrix are up to date (tg_sim_forward): {kinetic, potential} [J].
void tgi_replay_energy(const tgSim *sim, double energy[2]);
/// Gradient of a loss in a push, an impulse on each body at its centre of mass, from its gradient gv in the velocities: J M^-1 gv, with J the Jacobian of
/// that centre. push, at (nbody x 3): gradient [loss / (N s)] and centre [m], world frame. work: 7 nv. The sim's frames are up to date; its accelerations
/// are lost. An error is the sim's.
tgStatus tgi_replay_push(tgSim *sim, const double *gv, double *push, double *at, double *work);

#endif
