// replay_signals.c: see replay_signals.h.
#include "output/replay_signals.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dyn/forces.h"

// ---- per state ----

void tgi_replay_energy(const tgSim *s, double energy[2]) {
  energy[0] = 0.5 * tgi_block_form(&s->m, s->qvel, s->M, s->qvel);
  energy[1] = tgi_potential_energy(s, &s->start);
}

// ---- names of parts ----

static void joint_parts(const tgModel *m, int joint, bool velocity, char (*part)[64]) {
  static const char *const free_q[] = {"x", "y", "z", "qw", "qx", "qy", "qz"}, *const free_v[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
  int type = m->jnt_type[joint];
  const char *name = m->thing_name[TG_THING_JOINT][joint];
  char number[32];
  if (name == NULL || name[0] == '\0') {
    snprintf(number, sizeof number, "joint %d", joint);
    name = number;
  }
  bool loose = type == TG_JOINT_FREE;
  int n = loose ? (velocity ? 6 : 7) : type == TG_JOINT_BALL ? (velocity ? 3 : 4) : 1;
  int at = velocity ? m->jnt_vadr[joint] : m->jnt_qadr[joint];
  for (int i = 0; i < n; i++) {
    if (n == 1) snprintf(part[at + i], sizeof part[0], "%.63s", name);
    else snprintf(part[at + i], sizeof part[0], "%.50s %s", name, velocity ? free_v[loose ? i : 3 + i] : free_q[loose ? i : 3 + i]);
  }
}

static void name_parts(const tgModel *m, char (*part)[64]) {
  int nq = m->nq, nv = m->nv;
  for (int j = 0; j < m->njnt; j++) {
    joint_parts(m, j, false, part);
    joint_parts(m, j, true, part + nq);
  }
  char (*control)[64] = part + nq + nv, (*activation)[64] = control + m->nu, (*energy)[64] = activation + m->na;
  for (int i = 0; i < m->nu; i++) {
    const char *name = m->thing_name[TG_THING_ACTUATOR][i];
    if (name != NULL && name[0] != '\0') snprintf(control[i], sizeof control[i], "%.63s", name);
    else snprintf(control[i], sizeof control[i], "control %d", i);
    if (m->act_adr[i] >= 0) memcpy(activation[m->act_adr[i]], control[i], sizeof control[i]);
  }
  snprintf(energy[0], sizeof energy[0], "kinetic");
  snprintf(energy[1], sizeof energy[1], "potential");
}

// ---- a run ----

static tgStatus walk(tgSim *sim, const tgTrajectory *stored, tgReplayShown *shown) {
  size_t nq = (size_t)sim->model->nq, nv = (size_t)sim->model->nv, na = (size_t)sim->model->na;
  for (size_t i = 0; i <= (size_t)stored->steps; i++) {
    memcpy(sim->qpos, stored->q + i * nq, nq * sizeof(double));
    memcpy(sim->qvel, stored->v + i * nv, nv * sizeof(double));
    if (na > 0) memcpy(sim->act, stored->act + i * na, na * sizeof(double));
    TG_TRY(tg_sim_forward(sim));
    TG_TRY(tg_recorder_add(&shown->recorder, sim, false));
    tgi_replay_energy(sim, shown->energy + 2 * i);
  }
  return TG_OK;
}

// the bodies at the poses between states
static tgStatus walk_between(tgSim *sim, const tgTrajectory *stored, tgReplayShown *shown) {
  size_t n = stored->between_offset != NULL ? (size_t)stored->between_offset[stored->steps + 1] : 0, nq = (size_t)sim->model->nq,
         nbody = (size_t)sim->model->nbody;
  shown->between = shown->alloc.alloc(shown->alloc.ctx, tgi_size_mul(7 * nbody, n + 1) * sizeof *shown->between);
  if (shown->between == NULL) return TG_ERR_MEMORY;
  double *pos = shown->between, *quat = pos + 3 * nbody * n;
  for (size_t i = 0; i < n; i++) {
    memcpy(sim->qpos, stored->between_q + i * nq, nq * sizeof(double));
    TG_TRY(tg_sim_forward(sim));
    memcpy(pos + 3 * nbody * i, sim->start.xpos, 3 * nbody * sizeof *pos);
    memcpy(quat + 4 * nbody * i, sim->start.xquat, 4 * nbody * sizeof *quat);
  }
  if (n == 0) return TG_OK;
  shown->trajectory.between_offset = stored->between_offset;
  shown->trajectory.between_time = stored->between_time;
  shown->trajectory.between_pos = pos;
  shown->trajectory.between_quat = quat;
  return TG_OK;
}

static void signals(const tgModel *m, const tgTrajectory *stored, tgReplayShown *shown) {
  int rows = stored->steps + 1, nq = m->nq, nv = m->nv, nu = m->nu, na = m->na;
  const char *const *q = shown->part_name, *const *v = q + nq, *const *u = v + nv, *const *act = u + nu, *const *energy = act + na;
  const tgReplaySignal all[TG_REPLAY_SIGNALS] = {
      {"positions q", "m, rad", nq, q, rows, stored->q},
      {"velocities v", "m/s, rad/s", nv, v, rows, stored->v},
      {"controls", NULL, nu, u, rows - 1, stored->u},
      {"activations", NULL, na, act, rows, stored->act},
      {"energy", "J", 2, energy, rows, shown->energy},
      {"gradient in q", "loss/m, loss/rad", nv, v, rows, stored->grad_q},
      {"gradient in v", "loss s/m, loss s/rad", nv, v, rows, stored->grad_v},
      {"gradient in activations", NULL, na, act, rows, stored->grad_act},
      {"gradient in controls", "loss/control", nu, u, rows - 1, stored->grad_u},
  };
  for (int i = 0; i < TG_REPLAY_SIGNALS; i++)
    if (all[i].npart > 0 && all[i].data != NULL && all[i].nrow > 0) shown->signal[shown->trajectory.nsignal++] = all[i];
  shown->trajectory.signal = shown->signal;
}

void tg_recorder_contacts(const tgRecorder *r, tgTrajectory *t) {
  if (r == NULL || t == NULL || r->nframe != t->steps + 1) return;
  t->contact_offset = r->contact_offset;
  t->contact_pos = r->contact_pos;
  t->contact_force = r->contact_force;
  t->impact_offset = r->impact_offset;
  t->impact_time = r->impact_time;
  t->impact_geom = r->impact_geom;
  t->impact_pos = r->impact_pos;
  t->impact_impulse = r->impact_impulse;
  t->between_offset = r->between_offset;
  t->between_time = r->between_time;
  t->between_q = r->between_q;
}

tgStatus tgi_replay_show(tgSim *sim, const tgTrajectory *stored, const char *label, double iteration, double dt,
                         tgReplayShown *shown, tgError *error) {
  const tgModel *m = sim->model;
  size_t nname = (size_t)(m->nq + m->nv + m->nu + m->na + 2);
  *shown = (tgReplayShown){.alloc = tgi_allocator(NULL)};
  tgi_recorder_init(&shown->recorder, m, NULL);
  shown->energy = shown->alloc.alloc(shown->alloc.ctx, ((size_t)stored->steps + 1) * 2 * sizeof(double));
  shown->part = shown->alloc.alloc(shown->alloc.ctx, nname * sizeof *shown->part);
  shown->part_name = shown->alloc.alloc(shown->alloc.ctx, nname * sizeof *shown->part_name);
  if (shown->energy == NULL || shown->part == NULL || shown->part_name == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for a replay of %d steps", stored->steps);
  memset(shown->part, 0, nname * sizeof *shown->part);
  name_parts(m, shown->part);
  for (size_t i = 0; i < nname; i++) shown->part_name[i] = shown->part[i];
  tgStatus status = walk(sim, stored, shown);
  int state = shown->recorder.nframe;
  shown->trajectory = tgi_recorder_trajectory(&shown->recorder, label, iteration, dt, TG_REPLAY_FRAMES);
  if (status == TG_OK) status = walk_between(sim, stored, shown);
  if (status != TG_OK) {
    const tgError *why = tg_sim_error(sim);
    return tgi_error(error, status, "replay of '%s', state %d: %s", label, state,
                     why->text[0] != '\0' ? why->text : tg_status_text(status));
  }
  shown->trajectory.contact_offset = stored->contact_offset;
  shown->trajectory.contact_pos = stored->contact_pos;
  shown->trajectory.contact_force = stored->contact_force;
  shown->trajectory.impact_offset = stored->impact_offset;
  shown->trajectory.impact_time = stored->impact_time;
  shown->trajectory.impact_geom = stored->impact_geom;
  shown->trajectory.impact_pos = stored->impact_pos;
  shown->trajectory.impact_impulse = stored->impact_impulse;
  shown->trajectory.push = stored->push;
  shown->trajectory.push_at = stored->push_at;
  signals(m, stored, shown);
  return TG_OK;
}

void tgi_replay_shown_free(tgReplayShown *shown) {
  if (shown->alloc.free == NULL) return;
  tgi_recorder_free(&shown->recorder);
  shown->alloc.free(shown->alloc.ctx, shown->energy);
  shown->alloc.free(shown->alloc.ctx, shown->between);
  shown->alloc.free(shown->alloc.ctx, shown->part);
  shown->alloc.free(shown->alloc.ctx, (void *)shown->part_name);
  *shown = (tgReplayShown){0};
}
