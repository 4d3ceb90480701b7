// plane.c: see plane.h.
#include "contact/barrier/pair/plane.h"
#include <float.h>
#include <string.h>

#include "contact/barrier/pair/distance.h"
#include "contact/barrier/pair/pair_kernel.h"
#include "contact/barrier/pair/tolerances.h"
#include "math/vec3.h"

static double extent(const tgReal x[9]) {
  double e = 0;
  for (int i = 3; i < 9; i++) e = fmax(e, fabs(tgRe(x[i] - x[i % 3])));
  return e;
}

// vertex k of the plane's order in the caller's; the sign of what turns round with the order
static int user(const tgiPlane *p, int k) { return p->swapped ? (k + 3) % 6 : k; }
static double sign(const tgiPlane *p) { return p->swapped ? -1 : 1; }

void tgi_plane_place(tgiPlane *p, const tgReal x[18], const tgiPairCores *cores) {
  static const tgiPairCores none = {.radius = {0, 0}};
  if (cores == NULL) cores = &none;
  double wide[2] = {extent(x), extent(x + 9)};
  p->swapped = wide[1] < wide[0];
  p->point = fmin(wide[0], wide[1]) == 0 && !tgi_pair_oval(cores);
  p->points = p->point && fmax(wide[0], wide[1]) == 0;
  for (int half = 0; half < 2; half++) p->radius[half] = cores->radius[half != p->swapped];
  p->round = 0.5 * (p->radius[0] + p->radius[1]);
  for (int k = 0; k < 6; k++) p->times[k] = !cores->segment[(k >= 3) != p->swapped] ? 1 : k % 3 < 2 ? 1.5 : 0;
  p->size = tgRe(p->round);
  for (int k = 0; k < 6; k++) tgi_v3_copy(p->x[k], x + 3 * user(p, k));
  for (int i = 0; i < 3; i++) p->centre[i] = (p->x[0][i] + p->x[1][i] + p->x[2][i]) / 3;
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) {
      p->x[k][i] -= p->centre[i];
      p->size = fmax(p->size, fabs(tgRe(p->x[k][i])));
    }
  for (int half = 0; half < 2; half++) {
    int side = half != p->swapped;
    p->oval[half] = cores->oval[side];
    tgi_v3_copy(p->core[half], p->x[3 * half]);
    for (int i = 0; i < 9 && p->oval[half]; i++) {
      p->axes[half][i] = cores->axes[side][i];
      p->size = fmax(p->size, fabs(tgRe(p->axes[half][i])));
    }
  }
}

void tgi_plane_set(tgiPlane *p, const tgReal u[3], tgReal delta) {
  tgi_v3_scale(p->n, u, sign(p));
  p->d = sign(p) * delta + tgi_v3_dot(p->n, p->centre);
}
void tgi_plane_get(const tgiPlane *p, tgReal u[3], tgReal *delta) {
  tgi_v3_scale(u, p->n, sign(p));
  *delta = sign(p) * (p->d - tgi_v3_dot(p->n, p->centre));
}

// half-way between the first, a point, and what is closest to it
static bool start_from_point(tgiPlane *p) {
  tgReal x[12];
  tgiFeatures c;
  for (int i = 0; i < 12; i++) x[i] = tgRe(p->x[i < 3 ? 0 : 2 + i / 3][i % 3]);
  tgi_distance_of_point(x, &c);
  tgReal apart = tgi_v3_unit(p->n, c.r);
  p->d = apart / 2 - tgi_v3_dot(p->n, x);
  return tgi_plane_margins(p) > TGI_PAIR_SIGNIFICANT_ALL * p->size;
}

bool tgi_plane_start(tgiPlane *p) {
  tgReal x[18], u[3], delta, axes[18] = {0};
  bool oval = p->oval[0] || p->oval[1];
  if (p->point) return start_from_point(p);
  for (int k = 0; k < 18; k++) {
    x[k] = tgRe(p->oval[k / 9] ? p->core[k / 9][k % 3] : p->x[k / 3][k % 3]);
    if (p->oval[k / 9]) axes[k] = tgRe(p->axes[k / 9][k % 9]);
  }
  if (!tgi_pair_start(x, tgRe(p->round), oval ? axes : NULL, u, &delta)) return false;
  tgi_v3_copy(p->n, u);
  p->d = delta;
  return true;
}

// the points of an ellipsoid where the plane's normal is its own, in place of its centre
static void support(tgiPlane *p, int half) {
  tgReal u[3], *e = p->e[half], at[3] = {0, 0, 0};
  tgi_v3_unit(u, p->n);
  tgi_m3_mulv(e, p->axes[half], u);
  p->h[half] = tgi_v3_norm(e);
  tgi_v3_scale(e, e, 1 / p->h[half]);
  for (int i = 0; i < 3; i++) tgi_v3_axpy(at, e[i], p->axes[half] + 3 * i);
  for (int k = 3 * half; k < 3 * half + 3; k++)
    for (int i = 0; i < 3; i++) p->x[k][i] = p->core[half][i] - tgi_plane_side(k) * at[i];
}

// (1 - e e') L t: what bends the support along t
static void bow(const tgiPlane *p, int half, const tgReal t[3], tgReal r[3]) {
  tgi_m3_mulv(r, p->axes[half], t);
  tgi_v3_axpy(r, -tgi_v3_dot(r, p->e[half]), p->e[half]);
}

// how the point `at` of an ellipsoid moves as the plane's normal does by du, square to it: (L'(1 - e e') L/h) du
static void roll(const tgiPlane *p, int half, const tgReal du[3], tgReal r[3]) {
  tgReal b[3];
  bow(p, half, du, b);
  tgi_m3_tmulv(r, p->axes[half], b);
  tgi_v3_scale(r, r, 1 / p->h[half]);
}

double tgi_plane_margins(tgiPlane *p) {
  double least = INFINITY;
  for (int half = 0; half < 2; half++)
    if (p->oval[half]) support(p, half);
  tgReal round = p->round * tgi_v3_norm(p->n);
  for (int k = 0; k < 6; k++) {
    p->m[k] = tgi_plane_side(k) * (tgi_v3_dot(p->n, p->x[k]) + p->d) - round;
    if (!(tgRe(p->m[k]) >= least)) least = tgRe(p->m[k]);
  }
  return least;
}

void tgi_plane_tangents(const tgReal u[3], tgReal t[2][3]) {
  double s = copysign(1, tgRe(u[2]));
  tgReal f = -1 / (s + u[2]), g = u[0] * u[1] * f;
  tgi_v3_set(t[0], 1 + s * u[0] * u[0] * f, s * g, -s * u[0]);
  tgi_v3_set(t[1], g, s + u[1] * u[1] * f, -u[1]);
}

// how much of a change of n is along it: of |n|, which every margin loses the radius by
static tgReal longer(const tgiPlane *p, const tgReal dn[3]) { return tgi_v3_dot(p->n, dn) / tgi_v3_norm(p->n); }

// y times second derivatives of the supports along two changes of n
static tgReal bent(const tgiPlane *p, const tgReal dn[3], const tgReal dk[3]) {
  tgReal sum = 0;
  for (int half = 0; half < 2; half++) {
    tgReal a[3], b[3], y = p->y[3 * half] + p->y[3 * half + 1] + p->y[3 * half + 2];
    if (!p->oval[half]) continue;
    bow(p, half, dn, a);
    bow(p, half, dk, b);
    sum += y / (p->h[half] * tgi_v3_norm(p->n)) * tgi_v3_dot(a, b);
  }
  return sum;
}

// Gram and Schmidt in the Hessian: each direction less its parts along the variables before it, of which 0 is the shift of d
void tgi_plane_factor(tgiPlane *p, int count, const tgReal dir[][3], const tgReal own[]) {
  tgReal L[TGI_PLANE_VARIABLES][3] = {{0}};  // coordinates of dn in dir
  p->nvar = count + 1;
  p->dd[0] = 1;
  p->K[0] = 0;
  tgi_v3_zero(p->dn[0]);
  for (int k = 0; k < 6; k++) {
    p->c[0][k] = 1;
    p->K[0] += p->z[k];
  }
  for (int v = 1; v < p->nvar; v++) {
    L[v][v - 1] = 1;
    p->dd[v] = 0;
    tgi_v3_copy(p->dn[v], dir[v - 1]);
    tgReal round = p->round * longer(p, p->dn[v]);
    for (int k = 0; k < 6; k++) p->c[v][k] = tgi_v3_dot(p->dn[v], p->x[k]) - tgi_plane_side(k) * round;
    for (int w = 0; w < v; w++) {
      tgReal f = 0;
      for (int k = 0; k < 6; k++) f += p->z[k] * p->c[v][k] * p->c[w][k];
      for (int i = 0; i < count; i++) f += own[i] * L[v][i] * L[w][i];
      f += bent(p, p->dn[v], p->dn[w]);
      f /= p->K[w];
      for (int k = 0; k < 6; k++) p->c[v][k] -= f * p->c[w][k];
      for (int i = 0; i < count; i++) L[v][i] -= f * L[w][i];
      tgi_v3_axpy(p->dn[v], -f, p->dn[w]);
      p->dd[v] -= f * p->dd[w];
    }
    p->K[v] = 0;
    for (int i = 0; i < count; i++) p->K[v] += own[i] * L[v][i] * L[v][i];
    p->K[v] += bent(p, p->dn[v], p->dn[v]);
    for (int k = 0; k < 6; k++) p->K[v] += p->z[k] * p->c[v][k] * p->c[v][k];
  }
}

tgReal tgi_plane_newton(const tgiPlane *p, tgReal w[TGI_PLANE_VARIABLES], const tgReal slope[3]) {
  tgReal lambda2 = 0;
  for (int v = 0; v < p->nvar; v++) {
    tgReal fall = slope == NULL ? 0 : -tgi_v3_dot(slope, p->dn[v]);
    for (int k = 0; k < 6; k++) fall += tgi_plane_side(k) * p->y[k] * p->c[v][k];
    w[v] = fall / p->K[v];
    lambda2 += fall * w[v];
  }
  return lambda2;
}

void tgi_plane_change(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], tgReal dn[3], tgReal *dd) {
  tgi_v3_zero(dn);
  *dd = 0;
  for (int v = 0; v < p->nvar; v++) {
    tgi_v3_axpy(dn, w[v], p->dn[v]);
    *dd += w[v] * p->dd[v];
  }
}

static tgReal margin_rate(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], int k) {
  tgReal rate = 0;
  for (int v = 0; v < p->nvar; v++) rate += w[v] * p->c[v][k];
  return tgi_plane_side(k) * rate;
}

double tgi_plane_room(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES]) {
  double worst = 0;
  for (int k = 0; k < 6; k++) worst = fmax(worst, -tgRe(margin_rate(p, w, k)) / tgRe(p->m[k]));
  return TGI_PAIR_ROOM / fmax(worst, DBL_MIN);
}

double tgi_plane_noise(const tgiPlane *p, double least) { return TGI_PAIR_NOISE * p->size / least; }

// ---- derivatives. Sums over the first triangle only, about the centre, then about the pivot

static void add_wrench(tgReal f[6], const tgReal x[3], const tgReal v[3], tgReal scale) {
  tgReal t[3];
  tgi_v3_cross(t, x, v);
  tgi_v3_axpy(f, scale, t);
  tgi_v3_axpy(f + 3, scale, v);
}
static void to_pivot(const tgiPlane *p, tgReal f[6]) {
  tgReal t[3];
  tgi_v3_cross(t, p->centre, f + 3);
  tgi_v3_axpy(f, 1, t);
}

// u x L'(1 - e e') L t/h for the first, an ellipsoid, t square to n: it turns with the twist
static void turn_bent(const tgiPlane *p, const tgReal t[3], tgReal r[3]) {
  tgReal at[3], u[3];
  roll(p, 0, t, at);
  tgi_v3_unit(u, p->n);
  tgi_v3_cross(r, u, at);
}

// mix[v] = d(d cost/dw_v)/dxi
static void mixed(const tgiPlane *p, tgReal mix[TGI_PLANE_VARIABLES][6]) {
  for (int v = 0; v < p->nvar; v++) {
    memset(mix[v], 0, sizeof mix[v]);
    for (int k = 0; k < 3; k++) {
      add_wrench(mix[v], p->x[k], p->n, p->z[k] * p->c[v][k]);
      add_wrench(mix[v], p->x[k], p->dn[v], -p->y[k]);
    }
    to_pivot(p, mix[v]);
    if (!p->oval[0]) continue;
    tgReal couple[3];
    turn_bent(p, p->dn[v], couple);
    tgi_v3_axpy(mix[v], -(p->y[0] + p->y[1] + p->y[2]), couple);
  }
}

static void add_square(tgReal H[21], const tgReal f[6], tgReal scale) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += scale * f[i] * f[j];
}

// explicit curvature less its own part of -mix[0] mix[0]'/K[0]: vertices move by 1/2 w x (w x x + v), and z-weighted moments about the
// triangle's own mean
static void own_curvature(const tgiPlane *p, const tgReal M[3], tgReal Y, tgReal ZA, tgReal H[21]) {
  tgReal mean[3] = {0, 0, 0}, Mn = tgi_v3_dot(M, p->n);
  for (int k = 0; k < 3; k++) tgi_v3_axpy(mean, p->z[k] / ZA, p->x[k]);
  for (int k = 0; k < 3; k++) {
    tgReal f[6] = {0}, x[3];
    tgi_v3_sub(x, p->x[k], mean);
    tgi_v3_cross(f, x, p->n);
    add_square(H, f, p->z[k]);
  }
  for (int r = 0; r < 3 && p->oval[0]; r++) {   // the support turns along: y [n]' (second derivatives) [n]
    tgReal f[6] = {0}, b[3], at[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) tgi_v3_axpy(at, p->e[0][i], p->axes[0] + 3 * i);
    for (int i = 0; i < 3; i++) b[i] = p->axes[0][3 * r + i] - p->e[0][r] * at[i];
    tgi_v3_cross(f, p->n, b);
    add_square(H, f, Y / (p->h[0] * tgi_v3_norm(p->n)));
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += (i == j ? Mn : 0) - 0.5 * (M[i] * p->n[j] + M[j] * p->n[i]);
    int j = (i + 1) % 3, k = (i + 2) % 3;  // the block of w and v is Y/2 [n], [n]_jk = -n_i
    H[TGI_LOWER(3 + k, j)] -= 0.5 * Y * p->n[i];
    H[TGI_LOWER(3 + j, k)] += 0.5 * Y * p->n[i];
  }
}

void tgi_plane_derivatives(const tgiPlane *p, tgReal g[6], tgReal H[21]) {
  tgReal mix[TGI_PLANE_VARIABLES][6], Y = 0, ZA = 0, ZB = p->z[3] + p->z[4] + p->z[5], M[3] = {0, 0, 0};
  memset(g, 0, 6 * sizeof *g);
  memset(H, 0, 21 * sizeof *H);
  for (int k = 0; k < 3; k++) {
    Y += p->y[k];
    ZA += p->z[k];
    tgi_v3_axpy(M, p->y[k], p->x[k]);
  }
  tgi_v3_axpy(M, Y, p->centre);
  tgi_v3_cross(g, p->n, M);
  tgi_v3_axpy(g + 3, -Y, p->n);
  for (int i = 0; i < 6; i++) g[i] *= sign(p);  // a twist of B is the opposite twist of A
  mixed(p, mix);
  own_curvature(p, M, Y, ZA, H);
  add_square(H, mix[0], ZB / (ZA * p->K[0]));
  for (int v = 1; v < p->nvar; v++) add_square(H, mix[v], -1 / p->K[v]);
}

// ---- the force and rates

static void points(const tgiPlane *p, const tgiPairForce *f, const tgReal *point[2]) {
  point[p->swapped] = f->a;
  point[!p->swapped] = f->b;
}

void tgi_plane_force(const tgiPlane *p, tgiPairForce *f) {
  tgReal sum[2] = {0, 0}, *point[2] = {p->swapped ? f->b : f->a, p->swapped ? f->a : f->b};
  tgReal length = tgi_v3_unit(f->u, p->n);
  for (int half = 0; half < 2; half++) {
    tgi_v3_zero(point[half]);
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      sum[half] += p->y[k];
      tgi_v3_axpy(point[half], p->y[k], p->x[k]);
    }
    tgi_v3_scale(point[half], point[half], 1 / sum[half]);
    tgi_v3_axpy(point[half], 1, p->centre);
    tgi_v3_axpy(point[half], half == 0 ? -p->radius[0] : p->radius[1], f->u);
  }
  tgi_v3_scale(f->u, f->u, sign(p));
  for (int k = 0; k < 6; k++)
    if (user(p, k) < 2) f->share[user(p, k)] = p->y[k] / sum[k / 3];
  f->N = length * sum[0];  // the plane is in balance: sum[1] is the same
}

// what every margin loses of the radii's rates, of a plane with |n| = 1
static tgReal round_rate(const tgiPairField *f) { return 0.5 * (f->radius[0] + f->radius[1]); }

// how the plane follows the field: w; dm, change of the margins in all
static void follow(const tgiPlane *p, const tgiPairField *field, tgReal w[TGI_PLANE_VARIABLES], tgReal dm[6]) {
  const tgReal *dx = field->x;
  tgReal round = round_rate(field), length = tgi_v3_norm(p->n);
  for (int k = 0; k < 6; k++) dm[k] = tgi_plane_side(k) * tgi_v3_dot(p->n, dx + 3 * user(p, k)) - round * length;
  for (int v = 0; v < p->nvar; v++) {
    tgReal g = 0, more = round * longer(p, p->dn[v]);
    for (int k = 0; k < 6; k++)
      g += tgi_plane_side(k) * (p->z[k] * dm[k] * p->c[v][k] - p->y[k] * tgi_v3_dot(p->dn[v], dx + 3 * user(p, k))) + p->y[k] * more;
    w[v] = -g / p->K[v];
  }
  for (int k = 0; k < 6; k++) dm[k] += margin_rate(p, w, k);
}

static void force_rate(const tgiPlane *p, const tgiPairForce *f, const tgiPairField *field,
                       const tgReal w[TGI_PLANE_VARIABLES], const tgReal dm[6], tgiPairForce *df) {
  const tgReal *point[2], *dx = field->x;
  tgReal *dpoint[2] = {p->swapped ? df->b : df->a, p->swapped ? df->a : df->b}, dn[3], dd, length = tgi_v3_norm(p->n), Y[2], dY[2];
  tgReal radius[2] = {p->radius[p->swapped], p->radius[!p->swapped]}, mean[2][3];   // of A, of B; without the radius
  points(p, f, point);
  for (int half = 0; half < 2; half++) {
    bool of_b = half != p->swapped;
    tgi_v3_copy(mean[half], point[half]);
    tgi_v3_axpy(mean[half], of_b ? -radius[1] : radius[0], f->u);
    Y[half] = dY[half] = 0;
    tgi_v3_zero(dpoint[half]);
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      tgReal dy = -p->z[k] * dm[k];
      Y[half] += p->y[k];
      dY[half] += dy;
      for (int i = 0; i < 3; i++)  // the mean moves with the changes of the weights about the mean itself
        dpoint[half][i] += dy * (p->x[k][i] + p->centre[i] - mean[half][i]) + p->y[k] * dx[3 * user(p, k) + i];
    }
    tgi_v3_scale(dpoint[half], dpoint[half], 1 / Y[half]);
    for (int k = 3 * half; k < 3 * half + 3; k++)
      if (user(p, k) < 2) df->share[user(p, k)] = -(p->z[k] * dm[k] + p->y[k] / Y[half] * dY[half]) / Y[half];
  }
  tgi_plane_change(p, w, dn, &dd);
  tgi_v3_scale(dn, dn, sign(p));
  tgReal stretch = tgi_v3_dot(f->u, dn);
  for (int i = 0; i < 3; i++) {
    df->u[i] = (dn[i] - stretch * f->u[i]) / length;
    df->a[i] -= radius[0] * df->u[i] + field->radius[0] * f->u[i];
    df->b[i] += radius[1] * df->u[i] + field->radius[1] * f->u[i];
  }
  df->N = length * dY[0] + stretch * Y[0];
}

// In place of velocities of an ellipsoid's centre those of its point where the normal is that of the plane, which is held: at = L'e.
static void follow_support(const tgiPlane *p, tgiPairField *field) {
  for (int half = 0; half < 2; half++) {
    int side = half != p->swapped;
    tgReal u[3], de[3], at[3] = {0, 0, 0};
    if (!p->oval[half]) continue;
    tgi_v3_unit(u, p->n);
    tgi_m3_mulv(de, field->axes[side], u);
    tgi_v3_axpy(de, -tgi_v3_dot(de, p->e[half]), p->e[half]);
    for (int i = 0; i < 3; i++) {
      tgi_v3_axpy(at, p->e[half][i], field->axes[side] + 3 * i);
      tgi_v3_axpy(at, de[i] / p->h[half], p->axes[half] + 3 * i);
    }
    for (int k = 3 * side; k < 3 * side + 3; k++) tgi_v3_axpy(field->x + 3 * k, half == 0 ? -1 : 1, at);
  }
}

// and where the plane turns along, by dn
static void turn_support(const tgiPlane *p, const tgReal dn[3], tgiPairField *field) {
  for (int half = 0; half < 2; half++) {
    tgReal at[3];
    if (!p->oval[half]) continue;
    roll(p, half, dn, at);
    for (int k = 3 * (half != p->swapped), n = 0; n < 3; k++, n++)
      tgi_v3_axpy(field->x + 3 * k, (half == 0 ? -1 : 1) / tgi_v3_norm(p->n), at);
  }
}

void tgi_plane_rate(const tgiPlane *p, const tgiPairField *along, tgReal *dS, tgReal dg[6], tgiPairForce *df) {
  tgiPairField moved = *along, *field = &moved;
  const tgReal *dx = field->x;
  follow_support(p, field);
  tgReal w[TGI_PLANE_VARIABLES], dm[6];
  follow(p, field, w, dm);
  if (dS != NULL) {
    tgReal round = round_rate(field) * tgi_v3_norm(p->n);
    *dS = 0;
    for (int k = 0; k < 6; k++) *dS -= p->y[k] * (tgi_plane_side(k) * tgi_v3_dot(p->n, dx + 3 * user(p, k)) - round);
  }
  tgReal dn[3], dd;
  tgi_plane_change(p, w, dn, &dd);
  turn_support(p, dn, field);
  if (dg != NULL) {
    for (int i = 0; i < 6; i++) dg[i] = 0;
    for (int k = 0; k < 3; k++) {  // g = -sum y (x x n; n)
      tgReal at[3], turn[3];
      for (int i = 0; i < 3; i++) at[i] = p->x[k][i] + p->centre[i];
      add_wrench(dg, at, p->n, p->z[k] * dm[k]);
      add_wrench(dg, at, dn, -p->y[k]);
      tgi_v3_cross(turn, dx + 3 * user(p, k), p->n);
      tgi_v3_axpy(dg, -p->y[k], turn);
    }
    for (int i = 0; i < 6; i++) dg[i] *= sign(p);
  }
  if (df != NULL) {
    tgiPairForce f;
    tgi_plane_force(p, &f);
    force_rate(p, &f, field, w, dm, df);
  }
}

void tgi_plane_force_rates(const tgiPlane *p, const tgReal x[18], tgiPairForce df[6]) {
  tgiPairForce f;
  tgi_plane_force(p, &f);
  for (int j = 0; j < 6; j++) {
    tgiPairField field = {.x = {0}};
    tgReal w[TGI_PLANE_VARIABLES], dm[6], axis[3] = {0, 0, 0}, dn[3], dd;
    axis[j % 3] = 1;
    for (int k = 0; k < 9; k += 3) {
      if (j < 3) tgi_v3_cross(field.x + k, axis, x + k);
      else tgi_v3_copy(field.x + k, axis);
      if (j < 3 && p->oval[p->swapped]) tgi_v3_cross(field.axes[0] + k, axis, p->axes[p->swapped] + k);
    }
    follow_support(p, &field);
    follow(p, &field, w, dm);
    tgi_plane_change(p, w, dn, &dd);
    turn_support(p, dn, &field);
    force_rate(p, &f, &field, w, dm, &df[j]);
  }
}
