// replay.h: a rollout as a page to look at: one HTML file with a 3D view, contact forces and signals (docs/replay.md).
#ifndef TANGERE_REPLAY_H
#define TANGERE_REPLAY_H

#include "tangere/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Runs the rollout once more, without its loss and gradient, and writes a page of it at `path`, whole or not at all: q0, v0, u, policy and setup of `run`
/// count. title may be NULL. viewer: the page's template viewer.html; NULL: $TANGERE_VIEWER, else ../share/tangere/viewer.html from the program's folder.
/// The rollout's status when it fails, TG_ERR_FILE when a file cannot be read or written; error (may be NULL) says what.
TG_API tgStatus tg_replay_rollout(tgRollout *rollout, const tgRolloutRun *run, const char *title, const char *viewer, const char *path, tgError *error);

#ifdef __cplusplus
}
#endif
#endif
