// test_midpoint.c: derivatives of steps of a law over a whole step: Jacobian and adjoint in state, controls and parameters for both rules
// and every law, against complex step and Ridders, on random states near and far; rollouts; what is refused.
#include <stdlib.h>

#include "math/dense.h"
#include "step/midpoint.h"
#include "step/midpoint_rig.h"
#include "step/param_check.h"
#include "support/deriv.h"
#include "support/rig.h"

static const double h = 0.004;

// held by every equality, over a plane
static const char *const tied =
    "<mujoco><default><geom density='4000' contype='0' conaffinity='0'/></default><compiler angle='radian'/><worldbody>"
    "<geom type='plane' size='5 5 .1' contype='1' conaffinity='1'/>"
    "<body name='a' pos='0 0 .3'><joint name='a' type='hinge' axis='0 1 0' actuatorfrclimited='true' actuatorfrcrange='-.9 .7'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03'/>"
    "<body name='b' pos='.2 0 -.05'><joint name='b' type='ball'/><geom type='box' size='.1 .02 .03' pos='.1 0 0'/>"
    "<body name='c' pos='.2 0 0'><joint name='c' type='slide' axis='1 0 .3'/>"
    "<joint name='d' type='hinge' axis='1 .2 0'/><geom size='.05' pos='0 .05 0'/></body></body></body>"
    "<body name='e' pos='.5 .05 .08'><freejoint/><geom type='box' size='.05 .06 .05' contype='1' conaffinity='1'/></body>"
    "<body name='f' pos='-.2 0 .3'><joint name='f' type='hinge' axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 0 .1 -.2' size='.03'/></body></worldbody>"
    "<tendon><fixed name='u' limited='true' range='-.05 .05' frictionloss='.2'><joint joint='d' coef='.7'/>"
    "<joint joint='f' coef='.4'/></fixed><fixed name='t'><joint joint='a' coef='.7'/><joint joint='c' coef='-1.2'/></fixed></tendon>"
    "<equality><tendon tendon1='t' tendon2='u' polycoef='.01 .6 .4 .3 -.2'/><weld name='w' body1='c' body2='e' anchor='.01 .02 .03'/>"
    "<connect body1='f' body2='e' anchor='.1 .05 -.1'/><connect body1='b' anchor='.1 0 .1'/>"
    "<joint joint1='a' joint2='f' polycoef='.02 .8 .5 -.3 .2'/><joint joint1='d' polycoef='.1'/></equality>"
    "<actuator><motor joint='a' gear='2' forcelimited='true' forcerange='-.5 .4'/>"
    "<position joint='c' kp='5' forcelimited='true' forcerange='-.3 .3'/><velocity tendon='u' kv='.1'/></actuator></mujoco>";

// round geoms, one before the other
static const char *const round_ones =
    "<mujoco><default><geom density='4000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='ellipsoid' size='.09 .06 .07' friction='.2'/></body>"
    "<geom type='cylinder' size='.07 .06' friction='.6' pos='.19 0 .1' euler='20 30 0'/></worldbody></mujoco>";

// so light that a spring's stiffness shows
static const char *const light =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .102'><joint type='free' frictionloss='.003'/><geom size='.1' density='2' friction='.3'/></body></worldbody></mujoco>";

// a concave mesh before a box, a ball inside its notch, and a smaller one of the same mesh
static const char *const notched =
    "<mujoco><asset>"
    "<mesh name='l' vertex='-.1 -.08 -.1 .1 -.08 -.1 .1 -.08 0 0 -.08 0 0 -.08 .1 -.1 -.08 .1 "
    "-.1 .08 -.1 .1 .08 -.1 .1 .08 0 0 .08 0 0 .08 .1 -.1 .08 .1' "
    "face='0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 "
    "0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 5 11 6'/>"
    "</asset><default><geom density='3000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='.6'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='mesh' mesh='l' friction='.5'/></body>"
    "<body pos='.06 .01 .2'><freejoint/><geom size='.045' friction='.3'/></body>"
    "<body pos='-.25 .01 .12' euler='0 20 10'><freejoint/><geom type='mesh' mesh='l' friction='.2'/></body>"
    "<body pos='.3 .02 .13' euler='10 20 10'><freejoint/><geom type='box' size='.06 .05 .07' friction='.4'/></body></worldbody></mujoco>";

// a box and a ball on a plane that moves
static const char *const floor_moves =
    "<mujoco><default><geom density='2000'/></default><worldbody><body><inertial pos='.1 0 0' mass='20' diaginertia='2 3 4'/>"
    "<joint type='slide' axis='0 0 1'/><joint type='ball'/><geom type='plane' size='1 1 1' friction='.6' pos='.02 0 -.01' euler='3 2 0'/>"
    "<body pos='0 .3 .05'><joint type='hinge' axis='1 0 0'/><geom type='capsule' size='.02 .05' pos='0 0 .2'/></body></body>"
    "<body pos='.2 0 .12'><freejoint/><geom type='box' size='.1 .08 .1' friction='.3'/></body>"
    "<body pos='-.1 0 .1'><freejoint/><geom size='.09' friction='.4'/></body></worldbody></mujoco>";

// a sheet whose shape at rest is curved, hung from a link by one vertex, between a plane and a box
static const char *const sheet =
    "<mujoco><default><geom density='4000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .3'><joint type='hinge' axis='.1 1 .3'/><geom type='capsule' size='.02 .1' contype='0' conaffinity='0'/>"
    "<flexcomp name='c' type='direct' dim='2' mass='.3' radius='.01' pos='.05 0 -.22' "
    "point='0 0 .03  .1 0 0  0 .11 .01  -.12 .01 0  .01 -.1 -.01' element='0 1 2 0 2 3 0 3 4 0 4 1'>"
    "<elasticity young='300' poisson='.3' thickness='.1' damping='.02' elastic2d='both'/><contact selfcollide='none' friction='.4'/>"
    "<pin id='3'/></flexcomp></body>"
    "<body pos='.06 .01 .2'><freejoint/><geom type='box' size='.06 .05 .06' friction='.45'/></body></worldbody></mujoco>";

// ---- derivatives in the state ----

enum { MOST = 160 };
typedef struct Map { tgSim *s; tgReal q1[MOST], t[MOST]; } Map;

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  tgSim *s = k->s;
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  memcpy(y + m->nv, s->qvel, (size_t)m->nv * sizeof *y);
  return TG_OK;
}

// along one direction of the tangents
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const Map *k = ctx;
  const tgModel *m = &k->s->m;
  tgReal step[MOST];
  for (int i = 0; i < m->nv; i++) step[i] = d[0] * k->t[i];
  tg_model_integrate(m, x, step, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[0] * k->t[m->nv + i];
}

#ifdef TG_COMPLEX
static const double tolerance = 1e-9;
#else
static const double tolerance = 1e-6;
#endif

// states that are none to start at, and steps too long for the blow they hold: named, not checked
typedef struct Seen { int checked, overlapping, unsolved; } Seen;

static void check_step(tgSim *s, const char *name, tgtRandom *r, Seen *seen) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu, rows[2] = {nv, nv};
  Map k = {.s = s};
  tgGradInfo info;
  tgReal x[MOST], Dt[MOST], g[MOST], out[MOST], probe[MOST], *D = malloc(sizeof *D * (size_t)(2 * nv * nt));
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  tgStatus status = tg_sim_step(s, h, NULL);
  check_true(status == TG_OK || status == TG_ERR_INVALID || status == TG_NOT_CONVERGED, "%s: %s", name, s->error.text);
  *(status == TG_OK ? &seen->checked : status == TG_ERR_INVALID ? &seen->overlapping : &seen->unsolved) += 1;
  if (status == TG_OK) {
    memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof *x);
    check_true(tg_sim_step_jacobian(s, D, &info) == TG_OK, "%s", s->error.text);
    // 1e4 times as stiff as the others, by which digits are lost
    bool sharp = tgi_damped_options(s->contact_model)->law == TG_DAMPED_SIGNORINI;
    check_true(info.label == TG_GRAD_EXACT || (sharp && info.label == TG_GRAD_ONE_SIDED), "%s: label %d: %s", name, info.label,
               info.reason);
    tgt_random_vector(r, 2 * nv, g);
    tgt_random_vector(r, nt, probe);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
    tgt_check_adjoint_at(D, 2 * nv, nt, g, probe, out, sharp ? 1e-6 : 1e-11, __FILE__, __LINE__);
    tgt_random_vector(r, nt, k.t);
    for (int i = 0; i < 2 * nv; i++) {
      Dt[i] = 0;
      for (int j = 0; j < nt; j++) Dt[i] += D[i * nt + j] * k.t[j];
    }
    tgtDeriv d = {.name = name, .nx = m->nq + nv + nu, .nt = 1, .ny = 2 * nv, .map = map, .retract = retract, .ctx = &k,
                  .tol = sharp ? 1e-6 : tolerance, .step = 1e-5, .rows = rows, .nrows = 2};
    tgt_check_jacobian(&d, x, Dt);
  }
  free(D);
}

static int least_checked = 0;   // of a variant of a scene, 200 of a scene where the program of complex numbers is given the word `long`

static void check_states(const char *name, const char *text, int all) {
  int states = tgt_cases(all, 3), total = 0;   // one of each height above the plane
  Seen seen = {0};
  for (int v = 0; v < VARIANTS; v++) {
    if (v == VARIANTS - 1) continue;   // `signorini` rings under `midpoint`, and neighbours of states that are solved may not be
    // the laws that differ from these in numbers alone take fewer
    int some = v / RULES < 3 || states < 9 ? states : states / 3;
    Rig rig = make(text, v, v % 2 == 0);
    tgtRandom r = {.s = (uint64_t)(40 + v)};
    char what[80];
    snprintf(what, sizeof what, "%s, %s, %s", name, rules[v % RULES], laws[v / RULES]);
    int before = seen.checked;
    for (int k = 0; k < some || (seen.checked - before < least_checked && k < 20 * least_checked); k++, total++) {
      // under `signorini` no overlaps, which it pushes out at once, and no blows near to those that it does not solve
      random_state(rig.s, &r, v / RULES == 4 ? 0.02 : k % 3 == 0 ? 0 : k % 3 == 1 ? 0.01 : 0.2);
      check_step(rig.s, what, &r, &seen);
    }
    drop(&rig);
  }
  print_message("%s: %d states, %d overlapping, %d unsolved\n", name, seen.checked, seen.overlapping, seen.unsolved);
  check_true(2 * seen.checked > total, "%s: %d of %d states", name, seen.checked, total);
  check_true(50 * seen.unsolved <= total, "%s: %d of %d steps are not solved", name, seen.unsolved, total);
}

static void test_heap(void **state) { (void)state; check_states("heap", heap, 1); }
static void test_pair(void **state) { (void)state; check_states("pair", pair, 20); }
static void test_arm(void **state) { (void)state; check_states("arm", arm, 24); }
static void test_tied(void **state) { (void)state; check_states("tied", tied, 10); }
static void test_wedge(void **state) { (void)state; check_states("wedge", wedge, 12); }
static void test_floor_moves(void **state) { (void)state; check_states("floor moves", floor_moves, 8); }
static void test_sheet(void **state) { (void)state; check_states("sheet", sheet, 6); }
static void test_hollows(void **state) { (void)state; check_states("hollows", hollows, 8); }
static void test_notched(void **state) { (void)state; check_states("notched", notched, 12); }

// ---- in parameters ----

// bodies apart
static void steppable_state(tgSim *s, tgtRandom *r) {
  tgReal x[MOST];
  for (int k = 0; k < 40; k++) {
    random_state(s, r, 0.008);
    memcpy(x, s->qpos, (size_t)s->m.nq * sizeof *x);
    memcpy(x + s->m.nq, s->qvel, (size_t)s->m.nv * sizeof *x);
    tgStatus status = tg_sim_step(s, h, NULL);
    memcpy(s->qpos, x, (size_t)s->m.nq * sizeof *x);
    memcpy(s->qvel, x + s->m.nq, (size_t)s->m.nv * sizeof *x);
    if (status == TG_OK) return;
  }
  fail_msg("no state to step from: %s", s->error.text);
}

static void test_parameters(void **state) {
  (void)state;
  static const char *const text[] = {pair, arm, tied, wedge, round_ones, notched, sheet, hollows, light};
#ifdef TG_COMPLEX
  enum { SCENES = 9, FULL = 6 };   // scenes from FULL on in every variant
#else
  enum { SCENES = 8, FULL = 8 };   // Ridders' steps are too long for what is light
#endif
  tgtParamSeen seen = {.width = 1e-5};
  int full = SCENES > FULL && tgt_cases(VARIANTS, 1) < VARIANTS ? SCENES - 1 : FULL;
  for (int v = 0; v < VARIANTS; v++)
    for (int scene = 0; scene < SCENES; scene++) {
      if (v > 0 && scene != v && scene < full) continue;
      Rig rig = make(text[scene], v, true);
      tgtRandom r = {.s = (uint64_t)(100 + 10 * v + scene)};
      char what[80];
      snprintf(what, sizeof what, "scene %d, %s, %s", scene, rules[v % RULES], laws[v / RULES]);
      tgt_unequal(rig.s);
      steppable_state(rig.s, &r);
      seen.without = text[scene] == notched ? "hull_vert" : NULL;   // its fields are grids
      assert_true(tgt_check_params(rig.s, h, &r, 10 * tolerance, 1e-2, what, &seen));
      drop(&rig);
    }
  Rig any = make(pair, 0, true);
  for (int k = 0; tgt_param_name(any.s, k) != NULL; k++)
    if (seen.acts[k] > 0) print_message("%-26s worst %.2g in %d\n", tgt_param_name(any.s, k), seen.worst[k], seen.acts[k]);
  static const char *const must[] = {"body_mass", "body_com", "body_inertia", "body_pos", "body_quat", "jnt_pos", "jnt_axis", "jnt_range",
                                     "jnt_stiffness", "dof_damping", "dof_armature", "dof_frictionloss", "geom_size",
                                     "geom_scale", "hull_vert",
                                     "geom_pos", "geom_quat", "geom_friction", "act_gain", "act_gear", "ten_stiffness", "ten_damping",
                                     "ten_frictionloss", "opt_gravity", "opt_timestep", "eq_anchor", "eq_anchor2", "eq_relpos",
                                     "eq_polycoef", "ten_range", "act_forcerange", "jnt_actfrcrange", "flex_young", "flex_poisson",
                                     "flex_thickness", "flex_damping", "flex_rest", "contact.slip_speed",
                                     "contact.limit_frequency", "contact.limit_range", "contact.equality_frequency",
                                     "contact.resting_gap", "contact.damping_ratio", "contact.onset",
#ifdef TG_COMPLEX
                                     "contact.stiffness"
#endif
  };
  for (size_t i = 0; i < sizeof must / sizeof *must; i++) {
    bool acts = false;
    for (int k = 0; tgt_param_name(any.s, k) != NULL; k++)
      acts = acts || (strcmp(tgt_param_name(any.s, k), must[i]) == 0 && seen.acts[k] > 0);
    check_true(acts, "%s never acts", must[i]);
  }
  drop(&any);
}

#ifndef TG_COMPLEX
// ---- over 80 steps ----

enum { STEPS = 80 };
typedef struct Motion { tgSim *s; tgReal q[64], v[64], t[64], w[128], q1[64]; bool nominal; } Motion;

// w . (q, v) after the steps, from velocities moved along t
static tgStatus motion(void *ctx, const tgReal *x, tgReal *y) {
  Motion *k = ctx;
  tgSim *s = k->s;
  int nv = s->m.nv;
  tgReal d[64];
  memcpy(s->qpos, k->q, (size_t)s->m.nq * sizeof *d);
  for (int i = 0; i < nv; i++) s->qvel[i] = k->v[i] + x[0] * k->t[i];
  for (int i = 0; i < STEPS; i++) {
    tgStatus status = tg_sim_step(s, 0.005, NULL);
    if (status != TG_OK) return status;
  }
  if (k->nominal) memcpy(k->q1, s->qpos, (size_t)s->m.nq * sizeof *d);
  tg_model_difference(s->model, k->q1, s->qpos, d);
  y[0] = 0;
  for (int i = 0; i < nv; i++) y[0] += k->w[i] * d[i] + k->w[nv + i] * s->qvel[i];
  return TG_OK;
}

// adjoint through all steps, each made again from where it began
static tgReal motion_adjoint(Motion *k) {
  tgSim *s = k->s;
  int nv = s->m.nv, nq = s->m.nq, clamps = 0;
  tgReal *q = malloc(sizeof *q * (size_t)(STEPS * (nq + nv))), g[128], a[128], sum = 0;
  memcpy(s->qpos, k->q, (size_t)nq * sizeof *q);
  memcpy(s->qvel, k->v, (size_t)nv * sizeof *q);
  for (int i = 0; i < STEPS; i++) {
    memcpy(q + i * (nq + nv), s->qpos, (size_t)nq * sizeof *q);
    memcpy(q + i * (nq + nv) + nq, s->qvel, (size_t)nv * sizeof *q);
    assert_int_equal(tg_sim_step(s, 0.005, NULL), TG_OK);
  }
  memcpy(g, k->w, 2 * (size_t)nv * sizeof *g);
  for (int i = STEPS - 1; i >= 0; i--) {
    memcpy(s->qpos, q + i * (nq + nv), (size_t)nq * sizeof *q);
    memcpy(s->qvel, q + i * (nq + nv) + nq, (size_t)nv * sizeof *q);
    assert_int_equal(tg_sim_step(s, 0.005, NULL), TG_OK);
    memset(a, 0, sizeof a);
    assert_int_equal(tgi_midpoint_vjp(s, g, g + nv, a, a + nv, NULL, NULL, &clamps), TG_OK);
    memcpy(g, a, 2 * (size_t)nv * sizeof *g);
  }
  for (int i = 0; i < nv; i++) sum += g[nv + i] * k->t[i];
  free(q);
  return sum;
}

// a box that tumbles onto a plane, an arm that beats on it, a sheet between plane and box
static void test_rollout(void **state) {
  (void)state;
  static const char *const box =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='0.5'/><body pos='0 0 .3'><freejoint/>"
      "<geom type='box' size='.1 .08 .06' density='1000' friction='.4'/></body></worldbody></mujoco>";
  static const char *const text[] = {box, arm, sheet};
  for (int scene = 0; scene < 3; scene++)
    for (int v = 0; v < RULES; v++) {
      Rig rig = make(text[scene], v, true);
      tgi_midpoint_own(rig.s)->pattern.panels = scene == 2;   // matrices by trees
      tgtRandom r = {.s = (uint64_t)(5 + scene)};
      Motion k = {.s = rig.s, .nominal = true};
      tgReal x = 0, y, D;
      memcpy(k.q, rig.s->qpos, (size_t)rig.m->nq * sizeof x);
      for (int i = 0; i < rig.m->nv; i++) k.v[i] = tgt_uniform(&r, -1, 1);
      tgt_random_vector(&r, rig.m->nv, k.t);
      tgt_random_vector(&r, 2 * rig.m->nv, k.w);
      check_true(motion(&k, &x, &y) == TG_OK, "%s", rig.s->error.text);
      k.nominal = false;
      D = motion_adjoint(&k);
      tgtDeriv d = {.name = rules[v], .nx = 1, .ny = 1, .map = motion, .ctx = &k, .tol = 1e-7, .step = 1e-4};
      tgt_check_jacobian(&d, &x, &D);
      drop(&rig);
    }
}

#endif

// both derivatives by the functions of the stepper themselves, and into what is there already
static void test_added(void **state) {
  (void)state;
  Rig rig = make(arm, 0, false);
  tgtRandom r = {.s = 3};
  random_state(rig.s, &r, 0);
  int nv = rig.m->nv, nt = 2 * nv + rig.m->nu, clamps = 0;
  tgReal D[MOST * MOST], g[MOST], a[MOST], u[MOST] = {0};
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  assert_int_equal(tgi_midpoint_jacobian(rig.s, D, &clamps), TG_OK);
  tgt_random_vector(&r, 2 * nv, g);
  for (int i = 0; i < nt; i++) a[i] = 1;
  assert_int_equal(tgi_midpoint_vjp(rig.s, g, g + nv, a, a + nv, u, NULL, &clamps), TG_OK);
  for (int i = 0; i < 2 * nv; i++) {
    tgReal sum = 1;
    for (int k = 0; k < 2 * nv; k++) sum += g[k] * D[k * nt + i];
    check_true(fabs(tgRe(sum - a[i])) <= 1e-10 * fmax(1, fabs(tgRe(sum))), "%d: %g, %g", i, tgRe(a[i]), tgRe(sum));
  }
  drop(&rig);
}

// The matrix of a step by trees, as it is used, and its solves, against the dense one and LU with exchanges.
static void test_by_trees(void **state) {
  (void)state;
  static const char *const text[] = {sheet, tied, heap, floor_moves};
  for (int i = 0; i < 4 * RULES; i++) {
    Rig rig = make(text[i / RULES], i % RULES, false);
    tgSim *s = rig.s;
    tgtRandom r = {.s = (unsigned)i};
    int nv = s->m.nv, pivot[64], clamps = 0;
    for (int d = 0; d < nv; d++) s->qvel[d] = tgt_uniform(&r, -0.3, 0.3);
    tgiMidpoint *own = tgi_midpoint_own(s);
    own->pattern.panels = true;
    check_true(tg_sim_step(s, h, NULL) == TG_OK, "%s", s->error.text);
    assert_false(own->pattern.dense);
    tgReal D[64 * 64], x[64], y[64], work[192], most = 0;
    assert_int_equal(tgi_midpoint_derivative(s, false, D, NULL, NULL, &clamps), TG_OK);
    for (int k = 0; k < nv * nv; k++) most = tgMax(most, tgAbs(D[k]));
    for (int j = 0; j < nv; j++) {
      for (int k = 0; k < nv; k++) x[k] = k == j;
      tgi_pattern_mul_both(&own->pattern, own->step_F + s->cap.nH, own->step_F, x, y);
      for (int k = 0; k < nv; k++)
        check_true(fabs(tgRe(y[k] - D[k * nv + j])) <= 1e-13 * tgRe(most), "%d, %d: %g, %g", k, j, tgRe(y[k]), tgRe(D[k * nv + j]));
    }
    assert_true(tgi_lu_factor(nv, D, pivot));   // of the transpose
    for (int transposed = 0; transposed < 2; transposed++) {
      for (int k = 0; k < nv; k++) x[k] = y[k] = tgt_normal(&r);
      assert_int_equal(tgi_midpoint_solve(s, transposed, x, work), TG_OK);
      tgi_lu_solve(nv, D, pivot, y, !transposed);
      for (int k = 0; k < nv; k++) check_true(fabs(tgRe(x[k] - y[k])) <= 1e-9 * (1 + fabs(tgRe(y[k]))), "%g, %g", tgRe(x[k]), tgRe(y[k]));
    }
    // by factors that are off a little it is refined, by others it is none, and told
    static const double off[] = {1.02, 1.5};
    for (int j = 0; j < 2; j++) {
      for (size_t k = 0; k < s->cap.nH + own->pattern.size; k++) own->step_F[k] *= off[j];
      for (int k = 0; k < nv; k++) x[k] = y[k] = tgt_normal(&r);
      assert_int_equal(tgi_midpoint_solve(s, false, x, work), j == 0 ? TG_OK : TG_NOT_CONVERGED);
      tgi_lu_solve(nv, D, pivot, y, true);
      for (int k = 0; k < nv && j == 0; k++)
        check_true(fabs(tgRe(off[0] * x[k] - y[k])) <= 1e-8 * (1 + fabs(tgRe(y[k]))), "%g, %g", tgRe(x[k]), tgRe(y[k]));
    }
    check_true(strstr(s->error.text, "derivative") != NULL, "'%s'", s->error.text);
    drop(&rig);
  }
}

// ---- what is refused ----

static void test_refused(void **state) {
  (void)state;
  Rig rig = rig_of_text("<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body pos='0 0 .05'><freejoint/>"
                        "<geom name='ball' size='.1'/></body></worldbody></mujoco>", "damped", NULL);
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_ERR_INVALID);
  static const char *const named[] = {"ball", "floor", "0.05"};
  for (int i = 0; i < 3; i++) check_true(strstr(rig.s->error.text, named[i]) != NULL, "'%s'", rig.s->error.text);
  rig.s->qpos[2] = 0.2;
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  tgError e = {0};
  const char *const gap[] = {"contact.resting_gap"};
  tgParamGrad *p = tg_param_grad_create_contact(rig.c, gap, 1, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  tgReal g[12] = {1};
  assert_int_equal(tg_sim_step_vjp(rig.s, g, g + 6, NULL, NULL, NULL, p, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(rig.s->error.text, "contact.resting_gap") != NULL, "'%s'", rig.s->error.text);
  tg_param_grad_free(p);
  drop(&rig);
  static const char *const meshes =
      "<mujoco><asset><mesh name='w' vertex='-.1 -.1 0 .1 -.1 0 0 .1 0 0 0 .1'/></asset><worldbody>"
      "<geom name='still' type='mesh' mesh='w'/><body pos='0 0 1'><freejoint/><geom name='falls' type='mesh' mesh='w'/></body>"
      "</worldbody></mujoco>";
  tgDesc *d = tg_desc_load_memory("scene.xml", meshes, strlen(meshes), NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  tgAnyContactOptions points = options_of("damped", "mesh=points");
  assert_null(tg_contact_create(m, "damped", &points.of, &e));
  check_true(e.status == TG_ERR_UNSUPPORTED && strstr(e.text, "still") != NULL && strstr(e.text, "falls") != NULL, "'%s'", e.text);
  tg_model_free(m);
  // a start that is deep names both, and the lines on which they stand
  static const char *const deep = "<mujoco><worldbody>\n<geom name='floor' type='plane' size='1 1 1'/>\n"
                                  "<body pos='0 0 .03'><freejoint/>\n<geom name='ball' size='.05'/></body></worldbody></mujoco>";
  d = tg_desc_load_memory("scene.xml", deep, strlen(deep), NULL, &e);
  m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  tgContact *c = tg_contact_create(m, "damped", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_ERR_INVALID);
  check_true(strstr(s->error.text, "'ball' (scene.xml:4) is 0.02 m deep in geom 'floor' (scene.xml:2)") != NULL, "'%s'", s->error.text);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// the field of a mesh, and a mesh that has none
static void test_meshes(void **state) {
  (void)state;
  static const char *const format =
      "<mujoco><asset><mesh name='m' vertex='%s' face='%s'/></asset><worldbody><geom name='still' type='mesh' mesh='m'/>"
      "<body pos='0 0 1'><freejoint/><geom name='ball' size='.1'/></body></worldbody></mujoco>";
  static const char *const bad[][3] = {
      {"0 0 0 1 0 0 0 1 0 0 0 1", "0 2 1 0 1 3 0 3 2", "open"},
      {"0 0 0 1 0 0 0 1 0 0 0 1 .2 .2 -.5 1.2 .2 -.5 .2 1.2 -.5 .2 .2 .5",
       "0 2 1 0 1 3 0 3 2 1 2 3 4 6 5 4 5 7 4 7 6 5 6 7", "meets itself"}};
  for (int i = 0; i < 2; i++) {
    char text[800];
    tgError e = {0};
    snprintf(text, sizeof text, format, bad[i][0], bad[i][1]);
    tgDesc *d = tg_desc_load_memory("scene.xml", text, strlen(text), NULL, &e);
    tgModel *m = tg_model_compile(d, NULL, &e);
    tg_desc_free(d);
    check_true(m != NULL, "%s", e.text);
    assert_null(tg_contact_create(m, "damped", NULL, &e));
    bool placed = strstr(e.text, "'still' (scene.xml:1)") != NULL && strstr(e.text, "'m' (scene.xml:1)") != NULL;
    check_true(e.status == TG_ERR_INVALID && placed && strstr(e.text, bad[i][2]) != NULL, "'%s'", e.text);
    tgAnyContactOptions hull = options_of("damped", "mesh=hull");
    tgContact *c = tg_contact_create(m, "damped", &hull.of, &e);
    check_true(c != NULL, "%s", e.text);
    tg_contact_free(c);
    tg_model_free(m);
  }
  // a grid of few cells is told to be coarse, one of more is not; hull vertices have no derivative
  static const char *const cells[] = {"mesh_cells=4", "mesh_cells=40"};
  for (int i = 0; i < 2; i++) {
    tgAnyContactOptions o = options_of("damped", cells[i]);
    Rig rig = rig_of_text(notched, "damped", &o.of);
    const char *told = tg_contact_warning(rig.c, 0);
    check_true((told != NULL) == (i == 0), "%s: '%s'", cells[i], told != NULL ? told : "");
    if (told != NULL) check_true(strstr(told, "off by up to") != NULL && strstr(told, "MB") != NULL, "'%s'", told);
    tgError e = {0};
    const char *const vert[] = {"hull_vert"};
    tgParamGrad *p = tg_param_grad_create_contact(rig.c, vert, 1, NULL, &e);
    tgReal g[MOST] = {1};
    for (int k = 1; k < 4; k++) rig.s->qpos[7 * k + 2] = k;   // out of reach of what is coarse
    check_true(tg_sim_step(rig.s, h, NULL) == TG_OK, "%s", rig.s->error.text);
    assert_int_equal(tg_sim_step_vjp(rig.s, g, g + rig.m->nv, NULL, NULL, NULL, p, NULL), TG_ERR_UNSUPPORTED);
    check_true(strstr(rig.s->error.text, "hull_vert") != NULL, "'%s'", rig.s->error.text);
    tg_param_grad_free(p);
    drop(&rig);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest states[] = {cmocka_unit_test(test_heap), cmocka_unit_test(test_pair), cmocka_unit_test(test_arm),
                                      cmocka_unit_test(test_tied), cmocka_unit_test(test_wedge), cmocka_unit_test(test_notched),
                                      cmocka_unit_test(test_sheet), cmocka_unit_test(test_floor_moves), cmocka_unit_test(test_hollows)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(test_added), cmocka_unit_test(test_by_trees), cmocka_unit_test(test_refused),
#ifndef TG_COMPLEX
                                     cmocka_unit_test(test_rollout),
#endif
                                     cmocka_unit_test(test_meshes)};
  const char *only = argc > 1 ? argv[1] : NULL;
#ifdef TG_COMPLEX
  if (only != NULL && strcmp(only, "long") == 0) {
    least_checked = 23;
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests(states, NULL, NULL);
  }
#endif
  cmocka_set_test_filter(only);
  return cmocka_run_group_tests(states, NULL, NULL) + cmocka_run_group_tests(tests, NULL, NULL);
}
