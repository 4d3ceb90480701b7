// springs.c: springdamper of joints and dampratio of actuators, from the mass matrix M at qpos0, as MuJoCo 4 has them.
//
//   springdamper (T, z): I = n/sum of (M^-1)_dd over the joint's n dofs; stiffness I/(T z)^2, damping 2 I/T;
//   dampratio z: bias2 = -2 z sqrt(kp/(J M^-1 J')), J the actuator's moment; 0 where J is.
#include <string.h>

#include "math/ldl.h"
#include "math/quat.h"
#include "math/spatial.h"
#include "model/compile.h"

typedef struct Rest {
  const tgModel *m;
  tgReal *S;      // nv x 6: how a unit rate of a dof moves its body, world axes at the world's origin
  tgReal *I;      // nbody x TG_INERTIA_SIZE: of a body and all that it carries
  tgReal *row;    // nv: what is asked for
  tgReal *x, *U;  // a solution and a factor, of one tree
  int tree;       // its first dof, -1: none yet
} Rest;

static bool wanted(const tgDesc *d) {
  for (int i = 0; i < d->njoint; i++)
    if (d->joint[i].springdamper[0] > 0) return true;
  for (int i = 0; i < d->nactuator; i++)
    if (d->actuator[i].dampratio > 0) return true;
  return false;
}

// S of dof k of joint j of which the body's frame is x, R
static void motion(const tgModel *m, int j, int k, const tgReal *x, const tgReal *R, tgReal *S) {
  int type = m->jnt_type[j];
  tgReal axis[3], at[3];
  tgi_m3_mulv(at, R, m->jnt_pos + 3 * j);
  tgi_v3_add(at, at, x);
  if (type == TG_JOINT_FREE && k < 3) {
    for (int i = 0; i < 6; i++) S[i] = i == 3 + k;
    return;
  }
  if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE) tgi_m3_mulv(axis, R, m->jnt_axis + 3 * j);
  else tgi_m3_col(axis, R, k % 3);
  if (type == TG_JOINT_SLIDE) {
    tgi_v3_zero(S);
    tgi_v3_copy(S + 3, axis);
  } else {
    tgi_v3_copy(S, axis);
    tgi_v3_cross(S + 3, at, axis);
  }
}

static void fill(const tgCompile *c, Rest *r) {
  const tgModel *m = r->m;
  memset(r->I, 0, (size_t)(TG_INERTIA_SIZE * m->nbody) * sizeof *r->I);
  for (int b = m->nbody - 1; b > 0; b--) {   // children come after their parents
    tgReal R[9], com[3], I[TG_INERTIA_SIZE];
    tgi_quat_to_mat(R, c->xquat + 4 * b);
    tgi_m3_mulv(com, R, m->body_com + 3 * b);
    tgi_v3_add(com, com, c->xpos + 3 * b);
    tgi_sp_inertia(I, m->body_mass[b], com, m->body_inertia + 6 * b, R);
    for (int i = 0; i < TG_INERTIA_SIZE; i++) {
      r->I[TG_INERTIA_SIZE * b + i] += I[i];
      r->I[TG_INERTIA_SIZE * m->body_parent[b] + i] += r->I[TG_INERTIA_SIZE * b + i];
    }
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++)
      motion(m, m->dof_jnt[d], d - m->jnt_vadr[m->dof_jnt[d]], c->xpos + 3 * b, R, r->S + 6 * d);
  }
}

// M of the tree from the dof on [RBDA 6.2], factored; of dofs between that belong to other trees the identity
static bool factor(Rest *r, int root) {
  const tgModel *m = r->m;
  int n = m->dof_tree[2 * root + 1] - root;
  if (r->tree == root) return true;
  memset(r->U, 0, (size_t)n * (size_t)n * sizeof *r->U);
  for (int j = root; j < root + n; j++) {
    tgReal f[6];
    tgi_sp_inertia_mul(f, r->I + TG_INERTIA_SIZE * m->dof_body[j], r->S + 6 * j);
    bool own = m->dof_tree[2 * j] == root;
    for (int i = j; i >= 0 && own; i = m->dof_parent[i]) r->U[(i - root) * n + j - root] = tgi_sp_dot(r->S + 6 * i, f);
    r->U[(j - root) * n + j - root] += own ? m->dof_armature[j] : 1;
  }
  r->tree = root;
  return tgi_ldl_factor(n, r->U, r->U);
}

// sum = row M^-1 row', tree by tree; false where M is not positive definite
static bool response(Rest *r, tgReal *sum) {
  const tgModel *m = r->m;
  *sum = 0;
  for (int root = 0; root < m->nv; root++) {
    int n = m->dof_tree[2 * root + 1] - root;
    bool any = false;
    if (m->dof_tree[2 * root] != root) continue;
    for (int i = 0; i < n; i++) {
      r->x[i] = m->dof_tree[2 * (root + i)] == root ? r->row[root + i] : 0;
      any = any || !tgZero(r->x[i]);
    }
    if (!any) continue;
    if (!factor(r, root)) return false;
    tgi_ldl_solve(n, r->U, r->x);
    for (int i = 0; i < n; i++)
      if (m->dof_tree[2 * (root + i)] == root) *sum += r->row[root + i] * r->x[i];
  }
  return true;
}

static void empty_row(Rest *r) { memset(r->row, 0, (size_t)r->m->nv * sizeof *r->row); }

static bool joint(Rest *r, tgModel *m, int j, const double springdamper[2]) {
  int from = m->jnt_vadr[j], end = from;
  tgReal sum = 0, one;
  while (end < m->nv && m->dof_jnt[end] == j) end++;
  for (int d = from; d < end; d++) {
    empty_row(r);
    r->row[d] = 1;
    if (!response(r, &one)) return false;
    sum += one;
  }
  tgReal inertia = (end - from) / sum;
  PUT_REAL(jnt_stiffness, j, inertia / (springdamper[0] * springdamper[0] * springdamper[1] * springdamper[1]));
  for (int d = from; d < end; d++) PUT_REAL(dof_damping, d, 2 * inertia / springdamper[0]);
  return true;
}

static bool actuator(Rest *r, tgModel *m, int i, double ratio) {
  int target = m->act_target[i];
  const tgReal *gear = m->act_gear + 6 * i;
  tgReal sum;
  empty_row(r);
  if (m->act_trn[i] == TG_TRN_TENDON) {
    for (int w = m->ten_adr[target]; w < m->ten_adr[target] + m->ten_num[target]; w++)
      r->row[m->jnt_vadr[m->wrap_jnt[w]]] += gear[0] * m->wrap_coef[w];
  } else {
    for (int d = m->jnt_vadr[target], k = 0; d < m->nv && m->dof_jnt[d] == target; d++) r->row[d] = gear[k++];
  }
  if (!response(r, &sum)) return false;
  PUT_REAL(act_bias, 3 * i + 2, tgRe(sum) > 0 ? -2 * ratio * tgSqrt(m->act_gain[3 * i] / sum) : 0);
  return true;
}

static tgStatus not_definite(tgCompile *c, tgSource source, const char *what, const char *name, int i) {
  char label[128];
  return tgi_compile_error(c, TG_ERR_INVALID, source, tgi_desc_label(what, name, i, label, sizeof label),
                           "the mass matrix at qpos0, of which its damping is made, is not positive definite; look for bodies without "
                           "mass or inertia that a joint moves");
}

static tgStatus resolve(tgCompile *c, Rest *r) {
  const tgDesc *d = c->desc;
  fill(c, r);
  for (int i = 0; i < d->njoint; i++)
    if (d->joint[i].springdamper[0] > 0 && !joint(r, c->m, c->joint_to[i], d->joint[i].springdamper))
      return not_definite(c, d->joint[i].source, "joint", d->joint[i].name, i);
  for (int i = 0; i < d->nactuator; i++)
    if (d->actuator[i].dampratio > 0 && !actuator(r, c->m, i, d->actuator[i].dampratio))
      return not_definite(c, d->actuator[i].source, "actuator", d->actuator[i].name, i);
  return TG_OK;
}

tgStatus tgi_compile_springs(tgCompile *c) {
  const tgModel *m = c->m;
  if (!wanted(c->desc)) return TG_OK;
  size_t nv = (size_t)m->nv, width = 0;
  for (int d = 0; d < m->nv; d++)
    if ((size_t)(m->dof_tree[2 * d + 1] - d) > width) width = (size_t)(m->dof_tree[2 * d + 1] - d);
  size_t n = 7 * nv + TG_INERTIA_SIZE * (size_t)m->nbody + width + width * width;
  Rest r = {.m = m, .tree = -1, .S = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(n, sizeof *r.S))};
  if (r.S == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the mass matrix of %d dofs", m->nv);
  r.row = r.S + 6 * nv;
  r.I = r.row + nv;
  r.x = r.I + TG_INERTIA_SIZE * (size_t)m->nbody;
  r.U = r.x + width;
  tgStatus st = resolve(c, &r);
  c->alloc.free(c->alloc.ctx, r.S);
  return st;
}
