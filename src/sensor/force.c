// force.c: sensors of what pushed in the last step: touch, force, torque. Conventions are MuJoCo's.
#include <math.h>

#include "sensor/sensor.h"
#include "tangere/force.h"

// ---- does a half line meet a convex shape? ----

// the part of lo .. hi in which |p + t d| <= most along an axis
static bool between(double p, double d, double most, double *lo, double *hi) {
  if (d == 0) return fabs(p) <= most;
  double a = (-most - p) / d, b = (most - p) / d;
  *lo = fmax(*lo, fmin(a, b));
  *hi = fmin(*hi, fmax(a, b));
  return *lo <= *hi;
}

// least of a t^2 + 2 b t + c within lo .. hi, which may be infinite
static double least(double a, double b, double c, double lo, double hi) {
  double t = a > 0 ? fmin(fmax(-b / a, lo), hi) : lo;
  return (a * t + 2 * b) * t + c;
}

static double dot(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

// a ball of radius r at height z along the axis
static bool meets_ball(const double p[3], const double d[3], double r, double z, double lo, double hi) {
  const double q[3] = {p[0], p[1], p[2] - z};
  return lo <= hi && least(dot(d, d, 3), dot(q, d, 3), dot(q, q, 3) - r * r, lo, hi) <= 0;
}

static bool meets_tube(const double p[3], const double d[3], const double size[3]) {
  double lo = 0, hi = INFINITY;
  return between(p[2], d[2], size[1], &lo, &hi) && least(dot(d, d, 2), dot(p, d, 2), dot(p, p, 2) - size[0] * size[0], lo, hi) <= 0;
}

bool tgi_meets_shape(int type, const double size[3], const double p[3], const double d[3]) {
  double lo = 0, hi = INFINITY, q[3], e[3];
  switch (type) {
    case TG_GEOM_SPHERE: return meets_ball(p, d, size[0], 0, lo, hi);
    case TG_GEOM_CAPSULE:
      return meets_tube(p, d, size) || meets_ball(p, d, size[0], size[1], lo, hi) || meets_ball(p, d, size[0], -size[1], lo, hi);
    case TG_GEOM_CYLINDER: return meets_tube(p, d, size);
    case TG_GEOM_BOX:
      for (int k = 0; k < 3; k++)
        if (!between(p[k], d[k], size[k], &lo, &hi)) return false;
      return true;
    default:
      for (int k = 0; k < 3; k++) {
        if (!(size[k] > 0)) return false;
        q[k] = p[k] / size[k];
        e[k] = d[k] / size[k];
      }
      return meets_ball(q, e, 1, 0, lo, hi);
  }
}

// ---- touch: normal forces of contacts of the site's body whose line outwards meets the site's shape ----

static bool meets_site(const tgiSensing *x, int site, const tgContactInfo *c, double outwards) {
  const tgReal *R = x->pose.site_xmat + 9 * site, *at = x->pose.site_xpos + 3 * site, *z = x->s->m.site_size + 3 * site;
  double size[3], p[3], d[3];
  for (int k = 0; k < 3; k++) {
    p[k] = d[k] = 0;
    size[k] = tgRe(z[k]);
    for (int i = 0; i < 3; i++) {
      p[k] += tgRe(R[3 * i + k]) * (c->point[i] - tgRe(at[i]));
      d[k] += tgRe(R[3 * i + k]) * outwards * c->frame[i];
    }
  }
  return tgi_meets_shape(x->s->m.site_type[site], size, p, d);
}

static double touch(const tgiSensing *x, int site) {
  int body = x->s->m.site_body[site];
  double sum = 0;
  tgContactInfo c;
  for (int cursor = 0; tg_sim_next_contact(x->s, &cursor, &c);) {
    if ((c.body1 != body && c.body2 != body) || !(c.force[0] > 0)) continue;
    if (meets_site(x, site, &c, c.body1 == body ? 1 : -1)) sum += c.force[0];
  }
  return sum;
}

// ---- force and torque: of the parent on the site's body, about the site ----

static void carried(const tgiSensing *x, bool torque, int site, tgReal *value) {
  const tgPose *start = &x->s->start;   // of the last step, to which the forces belong
  const tgReal *w = x->wrench + 6 * x->s->m.site_body[site];
  tgReal arm[3], t[3];
  tgi_v3_copy(t, w);
  if (torque) {
    tgi_v3_sub(arm, start->site_xpos + 3 * site, start->xpos + 3 * x->s->m.site_body[site]);
    tgi_v3_cross(t, arm, w);
    tgi_v3_sub(t, w + 3, t);
  }
  tgi_m3_tmulv(value, start->site_xmat + 9 * site, t);
}

void tgi_sensor_force(const tgiSensing *x, int type, int i, tgReal *value) {
  bool known = x->stepped && (type == TG_SENSOR_TOUCH || x->wrench != NULL);
  for (int k = 0; k < tg_sensor_width((tgSensorType)type); k++) value[k] = NAN;
  if (!known) return;
  if (type == TG_SENSOR_TOUCH) value[0] = touch(x, i);
  else carried(x, type == TG_SENSOR_TORQUE, i, value);
}
