// test_carried.c: Coriolis forces of trees that turn fast: what they are, from the bodies' Jacobians; none of slow trees, to the
// bit; no chain diverges; derivatives in all of the state, controls and parameters while the share of them grows and where it is 1.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "dyn/dynamics.h"
#include "step/impulse_carried.h"
#include "step/param_check.h"
#include "step/step.h"
#include "step/whole_check.h"
#include "support/rig.h"
#include "tangere/lcp.h"

// A ball on the floor that carries an arm of hinges, a slide and a ball joint, with a rotor and a servo; a second tree on a hinge
// and a slide; and a hinge alone, which has no such forces.
static const char arm_scene[] =
    "<mujoco><option timestep='0.004'/><worldbody><geom name='floor' type='plane' size='5 5 .1'/>"
    "<body name='base' pos='0 0 .0999'><freejoint/><geom size='.1' density='9000'/>"
    "<body name='l1' pos='0 0 .12'><joint name='h1' axis='0 1 0' damping='.02' armature='.01'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .15 0 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='l2' pos='.15 0 .1'><joint name='h2' axis='1 0 .3' stiffness='.3'/><joint name='s2' type='slide' axis='0 1 1'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .15 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='tip' pos='.1 0 .1'><joint name='b' type='ball'/>"
    "<geom type='box' size='.05 .03 .04' pos='.03 0 .02' density='9000' contype='0' conaffinity='0'/></body></body></body></body>"
    "<body name='r1' pos='1 .1 1'><joint name='h3' axis='1 .2 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .15 .1' density='9000'/>"
    "<body name='r2' pos='0 .15 .1'><joint name='s3' type='slide' axis='0 1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .1 0' density='9000' contype='0' conaffinity='0'/></body></body>"
    "<body name='alone' pos='2 0 1'><joint name='h4' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 0 .15 .1' density='9000'/>"
    "</body></worldbody><actuator><position name='p1' joint='h1' kp='40' kv='2'/><motor name='m3' joint='h3'/></actuator></mujoco>";

enum { NV = 15, STATES = 4 };
static const char *const rules[] = {"", "contact_rule=touching", "contact_rule=touching symplectic=false", "explicit_damping=true"};

static Rig arm(const char *word, const char *settings) {
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_text(arm_scene, word, &o.of);
}

// rates of up to `fast`; the ball stays where it is on the floor, or `lift` above it
static void arm_state(tgSim *s, tgtRandom *r, double fast, double lift) {
  tgReal step[NV];
  tg_sim_reset(s);
  assert_int_equal(s->m.nv, NV);
  for (int i = 0; i < NV; i++) step[i] = i < 3 ? (i == 2 ? lift : 0) : tgt_uniform(r, -0.2, 0.2);
  tg_model_integrate(s->model, s->qpos, step, s->qpos);
  for (int i = 0; i < NV; i++) s->qvel[i] = i == 2 ? 0 : (i == 8 || i == 13 ? 0.02 : 1) * tgt_uniform(r, -fast, fast);
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = tgt_uniform(r, -1, 1);
}

// momenta of all bodies at q- = q (+) (-h v) on the joints at q, by Jacobians of their centres
static void momenta_on_joints(const Rig *r, const tgReal *q, const tgReal *v, double *out) {
  int nv = r->m->nv;
  tgReal back[NV], *J0 = calloc((size_t)(12 * nv), sizeof *J0), *J1 = J0 + 6 * nv;
  Rig before = rig_of_text(arm_scene, "lcp", NULL);
  for (int d = 0; d < nv; d++) back[d] = -h * v[d];
  tg_model_integrate(r->m, q, back, before.s->qpos);
  memcpy(r->s->qpos, q, (size_t)r->m->nq * sizeof *q);
  assert_int_equal(tg_sim_forward(r->s), TG_OK);
  assert_int_equal(tg_sim_forward(before.s), TG_OK);
  for (int b = 1; b < r->m->nbody; b++) {
    const tgReal *R = before.s->start.xmat + 9 * b, *I = r->m->body_inertia + 6 * b;
    double w[3] = {0}, u[3] = {0}, local[3], L[3];
    tgi_point_jacobian(before.s, &before.s->start, b, before.s->start.xcom + 3 * b, J0);
    tgi_point_jacobian(r->s, &r->s->start, b, r->s->start.xcom + 3 * b, J1);
    for (int i = 0; i < 3; i++)
      for (int d = 0; d < nv; d++) {
        w[i] += tgRe(J0[i * nv + d] * v[d]);
        u[i] += tgRe(J0[(3 + i) * nv + d] * v[d]);
      }
    double full[9] = {tgRe(I[0]), tgRe(I[3]), tgRe(I[4]), tgRe(I[3]), tgRe(I[1]), tgRe(I[5]), tgRe(I[4]), tgRe(I[5]), tgRe(I[2])}, in[3];
    for (int i = 0; i < 3; i++) local[i] = tgRe(R[i]) * w[0] + tgRe(R[3 + i]) * w[1] + tgRe(R[6 + i]) * w[2];
    for (int i = 0; i < 3; i++) in[i] = full[3 * i] * local[0] + full[3 * i + 1] * local[1] + full[3 * i + 2] * local[2];
    for (int i = 0; i < 3; i++) L[i] = tgRe(R[3 * i]) * in[0] + tgRe(R[3 * i + 1]) * in[1] + tgRe(R[3 * i + 2]) * in[2];
    for (int d = 0; d < nv; d++)
      for (int i = 0; i < 3; i++) out[d] += tgRe(J1[i * nv + d]) * L[i] + tgRe(r->m->body_mass[b] * J1[(3 + i) * nv + d]) * u[i];
  }
  for (int d = 0; d < nv; d++) out[d] += tgRe(r->m->dof_armature[d] * v[d]);
  free(J0);
  drop(&before);
}

// A free step takes M v' = J' p + h (tau - weight) at full share; and at every share what lies between that and explicit forces.
static void test_momenta(void **state) {
  (void)state;
  int full = 0, part = 0;
  Rig r = arm("lcp", "contact_rule=touching explicit_damping=true servos=explicit"), other = arm("lcp", "gyroscopic=explicit");
  for (int k = 0; k < 12; k++) {
    tgtRandom random = {.s = (uint64_t)(3 + k)};
    tgReal q[32], v[NV], M[NV * NV], Mv[NV] = {0}, share[NV];
    double p[NV] = {0}, weight[NV], bias[NV];
    int rows, cols;
    arm_state(r.s, &random, k % 2 == 0 ? 60 : 20, 1);
    memcpy(q, r.s->qpos, (size_t)r.m->nq * sizeof *q);
    memcpy(v, r.s->qvel, sizeof v);
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    assert_int_equal(r.s->nrow, 0);
    memcpy(share, r.s->carried_share, sizeof share);
    for (int d = 0; d < NV; d++) bias[d] = tgRe(r.s->bias[d]);
    assert_int_equal(tg_sim_dense(r.s, "M", M, &rows, &cols), TG_OK);
    for (int d = 0; d < NV; d++)
      for (int i = 0; i < NV; i++) Mv[d] += M[d * NV + i] * (r.s->end.vel[i] - v[i]);
    tgReal force[NV];
    for (int d = 0; d < NV; d++) force[d] = r.s->tau[d] - Mv[d] / h;   // c + share (c~ - c), by the step
    momenta_on_joints(&r, q, v, p);
    memset(other.s->qvel, 0, sizeof v);
    memcpy(other.s->qpos, q, (size_t)r.m->nq * sizeof *q);
    assert_int_equal(tg_sim_forward(other.s), TG_OK);
    for (int d = 0; d < NV; d++) {
      weight[d] = tgRe(other.s->bias[d]);
      double carried = -p[d];
      for (int i = 0; i < NV; i++) carried += tgRe(M[d * NV + i] * v[i]);
      double by = tgRe(share[d]), c = bias[d] + by * (carried / h + weight[d] - bias[d]);
      full += by == 1;
      part += by > 0 && by < 1;
      check_close(tgRe(force[d]), c, 1e-9 * fmax(1e3, fabs(bias[d])));
      if (d == NV - 1) assert_true(by == 0);   // alone
    }
  }
  check_true(full > 20 && part > 20, "%d dofs at full share, %d at part of it", full, part);
  drop(&r);
  drop(&other);
}

// below 0.1 rad a step nothing of it is made: the bits of `explicit`; beyond, another step
static void test_slow(void **state) {
  (void)state;
  Rig a = arm("lcp", ""), b = arm("lcp", "gyroscopic=explicit");
  for (int k = 0; k < 8; k++) {
    bool fast = k % 2 == 1;
    tgtRandom one = {.s = (uint64_t)k}, two = {.s = (uint64_t)k};
    arm_state(a.s, &one, fast ? 40 : 7, 0);
    arm_state(b.s, &two, fast ? 40 : 7, 0);
    assert_int_equal(tg_sim_step_growing(a.s, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_growing(b.s, h, NULL), TG_OK);
    assert_true((memcmp(a.s->qvel, b.s->qvel, NV * sizeof(tgReal)) != 0) == fast);
    assert_true(tgi_any_carried(a.s) == fast && !tgi_any_carried(b.s));
  }
  drop(&a);
  drop(&b);
}

// chains of 6 to 16 links without damping under torques at random, 5 ms, 1,000 steps
static double fastest(const char *settings, int n) {
  char text[8192] = "<mujoco><default><geom contype='0' conaffinity='0' density='1000'/></default><worldbody>", link[300];
  tgtRandom r = {.s = (uint64_t)n};
  for (int i = 0; i < n; i++) {
    snprintf(link, sizeof link, "<body pos='%g 0 0'><joint axis='%g %g %g'/><geom type='capsule' size='.03' fromto='0 0 0 .2 0 0'/>",
             i == 0 ? 0 : 0.2, tgt_normal(&r), tgt_normal(&r), tgt_normal(&r));
    strcat(text, link);
  }
  for (int i = 0; i < n; i++) strcat(text, "</body>");
  strcat(text, "</worldbody></mujoco>");
  tgAnyContactOptions o = options_of("lcp", settings);
  Rig rig = rig_of_text(text, "lcp", &o.of);
  double most = 0;
  for (int k = 0; k < 1000 && most < 1e4; k++) {
    for (int d = 0; d < n && k % 10 == 0; d++) rig.s->qfrc_applied[d] = tgt_normal(&r);
    if (tg_sim_step_growing(rig.s, 0.005, NULL) != TG_OK) most = HUGE_VAL;
    for (int d = 0; d < n; d++) most = fmax(most, fabs(tgRe(rig.s->qvel[d])));
  }
  drop(&rig);
  return most;
}

static void test_chains(void **state) {
  (void)state;
  for (int n = 6; n <= 16; n += 5) {
    double bounded = fastest("", n), plain = fastest("gyroscopic=explicit", n);
    check_true(bounded < 500 && plain >= 1e4, "%d links: %g rad/s; explicit forces %g", n, bounded, plain);
  }
}

static void test_derivatives(void **state) {
  (void)state;
  for (int rule = 0; rule < 5; rule++) {
    Rig r = arm(rule < 4 ? "lcp" : "toi", rule < 4 ? rules[rule] : "");
    for (int k = 0; k < STATES; k++) {
      tgtRandom random = {.s = (uint64_t)(31 * rule + k)};
      arm_state(r.s, &random, k % 2 == 0 ? 24 : 45, rule == 4 ? 1 : 0);
      tgt_check_whole_step(r.s, rule < 4 ? rules[rule] : "toi", &random);
      assert_true(tgi_any_carried(r.s));
    }
    drop(&r);
  }
}

static void test_parameters(void **state) {
  (void)state;
  static const char *const wanted[] = {"body_mass", "body_com", "body_inertia", "body_pos",   "body_quat",
                                       "jnt_pos",   "jnt_axis", "dof_armature", "opt_gravity", "opt_timestep"};
  tgtParamSeen seen = {0};
  for (int rule = 0; rule < 3; rule++) {
    Rig r = arm("lcp", rules[rule]);
    for (int k = 0; k < 2; k++) {
      tgtRandom random = {.s = (uint64_t)(57 * rule + k)};
      arm_state(r.s, &random, k == 0 ? 24 : 45, 0);
      tgt_unequal(r.s);
      assert_true(tgt_check_params(r.s, h, &random, tolerance, tolerance == 1e-8 ? 1e-4 : 1e-2, rules[rule], &seen));
      assert_true(tgi_any_carried(r.s));
    }
    drop(&r);
  }
  for (int k = 0; tg_param_name(k) != NULL; k++)
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
      if (strcmp(tg_param_name(k), wanted[i]) == 0) check_true(seen.acts[k] > 0, "%s moves nothing", wanted[i]);
}

// ---- the adjoints alone ----

typedef struct Alone { tgSim *s; const tgReal *X; } Alone;

// share (c~ - c) at (q, v) over a part of x's last number
static tgStatus forces_at(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ((Alone *)ctx)->s;
  memcpy(s->start.q, x, (size_t)s->m.nq * sizeof *x);
  memcpy(s->start.vel, x + s->m.nq, NV * sizeof *x);
  s->dt = x[s->m.nq + NV];
  tgi_start_smooth(s);
  TG_TRY(tgi_carried(s, s->dt));
  for (int d = 0; d < NV; d++) y[d] = tgi_carried_force(s, d);
  return TG_OK;
}

// the share itself
static tgStatus shares_at(void *ctx, const tgReal *x, tgReal *y) {
  tgReal forces[NV];
  TG_TRY(forces_at(ctx, x, forces));
  memcpy(y, ((Alone *)ctx)->s->carried_share, NV * sizeof *y);
  return TG_OK;
}

// X . momenta at the pose q with the velocity v
static tgStatus momenta_at(void *ctx, const tgReal *x, tgReal *y) {
  Alone *k = ctx;
  tgSim *s = k->s;
  memcpy(s->start.q, x, (size_t)s->m.nq * sizeof *x);
  memcpy(s->start.vel, x + s->m.nq, NV * sizeof *x);
  tgi_start_smooth(s);
  *y = 0;
  for (int b = 1; b < s->m.nbody; b++) {
    tgReal p[6];
    tgi_sp_inertia_mul(p, s->start.cinert + TG_INERTIA_SIZE * b, s->start.V + 6 * b);
    *y += tgi_sp_dot(k->X + 6 * b, p);
  }
  return TG_OK;
}

static void move_state(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Alone *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i <= NV; i++) out[m->nq + i] = x[m->nq + i] + d[NV + i];
}

static void test_adjoints(void **state) {
  (void)state;
  enum { NT = 2 * NV + 1 };
  Rig r = arm("lcp", "");
  for (int k = 0; k < 2; k++) {
    tgtRandom random = {.s = (uint64_t)(70 + k)};
    tgReal x[64], D[NV * NT] = {0}, X[6 * 16], force[6 * 16] = {0}, g[NT] = {0}, w[NV], y[NV];
    Alone a = {.s = r.s, .X = X};
    arm_state(r.s, &random, k == 0 ? 24 : 45, 0);
    memcpy(x, r.s->qpos, (size_t)r.m->nq * sizeof *x);
    memcpy(x + r.m->nq, r.s->qvel, NV * sizeof *x);
    x[r.m->nq + NV] = h;
    assert_int_equal(forces_at(&a, x, y), TG_OK);
    assert_true(tgi_any_carried(r.s));
    for (int i = 0; i < NV; i++) {
      memset(w, 0, sizeof w);
      w[i] = 1;
      assert_int_equal(tgi_carried_vjp(r.s, w, D + i * NT, D + i * NT + NV, D + i * NT + 2 * NV, NULL), TG_OK);
    }
    tgtDeriv d = {.name = "carried", .nx = r.m->nq + NV + 1, .nt = NT, .ny = NV, .map = forces_at, .retract = move_state, .ctx = &a,
                  .tol = 1e-7, .step = 1e-4};
    tgt_check_jacobian(&d, x, D);
    memset(D, 0, sizeof D);
    assert_int_equal(forces_at(&a, x, y), TG_OK);
    for (int i = 0; i < NV; i++) {
      tgReal sum[NV];
      memset(w, 0, sizeof w);
      w[i] = 1;
      tgi_carried_share_vjp(r.s, w, sum, D + i * NT + NV, D + i * NT + 2 * NV);
    }
    tgtDeriv share = {.name = "share", .nx = r.m->nq + NV + 1, .nt = NT, .ny = NV, .map = shares_at, .retract = move_state, .ctx = &a,
                      .tol = 1e-7, .step = 1e-4};
    tgt_check_jacobian(&share, x, D);
    tgt_random_vector(&random, 6 * r.m->nbody, X);
    assert_int_equal(momenta_at(&a, x, y), TG_OK);
    assert_int_equal(tgi_momenta_vjp(r.s, &r.s->start, X, force, r.s->start.vel, g, g + NV, NULL), TG_OK);
    tgtDeriv e = {.name = "momenta", .nx = r.m->nq + NV + 1, .nt = NT, .ny = 1, .map = momenta_at, .retract = move_state, .ctx = &a,
                  .tol = 1e-8, .step = 1e-4};
    tgt_check_jacobian(&e, x, g);
  }
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_momenta), cmocka_unit_test(test_slow), cmocka_unit_test(test_chains),
                                     cmocka_unit_test(test_adjoints), cmocka_unit_test(test_derivatives),
                                     cmocka_unit_test(test_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
