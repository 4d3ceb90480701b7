// friction_plane.c: friction of a pair of triangles through a massless plane between them. [math/barrier Friction, the plane's form]
//
// Based on: [barrier A.3]. The velocity of the plane is found by Newton's method for each pair and each evaluation; it
// has no inertia, so the energy's first derivative is that at fixed w, and its second follows by eliminating w.
#include "contact/barrier/friction/friction.h"
#include "contact/barrier/friction/friction_twist.h"

enum { VERTICES = 6, STEPS = 100 };

// a pair with its velocities: displacements d and places x now, v_k, P, the plane's w, and for each vertex e = v - w, s = sqrt(e.e + eps^2)
typedef struct tgiSliding { tgReal d[18], x[18], v[18], P[9], w[3], e[18], s[6]; } tgiSliding;

static void project(tgReal P[9], const tgReal n[3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) P[3 * i + j] = (i == j ? 1 : 0) - n[i] * n[j];
}

// M += f (1/s - e e'/s^3), the curvature of f s in e
static void curvature_of(tgReal M[9], tgReal f, const tgReal e[3], tgReal s) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) M[3 * i + j] += f / s * ((i == j ? 1 : 0) - e[i] * e[j] / (s * s));
}

// x = M^-1 b by Cholesky, M symmetric positive definite
static void solve3(const tgReal M[9], const tgReal b[3], tgReal x[3]) {
  tgReal L[9], y[3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      tgReal a = M[3 * i + j];
      for (int k = 0; k < j; k++) a -= L[3 * i + k] * L[3 * j + k];
      L[3 * i + j] = i == j ? tgSqrt(a) : a / L[4 * j];
    }
  for (int i = 0; i < 3; i++) {
    y[i] = b[i];
    for (int k = 0; k < i; k++) y[i] -= L[3 * i + k] * y[k];
    y[i] /= L[4 * i];
  }
  for (int i = 2; i >= 0; i--) {
    x[i] = y[i];
    for (int k = i + 1; k < 3; k++) x[i] -= L[3 * k + i] * x[k];
    x[i] /= L[4 * i];
  }
}

// e and s at w; the cost sum f s, of which r = sum f e/s is minus the gradient in w, and M (may be NULL) the Hessian
static double at(const tgiFrictionPlane *p, tgReal eps, const tgReal w[3], tgiSliding *v, tgReal r[3], tgReal *M) {
  double cost = 0;
  tgi_v3_zero(r);
  if (M != NULL) for (int i = 0; i < 9; i++) M[i] = 0;
  for (int k = 0; k < VERTICES; k++) {
    tgReal *e = v->e + 3 * k;
    tgi_v3_sub(e, v->v + 3 * k, w);
    v->s[k] = tgSqrt(tgi_v3_dot(e, e) + eps * eps);
    tgi_v3_axpy(r, p->f[k] / v->s[k], e);
    cost += tgRe(p->f[k] * v->s[k]);
    if (M != NULL) curvature_of(M, p->f[k], e, v->s[k]);
  }
  return cost;
}

// Newton's steps for one eps until |gradient| <= tol total. Each is halved until it does not go far beyond the least
// cost along it, nor to a higher one: it then gains half of what its line has to give, the cost being convex. (The
// slope alone would do where the cost is a kink, and climb.)
static void descend(const tgiFrictionPlane *p, tgReal eps, double tol, double total, tgiSliding *v) {
  tgReal r[3], M[9], step[3], w[3], trial[3];
  for (int n = 0; n < STEPS; n++) {
    double before = at(p, eps, v->w, v, r, M);
    if (tgRe(tgi_v3_dot(r, r)) <= tol * tol * total * total) return;
    solve3(M, r, step);
    double slope = tgRe(tgi_v3_dot(step, r)), t = 1;
    for (int halvings = 0; halvings < 50; halvings++, t /= 2) {
      for (int i = 0; i < 3; i++) w[i] = v->w[i] + t * step[i];
      double cost = at(p, eps, w, v, trial, NULL);
      if (tgRe(tgi_v3_dot(step, trial)) >= -0.5 * slope && cost <= before * (1 + 1e-15)) break;
    }
    tgi_v3_copy(v->w, w);
  }
}

// the w of least cost, over eps falling from the largest speed: each minimum is near the last. Two whole steps at the end also carry the
// imaginary parts of the complex build.
static void find_velocity(const tgiFrictionPlane *p, tgReal eps, tgiSliding *v) {
  tgReal total = 0, r[3], M[9], step[3];
  double most = 0;
  tgi_v3_zero(v->w);
  for (int k = 0; k < VERTICES; k++) {
    total += p->f[k];
    tgi_v3_axpy(v->w, p->f[k], v->v + 3 * k);
  }
  tgi_v3_scale(v->w, v->w, 1 / total);
  at(p, eps, v->w, v, r, NULL);
  for (int k = 0; k < VERTICES; k++) most = fmax(most, tgRe(v->s[k]));
  for (; most > 8 * tgRe(eps); most /= 8) descend(p, most, 1e-3, tgRe(total), v);
  descend(p, eps, 1e-12, tgRe(total), v);
  for (int n = 0; n < 2; n++) {
    at(p, eps, v->w, v, r, M);
    solve3(M, r, step);
    tgi_v3_add(v->w, v->w, step);
  }
  at(p, eps, v->w, v, r, NULL);
}

static void slide(const tgiFrictionPlane *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgiSliding *v) {
  project(v->P, p->n);
  for (int k = 0; k < VERTICES; k++) {
    tgi_friction_moved(v->d + 3 * k, &m[k / 3], p->x + 3 * k);
    tgi_v3_add(v->x + 3 * k, p->x + 3 * k, v->d + 3 * k);
    tgi_m3_mulv(v->v + 3 * k, v->P, v->d + 3 * k);
    tgi_v3_scale(v->v + 3 * k, v->v + 3 * k, 1 / law->h);
  }
  find_velocity(p, law->eps, v);
}

// y = P x, or P x P
static void both_sides(tgReal y[9], const tgReal P[9], const tgReal x[9]) {
  tgReal t[9];
  tgi_m3_mul(t, P, x);
  tgi_m3_mul(y, t, P);
}

// T += J' K J over the vertices, K_kl = c P (delta_kl M_k - M_k (sum M)^-1 M_l) P
static void stiffness(const tgiFrictionPlane *p, const tgiSliding *v, tgReal c, tgReal T[144]) {
  tgReal M[VERTICES][9], sum[9] = {0}, R[3][12] = {{0}}, X[3][12];
  for (int k = 0; k < VERTICES; k++) {
    tgReal K[9];
    for (int i = 0; i < 9; i++) M[k][i] = 0;
    curvature_of(M[k], p->f[k], v->e + 3 * k, v->s[k]);
    for (int i = 0; i < 9; i++) sum[i] += M[k][i];
    both_sides(K, v->P, M[k]);
    int body = 6 * (k / 3);
    for (int j = 0; j < 6; j++) {
      tgReal u[3], y[3], column[6] = {0};
      tgi_friction_velocity(u, j, v->x + 3 * k);
      tgi_m3_mulv(y, K, u);
      tgi_friction_wrench(column, v->x + 3 * k, 1, y);
      for (int i = 0; i < 6; i++) T[12 * (body + i) + body + j] += c * column[i];
      tgi_m3_mulv(y, v->P, u);
      tgi_m3_mulv(u, M[k], y);
      for (int i = 0; i < 3; i++) R[i][body + j] += u[i];
    }
  }
  // R = sum M_k P J_k; minus R' (sum M)^-1 R
  for (int j = 0; j < 12; j++) {
    tgReal b[3] = {R[0][j], R[1][j], R[2][j]}, x[3];
    solve3(sum, b, x);
    for (int i = 0; i < 3; i++) X[i][j] = x[i];
  }
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++)
      for (int a = 0; a < 3; a++) T[12 * i + j] -= c * R[a][i] * X[a][j];
}

tgReal tgi_friction_plane_energy(int n, const tgiFrictionPlane *p, const tgiFrictionLaw *law,
                                 const tgiFrictionMotion m[2], tgReal *g, tgReal *H) {
  tgReal energy = 0, T[144] = {0};
  for (int i = 0; i < n; i++) {
    tgiSliding v;
    slide(&p[i], law, m, &v);
    for (int k = 0; k < VERTICES; k++) {
      const tgReal *e = v.e + 3 * k, *x = v.x + 3 * k;
      int body = 6 * (k / 3);
      tgReal F[3];
      energy += law->lambda * law->h * p[i].f[k] * tgi_v3_dot(e, e) / (v.s[k] + law->eps);
      tgi_m3_mulv(F, v.P, e);
      tgi_v3_scale(F, F, law->lambda * p[i].f[k] / v.s[k]);
      if (g != NULL) tgi_friction_wrench(g + body, x, 1, F);
      if (H != NULL) tgi_friction_curvature(T + 13 * body, x, 1, F);
    }
    if (H != NULL) stiffness(&p[i], &v, law->lambda / law->h, T);
  }
  if (H != NULL) tgi_friction_symmetric(H, T);
  return energy;
}

// change of g by df and dP, by dv of the velocities and dx of the places now
static void change(const tgiFrictionPlane *p, const tgiSliding *v, const tgiFrictionLaw *law, const tgReal df[6], const tgReal dP[9],
                   const tgReal dv[18], const tgReal dx[18], tgReal dg[12]) {
  tgReal M[VERTICES][9], sum[9] = {0}, r[3] = {0}, dw[3];
  for (int k = 0; k < VERTICES; k++) {
    const tgReal *e = v->e + 3 * k;
    tgReal a[3];
    for (int i = 0; i < 9; i++) M[k][i] = 0;
    curvature_of(M[k], p->f[k], e, v->s[k]);
    for (int i = 0; i < 9; i++) sum[i] += M[k][i];
    // 0 = d sum f e/s = sum df e/s + M (dv - dw)
    tgi_m3_mulv(a, M[k], dv + 3 * k);
    for (int i = 0; i < 3; i++) r[i] += df[k] * e[i] / v->s[k] + a[i];
  }
  solve3(sum, r, dw);
  for (int i = 0; i < 12; i++) dg[i] = 0;
  for (int k = 0; k < VERTICES; k++) {
    const tgReal *e = v->e + 3 * k;
    tgReal de[3], a[3], inner[3], F[3], G[3], lever[3];
    tgi_v3_sub(de, dv + 3 * k, dw);
    tgi_m3_mulv(a, M[k], de);
    for (int i = 0; i < 3; i++) inner[i] = df[k] * e[i] / v->s[k] + a[i];
    tgi_m3_mulv(F, v->P, inner);
    tgi_m3_mulv(G, dP, e);
    for (int i = 0; i < 3; i++) F[i] = law->lambda * (F[i] + p->f[k] / v->s[k] * G[i]);
    tgi_friction_wrench(dg + 6 * (k / 3), v->x + 3 * k, 1, F);
    tgi_m3_mulv(F, v->P, e);
    tgi_v3_cross(lever, dx + 3 * k, F);
    tgi_v3_axpy(dg + 6 * (k / 3), law->lambda * p->f[k] / v->s[k], lever);
  }
}

// P for a change of n
static void project_d(tgReal dP[9], const tgReal n[3], const tgReal dn[3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) dP[3 * i + j] = -dn[i] * n[j] - n[i] * dn[j];
}

// dv when P changes by dP and the displacements by move
static void velocities_d(const tgiSliding *v, const tgiFrictionLaw *law, const tgReal dP[9], const tgReal move[18], tgReal dv[18]) {
  for (int k = 0; k < VERTICES; k++) {
    tgReal a[3], b[3];
    tgi_m3_mulv(a, dP, v->d + 3 * k);
    tgi_m3_mulv(b, v->P, move + 3 * k);
    for (int i = 0; i < 3; i++) dv[3 * k + i] = (a[i] + b[i]) / law->h;
  }
}

void tgi_friction_plane_mixed(const tgiFrictionPlane *p, const tgiFrictionPlane dp[6], const tgiFrictionLaw *law,
                              const tgiFrictionMotion m[2], tgReal B[144]) {
  const tgReal none[18] = {0};
  tgiSliding v;
  slide(p, law, m, &v);
  for (int j = 0; j < 6; j++) {
    // the vertices' places at the start go along with the bodies, those now are held
    tgReal dP[9], dn[3] = {0}, move[18] = {0}, dv[18], relative[12], common[12];
    for (int k = 0; k < 3; k++) {
      tgi_friction_velocity(move + 3 * k, j, p->x + 3 * k);
      tgi_v3_scale(move + 3 * k, move + 3 * k, -1);
    }
    project_d(dP, p->n, dp[j].n);
    velocities_d(&v, law, dP, move, dv);
    change(p, &v, law, dp[j].f, dP, dv, none, relative);
    for (int k = 3; k < 6; k++) {
      tgi_friction_velocity(move + 3 * k, j, p->x + 3 * k);
      tgi_v3_scale(move + 3 * k, move + 3 * k, -1);
    }
    if (j < 3) tgi_friction_velocity(dn, j, p->n);
    project_d(dP, p->n, dn);
    velocities_d(&v, law, dP, move, dv);
    change(p, &v, law, none, dP, dv, none, common);
    for (int i = 0; i < 12; i++) {
      B[12 * i + j] += relative[i];
      B[12 * i + 6 + j] += common[i] - relative[i];
    }
  }
}

void tgi_friction_plane_rate(const tgiFrictionPlane *p, const tgiFrictionPlane *dp, const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                             tgReal dg[12]) {
  tgiSliding v;
  tgReal dP[9], move[18], now[18], dv[18];
  slide(p, law, m, &v);
  for (int k = 0; k < VERTICES; k++) {
    tgi_m3_mulv(move + 3 * k, m[k / 3].E, dp->x + 3 * k);
    tgi_v3_add(now + 3 * k, dp->x + 3 * k, move + 3 * k);
  }
  project_d(dP, p->n, dp->n);
  velocities_d(&v, law, dP, move, dv);
  change(p, &v, law, dp->f, dP, dv, now, dg);
}

void tgi_friction_plane_step_rate(const tgiFrictionPlane *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgReal dg[12]) {
  const tgReal none[18] = {0};
  tgiSliding v;
  tgReal dv[18];
  slide(p, law, m, &v);
  for (int i = 0; i < 18; i++) dv[i] = -v.v[i] / law->h;
  change(p, &v, law, none, none, dv, none, dg);
}
