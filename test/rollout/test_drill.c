// test_drill.c: what is not finite, solvers that are given no iterations, solvers that are told to stop, and what contradicts itself, under
// every contact model: graded status, named culprit, flagged gradient, and every other motion of the batch to the same bits.
#include <stdlib.h>
#include <string.h>

#include "rollout/rollout.h"
#include "support/reach.h"
#include "support/rig.h"
#include "tangere/rollout.h"

enum { T = 4, N = 2, MOST_NQ = 6, MOST_NW = 8 };

// a brick that slides, falls 1 mm and turns, with an arm, a tendon, an equality and two actuators, one with an activation
static const char scene[] =
    "<mujoco><option timestep='.004'/><asset><mesh name='brick' vertex='-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1 -.1 -.1 .1 .1 -.1 .1"
    " -.1 .1 .1 .1 .1 .1'/></asset><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.4'/>"
    "<body name='box' pos='0 0 .101'><joint name='along' type='slide' axis='1 0 0' range='-1 1' limited='true' damping='.1'/>"
    "<joint name='up' type='slide' axis='0 0 1'/><joint name='turn' axis='0 1 0' stiffness='.1'/><geom type='mesh' mesh='brick' mass='1'/>"
    "<body name='arm' pos='0 0 .15'><joint name='elbow' axis='0 1 0' range='-60 60' limited='true'/>"
    "<geom size='.04' pos='0 0 .1' mass='.2'/></body></body></worldbody>"
    "<tendon><fixed name='cord' stiffness='.1'><joint joint='elbow' coef='.5'/><joint joint='along' coef='1'/></fixed></tendon>"
    "<equality><joint joint1='turn' polycoef='0 0 0 0 0'/></equality>"
    "<actuator><motor name='push' joint='along'/><general name='bend' joint='elbow' dyntype='filter' dynprm='.05' gainprm='1'/></actuator>"
    "</mujoco>";

// contact models, and the ways of a step that are solved otherwise
typedef struct Way { const char *word, *settings; } Way;
static const Way way[] = {{"lcp", ""},     {"lcp", "contact_rule=touching"}, {"lcp", "friction_cone=elliptic"},
                          {"toi", ""},     {"barrier", ""},                  {"softmin", ""},
                          {"damped", ""},  {"damped", "rule=midpoint"},      {"ipc", ""},
                          {"sdrs", ""}};
enum { WAYS = sizeof way / sizeof *way };

static const double bad[] = {NAN, INFINITY, -INFINITY};

// what a motion is changed by before it begins
typedef struct Site {
  const char *array;   // of the sim's parameters; NULL: none
  int at;
  double value;
  tgReal *(*vector)(tgSim *sim);
  bool capped;
  int cap;
} Site;

static tgStatus put(void *ctx, tgSim *sim) {
  const Site *s = ctx;
  sim->watch.capped = s->capped;
  sim->watch.cap = s->cap;
  for (int d = 0; d < sim->m.nv; d++) sim->qfrc_applied[d] = 0;
  if (s->array != NULL) tg_sim_param(sim, s->array, NULL, NULL)[s->at] = s->value;
  if (s->vector != NULL) s->vector(sim)[s->at] = s->value;
  return TG_OK;
}

typedef struct Motion {
  tgReal q0[MOST_NQ], v0[MOST_NW], u[T * 2], q[(T + 1) * MOST_NQ], v[(T + 1) * MOST_NW], dq0[MOST_NQ], dv0[MOST_NW], du[T * 2];
  tgStepInfo info[T];
  Site site;
} Motion;

typedef struct Stand {
  Rig r;
  tgBatch *batch;
  tgtReach reach;
  Motion clean, m[N];
  tgRolloutRun run[N];
  tgRolloutResult result[N], first;
  int sites;
  bool beside;
} Stand;

static void run_two(Stand *d, const Site *site) {
  for (int i = 0; i < N; i++) {
    Motion *x = &d->m[i];
    if (site != NULL || i > 0) memset(x->q, 0, sizeof x->q);
    x->site = i == 0 && site != NULL ? *site : (Site){0};
    d->run[i] = (tgRolloutRun){.q0 = x->q0, .v0 = x->v0, .u = x->u, .loss = tgt_reach, .loss_ctx = &d->reach, .setup = put,
                               .setup_ctx = &x->site, .q = x->q, .v = x->v, .info = x->info, .dq0 = x->dq0, .dv0 = x->dv0, .du = x->du};
  }
  // beside the first of six sites the other motion runs too
  d->beside = site == NULL || d->sites % 6 == 0 || site->capped;
  assert_int_equal(tg_batch_run(d->batch, d->beside ? N : 1, d->run, d->result), TG_OK);
}

static void start(Stand *d, const Motion *from) {
  for (int i = 0; i < N; i++) {
    memcpy(d->m[i].q0, from->q0, sizeof from->q0);
    memcpy(d->m[i].v0, from->v0, sizeof from->v0);
    memcpy(d->m[i].u, from->u, sizeof from->u);
  }
}

static bool same(const Motion *a, const Motion *b) {
  return memcmp(a->q, b->q, sizeof a->q) == 0 && memcmp(a->v, b->v, sizeof a->v) == 0 && memcmp(a->dq0, b->dq0, sizeof a->dq0) == 0 &&
         memcmp(a->dv0, b->dv0, sizeof a->dv0) == 0 && memcmp(a->du, b->du, sizeof a->du) == 0;
}

static void stand_up(Stand *d, const Way *w) {
  tgError e = {0};
  tgAnyContactOptions o = options_of(w->word, w->settings);
  memset(d, 0, sizeof *d);
  d->r = rig_of_text(scene, w->word, &o.of);
  d->reach = (tgtReach){.body = 1, .target = {.3, 0, .1}, .running = 1, .final = 10, .speed = 1e-3, .control = 1e-3};
  tgRolloutOptions ro = tg_rollout_default();
  ro.steps = T;
  d->batch = tg_batch_create(d->r.m, d->r.c, &ro, 1, &e);   // one thread: the same sim makes the failing motion and the next
  check_true(d->batch != NULL, "%s: %s", w->word, e.text);
  Motion from = {.v0 = {1, -.3}, .u = {.5, .2, -.5, .1, 1, 0, 0, .3}};
  for (int i = 0; i < tg_model_nq(d->r.m); i++) from.q0[i] = d->r.s->qpos[i];
  start(d, &from);
  run_two(d, NULL);
  check_true(d->result[0].status == TG_OK && d->result[1].status == TG_OK, "%s: %s", w->word, d->result[0].error.text);
  d->clean = d->m[0];
  d->first = d->result[0];
  assert_true(same(&d->clean, &d->m[1]));
  double least = d->first.least_distance;
  check_true(least < .01, "%s: nothing touches", w->word);
}

static void take_down(Stand *d) {
  tg_batch_free(d->batch);
  drop(&d->r);
}

static void others_are_as_they_were(const Stand *d, const char *what) {
  if (!d->beside) return;
  check_true(d->result[1].status == TG_OK && same(&d->m[1], &d->clean), "%s: the motion beside it has changed: %s", what,
             d->result[1].error.text);
}

// --- not finite

static void refused_with(Stand *d, const Way *w, const char *what, const char *name, int step) {
  const tgRolloutResult *r = &d->result[0];
  check_true((r->status == TG_ERR_NOT_FINITE || r->status == TG_ERR_ARG) && isnan(tgRe(r->loss)), "%s %s, %s: status %d: %s", w->word,
             w->settings, what, r->status, r->error.text);
  check_true(strstr(r->error.text, name) != NULL, "%s, %s: '%s' is not named: %s", w->word, what, name, r->error.text);
  check_true(r->steps == step, "%s, %s: stops after %d steps, not %d: %s", w->word, what, r->steps, step, r->error.text);
  others_are_as_they_were(d, what);
  d->sites++;
}

static void in_states_and_controls(Stand *d, const Way *w, int *k) {
  static const char *const body[] = {"box", "box", "box", "arm"};
  const Motion from = d->clean;
  for (int i = 0; i < 4; i++)
    for (int part = 0; part < 2; part++) {
      Motion x = from;
      (part == 0 ? x.q0 : x.v0)[i] = bad[(*k)++ % 3];
      memcpy(d->m[0].q0, x.q0, sizeof x.q0);
      memcpy(d->m[0].v0, x.v0, sizeof x.v0);
      run_two(d, &(Site){0});
      refused_with(d, w, part == 0 ? "qpos" : "qvel", body[i], 0);
      start(d, &from);
    }
  d->m[0].v0[4] = bad[(*k)++ % 3];
  run_two(d, &(Site){0});
  refused_with(d, w, "act", "bend", 0);
  start(d, &from);
  for (int t = 0; t < T; t++)
    for (int i = 0; i < 2; i++) {
      d->m[0].u[2 * t + i] = bad[(*k)++ % 3];
      run_two(d, &(Site){0});
      refused_with(d, w, "ctrl", i == 0 ? "push" : "bend", t);
      start(d, &from);
    }
  for (int i = 0; i < 4; i++) {
    run_two(d, &(Site){.vector = tg_sim_qfrc_applied, .at = i, .value = bad[(*k)++ % 3]});
    refused_with(d, w, "qfrc_applied", body[i], 0);
  }
}

// of each parameter the first entry, the last and one between; ends of ranges may be infinite
static void in_parameters(Stand *d, const Way *w, int *k) {
  for (int i = 0; i < tg_model_field_count(d->r.m); i++) {
    const char *name = tg_model_field(d->r.m, i).name;
    int rows, cols;
    if (tg_sim_param(d->r.s, name, &rows, &cols) == NULL || rows * cols == 0) continue;
    const int last = rows * cols - 1, some[] = {0, last / 2, last};
    for (int j = 0; j < 3; j++) {
      int at = some[j];
      if (j > 0 && at == some[j - 1]) continue;
      run_two(d, &(Site){.array = name, .at = at, .value = strstr(name, "range") != NULL ? NAN : bad[(*k)++ % 3]});
      refused_with(d, w, name, name, 0);
    }
  }
  for (int i = 0; tg_contact_option(w->word, i).name != NULL; i++) {
    const char *name = tg_contact_option(w->word, i).parameter;
    for (int b = 0; b < 3 && name != NULL; b++) {
      run_two(d, &(Site){.array = name, .value = bad[b]});
      refused_with(d, w, name, name, 0);
    }
  }
}

// options as a contact model is made: never NaN, infinite only where the range says so
static void in_options(Stand *d, const Way *w) {
  static const char *const text[] = {"nan", "inf", "-inf"};
  for (int i = 0; tg_contact_option(w->word, i).name != NULL; i++) {
    tgOption is = tg_contact_option(w->word, i);
    if (is.type != TG_OPTION_NUMBER) continue;
    for (int b = 0; b < 3; b++) {
      tgError e = {0};
      tgAnyContactOptions o = options_of(w->word, w->settings);
      tgContact *c = tg_contact_set(&o.of, is.name, text[b], &e) == TG_OK ? tg_contact_create(d->r.m, w->word, &o.of, &e) : NULL;
      bool may = b == 1 && isinf(is.most);
      check_true(c == NULL || may, "%s takes %s=%s", w->word, is.name, text[b]);
      if (c == NULL) check_true(strstr(e.text, is.name) != NULL, "%s=%s: %s", is.name, text[b], e.text);
      tg_contact_free(c);
      d->sites++;
    }
  }
}

// All that a step computes may hold anything before it, its solver's memory for scratch too: the step reads none of it.
static void in_what_is_computed(Stand *d, const Way *w) {
  tgSim *s[2];
  for (int k = 0; k < 2; k++) {
    s[k] = tg_sim_create(d->r.m, d->r.c, NULL, NULL);
    assert_non_null(s[k]);
    tg_sim_set_state(s[k], d->clean.q0, d->clean.v0);
    for (int t = 0; t < 2; t++) assert_int_equal(tg_sim_step_growing(s[k], .004, NULL), TG_OK);
  }
  static const char *const kept[] = {"qpos", "qvel", "act", "ctrl", "qfrc_applied", "mem_"};
  for (int i = 0; i < tg_sim_field_count(s[1]); i++) {
    tgField f = tg_sim_field(s[1], i);
    bool keeps = f.scalar != TG_SCALAR_REAL;
    for (size_t j = 0; j < sizeof kept / sizeof *kept; j++) keeps = keeps || strncmp(f.name, kept[j], strlen(kept[j])) == 0;
    tgReal *x = (tgReal *)(uintptr_t)f.data;
    for (int j = 0; !keeps && j < f.rows * f.cols; j++) x[j] = bad[j % 3];
    d->sites += !keeps;
  }
  memset(tgi_stack_bytes(s[1], s[1]->cap.stack / 64 * 64), 0xFF, s[1]->cap.stack / 64 * 64);
  tgi_stack_free(s[1], 0);
  for (int t = 0; t < 2; t++) {
    tgStatus st = tg_sim_step_growing(s[1], .004, NULL);
    assert_int_equal(tg_sim_step_growing(s[0], .004, NULL), TG_OK);
    check_true(st == TG_OK, "%s %s: %s", w->word, w->settings, tg_sim_error(s[1])->text);
    check_true(memcmp(s[0]->qpos, s[1]->qpos, (size_t)s[0]->m.nq * sizeof(tgReal)) == 0 &&
               memcmp(s[0]->qvel, s[1]->qvel, (size_t)s[0]->m.nv * sizeof(tgReal)) == 0, "%s %s: a step reads what the last one left",
               w->word, w->settings);
  }
  tg_sim_free(s[0]);
  tg_sim_free(s[1]);
}

static void what_is_not_finite_is_named(void **state) {
  (void)state;
  static Stand d;
  for (int i = 0, k = 0; i < WAYS; i++) {
    stand_up(&d, &way[i]);
    in_states_and_controls(&d, &way[i], &k);
    in_parameters(&d, &way[i], &k);
    in_options(&d, &way[i]);
    in_what_is_computed(&d, &way[i]);
    check_true(d.sites >= 200, "%s: %d sites", way[i].word, d.sites);
    take_down(&d);
  }
}

// Of a mesh each coordinate of a vertex is one: no model is made of it, and the mesh is named.
static void meshes_are_finite(void **state) {
  (void)state;
  static const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  for (int i = 0; i < 12; i++)
    for (int b = 0; b < 3; b++) {
      double vert[12] = {0, 0, 0, .1, 0, 0, 0, .1, 0, 0, 0, .1};
      tgError e = {0};
      tgDesc *desc = tg_desc_create(NULL);
      int body = tg_desc_add_body(desc, 0, "rock");
      vert[i] = bad[b];
      tg_desc_add_joint(desc, body, TG_JOINT_FREE, NULL);
      int mesh = tg_desc_add_mesh(desc, "pebble", vert, 4, face, 4), g = tg_desc_add_geom(desc, body, TG_GEOM_MESH, NULL);
      desc->geom[g].mesh = mesh;
      tgModel *m = tg_model_compile(desc, NULL, &e);
      check_true(m == NULL && e.status < 0 && strstr(e.text, "pebble") != NULL, "%g in coordinate %d: status %d: %s", vert[i], i, e.status,
                 e.text);
      tg_desc_free(desc);
    }
}

// --- no iterations

// of a motion that came to an end: its gradient is finite, and says of each step what the step says
static void check_flagged(const Stand *d, const char *what) {
  const tgRolloutResult *r = &d->result[0];
  const Motion *x = &d->m[0];
  bool all = true;
  for (int t = 0; t < T; t++) all = all && x->info[t].converged;
  check_true(r->grad.converged == all, "%s: the gradient says %d, its steps %d", what, r->grad.converged, all);
  check_true(all || (r->grad.label >= TG_GRAD_SURROGATE && r->grad.first_step >= 0 && r->grad.reason[0] != '\0'), "%s: %s", what,
             r->grad.reason);
  for (int i = 0; i < tg_model_nv(d->r.m); i++)
    check_true(isfinite(tgRe(x->dq0[i])) && isfinite(tgRe(x->dv0[i])) && isfinite(tgRe(x->q[T * tg_model_nq(d->r.m) + i])),
               "%s: not finite", what);
}

static void solvers_without_iterations(void **state) {
  (void)state;
  static Stand d;
  for (int i = 0; i < WAYS; i++) {
    stand_up(&d, &way[i]);
    int told = 0;
    for (int cap = 0; cap <= 2; cap++) {
      char what[100];
      snprintf(what, sizeof what, "%s %s with %d iterations", way[i].word, way[i].settings, cap);
      run_two(&d, &(Site){.capped = true, .cap = cap});
      const tgRolloutResult *r = &d.result[0];
      if (r->status == TG_OK) {
        check_flagged(&d, what);
        told += !same(&d.m[0], &d.clean) && r->grad.label >= TG_GRAD_SURROGATE;
        check_true(same(&d.m[0], &d.clean) || r->grad.label >= TG_GRAD_SURROGATE, "%s: another motion, and nobody is told", what);
      } else {
        check_true(r->status == TG_NOT_CONVERGED && strstr(r->error.text, "step ") != NULL && isnan(tgRe(r->loss)), "%s: status %d: %s",
                   what, r->status, r->error.text);
        check_true(strstr(r->error.text, "box") != NULL || strstr(r->error.text, "arm") != NULL, "%s: nobody is named: %s", what,
                   r->error.text);
        told++;
      }
      others_are_as_they_were(&d, what);
    }
    // forces in closed form have none that could be short, and rows of which the classes are known need none
    bool needs = strcmp(way[i].word, "barrier") == 0 || strcmp(way[i].word, "damped") == 0 || strcmp(way[i].word, "toi") == 0;
    check_true(!needs || told > 0, "%s %s: told %d times", way[i].word, way[i].settings, told);
    take_down(&d);
  }
}

// --- told to stop

// four boxes that fall onto each other and the floor, turned a little
static Rig pile(const Way *w) {
  char text[1600] = "<mujoco><option timestep='.01'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.6'/>";
  for (int i = 0; i < 4; i++) {
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n,
             "<body pos='%g 0 %g' euler='0 %g 0'><freejoint/><geom type='box' size='.1 .1 .05' mass='%g'/></body>",
             .03 * i, .056 + .113 * i, i % 2 == 0 ? 1.5 : -1.5, 1.0 + i);
  }
  strcat(text, "</worldbody></mujoco>");
  tgAnyContactOptions o = options_of(w->word, w->settings);
  Rig r = rig_of_text(text, w->word, &o.of);
  for (int d = 0; d < r.s->m.nv; d += 6) {
    r.s->qvel[d] = .3;
    r.s->qvel[d + 2] = -1;
  }
  return r;
}

// Stopped in any of its iterations, a step ends there: within a few more, with its state as it was, and what comes after to the same bits.
static void a_step_stops_in_any_iteration(void **state) {
  (void)state;
  enum { MORE = 2, STATE = 64 };
  for (int i = 0; i < WAYS - 2; i++) {   // `ipc` and `sdrs` are solved as `barrier` is
    Rig r = pile(&way[i]);
    tgSim *s = r.s;
    tgReal before[STATE], after[STATE], x[STATE];
    size_t nq = (size_t)s->m.nq, bytes = (nq + (size_t)s->m.nv) * sizeof *x;
    assert_true(bytes <= sizeof x);
    assert_int_equal(tg_sim_reserve(s, 64, 256), TG_OK);
    char *snapshot = malloc(2 * tg_sim_snapshot_size(s)), *each = snapshot + tg_sim_snapshot_size(s);
    assert_non_null(snapshot);
    long asked = -1;
    for (int t = 0; t < 8; t++) {   // the step of the most iterations
      tgReal from[STATE];
      tg_sim_save(s, each);
      tg_sim_state(s, from, from + nq);
      check_true(tg_sim_step(s, .01, NULL) == TG_OK, "%s: %s", way[i].word, tg_sim_error(s)->text);
      if (s->watch.asked <= asked) continue;
      asked = s->watch.asked;
      memcpy(snapshot, each, tg_sim_snapshot_size(s));
      memcpy(before, from, bytes);
      tg_sim_state(s, after, after + nq);
    }
    // forces in closed form have no iterations
    check_true(asked > 5 || strcmp(way[i].word, "softmin") == 0, "%s %s: %ld iterations", way[i].word, way[i].settings, asked);
    for (long k = 1; k <= asked; k += 1 + asked / 12) {
      assert_int_equal(tg_sim_restore(s, snapshot), TG_OK);
      s->watch.until = k;
      tgStatus st = tg_sim_step(s, .01, NULL);
      s->watch.until = 0;
      tg_sim_state(s, x, x + nq);
      check_true(st == TG_CANCELLED && strstr(tg_sim_error(s)->text, "ancelled") != NULL, "%s %s, iteration %ld of %ld: status %d: %s",
                 way[i].word, way[i].settings, k, asked, st, tg_sim_error(s)->text);
      check_true(memcmp(x, before, bytes) == 0, "%s, stopped in iteration %ld of %ld: the state has changed", way[i].word, k, asked);
      check_true(s->watch.asked <= k + MORE, "%s: stopped in iteration %ld, it makes %ld more", way[i].word, k, s->watch.asked - k);
      assert_int_equal(tg_sim_step(s, .01, NULL), TG_OK);
      tg_sim_state(s, x, x + nq);
      check_true(memcmp(x, after, bytes) == 0, "%s %s, after iteration %ld of %ld: another step", way[i].word, way[i].settings, k, asked);
    }
    // and by the flag that users have
    volatile int flag = 1;
    assert_int_equal(tg_sim_restore(s, snapshot), TG_OK);
    tg_sim_watch_cancel(s, &flag);
    if (asked > 0) assert_int_equal(tg_sim_step(s, .01, NULL), TG_CANCELLED);
    tg_sim_watch_cancel(s, NULL);
    assert_int_equal(tg_sim_step(s, .01, NULL), TG_OK);
    free(snapshot);
    drop(&r);
  }
}

// --- what contradicts itself

// a part that two equalities want at two places, under each contact model
static void contradictions(void **state) {
  (void)state;
  static const char torn[] =
      "<mujoco><option gravity='0 0 0' timestep='.01'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
      "<geom size='.1' mass='1'/></body></worldbody><equality><joint joint1='rail' polycoef='0 0 0 0 0'/>"
      "<joint joint1='rail' polycoef='.1 0 0 0 0'/></equality><actuator><motor joint='rail'/></actuator></mujoco>";
  for (int i = 0; i < WAYS; i++) {
    tgAnyContactOptions o = options_of(way[i].word, way[i].settings);
    Rig r = rig_of_text(torn, way[i].word, &o.of);
    tgRolloutOptions ro = tg_rollout_default();
    ro.steps = 20;
    tgRollout *one = tg_rollout_create(r.m, r.c, &ro, NULL);
    tgtReach reach = {.body = 1, .target = {.3, 0, 0}, .running = 1, .final = 1};
    static tgStepInfo info[20];
    tgReal du[20];
    tgRolloutRun run = {.loss = tgt_reach, .loss_ctx = &reach, .du = du, .info = info};
    tgRolloutResult result;
    tgStatus st = tg_rollout_run(one, &run, &result);
    bool all = true, rows = strcmp(way[i].word, "lcp") == 0 || strcmp(way[i].word, "toi") == 0;
    for (int t = 0; t < result.steps; t++) all = all && info[t].converged;
    check_true(st == TG_OK || (st == TG_NOT_CONVERGED && strstr(result.error.text, "cart") != NULL), "%s: %d, %s", way[i].word, st,
               result.error.text);
    // equalities that are springs hold a cart between the two; as conditions they have no answer
    if (st == TG_OK) {
      check_true(all == !rows && result.grad.converged == all, "%s: %d %d", way[i].word, all, result.grad.converged);
      for (int t = 0; t < 20; t++) assert_true(isfinite(tgRe(du[t])));
    }
    tg_rollout_free(one);
    drop(&r);
  }
}

// --- masses beside which others are nothing

// Two balls on each other and on the floor: under each contact model an end, or the bodies by name, after no more than so many iterations.
static void a_ball_on_a_light_one(void **state) {
  (void)state;
  static const double ratio[] = {1e6, 1e9, 1e12};
  enum { STEPS = 8, MOST = 4000000 };
  for (int i = 0; i < WAYS - 2; i++)   // `ipc` and `sdrs` end by their 200 Newton steps, after 8 s of a core: too long for here
    for (int k = 0; k < 6; k++) {
      char text[600];
      double light = 1 / sqrt(ratio[k / 2]), heavy = sqrt(ratio[k / 2]);
      snprintf(text, sizeof text,
               "<mujoco><option timestep='.01'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.5'/>"
               "<body name='below' pos='0 0 .1003'><freejoint/><geom size='.1' mass='%g'/></body>"
               "<body name='above' pos='0 0 .3023'><freejoint/><geom size='.1' mass='%g'/></body></worldbody></mujoco>",
               k % 2 == 0 ? light : heavy, k % 2 == 0 ? heavy : light);
      tgAnyContactOptions o = options_of(way[i].word, way[i].settings);
      Rig r = rig_of_text(text, way[i].word, &o.of);
      for (int t = 0; t < STEPS; t++) {
        tgStepInfo info;
        tgStatus st = tg_sim_step_growing(r.s, .01, &info);
        const char *said = tg_sim_error(r.s)->text;
        check_true(r.s->watch.asked <= MOST, "%s %s, ratio %g: %ld iterations in step %d", way[i].word, way[i].settings, ratio[k / 2],
                   r.s->watch.asked, t);
        if (st != TG_OK) {
          check_true(st == TG_NOT_CONVERGED || st == TG_ERR_INVALID || st == TG_ERR_NOT_FINITE, "%s: %d %s", way[i].word, st, said);
          check_true(strstr(said, "below") != NULL || strstr(said, "above") != NULL, "%s: nobody is named: %s", way[i].word, said);
          break;
        }
        for (int d = 0; d < r.s->m.nv; d++) assert_true(isfinite(tgRe(r.s->qvel[d])));
        check_true(info.converged || info.body1 > 0 || info.body2 > 0, "%s: nobody is named", way[i].word);
      }
      drop(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_not_finite_is_named), cmocka_unit_test(meshes_are_finite),
                                     cmocka_unit_test(solvers_without_iterations),
                                     cmocka_unit_test(a_step_stops_in_any_iteration), cmocka_unit_test(contradictions),
                                     cmocka_unit_test(a_ball_on_a_light_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
