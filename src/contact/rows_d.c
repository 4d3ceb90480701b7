// rows_d.c: derivatives of the constraint rows, as adjoint (rows_jacobian.c has the Jacobians, apart).
//
// Based on: [math/lcp (9)]; [math/collision Rules] for the changes of p and n.
// A row of a screw X = (p x d; d) on body b is X' V_b. Its change has two parts: V_b moves with q while X stays in the world
// (tgi_add_row_d), and X moves with its point and direction: d(X) = (dp x d + p x dd; dd).
//   (dp x d).w = dp.(d x w);   dd.(v + w x p) is dd against the velocity at p.
#include "contact/rows.h"

#include <string.h>

#include "coll/contacts.h"
#include "kin/kinematics.h"
#include "math/quat.h"

// gradient of a screw that the body's pose pairs with
static void add_pose_gradient(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], tgReal *gq, tgParamGrad *p) {
  tgi_add_row(s, pose, body, screw, 1, gq);
  if (p != NULL) tgi_param_pose(p, body, screw);
}

// screw of a gradient with respect to a material point at x: dx = w x x + v gives g.dx = (x x g; g).twist
static void add_point_gradient(const tgSim *s, const tgPose *pose, int body, const tgReal x[3], const tgReal g[3],
                               tgReal *gq, tgParamGrad *p) {
  tgReal screw[6];
  tgi_sp_screw(screw, x, g);
  add_pose_gradient(s, pose, body, screw, gq, p);
}

// sign * screw . V_body(u) with the screw fixed in the world: the dofs' axes
static void add_axes_gradient(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], const tgReal *u,
                              tgReal sign, tgReal *gq, tgParamGrad *p) {
  tgi_add_row_d(s, pose, body, screw, u, sign, gq);
  if (p == NULL) return;
  tgReal bar[6];
  for (int d = s->m.body_lastdof[body]; d >= 0; d = s->m.dof_parent[d]) {
    for (int i = 0; i < 6; i++) bar[i] = sign * u[d] * screw[i];
    tgi_param_axis(p, d, bar);
  }
}

// What a sum of products y' J u and of gaps gives to where things are
typedef struct Sum {
  const tgSim *s;
  const tgPose *pose;
  int n;
  const tgiRowProduct *term;
  const tgReal *gaps;     // NULL: none
  const tgReal *shape;    // ncon x 12, gradients in p, n, t1, t2 of each contact; NULL: none
  tgReal *gq;
  tgParamGrad *p;
  tgReal *clearance;      // of p, which the gaps are less; NULL: none
} Sum;

// Contacts of one pair of bodies that follow each other: of each product the bodies' relative twist for its velocity and the sum of
// the screws; the twists that the features' gradients pair with
typedef struct BodyPair {
  int body[2];
  tgReal V[TGI_ROW_PRODUCTS][6], F[TGI_ROW_PRODUCTS][6], twist[2][6];
} BodyPair;

static bool acts(const Sum *sum, const tgContactRow *c) {
  bool any = sum->shape != NULL || (sum->gaps != NULL && sum->gaps[c->row] != 0);
  for (int t = 0; t < sum->n && !any; t++)
    for (int k = 0; k < c->nrow; k++) any = any || sum->term[t].y[c->row + k] != 0;
  return any;
}

// D' (gp, gn, ggap) to the twists of both geoms
static void add_feature_gradient(const Sum *sum, tgContactRow *c, const tgReal g[7], BodyPair *pair) {
  for (int r = 0; sum->p != NULL && r < 7; r++) c->bar[r] += g[r];
  for (int side = 0; side < 2; side++) {
    tgReal twist[6] = {0, 0, 0, 0, 0, 0};
    for (int r = 0; r < 7; r++)
      for (int k = 0; k < 6; k++) twist[k] += c->D[r][6 * side + k] * g[r];
    for (int k = 0; k < 6; k++) pair->twist[side][k] += twist[k];
    if (sum->p != NULL) tgi_geom_parameters(sum->s, sum->pose, side == 0 ? c->geom1 : c->geom2, twist, sum->p);
  }
}

static void contact_vjp(const Sum *sum, tgContactRow *c, BodyPair *pair) {
  const tgReal *dir[3] = {c->n, c->t1, c->t2};
  tgReal g[7] = {0, 0, 0, 0, 0, 0, sum->gaps != NULL ? sum->gaps[c->row] : 0}, g1[3] = {0, 0, 0}, g2[3] = {0, 0, 0};
  if (sum->clearance != NULL) *sum->clearance -= g[6];
  for (int t = 0; t < sum->n; t++) {
    const tgReal *y = sum->term[t].y + c->row, *V = pair->V[t];
    tgReal F[6], Y[3] = {0, 0, 0}, vp[3], x[3];
    for (int k = 0; k < c->nrow && k < 3; k++) tgi_v3_axpy(Y, y[k], dir[k]);
    tgi_sp_screw(F, c->p, Y);
    for (int k = 3; k < c->nrow; k++) tgi_v3_axpy(F, y[k], dir[k - 3]);
    for (int k = 0; k < 6; k++) pair->F[t][k] += F[k];
    tgi_sp_point_velocity(vp, V, c->p);
    tgi_v3_cross(x, Y, V);
    tgi_v3_add(g, g, x);
    tgi_v3_axpy(g + 3, y[0], vp);
    if (c->nrow > 1) tgi_v3_axpy(g1, y[1], vp);
    if (c->nrow > 1) tgi_v3_axpy(g2, y[2], vp);
    // couples: y d.w, w the turning of V
    if (c->nrow > 3) tgi_v3_axpy(g + 3, y[3], V);
    if (c->nrow > 4) tgi_v3_axpy(g1, y[4], V);
    if (c->nrow > 4) tgi_v3_axpy(g2, y[5], V);
  }
  if (sum->shape != NULL) {
    const tgReal *shape = sum->shape + 12 * (c - sum->s->contact);
    for (int k = 0; k < 6; k++) g[k] += shape[k];
    tgi_v3_add(g1, g1, shape + 6);
    tgi_v3_add(g2, g2, shape + 9);
  }
  if (sum->shape != NULL || (sum->n > 0 && c->nrow > 1)) tgi_tangents_vjp(c, g1, g2, g + 3);
  add_feature_gradient(sum, c, g, pair);
}

static BodyPair open_pair(const Sum *sum, const tgContactRow *c) {
  const tgSim *s = sum->s;
  BodyPair pair = {.body = {s->m.geom_body[c->geom1], s->m.geom_body[c->geom2]}};
  for (int t = 0; t < sum->n; t++) {
    tgReal V2[6];
    tgi_body_velocity(s, sum->pose, pair.body[0], sum->term[t].u, pair.V[t]);
    tgi_body_velocity(s, sum->pose, pair.body[1], sum->term[t].u, V2);
    tgi_sp_sub(pair.V[t], pair.V[t], V2);
  }
  return pair;
}

static void close_pair(const Sum *sum, const BodyPair *pair) {
  for (int t = 0; t < sum->n; t++)
    for (int side = 0; side < 2; side++)
      add_axes_gradient(sum->s, sum->pose, pair->body[side], pair->F[t], sum->term[t].u, side == 0 ? 1 : -1, sum->gq, sum->p);
  for (int side = 0; side < 2; side++) add_pose_gradient(sum->s, sum->pose, pair->body[side], pair->twist[side], sum->gq, sum->p);
}

// the contacts of one pair of bodies from contact i on; returns the contact after them
static int pair_vjp(const Sum *sum, int i) {
  const tgSim *s = sum->s;
  BodyPair pair = open_pair(sum, &s->contact[i]);
  for (; i < s->ncon; i++) {
    tgContactRow *c = &s->contact[i];
    if (s->m.geom_body[c->geom1] != pair.body[0] || s->m.geom_body[c->geom2] != pair.body[1]) break;
    if (c->row >= 0 && acts(sum, c)) contact_vjp(sum, c, &pair);
  }
  close_pair(sum, &pair);
  return i;
}

static void contacts_vjp(const Sum *sum) {
  for (int i = 0; i < sum->s->ncon;) i = sum->s->contact[i].row >= 0 ? pair_vjp(sum, i) : i + 1;
}

// the screw of both bodies moves with both anchors, by half of each; a rotation row's is fixed in the world
static void bond_vjp(const tgSim *s, const tgPose *pose, int eq, int row, const tgReal *y, const tgReal *u, tgReal *gq, tgParamGrad *p) {
  tgiBond k;
  tgi_bond(s, pose, eq, &k);
  const tgReal *Y = y + row;
  tgReal F[6], V[6], Vb[6], g[3];
  tgi_sp_screw(F, k.p, Y);
  if (k.weld) tgi_v3_add(F, F, Y + 3);
  add_axes_gradient(s, pose, k.a, F, u, 1, gq, p);
  add_axes_gradient(s, pose, k.b, F, u, -1, gq, p);
  tgi_body_velocity(s, pose, k.a, u, V);
  tgi_body_velocity(s, pose, k.b, u, Vb);
  tgi_sp_sub(V, V, Vb);
  tgi_v3_cross(g, Y, V);
  tgi_v3_scale(g, g, 0.5);
  add_point_gradient(s, pose, k.a, k.pa, g, gq, p);
  add_point_gradient(s, pose, k.b, k.pb, g, gq, p);
  if (p != NULL) tgi_bond_parameters(s, pose, eq, g, g, p);
}

// x = (dw/dq)' x with dw = Jr^-1(w) dq
static void ball_pullback(const tgReal w[3], tgReal x[3]) {
  tgReal J[9], r[3];
  tgi_so3_jr_inv(J, w);
  tgi_m3_tmulv(r, J, x);
  tgi_v3_copy(x, r);
}

// J = -a', a = w/|w|: d(J u) = -u'(1 - a a')/|w| dw
static void ball_vjp(const tgSim *s, const tgPose *pose, int jnt, tgReal y, const tgReal *u, tgReal *gq) {
  tgReal a[3], w[3], x[3], length = tgi_ball_axis(s, pose, jnt, a, w);
  int d = s->m.jnt_vadr[jnt];
  tgReal along = tgi_v3_dot(a, u + d);
  for (int i = 0; i < 3; i++) x[i] = -y * (u[d + i] - along * a[i]) / length;
  ball_pullback(w, x);
  tgi_v3_add(gq + d, gq + d, x);
}

// row i, which is no contact's
static void other_row_vjp(const tgSim *s, const tgPose *pose, int i, const tgReal *y, const tgReal *u, tgReal *gq, tgParamGrad *p) {
  int owner = s->rows->owner[i];
  if (tgi_is_bond(s, i)) bond_vjp(s, pose, owner, i, y, u, gq, p);
  if (tgi_is_ball_limit(s, i)) ball_vjp(s, pose, owner, y[i], u, gq);
  if (tgi_strands_sign(s, i) != 0 && y[i] != 0) tgi_strands_vjp(s, pose, owner, u, tgi_strands_sign(s, i) * y[i], 0, gq, p);
  if (!tgi_is_curved_tie(s, i)) return;
  tgiTie t;
  tgi_tie(&s->m, owner, pose->q, &t);
  tgReal rate = tgi_tie_rate(&s->m, &t.b, u);
  tgi_tie_add(&s->m, &t.b, -y[i] * t.curve * rate, gq);
  if (p != NULL) tgi_tie_parameters(owner, &t, 0, -y[i] * rate, p);
}

void tgi_rows_vjp(tgSim *s, const tgPose *pose, const tgReal *y, const tgReal *u, tgReal *gq, tgParamGrad *p) {
  tgi_rows_sum_vjp(s, pose, 1, &(tgiRowProduct){y, u}, NULL, NULL, gq, p);
}

// e = -R_b theta:  de = -[db] R_b theta - R_b Jr^-1(theta) R_b'(db - da), da, db rotations of the bodies, world axes.
// g (3) -> ga, gb (3).
static void weld_gap_vjp(const tgiBond *k, const tgReal g[3], tgReal ga[3], tgReal gb[3]) {
  tgReal turned[3], x[3], r[3], J[9];
  tgi_m3_mulv(turned, k->Rb, k->theta);
  tgi_m3_tmulv(x, k->Rb, g);
  tgi_so3_jr_inv(J, k->theta);
  tgi_m3_tmulv(r, J, x);
  tgi_m3_mulv(ga, k->Rb, r);
  // -g.(db x R theta) = db.(g x R theta)
  tgi_v3_cross(gb, g, turned);
  tgi_v3_sub(gb, gb, ga);
}

static void bond_gap_vjp(const tgSim *s, const tgPose *pose, int eq, const tgReal *y, tgReal *gq, tgParamGrad *p) {
  tgiBond k;
  tgReal minus[3] = {-y[0], -y[1], -y[2]};
  tgi_bond(s, pose, eq, &k);
  add_point_gradient(s, pose, k.a, k.pa, y, gq, p);
  add_point_gradient(s, pose, k.b, k.pb, minus, gq, p);
  if (p != NULL) tgi_bond_parameters(s, pose, eq, y, minus, p);
  if (!k.weld) return;
  tgReal ga[6] = {0, 0, 0, 0, 0, 0}, gb[6] = {0, 0, 0, 0, 0, 0};
  weld_gap_vjp(&k, y + 3, ga, gb);
  add_pose_gradient(s, pose, k.a, ga, gq, p);
  add_pose_gradient(s, pose, k.b, gb, gq, p);
}

static void other_gaps_vjp(const tgSim *s, const tgPose *pose, const tgReal *y, tgReal *gq, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal *clearance = p != NULL ? TG_NUMBER_GRAD(p, gap) : NULL;
  for (int i = 0; i < s->nrow; i++) {
    if (tgi_is_bond(s, i)) {
      bond_gap_vjp(s, pose, s->rows->owner[i], y + i, gq, p);
    } else if (s->rows->kind[i] == TG_ROW_LIMIT ||
               (s->rows->kind[i] == TG_ROW_EQUALITY && tgi_is_tie(m, s->rows->owner[i]))) {
      // these gaps are functions whose gradient is the row itself
      tgi_row_add(s, s->rows->J, i, y[i], gq);
      if (p != NULL) tgi_row_gap_parameters(s, pose, i, y[i], p);
      if (clearance != NULL && tgi_meets_at_gap(s, s->rows->kind[i], s->rows->owner[i], s->rows->part[i])) *clearance -= y[i];
    }
  }
}

void tgi_rows_gap_vjp(tgSim *s, const tgPose *pose, const tgReal *y, tgReal *gq, tgParamGrad *p) {
  tgi_rows_sum_vjp(s, pose, 0, NULL, y, NULL, gq, p);
}

void tgi_rows_sum_vjp(tgSim *s, const tgPose *pose, int n, const tgiRowProduct *term, const tgReal *gaps, const tgReal *shape,
                      tgReal *gq, tgParamGrad *p) {
  Sum sum = {s, pose, n, term, gaps, shape, gq, p, p != NULL ? TG_NUMBER_GRAD(p, gap) : NULL};
  tgi_contacts_d(s, pose);
  contacts_vjp(&sum);
  for (int t = 0; t < n; t++)
    for (int i = 0; i < s->nrow; i++) other_row_vjp(s, pose, i, term[t].y, term[t].u, gq, p);
  if (gaps != NULL) other_gaps_vjp(s, pose, gaps, gq, p);
}

bool tgi_row_bend(tgSim *s, const tgPose *pose, int row, const tgReal *u, tgReal *rate) {
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, (size_t)s->nrow), *g = tgi_stack_real(s, (size_t)s->m.nv);
  tgContactRow *c = s->rows->kind[row] == TG_ROW_NORMAL ? &s->contact[s->rows->owner[row]] : NULL;
  if (y == NULL || g == NULL) return false;
  for (int k = 0, n = c != NULL ? c->nrow : 1; k < n; k++) y[row + k] = 0;
  y[row] = 1;
  const int *span = s->rows->span + 4 * row;   // of the sets of dofs that the row acts on: nothing else moves it
  for (int side = 0; side < 4; side += 2) memset(g + span[side], 0, (size_t)(span[side + 1] - span[side]) * sizeof *g);
  if (c != NULL) {
    const Sum sum = {.s = s, .pose = pose, .n = 1, .term = &(tgiRowProduct){y, u}, .gq = g};
    tgi_contacts_d(s, pose);
    BodyPair pair = open_pair(&sum, c);
    contact_vjp(&sum, c, &pair);
    close_pair(&sum, &pair);
  } else {
    other_row_vjp(s, pose, row, y, u, g, NULL);
  }
  *rate = 0;
  for (int side = 0; side < 4; side += 2)
    for (int d = span[side]; d < span[side + 1]; d++) *rate += g[d] * u[d];
  tgi_stack_free(s, mark);
  return true;
}

// ---- forces in the world ----

void tgi_rows_wrench(const tgSim *s, const tgPose *pose, const tgReal *f, tgReal *wrench) {
  const tgModel *m = &s->m;
  for (int i = 0; i < 6 * m->nbody; i++) wrench[i] = 0;
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i];
    tgReal screw[6];
    if (s->rows->kind[i] == TG_ROW_NORMAL || s->rows->kind[i] == TG_ROW_TANGENT) {
      const tgContactRow *c = &s->contact[owner];
      tgi_contact_screw(c, s->rows->part[i], screw);
      tgi_sp_axpy(wrench + 6 * m->geom_body[c->geom1], f[i], screw);
      tgi_sp_axpy(wrench + 6 * m->geom_body[c->geom2], -f[i], screw);
    } else if (tgi_is_bond(s, i)) {
      tgiBond k;
      tgi_bond(s, pose, owner, &k);
      for (int side = 0; side < 2; side++) {
        tgi_sp_screw(screw, k.p, f + i);
        if (k.weld) tgi_v3_add(screw, screw, f + i + 3);
        tgi_sp_axpy(wrench + 6 * (side == 0 ? k.a : k.b), side == 0 ? 1 : -1, screw);
      }
    }
  }
}
