// public.c: dynamics at the present state for callers: tg_sim_forward, inverse and forward dynamics with derivatives.
//
// Forward dynamics a = M^-1 (tau - c) is differentiated through inverse dynamics at that a: Da = -M^-1 D(inverse), so
// M^-1 itself is never differentiated.
#include "base/fpenv.h"
#include "dyn/dynamics.h"

static tgStatus not_finite(tgSim *s, const char *what, tgKindOfThing kind, int thing, int index) {
  char label[160];
  return tgi_error(&s->error, TG_ERR_NOT_FINITE, "%s[%d] of %s is not a finite number; set it before the call.", what, index,
                   tgi_model_label(&s->m, kind, thing, label, sizeof label));
}

static tgStatus check_vector(tgSim *s, const char *what, const tgReal *x) {
  for (int d = 0; d < s->m.nv; d++)
    if (!tgFinite(x[d])) return not_finite(s, what, TG_THING_BODY, s->m.dof_body[d], d);
  return TG_OK;
}

tgStatus tgi_check_state(tgSim *s) {
  const tgModel *m = &s->m;
  for (int j = 0; j < m->njnt; j++) {
    int end = j + 1 < m->njnt ? m->jnt_qadr[j + 1] : m->nq;
    for (int a = m->jnt_qadr[j]; a < end; a++)
      if (!tgFinite(s->qpos[a])) return not_finite(s, "qpos", TG_THING_BODY, m->jnt_body[j], a);
  }
  TG_TRY(check_vector(s, "qvel", s->qvel));
  TG_TRY(check_vector(s, "qfrc_applied", s->qfrc_applied));
  for (int i = 0; i < m->nu; i++)
    if (m->act_adr[i] >= 0 && !tgFinite(s->act[m->act_adr[i]])) return not_finite(s, "act", TG_THING_ACTUATOR, i, m->act_adr[i]);
  for (int i = 0; i < m->nu; i++)
    if (!tgFinite(s->ctrl[i])) return not_finite(s, "ctrl", TG_THING_ACTUATOR, i, i);
  return TG_OK;
}

// frames, inertias and velocities at the present state
static tgStatus prepare(tgSim *s) {
  const tgModel *m = &s->m;
  TG_TRY(tgi_check_state(s));
  for (int i = 0; i < m->nq; i++) s->start.q[i] = s->qpos[i];
  for (int i = 0; i < m->nv; i++) s->start.vel[i] = s->qvel[i];
  for (int i = 0; i < m->na; i++) s->act0[i] = s->act[i];
  tgi_kinematics(&s->m, s->start.q, &s->start);
  tgi_inertias(s, &s->start);
  tgi_velocities(s, &s->start, s->start.vel);
  s->stage = TG_STAGE_FORWARD;
  return TG_OK;
}

// and Lm, the factor of the mass matrix
static tgStatus prepare_factor(tgSim *s) {
  TG_TRY(prepare(s));
  tgi_mass_matrix(s, &s->start);
  if (tgi_factor(&s->m, s->M, s->Lm)) return TG_OK;
  s->stage = TG_STAGE_NONE;
  return tgi_no_factor(s, &s->start, "");
}

static tgStatus forward(tgSim *s) {
  TG_TRY(prepare_factor(s));
  tgi_bias(s, &s->start);
  tgi_actuation(s, &s->start);
  tgi_passive(s, &s->start);
  for (int d = 0; d < s->m.nv; d++) s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
  return TG_OK;
}

static tgStatus inverse(tgSim *s, const tgReal *qacc, tgReal *tau) {
  TG_TRY(prepare(s));
  TG_TRY(check_vector(s, "qacc", qacc));
  tgi_inverse(s, &s->start, qacc, NULL, tau);
  return TG_OK;
}

static tgStatus short_of_scratch(tgSim *s, tgStatus status) {
  if (status != TG_ERR_CAPACITY) return status;
  return tgi_error(&s->error, status, "scratch is too small for this call; tg_sim_reserve makes it larger.");
}

static tgStatus inverse_d(tgSim *s, const tgReal *qacc, tgReal *Dtau_q, tgReal *Dtau_v, tgReal *regressor) {
  TG_TRY(prepare(s));
  TG_TRY(check_vector(s, "qacc", qacc));
  if (Dtau_q != NULL || Dtau_v != NULL) TG_TRY(short_of_scratch(s, tgi_inverse_d(s, &s->start, qacc, NULL, Dtau_q, Dtau_v)));
  if (regressor != NULL) TG_TRY(short_of_scratch(s, tgi_regressor(s, &s->start, qacc, regressor)));
  return TG_OK;
}

static tgStatus acceleration(tgSim *s, const tgReal *tau, tgReal *qacc) {
  TG_TRY(prepare_factor(s));
  TG_TRY(check_vector(s, "tau", tau));
  tgi_bias(s, &s->start);
  for (int d = 0; d < s->m.nv; d++) qacc[d] = tau[d] - s->bias[d];
  tgi_factor_solve(&s->m, s->Lm, qacc);
  return TG_OK;
}

// X (nv x n) <- -M^-1 X
static void minus_solve(tgSim *s, int n, tgReal *X) {
  if (X == NULL) return;
  for (int i = 0; i < s->m.nv * n; i++) X[i] = -X[i];
  tgi_factor_solve_rows(&s->m, s->Lm, n, X);
}

static tgStatus acceleration_d(tgSim *s, const tgReal *tau, tgReal *Da_q, tgReal *Da_v, tgReal *Da_tau, tgReal *Da_pi) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *a = tgi_stack_real(s, (size_t)nv);
  tgStatus status = a == NULL ? TG_ERR_CAPACITY : acceleration(s, tau, a);
  if (status == TG_OK && (Da_q != NULL || Da_v != NULL)) status = tgi_inverse_d(s, &s->start, a, NULL, Da_q, Da_v);
  if (status == TG_OK && Da_pi != NULL) status = tgi_regressor(s, &s->start, a, Da_pi);
  tgi_stack_free(s, mark);
  if (status != TG_OK) return short_of_scratch(s, status);
  minus_solve(s, nv, Da_q);
  minus_solve(s, nv, Da_v);
  minus_solve(s, 10 * s->m.nbody, Da_pi);
  if (Da_tau != NULL) tgi_factor_inverse(&s->m, s->Lm, Da_tau);
  return TG_OK;
}

static tgStatus jacobian_of(tgSim *s, int body, const tgReal point[3], tgReal *jacobian) {
  if (body < 0 || body >= s->m.nbody)
    return tgi_error(&s->error, TG_ERR_ARG, "there is no body %d; the model has bodies 0 to %d.", body, s->m.nbody - 1);
  TG_TRY(prepare(s));
  tgi_point_jacobian(s, &s->start, body, point, jacobian);
  return TG_OK;
}

static tgStatus point_param_vjp(tgSim *s, int body, const tgReal point[3], const tgReal g[3], tgParamGrad *dp) {
  if (dp == NULL || !tgi_param_fits(dp, s))
    return tgi_error(&s->error, TG_ERR_ARG, "the parameter gradient is missing or was made for another model.");
  if (body < 0 || body >= s->m.nbody)
    return tgi_error(&s->error, TG_ERR_ARG, "there is no body %d; the model has bodies 0 to %d.", body, s->m.nbody - 1);
  tgReal screw[6];
  TG_TRY(prepare(s));
  tgi_sp_screw(screw, point, g);
  tgi_param_pose(dp, body, screw);
  tgi_place_vjp(s, &s->start, dp, NULL);
  return TG_OK;
}

// A push p (impulse) on a body at its centre of mass changes the velocities by dv = M^-1 J' p, so a loss whose gradient
// in the velocities is gv changes by gv . dv = (J M^-1 gv) . p.
static tgStatus impulse_gradient(tgSim *s, const tgReal *gv, tgReal *gradient, tgReal *at) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  TG_TRY(prepare_factor(s));
  tgReal *x = tgi_stack_real(s, nv), *J = tgi_stack_real(s, 6 * nv);   // J: three rows angular, three linear
  if (x == NULL || J == NULL) return short_of_scratch(s, TG_ERR_CAPACITY);
  for (size_t d = 0; d < nv; d++) x[d] = gv[d];
  tgi_factor_solve(&s->m, s->Lm, x);
  for (int b = 0; b < s->m.nbody; b++) {
    for (int k = 0; k < 3; k++) at[3 * b + k] = s->start.xcom[3 * b + k];
    tgi_point_jacobian(s, &s->start, b, at + 3 * b, J);
    for (int k = 0; k < 3; k++) {
      gradient[3 * b + k] = 0;
      for (size_t d = 0; d < nv; d++) gradient[3 * b + k] += J[(3 + (size_t)k) * nv + d] * x[d];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Every public call: the sim is claimed for its length and computed in the engine's floating-point environment.
#define COMPUTE(s, call)                          \
  do {                                            \
    if (!tgi_sim_claim(s)) return TG_ERR_STATE;   \
    tgiFpEnv env_ = tgi_fp_enter();               \
    tgStatus status_ = (call);                    \
    tgi_fp_leave(env_);                           \
    tgi_sim_release(s);                           \
    return status_;                               \
  } while (0)

tgStatus tg_sim_forward(tgSim *s) {
  if (s == NULL) return TG_ERR_ARG;
  COMPUTE(s, forward(s));
}

tgStatus tg_sim_inverse(tgSim *s, const tgReal *qacc, tgReal *tau) {
  if (s == NULL || qacc == NULL || tau == NULL) return TG_ERR_ARG;
  COMPUTE(s, inverse(s, qacc, tau));
}

tgStatus tg_sim_inverse_d(tgSim *s, const tgReal *qacc, tgReal *Dtau_q, tgReal *Dtau_v, tgReal *regressor) {
  if (s == NULL || qacc == NULL) return TG_ERR_ARG;
  COMPUTE(s, inverse_d(s, qacc, Dtau_q, Dtau_v, regressor));
}

tgStatus tg_sim_acceleration(tgSim *s, const tgReal *tau, tgReal *qacc) {
  if (s == NULL || tau == NULL || qacc == NULL) return TG_ERR_ARG;
  COMPUTE(s, acceleration(s, tau, qacc));
}

tgStatus tg_sim_acceleration_d(tgSim *s, const tgReal *tau, tgReal *Da_q, tgReal *Da_v, tgReal *Da_tau, tgReal *Da_pi) {
  if (s == NULL || tau == NULL) return TG_ERR_ARG;
  COMPUTE(s, acceleration_d(s, tau, Da_q, Da_v, Da_tau, Da_pi));
}

tgStatus tg_sim_jacobian(tgSim *s, int body, const tgReal point[3], tgReal *jacobian) {
  if (s == NULL || point == NULL || jacobian == NULL) return TG_ERR_ARG;
  COMPUTE(s, jacobian_of(s, body, point, jacobian));
}

tgStatus tg_sim_impulse_gradient(tgSim *s, const tgReal *gv, tgReal *gradient, tgReal *at) {
  if (s == NULL || gv == NULL || gradient == NULL || at == NULL) return TG_ERR_ARG;
  COMPUTE(s, impulse_gradient(s, gv, gradient, at));
}

tgStatus tg_sim_point_param_vjp(tgSim *s, int body, const tgReal point[3], const tgReal g[3], tgParamGrad *dp) {
  if (s == NULL || point == NULL || g == NULL || dp == NULL) return TG_ERR_ARG;
  COMPUTE(s, point_param_vjp(s, body, point, g, dp));
}
