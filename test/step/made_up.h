// made_up.h: a potential model for the tests of the step alone: terms between the frame origins of bodies, with infinite energy within a
// reach, and a friction that is lagged: its force depends on where the bodies were at the start.
//
//   E = kappa/(D - reach) + N0 sqrt(|V|^2 + slip^2),  D = |x1 - x2|,  V = (x1 - x1_0) - (x2 - x2_0),  N0 = push kappa/(D0 - reach)
#ifndef TG_TEST_MADE_UP_H
#define TG_TEST_MADE_UP_H

#include <string.h>

#include "contact/contact.h"
#include "kin/kinematics.h"
#include "step/minimise.h"
#include "support/tree.h"

static const double made_kappa = 0.3, made_reach = 0.01, made_push = 0.05, made_slip = 1e-3;

// start positions of the two ends and N0 with its gradient
typedef struct MadeStart { tgReal x[6], N, dN[6]; } MadeStart;

// bodies k and k + 2, and the last with the world
static int made_terms(const tgContact *c) { return c->model->nbody > 3 ? c->model->nbody - 3 : 0; }
static size_t made_bytes(const tgContact *c, const tgCapacity *z) {
  (void)z;
  return (size_t)(made_terms(c) + 1) * sizeof(MadeStart);
}
static void made_bodies(const tgSim *s, int t, int *b1, int *b2) {
  *b1 = t + 1;
  *b2 = t + 4 == s->m.nbody ? 0 : t + 3;
}
static void made_ends(const tgSim *s, const tgPose *pose, int t, tgReal x[6]) {
  int b1, b2;
  made_bodies(s, t, &b1, &b2);
  tgi_v3_copy(x, pose->xpos + 3 * b1);
  tgi_v3_copy(x + 3, pose->xpos + 3 * b2);
  if (b2 == 0) x[3] = x[4] = x[5] = 0.7;
}

// f(D) = kappa/(D - reach): value, gradient and Hessian in the two ends
static tgReal made_push_apart(const tgReal x[6], tgReal F[6], tgReal H[36]) {
  tgReal e[3], D, y, f, f1, f2;
  tgi_v3_sub(e, x, x + 3);
  D = tgi_v3_norm(e);
  tgi_v3_scale(e, e, 1 / D);
  y = D - made_reach;
  if (!(tgRe(y) > 0)) return INFINITY;
  f = made_kappa / y;
  f1 = -f / y;
  f2 = -2 * f1 / y;
  for (int i = 0; i < 6; i++) F[i] = (i < 3 ? 1 : -1) * f1 * e[i % 3];
  for (int i = 0; i < 36 && H != NULL; i++) {
    int r = i / 6, c = i % 6;
    tgReal sign = (r < 3) == (c < 3) ? 1 : -1, ee = e[r % 3] * e[c % 3];
    H[i] = sign * (f2 * ee + f1 / D * ((r % 3 == c % 3) - ee));
  }
  return f;
}

static tgStatus made_begin(tgSim *s, double h) {
  (void)h;
  MadeStart *start = s->solver;
  for (int t = 0; t < made_terms(s->contact_model); t++) {
    made_ends(s, &s->start, t, start[t].x);
    start[t].N = made_push * made_push_apart(start[t].x, start[t].dN, NULL);
    for (int i = 0; i < 6; i++) start[t].dN[i] *= made_push;
  }
  return TG_OK;
}

// J (6 x 12): velocities of the two ends by the twists
static void made_velocity(const tgReal x[6], tgReal J[72]) {
  for (int i = 0; i < 72; i++) J[i] = 0;
  for (int e = 0; e < 2; e++) {
    const tgReal *p = x + 3 * e;
    tgReal minus[9] = {0, p[2], -p[1], -p[2], 0, p[0], p[1], -p[0], 0};
    for (int i = 0; i < 9; i++) {
      J[12 * (3 * e + i / 3) + 6 * e + i % 3] = minus[i];
      J[12 * (3 * e + i / 3) + 6 * e + 3 + i % 3] = i % 4 == 0;
    }
  }
}

static void made_sandwich(const tgReal L[72], const tgReal X[36], const tgReal R[72], tgReal out[144]) {
  for (int a = 0; a < 12; a++)
    for (int b = 0; b < 12; b++) {
      out[12 * a + b] = 0;
      for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) out[12 * a + b] += L[12 * i + a] * X[6 * i + j] * R[12 * j + b];
    }
}

// derivative of sqrt(V'V + slip^2) by V: g (3) and H (9); returns it
static tgReal made_slide(const MadeStart *start, const tgReal x[6], tgReal g[3], tgReal H[9]) {
  tgReal V[3], r;
  for (int i = 0; i < 3; i++) V[i] = (x[i] - start->x[i]) - (x[3 + i] - start->x[3 + i]);
  r = tgSqrt(tgi_v3_dot(V, V) + made_slip * made_slip);
  for (int i = 0; i < 3; i++) g[i] = V[i] / r;
  for (int i = 0; i < 9; i++) H[i] = ((i % 4 == 0) - g[i / 3] * g[i % 3]) / r;
  return r;
}

static tgStatus made_evaluate(tgSim *s, const tgPose *pose, unsigned want) {
  (void)want;
  const MadeStart *start = s->solver;
  s->nterm = made_terms(s->contact_model);
  s->energy = 0;
  for (int t = 0; t < s->nterm; t++) {
    tgPairTerm *term = &s->term[t];
    term->hardening = 0;
    tgReal x[6], F[6], X[36], J[72], g[3], S[9];
    made_bodies(s, t, &term->body1, &term->body2);
    made_ends(s, pose, t, x);
    term->energy = made_push_apart(x, F, X);
    s->energy += term->energy;
    if (!(tgRe(s->energy) < INFINITY)) return TG_OK;
    tgReal slide = start[t].N * made_slide(&start[t], x, g, S);
    term->energy += slide;
    s->energy += slide;
    for (int i = 0; i < 6; i++) F[i] += (i < 3 ? 1 : -1) * start[t].N * g[i % 3];
    for (int i = 0; i < 36; i++) X[i] += ((i / 6 < 3) == (i % 6 < 3) ? 1 : -1) * start[t].N * S[3 * (i / 6 % 3) + i % 6 % 3];
    made_velocity(x, J);
    tgReal H[144];
    made_sandwich(J, X, J, H);
    for (int e = 0; e < 2; e++) {
      const tgReal *p = x + 3 * e, *f = F + 3 * e;
      tgReal half[9] = {0, -f[2] / 2, f[1] / 2, f[2] / 2, 0, -f[0] / 2, -f[1] / 2, f[0] / 2, 0};
      tgi_sp_screw(term->w + 6 * e, p, f);
      for (int i = 6 * e; i < 6 * e + 6; i++) term->w[i] = -term->w[i];
      for (int i = 0; i < 9; i++) {
        int r = i / 3, c = i % 3;
        H[12 * (6 * e + r) + 6 * e + c] += (f[r] * p[c] + f[c] * p[r]) / 2 - (r == c ? tgi_v3_dot(f, p) : 0);
        H[12 * (6 * e + r) + 6 * e + 3 + c] -= half[i];
        H[12 * (6 * e + 3 + c) + 6 * e + r] -= half[i];
      }
    }
    for (int i = 0; i < 144; i++) term->X[i] = -H[i];
    tgi_term_turn(term);
  }
  return TG_OK;
}

static tgStatus made_mixed(tgSim *s, const tgPose *pose) {
  const MadeStart *start = s->solver;
  for (int t = 0; t < s->nterm; t++) {
    tgReal x[6], X[36], J[72], J0[72], g[3], S[9];
    made_ends(s, pose, t, x);
    made_slide(&start[t], x, g, S);
    for (int i = 0; i < 36; i++) {
      int r = i / 6, c = i % 6;
      X[i] = (r < 3 ? 1 : -1) * (g[r % 3] * start[t].dN[c] - (c < 3 ? 1 : -1) * start[t].N * S[3 * (r % 3) + c % 3]);
    }
    made_velocity(x, J);
    made_velocity(start[t].x, J0);
    made_sandwich(J, X, J0, s->term[t].B);
    for (int i = 0; i < 144; i++) s->term[t].B[i] = -s->term[t].B[i];
  }
  return TG_OK;
}

// the product with B, made for it
static tgStatus made_mixed_vjp(tgSim *s, const tgPose *pose, const tgReal *Z, tgReal *out) {
  TG_TRY(made_mixed(s, pose));
  for (int t = 0; t < s->nterm; t++) {
    const int body[2] = {s->term[t].body1, s->term[t].body2};
    for (int r = 0; r < 12; r++)
      for (int c = 0; c < 12; c++) out[6 * body[c / 6] + c % 6] += Z[6 * body[r / 6] + r % 6] * s->term[t].B[12 * r + c];
  }
  return TG_OK;
}

// the ends stay farther apart than the reach, sampled
static tgStatus made_advance(tgSim *s, const tgPose *from, const tgReal *d, double *fraction) {
  enum { SAMPLES = 16 };
  const tgModel *m = &s->m;
  tgReal at[128], w[128];
  *fraction = 1;
  for (int k = 1; k <= SAMPLES; k++) {
    for (int i = 0; i < m->nv; i++) w[i] = d[i] * k / SAMPLES;
    tg_model_integrate(m, from->q, w, at);
    tgi_kinematics(m, at, &s->trial);
    const tgPose *pose = &s->trial;
    for (int t = 0; t < made_terms(s->contact_model); t++) {
      tgReal x[6], e[3];
      made_ends(s, pose, t, x);
      tgi_v3_sub(e, x, x + 3);
      if (tgRe(tgi_v3_norm(e)) > made_reach) continue;
      *fraction = (k - 0.5) / SAMPLES;
      return TG_OK;
    }
  }
  return TG_OK;
}

static tgStatus made_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  (void)s;
  (void)pose;
  (void)Z;
  (void)only;
  (void)p;
  return TG_OK;
}

static const tgLaw made_potential = {.has = TG_LAW_ENERGY | TG_LAW_POSE, .terms = made_terms, .begin = made_begin,
                                     .evaluate = made_evaluate, .step_bound = made_advance, .start_d = made_mixed,
                                     .start_vjp = made_mixed_vjp, .parameters = made_parameters};

#define MADE(kind, ...) TGI_OPTION_##kind(tgMinimiseOptions, __VA_ARGS__)
static const tgiOption made_option[] = {TG_MINIMISE_OPTIONS(MADE)};
#define MADE_OPTIONS TGI_OPTION_LIST(made_option, tgMinimiseOptions)
static const tgContactModel made_kind = {.word = "made up", .stepper = "minimise", .options = MADE_OPTIONS,
                                         .solver_bytes = made_bytes, .law = &made_potential};

// free: without terms
static int no_terms(const tgContact *c) { (void)c; return 0; }
static tgStatus no_begin(tgSim *s, double h) { (void)s; (void)h; return TG_OK; }
static tgStatus no_energy(tgSim *s, const tgPose *pose, unsigned want) {
  (void)pose;
  (void)want;
  s->nterm = 0;
  s->energy = 0;
  return TG_OK;
}
static tgStatus no_bound(tgSim *s, const tgPose *q, const tgReal *d, double *fraction) {
  (void)s; (void)q; (void)d;
  *fraction = 1;
  return TG_OK;
}
static size_t no_bytes(const tgContact *c, const tgCapacity *z) { (void)c; (void)z; return 0; }
static const tgLaw free_potential = {.has = TG_LAW_ENERGY | TG_LAW_POSE, .terms = no_terms, .begin = no_begin,
                                     .evaluate = no_energy, .step_bound = no_bound, .parameters = made_parameters};
static const tgContactModel free_kind =
    {.word = "free", .stepper = "minimise", .options = MADE_OPTIONS, .solver_bytes = no_bytes, .law = &free_potential};

// of all that are made: the defaults, from the making of one on until they are changed
static tgMinimiseOptions made_options;

static inline tgContact made_contact(const tgModel *m, bool touching) {
  const tgContactModel *kind = touching ? &made_kind : &free_kind;
  tgContact c = {.model = m, .alloc = m->alloc, .options = &made_options.of, .kind = kind, .stepper = &tgi_minimise,
                 .solver_bytes = kind->solver_bytes};
  made_options.of = (tgContactOptions){.size = sizeof made_options, .word = kind->word};
  tgi_options_default(&kind->options, &made_options);
  c.nterm = kind->law->terms(&c);
  tgi_contact_numbers(&c);
  return c;
}

#endif
