// jet.h: numbers with their first and second derivatives in a few variables: what is written once with them is differentiated exactly.
//
// A function phi of a jet a has d = phi' a_i and dd = phi'' a_i a_j + phi' a_ij.
#ifndef TG_CONTACT_DAMPED_JET_H
#define TG_CONTACT_DAMPED_JET_H

#include "math/real.h"

enum { TGI_JET_VARIABLES = 6 };

/// dd is symmetric and kept as its lower half, row by row: (0,0), (1,0), (1,1), (2,0) ..
typedef struct tgiJet { tgReal f, d[TGI_JET_VARIABLES], dd[TGI_JET_VARIABLES * (TGI_JET_VARIABLES + 1) / 2]; } tgiJet;
/// How many variables there are, and of what order derivatives are wanted, 0 to 2; with 0 there are no variables.
typedef struct tgiJets { int n, order; } tgiJets;

static inline int tgi_jet_pairs(tgiJets k) { return k.order > 1 ? k.n * (k.n + 1) / 2 : 0; }
/// Entry (i, j) of the second derivative.
static inline tgReal tgi_jet_dd(const tgiJet *a, int i, int j) { return i >= j ? a->dd[i * (i + 1) / 2 + j] : a->dd[j * (j + 1) / 2 + i]; }

static inline void tgi_jet_constant(tgiJets k, tgReal x, tgiJet *out) {
  out->f = x;
  for (int i = 0; i < k.n; i++) out->d[i] = 0;
  for (int i = 0; i < tgi_jet_pairs(k); i++) out->dd[i] = 0;
}
/// Variable i, or a constant where the jets have fewer.
static inline void tgi_jet_variable(tgiJets k, int i, tgReal x, tgiJet *out) {
  tgi_jet_constant(k, x, out);
  if (i < k.n) out->d[i] = 1;
}
/// out = x a + y b; out may be either.
static inline void tgi_jet_sum(tgiJets k, tgReal x, const tgiJet *a, tgReal y, const tgiJet *b, tgiJet *out) {
  out->f = x * a->f + y * b->f;
  for (int i = 0; i < k.n; i++) out->d[i] = x * a->d[i] + y * b->d[i];
  for (int i = 0; i < tgi_jet_pairs(k); i++) out->dd[i] = x * a->dd[i] + y * b->dd[i];
}
/// out = phi(a) from phi's value and two derivatives at a->f; out may be a.
static inline void tgi_jet_chain(tgiJets k, const tgiJet *a, tgReal phi, tgReal phi1, tgReal phi2, tgiJet *out) {
  for (int i = 0, p = 0; i < k.n && k.order > 1; i++)
    for (int j = 0; j <= i; j++, p++) out->dd[p] = phi2 * a->d[i] * a->d[j] + phi1 * a->dd[p];
  out->f = phi;
  for (int i = 0; i < k.n; i++) out->d[i] = phi1 * a->d[i];
}
/// out = a b; out may be either.
static inline void tgi_jet_mul(tgiJets k, const tgiJet *a, const tgiJet *b, tgiJet *out) {
  for (int i = 0, p = 0; i < k.n && k.order > 1; i++)
    for (int j = 0; j <= i; j++, p++) out->dd[p] = a->f * b->dd[p] + b->f * a->dd[p] + a->d[i] * b->d[j] + a->d[j] * b->d[i];
  for (int i = 0; i < k.n; i++) out->d[i] = a->f * b->d[i] + b->f * a->d[i];
  out->f = a->f * b->f;
}
static inline void tgi_jet_sqrt(tgiJets k, const tgiJet *a, tgiJet *out) {
  tgReal r = tgSqrt(a->f);
  tgi_jet_chain(k, a, r, 1 / (2 * r), -1 / (4 * r * a->f), out);
}
static inline void tgi_jet_exp(tgiJets k, const tgiJet *a, tgiJet *out) {
  tgReal e = tgExp(a->f);
  tgi_jet_chain(k, a, e, e, e, out);
}
static inline void tgi_jet_log(tgiJets k, const tgiJet *a, tgiJet *out) {
  tgi_jet_chain(k, a, tgLog(a->f), 1 / a->f, -1 / (a->f * a->f), out);
}
static inline void tgi_jet_inverse(tgiJets k, const tgiJet *a, tgiJet *out) {
  tgReal r = 1 / a->f;
  tgi_jet_chain(k, a, r, -r * r, 2 * r * r * r, out);
}

#endif
