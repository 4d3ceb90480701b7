// event_impact.h: shared by the files of the event stepper (event.h) alone: what of the closed rows has a part in an impact, and which
// bodies stay where they are after too many.
#ifndef TG_STEP_EVENT_IMPACT_H
#define TG_STEP_EVENT_IMPACT_H

#include "step/event.h"

/// The rows of all that is closed at the start in the sim.
tgStatus tgi_event_closed_rows(tgSim *s);

// ---- event_coupled.c ----

/// The last flow held the row.
bool tgi_event_was_held(const tgSim *s, int row);
/// What becomes of a closed row in an impact, as bits.
enum { TGI_EVENT_DROPPED = 1, TGI_EVENT_BOUNCES = 2 };
/// By such bytes the row has a part in the impact in the islands that are marked, and meets fast.
bool tgi_event_meets_too(const tgSim *s, const bool *island, int row, const int8_t *flag);
/// What bounces and what is left out, a byte for each row in the sim, of an impact in the islands that are marked: of all of what presses
/// or, row >= 0, of what meets.
tgStatus tgi_event_set_flags(tgSim *s, const bool *island, int row, int8_t *flag);
/// The impact of the closed rows in the sim by such bytes. record: of its answers, NULL: there is none.
tgStatus tgi_event_impact_by_flags(tgSim *s, const int8_t *flag, const void *record);

// ---- event_stall.c ----

/// A byte for each dof, 0; NULL: no room.
int8_t *tgi_event_dof_marks(tgSim *s);
/// The dofs that are marked stay where they are for the rest of the step; false: they do already.
bool tgi_event_stall(tgSim *s, const int8_t *mark);
/// The island of that which a flow comes to no end with stalls. The rows in the sim are of what is closed afterwards. *any false: nothing
/// more does.
tgStatus tgi_event_stall_who(tgSim *s, const tgiWho *who, bool *any);
/// The same of the island that has had most pieces, or of all that have had any, by the rows of what is closed in the sim.
tgStatus tgi_event_stall_busy(tgSim *s, bool all);
/// What a flow was halved for: one more piece, at least, for what the contact is of.
void tgi_event_note_cost(tgSim *s, const tgiWho *who);
/// An impact of the dofs that are marked: of what meets, or not. They stall after too many, or if some of it does already.
void tgi_event_note_impact(tgSim *s, const int8_t *dofs, bool meets);
/// The solve of such an impact had no answer: they stall after too many of those.
void tgi_event_note_unanswered(tgSim *s, const int8_t *dofs);

#endif
