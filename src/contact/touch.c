// touch.c: the contacts of a step as they are told: forces at a point between two bodies, of all contact models alike.
#include <math.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/rows.h"
#include "kin/kinematics.h"

// ---- what all have in common ----

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double r[3]) {
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    r[i] = a[j] * b[k] - a[k] * b[j];
  }
}

// m = p x f + torque, the torque along f; p of every point of the line, of which f x m / f.f is the nearest to the origin
static void act_along_line(const double w[6], const double at[3], const double n[3], double p[3], double torque[3]) {
  const double *m = w, *f = w + 3;
  double ff = dot(f, f), fn = dot(f, n), d[3], t[3];
  cross(f, m, p);
  for (int i = 0; i < 3; i++) {
    p[i] /= ff;
    d[i] = at[i] - p[i];
  }
  double length = sqrt(dot(n, n));
  double along = fabs(fn) > 1e-3 * sqrt(ff) * length ? dot(d, n) / fn : dot(d, f) / ff;
  for (int i = 0; i < 3; i++) p[i] += f[i] * along;
  cross(p, f, t);
  for (int i = 0; i < 3; i++) torque[i] = m[i] - t[i];
}

void tgi_touch_resultant(const tgSim *s, int geom1, int geom2, const double w[6], const double at[3], const double n[3],
                         tgContactInfo *out) {
  double length = sqrt(dot(n, n)), torque[3];
  *out = (tgContactInfo){.geom1 = geom1, .geom2 = geom2, .body1 = s->m.geom_body[geom1], .body2 = s->m.geom_body[geom2]};
  act_along_line(w, at, n, out->point, torque);
  for (int i = 0; i < 3; i++) {
    out->frame[i] = -n[i] / length;
    out->world[i] = -w[3 + i];
    out->torque[i] = -torque[i];
  }
}

void tgi_touch_slip(const tgSim *s, double along, double slip_speed, tgContactInfo *out) {
  const int body[2] = {out->body1, out->body2};
  double slide[3] = {0};
  for (int side = 0; side < 2; side++)
    for (int end = 0; end < 2; end++) {
      tgReal V[6], u[3], p[3];
      double by = (side == 0 ? -1 : 1) * (end == 0 ? 1 - along : along);
      for (int i = 0; i < 3; i++) p[i] = out->point[i];
      tgi_body_velocity(s, &s->start, body[side], end == 0 ? s->start.vel : s->end.vel, V);
      tgi_sp_point_velocity(u, V, p);
      for (int i = 0; i < 3; i++) slide[i] += by * tgRe(u[i]);
    }
  double off = dot(slide, out->frame);
  out->state = dot(slide, slide) - off * off > slip_speed * slip_speed ? TG_CONTACT_SLIDING : TG_CONTACT_STICKING;
}

// as MuJoCo takes it where the normal alone is given: of the world's y, or of z where the normal is near y
static void first_tangent(const double n[3], double t[3]) {
  const double axis[3] = {0, fabs(n[1]) < 0.5, !(fabs(n[1]) < 0.5)};
  double along = dot(axis, n), length = 0;
  for (int i = 0; i < 3; i++) {
    t[i] = axis[i] - along * n[i];
    length += t[i] * t[i];
  }
  for (int i = 0; i < 3; i++) t[i] /= sqrt(length);
}

static void swap(int *a, int *b) {
  int kept = *a;
  *a = *b;
  *b = kept;
}

void tgi_touch_finish(tgContactInfo *c) {
  if (c->geom1 > c->geom2) {
    swap(&c->geom1, &c->geom2);
    swap(&c->body1, &c->body2);
    for (int i = 0; i < 3; i++) {
      c->frame[i] = -c->frame[i];
      c->world[i] = -c->world[i];
      c->torque[i] = -c->torque[i];
    }
  }
  if (dot(c->frame + 3, c->frame + 3) == 0) first_tangent(c->frame, c->frame + 3);
  cross(c->frame, c->frame + 3, c->frame + 6);
  for (int i = 0; i < 3; i++) c->force[i] = dot(c->frame + 3 * i, c->world);
}

// t is first_tangent(n), gt its gradient
static void first_tangent_vjp(const double n[3], const double t[3], const double gt[3], tgReal gn[3]) {
  const double axis[3] = {0, fabs(n[1]) < 0.5, !(fabs(n[1]) < 0.5)};
  double along = dot(axis, n), length = sqrt(1 - along * along), spread = dot(t, gt), g[3];
  for (int i = 0; i < 3; i++) g[i] = (gt[i] - spread * t[i]) / length;
  for (int i = 0; i < 3; i++) gn[i] -= axis[i] * dot(n, g) + along * g[i];
}

void tgi_touch_finish_vjp(const tgContactInfo *raw, const tgContactGrad *grad, tgiTouchGrad *out) {
  tgContactInfo c = *raw;
  tgi_touch_finish(&c);
  const double *f = grad->force, *n = c.frame, *t = c.frame + 3, *w = c.world;
  double sign = raw->geom1 > raw->geom2 ? -1 : 1, gt[3], x[3], y[3];
  // force = (n.w, t.w, (n x t).w)
  cross(t, w, x);
  cross(w, n, y);
  for (int i = 0; i < 3; i++) {
    out->world[i] = sign * (grad->world[i] + f[0] * n[i] + f[1] * t[i] + f[2] * c.frame[6 + i]);
    out->torque[i] = sign * grad->torque[i];
    out->point[i] = grad->point[i];
    out->normal[i] = f[0] * w[i] + f[2] * x[i];
    gt[i] = f[1] * w[i] + f[2] * y[i];
    out->tangent[i] = gt[i];
  }
  if (dot(raw->frame + 3, raw->frame + 3) == 0) {
    first_tangent_vjp(n, t, gt, out->normal);
    for (int i = 0; i < 3; i++) out->tangent[i] = 0;
  }
  for (int i = 0; i < 3; i++) out->normal[i] *= sign;
}

// ---- of rows ----

int tgi_rows_touches(const tgSim *s) { return s->ncon; }

static tgContactState state_of(const tgSim *s, const tgContactRow *c, tgReal push) {
  if (!(tgRe(push) > 0)) return TG_CONTACT_OPEN;
  if (c->nrow == 1) return TG_CONTACT_SLIDING;
  const tgRowSolver *rows = s->contact_model->kind->rows;
  return rows->side(s, c->row + 1) != 0 || rows->side(s, c->row + 2) != 0 ? TG_CONTACT_SLIDING : TG_CONTACT_STICKING;
}

// impulses of its rows over h, (f_n n + f_1 t1 + f_2 t2) / h, on geom1's body
bool tgi_rows_touch(const tgSim *s, int i, tgContactInfo *out) {
  const tgContactRow *c = &s->contact[i];
  if (c->row < 0) return false;
  const tgReal *f = s->rows->f + c->row;
  bool friction = c->nrow > 1;
  *out = (tgContactInfo){.body1 = s->m.geom_body[c->geom1], .body2 = s->m.geom_body[c->geom2], .geom1 = c->geom1, .geom2 = c->geom2,
                         .state = state_of(s, c, f[0]), .distance = tgRe(c->gap)};
  for (int k = 0; k < 3; k++) {
    out->point[k] = tgRe(c->p[k]);
    out->frame[k] = -tgRe(c->n[k]);
    out->frame[3 + k] = tgRe(c->t1[k]);
    out->world[k] = -tgRe(f[0] * c->n[k] + (friction ? f[1] * c->t1[k] + f[2] * c->t2[k] : 0)) / s->h;
    out->torque[k] = -tgRe((c->nrow > 3 ? f[3] * c->n[k] : 0) + (c->nrow > 4 ? f[4] * c->t1[k] + f[5] * c->t2[k] : 0)) / s->h;
  }
  return true;
}

// ---- summed over pieces ----

enum { GEOM1, GEOM2, PAIR, FEATURE, STATE, WHO };
enum { IMPULSE, COUPLE = 3, POINT = 6, NORMAL = 9, TANGENT = 12, GAP = 15, SUM };

void tgi_touches_begin(tgSim *s) { s->ntouch = 0; }

int tgi_touch_entry(const tgSim *s, const tgContactRow *c) {
  const int *who = s->rows->touch_who;
  int same = -1;
  for (int i = 0; i < s->ntouch; i++) {
    if (who[WHO * i + PAIR] != c->pair) continue;
    if (who[WHO * i + FEATURE] == c->feature) return i;
    same = i;
  }
  return s->ntouch == 2 * s->cap.ncon ? same : -1;
}

// the same, with a new one where there is none
static int entry_of(tgSim *s, const tgContactRow *c) {
  int *who = s->rows->touch_who, known = tgi_touch_entry(s, c);
  if (known >= 0 || s->ntouch == 2 * s->cap.ncon) return known;
  int i = s->ntouch++;
  who[WHO * i + GEOM1] = c->geom1;
  who[WHO * i + GEOM2] = c->geom2;
  who[WHO * i + PAIR] = c->pair;
  who[WHO * i + FEATURE] = c->feature;
  who[WHO * i + STATE] = TG_CONTACT_OPEN;
  for (int k = 0; k < SUM; k++) s->rows->touch_sum[SUM * i + k] = 0;
  return i;
}

// the impulse of a row: of an impact whose bounce energy bounds, that between its two problems
static tgReal impulse_of(const tgSim *s, int row) {
  const tgRows *r = s->rows;
  tgReal x = s->guarded && tgRe(s->dt) == 0 ? r->share[r->island[row]] : 1;
  if (s->rebounds && tgRe(s->dt) == 0) return r->f2[row] + x * r->f[row];
  return tgRe(x) == 1 ? r->f[row] : r->f2[row] + x * (r->f[row] - r->f2[row]);
}

bool tgi_rows_impulse(const tgSim *s, int i, tgContactInfo *out) {
  const tgContactRow *c = &s->contact[i];
  if (c->row < 0) return false;
  double f[6] = {0};
  for (int k = 0; k < c->nrow && k < 6; k++) f[k] = tgRe(impulse_of(s, c->row + k));
  if (f[0] == 0) return false;
  *out = (tgContactInfo){.geom1 = c->geom1, .geom2 = c->geom2, .body1 = s->m.geom_body[c->geom1], .body2 = s->m.geom_body[c->geom2],
                         .state = state_of(s, c, f[0]), .distance = tgRe(c->gap)};
  for (int k = 0; k < 3; k++) {
    double n = tgRe(c->n[k]), t1 = tgRe(c->t1[k]), t2 = tgRe(c->t2[k]);
    out->point[k] = tgRe(c->p[k]);
    out->frame[k] = -n;
    out->frame[3 + k] = t1;
    out->world[k] = -(f[0] * n + f[1] * t1 + f[2] * t2);
    out->torque[k] = -(f[3] * n + f[4] * t1 + f[5] * t2);
  }
  return true;
}

void tgi_touches_add(tgSim *s, double share) {
  for (int k = 0; k < s->ncon; k++) {
    const tgContactRow *c = &s->contact[k];
    int at = c->row >= 0 ? entry_of(s, c) : -1;
    if (at < 0) continue;
    tgReal *sum = s->rows->touch_sum + SUM * at, push = impulse_of(s, c->row);
    tgContactState state = state_of(s, c, push);
    if (state != TG_CONTACT_OPEN) s->rows->touch_who[WHO * at + STATE] = (int)state;
    for (int d = 0; d < 3; d++) {
      tgReal f = push * c->n[d];
      if (c->nrow > 1) f += impulse_of(s, c->row + 1) * c->t1[d] + impulse_of(s, c->row + 2) * c->t2[d];
      if (c->nrow > 3) sum[COUPLE + d] += share * impulse_of(s, c->row + 3) * c->n[d];
      if (c->nrow > 4) sum[COUPLE + d] += share * (impulse_of(s, c->row + 4) * c->t1[d] + impulse_of(s, c->row + 5) * c->t2[d]);
      sum[IMPULSE + d] += share * f;
      sum[POINT + d] = c->p[d];
      sum[NORMAL + d] = c->n[d];
      sum[TANGENT + d] = c->t1[d];
    }
    sum[GAP] = c->gap;
  }
}

void tgi_touches_push(tgSim *s, const tgContactRow *c, double share, const tgReal impulse[3], const tgReal couple[3]) {
  int at = entry_of(s, c);
  for (int d = 0; d < 3 && at >= 0; d++) {
    s->rows->touch_sum[SUM * at + IMPULSE + d] += share * impulse[d];
    s->rows->touch_sum[SUM * at + COUPLE + d] += share * couple[d];
  }
}

int tgi_touches_summed(const tgSim *s) { return s->ntouch; }

bool tgi_touch_summed(const tgSim *s, int i, tgContactInfo *out) {
  const int *who = s->rows->touch_who + WHO * i;
  const tgReal *sum = s->rows->touch_sum + SUM * i;
  *out = (tgContactInfo){.geom1 = who[GEOM1], .geom2 = who[GEOM2], .state = (tgContactState)who[STATE], .distance = tgRe(sum[GAP])};
  out->body1 = s->m.geom_body[out->geom1];
  out->body2 = s->m.geom_body[out->geom2];
  for (int k = 0; k < 3; k++) {
    out->point[k] = tgRe(sum[POINT + k]);
    out->frame[k] = -tgRe(sum[NORMAL + k]);
    out->frame[3 + k] = tgRe(sum[TANGENT + k]);
    out->world[k] = -tgRe(sum[IMPULSE + k]) / s->h;
    out->torque[k] = -tgRe(sum[COUPLE + k]) / s->h;
  }
  return true;
}

// ---- their adjoint ----

// gI, gC: gradients in the impulse and the couple that a contact's rows make in the world
static void weigh_rows(const tgSim *s, const tgContactRow *c, const tgReal gI[3], const tgReal gC[3], tgiTouchSeeds *to, tgReal *force,
                       tgReal shape[12]) {
  const tgReal *dir[3] = {c->n, c->t1, c->t2};
  for (int k = 0; k < c->nrow && k < 6; k++) {
    const tgReal *g = k < 3 ? gI : gC;
    tgReal f = impulse_of(s, c->row + k), along = tgi_v3_dot(g, dir[k % 3]);
    force[c->row + k] = to->share * along;
    to->by_share += f * along;
    tgi_v3_axpy(shape + 3 + 3 * (k % 3), to->share * f, g);
  }
}

bool tgi_touches_weigh(const tgSim *s, tgiTouchSeeds *k, tgReal *force, tgReal *shape) {
  bool any = false;
  k->by_share = 0;
  for (int i = 0; i < s->nrow; i++) force[i] = 0;
  for (int i = 0; i < 12 * s->ncon; i++) shape[i] = 0;
  for (int i = s->ncon - 1; i >= 0; i--) {
    const tgContactRow *c = &s->contact[i];
    int at = c->row < 0 ? -1 : k->shown != NULL ? tgi_touch_entry(s, c) : i;
    if (at < 0) continue;
    const tgiTouchGrad *g = &k->grad[at];
    tgReal *bar = shape + 12 * i, gI[3], gC[3];
    tgi_v3_scale(gI, g->world, -1 / s->h);
    tgi_v3_scale(gC, g->torque, -1 / s->h);
    weigh_rows(s, c, gI, gC, k, force, bar);
    for (int d = 0; d < 3 && (k->shown == NULL || !k->shown[at]); d++) {
      bar[d] += g->point[d];
      bar[3 + d] -= g->normal[d];
      bar[6 + d] += g->tangent[d];
    }
    if (k->shown != NULL) k->shown[at] = true;
    for (int d = 0; d < 3; d++)
      any = any || g->world[d] != 0 || g->torque[d] != 0 || g->point[d] != 0 || g->normal[d] != 0 || g->tangent[d] != 0;
  }
  return any;
}

tgReal tgi_touches_by_length(const tgSim *s, const tgiTouchGrad *g) {
  const tgContactModel *kind = s->contact_model->kind;
  tgContactInfo c;
  tgReal sum = 0;
  for (int i = 0, n = kind->touches(s); i < n; i++) {
    if (!kind->touch(s, i, &c)) continue;
    for (int k = 0; k < 3; k++) sum -= (g[i].world[k] * c.world[k] + g[i].torque[k] * c.torque[k]) / s->h;
  }
  return sum;
}

// ---- records ----

size_t tgi_touches_record_bytes(int count) { return (size_t)count * (WHO * sizeof(int) + SUM * sizeof(tgReal)); }

void tgi_touches_record(const tgSim *s, char *to) {
  size_t n = (size_t)s->ntouch;
  memcpy(to, s->rows->touch_sum, n * SUM * sizeof(tgReal));
  memcpy(to + n * SUM * sizeof(tgReal), s->rows->touch_who, n * WHO * sizeof(int));
}

void tgi_touches_recall(tgSim *s, int count, const char *from) {
  size_t n = (size_t)count;
  s->ntouch = count;
  memcpy(s->rows->touch_sum, from, n * SUM * sizeof(tgReal));
  memcpy(s->rows->touch_who, from + n * SUM * sizeof(tgReal), n * WHO * sizeof(int));
}
