// event.c: see event.h.
#include "step/event.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coll/contacts.h"
#include "contact/rows.h"
#include "sim/arrays.h"
#include "step/event_impact.h"
#include "step/event_piece.h"
#include "step/impulse_carried.h"
#include "step/impulse_parts.h"
#include "step/step.h"

static size_t record_size(const tgSim *s) {
  size_t solver = s->contact_model != NULL ? s->contact_model->kind->rows->record_bytes(s) : 0;
  return (((size_t)s->cap.nrow + 15) / 16 * 16 + tgi_servo_record_bytes(s) + 2 * solver + 15) / 16 * 16;
}

// ---- flows ----

static void note_held(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  e->nheld = e->nstays = 0;
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i)) continue;
    e->held[e->nheld++] = tgi_row_name(s, i);
    if (tgi_row_pressed(s, i)) e->stays[e->nstays++] = e->held[e->nheld - 1];
  }
}

static bool share_a_tree(const tgSim *s, int a, int b) {
  const int *x = s->rows->span + 4 * a, *y = s->rows->span + 4 * b, *tree = s->m.dof_tree;
  for (int i = 0; i < 4; i += 2)
    for (int d = x[i]; d < x[i + 1]; d = tree[2 * d + 1])
      for (int k = 0; k < 4; k += 2)
        for (int e = y[k]; e < y[k + 1]; e = tree[2 * e + 1])
          if (tree[2 * d] == tree[2 * e]) return true;
  return false;
}

static bool may_be_pushed_into(const tgSim *s, int row) {
  for (int i = 0; i < s->nrow && s->rows->kind[i] == TG_ROW_EQUALITY; i++)   // they come first
    if (fabs(tgRe(s->rows->gap[i])) > TGI_WIDE && share_a_tree(s, i, row)) return true;
  return false;
}

// The rows are of what is closed: the next flow holds what parts no faster than TGI_HOLDS, or was held by a force, and does not meet fast;
// and what is past the end of its range, however fast it comes back: it is brought there. Where a wide error of an equality is removed
// it holds all that is closed: what parts may be pushed into, which is no meeting.
static void list_held(tgSim *s) {
  uint64_t *name = tgi_piece_names(s, tgi_events(s)->n);
  int count = 0;
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i) || tgi_event_is_fast(s, i)) continue;
    double speed = tgRe(tgi_row_dot(s, s->rows->J, i, s->start.vel));
    bool stays = tgi_row_is_held(s, i) || tgi_row_past_limit(s, i) > TGI_PAST_LIMIT || may_be_pushed_into(s, i);
    if (!stays && fabs(speed - TGI_HOLDS) <= 1e-9) tgi_rows_edge(s, "at the speed up to which a contact is held", i);
    if (stays || speed <= TGI_HOLDS) name[count++] = tgi_row_name(s, i);
  }
  tgi_event_hold(s, name, count);
}

// The flow in the sim, which runs up to t, is a piece: its end is the next start.
static tgStatus end_flow(tgSim *s, tgiPieceKind kind, tgReal length, int halvings, const tgiMeeting *m) {
  tgiEvents *e = tgi_events(s);
  TG_TRY_OUTCOME(tgi_impulse_complete_flow(s));
  tgiPiece *p = tgi_piece_open(s, kind);
  int k = e->n - 1;
  p->halvings = halvings;
  p->nrow = s->nrow;
  tgReal t = length;
  if (kind != TGI_PIECE_FLOW) {
    p->who = m->who;
    p->share = m->share;
    t = m->t;
  }
  e->s[k] = length;
  e->t[k] = t;
  e->still = false;
  TG_TRY_OUTCOME(tgi_piece_keep(s));
  tgi_touches_add(s, tgRe(t) / tgRe(length));
  tgi_order_tell(s, tgRe(t) / tgRe(length));
  note_held(s);
  return tgi_event_end(s);
}

static tgStatus go_on(tgSim *s) {
  tgi_midway(s);
  tgStatus status = tgi_parts_note_edges(s, s->h);
  tgi_midway(s);
  if (status == TG_OK) tgi_event_start_at(s, s->end.q, s->end.vel);
  return status;
}

// a flow that is made and looked along: *met, and where
static tgStatus try_flow(tgSim *s, tgReal length, tgiMeeting *m, tgiMet *met) {
  TG_TRY_OUTCOME(tgi_sim_iterates(s, "step between impacts"));
  tgStatus status = tgi_impulse_try_flow(s, length, &tgi_events(s)->last);
  if (status != TG_OK) return status;
  tgiFlight path = tgi_piece_path(s, tgi_events(s)->n, length);
  TG_TRY(tgi_event_search(s, &path, NULL, m, met));
  if (*met != TGI_MET_NOTHING) tgi_classes_note(s, &tgi_events(s)->last);
  return TG_OK;
}

// Everything stays where it is for the rest of the step: a flow that nothing is looked for along. The label tells an island that stalled
// before, and no body where none had.
static tgStatus stay(tgSim *s, tgReal *rest) {
  size_t mark = tgi_stack_mark(s);
  int8_t *all = tgi_event_dof_marks(s);
  int stuck = tgi_events(s)->stuck;
  if (all == NULL) return tgi_no_room(s, "pieces");
  memset(all, 1, (size_t)s->m.nv);
  tgi_event_stall(s, all);
  tgi_events(s)->stuck = stuck;
  tgi_stack_free(s, mark);
  tgi_event_hold(s, NULL, 0);
  tgi_order_note(s);
  tgStatus status = tgi_impulse_held_flow(s, *rest, NULL, &tgi_events(s)->last);
  if (status != TG_OK) return status;
  TG_TRY_OUTCOME(end_flow(s, TGI_PIECE_FLOW, *rest, 0, NULL));
  *rest = 0;
  return TG_OK;
}

// Of meetings: a flow is solved for with its own time from this share of the rest on, below which what is held would be put where it
// belongs in no time; what meets sooner cuts a flow of a rest halved so often, whose forces are those where it starts, nearly.
static const double least_own = 0x1p-10;
enum { SOON = 6 };

// a flow that meets, in the sim, is a piece; then the impact
static tgStatus meets(tgSim *s, tgiPieceKind kind, tgReal length, int halvings, const tgiMeeting *m, tgReal *rest) {
  TG_TRY_OUTCOME(end_flow(s, kind, length, halvings, m));
  *rest -= m->t;
  TG_TRY(go_on(s));
  return tgi_event_impact_of(s, &m->who);
}

// The flow of R/2^k in the sim, k = *halvings, meets m. *done: so does the next piece; else its flow is to be made anew: half as long if
// *met is TGI_MET_HELD, as m->who would sink in the flow that meets at its end; else it is cut where it meets, if *cut.
static tgStatus try_meeting(tgSim *s, tgReal *rest, tgReal length, int *halvings, tgiMeeting *m, tgiMet *met, bool *cut, bool *done) {
  bool soon = tgRe(m->t) <= least_own * tgRe(*rest);
  *done = *cut || (soon && *halvings >= SOON);
  if (*done) return meets(s, TGI_PIECE_CUT, length, *halvings, m, rest);
  if (soon) {
    *halvings = SOON;
    return TG_OK;
  }
  tgReal own;
  tgStatus status = tgi_event_meeting(s, length, m, &own, met);
  if (status != TG_OK) return status;
  *done = *met == TGI_MET;
  *cut = !*done && *met != TGI_MET_HELD;
  return *done ? meets(s, TGI_PIECE_MEETING, own, *halvings, m, rest) : TG_OK;
}

// Halvings after which no body alone turns by more than 1 rad in a flow, up to which its energy is kept (step/impulse_midway.h). Of what
// turns too fast for that, none: it goes by its momenta.
static int halvings_of_turn(tgSim *s, double rest) {
  static const double most = 1;
  enum { MOST = 5 };
  double turn = tgi_turn_alone(s) * rest;
  int k = 0;
  while (k <= MOST && turn > most * (1 << k)) k++;
  for (int i = 0; i <= MOST; i++)
    if (fabs(turn - most * (1 << i)) <= 1e-9 * turn) tgi_rows_edge(s, "about to be halved by its turning", -1);
  return k <= MOST ? k : 0;
}

// What sinks in a flow does so in the next one of the step as well: that begins with the least k by which it is at most half as long again
// as what came through last, and not with the whole rest. After some that came through at once the next ones may be ever longer.
static int halvings_of_reach(const tgSim *s, double rest, int k) {
  enum { SURE = 4 };
  const tgiEvents *e = tgi_events(s);
  double longest = e->through < SURE ? 1.5 * e->reach : ldexp(e->reach, e->through - SURE + 1);
  while (k < TGI_HALVINGS && ldexp(rest, -k) > longest * (1 + 1e-9)) k++;   // rests are often as long but for rounding
  return k;
}

// The flow of that length comes through; halved: longer ones did not.
static void note_reach(tgSim *s, double length, bool halved) {
  tgiEvents *e = tgi_events(s);
  if (halved || length > e->reach) e->reach = length;
  e->through = halved ? 0 : e->through + 1;
}

// The next flow, of R/2^k: k grows where a body alone turns by much, a held contact sinks to its level or the search ends early.
static tgStatus fly(tgSim *s, tgReal *rest) {
  tgiMeeting m = {.share = 1};
  tgiMet met = TGI_MET_UNKNOWN;
  tgReal length = *rest;
  int k = halvings_of_reach(s, tgRe(*rest), halvings_of_turn(s, tgRe(*rest)));
  bool cut = false, done = false, halved = false;
  list_held(s);
  tgi_order_note(s);
  tgi_event_list_closed(s);
  for (;;) {
    length = *rest * ldexp(1, -k);
    TG_TRY_OUTCOME(try_flow(s, length, &m, &met));
    if (met == TGI_MET_NOTHING) break;
    if (met == TGI_MET && tgi_event_in_crowd(s, &m.who)) {
      bool more;
      TG_TRY(tgi_event_hold_crowd(s, length, &m.who, &more));
      if (more) {
        tgi_order_note(s);
        tgi_event_list_closed(s);
        continue;
      }
    } else if (met == TGI_MET) {
      tgStatus status = try_meeting(s, rest, length, &k, &m, &met, &cut, &done);
      if (status != TG_OK || done) return status;
      if (met != TGI_MET_HELD) continue;
    }
    halved = true;
    while (met == TGI_MET_UNKNOWN && k < TGI_HALVINGS && tgRe(m.t) < 0.5 * tgRe(length)) {
      length /= 2;
      k++;
    }
    tgi_event_note_cost(s, &m.who);
    if (k++ < TGI_HALVINGS) continue;
    bool any = false;
    TG_TRY(tgi_event_stall_who(s, &m.who, &any));
    return any ? TG_OK : stay(s, rest);
  }
  note_reach(s, tgRe(length), halved);
  TG_TRY_OUTCOME(end_flow(s, TGI_PIECE_FLOW, length, k, NULL));
  if (k == 0) *rest = 0;
  else *rest -= length;
  return tgRe(*rest) > 0 ? go_on(s) : TG_OK;
}

// What is closed and fast meets now: at the t next to 0 at which its gap is that at which it meets, or what meets before it does.
static tgStatus meet_now(tgSim *s, const tgiWho *who, tgReal *rest) {
  tgReal length = *rest * ldexp(1, -SOON);
  tgiMeeting m;
  tgiMet met;
  list_held(s);
  tgi_order_note(s);
  tgi_event_list_closed(s);
  TG_TRY_OUTCOME(try_flow(s, length, &m, &met));
  if (met != TGI_MET) {
    tgiFlight path = tgi_piece_path(s, tgi_events(s)->n, length);
    m.who = *who;
    TG_TRY(tgi_event_meets_now(s, &path, &m));
  }
  return meets(s, TGI_PIECE_CUT, length, SOON, &m, rest);
}

// ---- the step ----

// Bodies must start apart; what was held in the last step is, of what is closed. Rows of that are in the sim.
static tgStatus begin(tgSim *s) {
  const tgModel *m = &s->m;
  tgiEvents *e = tgi_events(s);
  tgi_impulse_look(s);
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_RECALLED));
  double least = 0.5 * tgi_least_level * tgRe(s->clearance);
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    char a[96], b[96];
    if (tgRe(c->gap) >= least) continue;
    tgi_model_label(m, TG_THING_GEOM, c->geom1, a, sizeof a);
    tgi_model_label(m, TG_THING_GEOM, c->geom2, b, sizeof b);
    if (tgRe(c->gap) < 0)
      return tgi_error(&s->error, TG_ERR_INVALID,
                       "%s and %s overlap by %.3g m at the start of a step, under a contact model whose bodies never do; move them "
                       "apart, or let --separate (tg_sim_separate) do it.", a, b, -tgRe(c->gap));
    return tgi_error(&s->error, TG_ERR_INVALID,
                     "%s and %s are %.3g m apart at the start of a step, nearer than bodies come under this contact model; move them "
                     "apart, to contact.gap = %.3g m or more, or let --separate (tg_sim_separate) do it.", a, b, tgRe(c->gap),
                     tgRe(s->clearance));
  }
  e->nheld = e->nstays = 0;
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i) || s->rows->class[i] == 0) continue;
    e->held[e->nheld++] = tgi_row_name(s, i);
    if (tgi_row_pressed(s, i)) e->stays[e->nstays++] = e->held[e->nheld - 1];
  }
  tgi_event_hold(s, e->stays, e->nstays);
  return TG_OK;
}

// the rows in the sim are of what is closed at the piece's start
static tgStatus next_piece(tgSim *s, tgReal *rest) {
  bool pressing;
  tgiEvents *e = tgi_events(s);
  if (e->n >= tgi_watch_cap(&s->watch, TGI_PIECES - 4)) return stay(s, rest);
  if (e->n >= e->crowded) {
    bool stalls = e->n >= TGI_PIECES - TGI_PIECES_CROWDED, last = e->n >= TGI_PIECES - TGI_PIECES_LAST;
    e->crowded = stalls ? e->n + TGI_PIECES_EACH : TGI_PIECES - TGI_PIECES_CROWDED;
    TG_TRY(stalls ? tgi_event_stall_busy(s, last) : tgi_event_crowd_busy(s));
  }
  int fast = tgi_event_first_fast(s, &pressing);
  if (fast >= 0) {
    tgiWho who = tgi_row_who(s, fast);
    return meet_now(s, &who, rest);
  }
  return pressing && !e->still ? tgi_event_impact(s, -1) : fly(s, rest);
}

// An error in the middle of a step is told with the piece that it is of, and where in the step that begins.
static tgStatus of_piece(tgSim *s, tgStatus status, int done, double time) {
  char text[sizeof s->error.text];
  if (status != TG_ERR_NOT_FINITE && status != TG_ERR_INVALID) return status;
  snprintf(text, sizeof text, "%s", s->error.text);
  return tgi_error(&s->error, status, "Piece %d of the step, from %.6g s on: %s", done + 1, time, text);
}

// the last step was one flow, from end to end
static bool is_one_flow(const tgSim *s) {
  const tgiEvents *e = tgi_events(s);
  bool one = e->n == 1 && e->piece[0].kind == TGI_PIECE_FLOW && e->piece[0].halvings == 0;
  for (int d = 0; one && d < s->m.nv; d++) one = !tgi_piece_stalls(s, d, 0);
  return one;
}

static tgStatus run(tgSim *s, double h) {
  tgiEvents *e = tgi_events(s);
  tgReal rest = h;
  e->n = e->looks = e->last.n = 0;
  e->still = e->crowd = false;
  e->loaded = e->made = false;
  e->reach = INFINITY;
  e->through = 0;
  e->crowded = TGI_PIECES - TGI_PIECES_BUSY;
  e->stuck = -1;
  for (int d = 0; d < s->m.nv; d++) {
    e->stalled[d] = e->straight[d] = INT_MAX;
    e->met[d] = e->cost[d] = e->unanswered[d] = 0;
  }
  s->nedge = s->nchoice = 0;
  s->surrogate_part = false;
  tgi_touches_begin(s);
  s->part_mode = TG_HASH_START;
  s->rest = 0;
  memset(s->rows->surge, 0, (size_t)s->m.nv * sizeof *s->rows->surge);
  tgi_parts_save_memory(s);
  tgi_event_start_at(s, s->start.q, s->start.vel);
  TG_TRY(begin(s));
  for (;;) {
    int before = e->n;
    double from = h - tgRe(rest);
    tgStatus status = next_piece(s, &rest);
    bool hits = e->n > before && e->piece[e->n - 1].kind == TGI_PIECE_IMPACT;   // whose pose the next one goes on from
    if (status != TG_OK) return of_piece(s, status, hits ? e->n - 1 : e->n, h - tgRe(rest));
    status = tgi_check_velocity(s, tgRe(rest) > 0 ? s->start.vel : s->end.vel);
    if (status != TG_OK) return of_piece(s, status, before, from);
    if (!(tgRe(rest) > 0)) break;
    TG_TRY(hits ? tgi_event_closed_rows_anew(s) : tgi_event_closed_rows(s));
  }
  s->npart = e->n;
  e->made = is_one_flow(s);
  return e->piece[e->n - 1].kind == TGI_PIECE_IMPACT ? tgi_event_end(s) : TG_OK;
}

static void open_gaps(tgSim *s) {
  static const double limit_clearance = 1e-9;
  s->clearance = TG_NUMBER(s, gap);
  s->limit_clearance = limit_clearance;
  s->strand_clearance = s->clearance;
  s->ahead = s->opened = false;
  s->unsolved = TG_OK;
}

// the sim shows the start of the step, and the rows of its last piece
static tgStatus close_step(tgSim *s) {
  tgi_event_show_start(s);
  return s->unsolved;
}

// A pinned step: the flow of the last one from elsewhere, over the rows that it held and by the classes of its answers.
static tgStatus pinned_step(tgSim *s, double h) {
  tgiEvents *e = tgi_events(s);
  memcpy(tgi_piece_q(s, 0), s->start.q, (size_t)s->m.nq * sizeof *s->start.q);
  memcpy(tgi_piece_v(s, 0), s->start.vel, (size_t)s->m.nv * sizeof *s->start.vel);
  e->s[0] = e->t[0] = h;
  s->nedge = s->nchoice = 0;
  s->npart = 1;
  s->rest = 0;
  memset(s->rows->surge, 0, (size_t)s->m.nv * sizeof *s->rows->surge);
  tgi_parts_save_memory(s);
  tgStatus status = tgi_piece_load(s, 0);
  return status != TG_OK ? status : tgi_event_end(s);
}

// Of a step in several pieces there is no pinned one, as its impacts have times of their own: it is made as it is.
static tgStatus unpinned(tgSim *s, double h) {
  bool pinned = s->pinned;
  s->pinned = false;
  tgStatus status = pinned && is_one_flow(s) ? pinned_step(s, h) : run(s, h);
  s->pinned = pinned;
  return status;
}

static tgStatus step(tgSim *s, double h) {
  open_gaps(s);
  tgStatus status = unpinned(s, h);
  return status != TG_OK ? status : close_step(s);
}

static tgStatus revisit(tgSim *s, double h, const void *record) {
  open_gaps(s);
  if (!tgi_event_recall(s, record)) {
    s->info = (tgStepInfo){.least_distance = INFINITY, .stable_step = INFINITY, .body1 = -1, .body2 = -1, .ambiguous1 = -1,
                           .ambiguous2 = -1, .burst1 = -1, .burst2 = -1};
    return step(s, h);
  }
  TG_TRY(tgi_piece_load(s, tgi_events(s)->n - 1));
  TG_TRY(tgi_event_end(s));
  return close_step(s);
}

// ---- the stepper ----

static void remember(tgSim *s) { tgi_rows_remember(s); }

static tgStatus supports(tgContact *c, tgError *error) {
  if (c->kind->rows == NULL)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "The contact model '%s' has no constraint rows, which a step between events needs.",
                     c->kind->word);
  return TG_OK;
}

static void place(tgSim *s, tgLayout *l) {
  size_t nv = (size_t)s->model->nv, nq = (size_t)s->model->nq, nrow = (size_t)s->cap.nrow, ncon = (size_t)s->cap.ncon;
  tgiEvents *e = s->own = tgi_place(l, 1, sizeof *e), none;
  tgiEvents *at = e != NULL ? e : &none;
  at->record_bytes = record_size(s);
  at->piece = tgi_place(l, TGI_PIECES, sizeof *at->piece);
  at->q = tgi_place(l, TGI_PIECES * nq, sizeof(tgReal));
  at->v = tgi_place(l, TGI_PIECES * nv, sizeof(tgReal));
  at->s = tgi_place(l, TGI_PIECES, sizeof(tgReal));
  at->t = tgi_place(l, TGI_PIECES, sizeof(tgReal));
  at->record = tgi_place(l, TGI_PIECES * at->record_bytes, 1);
  at->stalled = tgi_place(l, nv, sizeof *at->stalled);
  at->straight = tgi_place(l, nv, sizeof *at->straight);
  at->met = tgi_place(l, nv, sizeof *at->met);
  at->cost = tgi_place(l, nv, sizeof *at->cost);
  at->unanswered = tgi_place(l, nv, sizeof *at->unanswered);
  at->names = tgi_place(l, TGI_PIECES * nrow + 1, sizeof *at->names);
  at->held = tgi_place(l, nrow + 1, sizeof *at->held);
  at->stays = tgi_place(l, nrow + 1, sizeof *at->stays);
  at->last.name = tgi_place(l, nrow + 1, sizeof *at->last.name);
  at->last.cls = tgi_place(l, nrow + 1, sizeof *at->last.cls);
  at->closed = tgi_place(l, ncon + 1, sizeof *at->closed);
  at->start = tgi_place(l, ncon + 1, sizeof *at->start);
  at->rests = tgi_place(l, ncon + 1, sizeof *at->rests);
  at->from = tgi_place(l, nv, sizeof(tgReal));
  at->to = tgi_place(l, nv, sizeof(tgReal));
  tgi_order_place(s, l, &at->order);
}

static bool leg(const tgSim *s, int k, tgiLeg *out) {
  const tgiEvents *e = tgi_events(s);
  if (k >= e->n || s->info.nstalled > 0 || e->crowd) return false;   // what stalls does not leave at its velocity, crowds go straight
  *out = (tgiLeg){tgi_piece_q(s, k), tgi_piece_v(s, k), k + 1 < e->n ? tgi_piece_q(s, k + 1) : s->end.q, 0};
  if (e->piece[k].kind != TGI_PIECE_IMPACT && tgRe(e->t[k]) > 0) out->t = e->t[k];
  return true;
}

static void label(const tgSim *s, tgGradInfo *info) {
  if (s->info.nstalled == 0) return;
  const tgiEvents *e = tgi_events(s);
  char body[96];
  info->label = TG_GRAD_SURROGATE;
  if (e->stuck < 0) {
    snprintf(info->reason, sizeof info->reason, "all bodies were held where they were for the rest of the step, after %d impacts",
             s->info.nimpact);
    return;
  }
  tgi_model_label(&s->m, TG_THING_BODY, s->m.jnt_body[s->m.dof_jnt[e->stuck]], body, sizeof body);
  snprintf(info->reason, sizeof info->reason, "%s and what it touches were held where they were for the rest of the step, after %d impacts",
           body, e->met[e->stuck]);
}

const tgStepper tgi_event = {.name = "event", .rows = true, .twice = true, .supports = supports,
                             .scratch = tgi_event_scratch, .place = place,
                             .step = step, .remember = remember, .pins = is_one_flow, .record_bytes = tgi_event_record_bytes,
                             .record = tgi_event_record, .revisit = revisit, .vjp = tgi_event_vjp, .touches_vjp = tgi_event_touches_vjp,
                             .jacobian = tgi_event_jacobian, .label = label,
                             .inside = tgi_event_inside, .leg = leg, .leg_vjp = tgi_event_leg_vjp};
