// rows.c: arrays of constraint rows as part of a simulation, and their memory from step to step.
#include <string.h>

#include "sim/arrays.h"
#include "sim/sim.h"
#include "sim/stepper.h"

// how many arrays there are
#define TG_ROW_REAL(member, name, rows, cols, unit, producer, text) +1
#define TG_ROW_INT TG_ROW_REAL
enum { ARRAYS = 0
#include "sim/row_fields.def"
};
#undef TG_ROW_REAL
#undef TG_ROW_INT

static int arrays(const tgSim *s, tgiArray *list) {
  const tgModel *m = s->model;
  const tgCapacity *z = &s->cap;
  int n = 0;
#define ROW(scalar_, member, name_, nrow, ncol, unit_, producer_, text_)                                                              \
  list[n++] = (tgiArray){.at = offsetof(tgRows, member), .scalar = scalar_, .rows = nrow, .cols = ncol, .name = #name_, .unit = unit_, \
                         .producer = producer_, .text = text_};
#define TG_ROW_REAL(member, name, nrow, ncol, unit, producer, text) ROW(TG_SCALAR_REAL, member, name, nrow, ncol, unit, producer, text)
#define TG_ROW_INT(member, name, nrow, ncol, unit, producer, text) ROW(TG_SCALAR_INT, member, name, nrow, ncol, unit, producer, text)
#include "sim/row_fields.def"
#undef TG_ROW_REAL
#undef TG_ROW_INT
#undef ROW
  return n;
}

void tgi_rows_place(tgSim *s, tgLayout *l) {
  tgiArray list[ARRAYS];
  s->rows = NULL;
  if (s->stepper != NULL && !s->stepper->rows) return;
  s->rows = tgi_place(l, 1, sizeof *s->rows);
  tgi_arrays_place(l, s->rows, list, arrays(s, list));
}

void tgi_rows_copy(tgSim *to, const tgSim *from) {
  tgiArray list[ARRAYS];
  if (from->rows != NULL && to->rows != NULL) tgi_arrays_copy(to->rows, from->rows, list, arrays(from, list));
}

int tgi_rows_fields(const tgSim *s) { return s->rows != NULL ? ARRAYS : 0; }

tgField tgi_rows_field(const tgSim *s, int i) {
  tgiArray list[ARRAYS];
  return tgi_arrays_field(s->rows, list, arrays(s, list), i);
}

#define SWAP(T, a, b) do { T *other = r->a; r->a = r->b; r->b = other; } while (0)
void tgi_rows_select(tgSim *s, int problem) {
  tgRows *r = s->rows;
  if (s->problem == problem) return;
  s->problem = problem;
  SWAP(int, class, class2);
  SWAP(tgReal, bounce, bounce2);
  SWAP(tgReal, rate, rate2);
  SWAP(tgReal, drift, drift2);
  SWAP(tgReal, b, b2);
  SWAP(tgReal, w, w2);
  SWAP(tgReal, f, f2);
  SWAP(tgReal, kept, kept2);
}
#undef SWAP

void tgi_forget(tgSim *s) {
  s->stage = TG_STAGE_NONE;
  if (s->rows == NULL) return;
  s->rows->mem_count[0] = s->rows->mem_count[1] = 0;
  for (int i = 0; i < tgi_fixed_rows(s->model); i++) s->rows->mem_row[i] = 0;
}

// the memory as bytes: how many of each, then classes of fixed rows, contacts, pairs, forces of the contacts as doubles
typedef struct MemoryHead { int fixed, contacts, pairs; } MemoryHead;

size_t tgi_memory_bytes(const tgSim *s) {
  size_t numbers = s->rows == NULL ? 0
                   : (size_t)tgi_fixed_rows(s->model) + (size_t)s->cap.ncon * TG_MEM_CONTACT +
                   (size_t)s->cap.npairmem * TG_MEM_PAIR;
  size_t forces = s->rows == NULL ? 0 : (size_t)s->cap.ncon * TG_MEM_FORCE;
  return sizeof(MemoryHead) + numbers * sizeof(int) + forces * sizeof(double);
}

void tgi_memory_save(const tgSim *s, void *to) {
  const tgRows *r = s->rows;
  MemoryHead head = {0};
  if (r != NULL) head = (MemoryHead){tgi_fixed_rows(s->model), r->mem_count[0], r->mem_count[1]};
  memcpy(to, &head, sizeof head);
  if (r == NULL) return;
  size_t fixed = (size_t)head.fixed * sizeof(int), contacts = (size_t)head.contacts * TG_MEM_CONTACT * sizeof(int);
  char *at = (char *)to + sizeof head;
  memcpy(at, r->mem_row, fixed);
  memcpy(at + fixed, r->mem_contact, contacts);
  memcpy(at + fixed + contacts, r->mem_pair, (size_t)head.pairs * TG_MEM_PAIR * sizeof(int));
  at += fixed + contacts + (size_t)head.pairs * TG_MEM_PAIR * sizeof(int);
  for (int i = 0; i < head.contacts * TG_MEM_FORCE; i++, at += sizeof(double)) {
    double force = tgRe(r->mem_force[i]);
    memcpy(at, &force, sizeof force);
  }
}

tgStatus tgi_memory_restore(tgSim *s, const void *from) {
  tgRows *r = s->rows;
  MemoryHead head;
  memcpy(&head, from, sizeof head);
  if (r == NULL) return TG_OK;   // steps without rows remember nothing
  if (head.contacts > s->cap.ncon || head.pairs > s->cap.npairmem) {
    s->wanted.ncon = head.contacts > head.pairs ? head.contacts : head.pairs;
    return tgi_error(&s->error, TG_ERR_CAPACITY, "the snapshot remembers %d contacts, there is room for %d", head.contacts, s->cap.ncon);
  }
  if (head.fixed != tgi_fixed_rows(s->model)) {   // of a sim whose steps have no rows
    tgi_forget(s);
    return TG_OK;
  }
  size_t fixed = (size_t)head.fixed * sizeof(int), contacts = (size_t)head.contacts * TG_MEM_CONTACT * sizeof(int);
  const char *at = (const char *)from + sizeof head;
  memcpy(r->mem_row, at, fixed);
  memcpy(r->mem_contact, at + fixed, contacts);
  memcpy(r->mem_pair, at + fixed + contacts, (size_t)head.pairs * TG_MEM_PAIR * sizeof(int));
  at += fixed + contacts + (size_t)head.pairs * TG_MEM_PAIR * sizeof(int);
  for (int i = 0; i < head.contacts * TG_MEM_FORCE; i++, at += sizeof(double)) {
    double force;
    memcpy(&force, at, sizeof force);
    r->mem_force[i] = force;
  }
  r->mem_count[0] = head.contacts;
  r->mem_count[1] = head.pairs;
  return TG_OK;
}
