// test_verify.c: a motion found is replayed under other conditions, and refined until it holds.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/numdiff.h"
#include "optim/verify.h"
#include "optim/view.h"
#include "support/check.h"
#include "support/task.h"
#include "tangere/optim.h"
#include "tangere/step.h"

// a block that is pushed along a floor to a mark; 20 steps of 20 ms, a control for every two
#define HEAD "model: " TG_SOURCE_DIR "/test/data/pushed_block.xml\n"
#define BODY                                                                                                      \
  "horizon: {steps: 20, timestep: 0.02}\n"                                                                        \
  "controls: {every: 2, start: 3, low: -50, high: 50}\n"                                                          \
  "losses:\n  - {term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1}\n"                    \
  "  - {term: control, weight: 1.0e-9}\n"                                                                         \
  "optimizer: {method: lbfgs, iterations: 30}\n"                                                                  \
  "success: {distance: 0.01}\n"

static tgTask *task_of(const char *text) {
  tgError e = {0};
  tgTask *t = tg_task_load_text(text, strlen(text), "/", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  return t;
}

static const tgVerifyRow *row(const tgVerification *v, const char *name) {
  for (int i = 0; i < v->n; i++)
    if (strcmp(v->row[i].name, name) == 0) return &v->row[i];
  return NULL;
}

// a coordinate at the end, by the public stepper: `sub` steps for one, controls held
static double end_of(const tgTask *t, const char *word, const char *option, const char *value, const double *x, int sub, int coordinate) {
  const tgModel *m = tg_task_model(t);
  tgAnyContactOptions o;
  tg_contact_default(word, &o.of, sizeof o);
  if (option != NULL) assert_int_equal(tg_contact_set(&o.of, option, value, NULL), TG_OK);
  tgContact *c = tg_contact_create(m, word, &o.of, NULL);
  tgSim *s = tg_sim_create(m, c, NULL, NULL);
  int T = tg_task_steps(t), nu = tg_model_nu(m);
  double *u = malloc((size_t)(T * nu) * sizeof *u), q[16], v[16];
  tg_task_expand(t, x, q, v, u);
  tg_sim_set_state(s, q, v);
  for (int k = 0; k < T * sub; k++) {
    memcpy(tg_sim_ctrl(s), u + k / sub * nu, (size_t)nu * sizeof *u);
    assert_int_equal(tg_sim_step_growing(s, tg_task_timestep(t) / sub, NULL), TG_OK);
  }
  double end = tg_sim_qpos(s)[coordinate];
  free(u);
  tg_sim_free(s);
  tg_contact_free(c);
  return end;
}

// A block of the shape of an L, whose hull fills its corner, is pushed: what holds hulls is not asked, but where the task names it, and not
// of a task that has hulls itself.
static void test_hulls_are_another_scene(void **state) {
  (void)state;
  static const char *const scene =
      "<mujoco><asset><mesh name='ell' "
      "vertex='0 0 0 .2 0 0 .2 .1 0 .1 .1 0 .1 .2 0 0 .2 0 0 0 .1 .2 0 .1 .2 .1 .1 .1 .1 .1 .1 .2 .1 0 .2 .1' "
      "face='0 1 7 1 2 8 2 3 9 3 4 10 4 5 11 5 0 6 0 7 6 1 8 7 2 9 8 3 10 9 4 11 10 5 6 11 "
      "0 2 1 0 3 2 0 4 3 0 5 4 6 7 8 6 8 9 6 9 10 6 10 11'/>"
      "</asset><worldbody><body name='block' pos='0 0 .01'><joint name='x' type='slide' axis='1 0 0'/>"
      "<geom name='ell' type='mesh' mesh='ell' mass='1'/></body><body pos='.16 .16 .05'><joint type='slide' axis='0 1 0'/>"
      "<geom size='.02' mass='1'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>";
  static const struct { const char *contact, *extra, *row; bool there, required; } want[] = {
      {"toi", "", "lcp", false, false}, {"barrier", "", "lcp", false, false}, {"barrier", "", "toi", true, true},
      {"toi", "verify: {rows: [lcp]}\n", "lcp", true, true}, {"lcp", "", "toi", true, true}};
  char folder[] = "/tmp/verifyXXXXXX", model[64], text[1000];
  assert_non_null(mkdtemp(folder));
  snprintf(model, sizeof model, "%s/ell.xml", folder);
  FILE *f = fopen(model, "w");
  assert_non_null(f);
  fputs(scene, f);
  fclose(f);
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    snprintf(text, sizeof text, "model: %s\ncontact: %s\n" BODY "%s", model, want[i].contact, want[i].extra);
    tgTask *t = task_of(text);
    double x[10] = {0};
    tgVerification v;
    tgError e = {0};
    assert_int_equal(tg_task_size(t), 10);
    check_true(tg_verify(t, x, NULL, &v, &e) == TG_OK, "%s", e.text);
    const tgVerifyRow *r = row(&v, want[i].row);
    assert_non_null(r);
    check_true((r->verdict != TG_VERDICT_NOT_EXPRESSED) == want[i].there && r->required == want[i].required, "%s, %s: %s, required %d: %s",
               want[i].contact, want[i].row, tg_verdict_text(r->verdict), r->required, r->reason);
    const char *why = "the mesh of geom 'ell' is not convex, and lcp has its convex hull";
    check_true(want[i].there || strstr(r->reason, why) != NULL, "%s", r->reason);
    tg_task_free(t);
  }
  remove(model);
  remove(folder);
}

// each replay is the motion that the public stepper makes under its conditions
static void test_replays_are_motions(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: barrier\noptions: {weight: 1.0e-5}\n" BODY);
  int n = tg_task_size(t);
  double *x = malloc((size_t)n * sizeof *x);
  for (int i = 0; i < n; i++) x[i] = 4 + sin(i);
  tgVerification v;
  assert_int_equal(tg_verify(t, x, NULL, &v, NULL), TG_OK);
  assert_int_equal(v.n, 5);
  const struct { const char *name, *word, *option, *value; int sub; bool required; } want[] = {
      {"finer", "barrier", "weight", "1e-5", 8, true}, {"stiffer", "barrier", "weight", "1e-7", 8, true},
      {"near", "barrier", "weight", "1e-5", 1, false}, {"lcp", "lcp", NULL, NULL, 20, true}, {"toi", "toi", NULL, NULL, 20, true}};
  for (int i = 0; i < 5; i++) {
    const tgVerifyRow *r = row(&v, want[i].name);
    assert_non_null(r);
    assert_int_equal(r->required, want[i].required);
    check_true(fabs(r->h - 0.02 / want[i].sub) < 1e-15, "%s: steps of %g", r->name, r->h);
    if (i == 2) continue;   // two options
    double left = fabs(end_of(t, want[i].word, want[i].option, want[i].value, x, want[i].sub, 0) - 0.1);
    check_true(fabs(left - r->distance) < 1e-12, "%s: %.15g, by the stepper %.15g", r->name, r->distance, left);
    assert_int_equal(r->verdict, left <= 0.01 ? TG_VERDICT_HOLDS : TG_VERDICT_MISSES);
  }
  // and its states, at the task's own times
  double q[21 * 16], last[3] = {0};
  assert_int_equal(tg_verify_motion(t, x, "finer", q, NULL, NULL, NULL), TG_OK);
  int nq = tg_model_nq(tg_task_model(t));
  last[0] = q[20 * nq];
  check_true(fabs(fabs(last[0] - 0.1) - row(&v, "finer")->distance) < 1e-12, "the last state is at %g", last[0]);
  tgError e = {0};
  assert_int_equal(tg_verify_motion(t, x, "toothed", q, NULL, NULL, &e), TG_ERR_ARG);
  assert_non_null(strstr(e.text, "toothed"));
  free(x);
  tg_task_free(t);
}

// A box that slides askew is held more by friction along two axes than by a cone's. The replay is that of the option, under both contact
// models that have it, and of tasks that name it alone.
static void test_cone(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "toi"};
  for (int w = 0; w < 2; w++)
    for (int named = 0; named < 2; named++) {
      char text[1000];
      snprintf(text, sizeof text,
               "model: " TG_SOURCE_DIR "/models/tasks/push_far.xml\ncontact: %s\nhorizon: {steps: 20, timestep: 0.01}\n"
               "start: {joints: [{joint: box, position: [-1, 0, 0.1501, 1, 0, 0, 0], velocity: [-1, -0.7, 0, 0, 0, 0]}]}\n"
               "controls: {every: 20}\nlosses: [{term: body_position, name: box, target: [0, 0, 0], axes: x, weight: 1}]\n"
               "optimizer: {method: adam, iterations: 1}\n%s", word[w], named ? "verify: {rows: [cone]}\n" : "");
      tgTask *t = task_of(text);
      double x[3] = {0}, box[2];
      tgVerification v;
      assert_int_equal(tg_task_size(t), 3);
      assert_int_equal(tg_verify(t, x, NULL, &v, NULL), TG_OK);
      assert_int_equal(row(&v, "cone") != NULL, named);
      for (int k = 0; k < 2 && named; k++) box[k] = fabs(end_of(t, word[w], "friction_cone", k == 0 ? "pyramid" : "elliptic", x, 1, 3));
      if (named) check_close(row(&v, "cone")->distance, box[1], 1e-12);
      if (named) check_true(box[1] > box[0] + 1e-3, "%s: %g by two axes, %g by a cone", word[w], box[0], box[1]);
      tg_task_free(t);
    }
}

// states from elsewhere, here those of the task's own motion, have its loss and distance; those that are not finite are refused, in words
static void test_states_are_judged(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: lcp\n" BODY);
  enum { N = 10, STATES = 21 };
  double x[N], q[STATES * 16], v[STATES * 16], loss, distance, want, far;
  tgError e = {0};
  assert_int_equal(tg_task_size(t), N);
  for (int i = 0; i < N; i++) x[i] = 8 - i;
  tgEvaluator *evaluator = tg_evaluator_create(t, 0, &e);
  assert_non_null(evaluator);
  assert_int_equal(tg_evaluate(evaluator, x, &want, NULL, q, v, NULL, NULL), TG_OK);
  far = fabs(q[20 * tg_model_nq(tg_task_model(t))] - 0.1);
  check_true(far > 1e-3, "%g m from the mark", far);
  assert_int_equal(tg_task_judge(t, x, q, v, &loss, &distance, &e), TG_OK);
  assert_true(e.status == TG_OK && e.text[0] == '\0');
  check_close(loss, want, 1e-12 * want);
  check_close(distance, far, 1e-12);
  x[0] += 5;   // its control costs, at the same states
  assert_int_equal(tg_task_judge(t, x, q, v, &loss, &distance, NULL), TG_OK);
  check_close(loss - want, 1e-9 * 2 * (13. * 13 - 8. * 8) / 20, 1e-6 * 1e-9);   // two of 20 steps
  check_close(distance, far, 1e-12);
  q[3] = NAN;
  assert_true(tg_task_judge(t, x, q, v, &loss, &distance, &e) < 0);
  assert_true(e.text[0] != '\0' && e.status < 0);
  tg_evaluator_free(evaluator);
  tg_task_free(t);
}

// "reached" means that the required replays hold: a tolerance that they cannot meet takes it away, and names the row
static void test_reached(void **state) {
  (void)state;
  tgTask *loose = task_of(HEAD "contact: lcp\n" BODY), *tight = task_of(HEAD "contact: lcp\n" BODY "verify: {distance: 1.0e-9}\n"),
         *none = task_of(HEAD "contact: lcp\n" BODY "verify: {rows: [none]}\n");
  tgOptimum *a = tg_optimize(loose, NULL), *b = tg_optimize(tight, NULL), *c = tg_optimize(none, NULL);
  assert_true(a->met && a->reached && a->verification.n == 2 && a->verification.broken < 0);
  assert_true(b->met && !b->reached && b->verification.broken == 0);
  assert_string_equal(b->verification.row[0].name, "finer");
  assert_true(c->met && c->reached && c->verification.n == 0);
  tgOptimizeOptions o = tg_optimize_default();
  o.unverified = true;
  tgOptimum *d = tg_optimize(tight, &o);
  assert_true(d->reached && d->verification.n == 0);
  assert_int_equal(memcmp(b->best, d->best, (size_t)b->n * sizeof *b->best), 0);
  tg_optimum_free(a), tg_optimum_free(b), tg_optimum_free(c), tg_optimum_free(d);
  tg_task_free(loose), tg_task_free(tight), tg_task_free(none);
}

// what a replay cannot express does not count as passed where it is asked for by name, and is not asked for where it is not
static void test_not_expressed(void **state) {
  (void)state;
  tgTask *named = task_of(HEAD "contact: lcp\n" BODY "verify: {rows: [finer, stiffer]}\n");
  double *x = calloc((size_t)tg_task_size(named), sizeof *x);
  tgVerification v;
  assert_int_equal(tg_verify(named, x, NULL, &v, NULL), TG_OK);
  assert_int_equal(v.n, 2);
  assert_int_equal(row(&v, "stiffer")->verdict, TG_VERDICT_NOT_EXPRESSED);
  assert_true(row(&v, "stiffer")->required && v.broken == 0);   // nothing moves: finer misses first
  tg_task_free(named);
  // the weight is decided: a replay that changes it would replay another motion
  tgTask *decided = task_of(HEAD "contact: barrier\n" BODY "parameters: [{name: contact.weight, low: 1.0e-8, high: 1.0e-4}]\n");
  free(x);
  x = calloc((size_t)tg_task_size(decided), sizeof *x);
  tg_task_start(decided, 0, x);
  assert_int_equal(tg_verify(decided, x, NULL, &v, NULL), TG_OK);
  assert_int_equal(row(&v, "stiffer")->verdict, TG_VERDICT_NOT_EXPRESSED);
  assert_non_null(strstr(row(&v, "stiffer")->reason, "decides"));
  assert_int_equal(row(&v, "lcp")->verdict, TG_VERDICT_NOT_EXPRESSED);
  assert_false(row(&v, "lcp")->required);
  free(x);
  tg_task_free(decided);
}

// decided masses and starts are those of the motion
static void test_parameters_are_taken(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: lcp\n" BODY "parameters: [{name: body_mass, of: block, low: 0.1, high: 9}]\n");
  int n = tg_task_size(t), at;
  double *x = malloc((size_t)n * sizeof *x);
  tgVerification light, heavy;
  assert_non_null(tg_task_parameter(t, 0, &at));
  for (int i = 0; i < n; i++) x[i] = 6;
  x[at] = 1;
  assert_int_equal(tg_verify(t, x, NULL, &light, NULL), TG_OK);
  x[at] = 3;
  assert_int_equal(tg_verify(t, x, NULL, &heavy, NULL), TG_OK);
  check_true(fabs(light.row[0].distance - heavy.row[0].distance) > 1e-3, "%g and %g", light.row[0].distance, heavy.row[0].distance);
  free(x);
  tg_task_free(t);
}

static void test_cancel(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: lcp\n" BODY);
  double *x = calloc((size_t)tg_task_size(t), sizeof *x);
  volatile int cancel = 1;
  tgVerification v;
  assert_int_equal(tg_verify(t, x, &cancel, &v, NULL), TG_CANCELLED);
  assert_int_equal(v.n, 0);
  free(x);
  tg_task_free(t);
}

#define STAGES "refine:\n  - {timestep: 0.005, iterations: 10}\n  - {contact: barrier, timestep: 0.01, rate: 0.5}\n"

// a stage keeps the seconds of controls, windows and times, and the gradient of its loss is its own
static void test_stage(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: lcp\n"
                           "horizon: {steps: 20, timestep: 0.02}\n"
                           "controls: {every: 2, start: 3, low: -50, high: 50}\n"
                           "losses:\n  - {term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1, at: time, time: 0.2}\n"
                           "  - {term: velocity, weight: 1.0e-2, at: all, stage: 2}\n"
                           "optimizer: {method: lbfgs, iterations: 30}\n" STAGES);
  assert_int_equal(tg_task_stages(t), 2);
  tgError e = {0};
  int n = tg_task_size(t);
  double *x = malloc((size_t)(3 * n) * sizeof *x), *g = x + n, *y = g + n, loss[2];
  for (int k = 1; k <= 2; k++) {
    tgTask *s = tg_task_stage(t, k, &e);
    check_true(s != NULL, "%s", e.text);
    assert_int_equal(tg_task_size(s), n);
    assert_int_equal(tg_task_steps(s), k == 1 ? 80 : 40);
    assert_string_equal(tg_contact_word(tg_task_contact(s)), k == 1 ? "lcp" : "barrier");
    tgTaskTerm term;
    assert_true(tg_task_term(s, 1, &term) && (term.weight > 0) == (k == 2));
    tgEvaluator *ev = tg_evaluator_create(s, 0, &e);
    for (int i = 0; i < n; i++) x[i] = 3 + cos(i);
    assert_int_equal(tg_evaluate(ev, x, &loss[0], g, NULL, NULL, NULL, NULL), TG_OK);
    for (int i = 0; i < n; i += 3) {
      const double d = 1e-5;
      double side[2];
      for (int j = 0; j < 2; j++) {
        memcpy(y, x, (size_t)n * sizeof *x);
        y[i] += j == 0 ? d : -d;
        assert_int_equal(tg_evaluate(ev, y, &side[j], NULL, NULL, NULL, NULL, NULL), TG_OK);
      }
      double fd = (side[0] - side[1]) / (2 * d);
      check_true(fabs(fd - g[i]) <= 1e-6 * (1e-3 + fabs(g[i])), "stage %d, variable %d: %g, differences %g", k, i, g[i], fd);
    }
    tg_evaluator_free(ev);
    tg_task_free(s);
  }
  assert_null(tg_task_stage(t, 3, &e));
  assert_non_null(strstr(e.text, "2 stages"));
  free(x);
  tg_task_free(t);
}

// stages end when the motion holds, keep the best where it does not, and are taken up from their journals to the same bits
static void test_refine(void **state) {
  (void)state;
  tgTask *easy = task_of(HEAD "contact: lcp\n" BODY STAGES),
         *hard = task_of(HEAD "contact: lcp\n" BODY STAGES "verify: {distance: 1.0e-9}\n");
  tgOptimum *a = tg_optimize(easy, NULL);
  assert_true(a->reached && a->stage == 0);
  tgOptimizeOptions o = tg_optimize_default();
  char file[64] = "verify-journal-XXXXXX";
  assert_true(mkstemp(file) >= 0);
  o.journal = file;
  o.overwrite = true;
  tgOptimum *b = tg_optimize(hard, &o);
  assert_int_equal(b->status, TG_OK);
  assert_true(!b->reached && b->met && b->iterations > a->iterations && b->ncurve == b->iterations);
  // its curve begins with that of the task alone, and tells of what stage each loss is
  tgOptimizeOptions alone = tg_optimize_default();
  alone.unrefined = true;
  tgOptimum *first = tg_optimize(hard, &alone);
  int own = first->ncurve;
  assert_true(own < b->ncurve && memcmp(first->curve_loss, b->curve_loss, (size_t)own * sizeof(double)) == 0);
  for (int i = 0; i < b->ncurve; i++)
    assert_true(i < own ? b->curve_stage[i] == 0 : b->curve_stage[i] == 1 || (b->curve_stage[i] == 2 && i > own));
  assert_true(b->curve_stage[own] == 1 && b->curve_stage[b->ncurve - 1] == 2 && first->curve_stage[own - 1] == 0);
  tg_optimum_free(first);
  // the better of the stages, by the worst replay
  assert_true(b->verification.row[b->verification.broken].distance < 0.01);
  o.overwrite = false;
  o.resume = true;
  tgOptimum *c = tg_optimize(hard, &o);
  assert_int_equal(c->status, TG_OK);
  assert_int_equal(memcmp(b->best, c->best, (size_t)b->n * sizeof *b->best), 0);
  assert_true(b->best_loss == c->best_loss && b->stage == c->stage && b->iterations == c->iterations);
  for (int k = 0; k < 3; k++) {
    char name[80];
    snprintf(name, sizeof name, k == 0 ? "%s" : "%s.%d", file, k);
    remove(name);
  }
  tg_optimum_free(a), tg_optimum_free(b), tg_optimum_free(c);
  // a motion without a distance is not within one
  assert_true(tgi_task_met(hard, 0, 0.01) && !tgi_task_met(hard, 0, 0.011) && !tgi_task_met(hard, 0, NAN));
  // a stage that cannot be run is told, with the reason
  char stage[80];
  snprintf(stage, sizeof stage, "%s.1", file);
  FILE *f = fopen(stage, "w");
  for (int i = 0; i < 100; i++) fputs("another run ", f);
  fclose(f);
  o.resume = false;
  a = tg_optimize(hard, &o);
  check_true(a->status == TG_ERR_FILE && strstr(a->error.text, stage) != NULL, "status %d, '%s'", a->status, a->error.text);
  tg_optimum_free(a);
  remove(file), remove(stage);
  tg_task_free(easy), tg_task_free(hard);
}

// A stage may have a method of its own: a search that finds, a gradient that finishes. It is that method from the best of the stage before.
static void test_method_of_a_stage(void **state) {
  (void)state;
  const char *what = HEAD "contact: lcp\nhorizon: {steps: 20, timestep: 0.02}\ncontrols: {every: 2, start: 3, low: -50, high: 50}\n"
                     "losses:\n  - {term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1}\n"
                     "  - {term: control, weight: 1.0e-9}\n";
  char text[4000];
  snprintf(text, sizeof text, "%s%s", what, "optimizer: {method: cem, iterations: 2, population: 4, sigma: 0.2}\n"
           "verify: {rows: [finer], distance: 1.0e-9}\nrefine: [{method: lbfgs, iterations: 20}]\n");
  tgTask *both = task_of(text), *stage = tg_task_stage(both, 1, NULL);
  assert_string_equal(tg_task_method(both), "cem");
  assert_string_equal(tg_task_method(stage), "lbfgs");
  tgOptimizeOptions alone = tg_optimize_default(), o = tg_optimize_default();
  alone.unrefined = true;
  tgOptimum *found = tg_optimize(both, &alone), *refined = tg_optimize(both, NULL);
  snprintf(text, sizeof text, "%s%s", what, "optimizer: {method: lbfgs, iterations: 20}\n");
  tgTask *plain = task_of(text);
  o.start = found->best;
  tgOptimum *twin = tg_optimize(plain, &o);
  assert_int_equal(refined->stage, 1);
  assert_int_equal(memcmp(found->first, refined->first, (size_t)found->n * sizeof *found->first), 0);
  assert_int_equal(memcmp(twin->best, refined->best, (size_t)twin->n * sizeof *twin->best), 0);
  assert_true(refined->best_loss < found->best_loss && found->best_loss < found->first_loss);
  tg_optimum_free(found), tg_optimum_free(refined), tg_optimum_free(twin);
  tg_task_free(stage), tg_task_free(both), tg_task_free(plain);
}

#define SHORT_SIGHTED "receding: {horizon: 6, apply: 2}\n"

// A stage that is `whole` has no windows: it is the same task without a receding horizon, from the best of the windows.
static void test_whole_stage(void **state) {
  (void)state;
  const char *const refine[] = {"refine: [{timestep: 0.01, whole: true}]\n", "refine: [{timestep: 0.01}]\n"};
  const char *demanding = "verify: {distance: 1.0e-9}\n";
  char text[4000];
  for (int k = 0; k < 2; k++) {
    snprintf(text, sizeof text, "%s%s%s%s", HEAD "contact: lcp\n" BODY, SHORT_SIGHTED, refine[k], demanding);
    tgTask *t = task_of(text), *stage = tg_task_stage(t, 1, NULL);
    assert_int_equal(tg_task_windows(t), 10);
    assert_int_equal(tg_task_windows(stage), k == 0 ? 0 : 10);
    tg_task_free(stage);
    tg_task_free(t);
  }
  snprintf(text, sizeof text, "%s%s%s%s", HEAD "contact: lcp\n" BODY, SHORT_SIGHTED, refine[0], demanding);
  tgTask *t = task_of(text);
  tgOptimizeOptions alone = tg_optimize_default(), o = tg_optimize_default();
  alone.unrefined = true;
  tgOptimum *windows = tg_optimize(t, &alone), *both = tg_optimize(t, NULL);
  assert_int_equal(both->stage, 1);
  // the twin: no receding horizon in the file, the finer step from the start, no stage
  snprintf(text, sizeof text, "%s%s", HEAD "contact: lcp\n"
           "horizon: {steps: 40, timestep: 0.01}\ncontrols: {every: 4, start: 3, low: -50, high: 50}\n"
           "losses:\n  - {term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1}\n"
           "  - {term: control, weight: 1.0e-9}\noptimizer: {method: lbfgs, iterations: 30}\n", demanding);
  tgTask *plain = task_of(text);
  o.start = windows->best;
  tgOptimum *twin = tg_optimize(plain, &o);
  assert_int_equal(twin->n, both->n);
  assert_int_equal(memcmp(twin->best, both->best, (size_t)both->n * sizeof *both->best), 0);
  assert_true(twin->best_loss == both->best_loss && twin->best_loss < twin->first_loss);
  tg_optimum_free(windows), tg_optimum_free(both), tg_optimum_free(twin);
  tg_task_free(t), tg_task_free(plain);
}

// ---- a stage with options of its own ----

#define PUSH(options, iterations)                                                                                          \
  HEAD "contact: damped\noptions: {resting_gap: 1.0e-4, " options "}\nhorizon: {steps: 20, timestep: 0.02}\n"               \
  "controls: {every: 2, start: 3, low: -50, high: 50}\n"                                                                   \
  "losses: [{term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1}]\n"                                \
  "optimizer: {method: lbfgs, iterations: " iterations "}\n"

static double number(const tgContact *c, const char *name) { return tg_contact_get(tg_contact_options(c), name); }

// what a stage's contact model has: the task's options, and its own in their place; its replays and its gradient likewise
static void test_options_of_a_stage(void **state) {
  (void)state;
  tgTask *t = task_of(PUSH("damping_ratio: 6", "2") "gradient: {model: softmin, eps3: 0.02}\nrefine:\n  - {timestep: 0.01}\n"
                      "  - {options: {damping_ratio: 2, softmin.slip_speed: 0.5}}\n"
                      "  - options:\n      damped.damping_ratio: 1\n      rule: midpoint\n    iterations: 3\n");
  const double ratio[] = {6, 6, 2, 1};
  for (int k = 1; k <= 3; k++) {
    tgError e = {0};
    tgTask *s = tg_task_stage(t, k, &e), *finer = s != NULL ? tgi_verify_view(s, "finer", &e) : NULL;
    check_true(finer != NULL, "stage %d: %s", k, e.text);
    for (int i = 0; i < 2; i++) {
      const tgTask *of = i == 0 ? s : finer;
      check_true(number(tg_task_contact(of), "damping_ratio") == ratio[k], "stage %d: %g", k, number(tg_task_contact(of), "damping_ratio"));
      assert_true(number(tg_task_contact(of), "resting_gap") == 1e-4);
      assert_true((number(tg_task_contact(of), "rule") > 0) == (k == 3));
      assert_true((number(tg_task_gradient_contact(of), "slip_speed") == 0.5) == (k == 2));
      assert_true(number(tg_task_gradient_contact(of), "eps3") == 0.02);
    }
    tg_task_free(finer), tg_task_free(s);
  }
  assert_true(number(tg_task_contact(t), "damping_ratio") == 6);
  // a later `--option` is the task's: stages that give the option keep their own
  assert_int_equal(tg_task_contact_option(t, "damping_ratio", "4", NULL), TG_OK);
  for (int k = 1; k <= 2; k++) {
    tgTask *s = tg_task_stage(t, k, NULL);
    assert_true(number(tg_task_contact(s), "damping_ratio") == (k == 1 ? 4 : 2));
    tg_task_free(s);
  }
  tg_task_free(t);
}

// A path of damping times: without replays that end it, every stage goes on from the best of the one before, as single tasks do that have
// the stage's options and nothing else.
static void test_path_of_options(void **state) {
  (void)state;
  static const char *const single[] = {PUSH("damping_ratio: 6", "3"), PUSH("damping_ratio: 2.5", "3"), PUSH("damping_ratio: 1", "4")};
  tgTask *t = task_of(PUSH("damping_ratio: 6", "3") "verify: {rows: [none]}\n"
                      "refine: [{options: {damping_ratio: 2.5}}, {iterations: 4, options: {damping_ratio: 1}}]\n");
  tgOptimum *whole = tg_optimize(t, NULL), *last = NULL;
  assert_int_equal(whole->status, TG_OK);
  assert_int_equal(whole->stage, 2);
  for (int k = 0; k < 3; k++) {
    tgTask *one = task_of(single[k]);
    tgOptimizeOptions o = tg_optimize_default();
    o.start = last != NULL ? last->best : NULL;
    tgOptimum *next = tg_optimize(one, &o);
    tg_optimum_free(last);
    tg_task_free(one);
    last = next;
  }
  assert_int_equal(memcmp(whole->best, last->best, (size_t)whole->n * sizeof *whole->best), 0);
  assert_true(whole->best_loss == last->best_loss);
  tg_optimum_free(whole), tg_optimum_free(last);
  tg_task_free(t);
}

// ---- a stage's loss over the motion and its replays ----

// the mean of losses as the public stepper has them: steps of 20 ms, an eighth of them, and barrier in steps of 2.5 ms
static tgStatus mean_of_motions(void *ctx, const tgReal *x, tgReal *y) {
  const tgTask *t = ctx;
  int n = tg_task_size(t);
  const double end[] = {end_of(t, "lcp", NULL, NULL, x, 1, 0), end_of(t, "lcp", NULL, NULL, x, 8, 0),
                        end_of(t, "barrier", NULL, NULL, x, 8, 0)};
  double squares = 0;
  *y = 0;
  for (int i = 0; i < 3; i++) *y += (end[i] - 0.1) * (end[i] - 0.1) / 3;
  for (int i = 0; i < n; i++) squares += x[i] * x[i];
  *y += 1e-9 * squares / n;
  return TG_OK;
}

// The loss and its gradient, which a step of descent shows, are the means over the motion and the replays that the stage names; taken up
// from its journal it is the same to the bits.
static void test_stage_over_replays(void **state) {
  (void)state;
  tgTask *t = task_of(HEAD "contact: lcp\nhorizon: {steps: 20, timestep: 0.02}\ncontrols: {every: 2, start: 3, low: -50, high: 50}\n"
                           "losses:\n  - {term: body_position, name: block, target: [0.1, 0, 0], axes: x, weight: 1}\n"
                           "  - {term: control, weight: 1.0e-9}\noptimizer: {method: descent, iterations: 1}\nsuccess: {distance: 1.0e-6}\n"
                           "refine: [{iterations: 2, rate: 1, replays: [finer, barrier]}]\n");
  int n = tg_task_size(t);
  tgOptimizeOptions o = tg_optimize_default();
  char file[64] = "verify-journal-XXXXXX";
  assert_true(mkstemp(file) >= 0);
  o.journal = file;
  o.overwrite = true;
  tgOptimum *found = tg_optimize(t, &o);
  assert_int_equal(found->status, TG_OK);
  assert_int_equal(found->stage, 1);
  assert_int_equal(found->ncurve, 3);
  assert_int_equal(found->simulations, 1 + 2 * 3);
  double *work, *x = found->first, want, of, along[16], g[16], error, scale = 0;
  assert_true(n <= 16);
  mean_of_motions(t, x, &of);
  assert_true(fabs(found->curve_loss[1] - of) <= 1e-12 * of);
  mean_of_motions(t, found->best, &of);
  assert_true(fabs(found->curve_loss[2] - of) <= 1e-12 * of && found->curve_loss[2] < found->curve_loss[1]);
  tgiNumDiff d = {.nx = n, .nt = n, .ny = 1, .map = mean_of_motions, .ctx = t, .step = 1e-2};
  work = malloc(tgi_numdiff_work(&d) * sizeof *work);
  for (int i = 0; i < n; i++) g[i] = x[i] - found->best[i], scale = fmax(scale, fabs(g[i]));
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++) along[k] = k == i;
    assert_int_equal(tgi_numdiff(&d, x, along, TGI_SIDE_BOTH, &want, &error, work), TG_OK);
    check_true(fabs(want - g[i]) <= 1e-7 * scale, "variable %d: %.10g, differences %.10g", i, g[i], want);
  }
  o.overwrite = false;
  o.resume = true;
  tgOptimum *again = tg_optimize(t, &o);
  assert_int_equal(again->status, TG_OK);
  assert_memory_equal(again->best, found->best, (size_t)n * sizeof *x);
  assert_true(again->best_loss == found->best_loss && again->simulations == found->simulations);
  remove(file);
  strcat(file, ".1");
  remove(file);
  free(work);
  tg_optimum_free(found), tg_optimum_free(again);
  tg_task_free(t);
}

static void test_bad_files(void **state) {
  (void)state;
  const struct { const char *text, *says; int line; } bad[] = {
      {"verify: {rows: [finer, toothed]}\n", "no replay 'toothed'", 0},
      {"verify: {distance: -1}\n", "negative", 0},
      {"refine: [{timestep: 0.003}]\n", "over a whole number", 0},
      {"refine: [{contact: semi}]\n", "semi", 0},
      {"refine: [{iterations: -3}]\n", "negative", 0},
      {"refine: [{steps: 3}]\n", "steps", 0},
      {"refine: [{whole: true}]\n", "receding", 0},
      {"refine: [{replays: [toothed]}]\n", "stage 1: replays: toothed: there is no such replay", 0},
      {"refine: [{}, {replays: [near]}]\n", "stage 2: replays: near: the contact model has no such replay", 0},
      {"refine: [{replays: [none]}]\n", "there is no such replay", 0},
      {"refine: [{options: {toothed: 3}}]\n", "toothed", 10},
      {"refine: [{}, {options: {erp: many}}]\n", "erp", 10},
      {"refine: [{}, {iterations: 2, options: {erp: 2}, rate: 1}]\n", "erp", 0},
      {"refine: [{options: {rule: sideways}}]\n", "sideways", 10},
      {"refine: [{options: 3}]\n", "a mapping of names to values is expected, in options (line: 10, column: 20)", 10},
      {"refine: [{contact: barrier, options: {weight: 1, weight: 2}}]\n", "given before", 10},
      {"refine: [{method: cem, replays: [finer]}]\n", "replays are for adam, descent and lbfgs", 0},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[2000];
    tgError e = {0};
    snprintf(text, sizeof text, "%s%s", HEAD "contact: lcp\n" BODY, bad[i].text);
    check_true(tg_task_load_text(text, strlen(text), "/", NULL, &e) == NULL && strstr(e.text, bad[i].says) != NULL, "%s: '%s'",
               bad[i].text, e.text);
    check_true(bad[i].line == 0 || e.line == bad[i].line, "%s: line %d", bad[i].text, e.line);
  }
}

// A sled that touches a wall at the start, by less than `toi` allows: where the task moves bodies apart, each contact model that replays it
// starts with them as far apart as it asks for.
static void starts_apart_under_each(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><geom name='wall' type='box' pos='-0.2 0 0' size='0.1 1 1'/>"
      "<body name='sled'><joint name='x' type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>"
      "<actuator><motor joint='x' gear='3'/></actuator></mujoco>";
  static const char *const text = "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\n%scontrols: {}\nverify: {rows: [toi]}\n"
                                  "losses: [{term: joint_position, name: x, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n";
  for (int apart = 0; apart < 2; apart++) {
    char task[500];
    double x[2] = {0}, q[3];
    tgVerification v;
    tgError e = {0};
    snprintf(task, sizeof task, text, apart ? "start: {separate: -1}\n" : "");
    tgTask *t = tgt_task(model, task);
    assert_int_equal(tg_verify(t, x, NULL, &v, &e), TG_OK);
    assert_int_equal(v.row[0].verdict, apart ? TG_VERDICT_HOLDS : TG_VERDICT_NOT_EXPRESSED);
    if (apart) {
      assert_int_equal(tg_verify_motion(t, x, "toi", q, NULL, NULL, &e), TG_OK);
      check_close(q[0], 1e-6, 1e-8);
    }
    tg_task_free(t);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states_are_judged),
      cmocka_unit_test(test_hulls_are_another_scene), cmocka_unit_test(test_replays_are_motions),  cmocka_unit_test(test_cone),
      cmocka_unit_test(test_reached),              cmocka_unit_test(test_not_expressed),
      cmocka_unit_test(test_parameters_are_taken), cmocka_unit_test(test_cancel),   cmocka_unit_test(test_stage),
      cmocka_unit_test(test_refine),               cmocka_unit_test(test_whole_stage), cmocka_unit_test(test_method_of_a_stage),
      cmocka_unit_test(test_options_of_a_stage),   cmocka_unit_test(test_path_of_options),
      cmocka_unit_test(test_stage_over_replays),   cmocka_unit_test(test_bad_files),
                                     cmocka_unit_test(starts_apart_under_each)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
