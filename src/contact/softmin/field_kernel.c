// field_kernel.c: the work of field_kernel.h, one point a lane. Compiled for every width of lanes.h.
#include "contact/softmin/grid_lanes.h"

void KERNEL(tgi_soft_heights)(const tgiSoftSource *s, const tgiSoftFrame *pose, const tgiSsdfBlock *points, tgReal *phi) {
  Origin o = origin_of(s, pose, points);
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], most, W;
    int plane = 0, n;
    place(pose, o.q, points, g, y);
    n = keep(s, &o, y, &plane, &most);
    v_store(phi + g, plane > 0 ? plane_height(s, &o, y) : heights(s, &o, &n, y, most, g, false, &W));
  }
}

void KERNEL(tgi_soft_grid_heights)(const tgiSoftSource *s, const tgiSoftFrame *pose, const tgiSsdfBlock *points, tgReal *phi) {
  static const tgReal middle[3] = {0, 0, 0};
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3];
    Sides b;
    place(pose, middle, points, g, y);
    sides_at(s->grid, y, &b);
    v_store(phi + g, b.phi);
  }
}

void KERNEL(tgi_soft_plane_heights)(const tgReal *normal, const tgReal *p, const tgiSoftFrame *pose,
                                    const tgiSsdfBlock *block, const int *at, int n, tgReal *phi) {
  V N[3] = {v_all(normal[0]), v_all(normal[1]), v_all(normal[2])};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      V y[3];
      place(pose, p, block + at[a], g, y);
      v_store(phi + TGI_SOFT_LANES * a + g, v_dot(N, y));
    }
}

void KERNEL(tgi_soft_ball_heights)(tgReal radius, const tgiSoftFrame *pose, const tgiSsdfBlock *block, const int *at, int n, tgReal *phi) {
  static const tgReal middle[3] = {0, 0, 0};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      V y[3];
      place(pose, middle, block + at[a], g, y);
      v_store(phi + TGI_SOFT_LANES * a + g, v_sqrt(v_dot(y, y) + TGI_SOFT_MIDDLE * radius * radius) - radius);
    }
}

// F += w lambda, of law.h
TGI_LANE void push_by(const tgiSoftPush *law, V w, V s, const V n[3], const V u[3], V F[3]) {
  V c = law->eps3 * v_log1p(v_exp(v_abs(s) * (-1 / law->eps3))) + v_max(-s, v_all(0));
  V un = v_dot(u, n), z = un * (1 / law->v_d), half = 1 - 0.5 * z, between = half * half * half * (2 - half), tau[3];
  V d = v_pick(v_less(z, v_all(0)), 1 - z, v_pick(v_less(z, v_all(2)), between, v_all(0)));
  for (int k = 0; k < 3; k++) tau[k] = u[k] - un * n[k];
  V N = w * d * c * law->k, slide = law->mu / v_sqrt(law->v_s * law->v_s + v_dot(tau, tau));
  for (int k = 0; k < 3; k++) F[k] += N * (n[k] - slide * tau[k]);
}

TGI_LANE void add_wrench(const tgReal q[3], const V y[3], const V F[3], int g, tgiSoftTotals *sum) {
  V x[3] = {y[0] + q[0], y[1] + q[1], y[2] + q[2]}, M[3];
  v_cross(M, x, F);
  for (int k = 0; k < 3; k++) {
    add_to(sum->F[k] + g, F[k]);
    add_to(sum->M[k] + g, M[k]);
  }
}

// F = the mean force of the n runs of blocks, whose exponentials `by` makes weights
TGI_LANE void push_by_points(const tgiSoftSource *s, const Origin *o, const tgiSoftPush *law, int n, const V y[3],
                             const V u[3], V most, V by, int g, V F[3]) {
  V few = v_all(law->tail * law->share / s->points);
  for (int a = 0; a < n; a++) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    Local c;
    if (z->plane > 0) {
      V w = v_load(s->sums + TGI_SOFT_LANES * a + g) * by;
      if (!m_any(v_less(few, w))) continue;
      local(s, o, z, &c);
      V n0[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
      push_by(law, w, height(z, &c, 0, y), n0, u, F);
      continue;
    }
    local(s, o, z, &c);
    for (int i = 0; i < z->used; i++) {
      V w = share(s, exponent(&c, i, y), most) * by;
      if (!m_any(v_less(few, w))) continue;
      V ni[3] = {v_all(z->normal[0][i]), v_all(z->normal[1][i]), v_all(z->normal[2][i])};
      push_by(law, w, height(z, &c, i, y), ni, u, F);
    }
  }
}

void KERNEL(tgi_soft_points)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftFrame *pose,
                             const tgiSsdfBlock *points, tgReal *phi, tgReal *force) {
  Origin o = origin_of(s, pose, points);
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)}, most, W, h;
    int plane = 0, n;
    place(pose, o.q, points, g, y);
    n = keep(s, &o, y, &plane, &most);
    if (plane > 0) {
      h = plane_height(s, &o, y);
      if (m_any(v_less(h, v_all(law->far)))) {
        const tgiSsdfBlock *z = s->block + s->kept[0];
        V n0[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
        motion(law, o.q, y, u);
        push_by(law, v_all(1), h, n0, u, F);
      }
    } else {
      h = heights(s, &o, &n, y, most, g, true, &W);
      if (m_any(v_less(h, v_all(law->reach)))) {
        motion(law, o.q, y, u);
        push_by_points(s, &o, law, n, y, u, most, 1 / W, g, F);
      }
    }
    v_store(phi + g, h);
    for (int k = 0; k < 3; k++) v_store(force + TGI_SOFT_LANES * k + g, F[k]);
  }
}

void KERNEL(tgi_soft_grid_points)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftFrame *pose,
                                  const tgiSsdfBlock *points, tgReal *phi, tgReal *force) {
  static const tgReal middle[3] = {0, 0, 0};
  V few = v_all(law->tail * law->share / s->points);
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)};
    Sides b;
    place(pose, middle, points, g, y);
    sides_at(s->grid, y, &b);
    motion(law, middle, y, u);
    for (int f = 0; f < 6; f++) {
      Mask pushes = m_and(v_less(few, b.weight[f]), m_and(v_less(b.phi, v_all(law->reach)), v_less(v_min(b.phi, b.s[f]), v_all(law->far))));
      V n[3];
      if (!b.seen[f] || !m_any(pushes)) continue;
      side_normal(f, n);
      push_by(law, b.weight[f], b.s[f], n, u, F);
    }
    v_store(phi + g, b.phi);
    for (int k = 0; k < 3; k++) v_store(force + TGI_SOFT_LANES * k + g, F[k]);
  }
}

void KERNEL(tgi_soft_weigh)(const tgiSoftPush *law, const tgiSoftFrame *pose, const tgiSsdfBlock *points,
                            const tgReal *phi, const tgReal *force, tgiSoftTotals *sum) {
  static const tgReal origin[3] = {0, 0, 0};
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], F[3], weight = weigh(law, v_load(phi + g), points->used, g, sum->weight);
    place(pose, origin, points, g, y);
    for (int k = 0; k < 3; k++) F[k] = weight * v_load(force + TGI_SOFT_LANES * k + g);
    add_wrench(origin, y, F, g, sum);
  }
}

// of points at heights phi that are known, and not more than `reach` high
void KERNEL(tgi_soft_plane)(const tgReal *normal, const tgReal *p, const tgiSoftPush *law, const tgiSoftFrame *pose,
                            const tgiSsdfBlock *block, const int *at, int n, const tgReal *phi, tgiSoftTotals *sum) {
  V N[3] = {v_all(normal[0]), v_all(normal[1]), v_all(normal[2])};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      const tgiSsdfBlock *points = block + at[a];
      V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)}, s = v_load(phi + TGI_SOFT_LANES * a + g);
      if (!m_any(v_less(s, v_all(law->reach)))) continue;
      V weight = weigh(law, s, points->used, g, sum->weight);
      if (!m_any(v_less(s, v_all(law->far)))) continue;
      place(pose, p, points, g, y);
      motion(law, p, y, u);
      push_by(law, weight, s, N, u, F);
      add_wrench(p, y, F, g, sum);
    }
}

void KERNEL(tgi_soft_ball)(tgReal radius, const tgiSoftPush *law, const tgiSoftFrame *pose, const tgiSsdfBlock *block,
                           const int *at, int n, const tgReal *phi, tgiSoftTotals *sum) {
  static const tgReal middle[3] = {0, 0, 0};
  for (int a = 0; a < n; a++)
    for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
      const tgiSsdfBlock *points = block + at[a];
      V y[3], u[3], N[3], F[3] = {v_all(0), v_all(0), v_all(0)}, s = v_load(phi + TGI_SOFT_LANES * a + g);
      if (!m_any(v_less(s, v_all(law->reach)))) continue;
      V weight = weigh(law, s, points->used, g, sum->weight);
      if (!m_any(v_less(s, v_all(law->far)))) continue;
      place(pose, middle, points, g, y);
      ball_at(radius, y, N);
      motion(law, middle, y, u);
      push_by(law, weight, s, N, u, F);
      add_wrench(middle, y, F, g, sum);
    }
}
