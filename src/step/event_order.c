// event_order.c: see event_order.h.
#include "step/event_order.h"

#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "dyn/forces.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse.h"
#include "step/impulse_midway.h"
#include "step/step.h"

static tgiOrder *order(const tgSim *s) { return &tgi_events(s)->order; }

// Dry friction has the same row everywhere, or a tendon's, which there is none of in an impact: it has no part. A contact whose tangents
// are made by another axis has none of them.
static uint64_t name_of(const tgSim *s, int row) {
  int kind = s->rows->kind[row], part = s->rows->part[row];
  if (kind == TG_ROW_FRICTION) return 0;
  if (kind != TG_ROW_TANGENT) return tgi_row_name(s, row);
  const tgContactRow *c = &s->contact[s->rows->owner[row]];
  return tgi_constraint_name(kind, c->pair, c->feature) * 0x9E3779B97F4A7C15u ^ (uint64_t)(4 * part + c->axis);
}

void tgi_order_place(const tgSim *s, tgLayout *l, tgiOrder *o) {
  size_t n = (size_t)s->cap.nrow + 1, nv = (size_t)s->model->nv + 1;
  int **ints[] = {&o->kind, &o->owner, &o->part, &o->parent, &o->at, &o->class, &o->class2, &o->quick};
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) *ints[i] = tgi_place(l, n, sizeof(int));
  tgReal **reals[] = {&o->limit, &o->gap, &o->bounce, &o->rate, &o->drift, &o->before, &o->kept, &o->kept2};
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) *reals[i] = tgi_place(l, n, sizeof(tgReal));
  o->span = tgi_place(l, 4 * n, sizeof(int));
  o->J = tgi_place(l, n * (size_t)s->model->row_width + 1, sizeof(tgReal));
  o->contact = tgi_place(l, (size_t)s->cap.ncon + 1, sizeof *o->contact);
  o->name = tgi_place(l, n, sizeof *o->name);
  o->way = tgi_place(l, 3 * n, sizeof(tgReal));
  o->u = tgi_place(l, nv, sizeof(tgReal));
  o->by = tgi_place(l, nv, sizeof(tgReal));
  o->back = tgi_place(l, nv, sizeof *o->back);
}

static void note_names(const tgSim *s, uint64_t *to) {
  for (int i = 0; i < s->nrow; i++) to[i] = name_of(s, i);
}

// of the k-th row of a contact: force along n, t1, t2, couple about them
static const tgReal *way_of(const tgContactRow *c, int k) { return k % 3 == 0 ? c->n : k % 3 == 1 ? c->t1 : c->t2; }

static void note_ways(const tgSim *s, tgReal *way) {
  for (int i = 0; i < s->ncon; i++)
    for (int k = 0; s->contact[i].row >= 0 && k < s->contact[i].nrow; k++)
      memcpy(way + 3 * (s->contact[i].row + k), way_of(&s->contact[i], k), 3 * sizeof *way);
}

// half of F acts along the rows at the start in place of those at the end
void tgi_order_tell(tgSim *s, double share) {
  const tgiOrder *o = order(s);
  if (!o->any) return;
  tgi_rows_select(s, 1);
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    tgReal more[2][3] = {{0}};
    bool turned = false;
    for (int k = 0; c->row >= 0 && k < c->nrow; k++) {
      int at = o->at[c->row + k];
      for (int d = 0; d < 3 && at >= 0; d++) {
        tgReal x = 0.5 * s->rows->f[c->row + k] * (o->way[3 * at + d] - way_of(c, k)[d]);
        more[k / 3][d] += x;
        turned = turned || x != 0;
      }
    }
    if (turned) tgi_touches_push(s, c, share, more[0], more[1]);
  }
  tgi_rows_select(s, 0);
}

void tgi_order_note(tgSim *s) {
  tgiOrder *o = order(s);
  o->nrow = s->nrow;
  note_names(s, o->name);
  note_ways(s, o->way);
  memcpy(o->J, s->rows->J, (size_t)s->nrow * (size_t)s->m.row_width * sizeof *o->J);
  memcpy(o->span, s->rows->span, 4 * (size_t)s->nrow * sizeof *o->span);
  memcpy(o->gap, s->rows->gap, (size_t)s->nrow * sizeof *o->gap);
}

#define EXCHANGE(T, a, b) do { T other = a; a = b; b = other; } while (0)
void tgi_order_exchange(tgSim *s) {
  tgiOrder *o = order(s);
  tgRows *r = s->rows;
  EXCHANGE(int *, o->kind, r->kind);
  EXCHANGE(int *, o->owner, r->owner);
  EXCHANGE(int *, o->part, r->part);
  EXCHANGE(int *, o->parent, r->parent);
  EXCHANGE(int *, o->span, r->span);
  EXCHANGE(int *, o->class, r->class);
  EXCHANGE(int *, o->class2, r->class2);
  EXCHANGE(int *, o->quick, r->quick);
  EXCHANGE(tgReal *, o->limit, r->limit);
  EXCHANGE(tgReal *, o->gap, r->gap);
  EXCHANGE(tgReal *, o->bounce, r->bounce);
  EXCHANGE(tgReal *, o->rate, r->rate);
  EXCHANGE(tgReal *, o->drift, r->drift);
  EXCHANGE(tgReal *, o->before, r->before);
  EXCHANGE(tgReal *, o->kept, r->kept);
  EXCHANGE(tgReal *, o->kept2, r->kept2);
  EXCHANGE(tgReal *, o->J, r->J);
  EXCHANGE(tgContactRow *, o->contact, s->contact);
  EXCHANGE(int, o->nrow, s->nrow);
  EXCHANGE(int, o->ncon, s->ncon);
  EXCHANGE(bool, o->contact_d, s->contact_d);
}
#undef EXCHANGE

tgStatus tgi_order_find(tgSim *s, tgReal length) {
  tgStatus status = TG_OK;
  double least = s->info.least_distance;   // of poses that are passed
  tgi_order_exchange(s);
  s->nrow = s->ncon = 0;
  if (s->nheld > 0 || s->m.neq > 0) status = tgi_rows(s, &s->start, length, TGI_ROWS_HELD);
  if (status == TG_OK) note_names(s, order(s)->name);
  s->info.least_distance = least;
  tgi_order_exchange(s);
  return status;
}

// the place of a name among n, looked for from `from` on; -1: it is not there
static int find(const uint64_t *name, int n, uint64_t one, int from) {
  for (int k = 0; k < n && one != 0; k++) {
    int i = (from + k) % n;
    if (name[i] == one) return i;
  }
  return -1;
}

bool tgi_order_has_start_alone(const tgSim *s) { return tgi_events(s)->at_start; }

double tgi_order_error(const tgSim *s, int row) { return s->rows->kind[row] == TG_ROW_EQUALITY ? tgRe(order(s)->gap[row]) : 0; }

// any, all: of the trees that a row acts on, those are marked
static void marked_of(const tgSim *s, int row, bool *any, bool *all) {
  const int *span = s->rows->span + 4 * row, *tree = s->m.dof_tree;
  const int8_t *back = order(s)->back;
  *any = false;
  *all = true;
  for (int i = 0; i < 4; i += 2)
    for (int d = span[i]; d < span[i + 1]; d = tree[2 * d + 1]) {
      *any = *any || back[tree[2 * d]];
      *all = *all && back[tree[2 * d]];
    }
}

static void mark_trees(const tgSim *s, int row) {
  const int *span = s->rows->span + 4 * row, *tree = s->m.dof_tree;
  for (int i = 0; i < 4; i += 2)
    for (int d = span[i]; d < span[i + 1]; d = tree[2 * d + 1]) order(s)->back[tree[2 * d]] = 1;
}

// What the flow brings back is no motion: (V - v) and F are of it by 1/s, and have no part in velocities of the trees that it acts on, nor
// of those that rows join to them, which it pushes.
static void mark_brought_back(const tgSim *s) {
  bool any = false, all, more = false;
  memset(order(s)->back, 0, (size_t)s->m.nv);
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_brings_back(s, i)) continue;
    mark_trees(s, i);
    more = true;
  }
  while (more) {
    more = false;
    for (int i = 0; i < s->nrow; i++) {
      marked_of(s, i, &any, &all);
      if (!any || all) continue;
      mark_trees(s, i);
      more = true;
    }
  }
}

void tgi_order_match(tgSim *s) {
  tgiOrder *o = order(s);
  bool back, all;
  int last = -1;
  mark_brought_back(s);
  for (int i = 0; i < s->nrow; i++) {
    marked_of(s, i, &back, &all);
    o->at[i] = s->ahead && !back ? find(o->name, o->nrow, name_of(s, i), last + 1) : -1;
    if (o->at[i] >= 0) last = o->at[i];
  }
}

void tgi_order_at_start(const tgSim *s, tgReal scale, const tgReal *f, tgReal *y) {
  const tgiOrder *o = order(s);
  for (int j = 0; j < o->nrow; j++) y[j] = 0;
  for (int i = 0; i < s->nrow; i++)
    if (o->at[i] >= 0) y[o->at[i]] = scale * f[i];
}

// y += a row at the start
static void add_start(const tgSim *s, const tgiOrder *o, int j, tgReal f, tgReal *y) {
  const int *span = o->span + 4 * j;
  const tgReal *J = o->J + (size_t)j * (size_t)s->m.row_width;
  for (int d = span[0]; d < span[1]; d++) y[d] += f * *J++;
  for (int d = span[2]; d < span[3]; d++) y[d] += f * *J++;
}

void tgi_order_push(const tgSim *s, tgReal scale, const tgReal *f, tgReal *out) {
  const tgiOrder *o = order(s);
  for (int i = 0; i < s->nrow; i++) {
    if (o->at[i] < 0 || f[i] == 0) continue;
    add_start(s, o, o->at[i], scale * f[i], out);
    tgi_row_add(s, s->rows->J, i, -scale * f[i], out);
  }
}

void tgi_order_speed(const tgSim *s, tgReal scale, const tgReal *x, tgReal *out) {
  const tgiOrder *o = order(s);
  for (int i = 0; i < s->nrow; i++) {
    out[i] = 0;
    if (o->at[i] < 0) continue;
    const int *span = o->span + 4 * o->at[i];
    const tgReal *J = o->J + (size_t)o->at[i] * (size_t)s->m.row_width;
    for (int d = span[0]; d < span[1]; d++) out[i] += scale * *J++ * x[d];
    for (int d = span[2]; d < span[3]; d++) out[i] += scale * *J++ * x[d];
    out[i] -= scale * tgi_row_dot(s, s->rows->J, i, x);
  }
}

void tgi_order_shares(const tgSim *s, tgReal *c) {
  const tgModel *m = &s->m;
  const int *tree = m->dof_tree;
  const int8_t *back = order(s)->back;
  for (int d = 0; d < m->nv; d++) c[d] = 0;
  for (int i = 0; i < s->nrow; i++) {
    const int *span = s->rows->span + 4 * i;
    for (int side = 0; side < 4; side += 2)
      for (int d = span[side]; d < span[side + 1]; d = tree[2 * d + 1])
        for (int k = tree[2 * d]; k < tree[2 * d + 1] && !back[tree[2 * d]]; k++) c[k] = 0.5 * (1 - s->carried_share[k]);
  }
}

void tgi_order_begin(tgSim *s) { order(s)->any = order(s)->turned = order(s)->left = false; }

void tgi_order_leave(tgSim *s) { order(s)->left = true; }

bool tgi_order_is_left(const tgSim *s) { return order(s)->left; }

bool tgi_order_is_turned(const tgSim *s) { return s->midway && order(s)->turned; }

void tgi_order_turn(tgSim *s, bool to) {
  tgiOrder *o = order(s);
  if (!o->any || !tgi_midway_goes_by_velocity(&s->m)) return;
  o->turned = to;
  if (to) tgi_midway_forces(s, o->u);
  else tgi_midway_level(s, s->turning);
}

tgStatus tgi_order_free(tgSim *s) {
  tgiOrder *o = order(s);
  int nv = s->m.nv;
  const tgReal *v = s->start.vel, *u = s->turning > 0 ? tgi_turned(s, s->turning) : v;
  size_t mark = tgi_stack_mark(s);
  tgReal *push = tgi_stack_real(s, (size_t)nv + 1);
  if (push == NULL) return tgi_no_room(s, "flow");
  tgi_order_shares(s, o->u);
  for (int d = 0; d < nv; d++) {
    o->u[d] = u[d] + o->u[d] * (s->rows->mean[d] - v[d]);
    push[d] = 0;
  }
  o->any = true;
  o->left = false;
  tgi_order_turn(s, true);
  if (o->turned) tgi_impulse_free_motion(s);
  tgi_rows_select(s, 1);
  tgi_order_push(s, 0.5, s->rows->f, push);
  tgi_rows_select(s, 0);
  tgi_impulse_solve(s, push, push);
  for (int d = 0; d < nv; d++) s->vhat[d] += push[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}
