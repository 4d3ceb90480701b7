// event.h: the stepper of `toi`: a step in pieces, flows cut where the first contact is met, and the impacts between them.
//
// A piece starts at (q, v) with R left of the step. Bodies meet at a gap delta > 0 (the clearance). Of what is closed there, by its
// gap or because forces held it in the flow before and no impact has parted it since,
//   fast:      closes faster than the rest speed and was not held before: it meets now, in a flow of no length, and impacts;
//   pressing:  closes otherwise: an impact at once, without restitution for what was held;
//   neither:   a flow of s = R/2^k: v' and V by the two problems of tgi_impulse_held_flow (and event_order.h), along
//              q(t) = q (+) (t v + t^2/(2 s) (V - v)),
//              v(t) = v + (t/s)(v' - v), up to the first contact of anything, or to s; solved for anew with the time of that contact as s.
// What is closed may come down to a level between 0 and -delta: a held contact that reaches its level halves s, what else is closed meets
// there. So nothing overlaps at any time, whatever the caps on impacts and on halvings do.
// Based on: [math/toi].
#ifndef TG_STEP_EVENT_H
#define TG_STEP_EVENT_H

#include "coll/flight.h"
#include "contact/rows.h"
#include "step/event_order.h"
#include "step/impulse.h"

extern const tgStepper tgi_event;

/// Of an island: at most so many impacts in a step have restitution, so many have a time of their own (event_crowd.c), so many are
/// made, and so many of them with a solve that has no answer. Of the scene: halvings of a flow; pieces.
enum { TGI_EVENTS_BOUNCE = 32, TGI_EVENTS_OWN = 64, TGI_EVENTS = 256, TGI_UNANSWERED = 16, TGI_HALVINGS = 20 };
enum { TGI_PIECES = 2 * TGI_EVENTS + 40 };
/// With so few pieces left islands that have had TGI_PIECES_EACH of them are crowds; with fewer the island that has had most stays where it
/// is, and another one after each few more; of the last ones all islands that have had any do.
enum { TGI_PIECES_BUSY = 100, TGI_PIECES_CROWDED = 36, TGI_PIECES_EACH = 8, TGI_PIECES_LAST = 12 };

/// A flow; one whose length is the time at which a contact meets; one that is cut where a contact meets, of which its length knows nothing;
/// an impact.
typedef enum tgiPieceKind { TGI_PIECE_FLOW, TGI_PIECE_MEETING, TGI_PIECE_CUT, TGI_PIECE_IMPACT } tgiPieceKind;

typedef struct tgiPiece {
  tgiPieceKind kind;
  int halvings;          // k
  tgiWho who;            // that meets
  double share;          // of the clearance, at which: 1, or of what was closed less
  int nrow;              // rows; of an impact those closed, of which the record says what becomes of them
  bool at_start;         // of a flow: its rows are those at its start
  int nheld;             // names of what a flow holds, of what was closed at an impact though not by its gap
} tgiPiece;

/// What the stepper keeps of a step: its pieces, and of each where it starts and what was solved for.
typedef struct tgiEvents {
  int n, nheld, nstays, nclosed, nstart;
  bool still;            // the last piece was an impact of what presses, and made none of it slower
  bool made;             // the one piece of the step is in the sim as it was made
  bool loaded;           // the one piece of the step is in the sim as tgi_piece_load leaves it
  bool at_start;         // rows of the next flow are those at its start, whatever of them is ahead
  bool crowd;            // there is one, since some piece of the step
  int looks;             // at pairs, in all searches of the step
  double reach;          // the longest flow that came through since something sank in one; INFINITY: nothing has
  int through;           // so many have come through at once since
  double fastest;        // of the path that was searched last: no two points near each other faster
  tgiPiece *piece;       // TGI_PIECES
  tgReal *q, *v;         // TGI_PIECES x nq, nv
  tgReal *s, *t;         // TGI_PIECES: length solved for, and run through; of a meeting the same but for rounding
  char *record;          // TGI_PIECES x record_bytes
  size_t record_bytes;
  int *stalled;          // nv: the piece from which the dof stays where it is
  int *straight;         // nv: the piece from which its path is straight, and what it meets is held before it does
  int *met, *cost;       // nv: impacts of what meets in the dof's island, and those and halvings that it had pieces for
  int *unanswered;       // nv: impacts of the dof's island in which a solve had no answer
  int crowded;           // pieces after which islands become crowds, or the next one stalls
  int stuck;             // a dof of the island that stalled first, -1: none
  uint64_t *names;       // TGI_PIECES x cap.nrow: see nheld of a piece
  uint64_t *held;        // cap.nrow: names of what the last flow held
  uint64_t *stays;       // cap.nrow: of those that it held by a force, whose islands nothing has hit since
  tgiClasses last;       // of the solve before, where the step has not ended with it
  tgiClosed *closed;     // cap.ncon: what is closed at the start of the flow
  tgiStartPoint *start;  // cap.ncon: all contacts there
  int8_t *rests;         // cap.ncon: it is held
  tgReal *from, *to;     // nv: rates of the path at its ends
  tgiOrder order;        // of the flow in the sim
} tgiEvents;

static inline tgiEvents *tgi_events(const tgSim *s) { return s->own; }
static inline tgReal *tgi_piece_q(const tgSim *s, int k) { return tgi_events(s)->q + (size_t)k * (size_t)s->m.nq; }
static inline tgReal *tgi_piece_v(const tgSim *s, int k) { return tgi_events(s)->v + (size_t)k * (size_t)s->m.nv; }
/// Of piece k: of an impact a byte for each closed row; what was solved for (tgi_part_record_answers).
static inline char *tgi_piece_flags(const tgSim *s, int k) { return tgi_events(s)->record + (size_t)k * tgi_events(s)->record_bytes; }
static inline char *tgi_piece_answers(const tgSim *s, int k) { return tgi_piece_flags(s, k) + ((size_t)s->cap.nrow + 15) / 16 * 16; }
/// Names of rows of piece k, nheld of it.
static inline uint64_t *tgi_piece_names(const tgSim *s, int k) { return tgi_events(s)->names + (size_t)k * (size_t)s->cap.nrow; }
static inline bool tgi_piece_stalls(const tgSim *s, int dof, int k) { return tgi_events(s)->stalled[dof] <= k; }
static inline bool tgi_piece_is_straight(const tgSim *s, int dof, int k) { return tgi_events(s)->straight[dof] <= k; }

/// Piece k of the last step is in the sim again, to the bit, by what was solved for: under the memory of before the step.
tgStatus tgi_piece_load(tgSim *s, int k);
/// The same of the one piece of a step that is in the sim as it was made: what a derivative asks for besides.
tgStatus tgi_piece_complete(tgSim *s);
/// The same in derivatives of the last step, of what is not in the sim already.
static inline tgStatus tgi_piece_reach(tgSim *s, int k) {
  if (k > 0) return tgi_piece_load(s, k);
  return tgi_events(s)->loaded ? TG_OK : tgi_events(s)->made ? tgi_piece_complete(s) : tgi_piece_load(s, k);
}
/// Calls visit with the pieces' memory in its place and puts everything back as the step left it, the contacts of its last piece too.
tgStatus tgi_event_revisit(tgSim *s, tgStatus (*visit)(tgSim *s, void *ctx), void *ctx);
/// (q, v) at the end of the step whose last piece, n - 1, is in the sim, into end.
tgStatus tgi_event_end(tgSim *s);
/// The sim shows the start of the step again, and the rows of the piece that is in it.
void tgi_event_show_start(tgSim *s);
/// A step on a tape: its pieces packed, where there is room for all; put back without a search or a solve, else made anew.
size_t tgi_event_record_bytes(const tgSim *s);
void tgi_event_record(const tgSim *s, void *to);
/// The pieces of the record in their place. False: it has none.
bool tgi_event_recall(tgSim *s, const void *from);
/// The path of the flow in the sim, piece k, s long: rates are in from and to of what the stepper keeps.
tgiFlight tgi_piece_path(tgSim *s, int k, tgReal length);

/// The share of the clearance down to which levels go, and below which no step starts: a held contact may end one at its level.
static const double tgi_least_level = 0x1p-14;
/// A length that is nothing beside the least level.
static inline double tgi_stillness(const tgSim *s) { return tgRe(s->clearance) * tgi_least_level / 8; }

/// What is the least to which a gap that is closed may come, as a share of the clearance: the first 2^-j that is well below it.
double tgi_level_share(double gap, double clearance);
/// It may come lower than where others meet: what is held there, or is lower already. What leaves from there meets again there: if it
/// fell deeper than it rose, the difference would become motion each time that a body rocks.
bool tgi_sinks(double gap, double clearance, bool held);
/// Of a limit at a pose: gap and its rate at velocity u.
void tgi_limit_gap(const tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, tgReal *gap, tgReal *rate);
/// The first limit that the path comes to before `end`, at which share of its clearance, held by the flow or not; any false: none.
typedef struct tgiLimitMet { bool any, held; double t, share; tgiWho who; } tgiLimitMet;
tgStatus tgi_first_limit(tgSim *s, const tgiFlight *path, double end, tgiLimitMet *met);

/// Lists what is closed at the start of the next flow, whose contacts and rows are in the sim, in the order of the pairs: s->held names
/// what the flow holds.
void tgi_event_list_closed(tgSim *s);
/// What the search along a flow has found.
typedef enum tgiMet { TGI_MET_NOTHING, TGI_MET, TGI_MET_HELD, TGI_MET_UNKNOWN } tgiMet;
/// A meeting along a flow: of what, at which share of its clearance, when, and the rate of the gap there (of tgi_event_polish).
typedef struct tgiMeeting {
  tgiWho who;
  double share, rate;
  tgReal t;
} tgiMeeting;

/// The first contact or limit of the flow in the sim, piece k: m->t where it meets, to rounding; of TGI_MET_UNKNOWN the time up to which
/// nothing does, because of m->who, of which the pair alone may be known. known: meets along the path, which may not be the first to;
/// *m is that where the search comes to it; or NULL.
tgStatus tgi_event_search(tgSim *s, const tgiFlight *path, const tgiMeeting *known, tgiMeeting *m, tgiMet *met);

/// The flow of `length` in the sim meets m: the flow whose length is the time at which it meets itself, in the sim, m->t to rounding and
/// *own its length. TGI_MET: there is one, and nothing else meets along it earlier; else the sim has no flow. TGI_MET_HELD: on the way of
/// one m->who sinks, which is held; else no flow is found, or it is not known whether something meets before.
tgStatus tgi_event_meeting(tgSim *s, tgReal length, tgiMeeting *m, tgReal *own, tgiMet *met);
/// m->t to rounding along a path that meets m near there; false: it does not. Where the root is within `enough` of the path, it is known to
/// the square of that alone.
tgStatus tgi_event_polish(tgSim *s, const tgiFlight *path, double enough, tgiMeeting *m, bool *meets);
/// m->who, which is closed and closes fast at the start of the path that was searched last, meets there: m->t, next to 0, and m->share.
tgStatus tgi_event_meets_now(tgSim *s, const tgiFlight *path, tgiMeeting *m);
/// Gap of who at a pose above that at which it meets, less `share` of the clearance, and its rate at velocity u there; false: not found.
bool tgi_who_gap(tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, double share, tgReal *gap, tgReal *rate);

/// See tgStepper.
size_t tgi_event_scratch(const tgContact *contact);
tgStatus tgi_event_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
tgStatus tgi_event_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
tgStatus tgi_event_leg_vjp(tgSim *s, const tgiLegSlopes *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);
tgStatus tgi_event_jacobian(tgSim *s, tgReal *D, int *clamps);
tgStatus tgi_event_inside(tgSim *s, tgiInside *out);

#endif
