// controls.c: see controls.h.
#include "optim/controls.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "io/number.h"
#include "sim/sim.h"

bool tgi_controls_sines(const tgTask *t) { return t->yaml->controls != NULL && t->yaml->controls->basis == TG_BASIS_SINES; }
int tgi_controls_every(const tgTask *t) { return t->yaml->controls != NULL && t->yaml->controls->every > 0 ? t->yaml->controls->every : 1; }
static int terms(const tgTask *t) { return t->yaml->controls != NULL && t->yaml->controls->terms > 0 ? t->yaml->controls->terms : 1; }

int tgi_controls_count(const tgTask *t) {
  if (t->yaml->controls == NULL) return 0;
  double per = tgi_controls_sines(t) ? 1 + 3.0 * terms(t)
               : (t->steps + tgi_controls_every(t) - 1) / tgi_controls_every(t), n = per * t->model->nu;
  return n > 1e9 ? -1 : (int)n;
}

// Under which a servo i exerts no force at the pose, at rest, once its activation has followed: -bias/gain. 0 of what is none: a motor,
// also one whose constant bias is a load, and an actuator that integrates its control.
static double at_pose(const tgSim *s, int i) {
  const tgModel *m = &s->m;
  double length = tgRe(s->act_length[i]), gain = tgRe(m->act_gain[3 * i]) + tgRe(m->act_gain[3 * i + 1]) * length,
         bias = tgRe(m->act_bias[3 * i]) + tgRe(m->act_bias[3 * i + 1]) * length, u = -bias / gain;
  bool servo = tgRe(m->act_bias[3 * i + 1]) != 0;   // it feels the position
  return servo && gain != 0 && bias != 0 && isfinite(u) && m->act_activation[i] != TG_ACT_INTEGRATOR ? u : 0;
}

static tgStatus from_pose(tgTask *t, tgError *error) {
  tgSim *s = tg_sim_create(t->model, NULL, &t->alloc, error);
  if (s == NULL) return TG_ERR_MEMORY;
  memcpy(s->qpos, t->q0, (size_t)t->model->nq * sizeof *t->q0);
  tgStatus st = tg_sim_forward(s);
  if (st != TG_OK) tgi_error(error, st, "controls: the start: %.500s", tg_sim_error(s)->text);
  for (int i = 0; i < t->model->nu && st == TG_OK; i++) t->u0[i] = at_pose(s, i);
  tg_sim_free(s);
  return st;
}

static tgStatus from_keyframe(tgTask *t, tgError *error) {
  const tgModel *m = t->model;
  const char *name = t->yaml->start != NULL ? t->yaml->start->keyframe : NULL;
  int key = name != NULL ? tg_model_find(m, TG_THING_KEY, name) : -1;
  if (key < 0) return tgi_error(error, TG_ERR_INVALID, "controls: start: keyframe: the task's start names none");
  for (int i = 0; i < m->nu; i++) t->u0[i] = tgRe(m->key_ctrl[key * m->nu + i]);
  return TG_OK;
}

tgStatus tgi_controls_resolve(tgTask *t, tgError *error) {
  size_t nu = (size_t)t->model->nu;
  const char *said = t->yaml->controls != NULL ? t->yaml->controls->start : NULL;
  if (t->u0 == NULL && (t->u0 = t->alloc.alloc(t->alloc.ctx, nu * sizeof *t->u0 + 1)) == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "controls: out of memory for their start");
  if (said == NULL || strcmp(said, "pose") == 0) return from_pose(t, error);
  if (strcmp(said, "keyframe") == 0) return from_keyframe(t, error);
  const char *end = said + strlen(said);
  double value;
  if (tgi_number(said, end, &value) != end || !isfinite(value))
    return tgi_error(error, TG_ERR_INVALID, "controls: start: '%s' is neither a finite number nor pose nor keyframe", said);
  for (size_t i = 0; i < nu; i++) t->u0[i] = value;
  return TG_OK;
}

void tgi_controls_start(const tgTask *t, uint64_t seed, double *x) {
  const YamlControls *c = t->yaml->controls;
  int n = t->ncontrol, per = n > 0 && tgi_controls_sines(t) ? 1 + 3 * terms(t) : 1;
  for (int i = 0; i < n; i++) {
    double noise = c->start_noise > 0 && seed != 0 ? c->start_noise * tg_random_normal(seed, 1, (uint64_t)i) : 0;
    int part = i % per, term = (part - 1) / 3;
    // the offset and the amplitudes may be noisy; frequencies start as harmonics, phases at 0
    if (part == 0 || !tgi_controls_sines(t)) x[i] = t->u0[tgi_controls_sines(t) ? i / per : i % t->model->nu] + noise;
    else if ((part - 1) % 3 == 0) x[i] = c->amplitude + noise;
    else x[i] = (part - 1) % 3 == 1 ? (c->frequency > 0 ? c->frequency : 1) * (term + 1) : 0;
  }
}

// a control beyond its actuator's range changes nothing, and its derivative is 0. A box apart from the range stays as the file gives it.
static void into_range(const tgModel *m, int k, double *low, double *high) {
  double a = tgRe(m->act_ctrlrange[2 * k]), b = tgRe(m->act_ctrlrange[2 * k + 1]);
  if (!m->act_ctrllimited[k] || *high < a || *low > b) return;
  *low = fmax(*low, a);
  *high = fmin(*high, b);
}

void tgi_controls_box(const tgTask *t, double *low, double *high) {
  const YamlControls *c = t->yaml->controls;
  int n = t->ncontrol, per = n > 0 && tgi_controls_sines(t) ? 1 + 3 * terms(t) : 1;
  for (int i = 0; i < n; i++) {
    int part = i % per;
    low[i] = c->low != NULL ? *c->low : -INFINITY;
    high[i] = c->high != NULL ? *c->high : INFINITY;
    if (!tgi_controls_sines(t)) into_range(t->model, i % t->model->nu, &low[i], &high[i]);
    if (part == 0 || (part - 1) % 3 == 0) continue;
    low[i] = (part - 1) % 3 == 1 ? 0 : -INFINITY;   // a frequency, a phase
    high[i] = INFINITY;
  }
}

// value of control k at time s, or with g its derivatives times w, added
static double sine_sum(const double *x, int nterm, double s, double w, double *g) {
  double u = x[0];
  if (g != NULL) g[0] += w;
  for (int i = 0; i < nterm; i++) {
    const double *y = x + 1 + 3 * i;   // amplitude, frequency [Hz], phase [rad]
    double angle = 2 * TG_PI * y[1] * s + y[2];
    u += y[0] * sin(angle);
    if (g == NULL) continue;
    g[1 + 3 * i] += w * sin(angle);
    g[2 + 3 * i] += w * y[0] * cos(angle) * 2 * TG_PI * s;
    g[3 + 3 * i] += w * y[0] * cos(angle);
  }
  return u;
}

void tgi_controls_expand(const tgTask *t, const double *x, double *u) {
  int nu = t->model->nu;
  for (int s = 0; s < t->steps; s++, u += nu)
    for (int k = 0; k < nu; k++) {
      if (t->ncontrol == 0) u[k] = t->u0[k];   // none is decided: the start is held
      else if (!tgi_controls_sines(t)) u[k] = x[(s / tgi_controls_every(t)) * nu + k];
      else u[k] = sine_sum(x + k * (1 + 3 * terms(t)), terms(t), s * t->h, 0, NULL);
    }
}

void tgi_controls_vjp(const tgTask *t, const double *x, const double *du, double *g) {
  int nu = t->model->nu;
  memset(g, 0, (size_t)t->ncontrol * sizeof *g);
  if (t->ncontrol == 0) return;
  for (int s = 0; s < t->steps; s++, du += nu)
    for (int k = 0; k < nu; k++) {
      int per = 1 + 3 * terms(t);
      if (!tgi_controls_sines(t)) g[(s / tgi_controls_every(t)) * nu + k] += du[k];
      else sine_sum(x + k * per, terms(t), s * t->h, du[k], g + k * per);
    }
}

int tgi_controls_range(const tgTask *t, int from, int to, int *count) {
  int nu = t->model->nu, k = tgi_controls_every(t);
  *count = t->ncontrol;
  if (t->ncontrol == 0 || tgi_controls_sines(t)) return 0;
  *count = ((to - 1) / k - from / k + 1) * nu;
  return from / k * nu;
}

void tgi_controls_jacobian(const tgTask *t, const double *x, int s, int first, int count, double *J) {
  int nu = t->model->nu, per = 1 + 3 * terms(t);
  memset(J, 0, (size_t)nu * (size_t)count * sizeof *J);
  if (t->ncontrol == 0) return;
  for (int k = 0; k < nu; k++) {
    int at = s / tgi_controls_every(t) * nu + k - first;
    if (tgi_controls_sines(t)) sine_sum(x + k * per, terms(t), s * t->h, 1, J + (size_t)k * (size_t)count + k * per);
    else if (at >= 0 && at < count) J[(size_t)k * (size_t)count + (size_t)at] = 1;
  }
}
