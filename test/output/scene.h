// scene.h: a small replay by closed formulas, with hostile names: a ball thrown, and a tumbling mesh.
#ifndef TG_TEST_OUTPUT_SCENE_H
#define TG_TEST_OUTPUT_SCENE_H

#include <math.h>

#include "output/replay.h"

enum { SCENE_BODIES = 3, SCENE_FRAMES = 161, SCENE_LOSSES = 31, SCENE_CONTACTS = 20, SCENE_IMPACTS = 4 };
#define SCENE_DT 0.005
#define SCENE_NAME "ball </script><script>window.pwned=1</script>"

typedef struct tgtScene {
  double pos[2][SCENE_FRAMES * SCENE_BODIES * 3], quat[SCENE_FRAMES * SCENE_BODIES * 4];
  int offset[SCENE_FRAMES + 1];
  double contact_pos[3 * SCENE_CONTACTS], contact_force[3 * SCENE_CONTACTS];
  int impact_offset[SCENE_FRAMES + 1], impact_geom[2 * SCENE_IMPACTS];   // and as many poses between frames
  double impact_time[SCENE_IMPACTS], impact_pos[3 * SCENE_IMPACTS], impulse[3 * SCENE_IMPACTS];
  double between_pos[SCENE_IMPACTS * SCENE_BODIES * 3], between_quat[SCENE_IMPACTS * SCENE_BODIES * 4];
  double loss_x[SCENE_LOSSES], loss_y[SCENE_LOSSES];
  double vert[12];
  int face[12];
  const char *body_name[SCENE_BODIES];
  tgReplayGeom geom[3];
  tgReplayMesh mesh[1];
  tgReplayTrajectory trajectory[2];
  tgReplayFigure figure[3];
  tgReplayMarker marker[1];
  double push[SCENE_FRAMES * SCENE_BODIES * 3], wave[2 * SCENE_FRAMES], ramp[SCENE_FRAMES - 1];
  const char *wave_part[2];
  tgReplaySignal signal[2];
  tgReplayShapes model;
  tgReplayRun run;
  tgReplayDef def;
} tgtScene;

/// Where the ball of trajectory k is at time t [m].
static inline void scene_ball(int k, double t, double p[3]) {
  p[0] = (k == 0 ? 1.0 : 2.0) * t;
  p[1] = (k == 0 ? 0.2 : -0.4) * t;
  p[2] = 0.5 + (k == 0 ? 2.4 : 4.0) * t - 0.5 * 9.81 * t * t;
}

static inline void scene_motion(tgtScene *s) {
  for (int f = 0; f < SCENE_FRAMES; f++) {
    double t = f * SCENE_DT;
    for (int b = 0; b < SCENE_BODIES; b++) {
      int i = f * SCENE_BODIES + b;
      double *q = &s->quat[4 * i];
      q[0] = b == 2 ? cos(2 * t) : 1;
      q[1] = b == 2 ? 0.6 * sin(2 * t) : 0;
      q[2] = 0;
      q[3] = b == 2 ? 0.8 * sin(2 * t) : 0;
      for (int k = 0; k < 2; k++) {
        double *p = &s->pos[k][3 * i];
        p[0] = p[1] = p[2] = 0;
        if (b == 1) scene_ball(k, t, p);
        if (b == 2) p[0] = -0.5, p[2] = 0.4;
      }
    }
    // contacts in the first 20 frames, one each
    s->offset[f] = f < SCENE_CONTACTS ? f : SCENE_CONTACTS;
  }
  s->offset[SCENE_FRAMES] = SCENE_CONTACTS;
  for (int i = 0; i < SCENE_CONTACTS; i++) {
    s->contact_pos[3 * i] = s->contact_pos[3 * i + 1] = s->contact_pos[3 * i + 2] = 0;
    s->contact_force[3 * i] = 0.25 * i;
    s->contact_force[3 * i + 1] = 0;
    s->contact_force[3 * i + 2] = 10;
  }
  for (int i = 0; i < SCENE_LOSSES; i++) {
    s->loss_x[i] = i;
    s->loss_y[i] = 4 * exp(-0.2 * i);
  }
  s->loss_y[3] = NAN;
}

// impacts of the last trajectory after frames 2, 7 (two of them) and 9, and poses at their times
static inline void scene_impacts(tgtScene *s) {
  static const int frame[SCENE_IMPACTS] = {2, 7, 7, 9};
  for (int f = 0, n = 0; f <= SCENE_FRAMES; f++) {
    s->impact_offset[f] = n;
    while (n < SCENE_IMPACTS && frame[n] == f) n++;
  }
  for (int i = 0; i < SCENE_IMPACTS; i++) {
    s->impact_time[i] = (i + 1) * 0.21 * SCENE_DT;
    s->impact_geom[2 * i] = i % 2;
    s->impact_geom[2 * i + 1] = 2;
    for (int k = 0; k < 3; k++) {
      s->impact_pos[3 * i + k] = 0.1 * i - 0.3 * k;
      s->impulse[3 * i + k] = 7 - 2.5 * i + 0.01 * k;
    }
    for (int b = 0; b < SCENE_BODIES; b++) {
      double *p = s->between_pos + 3 * (i * SCENE_BODIES + b), *q = s->between_quat + 4 * (i * SCENE_BODIES + b);
      p[0] = p[1] = p[2] = q[1] = q[2] = 0;
      if (b == 1) scene_ball(1, frame[i] * SCENE_DT + s->impact_time[i], p);
      q[0] = cos(0.3 * i);
      q[3] = sin(0.3 * i);
    }
  }
}

/// Fills the scene; it points into itself, so it stays where it is.
static inline void scene_make(tgtScene *s) {
  *s = (tgtScene){
      .vert = {0.2, 0.2, 0.2, -0.2, -0.2, 0.2, -0.2, 0.2, -0.2, 0.2, -0.2, -0.2},
      .face = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3},
      .body_name = {"world", SCENE_NAME, NULL},
      .geom = {{"floor", 0, TG_GEOM_PLANE, {0, 0, 1}, {0, 0, 0}, {1, 0, 0, 0}, {0.5f, 0.5f, 0.5f, 1}, -1, TG_REPLAY_BOTH, {1, 1, 1}},
               {"ball", 1, TG_GEOM_SPHERE, {0.08, 0, 0}, {0, 0, 0}, {1, 0, 0, 0}, {1, 0, 1, 1}, -1, TG_REPLAY_BOTH, {1, 1, 1}},
               {NULL, 2, TG_GEOM_MESH, {0, 0, 0}, {0, 0, 0}, {1, 0, 0, 0}, {0.2f, 0.6f, 0.4f, 1}, 0, TG_REPLAY_VISUAL, {1.5, 1, 0.5}}},
      .marker = {{"target", {1.25, -0.5, 0.75}, 0.05, {0, 0.5f, 0, 1}}},
      .figure = {{"final loss", 0.0099, NULL}, {"spoilt", NAN, NULL}, {"optimiser", 0, "adam"}},
  };
  scene_motion(s);
  scene_impacts(s);
  for (int f = 0; f < SCENE_FRAMES; f++) {
    for (int k = 0; k < 3 * SCENE_BODIES; k++) s->push[f * 3 * SCENE_BODIES + k] = 1e-6 * (k - 4) * f;
    s->wave[2 * f] = 3 * sin(0.1 * f);
    s->wave[2 * f + 1] = 7;
    if (f < SCENE_FRAMES - 1) s->ramp[f] = -2e5 + 1e3 * f;
  }
  s->wave_part[0] = "wave <i>";
  s->wave_part[1] = NULL;
  s->signal[0] = (tgReplaySignal){"waves", "m", 2, s->wave_part, SCENE_FRAMES, s->wave};
  s->signal[1] = (tgReplaySignal){"ramp", NULL, 1, NULL, SCENE_FRAMES - 1, s->ramp};
  s->mesh[0] = (tgReplayMesh){s->vert, 4, s->face, 4};
  for (int k = 0; k < 2; k++)
    s->trajectory[k] = (tgReplayTrajectory){ .label = k == 0 ? "first iterate" : "last iterate",
                                             .iteration = k == 0 ? 0 : SCENE_LOSSES - 1, .dt = SCENE_DT,
                                             .nframe = SCENE_FRAMES, .stride = 1, .body_pos = s->pos[k],
                                             .body_quat = s->quat, .contact_offset = s->offset,
                                             .contact_pos = s->contact_pos, .contact_force = s->contact_force,
                                             .push = k == 1 ? s->push : NULL, .push_at = k == 1 ? s->pos[1] : NULL,
                                             .nsignal = 2, .signal = s->signal};
  tgReplayTrajectory *last = &s->trajectory[1];
  last->impact_offset = last->between_offset = s->impact_offset;
  last->impact_time = last->between_time = s->impact_time;
  last->impact_geom = s->impact_geom;
  last->impact_pos = s->impact_pos;
  last->impact_impulse = s->impulse;
  last->between_pos = s->between_pos;
  last->between_quat = s->between_quat;
  s->model = (tgReplayShapes){.name = "scene", .gravity = {0, 0, -9.81}, .nbody = SCENE_BODIES, .body_name = s->body_name, .ngeom = 3,
                              .geom = s->geom, .nmesh = 1, .mesh = s->mesh};
  s->run = (tgReplayRun){.nmarker = 1, .marker = s->marker, .track = 1, .nloss = SCENE_LOSSES, .loss_x = s->loss_x, .loss_y = s->loss_y,
                         .loss_label = "loss", .nfigure = 3, .figure = s->figure};
  s->def = (tgReplayDef){.title = "A throw <b>& more</b>", .nmodel = 1, .model = &s->model, .nrun = 1, .run = &s->run, .ntrajectory = 2,
                         .trajectory = s->trajectory};
}

#endif
