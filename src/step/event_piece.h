// event_piece.h: shared by the files of the event stepper (event.h) alone: a piece of a step begins and is kept.
#ifndef TG_STEP_EVENT_PIECE_H
#define TG_STEP_EVENT_PIECE_H

#include "step/event.h"

/// The next rows are of what goes by these names (s->held), which stay where they are.
void tgi_event_hold(tgSim *s, const uint64_t *name, int count);
/// The start is at (q, v): where its bodies are. Masses and forces are made where they are needed, of flows in their middle.
void tgi_event_start_at(tgSim *s, const tgReal *q, const tgReal *v);
/// The next piece, which is at the start in the sim.
tgiPiece *tgi_piece_open(tgSim *s, tgiPieceKind kind);
/// What was solved for in the piece that was opened last, which is in the sim, is kept with it.
tgStatus tgi_piece_keep(tgSim *s);

#endif
