// event_coupled.c: what becomes of each closed row in an impact, see event_impact.h.
#include <string.h>

#include "dyn/dynamics.h"
#include "sim/row.h"
#include "step/event_impact.h"
#include "step/impulse_impact.h"
#include "step/impulse_parts.h"
#include "step/step.h"

bool tgi_event_was_held(const tgSim *s, int row) {
  const tgiEvents *e = tgi_events(s);
  uint64_t name = tgi_row_name(s, row);
  for (int i = 0; i < e->nheld; i++)
    if (e->held[i] == name) return true;
  return false;
}

// impacts of what meets that the row's bodies have had in the step
static int met_before(const tgSim *s, int row) {
  const int *span = s->rows->span + 4 * row;
  int most = 0;
  for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1)
    most = tgi_events(s)->met[d] > most ? tgi_events(s)->met[d] : most;
  return most;
}

// meets fast, in the islands that are marked
static bool meets_too(const tgSim *s, const bool *island, int row) {
  return tgi_row_pushes(s, row) && island[s->rows->island[row]] && tgi_row_closes_faster(s, row, tgi_rows_rest_speed(s)) &&
         !tgi_event_was_held(s, row);
}

// An impulse of row i, whose x = M^-1 J' is, moves row k, or rounding alone does.
static bool moves(const tgSim *s, int k, const tgReal *x) {
  static const double nothing = 1e-12;   // of what it could
  const int *span = s->rows->span + 4 * k;
  const tgReal *J = tgi_row(s, s->rows->J, k);
  double sum = 0, row = 0, all = 0;
  if (s->rows->kind[k] == TG_ROW_TANGENT && !(tgRe(s->rows->limit[k]) > 0)) return false;
  for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++) {
    sum += tgRe(*J * x[d]);
    row += tgRe(*J) * tgRe(*J);
    all += tgRe(x[d]) * tgRe(x[d]);
  }
  return fabs(sum) > nothing * sqrt(row * all);
}

// Rows that impulses do not couple to what meets, row, have no part in its impact, though they are of its island: contacts of one body
// whose impulses do not move each other, as with two walls of a corner. Each meets at a time of its own, which its derivative is through.
// others: that meet fast too; where all of them are coupled to it, so that they share an impact, no more is looked at.
static tgStatus leave_uncoupled(tgSim *s, const bool *island, int row, int others, int8_t *flag) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *x = tgi_stack_real(s, nv + 1);
  int *chain = tgi_stack_bytes(s, (size_t)s->nrow * sizeof *chain), count = 1;
  int8_t *reached = tgi_stack_bytes(s, (size_t)s->nrow);
  if (x == NULL || chain == NULL || reached == NULL) return tgi_no_room(s, "impact");
  memset(reached, 0, (size_t)s->nrow);
  reached[row] = 1;
  chain[0] = row;
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  TG_TRY(tgi_impulse_still(s));
  for (int at = 0; at < count && others > 0; at++) {
    memset(x, 0, nv * sizeof *x);
    tgi_row_add(s, s->rows->J, chain[at], 1, x);
    tgi_impulse_solve(s, x, x);
    for (int k = 0; k < s->nrow; k++) {
      if (reached[k] || !moves(s, k, x)) continue;
      reached[k] = 1;
      chain[count++] = k;
      others -= meets_too(s, island, k);
    }
  }
  for (int i = 0; i < s->nrow && others > 0; i++)
    if (tgi_row_pushes(s, i) && !reached[i]) flag[i] = TGI_EVENT_DROPPED;
  tgi_stack_free(s, mark);
  return TG_OK;
}

bool tgi_event_meets_too(const tgSim *s, const bool *island, int row, const int8_t *flag) {
  return (flag[row] & TGI_EVENT_DROPPED) == 0 && meets_too(s, island, row);
}

tgStatus tgi_event_set_flags(tgSim *s, const bool *island, int row, int8_t *flag) {
  double rest = tgi_rows_rest_speed(s);
  int met = 0, others = 0;
  for (int i = 0; i < s->nrow; i++) {
    flag[i] = tgi_row_pushes(s, i) && !island[s->rows->island[i]] ? TGI_EVENT_DROPPED : 0;
    others += row >= 0 && i != row && meets_too(s, island, i);
  }
  if (others > 0) TG_TRY(leave_uncoupled(s, island, row, others, flag));
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i)) continue;
    if (flag[i] != 0 || !tgi_row_closes_faster(s, i, rest) || tgi_event_was_held(s, i)) continue;
    if (row >= 0 && ++met == 2) tgi_rows_edge(s, "meets at the same time as another", i);
    if (s->rows->kind[i] != TG_ROW_NORMAL || met_before(s, i) >= TGI_EVENTS_BOUNCE) continue;
    if (fabs(tgRe(tgi_row_dot(s, s->rows->J, i, s->vhat)) + rest) <= 1e-9) tgi_rows_edge(s, "at the speed where restitution begins", i);
    if (tgRe(s->contact[s->rows->owner[i]].restitution) > 0) flag[i] |= TGI_EVENT_BOUNCES;
  }
  return TG_OK;
}

// What closes, and of which nothing else is known, presses in the impact and sticks, for a start: many contacts that land together have
// no other.
static void start_pressing(tgSim *s) {
  static const double least = 1e-6;   // [m/s]
  for (int i = 0; i < s->nrow; i++) {
    int normal = s->rows->kind[i] == TG_ROW_TANGENT ? s->rows->parent[i] : i;
    if (s->rows->class[i] != 0 || !tgi_row_pushes(s, normal) || !tgi_row_closes_faster(s, normal, least)) continue;
    s->rows->class[i] = s->contact_model->kind->rows->holding(s->rows->kind[i]);
  }
}

tgStatus tgi_event_impact_by_flags(tgSim *s, const int8_t *flag, const void *record) {
  size_t mark = tgi_stack_mark(s);
  int8_t *drop = tgi_stack_bytes(s, (size_t)s->nrow + 1);
  if (drop == NULL) return tgi_no_room(s, "impact");
  for (int i = 0; i < s->nrow; i++) {
    drop[i] = (flag[i] & TGI_EVENT_DROPPED) != 0;
    if (flag[i] & TGI_EVENT_BOUNCES) s->rows->bounce[i] = s->contact[s->rows->owner[i]].restitution;
  }
  tgi_rows_drop(s, drop);
  tgi_stack_free(s, mark);
  if (record == NULL) {
    tgi_classes_start(s, &tgi_events(s)->last);
    start_pressing(s);
  }
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  tgi_velocities(s, &s->start, s->start.vel);
  memset(s->bias, 0, (size_t)s->m.nv * sizeof *s->bias);   // an impact has no smooth forces
  memset(s->tau, 0, (size_t)s->m.nv * sizeof *s->tau);
  TG_TRY(tgi_impulse_still(s));
  return tgi_impact_rows(s, record);
}
