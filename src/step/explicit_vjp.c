// explicit_vjp.c: the adjoint of a step of an explicit law, exact, stage by stage backwards. Shares no derivative code
// with explicit_jacobian.c beyond the contact forces' own X and Y.
//
// Based on: [math/softmin Gradient]. With lambda = Mh^-1 abar of a stage,
//   lambda . [tau + joints - ID(q, v, a) + J' f]   is what its state, controls and parameters move;
//   contact: with twists Z = J lambda held, fX = X'Z and fY = Y'Z on the bodies, the latter against dV = J dv + (dJ) v:
//   gq_d += S_d . sum (fX + (V - Vp_d) x* fY),   gv_d += S_d . sum fY,   sums over all that d moves.
#include "contact/touch_law.h"
#include "dyn/dynamics.h"
#include "step/explicit.h"
#include "step/step.h"

typedef struct Out { tgReal *gq, *gv, *gu; tgParamGrad *p; int *clamps; } Out;

// fX += X' Z, and of one whose force goes by velocities fY += Y' Z, of a pair
static void pair_vjp(const tgPairTerm *f, bool moves, const tgReal *Z, tgReal *fX, tgReal *fY) {
  tgi_term_transposed(f, f->X, Z, fX);
  if (moves) tgi_term_transposed(f, f->Y, Z, fY);
}

// fX and fY of all bodies to where they go, at the pose; both become sums over subtrees
static void close_pairs(const tgSim *s, const tgPose *pose, tgReal *fX, tgReal *fY, const Out *o) {
  const tgModel *m = &s->m;
  tgReal t[6];
  for (int b = m->nbody - 1; b > 0; b--) {
    tgi_sp_cross_f(t, pose->V + 6 * b, fY + 6 * b);
    tgi_sp_axpy(fX + 6 * b, 1, t);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) {
      tgi_sp_cross_f(t, pose->Vp + 6 * d, fY + 6 * b);
      o->gq[d] += tgi_sp_dot(pose->S + 6 * d, fX + 6 * b) - tgi_sp_dot(pose->S + 6 * d, t);
      o->gv[d] += tgi_sp_dot(pose->S + 6 * d, fY + 6 * b);
      if (o->p == NULL) continue;
      for (int i = 0; i < 6; i++) t[i] = pose->vel[d] * fY[6 * b + i];
      tgi_param_axis(o->p, d, t);
    }
    tgi_sp_axpy(fX + 6 * m->body_parent[b], 1, fX + 6 * b);
    tgi_sp_axpy(fY + 6 * m->body_parent[b], 1, fY + 6 * b);
  }
}

// forces of pairs of bodies, contacts, connects and welds, of the stage at hand
static tgStatus pairs_vjp(tgSim *s, const tgPose *pose, const tgReal *lambda, const Out *o) {
  const tgModel *m = &s->m;
  bool moves = (s->contact_model->kind->law->has & TG_LAW_VELOCITY) != 0;
  size_t mark = tgi_stack_mark(s), n = 6 * (size_t)m->nbody;
  tgReal *Z = tgi_stack_real(s, n), *fX = tgi_stack_real(s, n), *fY = tgi_stack_real(s, n);
  if (Z == NULL || fX == NULL || fY == NULL) return tgi_no_room(s, "adjoint");
  for (size_t i = 0; i < n; i++) Z[i] = fX[i] = fY[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(Z + 6 * b, Z + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(Z + 6 * b, lambda[d], pose->S + 6 * d);
  }
  for (int i = 0; i < s->nterm; i++) pair_vjp(&s->term[i], moves, Z, fX, fY);
  for (int e = 0; e < m->neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(m, e)) continue;
    tgi_bond_force(s, pose, e, &bond);
    pair_vjp(&bond, true, Z, fX, fY);
    if (o->p != NULL) tgi_bond_force_parameters(s, pose, e, Z + 6 * bond.body1, Z + 6 * bond.body2, o->p);
  }
  if (o->p != NULL) {
    TG_TRY(s->contact_model->kind->law->parameters(s, pose, Z, -1, o->p));
    for (int b = 1; b < m->nbody; b++) tgi_param_pose(o->p, b, fX + 6 * b);
  }
  close_pairs(s, pose, fX, fY, o);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Contacts are told of the start of the step: their forces there.
static tgStatus touches_vjp(tgSim *s, const tgiTouchGrad *g, const Out *o) {
  const tgModel *m = &s->m;
  size_t n = 6 * (size_t)m->nbody;
  tgReal *seed = tgi_stack_real(s, 12 * (size_t)s->nterm + 1), *fX = tgi_stack_real(s, n), *fY = tgi_stack_real(s, n),
         *Z = tgi_stack_real(s, n);
  if (seed == NULL || fX == NULL || fY == NULL || Z == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(tgi_law_seeds(s, g, seed));
  TG_TRY(tgi_explicit_stage(s, 0, true));
  for (size_t i = 0; i < n; i++) fX[i] = fY[i] = 0;
  for (int t = 0; t < s->nterm; t++) {
    tgi_term_seed(&s->term[t], s->term[t].X, seed + 12 * t, fX);
    if (s->contact_model->kind->law->has & TG_LAW_VELOCITY) tgi_term_seed(&s->term[t], s->term[t].Y, seed + 12 * t, fY);
  }
  if (o->p != NULL) {
    TG_TRY(tgi_law_seeds_parameters(s, &s->start, seed, Z, o->p));
    tgi_law_planes_parameters(s, &s->start, g, o->p);
    for (int b = 1; b < m->nbody; b++) tgi_param_pose(o->p, b, fX + 6 * b);
  }
  close_pairs(s, &s->start, fX, fY, o);
  if (o->p != NULL) tgi_place_vjp(s, &s->start, o->p, NULL);
  return TG_OK;
}

tgStatus tgi_explicit_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  Out o = {.gq = aq, .gv = av, .gu = du, .p = p, .clamps = clamps};
  tgStatus status = touches_vjp(s, g, &o);
  tgi_stack_free(s, mark);
  return status;
}

// what is taken at the step's end: -lambda . ((h D + h^2 K) a + h K v)
static void implicit_vjp(const tgSim *s, const tgReal *v, const tgReal *a, const tgReal *lambda, const Out *o) {
  const tgModel *m = &s->m;
  double h = s->h;
  for (int d = 0; d < m->nv; d++) {
    tgReal K = m->jnt_stiffness[m->dof_jnt[d]];
    o->gv[d] -= h * K * lambda[d];
    if (o->p == NULL) continue;
    if (o->p->dof_damping != NULL) o->p->dof_damping[d] -= h * lambda[d] * a[d];
    if (o->p->jnt_stiffness != NULL) o->p->jnt_stiffness[m->dof_jnt[d]] -= lambda[d] * h * (h * a[d] + v[d]);
    if (o->p->opt_timestep != NULL) o->p->opt_timestep[0] -= lambda[d] * ((m->dof_damping[d] + 2 * h * K) * a[d] + K * v[d]);
  }
}

// of a_i of stage i: abar (nv) is spoilt
static tgStatus stage_vjp(tgSim *s, int i, tgReal *abar, const Out *o) {
  const tgModel *m = &s->m;
  const tgPose *pose = tgi_explicit_pose(s, i);
  const tgReal *v = tgi_explicit_own(s)->stage_v + i * m->nv, *a = tgi_explicit_own(s)->stage_a + i * m->nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody), *w = tgi_stack_real(s, (size_t)m->nv);
  if (wrench == NULL || w == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(tgi_explicit_stage(s, i, true));
  tgi_factor_solve(m, s->L, abar);
  tgi_explicit_wrenches(s, pose, wrench);
  for (int d = 0; d < m->nv; d++) w[d] = -abar[d];
  TG_TRY(tgi_inverse_vjp(s, pose, a, wrench, w, o->gq, o->gv, o->p));
  TG_TRY(tgi_forces_vjp(s, pose, NULL, abar, o->gq, o->gv, o->gu, o->p, o->clamps));
  tgi_joint_forces_vjp(s, pose, v, abar, o->gq, o->gv, o->p);
  TG_TRY(pairs_vjp(s, pose, abar, o));
  if (tgi_explicit_implicit_damping(s)) implicit_vjp(s, v, a, abar, o);
  if (o->p != NULL) tgi_place_vjp(s, pose, o->p, NULL);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static void add_h(const Out *o, tgReal x) {
  if (o->p != NULL && o->p->opt_timestep != NULL) o->p->opt_timestep[0] += x;
}

// x . y
static tgReal dot(int n, const tgReal *x, const tgReal *y) {
  tgReal sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

typedef struct Bars { tgReal *w, *v, *a, *end_w, *end_v, *rate, *next_a, *next_rate, *q; } Bars;

static bool take(tgSim *s, Bars *b) {
  size_t n = (size_t)s->m.nv;
  tgReal *all = tgi_stack_real(s, 9 * n);
  if (all == NULL) return false;
  for (size_t i = 0; i < 9 * n; i++) all[i] = 0;
  *b = (Bars){all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, all + 5 * n, all + 6 * n, all + 7 * n, all + 8 * n};
  return true;
}

// stage i, with what the end of the step (share) and the stage after it (at_next) take of its rates
static tgStatus back(tgSim *s, int i, const tgiTableau *t, Bars *b, Out *o, tgReal *gq, tgReal *gv) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  double h = s->h, at_next = i + 1 < t->n ? t->at[i + 1] : 0;
  const tgReal *w = tgi_explicit_own(s)->stage_w + i * nv, *v = tgi_explicit_own(s)->stage_v + i * nv,
               *a = tgi_explicit_own(s)->stage_a + i * nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *rate = tgi_stack_real(s, (size_t)nv);
  if (rate == NULL) return tgi_no_room(s, "adjoint");
  tgi_explicit_rate(m, w, v, rate);
  for (int d = 0; d < nv; d++) {
    b->rate[d] = h * (t->share[i] * b->end_w[d] + at_next * b->next_rate[d]);
    b->a[d] = h * (t->share[i] * b->end_v[d] + at_next * b->next_a[d]);
    b->w[d] = b->v[d] = b->q[d] = 0;
  }
  add_h(o, t->share[i] * (dot(nv, rate, b->end_w) + dot(nv, a, b->end_v)) +
        at_next * (dot(nv, rate, b->next_rate) + dot(nv, a, b->next_a)));
  tgi_explicit_rate_vjp(m, w, v, b->rate, b->w, b->v);
  o->gq = b->q;
  o->gv = b->v;
  TG_TRY(stage_vjp(s, i, b->a, o));
  tgi_integrate_vjp(m, w, b->q, gq, b->w);
  for (int d = 0; d < nv; d++) {
    gv[d] += b->v[d];
    // of this stage's own w and v, which the stage before makes
    b->next_rate[d] = b->w[d];
    b->next_a[d] = b->v[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus force_vjp(tgSim *s, const tgReal *xq, const tgReal *xv, tgReal *gq, tgReal *gv, Out *o) {
  const tgModel *m = &s->m;
  const tgiTableau *t = tgi_explicit_tableau(s);
  int nv = m->nv;
  Bars b;
  if (!take(s, &b)) return tgi_no_room(s, "adjoint");
  TG_TRY(s->contact_model->kind->law->begin(s, s->h));
  for (int d = 0; d < nv; d++) b.end_v[d] = xv != NULL ? xv[d] : 0;
  if (xq != NULL) tgi_integrate_vjp(m, tgi_explicit_own(s)->step_w, xq, gq, b.end_w);
  if (tgi_explicit_symplectic(s)) {
    add_h(o, dot(nv, s->end.vel, b.end_w));
    for (int d = 0; d < nv; d++) {
      b.end_v[d] += s->h * b.end_w[d];
      b.end_w[d] = 0;
    }
  }
  for (int d = 0; d < nv; d++) gv[d] += b.end_v[d];
  for (int i = t->n - 1; i >= 0; i--) TG_TRY(back(s, i, t, &b, o, gq, gv));
  return TG_OK;
}

tgStatus tgi_explicit_vjp(tgSim *s, const tgReal *xq, const tgReal *xv, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  Out o = {.gu = gu, .p = p, .clamps = clamps};
  tgStatus status = force_vjp(s, xq, xv, gq, gv, &o);
  if (status == TG_ERR_CAPACITY) tgi_no_room(s, "adjoint");
  tgi_stack_free(s, mark);
  return status;
}
