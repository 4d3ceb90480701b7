// impulse_held.c: flows of the event stepper, over what is held, with forces in their middle. See impulse.h.
#include "step/impulse.h"

#include <math.h>
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "step/event_order.h"
#include "step/impulse_midway.h"
#include "step/impulse_part.h"
#include "step/step.h"

// A wide error of an equality is not removed faster than this [m/s or rad/s]: in a short flow it would throw bodies about.
static const double fastest = 1;

// The largest error of row i's equality, whose rows follow each other; 0: it is of none.
static double widest_error(const tgSim *s, int i) {
  const tgRows *r = s->rows;
  int first = i, owner = r->owner[i];
  double most = 0;
  if (r->kind[i] != TG_ROW_EQUALITY) return 0;
  while (first > 0 && r->kind[first - 1] == TG_ROW_EQUALITY && r->owner[first - 1] == owner) first--;
  for (int k = first; k < s->nrow && r->kind[k] == TG_ROW_EQUALITY && r->owner[k] == owner; k++)
    most = fmax(most, fabs(tgi_order_error(s, k)));
  return most;
}

// How many times the share of an equality's widest error that the flow removes is halved. All of its rows have one share, so that what
// removes them contradicts none of them.
static int halvings_of_error(const tgSim *s, double wide) {
  double flow = fastest * tgRe(s->dt);
  return wide > TGI_WIDE && wide > flow ? (int)ceil(log2(wide / flow)) : 0;
}

// A move of 1e-9 of the error or of the flow may change that number.
static bool is_near_other_halvings(const tgSim *s, double wide) {
  const double near = 1e-9;
  double x = wide / (fastest * tgRe(s->dt));
  if (wide < (1 - near) * TGI_WIDE || x < 1 - near) return false;
  return wide < (1 + near) * TGI_WIDE || fabs(log2(x) - round(log2(x))) <= near;
}

bool tgi_row_brings_back(const tgSim *s, int row) {
  return tgi_row_past_limit(s, row) > TGI_PAST_LIMIT || halvings_of_error(s, widest_error(s, row)) > 0;
}

// The positions' problem, which is selected, of a path whose velocity goes evenly from v0 to V: gaps and errors end at 0, however wide,
// gap + dt J (v0 + V)/2 of rows at the start, gap + dt J (V - v0)/2 of rows ahead; a wide error at what is left of the one at the start.
static void path_bias(tgSim *s) {
  tgRows *r = s->rows;
  s->info.ncut = 0;   // that of the last flow is the step's
  for (int i = 0; i < s->nrow; i++) {
    bool moves = tgi_row_pushes(s, i) || r->kind[i] == TG_ROW_EQUALITY;
    double wide = widest_error(s, i);
    int halvings = halvings_of_error(s, wide);
    double share = ldexp(1, -halvings);
    r->bounce[i] = 0;
    if (is_near_other_halvings(s, wide)) tgi_rows_edge(s, "at the speed that bounds a push", i);
    r->cut[i] = halvings > 0;
    s->info.ncut += r->cut[i];
    r->rate[i] = moves ? 2 * share / s->dt : 0;
    r->drift[i] = !moves ? 0 : s->ahead ? 2 * share - 1 : -1;
  }
  tgi_impulse_fill_bias(s);
}

// Rows of what is held are ahead, where all of it is found again, else at the start: features may change on the way, and what meets in a
// crowd would be passed through.
static tgStatus held_rows(tgSim *s, tgReal dt) {
  double least = s->info.least_distance;   // of poses that are passed
  int found = 0;
  s->ahead = !tgi_order_has_start_alone(s);
  if (s->ahead) {
    TG_TRY(tgi_rows(s, &s->trial, dt, TGI_ROWS_HELD));
    for (int i = 0; i < s->nrow; i++) found += tgi_row_pushes(s, i);
    s->ahead = found == s->nheld;
  }
  if (!s->ahead) TG_TRY(tgi_rows(s, &s->start, dt, TGI_ROWS_HELD));
  s->info.least_distance = least;
  return TG_OK;
}

// pose = q0 (+) way v0, with v0: where its bodies are
static tgStatus place_on_way(tgSim *s, tgReal way, tgPose *pose) {
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv), *q = tgi_stack_real(s, (size_t)s->m.nq);
  if (w == NULL || q == NULL) return tgi_no_room(s, "flow");
  for (int d = 0; d < s->m.nv; d++) w[d] = way * s->start.vel[d];
  tg_model_integrate(&s->m, s->start.q, w, q);
  memcpy(pose->vel, s->start.vel, (size_t)s->m.nv * sizeof *pose->vel);
  tgi_kinematics(&s->m, q, pose);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_open_flow(tgSim *s) {
  tgi_midway(s);
  tgi_midway_end(s);
  tgi_midway(s);
  return place_on_way(s, s->dt, &s->trial);
}

// What is kept of the positions' solve may be that of velocities, whose classes then were others: the answer again, from its record.
static tgStatus keep_positions(tgSim *s, const char *was, char *is, const char *positions, size_t bytes, const tgReal *vhat) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  k->record(s, is);
  if (memcmp(was, is, bytes) == 0) return TG_OK;
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *own = tgi_stack_real(s, nv + 1);
  if (own == NULL) return tgi_no_room(s, "flow");
  memcpy(own, s->vhat, nv * sizeof *own);
  memcpy(s->vhat, vhat, nv * sizeof *own);
  tgi_rows_select(s, 1);
  path_bias(s);   // errors that were left are left once more
  tgStatus status = k->recall(s, positions);
  tgi_rows_select(s, 0);
  memcpy(s->vhat, own, nv * sizeof *own);
  tgi_stack_free(s, mark);
  return status;
}

// Velocities once more, with what the positions have told of the flow: that of before has been a start for both.
static tgStatus solve_ordered(tgSim *s, const void *record) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t bytes = k->record_bytes(s), nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  char *was = tgi_stack_bytes(s, 3 * bytes + 1), *is = was + bytes, *positions = was + 2 * bytes;
  tgReal *vhat = tgi_stack_real(s, nv + 1);
  if (was == NULL || vhat == NULL) return tgi_no_room(s, "flow");
  memset(was, 0, 2 * bytes);
  memcpy(vhat, s->vhat, nv * sizeof *vhat);
  if (record == NULL) {
    k->record(s, was);
    tgi_rows_select(s, 1);
    k->record(s, positions);
    tgi_rows_select(s, 0);
  }
  TG_TRY(tgi_order_free(s));
  memcpy(s->end.vel, s->vhat, nv * sizeof *s->vhat);
  tgi_impulse_fill_bias(s);
  tgStatus status = k->again(s, record);
  if (s->unsolved == TG_OK) s->unsolved = status;
  if (status == TG_OK) tgi_rows_respond(s, s->rows->f, s->end.vel);
  if (status == TG_OK && record == NULL) status = keep_positions(s, was, is, positions, bytes, vhat);
  tgi_stack_free(s, mark);
  return status;
}

// In the middle, over the rows that are there: the free motion, then both problems; what velocities lack of a flow that is tried, later.
static tgStatus solve_midway(tgSim *s, tgReal dt, bool held, bool tried, const void *record) {
  tgi_order_begin(s);
  TG_TRY(held ? tgi_part_held_velocity(s) : tgi_part_free_velocity(s, dt));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = s->rows->mean[d] = s->vhat[d];
  if (s->nrow == 0) return TG_OK;
  tgStatus status = tgi_flow_solve(s, path_bias, false, record);
  if (status == TG_OK && tried) tgi_order_leave(s);
  return status == TG_OK && !tried ? solve_ordered(s, record) : status;
}

static tgStatus held_flow(tgSim *s, tgReal dt, bool held, bool tried, const void *record, const tgiClasses *from) {
  bool again = true;
  s->opened = false;
  s->dt = dt;
  s->nisland = 0;
  tgi_rows_select(s, 0);
  TG_TRY(place_on_way(s, dt, &s->trial));
  TG_TRY(held_rows(s, dt));
  tgi_order_match(s);
  if (from != NULL) tgi_classes_start(s, from);
  TG_TRY(place_on_way(s, 0.5 * dt, &s->middle));
  tgi_midway(s);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  tgStatus status = TG_OK;
  if (held) {
    status = solve_midway(s, dt, true, false, record);
    tgi_midway_end(s);   // for derivatives
  } else {
    for (tgiAgreement a = tgi_agreement_begin(s); again && status == TG_OK;) {
      status = solve_midway(s, dt, a.search > 0, tried, NULL);
      if (status == TG_OK) status = tgi_agree(s, &a, &again);
    }
  }
  tgi_midway(s);
  return status;
}

tgStatus tgi_impulse_held_flow(tgSim *s, tgReal dt, const void *record, const tgiClasses *from) {
  if (record == NULL) return held_flow(s, dt, false, false, NULL, from);
  tgi_servo_recall(s, record);
  return held_flow(s, dt, true, false, (const char *)record + tgi_servo_record_bytes(s), NULL);
}

tgStatus tgi_impulse_try_flow(tgSim *s, tgReal dt, const tgiClasses *from) {
  return held_flow(s, dt, false, !tgi_servo_any_range(&s->m), NULL, from);
}

tgStatus tgi_impulse_complete_flow(tgSim *s) {
  if (!tgi_order_is_left(s)) return TG_OK;
  tgi_midway(s);
  tgStatus status = solve_ordered(s, NULL);
  tgi_midway(s);
  return status;
}
