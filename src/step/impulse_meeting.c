// impulse_meeting.c: see impulse_meeting.h.
#include "step/impulse_meeting.h"

#include <string.h>

#include "coll/contacts.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "step/impulse_flow.h"
#include "step/step.h"

// gaps at a meeting are at most this [m or rad]
static const double meets = 1e-11;
#define CORRECTION 1e-4   // of a step: no more is a correction of a time that is found

// Of what meets fast at the end of a flow, the least gap.
typedef struct Meeting {
  int row;         // among the rows there, which replace the flow's; -1: nothing meets, the gap is infinite
  uint64_t name;   // contact or limit, in whatever rows; 0: none
  tgReal gap;
  tgReal speed;    // about its slope in the flow's length
  bool passes;     // a flow without what is fast goes through something else
} Meeting;

// contacts and limits by name
typedef struct Names {
  uint64_t *name;
  int n;
} Names;

static bool among(const Names *names, uint64_t name) {
  for (int k = 0; names != NULL && k < names->n; k++)
    if (names->name[k] == name) return true;
  return false;
}

// What does not meet. loose: of that, what touches at the start of a flow that has no row of it, as it parts in the free motion.
typedef struct LeftOut {
  Names all, loose;
} LeftOut;

// of the contacts and limits among the rows that are not left out, that of the least gap
static void least_gap(const tgSim *s, const Names *out, Meeting *at) {
  double least = INFINITY;
  at->row = -1;
  at->name = 0;
  at->gap = INFINITY;
  for (int i = 0; i < s->nrow; i++) {
    double gap = tgRe(s->rows->gap[i]);
    if (!tgi_row_pushes(s, i) || (out == NULL && gap >= least)) continue;
    uint64_t name = tgi_row_name(s, i);
    bool left = among(out, name);
    at->passes = at->passes || (left && gap < -TG_TOUCH);
    if (left || gap >= least) continue;
    least = gap;
    at->row = i;
    at->name = name;
    at->gap = s->rows->gap[i];
  }
}

// Something overlaps at the end of a flow that was open at its start, or was let go there: it closed fast in the free motion, or parted in
// it, which is why the flow is without it, and closed slowly in the flow, or was brought back.
static bool slipped_in(const tgSim *s, const LeftOut *out) {
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i) || tgRe(s->rows->gap[i]) >= -TG_TOUCH) continue;
    uint64_t name = tgi_row_name(s, i);
    if (!among(&out->all, name) || among(&out->loose, name)) return true;
  }
  return false;
}

// the flow of t and its end, with rows of all that is near there; u (nv): how fast that moves with t
static tgStatus go(tgSim *s, tgReal t, const void *record, tgReal *u) {
  int fast;
  TG_TRY(tgi_impulse_flow(s, t, false, record, &fast));
  TG_TRY(tgi_flow_end(s));
  if (record == NULL) tgi_rows_warm(s);
  // q0 (+) t V moves by V + t dV/dt, which is v1 - v0 where forces are as in the flow
  for (int d = 0; d < s->m.nv; d++) u[d] = s->rows->mean[d] + s->end.vel[d] - s->start.vel[d];
  tgi_kinematics(&s->m, s->end.q, &s->end);
  return tgi_rows(s, &s->end, 0, TGI_ROWS_NEAR);
}

// what meets at the end of a flow of t
static tgStatus look(tgSim *s, tgReal t, const LeftOut *out, Meeting *at) {
  size_t mark = tgi_stack_mark(s);
  tgReal *u = tgi_stack_real(s, (size_t)s->m.nv);
  if (u == NULL) return tgi_no_room(s, "parts");
  TG_TRY(go(s, t, NULL, u));
  at->passes = slipped_in(s, out);
  TG_TRY(tgi_impulse_keep_fast(s, &s->end, s->end.vel));
  least_gap(s, &out->all, at);
  at->speed = at->row >= 0 ? tgi_row_dot(s, s->rows->J, at->row, u) : 0;
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_meeting_again(tgSim *s, tgReal t, const tgiWho *who, const void *record, int *row) {
  size_t mark = tgi_stack_mark(s);
  tgReal *u = tgi_stack_real(s, (size_t)s->m.nv);
  if (u == NULL) return tgi_no_room(s, "parts");
  TG_TRY(go(s, t, record, u));
  tgi_stack_free(s, mark);
  *row = tgi_row_that_meets(s, who);
  if (*row >= 0) return TG_OK;
  return tgi_error(&s->error, TG_ERR_STATE, "The meeting at which a part of the step ends is not found again.");
}

void tgi_meeting_gradient(tgSim *s, int row, tgReal weight, tgReal *y, tgReal *gq, tgParamGrad *p) {
  for (int i = 0; i < s->nrow; i++) y[i] = i == row ? weight : 0;
  for (int d = 0; d < s->m.nv; d++) gq[d] = 0;
  tgi_rows_gap_vjp(s, &s->end, y, gq, p);
}

tgStatus tgi_meeting_length_slope(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *slope) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *a = tgi_stack_real(s, 2 * nv + (size_t)s->m.nu);
  if (a == NULL) return tgi_no_room(s, "adjoint");
  memset(a, 0, (2 * nv + (size_t)s->m.nu) * sizeof *a);
  *slope = 0;
  tgiAdjoint o = {.gq = a, .gv = a + nv, .gu = a + 2 * nv, .dt = slope};
  tgStatus status = tgi_flow_vjp(s, gq, gv, &o);
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_meeting_slope(tgSim *s, tgReal t, int row, const void *record, tgReal *gq, tgReal *slope) {
  size_t mark = tgi_stack_mark(s);
  int fast;
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow), *zero = tgi_stack_real(s, (size_t)s->m.nv);
  if (y == NULL || zero == NULL) return tgi_no_room(s, "parts");
  tgi_meeting_gradient(s, row, 1, y, gq, NULL);
  for (int d = 0; d < s->m.nv; d++) zero[d] = 0;
  TG_TRY(tgi_impulse_flow(s, t, false, record, &fast));
  TG_TRY(tgi_flow_end(s));
  tgStatus status = tgi_meeting_length_slope(s, gq, zero, slope);
  tgi_stack_free(s, mark);
  return status;
}

// ---- what touches at the start ----

tgStatus tgi_meeting_after_drift(tgSim *s, tgReal t, const tgiWho *who, int *row) {
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv);
  Meeting at = {.row = -1};
  if (w == NULL) return tgi_no_room(s, "parts");
  for (int d = 0; d < s->m.nv; d++) w[d] = t * s->start.vel[d];
  tg_model_integrate(&s->m, s->start.q, w, s->end.q);
  tgi_kinematics(&s->m, s->end.q, &s->end);
  tgi_stack_free(s, mark);
  TG_TRY(tgi_rows(s, &s->end, 0, TGI_ROWS_NEAR));
  if (who != NULL) {
    *row = tgi_row_that_meets(s, who);
    return TG_OK;
  }
  TG_TRY(tgi_impulse_keep_fast(s, &s->end, s->start.vel));
  least_gap(s, NULL, &at);
  *row = at.row;
  return TG_OK;
}

// What is slow and touches is stopped in the shortest flow too, by a change of velocity that is no acceleration: differences of flows are
// without it. By three of them, so that a is of no length, to the square of theirs.
tgStatus tgi_meeting_acceleration(tgSim *s, tgReal *a) {
  static const double weight[3] = {-2.5, 4, -1.5};
  const double length = 1e-4 * s->h;
  tgStepInfo info = s->info;
  int fast, nedge = s->nedge;
  for (int d = 0; d < s->m.nv; d++) a[d] = 0;
  for (int k = 0; k < 3; k++) {
    TG_TRY(tgi_impulse_flow(s, (k + 1) * length, false, NULL, &fast));
    for (int d = 0; d < s->m.nv; d++) a[d] += weight[k] / length * (s->end.vel[d] - s->start.vel[d]);
  }
  s->info = info;
  s->nedge = nedge;
  return TG_OK;
}

tgStatus tgi_meeting_drift(tgSim *s, tgReal *t, int *row, tgiWho *who) {
  *t = 0;
  TG_TRY(tgi_meeting_after_drift(s, *t, NULL, row));
  for (int i = 0; i < 3 && *row >= 0; i++) {
    if (i == 0) *who = tgi_row_who(s, *row);
    else TG_TRY(tgi_meeting_after_drift(s, *t, who, row));
    if (*row < 0) {   // listed at the start alone: it meets there
      *t = 0;
      return tgi_meeting_after_drift(s, *t, who, row);
    }
    if (fabs(tgRe(s->rows->gap[*row])) > TG_TOUCH) break;
    *t -= s->rows->gap[*row] / tgi_row_dot(s, s->rows->J, *row, s->start.vel);
  }
  return TG_OK;
}

// ---- the search: the least t with a gap of 0 at the end of its flow ----

typedef struct Search {
  double low, high;            // nothing overlaps at the end of a flow of low; at that of high something does
  double t0, t1, gap0, gap1;   // the last two tries
  uint64_t name0, name1;       // whose gaps; 0: nothing met
} Search;

static void note(Search *f, tgReal t, const Meeting *at) {
  f->t0 = f->t1;
  f->gap0 = f->gap1;
  f->name0 = f->name1;
  f->t1 = tgRe(t);
  f->gap1 = tgRe(at->gap);
  f->name1 = at->name;
  if (f->gap1 < 0) f->high = f->t1;
  else f->low = f->t1;
}

// where to look next: by the secant of one contact's gap, by its speed, else in the middle
static double next(const Search *f, const Meeting *at) {
  bool same = f->name0 == f->name1 && f->t0 != f->t1;
  double slope = same ? (f->gap1 - f->gap0) / (f->t1 - f->t0) : tgRe(at->speed);
  double t = f->t1 - f->gap1 / slope;
  return f->name1 != 0 && t > f->low && t < f->high ? t : 0.5 * (f->low + f->high);
}

static bool found(const Meeting *at) { return at->row >= 0 && fabs(tgRe(at->gap)) <= meets; }

// Nothing comes to gap 0 between the two ends: what is far inside at the later one is not found, or not fast, at the
// earlier one, where a contact acts differently or approaches more slowly.
static bool jumps(const Search *f, const Meeting *at) {
  return tgRe(at->gap) < -meets && tgRe(at->gap) < -10 * fabs(tgRe(at->speed)) * (f->high - f->low);
}

static tgStatus search(tgSim *s, tgReal rest, const LeftOut *out, tgReal *t, Meeting *at) {
  enum { TRIES = 60 };
  Search f = {.high = tgRe(rest), .t1 = tgRe(rest)};
  *t = rest;
  TG_TRY(look(s, *t, out, at));
  for (int i = 0; i < TRIES && !found(at) && (i > 0 || tgRe(at->gap) < 0); i++) {
    note(&f, *t, at);
    if (jumps(&f, at)) break;
    *t = next(&f, at);
    TG_TRY(look(s, *t, out, at));
  }
  return TG_OK;
}

static tgStatus begin_names(tgSim *s, size_t room, Names *names) {
  names->n = 0;
  names->name = tgi_stack_bytes(s, (room + 1) * sizeof *names->name);
  return names->name == NULL ? tgi_no_room(s, "parts") : TG_OK;
}

static void add_name(Names *names, uint64_t name) { names->name[names->n++] = name; }

// What the flow in the sim stops though it closes fast does not meet; where there are crowds.
static tgStatus leave_out_crowds(tgSim *s, Names *out) {
  TG_TRY(begin_names(s, (size_t)s->cap.nrow + (size_t)s->ncrowd, out));
  for (int i = 0; i < s->nrow && out->n < s->ncrowd; i++)
    if (tgi_row_pushes(s, i) && s->rows->quick[i]) add_name(out, tgi_row_name(s, i));
  return TG_OK;
}

// what the flow in the sim has rows of
static tgStatus note_rows(tgSim *s, Names *rows) {
  TG_TRY(begin_names(s, (size_t)s->nrow, rows));
  for (int i = 0; i < s->nrow; i++)
    if (tgi_row_pushes(s, i)) add_name(rows, tgi_row_name(s, i));
  return TG_OK;
}

// The rows are of all that is near the start: what of it touches or overlaps, and is not fast there, is held or parts, and does not meet.
static void leave_out_held(const tgSim *s, const Names *rows, LeftOut *out) {
  for (int i = 0; i < s->nrow; i++) {
    double gap = tgRe(s->rows->gap[i]);
    if (!tgi_row_pushes(s, i) || gap > TG_TOUCH) continue;
    uint64_t name = tgi_row_name(s, i);
    add_name(&out->all, name);
    if (gap >= -TG_TOUCH && !among(rows, name)) add_name(&out->loose, name);
  }
}

// what becomes of a flow of `rest` whose search ended at t
static tgiMeet verdict(const tgSim *s, tgReal rest, tgReal t, const Meeting *at) {
  if (found(at)) return tgRe(rest) - tgRe(t) > 1e-9 * s->h ? TGI_MEETS : TGI_MEETS_NOT;
  return tgRe(t) == tgRe(rest) && tgRe(at->gap) >= 0 && !at->passes ? TGI_MEETS_NOT : TGI_MEETS_NOWHERE;
}

// The search and, from its end, one step of Newton's method by the slope itself: what the numbers carry besides their real parts. Real
// parts stay where the slope is next to none, as of what grazes: there the step is no correction.
static tgStatus time_of(tgSim *s, tgReal rest, const LeftOut *out, tgiMeet *meet, tgReal *t, tgiWho *who) {
  tgReal slope, *gq = tgi_stack_real(s, (size_t)s->m.nv);
  Meeting at = {.row = -1};
  if (gq == NULL) return tgi_no_room(s, "parts");
  TG_TRY(search(s, rest, out, t, &at));
  *meet = verdict(s, rest, *t, &at);
  if (*meet != TGI_MEETS) return TG_OK;
  *who = tgi_row_who(s, at.row);
  TG_TRY(tgi_meeting_slope(s, *t, at.row, NULL, gq, &slope));
  tgReal step = at.gap / slope;
  if (fabs(tgRe(step)) <= CORRECTION * s->h) {
    *t -= step;
    return TG_OK;
  }
  tgi_rows_edge(s, "about to pass by", tgi_who_row(s, who));
  *t -= step - tgRe(step);
  return TG_OK;
}

tgStatus tgi_meeting_time(tgSim *s, tgReal rest, tgiMeet *meet, tgReal *t, tgiWho *who) {
  size_t mark = tgi_stack_mark(s);
  LeftOut out;
  Names rows;
  Meeting at = {.row = -1};
  TG_TRY(note_rows(s, &rows));
  TG_TRY(leave_out_crowds(s, &out.all));
  Names crowds = out.all;
  TG_TRY(begin_names(s, (size_t)s->cap.nrow, &out.loose));
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_NEAR));
  leave_out_held(s, &rows, &out);
  TG_TRY(tgi_impulse_keep_fast(s, &s->start, s->start.vel));
  least_gap(s, crowds.n > 0 ? &crowds : NULL, &at);
  double least = tgRe(at.gap);
  *meet = least < -TG_TOUCH ? TGI_OVERLAPS_NOW : TGI_MEETS_NOW;
  if (fabs(fabs(least) - TG_TOUCH) <= 1e-9) tgi_rows_edge(s, "about to touch", at.row);
  if (least > TG_TOUCH) TG_TRY(time_of(s, rest, &out, meet, t, who));
  tgi_stack_free(s, mark);
  return TG_OK;
}
