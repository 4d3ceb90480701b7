// replay_pack.h: the frames of a trajectory as compressed blocks of a replay. Format: docs/replay.md, "Blocks".
#ifndef TG_OUTPUT_REPLAY_PACK_H
#define TG_OUTPUT_REPLAY_PACK_H

#include <stdio.h>

#include "output/replay.h"

enum {
  TG_REPLAY_BLOCK = 512,        ///< frames of a block, the last may have fewer
  TG_REPLAY_TURN_BITS = 16,     ///< a quaternion's parts are whole multiples of 2^-16
  TG_REPLAY_PLACE_BITS = 22,    ///< positions are whole multiples of about the extent over 2^22
  TG_REPLAY_LEVELS = 65535      ///< of a signal, from the least to the largest value of its curve
};

/// What the numbers of a trajectory's blocks are measured by.
typedef struct tgReplayScale {
  int nframe;                   ///< that are written
  size_t ncontact;              ///< of those frames
  size_t nimpact, nbetween;     ///< of all
  double step, base[3];         ///< position = base + step * count [m]
  double box[6];                ///< of the origins of the bodies that move: least, largest [m]; of all bodies when nothing moves
  double *low, *high;           ///< of every curve of every signal, in order
} tgReplayScale;

/// Frames of the trajectory that are written: every stride-th.
int tgi_replay_stride(const tgReplayTrajectory *t);
/// Fills scale; moves (nbody) gets 1 for bodies whose pose changes. TG_ERR_MEMORY.
tgStatus tgi_replay_scale(const tgReplayTrajectory *t, int nbody, tgReplayScale *scale, char *moves);
void tgi_replay_scale_free(tgReplayScale *scale);
/// Writes block k (frames k * TG_REPLAY_BLOCK on) as base64 of a zlib stream. TG_ERR_MEMORY.
tgStatus tgi_replay_block(FILE *out, const tgReplayTrajectory *t, int nbody, const tgReplayScale *scale, int k);

#endif
