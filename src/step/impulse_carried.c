// impulse_carried.c: see impulse_carried.h.
#include "step/impulse_carried.h"

#include "dyn/dynamics.h"
#include "step/impulse.h"
#include "step/step.h"

#include <string.h>

// turn in a step [rad], of all joints of a tree together, from which a tree has some of it, and all
typedef struct Turn { double slow, fast; } Turn;

// In the middle of a flow a body alone stays bounded up to 2 rad without it (step/impulse_midway.h), and keeps its energy better.
static Turn turn_of(const tgSim *s, int first) {
  static const Turn tree = {0.1, 0.3}, alone = {1, 1.5};
  const tgModel *m = &s->m;
  return s->midway && m->dof_body[first] == m->dof_body[m->dof_tree[2 * first + 1] - 1] ? alone : tree;
}

static bool turns(const tgModel *m, int d) { return m->dof_grpnum[d] == 3 || m->jnt_type[m->dof_jnt[d]] == TG_JOINT_HINGE; }

// from 0 at y = 0 to 1 at y = 1 with two derivatives that are 0 there
static tgReal blend(tgReal y) { return tgRe(y) <= 0 ? 0 : tgRe(y) >= 1 ? 1 : y * y * y * (10 + y * (6 * y - 15)); }
static tgReal blend_rate(tgReal y) { return tgRe(y) <= 0 || tgRe(y) >= 1 ? 0 : 30 * y * y * (1 - y) * (1 - y); }

// where between the two turns a tree with that sum of squared rates is
static double width(Turn t) { return t.fast * t.fast - t.slow * t.slow; }
static tgReal place(Turn t, tgReal h, tgReal sum) { return (h * h * sum - t.slow * t.slow) / width(t); }

// x (nv) at a tree's first dof = the sum over its dofs, which come after those that carry them
static void sum_trees(const tgModel *m, tgReal *x) {
  for (int d = m->nv - 1; d >= 0; d--)
    if (m->dof_parent[d] >= 0) x[m->dof_parent[d]] += x[d];
}

// sum (nv), at each tree's first dof: of the squares of its rates. A tree of one dof has no such forces
static void squares(const tgSim *s, tgReal *sum) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++)
    sum[d] = turns(m, d) && m->dof_tree[2 * d + 1] - m->dof_tree[2 * d] > 1 ? s->start.vel[d] * s->start.vel[d] : 0;
  sum_trees(m, sum);
}

// the largest of them
static double shares(tgSim *s, tgReal h) {
  const tgModel *m = &s->m;
  double most = 0;
  squares(s, s->carried_share);
  for (int d = 0; d < m->nv; d++) {
    int parent = m->dof_parent[d];
    s->carried_share[d] = parent < 0 ? blend(place(turn_of(s, d), h, s->carried_share[d])) : s->carried_share[parent];
    most = fmax(most, tgRe(s->carried_share[d]));
  }
  return most;
}

bool tgi_any_carried(const tgSim *s) {
  for (int d = 0; d < s->m.nv; d++)
    if (tgRe(s->carried_share[d]) != 0) return true;
  return false;
}

// p (6, at the world origin) of body b at the start: its momenta before, those about its centre of mass
static void momentum(const tgSim *s, int b, tgReal p[6]) {
  tgReal way[3], turn[3];
  tgi_sp_inertia_mul(p, s->before.cinert + TG_INERTIA_SIZE * b, s->before.V + 6 * b);
  tgi_v3_sub(way, s->start.xcom + 3 * b, s->before.xcom + 3 * b);
  tgi_v3_cross(turn, way, p + 3);
  tgi_v3_add(p, p, turn);
}

// X (nbody x 6) = scale p_b
static void momenta(const tgSim *s, tgReal scale, tgReal *X) {
  tgi_sp_zero(X);
  for (int b = 1; b < s->m.nbody; b++) {
    momentum(s, b, X + 6 * b);
    for (int i = 0; i < 6; i++) X[6 * b + i] *= scale;
  }
}

// no weight
static const tgReal nothing[3] = {0, 0, 0};

// q- and all of it that momenta need
static void go_before(tgSim *s, tgReal h, tgReal *w) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) w[d] = -h * s->start.vel[d];
  tg_model_integrate(m, s->start.q, w, s->before.q);
  tgi_kinematics(m, s->before.q, &s->before);
  tgi_inertias(s, &s->before);
  tgi_velocities(s, &s->before, s->start.vel);
}

// velocity of a body's centre of mass, and its angular momentum about that
static void centre_motion(const tgModel *m, const tgPose *pose, int b, tgReal u[3], tgReal L[3]) {
  const tgReal *J = m->body_inertia + 6 * b, *R = pose->xmat + 9 * b;
  const tgReal full[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]};
  tgReal w[3], Jw[3];
  tgi_sp_point_velocity(u, pose->V + 6 * b, pose->xcom + 3 * b);
  tgi_m3_tmulv(w, R, pose->V + 6 * b);
  tgi_m3_mulv(Jw, full, w);
  tgi_m3_mulv(L, R, Jw);
}

// X (nbody x 6) = (momenta at the start - p)/h, from differences at each body's centre: those of bodies far out are large, and
// rounding of them is much for a light link
static void changes(const tgSim *s, tgReal h, tgReal *X) {
  tgi_sp_zero(X);
  for (int b = 1; b < s->m.nbody; b++) {
    tgReal u[3], u0[3], L[3], L0[3], *turn = X + 6 * b, *way = turn + 3, t[3];
    centre_motion(&s->m, &s->start, b, u, L);
    centre_motion(&s->m, &s->before, b, u0, L0);
    tgi_v3_sub(way, u, u0);
    tgi_v3_scale(way, way, s->m.body_mass[b] / h);
    tgi_v3_cross(t, s->start.xcom + 3 * b, way);
    for (int i = 0; i < 3; i++) turn[i] = (L[i] - L0[i]) / h + t[i];
  }
}

// Its inertia is the same about all axes through the joint's centre, within a thousandth: nothing precesses.
static bool is_round(const tgModel *m, int body) {
  double J[6], c = 0, most = 0, spread = 0, off = 0;
  for (int i = 0; i < 6; i++) J[i] = tgRe(m->body_inertia[6 * body + i]);
  for (int i = 0; i < 3; i++) {
    c += tgRe(m->body_com[3 * body + i]) * tgRe(m->body_com[3 * body + i]);
    most = fmax(most, J[i]);
    spread = fmax(spread, fabs(J[i] - J[(i + 1) % 3]));
    off = fmax(off, fabs(J[3 + i]));
  }
  return fmax(spread, off) + tgRe(m->body_mass[body]) * c <= 1e-3 * most;
}

double tgi_turn_alone(const tgSim *s) {
  const tgModel *m = &s->m;
  double most = 0;
  for (int d = 0; d < m->nv; d = m->dof_tree[2 * d + 1]) {
    int body = m->dof_body[d], end = m->dof_tree[2 * d + 1];
    double sum = 0;
    if (end - d < 2 || body != m->dof_body[end - 1] || is_round(m, body)) continue;
    for (int i = d; i < end; i++) sum += turns(m, i) ? tgRe(s->start.vel[i]) * tgRe(s->start.vel[i]) : 0;
    most = fmax(most, sum);
  }
  return sqrt(most);
}

// c~ - c = J' X - (c - weight) = -ID(q, v, 0; forces X) without gravity; rotors (armature) keep their momentum
tgStatus tgi_carried(tgSim *s, tgReal h) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  const tgReal *gravity = m->opt_gravity;
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *X = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (w == NULL || X == NULL) return tgi_no_room(s, "momenta");
  if (shares(s, tgi_impulse_options(s)->gyroscopic == TG_GYROSCOPIC_BOUNDED ? h : 0) > 0) {
    go_before(s, h, w);
    changes(s, h, X);
    s->m.opt_gravity = nothing;
    tgi_inverse(s, &s->start, NULL, X, s->carried);
    s->m.opt_gravity = gravity;
    for (int d = 0; d < m->nv; d++) s->carried[d] = -s->carried[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

typedef struct Work { tgReal *u, *a, *Mu, *X, *W, *turn, *gq, *gw; } Work;

static bool take(tgSim *s, Work *k) {
  size_t nv = (size_t)s->m.nv, nb = 6 * (size_t)s->m.nbody;
  *k = (Work){tgi_stack_real(s, nv), tgi_stack_real(s, nv), tgi_stack_real(s, nv), tgi_stack_real(s, nb),
              tgi_stack_real(s, nb), tgi_stack_real(s, nb), tgi_stack_real(s, nv), tgi_stack_real(s, nv)};
  return k->u != NULL && k->a != NULL && k->Mu != NULL && k->X != NULL && k->W != NULL && k->turn != NULL && k->gq != NULL && k->gw != NULL;
}

void tgi_carried_share_vjp(const tgSim *s, tgReal *by, tgReal *sum, tgReal *gv, tgReal *dt) {
  const tgModel *m = &s->m;
  tgReal h = s->dt;
  squares(s, sum);
  sum_trees(m, by);
  for (int d = 0; d < m->nv; d++) {
    int parent = m->dof_parent[d];
    Turn turn = turn_of(s, d);
    by[d] = parent < 0 ? by[d] * blend_rate(place(turn, h, sum[d])) / width(turn) : by[parent];
    if (turns(m, d)) gv[d] += by[d] * 2 * h * h * s->start.vel[d];
    if (parent < 0 && dt != NULL) *dt += by[d] * 2 * h * sum[d];
  }
}

void tgi_carried_share_slope(const tgSim *s, int d, tgReal *work, tgReal *by_v, tgReal *by_h) {
  size_t nv = (size_t)s->m.nv;
  memset(work, 0, nv * sizeof *work);
  memset(by_v, 0, nv * sizeof *by_v);
  work[d] = 1;
  tgi_carried_share_vjp(s, work, work + nv, by_v, by_h);
}

// dshare of each tree, whose c~ - c has the weights w; by (nv): work
static void shares_vjp(const tgSim *s, const tgReal *w, tgReal *sum, tgReal *by, tgReal *gv, tgReal *dt) {
  for (int d = 0; d < s->m.nv; d++) by[d] = tgRe(s->carried_share[d]) != 0 ? w[d] * s->carried[d] : 0;
  tgi_carried_share_vjp(s, by, sum, gv, dt);
}

// K (6) = wrench of the force f at the point c
static void wrench_at(const tgReal c[3], const tgReal f[3], tgReal K[6]) {
  tgi_v3_cross(K, c, f);
  tgi_v3_copy(K + 3, f);
}

// f on the centre of mass of body b into its place as a parameter, and as the wrench K (may be NULL) into the body's
static void centre_parameters(const tgPose *pose, int b, const tgReal *f, const tgReal *K, tgParamGrad *p) {
  tgReal r[3];
  if (p == NULL) return;
  tgi_m3_tmulv(r, pose->xmat + 9 * b, f);
  if (p->body_com != NULL) tgi_v3_add(p->body_com + 3 * b, p->body_com + 3 * b, r);
  if (K != NULL) tgi_param_pose(p, b, K);
}

// -W_b . p_b/h, W_b the twist of u at the start, P the linear momentum: f = -P x w/h pulls at the centre there, -f at the one before.
// W becomes what pairs with the momenta before about the world origin, times -1/h; X and turn: f and -f as wrenches.
static void weigh_momenta(tgSim *s, Work *k, tgReal *dt, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal h = s->dt;
  tgi_sp_zero(k->W);
  tgi_sp_zero(k->turn);
  for (int b = 1; b < m->nbody; b++) {
    tgReal *W = k->W + 6 * b;
    tgi_sp_copy(W, k->W + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(W, k->u[d], s->start.S + 6 * d);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    const tgReal *c = s->start.xcom + 3 * b, *c0 = s->before.xcom + 3 * b;
    tgReal *W = k->W + 6 * b, *X = k->X + 6 * b, f[3], way[3], turn[3];   // X = -p/h
    if (dt != NULL) *dt -= tgi_sp_dot(W, X) / h;
    tgi_v3_cross(f, X + 3, W);
    wrench_at(c, f, X);
    centre_parameters(&s->start, b, f, X, p);
    for (int i = 0; i < 3; i++) f[i] = -f[i];
    wrench_at(c0, f, k->turn + 6 * b);
    centre_parameters(&s->before, b, f, NULL, p);
    tgi_v3_sub(way, c, c0);
    tgi_v3_cross(turn, W, way);   // v at the centre at the start, w x (c - c0) more than before's origin has
    tgi_v3_add(W + 3, W + 3, turn);
    for (int i = 0; i < 6; i++) W[i] /= -h;
  }
}

// gq += S_d . (sum of X over what d carries); X becomes these sums
static void carry_wrenches(const tgSim *s, tgReal *X, tgReal *gq) {
  const tgModel *m = &s->m;
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(X + 6 * m->body_parent[b], 1, X + 6 * b);
  for (int d = 0; d < m->nv; d++) gq[d] += tgi_sp_dot(s->start.S + 6 * d, X + 6 * m->dof_body[d]);
}

// The same as (M - armature) v/h - c + J' X without gravity, X = -p/h: -ID(q, v, -v/h; X)
static tgStatus inverse_part(tgSim *s, Work *k, tgReal *gq, tgReal *gv, tgReal *dt, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *gravity = m->opt_gravity;
  tgReal h = s->dt;
  tgParamGrad without;
  if (p != NULL) {
    without = *p;
    without.opt_gravity = without.dof_armature = NULL;
  }
  tgi_mass_mul(s, k->u, k->Mu);
  for (int d = 0; d < m->nv; d++) {
    tgReal Mu = k->Mu[d] - m->dof_armature[d] * k->u[d], v = s->start.vel[d];
    gv[d] += Mu / h;
    if (dt != NULL) *dt -= Mu * v / (h * h);
    k->a[d] = -v / h;
    k->Mu[d] = -k->u[d];
  }
  s->m.opt_gravity = nothing;
  tgStatus status = tgi_inverse_vjp(s, &s->start, k->a, k->X, k->Mu, gq, gv, p != NULL ? &without : NULL);
  s->m.opt_gravity = gravity;
  return status;
}

// gq at q- = q (+) (-h v) back to q, v and h
static void carry_before(tgSim *s, Work *k, tgReal *gq, tgReal *gv, tgReal *dt) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    k->a[d] = -s->dt * s->start.vel[d];
    k->gw[d] = 0;
  }
  tgi_integrate_vjp(m, k->a, k->gq, gq, k->gw);
  for (int d = 0; d < m->nv; d++) {
    gv[d] -= s->dt * k->gw[d];
    if (dt != NULL) *dt -= s->start.vel[d] * k->gw[d];
  }
}

static tgStatus vjp(tgSim *s, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *dt, tgParamGrad *p) {
  const tgModel *m = &s->m;
  Work k;
  if (!take(s, &k)) return tgi_no_room(s, "adjoint");
  shares_vjp(s, w, k.u, k.a, gv, dt);
  for (int d = 0; d < m->nv; d++) {
    k.u[d] = s->carried_share[d] * w[d];
    k.gq[d] = 0;
  }
  momenta(s, -1 / s->dt, k.X);
  TG_TRY(inverse_part(s, &k, gq, gv, dt, p));
  weigh_momenta(s, &k, dt, p);
  carry_wrenches(s, k.X, gq);
  if (p != NULL) tgi_place_vjp(s, &s->start, p, NULL);   // what is left there is of another pose
  TG_TRY(tgi_momenta_vjp(s, &s->before, k.W, k.turn, s->start.vel, k.gq, gv, p));
  if (p != NULL) tgi_place_vjp(s, &s->before, p, NULL);
  carry_before(s, &k, gq, gv, dt);
  return TG_OK;
}

tgStatus tgi_carried_vjp(tgSim *s, const tgReal *w, tgReal *gq, tgReal *gv, tgReal *dt, tgParamGrad *p) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = tgi_any_carried(s) ? vjp(s, w, gq, gv, dt, p) : TG_OK;
  tgi_stack_free(s, mark);
  return status;
}
