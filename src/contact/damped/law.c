// law.c: see law.h.
#include "contact/damped/law.h"

#define BARRIER_ONSET 10.0   // resting gaps
#define LEAST 1e-4           // of a gap over the length at which the force sets in: below it the force is a polynomial

// The barriers of jets, l > g > 0, and minus their slopes in g:
//   barrier      B = 2 (l - g) log(l/g) + (l - g)^2/g,   2 log(l/g) + 4 (l - g)/g + (l - g)^2/g^2
//   barrier_c2   B = (l - g)^2 log(l/g)/l,               (2 (l - g) log(l/g) + (l - g)^2/g)/l
static void barrier_shape(tgDampedLaw law, tgiJets k, const tgiJet *l, const tgiJet *g, tgiJet *B, tgiJet *slope) {
  tgiJet u, share, inverse, log, t;
  tgi_jet_sum(k, 1, l, -1, g, &u);
  tgi_jet_inverse(k, g, &inverse);
  tgi_jet_mul(k, l, &inverse, &share);
  tgi_jet_log(k, &share, &log);
  tgi_jet_mul(k, &u, &inverse, &share);
  tgi_jet_mul(k, &u, &log, B);
  tgi_jet_mul(k, &u, &share, &t);
  if (law == TG_DAMPED_BARRIER_C2) {
    tgi_jet_inverse(k, l, &inverse);
    tgi_jet_sum(k, 2, B, 1, &t, slope);
    tgi_jet_mul(k, slope, &inverse, slope);
    tgi_jet_mul(k, B, &u, B);
    tgi_jet_mul(k, B, &inverse, B);
    return;
  }
  tgi_jet_sum(k, 2, B, 1, &t, B);
  tgi_jet_mul(k, &share, &share, &t);
  tgi_jet_sum(k, 2, &log, 4, &share, slope);
  tgi_jet_sum(k, 1, slope, 1, &t, slope);
}

// amplitude, length, and the stiffness at the resting gap
static void shape(const tgiJet *from, double weight, tgiJets k, tgiDampedNumbers *n, tgiJet *stiffness) {
  const tgiJet *gap = &from[TGI_FROM_GAP];
  tgiJet t;
  n->length = !tgi_damped_is_inverse(n->law) && tgRe(from[TGI_FROM_ONSET].f) > 0 ? from[TGI_FROM_ONSET] : *gap;
  tgi_jet_inverse(k, gap, stiffness);
  tgi_jet_sum(k, weight, stiffness, 0, stiffness, stiffness);
  if (tgi_damped_is_inverse(n->law)) {
    double sharp = tgi_damped_rests(n->law);
    tgi_jet_sum(k, weight * sharp, gap, 0, gap, &n->amplitude);
    tgi_jet_sum(k, sharp, gap, 0, gap, &n->length);
  } else if (n->law == TG_DAMPED_PENALTY) {
    if (tgRe(from[TGI_FROM_STIFFNESS].f) > 0) *stiffness = from[TGI_FROM_STIFFNESS];
    n->amplitude = *stiffness;
  } else {
    if (!(tgRe(from[TGI_FROM_ONSET].f) > 0)) tgi_jet_sum(k, BARRIER_ONSET, gap, 0, gap, &n->length);
    barrier_shape(n->law, k, &n->length, gap, &t, stiffness);
    tgi_jet_inverse(k, &t, &t);
    tgi_jet_sum(k, weight, &t, 0, &t, &n->amplitude);
    tgi_jet_mul(k, &n->amplitude, stiffness, stiffness);
  }
}

void tgi_damped_numbers(tgDampedLaw law, const tgReal value[6], double weight, double mass, bool midpoint, tgiJets k, tgiDampedNumbers *n) {
  tgiJet from[6], stiffness, time;
  for (int i = 0; i < 6; i++) tgi_jet_variable(k, i, value[i], &from[i]);
  n->law = law;
  n->reach = 0;
  shape(from, weight, k, n, &stiffness);
  // 2 ratio sqrt(mass/stiffness), by half a step less where the rule damps nothing itself
  tgi_jet_inverse(k, &stiffness, &time);
  tgi_jet_sum(k, 4 * mass, &time, 0, &time, &time);
  tgi_jet_sqrt(k, &time, &time);
  tgi_jet_mul(k, &time, &from[TGI_FROM_RATIO], &time);
  if (midpoint) tgi_jet_sum(k, 1, &time, -0.5, &from[TGI_FROM_STEP], &time);
  if (tgRe(from[TGI_FROM_TIME].f) > 0) time = from[TGI_FROM_TIME];
  if (!(tgRe(time.f) > 0)) tgi_jet_constant(k, 0, &time);
  tgi_jet_inverse(k, &from[TGI_FROM_STEP], &n->alpha);
  tgi_jet_mul(k, &n->alpha, &time, &n->alpha);
}

// b(x) of the laws that grow without bound, a force times b(g/l), its slope and its second derivative, x > 0
static void unbounded(tgDampedLaw law, tgReal x, tgReal b[3]) {
  tgReal u = 1 - x, log = -tgLog(x), v = u / x;
  if (tgi_damped_is_inverse(law)) {
    b[0] = 1 / x;
    b[1] = -1 / (x * x);
    b[2] = 2 / (x * x * x);
  } else if (tgRe(u) <= 0) {
    b[0] = b[1] = b[2] = 0;
  } else if (law == TG_DAMPED_BARRIER_C2) {
    b[0] = u * u * log;
    b[1] = -u * (2 * log + v);
    b[2] = 2 * log + 4 * v + v * v;
  } else {
    b[0] = 2 * u * log + u * v;
    b[1] = -(2 * log + 4 * v + v * v);
    b[2] = (2 + 4 / x + 2 * v / x) / x;
  }
}

// the law without its fading
static void force(const tgiDampedNumbers *n, tgReal g, tgiDampedForce *out) {
  tgReal amplitude = n->amplitude.f, l = n->length.f, b[3];
  if (n->law == TG_DAMPED_PENALTY) {
    tgReal r = tgSqrt(g * g + l * l);
    // of g above 0 the difference would cancel
    tgReal over = tgRe(g) > 0 ? l * l / (r + g) : r - g;
    *out = (tgiDampedForce){.f = amplitude * over / 2, .slope = -amplitude * over / (2 * r), .by_amplitude = over / 2,
                            .by_length = amplitude * l / (2 * r)};
    return;
  }
  tgReal x = g / l;
  if (tgRe(x) < LEAST) {
    unbounded(n->law, LEAST, b);
    tgReal d = x - LEAST;
    b[0] += d * (b[1] + d * b[2] / 2);
    b[1] += d * b[2];
  } else {
    unbounded(n->law, x, b);
  }
  // the amplitude of one over the gap is a force times a length already
  bool inverse = tgi_damped_is_inverse(n->law);
  tgReal scale = inverse ? 1 / l : l;
  *out = (tgiDampedForce){.f = amplitude * scale * b[0], .slope = amplitude * scale / l * b[1], .by_amplitude = scale * b[0]};
  out->by_length = amplitude * (inverse ? -(b[0] + x * b[1]) / (l * l) : b[0] - x * b[1]);
}

// times 1 - S, S the step of fifth order from half the reach to the reach: twice differentiable, and as the law it falls
void tgi_damped_force(const tgiDampedNumbers *n, tgReal g, tgiDampedForce *out) {
  double half = n->reach / 2;
  force(n, g, out);
  if (!(n->reach > 0) || tgRe(g) <= half) return;
  tgReal x = (g - half) / half, S = x * x * x * (10 - 15 * x + 6 * x * x);
  if (tgRe(g) >= n->reach) {
    *out = (tgiDampedForce){.f = 0};
    return;
  }
  out->slope = out->slope * (1 - S) - out->f * 30 * x * x * (1 - x) * (1 - x) / half;
  out->f *= 1 - S;
  out->by_amplitude *= 1 - S;
  out->by_length *= 1 - S;
}

double tgi_damped_end(const tgiDampedNumbers *n) {
  bool ends = n->law == TG_DAMPED_BARRIER || n->law == TG_DAMPED_BARRIER_C2;
  double end = ends ? tgRe(n->length.f) : INFINITY;
  return n->reach > 0 ? fmin(end, n->reach) : end;
}

double tgi_damped_near(const tgiDampedNumbers *n) { return tgRe(n->length.f) / 4; }

double tgi_damped_gap(const tgiDampedNumbers *n, double f, double most) {
  double gap = tgi_damped_is_inverse(n->law) ? tgRe(n->amplitude.f) / f : INFINITY;
  if (n->reach > 0 ? gap <= n->reach / 2 : gap < INFINITY) return gap;
  double low = 0, high = most;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    tgiDampedForce at;
    tgi_damped_force(n, middle, &at);
    *(tgRe(at.f) < f ? &high : &low) = middle;
  }
  return high;
}
