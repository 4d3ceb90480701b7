// test_ilqr.c: the box QP against every choice of bounds, the backward pass against Riccati, and iLQR on motions with known answers,
// with rotations, limits and contact.
#include "optim/lq.h"
#include "support/task.h"

// ---- box QP ----

// least value over every choice of entries held low, held high or free (3^n), each by elimination
static double brute_force(int n, const double *H, const double *g, const double *low, const double *high, double *best) {
  double least = INFINITY;
  int choices = 1;
  for (int i = 0; i < n; i++) choices *= 3;
  for (int c = 0; c < choices; c++) {
    double x[6] = {0}, A[36], b[6], f = 0;
    int at[6], m = 0;
    for (int i = 0, k = c; i < n; i++, k /= 3) {
      if (k % 3 == 0) at[m++] = i;
      else x[i] = k % 3 == 1 ? low[i] : high[i];
    }
    for (int i = 0; i < m; i++) {
      b[i] = -g[at[i]];
      for (int j = 0; j < n; j++) b[i] -= H[at[i] * n + j] * x[j];
      for (int j = 0; j < m; j++) A[i * m + j] = H[at[i] * n + at[j]];
    }
    for (int k = 0; k < m; k++)
      for (int i = k + 1; i < m; i++) {
        double w = A[i * m + k] / A[k * m + k];
        for (int j = k; j < m; j++) A[i * m + j] -= w * A[k * m + j];
        b[i] -= w * b[k];
      }
    for (int i = m - 1; i >= 0; i--) {
      for (int j = i + 1; j < m; j++) b[i] -= A[i * m + j] * x[at[j]];
      x[at[i]] = b[i] / A[i * m + i];
    }
    bool inside = true;
    for (int i = 0; i < n; i++) inside = inside && x[i] >= low[i] - 1e-12 && x[i] <= high[i] + 1e-12;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) f += x[i] * (0.5 * H[i * n + j] * x[j] + (j == 0 ? g[i] : 0));
    if (!inside || f >= least) continue;
    least = f;
    memcpy(best, x, (size_t)n * sizeof *x);
  }
  return least;
}

static void box_qp_against_every_choice(void **state) {
  (void)state;
  enum { N = 5 };
  tgtRandom rng = {1};
  int held = 0;
  for (int trial = 0; trial < 400; trial++) {
    double B[N * N], H[N * N], g[N], low[N], high[N], x[N], want[N], work[4 * N], L[N * N];
    int nfree[N];
    for (int i = 0; i < N * N; i++) B[i] = tgt_normal(&rng);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        H[i * N + j] = i == j ? 0.05 : 0;
        for (int k = 0; k < N; k++) H[i * N + j] += B[k * N + i] * B[k * N + j];
      }
    for (int i = 0; i < N; i++) {
      g[i] = 3 * tgt_normal(&rng);
      low[i] = tgt_uniform(&rng, -1, 0.2);
      high[i] = trial % 7 == 0 && i == 0 ? low[i] : trial % 5 == 0 && i == 1 ? INFINITY : tgt_uniform(&rng, 0.2, 1);
      x[i] = tgt_normal(&rng);
    }
    if (isinf(high[1])) high[1] = 1e3;
    brute_force(N, H, g, low, high, want);
    tgBoxQp qp = {.n = N, .H = H, .g = g, .low = low, .high = high, .x = x, .work = work, .free = nfree, .L = L};
    assert_true(tgi_box_qp(&qp));
    for (int i = 0; i < N; i++) check_close(x[i], want[i], 1e-9 * (1 + fabs(want[i])));
    held += N - qp.nfree;
  }
  assert_true(held > 400);
}

// Of an entry of which H knows next to nothing the step is out of all proportion: cut off at the bound, it leaves the others where they
// must not go. That is no minimum.
static void box_qp_tells_that_it_finds_none(void **state) {
  (void)state;
  double H[4] = {1, 1e-18, 1e-18, 1.1e-36}, g[2] = {1, 3e-18}, low[2] = {-1, -1}, high[2] = {1, 1}, x[2] = {0, 0}, work[8], L[4];
  int nfree[2];
  tgBoxQp qp = {.n = 2, .H = H, .g = g, .low = low, .high = high, .x = x, .work = work, .free = nfree, .L = L};
  bool found = tgi_box_qp(&qp);
  check_true(!found || (x[0] == -1 && x[1] == -1), "%g, %g", x[0], x[1]);
}

// What a step along one entry alone, cut off at its bounds, would still gain, at most, as a part of the sum of the terms' sizes.
static double gain_of_one(const tgBoxQp *p) {
  double most = 0, sum = 0;
  for (int i = 0; i < p->n; i++) {
    double gradient = p->g[i], size = fabs(p->g[i]);
    for (int j = 0; j < p->n; j++) {
      gradient += p->H[i * p->n + j] * p->x[j];
      size += fabs(p->H[i * p->n + j] * p->x[j]);
    }
    double h = p->H[i * p->n + i], step = fmin(fmax(p->x[i] - gradient / h, p->low[i]), p->high[i]) - p->x[i];
    most = fmax(most, -step * (gradient + 0.5 * h * step));
    sum += fabs(p->x[i]) * size;
  }
  return sum > 0 ? most / sum : most > 0 ? INFINITY : 0;
}

// Of matrices that know next to nothing of some entries: what is told as a minimum is one.
static void box_qp_of_thin_matrices(void **state) {
  (void)state;
  enum { MOST = 6, TRIES = 50000 };
  double A[MOST * MOST], H[MOST * MOST], g[MOST], low[MOST], high[MOST], x[MOST], work[4 * MOST], L[MOST * MOST];
  int nfree[MOST], found = 0;
  tgtRandom r = {1};
  for (int k = 0; k < TRIES; k++) {
    int n = 2 + k % (MOST - 1);
    double least = pow(10, -8 * tgt_uniform(&r, 0, 1)), damping = pow(10, -14 * tgt_uniform(&r, 0, 1));
    for (int i = 0; i < n; i++) {
      double size = pow(least, tgt_uniform(&r, 0, 1));
      for (int j = 0; j < n; j++) A[i * n + j] = size * tgt_uniform(&r, -1, 1);
      g[i] = tgt_uniform(&r, -1, 1) * pow(10, -6 * tgt_uniform(&r, 0, 1));
      low[i] = -fmax(0, tgt_uniform(&r, -0.25, 1));
      high[i] = fmax(0, tgt_uniform(&r, -0.25, 1));
      x[i] = 0;
    }
    for (int i = 0; i < n * n; i++) {
      H[i] = i / n == i % n ? damping : 0;
      for (int c = 0; c < n; c++) H[i] += A[c * n + i / n] * A[c * n + i % n];
    }
    tgBoxQp qp = {.n = n, .H = H, .g = g, .low = low, .high = high, .x = x, .work = work, .free = nfree, .L = L};
    if (!tgi_box_qp(&qp)) continue;
    found++;
    check_true(gain_of_one(&qp) <= 1e-9, "%d of %d: %g to gain", k, n, gain_of_one(&qp));
  }
  check_true(found > 0.99 * TRIES, "%d minima of %d", found, TRIES);
}

static void box_qp_refuses_what_has_no_minimum(void **state) {
  (void)state;
  double H[4] = {1, 0, 0, -1}, g[2] = {0, 0.1}, low[2] = {-1, -1}, high[2] = {1, 1}, x[2] = {0, 0}, work[8], L[4];
  int nfree[2];
  tgBoxQp qp = {.n = 2, .H = H, .g = g, .low = low, .high = high, .x = x, .work = work, .free = nfree, .L = L};
  assert_false(tgi_box_qp(&qp));
}

// ---- a linear system ----

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0' stiffness='0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x' gear='3'/></actuator></mujoco>";
#define SLED(controls, more)                                                                                                     \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 20}\nstart: {joints: [{joint: x, position: [1], velocity: [-2]}]}\n"              \
  "controls: {start: 0.5" controls "}\nlosses:\n- {term: joint_position, name: x, weight: 7}\n- {term: velocity, weight: 3}\n"   \
  "- {term: joint_position, name: x, weight: 4, at: all}\n- {term: control, weight: 0.6}\n" \
  "optimizer: {method: ilqr, iterations: 20" more "}\n"
enum { T = 20 };

// finite-horizon Riccati of v' = v + h 3 u / 2, q' = q + h v'; cost 7 q_T^2 + 3 v_T^2 + 4/T sum q^2 + 0.6/T sum u^2
typedef struct Riccati { double K[T][2], cost; } Riccati;
static Riccati riccati(void) {
  const double h = 0.1, b = h * 3 / 2, A[4] = {1, h, 0, 1}, B[2] = {h * b, b}, q = 4.0 / T, r = 0.6 / T;
  double P[4] = {7 + q, 0, 0, 3};
  Riccati out;
  for (int t = T - 1; t >= 0; t--) {
    double PA[4], PB[2], S = r, BPA[2];
    for (int i = 0; i < 2; i++) {
      PB[i] = P[2 * i] * B[0] + P[2 * i + 1] * B[1];
      for (int j = 0; j < 2; j++) PA[2 * i + j] = P[2 * i] * A[j] + P[2 * i + 1] * A[2 + j];
    }
    S += B[0] * PB[0] + B[1] * PB[1];
    for (int j = 0; j < 2; j++) BPA[j] = B[0] * PA[j] + B[1] * PA[2 + j];
    for (int j = 0; j < 2; j++) out.K[t][j] = -BPA[j] / S;
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++)
        P[2 * i + j] = (t > 0 && i == 0 && j == 0 ? q : 0) + A[i] * PA[j] + A[2 + i] * PA[2 + j] - BPA[i] * BPA[j] / S;
  }
  out.cost = P[0] * 1 + 2 * P[1] * -2 + P[3] * 4;
  return out;
}

static void gains_and_cost_are_riccati_s(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, SLED("", ""));
  Riccati want = riccati();
  tgOptimum *o = tgt_optimize(t, NULL);
  check_close(o->best_loss, want.cost, 1e-9 * want.cost);
  assert_true(o->iterations <= 2);   // the first finds it, the second sees that it is found
  double x = 1, v = -2;
  for (int k = 0; k < T; k++) {
    double u = want.K[k][0] * x + want.K[k][1] * v;
    check_close(o->best[k], u, 1e-9);
    v += 0.1 * 1.5 * u;
    x += 0.1 * v;
  }
  // the gains themselves, by the parts
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double q0 = 1, v0 = -2, u[T] = {0}, low[T], high[T], loss;
  for (int k = 0; k < T; k++) low[k] = -INFINITY, high[k] = INFINITY;
  tgLq lq = {.nx = 2, .nu = 1, .steps = T, .every = 1};
  tgLayout l = {.base = NULL};
  tgi_lq_place(&lq, &l);
  void *block = calloc(1, l.used);
  l = (tgLayout){.base = block};
  tgi_lq_place(&lq, &l);
  tgRollAsk ask = {.q0 = &q0, .v0 = &v0, .u = u, .expansion = &lq.e};
  tgRolloutResult result;
  assert_int_equal(tgi_evaluator_roll(e, &ask, &loss, &result), TG_OK);
  assert_true(tgi_lq_backward(&lq, u, low, high, 0));
  for (int k = 0; k < T; k++)
    for (int i = 0; i < 2; i++) check_close(lq.K[2 * k + i], want.K[k][i], 1e-9);
  check_close(loss + lq.expected[0] + lq.expected[1], want.cost, 1e-9 * want.cost);
  free(block);
  tg_evaluator_free(e);
  tg_optimum_free(o);
  tg_task_free(t);
}

// Under the penalty a control that moves nothing and whose cost has a slope but no curvature is decided, down its slope.
static void the_penalty_decides_each_control(void **state) {
  (void)state;
  enum { NX = 2, NU = 2, NZ = NX + NU };
  tgLq lq = {.nx = NX, .nu = NU, .steps = 1, .every = 1};
  tgLayout l = {.base = NULL};
  tgi_lq_place(&lq, &l);
  void *block = calloc(1, l.used);
  l = (tgLayout){.base = block};
  tgi_lq_place(&lq, &l);
  for (int i = 0; i < NX; i++) {
    lq.e.D[i * NZ + i] = 1;
    lq.e.H[NZ * NZ + i * NZ + i] = 1;   // of the last state
  }
  lq.e.D[NX] = 1;                       // the first control moves the first coordinate
  lq.e.g[NZ] = 1;                       // which costs there
  lq.e.g[NX + 1] = 1e-3;                // the slope of the second control
  const double u[NU] = {0}, low[NU] = {-1e9, -1e9}, high[NU] = {1e9, 1e9};
  assert_true(tgi_lq_backward(&lq, u, low, high, 1));
  assert_true(lq.k[0] < 0 && lq.k[0] > -1 && lq.k[1] < 0 && isfinite(lq.k[1]));
  free(block);
}

// at the optimum in the box, held over blocks, with the initial velocity decided: the gradient vanishes or presses against a bound
static void check_optimal(const tgTask *t, const tgOptimum *o, const double *low, const double *high, double tol, int *held) {
  double g[64], f;
  assert_true(o->n <= 64);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  assert_int_equal(tg_evaluate(e, o->best, &f, g, NULL, NULL, NULL, NULL), TG_OK);
  for (int i = 0; i < o->n; i++) {
    assert_true(o->best[i] >= low[i] && o->best[i] <= high[i]);
    bool at_low = o->best[i] == low[i] && g[i] > 0, at_high = o->best[i] == high[i] && g[i] < 0;
    if (at_low || at_high) ++*held;
    else check_close(g[i], 0, tol);
  }
  tg_evaluator_free(e);
}

static void limits_and_blocks_and_initial_values(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, SLED(", every: 3, low: -0.5, high: 0.7", ""));
  tgOptimum *o = tgt_optimize(t, NULL);
  double low[64], high[64];
  int held = 0;
  for (int i = 0; i < 64; i++) low[i] = -0.5, high[i] = 0.7;
  assert_int_equal(o->n, 7);
  check_optimal(t, o, low, high, 1e-8, &held);
  assert_true(held > 0);
  tg_optimum_free(o);
  tg_task_free(t);
  t = tgt_task(sled, SLED(", every: 3, low: -0.5, high: 0.7}\n"
                          "initial: [{joint: x, part: velocity, low: -3, high: -0.5}, {joint: x, part: position}]\n"
                          "options: {erp: 0.2", ""));
  o = tgt_optimize(t, NULL);
  assert_int_equal(o->n, 9);
  low[7] = -3, high[7] = -0.5, low[8] = -INFINITY, high[8] = INFINITY;
  held = 0;
  check_optimal(t, o, low, high, 1e-7, &held);
  assert_true(held > 0);
  tg_optimum_free(o);
  tg_task_free(t);
}

// ---- rotations ----

static const char *const craft =
    "<mujoco><option timestep='0.05' gravity='0 0 0'/><worldbody><body name='craft'><freejoint name='root'/>"
    "<geom type='box' size='0.3 0.2 0.1' mass='4'/></body></worldbody><actuator>"
    "<motor joint='root' gear='1 0 0 0 0 0'/><motor joint='root' gear='0 1 0 0 0 0'/><motor joint='root' gear='0 0 1 0 0 0'/>"
    "<motor joint='root' gear='0 0 0 1 0 0'/><motor joint='root' gear='0 0 0 0 1 0'/>"
    "<motor joint='root' gear='0 0 0 0 0 1'/></actuator></mujoco>";

// 150 degrees about a slanted axis, to rest, at another place: the turn ends at the target, and the optimum is one
static void a_free_body_turns_and_stops(void **state) {
  (void)state;
  tgTask *t = tgt_task(craft,
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 10}\n"
                       "start: {joints: [{joint: root, position: [0, 0, 0, 1, 0, 0, 0], velocity: [0, 0, 0, 1, -2, 0.5]}]}\ncontrols: {}\n"
                       "losses:\n- {term: body_orientation, name: craft, target: [0.2588190451025208, "
                       "0.5576775358252053, 0.5576775358252053, 0.5576775358252053], weight: 1000}\n"
                       "- {term: body_position, name: craft, target: [1, -1, 2], weight: 1000}\n- {term: velocity, weight: 100}\n"
                       "- {term: control, weight: 1.0e-4}\noptimizer: {method: ilqr, iterations: 60}\n");
  tgOptimum *o = tgt_optimize(t, NULL);
  double q[11 * 7], v[11 * 6], f, low[64], high[64];
  int held = 0;
  for (int i = 0; i < 64; i++) low[i] = -INFINITY, high[i] = INFINITY;
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  assert_int_equal(tg_evaluate(e, o->best, &f, NULL, q, v, NULL, NULL), TG_OK);
  const double want[7] = {1, -1, 2, 0.2588190451025208, 0.5576775358252053, 0.5576775358252053, 0.5576775358252053};
  double sign = q[73] * want[3] < 0 ? -1 : 1;
  for (int i = 0; i < 7; i++) check_close((i < 3 ? 1 : sign) * q[70 + i], want[i], 2e-2);
  check_optimal(t, o, low, high, 1e-5 * o->first_loss, &held);
  tg_evaluator_free(e);
  tg_optimum_free(o);
  tg_task_free(t);
}

// ---- contact ----

// the half-cheetah's head reaches its target through the ground's one-sided gradients; steps that fail or do not help are taken back
static void through_contact(void **state) {
  (void)state;
  tgError e = {0};
  tgTask *t = tg_task_load(TG_SOURCE_DIR "/models/half_cheetah_reach.yaml", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  assert_int_equal(tg_task_override(t, NULL, "ilqr", 12, &e), TG_OK);
  tgOptimizeOptions own = tg_optimize_default();
  own.unrefined = true;
  tgOptimum *o = tgt_optimize(t, &own);
  assert_true(o->met);
  check_true(o->best_loss < 1e-4 * o->first_loss, "loss %g -> %g", o->first_loss, o->best_loss);
  for (int i = 1; i < o->ncurve; i++) assert_true(o->curve_loss[i] <= o->curve_loss[i - 1]);
  tg_optimum_free(o);
  tg_task_free(t);
}

// what Jacobians cannot do is refused by name
static void refusals(void **state) {
  (void)state;
  static const char *const bad[][2] =
      {{SLED(", basis: sines", ""), "basis: sines"}, {SLED("}\noptions: {aware_gradient: true", ""), "aware_gradient"},
                                       {SLED("}\nparameters: [{name: body_mass, of: sled}]\noptions: {erp: 0.2", ""), "parameters"},
                                       {SLED("}\nstates: [{joint: x, part: position, low: -1}]\noptions: {erp: 0.2", ""), "states"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgTask *t = tgt_task(sled, bad[i][0]);
    tgOptimum *o = tg_optimize(t, NULL);
    check_true(o->status == TG_ERR_UNSUPPORTED && strstr(o->error.text, "ilqr") != NULL &&
               strstr(o->error.text, bad[i][1]) != NULL, "%d: %s", o->status, o->error.text);
    tg_optimum_free(o);
    tg_task_free(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(box_qp_against_every_choice), cmocka_unit_test(box_qp_refuses_what_has_no_minimum),
      cmocka_unit_test(box_qp_tells_that_it_finds_none), cmocka_unit_test(box_qp_of_thin_matrices),
      cmocka_unit_test(gains_and_cost_are_riccati_s), cmocka_unit_test(the_penalty_decides_each_control),
      cmocka_unit_test(limits_and_blocks_and_initial_values),
      cmocka_unit_test(a_free_body_turns_and_stops), cmocka_unit_test(through_contact), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
