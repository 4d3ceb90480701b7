// test_status.c: what a step says of itself reaches whoever asked for the motion: a rollout's account of its gradient, a batch's, an
// optimum's. Steps without an answer, constraints that contradict each other, masses of which one is nothing beside the other.
#include <stdlib.h>
#include <string.h>

#include "rollout/rollout.h"
#include "support/reach.h"
#include "support/rig.h"
#include "tangere/optim.h"
#include "tangere/rollout.h"

enum { T = 30, N = 6, ODD = 2, NQ = 2 };

// a ball that slides along, and falls 2 cm onto, the floor
static const char slider[] =
    "<mujoco><option timestep='.01'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.4'/>"
    "<body name='ball' pos='0 0 .12'><joint name='along' type='slide' axis='1 0 0'/><joint name='up' type='slide' axis='0 0 1'/>"
    "<geom size='.1' mass='2' friction='.4'/></body></worldbody>"
    "<actuator><motor joint='along'/></actuator></mujoco>";
// a part that two equalities want at two places
static const char torn[] =
    "<mujoco><option gravity='0 0 0' timestep='.01'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
    "<geom size='.1' mass='1'/></body></worldbody><equality><joint joint1='rail' polycoef='0 0 0 0 0'/>"
    "<joint joint1='rail' polycoef='.1 0 0 0 0'/></equality><actuator><motor joint='rail'/></actuator></mujoco>";

// --- merging

static void the_worst_step_is_told(void **state) {
  (void)state;
  static const tgGradInfo step[] = {
      {.label = TG_GRAD_EXACT, .converged = true, .ties = 0, .first_step = -1, .reason = ""},
      {.label = TG_GRAD_ONE_SIDED, .converged = true, .ties = 2, .first_step = -1, .reason = "a tie"},
      {.label = TG_GRAD_EXACT, .converged = false, .ties = 0, .first_step = -1, .reason = "no answer"},
      {.label = TG_GRAD_UNSTABLE, .converged = true, .ties = 1, .first_step = -1, .reason = "too long"}};
  // every order of the four, as steps 0 to 3: label, flag and ties are the same, and the reason is the label's
  for (int code = 0; code < 256; code++) {
    int order[4], used = 0;
    for (int t = 0; t < 4; t++) used |= 1 << (order[t] = code >> 2 * t & 3);
    if (used != 15) continue;
    for (int backwards = 0; backwards < 2; backwards++) {   // as a sweep forwards meets them, or an adjoint
      tgGradInfo all = {.label = TG_GRAD_EXACT, .converged = true, .first_step = -1};
      for (int i = 0; i < 4; i++) tgi_grad_merge(&all, &step[order[backwards ? 3 - i : i]], backwards ? 3 - i : i);
      assert_int_equal(all.label, TG_GRAD_UNSTABLE);
      assert_false(all.converged);
      assert_int_equal(all.ties, 3);
      assert_int_equal(order[all.first_step], 3);
      assert_string_equal(all.reason, "too long");
    }
  }
  // of two that are as bad it is the first
  for (int backwards = 0; backwards < 2; backwards++) {
    tgGradInfo all = {.label = TG_GRAD_EXACT, .converged = true, .first_step = -1};
    tgGradInfo two[] = {{.label = TG_GRAD_SURROGATE, .converged = true, .reason = "a"}, {.label = TG_GRAD_SURROGATE, .reason = "b"}};
    for (int i = 0; i < 2; i++) tgi_grad_merge(&all, &two[backwards ? 1 - i : i], backwards ? 1 - i : i);
    assert_true(all.first_step == 0 && !all.converged && strcmp(all.reason, "a") == 0);
  }
  // of whole motions: the label's reason, and a step without an answer is not forgotten beside a worse label
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      tgGradInfo all = step[a];
      tgi_grad_worst(&all, &step[b]);
      assert_int_equal(all.label, step[a].label > step[b].label ? step[a].label : step[b].label);
      assert_int_equal(all.converged, step[a].converged && step[b].converged);
      if (step[a].label != step[b].label) assert_string_equal(all.reason, step[step[a].label > step[b].label ? a : b].reason);
    }
  tgGradInfo all = step[0];
  tgi_grad_worst(&all, &step[2]);
  assert_string_equal(all.reason, "no answer");
}

// --- steps without an answer

static tgStatus refuse(void *ctx, tgSim *sim) {
  sim->refused_solves = *(const int *)ctx;
  return TG_OK;
}

typedef struct Motions {
  tgReal q0[NQ], v0[NQ], q[N][(T + 1) * NQ], v[N][(T + 1) * NQ], dq0[N][NQ], dv0[N][NQ], du[N][T];
  tgStepInfo info[N][T];
  int refused[N];
  tgtReach reach;
  tgRolloutRun run[N];
  tgRolloutResult result[N];
} Motions;

static void fill(Motions *x, int odd) {
  *x = (Motions){.v0 = {1.5, 0}};
  x->reach = (tgtReach){.body = 1, .target = {0.3, 0, 0.1}, .running = 1, .final = 10, .speed = 1e-3, .control = 1e-3};
  x->refused[ODD] = odd;
  for (int i = 0; i < N; i++) {
    x->run[i] = (tgRolloutRun){.q0 = x->q0, .v0 = x->v0, .loss = tgt_reach, .loss_ctx = &x->reach, .setup = refuse,
                               .setup_ctx = &x->refused[i], .q = x->q[i], .v = x->v[i], .info = x->info[i], .dq0 = x->dq0[i],
                               .dv0 = x->dv0[i], .du = x->du[i]};
  }
}

static bool same(const Motions *a, const Motions *b, int i) {
  return memcmp(a->q[i], b->q[i], sizeof a->q[i]) == 0 && memcmp(a->v[i], b->v[i], sizeof a->v[i]) == 0 &&
         memcmp(a->dq0[i], b->dq0[i], sizeof a->dq0[i]) == 0 && memcmp(a->dv0[i], b->dv0[i], sizeof a->dv0[i]) == 0 &&
         memcmp(a->du[i], b->du[i], sizeof a->du[i]) == 0 && memcmp(&a->result[i].loss, &b->result[i].loss, sizeof(tgReal)) == 0;
}

static void check_flag(const Motions *x, int i, int fallback) {
  const tgGradInfo *g = &x->result[i].grad;
  int first = -1;
  for (int t = T; t-- > 0;)
    if (x->info[i][t].fallback > 0) first = t;
  assert_int_equal(x->result[i].status, TG_OK);
  check_true((first >= 0) == (fallback > 0), "motion %d: the first step without an answer is %d, wanted is fallback %d (%s)", i, first,
             fallback, g->reason);
  assert_int_equal(g->converged, fallback == 0);
  if (fallback == 0) {
    check_true(g->label < TG_GRAD_SURROGATE, "motion %d: %s", i, g->reason);
    return;
  }
  check_true(first > 3, "the ball is on the floor at step %d", first);
  assert_int_equal(g->label, TG_GRAD_SURROGATE);
  assert_int_equal(g->first_step, first);
  check_true(strstr(g->reason, "ball") != NULL && strstr(g->reason, fallback == 1 ? "less friction" : "least residual") != NULL, "%s",
             g->reason);
}

// one of six motions has steps without an answer: it alone is told so, and the others keep their bits
static void a_batch_tells_them_apart(void **state) {
  (void)state;
  static const int refused[] = {1, 100};
  Motions *want = malloc(sizeof *want), *got = malloc(sizeof *got);
  assert_true(want != NULL && got != NULL);
  tgAnyContactOptions o = options_of("lcp", "");
  Rig r = rig_of_text(slider, "lcp", &o.of);
  for (int tape = 0; tape < 2; tape++) {     // steps from the tape, and steps made again
    tgRolloutOptions ro = tg_rollout_default();
    tgError e = {0};
    ro.steps = T;
    tgRollout *one = tg_rollout_create(r.m, r.c, &ro, &e);
    assert_non_null(one);
    ro.tape_bytes = tape == 0 ? 0 : tg_rollout_least_bytes(one);
    tg_rollout_free(one);
    tgBatch *batch = tg_batch_create(r.m, r.c, &ro, 2, &e);
    check_true(batch != NULL, "%s", e.text);
    fill(want, 0);
    assert_int_equal(tg_batch_run(batch, N, want->run, want->result), TG_OK);
    for (int i = 0; i < N; i++) check_flag(want, i, 0);
    for (int j = 0; j < 2; j++) {
      fill(got, refused[j]);
      assert_int_equal(tg_batch_run(batch, N, got->run, got->result), TG_OK);
      for (int i = 0; i < N; i++) {
        check_flag(got, i, i == ODD ? j + 1 : 0);
        // the least residual of what has an answer is that answer
        if (i != ODD || j == 0) assert_int_equal(same(want, got, i), i != ODD);
      }
    }
    tg_batch_free(batch);
  }
  drop(&r);
  free(want);
  free(got);
}

// Jacobians of the steps without a gradient are told of as well
static void jacobians_tell_too(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("lcp", "");
  Rig r = rig_of_text(slider, "lcp", &o.of);
  tgRolloutOptions ro = tg_rollout_default();
  ro.steps = T;
  tgRollout *one = tg_rollout_create(r.m, r.c, &ro, NULL);
  assert_non_null(one);
  static tgReal D[T * 4 * 5];
  for (int refused = 0; refused < 2; refused++) {
    tgReal q0[NQ] = {0}, v0[NQ] = {1.5, 0};
    tgRolloutRun run = {.q0 = q0, .v0 = v0, .D = D, .setup = refuse, .setup_ctx = &refused};
    tgRolloutResult result;
    assert_int_equal(tg_rollout_run(one, &run, &result), TG_OK);
    assert_int_equal(result.grad.converged, refused == 0);
    assert_int_equal(result.grad.label == TG_GRAD_SURROGATE, refused == 1);
    assert_int_equal(result.grad.first_step > 3, refused == 1);
  }
  tg_rollout_free(one);
  drop(&r);
}

// --- constraints that contradict each other

static void contradictions_are_told(void **state) {
  (void)state;
  tgReal du[T];
  tgtReach reach = {.body = 1, .target = {0.3, 0, 0}, .running = 1, .final = 1};
  for (int stop = 0; stop < 2; stop++) {
    tgAnyContactOptions o = options_of("lcp", stop ? "unsolved=stop" : "");
    Rig r = rig_of_text(torn, "lcp", &o.of);
    tgRolloutOptions ro = tg_rollout_default();
    ro.steps = T;
    tgRollout *one = tg_rollout_create(r.m, r.c, &ro, NULL);
    tgRolloutRun run = {.loss = tgt_reach, .loss_ctx = &reach, .du = du};
    tgRolloutResult result;
    tgStatus st = tg_rollout_run(one, &run, &result);
    assert_int_equal(st, stop ? TG_NOT_CONVERGED : TG_OK);
    if (stop) {
      check_true(strstr(result.error.text, "step 0 of 30") != NULL && strstr(result.error.text, "equality 0") != NULL, "%s",
                 result.error.text);
      assert_true(isnan(tgRe(result.loss)));
    } else {
      assert_false(result.grad.converged);
      assert_int_equal(result.grad.label, TG_GRAD_SURROGATE);
      assert_int_equal(result.grad.first_step, 0);
      check_true(strstr(result.grad.reason, "cart") != NULL, "%s", result.grad.reason);
      for (int t = 0; t < T; t++) assert_true(isfinite(tgRe(du[t])));
    }
    tg_rollout_free(one);
    drop(&r);
  }
}

// the flag is in what an optimisation hands back, whatever the method
static void an_optimum_tells(void **state) {
  (void)state;
  char folder[] = "/tmp/tangere-status-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/torn.xml", folder);
  FILE *f = fopen(path, "w");
  assert_true(f != NULL && fputs(torn, f) >= 0 && fclose(f) == 0);
  static const char *const methods[] = {"adam", "descent", "ilqr", "gauss_newton"};
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    char text[600];
    tgError e = {0};
    snprintf(text, sizeof text, "model: torn.xml\ncontact: lcp\nhorizon: {steps: 6}\ncontrols: {}\nlosses:\n"
             "- {term: body_position, name: cart, target: [0.2, 0, 0], weight: 1}\n- {term: control, weight: 1.0e-3}\n"
             "optimizer: {method: %s, iterations: 2}\nverify: {rows: [none]}\n", methods[k]);
    tgTask *task = tg_task_load_text(text, strlen(text), folder, NULL, &e);
    check_true(task != NULL, "%s: %s", methods[k], e.text);
    tgOptimizeOptions o = tg_optimize_default();
    o.threads = 1;
    tgOptimum *best = tg_optimize(task, &o);
    assert_non_null(best);
    check_true(best->status == TG_OK, "%s: %s", methods[k], best->error.text);
    check_true(!best->grad.converged && best->grad.label == TG_GRAD_SURROGATE && strstr(best->grad.reason, "cart") != NULL,
               "%s: %d, %d, %s", methods[k], best->grad.converged, best->grad.label, best->grad.reason);
    tg_optimum_free(best);
    tg_task_free(task);
  }
  remove(path);
  remove(folder);
}

// --- a mass beside which another is nothing

// a heavy box that falls onto a light one on the floor: whatever the contact model makes of it is finite, or named and flagged
static void mass_ratios(void **state) {
  (void)state;
  static const double ratio[] = {1, 1e6, 1e12};
  static const int steps[] = {25, 25, 4};
  int graded = 0, good = 0;
  for (int k = 0; tg_contact_words(k) != NULL; k++) {
    const char *word = tg_contact_words(k);
    for (size_t i = 0; i < sizeof ratio / sizeof *ratio; i++) {
      char text[700];
      snprintf(text, sizeof text,
               "<mujoco><option timestep='.004'/><worldbody><geom name='floor' type='plane' size='5 5 .1'/>"
               "<body name='light' pos='0 0 .101'>"
               "<joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .1 .1' mass='%g'/></body><body name='heavy' pos='0 0 .302'>"
               "<joint type='slide' axis='0 0 1'/><geom type='box' size='.08 .08 .1' mass='%g'/></body></worldbody></mujoco>",
               1 / sqrt(ratio[i]), sqrt(ratio[i]));
      tgAnyContactOptions o = options_of(word, "");
      Rig r = rig_of_text(text, word, &o.of);
      tgRolloutOptions ro = tg_rollout_default();
      ro.steps = steps[i];
      tgError e = {0};
      tgRollout *one = tg_rollout_create(r.m, r.c, &ro, &e);
      check_true(one != NULL, "%s: %s", word, e.text);
      tgtReach reach = {.body = 2, .target = {0, 0, 0.3}, .running = 1, .final = 1};
      tgReal dq0[2] = {NAN, NAN}, dv0[2] = {NAN, NAN}, q[26 * 2];
      static tgStepInfo info[25];
      memset(info, 0, sizeof info);
      tgRolloutRun run = {.loss = tgt_reach, .loss_ctx = &reach, .dq0 = dq0, .dv0 = dv0, .q = q, .info = info};
      tgRolloutResult result;
      tgStatus st = tg_rollout_run(one, &run, &result);
      if (st != TG_OK) {
        bool graded_so = st == TG_NOT_CONVERGED || st == TG_ERR_NOT_FINITE || st == TG_ERR_INVALID;
        check_true(graded_so && strstr(result.error.text, "step ") != NULL && isnan(tgRe(result.loss)), "%s, ratio %g: status %d: %s", word,
                   ratio[i], st, result.error.text);
        graded++;
      } else {
        bool all = true;
        for (int t = 0; t < result.steps; t++) all = all && info[t].converged;
        check_true(result.grad.converged == all, "%s, ratio %g: the gradient says %d, its steps %d", word, ratio[i],
                   result.grad.converged, all);
        for (int j = 0; j < 2; j++)
          check_true(isfinite(tgRe(dq0[j])) && isfinite(tgRe(dv0[j])) && isfinite(tgRe(q[steps[i] * 2 + j])), "%s, ratio %g: not finite",
                     word, ratio[i]);
        good++;
      }
      // the same object comes to the same again
      tgReal before[2] = {dq0[0], dv0[0]};
      check_true(tg_rollout_run(one, &run, &result) == st, "%s, ratio %g, again: %s", word, ratio[i], result.error.text);
      if (st == TG_OK) assert_true(before[0] == dq0[0] && before[1] == dv0[0]);
      tg_rollout_free(one);
      drop(&r);
    }
  }
  check_true(good >= 10, "%d motions, and %d were refused", good, graded);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_worst_step_is_told), cmocka_unit_test(a_batch_tells_them_apart),
                                     cmocka_unit_test(jacobians_tell_too), cmocka_unit_test(contradictions_are_told),
                                     cmocka_unit_test(an_optimum_tells), cmocka_unit_test(mass_ratios)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
