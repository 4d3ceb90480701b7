// impulse_crowd.c: see impulse_crowd.h.
#include "step/impulse_crowd.h"

#include "coll/contacts.h"
#include "contact/islands.h"
#include "sim/row.h"
#include "step/impulse.h"

static bool bounces(const tgSim *s, int row) {
  return s->rows->kind[row] == TG_ROW_NORMAL && tgRe(s->contact[s->rows->owner[row]].restitution) > 0;
}

// gap(q0), from the row at q0 (+) dt v0 to first order
static double gap_at_start(const tgSim *s, int row) { return tgRe(s->rows->gap[row] - s->dt * s->rows->before[row]); }

static bool closes_fast(const tgSim *s, int row) {
  return tgi_row_pushes(s, row) && s->rows->quick[row] != 0 && gap_at_start(s, row) > TG_TOUCH;
}

void tgi_crowd_all(tgSim *s) {
  s->ncrowd = 0;
  for (int i = 0; i < s->nrow; i++) s->ncrowd += closes_fast(s, i);
}

tgStatus tgi_crowd_islands(tgSim *s, int8_t *crowd, bool *any) {
  bool fast = false;
  *any = false;
  s->ncrowd = 0;
  for (int i = 0; i < s->nrow; i++) {
    crowd[i] = 0;
    fast = fast || (tgi_row_pushes(s, i) && s->rows->quick[i]);
  }
  if (!fast || s->nrow <= TGI_CROWD) return TG_OK;
  TG_TRY(tgi_islands(s));
  for (int i = 0; i < s->nrow; i++) {
    bool many = tgi_island_rows(s, s->rows->island[i]) > TGI_CROWD;
    *any = *any || many;
    crowd[i] = many && !bounces(s, i);
    s->ncrowd += crowd[i] && closes_fast(s, i);
  }
  s->nisland = s->info.nisland = 0;   // of rows some of which may go
  return TG_OK;
}

// when the row meets in the free motion, from its speeds at both ends
static double time_of(const tgSim *s, int row) {
  double speed = tgRe(s->rows->before[row] + tgi_row_dot(s, s->rows->J, row, s->vhat)) / 2;
  return speed < 0 ? fmax(0, gap_at_start(s, row) / -speed) : 0;
}

// Contacts of the same two geoms, which stand one after another, meet with the first of them.
static bool goes_on(const tgSim *s, int last, int row) {
  return last >= 0 && s->rows->kind[last] == TG_ROW_NORMAL && s->rows->kind[row] == TG_ROW_NORMAL &&
         s->contact[s->rows->owner[last]].pair == s->contact[s->rows->owner[row]].pair;
}

// Adds a time to those that are known, with which it counts once where it is within a millionth of the flow.
static int add_time(const tgSim *s, double t, double *known, int n) {
  for (int k = 0; k < n; k++)
    if (fabs(known[k] - t) <= 1e-6 * fabs(tgRe(s->dt))) return n;
  known[n] = t;
  return n + 1;
}

void tgi_crowd_times(tgSim *s, int most, int8_t *fast) {
  double known[TGI_IMPACTS + 1], t = INFINITY;
  int n = 0, last = -1, count = 0;
  for (int i = 0; i < s->nrow && n <= most; i++) {
    if (!fast[i]) continue;
    if (bounces(s, i)) return;
    if (last >= 0 && !goes_on(s, last, i)) {
      n = add_time(s, t, known, n);
      t = INFINITY;
    }
    t = fmin(t, time_of(s, i));
    last = i;
  }
  if (last >= 0 && n <= most) n = add_time(s, t, known, n);
  if (n <= most) return;
  for (int i = 0; i < s->nrow; i++) {
    if (fast[i] && bounces(s, i)) return;
    count += fast[i];
  }
  for (int i = 0; i < s->nrow; i++) fast[i] = 0;
  s->ncrowd += count;
}

bool tgi_crowd_any(const tgSim *s) {
  for (int k = 0; k < s->nisland; k++)
    if (tgi_island_rows(s, k) > TGI_CROWD) return true;
  return false;
}
