// midpoint_residual.c: what a step's mean velocity is a root of, and its derivatives in poses and velocities. See midpoint.h.
//
// Based on: [math/damped Gradient]. A wrench w that stays as it is gives J' w the derivative (S_k x S_j) . w of row j in dof k, k on the
// way to the root of j or in its group.
#include <string.h>

#include "dyn/dynamics.h"
#include "step/midpoint.h"
#include "step/step.h"

static void add_wrenches(const tgPairTerm *t, tgReal *wrench) {
  tgi_sp_axpy(wrench + 6 * t->body1, 1, t->w);
  tgi_sp_axpy(wrench + 6 * t->body2, 1, t->w + 6);
}

void tgi_midpoint_contact_wrenches(const tgSim *s, tgReal *wrench) {
  for (int i = 0; i < 6 * s->m.nbody; i++) wrench[i] = 0;
  for (int i = 0; i < s->nterm; i++) add_wrenches(&s->term[i], wrench);
}

void tgi_midpoint_bond_wrenches(tgSim *s, tgReal *wrench) {
  for (int i = 0; i < 6 * s->m.nbody; i++) wrench[i] = 0;
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_force(s, tgi_midpoint_forces(s), e, &bond);
    add_wrenches(&bond, wrench);
  }
}

void tgi_midpoint_gather(const tgSim *s, const tgPose *pose, tgReal *wrench, tgReal sign, tgReal *out) {
  const tgModel *m = &s->m;
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * m->body_parent[b], 1, wrench + 6 * b);
  for (int d = 0; d < m->nv; d++) out[d] += sign * tgi_sp_dot(pose->S + 6 * d, wrench + 6 * m->dof_body[d]);
}

tgStatus tgi_midpoint_residual(tgSim *s) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  const tgPose *forces = tgi_midpoint_forces(s);
  size_t mark = tgi_stack_mark(s);
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody), *joints = tgi_stack_real(s, (size_t)m->nv);
  if (wrench == NULL || joints == NULL) return tgi_no_room(s, "equation");
  tgi_inverse(s, tgi_midpoint_inertia(s), own->mean_acc, NULL, own->residual);
  tgi_actuation(s, forces);
  tgi_passive(s, forces);
  for (int d = 0; d < m->nv; d++) {
    s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
    joints[d] = 0;
  }
  tgi_joint_forces(s, forces, own->mean_vel, joints);
  for (int d = 0; d < m->nv; d++) own->residual[d] -= s->tau[d] + joints[d];
  tgi_midpoint_contact_wrenches(s, wrench);
  tgi_midpoint_gather(s, tgi_midpoint_middle(s), wrench, -1, own->residual);
  tgi_midpoint_bond_wrenches(s, wrench);
  tgi_midpoint_gather(s, forces, wrench, -1, own->residual);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- derivatives ----

// What an entry is a derivative in.
typedef enum Where { START, MIDDLE, END, SPEED } Where;

// Where entries go: each to the matrix of its kind, dense; or, none of them given, all to F_V, by how the poses follow V.
typedef struct Into {
  tgSim *s;
  tgReal *part[4];
  tgiPatternBlock *last;     // of F_V
  const tgReal *follow[2];   // nv x 3: of the pose at the middle and of that at the end, blocks as of tgi_integrate_blocks
} Into;

static bool into_parts(const Into *o) { return o->part[SPEED] != NULL; }

static void put(const Into *o, Where at, int i, int j, tgReal x) {
  const tgModel *m = &o->s->m;
  if (into_parts(o)) {
    o->part[at][i * m->nv + j] += x;
    return;
  }
  tgReal *F = tgi_midpoint_own(o->s)->step_F;
  if (at == SPEED) tgi_midpoint_put(o->s, o->last, F, i, j, x);
  if (at == SPEED || at == START) return;
  const tgReal *by = o->follow[at == END] + 3 * j;
  int n = m->dof_grpnum[j] == 3 ? 3 : 1, first = n == 3 ? m->dof_grpadr[j] : j;
  for (int c = 0; c < n; c++) tgi_midpoint_put(o->s, o->last, F, i, first + c, by[c] * x);
}

// of forces at their pose, less
static void subtract_force(void *to, int i, int j, tgReal by_q, tgReal by_v) {
  const Into *o = to;
  Where at = tgi_midpoint_symmetric(o->s) ? MIDDLE : END;
  if (!into_parts(o) && o->s->m.dof_grpnum[j] != 3) {
    tgi_midpoint_put(o->s, o->last, tgi_midpoint_own(o->s)->step_F, i, j, -(by_v + o->follow[at == END][3 * j] * by_q));
    return;
  }
  put(o, at, i, j, -by_q);
  put(o, SPEED, i, j, -by_v);
}

// the same of the dofs of three slides each
static void subtract_block(void *to, int i, int j, const tgReal *by_q, const tgReal *by_v, int stride) {
  const Into *o = to;
  tgReal x[9];
  if (into_parts(o)) {
    for (int e = 0; e < 9; e++) subtract_force(to, i + e / 3, j + e % 3, by_q[stride * (e / 3) + e % 3], by_v[stride * (e / 3) + e % 3]);
    return;
  }
  const tgReal *by = o->follow[!tgi_midpoint_symmetric(o->s)] + 3 * j;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) x[3 * r + c] = -(by_v[stride * r + c] + by[3 * c] * by_q[stride * r + c]);
  tgi_midpoint_put_block(o->s, o->last, tgi_midpoint_own(o->s)->step_F, i, j, x);
}

// A matrix of one side of a pair times an axis: out (12) += M[:, side] x
static void mul(const tgReal *M, int side, const tgReal *x, tgReal *out) {
  for (int r = 0; r < 12; r++)
    for (int k = 0; k < 6; k++) out[r] += M[12 * r + 6 * side + k] * x[k];
}

// What dof d changes of a pair's wrenches (12) as it moves `side` at each of the poses, and by its speed; the pair acts at `pose`, which is
// `at`. Velocities change by a turn of the frames too, by S_d x (V_b - Vp_d).
static void change(const Into *o, const tgPose *pose, Where at, const tgPairTerm *t, unsigned has, int side, int d, tgReal w[4][12]) {
  const tgReal *S = pose->S + 6 * d;
  tgReal U[6];
  mul(t->X, side, S, w[at]);
  if (has & TG_LAW_VELOCITY) {
    mul(t->Y, side, S, w[SPEED]);
    tgi_sp_sub(U, pose->V + 6 * (side == 0 ? t->body1 : t->body2), pose->Vp + 6 * d);
    tgi_sp_cross_m(U, S, U);
    mul(t->Y, side, U, w[at]);
  }
  if (!(has & TG_LAW_STEP)) return;
  mul(t->E, side, o->s->end.S + 6 * d, w[END]);
  if (into_parts(o)) mul(t->B, side, o->s->start.S + 6 * d, w[START]);
}

// column d -= J' w at the pose
static void subtract_column(const Into *o, const tgPose *pose, const tgPairTerm *t, const tgReal *w, int d, Where at) {
  const tgModel *m = &o->s->m;
  for (int side = 0; side < 2; side++)
    for (int i = m->body_lastdof[side == 0 ? t->body1 : t->body2]; i >= 0; i = m->dof_parent[i])
      put(o, at, i, d, -tgi_sp_dot(pose->S + 6 * i, w + 6 * side));
}

// those of a group of n dofs into its columns of F_V
static void subtract_folded(const Into *o, const tgPose *pose, const tgPairTerm *t, tgReal w[3][4][12], int first, int n) {
  for (int c = 0; c < n; c++) {
    tgReal sum[12];
    memcpy(sum, w[c][SPEED], sizeof sum);
    for (int e = 0; e < n; e++) {
      tgReal middle = o->follow[0][3 * (first + e) + c], end = o->follow[1][3 * (first + e) + c];
      for (int i = 0; i < 12; i++) sum[i] += middle * w[e][MIDDLE][i] + end * w[e][END][i];
    }
    subtract_column(o, pose, t, sum, first + c, SPEED);
  }
}

static void add_pair(const Into *o, const tgPose *pose, Where at, const tgPairTerm *t, unsigned has) {
  const tgModel *m = &o->s->m;
  const int body[2] = {t->body1, t->body2};
  for (int side = 0; side < 2; side++)
    for (int d = m->body_lastdof[body[side]], n; d >= 0; d = m->dof_parent[d - n + 1]) {
      tgReal w[3][4][12];
      bool both = tgi_dof_moves(m, d, body[1 - side]);
      n = m->dof_grpnum[d] == 3 ? 3 : 1;   // those of a rotation come together, its last one first
      if (side == 1 && both) continue;   // its column came with the first body
      memset(w, 0, (size_t)n * sizeof *w);
      for (int e = 0, first = d - n + 1; e < n; e++) {
        change(o, pose, at, t, has, side, first + e, w[e]);
        if (both) change(o, pose, at, t, has, 1 - side, first + e, w[e]);
        for (int k = START; k <= SPEED && into_parts(o); k++) subtract_column(o, pose, t, w[e][k], first + e, (Where)k);
      }
      if (!into_parts(o)) subtract_folded(o, pose, t, w, d - n + 1, n);
    }
}

// of -J' w with w held, summed over subtrees
static void add_held(const tgPose *pose, const tgReal *wrench, const Into *o, Where at) {
  const tgModel *m = &o->s->m;
  for (int j = 0; j < m->nv; j++) {
    int group = m->dof_grpadr[j], last = group + m->dof_grpnum[j] - 1;
    for (int k = last; k >= 0; k = m->dof_parent[k]) {
      tgReal turned[6];
      tgi_sp_cross_m(turned, pose->S + 6 * k, pose->S + 6 * j);
      put(o, at, j, k, -tgi_sp_dot(turned, wrench + 6 * m->dof_body[j]));
    }
  }
}

static void add_contacts(const Into *o, tgReal *wrench) {
  tgSim *s = o->s;
  const tgPose *middle = tgi_midpoint_middle(s);
  unsigned has = s->contact_model->kind->law->has;
  for (int i = 0; i < s->nterm; i++) add_pair(o, middle, MIDDLE, &s->term[i], has);
  tgi_midpoint_contact_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(middle, wrench, o, MIDDLE);
}

static void add_bonds(const Into *o, tgReal *wrench) {
  tgSim *s = o->s;
  const tgPose *pose = tgi_midpoint_forces(s);
  Where at = tgi_midpoint_symmetric(s) ? MIDDLE : END;
  bool any = false;
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    any = true;
    tgi_bond_force(s, pose, e, &bond);
    add_pair(o, pose, at, &bond, TG_LAW_VELOCITY);
  }
  if (!any) return;
  tgi_midpoint_bond_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(pose, wrench, o, at);
}

// inertia; vel (nv x nv, may be NULL) is zero before
static tgStatus add_inertia(const Into *o, tgReal *vel) {
  tgSim *s = o->s;
  const tgModel *m = &s->m;
  tgiMidpoint *own = tgi_midpoint_own(s);
  bool symmetric = tgi_midpoint_symmetric(s), posed = symmetric || into_parts(o);   // F_V has nothing of the pose at the start
  double by = (1 + tgi_midpoint_reflection(s)) / s->h;
  size_t mark = tgi_stack_mark(s);
  const tgiPlaces *to = tgi_places_trees(s);
  if (to == NULL) return tgi_no_room(s, "equation");
  tgReal *Dq = own->work_M, *Dv = own->work_M + m->nM;
  memset(own->work_M, 0, 2 * (size_t)m->nM * sizeof *Dq);
  TG_TRY(tgi_inverse_d_into(s, tgi_midpoint_inertia(s), own->mean_acc, NULL, 1, to, posed ? Dq : NULL, Dv));
  for (int i = 0; i < m->nv; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++) {
      int k = m->dof_block[i] + j;
      tgReal at_start = symmetric ? 0 : Dv[k] / 2;
      if (m->dof_tree[2 * i] != m->dof_tree[2 * j]) continue;   // of a tree in between
      if (posed) put(o, symmetric ? MIDDLE : START, i, j, Dq[k]);
      put(o, SPEED, i, j, Dv[k] - at_start + by * s->M[k]);
      if (vel != NULL) vel[i * m->nv + j] = at_start - by * s->M[k];
    }
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus derivatives(const Into *o, tgReal *vel, tgReal *input, int *clamps) {
  tgSim *s = o->s;
  const tgPose *forces = tgi_midpoint_forces(s);
  const tgiEntries less = {subtract_force, (void *)(uintptr_t)o, subtract_block};
  size_t mark = tgi_stack_mark(s);
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)s->m.nbody);
  if (wrench == NULL) return tgi_no_room(s, "equation");
  TG_TRY(add_inertia(o, vel));
  TG_TRY(tgi_forces_d_each(s, forces, &less, input, clamps));
  tgi_joint_forces_d_each(s, forces, tgi_midpoint_own(s)->mean_vel, &less);
  add_contacts(o, wrench);
  add_bonds(o, wrench);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// how the pose q (+) share h V follows V, by (nv x 3); work: 4 nv
static void follow(const tgSim *s, double share, tgReal *work, tgReal *by) {
  size_t n = (size_t)s->m.nv;
  double h = share * s->h;
  for (size_t d = 0; d < n; d++) work[d] = h * tgi_midpoint_own(s)->mean_vel[d];
  tgi_integrate_blocks(&s->m, work, work + n, by);
  for (size_t i = 0; i < 3 * n; i++) by[i] *= h;
}

tgStatus tgi_midpoint_matrix(tgSim *s) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *work = tgi_stack_real(s, 4 * nv), *middle = tgi_stack_real(s, 3 * nv), *end = tgi_stack_real(s, 3 * nv);
  if (work == NULL || middle == NULL || end == NULL) return tgi_no_room(s, "equation");
  TG_TRY(tgi_midpoint_couple(s));
  tgi_midpoint_clear(s, tgi_midpoint_own(s)->step_F);
  tgiPatternBlock last = {.row = -1};
  follow(s, 0.5, work, middle);
  follow(s, 1, work, end);
  TG_TRY(derivatives(&(Into){.s = s, .last = &last, .follow = {middle, end}}, NULL, NULL, NULL));
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_midpoint_derivative(tgSim *s, const tgiMidpointParts *to, int *clamps) {
  size_t nn = (size_t)s->m.nv * (size_t)s->m.nv, nu = (size_t)s->m.nv * (size_t)s->m.nu;
  tgReal *const square[] = {to->start, to->middle, to->end, to->speed, to->vel};
  for (int k = 0; k < 5; k++) memset(square[k], 0, nn * sizeof(tgReal));
  memset(to->input, 0, nu * sizeof(tgReal));
  TG_TRY(derivatives(&(Into){.s = s, .part = {to->start, to->middle, to->end, to->speed}}, to->vel, to->input, clamps));
  for (size_t i = 0; i < nu; i++) to->input[i] = -to->input[i];
  return TG_OK;
}

void tgi_midpoint_add_blocks(const tgModel *m, const tgReal *R, const tgReal *B, double by, tgReal *out) {
  for (int i = 0; i < m->nv; i++)
    for (int d = 0; d < m->nv; d++) {
      int n = m->dof_grpnum[d] == 3 ? 3 : 1, first = n == 3 ? m->dof_grpadr[d] : d;
      tgReal sum = 0;
      for (int k = 0; k < n; k++) sum += R[i * m->nv + first + k] * B[3 * (first + k) + d - first];
      out[i * m->nv + d] += by * sum;
    }
}
