// test_revisit.c: a step put back from its record against the step itself, under every stepper: state, info, adjoint
// with parameters, Jacobian and label to the bit; and gradients of rollouts with a full tape, which solve nothing
// again, against those with room for one state.
#include <stdlib.h>

#include "sim/param.h"
#include "step/event.h"
#include "step/step.h"
#include "support/reach.h"
#include "support/rig.h"
#include "tangere/rollout.h"

enum { STEPS = 6 };

typedef struct Case {
  const char *name, *word, *text;
  double h, restitution, speed;
  const char *options;
  int ndamped, nleft;          // bounces damped and errors left in some step
} Case;

#define BOX(x, z) "<body pos='" x " 0 " z "'><freejoint/><geom type='box' size='.1 .12 .05' mass='1' friction='.5'/></body>"

static const char stack[] = "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='.7'/>" BOX("0", ".05") BOX(".02", ".1501")
                            "<body pos='.5 0 .1'><freejoint/><geom type='sphere' size='.1' mass='1'/></body></worldbody></mujoco>";
// limits, dry friction, an equality, a tendon and motors, and its tip on the floor
static const char arm[] =
    "<mujoco><compiler angle='radian'/><worldbody><geom type='plane' size='5 5 .1' friction='.6'/>"
    "<body pos='0 0 .3'><joint name='a' type='hinge' axis='0 1 0' limited='true' range='-.4 .5' damping='.1' "
    "stiffness='2' frictionloss='.2'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03' mass='1'/>"
    "<body pos='.2 0 -.05'><joint name='b' type='hinge' axis='0 1 0' limited='true' range='-1 1'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.1' size='.03' mass='1'/>"
    "<body pos='.2 0 -.1'><joint name='c' type='hinge' axis='0 1 0' damping='.1'/>"
    "<geom type='sphere' size='.05' pos='.05 0 -.05' mass='1' friction='.5'/>"
    "</body></body></body></worldbody>"
    "<equality><joint joint1='c' joint2='b' polycoef='0 .5 0 0 0'/></equality>"
    "<tendon><fixed name='t' limited='true' range='-.5 .5' frictionloss='.1'><joint joint='a' coef='.7'/>"
    "<joint joint='b' coef='-.4'/></fixed></tendon>"
    "<actuator><motor joint='a' gear='2'/><motor joint='b'/></actuator></mujoco>";
// jammed on a rail towards the floor: its overlap cannot be removed
static const char wedge[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='2'/><body pos='0 0 .0999'><joint type='slide' axis='.7 0 .7'/>"
                            "<geom type='sphere' size='.1' mass='1' friction='2'/></body></worldbody></mujoco>";
// between two walls that it touches
static const char slot[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' size='.1 1 1' pos='-.2 0 0'/>"
    "<geom type='box' size='.1 1 1' pos='.2 0 0'/>"
                           "<body><freejoint/><geom type='sphere' size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";
// the same with room, in which it flies to and fro, several times in a step
static const char apart[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' size='.1 1 1' pos='-.205 0 0'/>"
    "<geom type='box' size='.1 1 1' pos='.205 0 0'/>"
                           "<body><freejoint/><geom type='sphere' size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";
static const char stack2[] = "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='.7'/>" BOX("0", ".051") BOX(".02", ".1521")
                             "<body pos='.5 0 .101'><freejoint/><geom type='sphere' size='.1' mass='1'/></body></worldbody></mujoco>";
static const char rubbing[] =
    "<mujoco><worldbody><geom type='plane' size='2 2 1'/><geom type='box' size='.3 .3 .05' pos='0 0 .06'/>"
    "<body pos='0 0 .165'><freejoint/><geom type='box' size='.1 .08 .05'/></body>"
    "<body pos='.19 .02 .17' euler='10 5 20'><freejoint/><geom type='box' size='.05 .08 .04' friction='.3'/></body>"
    "<body pos='.05 .3 .3' euler='30 0 0'><freejoint/><geom type='sphere' size='.12'/></body></worldbody></mujoco>";
static const char heap[] =
    "<mujoco><default><geom density='4000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' friction='.5'/></body>"
    "<body pos='.16 .05 .1'><freejoint/><geom type='box' size='.06 .08 .1' friction='.4' pos='.01 0 0' quat='.9 .1 .2 "
    ".3'/></body></worldbody></mujoco>";

#define SOFT "spacing=0.09 stiffness=8000 eps1=6e-4 eps2=0.009 eps3=0.009"

static const Case cases[] = {
    {"stack", "lcp", stack, 0.005, 0, 0.3, NULL, 0, 0},
    {"stack, aware", "lcp", stack, 0.005, 0, 0.3, "aware_gradient=true", 0, 0},
    {"stack, bouncing", "lcp", stack, 0.005, 0.5, 0.3, "contact_rule=touching bounce_gradient=true", 0, 0},
    {"arm", "lcp", arm, 0.01, 0, 0.3, NULL, 0, 0},
    {"wedge", "lcp", wedge, 0.002, 0, 0, NULL, 0, 1},
    {"slot", "lcp", slot, 0.002, 1, -1, NULL, 1, 0},
    {"rubbing", "barrier", rubbing, 0.01, 0, 0.3, NULL, 0, 0},
    {"rubbing, two threads", "barrier", rubbing, 0.01, 0, 0.3, "threads=2", 0, 0},
    {"rubbing, paper", "barrier", rubbing, 0.01, 0, 0.3, "hierarchy=paper", 0, 0},
    {"rubbing, planes", "barrier", rubbing, 0.01, 0, 0.3, "friction=plane", 0, 0},
    {"rubbing, local", "sdrs", rubbing, 0.01, 0, 0.1, NULL, 0, 0},
    {"rubbing, distances", "ipc", rubbing, 0.01, 0, 0.1, "weight=1e-3", 0, 0},
    {"stack, between impacts", "toi", stack2, 0.005, 0.5, 0.3, NULL, 0, 0},
    {"stack, Poisson's law", "toi", stack2, 0.005, 0.5, 0.3, "restitution_law=poisson", 0, 0},
    {"stack, closing, Poisson's law", "lcp", stack2, 0.005, 0.5, 0.3, "restitution_law=poisson", 0, 0},
    {"arm, between impacts", "toi", arm, 0.01, 0.3, 3, NULL, 0, 0},
    {"slot, between impacts", "toi", apart, 0.01, 1, 3, NULL, 0, 0},
    {"heap, Euler", "softmin", heap, 0.001, 0, 0.3, SOFT, 0, 0},
    {"heap, Runge-Kutta", "softmin", heap, 0.001, 0, 0.3, SOFT " integrator=rk4", 0, 0},
};

// Races are to be seen in steps of several threads alone.
static bool skipped(const Case *c) {
#ifdef __SANITIZE_THREAD__
  return c->options == NULL || strstr(c->options, "threads") == NULL;
#else
  (void)c;
  return false;
#endif
}

static Rig make(const Case *c) {
  tgError e = {0};
  tgAnyContactOptions o = options_of(c->word, c->options != NULL ? c->options : "");
  tgDesc *d = tg_desc_load_memory("scene.xml", c->text, strlen(c->text), NULL, &e);
  check_true(d != NULL, "%s: %s", c->name, e.text);
  for (int g = 0; g < d->ngeom; g++) d->geom[g].restitution = c->restitution;
  Rig r = rig_of_desc(d, c->word, &o.of);
  for (int i = 0; i < r.m->nv; i++) r.s->qvel[i] = i == 0 ? c->speed : 0.1 * c->speed * ((i + 1) % 3 - 1);
  assert_int_equal(tg_sim_reserve(r.s, 1000, 250), TG_OK);
  return r;
}

// all that follows from a step, one number after another
typedef struct Outcome { tgReal *x; size_t n; tgGradInfo info[2]; tgStepInfo step; } Outcome;

static const char *const parameters[] = {"body_mass", "geom_friction", "opt_timestep"};

static void after_step(Rig *r, const Case *c, Outcome *out) {
  tgSim *s = r->s;
  int nq = r->m->nq, nv = r->m->nv, nu = r->m->nu;
  tgError e = {0};
  tgParamGrad *p = tg_param_grad_create(r->m, parameters, 3, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  size_t state = (size_t)(nq + nv), adjoint = (size_t)(2 * nv + nu), D = (size_t)(2 * nv) * adjoint;
  *out = (Outcome){.n = state + adjoint + D + (size_t)p->size, .step = s->info};
  out->x = calloc(out->n + 2 * (size_t)nv, sizeof *out->x);
  tgReal *g = out->x + out->n, *a = out->x + state;
  memcpy(out->x, s->qpos, (size_t)nq * sizeof *g);
  memcpy(out->x + nq, s->qvel, (size_t)nv * sizeof *g);
  for (int i = 0; i < 2 * nv; i++) g[i] = 1 + 0.1 * i;
  tgStatus status = tg_sim_step_vjp(s, g, g + nv, a, a + nv, a + 2 * nv, p, &out->info[0]);
  check_true(status == TG_OK, "%s: %s", c->name, s->error.text);
  memcpy(a + adjoint, p->value, (size_t)p->size * sizeof *g);
  status = tg_sim_step_jacobian(s, a + adjoint + p->size, &out->info[1]);
  check_true(status == TG_OK, "%s: %s", c->name, s->error.text);
  tg_param_grad_free(p);
}

static void check_same(const Case *c, int t, const Outcome *a, const Outcome *b) {
  for (size_t i = 0; i < a->n; i++)
    check_true(memcmp(&a->x[i], &b->x[i], sizeof a->x[i]) == 0,
               "%s, step %d: number %zu of %zu is %.17g, %.17g when put back", c->name, t, i, a->n, tgRe(a->x[i]),
               tgRe(b->x[i]));
  for (int k = 0; k < 2; k++) {
    assert_int_equal(a->info[k].label, b->info[k].label);
    assert_int_equal(a->info[k].ties, b->info[k].ties);
    assert_string_equal(a->info[k].reason, b->info[k].reason);
  }
  assert_memory_equal(&a->step, &b->step, sizeof a->step);
}

static void a_step_is_put_back(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    if (skipped(&cases[k])) continue;
    const Case *c = &cases[k];
    Rig r = make(c);
    char *before = malloc(tg_sim_snapshot_size(r.s)), *after = malloc(tg_sim_snapshot_size(r.s)),
         *record = malloc(tgi_step_record_bytes(r.s));
    bool pieces = strcmp(c->word, "toi") == 0;
    int ndamped = 0, nleft = 0, first = 0, impacts = 0;
    for (int t = 0; t < STEPS; t++) {
      Outcome made, back;
      bool solved;
      for (int i = 0; i < r.m->nu; i++) r.s->ctrl[i] = 0.5 * (i - 0.3);
      tg_sim_save(r.s, before);
      check_true(tg_sim_step_growing(r.s, c->h, NULL) == TG_OK, "%s, step %d: %s", c->name, t, r.s->error.text);
      ndamped += r.s->info.ndamped;
      nleft += r.s->info.nleft;
      first += r.s->info.stage > 1;
      tgi_step_record(r.s, record);
      after_step(&r, c, &made);
      tg_sim_save(r.s, after);
      // what another step leaves in the sim must not matter
      check_true(tg_sim_step(r.s, c->h, NULL) == TG_OK, "%s", r.s->error.text);
      assert_int_equal(tg_sim_restore(r.s, before), TG_OK);
      if (pieces) tgi_events(r.s)->looks = -1;
      check_true(tgi_step_revisit(r.s, c->h, record, &solved) == TG_OK, "%s, step %d: %s", c->name, t, r.s->error.text);
      check_true(!pieces || tgi_events(r.s)->looks == -1, "%s, step %d: contacts were searched for", c->name, t);
      impacts += r.s->info.nimpact;
      tgi_step_take(r.s);
      assert_false(solved);
      after_step(&r, c, &back);
      check_same(c, t, &made, &back);
      free(made.x);
      free(back.x);
      assert_int_equal(tg_sim_restore(r.s, after), TG_OK);
    }
    check_true((c->ndamped == 0 || ndamped > 0) && (c->nleft == 0 || nleft > 0),
               "%s: %d bounces damped, %d errors left", c->name, ndamped, nleft);
    check_true(!pieces || impacts >= 1, "%s: %d impacts", c->name, impacts);
    check_true(strcmp(c->word, "lcp") != 0 || first > 0, "%s: no step was solved by pivots", c->name);
    free(before);
    free(after);
    free(record);
    drop(&r);
  }
}

// loss and gradients with a tape of so many bytes; 0: full
static void rollout(const Case *c, size_t slots, tgReal *out, tgRolloutResult *result) {
  Rig r = make(c);
  int nv = r.m->nv, nu = r.m->nu;
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  tgReal *u = calloc((size_t)(STEPS * nu) + 1, sizeof *u);
  o.steps = STEPS;
  o.h = c->h;
  o.ncontact = 1000;
  o.nrow = 250;
  tgRollout *x = tg_rollout_create(r.m, r.c, &o, &e);
  check_true(x != NULL, "%s", e.text);
  if (slots > 0) {
    o.tape_bytes = slots * tg_rollout_least_bytes(x);
    tg_rollout_free(x);
    x = tg_rollout_create(r.m, r.c, &o, &e);
    check_true(x != NULL, "%s", e.text);
  }
  for (int i = 0; i < STEPS * nu; i++) u[i] = 0.5 * (i % nu - 0.3);
  tgtReach reach = {.body = 1, .target = {0.4, 0.1, 0.9}, .running = 0.3, .final = 5, .speed = 1e-3};
  tgRolloutRun run = {.q0 = r.s->qpos, .v0 = r.s->qvel, .u = u, .loss = tgt_reach, .loss_ctx = &reach, .dq0 = out + 1,
                      .dv0 = out + 1 + nv, .du = out + 1 + 2 * nv};
  check_true(tg_rollout_run(x, &run, result) == TG_OK, "%s: %s", c->name, result->error.text);
  out[0] = result->loss;
  tg_rollout_free(x);
  free(u);
  drop(&r);
}

static void a_full_tape_solves_nothing_again(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    if (skipped(&cases[k])) continue;
    enum { MOST = 256 };
    tgReal full[MOST] = {0}, other[MOST] = {0};
    tgRolloutResult result[2];
    rollout(&cases[k], 0, full, &result[0]);
    assert_int_equal(result[0].forward_steps, STEPS);
    assert_int_equal(result[0].revisited_steps, STEPS);
    for (size_t slots = 1; slots <= 5; slots += 2) {
      rollout(&cases[k], slots, other, &result[1]);
      check_true(memcmp(full, other, sizeof full) == 0, "%s: %zu states kept give another gradient", cases[k].name, slots);
      assert_int_equal(result[0].grad.label, result[1].grad.label);
      assert_string_equal(result[0].grad.reason, result[1].grad.reason);
      check_true(result[1].forward_steps > STEPS && result[1].revisited_steps < STEPS, "%ld solved, %ld not",
                 result[1].forward_steps, result[1].revisited_steps);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_is_put_back), cmocka_unit_test(a_full_tape_solves_nothing_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
