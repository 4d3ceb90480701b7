// passing.c: see passing.h.
//
// The way is q(t) = q0 (+) w(t), w = a v0 + b d, a = t - t^2/h, b = t^2/h^2, d = q1 (-) q0: the parabola that leaves q0 at v0 and comes to
// q1. So the pose at a time is a function of both states and nothing else of the step. Where the gap is least its rate is 0, and the time
// has no part in the derivative. Based on: [math/toi Near misses].
#include "optim/passing.h"

#include <math.h>
#include <string.h>

#include "kin/kinematics.h"
#include "math/quat.h"
#include "math/vec3.h"
#include "sim/stepper.h"

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
}

// the term's rows at that time of the way, and the rate of its residual; NAN: there is no gap
static double rate_at(tgSim *s, const tgTerm *term, double t, tgTermRows *rows, tgiPassingWork *k) {
  double h = s->h, a = t - t * t / h, b = t * t / (h * h), da = 1 - 2 * t / h, db = 2 * t / (h * h), sum = 0;
  for (int i = 0; i < s->m.nv; i++) {
    k->w[i] = a * s->start.vel[i] + b * k->d[i];
    k->x[i] = da * s->start.vel[i] + db * k->d[i];
  }
  tgi_integrate_jacobian(&s->m, k->w, 1, NULL, k->x, k->u);
  tg_model_integrate(&s->m, s->start.q, k->w, k->q);
  tgi_kinematics(&s->m, k->q, &k->pose);
  k->value = tgi_term_rows(s, &k->pose, term, true, rows);
  for (int i = 0; i < s->m.nv; i++) sum += rows->J[i] * k->u[i];
  return isfinite(rows->r[0]) ? sum : NAN;
}

// where the rate is 0, between times a and b at which it is fa < 0 and fb > 0: regula falsi with halved ends. The rows are of that time.
static double root(tgSim *s, const tgTerm *term, double a, double fa, double b, double fb, tgTermRows *rows, tgiPassingWork *k) {
  double t = b;
  for (int i = 0, side = 0; i < 100 && b - a > 1e-15 * s->h; i++) {
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
  double h = s->h;
  for (int i = 0; i < nv; i++) {
    k->x[i] = rows->slope[0] * rows->J[i];
    f->q0[i] = k->u[i] = 0;
  }
  tgi_integrate_vjp(&s->m, k->w, k->x, f->q0, k->u);
  for (int i = 0; i < nv; i++) {
    f->v0[i] = (t - t * t / h) * k->u[i];
    k->u[i] *= t * t / (h * h);
  }
  difference_vjp(&s->m, k->d, k->u, f, k->x);
}

bool tgi_passing_find(tgSim *s, const tgTerm *term, double least, tgTermRows *rows, tgiPassingWork *work, tgiPassing *found) {
  if (s->stage != TG_STAGE_STEPPED || s->stepper->parabola == NULL || !s->stepper->parabola(s)) return false;
  tg_model_difference(&s->m, s->start.q, s->end.q, work->d);
  double from = rate_at(s, term, 0, rows, work);
  if (!(from < 0)) return false;
  double to = rate_at(s, term, s->h, rows, work);
  if (!(to > 0)) return false;
  double t = root(s, term, 0, from, s->h, to, rows, work);
  if (isnan(rate_at(s, term, t, rows, work)) || !(rows->r[0] < least)) return false;
  found->r = rows->r[0];
  found->value = work->value;
  memcpy(found->q, work->q, (size_t)s->m.nq * sizeof *found->q);
  slopes(s, t, rows, work, found);
  return true;
}

void tgi_passing_parameters(tgSim *s, const tgTerm *term, const tgiPassing *found, double scale, tgTermRows *rows, tgiPassingWork *work,
                            tgParamGrad *p) {
  tgi_kinematics(&s->m, found->q, &work->pose);
  tgi_term_parameters(s, &work->pose, term, scale, rows, p);
}
