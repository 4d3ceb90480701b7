// event_record.c: a step in pieces on a tape: what each piece started from and what was solved for, packed one after another.
//
// Based on: [math/toi Adjoint]. A piece is put back from it without a search and without a solve, by the functions that made it.
#include <limits.h>
#include <string.h>

#include "contact/rows.h"
#include "step/event.h"
#include "step/impulse_parts.h"

// Room for so many pieces of as many rows as there may be; of fewer rows more fit.
enum { FULL_PIECES = 8 };

typedef struct Head {
  int n;                  // pieces; 0: the step is made anew
  int ntouch, nedge;
  bool surrogate_part;
  uint64_t part_mode;
  char edge[sizeof((tgSim *)NULL)->edge];
} Head;

static size_t rounded(size_t bytes) { return (bytes + 15) / 16 * 16; }

// of the answers to one problem over at most so many rows
static size_t answer_bytes(const tgSim *s, int nrow) {
  return s->cap.nrow > 0 ? s->contact_model->kind->rows->record_bytes(s) / (size_t)s->cap.nrow * (size_t)nrow : 0;
}

// where the parts of a piece's record are, behind each other
typedef struct Places { size_t q, v, times, names, flags, servo, first, second, end; } Places;

static Places places(const tgSim *s, int nrow, int nheld) {
  Places p = {.q = rounded(sizeof(tgiPiece))};
  p.v = p.q + rounded((size_t)s->m.nq * sizeof(tgReal));
  p.times = p.v + rounded((size_t)s->m.nv * sizeof(tgReal));
  p.names = p.times + rounded(2 * sizeof(tgReal));
  p.flags = p.names + rounded((size_t)nheld * sizeof(uint64_t));
  p.servo = p.flags + rounded((size_t)nrow);
  p.first = p.servo + rounded(tgi_servo_record_bytes(s));
  p.second = p.first + rounded(answer_bytes(s, nrow));
  p.end = p.second + rounded(answer_bytes(s, nrow));
  return p;
}

size_t tgi_event_record_bytes(const tgSim *s) {
  return rounded(sizeof(Head)) + FULL_PIECES * places(s, s->cap.nrow, s->cap.nrow).end + rounded(tgi_touches_record_bytes(s->cap.ncon));
}

static size_t needed(const tgSim *s) {
  const tgiEvents *e = tgi_events(s);
  size_t sum = rounded(sizeof(Head)) + tgi_touches_record_bytes(s->ntouch);
  for (int k = 0; k < e->n; k++) sum += places(s, e->piece[k].nrow, e->piece[k].nheld).end;
  return sum;
}

// Piece k to or from its record; both ways by the same list.
static void copy(void *a, void *b, size_t bytes, bool out) {
  if (bytes > 0) memcpy(out ? b : a, out ? a : b, bytes);
}

static size_t copy_piece(const tgSim *s, int k, char *at, bool out) {
  tgiEvents *e = tgi_events(s);
  tgiPiece *piece = &e->piece[k];
  char *answers = tgi_piece_answers(s, k) + tgi_servo_record_bytes(s);
  copy(piece, at, sizeof *piece, out);
  Places p = places(s, piece->nrow, piece->nheld);
  copy(tgi_piece_q(s, k), at + p.q, (size_t)s->m.nq * sizeof(tgReal), out);
  copy(tgi_piece_v(s, k), at + p.v, (size_t)s->m.nv * sizeof(tgReal), out);
  copy(&e->s[k], at + p.times, sizeof(tgReal), out);
  copy(&e->t[k], at + p.times + sizeof(tgReal), sizeof(tgReal), out);
  copy(tgi_piece_names(s, k), at + p.names, (size_t)piece->nheld * sizeof(uint64_t), out);
  copy(tgi_piece_flags(s, k), at + p.flags, (size_t)piece->nrow, out);
  copy(tgi_piece_answers(s, k), at + p.servo, tgi_servo_record_bytes(s), out);
  copy(answers, at + p.first, answer_bytes(s, piece->nrow), out);
  copy(answers + answer_bytes(s, s->cap.nrow), at + p.second, answer_bytes(s, piece->nrow), out);
  return p.end;
}

void tgi_event_record(const tgSim *s, void *to) {
  const tgiEvents *e = tgi_events(s);
  bool kept = s->info.nstalled == 0 && !e->crowd && needed(s) <= tgi_event_record_bytes(s);
  Head head = {.n = kept ? e->n : 0, .ntouch = s->ntouch, .nedge = s->nedge,
               .surrogate_part = s->surrogate_part, .part_mode = s->part_mode};
  memcpy(head.edge, s->edge, sizeof head.edge);
  memcpy(to, &head, sizeof head);
  char *at = (char *)to + rounded(sizeof head);
  for (int k = 0; k < head.n; k++) at += copy_piece(s, k, at, true);
  if (kept) tgi_touches_record(s, at);
}

bool tgi_event_recall(tgSim *s, const void *from) {
  tgiEvents *e = tgi_events(s);
  Head head;
  memcpy(&head, from, sizeof head);
  if (head.n == 0) return false;
  char *at = (char *)(uintptr_t)from + rounded(sizeof head);   // copied from
  s->npart = e->n = head.n;
  e->crowd = false;
  for (int k = 0; k < head.n; k++) at += copy_piece(s, k, at, false);
  tgi_touches_recall(s, head.ntouch, at);
  for (int d = 0; d < s->m.nv; d++) e->stalled[d] = e->straight[d] = INT_MAX;
  s->nedge = head.nedge;
  s->nchoice = 0;
  s->surrogate_part = head.surrogate_part;
  s->part_mode = head.part_mode;
  memcpy(s->edge, head.edge, sizeof head.edge);
  s->rest = 0;
  memset(s->rows->surge, 0, (size_t)s->m.nv * sizeof *s->rows->surge);
  tgi_parts_save_memory(s);
  return true;
}
