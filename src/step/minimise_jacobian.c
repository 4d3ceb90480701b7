// minimise_jacobian.c: the dense derivative of a step of a law with an energy, forward. Shares no derivative code with minimise_vjp.c.
//
// Based on: [math/barrier Gradient]. Columns of B = d(dL/dq')/d(q0, v0, u), then dq' = -H^-1 B and dv' = (Jr^-1 dq' - Jr^-T dq0)/h.
//   bodies: S' C S_old, C = c [[tr P 1 - P', [m c]], [-[m c_old], m 1]], P = R Sigma R_old' + m c c_old', summed over subtrees;
//   axes of the pose a step before as q0 and v0 move it: S_old exp(-[w]) and -h S_old Jr(w), w = -h v0.
#include "step/minimise.h"

#include <string.h>

#include "dyn/forces.h"
#include "math/quat.h"
#include "step/minimise_coupling.h"
#include "step/objective.h"
#include "step/step.h"

static void skew(const tgReal *x, tgReal scale, int ld, tgReal *out) {
  tgReal full[9] = {0, -x[2], x[1], x[2], 0, -x[0], -x[1], x[0], 0};
  for (int i = 0; i < 9; i++) out[i / 3 * ld + i % 3] = scale * full[i];
}

// C of body b between its new pose and old pose k
static void cross_inertia(const tgSim *s, int b, int k, tgReal *C) {
  const tgReal *c = s->end.xcom + 3 * b, *old = tgi_old_pose(s, k)->xcom + 3 * b;
  tgReal factor = (k == 0 ? -2 : 1) / (s->h * s->h), mass = factor * s->m.body_mass[b], Sigma[9], t[9], P[9];
  tgi_spread(s, b, Sigma);
  tgi_m3_mul(t, s->end.xmat + 9 * b, Sigma);
  tgi_m3_mult(P, t, tgi_old_pose(s, k)->xmat + 9 * b);
  for (int i = 0; i < 9; i++) P[i] = factor * P[i] + mass * c[i / 3] * old[i % 3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) C[6 * i + j] = (i == j ? P[0] + P[4] + P[8] : 0) - P[3 * j + i];
  skew(c, mass, 6, C + 3);
  skew(old, -mass, 6, C + 18);
  for (int i = 0; i < 9; i++) C[6 * (3 + i / 3) + 3 + i % 3] = i % 4 == 0 ? mass : 0;
}

static void mul6(const tgReal *C, const tgReal *x, bool transposed, tgReal *r) {
  for (int i = 0; i < 6; i++) {
    r[i] = 0;
    for (int j = 0; j < 6; j++) r[i] += (transposed ? C[6 * j + i] : C[6 * i + j]) * x[j];
  }
}

// B (columns from `from` on) += S' C old, old (nv x 6) axes at the old pose
static void add_tree(const tgSim *s, const tgReal *C, const tgReal *old, int nc, int from, tgReal *B) {
  const tgModel *m = &s->m;
  for (int j = 0; j < m->nv; j++) {
    tgReal x[6];
    mul6(C + 36 * m->dof_body[j], old + 6 * j, false, x);
    for (int i = j; i >= 0; i = m->dof_parent[i]) B[i * nc + from + j] += tgi_sp_dot(s->end.S + 6 * i, x);
    mul6(C + 36 * m->dof_body[j], s->end.S + 6 * j, true, x);
    for (int i = m->dof_parent[j]; i >= 0; i = m->dof_parent[i]) B[j * nc + from + i] += tgi_sp_dot(old + 6 * i, x);
  }
}

// axes a step before as tangents at q0 (h = 0), or velocities, move them
static void old_axes(const tgSim *s, double h, tgReal *out) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++)
    for (int i = 0; i < 6; i++) out[6 * d + i] = (h == 0 ? 1 : -h) * s->before.S[6 * d + i];
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal w[3], T[9], e[4], x[18];
    if (d < 0) continue;
    tgi_v3_scale(w, s->start.vel + d, -s->h);
    if (h == 0) {
      tgi_v3_scale(w, w, -1);
      tgi_quat_exp(e, w);
      tgi_quat_to_mat(T, e);
    } else {
      tgi_so3_jr(T, w);
    }
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < 6; i++) {
        x[6 * c + i] = 0;
        for (int r = 0; r < 3; r++) x[6 * c + i] += out[6 * (d + r) + i] * T[3 * r + c];
      }
    memcpy(out + 6 * d, x, sizeof x);
  }
}

static tgStatus bodies(tgSim *s, int nc, tgReal *B) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *C = tgi_stack_real(s, 36 * (size_t)m->nbody), *old = tgi_stack_real(s, 6 * (size_t)m->nv);
  if (C == NULL || old == NULL) return tgi_no_room(s, "Jacobian");
  for (int k = 0; k < 2; k++) {
    memset(C, 0, 36 * (size_t)m->nbody * sizeof *C);
    for (int b = 1; b < m->nbody; b++)
      if (m->body_lastdof[b] >= 0) cross_inertia(s, b, k, C + 36 * b);
    for (int b = m->nbody - 1; b > 0; b--)
      for (int i = 0; i < 36; i++) C[36 * m->body_parent[b] + i] += C[36 * b + i];
    if (k == 0) memcpy(old, s->start.S, 6 * (size_t)m->nv * sizeof *old);
    else old_axes(s, 0, old);
    add_tree(s, C, old, nc, 0, B);
  }
  old_axes(s, s->h, old);
  add_tree(s, C, old, nc, m->nv, B);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static void contacts(const tgSim *s, int nc, tgReal *B) {
  const tgModel *m = &s->m;
  if (s->contact_model->kind->law->start_d == NULL) return;
  for (int t = 0; t < s->nterm; t++) {
    const int body[2] = {s->term[t].body1, s->term[t].body2};
    for (int a = 0; a < 4; a++)
      for (int j = m->body_lastdof[body[a % 2]]; j >= 0; j = m->dof_parent[j]) {
        tgReal x[6];
        for (int r = 0; r < 6; r++) {
          x[r] = 0;
          for (int c = 0; c < 6; c++) x[r] += s->term[t].B[12 * (a / 2 * 6 + r) + a % 2 * 6 + c] * s->start.S[6 * j + c];
        }
        for (int i = m->body_lastdof[body[a / 2]]; i >= 0; i = m->dof_parent[i]) B[i * nc + j] -= tgi_sp_dot(s->end.S + 6 * i, x);
      }
  }
}

// Dv = (Jr^-1 D - Jr^-T in the columns of q0)/h
static void velocities(const tgSim *s, const tgReal *delta, int nc, const tgReal *D, tgReal *Dv) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv;) {
    int n = m->dof_grpnum[d];
    tgReal J[9] = {1};
    if (n == 3) tgi_so3_jr_inv(J, delta + d);
    for (int r = 0; r < n; r++) {
      for (int c = 0; c < nc; c++) {
        tgReal sum = 0;
        for (int i = 0; i < n; i++) sum += J[n * r + i] * D[(d + i) * nc + c];
        Dv[(d + r) * nc + c] = sum / s->h;
      }
      for (int i = 0; i < n; i++) Dv[(d + r) * nc + d + i] -= J[n * i + r] / s->h;
    }
    d += n;
  }
}

static tgStatus implicit_jacobian(tgSim *s, tgReal *D, int *clamps) {
  const tgModel *m = &s->m;
  int nc = 2 * m->nv + m->nu;
  size_t size = (size_t)m->nv * (size_t)nc;
  tgiObjective o;
  if (!tgi_objective_take(s, s->h, &o)) return tgi_no_room(s, "Jacobian");
  TG_TRY(tgi_minimise_mixed(s));
  tgi_joint_slopes(s, &s->end, &o.joints);
  memset(D, 0, size * sizeof *D);
  TG_TRY(bodies(s, nc, D));
  contacts(s, nc, D);
  TG_TRY(tgi_joint_start_jacobian(s, &s->end, &o.joints, nc, D, clamps));
  TG_TRY_OUTCOME(tgi_coupling_solve_columns(s, nc, D));
  for (size_t i = 0; i < size; i++) D[i] = -D[i];
  velocities(s, o.joints.delta, nc, D, D + size);
  return TG_OK;
}

tgStatus tgi_minimise_jacobian(tgSim *s, tgReal *D, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = implicit_jacobian(s, D, clamps);
  tgi_stack_free(s, mark);
  return status;
}
