// test_solvable.c: states whose conditions need care to have a solution at all: parts jammed by friction, bounces against walls.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/islands.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/check.h"
#include "tangere/grad.h"

static const double h = 0.002;

typedef struct Rig { tgModel *m; tgContact *c; tgSim *s; } Rig;

static Rig rig(tgDesc *d) {
  tgError error = {0};
  Rig r = {.m = tgs_compile(d, &error)};
  if (r.m == NULL) fail_msg("%s", error.text);
  r.c = tg_contact_create(r.m, "lcp", NULL, &error);
  r.s = tg_sim_create(r.m, r.c, NULL, &error);
  if (r.s == NULL) fail_msg("%s", error.text);
  assert_int_equal(tg_sim_reserve(r.s, 64, 250), TG_OK);
  return r;
}

static void drop(Rig *r) {
  tg_sim_free(r->s);
  tg_contact_free(r->c);
  tg_model_free(r->m);
}

static tgStepInfo step(Rig *r) {
  tgStepInfo info;
  tgStatus status = tg_sim_step(r->s, h, &info);
  check_true(status == TG_OK, "%s", r->s->error.text);
  return info;
}

// A ball of 1 kg on a rail at 45 degrees to the floor, which it touches with mu = 2 > tan 45: it cannot be pushed along the rail by the floor,
// however hard (the normal's share is less than the friction's).
static Rig wedge(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 2);
  int b = tg_desc_add_body(d, 0, "wedge"), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rail"), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
  d->body[b].pos[2] = 0.1;
  memcpy(d->joint[j].axis, (double[]){sqrt(0.5), 0, sqrt(0.5)}, sizeof d->joint[j].axis);
  d->geom[g].size[0] = 0.1;
  d->geom[g].mass = 1;
  d->geom[g].friction[0] = 2;
  return rig(d);
}

// Overlapping by 0.1 mm, pressed by its weight, the floor can neither push it out nor let it in: with the error term erp gap/h the
// conditions have no solution. By hand, with c = cos 45 = sin 45, v' = vhat + c (f_n + f_t): parted, w_n = c vhat + erp gap/h < 0; stuck,
// v' = 0 gives w_n = erp gap/h < 0; sliding out, f_t = -2 f_n, v' = vhat - c f_n < vhat < 0. So the error stays, the rest holds, and it
// is said. Pulled out it comes.
static void test_jammed(void **state) {
  (void)state;
  Rig r = wedge();
  const double deep = -1e-4 / sqrt(0.5);
  r.s->qpos[0] = deep;
  for (int i = 0; i < 10; i++) {
    tgStepInfo info = step(&r);
    assert_int_equal(info.nleft, 1);
    check_close(r.s->qvel[0], 0, 1e-13);
    check_close(r.s->qpos[0], deep, 1e-13);
  }
  // held, its next velocity depends on nothing
  tgReal D[4];
  tgGradInfo info;
  assert_int_equal(tg_sim_step_jacobian(r.s, D, &info), TG_OK);
  assert_int_equal(info.label, TG_GRAD_EXACT);
  const double expected[4] = {1, 0, 0, 0};
  for (int i = 0; i < 4; i++) check_close(D[i], expected[i], 1e-9);
  r.s->qvel[0] = 0.05;
  assert_int_equal(step(&r).nleft, 0);
  check_true(tgRe(r.s->qvel[0]) > 0, "pulled out it stays: %.3g", tgRe(r.s->qvel[0]));
  drop(&r);
}

// Without weight and at rest, the only number left is an overlap of rounding size: that is no contradiction
static void test_rounding(void **state) {
  (void)state;
  Rig r = wedge();
  tg_sim_param(r.s, "opt_gravity", NULL, NULL)[2] = 0;
  r.s->qpos[0] = -1e-16;
  for (int i = 0; i < 10; i++) assert_int_equal(step(&r).nleft, 0);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_jammed), cmocka_unit_test(test_rounding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
