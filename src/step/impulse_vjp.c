// impulse_vjp.c: the adjoint of an impulse step, exact. Shares no derivative code with impulse_jacobian.c.
//
// Based on: [math/lcp Derivative], with damping and stiffness implicit.
//   Balance of the step, a = (v' - v)/h:   ID(q, v, a) - tau + h K v + (h D + h^2 K) a - J' f/h = 0.
//   g = dv' at held free impulses f_K:
//     g_q = -h Mh^-1 [dID/dq - dtau/dq] + Mh^-1 d(J' f)/dq,
//     g_v = 1 - h Mh^-1 [dID/dv - dtau/dv + h K],   g_u = h Mh^-1 dtau/du;
//   r = J g + (dJ) v' + e (J dvhat + (dJ) vhat) + rate dgap - drift (J dv + (dJ) v),   df = S r (+ N (dA beta)),
//   dv' = g + Mh^-1 J' df,
//   S and N are the contact model's (solve_jvp, null_part). vhat has the same balance with f = 0. Of an impact, h = 0, it is
//   M (v' - v) = J' f.
// Rows may be at another pose than the balance, q (+) h v: what they have in its coordinates is gathered and carried to q, v, h.
// In the middle of a flow (tgi_midway) damping, springs and servos are those in the middle: D/2 and K/4 stand for D and K in Mh, and h K v
// is in the pose. q is that of the middle here.
// A parameter enters the balance as q does, and where it acts on rows, their gaps, bounds and bounces [math/lcp Parameters].
#include "contact/rows.h"
#include "step/impulse.h"

#include <string.h>

#include "dyn/dynamics.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse_carried.h"
#include "step/impulse_midway.h"
#include "step/step.h"

typedef tgiAdjoint Out;

static void add_length(const Out *o, tgReal x) {
  if (o->dt != NULL) *o->dt += x;
}

// Parameters of the balance that neither inverse dynamics nor the forces hold: what is taken at the step's end, and h. With u the velocity
// after the step,  Mh (u - v) = h (tau - c) - h^2 K v,  Mh = M + h D + h^2 K, but for servos, whose forces tau has at u. tau: work, nv.
static void balance_parameters(const tgSim *s, const tgReal *u, const tgReal *lambda, tgReal *tau, const Out *o) {
  const tgModel *m = &s->m;
  bool implicit = !tgi_explicit_damping(s);
  tgReal h = s->dt, rate = 0;
  double late = tgi_late(s);
  tgStepEnd at;
  const tgStepEnd *end = tgi_servo_end(s, u, &at);
  if (end != NULL) {
    tgi_servo_forces(s, end, tau);
    rate += h * late * tgi_servo_rate(s, end, lambda);
  }
  for (int d = 0; d < m->nv; d++) tau[d] = end != NULL ? s->qfrc_applied[d] + tau[d] + s->qfrc_passive[d] : s->tau[d];
  for (int d = 0; d < m->nv; d++) {
    tgReal change = u[d] - s->start.vel[d];
    rate += lambda[d] * (tau[d] - s->bias[d] - tgi_carried_force(s, d));
    if (!implicit) continue;
    tgReal way = s->midway ? late * late * change : u[d];   // over h, by which springs move from the pose
    rate -= lambda[d] * (2 * h * tgi_implicit_stiffness(s, d) * way + late * m->dof_damping[d] * change);
    if (o->p != NULL && o->p->dof_damping != NULL) o->p->dof_damping[d] -= late * h * lambda[d] * change;
    if (o->p != NULL && o->p->jnt_stiffness != NULL) o->p->jnt_stiffness[m->dof_jnt[d]] -= h * h * lambda[d] * way;
  }
  add_length(o, rate);
}

tgStatus tgi_impulse_mass_vjp(tgSim *s, const tgReal *x, const tgReal *y, const Out *o) {
  TG_TRY(tgi_mass_vjp(s, &s->start, x, y, o->gq, o->p));
  return TG_OK;
}

// x' dMh y at held x and y, Mh = M + h D + h^2 K and servos
static tgStatus step_matrix_vjp(tgSim *s, const tgReal *x, const tgReal *y, const Out *o) {
  const tgModel *m = &s->m;
  tgReal late = tgi_late(s), h = late * s->dt, servos = 0;
  tgStepEnd at;
  TG_TRY(tgi_mass_vjp(s, &s->start, x, y, o->gq, o->p));
  if (tgi_is_impact(s)) return TG_OK;
  for (int d = 0; d < m->nv && (o->p != NULL || o->dt != NULL) && !tgi_explicit_damping(s); d++) {
    tgReal xy = x[d] * y[d];
    if (o->p != NULL && o->p->dof_damping != NULL) o->p->dof_damping[d] += h * xy;
    if (o->p != NULL && o->p->jnt_stiffness != NULL) o->p->jnt_stiffness[m->dof_jnt[d]] += h * h * xy;
    add_length(o, late * (m->dof_damping[d] + 2 * h * tgi_implicit_stiffness(s, d)) * xy);
  }
  if (tgi_servo_end(s, s->start.vel, &at) != NULL) tgi_servo_matrix_vjp(s, h, x, y, o->gu, o->p, s->midway ? &servos : o->dt);
  add_length(o, late * servos);
  return TG_OK;
}

static tgStatus turned_vjp(tgSim *s, const tgReal *u, const tgReal *a, const tgReal *lambda, tgReal *w, const Out *o);

// adjoint of the smooth balance: x = dL/d(v' at held f), lambda = Mh^-1 x, u the velocity v' that it gives (v1 or vhat)
static tgStatus balance_vjp(tgSim *s, const tgReal *u, const tgReal *x, const tgReal *lambda, const Out *o) {
  int nv = s->m.nv;
  tgReal h = s->dt;
  tgStepEnd at;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv), *a = tgi_stack_real(s, (size_t)nv);
  if (w == NULL || a == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) o->gv[d] += x[d] - h * h * tgi_stiffness_ahead(s, d) * lambda[d];
  if (tgi_is_impact(s)) {
    for (int d = 0; d < nv; d++) {
      w[d] = -lambda[d];
      a[d] = u[d] - s->start.vel[d];
    }
    tgStatus status = tgi_impulse_mass_vjp(s, w, a, o);
    tgi_stack_free(s, mark);
    return status;
  }
  tgi_mean_acceleration(s, u, a);
  if (s->midway && (s->turning > 0 || tgi_order_is_turned(s))) {
    tgStatus status = turned_vjp(s, u, a, lambda, w, o);
    tgi_stack_free(s, mark);
    return status;
  }
  for (int d = 0; d < nv; d++) w[d] = -h * lambda[d];
  TG_TRY(tgi_inverse_vjp(s, &s->start, a, NULL, w, o->gq, o->gv, o->p));
  TG_TRY(tgi_carried_vjp(s, w, o->gq, o->gv, o->dt, o->p));
  for (int d = 0; d < nv; d++) w[d] = h * lambda[d];
  TG_TRY(tgi_forces_vjp(s, &s->start, tgi_servo_end(s, u, &at), w, o->gq, o->gv, o->gu, o->p, o->clamps));
  if (o->p != NULL || o->dt != NULL) balance_parameters(s, u, lambda, w, o);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- the middle of a flow, where some forces are of u_k = v + c (v^_k - v), k = s->turning, v^_k by u_(k-1) ----

// g: the gradient in u_k, to v, to shares of fast trees and, through v^_k's own balance, to all that it depends on. by, sum: work, nv
static tgStatus foreseen_vjp(tgSim *s, tgReal *g, tgReal *by, tgReal *sum, const Out *o) {
  int nv = s->m.nv, level = s->turning;
  bool ordered = tgi_order_is_turned(s);
  if (ordered) memcpy(tgi_events(s)->order.by, g, (size_t)nv * sizeof *g);
  for (int d = 0; d < nv && level == 0; d++) o->gv[d] += g[d];
  if (level == 0) return TG_OK;
  const tgReal *ahead = tgi_foreseen(s, level);
  tgReal *c = tgi_stack_real(s, (size_t)nv);
  if (c == NULL) return tgi_no_room(s, "adjoint");
  tgi_midway_shares(s, c);
  for (int d = 0; d < nv; d++) {
    by[d] = tgRe(c[d]) != 0 ? -0.5 * (ahead[d] - s->start.vel[d]) * g[d] : 0;
    o->gv[d] += (1 - c[d]) * g[d];
    g[d] *= c[d];
  }
  tgi_carried_share_vjp(s, by, sum, o->gv, o->dt);
  Out free_motion = *o;
  free_motion.clamps = NULL;   // which count where the flow ends
  tgi_impulse_solve(s, g, by);
  tgi_events(s)->order.turned = false;
  tgi_midway_level(s, level - 1);
  tgStatus status = balance_vjp(s, ahead, g, by, &free_motion);
  tgi_midway_level(s, level);
  if (ordered) tgi_order_turn(s, true);
  return status;
}

// what balance_vjp has besides the part of v' - v itself: a the mean acceleration, w: work, nv
static tgStatus turned_vjp(tgSim *s, const tgReal *u, const tgReal *a, const tgReal *lambda, tgReal *w, const Out *o) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv;
  const tgReal *turned = tgi_order_is_turned(s) ? tgi_events(s)->order.u : tgi_turned(s, s->turning);
  tgReal h = s->dt, *g = tgi_stack_real(s, 2 * nv + 1), *sum = g + nv;
  tgStepEnd at;
  if (g == NULL) return tgi_no_room(s, "adjoint");
  for (size_t d = 0; d < nv; d++) {
    g[d] = 0;
    w[d] = -h * lambda[d];
  }
  TG_TRY(tgi_carried_vjp(s, w, o->gq, o->gv, o->dt, o->p));
  tgi_velocities(s, &s->start, turned);
  tgStatus status = tgi_inverse_vjp(s, &s->start, a, NULL, w, o->gq, g, o->p);
  for (size_t d = 0; d < nv; d++) w[d] = h * lambda[d];
  if (status >= 0) status = tgi_passive_vjp(s, &s->start, w, o->gq, g, o->p, o->clamps);
  tgi_velocities(s, &s->start, s->middle.vel);
  if (status < 0) return status;
  for (size_t d = 0; d < nv && !tgi_explicit_damping(s); d++) {   // dampers are of v, not of u_k
    g[d] += m->dof_damping[d] * w[d];
    o->gv[d] -= m->dof_damping[d] * w[d];
    if (o->p != NULL && o->p->dof_damping != NULL) o->p->dof_damping[d] += (turned[d] - s->start.vel[d]) * w[d];
  }
  TG_TRY(tgi_actuation_vjp(s, &s->start, tgi_servo_end(s, u, &at), w, o->gq, o->gv, o->gu, o->p, o->clamps));
  if (o->p != NULL || o->dt != NULL) balance_parameters(s, u, lambda, w, o);
  return foreseen_vjp(s, g, w, sum, o);
}

// ---- rows of a problem: y = dL/dr and what hangs on it ----

typedef struct RowAdjoint {
  int problem;            // over the rows (tgi_rows_select)
  tgReal *y;              // dL/dr
  tgReal *x, *lambda;     // z + J' y, Mh^-1 of it
  tgReal *bounce;         // y times bounce, NULL where no row has any
  tgReal *bx, *blambda;   // of these J' and Mh^-1 J'
  tgReal *alpha, *beta;   // of redundant rows: alpha' dA beta; NULL where there are none
  tgReal *X, *Y;          // Mh^-1 J' beta, Mh^-1 J' alpha
} RowAdjoint;

static tgStatus respond(tgSim *s, const tgReal *f, tgReal **force, tgReal **out) {
  tgReal *x = tgi_stack_real(s, (size_t)s->m.nv), *l = tgi_stack_real(s, (size_t)s->m.nv);
  if (x == NULL || l == NULL) return tgi_no_room(s, "adjoint");
  tgi_rows_tmul(s, f, x);
  tgi_impulse_solve(s, x, l);
  *out = l;
  if (force != NULL) *force = x;
  return TG_OK;
}

// all of it from z, of the problem that is selected
static tgStatus solve_rows(tgSim *s, const tgReal *z, const tgReal *force, RowAdjoint *r) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  int nv = s->m.nv, n = s->nrow;
  tgReal *g = tgi_stack_real(s, (size_t)n);
  *r = (RowAdjoint){.problem = s->problem, .y = tgi_stack_real(s, (size_t)n), .x = tgi_stack_real(s, (size_t)nv),
                    .lambda = tgi_stack_real(s, (size_t)nv), .beta = tgi_stack_real(s, (size_t)n)};
  if (g == NULL || r->y == NULL || r->x == NULL || r->lambda == NULL || r->beta == NULL) return tgi_no_room(s, "adjoint");
  // dL/df = J Mh^-1 z
  for (int i = 0; i < n; i++) g[i] = tgi_row_dot(s, s->rows->MiJ, i, z) + (force != NULL ? force[i] : 0);
  k->solve_vjp(s, g, r->y);
  if (tgi_impulse_options(s)->aware_gradient && !s->no_aware_adjoint) {
    tgi_impulse_solve(s, z, r->lambda);
    k->aware_adjoint(s, z, r->lambda, g, r->y);
  }
  if (k->null_part(s, force != NULL, r->beta)) {
    r->alpha = tgi_stack_real(s, (size_t)n);
    if (r->alpha == NULL) return tgi_no_room(s, "adjoint");
    k->null_vjp(s, g, r->alpha);
    TG_TRY(respond(s, r->beta, NULL, &r->X));
    TG_TRY(respond(s, r->alpha, NULL, &r->Y));
  }
  tgi_rows_tmul(s, r->y, r->x);
  for (int d = 0; d < nv; d++) r->x[d] += z[d];
  tgi_impulse_solve(s, r->x, r->lambda);
  if (!tgi_any_bounce(s)) return TG_OK;
  r->bounce = g;
  for (int i = 0; i < n; i++) g[i] = r->y[i] * s->rows->bounce[i];
  return respond(s, g, &r->bx, &r->blambda);
}

// Rows at a bound, f_i = side * limit_i f_parent (or side * limit_i): x = dL/df of rows held there; with redundant rows also
// alpha' dA beta at held f, whose rows P' of the parents see the limits too.
static tgStatus limits_vjp(tgSim *s, const RowAdjoint *r, const Out *o) {
  int n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, (size_t)n), *x = tgi_stack_real(s, (size_t)n), *Ab = tgi_stack_real(s, (size_t)n);
  if (g == NULL || x == NULL || Ab == NULL) return tgi_no_room(s, "adjoint");
  tgi_rows_mul(s, r->lambda, x);
  for (int i = 0; i < n && o->force != NULL; i++) x[i] += o->force[i];
  if (r->alpha != NULL) tgi_rows_mul(s, r->X, Ab);
  for (int i = 0; i < n; i++) {
    tgReal side = tgRe(s->rows->limit[i]) > 0 ? s->contact_model->kind->rows->side(s, i) : 0;
    int parent = s->rows->parent[i];
    g[i] = side * (parent >= 0 ? s->rows->f[parent] : 1) * x[i];
    bool bounds = r->alpha != NULL && parent >= 0 && s->contact_model->kind->rows->null_has_bounds(s, parent);
    if (bounds) g[i] += side * r->alpha[parent] * Ab[i];
    if (s->rows->kind[i] == TG_ROW_FRICTION) add_length(o, g[i] * s->rows->limit[i] / s->dt);
  }
  if (o->p != NULL) {
    tgi_rows_limit_parameters(s, g, o->p);
    tgi_rows_param_nonsmooth(s, o->p);
    tgi_contacts_zero_parameters(s, tgi_rows_pose(s), tgi_problem_velocity(s), r->lambda, r->alpha, r->X, r->y, o->p);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Parts of the gradient in the rows' pose: products y' (dJ) u and weights of the gaps
typedef struct PoseTerms {
  int n;
  tgiRowProduct term[TGI_ROW_PRODUCTS];
  tgReal *gaps;
} PoseTerms;

static void add_term(PoseTerms *t, const tgReal *y, const tgReal *u) { t->term[t->n++] = (tgiRowProduct){y, u}; }

// what y has in biases, y (rate dgap - drift ((dJ) v + J dv)) and of bounces y de J vhat
static tgStatus bias_vjp(tgSim *s, const RowAdjoint *r, PoseTerms *t, const Out *o) {
  int n = s->nrow;
  tgReal *drift = tgi_stack_real(s, (size_t)n), *g;
  bool drifts = false;
  if (drift == NULL) return tgi_no_room(s, "adjoint");
  for (int i = 0; i < n; i++) {
    tgReal gap = r->y[i] * s->rows->rate[i];
    t->gaps[i] += gap;
    drift[i] = -r->y[i] * s->rows->drift[i];
    if (gap != 0) add_length(o, -gap * s->rows->gap[i] / s->dt);
    if (drift[i] == 0) continue;
    drifts = true;
    tgi_row_add(s, s->rows->J, i, drift[i], o->gv);
  }
  if (drifts) add_term(t, drift, s->start.vel);
  if (r->bounce == NULL || o->p == NULL) return TG_OK;
  g = tgi_stack_real(s, (size_t)n);
  if (g == NULL) return tgi_no_room(s, "adjoint");
  tgi_rows_mul(s, s->vhat, g);
  for (int i = 0; i < n; i++) g[i] *= r->y[i] * tgi_bounce_share(s, i);
  tgi_rows_bounce_parameters(s, g, o->p);
  return TG_OK;
}

// what a problem has of the rows' pose, (dJ) v', (dJ)' f, biases, and of their bounds
static tgStatus collect(tgSim *s, const RowAdjoint *r, PoseTerms *t, const Out *o) {
  add_term(t, r->y, tgi_problem_velocity(s));
  add_term(t, s->rows->f, r->lambda);   // lambda' d(J' f) = f' (dJ) lambda
  if (o->pull != NULL) add_term(t, o->pull, r->lambda);
  TG_TRY(bias_vjp(s, r, t, o));
  if (r->bounce != NULL) add_term(t, r->bounce, s->vhat);
  if (r->alpha != NULL) {
    add_term(t, r->alpha, r->X);
    add_term(t, r->beta, r->Y);
  }
  return o->p != NULL || o->dt != NULL ? limits_vjp(s, r, o) : TG_OK;
}

// Coordinates of the rows' pose, at which gq is the gradient, back to q, v and h:  q (+) h v, of the middle q (+) (h/2) v or q (+) (-h/2) v
static tgStatus carry(tgSim *s, const tgReal *gq, const Out *o) {
  int nv = s->m.nv;
  double far = tgi_rows_away(s);
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv), *gw = tgi_stack_real(s, (size_t)nv);
  if (w == NULL || gw == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) {
    w[d] = far * s->dt * s->start.vel[d];
    gw[d] = 0;
  }
  tgi_integrate_vjp(&s->m, w, gq, o->gq, gw);
  for (int d = 0; d < nv; d++) {
    o->gv[d] += far * s->dt * gw[d];
    add_length(o, far * s->start.vel[d] * gw[d]);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// all that depends on the pose of the rows, of `count` problems over them: they and the places of geoms are passed once
static tgStatus rows_pose_vjp(tgSim *s, int count, const RowAdjoint *r, const Out *o) {
  size_t mark = tgi_stack_mark(s);
  tgPose *pose = tgi_rows_pose(s);
  tgReal *gq = o->gq;
  PoseTerms t = {.gaps = tgi_stack_real(s, (size_t)s->nrow)};
  bool away = tgi_rows_away(s) != 0;
  if (away) gq = tgi_stack_real(s, (size_t)s->m.nv);
  if (t.gaps == NULL || gq == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < s->m.nv && away; d++) gq[d] = 0;
  for (int i = 0; i < s->nrow; i++) t.gaps[i] = 0;
  for (int k = 0; k < count; k++) {
    tgi_rows_select(s, r[k].problem);
    TG_TRY(collect(s, &r[k], &t, o));
  }
  tgi_rows_sum_vjp(s, pose, t.n, t.term, t.gaps, o->shape, gq, o->p);
  if (o->p != NULL) TG_TRY(tgi_rows_size_parameters(s, pose, o->p));
  if (away && o->p != NULL) tgi_place_vjp(s, pose, o->p, NULL);
  if (away) TG_TRY(carry(s, gq, o));
  tgi_stack_free(s, mark);
  return TG_OK;
}

// what the rows have at the start of the step: of alpha' dA beta the part -Y' dMh X with A = J Mh^-1 J', and dvhat of bounces
static tgStatus rows_start_vjp(tgSim *s, const RowAdjoint *r, const Out *o) {
  Out free_motion = *o;
  free_motion.clamps = NULL;   // which count where the step ends
  if (r->bounce != NULL) TG_TRY(balance_vjp(s, s->vhat, r->bx, r->blambda, &free_motion));
  if (r->alpha == NULL) return TG_OK;
  for (int d = 0; d < s->m.nv; d++) r->Y[d] = -r->Y[d];
  return step_matrix_vjp(s, r->Y, r->X, o);
}

// ---- the adjoint ----

// z through the rows of the problem that is selected, or free of them
static tgStatus open_problem(tgSim *s, const tgReal *z, const tgReal *force, RowAdjoint *r) {
  if (s->nrow > 0 && !tgi_no_contact_gradient(s)) return solve_rows(s, z, force, r);
  *r = (RowAdjoint){.problem = s->problem, .x = tgi_stack_real(s, (size_t)s->m.nv), .lambda = tgi_stack_real(s, (size_t)s->m.nv)};
  if (r->x == NULL || r->lambda == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < s->m.nv; d++) r->x[d] = z[d];
  tgi_impulse_solve(s, z, r->lambda);
  return TG_OK;
}

// The balances of two problems: that of the first for both, and what the second has of Mh more, with V = v' + delta: Mh is all that
// acts on delta.
static tgStatus both_balances_vjp(tgSim *s, const RowAdjoint *first, const RowAdjoint *second, const Out *o) {
  int nv = s->m.nv;
  tgReal *delta = tgi_stack_real(s, (size_t)nv), *minus = tgi_stack_real(s, (size_t)nv);
  if (delta == NULL || minus == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) {
    first->x[d] += second->x[d];
    first->lambda[d] += second->lambda[d];
    delta[d] = s->rows->mean[d] - s->end.vel[d];
    minus[d] = -second->lambda[d];
  }
  TG_TRY(balance_vjp(s, s->end.vel, first->x, first->lambda, o));
  return step_matrix_vjp(s, minus, delta, o);
}

// z[k] of the first `count` problems over the rows, or of the one that is selected
static tgStatus impulse_vjp(tgSim *s, int count, const tgReal *const *z, const Out *o) {
  RowAdjoint r[2];
  bool rows = s->nrow > 0 && !tgi_no_contact_gradient(s);
  for (int k = 0; k < count; k++) {
    if (count > 1) tgi_rows_select(s, k);
    TG_TRY(open_problem(s, z[k], o->force, &r[k]));
  }
  if (o->forced != NULL) tgi_rows_mul(s, r[0].lambda, o->forced);
  if (o->lambda != NULL) memcpy(o->lambda, r[0].lambda, (size_t)s->m.nv * sizeof *o->lambda);
  if (rows) TG_TRY(rows_pose_vjp(s, count, r, o));
  for (int k = 0; k < count; k++) {
    tgi_rows_select(s, r[k].problem);
    if (rows) TG_TRY(rows_start_vjp(s, &r[k], o));
    if (o->p != NULL && !tgi_no_contact_gradient(s))
      tgi_joints_zero_parameters(s, tgi_rows_pose(s), tgi_problem_velocity(s), r[k].lambda, o->p);
  }
  if (count > 1) TG_TRY(both_balances_vjp(s, &r[0], &r[1], o));
  else TG_TRY(balance_vjp(s, tgi_problem_velocity(s), r[0].x, r[0].lambda, o));
  if (o->p != NULL) tgi_place_vjp(s, &s->start, o->p, NULL);
  return TG_OK;
}

tgStatus tgi_impulse_vjp(tgSim *s, const tgReal *z, const tgiAdjoint *o) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = impulse_vjp(s, 1, &z, o);
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_impulse_both_vjp(tgSim *s, const tgReal *z1, const tgReal *z2, const tgiAdjoint *o) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = impulse_vjp(s, 2, (const tgReal *const[]){z1, z2}, o);
  tgi_rows_select(s, 0);
  tgi_stack_free(s, mark);
  return status;
}
