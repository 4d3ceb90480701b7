// foresee.c: a Newton step that foresees how the forces of touching bodies grow. See objective.h.
//
// Based on: [math/barrier Minimisation]. Newton's method takes the energy for a parabola, while that of bodies that
// meet goes like their distance to a negative power: from too near it comes back too slowly, from too far it goes
// through. Where a law says by what margins its energy grows fastest, at a few sites of a pair of bodies, each is taken for
//   W P(S),   P = S + 2 sqrt(12 S),   S = sum c_k/(m_k + l_k . r),   r = xi1 - xi2,                                                   (103)
// and what else a pair has along its own push, t = push . r, for
//   psi(t) = (3/theta) (z^-1/2 - 1),   z = 1 - 2 theta t/3,                                                                            (75)
// which has the slope 1 and the curvature theta, the hardening, at t = 0, and is infinite where the force would be. The step minimises
//   g . d + d' H d/2 + sum of these less their own parabolas at d = 0                                                                  (76)
// by Newton's method of its own, which asks the contact model for nothing. It is a guess of the next point; what is
// accepted there is not its affair.
#include <string.h>

#include "step/objective.h"

enum { MOST_ROUNDS = 12, MOST_HALVINGS = 8 };
#define WORTH 0.02       // largest change of z, of a margin of itself, up to which a parabola does as well
#define KEPT 0.9         // share of the way to z = 0 that a step may go
#define LITTLE 1e-3      // share of a push that is not worth a psi of its own
#define DONE 1e-3        // fall of (76), of what it has fallen, that ends the search

typedef struct Guess {
  const tgiPattern *pattern;
  tgReal *t, *dt, *grad, *step, *trial, *b;
  int *dof;
  double *left, *theta;       // nterm: share of a term's push that is not its sites', and the hardening of that
  int nsite, *of;             // of: nterm, sites of a term
  tgLawSite *site;
  double *twist, *wrench;     // nbody x 6: of a tangent; by which sites push
  double *H;                  // nterm x 36: second derivatives of sites in r
} Guess;

static bool take(tgSim *s, Guess *w) {
  size_t nv = (size_t)s->m.nv, nt = (size_t)s->nterm, nb = (size_t)s->m.nbody;
  w->t = tgi_stack_real(s, nt);
  w->dt = tgi_stack_real(s, nt);
  w->grad = tgi_stack_real(s, nv);
  w->step = tgi_stack_real(s, nv);
  w->trial = tgi_stack_real(s, nv);
  w->b = tgi_stack_real(s, 2 * nv);
  w->dof = tgi_stack_bytes(s, 2 * nv * sizeof *w->dof);
  w->left = tgi_stack_bytes(s, nt * sizeof *w->left);
  w->theta = tgi_stack_bytes(s, nt * sizeof *w->theta);
  w->of = tgi_stack_bytes(s, nt * sizeof *w->of);
  w->twist = tgi_stack_bytes(s, 6 * nb * sizeof *w->twist);
  w->wrench = tgi_stack_bytes(s, 6 * nb * sizeof *w->wrench);
  return w->t != NULL && w->dt != NULL && w->grad != NULL && w->step != NULL && w->trial != NULL && w->b != NULL && w->dof != NULL &&
         w->left != NULL && w->theta != NULL && w->of != NULL && w->twist != NULL && w->wrench != NULL;
}

// ---- sites

// S and its derivatives in the margins' changes: S1 . dm, dm' S2 dm (diagonal)
typedef struct Margins { double S, P1, P2, d1[6], d2[6]; } Margins;

static Margins margins(const tgLawSite *x, const double dm[6]) {
  Margins a = {.S = 0};
  for (int k = 0; k < 6; k++) {
    double i = 1 / (x->m[k] + (dm != NULL ? dm[k] : 0));
    a.S += x->c[k] * i;
    a.d1[k] = -x->c[k] * i * i;
    a.d2[k] = 2 * x->c[k] * i * i * i;
  }
  double r = sqrt(12 * a.S);
  a.P1 = x->weight * (1 + r / a.S);
  a.P2 = -0.5 * x->weight * r / (a.S * a.S);
  return a;
}

// twists of all bodies, real parts
static void twists(const tgSim *s, const tgPose *pose, const tgReal *d, double *twist) {
  const tgModel *m = &s->m;
  memset(twist, 0, 6 * sizeof *twist);
  for (int b = 1; b < m->nbody; b++) {
    double *V = twist + 6 * b;
    memcpy(V, twist + 6 * m->body_parent[b], 6 * sizeof *V);
    for (int i = m->body_dofadr[b], end = i + m->body_dofnum[b]; i < end; i++)
      for (int k = 0; k < 6; k++) V[k] += tgRe(d[i]) * tgRe(pose->S[6 * i + k]);
  }
}

// the sites that the tangent d moves so far that a parabola will not do, but for those of terms without a block; none beside
// an H that was made definite, whose parabolas theirs are not
static bool take_sites(tgSim *s, const tgPose *pose, bool exact, const tgReal *d, Guess *w) {
  const tgLaw *law = s->contact_model->kind->law;
  memset(w->of, 0, (size_t)s->nterm * sizeof *w->of);
  if (law->sites == NULL || s->nterm == 0 || !exact) return true;
  twists(s, pose, d, w->twist);
  int all = law->sites(s, pose, w->twist, WORTH, 0, NULL);
  if (all == 0) return true;
  w->site = tgi_stack_bytes(s, (size_t)all * sizeof *w->site);
  w->H = tgi_stack_bytes(s, 36 * (size_t)s->nterm * sizeof *w->H);
  if (w->site == NULL || w->H == NULL) return false;
  all = law->sites(s, pose, w->twist, WORTH, all, w->site);
  for (int i = 0; i < all; i++) {
    if (s->term[w->site[i].term].left_out) continue;
    w->of[w->site[i].term]++;
    w->site[w->nsite++] = w->site[i];
  }
  return true;
}

static void changes(const tgSim *s, const tgLawSite *x, const double *twist, double dm[6]) {
  const tgPairTerm *t = &s->term[x->term];
  for (int k = 0; k < 6; k++) {
    dm[k] = 0;
    for (int i = 0; i < 6; i++) dm[k] += x->l[6 * k + i] * (twist[6 * t->body1 + i] - twist[6 * t->body2 + i]);
  }
}

// (103) less its parabola, at the twists; its slope goes to the bodies' wrenches
static double beyond(const tgSim *s, const tgLawSite *x, Guess *w) {
  const tgPairTerm *t = &s->term[x->term];
  double dm[6], first = 0, second = 0, slope[6];
  changes(s, x, w->twist, dm);
  const Margins a = margins(x, NULL), b = margins(x, dm);
  for (int k = 0; k < 6; k++) {
    first += a.d1[k] * dm[k];
    second += a.d2[k] * dm[k] * dm[k];
  }
  for (int k = 0; k < 6; k++) slope[k] = b.P1 * b.d1[k] - a.P1 * (a.d1[k] + a.d2[k] * dm[k]) - a.P2 * first * a.d1[k];
  for (int i = 0; i < 6; i++) {
    double f = 0;
    for (int k = 0; k < 6; k++) f += slope[k] * x->l[6 * k + i];
    w->wrench[6 * t->body1 + i] += f;
    w->wrench[6 * t->body2 + i] -= f;
  }
  double P = x->weight * (b.S + 2 * sqrt(12 * b.S) - a.S - 2 * sqrt(12 * a.S));
  return P - a.P1 * (first + second / 2) - a.P2 * first * first / 2;
}

// H += sign times the second derivative in r
static void bend(const tgLawSite *x, const Margins *a, double sign, double *H) {
  double v[6] = {0};
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 6; i++) v[i] += a->d1[k] * x->l[6 * k + i];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      double h = a->P2 * v[i] * v[j];
      for (int k = 0; k < 6; k++) h += a->P1 * a->d2[k] * x->l[6 * k + i] * x->l[6 * k + j];
      H[6 * i + j] += sign * h;
    }
}

// what sites leave of the pushes of their terms, and of how these harden
static void leave(const tgSim *s, Guess *w) {
  for (int t = 0; t < s->nterm; t++) {
    w->left[t] = 1;
    w->theta[t] = s->term[t].left_out ? 0 : tgRe(s->term[t].hardening);
  }
  for (int i = 0; i < w->nsite; i++) {
    const tgLawSite *x = &w->site[i];
    const tgReal *push = s->term[x->term].push;
    const Margins a = margins(x, NULL);
    double n[3], size = sqrt(tgRe(push[3] * push[3] + push[4] * push[4] + push[5] * push[5])), f = 0, H[36] = {0}, h = 0;
    if (!(size > 0)) continue;
    for (int k = 0; k < 3; k++) n[k] = tgRe(push[3 + k]) / size;
    for (int k = 0; k < 6; k++)
      for (int j = 0; j < 3; j++) f += a.P1 * a.d1[k] * x->l[6 * k + 3 + j] * n[j];
    bend(x, &a, 1, H);
    for (int j = 0; j < 9; j++) h += n[j / 3] * n[j % 3] * H[6 * (3 + j / 3) + 3 + j % 3];
    w->left[x->term] -= f / size;
    w->theta[x->term] -= h / (size * size);
  }
  for (int t = 0; t < s->nterm; t++) {
    if (!(w->left[t] >= LITTLE) || !(w->theta[t] > 0)) w->theta[t] = 0;
    else w->theta[t] /= w->left[t];   // of left psi(t), whose curvature is that
  }
}

// ---- terms

static bool grows(const Guess *w, int t) { return w->theta[t] > 0; }

// by which z falls with t
static double rate(const Guess *w, int t) { return 2 * w->theta[t] / 3; }

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
    if (!grows(w, k)) continue;
    for (int i = slopes(s, pose, &s->term[k], w) - 1; i >= 0; i--) t[k] += w->b[i] * d[w->dof[i]];
  }
}

// share of the step from d (NULL: 0), of t and dt, that keeps every z and every margin
static double room(const tgSim *s, const tgPose *pose, const tgReal *t, const tgReal *dt, const tgReal *d, const tgReal *step, Guess *w) {
  double share = 1;
  for (int k = 0; k < s->nterm; k++) {
    double c = rate(w, k), z = t != NULL ? 1 - c * tgRe(t[k]) : 1, fall = c * tgRe(dt[k]);
    if (fall * share > KEPT * z) share = KEPT * z / fall;
  }
  if (w->nsite == 0) return share;
  if (d != NULL) twists(s, pose, d, w->twist);
  twists(s, pose, step, w->wrench);
  for (int i = 0; i < w->nsite; i++) {
    double from[6] = {0}, to[6];
    if (d != NULL) changes(s, &w->site[i], w->twist, from);
    changes(s, &w->site[i], w->wrench, to);
    for (int k = 0; k < 6; k++)
      if (-to[k] * share > KEPT * (w->site[i].m[k] + from[k])) share = KEPT * (w->site[i].m[k] + from[k]) / -to[k];
  }
  return share;
}

// of all sites what is beyond their parabolas, its gradient added
static double value_of_sites(const tgSim *s, const tgPose *pose, const tgReal *d, Guess *w) {
  const tgModel *m = &s->m;
  double sum = 0;
  twists(s, pose, d, w->twist);
  memset(w->wrench, 0, 6 * (size_t)m->nbody * sizeof *w->wrench);
  for (int i = 0; i < w->nsite; i++) sum += beyond(s, &w->site[i], w);
  for (int b = m->nbody - 1; b > 0; b--) {
    for (int i = m->body_dofadr[b], end = i + m->body_dofnum[b]; i < end; i++)
      for (int k = 0; k < 6; k++) w->grad[i] += w->wrench[6 * b + k] * pose->S[6 * i + k];
    for (int k = 0; k < 6; k++) w->wrench[6 * m->body_parent[b] + k] += w->wrench[6 * b + k];
  }
  return sum;
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
    if (!grows(w, k)) continue;
    double theta = w->theta[k];
    tgReal t = w->t[k], z = 1 - rate(w, k) * t, r = tgSqrt(z), f = w->left[k] * (1 / (z * r) - 1 - theta * t);
    sum += w->left[k] * tgRe(3 / theta * (1 / r - 1) - t - theta * t * t / 2);
    for (int i = slopes(s, pose, x, w) - 1; i >= 0; i--) w->grad[w->dof[i]] += f * w->b[i];
  }
  return w->nsite > 0 ? sum + value_of_sites(s, pose, d, w) : sum;
}

// A += sign S' D S of two bodies' dofs, upper half
static void add_block(const tgSim *s, const tgPose *pose, int body1, int body2, const double *D, double sign, Guess *w, tgReal *A) {
  const tgModel *m = &s->m;
  for (int j = m->body_lastdof[body2]; j >= 0; j = m->dof_parent[j]) {
    tgReal x[6] = {0};
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 6; c++) x[r] += sign * D[6 * r + c] * pose->S[6 * j + c];
    for (int i = m->body_lastdof[body1]; i >= 0; i = m->dof_parent[i])
      if (j >= i) *tgi_pattern_entry(w->pattern, A, i, j) += tgi_sp_dot(pose->S + 6 * i, x);
  }
}

// of sites less their own at d = 0
static void add_sites(const tgSim *s, const tgPose *pose, Guess *w, tgReal *A) {
  memset(w->H, 0, 36 * (size_t)s->nterm * sizeof *w->H);
  for (int i = 0; i < w->nsite; i++) {
    const tgLawSite *x = &w->site[i];
    double dm[6], *D = w->H + 36 * (size_t)x->term;
    changes(s, x, w->twist, dm);
    const Margins a = margins(x, NULL), b = margins(x, dm);
    bend(x, &b, 1, D);
    bend(x, &a, -1, D);
  }
  for (int k = 0; k < s->nterm; k++) {
    const int body[2] = {s->term[k].body1, s->term[k].body2};
    for (int i = 0; i < 4 && w->of[k] > 0; i++)
      add_block(s, pose, body[i / 2], body[i % 2], w->H + 36 * (size_t)k, i / 2 == i % 2 ? 1 : -1, w, A);
  }
}

// its second derivative: H + sum (psi'' - theta) b b' + that of sites, upper half
static void curvature(const tgSim *s, const tgPose *pose, const tgReal *H, Guess *w, tgReal *A) {
  memcpy(A, H, w->pattern->size * sizeof *A);
  for (int k = 0; k < s->nterm; k++) {
    const tgPairTerm *x = &s->term[k];
    if (!grows(w, k)) continue;
    tgReal z = 1 - rate(w, k) * w->t[k], c = w->left[k] * w->theta[k] * (1 / (z * z * tgSqrt(z)) - 1);
    int n = slopes(s, pose, x, w);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (w->dof[j] >= w->dof[i]) *tgi_pattern_entry(w->pattern, A, w->dof[i], w->dof[j]) += c * w->b[i] * w->b[j];
  }
  if (w->nsite > 0) add_sites(s, pose, w, A);
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
  double share = room(s, pose, w->t, w->dt, d, w->step, w);
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

// the largest change, of itself, of a z or a margin
static double largest(const tgSim *s, const tgPose *pose, const tgReal *d, Guess *w) {
  double most = 0, dm[6];
  for (int k = 0; k < s->nterm; k++) most = fmax(most, fabs(rate(w, k) * tgRe(w->t[k])));
  twists(s, pose, d, w->twist);
  for (int i = 0; i < w->nsite; i++) {
    changes(s, &w->site[i], w->twist, dm);
    for (int k = 0; k < 6; k++) most = fmax(most, fabs(dm[k]) / w->site[i].m[k]);
  }
  return most;
}

tgStatus tgi_objective_foresee(tgSim *s, const tgPose *pose, const tgiPattern *p, const tgReal *H, bool exact, const tgReal *g, tgReal *A,
                               tgReal *d) {
  size_t mark = tgi_stack_mark(s);
  Guess w = {.pattern = p};
  if (!take(s, &w) || !take_sites(s, pose, exact, d, &w))
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  leave(s, &w);
  approach(s, pose, d, &w, w.t);
  if (largest(s, pose, d, &w) >= WORTH) {
    double share = room(s, pose, NULL, w.t, NULL, d, &w);
    for (int i = 0; i < s->m.nv; i++) d[i] *= share;
    approach(s, pose, d, &w, w.t);
    double value = model(s, pose, H, g, d, &w);
    for (int round = 0; round < MOST_ROUNDS && descend(s, pose, H, g, &w, A, d, &value); round++) {}
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
