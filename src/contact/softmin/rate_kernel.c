// rate_kernel.c: the derivatives of field_kernel.h, one point a lane. Compiled for every width of lanes.h.
//
// Formulas of law.h and point.c, [math/softmin Pair].
#include "contact/softmin/grid_lanes.h"

// a point's force and its derivatives in place and velocity, and the gradient of its height
typedef struct Point { V g[3], F[3], Fy[9], Fu[9]; } Point;
// one push: lambda, its derivatives in height and velocity, and what turning the normal needs
typedef struct Push { V lambda[3], s[3], u[9], m[3], tau[3], un, rho, N, slope; } Push;

TGI_LANE void push_at(const tgiSoftPush *law, V s, const V n[3], const V u[3], Push *f) {
  V e = v_exp(v_abs(s) * (-1 / law->eps3)), c = law->k * (law->eps3 * v_log1p(e) + v_max(-s, v_all(0)));
  V c_s = -law->k * v_pick(v_less(s, v_all(0)), v_all(1), e) / (1 + e);
  V un = v_dot(u, n), z = un * (1 / law->v_d), half = 1 - 0.5 * z;
  Mask closing = v_less(z, v_all(0)), inside = v_less(z, v_all(2));
  V d = v_pick(closing, 1 - z, v_pick(inside, half * half * half * (2 - half), v_all(0)));
  V d_x = v_pick(closing, v_all(-1), v_pick(inside, -half * half * (1 + z), v_all(0)));
  for (int k = 0; k < 3; k++) f->tau[k] = u[k] - un * n[k];
  V over = 1 / (law->v_s * law->v_s + v_dot(f->tau, f->tau)), rho = v_sqrt(over), slide = law->mu * rho;   // rho: one over that of law.h
  f->un = un;
  f->rho = rho;
  f->N = c * d;
  f->slope = c * d_x * (1 / law->v_d);
  for (int k = 0; k < 3; k++) {
    f->m[k] = n[k] - slide * f->tau[k];
    f->lambda[k] = f->N * f->m[k];
    f->s[k] = c_s * d * f->m[k];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      f->u[3 * i + j] = f->slope * f->m[i] * n[j] - f->N * slide * ((i == j) - n[i] * n[j] - over * f->tau[i] * f->tau[j]);
}

// over one plane
TGI_LANE void on_plane(const tgiSoftPush *law, V s, const V n[3], const V u[3], Point *p) {
  Push f;
  push_at(law, s, n, u, &f);
  for (int i = 0; i < 3; i++) {
    p->g[i] = n[i];
    p->F[i] = f.lambda[i];
    for (int j = 0; j < 3; j++) {
      p->Fy[3 * i + j] = f.s[i] * n[j];
      p->Fu[3 * i + j] = f.u[3 * i + j];
    }
  }
}

// over a ball, whose normals turn with the place: dn = P dy, P = (1 - n n')/distance, P u = tau/distance
TGI_LANE void on_ball(const tgiSoftPush *law, V s, V distance, const V n[3], const V u[3], Point *p) {
  Push f;
  push_at(law, s, n, u, &f);
  V by = 1 / distance, slide = law->mu * f.rho;
  for (int i = 0; i < 3; i++) {
    p->g[i] = n[i];
    p->F[i] = f.lambda[i];
    for (int j = 0; j < 3; j++) {
      V P = ((i == j) - n[i] * n[j]) * by, t = f.tau[j] * by;
      p->Fy[3 * i + j] = f.s[i] * n[j] + f.slope * f.m[i] * t +
                         f.N * (P + slide * (n[i] * t + f.un * P - f.un * f.rho * f.rho * f.tau[i] * t));
      p->Fu[3 * i + j] = f.u[3 * i + j];
    }
  }
}

// p += one plane of weight w with the first moment r, of height s; mean likewise
TGI_LANE void add_plane(const tgiSoftPush *law, tgReal two, V w, const V r[3], V s, const V n[3], const V u[3], Point *p) {
  Push f;
  push_at(law, s, n, u, &f);
  for (int i = 0; i < 3; i++) {
    p->g[i] += w * n[i] + two * s * r[i];
    p->F[i] += w * f.lambda[i];
    for (int j = 0; j < 3; j++) {
      p->Fy[3 * i + j] += w * f.s[i] * n[j] + two * f.lambda[i] * r[j];
      p->Fu[3 * i + j] += w * f.u[3 * i + j];
    }
  }
}

// weights sum to 1: what all exponents have in common
TGI_LANE void less_mean(tgReal two, V phi, const V mean[3], Point *p) {
  for (int i = 0; i < 3; i++) {
    p->g[i] -= two * phi * mean[i];
    for (int j = 0; j < 3; j++) p->Fy[3 * i + j] -= two * p->F[i] * mean[j];
  }
}

// over the n runs of blocks kept, with the sum of their exponentials and the height phi
TGI_LANE void on_points(const tgiSoftSource *s, const Origin *o, const tgiSoftPush *law, int n, const V y[3],
                        const V u[3], V most, V total, V phi, Point *p) {
  tgReal two = 2 / s->eps1;
  V by = 1 / total, mean[3] = {v_all(0), v_all(0), v_all(0)};
  for (int k = 0; k < 3; k++) p->g[k] = p->F[k] = v_all(0);
  for (int k = 0; k < 9; k++) p->Fy[k] = p->Fu[k] = v_all(0);
  for (int a = 0, next; a < n; a = next) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    V w = v_all(0), r[3] = {v_all(0), v_all(0), v_all(0)}, n0[3];
    Local c;
    next = a;
    // a run of one plane, or point by point
    do {
      const tgiSsdfBlock *b = s->block + s->kept[next++];
      local(s, o, b, &c);
      for (int i = 0; i < b->used; i++) {
        V e = share(s, exponent(&c, i, y), most) * by, x[3];
        for (int k = 0; k < 3; k++) {
          x[k] = e * ((b->p[k][i] - o->q[k]) - y[k]);
          mean[k] += x[k];
          r[k] += x[k];
          n0[k] = v_all(b->normal[k][i]);
        }
        w += e;
        if (z->plane > 0) continue;
        add_plane(law, two, e, x, height(b, &c, i, y), n0, u, p);
      }
    } while (z->plane > 0 && next < n && s->block[s->kept[next]].plane == z->plane);
    if (z->plane == 0) continue;
    for (int k = 0; k < 3; k++) n0[k] = v_all(z->normal[k][0]);
    local(s, o, z, &c);
    add_plane(law, two, w, r, height(z, &c, 0, y), n0, u, p);
  }
  less_mean(two, phi, mean, p);
}

// sum += J' A J times W, J = [-[x] 1]
TGI_LANE void add_congruence(tgReal sum[36][TGI_SOFT_LANES], V W, const V A[9], const V x[3], int g) {
  V right[9];   // [x] A
  for (int j = 0; j < 3; j++) {
    V a[3] = {A[j], A[3 + j], A[6 + j]}, t[3];
    v_cross(t, x, a);
    for (int i = 0; i < 3; i++) right[3 * i + j] = W * t[i];
  }
  for (int i = 0; i < 3; i++) {
    V low[3], high[3];
    v_cross(low, x, A + 3 * i);
    v_cross(high, x, right + 3 * i);
    for (int j = 0; j < 3; j++) {
      add_to(sum[6 * i + j] + g, high[j]);
      add_to(sum[6 * i + 3 + j] + g, right[3 * i + j]);
      add_to(sum[6 * (3 + i) + j] + g, W * low[j]);
      add_to(sum[6 * (3 + i) + 3 + j] + g, W * A[3 * i + j]);
    }
  }
}

TGI_LANE void add_gradient(V W, const V x[3], const V grad[3], V G[6], int g, tgiSoftRates *sum) {
  v_cross(G, x, grad);
  for (int k = 0; k < 3; k++) G[3 + k] = grad[k];
  for (int k = 0; k < 6; k++) add_to(sum->G[k] + g, W * G[k]);
}

// a point at y from q
TGI_LANE void add_point(const tgiSoftPush *law, const tgReal q[3], V W, const V y[3], const Point *p, int g, tgiSoftRates *sum) {
  V x[3] = {y[0] + q[0], y[1] + q[1], y[2] + q[2]}, h[6], G[6], A[9];
  add_gradient(W, x, p->g, G, g, sum);
  v_cross(h, x, p->F);
  for (int k = 0; k < 3; k++) h[3 + k] = p->F[k];
  for (int i = 0; i < 6; i++) {
    h[i] *= W;
    add_to(sum->h[i] + g, h[i]);
    for (int j = 0; j < 6; j++) add_to(sum->hG[6 * i + j] + g, h[i] * G[j]);
  }
  // column j of F_u [w] is F_u (w x e_j)
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int k = (j + 1) % 3, l = (j + 2) % 3;
      A[3 * i + j] = p->Fy[3 * i + j] + p->Fu[3 * i + k] * law->w[l] - p->Fu[3 * i + l] * law->w[k];
      add_to(sum->yF[3 * i + j] + g, x[i] * h[3 + j]);
    }
  add_congruence(sum->A, W, A, x, g);
  add_congruence(sum->U, W, p->Fu, x, g);
}

void KERNEL(tgi_soft_forces_d)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftFrame *pose,
                               const tgiSsdfBlock *points, tgiSoftRates *sum) {
  Origin o = origin_of(s, pose, points);
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3], most, total;
    int plane = 0, n;
    Point p;
    place(pose, o.q, points, g, y);
    n = keep(s, &o, y, &plane, &most);
    motion(law, o.q, y, u);
    if (plane > 0) {
      const tgiSsdfBlock *z = s->block + s->kept[0];
      V phi = plane_height(s, &o, y), W = weigh(law, phi, points->used, g, sum->weight),
        n0[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
      on_plane(law, phi, n0, u, &p);
      add_point(law, o.q, W, y, &p, g, sum);
      continue;
    }
    V phi = heights(s, &o, &n, y, most, g, false, &total), W = weigh(law, phi, points->used, g, sum->weight);
    if (!m_any(v_less(v_all(law->tail), W))) continue;
    on_points(s, &o, law, n, y, u, most, total, phi, &p);
    add_point(law, o.q, W, y, &p, g, sum);
  }
}

// over the sides of a box
TGI_LANE void on_sides(const tgiSoftSource *s, const tgiSoftPush *law, const Sides *b, const V u[3], Point *p) {
  tgReal two = 2 / s->eps1;
  V mean[3] = {v_all(0), v_all(0), v_all(0)};
  for (int k = 0; k < 3; k++) p->g[k] = p->F[k] = v_all(0);
  for (int k = 0; k < 9; k++) p->Fy[k] = p->Fu[k] = v_all(0);
  for (int f = 0; f < 6; f++) {
    V n[3], r[3];
    if (!b->seen[f]) continue;
    side_normal(f, n);
    for (int k = 0; k < 3; k++) {
      r[k] = b->weight[f] * (k == f / 2 ? -n[k] * b->s[f] : b->axis[k].mean);
      mean[k] += r[k];
    }
    add_plane(law, two, b->weight[f], r, b->s[f], n, u, p);
  }
  less_mean(two, b->phi, mean, p);
}

void KERNEL(tgi_soft_grid_forces_d)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftFrame *pose,
                                    const tgiSsdfBlock *points, tgiSoftRates *sum) {
  static const tgReal middle[3] = {0, 0, 0};
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3];
    Sides b;
    Point p;
    place(pose, middle, points, g, y);
    sides_at(s->grid, y, &b);
    V W = weigh(law, b.phi, points->used, g, sum->weight);
    if (!m_any(v_less(v_all(law->tail), W))) continue;
    motion(law, middle, y, u);
    on_sides(s, law, &b, u, &p);
    add_point(law, middle, W, y, &p, g, sum);
  }
}

void KERNEL(tgi_soft_plane_d)(const tgReal *normal, const tgReal *p, const tgiSoftPush *law, const tgiSoftFrame *pose,
                              const tgiSsdfBlock *block, const int *at, int n, const tgReal *phi, tgiSoftRates *sum) {
  V N[3] = {v_all(normal[0]), v_all(normal[1]), v_all(normal[2])};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      V y[3], u[3], G[6], s = v_load(phi + TGI_SOFT_LANES * a + g);
      if (!m_any(v_less(s, v_all(law->reach)))) continue;
      Point point;
      V W = weigh(law, s, block[at[a]].used, g, sum->weight);
      place(pose, p, block + at[a], g, y);
      if (!m_any(v_less(s, v_all(law->far)))) {
        V x[3] = {y[0] + p[0], y[1] + p[1], y[2] + p[2]};
        add_gradient(W, x, N, G, g, sum);
        continue;
      }
      motion(law, p, y, u);
      on_plane(law, s, N, u, &point);
      add_point(law, p, W, y, &point, g, sum);
    }
}

void KERNEL(tgi_soft_ball_d)(tgReal radius, const tgiSoftPush *law, const tgiSoftFrame *pose, const tgiSsdfBlock *block,
                             const int *at, int n, const tgReal *phi, tgiSoftRates *sum) {
  static const tgReal middle[3] = {0, 0, 0};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      V y[3], u[3], N[3], G[6], s = v_load(phi + TGI_SOFT_LANES * a + g);
      if (!m_any(v_less(s, v_all(law->reach)))) continue;
      Point point;
      V W = weigh(law, s, block[at[a]].used, g, sum->weight), distance;
      place(pose, middle, block + at[a], g, y);
      distance = ball_at(radius, y, N);
      if (!m_any(v_less(s, v_all(law->far)))) {
        add_gradient(W, y, N, G, g, sum);
        continue;
      }
      motion(law, middle, y, u);
      on_ball(law, s, distance, N, u, &point);
      add_point(law, middle, W, y, &point, g, sum);
    }
}
