// ccd.c: conservative advancement with planes. See ccd.h.
//
// Based on: [math/collision Continuous]. At time t with closest points at distance d and direction n from the second set to the first:
//   plane:  along n every vertex moves at constant speed, so f(tau) = min n.x_i(tau) - max n.y_j(tau) <= distance is known for all tau;
//           nothing can happen before f(tau) = goal. The same with a normal that turns at a constant rate, so that it follows the features:
//           where these stay the same, this is Newton's method for distance = goal.
//   speed:  the distance falls by no more than the largest relative speed of two vertices: nothing before t + (d - goal)/speed.   [ACCD]
// The latest is taken. goal = gap + tol/2 leaves tol/2 for rounding on both sides.
#include "coll/surfaces/ccd.h"

#include <math.h>

#include "coll/surfaces/triangle.h"
#include "math/d3.h"

typedef struct Motion {
  const double *x0, *x1;
  int na, nb;                 // vertices of the two sets
  double v[18];               // x1 - x0
  double speed;               // largest relative speed
} Motion;

static void begin(Motion *m) {
  int n = 3 * (m->na + m->nb);
  for (int i = 0; i < n; i++) m->v[i] = m->x1[i] - m->x0[i];
  double most = 0;
  for (int i = 0; i < m->na; i++)
    for (int j = m->na; j < m->na + m->nb; j++) {
      double r[3];
      tgi_d3_sub(r, m->v + 3 * i, m->v + 3 * j);
      most = fmax(most, tgi_d3_dot(r, r));
    }
  m->speed = sqrt(most);
}

static tgiNearby nearby(const Motion *m, double t) {
  double x[18];
  for (int i = 0; i < 3 * (m->na + m->nb); i++) x[i] = m->x0[i] + t * m->v[i];
  if (m->na == 1) return tgi_point_triangle(x, x + 3);
  return m->na == 2 ? tgi_segment_segment(x, x + 6) : tgi_triangle_triangle(x, x + 9);
}

// first s > 0 at which a + b s + c s^2 = 0, a > 0; infinite when none
static double first_root(double a, double b, double c) {
  double disc = b * b - 4 * a * c;
  if (c >= 0 && (b >= 0 || disc < 0)) return INFINITY;
  return 2 * a / (-b + sqrt(disc));   // the smaller positive root for c > 0, the only one for c <= 0; no cancellation where b < 0
}

// Times s after t until some vertices i, j have (n + s turn).(x_i - y_j) = goal (1 + |turn|^2 s^2/2), turn normal to n: until then a plane
// of normal n + s turn keeps the sets goal apart, since |n + s turn| is no larger than the bracket. 0 when some have less already.
static double plane_holds(const Motion *m, const double *n, const double *turn, double t, double goal) {
  double end = INFINITY, x[18], bend = 0.5 * goal * tgi_d3_dot(turn, turn);
  for (int i = 0; i < 3 * (m->na + m->nb); i++) x[i] = m->x0[i] + t * m->v[i];
  for (int i = 0; i < m->na; i++)
    for (int j = m->na; j < m->na + m->nb; j++) {
      double r[3], w[3];
      tgi_d3_sub(r, x + 3 * i, x + 3 * j);
      tgi_d3_sub(w, m->v + 3 * i, m->v + 3 * j);
      double f = tgi_d3_dot(n, r) - goal;
      if (!(f > 0)) return 0;
      end = fmin(end, first_root(f, tgi_d3_dot(n, w) + tgi_d3_dot(turn, r), tgi_d3_dot(turn, w) - bend));
    }
  return end;
}

// difference of vertices k and l of x
static void edge_of(const double *x, int k, int l, double *r) { tgi_d3_sub(r, x + 3 * l, x + 3 * k); }

// Normal of the features, and its rate while it stays normal to them: of a face, its own; of two edges, that of their cross product; of an
// edge and a vertex, what is normal to the edge; of two vertices, n, held. n = (a - b)/d is blunt where d is near rounding, a cross product
// is not.
static void feature_normal(const Motion *m, const tgiNearby *c, double t, const double *n, double *normal, double *turn) {
  double x[18], d[2][3], v[2][3];
  int count = 0, first = 0;
  for (int i = 0; i < 3; i++) {
    turn[i] = 0;
    normal[i] = n[i];
  }
  for (int i = 0; i < 3 * (m->na + m->nb); i++) x[i] = m->x0[i] + t * m->v[i];
  for (int s = 0; s < 2; s++, first = m->na) {
    int f = s == 0 ? c->feature_a : c->feature_b, size = s == 0 ? m->na : m->nb;
    if (f < TGI_EDGE) continue;
    if (f == TGI_FACE) count = 0;
    for (int e = 0; e < (f == TGI_FACE ? 2 : 1); e++) {
      int k = f == TGI_FACE ? e : f - TGI_EDGE, l = (k + 1) % size;
      edge_of(x, first + k, first + l, d[count]);
      edge_of(m->v, first + k, first + l, v[count++]);
    }
    if (f == TGI_FACE) break;
  }
  double N[3], a[3], b[3], length;
  if (count == 1) {
    double dd = tgi_d3_dot(d[0], d[0]);
    if (!(dd > 0)) return;
    tgi_d3_along(N, n, -tgi_d3_dot(n, d[0]) / dd, d[0]);
    length = tgi_d3_norm(N);
    if (!(length > 0)) return;
    for (int i = 0; i < 3; i++) normal[i] = N[i] / length;
    tgi_d3_along(turn, turn, -tgi_d3_dot(normal, v[0]) / dd, d[0]);
  } else if (count == 2) {
    tgi_d3_cross(N, d[0], d[1]);
    tgi_d3_cross(a, v[0], d[1]);
    tgi_d3_cross(b, d[0], v[1]);
    length = copysign(tgi_d3_norm(N), tgi_d3_dot(N, n));
    if (length == 0) return;
    for (int i = 0; i < 3; i++) {
      normal[i] = N[i] / length;
      turn[i] = (a[i] + b[i]) / length;
    }
  }
  tgi_d3_along(turn, turn, -tgi_d3_dot(turn, normal), normal);
}

// how long after t certainly nothing happens
static double quiet(const Motion *m, const tgiNearby *c, double t, const double *n, double goal) {
  const double still[3] = {0, 0, 0};
  double normal[3], turn[3], s = fmax(plane_holds(m, n, still, t, goal), (c->distance - goal) / m->speed);
  if (t + s >= 1) return s;
  feature_normal(m, c, t, n, normal, turn);
  s = fmax(s, plane_holds(m, normal, still, t, goal));
  return fmax(s, plane_holds(m, normal, turn, t, goal));
}

tgiCcd tgi_ccd(const double *x0, const double *x1, int na, int nb, double gap, double tol) {
  Motion m = {.x0 = x0, .x1 = x1, .na = na, .nb = nb};
  tgiCcd r = {.t = 0};
  double goal = gap + 0.5 * tol;
  begin(&m);
  for (; r.rounds < TGI_CCD_ROUNDS; r.rounds++) {
    tgiNearby c = nearby(&m, r.t);
    r.distance = c.distance;
    for (int i = 0; i < 3; i++) r.n[i] = c.distance > 0 ? (c.a[i] - c.b[i]) / c.distance : 0;
    double next = r.t + (c.distance > 0 ? fmax(quiet(&m, &c, r.t, r.n, goal), 0) : 0);
    if (next >= 1) {
      r.t = 1;
      return r;
    }
    if (!(c.distance > gap + tol)) break;
    r.t = next;
  }
  r.hit = true;
  return r;
}
