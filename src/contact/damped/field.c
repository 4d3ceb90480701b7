// field.c: fields of geoms. See field.h.
//
// Based on: [math/damped Fields].
#include "contact/damped/field.h"

#define ROUNDING 0.05   // of a box's and a cylinder's edges, shares of the least half width
#define SOFTNESS 0.1    // of corners of the clamps, shares of the rounding; of a capsule's, of its radius

static double least(tgGeomType type, const double size[3]) {
  switch (type) {
    case TG_GEOM_BOX:
    case TG_GEOM_ELLIPSOID: return fmin(size[0], fmin(size[1], size[2]));
    case TG_GEOM_CYLINDER: return fmin(size[0], size[1]);
    default: return size[0];
  }
}

tgiField tgi_field_make(tgGeomType type, const double size[3], const tgiDistanceGrid *grid) {
  double width = least(type, size);
  tgiField f = {.type = type, .made = {size[0], size[1], size[2]}, .grid = grid};
  f.rounding = ROUNDING * width;
  f.softness = SOFTNESS * (type == TG_GEOM_CAPSULE ? width : f.rounding);
  return f;
}

double tgi_field_depth(tgGeomType type, const double size[3], const tgiDistanceGrid *grid) {
  double width = least(type, size);
  if (type == TG_GEOM_PLANE) return INFINITY;
  if (type == TG_GEOM_MESH) return 0.9 * grid->depth;
  if (type == TG_GEOM_ELLIPSOID) return 0.9 * width * width / fmax(size[0], fmax(size[1], size[2]));
  return 0.9 * width;
}

// Closed forms: at most 1. A box's gradient is a unit vector and one of sum 1, by shares that add to no more than 1, each entry times the
// slope of a soft |y|. Of a mesh each entry is a mean of the spline's and of a unit vector's.
double tgi_field_steepness(const tgiField *f) {
  double mean = 0, smallest = INFINITY;
  if (f->type != TG_GEOM_MESH) return 1;
  for (int i = 0; i < 3; i++) {
    mean += tgRe(f->size[i]) / f->made[i] / 3;
    smallest = fmin(smallest, tgRe(f->size[i]) / f->made[i]);
  }
  return hypot(f->grid->steepest, 1) * mean / smallest;
}

// out = sqrt(a^2 + e^2)
static void soft_abs(tgiJets k, const tgiJet *a, double e, tgiJet *out) {
  tgi_jet_mul(k, a, a, out);
  out->f += e * e;
  tgi_jet_sqrt(k, out, out);
}

// out = (a + sqrt(a^2 + e^2))/2
static void soft_positive(tgiJets k, const tgiJet *a, double e, tgiJet *out) {
  tgiJet r;
  soft_abs(k, a, e, &r);
  // of a far below 0 the sum would cancel: e^2/(2 (r - a))
  if (tgRe(a->f) >= 0) {
    tgi_jet_sum(k, 0.5, a, 0.5, &r, out);
    return;
  }
  tgi_jet_sum(k, 2 / (e * e), &r, -2 / (e * e), a, &r);
  tgi_jet_inverse(k, &r, out);
}

// out = sqrt(x_0^2 + .. + x_(n-1)^2 + e^2)
static void norm(tgiJets k, int n, const tgiJet *x, double e, tgiJet *out) {
  tgiJet square;
  tgi_jet_mul(k, &x[0], &x[0], out);
  for (int i = 1; i < n; i++) {
    tgi_jet_mul(k, &x[i], &x[i], &square);
    tgi_jet_sum(k, 1, out, 1, &square, out);
  }
  out->f += e * e;
  tgi_jet_sqrt(k, out, out);
}

// out = e log sum exp(x_i/e), about the largest
static void soft_max(tgiJets k, int n, const tgiJet *x, double e, tgiJet *out) {
  tgiJet sum, term;
  double most = tgRe(x[0].f);
  for (int i = 1; i < n; i++) most = fmax(most, tgRe(x[i].f));
  tgi_jet_constant(k, 0, &sum);
  for (int i = 0; i < n; i++) {
    tgi_jet_sum(k, 1 / e, &x[i], 0, &x[i], &term);
    term.f -= most / e;
    tgi_jet_exp(k, &term, &term);
    tgi_jet_sum(k, 1, &sum, 1, &term, &sum);
  }
  tgi_jet_log(k, &sum, &sum);
  tgi_jet_sum(k, e, &sum, 0, &sum, out);
  out->f += most;
}

// rounded corner of n faces, s_i the heights over faces that lie the rounding inside: |R(s)| - R(-L) - rounding
static void rounded(tgiJets k, const tgiField *f, int n, const tgiJet *s, tgiJet *out) {
  tgiJet R[3], L;
  for (int i = 0; i < n; i++) soft_positive(k, &s[i], f->softness, &R[i]);
  norm(k, n, R, 0, out);
  soft_max(k, n, s, f->softness, &L);
  tgi_jet_sum(k, -1, &L, 0, &L, &L);
  soft_positive(k, &L, f->softness, &L);
  tgi_jet_sum(k, 1, out, -1, &L, out);
  out->f -= f->rounding;
}

static void box(const tgiField *f, tgiJets k, const tgiJet *y, const tgiJet *size, tgiJet *out) {
  tgiJet s[3];
  for (int i = 0; i < 3; i++) {
    soft_abs(k, &y[i], f->softness, &s[i]);
    tgi_jet_sum(k, 1, &s[i], -1, &size[i], &s[i]);
    s[i].f += f->rounding;
  }
  rounded(k, f, 3, s, out);
}

static void cylinder(const tgiField *f, tgiJets k, const tgiJet *y, const tgiJet *size, tgiJet *out) {
  tgiJet s[2];
  norm(k, 2, y, f->softness, &s[0]);
  soft_abs(k, &y[2], f->softness, &s[1]);
  for (int i = 0; i < 2; i++) {
    tgi_jet_sum(k, 1, &s[i], -1, &size[i], &s[i]);
    s[i].f += f->rounding;
  }
  rounded(k, f, 2, s, out);
}

// out = |x| - r; of a hollow softened where x is 0, and there 0 on the surface as well
static void round_off(const tgiField *f, tgiJets k, const tgiJet *x, const tgiJet *r, tgiJet *out) {
  tgiJet soft = *r;
  norm(k, 3, x, f->inside ? f->softness : 0, out);
  if (f->inside) soft_abs(k, r, f->softness, &soft);
  tgi_jet_sum(k, 1, out, -1, &soft, out);
}

// distance to the axis' segment, whose nearest point is clamped softly
static void capsule(const tgiField *f, tgiJets k, const tgiJet *y, const tgiJet *size, tgiJet *out) {
  tgiJet up, down, x[3];
  tgi_jet_sum(k, 1, &y[2], 1, &size[1], &up);
  tgi_jet_sum(k, 1, &y[2], -1, &size[1], &down);
  soft_abs(k, &up, f->softness, &up);
  soft_abs(k, &down, f->softness, &down);
  x[0] = y[0];
  x[1] = y[1];
  tgi_jet_sum(k, 0.5, &up, -0.5, &down, &up);
  tgi_jet_sum(k, 1, &y[2], -1, &up, &x[2]);
  round_off(f, k, x, &size[0], out);
}

// F(t) = sum (a_i y_i/(a_i^2 + t))^2 - 1 and its slope; parts: y_i/(a_i^2 + t)
static void ellipsoid_root(tgiJets k, const tgiJet *y, const tgiJet *a, const tgiJet *t, tgiJet *part, tgiJet *F, tgiJet *slope) {
  tgi_jet_constant(k, -1, F);
  tgi_jet_constant(k, 0, slope);
  for (int i = 0; i < 3; i++) {
    tgiJet below, term;
    tgi_jet_mul(k, &a[i], &a[i], &below);
    tgi_jet_sum(k, 1, &below, 1, t, &below);
    tgi_jet_inverse(k, &below, &below);
    tgi_jet_mul(k, &y[i], &below, &part[i]);
    tgi_jet_mul(k, &part[i], &a[i], &term);
    tgi_jet_mul(k, &term, &term, &term);
    tgi_jet_sum(k, 1, F, 1, &term, F);
    tgi_jet_mul(k, &term, &below, &term);
    tgi_jet_sum(k, 1, slope, -2, &term, slope);
  }
}

// The foot x_i = a_i^2 y_i/(a_i^2 + t) of y, t the root of F by Newton's method from the left of it, where F is convex. The derivatives
// follow by as many more steps as their order.
static void ellipsoid(tgiJets k, const tgiJet *y, const tgiJet *a, tgiJet *out) {
  enum { MOST = 60, AFTER = 3 };
  tgiJet t, part[3], F, slope, step;
  double from = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double width = tgRe(a[i].f);
    from = fmax(from, width * fabs(tgRe(y[i].f)) - width * width);
  }
  tgi_jet_constant(k, from, &t);
  for (int n = 0, left = AFTER; n < MOST && left > 0; n++) {
    double before = tgRe(t.f);
    ellipsoid_root(k, y, a, &t, part, &F, &slope);
    tgi_jet_inverse(k, &slope, &step);
    tgi_jet_mul(k, &F, &step, &step);
    tgi_jet_sum(k, 1, &t, -1, &step, &t);
    if (fabs(tgRe(t.f) - before) <= 1e-9 * (fabs(before) + tgRe(a[0].f * a[0].f))) left--;
  }
  ellipsoid_root(k, y, a, &t, part, &F, &slope);
  // y - x = t y/(a^2 + t)
  norm(k, 3, part, 0, out);
  tgi_jet_mul(k, out, &t, out);
}

// ---- meshes ----

// out = x held between low and high: x itself up to there, then ever less of it, and constant from a way further on
static void hold(tgiJets k, const tgiJet *x, double low, double high, double way, tgiJet *out) {
  double side = tgRe(x->f) > high ? 1 : -1;
  tgReal z = side * (x->f - (side > 0 ? high : low)) / way;
  *out = *x;
  if (tgRe(z) <= 0) return;
  if (tgRe(z) >= 1) {
    tgi_jet_constant(k, side > 0 ? high + way / 2 : low - way / 2, out);
    return;
  }
  // the integral of 1 - 10 z^3 + 15 z^4 - 6 z^5
  tgReal p = z - z * z * z * z * (2.5 - z * (3 - z)), p1 = 1 - z * z * z * (10 - z * (15 - 6 * z)), p2 = -30 * z * z * (1 - z) * (1 - z);
  tgi_jet_chain(k, x, (side > 0 ? high : low) + side * way * p, p1, side * p2 / way, out);
}

// out = the grid's value at x
static void grid_value(const tgiDistanceGrid *grid, tgiJets k, const tgiJet x[3], tgiJet *out) {
  tgReal at[3] = {x[0].f, x[1].f, x[2].f}, d[3], dd[6];
  tgi_distance_grid_at(grid, at, k.n > 0 ? k.order : 0, &out->f, d, dd);
  for (int i = 0; i < k.n; i++) out->d[i] = d[0] * x[0].d[i] + d[1] * x[1].d[i] + d[2] * x[2].d[i];
  for (int i = 0, p = 0; i < k.n && k.order > 1; i++)
    for (int j = 0; j <= i; j++, p++) {
      tgReal sum = 0;
      for (int a = 0, q = 0; a < 3; a++) {
        sum += d[a] * x[a].dd[p];
        for (int b = 0; b <= a; b++, q++) {
          tgReal both = x[a].d[i] * x[b].d[j];
          if (a != b) both += x[b].d[i] * x[a].d[j];
          sum += dd[q] * both;
        }
      }
      out->dd[p] = sum;
    }
}

// Of the mesh at another scale the place in it is stretched back, and the distance stretched by the mean. Past where the grid is good: what
// it is at the nearest place there, and how far that is.
static void mesh(const tgiField *f, tgiJets k, const tgiJet *y, const tgiJet *scale, tgiJet *out) {
  double low[3], high[3], way = 2 * f->grid->spacing, soft = way / 8;
  tgiJet stretch[3], held[3], past[3], x, far, mean;
  tgi_distance_grid_box(f->grid, low, high);
  tgi_jet_constant(k, 0, &mean);
  for (int i = 0; i < 3; i++) {
    tgi_jet_sum(k, 1 / f->made[i], &scale[i], 0, &scale[i], &stretch[i]);
    tgi_jet_sum(k, 1, &mean, 1.0 / 3, &stretch[i], &mean);
    tgi_jet_inverse(k, &stretch[i], &stretch[i]);
    tgi_jet_mul(k, &y[i], &stretch[i], &x);
    hold(k, &x, low[i] + way / 2, high[i] - way / 2, way, &held[i]);
    tgi_jet_sum(k, 1, &x, -1, &held[i], &past[i]);
  }
  grid_value(f->grid, k, held, out);
  norm(k, 3, past, soft, &far);
  tgi_jet_sum(k, 1, out, 1, &far, out);
  out->f -= soft;
  tgi_jet_mul(k, out, &mean, out);
}

static void outside(const tgiField *f, const tgReal y[3], tgiJets k, tgiJet *G) {
  tgiJet at[3], size[3];
  if (f->type == TG_GEOM_PLANE) {
    tgi_jet_variable(k, 2, y[2], G);
    return;
  }
  for (int i = 0; i < 3; i++) {
    tgi_jet_variable(k, i, y[i], &at[i]);
    tgi_jet_variable(k, 3 + i, f->size[i], &size[i]);
  }
  switch (f->type) {
    case TG_GEOM_PLANE: return;
    case TG_GEOM_SPHERE: round_off(f, k, at, size, G); return;
    case TG_GEOM_CAPSULE: capsule(f, k, at, size, G); return;
    case TG_GEOM_BOX: box(f, k, at, size, G); return;
    case TG_GEOM_CYLINDER: cylinder(f, k, at, size, G); return;
    case TG_GEOM_ELLIPSOID: ellipsoid(k, at, size, G); return;
    case TG_GEOM_MESH: mesh(f, k, at, size, G); return;
  }
}

void tgi_field(const tgiField *f, const tgReal y[3], tgiJets k, tgiJet *G) {
  outside(f, y, k, G);
  if (f->inside) tgi_jet_sum(k, -1, G, 0, G, G);
}
