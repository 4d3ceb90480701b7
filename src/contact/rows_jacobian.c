// rows_jacobian.c: dense derivatives of the constraint rows, by their own formulas (rows_d.c has the adjoints).
//
// Based on: [math/lcp (9)]; [math/collision Rules] for the changes of p and n.
// A row of a screw X = (p x d; d) on body b is X . V_b. Moving q_j changes it in two ways:
//   V_b moves while X stays in the world:   X . (S_j x (V_b - Vp_j)), Vp_j the velocity before j's group;
//   X moves with its point and direction:   d(X) . V = dp . (d x w) + dd . (v + w x p), linear in the twist S_j of the bodies;
//                                           of a couple X = (d; 0)  dd . w.
// The first needs six numbers for each dof and body, whatever the row; the second twelve for each row, whatever the dof.
#include "coll/contacts.h"
#include "contact/rows.h"
#include "kin/kinematics.h"
#include "math/quat.h"

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
}

// S_j x (V_b - Vp_j) of the dofs on the way from a body to the root, for a velocity u, and V_b
typedef struct Motion { int body; tgReal *W, V[6]; } Motion;

static void find_motion(const tgSim *s, const tgPose *pose, int body, const tgReal *u, Motion *k) {
  const tgModel *m = &s->m;
  if (k->body == body) return;
  k->body = body;
  tgi_sp_zero(k->V);   // V_b - Vp_j, grown from the body towards the root: V_b at its end
  for (int d = m->body_lastdof[body]; d >= 0;) {
    int g = m->dof_grpadr[d];
    for (int j = g; j <= d; j++) tgi_sp_axpy(k->V, u[j], pose->S + 6 * j);
    for (int j = g; j <= d; j++) tgi_sp_cross_m(k->W + 6 * j, pose->S + 6 * j, k->V);
    d = m->dof_parent[g];
  }
}

// matrices of dt1, dt2 in dn, row-major
static void tangent_matrices(const tgContactRow *c, tgReal T1[9], tgReal T2[9]) {
  for (int k = 0; k < 3; k++) {
    tgReal e[3] = {k == 0, k == 1, k == 2}, a[3], b[3];
    tgi_tangents_d(c, e, a, b);
    for (int i = 0; i < 3; i++) {
      T1[3 * i + k] = a[i];
      T2[3 * i + k] = b[i];
    }
  }
}

// row += x . W_j sign + t . S_j of the dofs that move k's body
static void add_way(const tgSim *s, const tgPose *pose, const Motion *k, const tgReal *x, tgReal sign, const tgReal *t,
                    const int *q, tgReal *row) {
  const tgModel *m = &s->m;
  for (int j = m->body_lastdof[k->body]; j >= 0; j = m->dof_parent[j])
    row[q[j]] += sign * tgi_sp_dot(x, k->W + 6 * j) + tgi_sp_dot(t, pose->S + 6 * j);
}

static void contact_jacobian(const tgSim *s, const tgPose *pose, const tgContactRow *c, const tgReal *u,
                             const tgReal *y, Motion body[2], const tgiPlaces *to, const int *at, tgReal *R) {
  const tgModel *m = &s->m;
  const tgReal *dir[3] = {c->n, c->t1, c->t2};
  tgReal T[2][9], V[6], vp[3];
  find_motion(s, pose, m->geom_body[c->geom1], u, &body[0]);
  find_motion(s, pose, m->geom_body[c->geom2], u, &body[1]);
  tgi_sp_sub(V, body[0].V, body[1].V);
  tgi_sp_point_velocity(vp, V, c->p);
  bool turns = false;
  for (int k = 1; k < c->nrow; k++) turns = turns || (k != 3 && (y == NULL || y[c->row + k] != 0));
  if (turns) tangent_matrices(c, T[0], T[1]);
  for (int part = 0; part < c->nrow; part++) {
    int i = c->row + part;
    tgReal scale = y != NULL ? y[i] : 1, X[6], g[6], t[12];
    if (scale == 0) continue;
    // g: the row's change for dp and dn
    const tgReal *speed = part < 3 ? vp : V;
    tgi_v3_zero(g);
    if (part < 3) tgi_v3_cross(g, dir[part], V);
    if (part % 3 == 0) tgi_v3_copy(g + 3, speed);
    else tgi_m3_tmulv(g + 3, T[part % 3 - 1], speed);
    for (int k = 0; k < 12; k++) {
      t[k] = 0;
      for (int r = 0; r < 6; r++) t[k] += scale * g[r] * c->D[r][k];
    }
    tgi_contact_screw(c, part, X);
    for (int k = 0; k < 6; k++) X[k] *= scale;
    add_way(s, pose, &body[0], X, 1, t, to->q, R + at[i]);
    add_way(s, pose, &body[1], X, -1, t + 6, to->q, R + at[i]);
  }
}

// one dof's share of a connect's or weld's rows, D (6 x nv)
static void bond_jacobian(const tgSim *s, const tgPose *pose, const tgiBond *k, const tgReal *u, Motion body[2], tgReal *D) {
  const tgModel *m = &s->m;
  tgReal V[6];
  find_motion(s, pose, k->a, u, &body[0]);
  find_motion(s, pose, k->b, u, &body[1]);
  tgi_sp_sub(V, body[0].V, body[1].V);
  for (int side = 0; side < 2; side++) {
    const Motion *b = &body[side];
    for (int part = 0; part < (k->weld ? 6 : 3); part++) {
      tgReal e[3] = {0, 0, 0}, sign = side == 0 ? 1 : -1, X[6], dp[3], x[3];
      e[part % 3] = 1;
      if (part < 3) tgi_sp_screw(X, k->p, e); else { tgi_v3_copy(X, e); tgi_v3_zero(X + 3); }
      tgi_v3_cross(x, e, V);   // dp x e moves against the turn of a against b; dp is half of what the anchor moves by
      for (int j = m->body_lastdof[b->body]; j >= 0; j = m->dof_parent[j]) {
        tgi_sp_point_velocity(dp, pose->S + 6 * j, side == 0 ? k->pa : k->pb);
        D[part * m->nv + j] += sign * tgi_sp_dot(X, b->W + 6 * j) + (part < 3 ? tgi_v3_dot(dp, x) / 2 : 0);
      }
    }
  }
}

// da/dq of a ball joint, a = w/|w|, row-major 3x3
static void ball_axis_jacobian(const tgSim *s, const tgPose *pose, int jnt, tgReal A[9]) {
  tgReal a[3], w[3], J[9], T[9], length = tgi_ball_axis(s, pose, jnt, a, w);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) T[3 * i + k] = ((i == k ? 1 : 0) - a[i] * a[k]) / length;
  tgi_so3_jr_inv(J, w);
  tgi_m3_mul(A, T, J);
}

// adds rows of D (count x nv) to rows i .. of R, weighted; what is not zero belongs to the island
static void add_rows(const tgSim *s, const tgReal *D, int i, int count, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R) {
  int nv = s->m.nv;
  for (int k = 0; k < count; k++)
    for (int j = 0; j < nv; j++)
      if (D[k * nv + j] != 0) R[at[i + k] + to->q[j]] += (y != NULL ? y[i + k] : 1) * D[k * nv + j];
}

tgStatus tgi_rows_jacobian(tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), nv = (size_t)m->nv;
  tgReal *W = tgi_stack_real(s, 12 * nv), *D = tgi_stack_real(s, 6 * nv);
  if (W == NULL || D == NULL) return short_scratch(s);
  Motion body[2] = {{.body = -1, .W = W}, {.body = -1, .W = W + 6 * nv}};
  tgi_contacts_d(s, pose);
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i];
    tgReal scale = y != NULL ? y[i] : 1;
    if (s->rows->kind[i] == TG_ROW_NORMAL) contact_jacobian(s, pose, &s->contact[owner], u, y, body, to, at, R);
    if (tgi_is_bond(s, i)) {
      tgiBond k;
      tgi_bond(s, pose, owner, &k);
      for (size_t d = 0; d < 6 * nv; d++) D[d] = 0;
      bond_jacobian(s, pose, &k, u, body, D);
      add_rows(s, D, i, k.weld ? 6 : 3, y, to, at, R);
    }
    if (tgi_is_ball_limit(s, i)) {
      tgReal A[9];
      int d = m->jnt_vadr[owner];
      ball_axis_jacobian(s, pose, owner, A);
      for (int k = 0; k < 9; k++) R[at[i] + to->q[d + k % 3]] -= scale * A[k] * u[d + k / 3];
    }
    if (tgi_strands_sign(s, i) != 0) {
      for (size_t d = 0; d < nv; d++) D[d] = 0;
      tgi_strands_vjp(s, pose, owner, u, tgi_strands_sign(s, i), 0, D, NULL);
      add_rows(s, D, i, 1, y, to, at, R);
    }
    if (tgi_is_curved_tie(s, i)) {
      tgiTie t;
      tgi_tie(m, owner, pose->q, &t);
      tgReal rate = tgi_tie_rate(m, &t.b, u);
      for (int k = 0; k < t.b.n; k++) R[at[i] + to->q[tgi_tie_dof(m, &t.b, k)]] -= scale * t.curve * rate * t.b.coef[k];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// the gap's gradient is how each anchor moves by itself, as the gap turns with the bodies; for a weld's rotation -d(R_b theta)
static void bond_gap_jacobian(const tgSim *s, const tgPose *pose, int eq, tgReal *D) {
  const tgModel *m = &s->m;
  tgiBond k;
  tgi_bond(s, pose, eq, &k);
  for (int part = 0; part < 3; part++) {
    tgReal e[3] = {part == 0, part == 1, part == 2}, screw[6];
    tgi_sp_screw(screw, k.pa, e);
    tgi_add_row(s, pose, k.a, screw, 1, D + part * m->nv);
    tgi_sp_screw(screw, k.pb, e);
    tgi_add_row(s, pose, k.b, screw, -1, D + part * m->nv);
  }
  if (!k.weld) return;
  tgReal J[9], turned[3];
  tgi_m3_mulv(turned, k.Rb, k.theta);
  tgi_so3_jr_inv(J, k.theta);
  for (int j = 0; j < m->nv; j++) {
    tgReal da[3] = {0, 0, 0}, db[3] = {0, 0, 0}, x[3], r[3], de[3];
    if (tgi_dof_moves(m, j, k.a)) tgi_v3_copy(da, pose->S + 6 * j);
    if (tgi_dof_moves(m, j, k.b)) tgi_v3_copy(db, pose->S + 6 * j);
    tgi_v3_sub(r, da, db);
    tgi_m3_tmulv(x, k.Rb, r);
    tgi_m3_mulv(r, J, x);
    tgi_m3_mulv(de, k.Rb, r);
    tgi_v3_cross(x, db, turned);
    tgi_v3_sub(de, de, x);
    for (int part = 0; part < 3; part++) D[(3 + part) * m->nv + j] = de[part];
  }
}

static void contact_gap(const tgSim *s, const tgPose *pose, const tgContactRow *c, tgReal scale, const int *q, tgReal *row) {
  const tgModel *m = &s->m;
  for (int side = 0; side < 2; side++)
    for (int j = m->body_lastdof[m->geom_body[side == 0 ? c->geom1 : c->geom2]]; j >= 0; j = m->dof_parent[j])
      row[q[j]] += scale * tgi_sp_dot(c->D[6] + 6 * side, pose->S + 6 * j);
}

static void add_own_row(const tgSim *s, int i, tgReal scale, const int *q, tgReal *row) {
  const int *span = s->rows->span + 4 * i;
  const tgReal *J = tgi_row(s, s->rows->J, i);
  for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++)
    if (*J != 0) row[q[d]] += scale * *J;
}

tgStatus tgi_rows_gap_jacobian(tgSim *s, const tgPose *pose, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), nv = (size_t)m->nv;
  tgReal *D = tgi_stack_real(s, 6 * nv);
  if (D == NULL) return short_scratch(s);
  tgi_contacts_d(s, pose);
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i];
    if (y != NULL && y[i] == 0 && !tgi_is_bond(s, i)) continue;
    bool own_row = s->rows->kind[i] == TG_ROW_LIMIT || (s->rows->kind[i] == TG_ROW_EQUALITY && tgi_is_tie(m, owner));
    if (s->rows->kind[i] == TG_ROW_NORMAL) contact_gap(s, pose, &s->contact[owner], y != NULL ? y[i] : 1, to->q, R + at[i]);
    else if (own_row) add_own_row(s, i, y != NULL ? y[i] : 1, to->q, R + at[i]);
    else if (tgi_is_bond(s, i)) {
      for (size_t d = 0; d < 6 * nv; d++) D[d] = 0;
      bond_gap_jacobian(s, pose, owner, D);
      add_rows(s, D, i, m->eq_type[owner] == TG_EQ_WELD ? 6 : 3, y, to, at, R);
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- forces: the change of a wrench on a body for twists of bodies, C (6x6) ----

// D += sign S_i . C S_j for the dofs i that move body a and j that move body b
static void add_block(const tgSim *s, const tgPose *pose, int a, int b, const tgReal C[36], tgReal sign, const tgiPlaces *to, tgReal *D) {
  const tgModel *m = &s->m;
  for (int j = m->body_lastdof[b]; j >= 0; j = m->dof_parent[j]) {
    tgReal x[6];
    for (int r = 0; r < 6; r++) x[r] = sign * tgi_sp_dot(C + 6 * r, pose->S + 6 * j);
    for (int i = m->body_lastdof[a]; i >= 0; i = m->dof_parent[i]) D[to->row[i] + to->q[j]] += tgi_sp_dot(pose->S + 6 * i, x);
  }
}

// out (3x3) = f_0 + f_1 T1 + f_2 T2: the change of sum f d in dn
static void direction_change(const tgReal *f, int n, tgReal T[2][9], tgReal out[9]) {
  for (int i = 0; i < 9; i++) {
    out[i] = i % 4 == 0 ? f[0] : 0;
    for (int k = 1; k < n; k++) out[i] += f[k] * T[k - 1][i];
  }
}

// C (2 of 6x6) += change of the wrench on geom1's body for twists of both bodies: F = (p x Y + Z; Y), Y = sum f d of forces, Z of couples,
// dF = (dp x Y + p x dY + dZ; dY), dY = (f_0 + f_1 T1 + f_2 T2) dn
static void add_contact_change(const tgContactRow *c, const tgReal *f, tgReal C[2][36]) {
  const tgReal *dir[3] = {c->n, c->t1, c->t2};
  tgReal T[2][9], Y[3] = {0, 0, 0}, N[9], couple[9] = {0};
  int forces = c->nrow < 3 ? c->nrow : 3;
  if (c->nrow > 1) tangent_matrices(c, T[0], T[1]);
  direction_change(f + c->row, forces, T, N);
  if (c->nrow > 3) direction_change(f + c->row + 3, c->nrow - 3, T, couple);
  for (int k = 0; k < forces; k++) tgi_v3_axpy(Y, f[c->row + k], dir[k]);
  for (int k = 0; k < 12; k++) {
    tgReal dp[3] = {c->D[0][k], c->D[1][k], c->D[2][k]}, dn[3] = {c->D[3][k], c->D[4][k], c->D[5][k]}, dF[6], x[3];
    tgi_m3_mulv(dF + 3, N, dn);
    tgi_v3_cross(dF, c->p, dF + 3);
    tgi_v3_cross(x, dp, Y);
    tgi_v3_add(dF, dF, x);
    tgi_m3_mulv(x, couple, dn);
    tgi_v3_add(dF, dF, x);
    for (int r = 0; r < 6; r++) C[k / 6][6 * r + k % 6] += dF[r];
  }
}

// the contacts of one pair of bodies that follow each other, from contact i on; returns the contact after them
static int pair_change(const tgSim *s, const tgPose *pose, int i, const tgReal *f, const tgiPlaces *to, tgReal *D) {
  const tgModel *m = &s->m;
  int b1 = m->geom_body[s->contact[i].geom1], b2 = m->geom_body[s->contact[i].geom2];
  tgReal C[2][36] = {{0}};
  for (; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    if (m->geom_body[c->geom1] != b1 || m->geom_body[c->geom2] != b2) break;
    if (c->row >= 0) add_contact_change(c, f, C);
  }
  for (int side = 0; side < 2; side++) {
    add_block(s, pose, b1, side == 0 ? b1 : b2, C[side], 1, to, D);
    add_block(s, pose, b2, side == 0 ? b1 : b2, C[side], -1, to, D);
  }
  return i;
}

// the point of a connect or weld moves by half of what each anchor does with its own body: dF = (dp x f; 0)
static void bond_change(const tgSim *s, const tgPose *pose, int eq, const tgReal *f, const tgiPlaces *to, tgReal *D) {
  tgiBond k;
  tgi_bond(s, pose, eq, &k);
  for (int side = 0; side < 2; side++) {
    tgReal C[36] = {0};
    for (int e = 0; e < 6; e++) {
      tgReal S[6] = {e == 0, e == 1, e == 2, e == 3, e == 4, e == 5}, dp[3], x[3];
      tgi_sp_point_velocity(dp, S, side == 0 ? k.pa : k.pb);
      tgi_v3_cross(x, dp, f);
      for (int r = 0; r < 3; r++) C[6 * r + e] = x[r] / 2;
    }
    int moved = side == 0 ? k.a : k.b;
    add_block(s, pose, k.a, moved, C, 1, to, D);
    add_block(s, pose, k.b, moved, C, -1, to, D);
  }
}

void tgi_rows_force_jacobian(tgSim *s, const tgPose *pose, const tgReal *f, const tgiPlaces *to, tgReal *D) {
  const tgModel *m = &s->m;
  tgi_contacts_d(s, pose);
  for (int i = 0; i < s->ncon;) i = pair_change(s, pose, i, f, to, D);
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i];
    if (tgi_is_bond(s, i)) bond_change(s, pose, owner, f + i, to, D);
    if (tgi_is_ball_limit(s, i)) {
      tgReal A[9];
      int d = m->jnt_vadr[owner];
      ball_axis_jacobian(s, pose, owner, A);
      for (int k = 0; k < 9; k++) D[to->row[d + k / 3] + to->q[d + k % 3]] -= f[i] * A[k];
    }
    for (int k = 0; k < m->nv && tgi_strands_sign(s, i) != 0; k++)
      for (int l = 0; l < m->nv && tgi_strands_moved(m, owner, k); l++)
        if (tgi_strands_moved(m, owner, l))
          D[to->row[k] + to->q[l]] += f[i] * tgi_strands_sign(s, i) * tgi_strands_curve(m, pose, owner, k, l);
    if (tgi_is_curved_tie(s, i)) {
      tgiTie t;
      tgi_tie(m, owner, pose->q, &t);
      for (int k = 0; k < t.b.n; k++)
        for (int l = 0; l < t.b.n; l++)
          D[to->row[tgi_tie_dof(m, &t.b, k)] + to->q[tgi_tie_dof(m, &t.b, l)]] -= f[i] * t.curve * t.b.coef[k] * t.b.coef[l];
    }
  }
}
