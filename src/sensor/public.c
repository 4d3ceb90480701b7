// public.c: sensors for callers: tangere/sensor.h.
#include "tangere/sensor.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/layout.h"
#include "dyn/dynamics.h"
#include "sensor/sensor.h"
#include "step/step.h"

int tg_model_nsensordata(const tgModel *model) { return model != NULL ? model->nsensordata : 0; }

tgStatus tg_model_sensor(const tgModel *model, int sensor, tgSensorType *type, int *adr, int *width) {
  if (model == NULL || sensor < 0 || sensor >= model->nsensor) return TG_ERR_ARG;
  if (type != NULL) *type = (tgSensorType)model->sensor_type[sensor];
  if (adr != NULL) *adr = model->sensor_adr[sensor];
  if (width != NULL) *width = model->sensor_num[sensor];
  return TG_OK;
}

static bool of_acceleration(int type) {
  return type == TG_SENSOR_ACCELEROMETER || type == TG_SENSOR_FRAMELINACC || type == TG_SENSOR_FRAMEANGACC;
}

// of which no derivative is known, at a cutoff or not
static bool of_force(int type) { return type == TG_SENSOR_TOUCH || type == TG_SENSOR_FORCE || type == TG_SENSOR_TORQUE; }

// axes and quaternions have unit length whatever a cutoff says, as in MuJoCo
static bool cuts(const tgModel *m, int i) {
  int type = m->sensor_type[i];
  bool unit = type == TG_SENSOR_BALLQUAT || (type >= TG_SENSOR_FRAMEQUAT && type <= TG_SENSOR_FRAMEZAXIS);
  return tgRe(m->sensor_cutoff[i]) > 0 && !unit;
}

// Is this the state that the last step came to? Another one has neither its accelerations nor its forces.
static bool after_step(const tgSim *s) {
  return s->stage == TG_STAGE_STEPPED && memcmp(s->qpos, s->end.q, (size_t)s->m.nq * sizeof *s->qpos) == 0 &&
         memcmp(s->qvel, s->end.vel, (size_t)s->m.nv * sizeof *s->qvel) == 0;
}

// accelerations (nv): those given, or the mean ones of the last step, or, where no sensor asks for any, 0
static tgStatus accelerations(tgSim *s, const tgReal *given, tgReal *a) {
  const tgModel *m = &s->m;
  int asks = 0;
  bool stepped = after_step(s);
  char label[128];
  while (asks < m->nsensor && !of_acceleration(m->sensor_type[asks])) asks++;
  for (int d = 0; d < m->nv; d++) {
    a[d] = given != NULL ? given[d] : asks < m->nsensor && stepped ? (s->end.vel[d] - s->start.vel[d]) / s->h : 0;
    if (!tgFinite(a[d])) return tgi_error(&s->error, TG_ERR_NOT_FINITE, "qacc[%d] is not a finite number.", d);
  }
  if (given != NULL || asks == m->nsensor || stepped) return TG_OK;
  return tgi_error(&s->error, TG_ERR_STATE, "%s reads an acceleration: give accelerations, or ask right after a step, its state unchanged, "
                   "for those of it.", tgi_model_label(m, TG_THING_SENSOR, asks, label, sizeof label));
}

// What joints carried in the last step, where a sensor asks and it is known; else NULL.
static tgReal *wrenches(tgSim *s, tgReal *room) {
  const tgModel *m = &s->m;
  bool asks = false;
  for (int i = 0; i < m->nsensor; i++) asks = asks || m->sensor_type[i] == TG_SENSOR_FORCE || m->sensor_type[i] == TG_SENSOR_TORQUE;
  if (!asks || !after_step(s)) return NULL;
  tgError before = s->error;
  bool known = tgi_joint_wrenches(s, room) == TG_OK;
  s->error = before;
  return known ? room : NULL;
}

// everything at the present state, in scratch, so that the last step stays as it is
static tgStatus sense(tgSim *s, const tgReal *qacc, tgiSensing *x) {
  const tgModel *m = &s->m;
  tgReal *a = NULL;
  *x = (tgiSensing){.s = s};
  tgi_stack_free(s, 0);
  tgLayout l = {.base = NULL};
  for (int pass = 0; pass < 2; pass++) {
    tgi_place_pose(&x->pose, m, &l);
    x->A = tgi_place(&l, 6 * (size_t)m->nbody, sizeof *a);
    x->Ap = tgi_place(&l, 6 * (size_t)m->nv, sizeof *a);
    x->Va = tgi_place(&l, 6 * (size_t)m->nv, sizeof *a);
    a = tgi_place(&l, (size_t)m->nv, sizeof *a);
    x->wrench = tgi_place(&l, 6 * (size_t)m->nbody, sizeof *a);
    if (pass == 1) break;
    TG_TRY(tgi_stack_reserve(s, l.used + 512 + (6 * (size_t)m->nbody + 2 * (size_t)m->nv) * sizeof *a));   // and what wrenches() takes
    l = (tgLayout){.base = tgi_stack_bytes(s, l.used)};
    if (l.base == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "scratch is too small for sensors; tg_sim_reserve makes it larger.");
  }
  TG_TRY(tgi_check_state(s));
  TG_TRY(accelerations(s, qacc, a));
  for (int i = 0; i < m->nq; i++) x->pose.q[i] = s->qpos[i];
  for (int d = 0; d < m->nv; d++) x->pose.vel[d] = s->qvel[d];
  tgi_kinematics(m, x->pose.q, &x->pose);
  tgi_velocities(s, &x->pose, s->qvel);
  tgi_sensing_accelerations(x, a);
  x->stepped = after_step(s);
  x->wrench = wrenches(s, x->wrench);
  return TG_OK;
}

static tgReal *entry(tgReal *D, int row, int width) { return D != NULL ? D + (size_t)row * (size_t)width : NULL; }

static void zero_row(const tgModel *m, const tgiRow *row) {
  for (int j = 0; j < m->nv; j++) {
    if (row->q != NULL) row->q[j] = 0;
    if (row->a != NULL) row->a[j] = 0;
  }
  for (int j = 0; row->v != NULL && j < tgi_nw(m); j++) row->v[j] = 0;
  for (int j = 0; row->u != NULL && j < m->nu; j++) row->u[j] = 0;
}

// one sensor: values and, where D asks for any, their rows, cut off
static void read_one(const tgiSensing *x, int i, tgReal *value, const tgiRow *D) {
  const tgModel *m = &x->s->m;
  int adr = m->sensor_adr[i], n = m->sensor_num[i];
  tgiRow row[4];
  tgReal out[4], most = m->sensor_cutoff[i];
  for (int k = 0; D != NULL && k < n; k++) {
    int at = adr + k;
    row[k] = (tgiRow){entry(D->q, at, m->nv), entry(D->v, at, tgi_nw(m)), entry(D->u, at, m->nu), entry(D->a, at, m->nv)};
    zero_row(m, &row[k]);
  }
  tgi_sensor_read(x, i, out, D != NULL ? row : NULL);
  for (int k = 0; k < n; k++) {
    bool over = cuts(m, i) && (tgRe(out[k]) > tgRe(most) || tgRe(out[k]) < -tgRe(most));
    if (value != NULL) value[adr + k] = !over ? out[k] : tgRe(out[k]) > 0 ? most : -most;
    if (over && D != NULL && !of_force(m->sensor_type[i])) zero_row(m, &row[k]);
  }
}

static tgStatus read_all(tgSim *s, const tgReal *qacc, tgReal *value, const tgiRow *D) {
  tgiSensing x;
  if (s->m.nsensor == 0) return TG_OK;
  TG_TRY(sense(s, qacc, &x));
  tgReal *start = s->act0;
  s->act0 = s->act;               // forces of the present activations, not of those at the start of the last step
  for (int i = 0; i < s->m.nsensor; i++) read_one(&x, i, value, D);
  s->act0 = start;
  tgi_stack_free(s, 0);
  return TG_OK;
}

static tgStatus call(tgSim *sim, const tgReal *qacc, tgReal *value, const tgiRow *D) {
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = read_all(sim, qacc, value, D);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

tgStatus tg_sim_sensors(tgSim *sim, const tgReal *qacc, tgReal *value) {
  if (sim == NULL || (value == NULL && sim->m.nsensordata > 0)) return TG_ERR_ARG;
  return call(sim, qacc, value, NULL);
}

tgStatus tg_sim_sensors_d(tgSim *sim, const tgReal *qacc, tgReal *Dq, tgReal *Dv, tgReal *Du, tgReal *Da) {
  if (sim == NULL) return TG_ERR_ARG;
  tgiRow D = {.q = Dq, .v = Dv, .u = Du, .a = Da};
  return call(sim, qacc, NULL, &D);
}
