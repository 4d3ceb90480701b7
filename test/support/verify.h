// verify.h: recomputes the physics of a step from scratch: momentum balance, complementarity, friction bounds, equalities.
//
// It shares with the stepper the frames, the inverse dynamics and the list of contact points, nothing of rows, matrices or solver:
// Jacobians are those of material points, biases are written out again here. Of a step by the rule `closing` it is the last flow that is
// checked, in velocities and in positions.
#ifndef TG_TEST_VERIFY_H
#define TG_TEST_VERIFY_H

#include <stdlib.h>

#include "contact/contact.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "dyn/forces.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/impulse.h"
#include "step/impulse_carried.h"   // its force is checked by test_carried
#include "step/impulse_parts.h"
#include "support/check.h"

/// Worst violations of a step, forces relative to the largest impulse, speeds to the largest row speed, momentum to |h tau|.
typedef struct tgtVerdict { double momentum, gap_speed, pull, complementarity, cone, slide, equality; } tgtVerdict;

static inline double tgt_dotd(const tgReal *a, const tgReal *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += tgRe(a[i]) * tgRe(b[i]);
  return sum;
}

// row (nv) of part 0 .. 5 of a contact: speed between its bodies at its point along n, t1, t2, then their turning about them
static inline void tgt_contact_row(tgSim *s, const tgContactRow *c, int part, tgReal *row) {
  const tgReal *dir = part % 3 == 0 ? c->n : part % 3 == 1 ? c->t1 : c->t2;
  int nv = s->m.nv;
  tgReal *J = (tgReal *)malloc(sizeof(tgReal) * 6 * (size_t)(nv + 1));
  assert_non_null(J);
  for (int d = 0; d < nv; d++) row[d] = 0;
  for (int side = 0; side < 2; side++) {
    tgi_point_jacobian(s, tgi_rows_pose(s), s->m.geom_body[side == 0 ? c->geom1 : c->geom2], c->p, J);
    for (int d = 0; d < nv; d++)
      for (int i = 0; i < 3; i++) row[d] += (side == 0 ? 1 : -1) * dir[i] * J[(part < 3 ? 3 + i : i) * nv + d];
  }
  free(J);
}

// fixed rows again, by finite meaning: limits and dry friction are unit rows or tendons; equalities are left to row_J
static inline void tgt_other_row(tgSim *s, int i, tgReal *row) {
  const tgModel *m = &s->m;
  int owner = s->rows->owner[i], part = s->rows->part[i];
  for (int d = 0; d < m->nv; d++) row[d] = 0;
  bool joint = (s->rows->kind[i] == TG_ROW_LIMIT && part < 2 && m->jnt_type[owner] != TG_JOINT_BALL);
  if (joint) { row[m->jnt_vadr[owner]] = part == 0 ? 1 : -1; return; }
  if (s->rows->kind[i] == TG_ROW_FRICTION && part == 0) { row[owner] = 1; return; }
  if (s->rows->kind[i] == TG_ROW_FRICTION || (s->rows->kind[i] == TG_ROW_LIMIT && part >= 2)) {
    for (int k = m->ten_adr[owner]; k < m->ten_adr[owner] + m->ten_num[owner]; k++)
      row[m->jnt_vadr[m->wrap_jnt[k]]] += m->wrap_coef[k] * (s->rows->kind[i] == TG_ROW_LIMIT && part == 3 ? -1 : 1);
    return;
  }
  tgi_row_add(s, s->rows->J, i, 1, row);
}

// the bias of row i, whose gap at the pose of the rows is that: speed is J vhat, before J v
static inline double tgt_bias(const tgSim *s, int i, double gap, double speed, double before) {
  const tgModel *m = &s->m;
  const tgImpulseOptions *o = tgi_impulse_options(s);
  const tgRows *r = s->rows;
  int kind = r->kind[i];
  bool pushes = kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT, left = s->info.nleft > 0 && tgRe(r->rate[i]) == 0;
  double dt = tgRe(s->dt);
  if (!s->ahead) {
    double g = sqrt(tgt_dotd(m->opt_gravity, m->opt_gravity, 3)), e = kind == TG_ROW_NORMAL ? tgRe(s->contact[r->owner[i]].restitution) : 0;
    if (e > 0 && -speed > fmax(g * dt, o->restitution_speed)) return e * speed;
    return left ? 0 : o->erp / dt * gap;
  }
  if (s->problem == 0 || (!pushes && kind != TG_ROW_EQUALITY)) return 0;
  // the end of the flow at gap 0, or as much nearer as the push does
  double bias = gap / dt - before;
  if (left && pushes && bias < 0 && tgRe(r->b[i]) == speed) return 0;
  return kind == TG_ROW_EQUALITY ? fmin(fmax(bias, -o->push_speed), o->push_speed) : fmax(bias, -o->push_speed);
}

// forces of actuators by their own law, where the step takes them: at length + h m . v', velocity m . v', each within its
// range and their sum within the joint's; written out again
// v is the velocity at the end; held: each is at its end of range that the step says, or by its law
static inline void tgt_actuator_forces(const tgSim *s, double h, const tgReal *v, bool held, double *out) {
  const tgModel *m = &s->m;
  bool implicit = tgi_impulse_options(s)->servos == TG_SERVOS_IMPLICIT;
  for (int d = 0; d < m->nv; d++) out[d] = 0;
  for (int i = 0; i < m->nu; i++) {
    bool end = implicit && s->act_hold[i] != TGI_HOLD_START,
         reach = m->act_trn[i] == TG_TRN_TENDON || m->jnt_type[m->act_target[i]] != TG_JOINT_FREE;
    double speed = 0, l, u, f, x[3];
    tgReal moment;
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, s->start.q, &moment, NULL);
      speed += tgRe(moment) * tgRe((end ? v : s->start.vel)[d]);
    }
    l = tgRe(s->act_length[i]) + (end && reach ? h * speed : 0);
    u = m->act_adr[i] >= 0 ? tgRe(s->act0[m->act_adr[i]]) : tgRe(s->ctrl[i]);
    if (m->act_adr[i] < 0 && m->act_ctrllimited[i]) u = fmin(fmax(u, tgRe(m->act_ctrlrange[2 * i])), tgRe(m->act_ctrlrange[2 * i + 1]));
    for (int k = 0; k < 3; k++) x[k] = tgRe(m->act_gain[3 * i + k]) * u + tgRe(m->act_bias[3 * i + k]);
    f = x[0] + x[1] * l + x[2] * speed;
    if (held && end && s->act_hold[i] != TGI_HOLD_NOT) f = tgRe(m->act_forcerange[2 * i + (s->act_hold[i] > 0)]);
    else if (m->act_forcelimited[i] && !(held && end))
      f = fmin(fmax(f, tgRe(m->act_forcerange[2 * i])), tgRe(m->act_forcerange[2 * i + 1]));
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      int d = tgi_actuator_term(m, i, k, s->start.q, &moment, NULL);
      out[d] += tgRe(moment) * f;
    }
  }
  for (int j = 0; j < m->njnt; j++) {
    double *f = out + m->jnt_vadr[j];
    if (held && implicit && s->jnt_hold[j] != TGI_HOLD_NOT) *f = tgRe(m->jnt_actfrcrange[2 * j + (s->jnt_hold[j] > 0)]);
    else if (!(held && implicit) && tgi_sum_limited(m, j))
      *f = fmin(fmax(*f, tgRe(m->jnt_actfrcrange[2 * j])), tgRe(m->jnt_actfrcrange[2 * j + 1]));
  }
}

// The largest overlap at the start of the flow that its positions take away [m], of those contacts that have rows.
static inline double tgt_pushed_out(tgSim *s, tgReal *J) {
  double most = 0;
  for (int k = 0; k < s->ncon; k++) {
    if (s->contact[k].row < 0) continue;
    tgt_contact_row(s, &s->contact[k], 0, J);
    most = fmax(most, tgRe(s->dt) * tgt_dotd(J, s->start.vel, s->m.nv) - tgRe(s->contact[k].gap));
  }
  return fmin(most, tgi_impulse_options(s)->push_speed * tgRe(s->dt));
}

// Every contact that touches has its rows. Of a flow they may be without what others stop, what comes to gap 0 at its very end, or what is
// turned into by the others' impulses more slowly than an impact: nothing goes deeper than that (to first order about the rows' pose). A
// push that takes an overlap away may turn a body by about as much into what has no row, which the next step pushes out.
static inline bool tgt_rows_complete(tgSim *s) {
  int nv = s->m.nv;
  double slow = 2 * tgRe(s->dt) * tgRe(s->dt) * tgi_gravity(s) + 1e-6;
  bool complete = true;
  tgReal *J = (tgReal *)calloc((size_t)nv + 1, sizeof(tgReal));
  slow += s->ahead ? 3 * tgt_pushed_out(s, J) : 0;
  for (int k = 0; k < s->ncon; k++) {
    const tgContactRow *c = &s->contact[k];
    double end = tgRe(c->gap);
    if (c->row >= 0) continue;
    if (s->ahead) {
      tgt_contact_row(s, c, 0, J);
      end += tgRe(s->dt) * (tgt_dotd(J, s->rows->mean, nv) - tgt_dotd(J, s->start.vel, nv));
    }
    complete = complete && end > (s->ahead ? -slow : 1e-8);
  }
  free(J);
  return complete;
}

// The problem that is selected, of the step or flow in the sim: v its velocity.
static inline tgtVerdict tgt_verify_problem(tgSim *s, const tgReal *v) {
  const tgModel *m = &s->m;
  const tgImpulseOptions *o = tgi_impulse_options(s);
  int nv = m->nv, n = s->nrow;
  // positions agree within 1e-10 m
  double h = tgRe(s->dt), fmax_ = 1e-9, wmax = s->problem == 1 ? fmax(1e-3, 1e-2 / h) : 1e-3, scale = 1e-3;
  tgtVerdict r = {0, tgt_rows_complete(s) ? 0 : HUGE_VAL, 0, 0, 0, 0, 0};
  tgReal *J = (tgReal *)calloc((size_t)(n + 4) * (size_t)(nv + 1), sizeof(tgReal)), *a = J + n * nv, *res = a + nv;
  double *w = (double *)calloc((size_t)(n + nv) + 1, sizeof(double)), *f = (double *)calloc((size_t)n + 1, sizeof(double)), *motor = w + n;
  for (int i = 0; i < n; i++) {
    bool contact = s->rows->kind[i] == TG_ROW_NORMAL || s->rows->kind[i] == TG_ROW_TANGENT;
    const tgContactRow *c = &s->contact[contact ? s->rows->owner[i] : 0];
    if (contact) tgt_contact_row(s, c, s->rows->part[i], J + i * nv);
    else tgt_other_row(s, i, J + i * nv);
    f[i] = tgRe(s->rows->f[i]);
    double vn = tgt_dotd(J + i * nv, s->vhat, nv), gap = contact ? (s->rows->part[i] == 0 ? tgRe(c->gap) : 0) : tgRe(s->rows->gap[i]);
    w[i] = tgt_dotd(J + i * nv, v, nv) + tgt_bias(s, i, gap, vn, tgt_dotd(J + i * nv, s->start.vel, nv));
    fmax_ = fmax(fmax_, fabs(f[i]));
    wmax = fmax(wmax, fmax(fabs(w[i]), fabs(vn)));
  }
  for (int i = 0; i < n; i++) {
    if (s->rows->kind[i] == TG_ROW_EQUALITY) r.equality = fmax(r.equality, fabs(w[i]) / wmax);
    if (s->rows->kind[i] == TG_ROW_NORMAL || s->rows->kind[i] == TG_ROW_LIMIT) {
      r.gap_speed = fmax(r.gap_speed, -w[i] / wmax);
      r.pull = fmax(r.pull, -f[i] / fmax_);
      r.complementarity = fmax(r.complementarity, fmin(fabs(w[i]) / wmax, fabs(f[i]) / fmax_));
    }
    if (s->rows->kind[i] == TG_ROW_TANGENT || s->rows->kind[i] == TG_ROW_FRICTION) {
      double bound = s->rows->kind[i] == TG_ROW_TANGENT
                         ? tgRe(s->contact[s->rows->owner[i]].friction[s->rows->part[i] - 1]) * f[s->rows->parent[i]]
                         : h * tgRe(s->rows->part[i] == 0 ? m->dof_frictionloss[s->rows->owner[i]]
                                    : m->ten_frictionloss[s->rows->owner[i]]);
      r.cone = fmax(r.cone, (fabs(f[i]) - bound) / fmax_);
      // what slides is braked at the bound: w > 0 needs f = -bound
      double short_of = w[i] > 0 ? f[i] + bound : bound - f[i];
      r.slide = fmax(r.slide, fmin(fabs(w[i]) / wmax, fabs(short_of) / fmax_));
    }
  }
  tgt_actuator_forces(s, h, v, s->problem == 1, motor);
  for (int d = 0; d < nv; d++) a[d] = (v[d] - s->start.vel[d]) / h;
  tgi_velocities(s, &s->start, s->start.vel);
  tgi_inverse(s, &s->start, a, NULL, res);
  for (int d = 0; d < nv; d++) {
    tgReal K = o->explicit_damping ? 0 : m->jnt_stiffness[m->dof_jnt[d]], D = o->explicit_damping ? 0 : m->dof_damping[d];
    tgReal tau = s->qfrc_applied[d] + motor[d] + s->qfrc_passive[d];
    tgReal balance = res[d] + tgi_carried_force(s, d) - tau + h * K * s->start.vel[d] + (h * D + h * h * K) * a[d];
    scale = fmax(scale, fabs(tgRe(h * res[d])));
    for (int i = 0; i < n; i++) balance -= J[i * nv + d] * f[i] / h;
    res[d] = h * balance;
  }
  for (int d = 0; d < nv; d++) r.momentum = fmax(r.momentum, fabs(tgRe(res[d])) / fmax(scale, fmax_));
  free(J);
  free(w);
  free(f);
  return r;
}

static inline tgtVerdict tgt_worse(tgtVerdict a, tgtVerdict b) {
  return (tgtVerdict){fmax(a.momentum, b.momentum), fmax(a.gap_speed, b.gap_speed), fmax(a.pull, b.pull),
                      fmax(a.complementarity, b.complementarity), fmax(a.cone, b.cone), fmax(a.slide, b.slide),
                      fmax(a.equality, b.equality)};
}

// both problems of the last flow of a step by the rule `closing`, which ends at q (+) dt V
static inline tgtVerdict tgt_verify_flow(tgSim *s) {
  size_t nv = (size_t)s->m.nv;
  tgStepInfo info = s->info;
  tgReal *V = (tgReal *)calloc(2 * nv + 1, sizeof(tgReal)), *back = V + nv;
  if (s->npart > 1) {
    tgi_parts_swap_memory(s);
    assert_int_equal(tgi_part_load(s, s->npart - 1), TG_OK);
    s->info = info;
  }
  tgtVerdict r = tgt_verify_problem(s, s->end.vel);
  if (s->nrow > 0) {
    tgi_rows_select(s, 1);
    r = tgt_worse(r, tgt_verify_problem(s, s->rows->mean));
    tgi_rows_select(s, 0);
  }
  for (size_t d = 0; d < nv; d++) V[d] = s->dt * s->rows->mean[d];
  tg_model_difference(&s->m, s->start.q, s->end.q, back);
  for (size_t d = 0; d < nv; d++) r.momentum = fmax(r.momentum, fabs(tgRe(V[d] - back[d])));
  if (s->npart > 1) {
    tgi_parts_swap_memory(s);
    tgi_parts_restore(s);
    s->info = info;
  }
  free(V);
  return r;
}

/// After a successful tg_sim_step.
static inline tgtVerdict tgt_verify(tgSim *s) { return tgi_closes(s) ? tgt_verify_flow(s) : tgt_verify_problem(s, s->end.vel); }

/// Fails when anything is violated by more than tol.
#define tgt_check_step(s, tol)                                                                                                  \
  do {                                                                                                                          \
    tgtVerdict v_ = tgt_verify(s);                                                                                               \
    check_true(v_.momentum <= (tol) && v_.gap_speed <= (tol) && v_.pull <= (tol) && v_.complementarity <= (tol) &&                \
                   v_.cone <= (tol) && v_.slide <= (tol) && v_.equality <= (tol),                                                \
               "%s:%d: momentum %.2g, approach %.2g, pull %.2g, complementarity %.2g, cone %.2g, slide %.2g, equality %.2g > %g", \
               __FILE__, __LINE__, v_.momentum, v_.gap_speed, v_.pull, v_.complementarity, v_.cone, v_.slide, v_.equality, (double)(tol)); \
  } while (0)

#endif
