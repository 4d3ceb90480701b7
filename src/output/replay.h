// replay.h: writes replay.html, the viewer with trajectories in it. Format: docs/replay.md.
//
// Plain arrays in, no model: a caller with a model fills the def from it. World frame, SI units, quaternions w first.
#ifndef TG_OUTPUT_REPLAY_H
#define TG_OUTPUT_REPLAY_H

#include "tangere/replay.h"

/// What a geom is drawn for. Collision-only shapes are hidden until asked for.
typedef enum tgReplayRole { TG_REPLAY_BOTH, TG_REPLAY_VISUAL, TG_REPLAY_COLLISION } tgReplayRole;

typedef struct tgReplayGeom {
  const char *name;                ///< may be NULL
  int body;
  tgGeomType type;
  double size[3];                  ///< MuJoCo's
  double pos[3], quat[4];          ///< in the body's frame
  float rgba[4];
  int mesh;                        ///< index, -1 unless type is mesh
  tgReplayRole role;
  double scale[3];                 ///< of a mesh's vertices, along the geom's axes; read for meshes alone
} tgReplayGeom;

typedef struct tgReplayMesh {
  const double *vert; int nvert;   ///< 3 nvert
  const int *face; int nface;      ///< 3 nface, counter-clockwise from outside
} tgReplayMesh;

/// A sheet of triangles between points of bodies, drawn from both sides.
typedef struct tgReplaySheet {
  int nvert; const int *body; const double *pos;   ///< nvert, and 3 nvert: in that body's frame
  int nface; const int *face;                      ///< 3 nface
  float rgba[4];
} tgReplaySheet;

/// Numbers over the frames, for a plot.
typedef struct tgReplaySignal {
  const char *name, *unit;         ///< unit may be NULL
  int npart; const char *const *part;   ///< curves and their names; part, or one of it, may be NULL
  int nrow;                        ///< nframe, or nframe - 1 where the last frame has none
  const double *data;              ///< nrow x npart
} tgReplaySignal;

typedef struct tgReplayTrajectory {
  const char *label;
  int run;                         ///< index
  double iteration;                ///< its x on the run's loss curve; NaN: none
  double dt;                       ///< between the frames given here [s]
  int nframe;                      ///< given here
  int stride;                      ///< every stride-th frame is written; 0 and 1: all
  const double *body_pos;          ///< nframe x nbody x 3 [m]
  const double *body_quat;         ///< nframe x nbody x 4
  const int *contact_offset;       ///< nframe + 1; contacts of frame i: offset[i] to offset[i+1]; NULL: none shown
  const double *contact_pos;       ///< 3 a contact [m]
  const double *contact_force;     ///< 3 a contact, on the body that is shown pushed [N]
  const int *impact_offset;        ///< nframe + 1, as contact_offset: impacts between a frame and the next; NULL: none shown
  const double *impact_time;       ///< of each, after its frame [s]
  const int *impact_geom;          ///< 2 of each
  const double *impact_pos, *impact_impulse;   ///< 3 of each [m]; on the body of the second geom [N s]
  const int *between_offset;       ///< nframe + 1: poses between a frame and the next; NULL: none
  const double *between_time;      ///< of each, after its frame, rising [s]
  const double *between_pos, *between_quat;    ///< of each, nbody x 3 and nbody x 4
  const double *push;              ///< nframe x nbody x 3: gradient of the loss in a push (impulse) on each body at its centre of mass
                                   ///< [loss / (N s)], world; NULL: none
  const double *push_at;           ///< nframe x nbody x 3: those centres [m]; NULL only when push is
  int nsignal; const tgReplaySignal *signal;
} tgReplayTrajectory;

/// The shapes of one model.
typedef struct tgReplayShapes {
  const char *name;                ///< may be NULL
  double gravity[3];               ///< [m/s^2]; the view's up is against it
  int nbody; const char *const *body_name;   ///< body 0 is the world; the array or a name may be NULL
  int ngeom; const tgReplayGeom *geom;
  int nmesh; const tgReplayMesh *mesh;
  int nsheet; const tgReplaySheet *sheet;
} tgReplayShapes;

/// What belongs to one run: a folder that simulate or optimize wrote.
typedef struct tgReplayRun {
  const char *label;               ///< may be NULL; shown where there are several
  int model;                       ///< index
  int nmarker; const tgReplayMarker *marker;
  int track;                       ///< body whose path is drawn; 0: the first that moves
  int nloss; const double *loss_x, *loss_y;  ///< 0: no curve; a y that is not finite leaves a gap
  const char *loss_label;
  const double *loss_stage;        ///< nloss: the stage of a refinement that each is of; NULL: one
  int nband; const double *band;   ///< 3 each: a place on the curve, and the losses between which the gradient there foretells them
  int nfigure; const tgReplayFigure *figure;
} tgReplayRun;

typedef struct tgReplayDef {
  const char *title;               ///< may be NULL
  int nmodel; const tgReplayShapes *model;
  int nrun; const tgReplayRun *run;
  int ntrajectory; const tgReplayTrajectory *trajectory;   ///< the last is shown, the first is its ghost
} tgReplayDef;

/// Writes the replay at `path`, whole or not at all, from the viewer template. template_path NULL: tgi_replay_template's.
/// A pose that is not finite, or too far away to be drawn (1e30 m), is an error that names trajectory, frame and body. error may be NULL.
tgStatus tgi_replay_write(const tgReplayDef *def, const char *template_path, const char *path, tgError *error);

/// Where the viewer template is: $TANGERE_VIEWER, else ../share/tangere/viewer.html from the executable's folder.
/// TG_ERR_FILE when it is not there: `make build` makes it.
tgStatus tgi_replay_template(char *path, size_t size, tgError *error);

#endif
