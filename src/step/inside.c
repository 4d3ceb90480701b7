// inside.c: see inside.h, and tg_sim_impacts and tg_sim_poses_within of tangere/force.h.
#include "step/inside.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "contact/contact.h"
#include "contact/rows.h"

// What meets within rounding of a step's start may do so before it: times are within the step, and never fall.
static double next_time(const tgSim *s, double time, tgiInside *out) { return out->last = fmin(fmax(time, out->last), s->h); }

void tgi_inside_add_impact(const tgSim *s, double time, tgiInside *out) {
  tgContactInfo contact;
  time = next_time(s, time, out);
  for (int i = 0; i < s->ncon; i++) {
    if (!tgi_rows_impulse(s, i, &contact)) continue;
    tgi_touch_finish(&contact);
    if (out->n < out->room) out->impact[out->n] = (tgImpact){time, contact};
    out->n++;
  }
}

void tgi_inside_add_pose(const tgSim *s, double time, const tgReal *q, tgiInside *out) {
  size_t nq = (size_t)s->m.nq;
  time = next_time(s, time, out);
  if (out->n < out->room) {
    out->time[out->n] = time;
    memcpy(out->q + (size_t)out->n * nq, q, nq * sizeof *q);
  }
  out->n++;
}

bool tgi_inside_apart(const tgSim *s, double time, double last) {
  double least = 1e-9 * s->h;
  return time > last + least && time < s->h - least;
}

static tgStatus told(tgSim *s, tgiInside *out) {
  if (s->stage != TG_STAGE_STEPPED)
    return tgi_error(&s->error, TG_ERR_STATE, "The inside of a step is asked for after something else than a successful step; step first.");
  return s->stepper->inside != NULL ? s->stepper->inside(s, out) : TG_OK;
}

// With more scratch where that of the step is short of it: the step is over, and nothing on the scratch is needed any more.
static tgStatus told_growing(tgSim *s, tgiInside *out) {
  tgi_stack_free(s, 0);
  tgStatus status = told(s, out);
  while (status == TG_ERR_CAPACITY && s->wanted.stack > s->cap.stack) {
    tgi_stack_free(s, 0);
    out->n = 0;
    out->last = 0;
    if (tgi_stack_reserve(s, s->wanted.stack) != TG_OK) return TG_ERR_MEMORY;
    status = told(s, out);
  }
  return status;
}

static int inside(tgSim *s, tgiInside *out) {
  if (!tgi_sim_claim(s)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = told_growing(s, out);
  tgi_fp_leave(env);
  tgi_sim_release(s);
  return status < 0 ? (int)status : out->n;
}

int tg_sim_impacts(tgSim *sim, tgImpact *impact, int room) {
  if (sim == NULL || room < 0 || (impact == NULL && room > 0)) return TG_ERR_ARG;
  return inside(sim, &(tgiInside){.impacts = true, .room = room, .impact = impact});
}

int tg_sim_poses_within(tgSim *sim, double *time, tgReal *qpos, int room) {
  if (sim == NULL || room < 0 || ((time == NULL || qpos == NULL) && room > 0)) return TG_ERR_ARG;
  return inside(sim, &(tgiInside){.room = room, .time = time, .q = qpos});
}
