// test_second_parameters.c: second derivatives in the parameters of the model and of the contact model, of steps and
// rollouts: each array along a random direction against Ridders' differences of the real gradient, which share no
// arithmetic with the complex twin; symmetry; what is refused.
#include <stdlib.h>

#include "check/numdiff.h"
#include "contact/softmin/soft_scene.h"
#include "rollout/charts.h"
#include "step/param_check.h"
#include "support/alloc.h"
#include "tangere/second.h"

static const double h = 0.001, tolerance = 1e-8;
enum { T = 4, MOST = 4096 };

// the gradient of g . y, or of a rollout's loss, along a line: state and controls by x dir, parameters by x dp
typedef struct Line {
  Rig *rig;
  tgRollout *roll;               // NULL: one step
  const double *x0, *q1, *g, *u; // q, v, u; q' of the nominal step; weights; controls of a rollout
  const double *dir, *dp;        // nx (rollout: 2 nv + T nu), np
  tgParamGrad *p;
  double *nominal;               // np
  int nx;
} Line;

static void set_parameters(Line *l, tgSim *s, double x) {
  for (int k = 0; tgt_param_name(s, k) != NULL; k++) {
    int rows, cols;
    const double *entry = tg_param_grad_field(l->p, tgt_param_name(s, k), &rows, &cols);
    double *to = tg_sim_param(s, tgt_param_name(s, k), NULL, NULL);
    if (entry == NULL || to == NULL) continue;
    size_t at = (size_t)(entry - tg_param_grad_values(l->p, NULL));
    for (int i = 0; i < rows * cols; i++) to[i] = l->nominal[at + (size_t)i] + (l->dp[at + (size_t)i] != 0 ? x * l->dp[at + (size_t)i] : 0);
  }
}

static tgStatus step_line(void *ctx, const tgReal *x, tgReal *out) {
  Line *l = ctx;
  tgSim *s = l->rig->s;
  const tgModel *m = &s->m;
  int nv = m->nv, np;
  double d[128], w[64], g[128];
  for (int i = 0; i < l->nx; i++) d[i] = x[0] * l->dir[i];
  set_moved(s, l->x0, d);
  set_parameters(l, s, x[0]);
  TG_TRY(tg_sim_step(s, h, NULL));
  tg_model_difference(m, l->q1, s->qpos, w);
  memcpy(g, l->g, 2 * (size_t)nv * sizeof *g);
  through_charts(m, 1, w, g);
  tg_param_grad_clear(l->p);
  TG_TRY(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, l->p, NULL));
  through_charts(m, 0, d, out);
  const double *p = tg_param_grad_values(l->p, &np);
  memcpy(out + l->nx, p, (size_t)np * sizeof *p);
  return TG_OK;
}

// Round-off of the line's outputs (n). A direction that moves an output by less than its round-off between points near
// each other leaves most roundings as they are, so points a hundred times as far apart tell too; there what curves is
// still below round-off.
static void noise_of(const tgiNumDiff *diff, double *noise, double *room, double *work) {
  static const double apart[] = {1, 100};
  const double zero = 0;
  for (int i = 0; i < diff->ny; i++) noise[i] = 0;
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tgi_numdiff_noise(diff, &zero, &apart[k], room, room + diff->ny, work), TG_OK);
    for (int i = 0; i < diff->ny; i++) noise[i] = fmax(noise[i], room[i]);
  }
}

// The line's rate, and how far it may be off (2 n): differences from several first steps, since large numbers, and what
// is straight, want a long step against rounding, and what curves wants a short one. What one says of its own error may
// by chance be far too little, and the least of several is the likeliest to be; so of each entry the two count that
// agree best, and what they differ by is doubted. No step is another one halved several times: they would share points,
// and agree by that.
static void rate(Line *l, tgiMap map, int n, double *D) {
  enum { STEPS = 5 };
  static const double steps[STEPS] = {3e-3, 1e-2, 1.7e-2, 4.1e-2, 0.3};
  tgiNumDiff diff = {.nx = 1, .nt = 1, .ny = n, .map = map, .ctx = l};
  size_t size = (size_t)n;
  double *value = malloc(sizeof *value * (2 * STEPS + 4) * size);
  double *doubt = value + STEPS * size, *noise = doubt + STEPS * size;
  double *work = malloc(sizeof *work * tgi_numdiff_work(&diff)), zero = 0, one = 1;
  int made = 0;
  noise_of(&diff, noise, noise + n, work);
  for (; made < STEPS; made++) {
    diff.step = steps[made];
    if (tgi_numdiff(&diff, &zero, &one, TGI_SIDE_BOTH, value + made * n, doubt + made * n, work) != TG_OK) break;
    for (int i = 0; i < n; i++)
      doubt[made * n + i] = fmax(doubt[made * n + i], tgi_numdiff_round_off(noise[i], diff.step));
  }
  assert_true(made >= STEPS - 2);   // the longest may leave what parameters can be
  for (int i = 0; i < n; i++) D[n + i] = HUGE_VAL;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < made; j++)
      for (int k = 0; k < j; k++) {
        int a = j * n + i, b = k * n + i, better = doubt[a] < doubt[b] ? a : b;
        double both = fmax(doubt[better], fabs(value[a] - value[b]));
        if (!(both < D[n + i])) continue;
        D[i] = value[better];
        D[n + i] = both;
      }
  free(value);
  free(work);
}

// ours (n) against the line's rate; entries that differences cannot tell from rounding may not be off by more either
static void compare(Line *l, tgiMap map, int n, const double *ours, const char *name, const char *what, double *worst) {
  double *D = malloc(sizeof *D * 2 * (size_t)n), most = 0, doubts = 0;
  rate(l, map, n, D);
  for (int i = 0; i < n; i++) {
    most = fmax(most, fabs(D[i]));
    doubts = fmax(doubts, D[n + i]);
  }
  for (int i = 0; i < n; i++) {
    double off = fmax(0, fabs(ours[i] - D[i]) - D[n + i]);
    check_true(off <= tolerance * most,
               "%s, along %s: entry %d of %d: %.12g, differences %.12g (doubt %.2g), most %.3g", name, what, i, n,
               ours[i], D[i], D[n + i], most);
    *worst = fmax(*worst, off / fmax(most, 1e-300));
  }
  check_true(doubts <= 1e-6 * most, "%s, along %s: differences doubt %.3g of %.3g", name, what, doubts, most);
  free(D);
}

static void nominal_of(Line *l, tgSim *s) {
  for (int k = 0; tgt_param_name(s, k) != NULL; k++) {
    int rows, cols;
    const double *entry = tg_param_grad_field(l->p, tgt_param_name(s, k), &rows, &cols),
                 *from = tg_sim_param(s, tgt_param_name(s, k), NULL, NULL);
    for (int i = 0; entry != NULL && i < rows * cols; i++)
      l->nominal[entry - tg_param_grad_values(l->p, NULL) + i] = from != NULL ? from[i] : 0;
  }
}

// a random direction in array k, 0 elsewhere: of the size of the numbers it moves, so that differences stay within what
// is smooth. False: there is none.
static bool direction(Line *l, tgSim *s, int k, tgtRandom *r, double *dp) {
  const char *name = tgt_param_name(s, k);
  int rows, cols, np;
  const double *entry = tg_param_grad_field(l->p, name, &rows, &cols), *all = tg_param_grad_values(l->p, &np);
  double *x = tg_sim_param(s, name, NULL, NULL);
  bool any = false, unit = (tgi_param_traits(name) & (TGI_PARAM_UNIT | TGI_PARAM_CORNERS)) != 0,
       switches = (tgi_param_traits(name) & TGI_PARAM_SWITCH) != 0;
  for (int i = 0; i < np; i++) dp[i] = 0;
  if (entry == NULL || strcmp(name, "opt_timestep") == 0) return false;
  for (int i = 0; i < rows * cols; i++) {
    // springs and dampers that are 0 are of the size of those that are not
    double nought = strstr(name, "stiffness") != NULL || strstr(name, "spring") != NULL || strstr(name, "damping") != NULL ? 1 : 0.01;
    bool may = isfinite(x[i]) && !(switches && x[i] == 0) && !(x[i] == 0 && strcmp(name, "geom_size") == 0);
    dp[entry - all + i] = may ? tgt_normal(r) * (unit ? 0.3 : strstr(name, "contact.") != NULL || x[i] != 0
                                                 ? 0.1 * fabs(x[i]) : nought) : 0;
    any = any || dp[entry - all + i] != 0;
  }
  tgi_param_tangent(&s->m, name, rows, cols, x, dp + (entry - all));
  return any;
}

static const struct { const char *name, *text; tgIntegrator integrator; bool paper; } cases[] = {
    {"heap, euler", soft_heap_small, TG_INTEGRATOR_EULER, false}, {"arm, euler", soft_arm, TG_INTEGRATOR_EULER, false},
    {"arm, rk4", soft_arm, TG_INTEGRATOR_RK4, false},
    {"heap, explicit", soft_heap_small, TG_INTEGRATOR_EXPLICIT, false}, {"heap, paper", soft_heap_small, TG_INTEGRATOR_EULER, true}};

static Rig make(int k) {
  tgSoftminOptions o = soft_options();
  o.integrator = cases[k].integrator;
  o.form = cases[k].paper ? TG_FORCE_PAPER : TG_FORCE_CONSISTENT;
  Rig rig = rig_of_text(cases[k].text, "softmin", &o.of);
  tgtRandom r = {.s = (uint64_t)(30 + k)};
  soft_state(rig.s, &r, 0);
  tgt_unequal(rig.s);
  return rig;
}

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void check_step(int k) {
  Rig rig = make(k);
  tgSim *s = rig.s;
  tgtRandom r = {.s = (uint64_t)(90 + k)};
  tgError e = {0};
  int nv = s->m.nv, nx = 2 * nv + s->m.nu, np, acts = 0;
  double x0[192], q1[128], g[128], zeros[128] = {0}, worst = 0;
  tgSecond *second = tg_second_create(rig.m, rig.c, NULL, &e);
  check_true(second != NULL && tg_second_choose(second, NULL, 0, &e) == TG_OK, "%s", e.text);
  tgParamGrad *p = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, &e);
  tg_param_grad_values(p, &np);
  assert_int_equal(np, tg_second_parameters(second));
  assert_true(np <= MOST);
  static double nominal[MOST], dp[MOST], dp2[MOST], out[MOST + 128], out2[MOST + 128];
  Line l = {.rig = &rig, .x0 = x0, .q1 = q1, .g = g, .dir = zeros, .dp = dp, .p = p, .nominal = nominal, .nx = nx};
  nominal_of(&l, s);
  state_vector(s, x0);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(q1, s->qpos, (size_t)s->m.nq * sizeof *q1);
  tgt_random_vector(&r, 2 * nv, g);
  double d[128], none[MOST] = {0};
  // a direction of the state, and what it does to the gradient in parameters
  tgt_random_vector(&r, nx, d);
  for (int i = 0; i < nx; i++) d[i] *= 0.1;
  l.dir = d;
  l.dp = none;
  check_true(tg_step_hvp_parameters(second, s, g, d, NULL, out, out + nx, NULL) == TG_OK, "%s", s->error.text);
  compare(&l, step_line, nx + np, out, cases[k].name, "the state", &worst);
  for (int i = 0; tgt_param_name(s, i) != NULL; i++) {
    set_parameters(&l, s, 0);
    if (!direction(&l, s, i, &r, dp)) continue;
    // both at once: a line through states and parameters
    l.dir = zeros;
    l.dp = dp;
    assert_int_equal(step_line(&l, &(double){0}, out2), TG_OK);
    check_true(tg_step_hvp_parameters(second, s, g, NULL, dp, out, out + nx, NULL) == TG_OK, "%s: %s", tgt_param_name(s, i), s->error.text);
    compare(&l, step_line, nx + np, out, cases[k].name, tgt_param_name(s, i), &worst);
    acts++;
    assert_int_equal(step_line(&l, &(double){0}, out2), TG_OK);   // nominal again
    // <b, H a> = <a, H b>, a the array's direction, b a random one in all
    memcpy(dp2, none, sizeof dp2);
    for (int j = 0; tgt_param_name(s, j) != NULL; j++) {
      static double one[MOST];
      if (direction(&l, s, j, &r, one))
        for (int n = 0; n < np; n++) dp2[n] += one[n];
    }
    check_true(tg_step_hvp_parameters(second, s, g, d, dp2, out2, out2 + nx, NULL) == TG_OK, "%s", s->error.text);
    double ab = dot(np, dp, out2 + nx), ba = dot(nx, d, out) + dot(np, dp2, out + nx), scale = 0;
    for (int n = 0; n < np; n++) scale += fabs(dp[n] * out2[nx + n]) + fabs(dp2[n] * out[nx + n]);
    for (int n = 0; n < nx; n++) scale += fabs(d[n] * out[n]);
    check_true(fabs(ab - ba) <= 1e-10 * scale, "%s: %s is not symmetric: %.15g, %.15g of %.3g", cases[k].name,
               tgt_param_name(s, i), ab, ba, scale);
  }
  print_message("%-16s %d arrays of parameters act, worst %.2g\n", cases[k].name, acts, worst);
  check_true(acts >= 15, "%s: only %d arrays of parameters act", cases[k].name, acts);
  tg_param_grad_free(p);
  tg_second_free(second);
  drop(&rig);
}

static void test_step(void **state) {
  (void)state;
  for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) check_step(k);
}

// ---- rollouts ----

// squares of velocities, weighted by the mass of the first moving body: a loss that depends on a parameter itself; and
// cubes of coordinates that do not turn
static int coordinate(const tgModel *m, int d) {
  return m->dof_grpnum[d] == 3 ? -1 : m->jnt_qadr[m->dof_jnt[d]] + d - m->jnt_vadr[m->dof_jnt[d]];
}
static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx; (void)t; (void)steps; (void)gu;
  double mass = tg_sim_param(s, "body_mass", NULL, NULL)[1];
  for (int i = 0; i < s->m.nv; i++) {
    int a = coordinate(&s->m, i);
    *value += 0.5 * mass * s->qvel[i] * s->qvel[i] + (a < 0 ? 0 : s->qpos[a] * s->qpos[a] * s->qpos[a] / 3);
    if (gv != NULL) gv[i] = mass * s->qvel[i];
    if (gq != NULL && a >= 0) gq[i] = s->qpos[a] * s->qpos[a];
  }
  return TG_OK;
}
static tgStatus loss_param(void *ctx, tgSim *s, int t, int steps, tgParamGrad *p) {
  (void)ctx; (void)t; (void)steps;
  for (int i = 0; i < s->m.nv; i++) tg_param_grad_field(p, "body_mass", NULL, NULL)[1] += 0.5 * s->qvel[i] * s->qvel[i];
  return TG_OK;
}
static tgStatus loss_hvp(void *ctx, tgSim *s, int t, int steps, const tgReal *dq, const tgReal *dv, const tgReal *du,
                         tgReal *hq, tgReal *hv, tgReal *hu) {
  (void)ctx; (void)t; (void)steps; (void)du; (void)hu;
  for (int i = 0; i < s->m.nv; i++) {
    int a = coordinate(&s->m, i);
    hv[i] = tg_sim_param(s, "body_mass", NULL, NULL)[1] * dv[i];
    if (a >= 0) hq[i] = 2 * s->qpos[a] * dq[i];
  }
  return TG_OK;
}
static tgStatus loss_param_hvp(void *ctx, tgSim *s, int t, int steps, const tgReal *dq, const tgReal *dv,
                               const tgReal *du, const tgReal *dp, tgReal *hq, tgReal *hv, tgReal *hu, tgReal *hp) {
  const Line *l = ctx;
  (void)t; (void)steps; (void)dq; (void)du; (void)hq; (void)hu;
  size_t at = (size_t)(tg_param_grad_field(l->p, "body_mass", NULL, NULL) + 1 - tg_param_grad_values(l->p, NULL));
  for (int i = 0; i < s->m.nv; i++) {
    hv[i] += dp[at] * s->qvel[i];
    hp[at] += s->qvel[i] * dv[i];
  }
  return TG_OK;
}

typedef struct Setup { Line *l; double x; } Setup;
static tgStatus set_up(void *ctx, tgSim *s) {
  Setup *k = ctx;
  set_parameters(k->l, s, k->x);
  return TG_OK;
}

static tgStatus roll_line(void *ctx, const tgReal *x, tgReal *out) {
  Line *l = ctx;
  const tgModel *m = l->rig->m;
  int nv = m->nv, nu = m->nu, np;
  double q[64], v[64], u[T * 16 + 1], w[64];
  Setup setup = {l, x[0]};
  for (int i = 0; i < nv; i++) {
    w[i] = x[0] * l->dir[i];
    v[i] = l->x0[m->nq + i] + x[0] * l->dir[nv + i];
  }
  for (int i = 0; i < T * nu; i++) u[i] = l->u[i] + x[0] * l->dir[2 * nv + i];
  tg_model_integrate(m, l->x0, w, q);
  tgRolloutRun run = {.q0 = q, .v0 = v, .u = u, .loss = loss, .loss_ctx = l, .loss_param = loss_param, .setup = set_up,
                      .setup_ctx = &setup, .dq0 = out, .dv0 = out + nv, .du = out + 2 * nv, .dp = l->p};
  tgRolloutResult result;
  TG_TRY(tg_rollout_run(l->roll, &run, &result));
  through_charts(m, 0, w, out);
  const double *p = tg_param_grad_values(l->p, &np);
  memcpy(out + l->nx, p, (size_t)np * sizeof *p);
  return TG_OK;
}

static void check_rollout(int k) {
  Rig rig = make(k);
  const tgModel *m = rig.m;
  tgRolloutOptions o = tg_rollout_default();
  tgtRandom r = {.s = (uint64_t)(200 + k)};
  tgError e = {0};
  int nv = m->nv, nx = 2 * nv + T * m->nu, np;
  double x0[192], u[T * 16 + 1], dir[256], worst = 0, q1[128], g[128], zero = 0;
  static double nominal[MOST], dp[MOST], one[MOST], H[MOST + 256], G[MOST + 256], other[MOST + 256];
  o.steps = T;
  o.h = h;
  tgSecond *second = tg_second_create(m, rig.c, &o, &e);
  check_true(second != NULL && tg_second_choose(second, NULL, 0, &e) == TG_OK, "%s", e.text);
  Line l = {.rig = &rig, .roll = tg_rollout_create(m, rig.c, &o, &e), .x0 = x0, .q1 = q1, .g = g, .u = u, .dir = dir,
            .dp = dp, .nominal = nominal, .nx = nx, .p = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, &e)};
  tg_param_grad_values(l.p, &np);
  nominal_of(&l, rig.s);
  state_vector(rig.s, x0);
  tgt_random_vector(&r, T * m->nu, u);
  tgt_random_vector(&r, nx, dir);
  for (int i = 0; i < nx; i++) dir[i] *= 0.1;
  memset(dp, 0, sizeof dp);
  for (int j = 0; tgt_param_name(rig.s, j) != NULL; j++)
    if (direction(&l, rig.s, j, &r, one))
      for (int n = 0; n < np; n++) dp[n] += one[n];
  Setup setup = {&l, 0};
  tgRolloutRun run = {.q0 = x0, .v0 = x0 + m->nq, .u = u, .loss = loss, .loss_ctx = &l, .loss_param = loss_param,
                      .setup = set_up, .setup_ctx = &setup, .dq0 = G, .dv0 = G + nv, .du = G + 2 * nv};
  tgSecondRun along = {.dq0 = dir, .dv0 = dir + nv, .du = dir + 2 * nv, .dp = dp, .hq0 = H, .hv0 = H + nv,
                       .hu = H + 2 * nv, .hp = H + nx, .gp = G + nx, .loss_hvp = loss_hvp,
                       .loss_param_hvp = loss_param_hvp};
  tgRolloutResult result;
  check_true(tg_rollout_hvp(second, &run, &along, &result) == TG_OK, "%s", result.error.text);
  assert_int_equal(roll_line(&l, &zero, other), TG_OK);
  double most = 0;
  for (int i = 0; i < nx + np; i++) most = fmax(most, fabs(other[i]));
  for (int i = 0; i < nx + np; i++)
    check_true(fabs(G[i] - other[i]) <= 1e-11 * most, "gradient %d: %.15g, %.15g of %.3g", i, G[i], other[i], most);
  compare(&l, roll_line, nx + np, H, cases[k].name, "all", &worst);
  print_message("%-16s %d steps, %d parameters, worst %.2g\n", cases[k].name, T, np, worst);
  tg_rollout_free(l.roll);
  tg_param_grad_free(l.p);
  tg_second_free(second);
  drop(&rig);
}

static void test_rollout(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) check_rollout(k);
}

// ---- what is refused, and memory ----

static void test_refused(void **state) {
  (void)state;
  Rig rig = make(1);
  tgSim *s = rig.s;
  tgError e = {0};
  const char *const h_name[] = {"opt_timestep"}, *const mu[] = {"geom_friction", "contact.stiffness"},
                               *const wrong[] = {"body_mass", "contact.weight"};
  int nv = s->m.nv, nx = 2 * nv + s->m.nu;
  double g[128], d[128], out[256], hp[64], one = 1, dp[64] = {0};
  tgtRandom r = {.s = 5};
  tgt_random_vector(&r, 2 * nv, g);
  tgt_random_vector(&r, nx, d);
  tgSecond *second = tg_second_create(rig.m, rig.c, NULL, &e);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_int_equal(tg_second_parameters(second), 0);
  assert_int_equal(tg_step_hvp_parameters(second, s, g, d, NULL, out, hp, NULL), TG_ERR_ARG);     // none chosen
  assert_int_equal(tg_second_choose(second, mu, 2, &e), TG_OK);
  assert_int_equal(tg_second_parameters(second), s->m.ngeom + 1);
  assert_int_equal(tg_second_choose(second, wrong, 2, &e), TG_ERR_ARG);
  check_true(strstr(e.text, "contact.weight") != NULL, "'%s'", e.text);
  assert_int_equal(tg_second_parameters(second), s->m.ngeom + 1);                                 // those before stay
  for (int i = 0; i < s->m.ngeom + 1; i++) dp[i] = 0.1;
  assert_int_equal(tg_step_hvp_parameters(second, s, g, d, dp, out, hp, NULL), TG_OK);
  // the part of the state is that of a call for the state alone plus that of one for the parameters alone
  double a[256], b[256];
  assert_int_equal(tg_step_hvp(second, s, g, d, a, NULL), TG_OK);
  assert_int_equal(tg_step_hvp_parameters(second, s, g, NULL, dp, b, NULL, NULL), TG_OK);
  double most = 0;
  for (int i = 0; i < nx; i++) most = fmax(most, fabs(out[i]));
  for (int i = 0; i < nx; i++) check_true(fabs(out[i] - a[i] - b[i]) <= 1e-12 * most, "%d: %.15g, %.15g + %.15g", i, out[i], a[i], b[i]);
  assert_int_equal(tg_second_choose(second, h_name, 1, &e), TG_OK);
  assert_int_equal(tg_step_hvp_parameters(second, s, g, d, NULL, out, hp, NULL), TG_OK);
  assert_int_equal(tg_step_hvp_parameters(second, s, g, NULL, &one, out, hp, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(tg_sim_error(s)->text, "opt_timestep") != NULL, "'%s'", tg_sim_error(s)->text);
  tgRolloutRun run = {.loss = loss};
  tgSecondRun along = {.dv0 = d, .hp = hp, .loss_hvp = loss_hvp};
  assert_int_equal(tg_rollout_hvp(second, &run, &along, NULL), TG_ERR_ARG);                        // loss_param, loss_param_hvp
  run.loss_param = tg_loss_without_parameters;
  along.loss_param_hvp = tg_loss_hvp_without_parameters;
  long before = tgt_malloc_count();
  assert_int_equal(tg_rollout_hvp(second, &run, &along, NULL), TG_OK);
  assert_int_equal(tg_step_hvp_parameters(second, s, g, d, NULL, out, hp, NULL), TG_OK);
  check_true(tgt_malloc_count() == before, "calls took memory %ld times", tgt_malloc_count() - before);
  tg_second_free(second);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_step), cmocka_unit_test(test_rollout), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
