// explicit_jacobian.c: the dense derivative of a step of an explicit law, forward, stage by stage.
//
// Based on: [math/softmin Gradient]. Of a stage, with ID the inverse dynamics under the contact wrenches held in the world,
//   Mh da = dtau + djoints - dID + J' dw,   dw = X dxi + Y dV,   dxi_b = S_d, dV_b = S_d x (V_b - Vp_d) for dq_d and S_d for dv_d.
#include <string.h>

#include "dyn/dynamics.h"
#include "step/explicit.h"
#include "step/step.h"

// column d of dw of a pair, 12 numbers: x += M[:, side] y
static void mul(const tgReal *M, int side, const tgReal *y, tgReal *x) {
  for (int r = 0; r < 12; r++)
    for (int k = 0; k < 6; k++) x[r] += M[12 * r + 6 * side + k] * y[k];
}

// D[:, d] += J' dw
static void add_rows(const tgSim *s, const tgPose *pose, const tgPairTerm *f, const tgReal *dw, int d, tgReal *D) {
  const tgModel *m = &s->m;
  for (int side = 0; side < 2; side++)
    for (int i = m->body_lastdof[side == 0 ? f->body1 : f->body2]; i >= 0; i = m->dof_parent[i])
      D[i * m->nv + d] += tgi_sp_dot(pose->S + 6 * i, dw + 6 * side);
}

static void add_pair(const tgSim *s, const tgPose *pose, const tgPairTerm *f, bool moves, tgReal *Dq, tgReal *Dv) {
  const tgModel *m = &s->m;
  const int body[2] = {f->body1, f->body2};
  for (int first = 0; first < 2; first++)
    for (int d = m->body_lastdof[body[first]]; d >= 0; d = m->dof_parent[d]) {
      tgReal dq[12] = {0}, dv[12] = {0}, U[6], t[6];
      const tgReal *S = pose->S + 6 * d;
      // what moves both bodies has its column from the first
      if (first == 1 && tgi_dof_moves(m, d, body[0])) continue;
      for (int side = first; side < 2; side++) {
        if (side != first && !tgi_dof_moves(m, d, body[side])) continue;
        tgi_sp_sub(U, pose->V + 6 * body[side], pose->Vp + 6 * d);
        tgi_sp_cross_m(t, S, U);
        mul(f->X, side, S, dq);
        if (!moves) continue;
        mul(f->Y, side, t, dq);
        mul(f->Y, side, S, dv);
      }
      add_rows(s, pose, f, dq, d, Dq);
      add_rows(s, pose, f, dv, d, Dv);
    }
}

// A (nv x (2 nv + nu)) = da/d(q_i, v_i, u) of stage i
static tgStatus stage_jacobian(tgSim *s, int i, tgReal *A, int *clamps) {
  const tgModel *m = &s->m;
  const tgPose *pose = tgi_explicit_pose(s, i);
  int nv = m->nv, nu = m->nu, nc = 2 * nv + nu;
  const tgReal *v = tgi_explicit_own(s)->stage_v + i * nv, *a = tgi_explicit_own(s)->stage_a + i * nv;
  size_t mark = tgi_stack_mark(s), nn = (size_t)nv * (size_t)nv;
  tgReal *Dq = tgi_stack_real(s, nn), *Dv = tgi_stack_real(s, nn), *Fq = tgi_stack_real(s, nn), *Fv = tgi_stack_real(s, nn),
         *Fu = tgi_stack_real(s, (size_t)nv * (size_t)nu + 1), *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (Dq == NULL || Dv == NULL || Fq == NULL || Fv == NULL || Fu == NULL || wrench == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(tgi_explicit_stage(s, i, true));
  tgi_explicit_wrenches(s, pose, wrench);
  TG_TRY(tgi_inverse_d(s, pose, a, wrench, Dq, Dv));
  TG_TRY(tgi_forces_d(s, pose, Fq, Fv, Fu, clamps));
  for (size_t k = 0; k < nn; k++) {
    Fq[k] -= Dq[k];
    Fv[k] -= Dv[k];
  }
  tgi_joint_forces_d(s, pose, v, Fq, Fv);
  bool moves = (s->contact_model->kind->law->has & TG_LAW_VELOCITY) != 0;
  for (int k = 0; k < s->nterm; k++) add_pair(s, pose, &s->term[k], moves, Fq, Fv);
  for (int e = 0; e < m->neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(m, e)) continue;
    tgi_bond_force(s, pose, e, &bond);
    add_pair(s, pose, &bond, true, Fq, Fv);
  }
  for (int d = 0; d < nv && tgi_explicit_implicit_damping(s); d++) Fv[d * nv + d] -= s->h * m->jnt_stiffness[m->dof_jnt[d]];
  for (int d = 0; d < nv; d++) {
    memcpy(A + d * nc, Fq + d * nv, (size_t)nv * sizeof *A);
    memcpy(A + d * nc + nv, Fv + d * nv, (size_t)nv * sizeof *A);
    memcpy(A + d * nc + 2 * nv, Fu + d * nu, (size_t)nu * sizeof *A);
  }
  tgi_factor_solve_rows(m, s->L, nc, A);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// matrices nv x nc of the stages: of w, v, q, a, and of the rate; sums of a and rate at the step's end
typedef struct Columns { tgReal *w, *v, *q, *a, *rate, *one, *A; } Columns;

static bool take(tgSim *s, size_t size, Columns *c) {
  tgReal *all = tgi_stack_real(s, 7 * size);
  if (all == NULL) return false;
  *c = (Columns){all, all + size, all + 2 * size, all + 3 * size, all + 4 * size, all + 5 * size, all + 6 * size};
  return true;
}

// X = A (Q; V; 1)
static void chain(int nv, int nu, const tgReal *A, const tgReal *Q, const tgReal *V, tgReal *X) {
  int nc = 2 * nv + nu;
  for (int d = 0; d < nv; d++) {
    tgReal *x = X + d * nc;
    for (int c = 0; c < nc; c++) x[c] = c >= 2 * nv ? A[d * nc + c] : 0;
    for (int k = 0; k < nv; k++) {
      tgReal aq = A[d * nc + k], av = A[d * nc + nv + k];
      for (int c = 0; c < nc; c++) x[c] += aq * Q[k * nc + c] + av * V[k * nc + c];
    }
  }
}

// stage i: a and rate in the columns, from its w and v
static tgStatus stage(tgSim *s, int i, Columns *c, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv, nc = 2 * nv + m->nu;
  const tgReal *w = tgi_explicit_own(s)->stage_w + i * nv, *v = tgi_explicit_own(s)->stage_v + i * nv;
  TG_TRY(stage_jacobian(s, i, c->A, clamps));
  tgi_integrate_jacobian(m, w, nc, c->one, c->w, c->q);
  chain(nv, m->nu, c->A, c->q, c->v, c->a);
  tgi_explicit_rate_jacobian(m, w, v, nc, c->w, c->v, c->rate);
  return TG_OK;
}

static tgStatus force_jacobian(tgSim *s, tgReal *D, int *clamps) {
  const tgModel *m = &s->m;
  const tgiTableau *t = tgi_explicit_tableau(s);
  int nv = m->nv, nc = 2 * nv + m->nu;
  size_t size = (size_t)nv * (size_t)nc;
  double h = s->h;
  Columns c;
  tgReal *Dv = D + size, *W = tgi_stack_real(s, size);
  if (W == NULL || !take(s, size, &c)) return tgi_no_room(s, "Jacobian");
  TG_TRY(s->contact_model->kind->law->begin(s, s->h));
  for (size_t k = 0; k < size; k++) {
    int row = (int)(k / (size_t)nc), column = (int)(k % (size_t)nc);
    c.one[k] = column == row;
    Dv[k] = c.v[k] = column == nv + row;
    c.w[k] = W[k] = 0;
  }
  for (int i = 0; i < t->n; i++) {
    double next = i + 1 < t->n ? h * t->at[i + 1] : 0;
    TG_TRY(stage(s, i, &c, clamps));
    for (size_t k = 0; k < size; k++) {
      Dv[k] += h * t->share[i] * c.a[k];
      W[k] += h * t->share[i] * c.rate[k];
      c.w[k] = next * c.rate[k];
      c.v[k] = ((int)(k % (size_t)nc) == nv + (int)(k / (size_t)nc)) + next * c.a[k];
    }
  }
  for (size_t k = 0; k < size && tgi_explicit_symplectic(s); k++) W[k] = h * Dv[k];
  tgi_integrate_jacobian(m, tgi_explicit_own(s)->step_w, nc, c.one, W, D);
  return TG_OK;
}

tgStatus tgi_explicit_jacobian(tgSim *s, tgReal *D, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = force_jacobian(s, D, clamps);
  if (status >= 0 && tgi_explicit_tableau(s)->n > 1) status = tgi_explicit_stage(s, 0, true);
  if (status == TG_ERR_CAPACITY) tgi_no_room(s, "Jacobian");
  tgi_stack_free(s, mark);
  return status;
}
