// replay_model.h: replays from a model and its simulation: the shapes once, a frame whenever asked.
#ifndef TG_OUTPUT_REPLAY_MODEL_H
#define TG_OUTPUT_REPLAY_MODEL_H

#include "output/replay.h"
#include "sim/sim.h"

/// Shapes of a model as a replay wants them; names and faces stay the model's.
typedef struct tgReplayModel {
  tgReplayGeom *geom;
  tgReplayMesh *mesh;
  tgReplaySheet *sheet;  ///< of nflex
  double *sheet_pos;     ///< where their vertices are in their bodies
  int *sheet_face;       ///< triangles, counted by sheet
  double *vert;          ///< of all meshes: a sim may have moved those of its hulls (hull_vert)
  tgAllocator alloc;
} tgReplayModel;

/// Fills name, gravity, bodies, geoms and meshes of def. model and store must outlive def. Roles: shapes that are only drawn
/// are visual; beside such on the same body, and in drawing groups from 3 on (MuJoCo's hidden ones), shapes are
/// collision-only; a model that would then show nothing keeps all. allocator may be NULL. TG_ERR_MEMORY.
tgStatus tgi_replay_model(const tgModel *model, const tgAllocator *allocator, tgReplayModel *store, tgReplayShapes *def);
void tgi_replay_model_free(tgReplayModel *store);

#define TG_REPLAY_LEAST_SPEED 1e-3   // [m/s]: impacts of what lies are corrections of rounding, not seen either
#define TG_REPLAY_LEAST 1e-4   // forces that never end would otherwise fill the file with what nobody sees

/// Frames of one run.
struct tgRecorder {
  int nbody, nframe, ncontact;
  int frame_room, contact_room;
  double *body_pos;       ///< nframe x nbody x 3 [m], world
  double *body_quat;      ///< nframe x nbody x 4
  int *contact_offset;    ///< nframe + 1
  double *contact_pos;    ///< ncontact x 3 [m], world
  double *contact_force;  ///< ncontact x 3 [N], world: on the body that can move; where both can, on the one held up
  int nq, nimpact, impact_room;
  int *impact_offset;     ///< nframe + 1
  int *impact_geom;       ///< nimpact x 2
  double *impact_time;    ///< nimpact: after the frame [s]
  double *impact_pos, *impact_impulse;   ///< nimpact x 3 [m], [N s], world: on the body of the second geom
  int nbetween, between_room;
  int *between_offset;    ///< nframe + 1
  double *between_time;   ///< nbetween: after the frame [s]
  double *between_q;      ///< nbetween x nq
  struct tgImpact *told; int told_room;  ///< of one step
  tgAllocator alloc;
};

/// An empty recorder. allocator may be NULL.
void tgi_recorder_init(tgRecorder *recorder, const tgModel *model, const tgAllocator *allocator);
void tgi_recorder_free(tgRecorder *recorder);
/// The trajectory of what was recorded, dt apart; it points into the recorder. stride: the least that gives at most
/// max_frames (0: all).
tgReplayTrajectory tgi_recorder_trajectory(const tgRecorder *recorder, const char *label, double iteration, double dt,
                                           int max_frames);

#endif
