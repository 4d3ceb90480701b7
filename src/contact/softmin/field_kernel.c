// field_kernel.c: the work of field_kernel.h, one point a lane. Compiled for every width of lanes.h.
//
// Places are taken from q, a point of the source near them: with p' = p - q, y' = y - q the exponent of a point less that of q is
// p' . (2 y' - p')/eps1, small where it matters, so that neither far places nor narrow kernels cost digits.
#include <stdbool.h>

#include "contact/softmin/field_kernel.h"
#include "contact/softmin/point.h"
#include "math/lanes.h"
#include "math/lanes_exp.h"

#define NAMED(name, width) name##_##width
#define WITH_WIDTH(name, width) NAMED(name, width)
#define KERNEL(name) WITH_WIDTH(name, TGI_WIDTH)

// of a block's points: exponent b + a . y', height normal . y' - o
typedef struct Local { double a[3][TGI_SOFT_LANES], b[TGI_SOFT_LANES], o[TGI_SOFT_LANES]; } Local;

TGI_LANE void local(const tgiSoftSource *s, const tgiSsdfBlock *z, Local *c) {
  double two = 2 / s->eps1;
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V p[3], o = v_all(0), b = v_all(0);
    for (int k = 0; k < 3; k++) {
      p[k] = v_load(z->p[k] + g) - s->q[k];
      o += v_load(z->normal[k] + g) * p[k];
      b += p[k] * p[k];
      v_store(c->a[k] + g, p[k] * two);
    }
    v_store(c->b + g, b * (-0.5 * two));
    v_store(c->o + g, o);
  }
}

TGI_LANE V exponent(const Local *c, int i, const V y[3]) { return c->b[i] + c->a[0][i] * y[0] + c->a[1][i] * y[1] + c->a[2][i] * y[2]; }
TGI_LANE V height(const tgiSsdfBlock *z, const Local *c, int i, const V y[3]) {
  return z->normal[0][i] * y[0] + z->normal[1][i] * y[1] + z->normal[2][i] * y[2] - c->o[i];
}

TGI_LANE void place(const tgiSoftPose *pose, const double q[3], const tgiSsdfBlock *points, int g, V y[3]) {
  V p[3];
  for (int k = 0; k < 3; k++) p[k] = v_load(points->p[k] + g);
  for (int k = 0; k < 3; k++) y[k] = pose->R[3 * k] * p[0] + pose->R[3 * k + 1] * p[1] + pose->R[3 * k + 2] * p[2] + (pose->t[k] - q[k]);
}

// The blocks that count for any of the points at y, to s->kept: the box of others is too far from all of them. plane: of all, else 0.
TGI_LANE int keep(const tgiSoftSource *s, const V y[3], int *plane) {
  V limit = v_dot(y, y) + s->cut;
  int n = 0;
  for (int a = 0; a < s->n; a++) {
    const tgiSsdfBlock *z = s->block + s->at[a];
    V d = v_all(0);
    for (int k = 0; k < 3; k++) {
      V e = v_max(v_max((z->lo[k] - s->q[k]) - y[k], y[k] - (z->hi[k] - s->q[k])), v_all(0));
      d += e * e;
    }
    // what is no number is kept
    if (m_bits(v_less(limit, d)) == (1u << TGI_WIDTH) - 1) continue;
    *plane = n == 0 || *plane == z->plane ? z->plane : 0;
    s->kept[n++] = s->at[a];
  }
  return n;
}

// largest exponents, where exponents may be too large for their exponentials
TGI_LANE V largest(const tgiSoftSource *s, int n, const V y[3]) {
  V most = v_all(0);
  if (s->reach < 300) return most;
  for (int a = 0; a < n; a++) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    Local c;
    local(s, z, &c);
    for (int i = 0; i < z->used; i++) most = v_max(most, exponent(&c, i, y));
  }
  return most;
}

// Heights of points over the n blocks kept, and the sum of their exponentials; `store`: blocks of one plane become one, with their sum, and n their count.
TGI_LANE V heights(const tgiSoftSource *s, int *n, const V y[3], V shift, int g, bool store, V *total) {
  V W = v_all(0), S = v_all(0);
  int runs = 0;
  for (int a = 0, next; a < *n; a = next) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    Local c;
    next = a + 1;
    if (z->plane > 0) {
      V sum = v_all(0), h;
      local(s, z, &c);
      h = height(z, &c, 0, y);
      for (int i = 0; i < z->used; i++) sum += v_exp(exponent(&c, i, y) - shift);
      for (; next < *n && s->block[s->kept[next]].plane == z->plane; next++) {
        const tgiSsdfBlock *more = s->block + s->kept[next];
        local(s, more, &c);
        for (int i = 0; i < more->used; i++) sum += v_exp(exponent(&c, i, y) - shift);
      }
      W += sum;
      S += sum * h;
      if (store) v_store(s->sums + TGI_SOFT_LANES * runs + g, sum);
    } else {
      local(s, z, &c);
      for (int i = 0; i < z->used; i++) {
        V w = v_exp(exponent(&c, i, y) - shift);
        W += w;
        S += w * height(z, &c, i, y);
      }
    }
    if (store) s->kept[runs] = s->kept[a];
    runs++;
  }
  *n = store ? runs : *n;
  *total = W;
  return S / W;
}

// height over the plane of a block
TGI_LANE V plane_height(const tgiSoftSource *s, const V y[3]) {
  const tgiSsdfBlock *z = s->block + s->kept[0];
  Local c;
  local(s, z, &c);
  return height(z, &c, 0, y);
}

void KERNEL(tgi_soft_heights)(const tgiSoftSource *s, const tgiSoftPose *pose, const tgiSsdfBlock *points, double *phi) {
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], W;
    int plane = 0, n;
    place(pose, s->q, points, g, y);
    n = keep(s, y, &plane);
    v_store(phi + g, plane > 0 ? plane_height(s, y) : heights(s, &n, y, largest(s, n, y), g, false, &W));
  }
}

// 1 in the first `used` of eight lanes
TGI_LANE V alive(int used, int g) {
  static const double live[2 * TGI_SOFT_LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
  return v_load(live + TGI_SOFT_LANES - used + g);
}

// F += w lambda, of law.h
TGI_LANE void push_by(const tgiSoftPush *law, V w, V s, const V n[3], const V u[3], V F[3]) {
  V x = s * (-1 / law->eps3), c = law->eps3 * v_log1p(v_exp(-v_abs(x))) + v_max(-s, v_all(0));
  V un = v_dot(u, n), z = un * (1 / law->v_d), half = 1 - 0.5 * z, between = half * half * half * (2 - half), tau[3];
  V d = v_pick(v_less(z, v_all(0)), 1 - z, v_pick(v_less(z, v_all(2)), between, v_all(0)));
  for (int k = 0; k < 3; k++) tau[k] = u[k] - un * n[k];
  V N = w * d * c * law->k, slide = law->mu / v_sqrt(law->v_s * law->v_s + v_dot(tau, tau));
  for (int k = 0; k < 3; k++) F[k] += N * (n[k] - slide * tau[k]);
}

// velocities at places from q
TGI_LANE void motion(const tgiSoftPush *law, const double q[3], const V y[3], V u[3]) {
  V x[3] = {y[0] + q[0], y[1] + q[1], y[2] + q[2]};
  for (int k = 0; k < 3; k++) u[k] = law->v[k] + law->w[(k + 1) % 3] * x[(k + 2) % 3] - law->w[(k + 2) % 3] * x[(k + 1) % 3];
}

TGI_LANE void add_to(double *sum, V x) { v_store(sum, v_load(sum) + x); }

TGI_LANE void add_wrench(const double q[3], const V y[3], const V F[3], int g, tgiSoftTotals *sum) {
  V x[3] = {y[0] + q[0], y[1] + q[1], y[2] + q[2]}, M[3];
  v_cross(M, x, F);
  for (int k = 0; k < 3; k++) {
    add_to(sum->F[k] + g, F[k]);
    add_to(sum->M[k] + g, M[k]);
  }
}

// weights at heights phi, counted
TGI_LANE V weigh(const tgiSoftPush *law, V phi, int used, int g, tgiSoftTotals *sum) {
  V weight = v_exp((law->level - phi) * (1 / law->eps2)) * alive(used, g);
  add_to(sum->weight + g, weight);
  v_store(sum->least + g, v_min(v_load(sum->least + g), phi));
  return weight;
}

// F += the forces of the n runs of blocks, whose exponentials `by` makes weights
TGI_LANE void push_by_points(const tgiSoftSource *s, const tgiSoftPush *law, int n, const V y[3], const V u[3], V shift, V by, int g, V F[3]) {
  V few = v_all(law->tail * law->share / (TGI_SOFT_LANES * s->n));
  for (int a = 0; a < n; a++) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    Local c;
    if (z->plane > 0) {
      V w = v_load(s->sums + TGI_SOFT_LANES * a + g) * by;
      if (!m_any(v_less(few, w))) continue;
      local(s, z, &c);
      V n0[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
      push_by(law, w, height(z, &c, 0, y), n0, u, F);
      continue;
    }
    local(s, z, &c);
    for (int i = 0; i < z->used; i++) {
      V w = v_exp(exponent(&c, i, y) - shift) * by;
      if (!m_any(v_less(few, w))) continue;
      V ni[3] = {v_all(z->normal[0][i]), v_all(z->normal[1][i]), v_all(z->normal[2][i])};
      push_by(law, w, height(z, &c, i, y), ni, u, F);
    }
  }
}

void KERNEL(tgi_soft_forces)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftPose *pose, const tgiSsdfBlock *points, tgiSoftTotals *sum) {
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)}, W, phi, weight;
    int plane = 0, n;
    place(pose, s->q, points, g, y);
    n = keep(s, y, &plane);
    if (plane > 0) {
      phi = plane_height(s, y);
      weight = weigh(law, phi, points->used, g, sum);
      if (!m_any(v_less(phi, v_all(law->far)))) continue;
      const tgiSsdfBlock *z = s->block + s->kept[0];
      V n0[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
      motion(law, s->q, y, u);
      push_by(law, weight, phi, n0, u, F);
    } else {
      V shift = largest(s, n, y);
      phi = heights(s, &n, y, shift, g, true, &W);
      weight = weigh(law, phi, points->used, g, sum);
      if (!m_any(v_less(v_all(law->tail), weight))) continue;
      motion(law, s->q, y, u);
      push_by_points(s, law, n, y, u, shift, weight / W, g, F);
    }
    add_wrench(s->q, y, F, g, sum);
  }
}

void KERNEL(tgi_soft_ball)(double radius, const tgiSoftPush *law, const tgiSoftPose *pose, const tgiSsdfBlock *block, const int *at, int n, tgiSoftTotals *sum) {
  static const double middle[3] = {0, 0, 0};
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH)
    for (int a = 0; a < n; a++) {
      const tgiSsdfBlock *points = block + at[a];
      V y[3], u[3], N[3], F[3] = {v_all(0), v_all(0), v_all(0)};
      place(pose, middle, points, g, y);
      V rho = v_sqrt(v_dot(y, y) + TGI_SOFT_MIDDLE * radius * radius), s = rho - radius, weight = weigh(law, s, points->used, g, sum);
      if (!m_any(v_less(s, v_all(law->far)))) continue;
      for (int k = 0; k < 3; k++) N[k] = y[k] / rho;
      motion(law, middle, y, u);
      push_by(law, weight, s, N, u, F);
      add_wrench(middle, y, F, g, sum);
    }
}

void KERNEL(tgi_soft_plane)(const double *normal, const double *p, const tgiSoftPush *law, const tgiSoftPose *pose, const tgiSsdfBlock *block, const int *at,
                            int n, tgiSoftTotals *sum) {
  V N[3] = {v_all(normal[0]), v_all(normal[1]), v_all(normal[2])};
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH)
    for (int a = 0; a < n; a++) {
      const tgiSsdfBlock *points = block + at[a];
      V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)};
      place(pose, p, points, g, y);
      V s = v_dot(N, y), weight = weigh(law, s, points->used, g, sum);
      if (!m_any(v_less(s, v_all(law->far)))) continue;
      motion(law, p, y, u);
      push_by(law, weight, s, N, u, F);
      add_wrench(p, y, F, g, sum);
    }
}
