// impulse.c: see impulse.h.
#include "step/impulse.h"

#include <string.h>

#include "contact/islands.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "math/combine.h"
#include "model/blocks.h"
#include "sim/row.h"
#include "step/impulse_carried.h"
#include "step/impulse_midway.h"
#include "step/impulse_part.h"
#include "step/step.h"

void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out) {
  if (out != x)
    for (int d = 0; d < s->m.nv; d++) out[d] = x[d];
  tgi_factor_solve(&s->m, s->L, out);
}

void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) out[i] = tgi_row_dot(s, s->rows->J, i, x);
}

void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int d = 0; d < s->m.nv; d++) out[d] = 0;
  for (int i = 0; i < s->nrow; i++) tgi_row_add(s, s->rows->J, i, f[i], out);
}

// tgi_row_add of all
void tgi_rows_respond(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) {
    const int *span = s->rows->span + 4 * i;
    const tgReal *y = tgi_row(s, s->rows->MiJ, i);
    if (tgZero(f[i])) continue;
    tgi_add_scaled(span[1] - span[0], f[i], y, out + span[0]);
    if (span[3] > span[2]) tgi_add_scaled(span[3] - span[2], f[i], y + span[1] - span[0], out + span[2]);
  }
}

void tgi_impulse_smooth(const tgSim *s, const tgReal *v, tgReal *out) {
  tgStepEnd at;
  const tgStepEnd *end = tgi_servo_end(s, v, &at);
  if (end != NULL) tgi_servo_forces(s, end, out);
  for (int d = 0; d < s->m.nv; d++) {
    tgReal tau = end != NULL ? s->qfrc_applied[d] + out[d] + s->qfrc_passive[d] : s->tau[d];
    out[d] = tau - s->bias[d] - tgi_carried_force(s, d) - s->dt * tgi_stiffness_ahead(s, d) * v[d];
  }
}

// vhat = v + h Mh^-1 (tau - c - h K v) by the forces in the sim
void tgi_impulse_free_motion(tgSim *s) {
  const tgModel *m = &s->m;
  tgi_impulse_smooth(s, s->start.vel, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] *= s->dt;
  tgi_factor_solve(m, s->L, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] += s->start.vel[d];
}

tgStatus tgi_part_held_velocity(tgSim *s) {
  const tgModel *m = &s->m;
  tgStepEnd at;
  if (s->midway) tgi_midway_level(s, 0);
  TG_TRY(tgi_carried(s, s->dt));
  tgi_step_matrix(s, tgi_late(s) * s->dt, !tgi_explicit_damping(s));
  if (tgi_servo_end(s, s->start.vel, &at) != NULL) tgi_servo_matrix(s, tgi_late(s) * s->dt);
  if (!tgi_factor(m, s->Mh, s->L)) return tgi_no_factor(s, &s->start, "");
  tgi_impulse_free_motion(s);
  if (!s->midway) return TG_OK;
  while (tgi_midway_turn(s)) tgi_impulse_free_motion(s);
  return TG_OK;
}

// Forces that are held at the end of a motion are found as the motion is solved for: at most so often, then none is let go
// again, so that the search ends.
enum { SEARCHES = 8 };

// *changed: others are held at the end of the part than it was solved for, v its velocity there
static tgStatus revise_servos(tgSim *s, const tgReal *v, int search, bool *changed) {
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, (size_t)s->m.nv);
  tgStepEnd at;
  *changed = false;
  if (tgi_servo_end(s, v, &at) == NULL) return TG_OK;
  if (sum == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  *changed = tgi_servo_revise(s, &at, search >= SEARCHES, sum);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_part_free_velocity(tgSim *s, tgReal h) {
  tgStepEnd at;
  bool again = true;
  s->dt = h;
  if (tgi_servo_end(s, s->start.vel, &at) != NULL) tgi_servo_foretell(s, tgi_late(s) * h);
  for (int search = 0; again; search++) {
    TG_TRY(tgi_part_held_velocity(s));
    TG_TRY(revise_servos(s, s->vhat, search, &again));
  }
  return TG_OK;
}

size_t tgi_servo_record_bytes(const tgSim *s) { return ((size_t)(s->m.nu + s->m.njnt) + 15) / 16 * 16; }

void tgi_servo_record(const tgSim *s, void *to) {
  int8_t *at = to;
  memset(at, 0, tgi_servo_record_bytes(s));
  for (int i = 0; i < s->m.nu; i++) at[i] = (int8_t)s->act_hold[i];
  for (int j = 0; j < s->m.njnt; j++) at[s->m.nu + j] = (int8_t)s->jnt_hold[j];
}

bool tgi_servo_recall(tgSim *s, const void *record) {
  const int8_t *at = record;
  bool changed = false;
  for (int k = 0; k < s->m.nu + s->m.njnt; k++) {
    int *hold = k < s->m.nu ? &s->act_hold[k] : &s->jnt_hold[k - s->m.nu];
    changed = changed || *hold != at[k];
    *hold = at[k];
  }
  return changed;
}

void tgi_mass_mul(const tgSim *s, const tgReal *x, tgReal *y) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nv; i++) y[i] = 0;
  for (int i = 0; i < m->nv; i++) {
    const tgReal *row = tgi_block_row(m, s->M, i);
    y[i] += row[i] * x[i];
    for (int k = m->dof_parent[i]; k >= 0; k = m->dof_parent[k]) {
      y[i] += row[k] * x[k];
      y[k] += row[k] * x[i];
    }
  }
}

double tgi_kinetic_energy(const tgSim *s, const tgReal *v) {
  const tgModel *m = &s->m;
  double sum = 0;
  for (int i = 0; i < m->nv; i++)
    for (int k = i; k >= 0; k = m->dof_parent[k]) sum += (k == i ? 0.5 : 1) * tgRe(tgi_block_row(m, s->M, i)[k]) * tgRe(v[i]) * tgRe(v[k]);
  return sum;
}

void tgi_impulse_fill_bias(tgSim *s) {
  tgRows *r = s->rows;
  tgi_rows_mul(s, s->vhat, r->b);
  for (int i = 0; i < s->nrow; i++) {
    r->b[i] += r->bounce[i] * r->b[i] + r->rate[i] * r->gap[i];
    if (tgRe(r->drift[i]) != 0) r->b[i] -= r->drift[i] * tgi_row_dot(s, r->J, i, s->start.vel);
  }
}

// solves the problem that is selected, or takes its answer from the record
static tgStatus impulses(tgSim *s, const void *record) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  tgStatus status = record != NULL ? k->recall(s, record) : k->solve(s);
  if (s->unsolved == TG_OK) s->unsolved = status;
  return status;
}

// Impulses f that take vhat to v' add f' J (vhat + v')/2. Without a push that is never more than 0, but for bounces, which
// have a bound of their own.
static void note_gain(tgSim *s) {
  const tgRows *r = s->rows;
  double sum = 0, most = 0;
  int worst = -1;
  for (int i = 0; i < s->nrow; i++) {
    double before, gain = tgi_row_gain(s, i, tgRe(r->f[i]), tgRe(r->b[i]), tgRe(r->w[i]), &before);
    sum += gain;
    if (tgRe(r->rate[i] * r->gap[i]) == 0 || gain <= most) continue;
    most = gain;
    worst = i;
  }
  if (worst < 0 || sum <= 0) return;
  int body[2];
  tgi_row_bodies(s, worst, body);
  s->info.energy_gained = sum;
  s->info.burst = sum > tgi_kinetic_energy(s, s->vhat);
  s->info.burst1 = body[0];
  s->info.burst2 = body[1];
}

tgStatus tgi_impulse_velocities(tgSim *s, const void *record) {
  TG_TRY(tgi_islands(s));
  TG_TRY(tgi_impulse_assemble(s));
  tgi_impulse_fill_bias(s);
  tgStatus status = impulses(s, record);
  if (status != TG_OK) return status;
  tgi_rows_respond(s, s->rows->f, s->end.vel);
  note_gain(s);
  return TG_OK;
}

tgStatus tgi_impulse_part(tgSim *s, tgReal h, bool held) {
  bool known = s->opened && s->dt == h && !s->nothing_shared && !held;
  s->opened = false;
  s->dt = h;
  s->ahead = s->rebounds = false;
  s->nrow = 0;
  s->ncon = 0;
  s->nisland = 0;
  if (s->rows != NULL) tgi_rows_select(s, 0);
  if (!known) TG_TRY(held ? tgi_part_held_velocity(s) : tgi_part_free_velocity(s, h));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = s->vhat[d];
  return TG_OK;
}

void tgi_impulse_look(tgSim *s) {
  s->opened = s->ahead = s->rebounds = false;
  s->dt = 0;
  s->nrow = s->ncon = s->nisland = 0;
  tgi_rows_select(s, 0);
  memcpy(s->vhat, s->start.vel, (size_t)s->m.nv * sizeof *s->vhat);
}

tgStatus tgi_impulse_still(tgSim *s) {
  TG_TRY(tgi_part_free_velocity(s, 0));
  memcpy(s->end.vel, s->vhat, (size_t)s->m.nv * sizeof *s->vhat);
  return TG_OK;
}

tgiAgreement tgi_agreement_begin(const tgSim *s) { return (tgiAgreement){0, s->nedge}; }

tgStatus tgi_agree(tgSim *s, tgiAgreement *a, bool *again) {
  *again = false;
  if (s->nrow == 0) return TG_OK;
  TG_TRY(revise_servos(s, s->end.vel, a->search++, again));
  if (!*again) return TG_OK;
  s->nedge = a->nedge;
  return TG_OK;
}

static tgStatus touching_velocity(tgSim *s, double h, bool held, const void *record) {
  TG_TRY(tgi_impulse_part(s, h, held));
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(tgi_rows(s, &s->start, h, TGI_ROWS_TOUCHING));
  if (s->nrow == 0) return TG_OK;
  for (int i = 0; i < s->nrow; i++) s->rows->rate[i] = tgRe(s->rows->bounce[i]) != 0 ? 0 : tgi_impulse_options(s)->erp / h;
  return tgi_impulse_velocities(s, record);
}

tgStatus tgi_impulse_velocity(tgSim *s, double h, const void *record) {
  bool again = true;
  if (record != NULL) {
    tgi_servo_recall(s, record);
    return touching_velocity(s, h, true, (const char *)record + tgi_servo_record_bytes(s));
  }
  for (tgiAgreement a = tgi_agreement_begin(s); again;) {
    tgStatus status = touching_velocity(s, h, a.search > 0, NULL);
    if (status != TG_OK) return status;
    TG_TRY(tgi_agree(s, &a, &again));
  }
  return TG_OK;
}

// the second problem over the same rows, which is selected: its velocity, from vhat
static tgStatus answer_again(tgSim *s, const void *record) {
  for (int d = 0; d < s->m.nv; d++) s->rows->mean[d] = s->vhat[d];
  tgStatus status = impulses(s, record);
  if (status == TG_OK) tgi_rows_respond(s, s->rows->f, s->rows->mean);
  return status;
}

tgStatus tgi_impulse_again(tgSim *s, const void *record) {
  tgi_impulse_fill_bias(s);
  return answer_again(s, record);
}

tgStatus tgi_flow_solve(tgSim *s, void (*bias)(tgSim *), bool remembered, const void *record) {
  size_t bytes = s->contact_model->kind->rows->record_bytes(s), mark = tgi_stack_mark(s);
  tgRows *r = s->rows;
  int *warm = tgi_stack_bytes(s, (size_t)s->nrow * sizeof *warm);
  if (warm == NULL) return tgi_no_room(s, "flow");
  memcpy(warm, r->class, (size_t)s->nrow * sizeof *warm);
  tgStatus status = tgi_impulse_velocities(s, record);
  if (status != TG_OK) return status;
  // a pinned flow has both from the memory
  for (int i = 0; i < s->nrow; i++)
    if (r->class2[i] == 0 || (!s->pinned && !(remembered && r->class[i] == warm[i]))) r->class2[i] = r->class[i];
  tgi_stack_free(s, mark);
  tgi_rows_select(s, 1);
  bias(s);
  status = answer_again(s, record != NULL ? (const char *)record + bytes : NULL);
  tgi_rows_select(s, 0);
  return status;
}

tgStatus tgi_impulse_open(tgSim *s, tgReal rest) {
  s->rest = tgRe(rest);
  s->dt = rest;
  s->opened = false;
  TG_TRY(tgi_part_free_velocity(s, rest));
  s->opened = true;
  for (int d = 0; d < s->m.nv; d++) s->rows->surge[d] = s->vhat[d] - s->start.vel[d];
  return TG_OK;
}
