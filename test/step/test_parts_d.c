// test_parts_d.c: the derivatives of the parts of a step by the rule `closing`, each called apart: a flow and an impact, by complex
// step; a flow's adjoint and dense derivative by each other; and the mass matrix between two vectors.
#include <stdlib.h>
#include <string.h>

#include "model/blocks.h"
#include "check/numdiff.h"
#include "step/impulse_flow.h"
#include "step/impulse_impact.h"
#include "step/rods.h"
#include "step/step.h"
#include "support/deriv.h"
#include "support/tree.h"
#include "tangere/lcp.h"

static const double h = 0.004, tolerance = 1e-9;
enum { NQ = 8, NV = 7, STATES = 400 };

typedef enum Part { FLOW, IMPACT, MASS } Part;

typedef struct Ctx {
  tgSim *s;
  Part part;
  tgReal q1[NQ];             // where the flow from the nominal state ends
  tgReal left[NV], right[NV];  // of MASS
} Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
  for (int i = 0; i < NV; i++) out[NQ + i] = x[NQ + i] + d[NV + i];
}

static tgReal between(const tgSim *s, const tgReal *x, const tgReal *y) {
  tgReal sum = 0;
  for (int i = 0; i < s->m.nv; i++)
    for (int k = i; k >= 0; k = s->m.dof_parent[k]) {
      tgReal M = tgi_block_row(&s->m, s->M, i)[k];
      sum += M * (k == i ? x[i] * y[i] : x[i] * y[k] + x[k] * y[i]);
    }
  return sum;
}

// x = (q, v): the part from there is in the sim afterwards; y, NULL: not wanted, what becomes of it: displacement and velocity, or a number
static tgStatus go(Ctx *c, const tgReal *x, tgReal *y) {
  tgSim *s = c->s;
  int fast;
  s->h = h;
  tgi_stack_free(s, 0);
  memcpy(s->start.q, x, NQ * sizeof *x);
  memcpy(s->start.vel, x + NQ, NV * sizeof *x);
  tgi_start_smooth(s);
  if (c->part == MASS) {
    if (y != NULL) y[0] = between(s, c->left, c->right);
    return TG_OK;
  }
  TG_TRY(tgi_impulse_open(s, h));
  if (c->part == IMPACT) {
    TG_TRY(tgi_impact(s, NULL));
    if (y != NULL) memcpy(y, s->rows->after, NV * sizeof *y);
    return TG_OK;
  }
  TG_TRY(tgi_impulse_flow(s, h, true, NULL, &fast));
  TG_TRY(tgi_flow_end(s));
  if (y != NULL) tg_model_difference(s->model, c->q1, s->end.q, y);
  if (y != NULL) memcpy(y + NV, s->end.vel, NV * sizeof *y);
  return TG_OK;
}
static tgStatus map(void *ctx, const tgReal *x, tgReal *y) { return go(ctx, x, y); }

static int outputs(Part part) { return part == FLOW ? 2 * NV : part == IMPACT ? NV : 1; }

// derivative along t by complex step
static void along(Ctx *c, const tgReal *x, const tgReal *t, double *dy) {
  tgiNumDiff n = {.nx = NQ + NV, .nt = 2 * NV, .ny = outputs(c->part), .map = map, .retract = retract, .ctx = c, .step = 1e-6,
                  .analytic = true};
  tgReal *work = malloc(sizeof *work * tgi_numdiff_work(&n));
  double error[2 * NV];
  assert_int_equal(tgi_numdiff(&n, x, t, TGI_SIDE_BOTH, dy, error, work), TG_OK);
  free(work);
}

// both problems over the rows in one pass: the sum of one after the other
static void check_both(tgSim *s, const tgReal *z) {
  tgReal both[2 * NV + 1] = {0}, plain[2 * NV + 1] = {0};
  int clamps = 0;
  tgiAdjoint o = {.gq = both, .gv = both + NV, .dt = both + 2 * NV, .clamps = &clamps};
  assert_int_equal(tgi_impulse_both_vjp(s, z, z + NV, &o), TG_OK);
  o = (tgiAdjoint){.gq = plain, .gv = plain + NV, .dt = plain + 2 * NV, .clamps = &clamps};
  assert_int_equal(tgi_impulse_vjp(s, z, &o), TG_OK);
  tgi_rows_select(s, 1);
  assert_int_equal(tgi_impulse_vjp(s, z + NV, &o), TG_OK);
  tgi_rows_select(s, 0);
  tgt_check_near(both, plain, 2 * NV + 1, 1e-11);
}

// g = adjoint of z of the part from x
static void adjoint(Ctx *c, const tgReal *x, const tgReal *z, tgReal *g) {
  tgSim *s = c->s;
  int clamps = 0;
  tgiAdjoint o = {.gq = g, .gv = g + NV, .clamps = &clamps};
  assert_int_equal(go(c, x, NULL), TG_OK);
  for (int i = 0; i < 2 * NV; i++) g[i] = 0;
  if (c->part == FLOW) {
    tgReal D[4 * NV * NV], probe[2 * NV];
    for (int i = 0; i < 2 * NV; i++) probe[i] = 1 + 0.1 * i;
    if (s->nrow > 0) check_both(s, z);
    assert_int_equal(tgi_flow_vjp(s, z, z + NV, &o), TG_OK);
    assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
    assert_int_equal(tgi_flow_jacobian(s, D, &clamps), TG_OK);
    tgt_check_adjoint(D, 2 * NV, 2 * NV, z, probe, g);
  }
  if (c->part == IMPACT && s->guarded && !s->rebounds) check_both(s, z);
  if (c->part == IMPACT) assert_int_equal(tgi_impact_vjp(s, z, &o), TG_OK);
  if (c->part == MASS) {
    assert_int_equal(tgi_impulse_mass_vjp(s, c->left, c->right, &o), TG_OK);
    for (int i = 0; i < NV; i++) g[i] *= z[0];
  }
}

// Two rods on a hinge, a ball on the floor: an impact is of that; a flow from there holds it, or lets it go.
static void check(Part part, double down, tgRestitutionLaw law) {
  tgLcpOptions o = tg_lcp_default();
  o.restitution_law = law;
  o.contact_rule = TG_RULE_CLOSING;
  tgError e = {0};
  tgModel *m = tgs_compile(tgt_rods(), &e);
  tgContact *contact = tg_contact_create(m, "lcp", &o.of, &e);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  tgtRandom r = {.s = 3};
  int rows, cols;
  tgReal *bounce = tg_sim_param(s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) bounce[i] = 1;   // the more, the more often would energy grow
  int pressed = 0, guarded = 0, states = part == IMPACT ? 10 * STATES : STATES;   // few would gain energy
  double worst = 0;
  for (int k = 0; k < states; k++) {
    Ctx c = {.s = s, .part = part};
    tgReal x[NQ + NV], z[2 * NV], t[2 * NV], g[2 * NV];
    double dy[2 * NV], sum = 0, gt = 0, scale = 1e-3;
    tg_sim_reset(s);
    tgt_nudge(s, &r, 1, 3);
    s->qpos[2] -= tgt_lowest_ball(s);
    s->qvel[2] -= down;
    memcpy(x, s->qpos, NQ * sizeof *x);
    memcpy(x + NQ, s->qvel, NV * sizeof *x);
    tgt_random_vector(&r, 2 * NV, z);
    tgt_random_vector(&r, 2 * NV, t);
    tgt_random_vector(&r, NV, c.left);
    tgt_random_vector(&r, NV, c.right);
    assert_int_equal(go(&c, x, NULL), TG_OK);
    memcpy(c.q1, s->end.q, NQ * sizeof *x);
    for (int i = 0; i < s->nrow && part != MASS; i++) pressed += i == 0 && tgRe(s->rows->f[0]) > 0;
    guarded += part == IMPACT && s->guarded;
    adjoint(&c, x, z, g);
    along(&c, x, t, dy);
    for (int i = 0; i < outputs(part); i++) sum += tgRe(z[i]) * dy[i];
    for (int i = 0; i < 2 * NV; i++) {
      gt += tgRe(g[i]) * tgRe(t[i]);
      scale += fabs(tgRe(g[i]) * tgRe(t[i]));
    }
    worst = fmax(worst, fabs(sum - gt) / scale);
    check_true(fabs(sum - gt) <= tolerance * scale, "state %d: adjoint %.17g, differences %.17g", k, gt, sum);
  }
  print_message("%d of %d states press, %d guarded; worst %.2g\n", pressed, states, guarded, worst);
  if (part == FLOW) check_true(pressed > 5 && pressed < STATES, "%d of %d press", pressed, STATES);
  if (part == IMPACT) check_true(pressed > states / 2 && guarded > 10, "%d of %d press, %d guarded", pressed, states, guarded);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

static void test_flow(void **state) {
  (void)state;
  check(FLOW, 0, TG_RESTITUTION_NEWTON);
}
static void test_impact(void **state) {
  (void)state;
  check(IMPACT, 2, TG_RESTITUTION_NEWTON);
  check(IMPACT, 2, TG_RESTITUTION_POISSON);
}
static void test_mass(void **state) {
  (void)state;
  check(MASS, 0, TG_RESTITUTION_NEWTON);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flow), cmocka_unit_test(test_impact), cmocka_unit_test(test_mass)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
