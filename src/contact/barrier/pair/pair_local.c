// pair_local.c: Newton steps for a plane n.x + d of any |n| < 1. See pair_local.h.
#include "contact/barrier/pair/pair_local.h"
#include <float.h>
#include <string.h>

#include "contact/barrier/pair/plane.h"
#include "contact/barrier/pair/tolerances.h"
#include "math/vec3.h"

// Newton's decrement, of P, at which the step taken is the last
static const double TOLERANCE = 1e-13;
enum { MOST_STEPS = 100, MOST_HALVINGS = 40, BISECTIONS = 12 };

// b and, where asked for, -b' and b''                                                                             [math/barrier (31)]
static tgReal barrier(tgReal x, double x0, tgReal *y, tgReal *z) {
  bool near = tgRe(x) < x0;
  tgReal e = x - x0, l = near ? tgLog(x / x0) : 0;
  if (y != NULL) *y = near ? (2 * l * e - (l - 1) * e * e / x) / x : 0;
  if (z != NULL) *z = near ? (4 * (l - 1) * e / x - 2 * l * (e * e / (x * x) + 1) + 3 * e * e / (x * x)) / x : 0;
  return near ? -e * e * l / x : 0;
}

void tgi_local_barrier(tgReal x, double x0, tgReal b[3]) {
  tgReal y, z;
  b[0] = barrier(x, x0, &y, &z);
  b[1] = -y;
  b[2] = z;
}

// margin k is that of k - 1: those of two points are two
static bool same(const tgiPlane *p, int k) { return p->points && k % 3 > 0; }

// what the plane costs; its least margin, negative when |n| is not below 1
static double look(tgiPlane *p, double x0, tgReal *P) {
  double least = tgi_plane_margins(p), length = tgRe(tgi_v3_norm(p->n));
  *P = 0;
  if (!(least > 0) || !(length < 1)) return -1;
  tgReal b = 0;
  *P = barrier(1 - tgi_v3_norm(p->n), x0, NULL, NULL);
  for (int k = 0; k < 6; k++) {
    if (!same(p, k)) b = barrier(p->m[k], x0, NULL, NULL);
    *P += p->times[k] * b;
  }
  return least;
}

// scaled to |n| = 1 - x0 every margin is out of reach: nothing is repelled
static bool far(const tgiPlane *p, double x0, double least) {
  return least * (1 - x0) >= x0 * tgRe(tgi_v3_norm(p->n));
}

// The length of n that costs least, direction and d/|n| held: between 1 - x0, below which it costs nothing, and 1, or where no margin costs
// anything, the slope is monotone. It is bisected in log(1 - |n|), whose size is all that matters for a start.
static void balance(tgiPlane *p, double x0) {
  double length = tgRe(tgi_v3_norm(p->n)), least = tgi_plane_margins(p) / length, lo = log(fmax(DBL_EPSILON, 1 - x0 / least)), hi = log(x0);
  for (int pass = 0; pass < BISECTIONS; pass++) {
    double middle = 0.5 * (lo + hi), s = exp(middle);
    tgReal y = 0, slope;
    barrier(s, x0, &slope, NULL);
    for (int k = 0; k < 6; k++) {
      if (!same(p, k)) barrier((1 - s) / length * tgRe(p->m[k]), x0, &y, NULL);
      slope -= p->times[k] * y * tgRe(p->m[k]) / length;
    }
    if (tgRe(slope) > 0) lo = middle;
    else hi = middle;
  }
  double f = (1 - exp(0.5 * (lo + hi))) / length;
  tgi_v3_scale(p->n, p->n, f);
  p->d *= f;
}

// costs of the margins, and of |n| with its curvature
static void costs(tgiPlane *p, double x0, tgReal *y, tgReal *z, tgReal u[3], tgReal *length) {
  tgReal by = 0, bz = 0;
  for (int k = 0; k < 6; k++) {
    if (!same(p, k)) barrier(p->m[k], x0, &by, &bz);
    p->y[k] = by * p->times[k];
    p->z[k] = bz * p->times[k];
  }
  *length = tgi_v3_unit(u, p->n);
  barrier(1 - *length, x0, y, z);
}

// The diagonal variables along n and two tangents. At the best plane sum y m = -b'(1 - |n|) |n|, so this is the Hessian for straight moves
// and for those that turn n and keep its length, with what margins lose to the radius, which are those that the steps make: straight ones
// leave |n| < 1 too soon.
static void factor(tgiPlane *p, double x0, tgReal slope[3]) {
  tgReal dir[3][3], y, z, length, push = 0;
  costs(p, x0, &y, &z, dir[0], &length);
  for (int k = 0; k < 6; k++) push += p->y[k] * (p->m[k] + p->round * length);
  tgi_plane_tangents(dir[0], dir + 1);
  const tgReal own[3] = {z, push / (length * length), push / (length * length)};
  tgi_plane_factor(p, 3, dir, own);
  tgi_v3_scale(slope, dir[0], y);
}

// rounding of the cost, of the cost: that of positions and of 1 - |n| through their slopes; y: slope of the cost of |n|
static double rounding(const tgiPlane *p, double y, double P) {
  double sum = y;
  for (int k = 0; k < 6; k++) sum += tgRe(p->y[k]) * (p->size + tgRe(p->m[k]));
  return TGI_PAIR_NOISE * sum / P;
}

// a plane and a step from it: u turns by du, its length grows by stretch
typedef struct Step { tgReal u[3], delta, length, du[3], ddelta, stretch; } Step;

static void prepare(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], Step *s) {
  tgReal dn[3], dd;
  s->length = tgi_v3_unit(s->u, p->n);
  s->delta = p->d / s->length;
  tgi_plane_change(p, w, dn, &dd);
  s->stretch = tgi_v3_dot(s->u, dn);
  for (int i = 0; i < 3; i++) s->du[i] = (dn[i] - s->stretch * s->u[i]) / s->length;
  s->ddelta = (dd - s->stretch * s->delta) / s->length;
}
static void go(tgiPlane *p, const Step *s, double alpha) {
  for (int i = 0; i < 3; i++) p->n[i] = s->u[i] + alpha * s->du[i];
  tgReal f = (s->length + alpha * s->stretch) / tgi_v3_norm(p->n);
  tgi_v3_scale(p->n, p->n, f);
  p->d = (s->delta + alpha * s->ddelta) * f;
}

// longest step that leaves a tenth of the way of |n| to 1, and to 1 - x0 where its cost ends
static double length_room(const Step *s, double x0) {
  double stretch = tgRe(s->stretch), up = 1 - tgRe(s->length), down = tgRe(s->length) - (1 - x0);
  return TGI_PAIR_ROOM * (stretch > 0 ? up / stretch : stretch < 0 ? down / -stretch : INFINITY);
}

typedef enum End { TOUCHES, REPELS, NOTHING } End;

static bool idle(const tgiPlane *p, double x0) {
  for (int k = 0; k < 6; k++)
    if (tgRe(p->m[k]) < x0) return false;
  return true;
}

// Near the end of its reach the cost goes like the third power of what is missing, and Newton's steps halve that. Those of triangles start
// from the widest slab and know that they are out of reach; an ellipsoid's do not, so a little more than twice the step is tried.
static bool beyond(tgiPlane *p, double x0, const Step *s, double alpha) {
  if (!p->oval[0] && !p->oval[1]) return false;
  go(p, s, 2.2 * alpha);
  return far(p, x0, tgi_plane_margins(p));
}
// of a cost that can be told from none
static const double LEAST_COST = 1e-30;

static End descend(tgiPlane *p, double x0, tgReal *P, int *steps) {
  double least = tgi_plane_margins(p);
  if (far(p, x0, least)) return NOTHING;
  least = look(p, x0, P);
  for (*steps = 1; *steps <= MOST_STEPS; ++*steps) {
    tgReal w[TGI_PLANE_VARIABLES], slope[3];
    Step s;
    if (far(p, x0, tgi_plane_margins(p))) return NOTHING;
    if (idle(p, x0)) {
      balance(p, x0);
      least = look(p, x0, P);
    }
    factor(p, x0, slope);
    double lambda2 = tgRe(tgi_plane_newton(p, w, slope)), from = tgRe(*P);
    double eta = rounding(p, tgRe(tgi_v3_norm(slope)), from);
    bool last = lambda2 <= fmax(TOLERANCE, eta * eta) * from;
    prepare(p, w, &s);
    double alpha = fmin(1, fmin(tgi_plane_room(p, w), length_room(&s, x0)));
    if (from < LEAST_COST || beyond(p, x0, &s, alpha)) return NOTHING;
    for (int halving = 0;; halving++, alpha *= 0.5) {
      go(p, &s, alpha);
      least = look(p, x0, P);
      if (least > 0 && (last || tgRe(*P) <= from * (1 + eta) - TGI_PAIR_ARMIJO * alpha * lambda2)) break;
      if (halving == MOST_HALVINGS) return TOUCHES;
    }
    if (last) return tgi_plane_noise(p, least) <= TGI_PAIR_TOUCHING ? REPELS : TOUCHES;
  }
  return TOUCHES;
}

#ifdef TG_COMPLEX
// full steps bring the imaginary parts to where the real parts are
static void polish(tgiPlane *p, double x0, tgReal *P) {
  for (int pass = 0; pass < 2; pass++) {
    tgReal w[TGI_PLANE_VARIABLES], slope[3];
    Step s;
    factor(p, x0, slope);
    tgi_plane_newton(p, w, slope);
    prepare(p, w, &s);
    go(p, &s, 1);
    look(p, x0, P);
  }
}
#endif

// a warm plane keeps its length of n
static bool start(tgiPlane *p, double x0, bool warm, const tgiPairLocal *r) {
  if (warm) {
    double length = tgRe(tgi_v3_norm(r->n));
    tgi_plane_set(p, r->n, r->d);
    if (length > 1 - x0 && length < 1 && tgi_plane_margins(p) > TGI_PAIR_SIGNIFICANT * p->size) return true;
  }
  if (!tgi_plane_start(p)) return false;
  if (!far(p, x0, tgi_plane_margins(p))) balance(p, x0);
  return true;
}

bool tgi_pair_local_solve(const tgReal x[18], const tgiPairCores *cores, double x0, bool warm, tgiPairLocal *r) {
  tgiPlane p;
  tgReal P = 0, slope[3];
  int steps = 0;
  tgi_plane_place(&p, x, cores);
  End end = start(&p, x0, warm, r) ? descend(&p, x0, &P, &steps) : TOUCHES;
  memset(r, 0, sizeof *r);
  r->iterations = steps;
  if (end == TOUCHES) r->P = INFINITY;
  else tgi_plane_get(&p, r->n, &r->d);
  if (end != REPELS) return end == NOTHING;
#ifdef TG_COMPLEX
  polish(&p, x0, &P);
  tgi_plane_get(&p, r->n, &r->d);
#endif
  factor(&p, x0, slope);
  r->P = P;
  tgi_plane_derivatives(&p, r->g, r->H);
  return true;
}

// false: nothing is repelled there
static bool at(tgiPlane *p, const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r) {
  tgReal slope[3];
  tgi_plane_place(p, x, cores);
  tgi_plane_set(p, r->n, r->d);
  if (tgRe(r->P) == 0) return false;
  tgi_plane_margins(p);
  factor(p, x0, slope);
  return true;
}

static void no_force(const tgReal x[18], const tgiPairLocal *r, tgiPairForce *f) {
  memset(f, 0, sizeof *f);
  tgi_v3_unit(f->u, r->n);
  for (int i = 0; i < 3; i++) {
    f->a[i] = (x[i] + x[3 + i] + x[6 + i]) / 3;
    f->b[i] = (x[9 + i] + x[12 + i] + x[15 + i]) / 3;
  }
}

void tgi_pair_local_force(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, tgiPairForce *f) {
  tgiPlane p;
  if (at(&p, x, cores, x0, r)) tgi_plane_force(&p, f);
  else no_force(x, r, f);
}

void tgi_pair_local_rate_d(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, const tgiPairField *field,
                           tgReal *dP, tgReal dg[6], tgiPairForce *df) {
  tgiPlane p;
  if (at(&p, x, cores, x0, r)) {
    tgi_plane_rate(&p, field, dP, dg, df);
    return;
  }
  if (dP != NULL) *dP = 0;
  if (dg != NULL) memset(dg, 0, 6 * sizeof *dg);
  if (df != NULL) memset(df, 0, sizeof *df);
}

void tgi_pair_local_force_d(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, tgiPairForce df[6]) {
  tgiPlane p;
  if (at(&p, x, cores, x0, r)) tgi_plane_force_rates(&p, x, df);
  else memset(df, 0, 6 * sizeof *df);
}
