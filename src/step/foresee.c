// foresee.c: a Newton step that foresees how the forces of touching bodies grow. See objective.h.
//
// Based on: [math/barrier Minimisation]. Newton's method takes the energy for a parabola, while that of bodies that
// meet goes like their distance to a negative power: from too near it comes back too slowly, from too far it goes
// through. The energy of a pair along its own push, t = push . (xi1 - xi2), is therefore taken for
//   psi(t) = (3/theta) (z^-1/2 - 1),   z = 1 - 2 theta t/3,                                                                            (75)
// which has the slope 1 and the curvature theta, the hardening, at t = 0, and is infinite where the force would be. The step minimises
//   g . d + d' H d/2 + sum (psi(t) - t - theta t^2/2)                                                                                  (76)
// by Newton's method of its own, which asks the contact model for nothing. It is a guess of the next point; what is
// accepted there is not its affair.
#include <string.h>

#include "step/objective.h"

enum { MOST_ROUNDS = 12, MOST_HALVINGS = 8 };
#define WORTH 0.02       // largest change of z up to which a parabola does as well
#define KEPT 0.9         // share of the way to z = 0 that a step may go
#define DONE 1e-3        // fall of (76), of what it has fallen, that ends the search

typedef struct Guess { const tgiPattern *pattern; tgReal *t, *dt, *grad, *step, *trial, *b; int *dof; } Guess;

static bool take(tgSim *s, Guess *w) {
  size_t nv = (size_t)s->m.nv, nt = (size_t)s->nterm;
  w->t = tgi_stack_real(s, nt);
  w->dt = tgi_stack_real(s, nt);
  w->grad = tgi_stack_real(s, nv);
  w->step = tgi_stack_real(s, nv);
  w->trial = tgi_stack_real(s, nv);
  w->b = tgi_stack_real(s, 2 * nv);
  w->dof = tgi_stack_bytes(s, 2 * nv * sizeof(int));
  return w->t != NULL && w->dt != NULL && w->grad != NULL && w->step != NULL && w->trial != NULL && w->b != NULL && w->dof != NULL;
}

// its forces do; what is coupled too weakly for a block in H does not by much
static bool grows(const tgPairTerm *x) { return tgRe(x->hardening) > 0 && !x->left_out; }

// by which z falls with t
static tgReal rate(const tgPairTerm *x) { return 2 * x->hardening / 3; }

// dt/d(tangent), of the dofs that move the two bodies; a dof of both stands there twice. Returns their number.
static int slopes(const tgSim *s, const tgPose *pose, const tgPairTerm *x, Guess *w) {
  const tgModel *m = &s->m;
  int n = 0;
  for (int side = 0; side < 2; side++)
    for (int i = m->body_lastdof[side == 0 ? x->body1 : x->body2]; i >= 0; i = m->dof_parent[i]) {
      w->dof[n] = i;
      w->b[n++] = (side == 0 ? 1 : -1) * tgi_sp_dot(x->push, pose->S + 6 * i);
    }
  return n;
}

// t of all terms for the tangent d
static void approach(const tgSim *s, const tgPose *pose, const tgReal *d, Guess *w, tgReal *t) {
  for (int k = 0; k < s->nterm; k++) {
    t[k] = 0;
    if (!grows(&s->term[k])) continue;
    for (int i = slopes(s, pose, &s->term[k], w) - 1; i >= 0; i--) t[k] += w->b[i] * d[w->dof[i]];
  }
}

// share of the step dt from t that keeps every z
static double room(const tgSim *s, const tgReal *t, const tgReal *dt) {
  double share = 1;
  for (int k = 0; k < s->nterm; k++) {
    double c = tgRe(rate(&s->term[k])), z = t != NULL ? 1 - c * tgRe(t[k]) : 1, fall = c * tgRe(dt[k]);
    if (fall * share > KEPT * z) share = KEPT * z / fall;
  }
  return share;
}

// (76) at d, whose t is w->t, and its gradient
static double model(const tgSim *s, const tgPose *pose, const tgReal *H, const tgReal *g, const tgReal *d, Guess *w) {
  double sum = 0;
  tgi_pattern_mul(w->pattern, H, d, w->grad);
  for (int i = 0; i < s->m.nv; i++) {
    sum += tgRe(d[i] * (g[i] + w->grad[i] / 2));
    w->grad[i] += g[i];
  }
  for (int k = 0; k < s->nterm; k++) {
    const tgPairTerm *x = &s->term[k];
    if (!grows(x)) continue;
    tgReal t = w->t[k], z = 1 - rate(x) * t, r = tgSqrt(z), f = 1 / (z * r) - 1 - x->hardening * t;
    sum += tgRe(3 / x->hardening * (1 / r - 1) - t - x->hardening * t * t / 2);
    for (int i = slopes(s, pose, x, w) - 1; i >= 0; i--) w->grad[w->dof[i]] += f * w->b[i];
  }
  return sum;
}

// its second derivative: H + sum (psi'' - theta) b b', upper half
static void curvature(const tgSim *s, const tgPose *pose, const tgReal *H, Guess *w, tgReal *A) {
  memcpy(A, H, w->pattern->size * sizeof *A);
  for (int k = 0; k < s->nterm; k++) {
    const tgPairTerm *x = &s->term[k];
    if (!grows(x)) continue;
    tgReal z = 1 - rate(x) * w->t[k], c = x->hardening * (1 / (z * z * tgSqrt(z)) - 1);
    int n = slopes(s, pose, x, w);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (w->dof[j] >= w->dof[i]) *tgi_pattern_entry(w->pattern, A, w->dof[i], w->dof[j]) += c * w->b[i] * w->b[j];
  }
}

// one round: d and *value fall. False: they do no more.
static bool descend(const tgSim *s, const tgPose *pose, const tgReal *H, const tgReal *g, Guess *w, tgReal *A, tgReal *d, double *value) {
  int nv = s->m.nv;
  double fall = 0, after;
  curvature(s, pose, H, w, A);
  if (!tgi_pattern_factor(w->pattern, A, A)) return false;
  for (int i = 0; i < nv; i++) w->step[i] = -w->grad[i];
  tgi_pattern_solve(w->pattern, A, w->step);
  for (int i = 0; i < nv; i++) fall += tgRe(w->grad[i] * w->step[i]);
  if (fall >= -DONE * fabs(*value)) return false;
  approach(s, pose, w->step, w, w->dt);
  double share = room(s, w->t, w->dt);
  for (int halving = 0; halving < MOST_HALVINGS; halving++, share /= 2) {
    for (int i = 0; i < nv; i++) w->trial[i] = d[i] + share * w->step[i];
    approach(s, pose, w->trial, w, w->t);
    after = model(s, pose, H, g, w->trial, w);
    if (!(after <= *value + 1e-4 * share * fall)) continue;
    memcpy(d, w->trial, (size_t)nv * sizeof *d);
    *value = after;
    return true;
  }
  return false;
}

tgStatus tgi_objective_foresee(tgSim *s, const tgPose *pose, const tgiPattern *p, const tgReal *H, const tgReal *g, tgReal *A, tgReal *d) {
  size_t mark = tgi_stack_mark(s);
  Guess w = {.pattern = p};
  double most = 0;
  if (!take(s, &w)) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  approach(s, pose, d, &w, w.t);
  for (int k = 0; k < s->nterm; k++) most = fmax(most, fabs(tgRe(rate(&s->term[k]) * w.t[k])));
  if (most >= WORTH) {
    double share = room(s, NULL, w.t);
    for (int i = 0; i < s->m.nv; i++) d[i] *= share;
    approach(s, pose, d, &w, w.t);
    double value = model(s, pose, H, g, d, &w);
    for (int round = 0; round < MOST_ROUNDS && descend(s, pose, H, g, &w, A, d, &value); round++) {}
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
