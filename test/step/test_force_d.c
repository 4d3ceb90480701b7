// test_force_d.c: derivatives of what contacts tell of a step, against Ridders' differences of the told forces under every contact model,
// and against the balance of momentum.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "step/forces.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/force.h"
#include "tangere/param.h"
#include "tangere/rollout.h"
#include "tangere/step.h"

enum { FIELDS = 12, MOST = 24, STATES = 64 };

// A step and its contacts, as a map of moves of q, v, u and parameters at a state
typedef struct Probe {
  Rig r;
  double h;
  int nv, nu, np, n;                // n: contacts
  tgReal q[STATES], v[STATES], u[STATES];
  tgParamGrad *dp;
  const char *name[8];
  int nname;
  tgReal *value[8], kept[8][64];
  int size[8];
  int geom[MOST][2], state[MOST];
  int ny, nt;
  bool states;                      // moves may change them
} Probe;

static int told(const Probe *p, tgContactInfo *c) {
  int n = 0;
  for (int at = 0; n < MOST && tg_sim_next_contact(p->r.s, &at, &c[n]);) n++;
  return n;
}

static void put_state(const Probe *p, const tgReal *x) {
  tgSim *s = p->r.s;
  tgReal *q = tg_sim_qpos(s), *v = tg_sim_qvel(s), *u = tg_sim_ctrl(s);
  tg_model_integrate(p->r.m, p->q, x, q);
  for (int d = 0; d < p->nv; d++) v[d] = p->v[d] + x[p->nv + d];
  for (int i = 0; i < p->nu; i++) u[i] = p->u[i] + x[2 * p->nv + i];
  const tgReal *y = x + 2 * p->nv + p->nu;
  double *h = (double *)(uintptr_t)&p->h;
  for (int k = 0; k < p->nname; k++)
    for (int i = 0; i < p->size[k]; i++) {
      if (p->value[k] != NULL) p->value[k][i] = p->kept[k][i] + *y++;
      else *h = tgRe(p->kept[k][0] + *y++);
    }
}

static tgStatus step_of(void *ctx, const tgReal *x, tgReal *y) {
  Probe *p = ctx;
  tgContactInfo c[MOST];
  put_state(p, x);
  tgStatus status = tg_sim_step_growing(p->r.s, p->h, NULL);
  if (status != TG_OK) return status;
  int n = told(p, c);
  if (n != p->n) return TG_ERR_INVALID;
  for (int i = 0; i < n; i++) {
    if (c[i].geom1 != p->geom[i][0] || c[i].geom2 != p->geom[i][1]) return TG_ERR_INVALID;
    if (!p->states && (int)c[i].state != p->state[i]) return TG_ERR_INVALID;
    for (int k = 0; k < 3; k++) {
      y[FIELDS * i + k] = c[i].force[k];
      y[FIELDS * i + 3 + k] = c[i].world[k];
      y[FIELDS * i + 6 + k] = c[i].torque[k];
      y[FIELDS * i + 9 + k] = c[i].point[k];
    }
  }
  return TG_OK;
}

// The sim is at the state, after what steps brought it there; names: of parameters, to a NULL.
static Probe probe_of(Rig r, double h, const char *const *names) {
  Probe p = {.r = r, .h = h, .nv = tg_model_nv(r.m), .nu = tg_model_nu(r.m)};
  tgError e = {0};
  tg_sim_freeze_memory(r.s, true);
  for (; names != NULL && names[p.nname] != NULL; p.nname++) {
    int k = p.nname, rows, cols;
    p.name[k] = names[k];
    p.value[k] = strcmp(names[k], "opt_timestep") == 0 ? NULL : tg_sim_param(r.s, names[k], &rows, &cols);
    p.size[k] = p.value[k] == NULL ? 1 : rows * cols;
    assert_true(p.size[k] <= 64);
    p.kept[k][0] = h;
    for (int i = 0; p.value[k] != NULL && i < p.size[k]; i++) p.kept[k][i] = p.value[k][i];
    p.np += p.size[k];
  }
  if (p.nname > 0) {
    p.dp = tg_param_grad_create_contact(r.c, names, p.nname, NULL, &e);
    check_true(p.dp != NULL, "%s", e.text);
  }
  memcpy(p.q, tg_sim_qpos(r.s), (size_t)tg_model_nq(r.m) * sizeof(tgReal));
  memcpy(p.v, tg_sim_qvel(r.s), (size_t)p.nv * sizeof(tgReal));
  memcpy(p.u, tg_sim_ctrl(r.s), (size_t)p.nu * sizeof(tgReal));
  return p;
}

static void nominal(Probe *p) {
  tgContactInfo c[MOST];
  tgReal zero[4 * STATES + 64] = {0};
  put_state(p, zero);
  check_true(tg_sim_step_growing(p->r.s, p->h, NULL) == TG_OK, "%s", tg_sim_error(p->r.s)->text);
  p->n = told(p, c);
  assert_true(p->n < MOST);
  for (int i = 0; i < p->n; i++) {
    p->geom[i][0] = c[i].geom1;
    p->geom[i][1] = c[i].geom2;
    p->state[i] = (int)c[i].state;
  }
  p->ny = FIELDS * p->n;
  p->nt = 2 * p->nv + p->nu + p->np;
}

static void end(Probe *p) {
  tg_param_grad_free(p->dp);
  drop(&p->r);
}

// Jacobian in all that moves, ny x nt
static tgReal *jacobian_of(Probe *p, tgGradInfo *info) {
  size_t nc = (size_t)(2 * p->nv + p->nu), ny = (size_t)p->ny, np = (size_t)p->np;
  tgReal *J = calloc(ny * (nc + np) + 1, sizeof *J), *D = calloc(ny * nc + 1, sizeof *D), *P = calloc(ny * np + 1, sizeof *P);
  tgStatus status = TG_ERR_CAPACITY;
  for (int grown = 0; status == TG_ERR_CAPACITY && grown < 9; grown++) {
    if (grown > 0) assert_int_equal(tg_sim_grow(p->r.s), TG_OK);
    if (grown > 0) nominal(p);
    status = tg_sim_contacts_jacobian(p->r.s, D, p->dp, p->dp != NULL ? P : NULL, info);
  }
  check_true(status == TG_OK, "%s", tg_sim_error(p->r.s)->text);
  for (size_t i = 0; i < ny; i++) {
    memcpy(J + i * (nc + np), D + i * nc, nc * sizeof *J);
    memcpy(J + i * (nc + np) + nc, P + i * np, np * sizeof *J);
  }
  free(D);
  free(P);
  return J;
}

// Rows of fields that are said to have no derivative are left out of the comparison: both become 0. A unit slope is added everywhere, so
// that blocks in which nothing moves have a scale.
typedef struct Known { Probe *p; const bool *unknown; } Known;

static tgStatus known_map(void *ctx, const tgReal *x, tgReal *y) {
  const Known *k = ctx;
  tgStatus status = step_of(k->p, x, y);
  tgReal sum = 0;
  for (int i = 0; i < k->p->nt; i++) sum += x[i];
  for (int i = 0; i < k->p->ny; i++) y[i] = k->unknown[i] ? 0 : y[i] + sum;
  return status;
}

// J against differences; returns how many rows are unknown
static int check_probe(Probe *p, double tol, double step, tgGradLabel label) {
  tgGradInfo info;
  int rows[FIELDS / 3 * MOST], cols[4 + 8], ncol = 0, unknown = 0;
  bool left[FIELDS * MOST] = {false};
  tgReal zero[4 * STATES + 64] = {0};
  nominal(p);
  assert_true(p->n > 0);
  tgReal *J = jacobian_of(p, &info);
  check_true(info.label == label, "label %s: %s", tg_grad_label_text(info.label), info.reason);
  for (int i = 0; i < p->ny; i++) {
    left[i] = isnan(tgRe(J[(size_t)i * (size_t)p->nt]));
    unknown += left[i];
    for (int k = 0; left[i] && k < p->nt; k++) J[(size_t)i * (size_t)p->nt + (size_t)k] = 0;
  }
  for (int i = 0; i < 4 * p->n; i++) rows[i] = 3;
  cols[ncol++] = p->nv;
  cols[ncol++] = p->nv;
  if (p->nu > 0) cols[ncol++] = p->nu;
  for (int k = 0; k < p->nname; k++) cols[ncol++] = p->size[k];
  Known known = {p, left};
  tgtDeriv d = {.name = tg_contact_word(p->r.c), .nx = p->nt, .ny = p->ny, .map = known_map, .ctx = &known, .tol = tol, .numeric = true,
                .step = step, .rows = rows, .nrows = 4 * p->n, .cols = cols, .ncols = ncol};
  for (int i = 0; i < p->ny; i++)
    for (int k = 0; !left[i] && k < p->nt; k++) J[(size_t)i * (size_t)p->nt + (size_t)k] += 1;
  tgt_check_jacobian(&d, zero, J);
  for (int i = 0; i < p->ny; i++)
    for (int k = 0; !left[i] && k < p->nt; k++) J[(size_t)i * (size_t)p->nt + (size_t)k] -= 1;
  // the adjoint of many at once
  tgContactGrad w[MOST];
  tgReal *flat = calloc((size_t)p->ny + 1, sizeof *flat), probe[4 * STATES + 64], out[4 * STATES + 64];
  nominal(p);
  for (int i = 0; i < p->ny; i++) ((double *)w)[i] = left[i] ? 0 : tgRe(flat[i] = sin(1.7 * i + 0.3));
  for (int i = 0; i < p->nt; i++) probe[i] = cos(2.3 * i + 0.1);
  if (p->dp != NULL) tg_param_grad_clear(p->dp);
  assert_int_equal(tg_sim_contacts_vjp(p->r.s, w, p->n, out, out + p->nv, out + 2 * p->nv, p->dp, NULL), TG_OK);
  if (p->dp != NULL) memcpy(out + 2 * p->nv + p->nu, tg_param_grad_values(p->dp, NULL), (size_t)p->np * sizeof *out);
  tgt_check_adjoint(J, p->ny, p->nt, flat, probe, out);
  free(flat);
  free(J);
  return unknown;
}

// Newton's law for a body that floats by itself, whose linear velocity is the first three: forces sum to m (v' - v)/h less what is
// constant, and so do their derivatives in q, v.
static void check_balance(Probe *p, double mass) {
  int nv = p->nv, nc = 2 * nv + p->nu;
  tgContactInfo c[MOST];
  tgReal *D = calloc((size_t)(2 * nv * nc) + 1, sizeof *D), *J;
  nominal(p);
  assert_true(told(p, c) == p->n);
  assert_int_equal(tg_sim_step_jacobian(p->r.s, D, NULL), TG_OK);
  J = jacobian_of(p, NULL);
  for (int i = 0; i < 3; i++) {
    double most = 0, off = 0;
    for (int k = 0; k < 2 * nv; k++) {
      double sum = 0, want = mass / p->h * tgRe(D[(nv + i) * nc + k] - (k == nv + i));
      for (int n = 0; n < p->n; n++) sum += (c[n].body2 == 1 ? 1 : -1) * tgRe(J[(FIELDS * n + 3 + i) * p->nt + k]);
      most = fmax(most, fabs(want));
      off = fmax(off, fabs(sum - want));
    }
    check_true(off <= 1e-9 * (1 + most), "%s: the derivatives of forces and of the motion differ by %g of %g", tg_contact_word(p->r.c), off,
               most);
  }
  free(D);
  free(J);
}

// ---- rows ----

static const char *const numbers[] = {"body_mass", "opt_gravity", "geom_friction", "geom_size", "geom_pos", "opt_timestep", NULL};

static void ball_probe(const char *word, const char *settings, const double v[6], double height, double h, tgContactState state) {
  Rig r = rig(ball, word, settings);
  tg_sim_qpos(r.s)[2] += height;
  for (int i = 0; i < 6; i++) tg_sim_qvel(r.s)[i] = v[i];
  Probe p = probe_of(r, h, numbers);
  nominal(&p);
  check_true(p.n == 1 && p.state[0] == (int)state, "%d contacts, %s", p.n, tg_contact_state_text((tgContactState)p.state[0]));
  assert_int_equal(check_probe(&p, 1e-7, 1e-5, TG_GRAD_EXACT), 0);
  check_balance(&p, 1);
  end(&p);
}

static void test_ball(void **state) {
  (void)state;
  static const char *const rule[] = {"contact_rule=touching", "contact_rule=closing"};
  for (int k = 0; k < 2; k++) {
    ball_probe("lcp", rule[k], (const double[]){.01, .02, -.03, .3, .2, .1}, -1e-3, .01, TG_CONTACT_STICKING);
    ball_probe("lcp", rule[k], (const double[]){2, .9, -.03, .3, .2, .1}, -1e-3, .01, TG_CONTACT_SLIDING);
  }
}

// torsional and rolling friction, whose couples are told as a torque, and friction in a cone
static void test_couples(void **state) {
  (void)state;
  static const char text[] = "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='.4 .01 .004' condim='%d'/>"
                             "<body pos='0 0 .1'><freejoint/><geom size='.1' mass='1' friction='.5 .02 .006' condim='%d'/></body>"
                             "</worldbody></mujoco>";
  static const struct { const char *word, *settings; int condim; double height; } of[] = {
      {"lcp", "contact_rule=touching", 6, -1e-3}, {"lcp", "", 4, -1e-3}, {"lcp", "friction_cone=elliptic", 3, -1e-3},
      {"toi", "", 6, 4e-3}, {"toi", "friction_cone=elliptic", 3, 4e-3}};
  static const char *const some[] = {"body_mass", "geom_friction", "geom_spinfriction", "geom_size", "opt_timestep", NULL};
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    static const double v[6] = {1.5, .7, -.8, .3, 2, 1};
    char xml[400];
    snprintf(xml, sizeof xml, text, of[k].condim, of[k].condim);
    Rig r = rig(xml, of[k].word, of[k].settings);
    tg_sim_qpos(r.s)[2] += of[k].height;
    for (int i = 0; i < 6; i++) tg_sim_qvel(r.s)[i] = v[i];
    Probe p = probe_of(r, .01, some);
    nominal(&p);
    check_true(p.n == 1, "%s: %d contacts", of[k].word, p.n);
    check_probe(&p, 2e-7, 1e-5, TG_GRAD_EXACT);
    check_balance(&p, 1);
    end(&p);
  }
}

// a tripod, whose friction is redundant, and a ball on it that is pushed
static const char stack[] =
    "<mujoco><default><geom friction='.6'/></default><worldbody><geom type='plane' size='1 1 1' friction='.5'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .02' pos='0 0 .08' mass='2'/><geom size='.03' pos='.1 0 -.07' mass='.1'/>"
    "<geom size='.03' pos='-.05 .08 -.07' mass='.1'/><geom size='.03' pos='-.05 -.09 -.07' mass='.2'/></body>"
    "<body pos='.02 .01 .25'><joint type='slide' axis='1 0 0' damping='.3'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
    "<geom size='.05' mass='.5' friction='.3'/></body></worldbody><actuator><motor joint='push' gear='3'/></actuator></mujoco>";

static void stack_probe(const char *word, const char *settings, double push, double h) {
  static const char *const some[] = {"body_mass", "geom_friction", "geom_size", "dof_damping", "opt_timestep", NULL};
  char text[1000], *at;
  snprintf(text, sizeof text, "%s", stack);
  at = strstr(text, "type='slide' axis='1");
  memmove(at + 12, at, strlen(at) + 1);
  memcpy(at, "name='push' ", 12);
  Rig r = rig(text, word, settings);
  static const double spin[9] = {.02, 0, -.01, .1, .05, .2, .1, 0, .1};
  for (int i = 0; i < 9; i++) tg_sim_qvel(r.s)[i] = spin[i];
  static const double place[10] = {0, 0, .0993, 1, .001, -.002, 0, .01, -.002, .02};
  bool toi = strcmp(word, "toi") == 0;   // in which nothing may overlap
  for (int i = 0; i < 10; i++) tg_sim_qpos(r.s)[i] = place[i] + (toi && i == 2 ? .0022 : toi && i == 8 ? .0045 : 0);
  tg_sim_qvel(r.s)[2] = toi ? -.6 : -.01;
  tg_sim_ctrl(r.s)[0] = push;
  Probe p = probe_of(r, h, some);
  nominal(&p);
  check_true(p.n == 4 || (toi && p.n > 1), "%s: %d contacts", word, p.n);
  check_probe(&p, 2e-7, 1e-5, TG_GRAD_EXACT);
  end(&p);
}

// A ball that rolls, and one that slides, held in all of the step; on a hill the axes turn in it. What holds it is found within a
// thousandth of the gap, beyond which a difference may not reach: then its round-off is some 1e-7 of it.
static void test_held(void **state) {
  (void)state;
  static const char *const some[] = {"body_mass", "opt_gravity", "geom_friction", "opt_timestep", NULL};
  static const char hill[] = "<mujoco><worldbody><geom size='.5' pos='0 0 -.5' friction='.4'/><body pos='0 0 .1'><freejoint/>"
                             "<geom size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";
  for (int k = 0; k < 4; k++) {
    Rig r = rig(k < 2 ? ball : hill, "toi", "gap=1e-3");
    tg_sim_qvel(r.s)[0] = k % 2 == 0 ? .2 : 2 - k / 10.0;
    tg_sim_qvel(r.s)[4] = k % 2 == 0 ? 2 : 0;
    tg_sim_qpos(r.s)[2] += 3e-3;
    for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step_growing(r.s, .005, NULL), TG_OK);
    Probe p = probe_of(r, .005, some);
    nominal(&p);
    check_true(p.state[0] == (k % 2 == 0 ? TG_CONTACT_STICKING : TG_CONTACT_SLIDING), "%s",
               tg_contact_state_text((tgContactState)p.state[0]));
    check_probe(&p, 1e-6, 1e-7, TG_GRAD_EXACT);
    end(&p);
  }
}

static void test_stack(void **state) {
  (void)state;
  stack_probe("lcp", "contact_rule=touching", .2, .005);
  stack_probe("toi", "", .2, .005);
  stack_probe("toi", "", 3, .005);
  stack_probe("lcp", "contact_rule=closing", .2, .005);
  stack_probe("lcp", "contact_rule=closing", 3, .005);
}

// ---- impacts inside a step ----

static void impact_probe(const char *word, const char *settings, double e, double height, double h) {
  static const char *const some[] = {"body_mass", "opt_gravity", "geom_friction", "geom_restitution", "geom_size", "opt_timestep", NULL};
  Rig r = rig(ball, word, settings);
  int rows, cols;
  tgReal *x = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e * (1 - 0.1 * i);
  tg_sim_qpos(r.s)[2] += height;
  static const double fall[6] = {.8, .1, -2, .3, .2, .1};
  for (int i = 0; i < 6; i++) tg_sim_qvel(r.s)[i] = fall[i];
  Probe p = probe_of(r, h, some);
  nominal(&p);
  check_true(tg_sim_step_info(p.r.s)->nimpact > 0, "no impact");
  check_probe(&p, 2e-7, 1e-5, TG_GRAD_EXACT);
  check_balance(&p, 1);
  end(&p);
}

static void test_impact(void **state) {
  (void)state;
  impact_probe("toi", "", 0.6, .006, .01);
  impact_probe("toi", "", 0.1, .003, .01);
  impact_probe("lcp", "contact_rule=closing", 0.6, .006, .01);
  impact_probe("lcp", "contact_rule=closing", 0.1, .006, .01);
  impact_probe("lcp", "contact_rule=closing restitution_law=poisson", 0.6, .006, .01);
}

// ---- laws ----

// unknown: rows that have no derivative
static void law_probe(const char *text, const char *word, const char *settings, double speed, double tol, double step, int unknown) {
  static const char *const some[] = {"body_mass", "opt_gravity", "geom_friction", "geom_size", "geom_pos", "opt_timestep", NULL};
  Rig r = rig(text, word, settings);
  tg_sim_qvel(r.s)[0] = speed;
  tg_sim_qvel(r.s)[4] = .3;
  for (int i = 0; i < 60; i++)
    check_true(tg_sim_step_growing(r.s, .002, NULL) == TG_OK, "%s: %s", word, tg_sim_error(r.s)->text);
  Probe p = probe_of(r, .002, some);
  p.states = true;
  nominal(&p);
  int left = check_probe(&p, tol, step, TG_GRAD_EXACT);
  check_balance(&p, 1);
  check_true(left == unknown, "%s: %d rows have no derivative", word, left);
  end(&p);
}

static void test_laws(void **state) {
  (void)state;
  char rough[400], smooth[400];
  snprintf(rough, sizeof rough, hill_of_law, 3);
  snprintf(smooth, sizeof smooth, hill_of_law, 1);
  law_probe(floor_of_law, "damped", "", 2, 1e-6, 1e-5, 2);
  law_probe(rough, "damped", "", .2, 1e-6, 1e-4, 6);
  law_probe(floor_of_law, "softmin", "", 2, 1e-7, 1e-5, 5);
  law_probe(rough, "softmin", "", .2, 1e-6, 1e-5, 6);
  law_probe(floor_of_law, "barrier", "", 2, 1e-6, 1e-4, 0);
  law_probe(rough, "barrier", "", .2, 1e-6, 1e-4, 6);
  law_probe(smooth, "barrier", "", .2, 1e-6, 1e-4, 3);
  law_probe(smooth, "damped", "", .2, 1e-6, 2e-4, 3);
  law_probe(floor_of_law, "sdrs", "", 2, 1e-6, 1e-5, 0);
  law_probe(floor_of_law, "ipc", "", 2, 1e-6, 1e-5, 0);
}

// ---- along a motion: a loss of the forces of all steps ----

static tgStatus no_states(void *ctx, tgSim *s, int t, int n, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  tgContactInfo c;
  (void)ctx; (void)t; (void)n; (void)gv; (void)gu;
  for (int at = 0; tg_sim_next_contact(s, &at, &c);) *value += 0.5 * c.world[2] * c.world[2] * 1e-3 + c.world[0];
  // a loss may ask for Jacobians of points; the gradient in the contacts does not suffer by it
  static const tgReal origin[3] = {0};
  tgReal J[6 * 12];
  return gq != NULL ? tg_sim_jacobian(s, 1, origin, J) : TG_OK;
}

static tgStatus of_forces(void *ctx, tgSim *s, int t, int steps, tgContactGrad *grad, int n) {
  tgContactInfo c;
  (void)ctx; (void)t; (void)steps;
  int i = 0;
  for (int at = 0; tg_sim_next_contact(s, &at, &c); i++) {
    grad[i].world[2] = c.world[2] * 1e-3;
    grad[i].world[0] = 1;
  }
  return i == n ? TG_OK : TG_ERR_STATE;
}

typedef struct Motion { tgRollout *r; const tgModel *m; } Motion;

static tgStatus loss_of_motion(void *ctx, const tgReal *x, tgReal *y) {
  Motion *k = ctx;
  tgReal q[7], w[6] = {0};
  tgRolloutResult result;
  static const tgReal start[7] = {0, 0, .105, 1, 0, 0, 0};
  memcpy(w, x, 6 * sizeof *w);
  tg_model_integrate(k->m, start, w, q);
  tgRolloutRun run = {.q0 = q, .v0 = x + 6, .loss = no_states};
  tg_rollout_run(k->r, &run, &result);
  y[0] = result.loss;
  return result.status;
}

static void test_motion(void **state) {
  (void)state;
  static const struct { const char *word; double step; } of[] = {
      {"lcp", 1e-5}, {"toi", 1e-6}, {"damped", 1e-5}, {"softmin", 1e-5}, {"barrier", 1e-5}};
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    tgError e = {0};
    Rig r = rig(ball, of[k].word, "");
    tgRolloutOptions o = tg_rollout_default();
    o.steps = 12;
    o.h = .004;
    Motion motion = {tg_rollout_create(r.m, r.c, &o, &e), r.m};
    check_true(motion.r != NULL, "%s", e.text);
    tgReal x[12] = {0, 0, 0, 0, 0, 0, 1.5, .1, -.5, .2, 0, .3}, g[12];
    static const tgReal start[7] = {0, 0, .105, 1, 0, 0, 0};
    tgRolloutResult result;
    tgRolloutRun run = {.q0 = start, .v0 = x + 6, .loss = no_states, .loss_contacts = of_forces, .dq0 = g, .dv0 = g + 6};
    check_true(tg_rollout_run(motion.r, &run, &result) == TG_OK, "%s: %s", of[k].word, result.error.text);
    check_true(fabs(tgRe(result.loss)) > 0.01, "%s: nothing is met", of[k].word);
    tgtDeriv d = {.name = of[k].word, .nx = 12, .ny = 1, .map = loss_of_motion, .ctx = &motion, .tol = 1e-6, .numeric = true,
                  .step = of[k].step};
    tgt_check_jacobian(&d, x, g);
    run.loss = NULL;
    assert_int_equal(tg_rollout_run(motion.r, &run, &result), TG_ERR_ARG);
    tg_rollout_free(motion.r);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ball), cmocka_unit_test(test_stack), cmocka_unit_test(test_held),
      cmocka_unit_test(test_impact), cmocka_unit_test(test_couples), cmocka_unit_test(test_laws),
      cmocka_unit_test(test_motion)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
