// impulse_parts.c: see impulse_parts.h.
#include "step/impulse_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contact/rows.h"
#include "step/impulse_flow.h"
#include "step/impulse_impact.h"
#include "step/impulse_meeting.h"
#include "step/step.h"
#include "tangere/base.h"

// Flows are not made shorter than this share of the step.
#define SHORTEST 0.03

// ---- parts ----

void tgi_parts_start_at(tgSim *s, const tgReal *q, const tgReal *v) {
  if (q != s->start.q) memcpy(s->start.q, q, (size_t)s->m.nq * sizeof *q);
  if (v != s->start.vel) memcpy(s->start.vel, v, (size_t)s->m.nv * sizeof *v);
  tgi_start_smooth(s);
}

void tgi_parts_turn(tgSim *s, const tgReal *v) {
  if (s->nothing_shared) {
    tgi_parts_start_at(s, s->start.q, v);
    return;
  }
  memcpy(s->start.vel, v, (size_t)s->m.nv * sizeof *v);
  tgi_step_forces(s, s->start.vel);
}

static const tgiWho nothing = {-1, -1, -1};

static void note_part(tgSim *s, tgiPartKind kind, tgReal dt, tgReal rest, tgiWho meets) {
  tgRows *r = s->rows;
  int k = s->npart++;
  memcpy(r->part_q + (size_t)k * (size_t)s->m.nq, s->start.q, (size_t)s->m.nq * sizeof *s->start.q);
  memcpy(r->part_v + (size_t)k * (size_t)s->m.nv, s->start.vel, (size_t)s->m.nv * sizeof *s->start.vel);
  r->part_kind[k] = (int)kind;
  memcpy(r->part_who + 3 * k, &meets, sizeof meets);
  r->part_dt[k] = dt;
  r->part_rest[k] = rest;
  s->part_mode = tg_hash(s->part_mode, &r->part_kind[k], sizeof(int));
}

// forces of actuators at an end of their range, at the end of the part in the sim, are counted
static tgStatus servo_ties(tgSim *s, int *count) {
  tgStepEnd at;
  const tgStepEnd *end = tgi_servo_end(s, s->end.vel, &at);
  *count = 0;
  if (end == NULL) return TG_OK;
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, (size_t)s->m.nv);
  if (sum == NULL) return tgi_no_room(s, "actuators");
  for (int i = 0; i < s->m.nu; i++) {
    tgActuatorState a;
    tgi_actuator_state(s, &s->start, i, end, &a, count);
  }
  tgi_actuator_sum(s, &s->start, end, sum);
  for (int d = 0; d < s->m.nv; d++) tgi_actuator_sum_side(s, d, end, sum[d], count);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// the part in the sim is not the last, whose own rows and actuators show where it is not smooth
tgStatus tgi_parts_note_edges(tgSim *s, double h) {
  int ties;
  TG_TRY(servo_ties(s, &ties));
  if (ties > 0 && s->nedge == 0) snprintf(s->edge, sizeof s->edge, "an actuator at its clamp, before an impact");
  s->nedge += ties;
  const tgContactModel *kind = s->contact_model->kind;
  tgGradInfo info = {.label = TG_GRAD_EXACT};
  if (kind->nonsmooth == NULL) return TG_OK;
  int before = s->nedge;
  TG_TRY(kind->nonsmooth(s, h, &info));
  bool between = info.label == TG_GRAD_SURROGATE && !s->surrogate_part;   // which is told first
  if ((before == 0 && info.ties > s->nedge) || between) snprintf(s->edge, sizeof s->edge, "%.190s", info.reason);
  if (info.ties > s->nedge) s->nedge = info.ties;
  s->surrogate_part = s->surrogate_part || info.label == TG_GRAD_SURROGATE;
  return TG_OK;
}

// the part in the sim has a second problem over its rows
static bool two_problems(const tgSim *s) { return s->guarded || !tgi_is_impact(s); }

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

// Row i is part of the map: it pushes, or holds what it could push, be it by a force of 0.
static bool acts(const tgSim *s, int i) {
  const tgRows *r = s->rows;
  int at = r->kind[i] == TG_ROW_TANGENT ? r->parent[i] : i;
  bool bounded = r->kind[i] == TG_ROW_TANGENT || r->kind[i] == TG_ROW_FRICTION;
  if (bounded && tgRe(r->limit[i]) == 0) return false;
  if (!tgi_row_pushes(s, at)) return true;
  return tgRe(r->f[at]) != 0 || (two_problems(s) && tgRe(r->f2[at]) != 0);
}

// Row i is one of those that act in the part in the sim: in the hash of what was chosen and, while there is room, in the list.
static void note_choice(tgSim *s, int i, tgiWhere where, unsigned choice) {
  const tgRows *r = s->rows;
  bool contact = r->kind[i] == TG_ROW_NORMAL || r->kind[i] == TG_ROW_TANGENT;
  const tgContactRow *c = contact ? &s->contact[r->owner[i]] : NULL;
  int what[TG_ROW_CHOICE] = {(int)where, r->kind[i], contact ? c->geom1 : r->owner[i], contact ? c->geom2 : -1, r->part[i],
                             contact ? c->feature : 0, (int)choice};
  s->part_mode = mix(mix(s->part_mode, (uint64_t)choice << 32 | (unsigned)what[2]), (uint64_t)(unsigned)what[3] << 32 | (unsigned)what[5]);
  if (s->nchoice == TGI_CHOICES(s->cap.nrow)) return;
  memcpy(r->choice + (size_t)s->nchoice++ * TG_ROW_CHOICE, what, sizeof what);
}

// adds what the part in the sim chose, of the rows that act
void tgi_parts_hash_choices(tgSim *s) {
  int rank = s->nrow > 0 ? s->info.rank : 0;
  s->part_mode = tg_hash(s->part_mode, &rank, sizeof rank);
  const tgRows *r = s->rows;
  s->part_mode = tg_hash(s->part_mode, s->act_hold, (size_t)s->m.nu * sizeof *s->act_hold);
  s->part_mode = tg_hash(s->part_mode, s->jnt_hold, (size_t)s->m.njnt * sizeof *s->jnt_hold);
  for (int i = 0; i < s->nrow; i++) {
    if (!acts(s, i)) continue;
    unsigned choice = (unsigned)(r->kind[i] | r->part[i] << 4 | r->class[i] << 8 | (tgRe(r->bounce[i]) > 0) << 12);
    if (two_problems(s)) choice |= (unsigned)(r->class2[i] | (s->ahead ? r->cut[i] << 4 : 0)) << 16;
    note_choice(s, i, tgi_is_impact(s) ? TGI_WHERE_IMPACT : TGI_WHERE_FLOW, choice);
  }
}

tgStatus tgi_parts_note_answers(tgSim *s, bool two) {
  const tgRowSolver *solver = s->contact_model != NULL ? s->contact_model->kind->rows : NULL;
  int row = -1, body[2], count = s->nrow > 0 && !s->pinned && solver->ambiguous != NULL ? solver->ambiguous(s, two, &row) : 0;
  if (count > 0 && s->info.nambiguous == 0) {
    tgi_row_bodies(s, row, body);
    s->info.ambiguous1 = body[0];
    s->info.ambiguous2 = body[1];
  }
  s->info.nambiguous += count;
  return tgi_watch_stopped(&s->watch) ? tgi_sim_cancelled(s, "search for other answers") : TG_OK;
}

static void *record_of(const tgSim *s, int k) {
  return s->rows->part_record + (size_t)k * (size_t)tgi_part_record_ints(&s->m, &s->cap);
}

const void *tgi_part_record(const tgSim *s, int k) { return record_of(s, k); }

// keeps what was solved for in the part in the sim: which actuators are held, the answers to the first problem and the second
void tgi_part_record_answers(const tgSim *s, bool two, void *to) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // the problem is selected and put back
  const tgRowSolver *solver = s->contact_model->kind->rows;
  char *at = (char *)to + tgi_servo_record_bytes(s);
  tgi_servo_record(s, to);
  if (s->nrow == 0) return;
  solver->record(s, at);
  if (!two) return;
  tgi_rows_select(sim, 1);
  solver->record(s, at + solver->record_bytes(s));
  tgi_rows_select(sim, 0);
}

// the part in the sim, a flow or an impact, is one of the step
static tgStatus keep_part(tgSim *s, tgiPartKind kind, tgReal dt, tgReal rest, tgiWho meets) {
  note_part(s, kind, dt, rest, meets);
  if (kind != TGI_IMPACT) {
    TG_TRY(tgi_flow_note_push(s));
    s->info.ncrowded += s->ncrowd;
  }
  tgi_parts_hash_choices(s);
  TG_TRY_OUTCOME(tgi_parts_note_answers(s, two_problems(s)));
  tgi_part_record_answers(s, two_problems(s), record_of(s, s->npart - 1));
  return TG_OK;
}

tgStatus tgi_part_load(tgSim *s, int k) {
  const tgRows *r = s->rows;
  int fast;
  tgi_parts_start_at(s, r->part_q + (size_t)k * (size_t)s->m.nq, r->part_v + (size_t)k * (size_t)s->m.nv);
  TG_TRY(tgi_impulse_open(s, r->part_rest[k]));
  if (tgi_part_kind(s, k) == TGI_DRIFT) return TG_OK;
  if (tgi_part_kind(s, k) == TGI_IMPACT) return tgi_impact(s, (char *)record_of(s, k) + tgi_servo_record_bytes(s));
  int nlate = s->nlate;
  double late_gap = s->late_gap;
  if (tgi_part_is_share(s, k)) {
    s->nlate = tgi_part_meets(s, k).owner;
    s->late_gap = 1e-3 * tgi_part_meets(s, k).part;
  }
  tgStatus status = tgi_impulse_flow(s, r->part_dt[k], tgi_part_kind(s, k) == TGI_LAST_FLOW, record_of(s, k), &fast);
  s->nlate = nlate;
  s->late_gap = late_gap;
  return status < 0 ? status : tgi_flow_end(s);
}

// ---- the memory that the step started from ----
//
// Rows are made by the choices of the step before, which stay those in all parts and in their derivatives. Classes, of
// which only the solver's way depends, follow from part to part, as each starts where the one before ended.

static void copy_memory(const tgSim *s, int *contact, int *pair, int *row, int *count, tgReal *force, const int *contact0, const int *pair0,
                        const int *row0, const int *count0, const tgReal *force0) {
  memcpy(contact, contact0, (size_t)count0[0] * TG_MEM_CONTACT * sizeof *contact);
  memcpy(pair, pair0, (size_t)count0[1] * TG_MEM_PAIR * sizeof *pair);
  memcpy(row, row0, (size_t)tgi_fixed_rows(&s->m) * sizeof *row);
  memcpy(count, count0, 2 * sizeof *count);
  memcpy(force, force0, (size_t)count0[0] * TG_MEM_FORCE * sizeof *force);
}

void tgi_parts_save_memory(tgSim *s) {
  tgRows *r = s->rows;
  copy_memory(s, r->old_contact, r->old_pair, r->old_row, r->old_count, r->old_force, r->mem_contact, r->mem_pair, r->mem_row, r->mem_count,
              r->mem_force);
}

static void put_memory_back(tgSim *s) {
  tgRows *r = s->rows;
  copy_memory(s, r->mem_contact, r->mem_pair, r->mem_row, r->mem_count, r->mem_force, r->old_contact, r->old_pair, r->old_row, r->old_count,
              r->old_force);
}

#define SWAP_AS(T, a, b) do { T *other = r->a; r->a = r->b; r->b = other; } while (0)
#define SWAP(a, b) SWAP_AS(int, a, b)
void tgi_parts_swap_memory(tgSim *s) {
  tgRows *r = s->rows;
  SWAP(mem_contact, old_contact);
  SWAP(mem_pair, old_pair);
  SWAP(mem_row, old_row);
  SWAP(mem_count, old_count);
  SWAP_AS(tgReal, mem_force, old_force);
}
#undef SWAP
#undef SWAP_AS

// ---- the step ----

// What is left of the step, and how much of that the next part is to take: all, or a share where all would end in overlap.
typedef struct Way {
  double h;
  tgReal rest, length;
  tgiPartKind kind;   // of the next flow
  int left;           // info.nleft before it
  int nlate;          // and what s->nlate and late_gap were
  double late_gap;
  bool whole;         // no shares: the step is made by a record, or anew from elsewhere
  bool *cut;          // the memory of before the step is kept, the present one has changed
} Way;

static void keep_memory(tgSim *s, Way *w) {
  if (!*w->cut) tgi_parts_save_memory(s);
  *w->cut = true;
}

// What is left is gone on with.
static void go_on(Way *w, tgReal done) {
  w->rest -= done;
  w->length = w->rest;
  w->kind = TGI_FLOW;
}

// The drift to a meeting at the start, v = v0 + t a. A body that arrives at the end of a step is taken as if it arrived just after: from
// the other side, where it overlaps already, the time of the impact does not move.
static tgStatus drift(tgSim *s, Way *w) {
  tgReal t;
  tgiWho who = nothing;
  int row;
  size_t mark = tgi_stack_mark(s);
  tgReal *v = tgi_stack_real(s, (size_t)s->m.nv);
  if (v == NULL) return tgi_no_room(s, "parts");
  TG_TRY(tgi_meeting_acceleration(s, v));
  TG_TRY(tgi_meeting_drift(s, &t, &row, &who));
  tgi_rows_edge(s, "an impact at the very start", row);
  if (row >= 0) note_choice(s, row, TGI_WHERE_DRIFT, 0);
  note_part(s, TGI_DRIFT, t, w->length, who);
  for (int d = 0; d < s->m.nv; d++) v[d] = s->start.vel[d] + t * v[d];
  tgi_parts_start_at(s, s->end.q, v);
  tgi_stack_free(s, mark);
  go_on(w, t);
  return TG_OK;
}

// the impact at the start of what is left
static tgStatus impact(tgSim *s, double h) {
  TG_TRY(tgi_impulse_open(s, h));
  TG_TRY(tgi_impact(s, NULL));
  tgi_rows_warm(s);
  TG_TRY(keep_part(s, TGI_IMPACT, 0, h, nothing));
  tgi_touches_add(s, 1);
  TG_TRY(tgi_parts_note_edges(s, h));
  s->info.nimpact++;
  tgi_parts_turn(s, s->rows->after);
  return TG_OK;
}

// The flow in the sim ends deep in overlap: half of what it was to take is tried, where there is room for more parts. A fixed share of what
// is left, whatever meets in it.
static tgStatus too_long(tgSim *s, Way *w, bool *shorter) {
  *shorter = false;
  if (w->whole || s->npart > TGI_PARTS - 4 || tgRe(w->length) < 2 * SHORTEST * w->h) return TG_OK;
  TG_TRY(tgi_flow_ends_deep(s, shorter));
  if (!*shorter) return TG_OK;
  keep_memory(s, w);
  s->info.nleft = w->left;
  s->nlate = w->nlate;   // what the shorter flow does not come to it must not hold
  s->late_gap = w->late_gap;
  w->length *= 0.5;
  w->kind = TGI_FLOW;
  return TG_OK;
}

// the flow in the sim, of t up to a meeting of who, nobody: of a share of what is left, is part of the step
static tgStatus keep_flow(tgSim *s, Way *w, tgReal t, tgiWho who) {
  TG_TRY(tgi_flow_end(s));
  TG_TRY(keep_part(s, w->kind, t, w->length, who));
  tgi_touches_add(s, 1);
  TG_TRY(tgi_parts_note_edges(s, w->h));
  tgi_parts_start_at(s, s->end.q, s->end.vel);
  go_on(w, t);
  return TG_OK;
}

// The flow of what is left, in which nothing has an impact. Where its impulses turn bodies of a crowd into others it is made with rows of
// these.
static tgStatus rest_of_step(tgSim *s, tgReal rest, tgiPartKind *kind, const void *record, int *fast) {
  TG_TRY(tgi_impulse_flow(s, rest, *kind == TGI_LAST_FLOW, record, fast));
  if (*kind == TGI_LAST_FLOW || *fast > 0 || s->nturned == 0) return TG_OK;
  *kind = TGI_LAST_FLOW;
  TG_TRY(tgi_impulse_note_turned(s));
  return tgi_impulse_flow(s, rest, true, NULL, fast);
}

// Something closes fast in the next flow: it ends in an impact, *met, or none is found and the flow of all its length is in the sim.
static tgStatus cut_flow(tgSim *s, Way *w, bool *met) {
  tgiMeet meet;
  tgiWho who;
  tgReal t;
  int fast;
  bool shorter;
  tgi_rows_warm(s);
  TG_TRY(tgi_meeting_time(s, w->length, &meet, &t, &who));
  *met = meet != TGI_MEETS_NOT && meet != TGI_MEETS_NOWHERE;
  w->kind = meet == TGI_MEETS_NOWHERE ? TGI_LAST_FLOW : TGI_FLOW;
  if (!*met) return rest_of_step(s, w->length, &w->kind, NULL, &fast);
  if (meet == TGI_MEETS) {
    TG_TRY(tgi_impulse_flow(s, t, false, NULL, &fast));
    TG_TRY(too_long(s, w, &shorter));
    if (shorter) return TG_OK;
    TG_TRY(keep_flow(s, w, t, who));
  }
  if (meet == TGI_MEETS_NOW) TG_TRY(drift(s, w));
  go_on(w, 0);
  return impact(s, w->h);
}

// the next flow, and the impact in which it ends; *last: the step ends with it
static tgStatus next_flow(tgSim *s, Way *w, const void *record, bool *last) {
  int fast;
  bool met = false, shorter;
  if (s->npart > TGI_PARTS - 3 || s->pinned) {   // no room for a flow, its impact and what is left
    w->kind = TGI_LAST_FLOW;
    w->length = w->rest;
  }
  w->left = s->info.nleft;
  w->nlate = s->nlate;
  w->late_gap = s->late_gap;
  TG_TRY(tgi_impulse_open(s, w->length));
  TG_TRY(rest_of_step(s, w->length, &w->kind, record, &fast));
  if (fast > 0) {
    keep_memory(s, w);
    TG_TRY(cut_flow(s, w, &met));
    if (met) return TG_OK;
  }
  TG_TRY(too_long(s, w, &shorter));
  if (shorter) return TG_OK;
  *last = tgRe(w->length) == tgRe(w->rest);
  if (*last) return TG_OK;
  tgi_rows_warm(s);
  return keep_flow(s, w, w->length, (tgiWho){-1, s->nlate, (int)lround(1e3 * s->late_gap)});
}

// A record's first bytes: the step is one flow, which, and the rows of its first solve, which may have held other actuators; its answers
// follow. Else the step is made anew.
enum { HEAD = 16 };
typedef struct Head {
  int single;
  tgiPartKind kind;
  int first_rows;
} Head;
_Static_assert(sizeof(Head) <= HEAD, "a record's head");

// record: the answers of a step of one flow, or NULL; *cut: the memory of before the step is kept, the present one has changed
static tgStatus run(tgSim *s, double h, const Head *head, const void *record, bool *cut) {
  Way w = {.h = h, .rest = h, .length = h, .kind = head->kind, .whole = record != NULL || s->pinned, .cut = cut};
  s->first_rows = head->first_rows;
  s->npart = s->nedge = s->nchoice = s->nlate = 0;
  s->late_gap = 0;
  s->surrogate_part = false;
  s->part_mode = TG_HASH_START;
  tgi_touches_begin(s);
  tgi_parts_start_at(s, s->start.q, s->start.vel);
  for (bool last = false; !last;) TG_TRY(next_flow(s, &w, record, &last));
  TG_TRY(tgi_flow_end(s));
  TG_TRY(keep_part(s, w.kind, w.rest, w.rest, nothing));
  if (s->npart > 1) tgi_touches_add(s, 1);
  return TG_OK;
}

void tgi_parts_restore(tgSim *s) {
  if (s->npart > 1) tgi_parts_start_at(s, s->rows->part_q, s->rows->part_v);
}

size_t tgi_parts_record_bytes(const tgSim *s) {
  return HEAD + tgi_servo_record_bytes(s) + 2 * s->contact_model->kind->rows->record_bytes(s);
}

void tgi_parts_record(const tgSim *s, void *to) {
  Head head = {.single = s->npart == 1 && s->nlate == 0, .kind = tgi_part_kind(s, 0), .first_rows = s->first_rows};
  memset(to, 0, HEAD);
  memcpy(to, &head, sizeof head);
  if (head.single) tgi_part_record_answers(s, true, (char *)to + HEAD);
}

tgStatus tgi_parts_step(tgSim *s, double h, const void *record) {
  static const Head anew = {.kind = TGI_FLOW, .first_rows = -1};
  Head head = anew;
  bool cut = false;
  if (record != NULL) memcpy(&head, record, sizeof head);
  tgStatus status = run(s, h, head.single ? &head : &anew, head.single ? (const char *)record + HEAD : NULL, &cut);
  if (cut) put_memory_back(s);
  if (status == TG_OK) tgi_parts_restore(s);
  return status;
}
