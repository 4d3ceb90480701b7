// minimise_vjp.c: the adjoint of a step of a law with an energy. Shares no derivative code with minimise_jacobian.c.
//
// Based on: [math/barrier Gradient]. With lambda = dL/dq' (of which v' = delta/h has a part), z = -H^-1 lambda
// and Z_b the twists that z gives the bodies at q', what the objective's gradient loses by a change of
// anything else is z . d(dL/dq'):
//   bodies:   G = c [Z] T Sigma-and-mass at the old poses, c = -2/h^2 at q0 and 1/h^2 a step before, carried to the dofs there;
//   contacts: B' Z at the poses at q0;
//   joints:   tgi_joint_start_vjp with zeta = Jr^-1 z.
#include "step/minimise.h"

#include "contact/touch_law.h"
#include "dyn/forces.h"
#include "math/quat.h"
#include "step/minimise_coupling.h"
#include "step/minimise_param.h"
#include "step/step.h"

static bool take(tgSim *s, tgiAdjoint *a) {
  size_t nv = (size_t)s->m.nv, nb = 6 * (size_t)s->m.nbody;
  a->z = tgi_stack_real(s, nv);
  a->zeta = tgi_stack_real(s, nv);
  a->Z = tgi_stack_real(s, nb);
  a->back = tgi_stack_real(s, nb);
  a->old[0] = tgi_stack_real(s, nb);
  a->old[1] = tgi_stack_real(s, nb);
  a->t = tgi_stack_real(s, nv);
  return tgi_objective_take(s, s->h, &a->o) && a->z != NULL && a->zeta != NULL && a->Z != NULL && a->back != NULL &&
         a->old[0] != NULL && a->old[1] != NULL && a->t != NULL;
}

// z = -H^-1 lambda; q' = q0 (+) delta alone moves v' = delta/h with q0
static tgStatus multiplier(tgSim *s, const tgReal *gq, const tgReal *gv, tgiAdjoint *a, tgReal *aq, tgParamGrad *p) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) a->t[d] = gv != NULL ? gv[d] / s->h : 0;
  tgi_joint_rotate(m, a->o.joints.delta, a->t, true, a->z);
  for (int d = 0; d < m->nv; d++) {
    a->z[d] = -a->z[d] - (gq != NULL ? gq[d] : 0);
    if (p != NULL && p->opt_timestep != NULL) p->opt_timestep[0] -= a->t[d] * a->o.joints.delta[d] / s->h;
  }
  tgi_joint_rotate(m, a->o.joints.delta, a->t, false, a->t);
  for (int d = 0; d < m->nv; d++) aq[d] -= a->t[d];
  TG_TRY_OUTCOME(tgi_coupling_solve(s, a->z));
  tgi_joint_rotate(m, a->o.joints.delta, a->z, false, a->zeta);
  return TG_OK;
}

static void twists(const tgSim *s, tgiAdjoint *a) {
  const tgModel *m = &s->m;
  tgi_sp_zero(a->Z);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(a->Z + 6 * b, a->Z + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(a->Z + 6 * b, a->z[d], s->end.S + 6 * d);
  }
  for (int i = 0; i < 6 * m->nbody; i++) a->back[i] = -a->Z[i];
}

// wrench of body b at old pose k: of c (w x R) Sigma on R_k and c m u on c_k, u = velocity of the centre of mass
static void old_wrench(const tgSim *s, int b, int k, const tgReal *Z, tgReal *out) {
  tgReal c = (k == 0 ? -2 : 1) / (s->h * s->h), Sigma[9], turned[9], G[9], u[3], x[3], y[3], t[3];
  const tgPose *old = tgi_old_pose(s, k);
  const tgReal *R = old->xmat + 9 * b;
  tgi_spread(s, b, Sigma);
  for (int i = 0; i < 3; i++) {
    tgi_m3_col(x, s->end.xmat + 9 * b, i);
    tgi_v3_cross(y, Z, x);
    for (int r = 0; r < 3; r++) turned[3 * r + i] = y[r];
  }
  tgi_m3_mul(G, turned, Sigma);
  tgi_sp_point_velocity(u, Z, s->end.xcom + 3 * b);
  tgi_v3_scale(u, u, c * s->m.body_mass[b]);
  tgi_sp_screw(out, old->xcom + 3 * b, u);
  for (int i = 0; i < 3; i++) {
    tgi_m3_col(x, R, i);
    tgi_m3_col(y, G, i);
    tgi_v3_cross(t, x, y);
    tgi_v3_axpy(out, c, t);
  }
}

// old[0] += B' of the twists in back, by the terms' own B
static void add_mixed(const tgSim *s, tgiAdjoint *a) {
  for (int t = 0; t < s->nterm; t++) tgi_term_transposed(&s->term[t], s->term[t].B, a->back, a->old[0]);
}

static tgStatus old_wrenches(tgSim *s, bool by_terms, tgiAdjoint *a) {
  const tgModel *m = &s->m;
  const tgLaw *law = s->contact_model->kind->law;
  for (int i = 0; i < 6 * m->nbody; i++) a->old[0][i] = a->old[1][i] = 0;
  for (int b = 1; b < m->nbody; b++)
    for (int i = 0; i < 2 && m->body_lastdof[b] >= 0; i++) old_wrench(s, b, i, a->Z + 6 * b, a->old[i] + 6 * b);
  if (by_terms) {
    if (tgi_minimise_own(s)->mixed) add_mixed(s, a);
    return TG_OK;
  }
  return law->start_vjp != NULL ? law->start_vjp(s, &s->end, a->back, a->old[0]) : TG_OK;
}

// t (nv) = S' of the wrenches summed over subtrees, at the old frames k; the wrenches stay
static tgStatus to_dofs(tgSim *s, int k, const tgReal *wrench, tgReal *t) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (sum == NULL) return tgi_no_room(s, "adjoint");
  for (int i = 0; i < 6 * m->nbody; i++) sum[i] = wrench[i];
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(sum + 6 * m->body_parent[b], 1, sum + 6 * b);
  for (int d = 0; d < m->nv; d++) t[d] = tgi_sp_dot(tgi_old_pose(s, k)->S + 6 * d, sum + 6 * m->dof_body[d]);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus bodies(tgSim *s, bool by_terms, tgiAdjoint *a, tgReal *aq, tgReal *av, tgParamGrad *p) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *gw = tgi_stack_real(s, (size_t)m->nv);
  if (w == NULL || gw == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(old_wrenches(s, by_terms, a));
  TG_TRY(to_dofs(s, 0, a->old[0], a->t));
  for (int d = 0; d < m->nv; d++) {
    aq[d] += a->t[d];
    w[d] = -s->h * s->start.vel[d];
    gw[d] = 0;
  }
  TG_TRY(to_dofs(s, 1, a->old[1], a->t));
  tgi_integrate_vjp(m, w, a->t, aq, gw);
  for (int d = 0; d < m->nv; d++) {
    av[d] -= s->h * gw[d];
    if (p != NULL && p->opt_timestep != NULL) p->opt_timestep[0] -= s->start.vel[d] * gw[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// by_terms: what contacts have of the start is that of the terms' B, as in what the gradient is added to
static tgStatus implicit_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, bool by_terms, tgReal *aq, tgReal *av, tgReal *du,
                             tgParamGrad *p, int *clamps) {
  tgiAdjoint a;
  if (!take(s, &a)) return tgi_no_room(s, "adjoint");
  tgi_joint_slopes(s, &s->end, &a.o.joints);
  TG_TRY_OUTCOME(multiplier(s, gq, gv, &a, aq, p));
  twists(s, &a);
  TG_TRY(bodies(s, by_terms, &a, aq, av, p));
  TG_TRY(tgi_joint_start_vjp(s, &s->end, &a.o.joints, a.z, a.zeta, a.t, aq, av, du, clamps));
  return p != NULL ? tgi_minimise_parameters(s, &a, p) : TG_OK;
}

tgStatus tgi_minimise_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = implicit_vjp(s, gq, gv, false, aq, av, du, p, clamps);
  tgi_stack_free(s, mark);
  return status;
}

// Contacts are told of the end: forces there by the poses at both ends, and what the step has of the end.
static tgStatus touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv, n = 6 * (size_t)m->nbody;
  tgReal *seed = tgi_stack_real(s, 12 * (size_t)s->nterm + 1), *now = tgi_stack_real(s, n), *then = tgi_stack_real(s, n),
         *Z = tgi_stack_real(s, n), *gq = tgi_stack_real(s, nv + 1);
  if (seed == NULL || now == NULL || then == NULL || Z == NULL || gq == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(tgi_law_seeds(s, g, seed));
  TG_TRY(tgi_minimise_mixed(s));
  for (size_t i = 0; i < n; i++) now[i] = then[i] = 0;
  for (int t = 0; t < s->nterm; t++) {
    tgi_term_seed(&s->term[t], s->term[t].X, seed + 12 * t, now);
    if (tgi_minimise_own(s)->mixed) tgi_term_seed(&s->term[t], s->term[t].B, seed + 12 * t, then);
  }
  if (p != NULL) {
    TG_TRY(tgi_law_seeds_parameters(s, &s->end, seed, Z, p));
    tgi_law_planes_parameters(s, &s->end, g, p);
    for (int b = 1; b < m->nbody && p->places; b++) tgi_param_pose(p, b, now + 6 * b);
    if (p->places) tgi_place_vjp(s, &s->end, p, NULL);
    for (int b = 1; b < m->nbody && p->places; b++) tgi_param_pose(p, b, then + 6 * b);
    if (p->places) tgi_place_vjp(s, &s->start, p, NULL);
  }
  TG_TRY(to_dofs(s, 0, then, gq));
  for (size_t d = 0; d < nv; d++) aq[d] += gq[d];
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(now + 6 * m->body_parent[b], 1, now + 6 * b);
  for (int d = 0; d < m->nv; d++) gq[d] = tgi_sp_dot(s->end.S + 6 * d, now + 6 * m->dof_body[d]);
  // what the step has of the start nearly cancels `then`: round-off of the gap, of which two ways to B have different parts, would be left
  return implicit_vjp(s, gq, NULL, true, aq, av, du, p, clamps);
}

tgStatus tgi_minimise_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = touches_vjp(s, g, aq, av, du, p, clamps);
  tgi_stack_free(s, mark);
  return status;
}
