// field_kernel.c: the work of field_kernel.h, one point a lane. Compiled for every width of lanes.h.
//
// Places are taken from q, a point of the source near them: with p' = p - q, y' = y - q the exponent of a point less that of q is
// p' . (2 y' - p')/eps1, small where it matters, so that neither far places nor narrow kernels cost digits.
#include <stdbool.h>

#include "contact/softmin/field_kernel.h"
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

// largest exponents, where exponents may be too large for their exponentials
TGI_LANE V largest(const tgiSoftSource *s, const V y[3]) {
  V most = v_all(0);
  if (s->reach < 300) return most;
  for (int a = 0; a < s->n; a++) {
    const tgiSsdfBlock *z = s->block + s->at[a];
    Local c;
    local(s, z, &c);
    for (int i = 0; i < z->used; i++) most = v_max(most, exponent(&c, i, y));
  }
  return most;
}

// heights of points, and the sum of their exponentials; those of flat blocks are kept
TGI_LANE V heights(const tgiSoftSource *s, const V y[3], V shift, int g, bool keep, V *total) {
  V W = v_all(0), S = v_all(0);
  for (int a = 0; a < s->n; a++) {
    const tgiSsdfBlock *z = s->block + s->at[a];
    Local c;
    local(s, z, &c);
    if (z->flat) {
      V sum = v_all(0);
      for (int i = 0; i < z->used; i++) sum += v_exp(exponent(&c, i, y) - shift);
      W += sum;
      S += sum * height(z, &c, 0, y);
      if (keep) v_store(s->sums + TGI_SOFT_LANES * a + g, sum);
    } else {
      for (int i = 0; i < z->used; i++) {
        V w = v_exp(exponent(&c, i, y) - shift);
        W += w;
        S += w * height(z, &c, i, y);
      }
    }
  }
  *total = W;
  return S / W;
}

void KERNEL(tgi_soft_heights)(const tgiSoftSource *s, const tgiSoftPose *pose, const tgiSsdfBlock *points, double *phi) {
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], W;
    place(pose, s->q, points, g, y);
    v_store(phi + g, heights(s, y, largest(s, y), g, false, &W));
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

void KERNEL(tgi_soft_forces)(const tgiSoftSource *s, const tgiSoftPush *law, const tgiSoftPose *pose, const tgiSsdfBlock *points, tgiSoftTotals *sum) {
  V few = v_all(law->tail * law->share / (TGI_SOFT_LANES * s->n));
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V y[3], u[3], F[3] = {v_all(0), v_all(0), v_all(0)}, W;
    place(pose, s->q, points, g, y);
    V shift = largest(s, y), phi = heights(s, y, shift, g, true, &W);
    V weight = v_exp((law->level - phi) * (1 / law->eps2)) * alive(points->used, g), by = weight / W;
    add_to(sum->weight + g, weight);
    v_store(sum->least + g, v_min(v_load(sum->least + g), phi));
    if (!m_any(v_less(v_all(law->tail), weight))) continue;
    motion(law, s->q, y, u);
    for (int a = 0; a < s->n; a++) {
      const tgiSsdfBlock *z = s->block + s->at[a];
      Local c;
      if (z->flat) {
        V w = v_load(s->sums + TGI_SOFT_LANES * a + g) * by;
        if (!m_any(v_less(few, w))) continue;
        local(s, z, &c);
        V n[3] = {v_all(z->normal[0][0]), v_all(z->normal[1][0]), v_all(z->normal[2][0])};
        push_by(law, w, height(z, &c, 0, y), n, u, F);
      } else {
        local(s, z, &c);
        for (int i = 0; i < z->used; i++) {
          V w = v_exp(exponent(&c, i, y) - shift) * by;
          if (!m_any(v_less(few, w))) continue;
          V n[3] = {v_all(z->normal[0][i]), v_all(z->normal[1][i]), v_all(z->normal[2][i])};
          push_by(law, w, height(z, &c, i, y), n, u, F);
        }
      }
    }
    add_wrench(s->q, y, F, g, sum);
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
      V s = v_dot(N, y), weight = v_exp((law->level - s) * (1 / law->eps2)) * alive(points->used, g);
      add_to(sum->weight + g, weight);
      v_store(sum->least + g, v_min(v_load(sum->least + g), s));
      motion(law, p, y, u);
      push_by(law, weight, s, N, u, F);
      add_wrench(p, y, F, g, sum);
    }
}
