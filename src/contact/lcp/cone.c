// cone.c: see cone.h.
//
// Boxes that turn with what slides find nearly every answer in three to five steps. They miss one where contacts stand still that are
// redundant: forces of least norm, or of a box, may leave a cone though others with the same velocities would not. Then sweeps over the
// rows come near forces that fit, and the answer is that of their classes, with the forces next to these.
#include "contact/lcp/cone.h"

#include <string.h>

#include "contact/lcp/scratch.h"

// Steps of boxes; of one answer's classes; projections of redundant forces into their bounds.
enum { BOXES = 12, TURNS = 12, PLACES = 400 };
// How near directions come before the last step, which squares that, weighed by the friction's share of the largest force; what is outside
// a cone, relative to it.
#define NEAR 1e-7
#define OUTSIDE 1e-10
// sweeps from the forces of boxes, each of these from where the one before ended, and from none
static const int sweeps[2][5] = {{30, 100, 300, 1000, 3000}, {300, 1000, 3000, 10000, 10000}};
// From which of these on rows of a doubtful problem are taken to contradict each other, where a sweep changes that share of what it did.
enum { SETTLED = 3 };
#define STEADY 0.9

// the friction of a contact that presses: its bound m, |y| and u
typedef struct Disc { tgReal m, size, u[2]; } Disc;

// the mean of A's diagonal over the tangents of the contact at a
static tgReal mean_diagonal(const tgiLcpProblem *p, int a) { return 0.5 * (tgi_lcp_diagonal(p, a + 1) + tgi_lcp_diagonal(p, a + 2)); }

static bool is_turned(const tgiCone *c, int a) { return c->turn[a] != 1 || c->turn[a + 1] != 1 || c->turn[a + 2] != 0; }

static void set_turn(tgiCone *c, int a, tgReal s, tgReal u1, tgReal u2) {
  c->turn[a] = s;
  c->turn[a + 1] = u1;
  c->turn[a + 2] = u2;
}

void tgi_cone_clear(tgiCone *c) {
  c->any = c->placed = c->split = c->creeps = false;
  for (int a = 0; a < c->of->n; a++) c->turn[a] = 0;
  for (int a = 0; a < c->of->n; a++)
    if (tgi_cone_at(c->of, a)) set_turn(c, a, 1, 1, 0);
}

static bool slid(const int8_t *cls, int a) { return cls[a] == TGI_LCP_C && (cls[a + 1] == TGI_LCP_H || cls[a + 1] == TGI_LCP_L); }

// what slides is turned against that velocity of the rows
static void start(tgiCone *c, const int8_t *cls, const tgReal *before) {
  tgi_cone_clear(c);
  for (int a = 0; a < c->of->n && cls != NULL && before != NULL; a++) {
    if (!tgi_cone_at(c->of, a) || !slid(cls, a)) continue;
    tgReal speed = tgSqrt(before[a + 1] * before[a + 1] + before[a + 2] * before[a + 2]);
    if (tgRe(speed) > 0) set_turn(c, a, 1, -before[a + 1] / speed, -before[a + 2] / speed);
  }
}

// of two numbers along the tangents those along u and across
static inline void turn_pair(const tgReal *t, tgReal *x1, tgReal *x2) {
  tgReal along = t[1] * *x1 + t[2] * *x2;
  *x2 = t[0] * (t[1] * *x2 - t[2] * *x1);
  *x1 = along;
}

// of two numbers along u and across those along the tangents
static inline void turn_pair_back(const tgReal *t, tgReal *x1, tgReal *x2) {
  tgReal across = t[0] * *x2, first = t[1] * *x1 - t[2] * across;
  *x2 = t[2] * *x1 + t[1] * across;
  *x1 = first;
}

void tgi_cone_turn(const tgiCone *c, tgReal *x) {
  for (int a = 0; a < c->of->n && c->any; a++)
    if (tgi_cone_at(c->of, a)) turn_pair(c->turn + a, &x[a + 1], &x[a + 2]);
}

void tgi_cone_back(const tgiCone *c, tgReal *x) {
  for (int a = 0; a < c->of->n && c->any; a++)
    if (tgi_cone_at(c->of, a)) turn_pair_back(c->turn + a, &x[a + 1], &x[a + 2]);
}

void tgi_cone_turn_columns(const tgiCone *c, bool back, int m, const int *at, tgReal *X) {
  for (int a = 0; a < c->of->n && c->any; a++) {
    if (!tgi_cone_at(c->of, a)) continue;
    tgReal *x1 = X + at[a + 1], *x2 = X + at[a + 2];
    for (int k = 0; k < m; k++) {
      if (back) turn_pair_back(c->turn + a, &x1[k], &x2[k]);
      else turn_pair(c->turn + a, &x1[k], &x2[k]);
    }
  }
}

void tgi_cone_turn_problem(tgiCone *c) {
  const tgiLcpProblem *p = c->of;
  size_t n = (size_t)p->n;
  c->turned = *p;
  c->turned.rank = 0;   // R and Z have theirs
  c->any = false;
  for (int a = 0; a < p->n; a++) c->any = c->any || (tgi_cone_at(p, a) && is_turned(c, a));
  if (!c->any) return;
  memcpy(c->A, p->A, n * n * sizeof *c->A);
  memcpy(c->b, p->b, n * sizeof *c->b);
  memcpy(c->bound, p->bound, n * sizeof *c->bound);
  for (size_t i = 0; i < n; i++) tgi_cone_turn(c, c->A + i * n);
  for (int a = 0; a < p->n; a++) {
    if (!tgi_cone_at(p, a)) continue;
    tgReal *A1 = c->A + (size_t)(a + 1) * n, *A2 = A1 + n, s = c->turn[a];
    for (size_t j = 0; j < n; j++) turn_pair(c->turn + a, &A1[j], &A2[j]);
    A2[a + 2] += mean_diagonal(p, a) * (1 - s * s);
    c->bound[a + 2] = p->bound[a + 2] / (tgRe(s) > 1e-6 ? s : (tgReal)1e-6);   // at which no answer is
  }
  for (size_t i = 0; i < n * n && c->split; i++) c->A[i] += c->Z[i];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) c->A[i * n + j] = c->A[j * n + i];
  tgi_cone_turn(c, c->b);
  c->turned.A = c->A;
  c->turned.b = c->b;
  c->turned.bound = c->bound;
}

// f of the turned problem along the tangents as they are, and w of what is turned anew from it, as across there is r f in it; of placed
// forces all of w, as it is recalled
static void turn_back(tgiLcp *s, const tgiCone *c, tgReal *f, tgReal *w) {
  const tgiLcpProblem *p = c->of;
  size_t n = (size_t)p->n;
  tgi_cone_back(c, f);
  if (c->placed) {
    tgi_lcp_judge(s, p, f, w);
    return;
  }
  for (int a = 0; a < p->n && c->any; a++) {
    if (!tgi_cone_at(p, a) || !is_turned(c, a)) continue;
    for (int i = a + 1; i <= a + 2; i++) {
      const tgReal *A = p->A + (size_t)i * n;
      w[i] = p->b[i];
      for (size_t j = 0; j < n; j++) w[i] += A[j] * f[j];
    }
  }
}

static double largest(int n, const tgReal *x) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(x[i])));
  return most;
}

// False: nothing presses, or nothing moves.
static bool disc_at(const tgiLcpProblem *p, int a, const tgReal *f, const tgReal *w, Disc *d) {
  tgReal A = mean_diagonal(p, a);
  d->m = p->bound[a + 1] * f[a];
  if (!(tgRe(d->m) > 0) || !(tgRe(A) > 0)) return false;
  tgReal y1 = f[a + 1] - w[a + 1] / A, y2 = f[a + 2] - w[a + 2] / A;
  d->size = tgSqrt(y1 * y1 + y2 * y2);
  if (!(tgRe(d->size) > 0)) return false;
  d->u[0] = y1 / d->size;
  d->u[1] = y2 / d->size;
  return true;
}

// The contact at a is turned along d; returns how far, weighed by m over the largest force.
static double turn_along(tgiCone *c, int a, const Disc *d, double most) {
  tgReal s = tgSqrt(d->m / d->size), *t = c->turn + a;
  double turned = hypot(tgRe(d->u[0] - t[1]), tgRe(d->u[1] - t[2])), share = fabs(tgRe(s - t[0]));
  set_turn(c, a, s, d->u[0], d->u[1]);
  return fmax(turned, share) * tgRe(d->m) / most;
}

// How far f and w are from the law (24), by the nearer of its two sides, forces and velocities as in tgiLcpInfo; *worst: where
static double residual(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, const tgReal *f, const tgReal *w, int *worst) {
  double found = 0;
  tgi_lcp_scales(s->scratch, p, f);
  for (int a = 0; a < p->n; a++) {
    if (!tgi_cone_at(p, a) || cls[a] != TGI_LCP_C) continue;
    double sf = s->scratch->sf, f1 = tgRe(f[a + 1]), f2 = tgRe(f[a + 2]), w1 = tgRe(w[a + 1]), w2 = tgRe(w[a + 2]);
    double m = tgRe(p->bound[a + 1] * f[a]), speed = hypot(w1, w2);
    double sticks = fmax(speed / s->scratch->sw, (hypot(f1, f2) - m) / sf);
    double slides = speed > 0 ? hypot(f1 + m * w1 / speed, f2 + m * w2 / speed) / sf : INFINITY, off = fmin(sticks, slides);
    if (off > found) *worst = a;
    found = fmax(found, off);
  }
  return found;
}

// ---- boxes that turn ----

// c->turn and classes for the next step; returns the largest change, that of what slid and sticks now is 1.
static double renew(tgiCone *c, const tgReal *f, const tgReal *w, int8_t *cls) {
  const tgiLcpProblem *p = c->of;
  double most = largest(p->n, f), change = 0;
  for (int a = 0; a < p->n; a++) {
    Disc d;
    if (!tgi_cone_at(p, a)) continue;
    bool presses = cls[a] == TGI_LCP_C && disc_at(p, a, f, w, &d);
    bool slides = presses && tgRe(d.size) > tgRe(d.m) * (1 + OUTSIDE) + 1e-13 * most;
    if (!slides && is_turned(c, a)) change = presses ? 1 : change;
    if (slides) change = fmax(change, turn_along(c, a, &d, most));
    else if (is_turned(c, a)) set_turn(c, a, 1, 1, 0);
    else continue;
    if (cls[a + 1] != TGI_LCP_D) cls[a + 1] = slides ? TGI_LCP_H : TGI_LCP_F;
    if (cls[a + 2] != TGI_LCP_D) cls[a + 2] = TGI_LCP_F;
  }
  return change;
}

// Something is outside its cone that does not move: boxes do not find the forces that it has.
static bool stands_outside(const tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, const tgReal *f, const tgReal *w) {
  for (int a = 0; a < p->n; a++) {
    Disc d;
    if (!tgi_cone_at(p, a) || cls[a] != TGI_LCP_C || !disc_at(p, a, f, w, &d) || !(tgRe(d.size) > tgRe(d.m))) continue;
    double speed = hypot(tgRe(w[a + 1]), tgRe(w[a + 2]));
    if (hypot(tgRe(f[a + 1]), tgRe(f[a + 2])) > tgRe(d.m) * (1 + 1e-6) && speed <= TGI_LCP_TIE * s->scratch->sw) return true;
  }
  return false;
}

// TG_OK: an answer of the first box at least, and its residual; pivots, sweeps and factorisations are added to those of info
static tgStatus turn_boxes(tgiLcp *s, tgiCone *c, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  tgiLcpInfo sum = *info;
  tgStatus status = TG_OK;
  bool last = false;
  int step = 0;
  for (; step < BOXES; step++, warm = cls) {
    tgi_cone_turn_problem(c);
    status = tgi_lcp_solve(s, &c->turned, warm, f, w, cls, info);
    info->pivots = sum.pivots += info->pivots;
    info->sweeps = sum.sweeps += info->sweeps;
    info->factored = sum.factored += info->factored;
    if (status < 0 || status == TG_CANCELLED) return status;
    turn_back(s, c, f, w);
    if (last || status != TG_OK || step == BOXES - 1 || (s->rank < s->nk && stands_outside(s, c->of, cls, f, w))) break;
    double change = renew(c, f, w, cls);
    if (change == 0) break;
    last = change <= NEAR;
  }
  return step > 0 && status == TG_NOT_CONVERGED ? TG_OK : status;
}

// ---- forces by sweeps, and the answer next to them ----

// One sweep of projected relaxation over the rows, of w = A f + b; returns the largest change over the largest force.
static double sweep(const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  size_t n = (size_t)p->n;
  double change = 0, size = 0;
  for (int a = 0, rows = 1; a < p->n; a += rows) {
    bool cone = a > 0 && tgi_cone_at(p, a - 1);
    double next[2], length = 0, B = INFINITY, d = 0;
    rows = cone ? 2 : 1;
    for (int i = 0; i < rows; i++) d = fmax(d, tgRe(tgi_lcp_diagonal(p, a + i)));
    for (int i = 0; i < rows; i++) next[i] = d > 0 ? tgRe(f[a + i]) - tgRe(w[a + i]) / d : 0;
    for (int i = 0; i < rows; i++) length = hypot(length, next[i]);
    if (p->kind[a] == TGI_LCP_BOX) B = tgRe(p->bound[a]);
    if (p->kind[a] == TGI_LCP_FRICTION) B = tgRe(p->bound[a]) * tgRe(f[p->parent[a]]);
    if (p->kind[a] == TGI_LCP_NORMAL) next[0] = fmax(0, next[0]);
    for (int i = 0; i < rows; i++) {
      if (length > B) next[i] *= B / length;
      double step = next[i] - tgRe(f[a + i]);
      const tgReal *row = p->A + (size_t)(a + i) * n;
      for (size_t j = 0; j < n && step != 0; j++) w[j] += step * tgRe(row[j]);
      f[a + i] = next[i];
      change = fmax(change, fabs(step));
      size = fmax(size, fabs(next[i]));
    }
  }
  return size > 0 ? change / size : 0;
}

// From real parts of f: at most so many sweeps, counted, and w with them. Returns what the last one changed.
static double relax(tgiLcp *s, const tgiLcpProblem *p, int most, tgReal *f, tgReal *w, int *count) {
  double change = 1;
  for (int a = 0; a < p->n; a++) f[a] = tgRe(f[a]);
  for (int a = 0; a < p->n; a++) {
    w[a] = tgRe(p->b[a]);
    for (int j = 0; j < p->n; j++) w[a] += tgRe(p->A[(size_t)a * (size_t)p->n + (size_t)j]) * f[j];
  }
  for (int k = 0; k < most && change > 1e-13 && !tgi_lcp_stops(s->scratch); k++, ++*count) change = sweep(p, f, w);
  return change;
}

// Classes and c->turn by f and w, which are `rough` near an answer
static void classify(tgiCone *c, double fast, const tgReal *f, const tgReal *w, double rough, int8_t *cls) {
  const tgiLcpProblem *p = c->of;
  double most = largest(p->n, f);
  tgi_cone_clear(c);
  for (int a = 0; a < p->n; a++) {
    double fa = tgRe(f[a]), B = tgRe(p->bound[a]);
    if (p->kind[a] == TGI_LCP_EQUALITY) cls[a] = TGI_LCP_C;
    else if (p->kind[a] == TGI_LCP_NORMAL) cls[a] = fa * fast > tgRe(w[a]) * most ? TGI_LCP_C : TGI_LCP_N;
    if (p->kind[a] != TGI_LCP_FRICTION && p->kind[a] != TGI_LCP_BOX) continue;
    if (p->kind[a] == TGI_LCP_FRICTION) B *= tgRe(f[p->parent[a]]);
    cls[a] = fabs(fa) < B * (1 - rough) ? TGI_LCP_F : fa > 0 ? TGI_LCP_H : TGI_LCP_L;
  }
  for (int a = 0; a < p->n; a++) {
    Disc d;
    if (!tgi_cone_at(p, a) || cls[a] != TGI_LCP_C) continue;
    bool slides = disc_at(p, a, f, w, &d) && tgRe(d.size) > tgRe(d.m) + rough * most;
    cls[a + 1] = slides ? TGI_LCP_H : TGI_LCP_F;
    cls[a + 2] = TGI_LCP_F;
    if (slides) turn_along(c, a, &d, most);
  }
}

// x (of c->turned) into the bounds of what presses and holds, of friction less a share `room`; returns how far outside one was
static double into_bounds(const tgiCone *c, const int8_t *cls, double room, tgReal *x) {
  const tgiLcpProblem *p = &c->turned;
  double out = 0;
  for (int a = 0; a < p->n; a++) {
    if (p->kind[a] != TGI_LCP_NORMAL || cls[a] != TGI_LCP_C || tgRe(x[a]) >= 0) continue;
    out = fmax(out, -tgRe(x[a]));
    x[a] = 0;
  }
  for (int a = 0, rows = 1; a < p->n; a += rows) {
    rows = 1;
    if ((p->kind[a] != TGI_LCP_FRICTION && p->kind[a] != TGI_LCP_BOX) || cls[a] != TGI_LCP_F) continue;
    if (a > 0 && tgi_cone_at(c->of, a - 1) && cls[a + 1] == TGI_LCP_F) rows = 2;
    double length = 0, B = tgRe(p->bound[a]);
    for (int i = 0; i < rows; i++) length = hypot(length, tgRe(x[a + i]));
    if (p->kind[a] == TGI_LCP_FRICTION) B *= tgRe(x[p->parent[a]]);
    out = fmax(out, length - B);
    for (int i = 0; i < rows && length > B * (1 - room); i++) x[a + i] *= B * (1 - room) / length;
  }
  return out;
}

// Of the solutions of the classes just solved for, of which f (of c->turned) is one, that next to x (n) which is within its bounds
static bool place(const tgiLcp *s, const tgiCone *c, const int8_t *cls, tgReal *x, tgReal *d, tgReal *f) {
  int n = c->of->n;
  double most = largest(n, f);
  for (int round = 0; round < PLACES && s->rank < s->nk; round++) {
    for (int k = 0; k < s->nk; k++) d[k] = x[s->k[k]] - f[s->k[k]];
    tgi_lcp_project(s, d, d);
    for (int k = 0; k < s->nk; k++) f[s->k[k]] += d[k];
    for (int a = 0; a < n; a++) {
      tgReal slope = s->kpos[a] < 0 ? tgi_lcp_slope(s, a) : 0;
      if (slope != 0) f[a] = slope * f[c->of->parent[a]];
    }
    memcpy(x, f, (size_t)n * sizeof *x);
    if (into_bounds(c, cls, round < PLACES / 2 ? 1e-3 : 0, x) <= OUTSIDE * most) return true;
  }
  return false;
}

// One solve of the classes as they are turned; redundant forces that leave their bounds by those next to `near`, where that is not NULL.
// False: they do not fit.
static bool solve_turned(tgiLcp *s, tgiCone *c, const tgReal *near, const int8_t *cls, tgReal *f, tgReal *w) {
  size_t n = (size_t)c->of->n;
  tgReal *x = c->work + n;
  tgi_cone_turn_problem(c);
  c->placed = false;
  bool finite = isfinite(tgi_lcp_solve_classes(s, &c->turned, cls, f, w));
  if (near == NULL || !finite) return finite;
  memcpy(x, f, n * sizeof *x);
  c->placed = into_bounds(c, cls, 0, x) > OUTSIDE * largest((int)n, f);
  if (!c->placed) return true;
  memcpy(x, near, n * sizeof *x);
  tgi_cone_turn(c, x);
  if (!place(s, c, cls, x, c->work + 2 * n, f)) return false;
  tgi_lcp_judge(s, &c->turned, f, w);
  return true;
}

// c->turn of what slides in these classes, from f and w; returns the largest change
static double follow(tgiCone *c, const int8_t *cls, const tgReal *f, const tgReal *w) {
  double change = 0, most = largest(c->of->n, f);
  for (int a = 0; a < c->of->n; a++) {
    Disc d;
    if (!tgi_cone_at(c->of, a) || !slid(cls, a) || !disc_at(c->of, a, f, w, &d)) continue;
    if (tgRe(d.size) < tgRe(d.m)) d.size = d.m;   // it is about to stick
    change = fmax(change, turn_along(c, a, &d, most));
  }
  return change;
}

// what the last solve is, f and w of c->turned, with the counts so far
static void tell(tgiLcp *s, const tgiCone *c, const tgReal *f, const tgReal *w, int steps, tgiLcpInfo *info) {
  tgiLcpInfo before = *info;
  tgi_lcp_open_info(s, TG_OK, -1, info);
  info->stage = before.stage;
  info->pivots = before.pivots;
  info->sweeps = before.sweeps;
  info->factored = before.factored + steps;
  tgi_lcp_tell(s, &c->turned, f, w, info);
}

// The answer of these classes, f and w of c->of, turned as that is at the end. False: they do not fit. info may be NULL.
static bool follow_to_end(tgiLcp *s, tgiCone *c, const tgReal *near, const int8_t *cls, tgReal *f, tgReal *w, tgiLcpInfo *info) {
  for (int step = 0, last = 0;; step++) {
    if (!solve_turned(s, c, near, cls, f, w)) return false;
    if (last && info != NULL) tell(s, c, f, w, step + 1, info);
    turn_back(s, c, f, w);
    if (last) return true;
    last = follow(c, cls, f, w) <= NEAR || step >= TURNS;
  }
}

// whether it is an answer, in info->residual
static bool is_answer(tgiLcp *s, const tgiCone *c, const int8_t *cls, const tgReal *f, const tgReal *w, tgiLcpInfo *info) {
  int worst;
  info->residual = fmax(info->residual, residual(s, c->of, cls, f, w, &worst));
  return info->residual <= TGI_LCP_ACCEPT;
}

// From f and w near an answer to that of their classes
static bool settle(tgiLcp *s, tgiCone *c, tgReal *f, tgReal *w, int8_t *cls, double rough, tgiLcpInfo *info) {
  tgReal *near = c->work;
  memcpy(near, f, (size_t)c->of->n * sizeof *near);
  tgi_lcp_scales(s->scratch, c->of, f);
  classify(c, s->scratch->sw, f, w, rough, cls);
  info->stage = TGI_LCP_PGS;
  return follow_to_end(s, c, near, cls, f, w, info) && is_answer(s, c, cls, f, w, info);
}

// ---- redundant normals ----

// c->Z for the classes of the last solve. False: the normals that press are not redundant.
static bool share_normals(tgiLcp *s, tgiCone *c, const int8_t *cls) {
  const tgiLcpProblem *p = c->of;
  size_t n = (size_t)p->n;
  tgReal *x = c->work, z = 0;
  for (size_t a = 0; a < n; a++) c->chosen[a] = p->kind[a] == TGI_LCP_NORMAL && cls[a] == TGI_LCP_C;
  const tgiLcp *normals = tgi_lcp_factor_rows(s, c->chosen);
  if (normals == NULL || normals->rank == normals->nk) return false;
  int nk = normals->nk;
  for (int k = 0; k < nk; k++) z += tgi_lcp_diagonal(p, normals->k[k]) / nk;
  memset(c->Z, 0, n * n * sizeof *c->Z);
  for (int j = 0; j < nk; j++) {
    for (int k = 0; k < nk; k++) x[k] = k == j;
    tgi_lcp_project(normals, x, x);
    for (int k = 0; k < nk; k++) c->Z[(size_t)normals->k[k] * n + (size_t)normals->k[j]] = z * x[k];
  }
  return true;
}

// c->share of f, after share_normals
static void share_forces(tgiLcp *s, tgiCone *c, const tgReal *f) {
  const tgiLcp *normals = tgi_lcp_factor_rows(s, c->chosen);
  tgReal *x = c->work;
  for (int a = 0; a < c->of->n; a++) c->share[a] = 0;
  for (int k = 0; normals != NULL && k < normals->nk; k++) x[k] = f[normals->k[k]];
  if (normals != NULL) tgi_lcp_apply(normals, x, x);
  for (int k = 0; normals != NULL && k < normals->nk; k++) c->share[normals->k[k]] = x[k];
}

void tgi_cone_split(const tgiCone *c, const tgReal *x, tgReal *out) {
  size_t n = (size_t)c->of->n;
  for (size_t i = 0; i < n; i++) {
    out[i] = 0;
    for (size_t j = 0; j < n; j++) out[i] -= c->Z[i * n + j] * x[j];
  }
}

// How redundant forces are shared moves something: Z tells how normals share them.
static bool needs_split(const tgiLcp *s, const tgiCone *c) { return c->any && s->rank < s->nk && tgi_lcp_null_action(s) >= TGI_LCP_NULL; }

// An answer, of c->of, becomes that whose normals share by Z, where that fits.
static void split_normals(tgiLcp *s, tgiCone *c, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  size_t n = (size_t)c->of->n;
  tgReal *turn = c->work + 3 * n, *near = c->work;
  tgiLcpInfo told = *info;
  if (!needs_split(s, c) || !share_normals(s, c, cls)) return;
  memcpy(turn, c->turn, n * sizeof *turn);
  memcpy(near, f, n * sizeof *near);
  c->split = true;
  bool fits = follow_to_end(s, c, NULL, cls, f, w, &told) && is_answer(s, c, cls, f, w, &told);
  if (!fits) {   // redundant forces next to those that were found
    memcpy(c->turn, turn, n * sizeof *turn);
    c->split = false;
    solve_turned(s, c, near, cls, f, w);
    told = *info;
    tell(s, c, f, w, 1, &told);
    turn_back(s, c, f, w);
    is_answer(s, c, cls, f, w, &told);
  }
  *info = told;
  if (fits) share_forces(s, c, f);
}

// What sticks next to the end of its disc is tied; that of its box is known already.
static void add_ties(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, const tgReal *f, tgiLcpInfo *info) {
  for (int a = 0; a < p->n; a++) {
    if (!tgi_cone_at(p, a) || cls[a] != TGI_LCP_C || slid(cls, a)) continue;
    double room = tgRe(p->bound[a + 1] * f[a]) - hypot(tgRe(f[a + 1]), tgRe(f[a + 2])), margin = fabs(room) / s->scratch->sf;
    bool known = false;
    info->margin = fmin(info->margin, margin);
    for (int k = 0; k < info->nties; k++) known = known || info->ties[k] == a + 1;
    if (margin <= TGI_LCP_TIE && !known && info->nties < p->n) s->scratch->ties[info->nties++] = a + 1;
  }
}

// Without an answer: that of the box along the tangents as they are, which is none of the law's.
static void take_box(tgiLcp *s, tgiCone *c, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  tgiLcpInfo box;
  int worst = 0;
  tgi_cone_clear(c);
  tgi_cone_turn_problem(c);
  tgi_lcp_solve(s, &c->turned, NULL, f, w, cls, &box);
  box.pivots += info->pivots;
  box.sweeps += info->sweeps;
  box.factored += info->factored;
  box.residual = fmax(box.residual, residual(s, c->of, cls, f, w, &worst));
  if (box.nfailed == 0) s->scratch->failed[box.nfailed++] = worst;
  box.stage = TGI_LCP_FAILED;
  *info = box;
}

// By sweeps from the forces of boxes, then from none. Where rows contradict each other these do not end: each changes as much as the last.
static bool sweep_and_settle(tgiLcp *s, tgiCone *c, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  double before = INFINITY;
  for (int k = 0; k < 10 && !tgi_lcp_cancelled(s->scratch); k++) {
    for (int a = 0; a < c->of->n && k == 5; a++) f[a] = 0;
    double change = relax(s, c->of, sweeps[k / 5][k % 5], f, w, &info->sweeps);
    if (settle(s, c, f, w, cls, fmax(1e-9, fmin(1e-3, 100 * change)), info)) return true;
    c->creeps = c->of->doubtful && k % 5 > 0 && k >= SETTLED && change > STEADY * before;
    if (c->creeps) return false;
    before = change;
  }
  return false;
}

// TG_OK: *found says whether there is an answer.
static tgStatus search(tgiLcp *s, tgiCone *c, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info, bool *found) {
  tgStatus status = turn_boxes(s, c, warm, f, w, cls, info);
  if (status == TG_OK) *found = is_answer(s, c, cls, f, w, info) || sweep_and_settle(s, c, f, w, cls, info);
  return status == TG_OK && !*found && tgi_lcp_cancelled(s->scratch) ? TG_CANCELLED : status;
}

tgStatus tgi_cone_solve(tgiLcp *s, tgiCone *c, const int8_t *warm, const tgReal *before, tgReal *f, tgReal *w, int8_t *cls,
                        tgiLcpInfo *info) {
  bool found = false;
  *info = (tgiLcpInfo){.stage = TGI_LCP_FAILED};
  start(c, warm, before);
  tgStatus status = search(s, c, warm, f, w, cls, info, &found);
  if (status == TG_OK && !found && warm != NULL && !c->creeps) {
    tgi_cone_clear(c);
    status = search(s, c, NULL, f, w, cls, info, &found);
  }
  if (status != TG_OK) return status;
  if (found) split_normals(s, c, f, w, cls, info);
  if (found) add_ties(s, c->of, cls, f, info);
  else take_box(s, c, f, w, cls, info);
  return found ? TG_OK : tgi_lcp_cancelled(s->scratch) ? TG_CANCELLED : TG_NOT_CONVERGED;
}

void tgi_cone_solve_classes(tgiLcp *s, tgiCone *c, const int8_t *cls, const tgReal *before, tgReal *f, tgReal *w) {
  start(c, cls, before);
  follow_to_end(s, c, NULL, cls, f, w, NULL);
  c->split = needs_split(s, c) && share_normals(s, c, cls);
  if (c->split) follow_to_end(s, c, NULL, cls, f, w, NULL);
  if (c->split) share_forces(s, c, f);
}

void tgi_cone_recall(tgiLcp *s, tgiCone *c, const int8_t *cls, bool deficient, tgReal *f, tgReal *w) {
  tgReal *given = c->work;
  size_t n = (size_t)c->of->n;
  bool split = c->split;
  memcpy(given, f, n * sizeof *given);
  c->split = false;
  tgi_cone_turn_problem(c);
  tgi_lcp_open(s->scratch, c->of);
  tgi_lcp_recall_classes(s, NULL, &c->turned, cls, deficient, f, w);
  if (split) {
    c->split = share_normals(s, c, cls);
    tgi_cone_turn_problem(c);
    tgi_lcp_recall_classes(s, NULL, &c->turned, cls, deficient, f, w);
  }
  if (c->placed) {
    memcpy(f, given, n * sizeof *f);
    tgi_lcp_judge(s, c->of, f, w);
  } else turn_back(s, c, f, w);
  if (c->split) share_forces(s, c, f);
}
