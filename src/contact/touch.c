// touch.c: contact forces as they are shown: a force at a point between two bodies.
#include <math.h>

#include "contact/contact.h"
#include "contact/rows.h"

// m = p x f of every point p of the line, of which f x m / f.f is the nearest to the origin
void tgi_touch_point(const double w[6], const double at[3], const double n[3], double p[3]) {
  const double *m = w, *f = w + 3;
  double ff = 0, fn = 0, along = 0, across = 0;
  for (int i = 0; i < 3; i++) {
    ff += f[i] * f[i];
    fn += f[i] * n[i];
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    p[i] = (f[j] * m[k] - f[k] * m[j]) / ff;
    across += (at[i] - p[i]) * n[i];
    along += (at[i] - p[i]) * f[i];
  }
  bool crosses = fabs(fn) > 1e-3 * sqrt(ff);
  for (int i = 0; i < 3; i++) p[i] += f[i] * (crosses ? across / fn : along / ff);
}

int tgi_rows_touches(const tgSim *s) { return s->ncon; }

// impulses of its rows over h, (f_n n + f_1 t1 + f_2 t2) / h, on geom1's body
bool tgi_rows_touch(const tgSim *s, int i, tgContactForce *out) {
  const tgContactRow *c = &s->contact[i];
  if (c->row < 0) return false;
  const tgReal *f = s->rows->f + c->row;
  bool friction = c->nrow == 3;
  *out = (tgContactForce){.body1 = s->m.geom_body[c->geom1], .body2 = s->m.geom_body[c->geom2], .geom1 = c->geom1, .geom2 = c->geom2};
  for (int k = 0; k < 3; k++) {
    out->point[k] = tgRe(c->p[k]);
    out->force[k] = tgRe(f[0] * c->n[k] + (friction ? f[1] * c->t1[k] + f[2] * c->t2[k] : 0)) / s->h;
  }
  return true;
}
