// inertia.c: the inertias that stiffnesses of limits and equalities go by, at qpos0. See joint.h.
//
// Based on: [math/joints Inertias]. Two kinds. Of an energy: that of what an equality may have to carry, so that
// it opens by no more than is stated: the mass of the lighter of two trees, for rotations times the square of its
// radius of gyration about the anchor; of a tie of which the first side has the coefficients c its c'Mc/|c|^4, of a joint the diagonal
// entry of M. Of forces: what the constraint meets,
// of a connect's or weld's three directions, and of a strand's, where that is least, so that its frequency is no higher than is
// stated; of a ball 1/tr(M^-1).
#include "joint/joint.h"
#include "kin/kinematics.h"
#include "model/blocks.h"

double tgi_tree_mass(const tgModel *m, int body) {
  double mass = 0;
  if (m->body_weld[body] == 0) return INFINITY;
  for (int b = 1; b < m->nbody; b++)
    if (m->body_root[b] == m->body_root[body] && m->body_weld[b] != 0) mass += tgRe(m->body_mass[b]);
  return mass;
}

// ---- what an equality may have to carry ----

// square of the radius of gyration of a body's tree about p
static double gyration(const tgSim *s, int body, const tgReal *p) {
  const tgModel *m = &s->m;
  double sum = 0;
  for (int b = 1; b < m->nbody; b++) {
    tgReal r[3];
    const tgReal *I = m->body_inertia + 6 * b;
    if (m->body_root[b] != m->body_root[body] || m->body_weld[b] == 0) continue;
    tgi_v3_sub(r, s->start.xcom + 3 * b, p);
    sum += tgRe(I[0] + I[1] + I[2]) / 2 + tgRe(m->body_mass[b]) * tgRe(tgi_v3_dot(r, r));
  }
  return sum / tgi_tree_mass(m, body);
}

// c'Mc/|c|^4, M between dofs of one tree
static double side_inertia(const tgSim *s, int eq) {
  const tgModel *m = &s->m;
  tgiTieSide a = tgi_tie_side(m, eq, 0);
  double sum = 0, square = 0;
  for (int k = 0; k < a.n; k++) {
    int d = tgi_tie_dof(m, &a, k);
    square += tgRe(a.coef[k]) * tgRe(a.coef[k]);
    for (int l = 0; l < a.n; l++) {
      int e = tgi_tie_dof(m, &a, l);
      if (m->dof_tree[2 * d] == m->dof_tree[2 * e]) sum += tgRe(a.coef[k] * a.coef[l] * tgi_block_row(m, s->M, d)[e]);
    }
  }
  return sum / (square * square);
}

static void carried(const tgSim *s, int eq, double out[2]) {
  const tgModel *m = &s->m;
  tgiBond k;
  if (tgi_is_tie(m, eq)) {
    out[0] = side_inertia(s, eq);
    return;
  }
  tgi_bond(s, &s->start, eq, &k);
  bool first = tgi_tree_mass(m, k.a) < tgi_tree_mass(m, k.b);
  int body = first ? k.a : k.b;
  out[0] = tgi_tree_mass(m, body);
  if (k.weld) out[1] = out[0] * gyration(s, body, first ? k.pa : k.pb);
}

// ---- what a constraint meets ----

// row M^-1 row'
static double response(const tgSim *s, const tgReal *row) {
  double sum = 0;
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = row[d];
  tgi_factor_solve(&s->m, s->L, s->end.vel);
  for (int d = 0; d < s->m.nv; d++) sum += tgRe(row[d] * s->end.vel[d]);
  return sum;
}

static tgReal *empty_row(tgSim *s) {
  for (int d = 0; d < s->m.nv; d++) s->vhat[d] = 0;
  return s->vhat;
}

// of a joint's limit, 1/(M^-1)_dd; of a ball's 1/trace
static double joint_inertia(tgSim *s, int j) {
  int d = s->m.jnt_vadr[j], n = s->m.jnt_type[j] == TG_JOINT_BALL ? 3 : 1;
  double sum = 0;
  for (int i = d; i < d + n; i++) {
    tgReal *row = empty_row(s);
    row[i] = 1;
    sum += response(s, row);
  }
  return 1 / sum;
}

// how the anchors, or the bodies' orientations, go apart in direction i
static void bond_row(const tgSim *s, const tgiBond *k, int i, bool turn, tgReal *row) {
  tgReal e[3] = {i == 0, i == 1, i == 2}, screw[2][6];
  tgi_sp_screw(screw[0], k->pa, e);
  tgi_sp_screw(screw[1], k->pb, e);
  for (int c = 0; c < 6 && turn; c++) screw[0][c] = screw[1][c] = c == i;
  for (int d = 0; d < s->m.nv; d++) row[d] = 0;
  tgi_add_row(s, &s->start, k->a, screw[0], 1, row);
  tgi_add_row(s, &s->start, k->b, screw[1], -1, row);
}

// largest eigenvalue of a symmetric 3x3 matrix, from its characteristic polynomial by the cosine of three times an angle
static double largest_of(const double *A) {
  double mean = (A[0] + A[4] + A[8]) / 3, square = 0, B[9];
  for (int i = 0; i < 9; i++) {
    B[i] = A[i] - (i % 4 == 0 ? mean : 0);
    square += B[i] * B[i];
  }
  double p = sqrt(square / 6);
  if (!(p > 0)) return mean;
  double det = B[0] * (B[4] * B[8] - B[5] * B[7]) - B[1] * (B[3] * B[8] - B[5] * B[6]) + B[2] * (B[3] * B[7] - B[4] * B[6]);
  return mean + 2 * p * cos(acos(fmin(1, fmax(-1, det / (2 * p * p * p)))) / 3);
}

// of a bond's points, or of its turn, in the direction where it is least
static double bond_inertia(tgSim *s, const tgiBond *k, bool turn) {
  int nv = s->m.nv;
  double A[9];
  for (int i = 0; i < 3; i++) {
    bond_row(s, k, i, turn, s->end.vel);
    tgi_factor_solve(&s->m, s->L, s->end.vel);
    for (int j = 0; j < 3; j++) {
      A[3 * j + i] = 0;
      bond_row(s, k, j, turn, s->vhat);
      for (int d = 0; d < nv; d++) A[3 * j + i] += tgRe(s->vhat[d] * s->end.vel[d]);
    }
  }
  return 1 / largest_of(A);
}

// A spatial tendon that runs through an axis moves nothing at qpos0, and elsewhere it does: of its strands by themselves that counts which
// moves most, in whichever direction it would run. 0: none moves anything.
static double tendon_inertia(tgSim *s, int t) {
  const tgModel *m = &s->m;
  tgReal *row = empty_row(s);
  tgi_tendon_row(s, &s->start, t, 1, row);
  double most = response(s, row);
  for (int k = m->ten_strandadr[t]; k < m->ten_strandadr[t] + m->ten_strandnum[t]; k++) {
    const int *site = m->strand_site + 2 * k;
    double share = tgRe(m->strand_share[k]);
    tgiBond strand = {.a = m->site_body[site[0]], .b = m->site_body[site[1]]};
    tgi_v3_copy(strand.pa, s->start.site_xpos + 3 * site[0]);
    tgi_v3_copy(strand.pb, s->start.site_xpos + 3 * site[1]);
    most = fmax(most, share * share / bond_inertia(s, &strand, false));
  }
  return most > 0 ? 1 / most : 0;
}

static void met(tgSim *s, int eq, double out[2]) {
  const tgModel *m = &s->m;
  if (tgi_is_tie(m, eq)) {
    tgiTie t;
    tgReal *row = empty_row(s);
    tgi_tie(m, eq, m->qpos0, &t);
    tgi_tie_add(m, &t.a, 1, row);
    tgi_tie_add(m, &t.b, -t.slope, row);
    out[0] = 1 / response(s, row);
    return;
  }
  tgiBond k;
  tgi_bond(s, &s->start, eq, &k);
  // its force acts on both bodies at one point
  tgi_v3_copy(k.pa, k.p);
  tgi_v3_copy(k.pb, k.p);
  out[0] = bond_inertia(s, &k, false);
  if (k.weld) out[1] = bond_inertia(s, &k, true);
}

// ---- the lists ----

static void fill(tgContact *c, bool as_energy, tgSim *s) {
  const tgModel *m = c->model;
  for (int i = 0; i < m->njnt; i++) c->limit_inertia[i] = as_energy ? 0 : joint_inertia(s, i);
  for (int t = 0; t < m->ntendon; t++) c->limit_inertia[m->njnt + t] = as_energy ? 0 : tendon_inertia(s, t);
  for (int e = 0; e < m->neq; e++) {
    double *out = c->equality_inertia + 2 * e;
    out[0] = out[1] = 0;
    if (!tgi_is_tie(m, e) && !tgi_is_bound(m, e)) continue;
    if (as_energy) carried(s, e, out);
    else met(s, e, out);
  }
}

tgStatus tgi_joint_inertias(tgContact *c, bool as_energy, tgError *error) {
  const tgModel *m = c->model;
  size_t limits = (size_t)tgi_limit_count(m);
  c->limit_inertia = c->alloc.alloc(c->alloc.ctx, (limits + 2 * (size_t)m->neq + 1) * sizeof *c->limit_inertia);
  tgSim *s = tgi_sim_create(m, NULL, NULL, &c->alloc, error);
  if (c->limit_inertia == NULL || s == NULL) {
    tg_sim_free(s);
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d joints' limits and %d equalities.", m->njnt, m->neq);
  }
  c->equality_inertia = c->limit_inertia + limits;
  tgi_kinematics(&s->m, m->qpos0, &s->start);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  bool definite = tgi_factor(m, s->M, s->L);
  if (definite) fill(c, as_energy, s);
  tg_sim_free(s);
  if (definite) return TG_OK;
  return tgi_error(error, TG_ERR_INVALID,
                   "The mass matrix is not positive definite at qpos0; look for bodies without mass or inertia that a joint moves.");
}
