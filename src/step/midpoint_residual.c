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

// Entries become those of F_V, by how the poses follow V, or, at_start, of the derivative in the coordinates at the start, by how the poses
// follow these. They go to `dense`, or, if that is NULL, into the pattern of F_V.
typedef struct Into {
  tgSim *s;
  tgReal *dense;
  tgiPatternBlock *last;     // of F_V
  bool at_start;
  const tgReal *follow[2];   // nv x 3: of the pose at the middle and of that at the end, blocks as of tgi_integrate_blocks
} Into;

static void put_entry(const Into *o, int i, int j, tgReal x) {
  if (o->dense != NULL) o->dense[i * o->s->m.nv + j] += x;
  else tgi_midpoint_put(o->s, o->last, tgi_midpoint_own(o->s)->step_F, i, j, x);
}

static int group_of(const tgModel *m, int j, int *first) {
  int n = m->dof_grpnum[j] == 3 ? 3 : 1;
  *first = n == 3 ? m->dof_grpadr[j] : j;
  return n;
}

static void put(const Into *o, Where at, int i, int j, tgReal x) {
  if (at == START || at == SPEED) {
    if ((at == START) == o->at_start) put_entry(o, i, j, x);
    return;
  }
  const tgReal *by = o->follow[at == END] + 3 * j;
  int first, n = group_of(&o->s->m, j, &first);
  for (int c = 0; c < n; c++) put_entry(o, i, first + c, by[c] * x);
}

// of forces at their pose, less
static void subtract_force(void *to, int i, int j, tgReal by_q, tgReal by_v) {
  const Into *o = to;
  Where at = tgi_midpoint_symmetric(o->s) ? MIDDLE : END;
  if (o->s->m.dof_grpnum[j] != 3) {
    put_entry(o, i, j, -((o->at_start ? 0 : by_v) + o->follow[at == END][3 * j] * by_q));
    return;
  }
  put(o, at, i, j, -by_q);
  put(o, SPEED, i, j, -by_v);
}

// the same of the dofs of three slides each
static void subtract_block(void *to, int i, int j, const tgReal *by_q, const tgReal *by_v, int stride) {
  const Into *o = to;
  tgReal x[9];
  if (o->dense != NULL) {   // no sheet is large where it is
    for (int e = 0; e < 9; e++) subtract_force(to, i + e / 3, j + e % 3, by_q[stride * (e / 3) + e % 3], by_v[stride * (e / 3) + e % 3]);
    return;
  }
  const tgReal *by = o->follow[!tgi_midpoint_symmetric(o->s)] + 3 * j;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) x[3 * r + c] = -(by_v[stride * r + c] + by[3 * c] * by_q[stride * r + c]);
  tgi_midpoint_put_block(o->s, o->last, tgi_midpoint_own(o->s)->step_F, i, j, x);
}

// ---- pairs ----

// What a column changes of a pair: twists of the pose at which the pair acts, velocities but for what comes with those, twists at the end
// and at the start; and what of a pair's wrenches goes by each. Velocities V_b go with a twist u of their pose by -V_b x u too, which is
// added to the first.
enum { ACTS, SPEEDS, ENDS, STARTS, MOVES };
typedef struct Pairs {
  const Into *o;
  const tgPose *pose;
  Where at;
  bool goes[MOVES];
  tgReal *by[MOVES];    // nv x 6
  tgReal *sum;          // nbody x MOVES x 36: of each body's own wrench by its own moves
  bool *any;            // nbody: it has a sum
} Pairs;

static void move_column(Pairs *k, int j) {
  const tgSim *s = k->o->s;
  int first, n = group_of(&s->m, j, &first);
  for (int i = 0; i < MOVES; i++) tgi_sp_zero(k->by[i] + 6 * j);
  for (int d = first; d < first + n; d++) {
    const tgReal *S = k->pose->S + 6 * d, acts = k->o->follow[k->at == END][3 * d + j - first];
    tgReal turned[6];
    tgi_sp_axpy(k->by[ACTS] + 6 * j, acts, S);
    tgi_sp_cross_m(turned, S, k->pose->Vp + 6 * d);
    tgi_sp_axpy(k->by[SPEEDS] + 6 * j, -acts, turned);
    tgi_sp_axpy(k->by[ENDS] + 6 * j, k->o->follow[1][3 * d + j - first], s->end.S + 6 * d);
  }
  if (k->o->at_start) tgi_sp_copy(k->by[STARTS] + 6 * j, s->start.S + 6 * j);
  else tgi_sp_axpy(k->by[SPEEDS] + 6 * j, 1, k->pose->S + 6 * j);
}

static bool open_pairs(const Into *o, const tgPose *pose, Where at, unsigned has, Pairs *k) {
  tgSim *s = o->s;
  size_t nb = (size_t)s->m.nbody;
  *k = (Pairs){.o = o, .pose = pose, .at = at};
  bool goes[MOVES] = {true, (has & TG_LAW_VELOCITY) != 0, (has & TG_LAW_STEP) != 0, (has & TG_LAW_STEP) != 0 && o->at_start};
  memcpy(k->goes, goes, sizeof goes);
  for (int i = 0; i < MOVES; i++) {
    k->by[i] = tgi_stack_real(s, 6 * (size_t)s->m.nv);
    if (k->by[i] == NULL) return false;
  }
  k->sum = tgi_stack_real(s, MOVES * 36 * nb);
  k->any = tgi_stack_bytes(s, nb * sizeof *k->any);
  if (k->sum == NULL || k->any == NULL) return false;
  memset(k->any, 0, nb * sizeof *k->any);
  for (int j = 0; j < s->m.nv; j++) move_column(k, j);
  return true;
}

// out (MOVES x 36, each transposed) = how the wrench on `side` of the pair goes by what moves its side `by`
static void block_of(const Pairs *k, const tgPairTerm *t, int side, int by, tgReal *out) {
  const tgReal *const M[MOVES] = {t->X, t->Y, t->E, t->B};
  const tgReal *V = k->pose->V + 6 * (by == 0 ? t->body1 : t->body2);
  for (int i = 0; i < MOVES; i++)
    for (int r = 0; r < 6 && k->goes[i]; r++)
      for (int c = 0; c < 6; c++) out[36 * i + 6 * c + r] = M[i][12 * (6 * side + r) + 6 * by + c];
  for (int r = 0; r < 6 && k->goes[SPEEDS]; r++) {
    tgReal turned[6];
    tgi_sp_cross_f(turned, V, t->Y + 12 * (6 * side + r) + 6 * by);
    for (int c = 0; c < 6; c++) out[36 * ACTS + 6 * c + r] += turned[c];
  }
}

// w (6) = what column j changes of a wrench
static void change(const Pairs *k, const tgReal *M, int j, tgReal *restrict w) {
  tgi_sp_zero(w);
  for (int i = 0; i < MOVES; i++)
    for (int c = 0; c < 6 && k->goes[i]; c++) tgi_sp_axpy(w, k->by[i][6 * j + c], M + 36 * i + 6 * c);
}

static void add_sum(const Pairs *k, int b, const tgReal *M) {
  tgReal *sum = k->sum + MOVES * 36 * b;
  for (int i = 0; i < MOVES; i++) {
    if (!k->goes[i]) continue;
    if (!k->any[b]) memcpy(sum + 36 * i, M + 36 * i, 36 * sizeof *sum);
    for (int e = 36 * i; e < 36 * i + 36 && k->any[b]; e++) sum[e] += M[e];
  }
  k->any[b] = true;
}

static void add_pair(const Pairs *k, const tgPairTerm *t) {
  const tgModel *m = &k->o->s->m;
  const int body[2] = {t->body1, t->body2};
  for (int side = 0; side < 2; side++)
    for (int by = 0; by < 2; by++) {
      tgReal M[MOVES * 36], w[6];
      if (m->body_lastdof[body[side]] < 0 || m->body_lastdof[body[by]] < 0) continue;
      block_of(k, t, side, by, M);
      if (side == by) add_sum(k, body[side], M);
      for (int j = side == by ? -1 : m->body_lastdof[body[by]]; j >= 0; j = m->dof_parent[j]) {
        change(k, M, j, w);
        for (int i = m->body_lastdof[body[side]]; i >= 0; i = m->dof_parent[i]) put_entry(k->o, i, j, -tgi_sp_dot(k->pose->S + 6 * i, w));
      }
    }
}

// Row and column of a dof and of those that it is carried by, which move all that it moves: by the sums over its subtree.
static void add_dof(const Pairs *k, int d, const tgReal *M) {
  const tgModel *m = &k->o->s->m;
  const tgReal *S = k->pose->S + 6 * d;
  tgReal w[6], row[MOVES][6];
  change(k, M, d, w);
  put_entry(k->o, d, d, -tgi_sp_dot(S, w));
  for (int i = 0; i < MOVES; i++)
    for (int c = 0; c < 6 && k->goes[i]; c++) row[i][c] = tgi_sp_dot(S, M + 36 * i + 6 * c);
  for (int j = m->dof_parent[d]; j >= 0; j = m->dof_parent[j]) {
    tgReal x = 0;
    for (int i = 0; i < MOVES; i++)
      if (k->goes[i]) x += tgi_sp_dot(row[i], k->by[i] + 6 * j);
    put_entry(k->o, d, j, -x);
    put_entry(k->o, j, d, -tgi_sp_dot(k->pose->S + 6 * j, w));
  }
}

static void close_pairs(const Pairs *k) {
  const tgModel *m = &k->o->s->m;
  for (int b = m->nbody - 1; b > 0; b--) {
    if (!k->any[b]) continue;
    const tgReal *M = k->sum + MOVES * 36 * b;
    if (m->body_parent[b] > 0) add_sum(k, m->body_parent[b], M);
    for (int d = m->body_dofadr[b]; d < m->body_dofadr[b] + m->body_dofnum[b]; d++) add_dof(k, d, M);
  }
}

// of -J' w with w held, summed over subtrees: (u_k x S_j) . w = (S_j x* w) . u_k
static void add_held(const Pairs *k, const tgReal *wrench) {
  const tgModel *m = &k->o->s->m;
  for (int j = 0; j < m->nv; j++) {
    tgReal turned[6];
    tgi_sp_cross_f(turned, k->pose->S + 6 * j, wrench + 6 * m->dof_body[j]);
    for (int i = m->dof_grpadr[j] + m->dof_grpnum[j] - 1; i >= 0; i = m->dof_parent[i])
      put_entry(k->o, j, i, -tgi_sp_dot(turned, k->by[ACTS] + 6 * i));
  }
}

static tgStatus add_contacts(const Into *o, tgReal *wrench) {
  tgSim *s = o->s;
  const tgPose *middle = tgi_midpoint_middle(s);
  size_t mark = tgi_stack_mark(s);
  Pairs k;
  if (s->nterm == 0) return TG_OK;
  if (!open_pairs(o, middle, MIDDLE, s->contact_model->kind->law->has, &k)) return tgi_no_room(s, "equation");
  for (int i = 0; i < s->nterm; i++) add_pair(&k, &s->term[i]);
  close_pairs(&k);
  tgi_midpoint_contact_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(&k, wrench);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus add_bonds(const Into *o, tgReal *wrench) {
  tgSim *s = o->s;
  const tgPose *pose = tgi_midpoint_forces(s);
  Where at = tgi_midpoint_symmetric(s) ? MIDDLE : END;
  size_t mark = tgi_stack_mark(s);
  Pairs k;
  int bound = 0;
  for (int e = 0; e < s->m.neq; e++) bound += tgi_is_bound(&s->m, e);
  if (bound == 0) return TG_OK;
  if (!open_pairs(o, pose, at, TG_LAW_VELOCITY, &k)) return tgi_no_room(s, "equation");
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_force(s, pose, e, &bond);
    add_pair(&k, &bond);
  }
  close_pairs(&k);
  tgi_midpoint_bond_wrenches(s, wrench);
  for (int b = s->m.nbody - 1; b > 0; b--) tgi_sp_axpy(wrench + 6 * s->m.body_parent[b], 1, wrench + 6 * b);
  add_held(&k, wrench);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// inertia; vel (nv x nv, may be NULL) is zero before
static tgStatus add_inertia(const Into *o, tgReal *vel) {
  tgSim *s = o->s;
  const tgModel *m = &s->m;
  tgiMidpoint *own = tgi_midpoint_own(s);
  bool symmetric = tgi_midpoint_symmetric(s), posed = symmetric || o->at_start;   // F_V has nothing of the pose at the start
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
  TG_TRY(add_contacts(o, wrench));
  TG_TRY(add_bonds(o, wrench));
  tgi_stack_free(s, mark);
  return TG_OK;
}

// how the pose q (+) share h V follows V, or, at_start, q, by (nv x 3); work: 4 nv
static void follow(const tgSim *s, double share, bool at_start, tgReal *work, tgReal *by) {
  size_t n = (size_t)s->m.nv;
  double h = share * s->h;
  for (size_t d = 0; d < n; d++) work[d] = h * tgi_midpoint_own(s)->mean_vel[d];
  tgi_integrate_blocks(&s->m, work, at_start ? by : work + n, at_start ? work + n : by);
  for (size_t i = 0; i < 3 * n && !at_start; i++) by[i] *= h;
}

static tgStatus all_derivatives(Into *o, tgReal *vel, tgReal *input, int *clamps) {
  tgSim *s = o->s;
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *work = tgi_stack_real(s, 4 * nv), *middle = tgi_stack_real(s, 3 * nv), *end = tgi_stack_real(s, 3 * nv);
  if (work == NULL || middle == NULL || end == NULL) return tgi_no_room(s, "equation");
  tgiPatternBlock last = {.row = -1};
  o->last = &last;
  o->follow[0] = middle;
  o->follow[1] = end;
  follow(s, 0.5, o->at_start, work, middle);
  follow(s, 1, o->at_start, work, end);
  TG_TRY(derivatives(o, vel, input, clamps));
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_midpoint_matrix(tgSim *s) {
  TG_TRY(tgi_midpoint_couple(s));
  tgi_midpoint_clear(s, tgi_midpoint_own(s)->step_F);
  tgReal *dense = tgi_midpoint_own(s)->pattern.dense ? tgi_midpoint_own(s)->step_F : NULL;
  return all_derivatives(&(Into){.s = s, .dense = dense}, NULL, NULL, NULL);
}

tgStatus tgi_midpoint_derivative(tgSim *s, bool at_start, tgReal *D, tgReal *vel, tgReal *input, int *clamps) {
  size_t nn = (size_t)s->m.nv * (size_t)s->m.nv, nu = (size_t)s->m.nv * (size_t)s->m.nu;
  memset(D, 0, nn * sizeof *D);
  if (vel != NULL) memset(vel, 0, nn * sizeof *vel);
  if (input != NULL) memset(input, 0, nu * sizeof *input);
  TG_TRY(all_derivatives(&(Into){.s = s, .dense = D, .at_start = at_start}, vel, input, clamps));
  for (size_t i = 0; i < nu && input != NULL; i++) input[i] = -input[i];
  return TG_OK;
}
