// mjcf_pose.c: poses in plain doubles, and MJCF's six ways to write an orientation.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "math/real.h"

bool tgi_unit(double *v, int n) {
  double s = 0, big = 0;
  for (int i = 0; i < n; i++) big = fmax(big, fabs(v[i]));
  if (!(big > 1e-10)) return false;
  for (int i = 0; i < n; i++) s += (v[i] / big) * (v[i] / big);
  for (int i = 0; i < n; i++) v[i] = v[i] / big / sqrt(s);
  return true;
}

static void cross(double r[3], const double a[3], const double b[3]) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

// r = a b; r may be a or b
static void quat_mul(double r[4], const double a[4], const double b[4]) {
  double t[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                 a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                 a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                 a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
  memcpy(r, t, sizeof t);
}

// v + 2 w (u x v) + 2 u x (u x v), q = (w, u)
void tgi_place_rotate(double r[3], const double q[4], const double v[3]) {
  double t[3], s[3];
  cross(t, q + 1, v);
  cross(s, q + 1, t);
  for (int i = 0; i < 3; i++) r[i] = v[i] + 2 * (q[0] * t[i] + s[i]);
}

tgPlace tgi_place_mul(tgPlace a, tgPlace b) {
  tgPlace r;
  tgi_place_rotate(r.pos, a.quat, b.pos);
  for (int i = 0; i < 3; i++) r.pos[i] += a.pos[i];
  quat_mul(r.quat, a.quat, b.quat);
  tgi_unit(r.quat, 4);
  return r;
}

tgPlace tgi_place_inverse(tgPlace a) {
  tgPlace r = {.quat = {a.quat[0], -a.quat[1], -a.quat[2], -a.quat[3]}};
  tgi_place_rotate(r.pos, r.quat, a.pos);
  for (int i = 0; i < 3; i++) r.pos[i] = -r.pos[i];
  return r;
}

static void quat_axis_angle(double q[4], const double axis[3], double angle) {
  q[0] = cos(angle / 2);
  for (int i = 0; i < 3; i++) q[i + 1] = axis[i] * sin(angle / 2);
}

// the shortest turn: about z x v by their angle; about x when they are parallel
void tgi_quat_from_z(double q[4], const double v[3]) {
  double u[3] = {v[0], v[1], v[2]}, axis[3] = {-v[1], v[0], 0};
  tgi_unit(u, 3);
  double s = hypot(u[0], u[1]);
  if (s < 1e-10 || !tgi_unit(axis, 3)) memcpy(axis, (double[3]){1, 0, 0}, sizeof axis);
  quat_axis_angle(q, axis, atan2(s, u[2]));
}

// columns x, y, z of a rotation matrix to a quaternion, by the largest of the four squares (Shepperd)
static void quat_from_axes(double q[4], const double x[3], const double y[3], const double z[3]) {
  double square[4] = {1 + x[0] + y[1] + z[2], 1 + x[0] - y[1] - z[2], 1 - x[0] + y[1] - z[2], 1 - x[0] - y[1] + z[2]};
  int k = 0;
  for (int i = 1; i < 4; i++)
    if (square[i] > square[k]) k = i;
  double a = y[2] - z[1], b = z[0] - x[2], c = x[1] - y[0];            // 4 w (x, y, z)
  double d = x[1] + y[0], e = x[2] + z[0], f = y[2] + z[1];            // 4 xy, 4 xz, 4 yz
  double row[4][4] = {{square[0], a, b, c}, {a, square[1], d, e}, {b, d, square[2], f}, {c, e, f, square[3]}};
  memcpy(q, row[k], sizeof row[k]);
  tgi_unit(q, 4);
  if (q[0] < 0)
    for (int i = 0; i < 4; i++) q[i] = -q[i];
}

void tgi_mjcf_euler(const tgMjcf *m, double q[4], const double angle[3]) {
  memcpy(q, (double[4]){1, 0, 0, 0}, 4 * sizeof *q);
  for (int i = 0; i < 3; i++) {
    char c = m->eulerseq[i];
    bool fixed = c >= 'X' && c <= 'Z';                                 // capital: about the axes of the parent
    double axis[3] = {0}, turn[4];
    axis[fixed ? c - 'X' : c - 'x'] = 1;
    quat_axis_angle(turn, axis, m->radian ? angle[i] : angle[i] * TG_PI / 180);
    if (fixed) quat_mul(q, turn, q);
    else quat_mul(q, q, turn);
  }
}

static tgStatus bad(const tgMjcf *m, tgEl el, const char *name, const char *text) {
  return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, name), m->error, TG_ERR_INVALID, "%s %s", name, text);
}

// reads the one orientation that attributes of `el` give into quat
static tgStatus orientation(const tgMjcf *m, tgEl el, const char *name, double quat[4]) {
  double v[6] = {0};
  tgi_el_numbers(el, name, 6, v);
  if (strcmp(name, "quat") == 0) {
    if (!tgi_unit(v, 4)) return bad(m, el, name, "has zero length; give a rotation, 1 0 0 0 for none");
    memcpy(quat, v, 4 * sizeof *v);
  } else if (strcmp(name, "axisangle") == 0) {
    if (!tgi_unit(v, 3)) return bad(m, el, name, "has an axis of zero length; give a direction and an angle");
    quat_axis_angle(quat, v, m->radian ? v[3] : v[3] * TG_PI / 180);
  } else if (strcmp(name, "euler") == 0) {
    tgi_mjcf_euler(m, quat, v);
  } else if (strcmp(name, "zaxis") == 0) {
    if (!tgi_unit(v, 3)) return bad(m, el, name, "has zero length; give a direction");
    tgi_quat_from_z(quat, v);
  } else {
    double *x = v, *y = v + 3, z[3];
    bool ok = tgi_unit(x, 3) && tgi_unit(y, 3);
    double s = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    for (int i = 0; i < 3; i++) y[i] -= s * x[i];
    if (!ok || !tgi_unit(y, 3)) return bad(m, el, name, "needs two axes that are neither zero nor parallel");
    cross(z, x, y);
    quat_from_axes(quat, x, y, z);
  }
  return TG_OK;
}

tgStatus tgi_mjcf_place(const tgMjcf *m, tgEl el, tgPlace *place) {
  static const char *const form[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
  tgi_el_numbers(el, "pos", 3, place->pos);
  // the element's own orientation, in whatever form, hides that of its class
  tgEl own = {.node = el.node}, *from = &el;
  int count = 0;
  for (size_t i = 0; i < sizeof form / sizeof *form; i++) count += tgi_el_get(own, form[i]) != NULL;
  if (count > 1)
    return tgi_xml_error(m->xml, el.node, m->error, TG_ERR_INVALID, "has more than one of quat, axisangle, euler, "
                         "xyaxes, zaxis; keep one");
  if (count == 1) from = &own;
  for (size_t i = 0; i < sizeof form / sizeof *form; i++)
    if (tgi_el_get(*from, form[i]) != NULL) return orientation(m, *from, form[i], place->quat);
  return TG_OK;
}
