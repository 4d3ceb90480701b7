// activation.c: activations of actuators over a step, with its derivative. See forces.h.
//
// Based on: MuJoCo's documentation of actuation dynamics [mujoco computation]. a activation, u clamped control, tau time constant:
//   integrator    a' = a + h u
//   filter        a' = a + (h/tau) (u - a)
//   filterexact   a' = a + (1 - exp(-h/tau)) (u - a)
//   each then clamped to actrange. Forces of the step are made with a, not with a'.
#include <string.h>

#include "dyn/forces.h"

// a' before its clamp: a + gain (u - leak a), and d(a')/d(tau), d(a')/dh
typedef struct Advance { tgReal gain, leak, by_tau, by_h; } Advance;

static Advance advance(const tgModel *m, int i, double h, tgReal gap) {
  tgReal tau = m->act_timeconst[i], decay;
  switch ((tgActivation)m->act_activation[i]) {
    case TG_ACT_FILTER: return (Advance){h / tau, 1, -gap * h / (tau * tau), gap / tau};
    case TG_ACT_FILTER_EXACT:
      decay = tgExp(-h / tau);
      return (Advance){1 - decay, 1, -gap * decay * h / (tau * tau), gap * decay / tau};
    case TG_ACT_INTEGRATOR:
    case TG_ACT_NONE: break;
  }
  return (Advance){h, 0, 0, gap};
}

void tgi_activation_rule(const tgSim *s, int i, double h, tgActivationRule *r, int *clamps) {
  const tgModel *m = &s->m;
  const tgReal *range = m->act_actrange + 2 * i;
  bool limited = m->act_actlimited[i];
  tgReal a = s->act0[m->act_adr[i]], u = tgi_actuator_control(s, i, &r->control_side, clamps);
  Advance x = advance(m, i, h, m->act_activation[i] == TG_ACT_INTEGRATOR ? u : u - a);
  r->next = a + x.gain * (u - x.leak * a);
  r->side = limited ? tgi_clamp_side(r->next, range[0], range[1], clamps) : 0;
  if (limited) r->next = tgMin(tgMax(r->next, range[0]), range[1]);
  r->D_act = r->side == 0 ? 1 - x.gain * x.leak : 0;
  r->D_control = r->side == 0 ? x.gain : 0;
  r->D_timeconst = r->side == 0 ? x.by_tau : 0;
  r->D_step = r->side == 0 ? x.by_h : 0;
}

void tgi_activation(tgSim *s, double h) {
  for (int i = 0; i < s->m.nu; i++) {
    tgActivationRule r;
    if (s->m.act_adr[i] < 0) continue;
    tgi_activation_rule(s, i, h, &r, NULL);
    s->act1[s->m.act_adr[i]] = r.next;
  }
}

static void parameters(int i, const tgActivationRule *r, tgReal bar, tgParamGrad *p) {
  if (p->act_timeconst != NULL) p->act_timeconst[i] += bar * r->D_timeconst;
  if (p->opt_timestep != NULL) p->opt_timestep[0] += bar * r->D_step;
  if (p->act_actrange != NULL && r->side != 0) p->act_actrange[2 * i + (r->side > 0)] += bar;
  if (p->act_ctrlrange != NULL && r->control_side != 0) p->act_ctrlrange[2 * i + (r->control_side > 0)] += bar * r->D_control;
}

void tgi_activation_vjp(const tgSim *s, double h, const tgReal *g, const tgReal *input, tgReal *da, tgReal *du, tgParamGrad *p,
                        int *clamps) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++) {
    int k = m->act_adr[i];
    tgActivationRule r;
    if (k < 0) {
      if (du != NULL) du[i] = input[i];
      continue;
    }
    tgReal bar = g != NULL ? g[k] : 0;
    tgi_activation_rule(s, i, h, &r, clamps);
    if (da != NULL) da[k] = input[i] + bar * r.D_act;
    if (du != NULL) du[i] = r.control_side == 0 ? bar * r.D_control : 0;
    if (p != NULL) parameters(i, &r, bar, p);
  }
}

// one row of a step's derivative in q', v': the input's columns (nu) become those of activations and controls
static void spread_row(const tgModel *m, const tgReal *input, tgReal *by_act, tgReal *by_control) {
  for (int i = 0; i < m->nu; i++) {
    by_control[i] = m->act_adr[i] < 0 ? input[i] : 0;
    if (m->act_adr[i] >= 0) by_act[m->act_adr[i]] = input[i];
  }
}

void tgi_activation_jacobian(const tgSim *s, double h, tgReal *row, tgReal *D, int *clamps) {
  const tgModel *m = &s->m;
  size_t nx = 2 * (size_t)m->nv, narrow = nx + (size_t)m->nu, wide = narrow + (size_t)m->na;
  for (size_t i = nx; i-- > 0;) {   // from the last row on: a wide row begins where no narrow one before it is
    memmove(D + i * wide, D + i * narrow, narrow * sizeof *D);
    memcpy(row, D + i * wide + nx, (size_t)m->nu * sizeof *row);
    spread_row(m, row, D + i * wide + nx, D + i * wide + nx + m->na);
  }
  for (int i = 0; i < m->nu; i++) {
    int k = m->act_adr[i];
    tgReal *out = D + (nx + (size_t)k) * wide;
    tgActivationRule r;
    if (k < 0) continue;
    for (size_t j = 0; j < wide; j++) out[j] = 0;
    tgi_activation_rule(s, i, h, &r, clamps);
    out[nx + (size_t)k] = r.D_act;
    out[nx + (size_t)m->na + (size_t)i] = r.control_side == 0 ? r.D_control : 0;
  }
}
