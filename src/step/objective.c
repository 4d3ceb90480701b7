// objective.c: see objective.h. Inertia, gravity and the contact model's pair terms; joints are in joint/.
#include "step/objective.h"

#include <string.h>

bool tgi_objective_take(tgSim *s, double h, tgiObjective *o) {
  size_t nv = (size_t)s->m.nv, nbody = (size_t)s->m.nbody;
  *o = (tgiObjective){.h = h};
  o->g = tgi_stack_real(s, nv);
  o->wrench = tgi_stack_real(s, 6 * nbody);
  o->K = tgi_stack_real(s, 36 * nbody);
  return tgi_joint_take(s, h, &o->joints) && o->g != NULL && o->wrench != NULL && o->K != NULL;
}

tgStatus tgi_objective_begin(tgSim *s, double h) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *q = tgi_stack_real(s, (size_t)m->nq);
  if (w == NULL || q == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  for (int d = 0; d < m->nv; d++) w[d] = -h * s->start.vel[d];
  tg_model_integrate(m, s->start.q, w, q);
  tgi_kinematics(m, q, &s->before);
  tgi_stack_free(s, mark);
  return TG_OK;
}

void tgi_second_difference(const tgSim *s, const tgPose *pose, int b, tgReal *A, tgReal *a) {
  const tgReal *R = pose->xmat + 9 * b, *R0 = s->start.xmat + 9 * b, *R1 = s->before.xmat + 9 * b;
  const tgReal *c = pose->xcom + 3 * b, *c0 = s->start.xcom + 3 * b, *c1 = s->before.xcom + 3 * b;
  for (int i = 0; i < 9; i++) A[i] = (R[i] - R0[i]) - (R0[i] - R1[i]);
  for (int i = 0; i < 3; i++) a[i] = (c[i] - c0[i]) - (c0[i] - c1[i]);
}

void tgi_spread(const tgSim *s, int b, tgReal *Sigma) {
  const tgReal *I = s->m.body_inertia + 6 * b;
  tgReal half = (I[0] + I[1] + I[2]) / 2;
  tgReal full[9] = {half - I[0], -I[3], -I[4], -I[3], half - I[1], -I[5], -I[4], -I[5], half - I[2]};
  tgi_m3_copy(Sigma, full);
}

// derivative of a body's energy by the entries of (R | c): G (3x3) and f; returns the energy
static tgReal body_energy(const tgSim *s, const tgPose *pose, int b, double h, tgReal *G, tgReal *f) {
  const tgModel *m = &s->m;
  tgReal A[9], a[3], Sigma[9], mass = m->body_mass[b], weight = (1 - m->body_gravcomp[b]) * mass, E = 0;
  tgi_second_difference(s, pose, b, A, a);
  tgi_spread(s, b, Sigma);
  tgi_m3_mul(G, A, Sigma);
  for (int i = 0; i < 9; i++) {
    G[i] /= h * h;
    E += A[i] * G[i] / 2;
  }
  for (int i = 0; i < 3; i++) {
    f[i] = mass * a[i] / (h * h);
    E += a[i] * f[i] / 2;
    f[i] -= weight * m->opt_gravity[i];
  }
  return E - weight * tgi_v3_dot(m->opt_gravity, pose->xcom + 3 * b);
}

// w = (sum over columns R_k x G_k + c x f; f)
static void body_wrench(const tgReal *R, const tgReal *c, const tgReal *G, const tgReal *f, tgReal *w) {
  tgReal r[3], g[3], t[3];
  tgi_sp_screw(w, c, f);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(r, R, k);
    tgi_m3_col(g, G, k);
    tgi_v3_cross(t, r, g);
    tgi_v3_add(w, w, t);
  }
}

// K: the body's inertia about the world origin over h^2, and the turn of its forces: (X + X')/2 - tr X 1, X = G R' + f c', and -[f]/2
static void body_curvature(const tgSim *s, const tgPose *pose, int b, double h, tgReal *K) {
  const tgReal *R = pose->xmat + 9 * b, *c = pose->xcom + 3 * b;
  tgReal G[9], f[3], X[9], P[9], Sigma[9], t[9], mass = s->m.body_mass[b] / (h * h);
  body_energy(s, pose, b, h, G, f);
  tgi_spread(s, b, Sigma);
  tgi_m3_mul(t, R, Sigma);
  tgi_m3_mult(P, t, R);
  tgi_m3_mult(X, G, R);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      X[3 * i + j] += f[i] * c[j];
      P[3 * i + j] = P[3 * i + j] / (h * h) + mass * c[i] * c[j];
    }
  tgReal trace = P[0] + P[4] + P[8] - X[0] - X[4] - X[8];
  memset(K, 0, 36 * sizeof *K);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) K[6 * i + j] = (X[3 * i + j] + X[3 * j + i]) / 2 - P[3 * i + j];
    K[7 * i] += trace;
    K[6 * (3 + i) + 3 + i] = mass;
  }
  // [m c] - [f]/2 above the diagonal, its transpose below
  tgReal x[3], cross[9];
  for (int i = 0; i < 3; i++) x[i] = mass * c[i] - f[i] / 2;
  tgReal full[9] = {0, -x[2], x[1], x[2], 0, -x[0], -x[1], x[0], 0};
  tgi_m3_copy(cross, full);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) K[6 * i + 3 + j] = K[6 * (3 + j) + i] = cross[3 * i + j];
}

void tgi_body_terms(const tgSim *s, const tgPose *pose, int b, double h, tgReal *w, tgReal *K) {
  tgReal G[9], f[3];
  body_energy(s, pose, b, h, G, f);
  body_wrench(pose->xmat + 9 * b, pose->xcom + 3 * b, G, f, w);
  body_curvature(s, pose, b, h, K);
}

static double largest(const tgReal *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(x[i])));
  return most;
}

static void to_parents(const tgModel *m, int n, tgReal *x) {
  for (int b = m->nbody - 1; b > 0; b--)
    for (int i = 0; i < n; i++) x[n * m->body_parent[b] + i] += x[n * b + i];
}

static void add_wrenches(const tgPairTerm *t, tgReal *wrench) {
  tgi_sp_axpy(wrench + 6 * t->body1, -1, t->w);
  tgi_sp_axpy(wrench + 6 * t->body2, -1, t->w + 6);
}

void tgi_objective_gather(const tgSim *s, const tgPose *pose, tgiObjective *o) {
  const tgModel *m = &s->m;
  tgReal G[9], f[3];
  for (int i = 0; i < 6 * m->nbody; i++) o->wrench[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_lastdof[b] < 0) continue;
    tgReal energy = body_energy(s, pose, b, o->h, G, f);
    o->energy += energy;
    o->rounding += fabs(tgRe(energy)) + 3 * largest(G, 9) + 3 * largest(f, 3) * largest(pose->xcom + 3 * b, 3);
    body_wrench(pose->xmat + 9 * b, pose->xcom + 3 * b, G, f, o->wrench + 6 * b);
  }
  for (int t = 0; t < s->nterm; t++) add_wrenches(&s->term[t], o->wrench);
  for (int e = 0; e < m->neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(m, e)) continue;
    o->rounding += tgi_bond_term(s, pose, e, &bond);
    o->energy += bond.energy;
    add_wrenches(&bond, o->wrench);
  }
  to_parents(m, 6, o->wrench);
}

// joints alone
static void begin_sum(tgSim *s, const tgPose *pose, tgiObjective *o) {
  for (int d = 0; d < s->m.nv; d++) o->g[d] = 0;
  tgi_joint_energy(s, pose, &o->joints, o->g);
  o->energy = o->joints.energy;
  o->rounding = o->joints.rounding;
}

// and all else
static void add_terms(tgSim *s, const tgPose *pose, tgiObjective *o) {
  const tgModel *m = &s->m;
  o->energy += s->energy;
  o->rounding += fabs(tgRe(s->energy));
  tgi_objective_gather(s, pose, o);
  for (int d = 0; d < m->nv; d++) o->g[d] += tgi_sp_dot(pose->S + 6 * d, o->wrench + 6 * m->dof_body[d]);
  o->rounding *= 2.2e-16;
}

void tgi_objective_at_terms(tgSim *s, const tgPose *pose, tgiObjective *o) {
  begin_sum(s, pose, o);
  add_terms(s, pose, o);
}

tgStatus tgi_objective_evaluate(tgSim *s, const tgPose *pose, unsigned want, tgiObjective *o) {
  begin_sum(s, pose, o);
  if (!(tgRe(o->energy) < INFINITY)) return TG_OK;
  TG_TRY(s->contact_model->kind->law->evaluate(s, pose, TG_LAW_ENERGY | TG_LAW_POSE | want));
  if (!(tgRe(s->energy) < INFINITY)) {
    o->energy = INFINITY;
    return TG_OK;
  }
  add_terms(s, pose, o);
  return TG_OK;
}

bool tgi_term_acts(const tgPairTerm *t) {
  if (!tgZero(t->hardening)) return true;
  for (int i = 0; i < 144; i++)
    if (!tgZero(t->X[i])) return true;
  return false;
}

// H += S' K12 S for the dofs of the one body and of the other, and its transpose
static void cross_block(const tgSim *s, const tgPose *pose, const tgPairTerm *t, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  for (int j = m->body_lastdof[t->body2]; j >= 0; j = m->dof_parent[j]) {
    tgReal x[6] = {0};
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 6; c++) x[r] += tgi_term_stiffness(t, r, 6 + c) * pose->S[6 * j + c];
    for (int i = m->body_lastdof[t->body1]; i >= 0; i = m->dof_parent[i]) {
      tgReal y = tgi_sp_dot(pose->S + 6 * i, x);
      tgi_pattern_add(H, i, j, y);
    }
  }
}

// blocks of a pair: those of one body to its curvature, those of both to H
static void add_curvature(const tgSim *s, const tgPose *pose, const tgPairTerm *t, tgReal *K, const tgiPatterned *H) {
  if (!tgi_term_acts(t)) return;
  for (int r = 0; r < 6; r++)
    for (int c = 0; c < 6; c++) {
      K[36 * t->body1 + 6 * r + c] += tgi_term_stiffness(t, r, c);
      K[36 * t->body2 + 6 * r + c] += tgi_term_stiffness(t, 6 + r, 6 + c);
    }
  if (!t->left_out) cross_block(s, pose, t, H);
}

void tgi_objective_hessian(tgSim *s, const tgPose *pose, tgiObjective *o, tgReal *H) {
  const tgModel *m = &s->m;
  const tgiPatterned in = {o->pattern, H};
  memset(o->K, 0, 36 * (size_t)m->nbody * sizeof(tgReal));
  memset(H, 0, o->pattern->size * sizeof(tgReal));
  for (int b = 1; b < m->nbody; b++)
    if (m->body_lastdof[b] >= 0) body_curvature(s, pose, b, o->h, o->K + 36 * b);
  for (int t = 0; t < s->nterm; t++) add_curvature(s, pose, &s->term[t], o->K, &in);
  for (int e = 0; e < m->neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(m, e)) continue;
    tgi_bond_term(s, pose, e, &bond);
    add_curvature(s, pose, &bond, o->K, &in);
  }
  to_parents(m, 36, o->K);
  for (int j = 0; j < m->nv; j++) {
    const tgReal *K = o->K + 36 * m->dof_body[j], *S = pose->S + 6 * j;
    tgReal f[6] = {0}, turn[6];
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 6; c++) f[r] += K[6 * r + c] * S[c];
    tgi_sp_cross_f(turn, S, o->wrench + 6 * m->dof_body[j]);
    for (int i = j; i >= 0; i = m->dof_parent[i]) {
      if (m->dof_grpadr[i] != m->dof_grpadr[j]) {
        tgi_sp_axpy(f, 0.5, turn);
        tgi_sp_zero(turn);
      }
      tgReal y = tgi_sp_dot(pose->S + 6 * i, f);
      if (i != j) tgi_pattern_add(&in, i, j, y);
      else *tgi_pattern_entry(o->pattern, H, i, i) += y;
    }
  }
  tgi_joint_curvature(s, pose, &o->joints, &in);
}
