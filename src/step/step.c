// step.c: one step as a map (q, v, u) -> (q', v'), its adjoint and its Jacobian; see tangere/step.h.
//
// Based on: [math/lcp (3)]. q' = q (+) h v' (symplectic) or q (+) h v; the constraint part is the stepper's of the model's kind.
#include "step/step.h"

#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "contact/contact.h"
#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "step/bounce.h"
#include "step/force.h"
#include "step/implicit.h"
#include "step/impulse.h"

static bool symplectic(const tgSim *s) { return s->contact_model == NULL || s->contact_model->options.symplectic; }

void tgi_step_forces(tgSim *s, const tgReal *v) {
  tgi_velocities(s, &s->start, v);
  tgi_bias(s, &s->start);
  tgi_actuation(s, &s->start, s->q0, v);
  tgi_passive(s, &s->start, s->q0, v);
  for (int d = 0; d < s->m.nv; d++) s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
}

// frames, velocities and smooth forces at (q0, v0)
static void smooth(tgSim *s) {
  tgi_kinematics(&s->m, s->q0, &s->start);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  tgi_step_forces(s, s->v0);
}

static tgStatus step(tgSim *s, double h) {
  const tgModel *m = &s->m;
  if (!(h > 0) || !isfinite(h)) return tgi_error(&s->error, TG_ERR_ARG, "The step size is %g; give a positive number of seconds.", h);
  TG_TRY(tgi_check_state(s));
  TG_TRY(tgi_check_parameters(s));
  s->stage = TG_STAGE_NONE;
  s->h = h;
  for (int i = 0; i < m->nq; i++) s->q0[i] = s->qpos[i];
  for (int d = 0; d < m->nv; d++) s->v0[d] = s->qvel[d];
  if (!tgi_forced(s)) smooth(s);
  tgStatus status = tgi_implicit(s) ? tgi_implicit_step(s, h) : tgi_forced(s) ? tgi_force_step(s, h) : tgi_impulse_velocity(s, h);
  if (status != TG_OK) return status;
  return tgi_check_velocity(s, s->v1);
}

// from v1, or from the end and v1, to the state after the step
static tgStatus commit(tgSim *s) {
  const tgModel *m = &s->m;
  if (tgi_implicit(s)) {
    memcpy(s->qpos, s->end.q, (size_t)m->nq * sizeof(tgReal));
    memcpy(s->qvel, s->v1, (size_t)m->nv * sizeof(tgReal));
    s->stage = TG_STAGE_STEPPED;
    return TG_OK;
  }
  if (tgi_forced(s)) {
    tg_model_integrate(m, s->q0, s->step_w, s->qpos);
    memcpy(s->qvel, s->v1, (size_t)m->nv * sizeof(tgReal));
    s->stage = TG_STAGE_STEPPED;
    return TG_OK;
  }
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv);
  if (w == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  const tgReal *v = symplectic(s) ? s->v1 : s->v0;
  for (int d = 0; d < m->nv; d++) w[d] = s->h * v[d];
  tg_model_integrate(m, s->q0, w, s->qpos);
  for (int d = 0; d < m->nv; d++) s->qvel[d] = s->v1[d];
  if (s->contact_model != NULL && !s->frozen) s->contact_model->kind->impulse->remember(s);
  tgi_stack_free(s, mark);
  s->stage = TG_STAGE_STEPPED;
  return TG_OK;
}

// what the step's size should be, before it; the step computes everything anew
static tgStatus watch(tgSim *s, double h) {
  tgStepAdvice advice;
  TG_TRY(tgi_force_advice(s, &advice));
  s->info.stable_step = advice.h;
  s->info.unstable = h > advice.h;
  return TG_OK;
}

void tg_sim_watch_stability(tgSim *sim, bool on) {
  if (sim != NULL) sim->watched = on;
}

tgStatus tg_sim_step(tgSim *sim, double h, tgStepInfo *info) {
  if (sim == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  sim->info = (tgStepInfo){.least_distance = INFINITY, .stable_step = INFINITY, .body1 = -1, .body2 = -1};
  sim->stack_used = 0;
  sim->stack_high = 0;
  sim->error = (tgError){.status = TG_OK};
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = sim->watched && tgi_forced(sim) ? watch(sim, h) : TG_OK;
  if (status == TG_OK) status = step(sim, h);
  if (status == TG_OK) status = commit(sim);
  tgi_fp_leave(env);
  sim->info.converged = status == TG_OK;
  sim->info.scratch_high = sim->stack_high;
  if (info != NULL) *info = sim->info;
  tgi_sim_release(sim);
  return status;
}

tgStatus tg_sim_step_growing(tgSim *sim, double h, tgStepInfo *info) {
  enum { GROWTHS = 48 };
  tgStatus status = tg_sim_step(sim, h, info);
  for (int growth = 0; status == TG_ERR_CAPACITY && growth < GROWTHS; growth++) {
    if (tg_sim_grow(sim) != TG_OK) return TG_ERR_MEMORY;
    status = tg_sim_step(sim, h, info);
  }
  return status;
}

void tg_sim_freeze_memory(tgSim *sim, bool frozen) {
  if (sim != NULL) sim->frozen = frozen;
}

// ---- derivatives of the last step ----

static tgStatus stepped(tgSim *s) {
  if (s->stage == TG_STAGE_STEPPED) return TG_OK;
  return tgi_error(&s->error, TG_ERR_STATE, "A step's derivative is asked for after something else than a successful step; step first.");
}

static void label(const tgSim *s, int clamps, const tgParamGrad *dp, tgGradInfo *info) {
  if (info == NULL) return;
  *info = (tgGradInfo){.label = TG_GRAD_EXACT, .converged = s->info.converged, .first_step = -1};
  const tgContactModel *kind = s->contact_model != NULL ? s->contact_model->kind : NULL;
  if (kind != NULL && kind->ties != NULL) kind->ties(s, s->h, info);
  if (kind != NULL && kind->param_ties != NULL && dp != NULL) kind->param_ties(s, dp, info);
  if (clamps > 0) {
    if (info->ties == 0) snprintf(info->reason, sizeof info->reason, "an actuator or spring at its clamp");
    info->ties += clamps;
    info->label = TG_GRAD_ONE_SIDED;
  }
  if (s->explored >= 0) {
    char text[130];
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "complementarity-aware: %s", s->contact_model->kind->impulse->row_label(s, s->explored, text, sizeof text));
  }
  if (tgi_implicit(s) && s->gradient_of == 2) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "the contact potential of the gradient is not that of the step (option long_range)");
  }
  if (tgi_implicit(s) && s->shift > 0) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "the step's energy has no strict minimum: its second derivative is taken with %.3g M/h^2 added", s->shift);
  }
  if (s->contact_model != NULL && s->contact_model->options.zero_contact_gradient && s->nrow > 0) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "contact forces are held constant (option zero_contact_gradient)");
  } else if (tgi_bounces(s)) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "a bounce is differentiated as an impact in continuous time (option bounce_gradient)");
  }
}

// x <- R' x
static tgStatus bounce_position(tgSim *s, tgReal *x, tgReal *gaps) {
  size_t mark = tgi_stack_mark(s);
  tgReal *old = tgi_stack_real(s, (size_t)s->m.nv);
  if (old == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
  for (int d = 0; d < s->m.nv; d++) old[d] = x[d];
  tgStatus status = tgi_bounce_position_vjp(s, old, x, gaps);
  tgi_stack_free(s, mark);
  return status;
}

// of a potential model or a force model
static tgStatus whole_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, int *clamps) {
  int nv = s->m.nv;
  tgReal *a = tgi_stack_real(s, 2 * (size_t)nv);
  if (a == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
  for (int d = 0; d < 2 * nv; d++) a[d] = 0;
  for (int i = 0; i < s->m.nu && du != NULL; i++) du[i] = 0;
  TG_TRY(tgi_implicit(s) ? tgi_implicit_vjp(s, gq, gv, a, a + nv, du, dp, clamps) : tgi_force_vjp(s, gq, gv, a, a + nv, du, dp, clamps));
  for (int d = 0; d < nv; d++) {
    if (dq != NULL) dq[d] = a[d];
    if (dv != NULL) dv[d] = a[nv + d];
  }
  return TG_OK;
}

static tgStatus vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  if (tgi_implicit(s) || tgi_forced(s)) return whole_vjp(s, gq, gv, dq, dv, du, dp, clamps);
  bool by_new = symplectic(s);
  tgReal *aq = tgi_stack_real(s, (size_t)nv), *av = tgi_stack_real(s, (size_t)nv), *z = tgi_stack_real(s, (size_t)nv),
         *w = tgi_stack_real(s, (size_t)nv), *gw = tgi_stack_real(s, (size_t)nv);
  if (aq == NULL || av == NULL || z == NULL || w == NULL || gw == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
  for (int d = 0; d < nv; d++) {
    aq[d] = av[d] = gw[d] = 0;
    z[d] = gv != NULL ? gv[d] : 0;
    w[d] = s->h * (by_new ? s->v1 : s->v0)[d];
  }
  // q' = q (+) h v' or q (+) h v
  bool bounces = tgi_bounces(s);
  tgReal *gaps = NULL;
  if (bounces && dp != NULL) {
    gaps = tgi_stack_real(s, (size_t)s->nrow);
    if (gaps == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's adjoint; reserve more and repeat.");
    for (int i = 0; i < s->nrow; i++) gaps[i] = 0;
  }
  if (gq != NULL) {
    tgi_integrate_vjp(m, w, gq, aq, gw);
    if (bounces) TG_TRY(bounce_position(s, aq, gaps));
    if (bounces && !by_new) TG_TRY(bounce_position(s, gw, NULL));
    for (int d = 0; d < nv; d++) *(by_new ? &z[d] : &av[d]) += s->h * gw[d];
    for (int d = 0; d < nv && dp != NULL && dp->opt_timestep != NULL; d++) dp->opt_timestep[0] += (by_new ? s->v1 : s->v0)[d] * gw[d];
  }
  if (du != NULL)
    for (int i = 0; i < m->nu; i++) du[i] = 0;
  TG_TRY(bounces ? tgi_bounce_vjp(s, z, aq, av, du, dp, gaps, clamps) : tgi_impulse_vjp(s, z, aq, av, du, dp, clamps));
  for (int d = 0; d < nv; d++) {
    if (dq != NULL) dq[d] = aq[d];
    if (dv != NULL) dv[d] = av[d];
  }
  return TG_OK;
}

tgStatus tg_sim_step_vjp(tgSim *sim, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, tgGradInfo *info) {
  if (sim == NULL || (dp != NULL && !tgi_param_fits(dp, sim))) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  int clamps = 0;
  size_t mark = tgi_stack_mark(sim);
  sim->explored = -1;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = stepped(sim);
  if (status >= 0) status = vjp(sim, gq, gv, dq, dv, du, dp, &clamps);
  tgi_stack_free(sim, mark);
  if (status >= 0) label(sim, clamps, dp, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
}

// rows of q' of a step that bounces: Xq holds R
static tgStatus bouncing_positions(tgSim *s, const tgReal *w, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  size_t size = (size_t)nv * (size_t)nc;
  tgReal *Xq = tgi_stack_real(s, size), *Xw = tgi_stack_real(s, size), *Dv = D + size;
  if (Xq == NULL || Xw == NULL) return no_room(s);
  bool by_new = symplectic(s);
  for (int d = 0; d < nv; d++)
    for (int c = 0; c < nc; c++) Xq[d * nc + c] = c == d ? 1 : 0;
  TG_TRY(tgi_bounce_jacobian(s, Dv, Xq));
  for (int d = 0; d < nv; d++)
    for (int c = 0; c < nc; c++)
      Xw[d * nc + c] = s->h * (by_new ? Dv[d * nc + c] : c >= nv && c < 2 * nv ? Xq[d * nc + c - nv] : 0);
  tgi_integrate_jacobian(&s->m, w, nc, Xq, Xw, D);
  return TG_OK;
}

// rows of q' from those of v'
static tgStatus positions(tgSim *s, const tgReal *w, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, *span = tgi_stack_bytes(s, 2 * ((size_t)nv + 1) * sizeof *span);
  size_t size = (size_t)nv * (size_t)nc;
  if (span == NULL) return no_room(s);
  if (s->nrow == 0) tgi_trees(s);
  for (int d = 0; d < nv; d++) {
    int island = s->nrow > 0 ? s->dof_island[d] : -1;
    const int *tree = s->tree + 3 * s->tree[3 * d];
    span[2 * d] = island >= 0 ? s->island_dof[s->island_dofadr[island]] : tree[1];
    span[2 * d + 1] = island >= 0 ? s->island_dof[s->island_dofadr[island + 1] - 1] + 1 : tree[2];
  }
  memset(D, 0, size * sizeof *D);
  tgi_integrate_own_jacobian(&s->m, w, s->h, nc, symplectic(s) ? D + size : NULL, span, D);
  return TG_OK;
}

static tgStatus jacobian(tgSim *sim, tgReal *D, tgGradInfo *info) {
  TG_TRY(stepped(sim));
  sim->explored = -1;
  int nv = sim->m.nv, nc = 2 * nv + sim->m.nu, clamps = 0;
  size_t mark = tgi_stack_mark(sim);
  tgReal *w = tgi_stack_real(sim, (size_t)nv);
  if (w == NULL) return no_room(sim);
  const tgReal *v = symplectic(sim) ? sim->v1 : sim->v0;
  for (int d = 0; d < nv; d++) w[d] = sim->h * v[d];
  bool whole = tgi_implicit(sim) || tgi_forced(sim);
  tgStatus status = tgi_implicit(sim) ? tgi_implicit_jacobian(sim, D, &clamps) : tgi_forced(sim) ? tgi_force_jacobian(sim, D, &clamps)
                                                                       : tgi_impulse_jacobian(sim, D + (size_t)nv * (size_t)nc, &clamps);
  if (status >= 0 && !whole) status = tgi_bounces(sim) ? bouncing_positions(sim, w, D) : positions(sim, w, D);
  tgi_stack_free(sim, mark);
  if (status >= 0) label(sim, clamps, NULL, info);
  return status;
}

tgStatus tg_sim_step_jacobian(tgSim *sim, tgReal *D, tgGradInfo *info) {
  if (sim == NULL || D == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = jacobian(sim, D, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

static tgStatus param_jacobian(tgSim *s, tgParamGrad *dp, tgReal *D, tgGradInfo *info) {
  int nv = s->m.nv, clamps = 0;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, 2 * (size_t)nv);
  tgStatus status = stepped(s);
  s->explored = -1;
  s->no_exploring = true;
  if (status == TG_OK && g == NULL) status = tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
  for (int i = 0; i < 2 * nv && status == TG_OK; i++) {
    for (int k = 0; k < 2 * nv; k++) g[k] = k == i;
    tg_param_grad_clear(dp);
    clamps = 0;
    size_t row = tgi_stack_mark(s);
    status = vjp(s, g, g + nv, NULL, NULL, NULL, dp, &clamps);
    tgi_stack_free(s, row);
    for (int k = 0; k < dp->size; k++) D[(size_t)i * (size_t)dp->size + (size_t)k] = dp->value[k];
  }
  s->no_exploring = false;
  tgi_stack_free(s, mark);
  if (status == TG_OK) label(s, clamps, dp, info);
  return status;
}

tgStatus tg_sim_step_param_jacobian(tgSim *sim, tgParamGrad *dp, tgReal *D, tgGradInfo *info) {
  if (sim == NULL || dp == NULL || D == NULL || !tgi_param_fits(dp, sim)) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = param_jacobian(sim, dp, D, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}
