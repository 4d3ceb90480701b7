// passing.c: see passing.h.
//
// A leg of the way is q(t) = q0 (+) w(t), w = a v0 + b d, a = t - t^2/T, b = t^2/T^2, d = q1 (-) q0: the parabola that leaves q0 at v0 and
// comes to q1 in T. So the pose at a share of T is a function of both ends and of T. Where the gap is least its rate is 0, and the share
// has no part in the derivative. Based on: [math/toi Near misses].
#include "optim/passing.h"

#include <math.h>
#include <string.h>

#include "kin/kinematics.h"
#include "math/quat.h"
#include "math/vec3.h"
#include "step/step.h"

void tgi_passing_place(const tgModel *m, tgiPassing *found, tgLayout *l) {
  found->q = tgi_place(l, (size_t)m->nq, sizeof(double));
  double **of[] = {&found->q0, &found->v0, &found->q1};
  for (int i = 0; i < 3; i++) *of[i] = tgi_place(l, (size_t)m->nv, sizeof(double));
}

void tgi_passing_place_work(const tgModel *m, tgiPassingWork *work, tgLayout *l) {
  tgi_place_pose(&work->pose, m, l);
  work->q = tgi_place(l, (size_t)m->nq, sizeof(double));
  double **of[] = {&work->d, &work->w, &work->u, &work->x};
  for (int i = 0; i < 4; i++) *of[i] = tgi_place(l, (size_t)m->nv, sizeof(double));
  work->gq = tgi_place(l, (size_t)m->nv, sizeof(double));
  work->gv = tgi_place(l, (size_t)tgi_nw(m), sizeof(double));
  work->gu = tgi_place(l, (size_t)m->nu + 1, sizeof(double));
}

// the term's rows at that time of the leg, and the rate of its residual; NAN: there is no gap
static double rate_at(tgSim *s, const tgTerm *term, double t, tgTermRows *rows, tgiPassingWork *k) {
  double h = k->leg.t, a = t - t * t / h, b = t * t / (h * h), da = 1 - 2 * t / h, db = 2 * t / (h * h), sum = 0;
  for (int i = 0; i < s->m.nv; i++) {
    k->w[i] = a * k->leg.v0[i] + b * k->d[i];
    k->x[i] = da * k->leg.v0[i] + db * k->d[i];
  }
  tgi_integrate_jacobian(&s->m, k->w, 1, NULL, k->x, k->u);
  tg_model_integrate(&s->m, k->leg.q0, k->w, k->q);
  tgi_kinematics(&s->m, k->q, &k->pose);
  k->value = tgi_term_rows(s, &k->pose, term, true, rows);
  for (int i = 0; i < s->m.nv; i++) sum += rows->J[i] * k->u[i];
  return isfinite(rows->r[0]) ? sum : NAN;
}

// where the rate is 0, between times a and b at which it is fa < 0 and fb > 0: regula falsi with halved ends. The rows are of that time.
static double root(tgSim *s, const tgTerm *term, double a, double fa, double b, double fb, tgTermRows *rows, tgiPassingWork *k) {
  double t = b;
  for (int i = 0, side = 0; i < 100 && b - a > 1e-15 * k->leg.t; i++) {
    t = i % 3 == 2 ? 0.5 * (a + b) : (a * fb - b * fa) / (fb - fa);
    double f = rate_at(s, term, t, rows, k);
    if (f == 0 || isnan(f)) break;
    if (f < 0) {
      a = t;
      fa = f;
      if (side < 0) fb *= 0.5;
      side = -1;
    } else {
      b = t;
      fb = f;
      if (side > 0) fa *= 0.5;
      side = 1;
    }
  }
  return t;
}

// through d = q1 (-) q0, where q1 = q0 (+) d: g = dL/dd
static void difference_vjp(const tgModel *m, const double *d, const double *g, tgiPassing *f, double *through) {
  for (int i = 0; i < m->nv; i++) {
    f->q1[i] = g[i];
    if (m->dof_grpnum[i] != 3 || m->dof_grpadr[i] != i) continue;
    double T[9], x[3];
    tgi_so3_jr_inv(T, d + i);
    tgi_m3_tmulv(x, T, g + i);
    memcpy(f->q1 + i, x, sizeof x);
    i += 2;
  }
  memset(through, 0, (size_t)m->nv * sizeof *through);
  tgi_integrate_vjp(m, d, f->q1, through, NULL);
  for (int i = 0; i < m->nv; i++) f->q0[i] -= through[i];
}

static void slopes(tgSim *s, double t, tgTermRows *rows, tgiPassingWork *k, tgiPassing *f) {
  int nv = s->m.nv;
  double h = k->leg.t, share = t / h;
  for (int i = 0; i < nv; i++) {
    k->x[i] = rows->slope[0] * rows->J[i];
    f->q0[i] = k->u[i] = 0;
  }
  tgi_integrate_vjp(&s->m, k->w, k->x, f->q0, k->u);
  f->t = 0;
  for (int i = 0; i < nv; i++) {
    f->v0[i] = h * (share - share * share) * k->u[i];
    f->t += (share - share * share) * k->u[i] * k->leg.v0[i];
    k->u[i] *= share * share;
  }
  difference_vjp(&s->m, k->d, k->u, f, k->x);
}

// the rows are of time t of the leg, where the term is least
static void note(tgSim *s, int leg, double t, tgTermRows *rows, tgiPassingWork *k, tgiPassing *found) {
  found->r = rows->r[0];
  found->value = k->value;
  found->leg = leg;
  found->tied = rows->tied;
  memcpy(found->q, k->q, (size_t)s->m.nq * sizeof *found->q);
  slopes(s, t, rows, k, found);
}

bool tgi_passing_find(tgSim *s, const tgTerm *term, double least, tgTermRows *rows, tgiPassingWork *work, tgiPassing *found) {
  bool any = false;
  if (s->stage != TG_STAGE_STEPPED || s->stepper->leg == NULL) return false;
  double to = INFINITY;   // the rate at the end of the leg before; none before the first
  int before = -1;
  tgiLeg last = {0};
  for (int k = 0; s->stepper->leg(s, k, &work->leg); k++) {
    if (work->leg.t == 0) continue;
    tg_model_difference(&s->m, work->leg.q0, work->leg.q1, work->d);
    double from = rate_at(s, term, 0, rows, work);
    if (to < 0 && from > 0 && rows->r[0] < least) {   // between two legs: the end of the one before, whose time has a part
      tgiLeg next = work->leg;
      work->leg = last;
      tg_model_difference(&s->m, last.q0, last.q1, work->d);
      if (!isnan(rate_at(s, term, last.t, rows, work))) {
        least = rows->r[0];
        note(s, before, last.t, rows, work, found);
        any = true;
      }
      work->leg = next;
      tg_model_difference(&s->m, next.q0, next.q1, work->d);
    }
    to = rate_at(s, term, work->leg.t, rows, work);
    last = work->leg;
    before = k;
    if (!(from < 0 && to > 0)) continue;
    double t = root(s, term, 0, from, work->leg.t, to, rows, work);
    if (isnan(rate_at(s, term, t, rows, work)) || !(rows->r[0] < least)) continue;
    least = rows->r[0];
    note(s, k, t, rows, work, found);
    any = true;
  }
  return any;
}

tgStatus tgi_passing_slopes(tgSim *s, const tgiPassing *found, double scale, tgiPassingWork *k, double *gq, double *gv, double *gu,
                            tgParamGrad *p) {
  int nv = s->m.nv;
  // scaled in place, as parameters are added to
  double *of[3] = {k->w, k->u, k->x}, *from[3] = {found->q0, found->v0, found->q1};
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < nv; i++) of[j][i] = scale * from[j][i];
  tgiLegSlopes g = {found->leg, k->w, k->u, k->x, scale * found->t};
  tgStatus status = tgi_step_leg_vjp(s, &g, k->gq, k->gv, k->gu, p);
  if (status != TG_OK || gq == NULL) return status;
  for (int i = 0; i < nv; i++) gq[i] += k->gq[i];
  for (int i = 0; i < tgi_nw(&s->m); i++) gv[i] += k->gv[i];
  for (int i = 0; i < s->m.nu && gu != NULL; i++) gu[i] += k->gu[i];
  return TG_OK;
}

void tgi_passing_parameters(tgSim *s, const tgTerm *term, const tgiPassing *found, double scale, tgTermRows *rows, tgiPassingWork *work,
                            tgParamGrad *p) {
  tgi_kinematics(&s->m, found->q, &work->pose);
  tgi_term_parameters(s, &work->pose, term, scale, rows, p);
}
