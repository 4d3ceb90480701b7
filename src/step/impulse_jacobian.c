// impulse_jacobian.c: the dense derivative of an impulse step, exact, by the formulas at the head of impulse_vjp.c, written apart.
//
// Based on: [math/lcp Derivative].
// What no mass, tendon or row couples has no entry in common: the derivative falls into parts, one for each island and one for each tree
// that nothing touches. Each part is a block of its own dofs' rows and of the columns of their q, v and controls, padded to full vectors.
#include <string.h>

#include "contact/islands.h"
#include "math/combine.h"
#include "contact/rows.h"
#include "sim/row.h"
#include "step/impulse.h"
#include "step/event.h"
#include "step/impulse_carried.h"
#include "step/impulse_midway.h"
#include "step/step.h"

typedef struct Part { int ndof, nact, width; const int *dof, *act; } Part;   // width: 2 ndof + nact and padding

typedef struct Parts {
  int n;
  Part *part;
  int *of_dof;       // part of a dof; islands first, in their order
  tgiPlaces to;      // places in G
  int *row_at;       // places of the rows in R
  size_t size, row_size;
  int *at, *live;    // work: nrow or nv entries, whichever is more
  tgReal *w;         // the same
  tgReal *G, *R;     // blocks of dofs, of rows
} Parts;

// part of each dof; returns the number of parts
static int number_parts(tgSim *s, bool rows, int *of_dof) {
  int nv = s->m.nv, n = rows ? s->nisland : 0;
  for (int d = 0; d < nv; d++) {
    int tree = s->m.dof_set[3 * d];
    if (rows && s->rows->dof_island[d] >= 0) of_dof[d] = s->rows->dof_island[d];
    else of_dof[d] = tree == d ? n++ : of_dof[tree];
  }
  return n;
}

// a dof that actuator i works on; -1: none moves its site
static int dof_of_actuator(const tgModel *m, int i) {
  if (m->act_trn[i] == TG_TRN_SITE) {
    int d = m->body_lastdof[m->site_body[m->act_target[i]]];
    return d >= 0 || m->act_refsite[i] < 0 ? d : m->body_lastdof[m->site_body[m->act_refsite[i]]];
  }
  return m->act_trn[i] == TG_TRN_TENDON ? tgi_tendon_lead(m, m->act_target[i]) : m->jnt_vadr[m->act_target[i]];
}

static bool take_parts(tgSim *s, bool rows, Parts *p) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv, nu = (size_t)m->nu, most = nv > (size_t)s->nrow ? nv : (size_t)s->nrow;
  *p = (Parts){.of_dof = tgi_stack_bytes(s, (nv + 1) * sizeof(int))};
  if (p->of_dof == NULL) return false;
  p->n = number_parts(s, rows, p->of_dof);
  int *at = tgi_stack_bytes(s, (4 * nv + 3 * nu + (size_t)s->nrow + 2 * most + 1) * sizeof(int));
  p->part = tgi_stack_bytes(s, ((size_t)p->n + 1) * sizeof *p->part);
  p->w = tgi_stack_real(s, most + 1);
  if (at == NULL || p->part == NULL || p->w == NULL) return false;
  int *row = at, *q = row + nv, *v = q + nv, *dof = v + nv, *u = dof + nv, *act = u + nu, *of_act = act + nu;
  p->to = (tgiPlaces){.row = row, .q = q, .v = v, .urow = row, .u = u};
  p->row_at = of_act + nu;
  p->at = p->row_at + s->nrow;
  p->live = p->at + most;
  memset(p->part, 0, ((size_t)p->n + 1) * sizeof *p->part);
  for (int i = 0; i < m->nu; i++) {
    int d = dof_of_actuator(m, i);
    of_act[i] = d >= 0 ? p->of_dof[d] : 0;
  }
  for (int d = 0; d < m->nv; d++) q[d] = p->part[p->of_dof[d]].ndof++;
  for (int i = 0; i < m->nu; i++) u[i] = p->part[of_act[i]].nact++;
  int *next = dof, *next_act = act;
  for (int k = 0; k < p->n; k++) {
    Part *part = &p->part[k];
    part->dof = next;
    part->act = next_act;
    next += part->ndof;
    next_act += part->nact;
    part->width = (2 * part->ndof + part->nact + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  }
  for (int d = 0; d < m->nv; d++) dof[p->part[p->of_dof[d]].dof - dof + q[d]] = d;
  for (int i = 0; i < m->nu; i++) act[p->part[of_act[i]].act - act + u[i]] = i;
  for (int d = 0; d < m->nv; d++) {
    const Part *part = &p->part[p->of_dof[d]];
    v[d] = part->ndof + q[d];
    row[d] = (int)p->size;
    p->size += (size_t)part->width;
  }
  for (int i = 0; i < m->nu; i++) u[i] += 2 * p->part[of_act[i]].ndof;
  for (int i = 0; rows && i < s->nrow; i++) {
    p->row_at[i] = (int)p->row_size;
    p->row_size += (size_t)p->part[s->rows->island[i]].width;
  }
  p->G = tgi_stack_real(s, p->size + 1);
  p->R = tgi_stack_real(s, p->row_size + 1);
  return p->G != NULL && p->R != NULL;
}

// ---- from the rows' pose to the start: q (+) way v ----

typedef struct Carry { tgReal *R, *J, way; } Carry;   // blocks of d(q (+) w) in q and in w: nv x 3, of a dof alone 1 in the first place

static bool take_carry(tgSim *s, Carry *c) {
  const tgModel *m = &s->m;
  size_t n = 3 * (size_t)m->nv;
  tgReal *w = tgi_stack_real(s, (size_t)m->nv);
  c->R = tgi_stack_real(s, n);
  c->J = tgi_stack_real(s, n);
  if (w == NULL || c->R == NULL || c->J == NULL) return false;
  c->way = tgi_rows_away(s) * s->dt;
  for (int d = 0; d < m->nv; d++) w[d] = c->way * s->start.vel[d];
  tgi_integrate_blocks(m, w, c->R, c->J);
  return true;
}

// to (in q and v of a part) += from (in the q of the rows' pose): of a dof alone as it is, times the way in v
static void carry_row(const tgSim *s, const Part *part, const Carry *c, const tgReal *from, tgReal *to) {
  const tgModel *m = &s->m;
  tgReal *q = to, *v = to + part->ndof;
  for (int k = 0; k < part->ndof; k++) {
    int d = part->dof[k], group = k - (d - m->dof_grpadr[d]);   // a joint's dofs are in one part
    if (m->dof_grpnum[d] != 3) {
      q[k] += from[k];
      v[k] += c->way * from[k];
      continue;
    }
    for (int i = 0; i < 3; i++) {
      q[group + i] += from[k] * c->R[3 * d + i];
      v[group + i] += from[k] * c->way * c->J[3 * d + i];
    }
  }
}

// D += d(J' X)/dq of wrenches X (nbody x 6) that stay as they are: dS_i/dq_j = S_j x S_i for j on the way to i or in its group
static tgStatus wrench_jacobian(tgSim *s, const tgPose *pose, const tgReal *X, const tgiPlaces *to, tgReal *D) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (sum == NULL) return tgi_no_room(s, "Jacobian");
  memcpy(sum, X, 6 * (size_t)m->nbody * sizeof *sum);
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(sum + 6 * m->body_parent[b], 1, sum + 6 * b);
  for (int i = 0; i < m->nv; i++) {
    tgReal y[6];
    int last = m->dof_grpadr[i] + m->dof_grpnum[i] - 1;
    tgi_sp_cross_f(y, pose->S + 6 * i, sum + 6 * m->dof_body[i]);   // (S_j x S_i) . X = S_j . (S_i x* X)
    for (int j = last; j >= 0; j = m->dof_parent[j]) D[to->row[i] + to->q[j]] += tgi_sp_dot(pose->S + 6 * j, y);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- the balance ----

// G of an impact: M (v' - v) = J' f, so -d(M) (v' - v)
static tgStatus impact_balance(tgSim *s, const tgReal *v, const Parts *p, tgReal *G) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *a = tgi_stack_real(s, (size_t)m->nv), *still = tgi_stack_real(s, p->size);
  if (a == NULL || still == NULL) return tgi_no_room(s, "Jacobian");
  memset(still, 0, p->size * sizeof *still);
  for (int d = 0; d < m->nv; d++) a[d] = v[d] - s->start.vel[d];
  tgStatus status = tgi_inverse_d_into(s, &s->start, a, NULL, -1, &p->to, G, NULL);
  for (int d = 0; d < m->nv; d++) a[d] = 0;
  if (status >= 0) status = tgi_inverse_d_into(s, &s->start, a, NULL, 1, &p->to, still, NULL);
  for (size_t i = 0; i < p->size; i++) G[i] += still[i];
  tgi_stack_free(s, mark);
  return status;
}

// G -= h d(share (c~ - c)) of fast trees, row by row by its adjoint
static tgStatus add_carried(tgSim *s, const Parts *p, tgReal *G) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv, mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, 3 * nv + 1), *gq = w + nv, *gv = w + 2 * nv;
  if (w == NULL) return tgi_no_room(s, "Jacobian");
  for (int i = 0; i < m->nv && tgi_any_carried(s); i++) {
    const Part *part = &p->part[p->of_dof[i]];
    if (tgRe(s->carried_share[i]) == 0) continue;
    memset(w, 0, 3 * nv * sizeof *w);
    w[i] = -s->dt;
    TG_TRY(tgi_carried_vjp(s, w, gq, gv, NULL, NULL));
    for (int k = 0; k < part->ndof; k++) {
      int d = part->dof[k];
      G[p->to.row[i] + p->to.q[d]] += gq[d];
      G[p->to.row[i] + p->to.v[d]] += gv[d];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus turned_balance(tgSim *s, const tgReal *v, const Parts *p, tgReal *G, int *clamps);

static tgStatus flow_balance(tgSim *s, const tgReal *v, const tgReal *X, const Parts *p, tgReal *G, int *clamps) {
  tgReal h = s->dt;
  tgStepEnd at;
  if (s->midway && (s->turning > 0 || tgi_order_is_turned(s))) return turned_balance(s, v, p, G, clamps);
  const tgStepEnd *end = tgi_servo_end(s, v, &at);
  size_t mark = tgi_stack_mark(s);
  tgReal *a = tgi_stack_real(s, (size_t)s->m.nv);
  if (a == NULL) return tgi_no_room(s, "Jacobian");
  tgi_mean_acceleration(s, v, a);
  tgStatus status = tgi_inverse_d_into(s, &s->start, a, X, -h, &p->to, G, G);
  if (status >= 0) status = tgi_forces_d_into(s, &s->start, end, h, &p->to, G, G, G, clamps);
  for (int d = 0; d < s->m.nv; d++) G[p->to.row[d] + p->to.v[d]] -= h * h * tgi_stiffness_ahead(s, d);
  if (status >= 0) status = add_carried(s, p, G);
  tgi_stack_free(s, mark);
  return status;
}

// ---- in the middle of a flow, where some forces are of u_k = v + c (v^_k - v), k = s->turning, v^_k by u_(k-1) ----

static void solve_blocks(const tgSim *s, const Parts *p, tgReal *G) {
  for (int k = 0; k < p->n; k++)
    tgi_factor_solve_rows_at(&s->m, s->L, p->part[k].ndof, p->part[k].dof, p->to.row, p->part[k].width, G);
}

// V = du_k
static tgStatus turned_jacobian(tgSim *s, const Parts *p, tgReal *V) {
  const tgModel *m = &s->m;
  int level = s->turning;
  bool ordered = tgi_order_is_turned(s);
  memset(V, 0, p->size * sizeof *V);
  for (int d = 0; d < m->nv && level == 0; d++) V[p->to.row[d] + p->to.v[d]] = 1;
  if (level == 0) return TG_OK;
  const tgReal *ahead = tgi_foreseen(s, level);
  size_t nv = (size_t)m->nv, mark = tgi_stack_mark(s);
  tgReal *c = tgi_stack_real(s, 4 * nv + 1), *by_v = c + nv, *work = c + 2 * nv;
  if (c == NULL) return tgi_no_room(s, "Jacobian");
  tgi_events(s)->order.turned = false;
  tgi_midway_level(s, level - 1);
  tgStatus status = flow_balance(s, ahead, NULL, p, V, NULL);   // clamps count where the flow ends
  tgi_midway_level(s, level);
  if (ordered) tgi_order_turn(s, true);
  if (status < 0) return status;
  solve_blocks(s, p, V);
  tgi_midway_shares(s, c);
  for (int d = 0; d < m->nv; d++) {
    const Part *part = &p->part[p->of_dof[d]];
    tgReal *row = V + p->to.row[d];
    for (int k = 0; k < part->width; k++) row[k] *= c[d];
    row[p->to.v[d]] += 1;
    if (tgRe(c[d]) == 0 || tgRe(s->carried_share[d]) == 0) continue;
    tgi_carried_share_slope(s, d, work, by_v, NULL);
    for (int k = 0; k < part->ndof; k++)
      row[p->to.v[part->dof[k]]] -= 0.5 * (ahead[d] - s->start.vel[d]) * by_v[part->dof[k]];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_turned_forces_into(tgSim *s, const tgReal *a, const tgiPlaces *to, tgReal *G, tgReal *Gm, int *clamps) {
  tgReal h = s->dt;
  tgi_velocities(s, &s->start, tgi_order_is_turned(s) ? tgi_events(s)->order.u : tgi_turned(s, s->turning));
  tgStatus status = tgi_inverse_d_into(s, &s->start, a, NULL, -h, to, G, Gm);
  if (status >= 0) status = tgi_passive_d_into(s, &s->start, h, to, G, Gm, clamps);
  tgi_velocities(s, &s->start, s->middle.vel);
  for (int d = 0; d < s->m.nv && !tgi_explicit_damping(s); d++) Gm[to->row[d] + to->v[d]] += h * s->m.dof_damping[d];
  return status;
}

static tgStatus turned_balance(tgSim *s, const tgReal *v, const Parts *p, tgReal *G, int *clamps) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal h = s->dt, *a = tgi_stack_real(s, (size_t)m->nv), *Gm = tgi_stack_real(s, p->size), *V = tgi_stack_real(s, p->size);
  tgStepEnd at;
  if (a == NULL || Gm == NULL || V == NULL) return tgi_no_room(s, "Jacobian");
  memset(Gm, 0, p->size * sizeof *Gm);
  tgi_mean_acceleration(s, v, a);
  TG_TRY(tgi_turned_forces_into(s, a, &p->to, G, Gm, clamps));
  for (int d = 0; d < m->nv && !tgi_explicit_damping(s); d++) G[p->to.row[d] + p->to.v[d]] -= h * m->dof_damping[d];
  TG_TRY(tgi_actuation_d_into(s, &s->start, tgi_servo_end(s, v, &at), h, &p->to, G, G, G, clamps));
  TG_TRY(add_carried(s, p, G));
  TG_TRY(turned_jacobian(s, p, V));
  for (int i = 0; i < m->nv; i++) {
    const Part *part = &p->part[p->of_dof[i]];
    for (int k = 0; k < part->ndof; k++) {
      tgReal by = Gm[p->to.row[i] + p->to.v[part->dof[k]]];
      const tgReal *row = V + p->to.row[part->dof[k]];
      for (int j = 0; j < part->width && by != 0; j++) G[p->to.row[i] + j] += by * row[j];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// G += d(J' f) of rows that are at another pose
static tgStatus add_far_forces(tgSim *s, const tgReal *f, const tgReal *X, const Parts *p, tgReal *G) {
  size_t mark = tgi_stack_mark(s);
  tgPose *pose = tgi_rows_pose(s);
  Carry c;
  tgReal *F = tgi_stack_real(s, p->size);
  if (F == NULL || !take_carry(s, &c)) return tgi_no_room(s, "Jacobian");
  memset(F, 0, p->size * sizeof *F);
  TG_TRY(wrench_jacobian(s, pose, X, &p->to, F));
  tgi_rows_force_jacobian(s, pose, f, &p->to, F);
  for (int d = 0; d < s->m.nv; d++)
    carry_row(s, &p->part[p->of_dof[d]], &c, F + p->to.row[d], G + p->to.row[d]);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// G: dv of the balance at held impulses for the motion v (v1 with the rows' forces, or vhat without)
static tgStatus balance_jacobian(tgSim *s, const tgReal *v, const tgReal *f, const Parts *p, tgReal *G, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  bool impact = tgi_is_impact(s), near = tgi_rows_away(s) == 0 && !impact;   // rows where the balance is, one recursion for both
  size_t mark = tgi_stack_mark(s);
  tgReal *X = NULL, *f_h = NULL;
  if (f != NULL) {
    X = tgi_stack_real(s, 6 * (size_t)m->nbody);
    f_h = tgi_stack_real(s, (size_t)s->nrow);
    if (X == NULL || f_h == NULL) return tgi_no_room(s, "Jacobian");
    for (int i = 0; i < s->nrow; i++) f_h[i] = near ? f[i] / s->dt : f[i];
    tgi_rows_wrench(s, tgi_rows_pose(s), f_h, X);
  }
  memset(G, 0, p->size * sizeof *G);
  tgStatus status = impact ? impact_balance(s, v, p, G) : flow_balance(s, v, near ? X : NULL, p, G, clamps);
  if (status == TG_ERR_CAPACITY) return tgi_no_room(s, "Jacobian");
  TG_TRY(status);
  if (f != NULL && near) tgi_rows_force_jacobian(s, &s->start, f, &p->to, G);
  if (f != NULL && !near) TG_TRY(add_far_forces(s, f, X, p, G));
  solve_blocks(s, p, G);
  for (int d = 0; d < nv; d++) G[p->to.row[d] + p->to.v[d]] += 1;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- rows ----

// What the pose of the rows puts into X (nrow x nv, dense): (dJ) a + J Mh^-1 d(J' beta), a = Mh^-1 J' beta
static tgStatus response_of_rows(tgSim *s, const tgReal *beta, const tgReal *a, tgReal *R, tgReal *X) {
  const tgModel *m = &s->m;
  tgPose *pose = tgi_rows_pose(s);
  size_t nv = (size_t)m->nv, n = (size_t)s->nrow;
  tgReal *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody);
  const tgiPlaces *dense = tgi_places_dense(s);
  int *at = tgi_stack_bytes(s, (n + 1) * sizeof *at);
  if (wrench == NULL || dense == NULL || at == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t i = 0; i < n; i++) at[i] = (int)(i * nv);
  tgi_rows_wrench(s, pose, beta, wrench);
  memset(R, 0, nv * nv * sizeof *R);
  TG_TRY(wrench_jacobian(s, pose, wrench, dense, R));
  tgi_rows_force_jacobian(s, pose, beta, dense, R);
  memset(X, 0, n * nv * sizeof *X);
  return tgi_rows_jacobian(s, pose, a, NULL, dense, at, X);
}

// X += J Mh^-1 R column by column
static void add_responses(tgSim *s, const tgReal *R, tgReal *x, tgReal *X) {
  int nv = s->m.nv, n = s->nrow;
  for (int j = 0; j < nv; j++) {
    for (int d = 0; d < nv; d++) x[d] = R[d * nv + j];
    tgi_factor_solve(&s->m, s->L, x);
    for (int i = 0; i < n; i++) X[i * nv + j] += tgi_row_dot(s, s->rows->J, i, x);
  }
}

// rows of Q (n x nv), in the coordinates of the rows' pose, to those of q, in place, and of v, V
static tgStatus carry_dense(tgSim *s, const Carry *c, int n, tgReal *Q, tgReal *V) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *row = tgi_stack_real(s, (size_t)nv);
  if (row == NULL) return tgi_no_room(s, "Jacobian");
  for (int i = 0; i < n; i++) {
    tgReal *q = Q + i * nv, *v = V + i * nv;
    memcpy(row, q, (size_t)nv * sizeof *row);
    memset(q, 0, (size_t)nv * sizeof *q);
    for (int d = 0; d < nv; d++) {
      int k = m->dof_grpnum[d] == 3 ? 3 : 1, at = k == 3 ? m->dof_grpadr[d] : d;
      for (int r = 0; r < k; r++) {
        q[at + r] += row[d] * c->R[3 * d + r];
        v[at + r] += row[d] * c->way * c->J[3 * d + r];
      }
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// X (nrow x nu) = (dA) beta for the input of each actuator, on which the stiffness of a servo may depend; a = Mh^-1 J' beta
static void response_to_inputs(const tgSim *s, const tgReal *a, tgReal *m, tgReal *X) {
  int n = s->nrow, nu = s->m.nu;
  tgStepEnd at;
  bool servos = tgi_servo_end(s, s->start.vel, &at) != NULL;
  memset(X, 0, (size_t)n * (size_t)nu * sizeof *X);
  for (int i = 0; i < nu && servos; i++) {
    tgReal by_input = tgi_servo_matrix_input(s, tgi_late(s) * s->dt, i, a, m);
    for (int k = 0; k < n && !tgZero(by_input); k++) X[k * nu + i] = -by_input * tgi_row_dot(s, s->rows->MiJ, k, m);
  }
}

// X (2 of nrow x nv, one of nrow x nu) = (dA) beta for the q and the v of each dof and for inputs, A = J Mh^-1 J', M from
// inverse dynamics with and without the acceleration
static tgStatus response_jacobian(tgSim *s, const tgReal *beta, tgReal *X) {
  const tgModel *m = &s->m;
  int nv = m->nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s), nn = (size_t)nv * (size_t)nv, half = (size_t)n * (size_t)nv;
  tgReal *a = tgi_stack_real(s, (size_t)nv), *x = tgi_stack_real(s, (size_t)nv), *R = tgi_stack_real(s, nn), *R0 = tgi_stack_real(s, nn);
  Carry c;
  if (a == NULL || x == NULL || R == NULL || R0 == NULL || !take_carry(s, &c)) return tgi_no_room(s, "Jacobian");
  tgi_rows_tmul(s, beta, a);
  tgi_impulse_solve(s, a, a);
  TG_TRY(response_of_rows(s, beta, a, R, X));
  add_responses(s, R, x, X);
  memset(X + half, 0, half * sizeof *X);
  if (tgi_rows_away(s) != 0) TG_TRY(carry_dense(s, &c, n, X, X + half));
  // -dM a at the start
  for (int d = 0; d < nv; d++) x[d] = 0;
  TG_TRY(tgi_inverse_d(s, &s->start, a, NULL, R, NULL));
  TG_TRY(tgi_inverse_d(s, &s->start, x, NULL, R0, NULL));
  for (size_t i = 0; i < nn; i++) R[i] = R0[i] - R[i];
  add_responses(s, R, x, X);
  response_to_inputs(s, a, x, X + 2 * half);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// R_i += scale_i J_i G, over the dofs where J_i is not 0
static void add_row_products(tgSim *s, const tgReal *scale, const tgReal *G, const Parts *p) {
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *J = tgi_row(s, s->rows->J, i), e = scale != NULL ? scale[i] : 1;
    const int *span = s->rows->span + 4 * i;
    int count = 0;
    if (e == 0) continue;
    for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++) {
      if (*J == 0) continue;
      p->w[count] = e * *J;
      p->at[count++] = p->to.row[d];
    }
    tgi_combine(count, p->w, p->at, G, p->part[s->rows->island[i]].width, p->R + p->row_at[i]);
  }
}

// R (at the pose of the rows) += (dJ) v' + rate dgap - drift (dJ) v + bounce (dJ) vhat
static tgStatus add_pose_residual(tgSim *s, const Parts *p, tgReal *R) {
  size_t mark = tgi_stack_mark(s);
  tgPose *pose = tgi_rows_pose(s);
  tgReal *y = tgi_stack_real(s, (size_t)s->nrow), *u = tgi_stack_real(s, (size_t)s->m.nv);
  bool drifts = false;
  if (y == NULL || u == NULL) return tgi_no_room(s, "Jacobian");
  for (int i = 0; i < s->nrow; i++) {
    y[i] = 1 - s->rows->drift[i];   // of the row's change with v', the rest with v' - v
    drifts = drifts || tgRe(s->rows->drift[i]) != 0;
  }
  for (int d = 0; d < s->m.nv; d++) u[d] = tgi_problem_velocity(s)[d] - s->start.vel[d];
  TG_TRY(tgi_rows_jacobian(s, pose, tgi_problem_velocity(s), drifts ? y : NULL, &p->to, p->row_at, R));
  if (drifts) TG_TRY(tgi_rows_jacobian(s, pose, u, s->rows->drift, &p->to, p->row_at, R));
  TG_TRY(tgi_rows_gap_jacobian(s, pose, s->rows->rate, &p->to, p->row_at, R));
  if (tgi_any_bounce(s)) TG_TRY(tgi_rows_jacobian(s, pose, s->vhat, s->rows->bounce, &p->to, p->row_at, R));
  tgi_stack_free(s, mark);
  return TG_OK;
}

// the same of rows ahead, carried to the start, and -drift J dv
static tgStatus add_far_residual(tgSim *s, const Parts *p) {
  Carry c;
  tgReal *R = tgi_stack_real(s, p->row_size);
  if (R == NULL || !take_carry(s, &c)) return tgi_no_room(s, "Jacobian");
  memset(R, 0, p->row_size * sizeof *R);
  TG_TRY(add_pose_residual(s, p, R));
  for (int i = 0; i < s->nrow; i++) {
    const int *span = s->rows->span + 4 * i;
    const tgReal *J = tgi_row(s, s->rows->J, i);
    tgReal *to = p->R + p->row_at[i];
    carry_row(s, &p->part[s->rows->island[i]], &c, R + p->row_at[i], to);
    for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++)
      if (*J != 0) to[p->to.v[d]] -= s->rows->drift[i] * *J;
  }
  return TG_OK;
}

// -drift J dv of rows at the start
static void add_start_drift(const tgSim *s, const Parts *p) {
  for (int i = 0; i < s->nrow; i++) {
    const int *span = s->rows->span + 4 * i;
    const tgReal *J = tgi_row(s, s->rows->J, i), drift = s->rows->drift[i];
    if (tgRe(drift) == 0) continue;
    for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++)
      if (*J != 0) p->R[p->row_at[i] + p->to.v[d]] -= drift * *J;
  }
}

// R = dr for all columns
static tgStatus residual_jacobian(tgSim *s, const Parts *p) {
  size_t mark = tgi_stack_mark(s);
  memset(p->R, 0, p->row_size * sizeof *p->R);
  add_row_products(s, NULL, p->G, p);
  bool away = tgi_rows_away(s) != 0;
  if (away) TG_TRY(add_far_residual(s, p));
  else TG_TRY(add_pose_residual(s, p, p->R));
  if (!away) add_start_drift(s, p);
  if (tgi_any_bounce(s)) {
    tgReal *free_motion = tgi_stack_real(s, p->size);
    if (free_motion == NULL) return tgi_no_room(s, "Jacobian");
    TG_TRY(balance_jacobian(s, s->vhat, NULL, p, free_motion, NULL));   // where clamps count is the end
    add_row_products(s, s->rows->bounce, free_motion, p);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// what the split of redundant impulses adds to df in a column at `to` of a part, from X, of a row every `stride`
static void add_null_column(tgSim *s, const Parts *p, int part, int to, int stride, const tgReal *X, tgReal *r, tgReal *df) {
  bool any = false;
  for (int i = 0; i < s->nrow; i++) {
    r[i] = X[i * stride];
    df[i] = 0;
    any = any || !tgZero(r[i]);
  }
  if (!any) return;
  s->contact_model->kind->rows->null_jvp(s, r, df);
  for (int i = 0; i < s->nrow; i++)
    if (s->rows->island[i] == part) p->R[p->row_at[i] + to] += df[i];
}

static void add_null_part(tgSim *s, const Parts *p, const tgReal *X, tgReal *r, tgReal *df) {
  int nv = s->m.nv, nu = s->m.nu;
  size_t half = (size_t)s->nrow * (size_t)nv;
  for (int d = 0; d < nv; d++) {
    add_null_column(s, p, p->of_dof[d], p->to.q[d], nv, X + d, r, df);
    if (tgi_rows_away(s) != 0) add_null_column(s, p, p->of_dof[d], p->to.v[d], nv, X + half + d, r, df);
  }
  for (int i = 0; i < nu; i++) add_null_column(s, p, p->of_dof[dof_of_actuator(&s->m, i)], p->to.u[i], nu, X + 2 * half + i, r, df);
}

// G += Mh^-1 J' df of an island, of its rows `live`
static void add_response(tgSim *s, const Parts *p, int island, const int *live, int nlive) {
  const Part *part = &p->part[island];
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  for (int k = 0; k < part->ndof; k++) {
    int d = part->dof[k], count = 0;
    for (int a = 0; a < nlive; a++) {
      int own = tgi_row_place(s, row[live[a]], d);
      if (own < 0) continue;
      p->w[count] = tgi_row(s, s->rows->MiJ, row[live[a]])[own];
      p->at[count++] = p->row_at[row[live[a]]];
    }
    tgi_combine(count, p->w, p->at, p->R, part->width, p->G + p->to.row[d]);
  }
}

// row i of df, from its block, into the dense F
static void scatter_force(const tgSim *s, const Parts *p, int i, tgReal *F) {
  int nv = s->m.nv;
  const Part *part = &p->part[s->rows->island[i]];
  const tgReal *g = p->R + p->row_at[i];
  tgReal *out = F + (size_t)i * (size_t)(2 * nv + s->m.nu);
  for (int k = 0; k < part->ndof; k++) {
    out[part->dof[k]] = g[k];
    out[nv + part->dof[k]] = g[part->ndof + k];
  }
  for (int k = 0; k < part->nact; k++) out[2 * nv + part->act[k]] = g[2 * part->ndof + k];
}

// G += Mh^-1 J' df; F: df, NULL: not wanted
static tgStatus add_impulse_change(tgSim *s, const Parts *p, tgReal *F) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t n = (size_t)s->nrow;
  tgReal *r = tgi_stack_real(s, 2 * n), *X = NULL;
  if (r == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(residual_jacobian(s, p));
  if (F != NULL) memset(F, 0, n * (2 * (size_t)s->m.nv + (size_t)s->m.nu) * sizeof *F);
  if (k->null_part(s, F != NULL, r)) {
    X = tgi_stack_real(s, n * (2 * (size_t)s->m.nv + (size_t)s->m.nu));
    if (X == NULL) return tgi_no_room(s, "Jacobian");
    TG_TRY(response_jacobian(s, r, X));
  }
  for (int island = 0; island < s->nisland; island++) {
    const int *row = s->rows->island_row + s->rows->island_adr[island];
    int count = tgi_island_rows(s, island), nlive;
    for (int a = 0; a < count; a++) p->at[a] = p->row_at[row[a]];
    TG_TRY(k->solve_columns(s, island, F != NULL, p->part[island].width, p->at, p->R, p->live, &nlive));
    if (X == NULL) add_response(s, p, island, p->live, nlive);
    for (int a = 0; X == NULL && F != NULL && a < nlive; a++) scatter_force(s, p, row[p->live[a]], F);
  }
  if (X == NULL) return TG_OK;
  add_null_part(s, p, X, r, r + n);
  for (int i = 0; F != NULL && i < s->nrow; i++) scatter_force(s, p, i, F);
  for (int island = 0; island < s->nisland; island++) {
    int count = tgi_island_rows(s, island);
    for (int a = 0; a < count; a++) p->live[a] = a;
    add_response(s, p, island, p->live, count);
  }
  return TG_OK;
}

// the blocks into the dense matrix
static void scatter(const tgSim *s, const Parts *p, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  if (p->n > 1) memset(D, 0, (size_t)nv * (size_t)nc * sizeof *D);
  for (int d = 0; d < nv; d++) {
    const Part *part = &p->part[p->of_dof[d]];
    const tgReal *g = p->G + p->to.row[d];
    tgReal *out = D + (size_t)d * (size_t)nc;
    if (part->ndof == nv) {
      memcpy(out, g, (size_t)nc * sizeof *out);
      continue;
    }
    for (int k = 0; k < part->ndof; k++) {
      out[part->dof[k]] = g[k];
      out[nv + part->dof[k]] = g[part->ndof + k];
    }
    for (int k = 0; k < part->nact; k++) out[2 * nv + part->act[k]] = g[2 * part->ndof + k];
  }
}

tgStatus tgi_impulse_jacobian(tgSim *s, tgReal *D, int *clamps) { return tgi_impulse_forces_jacobian(s, D, NULL, clamps); }

tgStatus tgi_impulse_forces_jacobian(tgSim *s, tgReal *D, tgReal *F, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  bool rows = s->nrow > 0 && !tgi_no_contact_gradient(s);
  Parts p;
  tgStatus status = take_parts(s, rows, &p) ? TG_OK : tgi_no_room(s, "Jacobian");
  if (status >= 0) status = balance_jacobian(s, tgi_problem_velocity(s), rows ? s->rows->f : NULL, &p, p.G, clamps);
  if (status >= 0 && rows) status = add_impulse_change(s, &p, F);
  if (status >= 0) scatter(s, &p, D);
  tgi_stack_free(s, mark);
  return status;
}

// ---- in the length of the part ----

// what h adds to (dA) beta of redundant rows through Mh: -J Mh^-1 (dMh/dh) Mh^-1 J' beta, a = Mh^-1 J' beta
static void response_to_length(const tgSim *s, const tgReal *a, tgReal *row, tgReal *x) {
  const tgModel *m = &s->m;
  tgStepEnd at;
  bool servos = tgi_servo_end(s, s->start.vel, &at) != NULL;
  double late = tgi_late(s);
  for (int i = 0; i < s->nrow; i++) {
    tgReal sum = 0, more = 0;
    for (int d = 0; d < m->nv; d++) {
      row[d] = tgi_row_number(s, s->rows->MiJ, i, d);
      if (!tgi_explicit_damping(s)) sum += row[d] * (m->dof_damping[d] + 2 * late * s->dt * tgi_implicit_stiffness(s, d)) * a[d];
    }
    if (servos) tgi_servo_matrix_vjp(s, late * s->dt, row, a, NULL, NULL, &more);
    x[i] = -late * (sum + more);
  }
}

// x -= h d(share (c~ - c))/dh of fast trees, by its adjoint
static tgStatus carried_by_length(tgSim *s, tgReal *x) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, 3 * nv + 1);
  if (w == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t i = 0; i < nv && tgi_any_carried(s); i++) {
    memset(w, 0, 3 * nv * sizeof *w);
    w[i] = -s->dt;
    if (tgRe(s->carried_share[i]) != 0) TG_TRY(tgi_carried_vjp(s, w, w + nv, w + 2 * nv, &x[i], NULL));
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Mh dv/dh at held free impulses: Mh (u - v) = h (tau - c) - h^2 K v, servos at the end, and dry friction at its bound
static void balance_by_length(const tgSim *s, const tgReal *u, tgReal *unit, tgReal *x) {
  const tgModel *m = &s->m;
  tgStepEnd at;
  const tgStepEnd *end = tgi_servo_end(s, u, &at);
  double late = tgi_late(s);
  if (end != NULL) tgi_servo_forces(s, end, x);
  for (int d = 0; d < m->nv; d++) {
    tgReal tau = end != NULL ? s->qfrc_applied[d] + x[d] + s->qfrc_passive[d] : s->tau[d], rate = 0;
    if (end != NULL) {
      for (int k = 0; k < m->nv; k++) unit[k] = k == d;
      rate = late * s->dt * tgi_servo_rate(s, end, unit);
    }
    tgReal change = u[d] - s->start.vel[d];
    x[d] = tau - s->bias[d] - tgi_carried_force(s, d) + rate;
    if (!tgi_explicit_damping(s))
      x[d] -= 2 * s->dt * tgi_implicit_stiffness(s, d) * (s->midway ? late * late * change : u[d]) + late * m->dof_damping[d] * change;
  }
}

static tgStatus turned_by_length(tgSim *s, const tgReal *u, tgReal *x);

// x = Mh dv/dh at held impulses, u the velocity at the end; unit: work, nv
static tgStatus free_by_length(tgSim *s, const tgReal *u, tgReal *unit, tgReal *x) {
  balance_by_length(s, u, unit, x);
  TG_TRY(carried_by_length(s, x));
  return s->midway && s->turning > 0 ? turned_by_length(s, u, x) : TG_OK;
}

// x += in h what the balance has by u_k, u the velocity at the end
static tgStatus turned_by_length(tgSim *s, const tgReal *u, tgReal *x) {
  int level = s->turning;
  const tgReal *ahead = tgi_foreseen(s, level);
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  const tgiPlaces *dense = tgi_places_dense(s);
  tgReal *E = tgi_stack_real(s, nv * nv + 1), *a = tgi_stack_real(s, 6 * nv + 1), *y = a + nv, *c = a + 2 * nv, *work = a + 3 * nv;
  if (dense == NULL || E == NULL || a == NULL) return tgi_no_room(s, "Jacobian");
  memset(E, 0, nv * nv * sizeof *E);
  tgi_mean_acceleration(s, u, a);
  TG_TRY(tgi_turned_forces_into(s, a, dense, NULL, E, NULL));
  bool ordered = tgi_order_is_turned(s);
  tgi_events(s)->order.turned = false;
  tgi_midway_level(s, level - 1);
  tgStatus status = free_by_length(s, ahead, work, y);
  tgi_midway_level(s, level);
  if (ordered) tgi_order_turn(s, true);
  if (status < 0) return status;
  tgi_impulse_solve(s, y, y);
  tgi_midway_shares(s, c);
  for (size_t d = 0; d < nv; d++) {
    tgReal by_h = 0;
    if (tgRe(c[d]) != 0 && tgRe(s->carried_share[d]) != 0) tgi_carried_share_slope(s, (int)d, work, work + 2 * nv, &by_h);
    y[d] = c[d] * y[d] - 0.5 * (ahead[d] - s->start.vel[d]) * by_h;
  }
  for (size_t i = 0; i < nv; i++)
    for (size_t d = 0; d < nv; d++) x[i] += E[i * nv + d] * y[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// y += A x, A n x nv
static void add_product(int n, int nv, const tgReal *A, const tgReal *x, tgReal *y) {
  for (int i = 0; i < n; i++)
    for (int d = 0; d < nv; d++) y[i] += A[i * nv + d] * x[d];
}

// Rows at another pose move with the length: it by dq = d(q (+) way h v)/dh. g (nv) += d(J' f), r (nrow) += what it puts into the residual.
static tgStatus add_far_by_length(tgSim *s, tgReal *dq, tgReal *g, tgReal *r) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv, n = (size_t)s->nrow, mark;
  for (size_t d = 0; d < nv; d++) dq[d] = 0;
  double way = tgi_rows_away(s);
  if (way == 0) return TG_OK;
  mark = tgi_stack_mark(s);
  int *at = tgi_stack_bytes(s, (n + 1) * sizeof *at);
  const tgiPlaces *dense = tgi_places_dense(s);
  tgReal *X = tgi_stack_real(s, 6 * (size_t)m->nbody), *F = tgi_stack_real(s, nv * nv + 1), *R = tgi_stack_real(s, n * nv + 1),
         *w = tgi_stack_real(s, nv + 1);
  if (at == NULL || dense == NULL || X == NULL || F == NULL || R == NULL || w == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t d = 0; d < nv; d++) w[d] = way * s->dt * s->start.vel[d];
  tgi_integrate_jacobian(m, w, 1, NULL, s->start.vel, dq);
  for (size_t d = 0; d < nv; d++) dq[d] *= way;
  memset(F, 0, nv * nv * sizeof *F);
  tgi_rows_wrench(s, tgi_rows_pose(s), s->rows->f, X);
  TG_TRY(wrench_jacobian(s, tgi_rows_pose(s), X, dense, F));
  tgi_rows_force_jacobian(s, tgi_rows_pose(s), s->rows->f, dense, F);
  add_product((int)nv, (int)nv, F, dq, g);
  for (size_t i = 0; i < n; i++) at[i] = (int)(i * nv);
  memset(R, 0, n * nv * sizeof *R);
  TG_TRY(add_pose_residual(s, &(Parts){.to = *dense, .row_at = at}, R));
  add_product((int)n, (int)nv, R, dq, r);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// x (nrow) += what the rows' pose puts into (dA) beta where it moves by dq; a = Mh^-1 J' beta
static tgStatus add_far_response(tgSim *s, const tgReal *beta, const tgReal *a, const tgReal *dq, tgReal *x) {
  size_t nv = (size_t)s->m.nv, n = (size_t)s->nrow, mark = tgi_stack_mark(s);
  tgReal *R = tgi_stack_real(s, nv * nv + 1), *X = tgi_stack_real(s, n * nv + 1), *work = tgi_stack_real(s, nv + 1);
  if (R == NULL || X == NULL || work == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(response_of_rows(s, beta, a, R, X));
  add_responses(s, R, work, X);
  add_product((int)n, (int)nv, X, dq, x);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// df of the rows: r is their residual but for J g, with g = dv at held impulses
static tgStatus add_rows_by_length(tgSim *s, const tgReal *g, const tgReal *dq, tgReal *r, tgReal *out, tgReal *forces) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t n = (size_t)s->nrow, nv = (size_t)s->m.nv;
  tgReal *df = tgi_stack_real(s, 3 * n + 1), *beta = df + n, *x = df + 2 * n, *a = tgi_stack_real(s, 2 * nv + 1);
  if (df == NULL || a == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t i = 0; i < n; i++) r[i] += tgi_row_dot(s, s->rows->J, (int)i, g) - s->rows->rate[i] * s->rows->gap[i] / s->dt;
  k->solve_jvp(s, r, df);
  if (k->null_part(s, forces != NULL, beta)) {
    tgi_rows_tmul(s, beta, a);
    tgi_impulse_solve(s, a, a);
    response_to_length(s, a, a + nv, x);
    if (tgi_rows_away(s) != 0) TG_TRY(add_far_response(s, beta, a, dq, x));
    k->null_jvp(s, x, df);
  }
  tgi_rows_respond(s, df, out);
  if (forces != NULL) memcpy(forces, df, n * sizeof *forces);
  return TG_OK;
}

tgStatus tgi_impulse_length_derivative(tgSim *s, tgReal *out) { return tgi_impulse_length_forces(s, out, NULL); }

tgStatus tgi_impulse_length_forces(tgSim *s, tgReal *out, tgReal *forces) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv, n = (size_t)s->nrow;
  bool rows = s->nrow > 0 && !tgi_no_contact_gradient(s);
  tgReal *g = tgi_stack_real(s, 3 * nv + n + 1), *dq = g + 2 * nv, *r = g + 3 * nv;
  if (g == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(free_by_length(s, tgi_problem_velocity(s), g + nv, g));
  for (int i = 0; rows && i < s->nrow; i++) {
    tgReal side = s->rows->kind[i] == TG_ROW_FRICTION ? s->contact_model->kind->rows->side(s, i) : 0;
    r[i] = 0;
    if (side != 0) tgi_row_add(s, s->rows->J, i, side * s->rows->limit[i] / s->dt, g);
  }
  if (rows) TG_TRY(add_far_by_length(s, dq, g, r));
  tgi_impulse_solve(s, g, g);
  memcpy(out, g, nv * sizeof *out);
  tgStatus status = rows ? add_rows_by_length(s, g, dq, r, out, forces) : TG_OK;
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_rows_pull_jacobian(tgSim *s, const tgPose *pose, const tgReal *f, tgReal *Q) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  const tgiPlaces *dense = tgi_places_dense(s);
  tgReal *X = tgi_stack_real(s, 6 * (size_t)s->m.nbody);
  if (dense == NULL || X == NULL) return tgi_no_room(s, "Jacobian");
  memset(Q, 0, nv * nv * sizeof *Q);
  tgi_rows_wrench(s, pose, f, X);
  TG_TRY(wrench_jacobian(s, pose, X, dense, Q));
  tgi_rows_force_jacobian(s, pose, f, dense, Q);
  tgi_stack_free(s, mark);
  return TG_OK;
}
