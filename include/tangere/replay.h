// replay.h: motions kept, and shown: trajectories with contact forces and gradients as arrays of an .npz file, and
// pages to look at, one HTML file each with a 3D view, contact forces, loss curves and signals (docs/replay.md).
#ifndef TANGERE_REPLAY_H
#define TANGERE_REPLAY_H

#include "tangere/data.h"
#include "tangere/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A motion of a model: T steps. Nothing is owned. World frame. Poses of bodies are not stored, they follow from q.
typedef struct tgTrajectory {
  int steps;                       ///< T
  const double *q, *v, *u;         ///< states (T+1) x nq and (T+1) x nv, controls T x nu; u may be NULL when nu or T is 0
  const double *act;               ///< activations, (T+1) x na; may be NULL when na is 0
  const int *contact_offset;       ///< T + 2: contacts of state i are contact_offset[i] to contact_offset[i+1] - 1; NULL: not known
  const double *contact_pos, *contact_force;   ///< 3 a contact: where it acts [m], and the force on the body that is shown pushed [N]
  const int *impact_offset;        ///< T + 2: impacts (tg_sim_impacts) of the step from state i, as contact_offset; NULL: none are known
  const double *impact_time;       ///< of each, after its state [s]
  const int *impact_geom;          ///< 2 of each: the geoms
  const double *impact_pos, *impact_impulse;   ///< 3 of each: where, and the impulse on the body of the second geom [N s]
  const int *between_offset;       ///< T + 2: poses between state i and the next (tg_sim_poses_within); NULL: the way is straight
  const double *between_time;      ///< of each, after its state [s]
  const double *between_q;         ///< of each, nq
  const double *grad_q, *grad_v, *grad_u;      ///< gradient of a loss: (T+1) x nv (tangent), (T+1) x nv, T x nu; grad_q
                                               ///< NULL: these and the next two are not known
  const double *grad_act;          ///< with them, in the activations: (T+1) x na; may be NULL when na is 0
  const double *push, *push_at;    ///< (T+1) x nbody x 3: the gradient in an impulse on each body, and where it acts
                                   ///< (tg_sim_impulse_gradient)
} tgTrajectory;

/// Sizes for tg_trajectory_arrays.
enum {
  TG_TRAJECTORY_ARRAYS = 21,       ///< arrays of one motion
  TG_TRAJECTORY_NAME = 64          ///< bytes of a name with its label
};
/// The motion as arrays for tg_npz_write, with their names: qpos (T+1, nq), qvel (T+1, nv), ctrl (T, nu); act (T+1, na)
/// where the model has activations; with contacts contact_offset int32 (T+2), contact_pos and contact_force (n, 3);
/// where there are impacts impact_offset int32 (T+2), impact_time (n), impact_geom int32 (n, 2), impact_pos and impact_impulse
/// (n, 3); where there are poses between states between_offset int32 (T+2), between_time (n), between_qpos (n, nq);
/// with gradients grad_qpos and grad_qvel (T+1, nv), grad_ctrl (T, nu), push and push_at (T+1, nbody, 3), grad_act
/// (T+1, na). A file may hold several motions: the names of each then end in an underscore and its label; label NULL or
/// "": none. Returns how many arrays.
TG_API int tg_trajectory_arrays(const tgModel *model, const tgTrajectory *trajectory, const char *label,
                                tgNpzArray array[TG_TRAJECTORY_ARRAYS],
                                char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME]);
/// Does the file hold a motion of that label?
TG_API bool tg_trajectory_has(const tgNpz *npz, const char *label);
/// The motion of that label, pointing into npz; `path` is the file's in messages. TG_ERR_PARSE: an array is missing or
/// not of this model's shape, and is named.
TG_API tgStatus tg_trajectory_find(const tgNpz *npz, const char *path, const tgModel *model, const char *label,
                                   tgTrajectory *trajectory, tgError *error);

/// The pose q (nq) at a time [s] of the motion, whose states are h [s] apart: on the way through the poses between its states where it has
/// some, else straight in the joints from state to state. TG_ERR_ARG: h is not positive, or the time not within the motion.
/// TG_ERR_MEMORY.
TG_API tgStatus tg_trajectory_pose(const tgModel *model, const tgTrajectory *trajectory, double h, double time, double *q);

/// Contact forces and impacts of a motion while it runs. Grows by itself; not for use inside a step.
typedef struct tgRecorder tgRecorder;
/// An empty recorder. allocator NULL: malloc. NULL: no memory or no model, see error (may be NULL).
TG_API tgRecorder *tg_recorder_create(const tgModel *model, const tgAllocator *allocator, tgError *error);
TG_API void tg_recorder_free(tgRecorder *recorder);
TG_API void tg_recorder_clear(tgRecorder *recorder);  ///< Forgets all states, keeps the room.
/// Adds the next state. contacts: with the contact forces of the last step (right after a step, or in a loss callback
/// at t < T, the sim shows the start of that step, whose forces these are), but for those smaller than a
/// ten-thousandth of the weight, on Earth, of the lighter tree; a force is that on the body that can move, where both
/// can on the one held up. With them the poses between the states of that step, and its impacts but for
/// impulses that would give the lighter tree less than 1 mm/s. TG_ERR_MEMORY; else an error of
/// tg_sim_impacts or tg_sim_poses_within.
TG_API tgStatus tg_recorder_add(tgRecorder *recorder, tgSim *sim, bool contacts);
/// The contacts, impacts and poses between states that were recorded, as those of the trajectory, which points into the recorder; none
/// of a motion whose T + 1 states were not all recorded.
TG_API void tg_recorder_contacts(const tgRecorder *recorder, tgTrajectory *trajectory);

/// A figure in the page's table.
typedef struct tgReplayFigure {
  const char *name;                ///< what it is
  double value;                    ///< shown where text is NULL
  const char *text;                ///< shown instead of value when not NULL
} tgReplayFigure;

/// A point that stands still, as a target.
typedef struct tgReplayMarker {
  const char *name;                ///< for the legend, may be NULL
  double pos[3];                   ///< world [m]
  double radius;                   ///< [m]; 0: chosen by the viewer
  float rgba[4];                   ///< colour, 0..1
} tgReplayMarker;

/// What a page shows of a run beside its motions. Zero-initialise.
typedef struct tgReplayInfo {
  const char *label;               ///< shown where there are several runs; may be NULL
  int nmarker; const tgReplayMarker *marker;  ///< targets
  int track;                       ///< body whose path is drawn; 0: the first that moves
  int nloss; const double *loss_x, *loss_y;   ///< loss curve over iterations; 0: none; a y that is not finite leaves a gap
  const char *loss_label;          ///< of its axis
  const double *loss_stage;        ///< nloss: the stage that each is of, finite; what does not compare is drawn apart. NULL: one
  int nband; const double *band;   ///< trust in gradients on the way: a place on the loss curve and the losses between which the gradient
                                   ///< there foretells them, 3 numbers each, finite; 0: none
  int nfigure; const tgReplayFigure *figure;  ///< figures, a line each
} tgReplayInfo;

/// A page in the making: runs, each of one model, with motions.
typedef struct tgReplay tgReplay;
/// An empty page. title may be NULL, and is not copied. NULL: no memory, see error (may be NULL).
TG_API tgReplay *tg_replay_create(const char *title, tgError *error);
TG_API void tg_replay_free(tgReplay *replay);
/// Begins a run; info NULL: nothing beside its motions. What info points to has to stay until the page is written.
/// TG_ERR_MEMORY.
TG_API tgStatus tg_replay_add_run(tgReplay *replay, const tgReplayInfo *info, tgError *error);
/// Adds a motion to the run begun last, made by steps of h [s]. Its states are gone through with the sim, whose
/// parameters count (shapes are drawn with the sizes that it has) and whose state is lost; the model has to stay until
/// the page is written, as have the motion and its label. iteration: its place on the loss curve, NAN: none.
/// TG_ERR_STATE: no run was begun; a state that the sim refuses is its error.
TG_API tgStatus tg_replay_add_motion(tgReplay *replay, tgSim *sim, const tgTrajectory *motion, const char *label,
                                     double iteration, double h, tgError *error);
/// Writes the page at `path`, whole or not at all; of the motions the last is shown, and the first is its ghost.
/// viewer: the page's template viewer.html; NULL: $TANGERE_VIEWER, else ../share/tangere/viewer.html from the program's
/// folder, else that of the tree in which libtangere.so lies. TG_ERR_FILE or TG_ERR_DISK when a file cannot be read or written,
/// TG_ERR_STATE: there is no motion; a pose that is not finite, or too far away to be drawn (1e30 m), is an error that
/// names motion, state and body. error may be NULL.
TG_API tgStatus tg_replay_write(const tgReplay *replay, const char *viewer, const char *path, tgError *error);

/// Runs the rollout once more, without its loss and gradient, and writes a page of it at `path`, whole or not at all:
/// q0, v0, u, policy and setup of `run` count. title may be NULL. viewer: as tg_replay_write.
/// The rollout's status when it fails, TG_ERR_FILE or TG_ERR_DISK when a file cannot be read or written; error (may be NULL) says what.
TG_API tgStatus tg_replay_rollout(tgRollout *rollout, const tgRolloutRun *run, const char *title, const char *viewer,
                                  const char *path, tgError *error);

#ifdef __cplusplus
}
#endif
#endif
