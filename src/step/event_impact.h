// event_impact.h: shared by the files of the event stepper (event.h) alone: impacts, what of the closed rows has a part in
// them, and which bodies stay where they are after too many.
#ifndef TG_STEP_EVENT_IMPACT_H
#define TG_STEP_EVENT_IMPACT_H

#include "step/event.h"

// ---- event_impact.c ----

/// The rows of all that is closed at the start in the sim. The next four are of these.
tgStatus tgi_event_closed_rows(tgSim *s);
/// The same where the contacts in the sim are those at the start, as they are after an impact.
tgStatus tgi_event_closed_rows_anew(tgSim *s);
/// The row closes faster than the rest speed, and nothing held it.
bool tgi_event_is_fast(const tgSim *s, int row);
/// The first row that is fast, -1: none; *pressing: one before it, or any, presses. Rows of bodies that stay where they are do neither.
int tgi_event_first_fast(const tgSim *s, bool *pressing);
/// The impact of what is closed, in the islands of the row or, -1, of all that presses: the next piece, and its end the next start.
tgStatus tgi_event_impact(tgSim *s, int row);
/// The same of the row of who, which a flow has met; the closed rows are made first.
tgStatus tgi_event_impact_of(tgSim *s, const tgiWho *who);

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

// ---- event_crowd.c ----

/// The dofs that are marked, and what they meet, are a crowd for the rest of the step.
void tgi_event_crowd(tgSim *s, const int8_t *mark);
/// Both sides of the contact or limit are of a crowd, or stand still.
bool tgi_event_in_crowd(const tgSim *s, const tgiWho *who);
/// The flow in the sim, of that length, meets who, which is in a crowd: the next flow of the same length holds it, and what else of crowds
/// it goes into; what is closed at its start is in the sim. *more false: who is not seen there, and nothing is changed.
tgStatus tgi_event_hold_crowd(tgSim *s, tgReal length, const tgiWho *who, bool *more);

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
/// Islands that have had several pieces are crowds, by the rows of what is closed in the sim.
tgStatus tgi_event_crowd_busy(tgSim *s);
/// What a flow was halved for: one more piece, at least, for what the contact is of.
void tgi_event_note_cost(tgSim *s, const tgiWho *who);
/// An impact of the dofs that are marked: of what meets, or not. They stall after too many, or if some of it does already.
void tgi_event_note_impact(tgSim *s, const int8_t *dofs, bool meets);
/// The solve of such an impact had no answer: they stall after too many of those.
void tgi_event_note_unanswered(tgSim *s, const int8_t *dofs);

#endif
