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

// ---- summed over pieces ----

enum { GEOM1, GEOM2, PAIR, FEATURE, WHO };
enum { IMPULSE, POINT = 3, SUM = 6 };

void tgi_touches_begin(tgSim *s) { s->ntouch = 0; }

// the entry of a contact; where there is no room for another, that of one of its pair; -1: none
static int entry_of(tgSim *s, const tgContactRow *c) {
  int *who = s->rows->touch_who, same = -1;
  for (int i = 0; i < s->ntouch; i++) {
    if (who[WHO * i + PAIR] != c->pair) continue;
    if (who[WHO * i + FEATURE] == c->feature) return i;
    same = i;
  }
  if (s->ntouch == 2 * s->cap.ncon) return same;
  int i = s->ntouch++;
  who[WHO * i + GEOM1] = c->geom1;
  who[WHO * i + GEOM2] = c->geom2;
  who[WHO * i + PAIR] = c->pair;
  who[WHO * i + FEATURE] = c->feature;
  for (int k = 0; k < SUM; k++) s->rows->touch_sum[SUM * i + k] = 0;
  return i;
}

// the impulse of a row: of an impact whose bounce energy bounds, that between its two problems
static tgReal impulse_of(const tgSim *s, int row) {
  const tgRows *r = s->rows;
  tgReal x = s->guarded && tgRe(s->dt) == 0 ? r->share[r->island[row]] : 1;
  return tgRe(x) == 1 ? r->f[row] : r->f2[row] + x * (r->f[row] - r->f2[row]);
}

void tgi_touches_add(tgSim *s, double share) {
  for (int k = 0; k < s->ncon; k++) {
    const tgContactRow *c = &s->contact[k];
    int at = c->row >= 0 ? entry_of(s, c) : -1;
    if (at < 0) continue;
    tgReal *sum = s->rows->touch_sum + SUM * at;
    for (int d = 0; d < 3; d++) {
      tgReal f = impulse_of(s, c->row) * c->n[d];
      if (c->nrow == 3) f += impulse_of(s, c->row + 1) * c->t1[d] + impulse_of(s, c->row + 2) * c->t2[d];
      sum[IMPULSE + d] += share * f;
      sum[POINT + d] = c->p[d];
    }
  }
}

int tgi_touches_summed(const tgSim *s) { return s->ntouch; }

bool tgi_touch_summed(const tgSim *s, int i, tgContactForce *out) {
  const int *who = s->rows->touch_who + WHO * i;
  const tgReal *sum = s->rows->touch_sum + SUM * i;
  *out = (tgContactForce){.geom1 = who[GEOM1], .geom2 = who[GEOM2]};
  out->body1 = s->m.geom_body[out->geom1];
  out->body2 = s->m.geom_body[out->geom2];
  for (int k = 0; k < 3; k++) {
    out->point[k] = tgRe(sum[POINT + k]);
    out->force[k] = tgRe(sum[IMPULSE + k]) / s->h;
  }
  return true;
}
