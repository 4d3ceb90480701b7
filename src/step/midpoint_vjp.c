// midpoint_vjp.c: the adjoint of a step, exact. Shares no derivative code with midpoint_jacobian.c beyond the contact forces' own.
//
// Based on: [math/damped Gradient]. With y = F_V^-T (h Jr(h V)' gq + (1 + r) gv), what -y . F has in its poses, the velocity before it,
// controls and parameters; the poses go back to q by exp(-h V/2)' and exp(-h V)'.
//   pairs: with twists Z = J y held, fX = X'Z, fY = Y'Z against velocities V_b = sum S_d V_d, fB = B'Z and fE = E'Z on the bodies at the
//   start and the end; and S_d of Z itself turns with the frames before it, (S_d x (Z_b - Zp_d)) . w_b.
#include <string.h>

#include "contact/touch_law.h"
#include "dyn/dynamics.h"
#include "step/midpoint.h"
#include "step/step.h"

// where things go: gradients in the tangents of the three poses
typedef struct Out { tgReal *start, *middle, *end, *av, *du; tgParamGrad *p; int *clamps; } Out;

// Z (nbody x 6) and Zp (nv x 6), the twist before each dof's group, of y at the pose
static void twists(const tgSim *s, const tgPose *pose, const tgReal *y, tgReal *Z, tgReal *Zp) {
  const tgModel *m = &s->m;
  tgi_sp_zero(Z);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(Z + 6 * b, Z + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) {
      tgi_sp_copy(Zp + 6 * d, m->dof_grpadr[d] == d ? Z + 6 * b : Zp + 6 * m->dof_grpadr[d]);
      tgi_sp_axpy(Z + 6 * b, y[d], pose->S + 6 * d);
    }
  }
}

static void sum_subtrees(const tgModel *m, tgReal *f) {
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(f + 6 * m->body_parent[b], 1, f + 6 * b);
}

// what pairs at a pose leave on the bodies; wrench: of the pairs themselves
typedef struct Load { tgReal *Z, *Zp, *fX, *fY, *wrench; } Load;

static bool take(tgSim *s, Load *k) {
  size_t n = 6 * (size_t)s->m.nbody;
  tgReal *all = tgi_stack_real(s, 4 * n + 6 * (size_t)s->m.nv);
  if (all == NULL) return false;
  for (size_t i = 0; i < 4 * n + 6 * (size_t)s->m.nv; i++) all[i] = 0;
  *k = (Load){all, all + 4 * n, all + n, all + 2 * n, all + 3 * n};
  return true;
}

// into the tangents gq of the pose where the pairs act: fX, the turn of velocities by fY, and that of Z by the wrench
static void close_pose(const tgSim *s, const tgPose *pose, const tgReal *y, Load *k, tgReal *gq, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal t[6];
  if (p != NULL)
    for (int b = 1; b < m->nbody; b++) tgi_param_pose(p, b, k->fX + 6 * b);
  for (int b = m->nbody - 1; b > 0; b--) {
    tgi_sp_cross_f(t, pose->V + 6 * b, k->fY + 6 * b);
    tgi_sp_axpy(k->fX + 6 * b, 1, t);
    tgi_sp_cross_f(t, k->Z + 6 * b, k->wrench + 6 * b);
    tgi_sp_axpy(k->fX + 6 * b, 1, t);
  }
  sum_subtrees(m, k->fX);
  sum_subtrees(m, k->fY);
  sum_subtrees(m, k->wrench);
  for (int d = 0; d < m->nv; d++) {
    const tgReal *S = pose->S + 6 * d, *fX = k->fX + 6 * m->dof_body[d], *fY = k->fY + 6 * m->dof_body[d],
                 *w = k->wrench + 6 * m->dof_body[d];
    gq[d] += tgi_sp_dot(S, fX);
    tgi_sp_cross_f(t, pose->Vp + 6 * d, fY);
    gq[d] -= tgi_sp_dot(S, t);
    tgi_sp_cross_f(t, k->Zp + 6 * d, w);
    gq[d] -= tgi_sp_dot(S, t);
    if (p == NULL) continue;
    for (int i = 0; i < 6; i++) t[i] = pose->vel[d] * fY[i] + y[d] * w[i];
    tgi_param_axis(p, d, t);
  }
}

// what the law costs at the start or the end of the step
static void other_pose(tgSim *s, const tgPose *pose, bool end, const tgReal *Z, tgReal *f, tgReal *gq, tgParamGrad *p) {
  const tgModel *m = &s->m;
  if (!(s->contact_model->kind->law->has & TG_LAW_STEP)) return;
  for (int i = 0; i < 6 * m->nbody; i++) f[i] = 0;
  for (int i = 0; i < s->nterm; i++) tgi_term_transposed(&s->term[i], end ? s->term[i].E : s->term[i].B, Z, f);
  for (int b = 1; b < m->nbody && p != NULL; b++) tgi_param_pose(p, b, f + 6 * b);
  sum_subtrees(m, f);
  for (int d = 0; d < m->nv; d++) gq[d] += tgi_sp_dot(pose->S + 6 * d, f + 6 * m->dof_body[d]);
}

// contact forces; what of them stands at the start and at the end is left in Z for later
static tgStatus contacts(tgSim *s, const tgReal *y, Load *k, const Out *o) {
  const tgPose *middle = tgi_midpoint_middle(s);
  bool moves = (s->contact_model->kind->law->has & TG_LAW_VELOCITY) != 0;
  twists(s, middle, y, k->Z, k->Zp);
  for (int i = 0; i < s->nterm; i++) {
    tgi_term_transposed(&s->term[i], s->term[i].X, k->Z, k->fX);
    if (moves) tgi_term_transposed(&s->term[i], s->term[i].Y, k->Z, k->fY);
  }
  tgi_midpoint_contact_wrenches(s, k->wrench);
  if (o->p != NULL) TG_TRY(s->contact_model->kind->law->parameters(s, middle, k->Z, -1, o->p));
  close_pose(s, middle, y, k, o->middle, o->p);
  return TG_OK;
}

static tgStatus bonds(tgSim *s, const tgReal *y, tgReal *gq, const Out *o) {
  const tgPose *pose = tgi_midpoint_forces(s);
  size_t mark = tgi_stack_mark(s);
  Load k;
  bool any = false;
  for (int e = 0; e < s->m.neq; e++) any = any || tgi_is_bound(&s->m, e);
  if (!any) return TG_OK;
  if (!take(s, &k)) return tgi_no_room(s, "adjoint");
  twists(s, pose, y, k.Z, k.Zp);
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_force(s, pose, e, &bond);
    tgi_term_transposed(&bond, bond.X, k.Z, k.fX);
    tgi_term_transposed(&bond, bond.Y, k.Z, k.fY);
    if (o->p != NULL) tgi_bond_force_parameters(s, pose, e, k.Z + 6 * bond.body1, k.Z + 6 * bond.body2, o->p);
  }
  tgi_midpoint_bond_wrenches(s, k.wrench);
  close_pose(s, pose, y, &k, gq, o->p);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static void add_h(const Out *o, tgReal x) {
  if (o->p != NULL && o->p->opt_timestep != NULL) o->p->opt_timestep[0] += x;
}

// -y . ID, whose acceleration is (1 + r) (V - v)/h; w, gv: work, nv
static tgStatus inertia(tgSim *s, const tgReal *y, tgReal *w, tgReal *gv, tgReal *gq, const Out *o) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  double by = (1 + tgi_midpoint_reflection(s)) / s->h;
  for (int d = 0; d < m->nv; d++) {
    w[d] = -y[d];
    gv[d] = 0;
  }
  TG_TRY(tgi_inverse_vjp(s, tgi_midpoint_inertia(s), own->mean_acc, NULL, w, gq, gv, o->p));
  for (int d = 0; d < m->nv; d++) {
    tgReal My = 0;
    for (int j = m->dof_tree[2 * d]; j < m->dof_tree[2 * d + 1]; j++) My += tgi_block_row(m, s->M, d)[j] * y[j];
    o->av[d] += by * My + (tgi_midpoint_symmetric(s) ? 0 : gv[d] / 2);
    add_h(o, own->mean_acc[d] / s->h * My);
  }
  return TG_OK;
}

// tangents at q (+) share h V back to q and h
static void to_start(tgSim *s, double share, const tgReal *g, tgReal *w, tgReal *gw, tgReal *aq, const Out *o) {
  const tgModel *m = &s->m;
  const tgReal *V = tgi_midpoint_own(s)->mean_vel;
  for (int d = 0; d < m->nv; d++) {
    w[d] = share * s->h * V[d];
    gw[d] = 0;
  }
  tgi_integrate_vjp(m, w, g, aq, gw);
  for (int d = 0; d < m->nv; d++) add_h(o, share * V[d] * gw[d]);
}

static void places(tgSim *s, const tgPose *pose, const Out *o) {
  if (o->p != NULL) tgi_place_vjp(s, pose, o->p, NULL);
}

static tgStatus implicit_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, Out *o) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *forces = tgi_midpoint_forces(s);
  bool symmetric = tgi_midpoint_symmetric(s);
  double r = tgi_midpoint_reflection(s);
  size_t nv = (size_t)m->nv;
  Load k;
  tgReal *all = tgi_stack_real(s, 10 * nv), *f = tgi_stack_real(s, 6 * (size_t)m->nbody), *Z = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (all == NULL || f == NULL || Z == NULL || !take(s, &k)) return tgi_no_room(s, "adjoint");
  for (size_t i = 0; i < 7 * nv; i++) all[i] = 0;
  tgReal *y = all, *w = all + nv, *gw = all + 2 * nv, *g = all + 3 * nv, *unused = all + 4 * nv;
  o->start = aq;
  o->middle = all + 5 * nv;
  o->end = all + 6 * nv;
  // y
  for (size_t d = 0; d < nv; d++) {
    g[d] = gq != NULL ? gq[d] : 0;
    w[d] = s->h * own->mean_vel[d];
  }
  tgi_integrate_vjp(m, w, g, NULL, gw);
  for (size_t d = 0; d < nv; d++) {
    y[d] = s->h * gw[d] + (gv != NULL ? (1 + r) * gv[d] : 0);
    if (gv != NULL) o->av[d] -= r * gv[d];
    o->end[d] = g[d];
  }
  TG_TRY_OUTCOME(tgi_midpoint_solve(s, true, y, all + 7 * nv));
  // the parts of -y . F, pose by pose
  tgReal *by_forces = symmetric ? o->middle : o->end;
  TG_TRY(contacts(s, y, &k, o));
  memcpy(Z, k.Z, 6 * (size_t)m->nbody * sizeof *Z);
  if (!symmetric) {
    places(s, &s->trial, o);
    TG_TRY(inertia(s, y, w, gw, o->start, o));
    places(s, &s->before, o);
  } else {
    TG_TRY(inertia(s, y, w, gw, o->middle, o));
  }
  TG_TRY(tgi_forces_vjp(s, forces, NULL, y, by_forces, unused, o->du, o->p, o->clamps));
  tgi_joint_forces_vjp(s, forces, own->mean_vel, y, by_forces, unused, o->p);
  TG_TRY(bonds(s, y, by_forces, o));
  places(s, forces, o);
  other_pose(s, &s->start, false, Z, f, o->start, o->p);
  places(s, &s->start, o);
  other_pose(s, &s->end, true, Z, f, o->end, o->p);
  places(s, &s->end, o);
  to_start(s, 0.5, o->middle, w, gw, aq, o);
  to_start(s, 1, o->end, w, gw, aq, o);
  return TG_OK;
}

tgStatus tgi_midpoint_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  Out o = {.av = av, .du = du, .p = p, .clamps = clamps};
  tgStatus status = implicit_vjp(s, gq, gv, aq, &o);
  if (status == TG_ERR_CAPACITY) tgi_no_room(s, "adjoint");
  tgi_stack_free(s, mark);
  return status;
}

// tangents at q (+) h V/2 back to q, V and h
static void middle_to_start(tgSim *s, const tgReal *g, tgReal *w, tgReal *gw, tgReal *aq, tgReal *gV, const Out *o) {
  const tgReal *V = tgi_midpoint_own(s)->mean_vel;
  for (int d = 0; d < s->m.nv; d++) {
    w[d] = 0.5 * s->h * V[d];
    gw[d] = 0;
  }
  tgi_integrate_vjp(&s->m, w, g, aq, gw);
  for (int d = 0; d < s->m.nv; d++) {
    gV[d] += 0.5 * s->h * gw[d];
    add_h(o, 0.5 * V[d] * gw[d]);
  }
}

// Contacts are told of the middle: what their forces have of the three poses and of the mean velocity V = (v' + r v)/(1 + r) goes to the
// start, and to the end of the step, which the step's adjoint takes from there.
static tgStatus touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, Out *o) {
  const tgModel *m = &s->m;
  const tgPose *middle = tgi_midpoint_middle(s);
  double r = tgi_midpoint_reflection(s);
  unsigned has = s->contact_model->kind->law->has;
  size_t nv = (size_t)m->nv, n = 6 * (size_t)m->nbody;
  Load k;
  tgReal *seed = tgi_stack_real(s, 12 * (size_t)s->nterm + 1), *all = tgi_stack_real(s, 6 * nv + 1), *f = tgi_stack_real(s, 3 * n);
  if (seed == NULL || all == NULL || f == NULL || !take(s, &k)) return tgi_no_room(s, "adjoint");
  for (size_t i = 0; i < 6 * nv; i++) all[i] = 0;
  for (size_t i = 0; i < 3 * n; i++) f[i] = 0;
  tgReal *gq = all, *gV = all + nv, *gm = all + 2 * nv, *none = all + 3 * nv, *w = all + 4 * nv, *gw = all + 5 * nv;
  TG_TRY(tgi_law_seeds(s, g, seed));
  for (int t = 0; t < s->nterm; t++) {
    const tgPairTerm *term = &s->term[t];
    tgi_term_seed(term, term->X, seed + 12 * t, k.fX);
    if (has & TG_LAW_VELOCITY) tgi_term_seed(term, term->Y, seed + 12 * t, k.fY);
    if (has & TG_LAW_STEP) tgi_term_seed(term, term->B, seed + 12 * t, f);
    if (has & TG_LAW_STEP) tgi_term_seed(term, term->E, seed + 12 * t, f + n);
  }
  if (o->p != NULL) TG_TRY(tgi_law_seeds_parameters(s, middle, seed, f + 2 * n, o->p));
  if (o->p != NULL) tgi_law_planes_parameters(s, middle, g, o->p);
  close_pose(s, middle, none, &k, gm, o->p);   // without a turn of twists: the seeds are held
  for (size_t d = 0; d < nv; d++) gV[d] = tgi_sp_dot(middle->S + 6 * d, k.fY + 6 * m->dof_body[d]);
  places(s, middle, o);
  for (int end = 0; end < 2; end++) {
    const tgPose *pose = end ? &s->end : &s->start;
    for (int b = 1; b < m->nbody && o->p != NULL; b++) tgi_param_pose(o->p, b, f + (size_t)end * n + 6 * b);
    sum_subtrees(m, f + (size_t)end * n);
    for (int d = 0; d < m->nv; d++) (end ? gq : aq)[d] += tgi_sp_dot(pose->S + 6 * d, f + (size_t)end * n + 6 * m->dof_body[d]);
    places(s, pose, o);
  }
  middle_to_start(s, gm, w, gw, aq, gV, o);
  for (size_t d = 0; d < nv; d++) {
    o->av[d] += r / (1 + r) * gV[d];
    gV[d] /= 1 + r;
  }
  return implicit_vjp(s, gq, gV, aq, o);
}

tgStatus tgi_midpoint_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  Out o = {.av = av, .du = du, .p = p, .clamps = clamps};
  tgStatus status = touches_vjp(s, g, aq, &o);
  if (status == TG_ERR_CAPACITY) tgi_no_room(s, "adjoint");
  tgi_stack_free(s, mark);
  return status;
}
