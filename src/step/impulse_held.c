// impulse_held.c: flows of the event stepper, over what is held, with forces in their middle. See impulse.h.
#include "step/impulse.h"

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

// [m/s or rad/s] by which an equality's error at the flow's start is removed in the flow; 0: of other rows.
static double error_speed(const tgSim *s, int i) { return tgi_order_error(s, i) / tgRe(s->dt); }

// above 0: the error is wide, by that share of what is
static double over_wide(const tgSim *s, int i) {
  double speed = fabs(error_speed(s, i));
  return fmin(speed / fastest, speed * tgRe(s->dt) / TGI_WIDE) - 1;
}

bool tgi_row_brings_back(const tgSim *s, int row) {
  return tgi_row_past_limit(s, row) > TGI_PAST_LIMIT || over_wide(s, row) > 0;
}

// The positions' problem, which is selected, of a path whose velocity goes evenly from v0 to V: gaps and errors end at 0, however wide,
// gap + dt J (v0 + V)/2 of rows at the start, gap + dt J (V - v0)/2 of rows ahead; a wide error by that speed nearer.
static void path_bias(tgSim *s) {
  tgRows *r = s->rows;
  s->info.ncut = 0;   // that of the last flow is the step's
  for (int i = 0; i < s->nrow; i++) {
    bool moves = tgi_row_pushes(s, i) || r->kind[i] == TG_ROW_EQUALITY;
    r->bounce[i] = 0;
    double over = over_wide(s, i);
    if (fabs(over) <= 1e-9) tgi_rows_edge(s, "at the speed that bounds a push", i);
    r->cut[i] = over > 0;
    s->info.ncut += r->cut[i];
    r->rate[i] = moves && !r->cut[i] ? 2 / s->dt : 0;
    r->drift[i] = !moves ? 0 : s->ahead && !r->cut[i] ? 1 : -1;
  }
  tgi_impulse_fill_bias(s);
  for (int i = 0; i < s->nrow; i++)
    if (r->cut[i]) r->b[i] += error_speed(s, i) < 0 ? -2 * fastest : 2 * fastest;
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

// In the middle, over the rows that are there: the free motion, then both problems.
static tgStatus solve_midway(tgSim *s, tgReal dt, bool held, const void *record) {
  tgi_order_begin(s);
  TG_TRY(held ? tgi_part_held_velocity(s) : tgi_part_free_velocity(s, dt));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = s->rows->mean[d] = s->vhat[d];
  if (s->nrow == 0) return TG_OK;
  tgStatus status = tgi_flow_solve(s, path_bias, false, record);
  return status == TG_OK ? solve_ordered(s, record) : status;
}

static tgStatus held_flow(tgSim *s, tgReal dt, bool held, const void *record, const tgiClasses *from) {
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
    status = solve_midway(s, dt, true, record);
    tgi_midway_end(s);   // for derivatives
  } else {
    for (tgiAgreement a = tgi_agreement_begin(s); again && status == TG_OK;) {
      status = solve_midway(s, dt, a.search > 0, NULL);
      if (status == TG_OK) status = tgi_agree(s, &a, &again);
    }
  }
  tgi_midway(s);
  return status;
}

tgStatus tgi_impulse_held_flow(tgSim *s, tgReal dt, const void *record, const tgiClasses *from) {
  if (record == NULL) return held_flow(s, dt, false, NULL, from);
  tgi_servo_recall(s, record);
  return held_flow(s, dt, true, (const char *)record + tgi_servo_record_bytes(s), NULL);
}
