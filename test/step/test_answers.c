// test_answers.c: steps whose contacts have several answers: what a step says of them (tg_sim_watch_answers) against all answers to its
// own rows, found one by one; by every rule of impulses; that the step stays as it is; what rollouts and trust tell.
#include <string.h>

#include "contact/lcp/answers.h"
#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/rollout.h"

// A rod of length 2 and mass 1, its end a ball of 1 cm on the floor; inertia as of a thin one about all axes. A wheel by itself has a
// motor.
static const char rod[] = "<mujoco><option gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='9 9 1' friction='%g'/>"
                          "<body name='rod' pos='0 0 0'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='.333 .333 .333'/>"
                          "<geom name='end' pos='0 0 -1' size='.01' friction='0'/></body>"
                          "<body pos='5 0 0'><joint name='wheel' axis='0 0 1'/>"
                          "<geom size='.1' mass='1' contype='0' conaffinity='0'/></body></worldbody>"
                          "<actuator><motor joint='wheel'/></actuator></mujoco>";

static Rig rod_of(const char *word, const char *settings, double mu) {
  char text[700];
  snprintf(text, sizeof text, rod, mu);
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_text(text, word, &o.of);
}

// the rod in the direction d from its middle to its end, whose ball is `gap` above the floor; the end moves at v, nothing turns
static void lean(tgSim *s, const double d[3], double gap, const double v[3]) {
  // the shortest turn from -z to d
  double q[4] = {1 - d[2], d[1], -d[0], 0}, size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  for (int k = 0; k < 4; k++) tg_sim_qpos(s)[3 + k] = q[k] / size;
  tg_sim_qpos(s)[0] = tg_sim_qpos(s)[1] = 0;
  tg_sim_qpos(s)[2] = 0.01 + gap - d[2];
  for (int k = 0; k < 3; k++) {
    tg_sim_qvel(s)[k] = v[k];
    tg_sim_qvel(s)[3 + k] = 0;
  }
}

// Random leans and speeds: with a watch the step tells of others exactly where there are some, and who; without, where it was pivoted for.
// Both have the same bits.
static void test_touching(void **state) {
  (void)state;
  tgtRandom r = {5};
  int cases = tgt_cases(800, 100), several = 0, unasked = 0;
  Rig rig = rod_of("lcp", "contact_rule=touching", 1);
  tgReal *mu = tg_sim_param(rig.s, "geom_friction", NULL, NULL);
  for (int k = 0; k < cases; k++) {
    double d[3] = {tgt_normal(&r), tgt_normal(&r), -fabs(tgt_normal(&r)) - 0.1}, v[3], size = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    tgReal end[2][7];
    tgStepInfo info[2];
    Answers all;
    for (int i = 0; i < 3; i++) d[i] /= size;
    for (int i = 0; i < 2; i++) v[i] = 3 * tgt_normal(&r);
    v[2] = 0.1 * tgt_normal(&r);
    double friction = tgt_uniform(&r, 1, 3);
    for (int watch = 0; watch < 2; watch++) {
      tg_sim_reset(rig.s);
      *mu = friction;
      tg_sim_watch_answers(rig.s, watch == 1);
      lean(rig.s, d, 0, v);
      assert_int_equal(tg_sim_step_growing(rig.s, 1e-3, &info[watch]), TG_OK);
      memcpy(end[watch], tg_sim_qvel(rig.s), sizeof end[watch]);
    }
    assert_memory_equal(end[0], end[1], sizeof end[0]);
    assert_int_equal(info[0].iterations, info[1].iterations);
    if (rig.s->nrow == 0) continue;
    int kind[3] = {TGI_LCP_NORMAL, TGI_LCP_FRICTION, TGI_LCP_FRICTION}, parent[3] = {-1, 0, 0};
    tgReal bound[3] = {0, friction, friction};
    tgiLcpProblem p = {.n = 3, .A = rig.s->rows->A, .b = rig.s->rows->b, .kind = kind, .parent = parent, .bound = bound};
    assert_int_equal(rig.s->nrow, 3);
    find_all(&p, &all);
    if (all.tied) continue;
    check_true((info[1].nambiguous > 0) == (all.n > 1), "%d answers, %d told", all.n, info[1].nambiguous);
    assert_true(info[0].nambiguous <= info[1].nambiguous);
    assert_true(info[1].nambiguous == 0 ? info[1].ambiguous1 == -1 && info[1].ambiguous2 == -1
                                        : info[1].ambiguous1 + info[1].ambiguous2 == 1);   // the rod and the world
    several += all.n > 1;
    unasked += info[0].nambiguous;
  }
  print_message("%d of %d steps of several answers, %d told without a watch\n", several, cases, unasked);
  assert_true(several >= cases / 100);
  drop(&rig);
}

// Two legs on one hip, both feet on the floor, at random angles and speeds, by touching: six rows on seven dofs. Others are told of nearly
// wherever there are some, and nowhere else.
static void test_legs(void **state) {
  (void)state;
  static const char legs[] =
      "<mujoco><option gravity='0 0 0'/><default><geom size='.01' friction='0'/></default><worldbody>"
      "<geom type='plane' size='9 9 1' friction='1'/><body name='left'><freejoint/>"
      "<inertial pos='0 0 -.5' mass='1' diaginertia='.09 .085 .01'/><geom pos='0 0 -1'/>"
      "<body name='right'><joint axis='0 1 0'/><inertial pos='0 0 -.5' mass='1' diaginertia='.09 .085 .01'/>"
      "<geom pos='0 0 -1' contype='2'/></body></body></worldbody></mujoco>";
  tgtRandom r = {6};
  int cases = tgt_cases(2000, 500), several = 0, told = 0;
  tgAnyContactOptions o = options_of("lcp", "contact_rule=touching");
  Rig rig = rig_of_text(legs, "lcp", &o.of);
  tgReal *mu = tg_sim_param(rig.s, "geom_friction", NULL, NULL);
  tg_sim_watch_answers(rig.s, true);
  for (int k = 0; k < cases; k++) {
    double a = tgt_uniform(&r, 0.2, 1.2), v[3], friction = *mu = tgt_uniform(&r, 1, 3);
    tgStepInfo info;
    Answers all;
    for (int i = 0; i < 3; i++) v[i] = (i < 2 ? 3 : 0.3) * tgt_normal(&r);
    lean(rig.s, (double[]){sin(a), 0, -cos(a)}, 0, v);
    tg_sim_qpos(rig.s)[7] = 2 * a;
    tg_sim_qvel(rig.s)[6] = tgt_normal(&r);
    assert_int_equal(tg_sim_step_growing(rig.s, 1e-3, &info), TG_OK);
    if (rig.s->nrow != 6 || rig.s->nisland != 1) continue;   // a foot is above the floor by rounding
    int kind[6], parent[6];
    tgReal bound[6];
    for (int i = 0; i < 6; i++) {
      kind[i] = i % 3 == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION;
      parent[i] = i - i % 3;
      bound[i] = i % 3 == 0 ? 0 : friction;
      assert_int_equal(rig.s->rows->kind[i], i % 3 == 0 ? TG_ROW_NORMAL : TG_ROW_TANGENT);
    }
    tgiLcpProblem p = {.n = 6, .A = rig.s->rows->A, .b = rig.s->rows->b, .kind = kind, .parent = parent, .bound = bound};
    find_all(&p, &all);
    if (all.tied) continue;
    check_true(info.nambiguous == 0 || all.n > 1, "one answer, %d told", info.nambiguous);
    several += all.n > 1;
    told += info.nambiguous;
  }
  print_message("%d of %d steps of several answers, %d told\n", several, cases, told);
  assert_true(several >= cases / 200 && told >= 0.9 * several);
  drop(&rig);
}

// The rod that leans at tan = 2 and slides, leaving the floor at next to no speed: three answers at friction 2, one at 1 [Painleve: above
// 4/3]. By every rule, and in friction in a cone, of which nothing is said.
static void test_rules(void **state) {
  (void)state;
  static const struct { const char *word, *settings; bool told; } rules[] = {
      {"lcp", "contact_rule=touching", true}, {"lcp", "", true}, {"toi", "", true}, {"lcp", "friction_cone=elliptic", false}};
  const double d[3] = {1 / sqrt(5.0), 0, -2 / sqrt(5.0)};
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
    for (int high = 0; high < 2; high++)
      for (int way = -1; way <= 1; way += 2) {
        Rig rig = rod_of(rules[k].word, rules[k].settings, high ? 2 : 1);
        tgStepInfo info;
        lean(rig.s, d, strcmp(rules[k].word, "toi") == 0 ? 1e-6 : 0, (double[]){3 * way, 0, 1e-5});
        tg_sim_watch_answers(rig.s, true);
        assert_int_equal(tg_sim_step_growing(rig.s, 1e-3, &info), TG_OK);
        // forwards, to where the end points, it is pressed
        check_true((info.nambiguous > 0) == (rules[k].told && high && way == 1), "%s %s, friction %d, to %d: %d told", rules[k].word,
                   rules[k].settings, 1 + high, way, info.nambiguous);
        drop(&rig);
      }
}

static tgStatus end(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = tg_sim_qpos(sim)[0] + tg_sim_qpos(sim)[7];
  if (gq != NULL) gq[0] = gq[6] = 1;
  return TG_OK;
}

// a rollout counts such steps where its sim is watched, and trust has it watched, for one run
static void test_rollout(void **state) {
  (void)state;
  Rig rig = rod_of("lcp", "contact_rule=touching", 2);
  lean(rig.s, (double[]){1 / sqrt(5.0), 0, -2 / sqrt(5.0)}, 0, (double[]){3, 0, 1e-5});
  tgRolloutOptions o = tg_rollout_default();
  tgError error;
  o.h = 1e-3;
  o.steps = 3;
  tgRollout *rollout = tg_rollout_create(rig.m, rig.c, &o, &error);
  assert_non_null(rollout);
  for (int watch = 0; watch < 2; watch++) {
    tgRolloutResult result;
    tgStepInfo info[3];
    tgRolloutRun run = {.q0 = tg_sim_qpos(rig.s), .v0 = tg_sim_qvel(rig.s), .loss = end, .info = info};
    tg_sim_watch_answers(tg_rollout_sim(rollout), watch == 1);
    assert_int_equal(tg_rollout_run(rollout, &run, &result), TG_OK);
    int told = 0;
    for (int k = 0; k < 3; k++) told += info[k].nambiguous > 0;
    assert_int_equal(result.ambiguous, told);
    assert_true(watch == 0 || told > 0);
    tg_sim_watch_answers(tg_rollout_sim(rollout), false);
    tgTrustOptions quick = tg_trust_default();
    tgTrust trust;
    quick.quick = true;
    run.info = NULL;
    assert_int_equal(tg_rollout_trust(rollout, &run, &quick, &trust), TG_OK);
    assert_true(trust.ambiguous > 0 && tg_rollout_sim(rollout)->answers_asked == TGI_ASK_FEW);
  }
  tg_rollout_free(rollout);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_touching), cmocka_unit_test(test_legs),
                                     cmocka_unit_test(test_rollout)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
