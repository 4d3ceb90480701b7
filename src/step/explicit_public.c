// explicit_public.c: what steps of explicit laws offer besides the step: advice on its size, inverse dynamics with
// contact. See tangere/step.h.
//
// Based on: [softmin] eq. (24); [math/softmin Advice]. A mode of stiffness omega^2 and damping beta, x'' = -omega^2 x - beta x', is stable
//   euler:     h^2 omega^2 + 2 h beta < 4,
//   explicit:  h omega^2 < beta and 4 - 2 h beta + h^2 omega^2 > 0,
//   rk4:       |1 + z + z^2/2 + z^3/6 + z^4/24| < 1 at z = h s for both roots s^2 + beta s + omega^2 = 0, found by halving.
// Modes: each pair alone as if it carried the weight of the lighter tree, or its present force where that is more;
// limits; dry friction; equalities.
#include <stdio.h>

#include "dyn/dynamics.h"
#include "sim/arrays.h"
#include "step/explicit.h"
#include "step/step.h"

// ---- stability of one mode ----

// |R(h s)| of the classical scheme at s = (re, im)
static double growth(double re, double im) {
  double p = 1, q = 0, r = 1, i = 0;   // z^k/k!, sum
  for (int k = 1; k <= 4; k++) {
    double t = (p * re - q * im) / k;
    q = (p * im + q * re) / k;
    p = t;
    r += p;
    i += q;
  }
  return hypot(r, i);
}

static bool rk4_stable(double h, double omega2, double beta) {
  double d = beta * beta / 4 - omega2;
  if (d < 0) return growth(-h * beta / 2, h * sqrt(-d)) <= 1 + 1e-12;
  double big = beta / 2 + sqrt(d), small = big > 0 ? omega2 / big : 0;
  return growth(-h * big, 0) <= 1 + 1e-12 && growth(-h * small, 0) <= 1 + 1e-12;
}

double tgi_explicit_stable_step(tgIntegrator integrator, double omega2, double beta) {
  if (!(omega2 > 0) && !(beta > 0)) return INFINITY;
  if (integrator == TG_INTEGRATOR_EULER) return omega2 > 0 ? 4 / (beta + sqrt(beta * beta + 4 * omega2)) : 2 / beta;
  if (integrator == TG_INTEGRATOR_EXPLICIT) {
    double d = beta * beta - 4 * omega2;   // roots of 4 - 2 h beta + h^2 omega^2
    double most = omega2 > 0 ? beta / omega2 : INFINITY;
    return d >= 0 && beta > 0 ? fmin(most, 4 / (beta + sqrt(d))) : most;
  }
  // the larger root's size; the region lies within |z| < 4, and rays from 0 into the left half leave it once
  double d = beta * beta / 4 - omega2, low = 0, high = 4 / (d < 0 ? sqrt(omega2) : beta / 2 + sqrt(d));
  for (int k = 0; k < 60; k++) {
    double middle = (low + high) / 2;
    if (rk4_stable(middle, omega2, beta)) low = middle;
    else high = middle;
  }
  return low;
}

// ---- the modes of a state ----

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for advice on a step; reserve more and repeat.");
}

// frames and forces at the present state with M alone factored
static tgStatus present(tgSim *s) {
  double h = s->h;
  for (int i = 0; i < s->m.nq; i++) tgi_explicit_own(s)->stage_q[i] = s->qpos[i];
  for (int d = 0; d < s->m.nv; d++) tgi_explicit_own(s)->stage_v[d] = s->qvel[d];
  for (int i = 0; i < s->m.na; i++) s->act0[i] = s->act[i];
  TG_TRY(tgi_check_state(s));
  TG_TRY(s->contact_model->kind->law->begin(s, s->h));
  s->h = 0;
  tgStatus status = tgi_explicit_stage(s, 0, false);
  s->h = h;
  s->stage = status < 0 ? TG_STAGE_NONE : TG_STAGE_FORWARD;
  return status;
}

// What is looked at: at what is stiff, whether or not it acts at this state, or at what acts alone.
typedef enum Which { ALL_MODES, ACTING_MODES } Which;

// row M^-1 row', row (nv) a generalised force per unit
static double response(const tgSim *s, const tgReal *row, tgReal *work) {
  double sum = 0;
  for (int d = 0; d < s->m.nv; d++) work[d] = row[d];
  tgi_factor_solve(&s->m, s->L, work);
  for (int d = 0; d < s->m.nv; d++) sum += tgRe(row[d] * work[d]);
  return sum;
}

// what a unit force along n at p between the bodies of a pair moves the point by
static double point_response(const tgSim *s, const tgPairTerm *f, const double *p, const double *n, tgReal *row, tgReal *work) {
  tgReal at[3], dir[3], screw[6];
  for (int i = 0; i < 3; i++) {
    at[i] = p[i];
    dir[i] = n[i];
  }
  for (int d = 0; d < s->m.nv; d++) row[d] = 0;
  tgi_sp_screw(screw, at, dir);
  tgi_add_row(s, &s->start, f->body1, screw, 1, row);
  tgi_add_row(s, &s->start, f->body2, screw, -1, row);
  return response(s, row, work);
}

static void consider(const tgSim *s, double omega2, double beta, const char *what, tgStepAdvice *out) {
  double h = tgi_explicit_stable_step(tgi_explicit_options(s->contact_model)->integrator, omega2, beta);
  if (!(h < out->h)) return;
  out->h = h;
  out->frequency = sqrt(omega2);
  out->damping = beta;
  snprintf(out->reason, sizeof out->reason, "%s", what);
}

static void consider_pair(tgSim *s, int i, tgReal *row, tgReal *work, tgStepAdvice *out) {
  const tgLaw *k = s->contact_model->kind->law;
  tgContactStiffness c;
  char label[256], text[300];
  if (k->stiffness == NULL || !k->stiffness(s, &s->start, i, &c)) return;
  double n[3] = {c.n[0], c.n[1], c.n[2]}, across = 0, along = point_response(s, &s->term[i], c.p, n, row, work);
  for (int a = 0; a < 3; a++) {
    double e[3] = {a == 0, a == 1, a == 2};
    across += point_response(s, &s->term[i], c.p, e, row, work);
  }
  snprintf(text, sizeof text, "contact of %s", k->term_label(s, i, label, sizeof label));
  consider(s, c.stiffness * along, c.damping * along, text, out);
  snprintf(text, sizeof text, "friction of %s", label);
  consider(s, 0, c.friction * fmax(0, across - along), text, out);
}

// ---- a pair as it acts now: its force is w + X dx + Y dV ----

enum { PAIR = 12 };   // twists of two bodies

static void clear(const tgSim *s, tgReal *row) {
  for (int d = 0; d < s->m.nv; d++) row[d] = 0;
}

// W: twists of the two bodies that unit wrenches on them give, S M^-1 S'
static void pair_response(const tgSim *s, const tgPairTerm *f, tgReal *row, double W[PAIR * PAIR]) {
  const int body[2] = {f->body1, f->body2};
  for (int k = 0; k < PAIR; k++) {
    tgReal wrench[6] = {0};
    wrench[k % 6] = 1;
    clear(s, row);
    tgi_add_row(s, &s->start, body[k / 6], wrench, 1, row);
    tgi_factor_solve(&s->m, s->L, row);
    for (int side = 0; side < 2; side++) {
      tgReal twist[6] = {0};
      for (int d = s->m.body_lastdof[body[side]]; d >= 0; d = s->m.dof_parent[d]) tgi_sp_axpy(twist, row[d], s->start.S + 6 * d);
      for (int i = 0; i < 6; i++) W[PAIR * (6 * side + i) + k] = tgRe(twist[i]);
    }
  }
}

// x' D y
static double product(const double *x, const tgReal *D, const double *y) {
  double sum = 0;
  for (int i = 0; i < PAIR; i++)
    for (int j = 0; j < PAIR; j++) sum += x[i] * tgRe(D[PAIR * i + j]) * y[j];
  return sum;
}

// The motion x = W f, f' x = 1, that -D drives back most, by powers, and its rate -x' D x; 0: none.
static double stiffest(const double *W, const tgReal *D, double *x) {
  enum { POWERS = 5 };
  double f[PAIR];
  for (int i = 0; i < PAIR; i++) f[i] = 1 + 0.1 * i;
  for (int power = 0; power < POWERS; power++) {
    double size = 0;
    for (int i = 0; i < PAIR; i++) {
      x[i] = 0;
      for (int j = 0; j < PAIR; j++) x[i] += W[PAIR * i + j] * f[j];
      size += f[i] * x[i];
    }
    if (!(size > 0)) return 0;
    for (int i = 0; i < PAIR; i++) x[i] /= sqrt(size);
    for (int i = 0; i < PAIR && power < POWERS - 1; i++) {
      f[i] = 0;
      for (int j = 0; j < PAIR; j++) f[i] -= tgRe(D[PAIR * i + j]) * x[j];
    }
  }
  return fmax(0, -product(x, D, x));
}

static double largest(const tgReal *D) {
  double most = 0;
  for (int i = 0; i < PAIR * PAIR; i++) most = fmax(most, fabs(tgRe(D[i])));
  return most;
}

// What moves the lighter body by less than a millionth of its way is not stiff, whatever its shape.
static bool acts(const tgSim *s, const tgPairTerm *f, bool moves) {
  double mass = INFINITY, push = s->h * (s->h * largest(f->X) + (moves ? 2 * largest(f->Y) : 0));
  if (s->m.body_lastdof[f->body1] >= 0) mass = tgRe(s->m.body_mass[f->body1]);
  if (s->m.body_lastdof[f->body2] >= 0) mass = fmin(mass, tgRe(s->m.body_mass[f->body2]));
  return push > 1e-6 * mass;
}

static void consider_acting(tgSim *s, int i, tgReal *row, tgStepAdvice *out) {
  const tgPairTerm *f = &s->term[i];
  const tgLaw *k = s->contact_model->kind->law;
  double W[PAIR * PAIR], x[PAIR], rate;
  char label[256], text[300];
  bool moves = (k->has & TG_LAW_VELOCITY) != 0;
  if (!acts(s, f, moves)) return;
  pair_response(s, f, row, W);
  snprintf(text, sizeof text, "contact of %s", k->term_label != NULL ? k->term_label(s, i, label, sizeof label) : "two bodies");
  rate = stiffest(W, f->X, x);
  consider(s, rate, moves ? fmax(0, -product(x, f->Y, x)) : 0, text, out);
  if (!moves) return;
  rate = stiffest(W, f->Y, x);
  consider(s, fmax(0, -product(x, f->X, x)), rate, text, out);
}

// ---- joints and equalities ----

// slope of dry friction f in the speed v, the largest or the present one
static double dry_slope(const tgSim *s, double f, double v, Which which) {
  double v_s = tgRe(TG_NUMBER(s, slip_speed)), rho = which == ACTING_MODES ? hypot(v_s, v) : v_s;
  return f * v_s * v_s / (rho * rho * rho);
}

// dry friction of slope f and, of stiffness k, a limit that act on the row; 0: there is none
static void consider_row(const tgSim *s, const char *thing, double f, double k, const tgReal *row, tgReal *work, tgStepAdvice *out) {
  char text[200];
  double inverse = response(s, row, work);
  snprintf(text, sizeof text, "dry friction of %s", thing);
  if (f > 0) consider(s, 0, f * inverse, text, out);
  snprintf(text, sizeof text, "limit of %s", thing);
  consider(s, k * inverse, 0, text, out);
}

// of limit i (joints, then tendons), 0 where there is none, or none that is passed
static double limit_stiffness(const tgSim *s, int i, Which which) {
  double omega = tgRe(TG_NUMBER(s, limit_frequency));
  bool any = false;
  for (int side = 0; side < 2; side++) {
    tgReal gap, width;
    any = any || (tgi_limit_at(s, i, side, &s->start, &gap, &width) && (which == ALL_MODES || tgRe(gap) < 0));
  }
  return any ? omega * omega * s->contact_model->limit_inertia[i] : 0;
}

static void consider_joints(tgSim *s, Which which, tgReal *row, tgReal *work, tgStepAdvice *out) {
  const tgModel *m = &s->m;
  char label[128];
  for (int d = 0; d < m->nv; d++) {
    double slope = dry_slope(s, tgRe(m->dof_frictionloss[d]), tgRe(s->start.vel[d]), which), k = limit_stiffness(s, m->dof_jnt[d], which);
    if (!(slope > 0) && !(k > 0)) continue;
    clear(s, row);
    row[d] = 1;
    consider_row(s, tgi_model_label(m, TG_THING_JOINT, m->dof_jnt[d], label, sizeof label), slope, k, row, work, out);
  }
  for (int t = 0; t < m->ntendon; t++) {
    double rate = tgRe(tgi_tendon_speed(s, &s->start, t, s->start.vel)), slope = dry_slope(s, tgRe(m->ten_frictionloss[t]), rate, which),
           k = limit_stiffness(s, m->njnt + t, which);
    if (!(slope > 0) && !(k > 0)) continue;
    clear(s, row);
    tgi_tendon_row(s, &s->start, t, 1, row);
    consider_row(s, tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label), slope, k, row, work, out);
  }
}

// all directions of a connect or weld together, which no one exceeds
static void consider_bond(const tgSim *s, int eq, const tgiEqualityGains *gain, const char *label, tgReal *row,
                          tgReal *work, tgStepAdvice *out) {
  tgiBond k;
  double move = 0, turn = 0;
  tgi_bond(s, &s->start, eq, &k);
  for (int i = 0; i < 6; i++) {
    tgReal e[3] = {i % 3 == 0, i % 3 == 1, i % 3 == 2}, screw[6];
    tgi_sp_screw(screw, k.p, e);
    for (int c = 0; c < 6 && i >= 3; c++) screw[c] = c == i - 3;
    clear(s, row);
    tgi_add_row(s, &s->start, k.a, screw, 1, row);
    tgi_add_row(s, &s->start, k.b, screw, -1, row);
    *(i < 3 ? &move : &turn) += response(s, row, work);
  }
  consider(s, tgRe(gain->k) * move, tgRe(gain->c) * move, label, out);
  if (k.weld) consider(s, tgRe(gain->k_turn) * turn, tgRe(gain->c_turn) * turn, label, out);
}

static void consider_equalities(const tgSim *s, tgReal *row, tgReal *work, tgStepAdvice *out) {
  const tgModel *m = &s->m;
  char label[128];
  for (int e = 0; e < m->neq; e++) {
    tgiEqualityGains gain;
    tgi_model_label(m, TG_THING_EQUALITY, e, label, sizeof label);
    tgi_equality_force_gains(s, e, &gain);
    if (tgi_is_bound(m, e)) consider_bond(s, e, &gain, label, row, work, out);
    if (!m->eq_active[e] || !tgi_is_tie(m, e)) continue;
    tgiTie t;
    tgi_tie(m, e, s->qpos, &t);
    clear(s, row);
    tgi_tie_add(m, &t.a, 1, row);
    tgi_tie_add(m, &t.b, -t.slope, row);
    double inverse = response(s, row, work);
    consider(s, tgRe(gain.k) * inverse, tgRe(gain.c) * inverse, label, out);
  }
}

// of the state whose forces are in the sim, M factored in s->L
static tgStatus consider_all(tgSim *s, Which which, tgStepAdvice *out) {
  *out = (tgStepAdvice){.h = INFINITY};
  size_t mark = tgi_stack_mark(s);
  tgReal *row = tgi_stack_real(s, (size_t)s->m.nv), *work = tgi_stack_real(s, (size_t)s->m.nv);
  if (row == NULL || work == NULL) return no_room(s);
  for (int i = 0; i < s->nterm; i++) {
    if (which == ACTING_MODES) consider_acting(s, i, row, out);
    else consider_pair(s, i, row, work, out);
  }
  consider_joints(s, which, row, work, out);
  consider_equalities(s, row, work, out);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_explicit_advice(tgSim *s, tgStepAdvice *out) {
  TG_TRY(present(s));
  return consider_all(s, ALL_MODES, out);
}

// A derivative leaves the first stage of the step in the sim: it costs one factorisation and no forces to tell its stable length.
static void label(const tgSim *s, tgGradInfo *info) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // scratch and the factor are taken
  tgStepAdvice a;
  tgi_step_matrix(sim, 0, false);
  if (!tgi_factor(&s->m, s->Mh, s->L) || consider_all(sim, ACTING_MODES, &a) != TG_OK || s->h <= a.h) return;
  info->label = TG_GRAD_UNSTABLE;
  snprintf(info->reason, sizeof info->reason, "%g s is longer than is stable, %.3g s: %.120s", s->h, a.h, a.reason);
}

// ---- inverse dynamics ----

static tgStatus inverse(tgSim *s, const tgReal *qacc, tgReal *tau) {
  size_t mark = tgi_stack_mark(s);
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)s->m.nbody), *joints = tgi_stack_real(s, (size_t)s->m.nv);
  if (wrench == NULL || joints == NULL) return no_room(s);
  TG_TRY(present(s));
  tgi_explicit_wrenches(s, &s->start, wrench);
  tgi_inverse(s, &s->start, qacc, wrench, tau);
  for (int d = 0; d < s->m.nv; d++) joints[d] = 0;
  tgi_joint_forces(s, &s->start, s->qvel, joints);
  for (int d = 0; d < s->m.nv; d++) tau[d] -= joints[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- single points of a surface ----

static tgStatus no_points(tgSim *s, int geom) {
  char label[128];
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "%s collides by no points: it is in no pair, or the contact model has none.",
                   tgi_model_label(&s->m, TG_THING_GEOM, geom, label, sizeof label));
}

static int points(tgSim *s, int geom, const tgReal **position, const tgReal **normal) {
  const tgLaw *law = s->contact_model->kind->law;
  return law->points != NULL && law->begin(s, s->h) == TG_OK ? law->points(s, geom, position, normal) : 0;
}

static tgStatus points_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, int geom, tgReal *dposition, tgReal *dnormal) {
  const tgReal *position, *normal;
  int n = points(s, geom, &position, &normal), clamps = 0;
  if (n == 0) return no_points(s, geom);
  size_t nv = (size_t)s->m.nv, size = 6 * nv + 6 * (size_t)s->m.nbody + 2 * nv + 6 * (size_t)n;
  tgReal *all = tgi_stack_real(s, size);
  if (all == NULL) return tgi_no_room(s, "adjoint");
  for (size_t i = 0; i < size; i++) all[i] = 0;
  tgReal *X = all + 6 * nv, *dq = X + 6 * s->m.nbody, *point = dq + 2 * nv;
  tgParamGrad p = {.model = s->model, .contact = s->contact_model, .S = all, .X = X, .points_of = geom, .point = point,
                   .point_normal = point + 3 * n};
  TG_TRY(tgi_explicit_vjp(s, gq, gv, dq, dq + nv, NULL, &p, &clamps));
  for (int i = 0; i < 3 * n; i++) {
    if (dposition != NULL) dposition[i] = p.point[i];
    if (dnormal != NULL) dnormal[i] = p.point_normal[i];
  }
  return TG_OK;
}

// ---- what it is to the table ----

static tgStatus supports(tgContact *c, tgError *error) { return tgi_joint_inertias(c, false, error); }

// what the dense derivative takes besides the dynamics
static size_t scratch(const tgContact *c) {
  size_t nv = (size_t)c->model->nv, nu = (size_t)c->model->nu;
  return (8 * nv * (2 * nv + nu) + 512) * sizeof(tgReal);
}

// how many arrays there are
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) +1
enum { ARRAYS = 0
#include "step/explicit_fields.def"
};
#undef TG_OWN_REAL

static int arrays(const tgSim *s, tgiArray *list) {
  const tgModel *m = s->model;
  int stages = tgi_explicit_tableau(s)->n, n = 0;
#define TG_OWN_REAL(name_, rows_, cols_, unit_, producer_, text_) \
  list[n++] = (tgiArray){offsetof(tgiExplicit, name_), TG_SCALAR_REAL, rows_, cols_, #name_, unit_, producer_, text_};
#include "step/explicit_fields.def"
#undef TG_OWN_REAL
  return n;
}

static void place(tgSim *s, tgLayout *l) {
  tgiArray list[ARRAYS];
  s->own = tgi_place(l, 1, sizeof(tgiExplicit));
  tgi_arrays_place(l, s->own, list, arrays(s, list));
}

static tgField field(const tgSim *s, int i) {
  tgiArray list[ARRAYS];
  return tgi_arrays_field(s->own, list, arrays(s, list), i);
}

const tgStepper tgi_explicit = {.name = "explicit", .twice = true, .supports = supports, .scratch = scratch,
                                .place = place, .field = field, .step = tgi_explicit_step,
                                .record_bytes = tgi_explicit_record_bytes, .record = tgi_explicit_record,
                                .revisit = tgi_explicit_revisit, .vjp = tgi_explicit_vjp, .touches_vjp = tgi_explicit_touches_vjp,
                                .jacobian = tgi_explicit_jacobian, .label = label, .advice = tgi_explicit_advice,
                                .inverse = inverse, .points = points, .points_vjp = points_vjp};
