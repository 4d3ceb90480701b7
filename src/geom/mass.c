// mass.c: see mass.h.
#include "geom/mass.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "geom/hull.h"
#include "geom/mesh_check.h"
#include "math/real.h"

// zeroth, first and second moments about the working origin; S: xx yy zz xy xz yz
typedef struct Moment {
  double m, s[3], S[6];
} Moment;

// m += w [1, f s, g (sum v v' + s s')] of the three corners v
static void add_simplex(Moment *out, double w, double f, double g, const double v[3][3]) {
  double s[3];
  for (int i = 0; i < 3; i++) s[i] = v[0][i] + v[1][i] + v[2][i];
  out->m += w;
  for (int i = 0; i < 3; i++) out->s[i] += w * f * s[i];
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int k = 0; k < 6; k++) {
    int i = row[k], j = col[k];
    double sum = s[i] * s[j];
    for (int c = 0; c < 3; c++) sum += v[c][i] * v[c][j];
    out->S[k] += w * g * sum;
  }
}

// inertia about the centre of mass: I = tr(S) 1 - S with S taken about com
static void finish(const Moment *t, const double origin[3], tgMassProps *mass) {
  double c[3] = {0, 0, 0}, S[6];
  if (t->m != 0)
    for (int i = 0; i < 3; i++) c[i] = t->s[i] / t->m;
  S[0] = t->S[0] - t->m * c[0] * c[0];
  S[1] = t->S[1] - t->m * c[1] * c[1];
  S[2] = t->S[2] - t->m * c[2] * c[2];
  S[3] = t->S[3] - t->m * c[0] * c[1];
  S[4] = t->S[4] - t->m * c[0] * c[2];
  S[5] = t->S[5] - t->m * c[1] * c[2];
  mass->volume = t->m;
  for (int i = 0; i < 3; i++) mass->com[i] = origin[i] + c[i];
  mass->inertia[0] = S[1] + S[2];
  mass->inertia[1] = S[0] + S[2];
  mass->inertia[2] = S[0] + S[1];
  for (int k = 3; k < 6; k++) mass->inertia[k] = -S[k];
}

static void corners(const double *vert, const int *face, const double origin[3], double v[3][3]) {
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < 3; i++) v[c][i] = vert[3 * (size_t)face[c] + i] - origin[i];
}

static void normal2(double v[3][3], double n[3]) { // twice the area vector
  double a[3], b[3];
  for (int i = 0; i < 3; i++) {
    a[i] = v[1][i] - v[0][i];
    b[i] = v[2][i] - v[0][i];
  }
  n[0] = a[1] * b[2] - a[2] * b[1];
  n[1] = a[2] * b[0] - a[0] * b[2];
  n[2] = a[0] * b[1] - a[1] * b[0];
}

static double volume6(double v[3][3]) { // a.(b x c)
  return v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) + v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
         v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
}

static void sum_solid(const double *vert, const int *face, int nface, const double origin[3], bool unsign, Moment *t) {
  memset(t, 0, sizeof *t);
  for (int f = 0; f < nface; f++) {
    double v[3][3];
    corners(vert, face + 3 * (size_t)f, origin, v);
    double w = volume6(v) / 6;
    add_simplex(t, unsign ? fabs(w) : w, 1.0 / 4, 1.0 / 20, v);
  }
}

static void sum_shell(const double *vert, const int *face, int nface, const double origin[3], Moment *t) {
  memset(t, 0, sizeof *t);
  for (int f = 0; f < nface; f++) {
    double v[3][3], n[3];
    corners(vert, face + 3 * (size_t)f, origin, v);
    normal2(v, n);
    add_simplex(t, sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2, 1.0 / 3, 1.0 / 12, v);
  }
}

// working near the mesh keeps the cancellation in S - m c c' small
static void box_centre(const double *vert, int nvert, double centre[3]) {
  for (int i = 0; i < 3; i++) {
    double lo = nvert > 0 ? vert[i] : 0, hi = lo;
    for (int k = 1; k < nvert; k++) {
      lo = fmin(lo, vert[3 * (size_t)k + i]);
      hi = fmax(hi, vert[3 * (size_t)k + i]);
    }
    centre[i] = lo + (hi - lo) / 2;
  }
}

// fans of the hull's polygons, about its first vertex
static tgStatus convex(const double *vert, int nvert, const double origin[3], const tgAllocator *allocator, Moment *t,
                       tgError *error) {
  tgHullOwned *owned;
  tgStatus status = tgi_hull_from_points(vert, nvert, allocator, &owned, error);
  if (status < 0) return status;
  const tgHull *h = &owned->hull;
  memset(t, 0, sizeof *t);
  for (int f = 0; f < h->nface; f++)
    for (int k = h->face_adr[f] + 1; k + 1 < h->face_adr[f + 1]; k++) {
      int id[3] = {h->face_vert[h->face_adr[f]], h->face_vert[k], h->face_vert[k + 1]};
      double v[3][3];
      for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) v[c][i] = tgRe(h->vert[3 * (size_t)id[c] + i]) - origin[i];
      add_simplex(t, volume6(v) / 6, 1.0 / 4, 1.0 / 20, v);
    }
  tgi_hull_free(owned);
  return TG_OK;
}

double tgi_mesh_volume(const double *vert, int nvert, const int *face, int nface) {
  double origin[3];
  Moment t;
  box_centre(vert, nvert, origin);
  sum_solid(vert, face, nface, origin, false, &t);
  return t.m;
}

// first apex: the mean of the surface; second: the centre of mass found from it, which MuJoCo keeps as the centre
static tgStatus legacy(const double *vert, const int *face, int nface, double origin[3], Moment *t, tgError *error) {
  sum_shell(vert, face, nface, origin, t);
  for (int pass = 0; pass < 2; pass++) {
    if (!(t->m > 0)) return tgi_error(error, TG_ERR_INVALID, "it encloses no volume");
    for (int i = 0; i < 3; i++) origin[i] += t->s[i] / t->m;
    sum_solid(vert, face, nface, origin, true, t);
  }
  for (int i = 0; i < 3; i++) t->s[i] = 0;
  return TG_OK;
}

static tgStatus solid(const double *vert, int nvert, const int *face, int nface, const double origin[3],
                      const tgAllocator *allocator, Moment *t, tgError *error) {
  tgMeshCheck check;
  if (tgi_mesh_check(vert, nvert, face, nface, allocator, &check) < 0)
    return tgi_error(error, TG_ERR_MEMORY, "it has too many faces (%d) for the memory there is", nface);
  TG_TRY(tgi_mesh_check_solid(&check, error));
  sum_solid(vert, face, nface, origin, false, t);
  return TG_OK;
}

tgStatus tgi_mass_mesh(const double *vert, int nvert, const int *face, int nface, tgMassKind kind,
                       const tgAllocator *allocator, tgMassProps *mass, tgError *error) {
  double origin[3];
  Moment t = {0};
  if (nvert < 3 || (nface < 1 && kind != TG_MASS_CONVEX))
    return tgi_error(error, TG_ERR_INVALID, "it has %d vertices and %d faces", nvert, nface);
  box_centre(vert, nvert, origin);
  if (kind == TG_MASS_CONVEX) {
    TG_TRY(convex(vert, nvert, origin, allocator, &t, error));
  } else if (kind == TG_MASS_LEGACY) {
    if (tgi_points_extent(vert, nvert, NULL) != TG_EXTENT_SOLID)
      return tgi_error(error, TG_ERR_INVALID, "it is flat: it has no solid inertia; use inertia=\"shell\"");
    TG_TRY(legacy(vert, face, nface, origin, &t, error));
  } else if (kind == TG_MASS_SHELL) {
    sum_shell(vert, face, nface, origin, &t);
    if (!(t.m > 0)) return tgi_error(error, TG_ERR_INVALID, "it has no area");
  } else {
    TG_TRY(solid(vert, nvert, face, nface, origin, allocator, &t, error));
  }
  // so small that products of coordinates underflow
  if (!(t.m > 0)) return tgi_error(error, TG_ERR_INVALID, "it is too small: its volume is 0 in double precision");
  finish(&t, origin, mass);
  return TG_OK;
}

// ---- primitives ----

static void diagonal(tgMassProps *mass, double volume, double xx, double yy, double zz) {
  *mass = (tgMassProps){.volume = volume, .inertia = {xx, yy, zz}};
}

// cylinder of mass m, r, h (half length) and two hemispheres of mass m/2 each with centre of mass d beyond the ends
static void capsule(tgMassProps *mass, double r, double h, bool shell) {
  if (shell) {
    // side: m (r^2/2 + H^2/12), H = 2h; hemisphere about its own centre plane: 2/3 m r^2, its com r/2 away
    double mc = 4 * TG_PI * r * h, ms = 4 * TG_PI * r * r;
    double zz = mc * r * r + ms * 2 / 3 * r * r;
    double xx = mc * (r * r / 2 + h * h / 3) + ms * (2.0 / 3 * r * r + h * r + h * h);
    diagonal(mass, mc + ms, xx, xx, zz);
    return;
  }
  // hemisphere: com 3/8 r away, so about a point h further: 2/5 r^2 + 2 (3/8) r h + h^2
  double mc = 2 * TG_PI * r * r * h, ms = 4.0 / 3 * TG_PI * r * r * r;
  double zz = mc * r * r / 2 + ms * 2 / 5 * r * r;
  double xx = mc * (r * r / 4 + h * h / 3) + ms * (2.0 / 5 * r * r + 3.0 / 4 * r * h + h * h);
  diagonal(mass, mc + ms, xx, xx, zz);
}

static void cylinder(tgMassProps *mass, double r, double h, bool shell) {
  if (shell) {
    // side and two discs
    double mc = 4 * TG_PI * r * h, md = 2 * TG_PI * r * r;
    double xx = mc * (r * r / 2 + h * h / 3) + md * (r * r / 4 + h * h);
    diagonal(mass, mc + md, xx, xx, mc * r * r + md * r * r / 2);
    return;
  }
  double m = 2 * TG_PI * r * r * h, xx = m * (r * r / 4 + h * h / 3);
  diagonal(mass, m, xx, xx, m * r * r / 2);
}

static void box(tgMassProps *mass, const double s[3], bool shell) {
  double x = s[0] * s[0], y = s[1] * s[1], z = s[2] * s[2];
  if (shell) {
    // pairs of rectangles across x, y and z: second moments of the surface, S = int x_i^2 dA
    double ax = 8 * s[1] * s[2], ay = 8 * s[0] * s[2], az = 8 * s[0] * s[1];
    double sx = ax * x + (ay + az) * x / 3, sy = ay * y + (ax + az) * y / 3, sz = az * z + (ax + ay) * z / 3;
    diagonal(mass, ax + ay + az, sy + sz, sx + sz, sx + sy);
    return;
  }
  double m = 8 * s[0] * s[1] * s[2];
  diagonal(mass, m, m * (y + z) / 3, m * (x + z) / 3, m * (x + y) / 3);
}

static void ellipsoid(tgMassProps *mass, const double s[3], bool shell) {
  double x = s[0] * s[0], y = s[1] * s[1], z = s[2] * s[2];
  if (shell) {
    // d/de of V (b^2 + c^2)/5 over dV/de, all semi-axes growing by e:  V'/V = 1/a + 1/b + 1/c
    double p = 1.6075, a = pow(s[0], p), b = pow(s[1], p), c = pow(s[2], p);
    double area = 4 * TG_PI * pow((a * b + b * c + a * c) / 3, 1 / p);
    double k = 2 / (1 / s[0] + 1 / s[1] + 1 / s[2]);
    diagonal(mass, area, area / 5 * (y + z + k * (s[1] + s[2])), area / 5 * (x + z + k * (s[0] + s[2])),
             area / 5 * (x + y + k * (s[0] + s[1])));
    return;
  }
  double m = 4.0 / 3 * TG_PI * s[0] * s[1] * s[2];
  diagonal(mass, m, m * (y + z) / 5, m * (x + z) / 5, m * (x + y) / 5);
}

tgStatus tgi_mass_primitive(tgGeomType type, const double size[3], bool shell, tgMassProps *mass) {
  double r = size[0], sphere[3] = {r, r, r};
  *mass = (tgMassProps){0};
  switch (type) {
    case TG_GEOM_SPHERE: ellipsoid(mass, sphere, shell); break;
    case TG_GEOM_CAPSULE: capsule(mass, r, size[1], shell); break;
    case TG_GEOM_CYLINDER: cylinder(mass, r, size[1], shell); break;
    case TG_GEOM_ELLIPSOID: ellipsoid(mass, size, shell); break;
    case TG_GEOM_BOX: box(mass, size, shell); break;
    case TG_GEOM_PLANE: break;
    case TG_GEOM_MESH: return TG_ERR_ARG;
  }
  return TG_OK;
}

// ---- frames ----

static void rotation(const double q[4], double R[3][3]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  R[0][0] = 1 - 2 * (y * y + z * z);
  R[0][1] = 2 * (x * y - w * z);
  R[0][2] = 2 * (x * z + w * y);
  R[1][0] = 2 * (x * y + w * z);
  R[1][1] = 1 - 2 * (x * x + z * z);
  R[1][2] = 2 * (y * z - w * x);
  R[2][0] = 2 * (x * z - w * y);
  R[2][1] = 2 * (y * z + w * x);
  R[2][2] = 1 - 2 * (x * x + y * y);
}

void tgi_inertia_rotate(double inertia[6], const double quat[4]) {
  const double *I = inertia;
  double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}, R[3][3], T[3][3], B[3][3];
  rotation(quat, R);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[i][j] = R[i][0] * A[0][j] + R[i][1] * A[1][j] + R[i][2] * A[2][j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) B[i][j] = T[i][0] * R[j][0] + T[i][1] * R[j][1] + T[i][2] * R[j][2];
  double r[6] = {B[0][0], B[1][1], B[2][2], B[0][1], B[0][2], B[1][2]};
  memcpy(inertia, r, sizeof r);
}
