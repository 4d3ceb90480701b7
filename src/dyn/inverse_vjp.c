// inverse_vjp.c: adjoint of inverse dynamics by one sweep out and one back over the tree, O(nv). See dynamics.h.
//
// L = w . tau = sum_b W_b . f_b + armature terms, W_b = sum of S_d w_d on the way to b. Adjoints (bar), reversing inverse.c:
//   Abar_b = I_b W_b,   Vbar_b = -W_b x* h_b - I_b Y_b,   h_b = I_b V_b, Y_b = V_b x W_b         (local, then summed over subtrees)
//   before a group: Vbar += (sum S_d v_d) x* Abar,   Sbar_d = v_d Vbar_after + a_d Abar - v_d Vp_d x* Abar + w_d F_d,
//   dL/dv_d = S_d . Vbar_after + (Vp_d x S_d) . Abar.
// Turning all that d carries by S_d moves the inertias and the axes from d's group on: dL/dq_d = S_d . K with K the sum of
//   -W x* I A - A x* I W + Y x* h + V x* I Y  over bodies, and  S_k x* Sbar_k  over dofs.
// Nothing here uses the closed form of inverse_d.c; the two are compared by dot test.
// Parameters: the K of each body alone is the adjoint of its pose, Sbar that of the axes (sim/param.h); an inertia I_b costs
//   W . dI A - Y . dI V, linear in its ten numbers (math/spatial.h).
// x' M y alone is the same with V = 0 and no gravity, W and A the twists of x and y: symmetric, and a third of the work.
#include "dyn/dynamics.h"

typedef struct Sweep { tgReal *W, *Abar, *Vbar, *K; } Sweep;

static bool take(tgSim *s, Sweep *w) {
  size_t n = (size_t)s->m.nbody * 6;
  w->W = tgi_stack_real(s, n);
  w->Abar = tgi_stack_real(s, n);
  w->Vbar = tgi_stack_real(s, n);
  w->K = tgi_stack_real(s, n);
  return w->W != NULL && w->Abar != NULL && w->Vbar != NULL && w->K != NULL;
}

// K, Abar, Vbar of one body alone
static void body_terms(const tgSim *s, const tgPose *pose, int b, Sweep *w) {
  const tgReal *I = pose->cinert + TG_INERTIA_SIZE * b, *V = pose->V + 6 * b, *A = s->A + 6 * b, *W = w->W + 6 * b;
  tgReal *K = w->K + 6 * b, *Vbar = w->Vbar + 6 * b, h[6], Y[6], IY[6], t[6];
  tgi_sp_inertia_mul(w->Abar + 6 * b, I, W);
  tgi_sp_inertia_mul(h, I, V);
  tgi_sp_cross_m(Y, V, W);
  tgi_sp_inertia_mul(IY, I, Y);
  tgi_sp_cross_f(t, W, h);
  for (int i = 0; i < 6; i++) Vbar[i] = -t[i] - IY[i];
  tgi_sp_cross_f(K, Y, h);
  tgi_sp_cross_f(t, V, IY);
  tgi_sp_axpy(K, 1, t);
  tgi_sp_cross_f(t, A, w->Abar + 6 * b);
  tgi_sp_axpy(K, -1, t);
  tgi_sp_inertia_mul(t, I, A);
  tgi_sp_cross_f(t, W, t);
  tgi_sp_axpy(K, -1, t);
}

// r (10) += sign * d(a . I b)/dI
static void inertia_gradient(const tgReal *a, const tgReal *b, tgReal sign, tgReal *r) {
  tgReal x[3], y[3];
  r[0] += sign * tgi_v3_dot(a + 3, b + 3);
  tgi_v3_cross(x, b + 3, a);
  tgi_v3_cross(y, b, a + 3);
  for (int i = 0; i < 3; i++) {
    r[1 + i] += sign * (x[i] - y[i]);
    r[4 + i] += sign * a[i] * b[i];
  }
  r[7] += sign * (a[0] * b[1] + a[1] * b[0]);
  r[8] += sign * (a[0] * b[2] + a[2] * b[0]);
  r[9] += sign * (a[1] * b[2] + a[2] * b[1]);
}

// g: gradient in the world inertia (m, m c, I_o), I_o = R J R' + m (c.c 1 - c c')
static void inertial_parameters(const tgSim *s, const tgPose *pose, int b, const tgReal *g, tgParamGrad *p) {
  const tgReal *c = pose->xcom + 3 * b, *R = pose->xmat + 9 * b;
  tgReal mass = s->m.body_mass[b], G[9] = {g[4], g[7] / 2, g[8] / 2, g[7] / 2, g[5], g[9] / 2, g[8] / 2, g[9] / 2, g[6]};
  tgReal trace = g[4] + g[5] + g[6], Gc[3], x[3], r[3], T[9], B[9];
  tgi_m3_mulv(Gc, G, c);
  if (p->body_mass != NULL) p->body_mass[b] += g[0] + tgi_v3_dot(g + 1, c) + trace * tgi_v3_dot(c, c) - tgi_v3_dot(c, Gc);
  if (p->body_com != NULL) {
    for (int i = 0; i < 3; i++) x[i] = mass * (g[1 + i] + 2 * trace * c[i] - 2 * Gc[i]);
    tgi_m3_tmulv(r, R, x);
    tgi_v3_add(p->body_com + 3 * b, p->body_com + 3 * b, r);
  }
  if (p->body_inertia == NULL) return;
  // R' G R
  tgi_m3_mul(T, G, R);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) B[3 * i + j] = R[i] * T[j] + R[3 + i] * T[3 + j] + R[6 + i] * T[6 + j];
  tgReal *J = p->body_inertia + 6 * b;
  for (int i = 0; i < 3; i++) J[i] += B[4 * i];
  J[3] += 2 * B[1];
  J[4] += 2 * B[2];
  J[5] += 2 * B[5];
}

static void body_parameters(const tgSim *s, const tgPose *pose, int b, const Sweep *w, tgParamGrad *p) {
  tgReal g[TG_INERTIA_SIZE] = {0}, Y[6];
  const tgReal *W = w->W + 6 * b;
  tgi_param_pose(p, b, w->K + 6 * b);
  tgi_sp_cross_m(Y, pose->V + 6 * b, W);
  inertia_gradient(W, s->A + 6 * b, 1, g);
  inertia_gradient(Y, pose->V + 6 * b, -1, g);
  inertial_parameters(s, pose, b, g, p);
}

// reverses one rotation group or single dof, from g to g + n - 1
static void reverse_group(const tgPose *pose, int g, int n, const tgReal *a, const tgReal *w, const tgReal *F, tgReal *Abar,
                          tgReal *Vbar, tgReal *K, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  tgReal Srel[6], VpA[6], t[6], bar[6];
  tgi_sp_cross_f(VpA, pose->Vp + 6 * g, Abar);
  tgi_sp_zero(Srel);
  for (int d = g; d < g + n; d++) {
    const tgReal *S = pose->S + 6 * d;
    tgReal v = pose->vel[d];
    tgi_sp_axpy(Srel, v, S);
    for (int i = 0; i < 6; i++) bar[i] = v * (Vbar[i] - VpA[i]) + a[d] * Abar[i] + w[d] * F[i];
    if (p != NULL) tgi_param_axis(p, d, bar);
    tgi_sp_cross_f(t, S, bar);
    tgi_sp_axpy(K, 1, t);
    if (gv != NULL) gv[d] += tgi_sp_dot(S, Vbar) + tgi_sp_dot(pose->Sd + 6 * d, Abar);
  }
  if (gq != NULL)
    for (int d = g; d < g + n; d++) gq[d] += tgi_sp_dot(pose->S + 6 * d, K);
  tgi_sp_cross_f(t, Srel, Abar);
  tgi_sp_axpy(Vbar, 1, t);
}

tgStatus tgi_inverse_vjp(tgSim *s, const tgPose *pose, const tgReal *a, const tgReal *xfrc, const tgReal *w, tgReal *gq,
                         tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  Sweep k;
  tgReal *tau = tgi_stack_real(s, (size_t)m->nv);
  if (!take(s, &k) || tau == NULL) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  tgi_inverse(s, pose, a, xfrc, tau);  // A, Ap and F
  tgi_sp_zero(k.W);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(k.W + 6 * b, k.W + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(k.W + 6 * b, w[d], pose->S + 6 * d);
    body_terms(s, pose, b, &k);
    if (p != NULL) body_parameters(s, pose, b, &k, p);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int parent = m->body_parent[b];
    for (int d = m->body_dofadr[b] + m->body_dofnum[b] - 1; d >= m->body_dofadr[b] && d >= 0;) {
      int g = m->dof_grpadr[d];
      reverse_group(pose, g, m->dof_grpnum[d], a, w, s->F + 6 * b, k.Abar + 6 * b, k.Vbar + 6 * b, k.K + 6 * b, gq, gv, p);
      d = g - 1;
    }
    // the root's own acceleration is minus gravity
    if (parent == 0 && p != NULL && p->opt_gravity != NULL) tgi_v3_sub(p->opt_gravity, p->opt_gravity, k.Abar + 6 * b + 3);
    if (parent == 0) continue;
    tgi_sp_axpy(k.Abar + 6 * parent, 1, k.Abar + 6 * b);
    tgi_sp_axpy(k.Vbar + 6 * parent, 1, k.Vbar + 6 * b);
    tgi_sp_axpy(k.K + 6 * parent, 1, k.K + 6 * b);
  }
  if (p != NULL && p->dof_armature != NULL)
    for (int d = 0; d < m->nv; d++) p->dof_armature[d] += w[d] * a[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- x' M y alone ----

typedef struct MassSweep { tgReal *X, *Y, *IX, *IY, *K; } MassSweep;   // twists, momenta and forces on axes, by body

static bool take_mass(tgSim *s, MassSweep *w) {
  size_t n = (size_t)s->m.nbody * 6;
  *w = (MassSweep){tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n), tgi_stack_real(s, n)};
  return w->X != NULL && w->Y != NULL && w->IX != NULL && w->IY != NULL && w->K != NULL;
}

// twist of body b by x, those of the bodies before it are there
static void twist_of(const tgModel *m, const tgPose *pose, int b, const tgReal *x, tgReal *X) {
  tgi_sp_copy(X + 6 * b, X + 6 * m->body_parent[b]);
  for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(X + 6 * b, x[d], pose->S + 6 * d);
}

// IX, IY and K of a body from its two twists; force (may be NULL): on its pose besides
static void mass_pose(const tgSim *s, const tgPose *pose, int b, const tgReal *force, MassSweep *w, tgParamGrad *p) {
  const tgReal *I = pose->cinert + TG_INERTIA_SIZE * b;
  tgReal *X = w->X + 6 * b, *Y = w->Y + 6 * b, *IX = w->IX + 6 * b, *IY = w->IY + 6 * b, *K = w->K + 6 * b, t[6];
  tgi_sp_inertia_mul(IX, I, X);
  tgi_sp_inertia_mul(IY, I, Y);
  tgi_sp_cross_f(K, X, IY);
  tgi_sp_cross_f(t, Y, IX);
  for (int i = 0; i < 6; i++) K[i] = (force != NULL ? force[i] : 0) - K[i] - t[i];
  if (p == NULL) return;
  tgReal g[TG_INERTIA_SIZE] = {0};
  tgi_param_pose(p, b, K);
  inertia_gradient(X, Y, 1, g);
  inertial_parameters(s, pose, b, g, p);
}

// the dofs of body b, last first: its momenta and K are summed over what it carries
static void mass_dofs(const tgSim *s, const tgPose *pose, int b, const tgReal *x, const tgReal *y, MassSweep *w, tgReal *gq,
                      tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *IX = w->IX + 6 * b, *IY = w->IY + 6 * b;
  tgReal *K = w->K + 6 * b, bar[6], t[6];
  for (int d = m->body_dofadr[b] + m->body_dofnum[b] - 1; d >= m->body_dofadr[b] && d >= 0;) {
    int g = m->dof_grpadr[d];
    for (int k = g; k <= d; k++) {
      for (int i = 0; i < 6; i++) bar[i] = y[k] * IX[i] + x[k] * IY[i];
      if (p != NULL) tgi_param_axis(p, k, bar);
      tgi_sp_cross_f(t, pose->S + 6 * k, bar);
      tgi_sp_axpy(K, 1, t);
    }
    for (int k = g; k <= d && gq != NULL; k++) gq[k] += tgi_sp_dot(pose->S + 6 * k, K);
    d = g - 1;
  }
}

tgStatus tgi_mass_vjp(tgSim *s, const tgPose *pose, const tgReal *x, const tgReal *y, tgReal *gq, tgParamGrad *p) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  MassSweep w;
  if (!take_mass(s, &w)) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  tgi_sp_zero(w.X);
  tgi_sp_zero(w.Y);
  for (int b = 1; b < m->nbody; b++) {
    twist_of(m, pose, b, x, w.X);
    twist_of(m, pose, b, y, w.Y);
    mass_pose(s, pose, b, NULL, &w, p);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int parent = m->body_parent[b];
    mass_dofs(s, pose, b, x, y, &w, gq, p);
    if (parent == 0) continue;
    tgi_sp_axpy(w.IX + 6 * parent, 1, w.IX + 6 * b);
    tgi_sp_axpy(w.IY + 6 * parent, 1, w.IY + 6 * b);
    tgi_sp_axpy(w.K + 6 * parent, 1, w.K + 6 * b);
  }
  for (int d = 0; d < m->nv && p != NULL && p->dof_armature != NULL; d++) p->dof_armature[d] += x[d] * y[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- x' of momenta ----

// What mass_dofs has of y alone, with the twists X given and forces on the bodies' poses beside: both mass_body and mass_dofs at x = 0
tgStatus tgi_momenta_vjp(tgSim *s, const tgPose *pose, const tgReal *X, const tgReal *force, const tgReal *y, tgReal *gq, tgReal *gv,
                         tgParamGrad *p) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  MassSweep w;
  tgReal *none = tgi_stack_real(s, (size_t)m->nv);
  if (!take_mass(s, &w) || none == NULL) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  for (int d = 0; d < m->nv; d++) none[d] = 0;
  tgi_sp_zero(w.Y);
  for (int b = 1; b < m->nbody; b++) {
    twist_of(m, pose, b, y, w.Y);
    tgi_sp_copy(w.X + 6 * b, X + 6 * b);
    mass_pose(s, pose, b, force + 6 * b, &w, p);
  }
  for (int b = m->nbody - 1; b > 0; b--) {
    int parent = m->body_parent[b];
    mass_dofs(s, pose, b, none, y, &w, gq, p);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) gv[d] += tgi_sp_dot(pose->S + 6 * d, w.IX + 6 * b);
    if (parent == 0) continue;
    tgi_sp_axpy(w.IX + 6 * parent, 1, w.IX + 6 * b);
    tgi_sp_axpy(w.IY + 6 * parent, 1, w.IY + 6 * b);
    tgi_sp_axpy(w.K + 6 * parent, 1, w.K + 6 * b);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
