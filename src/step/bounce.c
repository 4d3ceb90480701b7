// bounce.c: see bounce.h.
//
// Contacts that bounce at the same time have each their own dt in (1): the impulse that contact i asks for alone, -P
// Q^-1 (1 + Sigma) J_i v-, times dt_i. (2) has one dt for each island, the mean of the dt_i by impulse, as its terms do
// not part by contacts. v- is vhat, a- = (vhat - v)/h.
#include "step/bounce.h"

#include "kin/kinematics.h"
#include "contact/rows.h"
#include "sim/row.h"
#include "step/impulse.h"
#include "step/step.h"

bool tgi_bounces(const tgSim *s) {
  return tgi_impulse_options(s)->bounce_gradient && !tgi_no_contact_gradient(s) && tgi_any_bounce(s);
}

typedef struct Impact {
  tgReal *when;      // nrow: d(dt of the island)/d(J_i dq) of a bouncing normal i, 0 elsewhere
  tgReal *before;    // nv: a-
  tgReal *after;     // nv: a+
} Impact;

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the derivative of a bounce; reserve more and repeat.");
}

static bool bouncing(const tgSim *s, int i) { return tgRe(s->rows->bounce[i]) != 0; }

static tgReal approach(const tgSim *s, int i) { return tgi_row_dot(s, s->rows->J, i, s->vhat); }

// impulses of the bouncing normals of an island
static tgReal impulses_of(const tgSim *s, int island) {
  tgReal sum = 0;
  for (int i = 0; i < s->nrow; i++)
    if (bouncing(s, i) && s->rows->island[i] == island) sum += s->rows->f[i];
  return sum;
}

// smooth acceleration at (q0, v)
static tgStatus smooth_acceleration(tgSim *s, const tgReal *v, tgReal *a) {
  size_t mark = tgi_stack_mark(s);
  tgReal *v0 = tgi_stack_real(s, (size_t)s->m.nv);
  if (v0 == NULL) return short_scratch(s);
  for (int d = 0; d < s->m.nv; d++) v0[d] = s->start.vel[d];
  tgi_step_forces(s, v);
  tgi_impulse_smooth(s, v, a);
  tgi_step_forces(s, v0);
  tgi_impulse_solve(s, a, a);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus impact(tgSim *s, Impact *e) {
  *e = (Impact){tgi_stack_real(s, (size_t)s->nrow), tgi_stack_real(s, (size_t)s->m.nv), tgi_stack_real(s, (size_t)s->m.nv)};
  if (e->when == NULL || e->before == NULL || e->after == NULL) return short_scratch(s);
  for (int i = 0; i < s->nrow; i++) {
    e->when[i] = 0;
    if (!bouncing(s, i)) continue;
    tgReal all = impulses_of(s, s->rows->island[i]);
    if (tgRe(all) > 0) e->when[i] = -s->rows->f[i] / (all * approach(s, i));
  }
  tgi_mean_acceleration(s, s->vhat, e->before);
  return smooth_acceleration(s, s->end.vel, e->after);
}

// What a unit of J_i dq asks of the rows at the impact: 1 + e of the normal, and of its tangents as much as they slip meanwhile.
static void demand(const tgSim *s, int i, tgReal *r) {
  for (int k = 0; k < s->nrow; k++) r[k] = k == i ? 1 + s->rows->bounce[i] : 0;
  for (int k = 0; k < s->nrow; k++)
    if (s->rows->kind[k] == TG_ROW_TANGENT && s->rows->parent[k] == i) r[k] = approach(s, k) / approach(s, i);
}

tgStatus tgi_bounce_jacobian(tgSim *s, tgReal *Dv, tgReal *X) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  size_t mark = tgi_stack_mark(s);
  Impact e;
  TG_TRY(impact(s, &e));
  tgReal *rate = tgi_stack_real(s, (size_t)nv), *jump = tgi_stack_real(s, (size_t)nv), *r = tgi_stack_real(s, (size_t)s->nrow),
         *df = tgi_stack_real(s, (size_t)s->nrow);
  if (rate == NULL || jump == NULL || r == NULL || df == NULL) return short_scratch(s);
  // dC/dq v- + C a- - a+, before Dv changes
  for (int d = 0; d < nv; d++) {
    const tgReal *row = Dv + (size_t)d * (size_t)nc;
    rate[d] = -e.after[d];
    for (int j = 0; j < nv; j++) rate[d] += row[j] * s->vhat[j] + row[nv + j] * e.before[j];
  }
  for (int i = 0; i < s->nrow; i++) {
    if (!bouncing(s, i)) continue;
    demand(s, i, r);
    s->contact_model->kind->rows->solve_jvp(s, r, df);
    for (int d = 0; d < nv; d++) jump[d] = 0;
    tgi_rows_respond(s, df, jump);
    for (int d = 0; d < nv; d++) {
      tgReal w = s->rows->dof_island[d] == s->rows->island[i] ? rate[d] * e.when[i] : 0;
      tgi_row_add(s, s->rows->J, i, jump[d], X + (size_t)d * (size_t)nc);
      tgi_row_add(s, s->rows->J, i, w, Dv + (size_t)d * (size_t)nc);
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_bounce_position_vjp(tgSim *s, const tgReal *x, tgReal *gx, tgReal *gaps) {
  int nv = s->m.nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, (size_t)nv), *g = tgi_stack_real(s, (size_t)n), *r = tgi_stack_real(s, (size_t)n),
         *ask = tgi_stack_real(s, (size_t)n);
  if (y == NULL || g == NULL || r == NULL || ask == NULL) return short_scratch(s);
  tgi_impulse_solve(s, x, y);
  tgi_rows_mul(s, y, g);
  s->contact_model->kind->rows->solve_vjp(s, g, r);
  for (int i = 0; i < n; i++) {
    if (!bouncing(s, i)) continue;
    tgReal sum = 0;
    demand(s, i, ask);
    for (int k = 0; k < n; k++) sum += ask[k] * r[k];
    if (gaps != NULL) gaps[i] += sum;
    tgi_row_add(s, s->rows->J, i, sum, gx);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// parameters move gaps, and with them the impact; what gaps have of q is in J
static tgStatus gap_parameters(tgSim *s, const tgReal *gaps, tgParamGrad *p) {
  tgReal *unused = tgi_stack_real(s, (size_t)s->m.nv);
  if (unused == NULL) return short_scratch(s);
  for (int d = 0; d < s->m.nv; d++) unused[d] = 0;
  tgi_rows_gap_vjp(s, &s->start, gaps, unused, p);
  TG_TRY(tgi_rows_size_parameters(s, &s->start, p));
  tgi_place_vjp(s, &s->start, p, NULL);
  return TG_OK;
}

tgStatus tgi_bounce_vjp(tgSim *s, const tgReal *z, tgReal *gq, tgReal *gv, tgReal *gu, tgParamGrad *p, tgReal *gaps, int *clamps) {
  int nv = s->m.nv;
  size_t mark = tgi_stack_mark(s);
  Impact e;
  TG_TRY(impact(s, &e));
  tgReal *aq = tgi_stack_real(s, (size_t)nv), *av = tgi_stack_real(s, (size_t)nv);
  if (aq == NULL || av == NULL) return short_scratch(s);
  for (int d = 0; d < nv; d++) aq[d] = av[d] = 0;
  tgiAdjoint o = {.gq = aq, .gv = av, .gu = gu, .p = p, .dt = p != NULL ? p->opt_timestep : NULL, .clamps = clamps};
  TG_TRY(tgi_impulse_vjp(s, z, &o));
  for (int i = 0; i < s->nrow; i++) {
    if (!bouncing(s, i)) continue;
    tgReal late = 0;   // dL/dt of the island
    for (int d = 0; d < nv; d++)
      if (s->rows->dof_island[d] == s->rows->island[i]) late += aq[d] * s->vhat[d] + av[d] * e.before[d] - z[d] * e.after[d];
    tgi_row_add(s, s->rows->J, i, late * e.when[i], gq);
    if (gaps != NULL) gaps[i] += late * e.when[i];
  }
  if (p != NULL) TG_TRY(gap_parameters(s, gaps, p));
  for (int d = 0; d < nv; d++) {
    gq[d] += aq[d];
    gv[d] += av[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
