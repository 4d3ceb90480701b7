// impulse_step.c: the step of impulses as a map: positions by the velocities before or after the impulses, and the
// derivatives of both. See impulse.h.
//
// Based on: [math/lcp (3)]. q' = q (+) h v' (symplectic) or q (+) h v.
#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "step/bounce.h"
#include "contact/rows.h"
#include "step/impulse.h"
#include "step/impulse_parts.h"
#include "step/step.h"

static bool symplectic(const tgSim *s) { return tgi_impulse_options(s)->symplectic; }

static tgStatus supports(tgContact *c, tgError *error) {
  (void)c;
  (void)error;
  return TG_OK;
}

static tgStatus move(tgSim *s, double h, const void *record) {
  if (tgi_closes(s)) {
    s->unsolved = TG_OK;
    tgStatus parts = tgi_parts_step(s, h, record);
    return parts != TG_OK ? parts : s->unsolved;   // a part that has no answer is none to go on from
  }
  tgi_start_smooth(s);
  TG_TRY(tgi_impulse_velocity(s, h, record));
  TG_TRY_OUTCOME(tgi_parts_note_answers(s, false));
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv);
  if (w == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  const tgReal *v = symplectic(s) ? s->end.vel : s->start.vel;
  for (int d = 0; d < s->m.nv; d++) w[d] = h * v[d];
  tg_model_integrate(&s->m, s->start.q, w, s->end.q);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus step(tgSim *s, double h) { return move(s, h, NULL); }

static size_t record_bytes(const tgSim *s) {
  if (tgi_closes(s)) return tgi_parts_record_bytes(s);
  return tgi_servo_record_bytes(s) + (s->contact_model != NULL ? s->contact_model->kind->rows->record_bytes(s) : 0);
}

static void record(const tgSim *s, void *to) {
  if (tgi_closes(s)) {
    tgi_parts_record(s, to);
    return;
  }
  tgi_servo_record(s, to);
  if (s->nrow > 0) s->contact_model->kind->rows->record(s, (char *)to + tgi_servo_record_bytes(s));
}

static void remember(tgSim *s) {
  if (s->contact_model != NULL) tgi_rows_remember(s);
}

static bool is_one_flow(const tgSim *s) { return s->npart < 2; }

static void label(const tgSim *s, tgGradInfo *info) {
  if (s->aware_row >= 0) {
    char text[130];
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "complementarity-aware: %s", tgi_row_label(s, s->aware_row, text, sizeof text));
  }
  bool pressed = s->nrow > 0 || s->npart > 1;   // what an impact pressed on may be far off in the last part
  if (tgi_impulse_options(s)->zero_contact_gradient && pressed) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "contact forces are held constant (option zero_contact_gradient)");
  } else if (tgi_bounces(s)) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "a bounce is differentiated as an impact in continuous time (option bounce_gradient)");
  }
}

// ---- adjoint ----

// x <- R' x
static tgStatus bounce_position(tgSim *s, tgReal *x, tgReal *gaps) {
  size_t mark = tgi_stack_mark(s);
  tgReal *old = tgi_stack_real(s, (size_t)s->m.nv);
  if (old == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < s->m.nv; d++) old[d] = x[d];
  tgStatus status = tgi_bounce_position_vjp(s, old, x, gaps);
  tgi_stack_free(s, mark);
  return status;
}

static tgStatus vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  bool by_new = symplectic(s);
  if (tgi_closes(s)) return tgi_parts_vjp(s, gq, gv, aq, av, du, dp, clamps);
  tgReal *z = tgi_stack_real(s, (size_t)nv), *w = tgi_stack_real(s, (size_t)nv), *gw = tgi_stack_real(s, (size_t)nv);
  if (z == NULL || w == NULL || gw == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) {
    gw[d] = 0;
    z[d] = gv != NULL ? gv[d] : 0;
    w[d] = s->h * (by_new ? s->end.vel : s->start.vel)[d];
  }
  bool bounces = tgi_bounces(s);
  tgReal *gaps = NULL;
  if (bounces && dp != NULL) {
    gaps = tgi_stack_real(s, (size_t)s->nrow);
    if (gaps == NULL) return tgi_no_room(s, "adjoint");
    for (int i = 0; i < s->nrow; i++) gaps[i] = 0;
  }
  // q' = q (+) h v' or q (+) h v
  if (gq != NULL) {
    tgi_integrate_vjp(m, w, gq, aq, gw);
    if (bounces) TG_TRY(bounce_position(s, aq, gaps));
    if (bounces && !by_new) TG_TRY(bounce_position(s, gw, NULL));
    for (int d = 0; d < nv; d++) *(by_new ? &z[d] : &av[d]) += s->h * gw[d];
    for (int d = 0; d < nv && dp != NULL && dp->opt_timestep != NULL; d++)
      dp->opt_timestep[0] += (by_new ? s->end.vel : s->start.vel)[d] * gw[d];
  }
  if (bounces) return tgi_bounce_vjp(s, z, aq, av, du, dp, gaps, clamps);
  tgiAdjoint o = {.gq = aq, .gv = av, .gu = du, .p = dp, .dt = dp != NULL ? dp->opt_timestep : NULL, .clamps = clamps};
  return tgi_impulse_vjp(s, z, &o);
}

// ---- of contacts ----

tgStatus tgi_part_touches_vjp(tgSim *s, tgiTouchSeeds *k, const tgiAdjoint *o) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *z = tgi_stack_real(s, nv + 1), *force = tgi_stack_real(s, (size_t)s->nrow + 1),
         *shape = tgi_stack_real(s, 12 * (size_t)s->ncon + 1);
  if (z == NULL || force == NULL || shape == NULL) return tgi_no_room(s, "adjoint");
  memset(z, 0, nv * sizeof *z);
  tgiAdjoint with = *o;
  with.force = force;
  with.shape = shape;
  tgStatus status = tgi_touches_weigh(s, k, force, shape) ? tgi_impulse_vjp(s, z, &with) : TG_OK;
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_touches_have_friction(tgSim *s, const tgParamGrad *p) {
  const tgContactModel *kind = s->contact_model->kind;
  tgContactInfo c;
  char a[128], b[128];
  if (p == NULL || (p->geom_friction == NULL && p->pair_friction == NULL)) return TG_OK;
  for (int i = 0, n = kind->touches(s); i < n; i++) {
    int pair = kind->touch(s, i, &c) ? tgi_pair_of(&s->m, c.geom1, c.geom2) : -1;
    if (pair < 0 || s->m.pair_condim[pair] == 1 || tgRe(tgi_pair_friction(&s->m, pair, 0, NULL)) > 0) continue;
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "The force between %s and %s has no derivative in friction, which is 0 there.",
                     tgi_model_label(&s->m, TG_THING_GEOM, c.geom1, a, sizeof a),
                     tgi_model_label(&s->m, TG_THING_GEOM, c.geom2, b, sizeof b));
  }
  return TG_OK;
}

static tgStatus touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  if (tgi_impulse_options(s)->zero_contact_gradient)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                     "Forces of contacts have no derivative: option zero_contact_gradient holds them constant.");
  if (tgi_bounces(s))
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                     "Forces of a bounce have no derivative with the option bounce_gradient, which is of an impact in continuous time.");
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(tgi_touches_have_friction(s, dp));
  if (dp != NULL && dp->opt_timestep != NULL) dp->opt_timestep[0] += tgi_touches_by_length(s, g);
  if (tgi_closes(s)) return tgi_parts_touches_vjp(s, g, aq, av, du, dp, clamps);
  tgiTouchSeeds seeds = {.grad = g, .share = 1};
  tgiAdjoint o = {.gq = aq, .gv = av, .gu = du, .p = dp, .dt = dp != NULL ? dp->opt_timestep : NULL, .clamps = clamps};
  return s->nrow > 0 ? tgi_part_touches_vjp(s, &seeds, &o) : TG_OK;
}

// ---- dense derivative ----

// rows of q' of a step that bounces: Xq holds R
static tgStatus bouncing_positions(tgSim *s, const tgReal *w, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  size_t size = (size_t)nv * (size_t)nc;
  tgReal *Xq = tgi_stack_real(s, size), *Xw = tgi_stack_real(s, size), *Dv = D + size;
  if (Xq == NULL || Xw == NULL) return tgi_no_room(s, "Jacobian");
  bool by_new = symplectic(s);
  for (int d = 0; d < nv; d++)
    for (int c = 0; c < nc; c++) Xq[d * nc + c] = c == d ? 1 : 0;
  TG_TRY(tgi_bounce_jacobian(s, Dv, Xq));
  for (int d = 0; d < nv; d++)
    for (int c = 0; c < nc; c++)
      Xw[d * nc + c] = s->h * (by_new ? Dv[d * nc + c] : c >= nv && c < 2 * nv ? Xq[d * nc + c - nv] : 0);
  tgi_integrate_jacobian(&s->m, w, nc, Xq, Xw, D);
  return TG_OK;
}

// rows of q' from those of v'
static tgStatus positions(tgSim *s, const tgReal *w, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, *span = tgi_stack_bytes(s, 2 * ((size_t)nv + 1) * sizeof *span);
  size_t size = (size_t)nv * (size_t)nc;
  if (span == NULL) return tgi_no_room(s, "Jacobian");
  tgi_island_spans(s, span);
  memset(D, 0, size * sizeof *D);
  tgi_integrate_own_jacobian(&s->m, w, s->h, nc, symplectic(s) ? D + size : NULL, span, D);
  return TG_OK;
}

static tgStatus jacobian(tgSim *s, tgReal *D, int *clamps) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  if (tgi_closes(s)) return tgi_parts_jacobian(s, D, clamps);
  tgReal *w = tgi_stack_real(s, (size_t)nv);
  if (w == NULL) return tgi_no_room(s, "Jacobian");
  const tgReal *v = symplectic(s) ? s->end.vel : s->start.vel;
  for (int d = 0; d < nv; d++) w[d] = s->h * v[d];
  TG_TRY(tgi_impulse_jacobian(s, D + (size_t)nv * (size_t)nc, clamps));
  return tgi_bounces(s) ? bouncing_positions(s, w, D) : positions(s, w, D);
}

static tgStatus inside(tgSim *s, tgiInside *out) { return tgi_closes(s) ? tgi_parts_inside(s, out) : TG_OK; }

const tgStepper tgi_impulse = {.name = "impulse", .rows = true, .supports = supports, .step = step,
                               .remember = remember, .pins = is_one_flow, .record_bytes = record_bytes, .record = record, .revisit = move,
                               .vjp = vjp, .touches_vjp = touches_vjp, .jacobian = jacobian, .label = label, .inside = inside};
