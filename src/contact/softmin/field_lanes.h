// field_lanes.h: what the kernels of field_kernel.c and rate_kernel.c share: heights of points over a surface, one
// point a lane. Included by kernels only.
//
// Places are taken from q, a point of the source near them: with p' = p - q, y' = y - q the exponent of a point less that of q is
// p' . (2 y' - p')/eps1, small where it matters, so that neither far places nor narrow kernels cost digits.
#ifndef TG_CONTACT_SOFTMIN_FIELD_LANES_H
#define TG_CONTACT_SOFTMIN_FIELD_LANES_H

#include <stdbool.h>

#include "contact/softmin/field_kernel.h"
#include "math/lanes.h"
#include "math/lanes_exp.h"

// where the points of a block are measured from
typedef struct Origin { tgReal q[3]; } Origin;

TGI_LANE void nearest_of(const tgiSsdfBlock *z, const double c[3], double *least, tgReal q[3]) {
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    tgReal d[TGI_WIDTH];
    V x[3];
    for (int k = 0; k < 3; k++) x[k] = v_load(z->p[k] + g) - c[k];
    V squared = v_dot(x, x);
    if (!m_any(v_less(squared, v_all(*least)))) continue;
    v_store(d, squared);
    for (int l = 0; l < TGI_WIDTH; l++) {
      if (!(tgRe(d[l]) < *least)) continue;
      *least = tgRe(d[l]);
      for (int k = 0; k < 3; k++) q[k] = tgRe(z->p[k][g + l]);
    }
  }
}

// the point listed that is nearest to the middle of the points
TGI_LANE Origin origin_of(const tgiSoftSource *s, const tgiSoftFrame *pose, const tgiSsdfBlock *points) {
  double c[3], m[3], least = INFINITY;
  Origin o = {.q = {0, 0, 0}};
  for (int k = 0; k < 3; k++) m[k] = 0.5 * (points->lo[k] + points->hi[k]);
  for (int k = 0; k < 3; k++) c[k] = tgRe(pose->R[3 * k] * m[0] + pose->R[3 * k + 1] * m[1] + pose->R[3 * k + 2] * m[2] + pose->t[k]);
  for (int a = 0; a < s->n; a++) nearest_of(s->block + s->at[a], c, &least, o.q);
  return o;
}

// of a block's points: exponent b + a . y', height normal . y' - o
typedef struct Local { tgReal a[3][TGI_SOFT_LANES], b[TGI_SOFT_LANES], o[TGI_SOFT_LANES]; } Local;

TGI_LANE void local(const tgiSoftSource *s, const Origin *at, const tgiSsdfBlock *z, Local *c) {
  tgReal two = 2 / s->eps1;
  for (int g = 0; g < TGI_SOFT_LANES; g += TGI_WIDTH) {
    V p[3], o = v_all(0), b = v_all(0);
    for (int k = 0; k < 3; k++) {
      p[k] = v_load(z->p[k] + g) - at->q[k];
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

TGI_LANE void place(const tgiSoftFrame *pose, const tgReal q[3], const tgiSsdfBlock *points, int g, V y[3]) {
  V p[3];
  for (int k = 0; k < 3; k++) p[k] = v_load(points->p[k] + g);
  for (int k = 0; k < 3; k++) y[k] = pose->R[3 * k] * p[0] + pose->R[3 * k + 1] * p[1] + pose->R[3 * k + 2] * p[2] + (pose->t[k] - q[k]);
}

// The blocks with a point that counts for any of the points at y, to s->kept: no farther than the nearest by more than
// the cut. plane: of all, else 0; most: the largest exponents. What is listed besides does not matter: first boxes are
// left out that are too far from all, then blocks.
TGI_LANE int keep(const tgiSoftSource *s, const Origin *o, const V y[3], int *plane, V *most) {
  V limit = v_dot(y, y) + s->cut;
  int near = 0, n = 0;
  *most = v_all(-INFINITY);
  for (int a = 0; a < s->n; a++) {
    const tgiSsdfBlock *z = s->block + s->at[a];
    V d = v_all(0);
    for (int k = 0; k < 3; k++) {
      V e = v_max(v_max((z->lo[k] - o->q[k]) - y[k], y[k] - (z->hi[k] - o->q[k])), v_all(0));
      d += e * e;
    }
    // what is no number is kept
    if (m_bits(v_less(limit, d)) == (1u << TGI_WIDTH) - 1) continue;
    Local c;
    local(s, o, z, &c);
    for (int i = 0; i < z->used; i++) *most = v_max(*most, exponent(&c, i, y));
    s->kept[near++] = s->at[a];
  }
  limit = *most - s->cut / s->eps1;
  for (int a = 0; a < near; a++) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    unsigned far = (1u << TGI_WIDTH) - 1;
    Local c;
    local(s, o, z, &c);
    for (int i = 0; i < z->used && far == (1u << TGI_WIDTH) - 1; i++) far &= m_bits(v_less(exponent(&c, i, y), limit));
    if (far == (1u << TGI_WIDTH) - 1) continue;
    *plane = n == 0 || *plane == z->plane ? z->plane : 0;
    s->kept[n++] = s->kept[a];
  }
  return n;
}

// e^(exponent less the largest), 0 for what does not count
TGI_LANE V share(const tgiSoftSource *s, V exponent, V most) {
  V x = exponent - most;
  return v_pick(v_less(x, v_all(-s->cut / s->eps1)), v_all(0), v_exp(x));
}

// Heights of points over the n blocks kept, and the sum of their exponentials; `store`: blocks of one plane become one,
// with their sum, and n their count.
TGI_LANE V heights(const tgiSoftSource *s, const Origin *o, int *n, const V y[3], V most, int g, bool store, V *total) {
  V W = v_all(0), S = v_all(0);
  int runs = 0;
  for (int a = 0, next; a < *n; a = next) {
    const tgiSsdfBlock *z = s->block + s->kept[a];
    Local c;
    next = a + 1;
    if (z->plane > 0) {
      V sum = v_all(0), h;
      local(s, o, z, &c);
      h = height(z, &c, 0, y);
      for (int i = 0; i < z->used; i++) sum += share(s, exponent(&c, i, y), most);
      for (; next < *n && s->block[s->kept[next]].plane == z->plane; next++) {
        const tgiSsdfBlock *more = s->block + s->kept[next];
        local(s, o, more, &c);
        for (int i = 0; i < more->used; i++) sum += share(s, exponent(&c, i, y), most);
      }
      W += sum;
      S += sum * h;
      if (store) v_store(s->sums + TGI_SOFT_LANES * runs + g, sum);
    } else {
      local(s, o, z, &c);
      for (int i = 0; i < z->used; i++) {
        V w = share(s, exponent(&c, i, y), most);
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
TGI_LANE V plane_height(const tgiSoftSource *s, const Origin *o, const V y[3]) {
  const tgiSsdfBlock *z = s->block + s->kept[0];
  Local c;
  local(s, o, z, &c);
  return height(z, &c, 0, y);
}

// 1 in the first `used` of eight lanes
TGI_LANE V alive(int used, int g) {
  static const tgReal live[2 * TGI_SOFT_LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
  return v_load(live + TGI_SOFT_LANES - used + g);
}

// velocities at places from q
TGI_LANE void motion(const tgiSoftPush *law, const tgReal q[3], const V y[3], V u[3]) {
  V x[3] = {y[0] + q[0], y[1] + q[1], y[2] + q[2]};
  for (int k = 0; k < 3; k++) u[k] = law->v[k] + law->w[(k + 1) % 3] * x[(k + 2) % 3] - law->w[(k + 2) % 3] * x[(k + 1) % 3];
}

TGI_LANE void add_to(tgReal *sum, V x) { v_store(sum, v_load(sum) + x); }

// places of a ball's points: rho and n = y/rho, as in point.c
TGI_LANE V ball_at(tgReal radius, const V y[3], V n[3]) {
  V rho = v_sqrt(v_dot(y, y) + TGI_SOFT_MIDDLE * radius * radius);
  for (int k = 0; k < 3; k++) n[k] = y[k] / rho;
  return rho;
}

// weights at heights phi, counted
TGI_LANE V weigh(const tgiSoftPush *law, V phi, int used, int g, tgReal *total) {
  V weight = v_exp((law->level - phi) * (1 / law->eps2)) * alive(used, g);
  add_to(total + g, weight);
  return weight;
}

#endif
